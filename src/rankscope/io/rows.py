"""Rows as they come from a file or a table: parallel columns, ids already text, nothing ranked or matched.

This is what readers produce, writers consume, and `Run` and `Qrels` are built from.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from rankscope.arrays import Floats, Ints, read_only
from rankscope.light import LightRecord, field

EXTRA_QRELS_COLUMNS = ("subtopic", "rater", "time")


class RunRows(LightRecord, eq=False):
    """The rows of a run, in the order given."""

    query: Sequence[str]
    doc: Sequence[str]
    score: Floats
    rank: Ints | None = None
    tag: str | None = None
    integer_ids: frozenset[str] = field(default_factory=frozenset)
    """Which of "query" and "doc" were whole numbers in the source."""
    empty_queries: tuple[str, ...] = ()
    """Queries that are listed but have no row: answered with nothing, or without any judgment."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "score", read_only(self.score))
        if self.rank is not None:
            object.__setattr__(self, "rank", read_only(self.rank))

    def __len__(self) -> int:
        return len(self.score)


class QrelsRows(LightRecord, eq=False):
    """The rows of qrels, in the order given, with the optional columns where the source has them."""

    query: Sequence[str]
    doc: Sequence[str]
    grade: Floats
    subtopic: Sequence[str] | None = None
    rater: Sequence[str] | None = None
    time: Sequence[str] | None = None
    integer_ids: frozenset[str] = field(default_factory=frozenset)
    """Which of "query" and "doc" were whole numbers in the source."""
    empty_queries: tuple[str, ...] = ()
    """Queries that are listed but have no row: answered with nothing, or without any judgment."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "grade", read_only(self.grade))

    def __len__(self) -> int:
        return len(self.grade)


AnyRows: TypeAlias = RunRows | QrelsRows


def joined_rows(parts: Sequence[RunRows]) -> RunRows:
    """Return the rows of several parts of a run as one; ranks only where all parts have them."""
    import numpy as np

    ranks = [part.rank for part in parts if part.rank is not None]
    return RunRows(
        [query for part in parts for query in part.query],
        [doc for part in parts for doc in part.doc],
        np.concatenate([part.score for part in parts]),
        np.concatenate(ranks) if len(ranks) == len(parts) else None,
        parts[-1].tag,
        frozenset.union(*(part.integer_ids for part in parts)),
        tuple(query for part in parts for query in part.empty_queries),
    )
