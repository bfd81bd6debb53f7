"""Whatever is written is read back equal, in SQLite and in PostgreSQL."""

from __future__ import annotations

import itertools
import re
import struct

import numpy as np
import pytest
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st

import rankscope as rs
from rankscope.data.asked_queries import AskedQueries
from rankscope.data.sources import Origin
from rankscope.io.ids import byte_order
from rankscope.io.rows import QrelsRows, RunRows
from rankscope.records import replace
from rankscope.store import CollectionFacts, RunDetails, RunFacts, StoredDoc, StoredQuery
from rankscope.store.blobs import CHUNK_BYTES, get_blob, put_blob
from rankscope.store.columns import (
    ScoreVector,
    qrels_bytes,
    qrels_rows_of,
    run_bytes,
    run_rows_of,
    texts_bytes,
    texts_of,
    vector_bytes,
    vector_of,
)
from rankscope.store.runs import StoredSource
from rankscope.store.schema import escape_text, unescape_text

NUMBERS = itertools.count()
ODD = "\\\0\udc80\udcff\ud800\u2028%_'\"~ \t\n\r\ufeff\U0001f600"
LETTERS = st.one_of(st.sampled_from(ODD), st.sampled_from("u0ab"), st.characters())
TEXTS = st.text(LETTERS, max_size=12)
IDS = st.text(LETTERS, min_size=1, max_size=12)
IN_JSON = TEXTS.filter(lambda text: not re.search("[\ud800-\udbff][\udc00-\udfff]", text))
"""JSON has no way to write two halves that are not one character."""
ON_DATABASE = settings(max_examples=25, phases=(Phase.explicit, Phase.generate))
"""What fails is not made smaller, which would take many transactions."""
FLOATS = st.one_of(
    st.floats(),
    st.integers(0, 2**64 - 1).map(lambda bits: struct.unpack("<d", struct.pack("<Q", bits))[0]),
    st.sampled_from([0.0, -0.0, 5e-324, float("nan"), float("inf"), float("-inf"), 0.1, 1e308]),
)


@st.composite
def run_rows(draw):
    rows = draw(st.lists(st.tuples(IDS, IDS, FLOATS, st.integers(-(2**63), 2**63 - 1)), max_size=12))
    queries, docs, scores, ranks = ([row[i] for row in rows] for i in range(4))
    return RunRows(
        queries,
        docs,
        np.array(scores, dtype=np.float64),
        draw(st.sampled_from([None, np.array(ranks, dtype=np.int64)])),
        draw(st.one_of(st.none(), IN_JSON)),
        frozenset(draw(st.sets(st.sampled_from(["query", "doc"])))),
        tuple(draw(st.lists(IDS, max_size=3, unique=True))),
    )


@st.composite
def qrels_rows(draw):
    rows = draw(st.lists(st.tuples(IDS, IDS, FLOATS, TEXTS, TEXTS, TEXTS), max_size=12, unique_by=lambda row: row[:2]))
    queries, docs, grades, *more = ([row[i] for row in rows] for i in range(6))
    kept = {
        name: draw(st.sampled_from([None, cells]))
        for name, cells in zip(("subtopic", "rater", "time"), more, strict=True)
    }
    empty = tuple(draw(st.lists(IDS, max_size=3, unique=True)))
    return QrelsRows(queries, docs, np.array(grades, dtype=np.float64), **kept, empty_queries=empty)


def bits(numbers) -> list[bytes]:
    return [np.float64(number).tobytes() for number in numbers]


def by_query(rows, *columns) -> dict[str, list[tuple]]:
    """Return the rows of each query in the order given."""
    found: dict[str, list[tuple]] = {}
    for query, *cells in zip(rows.query, *(column for column in columns if column is not None), strict=True):
        found.setdefault(query, []).append(tuple(cells))
    return found


def same_run(read: RunRows, written: RunRows) -> None:
    for rows in (read, written):
        assert (rows.rank is None) == (written.rank is None)
    assert by_query(read, read.doc, bits(read.score), read.rank) == by_query(
        written, written.doc, bits(written.score), written.rank
    )
    assert list(dict.fromkeys(read.query)) == sorted(set(read.query), key=lambda query: (byte_order(query), query))
    assert (read.tag, read.integer_ids) == (written.tag, written.integer_ids)
    assert set(read.empty_queries) == set(written.empty_queries)


def same_qrels(read: QrelsRows, written: QrelsRows) -> None:
    extra = ("subtopic", "rater", "time")
    assert [getattr(read, name) is None for name in extra] == [getattr(written, name) is None for name in extra]
    assert by_query(read, read.doc, bits(read.grade), read.subtopic, read.rater, read.time) == by_query(
        written, written.doc, bits(written.grade), written.subtopic, written.rater, written.time
    )
    assert set(read.empty_queries) == set(written.empty_queries)


@given(st.text(LETTERS))
@example("\\u0000")
@example("\\\\u0000\0")
@example("\ud83d\ude00")
def test_texts_are_escaped_and_come_back(text):
    kept = escape_text(text)
    assert unescape_text(kept) == text
    kept.encode()  # every database takes it
    assert "\0" not in kept


@given(run_rows())
def test_columns_of_a_run(rows):
    data = run_bytes(rows)
    same_run(run_rows_of(data), rows)
    assert run_bytes(run_rows_of(data)) == data


@given(qrels_rows())
def test_columns_of_qrels(rows):
    data = qrels_bytes(rows)
    same_qrels(qrels_rows_of(data), rows)
    assert qrels_bytes(qrels_rows_of(data)) == data


@given(st.lists(TEXTS))
def test_columns_of_texts(texts):
    assert texts_of(texts_bytes(texts)) == tuple(texts)


@given(st.lists(st.tuples(FLOATS, st.booleans(), st.booleans())))
def test_columns_of_scores(rows):
    values, undefined, answered = (np.array([row[i] for row in rows], dtype=kind) for i, kind in enumerate("d??"))
    read = vector_of(vector_bytes(ScoreVector(values, undefined, answered)))
    assert read.values.tobytes() == values.tobytes()
    assert read.undefined.tolist() == undefined.tolist()
    assert read.answered.tolist() == answered.tolist()


CONFIGS = st.dictionaries(
    IN_JSON, st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), IN_JSON, st.lists(IN_JSON))
)
FACTS = st.builds(
    RunFacts,
    system=IDS,
    type=TEXTS,
    config=CONFIGS,
    started=st.just("2026-01-01"),
    latencies_ms=st.one_of(st.none(), st.dictionaries(IDS, FLOATS, max_size=4)),
    collection=st.builds(
        CollectionFacts,
        name=IDS,
        queries=st.dictionaries(
            IDS,
            st.builds(StoredQuery, st.one_of(st.none(), TEXTS), st.dictionaries(IN_JSON, IN_JSON, max_size=2)),
            max_size=5,
        ),
        counts=st.dictionaries(IN_JSON, st.integers(0, 2**53)),
    ),
    details=st.builds(
        RunDetails,
        fingerprint=IN_JSON,
        seeds=st.lists(st.integers(0, 2**63)).map(tuple),
        failed=st.lists(IN_JSON).map(tuple),
        note=IN_JSON,
        latency_ms=st.one_of(st.none(), st.dictionaries(IN_JSON, st.floats(allow_nan=False, allow_infinity=False))),
        costs=st.dictionaries(IN_JSON, st.floats(allow_nan=False, allow_infinity=False)),
    ),
)


@ON_DATABASE
@given(
    rows=run_rows(),
    facts=FACTS,
    docs=st.dictionaries(IDS, st.builds(StoredDoc, TEXTS, TEXTS, st.dictionaries(IN_JSON, IN_JSON))),
)
def test_a_run_is_read_back_equal(store, rows, facts, docs):
    facts = replace(facts, started=f"{facts.started} {next(NUMBERS)}")  # what is known of a run is no part of its hash
    asked = AskedQueries("", tuple(facts.collection.queries))
    run = rs.Run(StoredSource(rows, Origin("made", "test", lambda: ""), asked))
    stored = store.runs.add(run, facts, docs=docs)
    found = store.runs.find(stored.digest)
    assert found == stored
    assert (found.system, found.type, found.config, found.started) == (
        facts.system,
        facts.type,
        facts.config,
        facts.started,
    )
    assert found.collection == facts.collection.name
    assert found.details == facts.details
    read = store.runs.ranking(found)
    same_run(read.rows, rows)
    assert read.asked.queries == tuple(facts.collection.queries)
    latencies = store.runs.latencies_ms(found)
    assert (latencies is None) == (facts.latencies_ms is None)
    if facts.latencies_ms is not None:
        assert dict(zip(latencies, bits(latencies.values()), strict=True)) == dict(
            zip(facts.latencies_ms, bits(facts.latencies_ms.values()), strict=True)
        )
    known = store.texts.queries(found.queries_sha256)
    assert {query: each.text for query, each in known.items()} == {
        query: each.text for query, each in facts.collection.queries.items()
    }
    read_docs = store.texts.docs(facts.collection.name, docs)
    assert read_docs.keys() == docs.keys()
    if len(store.runs.list(collection=facts.collection.name)) == 1:
        assert read_docs == docs
        assert store.texts.known_docs(facts.collection.name) == docs.keys()
    assert store.runs.add(run, facts, docs=docs) == stored


@ON_DATABASE
@given(rows=qrels_rows().filter(len), name=IDS, kind=st.sampled_from(["people", "judge", "clicks"]), facts=CONFIGS)
def test_qrels_are_read_back_equal(store, rows, name, kind, facts):
    facts = {key: value for key, value in facts.items() if key not in ("n_queries", "n_judgments")}
    stored = store.qrels.add(rs.Qrels(rows), name=name, kind=kind, facts=facts)
    assert (stored.name, stored.kind) == (name, kind)
    assert store.qrels.find(stored.digest) == stored
    same_qrels(store.qrels.judgments(stored).rows, rows)
    assert {key: value for key, value in stored.facts.items() if key in facts} == facts


def test_long_ids_and_texts(store):
    """PostgreSQL's indexes take less than 2,704 bytes."""
    generator = np.random.default_rng(1)
    query, doc, text = ("".join(map(chr, generator.integers(33, 900, n))) for n in (9_000, 30_000, 20_000))
    queries = {query: StoredQuery(text * 30)}
    run = rs.Run({query: {doc: 1.0}})
    facts = RunFacts(system="s", started="2026-01-01", collection=CollectionFacts(name="c", queries=queries))
    stored = store.runs.add(run, facts, docs={doc: StoredDoc(text, text)})
    assert store.runs.ranking(stored) == run
    assert store.texts.queries(stored.queries_sha256) == queries
    assert store.texts.docs("c", [doc]) == {doc: StoredDoc(text, text)}


@pytest.mark.parametrize("size", [0, 1, CHUNK_BYTES - 1, CHUNK_BYTES, CHUNK_BYTES + 1, 2 * CHUNK_BYTES + 5])
def test_blobs_of_several_chunks(store, size):
    data = np.random.default_rng(size).bytes(size)
    with store.writing() as connection:
        sha256 = put_blob(connection, data, kind="test", now="now")
    with store.reading() as connection:
        assert get_blob(connection, sha256) == data


def test_dates_and_infinity_in_options_are_no_error(store):
    """A project file is TOML, which has both."""
    import tomllib

    config = tomllib.loads("day = 2026-01-01\nat = 2026-01-01T00:00:00Z\nlimit = inf")
    facts = RunFacts(system="s", config=config, started="2026", collection=CollectionFacts(name="c", queries={}))
    stored = store.runs.add(rs.Run({"q": {"d": 1.0}}), facts)
    assert stored.config == {"day": "2026-01-01", "at": "2026-01-01 00:00:00+00:00", "limit": float("inf")}
