"""A store of two systems whose scores can be seen at a glance: RR is 1, 1/2 or 0."""

from __future__ import annotations

import rankscope as rs
from rankscope.data.judgments import JudgmentSource, SingleJudgment
from rankscope.store import CollectionFacts, RunDetails, RunFacts, Store, StoredDoc, StoredQuery
from rankscope.web.library import Library

SCRIPT = '<script>alert("1")</script>'
QUERIES = {
    "q1": StoredQuery("pea soup", {"language": "en", "tags": ["warm", "green"]}),
    "q2": StoredQuery(f"rye bread {SCRIPT}", {"language": "en"}),
    "q3": StoredQuery("Übung im Kochen", {"language": "de"}),
    "q4": StoredQuery(None, {"language": "de"}),
    "q5": StoredQuery("עוגת שזיפים 100%", {"language": "he", "note": "x" * 500}),
}
QRELS = {
    "q1": {"r": 1, "x": 0},
    "q2": {"r": 1, "x": 0},
    "q3": {"r": 1, "x": 0, "y": 0},
    "q4": {"r": 1},
    "q5": {"r": 1},
}
# RR of words: 1, 1/2, 0, 1, 0; of meaning: 1/2, 1, 0, 1, 1. So q1 is worse, q2 and q5 are better, q3 and q4 the same.
WORDS = {"q1": ["r", "x"], "q2": ["x", "r"], "q3": ["x", "y"], "q4": ["r"]}
MEANING = {"q1": ["x", "r"], "q2": ["r", "x"], "q3": ["y", "x"], "q4": ["r"], "q5": ["r", "u"]}
DOCS = {
    "r": StoredDoc(
        f"Right {SCRIPT}", f"All about pea soup. {SCRIPT} " + "long " * 50_000, {"year": 1999, "more": {"a": 1}}
    ),
    "x": StoredDoc("Wrong", "Nothing of the kind."),
}


def run_facts(system: str, *, day: int = 1, details: RunDetails | None = None, **about: object) -> RunFacts:
    collection = CollectionFacts(name="food", queries=about.pop("queries", QUERIES), docs_sha256="d" * 64)
    started = f"2026-01-{day:02}T10:00:00.000000+00:00"
    details = details or RunDetails(
        primary="RR", seeds=(7,), host="here", git_commit="c0ffee", versions={"rankscope": "1"}
    )
    return RunFacts(system=system, collection=collection, started=started, details=details, **about)


def fill(store: Store) -> None:
    failed = RunDetails(primary="RR", failed=("q5",), reasons={"q5": f"HTTP 500 {SCRIPT}"})
    store.qrels.add(rs.Qrels(QRELS), name="food")
    store.runs.add(rs.Run(WORDS), run_facts("words", details=failed, type="bm25", config={"k1": 1.2}), docs=DOCS)
    store.runs.add(rs.Run(MEANING), run_facts("meaning", day=2, latencies_ms=dict.fromkeys(QUERIES, 2.5)))
    for rater, grade in (("ada", 1.0), ("bob", 0.0)):
        source = JudgmentSource("person", id=rater)
        judgment = SingleJudgment(query="q1", doc="r", source=source, grade=grade, collection="food", note="so")
        store.judgments.add(judgment)


def open_library(path) -> Library:
    store = rs.open_store(path / "store.db", create=True)
    fill(store)
    return Library(store)
