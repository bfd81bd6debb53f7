"""What is written into the output folder: the runs of each collection, and a manifest.

The manifest says what a run was made of, so that it can be repeated and distinguished from others.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import secrets
import sys
from array import array
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct, field

from rankscope._version import __version__
from rankscope.data.asked_queries import AskedQueries, read_asked
from rankscope.data.run import Run
from rankscope.data.sources import QUERIES_ENDING, FileSource, Origin
from rankscope.errors import InputError, UnfinishedError
from rankscope.experiment.answer_store import AnswerLog
from rankscope.experiment.project import Project
from rankscope.experiment.results import Benchmark, CollectionResult, SystemResult, TrainTestSplit
from rankscope.io.files import read_text, write_text
from rankscope.io.limits import cannot_write
from rankscope.io.rows import RunRows
from rankscope.io.write import sweep_half_written, write_run
from rankscope.records import Record, to_builtins
from rankscope.systems.options import versions_of

LIBRARIES = ("numpy", "scipy", "polars", "bm25s", "PyStemmer", "wordllama", "torch", "sentence-transformers")
MANIFEST = "manifest.json"
MOST_LETTERS = 80
"""So many letters of a name are in the name of a file, which may have about 250 with all that is added."""
ENDINGS = ("trec.gz", "jsonl.gz")
_NO_TREC_ID = re.compile(r"\s|[\ud800-\udbff]|[\udc00-\udc7f]|[\udd00-\udfff]")
"""Blanks, and halves of characters that do not stand for a byte."""


def file_name(name: str) -> str:
    """Return a name that a file can have on any system, and that no other name of a system or collection has."""
    plain = re.sub(r"[^A-Za-z0-9_+-]+", "-", name).strip("-")
    if plain == name and len(name) <= MOST_LETTERS:
        return name
    mark = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
    shown = plain[:MOST_LETTERS].rstrip("-")
    return f"{shown}-{mark[: 6 if shown == plain else 12]}" if shown else mark[:6]


def runs_folder(project: Project, collection: str) -> Path:
    return project.output / "runs" / file_name(collection)


@contextmanager
def refuse_unwritable(path: Path) -> Iterator[None]:
    """Turn what the system says of a file that cannot be written into an error for the user."""
    hint = (
        "check that the output folder is a folder with room and permission to write; what was answered so far is "
        "kept, so run again"
    )
    try:
        yield
    except OSError as error:
        raise cannot_write(str(error.filename or path), error, hint=hint) from error
    except UnfinishedError as error:
        raise UnfinishedError(error.message, hint=hint) from error


@contextmanager
def locked_folder(folder: Path) -> Iterator[None]:
    """Make a folder in which this run alone writes files, and remove what killed ones have left half-written."""
    with refuse_unwritable(folder):
        folder.mkdir(parents=True, exist_ok=True)
        try:
            import fcntl
        except ImportError:  # not on Windows
            yield
            return
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            sweep_half_written(folder, min_age_s=0)
            yield
        finally:
            os.close(descriptor)


def check_writable(folder: Path) -> None:
    """Refuse a folder that no file can be written to, before anything is asked for it."""
    with locked_folder(folder):
        probe = folder / f".rankscope-{secrets.token_hex(8)}.tmp"
        try:
            probe.touch()
        finally:
            probe.unlink(missing_ok=True)


class WrittenRun(Record):
    """Where the run of a system is, from the project's folder."""

    path: str | None
    """None where nothing was retrieved."""
    kept: str | None = None
    """An earlier run without failed queries, which one with failed queries does not replace."""


class RunFiles(Struct):
    """Writes the runs of a collection, and knows the docs that are in each of them."""

    folder: Path
    project_folder: Path
    docs: dict[str, dict[str, None]] = field(default_factory=dict)
    """The docs that each system has retrieved, once each, in the order of their rows."""

    def write(self, system: SystemResult, rows: RunRows, *, split: TrainTestSplit, repetition: int = 1) -> WrittenRun:
        """Write the run of a system in one piece, and beside it which queries it was asked.

        Of several repetitions the first has the name of the system, the others a number behind it. A run with failed
        queries does not replace an earlier one without: it is written beside it. TREC text has no room for ids with
        blanks or half a character, so runs with such ids are written as JSON lines.
        """
        known = self.docs.setdefault(system.name, {})
        known |= dict.fromkeys(map(sys.intern, rows.doc))  # the systems share one text for an id
        stem = file_name(system.name) if repetition == 1 else f"{file_name(system.name)}.{repetition}"
        failed = tuple(failure.query for failure in system.failures if failure.repetition == repetition)
        was_asked = bool(system.n_answered or system.failures)  # nobody can ask what cannot be reached
        is_complete = was_asked and not failed
        with locked_folder(self.folder):
            kept = None if is_complete else self._find_complete(stem)
            if kept is not None:
                stem = f"{stem}.incomplete"
            target = self.folder / f"{stem}.{'trec.gz' if fits_trec(rows) else 'jsonl.gz'}"
            if len(rows):
                write_run(rows, target)
                with target.open("rb") as stream:
                    sha256 = hashlib.file_digest(stream, "sha256").hexdigest()
                asked = AskedQueries(sha256, split.measured, failed, split.how)
                write_text(target.with_name(target.name + QUERIES_ENDING), asked.to_json())
            stems = [stem, f"{stem}.incomplete"] if is_complete else [stem]
            for other in (self.folder / f"{each}.{ending}" for each in stems for ending in ENDINGS):
                if other != target or not len(rows):
                    other.unlink(missing_ok=True)
                    other.with_name(other.name + QUERIES_ENDING).unlink(missing_ok=True)
        return WrittenRun(self._shown(target) if len(rows) else None, None if kept is None else self._shown(kept))

    def remove_repetitions(self, system: str, *, beyond: int) -> None:
        """Remove runs of repetitions that are no longer asked for: beside newer ones they would be taken for theirs."""
        endings = "|".join(map(re.escape, ENDINGS))
        numbered = re.compile(
            rf"{re.escape(file_name(system))}\.(\d+)(\.incomplete)?\.({endings})({re.escape(QUERIES_ENDING)})?"
        )
        with locked_folder(self.folder):
            for path in list(self.folder.iterdir()):
                found = numbered.fullmatch(path.name)
                if found is not None and int(found[1]) > beyond:
                    path.unlink(missing_ok=True)

    def _find_complete(self, stem: str) -> Path | None:
        """Return the run that is there already, where no query of it failed, as far as is known."""
        for path in (self.folder / f"{stem}.{ending}" for ending in ENDINGS):
            if path.is_file():
                try:
                    asked = read_asked(str(path))
                except InputError:  # written when a run was killed, or changed by others
                    continue
                if asked is None or not asked.failed:
                    return path
        return None

    def _shown(self, path: Path) -> str:
        return Path(os.path.relpath(path, self.project_folder)).as_posix()

    def open(self, name: str, path: str) -> Run:
        return Run(ProjectRunSource(self.project_folder / path, shown=path), name=name)


def fits_trec(rows: RunRows) -> bool:
    ids = {*rows.query, *rows.doc}
    return not any(id_.startswith("#") or _NO_TREC_ID.search(id_) for id_ in ids)


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
    """Write all that a run depends on, what it counted, and when it was, into the project's output folder.

    What was not run this time stays as it was, with its own times, as long as it is what the project would run.
    """
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
        **{name: stored[name] for name in ("measures", "primary", "strata", "margin", "seeds", "profile", "policies")},
        "unjudged_queries": benchmark.project.unjudged_queries,
        "depth": benchmark.depth,
        "collections": {
            result.name: {
                "parts": to_builtins(result.parts),
                "queries": to_builtins(result.split.sizes),
                "group": result.group,
                "baseline": ""
                if result.comparison is None
                else baseline_to_keep(result.comparison.baseline, result.comparison.systems, project),
                "weights": result.weights,
                "systems": {
                    system.name: {
                        **system_manifest(system, result, project),
                        "started": benchmark.started,
                        "finished": benchmark.finished,
                    }
                    for system in result.systems
                },
                "choices": {choice.system: choice.chosen for choice in result.choices},
                "about": result.about,
            }
            for result in benchmark.collections
        },
    }
    with locked_folder(project.output):
        collections = with_earlier(manifest["collections"], project)
        write_text(project.output / MANIFEST, json.dumps({**manifest, "collections": collections}, indent=1) + "\n")


def with_earlier(collections: dict[str, Any], project: Project) -> dict[str, Any]:
    """Return what a manifest says of collections, with those systems of the manifest before that were not run now.

    They count where they have the same options today, and their collection the same docs and queries.
    """
    path = project.output / MANIFEST
    if not path.is_file():
        return collections
    text = read_text(path)
    try:
        earlier = json.loads(text)
        times = {name: earlier[name] for name in ("started", "finished")}
        found = {name: dict(about) for name, about in earlier["collections"].items() if name in project.collections}
        for name, about in found.items():
            now = collections.get(name, about)
            is_same = all(about["parts"][part] == now["parts"][part] for part in ("docs", "queries"))
            about["systems"] = {
                system: {**times, **entry}
                for system, entry in about["systems"].items()
                if is_same and system in project.systems and entry["options"] == plain(project.systems[system].written)
            }
    except (ValueError, LookupError, TypeError, AttributeError):
        return collections  # it was written by others, or damaged
    merged = {}
    for name in project.collections:
        if name in collections or found.get(name, {}).get("systems"):
            about = collections.get(name) or found[name]
            systems = {**found.get(name, {}).get("systems", {}), **about["systems"]}
            ordered = {system: systems[system] for system in project.systems if system in systems}
            baseline = about.get("baseline") or found.get(name, {}).get("baseline", "")
            merged[name] = {**about, "baseline": baseline, "systems": ordered}
    return merged


def baseline_to_keep(baseline: str | None, compared: Sequence[str], project: Project) -> str:
    """Return the baseline of a comparison as far as it says what others are compared with in general.

    Where only some systems were run, and nobody chose among them, the first of these does not stand for the project.
    """
    if baseline is None:
        return ""
    is_chosen = bool(compared) and baseline != compared[0]
    return baseline if is_chosen or baseline == next(iter(project.systems)) else ""


def plain(options: Any) -> Any:
    """Return options as they are read back from a file."""
    return json.loads(json.dumps(options))


def system_manifest(system: SystemResult, result: CollectionResult, project: Project) -> dict[str, Any]:
    """Return what is known of one system; its options as they stand in the project file.

    What the system says of itself is left out where the file says it in another way, such as by the name of an
    environment variable: what that holds may be a secret.
    """
    written = project.systems[system.name].written
    described = result.described[system.name]
    costs = to_builtins(system.costs)

    def hashed(run: str | None) -> dict[str, str] | None:
        if run is None:
            return None
        with (project.folder / run).open("rb") as stream:
            return {"path": run, "sha256": hashlib.file_digest(stream, "sha256").hexdigest()}

    return {
        "options": written,
        "described": {name: value for name, value in described.items() if written.get(name, value) == value},
        "fingerprint": system.fingerprint,
        "run": hashed(system.run),
        "kept": system.kept,
        "repeat": system.n_times,
        "repetitions": [hashed(repetition.run) for repetition in system.repetitions],
        "repeats_itself": system.repeats_itself,
        "reused": to_builtins(system.reused),
        "n_queries": system.n_queries,
        "n_answered": system.n_answered,
        "n_failed": len(system.failures),
        "costs": {"latency": costs.pop("latency_ms"), **costs},
    }
