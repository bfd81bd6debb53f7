"""Make a report, or a chart, from scores that were saved before: the JSON of evaluate, or another tool's files.

Several systems are compared with the first of them; one alone is described. With --chart trend the files are taken as
points in time, in the order given.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, cast

from rankscope.cli.chart_files import save_chart
from rankscope.cli.compare import BY_EXTENSION, command_line
from rankscope.cli.options import output_to
from rankscope.cli.style import Later
from rankscope.errors import OptionError

if TYPE_CHECKING:
    from rankscope.measures.scores import Scores
    from rankscope.report.document import Report
    from rankscope.report.render import Form

FORMATS = ("html", "markdown", "latex", "text")

EPILOG = """\
examples:
  rankscope evaluate qrels.txt bm25.run dense.run -o scores.json
  rankscope report scores.json -o report.html
  rankscope report week1.json week2.json week3.json --chart trend --system bm25 -m nDCG@10 -o trend.svg"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "files", metavar="SCORES", nargs="+", help="score files: .json .csv .tsv .parquet, or trec_eval -q"
    )
    parser.add_argument(
        "-o", "--output", required=True, metavar="FILE", help="the report: .html .md .tex .txt; a chart: .svg .png"
    )
    parser.add_argument(
        "-m", "--measure", metavar="NAME", help="the measure that decides, or is drawn (default: the first)"
    )
    parser.add_argument("--baseline", metavar="NAME", help="the system to compare with (default: the first)")
    parser.add_argument(
        "--margin",
        type=float,
        metavar="X",
        help="the smallest difference that matters (default: 0.01 for measures between 0 and 1, none for others)",
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed of everything random (default: 0)")
    parser.add_argument("--chart", metavar="KIND", help=Later(chart_help))
    parser.add_argument("--system", metavar="NAME", help="for trend: the system to follow (default: the first)")
    parser.add_argument("--target", type=float, metavar="X", help="for trend: a line to stay above")


def chart_help() -> str:
    """Return which charts there are."""
    from rankscope.report.charts import charts_from

    return f"draw one chart instead: {', '.join(charts_from('score_files'))}"


def run(args: argparse.Namespace) -> int:
    """Write the report or the chart."""
    if args.chart:
        chosen = {"measure": args.measure, "system": args.system, "target": args.target}
        save_chart(args.chart, "score_files", args.output, args.files, **chosen)
        return 0
    from rankscope.comparison.known_measures import with_directions
    from rankscope.measures.score_files import read_scores
    from rankscope.report.render import render

    form = BY_EXTENSION.get(Path(args.output).suffix.lower())
    if form not in FORMATS:
        raise OptionError(f"a report cannot be written as {args.output!r}", hint="use .html, .md, .tex or .txt")
    scores = with_directions(read_scores(args.files, measure=args.measure))
    text = render(report_from(scores, args), cast("Form", form))
    with output_to(args.output) as stream:
        stream.write(text)
    return 0


def report_from(scores: Scores, args: argparse.Namespace) -> Report:
    """Return a comparison's report where there are several systems, else an evaluation's."""
    if len(scores) == 1:
        from rankscope.report.evaluation_report import report_of

        return report_of(scores, command=command_line(args))
    from rankscope.comparison.compare import compare_scores
    from rankscope.report.comparison import report_of as comparison_report

    comparison = compare_scores(
        scores, baseline=args.baseline, primary=args.measure, margin=args.margin, seed=args.seed
    )
    return comparison_report(comparison, command=command_line(args))
