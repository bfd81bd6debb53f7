"""Report what is odd about qrels and runs, without scoring: duplicates, ties, ids that do not match, and more.

QRELS and RUN are files in TREC, BEIR, JSON, JSONL, CSV, TSV, Parquet or Arrow format, plain or compressed
(.gz .bz2 .xz .zst); - is standard input. Malformed lines are findings too: the rest of the file is looked at,
unless --strict is given. A file of test cases, given by itself, is checked against its schema.
"""

from __future__ import annotations

import argparse
import sys

from rankscope.analysis.validate import validate
from rankscope.cli.options import (
    add_file_options,
    add_format_option,
    chosen_format,
    one_stdin,
    read_options_from,
)
from rankscope.cli.test_cases import check_test_cases
from rankscope.data.loading import ReadOptions
from rankscope.light import replace
from rankscope.records import to_json
from rankscope.report.findings import LEVELS_IN_WORDS, print_findings

FORMATS = ("table", "json")
FOUND_SOMETHING = 1
STRICTNESS = {
    "--strict": "stop where a line is malformed, instead of reporting it as a finding",
    "--lenient": "leave malformed lines out and report them as a finding (the default)",
}
"""What these options do here: elsewhere a malformed line stops the command by default."""

EPILOG = f"""\
examples:
  rankscope validate qrels.txt bm25.run dense.run.gz
  rankscope validate qrels.txt bm25.run --format json
  rankscope validate test_cases.json

{LEVELS_IN_WORDS}
exit codes: 0 nothing odd or remarks only, 1 an error or a warning was found, 2 could not run"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("qrels", metavar="QRELS", help="the judgments, or by itself a file of test cases")
    parser.add_argument("runs", metavar="RUN", nargs="*", help="one or more runs")
    add_format_option(parser, FORMATS)
    add_file_options(parser)
    for option, what in STRICTNESS.items():
        parser._option_string_actions[option].help = what  # noqa: SLF001 (argparse has no other way to find an option)


def run(args: argparse.Namespace) -> int:
    """Look at the files and print what was found."""
    one_stdin([args.qrels, *args.runs])
    form = chosen_format(args.format, FORMATS)
    if not args.runs:
        return check_test_cases(args.qrels, as_json=form == "json")
    report = validate(args.qrels, args.runs, options=options_for(args, "run"), qrels_options=options_for(args, "qrels"))
    if form == "json":
        sys.stdout.write(to_json(report, indent=1, ascii_only=True) + "\n")
    else:
        print_findings(report)
    return 0 if report.is_fine else FOUND_SOMETHING


def options_for(args: argparse.Namespace, kind: str) -> ReadOptions:
    """Return how files of a kind are read: malformed lines are left out, to be reported, unless they shall stop."""
    return replace(read_options_from(args, kind), lenient=not args.strict)
