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
)

_FIELDS = ("episode_title", "podcast_id", "podcast_title", "published_at", "text")


def query_id(text: str) -> str:
    return re.sub(r"[^\w]+", "-", text.strip().lower()).strip("-") or "query"


def import_judgments(content: Mapping[str, Any], where: str) -> ImportedCollection:
    """Import {query text: {episode: 0 to 3}}."""
    imported = ImportedCollection("podcast-judgments", "judgments of the podcast search")
    imported.notes.append("episodes are relevant from grade 2 up: evaluate with --profile parakeet")
    for text, grades in content.items():
        query = query_id(text)
        imported.queries.append(ImportedQuery(query, text))
        for episode, grade in an_object(grades, f"{where}: {text!r}").items():
            if number_or_none(grade) is None or not 0 <= grade <= 3:
                raise FormatError(f"{where}: {text!r}, episode {episode!r}: grade {grade!r} is not 0, 1, 2 or 3")
            imported.judgments.append(ImportedJudgment(query, episode, float(grade)))
        others = [other for other in content if other != text and other.lower() in text.lower()]
        if others:
            imported.notes.append(
                f"a search for {text!r} also contains {others[0]!r}; the original takes whichever is listed first"
            )
    if len({query.id for query in imported.queries}) < len(imported.queries):
        raise FormatError(f"{where}: two queries differ only in punctuation or case", hint="keep one of them")
    return imported


def import_topics(content: Mapping[str, Any], where: str) -> ImportedCollection:
    """Import {episode: topics}."""
    docs = [
        ImportedDoc(episode, {"topics": sorted(map(str, a_list(topics, f"{where}: {episode!r}")))})
        for episode, topics in content.items()
    ]
    n_topics = len({topic for doc in docs for topic in doc.fields["topics"]})
    note = f"{n_topics} different topics over {len(docs)} episodes"
    return ImportedCollection("podcast-topics", "topics of the podcast search", docs=docs, notes=[note])


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
    if stated not in (None, len(results)):
        found.notes.append(f"result_count is {stated}, but there are {len(results)} results")
    return found


def _results(content: list[Any], where: str, *, query: str | None, kind: str, title: str) -> ImportedCollection:
    name = query_id(query) if query else "query"
    imported = ImportedCollection(kind, title, queries=[ImportedQuery(name, query or "")])
    docs: dict[str, ImportedDoc] = {}
    for record, place in objects_in(content, where, key="results", what="result"):
        episode = text_of(record, "episode_id", place)
        distance = number_or_none(record.get("_distance", record.get("distance")))
        percent = number_or_none(record.get("relevance"))
        score = 1.0 - distance if distance is not None else None if percent is None else percent / 100
        imported.results("podcast-search").append(ImportedResult(name, episode, score))
        docs[episode] = ImportedDoc(episode, present(record, *_FIELDS))
    imported.docs += docs.values()
    if not query:
        imported.notes.append(
            'the results do not say what was searched for: the query is called "query"; say --query TEXT'
        )
    return imported
