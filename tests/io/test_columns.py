"""Which column of a table holds what, and rows that are ready made."""

import numpy as np
import pytest

import rankscope as rs
from rankscope.errors import FormatError
from rankscope.io.columns import RUN_COLUMNS, find_columns
from rankscope.io.rows import QrelsRows, RunRows


def test_the_callers_choice_wins_over_known_names():
    names = ["qid", "docno", "score", "bm25"]
    found = find_columns(names, RUN_COLUMNS, chosen={"score": "BM25"})
    assert found == {"query": "qid", "doc": "docno", "score": "bm25"}


def test_a_chosen_column_that_is_not_there_is_an_error_that_lists_the_columns():
    with pytest.raises(FormatError, match=r"my\.csv has no column 'bm26'; its columns are qid, docno, bm25"):
        find_columns(["qid", "docno", "bm25"], RUN_COLUMNS, chosen={"score": "bm26"}, where="my.csv")


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["query", "topic"], "query"),
        (["topic", "query"], "query"),
        (["topic"], "topic"),
        (["qid", "query"], "qid"),  # as PyTerrier has them: the text stands in query
        (["query", "query_id"], "query_id"),
        (["topic_id", "query"], "topic_id"),
        (["query", "query-id", "topic"], "query-id"),
    ],
)
def test_query_is_the_id_unless_another_column_says_so(names, expected):
    found = find_columns([*names, "doc", "score"], RUN_COLUMNS)
    assert found["query"] == expected


def test_rows_can_be_given_as_they_are():
    run = rs.Run(RunRows(["q", "q"], ["a", "b"], np.array([1.0, 2.0]), rank=np.array([2, 1]), tag="t"))
    qrels = rs.Qrels(QrelsRows(["q"], ["a"], np.array([1.0])))
    assert rs.evaluate(qrels, run, "RR")["run"]["q", "RR"] == 0.5
    assert run.tag == "t"
    with pytest.raises(ValueError, match="read-only"):
        run.rows.rank[0] = 7


def test_a_rank_column_of_lists_is_not_used():
    rows = [{"query": "q", "doc": d, "score": 1.0, "rank": rank} for d, rank in (("a", [1, 2]), ("b", 3))]
    assert rs.Run(rows).rows.rank is None


def test_the_tag_of_a_run_is_that_of_its_last_row():
    rows = [{"query": "q", "doc": d, "score": 1.0, "tag": tag} for d, tag in (("a", "one"), ("b", "two"))]
    assert rs.Run(rows).tag == "two"
