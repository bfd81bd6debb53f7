"""Explain a run in plain words: what it does badly, for which queries, and what usually helps.

Each finding has its evidence: how many queries it concerns, and three of them with their numbers. Tables follow: where
nDCG is lost, what a perfect re-ranker of the first docs could reach, in which ranks the relevant docs are, what stands
at each rank, positions, and the worst queries with their docs.
"""

from __future__ import annotations

import argparse

from rankscope.analysis.diagnose import POOL_CUTS, SEEN_DOCS, diagnose
from rankscope.cli.options import (
    add_anyway_option,
    add_file_options,
    add_format_option,
    add_policy_options,
    add_profile_option,
    chosen_format,
    one_stdin,
    output_to,
    policies_from,
    read_options_from,
)
from rankscope.records import to_json
from rankscope.report.diagnosis import SEVERITIES_IN_WORDS, print_diagnosis

FORMATS = ("table", "json")
FOUND_SOMETHING = 1

EPILOG = f"""\
examples:
  rankscope diagnose qrels.txt bm25.run
  rankscope diagnose qrels.txt bm25.run --k 5 --pool-cuts 5,20,100
  rankscope diagnose qrels.txt bm25.run --format json

{SEVERITIES_IN_WORDS}
exit codes: 0 nothing to complain about, 1 a serious or moderate finding, 2 could not run"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("qrels", metavar="QRELS", help="the judgments")
    parser.add_argument("run", metavar="RUN", help="the run")
    parser.add_argument(
        "--k",
        type=rank,
        metavar="N",
        default=SEEN_DOCS,
        help=f"how many docs a reader sees (default: {SEEN_DOCS})",
    )
    usual = ",".join(map(str, POOL_CUTS))
    parser.add_argument(
        "--pool-cuts",
        type=ranks,
        metavar="N,...",
        default=POOL_CUTS,
        help=f"depths of the candidate pool to look at (default: {usual})",
    )
    parser.add_argument(
        "--embeddings",
        metavar="FILE",
        help="vectors of docs, to see which results repeat one another: .npy with ids beside it, .npz or .parquet",
    )
    add_profile_option(parser)
    parser.add_argument("-q", "--per-query", action="store_true", help="show the positions of every query")
    add_format_option(parser, FORMATS, note="default: table, or JSON to a file")
    parser.add_argument("-o", "--output", metavar="FILE", help="write to a file instead of stdout")
    add_anyway_option(parser)
    add_policy_options(parser)
    add_file_options(parser)


def rank(text: str) -> int:
    """Accept a whole number from 1 up."""
    if not text.strip().isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 up")
    return int(text)


def ranks(text: str) -> tuple[int, ...]:
    """Accept several whole numbers from 1 up, separated by commas."""
    return tuple(map(rank, text.split(",")))


def run(args: argparse.Namespace) -> int:
    """Diagnose and print."""
    one_stdin([args.qrels, args.run])
    form = chosen_format(args.format or ("json" if args.output not in (None, "-") else None), FORMATS)
    diagnosis = diagnose(
        args.qrels,
        args.run,
        k=args.k,
        pool_cuts=args.pool_cuts,
        profile=args.profile,
        options=read_options_from(args),
        qrels_options=read_options_from(args, "qrels"),
        embeddings=args.embeddings,
        anyway=args.anyway,
        **policies_from(args),
    )
    with output_to(args.output) as stream:
        if form == "json":
            stream.write(to_json(diagnosis, indent=1, ascii_only=True) + "\n")
        else:
            print_diagnosis(diagnosis, per_query=args.per_query, file=stream)
    return 0 if diagnosis.is_fine else FOUND_SOMETHING
