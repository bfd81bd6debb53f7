"""`rankscope leaderboard`: systems over many collections, by ranks and standardised scores worked out by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

import rankscope as rs
from rankscope.experiment.leaderboard import Leaderboard
from rankscope.store import CollectionFacts, RunDetails, RunFacts, StoredQuery

QUERIES = ("q1", "q2")


def keep(store, system, collection, ranks, *, day=1, queries=QUERIES):
    """Keep a run whose relevant doc has a rank on each query."""
    qrels = store.qrels.add(rs.Qrels({query: {"yes": 1} for query in QUERIES}), name=collection)
    docs_of = {}
    for query, rank in zip(queries, ranks, strict=True):
        docs_of[query] = [f"{system}-{day}-{i}" for i in range(9)]
        docs_of[query].insert(rank - 1, "yes")
    facts = RunFacts(
        system=system,
        collection=CollectionFacts(
            name=collection,
            queries={query: StoredQuery(query) for query in queries},
            qrels_sha256=qrels.judgments_sha256,
        ),
        started=f"2026-11-{day:02}T10:00:00.000000+00:00",
        details=RunDetails(primary="RR"),
    )
    return store.runs.add(rs.Run(docs_of), facts)


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RANKSCOPE_STORE", raising=False)
    with rs.open_store(tmp_path, create=True) as store:
        yield store


@pytest.fixture
def three(store):
    """Means of RR by hand: a has 1 and 0.25, b 0.5 and 0.5, c 0.5 and 1; so the ranks are 1, 3; 2.5, 2; 2.5, 1."""
    for system, ranks in {"a": (1, 4), "b": (2, 2), "c": (2, 1)}.items():
        for collection, rank in zip(("bake", "cook"), ranks, strict=True):
            keep(store, system, collection, (rank, rank))
    return store


@pytest.mark.usefixtures("three")
def test_ranks_are_averaged_and_means_are_not(rankscope):
    board = Leaderboard.from_json(rankscope("leaderboard", "--format", "json").out)
    assert Leaderboard.from_json(board.to_json()) == board
    assert [(row.system, row.mean_rank) for row in board.rows] == [("c", 1.75), ("a", 2.0), ("b", 2.25)]
    assert [[cell.mean for cell in row.cells] for row in board.rows] == [[0.5, 1.0], [1.0, 0.25], [0.5, 0.5]]
    text = " ".join(rankscope("leaderboard").out.split())
    assert "c has the best mean rank (1.75)" in text
    assert "standardised scores need 10 different stored runs of a collection; bake has 3, cook has 3" in text
    for name in ("board.html", "board.md", "board.tex", "board.json"):
        assert rankscope("leaderboard", "-o", name).code == 0
        assert "1.75" in Path(name).read_text()


def test_standardised_scores(rankscope, store):
    """Ten reference runs have RR 1/1 to 1/10 on both queries: one with 1/3 is better than seven, and equal to one."""
    for rank in range(1, 11):
        keep(store, f"s{rank:02}", "cook", (rank, rank), day=rank)
    keep(store, "late", "cook", (3, 1), day=20)
    board = Leaderboard.from_json(rankscope("leaderboard", "--format", "json").out)
    shares = {row.system: row.standardised for row in board.rows}
    assert shares["s03"] == pytest.approx(0.75)
    assert shares["late"] == pytest.approx((0.75 + 0.95) / 2)
    assert board.collections[0].n_reference == 10


def test_the_newest_run_counts_and_tags_choose(rankscope, three):
    keep(three, "a", "cook", (1, 1), day=5)
    board = Leaderboard.from_json(rankscope("leaderboard", "--format", "json").out)
    assert {row.system: row.cells[1].mean for row in board.rows}["a"] == 1.0
    for run in ("1", "2"):
        assert rankscope("history", "tag", "release", run).code == 0
    board = Leaderboard.from_json(rankscope("leaderboard", "--tag", "release", "--format", "json").out)
    assert [(row.system, [cell.run for cell in row.cells]) for row in board.rows] == [("a", [1, 2])]
    only = Leaderboard.from_json(
        rankscope("leaderboard", "--collection", "bake", "--system", "a", "--system", "b", "--format", "json").out
    )
    assert [(row.system, row.mean_rank) for row in only.rows] == [("a", 1.0), ("b", 2.0)]


def test_who_is_not_on_all_collections_is_not_ranked(rankscope, three):
    keep(three, "d", "cook", (1, 1))
    keep(three, "b", "cook", (1,), day=6, queries=("q1",))
    keep(three, "c", "cook", (1, 1), day=7)
    text = " ".join(rankscope("leaderboard").out.split())
    assert "Not ranked, as they are not on all collections: b, d." in text
    assert "cook: b was asked other queries than the newest run, and is left out." in text


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--collection", "nope"], "the store has no runs on 'nope'"),
        (["--tag", "nope"], "there is no tag 'nope'"),
        (["--system", "nope"], "no stored run is like that"),
        (["-m", "nDCQ"], "nDCQ"),
    ],
)
@pytest.mark.usefixtures("three")
def test_errors_say_what_is_wrong(rankscope, arguments, said):
    done = rankscope("leaderboard", *arguments)
    assert (done.code, said in done.err, done.out) == (2, True, "")


def test_an_empty_store_and_none(rankscope, store, monkeypatch, tmp_path_factory):
    done = rankscope("leaderboard")
    assert (done.code, "the store has no runs yet" in done.err) == (2, True)
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    done = rankscope("leaderboard")
    assert (done.code, "there is no store" in done.err) == (2, True)


def test_a_system_without_a_place_may_have_the_best_value(rankscope, three):
    """d is only on cook, where it has RR 1 as c has, and e only on bake, where nothing is as good as a."""
    keep(three, "d", "cook", (1, 1))
    keep(three, "e", "bake", (3, 3))
    text = rankscope("leaderboard").out
    words = " ".join(text.split())
    assert "c has the best mean rank of the 3 on all collections (1.75)." in words
    assert "counted among the systems that are on all collections" in words
    assert "has the best value." not in words, "c has it as well"
    rows = {line.split()[0]: line.split() for line in text.splitlines() if line[:3].strip() in set("abcde")}
    assert rows["d"][-1] == rows["c"][-1] == "1.0000*"
    assert rows["a"][-2] == "1.0000*"
    keep(three, "c", "cook", (2, 2), day=9)
    assert "On cook, d has the best value." in " ".join(rankscope("leaderboard").out.split())
