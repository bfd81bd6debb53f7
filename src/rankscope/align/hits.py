"""Hits: all that a relevance measure can see of a run, as flat arrays with one segment per query."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from rankscope.arrays import Bools, Floats, Ints, offsets_of, positions_in_segment, read_only, running_sum, segment_sum
from rankscope.light import LightRecord, replace


def level_of(rel: float | None) -> float:
    """Return the lowest relevant grade; a measure that is called without one counts grades from 1 up."""
    return 1.0 if rel is None else rel


class KernelHits(LightRecord, eq=False):
    """What alignment finds in a run before the policies are applied; the kernel and the reference both return this."""

    answered: Bools
    n_retrieved: Ints
    n_hits: Ints
    ranks: Ints
    grades: Floats
    n_other_queries: int
    """Queries of the run that the qrels do not have."""
    other_queries: Sequence[str] = ()
    """The first of them."""
    duplicate: tuple[str, str] | None = None
    """The first query that lists a doc twice, and that doc, where this is an error."""
    n_rows: int = 0
    other_hashes: bytes = b""
    """64 bits of each query that the qrels do not have, by which they are counted once over several parts of a run."""
    uses_ranks: bool = True
    """Whether all ranks were numbers; else the order is that of the rows."""


class Hits(LightRecord, eq=False):
    """The ranks and grades of the judged docs that were retrieved, for every query.

    Docs that nobody judged only take up ranks, so a run of millions of rows shrinks to the few that matter.
    """

    query_ids: tuple[str, ...]
    answered: Bools
    """Whether the run has the query at all."""
    n_retrieved: Ints
    """How many docs were retrieved for the query, within the depth."""
    offsets: Ints
    """Where each query's hits start in `ranks` and `grades`."""
    ranks: Ints
    """Ranks from 1, rising within a query."""
    grades: Floats
    """Grades of those docs; below 0 means pooled but unjudged."""
    ideal_offsets: Ints
    """Where each query's grades start in `ideal_grades`."""
    ideal_grades: Floats
    """All grades from 0 up that the qrels have for the query, best first."""
    max_grade: float
    """The highest grade in the qrels, over all queries."""
    only_judged: bool = False
    """Whether docs without a judgment were removed from the rankings."""
    n_missing: int = 0
    """Queries of the qrels that the run does not answer, also where they have been left out since."""
    n_other_queries: int = 0
    """Queries of the run that the qrels do not have."""

    def __len__(self) -> int:
        return len(self.query_ids)

    @cached_property
    def segments(self) -> Ints:
        """The query (by position) that each hit belongs to."""
        return np.repeat(np.arange(len(self), dtype=np.int64), np.diff(self.offsets))

    @cached_property
    def ideal_segments(self) -> Ints:
        """The query (by position) that each ideal grade belongs to."""
        return np.repeat(np.arange(len(self), dtype=np.int64), np.diff(self.ideal_offsets))

    @cached_property
    def ideal_ranks(self) -> Ints:
        """The rank, from 1, that each judged doc has in the ideal ranking."""
        return positions_in_segment(self.ideal_segments, len(self)) + 1

    def ideal_within(self, k: int) -> tuple[Ints, Ints]:
        """Return the k best judged docs of each query: their places in `ideal_grades`, and their ranks."""
        lengths = np.minimum(np.diff(self.ideal_offsets), k)
        ranks = np.arange(int(lengths.sum()), dtype=np.int64) - np.repeat(offsets_of(lengths)[:-1], lengths) + 1
        return np.repeat(self.ideal_offsets[:-1], lengths) + ranks - 1, ranks

    def per_query(self, values: Floats | Ints | Bools) -> Floats:
        """Sum a value per hit over the hits of each query."""
        return segment_sum(values, self.segments, len(self))

    def per_ideal(self, values: Floats | Ints | Bools) -> Floats:
        """Sum a value per judged doc over the judged docs of each query."""
        return segment_sum(values, self.ideal_segments, len(self))

    def so_far(self, values: Floats | Ints | Bools) -> Floats:
        """Count within the query up to and including each hit."""
        return running_sum(values, self.segments, len(self))

    def within(self, k: int | None) -> Bools:
        """Tell which hits stand at rank k or better; all of them when there is no k."""
        return np.ones(len(self.ranks), dtype=np.bool_) if k is None else self.ranks <= k

    def cut(self, values: Floats, k: int | None) -> Floats:
        """Return a value per hit, 0 beyond rank k."""
        return values if k is None else np.where(self.ranks <= k, values, 0.0)

    def cut_ideal(self, values: Floats, k: int | None) -> Floats:
        """Return a value per judged doc, 0 beyond rank k of the ideal ranking."""
        return values if k is None else np.where(self.ideal_ranks <= k, values, 0.0)

    def relevant(self, rel: float | None, k: int | None = None) -> Bools:
        """Tell which hits have at least this grade, 1 where it is None, and stand at rank k or better."""
        return (self.grades >= level_of(rel)) & self.within(k)

    def n_shown(self, k: int | None) -> Ints:
        """Count the docs, judged or not, at rank k or better."""
        return self.n_retrieved if k is None else np.minimum(self.n_retrieved, k)

    def n_relevant(self, rel: float | None) -> Floats:
        """Count the judged docs of each query with at least this grade, 1 where it is None."""
        level = level_of(rel)
        if level not in self._n_relevant:
            so_far = np.concatenate(([0], np.cumsum(self.ideal_grades >= level)))
            self._n_relevant[level] = read_only(np.diff(so_far[self.ideal_offsets]).astype(np.float64))
        return self._n_relevant[level]

    @cached_property
    def _n_relevant(self) -> dict[float, Floats]:
        """What has been counted, by grade: most measures ask for the same."""
        return {}

    def select(self, keep: Bools) -> Hits:
        """Return the hits of some of the queries."""
        kept = np.flatnonzero(keep)
        mine, ideal = keep[self.segments], keep[self.ideal_segments]
        return replace(
            self,
            query_ids=tuple(self.query_ids[i] for i in kept.tolist()),
            answered=self.answered[kept],
            n_retrieved=self.n_retrieved[kept],
            offsets=offsets_of(np.diff(self.offsets)[kept]),
            ranks=self.ranks[mine],
            grades=self.grades[mine],
            ideal_offsets=offsets_of(np.diff(self.ideal_offsets)[kept]),
            ideal_grades=self.ideal_grades[ideal],
        )

    def judged_only(self) -> Hits:
        """Return the hits as if the docs without a judgment had not been retrieved."""
        judged = self.grades >= 0
        segments = self.segments[judged]
        n_judged = np.bincount(segments, minlength=len(self))
        return replace(
            self,
            n_retrieved=n_judged,
            offsets=offsets_of(n_judged),
            ranks=positions_in_segment(segments, len(self)) + 1,
            grades=self.grades[judged],
            only_judged=True,
        )

    def first(self, n: int) -> Hits:
        """Return the hits as if each query had retrieved only its n best docs."""
        return replace(self.kept(self.ranks <= n), n_retrieved=np.minimum(self.n_retrieved, n))

    def kept(self, which: Bools) -> Hits:
        """Return some of the hits, at the ranks that they have; the other docs are as if nobody had judged them."""
        return replace(
            self,
            offsets=offsets_of(np.bincount(self.segments[which], minlength=len(self))),
            ranks=self.ranks[which],
            grades=self.grades[which],
        )


class Counts(LightRecord):
    """How much of a run could be scored."""

    queries: int
    """Queries scored."""
    missing: int
    """Queries of the qrels that the run does not answer."""
    not_in_qrels: int
    """Queries of the run that have no judgments; they are left out."""
    no_relevant: int
    """Scored queries without any relevant doc."""
    retrieved: int
    """Docs retrieved for the scored queries, within the depth."""
    unjudged: int
    """Of these, docs that nobody judged."""
