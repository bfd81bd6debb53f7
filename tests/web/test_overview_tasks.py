"""The first page names the judging tasks of its collection that are not done, and no others."""

import pytest
from judging_store import LISTS, add_task, fill

import rankscope as rs
from rankscope.data.judgments import JudgmentSource, SingleJudgment, with_uuid
from rankscope.data.tasks import TaskPlan
from rankscope.judging.tasks import create_task
from rankscope.web.library import Library
from rankscope.web.pages.overview import OverviewOptions, overview_page

PAIRS = [("q1", "d1"), ("q3", "d6")]


@pytest.fixture
def store(tmp_path):
    with fill(tmp_path) as filled:
        filled.qrels.add(rs.Qrels({"q1": {"d1": 1}, "q2": {"d4": 1}, "q3": {"d6": 1}}), name="doctors")
        yield filled


def tasks_in(library):
    needs = overview_page(library, OverviewOptions(collection="doctors")).needs
    return [(need.what, need.words, need.link) for need in needs if "judging task" in need.what.lower()]


def say(store, task, rater, pair, grade=1.0):
    place = {"query": pair[0], "doc": pair[1], "collection": "doctors", "task": str(task.number)}
    source = JudgmentSource("person", id=rater.id)
    store.judgments.add([with_uuid(SingleJudgment(source=source, grade=grade, **place))])


def test_a_task_needs_somebody_until_all_of_it_is_judged(store):
    library = Library(store)
    assert tasks_in(library) == []
    task = add_task(store, "hearts", PAIRS, overlap=1)
    what, link = "Judging task hearts is not done", f"/judge/show?task={task.number}"
    assert tasks_in(library) == [(what, "2 docs; nobody is invited yet.", link)]
    rater, _ = store.raters.invite(task, name="Ann")
    assert tasks_in(library) == [(what, "0 of 2 answers are given, by 1 rater.", link)]
    say(store, task, rater, PAIRS[0])
    assert tasks_in(library) == [(what, "1 of 2 answers are given, by 1 rater.", link)]
    say(store, task, rater, PAIRS[1])
    assert tasks_in(library) == []


def test_what_a_file_says_is_no_whole_task_and_who_is_in_it_owes_nothing(store):
    """By hand: of two docs one is judged, by somebody who is not invited, and a fifth of their docs would come again."""
    library = Library(store)
    task = add_task(store, "hearts", PAIRS, overlap=1, repeat_share=0.5)
    bo = store.raters.add(task, name="Bo")
    say(store, task, bo, PAIRS[0])
    ((_, words, _),) = tasks_in(library)
    assert words == "1 of 2 answers are given, by 1 rater. No rater is left for 1 of them: more can be invited."
    say(store, task, bo, PAIRS[1])
    assert tasks_in(library) == []


def test_a_stopped_task_and_those_of_other_collections_need_nobody(store):
    library = Library(store)
    task = add_task(store, "hearts", PAIRS)
    create_task(store, "elsewhere", TaskPlan(pool="file"), collection="load", pairs=PAIRS)
    assert [what for what, _, _ in tasks_in(library)] == ["Judging task hearts is not done"]
    store.tasks.stop(task)
    assert tasks_in(library) == []
    store.tasks.reopen(store.tasks.get(task.number))
    assert len(tasks_in(library)) == 1


def test_of_many_tasks_the_newest_are_named_and_the_others_counted(store):
    for i in range(5):
        add_task(store, f"task {i}", PAIRS)
    library = Library(store)
    found = tasks_in(library)
    assert [what for what, _, _ in found] == [
        *(f"Judging task task {i} is not done" for i in (4, 3, 2)),
        "And 2 more judging tasks are not done",
    ]
    assert found[-1][2] == "/judge?collection=doctors"


def test_a_task_of_lists_is_done_by_preferences(store):
    create_task(store, "side by side", TaskPlan(mode="lists", k=3), runs=list(LISTS))
    assert [words for _, words, _ in tasks_in(Library(store))] == ["3 queries; nobody is invited yet."]
