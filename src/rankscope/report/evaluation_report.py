"""The report of an evaluation: how good each run is, with intervals, how that is spread, and every query."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import suppress

import numpy as np

from rankscope import light
from rankscope.analysis.bands import BandProfile, band_in, scores_in_words
from rankscope.comparison.records import Comparison
from rankscope.errors import RankscopeError
from rankscope.measures.scores import RunScores, Scores, show
from rankscope.measures.scores_record import MeanIntervalRecord, scores_record
from rankscope.printable import counted
from rankscope.records import replace, to_json
from rankscope.report.charts import figure
from rankscope.report.charts.sources import RunData, shown_of
from rankscope.report.comparison import MANY_SCORES, NOT_DISTINGUISHED, best_systems, counts_block, spread_of
from rankscope.report.diagnosis_section import evaluated_sections
from rankscope.report.document import Block, Bullets, Facts, Report, Section, TableBlock
from rankscope.report.evaluation import (
    N_IN_WORDS,
    best_first,
    counts_among,
    footer,
    in_words,
    lines_in_words,
    notes,
    number_cell,
    primary_of,
    queries,
    query_table,
    summary_table,
    whose_words,
)
from rankscope.report.evaluation_answer import answer_of, facts_of, words_against_best
from rankscope.report.means import interval_notes, mean_of
from rankscope.report.table import Cell, Table, transposed
from rankscope.report.words import text_cell
from rankscope.stats.interval import LEVEL, percent

SCORE_CHARTS = ("distribution", "systems")
RUN_CHARTS = ("curves", "precision_recall", "positions", "overlap", "relevance_diversity")
"""Charts for which scores are not enough."""
FIRST_CHARTS = ("curves", "distribution")
"""Those that say most; the others are folded."""
MANY_RUNS = 25
HEAVY_CHARTS = ("systems", "positions", "overlap", "precision_recall")
"""Of more runs than that these say less than the tables do, and make a page heavy."""
FEW_RUNS = 4
"""Up to so many runs, all measures of every query are shown; of more runs the primary measure."""
MANY_MEASURES = 8
"""More measures than this stand below one another, where there are fewer runs."""


def report_of(
    scores: Scores,
    *,
    command: str = "",
    data: RunData | None = None,
    with_figures: bool = True,
    bands: BandProfile | None = None,
    comparison: Comparison | None = None,
    why_not_compared: str = "",
) -> Report:
    """Return the report, with the runs in the order of the scores.

    Charts that need the runs themselves are drawn where these are given. `comparison` holds the verdicts on all pairs
    by the primary measure.
    """
    answer = answer_of(scores, comparison, why_not_compared)
    first: list[Block] = [answer]
    if facts := tuple(facts_of(scores, data, comparison)):
        first.append(Facts("", facts))
    if comparison is not None and len(scores) > 2 and comparison.groups[0].leaderboard:
        first.append(counts_block(comparison, comparison.groups[0]))
    first.append(
        TableBlock(f"Scores, with {percent(LEVEL)} intervals of the mean", table_of(scores, bands, comparison))
    )
    if bands is not None:
        first += words_block(scores, bands)
    measured = f"measured on {queries(scores.qrels.n_queries)}"
    return Report(
        title=f"{next(iter(scores))}, {measured}" if len(scores) == 1 else f"{len(scores)} runs, {measured}",
        first_screen=tuple(first),
        sections=(
            *(() if data is None else evaluated_sections(scores, data)),
            *(chart_sections(scores, data, comparison) if with_figures else ()),
            *detail_sections(scores),
        ),
        footer=tuple(footer(scores, command)),
    )


def chart_sections(scores: Scores, data: RunData | None, comparison: Comparison | None) -> Iterator[Section]:
    left_out = HEAVY_CHARTS if len(scores) > MANY_RUNS else ("systems",) if len(scores) == 1 else ()
    kinds = [kind for kind in SCORE_CHARTS if kind not in left_out]
    drawn = {}
    for kind in kinds:
        with suppress(RankscopeError):  # one that has nothing to draw, as of a run without any score, is left out
            drawn[kind] = figure(kind, "scores", scores, in_given_order=True)
    if "systems" in drawn and comparison is not None:  # shaded by the verdicts that the page shows
        drawn["systems"] = figure("systems", "comparison", comparison)
    intro = ""
    if data is not None:
        run_of = {run.name or "run": run for run in data.runs}
        shown, few = shown_of(list(scores), keep=next(iter(best_first(scores))))
        intro = f"Charts that are drawn from rankings show {few}." if few else ""
        ordered = replace(data, runs=[run_of[name] for name in shown], in_given_order=True)
        for kind in (kind for kind in RUN_CHARTS if kind not in left_out):
            with suppress(RankscopeError):  # one that does not fit these runs is left out
                drawn[kind] = figure(kind, "runs", ordered)
    yield Section("Charts", tuple(drawn.pop(kind) for kind in FIRST_CHARTS if kind in drawn), intro=intro)
    if drawn:
        yield Section("More charts", tuple(drawn.values()), folded=True)


def detail_sections(scores: Scores) -> Iterator[Section]:
    if len(scores) > 1:
        intervals = TableBlock("Means with their intervals", interval_table(scores), folded=True)
        yield Section("Every measure", (intervals,))
    if len(scores) <= FEW_RUNS:
        title, table = "Scores of every query", query_table(scores)
    else:
        title, table = f"{primary_of(scores)} of every query", primary_table(scores)
    if len(scores) == 1:
        table = light.replace(table, rows=worst_first(table, scores))
    yield Section("Every query", (TableBlock(title, table, folded=True),))


def worst_first(table: Table, scores: Scores) -> list[Sequence[Cell]]:
    """Return the rows of every query, the lowest score first, as one looks for what went wrong."""
    primary = primary_of(scores)
    place, sign = table.header.index(primary), -1 if primary in scores.runs[0].lower_is_better else 1
    return sorted(table.rows, key=lambda row: sign * float(row[place].raw or "inf"))


def primary_table(scores: Scores) -> Table:
    """Return a row per query with what every run scores by the primary measure; of very many runs the spread."""
    primary = primary_of(scores)
    found = {name: dict(zip(run.query_ids, run.column(primary).tolist(), strict=True)) for name, run in scores.items()}
    ids = list(dict.fromkeys(query for column in found.values() for query in column))
    columns = {name: [column.get(query, math.nan) for query in ids] for name, column in found.items()}
    notes = ["the scores of every query by all measures: rankscope evaluate --per-query --format csv"]
    if len(columns) * len(ids) > MANY_SCORES:
        best = next(iter(best_first(scores)))
        spread = spread_of([np.array(column) for column in columns.values()])
        notes.insert(0, f"of {len(columns)} runs this is {best}, and how far all of them spread")
        columns = {best: columns[best], **{name: column.tolist() for name, column in spread.items()}}
    asked = {query: [text_cell(scores.texts.get(query, ""))] if scores.texts else [] for query in ids}
    rows = [
        [Cell(query), *asked[query], *(number_cell(score, None) for score in values)]
        for query, values in zip(ids, zip(*columns.values(), strict=True), strict=True)
    ]
    names = ["query", *(["text"] if scores.texts else [])]
    return Table([*names, *columns], rows, n_name_columns=len(names), notes=notes)


def table_of(scores: Scores, bands: BandProfile | None, comparison: Comparison | None) -> Table:
    """Return the table to read first: of one run a row per measure, of several a row per run."""
    if len(scores) == 1:
        return measures_table(scores, bands)
    table, primary = in_words(summary_table(scores), scores, bands), primary_of(scores)
    place = table.header.index(primary)
    header = [table.header[0], primary, f"{percent(LEVEL)} interval"]
    rows = [[row[0], row[place], interval_cell(run, primary)] for row, run in zip(table.rows, scores.runs, strict=True)]
    keep, notes = [primary], [*table.notes]
    if comparison is not None:
        against = words_against_best(comparison)
        header.append("verdict vs best")
        keep.append("verdict vs best")
        for row, name in zip(rows, scores, strict=True):
            row.append(Cell(against[name]))
        family = f"all {counted(n_pairs, 'pair')} are one family" if (n_pairs := sum(1 for _ in comparison)) > 1 else ""
        said = "as rankscope compare --all-pairs gives them on the same files"
        notes.insert(0, f"verdict vs best: by {primary}, {said}{f'; {family}' if family else ''}")
        best = best_systems(comparison, comparison.groups[0])
        for row, name in zip(rows, scores, strict=True):
            row[1] = light.replace(row[1], best=name in best)
        if best:
            notes.insert(1, f"{NOT_DISTINGUISHED}, by {primary}; by other measures the best value")
    others = [i for i in range(1, len(table.header)) if i != place]
    header += [table.header[i] for i in others]
    for row, known in zip(rows, table.rows, strict=True):
        row += [known[i] for i in others]
    found = light.replace(table, header=header, rows=rows, notes=notes, keep=keep)
    if len(scores.measures) > MANY_MEASURES and len(scores) < len(scores.measures):
        return transposed(found, corner="measure")
    return found


def interval_cell(run: RunScores, measure: str) -> Cell:
    ci = mean_of(run, measure).interval
    return Cell("-" if ci is None else f"{show(ci.low)} to {show(ci.high)}")


def measures_table(scores: Scores, bands: BandProfile | None) -> Table:
    """Return the mean of every measure of the only run, each in a row of its own."""
    (run,) = scores.values()
    whole = counts_among(scores)
    rows = []
    for measure in run.measures:
        mean = run.aggregate_of(measure)
        cells = [Cell(measure), number_cell(mean.value, None, whole=measure in whole), interval_cell(run, measure)]
        band = None if bands is None else band_in(run, measure, bands)
        rows.append([*cells, Cell(str(mean.n)), *([] if bands is None else [Cell("" if band is None else str(band))])])
    header = ["measure", "score", f"{percent(LEVEL)} interval", "queries"]
    known = [*notes(scores), *interval_notes(scores)]
    if bands is not None:
        header.append("in words")
        known.append(whose_words(bands))
    if whole:
        known.append("counts are sums")
    return Table(header, rows, notes=known, keep=("score",))


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
