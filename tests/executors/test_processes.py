"""Worker processes of this machine: what they return, what is done when they are lost, how they end."""

import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from importlib.metadata import PackageNotFoundError
from multiprocessing import get_context
from pathlib import Path

import pytest

import executor_tasks as tasks
from rankscope.errors import BadLinesError, InputError, OptionError, UnfinishedError
from rankscope.executors import TaskFailure, executor_from
from rankscope.executors.processes import LocalProcesses
from rankscope.executors.workers import check_workers

TESTS = Path(__file__).parents[1]


def results(executor, function, n=8, **options):
    return dict(executor.run(function, range(n), **options))


@pytest.fixture(scope="module")
def processes():
    with executor_from(workers=2) as executor:
        yield executor


def test_results_are_those_of_this_process(processes):
    with executor_from() as here:
        assert results(processes, tasks.square) == results(here, tasks.square) == {i: i * i for i in range(8)}


def test_an_idle_worker_gives_back_what_it_has_before_it_ends(tmp_path):
    """Python gives back semaphores in the same way, and warns of those that are left."""
    with executor_from(workers=2) as executor:
        results(executor, tasks.slow_square)  # both are there
        assert results(executor, partial(tasks.write_at_the_end, tmp_path / "ended"), 2) == {0: 0, 1: 1}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ended.0", "ended.1"]


def test_there_is_nothing_to_do(processes):
    assert results(processes, tasks.square, 0) == {}


def test_an_error_comes_as_it_was_raised(processes):
    failure = results(processes, tasks.square_or_bad_line)[3]
    assert isinstance(failure.error, BadLinesError)
    assert failure.error.bad_lines[0].line == 7
    assert failure.error.hint == "see the file"
    assert failure.is_final


def test_a_bug_is_said_with_its_place(processes):
    failure = results(processes, tasks.square_or_bug)[3]
    assert failure.kind == "raised"
    assert "ZeroDivisionError" in failure.error.message
    assert "executor_tasks.py:" in failure.error.message


def test_memory_that_runs_out_is_said(processes):
    assert results(processes, tasks.runs_out_of_memory)[3].kind == "memory"


def test_a_result_that_cannot_be_sent_fails_alone(processes):
    found = results(processes, tasks.cannot_be_sent)
    assert isinstance(found.pop(3), TaskFailure)
    assert found == {i: i * i for i in range(8) if i != 3}


def test_a_function_that_cannot_be_sent_is_refused(processes):
    with pytest.raises(OptionError, match="cannot be sent to another process"):
        results(processes, lambda number: number)


def test_what_a_killed_worker_was_doing_is_done_again(processes, tmp_path):
    assert results(processes, partial(tasks.dies_once, tmp_path)) == {i: i * i for i in range(8)}
    assert (tmp_path / "died").exists()


def test_what_always_kills_its_worker_fails_alone(processes):
    found = results(processes, tasks.dies_always, retries=1)
    failure = found.pop(3)
    assert (failure.kind, failure.position) == ("lost", 3)
    assert "SIGKILL" in failure.error.message
    assert "smaller" in failure.error.hint
    assert found == {i: i * i for i in range(8) if i != 3}


def test_all_workers_are_killed():
    with executor_from(workers=2) as executor:
        found = {}
        for position, result in executor.run(tasks.slow_square, range(12)):
            found[position] = result
            if len(found) == 3:
                for worker in executor.workers:
                    os.kill(worker.process.pid, signal.SIGKILL)
        assert found == {i: i * i for i in range(12)}


def test_workers_are_let_go_of_when_results_are_not_wanted_any_more(processes):
    for _ in processes.run(tasks.slow_square, range(100)):
        break
    assert results(processes, tasks.square) == {i: i * i for i in range(8)}


def test_workers_end_with_the_executor():
    with executor_from(workers=2) as executor:
        assert len(results(executor, tasks.square)) == 8
        started = [worker.process for worker in executor.workers]
    assert started
    assert not any(process.is_alive() for process in started)


SCRIPT = """
import sys
sys.path.insert(0, {tests!r})
import executor_tasks as tasks
from rankscope.executors import executor_from
{guard}
with executor_from(workers=2) as executor:
    print(sorted(executor.run(tasks.square, range(4))))
"""


def test_a_script_that_starts_workers_when_it_is_imported_is_explained(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.format(tests=str(TESTS), guard=""))
    ended = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False, timeout=60)
    assert ended.returncode == 1
    assert 'if __name__ == "__main__":' in ended.stderr
    assert ended.stderr.count("Traceback") == 1, "the workers say nothing themselves"


WORKING = """
import sys
sys.path.insert(0, {tests!r})
import executor_tasks as tasks
from rankscope.executors import executor_from
if __name__ == "__main__":
    with executor_from(workers=2) as executor:
        for found in executor.run(tasks.square_then_sleep, range(1000)):
            print([worker.process.pid for worker in executor.workers], flush=True)
"""


def test_ctrl_c_ends_the_workers_without_a_word_of_theirs(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(WORKING.format(tests=str(TESTS)))
    with subprocess.Popen(
        [sys.executable, str(script)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as started:
        workers = [int(pid) for pid in started.stdout.readline().strip("[]\n").split(",")]
        os.killpg(started.pid, signal.SIGINT)
        _, said = started.communicate(timeout=60)
    assert said.count("Traceback") == 1
    assert said.strip().endswith("KeyboardInterrupt")
    assert not any(is_running(pid) for pid in workers)


def test_workers_of_a_killed_process_end(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(WORKING.format(tests=str(TESTS)))
    with subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True) as started:
        workers = [int(pid) for pid in started.stdout.readline().strip("[]\n").split(",")]
        started.kill()
    deadline = time.monotonic() + 30
    while any(is_running(pid) for pid in workers) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(is_running(pid) for pid in workers)


def is_running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize("n_workers", [0, -1])
def test_there_has_to_be_a_worker(n_workers):
    with pytest.raises(OptionError, match="at least one"):
        LocalProcesses(n_workers)


def test_a_pool_of_somebody_else_is_used_and_left_open():
    with ThreadPoolExecutor(2) as pool:
        with executor_from(pool) as executor:
            assert executor.n_workers == 2
            assert results(executor, tasks.square) == {i: i * i for i in range(8)}
        assert pool.submit(tasks.square, 3).result() == 9


def test_a_pool_that_breaks_is_said(tmp_path):
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool, executor_from(pool) as executor:
        found = results(executor, tasks.dies_always, 5)
        assert {found[3].kind, found[4].kind} == {"lost"}
        assert "workers=N" in found[3].error.hint


POOL = """
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
import rankscope as rs
with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
    rs.evaluate({"q": {"d": 1}}, RUN, "RR", on=pool)
"""


def test_a_pool_whose_processes_import_the_script_that_starts_them_is_explained(tmp_path):
    run, script = tmp_path / "r.run", tmp_path / "script.py"
    run.write_text("q Q0 d 1 1.0 t\n")
    script.write_text(POOL.replace("RUN", repr(str(run))))
    ended = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False, timeout=60)
    assert ended.returncode == 1
    last = ended.stderr[ended.stderr.rindex("UnfinishedError") :]
    assert "the processes of the pool end before they are ready" in last
    assert 'if __name__ == "__main__":' in last


@pytest.mark.parametrize(
    ("answer", "kind", "words"),
    [
        (PackageNotFoundError("rankscope"), InputError, "but worker tcp://a has none"),
        (OSError("Timed out trying to connect"), UnfinishedError, r"worker tcp://a cannot be reached: .*Timed out"),
    ],
)
def test_a_worker_that_cannot_be_reached_is_not_one_without_rankscope(answer, kind, words):
    class Asked:
        n_workers = 1

        def everywhere(self, function, *args):
            return {"tcp://a": answer}

    with pytest.raises(kind, match=words):
        check_workers(Asked())


@pytest.mark.skipif(sys.platform == "win32", reason="Windows does not fork")
def test_a_pool_that_forks_is_refused_with_one_that_does_not():
    """Polars has threads that a forked process lacks (https://docs.pola.rs/user-guide/misc/multiprocessing)."""
    with (
        ProcessPoolExecutor(1, mp_context=get_context("fork")) as pool,
        pytest.raises(OptionError, match="forked") as refused,
        executor_from(pool),
    ):
        pass
    assert 'ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn"))' in refused.value.hint
    assert "workers=2" in refused.value.hint


def test_places_that_nobody_knows_are_refused():
    with pytest.raises(OptionError, match="nothing is known of 'spark://x'"), executor_from("spark://x"):
        pass
    with pytest.raises(OptionError, match="both workers and on"), executor_from("dask://x:1", workers=2):
        pass


def test_two_jobs_have_executors_of_their_own_in_two_threads():
    found = {}

    def work(name):
        with executor_from(workers=1) as executor:
            found[name] = results(executor, tasks.square)

    threads = [threading.Thread(target=work, args=(name,)) for name in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found["a"] == found["b"] == {i: i * i for i in range(8)}


def test_a_script_from_standard_input_is_told_why_it_starts_no_workers():
    script = "from rankscope.executors import executor_from\nwith executor_from(workers=2): pass\n"
    done = subprocess.run([sys.executable, "-"], input=script, capture_output=True, text=True, check=False)
    assert "a script from standard input cannot start worker processes" in done.stderr
