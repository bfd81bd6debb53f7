"""What is said of scores: ids of two kinds, queries that a run does not answer, measures undefined for some."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from rankscope.align.policies import Policies
from rankscope.measures.scores import RunScores
from rankscope.measures.spec import Measure


def id_notes(name: str, in_qrels: frozenset[str], in_run: frozenset[str]) -> Iterator[str]:
    """Say so where ids, of queries or docs, are whole numbers on one side and text on the other."""
    for kind in sorted(in_qrels ^ in_run):
        side, other = ("qrels", "run") if kind in in_qrels else ("run", "qrels")
        yield (
            f"{name}: {kind} ids are whole numbers in the {side} and text in the {other}; "
            "they are matched as text, so 7 is '7'"
        )


def missing_notes(
    name: str, n_missing: int, n_queries: int, policies: Policies, undefined: Sequence[str] = ()
) -> Iterator[str]:
    """Say how many queries the run does not answer, and what that does to the mean.

    `undefined` are measures that are undefined for these queries.
    """
    if n_missing:
        effect = "they score 0 and count" if policies.missing == "zero" else "they are left out of the mean"
        if undefined:
            effect += f", but {', '.join(undefined)} {'is' if len(undefined) == 1 else 'are'} undefined for them"
        yield f"{name} does not answer {n_missing} of {n_queries} queries: {effect}"


def undefined_if_missing(scores: RunScores) -> tuple[str, ...]:
    """Return the measures that leave out every query that the run does not answer."""
    if scores.answered.all():
        return ()
    lacking = np.isnan(scores.values[~scores.answered])
    return tuple(measure for i, measure in enumerate(scores.measures) if lacking[:, i].all())


def undefined_notes(scores: RunScores, measures: Sequence[Measure]) -> Iterator[str]:
    """Say for which measures how many queries are left out of the mean, and why; those that agree in that together."""
    alike: dict[tuple[int, str], list[str]] = {}
    said, n_missing = undefined_if_missing(scores), int((~scores.answered).sum())
    for measure, n_left_out in zip(measures, scores.left_out, strict=True):
        if n_left_out and not (measure.name in said and n_left_out == n_missing):
            alike.setdefault((n_left_out, measure.spec.undefined), []).append(measure.name)
    for (n_left_out, why), names in alike.items():
        yield (
            f"{scores.name}: {', '.join(names)} {'is' if len(names) == 1 else 'are'} undefined for {n_left_out} of "
            f"{scores.counts.queries} queries ({why}): left out of the mean"
        )
