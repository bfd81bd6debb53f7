"""TREC text: runs of six fields a line, qrels of four, as trec_eval reads them."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, BinaryIO

import numpy as np

from rankscope.arrays import Ints, positions_in_segment
from rankscope.errors import BadLine, FormatError, InputError, OptionError
from rankscope.io.numbers import grade_text, number_in
from rankscope.io.rows import AnyRows, RunRows
from rankscope.io.source import FileReading
from rankscope.io.table import Collector, Format, RowKind, looks_like, other
from rankscope.io.write import check_encodable, refuse_extra_columns, write_lines

RUN_FIELDS = 6
QRELS_FIELDS = 4

_RANK_DIGITS = 19  # more than that are no rank, however many zeros lead them
_WHITESPACE = re.compile(r"[ \t\n\r\v\f]")


def read(reading: FileReading, kind: RowKind[Any]) -> Collector:
    """Read TREC text: by the block where all its lines are plain, else line by line."""
    if reading.columns:
        raise OptionError(
            f"{reading.name} is TREC text, which has no named columns", hint="leave out the mapping of columns"
        )
    collector = Collector()
    for first, lines in reading.blocks():
        if not take_block(collector, lines, is_run=kind.name == "run"):
            take_lines(reading, collector, kind, numbered=enumerate(lines, first))
    if len(set(collector.extras.get("subtopic", ()))) == 1:  # the iteration, which nobody uses
        del collector.extras["subtopic"]
    return collector


def take_block(collector: Collector, lines: list[bytes], *, is_run: bool) -> bool:
    """Add a block in which every line is plain; otherwise add nothing and say so."""
    rows = list(map(bytes.split, lines))
    if set(map(len, rows)) != {RUN_FIELDS if is_run else QRELS_FIELDS}:
        return False
    columns = list(zip(*rows, strict=True))
    texts = columns[4 if is_run else 3]
    has_comment = any(query.startswith(b"#") for query in set(columns[0]))
    if has_comment or b"".join(texts).translate(None, b"0123456789+-.eE"):
        return False
    try:
        numbers = array("d", map(float, texts))
    except ValueError:
        return False
    if not (is_run or np.isfinite(numbers).all()):
        return False
    collector.query.extend(interned(columns[0], collector.names))
    collector.doc.extend(b"\n".join(columns[2]).decode("utf-8", "surrogateescape").split("\n"))  # many in one go
    collector.value.extend(numbers)
    if is_run:
        take_ranks(collector, columns[3])
        collector.tag = columns[5][-1].decode("utf-8", "surrogateescape")
    else:
        collector.extras.setdefault("subtopic", []).extend(interned(columns[1], collector.names))
    return True


def take_ranks(collector: Collector, texts: Sequence[bytes]) -> None:
    """Add a column of ranks; one that is no whole number leaves the run without ranks, which are never needed."""
    if collector.rank is None:
        return
    try:
        digits = (text.lstrip(b"+-") for text in texts) if max(map(len, texts)) > _RANK_DIGITS else texts
        is_plain = not b"".join(texts).translate(None, b"0123456789+-") and max(map(len, digits)) <= _RANK_DIGITS
        collector.rank.extend(array("q", map(int, texts if is_plain else [b""])))
    except (ValueError, OverflowError):
        collector.rank = None


def interned(texts: Iterable[bytes], names: dict[str, str]) -> Iterator[str]:
    """Decode ids that repeat, giving the same text object each time."""
    known: dict[bytes, str] = {}
    for text in texts:
        name = known.get(text)
        if name is None:
            name = text.decode("utf-8", "surrogateescape")
            name = known[text] = names.setdefault(name, name)
        yield name


def take_lines(
    reading: FileReading, collector: Collector, kind: RowKind[Any], *, numbered: Iterable[tuple[int, bytes]]
) -> None:
    for number, line in numbered:
        fields = fields_of(line)
        if not fields or fields[0].startswith("#"):
            continue
        try:
            collector.add(row_of(fields, kind), kind)
        except InputError as error:
            reading.reject(number, line.decode("utf-8", "surrogateescape"), error.message)


def fields_of(line: bytes) -> list[str]:
    """Split a line where C sees a blank; text would also be split at the blanks of Unicode, which ids may hold."""
    return [field.decode("utf-8", "surrogateescape") for field in line.split()]


def row_of(fields: list[str], kind: RowKind[Any]) -> dict[str, str]:
    """Return a line by role; what follows the sixth field of a run is ignored."""
    n_fields = len(fields)
    found = "1 field" if n_fields == 1 else f"{n_fields} fields"
    if kind.name == "run":
        if n_fields < RUN_FIELDS:
            raise FormatError(f"{found} where {RUN_FIELDS} are needed")
        return dict(zip(("query", "Q0", "doc", "rank", "score", "tag"), fields, strict=False))
    if n_fields != QRELS_FIELDS:
        verdict = " (it looks like a line of a run)" if n_fields >= RUN_FIELDS else ""
        raise FormatError(f"{found} where {QRELS_FIELDS} are needed{verdict}")
    return dict(zip(("query", "subtopic", "doc", "grade"), fields, strict=True))


def fits(line: str, kind_name: str) -> bool:
    """Tell whether a line has the fields of a run, or of qrels, with a number where one must be."""
    fields = fields_of(line.encode("utf-8", "surrogateescape"))
    if kind_name == "run":
        return len(fields) >= RUN_FIELDS and number_in(fields[4]) is not None
    return len(fields) == QRELS_FIELDS and number_in(fields[3]) is not None


def explain(kind: RowKind[Any], bad_lines: Sequence[BadLine], n_good: int) -> str:
    if not n_good and fits(bad_lines[0].text, other(kind).name):
        return looks_like(other(kind))
    return f"the columns are {'query Q0 doc rank score tag' if kind.name == 'run' else 'query iteration doc grade'}"


def write(rows: AnyRows, stream: BinaryIO) -> None:
    check_words(rows.query, what="query")
    check_words(rows.doc, what="doc")
    comment = next((query for query in rows.query if query.startswith("#")), None)
    if comment is not None:
        raise FormatError(
            f"query {comment!r} starts with '#', which makes a comment of its line in TREC text",
            hint="write csv, tsv, json, jsonl, parquet or arrow instead, or rename the query",
        )
    if isinstance(rows, RunRows):
        tag = rows.tag or "rankscope"
        check_words([tag], what="tag")
        ranks = ranks_by_score(rows) if rows.rank is None else rows.rank
        numbers = zip(rows.query, rows.doc, ranks.tolist(), rows.score.tolist(), strict=True)
        lines = (f"{query} Q0 {doc} {rank} {score!r} {tag}\n" for query, doc, rank, score in numbers)
    else:
        refuse_extra_columns(rows, "TREC text", but="subtopic")
        subtopics = ["0"] * len(rows) if rows.subtopic is None else rows.subtopic
        check_words(subtopics, what="subtopic")
        grades = zip(rows.query, subtopics, rows.doc, map(grade_text, rows.grade.tolist()), strict=True)
        lines = (f"{' '.join(judgment)}\n" for judgment in grades)
    if rows.query and rows.query[0].startswith("\ufeff"):
        # A reader takes the first mark for the file's own, so the id needs one more.
        stream.write("\ufeff".encode())
    write_lines(lines, stream)


def ranks_by_score(rows: RunRows) -> Ints:
    """Return the position of each row within its query, best score first, ties as given."""
    numbers: dict[str, int] = {}
    queries = np.array([numbers.setdefault(query, len(numbers)) for query in rows.query], dtype=np.int64)
    order = np.lexsort((-rows.score, queries))
    ranks = np.empty(len(rows), dtype=np.int64)
    ranks[order] = positions_in_segment(queries[order], len(numbers)) + 1
    return ranks


def check_words(texts: Sequence[str], *, what: str) -> None:
    check_encodable(texts, what=what)
    broken = next((text for text in texts if not text or _WHITESPACE.search(text)), None)
    if broken is not None:
        raise FormatError(
            f"{what} {broken!r} {'holds a blank' if broken else 'is empty'}, which TREC text cannot hold",
            hint="write csv, tsv, json, jsonl, parquet or arrow instead, or rename it",
        )


TREC = Format(read=read, write=write, explain=explain)
