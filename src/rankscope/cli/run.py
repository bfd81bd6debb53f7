"""Run the systems of a project on its collections: retrieve, time, evaluate, compare and report.

PROJECT is a rankscope.toml or the folder of one; without it the nearest one is taken, from the current folder upwards.
Every answer is kept as soon as it has come. A run that was interrupted, in whatever way, goes on where it was: nothing
is asked twice, and the result is the same.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, TextIO

from rankscope.cli.gate_options import add_gate_options, gate_exit_code, gate_policy_from, write_cases
from rankscope.cli.options import (
    REPORT_EXTENSIONS,
    add_output_options,
    chosen_format,
    command_line,
    output_to,
    write_report,
)
from rankscope.errors import RankscopeError

if TYPE_CHECKING:
    from rankscope.comparison.gate import GateResult
    from rankscope.experiment.progress import TaskProgress
    from rankscope.experiment.results import Benchmark

FORMATS = ("text", "markdown", "html", "latex", "json", "junit")
FAILED, LEFT_OUT = 1, 2

EPILOG = """\
examples:
  rankscope run
  rankscope run -o report.html
  rankscope run --only bm25 --only hybrid --collection scifact
  rankscope run --format json > results.json
  rankscope run --reveal -o final.html
  rankscope run --fail-if-worse -o gate.xml

runs, journals and manifest.json are written into the output folder of the project (results).
exit codes: 0 fine, 1 queries failed (running again asks only for these), 2 could not run, or a
system is left out, as what it returns are not ids of the collection's docs. With --fail-if-worse
the gate decides: 0 where no system is worse than the baseline on any collection, 1 where one is,
2 where something is wrong, such as a system that is left out or has failed on more than 10 % of
the queries"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("project", metavar="PROJECT", nargs="?", help="the project file, or its folder")
    for name, metavar, what in (
        ("only", "SYSTEM", "run this system"),
        ("collection", "NAME", "run on this collection"),
    ):
        repeated = f"{what}; may be repeated"
        parser.add_argument(f"--{name}", action="append", default=[], metavar=metavar, help=repeated)
    parser.add_argument("--baseline", metavar="SYSTEM", help="the system to compare with (default: the first)")
    parser.add_argument("--k", type=int, metavar="N", help="how many docs to ask for (default: depth in the project)")
    parser.add_argument("--fresh", action="store_true", help="throw earlier answers away and ask everything anew")
    held_out = "measure the held-out queries of splits, which is recorded"
    parser.add_argument("--reveal", action="store_true", help=held_out)
    anyway = "compare systems even where what they return are not ids of the collection's docs"
    parser.add_argument("--anyway", action="store_true", help=anyway)
    parser.add_argument("--details", action="store_true", help="in text: print long tables too, such as every query")
    file = "write the report to a file: .html .md .tex .json .txt .xml"
    add_output_options(parser, FORMATS, note="default: text, or by the extension of -o", file=file)
    add_gate_options(parser)


def run(args: argparse.Namespace) -> int:
    from rankscope.experiment.gate import benchmark_gate
    from rankscope.experiment.project import load_project
    from rankscope.experiment.runner import RunOptions, run_project

    form = chosen_format(args, FORMATS, by_extension=REPORT_EXTENSIONS)
    policy = gate_policy_from(args, always=form == "junit")
    try:
        project = load_project(args.project)
        options = RunOptions(
            only=tuple(args.only),
            collections=tuple(args.collection),
            depth=args.k,
            command=command_line(args),
            **{name: getattr(args, name) for name in ("baseline", "fresh", "reveal", "anyway")},
        )
        with progress_bars(sys.stderr) as on_progress:
            benchmark = run_project(project, options, on_progress=on_progress)
    except RankscopeError as error:
        if form == "junit":
            # an older file of a build server would say passed
            from rankscope.report.render.junit import error_case

            write_cases([error_case("run", str(error), command="run")], args.output, command="run")
        raise
    gate = None if policy is None else benchmark_gate(benchmark, policy)
    with output_to(args.output) as stream:
        write(benchmark, form, stream, gate, details=args.details or args.output is not None)
    if args.output not in (None, "-"):
        print(f"the report is in {args.output}", file=sys.stderr)
    if benchmark.n_failed:
        print(f"{benchmark.n_failed} queries failed; run again to ask for these only", file=sys.stderr)
    for system in (system for result in benchmark.collections for system in result.left_out):
        if system.finding is not None:
            lines = (f"error: {system.name} is left out: {system.finding.message}", *system.finding.examples)
            print("\n  ".join(lines), f"hint: {system.finding.hint}", sep="\n", file=sys.stderr)
    if args.fail_if_worse or args.require:
        return gate_exit_code(gate, args)
    return LEFT_OUT if benchmark.n_left_out else FAILED if benchmark.n_failed else 0


def write(benchmark: Benchmark, form: str, stream: TextIO, gate: GateResult | None, *, details: bool) -> None:
    """Write the benchmark in the format asked for."""
    if form == "junit" and gate is not None:
        from rankscope.report.render.junit import cases, to_junit

        stream.write(to_junit(cases(gate, command="run"), suite="rankscope run"))
        return
    if form == "json":
        from rankscope.report.benchmark_json import json_text

        stream.write(json_text(benchmark))
        return
    from rankscope.report.benchmark import report_of

    write_report(partial(report_of, benchmark), form, stream, details=details)


@contextmanager
def progress_bars(stream: TextIO) -> Iterator[TaskProgress]:
    """Show progress bars on a terminal, and nothing otherwise."""
    if not stream.isatty():
        from rankscope.experiment.progress import ignore_progress

        yield ignore_progress
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(file=stream)) as progress:
        tasks: dict[str, TaskID] = {}

        def show_progress(what: str, done: int, total: int | None, /) -> None:
            if what not in tasks:
                tasks[what] = progress.add_task(what, total=total)
            progress.update(tasks[what], completed=done, total=total)

        yield show_progress
