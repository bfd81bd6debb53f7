"""The two kinds of file, runs and qrels, and the columns gathered while one is read."""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeAlias, TypeVar

import numpy as np

from rankscope.errors import FormatError, GradeError, InputError, OptionError, ScoreError, did_you_mean
from rankscope.io.columns import QRELS_COLUMNS, QRELS_REQUIRED, RUN_COLUMNS, RUN_REQUIRED, find_columns
from rankscope.io.ids import as_id
from rankscope.io.numbers import integer_in, number_in
from rankscope.io.rows import QrelsRows, RunRows

AnyRows: TypeAlias = RunRows | QrelsRows
Rows = TypeVar("Rows", RunRows, QrelsRows)

EXTRA_QRELS_COLUMNS = ("subtopic", "rater", "time")


@dataclass(slots=True)
class Collector:
    """The columns of a file while it is read; numbers are kept as machine numbers, so that millions of rows fit."""

    query: list[str] = field(default_factory=list)
    doc: list[str] = field(default_factory=list)
    value: array[float] = field(default_factory=lambda: array("d"))
    rank: array[int] | None = field(default_factory=lambda: array("q"))
    tag: str | None = None
    extras: dict[str, list[str]] = field(default_factory=dict)
    integer_ids: set[str] = field(default_factory=set)
    names: dict[str, str] = field(default_factory=dict)
    """Every query id once, so that its rows share one text."""

    def __len__(self) -> int:
        return len(self.doc)

    def add(self, row: Mapping[str, Any], kind: Kind[Any]) -> None:
        """Add a row given by role, or raise what is wrong with it and add nothing."""
        query, doc = as_id(row.get("query"), what="query"), as_id(row.get("doc"), what="doc")
        value = kind.number(row.get(kind.value))
        self._note_integer_ids(row)
        for role in EXTRA_QRELS_COLUMNS:
            if role in row and role in kind.aliases:
                self.add_extra(role, row[role])
        self.query.append(self.names.setdefault(query, query))
        self.doc.append(doc)
        self.value.append(value)
        self._add_rank(row.get("rank"))
        self.tag = text_of(row.get("tag")) or self.tag

    def _note_integer_ids(self, row: Mapping[str, Any]) -> None:
        self.integer_ids.update(role for role in ("query", "doc") if isinstance(row[role], int))

    def add_extra(self, role: str, cell: Any) -> None:
        """Add to an optional column, which is blank on the rows before that did not have it."""
        column = self.extras.setdefault(role, [])
        column.extend([""] * (len(self) - len(column)))
        column.append(text_of(cell))

    def _add_rank(self, cell: Any) -> None:
        rank = integer_in(cell)
        if rank is None:
            self.rank = None
        elif self.rank is not None:
            self.rank.append(rank)

    def extra_column(self, role: str) -> list[str] | None:
        """Return an optional column at its full length, or None where no row had it."""
        column = self.extras.get(role)
        return None if column is None else column + [""] * (len(self) - len(column))


@dataclass(frozen=True, slots=True)
class Kind(Generic[Rows]):
    """What differs between runs and qrels: the columns, which number they carry, and the rows they become."""

    name: str
    noun: str
    value: str
    aliases: Mapping[str, tuple[str, ...]]
    required: tuple[str, ...]
    build: Callable[[Collector], Rows]
    allows_infinity: bool
    error: type[InputError]

    def number(self, cell: Any) -> float:
        """Return the score or grade in a cell, or raise that there is none."""
        number = number_in(cell)
        if number is None or (math.isinf(number) and not self.allows_infinity):
            raise self.error(self.not_a_number(cell))
        return number

    def not_a_number(self, cell: Any) -> str:
        """Say that a cell holds no usable number."""
        if cell is None:
            return f"the {self.value} is missing"
        wanted = "a number" if self.allows_infinity else "a finite number"
        return f"{self.value} {cell!r} is not {wanted if number_in(cell) is not None else 'a number'}"


def build_run(collected: Collector) -> RunRows:
    """Make the rows of a run from its columns."""
    rank = collected.rank
    return RunRows(
        query=collected.query,
        doc=collected.doc,
        score=np.frombuffer(collected.value, dtype=np.float64),
        rank=np.frombuffer(rank, dtype=np.int64) if rank is not None and len(rank) == len(collected) else None,
        tag=collected.tag,
        integer_ids=frozenset(collected.integer_ids),
    )


def build_qrels(collected: Collector) -> QrelsRows:
    """Make the rows of qrels from their columns."""
    return QrelsRows(
        query=collected.query,
        doc=collected.doc,
        grade=np.frombuffer(collected.value, dtype=np.float64),
        subtopic=collected.extra_column("subtopic"),
        rater=collected.extra_column("rater"),
        time=collected.extra_column("time"),
        integer_ids=frozenset(collected.integer_ids),
    )


RUN: Kind[RunRows] = Kind(
    name="run",
    noun="a run",
    value="score",
    aliases=RUN_COLUMNS,
    required=RUN_REQUIRED,
    build=build_run,
    allows_infinity=True,
    error=ScoreError,
)
QRELS: Kind[QrelsRows] = Kind(
    name="qrels",
    noun="qrels",
    value="grade",
    aliases=QRELS_COLUMNS,
    required=QRELS_REQUIRED,
    build=build_qrels,
    allows_infinity=False,
    error=GradeError,
)
KINDS: dict[str, Kind[Any]] = {"run": RUN, "qrels": QRELS}


def other(kind: Kind[Any]) -> Kind[Any]:
    """Return qrels for a run, and a run for qrels."""
    return QRELS if kind.name == "run" else RUN


def looks_like(kind: Kind[Any]) -> str:
    """Return the hint for a file of the wrong kind."""
    return f"this looks like {kind.noun}; are the arguments swapped?"


def text_of(cell: Any) -> str:
    """Return a cell of an optional column as text, blank where it holds nothing."""
    return "" if cell is None else str(cell)


def find_roles(
    names: Iterable[str], kind: Kind[Any], *, chosen: Mapping[str, str] | None = None, where: str = "the table"
) -> dict[str, str]:
    """Return which column holds what, and refuse columns that belong to the other kind of file."""
    listed = list(names)
    try:
        roles = find_columns(listed, kind.aliases, required=kind.required, chosen=chosen, where=where)
    except FormatError as error:
        if not chosen and has_columns_of(listed, other(kind)):
            raise FormatError(error.message, hint=looks_like(other(kind))) from None
        raise
    if takes_scores_for_grades(roles, listed, kind=kind, chosen=chosen):
        raise FormatError(f"{where} has scores and ranks, not grades", hint=looks_like(RUN))
    return roles


def lowered(names: Iterable[str]) -> set[str]:
    """Return column names as they are compared."""
    return {name.strip().lower() for name in names}


def has_columns_of(names: Iterable[str], kind: Kind[Any]) -> bool:
    """Tell whether a table has every column that this kind of file needs."""
    known = lowered(names)
    return all(known.intersection(kind.aliases[role]) for role in kind.required)


def takes_scores_for_grades(
    roles: Mapping[str, str], names: Iterable[str], *, kind: Kind[Any], chosen: Mapping[str, str] | None
) -> bool:
    """Tell whether qrels would be made of a run: BEIR calls its grades "score", but never gives them ranks."""
    if kind.name != "qrels" or "grade" in (chosen or {}) or lowered([roles["grade"]]) != {"score"}:
        return False
    return bool(lowered(names).intersection(RUN_COLUMNS["rank"] + RUN_COLUMNS["tag"]))


def check_chosen(chosen: Mapping[str, str] | None, kind: Kind[Any]) -> None:
    """Refuse a mapping of columns that names something this kind of file does not have."""
    for role in chosen or {}:
        if role not in kind.aliases:
            raise OptionError(
                f"{role!r} is no column of {kind.noun}; the columns are {', '.join(kind.aliases)}",
                hint=did_you_mean(role, kind.aliases),
            )


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
    columns["grade"] = rows.grade.tolist()
    return columns | {role: list(column) for role, column in extra_columns(rows).items()}


def extra_columns(rows: QrelsRows) -> dict[str, list[str]]:
    """Return the optional columns that these qrels have."""
    columns = {role: getattr(rows, role) for role in EXTRA_QRELS_COLUMNS}
    return {role: column for role, column in columns.items() if column is not None}
