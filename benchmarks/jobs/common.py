"""What the jobs share: their arguments, the reading of dicts, and the line in which they report."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from time import perf_counter
from typing import Any

PYTREC_MEASURES = {"ndcg_cut_10": "nDCG@10", "recip_rank": "RR", "map": "AP", "recall_100": "R@100", "P_10": "P@10"}
"""The counterparts of our default measures: RR is uncut as in pytrec_eval, and Judged@10 has none."""


def paths() -> tuple[str, str]:
    """Return the qrels and the run given on the command line."""
    return sys.argv[1], sys.argv[2]


def report(means: Mapping[str, float], seconds: float | None = None) -> None:
    """Print what was found and, where only a part of the process counts, how long that part took."""
    print(json.dumps({"means": {name: float(value) for name, value in means.items()}, "seconds": seconds}))


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """Return the result of a piece of work, and the seconds it took."""
    start = perf_counter()
    result = work()
    return result, perf_counter() - start


def read_qrels_dict(path: str) -> dict[str, dict[str, int]]:
    """Return {query: {doc: grade}}."""
    qrels: dict[str, dict[str, int]] = {}
    with Path(path).open() as lines:
        for line in lines:
            query, _, doc, grade = line.split()
            qrels.setdefault(query, {})[doc] = int(grade)
    return qrels


def read_run_dict(path: str) -> dict[str, dict[str, float]]:
    """Return {query: {doc: score}}."""
    run: dict[str, dict[str, float]] = {}
    with Path(path).open() as lines:
        for line in lines:
            query, _, doc, _, score, _ = line.split()
            run.setdefault(query, {})[doc] = float(score)
    return run


def pytrec_means(scores: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """Return the mean of every measure over pytrec_eval's queries, under our names."""
    measured = next(iter(scores.values()))
    return {
        name: sum(query[theirs] for query in scores.values()) / len(scores)
        for theirs, name in PYTREC_MEASURES.items()
        if theirs in measured
    }


def our_means(scores: Any) -> dict[str, float]:
    """Return the mean of every measure of the only run."""
    (means,) = scores.mean().values()
    return {name: aggregate.value for name, aggregate in means.items()}
