"""What takes long is computed beside the pages: they say so, and never something else in its place."""

import json
import os
import time
from pathlib import Path

import pytest
from background_tasks import break_down, end_by_a_signal, number_of_runs, process_number, refuse
from judging_store import fill as fill_doctors
from running import Server
from sample import fill_store

from rankscope.data.tasks import TaskPlan
from rankscope.errors import InputError, RankscopeError, UnfinishedError
from rankscope.experiment.history import history_of
from rankscope.judging.rater_view import SaveRequest
from rankscope.judging.session import session_of
from rankscope.judging.tasks import create_task
from rankscope.web.background import Background, StillComputingError
from rankscope.web.library import Library
from rankscope.web.pages.compare import ComparePageOptions, compare_page, compare_view

PATIENCE_S = 120


@pytest.fixture
def store(tmp_path):
    store = fill_store(tmp_path)
    yield store
    store.close()


@pytest.fixture
def library(store, monkeypatch):
    """A library for which everything is large."""
    monkeypatch.setattr("rankscope.web.library.AT_ONCE", 0)
    library = Library(store)
    library.background = Background(store.location, read_only=store.read_only)
    yield library
    library.background.close()


@pytest.fixture
def server(library):
    running = Server(library)
    yield running
    running.close()


def there(ask):
    """Return an answer when it is there, and how often it was said that it is being computed."""
    end, n = time.monotonic() + PATIENCE_S, 0
    while time.monotonic() < end:
        try:
            return ask(), n
        except StillComputingError as waiting:
            n += 1
            waiting.wait(5)
    raise AssertionError("nothing came")


def opened(server, path):
    """Return a page when it is there, and the answers before it."""
    end, before = time.monotonic() + PATIENCE_S, []
    while time.monotonic() < end:
        answer = server.get(path)
        if answer.status != 202:
            return answer, before
        before.append(answer)
        time.sleep(0.1)
    raise AssertionError("nothing came")


@pytest.fixture
def tasks(monkeypatch):
    """Lets the process find the tasks of the tests."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))


def large(library, task, *arguments):
    return library.large((task.__name__, *arguments), task, *arguments, n_scores=1, what=task.__name__)


def test_a_task_is_computed_once_in_another_process(library, tasks):
    found, n_before = there(lambda: large(library, number_of_runs, 5))
    assert found == 12 + 5  # three systems in four weeks
    assert n_before >= 1
    assert there(lambda: large(library, number_of_runs, 5)) == (17, 0)  # it is kept
    assert there(lambda: large(library, process_number))[0] != os.getpid()


def test_what_is_small_is_computed_at_once(library, monkeypatch):
    monkeypatch.setattr("rankscope.web.library.AT_ONCE", 1)
    assert large(library, process_number) == os.getpid()


def test_an_error_of_a_task_is_told_as_it_is(library, tasks):
    with pytest.raises(InputError, match="that cannot be") as caught:
        there(lambda: large(library, refuse))
    assert caught.value.hint == "ask for something else"
    with pytest.raises(RuntimeError, match="ZeroDivisionError") as broken:
        there(lambda: large(library, break_down))
    assert not isinstance(broken.value, RankscopeError)  # it is a bug, and looked after as one


def test_a_process_that_was_killed_is_started_again(library, tasks):
    first, _ = there(lambda: large(library, process_number))
    with pytest.raises(UnfinishedError, match="its process has ended"):
        there(lambda: large(library, end_by_a_signal))
    assert there(lambda: library.large("again", process_number, n_scores=1, what="it"))[0] != first


def test_what_nobody_asks_for_any_more_is_not_computed(library, tasks, monkeypatch):
    with pytest.raises(StillComputingError) as first:
        large(library, number_of_runs, 1)
    assert first.value.n_before == 0
    monkeypatch.setattr("rankscope.web.background.MOST_WAITING", 2)
    for more in (2, 3, 4, 5):  # the process is being started for the first
        with pytest.raises(StillComputingError):
            large(library, number_of_runs, more)
    assert len(library.background._waiting) <= 3
    monkeypatch.setattr("rankscope.web.background.ABANDONED_S", -1.0)
    with pytest.raises(StillComputingError):
        large(library, number_of_runs, 6)
    assert len(library.background._waiting) <= 2


def test_what_was_computed_takes_a_bounded_amount_of_memory(library, tasks, monkeypatch):
    monkeypatch.setattr("rankscope.web.library.MOST_BYTES", 100)
    for more in range(20):
        there(lambda more=more: large(library, number_of_runs, more))
    assert len(library._kept) < 10
    assert set(library._bytes) <= set(library._kept)


def test_who_waits_for_a_task_gets_what_it_gives(library, tasks):
    beside = library.background
    assert beside.finished("runs", "the runs", number_of_runs, (5,)) == 12 + 5
    with pytest.raises(InputError, match="that cannot be"):
        beside.finished("refused", "something", refuse, ())
    beside.close()
    with pytest.raises(UnfinishedError, match="the server is ending"):
        beside.finished("late", "something", number_of_runs, (1,))


def test_the_standing_of_a_judging_task_is_worked_out_in_another_process(tmp_path):
    """One doc in five is graded; the process sees what was saved after it began."""
    store = fill_doctors(tmp_path)
    library, here = Library(store), Library(store)
    library.settler = Background(store.location, read_only=False)
    try:
        task = create_task(store, "standing", TaskPlan(k=1, measure="P@1"), runs=["lexical-7", "dense-9"])
        assert library.settling.latest(task) is None
        assert library.settling.now(task).stage == "nothing judged"
        session = session_of(store, task, store.raters.invite(task)[0])
        saved = SaveRequest(uuid="2f1c6b6e-6f0e-4d57-9a60-1c1c2f4f0b11", query="q1", doc="d1", grade=3.0)
        assert session.save(saved).status == "ok"
        state = library.settling.now(task)
        assert (state.n_judged, state.last_judgment) == (1, store.judgments.newest(str(task.number)))
        assert state == here.settling.now(task)
        assert library.settling._tasks == {}, "it was worked out in this process"
    finally:
        library.close()


# pages


def test_a_page_says_what_is_being_computed_and_then_comes(server):
    answer, before = opened(server, "/compare")
    assert before, "nothing was computed in the background"
    page = before[0].data.decode()
    assert '<meta http-equiv="refresh" content="2">' in page  # it needs no script
    assert '<a href="/compare">Look again now</a>' in page
    assert "The comparison of" in page
    assert "on 60 queries, since" in page
    assert "is better" not in page
    assert before[0].headers["retry-after"] == "2"
    assert before[0].headers["cache-control"] == "no-store"
    assert answer.status == 200


def test_what_comes_is_what_would_have_been_computed_at_once(library, tmp_path):
    page, n_before = there(lambda: compare_page(library, ComparePageOptions()))
    assert n_before
    other = fill_store(tmp_path / "other")
    try:
        at_once = compare_page(Library(other), ComparePageOptions())
    finally:
        other.close()
    assert page == at_once
    assert page.comparison is not None
    assert compare_view(page).first == compare_view(at_once).first


def test_the_twin_of_a_page_says_so_as_json(server):
    answer, before = opened(server, "/history.json")
    said = json.loads(before[0].data)
    assert said["computing"] == "the history of doctor-finder by nDCG@10"
    assert said["n_before"] == 0
    assert said["since"].endswith("+00:00")
    assert "history" in json.loads(answer.data)


@pytest.mark.parametrize("path", ["/", "/systems", "/queries", "/query?query=q001", "/run", "/collections"])
def test_every_page_comes_in_the_end(server, path):
    answer, _ = opened(server, path)
    assert answer.status == 200


def test_an_export_waits_as_the_page_does(server):
    answer, before = opened(server, "/history.csv")
    assert before[0].status == 202
    assert answer.headers["content-type"].startswith("text/csv")


def test_runs_that_cannot_be_compared_are_refused_once_and_for_all(library):
    asked = ComparePageOptions(stratum=("specialty=nowhere",))
    page, _ = there(lambda: compare_page(library, asked))
    assert "no query has specialty=nowhere" in page.refused.what
    assert there(lambda: compare_page(library, asked))[1] == 0


def test_a_comparison_that_is_added_changes_the_number_of_looks_and_computes_nothing_again(server, library, store):
    opened(server, "/history")
    n_looks = json.loads(server.get("/history.json").data)["history"]["n_looks"]
    opened(server, "/compare?systems=hybrid&systems=multilingual")
    answer, before = opened(server, "/history.json")
    assert before == []
    assert json.loads(answer.data)["history"]["n_looks"] == n_looks + 1 == history_of(store).n_looks
