"""The guide to continuous integration, followed word by word in a new git repository."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs/ci.md").read_text("utf-8")
STEP = re.compile(r"^`([\w./-]+)`:\n\n```\w+\n(.*?)^```$|^```(sh|diff)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CODES = {"rankscope gate --run -o gate.xml": 0, "rankscope gate --run": 1}
"""What commands of the guide end with, by how they begin, where that is not 0; the longest counts."""


def matches(shown: str, actual: str) -> bool:
    """Compare output; three dots stand for anything, and the hash and size of a ranking for any.

    They change with the sources of the systems, whose hash is in the name of a run.
    """
    shown, actual = (
        re.sub(r"\.[0-9a-f]{12}(\.trec\.gz) \(\d+ bytes", r".HASH\1 (N bytes", text) for text in (shown, actual)
    )
    parts = [re.escape(part) for part in re.split(r"^\.\.\.\n|\.\.\.(?=\n)", shown, flags=re.MULTILINE)]
    return re.fullmatch(r"[\s\S]*?".join(parts), actual) is not None


def code_of(command: str) -> int:
    known = max((start for start in CODES if command.startswith(start)), key=len, default="")
    return CODES.get(known, 0)


@pytest.fixture
def run(tmp_path):
    """Return a function that runs a command of the guide in a git repository of its own."""
    programs = tmp_path / "programs"
    programs.mkdir()
    plugin = "" if is_installed() else "-p rankscope.pytest_plugin "
    for name, start in (("rankscope", "-m rankscope"), ("pytest", f"-m pytest {plugin}-p no:cacheprovider")):
        (programs / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {start} "$@"\n')
        (programs / name).chmod(0o755)
    folder = tmp_path / "shop"
    folder.mkdir()
    someone = {
        f"GIT_{who}_{what}": "someone@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
    }
    kept = {
        key: value for key, value in os.environ.items() if not key.startswith(("COV_", "COLUMNS", "GITHUB_", "PYTEST_"))
    }
    # an installation that is not editable has no such module to warn of
    quiet = {"PYTEST_ADDOPTS": "-W ignore::pytest.PytestAssertRewriteWarning"}
    known = {
        **kept,
        **someone,
        **quiet,
        "PATH": f"{programs}:{os.environ['PATH']}",
        "PYTHONUTF8": "1",
        "HOME": str(tmp_path),
    }
    known["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "" if is_installed() else "1"

    def run(command: str) -> tuple[int, str]:
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=folder,
            env=known,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
            timeout=120,
        )
        return done.returncode, done.stdout.decode()

    run("git init -q -b main")
    return folder, run


def is_installed() -> bool:
    """Tell whether pytest finds the plugin by itself, as it does where the package is installed from this source."""
    from importlib.metadata import entry_points

    return any(point.value == "rankscope.pytest_plugin" for point in entry_points(group="pytest11"))


@pytest.mark.slow
def test_the_guide_works(run):
    folder, shell = run
    n_commands = n_files = 0
    for name, content, language, block in STEP.findall(TEXT):
        if name:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(content)
            n_files += 1
        elif language == "diff":
            before, after = (line[1:] + "\n" for line in block.splitlines())
            text = (folder / "search.py").read_text()
            assert before in text
            (folder / "search.py").write_text(text.replace(before, after))
        else:
            for step in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
                command, _, shown = step.partition("\n")
                code, printed = shell(command)
                assert code == code_of(command), f"{command}: {printed}"
                if shown:
                    assert matches(shown, printed), f"{command}\n{printed}"
                n_commands += 1
    assert (n_files, n_commands) == (7, 13)


def test_the_workflow_of_the_guide_is_the_one_that_is_checked():
    assert f"```yaml\n{(ROOT / 'docs/ci/github.yml').read_text('utf-8')}```" in TEXT
