"""Cases: which promise is checked on which scores, and what is known to come of it."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from rankscope.stats.power import queries_needed
from simulations import data, real_scores
from simulations.counting import count_verdicts
from simulations.data import Simulated

N_CALLS = {2: 2_000, 5: 500, math.inf: 300}
"""How often a case is run, by the largest number of systems that this holds for."""
N_CALLS_FOR_LIMIT = 1_000
"""So many that a true share of 0.05 is hardly ever measured as more than 0.07."""
N_UNSAID = 2_000
"""How many simulations are taken to be behind a reference figure that does not say so."""


@dataclass(frozen=True)
class Promise:
    """What is counted, and how often it may happen."""

    what: str
    nominal: float = math.nan
    """NaN where nothing is promised."""
    reference: float = math.nan
    """What another simulation, written before this one and apart from it, found on such scores."""
    reference_calls: int = N_UNSAID
    limit: float = math.nan
    """What the measured share itself must not exceed."""
    is_known_to_fail: bool = False

    @property
    def more_is_safe(self) -> bool:
        """Whether a share above the nominal one is on the safe side, as for coverage."""
        return self.what in ("coverage", "found")


@dataclass(frozen=True)
class Case:
    """Scores of a kind, a way to compare them, and what is promised of it."""

    name: str
    k: int
    """Systems."""
    n: int
    """Queries, or clusters of queries where these are named."""
    draw: Callable[..., Simulated]
    """From a generator of random numbers, n and k."""
    promises: tuple[Promise, ...]
    options: Mapping[str, Any] = field(default_factory=dict)
    """The options of `compare_scores`."""
    measure: str = "nDCG@10"
    lower_is_better: bool = False
    outcome: Callable[[Case, Simulated, int], Mapping[str, bool]] = count_verdicts
    n_calls: int = 0
    by_hand_only: bool = False
    """Whether it takes too many calls, or too long, for the tests."""

    def __post_init__(self) -> None:
        if not self.n_calls:
            calls = next(calls for most, calls in N_CALLS.items() if self.k <= most)
            least = N_CALLS_FOR_LIMIT if any(promise.limit > 0 for promise in self.promises) else 0
            object.__setattr__(self, "n_calls", max(calls, least))

    @property
    def key(self) -> str:
        """What tells it from all other cases."""
        return f"{self.name}, k={self.k}, n={self.n}"

    @property
    def number(self) -> int:
        """What its random numbers depend on."""
        return zlib.crc32(self.key.encode())


def false_claim(reference: float = math.nan, calls: int = N_UNSAID, **more: Any) -> Promise:
    """Promise that of systems with equal means none is called better or worse."""
    return Promise("false claim", 0.05, reference, calls, **more)


def coverage(reference: float = math.nan, calls: int = N_UNSAID, **more: Any) -> Promise:
    """Promise that all intervals of the family hold the truth."""
    return Promise("coverage", 0.95, reference, calls, **more)


EQUAL = (false_claim(), coverage())
AT_MOST_7 = (false_claim(limit=0.07), coverage())
ALPHA_01 = (Promise("false claim", 0.01), Promise("coverage", 0.99))
NOT_SAME = (Promise("false same", 0.05), coverage())
SMALL_GAIN = (Promise("wrong direction", 0.025), coverage())
ALL_PAIRS: Mapping[str, Any] = {"all_pairs": True}

# Reference figures are those of the notes that the defaults were chosen by: STATISTICS, sections 0 and 1.
ALIKE = [
    Case("systems alike", 2, 10, data.alike, EQUAL),
    Case("systems alike", 2, 15, data.alike, (false_claim(0.048), coverage())),
    Case("systems alike", 2, 25, data.alike, EQUAL),
    Case("systems alike", 2, 50, data.alike, (false_claim(0.047), coverage())),
    Case("systems alike", 2, 200, data.alike, EQUAL),
    Case("systems alike, alpha 0.01", 2, 25, data.alike, ALPHA_01, {"alpha": 0.01}),
    Case("systems alike, alpha 0.01", 2, 50, data.alike, ALPHA_01, {"alpha": 0.01}),
    Case("systems alike, alpha 0.01", 2, 200, data.alike, ALPHA_01, {"alpha": 0.01}),
    Case("systems alike, all pairs", 5, 25, data.alike, (false_claim(0.067, 300), coverage()), ALL_PAIRS),
    Case("systems alike, baseline", 5, 25, data.alike, EQUAL),
    Case("systems alike, all pairs", 10, 50, data.alike, (false_claim(0.070, 300), coverage()), ALL_PAIRS,
         by_hand_only=True),
    Case("systems alike, all pairs", 20, 50, data.alike, EQUAL, ALL_PAIRS, by_hand_only=True),
    Case("systems alike, baseline", 20, 50, data.alike, EQUAL, by_hand_only=True),
]  # fmt: skip

SHAPES = [
    Case("equal means, unlike shapes", 2, 15, data.unlike_shapes, (false_claim(0.058), coverage())),
    Case("equal means, unlike shapes", 2, 50, data.unlike_shapes, EQUAL),
    Case("equal means, unlike shapes", 2, 200, data.unlike_shapes, EQUAL),
    Case("equal means, unlike shapes, all pairs", 5, 50, data.unlike_shapes, EQUAL, ALL_PAIRS),
    Case("equal means, unlike shapes, baseline", 5, 25, data.unlike_shapes, EQUAL),
    # coverage that Student's interval was found to have
    Case("equal means, skewed", 2, 15, data.skewed, (false_claim(), coverage(0.925))),
    Case("equal means, skewed", 2, 25, data.skewed, (false_claim(0.064), coverage(0.932))),
    Case("equal means, skewed", 2, 50, data.skewed, (false_claim(), coverage(0.944))),
    Case("equal means, skewed", 2, 200, data.skewed, (false_claim(0.054), coverage())),
]

COPIES = [
    *(
        Case("one system and near-copies of another, all pairs", k, 50, data.near_copies,
             (false_claim(known, 400, limit=0.07), coverage()), ALL_PAIRS)
        for k, known in ((5, 0.06), (10, 0.04), (20, 0.04))
    ),
    Case("one system and near-copies of another, baseline", 5, 50, data.near_copies, AT_MOST_7),
    Case("one system and near-copies of another, baseline", 20, 50, data.near_copies, AT_MOST_7, by_hand_only=True),
    Case("two systems and 18 near-copies of a third, all pairs", 20, 50, partial(data.near_copies, n_others=2),
         AT_MOST_7, ALL_PAIRS, by_hand_only=True),
    Case("two systems and 18 copies of a third, all pairs", 20, 50, partial(data.near_copies, n_others=2, noise=0.0),
         AT_MOST_7, ALL_PAIRS, by_hand_only=True),
    Case("four systems alike and three junk, all pairs", 7, 50, data.with_junk, EQUAL, ALL_PAIRS),
    Case("four systems alike and three junk, baseline", 7, 50, data.with_junk, EQUAL),
]  # fmt: skip

FIVES, UNEQUAL = partial(data.clustered, sizes=(5,)), partial(data.clustered, sizes=(1, 1, 2, 3, 5, 8, 15))
BY_QUESTION = {"cluster": "question"}
CLUSTERS = [
    Case("clusters of 5 queries", 2, 12, FIVES, AT_MOST_7, BY_QUESTION),
    Case("clusters of 5 queries, all pairs", 3, 30, FIVES, AT_MOST_7, {**BY_QUESTION, **ALL_PAIRS}),
    Case("clusters of 5 queries, baseline", 3, 30, FIVES, AT_MOST_7, BY_QUESTION),
    Case("clusters of 5 queries, all pairs", 5, 30, FIVES, (false_claim(0.05, 400, limit=0.07), coverage()),
         {**BY_QUESTION, **ALL_PAIRS}),
    Case("clusters of 5 queries, baseline", 5, 30, FIVES, AT_MOST_7, BY_QUESTION),
    Case("clusters of 1 to 15 queries, all pairs", 3, 30, UNEQUAL, AT_MOST_7, {**BY_QUESTION, **ALL_PAIRS}),
    Case("clusters of 1 to 15 queries, baseline", 5, 30, UNEQUAL, AT_MOST_7, BY_QUESTION),
]  # fmt: skip

RANK: dict[str, Any] = {"measure": "FirstRel", "lower_is_better": True}
ONE_RANK = partial(data.first_ranks, gain=1)
LOWER = [
    Case("ranks, lower is better", 2, 25, data.first_ranks, EQUAL, {"margin": 1.0}, **RANK),
    Case("ranks, lower is better", 2, 50, data.first_ranks, EQUAL, {"margin": 1.0}, **RANK),
    Case("ranks, lower is better, all pairs", 5, 50, data.first_ranks, EQUAL, {"margin": 1.0, **ALL_PAIRS}, **RANK),
    Case("ranks, lower is better, true gain 1", 2, 50, ONE_RANK, SMALL_GAIN, {"margin": 0.5}, **RANK),
    Case("ranks, lower is better, true gain = margin", 2, 200, ONE_RANK, NOT_SAME, {"margin": 1.0}, **RANK),
]


def real(measure: str, k: int, n: int, *, how: str = "", gain: float = 0.0, **more: Any) -> Case:
    """Return a case of real scores by a measure."""
    draw = partial(real_scores.tilted, measure=measure, gain=gain)
    return Case(f"real {measure}{how}", k, n, draw, more.pop("promises", EQUAL), measure=measure, **more)


REAL = [
    *(
        Case("real nDCG@10, centred", 2, n, real_scores.centred, (false_claim(errors), coverage(covered)))
        for n, errors, covered in (
            (10, 0.048, 0.952), (15, 0.052, 0.949), (25, 0.050, 0.950), (50, math.nan, math.nan), (200, 0.053, 0.948),
        )
    ),
    *(real(measure, 2, n) for measure in ("P@10", "RR", "Success@1") for n in (10, 25, 50, 200)),
    *(real("AP", 2, n) for n in (25, 50)),
    real("P@10", 2, 50, how=", alpha 0.01", promises=ALPHA_01, options={"alpha": 0.01}),
    real("P@10", 2, 50, how=", true difference 0.01", gain=0.01, promises=SMALL_GAIN),
    real("P@10", 5, 50, how=", all pairs", options=ALL_PAIRS),
    real("RR", 5, 50, how=", baseline"),
]  # fmt: skip

TRAFFIC = {"weights": "traffic"}
WEIGHTS = [
    Case("weighted by traffic", 2, 50, data.weighted, EQUAL, TRAFFIC),
    Case("weighted by traffic", 2, 200, data.weighted, EQUAL, TRAFFIC),
    Case(
        "weighted by traffic, gains on frequent queries", 2, 200, partial(data.weighted, head_gain=0.2), EQUAL, TRAFFIC
    ),
]

MARGIN = 0.02


def apart(*gains: float) -> Callable[..., Simulated]:
    """Return how systems are drawn that differ by these gains, each being known well enough to be called the same."""
    return partial(data.normal_differences, gains=gains, spread=0.05)


AT_MARGIN = {"margin": MARGIN}
SAME = [
    Case("true difference = margin", 2, 100, apart(0, MARGIN), NOT_SAME, AT_MARGIN),
    Case("true difference = -margin", 2, 100, apart(0, -MARGIN), NOT_SAME, AT_MARGIN),
    Case("true difference = 1.5 margins", 2, 100, apart(0, 1.5 * MARGIN), NOT_SAME, AT_MARGIN),
    Case("true difference = margin, skewed", 2, 100, partial(data.skewed, gain=0.05), NOT_SAME, {"margin": 0.05}),
    Case("true difference = -margin, skewed", 2, 100, partial(data.skewed, gain=-0.05), NOT_SAME, {"margin": 0.05}),
    Case("true differences = ± margin, baseline", 5, 100, apart(0, MARGIN, -MARGIN, MARGIN, -MARGIN), NOT_SAME,
         AT_MARGIN),
    Case("true differences = margin or more, all pairs", 5, 100, apart(*(i * MARGIN for i in range(5))), NOT_SAME,
         {**AT_MARGIN, **ALL_PAIRS}),
    Case("true differences = margin, baseline", 20, 100, apart(0, *[MARGIN] * 19), NOT_SAME, AT_MARGIN),
]  # fmt: skip

DIRECTION = [
    Case("true difference 0.01", 2, 25, partial(data.alike_but_for, gains=(0, 0.01)), SMALL_GAIN),
    Case("true difference 0.01", 2, 50, partial(data.alike_but_for, gains=(0, 0.01)), SMALL_GAIN),
    Case("true difference -0.01", 2, 200, partial(data.alike_but_for, gains=(0, -0.01)), SMALL_GAIN),
    Case("true difference 0.02", 2, 50, partial(data.alike_but_for, gains=(0, 0.02)), SMALL_GAIN),
    Case("true differences ± 0.01, baseline", 5, 50, partial(data.alike_but_for, gains=(0, 0.01, -0.01, 0.01, -0.01)),
         SMALL_GAIN),
]  # fmt: skip

DETECT, SPREAD = 0.02, 0.1
POWER = [
    Case("true difference 0.02, as many queries as planned", 2, queries_needed(DETECT, SPREAD).n_queries,
         partial(data.normal_differences, gains=(0, DETECT), spread=SPREAD), (Promise("found", 0.80), coverage()),
         {"margin": 0.0}),
]  # fmt: skip

NOTHING_STANDS_OUT = (Promise("other measure", 0.10), Promise("stratum", 0.10))
EXPLORATORY = [
    Case("nothing differs by 25 measures and 4 strata", 2, 100, partial(data.nothing_to_find, n_measures=24),
         NOTHING_STANDS_OUT, n_calls=500, by_hand_only=True),
    Case("nothing differs by 3 measures and 4 strata, all pairs", 5, 60, partial(data.nothing_to_find, n_measures=2),
         NOTHING_STANDS_OUT, ALL_PAIRS),
]  # fmt: skip

CASES = [*ALIKE, *SHAPES, *COPIES, *CLUSTERS, *LOWER, *REAL, *WEIGHTS, *SAME, *DIRECTION, *POWER, *EXPLORATORY]
"""What is said in a verdict, and rests on it; `methods` has the rest."""


def why_not(case: Case) -> str:
    """Say why a case cannot be run here; nothing where it can."""
    return f"the real scores are not in {real_scores.SHARED}" if case in REAL and not real_scores.IS_HERE else ""
