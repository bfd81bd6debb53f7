"""The entry point: help, exit codes, colours, pipes, and what is imported."""

import os
import subprocess
import sys

import pytest

from rankscope import __version__
from rankscope.cli.main import COMMANDS, main, parser_of
from rankscope.registry import Entry


def test_without_a_command_the_commands_are_listed(rankscope):
    done = rankscope()
    assert done.code == 0
    for name in COMMANDS:
        assert name in done.out
        assert COMMANDS.summary(name) in done.out


@pytest.mark.parametrize("arguments", [["--help"], ["-h"], *([name, "--help"] for name in COMMANDS)])
def test_help(arguments, capsys):
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 0
    out = capsys.readouterr().out
    assert out.startswith("usage: rankscope")
    assert "examples:" in out
    assert max(map(len, out.splitlines())) <= 120


def test_version(capsys):
    with pytest.raises(SystemExit):
        main(["--version"])
    assert capsys.readouterr().out == f"rankscope {__version__}\n"


def test_unknown_command_gets_a_suggestion(rankscope):
    done = rankscope("evalute")
    assert (done.code, done.out) == (2, "")
    assert done.err == "error: there is no command 'evalute'\nhint: did you mean evaluate or validate?\n"
    assert "`rankscope --help` lists the commands" in rankscope("xyzzy").err


def test_unknown_option_before_a_command(rankscope):
    assert rankscope("--nonsense").code == 2


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_is_explained(name):
    for action in parser_of(name)._actions:
        assert action.help is not None
        assert str(action.help)


def test_module_can_be_run(start):
    assert start("--version").out == f"rankscope {__version__}\n"
    assert start("nonsense").code == 2


def test_finding_is_exit_code_1(start, cookbook):
    assert start("validate", "qrels.txt", "bm25.run").code == 1  # a query is not answered


def test_interrupt_is_not_a_traceback(rankscope, monkeypatch):
    def interrupt(_given, **_):
        raise KeyboardInterrupt

    monkeypatch.setattr("rankscope.cli.main.dispatch", interrupt)
    done = rankscope("measures")
    assert (done.code, done.err) == (130, "interrupted\n")


@pytest.mark.parametrize(
    "command",
    [
        "evaluate qrels.txt hybrid.run -q -m nDCG@10 --format csv",
        "diagnose qrels.txt hybrid.run",
        "measures",
        "convert hybrid.run -",
    ],
)
def test_a_reader_who_leaves_early_is_no_error(cookbook, command):
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", f"{sys.executable} -m rankscope {command} | head -1 > /dev/null"],
        cwd=cookbook,
        capture_output=True,
        check=False,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    assert b"Traceback" not in done.stderr
    assert b"BrokenPipe" not in done.stderr
    assert b"bug" not in done.stderr


def test_pipes_get_no_colour(start, cookbook):
    assert "\x1b" not in start("evaluate", "qrels.txt", "dense.run", "hybrid.run").out


def test_no_color_is_honoured(start, cookbook):
    drawn = {"FORCE_COLOR": "1", "TERM": "xterm-256color"}
    assert "\x1b[1;32m" in start("evaluate", "qrels.txt", "dense.run", "hybrid.run", **drawn).out
    assert "\x1b[1;32m" not in start("evaluate", "qrels.txt", "dense.run", "hybrid.run", NO_COLOR="1", **drawn).out
    assert ";32m" not in start("evaluate", "qrels.txt", "dense.run", "hybrid.run", NO_COLOR="1", **drawn).out


HEAVY = ("scipy", "polars", "pandas", "rich", "pyarrow")


def loaded_after(code: str) -> set[str]:
    script = f"import sys\n{code}\nprint(*(name for name in {HEAVY!r} if name in sys.modules), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True, text=True)
    return set(done.stderr.split())


def test_importing_rankscope_loads_nothing_heavy():
    assert loaded_after("import rankscope; rankscope.evaluate; rankscope.Run") == set()


def test_evaluating_dicts_loads_nothing_heavy():
    assert loaded_after("import rankscope as rs; rs.evaluate({'q': {'d': 1}}, {'q': {'d': 1.0}}, 'AP').mean()") == set()


def test_help_loads_nothing_heavy():
    assert loaded_after("from rankscope.cli.main import main; main([])") == set()


def test_ascii_terminals_get_a_table(start, cookbook):
    done = start("evaluate", "qrels.txt", "hybrid.run", PYTHONUTF8="0", PYTHONIOENCODING="ascii")
    assert done.code == 0
    assert "0.8254" in done.out


def test_other_packages_add_commands_through_entry_points(rankscope, monkeypatch, tmp_path):
    (tmp_path / "greeting_command.py").write_text(
        '"""Greet."""\nEPILOG = ""\ndef add_arguments(parser): parser.add_argument("name")\n'
        'def run(args): print("hello", args.name); return 0\n'
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(COMMANDS, "entries", {**COMMANDS.entries, "greet": Entry("greeting_command", "greet somebody")})
    assert rankscope("greet", "you").out == "hello you\n"
    assert "greet somebody" in rankscope().out
