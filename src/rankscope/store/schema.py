"""The tables of a store, the same for SQLite and PostgreSQL.

Facts (blobs, runs, qrels) are never changed. Scores are a cache: they can be dropped and computed again. Tags,
judgments, preferences, results of targets, alerts and what jobs did are only ever added to; the newest row is the one
that holds. Tasks, their docs and raters, jobs, users, their sessions and links are states: their rows change.
"""

from __future__ import annotations

import hashlib
import json
import re
from contextlib import suppress
from typing import Any

import msgspec
import sqlalchemy as sa
from sqlalchemy.types import TypeDecorator

from rankscope.errors import InputError

SCHEMA_VERSION = "0004"
"""The newest migration in migrations/versions."""

_ODD = re.compile("[\\\\\x00\ud800-\udfff]")
_ESCAPED = re.compile(r"\\(\\|u[0-9a-f]{4})")


def escape_text(text: str) -> str:
    r"""Return a text that every database takes: NUL and half characters become `\uXXXX`, a backslash two."""
    return _ODD.sub(lambda odd: r"\\" if odd[0] == "\\" else rf"\u{ord(odd[0]):04x}", text)


def unescape_text(text: str) -> str:
    return _ESCAPED.sub(lambda found: "\\" if found[1] == "\\" else chr(int(found[1][1:], 16)), text)


class AnyText(TypeDecorator[str]):
    """A text of others: ids and names may hold bytes that are no text, and NUL."""

    impl = sa.Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: sa.Dialect) -> str | None:  # noqa: ARG002
        return None if value is None else escape_text(value)

    def process_result_value(self, value: str | None, dialect: sa.Dialect) -> str | None:  # noqa: ARG002
        return None if value is None else unescape_text(value)


class JsonText(TypeDecorator[Any]):
    """Dicts, lists, texts and numbers as JSON in ASCII; jsonb would refuse half characters and NUL in ids."""

    impl = sa.Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: sa.Dialect) -> str | None:  # noqa: ARG002
        return None if value is None else canonical_json(value)

    def process_result_value(self, value: str | None, dialect: sa.Dialect) -> Any:  # noqa: ARG002
        if value is None:
            return None
        try:
            return decoded_json(value)
        except ValueError as error:
            raise InputError(
                f"the store is damaged: a record in it cannot be read ({error})",
                hint="`rankscope store restore BACKUP` puts a backup in its place",
            ) from error


def decoded_json(text: str) -> Any:
    """Return what a JSON text says; half characters and infinity, which few texts have, take the slower way."""
    if "\\ud" not in text:
        with suppress(msgspec.DecodeError):
            return msgspec.json.decode(text)
    return json.loads(text)


def canonical_json(value: Any) -> str:
    """Return the one JSON text that equal values have, from which hashes are made.

    Options from a project file may hold dates, which become texts, and infinity, which Python writes and reads.
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, default=str)


def text_sha256(text: str) -> str:
    """Return what stands for a text of any length, such as an id: PostgreSQL's indexes refuse long ones."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def state_sha256(*names: str | None) -> str:
    """Return what stands for that which a judgment or preference is about: a later one of the same takes its place."""
    return hashlib.sha256(canonical_json(names).encode()).hexdigest()


metadata = sa.MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
        "ix": "ix_%(table_name)s_%(column_0_name)s",
    }
)
_SHA = sa.String(64)


def table(name: str, *columns: Any) -> sa.Table:
    """Return a table; in SQLite, too, a number is not given again after its row was removed."""
    made = sa.Table(name, metadata, *columns)
    if any(column.autoincrement is True for column in made.columns):
        made.dialect_options["sqlite"]["autoincrement"] = True
    return made


def number(name: str = "id") -> sa.Column[Any]:
    """Return a key that the store counts up and never gives twice."""
    return sa.Column(name, sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True, autoincrement=True)


def time(name: str, *, nullable: bool = False) -> sa.Column[Any]:
    """Return a time, in UTC as ISO 8601 with microseconds."""
    return sa.Column(name, sa.String(32), nullable=nullable)


def text(name: str, *, nullable: bool = False) -> sa.Column[Any]:
    return sa.Column(name, AnyText, nullable=nullable)


def json_value(name: str, *, nullable: bool = False) -> sa.Column[Any]:
    return sa.Column(name, JsonText, nullable=nullable)


def reference(name: str, target: str, *, nullable: bool = False) -> sa.Column[Any]:
    kind = _SHA if target == "blob.sha256" else sa.BigInteger().with_variant(sa.Integer, "sqlite")
    return sa.Column(name, kind, sa.ForeignKey(target), nullable=nullable, index=True)


meta = table("meta", sa.Column("key", sa.String(64), primary_key=True), text("value"))

blob = table(
    "blob",
    sa.Column("sha256", _SHA, primary_key=True),
    sa.Column("kind", sa.String(16), nullable=False),
    sa.Column("n_bytes", sa.BigInteger, nullable=False),
    sa.Column("n_chunks", sa.Integer, nullable=False),
    time("stored"),
)
blob_chunk = table(
    "blob_chunk",
    sa.Column("sha256", _SHA, sa.ForeignKey("blob.sha256"), primary_key=True),
    sa.Column("place", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("data", sa.LargeBinary, nullable=False),
)

collection = table("collection", number(), text("name"), time("stored"), sa.UniqueConstraint("name"))
collection_version = table(
    "collection_version",
    number(),
    reference("collection_id", "collection.id"),
    sa.Column("version", _SHA, nullable=False),
    sa.Column("queries_sha256", _SHA, nullable=False, index=True),
    sa.Column("docs_sha256", sa.String(64), nullable=False),
    sa.Column("qrels_sha256", sa.String(64), nullable=False),
    json_value("counts"),
    time("stored"),
    sa.UniqueConstraint("collection_id", "version"),
)
query = table(
    "query",
    number(),
    sa.Column("queries_sha256", _SHA, nullable=False),
    sa.Column("place", sa.Integer, nullable=False),
    text("query"),
    text("text", nullable=True),
    json_value("attributes"),
    sa.UniqueConstraint("queries_sha256", "place"),
)
doc = table(
    "doc",
    number(),
    reference("collection_id", "collection.id"),
    text("doc"),
    sa.Column("doc_sha256", _SHA, nullable=False),
    sa.Column("sha256", _SHA, nullable=False),
    text("title"),
    text("text"),
    json_value("fields"),
    sa.UniqueConstraint("collection_id", "doc_sha256", "sha256"),
)

system = table("system", number(), text("name"), text("type"), sa.UniqueConstraint("name", "type"))
config = table(
    "config",
    number(),
    sa.Column("sha256", _SHA, nullable=False),
    json_value("value"),
    sa.UniqueConstraint("sha256"),
)
run = table(
    "run",
    number(),
    sa.Column("digest", _SHA, nullable=False),
    reference("ranking_sha256", "blob.sha256"),
    reference("system_id", "system.id"),
    reference("config_id", "config.id"),
    reference("collection_version_id", "collection_version.id"),
    reference("asked_sha256", "blob.sha256"),
    reference("latencies_sha256", "blob.sha256", nullable=True),
    sa.Column("repetition", sa.Integer, nullable=False),
    json_value("facts"),
    time("started"),
    time("stored"),
    sa.UniqueConstraint("digest"),
)
qrels = table(
    "qrels",
    number(),
    sa.Column("digest", _SHA, nullable=False),
    reference("judgments_sha256", "blob.sha256"),
    text("name"),
    sa.Column("kind", sa.String(16), nullable=False),
    json_value("facts"),
    time("stored"),
    sa.UniqueConstraint("digest"),
)
scores = table(
    "scores",
    number(),
    reference("run_id", "run.id"),
    reference("qrels_id", "qrels.id"),
    text("measure"),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("policies_sha256", _SHA, nullable=False),
    sa.Column("data_sha256", sa.String(64), nullable=False),
    reference("queries_sha256", "blob.sha256"),
    reference("vector_sha256", "blob.sha256"),
    sa.Column("mean", sa.Float(53)),
    json_value("facts"),
    sa.UniqueConstraint("run_id", "qrels_id", "measure", "version", "policies_sha256", "data_sha256"),
)
comparison = table(
    "comparison",
    number(),
    sa.Column("request_sha256", _SHA, nullable=False),
    sa.Column("subject_sha256", _SHA, nullable=False),
    sa.Column("queries_sha256", _SHA, nullable=False, index=True),
    reference("result_sha256", "blob.sha256"),
    json_value("pairs"),
    sa.Column("look", sa.Integer, nullable=False),
    time("stored"),
    sa.UniqueConstraint("request_sha256"),
)
tag = table(
    "tag",
    number(),
    text("name"),
    reference("run_id", "run.id", nullable=True),
    text("who"),
    time("stored"),
    sa.Index("ix_tag_name", "name"),
)

target = table("target", number(), sa.Column("sha256", _SHA, nullable=False), text("name"), json_value("definition"),
    time("stored"), sa.UniqueConstraint("sha256"),
)  # fmt: skip
target_result = table(
    "target_result",
    number(),
    reference("target_id", "target.id"),
    reference("run_id", "run.id", nullable=True),
    text("outcome"),
    json_value("facts"),
    time("stored"),
)

guideline = table("guideline", sa.Column("sha256", _SHA, primary_key=True), text("text"), time("stored"))
judgment = table(
    "judgment",
    number(),
    sa.Column("uuid", sa.String(36), nullable=False),
    text("collection"),
    text("task"),
    text("query"),
    text("doc"),
    sa.Column("grade", sa.Float(53)),
    sa.Column("status", sa.String(16), nullable=False),
    text("rater"),
    sa.Column("guideline_sha256", _SHA, sa.ForeignKey("guideline.sha256")),
    json_value("value"),
    time("stored"),
    sa.Column("state_sha256", _SHA, index=True),
    sa.UniqueConstraint("uuid"),
    sa.Index("ix_judgment_collection", "collection", "task"),
)
preference = table(
    "preference",
    number(),
    sa.Column("uuid", sa.String(36), nullable=False),
    text("task"),
    text("query"),
    text("rater"),
    sa.Column("guideline_sha256", _SHA, sa.ForeignKey("guideline.sha256")),
    json_value("value"),
    time("stored"),
    sa.Column("state_sha256", _SHA, nullable=False, index=True),
    sa.UniqueConstraint("uuid"),
    sa.Index("ix_preference_task", "task"),
)

task = table(
    "task",
    number(),
    text("name"),
    text("collection"),
    json_value("plan"),
    sa.Column("guideline_sha256", _SHA, sa.ForeignKey("guideline.sha256"), nullable=False),
    sa.Column("state", sa.String(16), nullable=False),
    time("created"),
    text("who"),
    sa.UniqueConstraint("name"),
)
task_item = table(
    "task_item",
    number(),
    reference("task_id", "task.id"),
    text("query"),
    sa.Column("query_sha256", _SHA, nullable=False),
    text("doc"),
    sa.Column("doc_sha256", _SHA, nullable=False),
    sa.Column("place", sa.Integer, nullable=False),
    sa.Column("purpose", sa.String(16), nullable=False),
    sa.Column("gold", sa.Float(53)),
    json_value("ranks"),
    sa.UniqueConstraint("task_id", "query_sha256", "doc_sha256"),
)
rater = table(
    "rater",
    number(),
    reference("task_id", "task.id"),
    text("name"),
    sa.Column("token_sha256", _SHA),
    sa.Column("seed", sa.BigInteger, nullable=False),
    time("created"),
    time("seen", nullable=True),
    time("revoked", nullable=True),
    sa.UniqueConstraint("token_sha256"),
)

alert = table(
    "alert",
    number(),
    text("name"),
    json_value("facts"),
    time("opened"),
    time("recovered", nullable=True),
    sa.Index("ix_alert_name", "name"),
)
notification = table(
    "notification",
    number(),
    reference("alert_id", "alert.id"),
    text("notifier"),
    sa.Column("kind", sa.String(16), nullable=False),
    sa.Column("attempts", sa.Integer, nullable=False),
    time("sent", nullable=True),
    text("failure"),
    time("stored"),
)

job = table(
    "job",
    number(),
    text("project"),
    json_value("options"),
    text("who"),
    sa.Column("state", sa.String(16), nullable=False, index=True),
    json_value("progress"),
    sa.Column("attempts", sa.Integer, nullable=False),
    text("worker"),
    time("created"),
    time("started", nullable=True),
    time("heartbeat", nullable=True),
    time("finished", nullable=True),
    json_value("result", nullable=True),
    text("failure"),
)
job_event = table(
    "job_event",
    number(),
    reference("job_id", "job.id"),
    sa.Column("sequence", sa.Integer, nullable=False),
    text("text"),
    time("stored"),
    sa.UniqueConstraint("job_id", "sequence"),
)

user = table(
    "user",
    number(),
    sa.Column("name", AnyText, nullable=False),
    sa.Column("role", sa.String(16), nullable=False),
    json_value("password", nullable=True),
    time("disabled", nullable=True),
    time("stored"),
    sa.UniqueConstraint("name"),
)
login_session = table(
    "login_session",
    number(),
    sa.Column("token_sha256", _SHA, nullable=False),
    reference("user_id", "user.id", nullable=True),
    sa.Column("role", sa.String(16), nullable=False),
    time("created"),
    time("seen"),
    time("expires"),
    time("revoked", nullable=True),
    sa.UniqueConstraint("token_sha256"),
)
share_link = table(
    "share_link",
    number(),
    sa.Column("token_sha256", _SHA, nullable=False),
    text("page"),
    text("who"),
    time("created"),
    time("expires"),
    time("revoked", nullable=True),
    sa.UniqueConstraint("token_sha256"),
)
