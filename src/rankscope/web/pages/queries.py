"""The queries: which of them got better or worse from one run to another, and what happened to each."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
from msgspec import Meta

from rankscope._version import __version__
from rankscope.analysis.side_by_side import has_shares
from rankscope.data.texts import beginning, one_line
from rankscope.errors import OptionError
from rankscope.printable import counted
from rankscope.records import Record, or_none
from rankscope.report.changed_queries import what_happened
from rankscope.report.charts import figure_of
from rankscope.report.charts.pairs import DifferencesChart
from rankscope.report.document import Figure, Mark, Paragraph, Report, TableBlock
from rankscope.report.table import Cell, Table
from rankscope.web.library import Library
from rankscope.web.lists import LONGEST_QUERY, names_of, read_rankings
from rankscope.web.query_list import (
    ChosenRuns,
    ListedRun,
    QueryCountsShown,
    QueryListOptions,
    QueryOrder,
    QueryStratum,
    choose_runs,
    order_queries,
    query_texts,
    simple_values,
    strata_of,
)

ON_A_PAGE = 50
LONGEST_VALUE = 40
"""Of an attribute's value, in a list."""
MOST_TAGS = 6
SHOWN_DOCS = 10


class QueriesOptions(QueryListOptions):
    """Which queries are listed, and which part of the list."""

    page: Annotated[int, Meta(ge=1, le=1_000_000)] = 1
    """The part of the list, of 50 queries each."""


class QueryLine(Record):
    """A query with its scores."""

    query: str
    text: str
    """What was asked, cut where it is long; empty where it is not known."""
    attributes: tuple[str, ...]
    score_a: float | None
    """None where it is undefined."""
    score_b: float | None
    difference: float | None
    mark: Mark
    """better, worse or same, whichever way the measure counts; note where there is no difference."""
    bar: float
    """The difference as a share of the largest, from -1 to 1, as it is drawn: to the right is better."""
    what: str
    """What happened, in a few words."""
    failed: bool
    n_unjudged: int


class QueriesPage(Record, kw_only=True):
    """What stands on the page."""

    collections: tuple[str, ...]
    collection: str
    measure: str
    systems: tuple[ListedRun, ...]
    """The newest run of each system, to choose from."""
    earlier: tuple[ListedRun, ...]
    """Other runs to choose from."""
    measures: tuple[str, ...]
    """Measures to choose from."""
    better: Literal["higher", "lower"]
    a: ListedRun | None
    """None where the store has no runs yet."""
    b: ListedRun | None
    """None where there is only one run."""
    names: tuple[str, ...]
    means: tuple[float | None, ...]
    answer: str
    n_queries: int
    """Queries that both runs were asked and that are judged."""
    counts: QueryCountsShown | None
    """Of the queries with the words and strata asked for."""
    strata: tuple[QueryStratum, ...]
    chart: Figure | None
    lines: tuple[QueryLine, ...]
    n_listed: int
    page: int
    n_pages: int


def queries_page(library: Library, asked: QueriesOptions) -> QueriesPage:
    """List the queries of two runs by how their scores differ, with filters, fifty at a time."""
    return library.cached(("queries page", asked), lambda: make_page(library, asked))


def make_page(library: Library, asked: QueriesOptions) -> QueriesPage:
    chosen = choose_runs(library, asked)
    if chosen is None:
        return no_runs()
    order = order_queries(library, chosen, asked)
    n_pages = max(1, -(-len(order.listed) // ON_A_PAGE))
    page = min(asked.page, n_pages)
    names = names_of(chosen.runs)
    both = [chosen.listed(run) for run in chosen.runs]
    return QueriesPage(
        collections=chosen.collections,
        collection=chosen.collection,
        measure=chosen.measure.name,
        systems=chosen.newest,
        earlier=chosen.earlier,
        measures=chosen.measures,
        better="lower" if chosen.sign < 0 else "higher",
        a=both[0],
        b=both[1] if len(both) > 1 else None,
        names=tuple(names),
        means=order.scores.means,
        answer=answer_of(names, order.counts),
        n_queries=len(order.scores.query_ids),
        counts=order.counts,
        strata=strata_shown(library, chosen, order),
        chart=chart_of(library, chosen, order, asked) if len(both) > 1 else None,
        lines=lines_of(library, chosen, order, (page - 1) * ON_A_PAGE),
        n_listed=len(order.listed),
        page=page,
        n_pages=n_pages,
    )


def no_runs() -> QueriesPage:
    return QueriesPage(
        collections=(), collection="", measure="", systems=(), earlier=(), measures=(), better="higher", a=None, b=None,
        names=(), means=(), answer="There are no runs yet.", n_queries=0, counts=None, strata=(), chart=None, lines=(),
        n_listed=0, page=1, n_pages=1,
    )  # fmt: skip


def answer_of(names: list[str], counts: QueryCountsShown) -> str:
    """Say how many queries got better, and how many worse; whether that is more than chance, a comparison says."""
    if not counts.all:
        return "No query fits these filters."
    if len(names) == 1:
        return f"{names[0]} was asked {counted(counts.all, 'query')}; there is no other run to compare it with yet."
    ties = f"{counts.same:,} stayed the same"
    words = f"From {names[0]} to {names[1]}, {counts.better:,} of {counted(counts.all, 'query')} got better"
    words = f"{words}, {counts.worse:,} worse, {ties}."
    undefined = counts.all - counts.better - counts.worse - counts.same
    return f"{words} For {undefined:,} there is no difference, as a score is undefined." if undefined else words


def strata_shown(library: Library, chosen: ChosenRuns, order: QueryOrder) -> tuple[QueryStratum, ...]:
    scores = order.scores
    return library.cached(
        ("strata shown", *chosen.key),
        lambda: strata_of(library, chosen.runs[-1]).of(scores.places, chosen.sign * scores.differences),
        lasting=True,
    )


def chart_of(library: Library, chosen: ChosenRuns, order: QueryOrder, asked: QueriesOptions) -> Figure | None:
    """Return the differences of all queries with the words and strata asked for, drawn once for all parts of a list."""

    def draw() -> Figure | None:
        scores, names = order.scores, names_of(chosen.runs)
        ids = [scores.query_ids[i] for i in order.base.tolist()]
        chart = DifferencesChart(
            ids,
            scores.differences[order.base].tolist(),
            title="Every query, largest gain first",
            measure=chosen.measure.name,
            names=(names[0], names[1]),
            better="lower" if chosen.sign < 0 else "higher",
            prefix="differences",
        )
        try:
            return figure_of(chart)
        except OptionError:  # there is no query, or none with a difference
            return None

    return library.cached(("differences", *chosen.key, asked.words, asked.stratum), draw, lasting=True)


def lines_of(library: Library, chosen: ChosenRuns, order: QueryOrder, start: int) -> tuple[QueryLine, ...]:
    scores, indices = order.scores, order.listed[start : start + ON_A_PAGE].tolist()
    texts = query_texts(library, chosen, scores, indices)
    changed = [scores.query_ids[i] for i in indices if abs(scores.differences[i]) > 0]
    happened = what_became(library, chosen, changed)
    largest = float(np.nanmax(np.abs(scores.differences), initial=0.0)) or 1.0
    lines = []
    for i in indices:
        query = scores.query_ids[i]
        known = texts.get(query)
        values = [or_none(float(each[i])) for each in scores.values]
        difference = or_none(float(scores.differences[i])) if len(values) > 1 else None
        signed = chosen.sign * (difference or 0.0)
        lines.append(
            QueryLine(
                query=query,
                text="" if known is None else beginning(one_line(known.text or ""), LONGEST_QUERY),
                attributes=() if known is None else tags_of(known.attributes),
                score_a=values[0],
                score_b=values[1] if len(values) > 1 else None,
                difference=difference,
                mark="note" if difference is None else "better" if signed > 0 else "worse" if signed < 0 else "same",
                bar=signed / largest,
                what=happened.get(query, ""),
                failed=bool(scores.failed[i]),
                n_unjudged=int(scores.unjudged[i]),
            )
        )
    return tuple(lines)


def tags_of(attributes: dict[str, Any]) -> tuple[str, ...]:
    """Return the values of a query's attributes, as far as there is room; long ones are cut."""
    values = [each for value in attributes.values() for each in simple_values(value)]
    return tuple(
        beginning(one_line(str(value)), LONGEST_VALUE) for value in values[:MOST_TAGS] if value not in ("", None)
    )


def what_became(library: Library, chosen: ChosenRuns, queries: list[str]) -> dict[str, str]:
    """Say what became of the docs of some queries, where docs have a share in the measure."""
    if len(chosen.runs) < 2 or not has_shares(chosen.measure) or not queries:
        return {}
    ranked = read_rankings(library, chosen, names_of(chosen.runs), queries)
    sides = (ranked.sides(0, 1, query, n_shown=SHOWN_DOCS) for query in queries)
    return {each.query: what_happened(each, chosen.sign) for each in sides}


def queries_report(page: QueriesPage) -> Report | None:
    """Return the part of the list that is on screen as a report, from which files are made."""
    if page.a is None:
        return None
    header = ["query", "text", *page.names[:2], *(["difference", "what happened"] if page.b is not None else [])]
    rows = [
        [
            Cell(line.query),
            Cell(line.text),
            score_cell(line.score_a),
            *([score_cell(line.score_b), score_cell(line.difference, sign="+"), Cell(line.what)] if page.b else []),
        ]
        for line in page.lines
    ]
    title = f"Queries of {page.collection}, {page.measure}"
    shown = TableBlock(f"Queries, part {page.page} of {page.n_pages}", Table(header, rows, n_name_columns=2))
    charts = () if page.chart is None else (page.chart,)
    return Report(title, (Paragraph(page.answer), *charts, shown), (), (("rankscope", __version__),))


def score_cell(value: float | None, *, sign: str = "") -> Cell:
    return Cell("-") if value is None else Cell(f"{value:{sign}.4f}", raw=repr(value))
