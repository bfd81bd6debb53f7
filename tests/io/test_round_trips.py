"""What is written reads back as the same rows, in every format and compression, whatever the ids and scores."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankscope.io.detection import detect
from rankscope.io.read import read_qrels, read_run
from rankscope.io.rows import QrelsRows, RunRows
from rankscope.io.write import write_qrels, write_run

FORMATS = ["trec", "json", "jsonl", "csv", "tsv", "parquet", "arrow"]
COMPRESSIONS = [None, "gz", "bz2", "xz", "zst"]
UNUSUAL = ["é", "日本語", "🙂", "\u200bd", "\ufeffd", "e\u0301", "ﬁ", "ß", "\U0001d54f", "-", "0", "1e5", "nan", '"', "'", ",", ";", "{", "[", "{}", '{"a":1}', "[1]", "\\", "PAR1", "BZh9", "Q0", "query", "doc", "null"]  # fmt: skip

words = st.text(st.characters(exclude_categories=("Cc", "Cs", "Zs", "Zl", "Zp")), min_size=1, max_size=8)
ids = (words | st.sampled_from(UNUSUAL)).filter(lambda text: not text.startswith("#"))
texts = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=6)
scores = st.floats(allow_nan=False)
grades = st.integers(-2, 5).map(float) | st.floats(allow_nan=False, allow_infinity=False)
settled = settings(max_examples=25, deadline=None)


def distinct_pairs(query_ids, doc_ids):
    return st.lists(st.tuples(query_ids, doc_ids), min_size=1, max_size=8, unique=True).map(sorted)


@st.composite
def runs(draw) -> RunRows:
    pairs = draw(distinct_pairs(ids, ids))
    n = len(pairs)
    score = draw(st.lists(scores, min_size=n, max_size=n))
    rank = draw(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=n, max_size=n))
    return RunRows([query for query, _ in pairs], [doc for _, doc in pairs], np.array(score), np.array(rank), draw(ids))


@st.composite
def qrels(draw) -> QrelsRows:
    pairs = draw(distinct_pairs(ids, ids))
    n = len(pairs)
    grade = draw(st.lists(grades, min_size=n, max_size=n))
    return QrelsRows([query for query, _ in pairs], [doc for _, doc in pairs], np.array(grade))


def path_for(tmp_path_factory, format_name: str, compression: str | None):
    folder = tmp_path_factory.getbasetemp()
    return folder / (f"rows-{format_name}.{compression}" if compression else f"rows-{format_name}")


@pytest.mark.parametrize("compression", COMPRESSIONS)
@pytest.mark.parametrize("format_name", FORMATS)
@settled
@given(rows=runs())
def test_runs(tmp_path_factory, format_name, compression, rows):
    path = path_for(tmp_path_factory, format_name, compression)
    write_run(rows, path, format=format_name)
    read = read_run(path)
    assert (read.format, read.compression, read.bad_lines) == (format_name, compression, ())
    assert (list(read.rows.query), list(read.rows.doc)) == (rows.query, rows.doc)
    assert read.rows.score.tobytes() == rows.score.tobytes()
    if format_name != "json":
        assert read.rows.rank.tolist() == rows.rank.tolist()
        assert read.rows.tag == rows.tag


@pytest.mark.parametrize("compression", COMPRESSIONS)
@pytest.mark.parametrize("format_name", [*FORMATS, "beir"])
@settled
@given(rows=qrels())
def test_qrels(tmp_path_factory, format_name, compression, rows):
    path = path_for(tmp_path_factory, format_name, compression)
    write_qrels(rows, path, format=format_name)
    read = read_qrels(path)
    assert (read.format, read.compression) == (format_name, compression)
    assert (list(read.rows.query), list(read.rows.doc)) == (rows.query, rows.doc)
    assert read.rows.grade.tolist() == rows.grade.tolist()
    assert (read.rows.subtopic, read.rows.rater, read.rows.time) == (None, None, None)


@pytest.mark.parametrize("format_name", ["jsonl", "csv", "tsv", "parquet", "arrow"])
@settled
@given(data=st.data())
def test_tables_hold_any_text_and_every_column(tmp_path_factory, format_name, data):
    path = path_for(tmp_path_factory, format_name, None)
    filled = texts.filter(bool)
    n = data.draw(st.integers(1, 5))
    columns = [data.draw(st.lists(column, min_size=n, max_size=n)) for column in (filled, filled, texts, texts, texts)]
    query, doc, subtopic, rater, time = columns
    rows = QrelsRows(query, doc, np.arange(n) / 2, subtopic=subtopic, rater=rater, time=time)
    write_qrels(rows, path, format=format_name)
    read = read_qrels(path).rows
    assert [read.query, read.doc, read.subtopic, read.rater, read.time] == columns
    assert read.grade.tolist() == rows.grade.tolist()


@pytest.mark.parametrize("format_name", ["trec", "json", "jsonl", "csv", "tsv"])
@settled
@given(query=st.binary(min_size=1, max_size=6), doc=st.binary(min_size=1, max_size=6))
def test_text_formats_hold_any_bytes(tmp_path_factory, format_name, query, doc):
    path = path_for(tmp_path_factory, format_name, None)
    ids = [
        f"q{text.hex()}" + bytes(byte for byte in text if byte > 0x7F).decode("utf-8", "surrogateescape")
        for text in (query, doc)
    ]
    write_run(RunRows([ids[0]], [ids[1]], np.array([0.1])), path, format=format_name)
    read = read_run(path).rows
    assert [*read.query, *read.doc] == ids


@settled
@given(rows=qrels(), data=st.data())
def test_trec_subtopics(tmp_path_factory, rows, data):
    path = path_for(tmp_path_factory, "trec", None)
    subtopic = data.draw(st.lists(ids, min_size=len(rows), max_size=len(rows)))
    write_qrels(QrelsRows(rows.query, rows.doc, rows.grade, subtopic=subtopic), path, format="trec")
    assert read_qrels(path).rows.subtopic == (subtopic if len(set(subtopic)) > 1 else None)


@pytest.mark.parametrize("format_name", ["trec", "jsonl", "csv", "tsv", "parquet", "arrow"])
def test_the_kind_can_be_told_from_what_was_written(tmp_path, format_name):
    write_run(RunRows(["q"], ["d"], np.array([0.5])), tmp_path / "run", format=format_name)
    write_qrels(QrelsRows(["q"], ["d"], np.array([1.0])), tmp_path / "qrels", format=format_name)
    assert (detect(tmp_path / "run").kind, detect(tmp_path / "qrels").kind) == ("run", "qrels")
