"""Several imported files as one collection: what they say of the same doc or query is united, runs are named apart."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rankscope.data.judgments import check_judgments, with_uuid
from rankscope.errors import FormatError
from rankscope.predecessors.importers.content import shown
from rankscope.predecessors.importers.model import (
    ImportedCollection,
    ImportedDoc,
    ImportedJudgment,
    ImportedQuery,
    ImportedResult,
    ImportedRun,
    RecordedScore,
)
from rankscope.predecessors.importers.run_names import name_runs
from rankscope.records import replace

SHOWN_CONFLICTS = 10
"""So many conflicts of one kind are listed; the others are counted."""
UNRESOLVED = "name:unresolved-"
"""How ids begin that stand for names of the ground truth of which it is not known which they are."""
_ENDING = re.compile(r"\.(json|jsonl|csv)(\.\w+)?$")


def import_kept(content: Sequence[Mapping[str, Any]], where: str) -> ImportedCollection:
    """Import single judgments that were kept before: flags, choices and verdicts."""
    imported = ImportedCollection("single judgments")
    imported.opinions += check_judgments(enumerate(content, 1), where=where)
    return imported


def merge_imports(
    files: Sequence[tuple[str, ImportedCollection]],
    *,
    docs: Mapping[str, Mapping[str, Mapping[str, Any]]],
    asked: str | None = None,
) -> ImportedCollection:
    """Return what files hold, by their paths, as one collection; what they repeat is taken once.

    `docs` are fields of docs, by file and doc, that are known besides; `asked` is what was searched for where files do
    not say it: a text, or the id of a query.
    """
    labels = labels_of([path for path, _ in files])
    parts = dict(zip(labels, (found for _, found in files), strict=True))
    several = len(parts) > 1
    merged = (
        ImportedCollection(f"{len(parts)} files as one collection")
        if several
        else without_content(next(iter(parts.values())))
    )
    merged.sources = {label: part.kind for label, part in parts.items()}
    marks = marks_of(labels)
    merged.kind = ", ".join(dict.fromkeys(part.kind for part in parts.values()))
    for label, part in parts.items():
        if several and part.is_nameless:
            parts[label] = with_queries_called(part, {query.id: f"query-{marks[label]}" for query in part.queries})
        merged.notes += [f"{label}: {note}" if several else note for note in part.notes]
    parts = with_known_ids(parts, asked)
    folders = folders_of([path for path, _ in files])
    name_of, naming_notes = name_runs(parts, marks, dict(zip(labels, folders, strict=True)))
    merged.notes += naming_notes
    merged.queries = merge_queries(parts, merged.notes)
    shown_docs = {label: [(doc.id, doc.fields) for doc in part.docs] for label, part in parts.items()}
    merged.docs = merge_docs({**{label: by_id.items() for label, by_id in docs.items()}, **shown_docs}, merged.notes)
    merged.judgments = merge_judgments(parts, merged.notes)
    merged.runs = merge_runs(parts, name_of)
    merged.scores = merge_scores(parts, name_of, merged.notes)
    merged.opinions = list({opinion.uuid: opinion for part in parts.values() for opinion in part.opinions}.values())
    return merged


def without_content(part: ImportedCollection) -> ImportedCollection:
    """Return a collection that says the same of its file, and holds nothing yet."""
    facts = {name: getattr(part, name) for name in ("kind", "made", "is_nameless", "has_texts_only")}
    return ImportedCollection(part.title, **facts)


def labels_of(paths: Sequence[str]) -> list[str]:
    """Return short names for files: each with as many of its folders as tell them all apart."""
    parts = [Path(path).absolute().parts for path in paths]
    for path, own in zip(paths, parts, strict=True):
        if parts.count(own) > 1:
            raise FormatError(f"{path} is given twice", hint="give each file once")
    n_parts = next(n for n in range(1, 1 + max(map(len, parts))) if len({own[-n:] for own in parts}) == len(parts))
    return [Path(*own[-n_parts:]).as_posix() for own in parts]


def folders_of(paths: Sequence[str]) -> list[str]:
    """Return short names for the folders of files, each with as many of its own folders as tell them apart."""
    parents = [str(Path(path).absolute().parent) for path in paths]
    different = list(dict.fromkeys(parents))
    short = dict(zip(different, labels_of(different), strict=True))
    return [short[parent] for parent in parents]


def marks_of(labels: Iterable[str]) -> dict[str, str]:
    """Return what tells runs and queries of each file apart: its name without the ending, where that is enough."""
    bare = {label: _ENDING.sub("", Path(label).as_posix()) for label in labels}
    return {label: mark if list(bare.values()).count(mark) == 1 else label for label, mark in bare.items()}


def with_known_ids(parts: Mapping[str, ImportedCollection], asked: str | None) -> dict[str, ImportedCollection]:
    """Return the files, those that say only the text of a query with the id that another file has for that text.

    What was asked for by an option may also be such an id itself.
    """
    named = [query for part in parts.values() if not part.has_texts_only for query in part.queries]
    ids_of: dict[str, set[str]] = {}
    for query in named:
        ids_of.setdefault(plain_text(query.text), set()).add(query.id)
    is_id = any(query.id == asked for query in named)
    found = dict(parts)
    for label, part in parts.items():
        new_ids: dict[str, str] = {}
        for query in part.queries if part.has_texts_only and not part.is_nameless else ():
            ids = ids_of.get(plain_text(query.text), set()) | ({query.text} if is_id and query.text == asked else set())
            if len(ids) > 1:
                raise FormatError(
                    f"{label} is about {shown(query.text)}, which may be any of the queries {', '.join(sorted(ids))}",
                    hint="say which: --query ID for a file that does not say what was asked, else testCase.id in it",
                )
            new_ids |= dict.fromkeys([query.id] if ids else [], next(iter(ids), ""))
        found[label] = with_queries_called(part, new_ids) if new_ids else part
        if is_id:
            found[label].queries = [
                replace(query, text="") if part.has_texts_only and query.text == asked else query
                for query in found[label].queries
            ]
    return found


def with_queries_called(part: ImportedCollection, id_of: Mapping[str, str]) -> ImportedCollection:
    """Return a file's collection where queries have other ids, of {old: new}."""
    renamed = without_content(part)
    renamed.notes, renamed.docs = part.notes, part.docs

    def named(query: str) -> str:
        return id_of.get(query, query)

    renamed.queries = [replace(query, id=named(query.id)) for query in part.queries]
    renamed.judgments = [replace(judgment, query=named(judgment.query)) for judgment in part.judgments]
    renamed.opinions = [with_uuid(replace(opinion, query=named(opinion.query))) for opinion in part.opinions]
    renamed.scores = [replace(score, query=score.query and named(score.query)) for score in part.scores]
    renamed.runs = [
        ImportedRun(run.name, [replace(result, query=named(result.query)) for result in run.results])
        for run in part.runs
    ]
    return renamed


class Conflicts:
    """What files say differently; the first value is kept."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._words: list[str] = []

    def add(self, where: str, kept: Any, kept_in: str, other: Any, other_in: str) -> None:
        files = (f" in {kept_in}", f" in {other_in}") if kept_in != other_in else ("", "")
        self._words.append(f"{where} is {shown(kept)}{files[0]} and {shown(other)}{files[1]}; the first is kept")

    def notes(self) -> Iterable[str]:
        yield from self._words[:SHOWN_CONFLICTS]
        if len(self._words) > SHOWN_CONFLICTS:
            yield f"{len(self._words) - SHOWN_CONFLICTS} more {self._what} differ; the first value is kept"


def merge_queries(parts: Mapping[str, ImportedCollection], notes: list[str]) -> list[ImportedQuery]:
    """Return each query once, with all that is known of it; two texts under one id are refused."""
    conflicts = Conflicts("attributes of queries")
    found: dict[str, ImportedQuery] = {}
    text_in: dict[str, str] = {}
    set_in: dict[tuple[str, str], str] = {}
    for label, part in parts.items():
        for query in part.queries:
            known = found.setdefault(query.id, ImportedQuery(query.id))
            if known.text and query.text and plain_text(known.text) != plain_text(query.text):
                raise FormatError(
                    f"query {query.id} is {shown(known.text)} in {text_in[query.id]}, "
                    f"but {shown(query.text)} in {label}",
                    hint="these are two queries: give them ids of their own, or import the files into two folders",
                )
            if query.text and not known.text:
                text_in[query.id] = label
            attributes = dict(known.attributes)
            for name, value in query.attributes.items():
                if attributes.setdefault(name, value) != value:
                    where = f"{name} of query {query.id}"
                    conflicts.add(where, attributes[name], set_in[query.id, name], value, label)
                set_in.setdefault((query.id, name), label)
            found[query.id] = ImportedQuery(query.id, known.text or query.text, attributes)
    notes += conflicts.notes()
    return list(found.values())


def plain_text(text: str) -> str:
    return " ".join(text.casefold().split())


def merge_docs(docs_in: Mapping[str, Iterable[tuple[str, Mapping[str, Any]]]], notes: list[str]) -> list[ImportedDoc]:
    """Return each doc once, with the fields of all files; of the ids and fields that each file has."""
    conflicts = Conflicts("fields of docs")
    fields_of: dict[str, dict[str, Any]] = {}
    set_in: dict[tuple[str, str], str] = {}
    for label, docs in docs_in.items():
        for doc, said in docs:
            fields = fields_of.setdefault(doc, {})
            for name, value in said.items():
                if fields.setdefault(name, value) != value:
                    conflicts.add(f"{name} of doc {doc}", fields[name], set_in[doc, name], value, label)
                set_in.setdefault((doc, name), label)
    notes += conflicts.notes()
    return [ImportedDoc(doc, fields) for doc, fields in fields_of.items()]


def merge_judgments(parts: Mapping[str, ImportedCollection], notes: list[str]) -> list[ImportedJudgment]:
    """Return each judgment once; people's and a model's stay apart. Ground truth that differs is said."""
    conflicts = Conflicts("grades")
    found: dict[tuple[str, str, str], ImportedJudgment] = {}
    stated_in: dict[tuple[str, str, str], str] = {}
    docs_of: dict[str, dict[str, set[str]]] = {}
    for label, part in parts.items():
        for judgment in part.judgments:
            key = (judgment.by, judgment.query, judgment.doc)
            if found.setdefault(key, judgment).grade != judgment.grade:
                where = f"the grade of doc {judgment.doc} for query {judgment.query}"
                conflicts.add(where, found[key].grade, stated_in[key], judgment.grade, label)
            stated_in.setdefault(key, label)
            if judgment.by == "people":
                docs_of.setdefault(judgment.query, {}).setdefault(label, set()).add(judgment.doc)
    notes += conflicts.notes()
    differing = [note for query, by_file in docs_of.items() for note in settle_unresolved(query, by_file, found)]
    notes += differing[:SHOWN_CONFLICTS]
    if len(differing) > SHOWN_CONFLICTS:
        notes.append(f"the judged docs of {len(differing) - SHOWN_CONFLICTS} more queries differ; all of them are kept")
    return list(found.values())


def settle_unresolved(
    query: str, by_file: Mapping[str, set[str]], found: dict[tuple[str, str, str], ImportedJudgment]
) -> Iterable[str]:
    """Drop names that one file left open where another one names as many docs; say where files judge other docs."""
    named = {label: {doc for doc in docs if not doc.startswith(UNRESOLVED)} for label, docs in by_file.items()}
    most = max(map(len, by_file.values()))
    complete = next((docs for docs in named.values() if len(docs) == most), None)
    if complete is not None:
        for label, docs in by_file.items():
            for doc in docs - named[label]:
                found.pop(("people", query, doc), None)
        by_file = {label: docs for label, docs in named.items() if docs == by_file[label] or not docs <= complete}
    if len(set(map(frozenset, by_file.values()))) > 1:
        counts = ", ".join(f"{len(docs)} in {label}" for label, docs in by_file.items())
        n_all = sum(key[:2] == ("people", query) for key in found)
        yield f"query {query} has other judged docs in each file ({counts}); all {n_all} are kept"


def merge_runs(parts: Mapping[str, ImportedCollection], name_of: Mapping[tuple[str, str], str]) -> list[ImportedRun]:
    """Return the runs by their new names; a list that two files have in common is taken once."""
    lists: dict[str, dict[str, list[ImportedResult]]] = {}
    for label, part in parts.items():
        for run in part.runs:
            own: dict[str, list[ImportedResult]] = {}
            for result in run.results:
                own.setdefault(result.query, []).append(result)
            known = lists.setdefault(name_of[label, run.name], {})
            for query, results in own.items():
                known.setdefault(query, results)
    return [
        ImportedRun(name, [result for results in queries.values() for result in results])
        for name, queries in lists.items()
    ]


def merge_scores(
    parts: Mapping[str, ImportedCollection], name_of: Mapping[tuple[str, str], str], notes: list[str]
) -> list[RecordedScore]:
    """Return each score once; means are those of a file, and name it."""
    conflicts = Conflicts("scores")
    found: dict[tuple[str, str | None, str, str], RecordedScore] = {}
    for label, part in parts.items():
        for score in part.scores:
            file = label if len(parts) > 1 and score.query is None else ""
            own = replace(score, system=name_of[label, score.system], file=file)
            key = (own.system, own.query, own.measure, file)
            if found.setdefault(key, own).value != own.value:
                where = f"{own.measure} of {own.system} for {own.query or 'all queries'}"
                conflicts.add(where, found[key].value, label, own.value, label)
    notes += conflicts.notes()
    return list(found.values())
