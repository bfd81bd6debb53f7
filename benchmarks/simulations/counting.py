"""One call of `rankscope.compare_scores` on simulated scores, and what it got wrong."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import rankscope as rs
from rankscope.data.queries import QueryTable
from rankscope.measures.score_files import ScoreFile, as_scores
from rankscope.records import or_nan
from simulations.data import Simulated

if TYPE_CHECKING:
    from simulations.cases import Case

N_FLIPS = 1_999
"""(N_FLIPS + 1) alpha is a whole number, so a permutation test can have exactly the level that it promises."""
DEFAULT_MARGIN = 0.01
EXPLORATORY_LEVEL = 0.10
CLAIMS = {"better": 1, "probably_better": 1, "worse": -1, "probably_worse": -1}
ERRORS = ("false claim", "wrong direction", "false same", "found", "contradiction", "other measure", "stratum")
FIRST_PAIR = {"0", "1"}
"""The pair whose true difference is to be found where power is counted."""
ROUNDING = 1e-9


def count_verdicts(case: Case, drawn: Simulated, seed: int) -> dict[str, bool]:
    """Compare the systems as a user would, and tell for each kind of error whether it was made, on any pair."""
    scores = scores_of(drawn, case)
    queries = query_table(drawn, scores[next(iter(scores))].query_ids)
    found = rs.compare_scores(scores, queries=queries, n_resamples=N_FLIPS, seed=seed, **case.options)
    alpha, margin = case.options.get("alpha", 0.05), case.options.get("margin", DEFAULT_MARGIN)
    results = (result for group in found.groups for result in group.comparisons)
    return errors_of(results, drawn.truth, alpha=alpha, margin=margin, lower_is_better=case.lower_is_better)


def errors_of(
    results: Iterable[Any], truth: Any, *, alpha: float, margin: float, lower_is_better: bool = False
) -> dict[str, bool]:
    """Return which errors there are in what was said of pairs; systems are named by their places in `truth`."""
    direction = -1 if lower_is_better else 1
    made = dict.fromkeys(ERRORS, False) | {"coverage": True}
    for pair in results:
        if pair.role == "exploratory":
            made["other measure"] |= pair.p.adjusted <= EXPLORATORY_LEVEL
            continue
        code, low, high = pair.verdict.code, or_nan(pair.ci.low), or_nan(pair.ci.high)
        difference = float(truth[int(pair.b)] - truth[int(pair.a)])
        gain = direction * difference
        excludes_zero = low > ROUNDING or high < -ROUNDING
        claim = CLAIMS.get(code, 0)
        if code == "same" and excludes_zero:  # it says "measurably higher, but by less than the margin"
            claim = direction * int(math.copysign(1, pair.delta))
        made["false claim"] |= claim != 0 and abs(gain) < ROUNDING
        made["wrong direction"] |= claim * gain < 0
        made["found"] |= claim * gain > 0 and {pair.a, pair.b} == FIRST_PAIR
        made["false same"] |= code == "same" and abs(gain) >= margin - ROUNDING
        # a pair without an interval is one whose scores are all equal, of which nothing is said
        made["coverage"] &= not (low > difference + ROUNDING or high < difference - ROUNDING)
        made["contradiction"] |= len({claim != 0, bool(excludes_zero), pair.p.adjusted <= alpha}) > 1
        for test in pair.also_tested:
            made[f"{test.method} test rejects"] = bool(test.p <= alpha)
        made["stratum"] |= any(part.stands_out for part in pair.strata)
    return made


def scores_of(drawn: Simulated, case: Case) -> rs.Scores:
    """Return simulated scores as `compare_scores` takes them; systems are named by their place."""
    n, k = drawn.scores.shape
    ids = [f"q{i}" for i in range(n)]
    by_measure = {case.measure: drawn.scores}
    if drawn.other_scores is not None:
        by_measure |= {f"other {i}": drawn.other_scores[:, :, i] for i in range(drawn.other_scores.shape[2])}
    cells = {
        str(j): {measure: dict(zip(ids, values[:, j].tolist(), strict=True)) for measure, values in by_measure.items()}
        for j in range(k)
    }
    lower = frozenset([case.measure]) if case.lower_is_better else frozenset[str]()
    return as_scores(ScoreFile(cells, lower_is_better=lower), where="simulated scores")


def query_table(drawn: Simulated, ids: tuple[str, ...]) -> QueryTable | None:
    """Return what is known of the queries, None where that is nothing."""
    if not drawn.attributes:
        return None
    return QueryTable(
        ids, None, {name: dict(zip(ids, values, strict=True)) for name, values in drawn.attributes.items()}
    )
