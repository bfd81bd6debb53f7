"""Installs Rankscope and its peers, each as users do, into environments of their own.

Nothing of theirs enters ours, and nothing of either is slowed by what development needs: an editable installation, as
in .venv, has hooks that cost every start of Python a few milliseconds.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from paths import BENCHMARKS, OUR_VENV, PEERS_VENV, ROOT

REQUIREMENTS = BENCHMARKS / "peers.txt"
TABLES = ("pandas", "pyarrow")
"""What the tables are made with that are evaluated; Rankscope itself needs neither."""


def install_all() -> None:
    """Make both environments, unless they are there already as they should be."""
    install(PEERS_VENV, "--requirement", str(REQUIREMENTS), made_from=[REQUIREMENTS])
    source = [path for path in (ROOT / "src").rglob("*") if path.suffix in {".py", ".hpp", ".cpp"}]
    install(OUR_VENV, str(ROOT), *TABLES, made_from=[ROOT / "pyproject.toml", ROOT / "CMakeLists.txt", *sorted(source)])


def install(venv: Path, *wanted: str, made_from: Sequence[Path]) -> None:
    """Install what is wanted into an environment, where what it is made from has changed."""
    stamp, now = venv / "installed", stamp_of(made_from)
    if stamp.exists() and stamp.read_text() == now:
        return
    print(f"Installing into {venv} …", file=sys.stderr)
    shutil.rmtree(venv, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", venv], check=True)
    pip = [venv / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, *wanted], check=True)
    stamp.write_text(now)


def stamp_of(files: Sequence[Path]) -> str:
    """Return what changes whenever one of the files or our Python does."""
    content = hashlib.sha256()
    for file in files:
        content.update(file.read_bytes())
    return f"{content.hexdigest()} {sys.version}"


if __name__ == "__main__":
    install_all()
