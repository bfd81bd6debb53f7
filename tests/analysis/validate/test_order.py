"""Grades and scores that look inverted: small examples, and the codes of the Cranfield collection."""

from __future__ import annotations

import gzip
import json
import math
import re
from collections import Counter
from pathlib import Path

import pytest

from rankscope.analysis.validate import validate_rows
from rankscope.io.rows import RunRows

SHARED = Path(__file__).parents[3].parent / "shared" / "data"


@pytest.fixture
def ranked_by(make_qrels, make_run):
    """Return a function that makes 20 queries whose docs are ranked by their grade, or against it."""

    def make(sign: int):
        judged = [(f"q{i}", f"d{j}", j % 3) for i in range(20) for j in range(6)]
        scored = [(query, doc, sign * grade + j / 10) for j, (query, doc, grade) in enumerate(judged)]
        return make_qrels(judged), make_run(scored)

    return make


def test_grades_that_look_inverted(found, ranked_by):
    qrels, run = ranked_by(-20)
    finding = found("inverted_grades", qrels=qrels, run=run)
    assert (finding.level, finding.where) == ("warning", "qrels")
    assert "grades look inverted (1 = best?): in 100.0% of 240 pairs of differently graded docs" in finding.message
    assert finding.examples == ("run: 100.0% of 240 pairs",)


def test_grades_that_are_followed(found, ranked_by):
    qrels, run = ranked_by(20)
    assert found("inverted_grades", qrels=qrels, run=run) is None
    assert found("inverted_scores", qrels=qrels, run=run) is None


def test_too_few_pairs_say_nothing(found, make_qrels, make_run):
    qrels = make_qrels([("q1", "d1", 0), ("q1", "d2", 1)])
    assert found("inverted_grades", qrels=qrels, run=make_run([("q1", "d1", 2), ("q1", "d2", 1)])) is None


def test_tied_docs_say_nothing(found, make_run, ranked_by):
    qrels, run = ranked_by(-20)
    assert (
        found(
            "inverted_grades", qrels=qrels, run=make_run([(q, d, 1) for q, d in zip(run.query, run.doc, strict=True)])
        )
        is None
    )


def test_inverted_relevant_grades_are_seen_behind_many_docs_of_grade_0(found, make_qrels, make_run):
    """0 = non-relevant, 1 = best, 3 = worst: against the docs of grade 0 all relevant ones are ranked well."""
    judged = [(f"q{i}", f"d{j}", max(0, j - 20)) for i in range(50) for j in range(24)]
    run = make_run(
        [(query, doc, (0 if grade == 0 else 100 - grade) + i / 10_000) for i, (query, doc, grade) in enumerate(judged)]
    )
    finding = found("inverted_grades", qrels=make_qrels(judged), run=run)
    assert "in 100.0% of 150 pairs of differently graded relevant docs" in finding.message


def test_one_inverted_run_among_others_has_distances_for_scores(ranked_by):
    qrels, good = ranked_by(20)
    _, bad = ranked_by(-20)
    findings = validate_rows(qrels, {"a": good, "b": good, "bad": bad})
    assert [(finding.where, finding.level) for finding in findings if finding.code == "inverted_scores"] == [
        ("bad", "warning")
    ]
    assert not [finding for finding in findings if finding.code == "inverted_grades"]


@pytest.fixture(scope="module")
def cranfield_run(make_run) -> RunRows:
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


def test_cranfields_raw_codes_look_inverted(cranfield_run, found, make_qrels):
    finding = found("inverted_grades", qrels=make_qrels(cranfield_codes()), run=cranfield_run)
    assert (finding.level, finding.where) == ("warning", "qrels")
    assert "the lowest grade is the rarest" in finding.message


def test_cranfields_grades_do_not(cranfield_run, found, make_qrels):
    grades = [(query, doc, 5 - code if code > 0 else 0) for query, doc, code in cranfield_codes()]
    assert found("inverted_grades", qrels=make_qrels(grades), run=cranfield_run) is None
    only_relevant = [(query, doc, 5 - code) for query, doc, code in cranfield_codes() if code > 0]
    assert found("inverted_grades", qrels=make_qrels(only_relevant), run=cranfield_run) is None
