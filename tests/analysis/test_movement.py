"""Differences taken apart doc by doc: hand-made cases, and that nothing is ever left over."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankscope.align.alignment import align
from rankscope.align.policies import Policies
from rankscope.analysis.aligned import AlignedRun, JudgedDocs
from rankscope.analysis.movement import KINDS, MovedDoc, MovementPart, movement_of, supports
from rankscope.data.qrels import Qrels
from rankscope.data.run import Run
from rankscope.errors import MeasureError
from rankscope.measures.parse import parse_measure
from rankscope.measures.scoring import score_hits
from rankscope.records import Both

MEASURES = [
    "nDCG@3", "nDCG", "nDCG(gain='exp2')@2", "DCG@3", "AP", "AP@2", "AP(norm='min')@2", "RR", "RR@2", "P@3", "R@2", "R",
    "RBP@3", "ERR@3", "Success@2", "nDCG(judged_only=True)@2", "AP(judged_only=True)",
]  # fmt: skip
DOCS = "abcdef"

rankings = st.permutations(DOCS).flatmap(lambda docs: st.integers(0, len(docs)).map(lambda n: docs[:n]))
judgments = st.dictionaries(st.sampled_from(DOCS), st.integers(-1, 3), min_size=1)


def moved(judged, run_a, run_b, measure, *, limit=10, **policies):
    qrels, decided = Qrels(judged), Policies(**policies)
    docs = JudgedDocs.of(qrels)
    a, b = (AlignedRun.of(qrels, Run(run), decided, docs=docs) for run in (run_a, run_b))
    return movement_of(docs, a, b, parse_measure(measure), decided, limit=limit)


def scores(judged, run, measure, **policies):
    decided = Policies(**policies)
    return score_hits(align(Qrels(judged), Run(run), decided), [parse_measure(measure)], decided)[0][:, 0]


@pytest.mark.parametrize("measure", MEASURES)
@settings(max_examples=40, deadline=None)
@given(
    judged=st.fixed_dictionaries(dict.fromkeys("pqr", judgments)),
    run_a=st.fixed_dictionaries(dict.fromkeys("pqr", rankings)),
    run_b=st.fixed_dictionaries(dict.fromkeys("pqr", rankings)),
    policies=st.sampled_from([{}, {"no_relevant": "exclude"}, {"judged_only": True}, {"depth": 3}, {"min_rel": 2}]),
)
def test_parts_add_up_to_the_difference(measure, judged, run_a, run_b, policies):
    found = moved(judged, run_a, run_b, measure, **policies)
    a, b = (scores(judged, run, measure, **policies) for run in (run_a, run_b))
    counted = ~np.isnan(b - a)
    change = (b - a)[counted]
    by_query = dict(zip(Qrels(judged).query_ids, b - a, strict=True))
    assert (found.difference is None) == (len(change) == 0)
    if len(change):
        assert found.difference == pytest.approx(change.mean(), abs=1e-12)
        assert sum(part.mean for part in found.kinds.values()) == pytest.approx(change.mean(), abs=1e-12)
        assert sum(part.total for part in found.kinds.values()) == pytest.approx(change.sum(), abs=1e-12)
        assert sum(found.by_rank.a) == pytest.approx(a[counted].mean(), abs=1e-12)
        assert sum(found.by_rank.b) == pytest.approx(b[counted].mean(), abs=1e-12)
    for query in found.queries:
        assert sum(doc.change for doc in query.docs) == pytest.approx(by_query[query.query], abs=1e-12)
    assert sum(len(query.docs) for query in found.queries) <= sum(part.n_docs for part in found.kinds.values())


def test_precision_by_kind():
    judged = {"q": {"a": 1, "b": 1, "c": 1, "d": 1, "e": 0}}
    found = moved(judged, {"q": list("abcxe")}, {"q": list("badyz")}, "P@3")
    # a moves down, b up: both stay within 3 and count 1/3 in either list; c is lost, d is new: -1/3 + 1/3
    assert found.kinds == {
        "lost": MovementPart(1, -1 / 3, -1 / 3),
        "demoted": MovementPart(0, 0.0, 0.0),
        "promoted": MovementPart(0, 0.0, 0.0),
        "new": MovementPart(1, 1 / 3, 1 / 3),
        "unmoved": MovementPart(0, 0.0, 0.0),
    }
    assert found.difference == 0
    assert found.queries == ()  # its score is the same
    assert found.unjudged == Both(0, 0)


def test_ndcg_by_kind_over_two_queries():
    judged = {"p": {"a": 2, "b": 1}, "q": {"a": 1}}
    run_a = {"p": ["a", "b"], "q": ["x", "a"]}
    run_b = {"p": ["y", "a"], "q": ["a"]}
    found = moved(judged, run_a, run_b, "nDCG@2")
    log3 = math.log2(3)
    ideal = 2 + 1 / log3
    demoted = (2 / log3 - 2) / ideal
    lost = -(1 / log3) / ideal
    promoted = 1 - 1 / log3
    assert found.kinds["demoted"] == MovementPart(1, pytest.approx(demoted), pytest.approx(demoted / 2))
    assert found.kinds["lost"] == MovementPart(1, pytest.approx(lost), pytest.approx(lost / 2))
    assert found.kinds["promoted"] == MovementPart(1, pytest.approx(promoted), pytest.approx(promoted / 2))
    assert found.kinds["new"] == MovementPart(0, 0.0, 0.0)
    assert found.by_rank.a == pytest.approx([2 / ideal / 2, (1 / log3 / ideal + 1 / log3) / 2])
    assert found.by_rank.b == pytest.approx([1 / 2, 2 / log3 / ideal / 2])
    assert found.unjudged == Both(1, 1)
    first, second = found.queries
    assert [query.query for query in found.queries] == ["p", "q"]
    assert [doc.change for doc in first.docs] == pytest.approx([demoted, lost])
    assert [(doc.doc, doc.kind, doc.rank_a, doc.rank_b) for doc in first.docs] == [
        ("a", "demoted", 1, 2),
        ("b", "lost", 2, None),
    ]
    assert second.docs == (MovedDoc("a", "promoted", 2, 1, pytest.approx(promoted), 1.0),)


def test_average_precision_counts_docs_that_stand_still():
    judged = {"q": {"a": 1, "b": 1}}
    found = moved(judged, {"q": ["a", "b"]}, {"q": ["x", "b", "a"]}, "AP")
    # A: (1/1 + 2/2)/2; B: b at rank 2 has precision 1/2, a at rank 3 has 2/3: (1/2 + 2/3)/2
    assert found.kinds["unmoved"] == MovementPart(1, pytest.approx(-1 / 4), pytest.approx(-1 / 4))
    assert found.kinds["demoted"] == MovementPart(1, pytest.approx(-1 / 6), pytest.approx(-1 / 6))
    assert found.difference == pytest.approx(7 / 12 - 1)


def test_reciprocal_rank_belongs_to_the_first_relevant_doc():
    judged = {"q": {"a": 1, "b": 1}}
    found = moved(judged, {"q": ["a", "b"]}, {"q": ["x", "b", "y", "a"]}, "RR")
    (query,) = found.queries
    assert [(doc.doc, doc.kind, doc.change) for doc in query.docs] == [("a", "demoted", -1.0), ("b", "unmoved", 0.5)]


def test_the_queries_that_moved_most_come_first():
    judged = {query: {"a": 1} for query in "pqrs"}
    run_a = {key: ["x", "y", "a"] for key in "pqrs"}
    run_b = {"p": ["x", "a"], "q": ["a"], "r": ["x", "y", "a"], "s": []}
    found = moved(judged, run_a, run_b, "RR", limit=2)
    assert [query.query for query in found.queries] == ["q", "s"]
    assert [query.query for query in moved(judged, run_a, run_b, "RR").queries] == ["q", "s", "p"]


def test_queries_that_one_run_does_not_answer():
    judged = {"p": {"a": 1}, "q": {"a": 1}}
    found = moved(judged, {"p": ["a"], "q": ["a"]}, {"q": ["x", "a"]}, "RR")
    assert found.kinds["lost"] == MovementPart(1, -1.0, -0.5)
    skipped = moved(judged, {"p": ["a"], "q": ["a"]}, {"q": ["x", "a"]}, "RR", missing="skip")
    assert skipped.difference == -0.5
    assert skipped.kinds["demoted"] == MovementPart(1, -0.5, -0.5)  # the mean is the total: one query counts
    assert skipped.kinds["lost"].n_docs == 0


def test_no_query_counts():
    found = moved({"q": {"a": 0}}, {"q": ["a"]}, {"q": ["a"]}, "nDCG", no_relevant="exclude")
    assert found.difference is None
    assert {part.mean for part in found.kinds.values()} == {None}
    assert found.queries == ()
    apart = moved({"p": {"a": 1}, "q": {"a": 1}}, {"p": ["a"]}, {"q": ["a"]}, "nDCG", missing="skip")
    assert {part.mean for part in apart.kinds.values()} == {None}
    assert (apart.difference, apart.by_rank, apart.queries) == (None, Both((), ()), ())


def test_which_measures_can_be_taken_apart():
    assert all(supports(parse_measure(measure)) for measure in MEASURES)
    for measure in ("F@3", "Bpref", "ILD@3", "GMAP", "NumRelRet"):
        assert not supports(parse_measure(measure))
    with pytest.raises(MeasureError, match="cannot be taken apart"):
        moved({"q": {"a": 1}}, {"q": ["a"]}, {"q": ["a"]}, "Bpref")


def test_every_kind_is_explained():
    found = moved({"q": {"a": 1}}, {"q": ["a"]}, {"q": ["a"]}, "P@1")
    assert list(found.kinds) == list(KINDS)
