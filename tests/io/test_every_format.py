"""Every kind of data in every format and compression: what is read equals what another program wrote.

Files are written by Python's own modules, Polars and zstandard, never by Rankscope.
"""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma

import polars as pl
import pytest
import zstandard

import rankscope as rs
from rankscope.data.docs import load_docs
from rankscope.data.embedding_files import load_embeddings
from rankscope.data.queries import load_queries
from rankscope.experiment.doc_files import DocFile
from rankscope.hpo.terms import read_translations
from rankscope.io.read import read_qrels, read_run
from rankscope.io.table import read_rows
from rankscope.measures.score_files import read_scores

COMPRESS = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": zstandard.ZstdCompressor().compress,
}


def delimited(delimiter):
    def write(rows):
        stream = io.StringIO()
        writer = csv.DictWriter(stream, list(rows[0]), delimiter=delimiter, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        return stream.getvalue().encode()

    return write


def polars_bytes(method):
    def write(rows):
        stream = io.BytesIO()
        getattr(pl.DataFrame(rows), method)(stream)
        return stream.getvalue()

    return write


WRITE = {
    "comma.csv": delimited(","),
    "semicolon.csv": delimited(";"),
    "tsv": delimited("\t"),
    "jsonl": lambda rows: "".join(json.dumps(row) + "\n" for row in rows).encode(),
    "json": lambda rows: json.dumps(rows).encode(),
    "parquet": polars_bytes("write_parquet"),
    "arrow": polars_bytes("write_ipc"),
    "stream.arrow": polars_bytes("write_ipc_stream"),
}
RUN = [("q1", "d,1", 2.5), ("q1", 'd"2"', -1.0), ("caf\u00e9", "d;3", 1e-300)]
QRELS = [("q1", "d,1", 2), ("q1", 'd"2"', 0), ("caf\u00e9", "d;3", 1)]
TREC = {
    "run": 'q1 Q0 d,1 1 2.5 t\nq1 Q0 d"2" 2 -1.0 t\ncaf\u00e9 Q0 d;3 1 1e-300 t\n'.encode(),
    "qrels": 'q1 0 d,1 2\nq1 0 d"2" 0\ncaf\u00e9 0 d;3 1\n'.encode(),
}


@pytest.fixture(params=COMPRESS, ids=lambda ending: ending or "plain")
def compression(request):
    return request.param


@pytest.fixture(params=WRITE)
def file_of(request, compression, tmp_path):
    """Return a function that writes rows to a file in one of the formats and compressions."""

    def write(rows, stem="file"):
        path = tmp_path / f"{stem}.{request.param.rpartition('.')[2]}{compression}"
        path.write_bytes(COMPRESS[compression](WRITE[request.param](rows)))
        return path

    return write


def test_runs(file_of):
    rows = read_run(file_of([{"qid": query, "docno": doc, "score": score} for query, doc, score in RUN])).rows
    assert list(zip(rows.query, rows.doc, rows.score.tolist(), strict=True)) == RUN


def test_qrels(file_of):
    rows = read_qrels(file_of([{"query": query, "doc": doc, "grade": grade} for query, doc, grade in QRELS])).rows
    assert list(zip(rows.query, rows.doc, rows.grade.tolist(), strict=True)) == QRELS


@pytest.mark.parametrize("kind", TREC)
def test_trec_text(kind, compression, tmp_path):
    path = tmp_path / f"file.txt{compression}"
    path.write_bytes(COMPRESS[compression](TREC[kind]))
    rows = (read_run if kind == "run" else read_qrels)(path).rows
    values = rows.score if kind == "run" else rows.grade
    assert list(zip(rows.query, rows.doc, values.tolist(), strict=True)) == (RUN if kind == "run" else QRELS)


def test_an_evaluation(file_of):
    qrels = file_of([{"query": query, "doc": doc, "grade": grade} for query, doc, grade in QRELS], "qrels")
    run = file_of([{"query": query, "doc": doc, "score": score} for query, doc, score in RUN], "run")
    assert rs.evaluate(qrels, run, "P@1")["run"].values.tolist() == [[1.0], [1.0]]


def test_queries(file_of):
    rows = [
        {"id": "q1", "text": "what, where; why", "lang": "en"},
        {"id": "7", "text": "caf\u00e9\nau lait", "lang": "fr"},
    ]
    table = load_queries(file_of(rows, "queries"))
    assert table.ids == ("q1", "7")
    assert table.texts == {"q1": "what, where; why", "7": "caf\u00e9\nau lait"}
    assert table.attributes == {"lang": {"q1": "en", "7": "fr"}}


def test_fields_of_docs(file_of):
    table = load_docs(file_of([{"docno": "d1", "topic": "a;b"}, {"docno": "d2", "topic": "caf\u00e9, bar"}]))
    assert table.fields == {"topic": {"d1": "a;b", "d2": "caf\u00e9, bar"}}


def test_texts_of_docs(file_of):
    rows = [{"id": "d1", "title": "A", "text": "x" * 200_000}, {"id": "d2", "title": "B", "text": 'second; one, "two"'}]
    docs = list(DocFile(file_of(rows, "corpus")))
    assert [(doc.id, doc.title, doc.text) for doc in docs] == [
        ("d1", "A", "x" * 200_000),
        ("d2", "B", 'second; one, "two"'),
    ]


def test_scores(file_of):
    scores = read_scores(
        [file_of([{"query": "q1", "bm25": 0.5, "dense": 0.25}, {"query": "q2", "bm25": 0.0, "dense": 1.0}])]
    )
    assert {name: run.values.ravel().tolist() for name, run in scores.items()} == {
        "bm25": [0.5, 0.0],
        "dense": [0.25, 1.0],
    }


def test_scores_of_one_system_a_file(file_of):
    first = file_of([{"qid": "q1", "AP": 0.5, "RR": 1.0}], "bm25")
    scores = read_scores([first, file_of([{"qid": "q1", "AP": 0.25, "RR": 0.5}], "dense")])
    assert {name: run.values.tolist() for name, run in scores.items()} == {"bm25": [[0.5, 1.0]], "dense": [[0.25, 0.5]]}


def test_trec_eval_output(compression, tmp_path):
    path = tmp_path / f"bm25.eval{compression}"
    path.write_bytes(COMPRESS[compression](b"runid\tall\tbm25\nmap\tq1\t0.5\nmap\tq2\t0.25\nmap\tall\t0.375\n"))
    scores = read_scores([path])
    assert scores["bm25"].values.tolist() == [[0.5], [0.25]]


def test_translations(file_of):
    path = file_of(
        [{"hpo_id": "HP:1", "label": "Anfall, epileptisch"}, {"hpo_id": "HP:2", "label": "Fieber"}], "labels-de"
    )
    assert read_translations([path], "de").labels == {"HP:1": "Anfall, epileptisch", "HP:2": "Fieber"}


def test_any_rows(file_of):
    rows = list(read_rows(file_of([{"a": "1", "b": "x;y,z"}, {"a": "2", "b": "caf\u00e9"}])))
    assert [row for _, row in rows] == [{"a": "1", "b": "x;y,z"}, {"a": "2", "b": "caf\u00e9"}]
    assert [line for line, _ in rows] in ([1, 2], [2, 3])  # of lines, or of rows where there are no lines


def test_a_pipe_is_read_once_and_told_from_its_content(monkeypatch):
    content = gzip.compress(b'{"id": "q1", "text": "first"}\n{"id": "q2", "text": "second"}\n')
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
    assert load_queries("-").texts == {"q1": "first", "q2": "second"}


@pytest.mark.parametrize("ending", ["parquet", "arrow", "jsonl", "json"])
def test_embeddings(ending, compression, tmp_path):
    path = tmp_path / f"vectors.{ending}{compression}"
    content = WRITE[ending]([{"id": "d1", "vector": [1.0, 2.0]}, {"id": "d2", "vector": [3.0, 4.0]}])
    path.write_bytes(COMPRESS[compression](content))
    assert load_embeddings(path).vectors.tolist() == [[1.0, 2.0], [3.0, 4.0]]


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_a_table_in_which_every_id_is_missing(tmp_path, ending):
    path = tmp_path / f"qrels.{ending}"
    missing = pl.Series("query", [None, None], dtype=pl.Float64)
    table = pl.DataFrame([missing, pl.Series("doc", ["a", "b"]), pl.Series("grade", [1, 0])])
    (table.write_parquet if ending == "parquet" else table.write_ipc)(path)
    with pytest.raises(rs.errors.InputError, match="the query id is missing"):
        rs.load_qrels(path)
