"""Simulated scores have the truth that they are said to have; else nothing that is counted would mean anything."""

import numpy as np
import pytest
from simulations import real_scores
from simulations.cases import CASES, why_not
from simulations.methods import METHODS

N_SETS = 200
needs_real_scores = pytest.mark.skipif(not real_scores.IS_HERE, reason="the folder of real test data is not here")
WITH_TRUTH = [case for case in (*CASES, *METHODS) if case.k > 1]


@pytest.mark.parametrize("case", WITH_TRUTH, ids=lambda case: case.key)
def test_means_differ_as_they_are_said_to(case):
    if why_not(case):
        pytest.skip(why_not(case))
    rng = np.random.default_rng(3)
    found = np.empty((N_SETS, case.k - 1))
    for i in range(N_SETS):
        drawn = case.draw(rng, case.n, case.k)
        weights = np.array(drawn.attributes.get("traffic", np.ones(len(drawn.scores))))
        gaps = drawn.scores[:, 1:] - drawn.scores[:, :1]
        found[i] = weights @ gaps / weights.sum() - (drawn.truth[1:] - drawn.truth[0])
    errors = found.std(axis=0, ddof=1) / np.sqrt(N_SETS)
    assert (np.abs(found.mean(axis=0)) < 4.5 * errors).all()
    assert (errors > 0).all()


def test_unweighted_means_differ_where_gains_are_on_frequent_queries():
    (case,) = (case for case in CASES if "frequent" in case.name)
    drawn = case.draw(np.random.default_rng(4), 20_000, 2)
    # by hand: half of the queries gain 0.2, all lose 0.2 Φ(1) = 0.1683
    assert (drawn.scores[:, 1] - drawn.scores[:, 0]).mean() == pytest.approx(0.1 - 0.1683, abs=0.005)


@needs_real_scores
@pytest.mark.parametrize(("measure", "steps"), [("P@10", 10), ("Success@1", 1)])
def test_real_scores_stay_what_they_are(measure, steps):
    drawn = real_scores.tilted(np.random.default_rng(5), 300, 3, measure=measure)
    in_steps = drawn.scores * steps
    np.testing.assert_allclose(in_steps, in_steps.round(), atol=1e-9)
    assert len(np.unique(drawn.scores)) > 1


def test_tilted_chances_make_means_equal():
    # by hand: one loss of 1 against two gains of 1; one loss of 1 against one gain of 2
    np.testing.assert_allclose(real_scores.tilted_chances(np.array([[-1.0], [1.0], [1.0]])), [0.5, 0.25, 0.25])
    np.testing.assert_allclose(real_scores.tilted_chances(np.array([[-1.0], [2.0]])), [2 / 3, 1 / 3])
    two = np.random.default_rng(6).normal(0.1, 0.3, (50, 2))
    chances = real_scores.tilted_chances(two)
    np.testing.assert_allclose(chances @ two, 0, atol=1e-12)
    assert chances.sum() == pytest.approx(1)
    assert chances.min() > 0


def test_one_sided_differences_cannot_be_tilted():
    assert real_scores.tilted_chances(np.array([[0.1], [0.2], [0.3]])) is None
