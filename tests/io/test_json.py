from __future__ import annotations

import json
import math

import numpy as np
import pytest

from rankscope.errors import (
    BadLinesError,
    DuplicateError,
    FormatError,
    GradeError,
    IdError,
    OptionError,
    ScoreError,
)
from rankscope.io.read import read_qrels, read_run
from rankscope.io.rows import QrelsRows, RunRows
from rankscope.io.write import write_qrels, write_run


def test_a_run_of_dicts(write_file):
    read = read_run(write_file('{"q1": {"d1": 0.5, "d2": 2}, "q2": {"d1": -1e3}}'))
    assert read.format == "json"
    assert read.rows.query == ["q1", "q1", "q2"]
    assert read.rows.doc == ["d1", "d2", "d1"]
    assert read.rows.score.tolist() == [0.5, 2.0, -1000.0]
    assert (read.rows.rank, read.rows.tag) == (None, None)


def test_qrels_of_dicts_printed_over_many_lines(write_file):
    text = json.dumps({"q1": {"d1": 1, "d2": 0.5}}, indent=2)
    rows = read_qrels(write_file("\ufeff" + text)).rows
    assert (rows.query, rows.doc, rows.grade.tolist()) == (["q1", "q1"], ["d1", "d2"], [1.0, 0.5])


def test_ranked_lists_keep_their_order_as_scores(write_file):
    rows = read_run(write_file('{"q1": ["a", "b", "c"], "q2": ["x"]}')).rows
    assert rows.doc == ["a", "b", "c", "x"]
    assert rows.score.tolist() == [3.0, 2.0, 1.0, 1.0]


def test_lists_of_pairs(write_file):
    rows = read_run(write_file('{"q1": [["a", 0.25], [7, 3]]}')).rows
    assert (rows.doc, rows.score.tolist()) == (["a", "7"], [0.25, 3.0])
    assert rows.integer_ids == frozenset({"doc"})


def test_lists_of_docs_are_binary_qrels(write_file):
    rows = read_qrels(write_file('{"q1": ["a", 12]}')).rows
    assert (rows.doc, rows.grade.tolist(), rows.integer_ids) == (["a", "12"], [1.0, 1.0], frozenset({"doc"}))


def test_pairs_are_no_qrels(write_file):
    with pytest.raises(FormatError) as raised:
        read_qrels(write_file('{"q1": [["a", 0.25]]}'))
    assert raised.value.hint == "this looks like a run; are the arguments swapped?"


def test_a_list_of_rows(write_file):
    text = '[{"qid": 1, "docno": "a", "relevance": 2, "rater": "eva"},\n {"qid": 1, "docno": "b", "relevance": 0}]'
    rows = read_qrels(write_file(text)).rows
    assert (rows.query, rows.doc, rows.grade.tolist()) == (["1", "1"], ["a", "b"], [2.0, 0.0])
    assert rows.rater == ["eva", ""]
    assert rows.integer_ids == frozenset({"query"})


def test_bad_rows_of_a_list_are_named_by_their_place(write_file):
    text = '[{"query": "q", "doc": "a", "score": 1}, {"query": "q", "doc": "b", "score": null}, 5]'
    with pytest.raises(BadLinesError) as raised:
        read_run(write_file(text))
    assert [(bad.line, bad.problem) for bad in raised.value.bad_lines] == [
        (2, "the score is missing"),
        (3, "this is not a JSON object"),
    ]
    assert read_run(write_file(text), lenient=True).rows.doc == ["a"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"q1": {"a": 1}, "q1": {"b": 1}}', "query 'q1' appears twice"),
        ('{"q1": {"a": 1, "a": 2}}', "query 'q1': doc 'a' appears twice"),
    ],
)
def test_a_key_that_is_there_twice_is_an_error(write_file, text, message):
    with pytest.raises(DuplicateError, match=message):
        read_qrels(write_file(text))


@pytest.mark.parametrize("value", ["true", '"high"', "null", "[1]", "{}"])
def test_grades_that_are_not_numbers(write_file, value):
    with pytest.raises(GradeError, match=r"query 'q1', doc 'a': (grade .* is not a number|the grade is missing)"):
        read_qrels(write_file(f'{{"q1": {{"a": {value}}}}}'))


def test_grades_are_finite_and_scores_need_not_be(write_file):
    path = write_file('{"q1": {"a": Infinity, "b": -1e999}}')
    assert read_run(path).rows.score.tolist() == [math.inf, -math.inf]
    with pytest.raises(GradeError, match="not a finite number"):
        read_qrels(path)


def test_a_whole_number_too_large_for_a_float_is_an_error(write_file):
    with pytest.raises(ScoreError, match="is not a number"):
        read_run(write_file('{"q1": {"a": 1' + "0" * 400 + "}}"))


def test_nan_is_an_error(write_file):
    with pytest.raises(FormatError, match="NaN is not a number"):
        read_run(write_file('{"q1": {"a": NaN}}'))


@pytest.mark.parametrize("text", ['{"q1": {"a": 1}', '{"q1": {"a" 1}}', '{"q1": {"a": 1}} {}'])
def test_broken_json(write_file, text):
    with pytest.raises(FormatError, match=r"is not valid JSON.*line 1 column"):
        read_run(write_file(text))


def test_deep_nesting_is_an_error(write_file):
    with pytest.raises(FormatError, match="nested too deeply"):
        read_run(write_file('{"q": ' + "[" * 200_000), format="json")


@pytest.mark.parametrize("text", ['{"q1": 5}', '{"q1": "d"}', "5"])
def test_other_shapes_are_refused(write_file, text):
    with pytest.raises(FormatError) as raised:
        read_run(write_file(text), format="json")
    assert raised.value.hint.startswith('the shapes read are {"query": {"doc": 1}}')


@pytest.mark.parametrize("text", ['{"q1": [["a", 1, 2]]}', '{"q1": [1.5]}', '{"q1": [""]}', '{"": ["a"]}'])
def test_ids_that_are_none(write_file, text):
    with pytest.raises(IdError, match="is given as"):
        read_run(write_file(text))


def test_columns_cannot_be_mapped_in_dicts(write_file):
    with pytest.raises(OptionError, match="no named columns"):
        read_run(write_file('{"q1": {"a": 1}}'), columns={"score": "s"})


def test_a_written_run(tmp_path):
    rows = RunRows(["q1", "q2", "q1"], ["a", "b", 'c"é'], np.array([1.0, math.inf, 1e-5]), tag="sys")
    write_run(rows, tmp_path / "run.json")
    assert (tmp_path / "run.json").read_text() == '{\n"q1": {"a": 1.0, "c\\"é": 1e-05},\n"q2": {"b": 1e999}\n}\n'


def test_written_qrels_have_whole_grades_as_whole_numbers(tmp_path):
    write_qrels(QrelsRows(["q1", "q1"], ["a", "b"], np.array([2.0, 0.5])), tmp_path / "qrels.json")
    assert json.loads((tmp_path / "qrels.json").read_text()) == {"q1": {"a": 2, "b": 0.5}}
    assert '"a": 2,' in (tmp_path / "qrels.json").read_text()


def test_what_json_cannot_hold_is_refused(tmp_path):
    grade = np.array([2.0, 1.0])
    with pytest.raises(FormatError, match="JSON cannot hold the subtopic and rater") as raised:
        write_qrels(
            QrelsRows(["q", "q"], ["a", "b"], grade, subtopic=["1", "2"], rater=["x", "y"]), tmp_path / "q.json"
        )
    assert "parquet" in raised.value.hint
    with pytest.raises(FormatError, match="doc 'a' appears twice for query 'q'") as raised:
        write_run(RunRows(["q", "q"], ["a", "a"], grade), tmp_path / "r.json")
    assert "trec" in raised.value.hint


def test_text_that_is_not_unicode_is_escaped(tmp_path):
    rows = RunRows(["caf\udce9"], ["\ud83d"], np.array([1.0]))
    write_run(rows, tmp_path / "run.json")
    again = read_run(tmp_path / "run.json").rows
    assert (again.query, again.doc) == (["caf\udce9"], ["\ud83d"])
