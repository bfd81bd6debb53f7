"""The shapes in which runs and qrels may be given, for type checkers and for reading."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

from rankscope.data.qrels import Qrels
from rankscope.data.run import Run

Path: TypeAlias = str | os.PathLike[str]


class ArrowTable(Protocol):
    """A table of Polars, pandas, DuckDB, PyArrow …: whatever offers the Arrow interface."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return the rows as an Arrow stream."""


class RunSource(Protocol):
    """Where the rows of a run come from, when they are asked for: a file or rows of our own."""

    def read(self) -> Any:
        """Return the rows."""


QrelsLike: TypeAlias = (
    Qrels | Path | Mapping[Any, Mapping[Any, Any] | Iterable[Any]] | ArrowTable | Iterable[Any] | Mapping[str, Any]
)
"""Judgments: a path, {query: {doc: grade}}, {query: [relevant docs]}, a table, columns by name, or rows."""
RunLike: TypeAlias = (
    Run | Path | Mapping[Any, Mapping[Any, Any] | Iterable[Any]] | ArrowTable | Iterable[Any] | Mapping[str, Any]
)
"""A run: a path, {query: {doc: score}}, {query: [docs, best first]}, a table, columns by name, or rows."""
RunsLike: TypeAlias = RunLike | Sequence[RunLike] | Mapping[str, RunLike]
"""One run, several, or several by name."""
