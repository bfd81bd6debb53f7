"""Stored results of targets: what came of each target in each stored run, only ever added to."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import date
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from rankscope.analysis.targets import Target, TargetResult, TargetsReport
from rankscope.data.run import Run
from rankscope.records import Record, from_builtins, to_builtins
from rankscope.store.blobs import insert_if_new
from rankscope.store.columns import run_bytes
from rankscope.store.schema import canonical_json, collection, collection_version, system, target, target_result
from rankscope.store.schema import run as run_table

if TYPE_CHECKING:
    from rankscope.store.store import Store


class StoredTargetResult(Record):
    """What came of a target at one time."""

    number: int
    target: Target
    """As it was when it was checked."""
    result: TargetResult
    run: int | None
    """The number of the stored run that was checked; None where that is not stored."""
    checked_on: date
    stored: str


class TargetTable:
    """The results of targets in a store, as `store.targets`."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def add(self, report: TargetsReport, runs: Mapping[tuple[str, str], Run]) -> tuple[StoredTargetResult, ...]:
        """Keep what came of targets; a result that is the newest of its target and run already is not kept again.

        `runs` are what was checked, by the collection and the name of the run.
        """
        digests = {key: hashlib.sha256(run_bytes(run.rows)).hexdigest() for key, run in runs.items()}
        target_of = {one.name: one for one in report.targets}
        now = self.store.clock()
        kept = []
        with self.store.writing() as connection:
            for one in report.results:
                key = (one.collection, one.run)
                run_id = number_of_run(connection, *key, digests[key]) if key in digests else None
                target_id = number_of_target(connection, target_of[one.target], now)
                facts = {"result": to_builtins(one), "checked_on": str(report.checked_on)}
                newest = connection.execute(newest_result(target_id, run_id)).first()
                if newest is None or stored_result(newest).result != one:
                    row = {"target_id": target_id, "run_id": run_id, "outcome": one.outcome, "facts": facts}
                    connection.execute(sa.insert(target_result), {**row, "stored": now})
                    newest = connection.execute(newest_result(target_id, run_id)).one()
                kept.append(stored_result(newest))
        return tuple(kept)

    def list(
        self, *, name: str | None = None, run: int | None = None, last: int | None = None
    ) -> tuple[StoredTargetResult, ...]:
        """Return results, the oldest first: of a target by its name, of a stored run by its number, or all."""
        wanted = RESULT_COLUMNS.order_by(target_result.c.id.desc()).limit(last)
        if name is not None:
            wanted = wanted.where(target.c.name == name)
        if run is not None:
            wanted = wanted.where(target_result.c.run_id == run)
        with self.store.reading() as connection:
            return tuple(stored_result(row) for row in reversed(connection.execute(wanted).all()))


RESULT_COLUMNS: sa.Select[Any] = sa.select(
    target_result.c.id, target_result.c.run_id, target_result.c.facts, target_result.c.stored, target.c.definition
).join(target)


def newest_result(target_id: int, run_id: int | None) -> sa.Select[Any]:
    same_run = target_result.c.run_id.is_(None) if run_id is None else target_result.c.run_id == run_id
    same = RESULT_COLUMNS.where(target_result.c.target_id == target_id, same_run)
    return same.order_by(target_result.c.id.desc()).limit(1)


def number_of_target(connection: sa.Connection, definition: Target, now: str) -> int:
    value = to_builtins(definition)
    sha256 = hashlib.sha256(canonical_json(value).encode()).hexdigest()
    row = {"sha256": sha256, "name": definition.name, "definition": value, "stored": now}
    insert_if_new(connection, target, row)
    return int(connection.execute(sa.select(target.c.id).where(target.c.sha256 == sha256)).scalar_one())


def number_of_run(connection: sa.Connection, of_collection: str, name: str, ranking_sha256: str) -> int | None:
    """Return the run of a system with this ranking that was stored last."""
    wanted = (
        sa.select(run_table.c.id)
        .join(system)
        .join(collection_version)
        .join(collection)
        .where(run_table.c.ranking_sha256 == ranking_sha256, system.c.name == name, collection.c.name == of_collection)
        .order_by(run_table.c.id.desc())
        .limit(1)
    )
    found = connection.execute(wanted).scalar_one_or_none()
    return None if found is None else int(found)


def stored_result(row: sa.Row[Any]) -> StoredTargetResult:
    return StoredTargetResult(
        number=row.id,
        target=from_builtins(Target, row.definition),
        result=from_builtins(TargetResult, row.facts["result"]),
        run=row.run_id,
        checked_on=date.fromisoformat(row.facts["checked_on"]),
        stored=row.stored,
    )
