"""Texts in CSV reports are no formulas for a spreadsheet, and read back as they were; runs and qrels are left alone."""

import csv
import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankscope.cli.main import main
from rankscope.io.formulas import as_text_cell, from_text_cell
from rankscope.measures.score_files import read_scores

FORMULAS = ["=1+1", "+x", "-x", "@SUM(A1)", "\t=x", "\r=x", " =x", '=HYPERLINK("http://x")', "＝x", "'=x"]  # noqa: RUF001
NUMBERS = ["-1", "+1.5", "-0.25e-3", "7", "-.5", "-", ""]
TEXTS = st.text(st.sampled_from("=+-@'ab1 \t\r＝"), max_size=6)  # noqa: RUF001


@pytest.mark.parametrize("text", FORMULAS)
def test_formulas_are_marked(text):
    assert as_text_cell(text) == f"'{text}"


@pytest.mark.parametrize("text", [*NUMBERS, "plain", "a=b", "'quoted'", "x-1"])
def test_numbers_and_other_texts_stay(text):
    assert as_text_cell(text) == text


@given(TEXTS)
def test_every_text_comes_back(text):
    assert from_text_cell(as_text_cell(text)) == text


@given(st.sets(st.text(st.sampled_from("=+-@'ab1"), min_size=1, max_size=5), min_size=2, max_size=5))
def test_scores_come_back_with_the_same_ids(ids):
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        names = sorted(ids)
        qrels = {query: {"d1": 1} for query in names}
        (folder / "qrels.json").write_text(json.dumps(qrels))
        runs = [folder / "=run.json", folder / "other.json"]
        for run in runs:
            run.write_text(json.dumps({query: {"d1": 1.0, "d2": 0.5} for query in names}))
        table = folder / "scores.csv"
        assert main(["evaluate", str(folder / "qrels.json"), *map(str, runs), "-q", "-m", "AP", "-o", str(table)]) == 0
        with table.open(newline="") as stream:
            cells = [cell for row in csv.reader(stream) for cell in row]
        assert all(cell == as_text_cell(cell) or cell[0] == "'" for cell in cells)
        scores = read_scores([table])
        assert set(scores) == {"=run", "other"}
        assert set(scores["=run"].query_ids) == ids


def test_every_report_in_csv(rankscope, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("qrels.json").write_text(json.dumps({f"={i}": {"d1": 1, "d2": 0} for i in range(5)}))
    for name, score in (("=cmd", 1), ("-other", 2)):
        run = {f"={i}": {"d1": score, "d2": 1.5 * (i % 2)} for i in range(5)}
        Path(f"{name}.json").write_text(json.dumps(run))
    names = ["./=cmd.json", "./-other.json"]
    for call in (
        ["evaluate", "qrels.json", *names],
        ["evaluate", "qrels.json", *names, "-q"],
        ["compare", "qrels.json", *names],
    ):
        out = rankscope(*call, "--format", "csv").out
        rows = list(csv.reader(out.splitlines()))
        assert "'=cmd" in {cell for row in rows for cell in row}
        numbers = [cell for row in rows for cell in row if cell[:1] == "-"]
        assert all(cell == "-" or isinstance(float(cell), float) for cell in numbers)
        rankscope(*call, "-o", "table.csv")
        assert Path("table.csv").read_text() == out
    assert rankscope("compare", "--scores", "table.csv").code == 2  # that is a comparison, not scores


def test_runs_and_qrels_are_left_alone(rankscope, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("a.run").write_text("=q Q0 =d 1 -1.5 x\n'=q Q0 @d 1 1 x\n")
    Path("b.run").write_text("=q Q0 -d 1 2 x\n")
    assert rankscope("convert", "a.run", "a.csv").code == 0
    assert rankscope("fuse", "a.run", "b.run", "-o", "fused.csv").code == 0
    assert rankscope("convert", "a.csv", "back.run", "--kind", "run").code == 0
    rows = list(csv.DictReader(Path("a.csv").read_text().splitlines()))
    assert [row["query"] for row in rows] == ["=q", "'=q"]
    assert {line.split()[0] for line in Path("back.run").read_text().splitlines()} == {"=q", "'=q"}
    assert {row["doc"] for row in csv.DictReader(Path("fused.csv").read_text().splitlines())} == {"=d", "-d", "@d"}


def test_another_tools_apostrophes_stay(tmp_path):
    path = tmp_path / "theirs.csv"
    path.write_text("query,a,b\n'=x,0.5,0.25\n=y,0.1,0.2\n")
    assert read_scores([path], measure="AP")["a"].query_ids == ("'=x", "=y")
