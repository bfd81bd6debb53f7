"""Qrels and a run that are swapped: refused where both look like the other, and only there."""

from __future__ import annotations

import json
import random

import pytest

import rankscope as rs
from rankscope.errors import InputError, RankscopeWarning

TINY_SCORES, TINY_GRADES = {"q": {"a": 0.9, "b": 0.4}}, {"q": {"a": 1, "b": 0}}


def scores(n_queries: int = 6, n_docs: int = 15, *, whole: bool = False) -> dict:
    """Return what a system gives: numbers that differ within a query."""
    rng = random.Random(n_queries)
    number = (lambda: rng.randrange(10**6)) if whole else (lambda: rng.gauss(8, 3))
    return {f"q{i}": {f"d{j}": number() for j in range(n_docs)} for i in range(n_queries)}


def grades(n_queries: int = 6, n_docs: int = 15) -> dict:
    """Return what people give: a few whole numbers."""
    return {f"q{i}": {f"d{j}": (i + j) % 3 for j in range(n_docs)} for i in range(n_queries)}


def sparse(n_queries: int = 6) -> dict:
    """Return one relevant doc per query."""
    return {f"q{i}": {f"d{i}": 1} for i in range(n_queries)}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (TINY_SCORES, TINY_GRADES),
        ({"q": {"a": 12.5}}, {"q": {"a": 0}}),
        ({"q": {"a": -0.3, "b": -2.4}}, {"q": {"a": 1, "b": 1}}),
        (scores(), grades()),
        (scores(whole=True), grades()),
        (scores(), sparse()),
        (scores(), {"q0": {"d1": -1, "d2": 2, "d3": 2.0}}),
        ([("q", "a", 0.9), ("q", "b", 0.4)], [("q", "a", 1), ("q", "b", 0)]),
        (rs.Qrels(TINY_SCORES), rs.Run(TINY_GRADES)),
    ],
    ids=["tiny", "one doc", "negative", "usual", "whole scores", "sparse", "pooled", "rows", "objects"],
)
def test_swapped_arguments(first, second, engine):
    with pytest.raises(InputError, match="the qrels hold what looks like scores") as caught:
        rs.evaluate(first, {"mine": second}, "nDCG@10")
    assert caught.value.message.startswith("mine: ")
    assert "are the arguments swapped?" in caught.value.hint
    assert "anyway=True" in caught.value.hint


def test_it_is_said_before_any_measure_complains_of_fractional_grades():
    with pytest.raises(InputError, match="looks like scores"):
        rs.evaluate(TINY_SCORES, TINY_GRADES)
    with pytest.raises(InputError, match="looks like scores"):
        rs.diagnose(TINY_SCORES, TINY_GRADES)
    with pytest.raises(InputError, match="looks like scores"):
        rs.compare(TINY_SCORES, {"one": TINY_GRADES, "two": TINY_GRADES}, "nDCG@10")


def test_anyway_scores_them():
    with pytest.warns(RankscopeWarning, match=r"run: the qrels hold what looks like scores \(0.9, 0.4\), and the run"):
        assert rs.evaluate(TINY_SCORES, TINY_GRADES, "nDCG@10", anyway=True)["run"]["q", "nDCG@10"] == 1.0


@pytest.mark.parametrize(
    ("qrels", "run"),
    [
        (TINY_GRADES, TINY_SCORES),
        (grades(), scores()),
        (grades(), scores(whole=True)),
        (grades(), grades()),
        (scores(), scores()),
        ({"q": {"a": 0.8, "b": 0.3, "c": 0.0}}, {"q": {"b": 2.0, "a": 1.0}}),
        ({"q": {"a": 0.8, "b": 0.3, "c": 0.0}}, {"q": ["b", "a"]}),
        ({"q": {"a": 0.8, "b": 0.3, "c": 0.0}}, {"q": {"c": 4, "b": 3, "a": 2, "d": 1, "e": 0}}),
        ({"q": {"a": 0.5, "b": 0.5, "c": 0.0, "d": 1.0}}, {"q": {"a": 1, "b": 0}}),
        ({"q": {"a": 80, "b": 35}}, {"q": {"a": 1, "b": 0}}),
        (scores(), {f"q{i}": ["d3", "d1", "d2"] for i in range(6)}),
        (scores(n_docs=3), sparse()),
        (scores(), {f"q{i}": {f"d{j}": 100 - j for j in range(15)} for i in range(6)}),
    ],
    ids=[
        "tiny", "usual", "whole scores", "both graded", "both scored", "ranks as scores", "lists", "ranks from 0",
        "grades in steps", "percent", "soft labels and lists", "few soft labels and single docs", "soft labels and ranks",
    ],
)  # fmt: skip
def test_what_is_right_is_scored_without_a_word(qrels, run, engine):
    rs.evaluate(qrels, run, "nDCG@10")


def test_a_fraction_as_the_lowest_relevant_grade_says_that_grades_are_fractions():
    assert rs.evaluate(TINY_SCORES, TINY_GRADES, "P@2", min_rel=0.5)["run"]["q", "P@2"] == 0.5
    with pytest.raises(InputError, match="looks like scores"):
        rs.evaluate(TINY_SCORES, TINY_GRADES, "nDCG@10", min_rel=1)


def test_json_files(tmp_path):
    for name, content in (("run", scores()), ("qrels", grades())):
        (tmp_path / f"{name}.json").write_text(json.dumps(content))
    qrels, run = tmp_path / "qrels.json", tmp_path / "run.json"
    with pytest.raises(InputError, match=r"^qrels: the qrels hold what looks like scores"):
        rs.evaluate(run, qrels, "nDCG@10")
    assert rs.evaluate(qrels, run, "nDCG@10").mean()["run"]["nDCG@10"].n == 6


def test_formats_whose_columns_tell_are_taken_at_their_word(tmp_path):
    """TREC text has six columns in runs and four in qrels, so these are fractional grades and a boolean run."""
    (tmp_path / "qrels.txt").write_text("q 0 a 0.9\nq 0 b 0.4\n")
    (tmp_path / "run.txt").write_text("q Q0 a 1 1 t\nq Q0 b 2 0 t\n")
    rs.evaluate(tmp_path / "qrels.txt", tmp_path / "run.txt", "nDCG@10")
    rs.evaluate(tmp_path / "qrels.txt", TINY_GRADES, "nDCG@10")
    rs.evaluate(TINY_SCORES, tmp_path / "run.txt", "nDCG@10")


def test_scores_of_fused_ranks_tie_often_but_nobody_grades_like_that():
    fused = {f"q{i}": {f"d{j}": 1 / (60 + j // 2 * 2) if j < 6 else 1 / (60 + j) for j in range(12)} for i in range(3)}
    assert len(set(fused["q0"].values())) == 9, "a quarter is equal to another"
    with pytest.raises(InputError, match="looks like scores"):
        rs.evaluate(fused, grades(3, 12), "nDCG@10")
    in_steps = {query: {doc: round(score * 60, 2) for doc, score in docs.items()} for query, docs in fused.items()}
    rs.evaluate(in_steps, grades(3, 12), "nDCG@10")
