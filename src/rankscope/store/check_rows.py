"""Reads every row of a store: whether it is what its hashes say, and what other columns and tables say of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any, get_args

import sqlalchemy as sa

from rankscope.data.judgments import SingleJudgment
from rankscope.errors import InputError, OptionError
from rankscope.records import Record
from rankscope.store import schema
from rankscope.store.alerts import NotificationKind, stored_alert
from rankscope.store.blobs import get_blob
from rankscope.store.columns import qrels_rows_of, texts_of
from rankscope.store.comparisons import stored_comparison
from rankscope.store.engine import in_words
from rankscope.store.jobs import stored_job
from rankscope.store.judgments import judgment_row, stored_judgment
from rankscope.store.links import link_of
from rankscope.store.preferences import preference_problem, preference_row, stored_preference
from rankscope.store.qrels import qrels_digest, stored_qrels
from rankscope.store.raters import rater_of
from rankscope.store.runs import (
    HASH_OF_FACTS,
    RUN_COLUMNS,
    StoredRun,
    digest_of_stored,
    sha256_of_json,
    stored_run,
    version_of,
    without_hash,
)
from rankscope.store.schema import canonical_json, text_sha256
from rankscope.store.store import Store
from rankscope.store.targets import RESULT_COLUMNS, stored_result
from rankscope.store.tasks import item_of, item_row, task_of
from rankscope.store.texts import StoredQuery, queries_sha256
from rankscope.store.users import user_of

NOT_ITS_HASH = "is not what its hash says"


class StoreFinding(Record):
    """Something in a store that is not as it should be."""

    what: str
    """For example `ranking 1f2e3d4c5b6a`."""
    problem: str
    used_by: str = ""
    """The runs or qrels that cannot be read without it."""


def row_findings(store: Store) -> Iterator[StoreFinding]:
    """Yield rows that are not what their hashes or other columns say, and those that cannot be read."""
    with in_words(store.location), store.reading() as connection:
        yield from text_findings(connection)
        for name, (wanted, look) in ROWS.items():
            try:
                for row in connection.execute(wanted.order_by(wanted.selected_columns[0])):
                    if problem := problem_of(row, look, connection):
                        yield StoreFinding(f"row {row[0]} of {name}", problem)
            except InputError as error:  # JSON that is none ends the reading of its table
                yield StoreFinding(f"table {name}", f"cannot be read on from here: {error.message}")


def problem_of(row: Any, look: Look, connection: sa.Connection) -> str:
    try:
        return look(row, connection)
    except (InputError, OptionError) as error:
        return f"cannot be read: {error.message}"
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        return f"cannot be read: {error!r}"


def text_findings(connection: sa.Connection) -> Iterator[StoreFinding]:
    """Yield sets of queries that are not what their hash says."""
    sets: dict[str, dict[str, StoredQuery]] = defaultdict(dict)
    for row in connection.execute(sa.select(schema.query).order_by(schema.query.c.id)):
        sets[row.queries_sha256][row.query] = StoredQuery(row.text)
    for sha256, queries in sets.items():
        if queries_sha256(queries) != sha256:
            yield StoreFinding(f"queries {sha256[:12]}", "are not what their hash says")


def config_problem(row: Any, _: sa.Connection) -> str:
    return "" if sha256_of_json(row.value) == row.sha256 else NOT_ITS_HASH


def guideline_problem(row: Any, _: sa.Connection) -> str:
    return "" if text_sha256(row.text) == row.sha256 else NOT_ITS_HASH


def doc_problem(row: Any, _: sa.Connection) -> str:
    content = {"title": row.title, "text": row.text, "fields": row.fields}
    same = sha256_of_json(content) == row.sha256 and text_sha256(row.doc) == row.doc_sha256
    return "" if same else NOT_ITS_HASH


def version_problem(row: Any, connection: sa.Connection) -> str:
    if version_of(row.queries_sha256, row.docs_sha256, row.qrels_sha256) != row.version:
        return NOT_ITS_HASH
    if not all(type(n) is int and n >= 0 for n in row.counts.values()):
        return f"its counts are none: {canonical_json(row.counts)}"
    asked = sa.select(sa.func.count()).where(schema.query.c.queries_sha256 == row.queries_sha256)
    n_asked = connection.execute(asked).scalar_one()
    if "queries" in row.counts and n_asked > row.counts["queries"]:
        return f"it counts {row.counts['queries']:,} queries, and {n_asked:,} are stored"
    return ""


def run_problem(row: Any, connection: sa.Connection) -> str:
    run = stored_run(row)
    noted = row.details.get(HASH_OF_FACTS)
    if noted is not None and noted != sha256_of_json(without_hash(row.details)):
        return "what it says of how it was made is not what its hash says"
    if digest_of_stored(run) != run.digest:
        return "its system, options, collection, time or repetition is not what its hash says"
    return columns_problem(run, row, connection)


def columns_problem(run: StoredRun, row: Any, connection: sa.Connection) -> str:
    if row.repetition != run.details.repetition:
        return f"its column says repetition {row.repetition}, and its record {run.details.repetition}"
    asked = texts_of(get_blob(connection, run.asked_sha256))
    wanted = sa.select(schema.query.c.query).where(schema.query.c.queries_sha256 == run.queries_sha256)
    if set(asked) != set(connection.execute(wanted).scalars()):
        return "the queries that it was asked are not those of its collection's version"
    if not set(run.details.failed) <= set(asked):
        return "queries failed that it was not asked"
    return ""


def qrels_problem(row: Any, connection: sa.Connection) -> str:
    found = stored_qrels(row)
    before = sa.select(schema.qrels.c.digest).where(schema.qrels.c.name == row.name, schema.qrels.c.id < row.number)
    earlier = connection.execute(before.order_by(schema.qrels.c.id.desc()).limit(1)).scalar_one_or_none()
    if qrels_digest(found.judgments_sha256, found.name, found.kind, earlier) != found.digest:
        return NOT_ITS_HASH
    n = len(qrels_rows_of(get_blob(connection, found.judgments_sha256)))
    return (
        "" if found.facts["n_judgments"] == n else f"it counts {found.facts['n_judgments']:,} judgments, and has {n:,}"
    )


def comparison_problem(row: Any, _: sa.Connection) -> str:
    stored_comparison(row)
    return "" if row.look >= 0 else f"it is the look number {row.look}"


def target_problem(row: Any, _: sa.Connection) -> str:
    if sha256_of_json(row.definition) != row.sha256:
        return NOT_ITS_HASH
    return "" if row.definition["name"] == row.name else "says one thing in its columns, and another in its record"


def target_result_problem(row: Any, _: sa.Connection) -> str:
    found = stored_result(row)
    same = (found.result.outcome, found.result.target) == (row.outcome, found.target.name)
    return "" if same else "says one thing in its columns, and another in its record"


def judgment_problem(row: Any, _: sa.Connection) -> str:
    said: SingleJudgment = stored_judgment(row).judgment
    columns = judgment_row(said, row.stored)
    same = all(getattr(row, name) == value for name, value in columns.items() if name != "value")
    return "" if same else "says one thing in its columns, and another in its record"


def preference_row_problem(row: Any, _: sa.Connection) -> str:
    said = stored_preference(row).preference
    columns = preference_row(said, row.stored)
    same = all(getattr(row, name) == value for name, value in columns.items() if name != "value")
    return preference_problem(said) if same else "says one thing in its columns, and another in its record"


def task_problem(row: Any, _: sa.Connection) -> str:
    found = task_of(row)
    same = len(found.plan.systems) == len(found.plan.runs)
    return "" if same else "it has not as many runs as systems"


def item_problem(row: Any, _: sa.Connection) -> str:
    found = item_row(row.task_id, item_of(row))
    if (found["query_sha256"], found["doc_sha256"]) != (row.query_sha256, row.doc_sha256):
        return NOT_ITS_HASH
    fine = row.purpose in ("audit", "other") and all(type(rank) is int and rank > 0 for rank in row.ranks.values())
    return "" if fine else f"its purpose is {row.purpose!r}, and its ranks are {canonical_json(row.ranks)}"


def alert_problem(row: Any, connection: sa.Connection) -> str:
    found = stored_alert(row)
    if (found.name, found.opened, found.closed) != (row.name, row.opened, row.recovered):
        return "says one thing in its columns, and another in its record"
    opening = sa.select(schema.alert.c.name).where(schema.alert.c.id == found.opening)
    is_known = connection.execute(opening).scalar_one_or_none() == row.name
    return "" if is_known else f"it closes the alert {found.opening}, which is not there"


def notification_problem(row: Any, _: sa.Connection) -> str:
    if row.kind not in get_args(NotificationKind) or row.attempts < 1:
        return f"it is attempt {row.attempts} of the kind {row.kind!r}"
    return "" if row.sent in (None, row.stored) else "it was sent at another time than it was noted"


def tag_problem(row: Any, _: sa.Connection) -> str:
    return "" if row.name.strip() else "it has no name"


def nothing_of(_: Record) -> str:
    """Return no problem: that a record could be made of a row is all that is asked."""
    return ""


Look = Callable[[Any, sa.Connection], str]
ROWS: dict[str, tuple[sa.Select[Any], Look]] = {
    "config": (sa.select(schema.config), config_problem),
    "guideline": (sa.select(schema.guideline), guideline_problem),
    "doc": (sa.select(schema.doc), doc_problem),
    "collection_version": (sa.select(schema.collection_version), version_problem),
    "run": (RUN_COLUMNS.add_columns(schema.run.c.repetition), run_problem),
    "qrels": (sa.select(schema.qrels.c.id.label("number"), *list(schema.qrels.c)[1:]), qrels_problem),
    "comparison": (sa.select(schema.comparison), comparison_problem),
    "tag": (sa.select(schema.tag), tag_problem),
    "target": (sa.select(schema.target), target_problem),
    "target_result": (RESULT_COLUMNS.add_columns(schema.target_result.c.outcome), target_result_problem),
    "judgment": (sa.select(schema.judgment), judgment_problem),
    "preference": (sa.select(schema.preference), preference_row_problem),
    "task": (sa.select(schema.task), task_problem),
    "task_item": (sa.select(schema.task_item), item_problem),
    "rater": (sa.select(schema.rater), lambda row, _: nothing_of(rater_of(row))),
    "alert": (sa.select(schema.alert), alert_problem),
    "notification": (sa.select(schema.notification), notification_problem),
    "job": (sa.select(schema.job), lambda row, _: nothing_of(stored_job(row))),
    "user": (sa.select(schema.user), lambda row, _: nothing_of(user_of(row))),
    "share_link": (sa.select(schema.share_link), lambda row, _: nothing_of(link_of(row))),
}
"""Which rows are read, and what tells what is wrong with one; the first column is shown."""
