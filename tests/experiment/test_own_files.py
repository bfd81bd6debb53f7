"""Files beside a project: its own runs are known to the store, its measure and margin decide everywhere."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

import rankscope as rs
from rankscope.cli.main import main
from rankscope.experiment.history import diff_runs, history_of
from rankscope.experiment.leaderboard import leaderboard_of

sys.path.insert(0, str(Path(__file__).parents[1]))
from small_project import SmallProject, small_project, systems

# RR of the two: 1 and 1/2 on the first three queries, 1 on the others
RANKED = """
def with_relevant_at(rank, query):
    docs = [f"d{29 - i}" for i in range(rank - 1)] + [f"d{query.id[1:]}"]
    return [(doc, 1 - i / 20) for i, doc in enumerate(docs)]


def best(query):
    return with_relevant_at(1, query)


def good(query):
    return with_relevant_at(2 if int(query.id[1:]) < 3 else 1, query)
"""
RUNS = Path("results/runs/small")
QRELS = "small/qrels/test.tsv"


@pytest.fixture
def project(tmp_path, monkeypatch) -> SmallProject:
    monkeypatch.delenv("RANKSCOPE_STORE", raising=False)
    monkeypatch.chdir(tmp_path)
    made = small_project(tmp_path, n_queries=12)
    made.add(RANKED)
    return made


class TestTheRunsOfAProject:
    @pytest.fixture
    def ran(self, project):
        project.write(systems("best", "good"), measures=["RR@10", "AP"])
        assert main(["run"]) == 0
        return project

    @pytest.mark.usefixtures("ran")
    def test_are_not_kept_again(self, capsys):
        with rs.open_store() as store:
            before = store.runs.list()
        capsys.readouterr()
        assert main(["compare", QRELS, str(RUNS / "good.trec.gz"), str(RUNS / "best.trec.gz"), "-m", "RR@10"]) == 0
        said = capsys.readouterr()
        assert "stored: nothing, as the store has these rankings" in said.err
        assert main(["evaluate", QRELS, str(RUNS / "good.trec.gz"), "-m", "AP"]) == 0
        with rs.open_store() as store:
            assert store.runs.list() == before
            assert store.runs.find("good").config["function"].endswith(":good")
            assert history_of(store).measure == "RR@10"
            assert leaderboard_of(store).collections[0].left_out == ()

    @pytest.mark.usefixtures("ran")
    def test_a_look_at_their_queries_is_one_more_look(self, capsys):
        """The run itself was the first one, and the same two runs by the same measure are no other."""
        arguments = [QRELS, str(RUNS / "good.trec.gz"), str(RUNS / "best.trec.gz"), "--format", "json"]
        for measure, look in (("RR@10", 1), ("AP", 2)):
            capsys.readouterr()
            assert main(["compare", *arguments, "-m", measure]) == 0
            assert rs.Comparison.from_json(capsys.readouterr().out).look == look

    @pytest.mark.usefixtures("ran")
    def test_another_ranking_in_a_file_is_kept_on_the_same_queries(self, capsys):
        rows = (f"q{i} Q0 d{i} 1 1 x\n" for i in range(6))
        Path("new.run").write_text("".join(rows))
        assert main(["evaluate", QRELS, "new.run", "-m", "AP"]) == 0
        with rs.open_store() as store:
            new, best = store.runs.find("new"), store.runs.find("best")
            assert (new.collection, new.queries_sha256) == ("small", best.queries_sha256)
            assert leaderboard_of(store).collections[0].left_out == ()
            history = history_of(store)
            assert history.measure == "RR@10"
            # six of twelve queries are answered, each at rank 1
            assert next(each for each in history.systems if each.system == "new").points[0].mean == 0.5

    def test_where_queries_without_judgments_count(self, project):
        project.write(systems("best", "good"), measures=["RR@10"], unjudged_queries="zero")
        qrels = Path(QRELS)
        qrels.write_text("".join(qrels.read_text().splitlines(keepends=True)[:-2]))
        assert main(["run"]) == 0
        assert main(["evaluate", QRELS, str(RUNS / "good.trec.gz"), "-m", "RR@10"]) == 0
        with rs.open_store() as store:
            assert store.runs.collections() == ("small",)
            assert len(store.runs.list()) == 2
        assert main(["store", "check", "--all"]) == 0

    @pytest.mark.usefixtures("ran")
    def test_an_earlier_ranking_in_a_newer_file_is_a_run(self):
        for docs, written in (("ab", 1_000), ("ba", 2_000), ("ab", 4_000_000_000), ("ab", 4_000_000_001)):
            Path("qrels.txt").write_text("q1 0 a 1\n")
            Path("x.run").write_text("".join(f"q1 Q0 {doc} {i} {9 - i} x\n" for i, doc in enumerate(docs)))
            os.utime("x.run", (written, written))
            assert main(["evaluate", "qrels.txt", "x.run", "-m", "RR"]) == 0
        with rs.open_store() as store:
            assert [point.mean for point in history_of(store, collection="qrels").systems[0].points] == [1.0, 0.5, 1.0]


class TestOneMargin:
    """Three of twelve queries lose 1/2 each: 0.125 in all, which a margin of 0.5 calls practically the same."""

    @pytest.fixture
    def ran(self, project, capsys):
        for function in ("best", "good"):
            system = f'[systems.one]\ntype = "python"\nrecords = true\nfunction = "MODULE:{function}"\n'
            project.write(system, measures=["RR@10", "AP"], margin=0.5)
            capsys.readouterr()
            assert main(["run"]) == 0
        return project

    @pytest.mark.usefixtures("ran")
    def test_of_the_project_everywhere(self, capsys):
        assert "-0.1250 since run 1" in (said := capsys.readouterr().err)
        assert "practically the same" in said
        with rs.open_store() as store:
            assert store.runs.find("one").details.margin == 0.5
            history = history_of(store)
            assert (history.verdict.verdict, history.changes[0].verdict) == ("same", "same")
            found = diff_runs(store, store.runs.find("one~1"), store.runs.find("one"))
            assert found.comparison.settings.margin == 0.5

    @pytest.mark.usefixtures("ran")
    def test_of_the_run_where_there_is_no_project_file(self):
        Path("rankscope.toml").unlink()
        with rs.open_store() as store:
            assert history_of(store).changes[0].verdict == "same"

    @pytest.mark.usefixtures("ran")
    def test_is_that_of_today(self):
        """Nothing is stored where only the margin changes, yet all agree on it."""
        text = Path("rankscope.toml").read_text().replace("0.5", "0.02")
        Path("rankscope.toml").write_text(text)
        assert main(["run"]) == 0
        with rs.open_store() as store:
            found = diff_runs(store, store.runs.find("one~1"), store.runs.find("one"))
            assert found.comparison.settings.margin == 0.02

    @pytest.mark.usefixtures("ran")
    def test_can_be_given(self, capsys):
        with rs.open_store() as store:
            assert history_of(store, margin=0.001).changes[0].verdict != "same"
            # the margin of RR@10 says nothing of AP
            assert (
                diff_runs(store, store.runs.find("1"), store.runs.find("2"), measure="AP").comparison.settings.margin
                == 0.01
            )
        assert main(["history", "--margin", "0.001"]) == 0


def test_the_report_of_one_system_is_by_the_measure_that_decides(project, capsys):
    project.write(systems("good"), measures=["nDCG@10", "RR@10"], primary="RR@10")
    assert main(["run"]) == 0
    said = capsys.readouterr().out
    # three of twelve queries have 1/2, the others 1
    assert "good scores RR@10 0.875" in " ".join(said.split())
    assert main(["run", "-o", "report.html"]) == 0
    assert "RR@10  nDCG@10" in " ".join(capsys.readouterr().err.split("\n")).replace("   ", "  ")


def test_a_system_that_fails_on_every_query_is_named_everywhere(project, capsys):
    project.add("def broken(query):\n    raise ValueError('no')\n")
    project.write(systems("best", "broken"))
    assert main(["run", "-o", "report.html"]) == 1
    said = " ".join(capsys.readouterr().err.split())
    assert "CAUTION broken has retrieved nothing at all, and is left out of the comparison: 12 queries failed." in said
    assert "12 queries of broken failed; run again to ask for these only" in said
    assert "broken: has retrieved nothing, so that nothing is stored of it" in said


def test_two_projects_in_one_store_are_told_apart(tmp_path, monkeypatch, capsys):
    """Equal names, docs and queries: only the project files differ."""
    monkeypatch.setenv("RANKSCOPE_STORE", str(tmp_path / "team.db"))
    warned = []
    for name in ("a", "b", "b", "a"):
        folder = tmp_path / name
        if not folder.exists():
            folder.mkdir()
            small_project(folder, n_queries=12, module=f"search_{name}").write(systems("one"))
        capsys.readouterr()
        assert main(["run", str(folder)]) == 0
        said = " ".join(capsys.readouterr().err.split())
        warned.append("has runs on small of another project" in said)
    assert warned == [False, True, False, True]


def test_a_collection_with_all_other_content_is_told(project, capsys):
    project.write(systems("one"))
    assert main(["run"]) == 0
    assert "both are now one history" not in capsys.readouterr().err
    for name in ("corpus", "queries"):
        path = Path(f"small/{name}.jsonl")
        path.write_text(path.read_text().replace("text ", "other "))
    assert main(["run"]) == 0
    said = " ".join(capsys.readouterr().err.split())
    assert "runs on a collection small that has other docs, and no query in common with this one" in said
