"""Files: the one row reader for every format and compression, and runs and qrels from and to files.

What formats of other packages need can be had from here; what else there is has a module each.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rankscope.io.formats import FORMATS as FORMATS
    from rankscope.io.table import Format as Format

__all__ = ["FORMATS", "Format"]


def __getattr__(name: str) -> Any:
    """Load a part when it is first used: TREC text, which most files are, needs none of the other formats."""
    if name not in __all__:
        raise AttributeError(f"module 'rankscope.io' has no attribute {name!r}")
    from rankscope.io import formats, table

    return formats.FORMATS if name == "FORMATS" else table.Format
