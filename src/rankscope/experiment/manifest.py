"""The manifest: what a run was made of, so that it can be obtained again and told apart from others."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import platform
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rankscope._version import __version__
from rankscope.experiment.results import Benchmark, CollectionResult, SystemResult
from rankscope.io.files import write_text
from rankscope.systems.options import versions_of

FILE = "manifest.json"
LIBRARIES = ("numpy", "scipy", "polars", "bm25s", "PyStemmer", "wordllama", "torch", "sentence-transformers")


def write_manifest(benchmark: Benchmark) -> Path:
    """Write the manifest of a run into its output folder, and return where it is."""
    target = benchmark.project.output / FILE
    target.parent.mkdir(parents=True, exist_ok=True)
    write_text(target, json.dumps(manifest_of(benchmark), indent=1, ensure_ascii=False) + "\n")
    return target


def manifest_of(benchmark: Benchmark) -> dict[str, Any]:
    """Return all that a run depends on, what it counted, and when it was."""
    project = benchmark.project
    return {
        "rankscope": __version__,
        "python": platform.python_version(),
        "platform": sys.platform,
        "libraries": {name: version for name, version in versions_of(*LIBRARIES).items() if version[0].isdigit()},
        "project": {"file": project.file.name, "sha256": project.sha256},
        "command": benchmark.command,
        "started": benchmark.started,
        "finished": benchmark.finished,
        "measures": list(project.measures),
        "primary": project.primary,
        "strata": list(project.strata),
        "margin": project.margin,
        "seeds": list(project.seeds),
        "depth": benchmark.depth,
        "collections": {result.name: collection_record(result, benchmark) for result in benchmark.collections},
    }


def collection_record(result: CollectionResult, benchmark: Benchmark) -> dict[str, Any]:
    """Return what is known of one collection and its systems."""
    return {
        "parts": {name: {"n": part.n, "sha256": part.sha256} for name, part in result.parts.items()},
        "queries": {"measured": len(result.sides.measured), "train": len(result.sides.train), "how": result.sides.how},
        "group": benchmark.project.collections[result.name].group,
        "weights": benchmark.project.collections[result.name].weights,
        "systems": {system.name: system_record(system, benchmark) for system in result.systems},
        "choices": {choice.system: dict(choice.chosen.options) for choice in result.choices},
        "about": dict(result.about),
    }


def system_record(system: SystemResult, benchmark: Benchmark) -> dict[str, Any]:
    """Return what is known of one system; its options as they stand in the project file.

    What the system says of itself is left out where the file says it in another way, such as by the name of an
    environment variable: what that holds may be a secret.
    """
    folder = benchmark.project.file.resolve().parent
    written = benchmark.project.systems[system.name].written
    described = {name: value for name, value in system.described.items() if written.get(name, value) == value}
    return {
        "options": dict(written),
        "described": described,
        "fingerprint": system.fingerprint,
        "run": None if system.run is None else {"path": str(system.run), "sha256": sha256_of(folder / system.run)},
        "n_queries": system.n_queries,
        "n_answered": system.n_answered,
        "n_failed": len(system.failures),
        "costs": dataclasses.asdict(system.profile),
    }


def sha256_of(path: Path) -> str:
    """Return the digest of a file."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def fingerprint_of(content: Mapping[str, Any]) -> str:
    """Return a digest of what a system's answers depend on."""
    text = json.dumps(content, sort_keys=True, ensure_ascii=False, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()
