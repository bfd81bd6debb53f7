"""Ranks and standardised scores over collections, with numbers worked out by hand."""

from __future__ import annotations

import pytest

import rankscope as rs
from rankscope.experiment.leaderboard import Leaderboard, leaderboard_of
from rankscope.store import CollectionFacts, RunDetails, RunFacts, StoredQuery

RANKINGS = {1: ["a", "b", "c", "d"], 2: ["b", "a", "c", "d"], 3: ["b", "c", "a", "d"], 4: ["b", "c", "d", "a"]}
"""By the rank of a, the one relevant doc: RR is 1, 1/2, 1/3 and 1/4."""


@pytest.fixture
def store(tmp_path):
    with rs.open_store(tmp_path / "store.db", create=True) as store:
        yield store


def keep(store, system, collection, ranks, *, day=1, names=("q1", "q2")):
    """Keep a run that has the relevant doc at these ranks."""
    qrels = rs.Qrels({query: {"a": 1} for query in names})
    labels = store.qrels.add(qrels, name=collection)
    queries = {query: StoredQuery(query) for query in names}
    facts = RunFacts(
        system=system,
        collection=CollectionFacts(name=collection, queries=queries, qrels_sha256=labels.judgments_sha256),
        started=f"2026-11-{day:02d}T10:00:00+00:00",
        details=RunDetails(primary="RR"),
    )
    docs = {query: RANKINGS[rank] for query, rank in zip(names, ranks, strict=True)}
    return store.runs.add(rs.Run(docs), facts)


def by_system(board):
    return {row.system: row for row in board.rows}


def test_ranks_are_averaged_and_means_are_not(store):
    """On one, x has RR 1, y 1/2, z 1/4: ranks 1, 2, 3. On two, y 1, x and z 1/3: ranks 1, 2.5, 2.5."""
    for system, ranks in {"x": (1, 1), "y": (2, 2), "z": (4, 4)}.items():
        keep(store, system, "one", ranks)
    for system, ranks in {"x": (3, 3), "y": (1, 1), "z": (3, 3)}.items():
        keep(store, system, "two", ranks)
    board = leaderboard_of(store)
    rows = by_system(board)
    assert [row.system for row in board.rows] == ["y", "x", "z"]
    assert {name: row.mean_rank for name, row in rows.items()} == {"x": 1.75, "y": 1.5, "z": 2.75}
    assert [cell.mean for cell in rows["x"].cells] == [1.0, 1 / 3]
    assert rows["x"].standardised is None  # three reference runs are too few
    assert Leaderboard.from_json(board.to_json()) == board


def test_the_newest_run_of_a_system_counts(store):
    keep(store, "x", "one", (4, 4), day=1)
    keep(store, "x", "one", (1, 1), day=2)
    keep(store, "y", "one", (2, 2), day=1)
    board = leaderboard_of(store)
    assert by_system(board)["x"].cells[0].mean == 1.0
    store.tags.move("release", store.runs.find("x~1"))
    assert by_system(leaderboard_of(store, tag="release"))["x"].cells[0].mean == 0.25


def test_scores_are_standardised_by_the_first_ten_runs(store):
    """Ten runs with the doc at ranks 1 to 4 on q1, always 2 on q2; by hand for the best, with RR 1 on q1: nine score
    lower and itself the same, so (9 + 0.5)/10; on q2 all score the same, 0.5. Mean (0.95 + 0.5)/2 = 0.725."""
    ranks = [1, 2, 2, 2, 3, 3, 3, 4, 4, 4]
    others = {1: ["x"], 2: ["x", "y", "z"], 3: ["x", "y", "z"], 4: ["x", "y", "z"]}
    for i, rank in enumerate(ranks):
        keep_other(store, f"s{i}", rank, others[rank][ranks[:i].count(rank)])
    board = leaderboard_of(store)
    assert board.collections[0].n_reference == 10
    assert by_system(board)["s0"].standardised == pytest.approx(0.725)
    # s1 has 1/2: six score lower, three the same, one higher: (6 + 1.5)/10; with q2 (0.75 + 0.5)/2
    assert by_system(board)["s1"].standardised == pytest.approx(0.625)
    keep_other(store, "late", 1, "late")
    assert by_system(leaderboard_of(store))["s0"].standardised == pytest.approx(0.725)  # it stays what it was
    assert by_system(leaderboard_of(store))["late"].standardised == pytest.approx(0.725)


def keep_other(store, system, rank, filler):
    """Keep a run of its own ranking: what is not relevant has another name in each."""
    labels = store.qrels.add(rs.Qrels({"q1": {"a": 1}, "q2": {"a": 1}}), name="one")
    docs = [f"{filler}{system}{i}" for i in range(4)]
    docs[rank - 1] = "a"
    facts = RunFacts(
        system=system,
        collection=CollectionFacts(
            name="one",
            queries={"q1": StoredQuery("q1"), "q2": StoredQuery("q2")},
            qrels_sha256=labels.judgments_sha256,
        ),
        started="2026-11-01T10:00:00+00:00",
        details=RunDetails(primary="RR"),
    )
    store.runs.add(rs.Run({"q1": docs, "q2": ["other", "a"]}), facts)


def test_a_system_that_was_asked_other_queries_is_left_out(store):
    keep(store, "x", "one", (1, 1), day=1)
    keep(store, "y", "one", (2, 2, 2), day=2, names=("q1", "q2", "q3"))
    board = leaderboard_of(store)
    assert board.collections[0].left_out == ("x",)
    assert by_system(board)["x"].mean_rank is None
    assert by_system(board)["y"].mean_rank == 1.0
