"""What a system costs: how long a query takes, how many are answered per second, and how much memory that needs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rankscope.experiment.journal import Call, Content

_STATUS = Path("/proc/self/status")
_CLEAR = Path("/proc/self/clear_refs")
_RESET_PEAK = "5"
_ENOUGH = 20
"""With fewer times than this, slow first ones are not left out."""


@dataclass(frozen=True, slots=True)
class Latency:
    """How long single queries take, in milliseconds."""

    n: int
    """How many queries were timed."""
    mean: float
    p50: float
    p95: float
    p99: float
    max: float


@dataclass(frozen=True, slots=True)
class Profile:
    """What a system costs; None where something was not or cannot be measured."""

    latency: Latency | None = None
    queries_per_second: float | None = None
    """Over the batches, where queries were asked in batches; over all calls otherwise."""
    index_s: float | None = None
    """How long indexing took, with what the system is made of."""
    index_bytes: int | None = None
    memory_bytes: int | None = None
    """How far the memory of the process rose, at most, above where it was before."""


def latency_of(seconds: Iterable[float]) -> Latency | None:
    """Return mean and percentiles (interpolated linearly) of times in seconds; None where there are none."""
    times = np.array([1000 * second for second in seconds], dtype=np.float64)
    if not len(times):
        return None
    p50, p95, p99 = np.percentile(times, [50, 95, 99]).tolist()
    return Latency(len(times), float(times.mean()), p50, p95, p99, float(times.max()))


def warm(timed: Sequence[tuple[float, bool]]) -> list[float]:
    """Return the times of calls that were not the first after a start; of all where there are few others."""
    kept = [seconds for seconds, cold in timed if not cold]
    return kept if len(kept) >= _ENOUGH else [seconds for seconds, _ in timed]


def throughput(calls: Sequence[Call]) -> float | None:
    """Return how many queries were answered per second: in batches, where there were any."""
    batches = [call for call in calls if call.n_queries > 1] or list(calls)
    seconds = sum(call.seconds for call in batches)
    return sum(call.n_queries for call in batches) / seconds if seconds > 0 else None


def profile_of(content: Content, *, queries: Iterable[str], is_timed: bool = True) -> Profile:
    """Return what a journal says of the costs.

    Only answers to the queries given are counted. `is_timed` is False for a system whose times mean nothing, such as
    an existing run.
    """
    lines = [content.lines[query] for query in queries if query in content.lines]
    timed = [(line.seconds, line.cold) for line in lines if line.seconds is not None]
    fit = content.fit
    return Profile(
        latency=latency_of(warm(timed)) if is_timed else None,
        queries_per_second=throughput(content.calls) if is_timed else None,
        index_s=None if fit is None else fit.seconds,
        index_bytes=None if fit is None else fit.index_bytes,
        memory_bytes=content.memory_bytes,
    )


class MemoryRise:
    """Measures how far the memory of this process rises, at most, above where it is now; on Linux only."""

    def __init__(self) -> None:
        try:
            _CLEAR.write_text(_RESET_PEAK)  # sets the peak to where memory is now
            self._before = kilobytes("VmRSS")
        except OSError:
            self._before = None

    def peak_bytes(self) -> int | None:
        """Return the rise so far, None where it cannot be told."""
        peak = kilobytes("VmHWM") if self._before is not None else None
        return None if peak is None or self._before is None else max(peak - self._before, 0) * 1024


def kilobytes(name: str) -> int | None:
    """Return a number that the kernel gives of this process."""
    found = re.search(rf"^{name}:\s+(\d+) kB", _STATUS.read_text(), re.MULTILINE)
    return None if found is None else int(found[1])
