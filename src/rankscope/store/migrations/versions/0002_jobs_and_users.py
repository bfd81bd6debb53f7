"""Jobs that are started from the page, users and their sessions."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def number(name: str, *, nullable: bool = False, autoincrement: bool = False) -> sa.Column[int]:
    kind = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    return sa.Column(name, kind, nullable=nullable, autoincrement=autoincrement)


def upgrade() -> None:
    op.create_table(
        "job",
        number("id", autoincrement=True),
        sa.Column("project", sa.Text(), nullable=False),
        sa.Column("options", sa.Text(), nullable=False),
        sa.Column("who", sa.Text(), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("progress", sa.Text(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("worker", sa.Text(), nullable=False),
        sa.Column("created", sa.String(length=32), nullable=False),
        sa.Column("started", sa.String(length=32), nullable=True),
        sa.Column("heartbeat", sa.String(length=32), nullable=True),
        sa.Column("finished", sa.String(length=32), nullable=True),
        sa.Column("result", sa.Text(), nullable=True),
        sa.Column("failure", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_job")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_job_state"), "job", ["state"], unique=False)
    op.create_table(
        "job_event",
        number("id", autoincrement=True),
        number("job_id"),
        sa.Column("sequence", sa.Integer(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("stored", sa.String(length=32), nullable=False),
        sa.ForeignKeyConstraint(["job_id"], ["job.id"], name=op.f("fk_job_event_job_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_job_event")),
        sa.UniqueConstraint("job_id", "sequence", name=op.f("uq_job_event_job_id")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_job_event_job_id"), "job_event", ["job_id"], unique=False)
    op.create_table(
        "user",
        number("id", autoincrement=True),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("role", sa.String(length=16), nullable=False),
        sa.Column("password", sa.Text(), nullable=True),
        sa.Column("disabled", sa.String(length=32), nullable=True),
        sa.Column("stored", sa.String(length=32), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_user")),
        sa.UniqueConstraint("name", name=op.f("uq_user_name")),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "login_session",
        number("id", autoincrement=True),
        sa.Column("token_sha256", sa.String(length=64), nullable=False),
        number("user_id", nullable=True),
        sa.Column("role", sa.String(length=16), nullable=False),
        sa.Column("created", sa.String(length=32), nullable=False),
        sa.Column("seen", sa.String(length=32), nullable=False),
        sa.Column("expires", sa.String(length=32), nullable=False),
        sa.Column("revoked", sa.String(length=32), nullable=True),
        sa.ForeignKeyConstraint(["user_id"], ["user.id"], name=op.f("fk_login_session_user_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_login_session")),
        sa.UniqueConstraint("token_sha256", name=op.f("uq_login_session_token_sha256")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_login_session_user_id"), "login_session", ["user_id"], unique=False)
