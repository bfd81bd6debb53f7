"""Fuse runs into one: reciprocal ranks, weighted or normalised scores, votes.

RUN is a file in TREC, JSON, JSONL, CSV, TSV, Parquet or Arrow format, plain or compressed (.gz .bz2 .xz .zst);
- is standard input. A query that a run does not answer is fused from the others.
"""

from __future__ import annotations

import argparse
import sys

from rankscope.cli.exit_codes import FINE
from rankscope.cli.options import add_strictness, one_stdin, read_options_from, with_formats
from rankscope.cli.style import Later, show, words
from rankscope.data.loading import load_runs, name_of
from rankscope.errors import OptionError
from rankscope.io.formats import format_to_write
from rankscope.io.write import write_run
from rankscope.printable import counted
from rankscope.systems.fusion import METHODS, NORMS, RRF_K, fuse

EPILOG = """\
examples:
  rankscope fuse bm25.run dense.run -o hybrid.run
  rankscope fuse bm25.run dense.run --weights 1,2 -o hybrid.run
  rankscope fuse bm25.run dense.run --method combmnz --norm zscore --depth 100 -o hybrid.run.gz
  rankscope fuse bm25.run dense.run | rankscope evaluate qrels.txt -"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("runs", metavar="RUN", nargs="+", help="two or more runs")
    file = "the file to write; its format follows from its name, as in convert (default: standard output)"
    parser.add_argument("-o", "--output", default="-", metavar="FILE", help=file)
    methods = Later(lambda: words({name: METHODS.summary(name) for name in METHODS}, default="rrf"))
    parser.add_argument("--method", default="rrf", metavar="WORD", help=methods)
    parser.add_argument("--k", type=float, metavar="K", help=f"the constant of rrf (default: {RRF_K})")
    parser.add_argument("--weights", metavar="W,W,...", help="how much each run counts, e.g. 1,2 (default: all equal)")
    norms = f"how scores are made comparable\n{words(NORMS, default='minmax')}"
    parser.add_argument("--norm", metavar="WORD", help=norms)
    parser.add_argument("--depth", type=int, metavar="N", help="look at the first N docs of each run, and keep N")
    parser.add_argument("--name", metavar="NAME", help="the name of the fused run (default: that of its file)")
    group = parser.add_argument_group("reading files")
    group.add_argument("--run-format", metavar="FORMAT", help=with_formats("read the runs as this"))
    group.add_argument("--run-columns", metavar="ROLE=NAME,...", help="which column of a table holds what")
    add_strictness(group)


def run(args: argparse.Namespace) -> int:
    one_stdin(args.runs)
    format_to_write(args.output)  # a name that cannot be written is refused before anything is read
    try:
        weights = None if args.weights is None else tuple(float(part) for part in args.weights.split(","))
    except ValueError as error:
        raise OptionError(f"weights {args.weights!r} are not numbers", hint="for example 1,2") from error
    runs = load_runs(args.runs, options=read_options_from(args))
    name = args.name or ("fused" if args.output == "-" else name_of(args.output))
    fused = fuse(runs, args.method, k=args.k, weights=weights, norm=args.norm, depth=args.depth, name=name)
    rows = fused.rows
    write_run(rows, args.output)
    n_queries = len(set(rows.query)) + len(rows.empty_queries)
    show(
        f"{name}: {counted(len(rows), 'row')}, {counted(n_queries, 'query')}, {args.method} of {len(runs)} runs",
        file=sys.stderr,
    )
    return FINE
