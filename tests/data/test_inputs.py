"""Runs and qrels from every shape people have them in, and what is said of data that cannot be read."""

from decimal import Decimal
from pathlib import Path
from typing import NamedTuple

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import rankscope as rs
from rankscope.errors import DuplicateError, FormatError, GradeError, IdError, InputError, RankscopeWarning, ScoreError

pytestmark = pytest.mark.usefixtures("engine")

ROWS = [("q1", "a", 3.0), ("q1", "b", 2.0), ("q2", "c", 5.0), ("q1", "c", 1.0)]
GRADES = [("q1", "c", 1), ("q1", "a", 0), ("q2", "c", 2)]
EXPECTED = {"q1": 1 / 3, "q2": 1.0}  # RR of ROWS against GRADES


class ScoredDoc(NamedTuple):
    """As ir_measures has it."""

    query_id: str
    doc_id: str
    score: float


class Qrel(NamedTuple):
    """As ir_measures has it."""

    query_id: str
    doc_id: str
    relevance: int
    iteration: str = "0"


def columns(rows, value):
    query, doc, values = zip(*rows, strict=True)
    return {"query": list(query), "doc": list(doc), value: list(values)}


def nested(rows):
    by_query = {}
    for query, doc, value in rows:
        by_query.setdefault(query, {})[doc] = value
    return by_query


def arrays(rows, value):
    return {name: np.array(column) for name, column in columns(rows, value).items()}


def pandas_with(dtype):
    return lambda rows, value: pd.DataFrame(columns(rows, value)).astype({"query": dtype, "doc": dtype})


def duck(rows, value):
    frame = pl.DataFrame(columns(rows, value))  # noqa: F841 (duckdb finds it by its name)
    return duckdb.sql("select * from frame")


def named_row(value):
    return NamedTuple("Row", [("query", str), ("doc", str), (value, float)])


def dict_rows(rows, value):
    return [{"qid": query, "docno": doc, value: number} for query, doc, number in rows]


SHAPES = {
    "dict of dicts": lambda rows, value: nested(rows),
    "numpy columns": arrays,
    "numpy object columns": lambda rows, value: {k: np.array(v, dtype=object) for k, v in columns(rows, value).items()},
    "polars": lambda rows, value: pl.DataFrame(columns(rows, value)),
    "polars categorical": lambda rows, value: pl.DataFrame(columns(rows, value)).with_columns(pl.col("doc").cast(pl.Categorical)),
    "pyarrow": lambda rows, value: pa.table(columns(rows, value)),
    "pyarrow in chunks": lambda rows, value: pa.concat_tables(
        pa.table(columns(part, value)) for part in (rows[:1], rows[1:])
    ),
    "pyarrow dictionary": lambda rows, value: pa.table(
        {name: pa.array(c).dictionary_encode() if name != value else c for name, c in columns(rows, value).items()}
    ),
    "pyarrow large strings": lambda rows, value: pa.table(
        {name: pa.array(c, pa.large_string()) if name != value else c for name, c in columns(rows, value).items()}
    ),
    "duckdb": duck,
    "pandas": lambda rows, value: pd.DataFrame(columns(rows, value)),
    "pandas object": pandas_with(object),
    "pandas string": pandas_with("string"),
    "pandas pyarrow strings": pandas_with("string[pyarrow]"),
    "pandas category": pandas_with("category"),
    "list of tuples": lambda rows, value: rows,
    "list of lists": lambda rows, value: [list(row) for row in rows],
    "generator of tuples": lambda rows, value: (row for row in rows),
    "iterator": lambda rows, value: iter(rows),
    "named tuples": lambda rows, value: [named_row(value)(*row) for row in rows],
    "dict rows": dict_rows,
    "generator of dict rows": lambda rows, value: iter(dict_rows(rows, value)),
}  # fmt: skip


def reciprocal_ranks(qrels, run):
    scores = rs.evaluate(qrels, {"it": run}, "RR")["it"]
    return {query: scores[query, "RR"] for query in scores.query_ids}


@pytest.mark.parametrize("shape", SHAPES)
def test_run_from(shape):
    assert reciprocal_ranks(GRADES, SHAPES[shape](ROWS, "score")) == EXPECTED
    run = rs.Run(SHAPES[shape](ROWS, "score"), name="it")
    assert reciprocal_ranks(GRADES, run) == EXPECTED
    assert reciprocal_ranks(GRADES, run) == EXPECTED  # once more: nothing is used up
    assert len(run) == 2
    assert set(run.query_ids) == {"q1", "q2"}
    assert sorted(zip(run.rows.query, run.rows.doc, run.rows.score.tolist(), strict=True)) == sorted(ROWS)


@pytest.mark.parametrize("shape", SHAPES)
def test_qrels_from(shape):
    assert reciprocal_ranks(SHAPES[shape](GRADES, "grade"), ROWS) == EXPECTED
    qrels = rs.Qrels(SHAPES[shape](GRADES, "grade"))
    assert len(qrels) == 2
    assert qrels.judged["q1"] == {"a": 0, "c": 1}
    assert repr(qrels) == "Qrels(2 queries, 3 judgments)"


def test_rows_as_ir_measures_has_them():
    run = [ScoredDoc(*row) for row in ROWS]
    qrels = [Qrel(*row) for row in GRADES]
    assert reciprocal_ranks(qrels, run) == EXPECTED
    assert reciprocal_ranks(iter(qrels), iter(run)) == EXPECTED


def test_ranked_lists_best_first():
    assert reciprocal_ranks(GRADES, {"q1": ["a", "b", "c"], "q2": ["c"]}) == EXPECTED
    assert reciprocal_ranks(GRADES, {"q1": ("a", "b", "c"), "q2": ("c",)}) == EXPECTED


def test_ranked_lists_with_scores_are_ordered_by_score():
    assert reciprocal_ranks(GRADES, {"q1": [("c", 1.0), ("a", 3), ("b", 2.5)], "q2": [["c", 1]]}) == EXPECTED


def test_ranked_arrays_of_docs_per_query():
    assert (
        reciprocal_ranks(GRADES, rs.Run({"q1": np.array(["a", "b", "c"]), "q2": np.array(["c"])}, name="it"))
        == EXPECTED
    )


def test_ranked_docs_from_generators():
    run = rs.Run({"q1": (doc for doc in "abc"), "q2": iter(["c"])}, name="it")
    assert reciprocal_ranks(GRADES, run) == EXPECTED


def test_qrels_as_lists_or_sets_of_relevant_docs():
    assert reciprocal_ranks({"q1": ["c"], "q2": ["c"]}, ROWS) == EXPECTED
    assert reciprocal_ranks({"q1": {"c"}, "q2": {"c"}}, ROWS) == EXPECTED


def test_paths_as_text_and_as_objects(tmp_path):
    run, qrels = tmp_path / "my.run.txt", tmp_path / "qrels.txt"
    run.write_text("".join(f"{query} Q0 {doc} 1 {score} tag\n" for query, doc, score in ROWS))
    qrels.write_text("".join(f"{query} 0 {doc} {grade}\n" for query, doc, grade in GRADES))
    for as_given in (str, Path):
        scores = rs.evaluate(as_given(qrels), as_given(run), "RR")
        assert list(scores) == ["my"]
        assert scores["my"].column("RR").tolist() == list(EXPECTED.values())
    loaded = rs.Run(run)
    assert reciprocal_ranks(rs.Qrels(qrels), loaded) == EXPECTED
    assert loaded.tag == "tag"
    assert loaded.origin.path == str(run)
    assert rs.Run(ROWS).origin is None
    assert rs.Run(ROWS).tag is None


def test_a_run_from_a_path_is_read_only_when_needed(tmp_path):
    run = rs.Run(tmp_path / "absent.run", name="absent")
    assert "absent" in repr(run)
    with pytest.raises(InputError, match=r"absent\.run"):
        rs.evaluate(GRADES, run, "RR")


def test_qrels_and_runs_may_be_passed_ready_made():
    qrels, run = rs.Qrels(GRADES), rs.Run(ROWS, name="mine")
    assert rs.load_qrels(qrels) is qrels
    assert rs.load_run(run) is run
    assert list(rs.evaluate(qrels, run, "RR")) == ["mine"]
    assert list(rs.evaluate(qrels, {"yours": run}, "RR")) == ["yours"]
    assert run.name == "mine"


NUMBERS = [1, 2.5, True, np.float32(1.5), np.float64(2), np.int64(3), np.uint8(4), Decimal("1.5"), 10**30, float("inf")]


@pytest.mark.parametrize("number", [n for n in NUMBERS if not isinstance(n, bool)], ids=repr)
def test_numbers_of_any_kind_are_scores(number):
    for run in ({"q": {"a": number, "b": -1}}, [("q", "a", number), ("q", "b", -1)], {"q": [("a", number), ("b", -1)]}):
        assert rs.evaluate({"q": {"a": 1}}, run, "RR")["run"]["q", "RR"] == 1


@pytest.mark.parametrize("grade", [1, 1.0, np.int64(1), np.float32(1), np.uint8(1), Decimal(1)], ids=repr)
def test_numbers_of_any_kind_are_grades(grade):
    for qrels in ({"q": {"a": grade}}, [("q", "a", grade)]):
        assert rs.evaluate(qrels, {"q": {"a": 1.0}}, "P@1")["run"]["q", "P@1"] == 1


NOT_NUMBERS = [float("nan"), np.float32("nan"), None, "0.5", "high", b"1", True, 10**400, 1j, [1], object]


@pytest.mark.parametrize("score", NOT_NUMBERS, ids=lambda value: repr(value)[:20])
def test_what_is_no_number_is_refused_as_score_naming_query_and_doc(score):
    for run in ({"q": {"a": 1.0, "b": score}}, [("q", "a", 1.0), ("q", "b", score)], {"q": [("a", 1.0), ("b", score)]}):
        with pytest.raises(ScoreError, match=r"query 'q', doc 'b'.*score .* is not a number"):
            rs.evaluate({"q": {"a": 1}}, run, "RR")


@pytest.mark.parametrize("grade", [*NOT_NUMBERS, float("inf")], ids=lambda value: repr(value)[:20])
def test_what_is_no_number_is_refused_as_grade_naming_the_row(grade):
    for qrels in ({"q": {"a": 1, "b": grade}}, [("q", "a", 1), ("q", "b", grade)]):
        with pytest.raises(GradeError, match=r"row 2 \(query 'q', doc 'b'\): grade .* is not a number"):
            rs.Qrels(qrels)


def test_a_missing_score_in_a_table_names_the_row():
    tables = (
        pd.DataFrame({"query": ["q", "q"], "doc": ["a", "b"], "score": [1.0, None]}),
        pl.DataFrame({"query": ["q", "q"], "doc": ["a", "b"], "score": [1.0, None]}),
        pa.table({"query": ["q", "q"], "doc": ["a", "b"], "score": [1.0, None]}),
    )
    for table in tables:
        with pytest.raises(ScoreError, match=r"row 2 \(query 'q', doc 'b'\): score (nan|None) is not a number"):
            rs.evaluate({"q": {"a": 1}}, table, "RR")


def test_whole_numbers_and_text_match_as_ids_and_so_they_are_told():
    for qrels, run in (({7: {1: 1}}, {"7": {"1": 1.0}}), ({"7": {"1": 1}}, {7: {1: 1.0}})):
        with pytest.warns(RankscopeWarning) as told:
            assert rs.evaluate(qrels, run, "RR")["run"]["7", "RR"] == 1
        assert [note.split(" ids")[0] for note in told[0].message.notes] == ["run: doc", "run: query"]
        assert len(told) == 1
        assert "matched as text, so 7 is '7'" in str(told[0].message)


def test_whole_numbers_on_both_sides_need_no_warning():
    for run in ({7: {1: 1.0}}, {np.int64(7): {np.int32(1): 1.0}}, [(7, 1, 1.0)]):
        assert rs.evaluate({7: {1: 1}}, run, "RR")["run"]["7", "RR"] == 1


def test_integer_columns_are_matched_with_text_and_so_they_are_told():
    data = {"query": [7, 7], "doc": [1, 2], "score": [1.0, 2.0]}
    for table in (pd.DataFrame(data), pl.DataFrame(data), pa.table(data), {k: np.array(v) for k, v in data.items()}):
        with pytest.warns(RankscopeWarning, match="ids are whole numbers in the run and text in the qrels"):
            assert rs.evaluate({"7": {"1": 1}}, table, "RR")["run"]["7", "RR"] == 0.5


@pytest.mark.parametrize("odd", [1.5, 7.0, None, float("nan"), True, ("a",)], ids=repr)
def test_what_cannot_be_an_id_is_refused_with_a_hint(odd):
    for run in ({"q": {odd: 1.0}}, {odd: {"a": 1.0}, "q": {"a": 1.0}}, [("q", odd, 1.0)], {"q": ["a", odd]}):
        if odd == ("a",) and run == {"q": ["a", odd]}:
            continue  # there it looks like a doc with a score
        with pytest.raises(
            IdError, match=r"given as (doc|query) id\n.*ids are text or whole numbers.*floats in pandas"
        ):
            rs.evaluate({"q": {"a": 1}}, run, "RR")
    with pytest.raises(IdError, match="given as doc id"):
        rs.Qrels([("q", odd, 1)])


def test_a_column_of_ids_that_pandas_turned_into_floats_is_refused():
    frame = pd.DataFrame({"query": ["q", "q"], "doc": [1, None], "score": [1.0, 2.0]})
    with pytest.raises(IdError, match="fill the gap"):
        rs.evaluate({"q": {"1": 1}}, frame, "RR")


def test_an_empty_id_is_refused():
    for run in ({"q": {"": 1.0}}, [("q", "", 1.0)], pl.DataFrame({"query": ["q"], "doc": [""], "score": [1.0]})):
        with pytest.raises(IdError, match="an empty text is given as doc id"):
            rs.evaluate({"q": {"a": 1}}, run, "RR")


def test_an_id_both_as_number_and_as_text_is_refused_rather_than_dropped():
    with pytest.raises(IdError, match="query 'q' has a doc id both as a number and as text"):
        rs.evaluate({"q": {"7": 1}}, {"q": {7: 1.0, "7": 2.0}}, "RR")
    with pytest.raises(IdError, match="a query id both as a number and as text"):
        rs.evaluate({"7": {"a": 1}}, {7: {"a": 1.0}, "7": {"b": 2.0}}, "RR")


def test_bytes_are_ids():
    assert rs.evaluate({b"q": {b"d\xff": 1}}, {"q": {"d\udcff": 1.0}}, "RR")["run"]["q", "RR"] == 1


@pytest.mark.parametrize("empty", [[], {"query": np.array([]), "doc": np.array([]), "score": np.array([])}, iter(())])
def test_an_empty_run_is_an_error(empty):
    with pytest.raises(InputError, match="the run is empty"):
        rs.evaluate(GRADES, empty, "RR")


def test_an_empty_table_is_an_error():
    for frame in (pd.DataFrame(columns=["query", "doc", "score"]), pl.DataFrame(schema=["query", "doc", "score"])):
        with pytest.raises(InputError, match="the run is empty"):
            rs.evaluate(GRADES, frame, "RR")


def test_no_run_at_all_is_an_error():
    with pytest.raises(InputError, match="no run is given"):
        rs.evaluate(GRADES, {}, "RR")


@pytest.mark.parametrize("empty", [{}, [], iter(()), {"q": {}}, {"q": []}])
def test_empty_qrels_are_an_error(empty):
    with pytest.raises(InputError, match="the qrels are empty"):
        rs.evaluate(empty, ROWS, "RR")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (7, "int is not a shape that can be read"),
        ([("q1", "a")], r"row 1 is \('q1', 'a'\), not \(query, doc, score\)"),
        ([("q1", "a", 1.0), "q1 b 2"], "row 2 is 'q1 b 2'"),
        ([("q1", "a", 1.0, "more")], "row 1 is"),
        ([7], "row 1 is 7"),
        ({"q1": "abc", "q2": ["c"]}, "query 'q1' has 'abc' where its docs are expected"),
        ({"q1": 7, "q2": ["c"]}, "query 'q1' has 7 where its docs are expected"),
        ({"q1": ["a", ("b", 1.0)]}, "query 'q1' mixes docs with and without scores"),
        ({"q1": [("a", 1.0, 2)]}, "mixes docs with and without scores"),
        ({"q1": {"a", "b"}}, "query 'q1' has a set of docs, which has no order"),
        (b"bytes", "bytes is not a shape that can be read"),
        ({"query": np.array(["q"]), "doc": np.array(["a", "b"]), "score": np.array([1.0])}, "the columns differ in length"),
        ({"query": np.array(["q"]), "doc": np.array(["a"]), "score": np.array([1.0, 2])}, "the columns differ in length"),
    ],
)  # fmt: skip
def test_shapes_that_are_no_run(data, message):
    with pytest.raises(InputError, match=message):
        len(rs.Run(data))


def test_a_table_without_a_column_says_which_and_what_there_is():
    for frame in (pd.DataFrame({"qid": ["q"], "text": ["a"]}), pl.DataFrame({"qid": ["q"], "text": ["a"]})):
        with pytest.raises(FormatError, match="no column for doc and score; its columns are qid, text"):
            rs.Run(frame)
    with pytest.raises(FormatError, match="no column for query and doc and grade; its columns are 0, 1, 2"):
        rs.Qrels(pd.DataFrame([["q", "d", 1]]))


def test_columns_are_found_by_many_names():
    for query, doc, score in (("qid", "docno", "score"), ("Query_ID", "Doc_ID", "SIM"), ("topic", "pid", "value")):
        frame = pd.DataFrame({score: [1.0], doc: ["a"], query: ["q"]})
        assert rs.evaluate({"q": {"a": 1}}, frame, "RR")["run"]["q", "RR"] == 1
    for query, doc, grade in (("query-id", "corpus-id", "score"), ("qid", "docno", "label"), ("topic", "doc", "rel")):
        frame = pd.DataFrame({query: ["q"], doc: ["a"], grade: [2]})
        assert rs.Qrels(frame).judged == {"q": {"a": 2}}


def test_subtopic_rater_and_time_travel_along():
    rows = [
        {"query": "q", "doc": "a", "grade": 1, "subtopic": 1, "rater": "ann", "time": "2026-01-01"},
        {"query": "q", "doc": "a", "grade": 2, "subtopic": 2, "rater": None, "time": float("nan")},
        {"query": "q", "doc": "b", "grade": 0, "subtopic": 2},
    ]
    qrels = rs.Qrels(rows)
    assert qrels.rows.subtopic == ["1", "2", "2"]
    assert qrels.rows.rater == ["ann", "", ""]
    assert qrels.rows.time == ["2026-01-01", "", ""]
    assert qrels.judged == {"q": {"a": 2, "b": 0}}  # over subtopics the best grade counts
    assert rs.Qrels(GRADES).rows.subtopic is None


def test_missing_values_of_pandas_in_optional_columns():
    frame = pd.DataFrame({"query": ["q", "q"], "doc": ["a", "b"], "grade": [1, 0]})
    frame["rater"] = pd.array(["ann", None], dtype="string")
    assert rs.Qrels(frame).rows.rater == ["ann", ""]


def test_duplicates_in_a_run_are_an_error_or_the_first_counts():
    rows = [("q", "b", 3.0), ("q", "a", 1.0), ("q", "b", 0.5), ("q", "c", 2.0)]
    tables = (
        rows,
        pl.DataFrame(rows, schema=["query", "doc", "score"], orient="row"),
        {"q": [row[1:] for row in rows]},
    )
    for run in tables:
        with pytest.raises(DuplicateError, match=r"query 'q' lists doc 'b' more than once\n.*duplicates='first'"):
            rs.evaluate({"q": {"a": 1}}, run, "RR")
        scores = rs.evaluate({"q": {"a": 1}}, run, "RR NumRet", duplicates="first")["run"]
        assert scores["q"] == {"RR": 1 / 3, "NumRet": 3}


def test_duplicates_in_qrels_are_an_error_or_the_first_counts():
    rows = [("q", "a", 1), ("q", "a", 0)]
    with pytest.raises(DuplicateError, match=r"row 2 of the qrels judges doc 'a' for query 'q' a second time\n.*first"):
        rs.Qrels(rows)
    assert rs.Qrels(rows, duplicates="first").judged == {"q": {"a": 1}}
    assert rs.evaluate(rows, {"q": {"a": 1.0}}, "RR", duplicates="first")["run"]["q", "RR"] == 1


def test_two_raters_of_one_doc_are_not_a_mistake_of_typing():
    rows = [{"query": "q", "doc": "a", "grade": g, "rater": rater} for g, rater in ((1, "ann"), (0, "bob"))]
    with pytest.raises(DuplicateError, match="several raters judged it: combine their grades"):
        rs.Qrels(rows)


def test_a_doc_judged_twice_for_one_subtopic_is_a_duplicate():
    rows = [{"query": "q", "doc": "a", "grade": g, "subtopic": 1} for g in (1, 0)]
    with pytest.raises(DuplicateError, match="row 2"):
        rs.Qrels(rows)
    assert rs.Qrels(rows, duplicates="first").judged == {"q": {"a": 1}}


def test_a_run_does_not_change_when_the_callers_dict_does():
    docs = {"q": {"a": 2.0, "b": 1.0}}
    run = rs.Run(docs, name="it")
    docs["q"]["a"] = 0.0
    docs["r"] = {}
    assert reciprocal_ranks({"q": {"a": 1}}, run) == {"q": 1.0}
    assert run.query_ids == ("q",)


@pytest.mark.parametrize("shape", ["pandas", "polars", "numpy columns"])
def test_a_run_does_not_change_when_the_callers_table_does(shape):
    table = SHAPES[shape]([("q", "a", 2.0), ("q", "b", 1.0)], "score")
    run = rs.Run(table, name="it")
    if shape == "pandas":
        table.loc[0, "score"] = 0.0
    elif shape == "polars":
        table[0, "score"] = 0.0
    else:
        table["score"][0] = 0.0
    assert reciprocal_ranks({"q": {"a": 1}}, run) == {"q": 1.0}
    assert run.rows.score.tolist() == [2.0, 1.0]


def test_qrels_do_not_change_when_the_callers_dict_does():
    grades = {"q": {"a": 1}}
    qrels = rs.Qrels(grades)
    grades["q"]["a"] = 0
    assert qrels.judged == {"q": {"a": 1}}


def test_columns_scores_and_judgments_cannot_be_written_to():
    run, qrels = rs.Run(ROWS), rs.Qrels(GRADES)
    scores = rs.evaluate(qrels, run, "RR")["run"]
    for array in (run.rows.score, qrels.rows.grade, scores.column("RR"), scores.undefined):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    with pytest.raises(TypeError):
        qrels.judged["q1"]["a"] = 3
    with pytest.raises(TypeError):
        qrels.judged["q9"] = {}


def test_the_callers_arrays_stay_writable():
    scores = np.array([1.0])
    rs.Run({"query": np.array(["q"]), "doc": np.array(["a"]), "score": scores})
    scores[0] = 2.0
    assert scores[0] == 2.0


def test_several_runs_by_name_as_a_list_or_alone():
    one, two = nested(ROWS), {"q1": {"c": 1.0}, "q2": {"c": 1.0}}
    assert list(rs.evaluate(GRADES, {"x": one, "y": two}, "RR")) == ["x", "y"]
    assert list(rs.evaluate(GRADES, [one, two], "RR")) == ["run", "run (2)"]
    assert list(rs.evaluate(GRADES, [rs.Run(one, name="x"), rs.Run(two, name="y")], "RR")) == ["x", "y"]
    assert list(rs.evaluate(GRADES, [pd.DataFrame(columns(ROWS, "score")), two], "RR")) == ["run", "run (2)"]
    assert list(rs.evaluate(GRADES, {"lists": {"q1": ["c"], "q2": ["c"]}}, "RR")) == ["lists"]
    assert list(rs.evaluate(GRADES, {"rows": ROWS, "tables": pl.DataFrame(columns(ROWS, "score"))}, "RR")) == [
        "rows",
        "tables",
    ]
    assert list(rs.evaluate(GRADES, {"dict rows": dict_rows(ROWS, "score")}, "RR")) == ["dict rows"]


def test_runs_whose_files_have_the_same_name_are_told_apart(tmp_path):
    paths = []
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        paths.append(tmp_path / folder / "bm25.run")
        paths[-1].write_text("q1 Q0 c 1 1 t\nq2 Q0 c 1 1 t\n")
    assert list(rs.evaluate(GRADES, paths, "RR")) == [str(path) for path in paths]
    assert list(rs.evaluate(GRADES, [paths[0], paths[0]], "RR")) == [str(paths[0]), f"{paths[0]} (2)"]


def test_repr_of_a_run_says_what_it_is():
    assert repr(rs.Run(ROWS, name="mine")).startswith("Run('mine'")
    assert repr(rs.Run(nested(ROWS))) == "Run(2 queries)"


def test_a_stream_that_can_be_read_only_once_is_kept():
    table = pa.table(columns(ROWS, "score"))
    run = rs.Run(pa.RecordBatchReader.from_batches(table.schema, table.to_batches()), name="it")
    for _ in range(2):
        assert reciprocal_ranks(GRADES, run) == EXPECTED
    assert len(run.rows) == 4


def test_a_pandas_table_that_arrow_cannot_hold_is_read_all_the_same():
    frame = pd.DataFrame({**columns(ROWS, "score"), "note": [1, "two", object(), None]})
    assert reciprocal_ranks(GRADES, frame) == EXPECTED


def test_the_index_of_a_pandas_table_is_not_taken_for_a_column():
    frame = pd.DataFrame(columns(ROWS, "score"), index=pd.Index([9, 8, 7, 6], name="rank"))
    assert reciprocal_ranks(GRADES, frame) == EXPECTED
    frame.index.name = "score"
    assert reciprocal_ranks(GRADES, frame) == EXPECTED


def test_the_tag_of_a_table_is_that_of_its_last_row():
    for table in (pd.DataFrame({**columns(ROWS, "score"), "tag": list("abcd")}), pl.DataFrame({**columns(ROWS, "score"), "tag": list("abcd")})):  # fmt: skip
        assert rs.Run(table).tag == "d"
    assert rs.Run(pl.DataFrame(columns(ROWS, "score"))).tag is None


def test_a_run_made_of_a_file_is_called_by_the_files_name(tmp_path):
    path = tmp_path / "bm25.run.gz"
    rs.write_run(nested(ROWS), path)
    assert rs.Run(path).name == rs.load_run(path).name == "bm25"
    assert rs.Run(path, name="mine").name == "mine"
    assert rs.Run(nested(ROWS)).name is None
    with path.open("rb") as file:
        assert rs.Run(file).name.endswith("bm25")
