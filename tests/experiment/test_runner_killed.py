"""A run that is killed, at whatever moment, goes on where it was: nothing is asked twice, nothing is lost."""

from __future__ import annotations

import json
import random
import signal
import sys
import time
from pathlib import Path

import pytest

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
@pytest.mark.parametrize("seed", range(10))
def test_killed_at_any_moment_of_a_run(seed, tmp_path, uninterrupted):
    """Half of the kills come after the last answer, when runs and the manifest are written."""
    project = small_project(tmp_path, module="searching")
    project.write(SINGLE)
    draw = random.Random(seed)
    started = project.start()
    if seed % 2:
        wait_for(lambda: project.asked.total() == 40 or started.poll() is not None)
        time.sleep(draw.uniform(0, 0.25))
    else:
        time.sleep(draw.uniform(0.2, 1.2))
    started.kill()
    started.wait()
    assert finished(project) == uninterrupted["single"]
    assert not list((project.folder / "results").rglob("*.tmp"))
    assert not list((project.folder / "results").rglob("*.old"))


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
