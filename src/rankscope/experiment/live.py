"""Asking the systems of a project one query, all at the same time, outside of a run: nothing is kept.

The systems live in a process of their own (`experiment/live_process.py`), which holds their indexes: they may run
anybody's code, take long to index, and crash, none of which may touch the server. It is started with the first query,
ends after a while without any, and is started anew where it has ended or where a system does not come back.
"""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import threading
import time
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import field

from rankscope.errors import RankscopeError
from rankscope.experiment.jobs import end_in_words
from rankscope.records import Options, Record, from_builtins, to_json

START = "import sys; from rankscope.experiment.live_process import main; sys.exit(main())"
ANSWER_S = 10.0
"""How long a system has for its answer."""
INDEX_S = 120.0
"""How long it has where the docs have to be indexed before."""
STUCK_S = 60.0
"""A system that has not come back by then, after its time was over, is given up with the process."""
IDLE_S = 900.0


class LiveQuestion(Options):
    """A query, and whom to ask it."""

    collection: str
    systems: tuple[str, ...]
    text: str
    query: str = "live"
    """The id of the query, for systems that look at it."""
    attributes: dict[str, Any] = field(default_factory=dict)
    k: int = 10


class LiveDoc(Record):
    """A doc that a system returned, with what the collection says of it."""

    doc: str
    score: float
    title: str = ""
    text: str = ""


class LiveAnswer(Record, kw_only=True):
    """What a system answered, or why it did not."""

    system: str
    docs: tuple[LiveDoc, ...] = ()
    failure: str = ""
    latency_ms: float | None = None
    index_s: float | None = None
    """How long indexing took, where it was done for this query."""
    added: tuple[str, ...] = ()
    """Terms that were added to the query."""
    removed: tuple[str, ...] = ()
    """Terms that count against a doc."""
    facts: dict[str, str] = field(default_factory=dict)
    """What else the system said: what it took the query for, and so on."""


class WaitingAnswer(NamedTuple):
    """An answer that is waited for, from which process, and since when."""

    future: Future[LiveAnswer]
    process: subprocess.Popen[str]
    since: float


class LiveAsker:
    """Asks the systems of a project in a process of its own."""

    def __init__(self, project: Path, *, idle_s: float = IDLE_S) -> None:
        self.project = project
        self.idle_s = idle_s
        self._numbers = itertools.count(1)
        self._process: subprocess.Popen[str] | None = None
        self._waiting: dict[tuple[int, str], WaitingAnswer] = {}
        self._ready: set[tuple[str, str]] = set()
        """The systems whose docs are indexed, with their collections."""
        self._reader: threading.Thread | None = None
        self._lock = threading.Lock()

    def ask(self, question: LiveQuestion) -> dict[str, Future[LiveAnswer]]:
        """Ask all systems at the same time; each answer comes when it comes."""
        number = next(self._numbers)
        found: dict[str, Future[LiveAnswer]] = {name: Future() for name in question.systems}
        with self._lock:
            now = time.monotonic()
            if self._process is not None and any(one.since + STUCK_S < now for one in self._waiting.values()):
                self._process.kill()  # what waits is answered when its end is read
                self._process = None
            if self._process is None or self._process.poll() is not None:
                self._process = self._start()
            process = self._process
            for name, future in found.items():
                patience = self.timeout_of(question.collection, name)
                self._waiting[number, name] = WaitingAnswer(future, process, now + patience)
        line = json.dumps({"number": number, "question": json.loads(to_json(question, ascii_only=True))})
        try:
            assert process.stdin is not None  # noqa: S101 (it is a pipe)
            process.stdin.write(line + "\n")
            process.stdin.flush()
        except (OSError, ValueError):  # it has ended, and its pipe may be closed
            self._fail_all(process)
        return found

    def timeout_of(self, collection: str, system: str) -> float:
        """Return how long to wait for an answer of a system, in seconds."""
        return ANSWER_S if (collection, system) in self._ready else INDEX_S

    def close(self) -> None:
        with self._lock:
            process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
        if self._reader is not None:
            self._reader.join()

    def _start(self) -> subprocess.Popen[str]:
        self._ready.clear()
        process = subprocess.Popen(  # noqa: S603 (the arguments are ours)
            [sys.executable, "-P", "-c", START, str(self.project), str(self.idle_s)],
            env={"OPENBLAS_NUM_THREADS": "1", **os.environ},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="ascii",
            start_new_session=True,
        )
        self._reader = threading.Thread(target=self._read, args=(process,), name="live", daemon=True)
        self._reader.start()
        return process

    def _read(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None  # noqa: S101 (it is a pipe)
        for line in process.stdout:
            with suppress(ValueError, KeyError, RankscopeError):
                said = json.loads(line)
                answer = from_builtins(LiveAnswer, said["answer"])
                with self._lock:
                    waiting = self._waiting.pop((said["number"], answer.system), None)
                    if said["is_ready"]:
                        self._ready.add((said["collection"], answer.system))
                if waiting is not None:
                    waiting.future.set_result(answer)
        self._fail_all(process)
        process.stdout.close()
        with suppress(OSError):  # what was written last may not have gone out
            assert process.stdin is not None  # noqa: S101 (as above)
            process.stdin.close()

    def _fail_all(self, process: subprocess.Popen[str]) -> None:
        """Answer all that waits with the reason that there is nobody left to answer."""
        code = process.wait()
        with self._lock:
            lost = {key: one for key, one in self._waiting.items() if one.process is process}
            for key in lost:
                del self._waiting[key]
        why = f"the process that asks the systems ended by {end_in_words(code)}; ask again to start another one"
        for (_, system), one in lost.items():
            one.future.set_result(LiveAnswer(system=system, failure=why))
