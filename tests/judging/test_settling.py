"""What is settled: by hand on small cases, and by trying gradings at random where it is said to be."""

from __future__ import annotations

import math
import random
from uuid import uuid4

import pytest

from rankscope.comparison.compare import compare_runs
from rankscope.comparison.verdict import VerdictContext, call
from rankscope.data.run import Run
from rankscope.data.tasks import TaskItem, TaskPlan
from rankscope.judging.rater_view import SaveRequest
from rankscope.judging.session import session_of
from rankscope.judging.settling import order_for, over_all, people_say, settle, settle_audit
from rankscope.judging.settling_state import left_words
from rankscope.judging.settling_watch import SettlingWatch
from rankscope.judging.tasks import create_task
from rankscope.judging.worst_case import ComparedRuns, KnownGrades
from rankscope.records import replace
from rankscope.store import CollectionFacts, RunFacts, StoredQuery, open_store

SCALE = (0.0, 1.0, 2.0, 3.0)


def compared(lists, measure="P@2", margin=0.01, **more):
    queries = sorted({query for by_query in lists.values() for query in by_query})
    runs = {name: Run(by_query, name=name) for name, by_query in lists.items()}
    return ComparedRuns(runs=runs, measure=measure, margin=margin, query_ids=tuple(queries), scale=SCALE, **more)


def known(grades, *, unfinished=()):
    return KnownGrades(grades=grades, unfinished=frozenset(unfinished), last_judgment=1)


def twelve(a, b):
    """Return two systems that answer twelve queries alike."""
    queries = [f"q{i:02}" for i in range(12)]
    return {"a": {query: list(a) for query in queries}, "b": {query: list(b) for query in queries}}


def test_bounds_of_a_precision_by_hand():
    # of 12 queries one doc each is open: in b alone, at rank 2 of 2, worth 1/2. Only q00's is open, so 1/24 at most.
    lists = twelve(["x", "y"], ["x", "z"])
    grades = {query: {"x": 1.0, "y": 0.0, "z": 0.0} for query in lists["a"]}
    del grades["q00"]["z"]
    state = settle(compared(lists), known(grades))
    (pair,) = state.pairs
    assert (pair.low, pair.high) == (0.0, pytest.approx(1 / 24))
    assert state.order == (("q00", "z"),)
    assert (state.stage, state.n_open) == ("open", 1)


def test_all_judged_is_settled():
    lists = twelve(["x", "y"], ["x", "z"])
    grades = {query: {"x": 1.0, "y": 0.0, "z": 2.0 if query > "q02" else 0.0} for query in lists["a"]}
    state = settle(compared(lists), known(grades))
    assert (state.stage, state.n_open, state.order) == ("settled", 0, ())
    assert "no grade of the docs that are left" in state.short


def test_docs_that_both_have_at_the_same_rank_settle_nothing_and_are_not_asked_for():
    lists = twelve(["x", "y"], ["x", "y"])
    state = settle(compared(lists), known({"q00": {"x": 1.0}}))
    assert (state.stage, state.n_open) == ("settled", 0)


def test_a_doc_that_a_second_rater_may_change_is_open():
    lists = twelve(["x", "y"], ["x", "z"])
    grades = {query: {"x": 1.0, "y": 0.0, "z": 1.0} for query in lists["a"]}
    assert settle(compared(lists), known(grades)).settled
    state = settle(compared(lists), known(grades, unfinished=[("q03", "z")]))
    assert not state.settled or state.pairs[0].low != state.pairs[0].high
    assert state.order in ((), (("q03", "z"),))


def test_the_top_of_the_scale_counts_though_nobody_has_given_it():
    # DCG of the open doc at rank 1: with gain = grade at most 3, not 1 as the judged docs have it
    lists = twelve(["y"], ["z"])
    grades = {query: {"y": 1.0, "z": 1.0} for query in lists["a"]}
    del grades["q00"]["z"]
    (pair,) = settle(compared(lists, measure="DCG@1"), known(grades)).pairs
    assert (pair.low, pair.high) == (pytest.approx(-1 / 12), pytest.approx(2 / 12))


def test_nothing_judged_asks_for_all_that_matters():
    lists = twelve(["x", "y"], ["x", "z"])
    state = settle(compared(lists), known({}))
    assert (state.stage, state.n_open, state.pairs) == ("nothing judged", 24, ())
    assert [query for query, _ in state.order] == sorted(2 * list(lists["a"]))
    assert state.short == "At most 24 more judgments and it is settled."


def test_a_measure_without_bounds_is_settled_once_nothing_is_open():
    """ERR@2 by hand: a doc of the highest grade given, 1, satisfies by 1/2. So a has 1/2, and b 1/2 + 1/2 * 1/2 * 1/2."""
    lists = twelve(["x", "y", "further"], ["x", "z"])
    grades = {query: {"x": 1.0, "y": 0.0, "z": 1.0} for query in lists["a"]}
    state = settle(compared(lists, measure="ERR@2"), known(grades))
    (pair,) = state.pairs
    assert (state.stage, pair.settled, pair.code) == ("settled", True, "better")
    assert (pair.delta, pair.low, pair.high) == (pytest.approx(1 / 8),) * 3
    assert "Settled: no grade of an open doc changes this." in state.words
    del grades["q00"]["z"]
    state = settle(compared(lists, measure="ERR@2", docs=frozenset({("q00", "z")})), known(grades))
    (pair,) = state.pairs
    assert (state.stage, state.settled, pair.settled) == ("cannot be bounded", False, False)
    assert (pair.delta, pair.low, pair.high) == (pytest.approx(11 / 96), None, None)
    assert state.order == (("q00", "z"),)
    assert "b against a: b is better." in state.words
    assert (
        "What open docs could do to ERR@2 at the worst is not known: it is settled once the 1 open doc is judged."
        in (state.words)
    )
    assert state.short == "At most 1 more judgment and it is settled."
    assert order_for(state, 1) == ()  # nothing is known to matter more than the rest
    outside = settle(compared(lists, measure="ERR@2", docs=frozenset({("q01", "z")})), known(grades))
    assert (outside.outside, outside.can_be_settled) == ((("q00", "z"),), False)
    assert "it is not settled as long as docs are open. The task alone cannot settle it" in outside.words


def test_without_bounds_a_doc_that_a_second_rater_may_change_is_open():
    lists = twelve(["x", "y"], ["x", "z"])
    grades = {query: {"x": 1.0, "y": 0.0, "z": 1.0} for query in lists["a"]}
    state = settle(compared(lists, measure="Bpref"), known(grades, unfinished=[("q03", "z")]))
    assert (state.stage, state.order) == ("cannot be bounded", (("q03", "z"),))
    assert settle(compared(lists, measure="Bpref"), known(grades)).settled


def test_a_scale_by_the_highest_grade_has_bounds_once_it_is_given():
    """Of RBP with graded gain, grades are shares of the highest one: as long as nobody has given it, all may change."""
    lists = twelve(["y"], ["z"])
    grades = {query: {"y": 0.0, "z": 1.0} for query in lists["a"]}
    del grades["q00"]["z"]
    what = compared(lists, measure="RBP(gain='linear')", margin=None)
    state = settle(what, known(grades))
    assert state.stage == "cannot be bounded"
    assert "is not known before a doc has the highest grade of the scale" in state.words
    grades["q01"]["z"] = 3.0
    assert settle(what, known(grades)).stage in ("open", "settled")
    assert settle(compared(lists, measure="RBP"), known(grades)).pairs[0].low is not None


def test_grades_of_less_than_one_are_told_apart_by_a_measure_of_gain():
    """nDCG@1 by hand: a's doc is worth half of b's in each of the twelve queries, whatever the numbers are."""
    lists = twelve(["y"], ["z"])
    grades = {query: {"y": 0.25, "z": 0.5} for query in lists["a"]}
    runs = {name: Run(of, name=name) for name, of in lists.items()}
    what = ComparedRuns(
        runs=runs, measure="nDCG@1", margin=0.01, query_ids=tuple(sorted(lists["a"])), scale=(0.0, 0.25, 0.5)
    )
    state = settle(what, known(grades))
    assert (state.settled, state.pairs[0].code, state.pairs[0].delta) == (True, "better", pytest.approx(0.5))


def test_of_few_queries_who_is_ahead_settles_it():
    lists = {"a": {"q1": ["y"], "q2": ["y"]}, "b": {"q1": ["z"], "q2": ["z"]}}
    grades = {"q1": {"y": 0.0, "z": 1.0}, "q2": {"y": 0.0}}
    state = settle(compared(lists, measure="P@1"), known(grades))
    assert (state.pairs[0].code, state.pairs[0].ahead, state.settled) == ("too_few", True, True)
    grades["q2"] = {"z": 0.0}
    assert not settle(compared(lists, measure="P@1"), known(grades)).settled


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("measure", ["nDCG@3", "P@3", "RR@3", "AP@3"])
def test_no_grades_of_open_docs_change_what_is_settled(seed, measure):
    """Judge doc by doc; once a pair is settled, sixty gradings of what is left must lead to the same verdict."""
    draw = random.Random(seed)
    docs = [f"d{i}" for i in range(8)]
    queries = [f"q{i:02}" for i in range(14)]
    lists = {name: {query: draw.sample(docs, 3) for query in queries} for name in ("a", "b")}
    for query in queries[4:]:  # b is better where a has only docs that turn out bad
        lists["b"][query] = [docs[0], *draw.sample(docs[1:], 2)]
    truth = {query: {doc: float(draw.choice(SCALE)) for doc in docs} for query in queries}
    for query in queries:
        truth[query][docs[0]] = 3.0
    pairs = [(query, doc) for query in queries for doc in docs]
    draw.shuffle(pairs)
    what, grades, tried = compared(lists, measure=measure), {}, 0
    for n, (query, doc) in enumerate(pairs, 1):
        grades.setdefault(query, {})[doc] = truth[query][doc]
        if n % 7 or n < 30:
            continue
        state = settle(what, known(grades))
        if not state.settled or state.pairs[0].low == state.pairs[0].high:
            continue
        expected = verdict_on(what, grades)
        for _ in range(60):
            tried += 1
            assert verdict_on(what, filled(grades, queries, docs, draw)) == expected
        if tried >= 120:
            return


def filled(grades, queries, docs, draw):
    favoured = draw.choice(docs)
    pick = [lambda _: draw.choice(SCALE), lambda _: 3.0, lambda _: 0.0, lambda doc: 3.0 * (doc == favoured)]
    grade = draw.choice(pick)
    return {q: {d: grades.get(q, {}).get(d, float(grade(d))) for d in docs} for q in queries}


def verdict_on(what, grades):
    qrels = known(grades).qrels(what.query_ids)
    request = what.request()
    (pair,) = compare_runs(qrels, dict(what.runs), request, on_note=lambda _: None).groups[0].compared
    return call(pair) if pair.differs else "same"


def test_about_how_many_lies_between_one_and_all():
    lists = twelve(["x", "y"], ["x", "z"])
    grades = {query: {"x": 1.0, "y": 0.0, "z": 1.0} for query in lists["a"]}
    for query in ("q00", "q01", "q02", "q03", "q04"):
        del grades[query]["z"], grades[query]["y"]
    state = settle(compared(lists), known(grades))
    assert state.n_open == 10
    assert 0 < state.n_about <= 10
    assert state.n_about % 2 == 0  # whole queries of two docs
    assert "do if they are graded like those so far" in state.words
    assert left_words(replace(state, n_about=1)).endswith("about 1 does if it is graded like those so far.")


def audit_items(queries):
    return [
        TaskItem(number=2 * i + j, query=query, doc=doc, place=i, purpose="audit")
        for i, query in enumerate(queries)
        for j, doc in enumerate(("y", "z"))
    ]


def test_an_audit_is_looked_at_as_planned_and_in_between_says_nothing():
    queries = [f"q{i:02}" for i in range(50)]
    lists = {"a": {query: ["y"] for query in queries}, "b": {query: ["z"] for query in queries}}
    what, items = compared(lists, measure="P@1"), audit_items(queries)
    grades = {query: {"y": 0.0, "z": 1.0} for query in queries[:19]}
    grades["q30"] = {"y": 0.0, "z": 1.0}  # not next in the order: it does not count
    state = settle_audit(what, known(grades), items)
    assert (state.look.n_audited, state.look.look, state.look.next_at, state.pairs) == (19, 0, 20, ())
    assert state.short == "19 of 50 queries audited; look 1 of 3 is after 20."
    assert state.order[0] == ("q19", "y")
    assert not state.settled
    grades |= {query: {"y": 0.0, "z": 1.0} for query in queries[19:25]}
    state = settle_audit(what, known(grades), items)
    assert (state.look.n_audited, state.look.look, state.look.next_at) == (25, 1, 40)
    assert state.look.looks == (20, 40, 50)
    assert state.look.level == pytest.approx(1 - 0.05 / 3, abs=1e-6)
    assert state.pairs[0].code == "better"
    assert math.isclose(state.pairs[0].delta, 1.0)


def test_an_audit_says_which_docs_that_could_not_be_told_it_waits_for():
    """By hand: of q00 to q09 all is graded but z of q01, which raters could not tell; q10 is nobody's yet."""
    queries = [f"q{i:02}" for i in range(50)]
    lists = {"a": {query: ["y"] for query in queries}, "b": {query: ["z"] for query in queries}}
    what, items = compared(lists, measure="P@1"), audit_items(queries)
    grades = {query: {"y": 0.0, "z": 1.0} for query in queries[:10]}
    grades["q01"] = {"y": 0.0}
    by_one, by_two = (KnownGrades(grades=grades, cannot_tell={("q01", "z"): n}) for n in (1, 2))
    state = settle_audit(what, by_one, items)
    assert (state.look.n_audited, state.look.untold, state.look.n_waiting) == (1, (("q01", "z"),), 8)
    assert (state.n_open, state.n_untold) == (81, 1)
    assert state.words.endswith(
        "Doc z of query q01 could not be told, so 8 queries that are judged wait: an audit goes in its order. Somebody "
        "who can tell has to grade it."
    )
    assert state.short.endswith("look 1 of 3 is after 20. 1 doc that could not be told waits for somebody who can.")
    assert settle_audit(what, by_two, items).words.endswith(
        "Two raters or more could not tell it: as long as nobody can, the audit stays at 1 query, without the look after "
        "20. No query is left out for it, as the others would be no random ones any more."
    )
    grades["q01"] = {"y": 0.0, "z": 0.0}
    state = settle_audit(what, known(grades), items)
    assert (state.look.n_audited, state.look.untold, state.n_untold) == (10, (), 0)


def test_an_audit_of_changed_queries_tells_the_difference_over_all():
    """Of 50 queries 20 have changed, and b wins 12: 0.6 there is 0.24 of all, by hand with a squared error of
    0.4^2 (12 * 0.4^2 + 8 * 0.6^2) / (19 * 20) + 0.4 * 0.6 * 0.6^2 / 50."""
    queries = [f"q{i:02}" for i in range(20)]
    lists = {"a": {query: ["y"] for query in queries}, "b": {query: ["z"] for query in queries}}
    grades = {query: {"y": 0.0, "z": float(query < "q12")} for query in queries}
    what = compared(lists, measure="P@1", margin=0.1)
    alone = settle_audit(what, known(grades), audit_items(queries), looks=(20,))
    assert (alone.pairs[0].code, alone.pairs[0].delta) == ("better", pytest.approx(0.6))
    state = settle_audit(what, known(grades), audit_items(queries), looks=(20,), changed=(20, 50))
    assert state.pairs[0].delta == pytest.approx(0.24)
    assert state.pairs[0].code == "better"  # the interval of about 0.24 - 2.1 * 0.061 is above the margin
    assert "It is said of all 50 queries, of which 20 have different docs and are audited" in state.words
    (pair,) = people_say(what, known(grades))
    error = over_all(pair, state.look, VerdictContext(margin_given=True)).standard_error
    assert error == pytest.approx(math.sqrt(0.16 * 4.8 / 380 + 0.24 * 0.36 / 50))


def said_of(session, query):
    return next(each.state.uuid for each in session.query(query).docs if each.doc == "z")


def test_queries_that_no_grade_changes_count_in_a_stored_task(tmp_path):
    """Of fourteen queries both systems answer two alike: the difference is a mean over fourteen, by hand 12/14."""
    queries = {f"q{i:02}": StoredQuery(f"text {i}") for i in range(14)}
    with open_store(tmp_path / "store.db", create=True) as store:
        for system, first in (("old", "y"), ("new", "z")):
            collection = CollectionFacts(name="c", queries=queries)
            run = Run({query: [first if query > "q01" else "x"] for query in queries})
            store.runs.add(run, RunFacts(system=system, started="2026-01-01T00:00:00", collection=collection))
        plan = TaskPlan(pool="settle", measure="P@1", overlap=2, repeat_share=0.0)
        task = create_task(store, "t", plan, runs=["old", "new"])
        items = store.tasks.items(task)
        assert {(item.query, item.doc) for item in items} == {(q, d) for q in queries if q > "q01" for d in "yz"}
        watch = SettlingWatch(store)
        assert watch.now(task).stage == "nothing judged"
        sessions = [session_of(store, task, store.raters.invite(task, name=name)[0]) for name in ("ann", "bo")]
        for session in sessions:
            for item in items:
                said = SaveRequest(uuid=str(uuid4()), query=item.query, doc=item.doc, grade=2.0 * (item.doc == "z"))
                assert session.save(said).status == "ok"
            state = watch.now(task)
            assert (state.settled, state.n_judged) == ((False, 0) if session is sessions[0] else (True, 24))
            assert state.pairs[0].delta == pytest.approx(12 / 14)
        assert state is watch.now(task)  # nothing new was judged
        assert watch.latest(task) == state
        assert watch.is_newest(task, state)
        taken_back = SaveRequest(
            uuid=str(uuid4()), query="q02", doc="z", withdrawn=True, replaces=said_of(session, "q02")
        )
        assert session.save(taken_back).status == "ok"
        assert not watch.is_newest(task, state)
        assert watch.now(task).n_judged == 23
