"""Stored judgments: what raters said, each with who, when and by which guideline. Rows are only added.

A judgment that is sent again has the same uuid, and is kept once. Who judges again, or takes a judgment back (status
`withdrawn`), adds a row; the row with the highest number holds, whatever the clocks of the raters say.
"""

from __future__ import annotations

import hashlib
import uuid
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

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
from rankscope.errors import InputError, OptionError
from rankscope.io.ids import byte_order
from rankscope.io.rows import QrelsRows
from rankscope.printable import counted
from rankscope.records import Record, from_builtins, replace
from rankscope.store.blobs import AT_A_TIME, insert_all_new, insert_if_new
from rankscope.store.qrels import LabelKind, StoredQrels
from rankscope.store.schema import canonical_json, guideline, judgment
from rankscope.store.turns import GroupCommit

if TYPE_CHECKING:
    from rankscope.store.store import Store

GradeRule = Literal["only", "majority", "mean", "max"]
"""What becomes of several grades of a doc: refused unless they are equal, or put together."""
RULES: tuple[GradeRule, ...] = ("only", "majority", "mean", "max")
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

    def current(
        self, collection: str, *, task: str | None = None, query: str | None = None
    ) -> tuple[StoredJudgment, ...]:
        """Return the judgments that hold: the newest of each task, rater, query and doc, unless it was withdrawn.

        Of choices ("this is the one I would take"), the newest of each task, rater and query.
        """
        newest: dict[tuple[Any, ...], StoredJudgment] = {}
        for stored in self.list(collection, task=task, query=query):
            each = stored.judgment
            key = (each.task, each.rater, each.query, None if is_choice(each) else each.doc)
            newest[key] = stored
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
        rule: GradeRule = "only",
        task: str | None = None,
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
            What becomes of a doc with several different grades: `only` refuses it, `majority` takes the grade that
            most raters gave (of two that as many gave, the lower), `mean` their mean, `max` the highest.
        task
            Only judgments of this task.
        """
        if rule not in RULES:
            raise OptionError(f"the rule {rule!r} is not one of {', '.join(RULES)}")
        held = self.current(collection, task=task)
        graded = [
            each for each in held if each.judgment.grade is not None and each.judgment.source.kind == SOURCE_OF[kind]
        ]
        if not graded:
            raise InputError(f"{collection} has no grades of {kind} in the store", hint="store.judgments.add adds some")
        grades: dict[tuple[str, str], dict[str, float]] = defaultdict(dict)
        for stored in graded:  # in the order of their numbers: of a rater's grades in several tasks, the newest
            each = stored.judgment
            grades[each.query, each.doc][each.rater] = float(each.grade or 0.0)
        pairs = sorted(grades, key=lambda pair: tuple(map(byte_order, pair)))
        disagreed = [pair for pair in pairs if len(set(grades[pair].values())) > 1]
        if disagreed and rule == "only":
            query, doc = disagreed[0]
            raise InputError(
                f"raters disagree on {counted(len(disagreed), 'doc')}, the first is {doc} for query {query}",
                hint="say how their grades are put together: rule='majority', 'mean' or 'max'",
            )
        chosen = np.array([grade_of(list(grades[pair].values()), rule) for pair in pairs])
        facts = {
            "rule": rule,
            "collection": collection,
            "task": task,
            "n_single": sum(len(grades[pair]) == 1 for pair in pairs),
            "n_disagreed": len(disagreed),
            "n_raters": len({each.judgment.rater for each in graded}),
            "last_judgment": max(each.number for each in graded),
            "guidelines": sorted({each.judgment.guideline for each in graded if each.judgment.guideline}),
        }
        rows = QrelsRows([query for query, _ in pairs], [doc for _, doc in pairs], chosen)
        return self.store.qrels.add(Qrels(rows), name=name or collection, kind=kind, facts=facts)


def is_choice(each: SingleJudgment) -> bool:
    return each.choice and each.grade is None and not each.flag


def grade_of(grades: Sequence[float], rule: GradeRule) -> float:
    if rule == "mean":
        return float(sum(grades) / len(grades))
    if rule == "max":
        return max(grades)
    counts = Counter(grades)
    return min(grade for grade, n in counts.items() if n == max(counts.values()))


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
