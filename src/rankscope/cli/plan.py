"""Plan a test collection: how many queries a difference takes, or which differences a number of queries can find.

How many queries are needed depends on how unevenly two systems differ from query to query. That spread is taken from
runs of two or more systems that you have (the first is the baseline), from scores that another tool has computed
(--scores), or from --sd. Plan before you look at a difference, with the smallest difference that would matter to you:
a "power" worked out from a difference that was already found says no more than its p-value.
"""

from __future__ import annotations

import argparse
import math
from functools import partial

from rankscope.cli import options
from rankscope.cli.exit_codes import FINE
from rankscope.stats.power import ALPHA, POWER

EPILOG = """\
examples:
  rankscope plan qrels.txt bm25.run dense.run --detect 0.02
  rankscope plan qrels.txt bm25.run dense.run hybrid.run -m "RR@10" --detect 0.05 --systems 10
  rankscope plan qrels.txt bm25.run dense.run --queries 200
  rankscope plan --scores per_query.csv -m nDCG@10 --detect 0.02
  rankscope plan --sd 0.15 --detect 0.02
  rankscope plan --sd 0.15 --queries 54 --format json

half of all pairs of the better TREC systems (ad hoc 5 to 8, web 2010 to 2013) have an --sd above 0.15 for AP, 0.18 for
nDCG@20, 0.27 for P@10 and 0.42 for RR: better take it from runs of your own. Add queries because of a plan, not
because a test was not yet statistically significant."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    files = "the judgments, then two or more runs; not with --sd"
    parser.add_argument("files", metavar="QRELS RUN RUN", nargs="*", help=files)
    parser.add_argument("-m", "--measure", metavar="NAME", help="the measure that is to decide (default: nDCG@10)")
    smallest = "the smallest difference that matters, in points of the measure"
    parser.add_argument("--detect", type=number_below, metavar="X", help=smallest)
    from_two = partial(options.whole_number, least=2)
    queries = "plan with this many queries (default: those of the files)"
    parser.add_argument("--queries", type=from_two, metavar="N", help=queries)
    spread = "the standard deviation of the differences per query, instead of files"
    parser.add_argument("--sd", type=number_below, metavar="X", help=spread)
    shared = "how many systems will be compared, the baseline included; alpha is shared by all comparisons with it"
    how_many = f"{shared} (default: as many as there are runs, or 2)"
    parser.add_argument("--systems", type=from_two, metavar="M", help=how_many)
    share = partial(number_below, end=1, what="a number between 0 and 1")
    alarm = f"chance of a false alarm (default: {ALPHA})"
    parser.add_argument("--alpha", type=share, default=ALPHA, metavar="X", help=alarm)
    find = f"chance to find a difference that is there (default: {POWER})"
    parser.add_argument("--power", type=share, default=POWER, metavar="X", help=find)
    parser.add_argument("--scores", action="store_true", help="the files hold scores per query, not qrels and runs")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed of everything random (default: 0)")
    options.add_format_option(parser, "table", "json")
    options.add_output_option(parser)
    options.add_profile_option(parser)
    options.add_anyway_option(parser)
    options.add_evaluation_options(parser)


def number_below(text: str, end: float = math.inf, what: str = "a number above 0") -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < end:
        raise argparse.ArgumentTypeError(f"{text} is not {what}")
    return value


def run(args: argparse.Namespace) -> int:
    from rankscope.comparison.planning import plan
    from rankscope.records import to_json
    from rankscope.report.plan import plan_lines, plan_table
    from rankscope.report.table import print_table

    form = options.chosen_format(args)
    options.one_stdin(args.files)
    settings = {name: getattr(args, name) for name in ("sd", "detect", "queries", "systems", "alpha", "power", "seed")}
    if args.scores or args.sd is not None:
        options.refuse_run_options(args, "--scores" if args.scores else "--sd", "anyway")
    if args.scores:
        from rankscope.measures.score_files import read_scores

        planned = plan(measure=args.measure, scores=read_scores(args.files, measure=args.measure), **settings)
    else:
        qrels = args.files[0] if args.files else None
        runs = args.files[1:] if len(args.files) > 2 else None
        more = {} if args.sd is not None else options.evaluation_options_from(args, "anyway")
        planned = plan(qrels, runs, args.measure, **settings, **more)
    with options.output_to(args.output) as stream:
        if form == "json":
            stream.write(to_json(planned) + "\n")
        else:
            stream.write("\n".join(plan_lines(planned)) + "\n\n")
            print_table(plan_table(planned), file=stream)
    return FINE
