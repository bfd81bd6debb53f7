"""Says on what, when and with which versions the figures were taken."""

from __future__ import annotations

import datetime as dt
import json
import os
import platform
import subprocess
from pathlib import Path

from paths import OUR_BIN, PEERS_BIN

OURS = ("rankscope", "numpy", "polars")
PEERS = ("pytrec-eval-terrier", "ir_measures", "ranx", "numba", "numpy", "pandas", "pyarrow")
KERNEL = "from rankscope.native import kernel; print('compiled' if kernel() else 'reference (Python)')"
ASK = (
    "import json, sys; from importlib.metadata import version; print(json.dumps({n: version(n) for n in sys.argv[1:]}))"
)


def describe_machine() -> dict[str, str]:
    """Return the facts that the figures depend on."""
    return {
        "date": dt.datetime.now(tz=dt.UTC).date().isoformat(),
        "processor": f"{processor()}, {len(os.sched_getaffinity(0))} cores",
        "system": f"{platform.system()} {platform.release()}, Python {platform.python_version()}",
        "ours": versions(OUR_BIN, OURS),
        "kernel": said_by(OUR_BIN, KERNEL),
        "peers": versions(PEERS_BIN, PEERS),
        "load before timing": f"{os.getloadavg()[0]:.1f}",
    }


def processor() -> str:
    """Return the model of the CPU."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())


def versions(bin_folder: Path, names: tuple[str, ...]) -> str:
    """Return the versions of packages of an environment."""
    found = json.loads(said_by(bin_folder, ASK, *names))
    return ", ".join(f"{name} {version}" for name, version in found.items())


def said_by(bin_folder: Path, code: str, *arguments: str) -> str:
    """Return what a line of Python prints in an environment."""
    command = [bin_folder / "python", "-c", code, *arguments]
    return subprocess.run(command, capture_output=True, check=True, text=True).stdout.strip()
