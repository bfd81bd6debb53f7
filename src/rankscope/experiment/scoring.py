"""From the runs of several systems to scores and a comparison."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from rankscope.align.matching import compare_docs, notes_or_raise
from rankscope.comparison.compare import compare_runs
from rankscope.comparison.records import Comparison
from rankscope.comparison.request import CompareOptions, request_of
from rankscope.data.run import Run
from rankscope.evaluation import EvaluateRequest, evaluate_request
from rankscope.experiment.collection import Collection, counted
from rankscope.experiment.project import Project
from rankscope.experiment.results import Choice, SystemResult, TrainTestSplit
from rankscope.measures.parse import parse_measure
from rankscope.measures.scores import Scores


def score_runs(
    project: Project,
    collection: Collection,
    split: TrainTestSplit,
    runs: Mapping[str, Run],
    *,
    doc_data: Mapping[str, Any],
    baseline: str | None,
    problems: Mapping[str, str],
) -> tuple[Scores | None, list[Comparison], list[str]]:
    """Return the scores of runs, where there are two or more their comparison with each seed, and what was noted.

    `problems` says of systems why they cannot be compared.
    """
    if not runs:
        return None, [], []
    qrels = collection.qrels.select(split.measured)
    weights = collection.spec.weights
    comparisons: list[Comparison] = []
    notes: list[str] = []
    if len(runs) == 1:
        table = None if weights is None else collection.queries
        scoring = EvaluateRequest.decide(
            project.measures, missing="zero", anyway=True, queries=table, weights=weights, **doc_data
        )
        scores = evaluate_request(scoring, qrels, dict(runs))
        notes += dict.fromkeys(scores.notes)
    else:
        options: dict[str, Any] = {
            "problems": problems,
            "baseline": baseline if baseline in runs else None,
            "primary": project.primary,
            "queries": collection.queries,
            "by": [name for name in project.strata if name in collection.queries.attributes],
            "cluster": collection.spec.group,
            "weights": weights,
            **({} if project.margin is None else {"margin": project.margin}),
            **doc_data,
        }
        for seed in project.seeds:
            request = request_of(
                {**options, "seed": seed}, function="compare", known=CompareOptions, measures=project.measures
            )
            comparisons.append(compare_runs(qrels, dict(runs), request, on_note=notes.append))
        scores = comparisons[0].scores
    for origin in (scores.qrels.origin, *(run.origin for run in scores.values())):
        if origin is not None:
            _ = origin.sha256  # now, as the files may be others by the time that somebody asks
    return scores, comparisons, notes


def check_judgments(collection: Collection, docs: Mapping[str, None], *, anyway: bool) -> tuple[str, ...]:
    """Refuse judgments of another collection, or note them: not one doc that any system has retrieved is judged.

    A single run may miss all judged docs, as its ids are known to be right.
    """
    found = compare_docs(collection.name, collection.qrels, docs)
    return notes_or_raise(found, anyway=anyway) if found is not None and found.level == "error" else ()


def seed_note(seeds: Sequence[int], comparisons: Sequence[Comparison]) -> str:
    verdicts = [tuple(pair.final_verdict.code for pair in comparison) for comparison in comparisons]
    listed = ", ".join(map(str, seeds))
    if len(set(verdicts)) == 1:
        return f"The verdicts are the same with each of the seeds {listed}."
    differing = sum(len(set(codes)) > 1 for codes in zip(*verdicts, strict=True))
    return f"{counted(differing, 'verdict')} of {len(verdicts[0])} depend on the seed (of {listed}): too close to call."


def mean_over_answered(system: SystemResult, scores: Scores | None, primary: str) -> float | None:
    """Return the mean of the primary measure over the queries that were answered; None where none failed."""
    if not system.failures or scores is None or system.name not in scores:
        return None
    failed = {failure.query for failure in system.failures}
    run = scores[system.name]
    values = run.column(primary)[np.array([query not in failed for query in run.query_ids])]
    values = values[~np.isnan(values)]
    return float(values.mean()) if len(values) else None


def notes_on(
    project: Project,
    collection: Collection,
    split: TrainTestSplit,
    choices: Sequence[Choice],
    systems: Sequence[SystemResult],
    *,
    depth: int,
) -> Iterator[str]:
    """Yield what has to be known to read the results."""
    yield from notes_on_queries(collection, split, choices)
    for measure in project.measures:
        cut = parse_measure(measure).options.get("k")
        if cut is not None and cut > depth:
            yield f"{measure} looks at {cut} docs, but only {depth} were asked for."
    for name in project.strata:
        if name not in collection.queries.attributes:
            yield f"The queries have no attribute {name}, so results are not broken down by it."
    for system in systems:
        if system.run is None:
            yield f"{system.name} has retrieved nothing at all, and is left out of the comparison."
        elif system.finding is not None and not system.is_left_out:
            yield f"{system.name}: {system.finding.in_one_line}. It is compared anyway."


def notes_on_queries(collection: Collection, split: TrainTestSplit, choices: Sequence[Choice]) -> Iterator[str]:
    if split.words:
        yield split.words
    if choices and split.how == "train":
        names = ", ".join(choice.system for choice in choices)
        yield f"{names}: chosen on the very queries that are reported, so these results look better than they are."
    judged, known = set(collection.qrels.query_ids), set(collection.queries.ids)
    if n_unjudged := sum(query not in judged for query in collection.queries.ids):
        yield f"{counted(n_unjudged, 'query')} without judgments were not asked."
    if n_unknown := len(judged - known):
        yield f"{counted(n_unknown, 'judged query')} that the collection does not have are left out."
