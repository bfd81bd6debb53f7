"""Measures judging under load: raters who save at a steady pace against one `rankscope serve`, and what is kept of it.

    .venv/bin/python benchmarks/judging.py                     20 raters, 5 judgments a second each, 10,000 in all
    .venv/bin/python benchmarks/judging.py --judgments 500     a quick look
    .venv/bin/python benchmarks/judging.py --postgres          in a PostgreSQL server of its own
    .venv/bin/python benchmarks/judging.py --kill              the server is killed in the middle, and started again
    .venv/bin/python benchmarks/judging.py --statements        counts the statements and transactions of the server, too

The raters are tasks of this process, on the same machine. Each saves a grade for one doc after the other, a fifth of
a second apart, all at the same moment, so that the last of them waits for all others. After each save a rater asks how
far the answer is from settled, which the page does only when its rater pauses. A save that fails is sent again with the
same uuid until it is acknowledged, as a browser does. In the end the store is read: every judgment that was
acknowledged is there once, and no other one. The time of a save is what its rater waits; with --kill those that waited
for the server to come back are counted apart. Processor times are those of the server with the processes that it has
started, and do not depend on what else the machine does; the times that raters wait do.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import urllib3

import rankscope as rs
from rankscope.data.tasks import TaskPlan
from rankscope.judging.session import open_session
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
        tokens = [store.raters.invite(task, name=f"rater {i}")[1] for i in range(n_raters)]
        queues = [open_session(store, token).state().items for token in tokens]
    return (
        task.number,
        tokens,
        [
            [(item.query, item.doc) for item in queue[: len(range(i, n_docs, n_raters))]]
            for i, queue in enumerate(queues)
        ],
    )


COUNTED = """
import itertools, mmap, sys
import sqlalchemy as sa
from rankscope.cli.main import main

with open(sys.argv.pop(1), "r+b") as file:
    counts = mmap.mmap(file.fileno(), 16)

def note(place):
    numbers = itertools.count(1)
    def noted(*_):
        counts[place : place + 8] = next(numbers).to_bytes(8, "little")
    return noted

sa.event.listen(sa.Engine, "before_cursor_execute", note(0))
sa.event.listen(sa.Engine, "begin", note(8))
sys.exit(main())
"""
"""Starts `rankscope` with two counters in a file: statements, and transactions."""


class ServedStore:
    """`rankscope serve` in a process of its own, which can be killed and started again on the same port."""

    def __init__(self, where: str, counts: Path | None) -> None:
        self.where, self.counts = where, counts
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.start()

    def start(self) -> None:
        program = ["-m", "rankscope"] if self.counts is None else ["-c", COUNTED, str(self.counts)]
        command = [sys.executable, *program, "serve", "--store", self.where, "--port", str(self.port)]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(START_S * 20):
            try:
                urllib3.request("GET", f"{self.url}/judge/start", retries=False, timeout=5)
            except urllib3.exceptions.HTTPError:
                time.sleep(0.05)
            else:
                return
        raise SystemExit("the server did not start")

    def counted(self) -> tuple[int, int]:
        """Return how many statements and transactions there were."""
        if self.counts is None:
            return 0, 0
        data = self.counts.read_bytes()
        return int.from_bytes(data[:8], "little"), int.from_bytes(data[8:], "little")

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(30)


def cpu_s(pid: int) -> tuple[float, float]:
    """Return the processor time of a process, and of all that it has started, as the kernel counts it."""
    parents, used, ended = {}, {}, {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended meanwhile
            continue
        parents[int(path.parent.name)] = int(fields[1])
        used[int(path.parent.name)] = sum(map(int, fields[11:13]))
        ended[int(path.parent.name)] = sum(map(int, fields[13:15]))  # of children that are no more
    ours = {pid}
    while more := {each for each, parent in parents.items() if parent in ours} - ours:
        ours |= more
    others = sum(used.get(each, 0) for each in ours - {pid}) + sum(ended.get(each, 0) for each in ours)
    return used[pid] / os.sysconf("SC_CLK_TCK"), others / os.sysconf("SC_CLK_TCK")


def times_used(server: int | None, database: int | None) -> dict[str, float]:
    """Return the processor time so far of all that takes part, in seconds."""
    used = {"client": time.process_time()}
    if server is not None:
        used["server"], used["beside the server"] = cpu_s(server)
    if database is not None:
        used["PostgreSQL"] = sum(cpu_s(database))
    return used


class BenchRater:
    """Saves grades at a steady pace; what was acknowledged, and how long that took, is kept."""

    def __init__(self, port: int, token: str, pairs: list[tuple[str, str]]) -> None:
        self.port, self.pairs = port, pairs
        self.head = f"Host: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n"
        self.streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self.acknowledged: list[str] = []
        self.waited_ms: list[float] = []
        self.retried: set[int] = set()
        self.refused: list[str] = []

    async def run(self, begin: float) -> None:
        for place, (query, doc) in enumerate(self.pairs):
            await asyncio.sleep(max(0.0, begin + place * PACE_S - time.monotonic()))
            name = str(uuid.uuid4())
            body = json.dumps({"uuid": name, "query": query, "doc": doc, "grade": place % 4, "seconds": 1.0})
            began = time.monotonic()
            if await self.save(body, place):
                self.acknowledged.append(name)
            self.waited_ms.append(1000 * (time.monotonic() - began))
            await self.look()
        if self.streams is not None:
            self.streams[1].close()

    async def save(self, body: str, place: int) -> bool:
        while True:
            status, said = await self.ask("POST", "/judge/save.json", body)
            if status == 429 or status >= 500:
                self.retried.add(place)
                await asyncio.sleep(0.05)
                continue
            answer = json.loads(said).get("status") if status == 200 else f"{status} {said[:200]!r}"
            if answer != "ok":
                self.refused.append(str(answer))
            return bool(answer == "ok")

    async def look(self) -> None:
        await self.ask("GET", "/judge/settling.json")

    async def ask(self, method: str, path: str, body: str = "") -> tuple[int, bytes]:
        """Return the status and content of an answer; 503 where there is none. The connection is kept."""
        try:
            async with asyncio.timeout(30):
                if self.streams is None:
                    self.streams = await asyncio.open_connection("127.0.0.1", self.port)
                reader, writer = self.streams
                writer.write(
                    f"{method} {path} HTTP/1.1\r\n{self.head}Content-Length: {len(body)}\r\n\r\n{body}".encode()
                )
                answer = (await reader.readuntil(b"\r\n\r\n")).lower()
                length = int(answer.partition(b"content-length:")[2].partition(b"\r\n")[0])
                return int(answer.split(b" ", 2)[1]), await reader.readexactly(length)
        except (OSError, asyncio.IncompleteReadError, TimeoutError):
            if self.streams is not None:
                self.streams[1].close()
                self.streams = None
            return 503, b""


async def judge(raters: list[BenchRater], server: ServedStore, *, kill: bool) -> float:
    """Let all raters judge, and return how long it took."""
    await asyncio.gather(*(rater.ask("GET", "/judge/state.json") for rater in raters))  # as each page does at first
    begin = time.monotonic() + 1
    work = [asyncio.create_task(rater.run(begin)) for rater in raters]
    if kill:
        await asyncio.sleep(1 + PACE_S * len(raters[0].pairs) / 2)
        await asyncio.to_thread(server.kill)
        await asyncio.to_thread(server.start)
    await asyncio.gather(*work)
    return time.monotonic() - begin


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
def postgres_store() -> Iterator[tuple[str, int | None]]:
    """Give the address of a store, and the number of the process of its server where that is on this machine."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
    from postgres import running_server

    with running_server(fsync=True) as server:
        noted = Path(server.ask("SHOW data_directory")[0][0], "postmaster.pid")
        yield server.new_store(), int(noted.read_text().split()[0]) if noted.exists() else None


@contextmanager
def sqlite_store() -> Iterator[tuple[str, int | None]]:
    with tempfile.TemporaryDirectory() as folder:
        yield str(Path(folder) / "store.db"), None


def measure(where: str, database: int | None, args: argparse.Namespace) -> None:
    number, tokens, pairs = fill(where, args.judgments, args.raters)
    with tempfile.NamedTemporaryFile() as counts:
        counts.write(bytes(16))
        counts.flush()
        server = ServedStore(where, Path(counts.name) if args.statements else None)
        raters = [BenchRater(server.port, token, own) for token, own in zip(tokens, pairs, strict=True)]
        processes = None if args.kill else server.process.pid, database
        before, n_before = times_used(*processes), server.counted()
        took = asyncio.run(judge(raters, server, kill=args.kill))
        after = times_used(*processes)
        n_after = server.counted()
        server.stop()
    report(raters, took, args)
    n = sum(len(rater.waited_ms) for rater in raters)
    print(
        "processor time a save:",
        ", ".join(f"{name} {1000 * (after[name] - before[name]) / n:.1f} ms" for name in after),
    )
    if args.statements and not args.kill:
        statements, transactions = (now - then for now, then in zip(n_after, n_before, strict=True))
        print(f"of all that is asked: {statements / n:.2f} statements and {transactions / n:.2f} transactions a save")
    check(where, number, raters)


def report(raters: list[BenchRater], took: float, args: argparse.Namespace) -> None:
    waited = [ms for rater in raters for place, ms in enumerate(rater.waited_ms) if place not in rater.retried]
    again = sum(len(rater.retried) for rater in raters)
    p50, p95, p99 = np.percentile(waited, [50, 95, 99])
    print(f"{len(waited) + again:,} saves of {args.raters} raters in {took:.0f} s, {again} of them sent again")
    print(f"a save takes p50 {p50:.1f} ms, p95 {p95:.1f} ms, p99 {p99:.1f} ms, at most {max(waited):.0f} ms")
    print(f"target: p95 under {TARGET_MS} ms: {'holds' if p95 < TARGET_MS else 'does not hold'}")


def load() -> str:
    return f"load {os.getloadavg()[0]:.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--judgments", type=int, default=10_000)
    parser.add_argument("--raters", type=int, default=N_RATERS)
    parser.add_argument("--postgres", action="store_true", help="in a PostgreSQL server that is started for it")
    parser.add_argument("--kill", action="store_true", help="kill the server in the middle, and start it again")
    parser.add_argument("--statements", action="store_true", help="count the statements that the server sends")
    args = parser.parse_args()
    with postgres_store() if args.postgres else sqlite_store() as (where, database):
        print("PostgreSQL" if args.postgres else "SQLite", f"{os.cpu_count()} cores, {load()} before")
        measure(where, database, args)
        print(f"{load()} after")


if __name__ == "__main__":
    main()
