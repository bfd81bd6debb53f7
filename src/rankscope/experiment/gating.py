"""The gate of a project, or of files: today's runs against a baseline, both scored now, by today's judgments.

A baseline says what it was asked and which measure decided. Where that is not what is asked today, the two are not
comparable, which is an error, not a pass; where only the judgments have changed, both are scored by the new ones, and
the result says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankscope.comparison.compare import compare_runs
from rankscope.comparison.gate import BaselineReference, GateCheck, GatePolicy, GateResult, gate_of, latency_check
from rankscope.comparison.records import Comparison, PairResult
from rankscope.comparison.request import CompareRequest
from rankscope.data.loading import load_qrels
from rankscope.data.queries import load_queries
from rankscope.data.run import Run
from rankscope.errors import InputError, RankscopeError, UnknownNameError
from rankscope.experiment.baseline import (
    KeptBaseline,
    KeptRun,
    MeasureDefinition,
    load_baseline,
    machine_words,
    query_differences,
)
from rankscope.experiment.collection import CollectionPart
from rankscope.experiment.current_runs import (
    RUN_FIRST,
    CurrentRun,
    asked_queries,
    asked_text,
    chosen,
    measured_queries,
    open_collection,
    queries_of_run,
    read_results,
    runs_in_files,
    runs_of,
)
from rankscope.experiment.doc_ids import find_unknown_docs, unknown_ids
from rankscope.experiment.fingerprint import qrels_digest
from rankscope.experiment.project import Project
from rankscope.experiment.scoring import score_runs
from rankscope.experiment.session import CollectionSession
from rankscope.printable import listed
from rankscope.records import Options, Record, replace
from rankscope.stats.latency import latency_ratio
from rankscope.store_file import nearest_store
from rankscope.systems.working_directory import working_directory

if TYPE_CHECKING:
    from rankscope.store.engine import StoreLocation

BASELINE = "baseline"
ROUNDING = 1e-6
"""Means that differ by less are the same."""


class GateOptions(Options):
    """What is to be compared with a baseline."""

    policy: GatePolicy = GatePolicy()
    systems: tuple[str, ...] = ()
    """Systems of the project; without any, those of the baseline."""
    collections: tuple[str, ...] = ()
    """Collections of the project; without any, those of the baseline."""
    shared_queries: bool = False
    """Whether to compare on the queries that are still the same, where some have changed."""


Compare = Callable[[Mapping[str, Sequence[Run]], Sequence[str]], Comparison]
"""Takes the repetitions of systems by name, the baseline first, and the queries to compare them on."""


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
    if missing := [name for name in wanted if name not in kept]:
        known = ", ".join(kept)
        raise InputError(f"{missing[0]} is not in the baseline, which has {known}", hint="save the baseline with it")
    if not wanted and (lost := [name for name in kept if name not in current]):
        raise InputError(
            f"{lost[0]} is in the baseline, but there is no run of it now",
            hint="run it again; where it was removed or renamed, save the baseline again, or name what to compare "
            "with --system",
        )
    return [(name, [name]) for name in asked if name in kept], [name for name in asked if name not in kept]


class Sources(Record, eq=False):
    """How the runs of one collection are compared, and what it is today."""

    compare: Compare
    queries: Callable[[Run], Mapping[str, str]]
    """What a run was asked, by query; a text that is not known is empty."""
    qrels: CollectionPart
    docs: CollectionPart | None = None
    margin: float | None = None
    count: Callable[[Comparison, Mapping[str, Sequence[Run]], Run], int | None] = lambda *_: None
    """Counts a comparison of runs, the last one of today, among those on its queries; None where there is no store."""
    judged: frozenset[str] | None = None
    """The queries that count today; None where the queries above are these."""


def look_counter(
    place: StoreLocation | Path | str | None,
    queries: Callable[[Run], Mapping[str, str | None]],
    qrels: CollectionPart,
    notes: list[str],
) -> Callable[[Comparison, Mapping[str, Sequence[Run]], Run], int | None]:
    """Return what keeps comparisons in a store, where there is one.

    `queries` returns what a run was asked, by query; a text that is not known is None.
    """

    def count(comparison: Comparison, runs: Mapping[str, Sequence[Run]], current: Run) -> int | None:
        if place is None:
            return None
        from rankscope.experiment.keep import keep_comparison  # many gates have no store
        from rankscope.store import StoredQuery, open_store
        from rankscope.store.runs import ranking_sha256
        from rankscope.store.texts import queries_sha256

        rankings, asked = {name: [ranking_sha256(run) for run in each] for name, each in runs.items()}, queries(current)
        try:
            with open_store(place) as store:
                kept = keep_comparison(
                    store,
                    comparison,
                    rankings,
                    qrels_sha256=qrels.sha256,
                    queries_sha256=queries_sha256({name: StoredQuery(text) for name, text in asked.items()}),
                )
        except RankscopeError as error:
            notes.append(f"This is not counted among the comparisons on its queries: {error.message}.")
            return None
        return kept.look or None

    return count


def of_session(session: CollectionSession, notes: list[str]) -> Sources:
    from rankscope.experiment.keep import project_store  # only projects need the store

    project, parts, split = session.project, session.collection.parts, session.split
    place, texts = project_store(project), session.collection.queries.texts or {}

    def compare(repeated: Mapping[str, Sequence[Run]], queries: Sequence[str]) -> Comparison:
        session.split = replace(split, measured=tuple(queries))
        runs, further = first_and_further(repeated)
        retrieved = {name: {doc: None for run in each for doc in run.rows.doc} for name, each in repeated.items()}
        foreign = {name: docs for name, docs in retrieved.items() if has_foreign_ids(session, list(runs))}
        unknown = find_unknown_docs(session.collection, foreign, unknown_ids(session.collection, foreign))
        problems = {name: f"{finding.message}." for name, finding in unknown.items()}
        docs = {doc: None for found in retrieved.values() for doc in found}
        first = next(iter(runs))
        _, comparison, noted = score_runs(session, runs, further, docs, baseline=first, problems=problems, anyway=False)
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
        look_counter(
            place if place.exists else None,
            lambda run: {query: texts.get(query) for query in measured_queries(split, run)},
            parts["qrels"],
            notes,
        ),
        frozenset(split.measured),
    )


def first_and_further(repeated: Mapping[str, Sequence[Run]]) -> tuple[dict[str, Run], dict[str, Sequence[Run]]]:
    """Return the first run of each system, and the others of those that were asked several times."""
    first = {name: runs[0] for name, runs in repeated.items()}
    return first, {name: runs[1:] for name, runs in repeated.items() if len(runs) > 1}


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

    def compare(repeated: Mapping[str, Sequence[Run]], queries: Sequence[str]) -> Comparison:
        loaded, further = first_and_further(repeated)
        return compare_runs(judged.select(queries), loaded, asked, on_note=notes.append, further=further)

    part = CollectionPart(len(judged.rows), qrels_digest(judged))
    sources = Sources(
        compare,
        lambda run: {query: texts.get(query, "") for query in queries_of_run(judged, run)},
        part,
        margin=asked.margin,
        count=look_counter(
            nearest_store(),
            lambda run: {query: texts.get(query) for query in asked_queries(judged, run)},
            part,
            notes,
        ),
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
    runs = {called: (kept.run, *kept.further), **{one.name: (one.run, *one.further) for one in match.current}}
    comparison = sources.compare(runs, queries)
    check_definition(comparison, baseline.measure)
    notes += changes_since(comparison, match, baseline, sources)
    if baseline.reference.kind == "store" and all(not pair.differs for pair in comparison):
        which = baseline.reference.words or baseline.reference.where
        notes.append(
            f"The baseline is {which}. Where that is the very run that is checked, name an earlier one, such as "
            f"{kept.system}~1."
        )
    look = sources.count(comparison, runs, match.current[-1].run)
    found = gate_of(comparison, options.policy, collection=match.collection).checks
    checks = [replace(check, look=look) for check in found]
    if lost := [query for query in queries if sources.judged is not None and query not in sources.judged]:
        share = len(lost) / len(queries)
        of = f" of {match.collection}" if match.collection else ""
        words = f"{len(lost)} of {len(queries)} queries{of} ({share:.0%}) have no judgments any more: {listed(lost)}"
        if share > options.policy.allow_missing:
            words = f"{words}; at most {options.policy.allow_missing:.0%} may be missing."
            checks = [replace(check, outcome="error", words=words) for check in checks]
        else:
            notes.append(f"{words}. They do not count.")
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
    elif baseline.reference.kind == "folder" and (other := has_other_mean(comparison, kept)):
        yield (
            f"The manifest of the baseline says that the {other.measure} of {kept.system} was {kept.mean:.4f}, but its "
            f"run has {other.mean.a:.4f} by the same judgments: was the manifest changed?"
        )
    if kept.docs is not None and sources.docs is not None and kept.docs.sha256 != sources.docs.sha256:
        yield f"The docs{of} have changed {since}: there were {kept.docs.n:,}, and are {sources.docs.n:,} now."
    if baseline.measure is not None and baseline.has_margin and baseline.margin != sources.margin:
        before, after = ("none" if one is None else f"{one:g}" for one in (baseline.margin, sources.margin))
        yield f"The margin that is given has changed {since}: it was {before}, and is {after} now."


def has_other_mean(comparison: Comparison, kept: KeptRun) -> PairResult | None:
    """Return the pair whose mean is not the one that was saved with the run, where both are over the same queries."""
    pair = next(iter(comparison))
    same = not pair.group and not pair.n_undefined and pair.n_queries == len(kept.queries or {})
    if not same or kept.mean is None or pair.mean.a is None or abs(kept.mean - pair.mean.a) < ROUNDING:
        return None
    return pair


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
