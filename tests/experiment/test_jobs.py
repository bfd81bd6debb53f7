"""Jobs in processes of their own: killed, cancelled, failed or resumed, they end with the run that they should have."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))
from rankscope.errors import OptionError
from rankscope.experiment.jobs import JobWorker, queue_job, systems_with_code
from rankscope.experiment.project import load_project
from rankscope.experiment.runner import RunOptions, run_project
from rankscope.experiment.session import CancelledRunError
from rankscope.store import open_store
from small_project import small_project, systems

N = 12
LONG_S = 60


@pytest.fixture
def small(tmp_path):
    made = small_project(tmp_path / "project", n_queries=N, module="searching")
    made.write(systems("one", "other"))
    return made


@pytest.fixture
def store(small):
    with open_store(small.folder, create=True) as opened:
        yield opened


def project_of(small):
    return load_project(small.folder)


def worker_of(small, store) -> JobWorker:
    return JobWorker(store, project_of(small).file, poll_s=0.05, end_s=20)


def wait_until(is_so, what: str) -> None:
    deadline = time.monotonic() + LONG_S
    while not is_so():
        assert time.monotonic() < deadline, f"waited in vain until {what}"
        time.sleep(0.05)


def rankings(store, job) -> dict:
    runs = [store.runs.find(str(number)) for number in job.result.runs]
    return {run.system: store.runs.ranking(run) for run in runs}


@pytest.fixture
def expected(tmp_path):
    """Return the runs of the same project where nothing has happened to it."""
    other = small_project(tmp_path / "undisturbed", n_queries=N, module="searching")
    other.write(systems("one", "other"))
    (result,) = run_project(load_project(other.folder)).collections
    return dict(result.rankings.runs)


def start_server(small, store) -> subprocess.Popen:
    """Start a process that takes up one job, whose queries take a while."""
    code = (
        "import sys; from pathlib import Path; from rankscope.store import open_store; "
        "from rankscope.experiment.jobs import JobWorker; "
        "JobWorker(open_store(sys.argv[1]), Path(sys.argv[2])).run_next()"
    )
    arguments = [str(store.location.path), str(project_of(small).file)]
    return subprocess.Popen([sys.executable, "-c", code, *arguments], env={**os.environ, "SLOWLY": "0.3"})


def test_a_job_runs_to_its_end(small, store, expected):
    job = queue_job(store, project_of(small), RunOptions(depth=10), who="ada")
    assert worker_of(small, store).run_next()
    done = store.jobs.get(job.number)
    assert (done.state, done.failure, done.worker) == ("done", "", "")
    assert (done.progress.done, done.progress.total) == (2, 2)
    steps = {step.what.rpartition(" · ")[2]: (step.done, step.total) for step in done.progress.steps}
    assert steps["one: searching"] == steps["other: searching"] == (N, N)
    assert rankings(store, done) == expected
    assert len(done.result.comparisons) == 1
    assert (small.folder / done.result.manifest).is_file()
    assert not worker_of(small, store).run_next()


def test_a_job_runs_with_a_store_in_postgresql(small, postgres_server, expected):
    with open_store(postgres_server.new_store()) as store:
        job = queue_job(store, project_of(small), RunOptions(), who="ada")
        assert worker_of(small, store).run_next()
        done = store.jobs.get(job.number)
        assert (done.state, done.failure) == ("done", "")
        assert rankings(store, done) == expected


def test_a_job_whose_process_is_killed_is_taken_up_again(small, store, expected, monkeypatch):
    job = queue_job(store, project_of(small), RunOptions(), who="ada")
    worker = worker_of(small, store)
    monkeypatch.setenv("DIE_AT", "q7")
    assert worker.run_next()
    lost = store.jobs.get(job.number)
    assert (lost.state, lost.attempts, lost.worker) == ("queued", 1, "")
    assert "its process ended by SIGKILL" in [event.text for event in store.jobs.events(job.number)]
    assert store.runs.list() == ()
    monkeypatch.delenv("DIE_AT")
    assert worker.run_next()
    done = store.jobs.get(job.number)
    assert (done.state, done.attempts) == ("done", 2)
    assert rankings(store, done) == expected
    assert small.asked == {f"q{i}": 2 if i == 7 else 1 for i in range(N)}


def test_a_process_that_dies_again_and_again_fails_its_job(small, store, monkeypatch):
    job = queue_job(store, project_of(small), RunOptions(), who="ada")
    worker = worker_of(small, store)
    monkeypatch.setenv("DIE_AT", "q7")
    while worker.run_next():
        pass
    failed = store.jobs.get(job.number)
    assert failed.state == "failed"
    assert failed.failure == "its process ended by SIGKILL, and that 3 times in a row; what was answered is kept"


def test_a_job_goes_on_when_server_and_process_are_killed(small, store, expected):
    """Both are killed by SIGKILL: nobody says that the job was lost, and its heartbeat tells it after a minute."""
    job = queue_job(store, project_of(small), RunOptions(), who="ada")
    server = start_server(small, store)
    wait_until(lambda: len(small.asked) >= 3, "some queries are asked")
    server.send_signal(signal.SIGKILL)
    server.wait()
    worker = store.jobs.get(job.number).worker
    for process in Path("/proc").iterdir():
        if process.name.isdigit() and worker.encode() in read_or_nothing(process / "cmdline"):
            os.kill(int(process.name), signal.SIGKILL)
    assert 3 <= len(small.asked) < N
    assert not worker_of(small, store).run_next()  # it might be alive
    with open_store(small.folder, clock=minute_later) as later:
        assert JobWorker(later, project_of(small).file).run_next()
    done = store.jobs.get(job.number)
    assert (done.state, done.attempts) == ("done", 2)
    assert rankings(store, done) == expected
    assert sum(small.asked.values()) <= N + 1  # but for the one that was on its way


def minute_later() -> str:
    return (datetime.now(UTC) + timedelta(seconds=62)).isoformat(timespec="microseconds")


def read_or_nothing(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def test_a_job_outlives_a_server_that_is_killed(small, store, expected):
    job = queue_job(store, project_of(small), RunOptions(), who="ada")
    server = start_server(small, store)
    wait_until(lambda: len(small.asked) >= 2, "some queries are asked")
    server.send_signal(signal.SIGKILL)
    server.wait()
    wait_until(lambda: store.jobs.get(job.number).has_ended, "the job has ended")
    done = store.jobs.get(job.number)
    assert (done.state, done.attempts) == ("done", 1)
    assert rankings(store, done) == expected


def test_a_job_is_cancelled_and_resumed(small, store, expected, monkeypatch):
    monkeypatch.setenv("SLOWLY", "0.3")
    job = queue_job(store, project_of(small), RunOptions(), who="ada")
    worker = worker_of(small, store)
    worker.start()
    try:
        wait_until(lambda: len(small.asked) >= 2, "some queries are asked")
        assert store.jobs.cancel(job.number, who="bo").state == "cancelling"
        wait_until(lambda: store.jobs.get(job.number).has_ended, "it has stopped")
        assert store.jobs.get(job.number).state == "cancelled"
        assert 2 <= len(small.asked) < N
        monkeypatch.setenv("SLOWLY", "0")
        store.jobs.resume(job.number, who="bo")
        worker.wake()
        wait_until(lambda: store.jobs.get(job.number).has_ended, "it is done")
    finally:
        worker.stop()
    done = store.jobs.get(job.number)
    assert done.state == "done"
    assert rankings(store, done) == expected
    assert set(small.asked.values()) == {1}


def test_a_query_that_hangs_is_interrupted(small, store, monkeypatch):
    monkeypatch.setenv("SLOWLY", "600")
    job = queue_job(store, project_of(small), RunOptions(only=("one",)), who="ada")
    worker = worker_of(small, store)
    worker.start()
    try:
        wait_until(lambda: len(small.asked) == 1, "the first query is asked")
        store.jobs.cancel(job.number, who="ada")
        wait_until(lambda: store.jobs.get(job.number).has_ended, "it has stopped")
    finally:
        worker.stop()
    assert store.jobs.get(job.number).state == "cancelled"


def test_a_server_that_ends_leaves_its_job_in_the_queue(small, store, expected, monkeypatch):
    monkeypatch.setenv("SLOWLY", "0.3")
    job = queue_job(store, project_of(small), RunOptions(), who="ada")
    worker = worker_of(small, store)
    worker.start()
    wait_until(lambda: len(small.asked) >= 2, "some queries are asked")
    worker.stop()
    waiting = store.jobs.get(job.number)
    assert (waiting.state, waiting.attempts) == ("queued", 0)
    monkeypatch.delenv("SLOWLY")
    assert worker_of(small, store).run_next()
    assert rankings(store, store.jobs.get(job.number)) == expected
    assert set(small.asked.values()) == {1}


def test_jobs_wait_for_one_another(small, store):
    numbers = [
        queue_job(store, project_of(small), RunOptions(only=(name,)), who="ada").number for name in ("one", "other")
    ]
    worker = worker_of(small, store)
    worker.start()
    try:
        wait_until(lambda: all(store.jobs.get(number).has_ended for number in numbers), "both are done")
    finally:
        worker.stop()
    first, second = map(store.jobs.get, numbers)
    assert first.state == second.state == "done"
    assert first.finished <= second.started
    assert [run.system for run in store.runs.list()] == ["one", "other"]


def test_a_failure_is_said_in_words_and_without_secrets(small, store, monkeypatch):
    monkeypatch.setenv("API_KEY", "s3cret-of-the-search")
    small.add("def failing(query):\n    raise ValueError('not with s3cret-of-the-search')\n")
    small.write(
        '[systems.failing]\ntype = "python"\nfunction = "MODULE:failing"\n'
        '[systems.away]\ntype = "http"\nurl = "http://127.0.0.1:9/${API_KEY}?q={query}"\nids = "id"\n'
    )
    job = queue_job(store, project_of(small), RunOptions(), who="ada")
    worker = worker_of(small, store)
    assert worker.run_next()
    failed = store.jobs.get(job.number)
    assert failed.state == "failed"
    assert failed.failure.startswith("no system could be measured: away on ")
    said = failed.failure + "".join(event.text for event in store.jobs.events(job.number))
    assert "failing: query 'q0' failed: ValueError: not with ${API_KEY}" in said
    assert "s3cret" not in said
    (small.folder / "rankscope.toml").write_text("measures = 3\n")
    store.jobs.resume(job.number, who="ada")
    assert worker.run_next()
    assert "rankscope.toml: measures" in store.jobs.get(job.number).failure


def test_fresh_answers_are_asked_for_once_whatever_happens(small, store, monkeypatch):
    run_project(project_of(small))
    assert sum(small.asked.values()) == N
    job = queue_job(store, project_of(small), RunOptions(fresh=True), who="ada")
    worker = worker_of(small, store)
    monkeypatch.setenv("DIE_AT", "q7")
    worker.run_next()
    monkeypatch.delenv("DIE_AT")
    worker.run_next()
    assert store.jobs.get(job.number).state == "done"
    assert small.asked == {f"q{i}": 3 if i == 7 else 2 for i in range(N)}


def test_options_that_cannot_be_are_refused_before_they_wait(small, store):
    with pytest.raises(OptionError, match="there is no system 'onne' to run"):
        queue_job(store, project_of(small), RunOptions(only=("onne",)), who="ada")
    assert store.jobs.list() == ()


def test_systems_with_code(small):
    small.write(
        systems("one")
        + '[systems.words]\ntype = "bm25"\n'
        + '[systems.search]\ntype = "http"\nurl = "http://localhost:9/?q={query}"\nids = "id"\n'
        + '[systems.both]\ntype = "hybrid"\nof = ["words", "one"]\n'
        + '[systems.plain]\ntype = "hybrid"\nof = ["words", "search"]\n'
        + '[systems.lengths]\ntype = "dense"\nmodel = "MODULE:encode"\n'
        + '[systems.program]\ntype = "command"\ncommand = "cat {queries}"\n'
    )
    project = project_of(small)
    assert systems_with_code(project) == ("one", "both", "lengths", "program")
    assert systems_with_code(project, ["plain", "words"]) == ()


class TestShouldStop:
    def test_the_run_ends_between_two_queries_and_goes_on_later(self, small, expected):
        with pytest.raises(CancelledRunError, match="the run was cancelled") as caught:
            run_project(project_of(small), should_stop=lambda: len(small.asked) >= 4)
        assert "run again to go on" in caught.value.hint
        assert list(small.asked) == ["q0", "q1", "q2", "q3"]
        (result,) = run_project(project_of(small)).collections
        assert dict(result.rankings.runs) == expected
        assert set(small.asked.values()) == {1}

    def test_it_ends_while_a_system_indexes(self, small):
        small.write('[systems.words]\ntype = "bm25"\n')
        said = []
        with pytest.raises(CancelledRunError):
            run_project(
                project_of(small),
                on_progress=lambda what, *_: said.append(what),
                should_stop=lambda: any("indexing" in what for what in said),
            )
        assert said[-1].endswith("words: indexing")
