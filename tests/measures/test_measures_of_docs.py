"""What all measures that look at the docs themselves have in common."""

import pytest

import rankscope as rs
from rankscope.errors import MeasureError

QRELS = [
    {"query": "q", "subtopic": "1", "doc": "a", "grade": 1},
    {"query": "q", "subtopic": "2", "doc": "b", "grade": 1},
]


def test_unjudged_docs_are_removed_before_the_cut():
    run = {"q": ["unjudged", "a", "b"]}
    assert rs.evaluate(QRELS, run, "StRecall@2")["run"]["q", "StRecall@2"] == 0.5
    assert rs.evaluate(QRELS, run, "StRecall@2", judged_only=True)["run"]["q", "StRecall@2"] == 1
    name = "StRecall(judged_only=True)@2"
    assert rs.evaluate(QRELS, run, name)["run"]["q", name] == 1


def test_explaining_shows_the_score_from_rank_to_rank():
    told = rs.explain(QRELS, {"q": ["a", "other", "b"]}, "q", "StRecall@3")
    assert [step.term for step in told.steps] == [0.5, 0, 0.5]
    assert [step.grade for step in told.steps] == [1, None, 1]
    assert told.score == 1


def test_what_is_missing_is_said():
    with pytest.raises(MeasureError, match="StRecall@5 needs subtopics"):
        rs.evaluate({"q": {"a": 1}}, {"q": ["a"]}, "StRecall@5")


def test_robustness_of_every_run():
    qrels = {"1": ["a"], "2": ["a"], "3": ["a"]}
    runs = {"base": {"1": ["a"], "2": ["b"], "3": ["b", "a"]}, "new": {"1": ["b"], "2": ["a"], "3": ["a"]}}
    found = rs.robustness(rs.evaluate(qrels, runs, "RR"), "RR", baseline="base", alpha=1.0)
    assert found["base"].zero_share == pytest.approx(1 / 3)
    assert found["base"].urisk is None
    # gains 1 and 0.5, one loss of 1 that counts twice: (1.5 - 2) / 3
    assert found["new"].urisk == pytest.approx(-0.5 / 3)
