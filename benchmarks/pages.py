"""Measures the pages of `rankscope serve` on a large store: how long each takes with twenty readers, and the memory.

    .venv/bin/python benchmarks/pages.py                        1,000 runs, 10,000 queries, 20 readers for a minute
    .venv/bin/python benchmarks/pages.py --runs 40 --queries 500 --seconds 10
    .venv/bin/python benchmarks/pages.py --store large.db              a store that is there already

The server is a process of its own on loopback; the readers are threads of this one, each of which opens a page every
two seconds: pages of the menu, and links that it finds on them. A page that says that it is being computed is opened
again after two seconds, as a browser does; how often, and how long each was waited for, is said. Runs share rankings,
so that the store can be made in minutes.
"""

from __future__ import annotations

import argparse
import html
import os
import random
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from pathlib import Path

import urllib3

from rankscope.align.policies import Policies
from rankscope.measures.parse import parse_measures
from rankscope.store import CollectionFacts, RunDetails, RunFacts, Store, StoredDoc, StoredQuery, open_store
from store import made_qrels, made_run

TOKEN = "benchmark"
MENU = ("/", "/systems", "/compare", "/queries", "/history", "/targets", "/collections", "/measures")
DEPTH = 10
DISTINCT = 24
SYSTEMS = 12
PAUSE_S = 2.0
COMPUTING = 202


def fill(store: Store, n_runs: int, n_queries: int) -> None:
    languages = ("en", "de", "fr")
    queries = {
        f"q{i}": StoredQuery(f"how to find number {i}", {"language": languages[i % 3], "kind": f"kind {i % 20}"})
        for i in range(n_queries)
    }
    qrels = store.qrels.add(made_qrels(n_queries, DEPTH), name="bench")
    collection = CollectionFacts(
        name="bench", queries=queries, qrels_sha256=qrels.judgments_sha256, counts={"docs": 200_000}
    )
    runs = [made_run(seed, n_queries, DEPTH) for seed in range(DISTINCT)]
    shown = {doc for run in runs[:2] for doc in run.rows.doc[:2000]}
    docs = {doc: StoredDoc(f"Title of {doc}", f"A text that says how to find number {doc}.", {}) for doc in shown}
    for number in range(n_runs):
        facts = RunFacts(
            system=f"system-{number % SYSTEMS}",
            started=(datetime(2026, 1, 1, tzinfo=UTC) + timedelta(hours=number)).isoformat(),
            collection=collection,
            details=RunDetails(
                depth=DEPTH, primary="nDCG@10", latency_ms={"p50": 20.0 + number % SYSTEMS, "p95": 40.0, "mean": 22.0}
            ),
        )
        store.runs.add(runs[number % DISTINCT], facts, docs=docs if number == 0 else None)
        print(f"\rstored {number + 1}", end="", file=sys.stderr)
    store.scores.compute(store.runs.list(), qrels, parse_measures("nDCG@10"), Policies())
    print(file=sys.stderr)


class Reader(threading.Thread):
    """Opens a page every two seconds; `times` has the seconds by path."""

    def __init__(self, base: str, until: float, seed: int) -> None:
        super().__init__(daemon=True)
        self.base, self.until, self.dice = base, until, random.Random(seed)
        self.times: dict[str, list[float]] = defaultdict(list)
        self.failed: list[str] = []
        self.links: list[str] = list(MENU)
        self.n_computing = 0
        self.waited: list[float] = []
        """How long it took until pages were there that had to be computed first."""

    def run(self) -> None:
        http = urllib3.PoolManager()
        time.sleep(self.dice.random() * PAUSE_S)
        again, since = "", 0.0
        while time.monotonic() < self.until:
            begin = time.monotonic()
            path = again or self.dice.choice(MENU if self.dice.random() < 0.5 else self.links)
            headers = {"Authorization": f"Bearer {TOKEN}", "Accept-Encoding": "gzip"}
            answer = http.request("GET", self.base + path, headers=headers, redirect=False, timeout=120)
            took = time.monotonic() - begin
            self.times[path.partition("?")[0]].append(took)
            if answer.status == COMPUTING:
                self.n_computing += 1
                again, since = path, since or begin
                time.sleep(max(0.0, PAUSE_S - took))
                continue
            if again:
                self.waited.append(begin + took - since)
                again, since = "", 0.0
            if answer.status != 200:
                self.failed.append(f"{answer.status} {path}")
            found = re.findall(r'href="(/(?:compare|queries|query|run|history|systems)\?[^"]*)"', answer.data.decode())
            self.links = [html.unescape(link) for link in found] or list(MENU)
            time.sleep(max(0.0, PAUSE_S - took))


def memory_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(re.findall(r"VmRSS:\s+(\d+)", status)[0]) / 1024


def cpu_s(pid: int) -> float:
    """Return the processor time that a process has used; that of its children is not in it."""
    user, system = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def children_of(pid: int) -> list[int]:
    found = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        found += [int(child) for child in (task / "children").read_text().split()]
    return found


def print_first(base: str, path: str) -> None:
    """Print how long the first answer takes, and, where it says that the page is being computed, how long the page."""
    begin = time.monotonic()
    first = 0.0
    while True:
        headers = {"Authorization": f"Bearer {TOKEN}"}
        answer = urllib3.request("GET", base + path, headers=headers, redirect=False, timeout=600)
        took = time.monotonic() - begin
        first = first or took
        if answer.status != COMPUTING:
            break
        time.sleep(0.1)
    size = f"{len(answer.data) / 1e3:7.0f} kB   status {answer.status}"
    print(f"first {path:<14} {first:8.2f} s   there after {took:6.2f} s   {size}", flush=True)


def quantile(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def measure(location: str, n_readers: int, seconds: float) -> None:
    command = [sys.executable, "-m", "rankscope", "serve", "--store", location, "--port", "0"]
    environment = {**os.environ, "RANKSCOPE_TOKEN": TOKEN}
    server = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
    try:
        line = server.stderr.readline() if server.stderr else ""
        base = re.findall(r"http://[^/\s]+", line)[0]
        for path in MENU:
            print_first(base, path)
        readers = [Reader(base, time.monotonic() + seconds, seed) for seed in range(n_readers)]
        before = cpu_s(server.pid)
        for reader in readers:
            reader.start()
        for reader in readers:
            reader.join()
        used = cpu_s(server.pid) - before
        times: dict[str, list[float]] = defaultdict(list)
        for reader in readers:
            for path, values in reader.times.items():
                times[path] += values
        print(f"{n_readers} readers, a page every {PAUSE_S:g} s each, for {seconds:g} s")
        for path, values in sorted(times.items()):
            p50, p95 = (1000 * quantile(values, share) for share in (0.5, 0.95))
            slowest = 1000 * max(values)
            print(f"{path:<14} n {len(values):5}   p50 {p50:6.0f} ms   p95 {p95:6.0f} ms   max {slowest:6.0f} ms")
        everything = [value for values in times.values() for value in values]
        print(f"all            n {len(everything):5}   p95 {1000 * quantile(everything, 0.95):7.0f} ms")
        print(f"processor time of the server: {used:.1f} s, {1000 * used / len(everything):.0f} ms a page")
        waited = [value for reader in readers for value in reader.waited]
        n_computing = sum(reader.n_computing for reader in readers)
        longest = f", the longest {max(waited):.1f} s" if waited else ""
        print(f"being computed: {n_computing} answers; {len(waited)} pages were waited for{longest}")
        beside = "".join(f", {memory_mb(child):.0f} MB beside it" for child in children_of(server.pid))
        print(f"memory of the server: {memory_mb(server.pid):.0f} MB{beside}")
        failed = [failure for reader in readers for failure in reader.failed]
        print(f"failed: {len(failed)} {failed[:3]}")
    finally:
        server.terminate()
        server.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--queries", type=int, default=10_000)
    parser.add_argument("--readers", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--store", help="a store that is there already, or where to make one")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        location = args.store or f"{folder}/store.db"
        if not Path(location).exists():
            with open_store(location, create=True) as store:
                fill(store, args.runs, args.queries)
        measure(location, args.readers, args.seconds)


if __name__ == "__main__":
    main()
