"""The gate as a build server sees it: exit code, JUnit file and text of twelve cases, through the command line."""

import json
import xml.etree.ElementTree as ET

import numpy as np
import pytest

N = 40
QUERIES = [f"q{i:02}" for i in range(N)]
JUDGED = [f"d{i}" for i in range(10)]
RNG = np.random.default_rng(0)
QRELS = {query: {doc: int(RNG.random() < 0.5) for doc in JUDGED} for query in QUERIES}


def ranking(query, share):
    """Return a ranking of the judged docs, about this share of the relevant ones first, the others last."""
    rng = np.random.default_rng([int(query[1:]), 7])
    first = [doc for doc in JUDGED if QRELS[query][doc] and rng.random() < share]
    rest = [doc for doc in JUDGED if doc not in first]
    return [*first, *sorted(rest, key=lambda doc: (QRELS[query][doc], doc))]


def with_unjudged(query, n, share):
    """Return a ranking that begins with docs nobody has judged."""
    return [*(f"new{i}" for i in range(n)), *ranking(query, share)][:10]


RUNS = {
    "base": {query: ranking(query, 0.6) for query in QUERIES},
    "better": {query: ranking(query, 1.0) for query in QUERIES},
    "worse": {query: ranking(query, 0.2) for query in QUERIES},
    "same": {query: ranking(query, 0.6) for query in QUERIES},
    "noise": {query: ranking(query, 1.0 if i % 2 else 0.3) for i, query in enumerate(QUERIES)},
    "unsafe_lower": {query: with_unjudged(query, 3, 1.0) for query in QUERIES},
    "strange": {query: [f"zz{doc}" for doc in ranking(query, 0.6)] for query in QUERIES},
    "half": {query: ranking(query, 1.0) for query in QUERIES[: N // 2]},
}


def run_text(rankings):
    return "".join(f"{q} Q0 {d} {r} {50 - r} x\n" for q, docs in rankings.items() for r, d in enumerate(docs, 1))


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "qrels").write_text("".join(f"{q} 0 {d} {g}\n" for q, docs in QRELS.items() for d, g in docs.items()))
    for name, rankings in RUNS.items():
        (tmp_path / f"{name}.run").write_text(run_text(rankings))
    few = QUERIES[:6]
    for name in ("base", "worse", "better"):
        (tmp_path / f"few_{name}.run").write_text(run_text({query: RUNS[name][query] for query in few}))
    (tmp_path / "few_qrels").write_text("".join(f"{q} 0 {d} {g}\n" for q in few for d, g in QRELS[q].items()))
    return tmp_path


def gate(rankscope, folder, *arguments):
    """Return exit code, verdict and outcome in the JUnit file, and what was said; text output must agree with it."""
    files = [folder / a if (folder / a).exists() else a for a in arguments]
    report = folder / "gate.xml"
    report.unlink(missing_ok=True)
    done = rankscope("compare", *files, "-m", "nDCG@10", "--fail-if-worse", "-o", report)
    suite = ET.parse(report).getroot().find("testsuite")
    found = {name: int(suite.get(name)) for name in ("failures", "errors", "skipped")}
    outcome = "error" if found["errors"] else "failure" if found["failures"] else "passed"
    assert found["skipped"] == 0
    assert {"error": 2, "failure": 1, "passed": 0}[outcome] == done.code
    if done.code != 2:
        assert f"exit code {done.code}" in done.err
        assert rankscope("compare", *files, "-m", "nDCG@10", "--fail-if-worse").code == done.code
    printed = suite.find("testcase/system-out")
    verdict = "" if printed is None else dict(line.split(": ", 1) for line in printed.text.splitlines() if ": " in line)
    return done, outcome, verdict.get("verdict") if verdict else None


@pytest.mark.parametrize(
    ("arguments", "code", "outcome", "verdict"),
    [
        (["qrels", "base.run", "worse.run"], 1, "failure", "worse"),
        (["qrels", "better.run", "base.run", "--margin", "0.1"], 1, "failure", "probably_worse"),
        (["qrels", "base.run", "same.run"], 0, "passed", "identical"),
        (["qrels", "base.run", "better.run"], 0, "passed", "better"),
        (["qrels", "base.run", "noise.run"], 0, "passed", "cannot_tell"),
        (["qrels", "base.run", "noise.run", "--on-inconclusive", "fail"], 1, "failure", "cannot_tell"),
        (["qrels", "base.run", "unsafe_lower.run"], 1, "failure", "not_safe"),
        (["qrels", "unsafe_lower.run", "base.run"], 0, "passed", "not_safe"),
        (["few_qrels", "few_base.run", "few_worse.run"], 1, "failure", "too_few"),
        (["few_qrels", "few_base.run", "few_better.run"], 0, "passed", "too_few"),
        (["qrels", "base.run", "half.run"], 2, "error", None),
        (["qrels", "base.run", "half.run", "--allow-missing", "0.5"], None, None, None),
    ],
    ids=[
        "worse", "probably worse", "same", "better", "cannot tell", "cannot tell, to fail", "not safe, lower",
        "not safe, higher", "too few, lower", "too few, higher", "half not answered", "half allowed",
    ],
)  # fmt: skip
def test_every_case(rankscope, folder, arguments, *, code, outcome, verdict):
    done, found, said = gate(rankscope, folder, *arguments)
    qrels, baseline, run, *options = arguments
    files = (folder / baseline, folder / qrels, folder / run)
    by_command = rankscope("gate", "--baseline", *files, "-m", "nDCG@10", *options)
    assert by_command.code == done.code  # the same rule, whichever command asks
    if code is None:
        assert done.code != 2
        return
    assert (done.code, found) == (code, outcome), done.err
    if verdict is not None:
        assert said == verdict


def test_garbage_ids_are_an_error_with_the_finding(rankscope, folder):
    done, outcome, _ = gate(rankscope, folder, "qrels", "base.run", "strange.run")
    assert (done.code, outcome) == (2, "error")
    assert "strange: doc ids differ only by the prefix" in done.err
    assert "doc ids differ only by the prefix" in (folder / "gate.xml").read_text()
    anyway, outcome, verdict = gate(rankscope, folder, "qrels", "base.run", "strange.run", "--anyway")
    assert (anyway.code, outcome, verdict) == (2, "error", "not_comparable")
    shown = rankscope("compare", folder / "qrels", folder / "base.run", folder / "strange.run", "--anyway")
    assert shown.code == 0  # nobody asked for a gate
    assert "VERDICT   Nothing can be recommended: strange and base are not comparable" in shown.out


def test_swapped_files_are_an_error(rankscope, folder):
    run = {q: {d: 1 / r for r, d in enumerate(docs, 1)} for q, docs in RUNS["base"].items()}
    (folder / "run.json").write_text(json.dumps(run))
    (folder / "qrels.json").write_text(json.dumps(QRELS))
    done, outcome, _ = gate(rankscope, folder, "run.json", "qrels.json", "qrels.json")
    assert (done.code, outcome) == (2, "error")
    assert "are the arguments swapped?" in done.err


def test_scores_against_other_qrels_are_an_error(rankscope, folder):
    changed = folder / "other_qrels"
    changed.write_text((folder / "qrels").read_text().replace(" d0 1\n", " d0 0\n"))
    for name, qrels in (("base", "qrels"), ("better", "other_qrels")):
        out = folder / f"{name}.json"
        rankscope("evaluate", folder / qrels, folder / f"{name}.run", "-m", "nDCG@10", "-o", out)
    done, outcome, _ = gate(rankscope, folder, "--scores", "base.json", "better.json")
    assert (done.code, outcome) == (2, "error")
    assert "against other qrels" in done.err
    anyway, outcome, verdict = gate(rankscope, folder, "--scores", "base.json", "better.json", "--anyway")
    assert (anyway.code, outcome, verdict) == (2, "error", "not_comparable")


def test_queries_without_an_answer_are_an_error_also_where_scores_are_compared(rankscope, folder):
    for name in ("base", "half"):
        rankscope("evaluate", folder / "qrels", folder / f"{name}.run", "-m", "nDCG@10", "-o", folder / f"{name}.json")
    for files in (("qrels", "base.run", "half.run"), ("--scores", "base.json", "half.json")):
        done, outcome, _ = gate(rankscope, folder, *files)
        assert (done.code, outcome) == (2, "error")
        assert f"half does not answer {N - N // 2} of {N} queries" in done.err


def test_non_inferiority(rankscope, folder):
    files = [folder / name for name in ("qrels", "base.run", "better.run")]
    assert rankscope("compare", *files, "-m", "nDCG@10", "--require", "non-inferior").code == 0
    files[2] = folder / "noise.run"
    assert rankscope("compare", *files, "-m", "nDCG@10", "--require", "non-inferior").code == 1


def test_options_of_the_gate_alone_are_refused(rankscope, folder):
    files = [folder / name for name in ("qrels", "base.run", "better.run")]
    done = rankscope("compare", *files, "--on-inconclusive", "fail")
    assert done.code == 2
    assert "does nothing without a gate" in done.err
    assert "needs a baseline" in rankscope("compare", *files, "--all-pairs", "--fail-if-worse").err


def test_limits_on_scores(rankscope, folder):
    files = [folder / "qrels", folder / "base.run", folder / "better.run"]
    passed = rankscope("evaluate", *files, "-m", "P@5", "--fail-under", "nDCG@10=0.2")
    assert passed.code == 0
    assert "nDCG@10" in passed.out  # what the gate is about is shown
    assert "gate: passed (2 of 2 passed), exit code 0" in passed.err
    report = folder / "limits.xml"
    failed = rankscope("evaluate", *files, "--fail-under", "nDCG@10=0.95", "--fail-under", "FirstRel=1.2", "-o", report)
    assert failed.code == 1
    suite = ET.parse(report).getroot().find("testsuite")
    assert (suite.get("tests"), suite.get("errors")) == ("4", "0")
    outcomes = {case.get("name"): case.find("failure") is None for case in suite.iter("testcase")}
    assert outcomes["base nDCG@10"] is False
    assert "base FirstRel" in outcomes


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["half.run", "--fail-under", "nDCG@10=0.1"], 2, "does not answer 20 of 40 queries (50%; at most 10%"),
        (["half.run", "--fail-under", "nDCG@10=0.1", "--allow-missing", "0.5"], 0, "passed"),
        (["strange.run", "--fail-under", "nDCG@10=0.1"], 2, "doc ids differ only by"),
        (["base.run", "--fail-under", "nDCG@10"], 2, "not MEASURE=NUMBER"),
        (["base.run", "--fail-under", "nDGC@10=0.5"], 2, "nDCG"),
        (["base.run", "--fail-under", "nDCG@10=nan"], 2, "not MEASURE=NUMBER"),
        (["base.run", "--allow-missing", "0.5"], 2, "goes with --fail-under"),
    ],
)
def test_limits_fail_closed(rankscope, folder, arguments, code, message):
    files = [folder / a if (folder / a).exists() else a for a in arguments]
    done = rankscope("evaluate", folder / "qrels", *files)
    assert done.code == code
    assert message in done.err


def test_an_error_is_an_error_of_every_system_and_keeps_their_names(rankscope, folder):
    report = folder / "multi.xml"
    files = [folder / name for name in ("qrels", "base.run", "better.run", "strange.run")]
    done = rankscope("compare", *files, "-m", "nDCG@10", "--fail-if-worse", "-o", report)
    assert done.code == 2
    assert "gate: error, exit code 2" in done.err
    cases = list(ET.parse(report).getroot().iter("testcase"))
    assert [case.get("name") for case in cases] == ["better vs base", "strange vs base"]
    assert {case.get("classname") for case in cases} == {"rankscope.compare.nDCG@10"}
    assert all("strange: doc ids differ" in case.find("error").get("message") for case in cases)


def test_limits_on_a_run_whose_ids_match_nothing_stay_an_error(rankscope, folder):
    arguments = ("evaluate", folder / "qrels", folder / "strange.run", "--fail-under", "nDCG@10=0", "--anyway")
    assert rankscope(*arguments).code == 2


def test_saved_scores_keep_their_direction_at_the_gate(rankscope, folder):
    saved = folder / "ranks.json"
    rankscope("evaluate", folder / "qrels", folder / "better.run", folder / "worse.run", "-m", "FirstRel", "-o", saved)
    done = rankscope("compare", "--scores", saved, "--primary", "FirstRel", "--fail-if-worse")
    assert done.code == 1
    assert "Keep better: worse is worse, by 2.125 in FirstRel." in done.out


def write_scores(folder, name, values):
    path = folder / f"{name}.csv"
    path.write_text("query,nDCG@10\n" + "".join(f"q{i},{value}\n" for i, value in enumerate(values)))
    return path


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (["inf"] + ["0.1"] * 39, "no score"),
        (["1e308"] * 2 + ["0.1"] * 38, "scores beyond"),
        ([""] * 18 + ["0.9"] * 22, "undefined for one of the two on 18 of 40 queries"),
    ],
    ids=["infinite", "beyond all numbers", "left blank"],
)
def test_scores_that_hide_a_collapse_are_errors(rankscope, folder, cells, message):
    good = write_scores(folder, "good", ["0.8"] * 40)
    bad = write_scores(folder, "bad", cells)
    done = rankscope("compare", "--scores", good, bad, "--fail-if-worse")
    assert done.code == 2
    assert message in done.err


@pytest.mark.parametrize("text", ["", "\n\n", "query,a\nq1\nq2,3,4\n", "{", "\xff\xfe"], ids=range(5))
@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".json", ".parquet", ".txt"])
def test_files_that_hold_no_scores_are_errors_without_a_traceback(rankscope, folder, text, suffix):
    path = folder / f"odd{suffix}"
    path.write_bytes(text.encode("latin-1"))
    done = rankscope("compare", "--scores", path, path, "--fail-if-worse")
    assert done.code == 2
    assert any(line.startswith("error: ") for line in done.err.splitlines())
    assert "Traceback" not in done.err


def test_options_that_scores_cannot_follow_are_refused(rankscope, folder):
    good = write_scores(folder, "good", ["0.8"] * 40)
    other = write_scores(folder, "other", ["0.7"] * 40)
    for option in (["--undefined", "error"], ["--depth", "5"], ["--profile", "beir"], ["--lower-is-better", "latency"]):
        done = rankscope("compare", "--scores", good, other, *option)
        assert done.code == 2, option


def test_queries_without_a_language_stay_in_the_answer(rankscope, folder):
    lines = [{"id": q, **({"language": "de" if i % 2 else "en"} if i < 12 else {})} for i, q in enumerate(QUERIES)]
    (folder / "languages.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    broken = {q: RUNS["base" if i < 12 else "worse"][q] for i, q in enumerate(QUERIES)}
    (folder / "broken.run").write_text(run_text(broken))
    files = [folder / name for name in ("qrels", "base.run", "broken.run")]
    done = rankscope("compare", *files, "-m", "nDCG@10", "--queries", folder / "languages.jsonl", "--fail-if-worse")
    assert done.code == 1
    assert "without language" in done.err


def test_a_measure_that_finds_nothing_does_not_pass(rankscope, folder):
    """FirstRel has no rank where nothing was found: a run that finds nothing must not pass for want of scores."""
    lost = {q: (RUNS["base"][q] if i < 15 else [d for d in JUDGED if not QRELS[q][d]]) for i, q in enumerate(QUERIES)}
    (folder / "lost.run").write_text(run_text(lost))
    files = [folder / name for name in ("qrels", "base.run", "lost.run")]
    done = rankscope("compare", *files, "-m", "FirstRel@10", "--fail-if-worse")
    assert done.code == 2
    assert "lost finds nothing for 25 queries where the other one does, and FirstRel@10 leaves them out" in done.err
    limit = rankscope("evaluate", files[0], files[2], "--fail-under", "FirstRel@10=5")
    assert limit.code == 2


def test_qrels_without_a_relevant_doc_are_an_error(rankscope, folder):
    (folder / "zeros").write_text((folder / "qrels").read_text().replace(" 1\n", " 0\n"))
    done = rankscope("compare", folder / "zeros", folder / "base.run", folder / "worse.run", "--fail-if-worse")
    assert done.code == 2
    assert "every score is 0" in done.err


@pytest.mark.parametrize("options", [["--margin", "1"], ["--margin", "5"], ["--alpha", "0.001", "--resamples", "500"]])
def test_settings_that_would_switch_the_gate_off_are_refused(rankscope, folder, options):
    files = [folder / name for name in ("qrels", "base.run", "worse.run")]
    assert rankscope("compare", *files, "-m", "nDCG@10", "--fail-if-worse", *options).code == 2


def test_a_chart_does_not_skip_the_limits(rankscope, folder):
    files = [folder / "qrels", folder / "worse.run"]
    done = rankscope("evaluate", *files, "--fail-under", "nDCG@10=0.9", "--chart", "systems", "-o", folder / "x.svg")
    assert done.code == 2


def test_what_cannot_be_written_is_no_verdict(rankscope, folder):
    (folder / "folder.xml").mkdir()
    files = [folder / name for name in ("qrels", "base.run", "same.run")]
    for output, code in ((folder / "folder.xml", 2), ("/dev/full", 3)):
        form = ["--format", "junit", "-o", output]
        assert rankscope("compare", *files, "-m", "nDCG@10", "--fail-if-worse", *form).code == code
        assert rankscope("evaluate", *files, "--fail-under", "nDCG@10=0", *form).code == code


def test_clusters_that_no_query_has_are_an_error(rankscope, folder):
    (folder / "topics.csv").write_text("id,topic\n" + "".join(f"x{q},{i // 4}\n" for i, q in enumerate(QUERIES)))
    files = [folder / name for name in ("qrels", "base.run", "better.run")]
    done = rankscope("compare", *files, "-m", "nDCG@10", "--queries", folder / "topics.csv", "--cluster", "topic")
    assert done.code == 2
    assert "there are no clusters" in done.err


def test_a_fault_of_ours_is_no_verdict(rankscope, folder, monkeypatch):
    """1 says that a run is worse; whatever else goes wrong must not."""

    def broken(*_, **__):
        raise ZeroDivisionError("unforeseen")

    monkeypatch.setattr("rankscope.comparison.compare.compare_runs", broken)
    files = [folder / name for name in ("qrels", "base.run", "better.run")]
    done = rankscope("compare", *files, "-m", "nDCG@10", "--fail-if-worse")
    assert done.code == 70
    assert "unforeseen" in done.err


def test_a_closed_output_is_no_verdict(rankscope, monkeypatch, capsys):
    import sys

    from rankscope.cli.main import main

    with monkeypatch.context() as patched:
        patched.setattr(sys, "stdout", None)
        assert main(["measures", "nDCG"]) == 2
    assert "standard output is closed" in capsys.readouterr().err
