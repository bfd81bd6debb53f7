"""Judging tasks of a store, with the docs that they hold. Docs are added to a task, and none is taken away."""

from __future__ import annotations

import math
import re
import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, get_args

import sqlalchemy as sa

from rankscope.data.tasks import Task, TaskItem, TaskPlan, TaskState
from rankscope.errors import InputError, OptionError, UnknownNameError, did_you_mean
from rankscope.printable import listed
from rankscope.records import from_builtins, replace, to_builtins
from rankscope.store.blobs import AT_A_TIME, insert_all_new
from rankscope.store.judgments import check_guidelines
from rankscope.store.runs import CollectionFacts, put_collection
from rankscope.store.schema import collection, collection_version, run, task_item, text_sha256
from rankscope.store.schema import guideline as guideline_table
from rankscope.store.schema import query as query_table
from rankscope.store.schema import task as task_table
from rankscope.store.texts import StoredQuery

if TYPE_CHECKING:
    from rankscope.store.store import Store

LONGEST_NAME = 100
KEPT_QUERIES = 500
"""Of so many queries it is remembered which docs tasks hold."""
KEPT_GUIDELINES = 20


class TaskTable:
    """The judging tasks of a store, as `store.tasks`."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._lock = threading.Lock()
        self._purposes: OrderedDict[tuple[int, str], dict[str, Literal["audit", "other"]]] = OrderedDict()
        self._guidelines: dict[str, str] = {}

    def add(
        self, name: str, *, collection: str, plan: TaskPlan, guideline: str, items: Iterable[TaskItem], who: str = ""
    ) -> Task:
        """Keep a new task with its docs.

        Parameters
        ----------
        name
            Of the task; no other task of the store has it.
        collection
            Whose queries and docs are judged.
        plan
            What the task is made of.
        guideline
            The sha256 that `store.judgments.add_guideline` returned.
        items
            What is to be judged; their numbers are given by the store.
        who
            Made the task.
        """
        check_task_name(name)
        with self.store.writing() as connection:
            if connection.execute(sa.select(task_table.c.id).where(task_table.c.name == name)).first() is not None:
                raise OptionError(f"there is a task {name} already", hint="give this one another name")
            check_guidelines(connection, {guideline})
            row = {"name": name, "collection": collection, "plan": to_builtins(plan), "guideline_sha256": guideline}
            row |= {"state": "open", "created": self.store.clock(), "who": who}
            connection.execute(sa.insert(task_table).inline(), row)
            made = task_of(connection.execute(sa.select(task_table).where(task_table.c.name == name)).one())
            add_items(connection, made.number, items)
        return made

    def list(self) -> tuple[Task, ...]:
        """Return all tasks, the oldest first."""
        with self.store.reading() as connection:
            return tuple(map(task_of, connection.execute(sa.select(task_table).order_by(task_table.c.id))))

    def get(self, reference: str | int) -> Task:
        """Return a task by its name or its number; it is an error where there is none."""
        with self.store.reading() as connection:
            row = connection.execute(sa.select(task_table).where(task_table.c.name == str(reference))).first()
            if row is None and re.fullmatch("[0-9]{1,9}", str(reference)):
                row = connection.execute(sa.select(task_table).where(task_table.c.id == int(reference))).first()
            if row is not None:
                return task_of(row)
            known = [str(name) for name in connection.execute(sa.select(task_table.c.name)).scalars()]
        hint = did_you_mean(str(reference), known) or (f"there are {listed(known, most=10)}" if known else "")
        raise UnknownNameError(
            f"there is no task {str(reference)!r}", hint=hint or "`rankscope judge create` makes the first one"
        )

    def items(self, task: Task, *, query: str | None = None) -> tuple[TaskItem, ...]:
        """Return what a task holds, or what it holds of a query, in the order in which it was added."""
        wanted = sa.select(task_item).where(task_item.c.task_id == task.number)
        if query is not None:
            wanted = wanted.where(task_item.c.query_sha256 == text_sha256(query))
        with self.store.reading() as connection:
            return tuple(map(item_of, connection.execute(wanted.order_by(task_item.c.id))))

    def find_item(self, task: Task, query: str, doc: str) -> TaskItem | None:
        """Return the item of a doc; None where the task does not hold it."""
        same = (task_item.c.query_sha256 == text_sha256(query)) & (task_item.c.doc_sha256 == text_sha256(doc))
        with self.store.reading() as connection:
            row = connection.execute(sa.select(task_item).where(task_item.c.task_id == task.number, same)).first()
        return None if row is None else item_of(row)

    def purpose_of(self, task: Task, query: str, doc: str) -> Literal["audit", "other"] | None:
        """Return what a doc of a task is judged for; None where the task does not hold it.

        That never changes, so it is remembered of all docs of a query. One that is not among them is looked for again:
        it may have been added.
        """
        key = task.number, query
        with self._lock:
            known = self._purposes.get(key, {})
        if doc not in known:
            columns = task_item.c.doc, task_item.c.purpose
            same = (task_item.c.task_id == task.number) & (task_item.c.query_sha256 == text_sha256(query))
            with self.store.glancing() as connection:
                known = {row.doc: row.purpose for row in connection.execute(sa.select(*columns).where(same))}
            if not known:
                return None
        with self._lock:
            self._purposes[key] = known
            self._purposes.move_to_end(key)
            while len(self._purposes) > KEPT_QUERIES:
                self._purposes.popitem(last=False)
        return known.get(doc)

    def extend(self, task: Task, items: Iterable[TaskItem], *, plan: TaskPlan | None = None) -> int:
        """Add what a task does not hold yet; return how many. A plan that is given takes the place of the old one.

        Of docs that it holds already, ranks in further lists are noted.
        """
        with self.store.writing() as connection:
            before = count_items(connection, task.number)
            given = list(items)
            add_items(connection, task.number, given)
            add_ranks(connection, task.number, given)
            if plan is not None:
                own = task_table.c.id == task.number
                held = task_of(connection.execute(sa.select(task_table).where(own)).one()).plan
                plan = replace(plan, trusted=held.trusted)  # names of raters may have changed meanwhile
                connection.execute(sa.update(task_table).where(own).values(plan=to_builtins(plan)))
            return count_items(connection, task.number) - before

    def set_places(self, task: Task, places: Mapping[int, int]) -> None:
        """Give items, by their numbers, other places in the order in which they matter."""
        rows = [{"number": number, "new_place": place} for number, place in places.items()]
        own = (task_item.c.id == sa.bindparam("number")) & (task_item.c.task_id == task.number)
        change = sa.update(task_item).where(own).values(place=sa.bindparam("new_place"))
        with self.store.writing() as connection:
            for at in range(0, len(rows), AT_A_TIME):
                connection.execute(change, rows[at : at + AT_A_TIME])

    def queries(self, task: Task, names: Iterable[str]) -> dict[str, StoredQuery]:
        """Return what is known of queries: as the runs of the task were asked them, else as the collection has them.

        Words that these runs were not asked with are those that were given beside other runs of the collection.
        """
        wanted = frozenset(names)
        sets = sa.select(collection_version.c.queries_sha256)
        if task.plan.runs:
            sets = sets.join(run).where(run.c.id.in_(task.plan.runs)).order_by(run.c.id.desc())
        else:
            named = collection.c.name == task.collection
            sets = sets.join(collection).where(named).order_by(collection_version.c.id.desc()).limit(1)
        found: dict[str, StoredQuery] = {}
        with self.store.reading() as connection:
            for sha256 in dict.fromkeys(connection.execute(sets).scalars()):
                rows = connection.execute(sa.select(query_table).where(query_table.c.queries_sha256 == sha256))
                found |= {row.query: StoredQuery(row.text, row.attributes) for row in rows if row.query in wanted}
        for sha256 in self.further_queries(task.collection):
            given = self.store.texts.queries(sha256)
            found |= {name: given[name] for name in wanted & given.keys() if not found.get(name, StoredQuery()).text}
        return found

    def add_queries(self, collection_name: str, queries: Mapping[str, StoredQuery]) -> None:
        """Keep the words of queries that no run is known to have been asked, for those who judge what runs answer."""
        about = CollectionFacts(name=collection_name, queries=dict(queries), counts={"queries": len(queries)})
        with self.store.writing() as connection:
            put_collection(connection, about, self.store.clock())

    def further_queries(self, collection_name: str) -> tuple[str, ...]:
        """Return the hashes of such sets of queries of a collection, the oldest first."""
        of_runs = sa.select(run.c.collection_version_id)
        named = (collection.c.name == collection_name) & collection_version.c.id.not_in(of_runs)
        wanted = sa.select(collection_version.c.queries_sha256).join(collection).where(named)
        with self.store.reading() as connection:
            return tuple(dict.fromkeys(connection.execute(wanted.order_by(collection_version.c.id)).scalars()))

    def guideline_text(self, task: Task) -> str:
        """Return the text that a task follows; what a sha256 stands for never changes, so it is remembered."""
        known = self._guidelines.get(task.guideline)
        if known is None:
            wanted = sa.select(guideline_table.c.text).where(guideline_table.c.sha256 == task.guideline)
            with self.store.reading() as connection:
                known = str(connection.execute(wanted).scalar_one())
            with self._lock:
                while len(self._guidelines) >= KEPT_GUIDELINES:
                    del self._guidelines[next(iter(self._guidelines))]
                self._guidelines[task.guideline] = known
        return known

    def set_guideline(self, task: Task, guideline: str) -> Task:
        """Let what is judged from now on follow another guideline, by its sha256."""
        with self.store.writing() as connection:
            check_guidelines(connection, {guideline})
        now = self.get(task.number)
        earlier = (*now.plan.earlier_guidelines, now.guideline) if guideline != now.guideline else ()
        plan = replace(now.plan, earlier_guidelines=tuple(dict.fromkeys(earlier or now.plan.earlier_guidelines)))
        return self._change(task, guideline_sha256=guideline, plan=to_builtins(plan))

    def stop(self, task: Task) -> Task:
        """Let nothing be judged any more; raters can still read."""
        return self._change(task, state="stopped")

    def reopen(self, task: Task) -> Task:
        """Let raters go on."""
        return self._change(task, state="open")

    def _change(self, task: Task, **values: Any) -> Task:
        with self.store.writing() as connection:
            own = task_table.c.id == task.number
            connection.execute(sa.update(task_table).where(own).values(**values))
            return task_of(connection.execute(sa.select(task_table).where(own)).one())


def check_task_name(name: str) -> None:
    if not name.strip() or name != name.strip() or len(name) > LONGEST_NAME or not name.isprintable():
        raise OptionError(
            f"{name[:200]!r} cannot be the name of a task",
            hint=f"a name has 1 to {LONGEST_NAME} characters that can be printed, and no blanks around it",
        )
    if name.isdecimal():
        raise OptionError(f"{name!r} cannot be the name of a task: it could be a number", hint="add a word to it")


def count_items(connection: sa.Connection, number: int) -> int:
    own = sa.select(sa.func.count()).select_from(task_item).where(task_item.c.task_id == number)
    return int(connection.execute(own).scalar_one())


def add_items(connection: sa.Connection, number: int, items: Iterable[TaskItem]) -> None:
    rows = [item_row(number, item) for item in items]
    for at in range(0, len(rows), AT_A_TIME):
        insert_all_new(connection, task_item, rows[at : at + AT_A_TIME])


def add_ranks(connection: sa.Connection, number: int, items: Iterable[TaskItem]) -> None:
    """Note in which further lists docs are that a task holds already; ranks that it knows stay."""
    ranks = {(item.query, item.doc): item.ranks for item in items if item.ranks}
    known = sa.select(task_item.c.id, task_item.c.query, task_item.c.doc, task_item.c.ranks)
    for row in connection.execute(known.where(task_item.c.task_id == number)).all():
        both = {**ranks.get((row.query, row.doc), {}), **row.ranks}
        if both != row.ranks:
            connection.execute(sa.update(task_item).where(task_item.c.id == row.id).values(ranks=both))


def item_row(task: int, item: TaskItem) -> dict[str, Any]:
    if not item.query:
        raise InputError(f"doc {item.doc!r} is to be judged for no query", hint="every item of a task names its query")
    return {
        "task_id": task,
        "query": item.query,
        "query_sha256": text_sha256(item.query),
        "doc": item.doc,
        "doc_sha256": text_sha256(item.doc),
        "place": item.place,
        "purpose": item.purpose,
        "gold": item.gold,
        "ranks": item.ranks,
    }


def item_of(row: Any) -> TaskItem:
    return TaskItem(
        number=row.id,
        query=row.query,
        doc=row.doc,
        place=row.place,
        purpose=row.purpose,
        gold=row.gold,
        ranks=row.ranks,
    )


def task_of(row: Any) -> Task:
    if row.state not in get_args(TaskState):
        raise InputError(f"the task {row.name} is in the state {row.state!r}, which is none")
    return Task(
        number=row.id,
        name=row.name,
        collection=row.collection,
        plan=readable_plan(from_builtins(TaskPlan, row.plan)),
        guideline=row.guideline_sha256,
        state=row.state,
        created=row.created,
        who=row.who,
    )


def readable_plan(plan: TaskPlan) -> TaskPlan:
    """Return a plan that can be shown: a margin that is no number is kept as a word, for JSON has no other way."""
    if plan.margin is None or 0 <= plan.margin < math.inf:
        return plan
    return replace(plan, margin=None, unusable_margin=f"{plan.margin:g}")
