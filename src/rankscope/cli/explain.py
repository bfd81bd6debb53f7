"""Show how one score comes about: every rank, its doc, its grade and what it adds, to be checked by hand."""

from __future__ import annotations

import argparse
from typing import TextIO

from rankscope.analysis.explain import Explanation, explain
from rankscope.cli.options import (
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
from rankscope.report.explanation import conclusion, heading, ideal_table, ranking_table
from rankscope.report.table import print_table

FORMATS = ("table", "json")

EPILOG = """\
examples:
  rankscope explain qrels.txt bm25.run --query 42 -m nDCG@10
  rankscope explain qrels.txt bm25.run --query 42 -m AP --all
  rankscope explain qrels.txt bm25.run --query 42 -m "ERR@20" --format json"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("qrels", metavar="QRELS", help="the judgments")
    parser.add_argument("run", metavar="RUN", help="the run")
    parser.add_argument("--query", required=True, metavar="ID", help="the query whose score is to be explained")
    parser.add_argument("-m", "--measure", default="nDCG@10", metavar="NAME", help="the measure (default: nDCG@10)")
    add_profile_option(parser)
    parser.add_argument("--all", action="store_true", help="show every rank, also those that add nothing")
    add_format_option(parser, FORMATS, note="default: table, or JSON to a file")
    parser.add_argument("-o", "--output", metavar="FILE", help="write to a file instead of stdout")
    parser.add_argument("--embeddings", metavar="FILE", help="for measures by embedding: as for rankscope evaluate")
    parser.add_argument(
        "--docs", metavar="FILE", help="for measures by topic, source, date …: as for rankscope evaluate"
    )
    parser.add_argument("--ontology", metavar="FILE", help="for measures by ontology: as for rankscope evaluate")
    add_policy_options(parser)
    add_file_options(parser)


def run(args: argparse.Namespace) -> int:
    """Explain and print."""
    one_stdin([args.qrels, args.run])
    form = chosen_format(args.format or ("json" if args.output not in (None, "-") else None), FORMATS)
    explanation = explain(
        args.qrels,
        args.run,
        args.query,
        args.measure,
        profile=args.profile,
        options=read_options_from(args),
        qrels_options=read_options_from(args, "qrels"),
        embeddings=args.embeddings,
        docs=args.docs,
        ontology=args.ontology,
        **policies_from(args),
    )
    with output_to(args.output) as stream:
        if form == "json":
            stream.write(to_json(explanation, indent=1) + "\n")
        else:
            print_explanation(explanation, every_rank=args.all, file=stream)
    return 0


def print_explanation(explanation: Explanation, *, every_rank: bool = False, file: TextIO | None = None) -> None:
    """Draw the ranking, the ideal beside it, and the conclusion."""
    print(f"{heading(explanation)}\n", file=file)
    if explanation.steps:
        print_table(ranking_table(explanation, every_rank=every_rank), file=file)
        print(file=file)
    if explanation.ideal:
        print("the ideal ranking, from all judged docs\n", file=file)
        print_table(ideal_table(explanation), file=file)
        print(file=file)
    for line in conclusion(explanation):
        print(line, file=file)
