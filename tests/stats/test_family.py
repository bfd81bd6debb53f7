"""Families of comparisons: p-values and critical values against plain calculations, and the promises between them."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from rankscope.stats.family import bonferroni_tests, joint_test, rank_of_critical, separate_tests
from rankscope.stats.units import Units, paired_differences

OPTIONS = {"alpha": 0.05, "n_resamples": 999, "seed": 0}


def plain(columns):
    columns = np.asarray(columns, dtype=float)
    return Units.of(len(columns)).sums(columns)


def t_by_hand(columns):
    """Return |t| of each column, as scipy's one-sample test has it; 0 where nothing differs."""
    with np.errstate(all="ignore"):
        t = np.abs(scipy_stats.ttest_1samp(columns, 0).statistic)
    return np.where(np.abs(columns).sum(axis=0) == 0, 0.0, np.where(np.isnan(t), math.inf, t))


def exact_by_hand(columns):
    """Return p-values, and all maxima but the unflipped one, by trying every pattern of signs."""
    n = len(columns)
    observed = t_by_hand(columns)
    maxima = np.array(
        [t_by_hand(columns * np.array(signs)[:, None]).max() for signs in itertools.product((1, -1), repeat=n)]
    )
    p = [(maxima >= t * (1 - 1e-9)).mean() for t in observed]
    return np.array(p), np.sort(maxima[1:])


def small_matrix(draw):
    n, k = draw(st.integers(3, 7)), draw(st.integers(1, 3))
    cells = st.lists(st.lists(st.integers(-20, 20), min_size=k, max_size=k), min_size=n, max_size=n)
    return np.array(draw(cells), dtype=float) / 20


@pytest.mark.filterwarnings("ignore")  # scipy warns where all values are equal
@given(st.composite(small_matrix)())
@settings(max_examples=60, deadline=None)
def test_few_units_are_flipped_in_every_way(columns):
    found = joint_test(plain(columns), **OPTIONS)
    p, maxima = exact_by_hand(columns)
    moves = np.abs(columns).sum(axis=0) > 0
    assert found.is_exact
    assert found.n_resamples == 2 ** len(columns) - 1
    assert found.p == pytest.approx(np.where(moves, p, 1.0))
    rank = math.ceil(round(2 ** len(columns) * 0.95, 9))
    wanted = maxima[rank - 1] if rank <= len(maxima) and np.isfinite(maxima[rank - 1]) else math.nan
    assert found.critical[0] == pytest.approx(wanted, rel=1e-6, nan_ok=True)


@pytest.mark.filterwarnings("ignore")
@given(st.composite(small_matrix)())
@settings(max_examples=60, deadline=None)
def test_columns_alone_are_families_of_one(columns):
    found = separate_tests(plain(columns), **OPTIONS)
    for i in range(columns.shape[1]):
        alone = joint_test(plain(columns[:, [i]]), **OPTIONS)
        assert found.p[i] == alone.p[0]


def test_random_flips_come_near_all_flips():
    columns = np.random.default_rng(2).normal(0.04, 0.1, (16, 3))
    exact = joint_test(plain(columns), alpha=0.05, n_resamples=2**16 - 1, seed=0)
    drawn = joint_test(plain(columns), alpha=0.05, n_resamples=9_999, seed=0)
    assert exact.is_exact
    assert not drawn.is_exact
    assert drawn.p == pytest.approx(exact.p, abs=0.01)
    assert drawn.critical[0] == pytest.approx(exact.critical[0], rel=0.02)


@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.1, 0.2])
@pytest.mark.parametrize("n", [8, 12, 30])
def test_p_is_at_most_alpha_exactly_where_the_interval_excludes_zero(alpha, n):
    rng = np.random.default_rng(n)
    for scale in (0.0, 0.03, 0.08):
        columns = np.round(rng.normal(scale, 0.1, (n, 40)), 1)  # coarse, so that many flips tie
        found = joint_test(plain(columns), alpha=alpha, n_resamples=999, seed=1)
        moments = plain(columns).moments()
        excludes = np.abs(moments.delta) > found.critical * moments.error
        assert ((found.p <= alpha) == excludes).all()
        alone = separate_tests(plain(columns), alpha=alpha, n_resamples=999, seed=1)
        assert ((alone.p <= alpha) == (np.abs(moments.delta) > alone.critical * moments.error)).all()


def test_the_rank_of_the_critical_flip():
    # ceil((B + 1)(1 - alpha)): 9,500 of 9,999; of 31 flips 31 at 5 %, and none at 1 %
    assert rank_of_critical(9_999, 0.05) == 9_500
    assert rank_of_critical(31, 0.05) == 31
    assert rank_of_critical(31, 0.01) == 32
    assert math.isnan(joint_test(plain(np.ones((5, 1)) + np.eye(5, 1)), alpha=0.01, n_resamples=99, seed=0).critical[0])


def test_copies_of_a_system_change_nothing():
    """What has nothing to do with a pair must not decide it: here eighteen copies of one of the two systems."""
    rng = np.random.default_rng(4)
    a, b = rng.beta(0.6, 0.9, (2, 40))
    pair = joint_test(plain((b - a)[:, None]), **OPTIONS)
    systems = [a, *[b] * 18]
    pairs = plain(np.column_stack([second - first for first, second in itertools.combinations(systems, 2)]))
    many = joint_test(plain(np.column_stack(systems)), pairs=pairs.moments(), **OPTIONS)
    assert many.p[0] == pair.p[0]
    assert many.critical[0] == pytest.approx(pair.critical[0])
    assert many.size == 18  # copies never differ from one another, so these pairs take no part


def test_all_pairs_from_systems_equal_all_pairs_from_differences():
    rng = np.random.default_rng(4)
    scores, clusters, weights = rng.random((40, 6)), np.arange(40) // 3, rng.random(40) + 0.1
    pairs = np.column_stack([scores[:, j] - scores[:, i] for i, j in itertools.combinations(range(6), 2)])
    for units in (Units.of(40), Units.of(40, clusters), Units.of(40, clusters, weights), Units.of(40, None, weights)):
        quick = joint_test(units.sums(scores), pairs=units.sums(pairs).moments(), **OPTIONS)
        slow = joint_test(units.sums(pairs), **OPTIONS)
        assert quick.p == pytest.approx(slow.p)
        assert quick.p_alone == pytest.approx(slow.p_alone)
        assert quick.critical == pytest.approx(slow.critical)


def test_clusters_have_the_errors_of_the_formula():
    rng = np.random.default_rng(1)
    d, clusters = rng.normal(0.1, 1, 23), np.sort(rng.integers(0, 6, 23))
    mean = d.mean()
    sums = np.array([(d[clusters == c] - mean).sum() for c in range(6)])
    wanted = math.sqrt(6 / 5 * (sums**2).sum()) / 23  # C/(C-1) Σ (u_c - n_c Δ)² / N²
    moments = Units.of(23, clusters).sums(d[:, None]).moments()
    assert moments.delta[0] == pytest.approx(mean)
    assert moments.error[0] == pytest.approx(wanted)
    assert moments.n_units[0] == 6


def test_weights_have_the_errors_of_the_formula():
    d, w = np.array([0.2, -0.1, 0.4]), np.array([1.0, 2.0, 5.0])
    mean = (0.2 - 0.2 + 2.0) / 8
    residuals = w * d - w * mean
    moments = Units.of(3, None, w).sums(d[:, None]).moments()
    assert moments.delta[0] == pytest.approx(mean)
    assert moments.error[0] == pytest.approx(math.sqrt(3 / 2 * (residuals**2).sum()) / 8)
    assert Units.of(3, None, w).effective(np.ones(3, dtype=bool)) == pytest.approx(64 / 30)


def test_equal_weights_are_no_weights_and_units_appear_in_order():
    d = np.random.default_rng(3).normal(0.1, 1, (20, 2))
    weighted = joint_test(Units.of(20, None, np.full(20, 7.0)).sums(d), **OPTIONS)
    assert weighted.p == pytest.approx(joint_test(plain(d), **OPTIONS).p)
    assert Units.of(4, np.array(["b", "a", "b", "c"])).member.tolist() == [0, 1, 0, 2]


def test_bonferroni_is_students_t_times_the_number_of_pairs():
    columns = np.random.default_rng(5).normal(0.03, 0.1, (25, 4))
    found = bonferroni_tests(plain(columns), **OPTIONS)
    assert found.p == pytest.approx(np.minimum(1, 4 * scipy_stats.ttest_1samp(columns, 0).pvalue))
    assert found.critical == pytest.approx([scipy_stats.t.isf(0.05 / 8, 24)] * 4)


def test_bonferroni_of_two_units_is_t_with_one_degree_of_freedom_and_of_one_unit_says_nothing():
    two = np.array([[0.1, 0.4], [0.2, 0.1]])
    found = bonferroni_tests(plain(two), **OPTIONS)
    assert found.p == pytest.approx(np.minimum(1, 2 * scipy_stats.ttest_1samp(two, 0).pvalue))
    assert found.critical == pytest.approx([scipy_stats.t.isf(0.05 / 4, 1)] * 2)
    assert np.isnan(bonferroni_tests(plain(two[:1]), **OPTIONS).critical).all()


def test_differences_that_only_rounding_makes_are_none():
    a = np.array([0.1 + 0.2, 1e9, 0.5])
    b = np.array([0.3, 1e9 + 1e-4, 0.5 + 1e-9])
    assert (paired_differences(a, b) != 0).tolist() == [False, False, True]


def test_one_unit_or_none_says_nothing():
    for columns in (np.ones((1, 2)), np.empty((0, 2))):
        found = joint_test(plain(columns), **OPTIONS)
        assert found.p.tolist() == [1.0, 1.0]
        assert np.isnan(found.critical).all()


@pytest.mark.parametrize("test", [joint_test, separate_tests, bonferroni_tests])
@pytest.mark.parametrize("n", [8, 40])  # all flips, and a sample of them
def test_intervals_for_equivalence_are_those_of_twice_the_level(test, n):
    differences = np.random.default_rng(n).normal(0.02, 0.1, (n, 3))
    units = Units.of(n).sums(differences)
    at_5, at_10 = (test(units, alpha=alpha, n_resamples=2_000, seed=1) for alpha in (0.05, 0.10))
    assert at_5.critical_equivalence == pytest.approx(at_10.critical)
    assert (at_5.critical_equivalence < at_5.critical).all()


@pytest.mark.parametrize("times", [1, 9])  # all flips are tried, or some
def test_differences_that_add_up_to_nothing_but_for_rounding_are_none(times):
    d = np.tile([0.02, 0.02, -0.01, 0.0, -0.01, -0.02], times)
    assert d.sum() != 0
    for test in (joint_test, separate_tests, bonferroni_tests):
        found = test(plain(d[:, None]), **OPTIONS)
        assert [*found.p, *found.p_alone] == pytest.approx([1.0] * 2)
    systems = plain(np.column_stack([np.full(len(d), 0.3), 0.3 + d, 0.3 - d]))
    pairs = plain(np.column_stack([d, -d, -2 * d])).moments()
    together = joint_test(systems, pairs, **OPTIONS)
    assert [*together.p, *together.p_alone] == pytest.approx([1.0] * 6)
