"""A store with a little of everything in it."""

from __future__ import annotations

import numpy as np

import rankscope as rs
from rankscope.data.judgments import JudgmentSource, SingleJudgment
from rankscope.measures.parse import parse_measures
from rankscope.store import CollectionFacts, RunDetails, RunFacts, Store, StoredDoc, StoredQuery

N_QUERIES = 12
QUERIES = {f"q{i}": StoredQuery(f"text {i}", {"level": "easy"}) for i in range(N_QUERIES)}


def ranked(seed: int, *, depth: int = 20) -> rs.Run:
    generator = np.random.default_rng(seed)
    return rs.Run({query: {f"d{i}": score for i, score in enumerate(generator.random(depth))} for query in QUERIES})


def run_facts(system: str = "bm25", number: int = 0) -> RunFacts:
    return RunFacts(
        system=system,
        type="bm25",
        config={"k1": 1.2, "stop": ["a"]},
        started=f"2026-01-01T00:00:{number:02}.000000+00:00",
        collection=CollectionFacts(name="small", queries=QUERIES, docs_sha256="d" * 64, counts={"docs": 20}),
        latencies_ms=dict.fromkeys(QUERIES, 1.5),
        details=RunDetails(fingerprint="f", seeds=(1, 2), note="a note"),
    )


def fill(store: Store, *, n_runs: int = 3) -> None:
    """Keep runs, qrels, scores, a comparison, a tag and judgments."""
    docs = {f"d{i}": StoredDoc(f"title {i}", f"text {i}", {"year": i}) for i in range(20)}
    runs = [store.runs.add(ranked(i), run_facts(number=i), docs=docs) for i in range(n_runs)]
    grades = rs.Qrels({query: {"d1": 2, "d4": 1, "d7": 0} for query in QUERIES})
    qrels = store.qrels.add(grades, name="small")
    store.scores.means(runs, qrels, parse_measures("nDCG@10")[0])
    compared = rs.compare(grades, {"a": ranked(0), "b": ranked(1)}, "RR")
    store.comparisons.add(compared, queries_sha256=runs[0].queries_sha256, rankings=["a", "b"], inputs={"of": "test"})
    store.tags.move("baseline", runs[0])
    guideline = store.judgments.add_guideline("2 is what you would click.")
    store.judgments.add(
        SingleJudgment(
            query=query, doc="d1", source=JudgmentSource("person", id="ada"), grade=1.0, collection="small",
            guideline=guideline,
        )
        for query in QUERIES
    )  # fmt: skip
