"""Rankings, judgments and vectors of numbers as bytes: the same content gives the same bytes, and so the same hash.

Rows are put together by query, queries in the order of their bytes; within a query they stay as given. Numbers are kept
bit by bit. Bytes of numbers are laid out by place (all first bytes, all second bytes …), which compresses far better.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from typing import Any

import numpy as np

from rankscope.arrays import Floats, Ints
from rankscope.errors import InputError
from rankscope.io.ids import byte_order
from rankscope.io.rows import EXTRA_QRELS_COLUMNS, QrelsRows, RunRows
from rankscope.records import Record
from rankscope.store.schema import canonical_json

VERSION = 1
_LENGTH = np.dtype("<u4")
_NUL = b"\0"


class ByteWriter:
    """Puts columns one after another, each with its length."""

    def __init__(self, header: dict[str, Any]) -> None:
        self.parts: list[bytes] = []
        self.add_bytes(canonical_json({"version": VERSION, **header}).encode())

    def add_bytes(self, data: bytes) -> None:
        self.parts += [len(data).to_bytes(8, "little"), data]

    def add_array(self, values: Any, kind: str) -> None:
        numbers = np.ascontiguousarray(values, dtype=np.dtype(kind))
        self.add_bytes(numbers.view(np.uint8).reshape(len(numbers), -1).T.tobytes() if len(numbers) else b"")

    def add_texts(self, texts: Sequence[str]) -> None:
        data = "".join(texts).encode("utf-8", "surrogatepass")  # of millions of texts, no second ones are made
        lengths = np.fromiter(map(len, texts), dtype=_LENGTH, count=len(texts))
        if int(lengths.sum(dtype=np.int64)) != len(data):
            encoded = (len(text.encode("utf-8", "surrogatepass")) for text in texts)
            lengths = np.fromiter(encoded, dtype=_LENGTH, count=len(texts))
        self.add_array(lengths, "<u4")
        self.add_bytes(data)

    def result(self) -> bytes:
        return b"".join(self.parts)


class ByteReader:
    """Takes the columns out again, in the same order."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0
        self.header: dict[str, Any] = json.loads(self.take_bytes())
        if self.header["version"] != VERSION:
            raise InputError(
                f"the store has columns of version {self.header['version']}, and this program reads {VERSION}",
                hint="install a newer Rankscope: pip install --upgrade rankscope",
            )

    def take_bytes(self) -> bytes:
        start = self.at + 8
        self.at = start + int.from_bytes(self.data[self.at : start], "little")
        return self.data[start : self.at]

    def take_array(self, kind: str) -> Any:
        size = np.dtype(kind).itemsize
        places = np.frombuffer(self.take_bytes(), dtype=np.uint8).reshape(size, -1)
        return np.ascontiguousarray(places.T).view(np.dtype(kind)).reshape(-1)

    def take_texts(self) -> list[str]:
        return self.take_text_column().texts()

    def take_text_column(self) -> TextColumn:
        return TextColumn(self.take_array("<u4"), self.take_bytes())


class TextColumn:
    """A column of texts that are made when they are asked for."""

    def __init__(self, lengths: Any, data: bytes) -> None:
        self.ends, self.data = np.cumsum(lengths, dtype=np.int64), data

    def texts(self, chosen: Ints | slice = slice(None)) -> list[str]:
        """Return all texts, or those at some places."""
        if isinstance(chosen, slice) and chosen == slice(None) and len(self.ends) and _NUL not in self.data:
            return self.all_texts()
        starts = np.concatenate([[0], self.ends[:-1]])[: len(self.ends)]
        places = zip(starts[chosen].tolist(), self.ends[chosen].tolist(), strict=True)
        return [self.data[start:end].decode("utf-8", "surrogatepass") for start, end in places]

    def all_texts(self) -> list[str]:
        """Return all texts, none of which has a NUL: put between them, it lets them be taken apart far sooner."""
        is_text = np.ones(len(self.data) + len(self.ends), dtype=np.bool_)
        is_text[self.ends + np.arange(len(self.ends))] = False
        spaced = np.zeros(len(is_text), dtype=np.uint8)
        spaced[is_text] = np.frombuffer(self.data, dtype=np.uint8)
        return spaced[:-1].tobytes().decode("utf-8", "surrogatepass").split("\0")


def in_byte_order(identifier: str) -> tuple[bytes, str]:
    """Return a key by which ids have one order, also two that are the same bytes."""
    return byte_order(identifier), identifier


def grouped(queries: Sequence[str]) -> tuple[list[str], list[int], np.ndarray[Any, np.dtype[np.int64]]]:
    """Return the queries in the order of their bytes, how many rows each has, and the rows in that order."""
    distinct = sorted(set(queries), key=in_byte_order)
    place = {query: i for i, query in enumerate(distinct)}
    codes = np.fromiter((place[query] for query in queries), dtype=np.int64, count=len(queries))
    return distinct, np.bincount(codes, minlength=len(distinct)).tolist(), np.argsort(codes, kind="stable")


def write_query_columns(writer: ByteWriter, queries: Sequence[str], docs: Sequence[str]) -> Any:
    distinct, counts, order = grouped(queries)
    writer.add_texts(distinct)
    writer.add_array(counts, "<u4")
    writer.add_texts(np.array(docs, dtype=object)[order].tolist())
    return order


class QueryColumns:
    """Rows that stand together by query, as they are stored: those of a few queries are taken out at once."""

    def __init__(self, data: bytes) -> None:
        self.n_bytes = len(data)
        self.reader = ByteReader(data)
        self.header = self.reader.header
        self.queries, self.counts = self.reader.take_texts(), self.reader.take_array("<u4")
        self.docs = self.reader.take_text_column()

    def rows_of(self, only: Collection[str] | None) -> tuple[list[str], Ints | slice]:
        """Return the query of each row and which rows these are: all, or those of some queries."""
        counts = self.counts.tolist()
        if only is None:
            return [query for query, n in zip(self.queries, counts, strict=True) for _ in range(n)], slice(None)
        is_wanted = np.array([query in only for query in self.queries], dtype=bool)
        wanted = zip(self.queries, counts, is_wanted.tolist(), strict=True)
        rows = np.flatnonzero(np.repeat(is_wanted, self.counts))
        return [query for query, n, inside in wanted if inside for _ in range(n)], rows


def those_in(queries: Iterable[str], only: Collection[str] | None) -> tuple[str, ...]:
    return tuple(query for query in queries if only is None or query in only)


def run_bytes(rows: RunRows) -> bytes:
    facts = {"tag": rows.tag, "integer_ids": sorted(rows.integer_ids), "has_rank": rows.rank is not None}
    writer = ByteWriter({"kind": "run", **facts})
    order = write_query_columns(writer, rows.query, rows.doc)
    writer.add_array(rows.score[order], "<f8")
    if rows.rank is not None:
        writer.add_array(rows.rank[order], "<i8")
    writer.add_texts(sorted(rows.empty_queries, key=in_byte_order))
    return writer.result()


class RunColumns(QueryColumns):
    """The columns of a run."""

    def __init__(self, data: bytes) -> None:
        super().__init__(data)
        self.scores = self.reader.take_array("<f8")
        self.ranks = self.reader.take_array("<i8") if self.header["has_rank"] else None
        self.empty = self.reader.take_texts()
        del self.reader  # it holds all bytes once more

    def rows(self, only: Collection[str] | None = None) -> RunRows:
        """Return all rows, or `only` those of some queries, which takes far less time and memory."""
        queries, rows = self.rows_of(only)
        ranks = None if self.ranks is None else self.ranks[rows]
        integer_ids = frozenset(self.header["integer_ids"])
        empty = those_in(self.empty, only)
        return RunRows(queries, self.docs.texts(rows), self.scores[rows], ranks, self.header["tag"], integer_ids, empty)


def run_rows_of(data: bytes) -> RunRows:
    return RunColumns(data).rows()


def qrels_bytes(rows: QrelsRows) -> bytes:
    extra = [name for name in EXTRA_QRELS_COLUMNS if getattr(rows, name) is not None]
    writer = ByteWriter({"kind": "qrels", "integer_ids": sorted(rows.integer_ids), "extra": extra})
    order = write_query_columns(writer, rows.query, rows.doc)
    writer.add_array(rows.grade[order], "<f8")
    for name in extra:
        cells = getattr(rows, name)
        writer.add_texts([str(cells[i]) for i in order.tolist()])
    writer.add_texts(sorted(rows.empty_queries, key=in_byte_order))
    return writer.result()


class QrelsColumns(QueryColumns):
    """The columns of judgments."""

    def __init__(self, data: bytes) -> None:
        super().__init__(data)
        self.grades = self.reader.take_array("<f8")
        self.extra = {name: self.reader.take_text_column() for name in self.header["extra"]}
        self.empty = self.reader.take_texts()
        del self.reader  # it holds all bytes once more

    @property
    def highest_grade(self) -> float:
        """The highest grade of all rows, 0 at least; the chance of a stop in some measures rests on it."""
        return float(self.grades.max(initial=0.0))

    def rows(self, only: Collection[str] | None = None) -> QrelsRows:
        """Return all rows, or `only` those of some queries."""
        queries, rows = self.rows_of(only)
        extra = {name: column.texts(rows) for name, column in self.extra.items()}
        integer_ids = frozenset(self.header["integer_ids"])
        empty = those_in(self.empty, only)
        docs = self.docs.texts(rows)
        return QrelsRows(queries, docs, self.grades[rows], **extra, integer_ids=integer_ids, empty_queries=empty)


def qrels_rows_of(data: bytes) -> QrelsRows:
    return QrelsColumns(data).rows()


def texts_bytes(texts: Iterable[str]) -> bytes:
    writer = ByteWriter({"kind": "texts"})
    writer.add_texts(list(texts))
    return writer.result()


def texts_of(data: bytes) -> tuple[str, ...]:
    return tuple(ByteReader(data).take_texts())


class ScoreVector(Record, eq=False):
    """The scores of one measure on all queries, in the order of the queries."""

    values: Floats
    """NaN where a score is undefined and left out."""
    undefined: Any
    """Where the measure is undefined, also where that counts as 0."""
    answered: Any
    """Whether the run has the query."""


def vector_bytes(vector: ScoreVector) -> bytes:
    writer = ByteWriter({"kind": "scores"})
    writer.add_array(vector.values, "<f8")
    writer.add_array(vector.undefined, "|b1")
    writer.add_array(vector.answered, "|b1")
    return writer.result()


def vector_of(data: bytes) -> ScoreVector:
    reader = ByteReader(data)
    return ScoreVector(reader.take_array("<f8"), reader.take_array("|b1"), reader.take_array("|b1"))
