"""Watches over stored runs; RR@10 of a run is worked out by hand: 1 where the relevant doc comes first, 0.5 where second."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import rankscope as rs
from rankscope.errors import OptionError
from rankscope.experiment.project import load_project
from rankscope.experiment.watch import WatchOptions, WatchResult, accept, watch_project
from rankscope.store import CollectionFacts, RunDetails, RunFacts, StoredQuery, open_store

sys.path.insert(0, str(Path(__file__).parent))
from memory_alerts import RecordingNotifier

N = 20
PROJECT = """
primary = "RR@10"
[collections.small]
docs = "docs.jsonl"
queries = "queries.jsonl"
qrels = "qrels.txt"
[systems.search]
type = "bm25"
"""


class Watched:
    """A project whose runs are made up, a day apart."""

    def __init__(self, folder: Path, text: str = PROJECT) -> None:
        (folder / "rankscope.toml").write_text(text)
        self.project = load_project(folder)
        self.day = 0
        self.store = open_store(folder, create=True, clock=self.time)
        self.queries = {f"q{i}": StoredQuery(f"question {i}") for i in range(N)}
        self.judge({f"q{i}": {f"d{i}": 1, "x": 0} for i in range(N)})
        self.team = RecordingNotifier()

    def time(self) -> str:
        return f"2026-{1 + self.day // 28:02}-{1 + self.day % 28:02}T09:00:00.000000+00:00"

    def judge(self, qrels) -> None:
        self.store.qrels.add(rs.Qrels(qrels), name="small")

    def add(self, n_second: int, *, system: str = "search", failed: int = 0, empty: int = 0) -> int:
        """Store a run whose mean is (20 - n_second / 2 - empty) / 20: so many relevant docs come second, or not at all."""
        self.day += 1
        rankings = {}
        for i, query in enumerate(list(self.queries)[: len(self.queries) - empty]):
            docs = ["x", query.replace("q", "d")] if i < n_second else [query.replace("q", "d"), "x"]
            rankings[query] = {doc: 2.0 - rank for rank, doc in enumerate(docs)}
        facts = RunFacts(
            system=system,
            type="bm25",
            collection=CollectionFacts(name="small", queries=self.queries),
            started=self.time(),
            details=RunDetails(failed=tuple(list(self.queries)[:failed])),
        )
        return self.store.runs.add(rs.Run(rankings), facts).number

    def watch(self, n_second: int | None = None, **options) -> WatchResult:
        if n_second is not None:
            self.add(n_second)
        asked = WatchOptions(stored=True, **options)
        notifiers = [self.team]
        return watch_project(self.project, self.store, asked, notifiers=notifiers, sleep=lambda _: None)


@pytest.fixture
def watched(tmp_path, monkeypatch):
    monkeypatch.delenv("RANKSCOPE_STORE", raising=False)
    made = Watched(tmp_path)
    yield made
    made.store.close()


def only(result):
    (mean,) = result.watched
    return mean


def test_band_and_mean_by_hand(watched):
    # means of 2, 4, 3, 2, 6, 3 second places: .95 .90 .925 .95 .85 .925; median .925, distances .025 .025 0 .025 .075 0,
    # MAD .025, so 0.925 -+ 3 * 1.4826 * .025 = .813805 to 1.036195
    for n in (2, 4, 3, 2, 6, 3):
        watched.add(n)
    mean = only(watched.watch(5))
    assert mean.value == pytest.approx(0.875)
    assert (mean.band.n, mean.band.median, mean.band.mad) == (6, pytest.approx(0.925), pytest.approx(0.025))
    assert (mean.band.low, mean.band.high) == (pytest.approx(0.813805), pytest.approx(1.036195))
    assert (mean.state, mean.history, mean.baseline) == ("fine", (1, 2, 3, 4, 5, 6), None)


def test_a_drop_is_opened_stays_and_recovers(watched):
    for n in (2, 4, 3, 2, 6, 3):
        watched.add(n)
    found = watched.watch(8)  # .8
    assert found.has_drop
    (alert,) = found.opened
    assert (alert.before, alert.value, alert.run) == (pytest.approx(0.925), pytest.approx(0.8), 7)
    # against run 6, the last of those nearest to the median, the queries 3 to 7 fell from 1 to 0.5
    assert alert.queries_against == 6
    assert [(each.query, each.text, each.before, each.now) for each in alert.queries] == [
        (f"q{i}", f"question {i}", 1.0, 0.5) for i in range(3, 8)
    ]
    assert [notice.subject for notice in watched.team.notices] == ["search on small: RR@10 fell from 0.925 to 0.800"]
    for _ in range(7):  # it does not become normal, however long it lasts
        found = watched.watch(8)
        assert (found.has_drop, len(found.kept), found.opened, found.sent) == (True, 1, (), ())
        assert only(found).history == (1, 2, 3, 4, 5, 6)
    found = watched.watch(3)
    assert (found.has_drop, len(found.recovered)) == (False, 1)
    assert watched.team.notices[1].subject == "search on small has recovered: RR@10 is 0.925"
    assert len(watched.team.notices) == 2


def test_the_same_drop_is_found_again_after_it_has_recovered(watched):
    """The runs of the first drop are no part of the band: else most of the last runs would be bad ones."""
    for _ in range(6):
        watched.watch(2)
    assert watched.watch(12).opened
    for _ in range(5):
        assert not watched.watch(12).opened
    assert watched.watch(2).recovered
    mean = only(watched.watch(2))
    assert mean.history == (1, 2, 3, 4, 5, 6, 13)
    assert mean.notes == ("search on small: 6 runs made while an alert was open are no part of the history.",)
    again = watched.watch(12)
    assert again.has_drop
    assert len(again.opened) == 1
    assert only(again).history == (1, 2, 3, 4, 5, 6, 13, 14)
    watched.watch(12)
    accept(watched.store)  # of what was accepted, the newest run is where history begins
    assert only(watched.watch(12)).history == (16,)


def test_without_a_band_a_run_of_a_drop_is_not_the_run_before(watched):
    watched.watch(2)
    assert watched.watch(18).opened
    watched.watch(18)
    assert watched.watch(2).recovered
    again = watched.watch(18)
    assert only(again).baseline.run == 4
    assert again.opened


def test_without_a_band_or_a_tag_it_is_compared_with_the_run_before(watched):
    first = watched.watch(0)
    assert (only(first).baseline, first.has_drop) == (None, False)
    found = watched.watch(16)  # 16 of 20 queries fell from 1 to 0.5
    assert found.has_drop
    assert (only(found).baseline.run, only(found).baseline.before) == (1, 1.0)
    assert "the run before, search of 2026-01-02 09:00 (run 1" in only(found).baseline.label
    again = watched.watch(16)  # the run before is as low: it is compared with the one that it fell from
    assert (only(again).baseline.run, again.has_drop, again.sent) == (1, True, ())
    assert watched.watch(0).recovered


def test_the_tag_baseline_decides_beside_the_band(watched):
    for n in (0, 14, 14, 15, 14, 16, 14):
        watched.add(n)
    watched.store.tags.move("baseline", watched.store.runs.find("1"))
    mean = only(watched.watch(14))
    assert (mean.side, mean.baseline.run, mean.baseline.outcome, mean.state) == ("inside", 1, "failed", "drop")
    (reason,) = mean.reasons()
    assert reason.startswith("Compared with the baseline, search of 2026-01-02 09:00 (run 1")
    assert "is worse" in reason
    watched.store.tags.move("baseline", watched.store.runs.find("2"))
    assert only(watched.watch()).state == "fine"


def test_a_baseline_of_what_is_not_watched(watched):
    number = watched.add(0, system="other")
    watched.add(0)
    with pytest.raises(OptionError, match=r"the baseline 1 is other of .* which is not watched"):
        watched.watch(baseline=(str(number),))
    watched.store.tags.move("baseline", watched.store.runs.find("1"))
    assert only(watched.watch()).baseline is None


def test_history_is_scored_under_the_judgments_of_today(watched):
    for n in (2, 4, 3, 2, 6, 3):
        watched.add(n)
    watched.judge({f"q{i}": {f"d{i}": 1, "x": 1} for i in range(N)})  # x is relevant, too: all means are 1
    mean = only(watched.watch(8))
    assert (mean.value, mean.band.median, mean.band.mad, mean.state) == (1.0, 1.0, 0.0, "fine")


def test_queries_that_were_added_are_left_out_of_the_comparison(watched):
    for _ in range(6):
        watched.add(2)
    for i in range(N, N + 5):
        watched.queries[f"q{i}"] = StoredQuery(f"question {i}")
    watched.queries["q19"] = StoredQuery("another question")
    watched.judge({f"q{i}": {f"d{i}": 1} for i in range(N + 5)})
    mean = only(watched.watch(2))
    # 19 queries are the same in all runs, of which two have 0.5
    assert (mean.n_queries, mean.value) == (19, pytest.approx(18 / 19))
    assert (mean.band.median, mean.state) == (pytest.approx(18 / 19), "fine")
    assert mean.notes == (
        "search on small: means are over the 19 of 25 queries that the compared runs have in common.",
    )


def test_runs_that_were_asked_other_queries_are_no_history(watched):
    for _ in range(6):
        watched.add(2)
    watched.queries = {f"q{i}": StoredQuery(f"question {i}") for i in range(15, 55)}
    watched.judge({f"q{i}": {f"d{i}": 1} for i in range(15, 55)})
    mean = only(watched.watch(2))
    assert (mean.band, mean.history, mean.baseline) == (None, (), None)
    assert "which was asked other queries" in mean.notes[0]


def test_accepting_starts_history_anew(watched):
    for n in (2, 4, 3, 2, 6, 3, 8):
        watched.add(n)
    assert watched.watch().opened
    (closed,) = accept(watched.store)
    assert (closed.end, closed.history_from) == ("accepted", 7)
    assert watched.store.alerts.current()[0].end == "accepted"
    found = watched.watch(8)
    assert (found.has_drop, only(found).history) == (False, (7,))
    assert len(watched.team.notices) == 1


def test_too_many_failed_queries_are_no_measurement(watched):
    watched.add(0, failed=3)
    found = watched.watch()
    assert (found.is_incomplete, only(found).problem) == (True, "3 queries failed")
    assert watched.team.notices[0].subject == "search on small could not be measured"
    watched.add(0, failed=2)
    assert not watched.watch().is_incomplete


def test_too_many_queries_without_docs_are_a_drop(watched):
    watched.watch(0)
    watched.add(0, empty=15)
    found = watched.watch()
    (reason,) = only(found).reasons()
    assert found.has_drop
    assert reason.endswith("run 2 does not answer 15 of 20 queries (75%; at most 10% are allowed)")
    assert only(found).before == 1.0


def test_a_system_without_a_run_is_no_measurement(watched):
    assert only(watched.watch()).problem == "there is no stored run of it; `rankscope run` makes one"


def test_a_dry_run_changes_nothing(watched):
    for n in (2, 4, 3, 2, 6, 3, 8):
        watched.add(n)
    watched.project.notify["team"] = {"type": "command", "command": "true"}
    found = watched.watch(dry_run=True)
    assert [(each.notifier, each.alert.value) for each in found.planned] == [("team", pytest.approx(0.8))]
    assert (watched.store.alerts.current(), watched.team.notices) == ((), [])
    watched.watch()
    assert watched.watch(dry_run=True).planned == ()
    found = watched.watch(3, dry_run=True)
    assert [each.alert.end for each in found.planned] == ["recovered"]
    assert watched.store.alerts.current()[0].is_open


def test_the_result_is_read_back_as_it_was(watched):
    for n in (2, 4, 3, 2, 6, 3):
        watched.add(n)
    watched.store.tags.move("baseline", watched.store.runs.find("1"))
    found = watched.watch(8)
    assert WatchResult.from_json(found.to_json()) == found


def test_the_newest_run_is_the_one_that_was_stored_last(watched):
    for n in (2, 4, 3, 2, 6, 3):
        watched.add(n)
    watched.day = 0  # a clock that was set back
    found = only(watched.watch(8))
    assert (found.run, found.history) == (7, (1, 2, 3, 4, 5, 6))


def test_runs_that_are_dated_in_the_future_are_history_all_the_same(watched):
    watched.day = 200
    for n in (2, 4, 3, 2, 6, 3):
        watched.add(n)
    watched.day = 0
    found = watched.watch(8)
    assert found.has_drop
    assert only(found).history == (1, 2, 3, 4, 5, 6)
    assert only(found).notes == ("search on small: 6 earlier runs are dated in the future. Was a clock wrong?",)
