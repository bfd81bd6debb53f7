"""What `rankscope run` keeps in the store of a project."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import rankscope as rs
from rankscope.cli.main import main
from rankscope.measures.parse import parse_measures
from rankscope.web.library import Library
from rankscope.web.pages.collections import CollectionsOptions, collections_page
from rankscope.web.pages.queries import QueriesOptions, queries_page

sys.path.insert(0, str(Path(__file__).parents[1]))
from small_project import small_project, systems

PAIR = systems("one", "other")


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.delenv("RANKSCOPE_STORE", raising=False)
    made = small_project(tmp_path)
    made.write(PAIR)
    return made


def stored(project):
    return rs.open_store(project.folder, read_only=True)


def test_a_run_is_kept_with_its_scores_and_texts(project):
    done = project.run()
    assert done.returncode == 0, done.stderr
    with stored(project) as store:
        one, other = store.runs.list()
        assert (one.system, other.system, one.collection) == ("one", "other", "small")
        assert f"stored: one {one.short}, other {other.short}" in done.stderr
        assert store.runs.ranking(one) == rs.Run(project.folder / "results/runs/small/one.trec.gz")
        qrels = store.qrels.find("small")
        judged = rs.load_qrels(project.folder / "small/qrels/test.tsv")
        assert store.qrels.judgments(qrels) == judged
        expected = rs.evaluate(judged, {"one": project.folder / "results/runs/small/one.trec.gz"}, "nDCG@10")
        kept = store.scores.means([one], qrels, parse_measures("nDCG@10")[0])[one.number]
        assert kept.mean == expected["one"].mean()["nDCG@10"].value
        assert store.texts.queries(one.queries_sha256)["q7"].text == "text 7"
        assert store.texts.queries(one.queries_sha256)["q7"].attributes == {"difficulty": "easy"}
        assert store.texts.docs("small", ["d3"])["d3"].text == "text 3 of the docs"
        assert store.runs.latencies_ms(one).keys() == set(judged)
        assert [found.look for found in store.comparisons.list()] == [1]


def test_the_same_answers_are_not_kept_twice(project):
    project.run()
    again = project.run()
    assert "stored: nothing" in again.stderr
    with stored(project) as store:
        assert len(store.runs.list()) == 2
        assert len(store.comparisons.list()) == 1


def test_a_system_that_changed_is_another_run_and_the_old_one_stays(project):
    project.run()
    module = project.folder / f"{project.module}.py"
    module.write_text(module.read_text().replace('docs_for(query.id, "other")', 'docs_for(query.id, "better")'))
    done = project.run("--only", "other", "--fresh")
    assert done.returncode == 0, done.stderr
    with stored(project) as store:
        assert [run.system for run in store.runs.list()] == ["one", "other", "other"]
        assert store.runs.find("other").number == 3
        assert store.runs.find("other~1").number == 2
        assert store.runs.ranking(store.runs.find("other")) != store.runs.ranking(store.runs.find("other~1"))


def test_nothing_is_kept_without_a_store(project):
    assert project.run("--no-store").returncode == 0
    assert not (project.folder / ".rankscope" / "store.db").exists()


def test_another_place_can_be_named(project, tmp_path):
    assert project.run("--store", "kept.db").returncode == 0
    assert not (project.folder / ".rankscope" / "store.db").exists()
    with rs.open_store(project.folder / "kept.db") as store:
        assert len(store.runs.list()) == 2
    assert project.run(RANKSCOPE_STORE=str(tmp_path / "by-variable.db")).returncode == 0
    with rs.open_store(tmp_path / "by-variable.db") as store:
        assert len(store.runs.list()) == 2


def test_a_store_that_cannot_be_opened_ends_the_run_before_anything_is_asked(project):
    place = project.folder / ".rankscope" / "store.db"
    place.parent.mkdir(exist_ok=True)
    place.write_text(
        "no database, but a text that is longer than a header of a hundred bytes would have to be for this\n" * 3
    )
    done = project.run()
    assert done.returncode == 2
    assert "is not a store" in done.stderr
    assert not project.asked


QRELS = "q1 0 a 1\nq2 0 b 1\n"


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.delenv("RANKSCOPE_STORE", raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "qrels.txt").write_text(QRELS)
    (tmp_path / "one.run").write_text("q1 Q0 a 1 2 t\nq1 Q0 b 2 1 t\nq2 Q0 b 1 2 t\n")
    (tmp_path / "two.run").write_text("q1 Q0 b 1 2 t\nq1 Q0 a 2 1 t\nq2 Q0 b 1 2 t\n")
    return tmp_path


def test_evaluate_and_compare_keep_only_where_there_is_a_store(files, capsys):
    assert main(["evaluate", "qrels.txt", "one.run"]) == 0
    assert "stored" not in capsys.readouterr().err
    assert not (files / ".rankscope").exists()
    assert main(["evaluate", "qrels.txt", "one.run", "-m", "RR", "--store", "."]) == 0
    assert "stored: one " in capsys.readouterr().err
    assert main(["compare", "qrels.txt", "one.run", "two.run", "-m", "RR"]) == 0
    assert "stored: two " in capsys.readouterr().err
    with rs.open_store() as store:
        one, two = store.runs.list()
        assert {one.system, two.system} == {"one", "two"}
        assert {run.collection for run in (one, two)} == {"qrels"}
        means = store.scores.means([one, two], store.qrels.find("qrels"), parse_measures("RR")[0])
        assert {run.system: means[run.number].mean for run in (one, two)} == {"one": 1.0, "two": 0.75}
        assert store.comparisons.list()[0].look == 1


def test_a_comparison_says_which_one_on_its_queries_it_is(files, capsys):
    main(["evaluate", "qrels.txt", "one.run", "--store", "."])
    (files / "three.run").write_text("q1 Q0 c 1 2 t\nq2 Q0 b 1 2 t\n")
    for other, look in (("two.run", 1), ("three.run", 2), ("two.run", 1)):
        capsys.readouterr()
        main(["compare", "qrels.txt", "one.run", other, "--format", "json"])
        assert rs.Comparison.from_json(capsys.readouterr().out).look == look
    main(["compare", "qrels.txt", "one.run", "two.run", "--format", "json", "--no-store"])
    assert rs.Comparison.from_json(capsys.readouterr().out).look is None


def test_a_store_that_fails_does_not_hide_the_scores(files, capsys):
    place = files / ".rankscope" / "store.db"
    place.parent.mkdir()
    place.write_text("no database, whatever its name says, but a text that is as long as the header of one\n" * 3)
    assert main(["evaluate", "qrels.txt", "one.run", "-m", "RR"]) == 0
    said = capsys.readouterr()
    assert "1.0000" in said.out
    assert "nothing was kept in the store" in said.err
    assert main(["evaluate", "qrels.txt", "one.run", "-m", "RR", "--store", "."]) == 2


def test_the_report_says_how_often_the_queries_were_compared_on(files, capsys):
    main(["evaluate", "qrels.txt", "one.run", "--store", "."])
    main(["compare", "qrels.txt", "one.run", "two.run"])
    assert "The first comparison on these queries" in capsys.readouterr().out
    (files / "three.run").write_text("q1 Q0 c 1 2 t\nq2 Q0 b 1 2 t\n")
    main(["compare", "qrels.txt", "one.run", "three.run"])
    assert "The 2nd comparison on these queries" in capsys.readouterr().out


def test_all_fields_of_docs_are_kept_as_far_as_they_are_not_endless(project):
    corpus = project.folder / "small/corpus.jsonl"
    rows = [json.loads(line) for line in corpus.read_text().splitlines()]
    for row in rows:
        row |= {"specialty": "heart", "years": 12, "cities": ["Leeds", "York"], "address": {"city": "Leeds"}}
        row |= {"notes": "x" * 10_000, "unknown": None}
    corpus.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert project.run().returncode == 0
    with stored(project) as store:
        fields = store.texts.docs("small", ["d3"])["d3"].fields
    assert fields == {
        "specialty": "heart", "years": 12, "cities": ["Leeds", "York"], "address.city": "Leeds", "notes": "x" * 2_000,
    }  # fmt: skip


def test_conversations_of_queries_are_kept(project):
    file = project.folder / "small/queries.jsonl"
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    turns = [{"role": "user", "content": "My heart races"}, {"role": "assistant", "content": "Since when?"}]
    file.write_text("".join(json.dumps({**row, "conversation": turns}) + "\n" for row in rows))
    assert project.run().returncode == 0
    with stored(project) as store:
        (one, _) = store.runs.list()
        assert store.texts.queries(one.queries_sha256)["q7"].attributes == {"difficulty": "easy", "conversation": turns}
        library = Library(store)
        assert [each.attribute for each in queries_page(library, QueriesOptions()).strata] == ["difficulty"]
        details = collections_page(library, CollectionsOptions(collection="small")).details
        assert [each.name for each in details.attributes] == ["difficulty"]
