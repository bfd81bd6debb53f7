"""Runs the same job with the kernel and with the reference, and returns what came of each: arrays or an error."""

import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from rankscope import native
from rankscope.align.alignment import align
from rankscope.align.hits import Hits
from rankscope.align.policies import Policies
from rankscope.data.loading import ReadOptions, load_qrels, load_run

ARRAYS = ("answered", "n_retrieved", "offsets", "ranks", "grades", "ideal_offsets", "ideal_grades")
NUMBERS = ("query_ids", "max_grade", "n_missing", "n_other_queries")
KERNEL = os.environ.get("RANKSCOPE_KERNEL") or "kernel"  # a path, where another build than the installed one is tested


@lru_cache(maxsize=1)
def load_kernel() -> Any | None:
    """Return the kernel under test, also where the reference has been asked for."""
    with engine(KERNEL if KERNEL != "python" else "kernel"):
        return native.load_kernel()


@contextmanager
def engine(name: str) -> Iterator[None]:
    """Choose the implementation for a while."""
    before = os.environ.get("RANKSCOPE_KERNEL")
    os.environ["RANKSCOPE_KERNEL"] = name
    try:
        yield
    finally:
        if before is None:
            del os.environ["RANKSCOPE_KERNEL"]
        else:
            os.environ["RANKSCOPE_KERNEL"] = before


@dataclass(frozen=True)
class Outcome:
    """What came of a job: values by name, or an error's type and words; and the warnings on the way."""

    found: dict[str, Any]
    warnings: tuple[str, ...] = ()

    @property
    def is_error(self) -> bool:
        return "error" in self.found


def outcome_of(job: Callable[[], tuple[Hits, Any]], name: str) -> Outcome:
    """Do a job with one of the two implementations."""
    with engine(name), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            hits, more = job()
            values = {field: array_of(getattr(hits, field)) for field in ARRAYS}
            values |= {field: getattr(hits, field) for field in NUMBERS} | {"more": more}
        except Exception as error:  # noqa: BLE001 (whatever it is, both have to raise the same)
            values = {"error": type(error).__name__, "message": str(error)}
            values["bad_lines"] = getattr(error, "bad_lines", None)
    return Outcome(values, tuple(str(warning.message) for warning in caught))


def array_of(array: np.ndarray) -> tuple[str, list[Any]]:
    return str(array.dtype), array.tolist()


def assert_same(job: Callable[[], tuple[Hits, Any]]) -> Outcome:
    """Check that a job comes out the same both ways, and return how."""
    reference = outcome_of(job, "python")
    assert outcome_of(job, "kernel") == reference
    return reference


def align_job(
    qrels: Callable[[], Any],
    run: Callable[[], Any],
    *,
    threads: int | None = None,
    options: ReadOptions | None = None,
    **policies: Any,
) -> Callable[[], tuple[Hits, Any]]:
    """Return the job of aligning; qrels and run are made anew each time, for some can be read only once."""

    def job() -> tuple[Hits, Any]:
        decided = Policies(**policies)
        judged = load_qrels(qrels(), duplicates=decided.duplicates, threads=threads)
        loaded = load_run(run(), options=options)
        hits = align(judged, loaded, decided, threads=threads)
        return hits, (loaded.tag, loaded.integer_ids, judged.integer_ids, judged.fractional_row)

    return job


def assert_aligned_alike(qrels: Any, run: Any, **choices: Any) -> Outcome:
    """Check that aligning gives the same both ways; data is given as it is, or as a function that makes it."""
    return assert_same(align_job(maker_of(qrels), maker_of(run), **choices))


def maker_of(data: Any) -> Callable[[], Any]:
    return data if callable(data) else lambda: data


@contextmanager
def counting_kernel_answers() -> Iterator[list[bool]]:
    """Note for every alignment whether the kernel did it; without this a test may compare the reference with itself."""
    from rankscope.align import alignment as module

    original, answered = module.find_with_kernel, []

    def noting(*args: Any, **options: Any) -> Any:
        found = original(*args, **options)
        if os.environ.get("RANKSCOPE_KERNEL") != "python":
            answered.append(found is not None)
        return found

    module.find_with_kernel = noting
    try:
        yield answered
    finally:
        module.find_with_kernel = original


def policy_grid(n: int) -> list[dict[str, Any]]:
    """Return n sets of policies that between them have every choice."""
    rng = np.random.default_rng(n)
    choices = {
        "ties": ["trec", "given", "ascending"],
        "precision": ["double", "single"],
        "duplicates": ["error", "first"],
        "self_match": ["keep", "drop"],
        "depth": [None, 1, 3, 10],
        "threads": [1, 2, 3, 7],
    }
    return [
        {name: values[(i + int(rng.integers(9))) % len(values)] for name, values in choices.items()} for i in range(n)
    ]
