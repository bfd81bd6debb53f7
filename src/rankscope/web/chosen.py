"""What several pages begin with: the collection, the newest run of each system, and the run that users see."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rankscope.align.policies import Policies
from rankscope.errors import InputError, UnknownNameError, did_you_mean
from rankscope.experiment.stored_scoring import project_of_store
from rankscope.experiment.usual_baseline import ChosenBaseline, chosen_baseline
from rankscope.measures.spec import Measure
from rankscope.printable import counted
from rankscope.records import Record
from rankscope.store import StoredRun
from rankscope.store.qrels import StoredQrels
from rankscope.store.scores import data_of_docs
from rankscope.web.library import Library


class CollectionRuns(Record, eq=False):
    """The runs of one collection, as pages look at them."""

    name: str
    """Empty where the store has no runs."""
    collections: tuple[str, ...]
    """All that the store has runs on."""
    runs: tuple[StoredRun, ...]
    """The oldest first; of several repetitions the first."""
    newest: dict[str, StoredRun]
    """The newest run of each system; the newest of all comes first."""
    tags: dict[int, tuple[str, ...]]
    """The tags of runs, by number."""
    chosen: ChosenBaseline | None
    """The run that others are compared with, and why; None where the store has no runs."""

    @property
    def main(self) -> str:
        """The system that others are compared with; empty where the store has no runs."""
        return "" if self.chosen is None else self.chosen.run.system

    @property
    def main_run(self) -> StoredRun:
        """The run that others are compared with."""
        if self.chosen is None:
            raise InputError("the store has no runs yet", hint="`rankscope run` stores the first")
        return self.chosen.run


def collection_runs(library: Library, name: str) -> CollectionRuns:
    """Return the runs of a collection; by default of the one with the newest run."""
    return library.cached(("collection runs", name), lambda: read_collection(library, name))


def read_collection(library: Library, name: str) -> CollectionRuns:
    store = library.store
    known = store.runs.collections()
    if not known:
        return CollectionRuns("", (), (), {}, {}, None)
    if name and name not in known:
        raise UnknownNameError(
            f"the store has no runs on {name!r}", hint=did_you_mean(name, known) or f"there are {', '.join(known)}"
        )
    chosen = name or store.runs.list(last=1)[0].collection
    runs = store.runs.list(collection=chosen)
    tags: dict[int, tuple[str, ...]] = {}
    for tag, number in store.tags.current().items():
        tags[number] = (*tags.get(number, ()), tag)
    usual = chosen_baseline(runs, store.tags.current(), library.project or project_of_store(store, chosen))
    return CollectionRuns(chosen, known, runs, newest_of_each(runs), tags, usual)


def newest_of_each(runs: Sequence[StoredRun]) -> dict[str, StoredRun]:
    """Return the newest run of each system, the newest of all first; `runs` are in the order of time."""
    found: dict[str, StoredRun] = {}
    for run in reversed(runs):
        found.setdefault(run.system, run)
    return found


def usual_baseline(of: CollectionRuns) -> StoredRun:
    """Return the run that others are compared with, as all pages take it.

    Where nothing else was asked the same queries, it is the newest run of its system, else the newest of all that can
    be compared.
    """
    for run in (of.main_run, of.newest[of.main], *of.newest.values()):
        if challengers_of(of, run):
            return run
    return of.main_run


def challengers_of(of: CollectionRuns, baseline: StoredRun) -> list[StoredRun]:
    """Return the newest runs of all systems that were asked the same queries."""
    newest = (run for run in of.newest.values() if run.number != baseline.number)
    return [run for run in newest if run.queries_sha256 == baseline.queries_sha256]


def compute_scores(
    library: Library, runs: Sequence[StoredRun], labels: StoredQrels, measures: Sequence[Measure], policies: Policies
) -> bool:
    """Score runs, which the store keeps."""
    library.store.scores.compute(runs, labels, measures, policies)
    return True


def ensure_scores(
    library: Library, runs: Sequence[StoredRun], labels: StoredQrels, measures: Sequence[Measure], policies: Policies
) -> None:
    """Score what has no scores yet; where that is much, `StillComputingError` is raised until it is done."""
    known = [measure for measure in measures if not data_of_docs(measure)]
    lacking = library.store.scores.lacking(runs, labels, known, policies)
    if not lacking or library.store.read_only:  # of a store that can only be read, the pages themselves score
        return
    named = ", ".join(measure.name for measure in known)
    library.large(
        ("scores", tuple(sorted(lacking)), labels.number, named, policies),
        compute_scores,
        [run for run in runs if run.number in lacking],
        labels,
        known,
        policies,
        n_scores=sum(map(len, lacking.values())) * labels.facts["n_queries"],
        what=f"{named} of {counted(len(lacking), 'run')}",
    )


def latency_of_run(run: StoredRun, name: str) -> float | None:
    """Return a number of a run's latency in milliseconds: p50, p95, mean; None where nobody measured it."""
    known: Mapping[str, float] = run.details.latency_ms or {}
    return known.get(name)
