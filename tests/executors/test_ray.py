"""A cluster of Ray on this machine, where Ray is installed."""

import os
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest

import executor_tasks as tasks
from rankscope.errors import InputError, OptionError
from rankscope.executors import executor_from
from rankscope.executors.jobs import JobFailedError, TaskJob, run_kept
from rankscope.executors.kept import Kept

SQUARES = {i: i * i for i in range(8)}


def test_addresses_of_ray_are_refused_with_the_way_that_works():
    with pytest.raises(OptionError, match="address of Ray") as refused, executor_from("ray://127.0.0.1:9"):
        pass
    assert "on=ray" in refused.value.hint


def test_ray_must_be_connected():
    unconnected = SimpleNamespace(__name__="ray", is_initialized=lambda: False)
    with pytest.raises(OptionError, match="not connected"), executor_from(unconnected):
        pass


@pytest.fixture(scope="module")
def ray():
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    ray = pytest.importorskip("ray")
    paths = os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    ray.init(
        num_cpus=2,
        include_dashboard=False,
        log_to_driver=False,
        _node_ip_address="127.0.0.1",
        runtime_env={"env_vars": {"PYTHONPATH": paths}},
    )
    yield ray
    ray.shutdown()


def job(function=tasks.square, n=8, **fields):
    keys = [f"key-{i}" for i in range(n)]
    return TaskJob(function, range(n), keys=keys, encode=tasks.encode, decode=tasks.decode, **fields)


def done(ray, of, **options):
    found = {}
    with executor_from(ray) as executor:
        run_kept(executor, of, found.__setitem__, **options)
    return found


def test_results_are_those_of_one_process(ray, tmp_path):
    kept = Kept.open(tmp_path)
    assert done(ray, job(), kept=kept) == SQUARES
    assert len(list(tmp_path.glob("*.kept"))) == 8
    assert ray.is_initialized(), "the cluster goes on"


def test_a_killed_worker_is_replaced(ray, tmp_path):
    assert done(ray, job(partial(tasks.dies_once, tmp_path))) == SQUARES


def test_what_always_kills_its_worker_is_named(ray, tmp_path):
    with pytest.raises(JobFailedError, match="3: its worker was lost each time"):
        done(ray, job(tasks.dies_always), kept=Kept.open(tmp_path), retries=1)


def test_small_inputs_are_sent_in_batches(ray):
    assert done(ray, TaskJob(tasks.square, range(2000))) == {i: i * i for i in range(2000)}


def test_nodes_that_do_not_see_the_files_are_refused(ray, tmp_path):
    with pytest.raises(InputError, match=r"cannot read .*missing\.run"):
        done(ray, job(can_read=partial(os.path.getsize, tmp_path / "missing.run")))
