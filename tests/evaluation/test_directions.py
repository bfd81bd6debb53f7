"""Where lower is better, best is lowest and worst is highest: in every measure, in aggregates and in tables."""

import math

import numpy as np
import pytest

import rankscope as rs
from rankscope.measures.parameters import REQUIRED
from rankscope.measures.registry import REGISTRY
from rankscope.measures.scores import summarise
from rankscope.measures.spec import Measure
from rankscope.report.evaluation import best_values, summary_table

ABOUT_RELEVANCE = [name for name, spec in REGISTRY.items() if spec.about_relevance and spec.monotone and not spec.needs]
JUDGED = {"a": 3, "b": 2, "c": 1, "d": 0, "e": 0, "f": 0}
GOOD, BAD = ["a", "b", "c", "d", "e", "f"], ["f", "e", "d", "c", "b", "a"]


@pytest.mark.parametrize("name", ABOUT_RELEVANCE)
def test_the_best_ranking_is_better_than_the_worst(name):
    spec = REGISTRY[name]
    needed = {"k": 2, "recall": 0.5}
    measure = Measure.of(spec, {p: needed[p] for p, value in spec.parameters.items() if value is REQUIRED})
    scores = rs.evaluate({"q": JUDGED}, {"good": {"q": GOOD}, "bad": {"q": BAD}}, measure)
    good, bad = (scores[run]["q", measure] for run in ("good", "bad"))
    sign = -1 if spec.better == "lower" else 1
    assert sign * (good - bad) >= 0


@pytest.mark.parametrize(("lower_is_better", "expected"), [(False, 1.5), (True, 19.5)])
def test_the_worst_tenth_is_at_the_bad_end(lower_is_better, expected):
    values = np.arange(1.0, 21.0)
    assert summarise(values, "worst", lower_is_better=lower_is_better) == expected
    assert summarise(values[::-1].copy(), "worst", lower_is_better=lower_is_better) == expected


def test_the_best_of_several_runs_is_marked():
    qrels = {"q": {"a": 1}, "r": {"b": 1}}
    runs = {"first": {"q": ["a"], "r": ["b"]}, "second": {"q": ["x", "a"], "r": ["y", "b"]}}
    scores = rs.evaluate(qrels, runs, ["FirstRel", "RR"])
    assert best_values(scores) == {"FirstRel": 1.0, "RR": 1.0}
    marked = [[cell.best for cell in row] for row in summary_table(scores).rows]
    assert marked == [[False, True, True], [False, False, False]]


def test_a_measure_of_which_less_is_better_says_so_in_its_scores():
    scores = rs.evaluate({"q": {"a": 1}}, {"q": ["x", "a"]}, ["FirstRel", "RR"])
    assert scores["run"].lower_is_better == {"FirstRel"}
    assert math.isclose(scores.aggregate("worst")["run", "FirstRel"].value, 2)
