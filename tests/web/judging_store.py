"""A small store with a doctor search to judge: texts in two directions, a doc without text, links, a conversation."""

import rankscope as rs
from rankscope.data.tasks import TaskItem, TaskPlan
from rankscope.judging.guidelines import DEFAULT_GUIDELINE
from rankscope.store import CollectionFacts, RunDetails, RunFacts, StoredDoc, StoredQuery, open_store

COLLECTION = "doctors"
QUERIES = {
    "q1": StoredQuery(
        "palpitations at night, need SVT ablation",
        {"wants": "a procedure", "city": "Leeds", "conversation": ["My GP says it is SVT.", "Tablets do not help."]},
    ),
    "q2": StoredQuery("طبيب قلب في لندن", {"language": "ar"}),
    "q3": StoredQuery("a knee that locks", {"city": "York"}),
}
DOCS = {
    "d1": StoredDoc(
        "Dr. K., electrophysiology, Sheffield",
        "Atrial fibrillation and SVT; ablation list shared with two centres. Palpitations that wake you at night are "
        "seen in the rhythm clinic first, with a 14-day recorder.",
        {"specialty": "cardiology: electrophysiology", "city": "Sheffield, 53 km", "languages": ["English", "Polish"],
         "page": "https://example.org/dr-k"},
    ),
    "d2": StoredDoc("Dr. N., arrhythmia nurse clinic, Leeds", "SVT education; waiting list for ablation.", {"city": "Leeds"}),
    "d3": StoredDoc("Dr. J., varicose veins, Leeds", "Radiofrequency ablation of varicose veins.", {"city": "Leeds"}),
    "d4": StoredDoc("د. سارة، أمراض القلب", "طبيب قلب في لندن، مواعيد مسائية.", {"city": "London"}),
    "d5": StoredDoc("", "", {}),
    "d6": StoredDoc("Dr. B., knees, York", "Arthroscopy of a knee that locks. " * 40, {"city": "York"}),
}  # fmt: skip
LISTS = {
    "lexical-7": {"q1": ["d3", "d1", "d2"], "q2": ["d5", "d4"], "q3": ["d6", "d1"]},
    "dense-9": {"q1": ["d1", "d2", "d6"], "q2": ["d4", "d5"], "q3": ["d6", "d2"]},
}


def fill(location, *, queries=QUERIES, docs=DOCS, lists=LISTS):
    """Fill a new store with a run of each system; return it open."""
    store = open_store(location, create=True)
    for day, (system, rankings) in enumerate(lists.items(), 1):
        facts = RunFacts(
            system=system,
            started=f"2026-10-{day:02}T09:12:00.000000+00:00",
            collection=CollectionFacts(name=COLLECTION, queries=queries, counts={"docs": len(docs)}),
            details=RunDetails(depth=10, seeds=(), versions={}, failed=(), primary="nDCG@10", policies={}),
        )
        scored = {query: {doc: float(9 - i) for i, doc in enumerate(found)} for query, found in rankings.items()}
        store.runs.add(rs.Run(scored), facts, docs=docs)
    return store


def add_task(store, name, pairs, *, guideline=DEFAULT_GUIDELINE, overlap=2, repeat_share=0.0, **plan):
    """Add a task on docs of queries, in the order in which they are given; nothing is shown twice, unless it says so."""
    items = [TaskItem(number=0, query=query, doc=doc, place=i) for i, (query, doc) in enumerate(pairs)]
    return store.tasks.add(
        name,
        collection=COLLECTION,
        plan=TaskPlan(pool="file", overlap=overlap, repeat_share=repeat_share, **plan),
        guideline=store.judgments.add_guideline(guideline),
        items=items,
    )


def held(store, task, rater=None):
    """Return what holds in a task: by query and doc grade, flag, note and status; choices by query."""
    docs, choices = {}, {}
    for stored in store.judgments.current(COLLECTION, task=str(task.number)):
        each = stored.judgment
        if rater is not None and each.source.id != rater.id:
            continue
        if each.choice:
            choices[each.query] = each.doc
        else:
            docs[each.query, each.doc] = (each.grade, each.flag, each.note, each.status)
    return docs, choices
