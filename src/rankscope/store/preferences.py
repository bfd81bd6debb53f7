"""Stored preferences: which of two lists somebody found better. As judgments, rows are only added."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from rankscope.data.judgments import is_duration, stamp_problem
from rankscope.data.tasks import Preference
from rankscope.errors import InputError
from rankscope.records import Record, from_builtins, replace, to_builtins
from rankscope.store.blobs import AT_A_TIME, insert_all_new
from rankscope.store.judgments import check_guidelines
from rankscope.store.schema import canonical_json, state_sha256
from rankscope.store.schema import preference as preference_table
from rankscope.store.turns import GroupCommit

if TYPE_CHECKING:
    from rankscope.store.store import Store


class StoredPreference(Record):
    """A preference as the store has it."""

    number: int
    """Counts up; of several of a rater on the same two lists, the one with the highest number holds."""
    preference: Preference
    stored: str


class PreferenceTable:
    """The preferences of a store, as `store.preferences`."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._group_commit = GroupCommit(store, add_groups)

    def add(self, preferences: Preference | Iterable[Preference]) -> tuple[StoredPreference, ...]:
        """Keep preferences, all or none; those that are there already are returned as they are."""
        given = [preferences] if isinstance(preferences, Preference) else list(preferences)
        rows = [preference_row(prepared_preference(each), self.store.clock()) for each in given]
        return self._group_commit.add(rows)

    def list(self, *, task: str | None = None, query: str | None = None) -> tuple[StoredPreference, ...]:
        """Return all preferences, of a task or of the store, as they came."""
        wanted = sa.select(preference_table).order_by(preference_table.c.id)
        if task is not None:
            wanted = wanted.where(preference_table.c.task == task)
        if query is not None:
            wanted = wanted.where(preference_table.c.query == query)
        with self.store.reading() as connection:
            return tuple(map(stored_preference, connection.execute(wanted)))

    def current(self, *, task: str | None = None, query: str | None = None) -> tuple[StoredPreference, ...]:
        """Return what holds: the newest of each task, rater, query and two lists, unless it was withdrawn."""
        newest = {preference_state(each.preference): each for each in self.list(task=task, query=query)}
        held = (each for each in newest.values() if each.preference.status != "withdrawn")
        return tuple(sorted(held, key=lambda each: each.number))


def preference_state(each: Preference) -> str:
    """Return what stands for that which a preference is about; the sides of the two lists do not matter."""
    return state_sha256(each.task, each.rater, each.query, *sorted((each.left, each.right)))


def preference_problem(each: Preference) -> str:
    """Return what a preference says that it cannot say; empty where it is fine."""
    if problem := stamp_problem(each.uuid, each.at):
        return problem
    if each.seconds is not None and not is_duration(each.seconds):
        return f"it took {each.seconds:g} seconds, which is no time"
    if not each.query or not each.left or not each.right or each.left == each.right:
        return "it names no query, fewer than two lists, or the same list twice"
    if (each.value is None) == (each.status == "ok"):
        return f"its value is {each.value}, and its status {each.status}"
    if each.value is not None and not -2 <= each.value <= 2:
        return f"its value {each.value} is not one of -2, -1, 0, 1 and 2"
    return ""


def prepared_preference(each: Preference) -> Preference:
    if problem := preference_problem(each):
        raise InputError(f"a preference for query {each.query!r} cannot be kept: {problem}")
    return replace(each, uuid=str(uuid.UUID(each.uuid)))


def preference_row(each: Preference, now: str) -> dict[str, Any]:
    return {
        "uuid": each.uuid,
        "task": each.task,
        "query": each.query,
        "rater": each.rater,
        "guideline_sha256": each.guideline,
        "value": to_builtins(each),
        "stored": now,
        "state_sha256": preference_state(each),
    }


def add_groups(
    connection: sa.Connection, groups: Sequence[Sequence[dict[str, Any]]]
) -> list[tuple[StoredPreference, ...]]:
    """Add the rows of several callers; return to each what the store has of its own."""
    rows = [row for group in groups for row in group]
    check_guidelines(connection, {row["guideline_sha256"] for row in rows} - {None})
    insert_all_new(connection, preference_table, rows)
    found: dict[str, StoredPreference] = {}
    for at in range(0, len(rows), AT_A_TIME):
        uuids = [row["uuid"] for row in rows[at : at + AT_A_TIME]]
        same = sa.select(preference_table).where(preference_table.c.uuid.in_(uuids))
        found |= {row.uuid: stored_preference(row) for row in connection.execute(same)}
    for row in rows:
        if canonical_json(to_builtins(found[row["uuid"]].preference)) != canonical_json(row["value"]):
            raise InputError(
                f"the uuid {row['uuid']} stands for another preference in the store",
                hint="a preference is never changed; who judges again makes a new uuid",
            )
    return [tuple(found[row["uuid"]] for row in group) for group in groups]


def stored_preference(row: Any) -> StoredPreference:
    return StoredPreference(row.id, from_builtins(Preference, row.value), row.stored)
