"""Measures a store: its size, how long the overview, the history and a difference of two runs take, and judgments.

    .venv/bin/python benchmarks/store.py                    1,000 runs of 1,000 queries, 100 docs each
    .venv/bin/python benchmarks/store.py --runs 50          a quick look
    .venv/bin/python benchmarks/store.py --where postgresql://…
    .venv/bin/python benchmarks/store.py --postgres         judgments in a PostgreSQL server of its own as well

Runs of one system differ as two weeks of a search do: most docs stay, some change places. The times are the best of
three, with the store opened anew for each, as a command does. Judgments are added one by one, by 20 clients that do
nothing else: threads of one process, as in a server, and 20 processes, which wait for the disk one after the other.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import tempfile
import time
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

import rankscope as rs
from rankscope.data.asked_queries import AskedQueries
from rankscope.data.judgments import JudgmentSource, SingleJudgment
from rankscope.data.sources import Origin
from rankscope.experiment.history import diff_runs, history_of
from rankscope.io.rows import RunRows
from rankscope.measures.parse import parse_measures
from rankscope.store import CollectionFacts, RunFacts, Store, StoredQuery, open_store
from rankscope.store.runs import StoredSource
from rankscope.store.upkeep import store_info

SYSTEMS = ("bm25", "dense", "hybrid", "rerank")
N_DOCS = 200_000
N_CLIENTS = 20


def docs_of_queries(n_queries: int, n: int) -> np.ndarray:
    """Return n different docs for each query."""
    first = np.random.default_rng(7).integers(0, N_DOCS, (n_queries, 1))
    return (first + 977 * np.arange(n)) % N_DOCS


def made_run(seed: int, n_queries: int, depth: int) -> rs.Run:
    """Return a run: for each query docs of its own, in an order that changes a little with the seed."""
    generator = np.random.default_rng(seed)
    base = docs_of_queries(n_queries, 2 * depth)
    scores = np.linspace(30, 5, 2 * depth) + generator.normal(0, 1.0, (n_queries, 2 * depth))
    order = np.argsort(-scores, axis=1)[:, :depth]
    rows = np.arange(n_queries)[:, None]
    docs = [f"doc-{number:07}" for number in base[rows, order].ravel().tolist()]
    queries = [f"q{i}" for i in range(n_queries) for _ in range(depth)]
    ranks = np.tile(np.arange(1, depth + 1), n_queries)
    columns = RunRows(queries, docs, scores[rows, order].astype(np.float32).astype(np.float64).ravel(), ranks, "run")
    asked = AskedQueries("", tuple(f"q{i}" for i in range(n_queries)))
    return rs.Run(StoredSource(columns, Origin("made", "benchmark", str), asked))


def made_qrels(n_queries: int, depth: int) -> rs.Qrels:
    base = docs_of_queries(n_queries, 2 * depth)
    generator = np.random.default_rng(8)
    return rs.Qrels(
        {
            f"q{i}": {f"doc-{number:07}": int(generator.integers(0, 3)) for number in base[i, :30]}
            for i in range(n_queries)
        }
    )


def fill(store: Store, n_runs: int, n_queries: int, depth: int) -> None:
    collection = CollectionFacts(name="bench", queries={f"q{i}": StoredQuery(f"text {i}") for i in range(n_queries)})
    qrels = store.qrels.add(made_qrels(n_queries, depth), name="bench")
    measures = parse_measures("nDCG@10")
    for number in range(n_runs):
        facts = RunFacts(
            system=SYSTEMS[number % len(SYSTEMS)],
            started=(datetime(2026, 1, 1, tzinfo=UTC) + timedelta(hours=number)).isoformat(),
            collection=collection,
        )
        kept = store.runs.add(made_run(number, n_queries, depth), facts)
        store.scores.of(kept, qrels, measures)


def best_of(where: str, work: Callable[[Store], object], times: int = 3) -> float:
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        with open_store(where, read_only=True) as store:
            work(store)
        taken.append(time.perf_counter() - start)
    return min(taken)


def judge(store: Store, n_judgments: int, client: int) -> list[float]:
    """Add judgments one by one, as one client; return how many seconds each took until it was said to be kept."""
    taken = []
    source = JudgmentSource("person", id=str(client))
    for i in range(n_judgments):
        each = SingleJudgment(query=f"q{i}", doc=f"d{i}", source=source, grade=1.0, uuid=str(uuid.uuid4()))
        start = time.perf_counter()
        store.judgments.add(each, collection="bench")
        taken.append(time.perf_counter() - start)
    return taken


def judge_in_threads(where: str, n_judgments: int) -> list[float]:
    """Let clients judge at once as the threads of a server do, with one store."""
    with open_store(where, create=True) as store, ThreadPoolExecutor(N_CLIENTS) as pool:
        parts = pool.map(lambda client: judge(store, n_judgments // N_CLIENTS, client), range(N_CLIENTS))
        return [each for part in parts for each in part]


def judge_in_processes(where: str, n_judgments: int) -> list[float]:
    """Let clients judge at once, each in a process of its own."""
    open_store(where, create=True).close()
    context = multiprocessing.get_context("forkserver")  # which loads Rankscope once, for all of them
    context.set_forkserver_preload(["rankscope.store", __name__])
    barrier, answers = context.Barrier(N_CLIENTS), context.SimpleQueue()
    clients = [
        context.Process(target=judge_together, args=(where, n_judgments // N_CLIENTS, number, barrier, answers))
        for number in range(N_CLIENTS)
    ]
    for client in clients:
        client.start()
    taken = [each for _ in clients for each in answers.get()]
    for client in clients:
        client.join()
    return taken


def judge_together(where: str, n_judgments: int, client: int, barrier: Any, answers: Any) -> None:
    with open_store(where) as store:
        judge(store, 1, client)  # connects
        barrier.wait()  # until all have been loaded, which takes longer than judging
        answers.put(judge(store, n_judgments, client))


def sync_ms(folder: Path) -> float:
    """Return how long this disk takes to say that a few kilobytes are safe (median): nobody can judge faster alone."""
    taken = []
    with (folder / "sync").open("wb", buffering=0) as stream:
        for _ in range(100):
            stream.write(b"x" * 8192)
            start = time.perf_counter()
            os.fsync(stream.fileno())
            taken.append(time.perf_counter() - start)
    return float(np.median(taken)) * 1000


def print_judging(where: str, engine: str, n_judgments: int) -> None:
    for name, judging in (("threads", judge_in_threads), ("processes", judge_in_processes)):
        taken = judging(where, n_judgments)
        p50, p95, worst = (np.percentile(taken, q) * 1000 for q in (50, 95, 100))
        print(f"{n_judgments:,} judgments, {N_CLIENTS} {name}, {engine}".ljust(50), end=" ")
        print(f"p50 {p50:6.1f} ms   p95 {p95:6.1f} ms   max {worst:6.0f} ms", flush=True)


def print_runs(where: str, n_runs: int, n_queries: int, depth: int) -> None:
    start = time.perf_counter()
    with open_store(where, create=True) as store:
        fill(store, n_runs, n_queries, depth)
    filled = time.perf_counter() - start
    with open_store(where) as store:
        size, rows = store_info(store).bytes, n_runs * n_queries * depth
    print(f"{n_runs:,} runs x {n_queries:,} queries x {depth} docs: {size / 1e6:.0f} MB,", end=" ")
    print(f"{size / rows:.2f} bytes a row; storing and scoring {filled / n_runs * 1000:.0f} ms a run")
    looks: dict[str, Callable[[Store], object]] = {
        "overview (store info)": store_info,
        "list of all runs": lambda store: store.runs.list(),
        "history of all systems": history_of,
        "diff of two runs": lambda store: diff_runs(store, store.runs.find("bm25~1"), store.runs.find("bm25")),
    }
    for name, work in looks.items():
        print(f"{name:<50} {best_of(where, work) * 1000:8.0f} ms", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--depth", type=int, default=100)
    parser.add_argument("--judgments", type=int, default=10_000)
    parser.add_argument("--where", help="the store, which should be new (default: a file that is removed afterwards)")
    parser.add_argument("--postgres", action="store_true", help="start a PostgreSQL server for judgments")
    args = parser.parse_args()
    print("The store")
    with tempfile.TemporaryDirectory() as folder:
        where = args.where or str(Path(folder) / "store.db")
        print_runs(where, args.runs, args.queries, args.depth)
        print(f"{'the disk says that a write is safe':<50} p50 {sync_ms(Path(folder)):6.1f} ms")
        print_judging(where, "PostgreSQL" if "://" in where else "SQLite", args.judgments)
    if args.postgres:
        sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
        from postgres import NoPostgresError, running_server

        try:
            with running_server(fsync=True) as server:
                print_judging(server.new_database(), "PostgreSQL", args.judgments)
        except NoPostgresError as error:
            print(f"PostgreSQL was not measured: {error}")


if __name__ == "__main__":
    main()
