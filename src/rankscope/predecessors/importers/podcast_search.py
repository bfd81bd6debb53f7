"""Files of the podcast search: judgments by query text, topics by episode, results, and the app's export."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from rankscope.errors import FormatError
from rankscope.predecessors.importers.content import a_list, an_object, number_or_none, objects_in, present, text_of
from rankscope.predecessors.importers.model import (
    ImportedCollection,
    ImportedDoc,
    ImportedJudgment,
    ImportedQuery,
    ImportedResult,
    ImportedRun,
)
from rankscope.records import replace

_FIELDS = ("episode_title", "podcast_id", "podcast_title", "published_at", "text")


def query_id(text: str) -> str:
    return re.sub(r"[^\w]+", "-", text.strip().lower()).strip("-") or "query"


def import_judgments(content: Mapping[str, Any], where: str) -> ImportedCollection:
    """Import {query text: {episode: 0 to 3}}."""
    queries, judgments, notes = [], [], []
    for text, grades in content.items():
        query = query_id(text)
        queries.append(ImportedQuery(query, text))
        for episode, grade in an_object(grades, f"{where}: {text!r}").items():
            if number_or_none(grade) is None or not 0 <= grade <= 3:
                raise FormatError(f"{where}: {text!r}, episode {episode!r}: grade {grade!r} is not 0, 1, 2 or 3")
            judgments.append(ImportedJudgment(query, episode, float(grade)))
        others = [other for other in content if other != text and other.lower() in text.lower()]
        if others:
            notes.append(
                f"a search for {text!r} also contains {others[0]!r}; the original takes whichever is listed first"
            )
    if len({query.id for query in queries}) < len(queries):
        raise FormatError(f"{where}: two queries differ only in punctuation or case", hint="keep one of them")
    return ImportedCollection(
        kind="podcast-judgments",
        title="judgments of the podcast search",
        queries=tuple(queries),
        judgments=tuple(judgments),
        notes=("episodes are relevant from grade 2 up: evaluate with --profile parakeet", *notes),
    )


def import_topics(content: Mapping[str, Any], where: str) -> ImportedCollection:
    """Import {episode: topics}."""
    docs = [
        ImportedDoc(episode, {"topics": sorted(map(str, a_list(topics, f"{where}: {episode!r}")))})
        for episode, topics in content.items()
    ]
    n_topics = len({topic for doc in docs for topic in doc.fields["topics"]})
    return ImportedCollection(
        kind="podcast-topics",
        title="topics of the podcast search",
        docs=tuple(docs),
        notes=(f"{n_topics} different topics over {len(docs)} episodes",),
    )


def import_results(content: list[Any], where: str, *, query: str | None) -> ImportedCollection:
    """Import a list of results; it does not say what was searched for."""
    return _results(content, where, query=query, kind="podcast-results", title="results of the podcast search")


def import_export(content: Mapping[str, Any], where: str, *, query: str | None) -> ImportedCollection:
    """Import the app's export: results, with what was searched for and when."""
    metadata = an_object(content.get("metadata") or {}, f"{where}: metadata")
    searched = query or metadata.get("query")
    results = a_list(content.get("results"), f"{where}: results")
    found = _results(results, where, query=searched, kind="podcast-export", title="export of the podcast search")
    stated = metadata.get("result_count")
    if stated is None or stated == len(results):
        return found
    note = f"result_count is {stated}, but there are {len(results)} results"
    return replace(found, notes=(*found.notes, note))


def _results(content: list[Any], where: str, *, query: str | None, kind: str, title: str) -> ImportedCollection:
    name = query_id(query) if query else "query"
    results, docs = [], {}
    for record, place in objects_in(content, where, key="results", what="result"):
        episode = text_of(record, "episode_id", place)
        distance = number_or_none(record.get("_distance", record.get("distance")))
        percent = number_or_none(record.get("relevance"))
        score = 1.0 - distance if distance is not None else None if percent is None else percent / 100
        results.append(ImportedResult(name, episode, score))
        docs[episode] = ImportedDoc(episode, present(record, *_FIELDS))
    note = 'the results do not say what was searched for: the query is called "query"; say --query TEXT'
    return ImportedCollection(
        kind=kind,
        title=title,
        queries=(ImportedQuery(name, query or ""),),
        runs=(ImportedRun("podcast-search", tuple(results)),) if results else (),
        docs=tuple(docs.values()),
        notes=() if query else (note,),
    )
