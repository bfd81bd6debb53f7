"""Telling what a file holds: from its content, with its name only to break a tie."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from rankscope.errors import FormatError
from rankscope.io import beir, polars_file, trec
from rankscope.io.columns import QRELS_COLUMNS, RUN_COLUMNS
from rankscope.io.compression import MAGIC_BYTES, compression_of, decompressed
from rankscope.io.formats import HANDLERS, format_in_name
from rankscope.io.kinds import KINDS, lowered
from rankscope.io.numbers import number_in
from rankscope.io.records import Detected
from rankscope.io.source import BYTE_ORDER_MARK, PathLike, Source, source_of

_HEAD_BYTES = 1 << 18
_N_LINES = 20
_MOST_NULS = 0.05
_HIGHEST_USUAL_GRADE = 10
_SEPARATORS_OF_THREE = 2
_HEADER_DELIMITERS = {"\t": "tsv", ",": "csv", ";": "csv"}
_FIRST_KEY = re.compile(r'\s*\{\s*"(?:[^"\\]|\\.)*"\s*:\s*')
_QRELS_ONLY = {name for role in ("grade", "subtopic", "rater", "time") for name in QRELS_COLUMNS[role]} - {"score"}
_RUN_ONLY = {name for role in ("score", "rank", "tag") for name in RUN_COLUMNS[role]} - {"score"}


@dataclass(frozen=True, slots=True)
class Sample:
    """The start of a text file."""

    name: str
    text: str
    lines: tuple[str, ...]
    """The first lines that are neither blank nor a comment."""
    columns: Mapping[str, str]
    """The columns that the caller has mapped."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The format and compression of a file, with its start where it is text."""

    format: str
    compression: str | None
    sample: Sample | None = None


def detect(path: PathLike) -> Detected:
    """Tell the format, the compression and the kind of a file from its content."""
    return detect_source(source_of(path))


def detect_source(
    source: Source, *, format_name: str | None = None, columns: Mapping[str, str] | None = None
) -> Detected:
    """Tell what a source holds; a format that is given is taken as it is."""
    layout = layout_of(source, format_name=format_name, columns=columns)
    kind = kind_of_table(source, layout) if layout.sample is None else kind_of_text(layout.sample, layout.format)
    return Detected(layout.format, layout.compression, kind)


def layout_of(source: Source, *, format_name: str | None = None, columns: Mapping[str, str] | None = None) -> Layout:
    """Tell how a source is laid out, which is all that is needed to read it."""
    compression = compression_in(source)
    head = head_of(source, compression)
    if not head.removeprefix(BYTE_ORDER_MARK).strip():
        raise empty(source.name)
    name = format_name or binary_format(head)
    if name is not None and not HANDLERS[name].is_text:
        return Layout(name, compression)
    check_is_text(head, source.name)
    sample = sample_of(head, source.name, columns or {})
    return Layout(name or text_format(sample), compression, sample)


def empty(name: str) -> FormatError:
    """Return the error for a file without rows."""
    return FormatError(f"{name} is empty: it has no rows", hint="check that what wrote it came to its end")


def compression_in(source: Source) -> str | None:
    """Return how a source is compressed."""
    with source.open() as raw:
        return compression_of(raw.read(MAGIC_BYTES))


def head_of(source: Source, compression: str | None) -> bytes:
    """Return the first bytes of what a source holds."""
    with source.open() as raw, decompressed(raw, compression, name=source.name) as stream:
        return stream.read(_HEAD_BYTES)


def binary_format(head: bytes) -> str | None:
    """Return the format that the first bytes name, or None for what is presumably text."""
    if head.startswith(b"PAR1") and 0 in head:
        return "parquet"
    return "arrow" if head.startswith((b"ARROW1\0\0", polars_file.STREAM_MAGIC)) else None


def check_is_text(head: bytes, name: str) -> None:
    """Refuse what is not text in UTF-8 or a code that contains ASCII."""
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise FormatError(f"{name} is UTF-16 text", hint=f"convert it: iconv -f UTF-16 -t UTF-8 {name}")
    if head.startswith(b"PK\x03\x04"):
        raise FormatError(f"{name} is a ZIP archive", hint="unpack it and give the file inside")
    if head.count(0) > _MOST_NULS * len(head):
        raise FormatError(
            f"{name} is not text: it is full of NUL bytes",
            hint=f"if it is UTF-16, convert it: iconv -f UTF-16 -t UTF-8 {name}",
        )


def sample_of(head: bytes, name: str, columns: Mapping[str, str]) -> Sample:
    """Return the start of a text file, without the line at its end that may be cut off."""
    text = head.removeprefix(BYTE_ORDER_MARK).decode("utf-8", "surrogateescape")
    lines = text.split("\n")
    whole = lines[:-1] if len(head) == _HEAD_BYTES and len(lines) > 1 else lines
    telling = [line for line in whole if line.strip() and not line.lstrip().startswith("#")]
    return Sample(name, text, tuple(telling[:_N_LINES]), columns)


def text_format(sample: Sample) -> str:
    """Return the format of a text file, the surest signs first."""
    if not sample.lines:
        return "trec"
    return (
        json_line_format(sample)
        or header_format(sample)
        or trec_format(sample)
        or json_start_format(sample)
        or fallback_format(sample)
    )


def parsed(text: str) -> Any:
    """Return what a text says if it is JSON, else None."""
    try:
        return json.loads(text)
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


def json_line_format(sample: Sample) -> str | None:
    """Recognise JSON by a first line that is complete in itself."""
    value = parsed(sample.lines[0])
    if isinstance(value, dict):
        return "jsonl" if is_row(value, sample.columns) else "json"
    return "json" if isinstance(value, list) else None


def json_start_format(sample: Sample) -> str | None:
    """Recognise JSON by its first character, and lines of it by any that is a row."""
    start = sample.lines[0].lstrip()[0]
    if start == "{" and any(is_row(parsed(line), sample.columns) for line in sample.lines):
        return "jsonl"
    return "json" if start in "{[" else None


def header_format(sample: Sample) -> str | None:
    """Recognise a table by a header that names the query and the doc."""
    for delimiter, name in _HEADER_DELIMITERS.items():
        names = header_cells(sample.lines[0], delimiter)
        if names_ids(names, sample.columns) and not any(number_in(cell) is not None for cell in names):
            return "beir" if tuple(names) == beir.HEADER and delimiter == "\t" else name
    return None


def header_cells(line: str, delimiter: str) -> list[str]:
    """Split a header into its cells."""
    try:
        return [cell.strip() for cell in next(csv.reader([line], delimiter=delimiter), [])]
    except csv.Error:
        return []


def trec_format(sample: Sample) -> str | None:
    """Recognise TREC text by any line that has its fields."""
    return "trec" if trec_kind(sample) else None


def trec_kind(sample: Sample) -> str | None:
    """Return the kind of the first line that has the fields of TREC text."""
    return next((kind for line in sample.lines for kind in KINDS if trec.fits(line, kind)), None)


def fallback_format(sample: Sample) -> str:
    """Choose by the name, then by what separates three cells; a wrong guess ends in an error that shows the line."""
    named = format_in_name(sample.name)
    if named in {"csv", "tsv"}:
        return named
    first = sample.lines[0]
    cells = {delimiter: first.count(delimiter) for delimiter in _HEADER_DELIMITERS}
    if cells["\t"] == _SEPARATORS_OF_THREE:
        return "tsv"
    return "csv" if max(cells[","], cells[";"]) >= _SEPARATORS_OF_THREE else "trec"


def kind_of_text(sample: Sample, format_name: str) -> str | None:
    """Tell runs from qrels in a text file."""
    if format_name == "beir":
        return "qrels"
    if not sample.lines or format_name == "trec":
        return trec_kind(sample)
    if format_name == "json":
        return kind_of_json(sample)
    if format_name == "jsonl":
        return kind_of_columns(first_row_keys(sample))
    return kind_of_columns(next(filter(None, all_header_cells(sample)), []))


def all_header_cells(sample: Sample) -> Iterable[list[str]]:
    """Return the header as split by each delimiter that gives more than one cell."""
    splits = (header_cells(sample.lines[0], delimiter) for delimiter in _HEADER_DELIMITERS)
    return (cells if len(cells) > 1 else [] for cells in splits)


def first_row_keys(sample: Sample) -> list[str]:
    """Return the keys of the first line that is a JSON object."""
    rows = (parsed(line) for line in sample.lines)
    return next((list(row) for row in rows if isinstance(row, dict)), [])


def kind_of_columns(names: Iterable[str]) -> str | None:
    """Tell runs from qrels by the columns; both may have a "score", which is a grade only beside BEIR's corpus-id."""
    known = lowered(names)
    is_run, is_qrels = bool(known & _RUN_ONLY), bool(known & _QRELS_ONLY)
    if is_run != is_qrels:
        return "run" if is_run else "qrels"
    if is_run or "score" not in known:
        return None
    return "qrels" if "corpus-id" in known else "run"


def kind_of_json(sample: Sample) -> str | None:
    """Tell runs from qrels by the docs of the first query, or by the keys of the first row."""
    if sample.text.lstrip().startswith("["):
        first = first_value(sample.text, sample.text.find("{"))
        return kind_of_columns(first) if isinstance(first, dict) else None
    key = _FIRST_KEY.match(sample.text)
    return kind_of_docs(first_value(sample.text, key.end())) if key else None


def first_value(text: str, start: int) -> Any:
    """Return the JSON value that begins at a place in a text, or None where it is cut off."""
    try:
        return json.JSONDecoder().raw_decode(text, max(start, 0))[0]
    except (ValueError, RecursionError):
        return None


def kind_of_docs(docs: Any) -> str | None:
    """Tell runs from qrels by one query's docs: grades are small whole numbers, scores have a point."""
    if isinstance(docs, list):
        return "run" if docs and all(isinstance(doc, list) for doc in docs) else None
    numbers = list(docs.values()) if isinstance(docs, dict) else []
    if numbers and all(isinstance(number, float) for number in numbers):
        return "run"
    is_graded = all(isinstance(number, int) and abs(number) <= _HIGHEST_USUAL_GRADE for number in numbers)
    return "qrels" if numbers and is_graded else None


def kind_of_table(source: Source, layout: Layout) -> str | None:
    """Tell runs from qrels in a file of typed columns."""
    with source.open() as raw, decompressed(raw, layout.compression, name=source.name) as stream:
        content = stream.read()
    return kind_of_columns(polars_file.column_names(content, source.name, is_arrow=layout.format == "arrow"))
