"""A search over HTTP that is slow, fails for one query in ten, and once answers with garbage."""

from __future__ import annotations

import hashlib
import json
import sys
import threading
import time
from pathlib import Path

import pytest
import pytrec_eval

from rankscope.experiment.project import load_project
from rankscope.experiment.runner import plan_tasks, run_project
from rankscope.report.benchmark import report_of
from rankscope.report.render import render

sys.path.insert(0, str(Path(__file__).parents[1]))
from loopback import Asked, Loopback, Said
from small_project import small_project, systems

N_QUERIES = 200
GARBAGE = "q77"


class Unreliable:
    """Ranks by a fixed rule; whether an attempt fails depends on the query and the attempt alone."""

    def __init__(self) -> None:
        self.attempts: dict[str, int] = {}
        self._lock = threading.Lock()

    def ranking(self, query: str) -> dict[str, float]:
        number = int(query[1:])
        return {f"d{(number + i * i + i) % 30}": 10.0 - i for i in range(6)}

    def fails(self, query: str, attempt: int) -> bool:
        return hashlib.sha256(f"{query} {attempt}".encode()).digest()[0] < 256 // 10

    def __call__(self, asked: Asked) -> Said:
        query = asked.path.removeprefix("/search/")
        with self._lock:
            attempt = self.attempts[query] = self.attempts.get(query, 0) + 1
        time.sleep(0.005)
        if self.fails(query, attempt):
            return Said(b"overloaded", 503)
        if query == GARBAGE and attempt == 1:
            return Said(b"\x00\xff<garbage>")
        return Said({"hits": [{"id": doc, "score": score} for doc, score in self.ranking(query).items()]})


@pytest.fixture
def project(tmp_path):
    """Return a function that makes the project for a server."""

    def make(server: Loopback, attempts: int):
        small = small_project(tmp_path, n_queries=N_QUERIES)
        small.write(
            f'[systems.web]\ntype = "http"\nurl = "{server.url}/search/{{query_id}}"\n'
            'ids = "$.hits[*].id"\nscores = "$.hits[*].score"\n'
            f"concurrency = 8\nattempts = {attempts}\nbackoff_s = 0.001\n",
            measures=["nDCG@10", "RR@10"],
        )
        return load_project(tmp_path)

    return make


def expected_scores(answers: dict[str, dict[str, float]]) -> dict[str, dict[str, float]]:
    """What pytrec_eval makes of the answers."""
    qrels = {f"q{i}": {f"d{i % 30}": 1} for i in range(N_QUERIES)}
    return pytrec_eval.RelevanceEvaluator(qrels, {"ndcg_cut_10"}).evaluate(answers)


def test_what_failed_is_counted_and_the_rest_is_right(project):
    unreliable = Unreliable()
    failing = {f"q{i}" for i in range(N_QUERIES) if unreliable.fails(f"q{i}", 1)} | {GARBAGE}
    assert 10 <= len(failing) <= 30, "about one in ten"
    with Loopback(unreliable) as server:
        loaded = project(server, attempts=1)
        benchmark = run_project(loaded)
        (result,) = benchmark.collections
        (web,) = result.systems
        assert {answer.query for answer in web.failures} == failing
        assert {answer.reason for answer in web.failures if answer.query != GARBAGE} == {
            "the server answered 503: overloaded"
        }
        assert next(a.reason for a in web.failures if a.query == GARBAGE).startswith("the answer is not JSON")

        expected = expected_scores({q: unreliable.ranking(q) for q in unreliable.attempts if q not in failing})
        got = {q: row["nDCG@10"] for q, row in result.scores["web"].to_dict().items()}
        assert {q: got[q] for q in expected} == pytest.approx({q: row["ndcg_cut_10"] for q, row in expected.items()})
        assert {got[q] for q in failing} == {0.0}
        mean = sum(row["ndcg_cut_10"] for row in expected.values()) / len(expected)
        assert web.primary_over_answered == pytest.approx(mean)

        text = render(report_of(benchmark), "text")
        assert f"web: {len(failing)} of 200 queries failed and count 0" in " ".join(text.split())
        assert f"Over the {200 - len(failing)} that did not fail, nDCG@10 is {mean:.4f}" in " ".join(text.split())
        assert f"web: {len(failing) - 1} × the server answered" in text

        # Running again asks for these alone, and now they are answered, but for those that fail a second time.
        n_before = dict(unreliable.attempts)
        again = run_project(loaded).collections[0].systems[0]
        assert {q for q, n in unreliable.attempts.items() if n > n_before[q]} == failing
        assert {answer.query for answer in again.failures} == {q for q in failing if unreliable.fails(q, 2)}


def test_with_retries_nothing_is_lost(project):
    unreliable = Unreliable()
    with Loopback(unreliable) as server:
        benchmark = run_project(project(server, attempts=6))
    (result,) = benchmark.collections
    (web,) = result.systems
    assert web.failures == ()
    tried_again = {f"q{i}" for i in range(N_QUERIES) if unreliable.fails(f"q{i}", 1)} | {GARBAGE}
    assert web.n_retried == len(tried_again)
    expected = expected_scores({q: unreliable.ranking(q) for q in unreliable.attempts})
    got = {q: row["nDCG@10"] for q, row in result.scores["web"].to_dict().items()}
    assert got == pytest.approx({q: row["ndcg_cut_10"] for q, row in expected.items()})
    assert web.costs.latency_ms.n >= 190
    assert web.costs.latency_ms.p50 >= 5, "the server takes at least 5 ms"
    assert web.costs.queries_per_second > 0


@pytest.mark.parametrize("body", ["", 'body = { plain = "${RS_SECRET}" }'], ids=["named", "unnamed"])
def test_secrets_are_sent_and_written_down_nowhere(tmp_path, monkeypatch, body):
    monkeypatch.setenv("RS_SECRET", "hunter2-hunter2")
    small = small_project(tmp_path, n_queries=3)
    with Loopback(lambda _: Said({"hits": [{"id": "d1"}]})) as server:
        small.write(
            f'[systems.web]\ntype = "http"\nurl = "{server.url}/?q={{query}}&api_key=${{RS_SECRET}}"\n'
            'ids = "$.hits[*].id"\nheaders = { Authorization = "Bearer ${RS_SECRET}" }\n'
            f"{body}\n"
        )
        run_project(load_project(tmp_path))
        assert {asked.headers["Authorization"] for asked in server.requests} == {"Bearer hunter2-hunter2"}
        assert all("api_key=hunter2-hunter2" in asked.path for asked in server.requests)
        monkeypatch.setenv("RS_SECRET", "another")
        run_project(load_project(tmp_path))
        if not body:
            assert len(server.requests) == 3, "another key asks for nothing new"
    files = [path for path in (tmp_path / "results").rglob("*") if path.is_file()]
    assert len(files) >= 3
    assert not any(b"hunter2" in path.read_bytes() for path in files)


def test_queries_that_were_not_asked_go_first_the_next_time(tmp_path):
    """Where the first two are too slow, the others are not asked; running again begins with these others."""
    small = small_project(tmp_path, n_queries=6)

    def answer(asked: Asked) -> Said:
        time.sleep(1 if asked.path in ("/q0", "/q1") else 0)
        return Said([{"id": "d1"}])

    with Loopback(answer) as server:
        small.write(f'[systems.web]\ntype = "http"\nurl = "{server.url}/{{query_id}}"\nattempts = 1\ntimeout_s = 0.3\n')
        (lost,) = run_project(load_project(tmp_path)).collections[0].systems
        (web,) = run_project(load_project(tmp_path)).collections[0].systems
    assert (lost.n_answered, lost.finding.code) == (0, "unreachable")
    assert [failure.query for failure in web.failures] == ["q0", "q1"]
    assert web.n_answered == 4


TUNED = """
[systems.mixed]
type = "hybrid"
of = ["web", "one"]
weights = "tune"
step = 0.5
"""


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (Said(b"no", 400), "the server answered 400: no"),
        (Said(b"no", 500), "the server answered 500: no"),
        (Said(b"<html>"), "the answer is not JSON: <html>"),
    ],
)
def test_a_query_that_fails_while_weights_are_tuned_leaves_that_system_out_alone(tmp_path, fault, reason):
    small = small_project(tmp_path, n_queries=8)
    bad = ""
    with Loopback(lambda asked: fault if asked.path == f"/{bad}" else Said([{"id": "d1"}])) as server:
        web = f'[systems.web]\ntype = "http"\nurl = "{server.url}/{{query_id}}"\nattempts = 2\nbackoff_s = 0.01\n'
        small.write(TUNED + web + systems("one"))
        bad = plan_tasks(load_project(tmp_path))[0].split.train[1]
        done = small.run("--format", "json")
    assert done.returncode == 2, done.stderr
    why = f"it cannot be asked: mixed could not be tuned: web did not answer query '{bad}': {reason}"
    assert f"error: mixed is left out: {why}" in done.stderr
    found = {system["name"]: system for system in json.loads(done.stdout)["collections"][0]["systems"]}
    assert found["mixed"]["finding"]["code"] == "unreachable"
    assert found["one"]["n_answered"] == found["web"]["n_answered"] == 4
    assert {"one.trec.gz", "web.trec.gz"} <= small.runs.keys()
