"""Plain ranked lists as the predecessors evaluated them, scored by the same measures as everything else.

Their code looked at a list of docs, one query at a time, and counted a doc that stands in it twice a second time.
`align` refuses that, and rightly so; here, and only here, the hits are made from the list as it is. `evaluate_as`
and `in_their_words` return scores under the names that a predecessor's users know.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from rankscope.align.hits import Hits
from rankscope.align.top import TopDocs
from rankscope.arrays import Floats, offsets_of
from rankscope.data.qrels import Qrels
from rankscope.errors import MeasureError, OptionError, give_warning
from rankscope.evaluation import decide_policies, load_side_data
from rankscope.measures.extras import Extras, Need
from rankscope.measures.parse import parse_measure
from rankscope.measures.profiles import PROFILES, Profile, find_profile
from rankscope.measures.scores import RunScores, none_if_nan, summarise
from rankscope.measures.scoring import score_hits
from rankscope.measures.spec import Measure
from rankscope.predecessors.profiles import expand_keys
from rankscope.records import Record

_RECALL_OF_SETS = frozenset({"phentrieve", "phentrieve-plan", "dartboard", "dartboard-code"})
"""Profiles by which a repeated doc counts once in recall, which takes a set of docs, and twice in other measures."""


class RankedList(Record):
    """One query's docs, best first, each as often as it was listed, and the grades of the docs that were judged."""

    docs: Sequence[Any]
    grades: Mapping[Any, float]
    ideal: Sequence[float] | None = None
    """All judged grades, where they are not simply those of `grades` (a list of expected ids may repeat itself)."""


def relevant_list(docs: Sequence[Any], relevant: Collection[Any]) -> RankedList:
    """Return a list whose relevant docs are known, and nothing else; relevant docs listed twice count twice."""
    return RankedList(docs, dict.fromkeys(relevant, 1.0), [1.0] * len(relevant))


def hits_of(lists: Sequence[RankedList], *, repeats: bool = True) -> Hits:
    """Return the hits of some lists, one query each; without `repeats` a doc only counts where it stands first."""
    found: list[list[tuple[int, float]]] = []
    ideal: list[list[float]] = []
    for ranked in lists:
        hits: list[tuple[int, float]] = []
        seen: set[Any] = set()
        for rank, doc in enumerate(ranked.docs, 1):
            if doc in ranked.grades and (repeats or doc not in seen):
                hits.append((rank, float(ranked.grades[doc])))
                seen.add(doc)
        found.append(hits)
        judged = ranked.grades.values() if ranked.ideal is None else ranked.ideal
        ideal.append(sorted((float(grade) for grade in judged if grade >= 0), reverse=True))
    return Hits(
        query_ids=tuple(str(i) for i in range(len(lists))),
        answered=np.ones(len(lists), dtype=np.bool_),
        n_retrieved=np.array([len(ranked.docs) for ranked in lists], dtype=np.int64),
        offsets=offsets_of([len(hits) for hits in found]),
        ranks=np.array([rank for hits in found for rank, _ in hits], dtype=np.int64),
        grades=np.array([grade for hits in found for _, grade in hits], dtype=np.float64),
        ideal_offsets=offsets_of([len(grades) for grades in ideal]),
        ideal_grades=np.array([grade for grades in ideal for grade in grades], dtype=np.float64),
        max_grade=max((grades[0] for grades in ideal if grades), default=0.0),
    )


class Scorer:
    """Scores lists by the profile of a predecessor; `side` is what `side_data` returns."""

    def __init__(self, profile: str) -> None:
        self._policies = decide_policies(find_profile(profile), {})
        self._sets = profile in _RECALL_OF_SETS

    def table(self, lists: Sequence[RankedList], measures: Sequence[Measure], **side: Any) -> Floats:
        """Return the scores (lists x measures), NaN where there is none."""
        if not lists:
            return np.empty((0, len(measures)))
        extras = extras_of(lists, side) if any(measure.spec.needs for measure in measures) else None
        if extras is not None and extras.ontology is not None:
            from rankscope.measures.ontology import ontology_notes

            give_warning(*ontology_notes(measures, extras, rel=self._policies.relevance_level))
        values = score_hits(hits_of(lists), measures, self._policies, extras)[0].copy()
        distinct = [i for i, measure in enumerate(measures) if self._sets and measure.base == "R"]
        if distinct:
            plain = hits_of(lists, repeats=False)
            values[:, distinct] = score_hits(plain, [measures[i] for i in distinct], self._policies, extras)[0]
        return values

    def score(self, ranked: RankedList, measure: str, **side: Any) -> float | None:
        """Return the score of one list, None where it has none."""
        return none_if_nan(float(self.table([ranked], [known(measure)], **side)[0, 0]))

    def score_or_zero(self, ranked: RankedList, measure: str, k: int | None = None, **side: Any) -> float:
        """Return the score of one list, down to rank k where it is given; 0 where it has none, or k is below 1."""
        if k is not None and k < 1:
            return 0.0
        return self.score(ranked, measure if k is None else f"{measure}@{k}", **side) or 0.0


def side_data(*, embeddings: Any = None, docs: Any = None, ontology: Any = None) -> dict[str, Any]:
    """Return what was given, loaded, by its name."""
    loaded = load_side_data(embeddings=embeddings, docs=docs, ontology=ontology)
    return {str(need): data for need, data in loaded.items()}


def extras_of(lists: Sequence[RankedList], side: Mapping[str, Any]) -> Extras:
    """Return what measures of the docs themselves need: the lists as they are, and the data given."""
    query_ids = tuple(map(str, range(len(lists))))
    top = TopDocs(query_ids, tuple(tuple(map(str, ranked.docs)) for ranked in lists))
    judged = {
        query: {str(doc): grade for doc, grade in ranked.grades.items()}
        for query, ranked in zip(query_ids, lists, strict=True)
    }
    if not any(judged.values()):
        judged[query_ids[0]] = {"nothing": 0.0}  # qrels cannot be empty, and these measures do not ask for any
    return Extras(Qrels(judged), top, **side)


@cache
def known(name: str) -> Measure:
    return parse_measure(name)


def mean_of(column: Floats) -> float | None:
    """Return the mean of the scores that there are, None where there is none."""
    return none_if_nan(summarise(column[~np.isnan(column)], "mean"))


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
    wanted = [known(name) for keys in (chosen.keys, chosen.mean_keys) for name in expand_keys(keys, at).values()]
    measures = [measure for measure in dict.fromkeys(wanted) if measure.spec.needs <= {Need.TOP, Need.LISTS, *side}]
    values = Scorer(profile).table(lists, measures, **side)
    columns = {measure.name: column for measure, column in zip(measures, values.T, strict=True)}
    return their_scores(map(str, relevant), columns, chosen, at)


def in_their_words(scores: RunScores, profile: str) -> TheirScores:
    """Return the scores of `rankscope.evaluate(…, profile=…)` under the predecessor's own names."""
    chosen = predecessor(profile)
    cuts = set(chosen.cuts)
    if cuts:  # and those that the scores have besides
        deepest = max(cuts) if any("{max_k}" in key for key in chosen.mean_keys) else math.inf
        given = {known(name).options.get("k") for name in scores.measures}
        cuts |= {k for k in given if k and k <= deepest}
    columns = {name: scores.values[:, i] for i, name in enumerate(scores.measures)}
    return their_scores(scores.query_ids, columns, chosen, sorted(cuts))


def their_scores(
    query_ids: Iterable[str], columns: Mapping[str, Floats], profile: Profile, cuts: Sequence[int]
) -> TheirScores:
    """Return scores by query and their means, for those keys whose measure has a column."""

    def columns_of(keys: Mapping[str, str]) -> Iterator[tuple[str, Floats]]:
        for key, name in expand_keys(keys, cuts).items():
            try:
                measure = known(name).name
            except MeasureError:  # it is not installed
                continue
            if measure in columns:
                yield key, columns[measure]

    of_query = dict(columns_of(profile.keys))
    return TheirScores(
        {
            query: {key: none_if_nan(float(column[i])) for key, column in of_query.items()}
            for i, query in enumerate(query_ids)
        },
        {key: mean_of(column) for key, column in columns_of(profile.mean_keys)},
    )


def predecessor(name: str) -> Profile:
    """Return a profile that has names of its own."""
    profile = find_profile(name)
    if not profile.keys:
        named = ", ".join(other.name for other in PROFILES.values() if other.keys)
        raise OptionError(f"profile {name!r} has no names of its own for scores", hint=f"those that do: {named}")
    return profile
