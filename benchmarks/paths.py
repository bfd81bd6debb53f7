"""Where the benchmark finds and keeps things."""

from __future__ import annotations

from pathlib import Path

BENCHMARKS = Path(__file__).resolve().parent
JOBS = BENCHMARKS / "jobs"
ROOT = BENCHMARKS.parent
BUILD = ROOT / "build" / "bench"
RESULTS = BUILD / "results.json"
PYCACHE = BUILD / "pycache"

OUR_VENV = BUILD / "our-venv"
OUR_BIN = OUR_VENV / "bin"
PEERS_VENV = BUILD / "peers-venv"
PEERS_BIN = PEERS_VENV / "bin"
