"""All systems: means with intervals, latency and cost, on one collection or over several."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

import numpy as np

from rankscope.arrays import Bools, Floats
from rankscope.comparison.known_measures import range_of
from rankscope.data.queries import QueryTable
from rankscope.errors import OptionError
from rankscope.experiment.leaderboard import Leaderboard, leaderboard_of
from rankscope.experiment.stored_comparison import queries_in, query_table_of, strata_in
from rankscope.experiment.stored_scoring import measure_with_margin, policies_of
from rankscope.measures.scores import summarise
from rankscope.measures.spec import Measure
from rankscope.printable import counted, listed
from rankscope.records import Options, Record, replace
from rankscope.report import document as doc
from rankscope.report.benchmark import amount_cell
from rankscope.report.leaderboard import report_of as leaderboard_report
from rankscope.report.table import Cell, Table
from rankscope.stats.interval import mean_interval
from rankscope.store import StoredRun
from rankscope.web.charts import MappedSystem, quality_latency_figure
from rankscope.web.choices import known_measures
from rankscope.web.chosen import CollectionRuns, collection_runs, ensure_scores, latency_of_run
from rankscope.web.library import Library
from rankscope.web.pages.compare import MOST_VALUES, StratumChoice

SortedSystems = Literal["mean", "system", "p50", "p95", "throughput", "index", "newest"]
DESCENDING = ("throughput", "newest")
"""Sorted by these, the largest comes first; by means, the best."""


class SystemsOptions(Options):
    """Which systems are listed, by what, and in which order."""

    collection: str = ""
    """The collection; by default the one with the newest run."""
    over: Literal["one", "all"] = "one"
    """One collection, or all of them together."""
    measure: str = ""
    """The measure; by default the one that decided last."""
    stratum: tuple[str, ...] = ()
    """Only queries with these attributes, each as `name=value`; of two values of a name, either."""
    by: str = ""
    """An attribute of queries: the means of each of its values; by default the language."""
    sort: SortedSystems = "mean"
    """By the mean, the name, median or 95% latency, queries per second, size of the index, or when it ran."""
    reverse: bool = False
    """The other way round."""


class SystemLine(Record, kw_only=True):
    """The newest run of a system."""

    system: str
    type: str
    run: int
    n_runs: int
    """All that the store has of it on this collection."""
    started: str
    tags: tuple[str, ...] = ()
    mean: float | None
    """None where it is undefined."""
    low: float | None = None
    high: float | None = None
    n_queries: int
    n_unanswered: int
    p50_ms: float | None = None
    p95_ms: float | None = None
    queries_per_second: float | None = None
    index_bytes: float | None = None
    by_value: tuple[float | None, ...] = ()
    """The means of the queries of each value, in the order of the page's `values`."""


class SystemsPage(Record, kw_only=True):
    """What stands on the page."""

    collections: tuple[str, ...]
    collection: str
    measure: str = ""
    measures: tuple[str, ...] = ()
    """To choose from."""
    better: Literal["higher", "lower"] = "higher"
    strata: tuple[StratumChoice, ...] = ()
    """To choose from."""
    attributes: tuple[str, ...] = ()
    """By which queries can be divided."""
    by: str = ""
    values: tuple[StratumChoice, ...] = ()
    """The values of the attribute, in the order of the columns."""
    n_queries: int = 0
    """Queries that count, in the stratum that was chosen."""
    systems: tuple[SystemLine, ...] = ()
    asked_others: tuple[str, ...] = ()
    """Systems whose newest run was asked other queries, so that their means cannot be compared with these."""
    leaderboard: Leaderboard | None = None
    """Over all collections, where that was asked for."""

    @property
    def leader(self) -> SystemLine | None:
        """The system with the best mean."""
        known = [line for line in self.systems if line.mean is not None]
        sign = 1 if self.better == "higher" else -1
        return max(known, key=lambda line: sign * (line.mean or 0.0), default=None)


class SystemsView(Record, eq=False):
    """What is drawn of systems."""

    answer: tuple[doc.Block, ...]
    figures: tuple[doc.Block, ...]
    axis: tuple[float, float]
    """The ends of the line on which intervals are drawn."""


def systems_page(library: Library, asked: SystemsOptions) -> SystemsPage:
    """List systems by quality, latency and cost."""
    page = library.cached(("systems", replace(asked, sort="mean", reverse=False)), lambda: build_page(library, asked))
    return replace(page, systems=tuple(ordered(page, asked)))


def build_page(library: Library, asked: SystemsOptions) -> SystemsPage:
    of = collection_runs(library, asked.collection)
    if not of.runs:
        return SystemsPage(collections=(), collection="")
    measure = measure_with_margin(library.store, of.runs, asked.measure or None).measure
    page = SystemsPage(
        collections=of.collections,
        collection=of.name,
        measure=measure.name,
        measures=known_measures(library, of.name, measure.name),
        better="lower" if measure.spec.better == "lower" else "higher",
    )
    if asked.over == "all":
        return replace(page, leaderboard=leaderboard_of(library.store, measure=measure.name))
    newest = next(iter(of.newest.values()))
    table = query_table_of(library.store.texts.queries(newest.queries_sha256))
    same = {name: run for name, run in of.newest.items() if run.queries_sha256 == newest.queries_sha256}
    only = queries_in(table, asked.stratum) if asked.stratum else frozenset(table.ids)
    by = by_of(table, asked.by)
    values = values_of(table, by)
    lines = list(system_lines(library, of, same, measure, table, only=only, by=by, values=values))
    strata = strata_in(table)
    return replace(
        page,
        strata=tuple(
            StratumChoice(name, value, n)
            for name, counts in strata.items()
            if len(counts) <= MOST_VALUES
            for value, n in counts.items()
        ),
        attributes=tuple(name for name, counts in strata.items() if 2 <= len(counts) <= MOST_VALUES),
        by=by,
        values=values,
        n_queries=max((line.n_queries for line in lines), default=0),
        systems=tuple(lines),
        asked_others=tuple(name for name in of.newest if name not in same),
    )


def by_of(table: QueryTable, asked: str) -> str:
    """Return the attribute that columns divide queries by: the one asked for, else the language."""
    if asked and asked not in table.attributes:
        raise OptionError(f"the queries have no attribute {asked!r}", hint=f"they have {', '.join(table.attributes)}")
    return asked or table.language or ""


def values_of(table: QueryTable, by: str) -> tuple[StratumChoice, ...]:
    counts = strata_in(table).get(by, {})
    return tuple(StratumChoice(by, value, n) for value, n in counts.items()) if 2 <= len(counts) <= MOST_VALUES else ()


def system_lines(
    library: Library,
    of: CollectionRuns,
    runs: Mapping[str, StoredRun],
    measure: Measure,
    table: QueryTable,
    *,
    only: frozenset[str],
    by: str,
    values: tuple[StratumChoice, ...],
) -> Iterator[SystemLine]:
    """Yield the newest run of each system with its mean over some queries, under the judgments of today."""
    store = library.store
    labels, policies = store.qrels.find(of.name), policies_of(next(iter(runs.values())))
    ensure_scores(library, list(runs.values()), labels, [measure], policies)
    means = store.scores.means(list(runs.values()), labels, measure, policies)
    scored = store.scores.read([means[run.number] for run in runs.values()])
    n_runs = {name: sum(run.system == name for run in of.runs) for name in runs}
    masks: dict[tuple[str, ...], tuple[Bools, list[Bools]]] = {}
    for (name, run), scores in zip(runs.items(), scored, strict=True):
        if scores.query_ids not in masks:
            column = table.attributes.get(by, {})
            inside = np.array([query in only for query in scores.query_ids], dtype=np.bool_)
            parts = [[str(column.get(query, "")) == each.value for query in scores.query_ids] for each in values]
            masks[scores.query_ids] = inside, [np.array(part, dtype=np.bool_) & inside for part in parts]
        inside, parts_of = masks[scores.query_ids]
        mine = known_in(scores.vector.values, inside)
        interval = None
        if measure.spec.aggregate == "mean" and len(mine) > 1:
            interval = mean_interval(mine, range=range_of(measure.name, mine))
        yield SystemLine(
            system=name,
            type=run.type,
            run=run.number,
            n_runs=n_runs[name],
            started=run.started,
            tags=of.tags.get(run.number, ()),
            mean=mean_of(mine, measure),
            low=None if interval is None else interval.low,
            high=None if interval is None else interval.high,
            n_queries=len(mine),
            n_unanswered=int((~scores.vector.answered & inside).sum()),
            p50_ms=latency_of_run(run, "p50"),
            p95_ms=latency_of_run(run, "p95"),
            queries_per_second=run.details.costs.get("queries_per_second"),
            index_bytes=run.details.costs.get("index_bytes"),
            by_value=tuple(mean_of(known_in(scores.vector.values, part), measure) for part in parts_of),
        )


def known_in(values: Floats, inside: Bools) -> Floats:
    return values[inside & ~np.isnan(values)]


def mean_of(values: Floats, measure: Measure) -> float | None:
    return float(summarise(values, measure.spec.aggregate)) if len(values) else None


def ordered(page: SystemsPage, asked: SystemsOptions) -> list[SystemLine]:
    """Return the systems in the order asked for; those without a value come last."""
    field = {"mean": "mean", "p50": "p50_ms", "p95": "p95_ms", "throughput": "queries_per_second",
             "index": "index_bytes", "newest": "started", "system": "system"}[asked.sort]  # fmt: skip
    falls = asked.sort in DESCENDING or (asked.sort == "mean" and page.better == "higher")
    known = [line for line in page.systems if getattr(line, field) is not None]
    known.sort(key=lambda line: line.system)
    known.sort(key=lambda line: getattr(line, field), reverse=falls != asked.reverse)
    return [*known, *(line for line in page.systems if getattr(line, field) is None)]


def systems_view(page: SystemsPage) -> SystemsView | None:
    """Return what is drawn: the answer, quality against latency, and the axis of the intervals."""
    if page.leaderboard is not None or not page.systems:
        return None
    placed = [
        MappedSystem(line.system, line.mean, line.low, line.high, line.p50_ms)
        for line in page.systems
        if line.mean is not None and line.p50_ms is not None
    ]
    ends = [end for line in page.systems for end in (line.low, line.mean, line.high) if end is not None] or [0.0, 1.0]
    room = (max(ends) - min(ends)) * 0.05 or 0.5
    figures = quality_latency_figure(placed, page.measure, lower_is_better=page.better == "lower")
    return SystemsView(tuple(answer_of(page)), tuple(figures), (min(ends) - room, max(ends) + room))


def answer_of(page: SystemsPage) -> Iterator[doc.VerdictBlock]:
    """Say who has the best mean, which is no verdict."""
    leader = page.leader
    subject = f"{page.measure} · {counted(len(page.systems), 'system')} · {counted(page.n_queries, 'query')}"
    if leader is None or leader.mean is None:
        yield doc.VerdictBlock("No query has a score yet.", "Judge some results first.", "note", subject)
        return
    others = [line.system for line in page.systems if line.mean == leader.mean and line is not leader]
    interval = "" if leader.low is None else f" (95% CI {leader.low:.3f} to {leader.high:.3f})"
    headline = f"{leader.system} has the best mean {page.measure}: {leader.mean:.3f}{interval}."
    if others:
        headline = (
            f"{listed([leader.system, *others])} share the best mean {page.measure}: {leader.mean:.3f}{interval}."
        )
    if len(page.systems) == 1:
        headline = f"{leader.system} has a mean {page.measure} of {leader.mean:.3f}{interval}."
    cautions = []
    if page.asked_others:
        cautions.append(f"Not listed, as the newest run was asked other queries: {listed(page.asked_others, most=8)}.")
    reason = "Means are no verdicts: whether a difference is more than chance, a comparison tells."
    yield doc.VerdictBlock(headline, reason, "note", subject, tuple(cautions))


def systems_report(page: SystemsPage) -> doc.Report | None:
    """Return what is on the page as a report, from which files are exported."""
    if page.leaderboard is not None:
        return leaderboard_report(page.leaderboard)
    view = systems_view(page)
    if view is None:
        return None
    return doc.Report(
        title=f"Systems on {page.collection} by {page.measure}",
        first_screen=(*view.answer, doc.TableBlock("Systems", systems_table(page)), *view.figures),
        sections=(),
        footer=(),
    )


def systems_table(page: SystemsPage) -> Table:
    def number(value: float | None, digits: int = 4) -> Cell:
        return Cell("-") if value is None else Cell(f"{value:.{digits}f}", raw=repr(value))

    header = ["system", "run", page.measure, "low", "high", "queries", "unanswered", "p50 ms", "p95 ms", "queries/s",
              "index bytes", *(f"{each.attribute} {each.value}" for each in page.values)]  # fmt: skip
    rows = [
        [
            Cell(line.system),
            Cell(str(line.run)),
            *map(number, (line.mean, line.low, line.high)),
            Cell(str(line.n_queries)),
            Cell(str(line.n_unanswered)),
            *map(amount_cell, (line.p50_ms, line.p95_ms, line.queries_per_second)),
            number(line.index_bytes, 0),
            *map(number, line.by_value),
        ]
        for line in page.systems
    ]
    return Table(header, rows, n_name_columns=2, keep=(page.measure,))
