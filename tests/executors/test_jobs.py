"""Jobs: what is kept, what is tried again, what is said when something is missing."""

import os
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path

import pytest

import executor_tasks as tasks
from rankscope.errors import BadLinesError, InputError, UnfinishedError
from rankscope.executors import executor_from
from rankscope.executors.jobs import JobFailedError, TaskJob, batches_of, run_kept
from rankscope.executors.kept import Kept
from rankscope.progress import JobState

TESTS = Path(__file__).parents[1]
SQUARES = {i: i * i for i in range(10)}


def job(function=tasks.square, n=10, **fields):
    keys = [f"key-{i}" for i in range(n)]
    return TaskJob(function, range(n), keys=keys, encode=tasks.encode, decode=tasks.decode, **fields)


def done(executor, of, **options):
    found = {}
    run_kept(executor, of, found.__setitem__, **options)
    return found


@pytest.fixture(scope="module")
def processes():
    with executor_from(workers=2) as executor:
        yield executor


@pytest.fixture(params=["here", "processes"])
def executor(request, processes):
    if request.param == "processes":
        yield processes
    else:
        with executor_from() as here:
            yield here


def test_every_input_is_done(executor):
    assert done(executor, job()) == SQUARES


def test_what_is_kept_is_not_done_again(executor, tmp_path):
    kept = Kept.open(tmp_path / "kept")
    (tmp_path / "marks").mkdir()
    marking = partial(tasks.leaves_mark, tmp_path / "marks")
    assert done(executor, job(marking, 4), kept=kept) == {i: i * i for i in range(4)}
    assert done(executor, job(marking), kept=kept) == SQUARES
    assert len(list((tmp_path / "marks").iterdir())) == 10


@pytest.mark.parametrize("damage", [b"", b"rankscope kept 1\n", b"\0" * 100, "cut", "flip", "swap", "pipe", "folder"])
def test_a_damaged_file_counts_as_absent_and_is_written_again(executor, tmp_path, damage):
    kept = Kept.open(tmp_path)
    kept.store("key-3", b"9")
    (path,) = tmp_path.glob("*.kept")
    whole = path.read_bytes()
    if damage == "swap":
        kept.store("key-4", b"16")
        other = next(each for each in tmp_path.glob("*.kept") if each != path)
        path.write_bytes(other.read_bytes())
    elif damage == "pipe":
        path.unlink()
        os.mkfifo(path)
    elif damage == "folder":
        path.unlink()
        path.mkdir()
    else:
        changed = {"cut": whole[:-1], "flip": whole[:-1] + b"8"}
        path.write_bytes(changed[damage] if isinstance(damage, str) else damage)
    assert kept.load("key-3") is None
    assert done(executor, job(), kept=kept) == SQUARES
    assert path.read_bytes() == whole


def test_a_folder_in_place_of_a_result_is_named_and_what_it_holds_stays(tmp_path):
    kept = Kept.open(tmp_path)
    kept.store("key-3", b"9")
    (path,) = tmp_path.glob("*.kept")
    path.unlink()
    path.mkdir()
    (path / "notes.txt").touch()
    with pytest.raises(UnfinishedError, match=r"\.kept cannot be written: Directory not empty"):
        kept.store("key-3", b"9")
    assert [each.name for each in tmp_path.rglob("*")] == [path.name, "notes.txt"]


def test_what_cannot_be_a_folder_of_results_is_refused(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match="is a file"):
        Kept.open(tmp_path / "file")


def test_keys_may_hold_any_bytes(tmp_path):
    kept = Kept.open(tmp_path)
    key = b"../../\xff/<b>\n".decode("utf-8", "surrogateescape")
    kept.store(key, b"x")
    assert kept.load(key) == b"x"
    assert [path.parent for path in tmp_path.rglob("*.kept")] == [tmp_path]


def test_an_error_of_what_was_given_is_raised_at_once(executor):
    with pytest.raises(BadLinesError, match=r"a\.run:7: 2 columns"):
        done(executor, job(tasks.square_or_bad_line))


def test_what_fails_for_want_of_a_connection_is_tried_again(executor, tmp_path):
    assert done(executor, job(partial(tasks.fails_at_first, tmp_path))) == SQUARES


def test_failures_are_said_together_and_the_others_are_kept(executor, tmp_path):
    kept = Kept.open(tmp_path)
    found = {}
    with pytest.raises(JobFailedError) as failed:
        run_kept(executor, job(tasks.unfinished, name_of="part-{}.run".format), found.__setitem__, kept=kept)
    assert failed.value.message.splitlines() == [
        "2 inputs of 10 could not be done:",
        "  part-3.run: no room for 3",
        "  part-4.run: no room for 4",
    ]
    assert failed.value.hint == "make room; what is done is kept: run again to go on"
    assert isinstance(failed.value, UnfinishedError)
    assert found == {i: i * i for i in range(10) if i not in {3, 4}}
    assert done(executor, job(), kept=kept) == SQUARES


def test_without_a_folder_the_first_failure_ends_the_job(executor):
    with pytest.raises(JobFailedError, match=r"1 input of 10 could not be done:\n  \d: no room"):
        done(executor, job(tasks.unfinished))


def test_an_input_that_kills_its_workers_is_named(processes, tmp_path):
    with pytest.raises(JobFailedError, match="3: its worker process was lost each time"):
        done(processes, job(tasks.dies_always, noun="shard"), kept=Kept.open(tmp_path), retries=1)
    assert len(list(tmp_path.glob("*.kept"))) == 9


def test_an_executor_that_forgets_an_input_is_noticed():
    class Forgetful:
        n_workers = 1

        def run(self, function, inputs, *, retries=2):
            yield from ((i, function(inputs[i])) for i in range(1, len(inputs)))

        def everywhere(self, function, *args):
            return {}

        def close(self):
            pass

    with executor_from(Forgetful()) as executor, pytest.raises(UnfinishedError, match="nothing for 1 input"):
        done(executor, job())


def test_ten_thousand_small_inputs_are_sent_in_batches(processes):
    states = []
    found = done(processes, TaskJob(tasks.square, range(10_000)), progress=states.append)
    assert found == {i: i * i for i in range(10_000)}
    assert states[-1].done == states[-1].total == 10_000
    assert 60 < len(list(batches_of(range(10_000), 2, TaskJob(tasks.square, range(10_000))))) < 200


def test_an_input_that_kills_its_workers_does_not_take_its_batch_with_it(processes, tmp_path):
    kept = Kept.open(tmp_path)
    many = TaskJob(
        tasks.dies_always_quickly,
        range(400),
        keys=[str(i) for i in range(400)],
        encode=tasks.encode,
        decode=tasks.decode,
    )
    found = {}
    with pytest.raises(JobFailedError, match="1 input of 400"):
        run_kept(processes, many, found.__setitem__, kept=kept, retries=1)
    assert found == {i: i * i for i in range(400) if i != 3}


def test_batches_have_so_many_rows_but_leave_no_worker_without_work():
    sized = TaskJob(tasks.square, range(6), sizes=[50, 50, 50, 10, 10, 200], batch_size=100)
    assert list(batches_of(range(6), 1, sized)) == [[0], [1], [2, 3, 4], [5]]
    small = TaskJob(tasks.square, range(8), sizes=[1] * 8, batch_size=1000)
    assert list(batches_of(range(8), 1, small)) == [[0, 1], [2, 3], [4, 5], [6, 7]]
    assert list(batches_of(range(8), 2, small)) == [[i] for i in range(8)]


def test_a_killed_job_goes_on_where_it_was(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(f"""
import sys
sys.path.insert(0, {str(TESTS)!r})
from functools import partial
import executor_tasks as tasks
from rankscope.executors import executor_from
from rankscope.executors.jobs import TaskJob, run_kept
from rankscope.executors.kept import Kept
if __name__ == "__main__":
    job = TaskJob(partial(tasks.slow_square, seconds=.1), range(10), keys=[f"key-{{i}}" for i in range(10)],
              encode=tasks.encode, decode=tasks.decode)
    with executor_from(workers=2) as executor:
        run_kept(executor, job, lambda *done: print(done, flush=True), kept=Kept.open({str(tmp_path / "kept")!r}))
""")
    with subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE) as started:
        for _ in range(3):
            started.stdout.readline()
        started.kill()
    n_kept = len(list((tmp_path / "kept").glob("*.kept")))
    assert 3 <= n_kept < 10
    (tmp_path / "marks").mkdir()
    with executor_from() as here:
        again = done(here, job(partial(tasks.leaves_mark, tmp_path / "marks")), kept=Kept.open(tmp_path / "kept"))
    assert again == SQUARES
    assert len(list((tmp_path / "marks").iterdir())) == 10 - n_kept


def test_two_jobs_may_use_one_folder_at_once(tmp_path):
    found = {"a": {}, "b": {}}

    def work(name):
        with executor_from(workers=1) as executor:
            run_kept(executor, job(tasks.slow_square), found[name].__setitem__, kept=Kept.open(tmp_path))

    threads = [threading.Thread(target=work, args=(name,)) for name in found]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found["a"] == found["b"] == SQUARES
    assert len(list(tmp_path.iterdir())) == 10


def test_progress_says_what_is_done_how_quickly_and_what_is_left(executor, tmp_path):
    kept = Kept.open(tmp_path)
    done(executor, job(n=4), kept=kept)
    states = []
    done(executor, job(rows_of=lambda _: 5), kept=kept, progress=states.append)
    assert [(state.done, state.kept) for state in states] == [(4 + i, 4) for i in range(7)]
    assert states[-1].rows == 30


def test_progress_in_words():
    state = JobState(12, 20, kept=2, rows=5_000_000, seconds=2.0, noun="shard")
    assert str(state) == "12 of 20 shards, 2 kept, 2,500,000 rows/s, 2 s left"  # 10 in 2 s, so 8 in 1.6
    assert str(JobState(0, 3)) == "0 of 3 inputs"
