"""The order of docs against a plain sort: ties, precision, depth, the rank column, ids of any bytes."""

import struct
from functools import cmp_to_key

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rankscope as rs
from rankscope.align.alignment import align
from rankscope.align.policies import Policies
from rankscope.align.reference import ranked_docs

pytestmark = pytest.mark.usefixtures("engine")


def strcmp(one: bytes, other: bytes) -> int:
    """Compare two texts byte by byte, as C does."""
    for a, b in zip(one + b"\0", other + b"\0", strict=False):
        if a != b:
            return a - b
    return 0


def single(score):
    """Round to 32 bits the way a C float is stored."""
    return struct.unpack("f", struct.pack("f", score))[0]


def sorted_docs(rows, *, ties, precision):
    """Return the docs best first; rows are (doc, score, given rank)."""

    def compare(one, other):
        first, second = (single(row[1]) if precision == "single" else row[1] for row in (one, other))
        if first != second:
            return -1 if first > second else 1
        if ties == "given":
            return one[2] - other[2]
        by_id = strcmp(*(row[0].encode("utf-8", "surrogateescape") for row in (one, other)))
        return by_id if ties == "ascending" else -by_id

    return [row[0] for row in sorted(rows, key=cmp_to_key(compare))]


IDS = st.sampled_from(["a", "A", "b", "10", "9", "aa", "é", "文", "🙂", "\udcff", "\udc80x", "z"]) | st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=3
)
SCORES = st.sampled_from([1.0, 1.0, 2.0, 0.0, -0.0, 0.1, 0.1 + 1e-10, 16777216.0, 16777217.0, float("inf"), -5.0])


@st.composite
def scored_docs(draw):
    docs = draw(st.lists(IDS, min_size=1, max_size=12, unique=True))
    given_ranks = draw(st.permutations(range(1, len(docs) + 1)))
    return [(doc, draw(SCORES), rank) for doc, rank in zip(docs, given_ranks, strict=True)]


def found_order(run, docs, **policies):
    """Return the docs by the ranks that alignment gives them, every doc being judged."""
    grades = {doc: float(i) for i, doc in enumerate(docs)}
    hits = align(rs.Qrels({"q": grades}), run, Policies(**policies))
    assert hits.ranks.tolist() == list(range(1, len(docs) + 1))
    return [docs[int(grade)] for grade in hits.grades.tolist()]


def runs_of(rows):
    """Return the same docs as a dict, as rows, and as a table with a rank column where that plays no role."""
    yield rs.Run({"q": {doc: score for doc, score, _ in rows}})
    yield rs.Run([("q", doc, score) for doc, score, _ in rows])


@settings(max_examples=150)
@given(rows=scored_docs(), ties=st.sampled_from(["trec", "ascending"]), precision=st.sampled_from(["double", "single"]))
def test_ties_by_id(rows, ties, precision):
    expected = sorted_docs(rows, ties=ties, precision=precision)
    docs = [doc for doc, _, _ in rows]
    for run in runs_of(rows):
        assert found_order(run, docs, ties=ties, precision=precision) == expected
        ranking = run.rankings.ranking("q", duplicates="error")
        assert ranked_docs(ranking, Policies(ties=ties, precision=precision)) == expected
        assert ranked_docs(ranking, Policies(ties=ties, precision=precision, depth=2)) == expected[:2]


@settings(max_examples=100)
@given(rows=scored_docs(), precision=st.sampled_from(["double", "single"]))
def test_ties_as_given_by_the_order_of_rows(rows, precision):
    in_order = [(doc, score, place) for place, (doc, score, _) in enumerate(rows)]
    expected = sorted_docs(in_order, ties="given", precision=precision)
    docs = [doc for doc, _, _ in rows]
    for run in runs_of(rows):
        assert found_order(run, docs, ties="given", precision=precision) == expected
        ranking = run.rankings.ranking("q", duplicates="error")
        assert ranked_docs(ranking, Policies(ties="given", precision=precision)) == expected


@settings(max_examples=100)
@given(rows=scored_docs())
def test_ties_as_given_by_the_rank_column(rows):
    expected = sorted_docs(rows, ties="given", precision="double")
    records = [{"query": "q", "doc": doc, "score": score, "rank": rank} for doc, score, rank in rows]
    docs = [doc for doc, _, _ in rows]
    run = rs.Run(records)
    assert found_order(run, docs, ties="given") == expected
    assert ranked_docs(run.rankings.ranking("q", duplicates="error"), Policies(ties="given")) == expected


def test_ties_as_given_by_the_rank_column_of_a_table():
    data = {"query": ["q"] * 3, "doc": ["a", "b", "c"], "score": [1.0, 1.0, 2.0], "rank": [3, 2, 1]}
    for table in (pl.DataFrame(data), {name: np.array(column) for name, column in data.items()}):
        assert found_order(rs.Run(table), ["a", "b", "c"], ties="given") == ["c", "b", "a"]
        assert found_order(rs.Run(table), ["a", "b", "c"], ties="ascending") == ["c", "a", "b"]


def test_a_rank_column_that_is_no_column_of_whole_numbers_is_not_used():
    for ranks in ([2.5, 1.5], [None, 1], ["x", "y"], [2**70, 1]):
        rows = [{"query": "q", "doc": d, "score": 1.0, "rank": r} for d, r in zip("ab", ranks, strict=True)]
        assert found_order(rs.Run(rows), ["a", "b"], ties="given") == ["a", "b"]


def test_files_keep_their_order_or_use_their_rank_column(tmp_path):
    path = tmp_path / "run.txt"
    path.write_text("q Q0 a 2 1.0 t\nq Q0 b 1 1.0 t\nq Q0 c 3 1.0 t\n")
    assert found_order(rs.Run(path), ["a", "b", "c"], ties="given") == ["b", "a", "c"]
    assert found_order(rs.Run(path), ["a", "b", "c"], ties="trec") == ["c", "b", "a"]


def test_ids_are_ordered_by_bytes_not_by_letters():
    docs = ["9", "10", "a", "B", "é", "\udcff"]
    run = rs.Run({"q": dict.fromkeys(docs, 1.0)})
    # by bytes: 0xff, then 0xc3 0xa9 (é), then a, then B, then 9, then 1
    assert found_order(run, docs) == ["\udcff", "é", "a", "B", "9", "10"]


def test_half_characters_do_not_stop_an_evaluation():
    run = {"q": {"\ud800": 1.0, "a": 1.0}}
    assert rs.evaluate({"q": {"a": 1}}, run, "NumRet")["run"]["q", "NumRet"] == 2


def test_single_precision_makes_nearly_equal_scores_tie():
    run = rs.Run({"q": {"a": 0.1 + 1e-10, "b": 0.1}})
    assert found_order(run, ["a", "b"], precision="double") == ["a", "b"]
    assert found_order(run, ["a", "b"], precision="single") == ["b", "a"]


def test_scores_beyond_32_bits_are_infinite_in_single_precision():
    run = rs.Run({"q": {"a": 1e300, "b": 1e200, "c": 3.0}})
    assert found_order(run, ["a", "b", "c"], precision="double") == ["a", "b", "c"]
    assert found_order(run, ["a", "b", "c"], precision="single") == ["b", "a", "c"]


@settings(max_examples=60)
@given(rows=scored_docs(), depth=st.integers(1, 14))
def test_depth_cuts_the_ranking_after_ordering(rows, depth):
    expected = sorted_docs(rows, ties="trec", precision="double")[:depth]
    grades = {doc: float(i) for i, (doc, _, _) in enumerate(rows)}
    for run in runs_of(rows):
        hits = align(rs.Qrels({"q": grades}), run, Policies(depth=depth))
        assert [rows[int(grade)][0] for grade in hits.grades.tolist()] == expected
        assert hits.n_retrieved.tolist() == [len(expected)]


@settings(max_examples=60)
@given(rows=scored_docs(), data=st.data())
def test_the_query_itself_can_be_dropped_from_its_ranking(rows, data):
    query = data.draw(st.sampled_from([doc for doc, _, _ in rows] + ["not retrieved"]))
    kept = [row for row in rows if row[0] != query]
    ties = data.draw(st.sampled_from(["trec", "given"]))
    ordered = [(doc, score, place) for place, (doc, score, _) in enumerate(kept)]
    expected = sorted_docs(ordered, ties=ties, precision="double")
    docs = [doc for doc, _, _ in rows]
    qrels = rs.Qrels({query: {doc: float(i) for i, doc in enumerate(docs)}})
    for run in (rs.Run({query: {d: s for d, s, _ in rows}}), rs.Run([(query, d, s) for d, s, _ in rows])):
        hits = align(qrels, run, Policies(self_match="drop", ties=ties))
        assert [docs[int(grade)] for grade in hits.grades.tolist()] == expected
        assert hits.n_retrieved.tolist() == [len(kept)]


def test_the_query_itself_is_dropped_with_its_rank():
    rows = [{"query": "q", "doc": d, "score": 1.0, "rank": r} for d, r in (("a", 3), ("q", 1), ("b", 2))]
    hits = align(rs.Qrels({"q": {"a": 1, "b": 2}}), rs.Run(rows), Policies(self_match="drop", ties="given"))
    assert hits.grades.tolist() == [2.0, 1.0]
