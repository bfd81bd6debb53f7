"""What is written into the output folder: the runs of each collection, and a manifest.

The manifest says what a run was made of, so that it can be repeated and distinguished from others.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import sys
from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct, field

from rankscope._version import __version__
from rankscope.data.run import Run
from rankscope.data.sources import FileSource, Origin
from rankscope.experiment.answer_store import AnswerLog
from rankscope.experiment.project import Project
from rankscope.experiment.results import Benchmark, CollectionResult, SystemResult
from rankscope.io.files import write_text
from rankscope.io.rows import RunRows
from rankscope.io.write import write_run
from rankscope.records import to_builtins
from rankscope.systems.options import versions_of

LIBRARIES = ("numpy", "scipy", "polars", "bm25s", "PyStemmer", "wordllama", "torch", "sentence-transformers")


def file_name(name: str) -> str:
    """Return a name that a file can have on any system, and that no other name of a system or collection has."""
    plain = re.sub(r"[^A-Za-z0-9_+-]+", "-", name).strip("-")
    if plain == name:
        return name
    mark = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:6]
    return f"{plain}-{mark}" if plain else mark


class RunFiles(Struct):
    """Writes the runs of a collection, and knows the docs that are in each of them."""

    folder: Path
    project_folder: Path
    docs: dict[str, dict[str, None]] = field(default_factory=dict)
    """The docs that each system has retrieved, once each, in the order of their rows."""

    def write(self, name: str, rows: RunRows) -> str | None:
        """Write the run of a system in one piece; return where it is, from the project's folder, None without rows.

        TREC text has no room for ids with blanks, so runs with such ids are written as JSON lines.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        self.docs[name] = dict.fromkeys(map(sys.intern, rows.doc))  # the systems share one text for an id
        has_blanks = any(map(re.compile(r"\s").search, {*rows.query, *rows.doc}))
        ending = None if not len(rows) else "jsonl.gz" if has_blanks else "trec.gz"
        for other in {"trec.gz", "jsonl.gz"} - {ending}:
            (self.folder / f"{file_name(name)}.{other}").unlink(missing_ok=True)
        if ending is None:
            return None
        target = self.folder / f"{file_name(name)}.{ending}"
        write_run(rows, target)
        return Path(os.path.relpath(target, self.project_folder)).as_posix()

    def open(self, name: str, path: str) -> Run:
        return Run(ProjectRunSource(self.project_folder / path, shown=path), name=name)


class ProjectRunSource(FileSource):
    """A run of a project, whose records name it from the project's folder: they are the same on every machine."""

    def __init__(self, path: Path, *, shown: str) -> None:
        super().__init__(os.path.normpath(path))
        self._shown = shown

    @property
    def origin(self) -> Origin:
        found = super().origin
        return Origin(self._shown, found.format, found.digest)


def run_rows(log: AnswerLog, queries: Sequence[str], *, tag: str) -> RunRows:
    names: list[str] = []
    docs: list[str] = []
    scores, ranks = array("d"), array("q")
    for query in queries:
        if query in log.summary.answered:
            ranking = log.ranking(query)
            names += [query] * len(ranking)
            docs += [doc for doc, _ in ranking]
            scores.extend(score for _, score in ranking)
            ranks.extend(range(1, len(ranking) + 1))
    return RunRows(names, docs, np.array(scores), np.array(ranks, dtype=np.int64), tag)


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
