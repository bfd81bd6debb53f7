"""The gate of a project, or of files: today's runs against a baseline, both scored now, by today's judgments.

A baseline says what it was asked and which measure decided. Where that is not what is asked today, the two are not
comparable, which is an error, not a pass; where only the judgments have changed, both are scored by the new ones, and
the result says so.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from rankscope.comparison.compare import compare_runs
from rankscope.comparison.gate import BaselineReference, GateCheck, GatePolicy, GateResult, gate_of, latency_check
from rankscope.comparison.records import Comparison
from rankscope.comparison.request import CompareRequest
from rankscope.data.loading import ReadOptions, load_qrels, name_of
from rankscope.data.qrels import Qrels
from rankscope.data.queries import load_queries
from rankscope.data.run import Run
from rankscope.errors import InputError, OptionError, UnknownNameError, did_you_mean
from rankscope.evaluation import evaluate_request
from rankscope.experiment.baseline import (
    KeptBaseline,
    KeptRun,
    MeasureDefinition,
    load_baseline,
    machine_words,
    query_differences,
)
from rankscope.experiment.collection import CollectionPart, load_collection
from rankscope.experiment.costs import latencies_ms
from rankscope.experiment.doc_ids import find_unknown_docs, unknown_ids
from rankscope.experiment.fingerprint import qrels_digest
from rankscope.experiment.journal import JournalStore
from rankscope.experiment.project import Project
from rankscope.experiment.results import ProjectReference, TrainTestSplit
from rankscope.experiment.run_files import MANIFEST, ProjectRunSource, file_name
from rankscope.experiment.runner import RunOptions, open_session, plan_collection
from rankscope.experiment.scoring import score_runs
from rankscope.experiment.session import CollectionSession
from rankscope.io.files import read_json
from rankscope.records import Options, Record, from_builtins, replace, to_builtins
from rankscope.stats.latency import latency_ratio
from rankscope.systems.working_directory import working_directory

BASELINE = "baseline"
RUN_FIRST = "rankscope run makes them; `rankscope gate --run` does so first"


class GateOptions(Options):
    """What is to be compared with a baseline."""

    policy: GatePolicy = GatePolicy()
    systems: tuple[str, ...] = ()
    """Systems of the project; without any, those of the baseline."""
    collections: tuple[str, ...] = ()
    """Collections of the project; without any, those of the baseline."""
    shared_queries: bool = False
    """Whether to compare on the queries that are still the same, where some have changed."""


class CurrentRun(Record, eq=False):
    """A run of today."""

    name: str
    run: Run
    latencies: Mapping[str, float] | None = None
    """Milliseconds by query; None where they are not known."""
    fingerprint: str = ""


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
    path = project.folder / stored.run.path
    try:
        with path.open("rb") as stream:
            sha256 = hashlib.file_digest(stream, "sha256").hexdigest()
    except FileNotFoundError:
        raise InputError(f"{stored.run.path}, the run of {system}, is missing", hint=RUN_FIRST) from None
    if sha256 != stored.run.sha256:
        raise InputError(f"{stored.run.path} is not the run that was written: it has changed since", hint=RUN_FIRST)
    run = Run(ProjectRunSource(path, shown=stored.run.path), name=system)
    journals = JournalStore(project.output / "journal" / file_name(collection), collection=collection)
    latencies = None
    if project.systems[system].type != "run" and journals.has(system, stored.fingerprint):
        with journals.open(system, stored.fingerprint) as log:
            latencies = latencies_ms(log.summary.answered) or None
    return CurrentRun(system, run, latencies, stored.fingerprint)


def runs_of(
    project: Project, session: CollectionSession, results: ResultsManifest
) -> dict[str, Callable[[], CurrentRun]]:
    """Return how to read the runs of a collection: those of the last run, of other systems the newest in the store.

    A stored run counts where the system has the same options as then, and the docs are the same.
    """
    name = session.collection.name
    found: dict[str, Callable[[], CurrentRun]] = {
        system: partial(current_run, project, name, system, results) for system in results.collections[name].systems
    }
    from rankscope.experiment.keep import project_store  # only projects need the store
    from rankscope.store import open_store

    missing = [system for system in project.systems if system not in found]
    place = project_store(project)
    if missing and place.exists:
        with open_store(place, read_only=True) as store:
            for system in missing:
                newest = store.runs.list(system=system, collection=name, last=1)
                is_same = newest and newest[0].docs_sha256 == session.collection.parts["docs"].sha256
                if is_same and newest[0].config == to_builtins(project.systems[system].written):
                    run, times = store.runs.ranking(newest[0]), store.runs.latencies_ms(newest[0])
                    found[system] = partial(CurrentRun, system, run, times, newest[0].details.fingerprint)
    return found


# Saving


def runs_to_keep(
    project: Project, *, systems: Sequence[str] = (), collections: Sequence[str] = ()
) -> tuple[dict[str, list[KeptRun]], MeasureDefinition]:
    """Return the runs of a project's results with all that a baseline says of them."""
    results = read_results(project)
    kept: dict[str, list[KeptRun]] = {}
    definition = None
    for name in chosen(collections, results.collections, "collection"):
        with working_directory(project.folder):
            session = open_collection(project, name, results)
            split = session.split
            for system in chosen(systems, results.collections[name].systems, "system"):
                current = current_run(project, name, system, results)
                measured = measured_queries(split, current.run)
                session.split = replace(split, measured=measured)
                docs = dict.fromkeys(current.run.rows.doc)
                scores, _, _ = score_runs(
                    session, {system: current.run}, {}, docs, baseline=None, problems={}, anyway=True
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
                    )
                )
    if definition is None:
        raise InputError(f"there is no run in {project.output}", hint=RUN_FIRST)
    return kept, definition


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


def queries_of_run(qrels: Qrels, run: Run) -> list[str]:
    asked = None if run.asked is None else set(run.asked.queries)
    return [query for query in qrels.query_ids if asked is None or query in asked]


# The gate


Compare = Callable[[Mapping[str, Run], Sequence[str]], Comparison]
"""Takes runs by name, the baseline first, and the queries to compare them on."""


class Match(Record, eq=False):
    """Runs of today that are compared with one run of the baseline, as one family."""

    kept: KeptRun
    current: tuple[CurrentRun, ...]
    collection: str = ""
    """Empty where there is only one."""


def gate_project(project: Project, baseline: KeptBaseline, options: GateOptions) -> GateResult:
    """Compare the runs that a project has left with a baseline; of several collections the worst decides.

    Each system is compared with the run of the same name. One that the baseline does not have is named in a note, one
    that only the baseline has is an error; and so it is with collections.
    """
    results = read_results(project)
    asked = chosen(options.collections, {**results.collections, **baseline.runs}, "collection")
    if lost := [name for name in asked if name and name not in results.collections]:
        raise InputError(f"the collection {lost[0]} is in the baseline, but there is no run of it now", hint=RUN_FIRST)
    wanted = [name for name in asked if name and baseline.of_collection(name)]
    if not wanted:
        raise InputError(
            f"the baseline {baseline.reference.where} has no run of {', '.join(asked) or 'any collection'}",
            hint="save the baseline again: rankscope baseline save",
        )
    checks: list[GateCheck] = []
    notes = [f"Not in the baseline, and not checked: the collection {name}." for name in asked if name not in wanted]
    with working_directory(project.folder), project.secrets.kept_out_of_errors():
        for name in wanted:
            session = open_collection(project, name, results)
            kept, made = baseline.of_collection(name), runs_of(project, session, results)
            pairs, unmatched = match_names(kept, list(made), options.systems, is_named="" not in baseline.runs)
            if unmatched:
                where = f" of {name}" if len(wanted) > 1 else ""
                notes.append(f"Not in the baseline{where}, and not checked: {', '.join(unmatched)}.")
            sources = of_session(session, notes)
            for saved, systems in pairs:
                current = tuple(made[system]() for system in systems)
                match = Match(kept[saved], current, name if len(wanted) > 1 else "")
                found, said = gate_match(match, baseline, options, sources)
                checks += found
                notes += said
    return GateResult(tuple(checks), options.policy, baseline.reference, tuple(dict.fromkeys(notes)))


def match_names(
    kept: Mapping[str, KeptRun], current: Sequence[str], wanted: Sequence[str], *, is_named: bool
) -> tuple[list[tuple[str, list[str]]], list[str]]:
    """Return which runs of today are compared with which of the baseline, and those that nothing can be compared with.

    By name; where the baseline holds a single run without a name, or other systems are asked for, all with that one.
    """
    asked = chosen(wanted, current, "system")
    only = next(iter(kept)) if len(kept) == 1 else None
    if only is not None and (not is_named or (wanted and only not in asked)):
        return [(only, asked)], []
    if lost := [name for name in kept if name not in current]:
        raise InputError(
            f"{lost[0]} is in the baseline, but there is no run of it now",
            hint="run it again; where it was removed or renamed, save the baseline again, or name what to compare "
            "with --system",
        )
    if missing := [name for name in wanted if name not in kept]:
        known = ", ".join(kept)
        raise InputError(f"{missing[0]} is not in the baseline, which has {known}", hint="save the baseline with it")
    return [(name, [name]) for name in asked if name in kept], [name for name in asked if name not in kept]


class Sources(Record, eq=False):
    """How the runs of one collection are compared, and what it is today."""

    compare: Compare
    queries: Callable[[Run], Mapping[str, str]]
    """What a run was asked, by query; a text that is not known is empty."""
    qrels: CollectionPart
    docs: CollectionPart | None = None
    margin: float | None = None


def of_session(session: CollectionSession, notes: list[str]) -> Sources:
    project, parts, split = session.project, session.collection.parts, session.split

    def compare(runs: Mapping[str, Run], queries: Sequence[str]) -> Comparison:
        session.split = replace(split, measured=tuple(queries))
        retrieved = {name: dict.fromkeys(run.rows.doc) for name, run in runs.items()}
        foreign = {name: docs for name, docs in retrieved.items() if has_foreign_ids(session, list(runs))}
        unknown = find_unknown_docs(session.collection, foreign, unknown_ids(session.collection, foreign))
        problems = {name: f"{finding.message}." for name, finding in unknown.items()}
        docs = {doc: None for found in retrieved.values() for doc in found}
        first = next(iter(runs))
        _, comparison, noted = score_runs(session, runs, {}, docs, baseline=first, problems=problems, anyway=False)
        notes.extend(noted)
        if comparison is None:
            raise InputError("there are not two runs to compare")
        return comparison

    return Sources(
        compare,
        lambda run: {query: asked_text(session, query) for query in measured_queries(split, run)},
        parts["qrels"],
        parts["docs"],
        project.margin,
    )


def has_foreign_ids(session: CollectionSession, names: Sequence[str]) -> bool:
    return any(session.has_foreign_ids(name) for name in names if name in session.project.systems)


def gate_files(
    qrels: str,
    runs: Sequence[str],
    baseline: KeptBaseline,
    options: GateOptions,
    request: CompareRequest,
    *,
    latencies: Mapping[str, Mapping[str, float]],
) -> GateResult:
    """Compare runs in files with a baseline; measure, policies and margin are its own where the request names none."""
    if len(baseline.runs) > 1:
        listed = ", ".join(baseline.runs)
        raise InputError(f"the baseline is of several collections ({listed})", hint="give a project instead of files")
    notes: list[str] = []
    asked = request_of_baseline(request, baseline)
    scoring = asked.scoring()
    judged = load_qrels(qrels, duplicates=scoring.policies.duplicates, options=request.qrels_options)
    texts = {} if request.queries is None else load_queries(request.queries).texts or {}
    current = runs_in_files(runs, request.options, latencies)

    def compare(loaded: Mapping[str, Run], queries: Sequence[str]) -> Comparison:
        return compare_runs(judged.select(queries), dict(loaded), asked, on_note=notes.append)

    sources = Sources(
        compare,
        lambda run: {query: texts.get(query, "") for query in queries_of_run(judged, run)},
        CollectionPart(len(judged.rows), qrels_digest(judged)),
        margin=asked.margin,
    )
    kept = next(iter(baseline.runs.values()))
    checks: list[GateCheck] = []
    for saved, names in match_files(kept, list(current)):
        found, said = gate_match(Match(kept[saved], tuple(current[name] for name in names)), baseline, options, sources)
        checks += found
        notes += said
    return GateResult(tuple(checks), options.policy, baseline.reference, tuple(dict.fromkeys(notes)))


def match_files(kept: Mapping[str, KeptRun], current: Sequence[str]) -> list[tuple[str, list[str]]]:
    """Return which files are compared with which run of the baseline: by name, or all with the only one."""
    if len(kept) == 1:
        return [(next(iter(kept)), list(current))]
    if missing := [name for name in current if name not in kept]:
        raise InputError(
            f"{missing[0]} is not in the baseline, which has {', '.join(kept)}",
            hint="call the run as it is called there, or save a baseline of one run",
        )
    return [(name, [name]) for name in current]


def request_of_baseline(request: CompareRequest, baseline: KeptBaseline) -> CompareRequest:
    """Return the request with what the baseline was saved with, where it names nothing else."""
    saved = baseline.measure
    if saved is None:
        return request
    given: dict[str, Any] = {"measures": request.measures or (saved.name,), "profile": request.profile or saved.profile}
    given |= {name: value for name, value in saved.policies.items() if getattr(request, name, None) is None}
    if request.margin is None:
        given["margin"] = baseline.margin
    return replace(request, **given)


def gate_match(
    match: Match, baseline: KeptBaseline, options: GateOptions, sources: Sources
) -> tuple[list[GateCheck], list[str]]:
    """Compare runs with one of the baseline; return the checks, and what has changed since it was saved."""
    kept = match.kept
    notes: list[str] = []
    queries = shared_queries(match, options, sources, notes)
    called = BASELINE if all(one.name != BASELINE for one in match.current) else "saved baseline"
    comparison = sources.compare({called: kept.run, **{one.name: one.run for one in match.current}}, queries)
    check_definition(comparison, baseline.measure)
    notes += changes_since(comparison, match, baseline, sources)
    if baseline.reference.kind == "store" and all(not pair.differs for pair in comparison):
        which = baseline.reference.words or baseline.reference.where
        notes.append(
            f"The baseline is {which}. Where that is the very run that is checked, name an earlier one, such as "
            f"{kept.system}~1."
        )
    checks = list(gate_of(comparison, options.policy, collection=match.collection).checks)
    if options.policy.max_latency_ratio is not None:
        checks += (latency_of_match(one, match, options.policy, queries) for one in match.current)
        machine = machine_words()
        if baseline.machine and baseline.machine != machine:
            notes.append(
                f"The baseline was timed on another kind of machine ({baseline.machine}; this is {machine}): "
                "latencies may differ for that alone."
            )
    return checks, notes


def shared_queries(match: Match, options: GateOptions, sources: Sources, notes: list[str]) -> list[str]:
    """Return the queries to compare on: all that are asked today, which must be those that the baseline was asked."""
    asked = [sources.queries(one.run) for one in match.current]
    now = {query: text for query, text in asked[0].items() if all(query in other for other in asked)}
    saved = match.kept.queries
    if saved is None:
        saved = {query: text for queries in asked for query, text in queries.items()}
    found = query_differences(saved, now)
    if not found.any:
        return list(now)
    n = len(found.shared)
    if not options.shared_queries or not n:
        on_shared = f"; --shared-queries compares on the {n} that both were asked" if n else ""
        raise InputError(
            f"the queries are not those of the baseline: {found.words}",
            hint=f"run the system as it was on today's queries and save that: rankscope baseline save{on_shared}",
        )
    notes.append(f"Compared on the {n} queries that the baseline was asked as well: {found.words}.")
    return list(found.shared)


def check_definition(comparison: Comparison, saved: MeasureDefinition | None) -> None:
    """Refuse a baseline that was saved for another measure, or for rankings that are scored in another way."""
    if saved is None:
        return
    now = MeasureDefinition.of(comparison.primary, comparison.policies, comparison.profile)
    changed = [name for name, value in saved.policies.items() if name in now.policies and now.policies[name] != value]
    if now.name != saved.name:
        what = f"it was saved for {saved.name}, and {now.name} decides now"
    elif now.version != saved.version:
        what = f"it was saved by version {saved.version} of the definition of {now.name}, and this is {now.version}"
    elif changed:
        name = changed[0]
        what = f"it was saved with {name} = {saved.policies[name]}, and now it is {now.policies[name]}"
    else:
        return
    raise InputError(
        f"the baseline is for another way of measuring: {what}",
        hint="measure as it was saved, or save the baseline again: rankscope baseline save",
    )


def changes_since(comparison: Comparison, match: Match, baseline: KeptBaseline, sources: Sources) -> Iterator[str]:
    """Yield what else is not as it was when the baseline was saved, though it does not make the two incomparable."""
    kept, of = match.kept, f" of {match.collection}" if match.collection else ""
    since = f"since the baseline was saved ({baseline.reference.created[:10]})"
    if kept.qrels is not None and kept.qrels.sha256 != sources.qrels.sha256:
        pair = next(iter(comparison))
        scored = ""
        if kept.mean is not None and pair.mean.a is not None:
            scored = f": the {pair.measure} of {kept.system} was {kept.mean:.4f} then, and is {pair.mean.a:.4f} now"
        yield f"The judgments{of} have changed {since}. Both are scored by today's{scored}."
    if kept.docs is not None and sources.docs is not None and kept.docs.sha256 != sources.docs.sha256:
        yield f"The docs{of} have changed {since}: there were {kept.docs.n:,}, and are {sources.docs.n:,} now."
    if baseline.measure is not None and baseline.has_margin and baseline.margin != sources.margin:
        before, after = ("none" if one is None else f"{one:g}" for one in (baseline.margin, sources.margin))
        yield f"The margin that is given has changed {since}: it was {before}, and is {after} now."


def latency_of_match(one: CurrentRun, match: Match, policy: GatePolicy, queries: Sequence[str]) -> GateCheck:
    """Compare the times of a run with those of the baseline over the queries that both have."""
    name = f"{one.name} ({match.collection})" if match.collection else one.name
    asked = set(queries)
    times = [
        {query: ms for query, ms in (known or {}).items() if query in asked}
        for known in (match.kept.latencies, one.latencies)
    ]
    if not times[0].keys() & times[1].keys():
        lacking = "the baseline" if not times[0] else one.name if not times[1] else "the two together"
        words = f"There are no latencies of {lacking}, so that they cannot be compared."
        return GateCheck(f"latency of {name}", "error", words, None, "latency", one.name, match.collection)
    return latency_check(name, latency_ratio(*times), policy, system=one.name, collection=match.collection)


def find_baseline(reference: str, project: Project | None = None) -> KeptBaseline:
    """Return the baseline that a folder holds, that a single run is, or that the store has by a tag or another name."""
    path = Path(reference)
    if path.is_dir():
        return load_baseline(path)
    if path.is_file():
        run = Run(str(path))
        return KeptBaseline(
            BaselineReference(reference, kind="run"), {"": {run.name or "run": KeptRun(run.name or "run", run)}}
        )
    from rankscope.experiment.keep import project_store  # only this needs the store
    from rankscope.experiment.stored_baseline import stored_baseline
    from rankscope.store import find_store, open_store

    place = find_store() if project is None else project_store(project)
    hint = f"rankscope baseline save -o {reference} makes a folder to commit"
    if place is None or not place.exists:
        raise InputError(f"there is no baseline {reference!r}: neither a folder nor a run, and no store", hint=hint)
    try:
        with open_store(place, read_only=True) as store:
            return stored_baseline(store, reference, collections=() if project is None else project.collections)
    except UnknownNameError as error:
        message = f"there is no baseline {reference!r}: neither a folder nor a run, and {error.message}"
        raise InputError(message, hint=error.hint or hint) from None
