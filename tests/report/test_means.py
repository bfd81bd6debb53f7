"""Means with their intervals, as tables and charts show them."""

import math
import re

import numpy as np
import pytest
from scipy import stats

import rankscope as rs
from rankscope.report.charts.heat import SystemsChart
from rankscope.report.charts.numbers import MINUS, with_interval
from rankscope.report.evaluation_report import report_of
from rankscope.report.means import interval_notes, mean_of, range_of
from rankscope.report.render import render

N = 20
QRELS = {f"q{i:02}": {"x": 1} for i in range(N)}
# one of twenty queries finds the doc, at rank 10: RR 0.1 there and 0 elsewhere
RARE = {query: [f"o{i}" for i in range(9)] + (["x"] if query == "q00" else []) for query in QRELS}
RANKS = [1, 2, 4, 5] * 5
SPREAD = {query: [*(f"o{i}" for i in range(rank - 1)), "x"] for query, rank in zip(QRELS, RANKS, strict=True)}
PERFECT = {query: ["x"] for query in QRELS}
RUNS = {"rare": RARE, "spread": SPREAD, "perfect": PERFECT}


@pytest.fixture(scope="module")
def scores():
    return rs.evaluate(QRELS, RUNS, ["RR", "Success@1", "NumRel", "RR(agg='median')"])


def test_the_interval_is_that_of_the_measure(scores):
    reciprocal = 1 / np.array(RANKS)
    found = mean_of(scores["spread"], "RR")
    wanted = stats.t.interval(0.95, N - 1, reciprocal.mean(), stats.sem(reciprocal))
    assert found.ends == pytest.approx(wanted)
    assert found.interval.method == "t"
    assert mean_of(scores["spread"], "Success@1").interval.method == "Wilson"
    rare = mean_of(scores["rare"], "RR")
    assert rare.interval.method == "logit-t"
    assert rare.value == pytest.approx(0.1 / N)
    assert 0 < rare.ends[0] < rare.value < rare.ends[1] < 1


def test_what_is_no_mean_has_no_interval(scores):
    for measure, value in (("NumRel", N), ("RR(agg='median')", 0.375)):
        found = mean_of(scores["spread"], measure)
        assert (found.value, found.interval, found.why_none) == (value, None, "")
    assert all(map(math.isnan, mean_of(scores["spread"], "NumRel").ends))


def test_where_every_query_scores_the_same_it_says_so(scores):
    found = mean_of(scores["perfect"], "RR")
    assert (found.value, found.interval, found.why_none) == (1, None, "every query scores 1")
    assert "perfect: no interval of RR, Success@1: every query scores 1" in list(interval_notes(scores))
    assert "rare: no interval of Success@1: every query scores 0" in list(interval_notes(scores))


def test_one_query_and_none():
    one = rs.evaluate({"q": {"x": 1}}, {"q": ["x"]}, "RR")
    assert mean_of(one["run"], "RR").why_none == "only one query counts"
    with pytest.warns(rs.RankscopeWarning, match="undefined"):
        none = rs.evaluate({"q": {"x": 1, "o": 0}}, {"q": ["o"]}, "FirstRel")
    assert mean_of(none["run"], "FirstRel").why_none == "no query counts"


def test_how_the_intervals_came_about_is_said(scores):
    assert next(interval_notes(scores)) == (
        "mean over queries; 95% intervals: t on the logit scale where t would leave the range (RR); "
        "Student's t (RR); Wilson for scores of 0 and 1 (Success@1)"
    )
    alone = rs.evaluate(QRELS, SPREAD, "RR")
    assert list(interval_notes(alone)) == ["mean over queries; 95% intervals: Student's t"]


def test_weights_reach_the_interval():
    """Asked once or three times in turn: u = w (s - mean), SE² = 20/19 · Σ u² / 40²."""
    weights = np.tile([1.0, 3.0], N // 2)
    queries = {query: {"asked": weight} for query, weight in zip(QRELS, weights, strict=True)}
    weighted = rs.evaluate(QRELS, SPREAD, "RR", queries=queries, weights="asked")
    reciprocal = 1 / np.array(RANKS)
    mean = (weights * reciprocal).sum() / 40
    error = math.sqrt(20 / 19 * ((weights * (reciprocal - mean)) ** 2).sum()) / 40
    found = mean_of(weighted["run"], "RR")
    assert found.value == pytest.approx(mean)
    assert found.ends == pytest.approx([mean + sign * stats.t.ppf(0.975, 19) * error for sign in (-1, 1)])
    assert list(interval_notes(weighted)) == ["mean over queries, weighted by asked; 95% intervals: Student's t"]
    assert "weighted by asked" in SystemsChart.from_scores(weighted).render().svg


def test_measures_of_other_tools_have_no_known_range():
    assert range_of("nDCG@10") == (0, 1)
    assert range_of("FirstRel") == (1, math.inf)
    assert range_of("our own score") == (-math.inf, math.inf)


def test_the_report_shows_intervals_within_the_range(scores):
    text = render(report_of(scores), "text")
    assert "Scores, with 95% intervals of the mean" in text
    shown = re.findall(r"(\d\.\d+) \[(-?\d\.\d+), (-?\d\.\d+)\]", text)
    assert len(shown) >= 3
    for value, low, high in shown:
        assert 0 <= float(low) <= float(value) <= float(high) <= 1
        assert len(value) == len(low) == len(high)
    assert "no interval of RR, Success@1: every query scores 1" in text
    chart = SystemsChart.from_scores(scores).render()
    assert "no interval where every query scores the same" in chart.svg
    assert "95% interval" in chart.svg


@pytest.mark.parametrize(
    ("numbers", "with_sign", "wanted"),
    [
        ((0.0004, -0.00011, 0.001), False, f"0.00040 [{MINUS}0.00011, 0.00100]"),
        ((0.5, 0.41, 0.5912), False, "0.500 [0.410, 0.591]"),
        ((0.5, 0.41, 0.5912), True, "+0.500 [+0.410, +0.591]"),
        ((-0.02, -0.05, 0.01), True, f"{MINUS}0.020 [{MINUS}0.050, +0.010]"),
        ((350.123, 340.0, 360.25), False, "350.1 [340.0, 360.2]"),
        ((2.5, 0.00001, 5.3), False, "2.500 [0.000, 5.300]"),
        ((0.5, 0.49999999, 0.50000001), False, "0.500 [0.500, 0.500]"),
        ((0.5, 0.1, math.inf), False, "0.500 [0.100, ∞]"),
        ((0.5, math.nan, math.nan), False, "0.500"),
        ((250_000, 240_000, 260_000), False, "2.50e5 [2.40e5, 2.60e5]"),
    ],
)
def test_a_value_and_the_ends_of_its_interval_are_rounded_alike(numbers, with_sign, wanted):
    assert with_interval(*numbers, with_sign=with_sign) == wanted
