"""Pairs of systems on the same queries: how much they differ, how sure that is, and what the set could find.

Scores in, one record per pair and measure out. Verdict, interval and p-value of a pair all follow from one critical
value: that of its family of comparisons (`stats/family.py`), on its units of evidence (`stats/units.py`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from rankscope.arrays import Bools, Floats, Ints
from rankscope.comparison.records import (
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
from rankscope.records import Both, Record, or_none, replace
from rankscope.stats.family import CORRECTIONS, NO_CORRECTION, SLACK, Correction, FamilyResult, spread_out
from rankscope.stats.interval import bca_interval
from rankscope.stats.multiple import benjamini_hochberg
from rankscope.stats.paired import Chances, bayesian_bootstraps
from rankscope.stats.power import minimal_detectable_effect, queries_needed_each
from rankscope.stats.units import (
    SAME,
    Moments,
    UnitColumns,
    Units,
    UnitSums,
    paired_differences,
    slices,
    sums_in_blocks,
)

FEW_QUERIES, SKEWED = 30, 1.0
"""Below this many units, or with skewed differences, a bootstrap interval stands beside the others in the record."""
MANY_PAIRS = 200
"""From more comparisons than this on, those that need resamples of their own are left out."""
NUMBERS_AT_ONCE = 1 << 17
"""Differences of so many queries, over all pairs, are looked at together: they stay in a core's cache."""
ANEW_UP_TO = 50
"""In families of up to so many pairs, what a verdict rests on is found by testing anew without it."""
EXPLORATORY = "benjamini-hochberg"
"""How the p-values of exploratory comparisons are adjusted: false discoveries are controlled."""


class StratumName(Record):
    """What some queries share."""

    attribute: str
    value: str
    requested: bool


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
    furthest: float = math.inf
    """How far apart two scores of the measure can be: 1 where they lie between 0 and 1."""
    group: str | None = None
    stratum: StratumName | None = None
    """The stratum of queries it is about; None where it is about all of the group."""
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


class PairEstimates(Record, eq=False):
    """What flips do not change: by contest, the difference, its error, and what it is made of."""

    moments: Moments
    delta: Floats
    error: Floats
    wins: np.ndarray
    losses: np.ndarray
    n_queries: np.ndarray
    furthest: Floats
    """The largest difference of any query."""
    skew: Floats
    """How lopsided the units' residuals are, on which tests of symmetry stumble."""
    top_unit: np.ndarray
    """The unit that carries most of the difference."""
    delta_without: Floats
    error_without: Floats


class TestedFamily(Record, eq=False):
    """Contests that were tested together, and what came out."""

    contests: Sequence[Contest]
    numbers: PairEstimates
    result: FamilyResult
    correction: str
    given: dict[str, Any]


def compare_contests(
    contests: Sequence[Contest], settings: Settings, *, correction: str = "maxt", units: Units, systems: Floats | None
) -> tuple[TestedContest, ...]:
    """Return a record for every contest: primary ones as one family, exploratory ones each by its own flips, with BH.

    `systems` has the scores of all systems (queries x systems), where the primary contests are all pairs of them, in
    the order of their columns, on the same queries; then all pairs cost hardly more than the systems.
    """
    means = KnownMeans(units)
    found = {
        id(contest): TestedContest(contest, untested_pair(contest, settings, means))
        for contest in contests
        if not contest.can_test
    }
    sums = None if systems is None else units.sums(systems)
    few_pairs = sum(contest.role == "primary" for contest in contests) <= MANY_PAIRS
    families: list[TestedFamily] = []
    for role, name, how in (
        ("primary", correction, CORRECTIONS[correction]),
        ("exploratory", EXPLORATORY, NO_CORRECTION),
    ):
        family = [contest for contest in contests if contest.role == role and contest.can_test]
        if not family:
            continue
        is_primary = role == "primary"
        given: dict[str, Any] = {"how": how, "settings": settings, "units": units}
        numbers, result = run_family(family, systems=sums if is_primary else None, **given)
        if not is_primary:
            result = replace(result, p=benjamini_hochberg(result.p), size=len(family))
        families.append(TestedFamily(family, numbers, result, name, given))
    chances = chances_of(families, settings, units) if few_pairs else {}
    for each in families:
        called = (each.numbers.moments.n_units > 2) & (
            np.abs(each.numbers.delta) > each.result.critical * each.numbers.error
        )
        anew: dict[int, FamilyResult] = {}
        n_needed = needed_for_margin(each, settings)
        for i, contest in enumerate(each.contests):
            more: dict[str, Any] = {
                "correction": each.correction,
                "means": means,
                "n_needed": n_needed[i],
                "in_full": contest.in_full and few_pairs,
                "bayes": chances.get(id(contest)),
            }
            pair = tested_pair(contest, each.numbers, i, each.result, **more, **each.given)
            rest = None
            if contest.role == "primary" and called[i]:
                rest = leave_out(i, each.contests, each.numbers, each.result, anew, **each.given)
            found[id(contest)] = TestedContest(contest, pair, rest)
    return tuple(found[id(contest)] for contest in contests)


def chances_of(families: Sequence[TestedFamily], settings: Settings, units: Units) -> dict[int, Chances]:
    """Return the chances that gains are above the margin, by the contest's id: of all in full whose scores vary."""
    chosen = [
        contest
        for each in families
        for contest, error in zip(each.contests, each.numbers.error.tolist(), strict=True)
        if contest.in_full and error > 0
    ]
    gains = (-contest.differences if contest.lower_is_better else contest.differences for contest in chosen)
    columns = [units.sums(each[:, None]).column(0) for each in gains]
    drawn = bayesian_bootstraps(columns, settings.margin, seed=settings.seed)
    return {id(contest): chances for contest, chances in zip(chosen, drawn, strict=True)}


def differences_of(contests: Sequence[Contest]) -> Floats:
    """Return the differences of some contests: queries x contests, those of a contest side by side."""
    a, b, mask = (
        np.stack([getattr(contest, name) for contest in contests]) for name in ("scores_a", "scores_b", "mask")
    )
    return np.where(mask, paired_differences(a, b), math.nan).T


def estimate_pairs(contests: Sequence[Contest], units: Units) -> PairEstimates:
    """Return the estimates of all contests, some at a time, so that memory stays small however many there are."""
    n_queries = max(1, len(units.member))
    tasks = list(slices(len(contests), max(1, NUMBERS_AT_ONCE // n_queries)))
    parts = list(
        spread_out(
            lambda some: estimate_some(differences_of(contests[some]), units), tasks, len(contests) * n_queries, None
        )
    )
    moments = Moments.joined([part.moments for part in parts])
    rest = [name for name in PairEstimates.__struct_fields__ if name != "moments"]
    return PairEstimates(moments, *(np.concatenate([getattr(part, name) for part in parts]) for name in rest))


def estimate_some(differences: Floats, units: Units) -> PairEstimates:
    """Return the estimates of some contests, whose differences are the columns."""
    sums = units.sums(differences)
    moments = sums.moments()
    delta, error = moments.delta, moments.error
    carried = sums.sums * np.sign(moments.total)
    top = np.argmax(carried, axis=0) if len(carried) else np.zeros(carried.shape[1], dtype=np.int64)
    left = moments
    if len(carried):
        columns = np.arange(carried.shape[1])
        u, n = sums.sums[top, columns], sums.sizes[top, columns]
        left = Moments(
            n_units=moments.n_units - (n > 0),
            total=moments.total - u,
            size=moments.size - n,
            squares=np.maximum(moments.squares - u**2, 0.0),
            cross=moments.cross - u * n,
            size_squares=moments.size_squares - n**2,
        )
    residuals = sums.sums - sums.sizes * np.nan_to_num(delta)
    squares = residuals * residuals
    with np.errstate(invalid="ignore", divide="ignore"):
        second, third = (sums_in_blocks(powers) / moments.n_units for powers in (squares, squares * residuals))
        return PairEstimates(
            moments=moments,
            delta=delta,
            error=error,
            wins=np.count_nonzero(differences > 0, axis=0),
            losses=np.count_nonzero(differences < 0, axis=0),
            n_queries=np.count_nonzero(~np.isnan(differences), axis=0),
            furthest=np.fmax.reduce(np.abs(differences), axis=0, initial=0.0),
            skew=np.where(error > 0, third / second**1.5, 0.0),
            top_unit=top,
            delta_without=left.delta,
            error_without=left.error,
        )


def run_family(
    family: Sequence[Contest], *, how: Correction, settings: Settings, units: Units, systems: UnitSums | None = None
) -> tuple[PairEstimates, FamilyResult]:
    numbers = estimate_pairs(family, units)

    def columns(chosen: slice | Ints) -> UnitSums:
        some = family[chosen] if isinstance(chosen, slice) else [family[i] for i in chosen.tolist()]
        return units.sums(differences_of(some))

    result = how.test(
        lambda: UnitColumns(len(family), columns, numbers.moments),
        None if systems is None else (systems, numbers.moments),
        alpha=settings.alpha,
        n_resamples=settings.n_resamples,
        seed=settings.seed,
    )
    return numbers, result


def leave_out(
    i: int,
    family: Sequence[Contest],
    numbers: PairEstimates,
    result: FamilyResult,
    anew: dict[int, FamilyResult],
    *,
    units: Units,
    **given: Any,
) -> WithoutTopUnit:
    """Return a pair without the unit that carries most of it.

    In a family that is not large the critical values are computed again without the unit; else they stay as they are.
    `anew` keeps them by unit, as several pairs may rest on the same one.
    """
    unit, is_exact = int(numbers.top_unit[i]), len(family) <= ANEW_UP_TO
    if is_exact:
        if unit not in anew:
            rest = [replace(contest, mask=contest.mask & (units.member != unit)) for contest in family]
            anew[unit] = run_family(rest, units=units, **given)[1]
        result = anew[unit]
    delta, error = float(numbers.delta_without[i]), float(numbers.error_without[i])
    critical, narrow = float(result.critical[i]), float(result.critical_equivalence[i])
    return WithoutTopUnit(unit, delta, error, critical, narrow, is_exact)


class KnownMeans:
    """Means of systems over queries, of which each is needed by many pairs, but computed once."""

    def __init__(self, units: Units) -> None:
        self.units = units
        self._means: dict[tuple[int, int], float | None] = {}
        self._sizes: dict[int, tuple[int, float]] = {}
        self._held: list[np.ndarray] = []  # what is known by its address must not go away

    def size(self, mask: Bools) -> tuple[int, float]:
        """Return how many queries there are, and how many equally weighted ones they are worth."""
        if id(mask) not in self._sizes:
            self._held.append(mask)
            self._sizes[id(mask)] = int(mask.sum()), self.units.effective(mask)
        return self._sizes[id(mask)]

    def mean(self, scores: Floats, mask: Bools) -> float | None:
        place = id(scores), id(mask)
        if place not in self._means:
            self._held += [scores, mask]
            self._means[place] = or_none(weighted_mean(scores, mask, self.units))
        return self._means[place]

    def of(self, contest: Contest, n_known: int | None = None) -> dict[str, Any]:
        """Return what the record of a contest says of its queries; `n_known` of them have a score of both."""
        n_members, n_effective = self.size(contest.mask)
        if n_known == n_members:
            means = [self.mean(scores, contest.mask) for scores in (contest.scores_a, contest.scores_b)]
        else:
            known = ~np.isnan(contest.differences)
            n_known, n_effective = int(known.sum()), self.units.effective(known)
            means = [or_none(weighted_mean(each, known, self.units)) for each in (contest.scores_a, contest.scores_b)]
        return {
            "n_queries": n_known,
            "n_effective": n_effective,
            "n_members": n_members,
            "n_undefined": n_members - n_known,
            "mean": Both(*means),
            "delta": None if means[0] is None or means[1] is None else means[1] - means[0],
        }


def pair_result(contest: Contest, settings: Settings, means: KnownMeans, **found: Any) -> PairResult:
    """Return the record of a contest: what holds of every one, and what was found."""
    same = ("measure", "role", "group", "lower_is_better", "hashes")
    common: dict[str, Any] = {name: getattr(contest, name) for name in same} | {
        "systems": Both(contest.a, contest.b),
        "clustered": means.units.clustered,
        "margin": settings.margin,
        "seed": settings.seed,
    }
    return PairResult(**common | found)


def untested_pair(contest: Contest, settings: Settings, means: KnownMeans) -> PairResult:
    """Return the record of a measure that gives one number for the whole set: the two numbers, and no test."""
    none = DifferenceInterval(None, None, settings.level, "none: one number for the whole set")
    return pair_result(
        contest,
        settings,
        means,
        **means.of(contest),
        n_units=1,
        ci=none,
        ci_equivalence=none,
        ci_check=IntervalChecks(none, None),
        p=PValues(None, "none", "none", 0, 0, exact=False, alone_permutation=None, alone_t=None),
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
    how: Correction,
    correction: str,
    settings: Settings,
    units: Units,
    means: KnownMeans,
    n_needed: int | None,
    in_full: bool,
    bayes: Chances | None,
) -> PairResult:
    """Return the record of one contest; where it is one of very many, without what needs resamples of its own."""
    level, margin = settings.level, settings.margin
    delta, error, skew, critical, narrow = (
        float(column[i])
        for column in (numbers.delta, numbers.error, numbers.skew, result.critical, result.critical_equivalence)
    )
    if abs(delta) <= SAME * max(1.0, float(numbers.furthest[i])):
        delta = 0.0  # wins and losses that even out up to rounding
    n_units = int(numbers.moments.n_units[i])
    p_alone, (p_t, ci_t) = or_none(float(result.p_alone[i])), student(delta, error, n_units, settings)
    bca = None
    doubtful = error > 0 and (n_units < FEW_QUERIES or abs(skew) > SKEWED)
    if in_full and doubtful and units.weights is None:
        differences = contest.differences
        known = ~np.isnan(differences)
        clusters = units.member[known] if units.clustered else None
        drawn: dict[str, Any] = {"n_resamples": settings.n_resamples, "seed": settings.seed, "clusters": clusters}
        bca = bca_interval(differences[known], level=level, **drawn)
    spread = error * math.sqrt(n_units)
    mde = None
    if math.isfinite(critical) and spread > 0:  # neither holds where there is one unit, or nothing varies
        alpha_each, by_flips = alpha_of_each(result, how, settings), how.p_method != "t"
        mde = minimal_detectable_effect(spread, n_units, alpha=alpha_each, power=settings.power, by_flips=by_flips)
        mde = mde if math.isfinite(mde) and mde <= contest.furthest else None
    n, wins, losses = (int(counts[i]) for counts in (numbers.n_queries, numbers.wins, numbers.losses))
    gain, ties = delta, n - wins - losses
    if contest.lower_is_better:
        wins, losses, gain = losses, wins, -delta
    return pair_result(
        contest,
        settings,
        means,
        **means.of(contest, n) | {"delta": or_none(delta)},
        n_units=n_units,
        standard_error=or_none(error),
        ci=within(contest.furthest, interval_around(delta, critical * error, level, how.interval_method)),
        ci_equivalence=within(
            contest.furthest,
            interval_around(delta, narrow * error, settings.level_equivalence, how.interval_method),
        ),
        ci_check=IntervalChecks(within(contest.furthest, ci_t), bca),
        p=PValues(
            adjusted=or_none(float(result.p[i])),
            method=how.p_method,
            correction=correction,
            family_size=result.size,
            n_resamples=result.n_resamples,
            exact=result.is_exact,
            alone_permutation=p_alone,
            alone_t=p_t,
        ),
        p_alone=UnadjustedPValues(p_alone, p_t),
        effect=Effect(
            or_none(gain / spread) if spread > 0 else None, (wins + ties / 2) / n if n else None, wins, ties, losses
        ),
        wins=wins,
        ties=ties,
        losses=losses,
        mde=DetectableDifference(settings.power, or_none(critical), mde),
        critical_equivalence=or_none(narrow),
        n_needed=n_needed,
        tost=margin > abs(delta) + narrow * error,
        bayes=bayes,
        skew=or_none(skew),
    )


def alpha_of_each(result: FamilyResult, how: Correction, settings: Settings) -> float:
    """Return what each comparison has of alpha, where those of a family share it, as those of a plan do."""
    return settings.alpha / (max(result.size, 1) if how.simultaneous else 1)


def needed_for_margin(family: TestedFamily, settings: Settings) -> list[int | None]:
    """Return how many units of each contest find a difference as small as the margin.

    None without a margin, where no number would do, and where nothing varies or nothing can be decided.
    """
    if settings.margin <= 0:
        return [None] * len(family.contests)
    spreads = family.numbers.error * np.sqrt(family.numbers.moments.n_units)
    spreads = np.where(np.isfinite(family.result.critical), spreads, math.nan)
    alpha = alpha_of_each(family.result, family.given["how"], settings)
    needed = queries_needed_each(settings.margin, spreads, alpha=alpha, power=settings.power)
    return [None if math.isnan(n) else int(n) for n in needed.tolist()]


def weighted_mean(scores: Floats, known: Bools, units: Units) -> float:
    """Return the mean of the scores that take part, NaN for none."""
    weights = None if units.weights is None else units.weights[known]
    if not known.any() or (weights is not None and not weights.any()):
        return math.nan
    return float(np.average(scores[known], weights=weights))


def interval_around(centre: float, half: float, level: float, method: str) -> DifferenceInterval:
    """Return an interval; undefined where there is no critical value, no spread can be known, or nothing varies.

    An end that misses 0 by nothing but the slack of the critical value is 0: with scores of few values the observed t
    is often exactly the critical one, which does not exclude 0.
    """
    if half == 0:
        return DifferenceInterval(None, None, level, method)
    low, high = (0.0 if abs(end) <= 2 * SLACK * half else end for end in (centre - half, centre + half))
    return DifferenceInterval(or_none(low), or_none(high), level, method)


def within(furthest: float, interval: DifferenceInterval) -> DifferenceInterval:
    """Return an interval without differences that no two scores can have; it excludes 0 as before, or does not."""
    low, high = (None if end is None else min(max(end, -furthest), furthest) for end in (interval.low, interval.high))
    return replace(interval, low=low, high=high)


def student(delta: float, error: float, n_units: int, settings: Settings) -> tuple[float | None, DifferenceInterval]:
    """Return p and interval of Student's t test of a difference; undefined for fewer than two units."""
    from scipy.special import stdtr, stdtrit

    level = settings.level
    if n_units < 2 or math.isnan(error):
        return None, DifferenceInterval(None, None, level, "t")
    ci = interval_around(delta, float(stdtrit(n_units - 1, 1 - settings.alpha / 2)) * error, level, "t")
    if error == 0:
        return (1.0 if delta == 0 else 0.0), ci
    return float(2 * stdtr(n_units - 1, -abs(delta / error))), ci
