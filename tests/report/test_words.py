"""Queries and docs in words, in every report: what was asked, what docs are called, and what happened to a query."""

from __future__ import annotations

import csv
import json
import math
import pickle
from html import escape
from pathlib import Path

import numpy as np
import pytest

import rankscope as rs
from rankscope.cli.main import main
from rankscope.errors import GradeError, RankscopeWarning
from rankscope.report.changed_queries import changed_queries
from rankscope.report.render import render

pytestmark = pytest.mark.filterwarnings("ignore:new does not answer 1 of 14 queries")

OTHERS = [f"x{i}" for i in range(12)]
SAME = [f"s{i}" for i in range(8)]
QRELS = {
    "q1": {"a": 1},
    "q2": {"a": 1, "b": 1},
    "q3": {"a": 1},
    "q4": {"a": 1},
    "q5": {"a": 1},
    "q6": {"a": 1, "b": 1},
    **{query: {"a": 1} for query in SAME},
}
OLD = {
    "q1": ["a", *OTHERS],
    "q2": ["a", "b", *OTHERS],
    "q3": ["x0", "a"],
    "q4": ["x0"],
    "q5": ["a"],
    "q6": ["a", *OTHERS],
    **{query: ["a"] for query in SAME},
}
NEW = {
    "q1": [*OTHERS[:4], "a"],
    "q2": OTHERS,
    "q3": ["a"],
    "q4": ["a"],
    "q6": [*OTHERS[:11], "a"],
    **{query: ["a"] for query in SAME},
}
TEXTS = {
    query: f"what <is> {query} about, asked at such a length that no table of a terminal shows all" for query in QRELS
}
DOCS = {
    "a": {"title": "=The answer & more", "text": "the length of answers " * 30},
    "b": {"text": "No title, so that this is how it is called, up to a length that fits into a line of text"},
    **{doc: {"title": f"Title of {doc}", "text": "nothing about it"} for doc in OTHERS},
}
HAPPENED = {
    "q1": "the relevant doc fell from 1 to 5",
    "q2": "2 relevant docs left the first 10",
    "q3": "the relevant doc rose from 2 to 1",
    "q4": "the relevant doc is new at rank 1",
    "q5": "new returns nothing",
    "q6": "a relevant doc fell from 1 to 12",
}


@pytest.fixture(scope="module")
def found() -> rs.Comparison:
    return rs.compare(QRELS, {"old": OLD, "new": NEW}, "nDCG@10", queries=TEXTS, docs=DOCS)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "qrels.json").write_text(json.dumps(QRELS))
    for name, run in (("old", OLD), ("new", NEW)):
        (tmp_path / f"{name}.json").write_text(json.dumps(run))
    (tmp_path / "queries.json").write_text(json.dumps(TEXTS))
    (tmp_path / "docs.json").write_text(json.dumps(DOCS))
    return tmp_path


def call(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    assert main([str(argument) for argument in arguments]) == 0
    return capsys.readouterr().out


def test_what_happened_to_each_query(found: rs.Comparison) -> None:
    blocks = list(changed_queries(found, found["old", "new"]))
    listed = {one.query: one for block in blocks for one in block.queries}
    assert {query: one.why for query, one in listed.items()} == HAPPENED
    assert {query: one.mark for query, one in listed.items()} == {
        **dict.fromkeys(("q1", "q2", "q5", "q6"), "worse"), **dict.fromkeys(("q3", "q4"), "better"),
    }  # fmt: skip
    # q1: 1 -> 1 / log2(6); q2: 1 -> 0; q6: one of two docs, 1 / (1 + 1 / log2(3)) -> 0
    assert listed["q1"].after == pytest.approx(1 / math.log2(6))
    assert listed["q6"].before == pytest.approx(1 / (1 + 1 / math.log2(3)))
    assert [one.query for one in blocks[0].queries] == ["q2", "q5", "q1", "q6"]


def test_what_docs_add_makes_the_scores(found: rs.Comparison) -> None:
    for sides in found.lists[None, "old", "new"]:
        for shown in (sides.a, sides.b):
            assert math.fsum(doc.adds for doc in shown.docs) == pytest.approx(shown.score)
        assert math.fsum(one.change for one in sides.changes) == pytest.approx(sides.difference)
    first = next(sides for sides in found.lists[None, "old", "new"] if sides.query == "q2")
    assert first.query_text == TEXTS["q2"]
    assert [doc.title for doc in first.a.docs[:2]] == [
        "=The answer & more",
        DOCS["b"]["text"][:80].rsplit(" ", 1)[0] + "…",
    ]
    assert first.a.docs[0].snippet[:3] == (("the ", False), ("length", True), (" of answers the ", False))
    assert [doc.move for doc in first.a.docs[:3]] == ["lost", "lost", "up"]


def test_only_the_docs_that_are_shown_are_kept() -> None:
    more = {**DOCS, **{f"unseen{i}": {"title": "no"} for i in range(50)}}
    found = rs.compare(QRELS, {"old": OLD, "new": NEW}, "nDCG@10", docs=more)
    assert "a" in found.texts.titles
    assert not any(doc.startswith("unseen") for doc in found.texts.titles)


def test_reports_number_queries_as_show_does(folder: Path, found: rs.Comparison, capsys) -> None:
    files = [folder / name for name in ("qrels.json", "old.json", "new.json")]
    for block in changed_queries(found, found["old", "new"]):
        option = "--loss" if block.queries[0].mark == "worse" else "--gain"
        for number, one in enumerate(block.queries, block.first):
            assert json.loads(call(capsys, "show", *files, option, number, "--format", "json"))["query"] == one.query


def test_ties_are_numbered_alike_in_reports_and_in_show(tmp_path: Path, capsys) -> None:
    names = [f"q{i}" for i in range(30)]
    runs = {"old": {q: ["a"] for q in names}, "new": {q: ["x", "a"] if i % 2 else ["a"] for i, q in enumerate(names)}}
    qrels = {query: {"a": 1} for query in names}
    for name, data in {"qrels": qrels, **runs}.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(data))
    for one, other, option in (("old", "new", "--loss"), ("new", "old", "--gain")):
        found = rs.compare(qrels, {one: runs[one], other: runs[other]}, "RR")
        listed = [each.query for block in changed_queries(found, found[one, other]) for each in block.queries]
        assert listed == sorted(names[1::2])  # all differ by the same amount
        files = [tmp_path / f"{name}.json" for name in ("qrels", one, other)]
        for number in (1, 3, 15):
            shown = json.loads(call(capsys, "show", *files, "-m", "RR", option, number, "--format", "json"))
            assert shown["query"] == listed[number - 1]


def test_every_form_of_the_report_has_the_words(found: rs.Comparison) -> None:
    report = found.report()
    page = render(report, "html")
    for query in QRELS:
        assert escape(TEXTS[query]) in page
    assert escape("=The answer & more") in page
    assert "<is>" not in page
    assert "the relevant doc fell from 1 to 5" in page
    assert "<mark>length</mark>" in page
    for form in ("markdown", "latex", "text"):
        text = render(report, form).replace("\\allowbreak{}", "")
        assert "the relevant doc fell from 1 to 5" in text, form
        assert "q1 about" in text, form


def test_without_words_reports_have_ids_and_no_column_of_texts() -> None:
    found = rs.compare(QRELS, {"old": OLD, "new": NEW}, "nDCG@10")
    assert found.texts.query("q1") == ""
    text = render(found.report(), "text")
    assert "the relevant doc fell from 1 to 5" in text
    assert " id " not in text
    scores = rs.compare_scores(found.scores, queries=TEXTS)  # no runs, so no lists, but what was asked
    assert not scores.lists
    blocks = list(changed_queries(scores, scores["old", "new"]))
    assert blocks[0].queries[0].text == TEXTS["q2"]
    assert not any(one.sides for block in blocks for one in block.queries)


def test_json_has_texts_and_titles_beside_ids(found: rs.Comparison) -> None:
    record = json.loads(found.to_json())
    pair = record["groups"][0]["comparisons"][0]
    assert pair["worst"][0]["text"] == TEXTS["q2"]
    moved = {query["query"]: query for query in pair["movement"]["queries"]}
    assert moved["q2"]["text"] == TEXTS["q2"]
    assert {doc["doc"]: doc["title"] for doc in moved["q2"]["docs"]}["a"] == "=The answer & more"
    assert rs.Comparison.from_json(found.to_json()) == found
    again = pickle.loads(pickle.dumps(found))
    assert again.texts.query("q1") == TEXTS["q1"]
    pair = found["old", "new"]
    assert list(changed_queries(again, pair)) == list(changed_queries(found, pair))


def test_queries_that_are_not_answered_are_named_by_what_was_asked(found: rs.Comparison) -> None:
    text = " ".join(render(found.report(), "text").split())
    assert "new does not answer 1 query (counted as empty): “what <is> q5 about, asked at such a…” (q5)." in text


def test_scores_of_every_query_have_what_was_asked(folder: Path, capsys) -> None:
    files = (folder / "qrels.json", folder / "old.json", "-q", "-m", "RR", "--queries", folder / "queries.json")
    row = next(line for line in call(capsys, "evaluate", *files).splitlines() if line.startswith("q3 "))
    assert row.split()[1:5] == ["what", "<is>", "q3", "about,"]
    assert row.split()[-1] == "0.5000"
    table = list(csv.DictReader(call(capsys, "evaluate", *files, "--format", "csv").splitlines()))
    assert {line["query"]: line["text"] for line in table} == TEXTS
    lines = [json.loads(line) for line in call(capsys, "evaluate", *files, "--format", "jsonl").splitlines()]
    assert {line["query"]: line["text"] for line in lines} == TEXTS
    record = call(capsys, "evaluate", *files, "--format", "json")
    assert json.loads(record)["texts"] == TEXTS
    assert rs.Scores.from_json(record).texts == TEXTS
    assert "text" not in call(capsys, "evaluate", *files[:-2])


def test_scores_with_texts_are_read_back(folder: Path, capsys) -> None:
    runs = [folder / "old.json", folder / "new.json"]
    stored = folder / "scores.csv"
    given = ("-q", "-m", "RR", "--queries", folder / "queries.json", "-o", stored)
    call(capsys, "evaluate", folder / "qrels.json", *runs, *given)
    scores = rs.read_scores([stored])
    assert scores.measures == ("RR",)
    assert scores["old"]["q3", "RR"] == 0.5


def test_explain_in_words(folder: Path, capsys) -> None:
    files = (folder / "qrels.json", folder / "old.json", "--query", "q3", "-m", "RR")
    words = ("--queries", folder / "queries.json", "--docs", folder / "docs.json")
    text = call(capsys, "explain", *files, *words)
    assert "RR of query q3 “what <is> q3 about" in text
    row = next(line for line in text.splitlines() if line.startswith("2 "))
    assert row.split()[1:6] == ["=The", "answer", "&", "more", "a"]
    record = json.loads(call(capsys, "explain", *files, *words, "--format", "json"))
    assert record["text"] == TEXTS["q3"]
    assert [step["title"] for step in record["steps"]] == ["Title of x0", "=The answer & more"]


# Docs to judge


@pytest.fixture
def unsure(tmp_path: Path) -> Path:
    """Return a folder with two runs of which the second has four unjudged docs among ten, one of them called =new0."""
    known, new = [f"d{i}" for i in range(10)], ["=new0", "new1", "new2", "new3"]
    names = [f"q{i}" for i in range(30)]
    qrels = {q: {d: int((i + j) % (2 if j < 6 else 5) == 0) for j, d in enumerate(known)} for i, q in enumerate(names)}
    files = {
        "qrels": qrels,
        "old": dict.fromkeys(names, known),
        "new": {query: [*new, *known[:6]] for query in names},
        "queries": {query: f"=what is {query}" for query in names},
        "docs": {doc: {"title": f"@Title of {doc}", "text": "first words " * 100} for doc in (*known, *new)},
    }
    for name, data in files.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(data))
    return tmp_path


def compare_unsure(folder: Path, *more: object) -> list[object]:
    files = [folder / f"{name}.json" for name in ("qrels", "old", "new")]
    return [
        "compare",
        *files,
        "-m",
        "P@10",
        "--queries",
        folder / "queries.json",
        "--docs",
        folder / "docs.json",
        *more,
    ]


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_a_person_can_judge_from_the_file_alone_and_give_it_back_half_filled(unsure: Path, ending: str, capsys) -> None:
    path = unsure / f"judge.{ending}"
    call(capsys, *compare_unsure(unsure, "--settle", path))
    lines = path.read_text().splitlines()
    rows = list(csv.DictReader(lines)) if ending == "csv" else [json.loads(line) for line in lines]
    mark = "'" if ending == "csv" else ""
    first = next(row for row in rows if row["doc"] == f"{mark}=new0")
    assert first["query_text"] == f"{mark}=what is {first['query']}"
    assert first["title"] == f"{mark}@Title of =new0"
    assert first["text"].startswith("first words first words")
    assert 250 < len(first["text"]) <= 300
    assert not first["grade"]
    for row in rows[:10]:
        row["grade"] = "0" if ending == "csv" else 0
    with path.open("w", newline="") as stream:
        if ending == "csv":
            writer = csv.DictWriter(stream, list(rows[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
        else:
            stream.writelines(json.dumps(row) + "\n" for row in rows)
    assert main([str(each) for each in compare_unsure(unsure, "--more-qrels", path)]) == 0
    assert capsys.readouterr().err.count(f"{len(rows) - 10} rows have no grade and are left out") == 1
    with pytest.warns(RankscopeWarning, match="no grade and are left out"):
        judged = rs.load_qrels(path)
    given = {(row["query"], row["doc"].removeprefix(mark)) for row in rows[:10]}
    assert {(query, doc) for query in judged for doc in judged[query]} == given


def test_a_grade_that_is_no_number_is_still_an_error(tmp_path: Path) -> None:
    path = tmp_path / "judged.csv"
    path.write_text("query,doc,grade\nq1,a,1\nq1,b,good\nq1,c,\n")
    with pytest.raises(rs.errors.InputError, match="grade 'good' is not a number"):
        rs.load_qrels(path)
    path.write_text("query,doc,grade\nq1,a,1\nq1,,\n")
    with pytest.raises(rs.errors.InputError, match="doc"):
        rs.load_qrels(path)
    path.write_text("query,doc,grade\nq1,a,\nq1,b,  \n")
    with pytest.raises(GradeError, match=r"not one of the 2 rows of .* has a grade"):
        rs.load_qrels(path)


def test_without_texts_the_file_says_how_to_have_them(unsure: Path, capsys) -> None:
    files = [unsure / f"{name}.json" for name in ("qrels", "old", "new")]
    path = unsure / "judge.csv"
    assert main([str(each) for each in ("compare", *files, "-m", "P@10", "--settle", path)]) == 0
    assert "--queries adds what was asked, --docs adds titles and texts" in capsys.readouterr().err
    assert "title" not in path.read_text().splitlines()[0]


def test_a_page_of_many_systems_with_texts_stays_below_three_megabytes() -> None:
    rng = np.random.default_rng(0)
    queries, docs = [f"q{i:04}" for i in range(1_000)], [f"d{i}" for i in range(400)]
    qrels = {query: {docs[i % 400]: 1, docs[(7 * i) % 400]: 0} for i, query in enumerate(queries)}
    orders = rng.integers(0, 390, (50, 1_000))
    runs = {
        f"system-{s:02}": {q: [*docs[orders[s, i] : orders[s, i] + 9], docs[i % 400]] for i, q in enumerate(queries)}
        for s in range(50)
    }
    runs = {name: {q: list(dict.fromkeys(listed)) for q, listed in run.items()} for name, run in runs.items()}
    found = rs.compare(
        qrels,
        runs,
        "nDCG@10",
        n_resamples=999,
        unjudged="irrelevant",
        queries={query: f"a question of some length about {query}, as people ask them" for query in queries},
        docs={
            doc: {"title": f"The title of {doc}, which is long", "text": "words of a question " * 40} for doc in docs
        },
    )
    page = render(found.report(), "html")
    assert len(page.encode()) < 3_000_000
    assert "about q0999, as people ask them" in page
    assert page.count("Both lists") >= 70


# Real data


def test_all_texts_of_scifact_are_in_the_report_of_run(shared_data: Path, tmp_path: Path, monkeypatch, capsys) -> None:
    collection = shared_data / "collections" / "scifact"
    monkeypatch.chdir(tmp_path)
    Path("rankscope.toml").write_text(
        f"[collections.scifact]\npath = {json.dumps(str(collection))}\n"
        '[systems.bm25]\ntype = "bm25"\n[systems.other]\ntype = "bm25"\nk1 = 3.0\nb = 0.1\n'
    )
    assert main(["run", "-o", "report.html"]) == 0
    page = Path("report.html").read_text(encoding="utf-8")
    queries = [json.loads(line)["text"] for line in (collection / "queries.jsonl").read_text().splitlines()]
    assert len(queries) == 300
    assert [text for text in queries if escape(" ".join(text.split())) not in page] == []
    assert "relevant doc" in page
    assert "<mark>" in page
