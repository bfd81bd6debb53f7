"""Cases of what no verdict rests on: tests on request, clusters that nobody named, other intervals, plans."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from rankscope.stats.design import queries_for_range
from rankscope.stats.interval import Interval, bca_interval, percentile_interval, wilson_interval
from simulations import data
from simulations.cases import ALL_PAIRS, DETECT, FIVES, SPREAD, Case, Promise, coverage, false_claim
from simulations.counting import N_FLIPS
from simulations.data import Floats, Rng, Simulated, simulated

ALPHA = 0.05


def on_request(name: str, n: int, draw: Callable[..., Simulated], **rejected: Promise) -> Case:
    """Return the case of tests that are printed when asked for, and decide nothing.

    The tests skip those with many queries, which take long, and those that fail too little to be seen in few calls.
    """
    promises = tuple(rejected.values())
    is_slight = any(promise.is_known_to_fail and promise.reference < 0.3 for promise in promises)
    is_long = n > 200
    return Case(
        f"{name}, test on request", 2, n, draw, promises, {"also": " ".join(rejected)},
        n_calls=500 if is_long else 2_000, by_hand_only=is_long or is_slight,
    )  # fmt: skip


def rejects(test: str, reference: float, *, fails: bool = False) -> Promise:
    """Promise that a test finds nothing where means are equal."""
    return Promise(f"{test} test rejects", ALPHA, reference, is_known_to_fail=fails)


WILCOXON, SIGN, BOOTSTRAP = "Wilcoxon signed-rank", "sign", "bootstrap shift"
ON_REQUEST = [
    on_request("systems alike", 15, data.alike, wilcoxon=rejects(WILCOXON, 0.046), sign=rejects(SIGN, 0.034),
               bootstrap=rejects(BOOTSTRAP, 0.079, fails=True)),
    on_request("equal means, unlike shapes", 15, data.unlike_shapes, bootstrap=rejects(BOOTSTRAP, 0.089, fails=True)),
    on_request("equal means, unlike shapes", 1000, data.unlike_shapes, sign=rejects(SIGN, 0.556, fails=True)),
    *(
        on_request("equal means, skewed", n, data.skewed, wilcoxon=rejects(WILCOXON, known, fails=True))
        for n, known in ((25, 0.164), (200, 0.617), (1000, 0.998))
    ),
]  # fmt: skip

KNOWN_TO_FAIL = false_claim(is_known_to_fail=True)
FAILING = [
    # By hand: 0.8 of the variance is the question's, so the mean of five queries varies 1 + 4 x 0.8 = 4.2 times as much
    # as that of five unrelated ones, and 2 Φ(-1.976 / √4.2) = 0.335 of all means look surprising.
    Case("clusters of 5 queries, not named", 2, 30, FIVES, (false_claim(0.335, is_known_to_fail=True),)),
    Case("clusters of 5 queries, not named, all pairs", 5, 30, FIVES, (KNOWN_TO_FAIL,), ALL_PAIRS, by_hand_only=True),
    *(Case("rare big wins", 2, n, data.rare_big_wins, (KNOWN_TO_FAIL,)) for n in (10, 25)),
    Case("rare big wins", 2, 200, data.rare_big_wins, (KNOWN_TO_FAIL,), by_hand_only=True),
]  # fmt: skip


def differences(drawn: Simulated) -> Floats:
    """Return how the second system differs from the first."""
    return drawn.scores[:, 1] - drawn.scores[:, 0]


def bootstrap_covers(_: Case, drawn: Simulated, seed: int, *, interval: Callable[..., Interval]) -> dict[str, bool]:
    """Return whether a bootstrap interval of the mean holds the truth, 0; clusters are drawn whole."""
    clusters = np.array(drawn.attributes["question"]) if drawn.attributes else None
    return {"coverage": 0.0 in interval(differences(drawn), n_resamples=N_FLIPS, seed=seed, clusters=clusters)}


def share(rng: Rng, n: int, _: int) -> Simulated:
    """Draw a true share, all being equally likely, and for how many of n queries something is found."""
    truth = rng.random()
    return simulated((rng.random((n, 1)) < truth).astype(np.float64), [truth])


def wilson_covers(_: Case, drawn: Simulated, __: int) -> dict[str, bool]:
    """Return whether Wilson's interval holds the true share."""
    return {"coverage": drawn.truth[0] in wilson_interval(int(drawn.scores.sum()), len(drawn.scores))}


def anova_finds(_: Case, drawn: Simulated, __: int) -> dict[str, bool]:
    """Return whether two-way analysis of variance notices that systems differ."""
    from scipy.special import fdtrc

    n, k = drawn.scores.shape
    means = drawn.scores.mean(axis=0)
    residuals = drawn.scores - means - drawn.scores.mean(axis=1, keepdims=True) + means.mean()
    degrees = (n - 1) * (k - 1)
    ratio = n * means.var(ddof=1) / (np.square(residuals).sum() / degrees)
    return {"found": bool(fdtrc(k - 1, degrees, ratio) <= ALPHA)}


RANGE = (DETECT / 2, -DETECT / 2, 0.0, 0.0, 0.0)
N_RANGE = queries_for_range(DETECT, SPREAD, len(RANGE)).n_queries
OTHERS = [
    *(
        Case(f"equal means, skewed, {name}", 2, 15, data.skewed, (coverage(known, is_known_to_fail=fails),),
             by_hand_only=fails, outcome=partial(bootstrap_covers, interval=interval))
        for name, interval, known, fails in (
            ("percentile interval", percentile_interval, 0.911, True), ("BCa interval", bca_interval, 0.924, False),
        )
    ),
    Case("clusters of 5 queries, BCa interval", 2, 30, FIVES, (coverage(),),
         outcome=partial(bootstrap_covers, interval=bca_interval)),
    Case("a share, Wilson's interval", 1, 50, share, (coverage(),), outcome=wilson_covers),
    Case("five systems, as many queries as planned, two-way ANOVA", 5, N_RANGE,
         partial(data.alike_but_for, gains=RANGE, spread=SPREAD), (Promise("found", 0.80),), outcome=anova_finds),
    Case("one of five better by 0.05, all pairs", 5, 50, data.one_better, (Promise("found", reference=0.40),),
         ALL_PAIRS, by_hand_only=True),
]  # fmt: skip

METHODS = [*ON_REQUEST, *FAILING, *OTHERS]
