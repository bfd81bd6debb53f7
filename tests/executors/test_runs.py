"""`rankscope run --workers`: the runs are those of one process, whatever happens to workers."""

import json
import os
import signal
import sys
import time
from pathlib import Path

import pytest

import rankscope as rs
from rankscope.errors import InputError, OptionError, UnfinishedError
from rankscope.experiment.parallel import groups_of, see_project
from rankscope.experiment.project import load_project
from rankscope.experiment.results import benchmark_record
from rankscope.experiment.runner import RunOptions, plan_tasks, run_project
from rankscope.experiment.session import CancelledRunError
from rankscope.records import to_json
from small_project import small_project, systems, without_times

MANY = (
    systems("one", "other", "picky")
    + '[systems.both]\ntype = "hybrid"\nof = ["one", "other"]\nweights = "tune"\n'
    + '[systems.words]\ntype = "bm25"\nk1 = [0.9, 1.5]\n'
    + '[systems.mixed]\ntype = "hybrid"\nof = ["words", "other"]\n'
    + '[systems.old]\ntype = "run"\npath = "old.run"\n'
    + f'[systems.program]\ntype = "command"\ncommand = ["{sys.executable}", "print.py"]\n'
    + '[systems.gone]\ntype = "command"\ncommand = ["no-such-program-anywhere"]\n'
    + '[collections.again]\npath = "small"\n'
)
PRINT = """
import json, sys
for line in sys.stdin:
    print(json.dumps({"query_id": json.loads(line)["id"], "results": [["d3", 1.0]]}))
"""


def project_in(folder, tables=MANY, **keys):
    small = small_project(folder, module="searching")
    (small.folder / "old.run").write_text("".join(f"q{i} Q0 d{i % 7} 1 1.0 x\n" for i in range(40)))
    (small.folder / "print.py").write_text(PRINT)
    small.write(tables, **keys)
    return small


def record_of(benchmark, small):
    """Return all that was found but times, and what is said of them."""
    text = to_json(benchmark_record(benchmark)).replace(str(small.folder), "")
    record = without_times(json.loads(text))
    for collection in record["collections"]:
        collection["notes"] = [note for note in collection["notes"] if not note.startswith("Times and memory of")]
    return {name: value for name, value in record.items() if name not in ("started", "finished")}


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """Return a project that was run in one process, and what was found."""
    small = project_in(tmp_path_factory.mktemp("alone"))
    return small, run_project(small.folder)


def test_runs_and_results_are_those_of_one_process(alone, tmp_path):
    here, expected = alone
    small = project_in(tmp_path)
    found = run_project(small.folder, workers=2)
    assert small.runs == here.runs
    assert record_of(found, small) == record_of(expected, here)
    again = run_project(small.folder)
    assert record_of(again, small) == record_of(expected, here)
    assert small.asked["q1"] == here.asked["q1"], "a run in one process takes the answers of workers"


def test_times_are_marked_and_left_out_where_they_would_mislead(tmp_path):
    small = project_in(tmp_path, systems("one", "other"))
    (found,) = run_project(small.folder, workers=2).collections
    assert [system.costs.beside for system in found.systems] == [1, 1]
    assert found.systems[0].costs.latency_ms is not None
    (note,) = [note for note in found.notes if note.startswith("Times and memory of all systems")]
    assert "up to 1 other system ran" in note
    assert found.answer_times["one"][0].latencies_ms is None
    (kept,) = run_project(small.folder).collections
    assert kept.systems[0].costs.beside == 1, "answers are remembered with how they were timed"
    (fresh,) = run_project(small.folder, fresh=True).collections
    assert fresh.systems[0].costs.beside == 0
    assert fresh.answer_times["one"][0].latencies_ms is not None
    assert not any(note.startswith("Times and memory") for note in fresh.notes)


def test_a_system_that_kills_its_worker_is_left_out_and_its_answers_are_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("DIE_AT", "q7")
    small = project_in(tmp_path, systems("one", "other"))
    (found,) = run_project(small.folder, workers=2).collections
    one, other = found.systems
    assert one.is_left_out
    assert "worker process was lost" in one.finding.message
    assert other.run is not None
    assert small.asked["q7"] == 3, "it was tried three times"
    assert small.asked["q6"] == 1, "what was answered before was kept"
    monkeypatch.delenv("DIE_AT")
    (again,) = run_project(small.folder, workers=2).collections
    assert not again.systems[0].is_left_out
    assert small.asked["q6"] == 1


@pytest.mark.slow
def test_a_killed_run_goes_on(alone, tmp_path):
    here, _ = alone
    small = project_in(tmp_path)
    started = small.start("--workers", "2", "--no-store", SLOWLY="0.02")
    deadline = time.monotonic() + 60
    while small.asked.total() < 25 and time.monotonic() < deadline:
        time.sleep(0.01)
    started.kill()
    started.wait()
    assert small.asked.total() >= 25
    assert small.run("--workers", "2", "--no-store").returncode == 2, "one system is left out"
    assert small.runs == here.runs
    again = sum(n - here.asked[query] for query, n in small.asked.items() if not query.endswith("3"))
    assert again <= 4, "only what was on its way is asked again, and what has failed"


@pytest.mark.slow
def test_an_interrupted_run_ends_its_workers_and_goes_on(tmp_path):
    small = project_in(tmp_path, systems("one", "other"))
    started = small.start("--workers", "2", "--no-store", SLOWLY="0.1")
    deadline = time.monotonic() + 60
    while small.asked.total() < 5 and time.monotonic() < deadline:
        time.sleep(0.01)
    started.send_signal(signal.SIGINT)
    assert started.wait(timeout=30) == 130
    n_asked = small.asked.total()
    assert small.run("--no-store").returncode == 0, "no worker holds a journal any more"
    assert small.asked.total() - 40 <= 1, "only what was on its way is asked again"
    assert n_asked < 40


@pytest.mark.slow
def test_a_killed_worker_is_replaced(alone, tmp_path):
    here, _ = alone
    small = project_in(tmp_path)
    started = small.start("--workers", "2", "--no-store", SLOWLY="0.02")
    deadline = time.monotonic() + 60
    while small.asked.total() < 10 and time.monotonic() < deadline:
        time.sleep(0.01)
    for child in Path(f"/proc/{started.pid}/task/{started.pid}/children").read_text().split():
        if "resource_tracker" not in Path(f"/proc/{child}/cmdline").read_text():
            os.kill(int(child), signal.SIGKILL)
    assert started.wait(timeout=60) == 2
    assert small.runs == here.runs


def test_a_query_that_fails_may_stop_the_run(tmp_path):
    small = project_in(tmp_path, systems("picky", "other"))
    with pytest.raises(UnfinishedError, match="the run stops, as query 'q3' failed"):
        run_project(small.folder, workers=2, on_failure="stop")
    assert small.asked["q3"] == 2, "a query is tried twice, and the system once"


def test_notes_of_workers_are_handed_on(tmp_path):
    notes = []
    small = project_in(tmp_path, systems("picky", "other"))
    run_project(small.folder, workers=2, on_note=notes.append)
    assert notes == ["picky: query 'q3' failed: ValueError: I do not like q3"]


def test_a_run_may_be_cancelled(tmp_path):
    small = project_in(tmp_path, systems("one", "other"))
    said = []
    with pytest.raises(CancelledRunError):
        run_project(
            small.folder, workers=1, on_progress=lambda *what: said.append(what), should_stop=lambda: len(said) > 1
        )
    assert said[0][0] == "small · systems"
    assert run_project(small.folder).collections[0].systems[0].run is not None


def test_systems_at_one_address_stay_together_and_runs_stay_here(tmp_path):
    small = project_in(
        tmp_path,
        systems("one")
        + "".join(
            f'[systems.{name}]\ntype = "http"\nurl = "http://127.0.0.1:9/{path}"\nids = "hits[*].id"\n'
            for name, path in (("a", "x"), ("b", "y"), ("c", "x"))
        )
        + '[systems.old]\ntype = "run"\npath = "old.run"\n'
        + '[systems.older]\ntype = "hybrid"\nof = ["old", "one"]\n',
    )
    groups = groups_of(plan_tasks(load_project(small.folder)))
    assert [[task.system for task in group] for group in groups] == [["one"], ["a", "c"], ["b"]]


def test_workers_that_see_another_project_are_refused(tmp_path):
    small = project_in(tmp_path, systems("one"))
    project = load_project(small.folder)
    project.output.mkdir()
    see_project(str(project.file), project.sha256, str(project.output))
    with pytest.raises(InputError, match="is another one there"):
        see_project(str(project.file), "0" * 64, str(project.output))
    with pytest.raises(InputError, match="cannot be written to there"):
        see_project(str(project.file), project.sha256, str(tmp_path / "missing"))


def test_a_clock_of_ones_own_is_refused(tmp_path):
    small = project_in(tmp_path, systems("one"))
    with pytest.raises(OptionError, match="clocks of their own"):
        run_project(small.folder, workers=2, clock=lambda: 0.0)


def test_a_command_line_takes_workers(alone, tmp_path):
    small = project_in(tmp_path, systems("one", "other"))
    ended = small.run("--workers", "2", "--no-store")
    assert ended.returncode == 0, ended.stderr
    assert "ran at the same time" in ended.stdout.replace("\n", " ").replace("  ", " ")
    refused = small.run("--workers", "0", "--no-store")
    assert refused.returncode == 2


@pytest.mark.slow
def test_a_cluster_of_dask_gives_the_same_runs(alone, tmp_path):
    distributed = pytest.importorskip("distributed")
    here, expected = alone
    small = project_in(tmp_path)
    with distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        dashboard_address="127.0.0.1:0",
        scheduler_kwargs={"dashboard": False},
        host="127.0.0.1",
        silence_logs=50,
    ) as cluster:
        found = rs.run_project(small.folder, RunOptions(), on=cluster.scheduler_address)
    assert small.runs == here.runs
    assert record_of(found, small) == record_of(expected, here)
