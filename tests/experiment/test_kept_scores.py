"""Measures of embeddings or an ontology: what a run scored is kept, shown as it was, and never computed again."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import rankscope as rs
from rankscope.cli.main import main
from rankscope.errors import InputError, MeasureError
from rankscope.experiment.history import diff_runs, history_of, rescored
from rankscope.experiment.watch import WatchOptions, watch_project
from rankscope.store.check import check_store

sys.path.insert(0, str(Path(__file__).parents[1]))
from small_project import SmallProject, small_project

# Even docs have the vector (1, 0), odd ones (0, 1): the distance of d0 and d2 is 0, that of d0 and d1 is 1.
FUNCTIONS = """
def alike(query):
    return {"d0": 2.0, "d2": 1.0}


def unlike(query):
    return {"d0": 2.0, "d1": 1.0}
"""
AGAIN = "ILD@2 cannot be computed again, as embeddings are not stored"


@pytest.fixture
def project(tmp_path, monkeypatch) -> SmallProject:
    monkeypatch.delenv("RANKSCOPE_STORE", raising=False)
    monkeypatch.chdir(tmp_path)
    made = small_project(tmp_path, n_queries=12)
    made.add(FUNCTIONS)
    write_vectors([1, 0], [0, 1])
    return made


def write_vectors(even, odd):
    rows = [{"id": f"d{i}", "vector": odd if i % 2 else even} for i in range(30)]
    Path("vectors.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def run_with(function, capsys, *arguments, measures=("nDCG@2", "ILD@2"), **collection):
    keys = {"path": "small", "embeddings": "vectors.jsonl", **collection}
    lines = "".join(f"{key} = {json.dumps(value)}\n" for key, value in keys.items())
    module = next(Path().glob("searching_*.py")).stem
    system = f'type = "python"\nrecords = true\nfunction = "{module}:{function}"\n'
    text = f"measures = {json.dumps(measures)}\n[collections.small]\n{lines}[systems.one]\n{system}"
    Path("rankscope.toml").write_text(text)
    capsys.readouterr()
    assert main(["run", *arguments]) == 0
    return capsys.readouterr().err


def judge_otherwise():
    path = Path("small/qrels/test.tsv")
    path.write_text(path.read_text().replace("q3\td3\t1", "q3\td4\t1"))


def test_they_are_shown_and_compared(project, capsys):
    """By hand: ILD@2 is 0 for docs that point the same way, and 1 for two at right angles."""
    for function in ("alike", "unlike"):
        run_with(function, capsys)
    with rs.open_store() as store:
        history = history_of(store, measure="ILD@2")
        assert [point.mean for point in history.systems[0].points] == [0.0, 1.0]
        assert history.systems[0].points[1].change.system == 1.0
        assert (history.verdict.difference, history.changes[0].difference) == (1.0, 1.0)
        assert history == history_of(store, measure="ILD@2")
        found = diff_runs(store, store.runs.find("one~1"), store.runs.find("one"), measure="ILD@2")
        assert (found.change.system, next(iter(found.comparison)).delta) == (1.0, 1.0)
    assert main(["history", "-m", "ILD@2"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "its numbers are those of the time of each run, under the judgments of that time" in said


def test_under_other_judgments_they_stay_and_are_not_compared(project, capsys):
    run_with("alike", capsys)
    judge_otherwise()
    run_with("unlike", capsys)
    reason = f"run 1 was scored under other judgments, and {AGAIN}"
    with rs.open_store() as store:
        history = history_of(store, measure="ILD@2")
        assert [point.mean for point in history.systems[0].points] == [0.0, 1.0]
        assert (history.verdict, history.systems[0].change) == (None, None)
        assert history.systems[0].points[1].refused == reason
        assert (history.changes[0].verdict, history.changes[0].words) == (
            "not_comparable",
            f"Not comparable: {reason}.",
        )
        with pytest.raises(InputError, match=reason):
            diff_runs(store, store.runs.find("1"), store.runs.find("2"), measure="ILD@2", anyway=True)
        assert history_of(store, measure="nDCG@2").changes[0].verdict != "not_comparable"
        again = rescored(store, "small", rs.Qrels({f"q{i}": {"d1": 1} for i in range(12)}), measure="ILD@2")
        assert [point.mean for point in again.systems[0].points] == [0.0, 1.0]
    assert main(["history", "-m", "ILD@2"]) == 0
    assert reason in " ".join(capsys.readouterr().out.split())


def test_other_embeddings_are_not_compared(project, capsys):
    run_with("alike", capsys)
    write_vectors([1, 0], [1, 1])
    run_with("unlike", capsys)
    with rs.open_store() as store:
        newest = history_of(store, measure="ILD@2").systems[0].points[1]
        assert newest.mean == pytest.approx(1 - 0.5**0.5)  # the cosine of 45 degrees
        assert newest.refused == f"run 1 was scored with other embeddings, and {AGAIN}"


def test_they_survive_what_drops_a_cache(project, capsys):
    run_with("unlike", capsys)
    with rs.open_store() as store:
        assert store.scores.drop() == 1  # nDCG@2
        assert main(["store", "gc"]) == 0
        assert history_of(store, measure="ILD@2").systems[0].points[0].mean == 1.0
        assert history_of(store, measure="nDCG@2").systems[0].points[0].mean is not None
        assert check_store(store, every_vector=True).findings == ()


def test_an_export_has_them(project, capsys, tmp_path):
    for function in ("alike", "unlike"):
        run_with(function, capsys)
    assert main(["store", "export", "kept"]) == 0
    for _ in range(2):  # what is there already stays
        assert main(["store", "import", "kept", "--store", "other.db"]) == 0
    with rs.open_store() as store, rs.open_store("other.db") as other:
        ours, theirs = (history_of(each, measure="ILD@2") for each in (store, other))
        assert ours.systems == theirs.systems
        assert theirs.verdict.difference == 1.0


def test_runs_without_them_are_left_out_and_it_is_said(project, capsys):
    run_with("alike", capsys, measures=["nDCG@2"])
    with rs.open_store() as store, pytest.raises(MeasureError, match="which the store does not keep"):
        history_of(store, measure="ILD@2")
    said = run_with("unlike", capsys, measures=["ILD@2"])
    assert (
        f"one: ILD@2 1.0000; not comparable with run 1 of {said.partition('run 1 of ')[2][:16]}: run 1 has no" in said
    )
    with rs.open_store() as store:
        history = history_of(store)
        assert [point.run for point in history.systems[0].points] == [2]
        assert history.notes[1] == "1 run was not scored by it, and is left out."


def test_a_watch_by_such_a_measure(project, capsys):
    for function in ("unlike", "alike"):
        run_with(function, capsys, measures=["ILD@2"])
    with rs.open_store() as store:
        watched = watch_project(".", store, WatchOptions(stored=True)).watched[0]
    assert (watched.value, watched.baseline.before, watched.state) == (0.0, 1.0, "drop")


def test_of_several_repetitions_each_has_its_own(project, capsys):
    """By hand: at right angles, alike, alike, so that the mean is 1/3."""
    project.add(
        """
def by_turns(query):
    path = Path(__file__).with_name(f"times {query.id}")
    before = path.read_text() if path.exists() else ""
    path.write_text(before + "x")
    return alike(query) if before else unlike(query)
"""
    )
    run_with("by_turns", capsys, "--repeat", "3")
    with rs.open_store() as store:
        point = history_of(store, measure="ILD@2").systems[0].points[0]
        assert (point.mean, point.spread) == pytest.approx((1 / 3, (1 / 3) ** 0.5))


OBO = """format-version: 1.2

[Term]
id: X:1
name: all

[Term]
id: X:2
name: one
is_a: X:1

[Term]
id: X:3
name: other
is_a: X:1
"""


def test_files_by_an_ontology(tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("RANKSCOPE_STORE", raising=False)
    monkeypatch.chdir(tmp_path)
    Path("terms.obo").write_text(OBO)
    Path("qrels.txt").write_text("q1 0 X:2 1\nq2 0 X:3 1\n")
    Path("one.run").write_text("q1 Q0 X:2 1 2 t\nq2 Q0 X:2 1 2 t\n")
    command = ["evaluate", "qrels.txt", "one.run", "-m", "MaxOntSim@1", "--ontology", "terms.obo"]
    assert main([*command, "--store", "kept.db"]) == 0
    printed = rs.evaluate("qrels.txt", "one.run", "MaxOntSim@1", ontology="terms.obo")["one"]
    assert printed["q1", "MaxOntSim@1"] == 1.0  # the very term
    with rs.open_store("kept.db") as store:
        point = history_of(store).systems[0].points[0]
    assert point.mean == printed.mean()["MaxOntSim@1"].value
