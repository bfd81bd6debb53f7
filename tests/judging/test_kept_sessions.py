"""Sessions that a server keeps: a plain save is one transaction, and whatever changes meanwhile counts at once."""

from __future__ import annotations

import threading
from collections import Counter

import pytest
import sqlalchemy as sa

from kitchen import LISTS, request, small_task
from rankscope.errors import InputError
from rankscope.judging.kept_sessions import KeptSessions
from rankscope.judging.records import TaskItem
from rankscope.judging.tasks import change_guideline

NEW_WORDS = "# Other words\n\n## Scale\n- 0 No\n- 1 Little\n- 2 Some\n- 3 All\n"
MOST_STATEMENTS = 5
"""The version of the tables, rater and task, what holds, and the new row; and what a database wants to begin."""


class Counted:
    """Counts what a store is asked."""

    def __init__(self, store):
        self.n = Counter()
        sa.event.listen(store.engine, "before_cursor_execute", self.noted)
        sa.event.listen(store.engine, "commit", lambda _: self.n.update(["commits"]))
        sa.event.listen(store.engine, "checkout", lambda *_: self.n.update(["connections"]))

    def noted(self, *_):
        self.n["statements"] += 1


@pytest.fixture
def desk(store):
    """Return the sessions of a store in which a rater has saved once, the task, the rater and the link."""
    task = small_task(store, overlap=9)
    rater, token = store.raters.invite(task)
    sessions = KeptSessions(store)
    assert sessions.save(token, request("q1", "a", 1.0)).status == "ok"
    return sessions, task, rater, token


def docs_of(store):
    return {each.judgment.doc: each.judgment for each in store.judgments.list()}


def test_a_plain_save_is_one_transaction_of_few_statements(store, desk):
    sessions, _, _, token = desk
    counted = Counted(store)
    assert sessions.save(token, request("q1", "b", 2.0)).status == "ok"
    assert counted.n["commits"] == counted.n["connections"] == 1
    assert 4 <= counted.n["statements"] <= MOST_STATEMENTS


def test_saves_that_wait_for_one_another_share_a_transaction(store, desk):
    sessions, task, _, _ = desk
    tokens = [store.raters.invite(task)[1] for _ in range(6)]
    for token in tokens:
        assert sessions.save(token, request("q1", "a", 1.0)).status == "ok"
    counted, answers = Counted(store), []

    def save(token):
        answers.append(sessions.save(token, request("q2", "d", 2.0)).status)

    threads = [threading.Thread(target=save, args=(token,)) for token in tokens]
    with store.turn():  # somebody else writes
        for thread in threads:
            thread.start()
        while len(store.saves._judgments._waiting) < len(threads):
            threads[0].join(0.01)
    for thread in threads:
        thread.join()
    assert answers == ["ok"] * 6
    assert counted.n["commits"] == 1


def test_a_revoked_rater_saves_nothing_more(store, desk):
    sessions, _, rater, token = desk
    sent = request("q1", "b", 2.0)
    assert sessions.save(token, sent).status == "ok"
    store.raters.revoke(rater.number)
    answer = sessions.save(token, request("q1", "c", 1.0))
    assert (answer.status, answer.reason) == ("refused", "Your invitation was revoked.")
    assert sessions.save(token, sent).status == "ok", "it was kept before"
    assert set(docs_of(store)) == {"a", "b"}


def test_an_old_link_ends_with_the_new_one(store, desk):
    sessions, _, rater, token = desk
    _, renewed = store.raters.renew(rater.number)
    with pytest.raises(InputError, match="is not known"):
        sessions.save(token, request("q1", "b", 1.0))
    assert sessions.save(renewed, request("q1", "b", 1.0)).status == "ok"


def test_a_task_that_is_stopped_takes_nothing_until_it_is_reopened(store, desk):
    sessions, task, _, token = desk
    store.tasks.stop(task)
    sent = request("q1", "b", 1.0)
    answer = sessions.save(token, sent)
    assert (answer.status, answer.later) == ("refused", True)
    store.tasks.reopen(task)
    assert sessions.save(token, sent).status == "ok"


def test_a_new_guideline_is_what_the_next_save_follows(store, desk):
    sessions, task, _, token = desk
    changed = change_guideline(store, task, NEW_WORDS)
    assert sessions.save(token, request("q1", "b", 1.0)).status == "ok"
    assert sessions.save(token, request("q1", "c", 1.0, guideline=task.guideline)).status == "ok"
    found = docs_of(store)
    assert (found["a"].guideline, found["b"].guideline) == (task.guideline, changed.guideline)
    assert found["c"].guideline == task.guideline, "the page was from before"


def test_docs_that_come_to_a_task_later_can_be_judged(store, desk):
    sessions, task, _, token = desk
    late = request("q1", "late", 1.0)
    assert sessions.save(token, late).reason == "This doc is not part of the task."
    store.tasks.extend(task, [TaskItem(number=0, query="q1", doc="late", place=9, ranks=dict.fromkeys(LISTS, 9))])
    assert sessions.save(token, late).status == "ok"


def test_two_tabs_conflict_as_with_sessions_that_are_opened_anew(store, desk):
    sessions, _, _, token = desk
    first = request("q1", "b", 1.0)
    assert sessions.save(token, first).status == sessions.save(token, first).status == "ok"
    late = sessions.save(token, request("q1", "b", 3.0))
    assert (late.status, late.doc.grade, late.doc.uuid) == ("conflict", 1.0, first.uuid)
    assert len(store.judgments.list()) == 2


def test_a_database_that_ended_all_connections_is_asked_by_new_ones(store, desk, monkeypatch):
    if store.location.path is not None:
        pytest.skip("a file ends no connections")
    monkeypatch.setattr("rankscope.store.engine.PING_S", -1.0)
    sessions, _, _, token = desk
    with store.glancing() as one, store.glancing() as two:
        own = one.execute(sa.text("SELECT pg_backend_pid()")).scalar_one()
        two.execute(sa.text(f"SELECT pg_terminate_backend({own})"))  # this connection goes back, and is dead
    for doc in ("b", "c", "x"):
        assert sessions.save(token, request("q1", doc, 2.0)).status == "ok"


def test_a_doc_that_goes_to_another_rater_while_it_is_on_the_screen_is_kept(store):
    task = small_task(store)
    _, token = store.raters.invite(task, name="Ada")
    sessions = KeptSessions(store)
    mine = {(item.query, item.doc) for item in sessions.open(token).state().items}
    bo, other = store.raters.invite(task, name="Bo")
    left = {(item.query, item.doc) for item in sessions.open(token).state().items}
    moved = sorted(mine - left)
    assert moved
    for pair in moved:
        assert sessions.save(token, request(*pair, 2.0)).status == "ok"
    kept = min(left)
    assert sessions.save(other, request(*kept, 2.0)).status == "refused"  # Bo never had it
    assert bo.key not in {each.judgment.rater for each in store.judgments.list()}


@pytest.mark.parametrize("seen_before", [True, False])
def test_what_a_server_does_not_know_after_a_restart(store, seen_before):
    """Who was invited before it may have seen what was theirs before others came; who was invited after it, not."""
    task = small_task(store)
    sessions = KeptSessions(store)
    _, token = store.raters.invite(task, name="Ada")
    mine = {(item.query, item.doc) for item in sessions.open(token).state().items}
    _, other = store.raters.invite(task, name="Bo")
    others = {(item.query, item.doc) for item in sessions.open(other).state().items}
    assert others < mine
    new = KeptSessions(store)
    if not seen_before:
        new._since = ""
    expected = "ok" if seen_before else "refused"
    assert {new.save(token, request(*pair, 2.0)).status for pair in sorted(others)} == {expected}
    first = min(mine - others)
    assert new.save(other, request(*first, 2.0)).status == "refused"
