"""What reading, detecting and converting return."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from rankscope.errors import BadLine

Rows = TypeVar("Rows")


@dataclass(frozen=True, slots=True)
class ReadFile(Generic[Rows]):
    """The rows of a file, and what is needed to say exactly which file that was."""

    rows: Rows
    path: str
    """The file that was read: "-" is standard input; of a BEIR folder it is the qrels file."""
    format: str
    compression: str | None
    sha256: str
    """The digest of the file as stored, before decompression."""
    bad_lines: tuple[BadLine, ...] = ()
    """The malformed lines that were left out, as asked for by `lenient`."""


@dataclass(frozen=True, slots=True)
class Detected:
    """What a file holds, told from its content."""

    format: str
    compression: str | None
    kind: str | None
    """Either "run" or "qrels", or None where the content could be both."""


@dataclass(frozen=True, slots=True)
class Conversion:
    """What a conversion read and wrote."""

    kind: str
    source_format: str
    target_format: str
    n_rows: int
    n_queries: int
    bad_lines: tuple[BadLine, ...] = ()
