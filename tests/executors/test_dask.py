"""A cluster of Dask on this machine: results, lost workers, lost schedulers, workers that are not fit."""

import logging
import os
import signal
import subprocess
import sys
import threading
import time
from functools import partial
from pathlib import Path

import pytest

import executor_tasks as tasks
from rankscope._version import __version__
from rankscope.errors import InputError, OptionError, UnfinishedError
from rankscope.executors import dask_cluster, executor_from
from rankscope.executors.jobs import JobFailedError, TaskJob, run_kept
from rankscope.executors.kept import Kept
from rankscope.executors.workers import check_workers

distributed = pytest.importorskip("distributed")

TESTS = Path(__file__).parents[1]
SQUARES = {i: i * i for i in range(8)}


def cluster_of(n_workers, memory="1GiB"):
    import dask

    dask.config.set({"distributed.worker.memory.terminate": 0.95, "distributed.worker.memory.pause": False})
    return distributed.LocalCluster(
        n_workers=n_workers,
        threads_per_worker=1,
        memory_limit=memory,
        dashboard_address="127.0.0.1:0",
        scheduler_kwargs={"dashboard": False},
        host="127.0.0.1",
        silence_logs=50,
    )


@pytest.fixture(scope="module")
def cluster():
    with cluster_of(2) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def client(cluster):
    with distributed.Client(cluster, set_as_default=False) as client:
        yield client


@pytest.fixture
def executor(client):
    with executor_from(client) as executor:
        yield executor


def results(executor, function, n=8):
    return dict(executor.run(function, range(n)))


def job(function=tasks.square, n=8, **fields):
    keys = [f"key-{i}" for i in range(n)]
    return TaskJob(function, range(n), keys=keys, encode=tasks.encode, decode=tasks.decode, **fields)


def done(executor, of, **options):
    found = {}
    run_kept(executor, of, found.__setitem__, **options)
    return found


def test_results_are_those_of_one_process(executor):
    assert done(executor, job()) == SQUARES


def test_an_address_is_enough_and_the_cluster_goes_on(cluster, client):
    with executor_from(cluster.scheduler_address.replace("tcp://", "dask://")) as executor:
        assert executor.n_workers == 2
        assert results(executor, tasks.square) == SQUARES
    assert client.submit(tasks.square, 3).result() == 9


def test_a_cluster_is_as_good_as_its_address(cluster):
    with executor_from(cluster) as executor:
        assert results(executor, tasks.square) == SQUARES


def test_a_scheduler_without_workers_is_said(monkeypatch):
    monkeypatch.setattr(dask_cluster, "CONNECT_S", 0.5)
    with (
        cluster_of(0) as empty,
        pytest.raises(UnfinishedError, match=r"the scheduler of Dask at tcp://.* has no workers") as refused,
        executor_from(empty.scheduler_address),
    ):
        pass
    assert f"dask worker {empty.scheduler_address}" in refused.value.hint


def test_a_bug_and_an_unfinished_input_are_said(executor):
    failure = results(executor, tasks.square_or_bug)[3]
    assert "ZeroDivisionError" in failure.error.message
    with pytest.raises(JobFailedError, match=r"[34]: no room for [34]"):
        done(executor, job(tasks.unfinished))


def test_a_killed_worker_is_replaced(executor, tmp_path):
    assert results(executor, partial(tasks.dies_once, tmp_path)) == SQUARES
    assert (tmp_path / "died").exists()


def test_all_workers_are_killed(executor, client):
    found = {}
    for position, result in executor.run(tasks.slow_square, range(20)):
        found[position] = result
        if len(found) == 3:
            for pid in client.run(os.getpid).values():
                os.kill(pid, signal.SIGKILL)
    assert found == {i: i * i for i in range(20)}


def test_ten_thousand_small_inputs(executor):
    assert done(executor, TaskJob(tasks.square, range(10_000))) == {i: i * i for i in range(10_000)}


def test_what_nobody_waits_for_is_cancelled(executor, client):
    running = executor.run(partial(tasks.slow_square, seconds=0.1), range(1000))
    next(running)
    running.close()
    assert results(executor, tasks.square) == SQUARES
    deadline = time.monotonic() + 30
    while any(client.processing().values()) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(client.processing().values())


def test_workers_that_do_not_see_the_files_are_refused(executor, tmp_path):
    missing = tmp_path / "missing.run"
    with pytest.raises(InputError, match=r"worker tcp://127.* cannot read .*missing\.run") as refused:
        done(executor, job(can_read=partial(os.path.getsize, missing)))
    assert "same path" in refused.value.hint


@pytest.mark.slow
def test_an_input_over_the_memory_limit_is_named(monkeypatch):
    monkeypatch.setattr(dask_cluster, "NO_WORKERS_S", 600)  # on a busy machine a worker takes a while to be there again
    with (
        cluster_of(1, "300MiB") as small,
        distributed.Client(small, set_as_default=False) as client,
        executor_from(client) as executor,
        pytest.raises(JobFailedError, match=r"part-3: its workers had more memory") as failed,
    ):
        done(executor, job(tasks.fills_memory, name_of="part-{}".format))
    assert "make the inputs smaller" in failed.value.hint
    assert failed.value.failures[0].kind == "memory"


def test_a_cluster_that_is_not_there_is_said(monkeypatch):
    monkeypatch.setattr(dask_cluster, "CONNECT_S", 0.5)
    with (
        pytest.raises(UnfinishedError, match=r"there is no scheduler of Dask at dask://127\.0\.0\.1:9") as refused,
        executor_from("dask://127.0.0.1:9"),
    ):
        pass
    assert "`dask scheduler --port 9`" in refused.value.hint


@pytest.mark.parametrize(
    "address", ["dask://", "dask://host", "tcp://:8786", "dask://u:secret@127.0.0.1:1", "tcp://127.0.0.1:1?tok=secret"]
)
def test_what_is_no_address_of_a_scheduler_is_refused_at_once_and_shows_no_secret(address, monkeypatch):
    monkeypatch.setattr(distributed, "Client", lambda *_, **__: pytest.fail("somebody was asked"))
    with pytest.raises(OptionError) as refused, executor_from(address):
        pass
    assert "dask://host:8786" in refused.value.hint
    assert "secret" not in str(refused.value)


def test_a_client_that_is_closed_is_said():
    with cluster_of(1) as small:
        client = distributed.Client(small, set_as_default=False)
        client.close()
        with pytest.raises(OptionError, match="the client of Dask is closed"), executor_from(client):
            pass


def test_dask_that_is_not_installed_is_named_with_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(OptionError, match="not installed") as refused, executor_from("dask://127.0.0.1:9"):
        pass
    assert refused.value.hint == 'pip install "rankscope[dask]"'


def test_dask_logs_nothing_during_a_job_and_what_it_did_before_afterwards(client):
    log = logging.getLogger("distributed.client")
    before = log.level
    with executor_from(client):
        assert not log.isEnabledFor(logging.CRITICAL)
    assert log.level == before


# A scheduler and workers that are started by hand, and can be killed


@pytest.fixture
def started(tmp_path):
    """Return a function that starts a program of Dask; all of them are ended afterwards."""
    programs = []

    def start(*arguments, path=TESTS, **variables):
        environment = {**os.environ, "PYTHONPATH": str(path), **variables}
        program = subprocess.Popen(
            [sys.executable, "-m", "dask", *arguments],
            env=environment,
            cwd=tmp_path,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        programs.append(program)
        return program

    yield start
    for program in programs:
        program.kill()
        program.wait()


def start_scheduler(started, tmp_path):
    file = tmp_path / f"scheduler-{time.monotonic_ns()}.json"
    program = started(
        "scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(file)
    )
    return program, file


def start_worker(started, file, **options):
    common = ("--no-nanny", "--nthreads", "1", "--no-dashboard", "--host", "127.0.0.1", "--death-timeout", "30")
    return started("worker", "--scheduler-file", str(file), *common, **options)


def connected(file):
    return distributed.Client(scheduler_file=str(file), timeout=30, set_as_default=False)


@pytest.mark.slow
def test_a_killed_scheduler_is_said_and_the_job_goes_on_with_another(started, tmp_path, capfd):
    kept = Kept.open(tmp_path / "kept")
    scheduler, file = start_scheduler(started, tmp_path)
    start_worker(started, file)
    found = {}

    def take(position, result):
        found[position] = result
        if len(found) == 3:
            scheduler.kill()

    client = connected(file)
    with executor_from(client) as executor, pytest.raises(UnfinishedError, match="scheduler of Dask is gone") as lost:
        run_kept(executor, job(partial(tasks.slow_square, seconds=0.1)), take, kept=kept)
    client.close(timeout=1)
    assert "Traceback" not in capfd.readouterr().err
    assert "keep=FOLDER" in lost.value.hint
    n_kept = len(list(kept.folder.glob("*.kept")))
    assert 3 <= n_kept < 8
    _, file = start_scheduler(started, tmp_path)
    start_worker(started, file)
    (tmp_path / "marks").mkdir()
    with connected(file) as client, executor_from(client) as executor:
        assert done(executor, job(partial(tasks.leaves_mark, tmp_path / "marks")), kept=kept) == SQUARES
    assert len(list((tmp_path / "marks").iterdir())) == 8 - n_kept


LOST = [
    distributed.client.FutureCancelledError("outcome-1", "scheduler-connection-lost"),
    distributed.comm.CommClosedError("ConnectionPool closing."),
    RuntimeError("ConnectionPool is closed"),
]


@pytest.mark.parametrize("error", LOST, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("asked", ["result", "nthreads", "run"])
def test_whatever_dask_raises_a_lost_scheduler_is_said(error, asked, client, executor, monkeypatch):
    """It may be lost before any question: a future that was done is cancelled when its result is asked for."""

    def lost(*_, **__):
        monkeypatch.setattr(client, "status", "connecting")
        raise error

    monkeypatch.setattr(distributed.Future if asked == "result" else client, asked, lost)
    ask = {
        "result": lambda: results(executor, tasks.square),
        "nthreads": lambda: executor.n_workers,
        "run": lambda: executor.everywhere(os.getpid),
    }
    with pytest.raises(UnfinishedError, match="the scheduler of Dask is gone") as refused:
        ask[asked]()
    assert "start the scheduler again" in refused.value.hint
    assert "keep=FOLDER" in refused.value.hint


@pytest.mark.slow
def test_workers_of_another_version_are_refused(started, tmp_path):
    """The first folder that Python looks into says that Rankscope is of version 9.9 there."""
    other = tmp_path / "other" / "rankscope-9.9.dist-info"
    other.mkdir(parents=True)
    (other / "METADATA").write_text("Metadata-Version: 2.1\nName: rankscope\nVersion: 9.9\n")
    _, file = start_scheduler(started, tmp_path)
    start_worker(started, file, path=other.parent)
    with connected(file) as client, executor_from(client) as executor:
        with pytest.raises(
            InputError, match=rf"rankscope is {__version__} here, but worker tcp://.* has 9\.9"
        ) as refused:
            done(executor, job())
        assert refused.value.hint.startswith(f"on every worker: pip install rankscope=={__version__}")


@pytest.mark.slow
def test_a_worker_of_another_version_that_comes_later_is_refused(started, tmp_path):
    """A cluster that grows by itself starts workers after all others were asked for their versions."""
    other = tmp_path / "other" / "rankscope-9.9.dist-info"
    other.mkdir(parents=True)
    (other / "METADATA").write_text("Metadata-Version: 2.1\nName: rankscope\nVersion: 9.9\n")
    _, file = start_scheduler(started, tmp_path)
    start_worker(started, file)
    with connected(file) as client, executor_from(client) as executor:
        found = {}

        def take(position, result):
            found[position] = result
            if len(found) == 1:
                start_worker(started, file, path=f"{other.parent}{os.pathsep}{TESTS}")

        slow = job(partial(tasks.slow_square, seconds=0.3), 100, sizes=[1] * 100, batch_size=1)
        with pytest.raises(
            InputError, match=rf"has rankscope 9\.9 and .* begun with rankscope {__version__}"
        ) as refused:
            run_kept(executor, slow, take)
        assert "also on those that come later" in refused.value.hint


@pytest.mark.slow
def test_a_cluster_that_loses_its_last_worker_for_good_is_said(started, tmp_path, monkeypatch):
    monkeypatch.setattr(dask_cluster, "NO_WORKERS_S", 0.5)
    _, file = start_scheduler(started, tmp_path)
    worker = start_worker(started, file)
    with connected(file) as client, executor_from(client) as executor:
        threading.Timer(1.0, worker.kill).start()
        with pytest.raises(UnfinishedError, match="all workers of Dask are gone"):
            results(executor, partial(tasks.slow_square, seconds=0.3), 100)


def test_workers_of_another_python_are_refused():
    class Old:
        n_workers = 1

        def everywhere(self, function, *args):
            return {"tcp://a": __version__ if args else "3.9.1"}

    with pytest.raises(InputError, match=r"Python is 3\.\d+ here, but worker tcp://a has 3\.9"):
        check_workers(Old())
