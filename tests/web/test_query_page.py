"""One query: lists side by side, who graded what, what each doc adds, and what is hostile in it."""

from __future__ import annotations

import pytest
from query_store import QUERIES, SCRIPT, open_library, run_facts

import rankscope as rs
from rankscope.errors import RankscopeError
from rankscope.records import json_schema, replace, to_json
from rankscope.store import StoredQuery
from rankscope.web.pages.query import QueryOptions, QueryPage, query_page


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    library = open_library(tmp_path_factory.mktemp("store"))
    more = {**QUERIES, "q6": StoredQuery("never judged")}
    library.store.runs.add(rs.Run({"q1": ["x", "y", "r"], "q6": ["z"]}), run_facts("third", day=3, queries=more))
    yield library
    library.store.close()


def asked(query="q1", **options) -> QueryOptions:
    return QueryOptions(**{"collection": "food", "query": query, "a": "words", "b": "meaning", **options})


def test_two_lists_with_moves_lines_and_what_each_doc_adds(library):
    page = query_page(library, asked())
    assert page.answer == "RR is 1.0000 in words and 0.5000 in meaning: \N{MINUS SIGN}0.5000."
    assert page.why == "The relevant doc fell from 1 to 2."
    first, second = page.lists
    assert [(hit.doc, hit.grade, hit.adds, hit.move) for hit in first.hits] == [
        ("r", 1.0, 1.0, ""),
        ("x", 0.0, 0.0, ""),
    ]
    assert [(hit.doc, hit.adds, hit.before, hit.move) for hit in second.hits] == [
        ("x", 0.0, 2, "up"),
        ("r", 0.5, 1, "down"),
    ]
    assert [(line.left, line.right, line.kind) for line in second.lines] == [(2, 1, "stays"), (1, 2, "down")]
    assert [(part.rank, part.adds) for part in second.parts] == [(2, 0.5)]
    assert (first.score, second.score, first.letter, second.letter) == (1.0, 0.5, "A", "B")


def test_new_and_lost_docs(library):
    page = query_page(library, asked(docs=1))
    assert [(hit.doc, hit.is_lost) for hit in page.lists[0].hits] == [("r", True)]
    assert [(hit.doc, hit.move) for hit in page.lists[1].hits] == [("x", "new")]
    assert page.lists[1].lines == ()


def test_three_lists_each_beside_the_one_on_its_left(library):
    page = query_page(library, asked(more=("third",)))
    assert [each.name for each in page.lists] == ["words", "meaning", "third"]
    assert [(hit.doc, hit.before, hit.move) for hit in page.lists[2].hits] == [
        ("x", 1, "same"),
        ("y", None, "new"),
        ("r", 2, "down"),
    ]
    assert page.answer == "RR is 1.0000 in words, 0.5000 in meaning and 0.3333 in third."


def test_the_best_possible_list_and_the_arithmetic(library):
    page = query_page(library, asked(measure="nDCG@10"))
    assert [(part.rank, part.adds) for part in page.best] == [(1, 1.0)]
    # by hand: a gain of 1 at rank 2 is worth 1 / log2(3)
    assert page.lists[1].parts[0].adds == pytest.approx(0.6309, abs=5e-5)
    working = page.lists[1].working
    assert working.header[:2] == ("rank", "doc")
    assert "nDCG@10 = 0.63093" in working.words[-1]


def test_who_gave_which_grade(library):
    page = query_page(library, asked())
    assert [(each.rater, each.grade, each.note) for each in page.graded_by["r"]] == [
        ("ada", 1.0, "so"),
        ("bob", 0.0, "so"),
    ]


def test_a_doc_with_all_fields_and_its_place_in_each_list(library):
    page = query_page(library, asked(doc="r"))
    details = page.doc
    assert [(place.letter, place.rank, place.score, place.adds) for place in details.places] == [
        ("A", 1, 2.0, 1.0),
        ("B", 2, 1.0, 0.5),
    ]
    assert [(each.name, each.value) for each in details.fields] == [("more", '{"a": 1}'), ("year", "1999")]
    assert details.is_cut
    assert len(details.text) <= 4000
    assert query_page(library, asked(doc="nowhere")).doc.places[0].rank is None


def test_snippets_mark_the_words_of_the_query(library):
    page = query_page(library, asked())
    marked = [piece for piece, is_word in page.lists[0].hits[0].snippet if is_word]
    assert marked == ["pea", "soup"]


def test_previous_and_next_follow_the_list(library):
    page = query_page(library, asked("q4"))
    assert (page.previous, page.next, page.place, page.n_listed) == ("q3", "q2", 3, 5)
    page = query_page(library, asked("q2", show="better"))
    assert (page.previous, page.next, page.place, page.n_listed) == (None, "q5", 1, 2)
    page = query_page(library, asked("q1", show="better"))
    assert (page.previous, page.next, page.place) == (None, None, None)
    assert query_page(library, QueryOptions(a="words", b="meaning")).query == "q1"


def test_blind_tells_nothing_of_who_is_better(library):
    page = query_page(library, asked(blind=True, doc="r"))
    assert {each.score for each in page.lists} == {None}
    assert {hit.grade for each in page.lists for hit in each.hits} == {None}
    assert {hit.adds for each in page.lists for hit in each.hits} == {0.0}
    assert (page.why, page.missed, page.changes, page.graded_by, page.best) == ("", (), (), {}, ())
    assert page.doc.grade is None
    assert {(place.score, place.adds) for place in page.doc.places} == {(None, None)}
    assert "better" not in page.answer.replace("Which list is better?", "")
    open_page = query_page(library, asked(blind=False))
    assert {each.score for each in open_page.lists} == {1.0, 0.5}  # RR of the first and of the second rank


def test_blind_hides_names_in_an_order_of_the_seed(library):
    seen = {}
    for seed in range(12):
        page = query_page(library, asked(blind=True, seed=seed))
        told = to_json((page.lists, page.answer, page.why)).replace('"words": [', "")
        assert "words" not in told
        assert "meaning" not in told
        assert [each.name for each in page.lists] == ["A", "B"]
        seen.setdefault(page.lists[0].hits[0].doc, seed)
        assert query_page(library, asked(blind=True, seed=seed)) == page
    assert set(seen) == {"r", "x"}
    swapped = QueryOptions(query="q1", a="meaning", b="words", blind=True, seed=3)
    assert query_page(library, swapped).lists == query_page(library, asked(blind=True, seed=3)).lists


def test_a_query_that_failed_says_why(library):
    page = query_page(library, asked("q5"))
    assert page.lists[0].failure == f"HTTP 500 {SCRIPT}"
    assert page.lists[0].hits == ()
    assert page.lists[1].failure is None
    assert page.lists[1].latency_ms == 2.5
    assert page.lists[1].hits[1].grade is None


def test_a_query_that_nobody_judged(library):
    page = query_page(library, QueryOptions(query="q6", a="words", b="third"))
    assert not page.is_judged
    assert [hit.doc for hit in page.lists[1].hits] == ["z"]


def test_docs_without_words_and_queries_without_text(library):
    page = query_page(library, asked("q3"))
    assert [hit.title for hit in page.lists[1].hits] == ["", "Wrong"]
    assert query_page(library, asked("q4")).text == ""


def test_one_run_alone(library):
    page = query_page(library, QueryOptions(query="q1", a="words", b="words"))
    assert len(page.lists) == 1
    assert not any(hit.is_lost for hit in page.lists[0].hits)


def test_what_is_not_there_is_an_error(library):
    with pytest.raises(RankscopeError, match="no query 'q9'"):
        query_page(library, asked("q9"))
    with pytest.raises(RankscopeError, match="alpha_nDCG"):
        query_page(library, asked(measure="alpha_nDCG@10"))


def test_the_highest_grade_of_all_queries_counts(library):
    """ERR takes the chance of a stop from the highest grade there is, which another query may have."""
    store = library.store
    qrels = rs.Qrels({"q1": {"r": 1}, "q2": {"r": 3}})
    store.qrels.add(qrels, name="other")
    collection = {name: QUERIES[name] for name in ("q1", "q2")}
    facts = run_facts("words", queries=collection)
    facts = replace(facts, collection=replace(facts.collection, name="other"))
    store.runs.add(rs.Run({"q1": ["r"], "q2": ["r"]}), facts)
    page = query_page(library, QueryOptions(collection="other", query="q1", measure="ERR@10"))
    # (2**1 - 1) / 2**3 at rank 1
    assert page.lists[0].score == pytest.approx(0.125)


def test_the_page_is_json_with_a_schema(library):
    assert SCRIPT.replace('"', '\\"') in to_json(query_page(library, asked(doc="r")))
    assert "lists" in json_schema(QueryPage)["$defs"]["QueryPage"]["properties"]
