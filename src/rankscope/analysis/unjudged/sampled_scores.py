"""The unjudged docs of one system, where they stand in another one, and what both score when these are judged at random.

All draws are scored at once. `SampledHits` calls the measure itself, whatever it is: each draw of each query becomes a
query of its own, so there is one call per system. `SampledSums` (for measures that are sums over docs, see `linear`) and
`SampledPrecisions` (for average precision) return the same several times faster. Each of them has three methods:

- `prepare` returns what is needed of a system;
- `sizes` tells about how many numbers each query makes in one draw;
- `differences` returns, for each query of a sample, the first system's score minus the second's, averaged over the draws.
  The sample has unjudged docs of the first system; they are relevant at a rate, also where the second has them.
"""

from __future__ import annotations

from functools import cached_property
from itertools import chain, compress
from typing import TypeAlias

import msgspec
import numpy as np

from rankscope.align.hits import Hits
from rankscope.align.policies import Policies
from rankscope.analysis.aligned import AlignedRun
from rankscope.analysis.unjudged.linear import IdealDivisor, LinearForm
from rankscope.analysis.unjudged.pool import divide
from rankscope.analysis.unjudged.random_judgments import N_DRAWS, RandomJudgments
from rankscope.arrays import Bools, Floats, Ints, offsets_of
from rankscope.errors import InputError
from rankscope.light import replace
from rankscope.measures.scoring import score_hits
from rankscope.measures.spec import Measure


class UnjudgedDocs:
    """The unjudged docs that one system retrieved within the depth of a measure, query by query, by rank.

    The run is read only where the hits say that there are any.
    """

    def __init__(self, run: AlignedRun, judged: Hits, judgments: RandomJudgments, *, depth: int | None) -> None:
        n_shown = judged.n_retrieved
        starts = offsets_of(n_shown)
        query = np.repeat(np.arange(len(judged)), n_shown)
        unjudged = np.ones(len(query), dtype=np.bool_)
        unjudged[starts[judged.segments] + judged.ranks - 1] = False
        self.ranks = (np.arange(len(query)) - starts[query] + 1)[unjudged]
        self.counts = np.bincount(query[unjudged], minlength=len(judged))
        """How many docs each query has."""
        self.offsets = offsets_of(self.counts)
        self.keys = np.empty(0, dtype=np.uint64)
        """A number for each pair of query and doc: the same one in every system."""
        places = np.flatnonzero(self.counts)
        if len(places):
            query_ids = [judged.query_ids[i] for i in places.tolist()]
            lists = run.leading(query_ids, int(n_shown.max()) if depth is None else depth)
            if [len(docs) for docs in lists] != n_shown[places].tolist():
                raise InputError(
                    f"the hits of {run.run.name or 'a run'} do not belong to it",
                    hint="give what align returns for the same run under the same policies",
                )
            doc_ids = list(compress(chain.from_iterable(lists), unjudged[(self.counts > 0)[query]].tolist()))
            self.keys = judgments.keys(judged.query_ids, query[unjudged], doc_ids)


class SampledDocs:
    """The unjudged docs of one system for some queries, each of which has some, with their random judgments."""

    def __init__(self, docs: UnjudgedDocs, queries: Ints, other_rows: Ints, judgments: RandomJudgments) -> None:
        self.queries, self.judgments = queries, judgments
        self.rows, self.query = rows_of(docs.offsets, queries)
        """Where each doc stands among the unjudged docs of its system, and its query by its place in `queries`."""
        self.other_rows = other_rows
        """Where it stands among those of the other system; -1 where the other did not retrieve it."""
        self.starts = offsets_of(docs.counts[queries])[:-1]
        """Where the docs of each query start."""
        self.keys = docs.keys[self.rows]

    @cached_property
    def chances(self) -> Floats:
        """The rate above which each doc is relevant, docs x draws."""
        return self.judgments.chances(self.keys)

    @cached_property
    def picks(self) -> Ints:
        """Which of the relevant grades each doc has where it is relevant, docs x draws."""
        return self.judgments.picks(self.keys)


def rows_in_other(docs: UnjudgedDocs, other: UnjudgedDocs, queries: Ints) -> Ints:
    """Return where each unjudged doc of some queries stands among another system's; -1 where it is not there."""
    keys, rows = docs.keys[rows_of(docs.offsets, queries)[0]], rows_of(other.offsets, queries)[0]
    if not len(rows):
        return np.full(len(keys), -1)
    rows = rows[np.argsort(other.keys[rows])]
    other_keys = other.keys[rows]
    place = np.minimum(np.searchsorted(other_keys, keys), len(rows) - 1)
    return np.where(other_keys[place] == keys, rows[place], -1)


def rows_of(offsets: Ints, segments: Ints) -> tuple[Ints, Ints]:
    """Return the rows of some segments, and to which of these segments each row belongs, counted from 0."""
    first, lengths = offsets[segments], offsets[segments + 1] - offsets[segments]
    within = np.repeat(np.arange(len(segments)), lengths)
    return np.arange(len(within)) + (first - offsets_of(lengths)[:-1])[within], within


class RetrievedDocs(msgspec.Struct, frozen=True, eq=False):
    """What one system retrieved within the depth of the measure."""

    judged: Hits
    unjudged: UnjudgedDocs
    weights: Floats = np.empty(0)
    """What each unjudged doc counts at its rank, where the measure is a sum over docs; else empty."""
    judged_sums: Floats = np.empty(0)
    """What the judged docs of each query add up to, where the measure is such a sum; else empty."""


class SampledHits:
    """Scores by any measure of hits."""

    def __init__(self, measure: Measure, policies: Policies, ideal: tuple[Ints, Floats], relevant: Floats) -> None:
        self.measure, self.policies, self.relevant = measure, policies, relevant
        self.ideal_offsets, grades = ideal
        self.levels = np.unique(np.concatenate([grades, relevant]))[::-1]
        """All grades there are, best first."""
        self.ideal_levels = np.searchsorted(-self.levels, -grades)
        self.relevant_levels = np.searchsorted(-self.levels, -relevant)

    def prepare(self, judged: Hits, unjudged: UnjudgedDocs) -> RetrievedDocs:
        top = max(judged.max_grade, float(self.relevant.max()))  # where no judged doc is relevant, others are
        return RetrievedDocs(replace(judged, max_grade=top), unjudged)

    def sizes(self, first: RetrievedDocs, second: RetrievedDocs) -> Ints:
        n_judged = np.diff(first.judged.offsets) + np.diff(second.judged.offsets) + np.diff(self.ideal_offsets)
        return np.asarray(first.unjudged.counts + n_judged + len(self.levels))

    def differences(self, sample: SampledDocs, first: RetrievedDocs, second: RetrievedDocs, rate: float) -> Floats:
        is_relevant = sample.chances < rate
        grades = np.where(is_relevant, self.relevant[sample.picks], -1.0)
        ideal = self.ideal(sample, is_relevant)
        shared = sample.other_rows >= 0
        ranks, other_ranks = first.unjudged.ranks[sample.rows], second.unjudged.ranks[sample.other_rows[shared]]
        stacks = (
            stack_draws(first.judged, sample.queries, sample.query, ranks, grades, ideal=ideal),
            stack_draws(second.judged, sample.queries, sample.query[shared], other_ranks, grades[shared], ideal=ideal),
        )
        scores = [np.nan_to_num(score_hits(each, [self.measure], self.policies)[0][:, 0]) for each in stacks]
        return np.asarray((scores[0] - scores[1]).reshape(N_DRAWS, -1).mean(axis=0))

    def ideal(self, sample: SampledDocs, is_relevant: Bools) -> tuple[Ints, Floats]:
        """Return all grades of each draw of each query, best first: those of judged docs, and the random ones."""
        n_queries, n_levels = len(sample.queries), len(self.levels)
        rows, query = rows_of(self.ideal_offsets, sample.queries)
        judged = np.bincount(query * n_levels + self.ideal_levels[rows], minlength=n_queries * n_levels)
        doc, draw = np.nonzero(is_relevant)
        levels = self.relevant_levels[sample.picks[doc, draw]]
        stack = draw * n_queries + sample.query[doc]
        added = np.bincount(stack * n_levels + levels, minlength=N_DRAWS * n_queries * n_levels)
        counts = np.tile(judged, N_DRAWS) + added
        offsets = offsets_of(counts.reshape(-1, n_levels).sum(axis=1))
        return offsets, np.repeat(np.tile(self.levels, N_DRAWS * n_queries), counts)


def stack_draws(
    judged: Hits, queries: Ints, doc_query: Ints, doc_ranks: Ints, doc_grades: Floats, *, ideal: tuple[Ints, Floats]
) -> Hits:
    """Return the hits of some queries in every draw, one draw after the other.

    `doc_grades` (docs x draws) are the random grades of unjudged docs, below 0 where a doc is not relevant;
    `doc_query` is each doc's query by its place in `queries`.
    """
    rows, query = rows_of(judged.offsets, queries)
    segments, ranks = np.concatenate([query, doc_query]), np.concatenate([judged.ranks[rows], doc_ranks])
    order = np.lexsort((ranks, segments))
    segments, ranks = segments[order], ranks[order]
    grades = np.empty((N_DRAWS, len(order)))
    grades[:, : len(rows)] = judged.grades[rows]
    grades[:, len(rows) :] = doc_grades.T
    grades = grades[:, order]
    draw, hit = np.nonzero(grades >= 0)
    n_stacked = N_DRAWS * len(queries)
    counts = np.bincount(draw * len(queries) + segments[hit], minlength=n_stacked)
    return replace(
        judged,
        query_ids=("",) * n_stacked,
        answered=np.tile(judged.answered[queries], N_DRAWS),
        n_retrieved=np.tile(judged.n_retrieved[queries], N_DRAWS),
        offsets=offsets_of(counts),
        ranks=ranks[hit],
        grades=grades[draw, hit],
        ideal_offsets=ideal[0],
        ideal_grades=ideal[1],
    )


class SampledSums:
    """Scores by a measure that is a sum over docs, divided by what an ideal list would have."""

    def __init__(self, form: LinearForm, ideal: tuple[Ints, Floats], relevant: Floats, *, longest: int) -> None:
        self.form, self.gains = form, form.gain(relevant)
        levels = np.unique(np.concatenate([form.gain(ideal[1]), self.gains]))
        self.ideal = IdealDivisor(form, levels[levels > 0], ideal, n_unjudged=longest)

    def prepare(self, judged: Hits, unjudged: UnjudgedDocs) -> RetrievedDocs:
        query = np.repeat(np.arange(len(judged)), unjudged.counts)
        weights = self.form.doc_weights(judged, query, unjudged.ranks)
        return RetrievedDocs(judged, unjudged, weights, self.form.judged_sums(judged))

    def sizes(self, first: RetrievedDocs, second: RetrievedDocs) -> Ints:  # noqa: ARG002 (docs that only the second has stay as they are)
        return first.unjudged.counts

    def differences(self, sample: SampledDocs, first: RetrievedDocs, second: RetrievedDocs, rate: float) -> Floats:
        slopes = first.weights[sample.rows]
        shared = np.flatnonzero(sample.other_rows >= 0)
        slopes[shared] -= second.weights[sample.other_rows[shared]]
        is_relevant = sample.chances < rate
        gains: Floats = is_relevant * (self.gains[sample.picks] if len(self.ideal.levels) > 1 else self.gains[0])
        sums = np.add.reduceat(gains * slopes[:, None], sample.starts, axis=0)
        sums += (first.judged_sums - second.judged_sums)[sample.queries, None]
        if self.form.ideal_weight is None:
            return np.asarray(sums.mean(axis=1) / self.form.divisor)
        divisor = np.full(sums.shape, self.form.divisor)
        for level, step, n_judged in self.ideal.levels:
            n_drawn = np.add.reduceat(gains >= level, sample.starts, axis=0, dtype=np.int64)
            divisor += step * self.ideal.sums[n_judged[sample.queries, None] + n_drawn]
        return np.asarray(divide(sums, divisor).mean(axis=1))


class SampledPrecisions:
    """Scores by average precision."""

    def __init__(self, ideal: tuple[Ints, Floats], *, rel: float, most: int | None) -> None:
        offsets, grades = ideal
        self.rel, self.most = rel, most
        """`most` is the number of relevant docs beyond which the divisor does not rise."""
        self.n_relevant = np.diff(np.concatenate([[0.0], np.cumsum(grades >= rel)])[offsets])

    def prepare(self, judged: Hits, unjudged: UnjudgedDocs) -> RetrievedDocs:
        return RetrievedDocs(judged.kept(judged.grades >= self.rel), unjudged)

    def sizes(self, first: RetrievedDocs, second: RetrievedDocs) -> Ints:
        return np.asarray(first.unjudged.counts + np.diff(first.judged.offsets) + np.diff(second.judged.offsets))

    def differences(self, sample: SampledDocs, first: RetrievedDocs, second: RetrievedDocs, rate: float) -> Floats:
        is_relevant = sample.chances < rate
        n_relevant = np.add.reduceat(is_relevant, sample.starts, axis=0, dtype=np.float64)
        n_relevant += self.n_relevant[sample.queries, None]
        divisor = n_relevant if self.most is None else np.minimum(n_relevant, self.most)
        shared = sample.other_rows >= 0
        ranks, other_ranks = first.unjudged.ranks[sample.rows], second.unjudged.ranks[sample.other_rows[shared]]
        sums = precision_sums(first.judged, sample.queries, sample.query, ranks, is_relevant)
        sums -= precision_sums(second.judged, sample.queries, sample.query[shared], other_ranks, is_relevant[shared])
        return np.asarray(divide(sums, divisor).mean(axis=1))


def precision_sums(relevant: Hits, queries: Ints, doc_query: Ints, doc_ranks: Ints, is_relevant: Bools) -> Floats:
    """Return the sum of the precisions at all relevant docs of a list, queries x draws.

    `relevant` are the judged docs of the list that are relevant; `is_relevant` (docs x draws) says so of unjudged ones.
    """
    rows, query = rows_of(relevant.offsets, queries)
    segments, ranks = np.concatenate([query, doc_query]), np.concatenate([relevant.ranks[rows], doc_ranks])
    order = np.lexsort((ranks, segments))
    found = np.concatenate([np.ones((len(rows), N_DRAWS), dtype=np.bool_), is_relevant])[order]
    so_far = np.cumsum(found, axis=0, dtype=np.float64)
    counts = np.bincount(segments, minlength=len(queries))
    listed = np.flatnonzero(counts)
    starts = offsets_of(counts)[:-1][listed]
    before = np.where(starts[:, None] > 0, so_far[starts - 1], 0.0)
    so_far -= np.repeat(before, counts[listed], axis=0)
    so_far /= ranks[order, None]
    so_far *= found
    sums = np.zeros((len(queries), N_DRAWS))
    if len(listed):
        sums[listed] = np.add.reduceat(so_far, starts, axis=0)
    return sums


SampledScores: TypeAlias = SampledHits | SampledSums | SampledPrecisions
