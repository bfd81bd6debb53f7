"""Tables and columns of every kind, read in place by the kernel: the same arrays, or the same error, as row by row."""

import gc
import itertools
import random
import threading

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from both import assert_aligned_alike, counting_kernel_answers, load_kernel, policy_grid
from hypothesis import given
from hypothesis import strategies as st

from rankscope.data.run import Run
from rankscope.evaluation import trec_eval_text

NAMES = ["query", "doc", "score"]
INTEGER_TYPES = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
TEXT_TYPES = [pa.string(), pa.large_string(), pa.string_view()]


def sample_rows(n: int = 400, *, seed: int = 0) -> list[tuple[int, int, float]]:
    """Return rows without duplicates, some of them tied, in no order."""
    rng = random.Random(seed)
    pairs = rng.sample([(query, doc) for query in range(1, 9) for doc in range(100)], k=min(n, 800))
    return [(query, doc, rng.randrange(40) / 8) for query, doc in pairs]


ROWS = sample_rows()
QRELS = {str(query): {str(doc): (query + doc) % 3 for doc in range(0, 100, 3)} for query in range(1, 10)}
TEXT_QRELS = {
    f"query-{query}": {f"doc-number-{doc}": grade for doc, grade in docs.items()} for query, docs in QRELS.items()
}


def text_table(text_type=None, rows=ROWS) -> pa.Table:
    """Return a table with ids of both lengths that Arrow's views have."""
    text_type = text_type or pa.string()
    return pa.table(
        {
            "query": pa.array([f"query-{query}" for query, _, _ in rows], text_type),
            "doc": pa.array([f"doc-number-{doc}" for _, doc, _ in rows], text_type),
            "score": pa.array([score for _, _, score in rows], pa.float64()),
            "rank": pa.array([int(doc) % 7 for _, doc, _ in rows], pa.int64()),
        }
    )


def number_table(query_type: str, doc_type: str) -> pa.Table:
    return pa.table(
        {
            "query": pa.array([query for query, _, _ in ROWS], getattr(pa, query_type)()),
            "doc": pa.array([doc for _, doc, _ in ROWS], getattr(pa, doc_type)()),
            "score": pa.array([score for _, _, score in ROWS]),
        }
    )


def assert_by_kernel(qrels, run, **choices) -> None:
    """Check a table for which the kernel needs no help."""
    with counting_kernel_answers() as by_kernel:
        outcome = assert_aligned_alike(qrels, run, **choices)
    assert by_kernel == [True]
    assert len(outcome.found["ranks"][1]) > 50 or choices.get("depth")


@pytest.mark.parametrize("policies", policy_grid(6), ids=lambda policies: "-".join(map(str, policies.values())))
@pytest.mark.parametrize("text_type", TEXT_TYPES, ids=str)
def test_text_ids(text_type, policies):
    assert_by_kernel(TEXT_QRELS, text_table(text_type), **policies)


@pytest.mark.parametrize("doc_type", INTEGER_TYPES)
@pytest.mark.parametrize("query_type", INTEGER_TYPES)
def test_integer_ids(query_type, doc_type):
    assert_by_kernel(QRELS, number_table(query_type, doc_type), threads=2, self_match="drop")


@pytest.mark.parametrize("value", [-(2**63), 2**63 - 1, 2**64 - 1, 0, -1])
def test_extreme_integers(value):
    kind = pa.uint64() if value >= 2**63 else pa.int64()
    table = pa.table({"query": pa.array([value, value], kind), "doc": pa.array([value, 5], kind), "score": [1.0, 1.0]})
    assert_aligned_alike({str(value): {str(value): 1, "5": 2}}, table)


@pytest.mark.parametrize("threads", [1, 2, 3, 7])
@pytest.mark.parametrize("text_type", TEXT_TYPES, ids=str)
def test_several_batches_and_slices(text_type, threads):
    whole = text_table(text_type)
    pieces = [whole.slice(start, length) for start, length in ((3, 1), (4, 0), (4, 9), (13, 64), (77, 250))]
    assert_by_kernel(TEXT_QRELS, pa.concat_tables(pieces), threads=threads)
    assert_by_kernel(TEXT_QRELS, whole.slice(11, 300), threads=threads)
    assert_by_kernel(TEXT_QRELS, whole.combine_chunks().to_batches()[0].slice(7, 200), threads=threads)


def test_a_sliced_struct_of_sliced_columns():
    """The offset of a record batch, and those of its columns, add up."""
    columns = [column.combine_chunks().slice(5) for column in text_table().columns]
    struct = pa.StructArray.from_arrays(columns, names=[*NAMES, "rank"]).slice(7, 200)
    reader = pa.RecordBatchReader.from_batches(pa.schema(list(struct.type)), [pa.RecordBatch.from_struct_array(struct)])
    assert_aligned_alike(TEXT_QRELS, pa.RecordBatch.from_struct_array(struct))
    assert len(reader.read_all()) == 200


@pytest.mark.parametrize(
    "score_type", [pa.float32(), pa.float64(), pa.float16(), pa.int64(), pa.int8(), pa.bool_(), pa.string()]
)
def test_types_of_scores(score_type):
    table = text_table().slice(0, 60)
    scores = (
        pa.array([1.5 if score_type.bit_width > 8 else 1] * 60) if score_type != pa.string() else pa.array(["1"] * 60)
    )
    if pa.types.is_integer(score_type) or pa.types.is_boolean(score_type):
        scores = pa.array([1] * 60)
    assert_aligned_alike(TEXT_QRELS, table.set_column(2, "score", scores.cast(score_type)))


def test_single_precision_scores_are_compared_as_they_are():
    rows = [(1, doc, doc / 7) for doc in range(100)]
    table = text_table(rows=rows).cast(
        pa.schema([("query", pa.string()), ("doc", pa.string()), ("score", pa.float32()), ("rank", pa.int64())])
    )
    for precision, duplicates in itertools.product(["double", "single"], ["error", "first"]):
        assert_aligned_alike(TEXT_QRELS, table, precision=precision, duplicates=duplicates)


ODD_COLUMNS = {
    "null query": ("query", pa.array([None] * 3 + ["query-1"])),
    "null doc": ("doc", pa.array(["a", "b", None, "d"])),
    "null score": ("score", pa.array([1.0, None, 1.0, 2.0])),
    "NaN score": ("score", pa.array([1.0, 2.0, float("nan"), 2.0])),
    "null rank": ("rank", pa.array([1, None, 2, 3])),
    "rank of 32 bits": ("rank", pa.array([4, 3, 2, 1], pa.int32())),
    "rank as text": ("rank", pa.array(["4", "3", "2", "1"])),
    "rank with a point": ("rank", pa.array([4.0, 3.0, 2.0, 1.0])),
    "empty doc": ("doc", pa.array(["a", "", "c", "d"])),
    "all empty docs": ("doc", pa.array(["", "", "", ""])),
    "column of nulls": ("doc", pa.nulls(4)),
    "query of nulls": ("query", pa.nulls(4)),
    "score of nulls": ("score", pa.nulls(4)),
    "dictionary": ("doc", pa.array(["a", "b", "c", "d"]).dictionary_encode()),
    "dictionary of queries": ("query", pa.array(["query-1"] * 4).dictionary_encode()),
    "float ids": ("doc", pa.array([1.0, 2.0, 3.0, 4.0])),
    "boolean ids": ("doc", pa.array([True, False, True, False])),
    "binary ids": ("doc", pa.array([b"a", b"b", b"c", b"d"])),
    "dates as ids": ("doc", pa.array([1, 2, 3, 4], pa.date32())),
    "duplicates": ("doc", pa.array(["a", "a", "b", "b"])),
    "NUL and beyond": ("doc", pa.array(["a\0", "a", "é", "😀"])),
}


@pytest.mark.parametrize("ties", ["trec", "given"])
@pytest.mark.parametrize("case", ODD_COLUMNS)
def test_odd_columns(case, ties):
    name, column = ODD_COLUMNS[case]
    columns = {"query": pa.array(["query-1"] * 4), "doc": pa.array(list("abcd")), "score": pa.array([1.0] * 4)}
    table = pa.table({**columns, "rank": pa.array([4, 3, 2, 1]), name: column})
    qrels = {"query-1": {"a": 1, "c": 2, "d": 0}}
    assert_aligned_alike(qrels, table, ties=ties)
    assert_aligned_alike(qrels, pa.concat_tables([table, table.slice(1, 2)]), ties=ties, duplicates="first")


def test_nulls_outside_of_a_slice_do_not_matter():
    column = pa.array([None, "a", "b", None])
    table = pa.table({"query": ["q"] * 4, "doc": column, "score": [1.0] * 4}).slice(1, 2)
    assert not assert_aligned_alike({"q": {"a": 1}}, table).is_error


def test_columns_that_are_not_aligned_in_memory():
    raw = b"\0" + np.arange(8, dtype=np.int64).tobytes() + b"\0" * 7
    odd = pa.Array.from_buffers(pa.int64(), 8, [None, pa.py_buffer(raw).slice(1)])
    scores = pa.Array.from_buffers(pa.float64(), 8, [None, pa.py_buffer(raw).slice(1)])
    table = pa.table({"query": pa.array(["q"] * 8), "doc": odd, "score": pa.array([1.0] * 8)})
    assert_aligned_alike({"q": {"3": 1, "5": 2}}, table)
    assert_aligned_alike({"q": {"3": 1}}, table.set_column(2, "score", scores))
    assert_aligned_alike({"q": {"3": 1}}, table.append_column("rank", odd), ties="given")


def test_tables_of_several_libraries():
    table = text_table()
    plain = pd.DataFrame(table.to_pydict())
    tables = {
        "polars": pl.DataFrame(table.to_pydict()),
        "polars in chunks": pl.concat(
            [pl.DataFrame(table.to_pydict())[i : i + 100] for i in range(0, 400, 100)], rechunk=False
        ),
        "polars categorical": pl.DataFrame(table.to_pydict()).with_columns(pl.col("query", "doc").cast(pl.Categorical)),
        "polars enum": pl.DataFrame(table.to_pydict()).with_columns(
            pl.col("query").cast(pl.Enum([f"query-{i}" for i in range(9)]))
        ),
        "pandas": plain,
        "pandas objects": plain.astype({"query": object, "doc": object}),
        "pandas categories": plain.astype({"query": "category"}),
        "pandas filtered": plain[plain.score > 1],
        "pandas arrow": plain.convert_dtypes(dtype_backend="pyarrow"),
        "pandas nullable": plain.convert_dtypes(),
        "duckdb": duckdb.from_arrow(table),
        "reader": lambda: table.to_reader(max_chunksize=64),
        "reader of dictionaries": lambda: table.set_column(1, "doc", table["doc"].dictionary_encode()).to_reader(),
        "columns": {name: np.array(table[name].to_pylist()) for name in NAMES},
        "rows": table.select(NAMES).to_pylist(),
        "tuples": [tuple(row.values()) for row in table.select(NAMES).to_pylist()],
    }
    for name, data in tables.items():
        for policies in policy_grid(3):
            outcome = assert_aligned_alike(TEXT_QRELS, data, **policies)
            assert not outcome.is_error, (name, outcome)


ODD_TABLES = {
    "a named index": pd.DataFrame({"doc": ["a"], "score": [1.0]}, index=pd.Index(["q"], name="query")),
    "an index beside the columns": pd.DataFrame({"query": ["q"], "doc": ["a"], "score": [1.0]}, index=["x"]),
    "an index of the same name": pd.DataFrame({"query": ["q"], "doc": ["a"], "score": [1.0]}, index=pd.Index(["z"], name="qid")),
    "mixed types": pd.DataFrame({"query": ["q", "q"], "doc": ["a", 7], "score": [1.0, 2.0]}),
    "ids with a gap": pd.DataFrame({"query": ["q", "q"], "doc": [7, None], "score": [1.0, 2.0]}),
    "numbers as names": pd.DataFrame([["q", "a", 1.0]]),
    "missing column": pa.table({"query": ["q"], "doc": ["a"]}),
    "no columns": pl.DataFrame(),
    "no rows": pa.table({"query": pa.array([], pa.string()), "doc": pa.array([], pa.string()), "score": pa.array([], pa.float64())}),
    "one column": pa.chunked_array([["q"]]),
    "a series": pl.Series("query", ["q"]),
    "two columns of a name": pa.Table.from_arrays([pa.array(["q"]), pa.array(["a"]), pa.array(["b"]), pa.array([1.0])], names=["query", "doc", "doc", "score"]),
    "two columns for queries": pa.table({"qid": ["x"], "query": ["q"], "doc": ["a"], "score": [1.0]}),
    "other queries": pa.table({"query": ["x"], "doc": ["a"], "score": [1.0]}),
    "capitals and blanks": pa.table({" Query ": ["q"], "DOC": ["a"], "Score": [1.0]}),
}  # fmt: skip


@pytest.mark.parametrize("case", ODD_TABLES)
def test_odd_tables(case):
    assert_aligned_alike({"q": {"a": 1}}, ODD_TABLES[case])


ODD_IDS = st.one_of(st.sampled_from(["q1", "q2", "a", "b", "é", "", "a-text-that-is-long"]), st.none())
ODD_SCORES = st.one_of(st.sampled_from([0.5, 1.0, float("inf"), float("nan")]), st.none())


@given(
    rows=st.lists(st.tuples(ODD_IDS, ODD_IDS, ODD_SCORES), max_size=20),
    cut=st.integers(0, 20),
    text_type=st.sampled_from([*TEXT_TYPES, pa.dictionary(pa.int32(), pa.string())]),
    threads=st.sampled_from([1, 3]),
    duplicates=st.sampled_from(["error", "first"]),
)
def test_any_table(rows, cut, text_type, threads, duplicates):
    columns = list(zip(*rows, strict=True)) or [[], [], []]
    kinds = [text_type, text_type, pa.float64()]
    table = pa.table({name: pa.array(column, kind) for name, column, kind in zip(NAMES, columns, kinds, strict=True)})
    in_pieces = pa.concat_tables([table.slice(cut), table.slice(0, cut)])
    assert_aligned_alike({"q1": {"a": 1, "b": 2}, "q2": {"é": 1}}, in_pieces, threads=threads, duplicates=duplicates)


def test_the_tag_of_a_table_is_reported():
    table = text_table().append_column("tag", pa.array(["mine"] * len(ROWS)))
    answered = {query: docs for query, docs in TEXT_QRELS.items() if query != "query-9"}
    assert "mine" in trec_eval_text(answered, table, ["runid"])
    assert_aligned_alike(TEXT_QRELS, table)


def test_a_table_computed_by_threads_that_need_the_interpreter():
    """DuckDB looks into Python objects from threads of its own while the kernel takes rows from it."""
    docs = np.array([f"d{i}" for i in range(300_000)], dtype=object)
    frame = pd.DataFrame(
        {"query": np.full(len(docs), "q", dtype=object), "doc": docs, "score": np.arange(float(len(docs)))}
    )
    connection = duckdb.connect()
    connection.register("frame", frame)
    done = threading.Event()

    def work() -> None:
        assert_aligned_alike({"q": {"d7": 1}}, lambda: connection.sql("select * from frame where score < 5000"))
        done.set()

    worker = threading.Thread(target=work, daemon=True)
    worker.start()
    assert done.wait(60), "kernel and DuckDB wait for each other"


def test_the_memory_of_a_table_is_given_back():
    """The stream and every batch are released, also where the kernel is not able to use them."""
    pool = pa.default_memory_pool()
    gc.collect()
    before = pool.bytes_allocated()
    for data in (text_table(), text_table().set_column(1, "doc", pa.nulls(len(ROWS)))):
        for _ in range(20):
            load_kernel().table_of(data.__arrow_c_stream__())
            Run(data.slice(1))
    del data
    gc.collect()
    assert pool.bytes_allocated() == before


def test_a_table_outlives_its_owner():
    run = Run(text_table())
    gc.collect()
    assert not assert_aligned_alike(TEXT_QRELS, lambda: run).is_error


def test_a_stream_that_breaks_off_is_an_error_both_ways():
    schema = text_table().schema

    def batches():
        yield text_table().to_batches()[0]
        raise ValueError("the connection is lost")

    assert assert_aligned_alike(TEXT_QRELS, lambda: pa.RecordBatchReader.from_batches(schema, batches())).is_error
