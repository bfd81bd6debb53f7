"""Takes the results folder of a project into a store: the runs that were made before there was one.

The manifest says how they were made. Texts of queries and judgments come from the project, where its collection is
still the one that the runs were made on; otherwise the ids of the queries are all that is known.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from rankscope.data.run import Run
from rankscope.errors import InputError, RankscopeError
from rankscope.experiment.collection import Collection, load_collection
from rankscope.experiment.keep import COSTS, stored_queries
from rankscope.experiment.project import Project, load_project
from rankscope.progress import Progress
from rankscope.records import Record
from rankscope.store import CollectionFacts, RunDetails, RunFacts, Store, StoredQuery, StoredRun
from rankscope.store.exchange import MANIFEST, readable_manifest
from rankscope.store.runs import ranking_sha256


class ImportedResults(Record):
    """What was taken in of a results folder."""

    runs: tuple[StoredRun, ...]
    """Those that are new."""
    known: int
    """Runs that the store had already."""
    notes: tuple[str, ...]


def import_results(store: Store, folder: Path, *, progress: Progress | None = None) -> ImportedResults:
    """Keep every run of a results folder, under the time at which it was made."""
    with readable_manifest(folder) as manifest:
        if not isinstance(manifest.get("collections"), dict) or "started" not in manifest:
            raise InputError(
                f"{folder / MANIFEST} is not the manifest of results",
                hint="name the folder that `rankscope run` has written",
            )
        notes: list[str] = []
        project = project_of(folder, notes)
        new: list[StoredRun] = []
        known, n_systems = 0, sum(len(about["systems"]) for about in manifest["collections"].values())
        for name, about in manifest["collections"].items():
            collection = collection_of(project, name, about, notes)
            if collection is not None:
                store.qrels.add(collection.qrels, name=name)
            for system, facts in about["systems"].items():
                path = run_path(folder, facts)
                if path is None:
                    notes.append(f"{system} on {name}: there is no run")
                    continue
                run = Run(path)
                if is_known(store, run, facts, system=system, collection=name):
                    known += 1
                else:
                    about_collection = collection_facts(name, about, run, collection)
                    new.append(store.runs.add(run, run_facts(manifest, system, facts, run, about_collection)))
                if progress is not None:
                    progress(len(new) + known, n_systems)
        return ImportedResults(tuple(new), known, tuple(notes))


def is_known(store: Store, run: Run, facts: dict[str, Any], *, system: str, collection: str) -> bool:
    """Whether the store has these answers of the system already, under whatever time."""
    ranking = ranking_sha256(run)
    return any(
        (each.ranking_sha256, each.details.fingerprint) == (ranking, facts["fingerprint"])
        for each in store.runs.list(system=system, collection=collection, repetitions=True)
    )


def project_of(folder: Path, notes: list[str]) -> Project | None:
    try:
        return load_project(folder.absolute().parent)
    except RankscopeError as error:
        notes.append(f"texts of queries and judgments are not taken in: {error.message}")
        return None


def collection_of(project: Project | None, name: str, about: dict[str, Any], notes: list[str]) -> Collection | None:
    """Return the collection of a project, where its queries are those that the runs were asked."""
    if project is None:
        return None
    try:
        found = load_collection(project.collection(name), cache=project.cache)
    except RankscopeError as error:
        notes.append(f"texts and judgments of {name} are not taken in: {error.message}")
        return None
    if found.parts["queries"].sha256 != about["parts"]["queries"]["sha256"]:
        notes.append(f"texts and judgments of {name} are not taken in: its queries have changed since")
        return None
    return found


def run_path(folder: Path, facts: dict[str, Any]) -> Path | None:
    """Return the file of a run; the manifest names it from the project's folder, and results may have moved."""
    if facts["run"] is None:
        return None
    parts = Path(facts["run"]["path"]).parts
    names = ["runs", *parts[parts.index("runs") + 1 :]] if "runs" in parts else list(parts[-1:])
    path = folder.joinpath(*names)
    if not path.is_file():
        raise InputError(f"{path}, which the manifest names, is not there", hint="was the results folder copied whole?")
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    if sha256 != facts["run"]["sha256"]:
        raise InputError(f"{path} is not the run that the manifest was written for", hint="run the project again")
    return path


def collection_facts(name: str, about: dict[str, Any], run: Run, collection: Collection | None) -> CollectionFacts:
    asked = run.asked.queries if run.asked is not None else tuple(run)
    queries = {query: StoredQuery() for query in asked}
    return CollectionFacts(
        name=name,
        queries=queries if collection is None else stored_queries(collection.queries, asked),
        docs_sha256=about["parts"]["docs"]["sha256"],
        counts={part: found["n"] for part, found in about["parts"].items()},
    )


def run_facts(
    manifest: dict[str, Any], system: str, facts: dict[str, Any], run: Run, collection: CollectionFacts
) -> RunFacts:
    return RunFacts(
        system=system,
        type=str(facts["options"].get("type", "")),
        config=facts["options"],
        started=facts.get("started", manifest["started"]),
        collection=collection,
        details=RunDetails(
            fingerprint=facts["fingerprint"],
            seeds=tuple(manifest["seeds"]),
            depth=manifest["depth"],
            versions={"rankscope": manifest["rankscope"], "python": manifest["python"], **manifest["libraries"]},
            command=manifest["command"],
            finished=facts.get("finished", manifest["finished"]),
            latency_ms=facts["costs"].get("latency"),
            costs={name: cost for name in COSTS if (cost := facts["costs"].get(name)) is not None},
            failed=run.asked.failed if run.asked is not None else (),
            split=run.asked.split if run.asked is not None else "all",
            primary=manifest["primary"] or "",
            backdated=True,
        ),
    )
