"""What sizes of query sets are good for: the words of the plan they come from, and differences by another library."""

from __future__ import annotations

import math

import numpy as np
import pytest
from statsmodels.stats.power import TTestPower

from rankscope.stats.power import queries_needed, queries_needed_each
from rankscope.stats.set_sizes import SIZES, size_in_words, size_with_differences, usual_differences


def test_the_sizes_of_the_plan_have_their_words():
    assert SIZES == {"tiny": 9, "small": 50, "standard": 200, "comprehensive": 500}  # the plan's table
    assert size_in_words(8).startswith("too few even for a quick check")
    assert size_in_words(9) == size_in_words(49) == "a quick check; 50 for development, 200 for publication"
    assert size_in_words(50) == size_in_words(199) == "enough for development; 200 for publication"
    assert size_in_words(200) == size_in_words(499) == "what publication usually takes"
    assert size_in_words(500) == "a full benchmark"


@pytest.mark.parametrize("n", [9, 50, 200, 500])
def test_differences_beside_the_words(n):
    effect = TTestPower().solve_power(nobs=n, alpha=0.05, power=0.8)
    assert usual_differences(n) == pytest.approx({"nDCG": 0.18 * effect, "RR": 0.42 * effect}, rel=1e-4)


def test_in_one_line():
    assert size_with_differences(200) == (
        "what publication usually takes (80% chance to find 0.036 in nDCG or 0.084 in RR, at spreads of 0.18 and 0.42)"
    )
    assert "%" not in size_with_differences(1)


@pytest.mark.parametrize("n", [0, 1, 4, 5])
def test_no_difference_is_promised_where_the_exact_test_cannot_reach_the_level(n):
    # 2 of 2^5 flips are 0.0625, 2 of 2^6 are 0.03125
    assert usual_differences(n) == {}
    assert size_with_differences(n).endswith("(so few can find no difference)")
    assert set(usual_differences(6)) == {"nDCG", "RR"}


@pytest.mark.parametrize("alpha", [0.05, 1e-4, 4e-7])
def test_the_needs_of_many_spreads_are_those_of_each(alpha):
    spreads = np.concatenate([[1e-6, 0.004, 0.02], np.random.default_rng(1).uniform(0.01, 0.6, 60)])
    found = queries_needed_each(0.01, spreads, alpha=alpha)
    assert found.tolist() == [queries_needed(0.01, spread, alpha=alpha).n_queries for spread in spreads.tolist()]


def test_spreads_that_say_nothing_need_no_number_of_queries():
    found = queries_needed_each(0.01, np.array([0.0, math.nan, math.inf, 1e12, 0.1]))
    assert np.isnan(found).tolist() == [True, True, True, True, False]
