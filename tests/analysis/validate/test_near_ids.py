"""Ids that nearly match, and ids that do not."""

from __future__ import annotations

import pytest

from rankscope.align.near_ids import SPELLINGS, find_near_match, prefixes, suffixes

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
def test_query_ids_that_nearly_match(difference, found, make_qrels, make_run):
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
    assert find_near_match(judged, retrieved) is None


def test_prefixes_end_where_words_do():
    assert prefixes(["doc-10", "doc-11"]) == ["", "doc", "doc-"]
    assert prefixes(["10", "19"]) == [""]
    assert suffixes(["a.txt.gz", "b.txt.gz"]) == ["", "gz", ".gz", "txt.gz", ".txt.gz"]
