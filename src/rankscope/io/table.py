"""Rows of any file: one reader for every format and compression, on which all kinds of data are built.

    for line, row in read_rows("docs.csv.gz"):
        ...                                     # row: {column: cell}

What differs between formats is in a `Format` each; runs and qrels gather their rows as columns (`Collector`), since
they may have millions.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO, Generic, TypeAlias, TypeVar

import numpy as np

from rankscope.errors import BadLine, BadLinesError, FormatError, GradeError, InputError, ScoreError
from rankscope.io.columns import QRELS_COLUMNS, RUN_COLUMNS, Aliases, find_columns
from rankscope.io.formats import FORMATS, check_format, format_in_name
from rankscope.io.formulas import SETTLING_COLUMN, from_text_cell
from rankscope.io.ids import as_id
from rankscope.io.numbers import integer_in, number_in
from rankscope.io.rows import EXTRA_QRELS_COLUMNS, AnyRows, QrelsRows, RunRows
from rankscope.io.source import BYTE_ORDER_MARK, FileReading, PathLike, StoredFile, source_of
from rankscope.light import LightRecord

if TYPE_CHECKING:
    import polars as pl

NumberedRow: TypeAlias = tuple[int, Mapping[str, Any]]
"""The number of a line (of a row or item where there are no lines), and the row: {column: cell}."""
Rows = TypeVar("Rows", RunRows, QrelsRows)


class Format(LightRecord, kw_only=True):
    """How one format is read and written; `rows` is enough to read every kind of data."""

    rows: Callable[[FileReading], Iterator[NumberedRow]] | None = None
    """Yields the rows; malformed ones are given to `reading.reject`. None where a format holds no named columns."""
    read: Callable[[FileReading, RowKind[Any]], Collector] | None = None
    """Reads runs and qrels where there is a better way than by their rows."""
    read_columns: Callable[[FileReading, RowKind[Any]], pl.DataFrame] | None = None
    """Reads runs and qrels as a table, by role and with the types that they have, where the file is one."""
    collect_columns: Callable[[FileReading, RowKind[Any], pl.DataFrame], Collector] | None = None
    """Gathers the rows of such a table."""
    write: Callable[[AnyRows, BinaryIO], None] | None = None
    """Writes runs and qrels; `table_columns` gives their columns."""
    magic: tuple[bytes, ...] = ()
    """How files that are not text begin."""
    has_text_cells: bool = False
    """Whether every cell is text, so that a list is written as JSON within it."""
    explain: Callable[[RowKind[Any], Sequence[BadLine], int], str] | None = None
    """Returns a hint of its own for malformed lines, given how many were good."""

    def collect(self, reading: FileReading, kind: RowKind[Any]) -> Collector:
        if self.read is not None:
            return self.read(reading, kind)
        if self.read_columns is not None:
            return self.collect_table(reading, kind, self.read_columns(reading, kind))
        if self.rows is None:
            raise FormatError(f"{reading.name} is in a format that holds no rows")
        return collect_rows(reading, kind, self.rows(reading))

    def collect_table(self, reading: FileReading, kind: RowKind[Any], table: pl.DataFrame) -> Collector:
        if self.collect_columns is None:
            raise FormatError(f"{reading.name} is in a format that is no table")
        return self.collect_columns(reading, kind, table)


def read_rows(path: PathLike | StoredFile, *, format: str | None = None) -> Iterator[NumberedRow]:  # noqa: A002
    """Yield the rows of a file, in any format and compression, each with the number of its line.

    Malformed lines are an error that lists them all, once the others have been read.
    """
    source = source_of(path)
    with source.reading() as reading:
        yield from rows_in(reading, format or format_of(source))
    if reading.bad_lines:
        raise BadLinesError(reading.bad_lines, hint="correct these lines, or remove them")


def rows_in(reading: FileReading, format_name: str) -> Iterator[NumberedRow]:
    check_format(format_name)
    rows = FORMATS[format_name].rows
    if rows is None:
        raise cannot_tell(reading.name)
    return rows(reading)


def format_of(source: StoredFile) -> str:
    """Return the format of a table of any kind: from its name, else from how it starts; or raise that neither tells."""
    found = guess_format(source.name, source.head(1 << 12))
    if found is None:
        raise cannot_tell(source.name)
    return found


def guess_format(name: str, head: bytes) -> str | None:
    """Return the format of a table of any kind from its name, else from its first bytes; None where neither tells."""
    named = format_in_name(name)
    if named is not None and FORMATS[named].rows is not None:
        return named
    magic = format_of_magic(head)
    if magic is not None:
        return magic
    start = head.removeprefix(BYTE_ORDER_MARK).lstrip()
    if start.startswith((b"{", b"[")):
        return "jsonl" if start.startswith(b"{") else "json"
    first = start.partition(b"\n")[0]
    return "tsv" if b"\t" in first else "csv" if b"," in first or b";" in first else None


def format_of_magic(head: bytes) -> str | None:
    """Return the format whose files begin with these bytes, or None for what is presumably text."""
    if 0 not in head:
        return None
    return next((name for name in FORMATS.entries if head.startswith(FORMATS[name].magic)), None)


def cannot_tell(name: str) -> FormatError:
    endings = (ending for known in FORMATS if FORMATS[known].rows for ending in FORMATS.entries[known].endings or ())
    return FormatError(
        f"cannot tell the format of {name} from its name",
        hint=f"its name should end in {', '.join(f'.{ending}' for ending in endings)}",
    )


class Collector:
    """The columns of a run or qrels while they are read; numbers are machine numbers, so that millions of rows fit."""

    __slots__ = ("doc", "extras", "integer_ids", "names", "query", "rank", "tag", "value")

    def __init__(self, integer_ids: Iterable[str] = ()) -> None:
        self.query: list[str] = []
        self.doc: list[str] = []
        self.value = array("d")
        self.rank: array[int] | None = array("q")
        self.tag: str | None = None
        self.extras: dict[str, list[str]] = {}
        self.integer_ids = set(integer_ids)
        self.names: dict[str, str] = {}
        """Every query id once, so that its rows share one text."""

    def __len__(self) -> int:
        return len(self.doc)

    def add(self, row: Mapping[str, Any], kind: RowKind[Any]) -> None:
        """Add a row given by role, or raise what is wrong with it and add nothing."""
        query, doc = row.get("query"), row.get("doc")
        if type(query) is not str or not query:
            query = self._as_id(query, "query")
        if type(doc) is not str or not doc:
            doc = self._as_id(doc, "doc")
        value = number_in(row.get(kind.value))
        if value is None or (math.isinf(value) and not kind.allows_infinity):
            raise kind.error(kind.not_a_number(row.get(kind.value)))
        for role in kind.extras:
            if role in row:
                column = self.extras.setdefault(role, [])
                column.extend([""] * (len(self) - len(column)))  # the rows before that did not have it
                column.append("" if row[role] is None else str(row[role]))
        self.query.append(self.names.setdefault(query, query))
        self.doc.append(doc)
        self.value.append(value)
        if self.rank is not None:
            rank = integer_in(row.get("rank"))
            if rank is None:
                self.rank = None
            else:
                self.rank.append(rank)
        if row.get("tag") is not None:
            self.tag = str(row["tag"]) or self.tag

    def _as_id(self, cell: Any, role: str) -> str:
        identifier = as_id(cell, what=role)
        if isinstance(cell, int):
            self.integer_ids.add(role)
        return identifier


class RowKind(LightRecord, Generic[Rows], eq=False):
    """What differs between runs and qrels: the columns, which number they carry, and the rows they become."""

    name: str
    noun: str
    value: str
    aliases: Aliases
    rows: type[Rows]
    error: type[InputError]
    allows_infinity: bool = False
    extras: tuple[str, ...] = ()

    def not_a_number(self, cell: Any) -> str:
        if cell is None:
            return f"the {self.value} is missing"
        wanted = "a number" if self.allows_infinity else "a finite number"
        return f"{self.value} {cell!r} is not {wanted if number_in(cell) is not None else 'a number'}"

    def build(self, collected: Collector) -> Rows:
        n_rows, rank = len(collected), collected.rank
        columns: dict[str, Any] = {
            role: column + [""] * (n_rows - len(column)) for role, column in collected.extras.items()
        }
        if self.name == "run":
            columns["tag"] = collected.tag
            columns["rank"] = None if rank is None or len(rank) < n_rows else np.frombuffer(rank, dtype=np.int64)
        columns[self.value] = np.frombuffer(collected.value, dtype=np.float64)
        integer_ids = frozenset(collected.integer_ids)
        return self.rows(query=collected.query, doc=collected.doc, integer_ids=integer_ids, **columns)


RUN = RowKind("run", "a run", "score", RUN_COLUMNS, RunRows, ScoreError, allows_infinity=True)
QRELS = RowKind("qrels", "qrels", "grade", QRELS_COLUMNS, QrelsRows, GradeError, extras=EXTRA_QRELS_COLUMNS)
KINDS: dict[str, RowKind[Any]] = {"run": RUN, "qrels": QRELS}


def collect_rows(reading: FileReading, kind: RowKind[Any], rows: Iterable[NumberedRow]) -> Collector:
    collector = Collector()
    roles_of: dict[tuple[str, ...], dict[str, str]] = {}

    def find(names: Sequence[str]) -> dict[str, str]:
        where = "this row" if roles_of else reading.name
        found = roles_of[tuple(names)] = find_roles(names, kind, chosen=reading.columns, where=where)
        return found

    reading.on_header = find
    for line, row in rows:
        try:
            roles = roles_of.get(tuple(row)) or find(tuple(row))
            cells = {role: row[name] for role, name in roles.items()}
            if (
                kind.name == "qrels"
                and is_blank(cells["grade"])
                and not (is_blank(cells["query"]) or is_blank(cells["doc"]))
            ):
                reading.n_ungraded += 1
                continue
            if isinstance(row.get(SETTLING_COLUMN), str):
                cells = {role: from_text_cell(cell) if isinstance(cell, str) else cell for role, cell in cells.items()}
            collector.add(cells, kind)
        except InputError as error:
            if not roles_of:  # the first row does not have the columns, so that none of the others will
                raise
            reading.reject(line, reading.row_text(), error.message)
    return collector


def is_blank(cell: Any) -> bool:
    return cell is None or (isinstance(cell, str) and not cell.strip())


def other(kind: RowKind[Any]) -> RowKind[Any]:
    return QRELS if kind.name == "run" else RUN


def looks_like(kind: RowKind[Any]) -> str:
    return f"this looks like {kind.noun}; are the arguments swapped?"


def find_roles(
    names: Sequence[str], kind: RowKind[Any], *, chosen: Mapping[str, str] | None, where: str
) -> dict[str, str]:
    """Return which column holds what, and refuse columns that belong to the other kind of file."""
    known = lowered(names)
    try:
        roles = find_columns(names, kind.aliases, chosen=chosen, where=where)
    except FormatError as error:
        theirs = other(kind)
        if not chosen and all(known.intersection(theirs.aliases[role]) for role in ("query", "doc", theirs.value)):
            raise FormatError(error.message, hint=looks_like(theirs)) from None
        raise
    if kind.name != "qrels" or "grade" in (chosen or {}) or lowered([roles["grade"]]) != {"score"}:
        return roles
    if known.intersection(RUN_COLUMNS["rank"] + RUN_COLUMNS["tag"]):  # BEIR has grades called "score", but no ranks
        raise FormatError(f"{where} has scores and ranks, not grades", hint=looks_like(RUN))
    return roles


def lowered(names: Iterable[str]) -> set[str]:
    return {name.strip().lower() for name in names}


def table_columns(rows: AnyRows) -> dict[str, list[Any]]:
    """Return the columns that a table of these rows has, by role, in the order in which they are written."""
    columns: dict[str, list[Any]] = {"query": list(rows.query), "doc": list(rows.doc)}
    if isinstance(rows, RunRows):
        columns["score"] = rows.score.tolist()
        if rows.rank is not None:
            columns["rank"] = rows.rank.tolist()
        if rows.tag:
            columns["tag"] = [rows.tag] * len(rows)
        return columns
    extras = {role: getattr(rows, role) for role in EXTRA_QRELS_COLUMNS}
    columns["grade"] = rows.grade.tolist()
    return columns | {role: list(column) for role, column in extras.items() if column is not None}
