"""Tasks of runs that were read from files: which queries count, and what raters read."""

import json
from pathlib import Path

import pytest

from rankscope.cli.main import main
from rankscope.judging.session import session_of
from rankscope.judging.settling import settling_of
from rankscope.store import open_store

SYSTEMS = ("old", "new")


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    """Make four queries, of which two are judged; the run old has nothing for the last one."""
    monkeypatch.chdir(tmp_path)
    queries = [f"q{i}" for i in range(4)]
    for place, system in enumerate(SYSTEMS):
        docs = [(query, f"{query}-{(rank + place) % 3}", rank) for query in queries for rank in range(3)]
        lines = [f"{q} Q0 {d} {rank + 1} {9 - rank} {system}\n" for q, d, rank in docs if (system, q) != ("old", "q3")]
        Path(f"{system}.run").write_text("".join(lines))
    Path("qrels.txt").write_text("".join(f"{query} 0 {query}-0 1\n" for query in queries[:2]))
    Path("queries.jsonl").write_text(
        "".join(json.dumps({"id": query, "text": f"words of {query}"}) + "\n" for query in queries)
    )
    docs = [
        {"id": f"{q}-{i}", "title": f"Title {i}", "text": f"on {q}", "year": 1990 + i}
        for q in queries
        for i in (0, 1, 2)
    ]
    Path("docs.jsonl").write_text("".join(json.dumps(doc) + "\n" for doc in docs))


def keep(*more, command="evaluate"):
    assert main([command, "qrels.txt", "old.run", "new.run", "-m", "P@2", "--store", "s.db", *map(str, more)]) == 0


def create(*more):
    assert main(["judge", "create", "films", "old", "new", "--k", "2", "--store", "s.db", *more]) == 0


def test_a_task_takes_all_queries_that_the_runs_answer_judged_or_not(capsys):
    keep("--queries", "queries.jsonl", "--docs", "docs.jsonl")
    capsys.readouterr()
    create("-m", "P@2")
    said = " ".join(capsys.readouterr().out.split())
    assert "9 docs of 3 queries to judge" in said  # the first two of each list are three docs
    assert "1 query is left out (q3): nothing says that old was asked it, and there is no answer." in said
    assert "no text" not in said
    with open_store("s.db") as store:
        task = store.tasks.get("films")
        assert settling_of(store, task).n_queries == 3
        assert {run.system: len(store.texts.queries(run.queries_sha256)) for run in store.runs.list()} == {
            "old": 2,
            "new": 2,
        }


@pytest.mark.parametrize("command", ["evaluate", "compare"])
def test_raters_read_the_queries_and_docs_of_files(command):
    keep("--queries", "queries.jsonl", "--docs", "docs.jsonl", command=command)
    create()
    with open_store("s.db") as store:
        task = store.tasks.get("films")
        rater, _ = store.raters.invite(task, name="Ann")
        view = session_of(store, task, rater).query("q2")
    assert view.text == "words of q2"
    assert {(doc.title, doc.text, doc.fields["year"]) for doc in view.docs} == {
        (f"Title {i}", "on q2", 1990 + i) for i in range(3)
    }


def test_words_can_be_given_to_runs_that_the_store_has_already(capsys):
    keep()
    create("--pool", "sample", "--size", "4")
    said = " ".join(capsys.readouterr().out.split())
    assert "4 of 4 docs have no text in the store: raters see their ids alone." in said
    keep("--queries", "queries.jsonl", "--docs", "docs.jsonl")
    with open_store("s.db") as store:
        task = store.tasks.get("films")
        assert len(store.runs.list()) == 2
        assert store.tasks.queries(task, ["q0", "q2"])["q2"].text == "words of q2"
        assert store.tasks.queries(task, ["q0", "q2"])["q0"].text == "words of q0"


@pytest.mark.parametrize("before", [None, (), ("--queries", "queries.jsonl")])
@pytest.mark.parametrize("command", ["evaluate", "compare"])
def test_raters_read_attributes_and_the_conversation_of_queries_in_files(command, before):
    """Also where the store has the runs already, with queries or without, of which nothing else was known."""
    if before is not None:
        keep(*before, command=command)
    said = [{"role": "user", "content": "hello"}]
    rows = [
        {"id": f"q{i}", "text": f"words of q{i}", "specialty": "heart", "seen": 2, "conversation": said}
        for i in range(4)
    ]
    Path("known.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    keep("--queries", "known.jsonl", "--docs", "docs.jsonl", command=command)
    create()
    with open_store("s.db") as store:
        task = store.tasks.get("films")
        session = session_of(store, task, store.raters.invite(task, name="Ann")[0])
        for query in ("q0", "q2"):  # one with judgments, one without
            view = session.query(query)
            assert view.attributes == {"specialty": "heart", "seen": 2}
            assert view.conversation == ("user: hello",)


@pytest.mark.parametrize("change", [{"text": "corrected"}, {"specialty": "skin"}], ids=["words", "attributes"])
def test_other_words_of_queries_than_those_that_are_kept_are_said(change, capsys):
    row = {"id": "q0", "text": "words of q0", "specialty": "heart"}
    Path("first.jsonl").write_text(json.dumps(row) + "\n")
    Path("second.jsonl").write_text(json.dumps({**row, **change}) + "\n")
    keep("--queries", "first.jsonl")
    keep("--queries", "first.jsonl")
    assert "other words" not in capsys.readouterr().err
    keep("--queries", "second.jsonl")
    said = " ".join(capsys.readouterr().err.split())
    assert "these runs with other words or attributes of 1 query, such as q0: raters and pages go on" in said


def test_words_travel_with_an_export_and_compare_counts_the_same_queries(capsys):
    keep("--queries", "queries.jsonl", "--docs", "docs.jsonl")
    create("-m", "P@2")
    assert main(["store", "export", "kept", "--store", "s.db"]) == 0
    assert main(["store", "import", "kept", "--store", "other.db"]) == 0
    with open_store("other.db") as store:
        assert store.tasks.queries(store.tasks.get("films"), ["q2"])["q2"].text == "words of q2"
    notes = [json.loads(path.read_text()) for path in sorted(Path("kept/runs").glob("*.queries.json"))]
    assert [sorted(note["queries"]) for note in notes] == [["q0", "q1", "q2", "q3"], ["q0", "q1", "q2"]]


def test_judgments_of_queries_that_only_runs_know_are_taken_in(capsys):
    keep()
    create()
    Path("said.csv").write_text("query,doc,grade\nq2,q2-0,1\nq0,q0-1,2\nq9,q0-1,2\n")
    capsys.readouterr()
    assert main(["judge", "import", "said.csv", "--task", "films", "--rater", "Ann", "--store", "s.db"]) == 0
    said = capsys.readouterr().out
    assert "2 judgments (with 2 grades), 2 of them new" in said
    assert "1 judgment of 1 query left out" in said
    Path("docs.csv").write_text("query,doc\nq2,q2-0\n")
    assert main(["judge", "create", "list", "--file", "docs.csv", "--collection", "qrels", "--store", "s.db"]) == 0
