"""Tasks: which docs they hold, what a plan may ask for, and how they grow."""

from __future__ import annotations

import hashlib
import math
from collections import Counter

import pytest

import rankscope as rs
from kitchen import LISTS, add_runs, graded, joined, small_task
from rankscope.errors import InputError, OptionError, UnknownNameError
from rankscope.judging.agreement import agreement_of
from rankscope.judging.guidelines import DEFAULT_GUIDELINE, guideline_text, parse_guideline
from rankscope.judging.records import GradeLabel, Guideline, TaskItem, TaskPlan
from rankscope.judging.task_notes import task_notes as notes_on
from rankscope.judging.tasks import change_guideline, create_task, extend_task
from rankscope.records import replace
from rankscope.store import CollectionFacts, RunFacts, StoredQuery, open_store


@pytest.fixture
def store(tmp_path):
    with open_store(tmp_path / "store.db", create=True) as opened:
        add_runs(opened)
        yield opened


def pairs_in(store, task) -> list[tuple[str, str]]:
    return [(item.query, item.doc) for item in store.tasks.items(task)]


def test_the_first_docs_of_each_system_once_with_their_ranks(store):
    items = {(item.query, item.doc): item.ranks for item in store.tasks.items(small_task(store, k=2))}
    assert items == {
        ("q1", "a"): {"alpha-system": 1},
        ("q1", "b"): {"alpha-system": 2, "beta-system": 1},
        ("q1", "x"): {"beta-system": 2},
        ("q2", "a"): {"alpha-system": 1, "beta-system": 2},
        ("q2", "d"): {"alpha-system": 2, "beta-system": 1},
        ("q3", "e"): {"alpha-system": 1, "beta-system": 1},
    }


def test_docs_that_are_judged_already_are_not_asked_again(store):
    known = store.qrels.add(rs.Qrels({"q1": {"a": 2, "b": 0}, "q3": {"e": 1}}), name="food")
    task = small_task(store, qrels=known.number)
    assert pairs_in(store, task) == [("q1", "c"), ("q1", "x"), ("q2", "a"), ("q2", "d")]
    assert (task.plan.systems, task.plan.runs) == (("alpha-system", "beta-system"), (1, 2))


def test_gold_docs_come_from_what_is_known(store):
    """By hand: 4 docs are open, and 0.3 x 4 / 0.7 = 1.7, so that 2 gold docs are mixed in."""
    known = store.qrels.add(rs.Qrels({"q1": {"a": 2, "b": 0}, "q3": {"e": 1}}), name="food")
    task = small_task(store, qrels=known.number, gold_share=0.3)
    gold = {(item.query, item.doc): item.gold for item in store.tasks.items(task) if item.gold is not None}
    assert gold == {("q1", "a"): 2.0, ("q1", "b"): 0.0}  # q3 is not judged otherwise, and would stand out
    assert len(joined(store, task).state().items) == 6
    with pytest.raises(OptionError, match="no docs of a known grade") as said:
        small_task(store, "other", gold_share=0.3)
    assert "--gold-share 0" in said.value.hint


def test_gold_docs_have_ranks_where_raters_see_them(store):
    """By hand: among the first two of a list are a, b and x of q1, and not c; of these b and c are known."""
    known = store.qrels.add(rs.Qrels({"q1": {"b": 2, "c": 0}}), name="food")
    task = small_task(store, k=2, qrels=known.number, gold_share=0.3, blind=False)
    gold = [(item.doc, item.ranks) for item in store.tasks.items(task) if item.gold is not None]
    assert gold == [("b", {"alpha-system": 2, "beta-system": 1})], "c would stand out without a rank"
    listed = TaskPlan(pool="file", qrels=known.number, gold_share=0.3, blind=False)
    task = create_task(store, "listed", listed, runs=list(LISTS), pairs=[("q1", "a"), ("q1", "x")])
    gold = [(item.doc, item.ranks) for item in store.tasks.items(task) if item.gold is not None]
    assert gold in ([("b", {"alpha-system": 2, "beta-system": 1})], [("c", {"alpha-system": 3})]), "as a, far down"
    unseen = store.qrels.add(rs.Qrels({"q1": {"y": 1}}), name="unseen")
    with pytest.raises(OptionError, match="no doc of a known grade has a rank that raters would see") as said:
        small_task(store, "refused", qrels=unseen.number, gold_share=0.3, blind=False)
    assert "leave --show-ranks out" in said.value.hint


@pytest.mark.parametrize(
    ("plan", "grows"),
    [
        ({}, {"k": 3, "overlap": 2}),
        ({"mode": "lists"}, {"overlap": 2}),
        ({"pool": "audit", "measure": "P@2"}, {"k": 3, "overlap": 2}),
    ],
)
def test_what_a_task_of_all_docs_can_grow_by_is_true(store, plan, grows):
    model = store.qrels.add(rs.Qrels({"q1": {"a": 1}}), name="model", kind="judge")
    judged = {"judge_qrels": model.number} if plan.get("pool") == "audit" else {}
    task = small_task(store, **{"k": 2, **plan, **judged})
    with pytest.raises(OptionError, match="size does nothing here") as said:
        extend_task(store, task, size=20)
    assert (" and k can grow" in said.value.hint) == ("k" in grows)
    for name, value in grows.items():
        assert getattr(extend_task(store, store.tasks.get(task.number), **{name: value}).task.plan, name) == value


def test_a_sample_grows_without_losing_docs(store):
    task = small_task(store, pool="sample", size=3)
    before = set(pairs_in(store, task))
    assert len(before) == 3
    extended = extend_task(store, task, size=5)
    assert (extended.items, extended.task.plan.size) == (2, 5)
    assert before < set(pairs_in(store, task))


def test_the_first_docs_of_some_queries_are_whole_queries_and_grow(store):
    """By hand: the lists name four docs of q1, two of q2 and one of q3; a query is taken as a whole or not at all."""
    every = Counter(query for query, _ in pairs_in(store, small_task(store, "all")))
    task = small_task(store, size=4)
    before = Counter(query for query, _ in pairs_in(store, task))
    assert 0 < before.total() <= 4 < every.total()
    assert all(n == every[query] for query, n in before.items())
    extended = extend_task(store, task, size=every.total())
    assert extended.items == every.total() - before.total()
    with pytest.raises(OptionError, match="size does nothing here: the task all was made of all"):
        extend_task(store, store.tasks.get("all"), size=50)
    with pytest.raises(InputError, match="nothing to judge") as said:
        small_task(store, "none", size=1)
    assert "size=1 is less than a query has" in said.value.hint


def test_a_list_of_docs_has_no_size_and_only_queries_that_are_known(store):
    with pytest.raises(OptionError, match="docs of a list are all judged"):
        create_task(store, "sized", rs.TaskPlan(pool="file", size=1), collection="food", pairs=[("q1", "a")])
    with pytest.raises(InputError, match="food does not have the query q99"):
        create_task(store, "odd", rs.TaskPlan(pool="file"), collection="food", pairs=[("q1", "a"), ("q99", "a")])
    task = create_task(store, "listed", rs.TaskPlan(pool="file"), collection="food", pairs=[("q1", "a"), ("q2", "no")])
    with pytest.raises(InputError, match="food does not have the queries q98 and q99"):
        extend_task(store, task, pairs=[("q98", "a"), ("q99", "a")])


def test_the_order_of_an_audit_follows_from_seed_and_names(store):
    """As the formula says: by the first 8 bytes of the sha256 of seed, \\x1f and query. The lists of q3 are the same."""
    judge = store.qrels.add(rs.Qrels({"q1": {"z": 3, "y": 2, "w": 1}}), name="model", kind="judge")
    task = small_task(store, pool="audit", k=2, judge_qrels=judge.number, seed=7)
    items = store.tasks.items(task)
    assert {item.query for item in items} == {"q1", "q2"}
    assert {item.doc for item in items if item.query == "q1"} == {"a", "b", "x", "z", "y"}
    assert {item.purpose for item in items} == {"audit"}
    order = sorted(("q1", "q2"), key=lambda query: hashlib.sha256(f"7\x1f{query}".encode()).digest()[:8])
    assert [
        query
        for query, _ in dict.fromkeys((item.query, item.place) for item in sorted(items, key=lambda item: item.place))
    ] == order
    assert [line.query for line in joined(store, task).state().queries] == order
    whole = small_task(store, "whole", pool="audit", k=2, judge_qrels=judge.number, changed_only=False)
    assert {item.query for item in store.tasks.items(whole)} == {"q1", "q2", "q3"}
    first = small_task(store, "first", pool="audit", k=2, judge_qrels=judge.number, seed=7, size=1)
    assert {item.query for item in store.tasks.items(first)} == {order[0]}
    extend_task(store, first, size=2)
    places = {(item.query, item.place) for item in store.tasks.items(first)}
    assert places == {(item.query, item.place) for item in items}


@pytest.mark.parametrize("pool", ["audit", "disagreements"])
@pytest.mark.parametrize("kind", ["people", "clicks"])
def test_labels_of_people_are_not_taken_for_those_of_a_model(store, pool, kind):
    people = store.qrels.add(rs.Qrels({"q1": {"a": 3, "b": 1}}), name="ours", kind=kind)
    known = store.qrels.add(rs.Qrels({"q1": {"a": 0}}), name="known")
    with pytest.raises(OptionError, match=rf"the qrels ours \(\w+\) are of {kind}, not of a model"):
        small_task(store, pool=pool, qrels=known.number, judge_qrels=people.number)
    assert not store.tasks.list()


def test_disagreements_between_people_and_a_judge(store):
    people = store.qrels.add(rs.Qrels({"q1": {"a": 3, "b": 1, "c": 0}, "q2": {"d": 1}}), name="people")
    judge = store.qrels.add(rs.Qrels({"q1": {"a": 0, "b": 1, "c": 1, "x": 3}}), name="model", kind="judge")
    task = small_task(store, pool="disagreements", qrels=people.number, judge_qrels=judge.number)
    found = [(item.query, item.doc, item.place) for item in store.tasks.items(task)]
    assert found == [("q1", "a", 0), ("q1", "c", 1)]


def test_pairs_of_a_file_and_items_of_others(store):
    plan = TaskPlan(pool="file", repeat_share=0.0)
    task = create_task(store, "file", plan, collection="food", pairs=[("q1", "a"), ("q1", "a"), ("q3", "z")])
    assert pairs_in(store, task) == [("q1", "a"), ("q3", "z")]
    assert extend_task(store, task, pairs=[("q1", "a"), ("q2", "b")]).items == 1
    given = [TaskItem(number=0, query="q1", doc="d", place=4)]
    assert store.tasks.items(create_task(store, "given", plan, collection="food", items=given))[0].place == 4


@pytest.mark.parametrize(
    ("plan", "said"),
    [
        ({"k": 0}, "are 1 or more"),
        ({"overlap": 0}, r"raters of each doc \(0\) is from 1 to 1,000"),
        ({"overlap": 1_000_000}, r"raters of each doc \(1000000\) is from 1 to 1,000"),
        ({"measure": "ILD@3"}, "ILD@3 needs embeddings, and a task compares by grades and ranks alone"),
        ({"size": 0}, "are 1 or more"),
        ({"gold_share": 0.6}, "from 0 to 0.5"),
        ({"repeat_share": -0.1}, "from 0 to 0.5"),
        ({"repeat_share": float("nan")}, "from 0 to 0.5"),
        ({"mode": "lists", "pool": "audit"}, "lists are judged whole"),
        ({"mode": "lists", "gold_share": 0.1}, "no known grade"),
        ({"pool": "disagreements"}, "need two qrels"),
        ({"pool": "audit"}, "the qrels of the judge"),
        ({"pool": "settle"}, "needs a measure"),
        ({"rule": "trusted"}, "whose grade counts"),
        ({"measure": "P@2", "margin": float("nan")}, "margin = nan is not a number"),
        ({"measure": "P@2", "margin": float("inf")}, "margin = inf is not a number"),
        ({"measure": "P@2", "margin": -0.1}, "0 or more"),
        ({"measure": "P@2", "margin": 1.0}, "as wide as the range of P@2"),
        ({"qrels": 99}, "no qrels 99"),
    ],
)
def test_a_plan_that_cannot_be(store, plan, said):
    with pytest.raises((OptionError, InputError), match=said):
        small_task(store, **plan)
    assert store.tasks.list() == ()


HALVES = "## Scale\n- 0 no\n- 0.5 half\n- 1 yes\n"


@pytest.mark.parametrize(
    ("measure", "works"),
    [("P@2", "P(rel=0.5)@2"), ("RR", "RR(rel=0.5)"), ("nDCG(gain='binary')@2", "nDCG(gain='binary', rel=0.5)@2")],
)
def test_a_scale_that_the_measure_cannot_read_is_refused_with_one_that_it_can(store, measure, works):
    runs = list(LISTS)
    with pytest.raises(
        InputError, match=r"needs whole grades, and the scale of the guideline has the grade 0\.5"
    ) as said:
        create_task(store, "t", TaskPlan(measure=measure), runs=runs, guideline=HALVES)
    assert f"such as {works};" in said.value.hint
    assert store.tasks.list() == ()
    task = create_task(store, "t", TaskPlan(measure=works, repeat_share=0.0), runs=runs, guideline=HALVES)
    session = joined(store, task)
    for item in store.tasks.items(task):
        assert graded(session, item.query, item.doc, 0.5).status == "ok"
    assert rs.settling_of(store, task).stage == "settled"
    create_task(store, "gain", TaskPlan(measure="nDCG@2"), runs=runs, guideline=HALVES)
    create_task(store, "no measure", TaskPlan(), runs=runs, guideline=HALVES)


def test_known_labels_that_the_measure_cannot_read_are_refused(store):
    known = store.qrels.add(rs.Qrels({"q1": {"a": 0.5}}), name="food")
    with pytest.raises(InputError, match=r"P@2 needs whole grades, and the qrels food \(\w+\) have the grade 0.5"):
        small_task(store, qrels=known.number, measure="P@2")
    small_task(store, qrels=known.number, measure="P(rel=0.5)@2")


def test_a_grade_below_0_is_refused(store):
    with pytest.raises(InputError, match="the scale of the guideline has the grade -1") as said:
        create_task(store, "t", TaskPlan(), runs=list(LISTS), guideline="## Scale\n- -1 bad\n- 0 no\n- 1 yes\n")
    assert "grades begin at 0" in said.value.hint
    assert store.tasks.list() == ()


FROM_1 = "## Scale\n- 1 no\n- 2 perhaps\n- 3 yes\n"


@pytest.mark.parametrize("measure", ["P@2", "R@2", "RR@2", "AP@2", "P(rel=1)@2", "nDCG(gain=binary)@2"])
def test_a_scale_whose_lowest_grade_is_relevant_is_refused(store, measure):
    with pytest.raises(InputError, match="the lowest grade of the guideline is 1: every doc would be relevant") as said:
        create_task(store, "t", TaskPlan(measure=measure), runs=list(LISTS), guideline=FROM_1)
    assert "grades begin at 0; give the lowest one 0" in said.value.hint
    assert "rel=2" in said.value.hint
    assert store.tasks.list() == ()


def test_a_scale_from_1_on_is_taken_where_a_measure_says_what_is_relevant_or_reads_grades(store):
    for measure in ("P(rel=2)@2", "nDCG@2"):
        create_task(store, measure, TaskPlan(measure=measure), runs=list(LISTS), guideline=FROM_1)
    assert rs.settling_of(store, stored_before(store, "P@2", FROM_1)).stage != "settled"


def stored_before(store, measure, guideline):
    """Return a task of a store in which no scale was refused."""
    plan = small_task(store, "now", k=2, measure="nDCG@2").plan
    items = store.tasks.items(store.tasks.get("now"))
    sha256 = store.judgments.add_guideline(guideline)
    return store.tasks.add("t", collection="food", plan=replace(plan, measure=measure), guideline=sha256, items=items)


def test_a_stored_task_whose_scale_cannot_be_read_says_so(store):
    task = stored_before(store, "P@2", HALVES)
    session = joined(store, task, "ann")
    assert graded(session, "q1", "a", 0.5).status == "ok"
    state = rs.settling_of(store, task)
    assert (state.stage, state.n_judged, state.settled, state.short) == ("nothing to settle", 1, False, "")
    why = "There is no verdict: P@2 needs whole grades, and the scale of the guideline has the grade 0.5."
    assert state.words.startswith(why)
    assert agreement_of(store, task).verdicts.note.startswith(why)


def test_judged_docs_of_a_stored_scale_with_a_grade_below_0_are_not_open(store):
    """By hand: of q1 only b is relevant, which is second in alpha and first in beta; +1/3 * (1 - 1 / log2 3) = +0.123."""
    task = stored_before(store, "nDCG@2", "## Scale\n- -1 bad\n- 0 no\n- 1 yes\n")
    session = joined(store, task, "ann")
    for item in store.tasks.items(task):
        assert (
            graded(session, item.query, item.doc, 1.0 if (item.query, item.doc) == ("q1", "b") else -1.0).status == "ok"
        )
    state = rs.settling_of(store, task)
    assert (state.settled, state.n_open, state.pairs[0].n_open) == (True, 0, 0)
    assert state.pairs[0].delta == pytest.approx((1 - 1 / math.log2(3)) / 3)
    (pair,) = agreement_of(store, task).verdicts.pairs
    assert pair.main.delta == state.pairs[0].delta


def test_of_many_tasks_it_is_said_how_many_more_there_are(store):
    for number in range(13):
        small_task(store, f"task {number:02}")
    with pytest.raises(UnknownNameError, match="there is no task 'xyz'") as said:
        store.tasks.get("xyz")
    assert said.value.hint.endswith("task 08, task 09 and 3 more")


def test_runs_that_cannot_be_put_together(store):
    with pytest.raises(OptionError, match="named twice"):
        create_task(store, "t", TaskPlan(), runs=["alpha-system", "1"])
    with pytest.raises(OptionError, match="lists to compare need more runs than 1"):
        create_task(store, "t", TaskPlan(mode="lists"), runs=["alpha-system"])
    with pytest.raises(UnknownNameError, match="no run"):
        create_task(store, "t", TaskPlan(runs=(77,)))
    with pytest.raises(OptionError, match="needs a collection"):
        create_task(store, "t", TaskPlan(pool="file"), pairs=[("q", "d")])
    with pytest.raises(InputError, match="nothing to judge"):
        create_task(store, "t", TaskPlan(pool="file"), collection="food")
    other = RunFacts(
        system="gamma", started="2026-01-01T00:00:00+00:00",
        collection=CollectionFacts(name="drinks", queries={"q1": StoredQuery("tea")}),
    )  # fmt: skip
    store.runs.add(rs.Run({"q1": {"a": 1.0}}), other)
    with pytest.raises(OptionError, match="of the collection drinks"):
        create_task(store, "t", TaskPlan(), runs=["alpha-system", "gamma"])


def test_two_runs_of_a_system_have_names_of_their_own(store):
    facts = RunFacts(
        system="alpha-system", started="2026-02-01T00:00:00+00:00",
        collection=CollectionFacts(name="food", queries={"q1": StoredQuery("soup")}),
    )  # fmt: skip
    store.runs.add(rs.Run({"q1": {"n": 1.0}}), facts)
    task = create_task(store, "t", TaskPlan(mode="lists"), runs=["alpha-system~1", "alpha-system"])
    assert task.plan.systems == ("alpha-system (run 1)", "alpha-system (run 3)")
    assert {item.query for item in store.tasks.items(task)} == {"q1"}


def test_a_task_can_only_grow(store):
    task = small_task(store, overlap=2)
    for less in ({"k": 2}, {"overlap": 1}):
        with pytest.raises(OptionError, match="already"):
            extend_task(store, task, **less)
    grown = extend_task(store, task, overlap=3)
    assert (grown.items, grown.task.plan.overlap) == (0, 3)
    assert LISTS.keys() == set(grown.task.plan.systems)


def test_docs_that_are_found_further_down_know_it(store):
    """By hand: b is second in the first list, and c third; x is second in the other list, and a third."""
    task = small_task(store, k=1)
    extend_task(store, task, k=3)
    ranks = {item.doc: item.ranks for item in store.tasks.items(task, query="q1")}
    assert ranks["a"] == {"alpha-system": 1, "beta-system": 3}
    assert ranks["b"] == {"alpha-system": 2, "beta-system": 1}
    lists = small_task(store, "lists", mode="lists", k=2)
    with pytest.raises(OptionError, match="down to rank 2"):
        extend_task(store, lists, k=3)


def test_words_of_a_guideline_may_change_and_grades_may_not(store):
    task = small_task(store)
    changed = change_guideline(store, task, DEFAULT_GUIDELINE.replace("helps, in part", "helps"))
    assert changed.guideline != task.guideline
    assert store.tasks.get("kitchen") == changed
    with pytest.raises(OptionError, match="has the grades 0, 1, 2, 3"):
        change_guideline(store, task, "## Scale\n- 0 no\n- 1 yes\n")


def test_the_scale_is_read_from_its_list():
    text = "# T\n\n- 7 not here\n\n## Scale\n\nSome words.\n\n* **2 Yes**: it is\n- 0\n+ -1.5 Worse than nothing\n\n## Flag reasons\n- wrong city\n- wrong city\n- <b>\n"
    found = parse_guideline(text)
    assert found.scale == (
        GradeLabel(-1.5, "Worse than nothing"), GradeLabel(0.0, "0"), GradeLabel(2.0, "Yes", "it is"),
    )  # fmt: skip
    assert (found.flag_reasons, found.text) == (("wrong city", "<b>"), text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "it names no grade"),
        ("# Scale\n- 1 only\n", "it names 1"),
        (
            "# Scale\n" + "".join(f"- {i} g\n" for i in range(5000)),
            "it names 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 4,989 more",
        ),
        ("# Scale\n- 1 a\n- 1 b\n- 0 c\n", "it names 1, 1, 0"),
        ("# Scale\n- good\n- 1 b\n", "does not begin with a grade"),
        ("x" * 100_001, "has 100,001 characters"),
        ("# " + " " * 99_000 + "x", "it names no grade"),
        ("# Scale\n- " + " " * 99_000 + "x", "does not begin with a grade"),
    ],
)
def test_a_guideline_without_a_scale_is_refused(text, said):
    with pytest.raises(InputError, match=said):
        parse_guideline(text)


def test_a_guideline_is_written_so_that_it_can_be_read():
    made = Guideline("Judge well.", (GradeLabel(0.0, "No"), GradeLabel(1.0, "Yes", "it is: really")), ("too far",))
    assert parse_guideline(guideline_text(made)) == Guideline(guideline_text(made), made.scale, made.flag_reasons)
    default = parse_guideline(DEFAULT_GUIDELINE)
    assert guideline_text(default) == DEFAULT_GUIDELINE


def test_a_list_of_docs_has_the_answer_of_any_other_pool_that_holds_them(store):
    """The same docs with the same grades: all queries count that the runs answer, also those that no doc is listed of."""
    pooled = small_task(store, pool="settle", measure="P@2", margin=0.01)
    held = pairs_in(store, pooled)
    plan = TaskPlan(pool="file", measure="P@2", margin=0.01, repeat_share=0.0)
    listed = create_task(store, "listed", plan, runs=list(LISTS), pairs=held)
    cherries = create_task(store, "cherries", plan, runs=list(LISTS), pairs=[("q1", "x")])
    for task in (pooled, listed, cherries):
        ann = joined(store, task)
        for query, doc in pairs_in(store, task):
            graded(ann, query, doc, 3.0 if doc == "x" else 0.0)
    first, second, chosen = (rs.settling_of(store, task) for task in (pooled, listed, cherries))
    assert [(pair.text, pair.delta, pair.settled) for pair in second.pairs] == [
        (pair.text, pair.delta, pair.settled) for pair in first.pairs
    ]
    # by hand: x alone is relevant, at rank 2 of one list of six, so (1/2 - 0) / 3
    assert first.pairs[0].delta == pytest.approx(1 / 6)
    assert (chosen.settled, chosen.pairs[0].delta) == (False, pytest.approx(1 / 6))


def test_known_labels_of_0_and_1_are_said_and_gold_docs_are_met_where_the_relevance_is(store):
    known = store.qrels.add(rs.Qrels({"q1": {"a": 1, "b": 0}, "q2": {"d": 1}}), name="food")
    task = small_task(store, qrels=known.number, gold_share=0.5)
    assert any(
        note.startswith("The known labels are 0 and 1, and raters have grades up to 3")
        for note in notes_on(store, task)
    )
    ann = joined(store, task, "Ann")
    gold = [(item.query, item.doc, item.gold) for item in store.tasks.items(task) if item.gold is not None]
    for query, doc, grade in gold:
        assert graded(ann, query, doc, 3.0 * grade).status == "ok"
    (summary,) = agreement_of(store, task).raters
    assert (summary.gold.n, summary.gold.of) == (len(gold), len(gold))
    graded_ = store.qrels.add(rs.Qrels({"q1": {"a": 2, "b": 0}}), name="graded")
    assert not any("0 and 1" in note for note in notes_on(store, small_task(store, "other", qrels=graded_.number)))
