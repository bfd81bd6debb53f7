"""The report of an evaluation: how good each run is, with intervals, how that is spread, and every query."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping

from rankscope._version import __version__
from rankscope.core.scores import RunScores, Scores, show
from rankscope.errors import RankscopeError
from rankscope.report.charts import Chart
from rankscope.report.document import Block, Figure, Paragraph, Report, Section, TableBlock
from rankscope.report.evaluation import counts_among, notes, number_cell, query_table
from rankscope.report.figures import distribution, ends, systems
from rankscope.report.table import Cell, Table


def report_of(scores: Scores, *, command: str = "", charts: Mapping[str, Chart] | None = None) -> Report:
    """Return the report; `charts` are drawn from the runs themselves, where these are at hand."""
    primary = scores.measures[0]
    first: list[Block] = [TableBlock("Scores, with 95% intervals of the mean", interval_table(scores))]
    if len(scores) > 1:
        first.append(Paragraph("Whether one run is better than another: rankscope compare, with the same files."))
    drawn = {"systems": systems(scores), "distribution": distribution(scores, primary), **(charts or {})}
    figures = tuple(Figure(chart.title, chart.html, chart.alt) for chart in drawn.values())
    return Report(
        title=f"{', '.join(scores)} · {scores.qrels.n_queries} queries" if len(scores) < 4 else f"{len(scores)} runs",  # noqa: PLR2004
        first_screen=tuple(first),
        sections=(
            Section("Charts", figures),
            Section("Every query", (TableBlock("Scores of every query", query_table(scores), folded=True),)),
        ),
        footer=tuple(footer(scores, command)),
    )


def interval_table(scores: Scores) -> Table:
    """Return every run's mean of every measure with its interval."""
    summary, counted = scores.mean(), counts_among(scores)
    rows = [
        [
            Cell(name),
            *(
                mean_cell(run, measure, summary[name][measure].value, whole=measure in counted)
                for measure in run.measures
            ),
        ]
        for name, run in scores.items()
    ]
    told = tuple(notes(scores)) if scores.policies else (f"{scores.qrels.n_queries} queries; scores as given",)
    how = "mean over queries, Student's t interval; counts are sums"
    return Table(["run", *scores.measures], rows, notes=(*told, how))


def mean_cell(run: RunScores, measure: str, value: float, *, whole: bool) -> Cell:
    """Return a mean with its interval; a sum as it is."""
    cell = number_cell(value, None, whole=whole)
    low, high = ends(run.column(measure))
    if whole or math.isnan(low):
        return cell
    return Cell(f"{cell.text} [{show(low)}, {show(high)}]", raw=cell.raw)


def footer(scores: Scores, command: str) -> Iterator[tuple[str, str]]:
    """Yield what is needed to obtain the report again."""
    origins = [("qrels", scores.qrels.origin), *((run.name, run.origin) for run in scores.values())]
    for name, origin in origins:
        if origin is not None:
            yield name, f"{origin.path} sha256:{origin.sha256}"
    if scores.policies:
        yield "policies", ", ".join(f"{name}={value}" for name, value in scores.policies.items() if value is not None)
    yield "rankscope", __version__
    if command:
        yield "command", command


def drawable(draw: Mapping[str, Callable[[], Chart]], kinds: tuple[str, ...]) -> dict[str, Chart]:
    """Return the charts that can be drawn from these runs; one that does not fit them is left out."""
    charts: dict[str, Chart] = {}
    for kind in kinds:
        try:
            charts[kind] = draw[kind]()
        except RankscopeError:
            continue
    return charts
