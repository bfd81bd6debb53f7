"""Comparisons: the numbers of one pair against scipy and hand calculation."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats as scipy_stats

from rankscope.comparison.groups import counted_bins
from rankscope.comparison.pairs import Contest, compare_contests, estimate_some
from rankscope.comparison.planning import plan
from rankscope.comparison.request import Settings
from rankscope.errors import OptionError
from rankscope.stats.paired import contrast_p, sign_flip_test
from rankscope.stats.units import Units

QUICK = Settings(n_resamples=999)


def contest(differences, *, b="B", role="primary", base=0.4, lower=False, group=""):
    d = np.asarray(differences, dtype=float)
    mask = ~np.isnan(d)
    return Contest(
        "A", b, "nDCG@10", role, np.full(len(d), base), base + d, np.ones_like(mask), lower_is_better=lower, group=group
    )


def compared(contests, settings=QUICK, *, clusters=None, weights=None, **options):
    units = Units.of(len(contests[0].mask), clusters, weights)
    return [each.result for each in compare_contests(contests, settings, units=units, systems=None, **options)]


def only(differences, settings=QUICK, *, clusters=None, weights=None, **options):
    return compared([contest(differences, **options)], settings, clusters=clusters, weights=weights)[0]


@pytest.fixture(scope="module")
def noisy():
    return np.random.default_rng(4).normal(0.03, 0.1, 60)


@pytest.mark.parametrize("n_systems", [2, 3])
def test_what_a_set_can_find_is_what_a_plan_says(noisy, n_systems):
    """Compared with scipy's noncentral t, and with `plan` on the same scores."""
    pairs = compared([contest(noisy[:15] * (1 + i), b=f"B{i}") for i in range(n_systems - 1)])
    for pair in pairs:
        spread = pair.standard_error * math.sqrt(15)
        planned = plan(sd=spread, detect=0.01, queries=15, systems=n_systems).decisive
        assert (pair.mde.value, pair.n_needed) == (pytest.approx(planned.mde), planned.queries_needed)

        def power(difference, n, spread=spread):
            critical = scipy_stats.t.ppf(1 - 0.05 / (n_systems - 1) / 2, n - 1)
            return scipy_stats.nct.sf(critical, n - 1, difference / spread * math.sqrt(n))

        assert power(pair.mde.value, 15) == pytest.approx(0.8, abs=1e-4)
        assert power(0.01, pair.n_needed - 1) < 0.8 <= power(0.01, pair.n_needed)


@pytest.mark.parametrize(("n_pairs", "in_full"), [(1, True), (2, True), (3, False), (4, False)])
def test_what_takes_long_is_left_out_where_there_are_many_pairs(noisy, n_pairs, in_full, monkeypatch):
    monkeypatch.setattr("rankscope.comparison.pairs.MANY_PAIRS", 2)
    pairs = compared([contest(noisy[:15] * (1 + i), b=f"B{i}") for i in range(n_pairs)])
    assert [(pair.bayes is not None, pair.ci_check.bca is not None) for pair in pairs] == [(in_full, in_full)] * n_pairs


def test_what_cannot_be_planned_is_left_open(noisy):
    assert only(noisy, Settings(n_resamples=999, margin=1e-9)).n_needed is None
    assert only(noisy, Settings(n_resamples=999, margin=0)).n_needed is None
    for alike in (np.zeros(40), np.full(40, 0.1)):  # no spread at all: that says nothing of other queries
        pair = only(alike, Settings(n_resamples=999, margin=0.01))
        assert (pair.mde.value, pair.n_needed, pair.bayes) == (None, None, None)


def test_a_pair_has_scipys_numbers(noisy):
    pair = only(noisy)
    theirs = scipy_stats.ttest_1samp(noisy, 0)
    ci = theirs.confidence_interval()
    assert (pair.ci_check.t.low, pair.ci_check.t.high) == (pytest.approx(ci.low), pytest.approx(ci.high))
    assert pair.p.alone_t == pytest.approx(theirs.pvalue)
    assert pair.p.adjusted == pair.p.alone_permutation == sign_flip_test(noisy, n_resamples=999).p
    assert pair.delta == pytest.approx(noisy.mean())
    assert (pair.mean.a, pair.mean.b) == (pytest.approx(0.4), pytest.approx(0.4 + noisy.mean()))
    assert pair.ci_check.bca is None  # 60 queries, hardly skewed
    assert pair.effect.d_z == pytest.approx(noisy.mean() / noisy.std(ddof=1))
    assert pair.standard_error == pytest.approx(noisy.std(ddof=1) / math.sqrt(60))
    assert (pair.ci.low, pair.ci.high) == (
        pytest.approx(pair.delta - pair.mde.critical * pair.standard_error),
        pytest.approx(pair.delta + pair.mde.critical * pair.standard_error),
    )


def test_few_or_skewed_queries_get_a_bootstrap_interval_in_the_record(noisy):
    assert only(noisy[:20]).ci_check.bca.method == "BCa bootstrap"
    assert only(np.where(np.arange(60) < 50, 0.01, -0.4)).ci_check.bca is not None


def test_several_challengers_share_one_critical_value(noisy):
    rng = np.random.default_rng(0)
    differences = [noisy + rng.normal(shift, 0.05, 60) for shift in (0.0, -0.02, -0.05)]
    pairs = compared([contest(d, b=f"B{i}") for i, d in enumerate(differences)])
    assert len({pair.mde.critical for pair in pairs}) == 1
    assert pairs[0].mde.critical > only(differences[0]).mde.critical
    assert all(pair.p.adjusted >= pair.p.alone_permutation for pair in pairs)
    assert {pair.p.family_size for pair in pairs} == {3}
    alone = compared([contest(d, b=f"B{i}") for i, d in enumerate(differences)], correction="none")
    assert [pair.p.adjusted for pair in alone] == [only(d).p.adjusted for d in differences]


def test_exploratory_contests_are_adjusted_among_themselves(noisy):
    pairs = compared([contest(noisy), *(contest(noisy - x, role="exploratory") for x in (0.01, 0.04))])
    assert pairs[0].p.family_size == 1
    theirs = scipy_stats.false_discovery_control([pair.p.alone_permutation for pair in pairs[1:]])
    assert [pair.p.adjusted for pair in pairs[1:]] == pytest.approx(theirs)


def test_undefined_scores_are_left_out_and_counted():
    d = np.array([0.1, 0.2] * 6 + [math.nan] * 3)
    pair = only(d)
    assert (pair.n_queries, pair.n_undefined, pair.n_members) == (12, 3, 15)
    assert pair.delta == pytest.approx(0.15)


def test_clusters_are_units_everywhere():
    d = np.repeat(np.random.default_rng(1).normal(0.05, 0.1, 12), 4)  # four copies of each are one piece of evidence
    pair = only(d, clusters=np.repeat(np.arange(12), 4))
    alone = only(d[::4])
    assert (pair.n_queries, pair.n_units) == (48, 12)
    for name in ("delta", "standard_error", "skew"):
        assert getattr(pair, name) == pytest.approx(getattr(alone, name)), name
    assert (pair.mde.critical, pair.mde.value) == (pytest.approx(alone.mde.critical), pytest.approx(alone.mde.value))
    assert (pair.ci.low, pair.ci_check.t.low) == (pytest.approx(alone.ci.low), pytest.approx(alone.ci_check.t.low))
    assert (pair.p.adjusted, pair.p.alone_t) == (pytest.approx(alone.p.adjusted), pytest.approx(alone.p.alone_t))
    assert pair.effect.d_z == pytest.approx(alone.effect.d_z)
    assert pair.bayes.better == pytest.approx(alone.bayes.better)
    assert pair.n_needed == alone.n_needed


def test_weights_repeat_queries_in_the_mean_but_not_in_the_evidence():
    d, w = np.array([0.2, -0.1, 0.4, 0.0] * 5), np.array([1.0, 2.0, 3.0, 1.0] * 5)
    pair = only(d, weights=w)
    assert pair.delta == pytest.approx((w * d).sum() / w.sum())
    assert pair.mean.b == pytest.approx(0.4 + pair.delta)
    assert pair.n_units == 20
    assert pair.n_effective == pytest.approx(w.sum() ** 2 / (w**2).sum())


def test_lower_is_better_turns_everything_but_the_difference(noisy):
    up, down = only(noisy), only(-noisy, lower=True)
    assert down.delta == -up.delta
    assert down.gain == up.gain
    assert (down.effect.wins, down.effect.losses) == (up.effect.wins, up.effect.losses)
    assert down.effect.superiority == up.effect.superiority
    assert down.effect.d_z == pytest.approx(up.effect.d_z)
    assert down.bayes.better == pytest.approx(up.bayes.better)
    assert (down.lowest_gain, -down.ci.low) == (pytest.approx(up.ci.low), pytest.approx(up.ci.high))


def test_rounding_wins_nothing():
    pair = only(np.full(20, 1e-17))
    assert (pair.effect.wins, pair.effect.ties) == (0, 20)
    assert pair.p.adjusted == 1


def test_one_query_says_nothing_and_does_not_stop(noisy):
    for correction in ("maxt", "bonferroni", "none"):
        pairs = compared([contest(noisy[:1]), contest(-noisy[:1], b="C")], correction=correction)
        assert [pair.p.adjusted for pair in pairs] == [1.0, 1.0]
        assert pairs[0].ci.low is None


def test_the_query_that_carries_most_is_known():
    d = np.append(np.random.default_rng(0).normal(0.1, 0.05, 29), 0.9)
    found = compare_contests([contest(d)], QUICK, units=Units.of(30), systems=None)[0]
    rest, alone = found.without_top_unit, only(d[:29])
    assert rest.unit == 29
    assert rest.delta == pytest.approx(d[:29].mean())
    assert rest.error == pytest.approx(d[:29].std(ddof=1) / math.sqrt(29))
    assert rest.is_exact
    assert rest.critical == pytest.approx(alone.mde.critical)  # made anew without it
    uncalled = compare_contests([contest(d - 0.1)], QUICK, units=Units.of(30), systems=None)[0]
    assert uncalled.without_top_unit is None  # what is not called rests on nothing


def test_all_pairs_of_systems_equal_pair_by_pair():
    scores = np.random.default_rng(3).random((30, 5))
    names = "ABCDE"
    mask = np.ones(30, dtype=bool)
    contests = [
        Contest(names[i], names[j], "AP", "primary", scores[:, i], scores[:, j], mask)
        for i, j in itertools.combinations(range(5), 2)
    ]
    quick = compare_contests(contests, QUICK, units=Units.of(30), systems=scores)
    slow = compare_contests(contests, QUICK, units=Units.of(30), systems=None)
    assert [each.result.p.adjusted for each in quick] == [each.result.p.adjusted for each in slow]
    assert [each.result.ci.low for each in quick] == pytest.approx([each.result.ci.low for each in slow])


def test_a_measure_of_the_whole_set_is_shown_and_not_tested(noisy):
    whole = Contest(
        "A", "B", "Gini", "exploratory", np.full(60, 0.2), np.full(60, 0.3), np.ones(60, dtype=bool), can_test=False
    )
    pair = compared([contest(noisy), whole])[1]
    assert (pair.mean.a, pair.mean.b) == (pytest.approx(0.2), pytest.approx(0.3))
    assert pair.p.adjusted is None
    assert pair.ci.low is None


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"alpha": 0}, "alpha"),
        ({"alpha": 0.5}, "alpha"),
        ({"margin": -1}, "negative"),
        ({"margin": math.nan}, "not a number"),
        ({"n_resamples": 5}, "too few"),
        ({"n_resamples": 500, "alpha": 0.001}, "too few for alpha"),
        ({"power": 1.5}, "power"),
        ({"seed": -1}, "seed"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, message):
    with pytest.raises(OptionError, match=message):
        Settings(**settings)


def test_a_slice_is_tested_against_the_rest_as_scipy_does(noisy):
    members = np.arange(60) < 20
    shifted = noisy + np.where(members, 0.2, 0)
    theirs = scipy_stats.ttest_ind(shifted[members], shifted[~members], equal_var=False).pvalue
    assert contrast_p(shifted, members, Units.of(60)) == pytest.approx(theirs)
    assert math.isnan(contrast_p(noisy[:3], np.array([True, False, False]), Units.of(3)))


@pytest.mark.parametrize(("n_inside", "n_outside"), [(8, 12), (6, 6), (2, 5)])
def test_a_slice_that_differs_and_never_varies_is_tested_exactly(n_inside, n_outside):
    members = np.arange(n_inside + n_outside) < n_inside
    exact = scipy_stats.fisher_exact([[n_inside, 0], [0, n_outside]]).pvalue
    units = Units.of(len(members))
    assert contrast_p(np.where(members, 0.3, 0.1), members, units) == pytest.approx(exact)
    assert math.isnan(contrast_p(np.full(len(members), 0.1), members, units))


def test_a_slice_of_clusters_counts_clusters(noisy):
    members = np.arange(60) < 20
    copies, inside = np.repeat(noisy, 5), np.repeat(members, 5)
    clustered = contrast_p(copies, inside, Units.of(300, np.repeat(np.arange(60), 5)))
    assert clustered == pytest.approx(contrast_p(noisy, members, Units.of(60)), abs=0.02)
    assert contrast_p(copies, inside, Units.of(300)) < clustered - 0.1


def test_skewness_is_scipys(noisy):
    assert estimate_some(noisy[:, None], Units.of(60)).skew[0] == pytest.approx(scipy_stats.skew(noisy))


def test_counts_are_put_into_ranges():
    assert counted_bins(np.array([0, 1, 2, 4, 5, 19, 20, 99]), (2, 5, 20)) == [
        "0", "1", "2-4", "2-4", "5-19", "5-19", "20+", "20+",
    ]  # fmt: skip
