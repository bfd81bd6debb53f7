"""Every test and interval keeps its promise on simulated data, or fails as it is known to fail.

What is promised is the nominal level; known failures are the figures of earlier simulations and of hand calculations,
named in benchmarks/simulations. All simulations are seeded.
"""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from scipy import stats as scipy_stats
from simulations import worlds
from simulations.cases import CASES, Measured, measure, unpaired_tukey

from rankscope.stats.design import expected_half_width, queries_for_width
from rankscope.stats.interval import t_interval

N_SIMULATIONS = 2_000
GUIDE = Path(__file__).parents[2] / "docs" / "statistics.md"


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_promise(case):
    found = measure(case, N_SIMULATIONS)
    assert found.is_as_claimed(), f"{case.claim}: {found.rate:.3f} ± {found.standard_error:.4f} ({found.verdict})"


@pytest.mark.slow
def test_interval_is_as_narrow_as_planned():
    plan = queries_for_width(0.02, 0.1)
    drawn = worlds.normal(np.random.default_rng(1), 4_000, plan.n_queries)
    halves = np.array([(found.high - found.low) / 2 for found in map(t_interval, drawn)])
    error = halves.std(ddof=1) / np.sqrt(len(halves))
    assert abs(halves.mean() - expected_half_width(0.1, plan.n_queries)) < 3 * error
    assert halves.mean() < 0.02 + 3 * error


def test_unpaired_tukey_of_the_simulations_is_scipys():
    scores = np.random.default_rng(5).normal((0.0, 0.0, 0.3), 0.4, (25, 3))
    theirs = scipy_stats.tukey_hsd(*scores.T).pvalue
    np.testing.assert_array_equal(unpaired_tukey(scores, 0) == 0, theirs <= 0.05)
    assert (theirs <= 0.05).any()
    assert (theirs > 0.05).any()


def test_simulations_depend_on_the_case_alone():
    case = CASES[0]
    assert measure(case, 300).rate == measure(case, 300).rate


def test_guide_has_a_row_for_every_case():
    rows = [line for line in GUIDE.read_text("utf-8").splitlines() if line.endswith(VERDICTS)]
    shown = [tuple(cell.strip() for cell in row.split("|")[1:5]) for row in rows]
    assert shown == [(case.world, str(case.n), case.method, case.what) for case in CASES]


VERDICTS = tuple(
    f"| {word} |"
    for word in ("holds", "cautious", "too many", "too narrow", "too little", "more than planned", "no promise")
)


def test_control_a_broken_promise_is_noticed():
    case = dataclasses.replace(CASES[0], outcome=lambda d, seed: True)
    assert not measure(case, 200).is_as_claimed()
    for claim, rate in (("holds", 0.08), ("at most", 0.08), ("roughly", 0.12), ("fails", 0.05), ("fails", 0.5)):
        claimed = dataclasses.replace(case, claim=claim, known=0.1)
        assert not Measured(claimed, rate, 0.005, 2_000).is_as_claimed()


def test_control_every_claim_can_be_met():
    met = (("holds", 0.06), ("at most", 0.0), ("roughly", 0.07), ("fails", 0.12), ("about", 0.12))
    for claim, rate in met:
        claimed = dataclasses.replace(CASES[0], claim=claim, known=0.1)
        assert Measured(claimed, rate, 0.005, 2_000).is_as_claimed()
