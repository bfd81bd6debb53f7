import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_all_dependencies_have_permissive_licences():
    listing = subprocess.run(
        [sys.executable, ROOT / "benchmarks/licences.py", "--all"], capture_output=True, text=True, check=False
    )
    assert listing.returncode == 0, listing.stdout
    names = {line.split()[0] for line in listing.stdout.splitlines()}
    assert {"msgspec", "numpy", "polars", "rankscope", "rich", "scipy", "urllib3", "zstandard"} <= names


def test_tested_versions_are_exact_and_cover_what_is_needed():
    lines = (ROOT / "tested-versions.txt").read_text().splitlines()[1:]
    names = {line.partition("==")[0].lower() for line in lines}
    assert all("==" in line and " " not in line for line in lines)
    assert {"numpy", "polars", "pytest", "hypothesis", "scikit_build_core"} <= names
