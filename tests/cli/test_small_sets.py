"""A handful of queries on the command line: intervals, unanswered queries, and what a project's report says of them."""

import csv
import json
import re

import pytest

import rankscope as rs
from rankscope.errors import RankscopeWarning
from rankscope.report.evaluation import notes

QUERIES = ("q1", "q2", "q3", "q4", "q5")
DOCS = [f"d{i}" for i in range(10)]


@pytest.fixture
def five(tmp_path, monkeypatch):
    """Go to a folder with five queries of which every doc is judged; `part` does not answer two of them."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "qrels.txt").write_text("".join(f"{q} 0 {d} {int(d < 'd3')}\n" for q in QUERIES for d in DOCS))
    for name, answered in (("whole", QUERIES), ("part", QUERIES[:3])):
        rows = (f"{q} Q0 {d} {r} {10 - r} {name}\n" for q in answered for r, d in enumerate(DOCS))
        (tmp_path / f"{name}.run").write_text("".join(rows))


def joined(text):
    return re.sub(r"\s+", " ", text)


@pytest.mark.usefixtures("five")
def test_unanswered_queries_are_a_number_of_their_own_and_never_unjudged(rankscope):
    done = rankscope("evaluate", "qrels.txt", "part.run", "-m", "Judged@10 Unjudged@10 nDCG@10")
    assert re.search(r"part +1\.0000 \(n=3\) +0\.0000 +0\.6000", done.out)
    assert "0% of the retrieved docs are unjudged" in done.out
    assert "part: 2 queries not answered (counted as 0); Judged@10 undefined for 2 queries (left out)" in done.out
    compared = json.loads(rankscope("compare", "qrels.txt", "whole.run", "part.run", "--format", "json").out)
    pair = compared["groups"][0]["comparisons"][0]
    assert (pair["judged"]["a"], pair["judged"]["b"], pair["n_missing"]) == (1, 1, {"a": 0, "b": 2})
    text = joined(rankscope("compare", "qrels.txt", "whole.run", "part.run").out)
    assert (
        "Judged: 100% of part's first 10 results, 100% of whole's, on average over the queries that each answers."
        in text
    )
    assert "part does not answer 2 queries (counted as empty): q4, q5." in text
    found = json.loads(rankscope("diagnose", "qrels.txt", "part.run", "--format", "json").out)
    assert found["unjudged_share"] == 0
    assert [f["n_queries"] for f in found["findings"] if f["code"] == "not_answered"] == [2]
    assert "judged: 100.0% of the first 10 docs" in rankscope("validate", "qrels.txt", "part.run").out


@pytest.mark.usefixtures("five")
def test_where_undefined_counts_as_0_it_is_said(rankscope):
    done = rankscope("evaluate", "qrels.txt", "part.run", "-m", "Judged@10 nDCG@10", "--undefined", "zero")
    assert "part: 2 queries not answered (counted as 0); Judged@10 undefined for 2 queries (counted as 0)" in done.out
    assert "nDCG@10 undefined" not in done.out


def test_a_run_without_docs_has_no_share_of_unjudged_ones():
    scores = rs.evaluate({"q1": {"d": 1}, "q2": {"d": 1}}, {"empty": {"q1": [], "q2": []}}, "nDCG@10")
    assert next(notes(scores)) == "2 queries; no docs were retrieved"


@pytest.mark.usefixtures("five")
def test_a_report_of_saved_scores_says_nothing_of_docs(rankscope, tmp_path):
    rankscope("evaluate", "qrels.txt", "part.run", "-o", "scores.json")
    assert rankscope("report", "scores.json", "-o", "report.txt").code == 0
    text = (tmp_path / "report.txt").read_text()
    assert "unjudged" not in text
    assert text.count("5 queries; scores as given") == 2
    assert text.count("part: 2 queries not answered") == 2


@pytest.mark.usefixtures("five")
def test_saved_scores_know_which_queries_were_not_answered(rankscope):
    rankscope("evaluate", "qrels.txt", "whole.run", "part.run", "-o", "scores.json")
    done = rankscope("compare", "--scores", "scores.json")
    assert "part does not answer 2 queries (counted as empty): q4, q5." in joined(done.out)
    gate = rankscope("compare", "--scores", "scores.json", "--fail-if-worse")
    assert gate.code == rankscope("compare", "qrels.txt", "whole.run", "part.run", "--fail-if-worse").code == 2
    assert "part does not answer 2 of 5 queries" in gate.err


@pytest.fixture
def two_of_three(tmp_path, monkeypatch):
    """Go to a folder with a run that finds the only relevant doc of two queries of three first, and never of the third.

    Student's interval of its mean of 0.667 would be -0.768 to 2.101.
    """
    monkeypatch.chdir(tmp_path)
    (tmp_path / "qrels.txt").write_text("".join(f"q{i} 0 x 1\nq{i} 0 y 0\n" for i in range(3)))
    (tmp_path / "a.run").write_text("".join(f"q{i} Q0 {d} 1 1 a\n" for i, d in enumerate("xxy")))


WILSON = 0.2077, 0.9385
"""Of 2 of 3, by statsmodels.stats.proportion.proportion_confint(2, 3, method="wilson")."""


@pytest.mark.usefixtures("two_of_three")
def test_intervals_of_evaluate_stay_within_the_range_in_every_format(rankscope):
    for form in ("table", "markdown", "latex"):
        out = rankscope("evaluate", "qrels.txt", "a.run", "-m", "nDCG@10", "--intervals", "--format", form).out
        assert "0.6667 [0.2077, 0.9385]" in re.sub(r"\\|\{(?=[\[\]])|(?<=[\[\]])\}", "", out)
    row = next(csv.DictReader(ends_of(rankscope, "csv").splitlines()))
    assert (float(row["nDCG@10 low"]), float(row["nDCG@10 high"])) == pytest.approx(WILSON, abs=5e-5)
    stored = json.loads(ends_of(rankscope, "json"))["runs"][0]["intervals"]["nDCG@10"]
    assert (stored["low"], stored["high"]) == pytest.approx(WILSON, abs=5e-5)
    assert stored["method"] == "Wilson"
    assert (
        json.loads(rankscope("evaluate", "qrels.txt", "a.run", "--format", "json").out)["runs"][0]["intervals"] is None
    )


def ends_of(rankscope, form):
    return rankscope("evaluate", "qrels.txt", "a.run", "-m", "nDCG@10", "--intervals", "--format", form).out


@pytest.mark.usefixtures("two_of_three")
def test_scores_with_intervals_are_read_again(rankscope, tmp_path):
    rankscope("evaluate", "qrels.txt", "a.run", "-m", "nDCG@10", "--intervals", "-o", "scores.json")
    assert rankscope("report", "scores.json", "-o", "report.md").code == 0
    assert "0.2077 to 0.9385" in (tmp_path / "report.md").read_text()


def test_the_report_of_a_project_names_the_queries_won_and_lost_with_their_texts(rankscope, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    texts = {"q1": "red apple", "q2": "night train", "q3": "blue sky"}
    docs = {"d1": "red apple pie", "d2": "apple", "d3": "night train", "d4": "a train", "d5": "blue sky", "d6": "blue"}
    for name, table in (("queries", texts), ("docs", docs)):
        rows = (json.dumps({"_id": key, "text": text}) + "\n" for key, text in table.items())
        (tmp_path / f"{name}.jsonl").write_text("".join(rows))
    (tmp_path / "qrels.txt").write_text("q1 0 d1 1\nq2 0 d3 1\nq3 0 d5 1\n")
    (tmp_path / "theirs.run").write_text("q1 Q0 d2 1 2 t\nq1 Q0 d1 2 1 t\nq2 Q0 d3 1 1 t\nq3 Q0 d6 1 1 t\n")
    (tmp_path / "rankscope.toml").write_text(
        'measures = ["RR@10"]\n[collections.tiny]\ndocs = "docs.jsonl"\nqueries = "queries.jsonl"\n'
        'qrels = "qrels.txt"\n[systems.bm25]\ntype = "bm25"\n[systems.theirs]\ntype = "run"\npath = "theirs.run"\n'
    )
    text = joined(rankscope("run", "rankscope.toml").out)
    assert "It wins none and loses 2 queries (q3, q1), and ties on 1 query (q2). Exact sign test: p = 0.5;" in text
    assert "All 2 queries that got worse" in text
    for row in (r"1 blue sky \(q3\) .* 1\.0000 0\.0000 -1\.0000", r"2 red apple \(q1\) .* 1\.0000 0\.5000 -0\.5000"):
        assert re.search(row, text)
    record = json.loads(rankscope("run", "rankscope.toml", "--format", "json").out)
    pair = record["collections"][0]["comparison"]["groups"][0]["comparisons"][0]
    assert pair["small_set"]["lost"] == ["q3", "q1"]
    for ending in ("html", "md"):
        assert rankscope("run", "rankscope.toml", "-o", f"report.{ending}").code == 0
        page = (tmp_path / f"report.{ending}").read_text()
        assert all(words in page for words in ("Exact sign test: p = 0.5", "(q3, q1)", "blue sky"))


@pytest.mark.parametrize("policy", ["zero", "exclude"])
def test_queries_that_are_left_out_add_up(rankscope, tmp_path, monkeypatch, policy):
    """Five queries, of which q4 has no relevant doc; s answers q1 and q2, t all but q4, and finds nothing for q5."""
    n_s, n_t = (3, 2) if policy == "zero" else (2, 1)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "qrels.txt").write_text("q1 0 a 1\nq2 0 a 1\nq3 0 c 1\nq4 0 c 0\nq5 0 c 1\n")
    (tmp_path / "s.run").write_text("q1 Q0 a 1 3 s\nq2 Q0 y 1 3 s\nq2 Q0 a 2 2 s\n")
    (tmp_path / "t.run").write_text("q1 Q0 a 1 2 t\nq2 Q0 a 1 3 t\nq3 Q0 z 1 2 t\nq3 Q0 c 2 1 t\nq5 Q0 z 1 2 t\n")
    done = rankscope(
        "evaluate", "qrels.txt", "s.run", "t.run", "-m", "FirstRel", "--no-relevant", policy, "--intervals"
    )
    assert re.search(r"FirstRel +1\.5000 \(n=2\) +1\.3333 \(n=3\) \[", done.out)
    said = joined(done.out)
    assert "s: 3 queries not answered (left out); 1 query without relevant docs (left out); " in said
    assert f"FirstRel undefined for {n_s} queries (left out)" in said
    assert f"FirstRel undefined for {n_t} {'query' if n_t == 1 else 'queries'} (left out)" in said
    assert "s: no interval of FirstRel: too few queries count for a measure without an upper end" in said
    assert "does not answer 3 of 5 queries: they score 0 and count, but FirstRel is undefined for them" in done.err
    both = joined(rankscope("evaluate", "qrels.txt", "s.run", "-m", "FirstRel nDCG", "--no-relevant", policy).out)
    assert "3 queries not answered (counted as 0)" in both
    assert f"1 query without relevant docs ({'counted as 0' if policy == 'zero' else 'left out'})" in both


def test_n_is_said_where_only_queries_without_relevant_docs_are_left_out():
    with pytest.warns(RankscopeWarning, match="FirstRel is undefined for 1 of 2 queries"):
        scores = rs.evaluate({"q1": {"a": 1}, "q2": {"a": 0}}, {"run": {"q1": ["a"], "q2": ["a"]}}, "FirstRel P@1")
    assert repr(scores.mean()).splitlines()[1].split() == ["run", "1.0000", "(n=1)", "0.5000"]


def test_an_id_of_megabytes_is_not_printed_whole(rankscope, tmp_path):
    (tmp_path / "qrels.json").write_text(json.dumps({"q1": {"x" * 5_000_000: 1}}))
    (tmp_path / "one.run").write_text("q1 Q0 d 1 1 one\n")
    done = rankscope("evaluate", tmp_path / "qrels.json", tmp_path / "one.run")
    assert "xxx… (5000003 characters)" in done.err
    assert len(done.err) < 1000
