"""Compare today's runs with a baseline, and let a build pass or fail by the verdict.

Without files, the runs of the nearest project are taken, as its last `rankscope run` has left them. The baseline is a
folder that `rankscope baseline save` wrote, a run in a file, or one of the store, by its tag, number or hash, or by its
system (hybrid~1: the one before the newest). Both sides are scored now, by today's judgments; measure and policies are
those of the project, or of the baseline where files are given.

Text, exit code, JUnit, annotations and comment say the same, as they are made of one result.
"""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import nullcontext
from typing import TYPE_CHECKING, TextIO

from rankscope.cli import options
from rankscope.errors import OptionError, RankscopeError, UnfinishedError
from rankscope.printable import counted

if TYPE_CHECKING:
    from rankscope.comparison.gate import GatePolicy, GateResult
    from rankscope.experiment.project import Project

FORMATS = ("text", "markdown", "github", "junit", "json", "html")
EXTENSIONS = {".txt": "text", ".md": "markdown", ".xml": "junit", ".json": "json", ".html": "html", ".htm": "html"}
FOLDER = "baseline"

EPILOG = """\
examples:
  rankscope gate
  rankscope gate --run --baseline baseline -o gate.xml -o comment.md
  rankscope gate --baseline baseline qrels.txt new.run --queries queries.jsonl --docs corpus.jsonl
  rankscope gate --baseline old.run qrels.txt new.run -m RR@10 --margin 0.02
  rankscope gate --run --baseline release
  rankscope gate --run --reuse
  rankscope gate --format github -o comment.md
  rankscope gate --latency --max-latency-ratio 1.5

exit code 0: passed (or inconclusive: --on-inconclusive fail makes that 1). 1: a system is worse, or lower by more than
the margin with too few queries or judgments, or surely slower. 2: nothing can be said: a baseline that is damaged or
not what was saved, other queries or another measure than it was saved for, more than 10% of the queries not answered.

--format github prints annotations behind the text, and adds the comment to the summary of the job (the file that
GITHUB_STEP_SUMMARY names). docs/ci.md has a workflow for GitHub and a job for GitLab"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    what = "the judgments, then one or more runs; or a project, by default the nearest one"
    parser.add_argument("files", metavar="QRELS RUN | PROJECT", nargs="*", help=what)
    baseline = f"what to compare with: a folder of `rankscope baseline save`, a run, or a tag (default: {FOLDER})"
    parser.add_argument("--baseline", metavar="FOLDER|RUN|TAG", help=baseline)
    parser.add_argument("--run", action="store_true", help="run the project first; every query is asked anew")
    reuse = "with --run: take what earlier runs have answered, and ask for the rest only; the result says so"
    parser.add_argument("--reuse", action="store_true", help=reuse)
    system = "compare this system of the project; may be repeated (default: those of the baseline)"
    parser.add_argument("--system", action="append", default=[], metavar="NAME", help=system)
    collection = "compare on this collection of the project; may be repeated (default: those of the baseline)"
    parser.add_argument("--collection", action="append", default=[], metavar="NAME", help=collection)
    shared = "where queries have changed since, compare on those that have not, instead of refusing"
    parser.add_argument("--shared-queries", action="store_true", help=shared)
    options.add_gate_details(parser)
    latency = parser.add_argument_group("latency")
    slower = "fail also where queries surely take longer: 95th percentile, new by old, with its interval"
    latency.add_argument("--latency", action="store_true", help=slower)
    ratio = "the ratio that the lower end of the interval must exceed to fail (default: 1.2)"
    latency.add_argument("--max-latency-ratio", type=float, metavar="X", help=ratio)
    times = "for runs in files: how long their queries took, a table with columns query and ms (and system)"
    latency.add_argument("--latencies", metavar="FILE", help=times)
    files = parser.add_argument_group("for runs in files; a project says these in its file")
    measure = "the measure that decides (default: that of the baseline)"
    files.add_argument("-m", "--measure", metavar="NAME", help=measure)
    margin = "the smallest difference that matters (default: that of the baseline)"
    files.add_argument("--margin", type=float, metavar="X", help=margin)
    files.add_argument("--queries", metavar="FILE", help="texts of the queries, shown instead of their ids")
    files.add_argument("--docs", metavar="FILE", help="titles and texts of the docs, shown instead of their ids")
    text = f"what to print: {', '.join(FORMATS)} (default: {FORMATS[0]})"
    parser.add_argument("--format", metavar="FORMAT", help=text)
    parser.set_defaults(formats=FORMATS, by_extension=EXTENSIONS)
    output = "write it to a file as well, by its ending: .md .xml .json .html .txt; may be repeated"
    parser.add_argument("-o", "--output", action="append", default=[], metavar="FILE", help=output)
    options.add_file_options(parser)


def run(args: argparse.Namespace) -> int:
    forms = {path: options.chosen_format(args, output=path, given=None) for path in args.output}
    form = options.chosen_format(args, output=None)
    policy = policy_from(args)
    try:
        result = result_from(args, policy)
    except RankscopeError as error:
        # as text, the error itself says it
        write_all(error_result(error, policy), None if form == "text" else form, forms, args)
        raise
    write_all(result, form, forms, args)
    return result.exit_code


def policy_from(args: argparse.Namespace) -> GatePolicy:
    from rankscope.comparison.gate import MAX_LATENCY_RATIO, GatePolicy

    if not args.latency and (args.max_latency_ratio is not None or args.latencies is not None):
        name = "max-latency-ratio" if args.max_latency_ratio is not None else "latencies"
        raise OptionError(f"--{name} does nothing without --latency", hint="add --latency")
    ratio = (MAX_LATENCY_RATIO if args.max_latency_ratio is None else args.max_latency_ratio) if args.latency else None
    given = {"on_inconclusive": args.on_inconclusive, "allow_missing": args.allow_missing}
    details = {name: value for name, value in given.items() if value is not None}
    return GatePolicy(require=args.require, max_latency_ratio=ratio, **details)


def error_result(error: RankscopeError, policy: GatePolicy) -> GateResult:
    """Return what is to be written where nothing could be compared: an older file would say passed."""
    from rankscope.comparison.gate import GateCheck, GateResult

    words = f"{error.message}\nHint: {error.hint}" if error.hint else error.message
    check = GateCheck("gate", "error", words, None, "run")
    return GateResult((check,), policy, unfinished=isinstance(error, UnfinishedError))


def result_from(args: argparse.Namespace, policy: GatePolicy) -> GateResult:
    from rankscope.experiment.gating import GateOptions, find_baseline, gate_files, gate_project
    from rankscope.experiment.project import load_project
    from rankscope.records import replace

    if args.reuse and not args.run:
        raise OptionError("--reuse does nothing without --run", hint="add --run, or leave it out")
    asked = GateOptions(
        policy=policy,
        systems=tuple(args.system),
        collections=tuple(args.collection),
        shared_queries=args.shared_queries,
    )
    if options.names_project(args.files):
        options.refuse_file_options(args, "measure", "margin", "queries", "docs", "latencies")
        project = load_project(next(iter(args.files), None))
        # before it is run: the newest run of a system is then the one before
        baseline = find_baseline(args.baseline or os.path.relpath(project.folder / FOLDER), project)
        reused = run_first(project, args) if args.run else ()
        result = gate_project(project, baseline, asked)
        return replace(result, notes=(*result.notes, *reused))
    from rankscope.comparison.request import CompareRequest
    from rankscope.data.latencies import read_latencies

    if args.run or args.system or args.collection:
        raise OptionError("--run, --system and --collection are about a project", hint="name the files instead")
    options.one_stdin(args.files)
    request = CompareRequest(
        measures=args.measure,
        margin=args.margin,
        queries=args.queries,
        docs=args.docs,
        options=options.read_options_from(args),
        qrels_options=options.read_options_from(args, "qrels"),
    )
    latencies = {} if args.latencies is None else read_latencies(args.latencies)
    baseline = find_baseline(args.baseline or FOLDER)
    return gate_files(args.files[0], args.files[1:], baseline, asked, request, latencies=latencies)


def run_first(project: Project, args: argparse.Namespace) -> tuple[str, ...]:
    """Run the project, and say which answers are not of now; the runs are kept where there is a store.

    A gate that passes on answers of last week says nothing of today, so that all of them are asked for unless `--reuse`
    is given.
    """
    from rankscope.cli.run import print_note, progress_bars
    from rankscope.experiment.keep import keep_benchmark, project_store
    from rankscope.experiment.runner import RunOptions, run_project
    from rankscope.store import open_store
    from rankscope.systems.working_directory import process_of

    only, collections = tuple(args.system), tuple(args.collection)
    wanted = RunOptions(only=only, collections=collections, fresh=not args.reuse, command=options.command_line(args))
    with process_of(project.folder) if args.owns_process else nullcontext(), progress_bars(sys.stderr) as on_progress:
        benchmark = run_project(project, wanted, on_progress=on_progress, on_note=print_note)
    place = project_store(project)
    if place.exists:
        with open_store(place) as store:
            keep_benchmark(store, project, benchmark)
    return tuple(
        f"{system.name} on {result.name}: {reused.n} of {counted(system.n_queries * system.n_times, 'answer')} are "
        f"from {reused.in_words}, and were not asked for now (--reuse)."
        for result in benchmark.collections
        for system in result.systems
        if (reused := system.reused) is not None
    )


def write_all(result: GateResult, form: str | None, forms: dict[str, str], args: argparse.Namespace) -> None:
    for path, of_file in forms.items():
        with options.output_to(path) as stream:
            write(result, of_file, stream, args)
    if form is not None:
        write(result, form, sys.stdout, args)
    summary = os.environ.get("GITHUB_STEP_SUMMARY")
    if form == "github" and summary:
        add_to_summary(result, summary, args)


def add_to_summary(result: GateResult, path: str, args: argparse.Namespace) -> None:
    from pathlib import Path

    from rankscope.io.write import errors_of_writing
    from rankscope.report.gate import gate_comment

    with errors_of_writing(path), Path(path).open("a", encoding="utf-8", errors="surrogateescape") as stream:
        stream.write(gate_comment(result, command=options.command_line(args)))


def write(result: GateResult, form: str, stream: TextIO, args: argparse.Namespace) -> None:
    from rankscope.report.gate import gate_comment, gate_report

    command = options.command_line(args)
    if form == "json":
        stream.write(result.to_json())
    elif form == "junit":
        from rankscope.report.render.junit import cases

        options.write_cases(cases(result, command="gate"), stream, command="gate")
    elif form == "markdown":
        stream.write(gate_comment(result, command=command))
    elif form == "html":
        from rankscope.report.render import render

        stream.write(render(gate_report(result, command=command, on_page=True), "html"))
    elif form == "github":
        from rankscope.report.render.github import github_annotations, without_commands
        from rankscope.report.render.terminal import to_text

        stream.write(without_commands(to_text(gate_report(result, command=command))))
        stream.writelines(f"{line}\n" for line in github_annotations(result))
    else:
        from rankscope.report.render.terminal import print_report

        print_report(
            gate_report(result, command=command), file=stream, details=True, table_width=options.text_width(stream)
        )
