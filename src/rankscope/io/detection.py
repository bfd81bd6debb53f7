"""Telling what a file of runs or qrels holds: from its content, with its name only to break a tie."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rankscope.errors import FormatError
from rankscope.io import trec
from rankscope.io.columns import QRELS_COLUMNS, RUN_COLUMNS
from rankscope.io.delimited import BEIR_HEADER, DELIMITERS
from rankscope.io.formats import FORMATS, format_in_name
from rankscope.io.numbers import number_in
from rankscope.io.source import BYTE_ORDER_MARK, PathLike, StoredFile, source_of
from rankscope.io.table import KINDS, format_of_magic, lowered, rows_in
from rankscope.light import LightRecord

_BY_CONTENT = frozenset({"trec", "beir", "json", "jsonl", "csv", "tsv", "parquet", "arrow"})
"""The formats that are detected from the content of a file; all others follow from its name."""
_HEAD_BYTES = 1 << 18
_FIRST_KEY = re.compile(r'\s*\{\s*"(?:[^"\\]|\\.)*"\s*:\s*')
_QRELS_ONLY = {name for role in ("grade", "subtopic", "rater", "time") for name in QRELS_COLUMNS[role]} - {"score"}
_RUN_ONLY = {name for role in ("score", "rank", "tag") for name in RUN_COLUMNS[role]} - {"score"}


class Detected(LightRecord):
    """What a file holds, detected from its content."""

    format: str
    compression: str | None
    kind: str | None
    """Either "run" or "qrels", or None where the content could be both."""


class FileLayout(LightRecord):
    """The format of a file, with its start where it is text."""

    format: str
    text: str | None = None
    lines: tuple[str, ...] = ()
    """The first lines that are neither blank nor a comment."""


def detect(
    path: PathLike | StoredFile, *, format_name: str | None = None, columns: Mapping[str, str] | None = None
) -> Detected:
    """Tell the format, the compression and the kind of a file from its content; a given format is taken as it is."""
    source = source_of(path)
    layout = layout_of(source, format_name=format_name, columns=columns)
    if layout.format == "beir":
        kind: str | None = "qrels"
    elif layout.text is not None and (not layout.lines or layout.format == "trec"):
        kind = trec_kind(layout.lines)
    elif layout.text is not None and layout.format == "json":
        kind = kind_of_json(layout.text)
    else:
        header: list[str] = []
        with source.reading() as reading:
            reading.on_header = header.extend
            _, row = next(rows_in(reading, layout.format), (0, {}))
        kind = kind_of_columns(header or row)
    return Detected(layout.format, source.compression, kind)


def layout_of(
    source: StoredFile, *, format_name: str | None = None, columns: Mapping[str, str] | None = None
) -> FileLayout:
    head = source.head(_HEAD_BYTES)
    if not head.removeprefix(BYTE_ORDER_MARK).strip():
        raise empty(source.name)
    named = format_name or format_in_name(source.name)
    name = format_name or (None if named in _BY_CONTENT else named) or format_of_magic(head)
    if name is not None and FORMATS[name].magic:
        return FileLayout(name)
    check_is_text(head, source.name)
    text = head.removeprefix(BYTE_ORDER_MARK).decode("utf-8", "surrogateescape")
    lines = text.split("\n")
    whole = lines[:-1] if len(head) == _HEAD_BYTES and len(lines) > 1 else lines  # the last one may be cut off
    telling = [line for line in whole if line.strip() and not line.lstrip().startswith("#")]
    sample = tuple(telling[:20])
    return FileLayout(name or text_format(sample, source.name, columns or {}), text, sample)


def empty(name: str) -> FormatError:
    return FormatError(f"{name} is empty: it has no rows", hint="check that what wrote it came to its end")


def check_is_text(head: bytes, name: str) -> None:
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise FormatError(f"{name} is UTF-16 text", hint=f"convert it: iconv -f UTF-16 -t UTF-8 {name}")
    if head.startswith(b"PK\x03\x04"):
        raise FormatError(f"{name} is a ZIP archive", hint="unpack it and give the file inside")
    if head.count(0) > 0.05 * len(head):
        raise FormatError(
            f"{name} is not text: it is full of NUL bytes",
            hint=f"if it is UTF-16, convert it: iconv -f UTF-16 -t UTF-8 {name}",
        )


def text_format(lines: Sequence[str], name: str, columns: Mapping[str, str]) -> str:
    """Return the format of a text file from its first lines, the surest signs first."""
    if not lines:
        return "trec"
    first = lines[0]
    value = json_value(first)
    if isinstance(value, dict | list):  # a first line that is complete in itself
        return "jsonl" if is_row(value, columns) else "json"
    found = header_format(first, columns) or ("trec" if trec_kind(lines) else None)
    if found:
        return found
    start = first.lstrip()[0]
    if start in "{[":
        has_row = start == "{" and any(is_row(json_value(line), columns) for line in lines)
        return "jsonl" if has_row else "json"
    named = format_in_name(name)
    if named in {"csv", "tsv"}:
        return named
    if first.count("\t") == 2:  # three cells; a wrong guess ends in an error that shows the line
        return "tsv"
    return "csv" if max(first.count(","), first.count(";")) >= 2 else "trec"


def trec_kind(lines: Iterable[str]) -> str | None:
    return next((kind for line in lines for kind in KINDS if trec.fits(line, kind)), None)


def json_value(text: str, start: int = 0) -> Any:
    """Return the JSON value that begins at a place in a text, or None where there is none or it is cut off.

    A value that begins with the text must be all that it holds.
    """
    try:
        return json.JSONDecoder().raw_decode(text, start)[0] if start else json.loads(text)
    except (ValueError, RecursionError):
        return None


def is_row(value: Any, columns: Mapping[str, str]) -> bool:
    """Tell whether a JSON value is a row: an object with a query and a doc, or of plain values only."""
    if not isinstance(value, dict) or not value:
        return False
    is_flat = not any(isinstance(cell, dict | list) for cell in value.values())
    return is_flat or names_ids(value, columns)


def names_ids(names: Iterable[str], columns: Mapping[str, str]) -> bool:
    """Tell whether among the names of columns there is one for the query and one for the doc."""
    known = lowered(names)
    return all(known.intersection({*RUN_COLUMNS[role], columns.get(role, role).lower()}) for role in ("query", "doc"))


def header_format(line: str, columns: Mapping[str, str]) -> str | None:
    for delimiter, name in DELIMITERS.items():
        try:
            names = [cell.strip() for cell in next(csv.reader([line], delimiter=delimiter), [])]
        except csv.Error:
            continue
        if names_ids(names, columns) and not any(number_in(cell) is not None for cell in names):
            return "beir" if tuple(names) == BEIR_HEADER and delimiter == "\t" else name
    return None


def kind_of_columns(names: Iterable[str]) -> str | None:
    """Tell runs from qrels by the columns; both may have a "score", which is a grade only beside BEIR's corpus-id."""
    known = lowered(names)
    is_run, is_qrels = bool(known & _RUN_ONLY), bool(known & _QRELS_ONLY)
    if is_run != is_qrels:
        return "run" if is_run else "qrels"
    if is_run or "score" not in known:
        return None
    return "qrels" if "corpus-id" in known else "run"


def kind_of_json(text: str) -> str | None:
    """Tell runs from qrels by the keys of the first row, or by the docs of the first query.

    Grades are small whole numbers, scores have a point.
    """
    if text.lstrip().startswith("["):
        first = json_value(text, text.find("{"))
        return kind_of_columns(first) if isinstance(first, dict) else None
    key = _FIRST_KEY.match(text)
    docs = json_value(text, key.end()) if key else None
    if isinstance(docs, list):
        return "run" if docs and all(isinstance(doc, list) for doc in docs) else None
    numbers = list(docs.values()) if isinstance(docs, dict) else []
    if numbers and all(isinstance(number, float) for number in numbers):
        return "run"
    is_graded = all(isinstance(number, int) and abs(number) <= 10 for number in numbers)
    return "qrels" if numbers and is_graded else None
