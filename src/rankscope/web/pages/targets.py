"""What is expected of rankings, query by query, and what came of it, as `rankscope check` kept it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Literal

from rankscope.analysis.targets import Target, TargetOutcome
from rankscope.errors import RankscopeError
from rankscope.experiment.targets import targets_of
from rankscope.printable import counted
from rankscope.records import Options, Record
from rankscope.report.document import Mark, Report, TableBlock, VerdictBlock
from rankscope.report.table import Cell, Table
from rankscope.report.targets import MARKS
from rankscope.store.targets import StoredTargetResult
from rankscope.web.library import Library

SHOWN_RESULTS = 16
"""The newest results of a target, one square each."""
MOST_RESULTS = 20_000
"""Of more results in a store, the newest are looked at."""


TargetState = Literal["failed", "quarantined", "unchecked", "passed"]
ORDER: tuple[TargetState, ...] = ("failed", "quarantined", "unchecked", "passed")


class TargetsOptions(Options):
    """Which targets are shown."""

    collection: str | None = None
    system: str | None = None
    state: TargetState | None = None
    """Only targets in this state; by default all, those that fail first."""
    owner: str | None = None


class TargetLine(Record, kw_only=True):
    """One target in one system: what must hold, and how it has been."""

    name: str
    query_text: str
    """What the query asks; empty where the target is about more than one, or where that is not known."""
    where: str
    """The query's id, the stratum, or all queries."""
    expected: str
    collection: str
    system: str
    """Empty where it was not checked yet."""
    state: TargetState
    mark: Mark
    words: str
    """What is so now."""
    instead: tuple[str, ...]
    """Where it fails: what is there."""
    owner: str
    reason: str
    quarantine_until: str | None
    weight: float
    run: int | None
    checked: str
    results: tuple[TargetOutcome, ...]
    """The newest results, the oldest of them first."""
    query: str | None


class TargetsPage(Record):
    """What stands on the page of the targets."""

    collections: tuple[str, ...]
    collection: str | None
    answer: VerdictBlock | None
    """None where there are no targets."""
    lines: tuple[TargetLine, ...]
    systems: tuple[str, ...]
    owners: tuple[str, ...]


def targets_page(library: Library, asked: TargetsOptions) -> TargetsPage:
    """Show what is expected of single queries, strata and the whole set, and which of it holds."""
    results = library.cached(("targets",), lambda: library.store.targets.list(last=MOST_RESULTS))
    in_collection = [one for one in results if asked.collection in (None, one.result.collection)]
    lines = (*newest_lines(in_collection), *unchecked(library, results, asked.collection))
    shown = [
        line
        for line in lines
        if asked.system in (None, line.system)
        and asked.state in (None, line.state)
        and asked.owner in (None, line.owner)
    ]
    return TargetsPage(
        collections=tuple(dict.fromkeys(one.result.collection for one in results if one.result.collection)),
        collection=asked.collection,
        answer=answer_of(lines) if lines else None,
        lines=tuple(sorted(shown, key=lambda line: (ORDER.index(line.state), -line.weight, line.name))),
        systems=tuple(dict.fromkeys(line.system for line in lines if line.system)),
        owners=tuple(sorted({line.owner for line in lines if line.owner})),
    )


def unchecked(library: Library, results: Sequence[StoredTargetResult], collection: str | None) -> Iterator[TargetLine]:
    """Yield the targets of the project that were never checked, such as a test case that was saved just now."""
    project = library.project
    if project is None:
        return
    with suppress(RankscopeError):  # there are none, or the file is being written: what was checked is shown
        checked = {one.target.name for one in results}
        for target in targets_of(project):
            wanted = target.collections or tuple(project.collections)
            if target.name not in checked and (collection is None or collection in wanted):
                yield unchecked_line(target, collection or wanted[0])


def unchecked_line(target: Target, collection: str) -> TargetLine:
    return TargetLine(
        name=target.name,
        query_text="",
        where=target.where,
        expected=target.expected,
        collection=collection,
        system="",
        state="unchecked",
        mark="look",
        words="The next run from the page checks it, and so does `rankscope check`.",
        instead=(),
        owner=target.owner,
        reason=target.reason,
        quarantine_until=None if target.quarantine_until is None else str(target.quarantine_until),
        weight=target.weight,
        run=None,
        checked="",
        results=(),
        query=target.query,
    )


def newest_lines(results: list[StoredTargetResult]) -> list[TargetLine]:
    """Return a line for each target and system; targets that are no longer checked with the others are left out."""
    of_line: dict[tuple[str, str, str], list[StoredTargetResult]] = {}
    for one in results:
        of_line.setdefault((one.result.collection, one.target.name, one.result.run), []).append(one)
    return [line_of(group) for group in of_line.values()]


def line_of(group: list[StoredTargetResult]) -> TargetLine:
    newest = group[-1]
    target: Target = newest.target
    result = newest.result
    return TargetLine(
        name=target.name,
        query_text=result.query_text,
        where=target.where,
        expected=target.expected,
        collection=result.collection,
        system=result.run,
        state=result.outcome,
        mark=MARKS[result.outcome],
        words=result.words,
        instead=tuple(one.line for one in result.instead),
        owner=target.owner,
        reason=target.reason,
        quarantine_until=None if target.quarantine_until is None else str(target.quarantine_until),
        weight=target.weight,
        run=newest.run,
        checked=newest.stored,
        results=tuple(one.result.outcome for one in group[-SHOWN_RESULTS:]),
        query=target.query,
    )


def answer_of(lines: tuple[TargetLine, ...]) -> VerdictBlock:
    """Say how many fail, and how many were never checked."""
    n = {state: sum(line.state == state for line in lines) for state in ORDER}
    new = n["unchecked"]
    waiting = f"{counted(new, 'target')} {'was' if new == 1 else 'were'} not checked yet." if new else ""
    checked = [line for line in lines if line.state != "unchecked"]
    if not checked:
        return VerdictBlock(waiting, "A run from the page checks them, and so does `rankscope check`.", "look")
    state_of: dict[tuple[str, str], TargetState] = {}  # a target is as it is in the system that is worst at it
    for line in checked:
        key = (line.collection, line.name)
        state_of[key] = min(state_of.get(key, line.state), line.state, key=ORDER.index)
    n_failed, n_quarantined = ([*state_of.values()].count(state) for state in ("failed", "quarantined"))
    things = counted(len(state_of), "target")
    of = f"{things} in {counted(len({line.system for line in checked}), 'system')}, {counted(len(checked), 'check')}"
    if n_failed:
        headline = f"{n_failed} of {things} {'fails' if n_failed == 1 else 'fail'}."
    elif n_quarantined:
        headline = (
            f"No target fails; {n_quarantined} of {things} {'is' if n_quarantined == 1 else 'are'} in quarantine."
        )
    else:
        headline = "The only target holds." if len(state_of) == 1 else f"All {things} hold."
    mark: Mark = "fails" if n["failed"] else "look" if n["quarantined"] or new else "fine"
    reason = f"{of}: {n['passed']} hold, {n['failed']} fail, {n['quarantined']} in quarantine."
    return VerdictBlock(f"{headline} {waiting}".strip(), reason, mark)


def targets_report(page: TargetsPage) -> Report | None:
    """Return what is on the page as a report, from which files are exported."""
    if page.answer is None:
        return None
    header = ["target", "query", "where", "expected", "collection", "system", "state", "what is so", "owner", "reason",
              "quarantine until", "weight", "run", "checked"]  # fmt: skip
    rows = [
        [
            *map(Cell, (line.name, line.query_text, line.where, line.expected, line.collection, line.system)),
            *map(Cell, (line.state, line.words, line.owner, line.reason, line.quarantine_until or "")),
            Cell(f"{line.weight:g}"),
            Cell("" if line.run is None else str(line.run)),
            Cell(line.checked),
        ]
        for line in page.lines
    ]
    table = TableBlock("Targets", Table(header, rows, n_name_columns=11))
    return Report(title="Targets", first_screen=(page.answer, table), sections=(), footer=())
