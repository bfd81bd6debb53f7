"""Measures evaluation at sizes that do not fit comfortably: seconds, processor seconds and memory, each in a process.

    .venv/bin/python benchmarks/scale.py                       10^8 rows, about 8 GB of disk meanwhile
    .venv/bin/python benchmarks/scale.py --rows 1e7            a quick look
    .venv/bin/python benchmarks/scale.py --only bounded        one of them
    .venv/bin/python benchmarks/scale.py --folder /data        where there is room; all of it is removed afterwards
    .venv/bin/python benchmarks/scale.py --tables --rows 1e9   Parquet alone, 6 GB instead of 36 GB of text

The run has 1,000 docs a query, the qrels five judged docs a query of which three are retrieved. "whole" reads it at
once, "bounded" with memory="256MB", "parquet" from Parquet with the same bound, "unsorted" has its rows in random order
and 800 MB, "workers" is scored by two processes, "dask" by two of a local cluster of Dask, starting and stopping it
included, "killed" likewise, with one of them killed after a second, "processes" reads the Parquet files in two
processes, "many" are 1,000 runs of 50,000 rows, and "join" puts the hits of 100 shards of 10^6 queries together. All
but the last two must give the same bits. Memory is the largest that the process had, mapped pages of files included,
and not that of its workers.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

MEASURES = ["nDCG@10", "AP", "RR@10", "R@1000", "P@10"]
DEPTH = 1_000
LIMITS: dict[str, tuple[float, float | None]] = {
    "whole": (3.5, None),
    "bounded": (6.0, 300.0),
    "parquet": (float("inf"), 300.0),
    "unsorted": (30.0, 1000.0),
    "workers": (float("inf"), None),
    "dask": (6.0, None),
    "killed": (12.0, None),
    "processes": (float("inf"), None),
    "many": (2.5, None),
    "join": (0.5, None),
}
"""The bars at 10^8 rows on two cores: seconds, and megabytes."""


def write_data(folder: Path, n_rows: int, names: set[str]) -> None:
    """Write a run in order, as text and Parquet, with its qrels; the same rows shuffled; and many small runs."""
    import polars as pl

    n_queries = max(20, n_rows // DEPTH)
    rng = np.random.default_rng(0)
    per = max(1, min(1_000, n_queries // 20))
    (folder / "parquet").mkdir()
    with (folder / "run.trec").open("wb") as text, (folder / "qrels.txt").open("w") as qrels:
        for start in range(0, n_queries, per):
            n = min(per, n_queries - start)
            queries = np.repeat(np.arange(start, start + n), DEPTH)
            docs = (rng.integers(0, 8_000_000, n)[:, None] + np.arange(DEPTH) * 7919 % 8_841_823).ravel()
            scores = (40 - np.sort(rng.gamma(4, 2, (n, DEPTH)), axis=1)).ravel().round(4)
            frame = pl.DataFrame({"query": queries, "doc": docs, "score": scores}).select(
                query=pl.lit("q") + pl.col("query").cast(pl.String).str.zfill(7),
                doc=pl.lit("D") + pl.col("doc").cast(pl.String).str.zfill(8),
                score="score",
            )
            if names & OF_TABLES:
                frame.write_parquet(folder / "parquet" / f"part-{start:08d}.parquet", compression="zstd")
            if names <= OF_TABLES:
                write_qrels(frame, n, rng, qrels)
                continue
            ranks = pl.Series("rank", np.tile(np.arange(1, DEPTH + 1), n))
            lines = frame.select("query", pl.lit("Q0").alias("x"), "doc", ranks, "score", pl.lit("r").alias("t"))
            lines.write_csv(text, separator=" ", include_header=False)
            write_qrels(frame, n, rng, qrels)
    if "unsorted" in names:
        shuffle_lines(folder / "run.trec", folder / "unsorted.trec", folder)
    if "many" in names:
        (folder / "many").mkdir()
        size = min(50_000, n_rows) * (folder / "run.trec").stat().st_size // (n_queries * DEPTH)
        with (folder / "run.trec").open("rb") as text:
            content = text.read(size)
        content = content[: content.rfind(b"\n") + 1]
        for i in range(1_000 if n_rows >= 10**8 else 50):
            (folder / "many" / f"run{i:04d}.trec").write_bytes(content)
        queries = {line.split(None, 1)[0].decode() for line in content.splitlines()}
        judged = (folder / "qrels.txt").read_text().splitlines(keepends=True)
        (folder / "many.txt").write_text("".join(line for line in judged if line.split(None, 1)[0] in queries))


def write_qrels(frame: Any, n_queries: int, rng: np.random.Generator, qrels: Any) -> None:
    """Write five judged docs of each query, of which three are retrieved."""
    for i in range(n_queries):
        places = rng.choice(200, 3, replace=False) + i * DEPTH
        query = frame["query"][i * DEPTH]
        judged = [(frame["doc"][int(place)], 1 + j % 3) for j, place in enumerate(places)]
        for doc, grade in [*judged, (f"DX{i}", 2), (f"DY{i}", 0)]:
            qrels.write(f"{query} 0 {doc} {grade}\n")


def shuffle_lines(ordered: Path, shuffled: Path, folder: Path) -> None:
    """Write the lines of a file in random order: dealt out to 64 files, each of which is shuffled in memory."""
    rng = np.random.default_rng(1)
    names = [folder / f"deal-{i}" for i in range(64)]
    files = [name.open("wb") for name in names]
    with ordered.open("rb") as text:
        while lines := text.readlines(1 << 24):
            part = rng.integers(0, len(files), len(lines))
            for i in np.unique(part):
                files[i].write(b"".join([lines[j] for j in np.flatnonzero(part == i)]))
    for file in files:
        file.close()
    with shuffled.open("wb") as out:
        for name in names:
            lines = name.read_bytes().splitlines(keepends=True)
            out.write(b"".join([lines[j] for j in rng.permutation(len(lines))]))
            name.unlink()


def bits_of(scores: Any) -> str:
    """Return a digest of all scores of the first run."""
    return hashlib.sha256(next(iter(scores.values())).values.tobytes()).hexdigest()


def evaluated(folder: Path, run: Any, qrels: str = "qrels.txt", **options: Any) -> tuple[float, str]:
    import rankscope as rs

    started = time.perf_counter()
    scores = rs.evaluate(folder / qrels, run, MEASURES, **options)
    return time.perf_counter() - started, bits_of(scores)


def on_dask(folder: Path, *, kills: bool) -> tuple[float, str]:
    """Score on a cluster of two processes that is started for it, of which one may be killed after a second."""
    from dask.distributed import Client, LocalCluster

    started = time.perf_counter()
    options = {"threads_per_worker": 1, "host": "127.0.0.1", "dashboard_address": None, "memory_limit": "2GiB"}
    with LocalCluster(n_workers=2, **options) as cluster, Client(cluster) as client:
        if kills:
            victim = next(iter(client.run(os.getpid).values()))
            threading.Timer(1.0, os.kill, (victim, signal.SIGKILL)).start()
        _, bits = evaluated(folder, folder / "run.trec", on=client)
    return time.perf_counter() - started, bits


def joined() -> tuple[float, str]:
    """Put together 100 shards of 10^6 queries in all, each query with four hits."""
    from rankscope.align.shard_hits import JoinedShards, ShardHits

    rng = np.random.default_rng(0)
    n, n_shards = 1_000_000, 100
    order = rng.permutation(n)
    ids = tuple(f"q{i:07d}" for i in range(n))
    parts = []
    for i in range(n_shards):
        at = np.sort(order[i * (n // n_shards) : (i + 1) * (n // n_shards)])
        hits = np.full(len(at), 4)
        parts.append(ShardHits(at, hits * 250, hits, np.tile(np.arange(1, 5), len(at)), np.ones(4 * len(at)), len(at)))
    started = time.perf_counter()
    together = JoinedShards(n, ids)
    for i, part in enumerate(parts):
        together.add(i, i, part)
    hits = together.as_shard()
    return time.perf_counter() - started, hashlib.sha256(hits.ranks.tobytes()).hexdigest()


WAYS: dict[str, Callable[[Path], tuple[float, str]]] = {
    "whole": lambda folder: evaluated(folder, folder / "run.trec"),
    "bounded": lambda folder: evaluated(folder, folder / "run.trec", memory="256MB"),
    "parquet": lambda folder: evaluated(folder, folder / "parquet", memory="256MB"),
    "unsorted": lambda folder: evaluated(folder, folder / "unsorted.trec", memory="800MB"),
    "workers": lambda folder: evaluated(folder, folder / "run.trec", workers=2),
    "dask": lambda folder: on_dask(folder, kills=False),
    "killed": lambda folder: on_dask(folder, kills=True),
    "processes": lambda folder: evaluated(folder, folder / "parquet", workers=2),
    "many": lambda folder: evaluated(folder, sorted((folder / "many").iterdir()), "many.txt"),
    "join": lambda _folder: joined(),
}
OF_TABLES = {"parquet", "processes"}
"""The ways that need no text."""
OTHER_DATA = {"many", "join"}


def measure(way: str, folder: Path) -> None:
    """Do one of them in this process, and print what it took."""
    import warnings

    warnings.simplefilter("ignore")
    seconds, bits = WAYS[way](folder)
    own, children = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    spent = own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime
    # what getrusage calls the largest memory is at least that of the process that started this one
    largest = int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) / 1024
    print(json.dumps({"seconds": seconds, "cpu": spent, "mb": largest, "bits": bits}))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=float, default=1e8)
    parser.add_argument("--only", action="append", choices=sorted(WAYS), default=None)
    parser.add_argument("--tables", action="store_true", help="Parquet alone, read in one process and in two")
    parser.add_argument("--folder", help="where the data is written (default: the folder for temporary files)")
    parser.add_argument("--way", choices=sorted(WAYS), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.way:
        measure(args.way, Path(args.folder))
        return 0
    names = OF_TABLES if args.tables else set(args.only or WAYS)
    if not args.tables and names - OTHER_DATA:
        names.add("whole")
    bits = ""
    failed = False
    with tempfile.TemporaryDirectory(prefix="scale-bench-", dir=args.folder) as where:
        folder = Path(where)
        if names != {"join"}:
            write_data(folder, int(args.rows), names)
        print(f"{int(args.rows):,} rows, {os.cpu_count()} cores")
        for way in (name for name in WAYS if name in names):
            command = [sys.executable, __file__, "--way", way, "--folder", where]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                print(f"{way:10} failed: {done.stderr.strip().splitlines()[-1:]}")
                failed = True
                continue
            found = json.loads(done.stdout)
            is_first = not bits or way in OTHER_DATA
            bits = bits or ("" if way in OTHER_DATA else found["bits"])
            same = "" if is_first else " same bits" if found["bits"] == bits else " OTHER BITS"
            failed |= same == " OTHER BITS"
            most_s, most_mb = LIMITS[way]
            over = args.rows >= 1e8 and (found["seconds"] > most_s or (most_mb is not None and found["mb"] > most_mb))
            bar = f"{most_s:g} s" + ("" if most_mb is None else f", {most_mb:g} MB")
            words = f"{found['seconds']:7.2f} s {found['cpu']:7.2f} s of processors {found['mb']:7.0f} MB"
            print(f"{way:10} {words}  (bar: {bar}){same}{'  OVER' if over else ''}", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
