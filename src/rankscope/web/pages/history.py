"""What became of systems over time, label changes apart from system changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from msgspec import Meta

from rankscope.experiment.history import SHOWN_CHANGES, history_of
from rankscope.experiment.history_records import History
from rankscope.experiment.stored_scoring import measure_with_margin, policies_of
from rankscope.records import Options, Record, replace
from rankscope.report.document import Report
from rankscope.report.history import report_of
from rankscope.store import StoredRun
from rankscope.web.choices import known_measures
from rankscope.web.chosen import CollectionRuns, collection_runs
from rankscope.web.library import Library

NEWEST = 30
"""Runs of each system, unless the address says otherwise."""


class HistoryOptions(Options):
    """What the history shows."""

    collection: str | None = None
    """The collection; by default the one with the newest run."""
    measure: str | None = None
    """The measure; by default the one that decided last."""
    system: tuple[str, ...] = ()
    """Only these systems; by default all."""
    last: Annotated[int, Meta(ge=0)] = NEWEST
    """The newest runs of each system; 0 shows all."""


class HistoryPage(Record):
    """What stands on the page of the history."""

    collections: tuple[str, ...]
    collection: str | None
    measures: tuple[str, ...]
    """Measures to choose from."""
    systems: tuple[str, ...]
    """Systems to choose from."""
    history: History | None
    """None where there are no runs yet."""


def history_page(library: Library, asked: HistoryOptions) -> HistoryPage:
    """Show every stored run under the judgments of today, and what the judgments have changed."""
    of = collection_runs(library, asked.collection or "")
    if not of.runs:
        return HistoryPage((), None, (), (), None)
    history = read_history(
        library, of, measure=asked.measure, systems=asked.system, last=asked.last or None, n_changes=SHOWN_CHANGES
    )
    systems = tuple(dict.fromkeys(run.system for run in of.runs))
    return HistoryPage(of.collections, of.name, known_measures(library, of.name, history.measure), systems, history)


def read_history(
    library: Library,
    of: CollectionRuns,
    *,
    measure: str | None,
    systems: Sequence[str],
    last: int | None,
    n_changes: int,
) -> History:
    """Return a history, from before where nothing in it has changed; what takes long is computed in the background."""
    store = library.store
    decides = measure_with_margin(store, of.runs, measure)
    labels = store.qrels.find(of.name)
    n_queries, n_lacking = labels.facts["n_queries"], 0
    asked = {"collection": of.name, "measure": measure, "systems": tuple(systems), "last": last, "n_changes": n_changes}
    if all(system in of.newest for system in systems):  # others are refused at once
        wanted = [run for run in of.runs if not systems or run.system in systems]
        shown = [run for group in by_system(wanted) for run in group[-last if last else None :]]
        n_lacking = len(store.scores.lacking(shown, labels, [decides.measure], policies_of(of.runs[-1])))
    state = library.state()
    history = library.large(
        (
            "history",
            *asked.values(),
            decides.measure.name,
            decides.margin,
            *(state[name] for name in ("run", "qrels", "tag", "collection_version")),
        ),
        compute_history,
        asked,
        n_scores=n_queries * (n_lacking + (2 * n_changes + 2 if n_changes else 0)),
        what=f"the history of {of.name} by {decides.measure.name}",
    )
    return replace(history, n_looks=store.comparisons.n_looks(of.runs[-1].queries_sha256))


def by_system(runs: Sequence[StoredRun]) -> list[list[StoredRun]]:
    groups: dict[str, list[StoredRun]] = {}
    for run in runs:
        groups.setdefault(run.system, []).append(run)
    return list(groups.values())


def compute_history(library: Library, asked: dict[str, Any]) -> History:
    return history_of(library.store, **asked)


def history_report(page: HistoryPage) -> Report | None:
    """Return the report of a history: what the page shows, and what is exported."""
    return None if page.history is None else report_of(page.history)
