"""`rankscope rescore`: the past under the judgments of today, against pytrec_eval."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path

import pytest
import pytrec_eval

import rankscope as rs
from rankscope.experiment.history_records import History
from rankscope.records import from_json

sys.path.insert(0, str(Path(__file__).parents[1]))
from small_project import small_project

TABLE = '[systems.mine]\ntype = "python"\nrecords = true\nfunction = "MODULE:{}"\n'
THIRD = """
def third(query):
    return docs_for(query.id, "third")
"""


def trec_eval_means(run, qrels):
    """Return the mean RR of a run by trec_eval; a query of the qrels that it does not answer counts 0."""
    scored = pytrec_eval.RelevanceEvaluator(qrels, {"recip_rank"}).evaluate(run)
    return sum(scored[query]["recip_rank"] for query in scored) / len(qrels)


def read_run():
    docs_of = {}
    for line in gzip.decompress(Path("results/runs/small/mine.trec.gz").read_bytes()).decode().splitlines():
        query, _, doc, _, score, _ = line.split()
        docs_of.setdefault(query, {})[doc] = float(score)
    return docs_of


def write_qrels(qrels):
    rows = "".join(f"{query}\t{doc}\t{grade}\n" for query in qrels for doc, grade in qrels[query].items())
    Path("small/qrels/test.tsv").write_text(f"query-id\tcorpus-id\tscore\n{rows}")


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delenv("RANKSCOPE_STORE", raising=False)
    small = small_project(tmp_path, n_queries=12)
    small.add(THIRD)
    return small


def test_labels_that_change_twice(rankscope, project):
    """Three runs, each with judgments of its time, then again others: every number as trec_eval has it."""
    first = {f"q{i}": {f"d{i}": 1, f"d{i + 1}": 0} for i in range(12)}
    labels = [
        first,
        {query: {**docs, "d20": 1} for query, docs in first.items()},
        {query: {**docs, "d3": 1, "d20": int(query < "q4")} for query, docs in first.items()},
        {query: {**docs, "d7": 1, "d9": 1} for query, docs in first.items()},
    ]
    runs = []
    for function, qrels in zip(("one", "other", "third"), labels, strict=False):
        write_qrels(qrels)
        project.write(TABLE.format(function), primary="RR", measures=["RR"])
        done = rankscope("run")
        assert done.code == 0, done.err
        runs.append(read_run())
    write_qrels(labels[-1])  # nobody has run anything since
    done = rankscope("rescore", "--format", "json")
    assert done.code == 0, done.err
    [history] = from_json(list[History], done.out)
    [system] = history.systems
    then = [trec_eval_means(run, qrels) for run, qrels in zip(runs, labels, strict=False)]
    today = [trec_eval_means(run, labels[-1]) for run in runs]
    assert len(set(then + today)) == 6  # the case is no special one
    assert [point.mean_then for point in system.points] == pytest.approx(then, abs=1e-12)
    assert [point.mean for point in system.points] == pytest.approx(today, abs=1e-12)
    for i in (1, 2):
        change = system.points[i].change
        assert change.system == pytest.approx(today[i] - today[i - 1], abs=1e-12)
        assert change.labels == pytest.approx(today[i - 1] - then[i - 1], abs=1e-12)
        assert change.total == pytest.approx(change.labels + change.system, abs=1e-12)
    assert system.change.total == pytest.approx(today[2] - then[0], abs=1e-12)
    text = rankscope("rescore").out
    moved = [now - before for now, before in zip(today, then, strict=True)]
    assert f"move the numbers of 3 of 3 runs, by {min(moved):+.4f} to {max(moved):+.4f}." in " ".join(text.split())
    assert f"{then[0]:.4f}" in text
    assert rankscope("rescore", "-o", "rescored.html").code == 0
    assert f"{today[2]:.4f}" in Path("rescored.html").read_text()
    # the history that follows is the same, and the runs are as they were
    assert History.from_json(rankscope("history", "--format", "json").out).systems == history.systems
    with rs.open_store(read_only=True) as store:
        assert len(store.qrels.list()) == 4
        assert [dict(store.runs.ranking(run)) for run in store.runs.list()] == runs


def test_a_file_of_judgments(rankscope, project):
    project.write(TABLE.format("one"), primary="RR")
    assert rankscope("run").code == 0
    Path("new.txt").write_text("".join(f"q{i} 0 {next(iter(read_run()[f'q{i}']))} 1\n" for i in range(12)))
    done = rankscope("rescore", "--qrels", "new.txt", "--format", "json")
    [history] = from_json(list[History], done.out)
    assert history.systems[0].points[0].mean == 1.0  # what stands first is what is relevant
    assert "change nothing" not in rankscope("rescore", "--qrels", "new.txt").out


def test_nothing_moved(rankscope, project):
    project.write(TABLE.format("one"), primary="RR")
    assert rankscope("run").code == 0
    assert "The judgments of today change nothing: 1 run stand" in " ".join(rankscope("rescore").out.split())


def test_errors(rankscope, project):
    done = rankscope("rescore")
    assert (done.code, "there is no store" in done.err) == (2, True)
    rs.open_store(project.folder, create=True).close()
    done = rankscope("rescore")
    assert (done.code, "the store has no runs yet" in done.err) == (2, True)
    project.write(TABLE.format("one"))
    assert rankscope("run").code == 0
    for arguments, said in (
        (("--collection", "nope"), "the store has no runs on 'nope'"),
        (("--qrels", "nope.txt"), "nope.txt"),
        (("-m", "nDCQ"), "nDCQ"),
    ):
        done = rankscope("rescore", *arguments)
        assert (done.code, said in done.err, done.out) == (2, True, "")
    assert json.loads(rankscope("rescore", "--format", "json").out)[0]["collection"] == "small"
