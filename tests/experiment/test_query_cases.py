"""Test cases that are written into the files of a project: what is written is what the next run and check read."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))
from rankscope.errors import InputError, OptionError
from rankscope.experiment.collection import load_collection
from rankscope.experiment.project import load_project
from rankscope.experiment.query_cases import QueryCase, change_attributes, save_test_case
from rankscope.experiment.target_file import load_targets
from small_project import small_project

WORDS = '[systems.words]\ntype = "bm25"\n'
ODD = 'he said "soup" \\ \x7f für Ärzte\n[[targets]]'


@pytest.fixture
def small(tmp_path):
    made = small_project(tmp_path / "project", n_queries=4, module="searching")
    made.write(WORDS)
    return made


def opened(small):
    project = load_project(small.folder)
    return project, load_collection(project.collection("small"))


def test_a_new_query_goes_into_queries_qrels_and_targets(small):
    before = {path: path.read_text() for path in small.folder.rglob("*.*l") if "small" in str(path.parent)}
    case = QueryCase(
        collection="small", text=ODD, attributes={"difficulty": "hard"}, docs=("d3", "d5"), top=3, never=("d7",),
        never_top=10, reason="it matters", owner="ada",
    )  # fmt: skip
    saved = save_test_case(*opened(small), case)
    assert (saved.query, saved.is_new) == ("live-1", True)
    assert saved.files == ("queries.jsonl", "test.tsv", "rankscope.toml")
    project, collection = opened(small)
    assert collection.queries.texts["live-1"] == ODD
    assert collection.queries.attributes_of("live-1") == {"difficulty": "hard"}
    assert collection.qrels["live-1"] == {"d3": 1, "d5": 1, "d7": 0}
    expected, never = project.targets
    assert (expected.query, expected.docs, expected.top, expected.reason, expected.owner) == (
        "live-1", ("d3", "d5"), 3, "it matters", "ada",
    )  # fmt: skip
    assert (never.query, never.docs, never.top) == ("live-1", ("d7",), 10)
    for path, text in before.items():
        assert path.read_text().startswith(text)
    assert (
        save_test_case(project, collection, QueryCase(collection="small", text="new", docs=("d1",))).query == "live-2"
    )


def test_a_query_of_the_collection_gets_a_target_alone(small):
    (small.folder / "targets.toml").write_text('[[targets]]\nname = "first"\nquery = "q0"\ndoc = "d0"\ntop = 1')
    small.write(WORDS, targets="targets.toml")
    queries = (small.folder / "small/queries.jsonl").read_text()
    for _ in range(2):
        saved = save_test_case(*opened(small), QueryCase(collection="small", text=" text  2", docs=("d2",), top=1))
        assert (saved.query, saved.is_new, saved.files) == ("q2", False, ("targets.toml",))
    targets = load_targets(small.folder / "targets.toml")
    assert [target.query for target in targets] == ["q0", "q2", "q2"]
    assert len({target.name for target in targets}) == 3
    assert (small.folder / "small/queries.jsonl").read_text() == queries


def test_attributes_are_changed_added_and_removed(small):
    _, collection = opened(small)
    change_attributes(collection, "q1", {"difficulty": "hard", "language": "de"})
    _, collection = opened(small)
    assert collection.queries.attributes_of("q1") == {"difficulty": "hard", "language": "de"}
    assert collection.queries.attributes_of("q0") == {"difficulty": "hard"}
    change_attributes(collection, "q1", {"language": ""})
    assert opened(small)[1].queries.attributes_of("q1") == {"difficulty": "hard"}
    with pytest.raises(OptionError, match="_id is no attribute"):
        change_attributes(collection, "q1", {"_id": "q9"})
    with pytest.raises(InputError, match=r"queries\.jsonl has no query 'q99'"):
        change_attributes(collection, "q99", {"language": "de"})


@pytest.mark.parametrize(
    ("case", "said"),
    [
        (QueryCase(collection="small", text="x"), "no doc is chosen"),
        (QueryCase(collection="small", text=" ", docs=("d1",)), "the query is empty"),
        (QueryCase(collection="small", text="x", docs=("d1",), never=("d1",)), "d1 cannot be expected and unwanted"),
    ],
)
def test_what_is_no_test_case(small, case, said):
    with pytest.raises(OptionError, match=said):
        save_test_case(*opened(small), case)


@pytest.mark.parametrize("ending", ["queries", "qrels", "targets"])
def test_files_that_cannot_be_written_leave_all_as_it_was(small, ending):
    folder = small.folder / "small"
    if ending == "queries":
        rows = "".join(f"q{i}\ttext {i}\n" for i in range(4))
        (folder / "queries.jsonl").unlink()
        (folder / "queries.tsv").write_text(rows)
    elif ending == "qrels":
        (folder / "qrels/test.tsv").write_text("corpus-id\tquery-id\tscore\nd0\tq0\t1\n")
    else:
        (small.folder / "targets.yaml").write_text("- {query: q0, doc: d0, top: 1}\n")
        small.write(WORDS, targets="targets.yaml")
    before = {path: path.read_bytes() for path in small.folder.rglob("*") if path.is_file()}
    with pytest.raises(OptionError, match="cannot be written into"):
        save_test_case(*opened(small), QueryCase(collection="small", text="new", docs=("d1",)))
    assert {path: path.read_bytes() for path in before} == before
