"""ARCHITECTURE.md is true: its files are there, and the drawn commands enter the files that they are drawn with."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "rankscope"
TEXT = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
TRACE = """
import sys, threading
entered = set()
def note(frame, event, argument):
    if event == "call" and frame.f_code.co_name != "<module>":
        entered.add(frame.f_code.co_filename)
from rankscope.cli.main import main
threading.setprofile(note)
sys.setprofile(note)
main(sys.argv[1:])
sys.setprofile(None)
print("\\n".join(sorted(entered)), file=sys.stderr)
"""
PROJECT = """
[collections.mini]
path = "mini"
[systems.first]
type = "bm25"
[systems.second]
type = "bm25"
k1 = 0.5
"""


def drawn(command: str) -> list[str]:
    """Return the files that the drawing of a command names first in their lines."""
    block = re.search(rf"## The way of `{command}`\n\n```\n(.*?)```", TEXT, re.DOTALL)[1]
    return [line.split()[0] for line in block.splitlines() if line.strip()]


@pytest.fixture
def folder(tmp_path):
    """Return a folder with qrels, two runs and a project; one run has unjudged docs that may tip the balance."""
    queries = [f"q{i}" for i in range(12)]
    (tmp_path / "qrels.txt").write_text("".join(f"{q} 0 d1 1\n{q} 0 d2 0\n{q} 0 d5 1\n" for q in queries))
    for name, docs in (("first", "d2 d1 d3 d5"), ("second", "d1 d4 d2 d5")):
        rows = [f"{q} Q0 {doc} {i} {9 - i} {name}\n" for q in queries for i, doc in enumerate(docs.split())]
        (tmp_path / f"{name}.run").write_text("".join(rows))
    (tmp_path / "mini").mkdir()
    words = ("sudden", "fever", "skin")
    (tmp_path / "mini/corpus.jsonl").write_text("".join(f'{{"_id": "{w}", "text": "{w} text"}}\n' for w in words))
    (tmp_path / "mini/queries.jsonl").write_text("".join(f'{{"_id": "q-{w}", "text": "{w}"}}\n' for w in words))
    (tmp_path / "mini/qrels.txt").write_text("".join(f"q-{w} 0 {w} 1\n" for w in words))
    (tmp_path / "rankscope.toml").write_text(PROJECT)
    return tmp_path


@pytest.mark.parametrize(
    "arguments",
    [["evaluate", "qrels.txt", "first.run"], ["compare", "qrels.txt", "first.run", "second.run"], ["run"]],
    ids=lambda arguments: arguments[0],
)
def test_a_command_enters_the_files_that_it_is_drawn_with(folder, arguments):
    command = [sys.executable, "-c", TRACE, *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    entered = {line.rpartition("rankscope/")[2] for line in done.stderr.splitlines()}
    entered = {place for place in entered if (SOURCE / place).exists()} | {
        Path(line).relative_to(SOURCE).as_posix() for line in done.stderr.splitlines() if line.startswith(str(SOURCE))
    }
    assert [place for place in drawn(arguments[0]) if place not in entered] == []


def test_every_path_is_there():
    named = re.findall(r"`((?:[a-z_]+/)+(?:[a-z_]+\.py)?)`", TEXT)
    folders = (SOURCE, ROOT)
    missing = [path for path in named if not any((folder / path).exists() for folder in folders)]
    assert [path for path in missing if not path.endswith("/x.py")] == []  # x stands for a new one


def test_every_package_and_module_at_the_top_is_in_the_layers():
    layers = TEXT.split("## Layers")[1].split("```")[1]
    tops = {path.stem if path.is_file() else path.name for path in SOURCE.iterdir()}
    unlisted = {
        "__init__",
        "__main__",
        "_version",
        "__pycache__",
        "demo",
        "testing",
        "typing",
        "py",
        "_kernel",
        "pytest_plugin",
    }
    missing = {top for top in tops if top.split(".")[0] not in unlisted and not re.search(rf"\b{top}\b", layers)}
    assert missing == set()
