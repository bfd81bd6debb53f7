"""What different commands say of the same files is decided by one rule; numbers are by hand."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

import rankscope as rs
from rankscope.comparison.compare import compare_runs
from rankscope.comparison.request import CompareRequest
from rankscope.measures.scores import is_over_same_queries
from rankscope.report.charts import figure
from rankscope.report.comparison import report_of
from rankscope.report.evaluation import best_values
from rankscope.report.render import render

QUERIES = tuple(f"q{i}" for i in range(12))
FOUND = {query: ["x", "a"] for query in QUERIES}
HALF = {query: ["a"] if i < 6 else ["x"] for i, query in enumerate(QUERIES)}
"""It finds the right doc at once, but for half of the queries only."""
RUNS = {"all": FOUND, "half": HALF, "later": {query: ["y", "x", "a"] for query in QUERIES}}
QRELS = {query: {"a": 1, "x": 0, "y": 0} for query in QUERIES}
NO_BEST = "no best FirstRel: not over the same queries, so that a run could win by finding less"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write_run(path, answers):
    rows = (f"{q} Q0 {d} {r} {10 - r} x\n" for q, docs in answers.items() for r, d in enumerate(docs, 1))
    path.write_text("".join(rows))


def text_of(comparison):
    return " ".join(render(report_of(comparison, with_figures=False), "text").split())


@pytest.mark.filterwarnings("ignore::rankscope.errors.RankscopeWarning")
@pytest.mark.parametrize("all_pairs", [False, True])
@pytest.mark.parametrize("n_queries", [8, 12])
def test_nobody_is_called_best_where_a_run_that_finds_less_would_win(all_pairs, n_queries):
    asked = QUERIES[12 - n_queries :]
    qrels = {query: QRELS[query] for query in asked}
    runs = {name: {query: run[query] for query in asked} for name, run in RUNS.items()}
    comparison = compare_runs(qrels, runs, CompareRequest(primary="FirstRel", all_pairs=all_pairs))
    text = text_of(comparison)
    assert "best mean FirstRel" not in text
    assert f"There is {NO_BEST}." in text
    assert text.count(NO_BEST) >= 2  # the headline, and the table of means
    assert comparison.groups[0].is_over_same_queries is is_over_same_queries(comparison.scores, "FirstRel") is False


def test_who_is_ahead_is_said_where_all_find_the_same():
    comparison = compare_runs(
        QRELS,
        {name: run for name, run in RUNS.items() if name != "half"} | {"up": {query: ["a"] for query in QUERIES}},
        CompareRequest(primary="FirstRel"),
    )
    assert comparison.groups[0].is_over_same_queries
    assert "up has the best mean FirstRel: 1.000" in text_of(comparison)


def test_nobody_is_best_in_scores_of_other_tools(folder, rankscope):
    rows = ["query,one,two,three", *(f"{q},{1 if i < 6 else ''},2,2" for i, q in enumerate(QUERIES))]
    (folder / "scores.csv").write_text("\n".join(rows) + "\n")
    told = rankscope("compare", "--scores", "scores.csv", "--primary", "pos", "--lower-is-better", "pos").out
    assert "best mean pos" not in told
    assert "There is no best pos" in told


@pytest.mark.filterwarnings("ignore::rankscope.errors.RankscopeWarning")
def test_the_chart_of_systems_marks_no_best_where_the_table_marks_none():
    scores = rs.evaluate(QRELS, RUNS, "FirstRel RR")
    assert set(best_values(scores)) == {"RR"}
    drawn = figure("systems", "scores", scores).svg
    bold = re.findall(r'<text[^>]*font-weight="600"[^>]*>([\d.]+)</text>', drawn)
    assert bold == [f"{best_values(scores)['RR']:.3f}"] * len(bold)
    assert bold
    assert "no best FirstRel" in " ".join(re.sub("<[^>]*>", " ", drawn).split())


THIRDS = {"c1": ["a", "b", "c"], "c2": ["a", "x", "y"], "c3": ["a", "x", "y"], "c4": ["a", "x", "y"]}
"""P@3 is 1, 1/3, 1/3 and 1/3: their mean is 0.5, but not in floating point."""


def test_a_mean_at_the_limit_is_in_the_band_above_and_passes_the_gate(folder, rankscope):
    (folder / "qrels.txt").write_text("".join(f"{q} 0 {d} 1\n" for q in THIRDS for d in "abc"))
    write_run(folder / "a.run", THIRDS)
    limits = ["--fail-under", "P@3=0.5"]
    done = rankscope("evaluate", "qrels.txt", "a.run", "-m", "P@3", "--bands", "doctor-search", *limits)
    assert rs.evaluate("qrels.txt", "a.run", "P@3")["a"].mean()["P@3"].value < 0.5
    assert re.search(r"0\.5000 moderate, 0\.5-0\.65", done.out)
    assert done.code == 0
    assert rankscope("evaluate", "qrels.txt", "a.run", "-m", "P@3", "--fail-under", "P@3=0.5001").code == 1


def test_words_about_docs_are_not_taken_from_queries_without_any(folder, rankscope):
    (folder / "qrels.txt").write_text("".join(f"{q} 0 a 3\n" for q in ("q1", "q2", "q3", "q4")))
    write_run(folder / "three.run", {query: ["a", "b"] for query in ("q1", "q2", "q3")})
    write_run(folder / "twice.run", {"q1": ["a", "a"], "q2": ["a", "b"], "q3": ["a", "b"]})
    how = ["--profile", "parakeet", "--bands", "podcast", "-m", "Uniqueness"]
    told = rankscope("evaluate", "qrels.txt", "three.run", "twice.run", *how).out
    assert re.search(r"^three +0\.7500\*? *$", told, re.MULTILINE)
    assert re.search(r"^twice +0\.6250 reduced by duplicates", told, re.MULTILINE)  # it has one
    assert re.search("^three: no word for Uniqueness: queries without an answer", told, re.MULTILINE)
    stored = json.loads(rankscope("evaluate", "qrels.txt", "three.run", *how, "--format", "json").out)
    assert stored["runs"][0]["words"] == {}
    assert "no word for Uniqueness" in stored["runs"][0]["in_words"]
    by_query = rankscope("evaluate", "qrels.txt", "three.run", *how, "-q").out
    assert re.search(r"^q1 +1\.0000 full, 1$", by_query, re.MULTILINE)
    assert re.search(r"^q4 +0\.0000$", by_query, re.MULTILINE)


@pytest.fixture
def weeks(folder):
    """Write a week of podcast search in which one of five queries is not judged."""
    (folder / "qrels.txt").write_text("".join(f"q{i} 0 a 3\nq{i} 0 b 0\n" for i in range(4)))
    answers = {f"q{i}": ["a"] if i < 2 else ["b", "a"] for i in range(5)}
    write_run(folder / "week1.run", answers)
    write_run(folder / "week2.run", {query: ["a", "b"] for query in answers})
    write_run(folder / "week3.run", {query: ["b", "a"] for query in answers})


@pytest.mark.filterwarnings("ignore::rankscope.errors.RankscopeWarning")
@pytest.mark.usefixtures("weeks")
def test_diagnose_and_explain_count_the_queries_that_the_profile_counts(rankscope):
    evaluated = rs.evaluate("qrels.txt", "week1.run", "nDCG@10", profile="parakeet")["week1"]
    at_two = 1 / np.log2(3)
    assert evaluated.mean()["nDCG@10"].value == pytest.approx((2 + 2 * at_two) / 5)
    done = rankscope("diagnose", "qrels.txt", "week1.run", "--profile", "parakeet", "--bands", "podcast")
    assert f"nDCG@10 is {(2 + 2 * at_two) / 4:.4f} over 4 queries. It is {(2 + 2 * at_two) / 5:.4f} over 5" in done.out
    assert "medium recall@10" in done.out  # 4 of 5; of the four alone it would be full
    assert "1 of 5 queries has no judgments (q4)" in done.err
    told = rankscope("explain", "qrels.txt", "week1.run", "--profile", "parakeet", "--query", "q4")
    assert (told.code, "nDCG@10 of query q4" in told.out) == (0, True)
    assert rankscope("explain", "qrels.txt", "week1.run", "--query", "q4").code == 2


@pytest.mark.usefixtures("weeks")
def test_the_measure_that_decides_under_a_profile_is_that_of_run(folder, rankscope):
    told = rankscope("compare", "qrels.txt", "week1.run", "week2.run", "--profile", "parakeet").out
    assert told.lstrip().startswith("nDCG@10 · week2 vs week1")
    for week in ("week1", "week2"):
        rankscope("evaluate", "qrels.txt", f"{week}.run", "--profile", "parakeet", "-o", f"{week}.json")
    assert rankscope("report", "week1.json", "week2.json", "-o", "report.txt").code == 0
    assert (folder / "report.txt").read_text().lstrip().startswith("nDCG@10 · week2 vs week1")
    first = rankscope("compare", "qrels.txt", "week1.run", "week2.run", "--profile", "parakeet", "-m", "RR nDCG@10").out
    assert first.lstrip().startswith("RR · week2 vs week1")


@pytest.mark.usefixtures("weeks")
def test_queries_may_be_given_though_those_without_judgments_are_skipped(folder, rankscope):
    (folder / "queries.jsonl").write_text("".join(f'{{"_id": "q{i}", "text": "asks {i}"}}\n' for i in range(5)))
    how = ["evaluate", "qrels.txt", "week1.run", "--queries", "queries.jsonl", "-m", "RR"]
    done = rankscope(*how, "--profile", "parakeet", "--unjudged-queries", "skip")
    assert (done.code, re.search(r"week1 +0\.7500", done.out) is not None) == (0, True)
    shown = rankscope(*how, "--per-query")
    assert shown.code == 0
    assert len(re.findall(r"asks \d", shown.out)) == 4  # beside the ids of those with judgments


def test_judged_shares_say_what_they_are_shares_of(folder, rankscope):
    """One doc of the first query is judged, and one of nine of the second: (1 + 1/9) / 2 is 56%, 2 of 10 are 20%."""
    (folder / "qrels.txt").write_text("q1 0 a 1\nq2 0 a 1\n")
    write_run(folder / "one.run", {"q1": ["a"], "q2": ["a", *"bcdefghi"]})
    write_run(folder / "two.run", {"q1": ["a"], "q2": ["b", "a", *"cdefghi"]})
    how = ["compare", "qrels.txt", "one.run", "two.run", "-m", "RR"]
    judged = "Judged: 56% of two's results, 56% of one's, on average over the queries that each answers."
    assert judged in " ".join(rankscope(*how).out.split())
    detailed = " ".join(rankscope(*how, "--details").out.split())
    assert judged in detailed
    assert "80% of the retrieved docs are unjudged" in detailed
