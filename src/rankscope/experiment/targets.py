"""Targets checked on files and tables, and on the runs of a project.

Gates, plugins and other callers use `check` and `check_project`; both return the same record. What is checked, and how,
is in `rankscope.analysis.targets`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankscope import light
from rankscope.analysis.targets import Target, TargetsReport, check_targets, count_results, measures_of
from rankscope.data.docs import DocTable, flat_fields, is_missing
from rankscope.data.loading import load_qrels, load_runs
from rankscope.data.queries import load_queries
from rankscope.data.run import Run
from rankscope.errors import InputError, OptionError, did_you_mean
from rankscope.evaluation import EvaluateRequest, evaluate_request
from rankscope.experiment.collection import Collection, load_collection
from rankscope.experiment.project import Project, load_project
from rankscope.experiment.run_files import ENDINGS, ProjectRunSource, file_name, runs_folder
from rankscope.experiment.target_file import TargetsLike, given_targets, load_targets
from rankscope.measures.extras import Need
from rankscope.measures.parse import parse_measure, parse_measures
from rankscope.measures.spec import Measure
from rankscope.printable import counted
from rankscope.records import replace

if TYPE_CHECKING:
    from typing import Unpack

    from rankscope.store import Store
    from rankscope.typing import EvaluateOptions, MeasuresLike, QrelsLike, RunsLike

HOW_TO_WRITE = 'write targets = "targets.toml", or tables [[targets]]; docs/targets.md shows how'


def check(
    qrels: QrelsLike,
    runs: RunsLike,
    targets: TargetsLike,
    measures: MeasuresLike = None,
    *,
    today: date | None = None,
    **options: Unpack[EvaluateOptions],
) -> TargetsReport:
    """Check what is expected of rankings, query by query, together with the graded measures.

    Parameters
    ----------
    qrels, runs
        The judgments and one or more runs, in any form that `evaluate` takes.
    targets
        The path of a target file, or one or several targets: what `load_targets` returns, or dicts with the keys that a
        target file has.
    measures
        What is measured besides, as for `evaluate`.
    today
        The day by which quarantines are judged; by default today's date in UTC.
    docs, queries
        Fields and titles of docs, which targets on distinct values need, and texts and attributes of queries, which
        targets on a stratum need; both are shown where they are known.
    **options
        As for `evaluate`; a query that a run does not answer counts 0 unless `missing` says otherwise.

    Returns
    -------
    TargetsReport
        What came of each target in each run; `passed` says whether all is well.

    Raises
    ------
    InputError, OptionError
        A file cannot be read, or a target names a query, doc, field or run that does not exist.

    Examples
    --------
    >>> import rankscope as rs
    >>> qrels, run = {"q": {"a": 1}}, {"bm25": {"q": ["a", "x"]}}
    >>> rs.check(qrels, run, {"query": "q", "never": "x", "top": 1}).passed
    True
    >>> report = rs.check(qrels, run, {"query": "q", "doc": "x", "top": 1, "quarantine_until": "2100-01-01"})
    >>> report, report.results[0].words
    (TargetsReport(0 passed, 0 failed, 1 quarantined), 'x is at rank 2, but must be in the top 1')
    """
    listed = given_targets(targets)
    if about_collection := [target.name for target in listed if target.collections]:
        raise OptionError(
            f"target {about_collection[0]!r} names a collection, which files do not have",
            hint="leave collection out, or check the project that has it",
        )
    given: dict[str, Any] = {"missing": "zero", **{name: value for name, value in options.items() if value is not None}}
    docs = given.pop("docs", None)
    if given.get("queries") is not None:
        given["queries"] = load_queries(given["queries"])
    request = with_measures(EvaluateRequest.decide(measures, caller="check", **given), listed)
    if any(Need.DOCS in measure.spec.needs for measure in (*request.measures, *request.optional)):
        request = light.replace(request, docs=docs)
    policies = request.policies
    judged = load_qrels(qrels, duplicates=policies.duplicates, options=request.qrels_options, threads=request.threads)
    loaded = {str(run.name): run for run in load_runs(runs, options=request.options)}
    scores = evaluate_request(request, judged, list(loaded.values()))
    return check_targets(listed, scores, judged, loaded, docs=docs, queries=given.get("queries"), today=today)


def with_measures(request: EvaluateRequest, targets: Sequence[Target]) -> EvaluateRequest:
    """Return a request with the measures that targets have limits for."""
    more = (parse_measure(name) for name in measures_of(targets, request.profile))
    return light.replace(request, measures=tuple(dict.fromkeys((*request.measures, *more))))


def check_project(
    project: Project | str | os.PathLike[str] | None = None,
    *,
    targets: TargetsLike | None = None,
    only: Iterable[str] = (),
    collections: Iterable[str] = (),
    measures: MeasuresLike = None,
    today: date | None = None,
    store: Store | None = None,
) -> TargetsReport:
    r"""Check the targets of a project on the runs that `run_project` wrote last.

    Parameters
    ----------
    project
        The project file, its folder, or what `load_project` returns.
    targets
        Instead of those of the project, as for `check`.
    only, collections
        The systems whose runs are checked, and the collections; all where none is named.
    measures
        What is measured besides, instead of what the project says.
    today
        The day by which quarantines are judged; by default today's date in UTC.
    store
        An open store (`open_store`), in which what came of each target is kept, and from which the newest run of a
        system is taken where the output folder has none.

    Returns
    -------
    TargetsReport
        What came of each target in each run of each collection.

    Raises
    ------
    InputError, OptionError
        There are no targets or no runs, or a target names what does not exist.

    Examples
    --------
    >>> import rankscope as rs
    >>> from pathlib import Path
    >>> _ = Path("docs.jsonl").write_text('{"id": "d1", "text": "pea soup"}\n{"id": "d2", "text": "plum cake"}\n')
    >>> _ = Path("queries.tsv").write_text("q1\tsoup\nq2\tcake with plums\n")
    >>> _ = Path("qrels.txt").write_text("q1 0 d1 1\nq2 0 d2 1\n")
    >>> _ = Path("rankscope.toml").write_text('''
    ... [collections.food]
    ... docs = "docs.jsonl"
    ... queries = "queries.tsv"
    ... qrels = "qrels.txt"
    ... [systems.words]
    ... type = "bm25"
    ... [[targets]]
    ... query = "q1"
    ... doc = "d1"
    ... top = 1
    ... ''')
    >>> _ = rs.run_project("rankscope.toml", fresh=True)
    >>> rs.check_project("rankscope.toml")
    TargetsReport(1 passed, 0 failed, 0 quarantined)
    """
    found = project if isinstance(project, Project) else load_project(project)
    report, checked = check_runs(
        found, targets=targets, only=only, collections=collections, measures=measures, today=today, store=store
    )
    if store is not None:
        store.targets.add(report, checked)
    return report


def check_runs(
    project: Project,
    *,
    targets: TargetsLike | None,
    only: Iterable[str],
    collections: Iterable[str],
    measures: MeasuresLike,
    today: date | None,
    store: Store | None,
) -> tuple[TargetsReport, dict[tuple[str, str], Run]]:
    """Return what came of the targets, and the runs that were checked by collection and system."""
    listed = targets_of(project) if targets is None else given_targets(targets)
    systems = chosen_names(only, project.systems, "system", project)
    names = chosen_names(collections, project.collections, "collection", project)
    for target in listed:
        where = f"target {target.name!r}: "
        chosen_names(target.only, project.systems, "system", project, where=where)
        chosen_names(target.collections, project.collections, "collection", project, where=where)
    reports: list[TargetsReport] = []
    checked: dict[tuple[str, str], Run] = {}
    for name in names:
        here = [
            replace(target, only=tuple(system for system in target.only if system in systems))
            for target in listed
            if (not target.collections or name in target.collections)
            and (not target.only or set(target.only).intersection(systems))
        ]
        if here:
            about = [system for system in systems if any(not one.only or system in one.only for one in here)]
            runs = {system: newest_run(project, name, system, store) for system in about}
            checked.update({(name, system): run for system, run in runs.items()})
            reports.append(check_collection(project, name, here, runs, measures=measures, today=today))
    if not reports:
        raise OptionError("no target is about these systems and collections", hint="check others, or all")
    return merged(reports, listed), checked


def targets_of(project: Project) -> tuple[Target, ...]:
    """Return the targets that a project has, in its own file or in one that it names."""
    found = project.targets if project.target_file is None else load_targets(project.target_file)
    if not found:
        raise OptionError(f"{project.file.name} has no targets", hint=HOW_TO_WRITE)
    return found


def chosen_names(
    given: Iterable[str], known: Mapping[str, Any], what: str, project: Project, *, where: str = ""
) -> tuple[str, ...]:
    """Return the names asked for, or all, in the order of the project."""
    wanted = tuple(given)
    for name in wanted:
        if name not in known:
            hint = did_you_mean(name, known) or f"there are {', '.join(known)}"
            raise OptionError(f"{where}{project.file.name} has no {what} {name!r}", hint=hint)
    if not known:
        raise OptionError(f"{project.file.name} names no {what}", hint=f"add a table [{what}s.NAME]")
    return tuple(name for name in known if not wanted or name in wanted)


def check_collection(
    project: Project,
    name: str,
    targets: Sequence[Target],
    runs: Mapping[str, Run],
    *,
    measures: MeasuresLike,
    today: date | None,
) -> TargetsReport:
    """Check targets on the runs of one collection, scored as `run` scores them."""
    collection = load_collection(project.collection(name), cache=project.cache)
    qrels = collection.qrels
    if project.unjudged_queries == "zero":
        qrels = qrels.with_queries([query for run in runs.values() if run.asked for query in run.asked.queries])
    wanted = parse_measures(project.measures if measures is None else measures)
    wanted, notes = measurable(collection, (*wanted, *map(parse_measure, project.optional)), targets, project)
    weights = collection.spec.weights
    request = EvaluateRequest.decide(
        [measure.name for measure in wanted],
        missing="zero",
        anyway=True,
        queries=None if weights is None else collection.queries,
        weights=weights,
        **project.scoring,
        **side_data(collection, wanted),
    )
    scores = evaluate_request(with_measures(request, targets), qrels, list(runs.values()))
    report = check_targets(
        targets,
        scores,
        qrels,
        runs,
        docs=lambda needed: doc_table(collection, needed),
        queries=collection.queries,
        today=today,
        collection=name,
    )
    return replace(report, notes=(*notes, *stored_notes(runs), *changed_since(project, name, runs), *report.notes))


def newest_run(project: Project, collection: str, system: str, store: Store | None) -> Run:
    """Return the run that was written last: one with failed queries lies beside an earlier one without.

    Where the output folder has none, as in a fresh copy of the project, the newest of the store is taken.
    """
    folder, stem = runs_folder(project, collection), file_name(system)
    for path in (folder / f"{stem}{more}.{ending}" for more in (".incomplete", "") for ending in ENDINGS):
        if path.is_file():
            shown = Path(os.path.relpath(path, project.folder)).as_posix()
            return Run(ProjectRunSource(path, shown=shown), name=system)
    if store is not None and store.runs.list(system=system, collection=collection, last=1):
        return store.runs.ranking(store.runs.find(system, collection=collection))
    where = f"in {folder}" if store is None else f"in {folder} or in the store"
    raise InputError(
        f"there is no run of {system} on {collection} {where}",
        hint="`rankscope run` makes it; --only checks other systems",
    )


def stored_notes(runs: Mapping[str, Run]) -> list[str]:
    """Say which runs are those of the store."""
    origins = {name: run.origin for name, run in runs.items()}
    return [
        f"{name} is {origin.path}, as the output folder has no run of it"
        for name, origin in origins.items()
        if origin is not None and origin.format == "store"
    ]


def measurable(
    collection: Collection, measures: Sequence[Measure], targets: Sequence[Target], project: Project
) -> tuple[tuple[Measure, ...], list[str]]:
    """Return the measures for which there is data without running a system, and what to say of the others."""
    of_targets = tuple(map(parse_measure, measures_of(targets, project.profile)))
    kept, notes = [], []
    for measure in dict.fromkeys((*measures, *of_targets)):
        no_embeddings = Need.EMBEDDINGS in measure.spec.needs and collection.spec.embeddings is None
        if not no_embeddings and (Need.ONTOLOGY not in measure.spec.needs or collection.ontology is not None):
            kept.append(measure)
            continue
        lacks = "embeddings" if no_embeddings else "ontology"
        if measure in of_targets:
            raise OptionError(
                f"a target is about {measure.name}, which needs {lacks} of the docs of {collection.name}",
                hint=f"add {lacks} = FILE to [collections.{collection.name}]",
            )
        notes.append(f"{measure.name} is left out: {collection.name} has no {lacks} = FILE of its own")
    return tuple(kept), notes


def side_data(collection: Collection, measures: Iterable[Measure]) -> dict[str, Any]:
    needs = {need for measure in measures for need in measure.spec.needs}
    found: dict[str, Any] = {}
    if Need.EMBEDDINGS in needs:
        found["embeddings"] = str(collection.spec.embeddings)
    if Need.DOCS in needs:
        found["docs"] = collection.file_of("docs")
    if Need.ONTOLOGY in needs:
        found["ontology"] = collection.ontology
    return found


def doc_table(collection: Collection, needed: AbstractSet[str]) -> DocTable:
    """Return the ids of all docs of a collection, and the fields of those that are needed."""
    fields: dict[str, dict[str, Any]] = {"title": {}, "text": {}}
    ids = set()
    for doc in collection.docs:
        ids.add(doc.id)
        is_needed = doc.id in needed
        if is_needed:
            fields["title"][doc.id], fields["text"][doc.id] = doc.title, doc.text
        for name, value in flat_fields(doc.fields, without=""):
            column = fields.setdefault(name, {})
            if is_needed and not is_missing(value):
                column[doc.id] = value
    return DocTable(fields, frozenset(ids))


def changed_since(project: Project, collection: str, systems: Iterable[str]) -> list[str]:
    """Say which systems have other options now than in the run that is checked, as far as the manifest tells."""
    try:
        manifest = json.loads((project.output / "manifest.json").read_bytes())
        recorded = manifest["collections"][collection]["systems"]
        changed = [
            system
            for system in systems
            if system in recorded
            and recorded[system]["options"] != json.loads(json.dumps(project.systems[system].written, default=str))
        ]
    except (OSError, ValueError, LookupError, TypeError):
        return []
    return [
        f"{system} has other options now than when its run was made: `rankscope run` makes it anew"
        for system in changed
    ]


def merged(reports: Sequence[TargetsReport], targets: Sequence[Target]) -> TargetsReport:
    """Return one report of all collections, with the targets as they were given."""
    results = tuple(one for report in reports for one in report.results)
    checked = {one.target for one in results}
    left_out = len(targets) - len(checked)
    notes = [note for report in reports for note in report.notes]
    if left_out:
        verb = "is" if left_out == 1 else "are"
        notes.append(f"{counted(left_out, 'target')} {verb} about other systems or collections, and not checked here")
    return replace(
        reports[0],
        counts=count_results(results, targets),
        targets=tuple(target for target in targets if target.name in checked),
        results=results,
        means=tuple(one for report in reports for one in report.means),
        notes=tuple(dict.fromkeys(notes)),
    )
