"""Each check of a run against the qrels: one example in which it finds something, one in which it does not."""

from __future__ import annotations


def test_queries_of_the_qrels_that_are_not_answered(found, make_run):
    run = make_run([("q1", "d1", 1), ("other", "d1", 1)])
    finding = found("queries_not_answered", run=run)
    assert (finding.level, finding.examples) == ("warning", ('"q2"',))
    assert "1 of 2 queries of the qrels" in finding.message
    assert found("queries_not_judged", run=run).examples == ('"other"',)
    assert found("queries_not_judged", run=run).level == "remark"


def test_all_queries_on_both_sides(found):
    assert found("queries_not_answered") is None
    assert found("queries_not_judged") is None


def test_queries_answered_with_nothing_are_answered(found, make_run):
    assert found("queries_not_answered", run=make_run([("q1", "d1", 1)], empty_queries=("q2",))) is None


def test_no_query_in_common(found, make_run):
    run = make_run([("a", "d1", 1), ("b", "d1", 1), ("c", "d1", 1), ("e", "d1", 1)])
    finding = found("no_overlap", run=run)
    assert finding.level == "error"
    assert finding.examples == ('qrels: "q1", "q2"', 'run: "a", "b", "c"')
    assert found("share_judged", run=run) is None
    assert found("no_overlap") is None


def test_ids_that_match_are_not_compared(found, make_run):
    assert found("query_ids_nearly_match") is None
    assert found("query_ids_nearly_match", run=make_run([("q1", "d1", 1)])) is None


def test_doc_ids_that_nearly_match(found, make_run):
    run = make_run([("q1", f"D{i}", 12 - i) for i in range(12)])
    finding = found("doc_ids_nearly_match", run=run)
    assert finding.level == "error"
    assert "upper and lower case: 0 of 12 judged docs are retrieved, 12 would match" in finding.message
    assert finding.examples[0] == 'run "D0" ~ qrels "d0"'
    assert found("no_judged_docs", run=run) is None


def test_a_few_docs_that_match_by_chance_make_it_a_warning(found, make_qrels, make_run):
    qrels = make_qrels([("q1", f"{i}", 1) for i in range(200)])
    run = make_run([("q1", f"{i:04}", 200 - i) for i in range(200)] + [("q1", "7", 0)])
    finding = found("doc_ids_nearly_match", qrels=qrels, run=run)
    assert (finding.level, "1 of 200 judged docs are retrieved, 199 would match" in finding.message) == (
        "warning",
        True,
    )


def test_docs_of_another_collection(found, make_run):
    run = make_run([("q1", "x", 1), ("q2", "y", 1)])
    finding = found("no_judged_docs", run=run)
    assert (finding.level, finding.examples[1]) == ("warning", 'run: "x", "y"')


def test_enough_docs_of_another_collection_are_an_error(found, make_run):
    run = make_run([("q1", f"{2**i}-{i}", 1) for i in range(10)])
    finding = found("no_judged_docs", run=run)
    assert (finding.level, finding.message) == ("error", "0 of 12 judged docs are retrieved")


def test_a_letter_in_place_of_another_is_an_error_only_where_there_are_enough_ids(found, make_run):
    few, enough = (make_run([("q1", f"x{i}", 1) for i in range(n)]) for n in (9, 10))
    for run, level in ((few, "warning"), (enough, "error")):
        finding = found("doc_ids_nearly_match", run=run)
        assert 'the prefix "d" in the qrels and the prefix "x" in the run' in finding.message
        assert finding.level == level


def test_judged_docs_that_are_retrieved(found):
    assert found("doc_ids_nearly_match") is None
    assert found("no_judged_docs") is None


def test_ids_that_are_numbers_on_one_side(found, make_qrels, make_run):
    qrels = make_qrels([("7", "d1", 1)], integer_ids=frozenset({"query"}))
    run = make_run([("7", "d1", 1)])
    assert "whole numbers in the qrels" in found("mixed_id_types", qrels=qrels, run=run).message
    run = make_run([("7", "d1", 1)], integer_ids=frozenset({"query"}))
    assert found("mixed_id_types", qrels=qrels, run=run) is None
    assert "whole numbers in the run" in found("mixed_id_types", run=run).message


def test_a_low_share_judged_is_a_warning(found, make_qrels, make_run):
    """q1: 1 of 2, q2: 2 of 4 (a grade below 0 is no judgment), q3 is not in the qrels."""
    qrels = make_qrels([("q1", "a", 1), ("q2", "a", 0), ("q2", "b", 1), ("q2", "c", -1)])
    run = make_run(
        [("q1", "a", 2), ("q1", "x", 1), ("q2", "a", 4), ("q2", "b", 3), ("q2", "c", 2), ("q2", "y", 1), ("q3", "z", 1)]
    )
    finding = found("share_judged", qrels=qrels, run=run)
    assert (finding.level, finding.message) == (
        "warning",
        "judged: 50.0% of the first 10 docs, 50.0% of the first 100 docs",
    )


def test_where_only_relevant_docs_are_judged_a_low_share_is_a_remark(found, make_qrels, make_run):
    qrels = make_qrels([("q1", "a", 1), ("q2", "b", 1)])
    finding = found("share_judged", qrels=qrels, run=make_run([("q1", "x", 2), ("q2", "b", 1), ("q2", "y", 0)]))
    assert (finding.level, finding.hint) == ("remark", "")
    assert "only relevant docs are judged" in finding.message


def test_the_first_10_are_those_of_the_highest_scores(found, make_qrels, make_run):
    qrels = make_qrels([("q1", f"d{i}", i % 2) for i in range(10)])
    run = make_run([("q1", f"x{i}", i) for i in range(10)] + [("q1", f"d{i}", 100 + i) for i in range(10)])
    assert found("share_judged", qrels=qrels, run=run).message.startswith("judged: 100.0% of the first 10 docs, 50.0%")


def test_over_subtopics_the_best_grade_counts(found, make_qrels, make_run):
    """A doc that is pooled but unjudged for one subtopic and judged for another is judged."""
    qrels = make_qrels([("q1", "a", -1), ("q1", "a", 1), ("q1", "b", 0)], subtopic=["1", "2", "1"])
    assert "100.0% of the first 10" in found("share_judged", qrels=qrels, run=make_run([("q1", "a", 1)])).message


def test_a_shared_query_that_retrieves_nothing_has_no_share(found, make_run):
    run = make_run([("q9", "d1", 1)], empty_queries=("q1",))
    assert found("share_judged", run=run).message.startswith("judged: 0.0%")
