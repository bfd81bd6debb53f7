"""Targets: what is expected of rankings, query by query, checked against runs.

`check_targets` is the one function that checks: targets, scores, judgments and runs in, a `TargetsReport` out. It reads
no file and computes no score, so that anyone who has these can call it: `rankscope.check` for files and tables, `check_project`
for a project (both in `rankscope.experiment.targets`, where most callers start), a gate, a plugin for pytest. What a
target file may say is in `rankscope.experiment.target_file`.

    scores = evaluate(qrels, runs, [*measures, *measures_of(targets, profile)], missing="zero")
    report = check_targets(targets, scores, qrels, runs, docs=docs, queries=queries)
    report.passed, report.exit_code, report.results[0].outcome, report.results[0].words
"""

from __future__ import annotations

from rankscope.analysis.targets.checking import check_targets, measures_of
from rankscope.analysis.targets.records import (
    GradedMean,
    Instead,
    Target,
    TargetCounts,
    TargetOutcome,
    TargetResult,
    TargetsReport,
    count_results,
)

__all__ = [
    "GradedMean",
    "Instead",
    "Target",
    "TargetCounts",
    "TargetOutcome",
    "TargetResult",
    "TargetsReport",
    "check_targets",
    "count_results",
    "measures_of",
]
