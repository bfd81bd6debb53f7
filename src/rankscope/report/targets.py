"""The report of targets: what fails and what is there instead, then the graded measures, then what passed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from rankscope.analysis.targets import (
    GradedMean,
    Target,
    TargetCounts,
    TargetOutcome,
    TargetResult,
    TargetsReport,
    count_results,
)
from rankscope.data.texts import beginning
from rankscope.measures.scores import show
from rankscope.printable import counted, printable
from rankscope.records import or_nan, replace
from rankscope.report.document import (
    Block,
    Bullets,
    CheckedTarget,
    CheckedTargets,
    Mark,
    Report,
    Section,
    TableBlock,
    VerdictBlock,
)
from rankscope.report.render.junit import JUnitCase
from rankscope.report.table import Cell, Table
from rankscope.report.words import without_empty

MARKS: dict[TargetOutcome, Mark] = {"passed": "fine", "failed": "fails", "quarantined": "look"}
LONGEST_TEXT = 120
"""A query's text is cut about there."""
FEW_RUNS = 3
"""With more runs a target is shown once, with the first of those in which it fails."""
SHOWN = 20
"""So many targets are shown in full; a table has them all."""


def report_of(checked: TargetsReport, *, command: str = "") -> Report:
    first: list[Block] = [answer_block(checked)]
    if len(places(checked)) > 1:
        first.append(TableBlock("By run", table_by_run(checked)))
    first += outcome_blocks(checked, "failed", "What fails")
    first += outcome_blocks(checked, "quarantined", "In quarantine, so that it does not count yet")
    if can_end := tuple(quarantines_that_can_end(checked)):
        first.append(Bullets("Quarantines that can end", can_end))
    sections = [Section("Graded measures", tuple(mean_blocks(checked)))]
    if checked.notes:
        sections.append(Section("What must be known of the numbers", (Bullets("", checked.notes),)))
    block = TableBlock("What came of each target in each run", every_target(checked), folded=True)
    sections.append(Section("Every target", (block,)))
    footer = [("quarantines judged on", str(checked.checked_on)), ("rankscope", checked.rankscope)]
    return Report(
        title=f"Targets · {of_runs(checked)} · {counted(len(checked.targets), 'target')}",
        first_screen=tuple(first),
        sections=tuple(sections),
        footer=(*footer, *([("command", command)] if command else [])),
    )


def of_runs(checked: TargetsReport) -> str:
    return checked.runs[0] if len(checked.runs) == 1 else counted(len(checked.runs), "run")


def answer_block(checked: TargetsReport) -> VerdictBlock:
    counts = checked.counts
    is_one = len(places(checked)) == 1
    things = counted(counts.total, "target" if is_one else "check")
    scope = "" if is_one else f" ({counted(len(checked.targets), 'target')}, {counted(len(places(checked)), 'run')})"
    if counts.total == 1 and not counts.quarantined:
        headline = f"The only target {'fails' if counts.failed else 'passes'}."
    elif counts.failed:
        headline = f"{counts.failed} of {things} {'fails' if counts.failed == 1 else 'fail'}{scope}."
    elif counts.quarantined:
        verb = "is" if counts.quarantined == 1 else "are"
        headline = f"No target fails{scope}; {counts.quarantined} of {counts.total} {verb} in quarantine."
    else:
        headline = f"All {things} pass{scope}."
    mark: Mark = "fails" if counts.failed else "look" if counts.quarantined else "fine"
    cautions = tuple(
        f"The quarantine of “{target.name}” ended on {target.quarantine_until}: it counts again."
        for target in checked.targets
        if target.quarantine_ended(checked.checked_on)
        and any(one.target == target.name and one.outcome == "failed" for one in checked.results)
    )
    return VerdictBlock(headline, f"{share_words(checked)}.", mark, cautions=cautions)


def quarantines_that_can_end(checked: TargetsReport) -> Iterator[str]:
    """Yield which targets pass in all runs although they are in quarantine."""
    for target in checked.targets:
        found = [one for one in checked.results if one.target == target.name]
        if target.is_quarantined(checked.checked_on) and found and all(one.outcome == "passed" for one in found):
            yield f"“{target.name}” passes: its quarantine until {target.quarantine_until} can end."


def share_words(checked: TargetsReport) -> str:
    """Return the counts, the weighted share and, of several runs, in how many of them nothing fails."""
    counts = checked.counts
    words = f"{counts.passed} passed, {counts.failed} failed, {counts.quarantined} quarantined"
    words += ", which does not count" if counts.quarantined else ""
    if counts.share is not None:
        what = "of the weight passed" if len({target.weight for target in checked.targets}) > 1 else "passed"
        words += f"; {percent_of(counts.share)} {what}"
    by_run = counts_by_run(checked)
    if len(by_run) > 1 and counts.failed:
        n_without = sum(not one.failed for one in by_run.values())
        of_runs = f"Nothing fails in {n_without} of {len(by_run)} runs" if n_without else "Something fails in every run"
        words += f". {of_runs}"
    return words


def percent_of(share: float) -> str:
    """Return a share in percent that is 100% or 0% only where it is all or nothing."""
    rounded = round(100 * share)
    if rounded in (0, 100) and 0 < share < 1:
        rounded = 99 if rounded else 1
    return f"{rounded}%"


def has_collections(checked: TargetsReport) -> bool:
    """Tell whether there are several collections, so that each result has to say which it is about."""
    return len({one.collection for one in checked.results}) > 1


def places(checked: TargetsReport) -> list[tuple[str, str]]:
    """Return the runs that were checked, each with its collection."""
    return list(dict.fromkeys((one.collection, one.run) for one in checked.results))


def counts_by_run(checked: TargetsReport) -> dict[tuple[str, str], TargetCounts]:
    """Return what came of the targets in each run, by collection and run, the best first."""
    found = {
        place: count_results([one for one in checked.results if (one.collection, one.run) == place], checked.targets)
        for place in places(checked)
    }
    return dict(sorted(found.items(), key=lambda item: (item[1].failed > 0, -(item[1].share or 0.0))))


def table_by_run(checked: TargetsReport) -> Table:
    with_collection = has_collections(checked)
    rows = []
    for (collection, run), counts in counts_by_run(checked).items():
        numbers = (counts.failed, counts.passed, counts.quarantined)
        share = "" if counts.share is None else percent_of(counts.share)
        rows.append(list(map(Cell, [run, *([collection] if with_collection else []), *map(str, numbers), share])))
    names = ["run", *(["collection"] if with_collection else [])]
    header = [*names, "failed", "passed", "quarantined", "weight passed"]
    return Table(header, rows, len(names), keep=("failed", "weight passed"))


def outcome_blocks(checked: TargetsReport, outcome: TargetOutcome, title: str) -> Iterator[Block]:
    """Yield the targets of one outcome: each run by itself, or with many runs each target once."""
    found = list(checked.of_outcome(outcome))
    if not found:
        return
    if len(places(checked)) <= FEW_RUNS:
        shown = [shown_target(target, one, checked) for target, one in found]
    else:
        by_target: dict[str, list[tuple[Target, TargetResult]]] = {}
        for target, one in found:
            by_target.setdefault(target.name, []).append((target, one))
        shown = [target_in_runs(pairs, checked) for pairs in by_target.values()]
    n_more = len(shown) - SHOWN
    note = f"{counted(n_more, 'more target')} below, among all" if n_more > 0 else ""
    yield CheckedTargets(title, tuple(shown[:SHOWN]), note)


def target_in_runs(pairs: Sequence[tuple[Target, TargetResult]], checked: TargetsReport) -> CheckedTarget:
    """Return a target with the runs in which it fails, of many the first."""
    target, first = pairs[0]
    if len(pairs) == 1:
        return shown_target(target, first, checked)
    n_checked = sum(one.target == target.name for one in checked.results)
    named = has_collections(checked)
    lines = [f"{one.run}{f' ({one.collection})' if named else ''}: {one.words}" for _, one in pairs[:FEW_RUNS]]
    if len(pairs) > FEW_RUNS:
        lines.append(f"and {counted(len(pairs) - FEW_RUNS, 'more run')}, below among all")
    alone = shown_target(target, first, checked)
    where = f"{beginning(first.query_text, LONGEST_TEXT)} ({target.where})" if first.query_text else target.where
    words = f"It fails in {len(pairs)} of {counted(n_checked, 'run')}."
    return replace(alone, about=where, words=words, instead=tuple(lines))


def shown_target(target: Target, one: TargetResult, checked: TargetsReport) -> CheckedTarget:
    small = [f"why: {target.reason}" if target.reason else "", f"owner: {target.owner}" if target.owner else ""]
    small += [f"weight {target.weight:g}" if target.weight != 1 else "", one.remark]
    return CheckedTarget(
        name=target.name,
        mark=MARKS[one.outcome],
        outcome=one.outcome,
        about=about(target, one, checked),
        words=sentence(one.words),
        instead=tuple(line.line for line in one.instead),
        small=" · ".join(filter(None, small)),
    )


def about(target: Target, one: TargetResult, checked: TargetsReport) -> str:
    """Return the query and, where there are several, the run and the collection."""
    where = f"{beginning(one.query_text, LONGEST_TEXT)} ({target.where})" if one.query_text else target.where
    several = len(places(checked)) > 1
    if not several and target.name.startswith(where):  # a target without a name is called so
        return ""
    parts = [where, one.run if several else "", one.collection if has_collections(checked) else ""]
    return " · ".join(filter(None, parts))


def sentence(words: str) -> str:
    return f"{words}."


def mean_blocks(checked: TargetsReport) -> Iterator[Block]:
    """Yield a table of means for each collection."""
    for collection in dict.fromkeys(one.collection for one in checked.means):
        here = [one for one in checked.means if one.collection == collection]
        measures = list(dict.fromkeys(one.measure for one in here))
        value_of = {(one.run, one.measure): one for one in here}
        n_queries = max(one.n_queries for one in here)
        rows = [
            [Cell(run), *(mean_cell(value_of[run, measure], n_queries) for measure in measures)]
            for run in dict.fromkeys(one.run for one in here)
        ]
        title = f"{collection} · {counted(n_queries, 'query')}" if collection else counted(n_queries, "query")
        yield TableBlock(title, Table(["run", *measures], rows))


def mean_cell(mean: GradedMean, n_queries: int) -> Cell:
    """Return a mean, with the number of its queries where others are about more."""
    value = or_nan(mean.value)
    return Cell(show(value) + (f" (n={mean.n_queries})" if mean.n_queries < n_queries else ""), raw=repr(value))


def every_target(checked: TargetsReport) -> Table:
    """Return all results as a table, those that fail first."""
    pairs = [pair for outcome in ("failed", "quarantined", "passed") for pair in checked.of_outcome(outcome)]
    with_collection = has_collections(checked)
    rows = [
        [
            Cell(target.name),
            Cell(one.run),
            *([Cell(one.collection)] if with_collection else []),
            Cell(one.outcome),
            Cell(one.words),
            Cell(one.remark),
            Cell(target.owner),
            Cell(f"{target.weight:g}"),
        ]
        for target, one in pairs
    ]
    names = ["target", "run", *(["collection"] if with_collection else []), "outcome", "what is so", "remark", "owner"]
    table = Table([*names, "weight"], rows, len(names), optional=("owner", "remark"), keep=("outcome",))
    return without_empty(table, "remark")


def cases_of(checked: TargetsReport) -> Iterator[JUnitCase]:
    """Yield one test case per target and run; one in quarantine that fails is skipped, with what is so."""
    target_of = {target.name: target for target in checked.targets}
    for one in checked.results:
        target = target_of[one.target]
        words = failure_text(target, one)
        properties = {"query": target.where, "owner": target.owner, "weight": f"{target.weight:g}", "found": one.words}
        collection = f".{one.collection}" if one.collection else ""
        yield JUnitCase(
            name=target.name,
            classname=f"rankscope.check{collection}.{one.run}",
            failed=words if one.outcome == "failed" else None,
            skipped=words if one.outcome == "quarantined" else None,
            message=one.remark if one.outcome == "passed" and one.remark else None,
            properties={name: value for name, value in properties.items() if value},
        )


def failure_text(target: Target, one: TargetResult) -> str:
    """Return what is so in a few lines, as a build server or a failed test shows it: what is there instead, and why."""
    where = f"{one.query_text} ({target.where})" if one.query_text else target.where
    lines = [f"{where}: {one.words}", *(f"  {line.line}" for line in one.instead)]
    lines += [f"why: {target.reason}"] if target.reason else []
    lines += [f"owner: {target.owner}"] if target.owner else []
    # a line break in what users wrote would begin a line of its own, which may be a command of a build server
    return "\n".join(map(printable, [*lines, *([one.remark] if one.remark else [])]))


COLUMNS: dict[str, tuple[type, Callable[[Target, TargetResult], Any]]] = {
    "target": (str, lambda _, one: one.target),
    "run": (str, lambda _, one: one.run),
    "collection": (str, lambda _, one: one.collection or None),
    "query": (str, lambda target, _: target.query),
    "outcome": (str, lambda _, one: one.outcome),
    "value": (float, lambda _, one: one.value),
    "words": (str, lambda _, one: one.words),
    "owner": (str, lambda target, _: target.owner or None),
    "weight": (float, lambda target, _: target.weight),
}
"""The columns of results as a table, each with its type and where its value comes from."""


def results_with_targets(checked: TargetsReport) -> Sequence[tuple[Target, TargetResult]]:
    target_of = {target.name: target for target in checked.targets}
    return [(target_of[one.target], one) for one in checked.results]
