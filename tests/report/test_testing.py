"""`rankscope.testing.check_measure` finds what is wrong with a measure; each control has one thing wrong."""

import math

import numpy as np
import pytest

from rankscope.measures.registry import ALIASES, REGISTRY
from rankscope.measures.spec import MeasureExample, MeasureFamily, Workings, measure
from rankscope.testing import check_measure

EXAMPLE = MeasureExample([0, 1], [1, 0], 1.0, {}, "one")


@pytest.fixture
def register():
    """Return a function that registers a measure for the time of a test."""
    measures, aliases = set(REGISTRY), set(ALIASES)

    def add(function, **more):
        function.__doc__ = more.pop("doc", "Answers: what is this?")
        facts = {
            "family": MeasureFamily.SET,
            "formula": "x",
            "range": (0, 1),
            "undefined": "never",
            "cite": "by hand",
            "example": EXAMPLE,
        }
        measure("Toy", "A toy", **{**facts, **more})(function)

    yield add
    for registered, before in ((REGISTRY, measures), (ALIASES, aliases)):
        for name in set(registered) - before:
            registered.remove(name)


def ones(hits):
    return np.ones(len(hits))


def test_a_sound_measure_passes(register):
    register(ones)
    check_measure("Toy")


def test_names_with_a_cutoff_and_aliases_are_fine():
    check_measure("nDCG@10")
    check_measure("recip_rank")


def by_company(hits):
    return np.arange(len(hits)) / len(hits)


def deeper_is_better(hits):
    return hits.per_query(np.where(hits.grades > 0, 1 - 1 / hits.ranks, 0)) / (1 + hits.per_query(hits.grades > 0))


def with_k(hits, *, k=None):
    return np.minimum(1, hits.n_retrieved / 10)


@pytest.mark.parametrize(
    ("function", "facts", "message"),
    [
        (ones, {"doc": "Ones."}, "the docstring does not start with 'Answers: …\\?'"),
        (ones, {"example": MeasureExample([1], [1], 0.5, {}, "half")}, "its example gives 1.0 instead of 0.5"),
        (ones, {"example": MeasureExample([2, 0, 1, None], [2, 1], 1.0, {}, "1")}, r"that were not judged: \[0\]"),
        (ones, {"range": (0, 0.5), "example": EXAMPLE}, "1.0 is out of its range"),
        (lambda hits: np.where(hits.n_retrieved == 0, math.nan, 1.0), {}, "it is undefined for"),
        (lambda hits: np.where(hits.n_retrieved == 0, math.inf, 1.0), {}, "infinite"),
        (lambda hits: np.ones(1), {}, "one score per query"),
        (by_company, {"example": MeasureExample([1], [1], 0.0, {}, "0")}, "depends on the other queries"),
        (deeper_is_better, {"example": MeasureExample([1], [1], 0.0, {}, "0")}, "makes it worse"),
        (ones, {"workings": lambda hits: Workings(terms=hits.grades)}, "its workings give"),
        (with_k, {"example": MeasureExample([1], [1], 0.1, {}, "1/10")}, "docs below rank 3 change it at 3"),
    ],
)
def test_what_is_wrong_is_said(register, function, facts, message):
    register(function, **facts)
    with pytest.raises(AssertionError, match=f"Toy: .*{message}"):
        check_measure("Toy")


def test_where_a_measure_says_that_it_may_fall_it_may(register):
    register(deeper_is_better, example=MeasureExample([1], [1], 0.0, {}, "0"), monotone=False)
    check_measure("Toy")
