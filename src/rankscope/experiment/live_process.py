"""The process that holds the systems of a project and asks them queries, each system in a thread of its own.

Questions come as lines of JSON on standard input, answers go as lines to standard output; what the code of systems
prints goes to standard error.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

from rankscope.experiment.collection import Collection, load_collection
from rankscope.experiment.live import LiveAnswer, LiveDoc, LiveQuestion
from rankscope.experiment.project import Project, SystemEntry, load_project
from rankscope.experiment.retrieve import call_system
from rankscope.printable import printable
from rankscope.records import from_builtins, or_none, to_json
from rankscope.systems.answers import RemoteSystem, reason_of
from rankscope.systems.base import OptionSystem, Query, System
from rankscope.systems.expansion import Expand
from rankscope.systems.registry import make_system
from rankscope.systems.working_directory import process_of, working_directory

MOST_TEXT = 2000
"""Characters of a doc's text that are sent."""
MOST_FACT = 300


def live_options(entry: SystemEntry) -> dict[str, Any]:
    """Return the options that a system is asked with: where a run would choose, the first value, and equal weights."""
    options = next(entry.variants())
    return {name: value for name, value in options.items() if not (name == "weights" and value == "tune")}


class LiveCollection:
    """A collection with the systems that were asked about it, and where its docs are."""

    def __init__(self, project: Project, name: str) -> None:
        self.project = project
        self.collection: Collection = load_collection(project.collection(name), cache=project.cache)
        self._systems: dict[str, System] = {}
        self._fitted: set[str] = set()
        self._building = threading.RLock()
        self._indexing = threading.Lock()
        self._place_of: dict[str, tuple[int, int]] | None = None
        self._texts = tempfile.TemporaryFile()  # noqa: SIM115 (it stays open as long as the process)

    def system(self, name: str) -> System:
        """Return a system that is made once."""
        with self._building:
            if name not in self._systems:
                entry = self.project.systems[name]
                cache = self.project.cache / "embeddings"
                self._systems[name] = make_system(
                    entry.type, live_options(entry), name=name, resolve=self.system, cache=cache
                )
            return self._systems[name]

    def fitted_system(self, name: str) -> tuple[System, float | None]:
        """Return a system that has indexed the docs, and how many seconds that took where it was done now."""
        system = self.system(name)
        if name in self._fitted or isinstance(system, RemoteSystem):
            return system, None
        with self._indexing:
            started = time.perf_counter()
            system.fit(self.collection.docs)
            self._fitted.add(name)
        return system, time.perf_counter() - started

    def docs(self, ranking: Any) -> tuple[LiveDoc, ...]:
        """Return ranked docs with their titles and texts."""
        with self._indexing:
            places = self._places()
            found = []
            for doc, score in ranking:
                title = text = ""
                if doc in places:
                    place, length = places[doc]
                    self._texts.seek(place)
                    title, text = json.loads(self._texts.read(length))
                found.append(LiveDoc(doc, or_none(float(score)) or 0.0, title, text))
        return tuple(found)

    def _places(self) -> dict[str, tuple[int, int]]:
        if self._place_of is None:
            self._place_of = {}
            for doc in self.collection.docs:
                data = json.dumps([doc.title, doc.text[:MOST_TEXT]]).encode()
                self._place_of[doc.id] = self._texts.tell(), len(data)
                self._texts.write(data)
        return self._place_of


def ask_system(collection: LiveCollection, name: str, question: LiveQuestion) -> tuple[LiveAnswer, bool]:
    """Ask a system a query; return its answer, and whether its docs are indexed now."""
    secrets = collection.project.secrets
    is_ready = False
    try:
        system, index_s = collection.fitted_system(name)
        is_ready = True
        query = Query(question.query, question.text, question.attributes)
        added, removed = expansion_of(system, query)
        with closing(call_system(system, [query], [query], k=question.k, clock=time.perf_counter)) as calls:
            answers, seconds = next(calls)
        answer = answers[0]
        if answer.ranking is None:
            return LiveAnswer(system=name, failure=printable(secrets.hide(answer.reason)), index_s=index_s), is_ready
        leaked = secrets.found_in([doc for doc, _ in answer.ranking])
        if leaked is not None:
            why = f"the answer holds the environment variable {leaked} among the ids of docs, and is not shown"
            return LiveAnswer(system=name, failure=why), is_ready
        facts = {name: printable(secrets.hide(in_words(value)))[:MOST_FACT] for name, value in answer.facts.items()}
        answered = LiveAnswer(
            system=name,
            docs=collection.docs(answer.ranking),
            latency_ms=1000 * (seconds if answer.seconds is None else answer.seconds),
            index_s=index_s,
            added=added,
            removed=removed,
            facts=facts,
        )
    except BaseException as error:  # noqa: BLE001 (a system may be anybody's code)
        return LiveAnswer(system=name, failure=printable(secrets.hide(reason_of(error)))), is_ready
    return answered, is_ready


def expansion_of(system: System, query: Query) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the terms that a system, or one that it is made of, adds to a query, and those that count against docs."""
    parts = [system, *(system._parts if isinstance(system, OptionSystem) else ())]  # noqa: SLF001 (of the same package)
    for part in parts:
        if isinstance(part, Expand):
            found = part.expansion(query)
            return (*found.terms, *found.anchors), found.negatives
        if part is not system and (inner := expansion_of(part, query)) != ((), ()):
            return inner
    return (), ()


def in_words(value: Any) -> str:
    """Return what a system said, in a line: a list of one is that one."""
    if isinstance(value, list | tuple):
        return ", ".join(map(in_words, value))
    return value if isinstance(value, str) else json.dumps(value, default=str)


class LiveProcess:
    """Reads questions, lets each system answer in its own thread, and writes answers as they come."""

    def __init__(self, project: Project, output: Any) -> None:
        self.project = project
        self.output = output
        self._collections: dict[str, LiveCollection] = {}
        self._pools: dict[str, ThreadPoolExecutor] = {}
        self._opening = threading.Lock()
        self._writing = threading.Lock()

    def take(self, line: str) -> None:
        said = json.loads(line)
        question = from_builtins(LiveQuestion, said["question"])
        for name in question.systems:
            pool = self._pools.setdefault(name, ThreadPoolExecutor(1, thread_name_prefix=name))
            pool.submit(self._answer, said["number"], name, question)

    def _answer(self, number: int, name: str, question: LiveQuestion) -> None:
        with working_directory(self.project.folder):
            try:
                with self._opening:
                    if question.collection not in self._collections:
                        self._collections[question.collection] = LiveCollection(self.project, question.collection)
                    collection = self._collections[question.collection]
            except Exception as error:  # noqa: BLE001 (whatever it is, it is the answer)
                answer, is_ready = LiveAnswer(system=name, failure=printable(reason_of(error))), False
            else:
                answer, is_ready = ask_system(collection, name, question)
        line = {"number": number, "collection": question.collection, "is_ready": is_ready}
        line["answer"] = json.loads(to_json(answer, ascii_only=True))
        with self._writing:
            self.output.write(json.dumps(line) + "\n")
            self.output.flush()


def main() -> int:
    """Answer questions until standard input ends, or none has come for a while."""
    file, idle_s = Path(sys.argv[1]), float(sys.argv[2])
    output = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(2, 1)  # what code of systems prints is no answer
    last = time.monotonic()

    def end_when_idle() -> None:
        while time.monotonic() - last < idle_s:
            time.sleep(min(5.0, idle_s / 4))
        os._exit(0)

    threading.Thread(target=end_when_idle, daemon=True).start()
    with process_of(file.parent):
        process = LiveProcess(load_project(file), output)
        for line in sys.stdin:
            last = time.monotonic()
            process.take(line)
    os._exit(0)  # threads of systems that never come back are not waited for
