"""Names of imported runs: files of one system are one run, unless they differ for the same query."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rankscope.errors import FormatError
from rankscope.predecessors.importers.model import ImportedCollection

_DAY = re.compile(r"(\d{4})-?(\d{2})-?(\d{2})")


def name_runs(
    parts: Mapping[str, ImportedCollection], marks: Mapping[str, str], folders: Mapping[str, str]
) -> tuple[dict[tuple[str, str], str], list[str]]:
    """Return what each system of each file is called, and what has to be said of it.

    Lists of one system for different queries belong to one run. Where two files have other lists or scores of it for
    the same query, its files are divided into as few runs as tell them apart.
    """
    names: dict[tuple[str, str], str] = {}
    notes: list[str] = []
    for system in dict.fromkeys(name for part in parts.values() for name in part.systems):
        having = [label for label, part in parts.items() if system in part.systems]
        names |= {(label, system): system for label in having}
        query = differing_query(parts, having, system)
        if query is not None:
            groups, how = divided(parts, having, system, marks, folders)
            names |= {(label, system): f"{system}_{mark}" for mark, labels in groups.items() for label in labels}
            notes.append(f"{system} differs between files, e.g. for query {query}: its runs are named apart, {how}")
    owners: dict[str, str] = {}
    for (_, system), name in names.items():
        if owners.setdefault(name, system) != system:
            raise FormatError(
                f"runs of {owners[name]} and of {system} would both be called {name}", hint="rename one of the files"
            )
    return names, notes


def divided(
    parts: Mapping[str, ImportedCollection],
    labels: Sequence[str],
    system: str,
    marks: Mapping[str, str],
    folders: Mapping[str, str],
) -> tuple[dict[str, list[str]], str]:
    """Divide files that differ into runs: return the files of each by what it is named after, and words for how.

    Days, folders and kinds of files come first, of these what makes the fewest runs; then what names of files begin or
    end with; then any division where no two files of a run answer the same query.
    """
    days = {label: day_of(parts[label].made) for label in labels}
    words = {label: re.findall(r"[^\W_]+", marks[label]) or [marks[label]] for label in labels}
    known = {
        "by the days that the files say": by_days(parts, days, system) if all(days.values()) else {},
        "by their folders": grouped(labels, folders),
        "by the kinds of files": grouped(labels, {label: parts[label].kind.partition("-")[2] for label in labels}),
    }
    guessed = {
        "by what the names of files begin with": grouped(labels, {label: words[label][0] for label in labels}),
        "by what the names of files end with": grouped(labels, {label: words[label][-1] for label in labels}),
        "by the first file of each": without_overlaps(parts, labels, system, marks),
    }
    for ways in (known, guessed):
        fitting = {
            how: groups
            for how, groups in ways.items()
            if groups
            and (len(groups) < len(labels) or "days" in how)
            and all(differing_query(parts, group, system) is None for group in groups.values())
        }
        if fitting:
            how = min(fitting, key=lambda how: len(fitting[how]))
            return fitting[how], how
    return {marks[label]: [label] for label in labels}, "by their files"


def grouped(labels: Iterable[str], mark_of: Mapping[str, str]) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for label in labels:
        groups.setdefault(mark_of[label], []).append(label)
    return groups


def by_days(
    parts: Mapping[str, ImportedCollection], day_of_file: Mapping[str, str], system: str
) -> dict[str, list[str]]:
    """Return files by days; a day belongs to the one before it where they have no query in common."""
    groups: dict[str, list[str]] = {}
    current, taken = "", set[str]()
    for day, labels in sorted(grouped(day_of_file, day_of_file).items()):
        own = {query for label in labels for query, _ in said_of(parts[label], system)}
        if not current or taken & own:
            current, taken = day, set()
        groups.setdefault(current, []).extend(labels)
        taken |= own
    return groups


def without_overlaps(
    parts: Mapping[str, ImportedCollection], labels: Sequence[str], system: str, marks: Mapping[str, str]
) -> dict[str, list[str]]:
    """Put each file into the first group that has nothing for its queries yet; groups are named after their first."""
    groups: dict[str, list[str]] = {}
    taken: dict[str, set[str]] = {}
    for label in labels:
        own = {query for query, _ in said_of(parts[label], system)}
        mark = next((mark for mark, queries in taken.items() if not queries & own), marks[label])
        groups.setdefault(mark, []).append(label)
        taken.setdefault(mark, set()).update(own)
    return groups


def differing_query(parts: Mapping[str, ImportedCollection], labels: Sequence[str], system: str) -> str | None:
    """Return a query for which the lists or scores of a system differ between files, None where there is none."""
    seen: dict[tuple[str, str], Any] = {}
    for label in labels:
        for key, value in said_of(parts[label], system).items():
            if seen.setdefault(key, value) != value:
                return key[0]
    return None


def said_of(part: ImportedCollection, system: str) -> dict[tuple[str, str], Any]:
    """Return a system's list for each query, and its scores, by query and measure."""
    said: dict[tuple[str, str], Any] = {}
    for run in part.runs:
        for result in run.results if run.name == system else ():
            said.setdefault((result.query, ""), []).append(result.doc)
    for score in part.scores:
        if score.system == system and score.query is not None:
            said[score.query, score.measure] = score.value
    return said


def day_of(made: str) -> str:
    """Return the day of a time such as 2025-01-21T10:00:00 or 20250121T100000, empty where there is none."""
    found = _DAY.match(made)
    return "-".join(found.groups()) if found else ""
