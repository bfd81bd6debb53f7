"""Systems that were asked several times: the mean of their scores per query, and how far their means spread.

The unit of evidence stays the query. A query's score is its mean over all repetitions, which estimates what the system
scores on it on average; how much the mean over queries changes from run to run is a number beside it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from rankscope.arrays import Floats, read_only
from rankscope.errors import InputError
from rankscope.light import replace
from rankscope.measures.scores import RunScores, Scores, summarise


def repetition_name(system: str, repetition: int) -> str:
    """Return what the run of a repetition is called in notes; the first has the name of the system."""
    return system if repetition == 1 else f"{system} (repetition {repetition})"


def with_repetitions(scores: Scores, further: Mapping[str, Sequence[RunScores]]) -> Scores:
    """Return scores in which systems that were asked again have the mean over all of their runs for each query."""
    repeated = {name: (scores[name], *runs) for name, runs in further.items() if runs}
    runs = tuple(mean_scores(repeated[name]) if name in repeated else run for name, run in scores.by_name.items())
    return replace(scores, runs=runs, repetitions=repeated)


def mean_scores(runs: Sequence[RunScores]) -> RunScores:
    """Return the mean of each score over several runs of a system.

    A score is undefined where it is in any of them, and a query counts as answered where each of them answers it. What
    is counted of docs is that of the first run.
    """
    first = runs[0]
    for run in runs[1:]:
        if (run.query_ids, run.measures) != (first.query_ids, first.measures):
            raise InputError(
                f"{run.name} is not scored on the same queries and measures as {first.name}",
                hint="runs of one system are averaged query by query, so all of them need every query",
            )
    values = mean_of([run.values for run in runs])
    answered = np.all([run.answered for run in runs], axis=0)
    more_left_out = (np.isnan(values).sum(axis=0) - np.isnan(first.values).sum(axis=0)).tolist()
    return replace(
        first,
        values=read_only(values),
        undefined=read_only(np.any([run.undefined for run in runs], axis=0)),
        answered=read_only(answered),
        counts=replace(first.counts, missing=int((~answered).sum())),
        left_out=tuple(n + more for n, more in zip(first.left_out, more_left_out, strict=bool(first.left_out))),
    )


def mean_of(repetitions: Sequence[Floats]) -> Floats:
    """Return the mean of several arrays; numbers that are all the same stay as they are, to the last bit."""
    stacked = np.array(repetitions)
    same = (stacked == stacked[0]).all(axis=0)
    return np.asarray(np.where(same, stacked[0], stacked.mean(axis=0)))


def means_by_repetition(scores: Scores, system: str, measure: str) -> tuple[float, ...]:
    """Return a measure's mean in each repetition, over the queries that have a score in all of them."""
    mean = scores[system]
    i = mean.measures.index(measure)
    known, lower = ~np.isnan(mean.values[:, i]), measure in mean.lower_is_better
    weights = None if mean.weights is None else mean.weights[known]
    return tuple(
        summarise(run.values[known, i], mean.aggregates[i], lower_is_better=lower, weights=weights)
        for run in scores.repetitions.get(system, ())
    )


def spread_of_means(means: Sequence[float]) -> float:
    """Return the standard deviation of the means of several runs (divided by their number less 1); NaN of one."""
    if len(means) < 2:
        return math.nan
    return 0.0 if len(set(means)) == 1 else float(np.std(means, ddof=1))


def scores_repeat(scores: Scores, system: str) -> bool:
    """Tell whether every score of a system is the same in all of its repetitions."""
    first, *others = scores.repetitions[system]
    return all(np.array_equal(first.values, other.values, equal_nan=True) for other in others)
