"""Every command, with every call of the system that it makes on its files going wrong once: disk full, I/O error, no memory.

A small shim in C (shim.c) is loaded with LD_PRELOAD and lets the n-th open, read, mmap, write, fsync, rename or close
on files beneath one folder fail, or come back short; so what the kernel and other libraries do is covered, too.
harness.py loads Rankscope once and forks for each trial. Whatever fails, a command ends in time, with exit code 2 or 3
and an `error:` line (`run` with 1 where single queries failed), or with 0 and all of its output; no traceback, no file
that is half-written, no temporary file. After `run`, an undisturbed one gives the same runs.

Some calls are left out; RANKSCOPE_EVERY_FAULT=1, which `scripts/test --full` sets, tries all of them with every error.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from cases import CASES

from rankscope.cli.main import COMMANDS

HERE = Path(__file__).parent
EVERY = os.environ.get("RANKSCOPE_EVERY_FAULT") == "1"


@pytest.fixture(scope="session")
def shim(tmp_path_factory):
    """Return the library that lets calls fail."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None or not sys.platform.startswith("linux"):
        pytest.skip("a C compiler and Linux are needed")
    library = tmp_path_factory.mktemp("faults") / "shim.so"
    subprocess.run(
        [compiler, "-O1", "-Wall", "-Werror", "-shared", "-fPIC", "-o", library, HERE / "shim.c", "-ldl"], check=True
    )
    return library


def test_every_command_has_its_row():
    assert sorted(CASES) == sorted(COMMANDS)


@pytest.mark.slow
@pytest.mark.parametrize("command", CASES)
def test_nothing_is_half_written_whatever_fails(shim, command):
    arguments = [sys.executable, HERE / "harness.py", shim, command, *(["--every"] if EVERY else [])]
    environment = {**os.environ, "LD_PRELOAD": str(shim), "OPENBLAS_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    environment.pop("COVERAGE_PROCESS_START", None)
    done = subprocess.run(
        arguments, env=environment, capture_output=True, text=True, check=False, timeout=None if EVERY else 3600
    )
    assert done.returncode == 0, done.stderr
    for found in json.loads(done.stdout):
        assert found["problems"] == []
        assert found["hit"] >= 3
