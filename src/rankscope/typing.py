"""Types of what users give, for type checkers and for reading."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, Protocol, TypeAlias, TypedDict

from rankscope.data.loading import ReadOptions
from rankscope.data.qrels import Qrels
from rankscope.data.run import Run
from rankscope.measures.spec import Measure

Path: TypeAlias = str | os.PathLike[str]


class ArrowTable(Protocol):
    """A table of Polars, pandas, DuckDB, PyArrow …: whatever offers the Arrow interface."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return the rows as an Arrow stream."""


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
MeasuresLike: TypeAlias = str | Measure | Iterable[str | Measure] | None
"""One measure or several, by name or as values; a text may name several."""


class PolicyOptions(TypedDict, total=False):
    """The policies of an evaluation, as keywords; None is the default of the profile."""

    ties: Literal["trec", "given", "ascending"] | None
    precision: Literal["double", "single"] | None
    duplicates: Literal["error", "first"] | None
    self_match: Literal["keep", "drop"] | None
    missing: Literal["zero", "skip", "error"] | None
    no_relevant: Literal["zero", "exclude"] | None
    undefined: Literal["skip", "zero", "error"] | None
    depth: int | None
    judged_only: bool | None
    min_rel: float | None


class EvaluateOptions(PolicyOptions, total=False):
    """The keywords of `evaluate`, which are those of `EvaluateRequest` with each policy by its name."""

    profile: str | None
    options: ReadOptions | None
    qrels_options: ReadOptions | None
    threads: int | None
    embeddings: Any
    docs: Any
    ontology: Any
    queries: Any
    weights: str | None
    anyway: bool
