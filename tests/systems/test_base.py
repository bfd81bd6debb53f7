"""What all systems share."""

import pytest

from rankscope.errors import DuplicateError, OptionError
from rankscope.systems.base import BaseSystem, Doc, DocIds, ListDocs, Query, System, best_first, content_hash, text_of


class Counting(BaseSystem):
    """Finds nothing, and counts how often it is indexed."""

    name = "counting"

    def __init__(self):
        self.n_indexed = 0

    def index(self, docs, *, progress):
        self.n_indexed += 1

    def rank(self, queries, *, k):
        return [[] for _ in queries]

    def describe(self):
        return {"type": "counting"}


def test_docs_are_indexed_once_however_often_a_system_is_fitted():
    system, docs = Counting(), ListDocs([("a", "text")])
    assert isinstance(system, System)
    system.fit(docs)
    system.fit(docs)
    assert system.n_indexed == 1
    system.fit(ListDocs([("a", "text")]))
    assert system.n_indexed == 2


def test_no_queries_no_rankings_and_k_is_at_least_one():
    assert Counting().search([], k=10) == []
    with pytest.raises(OptionError, match="k is 0"):
        Counting().search([Query("1", "x")], k=0)


def test_ties_are_in_descending_order_of_the_bytes_of_ids():
    # "ä" is C3 A4 in UTF-8 and stands behind every ASCII letter; "10" is before "9" byte by byte
    assert best_first({"9": 1.0, "10": 1.0, "ä": 1.0, "z": 2.0}) == [("z", 2.0), ("ä", 1.0), ("9", 1.0), ("10", 1.0)]
    assert best_first([("a", 1.0), ("b", 3.0)], 1) == [("b", 3.0)]


def test_the_text_of_a_doc_is_its_fields_joined():
    doc = Doc("1", "body", "Title", {"tags": ["x", "y"], "year": 2024, "none": None})
    assert text_of(doc, ("title", "text")) == "Title body"
    assert text_of(doc, ("tags", "none", "missing", "year")) == "x y 2024"
    assert text_of(Doc("2", "body"), ("title", "text")) == "body"


def test_hashes_tell_where_a_text_ends():
    assert content_hash(["ab", "c"]) != content_hash(["a", "bc"])
    assert content_hash(["ab", "c"]) == content_hash(["ab", "c"])
    assert content_hash(["\ud800", "\udcff"])  # broken text has a hash as well


def test_an_id_that_is_there_twice_is_refused():
    with pytest.raises(DuplicateError, match="'a' is there twice"):
        DocIds(["a", "b", "a"])
