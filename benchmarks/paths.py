"""Where the benchmark finds and keeps things."""

from __future__ import annotations

import sys
from pathlib import Path

BENCHMARKS = Path(__file__).resolve().parent
JOBS = BENCHMARKS / "jobs"
BUILD = BENCHMARKS.parent / "build" / "bench"
RESULTS = BUILD / "results.json"
PYCACHE = BUILD / "pycache"

OUR_BIN = Path(sys.executable).parent
PEERS_VENV = BUILD / "peers-venv"
PEERS_BIN = PEERS_VENV / "bin"
