"""Choosing: which queries may be used for it, and which of several options or weights did best on them."""

from __future__ import annotations

import dataclasses
import math
import warnings
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from rankscope.data.qrels import Qrels
from rankscope.errors import InputError, RankscopeWarning
from rankscope.evaluation import evaluate
from rankscope.experiment.collection import Collection
from rankscope.experiment.results import Choice, Sides, Trial
from rankscope.experiment.splits import divided, load_split, reveal
from rankscope.systems.base import RankedDocs

HALF = Fraction(1, 2)


def sides_of(
    collection: Collection, *, has_choices: bool, revealed: bool, strata: Sequence[str], seed: int, command: str
) -> Sides:
    """Return which queries choices are made on and which ones are measured; only judged queries are either."""
    judged = judged_queries(collection)
    group = collection.spec.group
    if group is not None:
        collection.queries.attribute(group)  # a wrong name is an error also where nothing has to be divided
    if collection.spec.split is not None:
        return stored_sides(collection, judged, revealed=revealed, command=command)
    if not has_choices:
        return Sides((), judged)
    by = tuple(name for name in strata if name in collection.queries.attributes)
    drawn = divided(dataclasses.replace(collection.queries, ids=judged), share=HALF, by=by, seed=seed, group=group)
    whole = f", whole groups by {group}" if group else ""
    words = (
        f"No split is given, so half of the queries were drawn to choose on ({len(drawn.split.train)}, seed {seed}"
        f"{whole}); "
        f"all results are about the other {len(drawn.holdout)}."
    )
    return Sides(drawn.split.train, drawn.holdout, "drawn", words)


def judged_queries(collection: Collection) -> tuple[str, ...]:
    """Return the queries that have judgments, in the order of the queries."""
    judged = set(collection.qrels.query_ids)
    found = tuple(query for query in collection.queries.ids if query in judged)
    if not found:
        raise InputError(
            f"{collection.name}: none of its queries has a judgment",
            hint=f"do the ids match? The first query is {collection.queries.ids[0]!r}, "
            f"the first judged one {collection.qrels.query_ids[0]!r}",
        )
    return found


def stored_sides(collection: Collection, judged: Sequence[str], *, revealed: bool, command: str) -> Sides:
    """Return the sides of a split that is stored; its hold-out only where it is to be revealed, which is recorded."""
    path = collection.spec.split
    assert path is not None  # noqa: S101 (the caller has looked)
    split = load_split(path, queries=collection.queries, group=collection.spec.group)
    inside = set(split.train)
    train = tuple(query for query in judged if query in inside)
    if not revealed:
        words = (
            f"Results are about the {len(train)} train queries; {split.n_holdout} are held out, "
            "and --reveal measures those."
        )
        return Sides(train, train, "train", words)
    holdout = reveal(path, command=command, queries=collection.queries, group=collection.spec.group)
    inside = set(holdout.query_ids)
    measured = tuple(query for query in judged if query in inside)
    times = "for the first time" if holdout.n_reveals == 1 else f"for the {holdout.n_reveals}. time"
    words = f"Results are about the {len(measured)} held-out queries, revealed {times}."
    return Sides(train, measured, "holdout", words)


def mean_score(qrels: Qrels, rankings: Mapping[str, RankedDocs], measure: str, side: Mapping[str, Any]) -> float:
    """Return the mean of a measure over all queries of the qrels, those without an answer counting 0.

    It is turned round where lower is better, so that the highest is always the best. Without any answer there is none.
    """
    run = {query: dict(ranking) for query, ranking in rankings.items() if ranking}
    if not run:
        return math.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RankscopeWarning)  # queries without an answer are told of with the results
        scores = evaluate(qrels, {"run": run}, measure, missing="zero", anyway=True, **side)["run"]
    value = scores.mean()[measure].value
    return -value if measure in scores.lower_is_better else value


def choice_of(
    system: str, measure: str, trials: Sequence[tuple[Mapping[str, Any], float]], *, n_queries: int, lower: bool
) -> Choice:
    """Return the trials with the best one marked; the first of several that are equally good."""
    known = [score for _, score in trials if not math.isnan(score)]
    if not known:
        raise InputError(
            f"{system}: no options can be chosen, as {measure} is undefined for all train queries",
            hint="choose another primary measure, or a split with more train queries",
        )
    best = next(i for i, (_, score) in enumerate(trials) if score == max(known))
    sign = -1 if lower else 1
    return Choice(
        system,
        measure,
        n_queries,
        tuple(Trial(options, sign * score, i == best) for i, (options, score) in enumerate(trials)),
    )
