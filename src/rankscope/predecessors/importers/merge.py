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
from rankscope.records import replace

SHOWN_CONFLICTS = 10
"""So many conflicts of one kind are listed; the others are counted."""
UNRESOLVED = "name:unresolved-"
"""How ids begin that stand for names of the ground truth of which it is not known which they are."""
_ENDING = re.compile(r"\.(json|jsonl|csv)(\.\w+)?$")
_DAY = re.compile(r"(\d{4})-?(\d{2})-?(\d{2})")


def import_kept(content: Sequence[Mapping[str, Any]], where: str) -> ImportedCollection:
    """Import single judgments that were kept before: flags, choices and verdicts."""
    imported = ImportedCollection("single judgments")
    imported.opinions += check_judgments(enumerate(content, 1), where=where)
    return imported


def merge_imports(
    files: Sequence[tuple[str, ImportedCollection]], *, docs: Mapping[str, Mapping[str, Mapping[str, Any]]]
) -> ImportedCollection:
    """Return what files hold, by their paths, as one collection; what they repeat is taken once.

    `docs` are fields of docs, by file and doc, that are known besides.
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
            parts[label] = with_query_called(part, f"query-{marks[label]}")
        merged.notes += [f"{label}: {note}" if several else note for note in part.notes]
    name_of, naming_notes = name_runs(parts, marks)
    merged.notes += naming_notes
    merged.queries = merge_queries(parts, merged.notes)
    shown_docs = {label: [(doc.id, doc.fields) for doc in part.docs] for label, part in parts.items()}
    merged.docs = merge_docs({**{label: by_id.items() for label, by_id in docs.items()}, **shown_docs}, merged.notes)
    merged.judgments = merge_judgments(parts, merged.notes)
    merged.runs = merge_runs(parts, name_of)
    merged.scores = merge_scores(parts, name_of, merged.notes)
    opinions = {
        opinion.uuid: replace(opinion, system=name_of.get((label, str(opinion.system)), opinion.system))
        for label, part in parts.items()
        for opinion in part.opinions
    }
    merged.opinions = list(opinions.values())
    return merged


def without_content(part: ImportedCollection) -> ImportedCollection:
    """Return a collection that says the same of its file, and holds nothing yet."""
    return ImportedCollection(part.title, kind=part.kind, made=part.made, is_nameless=part.is_nameless)


def labels_of(paths: Sequence[str]) -> list[str]:
    """Return short names for files: each with as many of its folders as tell them all apart."""
    parts = [Path(path).absolute().parts for path in paths]
    for path, own in zip(paths, parts, strict=True):
        if parts.count(own) > 1:
            raise FormatError(f"{path} is given twice", hint="give each file once")
    n_parts = next(n for n in range(1, 1 + max(map(len, parts))) if len({own[-n:] for own in parts}) == len(parts))
    return [Path(*own[-n_parts:]).as_posix() for own in parts]


def marks_of(labels: Iterable[str]) -> dict[str, str]:
    """Return what tells runs and queries of each file apart: its name without the ending, where that is enough."""
    bare = {label: _ENDING.sub("", Path(label).as_posix()) for label in labels}
    return {label: mark if list(bare.values()).count(mark) == 1 else label for label, mark in bare.items()}


def with_query_called(part: ImportedCollection, name: str) -> ImportedCollection:
    """Return a file's collection whose only query, which has no name, has this one."""
    renamed = without_content(part)
    renamed.notes, renamed.docs = part.notes, part.docs
    renamed.queries = [replace(query, id=name) for query in part.queries]
    renamed.judgments = [replace(judgment, query=name) for judgment in part.judgments]
    renamed.opinions = [with_uuid(replace(opinion, query=name)) for opinion in part.opinions]
    renamed.scores = [replace(score, query=score.query and name) for score in part.scores]
    renamed.runs = [ImportedRun(run.name, [replace(result, query=name) for result in run.results]) for run in part.runs]
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
    return " ".join(text.lower().split())


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


def name_runs(
    parts: Mapping[str, ImportedCollection], marks: Mapping[str, str]
) -> tuple[dict[tuple[str, str], str], list[str]]:
    """Return what each system of each file is called, and what has to be said of it.

    Lists of one system for different queries belong to one run. Where two files have other lists or scores of it for
    the same query, its runs are named apart: by their days where these tell them apart, else by their files.
    """
    names: dict[tuple[str, str], str] = {}
    notes: list[str] = []
    for system in dict.fromkeys(name for part in parts.values() for name in part.systems):
        having = [label for label, part in parts.items() if system in part.systems]
        names |= {(label, system): system for label in having}
        query = differing_query(parts, having, system)
        if query is None:
            continue
        by_day: dict[str, list[str]] = {}
        for label in having:
            by_day.setdefault(day_of(parts[label].made), []).append(label)
        by_days = "" not in by_day and all(differing_query(parts, labels, system) is None for labels in by_day.values())
        for label in having:
            mark = day_of(parts[label].made) if by_days else marks[label]
            names[label, system] = f"{system}_{mark}"
        how = "by the days that the files say" if by_days else "by their files"
        notes.append(f"{system} differs between files, e.g. for query {query}: its runs are named apart, {how}")
    owners: dict[str, str] = {}
    for (_, system), name in names.items():
        if owners.setdefault(name, system) != system:
            raise FormatError(
                f"runs of {owners[name]} and of {system} would both be called {name}", hint="rename one of the files"
            )
    return names, notes


def differing_query(parts: Mapping[str, ImportedCollection], labels: Sequence[str], system: str) -> str | None:
    """Return a query for which the lists or scores of a system differ between files, None where there is none."""
    seen: dict[tuple[str, str], Any] = {}
    for label in labels:
        lists: dict[tuple[str, str], Any] = {}
        for run in parts[label].runs:
            for result in run.results if run.name == system else ():
                lists.setdefault((result.query, ""), []).append(result.doc)
        scores = {
            (score.query, score.measure): score.value
            for score in parts[label].scores
            if score.system == system and score.query is not None
        }
        for key, value in {**lists, **scores}.items():
            if seen.setdefault(key, value) != value:
                return key[0]
    return None


def day_of(made: str) -> str:
    """Return the day of a time such as 2025-01-21T10:00:00 or 20250121T100000, empty where there is none."""
    found = _DAY.match(made)
    return "-".join(found.groups()) if found else ""


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
