"""Judging tasks as lines of an export, with what they hold and who judged; tokens of invitations are not among it.

Judgments name a task and a rater by their numbers, so that both keep them. A store that has given such a number to
another task or rater cannot take the export in.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from rankscope.data.tasks import Preference, Task, TaskItem, TaskPlan
from rankscope.errors import InputError
from rankscope.records import from_builtins, to_builtins
from rankscope.store.blobs import insert_if_new
from rankscope.store.exchange_rows import Line, line_of, read_lines, rows_of, write_lines
from rankscope.store.runs import StoredRun
from rankscope.store.schema import meta, preference, rater, text_sha256
from rankscope.store.schema import task as task_table
from rankscope.store.store import Store
from rankscope.store.tasks import add_items
from rankscope.store.upkeep import continue_numbers

TASKS = "tasks.jsonl"
PREFERENCES = "preferences.jsonl"
RATER_COLUMNS = ("name", "seed", "created", "seen", "revoked")
INVITED = "invited"
"""Whether a rater has a link: it is made anew, so that the rater keeps a share of the docs; nobody has it."""
LABELS = ("qrels", "judge_qrels")


def export_tasks(store: Store, folder: Path, runs: Iterable[StoredRun]) -> None:
    """Write tasks and preferences."""
    digests = {run.number: run.digest for run in runs}
    labels = {each.number: [each.judgments_sha256, each.name, each.kind] for each in store.qrels.list()}
    write_lines((task_line(store, task, digests, labels) for task in store.tasks.list()), folder / TASKS)
    with store.reading() as connection:
        ours = str(connection.execute(sa.select(meta.c.value).where(meta.c.key == "store_id")).scalar_one())
        rows = connection.execute(sa.select(preference)).all()
    lines = (line_of(ours, row.id, row.stored, {"preference": row.value}) for row in rows)
    write_lines(sorted(lines, key=lambda line: str(line["id"])), folder / PREFERENCES)


def task_line(store: Store, task: Task, digests: Mapping[int, str], labels: Mapping[int, list[str]]) -> Line:
    plan = to_builtins(task.plan)
    plan |= {"runs": [digests[number] for number in task.plan.runs]}
    plan |= {name: None if plan[name] is None else labels[plan[name]] for name in LABELS}
    return {
        **{name: getattr(task, name) for name in ("number", "name", "collection", "state", "created", "who")},
        "guideline": task.guideline,
        "plan": plan,
        "raters": [
            {"number": each.number, **{name: getattr(each, name) for name in (*RATER_COLUMNS, INVITED)}}
            for each in store.raters.list(task)
        ],
        "items": [to_builtins(item) for item in store.tasks.items(task)],
    }


def task_lines(folder: Path) -> list[Any]:
    """Return the tasks of an export; one of an earlier version has none."""
    return read_lines(folder / TASKS) if (folder / TASKS).is_file() else []


def check_numbers(store: Store, folder: Path) -> None:
    """Refuse an export whose tasks or raters have numbers, or names, that others have in the store."""
    with store.reading() as connection:
        tasks = {row.id: (row.name, row.created) for row in connection.execute(sa.select(task_table))}
        raters = {row.id: (row.task_id, row.created) for row in connection.execute(sa.select(rater))}
    names = {name: number for number, (name, _) in tasks.items()}
    for line in task_lines(folder):
        number, name = line["number"], line["name"]
        known = tasks.get(number, (name, line["created"]))
        if known != (name, line["created"]) or names.get(name, number) != number:
            raise other_task(folder, f"the task {name} has the number {number}, and the store has another task")
        for each in line["raters"]:
            if raters.get(each["number"], (number, each["created"])) != (number, each["created"]):
                raise other_task(folder, f"a rater of the task {name} has the number of another rater in the store")


def other_task(folder: Path, what: str) -> InputError:
    return InputError(
        f"{folder} cannot be taken in: {what}",
        hint="judgments name both by number; import the folder into a store of its own (--store FILE)",
    )


def import_tasks(store: Store, folder: Path, runs: Mapping[str, StoredRun]) -> None:
    """Take in tasks and preferences. Of a task that is there, docs and raters are added; invitations are made anew."""
    qrels = store.qrels.list()
    labels: dict[tuple[str, ...], int] = {(each.judgments_sha256, each.name, each.kind): each.number for each in qrels}
    for line in task_lines(folder):
        import_task(store, line, runs, labels)
    lines = rows_of(folder, PREFERENCES)
    said = [from_builtins(Preference, line["preference"]) for line in lines]
    store.at(line["at"] for line in lines).preferences.add(said)


def import_task(store: Store, line: Line, runs: Mapping[str, StoredRun], labels: Mapping[tuple[str, ...], int]) -> None:
    plan = {**line["plan"], "runs": [runs[digest].number for digest in line["plan"]["runs"]]}
    plan |= {name: None if plan[name] is None else labels[tuple(plan[name])] for name in LABELS}
    row = {name: line[name] for name in ("name", "collection", "state", "created", "who")}
    row |= {"id": line["number"], "guideline_sha256": line["guideline"]}
    with store.writing() as connection:
        insert_if_new(connection, task_table, {**row, "plan": to_builtins(from_builtins(TaskPlan, plan))})
        add_items(connection, line["number"], (from_builtins(TaskItem, item) for item in line["items"]))
        for each in line["raters"]:
            values = {name: each[name] for name in RATER_COLUMNS}
            if each.get(INVITED, True):
                values["token_sha256"] = text_sha256(secrets.token_urlsafe(32))
            insert_if_new(connection, rater, {"id": each["number"], "task_id": line["number"], **values})
        if connection.dialect.name == "postgresql":
            continue_numbers(connection, task_table)
            continue_numbers(connection, rater)
