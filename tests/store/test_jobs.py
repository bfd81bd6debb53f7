"""Jobs in a store: one worker each, whatever happens to workers, and every step told."""

from __future__ import annotations

import threading

import pytest

from rankscope.errors import OptionError, UnknownNameError
from rankscope.store import open_store
from rankscope.store.jobs import MOST_ATTEMPTS, JobProgress, JobResult, JobStep
from set_clock import SetClock

PROJECT = "/home/me/search/rankscope.toml"


@pytest.fixture
def clock():
    return SetClock()


@pytest.fixture
def jobs(store_address, clock):
    with open_store(store_address, clock=clock) as store:
        yield store.jobs


def texts(jobs, number: int) -> list[str]:
    return [event.text for event in jobs.events(number)]


def test_a_job_from_the_queue_to_its_end(jobs, clock):
    asked = {"only": ["bm25", "d\0ense\udcff"], "depth": 20}
    queued = jobs.add(PROJECT, asked, who="ada")
    assert (queued.state, queued.options, queued.who, queued.project) == ("queued", asked, "ada", PROJECT)
    clock.seconds = 5
    claimed = jobs.claim(PROJECT, worker="w1")
    assert (claimed.number, claimed.state, claimed.worker, claimed.attempts) == (queued.number, "running", "w1", 1)
    assert claimed.started == claimed.heartbeat == clock()
    progress = JobProgress(1, 2, (JobStep("small · bm25: searching", 7, 30), JobStep("indexing", 3, None)))
    clock.seconds = 9
    assert jobs.beat(queued.number, worker="w1", progress=progress, events=["one", "two"]) == "running"
    assert jobs.get(queued.number).progress == progress
    assert jobs.get(queued.number).heartbeat == clock()
    result = JobResult((3, 4), (1,), n_failed=2, left_out=("dense: cannot be asked",), manifest="results/manifest.json")
    assert jobs.finish(queued.number, worker="w1", result=result)
    done = jobs.get(queued.number)
    assert (done.state, done.result, done.worker, done.finished) == ("done", result, "", clock())
    assert texts(jobs, queued.number) == ["asked for by ada", "taken up by w1", "one", "two", "done"]
    assert [event.sequence for event in jobs.events(queued.number, after=3)] == [4, 5]
    assert jobs.claim(PROJECT, worker="w1") is None


def test_jobs_are_taken_up_one_after_the_other(jobs):
    first, second = (jobs.add(PROJECT, {}, who="ada").number for _ in range(2))
    elsewhere = jobs.add("/other.toml", {}, who="bo").number
    assert jobs.queue(PROJECT) == (first, second)
    assert jobs.claim(PROJECT, worker="w1").number == first
    assert jobs.claim(PROJECT, worker="w2") is None  # the first one is being run
    assert jobs.claim("/other.toml", worker="w2").number == elsewhere
    assert jobs.fail(first, worker="w1", why="the disk is full")
    assert jobs.get(first).failure == "the disk is full"
    assert jobs.claim(PROJECT, worker="w2").number == second
    assert [job.number for job in jobs.list(project=PROJECT)] == [second, first]
    assert [job.number for job in jobs.list(limit=1)] == [elsewhere]


def test_a_job_without_a_heartbeat_is_taken_up_again(jobs, clock):
    number = jobs.add(PROJECT, {}, who="ada").number
    jobs.claim(PROJECT, worker="w1")
    clock.seconds = 60
    assert jobs.claim(PROJECT, worker="w2") is None
    clock.seconds = 60.1
    again = jobs.claim(PROJECT, worker="w2")
    assert (again.number, again.attempts, again.worker) == (number, 2, "w2")
    assert jobs.beat(number, worker="w1") is None  # it has lost its job, and changes nothing
    assert not jobs.finish(number, worker="w1", result=JobResult((), ()))
    assert not jobs.fail(number, worker="w1", why="x")
    assert not jobs.stop(number, worker="w1")
    assert jobs.release(number, worker="w1", why="x", is_lost=True).worker == "w2"
    assert jobs.get(number).state == "running"
    assert "its worker has stopped" in texts(jobs, number)


def test_a_job_that_loses_every_worker_has_failed(jobs):
    number = jobs.add(PROJECT, {}, who="ada").number
    waiting = jobs.add(PROJECT, {}, who="bo").number
    for attempt in range(1, MOST_ATTEMPTS + 1):
        claimed = jobs.claim(PROJECT, worker=f"w{attempt}")
        assert (claimed.number, claimed.attempts) == (number, attempt)
        jobs.release(number, worker=f"w{attempt}", why="its process was ended by SIGSEGV", is_lost=True)
    failed = jobs.get(number)
    assert failed.state == "failed"
    assert failed.failure == "its process was ended by SIGSEGV, and that 3 times in a row; what was answered is kept"
    assert jobs.claim(PROJECT, worker="w9").number == waiting
    assert jobs.resume(number, who="bo").attempts == 0


def test_a_server_that_ends_costs_no_attempt(jobs):
    number = jobs.add(PROJECT, {}, who="ada").number
    for _ in range(5):
        assert jobs.claim(PROJECT, worker="w").attempts == 1
        assert jobs.release(number, worker="w", why="the server ends", is_lost=False).state == "queued"


def test_cancelling(jobs, clock):
    waiting = jobs.add(PROJECT, {}, who="ada").number
    assert jobs.cancel(waiting, who="bo").state == "cancelled"
    with pytest.raises(OptionError, match=f"job {waiting} cannot be cancelled, as it is cancelled"):
        jobs.cancel(waiting, who="bo")
    number = jobs.add(PROJECT, {}, who="ada").number
    jobs.claim(PROJECT, worker="w1")
    assert jobs.cancel(number, who="bo").state == "cancelling"
    assert jobs.cancel(number, who="cy").state == "cancelling"
    assert jobs.beat(number, worker="w1") == "cancelling"
    assert jobs.stop(number, worker="w1")
    assert jobs.get(number).state == "cancelled"
    assert texts(jobs, number)[2:] == ["cancelled by bo", "stopped; what was answered is kept"]
    assert jobs.resume(number, who="ada").state == "queued"
    jobs.claim(PROJECT, worker="w2")
    jobs.cancel(number, who="ada")
    clock.seconds += 61
    assert jobs.claim(PROJECT, worker="w3") is None  # nobody goes on with what was to be cancelled
    assert jobs.get(number).state == "cancelled"


def test_resuming_what_cannot_be_resumed(jobs):
    number = jobs.add(PROJECT, {}, who="ada").number
    with pytest.raises(OptionError, match="cannot be resumed, as it is queued"):
        jobs.resume(number, who="ada")
    jobs.claim(PROJECT, worker="w")
    jobs.finish(number, worker="w", result=JobResult((1,), ()))
    with pytest.raises(OptionError, match="cannot be resumed, as it is done"):
        jobs.resume(number, who="ada")
    with pytest.raises(UnknownNameError, match="there is no job 99"):
        jobs.resume(99, who="ada")
    other = jobs.add(PROJECT, {}, who="ada").number
    jobs.claim(PROJECT, worker="w")
    jobs.finish(other, worker="w", result=JobResult((1,), (), n_failed=1))
    assert jobs.resume(other, who="ada").state == "queued"


def test_a_job_is_claimed_once(store_address):
    with open_store(store_address) as store:
        numbers = {store.jobs.add(f"/{i}", {}, who="ada").number for i in range(6)}
    ready, claimed, problems = threading.Barrier(4), [], []

    def claim(name: str) -> None:
        try:
            with open_store(store_address) as store:
                ready.wait()
                for i in range(6):
                    found = store.jobs.claim(f"/{i}", worker=name)
                    if found is not None:
                        claimed.append(found.number)
        except Exception as error:  # noqa: BLE001 (whatever it is, the test shows it)
            problems.append(error)

    threads = [threading.Thread(target=claim, args=(f"w{i}",)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    assert sorted(claimed) == sorted(numbers)
