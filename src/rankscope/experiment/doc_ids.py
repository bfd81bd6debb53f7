"""Whether what systems return are ids of the collection's docs, and what it looks like where they are not."""

from __future__ import annotations

from collections.abc import Collection as Container
from collections.abc import Mapping, Sequence
from itertools import islice

from rankscope.align.finding import count_of, first_ids, quote_id
from rankscope.align.near_ids import find_near_match
from rankscope.errors import shorten
from rankscope.experiment.collection import Collection
from rankscope.experiment.doc_texts import TEXT_INSTEAD_OF_ID
from rankscope.experiment.results import SystemResult, UnknownDocs
from rankscope.experiment.session import CollectionSession
from rankscope.records import replace

MOST_IDS = 200_000
"""So many ids of a collection are enough to see how they are written."""


def add_findings(
    session: CollectionSession, systems: Sequence[SystemResult], docs: Mapping[str, Container[str]], *, anyway: bool
) -> tuple[SystemResult, ...]:
    """Return systems with what is wrong with the ids in `docs`, which is an error unless they are kept anyway.

    Where there are no ids at all, but texts, nothing can be kept.
    """
    foreign = [system for system in systems if session.has_foreign_ids(system.name)]
    retrieved = {system.name: docs[system.name] for system in foreign}
    unknown = unknown_ids(session.collection, retrieved)
    findings = find_unknown_docs(session.collection, retrieved, unknown)
    for name, ids in unknown.items():
        if ids and name not in findings:
            session.doc_notes.append(
                note_on_unknown(name, [doc for doc in retrieved[name] if doc in ids], retrieved[name])
            )
    if anyway:
        findings = {name: replace(finding, level="warning") for name, finding in findings.items()}
    for system in foreign:
        if not retrieved[system.name] and (finding := find_texts_alone(session.collection, system)) is not None:
            findings[system.name] = finding
    return tuple(replace(system, finding=system.finding or findings.get(system.name)) for system in systems)


def unknown_ids(collection: Collection, retrieved: Mapping[str, Container[str]]) -> dict[str, set[str]]:
    """Return the ids that each system has retrieved and the collection does not have.

    The docs are read only as far as it takes to find every id.
    """
    unknown = {name: set(ids) for name, ids in retrieved.items()}
    if any(unknown.values()):
        for doc in collection.docs:
            for ids in unknown.values():
                ids.discard(doc.id)
            if not any(unknown.values()):
                break
    return unknown


def note_on_unknown(name: str, unknown: Sequence[str], retrieved: Container[str]) -> str:
    found = count_of(len(unknown), len(retrieved), "retrieved ids are no docs of the collection")
    return f"{name}: {found} ({', '.join(first_ids(unknown))}). They count as docs that are not relevant."


def find_texts_alone(collection: Collection, system: SystemResult) -> UnknownDocs | None:
    """Return the finding that a system has retrieved nothing but texts, which failed its queries."""
    reasons = {failure.query: failure.reason for failure in system.failures}  # once, however often it was asked
    texts = [reason for reason in reasons.values() if reason.startswith(TEXT_INSTEAD_OF_ID)]
    if not texts:
        return None
    message = count_of(len(texts), system.n_queries, "queries were answered with texts instead of ids of docs")
    if len(texts) < system.n_queries:
        message += ", the others with no docs"
    known = quote_id(next(iter(collection.docs)).id)
    hint = f"give ids as the collection has them, such as {known}, then run again"
    return UnknownDocs("error", "texts_instead_of_ids", message, (texts[0].removeprefix(TEXT_INSTEAD_OF_ID),), hint)


def find_unknown_docs(
    collection: Collection, retrieved: Mapping[str, Container[str]], unknown: Mapping[str, Container[str]]
) -> dict[str, UnknownDocs]:
    """Return what is wrong with each system of whose retrieved ids under half are docs of the collection."""
    n_known = {name: len(ids) - len(unknown[name]) for name, ids in retrieved.items()}
    doubtful = [name for name, ids in retrieved.items() if 2 * n_known[name] < len(ids)]
    known = [doc.id for doc in islice(collection.docs, MOST_IDS)] if doubtful else []
    return {name: describe_unknown(name, known, list(retrieved[name]), n_known[name]) for name in doubtful}


def describe_unknown(system: str, known: Sequence[str], retrieved: Sequence[str], n_known: int) -> UnknownDocs:
    """Return the finding that most of what a system retrieves are no docs of the collection, and how that may be."""
    in_collection, in_run = set(known), set(retrieved)
    unknown = [doc for doc in retrieved if doc not in in_collection]
    missed = [doc for doc in known if doc not in in_run]
    found = count_of(n_known, len(retrieved), "retrieved ids are docs of the collection")
    hint = (
        f"give ids as the collection has them, such as {quote_id(known[0])}, then ask anew: "
        f"rankscope run --fresh --only {system}; --anyway compares it all the same"
    )
    if share_of_texts(unknown) > 1 / 2 > share_of_texts(known):
        message = f"{found}; these look like texts, not ids"
        return UnknownDocs("error", "texts_instead_of_ids", message, (quote_id(shorten(unknown[0])),), hint)
    near = find_near_match(missed, unknown, side="collection")
    if near and near.n_matched > n_known:
        at_least = "at least " if len(known) == MOST_IDS else ""
        message = f"{found}; they differ only by {near.difference}: {at_least}{near.n_matched:,} would match"
        return UnknownDocs("error", "doc_ids_nearly_match", message, near.examples, hint)
    examples = (f"collection: {', '.join(first_ids(missed))}", f"run: {', '.join(first_ids(unknown))}")
    return UnknownDocs("error", "unknown_docs", found, examples, hint)


def share_of_texts(ids: Sequence[str]) -> float:
    return sum(len(one.split()) > 1 for one in ids) / len(ids)
