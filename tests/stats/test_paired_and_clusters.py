"""Paired tests at their edges, and clusters."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from rankscope.errors import OptionError
from rankscope.stats.interval import (
    bca_interval,
    cluster_t_interval,
    percentile_interval,
    t_interval,
    wilson_interval,
)
from rankscope.stats.paired import (
    bootstrap_shift_test,
    mcnemar_test,
    sign_flip_test,
    sign_test,
    wilcoxon_test,
)
from rankscope.stats.power import minimal_detectable_effect
from rankscope.stats.units import Units, members_of, sums_by_member


def units(d, clusters=None):
    """Return differences as units of evidence."""
    return Units.of(len(d), clusters).sums(np.asarray(d, dtype=float)[:, None])


def test_no_queries_and_undefined_scores_are_refused():
    with pytest.raises(OptionError, match="at least one query"):
        sign_flip_test(np.array([]))
    with pytest.raises(OptionError, match="needs numbers"):
        sign_flip_test(np.array([0.1, np.nan]))


@pytest.mark.parametrize("test", [bootstrap_shift_test, wilcoxon_test, sign_test, mcnemar_test])
def test_identical_systems_have_p_1(test):
    assert test(units(np.zeros(20))).p == 1
    assert sign_flip_test(np.zeros(20)).p == 1


def test_tests_on_request_count_clusters_as_one():
    rng = np.random.default_rng(5)
    sums, clusters = rng.normal(0.1, 0.3, 15), np.repeat(np.arange(15), 3)
    d = np.repeat(sums / 3, 3)
    assert wilcoxon_test(units(d, clusters)).p == pytest.approx(scipy_stats.wilcoxon(sums).pvalue)
    wins = int((sums > 0).sum())
    assert sign_test(units(d, clusters)).p == pytest.approx(scipy_stats.binomtest(wins, 15).pvalue)
    by_cluster = bootstrap_shift_test(units(d, clusters), seed=3)
    assert by_cluster.p == bootstrap_shift_test(units(sums / 3), seed=3).p
    with pytest.raises(OptionError, match="clusters or weights"):
        mcnemar_test(units(d, clusters))


@given(st.lists(st.integers(-3, 3).map(float), min_size=1, max_size=30).map(np.array))
@settings(max_examples=150, deadline=None)
def test_sign_test_equals_scipys(d):
    wins, losses = int((d > 0).sum()), int((d < 0).sum())
    wanted = scipy_stats.binomtest(wins, wins + losses).pvalue if wins + losses else 1.0
    assert sign_test(units(d)).p == pytest.approx(wanted)


@given(st.integers(1, 300), st.integers(0, 300))
@settings(max_examples=50, deadline=None)
def test_ties_change_nothing_but_the_number_of_queries(n, ties):
    d = np.random.default_rng(n).choice([-0.2, -0.1, 0.1, 0.3], n)
    exact = sign_flip_test(d, n_resamples=4095)
    if exact.n_resamples is None:
        found = sign_flip_test(np.concatenate([d, np.zeros(ties)]), n_resamples=4095).p
        assert found == pytest.approx(exact.p, abs=5 * np.sqrt(exact.p * (1 - exact.p) / 4095) + 1 / 4096)


def test_bootstrap_shift_is_near_its_definition():
    d = np.random.default_rng(2).normal(0.03, 0.1, 30)
    rng = np.random.default_rng(99)
    means = rng.choice(d - d.mean(), (99_999, 30)).mean(axis=1)
    wanted = (1 + (np.abs(means) >= abs(d.mean())).sum()) / 100_000
    found = bootstrap_shift_test(units(d), n_resamples=99_999)
    assert found.p == pytest.approx(wanted, abs=5 * np.sqrt(2 * wanted / 99_999))
    assert found.caveat.startswith("anti-conservative for few queries")


@pytest.mark.parametrize("factor", [2.0**-20, 2.0**20])
def test_bootstrap_shift_does_not_depend_on_what_weights_are_counted_in(factor):
    rng = np.random.default_rng(3)
    d, weights = rng.normal(0.03, 0.1, (30, 1)), rng.integers(1, 9, 30).astype(float)
    first, other = (bootstrap_shift_test(Units.of(30, weights=w).sums(d)) for w in (weights, factor * weights))
    assert other.p == first.p
    assert 0.001 < first.p < 0.999


def test_cluster_sums():
    values = np.array([[1.0, 10.0], [2.0, 20.0], [4.0, 40.0]])
    np.testing.assert_array_equal(
        sums_by_member(values, members_of(np.array(["b", "a", "b"]), 3)), [[2.0, 20.0], [5.0, 50.0]]
    )
    with pytest.raises(OptionError, match="2 cluster labels for 3 queries"):
        members_of(np.array([1, 2]), 3)


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
