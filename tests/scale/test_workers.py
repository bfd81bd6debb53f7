"""Runs whose parts are scored in other processes, or on a cluster: the same bits, whatever happens to workers."""

import multiprocessing
import os
import pickle
import signal
from concurrent.futures import ThreadPoolExecutor

import polars as pl
import pytest

import rankscope as rs
from rankscope.align import same_files, sharded
from rankscope.light import replace

pytestmark = pytest.mark.filterwarnings("ignore::rankscope.RankscopeWarning")

QRELS = "".join(f"q{q} 0 d{d} {(q + d) % 3}\n" for q in range(40) for d in range(0, 30, 4))
LINES = [f"q{q} Q0 d{(7 * d + q) % 31} {d + 1} {(d * q) % 5} t" for q in range(45) for d in range(25)]
MEASURES = "nDCG@10 AP RR ERR RBP"


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    monkeypatch.setattr(sharded, "room_in", lambda *_: 1500)
    monkeypatch.setattr(sharded, "SMALLEST_PIECE", 1500)


@pytest.fixture
def files(write_file):
    return write_file(QRELS, "qrels.txt"), write_file("\n".join(LINES), "r.run")


@pytest.fixture(scope="module")
def client():
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            dashboard_address="127.0.0.1:0",
            scheduler_kwargs={"dashboard": False},
            host="127.0.0.1",
            silence_logs=50,
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


def bits(scores: rs.Scores) -> list[bytes]:
    return [run.values.tobytes() for run in scores.values()]


@pytest.mark.parametrize("qrels_are", ["a file", "in memory"])
def test_processes_of_this_machine(files, qrels_are):
    qrels, run = files
    given = qrels if qrels_are == "a file" else rs.load_qrels(qrels).to_dict()
    assert bits(rs.evaluate(given, run, MEASURES, workers=2)) == bits(rs.evaluate(qrels, run, MEASURES))


def test_what_is_kept_is_found_again_by_more_or_fewer_workers(files, tmp_path):
    """A cluster that has lost a worker is a reason to go on, not to begin again."""
    states: list[rs.JobState] = []
    found = [
        bits(rs.evaluate(*files, MEASURES, workers=workers, keep=tmp_path / "kept", progress=states.append))
        for workers in (2, 3, None)
    ]
    assert found == [bits(rs.evaluate(*files, MEASURES))] * 3
    n_parts = states[-1].total
    assert n_parts > 4
    assert [state.kept for state in states if state.done == state.total] == [0, n_parts, n_parts]


def test_a_pool_that_is_shut_down_is_said(files):
    with ThreadPoolExecutor(1) as pool:
        pass
    with pytest.raises(rs.UnfinishedError, match="the pool takes no more tasks"):
        rs.evaluate(*files, MEASURES, on=pool)


def test_a_worker_that_is_killed_is_replaced(files):
    qrels, run = files
    killed = []

    def kill_one(state: rs.JobState) -> None:
        children = multiprocessing.active_children()
        if state.done and not killed and children:
            killed.append(children[0].pid)
            os.kill(children[0].pid, signal.SIGKILL)

    found = rs.evaluate(qrels, run, MEASURES, workers=2, progress=kill_one)
    assert killed
    assert bits(found) == bits(rs.evaluate(qrels, run, MEASURES))


def test_a_cluster_of_dask(files, client, tmp_path):
    qrels, run = files
    whole = rs.evaluate(qrels, {"a": run, "b": run}, MEASURES)
    assert bits(rs.evaluate(qrels, {"a": run, "b": run}, MEASURES, on=client, keep=tmp_path / "kept")) == bits(whole)
    states = []
    again = rs.evaluate(qrels, run, MEASURES, on=client, keep=tmp_path / "kept", progress=states.append)
    assert bits(again) == bits(whole)[:1]
    assert states[-1].kept == states[-1].total > 1
    in_memory = rs.load_qrels(qrels).to_dict()
    assert bits(rs.evaluate(in_memory, run, MEASURES, on=client.scheduler.address)) == bits(whole)[:1]


def test_a_path_means_the_same_wherever_workers_were_started(files, client, tmp_path, monkeypatch):
    """The workers' own folder has files of the same names and sizes, in which the docs are others."""
    qrels, run = files
    other = tmp_path / "other"
    other.mkdir()
    for file in files:
        (other / file.name).write_text(file.read_text().replace(" d1", " d2"))
    monkeypatch.chdir(run.parent)
    before = client.run(os.getcwd)
    client.run(os.chdir, str(other))
    try:
        found = rs.evaluate(qrels.name, run.name, MEASURES, on=client)
    finally:
        for worker, folder in before.items():
            client.run(os.chdir, folder, workers=[worker])
    assert bits(found) == bits(rs.evaluate(qrels, run, MEASURES))


def test_other_files_of_the_same_name_are_refused(files):
    qrels, run = files
    marks = same_files.marks_of(rs.shards_of(run, n=3))
    assert [mark.path for mark in marks] == [str(run)]
    same_files.check_files(marks)
    content = run.read_text()
    run.write_text(content[:-1] + "x")
    with pytest.raises(rs.InputError, match=r"r\.run was changed while it was read"):
        same_files.check_files(marks)
    with pytest.raises(rs.InputError, match=r"r\.run is another file on "):
        same_files.check_files([replace(mark, host="elsewhere") for mark in marks])
    place = same_files.QrelsPlace(rs.load_qrels(qrels).digest, str(qrels))
    assert same_files.loaded_qrels(place).query_ids == rs.load_qrels(qrels).query_ids
    same_files.loaded_qrels.cache_clear()
    qrels.write_text(qrels.read_text().replace(" 1\n", " 2\n"))
    with pytest.raises(rs.InputError, match="has other judgments on "):
        same_files.loaded_qrels(place)


def grades_of(column: str) -> rs.ReadOptions:
    return rs.ReadOptions(columns={"query": "query", "doc": "doc", "grade": column})


@pytest.fixture
def two_grades(write_file):
    """Return a file with two columns of grades, by which the only doc retrieved is relevant or is not; and the run."""
    return write_file("query,doc,a,b\nq,d,1,0\nq,e,0,1\n", "q.csv"), write_file("q Q0 d 1 1.0 t\n", "r.run")


def test_parts_that_are_kept_are_of_the_grades_that_were_read(two_grades, tmp_path):
    qrels, run = two_grades
    how = {"memory": "256MB", "keep": tmp_path / "kept"}
    found = [rs.evaluate(qrels, run, "RR", qrels_options=grades_of(column), **how) for column in "aba"]
    assert [scores.mean()["r"]["RR"].value for scores in found] == [1.0, 0.0, 1.0]


def test_a_worker_that_lives_on_has_the_judgments_of_each_job(two_grades, client):
    qrels, run = two_grades
    with ThreadPoolExecutor(1) as pool:
        for on in (pool, client):
            found = [rs.evaluate(qrels, run, "RR", qrels_options=grades_of(column), on=on) for column in "aba"]
            assert [scores.mean()["r"]["RR"].value for scores in found] == [1.0, 0.0, 1.0]


def test_parts_scored_by_other_grades_of_the_same_file_are_refused(two_grades):
    qrels, run = two_grades
    one, other = (rs.load_qrels(qrels, options=grades_of(column)) for column in "ab")
    parts = [rs.score_shard(one, shard, "RR") for shard in rs.shards_of(run)]
    assert rs.Scores.concat(parts, one).mean()["run"]["RR"].value == 1.0
    with pytest.raises(rs.InputError, match="was scored by other qrels"):
        rs.Scores.concat(parts, other)


def test_what_stands_for_judgments_is_the_same_however_they_are_held(files, engine):
    qrels, _ = files
    held = [rs.load_qrels(qrels), pickle.loads(pickle.dumps(rs.load_qrels(qrels)))]
    held += [rs.load_qrels(qrels, options=rs.ReadOptions(format="trec")), rs.load_qrels(qrels)]
    assert len(held[-1].rows) > 0  # they are in memory from now on
    assert len({each.digest for each in held}) == 1
    assert held[0].select(["q1"]).digest != held[0].digest


def test_what_stands_for_judgments_differs_where_they_do():
    rows = pl.DataFrame({"query": ["a", "a"], "doc": ["d", "d"], "grade": [2, 1]})
    of_subtopics = rows.with_columns(subtopic=pl.Series(["1", "2"]))
    held = [
        rs.Qrels({"a": {"d": 1}}),
        rs.Qrels({"a": {"d": 2}}),
        rs.Qrels({"a": {"e": 1}}),
        rs.Qrels({"a": {"d": 1}}).with_queries(["b"]),
        rs.Qrels({"a\0b": {"c": 1}, "d": {"e": 1}}),
        rs.Qrels({"a": {"c": 1}, "b\0d": {"e": 1}}),
        rs.Qrels({"a": {"c\0d": 1, "e": 1}}),
        rs.Qrels({"a": {"c": 1, "d\0e": 1}}),
        rs.Qrels(rows, duplicates="first"),
        rs.Qrels(of_subtopics, duplicates="first"),
        rs.Qrels(of_subtopics),
    ]
    assert len({each.digest for each in held}) == len(held)


def test_compare_on_a_cluster_says_the_same(files, client, write_file):
    qrels, run = files
    runs = {"a": run, "b": write_file("\n".join(line for i, line in enumerate(LINES) if i % 3), "b.run")}
    assert rs.compare(qrels, runs, MEASURES, on=client).to_json() == rs.compare(qrels, runs, MEASURES).to_json()


def test_rows_in_no_order_are_regrouped_here(files, client, write_file):
    qrels, _ = files
    run = write_file("\n".join(LINES[(i * 7) % len(LINES)] for i in range(len(LINES))), "mixed.run")
    found = rs.evaluate(qrels, run, MEASURES, on=client)
    assert bits(found) == bits(rs.evaluate(qrels, run, MEASURES))
    assert any("regrouped" in note for note in found.notes)


def test_an_executor_of_the_standard_library(files):
    qrels, run = files
    with ThreadPoolExecutor(2) as pool:
        assert bits(rs.evaluate(qrels, run, MEASURES, on=pool)) == bits(rs.evaluate(qrels, run, MEASURES))


def test_a_file_that_is_removed_is_said_by_the_worker(files, monkeypatch):
    qrels, run = files
    calls = []

    def remove(state: rs.JobState) -> None:
        calls.append(state)
        run.unlink(missing_ok=True)

    with pytest.raises(rs.RankscopeError, match=r"r\.run"):
        rs.evaluate(qrels, run, MEASURES, workers=2, progress=remove)
    assert calls


def test_a_bad_line_is_said_as_in_one_process(files, write_file):
    qrels, _ = files
    bad = write_file("\n".join([*LINES[:613], "no row", *LINES[613:]]), "bad.run")
    with pytest.raises(rs.InputError, match=r"bad\.run:614: "):
        rs.evaluate(qrels, bad, MEASURES, workers=2)
