"""Running a project: every system on every collection, resumable at any moment, measured and compared."""

from __future__ import annotations

import contextlib
import os
import re
import sys
import time
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from rankscope.comparison.groups import LANGUAGE
from rankscope.errors import OptionError, did_you_mean
from rankscope.experiment.builder import Ready, Watch, Workshop
from rankscope.experiment.collection import Collection, load_collection
from rankscope.experiment.doc_ids import find_unknown_docs
from rankscope.experiment.journal import Journal
from rankscope.experiment.latency import profile_of
from rankscope.experiment.manifest import write_manifest
from rankscope.experiment.progress_files import file_name, tag_of
from rankscope.experiment.project import Project
from rankscope.experiment.results import Benchmark, CollectionResult, SystemResult
from rankscope.experiment.scoring import answered_only, measured, noted, notes_on
from rankscope.experiment.tuning import sides_of
from rankscope.io.rows import RunRows
from rankscope.io.write import write_run
from rankscope.systems.answers import Clock
from rankscope.systems.registry import system_names_in

RUNS, JOURNALS = "runs", "journal"
UNTIMED = frozenset({"run"})
"""Types of systems that only look up what was retrieved before: their times mean nothing."""
OF_THE_COLLECTION = frozenset({"bm25", "dense", "hybrid", "mmr", "dartboard", "rerank", "expand"})
"""Types of systems that return docs which they, or what they are made of, were given: their ids need no look."""
_BLANK = re.compile(r"\s")


def unwatched(_what: str, _done: int, _total: int) -> None:
    """Tell nobody."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """How a project is to be run."""

    only: tuple[str, ...] = ()
    """Systems to run; all where none is named."""
    collections: tuple[str, ...] = ()
    """Collections to run on; all where none is named."""
    depth: int | None = None
    """How many docs are asked for, instead of what the project says."""
    baseline: str | None = None
    """The system that others are compared with; the first where none is named."""
    fresh: bool = False
    """Whether earlier answers are thrown away."""
    reveal: bool = False
    """Whether held-out queries are measured, which is recorded."""
    anyway: bool = False
    """Whether systems are compared even where what they return are not the ids of docs."""
    command: str = ""
    """The command that asked for it, for the records."""
    watch: Watch = unwatched
    clock: Clock = time.perf_counter


def run_project(project: Project, wishes: Wishes | None = None) -> Benchmark:
    """Retrieve, time, evaluate and compare all that a project names; asks nothing that was answered before.

    Paths and modules that systems name are looked for in the folder of the project file, which is the current folder
    meanwhile. Runs, journals and a manifest are written into the project's output folder.
    """
    asked = wishes or Wishes()
    systems = chosen(asked.only, project.systems, "system", project)
    collections = chosen(asked.collections, project.collections, "collection", project)
    if asked.baseline is not None:
        chosen((asked.baseline,), dict.fromkeys(systems), "system", project)
    if asked.depth is not None and asked.depth < 1:
        raise OptionError(f"k is {asked.depth}, but at least one doc has to be asked for")
    if asked.reveal and all(project.collections[name].split is None for name in collections):
        raise OptionError("there is nothing to reveal: no collection has a split", hint="`rankscope split` makes one")
    started = now()
    with at_home(project.file.resolve().parent):
        results = tuple(collection_result(project, asked, name, systems) for name in collections)
        benchmark = Benchmark(project, asked.depth or project.depth, results, started, now(), asked.command)
        write_manifest(benchmark)
    return benchmark


def chosen(names: Sequence[str], known: Mapping[str, Any], what: str, project: Project) -> tuple[str, ...]:
    """Return the names asked for, or all, in the order of the project."""
    if not known:
        raise OptionError(
            f"{project.file.name} names no {what}", hint=f"add a table [{what}s.NAME]; `rankscope init` shows how"
        )
    for name in names:
        if name not in known:
            raise OptionError(
                f"there is no {what} {name!r} to run", hint=did_you_mean(name, known) or f"there are {', '.join(known)}"
            )
    return tuple(name for name in known if not names or name in names)


def now() -> str:
    """Return the time, as records have it."""
    return datetime.now(UTC).isoformat(timespec="seconds")


@contextlib.contextmanager
def at_home(folder: Path) -> Iterator[None]:
    """Be in a folder meanwhile, and let modules in it be imported."""
    sys.path.insert(0, str(folder))
    try:
        with contextlib.chdir(folder):
            yield
    finally:
        with contextlib.suppress(ValueError):
            sys.path.remove(str(folder))


def collection_result(project: Project, asked: Wishes, name: str, systems: Sequence[str]) -> CollectionResult:
    """Return what was found on one collection; runs and journals are on disk then."""
    collection = load_collection(project.collection(name), cache=project.cache)
    sides = sides_of(
        collection, has_choices=any_choice(project, systems), revealed=asked.reveal, strata=project.strata,
        seed=project.seeds[0], command=asked.command,
    )  # fmt: skip
    shop = Workshop(
        project, collection, sides, asked.depth or project.depth, project.output / JOURNALS / file_name(name),
        asked.clock, lambda what, done, total: asked.watch(f"{name} · {what}", done, total),
    )  # fmt: skip
    if asked.fresh:
        shop.forget(list(with_parts(project, systems)))
    files = RunFiles(project.output / RUNS / file_name(name))
    notes: list[str] = []
    with noted(notes):
        results = tuple(system_result(shop, files, shop.ready(system)) for system in systems)
        results = with_findings(results, project, collection, files, anyway=asked.anyway)
        kept = [result for result in results if result.run is not None and not result.is_left_out]
        asked.watch(f"{name} · evaluating", 0, 1)
        scores, comparison = measured(
            project, collection, sides, {result.name: str(result.run) for result in kept},
            side=shop.side, docs=files.docs_of(kept), baseline=asked.baseline, anyway=asked.anyway,
            problems={result.name: f"{result.finding.message}." for result in kept if result.finding is not None},
        )  # fmt: skip
    wanted = asked.baseline or systems[0]
    if comparison is not None and comparison.baseline != wanted:
        notes.append(f"{wanted} would be the baseline; without it, others are compared with {comparison.baseline}.")
    return CollectionResult(
        name,
        collection.parts,
        sides,
        results,
        scores,
        comparison,
        tuple(shop.choices),
        (*notes_on(project, collection, sides, shop.choices, results, depth=shop.depth), *shop.side.notes, *notes),
        answered_only(results, scores, project.primary),
        collection.about,
        language_of(collection),
    )


def language_of(collection: Collection) -> str:
    """Return the language of a collection's queries, where all of them have the same."""
    attributes = collection.queries.attributes
    values = {str(value) for name in LANGUAGE for value in attributes.get(name, {}).values()}
    return values.pop() if len(values) == 1 else ""


def with_parts(project: Project, systems: Sequence[str]) -> set[str]:
    """Return systems and all that they are made of."""
    found: set[str] = set()
    waiting = list(systems)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            entry = project.systems[name]
            waiting += [part for options in entry.variants() for part in system_names_in(entry.type, options)]
    return found


def any_choice(project: Project, systems: Sequence[str]) -> bool:
    """Tell whether options or weights have to be chosen for any of the systems, or what they are made of."""
    entries = [project.systems[name] for name in with_parts(project, systems)]
    return any(entry.sweep or entry.options.get("weights") == "tune" for entry in entries)


def system_result(shop: Workshop, files: RunFiles, ready: Ready) -> SystemResult:
    """Ask a system what is missing, write its run, and return what there is to say of it."""
    queries = shop.sides.measured
    fingerprint = shop.fingerprint(ready)
    with shop.answered(ready, queries) as journal:
        content = journal.content
        return SystemResult(
            name=ready.name,
            type=ready.entry.type,
            fingerprint=fingerprint,
            described=ready.system.describe(),
            run=files.write(ready.name, fingerprint, journal, queries),
            n_queries=len(queries),
            n_retried=sum(content.lines[query].n_attempts > 1 for query in queries if query in content.lines),
            failures=tuple(content.failures[query] for query in queries if query in content.failures),
            profile=profile_of(content, queries=queries, is_timed=ready.entry.type not in UNTIMED),
        )


def with_findings(
    results: Sequence[SystemResult], project: Project, collection: Collection, files: RunFiles, *, anyway: bool
) -> tuple[SystemResult, ...]:
    """Return systems with what is wrong with the ids they return, which is an error unless they are kept anyway."""
    foreign = [
        result.name for result in results
        if any(project.systems[part].type not in OF_THE_COLLECTION for part in with_parts(project, [result.name]))
    ]  # fmt: skip
    findings = find_unknown_docs(collection, {name: files.docs.get(name, {}) for name in foreign})
    if anyway:
        findings = {name: replace(finding, level="warning") for name, finding in findings.items()}
    return tuple(replace(result, finding=findings.get(result.name)) for result in results)


@dataclass
class RunFiles:
    """Writes the runs of a collection, and knows the docs that are in each of them."""

    folder: Path
    docs: dict[str, dict[str, None]] = field(default_factory=dict)
    """The docs that each system has retrieved, once each, in the order of their rows."""
    _ids: dict[str, str] = field(default_factory=dict)
    """Every id once, so that the systems share one text."""

    def write(self, name: str, fingerprint: str, journal: Journal, queries: Sequence[str]) -> Path | None:
        """Write the run of a system in one piece, and return where it is; nothing where nothing was retrieved."""
        rows = run_rows(journal, queries, tag=tag_of(name, fingerprint))
        self.folder.mkdir(parents=True, exist_ok=True)
        self.docs[name] = {self._ids.setdefault(doc, doc): None for doc in rows.doc}
        ending = ending_for(rows)
        for other in {"trec.gz", "jsonl.gz"} - {ending}:
            self.path(name, other).unlink(missing_ok=True)
        if ending is None:
            return None
        write_run(rows, self.path(name, ending))
        return Path(os.path.relpath(self.path(name, ending)))

    def docs_of(self, systems: Sequence[SystemResult]) -> dict[str, None]:
        """Return the docs that any of the systems has retrieved, once each."""
        return {doc: None for system in systems for doc in self.docs[system.name]}

    def path(self, name: str, ending: str) -> Path:
        """Return where a run is."""
        return self.folder / f"{file_name(name)}.{ending}"


def ending_for(rows: RunRows) -> str | None:
    """Return the ending of a run's file; TREC text has no room for ids with blanks, so those are in JSON lines."""
    if not len(rows):
        return None
    return "jsonl.gz" if any(map(_BLANK.search, {*rows.query, *rows.doc})) else "trec.gz"


def run_rows(journal: Journal, queries: Sequence[str], *, tag: str) -> RunRows:
    """Return all answers of a journal as the rows of a run, in the order of the queries."""
    names: list[str] = []
    docs: list[str] = []
    scores, ranks = array("d"), array("q")
    for query in queries:
        if query in journal:
            ranking = journal.ranking(query)
            names += [query] * len(ranking)
            docs += [doc for doc, _ in ranking]
            scores.extend(score for _, score in ranking)
            ranks.extend(range(1, len(ranking) + 1))
    return RunRows(names, docs, np.array(scores), np.array(ranks, dtype=np.int64), tag)
