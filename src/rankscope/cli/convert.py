"""Turn a run or qrels into another format, exactly: what is read back is what was written.

The format of IN is detected from its content, that of OUT follows from its name: .json .jsonl .csv .tsv .parquet
.arrow, anything else is TREC text; .gz .bz2 .xz .zst compress. - is standard input or output.
"""

from __future__ import annotations

import argparse
import sys
import warnings

from rankscope.cli.exit_codes import FINE
from rankscope.cli.options import add_strictness, parse_columns, with_formats
from rankscope.cli.style import show
from rankscope.errors import RankscopeWarning
from rankscope.io.conversion import convert
from rankscope.io.formats import format_to_write
from rankscope.printable import counted

EPILOG = """\
examples:
  rankscope convert bm25.run bm25.parquet
  rankscope convert qrels.csv qrels.txt --columns query=question,doc=article,grade=stars
  rankscope convert run.json - | head"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", metavar="IN", help="the file to read")
    parser.add_argument("target", metavar="OUT", help="the file to write")
    parser.add_argument("--kind", metavar="KIND", help="what IN holds, if its content is ambiguous: run or qrels")
    for side in ("from", "to"):
        what = with_formats(f"the format of {'IN' if side == 'from' else 'OUT'}")
        parser.add_argument(f"--{side}", dest=f"{side}_format", metavar="FORMAT", help=what)
    columns = "which column of a table holds what, e.g. grade=stars"
    parser.add_argument("--columns", metavar="ROLE=NAME,...", help=columns)
    add_strictness(parser)


def run(args: argparse.Namespace) -> int:
    format_to_write(args.target, args.to_format)  # a name that cannot be written is refused before anything is read
    done = convert(
        args.source,
        args.target,
        kind=args.kind,
        source_format=args.from_format,
        target_format=args.to_format,
        columns=parse_columns(args.columns),
        lenient=args.lenient,
    )
    if done.bad_lines:
        were = "was" if len(done.bad_lines) == 1 else "were"
        skipped = f"{counted(len(done.bad_lines), 'bad line')} {were} skipped; the first is {done.bad_lines[0]}"
        warnings.warn(skipped, RankscopeWarning, stacklevel=1)
    formats = f"{done.source_format} -> {done.target_format}"
    show(f"{done.kind}: {counted(done.n_rows, 'row')}, {counted(done.n_queries, 'query')}, {formats}", file=sys.stderr)
    return FINE
