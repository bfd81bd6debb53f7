"""Exit codes: one table, and every command keeps to it; a traceback is only seen by those who ask for it."""

from __future__ import annotations

import ast
import os
import re
import resource
import select
import signal
import subprocess
import sys
import time
import weakref
from pathlib import Path

import pytest

import rankscope as rs
from rankscope.cli import exit_codes
from rankscope.cli import main as main_module
from rankscope.cli.exit_codes import BUG, EXIT_CODES, FINE, INTERRUPTED, TERMINATED, UNFINISHED, WRONG_INPUT
from rankscope.cli.main import COMMANDS, main
from rankscope.errors import InputError, UnfinishedError
from rankscope.io.limits import out_of_memory
from rankscope.store import CollectionFacts, RunFacts, StoredQuery

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from small_project import small_project, systems  # noqa: E402

MISSING = "no_such_file"

FINE_CALLS = {
    "evaluate": "qrels.txt bm25.run",
    "compare": "qrels.txt bm25.run dense.run",
    "check": "qrels.txt hybrid.run --targets targets.toml",
    "explain": "qrels.txt bm25.run --query soup-for-a-cold",
    "show": "qrels.txt bm25.run dense.run --loss 1",
    "diagnose": "qrels.txt hybrid.run",
    "validate": "qrels.txt dense.run",
    "convert": "bm25.run new.jsonl",
    "embed": "mini --model wordllama -o vectors.npy",
    "fuse": "bm25.run dense.run -o fused.run",
    "import": "cases.json",
    "init": "--collection mini --systems bm25 --yes",
    "run": "project",
    "baseline": "save qrels.txt hybrid.run",
    "gate": "--baseline hybrid.run qrels.txt hybrid.run",
    "history": "--store kept.db",
    "rescore": "--store kept.db",
    "leaderboard": "--store kept.db",
    "serve": "--check --port 0 --store kept.db",
    "store": "info --store kept.db",
    "judge": "list --store kept.db",
    "user": "list --store kept.db",
    "watch": "project",
    "collection": "show mini",
    "split": "mini -o split.json",
    "plan": "qrels.txt bm25.run dense.run --detect 0.1",
    "report": "scores.json -o report.html",
    "measures": "nDCG",
    "profiles": "beir",
    "doctor": "",
    "demo": "--recipes",
}
"""A call of every command that ends well; a command without one fails the tests below."""

MISSING_FILES = {
    "evaluate": f"{MISSING} bm25.run",
    "compare": f"qrels.txt bm25.run {MISSING}",
    "check": f"qrels.txt hybrid.run --targets {MISSING}.toml",
    "explain": f"qrels.txt {MISSING} --query q",
    "show": f"qrels.txt bm25.run {MISSING}",
    "diagnose": f"qrels.txt {MISSING}",
    "validate": f"qrels.txt {MISSING}",
    "convert": f"{MISSING} new.jsonl",
    "embed": f"{MISSING} -o vectors.npy",
    "fuse": f"bm25.run {MISSING} -o fused.run",
    "import": MISSING,
    "init": f"--collection {MISSING} --yes",
    "run": MISSING,
    "baseline": f"save qrels.txt {MISSING}",
    "gate": f"--baseline hybrid.run qrels.txt {MISSING}",
    "history": f"--store {MISSING}",
    "rescore": f"--store {MISSING}",
    "leaderboard": f"--store {MISSING}",
    "serve": f"--check --port 0 --store {MISSING}",
    "store": f"info --store {MISSING}",
    "judge": f"list --store {MISSING}",
    "user": f"list --store {MISSING}",
    "watch": MISSING,
    "collection": f"show {MISSING}",
    "split": f"{MISSING} -o split.json",
    "plan": f"qrels.txt bm25.run {MISSING} --detect 0.1",
    "report": f"{MISSING} -o report.html",
    "measures": "nonsense",
    "profiles": "nonsense",
    "demo": "--files here.txt",  # a file stands where a folder should be
}

MALFORMED_FILES = {
    "evaluate": "qrels.txt bad.run",
    "compare": "qrels.txt bm25.run bad.run",
    "check": "qrels.txt hybrid.run --targets bad.toml",
    "explain": "qrels.txt bad.run --query q",
    "show": "qrels.txt bm25.run bad.run",
    "diagnose": "qrels.txt bad.run",
    "validate": "qrels.txt bad.run --strict",
    "convert": "bad.run new.jsonl",
    "embed": "bad --model wordllama -o vectors.npy",
    "fuse": "bm25.run bad.run -o fused.run",
    "import": "bad.json",
    "init": "--collection bad --yes",
    "run": "bad.toml",
    "baseline": "save qrels.txt bad.run",
    "gate": "--baseline hybrid.run qrels.txt bad.run",
    "history": "--store bad.db",
    "rescore": "--store bad.db",
    "leaderboard": "--store bad.db",
    "serve": "--check --port 0 --store bad.db",
    "store": "info --store bad.db",
    "judge": "list --store bad.db",
    "user": "list --store bad.db",
    "watch": "bad.toml",
    "collection": "show bad",
    "split": "bad -o split.json",
    "plan": "qrels.txt bm25.run bad.run --detect 0.1",
    "report": "bad.json -o report.html",
}

FULL = {
    "evaluate": "qrels.txt bm25.run -o /dev/full",
    "compare": "qrels.txt bm25.run dense.run -o /dev/full --format json",
    "check": "qrels.txt hybrid.run --targets targets.toml -o /dev/full --format json",
    "explain": "qrels.txt bm25.run --query soup-for-a-cold -o /dev/full --format json",
    "show": "qrels.txt bm25.run dense.run -o /dev/full --format json",
    "diagnose": "qrels.txt hybrid.run -o /dev/full --format json",
    "convert": "bm25.run /dev/full",
    "fuse": "bm25.run dense.run -o /dev/full",
    "init": "--collection mini --systems bm25 --yes --force -o /dev/full",
    "plan": "qrels.txt bm25.run dense.run --detect 0.1 -o /dev/full --format json",
    "split": "mini --force -o /dev/full",
    "run": "project -o /dev/full --format json",
    "history": "--store kept.db -o /dev/full --format json",
    "rescore": "--store kept.db -o /dev/full --format json",
    "leaderboard": "--store kept.db -o /dev/full --format json",
    "watch": "project -o /dev/full --format json",
}
"""Commands that write to a file of any name; those that print are told so by standard output below."""
NEEDS_A_FORMAT = {"evaluate": " --format json"}

WITHOUT_FILES = {"measures", "profiles", "doctor", "demo"}


@pytest.fixture(scope="session")
def kept(tmp_path_factory):
    """Return a store with two runs of a system."""
    path = tmp_path_factory.mktemp("kept") / "kept.db"
    with rs.open_store(path, create=True) as store:
        qrels = store.qrels.add(rs.Qrels({"q": {"a": 1}}), name="small")
        collection = CollectionFacts(
            name="small", queries={"q": StoredQuery("what is a")}, qrels_sha256=qrels.judgments_sha256
        )
        for day, docs in ((1, ["b", "a"]), (2, ["a", "b"])):
            facts = RunFacts(system="bm25", collection=collection, started=f"2026-11-{day:02}T10:00:00+00:00")
            store.runs.add(rs.Run({"q": docs}), facts)
    return path


@pytest.fixture
def kitchen(cookbook, beir, rankscope, kept):
    """Return a folder that holds something for every command."""
    (cookbook / "bad.run").write_text("this is no run\n")
    (cookbook / "bad.json").write_text('{"cut": [')
    (cookbook / "bad.toml").write_text("x = [")
    (cookbook / "targets.toml").write_text('[[targets]]\nquery = "soup-for-a-cold"\ndoc = "chicken-broth"\ntop = 5\n')
    (cookbook / "here.txt").write_text("a file")
    (cookbook / "bad.db").write_text("this is no store\n")
    (cookbook / "kept.db").write_bytes(kept.read_bytes())
    (cookbook / "cases.json").write_text('[{"text": "fits", "expected_hpo_ids": ["HP:0001250"]}]')
    bad = cookbook / "bad"
    bad.mkdir()
    for name in ("corpus.jsonl", "queries.jsonl"):
        (bad / name).write_text('{"cut": [')
    (bad / "qrels.tsv").write_text("nothing\n")
    (cookbook / "project").mkdir()
    project = small_project(cookbook / "project", n_queries=4, module=f"searching_{cookbook.name.replace('-', '_')}")
    project.write(systems("one", "other"))
    main(["evaluate", "qrels.txt", "bm25.run", "dense.run", "-o", "scores.json"])
    return cookbook


class TestTable:
    def test_codes_are_those_agreed(self):
        assert {each.name: each.code for each in EXIT_CODES} == {
            "FINE": 0, "FINDING": 1, "WRONG_INPUT": 2, "UNFINISHED": 3, "BUG": 70, "INTERRUPTED": 130, "TERMINATED": 143,
        }  # fmt: skip
        assert all(getattr(exit_codes, each.name) == each.code for each in EXIT_CODES)

    def test_help_lists_them(self, rankscope):
        out = rankscope().out
        assert all(f"  {each.code:<3}  {each.meaning}\n" in out for each in EXIT_CODES)

    def test_docs_have_the_same_table(self):
        assert exit_codes.markdown_table() in (ROOT / "docs/exit-codes.md").read_text("utf-8")

    def test_no_command_returns_a_bare_number(self):
        found = [
            f"{path.name}:{node.lineno}"
            for path in (ROOT / "src/rankscope/cli").glob("*.py")
            for node in ast.walk(ast.parse(path.read_text("utf-8")))
            if isinstance(node, ast.Return)
            for part in ast.walk(node)
            if isinstance(part, ast.Constant) and type(part.value) is int and part is node.value
        ]
        assert found == []

    def test_every_command_is_tried(self):
        assert set(FINE_CALLS) == set(COMMANDS)
        assert set(MISSING_FILES) == set(COMMANDS) - {"doctor"}
        assert set(MALFORMED_FILES) == set(COMMANDS) - WITHOUT_FILES


class TestEveryCommand:
    @pytest.mark.parametrize("name", COMMANDS)
    def test_fine(self, rankscope, kitchen, name):
        done = rankscope(name, *FINE_CALLS[name].split())
        assert done.code in ({FINE, exit_codes.FINDING} if name == "diagnose" else {FINE}), done.err

    @pytest.mark.parametrize("name", COMMANDS)
    def test_a_bad_option(self, rankscope, kitchen, name):
        done = rankscope(name, *FINE_CALLS[name].split(), "--no-such-option")
        assert_refused(done, WRONG_INPUT)

    @pytest.mark.parametrize("name", MISSING_FILES)
    def test_a_file_that_is_missing(self, rankscope, kitchen, name):
        assert_refused(rankscope(name, *MISSING_FILES[name].split()), WRONG_INPUT)

    @pytest.mark.parametrize("name", MALFORMED_FILES)
    def test_a_malformed_file(self, rankscope, kitchen, name):
        assert_refused(rankscope(name, *MALFORMED_FILES[name].split()), WRONG_INPUT)

    @pytest.mark.parametrize("name", FULL)
    def test_a_full_disk(self, rankscope, kitchen, name):
        done = rankscope(name, *(FULL[name] + NEEDS_A_FORMAT.get(name, "")).split())
        assert_refused(done, UNFINISHED)
        assert "/dev/full" in done.err
        assert "No space left" in done.err

    @pytest.mark.parametrize("name", sorted(set(COMMANDS) - {"run", "demo", "report"}))
    def test_standard_output_is_full(self, kitchen, name):
        if name in ("convert", "fuse"):
            call = {"convert": "convert bm25.run -", "fuse": "fuse bm25.run dense.run"}[name].split()
        else:
            call = [name, *FINE_CALLS[name].split()]
        with Path("/dev/full").open("wb") as full:
            done = subprocess.run(
                [sys.executable, "-m", "rankscope", *call], stdout=full, stderr=subprocess.PIPE, timeout=60, check=False
            )
        err = done.stderr.decode()
        assert (done.returncode, "Traceback" in err, "standard output" in err) == (UNFINISHED, False, True), err

    @pytest.mark.parametrize("name", COMMANDS)
    def test_a_bug_of_ours(self, rankscope, kitchen, name, monkeypatch):
        monkeypatch.setenv("MY_API_KEY", "hunter22")

        def fail(_args):
            raise ZeroDivisionError("planted, hunter22")

        monkeypatch.setattr(COMMANDS[name], "run", fail)
        done = rankscope(name, *FINE_CALLS[name].split())
        assert_refused(done, BUG)
        assert "ZeroDivisionError: planted" in done.err
        assert f"command: rankscope {name}" in done.err
        assert "Python 3." in done.err
        assert "--debug" in done.err
        assert "hunter22" not in done.err

    @pytest.mark.parametrize("name", COMMANDS)
    @pytest.mark.parametrize("where", ["before", "after"])
    def test_debug_shows_the_traceback_of_every_error(self, rankscope, kitchen, name, where, monkeypatch):
        call = [name, *FINE_CALLS[name].split()]
        call = ["--debug", *call] if where == "before" else [*call, "--debug"]
        for error, code in (
            (InputError("wrong"), WRONG_INPUT),
            (UnfinishedError("halfway"), UNFINISHED),
            (ZeroDivisionError("planted"), BUG),
            (KeyboardInterrupt(), INTERRUPTED),
        ):
            monkeypatch.setattr(COMMANDS[name], "run", raising(error))
            done = rankscope(*call)
            assert (done.code, "Traceback (most recent call last)" in done.err) == (code, True)

    @pytest.mark.parametrize("name", COMMANDS)
    def test_interrupted(self, rankscope, kitchen, name, monkeypatch):
        monkeypatch.setattr(COMMANDS[name], "run", raising(KeyboardInterrupt()))
        done = rankscope(name, *FINE_CALLS[name].split())
        assert (done.code, done.err.splitlines()[-1]) == (INTERRUPTED, "interrupted")

    @pytest.mark.parametrize("name", COMMANDS)
    @pytest.mark.parametrize(
        ("error", "code"),
        [
            (MemoryError(), UNFINISHED),
            (SystemExit(0), BUG),
            (RuntimeError("std::bad_alloc"), UNFINISHED),
            (RuntimeError("can't start new thread"), UNFINISHED),
            (ImportError("libx.so: failed to map segment from shared object"), UNFINISHED),
            (ValueError("zstd decompress error: Allocation error : not enough memory"), UNFINISHED),
            (out_of_memory("x.run", 5), UNFINISHED),
            (OSError(5, "Input/output error", "x.run"), UNFINISHED),
            (OSError(30, "Read-only file system", "x.run"), UNFINISHED),
            (OSError(24, "Too many open files", "x.run"), UNFINISHED),
            (OSError(122, "Disk quota exceeded", "x.run"), UNFINISHED),
            (FileNotFoundError(2, "No such file or directory", "x.run"), WRONG_INPUT),
            (IsADirectoryError(21, "Is a directory", "x.run"), WRONG_INPUT),
            (PermissionError(13, "Permission denied", "x.run"), WRONG_INPUT),
        ],
        ids=lambda value: type(value).__name__,
    )
    def test_what_the_system_refuses(  # noqa: PLR0917
        self, rankscope, kitchen, name, error, code, monkeypatch
    ):
        monkeypatch.setattr(COMMANDS[name], "run", raising(error))
        done = rankscope(name, *FINE_CALLS[name].split())
        assert_refused(done, code)
        assert "x.run" in done.err or "memory" in done.err or code == BUG


def raising(error):
    def fail(*_):
        raise error

    return fail


def assert_refused(done, code):
    assert (done.code, "Traceback" in done.err) == (code, False), done.err
    assert re.search("^error: .", done.err, re.MULTILINE), done.err


def test_values_of_secrets_are_left_out_of_the_command(monkeypatch, rankscope, kitchen):
    monkeypatch.setattr(COMMANDS["convert"], "run", raising(ZeroDivisionError()))
    monkeypatch.setattr(COMMANDS["convert"], "add_arguments", lambda parser: parser.add_argument("all", nargs="*"))
    err = rankscope("convert", "https://me:hunter2@host/x?token=abcdef", "api_key=xyzzy1", "plain").err
    assert "plain" in err
    assert not any(secret in err for secret in ("hunter2", "abcdef", "xyzzy1"))


def test_the_handler_is_only_there_while_a_process_works_for_us(rankscope, kitchen, monkeypatch):
    before = signal.getsignal(signal.SIGTERM)
    seen = []
    monkeypatch.setattr(COMMANDS["measures"], "run", lambda _: seen.append(signal.getsignal(signal.SIGTERM)) or 0)
    assert rankscope("measures").code == FINE
    assert seen == [before]
    monkeypatch.setattr(sys, "argv", ["rankscope", "measures"])
    monkeypatch.setattr(main_module, "load_for_good", lambda _: None)
    assert main() == FINE
    assert seen[1] is not before
    assert signal.getsignal(signal.SIGTERM) == before


def test_a_limit_on_the_size_of_files(kitchen):
    """As a full disk, but for a file that is written whole or not at all: nothing is left behind."""
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    done = subprocess.run(
        [sys.executable, "-B", "-m", "rankscope", "convert", "bm25.run", "out.run"],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, limit)),
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, b"Traceback" in done.stderr) == (UNFINISHED, False), done.stderr
    assert b"out.run cannot be written: File too large" in done.stderr
    assert not list(kitchen.glob(".rankscope-*")) + list(kitchen.glob("out.run"))


def test_stderr_that_is_full_changes_no_code(kitchen):
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "rankscope", "evaluate", MISSING, "bm25.run"], stderr=full, timeout=60, check=False
        )
    assert done.returncode == WRONG_INPUT


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, TERMINATED), (signal.SIGINT, INTERRUPTED)], ids=["term", "int"]
)
class TestSignals:
    @pytest.mark.parametrize("name", ["evaluate qrels.txt", "compare qrels.txt bm25.run", "validate qrels.txt"])
    def test_while_it_reads(self, kitchen, name, number, code):
        if name.startswith("compare") and number == signal.SIGINT:
            pytest.skip("the thread that reads ends with the second Ctrl-C")
        os.mkfifo("pipe")
        command = [sys.executable, "-m", "rankscope", *name.split(), "pipe"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as started:
            writing = os.open("pipe", os.O_RDWR)  # a reader never sees the end of what is written
            os.write(writing, b"soup-for-a-cold Q0 d1 1 1.0 x\n")
            try:
                wait_until(lambda: not select.select([writing], [], [], 0)[0], seconds=10)
            finally:
                ended = end(started, number)
            assert ended == code
            assert b"Traceback" not in started.stderr.read()
            os.close(writing)

    def test_a_run_ends_what_it_started_and_keeps_its_answers(self, tmp_path, number, code):
        project = small_project(tmp_path)
        (tmp_path / "slow.sh").write_text("echo $$ > pid\nread line\nsleep 300 &\necho $! >> pid\nwait\n")
        project.write(systems("one") + '[systems.slow]\ntype = "command"\ncommand = "sh slow.sh"\n')
        started = project.start()
        pids = tmp_path / "pid"
        wait_until(lambda: pids.exists() and len(pids.read_text().split()) == 2)
        assert end(started, number) == code
        wait_until(lambda: not any(is_alive(int(pid)) for pid in pids.read_text().split()))
        assert not list(tmp_path.rglob(".rankscope-*"))
        assert list(tmp_path.glob("results/journal/small/one*"))
        project.write(systems("one"))
        assert project.run().returncode == FINE
        assert set(project.asked.values()) == {1}


def end(process, number) -> int:
    process.send_signal(number)
    try:
        return process.wait(timeout=30)
    finally:
        process.kill()


def wait_until(is_so, *, seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_failed_query_stops_the_run_where_that_is_asked_for(tmp_path):
    project = small_project(tmp_path, n_queries=8)
    project.write(systems("picky", "other"))
    stopped = project.run("--on-failure", "stop")
    assert stopped.returncode == UNFINISHED
    assert "error: picky: the run stops, as query 'q3' failed: ValueError: I do not like q3" in stopped.stderr
    assert "run again to go on from there" in stopped.stderr
    assert set(project.asked) == {"q0", "q1", "q2", "q3"}
    gone_on = project.run("--on-failure", "go-on")
    assert gone_on.returncode == exit_codes.FINDING
    assert project.asked["q0"] == 1
    assert set(project.asked) == {f"q{i}" for i in range(8)}
    assert project.run().returncode == exit_codes.FINDING
    wrong = project.run("--on-failure", "stopp")
    assert (wrong.returncode, "on_failure" in wrong.stderr.replace("-", "_")) == (WRONG_INPUT, True), wrong.stderr


def test_a_system_that_cannot_be_reached_is_left_out_also_with_stop(tmp_path):
    project = small_project(tmp_path, n_queries=4)
    project.write(systems("one") + '[systems.gone]\ntype = "command"\ncommand = "no-such-program-here"\n')
    assert project.run("--on-failure", "stop").returncode == WRONG_INPUT


@pytest.mark.parametrize("command", ["evaluate qrels.txt bm25.run", "compare qrels.txt bm25.run dense.run -o x.html"])
@pytest.mark.parametrize("limit_mb", [90, 160, 200, 400, 550, 1000, 1500])
def test_a_tight_limit_of_memory_is_said_in_words(cookbook, command, limit_mb):
    """OpenBLAS would try for ever or end with code 1, Polars abort."""
    call = f"ulimit -v {limit_mb << 10}; exec {sys.executable} -m rankscope {command}"
    done = subprocess.run(["bash", "-c", call], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode in (FINE, UNFINISHED), done.stderr
    assert done.returncode == FINE or "not enough memory" in done.stderr
    assert done.returncode == FINE or not Path("x.html").exists()


@pytest.mark.parametrize("gate", ["--fail-under nDCG@10=0.99", "--fail-under=nDCG@10=0.99"])
def test_a_gate_whose_answer_nobody_read_does_not_pass(cookbook, gate):
    call = f"set -o pipefail; {sys.executable} -m rankscope evaluate qrels.txt bm25.run -q --format json {gate} | true"
    done = subprocess.run(["bash", "-c", call], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode in (1, WRONG_INPUT), done.stderr


def test_where_there_is_no_memory_to_say_what_happened_a_sentence_is_said_all_the_same(monkeypatch, capfd):
    def no_memory(*_):
        raise MemoryError

    monkeypatch.setattr(main_module, "say", no_memory)
    assert main(["evaluate", "no-such-file", "neither"]) == UNFINISHED
    assert capfd.readouterr().err == "error: there is not enough memory to finish\n"


def test_what_a_command_held_is_given_back_before_anything_is_said(monkeypatch):
    """The frames of an error hold all that was in memory when there was no more."""
    held = []

    class Large:
        pass

    def run(_):
        large = Large()
        held.append(weakref.ref(large))
        raise MemoryError

    said = []
    monkeypatch.setattr(main_module, "dispatch", lambda *_, **__: run(0))
    monkeypatch.setattr(main_module, "say", lambda *lines: said.append((lines[0], held[0]())))
    assert main(["evaluate"]) == UNFINISHED
    assert said == [("error: there is not enough memory to finish", None)]
