"""Installs the peers into an environment of their own, so that nothing of theirs enters ours."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

from paths import BENCHMARKS, PEERS_BIN, PEERS_VENV

REQUIREMENTS = BENCHMARKS / "peers.txt"
STAMP = PEERS_VENV / "installed"


def install_peers() -> None:
    """Make the peers' environment, unless it is there already with the same list of requirements."""
    wanted = stamp_of(REQUIREMENTS)
    if STAMP.exists() and STAMP.read_text() == wanted:
        return
    print(f"Installing the peers into {PEERS_VENV} …", file=sys.stderr)
    shutil.rmtree(PEERS_VENV, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", PEERS_VENV], check=True)
    pip = [PEERS_BIN / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "--requirement", REQUIREMENTS], check=True)
    STAMP.write_text(wanted)


def stamp_of(requirements: Path) -> str:
    """Return what changes whenever the list of requirements or our Python does."""
    return f"{hashlib.sha256(requirements.read_bytes()).hexdigest()} {sys.version}"


if __name__ == "__main__":
    install_peers()
