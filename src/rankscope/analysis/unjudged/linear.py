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
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec
import numpy as np

from rankscope.align.hits import Hits
from rankscope.analysis.unjudged.pool import DifferenceBounds, UnjudgedPool, divide
from rankscope.arrays import AnyNumber, Floats, Ints, log2, offsets_of, running_sum, segment_sum
from rankscope.measures.gain import gains_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

Arguments: TypeAlias = dict[str, Any]
Gains: TypeAlias = Callable[[Floats], Floats]
RankWeights: TypeAlias = Callable[[Ints], Floats]


class LinearForm(msgspec.Struct, frozen=True, kw_only=True):
    """A measure as a sum of gain times weight over docs, and what it is divided by."""

    gain: Gains
    weight: RankWeights
    k: int | None
    """Ranks below k count nothing."""
    over_shown: bool = False
    """Whether each list's sum is divided by the number of docs shown."""
    ideal_weight: RankWeights | None = None
    """What a rank of the ideal list adds to the divisor; None where the divisor is `divisor` alone."""
    divisor: float = 1.0
    """The part of the divisor that does not depend on judgments."""

    def doc_weights(self, hits: Hits, query: Ints, ranks: Ints) -> Floats:
        """Return what each doc counts at its rank (0: not listed) in one system's list, per unit of gain."""
        counted = (ranks > 0) if self.k is None else (ranks > 0) & (ranks <= self.k)
        weights = np.where(counted, self.weight(np.maximum(ranks, 1)), 0.0)
        if not self.over_shown:
            return weights
        shown = hits.n_retrieved if self.k is None else np.minimum(hits.n_retrieved, self.k)
        return weights / np.maximum(shown, 1)[query]

    def judged_sums(self, hits: Hits) -> Floats:
        gains = np.where(hits.grades >= 0, self.gain(np.maximum(hits.grades, 0.0)), 0.0)
        return hits.per_query(gains * self.doc_weights(hits, hits.segments, hits.ranks))


def every_rank(ranks: Ints) -> Floats:
    return np.ones(len(ranks))


def log_discount(ranks: Ints) -> Floats:
    return 1 / log2(ranks + 1)


def sum_form(
    given: Arguments, weight: RankWeights = every_rank, *, gain: Gains | None = None, **more: Any
) -> LinearForm:
    def own_gain(grades: Floats) -> Floats:
        return gains_of(grades, given.get("gain", "binary"), given["rel"])

    return LinearForm(gain=gain or own_gain, weight=weight, k=given.get("k"), **more)


def normalised_form(given: Arguments, weight: RankWeights) -> LinearForm:
    def ideal_weight(ranks: Ints) -> Floats:
        return weight(ranks) if given["k"] is None else np.where(ranks <= given["k"], weight(ranks), 0.0)

    return sum_form(given, weight, ideal_weight=ideal_weight, divisor=0.0)


def f_form(given: Arguments) -> LinearForm:
    """Return F as (1 + b²) found / (b² R + k), for precision found / k and recall found / R."""
    beta_squared = float(given["beta"]) ** 2
    share = beta_squared / (1 + beta_squared)
    return sum_form(
        given, ideal_weight=lambda ranks: np.full(len(ranks), share), divisor=given["k"] / (1 + beta_squared)
    )


def scaled_gain(given: Arguments, top: float) -> Gains:
    """Return gains as a share of the most on the scale."""
    gain, rel = given.get("gain", "linear"), given.get("rel")
    most = float(top if given["max_grade"] is None else given["max_grade"])
    scale = gains_of(np.array([most]), gain, None)[0]
    return lambda grades: gains_of(grades, gain, rel) / scale


def rank_biased_form(given: Arguments, top: float) -> LinearForm:
    p = float(given["p"])
    gain = None if given["gain"] == "binary" else scaled_gain(given, top)
    return sum_form(given, lambda ranks: (1 - p) * np.power(p, ranks - 1.0), gain=gain)


FORMS: dict[str, Callable[[Arguments, float], LinearForm]] = {
    "P": lambda given, _: sum_form(given, divisor=float(given["k"])),
    "P_ret": lambda given, _: sum_form(given, over_shown=True),
    "SetP": lambda given, _: sum_form(given, over_shown=True),
    "R": lambda given, _: sum_form(given, ideal_weight=every_rank, divisor=0.0),
    "SetR": lambda given, _: sum_form(given, ideal_weight=every_rank, divisor=0.0),
    "R_cap": lambda given, _: normalised_form(given, every_rank),
    "F": lambda given, _: f_form(given),
    "CG": lambda given, _: sum_form(given),
    "NCG": lambda given, _: normalised_form(given, every_rank),
    "DCG": lambda given, _: sum_form(given, log_discount),
    "nDCG": lambda given, _: normalised_form(given, log_discount),
    "RBP": rank_biased_form,
    "MeanGain": lambda given, top: sum_form(given, gain=scaled_gain(given, top), over_shown=True),
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


class IdealDivisor:
    """What a linear measure such as nDCG is divided by: the best possible sum of gains, level by level of gain."""

    def __init__(self, form: LinearForm, levels: Floats, ideal: tuple[Ints, Floats], *, n_unjudged: int) -> None:
        self.constant, (offsets, grades) = form.divisor, ideal
        gains = form.gain(grades)
        n_reached = (np.concatenate([[0], np.cumsum(gains >= level)]) for level in levels.tolist())
        n_judged = (np.diff(reached[offsets]) for reached in n_reached)
        self.levels = list(zip(levels.tolist(), np.diff(levels, prepend=0.0).tolist(), n_judged, strict=True))
        """Each gain above 0 that a doc can have, rising: the gain, its step from the one before, and how many judged
        docs of each query are worth at least so much."""
        n_most = int(np.diff(offsets).max(initial=0)) + n_unjudged + 1
        self.sums = np.zeros(n_most + 1)
        """What an ideal list of 0, 1, 2, … docs adds to the divisor, per unit of gain."""
        if form.ideal_weight is not None:
            self.sums[1:] = np.cumsum(form.ideal_weight(np.arange(1, n_most + 1)))

    def where_good(self, n_good: Ints, queries: Ints) -> Floats:
        """Return the divisor of queries in which so many unjudged docs are worth the most."""
        total = np.full(len(n_good), self.constant)
        for _, step, n_judged in self.levels:
            total += step * self.sums[n_judged[queries] + n_good]
        return total


class LinearDifferences:
    """The differences of one such measure, for any grades of the unjudged docs."""

    def __init__(
        self,
        form: LinearForm,
        pool: UnjudgedPool,
        hits: tuple[Hits, Hits],
        *,
        top: float,
        grades: Floats,
    ) -> None:
        """Prepare the docs of a pool; `grades` are those that docs of any query have, or can get."""
        self.pool, self.form = pool, form
        weights_a = form.doc_weights(hits[0], pool.query, pool.rank_a)
        self.slopes = form.doc_weights(hits[1], pool.query, pool.rank_b) - weights_a
        self.judged_part = form.judged_sums(hits[1]) - form.judged_sums(hits[0])
        # whole grades up to the top are possible, too
        grades = np.concatenate([np.arange(0.0, top + 1), grades, [top]])
        levels = np.unique(form.gain(np.unique(grades[(grades >= 0) & (grades <= top)])))
        levels = levels[levels > 0] if levels[-1] > 0 else levels[-1:]
        ideal = hits[0].ideal_offsets, hits[0].ideal_grades
        self.ideal = IdealDivisor(form, levels, ideal, n_unjudged=int(pool.counts.max(initial=0)))
        queries = np.arange(pool.n_queries)
        self.now = divide(self.judged_part, self.ideal.where_good(np.zeros_like(queries), queries))

    def bounds(self) -> DifferenceBounds:
        query, pool = self.pool.query, self.pool
        matters = self.slopes != 0
        if self.form.ideal_weight is not None:
            moves = segment_sum(matters, query, pool.n_queries) + (self.judged_part != 0)
            matters = matters | (moves[query] > 0)
        falls, rises = np.zeros(len(pool)), np.zeros(len(pool))
        divisor = self.ideal.where_good(np.zeros_like(query), query)
        for level, step, n_judged in self.ideal.levels:
            divisor += step * (self.ideal.sums[n_judged[query] + 1] - self.ideal.sums[n_judged[query]])
            change = divide(self.judged_part[query] + level * self.slopes, divisor) - self.now[query]
            falls, rises = np.minimum(falls, change), np.maximum(rises, change)
        return DifferenceBounds(self.now, -self.highest(-1.0), self.highest(1.0), matters, falls, rises)

    def highest(self, sign: float) -> Floats:
        """Return the highest difference of each query, or with sign -1 of the systems exchanged."""
        sums = SlopeSums(self.pool.query, sign * self.slopes, self.pool.n_queries)
        start = sign * self.judged_part
        numerator = start[sums.query] + self.ideal.levels[-1][0] * sums.slope_sum
        best = sums.best(divide(numerator, self.ideal.where_good(sums.n_good, sums.query)))
        if self.form.ideal_weight is None or len(self.ideal.levels) == 1:
            return best
        for _ in range(100):  # gains in between may do better than nothing or the most
            numerator, divisor = start.copy(), np.full(len(start), self.form.divisor)
            for _, step, n_judged in self.ideal.levels:
                ideal = self.ideal.sums[n_judged[sums.query] + sums.n_good]
                values = sums.slope_sum - best[sums.query] * ideal
                is_best = values == sums.best(values)[sums.query]
                chosen = sums.best(np.where(is_best, np.arange(len(values)), -1))  # the last one of several
                numerator += step * sums.slope_sum[chosen]
                divisor += step * ideal[chosen]
            better = np.where(best >= 0, np.maximum(best, divide(numerator, divisor)), best)
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

    def best(self, values: NDArray[AnyNumber]) -> NDArray[AnyNumber]:
        return np.maximum.reduceat(values, self.starts)
