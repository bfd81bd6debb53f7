"""Profiles: what each tool documents, on data where the tools differ."""

import math
import warnings

import pytest

import rankscope as rs
from rankscope.errors import OptionError, RankscopeWarning
from rankscope.measures.profiles import PROFILES


def value(profile, measure, qrels, run, **policies):
    scores = rs.evaluate(qrels, run, measure, profile=profile, **policies)["run"]
    (only,) = scores.mean().values()
    return only.value


def test_every_profile_of_the_issue_is_there():
    tools = {"trec_eval-9", "trec_eval-10", "gdeval", "ndeval", "msmarco", "beir", "sentence-transformers"}
    assert set(PROFILES) >= tools | {"ir_measures", "ranx", "sklearn"}
    earlier = {"ranking_algo", "parakeet", "phentrieve", "phentrieve-plan", "dartboard", "dartboard-code"}
    assert set(rs.list_profiles()) >= earlier


@pytest.mark.parametrize("name", PROFILES)
def test_default_measures_of_a_profile_can_be_computed(name):
    qrels = [{"query": "q", "doc": "d", "grade": 1, "subtopic": "1"}]  # some measure diversity
    with warnings.catch_warnings(action="ignore"):  # some have more measures, for data that is not given
        scores = rs.evaluate(qrels, {"q": {"d": 1.0}}, profile=name)["run"]
    assert len(scores.measures) == len(set(scores.measures)) > 0


def test_float32_ties_only_in_trec_eval_9():
    qrels, run = {"q": {"a": 1}}, {"q": {"a": 0.1 + 1e-10, "b": 0.1}}
    assert value("trec_eval-9", "RR", qrels, run) == 0.5
    assert value("trec_eval-10", "RR", qrels, run) == 1.0


def test_trec_eval_skips_queries_that_the_run_does_not_answer():
    with pytest.warns(RankscopeWarning, match="does not answer 1 of 2 queries: they are left out"):
        assert value("trec_eval-9", "RR", {"q": {"a": 1}, "r": {"a": 1}}, {"q": {"a": 1.0}}) == 1.0


def test_gdeval_has_exponential_gains_grades_up_to_4_and_leaves_out_queries_without_relevant_docs():
    qrels, run = {"q": {"a": 1, "b": 2}, "r": {"a": 0}}, {"q": {"a": 2.0, "b": 1.0}, "r": {"a": 1.0}}
    expected = (1 + 3 / math.log2(3)) / (3 + 1 / math.log2(3))
    assert value("gdeval", "nDCG@20", qrels, run) == pytest.approx(expected)
    assert value("gdeval", "ERR@20", qrels, run) == pytest.approx(1 / 16 + 15 / 16 * 3 / 16 / 2)


def test_msmarco_counts_all_queries_and_keeps_the_order_of_ties():
    qrels, run = {"q": {"a": 1}, "r": {"a": 1}}, {"q": {"a": 1.0, "b": 1.0}}
    with pytest.warns(RankscopeWarning, match="they score 0 and count"):
        assert value("msmarco", None, qrels, run) == 0.5


def test_beir_removes_the_query_itself_from_the_ranking():
    qrels, run = {"q": {"a": 1}}, {"q": {"q": 2.0, "a": 1.0}}
    assert value("beir", "nDCG@10", qrels, run) == 1.0
    assert value("beir", "nDCG@10", qrels, run, self_match="keep") == pytest.approx(1 / math.log2(3))
    assert run == {"q": {"q": 2.0, "a": 1.0}}  # BEIR itself deletes from the caller's results


def test_sentence_transformers_is_binary_divides_ap_by_at_most_k_and_orders_ties_by_ascending_id():
    qrels, run = {"q": {"a": 1, "b": 3}}, {"q": {"a": 2.0, "b": 1.0}}
    assert value("sentence-transformers", "nDCG@10", qrels, run) == 1.0
    assert value("sentence-transformers", "AP@1", qrels, run) == 1.0
    assert value("sentence-transformers", "RR@10", {"q": {"a": 1}}, {"q": {"a": 1.0, "b": 1.0}}) == 1.0


def test_ir_measures_counts_queries_without_an_answer_has_grades_up_to_4_and_compares_in_single_precision():
    qrels, run = {"q": {"a": 1, "b": 0}, "r": {"a": 1}}, {"q": {"a": 0.1 + 1e-10, "b": 0.1}}
    with pytest.warns(RankscopeWarning, match="they score 0 and count"):
        assert value("ir_measures", "RR", qrels, run) == 0.25
    assert value("ir_measures", "ERR@20", {"q": {"a": 2}}, {"q": {"a": 1.0}}) == pytest.approx(3 / 16)


def test_ranx_counts_queries_without_an_answer_keeps_the_order_of_ties_and_weighs_rbp_by_grade():
    qrels, run = {"q": {"a": 1}, "r": {"a": 1}}, {"q": {"a": 1.0, "b": 1.0}}
    with pytest.warns(RankscopeWarning, match="they score 0 and count"):
        assert value("ranx", "mrr", qrels, run) == 0.5
    assert value("ranx", "rbp.80", {"q": {"a": 1, "b": 2}}, {"q": {"a": 1.0}}) == pytest.approx(0.2 * 1 / 2)


def test_sklearn_has_the_measures_that_its_functions_compute():
    # the example of ndcg_score in scikit-learn's documentation: 0.69, and 0.49 with other scores
    qrels = {"q": dict(zip("abcde", (10, 0, 0, 1, 5), strict=True))}
    run = {"q": dict(zip("abcde", (0.1, 0.2, 0.3, 4, 70), strict=True))}
    assert value("sklearn", "nDCG", qrels, run) == pytest.approx(0.69, abs=0.01)
    other = {"q": dict(zip("abcde", (0.05, 1.1, 1.0, 0.5, 0.0), strict=True))}
    assert value("sklearn", "nDCG", qrels, other) == pytest.approx(0.49, abs=0.01)
    scores = rs.evaluate(qrels, run, profile="sklearn")["run"]
    assert scores.measures == ("nDCG", "DCG", "AP", "LastRel", "Success@2")


def test_what_the_user_says_wins_over_the_profile():
    qrels, run = {"q": {"a": 1, "b": 3}}, {"q": {"a": 2.0, "b": 1.0}}
    assert value("sentence-transformers", "nDCG(gain='exp2')@10", qrels, run) == pytest.approx(
        (1 + 7 / math.log2(3)) / (7 + 1 / math.log2(3))
    )
    assert value("trec_eval-9", "RR", {"q": {"a": 1}}, {"q": {"a": 1.0, "b": 1.0}}, ties="ascending") == 1.0


def test_an_unknown_profile_is_refused():
    with pytest.raises(OptionError, match=r"no profile 'trec_eval'.*\n.*did you mean trec_eval"):
        rs.evaluate({"q": {"d": 1}}, {"q": {"d": 1.0}}, profile="trec_eval")


def test_a_map_of_gains_survives_a_profile():
    scores = rs.evaluate({"q": {"a": 1, "b": 3}}, {"q": {"a": 1.0}}, "nDCG(gain={1: 2, 3: 1})@1", profile="gdeval")[
        "run"
    ]
    assert scores["q"] == {"nDCG(gain={1: 2, 3: 1})@1": 1.0}
