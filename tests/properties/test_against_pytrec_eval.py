"""Every measure of pytrec_eval (trec_eval 9) on random data: ties, unjudged docs, negative grades, missing queries.

What pytrec_eval itself gets wrong is kept out of the data, each with its reason:
- a query with empty qrels: the fork drops it, the original reads stale memory;
- a query with an empty ranking: iprec_at_recall_0.00 is 0/0 there;
- a query in which no grade reaches the relevance level less one, all grades negative included: bpref, and the
  forming of the ideal, read past the end of an array in C;
- grades that are not int, scores that are not float, a relevance level below 1: refused;
- ids with a NUL, scores beyond 32 bits: they end a C string, and overflow a C float.
"""

import math
import warnings

import pytest
import pytrec_eval
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st

import rankscope as rs
from rankscope.errors import RankscopeWarning

CUTS = "1,2,3,5,7,10,1000"
SHARES = "0.2,0.35,0.5,1.0,1.5,2.0,5.0"
LEVELS = "0,0.1,0.25,0.3,0.5,0.6,0.75,0.9,1"
ASKED = {
    *("map", "ndcg", "recip_rank", "bpref", "Rprec", "11pt_avg", "infAP", "binG", "G", "ndcg_rel", "Rndcg", "utility"),
    *("set_P", "set_recall", "set_F", "set_map", "set_relative_P"),
    *("num_ret", "num_rel", "num_rel_ret", "num_nonrel_judged_ret", "gm_map", "gm_bpref"),
    *(f"{name}.{CUTS}" for name in ("P", "recall", "ndcg_cut", "map_cut", "success", "relative_P")),
    *(f"Rprec_mult.{SHARES}", f"iprec_at_recall.{LEVELS}"),
}
GEOMETRIC = {"gm_map": "map", "gm_bpref": "bpref"}
PER_QUERY = sorted(
    {*(name for name in ASKED if "." not in name and name not in GEOMETRIC)}
    | {
        f"{name}_{k}"
        for name in ("P", "recall", "ndcg_cut", "map_cut", "success", "relative_P")
        for k in CUTS.split(",")
    }
    | {f"Rprec_mult_{float(share):.2f}" for share in SHARES.split(",")}
    | {f"iprec_at_recall_{float(level):.2f}" for level in LEVELS.split(",")}
)
OURS = {name: rs.parse_measure(name) for name in PER_QUERY}

POOL = ["d1", "D1", "d10", "d2", "9", "10", "007", "7", "Z", "z", "é", "Ω", "文書", "🙂", "a b", "~", "doc-1", "doc_1"]
DOCS = st.sampled_from(POOL) | st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=4)  # fmt: skip
QUERIES = st.sampled_from(["1", "2", "10", "q", "Q", "q1", "ü", "MB-7"])
SINGLE_TIES = [0.1, 0.1 + 1e-10, 0.1 - 1e-10, 16777216.0, 16777217.0]  # pairs that differ only as doubles
SCORES = st.sampled_from([0.0, -0.0, 1.0, 1.0, 2.0, -3.5, *SINGLE_TIES]) | st.floats(-1e6, 1e6, width=32)
GRADES = st.sampled_from([-2, -1, 0, 0, 0, 1, 1, 2, 3, 4, 12])


@st.composite
def cases(draw, level=1):
    """Return qrels and a run that share at least one query."""
    shared, *others = draw(st.lists(QUERIES, min_size=1, max_size=4, unique=True))
    judged = {shared, *(query for query in others if draw(st.booleans()))}
    answered = {shared, *(query for query in others if draw(st.booleans()))}
    docs = draw(st.lists(DOCS, min_size=1, max_size=16, unique=True))
    qrels = {query: draw(grades_of(docs, level)) for query in sorted(judged)}
    some = st.lists(st.sampled_from(docs), min_size=1, unique=True)
    run = {query: {doc: draw(SCORES) for doc in draw(some)} for query in sorted(answered)}
    return qrels, run


@st.composite
def grades_of(draw, docs, level):
    """Return the grades of one query; one of them at least reaches the level less one (see above)."""
    grades = draw(st.dictionaries(st.sampled_from(docs), GRADES, min_size=1))
    first = min(grades)
    return {**grades, first: max(grades[first], level - 1)}


def their_scores(qrels, run, level):
    return pytrec_eval.RelevanceEvaluator(qrels, ASKED, relevance_level=level).evaluate(run)


def our_scores(qrels, run, level, **policies):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RankscopeWarning)  # of missing queries and ids, which are wanted here
        scores = rs.evaluate(
            qrels, run, [*OURS.values(), *GEOMETRIC], profile="trec_eval-9", min_rel=level, anyway=True, **policies
        )
    return scores["run"]


def differences(case, level=1, **policies):
    """Return (query, measure, theirs, ours) wherever the two disagree."""
    theirs, ours = their_scores(*case, level), our_scores(*case, level, **policies)
    assert set(theirs) == set(ours.query_ids)
    found = [
        (query, name, theirs[query][name], ours[query, measure.name])
        for query in theirs
        for name, measure in OURS.items()
        if not math.isclose(theirs[query][name], ours[query, measure.name], rel_tol=0, abs_tol=1e-12)
    ]
    means = ours.mean()
    for name in GEOMETRIC:
        expected = math.exp(math.fsum(scores[name] for scores in theirs.values()) / len(theirs))
        if not math.isclose(expected, means[rs.parse_measure(name).name].value, abs_tol=1e-12):
            found.append(("all", name, expected, means[rs.parse_measure(name).name].value))
    return found


def test_every_measure_of_pytrec_eval_is_compared():
    compared = {name.split(".")[0] for name in ASKED}
    not_scores = {"runid", "relstring", "num_q"}  # a name, a text, and a count of queries: no scores of a query
    assert compared == pytrec_eval.supported_measures - not_scores


@pytest.mark.usefixtures("engine")
@settings(max_examples=1200)
@given(cases())
def test_equal_to_pytrec_eval(case):
    assert differences(case) == []


@pytest.mark.parametrize("level", [2, 3])
def test_equal_to_pytrec_eval_where_the_relevance_level_is(level):
    @settings(max_examples=600)
    @given(cases(level=level))
    def equal(case):
        assert differences(case, level) == []

    equal()


FIRST_FOUND = settings(phases=[Phase.generate], max_examples=2000)  # one example will do, it need not be small


def test_control_a_wrong_tie_rule_is_caught():
    assert find(cases(), lambda case: differences(case, ties="ascending"), settings=FIRST_FOUND)


def test_control_comparing_scores_in_double_precision_is_caught():
    case = {"q": {"a": 1}}, {"q": {"a": 0.1 + 1e-10, "b": 0.1}}
    assert differences(case) == []
    assert ("q", "recip_rank", 0.5, 1.0) in differences(case, precision="double")


def test_control_a_wrong_relevance_level_is_caught():
    assert find(cases(level=2), lambda case: their_maps(case, 2) != our_maps(case, 1), settings=FIRST_FOUND)
    assert differences(({"q": {"a": 1}}, {"q": {"a": 1.0}}), level=2) == []


def their_maps(case, level):
    return {query: scores["map"] for query, scores in their_scores(*case, level).items()}


def our_maps(case, level):
    ours = our_scores(*case, level)
    return {query: ours[query, "AP"] for query in ours.query_ids}


def test_a_fixed_tie_is_ordered_by_descending_id():
    case = {"q": {"a": 1}}, {"q": {"a": 1.0, "b": 1.0}}
    assert differences(case) == []
    assert ("q", "recip_rank", 0.5, 1.0) in differences(case, ties="ascending")
