"""A store with two runs on a few queries, and tasks made of them."""

from __future__ import annotations

import uuid

import rankscope as rs
from rankscope.judging.records import Task, TaskPlan
from rankscope.judging.session import RaterSession, SaveAnswer, SaveRequest, open_session
from rankscope.judging.tasks import create_task
from rankscope.store import CollectionFacts, RunFacts, Store, StoredDoc, StoredQuery

QUERIES = {
    "q1": StoredQuery(
        "soup",
        {
            "level": "easy",
            "conversation": [{"role": "user", "content": "I am cold."}, "<b>Very</b>"],
            "expectedDish": "broth",
        },
    ),
    "q2": StoredQuery("bread", {"conversation": "Only rye."}),
    "q3": StoredQuery(None),
}
LISTS = {
    "alpha-system": {"q1": ["a", "b", "c"], "q2": ["a", "d"], "q3": ["e"]},
    "beta-system": {"q1": ["b", "x", "a"], "q2": ["d", "a"], "q3": ["e"]},
}
DOCS = {
    "a": StoredDoc("Title a", "Text a", {"page": "https://example.org/a", "bad": "javascript:alert(1)", "year": 7}),
    "b": StoredDoc("Title b", "Text b", {"links": ["http://example.org/b", "ftp://example.org"]}),
}


def add_runs(store: Store) -> None:
    for system, lists in LISTS.items():
        run = rs.Run({query: {doc: float(-rank) for rank, doc in enumerate(docs)} for query, docs in lists.items()})
        facts = RunFacts(
            system=system, started="2026-01-01T00:00:00+00:00", collection=CollectionFacts(name="food", queries=QUERIES)
        )
        store.runs.add(run, facts, docs=DOCS)


def small_task(store: Store, name: str = "kitchen", **plan: object) -> Task:
    """Return a task on both runs, without docs that come again unless they are asked for."""
    if not store.runs.list():
        add_runs(store)
    given = TaskPlan(**{"k": 3, "repeat_share": 0.0, **plan})
    return create_task(store, name, given, runs=list(LISTS))


def joined(store: Store, task: Task, name: str = "") -> RaterSession:
    return open_session(store, store.raters.invite(task, name=name)[1])


def request(query: str, doc: str, grade: float | None = None, **more: object) -> SaveRequest:
    return SaveRequest(uuid=str(uuid.uuid4()), query=query, doc=doc, grade=grade, **more)


def graded(session: RaterSession, query: str, doc: str, grade: float | None = None, **more: object) -> SaveAnswer:
    return session.save(request(query, doc, grade, **more))


def pairs_of(session: RaterSession) -> list[tuple[str, str]]:
    return [(item.query, item.doc) for item in session.state().items]
