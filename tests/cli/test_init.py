"""`rankscope init`."""

import builtins
import json
import sys

import pytest

from rankscope.experiment.project import load_project


@pytest.fixture(autouse=True)
def mini(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "mini"
    folder.mkdir()
    (folder / "corpus.jsonl").write_text('{"_id": "d1", "text": "A sudden event."}\n')
    (folder / "queries.jsonl").write_text('{"_id": "q1", "text": "fits"}\n')
    (folder / "qrels.txt").write_text("q1 0 d1 1\n")
    return folder


@pytest.fixture
def terminal(monkeypatch):
    """Return a function that sets what is typed on a terminal."""

    def type_in(*answers):
        asked = []
        left = iter(answers)

        def ask(question):
            asked.append(question)
            return next(left)

        monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
        monkeypatch.setattr(builtins, "input", ask)
        return asked

    return type_in


def test_with_flags(rankscope, tmp_path):
    done = rankscope("init", "--collection", "mini", "--systems", "bm25, dense", "--primary", "RR@10", "--yes")
    assert done.code == 0, done.err
    assert done.out.splitlines()[0] == "rankscope.toml is written"
    assert "mini         1 query, 1 judgment, docs in corpus.jsonl" in done.out
    assert done.out.splitlines()[-1] == "next: look at the file, then `rankscope run`"
    project = load_project()
    assert project.primary == "RR@10"
    assert list(project.systems) == ["bm25", "dense"]
    assert project.collections["mini"].path == tmp_path / "mini"


def test_queries_in_another_language_get_a_model_that_knows_it(rankscope, mini, tmp_path):
    (mini / "queries.jsonl").write_text('{"_id": "q1", "text": "Anfall", "language": "de"}\n')
    assert rankscope("init", "--yes").code == 0
    assert load_project().systems["dense"].options["model"] == "multilingual"
    assert "not all queries are in English" in (tmp_path / "rankscope.toml").read_text()
    (mini / "queries.jsonl").write_text('{"_id": "q1", "text": "fits", "language": "en-GB"}\n')
    assert rankscope("init", "--yes", "--force").code == 0
    assert "model" not in load_project().systems["dense"].options


def test_it_finds_the_collections_of_the_folder(rankscope):
    assert rankscope("init", "--yes").code == 0
    project = load_project()
    assert list(project.collections) == ["mini"]
    assert list(project.systems) == ["bm25", "dense", "hybrid"]


def test_within_a_collection(rankscope, mini, monkeypatch):
    monkeypatch.chdir(mini)
    assert rankscope("init", "--yes").code == 0
    assert load_project().collections["mini"].path == mini


def test_without_a_collection(rankscope, tmp_path, monkeypatch):
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    done = rankscope("init", "--yes")
    assert done.code == 2
    assert "there is no collection in this folder" in done.err


def test_it_asks_on_a_terminal(rankscope, terminal):
    asked = terminal("", "bm25", "")
    assert rankscope("init").code == 0
    assert asked == ["Which folder is the collection in? [mini] ", "Which systems? [bm25,dense,hybrid] ", "Which measure decides? [nDCG@10] "]  # fmt: skip
    assert list(load_project().systems) == ["bm25"]


def test_it_asks_again_where_nothing_is_proposed(rankscope, terminal, tmp_path, monkeypatch):
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    asked = terminal("", "../mini", "bm25", "")
    assert rankscope("init").code == 0
    assert asked[0] == asked[1] == "Which folder is the collection in? "


def test_a_file_elsewhere_has_paths_from_there(rankscope, tmp_path):
    (tmp_path / "project").mkdir()
    assert rankscope("init", "--collection", "mini", "--yes", "-o", "project/rankscope.toml").code == 0
    assert '"../mini"' in (tmp_path / "project/rankscope.toml").read_text()
    assert load_project(tmp_path / "project").collections["mini"].path.resolve() == tmp_path / "mini"


def test_nothing_is_overwritten(rankscope, tmp_path):
    (tmp_path / "rankscope.toml").write_text("mine")
    done = rankscope("init", "--yes")
    assert done.code == 2
    assert "rankscope.toml is there already" in done.err
    assert "--force" in done.err
    assert (tmp_path / "rankscope.toml").read_text() == "mine"
    assert rankscope("init", "--yes", "--force").code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--systems", "bm52"], "system 'bm52' is not one of bm25"),
        (["--primary", "nDGC@10"], "nDGC"),
        (["--collection", "nowhere"], "nowhere does not exist"),
    ],
)
def test_what_is_wrong_is_not_written(rankscope, arguments, message, tmp_path):
    done = rankscope("init", "--yes", *arguments)
    assert done.code == 2
    assert message in done.err
    assert not (tmp_path / "rankscope.toml").exists()


PRACTITIONERS = """{"id": "p1", "title": "Ann Arbor", "specialty": "Cardiology", "procedures": ["ablation"], "born": "1970-01-02"}
{"id": "p2", "title": "Ben Bolt", "specialty": "Orthopaedics", "procedures": ["knee"], "born": "1980-03-04"}
"""


@pytest.fixture
def doctors(tmp_path):
    """Return a collection whose docs have no text."""
    folder = tmp_path / "doctors"
    folder.mkdir()
    (folder / "docs.jsonl").write_text(PRACTITIONERS)
    (folder / "queries.jsonl").write_text('{"_id": "c1", "text": "ablation"}\n{"_id": "c2", "text": "knee"}\n')
    (folder / "qrels.txt").write_text("c1 0 p1 1\nc2 0 p2 1\n")


@pytest.mark.usefixtures("doctors")
def test_docs_without_a_text_are_searched_by_their_fields(rankscope, tmp_path):
    assert rankscope("init", "--collection", "doctors", "--systems", "bm25,dense", "--yes").code == 0
    systems = load_project(tmp_path / "rankscope.toml").systems
    assert [one.options["fields"] for one in systems.values()] == [["title", "specialty", "procedures"]] * 2
    done = rankscope("run", "--only", "bm25", "--format", "json")
    assert done.code == 0, done.err
    assert json.loads(done.out)["collections"][0]["evaluation"]["runs"][0]["mean"]["nDCG@10"] == 1


@pytest.mark.usefixtures("doctors")
def test_a_system_that_finds_nothing_hints_at_fields_and_is_left_out_with_exit_code_2(rankscope, tmp_path):
    """As docs/exit-codes.md says: a system that is left out makes it 2."""
    text = '[collections.doctors]\npath = "doctors"\n[systems.bm25]\ntype = "bm25"\n'
    (tmp_path / "rankscope.toml").write_text(text)
    done = rankscope("run", "--format", "json")
    assert done.code == 2
    assert "error: bm25 is left out: it has retrieved nothing at all" in done.err
    record = json.loads(done.out)
    assert record["n_left_out"] == 1
    [note] = [note for note in record["collections"][0]["notes"] if "nothing at all" in note]
    assert "title and text of the docs, which also have specialty, procedures, born: `fields` says" in note


def test_docs_with_a_text_need_no_fields(rankscope, tmp_path):
    assert rankscope("init", "--collection", "mini", "--systems", "bm25", "--yes").code == 0
    assert "fields" not in (tmp_path / "rankscope.toml").read_text()
