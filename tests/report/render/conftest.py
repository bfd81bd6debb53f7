"""Lets the tests of this folder import the sample reports."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent))
