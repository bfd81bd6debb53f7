"""`rankscope evaluate`; expected numbers are trec_eval's own (tests/golden) unless a comment says by hand."""

import csv
import gzip
import io
import json
import re
from pathlib import Path

import jsonschema
import pytest

SCHEMA = Path(__file__).parents[2] / "docs/generated/schema/evaluate.schema.json"
TREC_NAMES = {
    "nDCG@10": "ndcg_cut_10", "RR": "recip_rank", "AP": "map", "P@5": "P_5", "R@100": "recall_100", "Bpref": "bpref",
}  # fmt: skip
MEASURES = " ".join(TREC_NAMES)

QRELS = "q1 0 a 1\nq1 0 b 0\nq2 0 a 1\nq2 0 c 2\n"
GOOD = "q1 Q0 a 1 0.9 good\nq1 Q0 b 2 0.5 good\nq2 Q0 c 1 0.8 good\nq2 Q0 a 2 0.3 good\n"
POOR = "q1 Q0 b 1 0.9 poor\nq1 Q0 a 2 0.5 poor\n"
"""By hand: good is perfect (RR 1 and 1), poor has RR 1/2 for q1 and does not answer q2."""


@pytest.fixture
def small(tmp_path, monkeypatch):
    for name, text in (("qrels.txt", QRELS), ("good.run", GOOD), ("poor.run", POOR)):
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def cells(out):
    """Return a drawn table as {first cell: other cells}, the notes below it left aside."""
    table = re.split(r"^\d+ (?:query|queries);", out, flags=re.MULTILINE)[0]
    return {row[0]: row[1:] for row in (line.split() for line in table.splitlines()) if len(row) > 1}


def test_table_has_the_means_of_trec_eval(rankscope, graded, golden_scores):
    done = rankscope("evaluate", graded / "qrels.txt", graded / "run.txt", "-m", MEASURES)
    assert done.code == 0
    wanted = golden_scores("graded")["all"]
    assert cells(done.out)["run"] == [wanted[name] for name in TREC_NAMES.values()]


def test_per_query_table_has_the_scores_of_trec_eval(rankscope, graded, golden_scores):
    done = rankscope("evaluate", graded / "qrels.txt", graded / "run.txt", "-m", MEASURES, "--per-query")
    shown = cells(done.out)
    for query, wanted in golden_scores("graded").items():
        if query != "all":
            assert shown[query] == [wanted[name] for name in TREC_NAMES.values()]


def test_default_measures(rankscope, graded):
    done = rankscope("evaluate", graded / "qrels.txt", graded / "run.txt")
    assert done.out.split("\n")[0].split() == ["run", "nDCG@10", "RR@10", "AP", "R@100", "P@10", "Judged@10"]


def test_best_of_several_runs_is_marked(rankscope, small):
    done = rankscope("evaluate", "qrels.txt", "good.run", "poor.run", "-m", "RR")
    assert cells(done.out)["good"] == ["1.0000*"]
    assert cells(done.out)["poor"] == ["0.2500"]  # (1/2 + 0) / 2
    assert "* the best value" in done.out
    assert "poor: 1 query not answered (counted as 0)" in done.out


def test_where_lower_is_better_the_lowest_is_marked(rankscope, small):
    (small / "other.run").write_text("q1 Q0 b 1 2 x\nq1 Q0 a 2 1 x\nq2 Q0 a 1 1 x\n")
    done = rankscope("evaluate", "qrels.txt", "good.run", "other.run", "-m", "FirstRel")
    assert [row[-1] for row in (cells(done.out)["good"], cells(done.out)["other"])] == ["1.0000*", "1.5000"]


FINDS_LESS = "q1 Q0 a 1 2 x\nq2 Q0 x 1 1 x\n"
FINDS_ALL = "q1 Q0 x 1 2 x\nq1 Q0 a 2 1 x\nq2 Q0 x 1 2 x\nq2 Q0 c 2 1 x\n"


def test_the_run_that_finds_less_is_not_the_best_by_first_rank(rankscope, small):
    """By hand: less finds a at rank 1 and nothing for q2; more finds both, each at rank 2."""
    (small / "less.run").write_text(FINDS_LESS)
    (small / "more.run").write_text(FINDS_ALL)
    command = ("evaluate", "qrels.txt", "less.run", "more.run", "-m", "FirstRel MeanRel RR")
    done = rankscope(*command)
    assert "less   1.0000 (n=1)   1.0000 (n=1)   0.5000\n" in done.out
    assert "more   2.0000 (n=2)   2.0000 (n=2)   0.5000\n" in done.out
    assert "no best FirstRel, MeanRel: not over the same queries, so that a run could win by finding less" in done.out
    assert "*" not in done.out
    assert "| less | 1.0000 (n=1) | 1.0000 (n=1) | 0.5000 |" in rankscope(*command, "--format", "markdown").out
    lines = rankscope(*command, "--format", "csv").out.splitlines()
    assert lines[:2] == ["run,FirstRel,FirstRel n,MeanRel,MeanRel n,RR", "less,1.0,1,1.0,1,0.5"]
    first = json.loads(rankscope(*command, "--format", "jsonl").out.splitlines()[0])
    assert first == {"run": "less", "FirstRel": 1, "MeanRel": 1, "RR": 0.5, "FirstRel n": 1, "MeanRel n": 1}
    stored = json.loads(rankscope(*command, "--format", "json").out)
    assert [run["n"] for run in stored["runs"]] == [
        {"FirstRel": 1, "MeanRel": 1, "RR": 2},
        {"FirstRel": 2, "MeanRel": 2, "RR": 2},
    ]
    rankscope(*command, "-o", "report.html")
    page = (small / "report.html").read_text("utf-8")
    assert "1.0000 (n=1)" in page
    assert "n: how many queries the mean is over" in page


def test_no_verdict_by_a_rank_that_one_of_the_two_does_not_have(rankscope, small):
    (small / "less.run").write_text(FINDS_LESS)
    (small / "more.run").write_text(FINDS_ALL)
    done = rankscope("compare", "qrels.txt", "less.run", "more.run", "-m", "FirstRel", "--fail-if-worse")
    assert done.code == 2
    told = " ".join(done.out.split())
    assert "Nothing can be recommended: more and less are not comparable" in told
    assert "less finds nothing for 1 query where the other one does" in told


def test_equal_runs_are_not_marked(rankscope, small):
    (small / "same.run").write_text(GOOD)
    done = rankscope("evaluate", "qrels.txt", "good.run", "same.run", "-m", "RR")
    assert "*" not in done.out


def test_many_measures_stand_below_one_another(rankscope, small):
    done = rankscope("evaluate", "qrels.txt", "good.run", "poor.run", "--profile", "beir")
    assert done.out.split("\n")[0].split() == ["measure", "good", "poor"]
    # (1/3 + 2/3)/2; poor: 1/3, q2 is skipped, so that the means are over different queries
    assert cells(done.out)["P@3"] == ["0.5000", "(n=2)", "0.3333", "(n=1)"]


def test_counts_have_no_decimals(rankscope, small):
    done = rankscope("evaluate", "qrels.txt", "good.run", "-m", "NumRet NumRel RR")
    assert cells(done.out)["good"] == ["4", "3", "1.0000"]


def test_warnings_go_to_stderr_and_data_to_stdout(rankscope, small):
    done = rankscope("evaluate", "qrels.txt", "poor.run", "-m", "RR", "--format", "csv")
    assert done.out == "run,RR\npoor,0.25\n"
    assert done.err == "warning: poor does not answer 1 of 2 queries: they score 0 and count\n"


def test_json_follows_its_schema_and_has_full_precision(rankscope, small):
    done = rankscope("evaluate", "qrels.txt", "good.run", "poor.run", "-m", "RR P@3 FirstRel", "--format", "json")
    record = json.loads(done.out)
    jsonschema.validate(record, json.loads(SCHEMA.read_text()))
    good, poor = record["runs"]
    assert good["mean"] == {"RR": 1.0, "P@3": (1 / 3 + 2 / 3) / 2, "FirstRel": 1.0}
    assert poor["queries"] == {
        "q1": {"RR": 0.5, "P@3": 1 / 3, "FirstRel": 2.0},
        "q2": {"RR": 0.0, "P@3": 0.0, "FirstRel": None},
    }
    assert poor["counts"]["missing"] == 1
    assert poor["counts"]["undefined"] == {"RR": 0, "P@3": 0, "FirstRel": 1}
    assert record["policies"]["missing"] == "zero"
    assert record["qrels"]["path"] == "qrels.txt"
    assert re.fullmatch(r"[0-9a-f]{64}", good["sha256"])


def test_json_means_round_to_those_of_trec_eval(rankscope, graded, golden_scores):
    done = rankscope("evaluate", graded / "qrels.txt", graded / "run.txt", "-m", MEASURES, "--format", "json")
    record = json.loads(done.out)
    jsonschema.validate(record, json.loads(SCHEMA.read_text()))
    wanted = golden_scores("graded")
    for query, scores in {"all": record["runs"][0]["mean"], **record["runs"][0]["queries"]}.items():
        assert {name: f"{score:.4f}" for name, score in scores.items()} == {
            name: wanted[query][trec] for name, trec in TREC_NAMES.items()
        }


def test_jsonl_per_run_and_per_query(rankscope, small):
    arguments = ("evaluate", "qrels.txt", "good.run", "poor.run", "-m", "RR", "--format", "jsonl")
    assert [json.loads(line) for line in rankscope(*arguments).out.splitlines()] == [
        {"run": "good", "RR": 1.0},
        {"run": "poor", "RR": 0.25},
    ]
    assert json.loads(rankscope(*arguments, "-q").out.splitlines()[2]) == {"run": "poor", "query": "q1", "RR": 0.5}


def test_csv_per_query_has_full_precision(rankscope, small):
    done = rankscope("evaluate", "qrels.txt", "good.run", "-m", "P@3 FirstRel", "--format", "csv", "--per-query")
    rows = list(csv.DictReader(io.StringIO(done.out)))
    assert rows == [
        {"query": "q1", "P@3": repr(1 / 3), "FirstRel": "1.0"},
        {"query": "q2", "P@3": repr(2 / 3), "FirstRel": "1.0"},
    ]


def test_markdown_marks_the_best_in_bold(rankscope, small):
    done = rankscope("evaluate", "qrels.txt", "good.run", "poor.run", "-m", "RR", "--format", "markdown")
    assert "| run | RR |\n| --- | ---: |\n| good | **1.0000** |\n| poor | 0.2500 |\n" in done.out


def test_latex_is_one_table_to_paste(rankscope, small):
    done = rankscope("evaluate", "qrels.txt", "poor.run", "good.run", "-m", "RR", "--format", "latex")
    assert "\\begin{tabular}{llr}" in done.out
    assert "a & good & \\textbf{1.0000} \\\\\nb & poor & 0.2500 \\\\" in done.out
    assert "Fewer than 10 queries get no verdict." in done.out
    given = rankscope(
        "evaluate", "qrels.txt", "poor.run", "good.run", "-m", "RR", "--format", "latex", "--order", "given"
    )
    assert "a & poor & 0.2500" in given.out
    whole = rankscope("evaluate", "qrels.txt", "poor.run", "good.run", "-m", "RR", "--format", "latex", "--details")
    assert whole.out.startswith("\\documentclass")


@pytest.mark.parametrize(("version", "profile"), [("10.0", "trec_eval-10"), ("9.0.8", "trec_eval-9")])
def test_trec_text_is_that_of_trec_eval(rankscope, graded, version, profile):
    done = rankscope(
        "evaluate", graded / "qrels.txt", graded / "run.txt", "--format", "trec", "--profile", profile, "-m", "all_trec",
        "-q", "--complete", "--min-rel", 2,
    )  # fmt: skip
    assert done.out == (graded / f"trec_eval-{version}.qcl2.txt").read_text()


def test_trec_text_of_several_runs_follows_one_another(rankscope, small):
    done = rankscope("evaluate", "qrels.txt", "good.run", "poor.run", "--format", "trec", "-m", "runid", "--complete")
    assert done.out == "runid                 \tall\tgood\nrunid                 \tall\tpoor\n"


def test_trec_text_goes_with_profiles_of_trec_eval_only(rankscope, small):
    done = rankscope("evaluate", "qrels.txt", "good.run", "--format", "trec", "--profile", "beir")
    assert done.code == 2
    assert "--format trec goes with --profile trec_eval-9 or trec_eval-10, not beir" in done.err


@pytest.mark.parametrize(
    ("name", "start"),
    [
        ("s.json", "{"),
        ("s.jsonl", '{"run"'),
        ("s.csv", "run,RR"),
        ("s.md", "| run"),
        ("s.tex", "% needs"),
        ("s.txt", "runid"),
    ],
)
def test_output_file_sets_the_format(rankscope, small, name, start):
    measures = "runid" if name == "s.txt" else "RR"
    done = rankscope("evaluate", "qrels.txt", "good.run", "-m", measures, "-o", name)
    assert (done.code, done.out) == (0, "")
    assert (small / name).read_text().startswith(start)


def test_table_can_be_written_to_a_file(rankscope, small):
    rankscope("evaluate", "qrels.txt", "good.run", "-m", "RR", "-o", "scores.out", "--format", "table")
    assert cells((small / "scores.out").read_text())["good"] == ["1.0000"]


def test_unknown_extension_says_what_is_known(rankscope, small):
    done = rankscope("evaluate", "qrels.txt", "good.run", "-o", "scores.xyz")
    assert done.code == 2
    assert (
        done.err
        == "error: .xyz is not written here: 'scores.xyz'\nhint: use .json, .jsonl, .csv, .md, .tex, .html, .txt, .xml\n"
    )


def test_folder_that_is_not_there(rankscope, small):
    done = rankscope("evaluate", "qrels.txt", "good.run", "-o", "nowhere/scores.json")
    assert (done.code, done.err) == (2, "error: cannot write nowhere/scores.json: there is no folder nowhere\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-m", "ndgc@10"], "did you mean nDCG"),
        (["-m", "P"], "P needs a cut-off"),
        (["--format", "jsn"], "did you mean json"),
        (["--profile", "bier"], "did you mean beir?"),
        (["--ties", "tre"], "did you mean trec?"),
        (["--missing", "none"], "missing = 'none' is not one of zero, skip, error"),
        (["--run-format", "trc"], "did you mean trec?"),
        (["--depth", "0"], "depth = 0: it counts ranks"),
        (["--depth", "x"], "invalid int value"),
        (["--per-qeury"], "did you mean --per-query?"),
        (["--strict", "--lenient"], "not allowed with argument"),
        (["--complete", "--missing", "skip"], "--complete and --missing skip contradict one another"),
        (["--run-columns", "score"], "columns 'score' are not ROLE=NAME,..."),
        (["--min-rel", "-1"], "min_rel = -1.0"),
    ],
)
def test_mistakes_get_a_message_that_helps(rankscope, small, arguments, message):
    done = rankscope("evaluate", "qrels.txt", "good.run", *arguments)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("error: ")
    assert message in done.err


def test_missing_file_suggests_its_neighbour(rankscope, small):
    done = rankscope("evaluate", "qrels.txt", "god.run")
    assert done.code == 2
    assert "did you mean good.run" in done.err


def test_bad_lines_stop_unless_lenient(rankscope, small):
    (small / "bad.run").write_text(GOOD + "q1 Q0 z\nq1 Q0 z 1 high bad\n")
    strict = rankscope("evaluate", "qrels.txt", "bad.run", "-m", "RR")
    assert (strict.code, strict.out) == (2, "")
    assert "bad.run:5: 3 fields where 6 are needed" in strict.err
    assert "bad.run:6: score 'high' is not a number" in strict.err
    lenient = rankscope("evaluate", "qrels.txt", "bad.run", "-m", "RR", "--lenient", "--format", "csv")
    assert (lenient.code, lenient.out) == (0, "run,RR\nbad,1.0\n")
    assert lenient.err.startswith("warning: 2 bad lines of bad.run were skipped")


def test_columns_can_be_named(rankscope, small):
    (small / "stars.csv").write_text("question,page,stars\nq1,a,1\nq1,b,0\n")
    done = rankscope(
        "evaluate", "stars.csv", "good.run", "-m", "RR", "--format", "csv",
        "--qrels-columns", "query=question,doc=page,grade=stars",
    )  # fmt: skip
    assert done.out == "run,RR\ngood,1.0\n"


def test_policies_reach_the_evaluation(rankscope, small):
    (small / "tied.run").write_text("q1 Q0 a 1 1 t\nq1 Q0 b 2 1 t\n")
    scores = {
        ties: rankscope(
            "evaluate", "qrels.txt", "tied.run", "-m", "RR", "--ties", ties, "--missing", "skip", "--format", "csv"
        ).out
        for ties in ("trec", "given", "ascending")
    }
    assert scores == {"trec": "run,RR\ntied,0.5\n", "given": "run,RR\ntied,1.0\n", "ascending": "run,RR\ntied,1.0\n"}


def test_runs_of_one_name_are_told_apart_by_their_paths(rankscope, small):
    (small / "a").mkdir()
    (small / "a" / "good.run").write_text(GOOD)
    done = rankscope("evaluate", "qrels.txt", "good.run", "a/good.run", "-m", "RR", "--format", "csv")
    assert [line.split(",")[0] for line in done.out.splitlines()] == ["run", "good.run", "a/good.run"]


def test_run_from_standard_input(start, small):
    done = start("evaluate", "qrels.txt", "-", "-m", "RR", "--format", "csv", stdin=gzip.compress(GOOD.encode()))
    assert (done.code, done.out) == (0, "run,RR\nstdin,1.0\n")


def test_standard_input_cannot_be_read_twice(rankscope, small):
    done = rankscope("evaluate", "-", "-")
    assert done.err == "error: standard input (-) is given twice\nhint: read one of the files by its path\n"


def test_no_overlap_shows_ids_of_both_sides(rankscope, small):
    (small / "other.run").write_text("topic-1 Q0 a 1 1 t\n")
    done = rankscope("evaluate", "qrels.txt", "other.run")
    assert done.code == 2
    assert "'q1', 'q2'" in done.err
    assert "'topic-1'" in done.err
