"""The report of a history: what became of systems under the judgments of today, and what the judgments have changed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from datetime import datetime

from rankscope.experiment.history import (
    ChangeParts,
    History,
    HistoryPoint,
    RunChange,
)
from rankscope.measures.scores import show
from rankscope.printable import counted
from rankscope.report.charts import figure_of
from rankscope.report.comparison_pair import VERDICT_MARKS
from rankscope.report.document import (
    Block,
    Estimate,
    Estimates,
    Fact,
    Facts,
    Mark,
    Report,
    Section,
    TableBlock,
    VerdictBlock,
)
from rankscope.report.table import Cell, Table

SPARKS = "▁▂▃▄▅▆▇█"
LONGEST_SPARK = 24
"""Of more runs, the newest are drawn."""
SMALL = 0.0005
"""Changes that round to nothing are said to be none."""


def report_of(history: History, *, command: str = "", with_figures: bool = True) -> Report:
    """Return the report: how the numbers stand and moved, a table of systems, the newest changes, all runs."""
    first: list[Block] = [answer_of(history), Facts("", tuple(facts_of(history)))]
    first.append(TableBlock(f"Systems, by {history.measure} of the newest run", systems_table(history)))
    if with_figures and any(len(system.points) > 1 for system in history.systems):
        first.append(trend_figure(history))
    sections = []
    if history.changes:
        sections.append(Section("Changes", (TableBlock("", changes_table(history)),), intro=CHANGES))
    moved = TableBlock("", labels_table(history))
    sections += [
        Section("What moved the printed numbers", (moved,), intro=LABELS),
        Section("Every run", (TableBlock("", runs_table(history), folded=True),)),
    ]
    return Report(
        title=f"{history.collection}: {history.measure} over time",
        first_screen=tuple(first),
        sections=tuple(sections),
        footer=tuple(footer(history, command)),
    )


CHANGES = "Each run against the one before it, under the same judgments and on the same queries."
LABELS = (
    "A number that was printed then was made with the judgments of its time. Labels: what today's judgments change of "
    "that same run. System: what the newest run changes, both under the judgments of today."
)


def answer_of(history: History) -> VerdictBlock:
    """Say what became of the system whose run is the newest, and whether the judgments have moved its number."""
    newest = max(history.systems, key=lambda system: system.points[-1].started)
    points, change = newest.points, newest.change
    subject = f"{history.collection} · {history.measure} · {span(history)}"
    last = points[-1]
    now = "undefined" if last.mean is None else show(last.mean)
    if change is None or change.system is None or change.labels is None:
        if len(points) == 1:
            reason = "There is one run of it so far: with the next one there is something to compare."
        else:
            reason = "Its first and its newest run have no judged query in common, so nothing is said of a change."
        return VerdictBlock(f"{newest.system} has {history.measure} {now}.", reason, "note", subject)
    headline = f"{newest.system} {moved(change.system, history)} since {day(points[0])}."
    if abs(change.labels) >= SMALL:
        headline += f" The labels moved its number by {change.labels:+.3f}: that is not the search."
    verdict = next((one for one in history.changes if one.after == last.run), None)
    reason = "Every run is scored again under the judgments of today, so that all numbers can be compared."
    mark: Mark = "note"
    if verdict is not None:
        mark = VERDICT_MARKS[verdict.verdict]
        reason = f"The newest run against the one before: {verdict.words} {reason}"
    cautions = []
    if newest.queries is not None and not newest.queries.are_same:
        cautions.append(
            f"Since the first run {newest.queries.in_words}; changes are over the "
            f"{counted(newest.queries.n_common, 'query')} that both were asked."
        )
    if last.missing:
        cautions.append(f"The newest run leaves {counted(last.missing, 'query')} unanswered, which count 0.")
    return VerdictBlock(headline, reason, mark, subject, tuple(cautions))


def moved(change: float, history: History) -> str:
    if abs(change) < SMALL:
        return "stands where it stood"
    rose = change > 0
    better = "" if history.better == "higher" else " (less is better)"
    return f"has {'risen' if rose else 'fallen'} by {abs(change):.3f}{better}"


def facts_of(history: History) -> Iterator[Fact]:
    for system in sorted(history.systems, key=lambda each: each.points[-1].started)[-2:]:
        last = system.points[-1]
        ends = "" if last.low is None or last.high is None else f"95% CI {show(last.low)} to {show(last.high)}"
        yield Fact(f"{system.system} today", "-" if last.mean is None else show(last.mean), ends)
    n_runs = sum(len(system.points) for system in history.systems)
    yield Fact("runs", f"{n_runs:,}", counted(len(history.systems), "system"))
    labels = history.labels
    yield Fact(
        "judgments of today", f"{labels.n_judgments:,}", f"{counted(labels.n_queries, 'query')}, {labels.digest[:8]}"
    )
    if history.n_looks:
        yield Fact(
            "comparisons on these queries", f"{history.n_looks:,}", "the more there are, the easier one wins by chance"
        )


def systems_table(history: History) -> Table:
    sign = 1 if history.better == "lower" else -1
    ordered = sorted(history.systems, key=lambda each: sign * _or_nan(each.points[-1].mean))
    rows = [
        [
            Cell(each.system),
            number(each.points[-1].mean),
            Cell(interval_words(each.points[-1])),
            change_cell(each.points[-1].change),
            Cell(spark(each.points)),
            Cell(f"{len(each.points)}"),
            Cell(day(each.points[-1])),
        ]
        for each in ordered
    ]
    header = ["system", history.measure, "95% interval", "since the run before", "trend", "runs", "newest"]
    notes = ("since the run before: what the system changed, under the judgments of today",)
    return Table(header, rows, notes=notes, optional=("newest", "runs"), keep=(history.measure,))


def changes_table(history: History) -> Table:
    rows = [
        [
            Cell(one.at[:16].replace("T", " ")),
            Cell(one.system),
            Cell(f"run {one.before} to run {one.after}"),
            Cell("" if one.difference is None else f"{one.difference:+.4f}", raw=repr(one.difference)),
            Cell("" if one.low is None or one.high is None else f"{one.low:+.4f} to {one.high:+.4f}"),
            Cell(one.short),
        ]
        for one in history.changes
    ]
    header = ["when", "system", "runs", "difference", "95% interval", "verdict"]
    return Table(header, rows, n_name_columns=3, keep=("difference", "verdict"))


def labels_table(history: History) -> Table:
    rows = []
    for system in history.systems:
        first, last, change = system.points[0], system.points[-1], system.change
        parts = (None, None, None) if change is None else (change.labels, change.system, change.total)
        rows.append(
            [
                Cell(system.system),
                number(first.mean_then),
                *(signed(value) for value in parts),
                number(last.mean),
                Cell("" if system.queries is None else f"{system.queries.n_common}"),
            ]
        )
    header = ["system", "first run, then", "labels", "system's part", "total", "newest run, today", "common queries"]
    notes = ["total = labels + system's part, over the common queries; the first and last column are over all queries"]
    return Table(header, rows, notes=notes, keep=("total",))


def runs_table(history: History) -> Table:
    rows = [
        [
            Cell(system.system),
            Cell(f"{point.run}"),
            Cell(point.digest[:8]),
            Cell(point.started[:16].replace("T", " ")),
            Cell(", ".join(point.tags)),
            number(point.mean),
            Cell(interval_words(point)),
            number(point.mean_then),
            Cell(f"{point.n}"),
            Cell("" if point.queries is None else point.queries.in_words),
        ]
        for system in history.systems
        for point in reversed(system.points)
    ]
    header = [
        "system",
        "run",
        "hash",
        "made",
        "tags",
        "today's labels",
        "95% interval",
        "then",
        "queries",
        "other queries",
    ]
    return Table(header, rows, n_name_columns=5, optional=("other queries", "hash"), keep=("today's labels",))


def rescore_report(histories: Sequence[History], *, command: str = "") -> Report:
    """Return the report of runs that were scored again: what was printed then, what it is today, and why."""
    n_runs = sum(len(system.points) for history in histories for system in history.systems)
    effects = [
        point.mean - point.mean_then
        for history in histories
        for system in history.systems
        for point in system.points
        if point.mean is not None and point.mean_then is not None
    ]
    moved = [effect for effect in effects if abs(effect) >= SMALL / 10]
    if moved:
        ends = dict.fromkeys(f"{end:+.4f}" for end in (min(moved), max(moved)))
        by = f"by {' to '.join(ends)}"
        headline = f"The judgments of today move the numbers of {len(moved)} of {counted(n_runs, 'run')}, {by}."
    else:
        headline = f"The judgments of today change nothing: {counted(n_runs, 'run')} stand as they were printed."
    n_unknown = n_runs - len(effects)
    cautions = (f"Of {counted(n_unknown, 'run')} the judgments of its time are not known.",) if n_unknown else ()
    first: list[Block] = [VerdictBlock(headline, LABELS, "note", "", cautions)]
    sections = []
    for history in histories:
        labels = history.labels
        title = f"{history.collection}: {history.measure}, from the first run to the newest"
        first.append(TableBlock(title, labels_table(history)))
        intro = f"{labels.n_judgments:,} judgments of {counted(labels.n_queries, 'query')} ({labels.digest[:8]})."
        runs = TableBlock("", rescored_table(history))
        sections.append(Section(f"Every run on {history.collection}", (runs,), intro=intro))
    return Report(
        title="Runs under the judgments of today",
        first_screen=tuple(first),
        sections=tuple(sections),
        footer=tuple(footer(histories[0], command)),
    )


def rescored_table(history: History) -> Table:
    rows = [
        [
            Cell(system.system),
            Cell(f"{point.run}"),
            Cell(point.started[:16].replace("T", " ")),
            number(point.mean_then),
            signed(None if point.mean is None or point.mean_then is None else point.mean - point.mean_then),
            number(point.mean),
            change_cell(point.change),
            Cell("" if point.queries is None else point.queries.in_words),
        ]
        for system in history.systems
        for point in reversed(system.points)
    ]
    header = ["system", "run", "made", "then", "labels", "today", "system, since the run before", "other queries"]
    notes = ("labels: today minus then, of the same run; system: today's numbers of two runs, over common queries",)
    return Table(header, rows, n_name_columns=3, notes=notes, optional=("other queries",), keep=("labels", "today"))


def change_report(found: RunChange, *, command: str = "") -> Report:
    """Return the report of what changed between two runs; the comparison of their rankings has a report of its own."""
    a, b = (
        f"{system} of {point.started[:10]} (run {point.run})"
        for system, point in zip(found.systems, (found.before, found.after), strict=True)
    )
    change = found.change
    verdict = None if found.comparison is None else next(iter(found.comparison)).final_verdict
    headline, reason = "The rankings are identical: the system has changed nothing.", ""
    mark: Mark = "same"
    if verdict is not None:
        headline, reason, mark = verdict.text, verdict.reason, VERDICT_MARKS[verdict.code]
    if change.labels is not None and abs(change.labels) >= SMALL:
        reason = f"{reason} The labels moved the number by {change.labels:+.4f}, which is not the search.".strip()
    cautions = [
        *found.notes,
        *(
            [f"Compared on {found.queries.n_common} common queries: {found.queries.in_words}."]
            if found.queries.in_words
            else []
        ),
    ]
    subject = f"{found.collection} · {found.measure} · {b} against {a}"
    table = Table(
        ["", found.measure],
        [
            [Cell(f"{a}, as printed then"), number(found.before.mean_then)],
            [Cell("labels: the same run under the judgments of today"), signed(change.labels)],
            [Cell("system: the later run, both under the judgments of today"), signed(change.system)],
            [Cell(f"{b}, today"), number(found.after.mean)],
        ],
        notes=("labels and system are over the common queries, the others over all queries of each run",)
        if not found.queries.are_same or found.queries.n_judged_since
        else (),
    )  # fmt: skip
    return Report(
        title=f"{b} against {a}",
        first_screen=(
            VerdictBlock(headline, reason, mark, subject, tuple(cautions)),
            TableBlock("What moved the number", table),
            *estimate_block(found),
        ),
        sections=(),
        footer=(("rankscope", found.rankscope), *((("command", command),) if command else ())),
    )


def estimate_block(found: RunChange) -> Iterator[Block]:
    if found.comparison is None:
        return
    pair = next(iter(found.comparison))
    if pair.delta is None:
        return
    ends = "" if pair.ci.low is None or pair.ci.high is None else f" (95% CI {pair.ci.low:+.4f} to {pair.ci.high:+.4f})"
    one = Estimate(f"{pair.b} against {pair.a}", pair.delta, pair.ci.low, pair.ci.high, f"{pair.delta:+.4f}{ends}")
    yield Estimates("The system's part", (one,), pair.margin)


def trend_figure(history: History) -> Block:
    from rankscope.report.charts.trend import TrendChart, TrendPoint

    start = min(datetime.fromisoformat(point.started) for system in history.systems for point in system.points)
    points = [
        TrendPoint(
            point.started[:10],
            _or_nan(point.mean),
            _or_nan(point.low),
            _or_nan(point.high),
            at=(datetime.fromisoformat(point.started) - start).total_seconds(),
            system=system.system,
        )
        for system in history.systems
        for point in system.points
    ]
    chart = TrendChart(
        points,
        history.measure,
        title=f"{history.measure} over time, under the judgments of today",
        better=history.better,
    )
    return figure_of(chart)


def spark(points: tuple[HistoryPoint, ...]) -> str:
    """Return the means of the newest runs as a row of bars; a blank where one is undefined."""
    values = [point.mean for point in points[-LONGEST_SPARK:]]
    known = [value for value in values if value is not None]
    if len(known) < 2:
        return ""
    low, high = min(known), max(known)
    top = len(SPARKS) - 1
    scaled = [
        None if value is None else top // 2 if high == low else round((value - low) / (high - low) * top)
        for value in values
    ]
    return "".join(" " if place is None else SPARKS[place] for place in scaled)


def span(history: History) -> str:
    times = [point.started for system in history.systems for point in system.points]
    days = (datetime.fromisoformat(max(times)) - datetime.fromisoformat(min(times))).days
    runs = counted(len(times), "run")
    return f"{runs} in {counted(days // 7, 'week') if days >= 14 else counted(days, 'day')}" if days else runs


def day(point: HistoryPoint) -> str:
    return point.started[:10]


def number(value: float | None) -> Cell:
    return Cell("-" if value is None else show(value), raw="" if value is None else repr(value))


def signed(value: float | None) -> Cell:
    return Cell("-" if value is None else f"{value:+.4f}", raw="" if value is None else repr(value))


def change_cell(change: ChangeParts | None) -> Cell:
    return Cell("") if change is None else signed(change.system)


def interval_words(point: HistoryPoint) -> str:
    return interval_ends(point.low, point.high)


def interval_ends(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f"{show(low)} to {show(high)}"


def _or_nan(value: float | None) -> float:
    return math.nan if value is None else value


def footer(history: History, command: str) -> Iterator[tuple[str, str]]:
    yield "judgments", f"{history.labels.name}, snapshot {history.labels.number} ({history.labels.digest[:8]})"
    yield "rankscope", history.rankscope
    if command:
        yield "command", command
