"""Rows that are only added, as lines of an export: results of targets, alerts, messages, and the order of judgments.

A line names others by hashes: a run by its digest, an alert by the hash of its line. Lines are sorted by their own
hashes, so that two files merge in git, and each says where it came in its store, so that the order can be restored.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from rankscope.data.judgments import read_judgments
from rankscope.io.files import parse_json, read_text, write_text
from rankscope.records import to_json
from rankscope.store.blobs import insert_if_new
from rankscope.store.schema import (
    alert,
    canonical_json,
    judgment,
    meta,
    notification,
    run,
    target,
    target_result,
    text_sha256,
)
from rankscope.store.store import Store

JUDGMENTS = "judgments.jsonl"
ORDER = "judgments-order.jsonl"
TARGETS = "targets.jsonl"
ALERTS = "alerts.jsonl"
NOTIFICATIONS = "notifications.jsonl"
RUNS_OF_ALERT = ("run", "reference", "queries_against", "run_at_end", "history_from")

Line = dict[str, Any]


def write_lines(lines: Iterable[Any], path: Path) -> None:
    write_text(path, "".join(to_json(line, indent=None) + "\n" for line in lines))


def read_lines(path: Path) -> list[Any]:
    return [parse_json(line, where=str(path)) for line in read_text(path).split("\n") if line]


def line_of(store_id: str, number: int, stored: str, content: Line) -> Line:
    """Return what a row says and when, after the hash of it, and where the row came in its store."""
    said = {"at": stored, **content}
    return {"id": text_sha256(canonical_json(said)), "store": store_id, "number": number, **said}


def in_order(lines: Iterable[Line]) -> list[Line]:
    """Return lines as they came: those of one store by their numbers, whatever its clock said, of several by times."""
    latest: dict[str, str] = {}
    keys = {}
    unique = {line["id"]: line for line in lines}
    for line in sorted(unique.values(), key=lambda line: line["number"]):
        latest[line["store"]] = max(latest.get(line["store"], ""), line["at"])
        keys[line["id"]] = latest[line["store"]], line["store"], line["number"]
    return sorted(unique.values(), key=lambda line: keys[line["id"]])


def export_rows(store: Store, folder: Path) -> None:
    """Write results of targets, alerts, messages, and the order of judgments."""
    with store.reading() as connection:
        ours = str(connection.execute(sa.select(meta.c.value).where(meta.c.key == "store_id")).scalar_one())
        digests = {int(row.id): str(row.digest) for row in connection.execute(sa.select(run.c.id, run.c.digest))}
        order = connection.execute(sa.select(judgment.c.id, judgment.c.uuid, judgment.c.stored)).all()
        results = connection.execute(sa.select(target_result, target.c.definition).join(target)).all()
        alerts = connection.execute(sa.select(alert).order_by(alert.c.id)).all()
        sent = connection.execute(sa.select(notification)).all()
    lines_of_alerts: dict[int, Line] = {}
    for row in alerts:
        facts = row.facts | {name: digests.get(row.facts[name]) for name in RUNS_OF_ALERT}
        facts |= {"history": [digests[number] for number in row.facts["history"] if number in digests]}
        opening = row.facts["opening"] and lines_of_alerts[row.facts["opening"]]["id"]
        content = {"name": row.name, "facts": facts | {"opening": opening}}
        lines_of_alerts[row.id] = line_of(ours, row.id, row.recovered or row.opened, content)
    files: dict[str, Iterable[Line]] = {
        ORDER: (line_of(ours, row.id, row.stored, {"uuid": row.uuid}) for row in order),
        TARGETS: (
            line_of(
                ours, row.id, row.stored, {"target": row.definition, "run": digests.get(row.run_id), "facts": row.facts}
            )
            for row in results
        ),
        ALERTS: lines_of_alerts.values(),
        NOTIFICATIONS: (
            line_of(ours, row.id, row.stored, message_content(row, lines_of_alerts[row.alert_id]["id"])) for row in sent
        ),
    }
    for name, lines in files.items():
        write_lines(sorted(lines, key=lambda line: str(line["id"])), folder / name)


def message_content(row: sa.Row[Any], alert_id: str) -> Line:
    return {
        "alert": alert_id,
        "notifier": row.notifier,
        "kind": row.kind,
        "attempts": row.attempts,
        "sent": row.sent,
        "failure": row.failure,
    }


def rows_of(folder: Path, name: str) -> list[Line]:
    """Return the lines of a file, as they came; an export of an earlier version may lack it."""
    return in_order(read_lines(folder / name)) if (folder / name).is_file() else []


def import_judgments(store: Store, folder: Path) -> None:
    """Take in judgments in the order in which they came, with the times at which they were stored."""
    path = folder / JUDGMENTS
    if not (path.is_file() and path.stat().st_size):
        return
    lines = list(enumerate(rows_of(folder, ORDER)))
    order = {line["uuid"]: (place, line["at"]) for place, line in reversed(lines)}  # the first of two that were merged
    now, last = store.clock(), len(order)
    read = sorted(
        read_judgments(path), key=lambda each: (order.get(each.uuid, (last, now))[0], each.at or "", each.uuid)
    )
    times = (order.get(each.uuid, (last, now))[1] for each in read)
    store.at(times).judgments.add(read)


def import_rows(store: Store, folder: Path) -> None:
    """Take in what `export_rows` wrote, but for what is there already."""
    with store.writing() as connection:
        numbers = {str(row.digest): int(row.id) for row in connection.execute(sa.select(run.c.id, run.c.digest))}
        for line in rows_of(folder, TARGETS):
            import_target_result(connection, line, numbers)
        import_alerts(connection, folder, numbers)


def import_target_result(connection: sa.Connection, line: Line, numbers: Mapping[str, int]) -> None:
    definition, facts, stored = line["target"], line["facts"], line["at"]
    sha256 = text_sha256(canonical_json(definition))
    row = {"sha256": sha256, "name": definition["name"], "definition": definition, "stored": stored}
    insert_if_new(connection, target, row)
    target_id = connection.execute(sa.select(target.c.id).where(target.c.sha256 == sha256)).scalar_one()
    same = sa.select(target_result.c.facts).where(
        target_result.c.target_id == target_id, target_result.c.stored == stored
    )
    if facts not in connection.execute(same).scalars().all():
        run_id = None if line["run"] is None else numbers[line["run"]]
        row = {"target_id": target_id, "run_id": run_id, "outcome": facts["result"]["outcome"], "facts": facts}
        connection.execute(sa.insert(target_result), {**row, "stored": stored})


def import_alerts(connection: sa.Connection, folder: Path, numbers: Mapping[str, int]) -> None:
    """Take in alerts with what was sent about them; of what the store has an alert of its own, that one stays."""
    known = set(connection.execute(sa.select(alert.c.name)).scalars())
    number_of: dict[str, int] = {}
    for line in rows_of(folder, ALERTS):
        if line["name"] in known:
            continue
        facts = line["facts"] | {name: numbers.get(line["facts"][name]) for name in RUNS_OF_ALERT}
        facts |= {"history": [numbers[digest] for digest in line["facts"]["history"]]}
        facts |= {"opening": facts["opening"] and number_of[facts["opening"]]}
        row = {"name": line["name"], "facts": facts, "opened": facts["opened"], "recovered": facts["closed"]}
        connection.execute(sa.insert(alert), row)
        number_of[line["id"]] = int(connection.execute(sa.select(sa.func.max(alert.c.id))).scalar_one())
    for line in rows_of(folder, NOTIFICATIONS):
        if line["alert"] in number_of:
            content = {name: line[name] for name in ("notifier", "kind", "attempts", "sent", "failure")}
            row = {**content, "alert_id": number_of[line["alert"]], "stored": line["at"]}
            connection.execute(sa.insert(notification), row)
