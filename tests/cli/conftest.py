from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from rankscope.cli.main import main
from rankscope.demo import QRELS, RUNS, demo_file

GOLDEN = Path(__file__).parents[1] / "golden" / "trec_eval"


@dataclass(frozen=True)
class Outcome:
    """What a command did."""

    code: int
    out: str
    err: str


@pytest.fixture
def rankscope(capsys):
    """Return a function that runs a command in this process."""

    def run(*arguments: object) -> Outcome:
        code = main([str(argument) for argument in arguments])
        return Outcome(code, *capsys.readouterr())

    return run


@pytest.fixture
def start():
    """Return a function that starts the command line as a process of its own."""

    def run(*arguments: object, stdin: bytes | None = None, **environment: str) -> Outcome:
        done = subprocess.run(
            [sys.executable, "-m", "rankscope", *map(str, arguments)],
            input=stdin,
            capture_output=True,
            check=False,
            env={**os.environ, "PYTHONUTF8": "1", **environment},
            timeout=60,
        )
        return Outcome(done.returncode, done.stdout.decode(), done.stderr.decode())

    return run


@pytest.fixture
def cookbook(tmp_path, monkeypatch):
    """Go to a folder that holds the files of the demo."""
    for name in (QRELS, *RUNS):
        (tmp_path / name).write_bytes(demo_file(name).read_bytes())
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def graded():
    """Return the folder of a case with graded judgments, scored by trec_eval."""
    return GOLDEN / "graded"


@pytest.fixture
def golden_scores():
    """Return a function that reads trec_eval's own output as {query: {measure: text}}."""

    def read(case: str, name: str = "trec_eval-10.0.qc.txt") -> dict[str, dict[str, str]]:
        scores: dict[str, dict[str, str]] = {}
        for line in (GOLDEN / case / name).read_text().splitlines():
            measure, query, value = line.split("\t")
            scores.setdefault(query, {})[measure.strip()] = value
        return scores

    return read
