"""Agreement of rankings against plain calculations from the definitions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankscope.errors import OptionError
from rankscope.stats.agreement import jaccard, rbo

rankings = st.permutations("abcdefghij").flatmap(lambda docs: st.integers(0, 10).map(lambda k: docs[:k]))


def rbo_of_equal_length(first, second, p):
    """Return equation 30 of Webber, Moffat & Zobel (2010), term by term."""
    k = len(first)
    shares = [len(set(first[:d]) & set(second[:d])) / d for d in range(1, k + 1)]
    return shares[-1] * p**k + (1 - p) / p * sum(share * p**d for d, share in enumerate(shares, 1))


@given(st.permutations("abcdefgh"), st.permutations("abcdefghijkl"), st.floats(0.05, 0.95), st.integers(1, 8))
@settings(max_examples=100, deadline=None)
def test_rbo_of_lists_of_equal_length(first, second, p, k):
    assert rbo(first[:k], second[:k], p=p) == pytest.approx(rbo_of_equal_length(first[:k], second[:k], p))


@given(rankings, rankings, st.floats(0.05, 0.95))
@settings(max_examples=100, deadline=None)
def test_rbo_is_symmetric_and_a_share(first, second, p):
    found = rbo(first, second, p=p)
    assert found == pytest.approx(rbo(second, first, p=p))
    assert -1e-12 <= found <= 1 + 1e-12


@given(st.permutations("abcdefgh"), st.integers(1, 8))
def test_a_list_agrees_fully_with_its_own_beginning(docs, k):
    assert rbo(docs, docs[:k]) == pytest.approx(1)


def test_rbo_of_empty_lists():
    assert rbo("", "") == 1
    assert rbo("abc", "") == 0


@pytest.mark.parametrize("p", [-0.5, 0, 1, 1.5])
def test_rbo_has_a_persistence_between_0_and_1(p):
    with pytest.raises(OptionError, match="not between 0 and 1"):
        rbo("ab", "ab", p=p)


def test_overlap_of_nothing_is_undefined():
    assert np.isnan(jaccard("", ""))
    assert jaccard("", "ab") == 0
    assert jaccard("abc", "bcd") == pytest.approx(2 / 4)
