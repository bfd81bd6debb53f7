"""The HTML report and the charts of an evaluation; loaded when one is asked for."""

from __future__ import annotations

import argparse
from typing import Any

from rankscope.cli.chart_files import save_chart
from rankscope.cli.compare import command_line
from rankscope.report.charts.sources import RunData
from rankscope.report.evaluation_report import report_of
from rankscope.report.render import render


def write_chart(args: argparse.Namespace, options: dict[str, Any]) -> None:
    """Write the chart that was asked for."""
    data = RunData.load(args.qrels, args.runs, args.measures, options)
    save_chart(args.chart, "runs", args.output, data)


def html_report(args: argparse.Namespace, options: dict[str, Any]) -> str:
    """Return the report as HTML, with the charts that can be drawn from these runs."""
    data = RunData.load(args.qrels, args.runs, args.measures, options)
    scores = data.evaluate(data.measures)
    return render(report_of(scores, command=command_line(args), data=data), "html")
