"""The list of queries: scores, filters, order, parts, and what is hostile in it."""

from __future__ import annotations

import numpy as np
import pytest
from query_store import QUERIES, open_library, run_facts

import rankscope as rs
from rankscope.errors import RankscopeError
from rankscope.records import json_schema, to_json
from rankscope.store import RunDetails, StoredQuery
from rankscope.web.library import Library
from rankscope.web.pages.queries import QueriesOptions, QueriesPage, queries_page


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    library = open_library(tmp_path_factory.mktemp("store"))
    yield library
    library.store.close()


@pytest.fixture
def own_library(tmp_path):
    library = open_library(tmp_path)
    yield library
    library.store.close()


def listed(page: QueriesPage) -> list[str]:
    return [line.query for line in page.lines]


def test_scores_and_differences_are_those_of_the_runs(library):
    page = queries_page(library, QueriesOptions(a="words", b="meaning"))
    scores = {line.query: (line.score_a, line.score_b, line.difference, line.mark) for line in page.lines}
    assert scores == {
        "q1": (1.0, 0.5, -0.5, "worse"),
        "q2": (0.5, 1.0, 0.5, "better"),
        "q3": (0.0, 0.0, 0.0, "same"),
        "q4": (1.0, 1.0, 0.0, "same"),
        "q5": (0.0, 1.0, 1.0, "better"),
    }
    assert page.measure == "RR"
    assert page.answer == "From words to meaning, 2 of 5 queries got better, 1 worse, 2 stayed the same."
    assert page.means == (0.5, 0.7)
    assert [line.bar for line in page.lines] == [-0.5, 0.0, 0.0, 0.5, 1.0]


def test_by_default_what_users_see_is_compared_with_the_best_other(own_library):
    page = queries_page(own_library, QueriesOptions())
    assert [run.system for run in (page.a, page.b)] == ["words", "meaning"]  # the first that was stored
    own_library.store.tags.move("production", own_library.store.runs.find("meaning"))
    page = queries_page(own_library, QueriesOptions())
    assert [run.system for run in (page.a, page.b)] == ["meaning", "words"]
    assert page.a.tags == ("production",)


@pytest.mark.parametrize(
    ("options", "queries"),
    [
        ({}, ["q1", "q3", "q4", "q2", "q5"]),
        ({"descending": True}, ["q5", "q2", "q3", "q4", "q1"]),
        ({"sort": "a"}, ["q3", "q5", "q2", "q1", "q4"]),
        ({"sort": "b", "descending": True}, ["q2", "q4", "q5", "q1", "q3"]),
        ({"sort": "text"}, ["q1", "q2", "q3", "q5", "q4"]),
        ({"show": "better"}, ["q2", "q5"]),
        ({"show": "worse"}, ["q1"]),
        ({"show": "same"}, ["q3", "q4"]),
        ({"show": "failed"}, ["q5"]),
        ({"show": "never_found"}, ["q3"]),
        ({"show": "unjudged"}, ["q5"]),
        ({"words": "SOUP"}, ["q1"]),
        ({"words": "übung kochen"}, ["q3"]),
        ({"words": "100%"}, ["q5"]),
        ({"words": "%"}, ["q5"]),
        ({"words": "_"}, []),
        ({"stratum": ("language=en",)}, ["q1", "q2"]),
        ({"stratum": ("language=de", "language=he")}, ["q3", "q4", "q5"]),
        ({"stratum": ("language=en", "tags=warm")}, ["q1"]),
        ({"stratum": ("language=fr",)}, []),
        ({"stratum": ("language=en",), "words": "bread", "show": "better"}, ["q2"]),
    ],
)  # fmt: skip
def test_order_and_filters(library, options, queries):
    page = queries_page(library, QueriesOptions(a="words", b="meaning", **options))
    assert listed(page) == queries
    assert page.n_listed == len(queries)


def test_counts_are_of_the_words_and_strata_asked_for(library):
    page = queries_page(library, QueriesOptions(a="words", b="meaning", stratum=("language=en",), show="worse"))
    assert (page.counts.all, page.counts.better, page.counts.worse, page.counts.same) == (2, 1, 1, 0)
    language = next(each for each in page.strata if each.attribute == "language")
    assert {each.value: each.n_queries for each in language.values} == {"de": 2, "en": 2, "he": 1}


def test_what_happened_is_said(library):
    page = queries_page(library, QueriesOptions(a="words", b="meaning"))
    what = {line.query: line.what for line in page.lines}
    assert what["q1"] == "the relevant doc fell from 1 to 2"
    assert what["q2"] == "the relevant doc rose from 2 to 1"
    assert what["q5"] == "words returns nothing"
    assert what["q3"] == ""


def test_long_values_of_attributes_are_cut(library):
    page = queries_page(library, QueriesOptions(a="words", b="meaning", words="q5"))
    assert [len(value) for value in page.lines[0].attributes] == [2, 40]


def test_fewer_is_better_for_some_measures(library):
    page = queries_page(library, QueriesOptions(a="words", b="meaning", measure="Unjudged@10"))
    marks = {line.query: line.mark for line in page.lines}
    assert marks["q5"] == "worse"  # nothing against a doc that nobody judged
    assert page.lines[0].query == "q5"
    assert page.counts.worse == 1


def test_an_empty_store_says_so(tmp_path):
    with rs.open_store(tmp_path / "empty.db", create=True) as store:
        page = queries_page(Library(store), QueriesOptions())
    assert (page.answer, page.lines, page.a) == ("There are no runs yet.", (), None)


def test_one_run_alone_is_listed_without_differences(tmp_path):
    with rs.open_store(tmp_path / "one.db", create=True) as store:
        store.qrels.add(rs.Qrels({"q1": {"r": 1}, "q2": {"r": 1}}), name="food")
        queries = {name: QUERIES[name] for name in ("q1", "q2")}
        store.runs.add(rs.Run({"q1": ["r"], "q2": ["x", "r"]}), run_facts("words", queries=queries))
        page = queries_page(Library(store), QueriesOptions(sort="a"))
    assert page.b is None
    assert [(line.query, line.score_a, line.difference) for line in page.lines] == [
        ("q2", 0.5, None),
        ("q1", 1.0, None),
    ]


def test_a_system_alone_is_compared_with_its_run_before(tmp_path):
    with rs.open_store(tmp_path / "two.db", create=True) as store:
        store.qrels.add(rs.Qrels({"q1": {"r": 1}}), name="food")
        for day, docs in ((1, ["x", "r"]), (2, ["r"])):
            store.runs.add(rs.Run({"q1": docs}), run_facts("words", day=day, queries={"q1": QUERIES["q1"]}))
        page = queries_page(Library(store), QueriesOptions())
    assert page.names == ("words (run 1)", "words (run 2)")
    assert page.lines[0].difference == 0.5


def test_queries_with_other_words_are_not_compared(own_library):
    changed = {**QUERIES, "q1": StoredQuery("lentil soup")}
    own_library.store.runs.add(rs.Run({"q1": ["r"], "q2": ["r"]}), run_facts("third", day=3, queries=changed))
    page = queries_page(own_library, QueriesOptions(a="words", b="third"))
    assert sorted(listed(page)) == ["q2", "q3", "q4", "q5"]


def test_many_queries_are_shown_in_parts_and_only_their_texts_are_read(tmp_path, monkeypatch):
    n = 120
    queries = {f"q{i:03}": StoredQuery(f"text {i:03}") for i in range(n)}
    with rs.open_store(tmp_path / "many.db", create=True) as store:
        store.qrels.add(rs.Qrels({query: {"r": 1} for query in queries}), name="food")
        for day, system in enumerate(("words", "meaning"), 1):
            run = {query: (["r"] if (i + day) % 3 else ["x", "r"]) for i, query in enumerate(queries)}
            store.runs.add(rs.Run(run), run_facts(system, day=day, queries=queries, details=RunDetails(primary="RR")))
        library = Library(store)
        read = []
        original = store.texts.queries_at
        monkeypatch.setattr(
            store.texts, "queries_at", lambda sha, places: read.append(list(places)) or original(sha, places)
        )
        pages = [queries_page(library, QueriesOptions(sort="text", page=number)) for number in (1, 2, 3, 9)]
    assert [len(page.lines) for page in pages] == [50, 50, 20, 20]
    assert [page.page for page in pages] == [1, 2, 3, 3]
    assert [line.query for page in pages[:3] for line in page.lines] == sorted(queries)
    assert [len(places) for places in read] == [50, 50, 20, 20]
    assert pages[0].n_pages == 3


def test_what_cannot_be_is_an_error_that_says_what_there_is(library):
    with pytest.raises(RankscopeError, match="no run 'nobody'"):
        queries_page(library, QueriesOptions(a="nobody"))
    with pytest.raises(RankscopeError, match="no runs on 'elsewhere'"):
        queries_page(library, QueriesOptions(collection="elsewhere"))
    with pytest.raises(RankscopeError, match="nDCH"):
        queries_page(library, QueriesOptions(measure="nDCH@10"))


def test_the_page_is_json_with_a_schema(library):
    page = queries_page(library, QueriesOptions())
    assert '"q1"' in to_json(page)
    assert "lines" in json_schema(QueriesPage)["$defs"]["QueriesPage"]["properties"]
    assert all(np.isfinite(line.bar) for line in page.lines)
