"""The report of an evaluation: how good each run is, with intervals, how that is spread, and every query."""

from __future__ import annotations

from collections.abc import Iterator

from rankscope._version import __version__
from rankscope.errors import RankscopeError
from rankscope.measures.scores import Scores, show
from rankscope.report.charts.sources import RunData
from rankscope.report.document import Block, Figure, Paragraph, Report, Section, TableBlock
from rankscope.report.evaluation import counts_among, notes, number_cell, query_table
from rankscope.report.figures import figure
from rankscope.report.means import Mean, interval_notes, mean_of
from rankscope.report.table import Cell, Table
from rankscope.stats.interval import LEVEL, percent

RUN_CHARTS = ("curves", "precision_recall", "positions", "overlap", "relevance_diversity")
"""Charts for which scores are not enough."""


def report_of(scores: Scores, *, command: str = "", data: RunData | None = None, with_figures: bool = True) -> Report:
    """Return the report; charts that need the runs themselves are drawn where these are given."""
    first: list[Block] = [TableBlock(f"Scores, with {percent(LEVEL)} intervals of the mean", interval_table(scores))]
    if len(scores) > 1:
        first.append(Paragraph("Whether one run is better than another: rankscope compare, with the same files."))
    drawn = [figure("systems", "scores", scores), figure("distribution", "scores", scores)] if with_figures else []
    if with_figures and data is not None:
        drawn += run_figures(data)
    return Report(
        title=f"{', '.join(scores)} · {scores.qrels.n_queries} queries" if len(scores) < 4 else f"{len(scores)} runs",
        first_screen=tuple(first),
        sections=(
            *([Section("Charts", tuple(drawn))] if drawn else []),
            Section("Every query", (TableBlock("Scores of every query", query_table(scores), folded=True),)),
        ),
        footer=tuple(footer(scores, command)),
    )


def interval_table(scores: Scores) -> Table:
    """Return every run's mean of every measure with its interval."""
    counted = counts_among(scores)
    rows = [
        [Cell(name), *(mean_cell(mean_of(run, measure), whole=measure in counted) for measure in run.measures)]
        for name, run in scores.items()
    ]
    known = tuple(notes(scores)) if scores.policies else (f"{scores.qrels.n_queries} queries; scores as given",)
    sums = ("counts are sums",) if counted else ()
    return Table(["run", *scores.measures], rows, notes=(*known, *interval_notes(scores), *sums))


def mean_cell(mean: Mean, *, whole: bool) -> Cell:
    """Return a mean with its interval, both ends with as many decimals; a sum as it is."""
    cell = number_cell(mean.value, None, whole=whole)
    if mean.interval is None:
        return cell
    return Cell(f"{cell.text} [{show(mean.interval.low)}, {show(mean.interval.high)}]", raw=cell.raw)


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


def run_figures(data: RunData) -> Iterator[Figure]:
    """Yield the charts that can be drawn from these runs; one that does not fit them is left out."""
    for kind in RUN_CHARTS:
        try:
            yield figure(kind, "runs", data)
        except RankscopeError:
            continue
