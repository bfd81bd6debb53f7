"""Every Python and console block of the guides is run, and what it shows is compared with what it does.

The convention is described in CONTRIBUTING.md, under "Docs that are run".
"""

import ast
import contextlib
import io
import os
import re
import shutil
import subprocess
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path

import pytest

from rankscope.demo import QRELS, RUNS, demo_file
from rankscope.io.formats import FORMATS
from rankscope.measures.registry import ALIASES, REGISTRY

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SHOWN = re.compile(r"#\s*->\s*(.*)$")


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text, the line it starts on, and the text block right behind it, if any."""

    language: str
    text: str
    line: int
    printed: str | None = None


def blocks_of(page: str) -> list[Block]:
    found = []
    for match in FENCE.finditer(page):
        line = page.count("\n", 0, match.start()) + 1
        behind = re.match(r"\n\n```text\n(.*?)^```$", page[match.end() :], re.MULTILINE | re.DOTALL)
        found.append(Block(match[1], match[2], line, behind[1] if behind else None))
    return found


def shown_value(lines: list[str], end: int) -> str | None:
    """Return the value that is shown behind an expression, or on the line below it."""
    below = lines[end] if end < len(lines) and lines[end].startswith("# ->") else ""
    shown = SHOWN.search(lines[end - 1]) or SHOWN.search(below)
    return shown[1] if shown else None


def run_python(block: Block, namespace: dict) -> str:
    """Run a block, compare every `expression  # -> value`, and return what was printed."""
    lines = block.text.splitlines()
    printed = io.StringIO()
    for node in ast.parse(block.text).body:
        shown = shown_value(lines, node.end_lineno)
        source = ast.get_source_segment(block.text, node)
        with contextlib.redirect_stdout(printed):
            if isinstance(node, ast.Expr) and shown:
                assert repr(eval(source, namespace)) == shown, source
            else:
                code = ast.Module([node], type_ignores=[])
                exec(compile(code, f"line {block.line}", "exec"), namespace)
    return printed.getvalue()


def run_command(command: str, folder: Path) -> str:
    """Run a command as a user would, and return what appears."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("COV_", "PYTHON", "COLUMNS"))}
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env={**kept, "PATH": path, "PYTHONUTF8": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
        timeout=60,
    )
    return done.stdout.decode()


def console_steps(text: str) -> list[tuple[str, str]]:
    """Return each command with the output that is shown for it."""
    steps = re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]
    return [(step.partition("\n")[0], step.partition("\n")[2]) for step in steps]


def matches(shown: str, actual: str) -> bool:
    """Compare output; a line of three dots stands for any lines."""
    parts = [re.escape(part) for part in re.split(r"^\.\.\.\n", shown, flags=re.MULTILINE)]
    return re.fullmatch(r"(?:.*\n)*?".join(parts), actual) is not None


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Go to a folder with the files of the demo; forget measures and formats that a page registers."""
    for name in (QRELS, *RUNS):
        (tmp_path / name).write_bytes(demo_file(name).read_bytes())
    monkeypatch.chdir(tmp_path)
    measures, aliases, formats = set(REGISTRY), set(ALIASES), set(FORMATS)
    yield tmp_path
    for registered, before in ((REGISTRY, measures), (ALIASES, aliases), (FORMATS, formats)):
        for name in set(registered) - before:
            registered.remove(name)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_blocks_do_what_they_show(page, folder):
    namespace: dict = {"__name__": page.stem}
    for block in blocks_of(page.read_text("utf-8")):
        where = f"{page.name}, line {block.line}"
        if block.language == "python":
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                printed = run_python(block, namespace)
            assert printed == (block.printed or ""), where
        elif block.language == "console":
            for command, shown in console_steps(block.text):
                actual = run_command(command, folder)
                assert matches(shown, actual), f"{where}: $ {command}\n{actual}"


def test_pages_have_blocks_to_run():
    counts = {page.name: len([b for b in blocks_of(page.read_text("utf-8")) if b.language != "text"]) for page in PAGES}
    assert sum(counts.values()) > 20


def test_control_a_wrong_value_is_noticed(tmp_path):
    with pytest.raises(AssertionError):
        run_python(Block("python", "1 + 1  # -> 3\n", 1), {})
    assert not matches("3\n", "2\n")
    assert matches("a\n...\nd\n", "a\nb\nc\nd\n")
    assert not matches("a\n...\nd\n", "a\nb\nc\n")


def links_of(page: Path) -> list[str]:
    return [link for link in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text("utf-8")) if "://" not in link]


@pytest.mark.parametrize("page", [*PAGES, ROOT / "ARCHITECTURE.md", ROOT / "CHANGELOG.md"], ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for link in links_of(page):
        assert (page.parent / link).exists(), link


def test_bash_is_there():
    assert shutil.which("bash")
