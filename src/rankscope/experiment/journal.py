"""The journal: every answer is on disk as soon as it has come, so that no crash loses one.

A journal is a file of JSON lines to which is only ever added. A call, which is one query or a batch of them, adds a
line for each answer and then a line that closes the call. What stands behind the last such line when a journal is
opened was cut off in the middle: it is removed, and its queries are asked again.

Each line ends with a checksum of all before it and of what the journal is about: system, collection and fingerprint.
A line that was damaged, or that belongs to another journal, is found by it, and costs only the query that it answered.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO, Self, cast

import msgspec

from rankscope.errors import InputError, OptionError
from rankscope.experiment.answer_store import AnswerSummary, IndexCost, SystemCall, TunedWeights
from rankscope.experiment.fingerprint import canonical_bytes
from rankscope.experiment.run_files import file_name, refuse_unwritable
from rankscope.io.files import write_text
from rankscope.io.write import open_target
from rankscope.records import Record, to_builtins
from rankscope.systems.answers import Answer
from rankscope.systems.base import RankedDocs

VERSION = 2
_MARK = "rankscope_journal"
_SHOWN_DIGITS = 12
"""How many digits of a fingerprint are in the name of a file."""
_SUM = b',"sum":"%b"}\n'
_SUM_BYTES = 8
_SUM_LENGTH = len(_SUM % (b"0" * 2 * _SUM_BYTES))


class AnswerLine(Record):
    """What came back for one query."""

    query: str
    seconds: float | None
    attempts: int
    at: str
    """When it came."""
    docs: tuple[tuple[str, float], ...] | None = None
    failed: str | None = None
    """Why there are no docs."""
    cold: bool = False
    shared_with: tuple[str, ...] = ()
    """Other systems that the same request was sent for."""
    beside: int = 0
    """How many other systems were asked at the same time by other workers."""


class CallLine(Record):
    """Closes a call: the answers above it are complete."""

    call: int
    seconds: float
    cold: bool


class FitLine(Record):
    """What indexing took."""

    fit: float
    index_bytes: int


class MemoryLine(Record):
    """How much memory was taken up."""

    memory_bytes: int


class HeaderLine(Record):
    """What the journal is about, for people: every line is bound to it by its checksum."""

    rankscope_journal: int
    system: str = ""
    collection: str = ""
    fingerprint: str = ""
    repetition: int = 1
    """Which time it is that the system is asked all queries."""


Line = AnswerLine | CallLine | FitLine | MemoryLine | HeaderLine
_LINES: Mapping[str, type[Line]] = {
    "query": AnswerLine,
    "call": CallLine,
    "fit": FitLine,
    "memory_bytes": MemoryLine,
    _MARK: HeaderLine,
}
"""The kinds of lines, by their first key."""


class JournalStore(Record):
    """The journals of one collection, in a folder."""

    folder: Path
    collection: str
    beside: int = 0
    """How many other systems are asked at the same time by other workers, which is noted with every answer."""
    waits: bool = False
    """Whether a journal that somebody writes to is waited for, as workers of one run do, or refused."""

    def open(self, system: str, fingerprint: str, repetition: int = 1) -> Journal:
        again = {} if repetition == 1 else {"repetition": repetition}
        path = self._path(system, fingerprint, f"{repetition}.jsonl" if again else "jsonl")
        is_new = not path.exists()
        about: dict[str, str | int] = {**self._about(system, fingerprint), **again}
        journal = Journal(path, about=about, beside=self.beside, waits=self.waits)
        if is_new and not again and any(map(is_of_another_version, self._files_of(system))):
            journal.summary.notes.append(
                f"{system}: answers of an earlier version of Rankscope are not used, as it is not known what they "
                "depend on. `rankscope run --fresh` removes them."
            )
        return journal

    def has(self, system: str, fingerprint: str) -> bool:
        return self._path(system, fingerprint, "jsonl").is_file()

    def get_tuned(self, system: str, fingerprint: str) -> TunedWeights | None:
        try:
            line = self._path(system, fingerprint, "tuned.json").read_bytes()
        except OSError:
            return None
        record = unseal(line, seal_key(self._about(system, fingerprint)))
        try:
            return msgspec.convert(record, TunedWeights)
        except msgspec.ValidationError:  # it was damaged
            return None

    def put_tuned(self, system: str, fingerprint: str, tuned: TunedWeights) -> None:
        path = self._path(system, fingerprint, "tuned.json")
        with refuse_unwritable(path):
            self.folder.mkdir(parents=True, exist_ok=True)
            write_text(path, seal(to_builtins(tuned), seal_key(self._about(system, fingerprint))).decode())

    def forget(self, systems: Iterable[str]) -> None:
        """Throw away all that is kept of some systems; nothing of it where another run is writing to any."""
        found = [path for system in systems for path in self._files_of(system)]
        with ExitStack() as stack:
            for path in found:
                if path.suffix == ".jsonl":
                    with refuse_unwritable(path):
                        lock(cast("BinaryIO", stack.enter_context(path.open("rb"))), path)
            for path in found:
                with refuse_unwritable(path):
                    path.unlink(missing_ok=True)

    def _files_of(self, system: str) -> list[Path]:
        name = re.escape(file_name(system))
        ours = re.compile(rf"{name}\.[0-9a-f]{{{_SHOWN_DIGITS}}}\.((\d+\.)?jsonl(\.old)?|tuned\.json)")
        return [path for path in self.folder.glob("*") if ours.fullmatch(path.name)] if self.folder.is_dir() else []

    def _about(self, system: str, fingerprint: str) -> dict[str, str]:
        return {"system": system, "collection": self.collection, "fingerprint": fingerprint}

    def _path(self, system: str, fingerprint: str, ending: str) -> Path:
        return self.folder / f"{file_name(system)}.{fingerprint[:_SHOWN_DIGITS]}.{ending}"


class Journal:
    """The answers of one system to the queries of one collection, kept in a file."""

    def __init__(self, path: Path, *, about: Mapping[str, str | int], beside: int = 0, waits: bool = False) -> None:
        self.path, self.beside = path, beside
        self.summary = AnswerSummary()
        self._key = seal_key(about)
        self._header = seal({_MARK: VERSION, **about}, self._key)
        self._places: dict[str, tuple[int, int]] = {}
        """Where the answer to a query begins in the file, and how long it is."""
        self._reading: BinaryIO | None = None
        with refuse_unwritable(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            self._stream = open_locked(path, waits=waits)
            try:
                self._end = self._read()
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

    def add(self, answers: Sequence[Answer], *, seconds: float, cold: bool = False) -> None:
        """Write down what came back from one call, all of it or nothing, before this returns."""
        at = datetime.now(UTC).isoformat(timespec="microseconds")
        lines = [
            {
                "query": answer.query_id,
                **({"failed": answer.reason} if answer.ranking is None else {"docs": list(answer.ranking)}),
                "seconds": answer.seconds,
                "attempts": answer.n_attempts,
                "at": at,
                **({"cold": True} if cold else {}),
                **({"shared_with": list(answer.shared_with)} if answer.shared_with else {}),
                **({"beside": self.beside} if self.beside else {}),
            }
            for answer in answers
        ]
        self._append(*lines, {"call": len(answers), "seconds": seconds, "cold": cold})

    def add_fit(self, fit: IndexCost) -> None:
        self._append({"fit": fit.seconds, "index_bytes": fit.index_bytes})

    def add_memory(self, n_bytes: int) -> None:
        self._append({"memory_bytes": n_bytes})

    def ranking(self, query: str) -> RankedDocs:
        start, length = self._places[query]
        if self._reading is None:
            self._reading = self.path.open("rb")
        self._reading.seek(start)
        line = line_of(unseal(self._reading.read(length), self._key))
        if not isinstance(line, AnswerLine) or line.docs is None:
            raise InputError(
                f"{self.path} has changed since it was opened", hint="run again: what was damaged is asked again"
            )
        return line.docs

    def _read(self) -> int:
        """Take in what the file says, and return where its last complete call ends; damaged lines are blanked."""
        pending: list[tuple[Line, int, int]] = []
        damaged: list[tuple[int, int]] = []
        end = start = 0
        first_sound = -1
        with self.path.open("rb") as stream:
            for text in stream:
                if not text.endswith(b"\n"):
                    break
                line = line_of(unseal(text, self._key))
                if line is not None:
                    pending.append((line, start, len(text)))
                    first_sound = start if first_sound < 0 else first_sound
                elif text.strip():
                    damaged.append((start, len(text)))
                start += len(text)
                if line is not None and not isinstance(line, AnswerLine):
                    for each in pending:
                        self._take(*each)
                    pending.clear()
                    end = start
        if damaged and first_sound < 0:
            self._put_aside()
        elif damaged:
            n_header = len(self._header)
            of_header = damaged[0][0] < n_header <= first_sound  # nothing that is sound stands in its place
            self._overwrite([place for place in damaged if place[0] < end], header=of_header and end > 0)
            self._note_damage(
                [place for place in damaged if not of_header or sum(place) > n_header], of_header=of_header
            )
        return end

    def _note_damage(self, records: Sequence[tuple[int, int]], *, of_header: bool) -> None:
        """Say what was damaged; only what stands in records, or what they close, has to be asked again."""
        name, n = self.path.name, len(records)
        if of_header:
            rest = "" if records else "; all answers are sound"
            self.summary.notes.append(f"The header of {name} was damaged and is written anew{rest}.")
        if records:
            found, them = ("1 damaged record was", "it") if n == 1 else (f"{n} damaged records were", "them")
            lost = f"answers that are lost with {them} are asked again"
            self.summary.notes.append(f"{found} found in {name}; {lost}.")

    def _put_aside(self) -> None:
        """Keep a file of which nothing can be used under another name: it is of another version, or not ours."""
        old = self.path.with_name(f"{self.path.name}.old")
        with open_target(str(old)) as stream:
            stream.write(self.path.read_bytes())
        self.summary.notes.append(
            f"{self.path.name} was of another version or about something else, so everything was asked anew; "
            f"it was kept as {old.name}."
        )

    def _overwrite(self, places: Sequence[tuple[int, int]], *, header: bool) -> None:
        """Overwrite damaged lines, so that they are not found again, and write the header anew."""
        with self.path.open("r+b") as stream:
            for start, length in places:
                stream.seek(start)
                stream.write(b" " * (length - 1) + b"\n")
            if header:
                stream.seek(0)
                stream.write(self._header)
            stream.flush()
            os.fsync(stream.fileno())

    def _append(self, *records: Mapping[str, Any]) -> None:
        """Add lines in one go, wait until they are on disk, and take in what they say."""
        lines = [seal(record, self._key) for record in records]
        left = memoryview(b"".join(lines))
        with refuse_unwritable(self.path):
            try:
                while left:
                    left = left[self._stream.write(left) :]
                os.fsync(self._stream.fileno())
            except OSError:
                with suppress(OSError):
                    self._stream.truncate(self._end)
                raise
        for record, text in zip(records, lines, strict=True):
            line = line_of(record)
            assert line is not None  # noqa: S101 (we wrote it)
            self._take(line, self._end, len(text))
            self._end += len(text)

    def _take(self, line: Line, start: int, length: int) -> None:
        """Take in what the line says that begins there in the file, and is so long."""
        if isinstance(line, AnswerLine):
            ranking = None if line.docs is None else ()  # the docs are read when they are needed
            answer = Answer(
                line.query, ranking, line.failed or "", line.seconds, line.attempts, shared_with=line.shared_with
            )
            self.summary.note_answer(answer, cold=line.cold, at=line.at, beside=line.beside)
            if ranking is not None:
                self._places[line.query] = start, length
        elif isinstance(line, CallLine):
            self.summary.calls.append(SystemCall(line.call, line.seconds, line.cold))
        elif isinstance(line, FitLine):
            self.summary.fit = IndexCost(line.fit, line.index_bytes)
        elif isinstance(line, MemoryLine):
            self.summary.memory_bytes = max(line.memory_bytes, self.summary.memory_bytes or 0)


def open_locked(path: Path, *, waits: bool = False) -> BinaryIO:
    """Open a journal that nobody else writes to; one that was thrown away before it was locked is made anew."""
    while True:
        stream = cast("BinaryIO", path.open("a+b", buffering=0))  # unbuffered: what is written is written
        try:
            lock(stream, path, waits=waits)
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(stream.fileno()), path.stat()):
                    return stream
        except BaseException:
            stream.close()
            raise
        stream.close()


def lock(stream: BinaryIO, path: Path, *, waits: bool = False) -> None:
    """Keep other runs away from a journal; the system lets go of it when the process ends, however it ends."""
    try:
        import fcntl
    except ImportError:  # not on Windows
        return
    try:
        fcntl.flock(stream, fcntl.LOCK_EX if waits else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise OptionError(
            f"another run is writing to {path}", hint="wait until it has ended, or give this one another output folder"
        ) from None


# Lines with their checksums


def seal_key(about: Mapping[str, str | int]) -> bytes:
    return hashlib.sha256(canonical_bytes([VERSION, dict(about)])).digest()


def seal(record: Mapping[str, Any], key: bytes) -> bytes:
    """Return a record as a line of JSON whose last value is the checksum of all before it."""
    body = json.dumps(record, separators=(",", ":")).encode()[:-1]
    return body + _SUM % checksum(body, key)


def unseal(line: bytes, key: bytes) -> dict[str, Any] | None:
    """Return the record of a line, None where its checksum is not right."""
    body, end = line[:-_SUM_LENGTH], line[-_SUM_LENGTH:]
    if end != _SUM % checksum(body, key):
        return None
    try:
        record = json.loads(body + b"}")
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def checksum(body: bytes, key: bytes) -> bytes:
    return hashlib.blake2b(body, digest_size=_SUM_BYTES, key=key).hexdigest().encode()


def line_of(record: Mapping[str, Any] | None) -> Line | None:
    """Return a record as what it is, None where it is nothing that a journal holds."""
    kind = None if not record else _LINES.get(next(iter(record)))
    try:
        line = None if kind is None else msgspec.convert(record, kind)
    except msgspec.ValidationError:
        return None
    if isinstance(line, AnswerLine) and (line.docs is None) == (line.failed is None):
        return None
    return line


def is_of_another_version(path: Path) -> bool:
    """Tell whether a file is a journal as other versions of Rankscope write them, by its first line."""
    try:
        with path.open("rb") as stream:
            header = json.loads(stream.readline(1 << 16))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(header, dict) and header.get(_MARK, VERSION) != VERSION
