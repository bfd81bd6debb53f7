"""`rankscope diagnose` and `rankscope evaluate --bands` from the command line: exit codes, text, JSON, real files."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import jsonschema
import pytest

import rankscope as rs
from rankscope import __version__
from rankscope.analysis.diagnose import Diagnosis
from rankscope.records import from_builtins, json_schema, to_builtins

SHARED = Path(__file__).parents[2].parent / "shared" / "data"
N_QUERIES = 50


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Write qrels of 50 queries with three relevant docs and two others, and return a function that writes a run."""
    monkeypatch.chdir(tmp_path)
    grades = {"r0": 2, "r1": 1, "r2": 1, "b0": 0, "b1": 0}
    lines = [f"{query} 0 {doc} {grade}\n" for query in range(N_QUERIES) for doc, grade in grades.items()]
    Path("qrels.txt").write_text("".join(lines))

    def write(name: str, *docs: str) -> str:
        rows = [f"{q} Q0 {doc} {i} {-i} tag\n" for q in range(N_QUERIES) for i, doc in enumerate(docs, 1)]
        Path(name).write_text("".join(rows))
        return name

    return write


@pytest.fixture
def shared_data() -> Path:
    if not SHARED.is_dir():
        pytest.skip("the folder of real files, shared/data beside the repository, is not here")
    return SHARED


def record_of(done) -> dict:
    """Return the JSON that was printed, after checking it against the schema, and that it can be read back."""
    record = json.loads(done.out)
    jsonschema.Draft202012Validator(json_schema(Diagnosis)).validate(record)
    diagnosis = from_builtins(Diagnosis, record)
    assert json.loads(json.dumps(to_builtins(diagnosis))) == record
    return record


def test_schema_is_a_schema():
    jsonschema.Draft202012Validator.check_schema(json_schema(Diagnosis))


def test_nothing_to_complain_about_exits_0(files, rankscope):
    done = rankscope("diagnose", "qrels.txt", files("good.run", "r0", "r1", "r2", "b0"))
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert lines[0] == "Diagnosis of good · nDCG@10 · 50 queries"
    answer = " ".join(" ".join(lines[2:4]).split())
    assert answer.startswith("VERDICT These queries show nothing wrong with good. nDCG@10 is 1.0000 over 50 queries.")
    assert "What usually helps" not in done.out


def test_a_finding_exits_1(files, rankscope):
    done = rankscope("diagnose", "qrels.txt", files("bad.run", "b0", "b1", "r0", "r1", "r2"))
    assert (done.code, done.err) == (1, "")
    lines = done.out.splitlines()
    at = lines.index("  Serious: bad result first: the doc at rank 1 was judged and found non-relevant")
    assert lines[at + 1 : at + 3] == [
        "  - 50 of 50 queries (100.0%)",
        "  - query 0: first relevant doc at rank 3; 2 of the first 3 judged non-relevant",
    ]
    at = lines.index("  What usually helps")
    assert lines[at + 1].startswith("  1. Poor order (50 of 50 queries): the top has the right docs in the wrong order")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--k", "0"], "'0' is not a whole number from 1 up"),
        (["--pool-cuts", "10,x"], "'x' is not a whole number from 1 up"),
        (["--format", "xml"], "--format xml is not one of text, markdown, html, latex, json"),
        (["--min-rel", "9"], "no query has a doc of grade 9 or better"),
        (["--profile", "nobody"], "there is no profile 'nobody'"),
    ],
)
def test_what_could_not_run_exits_2(files, rankscope, arguments, message):
    done = rankscope("diagnose", "qrels.txt", files("good.run", "r0"), *arguments)
    assert (done.code, done.out) == (2, "")
    assert message in done.err


def test_a_file_that_is_not_there_exits_2(files, rankscope):
    assert rankscope("diagnose", "qrels.txt", "nowhere.run").code == 2


def test_json(files, rankscope):
    done = rankscope("diagnose", "qrels.txt", files("bad.run", "b0", "b1", "r0"), "--format", "json")
    assert done.code == 1
    record = record_of(done)
    assert (record["rankscope"], record["run"], record["k"], record["is_fine"]) == (__version__, "bad", 10, False)
    assert record["positions"]["overall"] == {
        "found": 50,
        "total": 150,
        "average": 3.0,
        "best": 3,
        "worst": 3,
        "in_top": {"3": 50, "5": 50, "10": 50},
    }
    assert record["worst"][0]["missed"] == [
        {"doc": "r1", "grade": 1, "rank": None, "title": ""},
        {"doc": "r2", "grade": 1, "rank": None, "title": ""},
    ]
    assert sum(record["losses"].values()) == pytest.approx(1)


def test_json_of_a_good_run_exits_0(files, rankscope):
    done = rankscope("diagnose", "qrels.txt", files("good.run", "r0", "r1", "r2"), "--format", "json")
    assert done.code == 0
    assert record_of(done)["findings"] == []


def test_json_where_the_run_answers_little(tmp_path, rankscope, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("qrels.txt").write_text("1 0 a 1\n2 0 a 1\n3 0 a 0\n")
    Path("a.run").write_text("1 Q0 x 1 1 t\n")
    record = record_of(rankscope("diagnose", "qrels.txt", "a.run", "--format", "json"))
    assert (record["n_queries"], record["n_other_queries"]) == (2, 1)
    assert record["positions"]["overall"]["average"] is None


def test_cuts_and_policies_are_followed(files, rankscope):
    run = files("bad.run", "b0", "b1", "r0")
    done = rankscope(
        "diagnose", "qrels.txt", run, "--k", 2, "--pool-cuts", "2,3", "--min-rel", 2, "--format", "json"
    )  # fmt: skip
    record = record_of(done)
    assert (record["k"], record["min_rel"], record["measure"]) == (2, 2.0, "nDCG@2")
    assert [cut["depth"] for cut in record["pool"]] == [2, 3]
    assert record["positions"]["overall"]["total"] == 50


def test_to_a_file(files, rankscope):
    run = files("bad.run", "b0", "r0")
    assert rankscope("diagnose", "qrels.txt", run, "-o", "d.json").out == ""
    assert json.loads(Path("d.json").read_text())["run"] == "bad"
    rankscope("diagnose", "qrels.txt", run, "-o", "d.txt", "--format", "text")
    assert "What usually helps" in Path("d.txt").read_text()


def test_positions_of_every_query(files, rankscope):
    done = rankscope("diagnose", "qrels.txt", files("bad.run", "b0", "r0"), "-q")
    rows = [line.split() for line in done.out.splitlines() if line.startswith("  49 ")]
    assert rows == [["49", "1", "3", "2.0", "2", "2", "1", "1", "1"]]


def test_a_run_from_standard_input(files, start):
    text = Path(files("bad.run", "b0", "r0")).read_bytes()
    assert start("diagnose", "qrels.txt", "-", stdin=text).code == 1


def test_the_demo(cookbook, rankscope):
    for run in ("bm25.run", "dense.run", "hybrid.run"):
        record_of(rankscope("diagnose", "qrels.txt", run, "--format", "json"))
    record = record_of(rankscope("diagnose", "qrels.txt", "bm25.run", "--format", "json"))
    assert "not_answered" in {finding["code"] for finding in record["findings"]}


# ---------------------------------------------------------------------------------------- real files


def test_scifact(shared_data, rankscope):
    """SciFact's qrels hold relevant docs only, mostly one per query; the runs go down to rank 100."""
    qrels = shared_data / "collections/scifact/qrels.trec"
    scores = {}
    for name in ("rrf-bm25-minilm", "use-multilingual-v3"):
        run = shared_data / f"runs/scifact-local/runs/{name}.gz"
        scores[name] = record_of(rankscope("diagnose", qrels, run, "--format", "json"))
    best, weak = scores["rrf-bm25-minilm"], scores["use-multilingual-v3"]
    assert round(best["losses"]["score"], 4) == 0.7143  # shared/data/README.md
    codes = {finding["code"]: finding["severity"] for finding in best["findings"]}
    assert codes["relevant_only"] == "remark"
    assert codes["few_relevant"] == "remark"
    assert "unjudged" not in codes
    assert "bad_at_rank_1" not in codes
    assert "lost inside the top 10" in best["summary"]
    assert "Work on retrieval first" in weak["summary"]  # R@100 is 0.75
    assert best["pool"][-1]["depth"] == 100


def test_trec_covid(shared_data, rankscope):
    """Deep judgments: dozens of relevant docs per query, so a low recall at 10 alone is no finding."""
    folder = shared_data / "runs/trec-covid-round1"
    for path in sorted((folder / "runs").iterdir()):
        record = record_of(rankscope("diagnose", folder / "qrels.trec.gz", path, "--format", "json"))
        assert record["n_queries"] == 30
        assert sum(record["losses"].values()) == pytest.approx(1)
        assert sum(band["share"] for band in record["relevant_docs"]) == pytest.approx(1)
        assert "relevant_only" not in {finding["code"] for finding in record["findings"]}
    hopeless = record_of(
        rankscope("diagnose", folder / "qrels.trec.gz", folder / "runs/lda400s2000.gz", "--format", "json")
    )
    serious = {finding["code"] for finding in hopeless["findings"] if finding["severity"] == "serious"}
    assert {"zero_hits", "pool_ceiling", "bad_at_rank_1", "unjudged"} <= serious


# ---------------------------------------------------------------------------------------- bands beside scores


def test_words_in_the_table(files, rankscope):
    run = files("good.run", "r0", "r1", "r2")
    done = rankscope("evaluate", "qrels.txt", run, "-m", "nDCG@10 P@10", "--bands", "podcast")
    assert done.code == 0
    assert "1.0000 excellent, 0.8-1" in done.out
    assert "0.3000 below target, 0-0.6" in done.out
    assert "words: bands podcast (the podcast search's words" in done.out


def test_measures_without_words_stay_as_they_are(files, rankscope):
    done = rankscope("evaluate", "qrels.txt", files("good.run", "r0"), "-m", "AP", "--bands", "rag")
    assert "0.3333\n" in done.out


def test_words_in_markdown_of_two_runs(files, rankscope):
    runs = [files("good.run", "r0", "r1", "r2"), files("bad.run", "b0", "r1")]
    done = rankscope("evaluate", "qrels.txt", *runs, "-m", "nDCG@10", "--bands", "rag", "--format", "markdown")
    assert "| good | **1.0000 excellent, 0.9-1** |" in done.out
    assert "- words: bands rag" in done.out


def test_words_in_csv_have_columns_of_their_own(files, rankscope):
    run = files("good.run", "r0", "r1", "r2")
    done = rankscope("evaluate", "qrels.txt", run, "-m", "nDCG@10 AP", "--bands", "rag", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(done.out)))
    assert rows == [{"run": "good", "nDCG@10": "1.0", "nDCG@10 band": "excellent, 0.9-1", "AP": "1.0"}]
    done = rankscope("evaluate", "qrels.txt", run, "-q", "-m", "nDCG@10", "--bands", "rag", "--format", "csv")
    assert next(csv.DictReader(io.StringIO(done.out)))["nDCG@10 band"] == "excellent, 0.9-1"


def test_without_bands_nothing_changes(files, rankscope):
    run = files("good.run", "r0")
    done = rankscope("evaluate", "qrels.txt", run, "-m", "nDCG@10", "--format", "csv")
    assert done.out.splitlines()[0] == "run,nDCG@10"


@pytest.mark.parametrize("form", ["jsonl", "trec"])
def test_formats_for_programs_have_no_words(files, rankscope, form):
    done = rankscope("evaluate", "qrels.txt", files("good.run", "r0"), "--bands", "rag", "--format", form)
    assert done.code == 2
    assert f"--bands does not go with --format {form}" in done.err


def test_json_and_html_have_the_words(files, rankscope):
    command = ("evaluate", "qrels.txt", files("good.run", "r0"), "--bands", "doctor-search", "-m", "P@1 RR Judged@1")
    stored = json.loads(rankscope(*command, "--format", "json").out)
    assert stored["bands"] == "doctor-search"
    assert stored["runs"][0]["words"] == {"P@1": "perfect", "RR": "perfect"}
    assert stored["runs"][0]["in_words"] == "perfect precision@1, perfect reciprocal rank"
    assert rs.Scores.from_json(json.dumps(stored)) == rs.Scores.from_json(
        rankscope(*command[:3], *command[5:], "--format", "json").out
    )
    assert rankscope(*command, "-o", "words.html").code == 0
    page = Path("words.html").read_text("utf-8")
    assert "In words (bands doctor-search)" in page
    assert "good: perfect precision@1, perfect reciprocal rank" in page
    assert "perfect, 1" in page
    shown = rankscope(*command).out
    assert "good: perfect precision@1, perfect reciprocal rank" in shown


def test_a_report_of_saved_scores_says_it_in_words(files, rankscope):
    command = ("evaluate", "qrels.txt", files("good.run", "r0"), "-m", "P@1 RR")
    assert rankscope(*command, "-o", "scores.json").code == 0
    assert rankscope("report", "scores.json", "--bands", "doctor-search", "-o", "report.md").code == 0
    text = Path("report.md").read_text("utf-8")
    assert "good: perfect precision@1, perfect reciprocal rank" in text
    refused = rankscope("report", "scores.json", "--chart", "trend", "--bands", "rag", "-o", "trend.svg")
    assert (refused.code, "--bands is for reports" in refused.err) == (2, True)


def test_diagnose_says_it_in_words(files, rankscope):
    command = ("diagnose", "qrels.txt", files("good.run", "r0"), "--bands", "doctor-search", "--k", "1")
    # one of three relevant docs is found
    line = "perfect precision@1, poor recall@1, perfect reciprocal rank, perfect nDCG@1"
    assert f"in words (bands doctor-search): {line}" in " ".join(rankscope(*command).out.split())
    assert json.loads(rankscope(*command, "--format", "json").out)["in_words"] == line


def test_bands_from_a_file(files, rankscope):
    Path("ours.toml").write_text('[bands]\nnDCG = [[0, 0.5, "weak"], [0.5, 1, "fine"]]\n')
    done = rankscope(
        "evaluate", "qrels.txt", files("good.run", "r0", "r1", "r2"), "--bands", "ours.toml", "-m", "nDCG@5"
    )
    assert "1.0000 fine, 0.5-1" in done.out
    Path("ours.toml").write_text('[bands]\nnDCG = [[0, 0.4, "weak"], [0.5, 1, "fine"]]\n')
    done = rankscope("evaluate", "qrels.txt", "good.run", "--bands", "ours.toml")
    assert done.code == 2
    assert done.err == (
        "error: ours: nDCG: there is no word from 0.4 to 0.5, between 'weak' and 'fine'\n"
        "hint: end 'weak' at 0.5, or start 'fine' at 0.4\n"
    )


def test_many_measures_with_words_stand_below_one_another(files, rankscope):
    run = files("good.run", "r0", "r1", "r2")
    done = rankscope("evaluate", "qrels.txt", run, "--bands", "rag")
    assert done.out.splitlines()[0].split() == ["measure", "good"]


def test_queries_are_divided_by_what_is_known_of_them(rankscope, files):
    run = files("some.run", "r0", "r1", "r2")
    late = "".join(
        f"{q} Q0 {doc} {i} {-i} tag\n"
        for q in range(N_QUERIES)
        for i, doc in enumerate(("r0", "r1", "r2") if q < 40 else ["b0"] * (q % 2) + ["b1", "r0"], 1)
    )
    Path(run).write_text(late)
    rows = [{"_id": str(q), "text": "x", "clarity": "clear" if q < 40 else "vague"} for q in range(N_QUERIES)]
    Path("queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = rankscope("diagnose", "qrels.txt", run, "--queries", "queries.jsonl")
    assert done.code == 1
    lines = [line.split() for line in done.out.splitlines()]
    assert ["clear", "40", "1.0000", "1.0000"] in [line[:4] for line in lines]
    assert ["vague", "10"] in [line[:2] for line in lines]
    assert "clarity vague: nDCG@10 is 0." in done.out
    same = rankscope("diagnose", "qrels.txt", run, "--queries", "queries.jsonl", "--by", "clarity", "--format", "json")
    record = json.loads(same.out)
    jsonschema.validate(record, json_schema(Diagnosis))
    assert [one["value"] for one in record["slices"]] == ["clear", "vague"]
    assert "weak_slice" in [finding["code"] for finding in record["findings"]]
    assert "by is given, but no queries" in rankscope("diagnose", "qrels.txt", run, "--by", "clarity").err
