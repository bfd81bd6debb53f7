"""Pairs of systems on the same queries: how much they differ, how sure that is, and what the set could find.

Scores in, one record per pair and measure out. Verdict, interval and p-value of a pair all follow from one critical
value: that of its family of comparisons (`stats/family.py`), on its units of evidence (`stats/units.py`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

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
from rankscope.stats.family import CORRECTIONS, NO_CORRECTION, SLACK, Correction, Family, FamilyResult
from rankscope.stats.interval import bca_interval
from rankscope.stats.multiple import benjamini_hochberg
from rankscope.stats.units import Units, UnitSums, paired_differences

FEW_QUERIES, SKEWED = 30, 1.0
"""Below this many units, or with skewed differences, a bootstrap interval stands beside the others in the record."""
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


def compare_contests(
    contests: Sequence[Contest], settings: Settings, *, correction: str = "maxt", units: Units, systems: Floats | None
) -> tuple[TestedContest, ...]:
    """Return a record for every contest: primary ones as one family, exploratory ones each by its own flips, with BH.

    `systems` has the scores of all systems (queries x systems), where the primary contests are all pairs of them, in
    the order of their columns, on the same queries; then all pairs cost hardly more than the systems.
    """
    primary = [contest for contest in contests if contest.role == "primary"]
    tested = [contest for contest in contests if contest.role == "exploratory" and contest.can_test]
    sums = None if systems is None else units.sums(systems)
    found = {
        id(contest): TestedContest(contest, untested_pair(contest, settings, units))
        for contest in contests
        if contest.role == "exploratory" and not contest.can_test
    }
    for family, how, columns in ((primary, CORRECTIONS[correction], sums), (tested, NO_CORRECTION, None)):
        if not family:
            continue
        is_primary = family is primary
        numbers = estimate_pairs(family, units)
        test = partial(run_tests, how=how, settings=settings, units=units)
        result = test(family, numbers, systems=columns)
        adjusted = result.p if is_primary else benjamini_hochberg(result.p)
        for i, contest in enumerate(family):
            pair = tested_pair(
                contest,
                numbers,
                i,
                result,
                settings=settings,
                units=units,
                how=how,
                correction=correction if is_primary else EXPLORATORY,
                adjusted=float(adjusted[i]),
                family_size=result.size if is_primary else len(tested),
                in_full=contest.in_full and len(primary) <= MANY_PAIRS,
            )
            called = pair.n_units > 2 and abs(numbers.delta[i]) > result.critical[i] * numbers.error[i]
            rest = leave_out(i, family, numbers, result, units=units, test=test) if is_primary and called else None
            found[id(contest)] = TestedContest(contest, pair, rest)
    return tuple(found[id(contest)] for contest in contests)


def run_tests(
    family: Sequence[Contest],
    numbers: PairEstimates,
    *,
    how: Correction,
    settings: Settings,
    units: Units,
    systems: UnitSums | None = None,
) -> FamilyResult:
    together = Family(
        differences=lambda: units.sums(np.column_stack([contest.differences for contest in family])),
        moments=numbers.moments,
        systems=systems,
    )
    return how.test(together, alpha=settings.alpha, n_resamples=settings.n_resamples, seed=settings.seed)


def leave_out(
    i: int,
    family: Sequence[Contest],
    numbers: PairEstimates,
    result: FamilyResult,
    *,
    units: Units,
    test: Callable[..., FamilyResult],
) -> WithoutTopUnit:
    """Return a pair without the unit that carries most of it; for a family that is not large, all is made anew."""
    unit, is_exact = int(numbers.top_unit[i]), len(family) <= ANEW_UP_TO
    if is_exact:
        rest = [replace(contest, mask=contest.mask & (units.member != unit)) for contest in family]
        result = test(rest, estimate_pairs(rest, units))
    return WithoutTopUnit(
        unit,
        float(numbers.delta_without[i]),
        float(numbers.error_without[i]),
        float(result.critical[i]),
        float(result.critical_equivalence[i]),
        is_exact,
    )


def pair_result(contest: Contest, settings: Settings, units: Units, **found: Any) -> PairResult:
    """Return the record of a contest: what holds of every one, and what was found."""
    known = ~np.isnan(contest.differences)
    a, b = (or_none(weighted_mean(scores, known, units)) for scores in (contest.scores_a, contest.scores_b))
    common: dict[str, Any] = {
        "systems": Both(contest.a, contest.b),
        "measure": contest.measure,
        "role": contest.role,
        "group": contest.group,
        "n_queries": int(known.sum()),
        "n_effective": units.effective(known),
        "clustered": units.clustered,
        "n_members": int(contest.mask.sum()),
        "n_undefined": int(contest.mask.sum() - known.sum()),
        "mean": Both(a, b),
        "delta": None if a is None or b is None else b - a,
        "lower_is_better": contest.lower_is_better,
        "margin": settings.margin,
        "seed": settings.seed,
        "hashes": contest.hashes,
    }
    return PairResult(**common | found)


def untested_pair(contest: Contest, settings: Settings, units: Units) -> PairResult:
    """Return the record of a measure that gives one number for the whole set: the two numbers, and no test."""
    none = DifferenceInterval(None, None, 1 - settings.alpha, "none: one number for the whole set")
    return pair_result(
        contest,
        settings,
        units,
        n_units=1,
        ci=none,
        ci_equivalence=none,
        ci_check=IntervalChecks(none, None),
        p=PValues(None, "none", "none", 0, 0, is_exact=False, alone_permutation=None, alone_t=None),
        p_alone=UnadjustedPValues(None, None),
        effect=Effect(None, None, 0, 0, 0),
        mde=DetectableDifference(settings.power, None, None),
        tost=False,
        **dict.fromkeys(("wins", "ties", "losses"), 0),
        **dict.fromkeys(("standard_error", "critical_equivalence", "n_needed", "bayes", "skew")),
    )


def tested_pair(
    contest: Contest,
    numbers: PairEstimates,
    i: int,
    result: FamilyResult,
    *,
    settings: Settings,
    units: Units,
    how: Correction,
    correction: str,
    adjusted: float,
    family_size: int,
    in_full: bool,
) -> PairResult:
    """Return the record of one contest; where it is one of very many, without what needs resamples of its own."""
    from scipy.special import stdtrit

    differences = contest.differences
    delta, error = float(numbers.delta[i]), float(numbers.error[i])
    n_units, skew = int(numbers.moments.n_units[i]), float(numbers.skew[i])
    critical, narrow = float(result.critical[i]), float(result.critical_equivalence[i])
    level = 1 - settings.alpha
    small = interval_around(delta, narrow * error, level - settings.alpha, how.interval_method)
    p_t, ci_t = student(delta, error, n_units, settings)
    doubtful = in_full and n_units > 1 and error > 0 and (n_units < FEW_QUERIES or abs(skew) > SKEWED)
    bca = None
    if doubtful and units.weights is None:
        known = ~np.isnan(differences)
        clusters, n_resamples = units.member[known] if units.clustered else None, settings.n_resamples
        bca = bca_interval(
            differences[known], level=level, n_resamples=n_resamples, seed=settings.seed, clusters=clusters
        )
    beyond = float(stdtrit(n_units - 1, settings.power)) if n_units > 1 else math.nan
    mde = (critical + beyond) * error
    gains = -differences if contest.lower_is_better else differences
    n, wins, losses = (int(counts[i]) for counts in (numbers.n_queries, numbers.wins, numbers.losses))
    gain, ties = delta, n - wins - losses
    if contest.lower_is_better:
        wins, losses, gain = losses, wins, -delta
    spread = error * math.sqrt(n_units)
    p_alone = or_none(float(result.p_alone[i]))
    return pair_result(
        contest,
        settings,
        units,
        n_units=n_units,
        delta=or_none(delta),
        standard_error=or_none(error),
        ci=interval_around(delta, critical * error, level, how.interval_method),
        ci_equivalence=small,
        ci_check=IntervalChecks(ci_t, bca),
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
        effect=Effect(
            d_z=or_none(gain / spread) if spread > 0 else None,
            superiority=(wins + ties / 2) / n if n else None,
            wins=wins,
            ties=ties,
            losses=losses,
        ),
        wins=wins,
        ties=ties,
        losses=losses,
        mde=DetectableDifference(settings.power, or_none(critical), or_none(mde)),
        critical_equivalence=or_none(narrow),
        n_needed=max(2, math.ceil(n_units * (mde / settings.margin) ** 2))
        if settings.margin > 0 and math.isfinite(mde)
        else None,
        tost=small.low is not None and small.high is not None and settings.margin > max(-small.low, small.high),
        bayes=bayesian_bootstrap(units.sums(gains[:, None]).column(0), settings.margin, seed=settings.seed)
        if in_full and n_units > 1
        else None,
        skew=or_none(skew),
    )


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
