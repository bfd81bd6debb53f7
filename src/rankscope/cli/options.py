"""Options that several commands share, and how files are opened from the command line."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import TextIOWrapper
from typing import TYPE_CHECKING, Any, TextIO, cast

from rankscope.align.policies import CHOICES, Policies
from rankscope.cli.exit_codes import FINE
from rankscope.cli.style import Later, show, words
from rankscope.data.loading import ReadOptions
from rankscope.errors import OptionError, RankscopeError, did_you_mean, give_warning, shorten
from rankscope.io.limits import in_words
from rankscope.printable import counted
from rankscope.progress import JobState, Progress, WatchJob
from rankscope.registry import load_object
from rankscope.report.table import Table
from rankscope.store_file import nearest_store

if TYPE_CHECKING:
    from rankscope.analysis.rankings import Rankings
    from rankscope.comparison.gate import GatePolicy, GateResult
    from rankscope.comparison.records import Comparison
    from rankscope.measures.scores import Scores
    from rankscope.report.charts import ChartSource
    from rankscope.report.document import Report
    from rankscope.report.render import Form
    from rankscope.report.render.junit import JUnitCase

POLICY_OPTIONS = ("ties", "precision", "duplicates", "self_match", "missing", "no_relevant", "undefined")

REPORT_EXTENSIONS = {
    ".txt": "text",
    ".md": "markdown",
    ".html": "html",
    ".htm": "html",
    ".tex": "latex",
    ".json": "json",
    ".csv": "csv",
    ".xml": "junit",
}
TEXT_OR_JSON = {".json": "json", ".txt": "table"}
PLAIN_ENDINGS = ("", ".txt", ".out", ".log", ".dat", ".trec", ".eval")
"""Names by which no program would take a file for what it is not."""
TABLE_WIDTH = 80
"""How wide tables are in a text that is not read in a terminal."""
LONGEST_NUMBER = 10
"""A whole number has fewer digits than this."""
GATE = "as a gate for builds (exit code 0 passed, 1 failed, 2 something is wrong)"


def add_evaluation_options(parser: argparse.ArgumentParser) -> None:
    """Add the policies, one word each, and how files are read: `evaluation_options_from` returns what was given."""
    group = parser.add_argument_group("policies, each one word (trec_eval's behaviour is the default)")
    defaults = Policies()
    for name in POLICY_OPTIONS:
        meanings = words(CHOICES[name], default=getattr(defaults, name))
        group.add_argument(f"--{name.replace('_', '-')}", metavar="WORD", help=meanings)
    complete = "the same as --missing zero (trec_eval -c), whatever the profile says"
    group.add_argument("--complete", action="store_true", help=complete)
    group.add_argument("--depth", type=int, metavar="N", help="look at the first N docs of each query (trec_eval -M)")
    group.add_argument("--judged-only", action="store_true", default=None, help="remove unjudged docs (trec_eval -J)")
    group.add_argument("--min-rel", type=float, metavar="GRADE", help="lowest relevant grade (trec_eval -l); default 1")
    add_file_options(parser)


SCALE = "large runs (the scores are the same, to the last bit)"


def add_scale_options(parser: argparse.ArgumentParser) -> None:
    """Add how runs are scored that are too large for one process; `scale_options_from` returns what was given."""
    group = parser.add_argument_group(SCALE)
    memory = (
        "take about this much memory, e.g. 512MB: runs are read in parts, and rows that are not grouped by query are "
        "regrouped on disk (in TMPDIR); without it, so are files that do not fit into half of the free memory"
    )
    group.add_argument("--memory", metavar="SIZE", help=memory)
    workers = "score the parts of runs in N processes of this machine; threads, the default, are mostly as fast"
    group.add_argument("--workers", type=whole_number, metavar="N", help=workers)
    on = (
        "score them on a cluster that runs already: dask://HOST:8786; its workers must see "
        "the same paths, or files lie on an object store"
    )
    group.add_argument("--on", metavar="ADDRESS", help=on)
    keep = "keep what is scored in a folder: the same command goes on there after a crash (exit code 3: not finished)"
    group.add_argument("--keep", metavar="FOLDER", help=keep)


def scale_options_from(args: argparse.Namespace) -> dict[str, Any]:
    """Return how large runs are scored, with progress where somebody is watching."""
    given = {name: getattr(args, name) for name in ("memory", "workers", "on", "keep")}
    if given["memory"] is not None:
        from rankscope.io.memory import memory_of

        given["memory"] = memory_of(args.memory, option="--memory")
    draw = job_progress_on(sys.stderr)
    return {**given, "progress": draw if args.keep is None else saying_kept(draw, sys.stderr)}


def saying_kept(draw: WatchJob, stream: TextIO) -> WatchJob:
    """Return a function that draws how far a job is, and at its end says how much of it was done before."""

    def watch(state: JobState) -> None:
        draw(state)
        if state.kept and state.done == state.total:
            kept = f"{state.kept:,} of {counted(state.total, 'part')}"
            show(f"{kept} {'was' if state.kept == 1 else 'were'} kept from before", file=stream)

    return watch


def is_in_parts(args: argparse.Namespace) -> bool:
    """Tell whether runs are read in parts because somebody says so; a store takes whole runs, and none of these."""
    if not any(getattr(args, name) is not None for name in ("memory", "workers", "on", "keep")):
        return False
    if not args.no_store and (args.store is not None or nearest_store() is not None):
        show(
            "not stored: a store takes whole runs, none that are read in parts (--memory, --workers, --on, --keep)",
            file=sys.stderr,
        )
    return True


LINE_EVERY_S = 30.0
"""So often a job says how far it is where its output is no terminal."""


def job_progress_on(stream: TextIO) -> WatchJob:
    """Return a function that says how far a job is, how quick it is and what is left.

    On a terminal it draws one line; elsewhere, as in the log of a long job, it writes a line now and then.
    """
    started = last = time.monotonic()
    if not stream.isatty():

        def write(state: JobState) -> None:
            nonlocal last
            if time.monotonic() - last >= LINE_EVERY_S and state.done < state.total:
                last = time.monotonic()
                stream.write(f"{state.doing}: {state}\n")
                stream.flush()

        return write

    def show(state: JobState) -> None:
        nonlocal last
        now, is_done = time.monotonic(), state.done == state.total
        if now - started < 1 or (now - last < 0.2 and not is_done):
            return
        last = now
        stream.write("\r\x1b[K" if is_done else f"\r\x1b[K{state.doing}: {state}")
        stream.flush()

    return show


def add_file_options(parser: argparse.ArgumentParser, **strictness: str) -> None:
    """Add how files are read; what a malformed line does can be said in other words, as for `add_strictness`."""
    group = parser.add_argument_group("reading files")
    for kind, example in (("qrels", "query=question,grade=stars"), ("run", "query=question,score=sim")):
        how = with_formats(f"read the {kind} as this, instead of detecting the format")
        group.add_argument(f"--{kind}-format", metavar="FORMAT", help=how)
        which = f"which column of a {kind} table holds what, e.g. {example}"
        group.add_argument(f"--{kind}-columns", metavar="ROLE=NAME,...", help=which)
    add_strictness(group, **strictness)


def names_in(table: str, text: str, more: str = "") -> Later:
    """Return the help of an option that takes a name from a table ("module:object"), which takes a while to load."""
    return Later(lambda: f"{text}: {', '.join(load_object(table))}{more}")


def with_formats(text: str) -> Later:
    return names_in("rankscope.io.formats:FORMATS", text)


def with_table_endings(text: str) -> Later:
    """Return a help text in which {files} stands for how files of queries, docs or scores may end."""
    return Later(lambda: text.format(files=load_object("rankscope.io.formats:table_endings")()))


def with_embedding_files(text: str) -> Later:
    return Later(lambda: f"{text}: {load_object('rankscope.data.embedding_files:EMBEDDING_FILES')}")


READING_OPTIONS = ("run_format", "run_columns", "qrels_format", "qrels_columns", "strict", "lenient")


def refuse_run_options(args: argparse.Namespace, without_runs: str, *names: str) -> None:
    """Refuse what says how runs are read and scored, these options included, where there are no runs."""
    given = (*POLICY_OPTIONS, "complete", "depth", "judged_only", "min_rel", *READING_OPTIONS, "profile", *names)
    for name in given:
        if getattr(args, name) not in (None, False):
            option = name.replace("_", "-")
            message = f"--{option} is about runs, which {without_runs} does not know"
            raise OptionError(message, hint="give qrels and runs instead")


def add_strictness(
    group: argparse._ActionsContainer,
    strict: str = "stop where a line is malformed (the default)",
    lenient: str = "skip malformed lines; how many is reported",
) -> None:
    strictness = group.add_mutually_exclusive_group()
    strictness.add_argument("--strict", action="store_true", help=strict)
    strictness.add_argument("--lenient", action="store_true", help=lenient)


def add_anyway_option(parser: argparse.ArgumentParser) -> None:
    what = "only warn where not one doc id of a run is judged, or where qrels and run look swapped"
    parser.add_argument("--anyway", action="store_true", help=what)


def add_profile_option(parser: argparse._ActionsContainer) -> None:
    profiles = names_in("rankscope.measures.profiles:PROFILES", "follow the conventions of another tool")
    parser.add_argument("--profile", metavar="NAME", help=profiles)


def add_bands_option(parser: argparse.ArgumentParser, what: str) -> None:
    bands = names_in("rankscope.analysis.bands:BANDS", what, ", or a TOML file of your own (ours.toml)")
    parser.add_argument("--bands", metavar="NAME", help=bands)


def add_chart_option(parser: argparse.ArgumentParser, source: ChartSource, what: str) -> None:
    """Add the choice of a chart that can be drawn from a source, e.g. a comparison."""
    kinds = Later(lambda: f"{what}: {', '.join(load_object('rankscope.report.charts:charts_from')(source))}")
    parser.add_argument("--chart", metavar="KIND", help=kinds)


def add_format_option(
    parser: argparse.ArgumentParser, *formats: str, by_extension: Mapping[str, str] | None = None, only: str = ""
) -> None:
    """Add the choice of what is printed: by default the first format, or what a file's extension stands for.

    `only` says of what there are fewer formats.
    """
    otherwise = ", or by the extension of -o" if by_extension else ""
    what = f"what to print: {', '.join(formats)} (default: {formats[0]}{otherwise}){f'; {only}' if only else ''}"
    parser.add_argument("--format", metavar="FORMAT", help=what)
    parser.set_defaults(formats=formats, by_extension=by_extension)


def add_output_option(parser: argparse.ArgumentParser, file: str = "write to a file instead of stdout") -> None:
    parser.add_argument("-o", "--output", metavar="FILE", help=file, action=OnlyOnce)


class OnlyOnce(argparse.Action):
    """Refuses an option that is given twice, of which the last would win in silence."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,  # noqa: ARG002 (argparse gives it)
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        if getattr(namespace, self.dest, None) is not None:
            raise OptionError(
                f"{option_string} is given twice: {getattr(namespace, self.dest)} and {values}",
                hint="write one file at a time",
            )
        setattr(namespace, self.dest, values)


def chosen_format(args: argparse.Namespace, **instead: str | None) -> str:
    """Return which of the formats of `add_format_option` to print; a file must be called as what it holds.

    `instead` of -o and --format others can be looked at: `output`, and `given` for the format.
    """
    formats: tuple[str, ...] = args.formats
    output = instead.get("output") if "output" in instead else getattr(args, "output", None)
    given = instead.get("given") if "given" in instead else args.format
    if given is not None and given not in formats:
        hint = did_you_mean(given, formats)
        raise OptionError(f"--format {given} is not one of {', '.join(formats)}", hint=hint)
    # a chart has extensions of its own
    if output is None or output == "-" or getattr(args, "chart", None) or args.by_extension is None:
        return str(given or formats[0])
    known: dict[str, str] = {ending: form for ending, form in args.by_extension.items() if form in formats}
    suffix = ending_of(output)
    if given is not None:
        check_ending(output, [ending for ending, form in known.items() if form == given])
        return given
    if suffix not in known:
        problem = f"{suffix} is not written here" if suffix else "the name says no format"
        raise OptionError(f"{problem}: {output!r}", hint=f"use {', '.join(known)}")
    return known[suffix]


def is_file(output: str | None) -> bool:
    """Tell whether -o names a file; - is standard output."""
    return output not in (None, "-")


def say_where(output: str | None) -> None:
    """Say on stderr where the output is, where that is a file; pages and documents are reports."""
    if output is not None and is_file(output):
        reports = (".html", ".htm", ".md", ".tex", ".txt")
        show(f"the {'report' if ending_of(output) in reports else 'result'} is in {output}", file=sys.stderr)


def say_in_short(report: Report, tables: Mapping[str, Table], output: str, *, cautions: Sequence[str] = ()) -> None:
    """Say on stderr what a report in a file says first, with tables of scores by their titles, and where it is.

    Of its cautions those that are given are said.
    """
    from rankscope.records import replace
    from rankscope.report.document import Block, Report, Shares, TableBlock, VerdictBlock, VerdictCounts
    from rankscope.report.render.terminal import print_report

    blocks: list[Block] = []
    for block in report.first_screen:
        if isinstance(block, VerdictBlock):
            blocks.append(replace(block, cautions=tuple(cautions)))
        elif isinstance(block, VerdictCounts | Shares):
            blocks.append(block)
    blocks += (TableBlock(title, table) for title, table in tables.items())
    print_report(Report("", tuple(blocks), (), ()), file=sys.stderr, details=False)
    say_where(output)


def ending_of(path: str) -> str:
    return os.path.splitext(path)[1].lower()  # noqa: PTH122 (pathlib takes long to load)


def check_ending(path: str, written: Iterable[str]) -> None:
    """Refuse a name by which another program would take a file for what it is not: a page, a table, a picture."""
    ending, written = ending_of(path), tuple(written)
    if ending not in (*written, *PLAIN_ENDINGS):
        raise OptionError(f"what is written is not {ending}: {path}", hint=f"use {', '.join(written)} instead")


SHOWN_RUNS = 4
"""More stored runs than this are counted."""


def add_store_option(parser: argparse._ActionsContainer) -> None:
    where = "the store (default: RANKSCOPE_STORE, else the nearest .rankscope/store.db from here upwards)"
    parser.add_argument("--store", metavar="WHERE", help=where)


def add_store_options(parser: argparse.ArgumentParser, *, default: str) -> None:
    where = f"keep what is found in this store: a file, a folder or postgresql://… (default: {default})"
    parser.add_argument("--store", metavar="WHERE", help=where)
    parser.add_argument("--no-store", action="store_true", help="keep nothing")


def keep_files(
    args: argparse.Namespace, rankings: Rankings, scores: Scores, comparison: Comparison | None = None
) -> int | None:
    """Keep what was evaluated in the store asked for, else in the nearest, if there is one; say so on stderr.

    Return which comparison on these queries it is, where it is one. Where a store that nobody asked for by name fails,
    that is a warning.
    """
    where = args.store or nearest_store()
    if args.no_store or where is None:
        return None
    from rankscope.experiment.fingerprint import data_digests
    from rankscope.experiment.keep import bytes_to_keep
    from rankscope.experiment.keep import keep_files as keep
    from rankscope.io.limits import in_words
    from rankscope.io.memory import free_memory
    from rankscope.measures.parse import parse_measure
    from rankscope.store import open_store
    from rankscope.store.scores import data_of_docs

    try:
        needed, free = bytes_to_keep(rankings.runs.values()), free_memory()
        if needed > free // 2:
            much = (
                f"a store takes whole runs, which takes about {in_words(needed)} of memory; {in_words(free)} are free"
            )
            if args.store is None:
                show(f"not stored: {much}; --store WHERE keeps them all the same", file=sys.stderr)
                return None
            give_warning(much)
        with open_store(where, create=args.store is not None) as store:
            needs = {need for name in scores.measures for need in data_of_docs(parse_measure(name))}
            data = data_digests(**{need: getattr(args, need) for need in needs})
            runs, new, looked = keep(
                store, rankings, scores, comparison=comparison, data=data, with_docs=args.docs is not None
            )
    except RankscopeError as error:
        if args.store is not None:
            raise
        give_warning(f"nothing was kept in the store: {error.message}")
        return None
    kept = [run for run in runs if run.number in new]
    names = ", ".join(f"{run.system} {run.short}" for run in kept) if len(kept) <= SHOWN_RUNS else f"{len(kept)} runs"
    show(f"stored: {names or 'nothing, as the store has these rankings'}", file=sys.stderr)
    return None if looked is None else looked.look or None


def add_gate_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group(GATE)
    worse = "fail where a system is worse than the baseline"
    lower = f"{worse}, or lower by more than the margin with too few queries or judgments"
    group.add_argument("--fail-if-worse", action="store_true", help=lower)
    add_gate_details(group)


def add_gate_details(group: argparse._ActionsContainer) -> None:
    """Add what a gate lets pass."""
    required = "non-inferior: pass only where the whole interval lies above minus the margin"
    group.add_argument("--require", metavar="WORD", help=required)
    inconclusive = "where the result is inconclusive: warn (default: pass, and say so), fail or pass"
    group.add_argument("--on-inconclusive", metavar="WORD", help=inconclusive)
    missing = "the share of queries that a system may leave unanswered (default: 0.1)"
    group.add_argument("--allow-missing", type=float, metavar="SHARE", help=missing)


def names_project(files: Sequence[str]) -> bool:
    """Tell whether what is given stands for a project: nothing, its folder, or its file; else qrels and runs."""
    if len(files) == 1 and not os.path.isdir(files[0]) and ending_of(files[0]) != ".toml":  # noqa: PTH112 (as above)
        raise OptionError(f"only {files[0]} is given", hint="give the qrels and at least one run, or a project")
    return len(files) < 2


def refuse_file_options(args: argparse.Namespace, *names: str) -> None:
    """Refuse options that are about runs in files, where a project is given."""
    scoring = (*POLICY_OPTIONS, "complete", "depth", "judged_only", "min_rel", "profile")
    for name in (*names, *scoring, *READING_OPTIONS):
        if getattr(args, name, None) not in (None, False):
            option = name.replace("_", "-")
            raise OptionError(f"--{option} goes with files; a project says it in its file", hint="change the project")


def gate_policy_from(args: argparse.Namespace, *, always: bool = False) -> GatePolicy | None:
    """Return what the gate lets pass, None where none was asked for."""
    details = {"on_inconclusive": args.on_inconclusive, "allow_missing": args.allow_missing}
    given = {name: value for name, value in details.items() if value is not None}
    if not (args.fail_if_worse or args.require or always):
        if given:
            name = next(iter(given)).replace("_", "-")
            raise OptionError(f"--{name} does nothing without a gate", hint="add --fail-if-worse")
        return None
    from rankscope.comparison.gate import GatePolicy

    return GatePolicy(require=args.require, **given)


def gate_exit_code(gate: GateResult | None, args: argparse.Namespace) -> int:
    """Say on stderr what the gate says, and return the exit code: all is fine where no gate was asked for."""
    if gate is None or not (args.fail_if_worse or args.require):
        return FINE
    for line in gate.lines():
        show(line, file=sys.stderr)
    return gate.exit_code


def write_cases(cases: Iterable[JUnitCase], stream: TextIO, *, command: str) -> None:
    """Write test cases for a build server."""
    from rankscope.report.render.junit import to_junit

    stream.write(to_junit(cases, suite=f"rankscope {command}"))


def write_error_case(error: Exception, output: str | None, *, command: str) -> None:
    """Write a build server's file that says what is wrong: an older one would say passed."""
    from rankscope.report.render.junit import error_case

    with output_to(output) as stream:
        write_cases([error_case(command, str(error), command=command)], stream, command=command)


def whole_number(text: str, *, least: int = 1) -> int:
    number = text.strip()
    if not number.isdecimal() or int(number[:LONGEST_NUMBER]) < least:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from {least} up")
    if len(number) >= LONGEST_NUMBER:
        raise argparse.ArgumentTypeError(f"{shorten(number, limit=40)} is more than there could be of anything")
    return int(number)


def evaluation_options_from(args: argparse.Namespace, *names: str) -> dict[str, Any]:
    """Return how files are read and scores computed, with other options that the command has by these names."""
    return {
        **{name: getattr(args, name) for name in ("profile", *names)},
        "options": read_options_from(args),
        "qrels_options": read_options_from(args, "qrels"),
        **policies_from(args),
    }


def policies_from(args: argparse.Namespace) -> dict[str, Any]:
    given = {name: getattr(args, name) for name in (*POLICY_OPTIONS, "depth", "judged_only", "min_rel")}
    if args.complete:
        if args.missing not in (None, "zero"):
            message = f"--complete and --missing {args.missing} contradict one another"
            raise OptionError(message, hint="give one of them")
        given["missing"] = "zero"
    return {name: value for name, value in given.items() if value is not None}


def read_options_from(args: argparse.Namespace, kind: str = "run") -> ReadOptions:
    """Return how files of a kind, runs or qrels, are to be read."""
    return ReadOptions(
        format=getattr(args, f"{kind}_format"),
        columns=parse_columns(getattr(args, f"{kind}_columns")),
        lenient=args.lenient,
        progress=progress_on(sys.stderr),
    )


def parse_columns(text: str | None) -> dict[str, str] | None:
    """Return {role: column} from query=question_id,score=sim."""
    if text is None:
        return None
    pairs = [part.partition("=") for part in text.split(",")]
    if any(not equals or not role or not column for role, equals, column in pairs):
        raise OptionError(f"columns {text!r} are not ROLE=NAME,...", hint="for example query=question,score=sim")
    return {role.strip(): column.strip() for role, _, column in pairs}


def command_line(args: argparse.Namespace) -> str:
    import shlex

    from rankscope.io.addresses import shown_words

    return shlex.join(["rankscope", *shown_words(args.given)])


def progress_on(stream: TextIO, what: str = "reading") -> Progress | None:
    """Return a function that draws progress, where somebody is watching."""
    if not stream.isatty():
        return None
    started = last = time.monotonic()

    def show(done: int, total: int | None) -> None:
        nonlocal last
        now, is_done = time.monotonic(), total is not None and done >= total
        if now - started < 1 or (now - last < 0.2 and not is_done):
            return
        last = now
        share = f"{done / total:4.0%}" if total else in_words(done)
        stream.write("\r\x1b[K" if is_done else f"\r\x1b[K{what} {share}")
        stream.flush()

    return show


@contextmanager
def output_to(path: str | None) -> Iterator[TextIO]:
    if path in (None, "-"):
        yield sys.stdout
        return
    from pathlib import Path  # it takes longer to load than a small evaluation

    from rankscope.io.write import check_is_here, open_target

    check_is_here(str(path))
    parent = Path(str(path)).parent
    if "\0" in str(path) or not parent.is_dir():
        raise OptionError(f"cannot write {path}: there is no folder {parent}")
    with open_target(str(path)) as raw:
        stream = TextIOWrapper(raw, encoding="utf-8", errors="surrogateescape")
        yield stream
        stream.detach()  # writes what it holds


def one_stdin(paths: Sequence[str]) -> None:
    """Refuse standard input in two places."""
    if list(paths).count("-") > 1:
        raise OptionError("standard input (-) is given twice", hint="read one of the files by its path")


def check_chart(kind: str, source: ChartSource, output: str | None) -> None:
    """Refuse a chart that cannot be drawn or written, before anything is computed for it."""
    from rankscope.report.charts import charts_from
    from rankscope.report.charts.chart import check_picture

    kinds = charts_from(source)
    if kind not in kinds:
        raise OptionError(f"--chart {kind} is not one of {', '.join(kinds)}", hint=did_you_mean(kind, kinds))
    if output in (None, "-"):
        raise OptionError("a chart needs a file to be written to", hint=f"for example -o {kind}.svg, or .png")
    check_picture(str(output))


def save_chart(kind: str, source: ChartSource, output: str, *data: Any, **options: Any) -> None:
    """Draw a kind of chart from its source and write it; the file's extension chooses SVG or PNG."""
    from rankscope.report.charts import CHARTS
    from rankscope.report.charts.chart import write_chart

    write_chart(getattr(CHARTS[kind], f"from_{source}")(*data, **options).render(), output)


def write_report(
    make: Callable[..., Report],
    form: str,
    stream: TextIO,
    *,
    details: bool,
    to_file: bool = False,
    table_width: int | None = None,
) -> Report:
    """Write a report as far as its medium takes it, and return it.

    Text shows no figures, and on a screen leaves out pairs, long tables and how it was computed unless details are
    wanted; its tables fold to a width where one is given. Markdown fits into a comment unless details are wanted.
    """
    from rankscope.report.render import render
    from rankscope.report.render.markdown import COMMENT_LIMIT, to_markdown
    from rankscope.report.render.terminal import print_report

    in_text = form == "text"
    everything = details or to_file
    report = make(with_figures=not in_text, every_pair=everything or not in_text)
    if in_text:
        print_report(report, file=stream, details=everything, table_width=table_width)
    elif form == "markdown":
        stream.write(to_markdown(report, limit=None if details else COMMENT_LIMIT))
    else:
        stream.write(render(report, cast("Form", form)))
    return report


def write_result(args: argparse.Namespace, form: str, result: Any, make: Callable[..., Report]) -> None:
    """Write a result as JSON or as a report; beside a file, say in short what is in it."""
    from rankscope.records import to_json

    with output_to(args.output) as stream:
        if form == "json":
            stream.write(to_json(result, indent=1) + "\n")
            return
        to_file = is_file(args.output)
        report = write_report(make, form, stream, details=args.details, to_file=to_file, table_width=text_width(stream))
        if to_file:
            say_in_short(report, {}, args.output)


def text_width(stream: TextIO) -> int | None:
    """Return how wide tables in plain text may be: what COLUMNS says, else 80; a file has no width."""
    if stream is not sys.stdout:
        return None
    said = os.environ.get("COLUMNS", "")
    return int(said) if said.isdecimal() and 0 < len(said) < LONGEST_NUMBER and int(said) else TABLE_WIDTH
