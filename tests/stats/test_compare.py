"""Comparisons: the numbers against scipy and hand calculation, the verdicts against the published table of rules."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats as scipy_stats

from rankscope.errors import OptionError
from rankscope.stats.compare import Contest, Settings, compare_contests, queries_for, tukey
from rankscope.stats.flips import refined, sign_flip_columns
from rankscope.stats.paired import sign_flip_test
from rankscope.stats.slices import contrast_p, counted_bins
from rankscope.stats.verdict import Bounds, decide, verdict_of

QUICK = Settings(n_resamples=999)


def contest(differences, *, b="B", role="primary", base=0.4, lower=False, group=""):
    d = np.asarray(differences, dtype=float)
    return Contest("A", b, "nDCG@10", role, np.full(len(d), base), base + d, len(d), lower_is_better=lower, group=group)


def only(differences, settings=QUICK, **options):
    return compare_contests([contest(differences, **options)], settings)[0]


@pytest.fixture(scope="module")
def noisy():
    return np.random.default_rng(4).normal(0.03, 0.1, 60)


def test_columns_are_tested_as_each_would_be_alone(noisy):
    short = np.where(np.arange(60) < 8, noisy, math.nan)
    together = sign_flip_columns(np.column_stack([noisy, short, -noisy]), n_resamples=4095, seed=3)
    assert together[0].p == sign_flip_test(noisy, n_resamples=4095, seed=3).p == together[2].p
    assert together[1].method == "exact sign-flip permutation"
    assert together[1].p == sign_flip_test(noisy[:8]).p


def test_a_p_value_near_alpha_is_drawn_again_with_more_flips(noisy):
    columns = np.column_stack([noisy, noisy * 0 + 0.1])
    tests = sign_flip_columns(columns, n_resamples=99)
    again = refined(tests, columns, alpha=tests[0].p)
    assert again[0].n_resamples == 99_999
    assert again[1] == tests[1]


def test_a_pair_has_scipys_numbers(noisy):
    pair = only(noisy)
    theirs = scipy_stats.ttest_1samp(noisy, 0)
    ci = theirs.confidence_interval()
    assert (pair.ci.low, pair.ci.high) == (pytest.approx(ci.low), pytest.approx(ci.high))
    assert pair.ci_simultaneous.low == pytest.approx(ci.low)
    assert pair.p.t == pytest.approx(theirs.pvalue)
    assert pair.p.adjusted == pair.p.permutation == sign_flip_test(noisy, n_resamples=pair.p.n_resamples).p
    assert pair.delta == pytest.approx(noisy.mean())
    assert (pair.mean_a, pair.mean_b) == (pytest.approx(0.4), pytest.approx(0.4 + noisy.mean()))
    assert pair.ci_check is None  # 60 queries, hardly skewed
    assert pair.effect.d_z == pytest.approx(noisy.mean() / noisy.std(ddof=1))


def test_few_or_skewed_queries_get_a_second_interval(noisy):
    assert only(noisy[:20]).ci_check.method == "BCa bootstrap"
    assert only(np.where(np.arange(60) < 50, 0.01, -0.4)).ci_check is not None


def test_several_challengers_are_adjusted_by_holm_and_bonferroni_intervals(noisy):
    shifts = (0.0, 0.02, 0.05)
    pairs = compare_contests([contest(noisy - shift, b=f"B{shift}") for shift in shifts], QUICK)
    p = [pair.p.permutation for pair in pairs]
    order = np.argsort(p)
    stepped = np.maximum.accumulate([p[i] * (3 - place) for place, i in enumerate(order)])
    assert [pairs[i].p.adjusted for i in order] == pytest.approx(np.minimum(stepped, 1))
    wide = scipy_stats.ttest_1samp(noisy, 0).confidence_interval(1 - 0.05 / 3)
    assert pairs[0].ci_simultaneous.low == pytest.approx(wide.low)
    assert pairs[0].ci_simultaneous.level == pytest.approx(0.95)
    assert pairs[0].mde_alpha == pytest.approx(0.05 / 3)


def test_exploratory_contests_are_a_family_of_their_own(noisy):
    pairs = compare_contests([contest(noisy), *(contest(noisy - x, role="exploratory") for x in (0.01, 0.04))], QUICK)
    assert pairs[0].p.family_size == 1
    theirs = scipy_stats.false_discovery_control([pair.p.permutation for pair in pairs[1:]])
    assert [pair.p.adjusted for pair in pairs[1:]] == pytest.approx(theirs)


def matrix_contests(matrix):
    names = [f"s{i}" for i in range(matrix.shape[1])]
    for i, j in itertools.combinations(range(len(names)), 2):
        yield Contest(names[i], names[j], "AP", "primary", matrix[:, i], matrix[:, j], len(matrix))


def test_tukeys_words_and_p_values_agree():
    rng = np.random.default_rng(2)
    matrix = rng.uniform(0, 1, (40, 1)) * 0.6 + rng.normal(0, 0.08, (40, 4)) + [0, 0.02, 0.06, 0.09]
    pairs = compare_contests(list(matrix_contests(matrix)), QUICK, correction="tukey")
    for pair in pairs:
        outside = pair.ci_simultaneous.low > 0 or pair.ci_simultaneous.high < 0
        assert outside == (pair.p.adjusted <= 0.05)
    assert any(pair.p.adjusted <= 0.05 for pair in pairs)
    assert any(pair.p.adjusted > 0.05 for pair in pairs)


def test_block_tukey_takes_over_for_many_scores_and_agrees():
    rng = np.random.default_rng(2)
    small = rng.normal(0, 0.1, (400, 3)) + np.array([0, 0.01, 0.03])
    p_random, half_random = tukey(small, Settings(n_resamples=4_999))
    p_block, half_block = tukey(np.tile(small, (20, 1)), QUICK)
    assert p_block.shape == p_random.shape
    # the same scores twenty times over have intervals that are narrower by the root of twenty
    assert half_block == pytest.approx(half_random / math.sqrt(20), rel=0.06)


def test_the_leaderboard_of_two_says_what_their_paired_test_says(noisy):
    p, half = tukey(np.column_stack([np.full(60, 0.4), 0.4 + noisy]), QUICK)
    assert p[0, 1] == p[1, 0] == sign_flip_test(noisy, n_resamples=999).p
    assert half == pytest.approx(1.96 * noisy.std() / math.sqrt(60), rel=0.15)


def test_undefined_scores_are_left_out_and_counted():
    d = np.array([0.1] * 12 + [math.nan] * 3)
    pair = only(d)
    assert (pair.n_queries, pair.n_undefined) == (12, 3)
    assert pair.delta == pytest.approx(0.1)


def test_clusters_widen_the_interval_as_by_hand():
    d = np.repeat(np.random.default_rng(1).normal(0.05, 0.1, 12), 4)  # four copies of each are one piece of evidence
    pair = compare_contests([contest(d)], QUICK, clusters=np.repeat(np.arange(12), 4))[0]
    alone = scipy_stats.ttest_1samp(d[::4], 0).confidence_interval()
    assert (pair.ci.low, pair.ci.high) == (pytest.approx(alone.low), pytest.approx(alone.high))
    assert pair.p.permutation == sign_flip_test(d[::4], n_resamples=999).p


def test_queries_needed_follow_the_normal_formula():
    assert queries_for(0.02, 0.15, 0.05, 0.8) == math.ceil(((1.959964 + 0.841621) * 0.15 / 0.02) ** 2)
    assert queries_for(0.02, math.nan, 0.05, 0.8) is None


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"alpha": 0}, "alpha"), ({"margin": -1}, "negative"), ({"n_resamples": 5}, "too few"), ({"power": 1.5}, "power")],
)
def test_settings_that_make_no_sense_are_refused(settings, message):
    with pytest.raises(OptionError, match=message):
        Settings(**settings)


# The table of verdicts: differences made so that the interval lies where the rule wants it.
STEADY = np.random.default_rng(0).normal(0, 0.01, 100)
STEADY -= STEADY.mean()  # its 95 % interval is +- 0.002


@pytest.mark.parametrize(
    ("shift", "code", "words"),
    [
        (0.05, "better", "B is better."),
        (0.011, "probably_better", "probably better, but the gain may be too small"),
        (-0.05, "worse", "B is worse."),
        (-0.011, "probably_worse", "probably worse"),
        (0.0, "same", "Practically the same (difference below 0.01)."),
    ],
)
def test_the_verdict_follows_the_interval_and_the_margin(shift, code, words):
    verdict = verdict_of(only(STEADY + shift))
    assert verdict.code == code
    assert words in verdict.text
    flipped = verdict_of(only(-(STEADY + shift), lower=True))
    assert flipped.code == code


def test_too_wide_an_interval_cannot_tell_and_says_what_could():
    verdict = verdict_of(only(STEADY * 30 + 0.01))
    assert verdict.code == "cannot_tell"
    assert "This set can only find differences above" in verdict.reason
    assert "you would need about" in verdict.reason
    assert "no difference" not in verdict.text + verdict.reason


def test_few_queries_get_no_verdict_and_some_a_caution():
    assert verdict_of(only(STEADY[:9] + 0.5)).text == "Too few queries to call (n=9)."
    assert any("Only 12 queries" in caution for caution in verdict_of(only(STEADY[:12] + 0.5)).cautions)
    assert not verdict_of(only(STEADY + 0.5)).cautions


def test_identical_scores_are_not_called_a_difference():
    pair = only(np.zeros(30))
    assert verdict_of(pair, identical=True).text == "The rankings are identical."
    assert verdict_of(pair).text == "Both have the same nDCG@10 for every single query."
    assert pair.p.adjusted == 1


def bounds(low, high, *, judged_a=0.9, judged_b=0.85):
    return Bounds(judged_a, judged_b, low, high, useless=0.05, perfect=high)


def test_unjudged_docs_forbid_a_verdict_they_could_turn():
    clear, unclear = only(STEADY + 0.05), only(STEADY * 30 + 0.01)
    assert decide(clear, bounds(-0.1, 0.2)) == "not_safe"
    assert decide(clear, bounds(0.01, 0.2)) == "better"
    assert decide(unclear, bounds(-0.1, 0.2)) == "cannot_tell"
    assert decide(unclear, bounds(-0.1, 0.2, judged_b=0.7)) == "not_safe"  # 20 points less is judged
    words = verdict_of(clear, bounds(-0.1, 0.2))
    assert words.text == "Not safe to call: too many unjudged results."
    assert "-0.100 to +0.200" in words.reason
    assert "The direction does not depend on it." in verdict_of(clear, bounds(0.01, 0.2)).cautions[0]


def test_the_weaker_statement_wins_where_interval_and_p_value_differ():
    pair = only(STEADY + 0.05)
    doubtful = type(pair.p)(0.001, 0.001, 0.2, "m", "holm", 4, 999)
    fields = {name: getattr(pair, name) for name in pair.__slots__}
    assert decide(type(pair)(**{**fields, "p": doubtful}), None) == "cannot_tell"


def test_a_slice_is_tested_against_the_rest_as_scipy_does(noisy):
    members = np.arange(60) < 20
    shifted = noisy + np.where(members, 0.2, 0)
    theirs = scipy_stats.ttest_ind(shifted[members], shifted[~members], equal_var=False).pvalue
    assert contrast_p(shifted, members) == pytest.approx(theirs)
    assert math.isnan(contrast_p(noisy[:3], np.array([True, False, False])))


def test_counts_are_put_into_ranges():
    assert counted_bins(np.array([0, 1, 2, 4, 5, 19, 20, 99]), (2, 5, 20)) == [
        "0", "1", "2-4", "2-4", "5-19", "5-19", "20+", "20+",
    ]  # fmt: skip
