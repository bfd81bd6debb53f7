"""Docs in files, streamed: read from disk each time they are gone through, and never all in memory."""

from __future__ import annotations

import hashlib
import os
import re
from abc import ABC, abstractmethod
from array import array
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from msgspec import field

from rankscope.data.docs import doc_rows, flat_fields, is_missing, rows_of_json
from rankscope.errors import (
    BadLinesError,
    DuplicateError,
    FormatError,
    InputError,
    OptionError,
    did_you_mean,
    shorten,
)
from rankscope.experiment.fingerprint import FileState, cached_scan, canonical_bytes, changed
from rankscope.io.addresses import shown_url
from rankscope.io.columns import DOC_COLUMNS, match_columns
from rankscope.io.ids import as_id
from rankscope.io.source import FileReading, source_of
from rankscope.io.table import format_of
from rankscope.measures.variety import as_date
from rankscope.records import Record, to_builtins
from rankscope.systems.base import Doc

_DATE = re.compile(r"\d{4}-\d\d(?!\d)")
_NAMED_YEAR = re.compile(r"(?:^|[^a-z])(?:date|year)(?:$|[^a-z])", re.IGNORECASE)
"""A field of this name may hold a year alone; elsewhere 2024 is a number."""


class DocDates(Record):
    """The dates that one field of the docs holds."""

    n: int
    first: str
    """The earliest."""
    last: str
    """The latest."""
    n_other: int = 0
    """How many docs have something else there."""
    first_other: str = ""


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
    dates: dict[str, DocDates] = field(default_factory=dict)
    """The fields that hold dates."""


class CollectionDocs(ABC):
    """Docs that can be gone through again and again; their number and hash are found on the first full pass."""

    name: str
    state: FileState | None = None
    """The state of the file that all that is known of it is about, where it is one and was gone through."""

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
        return scan_docs(self)


class StreamedDocs(CollectionDocs):
    """Docs that something else reads, each time anew."""

    def __init__(self, name: str, read: Callable[[], Iterator[Doc]]) -> None:
        self.name = name
        self._read = read

    def numbered(self) -> Iterator[tuple[int, Doc]]:
        yield from enumerate(self._read(), 1)


class DocFile(CollectionDocs):
    """The docs of a JSONL, CSV, TSV or Parquet file, streamed; those of a JSON file are read at once."""

    def __init__(
        self, path: str | Path, *, columns: Mapping[str, str] | None = None, cache: Path | None = None
    ) -> None:
        self.path = path
        self.name = shown_url(os.fspath(path))
        self._columns = dict(columns or {})
        self._cache = cache
        self._roles: dict[tuple[str, ...], dict[str, str]] = {}
        """Which column holds what, by the names of the columns: found out once per kind of row."""
        for role in self._columns:
            if role not in DOC_COLUMNS:
                raise OptionError(
                    f"the columns of {self.name}: {role} is not one of {', '.join(DOC_COLUMNS)}",
                    hint=did_you_mean(role, DOC_COLUMNS),
                )

    @cached_property
    def scan(self) -> DocScan:
        """What was found on the first pass, or on an earlier one over the same file."""
        self.state = FileState.of(self.path)
        found = cached_scan(
            f"docs with dates {sorted(self._columns.items())}",
            self.path,
            lambda: to_builtins(scan_docs(self)),
            folder=self._cache,
            state=self.state,
        )
        return msgspec.convert(found, DocScan)

    def numbered(self) -> Iterator[tuple[int, Doc]]:
        """Yield each doc with the number of its line or row; that the file is as it was first found to be is checked.

        So what is indexed is what was hashed.
        """
        self._check_state()
        source = source_of(self.path)
        with source.reading(from_json=lambda content: rows_of_json(content, self.name)) as reading:
            for number, row in doc_rows(reading, format_of(source)):
                doc = self._doc(number, row, reading)
                if doc is not None:
                    yield number, doc
        if reading.bad_lines:
            raise BadLinesError(reading.bad_lines, hint="every doc needs an id of its own and a text")
        self._check_state()

    def _check_state(self) -> None:
        if self.state is not None and not self.state.is_that_of(self.path):
            raise changed(self.path)

    def _doc(self, number: int, row: Any, reading: FileReading) -> Doc | None:
        """Return the doc that a row holds; one without an id is noted as a bad line."""
        if not isinstance(row, Mapping):
            raise FormatError(f"{self.name}:{number} holds {row!r}, not values by name", hint="write it as {…}")
        names, where = tuple(row), f"{self.name}:{number}"
        if names not in self._roles:
            found = match_columns(names, DOC_COLUMNS, chosen=self._columns, where=where)
            missing = "id" if "id" not in found else "text" if not {"text", "title"} & set(found) else None
            if missing:
                usual = " or ".join(DOC_COLUMNS[missing][:3])
                raise FormatError(
                    f"{where} has no column for the doc's {missing}; its columns are {', '.join(map(str, names))}",
                    hint=f"call it {usual}, or map it with columns.docs.{missing} = NAME",
                )
            self._roles[names] = found
        roles = self._roles[names]
        if is_missing(row[roles["id"]]):
            reading.reject(number, "", "the doc has no id")
            return None
        doc = as_id(row[roles["id"]], what=f"the id of the doc at {where}")
        text, title = (row.get(roles.get(role, "")) for role in ("text", "title"))
        used = {roles.get("text"), roles.get("title")}
        kept = {
            name: value
            for name, value in flat_fields(row, without=roles["id"])
            if name not in used and not is_missing(value)
        }
        return Doc(doc, as_text(text), as_text(title), kept)


class DateFields:
    """Finds the fields that hold dates while docs are gone through: those with more dates than anything else."""

    def __init__(self) -> None:
        self._dates: dict[str, list[Any]] = {}
        """Of each field that has held a date: how many, the earliest and the latest."""
        self._others: dict[str, list[Any]] = {}
        """Of each field: how many values are no dates, and the first of them."""

    def take(self, name: str, value: Any, doc: str) -> None:
        text = str(value).strip()
        try:
            moment = as_date(value, doc) if _DATE.match(text) or _NAMED_YEAR.search(name) else None
        except InputError:
            moment = None
        if moment is None:
            self._others.setdefault(name, [0, shorten(text)])[0] += 1
            return
        known = self._dates.setdefault(name, [0, (moment, text), (moment, text)])
        known[0] += 1
        known[1], known[2] = min(known[1], (moment, text)), max(known[2], (moment, text))

    def found(self) -> dict[str, DocDates]:
        others = {name: self._others.get(name, [0, ""]) for name in self._dates}
        return {
            name: DocDates(n, first, last, *others[name])
            for name, (n, (_, first), (_, last)) in self._dates.items()
            if n > others[name][0]
        }


def as_text(cell: Any) -> str:
    if is_missing(cell):
        return ""
    return "\n".join(map(str, cell)) if isinstance(cell, list | tuple) else str(cell)


def scan_docs(docs: CollectionDocs) -> DocScan:
    digest, codes, fields = hashlib.sha256(), array("q"), dict[str, int]()
    n_empty, first_empty = 0, ""
    dates = DateFields()
    for number, doc in docs.numbered():
        digest.update(canonical_bytes([doc.id, doc.title, doc.text, dict(doc.fields)]) + b"\n")
        codes.append(hash(doc.id))
        for name, value in doc.fields.items():
            fields[name] = fields.get(name, 0) + 1
            dates.take(name, value, doc.id)
        if not (doc.text.strip() or doc.title.strip()):
            n_empty += 1
            first_empty = first_empty or f"{docs.name}:{number}"
    if not codes:
        raise FormatError(f"{docs.name} holds no docs", hint="check that what wrote it came to its end")
    # Eight bytes a doc tell whether an id may be there twice, and only then the ids are compared.
    ordered = np.sort(np.frombuffer(codes, dtype=np.int64))
    suspects = set(ordered[1:][ordered[1:] == ordered[:-1]].tolist())
    first: dict[str, int] = {}
    for number, doc in docs.numbered() if suspects else ():
        if hash(doc.id) in suspects:
            if doc.id in first:
                raise DuplicateError(
                    f"{docs.name}:{number}: doc {doc.id!r} is there already, at line {first[doc.id]}",
                    hint="each doc is given once; remove one of them",
                )
            first[doc.id] = number
    return DocScan(len(codes), digest.hexdigest(), n_empty, first_empty, fields, dates.found())
