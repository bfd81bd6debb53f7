"""A store with a little of everything in it."""

from __future__ import annotations

import numpy as np
import sqlalchemy as sa
from alembic import command
from alembic.config import Config

import rankscope as rs
from rankscope.data.judgments import JudgmentSource, SingleJudgment
from rankscope.measures.parse import parse_measures
from rankscope.records import replace
from rankscope.store import CollectionFacts, RunDetails, RunFacts, Store, StoredDoc, StoredQuery
from rankscope.store.alerts import Alert, NotificationAttempt
from rankscope.store.engine import connect, location_of
from rankscope.store.jobs import JobResult
from rankscope.store.schema import guideline, meta, text_sha256

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
    """Keep runs, qrels, scores, a comparison, a tag, judgments, a job, a user with a session, and a link."""
    docs = {f"d{i}": StoredDoc(f"title {i}", f"text {i}", {"year": i}) for i in range(20)}
    runs = [store.runs.add(ranked(i), run_facts(number=i), docs=docs) for i in range(n_runs)]
    grades = rs.Qrels({query: {"d1": 2, "d4": 1, "d7": 0} for query in QUERIES})
    qrels = store.qrels.add(grades, name="small")
    store.scores.means(runs, qrels, parse_measures("nDCG@10")[0])
    compared = rs.compare(grades, {"a": ranked(0), "b": ranked(1)}, "RR")
    store.comparisons.add(compared, queries_sha256=runs[0].queries_sha256, rankings=["a", "b"], inputs={"of": "test"})
    store.tags.move("baseline", runs[0])
    rules = store.judgments.add_guideline("2 is what you would click.")
    store.judgments.add(
        SingleJudgment(
            query=query, doc="d1", source=JudgmentSource("person", id="ada"), grade=1.0, collection="small",
            guideline=rules,
        )
        for query in QUERIES
    )  # fmt: skip
    job = store.jobs.add("/search/rankscope.toml", {"only": ["bm25"]}, who="ada")
    store.jobs.claim("/search/rankscope.toml", worker="w1")
    store.jobs.finish(job.number, worker="w1", result=JobResult((1,), (1,)))
    store.users.add("ada", "owner", password="a long password")
    store.users.open_session("ada")
    store.links.add("/compare", who="ada", lasts_s=3600)


def make_first_tables(address: str) -> None:
    """Make a store as the first version of Rankscope did, with one guideline in it."""
    location = location_of(address)
    if location.path is not None:
        location.path.parent.mkdir(parents=True, exist_ok=True)
        location.path.touch()
    engine = connect(location, read_only=False)
    config = Config()
    config.set_main_option("script_location", "rankscope:store/migrations")
    with engine.connect().execution_options(writes=True) as connection, connection.begin():
        config.attributes["connection"] = connection
        command.upgrade(config, "0001")
        facts = {
            "schema": "0001", "migrated_by": "0.1.0", "created_by": "0.1.0", "store_id": "a" * 32,
            "created": "2026-01-01T00:00:00.000000+00:00",
        }  # fmt: skip
        connection.execute(sa.insert(meta), [{"key": key, "value": value} for key, value in facts.items()])
        connection.execute(
            sa.insert(guideline), {"sha256": text_sha256("old"), "text": "old", "stored": facts["created"]}
        )
    engine.dispose()


def fill_watched(store: Store) -> None:
    """Keep what came of a target, and an alert that was sent and has recovered."""
    target = {"name": "first", "query": "q1", "doc": "d1", "top": 1}
    checked = rs.check({"q1": {"d1": 1}}, {"bm25": rs.Run({"q1": {"d2": 2.0, "d1": 1.0}})}, [target])
    store.targets.add(checked, {})
    fell = Alert(
        kind="drop", collection="small", system="bm25", measure="nDCG@10", opened=store.clock(), reasons=("It fell.",),
        run=store.runs.list()[-1].number,
    )  # fmt: skip
    (opened,) = store.alerts.put([fell])
    attempt = NotificationAttempt(
        alert=opened.number or 0, notifier="mail", kind="alert", attempts=1, at=store.clock(), sent=True
    )
    store.alerts.add_attempt(attempt)
    store.alerts.put([replace(opened, closed=store.clock(), end="recovered")])
