"""The intervals of audits hold as often as they say, whatever the judge is like."""

from __future__ import annotations

import math

import pytest
from simulations.audit_table import CASES, coverage

N_TRIALS = 600


@pytest.mark.parametrize("case", CASES, ids=str)
def test_mixed_intervals_hold_and_those_of_a_biased_judge_do_not(case):
    judge, people, both = coverage(case, N_TRIALS)
    # 0.95 is the level; t intervals of few skewed differences hold less often, those of people alone as well
    assert both[0] > 0.95 - 0.03 * case.skewed - 3 * math.sqrt(0.95 * 0.05 / N_TRIALS)
    assert judge[0] < 0.9
    if case.agrees > 0.7:
        assert both[1] < 0.9 * people[1]
