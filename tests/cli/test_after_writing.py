"""Where the output goes to a file, the terminal still says what was found, on stderr: stdout is for data."""

import re

import pytest


@pytest.mark.usefixtures("cookbook")
@pytest.mark.parametrize("name", ["report.html", "report.md", "table.tex", "report.txt", "result.json", "result.csv"])
def test_compare_says_answer_scores_and_where(rankscope, name):
    done = rankscope("compare", "qrels.txt", "bm25.run", "dense.run", "hybrid.run", "-o", name)
    assert done.code == 0
    assert done.out == ""
    assert "  VERDICT   " in done.err
    assert "probably better" in done.err  # a group of verdicts
    assert re.findall(r"^  (hybrid|dense|bm25) .*0\.\d{4}", done.err, re.MULTILINE) == ["hybrid", "dense", "bm25"]
    what = "result" if name.startswith("result") else "report"
    assert done.err.splitlines()[-1] == f"the {what} is in {name}"
    assert len(done.err.splitlines()) <= 25
    assert "CAUTION" not in done.err


@pytest.mark.usefixtures("cookbook")
@pytest.mark.parametrize("name", ["scores.json", "scores.csv", "scores.jsonl", "page.html", "table.tex", "table.md"])
def test_evaluate_says_scores_and_where(rankscope, name):
    done = rankscope("evaluate", "qrels.txt", "bm25.run", "hybrid.run", "-m", "nDCG@10", "-o", name)
    assert done.code == 0
    assert done.out == ""
    assert re.findall(r"^(hybrid|bm25) +(0\.\d{4})", done.err, re.MULTILINE) == [
        ("hybrid", "0.8254"),
        ("bm25", "0.6838"),
    ]
    assert done.err.splitlines()[-1].endswith(f" is in {name}")
    given = rankscope(
        "evaluate", "qrels.txt", "bm25.run", "hybrid.run", "-m", "nDCG@10", "-o", "x.md", "--order", "given"
    )
    assert re.findall(r"^(hybrid|bm25) ", given.err, re.MULTILINE) == ["bm25", "hybrid"]


@pytest.mark.usefixtures("cookbook")
@pytest.mark.parametrize("name", ["diagnosis.html", "diagnosis.md", "diagnosis.txt", "diagnosis.json"])
def test_diagnose_says_what_is_lost_and_where(rankscope, name):
    done = rankscope("diagnose", "qrels.txt", "bm25.run", "-o", name)
    assert done.out == ""
    shown = rankscope("diagnose", "qrels.txt", "bm25.run").out
    verdict = re.search(r"^  VERDICT .*?\n\n", shown, re.MULTILINE | re.DOTALL)[0]
    assert verdict in done.err
    assert re.search(r"^  reached .* 0\.\d{4}$", done.err, re.MULTILINE)
    what = "result" if name.endswith(".json") else "report"
    assert done.err.splitlines()[-1] == f"the {what} is in {name}"
    assert len(done.err.splitlines()) <= 25


@pytest.mark.usefixtures("cookbook")
@pytest.mark.parametrize("command", ["evaluate", "compare"])
def test_standard_output_by_name_is_not_a_file(rankscope, command):
    done = rankscope(command, "qrels.txt", "dense.run", "hybrid.run", "-o", "-")
    assert done.out == rankscope(command, "qrels.txt", "dense.run", "hybrid.run").out
    assert "is in -" not in done.err
    assert "VERDICT" not in done.err


@pytest.mark.usefixtures("cookbook")
def test_of_many_runs_the_best_and_the_baseline_are_shown(rankscope, tmp_path):
    runs = []
    for i in range(9):
        path = tmp_path / f"copy{i}.run"
        path.write_bytes((tmp_path.cwd() / "hybrid.run").read_bytes())
        runs.append(str(path))
    done = rankscope("compare", "qrels.txt", "bm25.run", *runs, "-m", "nDCG@10", "-o", "x.html")
    assert len(re.findall(r"^  copy\d .*0\.8254", done.err, re.MULTILINE)) == 5
    assert re.search(r"^  bm25 +0\.6838", done.err, re.MULTILINE)
    assert "4 more runs" in done.err


@pytest.mark.usefixtures("cookbook")
def test_details_of_evaluate_are_how_to_obtain_it_again(rankscope):
    plain = rankscope("evaluate", "qrels.txt", "dense.run", "hybrid.run").out
    assert "sha256" not in plain
    assert "read as" not in plain
    whole = rankscope("evaluate", "qrels.txt", "dense.run", "hybrid.run", "--details").out
    assert "read as: trec (qrels, hybrid, dense)" in whole
    assert re.search(r"^hybrid: hybrid\.run sha256:[0-9a-f]{64}$", whole, re.MULTILINE)
    assert "command: rankscope evaluate qrels.txt dense.run hybrid.run --details" in whole
