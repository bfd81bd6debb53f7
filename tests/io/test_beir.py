from __future__ import annotations

import gzip
import hashlib

import numpy as np
import pytest

from rankscope.errors import FormatError
from rankscope.io.read import read_qrels, read_run
from rankscope.io.rows import QrelsRows, RunRows
from rankscope.io.write import write_qrels, write_run

TABLE = "query-id\tcorpus-id\tscore\n1\t31715818\t1\n3\t14717500\t2\n"


def test_a_table(write_file):
    read = read_qrels(write_file(TABLE, "test.tsv"))
    assert read.format == "beir"
    assert read.rows.query == ["1", "3"]
    assert read.rows.doc == ["31715818", "14717500"]
    assert read.rows.grade.tolist() == [1.0, 2.0]
    assert read.rows.subtopic is None


def test_a_folder_gives_its_test_qrels(write_file, tmp_path):
    test = write_file(TABLE, "scifact/qrels/test.tsv")
    write_file(TABLE.replace("31715818", "other"), "scifact/qrels/train.tsv")
    for folder in ("scifact", "scifact/qrels"):
        read = read_qrels(tmp_path / folder)
        assert (read.path, read.format, read.sha256) == (
            str(test),
            "beir",
            hashlib.sha256(test.read_bytes()).hexdigest(),
        )
        assert read.rows.doc == ["31715818", "14717500"]


@pytest.mark.parametrize("name", ["dev.tsv", "train.tsv.gz", "test.tsv.gz"])
def test_a_folder_gives_its_only_qrels(write_file, tmp_path, name):
    content = gzip.compress(TABLE.encode()) if name.endswith("gz") else TABLE
    write_file(content, f"set/qrels/{name}")
    read = read_qrels(tmp_path / "set")
    assert read.rows.query == ["1", "3"]
    assert read.compression == ("gz" if name.endswith("gz") else None)


def test_several_qrels_and_no_test_are_listed(write_file, tmp_path):
    write_file(TABLE, "set/qrels/dev.tsv")
    write_file(TABLE, "set/qrels/train.tsv")
    with pytest.raises(FormatError, match=r"several qrels: dev\.tsv, train\.tsv"):
        read_qrels(tmp_path / "set")


def test_another_folder_is_refused(write_file, tmp_path):
    write_file("text", "notes/readme.txt")
    with pytest.raises(FormatError, match="a folder without BEIR qrels"):
        read_qrels(tmp_path / "notes")


def test_beir_holds_no_runs(write_file, tmp_path):
    path = write_file(TABLE)
    with pytest.raises(FormatError, match="not a run") as raised:
        read_run(path)
    assert raised.value.hint.startswith("this looks like qrels; are the arguments swapped?")
    assert read_run(path, format="tsv").rows.score.tolist() == [1.0, 2.0]
    with pytest.raises(FormatError, match="BEIR has no format for runs"):
        write_run(RunRows(["q"], ["d"], np.array([1.0])), tmp_path / "run", format="beir")


def test_written_qrels(tmp_path):
    rows = QrelsRows(["1", "1"], ["a b", "c"], np.array([2.0, 0.5]))
    write_qrels(rows, tmp_path / "test.tsv", format="beir")
    assert (tmp_path / "test.tsv").read_text() == "query-id\tcorpus-id\tscore\n1\ta b\t2\n1\tc\t0.5\n"


def test_subtopics_are_refused(tmp_path):
    rows = QrelsRows(["1"], ["a"], np.array([2.0]), subtopic=["1"])
    with pytest.raises(FormatError, match="BEIR cannot hold the subtopic"):
        write_qrels(rows, tmp_path / "test.tsv", format="beir")
