"""Saves of raters: a judgment or a preference is kept where the rater knows what it takes the place of.

Two tabs of a rater, or a browser that was offline, may know less than the store has. Then nothing is kept, and the
answer is what holds. All is decided in the transaction that keeps it; what several raters wait for is kept in one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import sqlalchemy as sa

from rankscope.data.judgments import SingleJudgment
from rankscope.data.tasks import Preference, Task, TaskRater, again_name
from rankscope.records import Record
from rankscope.store.blobs import insert_all_new
from rankscope.store.judgments import judgment_row, prepared
from rankscope.store.preferences import preference_row, prepared_preference
from rankscope.store.schema import judgment, preference, rater
from rankscope.store.schema import task as task_table
from rankscope.store.turns import GroupCommit

if TYPE_CHECKING:
    from rankscope.store.store import Store

SaveOutcome: TypeAlias = Literal["kept", "conflict", "revoked", "stopped", "other", "changed"]
"""`conflict`: something else holds than the rater knows of; `other`: the uuid stands for something else;
`changed`: what the caller remembers of the task is no longer so."""
BY_THE_WAY = ("guideline", "scale", "seconds", "at", "purpose")
"""What may differ where a save is sent again: the server fills it in."""


class Remembered(Record):
    """What a save was made with that was read before: nothing is kept where it is no longer so."""

    token_sha256: str
    """Of the rater's link, which may have been replaced."""
    guideline: str
    """The sha256 of the guideline that the task has."""


class WaitingState(Record):
    """A row that a rater wants to be kept."""

    row: dict[str, Any]
    replaces: str | None
    """The uuid of the row that it takes the place of; None: there is none."""
    rater: int
    remembered: Remembered | None = None
    """None: all was read just now."""


class StateAnswer(Record):
    """What became of it, and the record of what holds now."""

    outcome: SaveOutcome
    value: dict[str, Any] | None


class RaterRow(Record):
    """What somebody said last of a doc, or of which doc of a query they would choose."""

    query: str
    doc: str
    first: int
    """The number of the first row on it; it stays, whatever is said later."""
    value: dict[str, Any]


class JudgedRow(Record):
    """Whether a rater has judged a doc."""

    query: str
    doc: str
    rater: str
    first: int
    """As in RaterRow."""
    done: bool
    """Whether there is a grade, or the rater cannot tell."""
    graded: bool
    """Whether there is a grade."""


class SaveTable:
    """What raters save, as `store.saves`."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._judgments = GroupCommit[WaitingState, StateAnswer](store, partial(keep_states, judgment))
        self._preferences = GroupCommit[WaitingState, StateAnswer](store, partial(keep_states, preference))

    def keep_judgment(
        self, said: SingleJudgment, *, rater: TaskRater, replaces: str | None, remembered: Remembered | None = None
    ) -> StateAnswer:
        """Keep a judgment, unless the rater may not, does not know what holds, or `remembered` is no longer so."""
        row = judgment_row(prepared(said, None), self.store.clock())
        return self._judgments.add(WaitingState(row, replaces, rater.number, remembered))

    def keep_preference(self, said: Preference, *, rater: TaskRater, replaces: str | None) -> StateAnswer:
        """As `keep_judgment`, for one of two lists."""
        row = preference_row(prepared_preference(said), self.store.clock())
        return self._preferences.add(WaitingState(row, replaces, rater.number))

    def of_rater(self, task: Task, rater: TaskRater, *, query: str | None = None) -> tuple[list[RaterRow], ...]:
        """Return what a rater said last, of each doc; in two lists: the first time, and of docs that came again."""
        wanted = sa.select(*(judgment.c[name] for name in ("id", "task", "query", "doc", "state_sha256", "value")))
        wanted = wanted.where(judgment.c.collection == task.collection, judgment.c.rater == rater.key)
        if query is not None:
            wanted = wanted.where(judgment.c.query == query)
        names = (str(task.number), again_name(str(task.number)))
        found: dict[str, dict[str, RaterRow]] = {name: {} for name in names}
        with self.store.reading() as connection:
            for row in connection.execute(wanted.where(judgment.c.task.in_(names)).order_by(judgment.c.id)):
                rows = found[row.task]
                known = rows.get(row.state_sha256)
                first = row.id if known is None else known.first
                rows[row.state_sha256] = RaterRow(row.query, row.doc, first, row.value)
        return tuple(list(rows.values()) for rows in found.values())

    def judged(self, task: Task) -> list[JudgedRow]:
        """Return which docs of a task all raters have judged, without reading what they said."""
        names = ("id", "query", "doc", "rater", "grade", "status", "state_sha256")
        wanted = sa.select(*(judgment.c[name] for name in names)).order_by(judgment.c.id)
        own = (judgment.c.collection == task.collection) & (judgment.c.task == str(task.number))
        found: dict[str, JudgedRow] = {}
        with self.store.reading() as connection:
            for row in connection.execute(wanted.where(own)):
                known = found.get(row.state_sha256)
                graded = row.grade is not None
                done = graded or row.status == "cannot_tell"
                first = row.id if known is None else known.first
                found[row.state_sha256] = JudgedRow(row.query, row.doc, row.rater, first, done, graded)
        return list(found.values())


def keep_states(table: sa.Table, connection: sa.Connection, waiting: Sequence[WaitingState]) -> list[StateAnswer]:
    """Keep rows in the order in which they came; return what became of each."""
    standings = standings_of(connection, {each.rater for each in waiting})
    known, newest = held_rows(connection, table, [each.row for each in waiting])
    answers, rows = [], []
    for each in waiting:
        row, standing = each.row, standings.get(each.rater)
        held = newest.get(row["state_sha256"])
        outcome = outcome_of(each, known.get(row["uuid"]), held, standing)
        if outcome == "kept" and row["uuid"] not in known:
            rows.append(row)
            known[row["uuid"]] = newest[row["state_sha256"]] = held = row["value"]
        answers.append(StateAnswer(outcome, held))
    insert_all_new(connection, table, rows)
    return answers


def outcome_of(
    each: WaitingState,
    known: Mapping[str, Any] | None,
    held: Mapping[str, Any] | None,
    standing: RaterStanding | None,
) -> SaveOutcome:
    if each.remembered is not None and (standing is None or each.remembered != standing.remembered):
        return "changed"
    if known is not None:
        return "kept" if what_is_said(known) == what_is_said(each.row["value"]) else "other"
    if standing is not None and standing.closed is not None:
        return standing.closed
    return "kept" if (None if held is None else held["uuid"]) == each.replaces else "conflict"


def what_is_said(value: Mapping[str, Any]) -> dict[str, Any]:
    return {name: said for name, said in value.items() if name not in BY_THE_WAY}


class RaterStanding(Record):
    """Whether anything is taken of a rater, and what a save of theirs is made with."""

    closed: Literal["revoked", "stopped"] | None
    remembered: Remembered


def standings_of(connection: sa.Connection, numbers: set[int]) -> dict[int, RaterStanding]:
    """Return how raters stand, by their numbers."""
    columns = rater.c.id, rater.c.revoked, rater.c.token_sha256, task_table.c.state, task_table.c.guideline_sha256
    wanted = sa.select(*columns).join(task_table).where(rater.c.id.in_(numbers))
    return {
        row.id: RaterStanding(
            "revoked" if row.revoked is not None else "stopped" if row.state != "open" else None,
            Remembered(row.token_sha256 or "", row.guideline_sha256),
        )
        for row in connection.execute(wanted)
    }


Held: TypeAlias = dict[str, dict[str, Any]]


def held_rows(connection: sa.Connection, table: sa.Table, rows: Sequence[Mapping[str, Any]]) -> tuple[Held, Held]:
    """Return the records that have the uuid of a row, and the newest ones of the same state, read at once."""
    uuids, states = ({row[name] for row in rows} for name in ("uuid", "state_sha256"))
    same = table.c.uuid.in_(uuids) | table.c.state_sha256.in_(states)
    wanted = sa.select(table.c.uuid, table.c.state_sha256, table.c.value).where(same).order_by(table.c.id)
    known, newest = Held(), Held()
    for row in connection.execute(wanted):
        if row.uuid in uuids:
            known[row.uuid] = row.value
        if row.state_sha256 in states:
            newest[row.state_sha256] = row.value
    return known, newest
