"""Writing lines of text in batches, so that neither each line is a call nor the whole file is in memory."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import BinaryIO

_LINES_PER_WRITE = 10_000


def write_lines(lines: Iterator[str], stream: BinaryIO) -> None:
    """Write lines as UTF-8; bytes that were not UTF-8 when an id was read are written as they were."""
    while batch := "".join(islice(lines, _LINES_PER_WRITE)):
        stream.write(batch.encode("utf-8", "surrogateescape"))
