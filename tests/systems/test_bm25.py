"""BM25 against the formula and against figures of others."""

import math
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("bm25s", reason="bm25s is not installed")
pytest.importorskip("Stemmer", reason="PyStemmer is not installed")

from rankscope.errors import OptionError
from rankscope.systems.base import Doc, ListDocs, Query
from rankscope.systems.bm25 import BM25

PLAIN = {"stemmer": "none", "stop_words": "none"}


def search(docs, text, *, k=10, **options):
    system = BM25(**{**PLAIN, **options})
    system.fit(ListDocs(docs))
    return system.search([Query("q", text)], k=k)[0]


def lucene(docs, text, *, k1=1.2, b=0.75):
    """Score docs by the formula of Lucene, as in Kamphuis et al. 2020: idf = ln(1 + (N - df + .5) / (df + .5))."""
    words_of = {doc: body.lower().split() for doc, body in docs}
    mean = sum(map(len, words_of.values())) / len(docs)
    scores = {}
    for doc, words in words_of.items():
        counts = Counter(words)
        total = 0.0
        for word in text.lower().split():
            df = sum(word in other for other in words_of.values())
            if df and counts[word]:
                idf = math.log(1 + (len(docs) - df + 0.5) / (df + 0.5))
                total += idf * counts[word] / (counts[word] + k1 * (1 - b + b * len(words) / mean))
        if total:
            scores[doc] = total
    return scores


def test_by_hand():
    # N=2, df(cat)=1, idf = ln(1 + 1.5/1.5) = ln 2; lengths 2 and 4, mean 3; tf=1: 1 / (1 + 1.2 (.25 + .75 * 2/3)) = 1/1.9
    found = search([("a", "cat dog"), ("b", "dog dog bird fish")], "cat")
    assert found == [("a", pytest.approx(math.log(2) / 1.9, rel=1e-6))]


WORDS = st.lists(st.sampled_from(["ab", "cd", "ef", "gh", "ij"]), min_size=1, max_size=12).map(" ".join)


@settings(max_examples=60, deadline=None)
@given(texts=st.lists(WORDS, min_size=1, max_size=8), query=WORDS)
def test_equals_the_formula(texts, query):
    docs = [(f"d{i}", text) for i, text in enumerate(texts)]
    found = dict(search(docs, query, k=len(docs)))
    assert found == pytest.approx(lucene(docs, query), rel=1e-5)


def test_ties_go_by_descending_id_also_where_k_cuts_through_them():
    docs = [(f"d{i}", "same text") for i in range(5)]
    assert [doc for doc, _ in search(docs, "same", k=3)] == ["d4", "d3", "d2"]


def test_what_shares_no_word_is_not_found():
    assert search([("a", "cat"), ("b", "dog")], "bird") == []
    assert search([("a", "cat"), ("b", "dog")], "") == []
    assert search([("a", ""), ("b", "")], "dog") == []
    for method in ("bm25l", "bm25+"):  # these give every doc a score
        assert [doc for doc, _ in search([("a", "cat"), ("b", "dog")], "dog", method=method)] == ["b"]


def test_a_repeated_word_counts_twice():
    docs = [("a", "cat dog"), ("b", "bird fish")]
    assert search(docs, "cat cat")[0][1] == pytest.approx(2 * search(docs, "cat")[0][1])


def test_stemmer_and_stop_words():
    docs = [("a", "the running cats"), ("b", "the dog")]
    assert search(docs, "run") == []
    assert [doc for doc, _ in search(docs, "run", stemmer="en")] == ["a"]
    assert len(search(docs, "the")) == 2
    assert search(docs, "the", stop_words="english") == []
    assert [doc for doc, _ in search(docs, "the dog", stop_words=["Dog"], k=1)] == ["b"]
    assert [doc for doc, _ in search([("a", "Häuser"), ("b", "Hunde")], "Haus", stemmer="german")] == ["a"]


def test_fields_are_chosen():
    docs = [Doc("a", "body", "head", {"note": "margin"})]
    assert search(docs, "head")
    assert search(docs, "head", fields=["text"]) == []
    assert search(docs, "margin", fields="note")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"b": 2}, "b is 2, but it must be between 0 and 1"),
        ({"k1": -1}, "k1 is -1, but it must be 0 or more"),
        ({"method": "lucen"}, "did you mean lucene"),
        ({"stemmer": "klingon"}, "there is no stemmer 'klingon'"),
        ({"stop_words": "germann"}, "did you mean german"),
        ({"token_pattern": "("}, "not a regular expression"),
        ({"fields": []}, "no field"),
    ],
)
def test_mistakes_get_a_message_that_helps(options, message):
    with pytest.raises(OptionError, match=message):
        search([("a", "cat")], "cat", **options)


def test_searching_before_fitting_is_an_error():
    with pytest.raises(OptionError, match="has no docs yet"):
        BM25().search([Query("1", "x")], k=1)


def test_describes_itself():
    system = BM25(k1=0.9)
    system.fit(ListDocs([("a", "some words here")]))
    described = system.describe()
    assert described["k1"] == 0.9
    assert described["fields"] == ["title", "text"]
    assert set(described["versions"]) == {"bm25s", "PyStemmer"}
    assert system.index_bytes > 0
