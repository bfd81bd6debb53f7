"""Check what you expect of rankings, query by query, together with the graded measures.

A target says what must be so: a doc in the top 3, a doc that must never be there, at least 3 distinct sources among the
first 10, a floor for a measure on a query, a stratum or all queries. Targets stand in a file, TOML or YAML:

  [[targets]]
  query = "q17"
  doc = "opening-hours"
  top = 3

Give QRELS, one or more RUN and --targets FILE; or a PROJECT (a rankscope.toml or its folder; without it the nearest
one), whose targets are checked on the runs that `rankscope run` wrote last. docs/targets.md has all that a target may
say.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from datetime import date
from typing import TYPE_CHECKING

from rankscope.cli import options
from rankscope.errors import OptionError, RankscopeError, give_warning
from rankscope.measures.scoring import DEFAULT_MEASURES

if TYPE_CHECKING:
    from rankscope.analysis.targets import TargetsReport
    from rankscope.experiment.project import Project
    from rankscope.store import Store

FORMATS = ("text", "json", "markdown", "html", "junit")
OF_FILES = (
    *options.POLICY_OPTIONS,
    "complete",
    "depth",
    "judged_only",
    "min_rel",
    *options.READING_OPTIONS,
    "profile",
    "docs",
    "queries",
    "anyway",
)
"""Options that a project decides itself."""
OF_PROJECTS = ("only", "collection", "store", "no_store")

EPILOG = """\
examples:
  rankscope check qrels.txt hybrid.run --targets targets.toml
  rankscope check qrels.txt bm25.run hybrid.run --targets targets.yaml --docs corpus.jsonl --queries queries.jsonl
  rankscope check qrels.txt hybrid.run --targets targets.toml -o targets.html
  rankscope check
  rankscope check shop/ --only hybrid --format markdown
  rankscope check -o targets.xml

a target in quarantine (quarantine_until = 2026-12-31) that fails is shown, but does not fail the check until
that day is over.
what cannot be shown fails: a query that the run does not answer, ranks below the place where a run was cut.
exit codes: 0 all targets pass, or those that fail are in quarantine; 1 a target fails; 2 wrong use or input: a
file that is missing or malformed, a target on a query, doc, field or run that does not exist, or no targets at all"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    paths = "a project file or its folder; or the judgments and one or more runs"
    parser.add_argument("paths", metavar="PROJECT | QRELS RUN", nargs="*", help=paths)
    targets = "the targets: .toml, .yaml or .yml (in a project: instead of its own)"
    parser.add_argument("--targets", metavar="FILE", help=targets)
    parser.add_argument(
        "--docs", metavar="FILE", help="fields and titles of the docs, for `distinct`, and shown with ids"
    )
    queries = "texts and attributes of the queries, for `stratum`, and shown with ids"
    parser.add_argument("--queries", metavar="FILE", help=queries)
    which = f"what is measured besides (default: {' '.join(DEFAULT_MEASURES)}; in a project what it says)"
    parser.add_argument("-m", "--measures", action="append", metavar="NAME", help=which)
    only = "in a project: check this system; may be repeated"
    collection = "in a project: check on this collection; may be repeated"
    parser.add_argument("--only", action="append", default=[], metavar="SYSTEM", help=only)
    parser.add_argument("--collection", action="append", default=[], metavar="NAME", help=collection)
    today = "the day by which quarantines are judged (default: today, in UTC)"
    parser.add_argument("--today", type=day, metavar="DATE", help=today)
    options.add_store_options(parser, default="that of the project, where it has one; files are not kept")
    options.add_profile_option(parser)
    parser.add_argument("--details", action="store_true", help="in text: every target, also those that pass")
    options.add_format_option(parser, *FORMATS, by_extension=options.REPORT_EXTENSIONS)
    options.add_output_option(parser, "write to a file: .html .md .json .xml .txt")
    options.add_anyway_option(parser)
    options.add_evaluation_options(parser)


def day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no date such as 2026-12-31") from None


def run(args: argparse.Namespace) -> int:
    form = options.chosen_format(args)
    try:
        checked = check_project_of(args) if len(args.paths) < 2 else check_files(args)
    except RankscopeError as error:
        if form == "junit":
            options.write_error_case(error, args.output, command="check")
        raise
    from rankscope.report.targets import cases_of, report_of

    report = report_of(checked, command=options.command_line(args))
    with options.output_to(args.output) as stream:
        if form == "json":
            from rankscope.records import to_json

            stream.write(to_json(checked, indent=1, ascii_only=True) + "\n")
        elif form == "junit":
            options.write_cases(cases_of(checked), stream, command="check")
        else:
            everything = args.details or (form == "text" and options.is_file(args.output))
            options.write_report(
                lambda **_: report, form, stream, details=everything, table_width=options.text_width(stream)
            )
    if options.is_file(args.output):
        options.say_in_short(report, {}, args.output)
    return checked.exit_code


def check_files(args: argparse.Namespace) -> TargetsReport:
    from rankscope.experiment.targets import check

    refuse(args, OF_PROJECTS, "is about a project, but files are given", "leave it out")
    if args.targets is None:
        raise OptionError(
            "--targets FILE is missing", hint="it says what to check; docs/targets.md shows how to write one"
        )
    options.one_stdin(args.paths)
    qrels, *runs = args.paths
    how = options.evaluation_options_from(args, "docs", "queries", "anyway")
    return check(qrels, runs, args.targets, args.measures, today=args.today, **how)


def check_project_of(args: argparse.Namespace) -> TargetsReport:
    from rankscope.experiment.project import PYPROJECT, load_project
    from rankscope.experiment.targets import check_runs

    project = args.paths[0] if args.paths else None
    if project is not None and options.ending_of(project) not in ("", ".toml") and not project.endswith(PYPROJECT):
        from pathlib import Path

        if not Path(project).is_dir():
            raise OptionError(
                f"{project} is no project file, and one file alone cannot be checked",
                hint="give QRELS and RUN, or a rankscope.toml or its folder",
            )
    refuse(args, OF_FILES, "is for files; a project says so itself", "write it into the project file, or leave it out")
    loaded = load_project(project)
    with project_store_of(args, loaded) as store:
        checked, runs = check_runs(
            loaded,
            targets=args.targets,
            only=args.only,
            collections=args.collection,
            measures=args.measures,
            today=args.today,
            store=store,
        )
        if store is not None:
            with only_warned_of(args):
                store.targets.add(checked, runs)
    return checked


@contextmanager
def project_store_of(args: argparse.Namespace, project: Project) -> Iterator[Store | None]:
    """Open the store asked for, else that of the project, where it has one."""
    from rankscope.experiment.keep import project_store
    from rankscope.store import open_store

    place = args.store or project_store(project)
    store = None
    if not args.no_store and (args.store or place.exists):
        with only_warned_of(args):
            store = open_store(place, create=args.store is not None)
    with store or nullcontext():
        yield store


@contextmanager
def only_warned_of(args: argparse.Namespace) -> Iterator[None]:
    """Warn where a store fails that nobody asked for by name: the answer does not depend on it."""
    try:
        yield
    except RankscopeError as error:
        if args.store is not None:
            raise
        give_warning(f"nothing was kept in the store: {error.message}")


def refuse(args: argparse.Namespace, names: tuple[str, ...], why: str, hint: str) -> None:
    for name in names:
        if getattr(args, name) not in (None, False, []):
            raise OptionError(f"--{name.replace('_', '-')} {why}", hint=hint)
