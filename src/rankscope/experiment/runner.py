"""Running a project: every system on every collection, resumable at any moment, measured and compared.

A run is planned, executed and gathered. `plan_tasks` returns one task for each system and collection; `execute` answers
the queries of one task; `gather` evaluates and compares the answers. Tasks and what they return are plain data, so that
a task can be executed in another process.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypedDict, Unpack

import numpy as np

from rankscope.data.queries import LANGUAGE, QueryTable
from rankscope.errors import InputError, OptionError, did_you_mean
from rankscope.experiment.answer_store import AnswerSummary
from rankscope.experiment.collection import Collection, load_collection
from rankscope.experiment.costs import answer_times, costs_of
from rankscope.experiment.doc_ids import add_findings
from rankscope.experiment.journal import JournalStore
from rankscope.experiment.project import RUN_FILE, Project, load_project
from rankscope.experiment.results import (
    AnswerTimes,
    Benchmark,
    Choice,
    CollectionResult,
    Costs,
    FailedQuery,
    ProjectSummary,
    RepetitionResult,
    SystemResult,
    TrainTestSplit,
    UnknownDocs,
)
from rankscope.experiment.run_files import (
    RunFiles,
    check_writable,
    file_name,
    run_rows,
    runs_folder,
    write_manifest,
)
from rankscope.experiment.scoring import (
    mean_over_answered,
    notes_on_queries,
    notes_on_repeats,
    notes_on_systems,
    notes_on_times,
    overlap_of,
    rankings_of,
    score_runs,
    with_spread,
)
from rankscope.experiment.session import (
    CancelledRunError,
    CollectionSession,
    ConfiguredSystem,
    TaskProgress,
    described_by,
    ignore_progress,
)
from rankscope.experiment.splits import divide, load_split, reveal
from rankscope.io.rows import RunRows
from rankscope.records import Options, Record, from_builtins, replace, to_builtins
from rankscope.systems.answers import Clock, UnreachableError
from rankscope.systems.working_directory import working_directory

SYSTEMS_STEP = "systems"
"""What is said to be done of how many systems have answered, behind the name of the collection."""
OnFailure = Literal["go-on", "stop"]
"""What a query that fails does: it is noted and the others are asked, or the run ends there."""


class RunOptions(Options):
    """How a project is to be run."""

    only: tuple[str, ...] = ()
    """Systems to run; all where none is named."""
    collections: tuple[str, ...] = ()
    """Collections to run on; all where none is named."""
    depth: int | None = None
    """How many docs are asked for, instead of what the project says."""
    baseline: str | None = None
    """The system that others are compared with; the first where none is named."""
    fresh: bool = False
    """Whether earlier answers are thrown away."""
    reveal: bool = False
    """Whether held-out queries are measured, which is recorded."""
    anyway: bool = False
    """Whether systems are compared even where what they return are not the ids of docs."""
    on_failure: OnFailure = "go-on"
    """What a query that fails does: it is noted and the others are asked, or the run ends there."""
    command: str = ""
    """The command that started it, for the records."""
    repeat: int | None = None
    """How often each system is asked every query, instead of what the project says."""


class RunKeywords(TypedDict, total=False):
    """The fields of `RunOptions` as keywords of `run_project`, for type checkers and editors."""

    only: str | Iterable[str]
    collections: str | Iterable[str]
    depth: int | None
    baseline: str | None
    fresh: bool
    reveal: bool
    anyway: bool
    on_failure: OnFailure
    command: str
    repeat: int | None


class RetrievalTask(Record):
    """One system on one collection: which queries it is to answer, and which ones its options are chosen on."""

    project: Project
    collection: str
    system: str
    split: TrainTestSplit
    depth: int
    repeat: int = 1
    """How often it is asked every query."""


class TaskResult(Record, eq=False):
    """What a system answered, at what cost."""

    system: SystemResult
    """Without what is found out when all systems have answered: its run, its finding, and its scores."""
    described: dict[str, Any]
    """All parameters and versions, as the system gives them."""
    rows: RunRows
    """Its answers as the rows of a run; of several repetitions the first."""
    choices: tuple[Choice, ...]
    """What was chosen for it, and for what it is made of."""
    notes: tuple[str, ...] = ()
    """What was found amiss with its answers of earlier runs."""
    times: tuple[AnswerTimes | None, ...] = ()
    """Of each repetition; None where nothing was answered."""
    further: tuple[RunRows, ...] = ()
    """Its answers in further repetitions."""

    @property
    def repetitions(self) -> tuple[RunRows, ...]:
        """All of its answers, the first ones first."""
        return (self.rows, *self.further)


def run_options(options: RunOptions | None, keywords: Mapping[str, Any]) -> RunOptions:
    """Return options with what keywords say instead; a name alone stands for a list of it."""
    known = RunKeywords.__annotations__
    for name in keywords:
        if name not in known:
            close = did_you_mean(name, known)
            raise TypeError(f"run_project() got an unexpected keyword argument {name!r}{close and f'; {close}'}")
    lists = {name: keywords[name] for name in ("only", "collections") if name in keywords}
    listed = {name: [given] if isinstance(given, str) else list(given) for name, given in lists.items()}
    return from_builtins(RunOptions, {**to_builtins(options or RunOptions()), **keywords, **listed})


def run_project(
    project: Project | str | os.PathLike[str],
    options: RunOptions | None = None,
    *,
    on_progress: TaskProgress = ignore_progress,
    on_note: Callable[[str], object] = str,
    should_stop: Callable[[], bool] = lambda: False,
    clock: Clock = time.perf_counter,
    on: Any = None,
    workers: int | None = None,
    **keywords: Unpack[RunKeywords],
) -> Benchmark:
    r"""Retrieve, time, evaluate and compare all that a project names; nothing is asked that was answered before.

    Paths, programs and modules that systems name are looked up in the folder of the project file. Runs, journals and a
    manifest are written into the project's output folder.

    Parameters
    ----------
    project
        The project file, its folder, or what `load_project` returns.
    options
        How to run it, as `RunOptions`; by default all of its systems on all of its collections.
    on_progress
        Called with what is being done, and how much of how much is done.
    on_note
        Called with the first failure of each system, when it happens.
    should_stop
        Asked between queries; where it says so, the run ends with an error, and running again goes on.
    clock
        Returns seconds, by which systems are timed.
    on, workers
        Ask several systems at the same time: in so many processes of this machine, or on a cluster that runs already,
        given by its address ("dask://host:8786"), a client of Dask, the module ray or an executor of
        concurrent.futures. Runs and hashes are the same; times are not those of a system alone, and are marked so.
        Between systems, not queries, `should_stop` is asked then.
    only, collections
        The systems to run, and the collections to run them on; all where none is named.
    depth, baseline
        How many docs are asked for, and the system that the others are compared with, instead of what the project says.
    fresh, reveal, anyway
        Throw earlier answers away; measure held-out queries, which is recorded; compare systems even where what they
        return are not the ids of docs.
    on_failure
        What a query that fails does: "go-on" notes it and asks the others, "stop" ends the run.
    command
        The command that started it, for the records.
    repeat
        How often each system is asked every query, instead of what the project says. Scores are means over the
        repetitions, and the spread from run to run stands beside the differences.

    Returns
    -------
    Benchmark
        For every collection the scores, the comparison, the costs, and what failed; `to_json` keeps it.

    Raises
    ------
    OptionError
        Where the options or the project ask for what cannot be done.
    UnfinishedError
        Where a file cannot be written, where a query fails and the options say stop, or where `should_stop` does; what
        was answered is kept.

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
    ... ''')
    >>> benchmark = rs.run_project("rankscope.toml", fresh=True)
    >>> benchmark.collections[0].scores["words"].mean()["nDCG@10"].value
    1.0
    >>> rs.BenchmarkRecord.from_json(benchmark.to_json()) == benchmark.record
    True
    """
    if not isinstance(project, Project):
        project = load_project(project)
    options = run_options(options, keywords)
    collections = check_run_options(project, options)
    started = datetime.now(UTC).isoformat(timespec="seconds")
    for folder in (project.output, *(runs_folder(project, name) for name in collections)):
        check_writable(folder)

    def go_on_or_stop(what: str, done: int, total: int | None, /) -> None:
        on_progress(what, done, total)
        if should_stop():
            raise CancelledRunError("the run was cancelled", hint="what was answered is kept: run again to go on")

    with working_directory(project.folder), project.secrets.kept_out_of_errors():
        begin = partial(begin_collection, project, options, on_progress=go_on_or_stop, on_note=on_note, clock=clock)
        if on is None and workers is None:
            results = tuple(run_collection(options, *begin(name)) for name in collections)
        else:
            if clock is not time.perf_counter:
                raise OptionError("workers have clocks of their own", hint="leave out clock, or on and workers")
            begun = [begin(name) for name in collections]
            results = run_in_parallel(project, options, begun, on_note=on_note, on=on, workers=workers)
    copied = ("sha256", "measures", "primary", "strata", "margin", "seeds", "profile", "unjudged_queries", "bands")
    summary = ProjectSummary(
        file=project.file.name,
        systems={name: entry.written for name, entry in project.systems.items()},
        policies=project.policies,
        **{name: getattr(project, name) for name in copied},
    )
    finished = datetime.now(UTC).isoformat(timespec="seconds")
    benchmark = Benchmark(summary, options.depth or project.depth, results, started, finished, options.command)
    write_manifest(benchmark, project)
    return benchmark


def check_run_options(project: Project, options: RunOptions) -> tuple[str, ...]:
    """Refuse options that cannot be met; return the collections to run on."""
    systems = select_names(options.only, project.systems, "system", project)
    collections = select_names(options.collections, project.collections, "collection", project)
    if options.baseline is not None:
        select_names((options.baseline,), dict.fromkeys(systems), "system", project)
    if options.depth is not None and options.depth < 1:
        raise OptionError(f"k is {options.depth}, but at least one doc has to be asked for")
    if options.repeat is not None and options.repeat < 1:
        raise OptionError(f"repeat is {options.repeat}, but every query has to be asked at least once")
    if options.reveal and all(project.collections[name].split is None for name in collections):
        raise OptionError("there is nothing to reveal: no collection has a split", hint="`rankscope split` makes one")
    return collections


def select_names(names: Sequence[str], known: Mapping[str, Any], what: str, project: Project) -> tuple[str, ...]:
    """Return the names asked for, or all, in the order of the project."""
    if not known:
        raise OptionError(
            f"{project.file.name} names no {what}", hint=f"add a table [{what}s.NAME]; `rankscope init` shows how"
        )
    for name in names:
        if name not in known:
            raise OptionError(
                f"there is no {what} {name!r} to run", hint=did_you_mean(name, known) or f"there are {', '.join(known)}"
            )
    return tuple(name for name in known if not names or name in names)


def begin_collection(
    project: Project,
    options: RunOptions,
    name: str,
    *,
    on_progress: TaskProgress,
    on_note: Callable[[str], object],
    clock: Clock,
) -> tuple[tuple[RetrievalTask, ...], CollectionSession]:
    """Plan what is to be done on a collection, and open it."""
    collection = load_collection(project.collection(name), cache=project.cache)
    tasks = plan_collection(project, options, collection)
    session = open_session(tasks[0], collection, on_progress=on_progress, clock=clock)
    session.on_note, session.stops_at_failure = on_note, options.on_failure == "stop"
    session.running = {task.system: task.repeat for task in tasks}
    if options.fresh:
        session.store.forget(project.with_parts(task.system for task in tasks))
    return tasks, session


def run_collection(options: RunOptions, tasks: Sequence[RetrievalTask], session: CollectionSession) -> CollectionResult:
    """Execute and gather; what was indexed for a collection is let go of before the next one."""
    return gather(options, session, execute_all(tasks, session))


def run_in_parallel(
    project: Project,
    options: RunOptions,
    begun: Sequence[tuple[Sequence[RetrievalTask], CollectionSession]],
    *,
    on_note: Callable[[str], object],
    on: Any,
    workers: int | None,
) -> tuple[CollectionResult, ...]:
    """Let workers ask the systems of all collections, then gather what they have answered."""
    from rankscope.executors import executor_from
    from rankscope.experiment.parallel import ask_in_parallel, in_order

    with executor_from(on, workers) as executor:
        done = ask_in_parallel(executor, project, options, begun, on_note=on_note)
    return tuple(gather(options, session, in_order(tasks, session, done)) for tasks, session in begun)


def execute_all(tasks: Sequence[RetrievalTask], session: CollectionSession) -> Iterator[TaskResult]:
    for n_done, task in enumerate(tasks):
        session.say(SYSTEMS_STEP, n_done, len(tasks))
        yield execute_or_leave_out(task, session)
    session.say(SYSTEMS_STEP, len(tasks), len(tasks))


def forget_answers(project: Project, options: RunOptions) -> None:
    """Throw away what systems have answered, on all collections at once; a run with `fresh` does so one by one."""
    systems = project.with_parts(select_names(options.only, project.systems, "system", project))
    for name in check_run_options(project, options):
        answer_store(project, name).forget(systems)


def answer_store(project: Project, collection: str) -> JournalStore:
    return JournalStore(project.output / "journal" / file_name(collection), collection=collection)


# Plan


def plan_tasks(project: Project, options: RunOptions | None = None) -> tuple[RetrievalTask, ...]:
    """Return one task for each system and collection; queries, judgments and splits are read for that."""
    options = options or RunOptions()
    return tuple(
        task
        for name in check_run_options(project, options)
        for task in plan_collection(project, options, load_collection(project.collection(name), cache=project.cache))
    )


def plan_collection(project: Project, options: RunOptions, collection: Collection) -> tuple[RetrievalTask, ...]:
    """Return one task for each system; a hold-out that the options ask for is recorded as revealed."""
    systems = select_names(options.only, project.systems, "system", project)
    with working_directory(project.folder):
        entries = [project.systems[name] for name in project.with_parts(systems)]
    has_choices = any(entry.sweep or entry.options.get("weights") == "tune" for entry in entries)
    split = train_test_split(project, options, collection, has_choices=has_choices)
    depth = options.depth or project.depth
    return tuple(
        RetrievalTask(project, collection.name, system, split, depth, repeat=project.repeat_of(system, options.repeat))
        for system in systems
    )


def train_test_split(
    project: Project, options: RunOptions, collection: Collection, *, has_choices: bool
) -> TrainTestSplit:
    """Return which queries choices are made on and which ones are measured; only judged queries are either.

    Where nothing is divided, the project may ask for queries without judgments to be measured, too.
    Where options or weights have to be chosen and there is no stored split, half of the queries are drawn for that,
    balanced by the strata of the project.
    """
    queries, spec = collection.queries, collection.spec
    judged_ids = set(collection.qrels.query_ids)
    judged = tuple(query for query in queries.ids if query in judged_ids)
    if not judged:
        raise InputError(
            f"{collection.name}: none of its queries has a judgment",
            hint=f"do the ids match? The first query is {queries.ids[0]!r}, "
            f"the first judged one {collection.qrels.query_ids[0]!r}",
        )
    if spec.group is not None:
        queries.attribute(spec.group)  # a wrong name is an error also where nothing has to be divided
    if spec.split is not None:
        return stored_split(options, collection, spec.split, judged)
    if not has_choices:
        return TrainTestSplit((), tuple(queries.ids) if project.unjudged_queries == "zero" else judged)
    by = tuple(name for name in project.strata if name in queries.attributes)
    seed = project.seeds[0]
    table = QueryTable(judged, queries.texts, queries.attributes, queries.nested)
    drawn, holdout = divide(table, share=Fraction(1, 2), by=by, seed=seed, group=spec.group)
    whole = f", whole groups by {spec.group}" if spec.group else ""
    words = (
        f"No split is given, so half of the queries were drawn to choose on ({len(drawn.train)}, seed {seed}"
        f"{whole}); all results are about the other {len(holdout)}."
    )
    return TrainTestSplit(drawn.train, holdout, "drawn", words)


def stored_split(options: RunOptions, collection: Collection, path: Path, judged: Sequence[str]) -> TrainTestSplit:
    split = load_split(path, queries=collection.queries, group=collection.spec.group)
    inside = set(split.train)
    train = tuple(query for query in judged if query in inside)
    if not options.reveal:
        words = (
            f"Results are about the {len(train)} train queries; {split.n_holdout} are held out, "
            "and --reveal measures those."
        )
        return TrainTestSplit(train, train, "train", words)
    holdout = reveal(path, command=options.command, queries=collection.queries, group=collection.spec.group)
    inside = set(holdout.query_ids)
    measured = tuple(query for query in judged if query in inside)
    times = "for the first time" if holdout.n_reveals == 1 else f"{holdout.n_reveals} times so far"
    words = f"Results are about the {len(measured)} held-out queries, revealed {times}."
    return TrainTestSplit(train, measured, "holdout", words)


# Execute


def open_session(
    task: RetrievalTask,
    collection: Collection | None = None,
    *,
    on_progress: TaskProgress = ignore_progress,
    clock: Clock = time.perf_counter,
) -> CollectionSession:
    """Return what the tasks on one collection share; their answers are kept in the project's output folder."""
    project, name = task.project, task.collection
    return CollectionSession(
        project,
        collection or load_collection(project.collection(name), cache=project.cache),
        task.split,
        answer_store(project, name),
        depth=task.depth,
        clock=clock,
        on_progress=on_progress,
    )


def execute(task: RetrievalTask, *, session: CollectionSession | None = None) -> TaskResult:
    """Answer the queries of a task, as often as it says; what was answered before is not asked again.

    With a session, tasks on the same collection share what is indexed; without one, a task stands for itself.
    """
    session = session or open_session(task)
    queries, n_choices, n_notes = task.split.measured, len(session.choices), len(session.answer_notes)
    with working_directory(task.project.folder), session.secrets.kept_out_of_errors():
        configured = session.configure(task.system)
        tag = tag_of(task.system, configured.fingerprint)
        logs: list[AnswerSummary] = []
        rows: list[RunRows] = []
        times: list[AnswerTimes | None] = []
        for repetition in range(1, task.repeat + 1):
            with session.answers(configured, queries, repetition) as log:
                logs.append(log.summary)
                rows.append(run_rows(log, queries, tag=tag))
                is_timed = configured.entry.type != RUN_FILE
                times.append(answer_times(log.summary, queries=queries, is_timed=is_timed))
        described = session.secrets.hide_in(described_by(configured.system, task.system))
        return TaskResult(
            system_result(task, configured, logs, rows, session),
            described,
            rows[0],
            choices=tuple(session.choices[n_choices:]),
            notes=tuple(session.answer_notes[n_notes:]),
            further=tuple(rows[1:]),
            times=tuple(times),
        )


def tag_of(system: str, fingerprint: str) -> str:
    """Return what stands in the last column of a system's run."""
    return f"{file_name(system)}-{fingerprint[:12]}"


def system_result(
    task: RetrievalTask,
    configured: ConfiguredSystem,
    logs: Sequence[AnswerSummary],
    rows: Sequence[RunRows],
    session: CollectionSession,
) -> SystemResult:
    """Return what is known of a system from its answers, in every repetition."""
    queries, kind = task.split.measured, configured.entry.type
    failures = [
        FailedQuery(query, failed.reason, failed.n_attempts, repetition=repetition)
        for repetition, log in enumerate(logs, 1)
        for query in queries
        if (failed := log.failures.get(query)) is not None
    ]
    retried = (
        any((log.answered.get(query) or log.failures[query]).n_attempts > 1 for log in logs) for query in queries
    )
    repetitions = tuple(RepetitionResult(None, len(queries) - len(log.failures.keys() & set(queries))) for log in logs)
    is_repeated = len(logs) > 1
    return SystemResult(
        name=task.system,
        type=kind,
        fingerprint=configured.fingerprint,
        run=None,
        n_queries=len(queries),
        n_answered=len(queries) - len({failure.query for failure in failures}),
        n_retried=sum(retried),
        failures=tuple(failures),
        finding=None,
        primary_over_answered=None,
        costs=costs_of(logs, queries=queries, is_timed=kind != RUN_FILE),
        reused=session.reused_answers(logs, queries),
        repetitions=repetitions if is_repeated else (),
        repeats_itself=all(has_same_docs(rows[0], other) for other in rows[1:]) if is_repeated else None,
    )


def has_same_docs(rows: RunRows, others: RunRows) -> bool:
    """Tell whether two runs hold the same docs for the same queries in the same order."""
    return rows.query == others.query and rows.doc == others.doc


def execute_or_leave_out(task: RetrievalTask, session: CollectionSession) -> TaskResult:
    """Execute a task; where nobody can ask its system, return why, so that the others are run all the same."""
    try:
        return execute(task, session=session)
    except UnreachableError as error:
        hint = error.hint or "see that it runs and that its address is right, then run again"
        return left_out(task, error.message, hint=hint)


def left_out(task: RetrievalTask, why: str, *, hint: str) -> TaskResult:
    """Return what is known of a system that could not be asked."""
    finding = UnknownDocs("error", "unreachable", f"it cannot be asked: {why}", (), hint)
    n_queries = len(task.split.measured)
    kind = task.project.systems[task.system].type
    system = SystemResult(task.system, kind, "", None, n_queries, 0, 0, (), finding, None, Costs())
    return TaskResult(system, {}, RunRows([], [], np.empty(0), np.empty(0, dtype=np.int64), task.system), ())


# Gather


def write_runs(result: TaskResult, files: RunFiles, split: TrainTestSplit) -> SystemResult:
    """Write the runs of all repetitions, and return the system with where they are.

    One of which only some repetitions have retrieved anything is left out: there is no run of the others to evaluate.
    """
    system = result.system
    written = [
        files.write(system, rows, split=split, repetition=repetition)
        for repetition, rows in enumerate(result.repetitions, 1)
    ]
    first, repetitions = written[0], system.repetitions
    if first.path is not None:
        files.remove_repetitions(system.name, beyond=len(written))
    if repetitions:
        pairs = zip(repetitions, written, strict=True)
        repetitions = tuple(replace(each, run=run.path, kept=run.kept) for each, run in pairs)
    empty = [number for number, run in enumerate(written, 1) if run.path is None]
    if 0 < len(empty) < len(written):
        message = f"it has retrieved nothing at all in repetition {empty[0]} of {len(written)}"
        hint = "see why, then run again: queries that failed are asked once more, and --fresh asks all of them anew"
        system = replace(system, finding=UnknownDocs("error", "empty_repetition", message, (), hint))
    return replace(system, run=first.path, kept=first.kept, repetitions=repetitions)


def gather(options: RunOptions, session: CollectionSession, results: Iterable[TaskResult]) -> CollectionResult:
    """Write the runs of a collection, evaluate and compare them, and return what was found."""
    project, collection = session.project, session.collection
    files = RunFiles(runs_folder(project, collection.name), project_folder=project.folder)
    written: list[SystemResult] = []
    described: dict[str, dict[str, Any]] = {}
    choices: dict[str, Choice] = {}
    amiss: list[str] = []
    times: dict[str, tuple[AnswerTimes | None, ...]] = {}
    asked = collection.queries.texts or {}
    for result in results:
        failures = tuple(replace(one, text=asked.get(one.query, "")) for one in result.system.failures)
        written.append(replace(write_runs(result, files, session.split), failures=failures))
        described[result.system.name] = result.described
        choices |= {choice.system: choice for choice in result.choices}
        amiss += (note for note in result.notes if note not in amiss)
        times[result.system.name] = result.times
    systems = add_findings(session, written, files.docs, anyway=options.anyway)
    kept = [system for system in systems if system.run is not None and not system.is_left_out]
    session.say("evaluating", 0, 1)
    runs = {system.name: files.open(system.name, str(system.run)) for system in kept}
    further = {
        system.name: [files.open(system.name, str(repetition.run)) for repetition in system.repetitions[1:]]
        for system in kept
        if system.repetitions
    }
    scores, comparison, noted = score_runs(
        session,
        runs,
        further,
        {doc: None for system in kept for doc in files.docs[system.name]},
        baseline=options.baseline,
        problems={system.name: f"{system.finding.message}." for system in kept if system.finding is not None},
        anyway=options.anyway,
    )
    rankings = None if scores is None else rankings_of(session, runs, scores)
    notes = [*notes_on_queries(session, tuple(choices)), *notes_on_systems(session, systems), *amiss, *noted]
    wanted = options.baseline or systems[0].name
    if comparison is not None and comparison.baseline != wanted:
        notes.append(f"{wanted} would be the baseline; without it, others are compared with {comparison.baseline}.")
    systems = tuple(
        with_spread(
            replace(system, primary_over_answered=mean_over_answered(system, scores, project.primary)),
            scores,
            project.primary,
        )
        for system in systems
    )
    margin = (project.margin or 0.0) if comparison is None else comparison.settings.margin
    one_pair = comparison is not None and len(list(comparison)) == 1
    notes += notes_on_repeats(systems, project.primary, margin, one_pair=one_pair)
    notes += notes_on_times(systems)
    columns = collection.queries.attributes
    languages = {str(value) for name in LANGUAGE for value in columns.get(name, {}).values()}
    return CollectionResult(
        name=collection.name,
        parts=dict(collection.parts),
        split=session.split,
        systems=systems,
        scores=scores,
        comparison=comparison if comparison is None or rankings is None else comparison.with_rankings(rankings),
        choices=tuple(choices.values()),
        notes=tuple(notes),
        described=described,
        about=dict(collection.about),
        group=collection.spec.group,
        weights=collection.spec.weights,
        language=languages.pop() if len(languages) == 1 else "",
        overlap=None if scores is None else overlap_of(session, list(runs.values()), scores),
        rankings=rankings,
        queries=collection.queries,
        judgments=collection.qrels.with_queries(session.split.measured)
        if project.unjudged_queries == "zero"
        else collection.qrels,
        answer_times=times,
        data_digests=dict(session.data_digests),
    )
