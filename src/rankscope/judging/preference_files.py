"""Preferences as lines of a file of judgments: which of two lists somebody found better.

A line of JSONL, or a row of a table, that names a `left` and a `right` system is a preference; all others are single
judgments. They belong to a task, as a list is what a system of the task showed.
"""

from __future__ import annotations

import json
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from rankscope.data.judgments import LONGEST_NOTE, JudgmentSource, as_text, is_duration, is_earlier
from rankscope.data.tasks import AGAIN, Preference, Task, TaskRater, again_name
from rankscope.errors import FormatError
from rankscope.printable import counted
from rankscope.records import Record, from_builtins, replace, to_builtins
from rankscope.store.preferences import preference_problem, preference_state

if TYPE_CHECKING:
    from rankscope.store.store import Store

COLUMNS = ("left", "right", "preference", "again")
"""Of a table of judgments, what preferences have beside the columns of all."""
_NAMESPACE = uuid.UUID("6d0f3c1e-58a7-4c0e-9a53-2f5b7c1d9e40")
NO_UUID = str(uuid.UUID(int=0))


class PreferenceLine(Record, kw_only=True):
    """A preference as a file holds it."""

    uuid: str = ""
    """Its own; empty where the file has none."""
    query: str
    source: JudgmentSource
    left: str
    """The system on the left; `right` was on the other side."""
    right: str
    preference: int | None
    """-2 left clearly, -1 left slightly, 0 no difference, 1 right slightly, 2 right clearly; None: cannot tell."""
    status: Literal["ok", "cannot_tell"] = "ok"
    note: str = ""
    at: str | None = None
    seconds: float | None = None
    guideline: str | None = None
    task: str | None = None
    again: bool = False
    """Whether the lists were shown a second time, with sides swapped."""


def is_preference(row: Mapping[str, Any]) -> bool:
    return bool(row.get("left") or row.get("right"))


def preference_line(record: Mapping[str, Any], *, where: str) -> PreferenceLine:
    """Return a row of a file as a preference; what cannot be one is an error with its place."""
    line = from_builtins(PreferenceLine, dict(record), where=where)
    if problem := preference_problem(as_preference(line, task="", rater="")):
        raise FormatError(f"{where}: {problem}", hint="docs/formats.md says what a preference holds")
    if len(line.note) > LONGEST_NOTE:
        raise FormatError(f"{where}: its note has {len(line.note):,} characters", hint=f"at most {LONGEST_NOTE:,} fit")
    return replace(line, note=as_text(line.note))


def as_preference(line: PreferenceLine, *, task: str, rater: str) -> Preference:
    return Preference(
        uuid=line.uuid or NO_UUID,
        task=again_name(task) if line.again else task,
        query=line.query,
        rater=rater,
        left=line.left,
        right=line.right,
        value=line.preference,
        status=line.status,
        note=line.note,
        at=line.at,
        seconds=line.seconds,
        guideline=line.guideline,
    )


def lines_of_preferences(store: Store, tasks: Iterable[Task], names: Mapping[str, str]) -> list[PreferenceLine]:
    """Return the preferences that hold in tasks, in the order in which they came."""
    names_of_tasks = [name for task in tasks for name in (str(task.number), again_name(str(task.number)))]
    held = [each for name in names_of_tasks for each in store.preferences.current(task=name)]
    return [line_of(each.preference, names) for each in sorted(held, key=lambda each: each.number)]


def line_of(each: Preference, names: Mapping[str, str]) -> PreferenceLine:
    return PreferenceLine(
        uuid=each.uuid,
        query=each.query,
        source=JudgmentSource("person", id=each.rater, name=names.get(each.rater, "")),
        left=each.left,
        right=each.right,
        preference=each.value,
        status="ok" if each.status == "ok" else "cannot_tell",
        note=as_text(each.note),
        at=each.at,
        seconds=each.seconds if each.seconds is not None and is_duration(each.seconds) else None,
        guideline=each.guideline,
        task=each.task.removesuffix(AGAIN),
        again=each.task.endswith(AGAIN),
    )


def table_cells(line: PreferenceLine) -> dict[str, str]:
    """Return a preference as cells of a table of judgments."""
    return {
        **{
            name: str(getattr(line, name) or "")
            for name in ("query", "left", "right", "note", "at", "guideline", "task")
        },
        "status": line.status,
        "preference": "" if line.preference is None else str(line.preference),
        "again": "yes" if line.again else "",
        "rater": line.source.name or line.source.id,
        "rater_id": line.source.id if line.source.name else "",
        "kind": line.source.kind,
        "seconds": "" if line.seconds is None else repr(line.seconds),
    }


def fitting_preferences(
    store: Store, task: Task, lines: Sequence[PreferenceLine], notes: list[str]
) -> list[PreferenceLine]:
    """Return the preferences of people for lists that a task has; the others are counted."""
    people = [line for line in lines if line.source.kind == "person"]
    if len(people) < len(lines):
        notes.append(f"{counted(len(lines) - len(people), 'preference')} of a model left out: people judge in tasks")
    queries, systems = {item.query for item in store.tasks.items(task)}, set(task.plan.systems)
    found = [line for line in people if line.query in queries and {line.left, line.right} <= systems]
    if others := [line for line in people if line not in found]:
        first = others[0]
        notes.append(
            f"{counted(len(others), 'preference')} for queries or lists outside the task left out, such as "
            f"{first.left} against {first.right} for {first.query}"
        )
    return found


def keep_preferences(
    store: Store,
    task: Task,
    lines: Sequence[PreferenceLine],
    raters: Mapping[JudgmentSource, TaskRater],
    notes: list[str],
) -> tuple[int, int]:
    """Keep preferences as those of a task; return how many there are, and how many are new.

    What a rater has said already, word by word, is not said again, whatever uuid it came with.
    """
    number, guidelines = str(task.number), store.judgments.guidelines()
    held = [each for name in (number, again_name(number)) for each in store.preferences.list(task=name)]
    before = {each.preference.uuid for each in held}
    wanted = []
    for line in lines:
        own = as_preference(line, task=number, rater=raters[line.source].id)
        if own.guideline is not None and own.guideline not in guidelines:
            note = f"the text of guideline {own.guideline[:12]} is not in the store, so its preferences name none"
            notes.extend([] if note in notes else [note])
            own = replace(own, guideline=None)
        wanted.append(own)
    kept = {each.uuid: each for each in with_uuids(wanted, [each.preference for each in held])}
    states = [preference_state(each) for each in kept.values()]
    if several := len(states) - len(set(states)):
        times = counted(several, "time")
        notes.append(f"several preferences of a rater for the same two lists, {times}, of which the last holds")
    store.preferences.add(kept.values())
    current = [each for name in (number, again_name(number)) for each in store.preferences.current(task=name)]
    holding = {said_by(each.preference) for each in current}
    last = {preference_state(each): each for each in kept.values()}
    if n_replaced := sum(each.uuid in before and said_by(each) not in holding for each in last.values()):
        notes.append(replaced_words(counted(n_replaced, "preference"), n_replaced))
    earlier = {preference_state(each.preference): each.preference for each in held}
    fresh = [each for state, each in last.items() if each.uuid not in before and state in earlier]
    if n_older := sum(is_earlier(each.at, earlier[preference_state(each)].at) for each in fresh):
        notes.append(older_words(counted(n_older, "preference")))
    return len(kept), sum(each not in before for each in kept)


def with_uuids(wanted: Iterable[Preference], held: Iterable[Preference]) -> Iterator[Preference]:
    """Yield preferences as the store has them, or with uuids that follow from what they say; a repeated row once.

    Who says again what they said before something else has a preference of its own, which holds.
    """
    known: dict[str, list[Preference]] = {}
    for each in held:
        known.setdefault(said_by(each), []).append(each)
    newest: dict[str, str] = {}
    n_times: Counter[str] = Counter()
    for each in wanted:
        said, state = said_by(each), preference_state(each)
        if newest.get(state) == said:
            continue
        newest[state] = said
        n, same = n_times[said], known.get(said, [])
        n_times[said] += 1
        name = f"{said} {n + 1}" if n else said
        yield same[n] if n < len(same) else replace(each, uuid=str(uuid.uuid5(_NAMESPACE, name)))


def replaced_words(what: str, n: int) -> str:
    """Say that so many of a file were taken in before and hold no more."""
    are, have, tells = ("was", "has", "it") if n == 1 else ("were", "have", "them")
    return (
        f"{what} {are} taken in before and {have} been replaced since: what came later holds; "
        f"a time in the column `at` tells {tells} from the earlier ones"
    )


def older_words(what: str) -> str:
    """Say that so many of a file hold now in place of what was said after them."""
    return f"{what} took the place of newer ones, by the times in `at`: what is taken in last holds"


def said_by(each: Preference) -> str:
    """Return what a preference says, without its uuid."""
    return json.dumps(to_builtins(replace(each, uuid="")), sort_keys=True)
