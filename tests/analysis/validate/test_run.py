"""Each check of one run: one example in which it finds something, one in which it does not."""

from __future__ import annotations

import math

import pytest


def test_a_doc_listed_twice_for_a_query(found, make_run):
    run = make_run([("q1", "d1", 5), ("q1", "d2", 4), ("q1", "d1", 3), ("q2", "d1", 2), ("q1", "d1", 1)])
    finding = found("duplicate_docs", run=run)
    assert (finding.level, finding.where) == ("error", "run")
    assert "2 of 5 rows" in finding.message
    assert finding.examples == ('query "q1", doc "d1"',) * 2


def test_the_same_doc_for_two_queries_is_no_duplicate(found):
    assert found("duplicate_docs") is None


def test_scores_that_are_not_numbers(found, make_run):
    finding = found("score_not_a_number", run=make_run([("q1", "d1", math.nan), ("q1", "d2", 1)]))
    assert finding.examples == ('query "q1", doc "d1"',)
    assert found("score_not_a_number") is None


def test_many_ties_are_a_warning_that_tells_trec_evals_rule(found, make_run):
    run = make_run([("q1", f"d{i}", 100 - i) for i in range(18)] + [("q1", "x", 1), ("q1", "y", 1)])
    finding = found("tied_scores", run=run)
    assert finding.level == "warning"
    assert "2 of 20 rows (10.0%), in 1 of 1 queries" in finding.message
    assert finding.examples == ('query "q1", score 1.0',)
    assert "doc id, descending" in finding.hint


def test_few_ties_are_a_remark(found, make_run):
    run = make_run([("q1", f"d{i}", 100 - i) for i in range(38)] + [("q1", "x", 1), ("q1", "y", 1)])
    finding = found("tied_scores", run=run)
    assert (finding.level, "2 of 40 rows (5.0%)" in finding.message) == ("remark", True)


def test_equal_scores_of_different_queries_are_no_ties(found):
    assert found("tied_scores") is None


def test_a_constant_scorer(found, make_run):
    run = make_run(
        [(q, f"d{i}", 0.5) for q in ("q1", "q2") for i in range(3)]
        + [("q3", "d1", 2), ("q3", "d2", 1), ("q4", "d1", 1)]
    )
    finding = found("constant_scores", run=run)
    assert (finding.level, "in 2 of 3 queries" in finding.message) == ("warning", True)
    assert found("tied_scores", run=run) is None


def test_queries_with_one_doc_do_not_make_a_constant_scorer(found, make_run):
    assert found("constant_scores", run=make_run([("q1", "d1", 1), ("q2", "d1", 1)])) is None


def test_scores_tied_only_in_single_precision(found, make_run):
    run = make_run([("q1", "d1", 1.0), ("q1", "d2", 1.00000001), ("q1", "d3", 0.5), ("q1", "d4", 0.5)])
    finding = found("single_precision_ties", run=run)
    assert (finding.level, "2 of 4 rows (50.0%)" in finding.message) == ("warning", True)
    assert "--precision single" in finding.hint
    assert found("single_precision_ties") is None


def test_scores_beyond_single_precision_are_tied_there(found, make_run):
    assert found("single_precision_ties", run=make_run([("q1", "d1", 1e300), ("q1", "d2", 1e200)])) is not None


def test_ranks_that_contradict_scores(found, make_run):
    run = make_run([("q1", "d1", 3), ("q1", "d2", 1), ("q1", "d3", 2)], rank=[1, 2, 3])
    finding = found("ranks_against_scores", run=run)
    assert (finding.level, "1 of 2 docs (50.0%)" in finding.message) == ("warning", True)
    assert finding.examples == ('query "q1": rank 2 has score 1, rank 3 has 2',)
    assert "as in trec_eval" in finding.hint


def test_scores_that_rise_down_the_list_may_be_distances(found, make_run):
    run = make_run([("q1", f"d{i}", i) for i in range(10)], rank=range(10))
    assert "distances" in found("ranks_against_scores", run=run).hint


@pytest.mark.parametrize("rank", [[3, 2, 1], [2, 1, 0], [1, 1, 1], None])
def test_ranks_that_follow_the_scores_or_are_not_there(rank, found, make_run):
    run = make_run([("q1", "d1", 1), ("q1", "d2", 2), ("q1", "d3", 3)], rank=rank)
    assert found("ranks_against_scores", run=run) is None


def test_repeated_ranks(found, make_run):
    run = make_run([("q1", "d1", 3), ("q1", "d2", 2), ("q2", "d3", 1)], rank=[1, 1, 1])
    finding = found("repeated_ranks", run=run)
    assert (finding.level, "1 of 3 rows" in finding.message) == ("remark", True)
    assert finding.examples == ('query "q1", doc "d2": rank 1',)
    assert found("repeated_ranks", run=make_run([("q1", "d1", 3), ("q1", "d2", 2)], rank=[1, 2])) is None


def test_depth_is_told_with_its_spread(found, make_run):
    run = make_run([("q1", "d1", 3), ("q1", "d2", 2), ("q1", "d3", 1), ("q2", "d3", 1)], empty_queries=("q3",))
    assert found("depth", run=run).message == "0 to 3 docs per query, 1 in the median"


def test_short_rankings(found, make_run):
    run = make_run([("q1", "d1", 1), *(("q2", f"d{i}", i) for i in range(10))])
    finding = found("short_rankings", run=run)
    assert (finding.level, finding.examples) == ("remark", ('query "q1": 1',))
    assert found("short_rankings") is None


def test_docs_with_the_querys_own_id(found, make_run):
    finding = found("self_matches", run=make_run([("7", "7", 1), ("7", "8", 2), ("9", "8", 1)]))
    assert (finding.level, finding.examples) == ("remark", ('"7"',))
    assert "--self-match drop" in finding.hint
    assert found("self_matches") is None
