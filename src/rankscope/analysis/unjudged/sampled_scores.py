"""The scores of two systems when the unjudged docs of one are judged at random, in all draws at once.

`SampledHits` calls the measure itself, whatever it is: each draw of each query becomes a query of its own, so there is one
call per system. `SampledSums` (for measures that are sums over docs, see `linear`) and `SampledPrecisions` (for average
precision) return the same several times faster.
"""

from __future__ import annotations

from typing import Protocol

import msgspec
import numpy as np

from rankscope.align.hits import Hits
from rankscope.align.policies import Policies
from rankscope.analysis.unjudged.linear import LinearForm, doc_weights, judged_sum
from rankscope.analysis.unjudged.random_judgments import N_DRAWS
from rankscope.analysis.unjudged.sampled_docs import SampledDocs, UnjudgedDocs, rows_of
from rankscope.arrays import Bools, Floats, Ints, offsets_of
from rankscope.light import replace
from rankscope.measures.scoring import score_hits
from rankscope.measures.spec import Measure


class RetrievedDocs(msgspec.Struct, frozen=True, eq=False):
    """What one system retrieved within the depth of the measure."""

    judged: Hits
    unjudged: UnjudgedDocs
    weights: Floats = np.empty(0)
    """What each unjudged doc counts at its rank, where the measure is a sum over docs; else empty."""
    judged_sums: Floats = np.empty(0)
    """What the judged docs of each query add up to, where the measure is such a sum; else empty."""


class SampledScores(Protocol):
    """A way to score two systems in all random draws of judgments."""

    def prepare(self, judged: Hits, unjudged: UnjudgedDocs) -> RetrievedDocs:
        """Return what is needed of a system."""
        ...

    def sizes(self, first: RetrievedDocs, second: RetrievedDocs) -> Ints:
        """Return about how many numbers each query makes in one draw."""
        ...

    def differences(self, sample: SampledDocs, first: RetrievedDocs, second: RetrievedDocs, rate: float) -> Floats:
        """Return, for each query of the sample, the first system's score minus the second's, averaged over the draws.

        The sample has unjudged docs of the first system; they are relevant at a rate, also where the second has them.
        """
        ...


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
    segments = np.concatenate([query, doc_query])
    ranks = np.concatenate([judged.ranks[rows], doc_ranks])
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
        self.form = form
        self.gains = form.gain(relevant)
        offsets, grades = ideal
        gains = form.gain(grades)
        levels = np.unique(np.concatenate([gains, self.gains]))
        self.levels = levels[levels > 0]
        """What a doc can be worth, rising."""
        self.steps = np.diff(self.levels, prepend=0.0)
        reached = np.concatenate([np.zeros((1, len(self.levels))), np.cumsum(gains[:, None] >= self.levels, axis=0)])
        self.n_judged = np.diff(reached[offsets], axis=0).astype(np.int64)
        """How many judged docs of each query are worth at least so much, queries x levels."""
        n_most = int(np.diff(offsets).max(initial=0)) + longest
        weights = np.zeros(n_most) if form.ideal_weight is None else form.ideal_weight(np.arange(1, n_most + 1))
        self.ideal_sums = np.concatenate([[0.0], np.cumsum(weights)])
        """What an ideal list of 0, 1, 2, … docs adds to the divisor, per unit of gain."""

    def prepare(self, judged: Hits, unjudged: UnjudgedDocs) -> RetrievedDocs:
        query = np.repeat(np.arange(len(judged)), unjudged.counts)
        weights = doc_weights(self.form, judged, query, unjudged.ranks)
        return RetrievedDocs(judged, unjudged, weights, judged_sum(self.form, judged))

    def sizes(self, first: RetrievedDocs, second: RetrievedDocs) -> Ints:  # noqa: ARG002 (docs that only the second has stay as they are)
        return first.unjudged.counts

    def differences(self, sample: SampledDocs, first: RetrievedDocs, second: RetrievedDocs, rate: float) -> Floats:
        slopes = first.weights[sample.rows]
        shared = np.flatnonzero(sample.other_rows >= 0)
        slopes[shared] -= second.weights[sample.other_rows[shared]]
        is_relevant = sample.chances < rate
        gains: Floats = is_relevant * (self.gains[sample.picks] if len(self.levels) > 1 else self.gains[0])
        sums = np.add.reduceat(gains * slopes[:, None], sample.starts, axis=0)
        sums += (first.judged_sums - second.judged_sums)[sample.queries, None]
        if self.form.ideal_weight is None:
            return np.asarray(sums.mean(axis=1) / self.form.divisor)
        divisor = np.full(sums.shape, self.form.divisor)
        for level, step, n_judged in zip(
            self.levels.tolist(), self.steps.tolist(), self.n_judged[sample.queries].T, strict=True
        ):
            n_drawn = np.add.reduceat(gains >= level, sample.starts, axis=0, dtype=np.int64)
            divisor += step * self.ideal_sums[n_judged[:, None] + n_drawn]
        return np.asarray(np.divide(sums, divisor, out=np.zeros_like(sums), where=divisor > 0).mean(axis=1))


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
        return np.asarray(np.divide(sums, divisor, out=np.zeros_like(sums), where=divisor > 0).mean(axis=1))


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
