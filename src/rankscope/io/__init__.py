"""Runs and qrels from and to files: TREC text, BEIR, JSON, JSONL, CSV, TSV, Parquet and Arrow, compressed or not."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rankscope.io.conversion import convert
    from rankscope.io.detection import detect
    from rankscope.io.names import FORMATS
    from rankscope.io.read import read_qrels, read_run, sha256_of
    from rankscope.io.records import Conversion, Detected, ReadFile
    from rankscope.io.write import write_qrels, write_run

_HOME = {
    "Conversion": "records",
    "Detected": "records",
    "FORMATS": "names",
    "ReadFile": "records",
    "convert": "conversion",
    "detect": "detection",
    "read_qrels": "read",
    "read_run": "read",
    "sha256_of": "read",
    "write_qrels": "write",
    "write_run": "write",
}

__all__ = [
    "FORMATS",
    "Conversion",
    "Detected",
    "ReadFile",
    "convert",
    "detect",
    "read_qrels",
    "read_run",
    "sha256_of",
    "write_qrels",
    "write_run",
]


def __getattr__(name: str) -> Any:
    """Load a part when it is first used: TREC text, which most files are, needs none of the other formats."""
    if name not in _HOME:
        raise AttributeError(f"module 'rankscope.io' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"rankscope.io.{_HOME[name]}"), name)
    return value
