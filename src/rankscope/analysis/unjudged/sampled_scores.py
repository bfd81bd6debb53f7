"""The unjudged docs of one system, where they stand in another one, and what both score when these are judged at random.

All draws are scored at once. `SampledHits` calls the measure itself, whatever it is: each draw of each query becomes a
query of its own, so there is one call per system. `SampledSums` (for measures that are sums over docs, see `linear`) and
`SampledPrecisions` (for average precision) return the same several times faster. Each of them says how many docs it takes
at once, besides all docs of some queries, and has three methods:

- `prepare` returns what is needed of a system;
- `sizes` tells about how many numbers each query makes in one draw;
- `differences` returns, for each query of a sample, the first system's score minus the second's, averaged over the draws.
  The sample has unjudged docs of the first system; they are relevant at a rate, also where the second has them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import msgspec
import numpy as np

from rankscope.align.hits import Hits
from rankscope.align.policies import Policies
from rankscope.analysis.aligned import AlignedRun
from rankscope.analysis.unjudged.doc_lists import lists_of, not_of_this_run
from rankscope.analysis.unjudged.linear import IdealDivisor, LinearForm
from rankscope.analysis.unjudged.pool import divide, positions_among
from rankscope.analysis.unjudged.random_judgments import N_DRAWS, RandomJudgments, number_at
from rankscope.arrays import Bools, Floats, Ints, offsets_of
from rankscope.light import replace
from rankscope.measures.scoring import score_hits
from rankscope.measures.spec import Measure

if TYPE_CHECKING:
    from rankscope.analysis.unjudged.random_judgments import Keys


class UnjudgedDocs:
    """The unjudged docs that one system retrieved within the depth of a measure, query by query, by rank.

    They lie in the run's lists, which are read only where the hits say that there are any.
    """

    def __init__(self, run: AlignedRun, judged: Hits, judgments: RandomJudgments, *, depth: int | None) -> None:
        self.run, self.judged, self.judgments, self.depth = run, judged, judgments, depth
        self.counts = judged.n_retrieved - np.diff(judged.offsets)
        """How many each query has."""

    def of(self, queries: Ints) -> tuple[Ints, Ints, Keys]:
        """Return those of some queries: each doc's query, by its place among these, its rank, and its key."""
        judged, n_shown = self.judged, self.judged.n_retrieved[queries]
        starts = offsets_of(n_shown)
        query = np.repeat(np.arange(len(queries)), n_shown)
        ranks = np.arange(len(query)) - starts[query] + 1
        unjudged = np.ones(len(query), dtype=np.bool_)
        rows, within = rows_of(judged.offsets, queries)
        unjudged[starts[within] + judged.ranks[rows] - 1] = False
        query, ranks = query[unjudged], ranks[unjudged]
        if not len(query):
            return query, ranks, np.empty(0, dtype=np.uint64)
        lists = lists_of(self.run, self.depth)
        query_ids = [judged.query_ids[i] for i in queries.tolist()]
        # a query that was left out of the run's hits has no docs there
        answered = [i for i, n in enumerate(n_shown.tolist()) if n]
        places = np.array([lists.place_of[query_ids[i]] for i in answered], dtype=np.int64)
        hashes = lists.hashes(places)
        if len(hashes) != len(unjudged):
            raise not_of_this_run(self.run)
        return query, ranks, self.judgments.keys_of(query_ids, query, hashes[unjudged])


class SampledDocs:
    """The unjudged docs of one system for some queries, each of which has some, with their random judgments."""

    def __init__(self, docs: UnjudgedDocs, others: UnjudgedDocs, queries: Ints, *, spans: Sequence[Ints]) -> None:
        self.queries, self.judgments = queries, docs.judgments
        self.spans = spans
        """The same queries in spans, whose shares in a sum are added up one after the other."""
        query, ranks, self.keys = docs.of(queries)
        _, other_ranks, other_keys = others.of(queries)
        self._query, self._ranks = query.astype(np.int32), ranks.astype(np.int32)
        self._other_ranks = np.append(other_ranks, 0)[positions_among(other_keys, self.keys)].astype(np.int32)
        self.starts = offsets_of(docs.counts[queries])[:-1]
        """Where the docs of each query start."""
        self.merged: tuple[MergedList, MergedList] | None = None
        """Both lists as `SampledPrecisions` needs them."""

    @property
    def query(self) -> Ints:
        """Each doc's query, by its place in `queries`."""
        return self._query.astype(np.int64)

    @property
    def ranks(self) -> Ints:
        return self._ranks.astype(np.int64)

    @property
    def other_ranks(self) -> Ints:
        """The rank in the other system's list; 0 where the other did not retrieve the doc."""
        return self._other_ranks.astype(np.int64)

    @property
    def n_only_here(self) -> int:
        return int((self._other_ranks == 0).sum())

    @cached_property
    def chances(self) -> Floats:
        """The rate above which each doc is relevant, docs x draws."""
        return self.judgments.chances(self.keys)

    @cached_property
    def picks(self) -> Ints:
        """Which of the relevant grades each doc has where it is relevant, docs x draws."""
        return self.judgments.picks(self.keys)

    def forget(self) -> None:
        """Let go of what follows from the keys, as it takes much more memory than these."""
        for name in ("chances", "picks"):
            vars(self).pop(name, None)

    def draws_at(self, rate: float) -> Iterator[Bools]:
        """Yield for every draw which docs are relevant at a rate: where the chance is below it."""
        below, are_all = number_at(rate)
        for draw in range(N_DRAWS):
            yield (
                np.ones(len(self.keys), dtype=np.bool_) if are_all else self.judgments.numbers(self.keys, draw) < below
            )


def rows_of(offsets: Ints, segments: Ints) -> tuple[Ints, Ints]:
    """Return the rows of some segments, and to which of these segments each row belongs, counted from 0."""
    first, lengths = offsets[segments], offsets[segments + 1] - offsets[segments]
    within = np.repeat(np.arange(len(segments)), lengths)
    return np.arange(len(within)) + (first - offsets_of(lengths)[:-1])[within], within


class RetrievedDocs(msgspec.Struct, frozen=True, eq=False):
    """What one system retrieved within the depth of the measure."""

    judged: Hits
    unjudged: UnjudgedDocs
    judged_sums: Floats = np.empty(0)
    """What the judged docs of each query add up to, where the measure is such a sum; else empty."""


class SampledHits:
    """Scores by any measure of hits."""

    docs_at_once = 0

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
        query, other_ranks = sample.query, sample.other_ranks
        shared = other_ranks > 0
        stacks = (
            stack_draws(first.judged, sample.queries, query, sample.ranks, grades, ideal=ideal),
            stack_draws(second.judged, sample.queries, query[shared], other_ranks[shared], grades[shared], ideal=ideal),
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

    docs_at_once = 0

    def __init__(self, form: LinearForm, ideal: tuple[Ints, Floats], relevant: Floats, *, longest: int) -> None:
        self.form, self.gains = form, form.gain(relevant)
        levels = np.unique(np.concatenate([form.gain(ideal[1]), self.gains]))
        self.ideal = IdealDivisor(form, levels[levels > 0], ideal, n_unjudged=longest)

    def prepare(self, judged: Hits, unjudged: UnjudgedDocs) -> RetrievedDocs:
        return RetrievedDocs(judged, unjudged, self.form.judged_sums(judged))

    def sizes(self, first: RetrievedDocs, second: RetrievedDocs) -> Ints:  # noqa: ARG002 (docs that only the second has stay as they are)
        return first.unjudged.counts

    def differences(self, sample: SampledDocs, first: RetrievedDocs, second: RetrievedDocs, rate: float) -> Floats:
        query = sample.queries[sample.query]
        slopes = self.form.doc_weights(first.judged, query, sample.ranks)
        slopes -= self.form.doc_weights(second.judged, query, sample.other_ranks)
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
    """Scores by average precision, one draw after the other, so that more docs can be looked at together."""

    docs_at_once = 1 << 16

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
        lists = sample.merged
        if lists is None:
            query, other_ranks = sample.query, sample.other_ranks
            shared = np.flatnonzero(other_ranks)
            lists = sample.merged = (
                MergedList(first.judged, sample.queries, query, sample.ranks, np.arange(len(query))),
                MergedList(second.judged, sample.queries, query[shared], other_ranks[shared], shared),
            )
        query, n_judged = sample.query, self.n_relevant[sample.queries]
        scores = np.empty((len(sample.queries), N_DRAWS))
        for draw, is_relevant in enumerate(sample.draws_at(rate)):
            n_relevant = n_judged + np.bincount(query[is_relevant], minlength=len(n_judged)).astype(np.float64)
            divisor = n_relevant if self.most is None else np.minimum(n_relevant, self.most)
            scores[:, draw] = divide(
                lists[0].precision_sums(is_relevant) - lists[1].precision_sums(is_relevant), divisor
            )
        return np.asarray(scores.mean(axis=1))


class MergedList:
    """The docs of one system that are relevant, or may be: those judged relevant, and unjudged ones, by rank."""

    def __init__(self, relevant: Hits, queries: Ints, doc_query: Ints, doc_ranks: Ints, docs: Ints) -> None:
        """Merge what was judged relevant and unjudged docs of some queries; `docs` says which of a sample these are."""
        rows, query = rows_of(relevant.offsets, queries)
        segments, ranks = np.concatenate([query, doc_query]), np.concatenate([relevant.ranks[rows], doc_ranks])
        order = np.lexsort((ranks, segments))
        self.n_queries = len(queries)
        self.segments, self.ranks = segments[order].astype(np.int32), ranks[order].astype(np.int32)
        self.docs = np.concatenate([np.full(len(rows), -1), docs])[order].astype(np.int32)
        """Where each doc is in the sample; -1 for those judged relevant."""
        counts = np.bincount(self.segments, minlength=self.n_queries)
        self.listed = np.flatnonzero(counts)
        """The queries that have any, whose docs begin at `starts`."""
        self.starts = offsets_of(counts)[:-1][self.listed]

    def precision_sums(self, is_relevant: Bools) -> Floats:
        """Return the sum of the precisions at all relevant docs of each query in one draw."""
        found = np.flatnonzero(np.append(is_relevant, True)[self.docs])
        segments = self.segments[found]
        counts = np.bincount(segments, minlength=self.n_queries)
        so_far = np.arange(1, len(found) + 1) - np.repeat(offsets_of(counts)[:-1], counts)
        precisions = np.zeros(len(self.docs))
        precisions[found] = so_far / self.ranks[found]
        sums = np.zeros(self.n_queries)
        if len(precisions):
            sums[self.listed] = np.add.reduceat(precisions, self.starts)
        return sums


SampledScores: TypeAlias = SampledHits | SampledSums | SampledPrecisions
