"""Tell which run is better, how sure that is, where the difference sits, and what would help to be more sure.

The first run is the baseline; the others are compared with it on the same queries. One measure, the primary one,
decides; the others are exploratory. With --scores the files hold scores that another tool has computed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TextIO

from rankscope.cli import options
from rankscope.cli.exit_codes import code_of_error
from rankscope.cli.style import Later, show
from rankscope.errors import OptionError, RankscopeError
from rankscope.registry import load_object

if TYPE_CHECKING:
    from rankscope.comparison.gate import GateResult
    from rankscope.comparison.records import Comparison, JudgmentFile
    from rankscope.comparison.request import CompareRequest
    from rankscope.data.sources import ReadOptions
    from rankscope.measures.scores import Scores
    from rankscope.report.document import Report

SETTLING_ENDINGS = (".csv", ".jsonl", ".ndjson")
MOST_STANDING = 5
"""Of so many verdicts it is said that they stand without being settled."""
SETTLING_LENGTH = 300
"""So many characters of a doc's text stand in a file of docs to judge."""
FORMATS = ("text", "markdown", "html", "latex", "json", "csv", "junit")

EPILOG = """\
examples:
  rankscope compare qrels.txt bm25.run dense.run
  rankscope compare qrels.txt bm25.run dense.run hybrid.run -m "nDCG@10 RR@10 R@100" -o report.html
  rankscope compare qrels.txt bm25.run dense.run --queries queries.jsonl --by language,difficulty
  rankscope compare qrels.txt *.run --all-pairs --margin 0.02 --format json
  rankscope compare --scores per_query.csv --primary nDCG@10
  rankscope compare qrels.txt bm25.run dense.run --settle judge-these.csv
  rankscope compare qrels.txt bm25.run dense.run --chart differences -o moved.svg

the exit code is 0 whatever the verdict. With --fail-if-worse it is 0 where no run is worse, 1 where one is worse, or
lower by more than the margin with too few queries or judgments, and 2 where something is wrong: ids that match nothing,
other qrels, more than 10% of the queries not answered. --on-inconclusive fail also fails inconclusive results"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", metavar="QRELS BASELINE RUN", nargs="+", help="the judgments, then two or more runs")
    add_option(parser, "measures", "-m", "--measures", action="append", metavar="NAME")
    add_option(parser, "primary", metavar="NAME")
    add_option(parser, "baseline", metavar="NAME")
    add_option(parser, "margin", type=float, metavar="X")
    add_option(parser, "all_pairs", action="store_true")
    add_option(parser, "queries", metavar="FILE")
    add_option(parser, "by", action="append", metavar="NAME,...")
    add_option(parser, "pool", action="store_true")
    add_option(parser, "cluster", metavar="NAME")
    add_option(parser, "weights", metavar="NAME")
    parser.add_argument("--scores", action="store_true", help="the files hold scores per query, not qrels and runs")
    less = "with --scores: measures of which less is better"
    parser.add_argument("--lower-is-better", metavar="NAME,...", default="", help=less)
    add_option(parser, "unjudged", metavar="WORD")
    more = "add these judgments to QRELS"
    parser.add_argument("--more-qrels", action="append", default=[], metavar="FILE", help=more)
    parser.add_argument(
        "--settle", metavar="FILE", help="write the docs whose judgment would settle it: .csv or .jsonl"
    )
    add_option(parser, "correction", metavar="WORD")
    add_option(parser, "also", action="append", metavar="TEST,...")
    add_option(parser, "alpha", type=float, metavar="X")
    add_option(parser, "n_resamples", "--resamples", type=int, metavar="B")
    add_option(parser, "seed", type=int, metavar="N")
    add_option(parser, "order", metavar="WORD")
    options.add_chart_option(parser, "comparison", "write one chart to -o FILE.svg or .png")
    add_option(parser, "anyway", action="store_true")
    options.add_gate_options(parser)
    details = (
        "in text: every pair and query, the method, files and hashes; as latex: a whole document, not one table; as "
        "markdown: also what exceeds a comment"
    )
    parser.add_argument("--details", action="store_true", help=details)
    options.add_profile_option(parser)
    options.add_format_option(parser, *FORMATS, by_extension=options.REPORT_EXTENSIONS)
    options.add_output_option(parser, "write to a file: .html .md .tex .json .csv .xml .txt")
    for name in ("embeddings", "docs", "ontology"):
        add_option(parser, name, metavar="FILE")
    add_option(parser, "unjudged_queries", metavar="WORD")
    options.add_store_options(parser, default="the nearest .rankscope/store.db from here upwards, where there is one")
    options.add_scale_options(parser)
    options.add_evaluation_options(parser)


def add_option(parser: argparse.ArgumentParser, name: str, *flags: str, **how: Any) -> None:
    """Declare an option of the request, which also has its help; what is not given keeps the request's default."""
    flags = flags or (f"--{name.replace('_', '-')}",)
    text = Later(lambda: load_object("rankscope.comparison.request:option_texts")()[name])
    parser.add_argument(*flags, dest=name, default=None, help=text, **how)


def run(args: argparse.Namespace) -> int:
    options.one_stdin(args.files)
    form = options.chosen_format(args)
    if args.chart:
        options.check_chart(args.chart, "comparison", args.output)
    if args.settle and options.ending_of(args.settle) not in SETTLING_ENDINGS:
        raise OptionError(
            f"docs to judge cannot be written as {args.settle!r}", hint=f"use {', '.join(SETTLING_ENDINGS)}"
        )
    policy = options.gate_policy_from(args, always=form == "junit")
    try:
        comparison = comparison_from(args)
    except RankscopeError as error:
        if form == "junit":
            write_error_cases(error, args)
        if policy is not None:
            show(f"gate: error, exit code {code_of_error(error)}", file=sys.stderr)
        raise
    comparison = keep(comparison, args)
    gate = None
    if policy is not None:
        from rankscope.comparison.gate import gate_of

        gate = gate_of(comparison, policy)
    if args.settle:
        write_settling(comparison, args.settle)
    if args.chart:
        options.save_chart(args.chart, "comparison", args.output, comparison)
    else:
        with options.output_to(args.output) as stream:
            report = write(comparison, form, stream, args, gate)
        if options.is_file(args.output):
            say_in_short(comparison, report, args.output)
    return options.gate_exit_code(gate, args)


def keep(comparison: Comparison, args: argparse.Namespace) -> Comparison:
    """Keep what was compared in a store, where there is one; return it with its number among those on these queries."""
    if comparison.rankings is None or options.is_in_parts(args):
        return comparison
    return comparison.with_look(options.keep_files(args, comparison.rankings, comparison.scores, comparison))


def write_error_cases(error: RankscopeError, args: argparse.Namespace) -> None:
    """Write a build server's file in which every comparison that could not be made is an error, not missing."""
    from rankscope.data.loading import name_of
    from rankscope.measures.parse import parse_measures
    from rankscope.measures.scoring import DEFAULT_MEASURES
    from rankscope.report.render.junit import error_case

    names = [name_of(path) for path in (args.files if args.scores else args.files[1:])]
    baseline = args.baseline or next(iter(names), "baseline")
    given = [args.primary] if args.primary else args.measures or list(DEFAULT_MEASURES)
    try:
        measure = parse_measures(given)[0].name
    except RankscopeError:
        measure = str(given[0])
    listed = [
        error_case(f"{name} vs {baseline}", f"Not compared: {error}", measure=measure)
        for name in names
        if name != baseline
    ]
    with options.output_to(args.output) as stream:
        options.write_cases(listed or [error_case("compare", str(error))], stream, command="compare")


def comparison_from(args: argparse.Namespace) -> Comparison:
    from rankscope.comparison.compare import compare_runs, compare_scores_request
    from rankscope.measures.score_files import other_qrels

    if args.scores:
        scores = scores_from_files(args)
        problems = other_qrels(args.files, anyway=bool(args.anyway))
        return compare_scores_request(scores, request_from(args, problems=problems))
    if args.lower_is_better:
        raise OptionError("--lower-is-better goes with --scores", hint="our own measures know their direction")
    if len(args.files) < 3:
        raise OptionError("give the qrels and at least two runs", hint="rankscope compare QRELS BASELINE RUN")
    request = request_from(args, **options.evaluation_options_from(args), **options.scale_options_from(args))
    if not args.more_qrels:
        return compare_runs(args.files[0], args.files[1:], request)
    qrels, files = joined_qrels((args.files[0], *args.more_qrels), options.read_options_from(args, "qrels"))
    return compare_runs(qrels, args.files[1:], request).with_judgments_of(files)


def joined_qrels(
    paths: Sequence[str], reading: ReadOptions
) -> tuple[dict[str, dict[str, float]], tuple[JudgmentFile, ...]]:
    """Return the judgments of several files, and what each adds; a doc judged twice has the later grade."""
    from rankscope.comparison.records import JudgmentFile
    from rankscope.data.loading import load_qrels

    joined: dict[str, dict[str, float]] = {}
    files = []
    for path in paths:
        qrels = load_qrels(path, options=reading)
        n_added = n_changed = 0
        for query, docs in qrels.judged.items():
            known = joined.setdefault(query, {})
            n_added += sum(doc not in known for doc in docs)
            n_changed += sum(known.get(doc, grade) != grade for doc, grade in docs.items())
            known.update(docs)
        files.append(JudgmentFile(path, "" if qrels.origin is None else qrels.origin.sha256, n_added, n_changed))
    return joined, tuple(files)


def request_from(args: argparse.Namespace, **more: Any) -> CompareRequest:
    from rankscope.comparison.request import CompareRequest

    given = {name: getattr(args, name, None) for name in CompareRequest.__struct_fields__}
    return CompareRequest(**{name: value for name, value in {**given, **more}.items() if value is not None})


def scores_from_files(args: argparse.Namespace) -> Scores:
    """Return the scores of other tools, by the measures asked for; -m also names what a table of systems holds."""
    from rankscope.comparison.compare import find_measure
    from rankscope.measures.score_files import read_scores, with_measures

    if args.settle or args.more_qrels:
        raise OptionError("--settle and --more-qrels are about docs, which --scores does not know", hint="give runs")
    wanted = [name for text in args.measures or () for name in text.split()]
    lower = [name for name in args.lower_is_better.split(",") if name]
    scores = read_scores(args.files, measure=args.primary or next(iter(wanted), None), lower_is_better=lower)
    for name in lower:
        find_measure(name, scores)
    options.refuse_run_options(args, "--scores", "embeddings", "docs", "ontology", "unjudged", "unjudged_queries")
    if args.primary and wanted:
        wanted = list(dict.fromkeys([args.primary, *wanted]))
    return with_measures(scores, [find_measure(name, scores) for name in wanted]) if wanted else scores


def write(
    comparison: Comparison, form: str, stream: TextIO, args: argparse.Namespace, gate: GateResult | None
) -> Report | None:
    """Write what was asked for; return the report, where that is one."""
    if form == "json":
        stream.writelines(comparison.json_pieces())
    elif form == "csv":
        from rankscope.report.comparison_json import comparison_table
        from rankscope.report.table import to_csv

        stream.write(to_csv(comparison_table(comparison)))
    elif form == "junit":
        from rankscope.report.render.junit import cases

        if gate is None:
            raise OptionError("test cases need a baseline, but all pairs are compared", hint="leave --all-pairs out")
        options.write_cases(cases(gate), stream, command="compare")
    elif form == "latex" and not args.details:
        from rankscope.report.paper import paper_of_comparison
        from rankscope.report.render.latex_table import latex_paper_table

        stream.write(latex_paper_table(paper_of_comparison(comparison)))
    else:
        from rankscope.report.comparison import report_of

        make = partial(report_of, comparison, command=options.command_line(args))
        to_file = options.is_file(args.output)
        return options.write_report(make, form, stream, details=args.details, to_file=to_file)
    return None


def say_in_short(comparison: Comparison, report: Report | None, output: str) -> None:
    """Say the answer on stderr too, where the report goes to a file."""
    from rankscope.report.comparison import report_of
    from rankscope.report.evaluation import short_table
    from rankscope.report.paper import scores_in_order

    report = report or report_of(comparison, with_figures=False, every_pair=False)
    kept = [comparison.baseline] if comparison.baseline else []
    options.say_in_short(report, {"": short_table(scores_in_order(comparison), keep=kept)}, output)


def write_settling(comparison: Comparison, path: str) -> None:
    """Write the docs to judge, in words where these are known: a table whose column `grade` waits to be filled in."""
    import json

    from rankscope.io.formulas import as_csv, as_text_cell

    rows = settling_rows(comparison)
    with options.output_to(path) as stream:
        if path.endswith((".jsonl", ".ndjson")):
            stream.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        else:
            cells = ([as_text_cell("" if cell is None else str(cell)) for cell in row.values()] for row in rows)
            stream.write(as_csv([rows[0] if rows else ("query", "doc", "grade"), *cells]))
    show(f"{len(rows)} docs to judge are in {path}" if rows else nothing_to_judge(comparison, path), file=sys.stderr)
    cut = [pair for pair in comparison if pair.settle and (pair.n_settle or 0) > len(pair.settle)]
    for pair in cut[:MOST_STANDING]:
        listed, there_are = len(pair.settle or ()), f"{pair.n_settle:,} docs could turn it"
        show(f"  {pair.b} vs {pair.a}: {there_are}, of which the first {listed:,} are listed", file=sys.stderr)
    for words in standing_words(comparison):
        show(f"  {words}", file=sys.stderr)
    texts = comparison.texts
    lacking = [] if texts.queries else ["--queries adds what was asked"]
    lacking += [] if texts.titles or texts.bodies else ["--docs adds titles and texts"]
    if rows and lacking:
        show(f"  {', '.join(lacking)}, to judge by", file=sys.stderr)


def nothing_to_judge(comparison: Comparison, path: str) -> str:
    """Say why no doc is listed: the bounds settle it, or they are not known."""
    if all(pair.bounds is not None for pair in comparison):
        which = "no grades of unjudged docs change who is ahead, or bring a difference across the margin"
        return f"settled by the worst-case bounds: {which}, so {path} lists none"
    why = (
        "unjudged docs are not in doubt here (--unjudged uncertain lists those that matter), or it has no known bounds"
    )
    return f"what unjudged docs could do in the worst case was not worked out: {why}; {path} lists none"


def standing_words(comparison: Comparison) -> Iterator[str]:
    """Say of which verdicts docs are listed though they stand by the tipping point: that is likely, not certain."""
    from rankscope.records import or_nan

    standing = [pair for pair in comparison if pair.settle and pair.unjudged and pair.unjudged.strength == "stands"]
    for pair in standing[:MOST_STANDING]:
        low, high = (round(or_nan(getattr(pair.bounds, end, None)), 3) + 0.0 for end in ("low", "high"))  # no -0.000
        stands = f"{pair.b} vs {pair.a}: the verdict stands by the tipping point, but it is not settled"
        yield f"{stands}: in the worst case the difference is {low:+.3f} to {high:+.3f}"
    if len(standing) > MOST_STANDING:
        yield f"and {len(standing) - MOST_STANDING:,} more verdicts that stand without being settled"


def settling_rows(comparison: Comparison) -> list[dict[str, Any]]:
    """Return each doc to judge once, with the words to judge by: what was asked, its title, and how its text begins."""
    from rankscope.data.texts import beginning, one_line
    from rankscope.printable import printable

    texts, rows = comparison.texts, dict[tuple[str, str], dict[str, Any]]()
    for item in comparison:
        for doc in item.settle or ():
            words = {}
            if texts.queries:
                words["query_text"] = printable(beginning(texts.query(doc.query), SETTLING_LENGTH))
            if texts.titles or texts.bodies:
                title, text = (one_line(known.get(doc.doc, "")) for known in (texts.titles, texts.bodies))
                words["title"], words["text"] = (printable(beginning(one, SETTLING_LENGTH)) for one in (title, text))
            ranks = {"swing": doc.swing, "rank_a": doc.rank_a, "rank_b": doc.rank_b, "a": item.a, "b": item.b}
            row = {"query": doc.query, "doc": doc.doc, **words, "grade": None, **ranks}
            rows.setdefault((doc.query, doc.doc), row)
    return by_query(list(rows.values()))


def by_query(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the docs of a query one after the other, the queries that matter most first.

    The docs that matter most are often those of one system; who judges the first half of these alone would help it.
    """
    most: dict[str, float] = {}
    for row in rows:
        most[row["query"]] = max(most.get(row["query"], 0.0), row["swing"] or 0.0)
    place = {query: i for i, query in enumerate(sorted(most, key=lambda query: -most[query]))}
    return sorted(rows, key=lambda row: place[row["query"]])
