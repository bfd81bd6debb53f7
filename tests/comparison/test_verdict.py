"""Verdicts: the published table of rules, their words, and that the words never contradict the numbers."""

import math

import numpy as np
import pytest

from rankscope.comparison.pairs import Contest, compare_contests
from rankscope.comparison.records import Bounds, DifferenceInterval, JudgedShares, UnjudgedCheck
from rankscope.comparison.request import Settings
from rankscope.comparison.verdict import VerdictContext, decide, decimals, interval_words, verdict_of
from rankscope.records import replace
from rankscope.stats.units import Units


def run_contest(differences, *, lower=False, margin=0.01, alpha=0.05, clusters=None, n_resamples=999):
    d = np.asarray(differences, dtype=float)
    contest = Contest(
        "A", "B", "nDCG@10", "primary", np.full(len(d), 0.4), 0.4 + d, np.ones(len(d), dtype=bool),
        lower_is_better=lower,
    )  # fmt: skip
    settings = Settings(margin=margin, alpha=alpha, n_resamples=n_resamples)
    return compare_contests([contest], settings, units=Units.of(len(d), clusters), systems=None)[0]


def pair_of(differences, **options):
    return run_contest(differences, **options).result


def verdict(differences, known=None, unjudged=None, bounds=None, **options):
    found = run_contest(differences, **options)
    known = replace(known or VerdictContext(), without_top_unit=found.without_top_unit)
    judged = JUDGED if unjudged else None
    return verdict_of(replace(found.result, unjudged=unjudged, judged=judged, bounds=bounds), known)


# differences made so that the interval lies where the rule wants it
STEADY = np.random.default_rng(0).normal(0, 0.01, 100)
STEADY -= STEADY.mean()  # its 95 % interval is +- 0.002


@pytest.mark.parametrize(
    ("shift", "code", "words"),
    [
        (0.05, "better", "B is better."),
        (0.011, "probably_better", "B is probably better, but the gain may be too small to matter."),
        (-0.05, "worse", "B is worse."),
        (-0.011, "probably_worse", "B is probably worse, but the loss may be too small to matter."),
        (0.0, "same", "Practically the same (difference below 0.01)."),
    ],
)
def test_the_verdict_follows_the_interval_and_the_margin(shift, code, words):
    found = verdict(STEADY + shift)
    assert (found.code, found.text) == (code, words)
    assert verdict(-(STEADY + shift), lower=True).code == code
    assert found.because == ("margin" if "probably" in code else None)


@pytest.mark.parametrize(("shift", "side"), [(0.05, "higher"), (-0.05, "lower")])
def test_the_reason_says_on_which_side_it_is(shift, side):
    assert verdict(STEADY + shift).reason.startswith(f"Its nDCG@10 is {side} by 0.0500 (95% CI ")
    assert verdict(STEADY + shift / 10).reason.startswith(f"Its nDCG@10 is measurably {side} by 0.0050 (95% CI ")


def test_too_few_queries_have_no_interval():
    assert interval_words(pair_of(STEADY[:4] + 0.05)) == "no interval: too few queries"


def test_a_gain_within_the_margin_is_the_same_however_certain():
    found = verdict(STEADY + 0.005)
    assert found.code == "same"
    assert "measurably higher" in found.reason
    assert "but by less than the margin of 0.01" in found.reason


def test_without_a_margin_any_difference_counts_and_none_is_the_same():
    assert verdict(STEADY + 0.005, margin=0).code == "better"
    assert verdict(STEADY - 0.005, margin=0).code == "worse"
    assert verdict(STEADY, margin=0).code == "cannot_tell"
    assert "No margin is given" in verdict(STEADY + 0.005, margin=0).reason


def test_words_name_the_level_and_whose_margin_it_is():
    reason = verdict(STEADY + 0.05, alpha=0.01).reason
    assert "(99% CI +" in reason
    assert "more than the margin of 0.01." in reason
    assert "your margin of 0.01" in verdict(STEADY + 0.05, VerdictContext(margin_given=True)).reason
    assert "the 98% interval is" in verdict(STEADY, alpha=0.01).reason


def test_too_wide_an_interval_cannot_tell_and_says_what_could():
    found = verdict(STEADY * 30 + 0.01)
    assert found.code == "cannot_tell"
    assert "This set can only find differences above" in found.reason
    assert "you would need about" in found.reason
    assert "no difference" not in found.text + found.reason


def test_few_units_get_no_verdict_and_some_a_caution():
    few = verdict(STEADY[:9] + 0.5)
    assert few.text == "Too few queries to call (n=9)."
    assert "higher by 0.50" in few.reason
    assert any("Only 12 queries" in caution for caution in verdict(STEADY[:12] + 0.5).cautions)
    assert not verdict(STEADY + 0.5).cautions
    clustered = verdict(STEADY + 0.5, clusters=np.arange(100) // 12)
    assert clustered.text == "Too few clusters to call (n=9)."


def test_scores_that_never_differ_are_not_called_a_difference():
    pair = pair_of(np.zeros(30))
    assert verdict_of(pair, VerdictContext(identical=True)).text == "The rankings are identical."
    same = verdict_of(pair, VerdictContext())
    assert (same.code, same.text) == ("same", "No query's score differs.")


def test_what_cannot_be_compared_is_said_first():
    found = verdict(STEADY + 0.05, VerdictContext(problem="the ids of B match nothing"))
    assert (found.code, found.text, found.reason) == ("not_comparable", "Not comparable.", "the ids of B match nothing")
    assert decide(pair_of(np.full(12, math.nan)), VerdictContext()) == "not_comparable"


def check(strength, *, behind="A", **more):
    return UnjudgedCheck(
        strength=strength, system=behind, judged_relevant=0.44, from_all_systems=False, tested_share=0.4, **more
    )


JUDGED = JudgedShares(0.97, 0.88, 10)


def test_unjudged_docs_weaken_a_verdict_step_by_step():
    def after(strength, shift, **more):
        return verdict(STEADY + shift, unjudged=check(strength, **more))

    assert after("stands", 0.05).code == "better"
    weakened = after("cautious", 0.05)
    assert (weakened.code, weakened.because) == ("probably_better", "unjudged")
    assert weakened.text == "B is probably better, unless A's unjudged results are unusually good."
    assert after("cautious", 0.011).because == "margin"  # it was probable before, and stays so
    assert any("It would change if 40% of A's" in caution for caution in after("cautious", 0.011).cautions)
    lost = after("not_safe", -0.14, behind="B", tipping_point=0.31, tipping_point_known=True)
    assert lost.code == "not_safe"
    assert lost.reason == (
        "B is lower by 0.1400, unless more than 31% of its unjudged results are relevant. (Of its judged ones 44% are; "
        "unjudged docs are usually about half as often relevant.)"
    )


@pytest.mark.parametrize(
    ("bounds", "tipping_point", "said"),
    [
        (None, None, "Even if all of A's unjudged results were relevant, with grades like those of judged docs, it would not be reversed."),
        ((-0.01, 0.2), None, "Even if all of A's unjudged results were relevant, with grades like those of judged docs, it would not be reversed; in the worst case it could be."),
        ((0.01, 0.2), None, "No grades of unjudged docs could reverse the difference, not even in the worst case."),
        ((-0.01, 0.2), 0.998, "It would take nearly all of A's unjudged results being relevant, with grades like judged docs, to reverse it. (Of its judged ones 44% are; unjudged docs are usually about half as often relevant.)"),
    ],
)  # fmt: skip
def test_a_verdict_that_stands_says_what_it_survives(bounds, tipping_point, said):
    """What no share of relevant docs reverses, the worst case may: more than all of them cannot be asked for."""
    known = None if bounds is None else Bounds(*bounds, useless=0.05, perfect=0.05)
    given = check("stands", tipping_point_known=True, tipping_point=tipping_point)
    (caution,) = verdict(STEADY + 0.05, unjudged=given, bounds=known).cautions
    assert caution == f"Unjudged: 12% of B's first 10 results, 3% of A's. {said}"


def test_practically_the_same_is_not_safe_where_unjudged_docs_could_leave_the_margin():
    found = verdict(STEADY, unjudged=check("not_safe", behind="B", difference_then=0.034))
    assert found.code == "not_safe"
    assert "if 40% of B's unjudged results were relevant, it would be +0.034" in found.reason
    assert verdict(STEADY, unjudged=check("stands", behind="B", difference_then=0.004)).code == "same"


def test_unjudged_docs_do_not_touch_what_is_no_claim():
    assert verdict(STEADY * 30 + 0.01, unjudged=check("not_safe")).code == "cannot_tell"
    assert verdict(STEADY[:9] + 0.5, unjudged=check("not_safe")).code == "too_few"


def test_a_verdict_that_rests_on_one_query_says_so():
    d = np.append(np.full(29, 0.001), 0.9) + STEADY[:30]
    known = VerdictContext(unit_names=[f"q{i}" for i in range(30)])
    leaning = np.append(np.random.default_rng(3).normal(0.03, 0.08, 29), 0.4)
    found = verdict(leaning, known)
    assert found.code in ("better", "probably_better")
    assert any("It rests on query q29" in caution for caution in found.cautions)
    assert not any("rests on" in caution for caution in verdict(STEADY + 0.5, known).cautions)
    assert any("skewed" in caution for caution in verdict(d, known).cautions)


@pytest.mark.parametrize(("n", "rough"), [(99, True), (100, False)])
def test_lopsided_differences_are_a_caution_below_100_queries(n, rough):
    cautions = verdict(np.append(np.resize(STEADY, n - 1), 0.9)).cautions
    assert any("skewed" in caution for caution in cautions) is rough


def test_many_undefined_queries_are_a_caution():
    d = np.append(STEADY + 0.05, np.full(20, math.nan))
    cautions = verdict(d).cautions
    assert any("20 queries left out, as nDCG@10 is undefined" in c and "17%" in c for c in cautions)


def test_equal_differences_have_no_interval():
    found = verdict(np.full(20, 0.5))
    assert found.code == "better"
    assert "by exactly this much for every query, so there is no interval" in found.reason


@pytest.mark.parametrize("low", [0.0004, -0.0004, 0.00998, 0.01002])
def test_digits_never_contradict_the_verdict(low):
    """An end that is not 0, or not the margin, is not printed as if it were."""
    pair = pair_of(STEADY + 0.05)
    half = 0.05
    shifted = replace(pair, ci=DifferenceInterval(low, low + 2 * half, 0.95, "x"))
    printed = f"{low:+.{decimals(shifted)}f}"
    assert float(printed) not in (0.0, 0.01)
    assert (float(printed) > 0) == (low > 0)
    assert (float(printed) > 0.01) == (low > 0.01)
