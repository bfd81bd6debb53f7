"""Measures judging under load: raters who save at a steady pace against one `rankscope serve`, and what is kept of it.

    .venv/bin/python benchmarks/judging.py                     20 raters, 5 judgments a second each, 10,000 in all
    .venv/bin/python benchmarks/judging.py --judgments 500     a quick look
    .venv/bin/python benchmarks/judging.py --postgres          in a PostgreSQL server of its own
    .venv/bin/python benchmarks/judging.py --kill              the server is killed in the middle, and started again

The raters are threads of this process, on the same machine. Each saves a grade for one doc after the other, a fifth of
a second apart, and asks after each how far the answer is from settled, as the page does. A save that fails is sent
again with the same uuid until it is acknowledged, as a browser does. In the end the store is read: every judgment that
was acknowledged is there once, and no other one. The time of a save is what its rater waits; with --kill those that
waited for the server to come back are counted apart.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import numpy as np
import urllib3

import rankscope as rs
from rankscope.data.tasks import TaskPlan
from rankscope.judging.tasks import create_task
from rankscope.store import CollectionFacts, RunFacts, StoredDoc, StoredQuery, open_store

N_RATERS = 20
PACE_S = 0.2
DEPTH = 10
TARGET_MS = 100
START_S = 60


def fill(where: str, n_docs: int, n_raters: int) -> tuple[int, list[str], list[list[tuple[str, str]]]]:
    """Make a task of two runs in which every rater has docs of their own; return its number, tokens and docs."""
    n_queries = max(10, -(-n_docs // DEPTH))
    queries = {f"q{i}": StoredQuery(f"text {i}") for i in range(n_queries)}
    docs = {f"d{i}": StoredDoc(f"title {i}", f"text {i} " * 20) for i in range(50)}
    draw = np.random.default_rng(0)
    with open_store(where, create=True) as store:
        for system in ("old", "new"):
            run = rs.Run(
                {q: {f"d{d}": float(DEPTH - i) for i, d in enumerate(draw.permutation(50)[:DEPTH])} for q in queries}
            )
            facts = RunFacts(
                system=system,
                started="2026-01-01T00:00:00",
                collection=CollectionFacts(name="bench", queries=queries),
            )
            store.runs.add(run, facts, docs=docs)
        plan = TaskPlan(k=DEPTH, measure="nDCG@10", repeat_share=0.0)
        task = create_task(store, "load", plan, runs=["old", "new"])
        pairs = [(item.query, item.doc) for item in store.tasks.items(task)][:n_docs]
        tokens = [store.raters.invite(task, name=f"rater {i}")[1] for i in range(n_raters)]
    return task.number, tokens, [pairs[i::n_raters] for i in range(n_raters)]


class ServedStore:
    """`rankscope serve` in a process of its own, which can be killed and started again on the same port."""

    def __init__(self, where: str) -> None:
        self.where = where
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.start()

    def start(self) -> None:
        command = [sys.executable, "-m", "rankscope", "serve", "--store", self.where, "--port", str(self.port)]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(START_S * 20):
            try:
                urllib3.request("GET", f"{self.url}/judge/start", retries=False, timeout=5)
            except urllib3.exceptions.HTTPError:
                time.sleep(0.05)
            else:
                return
        raise SystemExit("the server did not start")

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(30)


class BenchRater(threading.Thread):
    """Saves grades at a steady pace; what was acknowledged, and how long that took, is kept."""

    def __init__(self, url: str, token: str, pairs: list[tuple[str, str]], begin: float) -> None:
        super().__init__(daemon=True)
        self.url, self.pairs, self.begin = url, pairs, begin
        self.headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        self.http = urllib3.HTTPConnectionPool("127.0.0.1", int(url.rpartition(":")[2]), maxsize=1)
        self.acknowledged: list[str] = []
        self.waited_ms: list[float] = []
        self.retried: set[int] = set()
        self.refused: list[str] = []

    def run(self) -> None:
        for place, (query, doc) in enumerate(self.pairs):
            time.sleep(max(0.0, self.begin + place * PACE_S - time.monotonic()))
            name = str(uuid.uuid4())
            body = json.dumps({"uuid": name, "query": query, "doc": doc, "grade": place % 4, "seconds": 1.0})
            began = time.monotonic()
            if self.save(body, place):
                self.acknowledged.append(name)
            self.waited_ms.append(1000 * (time.monotonic() - began))
            self.look()

    def save(self, body: str, place: int) -> bool:
        while True:
            try:
                answer = self.http.request(
                    "POST", "/judge/save.json", body=body, headers=self.headers, retries=False, timeout=30
                )
            except urllib3.exceptions.HTTPError:
                self.retried.add(place)
                time.sleep(0.05)
                continue
            if answer.status == 429 or answer.status >= 500:
                self.retried.add(place)
                time.sleep(0.05)
                continue
            status = (
                json.loads(answer.data).get("status")
                if answer.status == 200
                else f"{answer.status} {answer.data[:200]!r}"
            )
            if status != "ok":
                self.refused.append(str(status))
            return status == "ok"

    def look(self) -> None:
        try:
            self.http.request("GET", "/judge/settling.json", headers=self.headers, retries=False, timeout=30)
        except urllib3.exceptions.HTTPError:
            return


def check(where: str, number: int, raters: list[BenchRater]) -> None:
    """Compare what was acknowledged with what is stored."""
    acknowledged = Counter(name for rater in raters for name in rater.acknowledged)
    with open_store(where) as store:
        stored = Counter(each.judgment.uuid for each in store.judgments.list("bench", task=str(number)))
    lost = sum((acknowledged - stored).values())
    doubled = sum(n - 1 for n in stored.values() if n > 1)
    unknown = sum((stored - acknowledged).values())
    kept = f"acknowledged {sum(acknowledged.values()):,}, lost {lost}, doubled {doubled}"
    print(f"{kept}, not acknowledged but there {unknown}")
    refused = [reason for rater in raters for reason in rater.refused]
    if refused:
        print(f"refused {len(refused)}: {refused[0]}")
    if lost or doubled or refused:
        raise SystemExit(1)


@contextmanager
def postgres_store() -> Iterator[str]:
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
    from postgres import running_server

    with running_server(fsync=True) as server:
        yield server.new_store()


def measure(where: str, n_judgments: int, n_raters: int, *, kill: bool) -> None:
    number, tokens, pairs = fill(where, n_judgments, n_raters)
    server = ServedStore(where)
    begin = time.monotonic() + 1
    raters = [BenchRater(server.url, token, own, begin) for token, own in zip(tokens, pairs, strict=True)]
    for rater in raters:
        rater.start()
    if kill:
        time.sleep(1 + PACE_S * len(pairs[0]) / 2)
        server.kill()
        server.start()
    for rater in raters:
        rater.join()
    took = time.monotonic() - begin
    server.stop()
    waited = [ms for rater in raters for place, ms in enumerate(rater.waited_ms) if place not in rater.retried]
    again = sum(len(rater.retried) for rater in raters)
    p50, p95, p99 = np.percentile(waited, [50, 95, 99])
    print(f"{len(waited) + again:,} saves of {n_raters} raters in {took:.0f} s, {again} of them sent again")
    print(f"a save takes p50 {p50:.1f} ms, p95 {p95:.1f} ms, p99 {p99:.1f} ms, at most {max(waited):.0f} ms")
    print(f"target: p95 under {TARGET_MS} ms: {'holds' if p95 < TARGET_MS else 'does not hold'}")
    check(where, number, raters)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--judgments", type=int, default=10_000)
    parser.add_argument("--raters", type=int, default=N_RATERS)
    parser.add_argument("--postgres", action="store_true", help="in a PostgreSQL server that is started for it")
    parser.add_argument("--kill", action="store_true", help="kill the server in the middle, and start it again")
    args = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        postgres_store() if args.postgres else nullcontext(str(Path(folder) / "store.db")) as where,
    ):
        print("PostgreSQL" if args.postgres else "SQLite", f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
        measure(where, args.judgments, args.raters, kill=args.kill)


if __name__ == "__main__":
    main()
