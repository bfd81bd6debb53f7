"""The report of a history: what became of systems under the judgments of today, and what the judgments have changed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from rankscope.experiment.history import SHOWN_CHANGES
from rankscope.experiment.history_records import (
    History,
    HistoryPoint,
    LabelStep,
    RunChange,
    SystemHistory,
    VerdictOnChange,
)
from rankscope.measures.scores import show
from rankscope.printable import counted, listed
from rankscope.report.changed_queries import changed_query
from rankscope.report.charts import figure_of
from rankscope.report.comparison_pair import VERDICT_MARKS
from rankscope.report.document import (
    Block,
    ChangedQueries,
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
from rankscope.report.repetitions import RUN_TO_RUN, SPREAD_NOTE, run_to_run_fact, spread_cell
from rankscope.report.table import Cell, Table
from rankscope.report.words import without_empty

SPARKS = "▁▂▃▄▅▆▇█"
LONGEST_SPARK = 24
"""Of more runs, the newest are drawn."""
SMALL = 0.0005
"""Changes that round to nothing are said to be none."""


MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
"""Not those of the user's language: the sentence around them is English."""
RUNS_ON_A_SCREEN = 10
BY_CHANCE = "the more there are, the easier one wins by chance"
REPETITIONS = f"{RUN_TO_RUN} (repetitions)"


def report_of(history: History, *, command: str = "", with_figures: bool = True, every_run: bool = True) -> Report:
    """Return the report: how the numbers stand and moved, a table of systems, the newest changes, all runs.

    Without `every_run` the table of runs has the newest of each system: where it is folded away, no more is needed.
    """
    first: list[Block] = [answer_of(history), Facts("", tuple(facts_of(history)))]
    if with_figures and any(len(system.points) > 1 for system in history.systems):
        first.append(trend_figure(history))
    first.append(TableBlock(f"Systems, by {history.measure} of the newest run", systems_table(history)))
    sections = []
    if history.changes:
        sections.append(Section("Changes", (TableBlock("", changes_table(history)),), intro=CHANGES))
    parts: list[Block] = [*parts_figures(history)] if with_figures else []
    parts.append(TableBlock("", labels_table(history)))
    runs = TableBlock("", runs_table(history, last=None if every_run else RUNS_ON_A_SCREEN), folded=True)
    sections += [
        Section("What moved the printed number", tuple(parts), intro=labels_intro(history)),
        Section("Every run", (runs,)),
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
LABELS_NOT_QUALITY = "labels, not quality"


def labels_intro(history: History) -> str:
    if history.labels.is_newest:
        return LABELS
    which = f"judgments {history.labels.number}"
    return LABELS.replace("today's judgments", which).replace("the judgments of today", which)


def judgments_of(history: History) -> str:
    """Name the judgments that all runs are scored under."""
    if history.labels.is_newest:
        return "the judgments of today"
    return f"judgments {history.labels.number} of {history.labels.stored[:10]}, not the newest"


def today(history: History) -> str:
    """Say of when a number is: `today`, unless earlier judgments were asked for."""
    return "today" if history.labels.is_newest else f"under judgments {history.labels.number}"


def scored_again(history: History) -> str:
    which = "today's judgments" if history.labels.is_newest else judgments_of(history)
    return f"Every old run is scored again under {which}, so all numbers can be compared."


def ahead_words(runs: Sequence[int]) -> str:
    """Say which runs are dated in the future."""
    numbers = listed([str(number) for number in runs])
    which = f"Run {numbers} is" if len(runs) == 1 else f"Runs {numbers} are"
    return f"{which} dated in the future: was a clock wrong? Runs are in the order in which they were stored."


def answer_of(history: History) -> VerdictBlock:
    """Say what became of the system whose run is the newest, and whether the judgments have moved its number."""
    main, verdict = history.main_system, history.verdict
    last = main.points[-1]
    subject = f"{history.collection} · {history.measure} · {span(history)}"
    cautions = []
    if main.queries is not None and not main.queries.are_same:
        others = sum(not point.same_as_newest for point in main.points)
        compared = "cannot be compared with it"
        if main.queries.are_nearly_same:
            verb = "is" if others == 1 else "are"
            compared = f"{verb} compared with it on the {main.queries.n_common:,} queries that both were asked"
        cautions.append(
            f"{counted(others, 'run')} of {main.system} {'was' if others == 1 else 'were'} asked other queries than "
            f"the newest (since the first run {main.queries.in_words}), and {compared}."
        )
    cautions += history.notes
    if history.dated_ahead:
        cautions.append(ahead_words(history.dated_ahead))
    if last.refused:
        cautions.append(f"The newest run cannot be compared with the one before: {last.refused}.")
    if last.missing:
        cautions.append(f"The newest run leaves {counted(last.missing, 'query')} unanswered, which count 0.")
    if verdict is None:
        now = "undefined" if last.mean is None else show(last.mean)
        headline, reason = f"{main.system} has {history.measure} {now}.", why_no_verdict(main)
        return VerdictBlock(headline, reason, "note", subject, tuple(cautions))
    first = next(point for point in main.points if point.run == main.since)
    headline = f"{became(history, verdict, since_words(first, last))}{labels_sentence(history)}"
    against = f"Run {verdict.after} against run {verdict.before} of {day(first)}"
    reason = f"{against}: {verdict.words}" if history.notes else f"{against}: {verdict.words} {scored_again(history)}"
    return VerdictBlock(headline, reason, VERDICT_MARKS[verdict.verdict], subject, tuple(cautions))


def why_no_verdict(main: SystemHistory) -> str:
    """Say why there is no verdict on what became of a system, and what is known nevertheless."""
    last = main.points[-1]
    if len(main.points) == 1:
        if main.n_earlier:
            return f"Only its newest run is asked for; there are {main.n_earlier} earlier to compare it with."
        return "There is one run of it so far: with the next one there is something to compare."
    if last.refused:
        return "No earlier run of it can be compared with it, so nothing is said of a change."
    if last.queries is not None and last.queries.are_nearly_same and last.change is not None:
        moved = "an unknown amount" if last.change.system is None else f"{last.change.system:+.4f}"
        common = f"the {last.queries.n_common:,} queries that the run before was asked, too"
        return f"On {common}, the system has changed by {moved}; there is no verdict, as {last.queries.in_words}."
    return "No earlier run of it was asked the same queries, so nothing is said of a change."


def became(history: History, verdict: VerdictOnChange, since: str) -> str:
    """Say what became of a system, no more than the verdict on it holds."""
    name, difference = verdict.system, verdict.difference
    if verdict.verdict == "not_comparable" or difference is None:
        return f"{name} cannot be compared with what it was."
    by = f"{difference:+.3f}"
    match verdict.verdict:
        case "better" | "worse" | "probably_better" | "probably_worse":
            course = "risen" if difference > 0 else "fallen"
            which = "better" if "better" in verdict.verdict else "worse"
            better = f", which is {which}" if history.better == "lower" else ""
            return f"{name} has {course} by {abs(difference):.3f} {since}{better}."
        case "identical" | "same":
            change = "" if abs(difference) < SMALL else f" ({by})"
            practically = "" if verdict.verdict == "identical" else "practically "
            return f"{name} has {practically}not changed {since}{change}."
        case "not_safe":
            return f"It is not safe to say whether {name} has changed {since}: {by}, with too many unjudged results."
        case "too_few":
            return f"Too few queries to say whether {name} has changed {since}: {by}."
        case _:
            return f"Cannot tell whether {name} has changed {since}: {by}."


def labels_sentence(history: History) -> str:
    """Say what the judgments did to the printed number of the main system: the largest jump, or how much in all."""
    steps = [step for step in history.label_steps if abs(step.labels) >= SMALL]
    if steps:
        largest = max(steps, key=lambda step: abs(step.labels))
        is_jump = abs(largest.printed) >= SMALL and abs(largest.labels) > abs(largest.printed - largest.labels)
        if is_jump and (largest.printed > 0) == (largest.labels > 0):
            at = datetime.fromisoformat(largest.at)
            what = "jump" if largest.printed > 0 else "fall"
            return f" The {what} of {at.day} {MONTHS[at.month - 1]} was the labels, not the search."
    change = history.main_system.change
    if change is None or change.labels is None or abs(change.labels) < SMALL:
        return ""
    return f" The labels moved its number by {change.labels:+.3f}, which is not the search."


def since_words(first: HistoryPoint, last: HistoryPoint) -> str:
    """Say how long it took: `in 16 weeks`, or `since run 3` within a day."""
    days = (datetime.fromisoformat(last.started) - datetime.fromisoformat(first.started)).days
    if days < 1:
        return f"since run {first.run}"
    return f"in {counted(days // 7, 'week') if days >= 14 else counted(days, 'day')}"


def interval_of(verdict: VerdictOnChange) -> str:
    if verdict.low is None or verdict.high is None:
        return ""
    return f"95% CI {verdict.low:+.3f} to {verdict.high:+.3f}"


def facts_of(history: History) -> Iterator[Fact]:
    best = min(
        (each for each in history.systems if each.points[-1].mean is not None),
        key=lambda each: (1 if history.better == "lower" else -1) * (each.points[-1].mean or 0.0),
        default=history.main_system,
    )
    for system in dict.fromkeys((history.main_system, best)):
        last = system.points[-1]
        ends = "" if last.low is None or last.high is None else f"95% CI {show(last.low)} to {show(last.high)}"
        yield Fact(f"{system.system} {today(history)}", "-" if last.mean is None else show(last.mean), ends)
    n_runs = sum(len(system.points) for system in history.systems)
    yield Fact("runs", f"{n_runs:,}", counted(len(history.systems), "system"))
    labels = history.labels
    yield Fact(
        "judgments of today" if labels.is_newest else f"judgments {labels.number}, not the newest",
        f"{labels.n_judgments:,}",
        f"{counted(labels.n_queries, 'query')}, hash {labels.digest[:8]}",
    )
    if history.n_looks:
        yield Fact("comparisons on these queries", f"{history.n_looks:,}", BY_CHANCE)


def systems_table(history: History) -> Table:
    sign = 1 if history.better == "lower" else -1
    ordered = sorted(history.systems, key=lambda each: sign * _or_nan(each.points[-1].mean))
    varies = any(each.points[-1].spread for each in ordered)
    rows = [
        [
            Cell(each.system),
            number(each.points[-1].mean),
            Cell(interval_words(each.points[-1])),
            change_cell(each.points[-1]),
            *([spread_cell(each.points[-1].spread)] if varies else []),
            Cell(spark(each.comparable)),
            Cell(f"{len(each.points)}"),
            Cell(day(each.points[-1])),
        ]
        for each in ordered
    ]
    apart = [RUN_TO_RUN] if varies else []
    header = ["system", history.measure, "95% interval", "since the run before", *apart, "trend", "runs", "newest"]
    notes = [f"since the run before: what the system changed, under {judgments_of(history)}"]
    if varies:
        notes.append(SPREAD_NOTE)
    if any(not point.same_as_newest for each in ordered for point in each.points):
        notes.append("trend: the runs that were asked the same queries as the newest")
    return Table(header, rows, notes=notes, optional=("newest", "runs"), keep=(history.measure,))


def changes_table(history: History) -> Table:
    """Return the newest changes, and those of the judgments among them, the newest first."""
    place_of = {(one.system, one.after): place for place, one in enumerate(history.changes)}
    rows: list[tuple[float, list[Cell]]] = [
        (
            place,
            [
                Cell(one.at[:16].replace("T", " ")),
                Cell(one.system),
                Cell(f"run {one.before} to run {one.after}"),
                Cell(one.what),
                signed(one.difference),
                Cell("" if one.low is None or one.high is None else f"{one.low:+.4f} to {one.high:+.4f}"),
                Cell(one.short),
            ],
        )
        for place, one in enumerate(history.changes)
    ]
    rows += [
        (
            place_of.get((step.system, step.after), len(rows)) + 0.5,
            [
                Cell(step.at[:16].replace("T", " ")),
                Cell("labels"),
                Cell(f"run {step.before} to run {step.after}"),
                Cell(judgments_words(step)),
                signed(step.labels),
                Cell(""),
                Cell(LABELS_NOT_QUALITY),
            ],
        )
        for step in reversed(history.label_steps[-SHOWN_CHANGES:])
        if abs(step.labels) >= SMALL
    ]
    header = ["when", "system", "runs", "what", "difference", "95% interval", "verdict"]
    notes = []
    if len(rows) > len(history.changes):
        notes.append(f"labels: what other judgments moved of the number that was printed of {history.main}")
    ordered = [cells for _, cells in sorted(rows, key=lambda row: row[0])]
    table = Table(header, ordered, n_name_columns=4, notes=notes, optional=("95% interval", "what", "runs"),
        keep=("system", "difference", "verdict"))  # fmt: skip
    return without_empty(table, "what")


def judgments_words(step: LabelStep) -> str:
    """Say how the judgments differ: `14,604 judgments, 204 more`, or that some were changed."""
    more = step.n_after - step.n_before
    how = f"{abs(more):,} {'more' if more > 0 else 'fewer'}" if more else "some changed"
    return f"{counted(step.n_after, 'judgment')}, {how}"


def labels_table(history: History) -> Table:
    rows = []
    for system in history.systems:
        first = next((point for point in system.points if point.run == system.since), system.points[-1])
        change = system.change
        if change is not None:
            parts = (change.labels, change.system, change.total)
        else:  # of a single run, only the labels can have moved the number
            then, now = first.mean_then, first.mean
            labels = None if then is None or now is None else now - then
            parts = (labels, None, labels)
        run = f"run {first.run} of {day(first)}"
        rows.append(
            [
                Cell(system.system),
                Cell(run),
                number(first.mean_then),
                *(signed(value) for value in parts),
                number(system.points[-1].mean),
            ]
        )
    header = [
        "system",
        "first run",
        "printed then",
        "labels",
        "system's part",
        "total",
        f"newest run, {today(history)}",
    ]
    notes = ["total = labels + system's part; the first run is the first that was asked the same queries as the newest"]
    return Table(header, rows, n_name_columns=2, notes=notes, keep=("labels", "system's part"))


def runs_table(history: History, *, last: int | None = None) -> Table:
    varies = any(point.spread is not None for system in history.systems for point in system.points)
    rows = [
        [
            Cell(system.system),
            Cell(f"{point.run}"),
            Cell(point.digest[:8]),
            Cell(point.started[:16].replace("T", " ")),
            Cell(", ".join(point.tags)),
            number(point.mean),
            Cell(interval_words(point)),
            *([repetitions_cell(point)] if varies else []),
            number(point.mean_then),
            Cell(f"{point.n}"),
            Cell("" if point.queries is None else point.queries.in_words),
        ]
        for system in history.systems
        for point in reversed(system.points[-last if last else None :])
    ]
    labels_name = "today's labels" if history.labels.is_newest else today(history)
    header = [
        "system",
        "run",
        "hash",
        "made",
        "tags",
        labels_name,
        "95% interval",
        *([REPETITIONS] if varies else []),
        "then",
        "queries",
        "other queries",
    ]
    return Table(header, rows, n_name_columns=5, optional=("other queries", "hash"), keep=(labels_name,))


def repetitions_cell(point: HistoryPoint) -> Cell:
    return Cell("" if point.spread is None else f"{spread_cell(point.spread).text} ({point.n_repetitions})")


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
    cautions = [f"Of {counted(n_unknown, 'run')} the judgments of its time are not known."] if n_unknown else []
    cautions += dict.fromkeys(note for history in histories for note in history.notes)
    first: list[Block] = [VerdictBlock(headline, LABELS, "note", "", tuple(cautions))]
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
            change_cell(point),
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
        if headline.startswith("run "):
            headline = f"R{headline[1:]}"
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
            [Cell("system: the other run, both under the judgments of today"), signed(change.system)],
            *other_queries_row(found),
            [Cell(f"{b}, today"), number(found.after.mean)],
        ],
        notes=("labels and system are over the queries that both were asked",) if not found.queries.are_same else (),
    )  # fmt: skip
    return Report(
        title=f"{b} against {a}",
        first_screen=(
            VerdictBlock(headline, reason, mark, subject, tuple(cautions)),
            TableBlock("What moved the number", table),
            *estimate_block(found),
            *facts_of_pair(found),
            *query_blocks(found),
        ),
        sections=(),
        footer=(("rankscope", found.rankscope), *((("command", command),) if command else ())),
    )


def query_blocks(found: RunChange) -> Iterator[Block]:
    """Yield the queries that lost and that gained most, in words."""
    if found.comparison is None:
        return
    pair = next(iter(found.comparison))
    for changes, n, became in ((found.losses, pair.losses, "worse"), (found.gains, pair.wins, "better")):
        if changes:
            most = f"; the {len(changes)} that changed most" if n > len(changes) else ""
            title = f"{counted(n, 'query')} got {became}{most}"
            yield ChangedQueries(title, tuple(changed_query(pair, change, None) for change in changes))


def other_queries_row(found: RunChange) -> Iterator[list[Cell]]:
    """Yield what the queries that only one run was asked make of the two means, where there are any."""
    then, now, total = found.before.mean_then, found.after.mean, found.change.total
    if not found.queries.are_same and then is not None and now is not None and total is not None:
        yield [Cell("other queries: those that only one of the runs was asked"), signed(now - then - total)]


def facts_report(title: str, facts: Mapping[str, str], *, command: str = "") -> Report:
    """Return a report that is a list of facts, such as what is known of a run."""
    table = Table(["", ""], [[Cell(name), Cell(value)] for name, value in facts.items()], n_name_columns=2)
    footer = (("command", command),) if command else ()
    return Report(title=title, first_screen=(TableBlock("", table),), sections=(), footer=footer)


def estimate_block(found: RunChange) -> Iterator[Block]:
    if found.comparison is None:
        return
    pair = next(iter(found.comparison))
    if pair.delta is None:
        return
    ends = "" if pair.ci.low is None or pair.ci.high is None else f" (95% CI {pair.ci.low:+.4f} to {pair.ci.high:+.4f})"
    one = Estimate(f"{pair.b} against {pair.a}", pair.delta, pair.ci.low, pair.ci.high, f"{pair.delta:+.4f}{ends}")
    yield Estimates("The system's part", (one,), pair.margin)


def facts_of_pair(found: RunChange) -> Iterator[Block]:
    """Yield how much the difference changes from run to run, and how often the queries were compared on."""
    if found.comparison is None:
        return
    facts = [*run_to_run_fact(next(iter(found.comparison)))]
    if found.comparison.look is not None:
        facts.append(Fact("Comparisons on these queries", f"{found.comparison.look:,}", BY_CHANCE))
    if facts:
        yield Facts("", tuple(facts))


def trend_figure(history: History) -> Block:
    from rankscope.report.charts.trend import TrendChart, TrendEvent, TrendPoint

    start = datetime.fromisoformat(min(point.started for system in history.systems for point in system.points))

    def place(time: str) -> float:
        return (datetime.fromisoformat(time) - start).total_seconds()

    times = [point.started for system in history.systems for point in system.points]
    in_one_day = min(times)[:10] == max(times)[:10]
    when = f"on {min(times)[:10]}" if in_one_day else "over time"
    labels_differ = any(point.mean_then != point.mean for point in history.main_system.points)
    points = [
        TrendPoint(
            point.started[11:16] if in_one_day else point.started[:10],
            _or_nan(point.mean),
            _or_nan(point.low),
            _or_nan(point.high),
            at=place(point.started),
            system=system.system,
            then=_or_nan(point.mean_then) if labels_differ and system.system == history.main else math.nan,
            is_new=point.queries is not None and not point.queries.are_same,
        )
        for system in history.systems
        for point in system.points
    ]
    chart = TrendChart(
        points,
        history.measure,
        title=f"{history.measure} {when}, under {judgments_of(history)}",
        better=history.better,
        main=history.main,
        events=[TrendEvent(place(step.at), "labels") for step in history.label_steps if abs(step.labels) >= SMALL],
    )
    return figure_of(chart)


def parts_figures(history: History) -> Iterator[Block]:
    """Yield the chart of what moved the number of the main system, where it has moved at all."""
    from rankscope.report.charts.waterfall import WaterfallChart, WaterfallPart

    system, verdict = history.main_system, history.verdict
    change, last = system.change, system.points[-1]
    first = next((point for point in system.points if point.run == system.since), None)
    if first is None or change is None or verdict is None or last.mean is None or first.mean_then is None:
        return
    if change.labels is None or change.system is None:
        return
    ends = interval_of(verdict)
    yield figure_of(
        WaterfallChart(
            start=first.mean_then,
            start_label="then",
            parts=[
                WaterfallPart("labels", change.labels, "unsafe"),
                WaterfallPart("system", change.system, VERDICT_MARKS[verdict.verdict]),
            ],
            end_label=today(history),
            measure=history.measure,
            title=f"{system.system}: from what was printed to what it is {today(history)}",
            subtitle=f"printed on {day(first)}; system: {verdict.short}{f', {ends}' if ends else ''}",
        )
    )


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


def change_cell(point: HistoryPoint) -> Cell:
    """Return what the system has changed since the run before; where many queries differ, nothing can be said.

    Where few do, it is the change on those that both runs were asked.
    """
    if point.queries is not None and not point.queries.are_same:
        if point.queries.are_nearly_same and point.change is not None and point.change.system is not None:
            value = point.change.system
            return Cell(f"{value:+.4f} on {point.queries.n_common} common queries", raw=repr(value))
        return Cell("other queries")
    if point.refused:
        return Cell("not comparable")
    return Cell("") if point.change is None else signed(point.change.system)


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
