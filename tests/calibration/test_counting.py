"""The simulations notice every kind of error; comparisons here are made up, so that it is known what is wrong in them."""

import dataclasses
import math
from types import SimpleNamespace

import numpy as np
import pytest
from simulations.cases import CASES, Promise, false_claim
from simulations.counting import errors_of, query_table, scores_of
from simulations.data import Simulated
from simulations.table import Row


def said(code, low, high, *, a=0, b=1, p=None, **more):
    clear = low > 0 or high < 0
    adjusted = (0.01 if clear else 0.5) if p is None else p
    return SimpleNamespace(
        role="primary",
        a=str(a),
        b=str(b),
        delta=(low + high) / 2,
        ci=SimpleNamespace(low=low, high=high),
        p=SimpleNamespace(adjusted=adjusted),
        verdict=SimpleNamespace(code=code),
        **{"also_tested": (), "strata": (), **more},
    )


def errors(*items, truth, **options):
    found = errors_of(items, truth, **{"alpha": 0.05, "margin": 0.01, **options})
    return {name for name, is_so in found.items() if is_so}


@pytest.mark.parametrize(
    ("item", "truth", "expected"),
    [
        (said("cannot_tell", -0.1, 0.1), (0, 0), {"coverage"}),
        (said("better", 0.02, 0.1), (0, 0), {"false claim"}),
        (said("probably_worse", -0.1, -0.002), (0, 0), {"false claim"}),
        (said("better", 0.02, 0.1), (0, 0.05), {"coverage", "found"}),
        (said("better", 0.02, 0.1), (0, 0.01), {"found"}),
        (said("worse", -0.1, -0.02), (0, 0.01), {"wrong direction"}),
        (said("same", -0.005, 0.005), (0, 0.01), {"false same"}),
        (said("same", -0.005, 0.005), (0, -0.02), {"false same"}),
        (said("same", -0.005, 0.0095), (0, 0.009), {"coverage"}),
        (said("same", 0.001, 0.005), (0, 0), {"false claim"}),
        (said("same", -0.005, -0.001), (0, 0.003), {"wrong direction"}),
        (said("identical", math.nan, math.nan, p=1.0), (0, 0), {"coverage"}),
        (said("cannot_tell", 0.001, 0.1), (0, 0), {"contradiction"}),
        (said("better", 0.02, 0.1, p=0.2), (0, 0.05), {"coverage", "found", "contradiction"}),
        (said("cannot_tell", -0.1, 0.1, p=0.05), (0, 0), {"coverage", "contradiction"}),
    ],
)
def test_each_error_is_counted_as_what_it_is(item, truth, expected):
    assert errors(item, truth=truth) == expected


def test_where_less_is_better_a_lower_score_is_a_gain():
    better = said("better", -0.1, -0.02)
    assert errors(better, truth=(0, -0.05), lower_is_better=True) == {"coverage", "found"}
    assert errors(better, truth=(0, 0.05), lower_is_better=True) == {"wrong direction"}
    same = said("same", -0.005, -0.001)
    assert errors(same, truth=(0, -0.004), lower_is_better=True) == {"coverage", "found"}


def test_the_first_pair_is_found_whichever_way_round_it_is_named():
    """Of all pairs, the better system of each is named last."""
    assert errors(said("better", 0.02, 0.1, a=1, b=0), truth=(0.05, 0)) == {"coverage", "found"}
    assert errors(said("better", 0.02, 0.1, a=2, b=0), truth=(0.05, 0, 0)) == {"coverage"}


def test_one_error_in_a_family_is_enough():
    right, wrong = said("cannot_tell", -0.1, 0.1, a=0, b=2), said("better", 0.02, 0.1, a=1, b=2)
    assert errors(right, wrong, truth=(0, 0, 0)) == {"false claim"}
    assert errors(wrong, right, truth=(0, 0, 0)) == {"false claim"}


def test_tests_on_request_measures_and_strata_are_counted():
    wilcoxon = SimpleNamespace(method="Wilcoxon signed-rank", p=0.04)
    small = SimpleNamespace(role="exploratory", p=SimpleNamespace(adjusted=0.09))
    item = said("cannot_tell", -1, 1, also_tested=(wilcoxon,), strata=(SimpleNamespace(stands_out=True),))
    assert errors(item, small, truth=(0, 0)) == {
        "coverage",
        "Wilcoxon signed-rank test rejects",
        "other measure",
        "stratum",
    }


def test_scores_and_queries_are_handed_over_as_drawn():
    drawn = CASES[0].draw(np.random.default_rng(1), 12, 2)
    case = dataclasses.replace(CASES[0], measure="FirstRel", lower_is_better=True)
    scores = scores_of(drawn, case)
    assert list(scores) == ["0", "1"]
    assert scores["1"].column("FirstRel").tolist() == drawn.scores[:, 1].tolist()
    assert scores["0"].lower_is_better == {"FirstRel"}
    assert query_table(drawn, scores["0"].query_ids) is None
    known = query_table(Simulated(drawn.scores, drawn.truth, {"question": list(range(12))}), scores["0"].query_ids)
    assert known.attribute("question")[scores["0"].query_ids[3]] == 3


def row(counted, calls, promise):
    return Row(CASES[0], promise, calls, counted)


@pytest.mark.parametrize(
    ("counted", "calls", "promise", "verdict"),
    [
        # by hand: four standard errors are 4 sqrt(0.05 x 0.95 / 200) = 0.0616, and 0.0195 for 2,000 calls
        (22, 200, false_claim(), "holds"),
        (23, 200, false_claim(), "misses"),
        (178, 200, Promise("coverage", 0.95), "holds"),
        (177, 200, Promise("coverage", 0.95), "misses"),
        (60, 2_000, false_claim(), "cautious"),
        (62, 2_000, false_claim(), "holds"),
        (1_945, 2_000, Promise("coverage", 0.95), "cautious"),
        (70, 1_000, false_claim(limit=0.07), "holds"),
        (71, 1_000, false_claim(limit=0.07), "misses 0.07"),
        (200, 500, Promise("found", reference=0.4), "no promise"),
    ],
)
def test_verdict_on_a_promise(counted, calls, promise, verdict):
    found = row(counted, calls, promise)
    assert found.verdict == verdict
    assert found.is_as_expected == (verdict != "misses")
    known = row(counted, calls, dataclasses.replace(promise, is_known_to_fail=True))
    assert known.is_as_expected == (verdict == "misses")


def test_agreement_with_another_simulation():
    near_copies = false_claim(0.04, 400)
    assert row(30, 300, near_copies).agrees  # by hand: 0.06 apart, four standard errors are 0.0757
    assert row(57, 300, near_copies).agrees is False  # 0.15 apart, 0.0934
    assert row(57, 300, false_claim()).agrees is None
    assert "0.040, differs" in row(57, 300, near_copies).to_markdown()
    assert row(57, 300, near_copies).to_dict()["measured"] == pytest.approx(0.19)
    assert row(57, 300, false_claim()).to_dict()["reference"] is None
