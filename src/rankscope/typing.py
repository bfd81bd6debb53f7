"""Types of what users give, for type checkers and for reading."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, Literal, TypeAlias, TypedDict

from rankscope.data.loading import ReadOptions
from rankscope.data.shapes import ArrowTable, QrelsLike, RunLike, RunsLike
from rankscope.measures.spec import Measure
from rankscope.progress import WatchJob

__all__ = [
    "ArrowTable",
    "EvaluateOptions",
    "MeasureLike",
    "MeasuresLike",
    "PolicyOptions",
    "QrelsLike",
    "RunLike",
    "RunsLike",
]

MeasureLike: TypeAlias = str | Measure
"""One measure, by name or as a value."""
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
    """The keywords of `evaluate`, each policy by its name."""

    profile: str | None
    options: ReadOptions | None
    qrels_options: ReadOptions | None
    threads: int | None
    embeddings: Any
    docs: Any
    ontology: Any
    queries: Any
    weights: str | None
    unjudged_queries: Literal["skip", "zero"] | None
    anyway: bool
    memory: str | int | None
    on: Any
    workers: int | None
    keep: str | os.PathLike[str] | None
    progress: WatchJob | None
