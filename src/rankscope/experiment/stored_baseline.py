"""Baselines and runs of today that are in the store: by tag, system, number or hash."""

from __future__ import annotations

from collections.abc import Iterable

from rankscope.comparison.gate import BaselineReference
from rankscope.errors import InputError, UnknownNameError
from rankscope.experiment.baseline import KeptBaseline, KeptRun, MeasureDefinition
from rankscope.store import Store, StoredRun


def stored_baseline(store: Store, reference: str, *, collections: Iterable[str] = ()) -> KeptBaseline:
    """Return the run that a reference names as a baseline; of a system with several collections, one for each."""
    found = [(run.collection, run) for run in stored_runs(store, reference, collections)]
    kept = {collection: {run.system: kept_run(store, run)} for collection, run in found}
    run = found[0][1]
    details, definition = run.details, None
    if details.primary and details.policies:
        definition = MeasureDefinition.of(details.primary, details.policies, None)
    words = run.in_words if len(found) == 1 else ""
    return KeptBaseline(BaselineReference(reference, run.started, "store", words), kept, definition, has_margin=False)


def stored_runs(store: Store, reference: str, collections: Iterable[str]) -> list[StoredRun]:
    try:
        return [store.runs.find(reference)]
    except UnknownNameError:
        raise
    except InputError:  # it has runs on several collections
        known = {run.collection for run in store.runs.list(system=reference.partition("~")[0])}
        found = [store.runs.find(reference, collection=name) for name in collections if name in known]
        if not found:
            raise
        return found


def kept_run(store: Store, stored: StoredRun) -> KeptRun:
    run, *further = (store.runs.ranking(each) for each in store.runs.repetitions([stored])[stored.number])
    asked = store.texts.queries(stored.queries_sha256)
    return KeptRun(
        stored.system,
        run,
        {query: known.text or "" for query, known in asked.items()},
        latencies=store.runs.latencies_ms(stored),
        fingerprint=stored.details.fingerprint,
        further=tuple(further),
    )
