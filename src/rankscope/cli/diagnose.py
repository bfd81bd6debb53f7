"""Explain a run in plain words: what it does badly, for which queries, and what usually helps.

The answer comes first: what is lost most, and what usually helps. Then the findings with their evidence: how many
queries each concerns, and three of them; what a perfect re-ranker of the first docs could reach; and the worst queries
with their docs. --details adds in which ranks the relevant docs are, what stands at each rank, and positions.
"""

from __future__ import annotations

import argparse

from rankscope.analysis.diagnose import POOL_CUTS, SEEN_DOCS, diagnose
from rankscope.cli import options
from rankscope.cli.exit_codes import FINDING, FINE
from rankscope.records import to_json
from rankscope.report.diagnosis import SEVERITIES_IN_WORDS, report_of
from rankscope.report.evaluation import load_bands

FORMATS = ("text", "markdown", "html", "latex", "json")

EPILOG = f"""\
examples:
  rankscope diagnose qrels.txt bm25.run
  rankscope diagnose qrels.txt bm25.run --k 5 --pool-cuts 5,20,100
  rankscope diagnose qrels.txt bm25.run --bands doctor-search
  rankscope diagnose qrels.txt bm25.run --queries queries.jsonl --docs corpus.jsonl -o diagnosis.html
  rankscope diagnose qrels.txt bm25.run --queries queries.jsonl --by difficulty
  rankscope diagnose qrels.txt bm25.run --format json

{SEVERITIES_IN_WORDS}
exit codes: 0 no serious or moderate finding, 1 at least one, 2 wrong use or input"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("qrels", metavar="QRELS", help="the judgments")
    parser.add_argument("run", metavar="RUN", help="the run")
    seen = f"how many docs a reader sees (default: {SEEN_DOCS})"
    parser.add_argument("--k", type=options.whole_number, metavar="N", default=SEEN_DOCS, help=seen)
    cuts = f"depths of the candidate pool to look at (default: {','.join(map(str, POOL_CUTS))})"
    parser.add_argument("--pool-cuts", type=whole_numbers, metavar="N,...", default=POOL_CUTS, help=cuts)
    vectors = options.with_embedding_files("vectors of docs, to see which results repeat one another")
    parser.add_argument("--embeddings", metavar="FILE", help=vectors)
    options.add_bands_option(parser, "say in words how good precision, recall, reciprocal rank and nDCG are")
    attributes = "texts of the queries, shown with their ids; they are divided by their intent and clarity, or by --by"
    parser.add_argument("--queries", metavar="FILE", help=attributes)
    parser.add_argument("--docs", metavar="FILE", help="titles or texts of the docs, shown with their ids")
    parser.add_argument("--by", metavar="NAME,...", default="", help="attributes of queries to divide them by")
    options.add_profile_option(parser)
    parser.add_argument("-q", "--per-query", action="store_true", help="show the positions of every query")
    parser.add_argument("--details", action="store_true", help="in text: print all tables")
    options.add_format_option(parser, *FORMATS, by_extension=options.REPORT_EXTENSIONS)
    options.add_output_option(parser, "write to a file: .html .md .tex .json .txt")
    options.add_anyway_option(parser)
    options.add_evaluation_options(parser)


def whole_numbers(text: str) -> tuple[int, ...]:
    return tuple(map(options.whole_number, text.split(",")))


def run(args: argparse.Namespace) -> int:
    options.one_stdin([args.qrels, args.run])
    form = options.chosen_format(args)
    how = options.evaluation_options_from(args, "k", "pool_cuts", "embeddings", "queries", "docs", "by", "anyway")
    bands = None if args.bands is None else load_bands(args.bands)
    diagnosis = diagnose(args.qrels, args.run, bands=bands, **how)
    report = report_of(diagnosis, command=options.command_line(args), per_query=args.per_query)
    with options.output_to(args.output) as stream:
        if form == "json":
            stream.write(to_json(diagnosis, indent=1, ascii_only=True) + "\n")
        else:
            options.write_report(lambda **_: report, form, stream, details=args.details or args.output is not None)
    if options.is_file(args.output):
        options.say_in_short(report, {}, args.output)
    return FINE if diagnosis.is_fine else FINDING
