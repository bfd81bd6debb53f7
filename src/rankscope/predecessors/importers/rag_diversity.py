"""Files of the diversity-aware RAG benchmark: its reports, and its cache of BEIR collections."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rankscope.errors import FormatError
from rankscope.predecessors.importers.content import an_object, number_or_none, objects_in, text_of
from rankscope.predecessors.importers.model import ImportedCollection, ImportedDoc


def import_report(content: Mapping[str, Any], where: str) -> ImportedCollection:
    """Import a report: means by method, and nothing by query."""
    imported = ImportedCollection(f"report of the RAG benchmark on {content.get('dataset') or 'an unnamed dataset'}")
    imported.made = str(content.get("timestamp") or "")
    for method, found in an_object(content.get("metrics"), f"{where}: metrics").items():
        if "error" in an_object(found, f"{where}: metrics of {method}"):
            imported.notes.append(f"method {method} failed: {found['error']}")
        else:
            imported.add_scores(method, None, found)
    missing = [method for method in content.get("methods") or [] if method not in content["metrics"]]
    imported.notes.extend(f"method {method} is listed, but has no metrics" for method in missing)
    imported.notes.append("the report holds means only: without scores by query, no difference can be tested")
    return imported


def import_cache(content: Mapping[str, Any], where: str) -> ImportedCollection:
    """Import a cached collection: queries, docs and judgments."""
    imported = ImportedCollection(f"cached collection {content.get('name') or ''}".strip())
    for row, place in objects_in(content.get("queries"), where, key="queries", what="query"):
        imported.add_query(text_of(row, "id", place), row.get("text"), row.get("metadata"))
    for row, place in objects_in(content.get("documents"), where, key="documents", what="document"):
        own = {name: row[name] for name in ("title", "text") if row.get(name)}
        imported.docs.append(ImportedDoc(text_of(row, "id", place), {**(row.get("metadata") or {}), **own}))
    for row, place in objects_in(content.get("qrels"), where, key="qrels", what="judgment"):
        grade = number_or_none(row.get("relevance"))
        if grade is None:
            raise FormatError(f"{place}: relevance {row.get('relevance')!r} is not a number", hint='add "relevance": 1')
        imported.add_judgments(text_of(row, "query_id", place), [text_of(row, "doc_id", place)], grade)
    strangers = {judgment.query for judgment in imported.judgments} - {query.id for query in imported.queries}
    if strangers:
        imported.notes.append(f"{len(strangers)} queries are judged but not listed, e.g. {min(strangers)}")
    if {judgment.doc for judgment in imported.judgments} == {"0"}:
        imported.notes.append(
            'every judged doc is "0": the cache was made from four-column TREC qrels, which its reader mistakes'
        )
    return imported
