"""Measures that pytrec_eval does not have, against plain loops written from the papers' definitions.

An oracle sees one query: `ranking`, the grade at each rank (None: nobody judged the doc; below 0: pooled but not
judged), and `judged`, the grades of all judged docs, retrieved or not.
"""

import math
import statistics

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rankscope as rs

TOP = 4  # the highest grade in the qrels of every test here


def grade_at(cell):
    return cell if cell is not None and cell > 0 else 0


def relevant(cell, rel=1):
    return cell is not None and cell >= rel


def ideal(judged):
    return sorted((grade for grade in judged if grade >= 0), reverse=True)


def err(ranking, *, k=None, top=TOP):
    """Chapelle et al. 2009, algorithm 2."""
    going_on, total = 1.0, 0.0
    for r, cell in enumerate(ranking[:k], 1):
        chance = (2 ** grade_at(cell) - 1) / 2**top
        total += going_on * chance / r
        going_on *= 1 - chance
    return total


def n_err(ranking, judged, *, k=None, top=TOP):
    best = err(ideal(judged), k=k, top=top)
    return err(ranking, k=k, top=top) / best if best else 0.0


def rbp(ranking, *, p, k=None, gain=lambda cell: 1.0 if relevant(cell) else 0.0):
    """Moffat & Zobel 2008, equation 3."""
    return (1 - p) * sum(gain(cell) * p**i for i, cell in enumerate(ranking[:k]))


def rbp_residual(ranking, *, p, k=None):
    """Moffat & Zobel 2008, section 3.3: the weight of every doc that nobody judged, and of all that is not seen."""
    shown = ranking[:k]
    unjudged = sum((1 - p) * p**i for i, cell in enumerate(shown) if cell is None or cell < 0)
    return unjudged + p ** len(shown)


def q_measure(ranking, judged, *, beta=1.0):
    """Sakai 2004: the blended ratio at each relevant doc, averaged over all relevant docs."""
    n_relevant = sum(grade >= 1 for grade in judged)
    if not n_relevant:
        return 0.0
    best, total, count, gained = ideal(judged), 0.0, 0, 0.0
    for r, cell in enumerate(ranking, 1):
        if relevant(cell):
            count += 1
            gained += cell
            total += (count + beta * gained) / (r + beta * sum(best[:r]))
    return total / n_relevant


def inst(ranking, *, hope, n_ranks, tail):
    """Moffat et al. 2017: weights by their ratio, summed down to `n_ranks`, and the rest by Euler-Maclaurin."""
    weight, mass, gained, left = 1.0, 0.0, 0.0, hope
    for r in range(1, n_ranks + 1):
        gain = 1.0 if r <= len(ranking) and relevant(ranking[r - 1]) else 0.0
        mass += weight
        gained += weight * gain
        left -= gain
        weight *= ((r + hope + left - 1) / (r + hope + left)) ** 2
    x = n_ranks + hope + left  # the weights from here on are weight * (x / (x + j))²
    return gained / (mass + (weight * (x + 1 / 2 + 1 / (6 * x)) if tail else 0.0))


def rank_biased_overlap(one, other, *, p, depth=1000):
    """Webber et al. 2010, as in the reference program compatibility.py of Clarke et al."""
    seen_one, seen_other, total, weight, norm = set(), set(), 0.0, 1.0, 0.0
    for i in range(depth):
        seen_one.update(one[i : i + 1])
        seen_other.update(other[i : i + 1])
        total += weight * len(seen_one & seen_other) / (i + 1)
        norm += weight
        weight *= p
    return total / norm


def compatibility(ranking, unfound, *, p=0.95):
    """Clarke et al. 2021: overlap with the ideal ranking that, among equal grades, follows the run."""
    docs = list(range(len(ranking)))
    grade_of = {i: grade for i, grade in enumerate([*ranking, *unfound]) if grade is not None and grade > 0}
    best = sorted(sorted(grade_of), key=lambda doc: -grade_of[doc])
    return rank_biased_overlap(docs, best, p=p) / rank_biased_overlap(best, best, p=p) if best else 0.0


def dcg(gains, k=None):
    return sum(gain / math.log2(r + 1) for r, gain in enumerate(gains[:k], 1))


def ndcg(ranking, judged, *, gain, k=None):
    """Järvelin & Kekäläinen 2002 with discount log2(rank + 1); the ideal orders by gain."""
    best = dcg(sorted((gain(grade) for grade in judged if grade >= 0), reverse=True), k)
    return dcg([0 if cell is None or cell < 0 else gain(cell) for cell in ranking], k) / best if best else 0.0


def ncg(ranking, judged, *, k=None):
    best = sum(ideal(judged)[:k])
    return sum(map(grade_at, ranking[:k])) / best if best else 0.0


def mean_gain(ranking, *, k=None, top=TOP, judged_only=False):
    shown = [cell for cell in ranking[:k] if not judged_only or (cell is not None and cell >= 0)]
    return sum(grade_at(cell) / top for cell in shown) / len(shown) if shown else 0.0


def f_beta(ranking, judged, *, k, beta):
    found, n_relevant = sum(map(relevant, ranking[:k])), sum(grade >= 1 for grade in judged)
    if not found:
        return 0.0
    precision, recall = found / k, found / n_relevant
    return (1 + beta**2) * precision * recall / (beta**2 * precision + recall)


def average_precision(ranking, judged, *, k=None, norm="all"):
    n_relevant = sum(grade >= 1 for grade in judged)
    if norm == "min" and k is not None:
        n_relevant = min(n_relevant, k)
    total = sum(sum(map(relevant, ranking[:r])) / r for r in range(1, len(ranking[:k]) + 1) if relevant(ranking[r - 1]))
    return total / n_relevant if n_relevant else 0.0


def capped_recall(ranking, judged, *, k):
    n_relevant = sum(grade >= 1 for grade in judged)
    return sum(map(relevant, ranking[:k])) / min(k, n_relevant) if n_relevant else 0.0


def precision_of_retrieved(ranking, *, k):
    return sum(map(relevant, ranking[:k])) / len(ranking[:k]) if ranking else 0.0


def judged_share(ranking, *, k=None):
    shown = ranking[:k]
    return sum(cell is not None and cell >= 0 for cell in shown) / len(shown) if shown else 0.0


def unjudged_share(ranking, *, k):
    return sum(cell is None or cell < 0 for cell in ranking[:k]) / k


def positions(ranking, k=None):
    return [r for r, cell in enumerate(ranking[:k], 1) if relevant(cell)]


def or_nan(function, values):
    return function(values) if values else math.nan


def condensed(ranking):
    """Return the ranking without the docs that nobody judged."""
    return [cell for cell in ranking if cell is not None and cell >= 0]


NON_MONOTONE = {1: 3, 2: 9, 4: 4.5}  # trec_eval's own test, where grade 2 is worth most
INVERTED = {1: 0.9, 2: 0.5, 3: 0.1, 4: 0.05}
ORACLES = {
    "ERR": lambda ranking, judged: err(ranking),
    "ERR@3": lambda ranking, judged: err(ranking, k=3),
    "ERR(max_grade=7)@5": lambda ranking, judged: err(ranking, k=5, top=7),
    "ERR(max_grade='query')": lambda ranking, judged: err(ranking, top=max([0, *judged])),
    "nERR": n_err,
    "nERR@2": lambda ranking, judged: n_err(ranking, judged, k=2),
    "RBP": lambda ranking, judged: rbp(ranking, p=0.8),
    "RBP(p=0.5)@3": lambda ranking, judged: rbp(ranking, p=0.5, k=3),
    "RBP(p=0.95, rel=2)": lambda ranking, judged: rbp(ranking, p=0.95, gain=lambda cell: relevant(cell, 2)),
    "RBP(gain='linear')": lambda ranking, judged: rbp(ranking, p=0.8, gain=lambda cell: grade_at(cell) / TOP),
    "RBP(gain='exp2', max_grade=5)": lambda ranking, judged: rbp(
        ranking, p=0.8, gain=lambda cell: (2 ** grade_at(cell) - 1) / 31
    ),
    "RBP(gain={1: 3, 2: 9, 4: 4.5})": lambda ranking, judged: rbp(
        ranking, p=0.8, gain=lambda cell: NON_MONOTONE.get(grade_at(cell), grade_at(cell)) / 9
    ),
    "RBP_resid": lambda ranking, judged: rbp_residual(ranking, p=0.8),
    "RBP_resid(p=0.95)@4": lambda ranking, judged: rbp_residual(ranking, p=0.95, k=4),
    "Q": q_measure,
    "Q(beta=10)": lambda ranking, judged: q_measure(ranking, judged, beta=10),
    "INST": lambda ranking, judged: inst(ranking, hope=1, n_ranks=500, tail=True),
    "INST(T=2.5)": lambda ranking, judged: inst(ranking, hope=2.5, n_ranks=500, tail=True),
    "nDCG": lambda ranking, judged: ndcg(ranking, judged, gain=lambda g: g),
    "nDCG(gain='exp2')@3": lambda ranking, judged: ndcg(ranking, judged, gain=lambda g: 2**g - 1, k=3),
    "nDCG(gain='binary')": lambda ranking, judged: ndcg(ranking, judged, gain=lambda g: float(g >= 1)),
    "nDCG(gain='binary', rel=2)@5": lambda ranking, judged: ndcg(ranking, judged, gain=lambda g: float(g >= 2), k=5),
    "nDCG(rel=2)": lambda ranking, judged: ndcg(ranking, judged, gain=lambda g: g if g >= 2 else 0),
    "ndcg.1=3,2=9,4=4.5": lambda ranking, judged: ndcg(ranking, judged, gain=lambda g: NON_MONOTONE.get(g, g)),
    "nDCG(gain={1: 0.9, 2: 0.5, 3: 0.1, 4: 0.05})@3": lambda ranking, judged: ndcg(
        ranking, judged, gain=lambda g: INVERTED.get(g, 0), k=3
    ),
    "DCG@4": lambda ranking, judged: dcg(list(map(grade_at, ranking)), 4),
    "DCG(gain='exp2')": lambda ranking, judged: dcg([2 ** grade_at(cell) - 1 for cell in ranking]),
    "CG@2": lambda ranking, judged: sum(map(grade_at, ranking[:2])),
    "NCG": ncg,
    "NCG@3": lambda ranking, judged: ncg(ranking, judged, k=3),
    "MeanGain": lambda ranking, judged: mean_gain(ranking),
    "MeanGain(max_grade=5)@3": lambda ranking, judged: mean_gain(ranking, k=3, top=5),
    "MeanGain(over='judged')@5": lambda ranking, judged: mean_gain(ranking, k=5, judged_only=True),
    "F@3": lambda ranking, judged: f_beta(ranking, judged, k=3, beta=1),
    "F(beta=2)@5": lambda ranking, judged: f_beta(ranking, judged, k=5, beta=2),
    "F(beta=0.5)@5": lambda ranking, judged: f_beta(ranking, judged, k=5, beta=0.5),
    "R_cap@3": lambda ranking, judged: capped_recall(ranking, judged, k=3),
    "P_ret@5": lambda ranking, judged: precision_of_retrieved(ranking, k=5),
    "AP(norm='min')@3": lambda ranking, judged: average_precision(ranking, judged, k=3, norm="min"),
    "AP(norm='min')": average_precision,
    "AP@3": lambda ranking, judged: average_precision(ranking, judged, k=3),
    "Judged": lambda ranking, judged: judged_share(ranking),
    "Judged@5": lambda ranking, judged: judged_share(ranking, k=5),
    "Unjudged@5": lambda ranking, judged: unjudged_share(ranking, k=5),
    "FirstRel": lambda ranking, judged: or_nan(min, positions(ranking)),
    "FirstRel@2": lambda ranking, judged: or_nan(min, positions(ranking, 2)),
    "LastRel": lambda ranking, judged: or_nan(max, positions(ranking)),
    "LastRel@4": lambda ranking, judged: or_nan(max, positions(ranking, 4)),
    "MeanRel": lambda ranking, judged: or_nan(statistics.mean, positions(ranking)),
    "MeanRel@4": lambda ranking, judged: or_nan(statistics.mean, positions(ranking, 4)),
    "nDCG(judged_only=True)@3": lambda ranking, judged: ndcg(condensed(ranking), judged, gain=lambda g: g, k=3),
    "AP(judged_only=True)": lambda ranking, judged: average_precision(condensed(ranking), judged),
    "RBP(judged_only=True)": lambda ranking, judged: rbp(condensed(ranking), p=0.8),
    "ERR(judged_only=True)@2": lambda ranking, judged: err(condensed(ranking), k=2),
    "Judged(judged_only=True)@5": lambda ranking, judged: judged_share(condensed(ranking), k=5),
    "P_ret(judged_only=True)@5": lambda ranking, judged: precision_of_retrieved(condensed(ranking), k=5),
}

CELL = st.sampled_from([None, None, -1, 0, 0, 1, 1, 2, 3, TOP])
QUERY = st.tuples(st.lists(CELL, max_size=9), st.lists(st.sampled_from([-1, 0, 1, 2, 3, TOP]), min_size=1, max_size=5))


def build(data):
    """Return qrels and a run; one more query, not answered, holds the highest grade."""
    qrels, run = {"zz": {"top": TOP}}, {}
    for q, (ranking, unfound) in enumerate(data):
        grades = dict(enumerate([*ranking, *unfound]))
        qrels[f"q{q}"] = {f"d{i}": grade for i, grade in grades.items() if grade is not None}
        run[f"q{q}"] = {f"d{i}": float(-i) for i in range(len(ranking))}
    return qrels, {**run, "zz": {"top": 1.0}}


def judged_of(ranking, unfound):
    return [grade for grade in [*ranking, *unfound] if grade is not None]


@pytest.mark.filterwarnings("ignore:.*left out of the mean:rankscope.errors.RankscopeWarning")
@pytest.mark.parametrize("name", ORACLES)
def test_equals_its_definition(name):
    measure = rs.parse_measure(name)

    @settings(max_examples=60)
    @given(st.lists(QUERY, min_size=1, max_size=3))
    def equals(data):
        scores = rs.evaluate(*build(data), measure, undefined="zero")["run"]
        for q, (ranking, unfound) in enumerate(data):
            expected = ORACLES[name](ranking, judged_of(ranking, unfound))
            assert scores[f"q{q}", measure.name] == pytest.approx(expected, abs=1e-12, nan_ok=True)

    equals()


@pytest.mark.parametrize("p", [0.5, 0.95])
def test_compatibility_equals_the_overlap_of_the_two_lists(p):
    @settings(max_examples=60)
    @given(QUERY)
    def equals(query):
        score = rs.evaluate(*build([query]), f"Compat(p={p})")["run"].values[0, 0]
        assert score == pytest.approx(compatibility(*query, p=p), abs=1e-12)

    equals()


def test_compatibility_of_a_long_run_looks_at_a_thousand_ranks():
    ranking = [None] * 998 + [1, 2, 1, 3]  # the last two stand below rank 1000
    score = rs.evaluate(*build([(ranking, [1])]), "Compat")["run"].values[0, 0]
    assert score == pytest.approx(compatibility(ranking, [1]), rel=1e-9)
    assert score > 0


@pytest.mark.slow
def test_inst_weights_summed_by_brute_force_come_close():
    ranking = [0, 1, None, 1, 0, 0, 1]
    score = rs.evaluate(*build([(ranking, [1])]), "INST(T=3)")["run"].values[0, 0]
    assert score == pytest.approx(inst(ranking, hope=3, n_ranks=1_000_000, tail=False), abs=2e-6)


def test_inst_of_a_deep_hit_needs_no_cut_off():
    ranking = [None] * 5000 + [1]
    score = rs.evaluate(*build([(ranking, [1])]), "INST")["run"].values[0, 0]
    assert score == pytest.approx(inst(ranking, hope=1, n_ranks=20_000, tail=True), rel=1e-9)


@pytest.mark.filterwarnings("ignore:.*left out of the mean:rankscope.errors.RankscopeWarning")
@settings(max_examples=60)
@given(QUERY)
def test_judged_only_as_a_policy_is_judged_only_of_every_measure(query):
    names = ["nDCG@3", "AP", "P_ret@5", "RR", "Bpref", "Judged@5", "NumRet"]
    inside = [
        name.replace("@", "(judged_only=True)@") if "@" in name else f"{name}(judged_only=True)" for name in names
    ]
    policy = rs.evaluate(*build([query]), names, judged_only=True)["run"]
    variant = rs.evaluate(*build([query]), inside)["run"]
    np.testing.assert_array_equal(policy.values, variant.values)  # NaN equals NaN
