"""A run that is killed, at whatever moment, goes on where it was: nothing is asked twice, nothing is lost."""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from pathlib import Path

import pytest

from rankscope.errors import InputError, OptionError
from rankscope.experiment.answer_store import IndexCost
from rankscope.experiment.journal import Journal
from rankscope.systems.answers import Answer

sys.path.insert(0, str(Path(__file__).parents[1]))
from loopback import Asked, Loopback, Said
from small_project import SmallProject, small_project, systems, without_times

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="processes cannot be killed so here")

SINGLE = systems("one", "other")
BATCHED = systems("batch", also="batch = true\n") + systems("other")


def finished(project: SmallProject) -> tuple[dict[str, bytes], object]:
    """Run to the end, and return the runs and the JSON, without times and without the name of the folder."""
    done = project.run("--format", "json")
    assert done.returncode == 0, done.stderr
    return project.runs, without_times(json.loads(done.stdout.replace(str(project.folder), "")))


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    """Return what comes out when nothing happens, for either project."""
    outcomes = {}
    for name, tables, n_queries in (("single", SINGLE, 40), ("batched", BATCHED, 300)):
        project = small_project(tmp_path_factory.mktemp(name), n_queries=n_queries, module="searching")
        project.write(tables)
        outcomes[name] = finished(project)
        assert set(project.asked.values()) == {1}
        assert len(project.asked) == n_queries
    return outcomes


@pytest.mark.parametrize("query", ["q0", "q17", "q39"])
def test_killed_while_a_query_is_answered(query, tmp_path, uninterrupted):
    project = small_project(tmp_path, module="searching")
    project.write(SINGLE)
    assert project.run(DIE_AT=query).returncode == -signal.SIGKILL
    assert finished(project) == uninterrupted["single"]
    assert project.asked == {**dict.fromkeys(project.asked, 1), query: 2}, "only the query in flight is asked again"
    assert len(project.asked) == 40


@pytest.mark.parametrize("query", ["q150", "q230", "q299"])  # the first 200 go one by one, then there are batches of 64
def test_killed_inside_a_batch(query, tmp_path, uninterrupted):
    project = small_project(tmp_path, n_queries=300, module="searching")
    project.write(BATCHED)
    assert project.run(DIE_AT=query).returncode == -signal.SIGKILL
    assert finished(project) == uninterrupted["batched"]
    number = int(query[1:])
    first = number if number < 200 else 200 + (number - 200) // 64 * 64
    in_flight = {f"q{i}" for i in range(first, number + 1)}
    assert {name for name, n in project.asked.items() if n > 1} == in_flight
    assert len(project.asked) == 300


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_killed_again_and_again_at_random_moments(seed, tmp_path, uninterrupted):
    project = small_project(tmp_path, module="searching")
    project.write(SINGLE)
    draw = random.Random(seed)
    n_kills = 0
    for _ in range(4):
        process = project.start(SLOWLY="0.02")
        wait_for(lambda started=process: project.asked.total() > 0 or started.poll() is not None)
        time.sleep(draw.uniform(0, 0.4))
        process.kill()
        n_kills += process.wait() == -signal.SIGKILL
    assert finished(project) == uninterrupted["single"]
    assert len(project.asked) == 40
    assert project.asked.total() <= 40 + n_kills, "each kill costs one query that was being asked at most"


@pytest.mark.slow
@pytest.mark.parametrize("after", [1, 25])
def test_killed_while_asking_over_http(after, tmp_path):
    asked: list[str] = []

    def answer(request: Asked) -> Said:
        asked.append(request.path)
        time.sleep(0.01)
        number = int(request.path.rpartition("q")[2])
        return Said([{"id": f"d{(number + i * i) % 30}", "score": 9 - i} for i in range(5)])

    with Loopback(answer) as server:
        system = (
            f'[systems.web]\ntype = "http"\nurl = "{server.url}/{{query_id}}"\nscores = "$[*].score"\nconcurrency = 4\n'
        )
        whole = small_project(tmp_path / "whole", module="searching")
        whole.write(system)
        expected = finished(whole)[0]
        asked.clear()
        killed = small_project(tmp_path / "killed", module="searching")
        killed.write(system)
        process = killed.start()
        wait_for(lambda: len(asked) >= after)
        process.kill()
        assert process.wait() == -signal.SIGKILL
        time.sleep(0.1)  # what was sent comes in
        n_first = len(asked)
        assert finished(killed)[0] == expected
    twice = len(asked) - len(set(asked))
    assert len(set(asked)) == 40
    assert n_first >= after
    assert twice <= 4, "only those that were being asked, or written down, are asked again"


def wait_for(condition, seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "this takes too long"
        time.sleep(0.005)


class TestJournal:
    """What is on disk after a crash at any byte."""

    def write(self, path: Path) -> dict[str, list[tuple[str, float]]]:
        rankings = {"a": [("d1", 0.1), ("d2", 1 / 3)], "b": [], "c": [("d\ud800x", -1e300)], "d": [("7", 2.0)]}
        with Journal(path, about={"system": "s"}) as journal:
            journal.add_fit(IndexCost(1.5, 100))
            journal.add([Answer("a", rankings["a"], seconds=0.25, n_attempts=2)], seconds=0.3, cold=True)
            journal.add(
                [Answer("b", rankings["b"]), Answer("e", None, "broken"), Answer("c", rankings["c"])], seconds=1
            )
            journal.add([Answer("d", rankings["d"])], seconds=0.5)
            journal.add_memory(5)
        return rankings

    def test_reads_back_what_was_written(self, tmp_path):
        rankings = self.write(tmp_path / "j.jsonl")
        with Journal(tmp_path / "j.jsonl", about={}) as journal:
            assert {query: journal.ranking(query) for query in journal.summary.answered} == rankings
            assert {query: answer.reason for query, answer in journal.summary.failures.items()} == {"e": "broken"}
            assert [call.n_queries for call in journal.summary.calls] == [1, 3, 1]
            assert journal.summary.fit == IndexCost(1.5, 100)
            assert journal.summary.memory_bytes == 5
            assert journal.summary.answered["a"].seconds == 0.25
            assert journal.summary.answered["a"].cold
            journal.add([Answer("e", [("d9", 1.0)])], seconds=1)
            assert not journal.summary.failures

    @pytest.mark.slow
    def test_cut_off_at_any_byte_whole_calls_are_kept_and_the_rest_can_be_added_again(self, tmp_path):
        path = tmp_path / "j.jsonl"
        rankings = self.write(path)
        whole = path.read_bytes()
        ends = {}  # after how many bytes each call is complete, from the file itself
        position, pending = 0, []
        for line in whole.splitlines(keepends=True):
            position += len(line)
            record = json.loads(line)
            pending += [record["query"]] if "query" in record else []
            if "call" in record:
                ends |= dict.fromkeys(pending, position)
                pending = []
        for length in range(len(whole)):
            path.write_bytes(whole[:length])
            complete = {query for query, end in ends.items() if end <= length}
            with Journal(path, about={"system": "s"}) as journal:
                assert {*journal.summary.answered, *journal.summary.failures} == complete
                journal.add([Answer("new", [("x", 1.0)])], seconds=1)
            with Journal(path, about={"system": "s"}) as journal:
                found = {query: journal.ranking(query) for query in journal.summary.answered}
            assert found == {"new": [("x", 1.0)], **{q: rankings[q] for q in complete if q in rankings}}

    def test_damage_in_the_middle_is_not_taken_for_a_crash(self, tmp_path):
        path = tmp_path / "j.jsonl"
        self.write(path)
        path.write_bytes(path.read_bytes().replace(b'{"query":"a"', b'{"query":"a'))
        with pytest.raises(InputError, match=r"j.jsonl:3 is damaged"):
            Journal(path, about={})
        path.write_text("something else\n")
        with pytest.raises(InputError, match=r"j.jsonl:1 is damaged, or of another version"):
            Journal(path, about={})

    @pytest.mark.skipif(os.name != "posix", reason="files are not locked here")
    def test_two_runs_do_not_write_to_the_same_journal(self, tmp_path):
        with (
            Journal(tmp_path / "j.jsonl", about={}),
            pytest.raises(OptionError, match="another run is writing"),
        ):
            Journal(tmp_path / "j.jsonl", about={})
