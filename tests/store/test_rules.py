"""What the tables promise: migrations, one row for one thing, numbers that can be computed again, references."""

from __future__ import annotations

import threading

import numpy as np
import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

import rankscope as rs
from rankscope.errors import InputError, UnknownNameError
from rankscope.measures.parse import parse_measures
from rankscope.store import CollectionFacts, RunFacts, StoredQuery, open_store
from rankscope.store import migrations as migrations_package
from rankscope.store.blobs import insert_if_new
from rankscope.store.schema import SCHEMA_VERSION, metadata, tag
from rankscope.store.schema import scores as scores_table

QUERIES = {"q1": StoredQuery("one"), "q2": StoredQuery("two")}


def facts(system="bm25", started="2026-01-01T00:00:00.000000+00:00", collection="c") -> RunFacts:
    return RunFacts(system=system, started=started, collection=CollectionFacts(name=collection, queries=QUERIES))


def ranked(seed=0) -> rs.Run:
    generator = np.random.default_rng(seed)
    return rs.Run({query: {f"d{i}": score for i, score in enumerate(generator.random(20))} for query in QUERIES})


def test_migrations_give_exactly_the_tables(store):
    with store.engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True, "compare_server_default": True})
        assert compare_metadata(context, metadata) == []
        assert context.get_current_revision() == SCHEMA_VERSION


def test_the_schema_version_is_the_newest_migration():
    assert ScriptDirectory(migrations_package.__path__[0]).get_heads() == [SCHEMA_VERSION]


def test_opening_again_changes_nothing(store_address):
    def facts_of():
        with open_store(store_address) as store, store.reading() as connection:
            return dict(connection.execute(sa.select(metadata.tables["meta"])).all())

    assert facts_of() == facts_of()
    assert len(facts_of()["store_id"]) == 32


def test_two_writers_of_the_same_run_make_one_row(store_address):
    ready, found, problems = threading.Barrier(4), [], []

    def write() -> None:
        try:
            with open_store(store_address) as store:
                ready.wait(60)
                found.append(store.runs.add(ranked(), facts()))
        except Exception as error:  # noqa: BLE001 (a thread would hide it)
            problems.append(error)

    threads = [threading.Thread(target=write) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    assert len({run.number for run in found}) == 1
    with open_store(store_address) as store:
        assert store.runs.list() == (found[0],)


def test_an_insert_says_whether_the_row_is_new(store):
    table = metadata.tables["system"]
    with store.writing() as connection:
        assert [insert_if_new(connection, table, {"name": "a", "type": "b"}) for _ in range(2)] == [True, False]


def test_scores_are_computed_again_to_the_same_bits(store):
    generator = np.random.default_rng(5)
    grades = {query: {f"d{i}": int(grade) for i, grade in enumerate(generator.integers(0, 4, 15))} for query in QUERIES}
    run, qrels = store.runs.add(ranked(), facts()), store.qrels.add(rs.Qrels(grades), name="c")
    measures = parse_measures("nDCG@10 AP RR P@5 R@100 ERR@20")
    first = store.scores.of(run, qrels, measures)
    with store.reading() as connection:
        rows = connection.execute(sa.select(scores_table).order_by(scores_table.c.measure)).all()
    assert store.scores.drop() == len(measures)
    again = store.scores.of(run, qrels, measures)
    for name, scored in first.items():
        assert scored.vector.values.tobytes() == again[name].vector.values.tobytes()
        assert scored.summary == again[name].summary
        assert scored.query_ids == again[name].query_ids
    with store.reading() as connection:
        same = connection.execute(sa.select(scores_table).order_by(scores_table.c.measure)).all()
    assert [row[1:] for row in same] == [row[1:] for row in rows]
    assert min(row.id for row in same) > max(row.id for row in rows)  # a number is not given twice


def test_stored_scores_are_those_of_trec_eval(store):
    import pytrec_eval

    grades = {"q1": {"d1": 1, "d3": 2, "d9": 0}, "q2": {"d0": 1, "d7": 1}}
    run, qrels = store.runs.add(ranked(3), facts()), store.qrels.add(rs.Qrels(grades), name="c")
    expected = pytrec_eval.RelevanceEvaluator(grades, {"map", "ndcg_cut_10"}).evaluate(ranked(3).to_dict())
    found = store.scores.of(run, qrels, parse_measures("AP nDCG@10"))
    for measure, theirs in (("AP", "map"), ("nDCG@10", "ndcg_cut_10")):
        scored = dict(zip(found[measure].query_ids, found[measure].vector.values.tolist(), strict=True))
        assert scored == pytest.approx({query: expected[query][theirs] for query in grades}, abs=1e-12)


def test_numbers_and_tags_go_on_although_the_clock_goes_backwards(store_address):
    hours = iter(range(23, 0, -1))
    with open_store(store_address, clock=lambda: f"2026-01-01T{next(hours):02}:00:00.000000+00:00") as store:
        first, second = store.runs.add(ranked(1), facts()), store.runs.add(ranked(2), facts())
        assert first.number < second.number
        assert first.stored > second.stored
        store.tags.move("baseline", first)
        store.tags.move("baseline", second)
        assert store.runs.find("baseline") == second
        assert [move.run for move in store.tags.moves("baseline")] == [first.number, second.number]


def test_references(store):
    runs = [store.runs.add(ranked(i), facts(started=f"2026-01-0{i}")) for i in (1, 2, 3)]
    other = store.runs.add(ranked(9), facts("dense"))
    tilde = store.runs.add(ranked(9), facts("odd~1"))
    store.tags.move("release", runs[0])
    found = {
        "release": runs[0], "bm25": runs[2], "bm25~0": runs[2], "bm25~2": runs[0], "dense": other, "odd~1": tilde,
        str(runs[1].number): runs[1], runs[1].digest: runs[1], runs[1].digest[:10]: runs[1],
    }  # fmt: skip
    assert {reference: store.runs.find(reference) for reference in found} == found
    for unknown, said in (
        ("bm25~3", "bm25 has 3 stored runs"),
        ("bm24", "bm25"),
        ("99", "no run"),
        ("²", "no run"),
        ("~", "no run"),
    ):
        with pytest.raises(UnknownNameError, match=said):
            store.runs.find(unknown)
    store.runs.add(ranked(1), facts(collection="other"))
    with pytest.raises(InputError, match="runs on 2 collections: c, other"):
        store.runs.find("bm25")
    assert store.runs.find("bm25", collection="c") == runs[2]
    store.tags.remove("release")
    with pytest.raises(UnknownNameError):
        store.runs.find("release")
    with store.reading() as connection:
        assert connection.execute(sa.select(sa.func.count()).select_from(tag)).scalar_one() == 2


def test_judgments_that_are_taken_back_are_the_newest_again(store):
    one, two = rs.Qrels({"q": {"d": 1}}), rs.Qrels({"q": {"d": 2}})
    first, second = store.qrels.add(one, name="c"), store.qrels.add(two, name="c")
    third = store.qrels.add(one, name="c")
    assert store.qrels.add(one, name="c") == third == store.qrels.find("c")
    assert len({first.digest, second.digest, third.digest}) == 3
    assert store.qrels.find(str(second.number)) == second
    assert store.qrels.find(first.digest[:12]) == first


def test_looks_are_counted_once_for_each_question(store):
    grades = rs.Qrels({query: {"d1": 1, "d4": 1} for query in QUERIES})
    results = [rs.compare(grades, {"a": ranked(1), "b": ranked(i)}, "RR") for i in (2, 3)]
    looks = [
        store.comparisons.add(results[0], queries_sha256="q", rankings=["a", "b"], inputs=1).look,
        store.comparisons.add(results[1], queries_sha256="q", rankings=["a", "c"], inputs=2).look,
        store.comparisons.add(results[0], queries_sha256="q", rankings=["a", "b"], inputs=1).look,
        store.comparisons.add(results[1], queries_sha256="other", rankings=["a", "c"], inputs=3).look,
    ]
    assert looks == [1, 2, 1, 1]
    kept = store.comparisons.list(queries_sha256="q")
    assert [each.look for each in kept] == [1, 2]
    assert store.comparisons.result(kept[1]) == results[1]
