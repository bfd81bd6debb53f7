"""Collections: docs, queries with attributes, and qrels, from a folder, from files, or from ir_datasets."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from rankscope.data.loading import ReadOptions, load_qrels
from rankscope.data.qrels import Qrels
from rankscope.data.queries import QueryTable, load_queries
from rankscope.errors import InputError, OptionError
from rankscope.experiment.collection_folder import find_docs, find_qrels, find_queries
from rankscope.experiment.doc_files import DocFile, Docs, Scan
from rankscope.experiment.fingerprint import Memory, qrels_digest, queries_digest
from rankscope.io.source import missing
from rankscope.predecessors.importers import ImportedCollection, import_file
from rankscope.systems.base import Doc, Query

PARTS = ("docs", "queries", "qrels")
ABOUT = "collection.json"
"""Beside the parts of a folder: where they come from, version, licence, citation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectionSpec:
    """Where the parts of a collection are: a folder or file for all of them, and any part by itself."""

    name: str
    path: Path | None = None
    """A folder, or a file of an earlier framework that holds queries and judgments."""
    docs: Path | None = None
    queries: Path | None = None
    qrels: Path | None = None
    ir_datasets: str | None = None
    columns: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """For each part which column holds what, where the names do not tell."""
    attributes: Mapping[str, Any] = field(default_factory=dict)
    """What holds for all queries, such as their language."""
    ontology: str | None = None
    embeddings: Path | None = None
    split: Path | None = None
    group: str | None = None
    """The attribute of queries that belong together, such as paraphrases or those of one session."""
    weights: str | None = None
    """The attribute of queries that says how much each counts, such as its traffic."""


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a collection: where it is, how much it holds, and what it hashes to."""

    where: str
    n: int
    sha256: str


@dataclass(eq=False)
class Collection:
    """Docs, queries and qrels; docs are streamed, and hashes are computed when they are first asked for."""

    spec: CollectionSpec
    docs: Docs
    queries: QueryTable
    qrels: Qrels
    where: Mapping[str, str]
    """The file, or other source, of each part."""
    about: Mapping[str, Any] = field(default_factory=dict)
    memory: Memory = field(default_factory=lambda: Memory(None), repr=False)

    @property
    def name(self) -> str:
        """What the project, or its folder, calls it."""
        return self.spec.name

    @property
    def ontology(self) -> str | None:
        """The ontology that the docs are terms of, where the project or the collection says so."""
        stated = self.about.get("ontology")
        return self.spec.ontology or (stated.get("source") if isinstance(stated, Mapping) else None)

    @cached_property
    def query_list(self) -> tuple[Query, ...]:
        """The queries as systems take them."""
        texts = self.queries.texts or {}
        return tuple(Query(query, texts[query], self.queries.attributes_of(query)) for query in self.queries.ids)

    @cached_property
    def parts(self) -> Mapping[str, Part]:
        """Each part with its size and content hash."""
        scan = self.docs.scan
        return {
            "docs": Part(self.where["docs"], scan.n_docs, scan.sha256),
            "queries": self._part("queries", len(self.queries), lambda: queries_digest(self.queries)),
            "qrels": self._part("qrels", len(self.qrels.rows), lambda: qrels_digest(self.qrels)),
        }

    def _part(self, part: str, n: int, digest: Callable[[], str]) -> Part:
        key = f"{part} {sorted(self.spec.columns.get(part, {}).items())} {sorted(self.spec.attributes.items())}"
        found = self.memory.recall(key, Path(self.where[part]), lambda: {"sha256": digest()})
        return Part(self.where[part], n, found["sha256"])

    @property
    def hashes(self) -> dict[str, str]:
        """The content hash of each part."""
        return {name: part.sha256 for name, part in self.parts.items()}

    def problems(self) -> list[str]:
        """Return what is odd about the collection, in words; the docs are gone through once."""
        return list(problems_in(self))


def spec_of(path: str | Path, *, name: str | None = None) -> CollectionSpec:
    """Return the collection that lies in a folder, or in a file of an earlier framework."""
    place = Path(path)
    return CollectionSpec(name=name or place.resolve().name, path=place)


def load_collection(spec: CollectionSpec, *, cache: Path | None = None) -> Collection:
    """Open a collection: queries and qrels are read, docs only when they are gone through.

    `cache` is a folder in which the hashes of files are remembered.
    """
    memory = Memory(cache / "collections" if cache else None)
    if spec.ir_datasets is not None:
        from rankscope.experiment.ir_datasets_ import from_ir_datasets

        return from_ir_datasets(spec, memory)
    imported = imported_from(spec.path)
    where = {part: place_of(spec, part, imported) for part in PARTS}
    return Collection(
        spec,
        docs_of(spec, imported, memory),
        with_attributes(queries_of(spec, imported), spec.attributes),
        qrels_of(spec, imported),
        where,
        about_in(spec.path),
        memory,
    )


def imported_from(path: Path | None) -> ImportedCollection | None:
    """Return what a file of an earlier framework holds; a folder is none."""
    if path is not None and not path.exists():
        raise missing(path)
    return None if path is None or path.is_dir() else import_file(path)


def place_of(spec: CollectionSpec, part: str, imported: ImportedCollection | None) -> str:
    """Return the file that holds a part."""
    stated: Path | None = getattr(spec, part)
    if stated is not None:
        return str(stated)
    if spec.path is None:
        raise OptionError(
            f"collection {spec.name} has no {part}", hint=f"give it a path, or {part} = FILE by itself, or ir_datasets"
        )
    if imported is not None:
        return str(spec.path)
    return str({"docs": find_docs, "queries": find_queries, "qrels": find_qrels}[part](spec.path))


def docs_of(spec: CollectionSpec, imported: ImportedCollection | None, memory: Memory) -> Docs:
    """Return the docs of a collection."""
    if imported is None or spec.docs is not None:
        path = Path(place_of(spec, "docs", imported))
        if not path.exists():
            raise missing(path)
        return DocFile(path, columns=spec.columns.get("docs"), memory=memory)
    if not imported.docs:
        raise InputError(
            f"{spec.path} ({imported.title}) holds no docs",
            hint="give them by themselves: docs = FILE; for terms of HPO see `rankscope collection hpo --cases`",
        )
    return ImportedDocs(str(spec.path), imported)


class ImportedDocs(Docs):
    """The docs in a file of an earlier framework."""

    def __init__(self, name: str, imported: ImportedCollection) -> None:
        self.name = name
        self._docs = imported.docs

    def numbered(self) -> Iterator[tuple[int, Doc]]:
        """Yield each doc with its place in the file."""
        for number, doc in enumerate(self._docs, 1):
            rest = {name: value for name, value in doc.fields.items() if name not in {"text", "title"}}
            yield number, Doc(doc.id, str(doc.fields.get("text", "")), str(doc.fields.get("title", "")), rest)


def queries_of(spec: CollectionSpec, imported: ImportedCollection | None) -> QueryTable:
    """Return the queries of a collection, each with a text."""
    if imported is None or spec.queries is not None:
        place = place_of(spec, "queries", imported)
        return load_queries(place, columns=spec.columns.get("queries"), need_text=True)
    rows = [{"_id": query.id, "text": query.text, **query.attributes} for query in imported.queries]
    return load_queries(rows, need_text=True)


def qrels_of(spec: CollectionSpec, imported: ImportedCollection | None) -> Qrels:
    """Return the judgments of a collection."""
    if imported is None or spec.qrels is not None:
        place = place_of(spec, "qrels", imported)
        return load_qrels(place, options=ReadOptions(columns=spec.columns.get("qrels")))
    if not imported.judgments:
        raise InputError(f"{spec.path} ({imported.title}) holds no judgments", hint="give them: qrels = FILE")
    return Qrels(imported.qrels_rows)


def with_attributes(queries: QueryTable, attributes: Mapping[str, Any]) -> QueryTable:
    """Return queries with attributes that hold for all of them; what a query says of itself goes first."""
    columns = {name: dict(column) for name, column in queries.attributes.items()}
    for name, value in attributes.items():
        columns[name] = {**dict.fromkeys(queries.ids, value), **columns.get(name, {})}
    return dataclasses.replace(queries, attributes=columns)


def about_in(path: Path | None) -> dict[str, Any]:
    """Return what a folder says about itself."""
    note = path / ABOUT if path is not None else None
    if note is None or not note.is_file():
        return {}
    try:
        content = json.loads(note.read_text("utf-8"))
    except ValueError as error:
        raise InputError(f"{note} is not valid JSON: {error}", hint="mend it, or remove it") from error
    return content if isinstance(content, dict) else {}


def problems_in(collection: Collection) -> Iterator[str]:
    """Yield what is odd: empty docs, queries without judgments, judgments of what is not there."""
    scan: Scan = collection.docs.scan
    if scan.n_empty:
        yield f"{counted(scan.n_empty, 'doc')} without a text or title, the first at {scan.first_empty}"
    judged, asked = set(collection.qrels.query_ids), set(collection.queries.ids)
    if unjudged := [query for query in collection.queries.ids if query not in judged]:
        yield f"{counted(len(unjudged), 'query')} without judgments: {few(unjudged)}"
    if unknown := sorted(judged - asked):
        yield f"{counted(len(unknown), 'judged query')} not among the queries: {few(unknown)}"
    wanted = set(collection.qrels.rows.doc)
    wanted.difference_update(doc.id for doc in collection.docs)
    if wanted:
        yield f"{counted(len(wanted), 'judged doc')} not among the docs: {few(sorted(wanted))}"


def counted(n: int, what: str) -> str:
    """Return a number with its noun."""
    plural = f"{what[:-1]}ies" if what.endswith("y") else f"{what}s"
    return f"1 {what}" if n == 1 else f"{n:,} {plural}"


def few(ids: Sequence[str], shown: int = 3) -> str:
    """Show the first few ids."""
    return ", ".join(ids[:shown]) + (", …" if len(ids) > shown else "")
