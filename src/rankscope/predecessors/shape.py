"""Scores under the names, and in the shape, that a predecessor's users know."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from rankscope.arrays import Floats
from rankscope.errors import MeasureError, OptionError
from rankscope.measures.extras import Need
from rankscope.measures.profiles import PROFILES, Profile, find_profile
from rankscope.measures.scores import RunScores, none_if_nan
from rankscope.predecessors.lists import RankedList, Scorer, known, mean_of, relevant_list, side_data
from rankscope.predecessors.profiles import expand_keys
from rankscope.records import Record


class TheirScores(Record):
    """An evaluation in a predecessor's words: None where it has null."""

    per_query: dict[str, dict[str, float | None]]
    mean: dict[str, float | None]


def evaluate_as(
    profile: str,
    results: Mapping[Any, Sequence[Any]],
    relevant: Mapping[Any, Mapping[Any, float] | Collection[Any]],
    *,
    cuts: Sequence[int] | None = None,
    embeddings: Any = None,
    docs: Any = None,
    ontology: Any = None,
) -> TheirScores:
    """Score {query: [doc, …]} as a predecessor did, its treatment of repeated docs included.

    `relevant` holds {doc: grade} or the relevant docs of each query. Keys that need embeddings, docs or an ontology
    are left out where these are not given.
    """
    chosen = predecessor(profile)
    side = side_data(embeddings=embeddings, docs=docs, ontology=ontology)
    lists = []
    for query, judged in relevant.items():
        ranked = results.get(query, ())
        lists.append(RankedList(ranked, judged) if isinstance(judged, Mapping) else relevant_list(ranked, judged))
    at = chosen.cuts if cuts is None else tuple(cuts)
    of_query, of_mean = (
        {
            key: measure
            for key, measure in ((key, known(name)) for key, name in expand_keys(keys, at).items())
            if measure.spec.needs <= {Need.TOP, *side}
        }
        for keys in (chosen.keys, chosen.mean_keys)
    )
    measures = tuple(dict.fromkeys([*of_query.values(), *of_mean.values()]))
    columns = dict(zip(measures, Scorer(profile).table(lists, measures, **side).T, strict=True))
    return their_scores(map(str, relevant), columns, of_query, of_mean)


def in_their_words(scores: RunScores, profile: str) -> TheirScores:
    """Return the scores of `rankscope.evaluate(…, profile=…)` under the predecessor's own names."""
    chosen = predecessor(profile)
    cuts = set(chosen.cuts)
    if cuts:  # and those that the scores have besides
        deepest = max(cuts) if any("{max_k}" in key for key in chosen.mean_keys) else math.inf
        given = {known(name).options.get("k") for name in scores.measures}
        cuts |= {k for k in given if k and k <= deepest}
    column_of = {name: scores.values[:, i] for i, name in enumerate(scores.measures)}
    of_query: dict[str, str] = {}
    of_mean: dict[str, str] = {}
    for found, keys in ((of_query, chosen.keys), (of_mean, chosen.mean_keys)):
        for key, name in expand_keys(keys, sorted(cuts)).items():
            try:
                measure = known(name).name
            except MeasureError:  # it is not installed
                continue
            if measure in column_of:
                found[key] = measure
    return their_scores(scores.query_ids, column_of, of_query, of_mean)


def their_scores(
    query_ids: Iterable[str], columns: Mapping[Any, Floats], of_query: Mapping[str, Any], of_mean: Mapping[str, Any]
) -> TheirScores:
    """Return scores by query and their means, from the column of each measure and the measure of each key."""
    return TheirScores(
        {
            query: {key: none_if_nan(float(columns[measure][i])) for key, measure in of_query.items()}
            for i, query in enumerate(query_ids)
        },
        {key: mean_of(columns[measure]) for key, measure in of_mean.items()},
    )


def predecessor(name: str) -> Profile:
    """Return a profile that has names of its own."""
    profile = find_profile(name)
    if not profile.keys:
        named = ", ".join(other.name for other in PROFILES.values() if other.keys)
        raise OptionError(f"profile {name!r} has no names of its own for scores", hint=f"those that do: {named}")
    return profile
