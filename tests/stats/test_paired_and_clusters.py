"""Paired tests at their edges, finer resampling near alpha, and clusters."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from rankscope.errors import OptionError
from rankscope.stats.clusters import cluster_sums
from rankscope.stats.effect import effect_of
from rankscope.stats.interval import (
    bca_interval,
    cluster_t_interval,
    percentile_interval,
    t_interval,
    wilson_interval,
)
from rankscope.stats.multiple import all_pairs_sign_flip, block_tukey, max_t, permuted_ranges, randomised_tukey
from rankscope.stats.paired import (
    bootstrap_shift_test,
    is_near,
    paired_t_test,
    refined_sign_flip,
    sign_flip_test,
    sign_test,
    wilcoxon_test,
)
from rankscope.stats.power import minimal_detectable_effect
from rankscope.stats.studentized_range import critical_range, exceedance

TESTS = [sign_flip_test, refined_sign_flip, paired_t_test, bootstrap_shift_test, wilcoxon_test, sign_test]


@pytest.mark.parametrize("test", TESTS)
def test_no_queries_and_undefined_scores_are_refused(test):
    with pytest.raises(OptionError, match="at least one query"):
        test(np.array([]))
    with pytest.raises(OptionError, match="needs numbers"):
        test(np.array([0.1, np.nan]))


@pytest.mark.parametrize("test", TESTS)
def test_identical_systems_have_p_1(test):
    assert test(np.zeros(20)).p == 1


def test_effect_of_no_queries_is_refused():
    with pytest.raises(OptionError, match="at least one query"):
        effect_of(np.array([]))


def test_one_query_has_no_t():
    found = paired_t_test(np.array([0.3]))
    assert np.isnan(found.p)
    assert "no spread" in found.caveat


@given(st.lists(st.integers(-3, 3).map(float), min_size=1, max_size=30).map(np.array))
@settings(max_examples=150, deadline=None)
def test_sign_test_equals_scipys(d):
    wins, losses = int((d > 0).sum()), int((d < 0).sum())
    wanted = scipy_stats.binomtest(wins, wins + losses).pvalue if wins + losses else 1.0
    assert sign_test(d).p == pytest.approx(wanted)


@given(st.integers(1, 300), st.integers(0, 300))
@settings(max_examples=50, deadline=None)
def test_ties_change_nothing_but_the_number_of_queries(n, ties):
    d = np.random.default_rng(n).choice([-0.2, -0.1, 0.1, 0.3], n)
    exact = sign_flip_test(d, n_resamples=4095)
    if exact.n_resamples is None:
        assert sign_flip_test(np.concatenate([d, np.zeros(ties)]), n_resamples=4095).p == exact.p


def test_bootstrap_shift_is_near_its_definition():
    d = np.random.default_rng(2).normal(0.03, 0.1, 30)
    rng = np.random.default_rng(99)
    means = rng.choice(d - d.mean(), (99_999, 30)).mean(axis=1)
    wanted = (1 + (np.abs(means) >= abs(d.mean())).sum()) / 100_000
    found = bootstrap_shift_test(d, n_resamples=99_999)
    assert found.p == pytest.approx(wanted, abs=5 * np.sqrt(2 * wanted / 99_999))
    assert found.caveat.startswith("anti-conservative for few queries")


def differences_with_p(p, n=60):
    """Return differences whose t test has about this p."""
    d = np.random.default_rng(0).normal(0, 1, n)
    t = scipy_stats.t.isf(p / 2, n - 1)
    return (d - d.mean()) / d.std(ddof=1) + t / np.sqrt(n)


def test_more_resamples_are_drawn_only_near_alpha():
    assert refined_sign_flip(differences_with_p(0.05)).n_resamples == 99_999
    assert refined_sign_flip(differences_with_p(0.3)).n_resamples == 9_999
    assert refined_sign_flip(differences_with_p(0.0005)).n_resamples == 9_999
    assert refined_sign_flip(differences_with_p(0.0125), alpha=0.0125).n_resamples == 99_999
    assert refined_sign_flip(np.array([0.1, 0.2, -0.1])).n_resamples is None


def test_finer_p_is_that_of_the_test_with_more_resamples():
    d = differences_with_p(0.05)
    assert refined_sign_flip(d, seed=3) == sign_flip_test(d, n_resamples=99_999, seed=3)
    assert is_near(sign_flip_test(d, seed=3), 0.05)


def test_cluster_sums():
    values = np.array([[1.0, 10.0], [2.0, 20.0], [4.0, 40.0]])
    np.testing.assert_array_equal(cluster_sums(values, np.array(["b", "a", "b"])), [[2.0, 20.0], [5.0, 50.0]])
    with pytest.raises(OptionError, match="2 cluster labels for 3 queries"):
        cluster_sums(values, np.array([1, 2]))


def test_tests_of_many_systems_by_cluster_through_their_sums():
    scores = np.random.default_rng(1).random((40, 3))
    clusters = np.arange(40) // 4
    together = all_pairs_sign_flip(cluster_sums(scores, clusters), n_resamples=2000)
    alone = sign_flip_test(scores[:, 0] - scores[:, 1], n_resamples=2000, clusters=clusters).p
    assert together[0, 1] == pytest.approx(alone)


def test_all_pairs_are_exact_where_that_is_feasible():
    scores = np.random.default_rng(4).random((8, 3))
    theirs = scipy_stats.permutation_test(
        (scores[:, 0] - scores[:, 1],), np.sum, permutation_type="samples", n_resamples=1000
    ).pvalue
    assert all_pairs_sign_flip(scores)[0, 1] == pytest.approx(theirs)


@pytest.mark.parametrize("interval", [percentile_interval, bca_interval])
def test_clusters_of_one_are_the_plain_bootstrap(interval):
    d = np.random.default_rng(2).exponential(1, 25)
    plain, clustered = interval(d), interval(d, clusters=np.arange(25))
    assert clustered.low == pytest.approx(plain.low)
    assert clustered.high == pytest.approx(plain.high)
    assert clustered.method == f"cluster {plain.method}"


def test_repeating_every_query_does_not_narrow_the_cluster_bootstrap():
    d = np.random.default_rng(2).exponential(1, 25)
    twice, clusters = np.repeat(d, 2), np.repeat(np.arange(25), 2)
    assert bca_interval(twice, clusters=clusters).low == pytest.approx(bca_interval(d).low)
    assert bca_interval(twice).low > bca_interval(d).low


def test_cluster_bootstrap_of_any_statistic():
    d = np.random.default_rng(2).exponential(1, 30)
    clusters = np.array([0] * 3 + [1] * 7 + [2] * 5 + [3] * 10 + [4] * 5)
    by_rows = bca_interval(d, lambda rows: rows.mean(axis=1), clusters=clusters, n_resamples=999)
    closed = bca_interval(d, clusters=clusters, n_resamples=999)
    assert (by_rows.low, by_rows.high) == (pytest.approx(closed.low), pytest.approx(closed.high))


def test_cluster_bootstrap_is_near_the_cluster_t_interval():
    rng = np.random.default_rng(7)
    d, clusters = np.repeat(rng.normal(0, 1, 200), 3) + rng.normal(0, 1, 600), np.repeat(np.arange(200), 3)
    t, bca = cluster_t_interval(d, clusters), bca_interval(d, clusters=clusters)
    assert bca.low == pytest.approx(t.low, abs=0.02)
    assert bca.high == pytest.approx(t.high, abs=0.02)


@pytest.mark.parametrize("interval", [cluster_t_interval, lambda d, c: bca_interval(d, clusters=c)])
def test_one_cluster_says_nothing(interval):
    with pytest.raises(OptionError, match="two clusters"):
        interval(np.array([0.1, 0.2, 0.3]), np.zeros(3))


def test_one_cluster_says_nothing_of_a_median_either():
    with pytest.raises(OptionError, match="two clusters"):
        bca_interval(np.array([0.1, 0.2]), lambda rows: np.median(rows, axis=1), clusters=np.zeros(2))


@pytest.mark.parametrize(
    ("m", "df", "wanted"),
    [(3, 10, 3.877), (5, 20, 4.232), (10, 60, 4.646), (2, 5, 3.635), (20, 120, 5.126), (4, 2, 9.798)],
)
def test_critical_ranges_of_the_usual_tables(m, df, wanted):
    assert critical_range(0.05, m, df) == pytest.approx(wanted, abs=1e-3)


@pytest.mark.filterwarnings("ignore")  # scipy's integration
@pytest.mark.parametrize(("m", "df"), [(2, 1), (3, 10), (5, 196), (30, 29 * 29)])
def test_studentized_range_equals_scipys(m, df):
    q = np.array([0.0, 0.3, 1.5, 3.0, 4.5, 7.0])
    np.testing.assert_allclose(exceedance(q, m, df), scipy_stats.studentized_range.sf(q, m, df), atol=1e-8)


def test_range_of_two_means_is_the_t_distribution():
    q = np.linspace(0.1, 60, 50)
    for df in (1, 4, 500):
        wanted = 2 * scipy_stats.t.sf(q / np.sqrt(2), df)
        np.testing.assert_allclose(exceedance(q, 2, df), wanted, rtol=1e-6, atol=1e-6)


def test_range_of_one_mean_is_refused():
    with pytest.raises(OptionError, match="no distribution"):
        exceedance(np.array([1.0]), 1, 10)


@pytest.mark.parametrize(
    "compare",
    [max_t, all_pairs_sign_flip, randomised_tukey, block_tukey, lambda s: permuted_ranges(s, n_resamples=9, seed=0)],
)
def test_matrices_without_numbers_are_refused(compare):
    with pytest.raises(OptionError, match="at least two queries"):
        compare(np.ones((1, 3)))
    with pytest.raises(OptionError, match="undefined"):
        compare(np.array([[0.1, np.nan], [0.2, 0.3]]))


def test_systems_that_differ_by_the_same_everywhere():
    scores = np.tile([0.25, 0.5, 0.5], (6, 1))
    np.testing.assert_array_equal(block_tukey(scores), [[1, 0, 0], [0, 1, 1], [0, 1, 1]])


def test_permuted_ranges_by_hand():
    # one of two systems scores 1 on both of two queries: permuted means are 0/1, 1/0 or .5/.5 twice
    ranges = permuted_ranges(np.array([[1.0, 0.0], [1.0, 0.0]]), n_resamples=4000, seed=1)
    assert set(np.unique(ranges)) == {0.0, 1.0}
    assert ranges.mean() == pytest.approx(0.5, abs=3 * 0.5 / np.sqrt(4000))


@pytest.mark.parametrize(
    ("values", "level", "message"),
    [([0.1], 0.95, "at least two queries"), ([0.1, np.nan], 0.95, "needs numbers"), ([0.1, 0.2], 1.0, "level")],
)
@pytest.mark.parametrize("interval", [t_interval, percentile_interval, bca_interval])
def test_intervals_of_too_little_are_refused(interval, values, level, message):
    with pytest.raises(OptionError, match=message):
        interval(np.array(values), level=level)


def test_interval_holds_what_lies_between_its_ends():
    found = t_interval(np.array([0.1, 0.3]))
    assert 0.2 in found
    assert 5.0 not in found
    with pytest.raises(OptionError, match="not a share"):
        wilson_interval(3, 2)


def test_equal_differences_can_be_found_however_small():
    assert minimal_detectable_effect(0.0, 20) == 0
