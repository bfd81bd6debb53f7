"""Judging: tasks with their docs and raters, preferences, and what each judgment is about."""

from __future__ import annotations

import hashlib
import json
import re

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

AT_A_TIME = 1000
ESCAPED = re.compile(r"\\(\\|u[0-9a-f]{4})")


def number(name: str, *, nullable: bool = False, autoincrement: bool = False) -> sa.Column[int]:
    kind = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    return sa.Column(name, kind, nullable=nullable, autoincrement=autoincrement)


def upgrade() -> None:
    op.add_column("judgment", sa.Column("state_sha256", sa.String(length=64), nullable=True))
    op.create_index(op.f("ix_judgment_state_sha256"), "judgment", ["state_sha256"], unique=False)
    note_states(op.get_bind())
    op.create_table(
        "preference",
        number("id", autoincrement=True),
        sa.Column("uuid", sa.String(length=36), nullable=False),
        sa.Column("task", sa.Text(), nullable=False),
        sa.Column("query", sa.Text(), nullable=False),
        sa.Column("rater", sa.Text(), nullable=False),
        sa.Column("guideline_sha256", sa.String(length=64), nullable=True),
        sa.Column("value", sa.Text(), nullable=False),
        sa.Column("stored", sa.String(length=32), nullable=False),
        sa.Column("state_sha256", sa.String(length=64), nullable=False),
        sa.ForeignKeyConstraint(
            ["guideline_sha256"], ["guideline.sha256"], name=op.f("fk_preference_guideline_sha256")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_preference")),
        sa.UniqueConstraint("uuid", name=op.f("uq_preference_uuid")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_preference_state_sha256"), "preference", ["state_sha256"], unique=False)
    op.create_index("ix_preference_task", "preference", ["task"], unique=False)
    op.create_table(
        "task",
        number("id", autoincrement=True),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("collection", sa.Text(), nullable=False),
        sa.Column("plan", sa.Text(), nullable=False),
        sa.Column("guideline_sha256", sa.String(length=64), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("created", sa.String(length=32), nullable=False),
        sa.Column("who", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["guideline_sha256"], ["guideline.sha256"], name=op.f("fk_task_guideline_sha256")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_task")),
        sa.UniqueConstraint("name", name=op.f("uq_task_name")),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "task_item",
        number("id", autoincrement=True),
        number("task_id"),
        sa.Column("query", sa.Text(), nullable=False),
        sa.Column("query_sha256", sa.String(length=64), nullable=False),
        sa.Column("doc", sa.Text(), nullable=False),
        sa.Column("doc_sha256", sa.String(length=64), nullable=False),
        sa.Column("place", sa.Integer(), nullable=False),
        sa.Column("purpose", sa.String(length=16), nullable=False),
        sa.Column("gold", sa.Float(precision=53), nullable=True),
        sa.Column("ranks", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["task_id"], ["task.id"], name=op.f("fk_task_item_task_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_task_item")),
        sa.UniqueConstraint("task_id", "query_sha256", "doc_sha256", name=op.f("uq_task_item_task_id")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_task_item_task_id"), "task_item", ["task_id"], unique=False)
    op.create_table(
        "rater",
        number("id", autoincrement=True),
        number("task_id"),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("token_sha256", sa.String(length=64), nullable=True),
        sa.Column("seed", sa.BigInteger(), nullable=False),
        sa.Column("created", sa.String(length=32), nullable=False),
        sa.Column("seen", sa.String(length=32), nullable=True),
        sa.Column("revoked", sa.String(length=32), nullable=True),
        sa.ForeignKeyConstraint(["task_id"], ["task.id"], name=op.f("fk_rater_task_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_rater")),
        sa.UniqueConstraint("token_sha256", name=op.f("uq_rater_token_sha256")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_rater_task_id"), "rater", ["task_id"], unique=False)


def note_states(connection: sa.Connection) -> None:
    """Note of the judgments that there are what each is about, a thousand at a time."""
    names = ("id", "task", "rater", "query", "doc", "value", "state_sha256")
    judgment = sa.table("judgment", *map(sa.column, names))
    last = 0
    while True:
        wanted = sa.select(judgment).where(judgment.c.id > last).order_by(judgment.c.id).limit(AT_A_TIME)
        rows = connection.execute(wanted).all()
        if not rows:
            return
        states = [{"number": row.id, "state": state_of(row)} for row in rows]
        change = sa.update(judgment).where(judgment.c.id == sa.bindparam("number"))
        connection.execute(change.values(state_sha256=sa.bindparam("state")), states)
        last = rows[-1].id


def state_of(row: sa.Row[tuple[str, ...]]) -> str:
    said = json.loads(row.value)
    is_choice = said["choice"] and said["grade"] is None and not said["flag"]
    doc = None if is_choice else unescaped(row.doc)
    names = [*(unescaped(name) for name in (row.task, row.rater, row.query)), doc]
    content = json.dumps(names, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(content.encode()).hexdigest()


def unescaped(text: str) -> str:
    return ESCAPED.sub(lambda found: "\\" if found[1] == "\\" else chr(int(found[1][1:], 16)), text)
