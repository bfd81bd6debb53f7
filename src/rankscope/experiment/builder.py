"""Making the systems of a project for one collection: options chosen, weights tuned, parts shared."""

from __future__ import annotations

import contextlib
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from rankscope.data.qrels import Qrels
from rankscope.errors import InputError, OptionError, RankscopeError
from rankscope.experiment.collection import Collection
from rankscope.experiment.doc_data import SideData
from rankscope.experiment.journal import Fit, Journal
from rankscope.experiment.latency import MemoryRise
from rankscope.experiment.manifest import fingerprint_of
from rankscope.experiment.progress_files import file_name
from rankscope.experiment.project import Project, SystemEntry
from rankscope.experiment.results import Choice, Sides
from rankscope.experiment.retrieve import ask_missing
from rankscope.experiment.tuning import choice_of, mean_score
from rankscope.io.files import write_text
from rankscope.measures.parse import parse_measure
from rankscope.progress import Progress
from rankscope.systems.answers import Clock, reason_of
from rankscope.systems.base import DocStore, RankedDocs, System
from rankscope.systems.dense import Dense
from rankscope.systems.registry import make_system, system_names_in

Watch = Callable[[str, int, int], None]
"""Told what is being done, and how much of how much is done."""
_FINGERPRINT_VERSION = 1
_SHOWN_DIGITS = 12


@dataclass(frozen=True, slots=True, eq=False)
class Ready:
    """A system with its options, as it will be asked."""

    entry: SystemEntry
    options: Mapping[str, Any]
    system: System

    @property
    def name(self) -> str:
        """The name that the project gives it."""
        return self.entry.name


@dataclass
class Workshop:
    """Makes systems, and asks them; what one is made of is made and indexed once."""

    project: Project
    collection: Collection
    sides: Sides
    depth: int
    folder: Path
    """Where journals are."""
    clock: Clock
    watch: Watch
    choices: list[Choice] = field(default_factory=list)
    _ready: dict[str, Ready] = field(default_factory=dict)
    _indexed: dict[int, tuple[System, float]] = field(default_factory=dict)
    """The systems that are indexed, and how long that took without their parts."""

    def __post_init__(self) -> None:
        self._query_of = {query.id: query for query in self.collection.query_list}
        self.side = SideData(self.collection, self.fitted_dense)

    # What is made

    def ready(self, name: str) -> Ready:
        """Return a system of the project with the options chosen for this collection."""
        if name not in self._ready:
            entry = self.project.systems[name]
            chosen = self.swept(entry) if entry.sweep else self.made(entry, entry.options)
            if getattr(chosen.system, "needs_tuning", False):
                chosen = self.tuned(chosen)
            self._ready[name] = chosen
        return self._ready[name]

    def made(self, entry: SystemEntry, options: Mapping[str, Any]) -> Ready:
        """Return a system with these options."""
        cache = self.project.cache / "embeddings"
        resolve = lambda name: self.ready(name).system  # noqa: E731 (a function of one word)
        return Ready(entry, options, make_system(entry.type, options, name=entry.name, resolve=resolve, cache=cache))

    def swept(self, entry: SystemEntry) -> Ready:
        """Return the combination of options that does best on the train queries."""
        if entry.options.get("weights") == "tune":
            raise OptionError(
                f'{entry.name} has weights = "tune" and several values for {", ".join(entry.sweep)}',
                hint="tune the weights, or try several values",
            )
        trials: list[tuple[Mapping[str, Any], float]] = []
        best: tuple[float, Ready] | None = None
        for options in entry.variants():
            variant = self.made(entry, options)
            score = self.train_score(variant)
            trials.append(({name: options[name] for name in entry.sweep}, score))
            if best is None:
                best = score, variant
                continue
            loser = variant
            if score > best[0] or math.isnan(best[0]):
                loser, best = best[1], (score, variant)
            self._indexed.pop(id(loser.system), None)  # there may not be room for the indexes of all
        self.note_choice(entry.name, trials)
        assert best is not None  # noqa: S101 (there is at least one variant)
        return best[1]

    def train_score(self, ready: Ready) -> float:
        """Return how well a system does on the train queries."""
        with self.answered(ready, self.sides.train) as journal:
            return self.train_mean({query: journal.ranking(query) for query in self.sides.train if query in journal})

    def train_mean(self, rankings: Mapping[str, RankedDocs]) -> float:
        """Return the mean of the primary measure over the train queries, the higher the better."""
        docs = {doc for ranking in rankings.values() for doc, _ in ranking}
        side = self.side.of([self.project.primary], docs)
        return mean_score(self.train_qrels, rankings, self.project.primary, side)

    @cached_property
    def train_qrels(self) -> Qrels:
        """The judgments of the train queries."""
        return self.collection.qrels.select(self.sides.train)

    def note_choice(self, name: str, trials: Sequence[tuple[Mapping[str, Any], float]]) -> None:
        """Keep what was tried for the report."""
        lower = parse_measure(self.project.primary).spec.better == "lower"
        n_queries = len(self.sides.train)
        self.choices.append(choice_of(name, self.project.primary, trials, n_queries=n_queries, lower=lower))

    def tuned(self, ready: Ready) -> Ready:
        """Return a system whose weights were tuned on the train queries; what was found is kept for the next time."""
        file = self.tuning_file(ready)
        found = tuned_before(file)
        if found is None:
            found = self.tuning(ready)
            file.parent.mkdir(parents=True, exist_ok=True)
            write_text(file, json.dumps(found) + "\n")
        self.note_choice(ready.name, [({"weights": weights}, score) for weights, score in found["trials"]])
        return self.made(ready.entry, {**ready.options, "weights": found["weights"]})

    def tuning(self, ready: Ready) -> dict[str, Any]:
        """Return the weights that do best on the train queries, and what all that were tried have scored."""
        system: Any = ready.system
        self.fit(ready)
        self.watch(f"{ready.name}: tuning weights", 0, 1)
        curve = system.tune([self._query_of[query] for query in self.sides.train], self.train_mean, k=self.depth)
        return {
            "weights": list(system.describe()["tuned_weights"]),
            "trials": [[list(weights), score] for weights, score in curve.items()],
        }

    def tuning_file(self, ready: Ready) -> Path:
        """Return where the tuned weights of a system are kept."""
        depends = {
            "answers": self.fingerprint(ready),
            "qrels": self.collection.hashes["qrels"],
            "train": self.sides.train,
            "measure": self.project.primary,
        }
        return self.folder / f"{file_name(ready.name)}.{fingerprint_of(depends)[:_SHOWN_DIGITS]}.tuned.json"

    # Asking

    def fingerprint(self, ready: Ready) -> str:
        """Return what stands for all that the answers of a system depend on."""
        hashes = self.collection.hashes
        return fingerprint_of(
            {
                "version": _FINGERPRINT_VERSION,
                "system": ready.system.describe(),
                "docs": hashes["docs"],
                "queries": hashes["queries"],
                "k": self.depth,
            }
        )

    @contextlib.contextmanager
    def answered(self, ready: Ready, query_ids: Sequence[str]) -> Iterator[Journal]:
        """Ask a system what it has not been asked before, and give its journal."""
        fingerprint = self.fingerprint(ready)
        path = self.folder / f"{file_name(ready.name)}.{fingerprint[:_SHOWN_DIGITS]}.jsonl"
        about = {"system": ready.name, "collection": self.collection.name, "fingerprint": fingerprint}
        queries = [self._query_of[query] for query in query_ids]
        with Journal(path, about=about) as journal:
            if any(query.id not in journal for query in queries):
                memory = MemoryRise()
                is_new = id(ready.system) not in self._indexed
                seconds = self.fit(ready)
                if is_new or journal.content.fit is None:
                    journal.add_fit(Fit(seconds, ready.system.index_bytes))
                told = lambda n: self.watch(f"{ready.name}: searching", n, len(queries))  # noqa: E731 (as above)
                ask_missing(ready.system, queries, journal, k=self.depth, clock=self.clock, told=told)
                peak = memory.peak_bytes()
                if peak is not None:
                    journal.add_memory(peak)
            yield journal

    def fit(self, ready: Ready) -> float:
        """Index the docs for a system and all that it is made of, and return how long that took or has taken."""
        parts = [self.ready(name) for name in self.parts_of(ready)]
        for each in (*parts, ready):
            if id(each.system) not in self._indexed:
                started = self.clock()
                index(each, self.collection.docs, self.progress(each.name))
                self._indexed[id(each.system)] = each.system, self.clock() - started
        return sum(self._indexed[id(each.system)][1] for each in (*parts, ready))

    def progress(self, name: str) -> Progress:
        """Return what a system tells its progress to while it indexes."""
        return lambda done, total: self.watch(f"{name}: indexing", done, total or 0)

    def parts_of(self, ready: Ready) -> list[str]:
        """Return the names of all systems that one is made of, the innermost first, each once."""
        found: dict[str, None] = {}
        for name in system_names_in(ready.entry.type, ready.options):
            found |= dict.fromkeys(self.parts_of(self.ready(name)))
            found[name] = None
        return list(found)

    def fitted_dense(self) -> Dense | None:
        """Return the first dense system of the project, ready to be searched."""
        name = next((name for name, entry in self.project.systems.items() if entry.type == "dense"), None)
        if name is None:
            return None
        ready = self.ready(name)
        self.fit(ready)
        return ready.system if isinstance(ready.system, Dense) else None

    def forget(self, names: Sequence[str]) -> None:
        """Throw away what systems have answered before."""
        for name in names:
            ours = re.compile(rf"{re.escape(file_name(name))}\.[0-9a-f]{{{_SHOWN_DIGITS}}}\.(jsonl|tuned\.json)")
            for path in self.folder.glob("*") if self.folder.is_dir() else ():
                if ours.fullmatch(path.name):
                    path.unlink()


def index(ready: Ready, docs: DocStore, progress: Progress) -> None:
    """Index docs; whatever goes wrong in somebody's system is said with its name."""
    try:
        ready.system.fit(docs, progress=progress)
    except (RankscopeError, MemoryError):
        raise
    except Exception as error:
        raise InputError(
            f"{ready.name} could not index the docs: {reason_of(error)}",
            hint="what other systems have answered is kept; mend this one, or leave it out with --only",
        ) from error


def tuned_before(file: Path) -> Any | None:
    """Return what tuning has found an earlier time, for the same systems, queries and judgments."""
    try:
        return json.loads(file.read_text("utf-8"))
    except (OSError, ValueError):
        return None
