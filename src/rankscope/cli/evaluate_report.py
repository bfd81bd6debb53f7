"""The HTML report and the charts of an evaluation; loaded when one is asked for."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from typing import Any

from rankscope.cli.chart_files import save_chart
from rankscope.cli.compare import command_line
from rankscope.data.loading import load_qrels, load_runs
from rankscope.data.qrels import Qrels
from rankscope.data.queries import load_queries
from rankscope.data.run import Run
from rankscope.evaluation import evaluate
from rankscope.report.charts import Chart
from rankscope.report.evaluation_report import drawable, report_of
from rankscope.report.render import render
from rankscope.report.run_figures import run_figures

IN_REPORT = ("curves", "precision_recall", "positions", "overlap", "relevance_diversity")


def write_chart(args: argparse.Namespace, options: dict[str, Any]) -> None:
    """Write the chart that was asked for."""
    qrels, runs, options = loaded(args, options)
    save_chart(drawn_from(qrels, runs, args, options), args.chart, args.output)


def html_report(args: argparse.Namespace, options: dict[str, Any]) -> str:
    """Return the report as HTML, with the charts that can be drawn from these runs."""
    qrels, runs, options = loaded(args, options)
    scores = evaluate(qrels, runs, args.measures or None, **options)
    charts = drawable(drawn_from(qrels, runs, args, options), IN_REPORT)
    return render(report_of(scores, command=command_line(args), charts=charts), "html")


def loaded(args: argparse.Namespace, options: Mapping[str, Any]) -> tuple[Qrels, list[Run], dict[str, Any]]:
    """Read the files once, however many charts are drawn from them."""
    duplicates = options.get("duplicates", "error")
    qrels = load_qrels(args.qrels, duplicates=duplicates, options=options["qrels_options"])
    queries = None if args.queries is None else load_queries(args.queries)
    return qrels, load_runs(args.runs, options=options["options"]), {**options, "queries": queries}


def drawn_from(
    qrels: Qrels, runs: list[Run], args: argparse.Namespace, options: dict[str, Any]
) -> Mapping[str, Callable[[], Chart]]:
    """Return what draws each kind of chart."""
    return run_figures(qrels, runs, args.measures or None, **options)
