"""Files of the podcast search: judgments by query text, topics by episode, results, and the app's export."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rankscope.errors import FormatError
from rankscope.predecessors.importers.content import (
    a_list,
    an_object,
    number_or_none,
    objects_in,
    present,
    query_id,
    text_of,
)
from rankscope.predecessors.importers.model import ImportedCollection, ImportedDoc

_FIELDS = ("episode_title", "podcast_id", "podcast_title", "published_at", "text")


def import_judgments(content: Mapping[str, Any], where: str) -> ImportedCollection:
    """Import {query text: {episode: 0 to 3}}."""
    imported = ImportedCollection("judgments of the podcast search", has_texts_only=True)
    imported.notes.append("episodes are relevant from grade 2 up: evaluate with --profile parakeet")
    for text, grades in content.items():
        imported.add_query(query_id(text), text)
        for episode, grade in an_object(grades, f"{where}: {text!r}").items():
            if number_or_none(grade) is None or not 0 <= grade <= 3:
                raise FormatError(f"{where}: {text!r}, episode {episode!r}: grade {grade!r} is not 0, 1, 2 or 3")
            imported.add_judgments(query_id(text), [episode], float(grade))
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
    topics_of = {
        episode: sorted(map(str, a_list(topics, f"{where}: {episode!r}"))) for episode, topics in content.items()
    }
    imported = ImportedCollection("topics of the podcast search")
    imported.docs += [ImportedDoc(episode, {"topics": topics}) for episode, topics in topics_of.items()]
    n_topics = len({topic for topics in topics_of.values() for topic in topics})
    imported.notes.append(f"{n_topics} different topics over {len(topics_of)} episodes")
    return imported


def import_results(
    content: Any, where: str, *, query: str | None, title: str = "results of the podcast search"
) -> ImportedCollection:
    """Import a list of results; it does not say what was searched for."""
    name = query_id(query) if query else "query"
    imported = ImportedCollection(title, has_texts_only=True)
    imported.add_query(name, query)
    imported.is_nameless = not query
    for record, place in objects_in(content, where, key="results", what="result"):
        episode = text_of(record, "episode_id", place)
        distance = number_or_none(record.get("_distance", record.get("distance")))
        percent = number_or_none(record.get("relevance"))
        score = 1.0 - distance if distance is not None else None if percent is None else percent / 100
        imported.add_results("podcast-search", name, [(episode, score)])
        imported.add_doc(episode, present(record, *_FIELDS))
    if not query:
        imported.notes.append(
            'the results do not say what was searched for: the query is called "query"; say --query TEXT'
        )
    return imported


def import_export(content: Mapping[str, Any], where: str, *, query: str | None) -> ImportedCollection:
    """Import the app's export: results, with what was searched for and when."""
    metadata = an_object(content.get("metadata") or {}, f"{where}: metadata")
    results = content["results"]
    imported = import_results(
        results, where, query=metadata.get("query") or query, title="export of the podcast search"
    )
    imported.made = str(metadata.get("export_date") or "")
    stated = metadata.get("result_count")
    if stated not in (None, len(results)):
        imported.notes.append(f"result_count is {stated}, but there are {len(results)} results")
    return imported
