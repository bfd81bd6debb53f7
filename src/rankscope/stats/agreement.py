"""Agreement: of two rankings of docs, and of raters who grade the same docs."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from typing import Literal

import numpy as np

from rankscope.arrays import Floats, Ints
from rankscope.errors import OptionError
from rankscope.stats.interval import LEVEL, Interval
from rankscope.stats.rng import chunks, random_rows


def rbo(first: Sequence[Hashable], second: Sequence[Hashable], *, p: float = 0.9) -> float:
    """Return extrapolated rank-biased overlap of two rankings without repeats (Webber, Moffat & Zobel 2010)."""
    if not 0 < p < 1:
        raise OptionError(f"p = {p} is not between 0 and 1")
    short, long = sorted((list(first), list(second)), key=len)
    if not short:
        return 1.0 if not long else 0.0
    seen_short: set[Hashable] = set()
    seen_long: set[Hashable] = set()
    overlaps = []
    for depth, doc in enumerate(long):
        seen_long.add(doc)
        if depth < len(short):
            seen_short.add(short[depth])
        overlaps.append(len(seen_short & seen_long))
    s, length, x_s, x_l = len(short), len(long), overlaps[len(short) - 1], overlaps[-1]
    # equation 32 of the paper: overlap so far, carried on beyond what both rankings show
    total = sum(x / d * p**d for d, x in enumerate(overlaps, 1))
    total += sum(x_s * (d - s) / (s * d) * p**d for d in range(s + 1, length + 1))
    return float((1 - p) / p * total + ((x_l - x_s) / length + x_s / s) * p**length)


def jaccard(first: Iterable[Hashable], second: Iterable[Hashable]) -> float:
    """Return the share of all docs of two lists that are in both: |A ∩ B| / |A ∪ B|; NaN where both are empty."""
    a, b = set(first), set(second)
    return len(a & b) / len(a | b) if a or b else float("nan")


AlphaMetric = Literal["nominal", "ordinal", "interval"]
"""How far two grades are apart: the same or not, by how many grades given lie between them, or by their numbers."""
KappaWeights = Literal["none", "linear", "quadratic"]
"""How much a difference counts: all the same, by its steps on the scale, or by their square."""
_POWERS = {"linear": 1, "quadratic": 2}
ALPHA_RESAMPLES = 999
_LEAST_DEFINED = 0.5
"""The share of resamples in which alpha must be defined for an interval."""


def grade_counts(ratings: Floats, grades: Floats) -> Floats:
    """Return how many raters gave each doc each grade (docs x grades); ratings are docs x raters, NaN for none."""
    return np.stack([np.count_nonzero(ratings == grade, axis=1) for grade in grades], axis=1).astype(np.float64)


def given_grades(ratings: Floats) -> Floats:
    return np.unique(ratings[~np.isnan(ratings)])


def krippendorff_alpha(ratings: Floats, *, metric: AlphaMetric = "ordinal") -> float:
    """Return Krippendorff's alpha (2011): 1 is perfect agreement, 0 that of chance.

    Docs with fewer than two grades say nothing and are left out. NaN where there are none, and where all grades are the
    same, as then nothing is known of what raters can tell apart.
    """
    grades = given_grades(ratings)
    counts = grade_counts(ratings, grades) if len(grades) else np.zeros((len(ratings), 0))
    return float(_alphas(_coincidences(counts)[None], grades, metric)[0])


def _coincidences(counts: Floats) -> Floats:
    """Return how often two grades were given to one doc, each doc counting as many times as it was graded."""
    given = counts.sum(axis=1)
    kept, given = counts[given >= 2], given[given >= 2]
    weighted = kept / (given - 1)[:, None]
    return np.asarray(weighted.T @ kept - np.diag(weighted.sum(axis=0)))


def _alphas(coincidences: Floats, grades: Floats, metric: AlphaMetric) -> Floats:
    """Return alpha of each table of coincidences (tables x grades x grades)."""
    n_of = coincidences.sum(axis=2)
    if metric == "nominal":
        distance = np.broadcast_to(1 - np.eye(len(grades)), coincidences.shape)
    else:
        # of ordinal grades, the middle of the ranks that each has among all grades given
        places = np.broadcast_to(grades, n_of.shape) if metric == "interval" else np.cumsum(n_of, axis=1) - n_of / 2
        distance = (places[:, :, None] - places[:, None, :]) ** 2
    observed = (coincidences * distance).sum(axis=(1, 2))
    expected = np.einsum("ti,tij,tj->t", n_of, distance, n_of)
    n = n_of.sum(axis=1)
    found = np.full(len(n), math.nan)
    known = (expected > 0) & (n > 1)
    found[known] = 1 - (n[known] - 1) * observed[known] / expected[known]
    return found


def alpha_interval(
    ratings: Floats,
    queries: Ints,
    *,
    metric: AlphaMetric = "ordinal",
    level: float = LEVEL,
    n_resamples: int = ALPHA_RESAMPLES,
    seed: int = 0,
) -> Interval | None:
    """Return the percentile bootstrap interval of alpha, or None where there is none.

    Whole queries are drawn, as grades within a query go wrong together; `queries` numbers the query of each doc. There
    is none for fewer than two queries with docs that two raters graded, nor where most resamples have no alpha.
    """
    grades = given_grades(ratings)
    twice = np.count_nonzero(~np.isnan(ratings), axis=1) >= 2
    members = np.unique(queries[twice])
    if len(members) < 2:
        return None
    counts = grade_counts(ratings, grades)
    tables = np.stack([_coincidences(counts[twice & (queries == query)]) for query in members])
    flat = tables.reshape(len(members), -1)
    draws = []
    for rows in random_rows(len(members), n_resamples=n_resamples, seed=seed, purpose="alpha"):
        drawn = np.stack([np.bincount(row, minlength=len(members)) for row in rows]).astype(np.float64)
        for start, stop in chunks(len(drawn), flat.shape[1]):
            resampled = (drawn[start:stop] @ flat).reshape(-1, *tables.shape[1:])
            draws.append(_alphas(resampled, grades, metric))
    found = np.concatenate(draws)
    found = found[~np.isnan(found)]
    if len(found) < _LEAST_DEFINED * n_resamples:
        return None
    low, high = np.quantile(found, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(low), float(high), level, "percentile bootstrap over queries")


def confusion_matrix(first: Floats, second: Floats, grades: Floats) -> Ints:
    """Return how often the first rater gave the grade of the row and the second that of the column.

    Docs that one of them did not grade are left out; `grades` are all of the scale, in ascending order.
    """
    both = ~np.isnan(first) & ~np.isnan(second)
    table = np.zeros((len(grades), len(grades)), dtype=np.int64)
    np.add.at(table, (np.searchsorted(grades, first[both]), np.searchsorted(grades, second[both])), 1)
    return table


def weighted_kappa(table: Ints, *, weights: KappaWeights = "quadratic") -> float:
    """Return Cohen's kappa of a confusion matrix over the whole scale; NaN where chance alone would agree fully."""
    total = table.sum()
    if not total:
        return math.nan
    shares = table / total
    gap = np.abs(np.subtract.outer(np.arange(len(table)), np.arange(len(table))))
    cost = (gap > 0).astype(np.float64) if weights == "none" else gap ** float(_POWERS[weights])
    chance = float((cost * np.outer(shares.sum(axis=1), shares.sum(axis=0))).sum())
    return math.nan if chance == 0 else 1 - float((cost * shares).sum()) / chance


def gwet_agreement(ratings: Floats, grades: Floats, *, weights: KappaWeights = "none") -> float:
    """Return Gwet's AC1, or with weights AC2 (2014); NaN where no doc has two grades or the scale has one.

    It is high wherever one grade is given to almost everything, so it is shown beside alpha and decides nothing.
    """
    if len(grades) < 2:
        return math.nan
    counts = grade_counts(ratings, grades)
    given = counts.sum(axis=1)
    twice = given >= 2
    if not twice.any():
        return math.nan
    alike = np.eye(len(grades))
    if weights != "none":
        alike = 1 - (np.abs(np.subtract.outer(grades, grades)) / (grades[-1] - grades[0])) ** float(_POWERS[weights])
    several = counts[twice]
    agreed = ((several * (several @ alike - 1)).sum(axis=1) / (given * (given - 1))[twice]).mean()
    share = (counts[given > 0] / given[given > 0, None]).mean(axis=0)
    chance = alike.sum() / (len(grades) * (len(grades) - 1)) * (share * (1 - share)).sum()
    return float((agreed - chance) / (1 - chance))
