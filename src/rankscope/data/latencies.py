"""How long queries took, from a file: a table with columns query and ms, and system where it is of several."""

from __future__ import annotations

import math

from rankscope.errors import FormatError
from rankscope.io.numbers import number_in
from rankscope.io.source import PathLike
from rankscope.io.table import read_rows

UNITS = {"ms": 1.0, "milliseconds": 1.0, "seconds": 1000.0, "s": 1000.0}
"""Columns of times, and how many milliseconds each unit is."""
QUERY = ("query", "query_id", "qid", "_id", "id")
SYSTEM = ("system", "run")
_HINT = "columns are query, ms (or seconds), and system where there are several; each query once for each of them"


def read_latencies(path: PathLike) -> dict[str, dict[str, float]]:
    """Return milliseconds by system and query; the name of a system that no column says is empty."""
    found: dict[str, dict[str, float]] = {}
    for number, row in read_rows(path):
        cells = {str(name).strip().lower(): cell for name, cell in row.items()}
        query, unit = (next((name for name in names if name in cells), "") for names in (QUERY, tuple(UNITS)))
        if not query or not unit:
            raise FormatError(f"{path}: row {number} has no column of queries or of times", hint=_HINT)
        system = next((str(cells[name]) for name in SYSTEM if name in cells), "")
        value = number_in(cells[unit])
        if value is None or not 0 < value < math.inf:
            raise FormatError(f"{path}: row {number} has {cells[unit]!r} as {unit}, which is no time", hint=_HINT)
        times = found.setdefault(system, {})
        if str(cells[query]) in times:
            raise FormatError(f"{path}: row {number} times query {cells[query]!r} again", hint=_HINT)
        times[str(cells[query])] = value * UNITS[unit]
    if not found:
        raise FormatError(f"{path} holds no times", hint=_HINT)
    return found
