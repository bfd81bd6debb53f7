"""Scores worked out by hand or printed in a paper or in MEASURES.md."""

import math

import pytest

import rankscope as rs
from rankscope.errors import GradeError


def score(name, ranking, unfound=(), **policies):
    """Return one score; `ranking` has the grade at each rank (None: unjudged), `unfound` what was not retrieved."""
    grades = dict(enumerate([*ranking, *unfound]))
    qrels = {"q": {f"d{i}": grade for i, grade in grades.items() if grade is not None}}
    run = {"q": {f"d{i}": float(-i) for i in range(len(ranking))}}
    measure = rs.parse_measure(name)
    return rs.evaluate(qrels, run, measure, **policies)["run"]["q", measure.name]


@pytest.mark.parametrize(
    ("name", "ranking", "unfound", "expected"),
    [
        ("nDCG", [3, 0, 2], [1], 0.8400),  # MEASURES.md section 6: linear against exponential gain
        ("nDCG(gain='exp2')", [3, 0, 2], [1], 0.9049),
        ("AP@2", [1, 1], [1], 0.6667),  # section 4, row 2: the two divisors of average precision
        ("AP(norm='min')@2", [1, 1], [1], 1.0),
        ("P@3", [1, 0, 1], [], 0.6667),  # section 5, document A
        ("R@5", [1, 0, 1, 0, 1], [1, 1], 0.6),
        ("nDCG(gain='binary')@10", [1, 0, 1, 0, 1], [], 0.8855),
        ("MeanRel", [1, 0, 1, 0, 1], [], 3.0),
        ("FirstRel", [1, 0, 1, 0, 1], [], 1.0),
        ("LastRel", [1, 0, 1, 0, 1], [], 5.0),
        ("NumRelRet@3", [1, 0, 1, 0, 1], [], 2.0),
        ("nDCG@10", [0, 1, 0, 0, 1], [1], 0.4776),  # (1/log2(3) + 1/log2(6)) / (1 + 1/log2(3) + 1/2)
        ("AP", [0, 1, 0, 1], [], 0.5),  # (1/2 + 2/4) / 2
        ("P@10", [1, 0, 1, 0], [], 0.2),
        ("P_ret@10", [1, 0, 1, 0], [], 0.5),
        ("RBP(p=0.5)", [1, 0, 0, 0, 1], [], 0.53125),  # 1/2 + 1/32
        ("F(beta=2)@2", [1, 0], [1, 1, 1], 5 * 0.5 * 0.25 / (4 * 0.5 + 0.25)),
        ("set_F.4", [1, 0], [1, 1, 1], 5 * 0.5 * 0.25 / (4 * 0.5 + 0.25)),  # trec_eval's parameter is beta squared
        ("R_cap@2", [1, 0], [1, 1, 1], 0.5),
        ("Bpref", [0, 1, 0, 1], [], 0.25),  # (1 - 1/2 + 1 - 2/2) / 2
        ("Judged@3", [1, None, -1, 0], [], 0.3333),
        ("Unjudged@10", [1, None, -1, 0], [], 0.2),
        ("NCG@2", [1, 2], [3], 0.6),
        ("CG@2", [1, 2, 4], [], 3.0),
        ("MeanGain(max_grade=3)", [3, 0, None], [], 0.3333),
        ("MeanGain(max_grade=3, over='judged')", [3, 0, None], [], 0.5),
        ("INST", [1], [], 6 / math.pi**2),
    ],
)
def test_score(name, ranking, unfound, expected):
    assert score(name, ranking, unfound) == pytest.approx(expected, abs=5e-5)


def test_gains_below_one_are_ordered_where_trec_eval_returns_zero():
    # ideal: 0.9, 0.5, 0.1; trec_eval takes gains that differ by less than 1 for equal, and prints 0
    found = 0.1 + 0.9 / math.log2(3)
    best = 0.9 + 0.5 / math.log2(3) + 0.1 / 2
    assert score("ndcg.1=0.9,2=0.5,3=0.1", [3, 1], [2]) == pytest.approx(found / best, abs=1e-12)


def test_rbp_and_its_residual_enclose_what_full_judgments_could_give():
    ranking = [1, None, 0, None]
    low, residual = score("RBP", ranking), score("RBP_resid", ranking)
    assert low == pytest.approx(0.2)
    assert residual == pytest.approx(0.2 * (0.8 + 0.8**3) + 0.8**4)
    assert low + residual == pytest.approx(1 - 0.2 * 0.8**2)  # all but the judged non-relevant doc at rank 3


def test_err_needs_no_limit_on_grades():
    assert score("ERR", [10, 0]) == pytest.approx((2**10 - 1) / 2**10)
    assert score("ERR", [5000, 0]) == 1.0


def test_a_query_with_a_sure_hit_leaves_the_err_of_later_queries_alone():
    # on a scale of 0 to 100 the top grade stops everybody, as far as a double can tell
    qrels = {"a": {"d": 100, "e": 99}, "b": {"d": 100, "e": 99}}
    run = {"a": {"d": 2.0, "e": 1.0}, "b": {"e": 2.0, "d": 1.0}}
    scores = rs.evaluate(qrels, run, "ERR")["run"]
    assert scores.column("ERR").tolist() == pytest.approx([1.0, 0.5 + 0.5 / 2])


def test_err_refuses_grades_above_the_scale_it_is_given():
    with pytest.raises(GradeError, match="grade 5, above max_grade=4"):
        score("ERR(max_grade=4)", [5])


def test_exponential_gain_refuses_grades_that_overflow():
    with pytest.raises(GradeError, match="5000 is too high for gain='exp2'"):
        score("nDCG(gain='exp2')", [5000, 1])


def test_ndcg_ignores_the_threshold_as_trec_eval_does_unless_it_is_its_own():
    assert score("nDCG", [1, 2], min_rel=2) == score("nDCG", [1, 2])
    assert score("nDCG(rel=2)", [1, 2]) == pytest.approx(1 / math.log2(3))
    assert score("nDCG(gain='binary')", [1, 2], min_rel=2) == pytest.approx(1 / math.log2(3))


@pytest.mark.parametrize(
    ("name", "expected", "binary"),
    [("CG", 3, 1), ("DCG", 1 + 2 / math.log2(3), 1 / math.log2(3)), ("NCG", 1, 1)],
)
def test_every_grade_has_its_gain_whatever_the_threshold_unless_gains_are_binary(name, expected, binary):
    assert score(name, [1, 2], min_rel=2) == pytest.approx(expected)
    assert score(f"{name}(gain='binary')", [1, 2], min_rel=2) == pytest.approx(binary)
    assert score(f"{name}(gain='binary')", [1, 2]) == score(f"{name}(gain='binary')", [2, 2], min_rel=2)


QRELS = {f"q{i}": {"d": 1} for i in range(4)}
RUN = {f"q{i}": {**{f"x{j}": 10.0 - j for j in range(i)}, "d": 0.0} for i in range(4)}  # RR: 1, 1/2, 1/3, 1/4


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ("mean", (1 + 1 / 2 + 1 / 3 + 1 / 4) / 4),
        ("median", (1 / 2 + 1 / 3) / 2),
        ("gmean", (1 / 24) ** (1 / 4)),
        ("worst", 1 / 4),
        ("sum", 25 / 12),
    ],
)
def test_aggregates(how, expected):
    scores = rs.evaluate(QRELS, RUN, ["RR", f"RR(agg='{how}')"])["run"]
    assert scores.aggregate(how)["RR"].value == pytest.approx(expected, abs=1e-12)
    named = rs.parse_measure(f"RR(agg='{how}')").name
    assert scores.mean()[named].value == pytest.approx(expected, abs=1e-12)
    assert scores.mean()["RR"].value == pytest.approx(25 / 48, abs=1e-12)


def test_worst_is_the_mean_of_the_worst_tenth():
    qrels = {f"{i:02}": {"d": 1} for i in range(20)}
    run = {f"{i:02}": {**{f"x{j}": 99.0 - j for j in range(i)}, "d": 0.0} for i in range(20)}  # ranks 1 to 20
    scores = rs.evaluate(qrels, run, ["RR", "FirstRel"])["run"].aggregate("worst")
    assert scores["RR"].value == pytest.approx((1 / 19 + 1 / 20) / 2)
    assert scores["FirstRel"].value == pytest.approx(19.5)  # here the highest is the worst


def test_the_geometric_mean_survives_a_query_with_zero():
    scores = rs.evaluate({"a": {"d": 1}, "b": {"d": 1}}, {"a": {"d": 1.0}, "b": {"x": 1.0}}, "GMAP")["run"]
    assert scores.mean()["AP(agg='gmean')"].value == pytest.approx(math.sqrt(1 * 0.00001))
