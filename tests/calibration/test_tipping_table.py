"""The table of verdicts that complete judgments confirm: what is counted, by hand."""

import math

import numpy as np
import pytest
from simulations import tipping_table
from simulations.tipping_table import Trial, counts, header, relevance_ratio, row, trial


def test_a_row_counts_what_was_confirmed():
    found = [
        Trial(naive=1, rule=1, cautious=False, truth=1, ratio=0.5),
        Trial(naive=-1, rule=-1, cautious=False, truth=1, ratio=0.7),
        Trial(naive=-1, rule=-1, cautious=True, truth=0, ratio=math.nan),
        Trial(naive=1, rule=0, cautious=True, truth=-1, ratio=0.6),
        Trial(naive=0, rule=0, cautious=False, truth=1, ratio=math.nan),
    ]
    assert counts(found[:4]) == "4: 3, 2"
    assert row(5, found) == "| 5 + A | 5 | 4: 3, 2 | 2: 1, 1 | 1: 1, 0 | 1 | 0.51 0.60 0.69 |"
    assert row(5, found[4:]) == "| 5 + A | 1 | 0: 0, 0 | 0: 0, 0 | 0: 0, 0 | 0 | - |"
    assert len({line.count("|") for line in (*header(), row(5, found))}) == 1


def test_how_much_less_often_unjudged_docs_are_relevant():
    docs = {"q": [f"d{i}" for i in range(40)]}
    qrels = {"q": {f"d{i}": int(i % 4 == 0 if i < 20 else i % 2) for i in range(40)}}
    judged = {"q": {doc: grade for doc, grade in qrels["q"].items() if int(doc[1:]) >= 20}}
    assert relevance_ratio(qrels, judged, docs) == 0.25 / 0.5
    assert math.isnan(relevance_ratio(qrels, qrels, docs))


@pytest.fixture
def world():
    """B is the same as A but for unjudged docs, of which nobody else has any; they are all relevant."""
    qrels, runs = {}, {"A": {}, "B": {}, "C": {}}
    rng = np.random.default_rng(0)
    for i in range(30):
        query = f"q{i}"
        common = [f"c{j}" for j in range(10)]
        own = [f"b{j}" for j in range(10)]
        qrels[query] = {doc: int(rng.random() < 0.35) for doc in common} | dict.fromkeys([*own, "c0"], 1)
        runs["A"][query], runs["B"][query], runs["C"][query] = common, [*own[:9], "c0"], common[::-1]
    return qrels, runs


def test_a_verdict_that_the_truth_turns(world):
    # to the pool of A and C, B has found one doc; in truth it has found hardly anything but relevant docs
    found = trial(*world, "A", "B", n_pool=1, rng=np.random.default_rng(0))
    assert (found.naive, found.rule, found.truth) == (-1, 0, 1)
    assert tipping_table.counts([found]) == "1: 1, 1"
