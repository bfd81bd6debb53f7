"""Runs in Parquet and Arrow: read by column where the kernel can, with the scores, errors and facts of any other way."""

import pickle
import tempfile
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankscope as rs
from rankscope.align.policies import Policies
from rankscope.align.top import leading_docs
from rankscope.errors import BadLinesError, DuplicateError, FormatError, IdError, NoOverlapError

MEASURES = "nDCG@10 nDCG AP RR ERR RBP Bpref P@5 R@3 Judged@5 infAP"
QUERIES = ("q1", "q10", "7", "é", "x" * 40)
DOCS = ("d1", "d2", "d3", "7", "q1", "é", "y" * 40)
SCORES = (0.0, -0.0, 0.5, 1.0, 1.0000000001, -3.0, float("inf"), float("-inf"))
QRELS = {query: {doc: i % 3 for i, doc in enumerate(DOCS[:5])} for query in QUERIES[:4]}
ONE = {"q1": QRELS["q1"]}
ROW = st.tuples(st.sampled_from(QUERIES), st.sampled_from(DOCS), st.sampled_from(SCORES), st.integers(-5, 5))
WRITERS = {"parquet": pl.DataFrame.write_parquet, "arrow": pl.DataFrame.write_ipc}


@pytest.fixture
def write(tmp_path):
    """Return a function that writes columns to a file."""

    def made(columns, name="run.parquet"):
        WRITERS[name.rpartition(".")[2]](pl.DataFrame(columns), tmp_path / name)
        return tmp_path / name

    return made


def was_read_by_row(run: rs.Run) -> bool:
    return "file" in vars(run.source)


def evaluated(path, **options):
    """Return the scores of a run, the run itself, and what was raised in their place."""
    run = rs.load_run(path)
    try:
        return rs.evaluate(QRELS, run, MEASURES, **options), run, None
    except rs.RankscopeError as error:
        return None, run, error


@pytest.mark.filterwarnings("ignore::rankscope.RankscopeWarning")  # they are compared as notes
@given(
    rows=st.lists(ROW, min_size=1, max_size=40),
    layout=st.sampled_from(("parquet", "arrow")),
    per_part=st.integers(1, 50),
    ties=st.sampled_from(("trec", "given", "ascending")),
    precision=st.sampled_from(("single", "double")),
    duplicates=st.sampled_from(("error", "first")),
    self_match=st.sampled_from(("keep", "drop")),
)
def test_scores_are_those_of_the_same_rows_as_text(rows, layout, per_part, **policies):
    with tempfile.TemporaryDirectory() as folder:
        table, text = Path(folder) / f"run.{layout}", Path(folder) / "run.run"
        frame = pl.DataFrame(rows, schema=["query", "doc", "score", "rank"], orient="row")
        if layout == "parquet":
            frame.write_parquet(table, row_group_size=per_part)
        else:
            frame.write_ipc(table, record_batch_size=per_part)
        text.write_text("".join(f"{query} Q0 {doc} {rank} {score!r} t\n" for query, doc, score, rank in rows))
        ours, run, error = evaluated(table, **policies)
        theirs, _, wanted = evaluated(text, **policies)
    assert (type(error), str(error)) == (type(wanted), str(wanted))
    assert wanted is None or isinstance(wanted, DuplicateError | NoOverlapError)
    if wanted is None:
        assert ours["run"].values.tobytes() == theirs["run"].values.tobytes()
        assert (ours.notes, ours["run"].counts) == (theirs.notes, theirs["run"].counts)
        assert run.source.sound_columns is not None


@pytest.mark.parametrize("name", ["run.parquet", "run.arrow"])
def test_no_row_is_made_where_none_is_needed(write, name):
    run = rs.load_run(write({"qid": ["q1", "q1"], "docno": ["d2", "d3"], "sim": [2.0, 1.0], "tag": ["a", "b"]}, name))
    scores = rs.evaluate(ONE, run, "RR")
    assert scores["run"]["q1", "RR"] == 1.0  # d2 has grade 1
    assert (run.tag, run.integer_ids, run.origin.format) == ("b", frozenset(), name.rpartition(".")[2])
    assert not was_read_by_row(run)
    assert run["q1"] == {"d2": 2.0, "d3": 1.0}
    assert was_read_by_row(run)


def test_facts_are_those_of_the_rows(write):
    columns = {"query": [1, 1, 2], "doc": [7, 8, 9], "score": [3, 2, 1], "tag": ["a", "b", "c"]}
    path = write(columns)
    by_column, by_row = rs.load_run(path), rs.load_run(path)
    rows = by_row.rows
    with pytest.warns(match="doc ids are whole numbers in the run and text in the qrels"):
        rs.evaluate({"1": {"8": 1}}, by_column, "RR")
    assert not was_read_by_row(by_column)
    assert by_column.integer_ids == rows.integer_ids == {"query", "doc"}
    assert by_column.tag == rows.tag == "c"
    assert by_column.origin == by_row.origin
    assert by_column == by_row


@pytest.mark.parametrize(
    "columns",
    [
        {"score": pl.Series([3, 2], dtype=pl.Int16)},
        {"score": pl.Series([3, 2], dtype=pl.Float32)},
        {"score": pl.Series(["3", "2"]).cast(pl.Decimal(10, 2))},
        {"query": pl.Series(["q1", "q1"], dtype=pl.Categorical), "doc": pl.Series(["d1", "d2"], dtype=pl.Categorical)},
        {"doc": pl.Series([b"d1", b"d2"])},
    ],
)
def test_columns_of_other_types_are_read_by_column_too(write, columns):
    run = rs.load_run(write({"query": ["q1", "q1"], "doc": ["d1", "d2"], "score": [3.0, 2.0], **columns}))
    assert rs.evaluate(ONE, run, "RR")["run"]["q1", "RR"] == 0.5  # of d1 and d2 only d2 is relevant
    assert not was_read_by_row(run)


def test_ranks_of_other_types_count_as_well(write):
    columns = {"query": ["q1", "q1"], "doc": ["d1", "d2"], "score": [2.0, 2.0]}
    small = write(columns | {"rank": pl.Series([2, 1], dtype=pl.Int8)}, "small.parquet")
    assert rs.evaluate(ONE, small, "RR", ties="given")["small"]["q1", "RR"] == 1.0
    words = write(columns | {"rank": ["second", "first"]}, "words.parquet")
    assert rs.evaluate(ONE, words, "RR", ties="given")["words"]["q1", "RR"] == 0.5


MALFORMED = {
    "no doc": {"doc": ["d1", None, "d2"]},
    "an empty query": {"query": ["q1", "", "q1"]},
    "no score": {"score": [3.0, None, 2.0]},
    "a score that is no number": {"score": [3.0, float("nan"), 2.0]},
    "one in a query that nobody judged": {"query": ["q1", "other", "q1"], "score": [3.0, float("nan"), 2.0]},
}


@pytest.mark.parametrize("columns", MALFORMED.values(), ids=MALFORMED)
def test_malformed_rows_are_named_or_left_out(write, columns):
    good = {"query": ["q1"] * 3, "doc": ["d1", "d3", "d2"], "score": [3.0, 2.5, 2.0], "tag": ["a", "b", "c"]}
    path = write(good | columns)
    _, _, error = evaluated(path)
    with pytest.raises(BadLinesError) as by_row:
        rs.load_run(path).rows  # noqa: B018 (it is read when it is asked for)
    assert isinstance(error, BadLinesError)
    assert str(error) == str(by_row.value)
    assert [line.line for line in error.bad_lines] == [2]
    run = rs.load_run(path, options=rs.ReadOptions(lenient=True))
    with pytest.warns(match="1 bad line of .* was skipped"):
        scores = rs.evaluate(ONE, run, "RR")
    assert scores["run"]["q1", "RR"] == 0.5  # d2 comes second of the two that are left
    assert run.tag == "c"


def test_the_tag_is_that_of_the_last_good_row(write):
    columns = {"query": ["q1", "q1"], "doc": ["d1", "d2"], "score": [3.0, None], "tag": ["good", "bad"]}
    run = rs.load_run(write(columns), options=rs.ReadOptions(lenient=True))
    with pytest.warns(match="bad line"):
        rs.evaluate(ONE, run, "AP")
    assert run.tag == "good"


@pytest.mark.parametrize(
    ("columns", "error", "words"),
    [
        ({"query": [], "doc": [], "score": []}, FormatError, "has no rows"),
        ({"query": ["q1"], "doc": ["d1"], "score": ["high"]}, FormatError, "holds String, not numbers"),
        ({"query": ["q1"], "doc": ["d1"]}, FormatError, "no column for score"),
        ({"query": ["q1"], "doc": [b"\xff"], "score": [1.0]}, IdError, "not UTF-8"),
    ],
)
def test_tables_that_are_no_runs_are_refused(write, columns, error, words):
    schema = None if any(columns.values()) else {"query": pl.String, "doc": pl.String, "score": pl.Float64}
    path = write(pl.DataFrame(columns, schema=schema))
    with pytest.raises(error, match=words):
        rs.evaluate(QRELS, path)


def test_runs_that_were_read_by_column_can_be_pickled(write):
    run = rs.load_run(write({"query": ["q1", "q1"], "doc": ["d1", "d2"], "score": [3.0, 2.0]}))
    scores = rs.evaluate(ONE, run, "RR")
    copy = pickle.loads(pickle.dumps(run))
    assert np.array_equal(rs.evaluate(ONE, copy, "RR")["run"].values, scores["run"].values)
    assert copy == run


def test_the_first_docs_are_found_in_the_columns(write):
    rows = [(f"q{i}", f"d{j}", float(-j)) for i in range(3) for j in range(20)]
    run = rs.load_run(write(pl.DataFrame(rows, schema=["query", "doc", "score"], orient="row")))
    rs.evaluate({f"q{i}": {"d1": 1} for i in range(3)}, run, "RR")
    assert leading_docs(run, ["q0", "q2"], Policies(), depth=2).docs == (("d0", "d1"), ("d0", "d1"))
    assert not was_read_by_row(run)
