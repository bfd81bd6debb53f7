"""Plain ranked lists as the predecessors evaluated them, scored by the same measures as everything else.

Their code looked at a list of docs, one query at a time, and counted a doc that stands in it twice a second time.
`align` refuses that, and rightly so; here, and only here, the hits are made from the list as it is.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from rankscope.align.hits import Hits
from rankscope.align.top import TopDocs
from rankscope.arrays import Floats, offsets_of
from rankscope.data.qrels import Qrels
from rankscope.errors import RankscopeWarning
from rankscope.evaluation import decide_policies, load_side_data
from rankscope.measures.extras import Extras
from rankscope.measures.parse import parse_measure
from rankscope.measures.profiles import find_profile
from rankscope.measures.scores import none_if_nan, summarise
from rankscope.measures.scoring import score_hits
from rankscope.measures.spec import Measure
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

            for note in ontology_notes(measures, extras, rel=self._policies.relevance_level):
                warnings.warn(note, RankscopeWarning, stacklevel=2)
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
