"""A store with a judging task in it, and raters who grade as they are told."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import rankscope as rs
from rankscope.data.judgments import JudgmentSource, SingleJudgment
from rankscope.data.tasks import Preference, Task, TaskItem, TaskPlan, TaskRater, again_name
from rankscope.store import CollectionFacts, RunFacts, Store, StoredDoc, StoredQuery, open_store

GUIDELINE = "Grade.\n\n## Scale\n\n- 0 No\n- 1 Related\n- 2 Relevant\n- 3 Exactly\n"
SCALE = (0.0, 1.0, 2.0, 3.0)
DOCS = ("d0", "d1", "d2", "d3")
LISTS = {"old": ("d3", "d2", "d1", "d0"), "new": ("d0", "d1", "d2", "d3")}
"""The first docs of each system, for every query: new has them the other way round."""


class SmallTask:
    """A task of a store, with what tests do with it."""

    def __init__(self, store: Store, task: Task) -> None:
        self.store = store
        self.task = task
        self.raters: dict[str, TaskRater] = {}

    @property
    def queries(self) -> list[str]:
        return list(dict.fromkeys(item.query for item in self.store.tasks.items(self.task)))

    def rater(self, name: str) -> TaskRater:
        if name not in self.raters:
            self.raters[name] = self.store.raters.invite(self.task, name=name)[0]
        return self.raters[name]

    def say(self, rater: str, query: str, doc: str, *, again: bool = False, **said: object) -> None:
        task = str(self.task.number)
        self.store.judgments.add(
            SingleJudgment(
                query=query,
                doc=doc,
                source=JudgmentSource("person", id=self.rater(rater).id),
                uuid=str(uuid.uuid4()),
                scale=SCALE,
                collection=self.task.collection,
                task=again_name(task) if again else task,
                guideline=self.task.guideline,
                **said,
            )
        )

    def grade(
        self, rater: str, grades: Mapping[str, float] | Callable[[str, str], float | None], **said: object
    ) -> None:
        """Let a rater grade all docs of the task: by doc, or by a function of query and doc; None for none."""
        for item in self.store.tasks.items(self.task):
            grade = grades(item.query, item.doc) if callable(grades) else grades.get(item.doc)
            if item.doc and grade is not None:
                self.say(rater, item.query, item.doc, grade=float(grade), **said)

    def prefer(self, rater: str, query: str, left: str, right: str, value: int | None, *, again: bool = False) -> None:
        task = str(self.task.number)
        self.store.preferences.add(
            Preference(
                uuid=str(uuid.uuid4()),
                task=again_name(task) if again else task,
                query=query,
                rater=self.rater(rater).id,
                left=left,
                right=right,
                value=value,
                status="ok" if value is not None else "cannot_tell",
            )
        )


@contextmanager
def small_task(
    folder,
    *,
    n_queries: int = 12,
    lists: Mapping[str, tuple[str, ...]] = LISTS,
    known: Mapping[str, Mapping[str, float]] | None = None,
    gold: Mapping[tuple[str, str], float] | None = None,
    **plan: object,
) -> Iterator[SmallTask]:
    """Give a task over the first docs of systems that have the same list for every query."""
    names = [f"q{i:02}" for i in range(n_queries)]
    queries = {
        name: StoredQuery(f"text of {name}", {"field": "heart" if i % 2 else "skin"}) for i, name in enumerate(names)
    }
    folder.mkdir(exist_ok=True)
    with open_store(folder / "store.db", create=True) as store:
        numbers = []
        for system, docs in lists.items():
            ranked = rs.Run({name: {doc: -float(rank) for rank, doc in enumerate(docs)} for name in names})
            facts = RunFacts(
                system=system,
                started="2026-01-01T00:00:00.000000+00:00",
                collection=CollectionFacts(name="doctors", queries=queries),
            )
            titles = {doc: StoredDoc(f"title of {doc}") for doc in docs}
            numbers.append(store.runs.add(ranked, facts, docs=titles).number)
        every = list(dict.fromkeys(doc for docs in lists.values() for doc in docs))
        ranks = {doc: {name: docs.index(doc) + 1 for name, docs in lists.items() if doc in docs} for doc in every}
        items = [
            TaskItem(number=0, query=query, doc=doc, place=i, ranks=ranks[doc], gold=(gold or {}).get((query, doc)))
            for i, (query, doc) in enumerate((query, doc) for query in names for doc in every)
        ]
        if plan.get("mode") == "lists":
            items += [TaskItem(number=0, query=query, doc="", place=len(items)) for query in names]
        if known is not None:
            plan["qrels"] = store.qrels.add(rs.Qrels(known), name="doctors").number
        task = store.tasks.add(
            "hearts",
            collection="doctors",
            plan=TaskPlan(**{"systems": tuple(lists), "runs": tuple(numbers), "measure": "nDCG@4", "k": 4, **plan}),
            guideline=store.judgments.add_guideline(GUIDELINE),
            items=items,
        )
        yield SmallTask(store, task)
