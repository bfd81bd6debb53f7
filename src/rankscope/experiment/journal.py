"""The journal: every answer is on disk as soon as it has come, so that no crash loses one.

A journal is a file of JSON lines to which is only ever added. A call, which is one query or a batch of them, adds a
line for each answer and then a line that closes the call. What stands behind the last such line when a journal is
opened was cut off in the middle: it is removed, and its queries are asked again.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Self, cast

from rankscope.errors import InputError, OptionError
from rankscope.systems.answers import Answer
from rankscope.systems.base import RankedDocs

VERSION = 1
_MARK = "rankscope_journal"


@dataclass(frozen=True, slots=True)
class Call:
    """One time that a system was asked."""

    n_queries: int
    seconds: float
    """How long it took; of calls at the same time, since the one before came back."""
    cold: bool = False
    """Whether it was among the first since the system was started, which are slower."""


@dataclass(frozen=True, slots=True)
class Fit:
    """What indexing took."""

    seconds: float
    index_bytes: int


@dataclass(frozen=True, slots=True)
class Line:
    """Where the answer to a query stands in the file, and what is wanted of it most often."""

    start: int
    length: int
    seconds: float | None
    n_attempts: int
    cold: bool


@dataclass(slots=True)
class Content:
    """What a journal says."""

    lines: dict[str, Line] = field(default_factory=dict)
    """The answers, by query."""
    failures: dict[str, Answer] = field(default_factory=dict)
    """Queries that are without an answer so far."""
    calls: list[Call] = field(default_factory=list)
    fit: Fit | None = None
    memory_bytes: int | None = None


class Journal:
    """The answers of one system to the queries of one collection, kept in a file."""

    def __init__(self, path: Path, *, about: Mapping[str, Any]) -> None:
        self.path = path
        self._reading: BinaryIO | None = None
        path.parent.mkdir(parents=True, exist_ok=True)
        self._stream = cast("BinaryIO", path.open("a+b", buffering=0))  # unbuffered: what is written is written
        try:
            lock(self._stream, path)
            self.content, self._end = read_content(path)
            self._stream.truncate(self._end)
            if not self._end:
                self._append({_MARK: VERSION, **about})
        except BaseException:
            self._stream.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()
        if self._reading is not None:
            self._reading.close()

    def __contains__(self, query: object) -> bool:
        return query in self.content.lines

    def add(self, answers: Sequence[Answer], *, seconds: float, cold: bool = False) -> None:
        """Write down what came back from one call, all of it or nothing, before this returns."""
        records = [answer_record(answer, cold=cold) for answer in answers]
        call = Call(len(answers), seconds, cold)
        starts = self._append(*records, {"call": call.n_queries, "seconds": seconds, "cold": cold})
        for answer, start, record in zip(answers, starts, records, strict=False):
            note(self.content, answer.query_id, record, start)
        self.content.calls.append(call)

    def add_fit(self, fit: Fit) -> None:
        """Write down what indexing took."""
        self._append({"fit": fit.seconds, "index_bytes": fit.index_bytes})
        self.content.fit = fit

    def add_memory(self, n_bytes: int) -> None:
        """Write down how much memory was taken up at most."""
        self._append({"memory_bytes": n_bytes})
        self.content.memory_bytes = max(n_bytes, self.content.memory_bytes or 0)

    def ranking(self, query: str) -> RankedDocs:
        """Return the answer to a query, read from the file."""
        line = self.content.lines[query]
        if self._reading is None:
            self._reading = self.path.open("rb")
        self._reading.seek(line.start)
        record = json.loads(self._reading.read(line.length))
        return [(doc, score) for doc, score in record["docs"]]

    def _append(self, *records: Mapping[str, Any]) -> list[tuple[int, int]]:
        """Add lines in one go, and wait until they are on disk; return where each begins and how long it is."""
        lines = [json.dumps(record, separators=(",", ":")).encode() + b"\n" for record in records]
        places = []
        for line in lines:
            places.append((self._end, len(line)))
            self._end += len(line)
        left = memoryview(b"".join(lines))
        while left:
            left = left[self._stream.write(left) :]
        os.fsync(self._stream.fileno())
        return places


def lock(stream: BinaryIO, path: Path) -> None:
    """Keep other runs away from a journal; the system lets go of it when the process ends, however it ends."""
    try:
        import fcntl
    except ImportError:  # not on Windows
        return
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise OptionError(
            f"another run is writing to {path}", hint="wait until it has ended, or give this one another output folder"
        ) from None


def read_content(path: Path) -> tuple[Content, int]:
    """Return what a journal says, and where its last complete call ends."""
    content = Content()
    pending: list[tuple[str, dict[str, Any], tuple[int, int]]] = []
    end = 0
    for number, (start, line) in enumerate(complete_lines(path), 1):
        record = record_in(line, path, number)
        if "query" in record:
            pending.append((record["query"], record, (start, len(line))))
            continue
        for query, answer, place in pending:
            note(content, query, answer, place)
        pending.clear()
        take(content, record)
        end = start + len(line)
    return content, end


def complete_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the lines that have an end, with the place where each begins."""
    start = 0
    with path.open("rb") as stream:
        for line in stream:
            if line.endswith(b"\n"):
                yield start, line
            start += len(line)


def record_in(line: bytes, path: Path, number: int) -> dict[str, Any]:
    """Return what a line says; the first one says of which version the journal is."""
    try:
        record = json.loads(line)
    except ValueError:
        record = None
    if not isinstance(record, dict) or (number == 1 and record.get(_MARK) != VERSION):
        raise InputError(
            f"{path}:{number} is damaged, or of another version", hint="`rankscope run --fresh` asks everything anew"
        )
    return record


def answer_record(answer: Answer, *, cold: bool) -> dict[str, Any]:
    """Return the line for one answer."""
    found = {"failed": answer.reason} if answer.ranking is None else {"docs": [list(pair) for pair in answer.ranking]}
    return {
        "query": answer.query_id,
        **found,
        "seconds": answer.seconds,
        "attempts": answer.n_attempts,
        **({"cold": True} if cold else {}),
    }


def note(content: Content, query: str, record: Mapping[str, Any], place: tuple[int, int]) -> None:
    """Take in one answer; a query that failed once and was answered later is answered."""
    if "docs" in record:
        content.failures.pop(query, None)
        cold = bool(record.get("cold"))
        content.lines[query] = Line(*place, record["seconds"], record["attempts"], cold)
    elif query not in content.lines:
        content.failures[query] = Answer(query, None, record["failed"], n_attempts=record["attempts"])


def take(content: Content, record: Mapping[str, Any]) -> None:
    """Take in a line that is no answer."""
    if "call" in record:
        content.calls.append(Call(record["call"], record["seconds"], bool(record.get("cold"))))
    elif "fit" in record:
        content.fit = Fit(record["fit"], record["index_bytes"])
    elif "memory_bytes" in record:
        content.memory_bytes = max(record["memory_bytes"], content.memory_bytes or 0)
