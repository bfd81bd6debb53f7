"""`python -m rankscope` is the command line."""

import sys

from rankscope.cli.main import main

sys.exit(main())
