from __future__ import annotations

import io
import sys
from types import SimpleNamespace

import pytest

from rankscope.errors import BadLinesError, InputError, OptionError
from rankscope.io.conversion import Conversion, convert
from rankscope.io.read import read_qrels, read_run

RUN = "q1 Q0 d1 1 2.5 sys\nq1 Q0 d2 2 1.5 sys\nq2 Q0 d1 1 9.0 sys\n"


def test_a_run_becomes_json(write_file, tmp_path):
    done = convert(write_file(RUN), tmp_path / "run.json.gz")
    assert done == Conversion("run", "trec", "json", n_rows=3, n_queries=2)
    assert read_run(tmp_path / "run.json.gz").rows.score.tolist() == [2.5, 1.5, 9.0]


def test_a_beir_folder_becomes_trec(write_file, tmp_path):
    write_file("query-id\tcorpus-id\tscore\n1\ta\t2\n", "set/qrels/test.tsv")
    done = convert(tmp_path / "set", tmp_path / "qrels.trec")
    assert (done.kind, done.source_format, done.target_format) == ("qrels", "beir", "trec")
    assert (tmp_path / "qrels.trec").read_text() == "1 0 a 2\n"


@pytest.mark.parametrize(("given", "words"), [("run", "without BEIR qrels"), ("run/*.trec", "for several files")])
def test_the_files_of_a_run_are_converted_one_by_one(given, words, write_file, tmp_path):
    write_file(RUN, "run/part-1.trec")
    with pytest.raises(InputError, match=words) as refused:
        convert(tmp_path / given, tmp_path / "run.parquet")
    assert refused.value.hint.startswith("convert the files of a run one by one")


def test_formats_can_be_given(write_file, tmp_path):
    done = convert(write_file("query,doc,grade\nq,d,1\n"), tmp_path / "out", source_format="csv", target_format="beir")
    assert (done.kind, done.target_format) == ("qrels", "beir")
    assert read_qrels(tmp_path / "out").format == "beir"


def test_a_file_can_be_converted_in_place(write_file):
    path = write_file(RUN)
    convert(path, path, target_format="csv")
    assert read_run(path).format == "csv"


def test_a_kind_that_cannot_be_told_must_be_given(write_file, tmp_path):
    path = write_file('{"q1": ["a", "b"]}')
    with pytest.raises(OptionError, match="could be a run or qrels"):
        convert(path, tmp_path / "out")
    assert convert(path, tmp_path / "out", kind="run").kind == "run"
    assert convert(path, tmp_path / "out", kind="qrels").kind == "qrels"
    with pytest.raises(OptionError, match="'runs' is no kind of file"):
        convert(path, tmp_path / "out", kind="runs")


def test_mapped_columns_tell_the_kind(write_file, tmp_path):
    path = write_file("a,b,c\nq,d,1\n")
    assert convert(path, tmp_path / "out", columns={"query": "a", "doc": "b", "grade": "c"}).kind == "qrels"
    assert convert(path, tmp_path / "out", columns={"query": "a", "doc": "b", "score": "c"}).kind == "run"


def test_bad_lines(write_file, tmp_path):
    path = write_file(RUN + "broken\n")
    with pytest.raises(BadLinesError):
        convert(path, tmp_path / "out")
    done = convert(path, tmp_path / "out", lenient=True)
    assert (done.n_rows, [bad.line for bad in done.bad_lines]) == (3, [4])


@pytest.mark.parametrize("option", ["source_format", "target_format"])
def test_unknown_formats(write_file, tmp_path, option):
    with pytest.raises(OptionError, match="there is no format 'xml'"):
        convert(write_file(RUN), tmp_path / "out", **{option: "xml"})


def test_from_standard_input_to_standard_output(monkeypatch):
    stdout = io.BytesIO()
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"query,doc,grade\nq,d,1\n")))
    monkeypatch.setattr(sys, "stdout", SimpleNamespace(buffer=stdout))
    assert convert("-", "-").kind == "qrels"
    assert stdout.getvalue() == b"q 0 d 1\n"
