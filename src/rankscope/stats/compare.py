"""Comparison of systems on the same queries: how much they differ, how sure that is, and what the set could find.

Scores in, one record per pair of systems and measure out. Which record is right for words, files or pages is decided
elsewhere; here are only numbers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from rankscope.core.arrays import Floats
from rankscope.errors import OptionError
from rankscope.stats.effect import Chances, Effect, bayesian_bootstrap, effect_of
from rankscope.stats.flips import refined, sign_flip_columns
from rankscope.stats.interval import Interval, bca_interval, cluster_standard_error, cluster_t_interval, t_interval
from rankscope.stats.multiple import benjamini_hochberg, block_tukey, holm, max_t, permuted_ranges, residual_variance
from rankscope.stats.paired import N_RESAMPLES, Test, paired_t_test, skewness
from rankscope.stats.power import minimal_detectable_effect
from rankscope.stats.rng import SignFlips
from rankscope.stats.studentized_range import critical_range

Role = Literal["primary", "exploratory"]
CORRECTIONS = {
    "holm": "Holm's correction over all comparisons of the primary measure",
    "maxt": "the largest t over all challengers, under the same sign flips (Westfall & Young)",
    "tukey": "randomised Tukey HSD over all pairs of systems",
}
FEW_QUERIES = 30
"""Below this many queries, or with skewed differences, a second interval checks the first."""
SKEWED = 1.0
MANY_PAIRS = 200
"""From more comparisons than this on, those that need resamples of their own are left out."""
MANY_CELLS = 20_000
"""From more scores (queries x systems) than this on, Tukey's test uses the normal theory instead of permutations."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What a comparison is made with; the defaults are recorded with every result."""

    alpha: float = 0.05
    margin: float = 0.01
    """The smallest difference that matters."""
    power: float = 0.8
    false_discoveries: float = 0.10
    """The share of false claims allowed among exploratory results."""
    n_resamples: int = N_RESAMPLES
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("alpha", "power", "false_discoveries"):
            if not 0 < getattr(self, name) < 1:
                raise OptionError(f"{name} = {getattr(self, name)} is not between 0 and 1")
        if not self.margin >= 0:
            raise OptionError(f"margin = {self.margin} is negative", hint="give the smallest difference that matters")
        if self.n_resamples < 99:  # noqa: PLR2004 (1 / 100 is the largest p-value that could be called small)
            raise OptionError(f"n_resamples = {self.n_resamples} is too few", hint="the default is 9999")


@dataclass(frozen=True, slots=True, eq=False)
class Contest:
    """Two systems on the same queries by one measure, before anything is computed."""

    a: str
    b: str
    measure: str
    role: Role
    scores_a: Floats
    """One score per query of the whole set; NaN where it is undefined or the query is not part of the contest."""
    scores_b: Floats
    n_members: int
    """How many queries are part of it."""
    lower_is_better: bool = False
    group: str = ""
    label: str = ""
    """The slice of queries it is about, where that is not all of the group."""
    in_full: bool = True
    """Whether to add what needs resamples of its own: the second interval, and the chances."""

    @property
    def differences(self) -> Floats:
        """B minus A, NaN where either has no score."""
        return self.scores_b - self.scores_a

    @property
    def paired(self) -> np.ndarray:
        """Which queries have both scores."""
        return ~np.isnan(self.differences)


@dataclass(frozen=True, slots=True)
class PValues:
    """The p-values of a comparison, and how they were obtained."""

    permutation: float
    t: float
    adjusted: float
    method: str
    adjustment: str
    family_size: int
    n_resamples: int | None
    """None where all sign patterns were tried."""


@dataclass(frozen=True, slots=True, eq=False)
class Pair:
    """What is known of the difference between two systems by one measure: B minus A."""

    a: str
    b: str
    measure: str
    role: Role
    group: str
    label: str
    lower_is_better: bool
    n_queries: int
    n_undefined: int
    mean_a: float
    mean_b: float
    delta: float
    ci: Interval
    """At the usual level, of this difference alone."""
    ci_simultaneous: Interval
    """Wider, so that all comparisons of the primary measure hold together at its level; verdicts use it."""
    ci_check: Interval | None
    """A second interval, by another method, where the first may be doubtful."""
    p: PValues
    effect: Effect
    mde: float
    """The smallest difference that this set of queries finds with the wanted power."""
    mde_alpha: float
    n_needed: int | None
    """How many queries would find a difference as small as the margin; None without a margin."""
    margin: float
    equivalent: bool
    """Whether the difference is shown to be smaller than the margin."""
    bayes: Chances | None
    skew: float
    differences: Floats = field(repr=False)
    """Per query of the whole set; NaN where the query is not part of it."""

    @property
    def gain(self) -> Interval:
        """The simultaneous interval, turned so that more is better."""
        if not self.lower_is_better:
            return self.ci_simultaneous
        ci = self.ci_simultaneous
        return Interval(-ci.high, -ci.low, ci.level, ci.method)


def compare_contests(
    contests: Sequence[Contest],
    settings: Settings,
    *,
    correction: str = "holm",
    clusters: np.ndarray | None = None,
) -> tuple[Pair, ...]:
    """Return a record for every contest: primary ones adjusted by the correction, exploratory ones by BH.

    With `clusters`, one label per query, queries of a cluster are not taken for independent.
    """
    if not contests:
        return ()
    columns = np.column_stack([contest.differences for contest in contests])
    primary = [i for i, contest in enumerate(contests) if contest.role == "primary"]
    tests = sign_flip_columns(columns, n_resamples=settings.n_resamples, seed=settings.seed, clusters=clusters)
    if len(primary) <= MANY_PAIRS:
        smallest = settings.alpha / max(len(primary), 1)
        tests = refined(tests, columns, alpha=smallest, seed=settings.seed, clusters=clusters)
    adjusted, halves = adjust(contests, tests, settings, correction=correction)
    many = len(primary) > MANY_PAIRS
    mde_of = MdeTable(settings)
    return tuple(
        pair_of(
            contest, test, adjusted=p, half=half, adjustment=correction if contest.role == "primary" else "bh",
            family_size=len(primary) if contest.role == "primary" else len(contests) - len(primary),
            settings=settings, clusters=clusters, mde_of=mde_of, in_full=contest.in_full and not many,
        )
        for contest, test, p, half in zip(contests, tests, adjusted, halves, strict=True)
    )  # fmt: skip


def adjust(
    contests: Sequence[Contest], tests: Sequence[Test], settings: Settings, *, correction: str
) -> tuple[list[float], list[float | None]]:
    """Return each contest's adjusted p-value, and the half-width of its simultaneous interval where Tukey gives one."""
    adjusted = [test.p for test in tests]
    halves: list[float | None] = [None] * len(tests)
    for role in ("primary", "exploratory"):
        members = [i for i, contest in enumerate(contests) if contest.role == role]
        if not members:
            continue
        p = np.array([tests[i].p for i in members])
        if role == "exploratory":
            values = benjamini_hochberg(p)
        elif correction == "tukey":
            values, widths = tukey_by_group([contests[i] for i in members], settings)
            for i, width in zip(members, widths, strict=True):
                halves[i] = width
        elif correction == "maxt":
            values = max_t_by_group([contests[i] for i in members], settings)
        else:
            values = holm(p)
        for i, value in zip(members, values, strict=True):
            adjusted[i] = float(value)
    return adjusted, halves


def max_t_by_group(contests: Sequence[Contest], settings: Settings) -> Floats:
    """Return p-values adjusted by the largest t, an undefined difference counting as none."""
    together = np.nan_to_num(np.column_stack([contest.differences for contest in contests]))
    return max_t(together, n_resamples=settings.n_resamples, seed=settings.seed)


def tukey_by_group(contests: Sequence[Contest], settings: Settings) -> tuple[Floats, list[float]]:
    """Return Tukey's p-value and half-width for every pair, group by group; groups share alpha between them."""
    groups = list(dict.fromkeys(contest.group for contest in contests))
    p_values, widths = np.empty(len(contests)), [0.0] * len(contests)
    for group in groups:
        members = [i for i, contest in enumerate(contests) if contest.group == group]
        matrix, names = matrix_of([contests[i] for i in members])
        p, half = tukey(matrix, settings, n_groups=len(groups))
        for i in members:
            place = names.index(contests[i].a), names.index(contests[i].b)
            p_values[i], widths[i] = min(1.0, float(p[place]) * len(groups)), half
    return p_values, widths


def matrix_of(contests: Sequence[Contest]) -> tuple[Floats, list[str]]:
    """Return scores of all systems on the queries for which all have one, queries x systems."""
    columns: dict[str, Floats] = {}
    for contest in contests:
        columns.setdefault(contest.a, contest.scores_a)
        columns.setdefault(contest.b, contest.scores_b)
    matrix = np.column_stack(list(columns.values()))
    return matrix[~np.isnan(matrix).any(axis=1)], list(columns)


def tukey(matrix: Floats, settings: Settings, *, n_groups: int = 1) -> tuple[Floats, float]:
    """Return Tukey's adjusted p-values of all pairs, and the half-width of their simultaneous intervals."""
    n, m = matrix.shape
    if n < 2:  # noqa: PLR2004 (one query has no spread)
        return np.ones((m, m)), math.nan
    alpha = settings.alpha / n_groups
    if m > 2 and matrix.size > MANY_CELLS:  # noqa: PLR2004 (two are quick to flip)
        return block_tukey(matrix), block_half_width(matrix, alpha)
    ranges = np.sort(null_ranges(matrix, settings))
    means = matrix.mean(axis=0)
    gaps = np.abs(means[:, None] - means[None, :]) - 1e-12
    reached = len(ranges) - np.searchsorted(ranges, gaps, side="left")
    # a gap that this share of the ranges does not reach is the smallest with p <= alpha
    place = min(len(ranges) - 1, math.ceil((1 - alpha) * (len(ranges) + 1)) - 1)
    return np.asarray((reached + 1) / (len(ranges) + 1)), float(ranges[place])


def null_ranges(matrix: Floats, settings: Settings) -> Floats:
    """Return how far apart the best and the worst mean are where labels are permuted within queries.

    Of two systems that is a flip of the sign of their difference, the very ones that the paired test draws.
    """
    flips = SignFlips(len(matrix), settings.n_resamples, settings.seed)
    if matrix.shape[1] != 2 or flips.is_exact:  # noqa: PLR2004 (two systems)
        return permuted_ranges(matrix, n_resamples=settings.n_resamples, seed=settings.seed)
    gaps: Floats = np.abs(np.concatenate(list(flips.sums(matrix[:, 1] - matrix[:, 0])))) / len(matrix)
    return gaps


def block_half_width(matrix: Floats, alpha: float) -> float:
    """Return how far two means must be apart by Tukey's test in a two-way layout."""
    n, m = matrix.shape
    return critical_range(alpha, m, (n - 1) * (m - 1)) * math.sqrt(residual_variance(matrix) / n)


class MdeTable:
    """The smallest differences that can be found; they grow with the spread, so each size is worked out once."""

    def __init__(self, settings: Settings) -> None:
        self.power = settings.power
        self._unit: dict[tuple[int, float], float] = {}

    def __call__(self, spread: float, n: int, alpha: float) -> float:
        """Return the smallest difference found, with this spread, number of queries and alpha."""
        if n < 2:  # noqa: PLR2004 (one query has no spread)
            return math.nan
        if (n, alpha) not in self._unit:
            self._unit[n, alpha] = minimal_detectable_effect(1.0, n, alpha=alpha, power=self.power)
        return spread * self._unit[n, alpha]


def pair_of(
    contest: Contest,
    test: Test,
    *,
    adjusted: float,
    half: float | None,
    adjustment: str,
    family_size: int,
    settings: Settings,
    clusters: np.ndarray | None,
    mde_of: MdeTable,
    in_full: bool,
) -> Pair:
    """Return the record of one contest; where it is one of very many, without what needs resamples of its own."""
    paired = contest.paired
    d = contest.differences[paired]
    groups = None if clusters is None else clusters[paired]
    alpha = settings.alpha / family_size if contest.role == "primary" else settings.alpha
    level = 1 - settings.alpha
    ci = interval_of(d, groups, level)
    skew = skewness(d) if len(d) else 0.0
    doubtful = len(d) < FEW_QUERIES or abs(skew) > SKEWED
    spread = spread_of(d, groups)
    return Pair(
        a=contest.a,
        b=contest.b,
        measure=contest.measure,
        role=contest.role,
        group=contest.group,
        label=contest.label,
        lower_is_better=contest.lower_is_better,
        n_queries=len(d),
        n_undefined=contest.n_members - len(d),
        mean_a=mean_of(contest.scores_a[paired]),
        mean_b=mean_of(contest.scores_b[paired]),
        delta=mean_of(d),
        ci=ci,
        ci_simultaneous=simultaneous(d, groups, half, alpha=alpha, level=level),
        ci_check=checked(d, groups, settings, level) if in_full and doubtful and not math.isnan(ci.low) else None,
        p=PValues(
            permutation=test.p,
            t=paired_t_test(d).p if len(d) else 1.0,
            adjusted=adjusted,
            method=test.method,
            adjustment=adjustment,
            family_size=family_size,
            n_resamples=test.n_resamples,
        ),
        effect=effect_of(d) if len(d) else Effect(math.nan, math.nan, 0, 0, 0),
        mde=mde_of(spread, len(d), alpha) if half is None else half + power_margin(spread, len(d), settings.power),
        mde_alpha=alpha,
        n_needed=queries_for(settings.margin, spread, alpha, settings.power) if settings.margin > 0 else None,
        margin=settings.margin,
        equivalent=is_within(interval_of(d, groups, 1 - 2 * settings.alpha), settings.margin),
        bayes=bayesian_bootstrap(d, settings.margin, seed=settings.seed) if in_full and len(d) > 1 else None,
        skew=skew,
        differences=contest.differences,
    )


def mean_of(values: Floats) -> float:
    """Return the mean, NaN for none."""
    return float(values.mean()) if len(values) else math.nan


def interval_of(d: Floats, clusters: np.ndarray | None, level: float) -> Interval:
    """Return the interval of a mean difference; undefined where there are too few queries to have a spread."""
    if len(d) < 2 or (clusters is not None and len(set(clusters.tolist())) < 2):  # noqa: PLR2004 (as said)
        return Interval(math.nan, math.nan, level, "t")
    return t_interval(d, level=level) if clusters is None else cluster_t_interval(d, clusters, level=level)


def simultaneous(d: Floats, clusters: np.ndarray | None, half: float | None, *, alpha: float, level: float) -> Interval:
    """Return the interval that holds together with those of the other comparisons: Tukey's, or Bonferroni's."""
    if half is not None:
        return Interval(mean_of(d) - half, mean_of(d) + half, level, "Tukey")
    alone = interval_of(d, clusters, 1 - alpha)
    method = alone.method if 1 - alpha == level else f"{alone.method}, Bonferroni"
    return Interval(alone.low, alone.high, level, method)


def power_margin(spread: float, n: int, power: float) -> float:
    """Return how far beyond the critical difference a true one must lie to be found with the wanted power."""
    from scipy.special import stdtrit

    return float(stdtrit(n - 1, power)) * spread / math.sqrt(n) if n > 1 else math.nan


def checked(d: Floats, clusters: np.ndarray | None, settings: Settings, level: float) -> Interval:
    """Return the bootstrap interval that checks the t interval."""
    return bca_interval(d, level=level, n_resamples=settings.n_resamples, seed=settings.seed, clusters=clusters)


def spread_of(d: Floats, clusters: np.ndarray | None) -> float:
    """Return the standard deviation of the differences; with clusters the one that independent queries would need."""
    if len(d) < 2:  # noqa: PLR2004 (one query has no spread)
        return math.nan
    if clusters is None or len(set(clusters.tolist())) < 2:  # noqa: PLR2004 (one cluster says nothing of others)
        return float(d.std(ddof=1))
    return cluster_standard_error(d, clusters)[0] * math.sqrt(len(d))


def queries_for(difference: float, spread: float, alpha: float, power: float) -> int | None:
    """Return about how many queries find a difference, by the normal formula; None where there is no spread known."""
    from scipy.special import ndtri

    if math.isnan(spread):
        return None
    return max(2, math.ceil(((float(ndtri(1 - alpha / 2)) + float(ndtri(power))) * spread / difference) ** 2))


def is_within(interval: Interval, margin: float) -> bool:
    """Tell whether an interval lies inside the margin on both sides (two one-sided tests)."""
    return -margin < interval.low and interval.high < margin
