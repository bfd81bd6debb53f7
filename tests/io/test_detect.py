from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from rankscope.errors import FormatError
from rankscope.io import FORMATS
from rankscope.io.detection import Detected, detect
from rankscope.io.rows import QrelsRows, RunRows
from rankscope.io.write import write_qrels, write_run

LONG = ", ".join(f'"doc{i}": {i}.5' for i in range(30_000))
CASES = [
    ("q1 Q0 d1 1 0.5 t\n", "trec", "run"),
    ("q1\t0\td1\t1\n", "trec", "qrels"),
    ("# note\n\nq1 0 d1 1\n", "trec", "qrels"),
    ("broken\nq1 Q0 d1 1 0.5 t\n", "trec", "run"),
    ("just words\n", "trec", None),
    ("# only a comment\n", "trec", None),
    ("q1\tQ0\td1\t1\t0.5\n", "trec", None),
    ('{"x Q0 d1 1 0.5 t\n', "trec", "run"),
    ("[1 Q0 d1 1 0.5 t\n", "trec", "run"),
    ("query Q0 doc 1 0.5 run\n", "trec", "run"),
    ("query\tQ0\tdoc\t1\t0.5\trun\n", "trec", "run"),
    ("query-id\tcorpus-id\tscore\n1\t2\t1\n", "beir", "qrels"),
    ("query-id\tcorpus-id\tscore\r\n1\t2\t1\r\n", "beir", "qrels"),
    ("query-id,corpus-id,score\n1,2,1\n", "csv", "qrels"),
    ("qid,docno,score\nq,d,1\n", "csv", "run"),
    ("qid;docno;relevance\nq;d;1\n", "csv", "qrels"),
    ("qid\tdocno\trank\tscore\nq\td\t1\t1\n", "tsv", "run"),
    ('"query","doc","label"\n"q","d",1\n', "csv", "qrels"),
    ("query,doc,label,rank\nq,d,1,1\n", "csv", None),
    ("query,doc,weight\nq,d,1\n", "csv", None),
    ("a,b,c\nq,d,1\n", "csv", None),
    ("a;b;c\nq;d;1\n", "csv", None),
    ("a\tb\tc\nq\td\t1\n", "tsv", None),
    ('{"query": "q", "doc": "d", "score": 1}\n', "jsonl", "run"),
    ('{"query": "q", "doc": "d", "grade": 1, "notes": ["x"]}\n', "jsonl", "qrels"),
    ('{"query": \n{"query": "q", "doc": "d", "grade": 1}\n', "jsonl", "qrels"),
    ('{"q1": {"d1": 0.5}}', "json", "run"),
    ('{"q1": {"d1": 1, "d2": 0}}', "json", "qrels"),
    ('{"q1": {"d1": 1000, "d2": 999}}', "json", None),
    ('{"q1": {"d1": 1, "d2": 0.5}}', "json", None),
    ('{"q1": ["d1"]}', "json", None),
    ('{"q1": {}}', "json", None),
    ("{}", "json", None),
    ('{"q1": [["d1", 2]]}', "json", "run"),
    ('{\n  "q1": {\n    "d1": 2\n  }\n}\n', "json", "qrels"),
    (f'{{"q1": {{{LONG}}}}}', "json", None),
    ('[\n{"query": "q", "doc": "d", "grade": 1}\n]', "json", "qrels"),
    ('[{"query": "q", "doc": "d", "score": 1}]', "json", "run"),
    ("[]", "json", None),
]


@pytest.mark.parametrize(("text", "format_name", "kind"), CASES)
def test_text(write_file, text, format_name, kind):
    assert detect(write_file(text)) == Detected(format_name, None, kind)


@pytest.mark.parametrize("name", ["run.csv", "run.json", "run.parquet", "run.gz", "qrels/test.tsv"])
def test_the_content_decides_and_not_the_name(write_file, name):
    assert detect(write_file("q1 Q0 d1 1 0.5 t\n", name)) == Detected("trec", None, "run")


@pytest.mark.parametrize(("name", "format_name"), [("a.csv", "csv"), ("a.tsv.gz", "tsv"), ("a.txt", "trec")])
def test_the_name_breaks_a_tie(write_file, name, format_name):
    assert detect(write_file("words of any kind\n", name)).format == format_name


@pytest.mark.parametrize("format_name", ["parquet", "arrow"])
def test_tables(tmp_path, format_name, compressor):
    compression, compress = compressor
    write_run(RunRows(["q"], ["d"], np.array([1.0])), tmp_path / "run", format=format_name)
    assert detect(tmp_path / "run") == Detected(format_name, None, "run")
    write_qrels(QrelsRows(["q"], ["d"], np.array([1.0])), tmp_path / "qrels", format=format_name)
    (tmp_path / "compressed").write_bytes(compress((tmp_path / "qrels").read_bytes()))
    assert detect(tmp_path / "compressed") == Detected(format_name, compression, "qrels")


def test_an_arrow_stream(tmp_path):
    pl.DataFrame({"query": ["q"], "doc": ["d"], "rel": [1]}).write_ipc_stream(tmp_path / "stream")
    assert detect(tmp_path / "stream") == Detected("arrow", None, "qrels")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_wide_encodings_are_refused_with_the_way_out(write_file, encoding):
    with pytest.raises(FormatError, match=r"is UTF-16 text|full of NUL bytes") as raised:
        detect(write_file("q1 Q0 d1 1 0.5 t\n".encode(encoding)))
    assert "iconv" in raised.value.hint


def test_other_binary_files_are_refused(write_file):
    with pytest.raises(FormatError, match="ZIP archive"):
        detect(write_file(b"PK\x03\x04" + bytes(100)))
    with pytest.raises(FormatError, match="is not text"):
        detect(write_file(b"SQLite format 3\0" + bytes(100)))


@pytest.mark.parametrize("content", [b"", b"\n \r\n", b"\xef\xbb\xbf"])
def test_an_empty_file(write_file, content):
    with pytest.raises(FormatError, match="is empty: it has no rows"):
        detect(write_file(content))


def test_every_format_is_described_in_a_sentence():
    ours = [name for name in FORMATS if not FORMATS.entries[name].package]
    assert ours == ["trec", "beir", "json", "jsonl", "csv", "tsv", "parquet", "arrow"]
    assert all(FORMATS.summary(name).endswith(".") for name in ours)
