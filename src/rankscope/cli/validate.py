"""Report what is odd about qrels and runs, without scoring: duplicates, ties, ids that do not match, and more.

QRELS and RUN are files in TREC, BEIR, JSON, JSONL, CSV, TSV, Parquet or Arrow format, plain or compressed
(.gz .bz2 .xz .zst); - is standard input. Malformed lines are findings too: the rest of the file is looked at,
unless --strict is given. A file of test cases, given by itself, is checked against its schema, and the folder of a
collection is looked at as a whole: docs, queries, judgments, dates, and queries that repeat a doc.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from rankscope.analysis.validate import validate
from rankscope.cli.exit_codes import FINDING, FINE
from rankscope.cli.options import add_file_options, add_format_option, chosen_format, one_stdin, read_options_from
from rankscope.cli.style import show
from rankscope.errors import FormatError, OptionError
from rankscope.light import replace
from rankscope.printable import counted
from rankscope.records import to_builtins, to_json
from rankscope.report.findings import LEVELS_IN_WORDS, print_findings

EPILOG = f"""\
examples:
  rankscope validate qrels.txt bm25.run dense.run.gz
  rankscope validate qrels.txt bm25.run --format json
  rankscope validate test_cases.json
  rankscope validate my-collection

{LEVELS_IN_WORDS}
exit codes: 0 nothing odd or remarks only, 1 an error or a warning was found, 2 wrong use or input"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    alone = "the judgments, or by itself a file of test cases or the folder of a collection"
    parser.add_argument("qrels", metavar="QRELS", help=alone)
    parser.add_argument("runs", metavar="RUN", nargs="*", help="one or more runs; none with a file of test cases")
    add_format_option(parser, "table", "json")
    strict = "stop where a line is malformed, instead of reporting it as a finding"
    lenient = "leave malformed lines out and report them as a finding (the default)"
    add_file_options(parser, strict=strict, lenient=lenient)


def run(args: argparse.Namespace) -> int:
    one_stdin([args.qrels, *args.runs])
    form = chosen_format(args)
    if not args.runs and Path(args.qrels).is_dir():
        return check_collection(args.qrels, as_json=form == "json")
    if not args.runs:
        return check_test_cases(args.qrels, as_json=form == "json")
    # malformed lines are left out, to be reported, unless they shall stop
    options, qrels_options = (
        replace(read_options_from(args, kind), lenient=not args.strict) for kind in ("run", "qrels")
    )
    report = validate(args.qrels, args.runs, options=options, qrels_options=qrels_options)
    if form == "json":
        sys.stdout.write(to_json(report, indent=1, ascii_only=True) + "\n")
    else:
        print_findings(report)
    return FINE if report.is_fine else FINDING


def check_collection(path: str, *, as_json: bool) -> int:
    """Look at the collection in a folder, print every problem, and return the exit code."""
    from rankscope.experiment.collection import load_collection, spec_of

    collection = load_collection(spec_of(path))
    problems, dates = collection.problems(), collection.docs.scan.dates
    if as_json:
        print(json.dumps({"problems": problems, "dates": to_builtins(dates)}, indent=1, ensure_ascii=False))
        return FINDING if problems else FINE
    for problem in problems:
        show(f"{path}: {problem}")
    for name, found in dates.items():
        show(f"{path}: dates from {found.first} to {found.last} ({name} of {counted(found.n, 'doc')})")
    sizes = f"{counted(collection.parts['docs'].n, 'doc')}, {counted(len(collection.queries), 'query')}"
    show(f"{path}: {counted(len(problems), 'problem') if problems else 'nothing odd'} ({sizes})")
    return FINDING if problems else FINE


def check_test_cases(path: str, *, as_json: bool) -> int:
    """Check a file of test cases against its schema, print every problem, and return the exit code."""
    from rankscope.io.files import read_json, read_text
    from rankscope.predecessors.importers import case_problems

    try:
        cases = read_json(path)
    except FormatError as error:
        if read_text(path).lstrip()[:1] in ("{", "["):
            raise
        raise OptionError(
            f"{path} alone cannot be validated: it is no JSON file of test cases",
            hint="qrels are looked at together with runs: rankscope validate QRELS RUN...",
        ) from error
    problems = case_problems(cases, path)
    if as_json:
        print(json.dumps([to_builtins(problem) for problem in problems], indent=1, ensure_ascii=False))
    else:
        for problem in problems:
            show(f"{path}: {problem}")
        found = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
        show(f"{path}: {found}" if problems else f"{path}: a valid test-case file")
    return FINDING if problems else FINE
