"""Files: the one row reader for every format and compression, and runs and qrels from and to files."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rankscope.io.conversion import Conversion as Conversion
    from rankscope.io.conversion import convert as convert
    from rankscope.io.detection import Detected as Detected
    from rankscope.io.detection import detect as detect
    from rankscope.io.formats import FORMATS as FORMATS
    from rankscope.io.read import ReadFile as ReadFile
    from rankscope.io.read import read_qrels as read_qrels
    from rankscope.io.read import read_run as read_run
    from rankscope.io.read import sha256_of as sha256_of
    from rankscope.io.table import Format as Format
    from rankscope.io.table import read_rows as read_rows
    from rankscope.io.table import table_columns as table_columns
    from rankscope.io.write import write_qrels as write_qrels
    from rankscope.io.write import write_run as write_run

_MODULES = {
    "conversion": ("Conversion", "convert"),
    "detection": ("Detected", "detect"),
    "formats": ("FORMATS",),
    "read": ("ReadFile", "read_qrels", "read_run", "sha256_of"),
    "table": ("Format", "read_rows", "table_columns"),
    "write": ("write_qrels", "write_run"),
}
_HOME = {name: module for module, names in _MODULES.items() for name in names}

__all__ = list(_HOME)


def __getattr__(name: str) -> Any:
    """Load a part when it is first used: TREC text, which most files are, needs none of the other formats."""
    if name not in _HOME:
        raise AttributeError(f"module 'rankscope.io' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"rankscope.io.{_HOME[name]}"), name)
    return value
