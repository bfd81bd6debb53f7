"""JSONL: one JSON object a line, its keys the columns."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, BinaryIO

from rankscope.errors import FormatError, InputError
from rankscope.io.kinds import AnyRows, Collector, Kind, find_roles, table_columns
from rankscope.io.lines import write_lines
from rankscope.io.numbers import grade_text, json_number, json_text
from rankscope.io.source import Reading


class Pairs(list[tuple[str, Any]]):
    """A JSON object as its pairs, so that a key that is there twice is seen and not dropped."""

    __slots__ = ()

    def repeated(self) -> str | None:
        """Return the first key that is there twice, or None."""
        seen: set[str] = set()
        return next((key for key, _ in self if key in seen or seen.add(key)), None)  # type: ignore[func-returns-value]


def parse(text: str) -> Any:
    """Parse JSON, keeping objects as pairs and refusing NaN."""
    try:
        return json.loads(text, object_pairs_hook=Pairs, parse_constant=infinity)
    except RecursionError:
        raise ValueError("the values are nested too deeply") from None


def infinity(word: str) -> float:
    """Return the value of a word that JSON does not have but many programs write; NaN is no value."""
    if word == "NaN":
        raise ValueError("NaN is not a number")
    return float(word)


class KeyedRows:
    """Rows given as JSON objects, each read by its own keys."""

    def __init__(self, reading: Reading, kind: Kind[Any]) -> None:
        self.collector = Collector()
        self._reading = reading
        self._kind = kind
        self._roles: dict[tuple[str, ...], dict[str, str]] = {}

    def add(self, number: int, row: Any, text: str) -> None:
        """Add a row, or note what is wrong with it."""
        try:
            self.collector.add(self._by_role(row), self._kind)
        except InputError as error:
            self._reading.reject(number, text, error.message)

    def _by_role(self, row: Any) -> dict[str, Any]:
        if not isinstance(row, Pairs):
            raise FormatError("this is not a JSON object")
        repeated = row.repeated()
        if repeated is not None:
            raise FormatError(f"the key {repeated!r} is there twice")
        cells = dict(row)
        return {role: cells[key] for role, key in self._roles_of(tuple(cells)).items()}

    def _roles_of(self, keys: tuple[str, ...]) -> dict[str, str]:
        if keys not in self._roles:
            where = "this row" if self._roles else self._reading.name
            self._roles[keys] = find_roles(keys, self._kind, chosen=self._reading.columns, where=where)
        return self._roles[keys]

    def check_first(self, row: Any) -> None:
        """Refuse a file whose first object does not have the columns: none of the others will."""
        if not self._roles and isinstance(row, Pairs):
            self._roles_of(tuple(dict(row)))


def read(reading: Reading, kind: Kind[Any]) -> Collector:
    """Read one JSON object a line."""
    rows = KeyedRows(reading, kind)
    for number, text in reading.lines():
        if not text.strip():
            continue
        try:
            row = parse(text)
        except ValueError as error:
            reading.reject(number, text, f"not valid JSON: {error}")
            continue
        rows.check_first(row)
        rows.add(number, row, text)
    return rows.collector


def write(rows: AnyRows, stream: BinaryIO) -> None:
    """Write one JSON object a line."""
    write_lines(row_lines(rows), stream)


def row_lines(rows: AnyRows) -> Iterator[str]:
    """Return the rows as lines of JSON."""
    cells = (json_cells(name, column) for name, column in table_columns(rows).items())
    return (f"{{{', '.join(row)}}}\n" for row in zip(*cells, strict=True))


def json_cells(name: str, column: list[Any]) -> Iterator[str]:
    """Return a column as pieces of JSON, its name with each cell."""
    if name == "grade":
        return (f'"grade": {grade_text(cell)}' for cell in column)
    if column and isinstance(column[0], str):
        return (f'"{name}": {json_text(cell)}' for cell in column)
    return (f'"{name}": {json_number(repr(cell))}' for cell in column)
