"""Many calls of many cases, in several processes; what is counted does not depend on how many."""

from __future__ import annotations

import multiprocessing
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from simulations.cases import CASES, Case
from simulations.methods import METHODS

SEED = 0
CALLS_AT_ONCE = 25
BY_KEY = {case.key: case for case in (*CASES, *METHODS)}


@dataclass(frozen=True)
class Counted:
    """How often each thing happened in all calls of a case."""

    case: Case
    n_calls: int
    counts: Counter[str]


def count_calls(part: tuple[str, int, int]) -> Counter[str]:
    """Return what happened in the calls of a case from one to another; each call has random numbers of its own."""
    key, first, last = part
    case = BY_KEY[key]
    counts: Counter[str] = Counter()
    for call in range(first, last):
        rng = np.random.default_rng(np.random.SeedSequence([SEED, case.number, call]))
        outcome = case.outcome(case, case.draw(rng, case.n, case.k), call)
        counts.update(what for what, happened in outcome.items() if happened)
    return counts


def run_cases(cases: Iterable[Case], *, n_workers: int = 1, most_calls: int | None = None) -> Iterator[Counted]:
    """Yield what was counted for each case, in order; `most_calls` limits the calls of each."""
    sizes = [(case, min(case.n_calls, most_calls or case.n_calls)) for case in cases]
    parts = [
        (case.key, first, min(first + CALLS_AT_ONCE, n_calls))
        for case, n_calls in sizes
        for first in range(0, n_calls, CALLS_AT_ONCE)
    ]
    if n_workers == 1:
        yield from gathered(sizes, map(count_calls, parts))
        return
    with multiprocessing.get_context("spawn").Pool(n_workers) as pool:  # a fork may inherit locks that threads hold
        yield from gathered(sizes, pool.imap(count_calls, parts))


def gathered(sizes: Iterable[tuple[Case, int]], counts: Iterator[Counter[str]]) -> Iterator[Counted]:
    """Yield the sums of all parts of each case."""
    for case, n_calls in sizes:
        total: Counter[str] = Counter()
        for _ in range(0, n_calls, CALLS_AT_ONCE):
            total.update(next(counts))
        yield Counted(case, n_calls, total)
