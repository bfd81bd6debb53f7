"""Each check of `validate` on rows written by hand: one example in which it finds something, one in which it does not."""

from __future__ import annotations

import gzip
import json
import math
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from rankscope.core.rows import QrelsRows, RunRows
from rankscope.core.validate import (
    SPELLINGS,
    Finding,
    malformed_lines,
    nearest,
    percent,
    prefixes,
    run_table,
    shown,
    suffixes,
    validate,
)
from rankscope.errors import BadLine

SHARED = Path(__file__).parents[2].parent / "shared" / "data"


def make_qrels(rows, *, subtopic=None, rater=None, **more) -> QrelsRows:
    """Return qrels from (query, doc, grade)."""
    queries, docs, grades = zip(*rows, strict=True) if rows else ((), (), ())
    return QrelsRows(queries, docs, np.array(grades, dtype=float), subtopic=subtopic, rater=rater, **more)


def make_run(rows, *, rank=None, **more) -> RunRows:
    """Return a run from (query, doc, score)."""
    queries, docs, scores = zip(*rows, strict=True) if rows else ((), (), ())
    ranks = None if rank is None else np.array(rank, dtype=np.int64)
    return RunRows(queries, docs, np.array(scores, dtype=float), rank=ranks, **more)


GOOD_QRELS = make_qrels([(query, f"d{i}", i % 2) for query in ("q1", "q2") for i in range(12)])
GOOD_RUN = make_run([(query, f"d{i}", 12.0 - i) for query in ("q1", "q2") for i in range(12)])


def found(code: str, *, qrels: QrelsRows = GOOD_QRELS, run: RunRows = GOOD_RUN) -> Finding | None:
    """Return the finding of a code, or None; that there are never two of one code in one place is checked here."""
    findings = [finding for finding in validate(qrels, {"run": run}) if finding.code == code]
    assert len({finding.where for finding in findings}) == len(findings)
    return findings[0] if findings else None


def test_of_good_files_only_the_depth_and_the_share_judged_are_told():
    findings = validate(GOOD_QRELS, {"run": GOOD_RUN})
    assert [(finding.level, finding.code) for finding in findings] == [("remark", "depth"), ("remark", "share_judged")]
    assert findings[0].message == "12 docs per query"
    assert findings[1].message == "judged: 100.0 % of the first 10 docs, 100.0 % of the first 100 docs"


def test_findings_are_grouped_by_place_and_the_worst_come_first():
    bad = make_run([("q1", "d1", 1), ("q1", "d1", 1), ("q1", "d2", 1)])
    findings = validate(make_qrels([("q1", "d1", 1), ("q9", "d1", 0)]), {"b": bad, "a": GOOD_RUN}, qrels_name="judged")
    assert [(finding.where, finding.level) for finding in findings] == sorted(
        ((finding.where, finding.level) for finding in findings),
        key=lambda one: (["judged", "b", "a"].index(one[0]), ["error", "warning", "remark"].index(one[1])),
    )
    assert {finding.where for finding in findings} == {"judged", "b", "a"}


def test_files_without_rows_are_errors():
    findings = validate(make_qrels([]), {"run": make_run([])})
    assert [(finding.where, finding.code) for finding in findings] == [("qrels", "no_rows"), ("run", "no_rows")]


# duplicates


def test_a_doc_listed_twice_for_a_query():
    run = make_run([("q1", "d1", 5), ("q1", "d2", 4), ("q1", "d1", 3), ("q2", "d1", 2), ("q1", "d1", 1)])
    finding = found("duplicate_docs", run=run)
    assert (finding.level, finding.where) == ("error", "run")
    assert "2 of 5 rows" in finding.message
    assert finding.examples == ('query "q1", doc "d1"',) * 2


def test_at_most_three_examples():
    run = make_run([("q1", f"d{i % 5}", i) for i in range(10)])
    assert len(found("duplicate_docs", run=run).examples) == 3


def test_the_same_doc_for_two_queries_is_no_duplicate():
    assert found("duplicate_docs") is None


def test_a_doc_judged_twice():
    qrels = make_qrels([("q1", "d1", 1), ("q1", "d1", 0), ("q1", "d2", 1), ("q1", "d2", 1)])
    finding = found("duplicate_docs", qrels=qrels)
    assert (finding.level, finding.where) == ("error", "qrels")
    assert "2 of 4 rows, 1 of them with another grade" in finding.message
    assert "--duplicates first" in finding.hint


def test_a_doc_judged_for_two_subtopics_is_no_duplicate():
    rows = [("q1", "d1", 1), ("q1", "d1", 0), ("q1", "d2", 0)]
    assert found("duplicate_docs", qrels=make_qrels(rows, subtopic=["1", "2", "1"])) is None
    assert "subtopic" in found("duplicate_docs", qrels=make_qrels(rows, subtopic=["1", "1", "1"])).message


def test_docs_judged_by_several_raters_need_one_grade():
    qrels = make_qrels([("q1", "d1", 1), ("q1", "d1", 2)], rater=["ann", "bob"])
    assert "combine" in found("duplicate_docs", qrels=qrels).hint


# scores and ranks


def test_scores_that_are_not_numbers():
    finding = found("score_not_a_number", run=make_run([("q1", "d1", math.nan), ("q1", "d2", 1)]))
    assert finding.examples == ('query "q1", doc "d1"',)
    assert found("score_not_a_number") is None


def test_many_ties_are_a_warning_that_tells_trec_evals_rule():
    run = make_run([("q1", f"d{i}", 100 - i) for i in range(18)] + [("q1", "x", 1), ("q1", "y", 1)])
    finding = found("tied_scores", run=run)
    assert finding.level == "warning"
    assert "2 of 20 rows (10.0 %), in 1 of 1 queries" in finding.message
    assert finding.examples == ('query "q1", score 1.0',)
    assert "doc id, descending" in finding.hint


def test_few_ties_are_a_remark():
    run = make_run([("q1", f"d{i}", 100 - i) for i in range(38)] + [("q1", "x", 1), ("q1", "y", 1)])
    finding = found("tied_scores", run=run)
    assert (finding.level, "2 of 40 rows (5.0 %)" in finding.message) == ("remark", True)


def test_equal_scores_of_different_queries_are_no_ties():
    assert found("tied_scores") is None


def test_a_constant_scorer():
    run = make_run(
        [(q, f"d{i}", 0.5) for q in ("q1", "q2") for i in range(3)]
        + [("q3", "d1", 2), ("q3", "d2", 1), ("q4", "d1", 1)]
    )
    finding = found("constant_scores", run=run)
    assert (finding.level, "in 2 of 3 queries" in finding.message) == ("warning", True)
    assert found("tied_scores", run=run) is None


def test_queries_with_one_doc_do_not_make_a_constant_scorer():
    assert found("constant_scores", run=make_run([("q1", "d1", 1), ("q2", "d1", 1)])) is None


def test_scores_tied_only_in_single_precision():
    run = make_run([("q1", "d1", 1.0), ("q1", "d2", 1.00000001), ("q1", "d3", 0.5), ("q1", "d4", 0.5)])
    finding = found("single_precision_ties", run=run)
    assert (finding.level, "2 of 4 rows (50.0 %)" in finding.message) == ("warning", True)
    assert "--precision single" in finding.hint
    assert found("single_precision_ties") is None


def test_scores_beyond_single_precision_are_tied_there():
    assert found("single_precision_ties", run=make_run([("q1", "d1", 1e300), ("q1", "d2", 1e200)])) is not None


def test_ranks_that_contradict_scores():
    run = make_run([("q1", "d1", 3), ("q1", "d2", 1), ("q1", "d3", 2)], rank=[1, 2, 3])
    finding = found("ranks_against_scores", run=run)
    assert (finding.level, "1 of 2 docs (50.0 %)" in finding.message) == ("warning", True)
    assert finding.examples == ('query "q1": rank 2 has score 1, rank 3 has 2',)
    assert "as in trec_eval" in finding.hint


def test_scores_that_rise_down_the_list_may_be_distances():
    run = make_run([("q1", f"d{i}", i) for i in range(10)], rank=range(10))
    assert "distances" in found("ranks_against_scores", run=run).hint


@pytest.mark.parametrize("rank", [[3, 2, 1], [2, 1, 0], [1, 1, 1], None])
def test_ranks_that_follow_the_scores_or_are_not_there(rank):
    run = make_run([("q1", "d1", 1), ("q1", "d2", 2), ("q1", "d3", 3)], rank=rank)
    assert found("ranks_against_scores", run=run) is None


def test_repeated_ranks():
    run = make_run([("q1", "d1", 3), ("q1", "d2", 2), ("q2", "d3", 1)], rank=[1, 1, 1])
    finding = found("repeated_ranks", run=run)
    assert (finding.level, "1 of 3 rows" in finding.message) == ("remark", True)
    assert finding.examples == ('query "q1", doc "d2": rank 1',)
    assert found("repeated_ranks", run=make_run([("q1", "d1", 3), ("q1", "d2", 2)], rank=[1, 2])) is None


def test_positions_are_those_of_trec_eval():
    """By score, then by doc id, descending by bytes: ~ is above letters, and ä above both."""
    run = run_table("run", make_run([("q", "b", 1), ("q", "ä", 1), ("q", "~", 1), ("q", "a", 2), ("p", "a", 0)]))
    assert run.position.tolist() == [3, 1, 2, 0, 0]


def test_depth_is_told_with_its_spread():
    run = make_run([("q1", "d1", 3), ("q1", "d2", 2), ("q1", "d3", 1), ("q2", "d3", 1)], empty_queries=("q3",))
    assert found("depth", run=run).message == "0 to 3 docs per query, 1 in the median"


def test_short_rankings():
    run = make_run([("q1", "d1", 1), *(("q2", f"d{i}", i) for i in range(10))])
    finding = found("short_rankings", run=run)
    assert (finding.level, finding.examples) == ("remark", ('query "q1": 1',))
    assert found("short_rankings") is None


def test_docs_with_the_querys_own_id():
    finding = found("self_matches", run=make_run([("7", "7", 1), ("7", "8", 2), ("9", "8", 1)]))
    assert (finding.level, finding.examples) == ("remark", ('"7"',))
    assert "--self-match drop" in finding.hint
    assert found("self_matches") is None


# queries on one side, ids that nearly match


def test_queries_of_the_qrels_that_are_not_answered():
    run = make_run([("q1", "d1", 1), ("other", "d1", 1)])
    finding = found("queries_not_answered", run=run)
    assert (finding.level, finding.examples) == ("warning", ('"q2"',))
    assert "1 of 2 queries of the qrels" in finding.message
    assert found("queries_not_judged", run=run).examples == ('"other"',)
    assert found("queries_not_judged", run=run).level == "remark"


def test_all_queries_on_both_sides():
    assert found("queries_not_answered") is None
    assert found("queries_not_judged") is None


def test_queries_answered_with_nothing_are_answered():
    assert found("queries_not_answered", run=make_run([("q1", "d1", 1)], empty_queries=("q2",))) is None


def test_no_query_in_common():
    run = make_run([("a", "d1", 1), ("b", "d1", 1), ("c", "d1", 1), ("e", "d1", 1)])
    finding = found("no_overlap", run=run)
    assert finding.level == "error"
    assert finding.examples == ('qrels: "q1", "q2"', 'run: "a", "b", "c"')
    assert found("share_judged", run=run) is None
    assert found("no_overlap") is None


NEAR = {
    "leading zeros": (["7", "8"], ["007", "8"], 'run "007" ~ qrels "7"'),
    "upper and lower case": (["q7a", "x"], ["Q7A", "y"], 'run "Q7A" ~ qrels "q7a"'),
    "Unicode normalisation (NFC and NFD)": (["caf\u00e9"], ["cafe\u0301"], r"run 'cafe\u0301' ~ qrels 'caf\xe9'"),
    "blanks or quotes around them": (["q7"], ['"q7"'], 'run ""q7"" ~ qrels "q7"'),
    "a final .0, as of numbers saved as floats": (["7"], ["7.0"], 'run "7.0" ~ qrels "7"'),
    "several differences of spelling (case, zeros, blanks, quotes, .0)": (["q7"], ["'Q07'"], "run \"'Q07'\" ~ qrels \"q7\""),
    'the prefix "q" in the run': (["1", "10", "11"], ["q1", "q10", "q12"], 'run "q1" ~ qrels "1"'),
    'the prefix "MSMARCO_" in the qrels': (["MSMARCO_D1", "MSMARCO_D2"], ["D1", "D2"], 'run "D1" ~ qrels "MSMARCO_D1"'),
    'the suffix ".txt" in the run': (["a1", "b2"], ["a1.txt", "b2.txt"], 'run "a1.txt" ~ qrels "a1"'),
    'the prefix "doc-" and the suffix ".html" in the run': (["1", "2"], ["doc-1.html", "doc-2.html"], 'run "doc-1.html" ~ qrels "1"'),
    'the prefix "q" in the qrels and the prefix "topic-" in the run': (["q1", "q2"], ["topic-1", "topic-2"], 'run "topic-1" ~ qrels "q1"'),
}  # fmt: skip


@pytest.mark.parametrize("difference", NEAR)
def test_query_ids_that_nearly_match(difference):
    judged, retrieved, example = NEAR[difference]
    qrels = make_qrels([(query, "d1", 1) for query in judged])
    finding = found("query_ids_nearly_match", qrels=qrels, run=make_run([(query, "d1", 1) for query in retrieved]))
    assert f"query ids differ only by {difference}:" in finding.message
    assert finding.examples[0] == example
    assert finding.level == ("warning" if set(judged) & set(retrieved) else "error")


def test_every_spelling_is_tried_above():
    assert set(SPELLINGS) <= set(NEAR)


@pytest.mark.parametrize(
    ("judged", "retrieved"),
    [
        (["301", "302", "303"], ["401", "402", "403"]),
        (["12", "15"], ["22", "25"]),
        (["abc"], ["xyz"]),
        (["7"], ["70"]),
        (["q1"], ["1"]),  # a single id says nothing of a prefix that all have
    ],
)
def test_other_ids_do_not_nearly_match(judged, retrieved):
    assert nearest(judged, retrieved) is None


def test_ids_that_match_are_not_compared():
    assert found("query_ids_nearly_match") is None
    assert found("query_ids_nearly_match", run=make_run([("q1", "d1", 1)])) is None


def test_prefixes_end_where_words_do():
    assert prefixes(["doc-10", "doc-11"]) == ["", "doc", "doc-"]
    assert prefixes(["10", "19"]) == [""]
    assert suffixes(["a.txt.gz", "b.txt.gz"]) == ["", "gz", ".gz", "txt.gz", ".txt.gz"]


def test_doc_ids_that_nearly_match():
    run = make_run([("q1", f"D{i}", 12 - i) for i in range(12)])
    finding = found("doc_ids_nearly_match", run=run)
    assert finding.level == "error"
    assert "upper and lower case: 0 of 12 judged docs are retrieved, 12 would match" in finding.message
    assert finding.examples[0] == 'run "D0" ~ qrels "d0"'
    assert found("no_judged_docs", run=run) is None


def test_a_few_docs_that_match_by_chance_make_it_a_warning():
    qrels = make_qrels([("q1", f"{i}", 1) for i in range(200)])
    run = make_run([("q1", f"{i:04}", 200 - i) for i in range(200)] + [("q1", "7", 0)])
    finding = found("doc_ids_nearly_match", qrels=qrels, run=run)
    assert (finding.level, "1 of 200 judged docs are retrieved, 199 would match" in finding.message) == (
        "warning",
        True,
    )


def test_docs_of_another_collection():
    run = make_run([("q1", "x", 1), ("q2", "y", 1)])
    finding = found("no_judged_docs", run=run)
    assert (finding.level, finding.examples[1]) == ("warning", 'run: "x", "y"')


def test_judged_docs_that_are_retrieved():
    assert found("doc_ids_nearly_match") is None
    assert found("no_judged_docs") is None


def test_ids_that_are_numbers_on_one_side():
    qrels = make_qrels([("7", "d1", 1)], integer_ids=frozenset({"query"}))
    run = make_run([("7", "d1", 1)])
    assert "whole numbers in the qrels" in found("mixed_id_types", qrels=qrels, run=run).message
    run = make_run([("7", "d1", 1)], integer_ids=frozenset({"query"}))
    assert found("mixed_id_types", qrels=qrels, run=run) is None
    assert "whole numbers in the run" in found("mixed_id_types", run=run).message


# grades


def ranked_by(sign: int) -> tuple[QrelsRows, RunRows]:
    """Return 20 queries whose docs are ranked by their grade, or against it."""
    judged = [(f"q{i}", f"d{j}", j % 3) for i in range(20) for j in range(6)]
    return make_qrels(judged), make_run(
        [(query, doc, sign * grade + j / 10) for j, (query, doc, grade) in enumerate(judged)]
    )


def test_grades_that_look_inverted():
    qrels, run = ranked_by(-20)
    finding = found("inverted_grades", qrels=qrels, run=run)
    assert (finding.level, finding.where) == ("warning", "qrels")
    assert "grades look inverted (1 = best?): in 100.0 % of 240 pairs of differently graded docs" in finding.message
    assert finding.examples == ("run: 100.0 % of 240 pairs",)


def test_grades_that_are_followed():
    qrels, run = ranked_by(20)
    assert found("inverted_grades", qrels=qrels, run=run) is None
    assert found("inverted_scores", qrels=qrels, run=run) is None


def test_too_few_pairs_say_nothing():
    qrels = make_qrels([("q1", "d1", 0), ("q1", "d2", 1)])
    assert found("inverted_grades", qrels=qrels, run=make_run([("q1", "d1", 2), ("q1", "d2", 1)])) is None


def test_tied_docs_say_nothing():
    qrels, run = ranked_by(-20)
    assert (
        found(
            "inverted_grades", qrels=qrels, run=make_run([(q, d, 1) for q, d in zip(run.query, run.doc, strict=True)])
        )
        is None
    )


def test_inverted_relevant_grades_are_seen_behind_many_docs_of_grade_0():
    """0 = non-relevant, 1 = best, 3 = worst: against the docs of grade 0 all relevant ones are ranked well."""
    judged = [(f"q{i}", f"d{j}", max(0, j - 20)) for i in range(50) for j in range(24)]
    run = make_run(
        [(query, doc, (0 if grade == 0 else 100 - grade) + i / 10_000) for i, (query, doc, grade) in enumerate(judged)]
    )
    finding = found("inverted_grades", qrels=make_qrels(judged), run=run)
    assert "in 100.0 % of 150 pairs of differently graded relevant docs" in finding.message


def test_one_inverted_run_among_others_has_distances_for_scores():
    qrels, good = ranked_by(20)
    _, bad = ranked_by(-20)
    findings = validate(qrels, {"a": good, "b": good, "bad": bad})
    assert [(finding.where, finding.level) for finding in findings if finding.code == "inverted_scores"] == [
        ("bad", "warning")
    ]
    assert not [finding for finding in findings if finding.code == "inverted_grades"]


def test_grades_above_the_usual():
    qrels = make_qrels([("q1", "d1", 11), ("q1", "d2", 10), ("q1", "d3", 0)])
    finding = found("high_grades", qrels=qrels)
    assert (finding.level, finding.examples) == ("warning", ('query "q1", doc "d1": 11',))
    assert found("high_grades") is None


def test_fractional_grades():
    finding = found("fractional_grades", qrels=make_qrels([("q1", "d1", 0.5), ("q1", "d2", 2)]))
    assert (finding.level, finding.examples) == ("remark", ('query "q1", doc "d1": 0.5',))
    assert found("fractional_grades") is None


def test_grades_that_are_not_numbers():
    qrels = make_qrels([("q1", "d1", math.nan), ("q1", "d2", math.inf), ("q1", "d3", 1)])
    assert found("grade_not_a_number", qrels=qrels).level == "error"
    assert found("high_grades", qrels=qrels) is None
    assert found("grade_not_a_number") is None


def test_no_relevant_doc_at_all():
    finding = found("no_relevant_docs", qrels=make_qrels([("q1", "d1", 0), ("q1", "d2", -1)]))
    assert (finding.level, finding.message) == ("error", "no relevant docs at all")
    assert found("no_relevant_docs") is None


def test_grades_below_1_need_a_threshold():
    finding = found("no_relevant_docs", qrels=make_qrels([("q1", "d1", 0.9), ("q1", "d2", 0)]))
    assert (finding.level, "--min-rel" in finding.hint) == ("warning", True)


def test_only_relevant_docs_judged():
    finding = found("only_relevant_judged", qrels=make_qrels([("q1", "d1", 1), ("q1", "d2", 1), ("q1", "d3", -1)]))
    assert (finding.level, "bpref and Judged tell little" in finding.message) == ("remark", True)
    assert found("only_relevant_judged") is None


def test_queries_without_a_relevant_doc():
    qrels = make_qrels([("q1", "d1", 1), ("q2", "d1", 0), ("q3", "d1", -1)], empty_queries=("q4",))
    finding = found("queries_without_relevant_docs", qrels=qrels)
    assert (finding.level, finding.examples) == ("remark", ('"q2"', '"q3"', '"q4"'))
    assert "3 of 4 queries" in finding.message
    assert found("queries_without_relevant_docs") is None


def test_a_low_share_judged_is_a_warning():
    """q1: 1 of 2, q2: 2 of 4 (a grade below 0 is no judgment), q3 is not in the qrels."""
    qrels = make_qrels([("q1", "a", 1), ("q2", "a", 0), ("q2", "b", 1), ("q2", "c", -1)])
    run = make_run(
        [("q1", "a", 2), ("q1", "x", 1), ("q2", "a", 4), ("q2", "b", 3), ("q2", "c", 2), ("q2", "y", 1), ("q3", "z", 1)]
    )
    finding = found("share_judged", qrels=qrels, run=run)
    assert (finding.level, finding.message) == (
        "warning",
        "judged: 50.0 % of the first 10 docs, 50.0 % of the first 100 docs",
    )


def test_where_only_relevant_docs_are_judged_a_low_share_is_a_remark():
    qrels = make_qrels([("q1", "a", 1), ("q2", "b", 1)])
    finding = found("share_judged", qrels=qrels, run=make_run([("q1", "x", 2), ("q2", "b", 1), ("q2", "y", 0)]))
    assert (finding.level, finding.hint) == ("remark", "")
    assert "only relevant docs are judged" in finding.message


def test_the_first_10_are_those_of_the_highest_scores():
    qrels = make_qrels([("q1", f"d{i}", i % 2) for i in range(10)])
    run = make_run([("q1", f"x{i}", i) for i in range(10)] + [("q1", f"d{i}", 100 + i) for i in range(10)])
    assert found("share_judged", qrels=qrels, run=run).message.startswith(
        "judged: 100.0 % of the first 10 docs, 50.0 %"
    )


def test_over_subtopics_the_best_grade_counts():
    """A doc that is pooled but unjudged for one subtopic and judged for another is judged."""
    qrels = make_qrels([("q1", "a", -1), ("q1", "a", 1), ("q1", "b", 0)], subtopic=["1", "2", "1"])
    assert "100.0 % of the first 10" in found("share_judged", qrels=qrels, run=make_run([("q1", "a", 1)])).message


def test_a_shared_query_that_retrieves_nothing_has_no_share():
    run = make_run([("q9", "d1", 1)], empty_queries=("q1",))
    assert found("share_judged", run=run).message.startswith("judged: 0.0 %")


# encodings


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("not_utf8", b"caf\xe9".decode("utf-8", "surrogateescape")),
        ("replacement_character", "caf\ufffd"),
        ("mojibake", "caf\u00c3\u00a4"),
        ("mojibake", "l\u00e2\u20ac\u2122art"),
        ("byte_order_mark", "q\ufeff1"),
        ("control_character", "q\x011"),
        ("control_character", "q\x7f"),
    ],
)
def test_damaged_ids(code, name):
    for qrels, run in (
        (make_qrels([(name, "d1", 1)]), GOOD_RUN),
        (make_qrels([("q1", name, 1)]), GOOD_RUN),
        (GOOD_QRELS, make_run([("q1", name, 1)])),
    ):
        finding = found(code, qrels=qrels, run=run)
        assert (finding.level, finding.examples) == ("warning", (ascii(name),))
        assert finding.examples[0].isascii()


@pytest.mark.parametrize("name", ["café", "Ärzte", "S\u00c3O", "日本語", "naïve", "Привет", "a b", "âge"])
def test_ids_of_all_languages_are_sound(name):
    codes = {finding.code for finding in validate(make_qrels([(name, name, 1)]), {"run": make_run([(name, name, 1)])})}
    assert codes <= {"depth", "short_rankings", "share_judged", "self_matches", "only_relevant_judged"}


def test_a_damaged_id_is_reported_once():
    run = make_run([("q1", "\u00e2\u0080\u0099", 1)])  # mojibake, whose bytes are also control characters
    assert found("mojibake", run=run) is not None
    assert found("control_character", run=run) is None


# words


def test_malformed_lines():
    bad = [BadLine("run.txt", n, f"line {n}", "5 fields where 6 are needed") for n in range(1, 6)]
    (finding,) = malformed_lines("run.txt", bad)
    assert (finding.level, finding.message) == ("error", "malformed lines, left out here: 5")
    assert finding.examples[0] == 'run.txt:1: 5 fields where 6 are needed: "line 1"'
    assert len(finding.examples) == 3
    assert not list(malformed_lines("run.txt", []))


@pytest.mark.parametrize(
    ("n", "total", "expected"),
    [(0, 7, "0.0 %"), (1, 10_000, "under 0.1 %"), (1, 8, "12.5 %"), (9_999, 10_000, "over 99.9 %"), (3, 3, "100.0 %")],
)
def test_percent(n, total, expected):
    assert percent(n, total) == expected


def test_what_cannot_be_seen_is_escaped():
    assert (shown("ä"), shown("a\u200bb"), shown("\udce4")) == ('"ä"', r"'a\u200bb'", r"'\udce4'")


# Cranfield's codes


@pytest.fixture(scope="module")
def cranfield_run() -> RunRows:
    """Return a ranking by the terms shared with the query, rare ones counting more."""
    folder = SHARED / "collections" / "cranfield"
    if not folder.is_dir():
        pytest.skip("the folder of real files, shared/data beside the repository, is not here")
    with gzip.open(folder / "corpus.jsonl.gz", "rt", encoding="utf-8") as lines:
        terms = {doc["_id"]: set(re.findall("[a-z]+", doc["text"].lower())) for doc in map(json.loads, lines)}
    n_docs = Counter(term for doc_terms in terms.values() for term in doc_terms)
    rows = []
    for line in (folder / "queries.jsonl").read_text(encoding="utf-8").splitlines():
        query = json.loads(line)
        wanted = set(re.findall("[a-z]+", query["text"].lower()))
        scores = {
            doc: sum(math.log(len(terms) / n_docs[term]) for term in sorted(wanted & doc_terms))
            / math.sqrt(1 + len(doc_terms))
            for doc, doc_terms in terms.items()
        }
        rows += [(query["_id"], doc, scores[doc]) for doc in sorted(scores, key=scores.__getitem__, reverse=True)[:100]]
    return make_run(rows)


def cranfield_codes() -> list[tuple[str, str, float]]:
    """Return the judgments as published: 1 is a complete answer, 4 of minimum interest."""
    lines = (SHARED / "collections" / "cranfield" / "qrels.raw.txt").read_text(encoding="utf-8").splitlines()
    return [(query, doc, float(code)) for query, doc, code in map(str.split, lines)]


def test_cranfields_raw_codes_look_inverted(cranfield_run):
    finding = found("inverted_grades", qrels=make_qrels(cranfield_codes()), run=cranfield_run)
    assert (finding.level, finding.where) == ("warning", "qrels")
    assert "the lowest grade is the rarest" in finding.message


def test_cranfields_grades_do_not(cranfield_run):
    grades = [(query, doc, 5 - code if code > 0 else 0) for query, doc, code in cranfield_codes()]
    assert found("inverted_grades", qrels=make_qrels(grades), run=cranfield_run) is None
    only_relevant = [(query, doc, 5 - code) for query, doc, code in cranfield_codes() if code > 0]
    assert found("inverted_grades", qrels=make_qrels(only_relevant), run=cranfield_run) is None
