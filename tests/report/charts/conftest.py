"""The tests of charts share a reader of SVG and examples of every kind."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent))
