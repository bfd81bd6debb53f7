"""Scores under the names, and in the shape, that a predecessor's users know."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from rankscope.arrays import Floats
from rankscope.errors import MeasureError, OptionError
from rankscope.evaluation import decide_policies, load_side_data
from rankscope.measures.extras import Need
from rankscope.measures.profiles import PROFILES, Profile, find_profile
from rankscope.measures.scores import RunScores, none_if_nan, summarise
from rankscope.measures.spec import Measure
from rankscope.predecessors.lists import RankedList, known, relevant_list, score_lists
from rankscope.predecessors.profiles import expand_keys
from rankscope.records import Record

COUNTED_ONCE: Mapping[str, frozenset[str]] = {
    name: frozenset({"R"}) for name in ("phentrieve", "phentrieve-plan", "dartboard", "dartboard-code")
}
"""Measures for which a repeated doc counts once although it counts twice for the others; these take a set of docs."""


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
    side = load_side_data(embeddings=embeddings, docs=docs, ontology=ontology)
    lists = []
    for query, judged in relevant.items():
        ranked = results.get(query, ())
        lists.append(RankedList(ranked, judged) if isinstance(judged, Mapping) else relevant_list(ranked, judged))
    at = chosen.cuts if cuts is None else tuple(cuts)
    of_query, of_mean = (computable(expand_keys(keys, at), side) for keys in (chosen.keys, chosen.mean_keys))
    measures = tuple(dict.fromkeys([*of_query.values(), *of_mean.values()]))
    values = score_lists(
        lists,
        measures,
        decide_policies(chosen, {}),
        once=COUNTED_ONCE.get(profile, ()),
        **{str(need): data for need, data in side.items()},
    )
    columns = dict(zip(measures, values.T, strict=True))
    return their_scores(map(str, relevant), columns, of_query, of_mean)


def in_their_words(scores: RunScores, profile: str) -> TheirScores:
    """Return the scores of `rankscope.evaluate(…, profile=…)` under the predecessor's own names."""
    chosen = predecessor(profile)
    column_of = {name: scores.values[:, i] for i, name in enumerate(scores.measures)}
    of_query, of_mean = (
        {key: name for key, name in canonical(expand_keys(keys, cuts_of(scores, chosen))).items() if name in column_of}
        for keys in (chosen.keys, chosen.mean_keys)
    )
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


def computable(keys: Mapping[str, str], side: Mapping[Need, Any]) -> dict[str, Measure]:
    """Return the keys whose measures have all the data they need."""
    measures = {key: known(name) for key, name in keys.items()}
    return {key: measure for key, measure in measures.items() if measure.spec.needs <= {Need.TOP, *side}}


def canonical(keys: Mapping[str, str]) -> dict[str, str]:
    """Return {key: measure} with the names that scores have; a measure that is not installed is left out."""
    found = {}
    for key, name in keys.items():
        try:
            found[key] = known(name).name
        except MeasureError:
            continue
    return found


def cuts_of(scores: RunScores, profile: Profile) -> tuple[int, ...]:
    """Return the profile's cut-offs and those that the scores have besides, in order."""
    if not profile.cuts:
        return ()
    deepest = max(profile.cuts) if any("{max_k}" in key for key in profile.mean_keys) else math.inf
    asked = {known(name).options.get("k") for name in scores.measures}
    return tuple(sorted({*profile.cuts, *(k for k in asked if k and k <= deepest)}))


def mean_of(column: Floats) -> float | None:
    """Return the mean of the scores that there are, None where there is none."""
    return none_if_nan(summarise(column[~np.isnan(column)], "mean"))
