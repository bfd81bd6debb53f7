"""Queries that are the whole text of a doc, and models that do not know the language of the queries."""

from __future__ import annotations

import json

import pytest

from rankscope.data.loading import load_qrels
from rankscope.experiment.collection import load_collection, spec_of
from rankscope.experiment.project import load_project
from rankscope.experiment.repeated_texts import find_repeated_texts, plain
from rankscope.experiment.runner import run_project
from rankscope.systems.base import Doc


def test_the_whole_text_counts_whatever_its_case_and_punctuation():
    docs = [Doc("a", "", "Short stature"), Doc("b", "of the arm", "Pain"), Doc("c", "Rash", "rash"), Doc("d", "—")]
    queries = {"1": "short  STATURE!", "2": "of the arm", "3": "pain of the arm", "4": "rash", "5": "?"}
    found = find_repeated_texts(queries, docs)
    assert found.docs_of == {"1": ["a"], "3": ["b"], "4": ["c"]}
    assert found.n_queries == 5
    words = found.in_words(load_qrels({"1": {"a": 1}, "3": {"b": 0}}))
    assert words.startswith("3 of 5 queries (60.0%) are the whole text of a doc, 1 of them of a relevant one: ")
    assert 'query "1", doc "a"' in words
    assert find_repeated_texts({"1": "arm"}, docs).in_words(load_qrels({"1": {"a": 1}})) == ""
    assert plain(" A_b,  c ") == "a b c"


def test_titles_of_docs_that_say_more_are_counted_apart():
    docs = [
        Doc("a", "Redness of the skin. " * 90, "Rash"),
        Doc("b", "arm", "Pain"),
        Doc("c", "", "Fever"),
        Doc("d", "x"),
    ]
    queries = {"1": "rash", "2": "PAIN", "3": "fever", "4": "skin", "5": "pain arm"}
    found = find_repeated_texts(queries, docs)
    assert (found.docs_of, found.titles_of) == ({"3": ["c"], "5": ["b"]}, {"1": ["a"], "2": ["b"]})
    qrels = load_qrels({"1": {"a": 1}, "2": {"a": 1}, "3": {"c": 2}})
    assert found.in_words(qrels).startswith(
        "4 of 5 queries (80.0%) are the title or the whole text of a doc (2 the title of one that says more, 2 the "
        "whole text), 2 of them of a relevant one: a search by words finds these easily"
    )
    titles = find_repeated_texts({"1": "rash", "4": "skin"}, docs).in_words(qrels)
    assert titles.startswith("1 of 2 queries (50.0%) is the title of a doc, 1 of them of a relevant one: ")


@pytest.fixture
def german(tmp_path):
    folder = tmp_path / "german"
    folder.mkdir()
    docs = ["Anfall", "Ausschlag am ganzen Arm", "Husten bei Nacht", "Fieber über Wochen", "Schwindel beim Stehen"]
    queries = ["anfall", "ausschlag", "husten", "fieber"]
    lines = [{"_id": f"d{i}", "text": text} for i, text in enumerate(docs)]
    (folder / "corpus.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    lines = [{"_id": f"q{i}", "text": text, "language": "de"} for i, text in enumerate(queries)]
    (folder / "queries.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (folder / "qrels.txt").write_text("".join(f"q{i} 0 d{i} 1\n" for i in range(4)))
    return folder


def notes_of(folder, systems):
    project = folder.parent / "rankscope.toml"
    project.write_text(f'primary = "RR"\nmeasures = ["RR"]\n[collections.german]\npath = "german"\n{systems}')
    [result] = run_project(load_project(project)).collections
    return " ".join(result.notes)


def test_a_run_warns_of_queries_that_repeat_a_doc(german):
    pytest.importorskip("bm25s", reason="bm25s is not installed")
    assert load_collection(spec_of(german)).repeated_texts.docs_of == {"q0": ["d0"]}
    notes = notes_of(german, '[systems.bm25]\ntype = "bm25"\n')
    assert "Warning: 1 of 4 queries (25.0%) is the whole text of a doc, 1 of them of a relevant one" in notes
    lines = (german / "queries.jsonl").read_text()
    (german / "queries.jsonl").write_text(lines.replace('"anfall"', '"anfallsleiden"'))  # what is kept is not reused
    assert "whole text" not in notes_of(german, '[systems.bm25]\ntype = "bm25"\n')


@pytest.mark.parametrize("systems", ['[systems.dense]\ntype = "dense"\n', '[systems.mmr]\ntype = "mmr"\n'])
def test_a_run_warns_of_a_model_that_does_not_know_the_language(german, systems):
    pytest.importorskip("wordllama", reason="wordllama is not installed")
    assert "Warning: the model wordllama knows only English, but queries are in de" in notes_of(german, systems)
    queries = german / "queries.jsonl"
    queries.write_text(queries.read_text().replace('"de"', '"en-GB"'))
    assert "knows English" not in notes_of(german, systems)
