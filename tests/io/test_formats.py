"""A format of one's own: one object and one line, and every kind of data can be read in it."""

from __future__ import annotations

import pytest

import rankscope as rs
from rankscope.data.docs import load_docs
from rankscope.data.queries import load_queries
from rankscope.errors import OptionError
from rankscope.io import FORMATS, Format
from rankscope.io.conversion import convert
from rankscope.io.detection import detect
from rankscope.io.formats import format_in_name, without_endings
from rankscope.io.read import read_run
from rankscope.io.table import table_columns
from rankscope.measures.score_files import read_scores
from rankscope.registry import groups_of_entry_points


def toy_rows(reading):
    """Read lines such as `query=q1|doc=d1|score=2.5`."""
    for number, line in reading.lines():
        cells = [cell.partition("=") for cell in line.strip().split("|")]
        if all(mark for _, mark, _ in cells):
            yield number, {name: value for name, _, value in cells}
        else:
            reading.reject(number, line, "there is no =")


def write_toy(rows, stream):
    columns = table_columns(rows)
    for cells in zip(*columns.values(), strict=True):
        stream.write(("|".join(f"{name}={cell}" for name, cell in zip(columns, cells, strict=True)) + "\n").encode())


@pytest.fixture
def toy(monkeypatch, tmp_path):
    """Register the format for one test, and return the folder."""
    monkeypatch.setattr(FORMATS, "entries", dict(FORMATS.entries))
    monkeypatch.setattr(FORMATS, "_loaded", dict(FORMATS._loaded))
    FORMATS.add("toy", Format(rows=toy_rows, write=write_toy), "Pairs set apart by bars.")
    return tmp_path


def test_runs_and_qrels(toy):
    (toy / "bm25.toy").write_text("query=q1|doc=d1|score=2.5\nquery=q1|doc=d2|score=1\n")
    (toy / "qrels.toy").write_text("query=q1|doc=d2|grade=1\n")
    scores = rs.evaluate(toy / "qrels.toy", toy / "bm25.toy", "RR")
    assert {name: run.values.tolist() for name, run in scores.items()} == {"bm25": [[0.5]]}
    assert detect(toy / "bm25.toy").kind == "run"
    assert detect(toy / "qrels.toy").kind == "qrels"


def test_under_another_name(toy):
    (toy / "bm25").write_text("query=q1|doc=d1|score=2.5\n")
    assert read_run(toy / "bm25", format="toy").rows.score.tolist() == [2.5]


def test_malformed_lines_are_reported(toy):
    (toy / "bm25.toy").write_text("query=q1|doc=d1|score=2.5\nquery=q1|doc=d2|score=x\noops\n")
    with pytest.raises(rs.RankscopeError, match=r"bm25\.toy:2: score 'x' is not a number") as raised:
        read_run(toy / "bm25.toy")
    assert "bm25.toy:3: there is no =" in str(raised.value)


def test_conversion(toy):
    (toy / "a.run").write_text("q1 Q0 d1 1 2.5 t\n")
    assert convert(toy / "a.run", toy / "a.toy").target_format == "toy"
    assert (toy / "a.toy").read_text() == "query=q1|doc=d1|score=2.5|rank=1|tag=t\n"


def test_queries_docs_and_scores(toy):
    (toy / "queries.toy").write_text("id=q1|text=what is it|lang=en\n")
    (toy / "docs.toy").write_text("id=d1|topic=news\n")
    (toy / "scores.toy").write_text("query=q1|bm25=0.5|dense=0.25\n")
    assert load_queries(toy / "queries.toy").texts == {"q1": "what is it"}
    assert load_docs(toy / "docs.toy").field("topic") == {"d1": "news"}
    assert {name: run.values.tolist() for name, run in read_scores([toy / "scores.toy"]).items()} == {
        "bm25": [[0.5]],
        "dense": [[0.25]],
    }


def test_its_name_is_listed(toy):
    with pytest.raises(OptionError, match="the formats are trec, beir, json, jsonl, csv, tsv, parquet, arrow, toy"):
        read_run(toy / "x", format="zzz")


@pytest.mark.parametrize(
    ("name", "format_name"),
    [("a.csv", "csv"), ("b/a.PQ.gz", "parquet"), ("a.gz", None), ("a", None), (".csv", None), ("a.zst.run", "trec")],
)
def test_formats_by_name(name, format_name):
    assert format_in_name(name) == format_name


def test_a_run_is_named_after_its_file():
    assert without_endings("bm25.run.gz") == "bm25"
    assert without_endings("bm25.k1.2") == "bm25.k1.2"
    assert without_endings(".run") == ".run"


def test_another_package_adds_a_format_by_an_entry_point(monkeypatch, tmp_path):
    package = tmp_path / "site" / "toys-1.0.dist-info"
    package.mkdir(parents=True)
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: toys\nVersion: 1.0\n")
    (package / "entry_points.txt").write_text("[rankscope.formats]\ntoy = rankscope.io.delimited:CSV\n")
    monkeypatch.syspath_prepend(package.parent)
    monkeypatch.setattr(FORMATS, "entries", dict(FORMATS.entries))
    monkeypatch.setattr(FORMATS, "_loaded", dict(FORMATS._loaded))
    monkeypatch.setattr(FORMATS, "_group", "rankscope.formats")
    groups_of_entry_points.cache_clear()
    try:
        (tmp_path / "bm25.toy").write_text("query,doc,score\nq1,d1,2.5\n")
        assert read_run(tmp_path / "bm25.toy").format == "toy"
        assert FORMATS.summary("toy") == "from toys"
    finally:
        groups_of_entry_points.cache_clear()
