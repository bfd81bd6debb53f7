"""Show what two runs answer to a query, side by side: docs in words, grades, what each adds, what moved.

Without --query, --loss or --gain, the queries that changed most are listed; their numbers can then be given.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from rankscope.cli import options
from rankscope.cli.exit_codes import FINE
from rankscope.cli.style import show
from rankscope.errors import InputError, OptionError, did_you_mean

if TYPE_CHECKING:
    from rankscope.analysis.side_by_side import ScoreChanges, SideBySide

EPILOG = """\
examples:
  rankscope show qrels.txt bm25.run dense.run --queries queries.jsonl
  rankscope show qrels.txt bm25.run dense.run --loss 1 --queries queries.jsonl --docs corpus.jsonl
  rankscope show qrels.txt bm25.run dense.run --query 42 -m AP
  rankscope show qrels.txt bm25.run dense.run --query 42 --docs corpus.jsonl -o query42.html"""

SHOWN_DOCS = 10
SHOWN_LANGUAGES = 8


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("qrels", metavar="QRELS", help="the judgments")
    parser.add_argument("run_a", metavar="BASELINE", help="the run that is there")
    parser.add_argument("run_b", metavar="RUN", help="the run to look at")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--query", metavar="ID", help="the query to show")
    which.add_argument("--loss", type=options.whole_number, metavar="N", help="the query with the N-th largest loss")
    which.add_argument("--gain", type=options.whole_number, metavar="N", help="the query with the N-th largest gain")
    parser.add_argument("-m", "--measure", default="nDCG@10", metavar="NAME", help="the measure (default: nDCG@10)")
    parser.add_argument("--queries", metavar="FILE", help="texts of the queries, shown instead of their ids")
    language = "with --loss, --gain or the list: the queries in this language only, as reports number them"
    parser.add_argument("--language", metavar="NAME", help=language)
    parser.add_argument("--docs", metavar="FILE", help="titles and texts of the docs, shown instead of their ids")
    shown = f"how many docs of each list are shown (default: {SHOWN_DOCS})"
    parser.add_argument("-n", "--shown", type=options.whole_number, default=SHOWN_DOCS, metavar="N", help=shown)
    options.add_profile_option(parser)
    options.add_format_option(parser, "text", "json", "html", "markdown", by_extension=options.REPORT_EXTENSIONS)
    options.add_output_option(parser, "write to a file: .html .md .json .txt")
    options.add_anyway_option(parser)
    options.add_evaluation_options(parser)


def run(args: argparse.Namespace) -> int:
    from rankscope.records import StoredRecord, to_json
    from rankscope.report.side_by_side import changes_report, side_by_side_report

    options.one_stdin([args.qrels, args.run_a, args.run_b])
    form = options.chosen_format(args)
    query, chosen = args.query, queries_in_language(args)
    if chosen is not None and query is not None and query not in chosen:
        raise InputError(f"query {query!r} is not in the language {args.language!r}", hint="leave out --language")
    found: StoredRecord
    if query is None:
        changes = changes_from(args, chosen)
        if args.loss or args.gain:
            query = numbered_query(changes, args)
        else:
            found, report = changes, changes_report(changes)
    if query is not None:
        found = sides = sides_from(args, query)
        report = side_by_side_report(sides)
    with options.output_to(args.output) as stream:
        if form == "json":
            stream.write(to_json(found, indent=1) + "\n")
        else:
            options.write_report(lambda **_: report, form, stream, details=True)
    options.say_where(args.output)
    return FINE


def changes_from(args: argparse.Namespace, chosen: frozenset[str] | None) -> ScoreChanges:
    """Return how every query changed, or every chosen one, by scores of both runs."""
    from rankscope.analysis.side_by_side import changes_between
    from rankscope.data.texts import Texts
    from rankscope.evaluation import evaluate

    how = {"missing": "zero", **options.evaluation_options_from(args, "anyway", "queries")}  # as `compare` has it
    scores = evaluate(args.qrels, [args.run_a, args.run_b], args.measure, **how)
    return changes_between(scores, Texts(scores.texts), chosen)


def queries_in_language(args: argparse.Namespace) -> frozenset[str] | None:
    """Return the queries in the language that is asked for; None for all, with a note where there are several."""
    from rankscope.data.queries import load_queries

    if args.queries is None:
        if args.language is not None:
            raise OptionError("--language needs the queries", hint="say where their languages are: --queries FILE")
        return None
    table = load_queries(args.queries)
    values = {} if table.language is None else table.attributes[table.language]
    languages = sorted({str(value) for value in values.values()})
    if args.language is None:
        if len(languages) > 1 and args.query is None:
            names = ", ".join(languages[:SHOWN_LANGUAGES]) + ", …" * (len(languages) > SHOWN_LANGUAGES)
            note = "reports number the queries of each language on their own: --language NAME does so here"
            show(f"note: the queries are in {len(languages)} languages ({names}); {note}", file=sys.stderr)
        return None
    if args.language not in languages:
        some = ", ".join(languages[:SHOWN_LANGUAGES]) or "none that is named"
        raise InputError(
            f"no query is in the language {args.language!r}",
            hint=did_you_mean(args.language, languages) or f"{args.queries} has {some}",
        )
    return frozenset(query for query, value in values.items() if str(value) == args.language)


def sides_from(args: argparse.Namespace, query: str) -> SideBySide:
    from rankscope.analysis.side_by_side import side_by_side

    how = options.evaluation_options_from(args, "queries", "docs")
    return side_by_side(args.qrels, args.run_a, args.run_b, query, args.measure, n_shown=args.shown, **how)


def numbered_query(changes: ScoreChanges, args: argparse.Namespace) -> str:
    """Return the query with the N-th largest loss or gain."""
    name, listed = ("loss", changes.losses) if args.loss else ("gain", changes.gains)
    number: int = args.loss or args.gain
    if number > len(listed):
        some = f"there are {len(listed)}" if len(listed) > 1 else "there is one" if listed else "there is none"
        raise InputError(
            f"there is no {name} number {number}: {some}",
            hint="without --loss, --gain or --query, the queries that changed most are listed",
        )
    return listed[number - 1].query
