"""Runs programs as whole processes and notes their time and peak memory.

This process stays small on purpose: Linux counts the memory of the process that starts a program towards the program's
own peak, so NumPy loaded here would be seen in every figure.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from time import perf_counter

from paths import PYCACHE


class BenchmarkError(Exception):
    """A program failed, or its numbers are wrong."""


@dataclass(frozen=True, slots=True)
class Job:
    """One program on one workload."""

    command: tuple[str, ...]
    workload: str
    """The workload whose means the program should find, where it reports any."""


@dataclass(frozen=True, slots=True)
class Sample:
    """What one run of a job took."""

    seconds: float
    cpu_seconds: float
    """Of the whole process, all threads together: less disturbed by other programs than the wall clock is."""
    peak_mb: float
    means: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Figures:
    """The medians over all rounds."""

    seconds: float
    peak_mb: float


def run_job(job: Job) -> Sample:
    """Run a program to its end; where it says how long the part that counts took, that is the time."""
    with tempfile.TemporaryFile() as errors:
        start = perf_counter()
        process = subprocess.Popen(job.command, stdout=subprocess.PIPE, stderr=errors, env=environment())
        output = process.stdout.read().decode() if process.stdout else ""
        _, status, usage = os.wait4(process.pid, 0)
        wall = perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            errors.seek(0)
            raise BenchmarkError(f"{' '.join(job.command)} failed:\n{errors.read().decode()[-2000:]}")
    said = reported(output)
    cpu = usage.ru_utime + usage.ru_stime
    return Sample(said.get("seconds") or wall, cpu, usage.ru_maxrss / 1024, said.get("means") or {})


def environment() -> dict[str, str]:
    """Return this process's environment, with compiled Python files kept in a place of the benchmark's own."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTHONPYCACHEPREFIX": str(PYCACHE)}


def reported(output: str) -> dict:
    """Return what a job says of itself in the last line, if it does."""
    lines = output.splitlines()
    return json.loads(lines[-1]) if lines and lines[-1].startswith('{"means"') else {}


def medians(samples: list[Sample]) -> Figures:
    """Return the median time and the median peak."""
    return Figures(
        statistics.median(sample.seconds for sample in samples),
        statistics.median(sample.peak_mb for sample in samples),
    )
