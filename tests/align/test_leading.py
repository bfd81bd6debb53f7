"""The first docs of every query, found fast, are those that ordering everything finds."""

import gzip

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import rankscope.align.top as module
from rankscope.align.policies import Policies
from rankscope.align.top import leading_docs, narrowed_run, packed_docs, top_docs
from rankscope.data.loading import ReadOptions, load_run
from rankscope.data.run import Run
from rankscope.data.sources import TableSource

QUERIES = ("p", "q", "r", "d1")
DOCS = tuple(f"d{i}" for i in range(9))
SCORES = st.sampled_from([3.0, 2.0, 1.0, 1.0000000001, 0.5, 0.0, -1.0, 1e300, 0.1])

rows = st.lists(
    st.tuples(st.sampled_from(QUERIES), st.sampled_from(DOCS), SCORES, st.integers(1, 9)),
    min_size=1,
    max_size=40,
    unique_by=lambda row: row[:2],
)
policies = st.builds(
    Policies,
    ties=st.sampled_from(["trec", "given", "ascending"]),
    precision=st.sampled_from(["double", "single"]),
    self_match=st.sampled_from(["keep", "drop"]),
    duplicates=st.sampled_from(["error", "first"]),
    depth=st.sampled_from([None, 2]),
)
depths = st.sampled_from([1, 2, 3, 20, None])


def lines(rows, *, blank=" ", end="\n"):
    return "".join(
        blank.join([query, "Q0", doc, str(rank), repr(score), "tag"]) + end for query, doc, score, rank in rows
    )


def as_dict(rows):
    run = {}
    for query, doc, score, _ in rows:
        run.setdefault(query, {})[doc] = score
    return run


def as_table(rows):
    return pl.DataFrame(rows, schema=["query", "doc", "score", "rank"], orient="row")


@pytest.fixture(autouse=True)
def no_file_is_small(monkeypatch):
    monkeypatch.setattr(module, "SMALL_FILE", 0)


def unpacked(run, queries, given_policies, *, depth):
    """Return what `packed_docs` yields as `top_docs` returns it."""
    found = dict.fromkeys(queries, ())
    for block in packed_docs(run, queries, given_policies, depth=depth):
        text, lengths = block.text, block.lengths.tolist()
        ids = []
        for length in lengths:
            ids.append(text[:length].decode("utf-8", "surrogatepass"))
            text = text[length:]
        for query, count in zip(block.query_ids, block.counts.tolist(), strict=True):
            found[query], ids = tuple(ids[:count]), ids[count:]
        assert not ids
        assert not text
    return module.TopDocs(tuple(queries), tuple(found.values()))


def check(make, given_policies, depth):
    """Compare the ways, each with a run of its own."""
    expected = top_docs(make(), QUERIES, given_policies, depth=None)
    for way in (top_docs, leading_docs, unpacked):
        found = way(make(), QUERIES, given_policies, depth=depth)
        assert found.query_ids == expected.query_ids
        assert found.docs == expected.cut(depth)


@settings(max_examples=150, deadline=None)
@given(rows=rows, given_policies=policies, depth=depths)
def test_data_in_memory(rows, given_policies, depth):
    check(lambda: Run(as_dict(rows)), given_policies, depth)
    check(lambda: Run([row[:3] for row in rows]), given_policies, depth)
    check(lambda: Run(as_table(rows)), given_policies, depth)
    check(lambda: Run(as_table(rows).drop("rank")), given_policies, depth)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=rows,
    given_policies=policies,
    depth=depths,
    layout=st.sampled_from([{}, {"blank": "\t"}, {"blank": "  "}, {"end": "\r\n"}, {"end": "\n\n"}, {"end": " x\n"}]),
    in_order=st.booleans(),
    block_bytes=st.sampled_from([64, 200, 1 << 26]),
)
def test_files(tmp_path, monkeypatch, *, rows, given_policies, depth, layout, in_order, block_bytes):
    monkeypatch.setattr(module, "_BLOCK_BYTES", block_bytes)
    monkeypatch.setattr(module, "_LONGEST_LINE", 40)
    listed = sorted(rows, key=lambda row: (row[0], -row[2])) if in_order else rows
    plain, packed = tmp_path / "a.run", tmp_path / "a.run.gz"
    plain.write_bytes(lines(listed, **layout).encode())
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    for path in (plain, packed):
        check(lambda path=path: load_run(path), given_policies, depth)


@pytest.mark.parametrize(
    "text",
    [
        "\ufeffp Q0 d1 1 2 t\np Q0 d2 2 1 t\n",
        "# a comment\np Q0 d1 1 2 t\n",
        "p Q0 d1 1 2 t\n\np Q0 d2 2 3 t",
        "p Q0 d1 1 2 t\np Q0  d2 2 3 t\n",
        "p Q0 d1 1 2 t\np Q0 d2 2 3 t and more\n",
        'p Q0 "d1 1 2 t\np Q0 d"2 2 3 t\n',
        "p Q0 d1 one 2 t\np Q0 d2 two 2 t\n",
        "p Q0 d1 1 inf t\np Q0 d2 2 -inf t\n",
        "p Q0 d1 1 0.1 t\np Q0 d2 2 1e-1 t\np Q0 d3 3 .1 t\np Q0 d4 4 +0.1 t\n",
        "p Q0 ä 1 1 t\np Q0 日本 2 1 t\np Q0 z 3 1 t\n",
    ],
)
@pytest.mark.parametrize("ties", ["trec", "given"])
def test_odd_files(tmp_path, text, ties):
    path = tmp_path / "a.run"
    path.write_bytes(text.encode())
    check(lambda: load_run(path), Policies(ties=ties), 1)


def test_bytes_that_are_no_text(tmp_path):
    path = tmp_path / "a.run"
    path.write_bytes(b"p Q0 d\xff 1 1 t\np Q0 d\xfe 2 1 t\n")
    check(lambda: load_run(path), Policies(), 1)


def test_lines_that_were_skipped_stay_skipped(tmp_path):
    path = tmp_path / "a.run"
    path.write_bytes(b"p Q0 d1 1 1 t\np Q0 d2 2 9\np Q0 d3 3 7 t\n")
    with pytest.warns(UserWarning, match="bad line"):
        check(lambda: load_run(path, options=ReadOptions(lenient=True)), Policies(), 1)


def test_most_rows_of_a_file_are_dropped_unseen(tmp_path):
    path = tmp_path / "a.run"
    path.write_text("".join(f"q{i % 3} Q0 d{i} 1 {i} t\n" for i in range(300)))
    narrow = narrowed_run(load_run(path), ["q0", "q1", "q2"], Policies(), 10)
    assert len(narrow.rows) == 30


def test_most_rows_of_a_table_are_dropped_unseen():
    table = pl.DataFrame({"query": ["q"] * 100, "doc": list(range(100)), "score": list(range(100))})
    run = Run(table)
    if not isinstance(run.source, TableSource):
        pytest.skip("without the kernel a table is read into rows")
    assert len(narrowed_run(run, ["q"], Policies(), 10).rows) == 10


def test_a_query_that_looks_like_a_comment(tmp_path):
    path = tmp_path / "a.run"
    path.write_text("p Q0 d1 1 1 t\n#p Q0 d2 1 1 t\n")
    assert leading_docs(load_run(path), ("p", "#p"), Policies(), depth=1).docs == (("d1",), ())
