from __future__ import annotations

import io
import os
import stat
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import rankscope as rs
from rankscope.errors import FormatError, GradeError, IdError, InputError, OptionError, ScoreError, UnfinishedError
from rankscope.io.detection import detect
from rankscope.io.read import read_qrels, read_run
from rankscope.io.rows import QrelsRows, RunRows
from rankscope.io.write import write_qrels, write_run

RUN = RunRows(["q1"], ["d1"], np.array([2.5]))
QRELS = QrelsRows(["q1"], ["d1"], np.array([1.0]))


@pytest.mark.parametrize(
    ("name", "format_name"),
    [
        ("run", "trec"),
        ("run.trec", "trec"),
        ("run.bm25", "trec"),
        ("run.json", "json"),
        ("run.JSON", "json"),
        ("run.jsonl", "jsonl"),
        ("run.csv", "csv"),
        ("run.tsv", "tsv"),
        ("run.parquet", "parquet"),
        ("run.arrow", "arrow"),
        ("run.feather", "arrow"),
        ("run.ipc", "arrow"),
    ],
)
@pytest.mark.parametrize("compression", [None, "gz", "bz2", "xz", "zst"])
def test_the_name_gives_format_and_compression(tmp_path, name, format_name, compression):
    path = tmp_path / (f"{name}.{compression}" if compression else name)
    write_run(RUN, path)
    found = detect(path)
    assert (found.format, found.compression) == (format_name, compression)
    assert read_run(path).rows.score.tolist() == [2.5]


def test_a_given_format_wins_over_the_name(tmp_path):
    write_run(RUN, tmp_path / "run.csv", format="json")
    assert detect(tmp_path / "run.csv").format == "json"


def test_an_unknown_format(tmp_path):
    with pytest.raises(OptionError, match="there is no format 'jsn'"):
        write_run(RUN, tmp_path / "run", format="jsn")


def test_standard_output(monkeypatch):
    stdout = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", SimpleNamespace(buffer=stdout))
    write_run(RUN, "-")
    write_qrels(QRELS, "-", format="csv")
    assert stdout.getvalue() == b"q1 Q0 d1 1 2.5 rankscope\nquery,doc,grade\nq1,d1,1\n"


@pytest.mark.parametrize("compression", ["gz", "bz2", "xz", "zst"])
def test_the_same_rows_give_the_same_file(tmp_path, compression, monkeypatch):
    write_run(RUN, tmp_path / f"one.{compression}")
    monkeypatch.setattr("time.time", lambda: 1e9)
    write_run(RUN, tmp_path / f"two.{compression}")
    assert (tmp_path / f"one.{compression}").read_bytes() == (tmp_path / f"two.{compression}").read_bytes()


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path):
    write_run(RUN, tmp_path / "run.gz")
    before = (tmp_path / "run.gz").read_bytes()
    with pytest.raises(InputError):
        write_run(RunRows(["a b"], ["d"], np.array([1.0])), tmp_path / "run.gz")
    assert [path.name for path in tmp_path.iterdir()] == ["run.gz"]
    assert (tmp_path / "run.gz").read_bytes() == before


def test_permissions_and_links_are_kept(tmp_path):
    write_run(RUN, tmp_path / "run")
    (tmp_path / "run").chmod(0o640)
    (tmp_path / "link").symlink_to("run")
    write_run(RunRows(["q2"], ["d1"], np.array([2.5])), tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "run").stat().st_mode & 0o777 == 0o640
    assert read_run(tmp_path / "run").rows.query == ["q2"]


def test_a_new_file_has_the_usual_permissions(tmp_path):
    (tmp_path / "usual").touch()
    write_run(RUN, tmp_path / "run")
    assert (tmp_path / "run").stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_a_device_is_written_as_it_is():
    write_run(RUN, os.devnull)
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode), "it must not have been replaced by a file"  # noqa: PTH116


def test_places_that_take_no_file(tmp_path):
    with pytest.raises(InputError, match="is a folder"):
        write_run(RUN, tmp_path)
    with pytest.raises(InputError, match="nowhere does not exist"):
        write_run(RUN, tmp_path / "nowhere" / "run")


def test_a_folder_that_may_not_be_written(tmp_path, monkeypatch):
    def deny(*arguments, **options):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.open", deny)
    with pytest.raises(UnfinishedError, match="run cannot be written: Permission denied"):
        write_run(RUN, tmp_path / "run")


@pytest.mark.parametrize("name", ["x", "x.json", "x.jsonl", "x.csv", "x.tsv", "x.parquet", "x.arrow"])
def test_rows_that_could_not_be_read_back_are_refused(tmp_path, name):
    path = tmp_path / name
    with pytest.raises(ScoreError, match="the score of query 'q', doc 'd' is not a number"):
        write_run(RunRows(["q"], ["d"], np.array([np.nan])), path)
    with pytest.raises(GradeError, match="the grade of query 'q', doc 'd' is not a finite number"):
        write_qrels(QrelsRows(["q"], ["d"], np.array([np.inf])), path)
    with pytest.raises(IdError, match="row 1 has an empty query id"):
        write_run(RunRows([""], ["d"], np.array([1.0])), path)
    with pytest.raises(InputError, match="no rows to write"):
        write_qrels(QrelsRows([], [], np.array([])), path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["x", "x.csv", "x.tsv"])
def test_text_that_has_no_bytes_is_refused(tmp_path, name):
    with pytest.raises(IdError, match="is not Unicode text"):
        write_run(RunRows(["\ud83d"], ["d"], np.array([1.0])), tmp_path / name)


@pytest.mark.parametrize("format_name", ["trec", "jsonl", "csv", "tsv", "parquet", "arrow"])
def test_subtopics_travel(tmp_path, format_name):
    rows = QrelsRows(["q", "q"], ["a", "a"], np.array([1.0, 0.0]), subtopic=["1", "2"])
    write_qrels(rows, tmp_path / "qrels", format=format_name)
    again = read_qrels(tmp_path / "qrels").rows
    assert (again.subtopic, again.doc, again.grade.tolist()) == (["1", "2"], ["a", "a"], [1.0, 0.0])


class TestEndings:
    @pytest.mark.parametrize("name", ["a.xlsx", "A.XLSX", "a.pkl.gz", "a.v2.html"])
    def test_of_other_files_are_refused_with_those_that_are_known(self, name, tmp_path):
        with pytest.raises(FormatError, match="runs and qrels are not written as") as raised:
            rs.Run({"q": ["d"]}).save(tmp_path / name)
        assert ".run" in raised.value.hint
        assert ".parquet" in raised.value.hint
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize("name", ["a", "a.txt", "a.run", "a.v2", "xlsx", "a.bm25", "a.2024-01-01"])
    def test_that_say_nothing_are_trec_text(self, name, tmp_path):
        rs.Run({"q": ["d"]}).save(tmp_path / name)
        assert (tmp_path / name).read_text() == "q Q0 d 1 1.0 rankscope\n"

    def test_a_format_that_is_given_goes_before(self, tmp_path):
        rs.Run({"q": ["d"]}).save(tmp_path / "a.md", format="csv")
        assert (tmp_path / "a.md").read_text().startswith("query,doc,score")
