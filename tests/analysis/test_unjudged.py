"""Bounds over all grades that unjudged docs could get, against trying every one of these."""

import itertools
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import rankscope
from rankscope.align.alignment import align
from rankscope.align.policies import Policies
from rankscope.analysis import unjudged
from rankscope.analysis.aligned import AlignedRun
from rankscope.analysis.unjudged import straddles_zero, supports, unjudged_effect_of
from rankscope.data.loading import load_qrels, load_run
from rankscope.data.qrels import Qrels
from rankscope.data.run import Run
from rankscope.errors import MeasureError
from rankscope.measures.parse import parse_measure
from rankscope.measures.scoring import score_hits

SUMS = [
    "P@3",
    "P_ret@3",
    "SetP",
    "CG@3",
    "DCG@3",
    "DCG(gain='exp2')",
    "RBP@3",
    "RBP(p=0.5, gain='linear')",
    "MeanGain@3",
]
QUOTIENTS = [
    "R@2", "R", "SetR", "R_cap@2", "F@3", "F(beta=2)@2", "NCG@3", "nDCG@3", "nDCG", "nDCG(gain='exp2')@3",
    "nDCG(gain='binary')@2", "nDCG(gain={1: 1, 2: 5})@3",
]  # fmt: skip
FIRST = ["RR", "RR@2", "Success@2"]
PRECISION = ["AP", "AP@3", "AP(norm='min')@2"]
DOCS = "abcdef"


@st.composite
def lists(draw, *, docs=DOCS, least=0):
    order = draw(st.permutations(docs))
    return order[: draw(st.integers(least, len(docs)))]


@st.composite
def cases(draw, *, n_queries=2, n_in_doubt=4):
    """Two runs and qrels for a few queries; one more query makes sure that the top grade is there."""
    top = draw(st.integers(1, 3))
    judged, run_a, run_b = {"z": {"a": top}}, {"z": ["a"]}, {"z": ["a"]}
    for query in "pqrs"[:n_queries]:
        run_a[query], run_b[query] = draw(lists(least=1)), draw(lists(least=1))
        retrieved = dict.fromkeys([*run_a[query], *run_b[query]])
        keep = set(draw(st.permutations(list(retrieved)))[:n_in_doubt])
        grades = st.integers(-1, top)
        judged[query] = {doc: draw(grades) for doc in DOCS if doc not in keep and draw(st.booleans())}
        judged[query] |= {doc: draw(st.integers(0, top)) for doc in retrieved if doc not in keep}
        judged[query].setdefault("other", draw(st.integers(0, top)))
    return judged, run_a, run_b


def effect_of(qrels, run_a, run_b, measure, policies):
    aligned = (AlignedRun.of(qrels, run, policies) for run in (run_a, run_b))
    return unjudged_effect_of(qrels, *aligned, measure, policies)


def effect(judged, run_a, run_b, measure, **policies):
    return effect_of(Qrels(judged), Run(run_a), Run(run_b), parse_measure(measure), Policies(**policies))


def differences(judged, run_a, run_b, measure, **policies):
    """Return the difference of every query, by evaluating both runs."""
    wanted, decided = parse_measure(measure), Policies(**policies)
    a, b = (score_hits(align(Qrels(judged), Run(run), decided), [wanted], decided)[0][:, 0] for run in (run_a, run_b))
    return b - a


def in_doubt(judged, run_a, run_b, k):
    """Return every query and doc of the first k ranks that nobody judged."""
    return [
        (query, doc)
        for query in run_a
        for doc in dict.fromkeys([*run_a[query][:k], *run_b[query][:k]])
        if judged[query].get(doc, -1) < 0
    ]


def graded(judged, docs, grades):
    """Return the qrels with some more judgments."""
    more = {query: dict(of_query) for query, of_query in judged.items()}
    for (query, doc), grade in zip(docs, grades, strict=True):
        more[query][doc] = grade
    return more


def by_trying(judged, run_a, run_b, measure):
    """Return the differences of every query for all grades of its docs in doubt."""
    k = parse_measure(measure).options.get("k")
    top = max(max(docs.values()) for docs in judged.values())
    return {query: tried(query, judged[query], run_a[query], run_b[query], measure, k=k, top=top) for query in judged}


def tried(query, judged, docs_a, docs_b, measure, *, k, top):
    """Return one query's differences for all grades; each way to grade the docs is evaluated as a query of its own."""
    docs = [doc for _, doc in in_doubt({query: judged}, {query: docs_a}, {query: docs_b}, k)]
    ways = list(itertools.product(range(top + 1), repeat=len(docs)))
    copies = {f"{query}{i}": {**judged, **dict(zip(docs, grades, strict=True))} for i, grades in enumerate(ways)}
    found = differences(
        {**copies, "z": {"top": top}}, {**dict.fromkeys(copies, docs_a), "z": []}, {**dict.fromkeys(copies, docs_b), "z": []},
        measure,
    )  # fmt: skip
    return found[:-1]


@pytest.mark.parametrize("measure", [*SUMS, *QUOTIENTS, *FIRST])
@settings(max_examples=15, deadline=None)
@given(case=cases())
def test_bounds_are_what_trying_all_grades_finds(measure, case):
    found = effect(*case, measure)
    reached = by_trying(*case, measure)
    low, high = ([pick(reached[query]) for query in found.query_ids] for pick in (min, max))
    assert found.exact
    assert found.query_low == pytest.approx(low, abs=1e-9)
    assert found.query_high == pytest.approx(high, abs=1e-9)
    assert (found.low, found.high) == pytest.approx((np.mean(low), np.mean(high)), abs=1e-9)


@pytest.mark.parametrize("measure", PRECISION)
@settings(max_examples=40, deadline=None)
@given(case=cases())
def test_bounds_of_average_precision_hold_whatever_the_grades(measure, case):
    found = effect(*case, measure)
    reached = by_trying(*case, measure)
    for query, low, high in zip(found.query_ids, found.query_low, found.query_high, strict=True):
        assert low <= min(reached[query]) + 1e-9
        assert high >= max(reached[query]) - 1e-9


@pytest.mark.parametrize("measure", ["nDCG@3", "nDCG", "RR", "P@3", *PRECISION])
@settings(max_examples=10, deadline=None)
@given(case=cases(n_queries=4))
def test_docs_in_several_blocks_have_the_bounds_that_trying_all_grades_finds(measure, case):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(unjudged, "DOCS_AT_ONCE", 3)
        found = effect(*case, measure)
    reached = by_trying(*case, measure)
    low, high = ([pick(reached[query]) for query in found.query_ids] for pick in (min, max))
    if found.exact:
        assert found.query_low == pytest.approx(low, abs=1e-9)
        assert found.query_high == pytest.approx(high, abs=1e-9)
    assert (found.query_low <= np.array(low) + 1e-9).all()
    assert (found.query_high >= np.array(high) - 1e-9).all()
    assert found.n_unjudged == len(in_doubt(*case, parse_measure(measure).options.get("k")))


def test_limits_of_average_precision_are_those_of_all_queries_together(monkeypatch):
    """Of long lists no pairs are looked at, nor of others in their batch: blocks must not change which these are."""
    run_a, run_b = {}, {}
    for i in range(12):
        docs = [f"d{j}" for j in range(3 + i)]
        run_a[f"q{i}"], run_b[f"q{i}"] = [*docs, "a"], ["a", *docs[::-1]]
    judged = {query: {"a": 1, "other": 1} for query in run_a}
    for name, value in (("LONGEST_FOR_PAIRS", 8), ("_BATCH_CELLS", 100)):
        monkeypatch.setattr(f"rankscope.analysis.unjudged.average_precision.{name}", value)
    monkeypatch.setattr(unjudged, "LONGEST_FOR_PAIRS", 8)
    whole = effect(judged, run_a, run_b, "AP")
    for size in (1, 10, 40):
        monkeypatch.setattr(unjudged, "DOCS_AT_ONCE", size)
        found = effect(judged, run_a, run_b, "AP")
        assert found.query_low == pytest.approx(whole.query_low, abs=1e-12)
        assert found.query_high == pytest.approx(whole.query_high, abs=1e-12)
        assert [(doc.query, doc.doc) for doc in found.docs()] == [(doc.query, doc.doc) for doc in whole.docs()]


@pytest.mark.parametrize("at_once", [1, 5, 1000])
def test_the_first_docs_to_judge_are_kept(monkeypatch, at_once):
    """P@1: q0 to q5 swing by 1/6 each; with most_docs, the rest are counted and left out."""
    judged = {f"q{i}": {"a": 1, "b": 0} for i in range(6)}
    run_a, run_b = ({query: [doc] for query in judged} for doc in ("x", "y"))
    monkeypatch.setattr(unjudged, "DOCS_AT_ONCE", at_once)
    aligned = [AlignedRun.of(Qrels(judged), Run(run), Policies()) for run in (run_a, run_b)]
    found = unjudged_effect_of(Qrels(judged), *aligned, parse_measure("P@1"), Policies(), most_docs=3)
    # a difference of 0 counts as a lead of the second: what helps the first comes first, in the order of the queries
    assert [(doc.query, doc.doc, doc.rank_a, doc.rank_b) for doc in found.docs()] == [
        (f"q{i}", "x", 1, None) for i in range(3)
    ]
    assert [doc.swing for doc in found.docs()] == pytest.approx([-1 / 6] * 3)
    assert (found.n_useful, found.n_certain) == (12, 12)


def test_a_grade_in_between_can_be_the_best():
    # o is worth 3 but not found; r is worth 1, at rank 1 of B; u stands at rank 6 of A and rank 3 of B
    judged = {"q": {"o": 3, "r": 1, "m": 0, "n": 0, "v": 0, "w": 0, "x": 0}}
    run_a, run_b = {"q": ["m", "n", "v", "w", "x", "u"]}, {"q": ["r", "m", "u"]}
    log3, log7 = math.log2(3), math.log2(7)
    by_grade = [(1 + grade * (1 / 2 - 1 / log7)) / ideal for grade, ideal in enumerate(
        [3 + 1 / log3, 3 + 1 / log3 + 1 / 2, 3 + 2 / log3 + 1 / 2, 3 + 3 / log3 + 1 / 2]
    )]  # fmt: skip
    assert max(by_grade) == by_grade[1]
    found = effect(judged, run_a, run_b, "nDCG")
    assert found.high == pytest.approx(by_grade[1])
    assert found.low == pytest.approx(by_grade[3])
    assert (found.useless, found.perfect) == pytest.approx((by_grade[0], by_grade[3]))


def test_what_is_told_of_a_small_comparison():
    judged = {"q": {"a": 1}}
    found = effect(judged, {"q": ["a", "x", "z"]}, {"q": ["y", "a"]}, "P@2")
    assert (found.useless, found.perfect, found.low, found.high) == (0, 0, -0.5, 0.5)
    assert (found.k, found.top_grade, found.n_unjudged) == (2, 1, 2)
    assert found.exact
    assert straddles_zero(found.low, found.high)
    assert {(doc.doc, doc.swing, doc.rank_a, doc.rank_b) for doc in found.docs()} == {
        ("x", -0.5, 2, None),
        ("y", 0.5, None, 1),
    }
    # without unjudged docs both lists are [a]; bpref sees nothing wrong above a
    assert found.sensitivity == {"unjudged docs are removed (condensed lists)": 0, "bpref instead": 0}


def test_all_relevant_is_not_an_extreme():
    # both lists full of unjudged docs: all perfect makes no difference, yet each system could be 1 ahead
    found = effect({"q": {"a": 1}}, {"q": ["u"]}, {"q": ["v"]}, "RR")
    assert (found.useless, found.perfect, found.low, found.high) == (0, 0, -1, 1)


def test_docs_that_were_pooled_but_not_judged_are_in_doubt():
    found = effect({"q": {"a": 1, "x": -1}}, {"q": ["x", "a"]}, {"q": ["a", "x"]}, "nDCG@2")
    assert found.n_unjudged == 1
    ideal = 1 + 1 / math.log2(3)
    assert (found.useless, found.perfect) == pytest.approx((1 - 1 / math.log2(3), (1 - 1) / ideal))


def test_complete_judgments_leave_no_doubt(monkeypatch):
    monkeypatch.setattr("rankscope.analysis.unjudged.doc_lists.packed_docs", None)  # the runs need not be read
    judged = {"q": {"a": 1, "b": 0}}
    found = effect(judged, {"q": ["b", "a"]}, {"q": ["a", "b", "x"]}, "RR@2")
    assert (found.useless, found.perfect, found.low, found.high) == (0.5, 0.5, 0.5, 0.5)
    assert (found.n_unjudged, found.n_certain, found.docs()) == (0, 0, ())
    assert not straddles_zero(found.low, found.high)


def test_only_queries_that_count_count():
    judged = {"p": {"a": 1}, "q": {"b": 0}}
    runs = {"p": ["x", "a"], "q": ["u"]}, {"p": ["a", "x"], "q": ["b"]}
    found = effect(judged, *runs, "RR", no_relevant="exclude")
    assert (found.useless, found.low, found.high) == (0.5, -0.0, 0.5)
    assert math.isnan(found.query_low[1])
    assert [doc.query for doc in found.docs()] == ["p"]
    both = effect(judged, *runs, "RR")
    assert (both.useless, both.low, both.high) == (0.25, -0.5, 0.25)
    nobody = effect({"q": {"b": 0}}, {"q": ["u"]}, {"q": ["b"]}, "RR", no_relevant="exclude")
    assert math.isnan(nobody.low)
    assert nobody.docs() == ()


def test_queries_are_paired_by_id():
    judged = {"p": {"a": 1}, "q": {"a": 1}, "r": {"a": 1}}
    runs = {"p": ["a"], "r": ["x", "a"]}, {"q": ["a"], "r": ["a", "x"]}
    found = effect(judged, *runs, "RR", missing="skip")
    assert found.query_ids == ("r",)
    assert (found.useless, found.high) == (0.5, 0.5)
    assert effect(judged, *runs, "RR").query_ids == ("p", "q", "r")


def test_no_judged_doc_is_relevant():
    found = effect({"q": {"a": 0}}, {"q": ["a"]}, {"q": ["x", "a"]}, "nDCG")
    assert (found.top_grade, found.useless, found.perfect, found.high) == (1, 0, 1, 1)
    strict = effect({"q": {"a": 1}}, {"q": ["a"]}, {"q": ["x", "a"]}, "RR", min_rel=2)
    assert (strict.top_grade, strict.useless, strict.perfect) == (2, 0, 1)


def test_fractional_grades():
    judged = {"q": {"a": 0.5, "b": 0.25}}
    found = effect(judged, {"q": ["a", "b"]}, {"q": ["x", "a"]}, "nDCG@2", min_rel=0.3)
    plain = effect(judged, {"q": ["a", "b"]}, {"q": ["x", "a"]}, "nDCG@2")
    assert plain.useless == pytest.approx(0.5 / math.log2(3) / (0.5 + 0.25 / math.log2(3)) - 1)
    assert plain.sensitivity["bpref instead"] is None
    assert found.sensitivity["bpref instead"] is not None


def test_which_measures_are_supported():
    for measure in [*SUMS, *QUOTIENTS, *FIRST, *PRECISION]:
        assert supports(parse_measure(measure), Policies())
    refused = [
        "Bpref", "ERR@10", "Rprec", "GMAP", "NumRelRet", "ILD@5", "nDCG(judged_only=True)@10", "MeanGain(over='judged')",
        "RBP(gain='linear', max_grade='query')", "P(rel=0)@5", "nDCG(gain={0: 1, 1: 2})", "nDCG(gain={1: -1})",
    ]  # fmt: skip
    for measure in refused:
        assert not supports(parse_measure(measure), Policies())
    assert not supports(parse_measure("P@5"), Policies(judged_only=True))
    assert not supports(parse_measure("P@5"), Policies(min_rel=0))
    with pytest.raises(MeasureError, match="cannot be bounded"):
        effect({"q": {"a": 1}}, {"q": ["a"]}, {"q": ["a"]}, "Bpref")


@pytest.mark.parametrize("measure", ["P@3", "DCG@3", "nDCG@3", "R@3", "RR", "AP"])
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
@given(case=cases(n_in_doubt=5), data=st.data())
def test_judging_the_docs_that_are_named_settles_it(measure, case, data):
    judged, *runs = case
    found = effect(judged, *runs, measure)
    assume(straddles_zero(found.low, found.high))
    docs = [(doc.query, doc.doc) for doc in found.docs()]
    settled = effect(graded(judged, docs, [0] * len(docs)), *runs, measure)
    assert not straddles_zero(settled.low, settled.high)
    grades = data.draw(st.lists(st.integers(0, int(found.top_grade)), min_size=len(docs), max_size=len(docs)))
    for_certain = effect(graded(judged, docs, grades), *runs, measure)
    assert found.n_certain == len(docs)
    assert for_certain.low == pytest.approx(for_certain.high, abs=1e-9)


@settings(max_examples=60, deadline=None)
@given(case=cases(n_in_doubt=6), data=st.data())
def test_docs_that_are_not_named_change_nothing(case, data):
    judged, *runs = case
    measure = data.draw(st.sampled_from(["P@3", "nDCG@3", "R@3", "RR@3", "AP@3"]))
    named = {(doc.query, doc.doc) for doc in effect(judged, *runs, measure).docs()}
    docs = in_doubt(judged, *runs, 3)
    top = max(max(of_query.values()) for of_query in judged.values())
    grades = data.draw(st.lists(st.integers(0, top), min_size=len(docs), max_size=len(docs)))
    unnamed_useless = [grade if doc in named else 0 for doc, grade in zip(docs, grades, strict=True)]
    either = [differences(graded(judged, docs, some), *runs, measure).mean() for some in (grades, unnamed_useless)]
    assert either[0] == pytest.approx(either[1], abs=1e-12)


def test_the_doc_that_could_upset_most_comes_first():
    judged = {"p": {"a": 1, "b": 0}, "q": {"a": 1, "b": 0}}
    run_a = {"p": ["b", "u", "v"], "q": ["w", "b"]}
    run_b = {"p": ["a", "b"], "q": ["a", "x"]}
    found = effect(judged, run_a, run_b, "DCG@3")
    # B leads by (1 + 1)/2; u, v, w speak for A with 1/log2(3), 1/2 and 1, x for B with 1/log2(3), each over 2 queries
    assert [doc.doc for doc in found.docs()] == ["w", "u", "v", "x"]
    assert [doc.swing for doc in found.docs()] == pytest.approx([-0.5, -0.5 / math.log2(3), -0.25, 0.5 / math.log2(3)])
    assert found.low == pytest.approx(1 - (1 + 1 / math.log2(3) + 0.5) / 2)
    assert found.docs(1) == found.docs()[:1]


def test_a_possible_tie_is_not_settled():
    # B leads by 1/2, and u could make it a tie; where there is a tie already, u and v could end it to either side
    judged = {"q": {"a": 1, "b": 0, "c": 0}}
    tie = effect(judged, {"q": ["b", "u"]}, {"q": ["a", "c"]}, "P@2")
    assert (tie.useless, tie.low, tie.high) == (0.5, 0.0, 0.5)
    assert straddles_zero(tie.low, tie.high)
    assert tie.n_certain == 1
    equal = effect(judged, {"q": ["b", "u"]}, {"q": ["v", "c"]}, "P@2")
    assert (equal.useless, equal.low, equal.high) == (0.0, -0.5, 0.5)
    assert equal.n_certain == 2


def test_long_lists_of_average_precision_are_bounded_too():
    docs = [f"d{i}" for i in range(400)]
    judged = {"p": {"d0": 1, "d399": 1}, "q": {"d7": 1}}
    rng = np.random.default_rng(0)
    runs = [{query: [docs[i] for i in rng.permutation(400)] for query in judged} for _ in range(2)]
    found = effect(judged, *runs, "AP")
    assert not found.exact
    for _ in range(20):
        relevant = [
            (query, doc) for query in judged for doc in docs if doc not in judged[query] and rng.random() < rng.random()
        ]
        reached = differences(graded(judged, relevant, [1] * len(relevant)), *runs, "AP")
        assert np.all(reached <= found.query_high + 1e-9)
        assert np.all(reached >= found.query_low - 1e-9)


def test_files_give_what_data_in_memory_gives():
    folder = Path(rankscope.__file__).parent / "demo" / "data"
    files = [folder / "qrels.txt", folder / "bm25.run", folder / "dense.run"]
    qrels, *runs = load_qrels(files[0]), load_run(files[1]), load_run(files[2])
    in_memory = [
        Run({q: dict(run.rankings.ranking(q, duplicates="error").score_of) for q in run.query_ids})
        for run in map(load_run, files[1:])
    ]
    measure, policies = parse_measure("nDCG@10"), Policies()
    one = effect_of(qrels, *runs, measure, policies)
    other = effect_of(Qrels(qrels.judged), *in_memory, measure, policies)
    assert one.docs() == other.docs()
    assert (one.low, one.high, one.n_certain) == (other.low, other.high, other.n_certain)
