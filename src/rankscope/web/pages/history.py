"""What became of systems over time, label changes apart from system changes."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from rankscope.experiment.history import SHOWN_CHANGES, History, history_of
from rankscope.records import Options, Record
from rankscope.report.document import Report
from rankscope.report.history import report_of
from rankscope.web.choices import known_measures, newest_collection
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
    store = library.store
    collections = store.runs.collections()
    name = asked.collection or newest_collection(library)
    if name is None:
        return HistoryPage((), None, (), (), None)

    def build() -> History:
        return history_of(
            store,
            collection=name,
            measure=asked.measure,
            systems=asked.system,
            last=asked.last or None,
            n_changes=SHOWN_CHANGES,
        )

    history = library.cached(("history", asked), build)
    systems = dict.fromkeys(run.system for run in store.runs.list(collection=name))
    return HistoryPage(collections, name, known_measures(library, name, history.measure), tuple(systems), history)


def history_report(page: HistoryPage) -> Report | None:
    """Return the report of a history: what the page shows, and what is exported."""
    return None if page.history is None else report_of(page.history)
