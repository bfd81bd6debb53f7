"""What a report says in one place agrees with what it says in another: failures, answers, reuse, times and counts."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from rankscope.experiment import retrieve
from rankscope.experiment.project import load_project
from rankscope.experiment.results import Benchmark
from rankscope.experiment.runner import run_project
from rankscope.report.benchmark import report_of
from rankscope.report.render import render

sys.path.insert(0, str(Path(__file__).parents[1]))
from small_project import SmallProject, small_project, systems

FUNCTIONS = '''
def none(query):
    raise ValueError("never")


def mixed(query):
    """Fail but for a ranking and an answer without docs."""
    if query.id == "q0":
        return []
    return docs_for(query.id) if query.id == "q1" else none(query)


def hollow(query):
    return docs_for(query.id) if query.id != "q0" else []


def nothing(query):
    return []


def many(query):
    """Answer three queries, and fail for nine reasons."""
    number = int(query.id[1:])
    if number < 3:
        return docs_for(query.id)
    raise ValueError("because of " + "abcdefghijkl"[number])


def but_one(query):
    return docs_for(query.id) if query.id != "q5" else none(query)


def texts(query):
    return [(f"a long text, number {i}", 1 - i / 7) for i in range(5)]


def unlike_rankings(queries):
    return [docs_for(query.id) if int(query.id[1:]) % 2 else 7 for query in queries]
'''


@pytest.fixture
def small(tmp_path):
    project = small_project(tmp_path, n_queries=12)
    project.add(FUNCTIONS)
    return project


def run(small: SmallProject, *names: str) -> Benchmark:
    small.write(systems(*names))
    return run_project(load_project(small.folder))


def words_of(benchmark: Benchmark, *, details: bool = False) -> str:
    return " ".join(render(report_of(benchmark, with_figures=False, every_pair=details), "text").split())


class TestThroughput:
    def test_without_an_answer_there_is_none(self, small):
        benchmark = run(small, "none", "one")
        none, one = benchmark.collections[0].systems
        assert (none.costs.queries_per_second, none.costs.latency_ms) == (None, None)
        assert one.costs.queries_per_second > 0
        record = json.loads(benchmark.to_json())["collections"][0]["systems"][0]["costs"]
        assert record["queries_per_second"] is None
        assert record["latency_ms"] is None

    def test_queries_that_failed_are_not_counted(self, small):
        small.write(systems("mixed"))
        ticks = iter(range(10_000))  # each call takes one second
        (mixed,) = run_project(load_project(small.folder), clock=lambda: float(next(ticks))).collections[0].systems
        assert mixed.costs.queries_per_second == pytest.approx(2 / 12)
        assert mixed.costs.latency_ms.n == 2

    def test_nor_are_those_of_a_batch_that_fails_and_is_asked_one_by_one(self, small, monkeypatch):
        monkeypatch.setattr(retrieve, "TIMED_QUERIES", 0)
        monkeypatch.setattr(retrieve, "BATCH", 4)
        small.write(systems("unlike_rankings", also="batch = true\n"))
        ticks = iter(range(10_000))
        (system,) = run_project(load_project(small.folder), clock=lambda: float(next(ticks))).collections[0].systems
        assert system.n_answered == 6
        assert system.costs.queries_per_second == pytest.approx(6 / 12)
