"""Cases: which promise is checked on which data, and what is known to come of it."""

from __future__ import annotations

import functools
import math
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from rankscope.stats.design import queries_for_range
from rankscope.stats.effect import bayesian_bootstrap, tost
from rankscope.stats.interval import (
    Interval,
    bca_interval,
    cluster_t_interval,
    percentile_interval,
    t_interval,
    wilson_interval,
)
from rankscope.stats.multiple import (
    benjamini_hochberg,
    benjamini_yekutieli,
    block_tukey,
    holm,
    max_t,
    randomised_tukey,
    residual_variance,
)
from rankscope.stats.paired import (
    Test,
    bootstrap_shift_test,
    mcnemar_test,
    paired_t_test,
    sign_flip_test,
    sign_test,
    wilcoxon_test,
)
from rankscope.stats.power import minimal_detectable_effect, queries_needed
from rankscope.stats.studentized_range import critical_range
from simulations import worlds
from simulations.worlds import Floats, questions_of

ALPHA, LEVEL, POWER, FALSE_DISCOVERIES = 0.05, 0.95, 0.80, 0.10
B = 999
"""Resamples inside a simulation; (B + 1) alpha is a whole number, so the level of an exact test is just alpha."""
SLACK = 0.03
"""How far a method that holds only roughly may be off, beside the error of the simulation."""

Claim = Literal["holds", "at most", "roughly", "fails", "about"]
Outcome = Callable[[Floats, int], float]


@dataclass(frozen=True)
class Case:
    """One promise on one kind of data."""

    world: str
    n: int
    method: str
    what: str
    """What is counted: false alarms, coverage, power …"""
    nominal: float
    """What is promised."""
    claim: Claim
    """holds: within three standard errors of the simulation; at most: not above that; roughly: with some slack; fails:
    clearly outside, about as far as `known`; about: a known power, which nobody promises."""
    draw: Callable[[np.random.Generator, int, int], Floats]
    outcome: Outcome
    known: float = math.nan
    """What an earlier simulation found on data like these, or what follows by hand."""
    cost: int = 1
    """How many times fewer simulations it gets."""

    @property
    def name(self) -> str:
        """The case in one line."""
        return f"{self.world}, n={self.n}: {self.method}, {self.what}"


@dataclass(frozen=True)
class Measured:
    """What a simulation found."""

    case: Case
    rate: float
    standard_error: float
    n_simulations: int

    @property
    def is_as_promised(self) -> bool:
        """Whether the rate is within three standard errors of what is promised."""
        return abs(self.rate - self.case.nominal) <= 3 * self.standard_error

    @property
    def verdict(self) -> str:
        """The rate in words."""
        if self.case.claim == "about":
            return "no promise"
        if self.is_as_promised:
            return "holds"
        low, high = {"coverage": ("too narrow", "cautious"), "power": ("too little", "more than planned")}.get(
            self.case.what, ("cautious", "too many")
        )
        return high if self.rate > self.case.nominal else low

    def is_as_claimed(self) -> bool:
        """Tell whether the simulation bears out what is claimed of the method."""
        nominal, known, error = self.case.nominal, self.case.known, 3 * self.standard_error
        excess = (self.rate - nominal) / (known - nominal)
        return {
            "holds": self.is_as_promised,
            "at most": self.rate <= nominal + error,
            "roughly": abs(self.rate - nominal) <= error + SLACK,
            "fails": not self.is_as_promised and 0.5 <= excess <= 2,  # noqa: PLR2004 (the same order of magnitude)
            "about": abs(self.rate - known) <= 0.1,  # noqa: PLR2004
        }[self.case.claim]


def measure(case: Case, n_simulations: int) -> Measured:
    """Simulate a case; its random numbers depend on its name alone."""
    sims = max(200, n_simulations // case.cost)
    rng = np.random.default_rng([zlib.crc32(case.name.encode())])
    found = np.array([case.outcome(drawn, seed) for seed, drawn in enumerate(case.draw(rng, sims, case.n))])
    centre = case.nominal if case.claim != "about" else float(found.mean())
    is_share = bool(np.isin(found, (0.0, 1.0)).all())
    spread = math.sqrt(centre * (1 - centre)) if is_share else float(found.std(ddof=1))
    return Measured(case, float(found.mean()), spread / math.sqrt(sims), sims)


def rejects(test: Callable[..., Test], **options: object) -> Outcome:
    """Return whether a test calls a difference real."""
    return lambda d, _: test(d, **options).p <= ALPHA


def rejects_at_random(test: Callable[..., Test], **options: object) -> Outcome:
    """Return whether a resampling test calls a difference real, each simulation having its own seed."""
    return lambda d, seed: test(d, n_resamples=B, seed=seed, **options).p <= ALPHA


def covers(interval: Callable[..., Interval], *arguments: object) -> Outcome:
    """Return whether an interval holds the true mean, 0."""
    return lambda d, _: 0.0 in interval(d, *arguments)


def covers_at_random(interval: Callable[..., Interval], *arguments: object, **options: object) -> Outcome:
    """Return whether a bootstrap interval holds the true value, 0."""
    return lambda d, seed: 0.0 in interval(d, *arguments, n_resamples=B, seed=seed, **options)


TESTS = {
    "paired t": rejects(paired_t_test),
    "sign flip": rejects_at_random(sign_flip_test),
    "bootstrap shift": rejects_at_random(bootstrap_shift_test),
    "Wilcoxon": rejects(wilcoxon_test),
    "sign": rejects(sign_test),
}
ALIKE, SHAPES, SKEWED = "systems alike", "equal means, unlike shapes", "equal means, skewed"
FALSE_ALARMS, COVERAGE = "false alarms", "coverage"
DRAWS = {ALIKE: worlds.alike, SHAPES: worlds.unlike_shapes, SKEWED: worlds.skewed}


def false_alarm(world: str, n: int, method: str, claim: Claim, known: float = math.nan, *, cost: int = 1) -> Case:
    """Return the case of a paired test where the true mean difference is 0."""
    return Case(
        world, n, method, FALSE_ALARMS, ALPHA, claim, DRAWS[world], TESTS[method], known,
        cost=cost * (4 if method == "Wilcoxon" else 1),
    )  # fmt: skip


PAIRED = [
    *(
        false_alarm(ALIKE, n, method, claim)
        for n in (15, 50)
        for method, claim in (("paired t", "holds"), ("sign flip", "holds"), ("Wilcoxon", "holds"), ("sign", "at most"))
    ),
    false_alarm(ALIKE, 15, "bootstrap shift", "fails", 0.079),
    false_alarm(ALIKE, 50, "bootstrap shift", "roughly", 0.054),
    false_alarm(SHAPES, 15, "paired t", "roughly", 0.058),
    false_alarm(SHAPES, 15, "sign flip", "roughly", 0.058),
    false_alarm(SHAPES, 15, "bootstrap shift", "fails", 0.089),
    false_alarm(SHAPES, 1000, "paired t", "holds", 0.055),
    false_alarm(SHAPES, 1000, "sign flip", "holds", 0.057, cost=2),
    false_alarm(SHAPES, 1000, "sign", "fails", 0.556),
    *(
        case
        for n, wilcoxon, claim in ((25, 0.164, "roughly"), (200, 0.617, "holds"), (1000, 0.998, "holds"))
        for case in (
            false_alarm(SKEWED, n, "paired t", claim),
            false_alarm(SKEWED, n, "sign flip", claim, cost=2),
            false_alarm(SKEWED, n, "Wilcoxon", "fails", wilcoxon),
        )
    ),
]

BINARY = [
    Case("found or not", 50, method, FALSE_ALARMS, ALPHA, "at most", worlds.found_or_not, outcome)
    for method, outcome in (("McNemar", rejects(mcnemar_test)), ("sign flip", TESTS["sign flip"]))
]


def median_interval(d: Floats, **options: object) -> Interval:
    """Return the BCa interval of the median."""
    return bca_interval(d, functools.partial(np.median, axis=1), **options)


COVERED = [
    Case("normal", 25, "t", COVERAGE, LEVEL, "holds", worlds.normal, covers(t_interval)),
    Case("normal", 50, "BCa of the median", COVERAGE, LEVEL, "roughly", worlds.normal,
         covers_at_random(median_interval), cost=4),
    *(
        Case(SKEWED, n, method, COVERAGE, LEVEL, claim, worlds.skewed, outcome, known)
        for n, t, percentile, bca, claim in (
            (15, 0.925, 0.911, 0.924, "fails"),
            (25, 0.932, 0.925, 0.937, "fails"),
            (50, 0.944, 0.940, 0.945, "roughly"),
        )
        for method, outcome, claim, known in (
            ("t", covers(t_interval), "roughly", t),
            ("percentile", covers_at_random(percentile_interval), claim, percentile),
            ("BCa", covers_at_random(bca_interval), "roughly", bca),
        )
    ),
    Case("a share", 50, "Wilson", COVERAGE, LEVEL, "roughly", worlds.shares,
         lambda drawn, _: drawn[0] in wilson_interval(int(drawn[1]), 50)),
]  # fmt: skip

QUESTIONS = questions_of(150)
# By hand: half of the variance is the question's, so the mean of five paraphrases varies 1 + 4 / 2 = 3 times as much as
# that of five unrelated queries, and 2 Φ(-1.96 / √3) = 0.26 of all means look surprising.
CLUSTERED = [
    Case("five paraphrases each", 150, method, what, nominal, claim, worlds.paraphrases, outcome, known)
    for method, what, nominal, claim, outcome, known in (
        ("sign flip by query", FALSE_ALARMS, ALPHA, "fails", TESTS["sign flip"], 0.26),
        ("sign flip by question", FALSE_ALARMS, ALPHA, "holds",
         rejects_at_random(sign_flip_test, clusters=QUESTIONS), math.nan),
        ("t by query", COVERAGE, LEVEL, "fails", covers(t_interval), 0.74),
        ("cluster t", COVERAGE, LEVEL, "holds", covers(cluster_t_interval, QUESTIONS), math.nan),
        ("cluster percentile", COVERAGE, LEVEL, "roughly",
         covers_at_random(percentile_interval, clusters=QUESTIONS), math.nan),
        ("cluster BCa", COVERAGE, LEVEL, "roughly", covers_at_random(bca_interval, clusters=QUESTIONS), math.nan),
    )
]  # fmt: skip


def challengers(scores: Floats) -> Floats:
    """Return the differences of all systems but the first from it."""
    return scores[:, 1:] - scores[:, :1]


def any_rejected(p_values: Callable[[Floats, int], Floats]) -> Outcome:
    """Return whether anything at all is called real."""
    return lambda drawn, seed: bool((p_values(drawn, seed) <= ALPHA).any())


def first_pair(p_values: Callable[[Floats, int], Floats]) -> Outcome:
    """Return whether the better system is told from another."""
    return lambda scores, seed: bool(p_values(scores, seed)[0, 1] <= ALPHA)


def p_of_columns(differences: Floats) -> Floats:
    """Return the paired t test of every column."""
    return np.array([paired_t_test(column).p for column in differences.T])


def flip_p_of_columns(differences: Floats, seed: int) -> Floats:
    """Return the sign-flip test of every column."""
    return np.array([sign_flip_test(column, n_resamples=B, seed=seed).p for column in differences.T])


def unpaired_tukey(scores: Floats, _: int) -> Floats:
    """Return 0 where Tukey's test for independent groups (scipy.stats.tukey_hsd) rejects at alpha, else 1."""
    n, m = scores.shape
    within = float(scores.var(axis=0, ddof=1).mean())
    means = scores.mean(axis=0)
    gaps = np.abs(means[:, None] - means[None, :])
    return np.where(gaps / math.sqrt(within / n) > unpaired_critical(m, m * (n - 1)), 0.0, 1.0)


unpaired_critical = functools.cache(functools.partial(critical_range, ALPHA))
N_PERMUTED = 199
TUKEYS = {
    "randomised Tukey": lambda scores, seed: randomised_tukey(scores, n_resamples=N_PERMUTED, seed=seed),
    "block Tukey": lambda scores, _: block_tukey(scores),
}
FIVE_ALIKE = functools.partial(worlds.systems, means=(0.0,) * 5)
ONE_BETTER = functools.partial(worlds.systems, means=(0.05, 0.0, 0.0, 0.0, 0.0))
ANY = "any false alarm"
MANY = [
    *(
        Case("five systems alike", 50, method, ANY, ALPHA, claim, FIVE_ALIKE, any_rejected(p_values), cost=2)
        for method, claim, p_values in (
            ("Holm", "at most", lambda scores, seed: holm(flip_p_of_columns(challengers(scores), seed))),
            ("max t", "holds", lambda scores, seed: max_t(challengers(scores), n_resamples=N_PERMUTED, seed=seed)),
            ("randomised Tukey", "holds", TUKEYS["randomised Tukey"]),
            ("block Tukey", "holds", TUKEYS["block Tukey"]),
        )
    ),
    *(
        Case("one of five better by 0.05", 50, method, "power", math.nan, "about", ONE_BETTER, first_pair(p), known, 2)
        for method, p, known in (
            ("randomised Tukey", TUKEYS["randomised Tukey"], 0.40),
            ("block Tukey", TUKEYS["block Tukey"], 0.40),
            ("Tukey as if unpaired", unpaired_tukey, 0.0),
        )
    ),
    Case("25 measures, nothing differs", 50, "no correction", ANY, ALPHA, "fails", worlds.many_measures,
         any_rejected(lambda d, _: p_of_columns(d)), 0.28, 2),
    Case("25 measures, nothing differs", 50, "Holm", ANY, ALPHA, "at most", worlds.many_measures,
         any_rejected(lambda d, _: holm(p_of_columns(d))), cost=2),
]  # fmt: skip


def false_share(adjust: Callable[[Floats], Floats]) -> Outcome:
    """Return the share of false claims among all claims; 0 where nothing is claimed."""

    def share(drawn: Floats, _: int) -> float:
        claimed = adjust(p_of_columns(drawn)) <= FALSE_DISCOVERIES
        return claimed[: worlds.N_TESTS // 2].sum() / max(1, claimed.sum())

    return share


DISCOVERIES = [
    Case("10 of 20 differ", 50, method, "false discoveries", FALSE_DISCOVERIES / 2, claim, worlds.half_true,
         false_share(adjust), cost=2)
    for method, claim, adjust in (
        ("Benjamini-Hochberg, q = 0.10", "holds", benjamini_hochberg),
        ("Benjamini-Yekutieli, q = 0.10", "at most", benjamini_yekutieli),
    )
]  # fmt: skip

MARGIN = 0.02
AT_MARGIN = functools.partial(worlds.normal, mean=MARGIN, spread=0.05)
MARGINS = [
    Case("true difference = margin", 100, "TOST says equivalent", FALSE_ALARMS, ALPHA, "holds", AT_MARGIN,
         lambda d, _: tost(d, MARGIN).is_equivalent),
    Case("true difference = margin", 200, "Bayesian bootstrap, better >= 95 %", FALSE_ALARMS, ALPHA, "roughly",
         AT_MARGIN, lambda d, seed: bayesian_bootstrap(d, MARGIN, n_draws=B, seed=seed).better >= LEVEL, cost=2),
]  # fmt: skip

SPREAD, DETECT, N_SYSTEMS = 0.1, 0.02, 5
MDE = minimal_detectable_effect(SPREAD, 50)
N_NEEDED = queries_needed(DETECT, SPREAD).n_queries
RANGE_PLAN = queries_for_range(DETECT, SPREAD, N_SYSTEMS)
AT_RANGE = functools.partial(worlds.systems, means=(DETECT / 2, -DETECT / 2, 0.0, 0.0, 0.0), spread=SPREAD)


def anova_rejects(scores: Floats, _: int) -> bool:
    """Return whether two-way analysis of variance notices that systems differ."""
    from scipy.special import fdtrc

    n, m = scores.shape
    ratio = n * float(scores.mean(axis=0).var(ddof=1)) / residual_variance(scores)
    return bool(fdtrc(m - 1, (m - 1) * (n - 1), ratio) <= ALPHA)


PLANNED = [
    Case("true difference = MDE", 50, "paired t", "power", POWER, "holds",
         functools.partial(worlds.normal, mean=MDE, spread=SPREAD), TESTS["paired t"]),
    Case("true difference = MDE", 50, "sign flip", "power", POWER, "roughly",
         functools.partial(worlds.normal, mean=MDE, spread=SPREAD), TESTS["sign flip"]),
    Case("as many queries as planned", N_NEEDED, "paired t", "power", POWER, "holds",
         functools.partial(worlds.normal, mean=DETECT, spread=SPREAD), TESTS["paired t"]),
    Case("five systems, as many queries as planned", RANGE_PLAN.n_queries, "two-way ANOVA", "power", POWER, "holds",
         AT_RANGE, anova_rejects, cost=2),
]  # fmt: skip

CASES = [*PAIRED, *BINARY, *COVERED, *CLUSTERED, *MANY, *DISCOVERIES, *MARGINS, *PLANNED]
