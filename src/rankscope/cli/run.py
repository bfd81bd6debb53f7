"""Run the systems of a project on its collections: retrieve, time, evaluate, compare and report.

PROJECT is a rankscope.toml or the folder of one; without it the nearest one is taken, from the current folder upwards.
Every answer is kept as soon as it arrives. A run that was interrupted continues where it stopped: nothing is asked
twice, and the result is the same.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TextIO

from rankscope.cli import options
from rankscope.cli.exit_codes import FINDING, FINE, UNFINISHED, WRONG_INPUT
from rankscope.cli.style import show, words
from rankscope.errors import RankscopeError
from rankscope.printable import printable

if TYPE_CHECKING:
    from rankscope.comparison.gate import GateResult
    from rankscope.experiment.project import Project
    from rankscope.experiment.results import Benchmark, SystemResult
    from rankscope.experiment.session import TaskProgress
    from rankscope.report.document import Report
    from rankscope.store import Store

FORMATS = ("text", "markdown", "html", "latex", "json", "junit")

EPILOG = """\
examples:
  rankscope run
  rankscope run -o report.html
  rankscope run --only bm25 --only hybrid --collection scifact
  rankscope run --format json > results.json
  rankscope run --repeat 3                  for systems that answer otherwise each time
  rankscope run --workers 4                 for many systems or collections
  rankscope run --reveal -o final.html
  rankscope run --fail-if-worse -o gate.xml

runs, journals and manifest.json are written into the output folder of the project (results).
exit codes: 0 fine, 1 queries failed (running again asks only for these), 2 wrong use or input, or a
system is left out, as it cannot be reached, has answered with no docs at all, or what it returns are not
ids of the collection's docs,
3 could not finish, or a query failed with --on-failure stop. With --fail-if-worse
the gate decides: 0 where no system is worse than the baseline on any collection, 1 where one is,
2 where something is wrong, such as a system that is left out or has failed on more than 10% of
the queries"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("project", metavar="PROJECT", nargs="?", help="the project file, or its folder")
    only, collection = "run this system; may be repeated", "run on this collection; may be repeated"
    parser.add_argument("--only", action="append", default=[], metavar="SYSTEM", help=only)
    parser.add_argument("--collection", action="append", default=[], metavar="NAME", help=collection)
    parser.add_argument("--baseline", metavar="SYSTEM", help="the system to compare with (default: the first)")
    parser.add_argument("--k", type=int, metavar="N", help="how many docs to ask for (default: depth in the project)")
    times = (
        "ask every query N times, for systems that do not repeat themselves: scores are means over the repetitions, "
        "and the spread from run to run is shown beside the differences (default: repeat in the project, or 1)"
    )
    parser.add_argument("--repeat", type=int, metavar="N", help=times)
    workers = (
        "ask N systems at the same time, each in a process of its own; rankings are the same, but times are not those "
        "of a system alone, and are marked so"
    )
    parser.add_argument("--workers", type=options.whole_number, metavar="N", help=workers)
    on = "ask them on a cluster that runs already, which sees the project: dask://HOST:8786"
    parser.add_argument("--on", metavar="ADDRESS", help=on)
    parser.add_argument("--fresh", action="store_true", help="discard earlier answers and ask for everything again")
    parser.add_argument(
        "--reveal", action="store_true", help="measure the held-out queries of splits, which is recorded"
    )
    failure = {"go-on": "note it and ask the others", "stop": "end the run with exit code 3; run again to go on"}
    what = f"where a query fails\n{words(failure, default='go-on')}"
    parser.add_argument("--on-failure", metavar="WORD", default="go-on", help=what)
    anyway = "compare systems even where what they return are not ids of the collection's docs"
    parser.add_argument("--anyway", action="store_true", help=anyway)
    details = "in text: every pair and query, the method, files and hashes; as markdown: also what exceeds a comment"
    parser.add_argument("--details", action="store_true", help=details)
    options.add_format_option(parser, *FORMATS, by_extension=options.REPORT_EXTENSIONS)
    options.add_output_option(parser, "write the report to a file: .html .md .tex .json .txt .xml")
    options.add_gate_options(parser)
    options.add_store_options(parser, default="beside the project file, in .rankscope/store.db")


def run(args: argparse.Namespace) -> int:
    from rankscope.experiment.keep import project_store
    from rankscope.experiment.project import load_project, project_file
    from rankscope.experiment.runner import RunOptions, run_project
    from rankscope.experiment.scoring import benchmark_gate
    from rankscope.store import open_store
    from rankscope.systems.working_directory import process_of

    form = options.chosen_format(args)
    policy = options.gate_policy_from(args, always=form == "junit")
    try:
        asked = RunOptions(
            only=tuple(args.only),
            collections=tuple(args.collection),
            depth=args.k,
            command=options.command_line(args),
            **{name: getattr(args, name) for name in ("baseline", "fresh", "reveal", "anyway", "on_failure", "repeat")},
        )
        file = project_file(args.project).resolve()
        project = load_project(file)
        store = None if args.no_store else open_store(args.store or project_store(project), create=True)
        with process_of(file.parent) if args.owns_process else nullcontext(), progress_bars(sys.stderr) as on_progress:
            benchmark = run_project(
                project, asked, on_progress=on_progress, on_note=print_note, on=args.on, workers=args.workers
            )
    except RankscopeError as error:
        if form == "junit":
            options.write_error_case(error, args.output, command="run")
        raise
    kept = None if store is None else keep(store, project, benchmark)
    benchmark = benchmark if kept is None else kept.benchmark
    gate = None if policy is None else benchmark_gate(benchmark, policy)
    with options.output_to(args.output) as stream:
        report = write(benchmark, form, stream, gate, args)
    if options.is_file(args.output):
        say_in_short(benchmark, report, args.output)
    if benchmark.n_failed:
        show(failure_words(benchmark), file=sys.stderr)
    say_who_is_left_out(benchmark)
    if kept is not None:
        show(*kept.lines, file=sys.stderr)
        if not kept.is_kept:
            return UNFINISHED
    if args.fail_if_worse or args.require:
        return options.gate_exit_code(gate, args)
    return WRONG_INPUT if benchmark.n_left_out else FINDING if benchmark.n_failed else FINE


def say_who_is_left_out(benchmark: Benchmark) -> None:
    for system in (system for result in benchmark.collections for system in result.systems):
        if system.found_nothing:
            show(f"error: {system.name} is left out: it has retrieved nothing at all", file=sys.stderr)
        elif system.is_left_out and system.finding is not None:
            lines = (f"error: {system.name} is left out: {system.finding.message}", *system.finding.examples)
            show("\n  ".join(lines), f"hint: {system.finding.hint}", file=sys.stderr)


class KeptResult(NamedTuple):
    """Whether the store has taken what was found, and what is said of it after the report."""

    is_kept: bool
    lines: list[str]
    benchmark: Benchmark
    """With the number of each comparison among those on the same queries."""


def keep(store: Store, project: Project, benchmark: Benchmark) -> KeptResult:
    from rankscope.experiment.history import change_lines
    from rankscope.experiment.keep import keep_benchmark, with_looks

    with store:
        try:
            kept = keep_benchmark(store, project, benchmark)
            changes = {result.name: list(change_lines(store, result, project)) for result in kept}
        except RankscopeError as error:
            hint = [f"hint: {error.hint}"] if error.hint else []
            lines = [f"error: not all of this was kept: {error.message}", *hint]
            return KeptResult(is_kept=False, lines=lines, benchmark=benchmark)
    lines = []
    for result in kept:
        where = f" of {result.name}" if len(kept) > 1 else ""
        names = ", ".join(f"{run.system} {run.short}" for run in result.runs if run.number in result.new)
        lines += [f"since the last run{where}:", *(f"  {line}" for line in changes[result.name])]
        lines += (
            f"  {system.name}: has retrieved nothing, so that nothing is stored of it"
            for system in empty_of(benchmark, result.name)
        )
        lines.append(f"stored{where}: {names or 'nothing, as all answers are those of the newest runs'}")
    return KeptResult(is_kept=True, lines=lines, benchmark=with_looks(benchmark, kept))


def empty_of(benchmark: Benchmark, collection: str) -> list[SystemResult]:
    """Return the systems that have retrieved nothing at all on a collection, for no other reason that is said."""
    results = [result for result in benchmark.collections if result.name == collection]
    return [system for result in results for system in result.systems if system.run is None and not system.is_left_out]


def failure_words(benchmark: Benchmark) -> str:
    """Say how many queries failed, and of which system; of several for each, as they are asked the same ones."""
    n_failed: dict[str, int] = {}
    for system in (system for result in benchmark.collections for system in result.systems):
        if system.failures:
            n_failed[system.name] = n_failed.get(system.name, 0) + len(system.failures)
    if benchmark.n_failed == 1:
        return f"1 query of {next(iter(n_failed))} failed; run again to ask for it only"
    each = ", ".join(f"{name}: {n:,}" for name, n in n_failed.items())
    whose = f"queries failed ({each})" if len(n_failed) > 1 else f"queries of {next(iter(n_failed))} failed"
    return f"{benchmark.n_failed:,} {whose}; run again to ask for these only"


def print_note(note: str) -> None:
    show(f"warning: {note}", file=sys.stderr)


def write(
    benchmark: Benchmark, form: str, stream: TextIO, gate: GateResult | None, args: argparse.Namespace
) -> Report | None:
    """Write what was asked for; return the report, where that is one."""
    if form == "junit" and gate is not None:
        from rankscope.report.render.junit import cases

        options.write_cases(cases(gate, command="run"), stream, command="run")
    elif form == "json":
        from rankscope.report.benchmark_json import json_text

        stream.write(json_text(benchmark))
    else:
        from rankscope.report.benchmark import report_of

        make, to_file = partial(report_of, benchmark), options.is_file(args.output)
        return options.write_report(make, form, stream, details=args.details, to_file=to_file)
    return None


def say_in_short(benchmark: Benchmark, report: Report | None, output: str) -> None:
    """Say the answer and the scores on stderr too, where the report goes to a file."""
    from rankscope.report.benchmark import report_of, result_cautions
    from rankscope.report.evaluation import best_first, decided_by, short_table

    primary = benchmark.project.primary
    report = report or report_of(benchmark, with_figures=False, every_pair=False)
    tables = {}
    for result in benchmark.collections:
        if result.scores is not None:
            kept = [result.comparison.baseline] if result.comparison and result.comparison.baseline else []
            title = result.name if len(benchmark.collections) > 1 else ""
            tables[title] = short_table(best_first(decided_by(result.scores, primary)), keep=kept)
    several = len(benchmark.collections) > 1
    cautions = [
        f"{result.name}: {words}" if several else words
        for result in benchmark.collections
        for words in result_cautions(result, primary)
    ]
    options.say_in_short(report, tables, output, cautions=cautions)


@contextmanager
def progress_bars(stream: TextIO) -> Iterator[TaskProgress]:
    """Show progress bars on a terminal, and nothing otherwise."""
    if not stream.isatty():
        from rankscope.experiment.session import ignore_progress

        yield ignore_progress
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(file=stream)) as progress:
        tasks: dict[str, TaskID] = {}

        def show_progress(what: str, done: int, total: int | None, /) -> None:
            if what not in tasks:
                tasks[what] = progress.add_task(printable(what), total=total)
            progress.update(tasks[what], completed=done, total=total)

        yield show_progress
