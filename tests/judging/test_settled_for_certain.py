"""Settled means settled: where it is said, every completion of the open docs leads to the same word of `compare`."""

from __future__ import annotations

import itertools
import random
from collections import Counter

import pytest

from rankscope.align.policies import Policies
from rankscope.comparison.compare import compare_runs
from rankscope.comparison.verdict import MIN_UNITS
from rankscope.data.run import Run
from rankscope.judging.settling import settle
from rankscope.judging.worst_case import (
    ComparedRuns,
    CriticalRange,
    DifferenceBox,
    KnownGrades,
    bounds_of_pairs,
    has_open_ideal,
)
from rankscope.measures.parse import parse_measure

MEASURES = ("P", "RR", "AP", "R", "DCG", "nDCG")


def compared(lists, measure, *, margin=None, scale=(0.0, 1.0), docs=()):
    queries = tuple(sorted({query for by_query in lists.values() for query in by_query}))
    runs = {name: Run(by_query, name=name) for name, by_query in lists.items()}
    return ComparedRuns(runs=runs, measure=measure, margin=margin, query_ids=queries, scale=scale, docs=frozenset(docs))


def words_of(what, grades):
    """Return the word and the difference of every pair by these grades."""
    qrels = KnownGrades(grades=grades).qrels(what.query_ids)
    found = compare_runs(qrels, dict(what.runs), what.request(), on_note=lambda _: None)
    return [(pair.final_verdict.code, pair.delta) for pair in found.groups[0].compared]


def completions(grades, open_docs, scale):
    for chosen in itertools.product(scale, repeat=len(open_docs)):
        full = {query: dict(docs) for query, docs in grades.items()}
        for (query, doc), grade in zip(open_docs, chosen, strict=True):
            full.setdefault(query, {})[doc] = grade
        yield full


def ten(k=1):
    return [f"q{i}" for i in range(10 * k)]


def test_a_grade_that_leaves_five_queries_that_differ_is_not_settled():
    """Of ten queries b wins six, p = 2/64 by flips; if a wins one of them too, five are left and p = 2/32 > 0.05."""
    lists = {"a": {q: [f"a{q}"] for q in ten()}, "b": {q: [f"b{q}"] for q in ten()}}
    grades = {q: {f"a{q}": 0.0, f"b{q}": float(q < "q6")} for q in ten()}
    del grades["q0"]["aq0"]
    what = compared(lists, "P@1")
    state = settle(what, KnownGrades(grades=grades))
    assert [words_of(what, full)[0][0] for full in completions(grades, [("q0", "aq0")], (0.0, 1.0))] == [
        "better",
        "cannot_tell",
    ]
    assert (state.stage, state.order) == ("open", (("q0", "aq0"),))


def test_docs_of_the_task_that_no_system_has_first_change_what_is_perfect():
    """By nDCG@1 b has 1/1 and a 0. With another doc of grade 3 the ideal is 3, so b has 1/3: by hand at least +0.25."""
    queries = ten()
    lists = {"a": {q: ["y", "x"] for q in queries}, "b": {q: ["z", "x"] for q in queries}}
    grades = {q: {"y": 0.0, "z": 1.0 if q < "q8" else 0.0} for q in queries}
    scale = (0.0, 1.0, 2.0, 3.0)
    without = settle(compared(lists, "nDCG@1", margin=0.3, scale=scale), KnownGrades(grades=grades))
    assert without.settled  # nobody is asked to judge x
    state = settle(
        compared(lists, "nDCG@1", margin=0.3, scale=scale, docs=[(q, "x") for q in queries]),
        KnownGrades(grades=grades),
    )
    assert (state.stage, state.pairs[0].low) == ("open", pytest.approx(0.8 / 3))
    assert state.n_open == 8  # of the other two queries both systems have 0 whatever x is


def test_what_a_relevant_doc_further_down_would_change_is_said():
    """By nDCG@1 b wins six of ten queries and a one: of the 128 flips of signs 16 are as far out, so p = 0.125.

    Where the doc at rank 2 of that one is worth 3, a has 1/3 there. Then 4 flips are, p = 0.031, and b is better.
    """
    lists = {"a": {q: ["y", "x"] for q in ten()}, "b": {q: ["z", "x"] for q in ten()}}
    grades = {q: {"y": float(q == "q6"), "z": float(q < "q6")} for q in ten()}
    what = compared(lists, "nDCG@1", scale=(0.0, 1.0, 2.0, 3.0))
    state = settle(what, KnownGrades(grades=grades))
    assert (state.settled, state.depth, state.open_ideal) == (True, 1, True)
    grades["q6"]["x"] = 3.0
    assert [state.pairs[0].code, words_of(what, grades)[0][0]] == ["cannot_tell", "better"]
    assert "Settled: no grade of an open doc of the task, or at rank 1 of a list, changes this." in state.words
    elsewhere = "a relevant doc further down, or in no list, would change the ideal of nDCG@1, and so could change this"
    assert f"Not covered: {elsewhere}." in state.words
    assert (
        state.short == "It is settled as far as these docs go: no grade of those that are left can change the answer."
    )


def test_what_is_left_of_a_measure_with_an_ideal_says_which_docs_settle_it():
    lists = {"a": {q: ["y", "v"] for q in ten()}, "b": {q: ["z", "w"] for q in ten()}}
    left = settle(compared(lists, "R@2"), KnownGrades(grades={"q0": {"y": 1.0}}))
    assert "open docs that can move it settles it as far as these docs go; 10 docs have to be graded" in left.words
    assert "Not covered: a relevant doc further down, or in no list, would change the ideal of R@2" in left.words
    assert left.short.endswith("more judgments and it is settled as far as these docs go.")
    whole = settle(compared(lists, "AP"), KnownGrades(grades={"q0": {"y": 1.0}}))
    assert "Not covered: a relevant doc that no list has would change the ideal of AP" in whole.words
    for measure in ("P@2", "RR", "Success@2", "DCG@2"):
        state = settle(compared(lists, measure), KnownGrades(grades={"q0": {"y": 1.0}}))
        assert ("Not covered" in state.words, "settles it for certain" in state.words) == (False, True)


@pytest.mark.parametrize(
    ("measure", "scale", "is_open"),
    [
        ("P@3", (0, 1, 2), False), ("RR", (0, 1), False), ("Success@1", (0, 1), False), ("DCG@3", (0, 1, 2), False),
        ("ERR@3", (0, 1, 2), False), ("RBP", (0, 1, 2), False), ("MeanGain@3", (0, 1, 2), False),
        ("R@3", (0, 1), True), ("AP", (0, 1), True), ("F@3", (0, 1), True), ("nDCG@3", (0, 1), True),
        ("Rprec", (0, 1), True), ("Bpref", (0, 1), True), ("IPrec@0.2", (0, 1), True),
        # with one place and one grade above 0 the perfect list is worth 1 as soon as anything is relevant
        ("nDCG@1", (0, 1), False), ("nDCG@1", (0, 1, 2), True), ("R_cap@1", (0, 1), False), ("R_cap@2", (0, 1), True),
    ],
)  # fmt: skip
def test_which_measures_read_docs_that_no_list_has(measure, scale, is_open):
    """As their formulas have it: what is divided by all relevant docs, or by a perfect list, reads them all."""
    assert has_open_ideal(parse_measure(measure), Policies(), tuple(map(float, scale))) == is_open


def test_docs_of_a_third_system_change_the_recall_of_two():
    """R@1 of b is 1 of 1, or 1 of 2 where the doc of c is relevant too; a has none: +1/2 at least, not +1."""
    queries = ten(2)
    lists = {"a": {q: ["y"] for q in queries}, "b": {q: ["z"] for q in queries}, "c": {q: ["x"] for q in queries}}
    grades = {q: {"y": 0.0, "z": 1.0} for q in queries}
    first, _ = settle(compared(lists, "R@1"), KnownGrades(grades=grades)).pairs
    assert (first.low, first.high) == (pytest.approx(0.5), pytest.approx(1.0))


def test_with_two_raters_for_each_doc_judgments_are_counted():
    """24 docs by two raters are 48 judgments, of which 24 are left once one rater is through."""
    queries = [f"q{i:02}" for i in range(12)]
    what = compared({"a": {q: ["y"] for q in queries}, "b": {q: ["z"] for q in queries}}, "P@1")
    state = settle(what, KnownGrades(grades={}, overlap=2))
    assert (state.n_open, state.n_judgments) == (24, 48)
    assert state.short == "At most 48 more judgments (of 24 docs) and it is settled."
    grades = {q: {"y": 0.0, "z": 1.0} for q in queries}
    half = frozenset((q, doc) for q in queries for doc in "yz")
    state = settle(what, KnownGrades(grades=grades, unfinished=half, overlap=2, n_grades=dict.fromkeys(half, 1)))
    assert (state.n_open, state.n_judgments) == (24, 24)
    assert state.short == "At most 24 more judgments and it is settled."
    few = frozenset((q, "z") for q in queries)
    state = settle(what, KnownGrades(grades=grades, unfinished=few, overlap=3, n_grades=dict.fromkeys(few, 1)))
    assert (state.n_open, state.n_judgments) == (12, 24)
    assert "Judging all 12 open docs that can move it (24 more judgments) settles it for certain" in state.words


def test_where_labels_hang_together_all_docs_of_the_task_are_needed():
    queries = [f"q{i:02}" for i in range(12)]
    lists = {"a": {q: ["y"] for q in queries}, "b": {q: ["z"] for q in queries}}
    what = compared(lists, "P@1", docs=[("q00", "w")])
    grades = {q: {"y": 0.0, "z": 1.0} for q in queries}
    assert settle(what, KnownGrades(grades=grades)).settled
    state = settle(what, KnownGrades(grades=grades, joint=True))
    assert (state.stage, state.order) == ("open", (("q00", "w"),))
    assert (state.pairs[0].low, state.pairs[0].high, state.pairs[0].ahead) == (None, None, False)
    assert settle(what, KnownGrades(grades=grades | {"q00": {"y": 0.0, "z": 1.0, "w": 0.0}}, joint=True)).settled


def test_where_labels_hang_together_docs_outside_the_task_are_needed_too():
    """RR@2 is 1 for z at rank 1 whatever w at rank 2 is; but once w is graded, the label of z may be another one."""
    queries = [f"q{i:02}" for i in range(12)]
    lists = {"a": {q: ["y"] for q in queries}, "b": {q: ["z", "w"] if q == "q00" else ["z"] for q in queries}}
    what = compared(lists, "RR@2", docs=[(q, doc) for q in queries for doc in "yz"])
    grades = {q: {"y": 0.0, "z": 1.0} for q in queries}
    assert settle(what, KnownGrades(grades=grades)).settled
    state = settle(what, KnownGrades(grades=grades, joint=True))
    assert (state.settled, state.order, state.outside) == (False, (), (("q00", "w"),))
    assert not any(pair.settled for pair in state.pairs)


def test_all_judged_and_none_relevant_is_said():
    lists = {"a": {"q1": ["y"]}, "b": {"q1": ["z"]}}
    state = settle(compared(lists, "P@1"), KnownGrades(grades={"q1": {"y": 0.0, "z": 0.0}}))
    assert (state.n_open, state.short) == (0, "No doc is relevant, so no score differs.")


@pytest.mark.parametrize("n_queries", [11, 20])
def test_closed_boxes_have_the_number_that_decides(n_queries):
    """All flips of 11 queries are tried, those of 20 drawn: either way they are those of the comparison."""
    draw = random.Random(n_queries)
    queries, docs = [f"q{i:02}" for i in range(n_queries)], [f"d{i}" for i in range(6)]
    lists = {name: {query: draw.sample(docs, 3) for query in queries} for name in "abc"}
    grades = {query: {doc: float(draw.choice((0, 1, 2))) for doc in docs} for query in queries}
    what = compared(lists, "nDCG@3", scale=(0.0, 1.0, 2.0))
    qrels = KnownGrades(grades=grades).qrels(what.query_ids)
    bounds = bounds_of_pairs(what, qrels)
    found = CriticalRange.of([DifferenceBox.of(each) for each in bounds], [each.counted for each in bounds], what)
    for pair in compare_runs(qrels, dict(what.runs), what.request(), on_note=lambda _: None).groups[0].compared:
        assert (found.low, found.high) == (pytest.approx(pair.mde.critical), pytest.approx(pair.mde.critical))
        assert (found.narrow_low, found.narrow_high) == (
            pytest.approx(pair.critical_equivalence),
            pytest.approx(pair.critical_equivalence),
        )


def random_case(seed, n_systems):
    """Return systems of different quality, all grades, and one to four open docs, some with an unsure grade."""
    draw = random.Random(seed)
    k, scale = draw.choice((1, 2, 3)), draw.choice(((0.0, 1.0), (0.0, 1.0), (0.0, 1.0, 3.0)))
    queries, docs = [f"q{i:02}" for i in range(draw.choice((10, 11, 12, 14)))], [f"d{i}" for i in range(6)]
    truth = {query: {doc: draw.choice(scale) for doc in docs} for query in queries}
    lists = {}
    for number in range(n_systems):
        quality = draw.choice((0.0, 0.2, 0.8, 1.0))
        lists[f"s{number}"] = {}
        for query in queries:
            ranked = draw.sample(docs, 6)
            if draw.random() < quality:
                ranked.sort(key=lambda doc: -truth[query][doc])
            elif quality == 0.0:
                ranked.sort(key=lambda doc: truth[query][doc])
            lists[f"s{number}"][query] = ranked[: draw.choice((k, 4))]
    measure, margin = draw.choice(MEASURES), draw.choice((None, 0.0, 0.05, 0.2, 0.4))
    near = sorted({(query, doc) for by_query in lists.values() for query, found in by_query.items() for doc in found})
    open_docs = draw.sample(near, draw.randint(1, 4 if len(scale) == 2 else 3))
    unfinished = frozenset(pair for pair in open_docs if draw.random() < 0.3)
    grades = {
        query: {doc: grade for doc, grade in graded.items() if (query, doc) not in set(open_docs) - unfinished}
        for query, graded in truth.items()
    }
    what = compared(lists, f"{measure}@{k}", margin=margin, scale=scale, docs=open_docs)
    return what, grades, open_docs, unfinished


@pytest.mark.parametrize("n_systems", [2, 3])
def test_with_few_open_docs_what_no_completion_turns_is_called_settled(n_systems):
    """Bounds alone called a third of these open; trying the outcomes of few queries tells them apart."""
    seen = Counter()
    for seed in range(1000, 1025):
        what, grades, open_docs, unfinished = random_case(seed, n_systems)
        state = settle(what, KnownGrades(grades=grades, unfinished=unfinished))
        words = [words_of(what, full) for full in completions(grades, open_docs, what.scale)]
        for i, pair in enumerate(state.pairs):
            stays = len({each[i][0] for each in words}) == 1
            assert pair.settled == stays, (seed, i)
            seen[stays] += 1
    assert min(seen[True], seen[False]) > 2


@pytest.mark.parametrize(("n_systems", "n_cases"), [(2, 140), (3, 80)])
def test_every_completion_has_the_word_that_is_called_settled(n_systems, n_cases):
    seen = Counter()
    for seed in range(n_cases):
        what, grades, open_docs, unfinished = random_case(seed, n_systems)
        state = settle(what, KnownGrades(grades=grades, unfinished=unfinished))
        assert set(state.order) <= set(open_docs)
        assert len(what.query_ids) >= MIN_UNITS
        pairs = [(i, pair) for i, pair in enumerate(state.pairs) if pair.settled and pair.low != pair.high]
        seen["open"] += not pairs
        if not pairs and seed % 4:  # their bounds are looked at in some of the cases
            continue
        for full in completions(grades, open_docs, what.scale):
            words = words_of(what, full)
            for i, pair in enumerate(state.pairs):
                assert pair.low - 1e-9 <= words[i][1] <= pair.high + 1e-9, seed
            for i, pair in pairs:
                assert words[i][0] == pair.code, seed
        seen.update(pair.code for _, pair in pairs)
    assert seen["open"] > 10
    assert sum(seen.values()) - seen["open"] > 10
