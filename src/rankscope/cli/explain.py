"""Show how one score comes about: every rank, its doc, its grade and what it adds, to be checked by hand."""

from __future__ import annotations

import argparse

from rankscope.analysis.explain import explain
from rankscope.cli import options
from rankscope.cli.exit_codes import FINE
from rankscope.records import to_json
from rankscope.report.explanation import print_explanation

EPILOG = """\
examples:
  rankscope explain qrels.txt bm25.run --query 42 -m nDCG@10
  rankscope explain qrels.txt bm25.run --query 42 -m AP --all
  rankscope explain qrels.txt bm25.run --query 42 --queries queries.jsonl --docs corpus.jsonl
  rankscope explain qrels.txt bm25.run --query 42 -m "ERR@20" --format json"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("qrels", metavar="QRELS", help="the judgments")
    parser.add_argument("run", metavar="RUN", help="the run")
    parser.add_argument("--query", required=True, metavar="ID", help="the query whose score is to be explained")
    parser.add_argument("-m", "--measure", default="nDCG@10", metavar="NAME", help="the measure (default: nDCG@10)")
    options.add_profile_option(parser)
    parser.add_argument("--all", action="store_true", help="show every rank, also those that add nothing")
    options.add_format_option(parser, "table", "json", by_extension=options.TEXT_OR_JSON)
    options.add_output_option(parser, "write to a file: .json .txt")
    parser.add_argument("--queries", metavar="FILE", help="texts of the queries: what was asked is shown")
    titles = "titles and texts of the docs, shown beside their ids; for measures by topic, source, date …: their fields"
    parser.add_argument("--docs", metavar="FILE", help=titles)
    for name in ("embeddings", "ontology"):
        what = name.removesuffix("s")
        parser.add_argument(f"--{name}", metavar="FILE", help=f"for measures by {what}: as for rankscope evaluate")
    options.add_evaluation_options(parser)


def run(args: argparse.Namespace) -> int:
    options.one_stdin([args.qrels, args.run])
    form = options.chosen_format(args)
    how = options.evaluation_options_from(args, "embeddings", "docs", "ontology", "queries")
    explanation = explain(args.qrels, args.run, args.query, args.measure, **how)
    with options.output_to(args.output) as stream:
        if form == "json":
            stream.write(to_json(explanation, indent=1) + "\n")
        else:
            print_explanation(explanation, every_rank=args.all, file=stream)
    return FINE
