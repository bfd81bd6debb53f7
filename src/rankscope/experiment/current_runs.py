"""The runs that a project or files have now: what a gate compares with a baseline, and what becomes one."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from rankscope.comparison.request import CompareRequest
from rankscope.data.loading import ReadOptions, load_qrels, name_of
from rankscope.data.qrels import Qrels
from rankscope.data.queries import load_queries
from rankscope.data.run import Run
from rankscope.errors import InputError, OptionError, did_you_mean, give_warning
from rankscope.evaluation import evaluate_request
from rankscope.experiment.baseline import (
    KeptRun,
    MeasureDefinition,
)
from rankscope.experiment.collection import CollectionPart, load_collection
from rankscope.experiment.costs import latencies_ms
from rankscope.experiment.fingerprint import qrels_digest
from rankscope.experiment.journal import JournalStore
from rankscope.experiment.project import Project
from rankscope.experiment.results import ProjectReference, TrainTestSplit
from rankscope.experiment.run_files import MANIFEST, ProjectRunSource, file_name
from rankscope.experiment.runner import RunOptions, open_session, plan_collection
from rankscope.experiment.scoring import score_runs
from rankscope.experiment.session import CollectionSession
from rankscope.io.files import read_json
from rankscope.printable import counted
from rankscope.records import Record, from_builtins, replace, to_builtins
from rankscope.systems.working_directory import working_directory

RUN_FIRST = "rankscope run makes them; `rankscope gate --run` does so first"


class CurrentRun(Record, eq=False):
    """A run of today."""

    name: str
    run: Run
    latencies: Mapping[str, float] | None = None
    """Milliseconds by query; None where they are not known."""
    fingerprint: str = ""
    further: tuple[Run, ...] = ()
    """The runs of further repetitions: scores are means over all of them."""


# What a run of the project has left


class ResultRun(Record):
    """Where a run is, from the folder of the project, and the hash of its file."""

    path: str
    sha256: str


class ResultSystem(Record):
    """A system in the manifest of the results."""

    fingerprint: str
    run: ResultRun | None = None
    """None where nothing was retrieved."""
    repetitions: tuple[ResultRun | None, ...] = ()
    """The runs of all repetitions, where there are several; the first is the one above."""


class ResultCollection(Record):
    """A collection in the manifest of the results."""

    parts: dict[str, CollectionPart]
    systems: dict[str, ResultSystem]


class ResultsManifest(Record):
    """What the manifest of the results says of runs."""

    project: ProjectReference
    collections: dict[str, ResultCollection]


def read_results(project: Project) -> ResultsManifest:
    """Return what the last run of a project has left; of another state of the project file it is refused."""
    path = project.output / MANIFEST
    if not path.is_file():
        raise InputError(f"there are no runs of {project.file.name} in {project.output}", hint=RUN_FIRST)
    found = from_builtins(ResultsManifest, read_json(path), where=str(path))
    if found.project.sha256 != project.sha256:
        raise InputError(
            f"the runs in {project.output} were made by another state of {project.file.name}",
            hint="rankscope run makes them anew (what was answered is not asked again); so does `gate --run`",
        )
    return found


def open_collection(project: Project, name: str, results: ResultsManifest) -> CollectionSession:
    """Return a collection as its systems were run on it; one whose docs or queries have changed since is refused."""
    collection = load_collection(project.collection(name), cache=project.cache)
    made_of = results.collections[name].parts
    for part in ("docs", "queries"):
        if part in made_of and made_of[part].sha256 != collection.parts[part].sha256:
            raise InputError(f"the {part} of {name} have changed since the runs were made", hint=RUN_FIRST)
    return open_session(plan_collection(project, RunOptions(), collection)[0], collection)


def current_run(project: Project, collection: str, system: str, results: ResultsManifest) -> CurrentRun:
    """Return the run that the results have of a system, once its file is known to be the one that was written."""
    stored = results.collections[collection].systems[system]
    if stored.run is None:
        message = f"{system} has no run on {collection}: it retrieved nothing, or could not be asked"
        raise InputError(message, hint="rankscope run says why, and asks again for what failed")
    listed = (stored.run, *(each for each in stored.repetitions[1:] if each is not None))
    run, *further = (written_run(project, system, each) for each in listed)
    journals = JournalStore(project.output / "journal" / file_name(collection), collection=collection)
    latencies = None
    if project.systems[system].type != "run" and journals.has(system, stored.fingerprint):
        with journals.open(system, stored.fingerprint) as log:
            latencies = latencies_ms(log.summary.answered) or None
    return CurrentRun(system, run, latencies, stored.fingerprint, tuple(further))


def written_run(project: Project, system: str, stored: ResultRun) -> Run:
    path = project.folder / stored.path
    try:
        with path.open("rb") as stream:
            sha256 = hashlib.file_digest(stream, "sha256").hexdigest()
    except FileNotFoundError:
        raise InputError(f"{stored.path}, the run of {system}, is missing", hint=RUN_FIRST) from None
    if sha256 != stored.sha256:
        raise InputError(f"{stored.path} is not the run that was written: it has changed since", hint=RUN_FIRST)
    return Run(ProjectRunSource(path, shown=stored.path), name=system)


def runs_of(
    project: Project, session: CollectionSession, results: ResultsManifest
) -> dict[str, Callable[[], CurrentRun]]:
    """Return how to read the runs of a collection: those of the last run, of other systems the newest in the store.

    A stored run counts where the system has the same options as then, and the docs are the same: there may be newer
    ones with options that were tried and taken back.
    """
    name = session.collection.name
    found: dict[str, Callable[[], CurrentRun]] = {
        system: partial(current_run, project, name, system, results) for system in results.collections[name].systems
    }
    from rankscope.experiment.keep import project_store  # only projects need the store
    from rankscope.experiment.stored_baseline import kept_run
    from rankscope.store import open_store

    missing = [system for system in project.systems if system not in found]
    place = project_store(project)
    if missing and place.exists:
        with open_store(place, read_only=True) as store:
            for system in missing:
                options, docs = to_builtins(project.systems[system].written), session.collection.parts["docs"].sha256
                runs = store.runs.list(system=system, collection=name)
                for run in [each for each in runs if (each.config, each.docs_sha256) == (options, docs)][-1:]:
                    kept = kept_run(store, run)
                    found[system] = partial(
                        CurrentRun, system, kept.run, kept.latencies, kept.fingerprint, kept.further
                    )
    return found


# Saving


def runs_to_keep(
    project: Project, *, systems: Sequence[str] = (), collections: Sequence[str] = ()
) -> tuple[dict[str, list[KeptRun]], MeasureDefinition]:
    """Return the runs of a project with all that a baseline says of them: the newest of every system, as a gate does.

    A warning names systems that have none, and runs with queries that failed.
    """
    results = read_results(project)
    kept: dict[str, list[KeptRun]] = {}
    definition = None
    for name in chosen(collections, results.collections, "collection"):
        with working_directory(project.folder):
            session = open_collection(project, name, results)
            split, made = session.split, runs_of(project, session, results)
            known = results.collections[name].systems
            empty = [system for system in made if system in known and known[system].run is None]
            lacking = [system for system in project.systems if system not in made or system in empty]
            if lacking and not systems:
                give_warning(f"not saved, as there is no run of it on {name}: {', '.join(lacking)}")
                made = {system: read for system, read in made.items() if system not in empty}
            for system in chosen(systems, made, "system"):
                current = made[system]()
                warn_of_failures(current, name)
                measured = measured_queries(split, current.run)
                session.split = replace(split, measured=measured)
                docs = {doc: None for run in (current.run, *current.further) for doc in run.rows.doc}
                further = {system: current.further} if current.further else {}
                scores, _, _ = score_runs(
                    session, {system: current.run}, further, docs, baseline=None, problems={}, anyway=True
                )
                if scores is None:
                    raise InputError(f"{system} has retrieved nothing at all on {name}", hint=RUN_FIRST)
                definition = MeasureDefinition.of(project.primary, scores.policies, project.profile)
                parts = session.collection.parts
                kept.setdefault(name, []).append(
                    KeptRun(
                        system,
                        current.run,
                        {query: asked_text(session, query) for query in measured},
                        parts["qrels"],
                        parts["docs"],
                        scores[system].mean()[project.primary].value,
                        current.latencies,
                        current.fingerprint,
                        current.further,
                    )
                )
    if definition is None:
        raise InputError(f"there is no run in {project.output}", hint=RUN_FIRST)
    return kept, definition


def warn_of_failures(current: CurrentRun, collection: str) -> None:
    failed = dict.fromkeys(
        query for run in (current.run, *current.further) if run.asked is not None for query in run.asked.failed
    )
    if failed:
        give_warning(
            f"{counted(len(failed), 'query')} of {current.name} on {collection} failed and count 0 in what is saved: "
            "a later run looks better by those alone. rankscope run asks for them again"
        )


def chosen(names: Sequence[str], known: Iterable[str], what: str) -> list[str]:
    listed = list(known)
    for name in names:
        if name not in listed:
            hint = did_you_mean(name, listed) or f"there are {', '.join(listed) or 'none'}"
            raise OptionError(f"there is no run of the {what} {name!r}", hint=hint)
    return [name for name in listed if not names or name in names]


def measured_queries(split: TrainTestSplit, run: Run) -> tuple[str, ...]:
    """Return the queries that a run is measured on: those that it was asked, as far as that is known."""
    return split.measured if run.asked is None else run.asked.queries


def asked_text(session: CollectionSession, query: str) -> str:
    return (session.collection.queries.texts or {}).get(query, "")


def files_to_keep(
    qrels: str, runs: Sequence[str], request: CompareRequest, *, latencies: Mapping[str, Mapping[str, float]]
) -> tuple[dict[str, list[KeptRun]], MeasureDefinition]:
    """Return runs in files with all that a baseline says of them."""
    scoring = request.scoring()
    judged = load_qrels(qrels, duplicates=scoring.policies.duplicates, options=request.qrels_options)
    measure = request.primary_of(scoring.measures)
    texts = {} if request.queries is None else load_queries(request.queries).texts or {}
    loaded = runs_in_files(runs, request.options, latencies)
    scores = evaluate_request(scoring, judged, {name: each.run for name, each in loaded.items()})
    part = CollectionPart(len(judged.rows), qrels_digest(judged))
    kept = [
        KeptRun(
            name,
            each.run,
            {query: texts.get(query, "") for query in queries_of_run(judged, each.run)},
            part,
            None,
            scores[name].mean()[measure.name].value,
            each.latencies,
        )
        for name, each in loaded.items()
    ]
    return {name_of(qrels): kept}, MeasureDefinition.of(measure.name, scores.policies, request.profile)


def runs_in_files(
    paths: Sequence[str], options: ReadOptions | None, latencies: Mapping[str, Mapping[str, float]]
) -> dict[str, CurrentRun]:
    from rankscope.data.loading import load_runs

    loaded = {run.name or "run": run for run in load_runs(list(paths), options=options)}
    if unknown := [name for name in latencies if name and name not in loaded]:
        hint = did_you_mean(unknown[0], loaded) or f"there are {', '.join(loaded)}"
        raise InputError(f"there are latencies of {unknown[0]}, but no such run", hint=hint)
    of_all = latencies.get("")
    return {name: CurrentRun(name, run, latencies.get(name, of_all)) for name, run in loaded.items()}


def asked_queries(qrels: Qrels, run: Run) -> Sequence[str]:
    """Return the queries that a run was asked: where it does not say, those of the judgments."""
    return qrels.query_ids if run.asked is None else run.asked.queries


def queries_of_run(qrels: Qrels, run: Run) -> list[str]:
    asked = None if run.asked is None else set(run.asked.queries)
    return [query for query in qrels.query_ids if asked is None or query in asked]
