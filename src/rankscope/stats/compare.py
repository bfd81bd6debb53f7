"""Comparison of systems on the same queries: how much they differ, how sure that is, and what the set could find.

Scores in, one record per pair of systems and measure out. Which words, files or pages these records become is decided
elsewhere; here are only numbers. Verdict, interval and p-value of a pair all follow from one critical value: that of
its family of comparisons (`family.py`), on its units of evidence (`units.py`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from rankscope.arrays import Bools, Floats
from rankscope.errors import OptionError
from rankscope.stats.effect import Chances, Effect, bayesian_bootstrap
from rankscope.stats.estimates import PairEstimates, estimate_pairs
from rankscope.stats.family import SLACK, FamilyResult, bonferroni_tests, joint_test, rank_of_critical, separate_tests
from rankscope.stats.interval import Interval, bca_interval
from rankscope.stats.multiple import benjamini_hochberg
from rankscope.stats.paired import N_RESAMPLES
from rankscope.stats.units import Units, UnitSums, paired_differences

Role = Literal["primary", "exploratory"]
FEW_QUERIES = 30
"""Below this many units, or with skewed differences, a bootstrap interval stands beside the others in the record."""
SKEWED = 1.0
MANY_PAIRS = 200
"""From more comparisons than this on, those that need resamples of their own are left out."""
ANEW_UP_TO = 50
"""In families of up to so many pairs, what a verdict rests on is found by testing anew without it."""
LARGEST_ALPHA = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What a comparison is made with; the defaults are recorded with every result."""

    alpha: float = 0.05
    margin: float = 0.01
    """The smallest difference that matters; 0 where none is known."""
    margin_given: bool = False
    """Whether the user named the margin."""
    power: float = 0.8
    false_discoveries: float = 0.10
    """The share of false claims allowed among exploratory results."""
    n_resamples: int = N_RESAMPLES
    seed: int = 0

    def __post_init__(self) -> None:
        for name, largest in (("alpha", LARGEST_ALPHA), ("power", 1), ("false_discoveries", 1)):
            if not 0 < getattr(self, name) < largest:
                raise OptionError(f"{name} = {getattr(self, name)} is not between 0 and {largest}")
        if not 0 <= self.margin < math.inf:
            raise OptionError(
                f"margin = {self.margin} is negative or not a number", hint="give the smallest difference that matters"
            )
        if self.n_resamples < 99:
            raise OptionError(f"n_resamples = {self.n_resamples} is too few", hint="the default is 9999")
        if rank_of_critical(self.n_resamples, self.alpha) > self.n_resamples:
            raise OptionError(
                f"n_resamples = {self.n_resamples} is too few for alpha = {self.alpha:g}",
                hint=f"at least {math.ceil(1 / self.alpha)} are needed to reach it at all; take ten times as many",
            )
        if self.seed < 0:
            raise OptionError(f"seed = {self.seed} is negative", hint="give a whole number from 0 up")


@dataclass(frozen=True, slots=True, eq=False)
class Contest:
    """Two systems on the same queries by one measure, before anything is computed."""

    a: str
    b: str
    measure: str
    role: Role
    scores_a: Floats
    """One score per query of the whole set; NaN where it is undefined."""
    scores_b: Floats
    mask: Bools
    """Which queries are part of it."""
    lower_is_better: bool = False
    group: str = ""
    label: str = ""
    """The slice of queries it is about, where that is not all of the group."""
    in_full: bool = True
    """Whether to add what needs resamples of its own: the bootstrap interval, and the chances."""
    can_test: bool = True
    """Whether queries are evidence; they are not where a measure gives one number for the whole set."""

    @property
    def differences(self) -> Floats:
        """B minus A, NaN where either has no score or the query is not part of the contest."""
        return np.where(self.mask, paired_differences(self.scores_a, self.scores_b), math.nan)


@dataclass(frozen=True, slots=True)
class PValues:
    """The p-values of a comparison, and how they were obtained."""

    adjusted: float
    """For its family; at most alpha exactly where the interval excludes 0."""
    method: str
    correction: str
    family_size: int
    n_resamples: int
    is_exact: bool
    alone_permutation: float
    """Of this pair's own sign flips, not adjusted."""
    alone_t: float
    """Of Student's t, not adjusted."""


@dataclass(frozen=True, slots=True)
class WithoutTopUnit:
    """The same difference without the unit that carries most of it."""

    unit: int
    delta: float
    error: float
    critical: float
    critical_equivalence: float
    is_exact: bool
    """Whether the critical values were made anew without the unit; else they are those with it."""


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
    """Queries for which both have a score."""
    n_units: int
    """Units of evidence: clusters where these are given, else queries."""
    n_effective: float
    """How many equally weighted queries they are worth."""
    clustered: bool
    n_undefined: int
    n_members: int
    """Queries that are part of it, scored or not."""
    mean_a: float
    mean_b: float
    delta: float
    error: float
    """The standard error of the difference."""
    critical: float
    """How many standard errors decide: those of the interval, the p-value and the verdict; NaN for too few flips."""
    critical_equivalence: float
    """The same at level 1 - 2 alpha, by which a difference is shown to be small."""
    ci: Interval
    """The interval that decides; it holds together with those of all other pairs of the family."""
    ci_equivalence: Interval
    """The narrower one, at level 1 - 2 alpha, which must lie within the margin for a difference to be called small."""
    ci_t: Interval
    """Student's, of this difference alone."""
    ci_bootstrap: Interval | None
    """BCa, of this difference alone, where there are few units or skewed differences."""
    p: PValues
    effect: Effect
    mde: float
    """The smallest difference that this set of queries finds with the wanted power."""
    n_needed: int | None
    """How many units would find a difference as small as the margin; None without a margin."""
    margin: float
    bayes: Chances | None
    skew: float
    without_top_unit: WithoutTopUnit | None
    differences: Floats = field(repr=False)
    """Per query of the whole set; NaN where the query is not part of it."""
    members: Bools = field(repr=False)
    """Which queries of the whole set are part of it."""

    @property
    def sign(self) -> float:
        """1 where more is better, -1 where less is."""
        return -1.0 if self.lower_is_better else 1.0

    @property
    def gain(self) -> float:
        """The difference, turned so that more is better."""
        return self.sign * self.delta

    @property
    def gain_ci(self) -> Interval:
        """The deciding interval, turned so that more is better."""
        ci = self.ci
        return Interval(-ci.high, -ci.low, ci.level, ci.method) if self.lower_is_better else ci

    @property
    def has_spread(self) -> bool:
        """Whether units differ in what they say; else the interval has no width."""
        return self.error > 0


def compare_contests(
    contests: Sequence[Contest], settings: Settings, *, correction: str = "maxt", units: Units, systems: Floats | None
) -> tuple[Pair, ...]:
    """Return a record for every contest: primary ones as one family, exploratory ones each by its own flips, with BH.

    `systems` has the scores of all systems (queries x systems), where the primary contests are all pairs of them, in
    the order of their columns, on the same queries; then all pairs cost hardly more than the systems.
    """
    primary = [contest for contest in contests if contest.role == "primary"]
    others = [contest for contest in contests if contest.role == "exploratory"]
    tested = [contest for contest in others if contest.can_test]
    records: dict[int, Pair] = {}
    for family in (primary, tested):
        if not family:
            continue
        role = family[0].role
        numbers = estimate_pairs(family, units)
        result = run_tests(family, numbers, settings, correction=correction, units=units, systems=systems)
        adjusted = result.p if role == "primary" else benjamini_hochberg(result.p)
        many = len(primary) > MANY_PAIRS
        for i, contest in enumerate(family):
            records[id(contest)] = pair_of(
                contest, numbers, i, result, adjusted=float(adjusted[i]), settings=settings, units=units,
                correction=correction if role == "primary" else "benjamini-hochberg",
                family_size=result.size if role == "primary" else len(tested),
                without=leave_out(i, family, numbers, result, settings, correction=correction, units=units),
                in_full=contest.in_full and not many,
            )  # fmt: skip
    untested = [contest for contest in others if not contest.can_test]
    for contest in untested:
        records[id(contest)] = untested_pair(contest, settings, units)
    return tuple(records[id(contest)] for contest in contests)


def run_tests(
    family: Sequence[Contest],
    numbers: PairEstimates,
    settings: Settings,
    *,
    correction: str,
    units: Units,
    systems: Floats | None,
) -> FamilyResult:
    """Return the p-values and critical values of a family of contests."""
    options: dict[str, Any] = {"alpha": settings.alpha, "n_resamples": settings.n_resamples, "seed": settings.seed}
    primary = family[0].role == "primary"
    if primary and correction == "maxt" and systems is not None:
        return joint_test(units.sums(systems), numbers.moments, systems=True, **options)
    together = units.sums(np.column_stack([contest.differences for contest in family]))
    if not primary or correction == "none":
        return separate_tests(together, **options)
    if correction == "bonferroni":
        return bonferroni_tests(together, **options)
    return joint_test(together, numbers.moments, **options)


def pair_of(
    contest: Contest,
    numbers: PairEstimates,
    i: int,
    result: FamilyResult,
    *,
    adjusted: float,
    settings: Settings,
    units: Units,
    correction: str,
    family_size: int,
    without: WithoutTopUnit | None,
    in_full: bool,
) -> Pair:
    """Return the record of one contest; where it is one of very many, without what needs resamples of its own."""
    differences = contest.differences
    known = ~np.isnan(differences)
    delta, error = float(numbers.delta[i]), float(numbers.error[i])
    n_units, n_queries = int(numbers.moments.n_units[i]), int(numbers.n_queries[i])
    critical, level = float(result.critical[i]), 1 - settings.alpha
    method = {"none": "sign flips", "bonferroni": "t, Bonferroni"}.get(correction, "max t by sign flips")
    alone = student(delta, error, n_units, settings)
    skew = float(numbers.skew[i])
    doubtful = in_full and n_units > 1 and error > 0 and (n_units < FEW_QUERIES or abs(skew) > SKEWED)
    gains = -differences[known] if contest.lower_is_better else differences[known]
    return Pair(
        a=contest.a,
        b=contest.b,
        measure=contest.measure,
        role=contest.role,
        group=contest.group,
        label=contest.label,
        lower_is_better=contest.lower_is_better,
        n_queries=n_queries,
        n_units=n_units,
        n_effective=units.effective(known),
        clustered=units.clustered,
        n_undefined=int(contest.mask.sum()) - n_queries,
        n_members=int(contest.mask.sum()),
        mean_a=weighted_mean(contest.scores_a, known, units),
        mean_b=weighted_mean(contest.scores_b, known, units),
        delta=delta,
        error=error,
        critical=critical,
        critical_equivalence=float(result.critical_equivalence[i]),
        ci=around(delta, critical * error, level, method),
        ci_equivalence=around(delta, float(result.critical_equivalence[i]) * error, level - settings.alpha, method),
        ci_t=alone.ci,
        ci_bootstrap=bootstrap_interval(differences[known], known, units, settings) if doubtful else None,
        p=PValues(
            adjusted=adjusted,
            method="t" if correction == "bonferroni" else "sign-flip permutation",
            correction=correction,
            family_size=family_size,
            n_resamples=result.n_resamples,
            is_exact=result.is_exact,
            alone_permutation=float(result.p_alone[i]),
            alone_t=alone.p,
        ),
        effect=effect_from(numbers, i, lower_is_better=contest.lower_is_better),
        mde=mde_of(critical, error, n_units, settings.power),
        n_needed=units_needed(settings.margin, critical, error, n_units, settings.power),
        margin=settings.margin,
        bayes=bayesian_bootstrap(
            units_of_one(gains, known, units), settings.margin, seed=settings.seed
        ) if in_full and n_units > 1 else None,
        skew=skew,
        without_top_unit=without,
        differences=differences,
        members=contest.mask,
    )  # fmt: skip


def untested_pair(contest: Contest, settings: Settings, units: Units) -> Pair:
    """Return the record of a measure that gives one number for the whole set: the two numbers, and no test."""
    differences = contest.differences
    known = ~np.isnan(differences)
    mean_a, mean_b = (weighted_mean(scores, known, units) for scores in (contest.scores_a, contest.scores_b))
    none = Interval(math.nan, math.nan, 1 - settings.alpha, "none: one number for the whole set")
    return Pair(
        a=contest.a, b=contest.b, measure=contest.measure, role=contest.role, group=contest.group, label=contest.label,
        lower_is_better=contest.lower_is_better, n_queries=int(known.sum()), n_units=1,
        n_effective=units.effective(known), clustered=units.clustered,
        n_undefined=int(contest.mask.sum() - known.sum()), n_members=int(contest.mask.sum()),
        mean_a=mean_a, mean_b=mean_b, delta=mean_b - mean_a, error=math.nan, critical=math.nan,
        critical_equivalence=math.nan,
        ci=none, ci_equivalence=none, ci_t=none, ci_bootstrap=None,
        p=PValues(math.nan, "none", "none", 0, 0, is_exact=False, alone_permutation=math.nan, alone_t=math.nan),
        effect=Effect(math.nan, math.nan, 0, 0, 0), mde=math.nan, n_needed=None, margin=settings.margin, bayes=None,
        skew=math.nan, without_top_unit=None, differences=differences, members=contest.mask,
    )  # fmt: skip


def units_of_one(gains: Floats, known: Bools, units: Units) -> UnitSums:
    """Return the unit sums of the gains of some queries, on the units that they belong to."""
    column = np.full(len(known), math.nan)
    column[known] = gains
    return units.sums(column[:, None]).column(0)


def weighted_mean(scores: Floats, known: Bools, units: Units) -> float:
    """Return the mean of the scores that take part, NaN for none."""
    weights = None if units.weights is None else units.weights[known]
    if not known.any() or (weights is not None and not weights.any()):
        return math.nan
    return float(np.average(scores[known], weights=weights))


def around(centre: float, half: float, level: float, method: str) -> Interval:
    """Return an interval; undefined where there is no critical value or no spread can be known.

    An end that misses 0 by nothing but the slack of the critical value is 0: with scores of few values the observed t
    is often exactly the critical one, which does not exclude 0.
    """
    low, high = (0.0 if abs(end) <= 2 * SLACK * half else end for end in (centre - half, centre + half))
    return Interval(low, high, level, method)


def leave_out(
    i: int,
    family: Sequence[Contest],
    numbers: PairEstimates,
    result: FamilyResult,
    settings: Settings,
    *,
    correction: str,
    units: Units,
) -> WithoutTopUnit | None:
    """Return a pair without the unit that carries most of it; for a family that is not large, all is made anew.

    Only pairs that are called need it: the others rest on nothing.
    """
    n_units, critical = int(numbers.moments.n_units[i]), float(result.critical[i])
    delta, error = float(numbers.delta[i]), float(numbers.error[i])
    if family[0].role != "primary" or n_units <= 2 or not abs(delta) > critical * error:
        return None
    unit = int(numbers.top_unit[i])
    narrow, is_exact = float(result.critical_equivalence[i]), len(family) <= ANEW_UP_TO
    if is_exact:
        rest = [replace(contest, mask=contest.mask & (units.member != unit)) for contest in family]
        again = run_tests(rest, estimate_pairs(rest, units), settings, correction=correction, units=units, systems=None)
        critical, narrow = float(again.critical[i]), float(again.critical_equivalence[i])
    return WithoutTopUnit(
        unit, float(numbers.delta_without[i]), float(numbers.error_without[i]), critical, narrow, is_exact
    )


@dataclass(frozen=True, slots=True)
class StudentsTest:
    """Student's t test of one difference, and its interval."""

    p: float
    ci: Interval


def student(delta: float, error: float, n_units: int, settings: Settings) -> StudentsTest:
    """Return Student's t test of a difference; undefined where fewer than two units have no spread."""
    from scipy.special import stdtr, stdtrit

    level = 1 - settings.alpha
    if n_units < 2 or math.isnan(error):
        return StudentsTest(math.nan, Interval(math.nan, math.nan, level, "t"))
    half = float(stdtrit(n_units - 1, 1 - settings.alpha / 2)) * error
    if error == 0:
        return StudentsTest(1.0 if delta == 0 else 0.0, around(delta, half, level, "t"))
    return StudentsTest(float(2 * stdtr(n_units - 1, -abs(delta / error))), around(delta, half, level, "t"))


def bootstrap_interval(d: Floats, known: Bools, units: Units, settings: Settings) -> Interval | None:
    """Return the bootstrap interval of the difference; none with weights, for which it is not made."""
    if units.weights is not None:
        return None
    clusters = units.member[known] if units.clustered else None
    return bca_interval(
        d, level=1 - settings.alpha, n_resamples=settings.n_resamples, seed=settings.seed, clusters=clusters
    )


def effect_from(numbers: PairEstimates, i: int, *, lower_is_better: bool) -> Effect:
    """Return the size of a difference, by the direction that is better."""
    n, wins, losses = int(numbers.n_queries[i]), int(numbers.wins[i]), int(numbers.losses[i])
    delta, error = float(numbers.delta[i]), float(numbers.error[i])
    if lower_is_better:
        wins, losses, delta = losses, wins, -delta
    spread = error * math.sqrt(float(numbers.moments.n_units[i]))
    ties = n - wins - losses
    return Effect(
        d_z=delta / spread if spread > 0 else math.nan,
        superiority=(wins + ties / 2) / n if n else math.nan,
        wins=wins,
        ties=ties,
        losses=losses,
    )


def power_quantile(power: float, n_units: int) -> float:
    """Return how many standard errors beyond the critical value a true difference must lie to be found so often."""
    from scipy.special import stdtrit

    return float(stdtrit(n_units - 1, power)) if n_units > 1 else math.nan


def mde_of(critical: float, error: float, n_units: int, power: float) -> float:
    """Return the smallest difference found, by the critical value that decides."""
    return (critical + power_quantile(power, n_units)) * error


def units_needed(margin: float, critical: float, error: float, n_units: int, power: float) -> int | None:
    """Return about how many units find a difference as small as the margin; None where that is not known."""
    mde = mde_of(critical, error, n_units, power)
    if not margin > 0 or not math.isfinite(mde):
        return None
    return max(2, math.ceil(n_units * (mde / margin) ** 2))
