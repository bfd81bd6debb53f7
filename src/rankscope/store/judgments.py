"""Stored judgments: what raters said, each with who, when and by which guideline. Rows are only added.

A judgment that is sent again has the same uuid, and is kept once. Who judges again, or takes a judgment back (status
`withdrawn`), adds a row; the row with the highest number holds, whatever the clocks of the raters say.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import sqlalchemy as sa

from rankscope.data.judgments import (
    SingleJudgment,
    judgment_record,
    problem_with,
    read_judgments,
    with_uuid,
    write_judgments,
)
from rankscope.data.qrels import Qrels
from rankscope.data.tasks import AGAIN, LabelRule
from rankscope.errors import InputError, OptionError
from rankscope.io.rows import QrelsRows
from rankscope.records import Record, from_builtins, replace
from rankscope.store.blobs import AT_A_TIME, insert_all_new, insert_if_new
from rankscope.store.labels import RULES, QueryDoc, grades_by_rater, label_docs
from rankscope.store.qrels import LabelKind, StoredQrels
from rankscope.store.schema import canonical_json, guideline, judgment, state_sha256
from rankscope.store.turns import GroupCommit

if TYPE_CHECKING:
    from rankscope.store.store import Store

SOURCE_OF: dict[str, str] = {"people": "person", "judge": "judge", "clicks": "clicks"}
"""Which judgments a kind of labels is made of."""


class StoredJudgment(Record):
    """A judgment as the store has it."""

    number: int
    """Counts up; of several judgments of a rater on a doc, the one with the highest number holds."""
    judgment: SingleJudgment
    stored: str


class JudgmentTable:
    """The judgments of a store, as `store.judgments`."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._group_commit = GroupCommit(store, add_groups)

    def add_guideline(self, text: str) -> str:
        """Keep the text that raters follow; return its hash, by which judgments name it."""
        sha256 = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        with self.store.writing() as connection:
            insert_if_new(connection, guideline, {"sha256": sha256, "text": text, "stored": self.store.clock()})
        return sha256

    def guidelines(self) -> dict[str, str]:
        """Return the texts that raters followed, by their hashes."""
        with self.store.reading() as connection:
            return {row.sha256: row.text for row in connection.execute(sa.select(guideline))}

    def add(
        self, judgments: SingleJudgment | Iterable[SingleJudgment], *, collection: str | None = None
    ) -> tuple[StoredJudgment, ...]:
        """Keep judgments, all or none; those that are there already are returned as they are.

        Threads may add at once: what several of them wait for is kept in one transaction.

        Parameters
        ----------
        judgments
            One, or several. One without a uuid gets the uuid that follows from what it says.
        collection
            Of those that do not name theirs.

        Raises
        ------
        InputError
            A judgment contradicts itself, follows a guideline that the store does not have, or has the uuid of
            another one.
        """
        given = [judgments] if isinstance(judgments, SingleJudgment) else list(judgments)
        rows = [judgment_row(prepared(each, collection), self.store.clock()) for each in given]
        return self._group_commit.add(rows)

    def list(
        self, collection: str | None = None, *, task: str | None = None, query: str | None = None
    ) -> tuple[StoredJudgment, ...]:
        """Return all judgments of a collection, of a task, of a query or of the store, as they came."""
        wanted = sa.select(judgment.c.id, judgment.c.value, judgment.c.stored).order_by(judgment.c.id)
        if collection is not None:
            wanted = wanted.where(judgment.c.collection == collection)
        if task is not None:
            wanted = wanted.where(judgment.c.task == task)
        if query is not None:
            wanted = wanted.where(judgment.c.query == query)
        with self.store.reading() as connection:
            return tuple(stored_judgment(row) for row in connection.execute(wanted))

    def newest(self, task: str) -> int:
        """Return the number of the newest judgment of a task, 0 where there is none."""
        wanted = sa.select(sa.func.max(judgment.c.id)).where(judgment.c.task == task)
        with self.store.glancing() as connection:
            return int(connection.execute(wanted).scalar_one() or 0)

    def current(
        self, collection: str, *, task: str | None = None, query: str | None = None
    ) -> tuple[StoredJudgment, ...]:
        """Return the judgments that hold: the newest of each task, rater, query and doc, unless it was withdrawn.

        Of choices ("this is the one I would take"), the newest of each task, rater and query.
        """
        newest: dict[tuple[Any, ...], StoredJudgment] = {}
        for stored in self.list(collection, task=task, query=query):
            newest[subject_of(stored.judgment)] = stored
        held = (stored for stored in newest.values() if stored.judgment.status != "withdrawn")
        return tuple(sorted(held, key=lambda stored: stored.number))

    def save(self, path: str | Path, *, collection: str | None = None) -> int:
        """Write judgments as JSONL, one line each, sorted by uuid, which merges in git; return how many there are."""
        found = self.list(collection)
        write_judgments((stored.judgment for stored in found), path)
        return len(found)

    def load(self, path: str | Path) -> int:
        """Take in the judgments of a file of JSONL; return how many were new.

        A file has no numbers: those that are new are added in the order of their times, and of their uuids where
        these are equal.
        """
        read = sorted(read_judgments(path), key=lambda each: (each.at or "", each.uuid))
        with self.store.reading() as connection:
            before = int(connection.execute(sa.select(sa.func.count()).select_from(judgment)).scalar_one())
        self.add(read)
        with self.store.reading() as connection:
            return int(connection.execute(sa.select(sa.func.count()).select_from(judgment)).scalar_one()) - before

    def to_qrels(
        self,
        collection: str,
        *,
        name: str | None = None,
        kind: LabelKind = "people",
        rule: LabelRule = "only",
        task: str | None = None,
        trusted: str = "",
        scale: Sequence[float] = (),
        known: Mapping[QueryDoc, float] | None = None,
    ) -> StoredQrels:
        """Make qrels of the grades that hold now, and keep them as a snapshot.

        Parameters
        ----------
        collection
            Whose judgments.
        name
            Of the qrels; by default that of the collection.
        kind
            Grades of people or of judges that are models; they are never put together.
        rule
            What becomes of a doc with several different grades, as for `rankscope.store.labels.label_docs`: `only`
            refuses it.
        task
            Only judgments of this task. What raters said of docs that they were shown a second time is never a label.
        trusted
            Whose grade counts with the rule `trusted`: the id of a person, or the name of a judge.
        scale
            All grades that could be given, beside those that the judgments name.
        known
            Grades of docs, by query and doc, that stand whatever raters gave them.
        """
        if rule not in RULES:
            raise OptionError(f"the rule {rule!r} is not one of {', '.join(RULES)}")
        if rule == "dawid-skene" and kind != "people":
            raise OptionError(
                "the rule dawid-skene is for people: of models it elects the largest family of near copies",
                hint="take the lower median",
            )
        graded = graded_by(kind, self.current(collection, task=task))
        if not graded:
            raise InputError(f"{collection} has no grades of {kind} in the store", hint="store.judgments.add adds some")
        judgments = [each.judgment for each in graded]
        keys = {name: each.rater for each in judgments for name in (each.source.id, each.source.name, each.rater)}
        grades = grades_by_rater(judgments)
        steps = {*scale, *(grade for each in judgments for grade in each.scale or ())}
        labels = label_docs(grades, rule, scale=sorted(steps), trusted=keys.get(trusted, trusted))
        given = {pair: grade for pair, grade in (known or {}).items() if pair in labels.grades}
        chosen = {**labels.grades, **given}
        facts = {
            **labels.facts,
            "collection": collection,
            "task": task,
            "last_judgment": max(each.number for each in graded),
            "guidelines": sorted({each.guideline for each in judgments if each.guideline}),
            **({"n_known": len(given)} if given else {}),
        }
        rows = QrelsRows([query for query, _ in chosen], [doc for _, doc in chosen], np.array(list(chosen.values())))
        return self.store.qrels.add(Qrels(rows), name=name or collection, kind=kind, facts=facts)


def graded_by(kind: LabelKind, held: Iterable[StoredJudgment]) -> list[StoredJudgment]:
    """Return the judgments that labels of a kind are made of: those with a grade, but for docs shown a second time."""
    return [
        each
        for each in held
        if each.judgment.grade is not None
        and each.judgment.source.kind == SOURCE_OF[kind]
        and not (each.judgment.task or "").endswith(AGAIN)
    ]


def is_choice(each: SingleJudgment) -> bool:
    return each.choice and each.grade is None and not each.flag


def subject_of(each: SingleJudgment) -> tuple[str, str, str, str | None]:
    """Return what a judgment is about: of several that are about the same, the newest holds; a query has one choice."""
    return each.task or "", each.rater, each.query, None if is_choice(each) else each.doc


def prepared(each: SingleJudgment, collection: str | None) -> SingleJudgment:
    """Return a judgment as it is kept: with a collection and a uuid, written in one way."""
    if each.collection is None and collection is not None:
        each = replace(each, collection=collection)
    each = each if each.uuid else with_uuid(each)
    if problem := problem_with(each):
        raise InputError(f"a judgment of doc {each.doc!r} for query {each.query!r} cannot be kept: {problem}")
    return replace(each, uuid=str(uuid.UUID(each.uuid)))


def judgment_row(each: SingleJudgment, now: str) -> dict[str, Any]:
    return {
        "uuid": each.uuid,
        "collection": each.collection or "",
        "task": each.task or "",
        "query": each.query,
        "doc": each.doc,
        "grade": each.grade,
        "status": each.status,
        "rater": each.rater,
        "guideline_sha256": each.guideline,
        "value": judgment_record(each),
        "stored": now,
        "state_sha256": state_sha256(*subject_of(each)),
    }


def add_groups(
    connection: sa.Connection, groups: Sequence[Sequence[dict[str, Any]]]
) -> list[tuple[StoredJudgment, ...]]:
    """Add the rows of several callers; return to each what the store has of its own."""
    stored = iter(add_rows(connection, [row for rows in groups for row in rows]))
    return [tuple(islice(stored, len(rows))) for rows in groups]


def add_rows(connection: sa.Connection, rows: Sequence[dict[str, Any]]) -> Iterator[StoredJudgment]:
    check_guidelines(connection, {row["guideline_sha256"] for row in rows} - {None})
    insert_all_new(connection, judgment, rows)
    for at in range(0, len(rows), AT_A_TIME):
        some = rows[at : at + AT_A_TIME]
        same = sa.select(judgment.c.uuid, judgment.c.id, judgment.c.value, judgment.c.stored)
        same = same.where(judgment.c.uuid.in_([row["uuid"] for row in some]))
        found = {each.uuid: each for each in connection.execute(same)}
        for row in some:
            yield same_judgment(row, found[row["uuid"]])


def check_guidelines(connection: sa.Connection, named: set[str]) -> None:
    for sha256 in sorted(named):
        if connection.execute(sa.select(guideline.c.sha256).where(guideline.c.sha256 == sha256)).first() is None:
            raise InputError(
                f"the store does not have the guideline {sha256[:12]} that a judgment follows",
                hint="store.judgments.add_guideline(text) adds it",
            )


def same_judgment(row: dict[str, Any], found: Any) -> StoredJudgment:
    """Return what the store has under the uuid of a judgment, which must be that judgment."""
    if canonical_json(found.value) != canonical_json(row["value"]):
        raise InputError(
            f"the uuid {row['uuid']} stands for another judgment in the store: of doc {found.value['doc']!r} for query "
            f"{found.value['query']!r}",
            hint="a judgment is never changed; who judges again makes a new uuid",
        )
    return stored_judgment(found)


def stored_judgment(row: Any) -> StoredJudgment:
    return StoredJudgment(row.id, from_builtins(SingleJudgment, row.value), row.stored)
