"""Peak memory and time of bm25, dense and their fusion over made-up docs.

    python benchmarks/retrieval_memory.py                  # 100,000 docs of 200 words, 1,000 queries, 1,000 docs each
    python benchmarks/retrieval_memory.py --docs 10000
    python benchmarks/retrieval_memory.py --docs 5000000 --words 12 --queries 200 --k 100 --only bm25

Words are drawn by Zipf's law from 200,000; vectors have 384 dimensions and are random, since it is not the model
that is measured. The target is 8 GB.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankscope.systems.base import Doc, Query
from rankscope.systems.bm25 import BM25
from rankscope.systems.dense import Dense
from rankscope.systems.hybrid import Hybrid

N_WORDS = 200_000
N_DIMS = 384
TARGET_GB = 8


@dataclass(frozen=True)
class MadeUpDocs:
    """Docs that are drawn anew, and alike, whenever they are gone through."""

    n: int
    n_words: int = 200

    def __len__(self) -> int:
        return self.n

    def __iter__(self) -> Iterator[Doc]:
        rng = np.random.default_rng(1)
        for number in range(self.n):
            yield Doc(str(number), made_up_text(rng, self.n_words))


def made_up_text(rng: np.random.Generator, n_words: int) -> str:
    """Draw words, a few of them often and most of them rarely."""
    return " ".join(f"w{word}" for word in np.minimum(rng.zipf(1.2, size=n_words), N_WORDS).tolist())


def encode(texts: list[str]) -> np.ndarray:
    """Draw vectors that depend on the texts."""
    seed = sum(map(len, texts))
    return np.random.default_rng(seed).standard_normal((len(texts), N_DIMS), dtype=np.float32)


def report(what: str, work: Callable[[], Any]) -> None:
    """Do some work, and print how long it took and what memory has been needed so far."""
    started = time.perf_counter()
    work()
    peak_gb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6  # Linux counts in kB
    print(
        f"{what:<14} {time.perf_counter() - started:7.1f} s   peak so far {peak_gb:.2f} GB (target: {TARGET_GB})",
        flush=True,
    )


def main() -> None:
    """Index and search, step by step."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("docs", 100_000), ("queries", 1000), ("k", 1000)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--words", type=int, default=200, help="how many words a doc has")
    parser.add_argument("--only", choices=("bm25", "dense"), help="one of the systems alone")
    args = parser.parse_args()
    rng = np.random.default_rng(2)
    docs = MadeUpDocs(args.docs, args.words)
    queries = [Query(str(number), made_up_text(rng, 12)) for number in range(args.queries)]
    bm25, dense = BM25(), Dense(model=f"{__name__}:encode", device="cpu")
    chosen: list[Any] = [system for system in (bm25, dense) if args.only in (None, system.name)]
    for system in chosen:
        report(f"{system.name}, index", lambda system=system: system.fit(docs))
    if args.only is None:
        chosen.append(Hybrid(of=[bm25, dense]))
        chosen[-1].fit(docs)
    for system in chosen:
        report(f"{system.name}, search", lambda system=system: system.search(queries, k=args.k))


if __name__ == "__main__":
    main()
