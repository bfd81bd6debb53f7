"""The report of an evaluation: how good each run is, with intervals, how that is spread, and every query."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from rankscope import light
from rankscope.analysis.bands import BandProfile, scores_in_words
from rankscope.errors import RankscopeError
from rankscope.measures.scores import Scores, show
from rankscope.measures.scores_record import MeanIntervalRecord, scores_record
from rankscope.records import replace, to_json
from rankscope.report.charts import figure
from rankscope.report.charts.sources import RunData
from rankscope.report.diagnosis_section import evaluated_sections
from rankscope.report.document import Block, Bullets, Paragraph, Report, Section, TableBlock
from rankscope.report.evaluation import (
    N_IN_WORDS,
    counts_among,
    footer,
    in_words,
    lines_in_words,
    notes,
    number_cell,
    queries,
    query_table,
)
from rankscope.report.means import interval_notes, mean_of
from rankscope.report.table import Cell, Table
from rankscope.stats.interval import LEVEL, percent

RUN_CHARTS = ("curves", "precision_recall", "positions", "overlap", "relevance_diversity")
"""Charts for which scores are not enough."""


def report_of(
    scores: Scores,
    *,
    command: str = "",
    data: RunData | None = None,
    with_figures: bool = True,
    bands: BandProfile | None = None,
) -> Report:
    """Return the report; charts that need the runs themselves are drawn where these are given."""
    table = in_words(interval_table(scores), scores, bands)
    first: list[Block] = [TableBlock(f"Scores, with {percent(LEVEL)} intervals of the mean", table)]
    if bands is not None:
        first += words_block(scores, bands)
    if len(scores) > 1:
        first.append(Paragraph("Whether one run is better than another: rankscope compare, with the same files."))
    drawn = [figure(kind, "scores", scores) for kind in ("systems", "distribution")] if with_figures else []
    for kind in RUN_CHARTS if with_figures and data is not None else ():
        with suppress(RankscopeError):  # one that does not fit these runs is left out
            drawn.append(figure(kind, "runs", data))
    return Report(
        title=f"{', '.join(scores)} · {queries(scores.qrels.n_queries)}" if len(scores) < 4 else f"{len(scores)} runs",
        first_screen=tuple(first),
        sections=(
            *(() if data is None else evaluated_sections(scores, data)),
            *([Section("Charts", tuple(drawn))] if drawn else []),
            Section("Every query", (TableBlock("Scores of every query", query_table(scores), folded=True),)),
        ),
        footer=tuple(footer(scores, command)),
    )


def words_block(scores: Scores, bands: BandProfile) -> Iterator[Bullets]:
    """Yield how good each run is in the words of the bands, where they have any."""
    if lines := tuple(lines_in_words(scores, bands)):
        yield Bullets(f"In words (bands {bands.name})", lines)


def json_with_intervals(scores: Scores, bands: BandProfile | None) -> str:
    """Return the scores as JSON, with the interval of every mean."""
    record = scores_record(scores) if bands is None else scores_in_words(scores, bands)
    runs = []
    for run, stored in zip(scores.values(), record.runs, strict=True):
        found = {measure: mean_of(run, measure).interval for measure in run.measures}
        intervals = {
            measure: None if ci is None else MeanIntervalRecord(ci.low, ci.high, ci.level, ci.method)
            for measure, ci in found.items()
        }
        runs.append(replace(stored, intervals=intervals))
    return to_json(replace(record, runs=runs), indent=1) + "\n"


def table_with_ends(scores: Scores, table: Table) -> Table:
    """Return a table of means with both ends of their intervals in columns of their own, for programs."""
    header: list[str] = []
    columns: list[list[Cell]] = []
    for i, name in enumerate(table.header):
        header.append(name)
        columns.append([row[i] for row in table.rows])
        if name in scores.measures:
            ends = [mean_of(run, name).ends for run in scores.values()]
            header += [f"{name} low", f"{name} high"]
            columns += [[number_cell(each[side], None) for each in ends] for side in (0, 1)]
    return light.replace(table, header=header, rows=list(zip(*columns, strict=True)))


def interval_table(scores: Scores) -> Table:
    counted, with_n = counts_among(scores), scores.mean().over_fewer_queries
    rows = []
    for name, run in scores.items():
        cells = [Cell(name)]
        for measure in run.measures:
            mean = mean_of(run, measure)
            n = run.aggregate_of(measure).n if measure in with_n else None
            cell, interval = number_cell(mean.value, None, whole=measure in counted, n=n), mean.interval
            ends = "" if interval is None else f" [{show(interval.low)}, {show(interval.high)}]"
            cells.append(Cell(f"{cell.text}{ends}", raw=cell.raw))
        rows.append(cells)
    sums = ("counts are sums",) if counted else ()
    n_words = (N_IN_WORDS,) if with_n else ()
    known = (*notes(scores), *interval_notes(scores), *sums, *n_words)
    return Table(["run", *scores.measures], rows, notes=known)
