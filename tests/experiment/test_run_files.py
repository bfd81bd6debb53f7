"""The files of runs: what they were asked, which of them are replaced, and where they cannot be written."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import sys
from pathlib import Path

import pytest

import rankscope as rs
from rankscope.data.sources import QUERIES_ENDING
from rankscope.errors import InputError, RankscopeError, RankscopeWarning
from rankscope.experiment.project import load_project
from rankscope.experiment.run_files import MOST_LETTERS, file_name
from rankscope.experiment.runner import RunOptions, run_project

sys.path.insert(0, str(Path(__file__).parents[1]))
from small_project import small_project, systems

PAIR = systems("one", "other")


def run(small, **options):
    return run_project(load_project(small.folder), RunOptions(**options))


class TestWhatWasAsked:
    """Options are chosen on half of the queries, and the runs hold the other half."""

    @pytest.fixture
    def tuned(self, tmp_path):
        small = small_project(tmp_path)
        small.add("def two(query):\n    return docs_for(query.id, 'two')\n")
        functions = [f"{small.module}:{name}" for name in ("one", "two")]
        small.write(f'{PAIR}[systems.s]\ntype = "python"\nrecords = true\nfunction = {json.dumps(functions)}\n')
        return small

    def files(self, small) -> tuple[str, dict[str, str]]:
        folder = small.folder / "results" / "runs" / "small"
        return str(small.folder / "small" / "qrels"), {name: str(folder / f"{name}.trec.gz") for name in ("one", "s")}

    def test_evaluating_the_files_gives_what_the_project_found(self, tuned):
        (result,) = run(tuned).collections
        assert len(result.split.measured) == 20
        qrels, files = self.files(tuned)
        with pytest.warns(
            RankscopeWarning, match="only 20 of 40 judged queries were asked of one, s: scores are about"
        ):
            scores = rs.evaluate(qrels, files, "nDCG@10")
        for name in files:
            assert scores[name].mean()["nDCG@10"] == result.scores[name].mean()["nDCG@10"]
            assert set(scores[name].query_ids) == set(result.split.measured)

    def test_comparing_the_files_gives_what_the_project_found(self, tuned):
        (result,) = run(tuned, only=("one", "s")).collections
        qrels, files = self.files(tuned)
        with pytest.warns(RankscopeWarning, match="only 20 of 40 judged queries were asked"):
            comparison = rs.compare(qrels, files, "nDCG@10")
        found, expected = comparison["one", "s"].pair, result.comparison["one", "s"].pair
        assert (found.n_queries, found.mean, found.delta) == (expected.n_queries, expected.mean, expected.delta)

    def test_the_command_line_says_so(self, tuned, capsys):
        from rankscope.cli.main import main

        run(tuned)
        qrels, files = self.files(tuned)
        assert main(["evaluate", qrels, files["one"]]) == 0
        assert "only 20 of 40 judged queries were asked of one" in capsys.readouterr().err
        assert main(["compare", qrels, *files.values()]) == 0
        assert "only 20 of 40 judged queries were asked of one, s" in capsys.readouterr().err
        assert main(["diagnose", qrels, files["one"]]) in (0, 1)
        assert "only 20 of 40 judged queries were asked of one" in capsys.readouterr().err

    def test_with_another_run_all_are_scored_on_the_queries_that_all_were_asked(self, tuned):
        (result,) = run(tuned).collections
        qrels, files = self.files(tuned)
        whole = {f"q{i}": {f"d{i % 30}": 1.0} for i in range(40)}
        with pytest.warns(RankscopeWarning, match="only 20 of 40"):
            scores = rs.evaluate(qrels, {"one": rs.load_run(files["one"]), "whole": rs.load_run(whole)}, "RR")
        assert set(scores["whole"].query_ids) == set(scores["one"].query_ids) == set(result.split.measured)

    def test_failed_queries_were_asked_and_count(self, tmp_path):
        small = small_project(tmp_path)
        small.write(systems("picky"))
        (result,) = run(small).collections
        path = small.folder / result.systems[0].run
        with pytest.warns(RankscopeWarning, match="does not answer 4 of 40 queries: they score 0"):
            scores = rs.evaluate(str(small.folder / "small" / "qrels"), str(path), "nDCG@10")
        assert scores["picky"].mean()["nDCG@10"] == result.scores["picky"].mean()["nDCG@10"]
        record = json.loads(path.with_name(path.name + QUERIES_ENDING).read_text())
        assert (len(record["queries"]), record["failed"]) == (40, ["q3", "q13", "q23", "q33"])

    def test_a_list_that_belongs_to_another_run_is_refused(self, tuned):
        run(tuned)
        qrels, files = self.files(tuned)
        Path(files["one"]).write_bytes(Path(files["s"]).read_bytes() + b"")
        with pytest.raises(
            InputError, match=r"one.trec.gz is not the run that .*one.trec.gz.queries.json was written for"
        ):
            rs.evaluate(qrels, files["one"])
        Path(files["one"] + QUERIES_ENDING).unlink()
        with pytest.warns(RankscopeWarning, match="does not answer 20 of 40 queries"):
            rs.evaluate(qrels, files["one"])

    @pytest.mark.parametrize("text", ["", "{", "[]", "7", "{}", '{"rankscope_run_queries": 1}', "[" * 100_000, "\xff",
                                      '{"rankscope_run_queries": 1, "sha256": "", "queries": 7, "failed": [], "split": ""}',
                                      '{"rankscope_run_queries": 1, "sha256": "", "queries": [7], "failed": [], "split": ""}',
                                      '{"rankscope_run_queries": 2, "sha256": "", "queries": [], "failed": [], "split": ""}'])  # fmt: skip
    def test_a_damaged_list_is_refused(self, tuned, text):
        run(tuned)
        qrels, files = self.files(tuned)
        Path(files["one"] + QUERIES_ENDING).write_bytes(text.encode("latin-1"))
        with pytest.raises(
            InputError, match=r"one.trec.gz.queries.json, which says what the run was asked, is damaged"
        ):
            rs.evaluate(qrels, files["one"])
        run(tuned)
        with pytest.warns(RankscopeWarning, match="only 20 of 40"):
            rs.evaluate(qrels, files["one"])

    def test_judgments_of_other_queries_are_refused(self, tuned):
        run(tuned)
        with pytest.raises(InputError, match="not one judged query was asked of one"):
            rs.evaluate({"x": {"d1": 1}}, self.files(tuned)[1]["one"])

    def test_other_tools_read_the_run_as_ever(self, tuned):
        run(tuned)
        lines = gzip.decompress(Path(self.files(tuned)[1]["one"]).read_bytes()).decode().splitlines()
        assert {len(line.split()) for line in lines} == {6}


class TestEarlierRuns:
    """A server is down: what an earlier run found stays."""

    @pytest.fixture
    def small(self, tmp_path):
        small = small_project(tmp_path)
        small.add(
            "def shaky(query):\n"
            "    broken = LOG.with_name('broken')\n"
            "    if broken.exists() and query.id in broken.read_text().split():\n"
            "        raise OSError('down')\n"
            "    return [] if LOG.with_name('empty').exists() else docs_for(query.id, 'shaky')\n"
        )
        small.write(PAIR + systems("shaky"))
        return small

    def breaks(self, small, *queries: str) -> None:
        (small.folder / "broken").write_text(" ".join(queries))

    def test_a_run_without_any_answer_does_not_remove_the_earlier_one(self, small):
        run(small)
        before = small.runs
        self.breaks(small, *(f"q{i}" for i in range(40)))
        (result,) = run(small, fresh=True).collections
        shaky = result.systems[2]
        assert (shaky.run, shaky.kept) == (None, "results/runs/small/shaky.trec.gz")
        assert small.runs == before
        assert result.comparison.systems == ("one", "other"), "it is kept, and not compared"

    def test_a_run_with_failures_is_written_beside_the_earlier_one(self, small):
        run(small)
        before = small.runs
        self.breaks(small, "q1", "q2")
        (result,) = run(small, fresh=True).collections
        shaky = result.systems[2]
        assert shaky.run == "results/runs/small/shaky.incomplete.trec.gz"
        assert shaky.kept == "results/runs/small/shaky.trec.gz"
        assert before.items() <= small.runs.items()
        assert result.scores["shaky"].to_dict()["q1"]["nDCG@10"] == 0
        done = small.run()
        assert "An earlier run without failures was kept: results/runs/small/shaky.trec.gz." in " ".join(
            done.stdout.split()
        )
        manifest = json.loads((small.folder / "results/manifest.json").read_text())
        found = manifest["collections"]["small"]["systems"]["shaky"]
        assert (found["kept"], found["run"]["path"]) == (shaky.kept, shaky.run)
        self.breaks(small)
        (result,) = run(small).collections
        assert (result.systems[2].run, result.systems[2].kept) == ("results/runs/small/shaky.trec.gz", None)
        assert small.runs == before, "the next complete run takes the place of both"

    def test_without_an_earlier_one_a_run_with_failures_has_the_usual_name(self, small):
        self.breaks(small, "q1", "q2")
        (result,) = run(small).collections
        assert (result.systems[2].run, result.systems[2].kept) == ("results/runs/small/shaky.trec.gz", None)
        self.breaks(small, "q1")
        (result,) = run(small).collections
        assert (result.systems[2].run, result.systems[2].kept) == ("results/runs/small/shaky.trec.gz", None)
        self.breaks(small)
        run(small)
        assert [name for name in small.runs if "incomplete" in name] == []

    def test_a_system_that_finds_nothing_at_all_has_no_file(self, small):
        run(small)
        (small.folder / "empty").touch()
        (result,) = run(small, fresh=True).collections
        assert (result.systems[2].run, result.systems[2].kept) == (None, None)
        assert not [name for name in small.runs if name.startswith("shaky")]

    def test_what_a_killed_run_has_left_half_written_goes_away(self, small):
        run(small)
        before = small.runs
        for folder in ("results", "results/runs/small"):
            (small.folder / folder / ".rankscope-0123456789abcdef.tmp").write_text("half")
        run(small)
        assert small.runs == before
        assert not list((small.folder / "results").rglob("*.tmp"))


class TestNames:
    LONG = "n" * 400

    def test_names_of_files_are_short_and_distinct(self):
        names = ["n" * length for length in range(1, 500)] + ["ä" * 400, "a b " * 100, "-" * 400]
        files = [file_name(name) for name in names]
        assert len(set(files)) == len(names)
        assert max(map(len, files)) <= MOST_LETTERS + 13
        assert file_name("n" * MOST_LETTERS) == "n" * MOST_LETTERS

    def test_a_system_and_a_collection_of_400_letters(self, tmp_path):
        small = small_project(tmp_path)
        small.write(PAIR.replace("systems.other", f"systems.{self.LONG}"))
        path = small.folder / "rankscope.toml"
        path.write_text(path.read_text().replace("collections.small", f"collections.{self.LONG}"))
        done = small.run("--format", "json")
        assert done.returncode == 0, done.stderr
        assert [system["name"] for system in json.loads(done.stdout)["collections"][0]["systems"]] == ["one", self.LONG]
        assert small.run("-o", "report.html").returncode == 0

    @pytest.mark.parametrize(
        ("given", "arguments"),
        [
            ("", [LONG]),
            (f'output = "{LONG}"\n', []),
            (f'output = "{"x/" * 3000}"\n', []),
            ('output = "rankscope.toml"\n', []),
            ('output = "rankscope.toml/results"\n', []),
            ('output = "with\\u0000nul"\n', []),
            ("", ["-o", f"{LONG}.html"]),
            ("", ["-o", "small"]),
            ("", ["--collection", LONG]),
            ("", ["--only", LONG]),
        ],
        ids=range(10),
    )
    def test_what_cannot_be_written_is_a_clear_error(self, tmp_path, given, arguments):
        small = small_project(tmp_path)
        small.write(PAIR)
        path = small.folder / "rankscope.toml"
        path.write_text(given + path.read_text())
        before = path.read_text()
        done = small.run(*arguments)
        assert done.returncode == 2
        assert done.stderr.startswith("error: ")
        assert "Traceback" not in done.stderr
        assert path.read_text() == before
        assert not list(tmp_path.rglob("*.tmp"))

    def test_a_collection_whose_path_has_400_letters(self, tmp_path):
        small = small_project(tmp_path)
        small.write(PAIR)
        path = small.folder / "rankscope.toml"
        path.write_text(path.read_text().replace('path = "small"', f'path = "{self.LONG}"'))
        done = small.run()
        assert done.returncode == 2
        assert done.stderr.startswith("error: ")
        assert "Traceback" not in done.stderr


def as_somebody_else(check, folder: Path) -> None:
    """Do something in a process that is not root's, for which nothing is read-only."""
    for path in (folder, *folder.parents[:2], *folder.rglob("*")):
        path.chmod(path.stat().st_mode | 0o055)
        if path.is_relative_to(folder):
            os.chown(path, 65534, 65534)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.setegid(65534)
            os.seteuid(65534)
            check()
            code = 0
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


class TestPlacesThatCannotBeWritten:
    @pytest.mark.parametrize("where", ["results", "results/journal", "results/runs", "results/runs/small"])
    def test_a_file_stands_where_a_folder_should_be(self, tmp_path, where):
        small = small_project(tmp_path)
        small.write(PAIR)
        (tmp_path / where).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / where).write_text("mine")
        with pytest.raises(InputError, match=r"cannot be written: (File exists|Not a directory)") as error:
            run(small)
        assert "check that the output folder is a folder" in error.value.hint
        assert (tmp_path / where).read_text() == "mine"

    @pytest.mark.skipif(os.name != "posix", reason="permissions are not the same elsewhere")
    @pytest.mark.parametrize("where", ["results", "results/journal/small", "results/runs/small"])
    def test_a_folder_that_is_read_only(self, tmp_path, where):
        small = small_project(tmp_path / "p")
        small.write(PAIR)
        project = load_project(small.folder)
        run_project(project)
        before = small.runs
        folder = small.folder / where

        def refused() -> None:
            with pytest.raises(RankscopeError, match="Permission denied"):
                run_project(project, RunOptions(depth=5))

        folder.chmod(0o555)
        refused() if os.geteuid() else as_somebody_else(refused, tmp_path)
        assert small.runs == before
        folder.chmod(0o755)
        run_project(project)
        assert small.runs == before

    @pytest.mark.skipif(sys.platform != "linux", reason="limits of file sizes are not the same elsewhere")
    @pytest.mark.parametrize("limit", [0, 100, 1000, 3000])
    @pytest.mark.parametrize(
        ("options", "words"), [(["--no-store"], "File too large"), ([], "store.db cannot be read or written")]
    )
    def test_no_room_for_files_so_large(self, tmp_path, limit, options, words):
        """A limit of the size of files is the nearest to a full disk that needs no disk."""
        import resource
        import subprocess

        whole = small_project(tmp_path / "whole", module="searching")
        whole.write(PAIR)
        assert whole.run().returncode == 0
        small = small_project(tmp_path / "full", module="searching")
        small.write(PAIR)
        done = subprocess.run(
            small.command(*options),
            **small.options({"PYTHONDONTWRITEBYTECODE": "1"}),  # else Python writes half of its own files
            check=False,
            timeout=60,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
        )
        assert done.returncode == 3
        assert done.stderr.startswith("error: "), done.stderr
        assert words in done.stderr
        assert "Traceback" not in done.stderr
        assert not list((small.folder / "results").rglob("*.tmp"))
        assert not (small.folder / "results" / "manifest.json").exists()
        assert small.run().returncode == 0
        assert small.runs == whole.runs


def test_a_folder_can_be_copied_with_what_was_asked(tmp_path):
    small = small_project(tmp_path / "p")
    small.write(PAIR)
    run(small)
    shutil.copytree(small.folder / "results" / "runs" / "small", tmp_path / "copy")
    assert rs.load_run(tmp_path / "copy" / "one.trec.gz").asked.split == "all"
