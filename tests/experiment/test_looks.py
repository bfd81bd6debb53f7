"""What counts as a look at a set of queries: what somebody asked to be compared, and not what a history shows."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import rankscope as rs
from rankscope.cli.main import main
from rankscope.comparison.gate import GateResult
from rankscope.experiment.history import diff_runs, history_of
from rankscope.experiment.history_records import History

sys.path.insert(0, str(Path(__file__).parents[1]))
from small_project import small_project, systems

RANKINGS = {"one": "ab", "two": "ba", "three": "cb"}


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Go to a folder with a store, judgments and three runs; the store has two versions of one of them."""
    monkeypatch.delenv("RANKSCOPE_STORE", raising=False)
    monkeypatch.chdir(tmp_path)
    Path("qrels.txt").write_text("q1 0 a 1\nq2 0 b 1\n")
    for name, docs in RANKINGS.items():
        rows = [f"{query} Q0 {doc} {i} {9 - i} x\n" for query in ("q1", "q2") for i, doc in enumerate(docs, 1)]
        Path(f"{name}.run").write_text("".join(rows))
    return tmp_path


def keep_two_versions(capsys):
    for name in ("one", "two"):
        Path(name).mkdir()
        Path(name, "system.run").write_bytes(Path(f"{name}.run").read_bytes())
        assert main(["evaluate", "qrels.txt", f"{name}/system.run", "-m", "RR", "--store", "."]) == 0
    capsys.readouterr()


def looks():
    with rs.open_store(read_only=True) as store:
        return history_of(store, n_changes=0).n_looks


def test_a_history_shows_what_is_known_and_counts_nothing(files, capsys):
    keep_two_versions(capsys)
    seen = []
    for _ in range(2):
        assert main(["history", "--format", "json"]) == 0
        seen.append(History.from_json(capsys.readouterr().out))
    assert seen[0] == seen[1]
    assert (seen[0].n_looks, len(seen[0].changes)) == (0, 1)
    with rs.open_store() as store:
        assert [each.look for each in store.comparisons.list()] == [0], "it is kept, so that it is made once"


def test_a_diff_after_a_history_counts_once(files, capsys):
    keep_two_versions(capsys)
    main(["history"])
    capsys.readouterr()
    for _ in range(2):
        assert main(["history", "diff", "system~1", "system"]) == 0
        assert "Comparisons on these queries  1" in capsys.readouterr().out
        assert looks() == 1
    with rs.open_store() as store:
        found = diff_runs(store, store.runs.find("system~1"), store.runs.find("system"))
        assert found.comparison.look == 1
        assert [each.look for each in store.comparisons.list()] == [0, 1]


def test_what_is_only_shown_stays_so_in_another_store(files, capsys, tmp_path):
    keep_two_versions(capsys)
    main(["history"])
    main(["store", "export", "kept"])
    main(["store", "import", "kept", "--store", str(tmp_path / "other.db")])
    with rs.open_store(tmp_path / "other.db") as store:
        assert [each.look for each in store.comparisons.list()] == [0]


def test_the_gate_of_files_counts(files, capsys):
    main(["evaluate", "qrels.txt", "one.run", "-m", "RR", "--store", "."])
    main(["compare", "qrels.txt", "one.run", "two.run", "-m", "RR"])
    for new, look in (("two.run", 1), ("three.run", 2), ("three.run", 2)):
        capsys.readouterr()
        main(["gate", "--baseline", "one.run", "qrels.txt", new, "-m", "RR", "--format", "json"])
        assert [check.look for check in GateResult.from_json(capsys.readouterr().out).checks] == [look]
        assert looks() == look
    main(["gate", "--baseline", "one.run", "qrels.txt", "three.run", "-m", "RR"])
    assert "The 2nd comparison on these queries" in capsys.readouterr().out


def test_a_gate_on_the_same_ranking_is_no_look(files, capsys):
    main(["evaluate", "qrels.txt", "one.run", "-m", "RR", "--store", "."])
    Path("same.run").write_bytes(Path("one.run").read_bytes())
    main(["gate", "--baseline", "one.run", "qrels.txt", "same.run", "-m", "RR"])
    assert looks() == 0


def test_a_gate_that_cannot_count_says_so_and_decides(files, capsys):
    place = files / ".rankscope" / "store.db"
    place.parent.mkdir()
    place.write_text("no database, whatever its name says, but a text that is as long as the header of one\n" * 3)
    code = main(["gate", "--baseline", "one.run", "qrels.txt", "two.run", "-m", "RR", "--format", "json"])
    found = json.loads(capsys.readouterr().out)
    assert code == found["exit_code"] == 0
    assert found["notes"][0].startswith("This is not counted among the comparisons on its queries: ")


def test_the_gate_of_a_project_counts_on_the_queries_of_its_runs(tmp_path, monkeypatch, capsys):
    """The first run compares its two systems, and the gate the new version of one with that of the baseline."""
    monkeypatch.delenv("RANKSCOPE_STORE", raising=False)
    monkeypatch.chdir(tmp_path)
    project = small_project(tmp_path, n_queries=12)
    project.write(systems("one", "other"))
    assert main(["run"]) == 0
    assert main(["baseline", "save"]) == 0
    module = tmp_path / f"{project.module}.py"
    module.write_text(module.read_text().replace('docs_for(query.id, "other")', 'docs_for(query.id, "else")'))
    assert project.run("--fresh", "--no-store").returncode == 0
    assert looks() == 1
    capsys.readouterr()
    main(["gate", "--format", "json"])
    by_system = {check.system: check.look for check in GateResult.from_json(capsys.readouterr().out).checks}
    assert by_system == {"one": None, "other": 2}
    assert looks() == 2
