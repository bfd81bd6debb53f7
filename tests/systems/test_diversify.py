"""MMR and dartboard against plain loops over the formulas of their papers."""

import math
import sys
import types

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankscope.errors import OptionError
from rankscope.systems.base import ListDocs, Query
from rankscope.systems.dense import Dense
from rankscope.systems.diversify import MMR, Dartboard
from rankscope.systems.function import PythonFunction
from rankscope.systems.hybrid import Hybrid


def plain_mmr(relevance, similarity, lambda_, n):
    """Carbonell & Goldstein 1998: argmax of lambda sim(q, d) - (1 - lambda) max over chosen of sim(d, chosen)."""
    chosen = [max(range(len(relevance)), key=lambda i: relevance[i])]
    while len(chosen) < n:
        left = [i for i in range(len(relevance)) if i not in chosen]
        chosen.append(
            max(left, key=lambda i: lambda_ * relevance[i] - (1 - lambda_) * max(similarity[i][j] for j in chosen))
        )
    return chosen


def log_normal(distance, sigma):
    return -math.log(sigma) - 0.5 * math.log(2 * math.pi) - distance**2 / (2 * sigma**2)


def log_sum_exp(values):
    top = max(values)
    return top + math.log(sum(math.exp(value - top) for value in values))


def dartboard_value(chosen, to_query, between, sigma):
    """Pickett et al. 2024: log of the sum over targets of P(target | query) x the best chosen doc's density there."""
    return log_sum_exp(
        [
            log_normal(to_query[t], sigma) + max(log_normal(between[t][g], sigma) for g in chosen)
            for t in range(len(to_query))
        ]
    )


def clouds(n_dims=4):
    """Draw vectors of unit length: a query, and docs."""
    return st.tuples(st.integers(0, 10_000), st.integers(1, 14)).map(lambda drawn: cloud(*drawn, n_dims))


def cloud(seed, n_docs, n_dims):
    drawn = np.random.default_rng(seed).standard_normal((n_docs + 1, n_dims))
    drawn /= np.linalg.norm(drawn, axis=1, keepdims=True)
    return drawn[0], drawn[1:]


@settings(max_examples=60, deadline=None)
@given(vectors=clouds(), lambda_=st.sampled_from([0.1, 0.5, 0.7, 1.0]))
def test_mmr_equals_a_plain_loop(vectors, lambda_):
    query, docs = vectors
    relevance, similarity = docs @ query, docs @ docs.T
    order = MMR(lambda_=lambda_).order(relevance, similarity, n=len(docs))
    assert order == plain_mmr(relevance, similarity, lambda_, len(docs))


@settings(max_examples=60, deadline=None)
@given(vectors=clouds(), sigma=st.sampled_from([0.2, 0.5, 1.0]))
def test_every_dart_adds_as_much_as_any_other_would_have(vectors, sigma):
    query, docs = vectors
    to_query, between = 1 - docs @ query, 1 - docs @ docs.T
    order = Dartboard(sigma=sigma).order(docs @ query, docs @ docs.T, n=len(docs))
    assert sorted(order) == list(range(len(docs)))
    assert order[0] == int(np.argmin(to_query))
    for i in range(1, len(order)):
        left = [j for j in range(len(docs)) if j not in order[:i]]
        values = {j: dartboard_value([*order[:i], j], to_query, between, sigma) for j in left}
        assert values[order[i]] == pytest.approx(max(values.values()), abs=1e-10)


def test_a_second_dart_on_the_same_spot_gains_nothing():
    relevance = np.array([0.9, 0.8999, 0.7])
    similarity = np.array([[1, 1, 0.5], [1, 1, 0.5], [0.5, 0.5, 1]])
    assert Dartboard(sigma=0.2).order(relevance, similarity, n=3) == [0, 2, 1]
    assert Dartboard(sigma=0.01).order(relevance, similarity, n=3)[0] == 0  # far too narrow: still an order of all


@pytest.fixture
def dense(monkeypatch):
    """Return a dense system over three docs, two of them alike; letters are the dimensions."""
    module = types.ModuleType("letters")
    module.encode = lambda texts: [[float(text.count(letter)) for letter in "abc"] for text in texts]
    monkeypatch.setitem(sys.modules, "letters", module)
    return Dense(model="letters:encode")


DOCS = ListDocs([("twin1", "aaab"), ("twin2", "aaab"), ("other", "aac"), ("far", "c")])
QUERY = [Query("q", "aaaab")]


@pytest.mark.parametrize("make", [lambda of: MMR(of=of, lambda_=0.5), lambda of: Dartboard(of=of, sigma=0.3)])
def test_a_twin_is_put_back(dense, make):
    dense.fit(DOCS)
    assert [doc for doc, _ in dense.search(QUERY, k=4)[0]] == ["twin2", "twin1", "other", "far"]
    system = make(dense)
    system.fit(DOCS)
    found = system.search(QUERY, k=4)[0]
    assert [doc for doc, _ in found][:2] == ["twin2", "other"]
    assert [score for _, score in found] == [1, 1 / 2, 1 / 3, 1 / 4]


def test_what_is_below_the_pool_follows_in_its_order(dense):
    system = Dartboard(of=dense, sigma=0.3, pool=2)
    system.fit(DOCS)
    assert [doc for doc, _ in system.search(QUERY, k=4)[0]] == ["twin2", "twin1", "other", "far"]
    assert [doc for doc, _ in system.search(QUERY, k=3)[0]] == ["twin2", "twin1", "other"]
    assert [doc for doc, _ in system.search(QUERY, k=1)[0]] == ["twin2"]


def test_lambda_one_is_the_order_of_relevance(dense):
    system = MMR(of=dense, lambda_=1)
    system.fit(DOCS)
    assert [doc for doc, _ in system.search(QUERY, k=4)[0]] == ["twin2", "twin1", "other", "far"]


def test_relevance_may_be_the_scores_of_the_pool(dense):
    words = PythonFunction(name="words", function=lambda text: {"far": 3.0, "twin1": 2.0, "other": 1.0})
    by_pool = MMR(of=words, vectors=dense, lambda_=1, relevance="pool")
    by_pool.fit(DOCS)
    assert [doc for doc, _ in by_pool.search(QUERY, k=3)[0]] == ["far", "twin1", "other"]
    by_vectors = MMR(of=words, vectors=dense, lambda_=1)
    by_vectors.fit(DOCS)
    assert [doc for doc, _ in by_vectors.search(QUERY, k=3)[0]] == ["twin1", "other", "far"]


def test_embeddings_are_those_of_the_dense_part_of_a_hybrid(dense):
    words = PythonFunction(name="words", function=lambda text: {"far": 3.0})
    hybrid = Hybrid(of=[words, dense])
    system = Dartboard(of=hybrid)
    system.fit(DOCS)
    assert len(system.search(QUERY, k=4)[0]) == 4
    assert system.index_bytes == dense.index_bytes == 4 * 3 * 4
    assert MMR(of=words, vectors=dense).index_bytes == dense.index_bytes
    with pytest.raises(OptionError, match="mmr compares embeddings, and 'words' has none"):
        MMR(of=words)
    with pytest.raises(OptionError, match="'words' has none"):
        MMR(of=dense, vectors=words)


def test_nothing_found_nothing_chosen(dense):
    system = MMR(of=dense)
    system.fit(DOCS)
    assert system.search([Query("q", "zzz")], k=3) == [[]]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: MMR(lambda_=1.5), "lambda is 1.5"),
        (lambda: Dartboard(sigma=0), "sigma is 0"),
        (lambda: Dartboard(sigma=float("nan")), "sigma is nan"),
        (lambda: Dartboard(pool=0), "pool is 0"),
        (lambda: Dartboard(relevance="pol"), "did you mean pool"),
    ],
)
def test_mistakes_get_a_message_that_helps(make, message):
    with pytest.raises(OptionError, match=message):
        make()
