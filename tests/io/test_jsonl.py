from __future__ import annotations

import numpy as np
import pytest

from rankscope.errors import BadLinesError, FormatError
from rankscope.io.read import read_qrels, read_run
from rankscope.io.rows import QrelsRows, RunRows
from rankscope.io.write import write_qrels, write_run

RUN = '{"query_id": "q1", "doc_id": "a", "score": 0.5, "rank": 1}\n\n{"query_id": "q1", "doc_id": 5, "score": 2, "rank": 2}\n'


def problems(raised) -> list[tuple[int, str]]:
    return [(bad.line, bad.problem) for bad in raised.value.bad_lines]


def test_a_run(write_file):
    read = read_run(write_file(RUN))
    assert read.format == "jsonl"
    assert read.rows.query == ["q1", "q1"]
    assert read.rows.doc == ["a", "5"]
    assert read.rows.score.tolist() == [0.5, 2.0]
    assert read.rows.rank.tolist() == [1, 2]
    assert read.rows.integer_ids == frozenset({"doc"})


def test_columns_can_be_mapped(write_file):
    path = write_file('{"frage": "q1", "doc": "a", "wert": 0.5}\n')
    rows = read_run(path, columns={"query": "frage", "score": "wert"}).rows
    assert (rows.query, rows.score.tolist()) == (["q1"], [0.5])


def test_optional_columns_travel_along_even_when_they_come_late(write_file):
    text = (
        '{"query": "q", "doc": "a", "grade": 1}\n'
        '{"query": "q", "doc": "b", "grade": 2, "rater": "eva", "time": "2024-01-02"}\n'
        '{"query": "q", "doc": "c", "grade": 2, "subtopic": 3}\n'
    )
    rows = read_qrels(write_file(text)).rows
    assert rows.rater == ["", "eva", ""]
    assert rows.time == ["", "2024-01-02", ""]
    assert rows.subtopic == ["", "", "3"]


def test_bad_lines(write_file):
    text = (
        '{"query": "q", "doc": "a", "score": 1}\n'
        '{"query": "q", "doc": "b", "score": \n'
        '{"query": "q", "doc": "c", "score": NaN}\n'
        '["q", "d", 1]\n'
        '{"query": "q", "doc": "e", "score": true}\n'
        '{"query": "q", "score": 1}\n'
        '{"query": "q", "doc": "f", "score": 1, "score": 2}\n'
        '{"query": 1.0, "doc": "g", "score": 1}\n'
    )
    with pytest.raises(BadLinesError) as raised:
        read_run(write_file(text))
    found = problems(raised)
    assert [line for line, _ in found] == [2, 3, 4, 5, 6, 7, 8]
    assert found[0][1].startswith("not valid JSON")
    assert found[1][1] == "not valid JSON: NaN is not a number"
    assert found[2][1] == "this is not a JSON object"
    assert found[3][1] == "score True is not a number"
    assert found[4][1] == "this row has no column for doc; its columns are query, score"
    assert found[5][1] == "the key 'score' is there twice"
    assert found[6][1] == "1.0 (float) is given as query"
    assert read_run(write_file(text), lenient=True).rows.doc == ["a"]


def test_a_first_row_without_the_columns_is_a_format_error(write_file):
    with pytest.raises(FormatError, match="has no column for query and doc; its columns are a, b") as raised:
        read_run(write_file('{"a": 1, "b": 2, "score": 3}\n'))
    assert raised.value.hint.startswith("say which columns they are: --run-columns query=NAME")


def test_the_other_kind_is_recognised(write_file):
    with pytest.raises(FormatError) as raised:
        read_run(write_file('{"query": "q", "doc": "a", "grade": 1}\n'))
    assert raised.value.hint == "this looks like qrels; are the arguments swapped?"
    with pytest.raises(FormatError) as raised:
        read_qrels(write_file(RUN))
    assert raised.value.hint == "this looks like a run; are the arguments swapped?"


def test_written_rows(tmp_path):
    write_run(RunRows(["q"], ["é"], np.array([-np.inf]), np.array([3]), "s"), tmp_path / "run.jsonl")
    assert (
        tmp_path / "run.jsonl"
    ).read_text() == '{"query": "q", "doc": "é", "score": -1e999, "rank": 3, "tag": "s"}\n'
    write_qrels(QrelsRows(["q"], ["d"], np.array([2.0]), rater=["eva"]), tmp_path / "qrels.jsonl")
    assert (tmp_path / "qrels.jsonl").read_text() == '{"query": "q", "doc": "d", "grade": 2, "rater": "eva"}\n'
