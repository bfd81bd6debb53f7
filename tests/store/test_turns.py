"""Writers come in the order in which they asked, and what waits is kept together."""

from __future__ import annotations

import threading
import time
import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest
import sqlalchemy as sa

from rankscope.data.judgments import JudgmentSource, SingleJudgment
from rankscope.errors import InputError, UnfinishedError
from rankscope.store import open_store, turns
from rankscope.store.turns import FairLock, turn_among_processes

PATIENCE_S = 60


def wait_until(condition) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.001)


def said(doc: str, name: str | None = None) -> SingleJudgment:
    source = JudgmentSource("person", id="ada")
    return SingleJudgment(query="q1", doc=doc, source=source, grade=1.0, uuid=name or str(uuid.uuid4()))


def commits_of(store) -> list:
    commits = []
    sa.event.listen(store.engine, "commit", commits.append)
    return commits


def test_threads_come_in_the_order_in_which_they_asked():
    lock, came = FairLock(), []

    def wait(number: int) -> None:
        assert lock.acquire(PATIENCE_S)
        came.append(number)
        lock.release()

    assert lock.acquire(0)
    with ThreadPoolExecutor(20) as pool:
        for number in range(20):
            pool.submit(wait, number)
            wait_until(lambda wanted=number + 1: len(lock._waiting) == wanted)
        lock.release()
    assert came == list(range(20))


def test_who_does_not_want_to_wait_longer_leaves_the_line():
    lock = FairLock()
    assert lock.acquire(0)
    assert not lock.acquire(0.01)
    lock.release()
    assert lock.acquire(0)


def test_judgments_that_wait_are_kept_in_one_transaction(store, monkeypatch):
    monkeypatch.setattr(turns, "LARGEST_GROUP", 15)
    first = said("d0")
    store.judgments.add(first)
    commits = commits_of(store)
    with ThreadPoolExecutor(20) as pool:
        with store.turn():
            waiting = [pool.submit(store.judgments.add, said(f"d{i}")) for i in range(19)]
            waiting.append(pool.submit(store.judgments.add, first))
            wait_until(lambda: len(store.judgments._group_commit._waiting) == 20)
            assert not any(each.done() for each in waiting)
        kept = [each.result(PATIENCE_S)[0] for each in waiting]
    assert len(commits) == 2
    assert [each.judgment.doc for each in kept] == [*(f"d{i}" for i in range(19)), "d0"]
    assert sorted(kept, key=lambda each: each.number) == list(store.judgments.list())


def test_one_that_is_refused_leaves_the_others_as_they_are(store):
    first = said("d0")
    store.judgments.add(first)
    with ThreadPoolExecutor(20) as pool:
        with store.turn():
            fine = [pool.submit(store.judgments.add, said(f"d{i}")) for i in range(1, 10)]
            wrong = pool.submit(store.judgments.add, [said("d77"), said("d78", first.uuid)])
            wait_until(lambda: len(store.judgments._group_commit._waiting) == 10)
        with pytest.raises(InputError, match="stands for another judgment"):
            wrong.result(PATIENCE_S)
        assert all(each.result(PATIENCE_S) for each in fine)
    assert sorted(each.judgment.doc for each in store.judgments.list()) == [f"d{i}" for i in range(10)]


def test_all_that_wait_hear_of_a_lock(store_address):
    with open_store(store_address) as holder, open_store(store_address, timeout_s=0.2) as other:
        with ThreadPoolExecutor(5) as pool, holder.writing() as connection:
            connection.execute(sa.text("UPDATE meta SET value = value"))
            with other.turn():
                waiting = [pool.submit(other.judgments.add, said(f"d{i}")) for i in range(5)]
                wait_until(lambda: len(other.judgments._group_commit._waiting) == 5)
            for each in waiting:
                with pytest.raises(UnfinishedError, match="is locked by another program"):
                    each.result(PATIENCE_S)
        assert other.judgments.add(said("d9"))[0].number == 1


def test_an_interrupted_writer_leaves_the_others_in_line(store, monkeypatch):
    """As Ctrl-C in the thread that writes for all: the next one does so."""
    real, interrupted = store.transaction, threading.Event()

    def once(**options):
        if not interrupted.is_set():
            interrupted.set()
            raise KeyboardInterrupt
        return real(**options)

    monkeypatch.setattr(store, "transaction", once)
    with ThreadPoolExecutor(5) as pool:
        with store.turn():
            waiting = [pool.submit(store.judgments.add, said(f"d{i}")) for i in range(5)]
            wait_until(lambda: len(store.judgments._group_commit._waiting) == 5)
        problems = [each.exception(PATIENCE_S) for each in waiting]
    assert sum(isinstance(each, KeyboardInterrupt) for each in problems) == 1
    assert len(store.judgments.list()) == 4


def test_processes_wait_in_line_but_not_for_ever(tmp_path):
    """Each call has a description of its own of the folder, as another process has."""
    came = []

    def write(number: int) -> None:
        with turn_among_processes(tmp_path, PATIENCE_S):
            came.append(number)

    waiting = threading.Thread(target=write, args=(2,))
    with turn_among_processes(tmp_path, PATIENCE_S):
        with turn_among_processes(tmp_path, 0.01):  # it goes on without, and its thread is left behind
            came.append(1)
        waiting.start()
        waiting.join(0.05)
        assert came == [1]
    waiting.join(PATIENCE_S)
    assert came == [1, 2]
    write(3)
    assert came == [1, 2, 3]


def test_a_folder_that_cannot_be_locked_is_no_obstacle(tmp_path):
    with turn_among_processes(tmp_path / "not there", 0.01):
        pass
