r"""Measures that are sums over docs, divided by what an ideal list would have: P, R, DCG, nDCG, RBP and the like.

The difference of one query is

    (N + sum of gain(u) * slope(u)) / I,        slope(u) = weight of u's rank in B - weight of u's rank in A

over the unjudged docs u. N is what the judged docs contribute. I is a constant for P, DCG and RBP. For recall and nDCG it
grows with what the unjudged docs are worth, since they then belong to the ideal list, too: with gains that take the
levels 0 < l_1 < l_2 < …, I = sum of (l_j - l_{j-1}) * W(number of docs worth at least l_j), where W adds up the
weights of the ideal's ranks and bends downwards.

The highest difference, exactly:

1. All unjudged docs worth nothing or the most. For any number m of good ones, I is fixed, so the m with the greatest
   slopes are best; the best m is found by trying all. For binary gains, and where I is constant, that is all.
2. With several levels, in between may be better still: a doc that is good, but does not push up the ideal as the best
   ones do. Whether a difference of x can be exceeded is whether N + sum of gain * slope - x * I can exceed 0, and that
   falls apart into one choice of m for every level, each again by trying all. A choice for a higher level never has
   more docs than one for a lower level as long as x >= 0, since fewer judged docs reach it and so each costs more; hence
   the sums fit together. Setting x to what the choice gives, until it stays (Dinkelbach 1967), ends in a few steps.
3. Where even the highest difference is below 0, step 1 is exact: a larger ideal then helps, and helps most when all
   good docs are as good as can be.

The lowest difference is the highest one with the systems exchanged.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import msgspec
import numpy as np

from rankscope.align.hits import Hits
from rankscope.analysis.unjudged.pool import UnjudgedPool
from rankscope.arrays import Bools, Floats, Ints, log2, offsets_of, running_sum, segment_sum
from rankscope.measures.gain import gains_of

Arguments: TypeAlias = dict[str, Any]
Gains: TypeAlias = Callable[[Floats], Floats]
RankWeights: TypeAlias = Callable[[Ints], Floats]


class LinearForm(msgspec.Struct, frozen=True, kw_only=True):
    """A measure as a sum of gain times weight over docs, and what it is divided by."""

    gain: Gains
    weight: RankWeights
    k: int | None = None
    """Ranks below k count nothing."""
    over_shown: bool = False
    """Whether each list's sum is divided by the number of docs shown."""
    ideal_weight: RankWeights | None = None
    """What a rank of the ideal list adds to the divisor; None where the divisor is `divisor` alone."""
    divisor: float = 1.0
    """The part of the divisor that does not depend on judgments."""


def every_rank(ranks: Ints) -> Floats:
    return np.ones(len(ranks))


def log_discount(ranks: Ints) -> Floats:
    return 1 / log2(ranks + 1)


def first_ranks(k: int | None, weight: RankWeights) -> RankWeights:
    return weight if k is None else lambda ranks: np.where(ranks <= k, weight(ranks), 0.0)


def binary_gain(given: Arguments) -> Gains:
    return lambda grades: (grades >= given["rel"]).astype(np.float64)


def graded_gain(given: Arguments) -> Gains:
    return lambda grades: gains_of(grades, given["gain"], given["rel"])


def scaled_gain(given: Arguments, top: float, *, gain: Any) -> Gains:
    """Return gains as a share of the most on the scale."""
    most = float(top if given["max_grade"] is None else given["max_grade"])
    scale = gains_of(np.array([most]), gain, None)[0]
    return lambda grades: gains_of(grades, gain, given.get("rel")) / scale


def recall_form(given: Arguments, ideal_weight: RankWeights = every_rank) -> LinearForm:
    return LinearForm(
        gain=binary_gain(given), weight=every_rank, k=given.get("k"), ideal_weight=ideal_weight, divisor=0.0
    )


def f_form(given: Arguments) -> LinearForm:
    """Return F as (1 + b²) found / (b² R + k), for precision found / k and recall found / R."""
    k, beta_squared = given["k"], float(given["beta"]) ** 2
    share = beta_squared / (1 + beta_squared)
    return LinearForm(
        gain=binary_gain(given),
        weight=every_rank,
        k=k,
        ideal_weight=lambda ranks: np.full(len(ranks), share),
        divisor=k / (1 + beta_squared),
    )


def normalised_form(given: Arguments, weight: RankWeights) -> LinearForm:
    k = given["k"]
    return LinearForm(gain=graded_gain(given), weight=weight, k=k, ideal_weight=first_ranks(k, weight), divisor=0.0)


def rank_biased_form(given: Arguments, top: float) -> LinearForm:
    gain, p = given["gain"], float(given["p"])
    gains = binary_gain(given) if gain == "binary" else scaled_gain(given, top, gain=gain)
    return LinearForm(gain=gains, weight=lambda ranks: (1 - p) * np.power(p, ranks - 1.0), k=given["k"])


def share_of_shown(given: Arguments, gain: Gains) -> LinearForm:
    return LinearForm(gain=gain, weight=every_rank, k=given.get("k"), over_shown=True)


FORMS: dict[str, Callable[[Arguments, float], LinearForm]] = {
    "P": lambda given, _: LinearForm(
        gain=binary_gain(given), weight=every_rank, k=given["k"], divisor=float(given["k"])
    ),
    "P_ret": lambda given, _: share_of_shown(given, binary_gain(given)),
    "SetP": lambda given, _: share_of_shown(given, binary_gain(given)),
    "R": lambda given, _: recall_form(given),
    "SetR": lambda given, _: recall_form(given),
    "R_cap": lambda given, _: recall_form(given, first_ranks(given["k"], every_rank)),
    "F": lambda given, _: f_form(given),
    "CG": lambda given, _: LinearForm(gain=graded_gain(given), weight=every_rank, k=given["k"]),
    "NCG": lambda given, _: normalised_form(given, every_rank),
    "DCG": lambda given, _: LinearForm(gain=graded_gain(given), weight=log_discount, k=given["k"]),
    "nDCG": lambda given, _: normalised_form(given, log_discount),
    "RBP": rank_biased_form,
    "MeanGain": lambda given, top: share_of_shown(given, scaled_gain(given, top, gain="linear")),
}
"""How each measure is made from its arguments and the top grade."""


def has_plain_gains(given: Arguments) -> bool:
    """Tell whether grade 0 is worth nothing, no grade less, and one scale of grades holds for all queries."""
    if given.get("max_grade") == "query" and given.get("gain") != "binary":
        return False
    gain, rel = given.get("gain", "binary"), given.get("rel")
    if isinstance(gain, tuple):
        return all(worth >= 0 for _, worth in gain) and not dict(gain).get(0)
    return gain != "binary" or rel is None or rel > 0


class LinearBounds:
    """The differences of one such measure, for any grades of the unjudged docs."""

    exact = True

    def __init__(self, form: LinearForm, pool: UnjudgedPool, hits: tuple[Hits, Hits], *, top: float) -> None:
        self.pool, self.form = pool, form
        weights_a = doc_weights(form, hits[0], pool.query, pool.rank_a)
        self.slopes = doc_weights(form, hits[1], pool.query, pool.rank_b) - weights_a
        self.judged_part = judged_sum(form, hits[1]) - judged_sum(form, hits[0])
        grades = np.concatenate([np.arange(0.0, top + 1), hits[0].ideal_grades, [top]])
        levels = np.unique(form.gain(np.unique(grades[grades <= top])))
        self.levels = levels[levels > 0] if levels[-1] > 0 else levels[-1:]
        """The gains above 0 that a grade from 0 to the top can have, rising: whole grades, and those of the qrels."""
        self.steps = np.diff(self.levels, prepend=0.0)
        gains = form.gain(hits[0].ideal_grades)
        self.n_judged = [hits[0].per_ideal(gains >= level).astype(np.int64) for level in self.levels.tolist()]
        longest = int((np.diff(hits[0].ideal_offsets) + pool.counts).max(initial=0)) + 1
        self.ideal_sums = np.zeros(longest + 1)
        """What an ideal list of 0, 1, 2, … docs adds to the divisor, per unit of gain."""
        if form.ideal_weight is not None:
            self.ideal_sums[1:] = np.cumsum(form.ideal_weight(np.arange(1, longest + 1)))
        self.now = self.quotient(self.judged_part, self.divisor(np.zeros(pool.n_queries, dtype=np.int64)))

    def divisor(self, n_good: Ints, queries: Ints | None = None) -> Floats:
        """Return the divisor of queries (by default of all) in which so many unjudged docs are worth the most."""
        total = np.full(len(n_good), self.form.divisor)
        for step, judged in zip(self.steps.tolist(), self.n_judged, strict=True):
            total += step * self.ideal_sums[(judged if queries is None else judged[queries]) + n_good]
        return total

    def quotient(self, numerator: Floats, divisor: Floats) -> Floats:
        """Divide; a query with nothing to gain counts as 0."""
        return np.divide(numerator, divisor, out=np.zeros_like(numerator), where=divisor > 0)

    def matters(self) -> Bools:
        tilts: Bools = self.slopes != 0
        if self.form.ideal_weight is None:
            return tilts
        moves = segment_sum(tilts, self.pool.query, self.pool.n_queries) + (self.judged_part != 0)
        return np.asarray(tilts | (moves[self.pool.query] > 0))

    def alone(self) -> tuple[Floats, Floats]:
        low, high = np.zeros(len(self.pool)), np.zeros(len(self.pool))
        query = self.pool.query
        divisor = self.divisor(np.zeros(len(query), dtype=np.int64), query)
        for level, step, judged in zip(self.levels.tolist(), self.steps.tolist(), self.n_judged, strict=True):
            divisor += step * (self.ideal_sums[judged[query] + 1] - self.ideal_sums[judged[query]])
            change = self.quotient(self.judged_part[query] + level * self.slopes, divisor) - self.now[query]
            low, high = np.minimum(low, change), np.maximum(high, change)
        return low, high

    def extremes(self) -> tuple[Floats, Floats]:
        return -self.highest(-1.0), self.highest(1.0)

    def highest(self, sign: float) -> Floats:
        """Return the highest difference of each query, or with sign -1 of the systems exchanged."""
        sums = SlopeSums(self.pool.query, sign * self.slopes, self.pool.n_queries)
        start = sign * self.judged_part
        numerator = start[sums.query] + float(self.levels[-1]) * sums.slope_sum
        best = sums.best(self.quotient(numerator, self.divisor(sums.n_good, sums.query)))
        if self.form.ideal_weight is None or len(self.levels) == 1:
            return best
        return self.refined(sums, start, best)

    def refined(self, sums: SlopeSums, start: Floats, best: Floats) -> Floats:
        """Raise the highest difference where gains in between do better than nothing or the most."""
        for _ in range(100):
            numerator, divisor = start.copy(), np.full(len(start), self.form.divisor)
            for step, judged in zip(self.steps.tolist(), self.n_judged, strict=True):
                ideal = self.ideal_sums[judged[sums.query] + sums.n_good]
                chosen = sums.last_best(sums.slope_sum - best[sums.query] * ideal)
                numerator += step * sums.slope_sum[chosen]
                divisor += step * ideal[chosen]
            better = np.where(best >= 0, np.maximum(best, self.quotient(numerator, divisor)), best)
            if np.all(better - best <= 1e-15):
                return better
            best = better
        return best


class SlopeSums:
    """For every query and every number m of unjudged docs: the sum of the m greatest slopes."""

    def __init__(self, doc_query: Ints, slopes: Floats, n_queries: int) -> None:
        counts = np.bincount(doc_query, minlength=n_queries) + 1
        self.starts = offsets_of(counts)[:-1]
        self.query = np.repeat(np.arange(n_queries), counts)
        self.n_good = np.arange(len(self.query)) - self.starts[self.query]
        added = np.zeros(len(self.query))
        added[self.n_good > 0] = slopes[np.lexsort((-slopes, doc_query))]
        self.slope_sum = running_sum(added, self.query, n_queries)

    def best(self, values: Floats) -> Floats:
        return np.maximum.reduceat(values, self.starts)

    def last_best(self, values: Floats) -> Ints:
        """Return where the highest value of each query stands, the last one of several."""
        is_best = values == self.best(values)[self.query]
        return np.maximum.reduceat(np.where(is_best, np.arange(len(values)), -1), self.starts)


def doc_weights(form: LinearForm, hits: Hits, query: Ints, ranks: Ints) -> Floats:
    """Return what each doc counts at its rank (0: not listed) in one system's list, per unit of gain."""
    counted = (ranks > 0) if form.k is None else (ranks > 0) & (ranks <= form.k)
    weights = np.where(counted, form.weight(np.maximum(ranks, 1)), 0.0)
    if not form.over_shown:
        return weights
    shown = hits.n_retrieved if form.k is None else np.minimum(hits.n_retrieved, form.k)
    return weights / np.maximum(shown, 1)[query]


def judged_sum(form: LinearForm, hits: Hits) -> Floats:
    """Return what the judged docs of each query add up to."""
    gains = np.where(hits.grades >= 0, form.gain(np.maximum(hits.grades, 0.0)), 0.0)
    return hits.per_query(gains * doc_weights(form, hits, hits.segments, hits.ranks))
