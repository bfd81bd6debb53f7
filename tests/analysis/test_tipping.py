"""The tipping point, against hand calculation, and against scoring every draw's qrels by itself."""

import math
from pathlib import Path

import numpy as np
import pytest
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from rankscope.align.alignment import align
from rankscope.align.policies import Policies
from rankscope.align.top import top_docs
from rankscope.analysis.aligned import AlignedRun
from rankscope.analysis.unjudged import tipping
from rankscope.analysis.unjudged.random_judgments import N_DRAWS, RandomJudgments, text_hashes
from rankscope.analysis.unjudged.sampled_scores import SampledHits, SampledPrecisions, SampledSums
from rankscope.analysis.unjudged.tipping import ScoreGap, TippingTable, supports_tipping
from rankscope.data.loading import load_qrels, load_run
from rankscope.data.qrels import Qrels
from rankscope.data.run import Run
from rankscope.errors import InputError, MeasureError
from rankscope.measures.parse import parse_measure
from rankscope.measures.registry import REGISTRY
from rankscope.measures.scoring import score_hits
from rankscope.measures.spec import Measure

COVID = Path(__file__).parents[2].parent / "shared" / "data" / "runs" / "trec-covid-round1"
DOCS = "abcdefgh"
SUMS = [
    "P@3", "P_ret@3", "SetP", "R@2", "R", "R_cap@2", "F(beta=2)@3", "CG@3", "NCG@3", "DCG@3", "nDCG@3", "nDCG",
    "nDCG(gain='exp2')@3", "nDCG(gain='binary')", "nDCG(gain={1: 1, 2: 5})@3", "RBP@3", "RBP(gain='linear')", "MeanGain@3",
]  # fmt: skip
PRECISIONS = ["AP", "AP@3", "AP(norm='min')@2", "AP(rel=2)"]
OTHERS = [
    "RR", "RR@2", "Success@2", "ERR@3", "nERR", "Rprec", "IPrec@0.5", "IPrec11", "Q", "INST", "Compat", "SetF", "SetAP",
    "FirstRel", "MeanRel", "LastRel@3", "NumRelRet@3", "Utility", "BinG", "G", "nDCG_rel", "Rndcg", "P(rel=0)@3",
    "RBP(gain='linear', max_grade='query')", "nDCG(gain={0: 1, 1: 2, 2: 3, 3: 4})@3",
]  # fmt: skip
REFUSED = [
    "Bpref", "infAP", "Judged@5", "Unjudged@5", "NumRet", "NumRel", "NumNonrelRet", "RBP_resid", "ILD@5", "alpha_nDCG@5",
    "nDCG(judged_only=True)@10", "MeanGain(over='judged')",
]  # fmt: skip


class OpenTable(TippingTable):
    def difference_at(self, rate, first, second, *, counted=None, weights=None):
        """Return the first system's lead, better up, if the unjudged docs that it retrieved are relevant at a rate."""
        _, shares = self.queries_of(first, second, counted, weights)
        return ScoreGap(self, first, second, shares).at(rate)


def table(judged, runs, measure, *, seed=0, means=None, **policies):
    qrels, decided = Qrels(judged), Policies(**policies)
    named = {name: Run(run, name=name) for name, run in runs.items()}
    aligned = {name: AlignedRun.of(qrels, run, decided) for name, run in named.items()}
    return OpenTable(qrels, aligned, parse_measure(measure), decided, seed=seed, means=means)


@st.composite
def cases(draw, *, n_queries=3, n_systems=2):
    """Runs and qrels for a few queries, each with at least one doc that some system retrieved and nobody judged."""
    top = draw(st.integers(1, 3))
    judged, runs = {"z": {"a": top}}, {f"s{i}": {"z": ["a"]} for i in range(n_systems)}
    for query in "pqrst"[:n_queries]:
        for run in runs.values():
            run[query] = draw(st.permutations(DOCS))[: draw(st.integers(1, len(DOCS)))]
        pool = draw(st.sets(st.sampled_from(DOCS), max_size=6))
        judged[query] = {doc: draw(st.integers(-1, top)) for doc in sorted(pool)} | {"other": draw(st.integers(0, top))}
    return judged, runs


def drawn_qrels(judged, runs, receiver, *, k, rate, seed=0, relevant=lambda grade: grade > 0):
    """Yield the qrels of every draw: unjudged docs of one system, down to rank k, are relevant at a rate."""
    grades = [grade for docs in judged.values() for grade in docs.values() if grade >= 0 and relevant(grade)]
    draws = RandomJudgments(seed=seed, grades=np.array(grades, dtype=float))
    chosen = {
        query: [doc for doc in docs[:k] if judged[query].get(doc, -1) < 0]
        for query, docs in runs[receiver].items()
        if query in judged
    }
    numbers = {}
    for query, docs in chosen.items():
        keys = draws.keys([query], np.zeros(len(docs), dtype=int), docs)
        numbers |= {
            (query, doc): (chances, draws.grades[picks])
            for doc, chances, picks in zip(docs, draws.chances(keys), draws.picks(keys), strict=True)
        }
    for i in range(N_DRAWS):
        more = {query: dict(docs) for query, docs in judged.items()}
        for (query, doc), (chances, picked) in numbers.items():
            if chances[i] < rate:
                more[query][doc] = int(picked[i])
        yield more


def by_scoring_each_draw(judged, runs, first, second, measure, *, rate):
    """Return what `difference_at` should, by aligning and scoring both runs on the qrels of every draw."""
    wanted, policies = parse_measure(measure), Policies()
    given_args = wanted.arguments(rel=1.0)

    def relevant(grade):
        return bool(tipping.is_relevant(np.array([float(grade)]), given_args)[0])

    def scores(qrels, name):
        hits = align(Qrels(qrels), Run(runs[name]), policies)
        return score_hits(hits, [wanted], policies)[0][:, 0]

    counted = ~np.isnan(scores(judged, first) + scores(judged, second))
    means = [
        (np.nan_to_num(scores(qrels, first)) - np.nan_to_num(scores(qrels, second)))[counted].mean()
        for qrels in drawn_qrels(judged, runs, first, k=given_args.get("k"), rate=rate, relevant=relevant)
    ]
    return float(np.mean(means)) * (-1 if wanted.spec.better == "lower" else 1)


@pytest.mark.parametrize("measure", [*SUMS, *PRECISIONS, *OTHERS])
@settings(max_examples=8, deadline=None)
@given(case=cases(), rate=st.sampled_from([0.0, 0.2, 0.5, 1.0]))
def test_equal_to_scoring_each_draw(measure, case, rate):
    judged, runs = case
    level = parse_measure(measure).arguments(rel=1.0).get("rel") or 1
    judged["z"]["a"] = max(judged["z"]["a"], level)  # so that some doc is relevant
    found = table(judged, runs, measure)
    if not (~np.isnan(found.scores["s0"] + found.scores["s1"])).any():
        return
    expected = by_scoring_each_draw(judged, runs, "s0", "s1", measure, rate=rate)
    assert found.difference_at(rate, "s0", "s1") == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("measure", [*SUMS, *PRECISIONS])
@settings(max_examples=15, deadline=None)
@given(case=cases(n_queries=5), rate=st.floats(0, 1))
def test_fast_ways_are_equal_to_the_general_one(measure, case, rate):
    fast, general = (table(*case, measure) for _ in range(2))
    assert isinstance(fast.sampled, SampledPrecisions if measure.startswith("AP") else SampledSums)
    general.sampled = SampledHits(parse_measure(measure), Policies(), general.ideal, general.judgments.grades)
    for pair in (("s0", "s1"), ("s1", "s0")):
        assert fast.difference_at(rate, *pair) == pytest.approx(general.difference_at(rate, *pair), abs=1e-12)


PYTREC = {"nDCG@3": "ndcg_cut_3", "nDCG": "ndcg", "AP": "map", "AP@3": "map_cut_3", "P@3": "P_3", "R@3": "recall_3"}


def by_pytrec_eval(judged, runs, first, second, name, *, rate, k, queries):
    """Return the mean difference over all draws, scored by pytrec_eval."""
    lists = {
        system: {query: {doc: float(-rank) for rank, doc in enumerate(docs)} for query, docs in runs[system].items()}
        for system in (first, second)
    }
    differences = []
    for qrels in drawn_qrels(judged, runs, first, k=k, rate=rate):
        evaluator = pytrec_eval.RelevanceEvaluator(qrels, {name.replace("_3", ".3").replace("_10", ".10")})
        a, b = (evaluator.evaluate(lists[system]) for system in (first, second))
        differences.append(np.mean([a[query][name] - b[query][name] for query in queries]))
    return float(np.mean(differences))


@pytest.mark.parametrize("measure", PYTREC)
@settings(max_examples=20, deadline=None)
@given(case=cases(), rate=st.floats(0, 1))
def test_equal_to_pytrec_eval(measure, case, rate):
    judged, runs = case
    k = parse_measure(measure).options.get("k")
    expected = by_pytrec_eval(judged, runs, "s0", "s1", PYTREC[measure], rate=rate, k=k, queries=judged)
    assert table(judged, runs, measure).difference_at(rate, "s0", "s1") == pytest.approx(expected, abs=1e-12)


def test_what_becomes_of_a_difference_by_hand():
    judged = {"q": {"a": 1, "n": 0}}

    def at_every_doc_relevant(first, second, measure):
        return table(judged, {"first": {"q": first}, "second": {"q": second}}, measure).difference_at(
            1.0, "first", "second"
        )

    # u becomes relevant; v, which only the second has, does not: 1/2 each
    assert at_every_doc_relevant(["u", "n"], ["v", "a"], "P@2") == 0
    # a doc that both have is relevant for both: 1/2 - 2/2
    assert at_every_doc_relevant(["u", "n"], ["a", "u"], "P@2") == -0.5
    # only the first two ranks are looked at, so that w counts for nobody
    assert at_every_doc_relevant(["n", "u", "w"], ["w", "a", "u"], "P@2") == 0
    # two docs are relevant now, and each finds one of them
    assert at_every_doc_relevant(["u"], ["a"], "R") == 0
    # the ideal holds u as well: 1 + 1/log2(3); the first has u at rank 2, the second a at rank 1
    ideal = 1 + 1 / math.log2(3)
    assert at_every_doc_relevant(["n", "u"], ["a", "n"], "nDCG@2") == pytest.approx((1 / math.log2(3) - 1) / ideal)
    # relevant at ranks 1 and 3 of the first, 1/1 and 2/3; of the second at ranks 1 and 2; u and v make three relevant docs
    assert at_every_doc_relevant(["u", "n", "v"], ["a", "v"], "AP") == pytest.approx((1 + 2 / 3) / 3 - 2 / 3)
    # the first relevant doc is at rank 2 now, at rank 1 of the other: lower is better
    assert at_every_doc_relevant(["n", "u", "a"], ["a"], "FirstRel") == -1


def test_a_tipping_point_by_hand():
    # P@1 differs by 1 in each draw in which u is not relevant, so the gap is closed when u is relevant in all of them
    found = table({"q": {"a": 1}}, {"low": {"q": ["u"]}, "high": {"q": ["a"]}}, "P@1")
    check = found.check("low", "high")
    draws = RandomJudgments(seed=0, grades=np.array([1.0]))
    last = draws.chances(draws.keys(["q"], np.array([0]), ["u"])).max()
    assert (check.behind, check.ahead, check.difference, check.n_unjudged) == ("low", "high", -1, 1)
    assert (check.judged_relevant, check.n_judged, check.from_all_systems) == (1, 1, True)
    assert check.r95 == 1
    assert check.strength == "stands"
    assert last > 0.8
    assert last < found.point(check) <= last + 1e-4


def test_no_share_of_relevant_docs_may_do():
    judged = {"q": {"a": 1, "b": 1, "n": 0}}
    found = table(judged, {"low": {"q": ["u", "n"]}, "high": {"q": ["a", "b"]}}, "P@2")
    check = found.check("high", "low")
    assert (check.behind, check.strength, check.n_unjudged) == ("low", "stands", 1)
    assert found.point(check) is None


def test_nothing_is_unjudged():
    found = table({"q": {"a": 1, "n": 0}}, {"low": {"q": ["n"]}, "high": {"q": ["a", "x"]}}, "P@1")
    check = found.check("low", "high")
    assert (check.n_unjudged, check.strength, found.point(check)) == (0, "stands", None)


N = 2_000


def shares_at_first_rank(n_judged, n_relevant, n_other_relevant):
    """Return two systems with one doc per query: of the first only some are judged, of the second all are."""
    judged, low, high = {}, {}, {}
    for i in range(N):
        query = f"q{i}"
        low[query], high[query] = [f"l{i}"], [f"h{i}"]
        judged[query] = {f"h{i}": int(i < n_other_relevant)}
        if i < n_judged:
            judged[query][f"l{i}"] = int(i < n_relevant)
    return judged, {"low": low, "high": high}


@pytest.mark.parametrize(
    ("n_other_relevant", "strength"),
    # 84 of 200 judged docs are relevant, r95 = 0.478; the rest has to bring (n_other_relevant - 84) of 1,800
    [(984, "stands"), (687, "cautious"), (500, "not_safe")],
)
def test_many_docs_tip_where_arithmetic_says(n_other_relevant, strength):
    found = table(*shares_at_first_rank(200, 84, n_other_relevant), "P@1")
    check = found.check("low", "high")
    expected = (n_other_relevant - 84) / 1_800
    error = math.sqrt(expected * (1 - expected) / (1_800 * N_DRAWS))
    assert (check.behind, check.n_unjudged, check.n_judged, check.from_all_systems) == ("low", 1_800, 200, False)
    assert check.difference == pytest.approx((84 - n_other_relevant) / N)
    assert check.judged_relevant == 0.42
    assert check.r95 == pytest.approx(scipy_upper(84, 200), abs=1e-4)
    assert check.strength == strength
    assert found.point(check) == pytest.approx(expected, abs=4 * error + 1e-4)


def scipy_upper(n_good, n):
    """Return the upper one-sided 95 % Wilson limit."""
    return scipy_stats.binomtest(n_good, n, alternative="less").proportion_ci(0.95, method="wilson").high


def test_too_few_judged_docs_are_replaced_by_those_of_all_systems():
    found = table(*shares_at_first_rank(19, 19, 600), "P@1")
    check = found.check("low", "high")
    assert (check.from_all_systems, check.n_judged) == (True, N + 19)
    assert check.judged_relevant == pytest.approx(619 / 2_019)
    assert check.r95 == pytest.approx(scipy_upper(619, 2_019), abs=1e-4)
    assert not table(*shares_at_first_rank(20, 20, 600), "P@1").check("low", "high").from_all_systems


def test_only_judged_docs_that_the_measure_sees_make_the_share():
    judged = {f"q{i}": {"a": 2, "b": 1, "n": 0} for i in range(30)}
    low = {query: ["b", "u", "a"] for query in judged}
    high = {query: ["a", "n", "b"] for query in judged}
    by_gain = table(judged, {"low": low, "high": high}, "nDCG@2").check("low", "high")
    assert (by_gain.judged_relevant, by_gain.n_judged) == (1, 30)
    strict = table(judged, {"low": low, "high": high}, "P@2", min_rel=2).check("low", "high")
    assert (strict.judged_relevant, strict.n_judged) == (0, 30)
    some = np.arange(30) < 25
    assert table(judged, {"low": low, "high": high}, "P@2", min_rel=2).check("low", "high", counted=some).n_judged == 25
    shallow = table(judged, {"low": low, "high": high}, "nDCG", depth=1).check("low", "high")
    assert (shallow.n_unjudged, shallow.n_judged) == (0, 30)


def test_equal_systems_are_not_behind():
    runs = {"a": {"p": ["x", "u"], "q": ["n"]}, "b": {"p": ["n", "v"], "q": ["x"]}}
    found = table({"p": {"x": 1, "n": 0}, "q": {"x": 1, "n": 0}}, runs, "P@1")
    assert found.check("a", "b") is None
    assert found.check("a", "b", counted=np.array([True, False])).behind == "b"
    assert found.check("a", "b", counted=np.array([False, True])).behind == "a"
    assert found.check("a", "b", counted=np.array([False, False])) is None
    assert found.check("a", "b", weights=np.array([1.0, 3.0])).difference == -0.5


def test_weights_and_queries_that_do_not_count():
    judged = {"p": {"x": 1, "n": 0}, "q": {"x": 1, "n": 0}, "r": {"x": 1, "n": 0}}
    runs = {"low": {"p": ["u"], "q": ["n"], "r": ["v"]}, "high": {"p": ["x"], "q": ["x"], "r": ["n"]}}
    found = table(judged, runs, "P@1")
    counted = np.array([True, True, False])
    # u is relevant for p, where the difference becomes 0; that of q stays
    assert found.difference_at(1.0, "low", "high", counted=counted) == -0.5
    weights = np.array([3.0, 1.0, 9.0])
    assert found.difference_at(1.0, "low", "high", counted=counted, weights=weights) == -0.25
    assert found.difference_at(0.0, "low", "high", counted=counted, weights=weights) == -1
    check = found.check("low", "high", counted=counted, weights=weights)
    assert (check.difference, check.n_unjudged) == (-1, 1)
    assert found.point(check, counted=counted, weights=weights) is None
    assert found.check("low", "high", counted=counted, weights=np.array([0.0, 1.0, 1.0])).n_unjudged == 0
    with pytest.raises(InputError, match="2 values are given for 3 queries"):
        found.check("low", "high", counted=np.array([True, False]))


def test_two_systems_may_stay_the_same():
    judged = {f"q{i}": {"x": 1, "n": 0} for i in range(50)}
    runs = {"a": {query: ["x", "n"] for query in judged}, "b": {query: ["x", "v"] for query in judged}}
    found = table(judged, runs, "P@2")
    # 50 of 100 judged docs of a are relevant, 50 of 50 of b: 0.8 of all v, so the difference becomes 0.8/2
    same = found.same_holds("a", "b", 0.5)
    assert (same.first_gains, same.holds) == (0, True)
    assert same.second_gains == pytest.approx(0.4, abs=4 * math.sqrt(0.8 * 0.2 / (50 * N_DRAWS)) / 2)
    assert not found.same_holds("a", "b", 0.3).holds
    turned = found.same_holds("b", "a", 0.3)
    assert (turned.first_gains, turned.holds) == (-same.second_gains, False)
    assert found.same_holds("a", "b", abs(same.second_gains)).holds


@pytest.mark.parametrize("measure", ["P@3", "nDCG@3", "AP", "RR", "FirstRel", "ERR@3"])
@settings(max_examples=40, deadline=None)
@given(case=cases(n_queries=4))
def test_the_point_agrees_with_the_check(measure, case):
    found = table(*case, measure)
    check = found.check("s0", "s1")
    if check is None:
        return
    point = found.point(check)
    gap = [found.difference_at(share * check.r95, check.behind, check.ahead) for share in (0.6, 0.8)]
    closed = [each >= -1e-12 for each in gap]
    if check.strength == "stands":
        assert not closed[1]
        assert point is None or point > 0.8 * check.r95
    elif check.strength == "cautious":
        assert closed == [False, True]
        assert 0.6 * check.r95 < point <= 0.8 * check.r95
    else:
        assert closed == [True, True]
        assert 0 < point <= 0.6 * check.r95
    if point is not None:
        assert found.difference_at(point, check.behind, check.ahead) >= -1e-12
    assert check.difference == pytest.approx(found.difference_at(0.0, check.behind, check.ahead), abs=1e-12)


@settings(max_examples=40, deadline=None)
@given(case=cases(n_systems=4), measure=st.sampled_from(["nDCG@3", "AP", "RR@3"]))
def test_pairs_do_not_depend_on_order_or_on_other_systems(case, measure):
    judged, runs = case
    alone = table(judged, {name: runs[name] for name in ("s0", "s1")}, measure)
    turned = table(judged, dict(reversed(runs.items())), measure)
    turned.check("s3", "s2")
    both = alone.check("s0", "s1"), turned.check("s1", "s0")
    if both[0] is None:
        assert both[1] is None
        return
    assert (both[0].behind, both[0].n_unjudged) == (both[1].behind, both[1].n_unjudged)
    for rate in (0.1, 0.5, 1.0):
        first, second = (each.difference_at(rate, both[0].behind, both[0].ahead) for each in (alone, turned))
        assert first == second


@settings(max_examples=40, deadline=None)
@given(case=cases(), measure=st.sampled_from(["nDCG@3", "AP", "RR", "P@3"]), rate=st.floats(0, 1))
def test_unjudged_docs_that_only_the_leader_has_stay_as_they_are(case, measure, rate):
    judged, runs = case
    others = {
        query: [
            doc if doc in runs["s0"][query] or judged[query].get(doc, -1) >= 0 else f"{doc} of s1 alone" for doc in docs
        ]
        for query, docs in runs["s1"].items()
    }
    found = [table(judged, {**runs, "s1": of_s1}, measure) for of_s1 in (runs["s1"], others)]
    assert found[0].difference_at(rate, "s0", "s1") == found[1].difference_at(rate, "s0", "s1")


@settings(max_examples=40, deadline=None)
@given(case=cases(), rates=st.tuples(st.floats(0, 1), st.floats(0, 1)))
def test_precision_never_falls_with_the_rate(case, rates):
    found = table(*case, "P@3")
    low, high = (found.difference_at(rate, "s0", "s1") for rate in sorted(rates))
    assert low <= high + 1e-15


@settings(max_examples=20, deadline=None)
@given(case=cases(n_queries=5), measure=st.sampled_from(["nDCG@3", "AP", "RR", "ERR"]))
def test_a_few_queries_at_a_time(case, measure):
    found = table(*case, measure)
    whole = [found.difference_at(rate, "s0", "s1") for rate in (0.2, 0.9)]
    n_only = ScoreGap(found, "s0", "s1", np.full(6, 1 / 6)).n_only_first
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tipping, "CELLS", 100)
        gap = ScoreGap(found, "s0", "s1", np.full(6, 1 / 6))
        pieces = [gap.at(rate) for rate in (0.2, 0.9)]
        assert gap.n_only_first == n_only
        assert len(gap.spans) > 1 or found.docs_of("s0").unjudged.counts.sum() * N_DRAWS < 100
    assert pieces == pytest.approx(whole, abs=1e-14)


def test_queries_that_one_system_does_not_answer():
    judged = {"p": {"x": 1, "n": 0}, "q": {"x": 1, "n": 0}, "r": {"x": 1, "n": 0}}
    runs = {"a": {"p": ["u"], "r": ["u", "x"]}, "b": {"q": ["x"], "r": ["x"]}}
    skipped = table(judged, runs, "P@1", missing="skip")
    assert (skipped.check("a", "b").difference, skipped.check("a", "b").n_unjudged) == (-1, 1)
    assert skipped.difference_at(1.0, "a", "b") == 0
    zero = table(judged, runs, "P@1")
    assert zero.check("a", "b").difference == pytest.approx(-2 / 3)
    assert zero.difference_at(1.0, "a", "b") == 0  # u for p and r, and nothing for q


def test_docs_that_were_pooled_but_not_judged_are_in_doubt():
    found = table({"q": {"a": 1, "u": -1}}, {"low": {"q": ["u"]}, "high": {"q": ["a"]}}, "RR")
    assert (found.check("low", "high").n_unjudged, found.difference_at(1.0, "low", "high")) == (1, 0)


def test_no_judged_doc_is_relevant():
    # utility: 1 - 1 of 2 docs against -1; u and v become relevant with the lowest grade there could be
    found = table({"q": {"n": 0}}, {"low": {"q": ["u", "v"]}, "high": {"q": ["n"]}}, "Utility")
    assert found.check("low", "high").difference == -1
    assert found.difference_at(1.0, "low", "high") == 3
    graded = table({"q": {"n": 0}}, {"low": {"q": ["u"]}, "high": {"q": ["n"]}}, "ERR")
    assert graded.difference_at(1.0, "low", "high") == 0.5  # a doc of grade 1 on a scale up to 1


def test_grades_that_are_fractions():
    judged = {"q": {f"d{i}": i / 40 for i in range(40)}}
    runs = {"low": {"q": ["u"]}, "high": {"q": ["d39"]}}
    found = table(judged, runs, "nDCG@1")
    assert isinstance(found.sampled, SampledHits)
    # grades drawn from 1/40 … 39/40, of which 39/40 is the ideal: on average 1/2 over 39/40
    mean = np.mean([table(judged, runs, "nDCG@1", seed=seed).difference_at(1.0, "low", "high") for seed in range(100)])
    spread = math.sqrt((38 * 40 / 12) / 39**2 / (100 * N_DRAWS))
    assert mean == pytest.approx(20 / 39 - 1, abs=4 * spread)


def test_another_seed_draws_otherwise():
    judged, runs = {"q": {"a": 1}}, {"low": {"q": ["u"]}, "high": {"q": ["a"]}}
    at_half = {table(judged, runs, "P@1", seed=seed).difference_at(0.5, "low", "high") for seed in range(5)}
    assert len(at_half) > 1


def test_draws_are_even_and_independent():
    draws = RandomJudgments(seed=0, grades=np.array([1.0, 2.0, 2.0, 2.0]))
    docs = [f"doc{i}" for i in range(2_000)]
    keys = draws.keys(["q1", "q2"], np.repeat([0, 1], 1_000), docs)
    chances, picks = draws.chances(keys), draws.picks(keys)
    assert scipy_stats.kstest(chances.ravel(), "uniform").pvalue > 0.001
    assert scipy_stats.chisquare(np.bincount(picks.ravel(), minlength=4)).pvalue > 0.001
    correlations = np.corrcoef(np.hstack([chances, picks]).T)[np.triu_indices(2 * N_DRAWS, 1)]
    assert np.abs(correlations).max() < 5 / math.sqrt(len(docs))
    assert np.mean(draws.grades[picks]) == pytest.approx(1.75, abs=4 * math.sqrt(3 / 16 / picks.size))


def test_draws_depend_on_query_and_doc_alone():
    draws = RandomJudgments(seed=0, grades=np.array([1.0]))
    both = draws.keys(["q1", "q2"], np.array([0, 1, 1]), ["d", "d", "é\ud800"])
    assert draws.keys(["q2"], np.array([0, 0]), ["é\ud800", "d"]).tolist() == [both[2], both[1]]
    assert len(set(both.tolist())) == 3


def test_texts_that_look_alike_have_hashes_of_their_own():
    texts = [*map(str, range(100_000)), "", "\0", "\0\0", "a", "a\0", "\0a"]
    assert len(set(text_hashes(texts).tolist())) == len(texts)
    assert text_hashes(["a", "bc"]).tolist() == [text_hashes([text])[0] for text in ("a", "bc")]
    # "a" is character 97, the end of a text 0: 98 b + b² for the base b, less whole multiples of 2^64
    base = 0x9E3779B97F4A7C15
    assert int(text_hashes(["a"])[0]) == (98 * base + base**2) % 2**64


def test_hits_of_another_run_are_refused():
    qrels, policies, measure = Qrels({"q": {"a": 1}}), Policies(), parse_measure("P@3")
    runs = {"a": Run({"q": ["x", "y"]}), "b": Run({"q": ["a"]})}
    hits = align(qrels, Run({"q": ["x", "a", "y"]}), policies)
    aligned = {name: AlignedRun(run, hits, policies) for name, run in runs.items()}
    with pytest.raises(InputError, match="do not belong"):
        OpenTable(qrels, aligned, measure, policies).difference_at(1.0, "a", "b")


def test_which_measures_are_supported():
    for measure in [*SUMS, *PRECISIONS, *OTHERS]:
        assert supports_tipping(parse_measure(measure), Policies())
    for measure in REFUSED:
        assert not supports_tipping(parse_measure(measure), Policies())
    assert not supports_tipping(parse_measure("P@5"), Policies(judged_only=True))
    with pytest.raises(MeasureError, match="cannot be worked out"):
        table({"q": {"a": 1}}, {"s0": {"q": ["a"]}, "s1": {"q": ["a"]}}, "Bpref")


def test_every_measure_that_is_supported_is_compared_above():
    named = {parse_measure(measure).base for measure in [*SUMS, *PRECISIONS, *OTHERS]}
    supported = {
        name
        for name, spec in REGISTRY.items()
        if supports_tipping(Measure(name, (("k", 5),) if "k" in spec.parameters else ()), Policies())
    }
    assert supported - named <= {"SetR", "SetRelP"}


@pytest.fixture(scope="module")
def covid():
    """The judgments of the pool that five of the runs would have made, and the docs of some runs."""
    if not COVID.is_dir():
        pytest.skip("the shared data folder is not beside the checkout")
    qrels, policies = load_qrels(COVID / "qrels.trec.gz"), Policies(depth=100)
    names = sorted(path.stem for path in (COVID / "runs").iterdir())[:10]
    lists = {
        name: dict(
            zip(
                qrels.query_ids,
                map(list, top_docs(load_run(COVID / "runs" / f"{name}.gz"), qrels.query_ids, policies, depth=100).docs),
                strict=True,
            )
        )
        for name in names
    }
    judged = {
        query: {doc: int(docs.get(doc, 0)) for name in names[:5] for doc in lists[name][query][:10]}
        for query, docs in qrels.judged.items()
    }
    return judged, lists


@pytest.mark.parametrize(
    ("measure", "name", "k"), [("nDCG@10", "ndcg_cut_10", 10), ("P@10", "P_10", 10), ("AP", "map", None)]
)
def test_real_runs_equal_pytrec_eval(covid, measure, name, k):
    judged, lists = covid
    first, *_, second = lists
    pair = {system: lists[system] for system in (second, first)}
    found = table(judged, pair, measure)
    for rate in (0.1, 0.4):
        expected = by_pytrec_eval(judged, pair, second, first, name, rate=rate, k=k, queries=judged)
        assert found.difference_at(rate, second, first) == pytest.approx(expected, abs=1e-12)


def test_runs_outside_the_pool_are_the_ones_in_doubt(covid):
    judged, lists = covid
    found = table(judged, lists, "nDCG@10")
    names = list(lists)
    inside = [found.check(a, b) for i, a in enumerate(names[:5]) for b in names[:i]]
    outside = [check for a in names[5:] for b in names[:5] if (check := found.check(a, b)).behind == a]
    assert {check.n_unjudged for check in inside} == {0}
    assert {check.strength for check in inside} == {"stands"}
    assert all(check.n_unjudged > 0 for check in outside)
    assert "not_safe" in {check.strength for check in outside}


def test_of_several_runs_the_difference_is_that_of_their_means_and_moves_as_the_first_does():
    """P@2 of A is 1/2; of B 0 in the first run, which has one unjudged doc, and 3/4 on average over all runs."""
    judged = {"q": {"a": 1, "b": 0}}
    runs = {"A": {"q": ["a", "b"]}, "B": {"q": ["b", "unjudged"]}}
    first = table(judged, runs, "P@2")
    assert (first.check("A", "B").behind, first.check("A", "B").difference) == ("B", -1 / 2)
    over_runs = table(judged, runs, "P@2", means={"B": np.array([3 / 4])})
    assert (over_runs.check("A", "B").behind, over_runs.check("A", "B").difference) == ("A", -1 / 4)
    assert over_runs.difference_at(0.0, "B", "A") == pytest.approx(1 / 4)
    assert over_runs.difference_at(1.0, "B", "A") == pytest.approx(1 / 4 + 1 / 2), "the unjudged doc adds 1/2"
    assert first.difference_at(1.0, "B", "A") == pytest.approx(-1 / 2 + 1 / 2)


def test_of_several_runs_lower_may_be_better():
    """FirstRel: rank 2 of A in all runs; rank 1 of B in its first run, 3 on average."""
    judged = {"q": {"a": 1, "b": 0}}
    runs = {"A": {"q": ["b", "a"]}, "B": {"q": ["a", "b"]}}
    over_runs = table(judged, runs, "FirstRel", means={"A": np.array([2.0]), "B": np.array([3.0])})
    assert (over_runs.check("A", "B").behind, over_runs.check("A", "B").difference) == ("B", -1.0)
