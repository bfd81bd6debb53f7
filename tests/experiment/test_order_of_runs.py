"""Which run is the newest: the one that was made last, whatever clocks said, and also where its answers were there."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

import rankscope as rs
from rankscope.cli.main import main
from rankscope.experiment.history import diff_runs, history_of
from rankscope.experiment.leaderboard import leaderboard_of
from rankscope.records import replace
from rankscope.store import CollectionFacts, RunDetails, RunFacts, StoredQuery

sys.path.insert(0, str(Path(__file__).parents[1]))
from small_project import SmallProject, small_project

# The relevant doc is at the rank that the name of the function says.
RANKED = """
def with_relevant_at(rank, query):
    log(query.id)
    docs = [f"d{29 - i}" for i in range(rank - 1)] + [f"d{query.id[1:]}"]
    return [(doc, 1 - i / 20) for i, doc in enumerate(docs)]


def rank_1(query):
    return with_relevant_at(1, query)


def rank_2(query):
    return with_relevant_at(2, query)
"""


@pytest.fixture
def project(tmp_path, monkeypatch) -> SmallProject:
    monkeypatch.delenv("RANKSCOPE_STORE", raising=False)
    monkeypatch.chdir(tmp_path)
    made = small_project(tmp_path, n_queries=12)
    made.add(RANKED)
    return made


def run_with(project, rank, capsys, *arguments):
    """Run with an option, and return what is said of it."""
    table = f'type = "python"\nrecords = true\nfunction = "MODULE:rank_{rank}"\n'
    project.write(f"[systems.one]\n{table}", measures=["RR"])
    capsys.readouterr()
    assert main(["run", *arguments]) == 0
    return capsys.readouterr().err


class TestEarlierOptions:
    def test_going_back_is_the_newest_state(self, project, capsys):
        for rank in (1, 2):
            run_with(project, rank, capsys)
        said = run_with(project, 1, capsys)
        assert set(project.asked.values()) == {2}, "nothing is asked a third time"
        with rs.open_store() as store:
            first, second, third = store.runs.list()
            assert store.runs.find("one") == third
            assert f"stored: one {third.short}" in said
            assert third.ranking_sha256 == first.ranking_sha256
            assert third.latencies_sha256 == first.latencies_sha256
            assert (third.details.answers_of, third.config) == (first.digest, first.config)
            [system] = history_of(store).systems
            assert [point.mean for point in system.points] == [1.0, 0.5, 1.0]
            newest = history_of(store).changes[0]
            assert (newest.before, newest.after, newest.difference) == (second.number, third.number, 0.5)
            assert store.runs.ranking(third) == store.runs.ranking(first)
        # from 1/2 to 1, that is from the run with the other options, and not from the one with the same
        assert "one: RR 1.0000, +0.5000 since run 2 of" in said
        assert "(the answers of run 1)" in said
        assert main(["history", "show", "one"]) == 0
        assert f"those of {first.digest[:16]}, not asked again" in capsys.readouterr().out
        assert main(["store", "check"]) == 0

    def test_the_newest_state_again_adds_nothing_and_says_so(self, project, capsys):
        for rank in (1, 2, 1):
            run_with(project, rank, capsys)
        said = run_with(project, 1, capsys)
        assert "the same answers as in run 3" in said
        assert "stored: nothing, as all answers are those of the newest runs" in said
        with rs.open_store() as store:
            assert len(store.runs.list()) == 3

    def test_there_and_back_again(self, project, capsys):
        for rank in (1, 2, 1, 2):
            run_with(project, rank, capsys)
        with rs.open_store() as store:
            assert [point.mean for point in history_of(store).systems[0].points] == [1.0, 0.5, 1.0, 0.5]
            first, second, third, fourth = store.runs.list()
            assert (third.details.answers_of, fourth.details.answers_of) == (first.digest, second.digest)

    def test_more_repetitions_are_another_run(self, project, capsys):
        run_with(project, 1, capsys)
        run_with(project, 1, capsys, "--repeat", "3")
        assert "stored: nothing" in run_with(project, 1, capsys, "--repeat", "3")
        with rs.open_store() as store:
            runs = store.runs.list()
            assert [len(store.runs.repetitions(runs)[run.number]) for run in runs] == [1, 3]
        run_with(project, 1, capsys)
        with rs.open_store() as store:
            assert [run.details.n_repetitions for run in store.runs.list()] == [1, 3, 1]

    def test_fresh_answers_are_a_run_although_they_are_the_same(self, project, capsys):
        run_with(project, 1, capsys)
        assert "identical" in run_with(project, 1, capsys, "--fresh")
        with rs.open_store() as store:
            assert [run.details.answers_of for run in store.runs.list()] == ["", ""]


QRELS = {"q1": {"a": 1}, "q2": {"b": 1}}


@pytest.fixture
def store(tmp_path):
    with rs.open_store(tmp_path / "store.db", create=True) as store:
        store.qrels.add(rs.Qrels(QRELS), name="small")
        yield store


def keep(store, day, docs="ab", *, system="bm25", backdated=False, queries=("q1", "q2")):
    facts = RunFacts(
        system=system,
        collection=CollectionFacts(name="small", queries={query: StoredQuery(query) for query in queries}),
        started=f"2026-11-{day:02d}T10:00:00+00:00",
        details=RunDetails(primary="RR", backdated=backdated),
    )
    return store.runs.add(rs.Run({query: list(docs) for query in queries}), facts)


class TestClocksThatGoBack:
    def test_the_newest_run_is_the_one_that_was_stored_last(self, store):
        before, after = keep(store, 9, "ab"), keep(store, 2, "ba")
        assert store.runs.find("bm25") == after
        assert store.runs.find("bm25~1") == before
        assert store.runs.list() == (before, after)
        assert store.runs.list(last=1) == (after,)
        assert [(one.before, one.after) for one in history_of(store).changes] == [(1, 2)]

    def test_the_newest_of_all_systems(self, store):
        """The answer is about the system that was there first, a leaderboard about the queries of the newest run."""
        keep(store, 9, system="one", queries=("q1",))
        keep(store, 2, system="two")
        history = history_of(store)
        assert (history.main, [each.system for each in history.systems]) == ("one", ["one", "two"])
        [about] = leaderboard_of(store).collections
        assert (about.n_queries, about.left_out) == (2, ("one",))

    def test_a_clock_that_was_ahead_for_a_while(self, store):
        runs = [keep(store, day, docs) for day, docs in ((5, "ab"), (30, "ba"), (6, "ac"), (7, "ca"))]
        assert store.runs.list() == tuple(runs)

    def test_what_was_made_earlier_has_its_place_by_its_time(self, store):
        """As results from before there was a store, which are imported later."""
        first, third = keep(store, 4, "ab"), keep(store, 8, "ba")
        second = keep(store, 6, "ac", backdated=True)
        assert store.runs.list() == (first, second, third)
        assert store.runs.find("bm25") == third
        fourth = keep(store, 7, "ca")
        assert store.runs.find("bm25") == fourth

    def test_files_are_in_the_order_in_which_they_were_written(self, tmp_path, monkeypatch):
        monkeypatch.delenv("RANKSCOPE_STORE", raising=False)
        monkeypatch.chdir(tmp_path)
        Path("qrels.txt").write_text("q1 0 a 1\n")
        for folder, docs, written in (("late", "ab", 2_000_000), ("early", "ba", 1_000_000)):
            Path(folder).mkdir()
            Path(folder, "one.run").write_text("".join(f"q1 Q0 {doc} {i} {9 - i} x\n" for i, doc in enumerate(docs)))
            os.utime(Path(folder, "one.run"), (written, written))
            assert main(["evaluate", "qrels.txt", f"{folder}/one.run", "-m", "RR", "--store", "kept.db"]) == 0
        with rs.open_store("kept.db") as store:
            assert [run.number for run in store.runs.list()] == [2, 1]

    def test_an_export_keeps_the_order(self, store, tmp_path, capsys):
        for day, docs in ((9, "ab"), (2, "ba")):
            keep(store, day, docs)
        assert main(["store", "export", str(tmp_path / "out"), "--store", str(tmp_path / "store.db")]) == 0
        other = str(tmp_path / "other.db")
        assert main(["store", "import", str(tmp_path / "out"), "--store", other]) == 0
        with rs.open_store(other) as copied:
            assert [run.started[8:10] for run in copied.runs.list()] == ["09", "02"]
            assert copied.runs.list() == tuple(
                replace(run, stored=mine.stored)
                for run, mine in zip(store.runs.list(), copied.runs.list(), strict=True)
            )


def test_files_of_the_future_are_kept_as_of_now(tmp_path, monkeypatch, capsys):
    """A file that is dated ahead is no newer than one that is evaluated after it."""
    monkeypatch.delenv("RANKSCOPE_STORE", raising=False)
    monkeypatch.chdir(tmp_path)
    Path("qrels.txt").write_text("q1 0 d1 1\nq2 0 d1 1\n")
    for docs, ahead_s in (("d1 d2", 40 * 86400), ("d2 d1", 0)):
        lines = [f"{q} Q0 {doc} {i} {2 - i} a" for q in ("q1", "q2") for i, doc in enumerate(docs.split())]
        Path("a.run").write_text("\n".join(lines) + "\n")
        at = Path("a.run").stat().st_mtime + ahead_s
        os.utime("a.run", (at, at))
        assert main(["evaluate", "qrels.txt", "a.run", "-m", "RR", "--store", "kept.db"]) == 0
        assert ("a.run is dated in the future" in capsys.readouterr().err) == bool(ahead_s)
    with rs.open_store("kept.db") as store:
        newest = history_of(store).main_system.points[-1]
        assert (newest.run, newest.mean) == (2, 0.5)


def test_runs_of_the_future_are_said(store):
    """Of three runs the first two were made under a clock that was a year ahead; the third is worse."""
    facts = RunFacts(
        system="one", type="bm25", collection=CollectionFacts(name="small", queries={f"q{i}": StoredQuery() for i in range(12)}),
        started="",
    )  # fmt: skip
    store.qrels.add(rs.Qrels({f"q{i}": {"d": 1} for i in range(12)}), name="small")
    for started, rank in (("2098-01-01", 1), ("2098-01-02", 1), ("2026-01-01", 2)):
        docs = ["d", "x"] if rank == 1 else ["x", "d"]
        ranking = rs.Run({f"q{i}": {doc: 2.0 - place for place, doc in enumerate(docs)} for i in range(12)})
        store.runs.add(ranking, replace(facts, started=f"{started}T00:00:00.000000+00:00"))
    found = history_of(store, measure="RR")
    assert (found.main_system.points[-1].run, found.dated_ahead) == (3, (1, 2))
    assert found.verdict.verdict == "worse"
    assert (found.verdict.before, found.verdict.after) == (1, 3)


def test_a_comparison_is_not_taken_for_that_of_the_other_order(store):
    """Run 1 has the relevant doc first, run 2 second: what is kept of one order says the opposite of the other."""
    facts = RunFacts(
        system="one", type="bm25", collection=CollectionFacts(name="small", queries={f"q{i}": StoredQuery() for i in range(12)}),
        started="2026-01-01T00:00:00.000000+00:00",
    )  # fmt: skip
    store.qrels.add(rs.Qrels({f"q{i}": {"d": 1} for i in range(12)}), name="small")
    for docs in ("d x", "x d"):
        ranking = rs.Run({f"q{i}": {doc: 2.0 - place for place, doc in enumerate(docs.split())} for i in range(12)})
        store.runs.add(ranking, facts)
    one, two = store.runs.list()
    forth, back = (diff_runs(store, *pair, measure="RR").comparison for pair in ((one, two), (two, one)))
    assert next(iter(forth)).delta == -0.5
    assert next(iter(back)).delta == 0.5
