"""From the runs of several systems to scores and a comparison."""

from __future__ import annotations

import math
import warnings
from collections.abc import Collection as Container
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from rankscope.align.matching import compare_docs, raise_or_warn
from rankscope.comparison import compare
from rankscope.comparison.records import Comparison
from rankscope.errors import RankscopeWarning
from rankscope.evaluation import evaluate
from rankscope.experiment.collection import Collection, counted
from rankscope.experiment.doc_data import SideData
from rankscope.experiment.project import Project
from rankscope.experiment.results import Choice, Sides, SystemResult
from rankscope.measures.parse import parse_measure
from rankscope.measures.scores import Scores

_A_PAIR = 2


def measured(
    project: Project,
    collection: Collection,
    sides: Sides,
    runs: Mapping[str, str],
    *,
    side: SideData,
    docs: Container[str],
    baseline: str | None,
    anyway: bool,
    problems: Mapping[str, str],
) -> tuple[Scores | None, Comparison | None]:
    """Return the scores of runs, and their comparison where there are two or more.

    `docs` are those that any of them has retrieved. Where not one is judged, the judgments are those of another
    collection, which is an error unless they are to be measured `anyway`. A single run may miss all, as its ids are
    known to be right. `problems` says of systems why they cannot be compared.
    """
    if not runs:
        return None, None
    qrels = collection.qrels.select(sides.measured)
    found = compare_docs(collection.name, collection.qrels, docs)
    if found is not None and found.level == "error":
        raise_or_warn(found, anyway=anyway)
    given = side.of(project.measures, docs)
    weights = collection.spec.weights
    if len(runs) < _A_PAIR:
        table = None if weights is None else collection.queries
        scores = evaluate(
            qrels, dict(runs), project.measures, missing="zero", anyway=True, queries=table, weights=weights, **given
        )
        return with_digests(scores), None
    options: dict[str, Any] = {
        "problems": problems,
        "baseline": baseline if baseline in runs else None, "primary": project.primary, "queries": collection.queries,
        "by": known_strata(project, collection), "cluster": collection.spec.group,
        "weights": weights,
        **({} if project.margin is None else {"margin": project.margin}),
        **given,
    }  # fmt: skip
    comparison = compare(qrels, dict(runs), project.measures, seed=project.seeds[0], **options)
    others = [compare(qrels, dict(runs), project.measures, seed=seed, **options) for seed in project.seeds[1:]]
    if others:
        side.notes.append(stability(project.seeds, [comparison, *others]))
    with_digests(comparison.scores)
    return comparison.scores, comparison


def known_strata(project: Project, collection: Collection) -> list[str]:
    """Return the attributes asked for that the queries have."""
    return [name for name in project.strata if name in collection.queries.attributes]


def with_digests(scores: Scores) -> Scores:
    """Compute the digests of files now, while their paths lead to them."""
    for origin in (scores.qrels.origin, *(run.origin for run in scores.values())):
        if origin is not None:
            _ = origin.sha256
    return scores


def stability(seeds: Sequence[int], comparisons: Sequence[Comparison]) -> str:
    """Say whether verdicts depend on the seed."""
    verdicts = [tuple(pair.final_verdict.code for pair in comparison) for comparison in comparisons]
    listed = ", ".join(map(str, seeds))
    if len(set(verdicts)) == 1:
        return f"The verdicts are the same with each of the seeds {listed}."
    differing = sum(len(set(codes)) > 1 for codes in zip(*verdicts, strict=True))
    return f"{counted(differing, 'verdict')} of {len(verdicts[0])} depend on the seed (of {listed}): too close to call."


def answered_only(systems: Sequence[SystemResult], scores: Scores | None, primary: str) -> dict[str, float]:
    """Return the mean of the primary measure over the answered queries, for systems of which queries failed."""
    found = {}
    for system in systems:
        if system.failures and scores is not None and system.name in scores:
            failed = {answer.query_id for answer in system.failures}
            run = scores[system.name]
            kept = np.array([query not in failed for query in run.query_ids])
            values = run.column(primary)[kept]
            values = values[~np.isnan(values)]
            found[system.name] = float(values.mean()) if len(values) else math.nan
    return found


def notes_on(
    project: Project,
    collection: Collection,
    sides: Sides,
    choices: Sequence[Choice],
    systems: Sequence[SystemResult],
    *,
    depth: int,
) -> Iterator[str]:
    """Yield what has to be known to read the results."""
    yield from notes_on_queries(collection, sides, choices)
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


def notes_on_queries(collection: Collection, sides: Sides, choices: Sequence[Choice]) -> Iterator[str]:
    """Yield which queries the results are about, and which are left out."""
    if sides.words:
        yield sides.words
    if choices and sides.how == "train":
        names = ", ".join(choice.system for choice in choices)
        yield f"{names}: chosen on the very queries that are reported, so these results look better than they are."
    judged = set(collection.qrels.query_ids)
    n_unjudged = sum(query not in judged for query in collection.queries.ids)
    if n_unjudged:
        yield f"{counted(n_unjudged, 'query')} without judgments were not asked."
    n_unknown = len(judged - set(collection.queries.ids))
    if n_unknown:
        yield f"{counted(n_unknown, 'judged query')} that the collection does not have are left out."


@contextmanager
def noted(notes: list[str]) -> Iterator[None]:
    """Collect warnings of Rankscope as notes; others are given once this is over."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", RankscopeWarning)
        yield
    ours = [entry for entry in caught if issubclass(entry.category, RankscopeWarning)]
    notes += dict.fromkeys(str(entry.message) for entry in ours)
    for entry in caught:
        if entry not in ours:
            warnings.warn_explicit(entry.message, entry.category, entry.filename, entry.lineno)
