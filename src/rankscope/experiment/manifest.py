"""The manifest: what a run was made of, so that it can be repeated and distinguished from others."""

from __future__ import annotations

import hashlib
import json
import platform
import sys
from typing import Any

from rankscope._version import __version__
from rankscope.experiment.project import Project
from rankscope.experiment.results import Benchmark, CollectionResult, SystemResult
from rankscope.io.files import write_text
from rankscope.records import to_builtins
from rankscope.systems.options import versions_of

LIBRARIES = ("numpy", "scipy", "polars", "bm25s", "PyStemmer", "wordllama", "torch", "sentence-transformers")


def write_manifest(benchmark: Benchmark, project: Project) -> None:
    """Write all that a run depends on, what it counted, and when it was, into the project's output folder."""
    stored = to_builtins(benchmark.project)
    manifest = {
        "rankscope": __version__,
        "python": platform.python_version(),
        "platform": sys.platform,
        "libraries": {name: version for name, version in versions_of(*LIBRARIES).items() if version[0].isdigit()},
        "project": {"file": stored["file"], "sha256": stored["sha256"]},
        "command": benchmark.command,
        "started": benchmark.started,
        "finished": benchmark.finished,
        **{name: stored[name] for name in ("measures", "primary", "strata", "margin", "seeds")},
        "depth": benchmark.depth,
        "collections": {
            result.name: {
                "parts": to_builtins(result.parts),
                "queries": to_builtins(result.split.sizes),
                "group": result.group,
                "weights": result.weights,
                "systems": {system.name: system_manifest(system, result, project) for system in result.systems},
                "choices": {choice.system: choice.chosen for choice in result.choices},
                "about": result.about,
            }
            for result in benchmark.collections
        },
    }
    project.output.mkdir(parents=True, exist_ok=True)
    write_text(project.output / "manifest.json", json.dumps(manifest, indent=1, ensure_ascii=False) + "\n")


def system_manifest(system: SystemResult, result: CollectionResult, project: Project) -> dict[str, Any]:
    """Return what is known of one system; its options as they stand in the project file.

    What the system says of itself is left out where the file says it in another way, such as by the name of an
    environment variable: what that holds may be a secret.
    """
    written = project.systems[system.name].written
    described = result.described[system.name]
    costs = to_builtins(system.costs)
    run = None
    if system.run is not None:
        with (project.folder / system.run).open("rb") as stream:
            run = {"path": system.run, "sha256": hashlib.file_digest(stream, "sha256").hexdigest()}
    return {
        "options": written,
        "described": {name: value for name, value in described.items() if written.get(name, value) == value},
        "fingerprint": system.fingerprint,
        "run": run,
        "n_queries": system.n_queries,
        "n_answered": system.n_answered,
        "n_failed": len(system.failures),
        "costs": {"latency": costs.pop("latency_ms"), **costs},
    }
