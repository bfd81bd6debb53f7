"""Missing queries, queries without relevant docs, thresholds, fractional and negative grades, and wrong options."""

import math

import numpy as np
import pytest

import rankscope as rs
from rankscope.align.policies import CHOICES
from rankscope.errors import GradeError, MissingQueriesError, NoOverlapError, OptionError, RankscopeWarning

pytestmark = pytest.mark.usefixtures("engine")

QRELS = {"q1": {"a": 1}, "q2": {"b": 1}, "q3": {"c": 0}}
RUN = {"q1": {"x": 2.0, "a": 1.0}, "q3": {"c": 1.0}, "other": {"z": 1.0}}


def evaluate(**policies):
    return rs.evaluate(QRELS, RUN, ["RR", "P_ret@5", "Judged@5", "FirstRel"], **policies)["run"]


def test_missing_queries_score_zero_and_count_and_a_warning_says_how_many():
    with pytest.warns(RankscopeWarning) as said:
        scores = evaluate()
    assert [*said[0].message.notes] == [
        "run does not answer 1 of 3 queries: they score 0 and count, but Judged@5, FirstRel are undefined for them",
        "run: FirstRel is undefined for 2 of 3 queries (no relevant doc was found within k): left out of the mean",
    ]
    assert (scores.mean()["FirstRel"].n, scores.mean()["FirstRel"].left_out) == (1, 2)
    assert scores.query_ids == ("q1", "q2", "q3")
    assert scores.answered.tolist() == [True, False, True]
    assert scores["q2", "RR"] == 0
    mean = scores.mean()["RR"]
    assert (mean.value, mean.n, mean.missing) == (0.5 / 3, 3, 1)


def test_missing_queries_can_be_skipped():
    with pytest.warns(RankscopeWarning) as said:
        scores = evaluate(missing="skip")
    assert [*said[0].message.notes] == [
        "run does not answer 1 of 3 queries: they are left out of the mean",
        "run: FirstRel is undefined for 1 of 2 queries (no relevant doc was found within k): left out of the mean",
    ]
    assert scores.query_ids == ("q1", "q3")
    mean = scores.mean()["RR"]
    assert (mean.value, mean.n, mean.missing) == (0.25, 2, 1)


def test_missing_queries_can_be_an_error_that_names_them():
    with pytest.raises(MissingQueriesError, match=r"does not answer 1 of 3 queries: q2\n.*missing='zero'"):
        evaluate(missing="error")
    many = {f"q{i}": {"a": 1} for i in range(9)}
    with pytest.raises(MissingQueriesError, match="does not answer 8 of 9 queries: q1, q2, q3, …"):
        rs.evaluate(many, {"q0": {"a": 1.0}}, "RR", missing="error")


def test_a_complete_run_needs_no_warning():
    assert rs.evaluate({"q1": {"a": 1}}, RUN, "RR", missing="error")["run"].counts.missing == 0


def test_a_query_answered_with_nothing_is_answered():
    for run in ({"q1": {}, "q2": {"b": 1.0}}, {"q1": [], "q2": ["b"]}):
        scores = rs.evaluate({"q1": {"a": 1}, "q2": {"b": 1}}, run, ["RR", "NumRet", "SetP"], missing="error")["run"]
        assert scores.answered.tolist() == [True, True]
        assert scores["q1"] == {"RR": 0, "NumRet": 0, "SetP": 0}


def test_queries_without_relevant_docs_score_zero_or_are_excluded():
    with pytest.warns(RankscopeWarning):
        zero, exclude = evaluate(), evaluate(no_relevant="exclude")
    assert zero["q3", "RR"] == 0
    assert math.isnan(exclude["q3", "RR"])
    assert (exclude.mean()["RR"].value, exclude.mean()["RR"].n, exclude.mean()["RR"].undefined) == (0.25, 2, 1)
    assert zero.mean()["RR"].undefined == 1
    assert zero.counts.no_relevant == exclude.counts.no_relevant == 1
    assert exclude["q3", "Judged@5"] == 1.0  # it does not depend on relevance


def test_excluding_queries_without_relevant_docs_leaves_missing_ones_in_the_mean():
    with pytest.warns(RankscopeWarning):
        scores = evaluate(no_relevant="exclude")
    assert scores["q2", "P_ret@5"] == 0  # nothing retrieved, though there is a relevant doc
    assert scores.mean()["P_ret@5"].n == 2


def test_a_position_that_does_not_exist_is_undefined_under_every_policy():
    with pytest.warns(RankscopeWarning):
        scores = evaluate()
    assert math.isnan(scores["q2", "FirstRel"])
    mean = scores.mean()["FirstRel"]
    assert (mean.value, mean.n, mean.undefined) == (2.0, 1, 2)


def test_counts_say_what_could_be_scored():
    with pytest.warns(RankscopeWarning):
        counts = evaluate().counts
    assert (counts.queries, counts.missing, counts.not_in_qrels) == (3, 1, 1)
    assert (counts.retrieved, counts.unjudged) == (3, 1)


def test_no_query_in_common_is_an_error_that_shows_three_ids_of_each_side():
    qrels = {f"MB{i:02}": {"a": 1} for i in range(5)}
    for run in ({f"{i}": {"a": 1.0} for i in range(1, 5)}, [(f"{i}", "a", 1.0) for i in range(1, 5)]):
        with pytest.raises(NoOverlapError) as error:
            rs.evaluate(qrels, run, "RR")
        assert "'MB00', 'MB01', 'MB02' (5 in all)" in str(error.value)
        assert "'1', '2', '3' (4 in all)" in str(error.value)
        assert "prefixes, zero padding" in str(error.value)


def test_no_query_in_common_suggests_ids_that_nearly_match():
    with pytest.raises(NoOverlapError, match="did you mean topic-1"):
        rs.evaluate({"topic_1": {"a": 1}}, {"topic-1": {"a": 1.0}}, "RR")


def test_the_threshold_is_for_the_whole_evaluation_or_for_one_measure():
    qrels, run = {"q": {"a": 1, "b": 2, "c": 3}}, {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}
    scores = rs.evaluate(qrels, run, ["RR", "RR(rel=3)", "NumRel"], min_rel=2)
    assert scores["run"]["q"] == {"RR": 1 / 2, "RR(rel=3)": 1 / 3, "NumRel": 2}
    assert scores.policies["min_rel"] == 2


def test_a_threshold_of_zero_makes_every_judged_doc_relevant():
    scores = rs.evaluate({"q": {"a": 0, "b": -1}}, {"q": {"a": 1.0, "b": 2.0}}, ["RR", "NumRel"], min_rel=0)["run"]
    assert scores["q"] == {"RR": 0.5, "NumRel": 1}


def test_negative_grades_mean_pooled_but_not_judged():
    qrels, run = {"q": {"a": -1, "b": 1, "c": -2}}, {"q": {"a": 3.0, "x": 2.0, "b": 1.0}}
    measures = ["nDCG", "RR", "Judged@3", "Unjudged@3", "NumRel", "NumNonrelRet", "Bpref"]
    scores = rs.evaluate(qrels, run, measures)["run"]
    assert scores["q"] == {
        "nDCG": 0.5, "RR": 1 / 3, "Judged@3": 1 / 3, "Unjudged@3": 2 / 3, "NumRel": 1, "NumNonrelRet": 0, "Bpref": 1,
    }  # fmt: skip
    condensed = rs.evaluate(qrels, run, ["RR", "NumRet"], judged_only=True)["run"]
    assert condensed["q"] == {"RR": 1, "NumRet": 1}


def test_a_query_whose_judgments_are_all_negative_scores_zero():
    qrels = {"1": {"a": -1}, "2": {"a": -2, "b": -3}, "3": {"a": 1}}
    run = {query: {"a": 1.0} for query in qrels}
    scores = rs.evaluate(qrels, run, ["AP", "nDCG@10", "Bpref", "infAP", "P@1"])["run"]
    assert scores.column("AP").tolist() == [0, 0, 1]
    assert scores["1"] == scores["2"] == dict.fromkeys(scores.measures, 0.0)


FRACTIONAL = {"q": {"a": 1, "b": 0.5, "c": 0}}
RANKED = {"q": {"b": 2.0, "a": 1.0}}


@pytest.mark.parametrize("measure", ["P@5", "AP", "RR", "Bpref", "nDCG(gain='binary')", "Q", "nDCG(gain={1: 2})", "G"])
def test_a_fractional_grade_is_an_error_that_names_the_row_where_a_threshold_would_be_guessed(measure):
    message = r"needs grades that are whole numbers, but row 2 of the qrels \(query 'q', doc 'b'\) has grade 0\.5"
    with pytest.raises(GradeError, match=message):
        rs.evaluate(FRACTIONAL, RANKED, measure)


def test_fractional_grades_are_fine_for_graded_gain():
    scores = rs.evaluate(FRACTIONAL, RANKED, ["nDCG", "DCG", "ERR", "MeanGain", "Judged@5", "Compat"])["run"]
    assert scores["q", "DCG"] == pytest.approx(0.5 + 1 / math.log2(3))
    assert scores["q", "nDCG"] == pytest.approx((0.5 + 1 / math.log2(3)) / (1 + 0.5 / math.log2(3)))
    chance = (math.sqrt(2) - 1) / 2
    assert scores["q", "ERR"] == pytest.approx(chance + (1 - chance) / 2 / 2)
    assert scores["q", "MeanGain"] == pytest.approx(0.75)


def test_fractional_grades_are_fine_where_the_threshold_is_said():
    assert rs.evaluate(FRACTIONAL, RANKED, "RR", min_rel=0.5)["run"]["q", "RR"] == 1
    assert rs.evaluate(FRACTIONAL, RANKED, "RR", min_rel=1)["run"]["q", "RR"] == 0.5
    assert rs.evaluate(FRACTIONAL, RANKED, "RR(rel=0.5)")["run"].column("RR(rel=0.5)").tolist() == [1]
    assert rs.evaluate(FRACTIONAL, RANKED, "RR", min_rel=0.5).policies["min_rel"] == 0.5


@pytest.mark.parametrize("name", CHOICES)
def test_a_policy_that_does_not_exist_is_refused_naming_those_that_do(name):
    with pytest.raises(OptionError, match=f"{name} = 'nonsense' is not one of {', '.join(CHOICES[name])}"):
        rs.evaluate(QRELS, RUN, "RR", **{name: "nonsense"})


def test_a_mistyped_policy_gets_a_suggestion():
    with pytest.raises(OptionError, match="did you mean ascending"):
        rs.evaluate(QRELS, RUN, "RR", ties="ascendin")
    with pytest.raises(TypeError, match="unexpected keyword argument 'tie'"):
        rs.evaluate(QRELS, RUN, "RR", tie="trec")


@pytest.mark.parametrize("depth", [0, -1, 1.5, "10", True])
def test_a_depth_that_counts_no_ranks_is_refused(depth):
    with pytest.raises(OptionError, match=r"depth = .*: it counts ranks, so it is a whole number from 1 up"):
        rs.Policies(depth=depth)


@pytest.mark.parametrize("min_rel", [-1, math.nan, math.inf, "2"])
def test_a_threshold_that_is_no_grade_is_refused(min_rel):
    with pytest.raises(OptionError, match=r"min_rel = .*: it is a grade from 0 up"):
        rs.Policies(min_rel=min_rel)


def test_numpy_numbers_are_fine_as_options():
    policies = rs.Policies(depth=np.int64(10), min_rel=np.float32(2))
    assert policies.depth == 10
    assert type(policies.as_dict()["depth"]) is int
    assert policies.relevance_level == 2


def test_what_is_not_said_is_trec_evals_behaviour():
    assert rs.Policies().as_dict() == {
        "ties": "trec", "precision": "double", "duplicates": "error", "self_match": "keep", "missing": "zero",
        "no_relevant": "zero", "undefined": "skip", "depth": None, "judged_only": False, "min_rel": 1,
    }  # fmt: skip
