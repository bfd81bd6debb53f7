"""`rankscope baseline` and `rankscope gate`: a folder that is committed, and what a build is told by it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from rankscope.comparison.gate import GateResult
from rankscope.experiment.baseline import BaselineManifest
from rankscope.records import from_json

sys.path.insert(0, str(Path(__file__).parents[1]))
from small_project import small_project, systems

N = 20
QUERIES = {f"q{i:02}": f"how to cook dish {i}" for i in range(N)}
RELEVANT = {query: f"d{i:02}" for i, query in enumerate(QUERIES)}


def run_text(rank, *, of=QUERIES):
    """Return a run that has the relevant doc of every query at a rank, by a function of the query's number."""
    rows = []
    for i, query in enumerate(of):
        docs = [f"other{j}" for j in range(9)]
        docs.insert(rank(i) - 1, RELEVANT[query])
        rows += [f"{query} Q0 {doc} {place} {20 - place} x\n" for place, doc in enumerate(docs, 1)]
    return "".join(rows)


def qrels_text(*, of=QUERIES):
    return "".join(f"{query} 0 {RELEVANT[query]} 1\n" for query in of)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Go to a folder with qrels, queries, docs, and runs that are good, worse, better and much the same."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    Path("qrels.txt").write_text(qrels_text())
    Path("queries.jsonl").write_text("".join(json.dumps({"_id": q, "text": t}) + "\n" for q, t in QUERIES.items()))
    docs = [{"_id": doc, "title": f"Dish {doc}", "text": "a recipe"} for doc in RELEVANT.values()]
    docs += [{"_id": f"other{j}", "title": f"Another {j}", "text": "a story"} for j in range(9)]
    Path("docs.jsonl").write_text("".join(json.dumps(doc) + "\n" for doc in docs))
    Path("good.run").write_text(run_text(lambda i: 1 if i % 4 else 2))
    Path("worse.run").write_text(run_text(lambda i: 4 if i % 4 else 2))
    Path("better.run").write_text(run_text(lambda _: 1))
    Path("one_lost.run").write_text(run_text(lambda i: 3 if i == 5 else 1 if i % 4 else 2))
    return tmp_path


@pytest.fixture
def baseline(rankscope, folder):
    done = rankscope("baseline", "save", "qrels.txt", "good.run", "--queries", "queries.jsonl", "-o", "baseline")
    assert done.code == 0, done.err
    return folder / "baseline"


def ranking_file(baseline):
    (found,) = baseline.glob("*.trec.gz")
    return found


class TestInAGitRepository:
    """What a build does: check a repository out, make the run, and ask the gate."""

    @pytest.fixture
    def checkout(self, baseline, folder, tmp_path_factory):
        """Return a clone of a repository in which the baseline is committed."""
        bare = tmp_path_factory.mktemp("remote")
        clone = tmp_path_factory.mktemp("clone")
        environment = {
            "PATH": os.environ["PATH"], "HOME": str(bare), "GIT_CONFIG_NOSYSTEM": "1",
            **{f"GIT_{who}_{what}": "someone@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
        }  # fmt: skip

        def git(*words, cwd):
            subprocess.run(["git", *words], cwd=cwd, check=True, capture_output=True, env=environment, timeout=60)

        git("init", "-q", "-b", "main", cwd=folder)
        git("add", ".", cwd=folder)
        git("commit", "-q", "-m", "a baseline", cwd=folder)
        git("clone", "-q", str(folder), "shop", cwd=clone)
        return clone / "shop"

    def test_an_unchanged_ranking_passes(self, rankscope, checkout, monkeypatch):
        monkeypatch.chdir(checkout)
        done = rankscope("gate", "qrels.txt", "good.run")
        assert (done.code, done.err) == (0, "")
        assert "The gate passed. The rankings are identical." in done.out

    def test_a_worse_ranking_fails_with_a_readable_reason(self, rankscope, checkout, monkeypatch):
        monkeypatch.chdir(checkout)
        done = rankscope("gate", "qrels.txt", "worse.run", "--queries", "queries.jsonl", "--docs", "docs.jsonl")
        assert done.code == 1
        assert "The gate failed. worse is worse." in done.out
        # 15 of 20 queries fall from rank 1 to 4: nDCG from 1 to 1 / log2(5) = 0.4307, 15/20 * 0.5693 = 0.4270
        assert "lower by 0.427" in done.out
        assert "15 queries got worse" in done.out
        assert "how to cook dish 1 (q01)" in done.out
        assert "the relevant doc fell from 1 to 4" in done.out
        assert "rankscope baseline save -o baseline" in done.out

    def test_a_truncated_baseline_is_an_error(self, rankscope, checkout, monkeypatch):
        monkeypatch.chdir(checkout)
        file = ranking_file(checkout / "baseline")
        file.write_bytes(file.read_bytes()[:50])
        done = rankscope("gate", "qrels.txt", "good.run")
        assert done.code == 2
        assert "it is truncated: 50 of" in done.err
        assert "git checkout -- baseline" in done.err

    def test_as_a_process_of_its_own(self, start, checkout, monkeypatch):
        monkeypatch.chdir(checkout)
        codes = [start("gate", "qrels.txt", run).code for run in ("good.run", "better.run", "worse.run")]
        assert codes == [0, 0, 1]


class TestDamage:
    """Whatever is wrong with a baseline, the gate does not pass, and says what it is."""

    def damaged(self, rankscope):
        done = rankscope("gate", "qrels.txt", "good.run")
        assert done.code == 2, done.out
        assert done.out == ""
        assert "hint: " in done.err
        return done.err

    def test_a_manifest_that_is_cut(self, rankscope, baseline):
        path = baseline / "manifest.json"
        path.write_text(path.read_text()[:200])
        assert "the baseline is damaged: baseline/manifest.json: not JSON" in self.damaged(rankscope)

    def test_a_run_that_was_changed(self, rankscope, baseline, folder):
        import gzip

        ranking_file(baseline).write_bytes(gzip.compress(Path("worse.run").read_bytes()))
        assert "is not the run that was saved" in self.damaged(rankscope)

    def test_one_byte_changed(self, rankscope, baseline):
        file = ranking_file(baseline)
        content = bytearray(file.read_bytes())
        content[len(content) // 2] ^= 1
        file.write_bytes(content)
        assert "as many bytes as were saved, but others" in self.damaged(rankscope)

    def test_a_run_that_is_missing(self, rankscope, baseline):
        ranking_file(baseline).unlink()
        err = self.damaged(rankscope)
        assert "is missing" in err
        assert "ignored by git?" in err

    def test_a_pointer_of_git_lfs(self, rankscope, baseline):
        ranking_file(baseline).write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 5\n")
        assert "git lfs pull" in self.damaged(rankscope)

    def test_queries_that_were_changed(self, rankscope, baseline):
        (path,) = baseline.glob("*.queries.jsonl")
        path.write_text(path.read_text().replace("dish 3", "dish 33"))
        assert "is not the file that was saved" in self.damaged(rankscope)

    def test_line_ends_of_another_system_are_no_damage(self, rankscope, baseline):
        for path in (*baseline.glob("*.queries.jsonl"), baseline / "manifest.json"):
            path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
        assert rankscope("gate", "qrels.txt", "good.run").code == 0

    def test_a_file_outside_of_the_folder(self, rankscope, baseline):
        path = baseline / "manifest.json"
        path.write_text(path.read_text().replace(ranking_file(baseline).name, "../good.run"))
        assert "which is no file of the folder" in rankscope("gate", "qrels.txt", "good.run").err

    @pytest.mark.parametrize("name", ["manifest.json", "*.trec.gz", "*.queries.jsonl"])
    @pytest.mark.parametrize("kind", ["device", "pipe", "outside"])
    def test_only_regular_files_of_the_folder_are_read(self, rankscope, baseline, folder, name, kind):
        (path,) = baseline.glob(name)
        path.rename(folder / "moved")
        if kind == "pipe":
            os.mkfifo(path)
        else:
            path.symlink_to("/dev/zero" if kind == "device" else folder / "moved")
        err = self.damaged(rankscope)
        if kind == "outside":
            assert "is a link that leads out of its folder" in err

    def test_a_mean_that_the_run_does_not_have_is_said(self, rankscope, baseline):
        path = baseline / "manifest.json"
        said = json.loads(path.read_text())
        assert "was the manifest changed?" not in rankscope("gate", "qrels.txt", "good.run").out
        said["collections"][0]["runs"][0]["mean"] = 0.2
        path.write_text(json.dumps(said))
        done = rankscope("gate", "qrels.txt", "good.run")
        assert "was 0.2000, but its run has" in " ".join(done.out.split())

    def test_a_system_that_is_listed_twice(self, rankscope, baseline):
        said = json.loads((baseline / "manifest.json").read_text())
        said["collections"][0]["runs"] *= 2
        (baseline / "manifest.json").write_text(json.dumps(said))
        assert "lists good on qrels twice" in self.damaged(rankscope)

    def test_a_newer_format(self, rankscope, baseline):
        path = baseline / "manifest.json"
        path.write_text(path.read_text().replace('"rankscope_baseline": 1', '"rankscope_baseline": 2'))
        assert "in a format that" in self.damaged(rankscope)

    def test_no_baseline_at_all(self, rankscope, folder):
        assert "there is no baseline 'baseline': neither a folder nor a run" in self.damaged(rankscope)
        Path("baseline").mkdir()
        assert "baseline holds no manifest.json" in self.damaged(rankscope)

    def test_show_says_the_same(self, rankscope, baseline):
        shown = rankscope("baseline", "show")
        assert shown.code == 0
        assert "every file is what was saved" in shown.out
        ranking_file(baseline).unlink()
        assert rankscope("baseline", "show", "baseline").code == 2


class TestWhatHasChangedSince:
    def test_other_queries_are_refused_and_named(self, rankscope, baseline):
        more = {**RELEVANT, "new": "d00"}
        Path("qrels.txt").write_text("".join(f"{q} 0 {d} 1\n" for q, d in more.items() if q != "q03"))
        done = rankscope("gate", "qrels.txt", "good.run")
        assert done.code == 2
        assert "1 query is new (new), 1 query is gone (q03)" in done.err
        assert "--shared-queries compares on the 19 that both were asked" in done.err
        shared = rankscope("gate", "qrels.txt", "good.run", "--shared-queries")
        assert shared.code == 0
        assert "Compared on the 19 queries that the baseline was asked as well" in " ".join(shared.out.split())

    def test_a_query_that_is_worded_otherwise(self, rankscope, baseline):
        path = Path("queries.jsonl")
        path.write_text(path.read_text().replace("cook dish 3", "bake dish 3"))
        done = rankscope("gate", "qrels.txt", "good.run", "--queries", path)
        assert done.code == 2
        assert "q03 was “how to cook dish 3”, and is “how to bake dish 3”" in done.err
        assert rankscope("gate", "qrels.txt", "good.run").code == 0  # who gives no texts is not asked for them

    def test_other_judgments_are_a_note_and_both_are_scored_by_them(self, rankscope, baseline):
        """Of q00, good has its doc at rank 2; it is no longer relevant, and other0, which is at rank 1, is."""
        Path("qrels.txt").write_text(qrels_text().replace("q00 0 d00 1", "q00 0 other0 1"))
        done = rankscope("gate", "qrels.txt", "good.run")
        assert done.code == 0
        # 5 queries had their doc at rank 2, which scores 1 / log2(3) = 0.6309; now 4 have: (15 + 5 * .6309) / 20
        out = " ".join(done.out.split())
        assert "the nDCG@10 of good was 0.9077 then, and is 0.9262 now" in out
        assert "The judgments have changed since the baseline was saved" in out

    def test_another_measure_is_refused(self, rankscope, baseline):
        done = rankscope("gate", "qrels.txt", "good.run", "-m", "RR@10")
        assert done.code == 2
        assert "it was saved for nDCG@10, and RR@10 decides now" in done.err

    def test_another_definition_is_refused(self, rankscope, baseline):
        path = baseline / "manifest.json"
        path.write_text(path.read_text().replace('"version": 1', '"version": 7'))
        done = rankscope("gate", "qrels.txt", "good.run")
        assert done.code == 2
        assert "version 7 of the definition of nDCG@10, and this is 1" in done.err

    def test_measure_policies_and_margin_are_those_of_the_baseline(self, rankscope, folder):
        saved = rankscope(
            "baseline",
            "save",
            "qrels.txt",
            "good.run",
            "-m",
            "RR@10",
            "--margin",
            "0.2",
            "--ties",
            "given",
            "--depth",
            "5",
        )
        assert saved.code == 0
        done = rankscope("gate", "qrels.txt", "one_lost.run", "--format", "json")
        (check,) = GateResult.from_json(done.out).checks
        assert (check.compared.measure, check.compared.margin) == ("RR@10", 0.2)
        assert done.code == 0  # one query falls from 1 to 1/3: 0.033, which is surely less than 0.2


class TestWhatIsSaid:
    def test_every_form_says_the_same(self, rankscope, baseline):
        done = rankscope(
            "gate", "qrels.txt", "worse.run", "-o", "g.md", "-o", "g.xml", "-o", "g.json", "-o", "g.html", "-o", "g.txt"
        )
        assert done.code == 1
        result = GateResult.from_json(Path("g.json").read_text())
        assert (result.outcome, result.exit_code) == ("failed", 1)
        suite = ET.parse("g.xml").getroot().find("testsuite")
        assert (suite.get("failures"), suite.get("errors")) == ("1", "0")
        assert "got worse: q01: 1.000 to 0.431; q02:" in suite.find("testcase/system-out").text
        comment = Path("g.md").read_text()
        assert comment.startswith("<!-- rankscope gate -->\n")
        for text in (done.out, comment, Path("g.txt").read_text(), Path("g.html").read_text()):
            assert "The gate failed. worse is worse." in text
            assert "failed" in text

    def test_what_is_written_is_read_back_equal(self, rankscope, baseline):
        out = rankscope("gate", "qrels.txt", "worse.run", "--docs", "docs.jsonl", "--format", "json").out
        result = GateResult.from_json(out)
        assert GateResult.from_json(result.to_json()) == result
        assert json.loads(out)["checks"][0]["sides"][0]["a"]["docs"][0]["title"] == "Dish d01"

    def test_nobody_can_write_another_outcome_into_it(self, rankscope, baseline):
        out = rankscope("gate", "qrels.txt", "worse.run", "--format", "json").out
        forged = out.replace('"outcome": "failed",\n "exit_code": 1', '"outcome": "passed",\n "exit_code": 0')
        assert forged != out
        assert GateResult.from_json(forged).exit_code == 1

    @pytest.mark.parametrize("form", ["junit", "markdown", "json", "github"])
    def test_an_error_is_written_in_every_form(self, rankscope, baseline, form):
        Path("g.xml").write_text("an older one, that says passed")
        ranking_file(baseline).unlink()
        done = rankscope("gate", "qrels.txt", "good.run", "--format", form, "-o", "g.xml")
        assert done.code == 2
        assert "is missing" in done.out
        assert ET.parse("g.xml").getroot().get("errors") == "1"

    def test_inconclusive_as_asked(self, rankscope, baseline):
        """One query of 20 falls from rank 1 to 3: 0.5 of nDCG, so that the mean is lower by 0.025, and nothing is sure."""
        codes = [
            rankscope("gate", "qrels.txt", "one_lost.run", "--on-inconclusive", word).code
            for word in ("warn", "pass", "fail")
        ]
        assert codes == [0, 0, 1]

    def test_several_runs_are_one_family(self, rankscope, baseline):
        done = rankscope("gate", "qrels.txt", "better.run", "worse.run", "--format", "json")
        result = GateResult.from_json(done.out)
        assert [check.name for check in result.checks] == ["better vs baseline", "worse vs baseline"]
        assert [check.compared.p.family_size for check in result.checks] == [2, 2]
        assert done.code == 1

    def test_runs_that_were_asked_other_queries_are_not_compared_on_fewer(self, rankscope, baseline):
        """A list beside the run says that it was asked 19 of the 20 queries: the missing one might be the one it lost."""
        import hashlib

        digest = hashlib.sha256(Path("better.run").read_bytes()).hexdigest()
        asked = {
            "rankscope_run_queries": 1,
            "sha256": digest,
            "queries": list(QUERIES)[1:],
            "failed": [],
            "split": "all",
        }
        Path("better.run.queries.json").write_text(json.dumps(asked))
        for runs in (["better.run"], ["good.run", "better.run"]):
            done = rankscope("gate", "qrels.txt", *runs)
            assert (done.code, "1 query is gone (q00)" in done.err) == (2, True)

    def test_what_nobody_could_read_does_not_pass(self, baseline):
        """The reader of the pipe has left before anything was written: an answer that is lost is no answer."""
        reading, writing = os.pipe()
        os.close(reading)
        command = [sys.executable, "-m", "rankscope", "gate", "qrels.txt", "good.run"]
        done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True, check=False, timeout=120)
        os.close(writing)
        assert (done.returncode, "Traceback" in done.stderr) == (2, False)

    def test_a_plain_run_as_baseline(self, rankscope, folder):
        done = rankscope("gate", "--baseline", "good.run", "qrels.txt", "worse.run", "-m", "RR@10", "--margin", "0.05")
        assert done.code == 1
        assert "worse is worse. " in done.out.replace("\n", " ")
        assert "RR@10" in done.out


class TestWordsOfErrorsAndPages:
    def test_a_path_stays_as_it_is_and_a_hint_is_no_caution(self, rankscope, baseline):
        path = ranking_file(baseline)
        path.write_bytes(path.read_bytes()[:-9])
        done = rankscope("gate", "qrels.txt", "good.run", "-o", "comment.md")
        assert done.code == 2
        said = Path("comment.md").read_text()
        assert f"baseline/{path.name} is not the run that was saved" in said.replace("\\", "")
        assert "What to do: restore it" in said
        assert "Hint:" not in said

    @pytest.mark.usefixtures("baseline")
    def test_a_page_does_not_tell_to_write_a_page(self, rankscope):
        done = rankscope("gate", "qrels.txt", "worse.run", "-o", "gate.html")
        assert "a page (-o gate.html) shows both rankings" in " ".join(done.out.split())
        page = Path("gate.html").read_text()
        assert "a page (-o gate.html)" not in page
        assert "open one to see both rankings" in page

    @pytest.mark.usefixtures("baseline")
    def test_inconclusive_is_not_called_passed(self, rankscope):
        done = rankscope("gate", "qrels.txt", "one_lost.run")
        assert done.code == 0
        assert "1 of 1 check inconclusive · exit code 0" in done.out
        assert "The gate is inconclusive, which does not fail the build" in " ".join(done.out.split())


class TestGithub:
    def test_annotations(self, rankscope, baseline, monkeypatch):
        monkeypatch.setenv("GITHUB_STEP_SUMMARY", "summary.md")
        Path("summary.md").write_text("# What other steps say\n")
        done = rankscope("gate", "qrels.txt", "worse.run", "--queries", "queries.jsonl", "--format", "github")
        assert done.code == 1
        (line,) = re.findall("^::error .*$", done.out, re.MULTILINE)
        assert line.startswith(
            "::error title=Rankscope gate%3A worse vs baseline::worse is worse. Its nDCG@10 is lower"
        )
        assert "%0Ahow to cook dish 1 (q01): 1.000 to 0.431" in line
        assert "95%25 CI" in line
        summary = Path("summary.md").read_text()
        assert summary.startswith("# What other steps say\n<!-- rankscope gate -->\n## Rankscope gate")

    def test_texts_of_others_are_no_commands(self, rankscope, folder):
        evil = {
            **QUERIES,
            "q01": "::error title=x::gotcha",
            "q02": "@octocat see #12 ##[error]\n::set-output name=a::b",
        }
        Path("queries.jsonl").write_text("".join(json.dumps({"_id": q, "text": t}) + "\n" for q, t in evil.items()))
        rankscope("baseline", "save", "qrels.txt", "good.run", "--queries", "queries.jsonl")
        done = rankscope(
            "gate", "qrels.txt", "worse.run", "--queries", "queries.jsonl", "--format", "github", "-o", "c.md"
        )
        lines = done.out.splitlines()
        token = lines[0].removeprefix("::stop-commands::")
        assert len(token) == 32
        end = lines.index(f"::{token}::")
        assert [line.startswith("::error title=Rankscope") for line in lines[end + 1 :]] == [True]
        comment = Path("c.md").read_text()
        assert "@\u200boctocat" in comment
        assert "@octocat" not in comment
        assert "#12" not in comment

    def test_long_texts_are_cut_and_nothing_in_them_is_live(self, rankscope, baseline):
        """A query of a million characters, one with addresses, and one that refers to issues."""
        texts = {**QUERIES, "q01": "x" * 1_000_000, "q02": "owner/repo#1 GH-2 https://evil.example www.evil.example"}
        texts["q03"] = "mail a@b.example group!7 #5 @someone"
        Path("odd.jsonl").write_text("".join(json.dumps({"_id": q, "text": t}) + "\n" for q, t in texts.items()))
        rankscope("baseline", "save", "qrels.txt", "good.run", "--queries", "odd.jsonl", "-o", "baseline")
        for form in ("junit", "github", "markdown"):
            done = rankscope("gate", "qrels.txt", "worse.run", "--queries", "odd.jsonl", "--format", form)
            assert done.code == 1
            assert len(done.out) < 60_000
            assert "owner/repo" in done.out
            if form == "markdown":
                assert not re.search(r"repo#\d|GH-\d|https?://evil|www\.evil|a@b\.|group!\d|#5|@someone", done.out)
                assert "nDCG@10" in done.out

    def test_passed_is_a_notice(self, rankscope, baseline):
        out = rankscope("gate", "qrels.txt", "good.run", "--format", "github").out
        assert out.splitlines()[-1].startswith("::notice title=Rankscope gate passed::The rankings are identical.")


class TestLatency:
    @pytest.fixture
    def timed(self, rankscope, folder):
        Path("old.csv").write_text("query,ms\n" + "".join(f"{q},{10 + i}\n" for i, q in enumerate(QUERIES)))
        done = rankscope("baseline", "save", "qrels.txt", "good.run", "--latencies", "old.csv")
        assert "20 queries timed" in done.out

    def slower(self, factor):
        Path("new.csv").write_text("query,ms\n" + "".join(f"{q},{(10 + i) * factor}\n" for i, q in enumerate(QUERIES)))

    @pytest.mark.parametrize(
        ("factor", "limit", "code"), [(1.0, None, 0), (1.1, None, 0), (1.5, None, 1), (1.5, "1.6", 0)]
    )
    def test_only_what_is_surely_slower_fails(self, rankscope, timed, factor, limit, code):
        self.slower(factor)
        more = [] if limit is None else ["--max-latency-ratio", limit]
        done = rankscope("gate", "qrels.txt", "good.run", "--latency", "--latencies", "new.csv", *more)
        assert done.code == code, done.out
        # the 95th percentile of 10, 11, …, 29 is 28.05
        assert f"was 28.1 ms and is {28.05 * factor:.3g} ms" in done.out.replace("\n", " ").replace("    ", " ")

    def test_it_is_off_unless_asked_for(self, rankscope, timed):
        self.slower(9)
        assert rankscope("gate", "qrels.txt", "good.run").code == 0
        refused = rankscope("gate", "qrels.txt", "good.run", "--latencies", "new.csv")
        assert (refused.code, "does nothing without --latency" in refused.err) == (2, True)

    def test_what_is_not_known_does_not_pass(self, rankscope, timed, baseline):
        done = rankscope("gate", "qrels.txt", "good.run", "--latency")
        assert done.code == 2
        assert "There are no latencies of the baseline" in done.out

    def test_a_damaged_file_of_times(self, rankscope, timed):
        (path,) = Path("baseline").glob("*.latency.json")
        path.write_text(path.read_text().replace("10.0", "99.0"))
        assert rankscope("gate", "qrels.txt", "good.run").code == 2

    @pytest.mark.parametrize(
        "text", ["query,ms\nq00,fast\n", "query,ms\nq00,-1\n", "query\nq00\n", "query,ms\nq00,1\nq00,2\n"]
    )
    def test_times_that_are_none(self, rankscope, timed, text):
        Path("new.csv").write_text(text)
        assert rankscope("gate", "qrels.txt", "good.run", "--latency", "--latencies", "new.csv").code == 2


class TestSaving:
    def test_the_manifest_says_what_it_was(self, rankscope, baseline):
        manifest = from_json(BaselineManifest, (baseline / "manifest.json").read_text())
        (collection,) = manifest.collections
        (run,) = collection.runs
        assert (collection.name, collection.queries.n, collection.qrels.n) == ("qrels", 20, 20)
        # 15 queries score 1, 5 have their doc at rank 2: 1 / log2(3) = 0.63093
        assert run.mean == pytest.approx((15 + 5 * 0.6309297535714574) / 20)
        assert (manifest.measure.name, manifest.measure.policies["ties"]) == ("nDCG@10", "trec")
        assert "numpy" in manifest.versions

    def test_a_baseline_is_replaced_and_nothing_of_it_left(self, rankscope, baseline):
        before = {path.name for path in baseline.iterdir()}
        assert rankscope("baseline", "save", "qrels.txt", "better.run").code == 0
        after = {path.name for path in baseline.iterdir()}
        assert len(after) == len(before)
        assert before & after == {"manifest.json"}
        assert rankscope("gate", "qrels.txt", "better.run").code == 0

    def test_the_same_run_gives_the_same_file(self, rankscope, baseline):
        before = ranking_file(baseline)
        rankscope("baseline", "save", "qrels.txt", "good.run", "--queries", "queries.jsonl")
        assert ranking_file(baseline) == before

    def test_a_folder_of_something_else_is_not_touched(self, rankscope, folder):
        Path("mine").mkdir()
        Path("mine/notes.txt").write_text("mine")
        done = rankscope("baseline", "save", "qrels.txt", "good.run", "-o", "mine")
        assert (done.code, [path.name for path in Path("mine").iterdir()]) == (2, ["notes.txt"])
        Path("mine/manifest.json").write_text("{}")
        assert rankscope("baseline", "save", "qrels.txt", "good.run", "-o", "mine").code == 2

    def test_ids_that_trec_text_cannot_hold(self, rankscope, folder):
        run = {query: {f"{doc} with blanks": 1.0, "other": 0.5} for query, doc in RELEVANT.items()}
        Path("odd.json").write_text(json.dumps(run))
        Path("odd_qrels.json").write_text(json.dumps({q: {f"{d} with blanks": 1} for q, d in RELEVANT.items()}))
        assert rankscope("baseline", "save", "odd_qrels.json", "odd.json").code == 0
        assert [path.name for path in Path("baseline").glob("odd.*.jsonl.gz")]
        assert rankscope("gate", "odd_qrels.json", "odd.json").code == 0


class TestProject:
    @pytest.fixture
    def project(self, tmp_path, monkeypatch):
        small = small_project(tmp_path, n_queries=24)
        small.write(systems("one", "other"))
        monkeypatch.chdir(tmp_path)
        return small

    def run(self, rankscope, *arguments):
        done = rankscope("run", *arguments)
        assert done.code == 0, done.err

    def test_every_system_against_its_own_run(self, rankscope, project):
        self.run(rankscope)
        saved = rankscope("baseline", "save")
        assert "one  nDCG@10" in saved.out
        assert "other  nDCG@10" in saved.out
        done = rankscope("gate", "--latency")
        assert done.code == 0
        assert done.out.count("identical") == 2
        assert "4 of 4 checks passed" in done.out

    def test_results_of_another_project_file_are_refused(self, rankscope, project):
        self.run(rankscope)
        rankscope("baseline", "save")
        project.write(systems("one", "other"), margin=0.02)
        done = rankscope("gate")
        assert (done.code, "made by another state of rankscope.toml" in done.err) == (2, True)
        again = rankscope("gate", "--run")
        assert again.code == 0
        assert "The margin that is given has changed" in again.out

    @pytest.mark.parametrize(("n_lost", "code"), [(2, 0), (4, 2)])
    def test_queries_that_lost_their_judgments(self, rankscope, project, n_lost, code):
        """Of 24 queries; with 4 of them more than a tenth is missing."""
        self.run(rankscope)
        rankscope("baseline", "save")
        (path,) = Path().glob("**/qrels/test.tsv")
        lost = [f"q{i}" for i in range(n_lost)]
        kept = [line for line in path.read_text().splitlines(keepends=True) if line.split()[0] not in lost]
        path.write_text("".join(kept))
        done = rankscope("gate", "-o", "gate.json")
        assert done.code == code, done.err
        said = Path("gate.json").read_text()
        assert f"{n_lost} of 24 queries ({n_lost / 24:.0%}) have no judgments any more: q0" in said
        if code:
            assert "at most 10% may be missing" in said
            assert rankscope("gate", "--allow-missing", "0.5").code == 0

    def test_run_asks_anew_and_says_what_it_reuses(self, rankscope, project):
        """A system that changes without its options or code: an index that somebody else has broken."""
        project.add(
            "def third(query):\n    import os\n    return [] if os.path.exists('broken') else docs_for(query.id, 'one')\n"
        )
        project.write(systems("third"))
        self.run(rankscope)
        rankscope("baseline", "save")
        Path("broken").touch()
        failed = rankscope("gate", "--run")
        assert failed.code in (1, 2)
        assert "identical" not in failed.out
        Path("broken").unlink()
        self.run(rankscope, "--fresh")
        Path("broken").touch()
        passed = rankscope("gate", "--run", "--reuse", "-o", "gate.xml", "-o", "gate.json", "-o", "gate.md")
        assert passed.code == 0
        said = "third on small: 24 of 24 answers are from an earlier run of "
        written = [Path(f"gate.{ending}").read_text() for ending in ("xml", "json", "md")]
        assert all(said in " ".join(text.split()) for text in (passed.out, *written))
        assert rankscope("gate", "--reuse").code == 2

    def test_no_runs_yet(self, rankscope, project):
        assert "rankscope run makes them" in rankscope("baseline", "save").err

    def test_a_system_that_is_gone_and_one_that_is_new(self, rankscope, project):
        project.add("def third(query):\n    return docs_for(query.id, 'third')\n")
        self.run(rankscope)
        rankscope("baseline", "save")
        project.write(systems("one", "third"))
        gone = rankscope("gate", "--run")
        assert (gone.code, "other is in the baseline, but there is no run of it now" in gone.err) == (2, True)
        rankscope("baseline", "save", "--system", "one")
        new = rankscope("gate")
        assert new.code == 0
        assert "Not in the baseline, and not checked: third." in new.out
        assert rankscope("gate", "--system", "third").code in (0, 1)  # compared with the only run that there is

    def test_only_the_system_asked_for_counts(self, rankscope, project):
        """One that was renamed is in the baseline, and has nothing to do with another."""
        self.run(rankscope)
        rankscope("baseline", "save")
        project.write(systems("one") + systems("other").replace("[systems.other]", "[systems.renamed]"))
        self.run(rankscope)
        done = rankscope("gate", "--system", "one")
        assert (done.code, done.err) == (0, "")
        lacking = rankscope("gate", "--system", "renamed")
        assert lacking.code == 2
        assert "renamed is not in the baseline, which has one, other" in lacking.err

    def test_after_a_run_of_one_system_all_are_saved(self, rankscope, project, tmp_path):
        self.run(rankscope)
        manifest = tmp_path / "results/manifest.json"
        before = json.loads(manifest.read_text())["collections"]["small"]["systems"]
        assert rankscope("run", "--only", "other", "--fresh").code == 0
        after = json.loads(manifest.read_text())["collections"]["small"]["systems"]
        assert list(after) == ["one", "other"]
        assert after["one"] == before["one"], "with its own times"
        assert after["one"]["started"]
        saved = rankscope("baseline", "save")
        assert (saved.code, saved.err) == (0, "")
        assert re.findall(r"^    (\w+)  nDCG", saved.out, re.MULTILINE) == ["one", "other"]

    def test_what_the_project_would_not_run_leaves_the_manifest(self, rankscope, project, tmp_path):
        self.run(rankscope)
        project.write(systems("one").replace("MODULE:one", "MODULE:other") + systems("other"))
        assert rankscope("run", "--only", "other").code == 0
        manifest = json.loads((tmp_path / "results/manifest.json").read_text())
        assert list(manifest["collections"]["small"]["systems"]) == ["other"]

    def test_a_run_with_failed_queries_is_saved_with_a_warning(self, rankscope, project):
        project.write(systems("picky", "one"))
        assert rankscope("run").code == 1
        saved = rankscope("baseline", "save")
        assert saved.code == 0
        # of q0 to q23, three end with 3
        assert "3 queries of picky on small failed and count 0 in what is saved" in saved.err

    def test_a_system_without_a_run_is_named(self, rankscope, project):
        assert rankscope("run", "--only", "one", "--no-store").code == 0
        saved = rankscope("baseline", "save")
        assert "not saved, as there is no run of it on small: other" in saved.err

    def test_a_system_that_retrieves_nothing_is_named_and_does_not_hinder_the_others(self, rankscope, project):
        project.add("def broken(query):\n    raise ValueError('no')\n")
        project.write(systems("broken", "one"))
        rankscope("run")
        saved = rankscope("baseline", "save")
        assert saved.code == 0
        assert "not saved, as there is no run of it on small: broken" in saved.err
        assert rankscope("gate").code == 0
        asked = rankscope("baseline", "save", "--system", "broken")
        assert (asked.code, "broken has no run on small" in asked.err) == (2, True)

    def test_options_that_were_tried_and_taken_back(self, rankscope, project):
        """The store has a newer run of one with other options, and the run with those of today."""
        self.run(rankscope)
        rankscope("baseline", "save")
        project.write(systems("one").replace("MODULE:one", "MODULE:other") + systems("other"))
        self.run(rankscope)
        project.write(systems("one", "other"))
        assert rankscope("run", "--only", "other").code == 0
        done = rankscope("gate")
        assert (done.code, "2 of 2 checks passed" in done.out) == (0, True), done.err
        assert "identical" in done.out

    def test_a_run_that_was_changed_by_hand(self, rankscope, project):
        self.run(rankscope)
        rankscope("baseline", "save")
        path = Path("results/runs/small/one.trec.gz")
        path.write_bytes(path.read_bytes()[:-9])
        done = rankscope("gate")
        assert (done.code, "it has changed since" in done.err) == (2, True)

    def test_by_tag_and_by_an_earlier_run_of_the_store(self, rankscope, project):
        from rankscope.store import open_store

        self.run(rankscope)
        with open_store() as store:
            store.tags.move("release", store.runs.find("one"))
        done = rankscope("gate", "--baseline", "release")
        assert done.code == 0, done.err
        assert "one vs baseline" in rankscope("gate", "--baseline", "release", "--format", "json").out
        itself = rankscope("gate", "--baseline", "other")
        assert itself.code == 0
        assert "name an earlier one, such as other~1" in " ".join(itself.out.split())
        unknown = rankscope("gate", "--baseline", "relaese")
        assert unknown.code == 2
        assert "neither a folder nor a run" in unknown.err

    def test_systems_that_the_last_run_left_out_come_from_the_store(self, rankscope, project):
        self.run(rankscope)
        rankscope("baseline", "save")
        self.run(rankscope, "--only", "one")
        done = rankscope("gate")
        assert done.code == 0, done.err
        assert done.out.count("identical") == 2

    def test_several_collections_and_the_worst_decides(self, rankscope, project, tmp_path):
        import shutil

        shutil.copytree(tmp_path / "small", tmp_path / "large")
        project.add(
            "def second(query):\n    return docs_for(query.id) if WORSE else [('d' + query.id[1:], 1.0)]\nWORSE = False\n"
        )
        file = tmp_path / "rankscope.toml"
        project.write(systems("second"))
        file.write_text(file.read_text() + '[collections.large]\npath = "large"\n')
        self.run(rankscope)
        assert rankscope("baseline", "save").code == 0
        good = rankscope("gate", "--format", "json")
        assert [check.name for check in GateResult.from_json(good.out).checks] == [
            "second vs baseline (small)", "second vs baseline (large)",
        ]  # fmt: skip
        judged = tmp_path / "large/qrels/test.tsv"
        judged.write_text(judged.read_text().replace("q5\td5\t1\n", ""))
        done = rankscope("gate", "--run")
        assert (done.code, "1 query is gone (q5)" in done.err) == (2, True)
        assert rankscope("gate", "--collection", "small").code == 0
        rankscope("baseline", "save", "--collection", "small")
        assert "Not in the baseline, and not checked: the collection large." in rankscope("gate").out

    def test_options_of_files_are_refused(self, rankscope, project):
        for option in (["-m", "RR"], ["--margin", "0.1"], ["--queries", "x"], ["--run-format", "csv"]):
            done = rankscope("gate", *option)
            assert (done.code, "goes with files" in done.err) == (2, True), option
        assert rankscope("gate", "qrels.txt").code == 2
