from __future__ import annotations

import io
import os
import stat
import subprocess
import sys
import textwrap
import time
from types import SimpleNamespace

import numpy as np
import pytest

import rankscope as rs
from rankscope.errors import FormatError, GradeError, IdError, InputError, OptionError, ScoreError, UnfinishedError
from rankscope.io.detection import detect
from rankscope.io.files import write_text
from rankscope.io.read import read_qrels, read_run
from rankscope.io.rows import QrelsRows, RunRows
from rankscope.io.write import open_target, write_qrels, write_run

LOCKS = pytest.mark.skipif(sys.platform == "win32", reason="files are not locked there, and nothing is removed")
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


@LOCKS
def test_what_a_killed_process_has_left_is_removed_by_the_next_one(tmp_path):
    code = """
        import os, signal, sys
        from rankscope.io.write import open_target
        with open_target(sys.argv[1]) as stream:
            stream.write(b"half")
            stream.flush()
            os.kill(os.getpid(), signal.SIGKILL)
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code), tmp_path / "a.txt"], check=False, timeout=60)
    (left,) = tmp_path.glob(".rankscope-*.tmp")
    write_text(tmp_path / "b.txt", "whole")
    assert left.exists()  # it might be one that another process has just made
    os.utime(left, (time.time() - 3600,) * 2)
    write_text(tmp_path / "b.txt", "whole")
    assert sorted(tmp_path.iterdir()) == [tmp_path / "b.txt"]


@LOCKS
def test_what_another_process_is_writing_stays(tmp_path):
    with open_target(str(tmp_path / "a.txt")) as stream:
        stream.write(b"first")
        stream.flush()
        (own,) = tmp_path.glob(".rankscope-*.tmp")
        os.utime(own, (time.time() - 7200,) * 2)
        code = "import sys; from pathlib import Path; from rankscope.io.files import write_text\n"
        code += "write_text(Path(sys.argv[1]), 'b')"
        subprocess.run([sys.executable, "-c", code, tmp_path / "b.txt"], check=True, timeout=60)
        write_text(tmp_path / "c.txt", "c")
        assert own.exists()
        stream.write(b" second")
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {
        "a.txt": "first second",
        "b.txt": "b",
        "c.txt": "c",
    }


@LOCKS
def test_only_temporary_files_of_ours_are_removed(tmp_path):
    name = ".rankscope-0123456789abcdef.tmp"
    (tmp_path / "kept").write_text("kept")
    others = [".rankscope-notes.tmp", f"x{name}", f"{name}x", ".rankscope-0123456789ABCDEF.tmp"]
    for other in others:
        (tmp_path / other).write_text("")
        os.utime(tmp_path / other, (0, 0))
    (tmp_path / name).symlink_to(tmp_path / "kept")
    (tmp_path / name.replace("0", "f")).mkdir()
    os.mkfifo(tmp_path / name.replace("0", "a"))
    os.utime(tmp_path / name.replace("0", "a"), (0, 0))
    before = set(tmp_path.iterdir())
    write_text(tmp_path / "new.txt", "new")
    assert set(tmp_path.iterdir()) == before | {tmp_path / "new.txt"}
