"""What a system costs: how long a query takes, how many are answered per second, and how much memory that needs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from rankscope.experiment.answer_store import AnswerInfo, AnswerSummary
from rankscope.experiment.results import AnswerTimes, Costs, Latency


def latencies_ms(answers: Mapping[str, AnswerInfo]) -> dict[str, float]:
    """Return how long the answers to single queries took, by query.

    Those of the first calls after a start count only where there are fewer than 20 others.
    """
    timed = {query: answer for query, answer in answers.items() if answer.seconds is not None}
    warm = {query: answer for query, answer in timed.items() if not answer.cold}
    return {query: 1000 * (answer.seconds or 0) for query, answer in (warm if len(warm) >= 20 else timed).items()}


def latency_of(answers: Iterable[AnswerInfo]) -> Latency | None:
    """Return mean and percentiles (interpolated linearly) of the times of answers; None where none was timed."""
    times = np.array(list(latencies_ms({str(i): answer for i, answer in enumerate(answers)}).values()))
    if not len(times):
        return None
    p50, p95, p99 = np.percentile(times, [50, 95, 99]).tolist()
    return Latency(len(times), float(times.mean()), p50, p95, p99, float(times.max()))


def throughput(*logs: AnswerSummary) -> float | None:
    """Return how many queries were answered per second, in batches where any were; None where none was answered.

    Queries that failed are not counted, but the time that they took is.
    """
    answered = [answer for log in logs for answer in log.answered.values()]
    n_in_batches = sum(answer.seconds is None for answer in answered)  # only single ones are timed
    all_calls = [call for log in logs for call in log.calls]
    batches = [call for call in all_calls if call.n_queries > 1] if n_in_batches else []
    calls = batches or all_calls
    n_asked, seconds = sum(call.n_queries for call in calls), sum(call.seconds for call in calls)
    n_answered = min(n_in_batches if batches else len(answered), n_asked)
    return n_answered / seconds if n_answered and seconds > 0 else None


def costs_of(logs: Sequence[AnswerSummary], *, queries: Sequence[str], is_timed: bool) -> Costs:
    """Return what was measured while a system answered these queries, over all repetitions.

    `is_timed` is False for a system whose times mean nothing, such as an existing run.
    """
    answered = [log.answered[query] for log in logs for query in queries if query in log.answered]
    fit = next((log.fit for log in logs if log.fit is not None), None)
    return Costs(
        latency_ms=latency_of(answered) if is_timed else None,
        queries_per_second=throughput(*logs) if is_timed and answered else None,
        index_s=None if fit is None else fit.seconds,
        index_bytes=None if fit is None else fit.index_bytes,
        memory_bytes=max((log.memory_bytes for log in logs if log.memory_bytes is not None), default=None),
        shared_with=tuple(dict.fromkeys(name for answer in answered for name in answer.shared_with)),
        beside=max((answer.beside for answer in answered), default=0) if is_timed else 0,
    )


def answer_times(summary: AnswerSummary, *, queries: Iterable[str], is_timed: bool) -> AnswerTimes | None:
    """Return when these queries were answered; None where none was.

    What was timed while workers asked other systems is left out: gates and baselines compare times of one alone.
    """
    answered = {query: summary.answered[query] for query in queries if query in summary.answered}
    times = sorted(info.at for info in answered.values())
    if not times:
        return None
    alone = {query: info.seconds for query, info in answered.items() if not info.beside}
    latencies = {query: 1000 * seconds for query, seconds in alone.items() if seconds is not None}
    return AnswerTimes(times[0], times[-1], latencies if is_timed and latencies else None)


class MemoryRise:
    """Measures how far the memory of this process rises, at most, above where it is now; on Linux only."""

    def __init__(self) -> None:
        try:
            Path("/proc/self/clear_refs").write_text("5")  # sets the peak to where memory is now
            self._before = kilobytes("VmRSS")
        except OSError:
            self._before = None

    def peak_bytes(self) -> int | None:
        """Peak memory since the start in bytes, or None if the platform does not report it."""
        peak = kilobytes("VmHWM") if self._before is not None else None
        return None if peak is None or self._before is None else max(peak - self._before, 0) * 1024


def kilobytes(name: str) -> int | None:
    found = re.search(rf"^{name}:\s+(\d+) kB", Path("/proc/self/status").read_text(), re.MULTILINE)
    return None if found is None else int(found[1])
