"""Everything that the systems of a project share on one collection: the docs, what is indexed, and what is answered."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rankscope.experiment.answer_store import AnswerLog, AnswerStore, IndexCost
from rankscope.experiment.builder import ConfiguredSystem, SystemBuilder
from rankscope.experiment.collection import Collection
from rankscope.experiment.costs import MemoryRise
from rankscope.experiment.doc_data import DocData
from rankscope.experiment.progress import TaskProgress
from rankscope.experiment.project import Project
from rankscope.experiment.results import TrainTestSplit
from rankscope.experiment.retrieve import retrieve_missing
from rankscope.experiment.tuning import Tuner
from rankscope.systems.answers import Clock
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
        self.doc_data = DocData(collection, self.find_dense)

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

    def find_dense(self) -> Dense | None:
        """Return the first dense system of the project, indexed; None where there is none."""
        name = next((name for name, entry in self.project.systems.items() if entry.type == "dense"), None)
        if name is None:
            return None
        configured = self.tuner.configure(name)
        self.builder.index(configured)
        return configured.system if isinstance(configured.system, Dense) else None
