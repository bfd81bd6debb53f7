"""Half-judged docs: the labels that they can still get, and what follows, against all grades that may come."""

from __future__ import annotations

import itertools
import statistics
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankscope.comparison.compare import compare_runs
from rankscope.data.run import Run
from rankscope.judging.agreement import agreement_of
from rankscope.judging.labels import labels_to_come, make_qrels
from rankscope.judging.same_numbers import same_numbers
from rankscope.judging.settling import settle, settling_of
from rankscope.judging.worst_case import ComparedRuns, KnownGrades
from rankscope.records import replace
from small_task import SmallTask, small_task

SCALE = (0.0, 1.0, 2.0, 3.0)


def to_come(rule, *grades, missing, **more):
    return labels_to_come({f"r{i}": float(g) for i, g in enumerate(grades)}, missing, rule, scale=SCALE, **more)


@pytest.mark.parametrize(
    ("rule", "grades", "missing", "expected"),
    [
        ("lower median", [0], 1, {0}),  # 0 and anything: the lower of two
        ("lower median", [3], 1, {0, 1, 2, 3}),
        ("lower median", [3, 3], 1, {3}),
        ("lower median", [2, 3], 1, {2, 3}),
        ("majority", [1, 1], 1, {1}),
        ("majority", [1], 1, {0, 1}),  # of two that one rater each gave, the lower
        ("mean", [3], 1, {1, 2, 3}),  # 1.5, 2, 2.5 and 3, a half down; 3 where nobody else can tell
        ("max", [2], 1, {2, 3}),
        ("max", [3], 2, {3}),
        ("latest", [2], 1, {0, 1, 2, 3}),
        ("only", [0], 1, {0}),
    ],
)
def test_labels_that_can_come_by_hand(rule, grades, missing, expected):
    assert set(to_come(rule, *grades, missing=missing)) == expected


def test_a_trusted_grade_is_final_and_a_model_can_make_any_label():
    assert to_come("trusted", 2, missing=1, trusted="r0") == (2.0,)
    assert to_come("trusted", 2, missing=1, trusted="r9") is None
    assert to_come("dawid-skene", 2, missing=1) is None
    assert labels_to_come({}, 2, "max", scale=SCALE) is None


def by_rule(rule, grades):
    """The rules once more, without ours."""
    if rule == "lower median":
        return statistics.median_low(grades)
    if rule == "majority":
        most = max(Counter(grades).values())
        return min(grade for grade, n in Counter(grades).items() if n == most)
    if rule == "mean":
        return min(SCALE, key=lambda step: (abs(step - statistics.fmean(grades)), step))
    return max(grades) if rule == "max" else grades[-1]


@given(
    rule=st.sampled_from(["lower median", "majority", "mean", "max", "latest"]),
    grades=st.lists(st.sampled_from(SCALE), min_size=1, max_size=3),
    missing=st.integers(0, 3),
)
@settings(max_examples=150, deadline=None)
def test_labels_that_can_come_are_those_of_all_completions(rule, grades, missing):
    found = {by_rule(rule, [*grades, *more]) for n in range(missing + 1) for more in itertools.product(SCALE, repeat=n)}
    assert set(to_come(rule, *grades, missing=missing)) == found


@st.composite
def half_judged(draw):
    """Two systems on ten queries, of which up to three docs have one or two of three grades."""
    measure = draw(st.sampled_from(["P@1", "nDCG@2", "AP@2", "RR@2", "R@1"]))
    queries = [f"q{i}" for i in range(10)]
    lists = {name: {query: draw(st.permutations(["x", "y", "z"])) for query in queries} for name in ("a", "b")}
    grade = st.sampled_from((0.0, 1.0, 3.0))
    grades = {query: {doc: draw(grade) for doc in "xyz"} for query in queries}
    half = draw(
        st.dictionaries(
            st.tuples(st.sampled_from(queries[:4]), st.sampled_from("xyz")),
            st.lists(grade, min_size=1, max_size=2),
            min_size=1,
            max_size=3,
        )
    )
    return measure, lists, grades, half, draw(st.sampled_from([0.0, 0.01, 0.2]))


@given(half_judged())
@settings(max_examples=40, deadline=None)
def test_bounds_and_settled_of_half_judged_docs_against_all_completions(case):
    """Three raters are asked and the lower median counts: the missing grades are all tried."""
    measure, lists, grades, half, margin = case
    scale = (0.0, 1.0, 3.0)
    what = ComparedRuns(
        runs={name: Run(by_query, name=name) for name, by_query in lists.items()},
        measure=measure,
        margin=margin,
        query_ids=tuple(grades),
        scale=scale,
        docs=frozenset((query, doc) for query in grades for doc in "xyz"),
    )
    now = {query: dict(docs) for query, docs in grades.items()}
    for (query, doc), said in half.items():
        now[query][doc] = statistics.median_low(said)
    possible = {
        pair: labels_to_come(
            {f"r{i}": grade for i, grade in enumerate(said)}, 3 - len(said), "lower median", scale=scale
        )
        for pair, said in half.items()
    }
    known = KnownGrades(
        grades=now,
        unfinished=frozenset(half),
        overlap=3,
        n_grades={pair: len(said) for pair, said in half.items()},
        possible=possible,
    )
    state = settle(what, known)
    ways = [
        {statistics.median_low([*said, *more]) for more in itertools.product(scale, repeat=3 - len(said))}
        for said in half.values()
    ]
    found = []
    for labels in itertools.product(*ways):
        full = {query: dict(docs) for query, docs in now.items()}
        for (query, doc), label in zip(half, labels, strict=True):
            full[query][doc] = label
        qrels = KnownGrades(grades=full).qrels(what.query_ids)
        (pair,) = compare_runs(qrels, dict(what.runs), what.request(), on_note=lambda _: None).groups[0].compared
        found.append((pair.final_verdict.code, pair.delta))
    if not state.pairs:
        assert state.stage == "nothing judged"
        return
    (told,) = state.pairs
    assert (told.low, told.high) == (
        pytest.approx(min(delta for _, delta in found)),
        pytest.approx(max(delta for _, delta in found)),
    )
    if told.settled:
        assert {code for code, _ in found} == {told.code}
    fixed = {pair for pair, labels in zip(half, ways, strict=True) if len(labels) == 1}
    assert not fixed & set(state.order)
    assert set(state.order) <= set(half)
    assert state.n_judgments == sum(3 - len(half[pair]) for pair in state.order)


TWELVE = [f"q{i:02}" for i in range(12)]


def outside_case(docs):
    lists = {"a": {q: ["x", "y"] for q in TWELVE}, "b": {q: ["x", "z"] for q in TWELVE}}
    runs = {name: Run(by_query, name=name) for name, by_query in lists.items()}
    return ComparedRuns(
        runs=runs, measure="P@2", margin=None, query_ids=tuple(TWELVE), scale=(0.0, 1.0), docs=frozenset(docs)
    )


def test_docs_outside_the_task_are_told_apart():
    """y and z can move P@2 of twelve queries: 24 docs, of which the task holds the 12 y."""
    grades = {"q00": {"x": 1.0, "y": 1.0}}
    state = settle(outside_case((q, "y") for q in TWELVE), KnownGrades(grades=grades))
    assert (state.n_open, state.n_judgments, state.n_outside, state.can_be_settled) == (11, 11, 12, False)
    assert {doc for _, doc in state.outside} == {"z"}
    assert state.n_about is None
    assert "23 open docs (12 of them outside the task) could make the difference" in state.words
    assert "The task alone cannot settle it for certain: 12 docs outside it could turn it" in state.words
    assert "settles it for certain;" not in state.words
    assert state.short == "11 judgments of this task can change the answer; other docs can, too."
    whole = settle(outside_case((q, d) for q in TWELVE for d in "yz"), KnownGrades(grades=grades))
    assert (whole.n_open, whole.n_outside, whole.can_be_settled) == (23, 0, True)
    assert whole.short == "At most 23 more judgments and it is settled."


def test_all_of_the_task_is_judged_and_others_can_turn_it():
    grades = {q: {"x": 1.0, "y": 1.0} for q in TWELVE}
    state = settle(outside_case((q, "y") for q in TWELVE), KnownGrades(grades=grades))
    assert (state.stage, state.n_open, state.n_outside) == ("open", 0, 12)
    assert state.short == "No judgment of this task is left that can change the answer, which is not settled."
    assert state.words.count("12 docs outside it could turn it") == 1


def test_who_cannot_tell_has_answered(tmp_path):
    """d0 and d3 decide P@1. Of d3 in q00 the one rater cannot tell: nobody is asked again, and it may be relevant."""
    with small_task(tmp_path, measure="P@1") as made:
        made.grade("ada", lambda query, doc: None if (query, doc) == ("q00", "d3") else 1.0 * (doc == "d0"))
        before = settling_of(made.store, made.task)
        assert (before.n_open, before.n_judgments, before.n_untold) == (0, 0, 0)  # settled: +1 in 11 of 12 or more
        assert before.settled
    with small_task(tmp_path / "two", n_queries=11, measure="P@1") as made:
        made.grade("ada", lambda query, doc: None if doc == "d3" and query < "q08" else 1.0 * (doc == "d0"))
        assert settling_of(made.store, made.task).n_judgments == 8
        for query in made.queries[:8]:
            made.say("ada", query, "d3", status="cannot_tell")
        state = settling_of(made.store, made.task)
        assert (state.n_open, state.n_judgments, state.n_untold, state.can_be_settled) == (0, 0, 8, False)
        assert "8 docs that raters could not tell could turn it: only more raters of each doc can" in state.words
    with small_task(tmp_path / "three", n_queries=11, measure="P@1") as made:
        made.grade("ada", lambda query, doc: None if doc == "d3" and query < "q08" else 1.0 * (doc == "d0"))
        for query in made.queries[:2]:
            made.say("ada", query, "d3", status="cannot_tell")
        state = settling_of(made.store, made.task)
        assert (state.n_open, state.n_untold) == (6, 2)
        assert "2 docs that raters could not tell could turn it, too: other docs may settle it" in state.words
        assert state.short == "6 judgments of this task can change the answer; docs that nobody could tell can, too."
        for query in made.queries[2:8]:
            made.say("ada", query, "d3", grade=0.0)
        assert settling_of(made.store, made.task).settled  # 9 of 11 queries are +1 at least, without another rater


def test_one_of_two_who_cannot_tell_leaves_one_judgment(tmp_path):
    with small_task(tmp_path, n_queries=11, measure="P@1", overlap=2) as made:
        made.grade("ada", lambda query, doc: 1.0 * (doc == "d0"))  # d3 is 0 whatever bo says, d0 is not
        state = settling_of(made.store, made.task)
        assert {doc for _, doc in state.order} == {"d0"}
        assert state.n_judgments == 11
        for query in made.queries:
            made.say("bo", query, "d0", status="cannot_tell")
        state = settling_of(made.store, made.task)
        assert (state.settled, state.n_judgments) == (True, 0)


def test_show_agreement_and_compare_have_one_number(tmp_path):
    """Four of twelve queries are judged, with +1 of P@1 each: 4/12 over all, of which eight have no judged doc."""
    with small_task(tmp_path, measure="P@1") as made:
        made.grade("ada", lambda query, doc: 1.0 * (doc == "d0") if query < "q04" else None)
        state = settling_of(made.store, made.task)
        (pair,) = agreement_of(made.store, made.task).verdicts.pairs
        assert (state.n_queries, state.n_unjudged_queries) == (12, 8)
        assert state.pairs[0].delta == pytest.approx(4 / 12)
        assert (pair.main.n_queries, pair.main.delta) == (12, pytest.approx(4 / 12))
        assert (pair.main.code, pair.lines[0].n_queries) == (state.pairs[0].code, 4)
        said = "Compared on 12 queries, of which 8 have no judged doc and count as no difference."
        assert said in state.words
        assert said in agreement_of(made.store, made.task).verdicts.note
        same = same_numbers(made.store, made.task, make_qrels(made.store, made.task), file="out.txt")
        assert same.task == "new +0.333 against old (n = 12)"
        assert same.alone == "new +1.000 against old (n = 4)"
        assert "--unjudged-queries zero" in same.commands[-1]


@pytest.mark.parametrize(
    ("rule", "why", "for_raters"),
    [
        ("only", "raters disagree on 12 docs, the first is d1 for query q00", "raters gave docs different grades"),
        (
            "trusted",
            "the trusted rater, zed, has no grade here",
            "there is no grade of the one rater whose grades count",
        ),
        (
            "dawid-skene",
            "the rule dawid-skene needs 5 raters with 20 grades each, but there are 2",
            "too few raters have given enough grades",
        ),
    ],
)
def test_a_rule_that_makes_no_labels_settles_nothing(tmp_path, rule, why, for_raters):
    """All docs are graded by both raters, who differ on d1 alone, which is at rank 1 of no list."""
    trusted = {"trusted": "zed"} if rule == "trusted" else {}
    with small_task(tmp_path, measure="P@1", overlap=2, rule=rule, **trusted) as made:
        made.grade("ada", {"d0": 3, "d1": 0, "d2": 0, "d3": 0})
        made.grade("bo", {"d0": 3, "d1": 1, "d2": 0, "d3": 0})
        state = settling_of(made.store, made.task)
        assert (state.stage, state.settled, state.can_be_settled) == ("no labels", False, False)
        assert (state.pairs[0].delta, state.pairs[0].settled) == (1.0, False)  # d0 before d3 for every query
        stands_in = "Until it does, the lower median stands in, by which nothing is settled."
        assert state.lines[-1] == f"The task's rule ({rule}) gives no labels yet: {why}. {stands_in}"
        assert "Settled:" not in state.words
        assert state.short == (
            f"It is not settled: the rule of this task gives no labels yet, as {for_raters}; the lower median stands in "
            "until it does."
        )
        by_median = made.store.tasks.add(
            "same docs",
            collection="doctors",
            plan=replace(made.task.plan, rule="lower median", trusted=""),
            guideline=made.task.guideline,
            items=made.store.tasks.items(made.task),
        )
        other = SmallTask(made.store, by_median)
        other.grade("ada", {"d0": 3, "d1": 0, "d2": 0, "d3": 0})
        other.grade("bo", {"d0": 3, "d1": 1, "d2": 0, "d3": 0})
        assert settling_of(made.store, by_median).settled


def test_a_task_whose_rule_makes_no_labels_says_what_can_be_judged(tmp_path):
    """Of 48 docs, one has one of two grades; 47 lack two."""
    with small_task(tmp_path, measure="P@1", overlap=2, rule="trusted", trusted="zed") as made:
        made.say("ada", "q00", "d0", grade=3.0)
        state = settling_of(made.store, made.task)
        assert "48 open docs of the task can be judged (95 more judgments)." in state.lines
        assert state.short.endswith("until it does. Of this task 95 judgments (of 48 docs) can be given.")


def test_one_system_is_compared_with_nothing(tmp_path):
    with small_task(tmp_path, lists={"new": ("d0", "d1")}, measure="P@1") as made:
        state = settling_of(made.store, made.task)
    assert (state.stage, state.words) == (
        "nothing to settle",
        "There is one system only, so there is nothing to compare.",
    )


def test_docs_that_the_trusted_rater_did_not_grade_are_counted(tmp_path):
    with small_task(tmp_path, measure="P@1", rule="trusted", trusted="bo") as made:
        made.grade("ada", lambda query, doc: 1.0 * (doc == "d0"))
        made.say("bo", "q00", "d0", grade=1.0)
        state = settling_of(made.store, made.task)
        assert state.n_untrusted == 47  # of 12 queries with 4 docs
        assert "The trusted rater did not grade 47 docs of those graded: the lower median of the others" in state.words
