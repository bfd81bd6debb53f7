"""Subtopics: which docs are relevant to which side of a query, and how far a ranking covers them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from weakref import WeakKeyDictionary

import numpy as np

from rankscope.arrays import Bools, Floats, Ints, offsets_of, positions_in_segment, segment_sum
from rankscope.data.qrels import Qrels
from rankscope.io.ids import byte_order
from rankscope.light import LightRecord, field

_TIE = 1e-12
"""Gains that differ by less are equal but for rounding."""
_USUAL_DEPTH = 20
"""An ideal ranking is made at least this deep, so that one serves all the usual cut-offs."""

Rankings = Mapping[str, tuple[str, ...]]


class Coverage(LightRecord, eq=False):
    """What rankings cover: an entry for every ranked doc and every subtopic it is relevant to, down the ranks."""

    segments: Ints
    """The query (by position) of each entry."""
    ranks: Ints
    subtopics: Ints
    """The subtopic of each entry; no two queries share one."""
    seen: Ints
    """How many docs further up are relevant to the same subtopic."""
    n_relevant: Ints
    """How many docs the qrels have for the entry's subtopic."""
    n_subtopics: Ints
    """How many subtopics each query has; one without a relevant doc does not count."""

    def per_query(self, values: Floats | Ints | Bools) -> Floats:
        return segment_sum(values, self.segments, len(self.n_subtopics))


class Subtopics(LightRecord, eq=False):
    """The relevant docs of every subtopic; a subtopic without any is left out, for nothing could cover it."""

    docs: Mapping[str, Mapping[str, Sequence[int]]]
    """By query and doc, the subtopics that the doc is relevant to, numbered over all queries."""
    n_relevant: Ints
    """How many docs are relevant to each subtopic."""
    n_subtopics: Mapping[str, int]
    """How many subtopics a query has; queries without any are not listed."""
    _ideals: dict[float, tuple[float, Rankings]] = field(default_factory=dict)

    def coverage(self, query_ids: Sequence[str], rankings: Sequence[Sequence[str]]) -> Coverage:
        entries = [
            (query, rank, subtopic)
            for query, (query_id, ranking) in enumerate(zip(query_ids, rankings, strict=True))
            for rank, doc in enumerate(ranking, 1)
            for subtopic in self.docs.get(query_id, {}).get(doc, ())
        ]
        segments, ranks, subtopics = np.array(entries, dtype=np.int64).reshape(-1, 3).T
        order = np.argsort(subtopics, kind="stable")
        seen = np.empty(len(subtopics), dtype=np.int64)
        seen[order] = positions_in_segment(subtopics[order], len(self.n_relevant))
        return Coverage(
            segments=segments,
            ranks=ranks,
            subtopics=subtopics,
            seen=seen,
            n_relevant=self.n_relevant[subtopics],
            n_subtopics=np.array([self.n_subtopics.get(query_id, 0) for query_id in query_ids], dtype=np.int64),
        )

    def ideal(self, query_ids: Sequence[str], *, alpha: float, k: int | None) -> Coverage:
        """Return what the greedy ideal rankings of the queries cover, down to rank k."""
        depth = np.inf if k is None else max(k, _USUAL_DEPTH)
        made, rankings = self._ideals.get(alpha, (0, {}))
        if made < depth:  # a deeper ideal starts with the shallower one
            rankings = greedy_rankings(self, alpha=alpha, depth=depth)
            self._ideals[alpha] = depth, rankings
        return self.coverage(query_ids, [rankings.get(query, ())[:k] for query in query_ids])


_CACHE: WeakKeyDictionary[Qrels, dict[float, Subtopics]] = WeakKeyDictionary()


def subtopics_of(qrels: Qrels, *, rel: float) -> Subtopics:
    """Return the subtopics of qrels, a doc being relevant to one from grade `rel` up; found once, then kept."""
    by_threshold = _CACHE.setdefault(qrels, {})
    if rel in by_threshold:
        return by_threshold[rel]
    rows = qrels.rows
    numbers: dict[tuple[str, str], int] = {}
    docs: dict[str, dict[str, list[int]]] = {}
    subtopics = rows.subtopic if rows.subtopic is not None else [""] * len(rows)
    first_grades: dict[tuple[str, str, str], float] = {}
    for query, doc, subtopic, grade in zip(rows.query, rows.doc, subtopics, rows.grade.tolist(), strict=True):
        first_grades.setdefault((query, doc, subtopic), grade)
    for (query, doc, subtopic), grade in first_grades.items():
        if grade >= rel:
            number = numbers.setdefault((query, subtopic), len(numbers))
            docs.setdefault(query, {}).setdefault(doc, []).append(number)
    of_docs = [number for of_query in docs.values() for of_doc in of_query.values() for number in of_doc]
    n_relevant = np.bincount(of_docs, minlength=len(numbers)).astype(np.int64)
    found = by_threshold[rel] = Subtopics(docs, n_relevant, Counter(query for query, _ in numbers))
    return found


def greedy_rankings(subtopics: Subtopics, *, alpha: float, depth: float) -> Rankings:
    """Return for every query the ranking that takes, rank by rank, the doc that adds most.

    To find the very best ranking is NP-hard (Carterette 2009), so all use this one. Of docs that add the same, the
    one whose id comes last by its bytes is taken, as ndeval does. All queries take a step at the same time.
    """
    ids = [(query, doc) for query, docs in subtopics.docs.items() for doc in sorted(docs, key=byte_order, reverse=True)]
    n_docs = [len(docs) for docs in subtopics.docs.values()]
    owners = np.repeat(np.arange(len(n_docs), dtype=np.int64), n_docs)  # the query of each doc
    entries = [(doc, number) for doc, (query, name) in enumerate(ids) for number in subtopics.docs[query][name]]
    doc_of, subtopic_of = np.array(entries, dtype=np.int64).reshape(-1, 2).T
    starts = offsets_of(np.bincount(owners))[:-1]
    seen = np.zeros(len(subtopics.n_relevant), dtype=np.int64)
    left = np.ones(len(ids), dtype=np.bool_)
    rankings: dict[str, list[str]] = {query: [] for query in subtopics.docs}
    rank = 0
    while rank < depth and left.any():
        gains = np.bincount(doc_of, weights=np.power(1.0 - alpha, seen[subtopic_of]), minlength=len(ids))
        gains = np.where(left, gains, -1.0)
        best = np.maximum.reduceat(gains, starts)
        candidates = np.flatnonzero(gains >= best[owners] - _TIE)
        chosen = candidates[np.unique(owners[candidates], return_index=True)[1]]  # the first of each query
        chosen = chosen[left[chosen]]
        left[chosen] = False
        seen[subtopic_of[np.isin(doc_of, chosen)]] += 1  # a doc names a subtopic once, and queries share none
        for query, doc in (ids[i] for i in chosen.tolist()):
            rankings[query].append(doc)
        rank += 1
    return {query: tuple(docs) for query, docs in rankings.items()}
