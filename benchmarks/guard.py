"""Checks that ours and pytrec_eval's means agree: a benchmark of wrong numbers is worth nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping

from measure import BenchmarkError, Job, run_job
from paths import JOBS, OUR_BIN, PEERS_BIN
from workloads import Files

TOLERANCE = 1e-6


def reference_means(files: Files) -> dict[str, float]:
    """Return pytrec_eval's means of a workload; they are computed once and kept beside it."""
    if not files.reference.exists():
        job = Job((str(PEERS_BIN / "python"), str(JOBS / "pytrec_file.py"), files.qrels, files.run), files.name)
        files.reference.write_text(json.dumps(dict(run_job(job).means)))
    return json.loads(files.reference.read_text())


def our_means(files: Files, run: str) -> Mapping[str, float]:
    """Return our means, by the conventions of pytrec_eval."""
    job = Job((str(OUR_BIN / "python"), str(JOBS / "ours_means.py"), files.qrels, run), files.name)
    return run_job(job).means


def check_workload(files: Files, *, gzipped: bool) -> dict[str, float]:
    """Compare our means with pytrec_eval's on one workload, and return the latter."""
    expected = reference_means(files)
    for run in [files.run, files.run_gz] if gzipped else [files.run]:
        found = our_means(files, run)
        if set(found) != set(expected):
            raise BenchmarkError(f"{files.name}: ours has {sorted(found)}, pytrec_eval {sorted(expected)}")
        check_means(found, expected, who=f"rankscope on {run}")
    return expected


def check_means(found: Mapping[str, float], expected: Mapping[str, float], *, who: str) -> None:
    """Compare the measures that both have."""
    for measure in found.keys() & expected.keys():
        if not abs(found[measure] - expected[measure]) <= TOLERANCE:
            raise BenchmarkError(
                f"{who}: mean {measure} is {found[measure]!r}, but pytrec_eval has {expected[measure]!r}; "
                "times mean nothing until they agree"
            )
