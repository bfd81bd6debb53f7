"""The arithmetic of one score, against sums done by hand."""

import json
import math
from itertools import pairwise

import pytest

import rankscope as rs
from rankscope.analysis.explain import explain
from rankscope.errors import InputError, MeasureError
from rankscope.measures.registry import REGISTRY
from rankscope.measures.spec import Measure
from rankscope.records import to_json

pytestmark = pytest.mark.usefixtures("engine")

QRELS = {"q": {"a": 1, "b": 3, "c": 0, "d": 2, "p": -1}, "r": {"a": 1}}
RUN = {"q": {"a": 5.0, "x": 4.0, "b": 3.0, "c": 2.0, "p": 1.0}, "s": {"a": 1.0}}
LOG3 = math.log2(3)
TWO_BEST, THREE_BEST = 3 + 2 / LOG3, 3 + 2 / LOG3 + 1 / 2
"""The ideal DCG of q down to ranks 2 and 3."""
RNDCG = (1 / 3 + 1 / TWO_BEST + 2.5 / THREE_BEST) / 3
"""Its mean nDCG at the ranks where each grade's docs would end, once the third doc is there."""


def steps(measure, query="q", **policies):
    return explain(QRELS, RUN, query, measure, **policies)


def test_ndcg_rank_by_rank():
    told = steps("nDCG@3")
    assert [(step.rank, step.doc, step.grade) for step in told.steps] == [(1, "a", 1), (2, "x", None), (3, "b", 3)]
    assert [step.term for step in told.steps] == pytest.approx([1, 0, 3 / 2])
    assert told.steps[2].parts == {"gain": 3, "discount": 2}
    assert [(step.rank, step.doc, step.grade) for step in told.ideal] == [(1, "b", 3), (2, "d", 2), (3, "a", 1)]
    assert [step.term for step in told.ideal] == pytest.approx([3, 2 / LOG3, 1 / 2])
    assert (told.total, told.divisor) == pytest.approx((2.5, 3.5 + 2 / LOG3))
    assert told.score == pytest.approx(told.total / told.divisor)
    assert told.n_retrieved == 5
    assert (told.sum_name, told.divisor_name) == ("DCG", "ideal DCG")


def test_ndcg_with_a_map_that_reverses_the_grades():
    told = steps("nDCG(gain={1: 9, 2: 4, 3: 1})")
    assert [step.doc for step in told.ideal] == ["a", "d", "b"]
    assert told.score == pytest.approx((9 + 1 / 2) / (9 + 4 / LOG3 + 1 / 2))


@pytest.mark.parametrize(
    ("measure", "terms", "divisor", "score"),
    [
        ("P@3", [1, 0, 1], 3, 2 / 3),
        ("R@3", [1, 0, 1], 3, 2 / 3),
        ("AP", [1, 0, 2 / 3, 0, 0], 3, 5 / 9),
        ("AP(norm='min')@1", [1], 1, 1),
        ("RR", [1, 0, 0, 0, 0], None, 1),
        ("RR(rel=2)", [0, 0, 1 / 3, 0, 0], None, 1 / 3),
        ("DCG", [1, 0, 1.5, 0, 0], None, 2.5),
        ("RBP(p=0.5)", [0.5, 0, 0.125, 0, 0], None, 0.625),
        ("ERR", [1 / 8, 0, 7 / 8 * 7 / 8 / 3, 0, 0], None, 1 / 8 + 49 / 192),
    ],
)
def test_terms_and_divisor(measure, terms, divisor, score):
    told = steps(measure)
    assert [step.term for step in told.steps] == pytest.approx(terms)
    assert told.divisor == divisor
    assert told.score == pytest.approx(score)


@pytest.mark.parametrize("name", [name for name, spec in REGISTRY.items() if not getattr(spec, "needs", ())])
def test_every_explanation_ends_at_the_score_that_evaluate_gives(name):
    spec = REGISTRY[name]
    measure = Measure.of(spec, {key: value for key, value in (("k", 3), ("recall", 0.5)) if key in spec.parameters})
    told = steps(measure)
    scores = rs.evaluate({"q": QRELS["q"]}, RUN, measure)["run"]
    assert told.score == pytest.approx(scores["q", measure.name], abs=1e-12)
    assert sum(step.term for step in told.steps) / (told.divisor or 1) == pytest.approx(told.score, abs=1e-12)
    assert json.loads(to_json(told))["query"] == "q"


def test_a_measure_without_workings_shows_how_the_score_grows():
    told = steps("Success@5")
    assert [step.term for step in told.steps] == [1, 0, 0, 0, 0]
    assert told.sum_name == "sum of changes"


@pytest.mark.parametrize(
    ("measure", "reached", "empty"),
    [
        # by hand, down the list a (1), x (unjudged), b (3), c (0), p (-1: pooled, unjudged); d (2) is missed
        ("P_ret@5", [1, 1 / 2, 2 / 3, 2 / 4, 2 / 5], 0),
        ("SetP", [1, 1 / 2, 2 / 3, 2 / 4, 2 / 5], 0),
        ("SetRelP", [1, 1 / 2, 2 / 3, 2 / 3, 2 / 3], 0),
        ("SetF", [2 / 4, 2 / 5, 4 / 6, 4 / 7, 4 / 8], 0),
        ("SetAP", [1 / 3, 1 / 6, 4 / 9, 4 / 12, 4 / 15], 0),
        ("Judged", [1, 1 / 2, 2 / 3, 3 / 4, 3 / 5], 0),
        ("Unjudged@5", [0, 1 / 5, 1 / 5, 1 / 5, 2 / 5], 0),
        ("NumRet", [1, 2, 3, 4, 5], 0),
        ("NumRel", [3, 3, 3, 3, 3], 3),
        ("MeanGain", [1 / 3, 1 / 6, 4 / 9, 4 / 12, 4 / 15], 0),
        ("Utility", [1, 0, 1, 0, -1], 0),
        ("Utility(missed=-2)", [-3, -4, -1, -2, -3], -6),
        ("RBP_resid(p=0.5)", [1 / 2, 1 / 2, 3 / 8, 5 / 16, 5 / 16], 1),
        # cuts at 1, 2 and 3 docs, and the whole list once it is longer than 4: DCG is 1, then 2.5
        ("Rndcg", [*[(1 / 3 + 1 / TWO_BEST + 1 / THREE_BEST) / 3] * 2, *[RNDCG] * 2, (RNDCG * 3 + 2.5 / THREE_BEST) / 4], 0),
    ],
)  # fmt: skip
def test_unjudged_docs_and_the_empty_list_have_their_share(measure, reached, empty):
    told = steps(measure)
    ranks = [step for step in told.steps if step.rank is not None]
    assert [step.parts[f"{measure} down to here"] for step in ranks] == pytest.approx(reached)
    assert [step.term for step in ranks] == pytest.approx([b - a for a, b in pairwise([empty, *reached])])
    assert [(step.label, step.term) for step in told.steps if step.rank is None] == [("empty list", empty)] * bool(
        empty
    )
    assert told.total == pytest.approx(reached[-1])
    assert told.score == pytest.approx(reached[-1])


def test_down_to_a_rank_a_score_may_be_undefined():
    told = steps("FirstRel(rel=3)")
    assert [step.parts["FirstRel(rel=3) down to here"] for step in told.steps] == [None, None, 3, 3, 3]
    assert [step.term for step in told.steps] == [0, 0, 3, 0, 0]


def test_one_number_for_all_queries_is_no_sum_over_ranks():
    docs = {doc: {} for doc in ("a", "b", "x", "y")}
    told = explain(QRELS, {"q": ["a", "x"], "r": ["b"]}, "q", "CatalogCoverage", docs=docs)
    assert (told.score, told.total, told.steps) == (3 / 4, None, ())  # a, x and b of four, though q shows two


def test_the_ideal_names_the_docs_whose_gains_it_has():
    told = steps("nDCG(gain={1: 9, 2: 4, 3: 1}, rel=2)")
    assert [(step.doc, step.parts["gain"]) for step in told.ideal] == [("d", 4), ("b", 1)]


def test_why_a_score_is_undefined():
    assert steps("AP").why_undefined == ""
    assert steps("P_ret@5", query="r").why_undefined == "nothing was retrieved"
    left_out = steps("P@5", query="r", min_rel=2, no_relevant="exclude")
    assert left_out.score is None
    assert left_out.why_undefined.startswith("the query has no relevant doc")


def test_policies_are_obeyed():
    assert [step.doc for step in steps("RR", depth=2).steps] == ["a", "x"]
    assert [step.doc for step in steps("RR", judged_only=True).steps] == ["a", "b", "c"]
    assert [step.doc for step in steps("RR(judged_only=True)").steps] == ["a", "b", "c"]
    assert steps("RR", min_rel=3).score == pytest.approx(1 / 3)
    assert steps("nDCG@3", profile="gdeval").measure == "nDCG(gain='exp2')@3"


def test_an_unanswered_query_is_explained_as_an_empty_list():
    told = steps("AP", query="r")
    assert (told.steps, told.score, told.n_retrieved) == ((), 0, 0)


def test_an_undefined_score_is_none():
    told = steps("FirstRel", query="r")
    assert told.score is None
    assert json.loads(to_json(told))["score"] is None


def test_mistakes():
    with pytest.raises(InputError, match="there is no query 'zz' to explain"):
        steps("AP", query="zz")
    with pytest.raises(MeasureError, match="one measure can be explained at a time, not 2"):
        steps("P@5,10")
