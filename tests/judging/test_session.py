"""What a rater sees and saves: two tabs, resending, invitations, hostile texts, and nothing that a blind task hides."""

from __future__ import annotations

import json
import threading
import uuid
from datetime import datetime, timedelta, timezone

import pytest

import rankscope as rs
from kitchen import LISTS, QUERIES, add_runs, graded, joined, pairs_of, request, small_task
from rankscope.data.tasks import TaskItem, TaskPlan
from rankscope.errors import InputError, OptionError
from rankscope.judging.session import PreferenceRequest, SaveRequest, open_session, shown_fields, states_of_raters
from rankscope.judging.tasks import change_guideline, create_task, extend_task
from rankscope.records import replace, to_builtins, to_json
from rankscope.store import CollectionFacts, RunFacts, StoredDoc, StoredQuery, open_store

NEW_TEXT = "# Other words\n\n## Scale\n- 0 No\n- 1 Little\n- 2 Some\n- 3 All\n"


def test_a_rater_judges_to_the_end(store):
    """By hand: q1 has a, b, c and x; q2 has a and d; q3 has e."""
    session = joined(store, small_task(store))
    state = session.state()
    assert sorted(pairs_of(session)) == [
        ("q1", "a"), ("q1", "b"), ("q1", "c"), ("q1", "x"), ("q2", "a"), ("q2", "d"), ("q3", "e"),
    ]  # fmt: skip
    assert (state.n, state.done, state.pace_s, state.mode, state.state) == (7, 0, None, "docs", "open")
    for place, item in enumerate(state.items):
        answer = graded(session, item.query, item.doc, float(place % 4), seconds=float(place))
        assert (answer.status, answer.doc.grade) == ("ok", place % 4)
    done = session.state()
    assert (done.done, done.pace_s, {item.done for item in done.items}) == (7, 3.0, {True})
    assert [(item.query, item.doc) for item in done.items] == [(item.query, item.doc) for item in state.items]
    stored = store.judgments.current("food", task=str(session.task.number))
    assert len(stored) == 7
    assert {(each.judgment.guideline, each.judgment.scale, each.judgment.rater) for each in stored} == {
        (session.task.guideline, (0.0, 1.0, 2.0, 3.0), session.rater.key)
    }


def test_a_query_is_shown_with_its_words(store):
    session = joined(store, small_task(store))
    view = session.query("q1")
    assert (view.text, view.attributes) == ("soup", {"level": "easy"}), "what is expected is not for who judges"
    assert view.conversation == ("user: I am cold.", "<b>Very</b>")
    docs = {doc.doc: doc for doc in view.docs}
    assert docs["a"].links == ("https://example.org/a",)
    assert docs["b"].links == ("http://example.org/b",)
    assert (docs["a"].title, docs["a"].text, docs["c"].title) == ("Title a", "Text a", "")
    assert session.query("q2").conversation == ("Only rye.",)
    assert session.query("q3").text == "q3"
    with pytest.raises(InputError, match="is not among yours"):
        session.query("q9")


def test_two_tabs_never_overwrite_one_another(store):
    session = joined(store, small_task(store))
    first = graded(session, "q1", "a", 1.0)
    second = graded(session, "q1", "a", 3.0, replaces=first.doc.uuid)
    assert second.status == "ok"
    late = graded(session, "q1", "a", 0.0, replaces=first.doc.uuid)
    assert (late.status, late.doc.grade, late.doc.uuid) == ("conflict", 3.0, second.doc.uuid)
    unaware = graded(session, "q1", "a", 0.0)
    assert (unaware.status, unaware.doc.grade) == ("conflict", 3.0)
    assert len(store.judgments.list()) == 2


def test_a_resent_save_is_kept_once_and_answered_alike(store):
    session = joined(store, small_task(store))
    sent = request("q1", "a", 2.0, at="2026-01-02T03:04:05+01:00")
    assert session.save(sent).status == session.save(sent).status == "ok"
    assert len(store.judgments.list()) == 1
    later = graded(session, "q1", "a", 3.0, replaces=sent.uuid)
    again = session.save(sent)  # its answer was lost on the way
    assert (again.status, again.doc) == ("ok", later.doc)
    change_guideline(store, session.task, NEW_TEXT)
    fresh = open_session_of(store, session)
    assert fresh.save(sent).status == "ok"
    other = fresh.save(replace(sent, grade=1.0))
    assert (other.status, other.reason) == ("refused", "Something else was saved with the same uuid.")
    assert len(store.judgments.list()) == 2


def open_session_of(store, session):
    _, token = store.raters.renew(session.rater.number)
    return open_session(store, token)


def test_undo_takes_back_and_can_be_done_again(store):
    session = joined(store, small_task(store))
    first = graded(session, "q1", "a", 2.0, flag=True, note="wrong city")
    undone = graded(session, "q1", "a", withdrawn=True, replaces=first.doc.uuid)
    assert (undone.status, undone.doc.grade, undone.doc.flag, undone.doc.is_done) == ("ok", None, False, False)
    assert session.state().done == 0
    assert store.judgments.current("food") == ()
    assert graded(session, "q1", "a", 1.0).status == "conflict"
    assert graded(session, "q1", "a", 1.0, replaces=undone.doc.uuid).status == "ok"
    assert session.state().done == 1


def test_flags_and_cannot_tell(store):
    session = joined(store, small_task(store))
    flagged = graded(session, "q1", "a", flag=True, note="wrong city")
    assert (flagged.doc.flag, flagged.doc.note, flagged.doc.is_done) == (True, "wrong city", False)
    unclear = graded(session, "q1", "b", cannot_tell="query unclear", flag=True, note="two ways: to read")
    assert (unclear.doc.cannot_tell, unclear.doc.note, unclear.doc.is_done) == (
        "query unclear", "two ways: to read", True,
    )  # fmt: skip
    graded(session, "q1", "c", cannot_tell="doc unclear")
    state = session.state()
    assert (state.flags, state.cannot_tell, state.done) == (2, 2, 2)
    emptied = graded(session, "q1", "a", replaces=flagged.doc.uuid)  # the flag is taken away, and nothing is left
    assert (emptied.status, emptied.doc.flag) == ("ok", False)
    notes = [(each.judgment.status, each.judgment.note) for each in store.judgments.current("food")]
    assert notes == [("cannot_tell", "query unclear: two ways: to read"), ("cannot_tell", "doc unclear")]


def test_one_choice_for_a_query_beside_the_grade(store):
    session = joined(store, small_task(store))
    graded(session, "q1", "a", 3.0)
    chosen = graded(session, "q1", "a", choice=True)
    assert (chosen.status, chosen.choice.doc, chosen.doc) == ("ok", "a", None)
    assert graded(session, "q1", "b", choice=True).status == "conflict"
    moved = graded(session, "q1", "b", choice=True, replaces=chosen.choice.uuid)
    assert (moved.status, moved.choice.doc, session.query("q1").choice) == ("ok", "b", moved.choice)
    assert session.state().choices == 1
    gone = graded(session, "q1", "b", choice=False, replaces=moved.choice.uuid)
    assert (gone.choice.doc, session.state().choices) == (None, 0)
    assert session.query("q1").docs[0].doc in "abcx"
    assert [each.judgment.grade for each in store.judgments.current("food")] == [3.0]


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ({"grade": 4.0}, "4 is not one of the grades 0, 1, 2, 3."),
        ({"grade": float("nan")}, "nan is not one of the grades"),
        ({"grade": 1.0, "cannot_tell": "doc unclear"}, "gives no grade"),
        ({"note": "alone"}, "A note goes with"),
        ({"grade": 1.0, "note": "n" * 2001}, "at most 2,000 characters"),
        ({"grade": 1.0, "choice": True}, "saved for itself"),
        ({"grade": 1.0, "uuid": "7"}, "cannot be read"),
        ({"grade": 1.0, "doc": "z"}, "not part of the task"),
        ({"grade": 1.0, "query": "q9"}, "not part of the task"),
        ({"grade": 1.0, "doc": ""}, "not part of the task"),
    ],
)
def test_what_cannot_be_is_refused_with_a_reason(store, bad, said):
    session = joined(store, small_task(store))
    answer = session.save(replace(request("q1", "a"), **bad))
    assert answer.status == "refused"
    assert said in answer.reason
    assert store.judgments.list() == ()


def test_a_save_follows_the_guideline_that_was_on_the_page(store):
    """A page that was open while the words changed, and one that names a text of another task."""
    task = small_task(store)
    _, token = store.raters.invite(task, name="Ada")
    text = store.tasks.guideline_text(task)
    changed = change_guideline(store, task, f"Look twice.\n\n{text}")
    other = store.judgments.add_guideline(f"Of another task.\n\n{text}")
    session = open_session(store, token)
    docs = [(item.query, item.doc) for item in session.state().items][:4]
    for (query, doc), seen in zip(docs, (task.guideline, None, other, "f" * 64), strict=True):
        request = SaveRequest(uuid=str(uuid.uuid4()), query=query, doc=doc, grade=2.0, guideline=seen)
        assert session.save(request).status == "ok"
    said = [each.judgment for each in store.judgments.list(task.collection)]
    held = {(each.query, each.doc): each.guideline for each in said}
    assert [held[pair] for pair in docs] == [task.guideline, *[changed.guideline] * 3]


def test_what_is_not_shown_twice_is_not_judged_twice(store):
    _, token = store.raters.invite(small_task(store, repeat_share=0.0), name="Ada")
    session = open_session(store, token)
    item = session.state().items[0]
    request = SaveRequest(uuid=str(uuid.uuid4()), query=item.query, doc=item.doc, grade=2.0, again=True)
    assert session.save(request).reason == "This is not shown to you a second time."


def test_only_what_comes_again_is_judged_again(store):
    """40 docs, of which a tenth comes again; three more could, as the end of the queue changes while raters judge."""
    items = [TaskItem(number=0, query=f"q{i % 5}", doc=f"d{i}", place=0) for i in range(40)]
    task = create_task(store, "many", TaskPlan(pool="file", repeat_share=0.1), collection="food", items=items)
    session = joined(store, task)
    shown = {(item.query, item.doc) for item in session.state().items if item.again}
    early = graded(session, *min(shown), 1.0, again=True)
    assert early.reason == "This comes to you a second time later: judge it for the first time before."
    assert {graded(session, item.query, item.doc, 1.0).status for item in items} == {"ok"}
    taken = {
        (item.query, item.doc)
        for item in items
        if graded(session, item.query, item.doc, 1.0, again=True).status == "ok"
    }
    assert (len(shown), len(taken)) == (4, 7)
    assert shown <= taken


def test_docs_of_another_rater_are_refused(store):
    """Three queries, one rater each: what is in the queue of one is not in that of the other."""
    task = small_task(store)
    ada, bo = joined(store, task, "Ada"), joined(store, task, "Bo")
    own, others = set(pairs_of(ada)), set(pairs_of(bo))
    assert min(len(own), len(others)) > 0
    assert not own & others
    for query, doc in others:
        refused = graded(ada, query, doc, 3.0)
        assert (refused.status, refused.reason) == ("refused", "This doc is not among yours: it is for another rater.")
        assert graded(ada, query, doc, choice=True).status == "refused"
    assert {graded(bo, query, doc, 3.0).status for query, doc in others} == {"ok"}
    assert len(store.judgments.list()) == len(others)


def test_lists_of_another_rater_are_refused(store):
    task = small_task(store, mode="lists")
    ada, bo = joined(store, task, "Ada"), joined(store, task, "Bo")
    (query, _), *_ = pairs_of(bo)
    assert query not in dict(pairs_of(ada))
    said = PreferenceRequest(uuid=str(uuid.uuid4()), query=query, left=0, right=1, value=1)
    assert ada.save_preference(said).reason == "These lists are not among yours: they are for another rater."
    assert graded(ada, query, LISTS["alpha-system"][query][0], flag=True).status == "refused"
    assert bo.save_preference(said).status == "ok"


def test_docs_of_lists_get_no_grades(store):
    session = joined(store, small_task(store, mode="lists"))
    (query, _), *_ = pairs_of(session)
    doc = LISTS["alpha-system"][query][0]
    assert graded(session, query, doc, 2.0).reason.startswith("Docs of lists get no grades")
    assert graded(session, query, doc, flag=True).status == "ok"


def test_there_is_no_grade_below_none(store):
    session = joined(store, small_task(store))
    assert str(graded(session, "q1", "a", -0.0).doc.grade) == "0.0"


@pytest.mark.parametrize("junk", ["", "no uuid", "\udc80"])
def test_what_a_save_replaces_must_be_a_uuid(store, junk):
    session = joined(store, small_task(store))
    assert graded(session, "q1", "a", 1.0, replaces=junk).reason == (
        "The uuid of what it takes the place of cannot be read."
    )
    assert store.judgments.list() == ()


def test_fields_that_are_no_numbers_can_be_shown(store):
    add_runs(store)
    run = rs.Run({"q9": {"z": 1.0}})
    facts = RunFacts(
        system="odd",
        started="2026-01-01T00:00:00+00:00",
        collection=CollectionFacts(name="food", queries={"q9": StoredQuery("odd")}),
    )
    docs = {"z": StoredDoc("z", "", {"price": float("inf"), "sizes": [1.5, float("nan"), {"x": -float("inf")}]})}
    try:
        store.runs.add(run, facts, docs=docs)
    except ValueError:  # a database that has no such values
        pytest.skip("this store refuses such a doc")
    task = create_task(store, "odd", TaskPlan(pool="top", repeat_share=0.0), runs=["odd"])
    view = joined(store, task).query("q9")
    assert view.docs[0].fields == {"price": "inf", "sizes": [1.5, "nan", {"x": "-inf"}]}
    assert json.loads(to_json(view))["docs"][0]["fields"]["price"] == "inf"


def test_preferences_are_repeated_only_where_the_query_comes_again(store):
    session = joined(store, small_task(store, mode="lists", repeat_share=0.0))
    query = session.state().items[0].query
    said = PreferenceRequest(uuid=str(uuid.uuid4()), query=query, left=0, right=1, value=1, again=True)
    assert session.save_preference(said).reason == "This is not shown to you a second time."


@pytest.mark.parametrize(
    ("at", "kept"),
    [
        ("0001-01-01T00:00:00+00:00", "created"),
        ("0001-01-01T00:00:00+14:00", "created"),
        ("9999-12-31T23:59:59-12:00", "now"),
        ("2026-01-02T03:04:05", "now"),
        ("soon", "now"),
    ],
)
def test_the_clock_of_a_browser_is_believed_within_bounds(store, at, kept):
    session = joined(store, small_task(store))
    before = store.clock()
    graded(session, "q1", "a", 1.0, at=at)
    (said,) = store.judgments.list()
    expected = session.task.created if kept == "created" else before
    assert abs(datetime.fromisoformat(said.judgment.at) - datetime.fromisoformat(expected)) < timedelta(minutes=2)


def test_a_clock_that_is_a_little_ahead_is_believed(store):
    session = joined(store, small_task(store))
    ahead = datetime.fromisoformat(store.clock()) + timedelta(minutes=3)
    graded(session, "q1", "a", 1.0, at=ahead.isoformat())
    assert datetime.fromisoformat(store.judgments.list()[0].judgment.at) == ahead


def test_a_revoked_rater_hears_what_was_kept_and_saves_nothing_new(store):
    task = small_task(store)
    rater, token = store.raters.invite(task)
    sent = request("q1", "a", 2.0)
    open_session(store, token).save(sent)
    store.raters.revoke(rater.number)
    session = open_session(store, token, to_save=True)
    assert session.save(sent).status == "ok"
    answer = graded(session, "q1", "b", 1.0)
    assert (answer.status, answer.later) == ("refused", True)
    assert len(store.judgments.list()) == 1


def test_what_the_browser_says_of_time_is_kept_where_it_can_be_true(store):
    session = joined(store, small_task(store))
    graded(session, "q1", "a", 1.0, at="yesterday", seconds=float("inf"))
    moment = datetime.fromisoformat(store.clock()).astimezone(timezone(timedelta(hours=1))).isoformat()
    graded(session, "q1", "b", 1.0, at=moment, seconds=2.5)
    graded(session, "q1", "c", 1.0, at="2026-01-02T03:04:05", seconds=-1.0)
    found = {each.judgment.doc: each.judgment for each in store.judgments.list()}
    assert (found["b"].at, found["b"].seconds) == (moment, 2.5)
    assert (found["a"].seconds, found["c"].seconds) == (None, None)
    assert found["a"].at.startswith("20")
    assert found["c"].at != "2026-01-02T03:04:05"


def test_two_raters_never_overwrite_one_another(store):
    task = small_task(store, overlap=2)
    ada, bo = joined(store, task, "Ada"), joined(store, task, "Bo")
    assert graded(ada, "q1", "a", 3.0).status == graded(bo, "q1", "a", 0.0).status == "ok"
    grades = [{doc.doc: doc.state.grade for doc in session.query("q1").docs}["a"] for session in (ada, bo)]
    assert grades == [3.0, 0.0]
    sent = request("q1", "b", 2.0)
    assert ada.save(sent).status == "ok"
    stolen = bo.save(sent)
    assert (stolen.status, stolen.doc.uuid) == ("refused", None)
    held = store.judgments.current("food", task=str(task.number))
    assert {(each.judgment.source.id, each.judgment.grade) for each in held if each.judgment.doc == "a"} == {
        (ada.rater.id, 3.0),
        (bo.rater.id, 0.0),
    }


def test_an_invitation_that_was_revoked_says_so(store):
    task = small_task(store)
    rater, token = store.raters.invite(task)
    session = open_session(store, token)
    graded(session, "q1", "a", 1.0)
    store.raters.revoke(rater.number)
    with pytest.raises(InputError, match="this invitation to the task kitchen was revoked"):
        open_session(store, token)
    answer = graded(session, "q1", "b", 1.0)  # a tab that is still open
    assert (answer.status, answer.reason) == ("refused", "Your invitation was revoked.")
    assert len(store.judgments.list()) == 1
    for unknown in ("", "x", "x" * 10_000, "\udc80\0", token[:-1]):
        with pytest.raises(InputError, match="is not known"):
            open_session(store, unknown)


def test_a_save_that_was_kept_before_the_end_is_still_acknowledged(store):
    task = small_task(store)
    session = joined(store, task)
    sent = request("q1", "a", 2.0)
    session.save(sent)
    store.raters.revoke(session.rater.number)
    assert session.save(sent).status == "ok"


def test_a_stopped_task_can_be_read_and_goes_on_when_reopened(store):
    task = small_task(store)
    rater, token = store.raters.invite(task)
    kept = open_session(store, token)
    store.tasks.stop(task)
    session = open_session(store, token)
    assert session.state().state == "stopped"
    assert graded(session, "q1", "a", 1.0).reason == "The task was stopped; nothing is saved any more."
    assert graded(kept, "q1", "a", 1.0).status == "refused"
    store.tasks.reopen(task)
    assert graded(session, "q1", "a", 1.0).status == "ok"
    assert rater.name == ""


HOSTILE = [
    "<script>alert(1)</script>",
    "\udc80\udcff",
    "a\0b",
    "q\\u0041",
    "' OR 1=1 --",
    "\u202egnp.exe",
    "x" * 100_000,
]


def test_what_is_no_character_in_a_note_or_a_guideline_is_replaced(store):
    guideline = "Grade \ud800 it.\n\n## Scale\n\n- 0 No\x00\n- 1 Yes\n"
    plan = TaskPlan(pool="file", repeat_share=0.0)
    task = create_task(store, "odd", plan, collection="food", pairs=[("q1", "a")], guideline=guideline)
    assert store.tasks.guideline_text(task).startswith("Grade \ufffd it.\n\n## Scale\n\n- 0 No\ufffd\n")
    session = joined(store, task)
    said = request("q1", "a", 1.0, note="\udfffx\x00y")
    for _ in range(2):  # sent again, it is the same
        answer = session.save(said)
        assert (answer.status, answer.doc.note) == ("ok", "\ufffdx\ufffdy")
    assert [each.judgment.note for each in store.judgments.list()] == ["\ufffdx\ufffdy"]


@pytest.mark.parametrize("odd", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_ids_are_kept_as_they_are_and_notes_as_text(store, odd):
    pairs = [(odd, f"doc {odd}"), (odd, "plain"), ("plain", odd)]
    plan = TaskPlan(pool="file", repeat_share=0.0)
    task = create_task(store, "odd", plan, collection=f"of {odd}"[:90], pairs=pairs)
    session = joined(store, task)
    for query, doc in pairs:
        assert graded(session, query, doc, 1.0, note=odd[:2000]).status == "ok"
    assert sorted(pairs_of(session)) == sorted(pairs)
    view = session.query(odd)
    assert {doc.doc for doc in view.docs} == {f"doc {odd}", "plain"}
    replaced = {"\udc80\udcff": "\ufffd\ufffd", "a\0b": "a\ufffdb"}
    assert {doc.state.note for doc in view.docs} == {replaced.get(odd, odd[:2000])}
    json.dumps(to_builtins(session.state()))


def test_names_of_raters_are_checked(store):
    session = joined(store, small_task(store))
    assert session.rename("<b>Ada</b>").name == session.state().rater == "<b>Ada</b>"
    for bad in ("", " Ada", "a\nb", "n" * 101):
        with pytest.raises(OptionError, match="cannot be the name of a rater"):
            session.rename(bad)


def everything(session) -> str:
    """Return all that a rater is sent."""
    sent = [to_builtins(session.state())]
    for item in session.state().items:
        sent.append(to_builtins(session.query(item.query, again=item.again)))
        sent.append(to_builtins(session.save(request(item.query, item.doc or "a", 1.0, again=item.again))))
    return json.dumps(sent)


@pytest.mark.parametrize("mode", ["docs", "lists"])
def test_a_blind_task_tells_nothing_of_systems_and_ranks(store, mode):
    task = small_task(store, mode=mode, repeat_share=0.5)
    for sent in (everything(joined(store, task)) for _ in range(3)):
        assert not any(system in sent for system in LISTS)
        assert '"ranks": {"' not in sent
        assert "gold" not in sent
        assert "purpose" not in sent
        assert "place" not in sent
        assert '"number"' not in sent  # numbers follow the order in which docs were added
    open_task = small_task(store, "seen", mode=mode, blind=False)
    sent = everything(joined(store, open_task))
    assert all(system in sent for system in LISTS)


def test_numbers_of_items_do_not_follow_ranks(store):
    items = store.tasks.items(small_task(store))
    assert [(item.query, item.doc) for item in items] == sorted((item.query, item.doc) for item in items)


def test_docs_that_come_again_are_kept_apart_and_compared(store):
    session = joined(store, small_task(store, repeat_share=0.5))
    items = session.state().items
    assert sum(item.again for item in items) == 4  # half of 7 docs: 3.5, to the even number
    for item in items:
        assert graded(session, item.query, item.doc, 1.0, again=item.again).status == "ok"
    state = session.state()
    assert (state.n, state.done, state.again_done, state.again_alike) == (11, 11, 4, 4)
    again = next(item for item in state.items if item.again)
    graded(session, again.query, again.doc, 3.0, again=True, replaces=again.state.uuid)
    assert session.state().again_alike == 3
    told = next(item for item in session.state().items if item.again)
    graded(session, told.query, told.doc, None, again=True, replaces=told.state.uuid, cannot_tell="doc unclear")
    state = session.state()
    assert (state.again_done, state.again_compared, state.again_alike) == (4, 3, 3), (
        "who cannot tell differs from nothing"
    )
    assert {each.judgment.grade for each in store.judgments.list(task=str(session.task.number))} == {1.0}


def test_the_order_stays_after_a_restart(store_address):
    with open_store(store_address) as store:
        _, token = store.raters.invite(small_task(store, repeat_share=0.3))
        before = open_session(store, token).state()
    with open_store(store_address) as store:
        assert open_session(store, token).state() == before


def test_each_rater_has_an_order_of_their_own(store):
    task = small_task(store, overlap=8)
    orders = {tuple(pairs_of(joined(store, task))) for _ in range(8)}
    assert len(orders) > 1
    assert len({tuple(sorted(order)) for order in orders}) == 1


def test_adding_docs_never_reorders_what_is_done(store):
    session = joined(store, small_task(store, k=1))
    for query, doc in pairs_of(session)[:2]:
        graded(session, query, doc, 2.0)
    before = pairs_of(session)[:2]
    extended = extend_task(store, session.task, k=3)
    assert extended.items > 0
    fresh = open_session_of(store, session)
    assert pairs_of(fresh)[:2] == before
    assert fresh.state().n == 7


def test_where_all_raters_stand(store):
    task = small_task(store, overlap=2)
    sessions = [joined(store, task, name) for name in ("Ada", "Bo", "Cy")]
    graded(sessions[0], "q1", "a", 2.0, seconds=4.0)
    store.raters.revoke(sessions[2].rater.number)
    found = states_of_raters(store, task)
    assert found == {session.rater.number: session.state() for session in sessions}
    assert [(state.rater, state.done, state.n) for state in found.values()] == [
        ("Ada", 1, 7),
        ("Bo", 0, 7),
        ("Cy", 0, 0),
    ]


def test_a_doc_of_an_audit_that_one_rater_cannot_tell_goes_to_another(store):
    add_runs(store)
    judge = store.qrels.add(rs.Qrels({"q1": {"a": 3}}), name="model", kind="judge")
    task = small_task(store, pool="audit", judge_qrels=judge.number)
    sessions = [joined(store, task), joined(store, task)]
    first = next(session for session in sessions if ("q1", "a") in pairs_of(session))
    second = next(session for session in sessions if session is not first)
    assert ("q1", "a") not in pairs_of(second)
    graded(first, "q1", "a", cannot_tell="doc unclear")
    assert ("q1", "a") in pairs_of(second)
    graded(second, "q1", "a", 2.0)
    assert {each.judgment.purpose for each in store.judgments.list()} == {"audit"}


# Lists


def prefer(session, query="q1", value: int | None = 1, **more) -> PreferenceRequest:
    return PreferenceRequest(uuid=str(uuid.uuid4()), query=query, value=value, **{"left": 0, "right": 1, **more})


def test_lists_side_by_side(store):
    """By hand: the lists of q3 are the same, and nobody is asked to compare them; those of q2 differ in order."""
    session = joined(store, small_task(store, mode="lists"))
    assert sorted(pairs_of(session)) == [("q1", ""), ("q2", "")]
    view = session.query("q1")
    assert {each.docs for each in view.lists} == {("a", "b", "c"), ("b", "x", "a")}
    assert {doc.doc for doc in view.docs} == {"a", "b", "c", "x"}
    answer = session.save_preference(prefer(session, value=-2))
    assert (answer.status, answer.preference.value) == ("ok", -2)
    (stored,) = store.preferences.current(task=str(session.task.number))
    left = stored.preference.left
    assert tuple(LISTS[left]["q1"]) == view.lists[0].docs
    assert session.query("q1").preferences == (answer.preference,)
    assert [item.done for item in session.state().items] == [True, False]
    assert graded(session, "q1", "x", flag=True).status == graded(session, "q1", "b", choice=True).status == "ok"
    assert graded(session, "q1", "d", flag=True).status == "refused"


def test_sides_are_swapped_the_second_time(store):
    session = joined(store, small_task(store, mode="lists", repeat_share=0.5))
    first, second = session.query("q1"), session.query("q1", again=True)
    assert second.lists == tuple(reversed(first.lists))
    session.save_preference(prefer(session, value=1))
    session.save_preference(prefer(session, value=-2, again=True))  # the same list, which is on the left now
    state = session.state()
    assert (state.again_done, state.again_alike) == (1, 1)
    held = session.query("q1", again=True).preferences[0]
    session.save_preference(prefer(session, value=0, again=True, replaces=held.uuid))
    assert session.state().again_alike == 0
    held = session.query("q1", again=True).preferences[0]
    session.save_preference(prefer(session, value=None, cannot_tell=True, again=True, replaces=held.uuid))
    state = session.state()
    assert (state.again_done, state.again_compared, state.cannot_tell) == (1, 0, 0)
    held = session.query("q1").preferences[0]
    session.save_preference(prefer(session, value=None, cannot_tell=True, replaces=held.uuid))
    assert session.state().cannot_tell == 1


def test_preferences_of_two_tabs_and_resent(store):
    session = joined(store, small_task(store, mode="lists"))
    sent = prefer(session, value=1)
    assert session.save_preference(sent).status == session.save_preference(sent).status == "ok"
    late = session.save_preference(prefer(session, value=-1))
    assert (late.status, late.preference.value) == ("conflict", 1)
    turned = session.save_preference(prefer(session, value=2, left=1, right=0, replaces=sent.uuid))
    assert (turned.status, turned.preference.value) == ("ok", 2)
    assert session.query("q1").preferences[0].value == -2
    gone = session.save_preference(prefer(session, value=None, withdrawn=True, replaces=turned.preference.uuid))
    assert (gone.status, session.state().done) == ("ok", 0)
    unsure = session.save_preference(prefer(session, value=None, cannot_tell=True, replaces=gone.preference.uuid))
    assert (unsure.preference.cannot_tell, session.state().done) == (True, 1)


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ({"value": 3}, "one of -2, -1, 0, 1 and 2"),
        ({"value": None}, "one of -2"),
        ({"left": 1}, "two different ones"),
        ({"left": -1}, "two different ones"),
        ({"right": 2}, "two different ones"),
        ({"query": "q3"}, "not part of the task"),
        ({"uuid": ""}, "cannot be read"),
        ({"cannot_tell": True}, "gives no value"),
        ({"note": "n" * 2001}, "at most 2,000"),
    ],
)
def test_preferences_that_cannot_be(store, bad, said):
    session = joined(store, small_task(store, mode="lists"))
    answer = session.save_preference(replace(prefer(session), **bad))
    assert answer.status == "refused"
    assert said in answer.reason
    assert store.preferences.list() == ()


def test_docs_have_no_preferences(store):
    session = joined(store, small_task(store))
    assert session.save_preference(prefer(session)).reason == "In this task, docs are judged one by one."


def test_many_raters_and_tabs_at_once(store):
    """Of all tabs that save the same doc at once, one wins; all raters are kept, and nothing is doubled."""
    task = small_task(store, overlap=8)
    sessions = [joined(store, task) for _ in range(4)]
    answers, problems = [], []

    def judge(session) -> None:
        try:
            for query, doc in (("q1", "a"), ("q1", "b"), ("q2", "a")):
                sent = request(query, doc, 1.0)
                answers.append(session.save(sent).status)
                session.save(sent)
        except Exception as error:  # noqa: BLE001 (a thread would hide it)
            problems.append(error)

    threads = [threading.Thread(target=judge, args=(session,)) for session in sessions for _tab in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    assert (answers.count("ok"), answers.count("conflict")) == (12, 24)
    assert len(store.judgments.list()) == 12


def test_a_request_of_a_browser_is_checked():
    from rankscope.records import from_builtins

    with pytest.raises(OptionError, match="rater"):
        from_builtins(SaveRequest, {"uuid": "u", "query": "q", "doc": "d", "rater": "somebody else"})


def test_what_metadata_holds_is_shown_once_and_by_the_last_part_of_its_name():
    """BEIR's metadata comes as an object, and each of its fields as the query's own; of docs it is in names with dots."""
    of_query = {"kind": "history", "language": "en", "metadata": {"kind": "history", "language": "en"}}
    assert shown_fields(of_query) == {"kind": "history", "language": "en"}
    assert shown_fields({"metadata": {"kind": "history"}}) == {"metadata": {"kind": "history"}}
    of_doc = {"metadata.section": "art", "metadata.url": "a", "other.url": "b", "year": 1990, "odd.": 1}
    assert shown_fields(of_doc) == {
        "section": "art", "metadata.url": "a", "other.url": "b", "year": 1990, "odd.": 1
    }  # fmt: skip


def test_two_lists_that_are_the_same_are_not_asked_about(store):
    """By hand: of q1 alpha and gamma have the same three docs in the same order, so that two of three pairs are left;
    of q2 all three differ. With both answers of q1, each list was compared with another, and the query is done."""
    add_runs(store)
    lists = {"q1": ["a", "b", "c"], "q2": ["d"], "q3": ["e"]}
    run = rs.Run({query: {doc: float(-rank) for rank, doc in enumerate(docs)} for query, docs in lists.items()})
    facts = RunFacts(
        system="gamma-system",
        started="2026-01-01T00:00:00+00:00",
        collection=CollectionFacts(name="food", queries=QUERIES),
    )
    store.runs.add(run, facts)
    plan = TaskPlan(mode="lists", k=3, repeat_share=0.0)
    session = joined(store, create_task(store, "three", plan, runs=[*LISTS, "gamma-system"]))
    systems = session.screen("q1", again=False)
    asked = session.query("q1").preferences
    pairs = [{systems[each.left], systems[each.right]} for each in asked]
    assert len(pairs) == 2
    assert {"alpha-system", "gamma-system"} not in pairs
    assert len(session.query("q2").preferences) == 3
    for each in asked:
        said = PreferenceRequest(uuid=str(uuid.uuid4()), query="q1", left=each.left, right=each.right, value=1)
        assert session.save_preference(said).status == "ok"
    assert [item.query for item in session.state().items if item.done] == ["q1"]
