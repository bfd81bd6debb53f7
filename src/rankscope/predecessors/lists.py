"""Plain ranked lists as the predecessors evaluated them, scored by the same measures as everything else.

Their code looked at a list of docs, one query at a time, and counted a doc that stands in it twice a second time.
`align` refuses that, and rightly so; here, and only here, the hits are made from the list as it is.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from rankscope.align.hits import Hits
from rankscope.align.policies import Policies
from rankscope.align.top import TopDocs
from rankscope.arrays import Floats, offsets_of
from rankscope.data.qrels import Qrels
from rankscope.errors import RankscopeWarning
from rankscope.measures.extras import Extras
from rankscope.measures.parse import parse_measure
from rankscope.measures.scoring import score_hits
from rankscope.measures.spec import Measure
from rankscope.records import Record


class RankedList(Record):
    """One query's docs, best first, each as often as it was listed, and the grades of the docs that were judged."""

    docs: Sequence[Any]
    grades: Mapping[Any, float]
    ideal: Sequence[float] | None = None
    """All judged grades, where they are not simply those of `grades` (a list of expected ids may repeat itself)."""

    @property
    def best_first(self) -> list[float]:
        """The judged grades from 0 up, best first."""
        judged = self.grades.values() if self.ideal is None else self.ideal
        return sorted((float(grade) for grade in judged if grade >= 0), reverse=True)

    def hits(self, *, repeats: bool) -> list[tuple[int, float]]:
        """Return rank and grade of the judged docs; without `repeats` a doc only counts where it stands first."""
        found: list[tuple[int, float]] = []
        seen: set[Any] = set()
        for rank, doc in enumerate(self.docs, 1):
            if doc in self.grades and (repeats or doc not in seen):
                found.append((rank, float(self.grades[doc])))
                seen.add(doc)
        return found


def relevant_list(docs: Sequence[Any], relevant: Collection[Any]) -> RankedList:
    """Return a list whose relevant docs are known, and nothing else; relevant docs listed twice count twice."""
    return RankedList(docs, dict.fromkeys(relevant, 1.0), [1.0] * len(relevant))


def hits_of(lists: Sequence[RankedList], *, repeats: bool = True) -> Hits:
    """Return the hits of some lists, one query each."""
    found = [ranked.hits(repeats=repeats) for ranked in lists]
    ideal = [ranked.best_first for ranked in lists]
    pairs = [pair for hits in found for pair in hits]
    return Hits(
        query_ids=tuple(str(i) for i in range(len(lists))),
        answered=np.ones(len(lists), dtype=np.bool_),
        n_retrieved=np.array([len(ranked.docs) for ranked in lists], dtype=np.int64),
        offsets=offsets_of([len(hits) for hits in found]),
        ranks=np.array([rank for rank, _ in pairs], dtype=np.int64),
        grades=np.array([grade for _, grade in pairs], dtype=np.float64),
        ideal_offsets=offsets_of([len(grades) for grades in ideal]),
        ideal_grades=np.array([grade for grades in ideal for grade in grades], dtype=np.float64),
        max_grade=max((grades[0] for grades in ideal if grades), default=0.0),
    )


def score_lists(
    lists: Sequence[RankedList],
    measures: Sequence[Measure],
    policies: Policies,
    *,
    once: Collection[str] = (),
    **side_data: Any,
) -> Floats:
    """Return the scores (lists x measures), NaN where there is none.

    `once` names measures that count a repeated doc only once. `side_data` are embeddings, docs and ontology, as
    loaded.
    """
    if not lists:
        return np.empty((0, len(measures)))
    extras = extras_of(lists, side_data) if any(measure.spec.needs for measure in measures) else None
    if extras is not None and extras.ontology is not None:
        from rankscope.measures.ontology import ontology_notes

        for note in ontology_notes(measures, extras, rel=policies.relevance_level):
            warnings.warn(note, RankscopeWarning, stacklevel=2)
    values = score_hits(hits_of(lists), measures, policies, extras)[0].copy()
    distinct = [i for i, measure in enumerate(measures) if measure.base in once]
    if distinct:
        plain = hits_of(lists, repeats=False)
        values[:, distinct] = score_hits(plain, [measures[i] for i in distinct], policies, extras)[0]
    return values


def extras_of(lists: Sequence[RankedList], side_data: Mapping[str, Any]) -> Extras:
    """Return what measures of the docs themselves need: the lists as they are, and the data given."""
    query_ids = tuple(map(str, range(len(lists))))
    top = TopDocs(query_ids, tuple(tuple(map(str, ranked.docs)) for ranked in lists))
    judged = {
        query: {str(doc): grade for doc, grade in ranked.grades.items()}
        for query, ranked in zip(query_ids, lists, strict=True)
    }
    if not any(judged.values()):
        judged[query_ids[0]] = {"nothing": 0.0}  # qrels cannot be empty, and these measures do not ask for any
    return Extras(Qrels(judged), top, **side_data)


@cache
def known(name: str) -> Measure:
    return parse_measure(name)


def score_one(ranked: RankedList, measure: str, policies: Policies, **options: Any) -> float | None:
    """Return the score of one list, None where it has none; the options are those of `score_lists`."""
    value = float(score_lists([ranked], [known(measure)], policies, **options)[0, 0])
    return None if math.isnan(value) else value


def score_or_zero(ranked: RankedList, measure: str, policies: Policies, **options: Any) -> float:
    return score_one(ranked, measure, policies, **options) or 0.0
