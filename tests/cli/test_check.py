"""`rankscope check`: exit codes, what is printed and written, and what is refused."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import jsonschema
import pytest

import rankscope as rs
from rankscope.analysis.targets import TargetsReport
from rankscope.experiment.runner import run_project
from rankscope.records import json_schema

sys.path.insert(0, str(Path(__file__).parents[1]))
from small_project import small_project, systems

QRELS = "q1 0 a 2\nq1 0 b 0\nq2 0 c 1\n"
RUN = "q1 Q0 x 1 3.0 t\nq1 Q0 b 2 2.0 t\nq1 Q0 a 3 1.0 t\nq2 Q0 c 1 1.0 t\n"
PASSES = '[[targets]]\nname = "found"\nquery = "q1"\ndoc = "a"\ntop = 3\nweight = 3\n'
FAILS = '[[targets]]\nname = "first"\nquery = "q1"\ndoc = "a"\ntop = 1\nowner = "us"\nreason = "it matters"\n'
QUARANTINED = FAILS.replace("first", "later") + "quarantine_until = 2026-12-31\n"
TODAY = ("--today", "2026-11-16")


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Go to a folder with qrels, a run, docs and queries, and return a function that writes targets."""
    monkeypatch.chdir(tmp_path)
    Path("qrels.txt").write_text(QRELS)
    Path("new.run").write_text(RUN)
    docs = [{"id": name, "title": f"The {name}", "source": "s"} for name in "abcx"]
    Path("docs.jsonl").write_text("".join(json.dumps(doc) + "\n" for doc in docs))
    Path("queries.tsv").write_text("q1\twhere is a\nq2\twhere is c\n")

    def write(*targets: str, name: str = "t.toml") -> tuple[str, ...]:
        Path(name).write_text("".join(targets))
        return ("check", "qrels.txt", "new.run", "--targets", name, *TODAY)

    return write


def test_all_pass_with_exit_code_0(files, rankscope):
    done = rankscope(*files(PASSES))
    assert (done.code, done.err) == (0, "")
    assert "The only target passes." in done.out
    assert "nDCG@10" in done.out  # the graded measures stand beside it


def test_a_quarantine_that_can_end_is_said_everywhere(files, rankscope, monkeypatch):
    monkeypatch.setenv("COLUMNS", "300")
    arguments = files(PASSES + "quarantine_until = 2026-12-31\n", QUARANTINED)
    words = "“found” passes: its quarantine until 2026-12-31 can end."
    assert words in rankscope(*arguments).out
    assert "in quarantine until 2026-12-31; it passes, so the quarantine can end" in " ".join(
        rankscope(*arguments, "--details").out.split()
    )
    for name in ("report.md", "report.html"):
        rankscope(*arguments, "-o", name)
        assert words in Path(name).read_text()


def test_a_target_that_fails_gives_1_and_says_what_is_there_instead(files, rankscope):
    done = rankscope(*files(PASSES, FAILS), "--docs", "docs.jsonl", "--queries", "queries.tsv")
    assert done.code == 1
    for words in (
        "1 of 2 targets fails.",
        "1 passed, 1 failed, 0 quarantined; 75% of the weight passed.",
        "✗ first",
        "where is a (q1)",
        "The a (a) is at rank 3, but must be in the top 1.",
        "1. The x (x), not judged",
        "2. The b (b), grade 0",
        "3. The a (a), grade 2",
        "why: it matters · owner: us",
    ):
        assert words in done.out
    assert done.out.index("1 of 2 targets fails.") < done.out.index("✗ first") < done.out.index("Graded measures")


def test_a_quarantined_target_is_shown_and_does_not_fail(files, rankscope):
    done = rankscope(*files(PASSES, QUARANTINED))
    assert done.code == 0
    assert "No target fails; 1 of 2 is in quarantine." in done.out
    assert "in quarantine until 2026-12-31" in done.out
    later = rankscope(*files(PASSES, QUARANTINED)[:-1], "2027-01-01")
    assert later.code == 1
    assert "The quarantine of “later” ended on 2026-12-31: it counts again." in later.out


def test_every_target_is_listed_with_details(files, rankscope):
    arguments = files(PASSES, FAILS)
    assert "found" not in rankscope(*arguments).out
    assert re.search(r"found +new +passed +a is at rank 3", rankscope(*arguments, "--details").out)


def test_several_runs_are_counted_each(files, rankscope):
    Path("old.run").write_text(RUN.replace(" 3.0 ", " 0.5 ").replace("a 3 1.0", "a 3 9.0"))
    arguments = files(PASSES, FAILS)
    done = rankscope(*arguments[:3], "old.run", *arguments[3:])
    assert done.code == 1
    assert "1 of 4 checks fails (2 targets, 2 runs)." in done.out
    assert re.search(r"new +1 +1 +0 +75%", done.out)
    assert re.search(r"old +0 +2 +0 +100%", done.out)


def test_with_many_runs_each_target_is_shown_once_and_the_best_run_first(files, rankscope):
    arguments = files(PASSES, FAILS)
    Path("good.run").write_text(RUN.replace("a 3 1.0", "a 3 9.0"))
    others = ["good.run"]
    for i in range(4):
        Path(f"other{i}.run").write_text(RUN)
        others.append(f"other{i}.run")
    done = rankscope(*arguments[:3], *others, *arguments[3:])
    assert "5 of 12 checks fail (2 targets, 6 runs)." in done.out
    assert "Nothing fails in 1 of 6 runs." in " ".join(done.out.split())
    assert done.out.count("✗ first") == 1
    assert "It fails in 5 of 6 runs." in done.out
    assert "new: a is at rank 3, but must be in the top 1" in done.out
    assert "and 2 more runs, below among all" in done.out
    assert done.out.index("good  ") < done.out.index("new  ") < done.out.index("other0  ")


@pytest.mark.parametrize(
    ("targets", "message"),
    [
        (PASSES.replace("top", "topp"), "error: t.toml:5: target number 1: unknown key 'topp'"),
        (PASSES.replace("q1", "q7"), "error: target 'found': query 'q7' is neither judged nor asked nor answered"),
        (PASSES.replace('"a"', '"aa"'), "error: target 'found': doc 'aa' is neither judged nor in any run"),
        ("[[targets]", "is not valid TOML"),
        ("", "t.toml holds no targets"),
    ],
)
def test_what_is_wrong_with_targets_gives_2(files, rankscope, targets, message):
    done = rankscope(*files(targets))
    assert (done.code, done.out) == (2, "")
    assert message in done.err


def test_what_is_wrong_with_files_gives_2(files, rankscope):
    arguments = files(PASSES)
    assert rankscope("check", "qrels.txt", "none.run", "--targets", "t.toml").code == 2
    assert rankscope("check", "qrels.txt", "new.run", "--targets", "none.toml").code == 2
    missing = rankscope("check", "qrels.txt", "new.run")
    assert (missing.code, "--targets FILE is missing" in missing.err) == (2, True)
    Path("other.run").write_text("q8 Q0 a 1 1.0 t\n")
    other = rankscope("check", "qrels.txt", "other.run", *arguments[3:])
    assert other.code == 2
    assert "none of the" in other.err


def test_json_is_the_record_and_follows_its_schema(files, rankscope):
    done = rankscope(*files(PASSES, FAILS, QUARANTINED), "--format", "json")
    assert done.code == 1
    data = json.loads(done.out)
    jsonschema.Draft202012Validator(json_schema(TargetsReport)).validate(data)
    assert data["counts"] == {"passed": 1, "failed": 1, "quarantined": 1, "share": 0.75}
    assert [result["outcome"] for result in data["results"]] == ["passed", "failed", "quarantined"]
    report = rs.TargetsReport.from_json(done.out)
    assert report.to_json() == rs.TargetsReport.from_json(report.to_json()).to_json()
    with pytest.raises(rs.OptionError, match="this is the JSON of TargetsReport, but what is wanted is that of Diag"):
        rs.Diagnosis.from_json(done.out)


def test_junit_has_one_case_for_each_target_and_run(files, rankscope):
    done = rankscope(*files(PASSES, FAILS, QUARANTINED), "--format", "junit")
    assert done.code == 1
    suite = ET.fromstring(done.out.encode()).find("testsuite")
    counts = {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped")}
    assert counts == {"tests": "3", "failures": "1", "errors": "0", "skipped": "1"}
    found, first, later = suite.findall("testcase")
    assert (found.get("classname"), found.get("name")) == ("rankscope.check.new", "found")
    assert not found.findall("failure")
    text = first.find("failure").text
    assert text.splitlines()[:2] == ["q1: a is at rank 3, but must be in the top 1", "  1. x, not judged"]
    assert "in quarantine until 2026-12-31" in later.find("skipped").get("message")


def test_a_junit_file_says_what_is_wrong_instead_of_what_was(files, rankscope):
    arguments = files(PASSES)
    assert rankscope(*arguments, "-o", "t.xml").code == 0
    Path("t.toml").write_text("[[targets]")
    assert rankscope(*arguments, "-o", "t.xml").code == 2
    assert "not valid TOML" in Path("t.xml").read_text()


@pytest.mark.parametrize("ending", [".html", ".md", ".json", ".txt", ".xml"])
def test_files_are_written_and_the_answer_is_said(files, rankscope, ending):
    done = rankscope(*files(PASSES, FAILS), "-o", f"report{ending}")
    assert (done.code, done.out) == (1, "")
    assert "1 of 2 targets fails." in done.err
    assert "rank 3" in Path(f"report{ending}").read_text()


def test_texts_of_others_do_no_harm(files, rankscope):
    evil = '<script>alert("1")</script>'
    Path("queries.tsv").write_text(f"q1\t{evil}\x1b[31m\nq2\tc\n")
    arguments = (*files(FAILS.replace('"first"', "'''<b>bold</b> \\\\| **x**'''")), "--queries", "queries.tsv")
    assert "\x1b" not in rankscope(*arguments).out
    page = rankscope(*arguments, "--format", "html").out
    assert evil not in page
    assert "<b>bold" not in page
    assert "style=" not in page
    assert "<b>bold" not in rankscope(*arguments, "--format", "markdown").out


def test_no_line_of_junit_begins_with_what_somebody_wrote(files, rankscope):
    """On standard output of a build, a line that begins with :: is a command of its server."""
    evil = FAILS.replace('"us"', '"x\\n::set-output name=a::b"').replace('"it matters"', '"y\\n::error::z"')
    lines = rankscope(*files(evil), "--format", "junit").out.splitlines()
    assert any("::set-output" in line for line in lines)
    assert not any(line.strip().startswith("::") for line in lines)


def test_help_teaches_with_examples(rankscope, capsys):
    with pytest.raises(SystemExit):
        rankscope("check", "--help")
    text = capsys.readouterr().out
    for words in ("[[targets]]", "examples:", "exit codes:", "quarantine_until"):
        assert words in text


class TestInAProject:
    """A project of four queries, whose system ranks d1, d2 and d0 for each."""

    @pytest.fixture
    def project(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        small = small_project(tmp_path, n_queries=4)
        small.add("def fixed(query):\n    return [('d1', 3.0), ('d2', 2.0), ('d0', 1.0)]\n")
        small.write(
            '[[targets]]\nname = "found"\nquery = "q0"\ndoc = "d0"\ntop = 3\n'
            '[[targets]]\nname = "first"\nquery = "q0"\ndoc = "d0"\ntop = 1\n' + systems("fixed")
        )
        run_project(tmp_path)
        return small

    def test_the_nearest_project_is_checked(self, project, rankscope, monkeypatch):
        done = rankscope("check")
        assert done.code == 1
        assert "1 of 2 targets fails." in done.out
        assert rankscope("check", project.folder).out == done.out
        assert rankscope("check", "rankscope.toml").out == done.out
        monkeypatch.chdir(project.folder / "small")
        assert rankscope("check").out == done.out

    def test_other_targets_may_be_given(self, project, rankscope):
        Path("other.toml").write_text('[[targets]]\nquery = "q0"\nnever = "d9"\n')
        assert rankscope("check", "--targets", "other.toml").code == 0
        assert rankscope("check", "--targets", "other.toml", "--only", "fixd").code == 2

    def test_nothing_to_check_is_not_passed(self, project, rankscope):
        project.write(systems("fixed"))
        done = rankscope("check")
        assert done.code == 2
        assert "rankscope.toml has no targets" in done.err

    @pytest.mark.parametrize(
        "option", [("--ties", "given"), ("--docs", "d.jsonl"), ("--depth", "3"), ("--lenient",), ("--profile", "beir")]
    )
    def test_what_the_project_decides_is_not_given_again(self, project, rankscope, option):
        done = rankscope("check", *option)
        assert done.code == 2
        assert f"{option[0]} is for files; a project says so itself" in done.err

    def test_results_are_kept_in_the_store_of_the_project(self, project, rankscope):
        assert rankscope("check").code == 1
        assert not Path(".rankscope/store.db").exists()  # `run` makes it, not `check`
        assert rankscope("run").code == 0
        rankscope("check", "--no-store")
        rankscope("check")
        with rs.open_store() as store:
            kept = store.targets.list()
            assert [one.run for one in kept] == [store.runs.find("fixed").number] * 2
        assert [one.result.outcome for one in kept] == ["passed", "failed"]
        assert rankscope("check", "--store", "other.db").code == 1
        with rs.open_store("other.db") as store:
            assert [one.run for one in store.targets.list()] == [None, None]

    def test_a_store_that_fails_does_not_keep_the_answer_back_unless_it_was_asked_for(self, project, rankscope):
        Path(".rankscope").mkdir(exist_ok=True)
        Path(".rankscope/store.db").write_text("no database")
        done = rankscope("check")
        assert done.code == 1
        assert "1 of 2 targets fails." in done.out
        assert "nothing was kept in the store" in done.err
        assert rankscope("check", "--store", ".rankscope/store.db").code == 2

    def test_one_file_alone_is_no_project(self, project, rankscope):
        done = rankscope("check", "results/runs/small/fixed.trec.gz")
        assert done.code == 2
        assert "one file alone cannot be checked" in done.err


def test_what_is_about_projects_is_refused_for_files(files, rankscope):
    done = rankscope(*files(PASSES), "--only", "x")
    assert done.code == 2
    assert "--only is about a project, but files are given" in done.err


def test_a_day_that_is_none_is_refused(files, rankscope):
    done = rankscope(*files(PASSES)[:-1], "tomorrow")
    assert done.code == 2
    assert "'tomorrow' is no date such as 2026-12-31" in done.err


def test_a_reader_who_leaves_is_no_pass(files):
    """A build waits for the exit code: an answer that could not be printed must not count as passed."""
    import os
    import subprocess

    arguments = [sys.executable, "-m", "rankscope", *files(PASSES)]
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(arguments, stdout=write, stderr=subprocess.PIPE, check=False, timeout=60)
    os.close(write)
    assert done.returncode == 2
