"""Means of people's and a model's scores: by hand, and by the formulas written out query by query."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rankscope.stats.mixed import mixed_mean, over_all_queries


def test_a_judge_that_agrees_with_people_by_hand():
    """n / N is 1, so every weight is 1 / 2, and r is half of y: a variance of 1/12, beside 1/4 of the others'."""
    y = np.array([0.0, 1.0, 0.0, 1.0])
    found = mixed_mean(y, y, np.array([1.0, 1.0, 1.0, 0.0]))
    assert (found.weight, found.mean) == pytest.approx((0.5, 0.5 * 0.75 + 0.5 * 0.5))
    assert found.standard_error**2 == pytest.approx(0.25 * 0.25 / 4 + (1 / 12) / 4)
    assert (found.people_mean, found.people_error**2) == pytest.approx((0.5, (1 / 3) / 4))
    assert found.worth == pytest.approx(4 * (1 / 12) / (1 / 64 + 1 / 48))
    assert (found.favour, found.favour_error) == (0, 0)


def written_out(y, f, g):
    weights = []
    for i in range(len(y)):
        others = [j for j in range(len(y)) if j != i]
        covariance = np.cov(y[others], f[others], ddof=1)
        best = 0.0 if covariance[1, 1] == 0 else covariance[0, 1] / ((1 + len(y) / len(g)) * covariance[1, 1])
        weights.append(min(1.0, max(0.0, best)))
    weight, rest = np.mean(weights), y - np.array(weights) * f
    mean = weight * g.mean() + rest.mean()
    return mean, math.sqrt(weight**2 * g.var(ddof=1) / len(g) + rest.var(ddof=1) / len(y)), weight


@pytest.mark.parametrize("noise", [0.05, 0.3, 2.0])
@pytest.mark.parametrize(("n", "n_others"), [(3, 2), (20, 33), (40, 400)])
def test_the_formulas_written_out_query_by_query(noise, n, n_others):
    random = np.random.default_rng(n)
    y = random.normal(0.05, 0.3, n)
    f, g = y + 0.1 + random.normal(0, noise, n), random.normal(0.2, 0.4, n_others)
    found = mixed_mean(y, f, g)
    assert (found.mean, found.standard_error, found.weight) == pytest.approx(written_out(y, f, g))


@pytest.mark.parametrize("judge", ["says the same of all", "is wrong", "has judged nothing else"])
def test_a_judge_of_no_use_leaves_the_peoples_result(judge):
    y = np.array([0.0, 1.0, 0.0, 1.0, 1.0])
    f = {"says the same of all": np.ones(5), "is wrong": 1 - y, "has judged nothing else": y}[judge]
    found = mixed_mean(y, f, np.ones(1 if judge == "has judged nothing else" else 50))
    assert (found.weight, found.mean, found.standard_error) == (0, 0.6, found.people_error)
    assert found.people_error == pytest.approx(math.sqrt(0.3 / 5))


def test_queries_that_have_not_changed_differ_by_nothing():
    """Of 50 queries 20 have changed: s = 0.4."""
    y = np.array([0.0, 1.0, 0.0, 1.0])
    found = mixed_mean(y, y, np.array([1.0, 1.0, 1.0, 0.0]))
    wide = over_all_queries(found, 20, 50)
    assert wide.mean == pytest.approx(0.4 * 0.625)
    assert wide.standard_error**2 == pytest.approx(0.16 * found.standard_error**2 + 0.24 * 0.625**2 / 50)
    assert wide.people_error**2 == pytest.approx(0.16 / 12 + 0.24 * 0.25 / 50)
    assert over_all_queries(found, 50, 50) == found
