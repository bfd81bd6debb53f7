"""Stored runs that are scored some queries at a time: the same bits as at once."""

import subprocess
import sys
from pathlib import Path

import pytest

import rankscope as rs
from rankscope.align.policies import Policies
from rankscope.cli.main import main
from rankscope.measures.parse import parse_measures
from rankscope.store import runs as stored_runs

sys.path.insert(0, str(Path(__file__).parents[1] / "store"))
from small_store import fill, ranked, run_facts

pytestmark = pytest.mark.filterwarnings("ignore::rankscope.RankscopeWarning")

MEASURES = parse_measures("RR nDCG@3 AP Judged@2 NumRel")
MEMORY = 1 << 28


@pytest.fixture
def path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RANKSCOPE_STORE", raising=False)
    with rs.open_store(tmp_path / "store.db", create=True) as store:
        fill(store)
        lists = {**ranked(5).to_dict(), "q3": {}}  # a query that is answered with nothing
        store.runs.add(rs.Run(lists), run_facts("other", 9))
    return str(tmp_path / "store.db")


@pytest.mark.parametrize("most_rows", [1, 45, 100])
@pytest.mark.parametrize("missing", ["zero", "skip"])
def test_scores_of_a_stored_run_in_parts_are_those_of_the_whole(path, monkeypatch, most_rows, missing):
    monkeypatch.setattr(stored_runs, "ROW_IN_MEMORY", MEMORY // (4 * most_rows))
    policies = Policies(missing=missing)
    with rs.open_store(path) as store:
        labels = store.qrels.find("small")
        qrels = store.qrels.judgments(labels)
        for run in store.runs.list():
            whole, parts = store.runs.ranking(run), store.runs.ranking_in_parts(run, MEMORY)
            assert len(parts.source.blocks) > 1
            assert parts.asked == whole.asked
            one, other = (rs.evaluate(qrels, {"r": each}, MEASURES, missing=missing) for each in (whole, parts))
            assert one == other
            assert one["r"].values.tobytes() == other["r"].values.tobytes()
            found = []
            for store.memory in (MEMORY, None):
                store.scores.drop()
                found.append(store.scores.means([run], labels, MEASURES[0], policies)[run.number])
            assert found[0] == found[1]


def test_rescore_takes_memory(path, capsys, monkeypatch):
    monkeypatch.setattr(stored_runs, "ROW_IN_MEMORY", 1 << 21)
    texts = []
    for more in ([], ["--memory", "256MB"]):
        with rs.open_store(path) as store:
            store.scores.drop()
        assert main(["rescore", "--store", path, "-m", "RR", "--format", "json", *more]) == 0
        texts.append(capsys.readouterr().out)
    assert texts[0] == texts[1]
    assert main(["rescore", "--store", path, "--memory", "little"]) == 2
    assert "no amount of memory" in capsys.readouterr().err


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="the system does not say how much memory is taken")
def test_rescore_warns_where_it_takes_more_memory_than_is_given(tmp_path, plain_environment):
    """A run of a store is decompressed as a whole, and some of its queries are scored at a time."""
    lists = {f"q{q}": [f"doc-{q}-{r}" for r in range(100)] for q in range(5_000)}
    with rs.open_store(tmp_path / "store.db", create=True) as store:
        fill(store)
        store.runs.add(rs.Run(lists), run_facts("other", 9))
    command = [sys.executable, "-m", "rankscope", "rescore", "--store", str(tmp_path / "store.db"), "--memory"]
    for memory, is_warned in (("64MB", True), ("2GB", False)):
        done = subprocess.run([*command, memory], capture_output=True, text=True, check=True, env=plain_environment)
        assert ("more memory will be taken than the 64 MB that are given" in done.stderr) == is_warned
