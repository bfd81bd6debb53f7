"""Robustness across queries: values worked out by hand from the papers' definitions."""

import itertools
import math
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankscope.analysis.robustness import (
    Robustness,
    abstention_curve,
    confidence_of,
    georisk,
    nauc,
    robustness_of,
    urisk,
    zrisk,
)
from rankscope.errors import InputError, OptionError

SCORES = st.lists(st.floats(0, 1).map(lambda x: round(x, 3)), min_size=1, max_size=30)


def test_share_of_queries_that_score_0():
    assert robustness_of([0, 0.5, 0, 1]).zero_share == 0.5
    assert robustness_of([0.1]).zero_share == 0


def test_mean_over_the_worst_tenth():
    assert robustness_of([i / 20 for i in range(20)]).worst_decile == pytest.approx((0 + 1 / 20) / 2)  # 2 of 20
    assert robustness_of([0.3, 0.2, 0.9]).worst_decile == 0.2  # at least one


def test_confidence_from_the_scores_of_the_docs():
    docs = [0.5, 2.0, 1.0]
    assert confidence_of(docs) == 2
    assert confidence_of(docs, by="gap") == 1
    assert confidence_of([1, 3, 5], by="std") == pytest.approx(math.sqrt(8 / 3))
    assert confidence_of([7], by="gap") == confidence_of([7], by="std") == 0
    assert confidence_of([]) == confidence_of([], by="gap") == -math.inf
    with pytest.raises(OptionError, match=r"by = 'min' is not one of max, gap, std"):
        confidence_of(docs, by="min")


# ten queries, so that each step drops one more; the oracle drops 0, 0, 0, 0, 0 first, then the five ones
TEN = np.array([0, 1, 0, 1, 0, 1, 0, 1, 0, 1], dtype=float)
ORACLE = [5 / 10, 5 / 9, 5 / 8, 5 / 7, 5 / 6, 1, 1, 1, 1, 1]


def trapezoids(curve):
    return sum(0.1 * (one + other) / 2 for one, other in itertools.pairwise(curve))


def test_an_oracle_has_1_and_its_opposite_less_than_0():
    assert abstention_curve(TEN, TEN).tolist() == pytest.approx(ORACLE)
    assert nauc(TEN, TEN) == pytest.approx(1)
    worst = [5 / 10, 4 / 9, 3 / 8, 2 / 7, 1 / 6, 0, 0, 0, 0, 0]
    flat = 0.5 * 0.9
    expected = (trapezoids(worst) - flat) / (trapezoids(ORACLE) - flat)
    assert nauc(TEN, -TEN) == pytest.approx(expected)
    assert expected == pytest.approx(-1)


def test_a_confidence_that_says_nothing_follows_the_order_given():
    # nothing but ties: the queries are dropped as they come, 0 1 0 1 …
    curve = [5 / 10, 5 / 9, 4 / 8, 4 / 7, 3 / 6, 3 / 5, 2 / 4, 2 / 3, 1 / 2, 1 / 1]
    flat = 0.5 * 0.9
    assert nauc(TEN, np.zeros(10)) == pytest.approx((trapezoids(curve) - flat) / (trapezoids(ORACLE) - flat))


def test_numbers_of_queries_are_rounded_half_to_even_and_one_always_remains():
    # 5 queries: 0, 0.5, 1, 1.5, … 4.5 dropped become 0 0 1 2 2 2 3 4 4 4
    scores = np.array([1, 2, 3, 4, 5], dtype=float)
    assert abstention_curve(scores, scores).tolist() == [3, 3, 3.5, 4, 4, 4, 4.5, 5, 5, 5]
    assert abstention_curve(scores[:2], scores[:2]).tolist() == [1.5] * 3 + [2] * 7  # 0.6 rounds to 1


def test_there_is_nothing_to_tell_apart_where_all_scores_are_equal():
    assert math.isnan(nauc([0.1] * 7, range(7)))
    assert math.isnan(nauc([0.4], [1]))


@given(scores=SCORES, data=st.data())
def test_nauc_is_at_most_1_and_does_not_depend_on_scale(scores, data):
    confidence = data.draw(st.lists(st.integers(-5, 5), min_size=len(scores), max_size=len(scores)))
    found = nauc(scores, confidence)
    if not math.isnan(found):
        assert found <= 1 + 1e-9
        assert nauc(2 * np.array(scores) + 1, 3 * np.array(confidence)) == pytest.approx(found, abs=1e-9)


def test_urisk_weighs_losses():
    system, baseline = [0.5, 0.2, 0.9], [0.3, 0.6, 0.9]
    assert urisk(system, baseline, alpha=0) == pytest.approx((0.2 - 0.4 + 0) / 3)
    assert urisk(system, baseline) == pytest.approx((0.2 - 2 * 0.4 + 0) / 3)
    assert urisk(system, baseline, alpha=5) == pytest.approx((0.2 - 6 * 0.4 + 0) / 3)


def test_zrisk_and_georisk_against_one_baseline_by_hand():
    # systems x queries: (0.6, 0.2) and (0.2, 0.6). Both sum to 0.8 over a total of 1.6, each query to 0.8, so 0.4 is usual
    up, down = 0.2 / math.sqrt(0.4), -0.2 / math.sqrt(0.4)
    assert zrisk([0.6, 0.2], [0.2, 0.6], alpha=0) == pytest.approx(0)
    assert zrisk([0.6, 0.2], [0.2, 0.6], alpha=1) == pytest.approx(up + 2 * down)
    expected = math.sqrt(0.4 * NormalDist().cdf((up + 2 * down) / 2))
    assert georisk([0.6, 0.2], [0.2, 0.6], alpha=1) == pytest.approx(expected)
    assert georisk([0.6, 0.2], [0.2, 0.6], alpha=0) == pytest.approx(math.sqrt(0.4 / 2))


def test_zrisk_against_several_baselines_by_hand():
    # columns sum to 0.9 and 0.6, rows to 0.5, 0.4 and 0.6; usual for the first system: 0.5·0.9/1.5 = 0.3 and 0.5·0.6/1.5 = 0.2
    found = zrisk([0.4, 0.1], [[0.2, 0.2], [0.3, 0.3]], alpha=2)
    assert found == pytest.approx(0.1 / math.sqrt(0.3) - 3 * 0.1 / math.sqrt(0.2))


def test_a_system_that_is_its_own_baseline_carries_no_risk():
    scores = [0.5, 0, 0.25]
    assert urisk(scores, scores) == 0
    assert zrisk(scores, scores) == pytest.approx(0)
    assert georisk(scores, scores) == pytest.approx(math.sqrt(0.25 / 2))


def test_queries_on_which_all_score_0_add_nothing():
    assert zrisk([0.4, 0.1, 0], [0.1, 0.4, 0]) == pytest.approx(zrisk([0.4, 0.1], [0.1, 0.4]))
    assert georisk([0, 0], [0, 0]) == 0


@given(pairs=st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=20), alpha=st.floats(0, 10))
def test_more_aversion_to_risk_never_raises_a_score(pairs, alpha):
    system, baseline = zip(*pairs, strict=True)
    for risk in (urisk, zrisk, georisk):
        assert risk(system, baseline, alpha=alpha + 1) <= risk(system, baseline, alpha=alpha) + 1e-9


def test_all_of_it_in_one_record():
    found = robustness_of([0, 1, 0.5, 0.5], baseline=[0, 0.5, 0.5, 1], confidence=[1, 4, 2, 3], alpha=1)
    assert found == Robustness(
        n_queries=4,
        mean=0.5,
        zero_share=0.25,
        worst_decile=0,
        nauc=pytest.approx(1),
        urisk=pytest.approx((0.5 - 2 * 0.5) / 4),
        georisk=georisk([0, 1, 0.5, 0.5], [0, 0.5, 0.5, 1]),
    )
    assert robustness_of([0.5]) == Robustness(1, 0.5, 0, 0.5)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: robustness_of([]), "the scores have the shape"),
        (lambda: robustness_of([[1, 2]]), "the scores have the shape"),
        (lambda: robustness_of([0.5, math.nan]), "1 of 2 scores are undefined"),
        (lambda: urisk([0.5, 1], [0.5]), "there are 2 scores, but 1 baseline scores"),
        (lambda: nauc([0.5, 1], [0.5, 1, 2]), "there are 2 scores, but 3 confidences"),
        (lambda: georisk([0.5], [-0.5]), "a score is below 0"),
    ],
)
def test_scores_that_cannot_be_used_are_refused(call, message):
    with pytest.raises(InputError, match=message):
        call()


def test_losses_cannot_count_less_than_gains():
    with pytest.raises(OptionError, match="alpha = -1"):
        urisk([0.5], [0.5], alpha=-1)
