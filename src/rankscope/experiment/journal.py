"""The journal: every answer is on disk as soon as it has come, so that no crash loses one.

A journal is a file of JSON lines to which is only ever added. A call, which is one query or a batch of them, adds a
line for each answer and then a line that closes the call. What stands behind the last such line when a journal is
opened was cut off in the middle: it is removed, and its queries are asked again.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Self, cast

from rankscope.errors import InputError, OptionError
from rankscope.experiment.answer_store import AnswerSummary, IndexCost, SystemCall, TunedWeights
from rankscope.experiment.run_files import file_name
from rankscope.io.files import write_text
from rankscope.records import Record, from_json, to_json
from rankscope.systems.answers import Answer
from rankscope.systems.base import RankedDocs

VERSION = 1
_MARK = "rankscope_journal"
_SHOWN_DIGITS = 12
"""How many digits of a fingerprint are in the name of a file."""


class JournalStore(Record):
    """The journals of one collection, in a folder."""

    folder: Path
    collection: str

    def open(self, system: str, fingerprint: str) -> Journal:
        about = {"system": system, "collection": self.collection, "fingerprint": fingerprint}
        return Journal(self._path(system, fingerprint, "jsonl"), about=about)

    def get_tuned(self, system: str, fingerprint: str) -> TunedWeights | None:
        try:
            return from_json(TunedWeights, self._path(system, fingerprint, "tuned.json").read_text("utf-8"))
        except (OSError, ValueError, OptionError):
            return None

    def put_tuned(self, system: str, fingerprint: str, tuned: TunedWeights) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        write_text(self._path(system, fingerprint, "tuned.json"), to_json(tuned, indent=None) + "\n")

    def forget(self, systems: Iterable[str]) -> None:
        for system in systems:
            ours = re.compile(rf"{re.escape(file_name(system))}\.[0-9a-f]{{{_SHOWN_DIGITS}}}\.(jsonl|tuned\.json)")
            for path in self.folder.glob("*") if self.folder.is_dir() else ():
                if ours.fullmatch(path.name):
                    path.unlink()

    def _path(self, system: str, fingerprint: str, ending: str) -> Path:
        return self.folder / f"{file_name(system)}.{fingerprint[:_SHOWN_DIGITS]}.{ending}"


class Journal:
    """The answers of one system to the queries of one collection, kept in a file."""

    def __init__(self, path: Path, *, about: Mapping[str, Any]) -> None:
        self.path = path
        self.summary = AnswerSummary()
        self._places: dict[str, tuple[int, int]] = {}
        """Where the answer to a query begins in the file, and how long it is."""
        self._reading: BinaryIO | None = None
        path.parent.mkdir(parents=True, exist_ok=True)
        self._stream = cast("BinaryIO", path.open("a+b", buffering=0))  # unbuffered: what is written is written
        try:
            lock(self._stream, path)
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
        lines = [
            {
                "query": answer.query_id,
                **({"failed": answer.reason} if answer.ranking is None else {"docs": list(answer.ranking)}),
                "seconds": answer.seconds,
                "attempts": answer.n_attempts,
                **({"cold": True} if cold else {}),
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
        record = json.loads(self._reading.read(length))
        return [(doc, score) for doc, score in record["docs"]]

    def _read(self) -> int:
        """Take in what the file says, and return where its last complete call ends."""
        pending: list[tuple[Mapping[str, Any], int, int]] = []
        end = start = 0
        with self.path.open("rb") as stream:
            for number, line in enumerate(stream, 1):
                if not line.endswith(b"\n"):
                    break
                record = parse_line(line, self.path, number)
                pending.append((record, start, len(line)))
                start += len(line)
                if "query" not in record:
                    for each in pending:
                        self._take(*each)
                    pending.clear()
                    end = start
        return end

    def _append(self, *records: Mapping[str, Any]) -> None:
        """Add lines in one go, wait until they are on disk, and take in what they say."""
        lines = [json.dumps(record, separators=(",", ":")).encode() + b"\n" for record in records]
        left = memoryview(b"".join(lines))
        while left:
            left = left[self._stream.write(left) :]
        os.fsync(self._stream.fileno())
        for record, line in zip(records, lines, strict=True):
            self._take(record, self._end, len(line))
            self._end += len(line)

    def _take(self, record: Mapping[str, Any], start: int, length: int) -> None:
        """Take in what the line says that begins there in the file, and is so long."""
        cold = bool(record.get("cold"))
        if "query" in record:
            query = record["query"]
            ranking = () if "docs" in record else None  # the docs are read when they are needed
            answer = Answer(query, ranking, record.get("failed", ""), record["seconds"], record["attempts"])
            self.summary.note_answer(answer, cold=cold)
            if ranking is not None:
                self._places[query] = start, length
        elif "call" in record:
            self.summary.calls.append(SystemCall(record["call"], record["seconds"], cold))
        elif "fit" in record:
            self.summary.fit = IndexCost(record["fit"], record["index_bytes"])
        elif "memory_bytes" in record:
            self.summary.memory_bytes = max(record["memory_bytes"], self.summary.memory_bytes or 0)


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


def parse_line(line: bytes, path: Path, number: int) -> dict[str, Any]:
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
