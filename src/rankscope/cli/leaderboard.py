"""Rank systems over many collections, by the newest stored run of each, under the judgments of today.

Means of different collections are never averaged, as an nDCG of one corpus is not that of another. What is averaged are
ranks, and scores that are standardised query by query against stored runs.
"""

from __future__ import annotations

import argparse

from rankscope.cli import options
from rankscope.cli.exit_codes import FINE

FORMATS = ("text", "markdown", "html", "latex", "json")
EPILOG = """\
examples:
  rankscope leaderboard
  rankscope leaderboard -m AP --collection scifact --collection nfcorpus
  rankscope leaderboard --tag release -o leaderboard.html"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-m", "--measure", metavar="NAME", help="the measure (default: the one that decided last)")
    which = "only this collection; may be repeated"
    parser.add_argument("--collection", action="append", default=[], metavar="NAME", help=which)
    only = "only this system; may be repeated"
    parser.add_argument("--system", action="append", default=[], metavar="NAME", help=only)
    parser.add_argument("--tag", metavar="NAME", help="only runs that have, or had, this tag")
    options.add_store_option(parser)
    parser.add_argument("--details", action="store_true", help="in text: every mean with its interval, too")
    options.add_format_option(parser, *FORMATS, by_extension=options.REPORT_EXTENSIONS)
    options.add_output_option(parser, "write to a file: .html .md .tex .json .txt")


def run(args: argparse.Namespace) -> int:
    from rankscope.experiment.leaderboard import leaderboard_of
    from rankscope.report.leaderboard import report_of
    from rankscope.store import open_to_look

    form = options.chosen_format(args)
    with open_to_look(args.store) as store:
        board = leaderboard_of(
            store, measure=args.measure, collections=args.collection, systems=args.system, tag=args.tag
        )
    command = options.command_line(args)
    options.write_result(args, form, board, lambda **_: report_of(board, command=command))
    return FINE
