from __future__ import annotations

import datetime as dt
import gzip
import io
import os
import subprocess
import sys

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.ipc
import pytest

from rankscope.errors import BadLinesError, FormatError, IdError
from rankscope.io.read import read_qrels, read_run
from rankscope.io.rows import RunRows
from rankscope.io.table_check import without_panic_text
from rankscope.io.write import write_run

RUN = {"qid": ["q1", "q1"], "docno": ["a", "b"], "score": [0.5, -1.0], "rank": [1, 2], "run": ["s", "s"]}


@pytest.fixture(params=["parquet", "arrow"])
def table_file(request, tmp_path):
    """Return a function that writes a table with Polars itself, under a name that says nothing."""

    def write(columns) -> str:
        frame = pl.DataFrame(columns)
        path = tmp_path / "file"
        (frame.write_parquet if request.param == "parquet" else frame.write_ipc)(path)
        return str(path)

    write.format = request.param
    return write


def test_a_run(table_file):
    read = read_run(table_file(RUN))
    assert read.format == table_file.format
    assert read.rows.query == ["q1", "q1"]
    assert read.rows.doc == ["a", "b"]
    assert read.rows.score.tolist() == [0.5, -1.0]
    assert read.rows.rank.tolist() == [1, 2]
    assert read.rows.tag == "s"
    assert read.rows.integer_ids == frozenset()


def test_qrels_with_every_column(table_file):
    columns = {
        "query": ["q", "q"],
        "doc": [1, 2],
        "relevance": pl.Series([1, 2], dtype=pl.Int8),
        "subtopic": [1, 2],
        "rater": ["eva", None],
        "time": [dt.date(2024, 5, 1), None],
    }
    rows = read_qrels(table_file(columns)).rows
    assert rows.doc == ["1", "2"]
    assert rows.integer_ids == frozenset({"doc"})
    assert rows.grade.tolist() == [1.0, 2.0]
    assert (rows.subtopic, rows.rater, rows.time) == (["1", "2"], ["eva", ""], ["2024-05-01", ""])


def test_categorical_and_binary_ids(table_file):
    columns = {"query": pl.Series(["q", "p"], dtype=pl.Categorical), "doc": [b"a", b"b"], "score": [1, 2]}
    rows = read_run(table_file(columns)).rows
    assert (rows.query, rows.doc, rows.score.tolist()) == (["q", "p"], ["a", "b"], [1.0, 2.0])


def test_columns_can_be_mapped(table_file):
    path = table_file({"frage": ["q"], "doc": ["a"], "wert": [1.5]})
    assert read_run(path, columns={"query": "frage", "score": "wert"}).rows.score.tolist() == [1.5]


def test_rows_that_lack_something_are_named(table_file):
    path = table_file(
        {
            "query": ["q", None, "q", "q", "q"],
            "doc": ["a", "b", "", "d", "e"],
            "score": [1.0, 2.0, 3.0, None, float("nan")],
        }
    )
    with pytest.raises(BadLinesError) as raised:
        read_run(path)
    assert [(bad.line, bad.problem) for bad in raised.value.bad_lines] == [
        (2, "the query id is missing"),
        (3, "the doc id is missing"),
        (4, "the score is missing"),
        (5, "score nan is not a number"),
    ]
    assert "row 2: " in raised.value.bad_lines[0].text
    assert read_run(path, lenient=True).rows.doc == ["a"]


def test_a_grade_must_be_finite(table_file):
    with pytest.raises(BadLinesError, match="grade inf is not a finite number"):
        read_qrels(table_file({"query": ["q"], "doc": ["a"], "grade": [float("inf")]}))


@pytest.mark.parametrize("values", [["1", "2"], [True, False]])
def test_a_score_must_be_a_number(table_file, values):
    with pytest.raises(FormatError, match=r"column 'sim' of \S+ holds (String|Boolean), not numbers"):
        read_run(table_file({"query": ["q", "q"], "doc": ["a", "b"], "sim": values}))


def test_ids_are_never_floats(table_file):
    with pytest.raises(IdError, match=r"7\.0 \(float\) is given as doc"):
        read_run(table_file({"query": ["q"], "doc": [7.0], "score": [1.0]}))


def test_ranks_are_whole_or_left_out(table_file):
    for ranks in ([1.0, 2.0], [1, None], pl.Series([1, 2**63], dtype=pl.UInt64)):
        assert read_run(table_file({**RUN, "rank": ranks})).rows.rank is None


def test_a_table_without_rows_is_empty(table_file):
    with pytest.raises(FormatError, match="is empty"):
        read_run(table_file({"query": [], "doc": [], "score": []}))


def test_a_damaged_table(table_file, tmp_path):
    path = table_file(RUN)
    content = (tmp_path / "file").read_bytes()
    (tmp_path / "file").write_bytes(content[: len(content) // 2])
    with pytest.raises(FormatError, match=r"cannot be read as (Parquet|Arrow)") as raised:
        read_run(path)
    assert "damaged" in raised.value.hint


def test_a_format_that_does_not_fit(write_file, table_file):
    with pytest.raises(FormatError, match=r"cannot be read as (Parquet|Arrow)"):
        read_run(write_file("q Q0 d 1 0.5 t\n"), format=table_file.format)


def test_a_table_compressed_once_more(table_file, tmp_path):
    path = table_file(RUN)
    (tmp_path / "file.gz").write_bytes(gzip.compress((tmp_path / "file").read_bytes()))
    read = read_run(f"{path}.gz")
    assert (read.format, read.compression, read.rows.doc) == (table_file.format, "gz", ["a", "b"])


def test_files_of_pyarrow(tmp_path):
    table = pa.table({**RUN, "qid": pa.array(["q1", "q1"]).dictionary_encode()})
    pyarrow.feather.write_feather(table, tmp_path / "feather", compression="lz4")
    stream = io.BytesIO()
    with pyarrow.ipc.new_stream(stream, table.schema) as writer:
        writer.write_table(table)
    (tmp_path / "stream").write_bytes(stream.getvalue())
    for name in ("feather", "stream"):
        read = read_run(tmp_path / name)
        assert (read.format, read.rows.query, read.rows.doc) == ("arrow", ["q1", "q1"], ["a", "b"])


@pytest.mark.parametrize("name", ["run.parquet", "run.arrow"])
def test_text_that_is_not_unicode_is_not_written(tmp_path, name):
    with pytest.raises(IdError, match=r"doc 'caf.udce9' is not Unicode text"):
        write_run(RunRows(["q"], ["caf\udce9"], np.array([1.0])), tmp_path / name)


def test_bytes_that_are_not_utf8_are_refused(table_file):
    with pytest.raises(IdError, match="doc id holds bytes that are not UTF-8"):
        read_run(table_file({"query": ["q"], "doc": [b"\xff"], "score": [1.0]}))


PANICKING = """
import struct, sys
from rankscope.data.embedding_files import load_embeddings
from rankscope.data.docs import load_docs
from rankscope.errors import RankscopeError
from rankscope.io.read import read_run

path, n_panics = sys.argv[1], 0
whole = open(path, "rb").read()
footer = len(whole) - 8 - struct.unpack("<I", whole[-8:-4])[0]
for place in range(footer, footer + 60):
    with open(path, "wb") as stream:
        stream.write(whole[:place] + b"\\0" + whole[place + 1 :])
    for read in (read_run, lambda path: load_docs(path), load_embeddings):
        try:
            read(path)
        except RankscopeError as error:
            n_panics += "its content is damaged" in str(error)
print(n_panics)
print("as ever", file=sys.stderr)
"""


def test_what_polars_prints_where_it_panics_does_not_reach_the_terminal(tmp_path):
    path = tmp_path / "run.parquet"
    pl.DataFrame({"query": ["q"], "doc": ["d"], "score": [1.0], "vector": [[1.0, 2.0]]}).write_parquet(path)
    done = subprocess.run(
        [sys.executable, "-c", PANICKING, str(path)], capture_output=True, text=True, check=True, timeout=120
    )
    assert int(done.stdout) > 0, "none of these files makes this version of Polars panic: look for another"
    assert done.stderr == "as ever\n", done.stderr[:200]


def test_what_others_print_meanwhile_is_shown(capfd):
    with without_panic_text():
        os.write(2, b"from elsewhere\n")
        with without_panic_text():
            os.write(2, b"and within\n")
        assert capfd.readouterr().err == ""
    with pytest.raises(ZeroDivisionError), without_panic_text():  # noqa: PT012
        os.write(2, b"before an error\n")
        1 / 0  # noqa: B018
    os.write(2, b"afterwards\n")
    assert capfd.readouterr().err == "from elsewhere\nand within\nbefore an error\nafterwards\n"


def test_a_table_is_read_without_a_standard_error(tmp_path):
    path = tmp_path / "run.parquet"
    pl.DataFrame({"query": ["q"], "doc": ["d"], "score": [1.0]}).write_parquet(path)
    code = "import os, sys; os.close(2); from rankscope.io.read import read_run; print(read_run(sys.argv[1]).rows.doc)"
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=False)
    assert done.stdout == "['d']\n"
