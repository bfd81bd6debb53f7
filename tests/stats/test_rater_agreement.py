"""Agreement of raters: published values, scikit-learn, and plain calculations from the definitions."""

import csv
import math
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from rankscope.errors import OptionError
from rankscope.stats.agreement import (
    alpha_interval,
    confusion_matrix,
    given_grades,
    gwet_agreement,
    krippendorff_alpha,
    weighted_kappa,
)
from rankscope.stats.dawid_skene import dawid_skene

RATERS = Path(__file__).parents[2].parent / "shared" / "data" / "llm-judges" / "raters" / "dawid_skene_1979.tsv"
x = math.nan
FOUR = np.array(
    [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, x, x, x],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, x, 3],
        [x, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, x],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, x],
    ]
).T
"""Four observers and twelve units: Krippendorff 2011, "Computing Krippendorff's alpha-reliability"."""
THREE = np.array(
    [
        [x, x, x, x, x, 3, 4, 1, 2, 1, 1, 3, 3, x, 3],
        [1, x, 2, 1, 3, 3, 4, 3, x, x, x, x, x, x, x],
        [x, x, 2, 1, 3, 4, 4, x, 2, 1, 1, 3, 3, x, 4],
    ]
).T
"""Three coders and fifteen units: the README of the package krippendorff."""
ABSTRACTORS = np.array([[13, 0, 0], [0, 20, 7], [0, 4, 56]])
"""CRAN irrCAC, vignette "overview"."""
AGRESTI = np.array([[7, 7, 2, 3], [2, 8, 3, 7], [1, 5, 4, 9], [2, 8, 9, 14]])
"""Agresti's table of husbands and wives, SexualFun in R's vcd."""


def raters_of(table):
    """Return the docs behind a confusion matrix, docs x two raters."""
    cells = [(i, j) for i, row in enumerate(table) for j, n in enumerate(row) for _ in range(n)]
    return np.array(cells, dtype=float)


@pytest.mark.parametrize(
    ("metric", "four", "three"), [("nominal", 0.743, 0.691), ("ordinal", 0.815, 0.807), ("interval", 0.849, 0.811)]
)
def test_alpha_as_published(metric, four, three):
    assert round(krippendorff_alpha(FOUR, metric=metric), 3) == four
    assert round(krippendorff_alpha(THREE, metric=metric), 3) == three


def test_kappa_and_ac1_as_published():
    assert weighted_kappa(ABSTRACTORS, weights="none") == pytest.approx(0.7964094, abs=5e-8)
    ratings = raters_of(ABSTRACTORS)
    assert gwet_agreement(ratings, np.arange(3.0)) == pytest.approx(0.8493305, abs=5e-8)
    assert krippendorff_alpha(ratings, metric="nominal") == pytest.approx(0.7972585, abs=5e-8)
    assert gwet_agreement(FOUR, np.arange(1.0, 6.0)) == pytest.approx(0.77544, abs=5e-6)


@pytest.mark.parametrize(("weights", "kappa"), [("none", 0.1293), ("linear", 0.2374), ("quadratic", 0.3320)])
def test_weighted_kappa_as_published(weights, kappa):
    assert weighted_kappa(AGRESTI, weights=weights) == pytest.approx(kappa, abs=5e-5)


@pytest.mark.parametrize(("weights", "ac2"), [("linear", 0.8587), ("quadratic", 0.9140)])
def test_ac2_of_the_four_observers(weights, ac2):
    """Calculated once from Gwet's formulas by a separate program."""
    assert gwet_agreement(FOUR, np.arange(1.0, 6.0), weights=weights) == pytest.approx(ac2, abs=5e-5)


grades = st.sampled_from([0.0, 1.0, 2.0, 3.0])
some_ratings = st.integers(2, 4).flatmap(
    lambda n: st.lists(st.lists(st.one_of(grades, st.just(x)), min_size=n, max_size=n), min_size=1, max_size=12)
)


def alpha_by_pairs(rows, metric):
    """Return 1 - D_o / D_e, summing over every ordered pair of values, as Krippendorff defines it."""
    units = [[value for value in row if not math.isnan(value)] for row in rows]
    units = [unit for unit in units if len(unit) > 1]
    values = [value for unit in units for value in unit]

    def distance(a, b):
        if metric == "nominal":
            return float(a != b)
        if metric == "interval":
            return (a - b) ** 2
        low, high = min(a, b), max(a, b)
        between = sum(low <= value <= high for value in values)
        return (between - (values.count(a) + values.count(b)) / 2) ** 2 if a != b else 0.0

    n = len(values)
    expected = sum(distance(a, b) for a, b in permutations(values, 2)) / (n * (n - 1)) if n > 1 else 0.0
    if expected == 0:
        return math.nan
    observed = sum(sum(distance(a, b) for a, b in permutations(unit, 2)) / (len(unit) - 1) for unit in units) / n
    return 1 - observed / expected


@given(some_ratings, st.sampled_from(["nominal", "ordinal", "interval"]))
@settings(max_examples=200, deadline=None)
def test_alpha_equals_the_definition(rows, metric):
    found = krippendorff_alpha(np.array(rows), metric=metric)
    assert found == pytest.approx(alpha_by_pairs(rows, metric), nan_ok=True)


@given(some_ratings, st.randoms())
@settings(max_examples=50, deadline=None)
def test_alpha_knows_neither_the_order_of_docs_nor_that_of_raters(rows, random):
    ratings = np.array(rows)
    docs, raters = list(range(len(ratings))), list(range(ratings.shape[1]))
    random.shuffle(docs)
    random.shuffle(raters)
    again = krippendorff_alpha(ratings[docs][:, raters])
    assert again == pytest.approx(krippendorff_alpha(ratings), nan_ok=True)


@given(st.lists(st.tuples(grades, grades), min_size=2, max_size=30), st.sampled_from(["none", "linear", "quadratic"]))
@settings(max_examples=200, deadline=None)
def test_kappa_equals_scikit_learns(pairs, weights):
    first, second = np.array(pairs).T
    assume(len({*first, *second}) > 1)
    labels = [0.0, 1.0, 2.0, 3.0]
    theirs = cohen_kappa_score(
        first * 10, second * 10, labels=[0, 10, 20, 30], weights=None if weights == "none" else weights
    )
    assert weighted_kappa(confusion_matrix(first, second, np.array(labels)), weights=weights) == pytest.approx(theirs)


def test_docs_that_one_rater_did_not_grade_are_no_part_of_the_matrix():
    first, second = np.array([0, 1, x, 3]), np.array([0, 3, 2, x])
    assert confusion_matrix(first, second, np.arange(4.0)).tolist() == [
        [1, 0, 0, 0],
        [0, 0, 0, 1],
        [0, 0, 0, 0],
        [0, 0, 0, 0],
    ]


def test_what_cannot_be_said_is_undefined():
    same, alone = np.full((5, 2), 2.0), np.array([[1.0, x], [x, 2.0]])
    for ratings in (same, alone, np.full((2, 2), x), np.zeros((0, 2))):
        assert math.isnan(krippendorff_alpha(ratings))
        assert alpha_interval(ratings, np.arange(len(ratings))) is None
    assert math.isnan(weighted_kappa(np.zeros((4, 4), dtype=int)))
    assert math.isnan(weighted_kappa(confusion_matrix(same[:, 0], same[:, 1], np.arange(4.0))))
    assert math.isnan(gwet_agreement(alone, np.arange(4.0)))
    assert math.isnan(gwet_agreement(same, np.array([2.0])))


def test_the_interval_draws_whole_queries():
    """Of two queries, one with full agreement and one turned around, a draw is either one twice, or both."""
    agreed, reversed_ = np.array([[v, v] for v in range(4)]), np.array([[v, 3 - v] for v in range(4)])
    ratings, queries = np.vstack([agreed, reversed_]).astype(float), np.repeat([0, 1], 4)
    found = alpha_interval(ratings, queries, n_resamples=999)
    assert found.high == pytest.approx(1)
    assert found.low == pytest.approx(alpha_by_pairs([*reversed_, *reversed_], "ordinal"))
    assert found == alpha_interval(ratings, queries, n_resamples=999)


def test_ungraded_docs_and_lone_grades_do_not_move_the_interval():
    rng = np.random.default_rng(5)
    ratings, queries = rng.integers(0, 4, (60, 3)).astype(float), np.arange(60) // 6
    more = np.vstack([ratings, [[1.0, x, x], [x, x, x]]])
    assert alpha_interval(more, np.append(queries, [0, 99])) == alpha_interval(ratings, queries)


def test_given_grades_are_sorted():
    assert given_grades(np.array([[3.0, x], [0.5, 3.0]])).tolist() == [0.5, 3.0]


# Dawid and Skene


@pytest.fixture(scope="module")
def patients():
    if not RATERS.is_file():
        pytest.skip("the table of the paper, shared/data/llm-judges/raters, is not here")
    votes = np.zeros((45, 5, 4))
    with RATERS.open() as file:
        for row in csv.DictReader(file, delimiter="\t"):
            votes[int(row["item"]) - 1, int(row["rater"]) - 1, int(row["class"]) - 1] += 1
    return votes


def test_dawid_skene_as_published(patients):
    """What an independent program (dallascard/dawid_skene) prints for the table of the paper."""
    found = dawid_skene(patients, pseudo_count=0)
    assert found.has_converged
    assert found.shares.round(2).tolist() == [0.40, 0.42, 0.11, 0.07]
    assert found.errors[0].round(2).tolist() == [
        [0.89, 0.11, 0, 0],
        [0.07, 0.88, 0.05, 0],
        [0, 0.34, 0.66, 0],
        [0, 0, 0.56, 0.44],
    ]
    assert found.posterior[[6, 34, 37]].round(4).tolist() == [
        [0.981, 0.019, 0, 0],
        [0, 0.948, 0.052, 0],
        [0, 0.0212, 0.9788, 0],
    ]
    assert found.log_likelihood == pytest.approx(-192.891, abs=5e-4)


def em_in_plain_python(counts, pseudo_count, steps):
    """Return the posterior after so many steps, written out with loops."""
    n, raters, classes = len(counts), len(counts[0]), len(counts[0][0])
    total = [sum(map(sum, item)) for item in counts]
    post = [[sum(r[k] for r in item) / total[i] for k in range(classes)] for i, item in enumerate(counts)]
    for _ in range(steps):
        share = [sum(p[j] for p in post) / n for j in range(classes)]
        error = [
            [
                [sum(post[i][j] * counts[i][r][k] for i in range(n)) + pseudo_count for k in range(classes)]
                for j in range(classes)
            ]
            for r in range(raters)
        ]
        error = [[[cell / sum(row) for cell in row] for row in matrix] for matrix in error]
        for i in range(n):
            joint = [
                share[j] * math.prod(error[r][j][k] ** counts[i][r][k] for r in range(raters) for k in range(classes))
                for j in range(classes)
            ]
            post[i] = [p / sum(joint) for p in joint]
    return post


@given(st.lists(st.lists(st.integers(0, 2), min_size=3, max_size=3), min_size=2, max_size=8), st.integers(1, 6))
@settings(max_examples=60, deadline=None)
def test_dawid_skene_equals_loops(rows, steps):
    counts = np.zeros((len(rows), 3, 3))
    for i, row in enumerate(rows):
        for r, grade in enumerate(row):
            counts[i, r, grade] += 1
    found = dawid_skene(counts, max_steps=steps, tolerance=0)
    assert found.posterior == pytest.approx(np.array(em_in_plain_python(counts.tolist(), 0.5, steps)))
    assert found.posterior.sum(axis=1) == pytest.approx(np.ones(len(rows)))
    assert found.n_steps == steps


def test_a_rater_who_turns_the_scale_around_is_found_out():
    truth = [0, 1] * 20
    counts = np.zeros((40, 4, 2))
    for i, grade in enumerate(truth):
        for rater in range(3):
            counts[i, rater, grade] = 1
        counts[i, 3, 1 - grade] = 1
    found = dawid_skene(counts)
    assert found.posterior.argmax(axis=1).tolist() == truth
    assert found.errors[3, 0, 1] > 0.9
    assert found.errors[3, 1, 0] > 0.9


def test_docs_without_a_grade_are_refused():
    with pytest.raises(OptionError, match="every doc needs a grade"):
        dawid_skene(np.zeros((3, 2, 2)))
    with pytest.raises(OptionError, match="every doc needs a grade"):
        dawid_skene(np.zeros((0, 2, 2)))
