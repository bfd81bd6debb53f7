"""One stored run: manifest, positions, diagnosis, failures with reasons."""

from __future__ import annotations

import pytest
from query_store import SCRIPT, open_library, run_facts

import rankscope as rs
from rankscope.errors import RankscopeError
from rankscope.records import json_schema, to_json
from rankscope.store import RunDetails
from rankscope.web.library import Library
from rankscope.web.pages.run import RunPage, RunPageOptions, run_page


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    library = open_library(tmp_path_factory.mktemp("store"))
    library.store.tags.move("release", library.store.runs.find("words"))
    yield library
    library.store.close()


def facts(page: RunPage) -> dict[str, str]:
    return {fact.name: fact.value for group in page.groups for fact in group.facts}


def test_what_it_scores_and_what_it_was_made_of(library):
    page = run_page(library, RunPageOptions(run="words"))
    assert page.mean == 0.5
    assert page.answer == "words reaches RR 0.5000 over 5 queries; 1 failed."
    assert (page.tags, page.system, page.collection, page.n_missing) == (("release",), "words", "food", 1)
    known = facts(page)
    assert known["k1"] == "1.2"
    assert known["Hash of the docs"] == "d" * 64
    assert known["System"] == "words, bm25"
    known = facts(run_page(library, RunPageOptions(run="meaning")))
    assert (known["Host"], known["Git commit"], known["Seed"], known["Versions"]) == (
        "here",
        "c0ffee",
        "7",
        "rankscope 1",
    )


def test_failures_have_their_reasons(library):
    page = run_page(library, RunPageOptions(run="words"))
    assert [(each.query, each.text, each.reason) for each in page.failures] == [
        ("q5", "עוגת שזיפים 100%", f"HTTP 500 {SCRIPT}")
    ]
    assert [(each.reason, each.n_queries) for each in page.reasons] == [(f"HTTP 500 {SCRIPT}", 1)]


def test_positions_are_those_of_the_first_relevant_docs(library):
    page = run_page(library, RunPageOptions(run="words"))
    # rank 1 for q1 and q4, rank 2 for q2, none for q3 and q5
    assert "40% of 5 queries" in page.positions.alt
    assert "not found in 40%" in page.positions.alt


def test_the_diagnosis_says_what_is_lost(library):
    page = run_page(library, RunPageOptions(run="words"))
    assert page.diagnosis
    worst = {each.query: (each.text, each.score, each.n_found, each.n_relevant, each.what) for each in page.worst}
    assert worst["q3"] == ("Übung im Kochen", 0.0, 0, 1, f"“Right {SCRIPT}” (r) is not retrieved")
    assert worst["q5"][-1] == "it has no answer"


def test_the_newest_run_is_shown_by_default_and_its_neighbours_are_named(tmp_path):
    with rs.open_store(tmp_path / "store.db", create=True) as store:
        store.qrels.add(rs.Qrels({"q1": {"r": 1}}), name="food")
        for day in (1, 2, 3):
            store.runs.add(
                rs.Run({"q1": ["r", f"d{day}"]}), run_facts("words", day=day, details=RunDetails(primary="RR"))
            )
        page = run_page(Library(store), RunPageOptions())
        middle = run_page(Library(store), RunPageOptions(run="2"))
    assert (page.number, page.previous.number, page.next) == (3, 2, None)
    assert (middle.previous.number, middle.next.number) == (1, 3)


def test_an_empty_store_says_so_and_an_unknown_run_is_an_error(tmp_path, library):
    with rs.open_store(tmp_path / "empty.db", create=True) as store:
        assert run_page(Library(store), RunPageOptions()).answer == "There are no runs yet."
    with pytest.raises(RankscopeError, match="no run 'nobody'"):
        run_page(library, RunPageOptions(run="nobody"))


def test_a_run_of_which_no_doc_is_judged_has_no_diagnosis(tmp_path):
    with rs.open_store(tmp_path / "store.db", create=True) as store:
        store.qrels.add(rs.Qrels({"q1": {"r": 1}}), name="food")
        store.runs.add(rs.Run({"q1": ["z"]}), run_facts("words", details=RunDetails(primary="nDCG@10")))
        page = run_page(Library(store), RunPageOptions())
    assert (page.mean, page.diagnosis) == (0.0, ())


def test_the_page_is_json_with_a_schema(library):
    assert "q5" in to_json(run_page(library, RunPageOptions(run="words")))
    assert "groups" in json_schema(RunPage)["$defs"]["RunPage"]["properties"]
