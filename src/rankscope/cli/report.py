"""Make a report, or a chart, from scores that were saved before: the JSON of evaluate, or another tool's files.

Several systems are compared with the first of them; one alone is described. A system that is in several files, as of
two weeks, is named apart by their names, and followed over them. With --chart trend the files are taken as points in
time, in the order given, with a line for each system.

With --site a folder is made of the store instead: the pages of `rankscope serve` as files, which need no server.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

from rankscope.cli.exit_codes import FINE
from rankscope.cli.options import (
    REPORT_EXTENSIONS,
    add_bands_option,
    add_chart_option,
    add_store_option,
    check_chart,
    command_line,
    output_to,
    progress_on,
    save_chart,
    with_table_endings,
)
from rankscope.errors import InputError, OptionError
from rankscope.printable import counted

if TYPE_CHECKING:
    from rankscope.report.document import Section
    from rankscope.report.render import Form

SITE_QUERIES = 500
FORMATS = ("html", "markdown", "latex", "text")

EPILOG = """\
examples:
  rankscope evaluate qrels.txt bm25.run dense.run -o scores.json
  rankscope report scores.json -o report.html
  rankscope report week1.json week2.json week3.json --chart trend --system bm25 -m nDCG@10 -o trend.svg
  rankscope report --site public/          the pages of the store of this project, as files"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    files = with_table_endings("score files: {files}, or trec_eval -q")
    parser.add_argument("files", metavar="SCORES", nargs="*", help=files)
    output = "the report: .html .md .tex .txt; a chart: .svg .png"
    parser.add_argument("-o", "--output", metavar="FILE", help=output)
    decisive = "the measure that decides, or is drawn (default: the first; of a profile's own measures nDCG@10)"
    parser.add_argument("-m", "--measure", metavar="NAME", help=decisive)
    parser.add_argument("--baseline", metavar="NAME", help="the system to compare with (default: the first)")
    margin = "the smallest difference that matters (default: 0.01 for measures between 0 and 1, none for others)"
    parser.add_argument("--margin", type=float, metavar="X", help=margin)
    parser.add_argument("--seed", type=int, metavar="N", help="seed of everything random (default: 0)")
    add_bands_option(parser, "say in words how good each system is")
    add_chart_option(parser, "score_files", "draw one chart instead")
    parser.add_argument("--system", metavar="NAME", help="for trend: the only system to follow (default: all)")
    parser.add_argument("--target", type=float, metavar="X", help="for trend: a line to stay above")
    group = parser.add_argument_group("site")
    group.add_argument("--site", metavar="FOLDER", help="write the pages of the store to a new folder instead")
    add_store_option(group)
    queries = f"pages of single queries, those that differ most first (default: {SITE_QUERIES})"
    group.add_argument("--site-queries", type=int, metavar="N", help=queries)


def run(args: argparse.Namespace) -> int:
    chart_only, report_only = ("system", "target"), ("baseline", "margin", "seed")
    if args.site is not None:
        refuse(args, ("output", "measure", "chart", "bands", *chart_only, *report_only), "does not go with --site")
        return make_site(args)
    refuse(args, ("store", "site_queries"), "goes with --site")
    if not args.files:
        raise OptionError("there are no score files", hint="name files of `rankscope evaluate -o`, or --site FOLDER")
    if args.output is None:
        raise OptionError("-o FILE is missing", hint="it says where the report goes: .html .md .tex .txt")
    if args.chart:
        check_chart(args.chart, "score_files", args.output)
        refuse(args, (*report_only, "bands"), "is for reports, and changes nothing in a chart")
        if args.target is not None and not math.isfinite(args.target):
            raise OptionError(
                f"--target {args.target:g}: no line can be drawn there", hint="give a number, such as 0.5"
            )
        chosen = {"measure": args.measure, "system": args.system, "target": args.target}
        save_chart(args.chart, "score_files", args.output, args.files, **chosen)
        return FINE
    refuse(args, chart_only, "goes with --chart trend")
    from rankscope.comparison.compare import compare_scores
    from rankscope.comparison.known_measures import with_directions
    from rankscope.measures.score_files import other_qrels, read_scores
    from rankscope.records import replace
    from rankscope.report import comparison, evaluation_report
    from rankscope.report.evaluation import load_bands
    from rankscope.report.render import render

    form = REPORT_EXTENSIONS.get(Path(args.output).suffix.lower())
    if form not in FORMATS:
        raise OptionError(f"a report cannot be written as {args.output!r}", hint="use .html, .md, .tex or .txt")
    scores, command = with_directions(read_scores(args.files, measure=args.measure)), command_line(args)
    if len(scores) == 1:
        refuse(args, report_only, f"is for several systems; here is only {next(iter(scores))}")
        report = evaluation_report.report_of(scores, command=command)
    else:
        how = {"baseline": args.baseline, "primary": args.measure, "margin": args.margin, "seed": args.seed or 0}
        compared = compare_scores(scores, problems=other_qrels(args.files, anyway=True), **how)
        report = comparison.report_of(compared, command=command)
    if len(args.files) > 1:
        report = replace(report, sections=(*over_time_sections(args, with_figure=form == "html"), *report.sections))
    if args.bands is not None:
        words = evaluation_report.words_block(scores, load_bands(args.bands))
        report = replace(report, first_screen=(*report.first_screen, *words))
    text = render(report, cast("Form", form))
    with output_to(args.output) as stream:
        stream.write(text)
    return FINE


def make_site(args: argparse.Namespace) -> int:
    """Write the pages of a store to a folder, and say what is in it."""
    if args.files:
        raise OptionError("score files do not go with --site", hint="a site is made of the store")
    if args.site_queries is not None and args.site_queries < 0:
        raise OptionError(f"--site-queries is {args.site_queries}, but it must be from 0 up")
    from rankscope.web.serving import open_library, written_site

    library = open_library(None, args.store)
    limit = SITE_QUERIES if args.site_queries is None else args.site_queries
    with library.store:
        made = written_site(library, Path(args.site), n_queries=limit, progress=progress_on(sys.stderr, "pages"))
    print(f"{counted(made.n_pages, 'page')}, {made.n_bytes / 1e6:.1f} MB; begin with {made.folder}/index.html")
    for path, n in made.left_out:
        more = "; --site-queries writes more" if path == "/query" else ""
        print(f"left out: {n:,} more of {path}{more}", file=sys.stderr)
    return FINE


def over_time_sections(args: argparse.Namespace, *, with_figure: bool) -> Iterator[Section]:
    """Yield how systems that are in several of the files did over them; nothing where there is none."""
    from rankscope.report.charts import figure
    from rankscope.report.document import Block, Paragraph, Section, TableBlock
    from rankscope.report.over_time import over_time_table, scores_over_time

    try:
        found = scores_over_time(args.files, measure=args.measure, alone=False)
    except InputError:  # no system is in two files: they are one system each
        return
    words = Paragraph("In the order given, each file a point in time; --chart trend draws this as a chart of its own.")
    blocks: list[Block] = [words, TableBlock(f"{found.measure} over time", over_time_table(found))]
    blocks += [figure("trend", "over_time", found)] if with_figure else []
    yield Section("Over time", tuple(blocks))


def refuse(args: argparse.Namespace, names: Sequence[str], why: str) -> None:
    """Refuse options that would do nothing here."""
    for name in names:
        if getattr(args, name) is not None:
            raise OptionError(f"--{name.replace('_', '-')} {why}", hint="leave it out")
