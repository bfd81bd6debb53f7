"""Parts of what is stored: some queries of a run and of judgments, some texts, found by words."""

from __future__ import annotations

import pytest

import rankscope as rs
from rankscope.data.judgments import JudgmentSource, SingleJudgment
from rankscope.store import CollectionFacts, RunFacts, StoredQuery
from rankscope.store.columns import texts_bytes, texts_of
from rankscope.store.schema import canonical_json, decoded_json

QUERIES = {
    "q1": StoredQuery("Soup with peas", {"level": "easy"}),
    "q2": StoredQuery("100% rye bread"),
    "q3": StoredQuery("Übung im Kochen", {"level": "hard"}),
    "q4": StoredQuery(None),
    "q5": StoredQuery("a_b \\ c"),
}


@pytest.fixture
def store(tmp_path):
    with rs.open_store(tmp_path / "store.db", create=True) as store:
        yield store


def add_run(store, run):
    collection = CollectionFacts(name="food", queries=QUERIES)
    return store.runs.add(run, RunFacts(system="bm25", collection=collection, started="2026-01-01T00:00:00+00:00"))


def test_some_queries_of_a_run_are_those_of_the_whole_run(store):
    given = {"q1": {"d1": 1.0, "d2": 3.0}, "q2": {"d3": 2.0}, "q3": {"ü": 1.0, "d1": 0.5}}
    stored = add_run(store, rs.Run(given))
    part = store.runs.ranking(stored, only={"q3", "q1"})
    assert part.to_dict() == {"q1": {"d2": 3.0, "d1": 1.0}, "q3": {"ü": 1.0, "d1": 0.5}}
    assert store.runs.ranking(stored, only={"q4"}).to_dict() == {}
    assert store.runs.ranking(stored, only={"q2"}, columns=store.runs.columns(stored)).to_dict() == {"q2": {"d3": 2.0}}
    assert store.runs.ranking(stored).to_dict() == rs.Run(given).to_dict()


def test_queries_answered_with_nothing_stay_so_in_a_part(store):
    stored = add_run(store, rs.Run({"q1": {}, "q2": {"d1": 1.0}}))
    assert store.runs.ranking(stored, only={"q1"}).to_dict() == {"q1": {}}


def test_some_judgments_with_the_highest_grade_of_all(store):
    stored = store.qrels.add(rs.Qrels({"q1": {"d1": 1, "d2": 0}, "q2": {"d3": 3}}), name="food")
    columns = store.qrels.columns(stored)
    assert store.qrels.judgments(stored, only={"q1"}).to_dict() == {"q1": {"d1": 1.0, "d2": 0.0}}
    assert store.qrels.judgments(stored, only={"q2"}, columns=columns).to_dict() == {"q2": {"d3": 3.0}}
    assert columns.highest_grade == 3.0


def test_texts_of_some_queries(store):
    sha256 = add_run(store, rs.Run({"q1": {"d1": 1.0}})).queries_sha256
    assert store.texts.query_ids(sha256) == tuple(QUERIES)
    assert store.texts.queries_at(sha256, [2, 0]) == {"q1": QUERIES["q1"], "q3": QUERIES["q3"]}
    assert store.texts.attributes(sha256) == ({"level": "easy"}, {}, {"level": "hard"}, {}, {})
    assert store.texts.places_by_text(sha256) == [1, 4, 0, 2, 3]


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("soup", [0]), ("PEAS soup", [0]), ("übung", [2]), ("%", [1]), ("_", [4]), ("\\", [4]), ("a%b", []), ("q4", [3]),
        ("' OR 1=1", []), ("", [0, 1, 2, 3, 4]),
    ],
)  # fmt: skip
def test_queries_are_found_by_words_whatever_characters_these_have(store, words, found):
    sha256 = add_run(store, rs.Run({"q1": {"d1": 1.0}})).queries_sha256
    assert store.texts.places_with(sha256, words.split()) == found


def test_judgments_of_one_query(store):
    for query in ("q1", "q2"):
        source = JudgmentSource("person", id="ada")
        store.judgments.add(SingleJudgment(query=query, doc="d1", source=source, grade=1.0, collection="food"))
    assert [each.judgment.query for each in store.judgments.current("food", query="q2")] == ["q2"]


@pytest.mark.parametrize(
    "texts",
    [
        (),
        ("",),
        ("", "a", "", ""),
        ("a", "ü", "日本", "\U0001f600"),
        ("\ud83d", "\ude00", "end"),  # two halves of a character stay two
        ("a\0b", "", "c"),  # with NUL they are taken apart another way
        ("\0", "\0"),
    ],
)
def test_columns_of_any_texts_are_read_back(texts):
    assert texts_of(texts_bytes(texts)) == texts


@pytest.mark.parametrize(
    "value",
    [{"half": "\ud800", "other": "\udc00\ud800"}, {"no": float("inf")}, [2**80, -0.1, None, True], {"name": "😀 \\ud"}],
)
def test_values_of_any_kind_are_read_back_from_json(value):
    assert decoded_json(canonical_json(value)) == value
