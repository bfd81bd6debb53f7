"""Corrections, power and designs against statsmodels, which is nowhere used but here."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats
from statsmodels.stats.anova import AnovaRM
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.power import FTestAnovaPower, TTestPower
from statsmodels.stats.proportion import proportion_confint

from rankscope.errors import OptionError
from rankscope.stats.design import (
    expected_half_width,
    queries_for_range,
    queries_for_width,
    range_power,
)
from rankscope.stats.interval import wilson_interval
from rankscope.stats.multiple import benjamini_hochberg, residual_variance
from rankscope.stats.paired import contrast_p, mcnemar_test
from rankscope.stats.power import minimal_detectable_effect, power_of, queries_needed
from rankscope.stats.units import Units

p_values = st.lists(st.floats(0, 1), min_size=1, max_size=15).map(np.array)


@given(p=p_values)
@settings(max_examples=100, deadline=None)
def test_false_discoveries(p):
    assert benjamini_hochberg(p) == pytest.approx(multipletests(p, method="fdr_bh")[1], abs=1e-12)


@pytest.mark.parametrize("n", [2, 3, 10, 54, 1000, 50_000])
@pytest.mark.parametrize("effect", [0.01, 0.2, 0.5, 3.0])
def test_power_of_the_paired_t_test(n, effect):
    theirs = TTestPower().power(effect_size=effect, nobs=n, alpha=0.05)
    assert power_of(effect * 0.1, 0.1, n) == pytest.approx(float(np.nan_to_num(theirs, nan=1.0)), abs=1e-8)


@pytest.mark.parametrize(("alpha", "power"), [(0.05, 0.8), (0.01, 0.9), (0.0125, 0.8)])
def test_smallest_effect_and_number_of_queries(alpha, power):
    smallest = minimal_detectable_effect(0.15, 54, alpha=alpha, power=power)
    assert TTestPower().power(smallest / 0.15, nobs=54, alpha=alpha) == pytest.approx(power, abs=1e-8)
    n = TTestPower().solve_power(effect_size=0.02 / 0.15, alpha=alpha, power=power)
    assert queries_needed(0.02, 0.15, alpha=alpha, power=power).n_queries == int(np.ceil(n))


def test_rule_of_thumb():
    # 2.8 standard errors, and ((1.96 + 0.8416) · 0.15 / 0.02)² = 441.5 by the normal formula
    assert minimal_detectable_effect(1.0, 10_000) == pytest.approx(2.8016 / 100, rel=1e-3)
    assert queries_needed(0.02, 0.15).n_queries == pytest.approx(441.5 + 2, abs=1)


@pytest.mark.parametrize(("n", "m", "gap"), [(20, 3, 0.1), (50, 5, 0.05), (100, 20, 0.03), (10, 2, 0.4)])
def test_one_way_analysis_of_variance(n, m, gap):
    spread = 0.12
    # one system at each end, the others halfway: f² = Σ a² / (m σ²) = gap² / (2 m σ²)
    f = np.sqrt(gap**2 / (2 * m * spread**2))
    theirs = FTestAnovaPower().power(effect_size=f, nobs=n * m, alpha=0.05, k_groups=m)
    assert range_power(gap, spread, m, n, one_way=True) == pytest.approx(theirs, abs=1e-8)


def test_number_of_queries_for_a_range():
    spread, m, gap = 0.12, 5, 0.05
    f = np.sqrt(gap**2 / (2 * m * spread**2))
    total = FTestAnovaPower().solve_power(effect_size=f, alpha=0.05, power=0.8, k_groups=m)
    assert queries_for_range(gap, spread, m, one_way=True).n_queries == int(np.ceil(total / m))


def test_two_systems_in_blocks_are_the_paired_t_test():
    # the difference of two systems varies with √2 times what is unexplained
    for n in (10, 50, 300):
        assert range_power(0.05, 0.1, 2, n) == pytest.approx(power_of(0.05, 0.1 * np.sqrt(2), n), abs=1e-9)


def test_expected_half_width_by_hand():
    # two queries: t(1, .975) = 12.7062, the expected standard deviation is 0.1 √(2/π)
    assert expected_half_width(0.1, 2) == pytest.approx(12.7062 * 0.1 * np.sqrt(2 / np.pi) / np.sqrt(2), rel=1e-5)
    n = queries_for_width(0.02, 0.1).n_queries
    assert expected_half_width(0.1, n) <= 0.02 < expected_half_width(0.1, n - 1)
    # the normal formula, (1.96 · 0.1 / 0.02)² = 96.04, has no room for an estimated spread
    assert 96 < n < 100


def frame_of(scores):
    n, m = scores.shape
    return pd.DataFrame(
        {
            "query": np.repeat(np.arange(n), m),
            "system": np.tile(np.arange(m), n),
            "score": scores.ravel(),
        }
    )


def test_residual_variance_is_that_of_repeated_measures():
    scores = np.random.default_rng(3).normal(size=(12, 4))
    table = AnovaRM(frame_of(scores), "score", "query", within=["system"]).fit().anova_table
    between = 12 * scores.mean(axis=0).var(ddof=1)
    assert residual_variance(scores) == pytest.approx(between / table["F Value"].iloc[0])
    assert (table["Num DF"].iloc[0], table["Den DF"].iloc[0]) == (3, 33)


@pytest.mark.parametrize(("wins", "losses"), [(7, 2), (0, 5), (12, 12), (1, 0)])
def test_mcnemar(wins, losses):
    d = np.array([1.0] * wins + [-1.0] * losses + [0.0] * 10)
    theirs = mcnemar([[5, wins], [losses, 5]], exact=True).pvalue
    assert mcnemar_test(Units.of(len(d)).sums(d[:, None])).p == pytest.approx(theirs)


@pytest.mark.parametrize(("successes", "n"), [(0, 10), (3, 10), (10, 10), (421, 1000)])
def test_wilson(successes, n):
    ours = wilson_interval(successes, n, level=0.9)
    low, high = proportion_confint(successes, n, alpha=0.1, method="wilson")
    assert (ours.low, ours.high) == (pytest.approx(low, abs=1e-12), pytest.approx(high, abs=1e-12))


@pytest.mark.parametrize(
    "plan",
    [
        lambda: queries_needed(0.0, 0.1),
        lambda: queries_needed(1e-9, 1.0),
        lambda: queries_needed(0.02, 0.0),
        lambda: queries_needed(0.02, 0.1, alpha=0.0),
        lambda: queries_needed(0.02, 0.1, power=1.0),
        lambda: minimal_detectable_effect(0.1, 1),
        lambda: power_of(0.1, float("nan"), 10),
        lambda: queries_for_range(0.02, 0.1, 1),
        lambda: queries_for_width(0.0, 0.1),
        lambda: expected_half_width(0.1, 10, level=1.0),
    ],
)
def test_nothing_is_planned_with_impossible_numbers(plan):
    with pytest.raises(OptionError):
        plan()


@pytest.mark.parametrize("seed", range(4))
def test_a_contrast_of_clusters_is_a_regression_with_clustered_errors(seed):
    """Clusters lie on one side or on both; the variance is the sandwich times n / (n - 1), as for means."""
    rng = np.random.default_rng(seed)
    clusters = rng.integers(0, 12, 90)
    members = ((rng.random(90) < 0.4) | (clusters < 3)) & (clusters < 10)
    differences = rng.normal(0.1, 0.3, 12)[clusters] + rng.normal(0, 0.2, 90) + 0.15 * members
    fitted = sm.OLS(differences, sm.add_constant(members.astype(float))).fit(
        cov_type="cluster", cov_kwds={"groups": clusters, "use_correction": False}
    )
    variance = fitted.cov_params()[1, 1] * 12 / 11
    n_smaller_side = min(len(set(clusters[members])), len(set(clusters[~members])))
    expected = 2 * scipy_stats.t.sf(abs(fitted.params[1]) / np.sqrt(variance), n_smaller_side - 1)
    assert contrast_p(differences, members, Units.of(90, clusters)) == pytest.approx(expected)


def test_a_contrast_needs_two_units_on_each_side():
    differences, clusters = np.array([0.1, 0.3, 0.2, 0.5, 0.4]), np.array([0, 0, 1, 2, 3])
    one_cluster = np.array([True, True, False, False, False])
    assert np.isnan(contrast_p(differences, one_cluster, Units.of(5, clusters)))
    assert not np.isnan(contrast_p(differences, ~np.array([False, True, True, False, False]), Units.of(5, clusters)))
