"""Raters of judging tasks: invited by a link, without an account. Of the link's token only the SHA-256 is kept.

Who is there only because a file says what they judged has no link, and judges nothing more until they are invited.
"""

from __future__ import annotations

import hashlib
import secrets
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from rankscope.data.tasks import Task, TaskRater, composed, name_key, name_of_forgotten, raters_meant
from rankscope.errors import OptionError, UnknownNameError
from rankscope.records import replace, to_builtins
from rankscope.store.schema import rater as rater_table
from rankscope.store.schema import task as task_table
from rankscope.store.schema import text_sha256
from rankscope.store.tasks import task_of
from rankscope.store.users import later

if TYPE_CHECKING:
    from rankscope.store.store import Store

LONGEST_NAME = 100
LONGEST_TOKEN = 200
SEEN_S = 60
"""How exactly it is noted when a rater was there last, so that not every look at a doc writes."""


class RaterTable:
    """The raters of a store, as `store.raters`."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def invite(self, task: Task, *, name: str = "") -> tuple[TaskRater, str]:
        """Add a rater to a task; return the rater and the token of the link, which nobody can see again.

        Who has this name without an invitation, as a file said what they judged, is invited now.
        """
        name = checked_rater_name(name) if name else ""
        token = secrets.token_urlsafe(32)
        with self.store.writing() as connection:
            known = uninvited(connection, task.number, name)
            if known is None:
                return self._insert(connection, task, name, token), token
            linked = {"token_sha256": text_sha256(token)}
            connection.execute(sa.update(rater_table).where(rater_table.c.id == known).values(**linked))
            return rater_of(get_row(connection, known)), token

    def add(self, task: Task, *, name: str) -> TaskRater:
        """Add somebody to a task who is not invited: what they judged comes from elsewhere."""
        name = checked_rater_name(name)
        with self.store.writing() as connection:
            return self._insert(connection, task, name, None)

    def _insert(self, connection: sa.Connection, task: Task, name: str, token: str | None) -> TaskRater:
        check_new_name(connection, task.number, name)
        name_trusted_by_id(connection, task.number)
        of_task = rater_table.c.task_id == task.number
        own = sa.select(sa.func.count()).select_from(rater_table).where(of_task)
        seed = seed_of(task, int(connection.execute(own).scalar_one()))
        row = {"task_id": task.number, "name": name, "seed": seed, "created": self.store.clock()}
        row["token_sha256"] = None if token is None else text_sha256(token)
        connection.execute(sa.insert(rater_table).inline(), row)
        newest = sa.select(sa.func.max(rater_table.c.id)).where(of_task)
        return rater_of(get_row(connection, int(connection.execute(newest).scalar_one())))

    def by_token(self, token: str) -> TaskRater | None:
        """Return the rater of a link, also of one that was revoked; None where there is no such link."""
        found = self.with_task(token)
        return None if found is None else found[0]

    def with_task(self, token: str) -> tuple[TaskRater, Task] | None:
        """As `by_token`, with the task."""
        if len(token) > LONGEST_TOKEN:
            return None
        of_task = [column.label(f"of_task_{column.name}") for column in task_table.c]
        wanted = sa.select(rater_table, *of_task).join(task_table)
        with self.store.glancing() as connection:
            row = connection.execute(wanted.where(rater_table.c.token_sha256 == text_sha256(token))).first()
        if row is None:
            return None
        own = {column.name: getattr(row, f"of_task_{column.name}") for column in task_table.c}
        return rater_of(row), task_of(SimpleNamespace(**own))

    def list(self, task: Task) -> tuple[TaskRater, ...]:
        """Return all raters of a task, also those who were revoked, as they were invited."""
        wanted = sa.select(rater_table).where(rater_table.c.task_id == task.number).order_by(rater_table.c.id)
        with self.store.reading() as connection:
            return tuple(map(rater_of, connection.execute(wanted)))

    def get(self, number: int) -> TaskRater:
        """Return a rater by number; it is an error where there is none."""
        with self.store.reading() as connection:
            return rater_of(get_row(connection, number))

    def rename(self, number: int, name: str) -> TaskRater:
        """Give a rater a name; judgments name the rater by number, and stay as they are."""
        name = checked_rater_name(name)
        with self.store.writing() as connection:
            task = get_row(connection, number).task_id
            check_new_name(connection, task, name, of=number)
            name_trusted_by_id(connection, task)
            connection.execute(sa.update(rater_table).where(rater_table.c.id == number).values(name=name))
            return rater_of(get_row(connection, number))

    def revoke(self, number: int) -> TaskRater:
        """End an invitation: what was judged stays, and nothing more is taken from this rater."""
        return self._change(number, revoked=self.store.clock())

    def renew(self, number: int) -> tuple[TaskRater, str]:
        """Give a rater another link, as for one that was lost; the old one ends, and a revoked rater may go on."""
        token = secrets.token_urlsafe(32)
        return self._change(number, token_sha256=text_sha256(token), revoked=None), token

    def forget(self, number: int, *, pseudonym: str = "") -> TaskRater:
        """Replace the name of a rater by a pseudonym, and end the invitation; judgments stay."""
        name = checked_rater_name(pseudonym) if pseudonym else name_of_forgotten(number)
        return self._change(number, name=name, token_sha256=None, revoked=self.store.clock())

    def seen(self, rater: TaskRater) -> TaskRater:
        """Note that a rater is there, once a minute."""
        now = self.store.clock()
        if self.store.read_only or (rater.seen is not None and rater.seen <= now < later(rater.seen, SEEN_S)):
            return rater
        with self.store.writing() as connection:
            connection.execute(sa.update(rater_table).where(rater_table.c.id == rater.number).values(seen=now))
        return replace(rater, seen=now)

    def _change(self, number: int, **values: Any) -> TaskRater:
        with self.store.writing() as connection:
            task = get_row(connection, number).task_id
            if "name" in values:
                name_trusted_by_id(connection, task)
            connection.execute(sa.update(rater_table).where(rater_table.c.id == number).values(**values))
            return rater_of(get_row(connection, number))


def seed_of(task: Task, place: int) -> int:
    """Return the seed of the order of a task's rater: the same for the same place among the raters."""
    content = f"{task.plan.seed}\x1f{task.name}\x1f{place}".encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.sha256(content).digest()[:7], "big")


def checked_rater_name(name: str) -> str:
    """Return a name as it is kept, refusing what cannot be one."""
    if not name.strip() or name != name.strip() or len(name) > LONGEST_NAME or not name.isprintable():
        raise OptionError(
            f"{name[:200]!r} cannot be the name of a rater",
            hint=f"a name has 1 to {LONGEST_NAME} characters that can be printed, and no blanks around it",
        )
    return composed(name)


def check_new_name(connection: sa.Connection, task: int, name: str, *, of: int | None = None) -> None:
    """Refuse the name of another rater of the task: people could not tell the two apart, nor whose link is whose."""
    if not name:
        return
    wanted = sa.select(rater_table).where(rater_table.c.task_id == task).order_by(rater_table.c.id)
    for row in connection.execute(wanted):
        if row.id != of and name_key(row.name) == name_key(name):
            lost = f"; a lost link is replaced by `rankscope judge renew {task} {row.id}`, or New link on its page"
            raise OptionError(
                f"a rater of this task is called {row.name} already",
                hint=f"take another name, such as {name[: LONGEST_NAME - 2]} B{lost if of is None else ''}",
            )


def name_trusted_by_id(connection: sa.Connection, task: int) -> None:
    """Let the plan of a task name the trusted rater by id, before names change: trust follows the person, not the name.

    Where the word of the plan means nobody yet, or several, it stays.
    """
    own = task_table.c.id == task
    plan = task_of(connection.execute(sa.select(task_table).where(own)).one()).plan
    if plan.rule != "trusted":
        return
    of_task = sa.select(rater_table).where(rater_table.c.task_id == task).order_by(rater_table.c.id)
    meant = raters_meant(tuple(map(rater_of, connection.execute(of_task))), plan.trusted)
    if len(meant) == 1 and meant[0].id != plan.trusted:
        named = to_builtins(replace(plan, trusted=meant[0].id))
        connection.execute(sa.update(task_table).where(own).values(plan=named))


def uninvited(connection: sa.Connection, task: int, name: str) -> int | None:
    """Return the number of the rater of a task who has a name and was never invited."""
    wanted = sa.select(rater_table).where(rater_table.c.task_id == task, rater_table.c.revoked.is_(None))
    found = [row for row in connection.execute(wanted) if name and name_key(row.name) == name_key(name)]
    return next((row.id for row in found if not is_invited(row)), None)


def is_invited(row: Any) -> bool:
    """Tell whether a rater has a link, or was on the page with one that an export has left behind."""
    return row.token_sha256 is not None or row.seen is not None


def get_row(connection: sa.Connection, number: int) -> Any:
    row = connection.execute(sa.select(rater_table).where(rater_table.c.id == number)).first()
    if row is None:
        raise UnknownNameError(f"there is no rater {number}", hint="`rankscope judge show TASK` lists those of a task")
    return row


def rater_of(row: Any) -> TaskRater:
    return TaskRater(
        number=row.id,
        task=row.task_id,
        name=row.name,
        seed=row.seed,
        created=row.created,
        seen=row.seen,
        revoked=row.revoked,
        invited=is_invited(row),
    )
