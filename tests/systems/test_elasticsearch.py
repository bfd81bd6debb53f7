"""Elasticsearch and OpenSearch, by a server that answers as theirs do."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from rankscope.errors import OptionError
from rankscope.systems.base import Query
from rankscope.systems.registry import make_system

sys.path.insert(0, str(Path(__file__).parents[1]))
from loopback import Loopback, Said

QUERY = Query("7", 'heart "attack"', {"language": "de"})


def said(*hits: dict, **more: object) -> dict:
    """An answer in the form of the search API's documentation."""
    shards = {"total": 5, "successful": 5, "skipped": 0, "failed": 0}
    return {"took": 3, "timed_out": False, "_shards": shards, "hits": {"max_score": 2.0, "hits": list(hits)}, **more}


HITS = said({"_index": "docs", "_id": "d1", "_score": 2.0}, {"_index": "docs", "_id": "d2", "_score": 1.5})


def test_without_a_template_words_are_looked_for_in_fields():
    with Loopback(lambda _: Said(HITS)) as server:
        system = make_system("elasticsearch", {"url": server.url, "index_name": "docs", "fields": ["title^2", "text"]})
        assert system.search([QUERY], k=5) == [[("d1", 2.0), ("d2", 1.5)]]
    asked = server.requests[0]
    assert (asked.method, asked.path) == ("POST", "/docs/_search")
    assert asked.json() == {
        "size": 5,
        "_source": False,
        "query": {"multi_match": {"query": 'heart "attack"', "fields": ["title^2", "text"]}},
    }


def test_a_template_takes_the_query_and_its_attributes():
    template = {"bool": {"must": {"match": {"text": "{query}"}}, "filter": [{"term": {"lang": "{language}"}}]}}
    with Loopback(lambda _: Said(HITS)) as server:
        options = {"url": f"{server.url}/", "index_name": "a,b", "query": template, "body": {"track_total_hits": False}}
        make_system("opensearch", options).search([QUERY], k=5)
    asked = server.requests[0]
    assert asked.path == "/a,b/_search"
    assert asked.json() == {
        "size": 5,
        "_source": False,
        "query": {"bool": {"must": {"match": {"text": 'heart "attack"'}}, "filter": [{"term": {"lang": "de"}}]}},
        "track_total_hits": False,
    }


def test_a_body_alone_replaces_the_usual_query():
    knn = {"knn": {"field": "v", "query_vector_builder": {"text_embedding": {"model_text": "{query}"}}, "k": "{k}"}}
    with Loopback(lambda _: Said(HITS)) as server:
        make_system("elasticsearch", {"url": server.url, "index_name": "docs", "body": knn}).search([QUERY], k=5)
    asked = server.requests[0].json()
    assert "query" not in asked
    assert asked["knn"]["k"] == 5


def test_ids_from_a_field_of_the_source():
    hits = said({"_id": "x", "_score": 1.0, "_source": {"doc_id": 17}})
    with Loopback(lambda _: Said(hits)) as server:
        options = {"url": server.url, "index_name": "docs", "id_field": "_source.doc_id"}
        assert make_system("elasticsearch", options).search([QUERY], k=5) == [[("17", 1.0)]]
    assert server.requests[0].json()["_source"] == ["doc_id"]


def test_where_the_cluster_sorts_by_something_else_its_order_counts():
    hits = said({"_id": "b", "_score": None}, {"_id": "a", "_score": None})
    with Loopback(lambda _: Said(hits)) as server:
        system = make_system("elasticsearch", {"url": server.url, "index_name": "docs"})
        assert system.search([QUERY], k=5) == [[("b", 1.0), ("a", 0.5)]]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (said(timed_out=True), "the answer lacks part of the index: time ran out"),
        (said(_shards={"total": 5, "failed": 2}), "the answer lacks part of the index: 2 of 5 shards failed"),
        ([], "the answer is no table, as the search of an index gives it"),
    ],
)
def test_an_answer_that_lacks_part_of_the_index_is_none(content, reason):
    with Loopback(lambda _: Said(content)) as server:
        options = {"url": server.url, "index_name": "docs", "attempts": 2, "backoff_s": 0.0}
        (answer,) = make_system("elasticsearch", options).answers([QUERY], k=5)
    assert (answer.reason, answer.n_attempts) == (reason, 2)


def test_an_index_that_is_not_there():
    error = {"error": {"type": "index_not_found_exception", "reason": "no such index [docs]"}, "status": 404}
    with Loopback(lambda _: Said(error, 404)) as server:
        (answer,) = make_system("elasticsearch", {"url": server.url, "index_name": "docs"}).answers([QUERY], k=5)
    assert "the server answered 404" in answer.reason
    assert "no such index [docs]" in answer.reason


def test_options():
    with pytest.raises(OptionError, match="needs the option 'index_name'"):
        make_system("elasticsearch", {})
    with pytest.raises(OptionError, match="has no option 'ids'"):
        make_system("elasticsearch", {"index_name": "docs", "ids": "$.x"})
    described = make_system("opensearch", {"index_name": "docs"}).describe()
    assert described["type"] == "opensearch"
    assert described["index_name"] == "docs"
