"""Each check of the qrels: one example in which it finds something, one in which it does not."""

from __future__ import annotations

import math


def test_a_doc_judged_twice(found, make_qrels):
    qrels = make_qrels([("q1", "d1", 1), ("q1", "d1", 0), ("q1", "d2", 1), ("q1", "d2", 1)])
    finding = found("duplicate_docs", qrels=qrels)
    assert (finding.level, finding.where) == ("error", "qrels")
    assert "2 of 4 rows, 1 of them with another grade" in finding.message
    assert "--duplicates first" in finding.hint


def test_a_doc_judged_for_two_subtopics_is_no_duplicate(found, make_qrels):
    rows = [("q1", "d1", 1), ("q1", "d1", 0), ("q1", "d2", 0)]
    assert found("duplicate_docs", qrels=make_qrels(rows, subtopic=["1", "2", "1"])) is None
    assert "subtopic" in found("duplicate_docs", qrels=make_qrels(rows, subtopic=["1", "1", "1"])).message


def test_docs_judged_by_several_raters_need_one_grade(found, make_qrels):
    qrels = make_qrels([("q1", "d1", 1), ("q1", "d1", 2)], rater=["ann", "bob"])
    assert "combine" in found("duplicate_docs", qrels=qrels).hint


def test_grades_above_the_usual(found, make_qrels):
    qrels = make_qrels([("q1", "d1", 11), ("q1", "d2", 10), ("q1", "d3", 0)])
    finding = found("high_grades", qrels=qrels)
    assert (finding.level, finding.examples) == ("warning", ('query "q1", doc "d1": 11',))
    assert found("high_grades") is None


def test_fractional_grades(found, make_qrels):
    finding = found("fractional_grades", qrels=make_qrels([("q1", "d1", 0.5), ("q1", "d2", 2)]))
    assert (finding.level, finding.examples) == ("remark", ('query "q1", doc "d1": 0.5',))
    assert found("fractional_grades") is None


def test_grades_that_are_not_numbers(found, make_qrels):
    qrels = make_qrels([("q1", "d1", math.nan), ("q1", "d2", math.inf), ("q1", "d3", 1)])
    assert found("grade_not_a_number", qrels=qrels).level == "error"
    assert found("high_grades", qrels=qrels) is None
    assert found("grade_not_a_number") is None


def test_no_relevant_doc_at_all(found, make_qrels):
    finding = found("no_relevant_docs", qrels=make_qrels([("q1", "d1", 0), ("q1", "d2", -1)]))
    assert (finding.level, finding.message) == ("error", "no relevant docs at all")
    assert found("no_relevant_docs") is None


def test_grades_below_1_need_a_threshold(found, make_qrels):
    finding = found("no_relevant_docs", qrels=make_qrels([("q1", "d1", 0.9), ("q1", "d2", 0)]))
    assert (finding.level, "--min-rel" in finding.hint) == ("warning", True)


def test_only_relevant_docs_judged(found, make_qrels):
    finding = found("only_relevant_judged", qrels=make_qrels([("q1", "d1", 1), ("q1", "d2", 1), ("q1", "d3", -1)]))
    assert (finding.level, "bpref and Judged tell little" in finding.message) == ("remark", True)
    assert found("only_relevant_judged") is None


def test_queries_without_a_relevant_doc(found, make_qrels):
    qrels = make_qrels([("q1", "d1", 1), ("q2", "d1", 0), ("q3", "d1", -1)], empty_queries=("q4",))
    finding = found("queries_without_relevant_docs", qrels=qrels)
    assert (finding.level, finding.examples) == ("remark", ('"q2"', '"q3"', '"q4"'))
    assert "3 of 4 queries" in finding.message
    assert found("queries_without_relevant_docs") is None
