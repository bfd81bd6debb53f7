"""Every statistic against somebody else's implementation of it: scipy, or a plain calculation by hand."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from rankscope.errors import OptionError
from rankscope.stats.agreement import jaccard, rbo
from rankscope.stats.interval import (
    bca_interval,
    cluster_t_interval,
    percentile_interval,
    t_interval,
    wilson_interval,
)
from rankscope.stats.multiple import benjamini_hochberg
from rankscope.stats.paired import (
    bayesian_bootstrap,
    bootstrap_shift_test,
    mcnemar_test,
    sign_flip_test,
    sign_test,
    wilcoxon_test,
)
from rankscope.stats.power import fewest, minimal_detectable_effect, power_of, queries_needed
from rankscope.stats.units import Units

URBANO = Path(__file__).parents[2].parent / "shared" / "data" / "stats" / "urbano-sigir2019"


def units(d):
    """Return differences as units of evidence, each query its own."""
    return Units.of(len(d)).sums(np.asarray(d, dtype=float)[:, None])


differences = st.lists(st.floats(-1, 1), min_size=2, max_size=40).map(np.array)


@given(st.lists(st.integers(-100, 100), min_size=2, max_size=9).map(np.array))
@example(np.array([2, 2, -1, 0, -1, -2]))  # hundredths that add up to 0, but for rounding
@settings(max_examples=150, deadline=None)
def test_exact_sign_flips_equal_scipys(hundredths):
    ours = sign_flip_test(hundredths / 100)
    # scipy is given whole numbers, since it takes 0.1 + 0.2 - 0.3 for a difference
    theirs = scipy_stats.permutation_test((hundredths,), np.sum, permutation_type="samples", n_resamples=100_000)
    assert ours.method == "exact sign-flip permutation"
    assert ours.p == pytest.approx(theirs.pvalue, abs=1e-12)


def test_random_sign_flips_are_near_scipys():
    d = np.random.default_rng(3).normal(0.03, 0.1, 60)
    theirs = scipy_stats.permutation_test((d,), np.mean, permutation_type="samples", n_resamples=99_999, rng=1).pvalue
    assert sign_flip_test(d, n_resamples=99_999).p == pytest.approx(theirs, abs=4 * np.sqrt(theirs / 99_999))


def test_p_is_never_zero_and_one_for_identical_systems():
    assert sign_flip_test(np.full(200, 0.5)).p == 1 / 10_000
    assert sign_flip_test(np.zeros(50)).p == 1


def test_clusters_are_flipped_as_one():
    d = np.array([0.1, 0.2, -0.1, 0.3, 0.05, 0.15])
    clusters = np.array(["a", "a", "b", "b", "c", "c"])
    # sums 0.3, 0.2, 0.2: of the 8 patterns only all-plus and all-minus reach 0.7
    assert sign_flip_test(d, clusters=clusters).p == 2 / 8


@given(differences.filter(lambda d: d.std() > 1e-6))
@settings(max_examples=200, deadline=None)
def test_t_interval_equals_scipys(d):
    theirs = scipy_stats.ttest_1samp(d, 0)
    low, high = theirs.confidence_interval(0.95)
    ours = t_interval(d)
    assert (ours.low, ours.high) == (pytest.approx(low, abs=1e-12), pytest.approx(high, abs=1e-12))


def test_other_paired_tests_equal_scipys():
    d = np.random.default_rng(1).normal(0.02, 0.1, 40)
    assert wilcoxon_test(units(d)).p == pytest.approx(scipy_stats.wilcoxon(d).pvalue)
    wins = int((d > 0).sum())
    assert sign_test(units(d)).p == pytest.approx(scipy_stats.binomtest(wins, 40).pvalue)
    assert "not the mean" in wilcoxon_test(units(d)).caveat


def test_mcnemar_is_the_sign_flip_test_of_a_binary_measure():
    d = np.array([1.0] * 7 + [-1.0] * 2 + [0.0] * 4)
    assert mcnemar_test(units(d)).p == pytest.approx(sign_flip_test(d).p)
    assert mcnemar_test(units(d)).p == pytest.approx(scipy_stats.binomtest(7, 9).pvalue)
    with pytest.raises(OptionError, match="0 or 1"):
        mcnemar_test(units([0.5]))


def test_bootstrap_intervals_are_near_scipys():
    d = np.random.default_rng(8).exponential(0.1, 30) - 0.05
    for ours, method in ((bca_interval(d), "BCa"), (percentile_interval(d), "percentile")):
        theirs = scipy_stats.bootstrap((d,), np.mean, method=method, n_resamples=9999, rng=0).confidence_interval
        assert ours.low == pytest.approx(theirs.low, abs=0.003)
        assert ours.high == pytest.approx(theirs.high, abs=0.003)


def test_bca_takes_any_statistic():
    d = np.random.default_rng(8).normal(0, 1, 60)
    ours = bca_interval(d, lambda rows: np.median(rows, axis=1))
    theirs = scipy_stats.bootstrap((d,), np.median, method="BCa", n_resamples=9999, rng=0).confidence_interval
    assert ours.low == pytest.approx(theirs.low, abs=0.06)
    assert ours.high == pytest.approx(theirs.high, abs=0.06)


@given(st.integers(1, 60).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
@settings(max_examples=100, deadline=None)
def test_wilson_equals_scipys(pair):
    theirs = scipy_stats.binomtest(*pair).proportion_ci(method="wilson")
    ours = wilson_interval(*pair)
    assert (ours.low, ours.high) == (pytest.approx(theirs.low, abs=1e-12), pytest.approx(theirs.high, abs=1e-12))


def test_one_query_per_cluster_is_the_plain_interval():
    d = np.random.default_rng(2).normal(0, 1, 25)
    plain, clustered = t_interval(d), cluster_t_interval(d, np.arange(25))
    assert clustered.low == pytest.approx(plain.low)
    assert clustered.high == pytest.approx(plain.high)


def test_repeating_every_query_does_not_narrow_the_cluster_interval():
    d = np.random.default_rng(2).normal(0, 1, 25)
    twice, clusters = np.repeat(d, 2), np.repeat(np.arange(25), 2)
    assert cluster_t_interval(twice, clusters).low == pytest.approx(t_interval(d).low)
    assert t_interval(twice).low > t_interval(d).low


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12).map(np.array))
@settings(max_examples=200, deadline=None)
def test_benjamini_hochberg_equals_scipys(p):
    assert benjamini_hochberg(p) == pytest.approx(scipy_stats.false_discovery_control(p))


def test_power_by_simulation():
    rng = np.random.default_rng(0)
    found = np.mean([scipy_stats.ttest_1samp(rng.normal(0.04, 0.1, 50), 0).pvalue < 0.05 for _ in range(4000)])
    assert power_of(0.04, 0.1, 50) == pytest.approx(found, abs=3 * np.sqrt(0.25 / 4000))


@pytest.mark.parametrize("n", [4, 6, 7, 20, 60])
def test_a_huge_difference_is_found_for_certain(n):
    # from 45 standard errors on; for some of these scipy's distribution has no number
    found = [power_of(errors / np.sqrt(n), 1.0, n) for errors in np.arange(45, 200, 0.25)]
    assert found == pytest.approx([1.0] * len(found), abs=1e-9)


def test_minimal_effect_and_number_of_queries_are_inverse():
    smallest = minimal_detectable_effect(0.1, 200)
    assert power_of(smallest, 0.1, 200) == pytest.approx(0.8, abs=1e-6)
    assert queries_needed(smallest, 0.1).n_queries in (200, 201)
    assert smallest == pytest.approx(2.8 * 0.1 / np.sqrt(200), rel=0.02)  # the rule of thumb


def test_chances_add_up_and_point_the_right_way():
    d = np.random.default_rng(0).normal(0.05, 0.05, 100)
    chances = bayesian_bootstrap(units(d), 0.01)
    assert chances.better + chances.equivalent + chances.worse == pytest.approx(1)
    assert chances.better > 0.99


def test_rbo_by_hand():
    assert rbo("abc", "abc") == pytest.approx(1)
    assert rbo("abc", "xyz") == pytest.approx(0)
    # p = 0.5, lists ab and ba: overlap 0 at depth 1, 1 at depth 2; extrapolated 0.5/0.5·(0 + 1·0.25) + 1·0.25
    assert rbo("ab", "ba", p=0.5) == pytest.approx(0.5)
    assert jaccard("abcd", "cd") == 0.5


@pytest.mark.skipif(not URBANO.is_dir(), reason="needs the shared data beside the checkout")
def test_published_p_values_of_two_real_systems():
    scores = np.loadtxt(URBANO / "adhoc8_ap.csv", delimiter=",", skiprows=1)
    d = scores[:, 124] - scores[:, 125]
    # as printed in the README of julian-urbano/sigir2019-statistical; resampled ones with a million resamples there
    assert sign_flip_test(d, n_resamples=99_999).p == pytest.approx(0.001188, abs=4 * np.sqrt(0.001188 / 99_999))
    assert bootstrap_shift_test(units(d), n_resamples=99_999).p == pytest.approx(
        0.000586, abs=4 * np.sqrt(0.000586 / 99_999)
    )
    # theirs is the normal approximation, ours exact
    assert wilcoxon_test(units(d)).p == pytest.approx(0.003445188, abs=1e-3)


def test_the_three_chances_of_a_symmetric_sample():
    d = np.array([-0.3, -0.1, 0.1, 0.3] * 5)
    chances = bayesian_bootstrap(units(d), 0.03, n_draws=20_000)
    spread = np.sqrt((d**2).mean() / (len(d) + 1))  # of the posterior of the mean, as Rubin gives it
    outside = scipy_stats.norm.sf(0.03 / spread)
    assert chances.better == pytest.approx(outside, abs=0.02)
    assert chances.worse == pytest.approx(outside, abs=0.02)
    assert chances.equivalent == pytest.approx(1 - 2 * outside, abs=0.03)
    assert chances.better + chances.equivalent + chances.worse == pytest.approx(1)


@pytest.mark.parametrize("sign", [1, -1])
def test_an_interval_where_no_resample_reaches_what_was_observed(sign):
    values = np.arange(12.0)  # a resample nearly never holds all of 12 different values

    def different(rows):
        return sign * np.array([len(set(row)) for row in rows], dtype=np.float64)

    found = bca_interval(values, statistic=different, n_resamples=500)
    assert np.isfinite([found.low, found.high]).all()
    assert found.low <= found.high


@given(st.integers(0, 500), st.floats(0, 600))
@example(2, 3.0)  # the two queries that are enough are the first that is looked at below the guess
@example(2, 10.0)  # 9, 8, 6 and 2 are
def test_the_fewest_queries_are_found_from_any_guess(k, near):
    assert fewest(lambda n: n >= k, near=near).n_queries == max(2, k)
