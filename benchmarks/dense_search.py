"""Exact dense search: ours against faiss-cpu's IndexFlatIP on the same vectors, in one process, taking turns.

    python benchmarks/dense_search.py                          # 100,000 docs x 384 dimensions, 1,000 queries, k = 100
    python benchmarks/dense_search.py --docs 10000 --json      # figures for a program
    python benchmarks/dense_search.py --threads 1 --cpu        # seconds of one core, for a machine with other work

Both search all queries in one call and must find the same docs, up to scores that are equal in single precision. Ours
also looks up the ids of docs, and scores what it found again in double precision. The ratio is that of the best times,
which other programs disturb least. The target is at most the time of faiss.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from rankscope.systems.base import RankedDocs
from rankscope.systems.vector_index import BLOCK_DOCS, VectorIndex

SEED = 20_240_601
TARGET = 1.0


def unit_vectors(rng: np.random.Generator, n: int, n_dims: int) -> np.ndarray:
    """Draw directions."""
    drawn = rng.standard_normal((n, n_dims), dtype=np.float32)
    return np.asarray(drawn / np.linalg.norm(drawn, axis=1, keepdims=True))


def seconds(function: Callable[[], Any], clock: Callable[[], float]) -> float:
    """Return how long a call takes."""
    started = clock()
    function()
    return clock() - started


def shared_docs(rankings: list[RankedDocs], rows: np.ndarray) -> float:
    """Return which share of the docs both found."""
    common = [
        len({doc for doc, _ in ranking} & set(map(str, row))) for ranking, row in zip(rankings, rows, strict=True)
    ]
    return float(np.mean(common) / rows.shape[1])


def figures(args: argparse.Namespace) -> dict[str, object]:
    """Take the times, in turn, on as many cores for both."""
    if args.threads:
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: args.threads])
    faiss = importlib.import_module("faiss")
    faiss.omp_set_num_threads(len(os.sched_getaffinity(0)))
    clock = time.process_time if args.cpu else time.perf_counter
    rng = np.random.default_rng(SEED)
    docs, queries = unit_vectors(rng, args.docs, args.dims), unit_vectors(rng, args.queries, args.dims)
    theirs = faiss.IndexFlatIP(args.dims)
    theirs.add(docs)
    blocks = [docs[start : start + BLOCK_DOCS] for start in range(0, len(docs), BLOCK_DOCS)]
    ours = VectorIndex(list(map(str, range(len(docs)))), blocks, device="cpu")
    shared = shared_docs(ours.search(queries, k=args.k), theirs.search(queries, args.k)[1])
    times = [
        (
            seconds(lambda: ours.search(queries, k=args.k), clock),
            seconds(lambda: theirs.search(queries, args.k), clock),
        )
        for _ in range(args.rounds)
    ]
    mine, other = (min(column) for column in zip(*times, strict=True))
    return {"seconds": mine, "faiss_seconds": other, "ratio": mine / other, "target": TARGET, "shared_docs": shared}


def main() -> None:
    """Print the times and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (
        ("docs", 100_000),
        ("queries", 1000),
        ("dims", 384),
        ("k", 100),
        ("rounds", 9),
        ("threads", 0),
    ):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--cpu", action="store_true", help="compare processor seconds, not those of the clock")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    found = figures(args)
    if args.json:
        print(json.dumps(found))
        return
    print(f"{args.docs:,} docs x {args.dims} dimensions, {args.queries:,} queries, k = {args.k}")
    print(f"rankscope {found['seconds']:.3f} s   faiss {found['faiss_seconds']:.3f} s   ", end="")
    print(f"ratio {found['ratio']:.2f} (target: at most {TARGET})   same docs {found['shared_docs']:.4%}")


if __name__ == "__main__":
    main()
