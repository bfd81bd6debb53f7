"""What functions and classes of users return for a query, in whatever shape their libraries have it, as a ranking.

Nothing is imported for that; shapes are recognised by what they have: ids, (doc, score) pairs, {doc: score}, tables
with an id and a score, Documents of LangChain alone or with a score, NodeWithScore of LlamaIndex, ScoredPoint of
Qdrant, and what a query of Chroma returns.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice, pairwise
from typing import Any

import numpy as np

from rankscope.systems.answers import BadAnswerError, by_position, check_ranking, doc_id, shown
from rankscope.systems.base import RankedDocs

_HINT = "return {doc: score}, (doc, score) pairs, or docs best first"
_ID_NAMES = ("doc_id", "id", "_id", "docid", "doc", "episode_id", "practitioner_id", "hpo_id")
"""The last three are what the searches of earlier frameworks return."""
_SCORE_NAMES = ("score", "_score", "similarity")
_DISTANCE_NAMES = ("distance", "_distance")
_MOST_HITS = 1_000_000
"""A ranking with more hits is refused: what yields for ever is no ranking."""
_MISSING = object()


def read_ranking(answer: Any, *, k: int, repeats: bool = False) -> RankedDocs:
    """Return an answer as a ranking, best first and cut at k; refuse what is none, showing what it is.

    `repeats` says whether a doc may be listed twice.
    """
    if isinstance(answer, list) and all(is_plain(hit) for hit in answer):
        return check_ranking(answer, k=k, repeats=repeats)
    if isinstance(answer, Mapping):
        answer = chroma_hits(answer) if is_chroma(answer) else list(answer.items())
    answer = getattr(answer, "points", answer)  # as Qdrant wraps them
    if answer is None or isinstance(answer, str | bytes | set | frozenset) or not isinstance(answer, Iterable):
        raise BadAnswerError(f"{shown(answer)} ({type(answer).__name__}) is no ranking", hint=_HINT)
    hits = list(islice(answer, _MOST_HITS + 1))
    if len(hits) > _MOST_HITS:
        raise BadAnswerError(f"the ranking has more than {_MOST_HITS:,} hits", hint=f"return {k} of them")
    read = [read_hit(hit) for hit in hits]
    scores = [score for _, score in read]
    if read and all(score is None for score in scores):
        return by_position([doc for doc, _ in read], k=k, repeats=repeats)
    if None in scores:
        at = scores.index(None)
        raise BadAnswerError(f"{shown(hits[at])} has no score, but others have", hint="give all docs a score, or none")
    if len(hits) > 1 and isinstance(hits[0], tuple) and is_object(hits[0][0]):
        read = as_similarities(read)
    return check_ranking(read, k=k, repeats=repeats)


def is_plain(hit: Any) -> bool:
    """Tell whether a hit is an id and a score, as systems of ours return them."""
    return type(hit) is tuple and len(hit) == 2 and type(hit[0]) is str and type(hit[1]) is float


def as_similarities(read: Sequence[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """Return Documents with a score that is higher for better ones.

    Some stores give distances instead, and the best comes first: scores that rise from hit to hit are distances.
    """
    scores = [score for _, score in read]
    if scores[0] < scores[-1] and all(a <= b for a, b in pairwise(scores)):
        return [(doc, -score) for doc, score in read]
    return list(read)


def read_hit(hit: Any) -> tuple[str, Any]:
    """Return the id and the score of one hit; None where it has no score."""
    if isinstance(hit, str | bytes | int | np.integer) and not isinstance(hit, bool):
        return doc_id(hit), None
    if isinstance(hit, Sequence | np.ndarray) and len(hit) == 2:
        first, score = hit
        if is_object(first) or isinstance(first, Mapping):
            first = read_hit(first)[0]
        return doc_id(first), as_number(score, hit)
    if isinstance(hit, Mapping):
        return read_fields(hit, hit.get, hit)
    if is_object(hit):
        inner = getattr(hit, "node", hit)
        doc, score = read_fields(hit, lambda name, default: getattr(inner, name, default), inner)
        return doc, as_number(getattr(hit, "score", None), hit) if inner is not hit else score
    raise BadAnswerError(f"{shown(hit)} ({type(hit).__name__}) is no doc", hint=_HINT)


def read_fields(hit: Any, get: Any, holder: Any) -> tuple[str, Any]:
    """Return id and score of a hit by the names they usually have; what a Document is about stands in its metadata."""
    is_document = get("page_content", None) is not None
    metadata = get("metadata", None)
    metadata = metadata if isinstance(metadata, Mapping) else {}
    names = ("node_id", "id_", *_ID_NAMES) if holder is not hit else _ID_NAMES
    own = [get(name, None) for name in names]
    of_metadata = [metadata.get(name) for name in _ID_NAMES]
    found = [*of_metadata, *own, metadata.get("source")] if is_document else own
    doc = next((value for value in found if value is not None), None)
    if doc is None:
        where = "in its metadata, as id or source" if is_document else f"as {', '.join(_ID_NAMES)}"
        raise BadAnswerError(f"{shown(hit)} has no id {where}", hint="return the ids of the collection's docs")
    score = next((value for name in _SCORE_NAMES if (value := get(name, None)) is not None), None)
    distance = next((value for name in _DISTANCE_NAMES if (value := get(name, None)) is not None), None)
    if score is None and distance is not None:
        number = as_number(distance, hit)
        score = -number if isinstance(number, int | float) and not isinstance(number, bool) else number
    return doc_id(doc), as_number(score, hit)


def as_number(value: Any, hit: Any) -> Any:
    """Return the number that an array or tensor of one value holds; anything else as it is, to be checked later."""
    if value is None or isinstance(value, str | int | float) or not hasattr(value, "item"):
        return value
    try:
        return value.item()
    except (TypeError, ValueError):
        raise BadAnswerError(f"the score of {shown(hit)} is more than one number") from None


def is_object(value: Any) -> bool:
    """Tell whether a value is a hit of some library: it has an id, a text, or a node."""
    if isinstance(value, str | bytes | int | float | Mapping | list | tuple | np.generic | np.ndarray):
        return False
    return any(hasattr(value, name) for name in ("node", "page_content", *_ID_NAMES, "node_id", "id_"))


def is_chroma(answer: Any) -> bool:
    """Tell whether an answer is what a query of Chroma returns: columns with a row of values for each query."""
    return (
        isinstance(answer, Mapping) and isinstance(answer.get("ids"), list) and not any(map(is_score, answer.values()))
    )


def is_score(value: Any) -> bool:
    return isinstance(value, int | float | np.number)


def chroma_hits(answer: Mapping[str, Any], *, row: int | None = None) -> list[Any]:
    """Return the hits of one query as (id, score) pairs, or as ids where there are no distances."""
    ids, distances = answer["ids"], answer.get("distances")
    if ids and isinstance(ids[0], list):
        if row is None and len(ids) != 1:
            raise BadAnswerError(f"the answer has rows for {len(ids)} queries, but one was asked")
        ids, distances = ids[row or 0], None if distances is None else distances[row or 0]
    if distances is None:
        return list(ids)
    if len(distances) != len(ids):
        raise BadAnswerError(f"the answer has {len(ids)} ids, but {len(distances)} distances")
    return [(doc, -as_number(distance, answer)) for doc, distance in zip(ids, distances, strict=True)]


def split_batch(answer: Any, n_queries: int) -> list[Any]:
    """Return what a function returned for a batch of queries, one by one."""
    if is_chroma(answer) and len(answer["ids"]) == n_queries and all(isinstance(row, list) for row in answer["ids"]):
        return [chroma_hits(answer, row=row) for row in range(n_queries)]
    if answer is None or isinstance(answer, str | bytes | Mapping | set) or not isinstance(answer, Iterable):
        raise BadAnswerError(
            f"{shown(answer)} ({type(answer).__name__}) came back for {n_queries} queries",
            hint="with batch, the function must return one ranking per query, in their order",
        )
    return list(islice(answer, n_queries + 1))
