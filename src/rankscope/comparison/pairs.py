"""Pairs of systems on the same queries: how much they differ, how sure that is, and what the set could find.

Scores in, one record per pair and measure out. Verdict, interval and p-value of a pair all follow from one critical
value: that of its family of comparisons (`stats/family.py`), on its units of evidence (`stats/units.py`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from rankscope.arrays import Bools, Floats
from rankscope.comparison.records import (
    Both,
    DetectableDifference,
    DifferenceInterval,
    Effect,
    FileHashes,
    IntervalChecks,
    PairResult,
    PValues,
    Role,
    UnadjustedPValues,
)
from rankscope.comparison.request import Settings
from rankscope.records import Record, or_none, replace
from rankscope.stats.effect import bayesian_bootstrap
from rankscope.stats.estimates import PairEstimates, estimate_pairs
from rankscope.stats.family import CORRECTIONS, MAX_T, NO_CORRECTION, SLACK, Correction, Family, FamilyResult
from rankscope.stats.interval import Interval, bca_interval
from rankscope.stats.multiple import benjamini_hochberg
from rankscope.stats.units import Units, paired_differences

FEW_QUERIES = 30
"""Below this many units, or with skewed differences, a bootstrap interval stands beside the others in the record."""
SKEWED = 1.0
MANY_PAIRS = 200
"""From more comparisons than this on, those that need resamples of their own are left out."""
ANEW_UP_TO = 50
"""In families of up to so many pairs, what a verdict rests on is found by testing anew without it."""
EXPLORATORY = "benjamini-hochberg"
"""How the p-values of exploratory comparisons are adjusted: false discoveries are controlled."""


class Contest(Record, eq=False):
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
    group: str | None = None
    label: str = ""
    """The stratum of queries it is about, where that is not all of the group."""
    in_full: bool = True
    """Whether to add what needs resamples of its own: the bootstrap interval, and the chances."""
    can_test: bool = True
    """Whether queries are evidence; they are not where a measure gives one number for the whole set."""
    hashes: FileHashes = FileHashes()

    @property
    def differences(self) -> Floats:
        """B minus A, NaN where either has no score or the query is not part of the contest."""
        return np.where(self.mask, paired_differences(self.scores_a, self.scores_b), math.nan)


class WithoutTopUnit(Record):
    """The same difference without the unit that carries most of it."""

    unit: int
    delta: float
    error: float
    critical: float
    critical_equivalence: float
    is_exact: bool
    """Whether the critical values were made anew without the unit; else they are those with it."""


class TestedContest(Record, eq=False):
    """A contest and what was found."""

    __test__ = False  # no test of pytest's

    contest: Contest
    result: PairResult
    without_top_unit: WithoutTopUnit | None = None
    """Only for primary contests that are called: the others rest on nothing."""


class TestMethod(Record, eq=False):
    """How a family is tested."""

    __test__ = False

    settings: Settings
    correction: Correction
    units: Units


def compare_contests(
    contests: Sequence[Contest], settings: Settings, *, correction: str = "maxt", units: Units, systems: Floats | None
) -> tuple[TestedContest, ...]:
    """Return a record for every contest: primary ones as one family, exploratory ones each by its own flips, with BH.

    `systems` has the scores of all systems (queries x systems), where the primary contests are all pairs of them, in
    the order of their columns, on the same queries; then all pairs cost hardly more than the systems.
    """
    primary = [contest for contest in contests if contest.role == "primary"]
    others = [contest for contest in contests if contest.role == "exploratory"]
    tested = [contest for contest in others if contest.can_test]
    many = len(primary) > MANY_PAIRS
    found: dict[int, TestedContest] = {}
    for family, how in ((primary, CORRECTIONS[correction]), (tested, NO_CORRECTION)):
        if not family:
            continue
        is_primary = family is primary
        numbers, method = estimate_pairs(family, units), TestMethod(settings, how, units)
        result = run_tests(family, numbers, method, systems if is_primary else None)
        adjusted = result.p if is_primary else benjamini_hochberg(result.p)
        for i, contest in enumerate(family):
            pair = tested_pair(
                contest,
                numbers,
                i,
                result,
                settings=settings,
                units=units,
                correction=correction if is_primary else EXPLORATORY,
                adjusted=float(adjusted[i]),
                family_size=result.size if is_primary else len(tested),
                in_full=contest.in_full and not many,
            )
            rest = leave_out(i, family, numbers, result, method) if is_primary else None
            found[id(contest)] = TestedContest(contest, pair, rest)
    for contest in others:
        if not contest.can_test:
            found[id(contest)] = TestedContest(contest, untested_pair(contest, settings, units))
    return tuple(found[id(contest)] for contest in contests)


def run_tests(
    family: Sequence[Contest],
    numbers: PairEstimates,
    method: TestMethod,
    systems: Floats | None,
) -> FamilyResult:
    """Return the p-values and critical values of a family of contests."""
    settings, units = method.settings, method.units
    together = Family(
        differences=lambda: units.sums(np.column_stack([contest.differences for contest in family])),
        moments=numbers.moments,
        systems=None if systems is None else units.sums(systems),
    )
    return method.correction.test(together, alpha=settings.alpha, n_resamples=settings.n_resamples, seed=settings.seed)


def tested_pair(
    contest: Contest,
    numbers: PairEstimates,
    i: int,
    result: FamilyResult,
    *,
    settings: Settings,
    units: Units,
    correction: str,
    adjusted: float,
    family_size: int,
    in_full: bool,
) -> PairResult:
    """Return the record of one contest; where it is one of very many, without what needs resamples of its own."""
    how = MAX_T if correction == EXPLORATORY else CORRECTIONS[correction]
    differences = contest.differences
    known = ~np.isnan(differences)
    delta, error = float(numbers.delta[i]), float(numbers.error[i])
    n_units, skew = int(numbers.moments.n_units[i]), float(numbers.skew[i])
    critical, narrow = float(result.critical[i]), float(result.critical_equivalence[i])
    level = 1 - settings.alpha
    small = interval_around(delta, narrow * error, level - settings.alpha, how.interval_method)
    p_t, ci_t = student(delta, error, n_units, settings)
    doubtful = in_full and n_units > 1 and error > 0 and (n_units < FEW_QUERIES or abs(skew) > SKEWED)
    mde = (critical + power_quantile(settings.power, n_units)) * error
    gains = -differences if contest.lower_is_better else differences
    effect = effect_of(numbers, i, lower_is_better=contest.lower_is_better)
    p_alone = or_none(float(result.p_alone[i]))
    return PairResult(
        systems=Both(contest.a, contest.b),
        measure=contest.measure,
        role=contest.role,
        group=contest.group,
        n_queries=int(numbers.n_queries[i]),
        n_units=n_units,
        n_effective=units.effective(known),
        clustered=units.clustered,
        n_members=int(contest.mask.sum()),
        n_undefined=int(contest.mask.sum() - known.sum()),
        mean=means_of(contest, known, units),
        delta=or_none(delta),
        lower_is_better=contest.lower_is_better,
        standard_error=or_none(error),
        ci=interval_around(delta, critical * error, level, how.interval_method),
        ci_equivalence=small,
        ci_check=IntervalChecks(ci_t, bootstrap_interval(differences, known, units, settings) if doubtful else None),
        p=PValues(
            adjusted=or_none(adjusted),
            method=how.p_method,
            correction=correction,
            family_size=family_size,
            n_resamples=result.n_resamples,
            is_exact=result.is_exact,
            alone_permutation=p_alone,
            alone_t=p_t,
        ),
        p_alone=UnadjustedPValues(p_alone, p_t),
        effect=effect,
        wins=effect.wins,
        ties=effect.ties,
        losses=effect.losses,
        mde=DetectableDifference(settings.power, or_none(critical), or_none(mde)),
        critical_equivalence=or_none(narrow),
        n_needed=max(2, math.ceil(n_units * (mde / settings.margin) ** 2))
        if settings.margin > 0 and math.isfinite(mde)
        else None,
        margin=settings.margin,
        tost=small.low is not None and small.high is not None and settings.margin > max(-small.low, small.high),
        bayes=bayesian_bootstrap(units.sums(gains[:, None]).column(0), settings.margin, seed=settings.seed)
        if in_full and n_units > 1
        else None,
        skew=or_none(skew),
        seed=settings.seed,
        hashes=contest.hashes,
    )


def untested_pair(contest: Contest, settings: Settings, units: Units) -> PairResult:
    """Return the record of a measure that gives one number for the whole set: the two numbers, and no test."""
    known = ~np.isnan(contest.differences)
    mean = means_of(contest, known, units)
    none = DifferenceInterval(None, None, 1 - settings.alpha, "none: one number for the whole set")
    return PairResult(
        systems=Both(contest.a, contest.b),
        measure=contest.measure,
        role=contest.role,
        group=contest.group,
        n_queries=int(known.sum()),
        n_units=1,
        n_effective=units.effective(known),
        clustered=units.clustered,
        n_members=int(contest.mask.sum()),
        n_undefined=int(contest.mask.sum() - known.sum()),
        mean=mean,
        delta=None if mean.a is None or mean.b is None else mean.b - mean.a,
        lower_is_better=contest.lower_is_better,
        standard_error=None,
        ci=none,
        ci_equivalence=none,
        ci_check=IntervalChecks(none, None),
        p=PValues(None, "none", "none", 0, 0, is_exact=False, alone_permutation=None, alone_t=None),
        p_alone=UnadjustedPValues(None, None),
        effect=Effect(None, None, 0, 0, 0),
        wins=0,
        ties=0,
        losses=0,
        mde=DetectableDifference(settings.power, None, None),
        critical_equivalence=None,
        n_needed=None,
        margin=settings.margin,
        tost=False,
        bayes=None,
        skew=None,
        seed=settings.seed,
        hashes=contest.hashes,
    )


def means_of(contest: Contest, known: Bools, units: Units) -> Both[float | None]:
    """Return the means of both systems over the queries that take part."""
    a, b = (or_none(weighted_mean(scores, known, units)) for scores in (contest.scores_a, contest.scores_b))
    return Both(a, b)


def weighted_mean(scores: Floats, known: Bools, units: Units) -> float:
    """Return the mean of the scores that take part, NaN for none."""
    weights = None if units.weights is None else units.weights[known]
    if not known.any() or (weights is not None and not weights.any()):
        return math.nan
    return float(np.average(scores[known], weights=weights))


def interval_around(centre: float, half: float, level: float, method: str) -> DifferenceInterval:
    """Return an interval; undefined where there is no critical value or no spread can be known.

    An end that misses 0 by nothing but the slack of the critical value is 0: with scores of few values the observed t
    is often exactly the critical one, which does not exclude 0.
    """
    low, high = (0.0 if abs(end) <= 2 * SLACK * half else end for end in (centre - half, centre + half))
    return DifferenceInterval(or_none(low), or_none(high), level, method)


def leave_out(
    i: int,
    family: Sequence[Contest],
    numbers: PairEstimates,
    result: FamilyResult,
    method: TestMethod,
) -> WithoutTopUnit | None:
    """Return a pair without the unit that carries most of it; for a family that is not large, all is made anew.

    Only pairs that are called need it: the others rest on nothing.
    """
    n_units, critical = int(numbers.moments.n_units[i]), float(result.critical[i])
    delta, error = float(numbers.delta[i]), float(numbers.error[i])
    if n_units <= 2 or not abs(delta) > critical * error:
        return None
    unit = int(numbers.top_unit[i])
    narrow, is_exact = float(result.critical_equivalence[i]), len(family) <= ANEW_UP_TO
    if is_exact:
        rest = [replace(contest, mask=contest.mask & (method.units.member != unit)) for contest in family]
        again = run_tests(rest, estimate_pairs(rest, method.units), method, None)
        critical, narrow = float(again.critical[i]), float(again.critical_equivalence[i])
    return WithoutTopUnit(
        unit, float(numbers.delta_without[i]), float(numbers.error_without[i]), critical, narrow, is_exact
    )


def student(delta: float, error: float, n_units: int, settings: Settings) -> tuple[float | None, DifferenceInterval]:
    """Return p and interval of Student's t test of a difference; undefined for fewer than two units."""
    from scipy.special import stdtr, stdtrit

    level = 1 - settings.alpha
    if n_units < 2 or math.isnan(error):
        return None, DifferenceInterval(None, None, level, "t")
    ci = interval_around(delta, float(stdtrit(n_units - 1, 1 - settings.alpha / 2)) * error, level, "t")
    if error == 0:
        return (1.0 if delta == 0 else 0.0), ci
    return float(2 * stdtr(n_units - 1, -abs(delta / error))), ci


def bootstrap_interval(differences: Floats, known: Bools, units: Units, settings: Settings) -> Interval | None:
    """Return the bootstrap interval of the difference; none with weights, for which it is not made."""
    if units.weights is not None:
        return None
    return bca_interval(
        differences[known],
        level=1 - settings.alpha,
        n_resamples=settings.n_resamples,
        seed=settings.seed,
        clusters=units.member[known] if units.clustered else None,
    )


def effect_of(numbers: PairEstimates, i: int, *, lower_is_better: bool) -> Effect:
    """Return the size of a difference, by the direction that is better."""
    n, wins, losses = int(numbers.n_queries[i]), int(numbers.wins[i]), int(numbers.losses[i])
    delta, error = float(numbers.delta[i]), float(numbers.error[i])
    if lower_is_better:
        wins, losses, delta = losses, wins, -delta
    spread = error * math.sqrt(float(numbers.moments.n_units[i]))
    ties = n - wins - losses
    return Effect(
        d_z=or_none(delta / spread) if spread > 0 else None,
        superiority=(wins + ties / 2) / n if n else None,
        wins=wins,
        ties=ties,
        losses=losses,
    )


def power_quantile(power: float, n_units: int) -> float:
    """Return how many standard errors beyond the critical value a true difference must lie to be found so often."""
    from scipy.special import stdtrit

    return float(stdtrit(n_units - 1, power)) if n_units > 1 else math.nan
