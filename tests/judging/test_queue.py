"""The queue of a rater, whatever was judged before: each doc to as many raters as planned, and what is done stays."""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankscope.judging.queue import GAP, QueueEntry, likely_again, queue_of, screen_order, share_out, unit_hash
from rankscope.judging.records import TaskItem, TaskPlan

NAMES = st.text(st.sampled_from("ab\udc80\0<"), min_size=1, max_size=3)


def items_of(pairs, *, gold=(), place=0) -> list[TaskItem]:
    return [
        TaskItem(number=number, query=query, doc=doc, place=place, gold=1.0 if number in gold else None)
        for number, (query, doc) in enumerate(pairs, start=1)
    ]


def queue(plan, items, rater, raters, done=None, *, again=None, in_vain=None, **more) -> tuple[QueueEntry, ...]:
    shared = share_out(plan, items, raters=raters, done=done or {}, in_vain=in_vain)
    return queue_of(plan, shared, rater=rater, seed=100 + rater, done=done or {}, done_again=again or {}, **more)


def names(entries) -> list[tuple[str, str, bool]]:
    return [(entry.item.query, entry.item.doc, entry.again) for entry in entries]


@st.composite
def cases(draw):
    """Return a plan, items, raters who may judge, and who has judged what, also raters who may not any more."""
    pairs = draw(st.lists(st.tuples(NAMES, NAMES), unique=True, max_size=25))
    plan = TaskPlan(
        overlap=draw(st.integers(1, 4)),
        gold_share=draw(st.sampled_from([0.0, 0.2, 0.5])),
        repeat_share=draw(st.sampled_from([0.0, 0.1, 0.5])),
    )
    items = items_of(pairs, gold=draw(st.sets(st.integers(1, 25), max_size=5)))
    raters = draw(st.lists(st.integers(1, 6), unique=True, min_size=1, max_size=5))
    numbers = iter(draw(st.permutations(range(1, 200))))
    judged = (
        {pair: draw(st.sets(st.integers(1, 7), max_size=3)) for pair in draw(st.sets(st.sampled_from(pairs)))}
        if pairs
        else {}
    )
    done = {pair: {rater: next(numbers) for rater in sorted(by)} for pair, by in judged.items() if by}
    return plan, items, raters, done, numbers


@given(cases())
def test_each_doc_goes_to_as_many_raters_as_planned(case):
    plan, items, raters, done, _ = case
    queues = {rater: queue(plan, items, rater, raters, done) for rater in raters}
    for item in items:
        pair = item.query, item.doc
        if item.gold is not None:
            continue
        having = {rater for rater, entries in queues.items() if (*pair, False) in names(entries)}
        judged = set(done.get(pair, {}))
        assert judged & set(raters) <= having
        possible = len(judged | set(raters))
        if len(judged) <= plan.overlap:
            assert len(having | judged) == min(plan.overlap, possible)
        else:
            assert having == judged & set(raters)


@given(cases())
def test_what_is_done_comes_first_as_it_was_begun(case):
    plan, items, raters, done, _ = case
    rater = raters[0]
    entries = queue(plan, items, rater, raters, done)
    begun = sorted((by[rater], pair) for pair, by in done.items() if rater in by)
    assert [(entry.item.query, entry.item.doc) for entry in entries if entry.done] == [pair for _, pair in begun]
    flags = [entry.done for entry in entries]
    assert flags == sorted(flags, reverse=True)
    assert len(names(entries)) == len(set(names(entries)))
    assert entries == queue(plan, items, rater, raters, done)
    assert set(names(entries)) == set(names(queue(plan, items[::-1], rater, raters, done)))


@given(cases(), st.lists(st.tuples(NAMES, NAMES), unique=True, max_size=10))
def test_adding_docs_never_moves_or_removes_what_is_done(case, more):
    plan, items, raters, done, numbers = case
    rater = raters[0]
    again = {pair: next(numbers) for pair, by in done.items() if rater in by and plan.repeat_share}
    before = queue(plan, items, rater, raters, done, again=again)
    known = {(item.query, item.doc) for item in items}
    added = [pair for pair in more if pair not in known]
    longer = items + [
        TaskItem(number=len(items) + place, query=query, doc=doc, place=0)
        for place, (query, doc) in enumerate(added, start=1)
    ]
    after = queue(plan, longer, rater, raters, done, again=again)
    assert [entry for entry in after if entry.done] == [entry for entry in before if entry.done]


@given(cases())
def test_docs_come_again_later_and_not_too_many(case):
    plan, items, raters, _, _ = case
    entries = queue(plan, items, raters[0], raters)
    firsts = [entry for entry in entries if not entry.again]
    repeats = [entry for entry in entries if entry.again]
    assert len(repeats) <= round(plan.repeat_share * len(firsts))
    order = names(entries)
    for entry in repeats:
        assert entry.item.gold is None
        between = order.index((entry.item.query, entry.item.doc, True)) - order.index(
            (entry.item.query, entry.item.doc, False)
        )
        assert between > min(GAP, 3)


@given(st.integers(1, 30), st.sampled_from([0.05, 0.1, 0.5]), st.randoms(use_true_random=False))
def test_no_more_docs_come_again_to_who_is_done_however_the_order_changes(n, share, rng):
    """By hand: so much of n docs, rounded, and none of the last three, which would be remembered."""
    plan, items = TaskPlan(repeat_share=share), items_of([(f"q{i % 7}", f"d{i}") for i in range(n)])
    done, again, numbers = {}, {}, itertools.count(1)
    for _ in range(3 * n):
        order = rng.sample([(item.query, item.doc) for item in items], n)
        open_ = [entry for entry in queue(plan, items, 1, [1], done, again=again, order=order) if not entry.done]
        if not open_:
            break
        entry = open_[0]
        pair = entry.item.query, entry.item.doc
        if entry.again:
            again[pair] = next(numbers)
        else:
            done.setdefault(pair, {})[1] = next(numbers)
    assert len(again) == max(0, min(round(share * n), n - 3))
    for _ in range(5):
        order = rng.sample([(item.query, item.doc) for item in items], n)
        assert all(entry.done for entry in queue(plan, items, 1, [1], done, again=again, order=order))


def test_who_is_not_asked_owes_nothing_and_what_nobody_can_judge_is_counted():
    """By hand: 20 docs for two raters each are 40 answers; Ann (1) is asked for 20, Bo (2) has given 5 and left."""
    items = items_of([(f"q{i}", f"d{i}") for i in range(20)])
    plan = TaskPlan(overlap=2, repeat_share=0.2)
    done = {(f"q{i}", f"d{i}"): {2: i + 1} for i in range(5)}
    assert share_out(plan, items, raters=[1], done=done).n_for_nobody == 40 - 20 - 5
    assert [entry.done for entry in queue(plan, items, 2, [1], done)] == [True] * 5
    assert len(queue(plan, items, 1, [1], done)) == 20 + 4


@pytest.mark.parametrize(
    ("n", "share", "again"), [(4, 0.05, 0), (5, 0.05, 1), (10, 0.05, 1), (60, 0.05, 3), (20, 0.0, 0)]
)
def test_some_lists_come_again_to_each_rater(n, share, again):
    """By hand: 5% of 60 queries are 3, and of 5 queries or more one comes again at least."""
    items = items_of([(f"q{i}", "") for i in range(2 * n)])
    plan = TaskPlan(mode="lists", repeat_share=share)
    for rater in (1, 2):
        entries = queue(plan, items, rater, [1, 2])
        repeated = {entry.item.query for entry in entries if entry.again}
        assert (len(entries), len(repeated)) == (n + again, again)
        likely = likely_again(plan, share_out(plan, items, raters=[1, 2], done={}), rater=rater, seed=100 + rater)
        assert {(query, "") for query in repeated} <= likely


def test_gold_docs_are_a_share_of_what_each_rater_judges():
    """By hand: 40 docs and a share of 0.2 are 10 gold docs, as 10 of 50 are 0.2; with two raters, 20 and 5."""
    items = items_of([(f"q{i}", f"d{j}") for i in range(10) for j in range(6)], gold=range(1, 61, 3))
    plan = TaskPlan(gold_share=0.2, repeat_share=0.0)
    alone = queue(plan, items, 1, [1])
    assert (len(alone), sum(entry.item.gold is not None for entry in alone)) == (50, 10)
    for rater in (1, 2):
        half = queue(plan, items, rater, [1, 2])
        assert (len(half), sum(entry.item.gold is not None for entry in half)) == (25, 5)
    places = [place for place, entry in enumerate(alone) if entry.item.gold is not None]
    assert min(places) < 15
    assert max(places) > 35


def test_raters_get_alike_much_and_whole_queries():
    items = items_of([(f"q{i}", f"d{j}") for i in range(12) for j in range(5)])
    queues = {rater: queue(TaskPlan(repeat_share=0.0), items, rater, [1, 2, 3]) for rater in (1, 2, 3)}
    assert [len(entries) for entries in queues.values()] == [20, 20, 20]
    for entries in queues.values():
        assert set(Counter(entry.item.query for entry in entries).values()) == {5}
        order = [entry.item.query for entry in entries]
        assert all(len(set(order[place : place + 5])) == 1 for place in range(0, 20, 5))


def test_few_queries_are_shared_doc_by_doc():
    items = items_of([("q", f"d{j}") for j in range(10)])
    sizes = [len(queue(TaskPlan(repeat_share=0.0), items, rater, [1, 2])) for rater in (1, 2)]
    assert sizes == [5, 5]


def test_what_a_rater_who_left_has_not_judged_goes_to_the_others():
    items = items_of([(f"q{i}", "d") for i in range(4)])
    plan = TaskPlan(repeat_share=0.0)
    left = {("q0", "d"): {2: 7}}
    assert {name for name, _, _ in names(queue(plan, items, 1, [1], left))} == {"q1", "q2", "q3"}


def test_a_doc_judged_in_vain_goes_to_somebody_else():
    """Rater 1 has all of both queries; where that one cannot tell, rater 2 judges in their place."""
    items = items_of([("q0", "d0"), ("q0", "d1"), ("q1", "d0")])
    plan, done = TaskPlan(repeat_share=0.0), {("q0", "d0"): {1: 7}, ("q0", "d1"): {1: 8}, ("q1", "d0"): {1: 9}}
    assert queue(plan, items, 2, [1, 2], done) == ()
    unclear = {("q0", "d1"): [1]}
    assert names(queue(plan, items, 2, [1, 2], done, in_vain=unclear)) == [("q0", "d1", False)]
    assert len(queue(plan, items, 1, [1, 2], done, in_vain=unclear)) == 3
    assert len(queue(plan, items, 1, [1], done, in_vain=unclear)) == 3


def test_what_matters_most_comes_first():
    items = [TaskItem(number=n, query=f"q{n}", doc="d", place=-n) for n in range(1, 6)]
    plan = TaskPlan(repeat_share=0.0)
    assert [query for query, _, _ in names(queue(plan, items, 1, [1]))] == ["q5", "q4", "q3", "q2", "q1"]
    ordered = queue(plan, items, 1, [1], order=[("q2", "d"), ("q4", "d")])
    assert [query for query, _, _ in names(ordered)] == ["q2", "q4", "q5", "q3", "q1"]


@pytest.mark.parametrize(("n_raters", "overlap"), [(4, 2), (5, 3), (8, 2)])
def test_everybody_shares_docs_with_everybody_and_has_alike_much(n_raters, overlap):
    """With two of four raters for each query there are six pairs, and each judges about a sixth of the docs."""
    draw = random.Random(3)
    pairs = [(f"q{query}", f"d{doc}") for query in range(84) for doc in range(draw.randint(1, 6))]
    raters = range(1, n_raters + 1)
    found = share_out(TaskPlan(overlap=overlap), items_of(pairs), raters=raters, done={}).items_of
    docs = {rater: {(item.query, item.doc) for item in found[rater]} for rater in raters}
    each = len(pairs) * overlap / n_raters
    together = len(pairs) * math.comb(overlap, 2) / math.comb(n_raters, 2)
    assert all(0.85 * each <= len(docs[rater]) <= 1.15 * each for rater in raters)
    assert all(abs(len(docs[a] & docs[b]) - together) <= 12 for a, b in itertools.combinations(raters, 2))


def test_a_query_that_was_begun_is_finished_first():
    pairs = [(query, doc) for query in ("q1", "q2", "q3") for doc in ("a", "b", "c")]
    mixed = [(query, doc) for doc in ("c", "a", "b") for query in ("q3", "q1", "q2")]
    plan = TaskPlan(repeat_share=0)
    left = [entry.item for entry in queue(plan, items_of(pairs), 1, [1], order=mixed)]
    assert [item.query for item in left] == ["q3"] * 3 + ["q1"] * 3 + ["q2"] * 3
    assert [item.doc for item in left[:3]] == ["c", "a", "b"]
    begun = queue(plan, items_of(pairs), 1, [1], {("q2", "a"): {1: 1}}, order=mixed)
    assert [entry.item.query for entry in begun] == ["q2"] * 3 + ["q3"] * 3 + ["q1"] * 3
    audit = queue(TaskPlan(pool="audit", repeat_share=0), items_of(pairs), 1, [1], {("q2", "a"): {1: 1}}, order=mixed)
    assert [entry.item.query for entry in audit[1:4]] == ["q3"] * 3


def test_docs_that_can_move_nothing_come_last_also_of_a_query_that_was_begun():
    pairs = [(query, doc) for query in ("q1", "q2") for doc in ("a", "b", "c")]
    found = queue(
        TaskPlan(repeat_share=0), items_of(pairs), 1, [1], {("q1", "a"): {1: 1}}, order=[("q2", "a"), ("q1", "b")]
    )
    assert [(entry.item.query, entry.item.doc) for entry in found[:3]] == [("q1", "a"), ("q1", "b"), ("q2", "a")]


def test_the_hash_of_the_audit_order():
    """The first 8 bytes of `printf '7\\037q1' | sha256sum` are 6db2aa3d72d45e6d."""
    assert unit_hash(7, "q1") == pytest.approx(int("6db2aa3d72d45e6d", 16) / 2**64, abs=1e-15)


def test_sides_are_drawn_for_each_query_and_swapped_the_second_time():
    left = Counter(screen_order(["a", "b"], 5, f"q{i}", again=False)[0] for i in range(200))
    assert 70 < left["a"] < 130  # 4 standard deviations around 100
    assert screen_order("abc", 5, "q", again=True) == screen_order("abc", 5, "q", again=False)[::-1]
