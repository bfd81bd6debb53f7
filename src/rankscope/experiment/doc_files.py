"""Docs in files, streamed: read from disk each time they are gone through, and never all in memory."""

from __future__ import annotations

import csv
import sys
from abc import ABC, abstractmethod
from array import array
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from msgspec import field

from rankscope.data.doc_fields import ID_NAMES, is_missing
from rankscope.data.docs import NumberedRow, cell_rows, flat_fields, json_rows, kind_in_name, line_rows, parquet_rows
from rankscope.errors import BadLinesError, DuplicateError, FormatError, OptionError, did_you_mean
from rankscope.experiment.fingerprint import ContentDigest, ScanCache
from rankscope.io.compression import MAGIC_BYTES, compression_of, decompressed
from rankscope.io.ids import as_id
from rankscope.io.source import Reading, source_of
from rankscope.records import Record
from rankscope.systems.base import Doc

TEXT_NAMES = ("text", "contents", "content", "body", "passage", "abstract", "document", "definition", "description")
"""The names under which tables keep the text of a doc, best first."""
TITLE_NAMES = ("title", "label", "name", "headline", "heading")
ROLES: Mapping[str, tuple[str, ...]] = {"id": ID_NAMES, "text": TEXT_NAMES, "title": TITLE_NAMES}

_ROWS_AT_ONCE = 20_000


class DocScan(Record):
    """What going through all docs once has found."""

    n_docs: int
    sha256: str
    n_empty: int = 0
    """How many docs have neither a text nor a title."""
    first_empty: str = ""
    """Where the first of them stands."""
    fields: dict[str, int] = field(default_factory=dict)
    """Further fields, with how many docs have each."""


class CollectionDocs(ABC):
    """Docs that can be gone through again and again; their number and hash are found on the first full pass."""

    name: str

    @abstractmethod
    def numbered(self) -> Iterator[tuple[int, Doc]]:
        """Yield each doc with the number of its line, row or place."""

    def __iter__(self) -> Iterator[Doc]:
        with closing(self.numbered()) as docs:  # type: ignore[type-var]
            for _, doc in docs:
                yield doc

    def __len__(self) -> int:
        return self.scan.n_docs

    @cached_property
    def scan(self) -> DocScan:
        """How many docs there are and what they hash to; ids that are there twice are an error."""
        return scan_docs(self)


class DocFile(CollectionDocs):
    """The docs of a JSONL, CSV, TSV or Parquet file, streamed; those of a JSON file are read at once."""

    def __init__(self, path: Path, *, columns: Mapping[str, str] | None = None, cache: ScanCache | None = None) -> None:
        self.path = path
        self.name = str(path)
        self._columns = dict(columns or {})
        self._cache = cache or ScanCache(None)
        check_roles(self._columns, ROLES, where=f"the columns of {path}")

    @cached_property
    def scan(self) -> DocScan:
        """What was found on the first pass, or on an earlier one over the same file."""
        key = f"docs {sorted(self._columns.items())}"
        return DocScan(**self._cache.get(key, self.path, lambda: msgspec.structs.asdict(scan_docs(self))))

    def numbered(self) -> Iterator[tuple[int, Doc]]:
        """Yield each doc with the number of its line."""
        csv.field_size_limit(sys.maxsize)  # a doc may be longer than the 128 kB that Python takes for a cell
        reader = DocRowReader(self.name, self._columns)
        source = source_of(self.path)
        with source.open() as raw:
            compression = compression_of(raw.read(MAGIC_BYTES))
        with source.open() as raw, decompressed(raw, compression, name=self.name) as stream:
            reading = Reading(self.name, stream)
            for number, row in file_rows(reading, is_plain=compression is None):
                doc = reader.doc(number, row, reading)
                if doc is not None:
                    yield number, doc
        if reading.bad_lines:
            raise BadLinesError(reading.bad_lines, hint="every doc needs an id of its own and a text")


def file_rows(reading: Reading, *, is_plain: bool) -> Iterator[NumberedRow]:
    """Yield the rows of a file of docs in the format that its name speaks of."""
    kind = kind_in_name(reading.name)
    if kind == "parquet":
        return parquet_blocks(reading.name) if is_plain else parquet_rows(reading)
    if kind == "json":
        return json_rows(reading)
    return line_rows(reading) if kind == "jsonl" else cell_rows(reading, delimiter="\t" if kind == "tsv" else None)


def parquet_blocks(name: str) -> Iterator[NumberedRow]:
    """Yield the rows of a Parquet file, some thousands at a time."""
    import polars as pl
    from polars.exceptions import PolarsError

    try:
        table = pl.scan_parquet(name)
        start = 0
        while len(block := table.slice(start, _ROWS_AT_ONCE).collect()):
            yield from enumerate(block.iter_rows(named=True), start + 1)
            start += len(block)
    except PolarsError as error:
        raise FormatError(f"{name} cannot be read as Parquet: {error}", hint="it is damaged or cut off") from error


class DocRowReader:
    """Turns rows into docs: finds out once per kind of row which column holds what."""

    def __init__(self, name: str, columns: Mapping[str, str]) -> None:
        self._name = name
        self._columns = columns
        self._roles: dict[tuple[str, ...], dict[str, str]] = {}

    def doc(self, number: int, row: Any, reading: Reading) -> Doc | None:
        """Return the doc that a row holds; one without an id is noted as a bad line."""
        if not isinstance(row, Mapping):
            raise FormatError(f"{self._name}:{number} holds {row!r}, not values by name", hint="write it as {…}")
        names = tuple(row)
        if names not in self._roles:
            self._roles[names] = roles_in(names, ROLES, self._columns, where=f"{self._name}:{number}")
        roles = self._roles[names]
        if is_missing(row[roles["id"]]):
            reading.reject(number, "", "the doc has no id")
            return None
        doc = as_id(row[roles["id"]], what=f"the id of the doc at {self._name}:{number}")
        text, title = (row.get(roles.get(role, "")) for role in ("text", "title"))
        used = {roles.get("text"), roles.get("title")}
        kept = {
            name: value
            for name, value in flat_fields(row, without=roles["id"])
            if name not in used and not is_missing(value)
        }
        return Doc(doc, as_text(text), as_text(title), kept)


def as_text(cell: Any) -> str:
    """Return a cell as text; one that holds nothing is empty, and a list is joined."""
    if is_missing(cell):
        return ""
    return "\n".join(map(str, cell)) if isinstance(cell, list | tuple) else str(cell)


def check_roles(columns: Mapping[str, str], roles: Mapping[str, Any], *, where: str) -> None:
    """Refuse a mapping of columns to something that docs do not have."""
    for role in columns:
        if role not in roles:
            raise OptionError(f"{where}: {role} is not one of {', '.join(roles)}", hint=did_you_mean(role, roles))


def roles_in(
    names: Sequence[Any], roles: Mapping[str, tuple[str, ...]], chosen: Mapping[str, str], *, where: str
) -> dict[str, str]:
    """Return which column holds what: those that were chosen, then those with a known name."""
    by_lower = {str(name).strip().lower(): name for name in reversed(names)}
    found: dict[str, str] = {}
    for role, known in roles.items():
        wanted = chosen.get(role)
        if wanted is not None and wanted.lower() not in by_lower:
            raise FormatError(
                f"{where} has no column {wanted!r}; its columns are {', '.join(map(str, names))}",
                hint=did_you_mean(wanted, map(str, names)) or f"map the {role} to one of them",
            )
        match = next((by_lower[name] for name in ((wanted or "").lower(), *known) if name in by_lower), None)
        if match is not None and match not in found.values():
            found[role] = match
    missing = "id" if "id" not in found else "text" if not {"text", "title"} & set(found) else None
    if missing:
        raise FormatError(
            f"{where} has no column for the doc's {missing}; its columns are {', '.join(map(str, names))}",
            hint=f"call it {' or '.join(roles[missing][:3])}, or map it with columns.docs.{missing} = NAME",
        )
    return found


def scan_docs(docs: CollectionDocs) -> DocScan:
    """Go through all docs once: count and hash them, and refuse ids that are there twice."""
    digest, codes, fields = ContentDigest(), array("q"), dict[str, int]()
    n_empty, first_empty = 0, ""
    for number, doc in docs.numbered():
        digest.add([doc.id, doc.title, doc.text, dict(doc.fields)])
        codes.append(hash(doc.id))
        for name in doc.fields:
            fields[name] = fields.get(name, 0) + 1
        if not (doc.text.strip() or doc.title.strip()):
            n_empty += 1
            first_empty = first_empty or f"{docs.name}:{number}"
    if not codes:
        raise FormatError(f"{docs.name} holds no docs", hint="check that what wrote it came to its end")
    refuse_repeated(docs, np.frombuffer(codes, dtype=np.int64))
    return DocScan(len(codes), digest.hexdigest(), n_empty, first_empty, fields)


def refuse_repeated(docs: CollectionDocs, codes: np.ndarray[Any, np.dtype[np.int64]]) -> None:
    """Refuse ids that are there twice: eight bytes a doc tell that one may be, and only then the ids are compared."""
    ordered = np.sort(codes)
    suspects = set(ordered[1:][ordered[1:] == ordered[:-1]].tolist())
    if not suspects:
        return
    first: dict[str, int] = {}
    for number, doc in docs.numbered():
        if hash(doc.id) in suspects:
            if doc.id in first:
                raise DuplicateError(
                    f"{docs.name}:{number}: doc {doc.id!r} is there already, at line {first[doc.id]}",
                    hint="each doc is given once; remove one of them",
                )
            first[doc.id] = number
