"""Keeping what a project's run has found in its store: every run with all that it depended on, scores, comparisons."""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

from rankscope._version import __version__
from rankscope.analysis.rankings import Rankings
from rankscope.comparison.records import Comparison
from rankscope.data.queries import QueryTable
from rankscope.data.run import Run
from rankscope.data.sources import name_of
from rankscope.experiment.project import Project
from rankscope.experiment.results import Benchmark, CollectionResult, SystemResult
from rankscope.experiment.run_files import LIBRARIES
from rankscope.measures.parse import parse_measure
from rankscope.measures.scores import Scores
from rankscope.records import Record, replace, to_builtins
from rankscope.store import CollectionFacts, RunDetails, RunFacts, Store, StoredDoc, StoredQuery, StoredRun
from rankscope.store.columns import qrels_bytes
from rankscope.store.comparisons import StoredComparison
from rankscope.store.engine import StoreLocation, location_of
from rankscope.store.qrels import StoredQrels
from rankscope.store.scores import data_of_docs
from rankscope.store_file import VARIABLE
from rankscope.systems.options import versions_of

KEPT_RANKS = 100
"""Of docs down to this rank, title and text are kept."""


class KeptCollection(Record):
    """What was kept of one collection."""

    name: str
    runs: tuple[StoredRun, ...]
    new: frozenset[int]
    """The numbers of the runs that were not in the store before."""
    qrels: StoredQrels
    comparison: StoredComparison | None


def project_store(project: Project) -> StoreLocation:
    """Return where the store of a project is: what RANKSCOPE_STORE names, else beside the project file."""
    return location_of(os.environ.get(VARIABLE) or project.folder)


def keep_benchmark(store: Store, project: Project, benchmark: Benchmark) -> tuple[KeptCollection, ...]:
    r"""Keep runs, judgments, scores and comparisons of all collections; return what is in the store now.

    Nothing is kept twice: a run whose answers were all there before is the one that the store has. `rankscope run` does
    this; in Python it is a step of its own.

    Parameters
    ----------
    store
        What `open_store` returns.
    project
        What `load_project` returns: the project that was run.
    benchmark
        What `run_project` returned.

    Returns
    -------
    tuple
        For each collection its name, the stored runs and qrels, and the stored comparison if there was one.

    Examples
    --------
    >>> import rankscope as rs
    >>> from pathlib import Path
    >>> _ = Path("docs.jsonl").write_text('{"id": "d1", "text": "pea soup"}\n{"id": "d2", "text": "plum cake"}\n')
    >>> _ = Path("queries.tsv").write_text("q1\tsoup\nq2\tcake with plums\n")
    >>> _ = Path("qrels.txt").write_text("q1 0 d1 1\nq2 0 d2 1\n")
    >>> _ = Path("rankscope.toml").write_text('''
    ... [collections.food]
    ... docs = "docs.jsonl"
    ... queries = "queries.tsv"
    ... qrels = "qrels.txt"
    ... [systems.words]
    ... type = "bm25"
    ... ''')
    >>> project = rs.load_project("rankscope.toml")
    >>> with rs.open_store(project.folder, create=True) as store:
    ...     kept = rs.keep_benchmark(store, project, rs.run_project(project))
    ...     store.runs.find("words") == kept[0].runs[0]
    True
    """
    facts = RunDetails(
        seeds=benchmark.project.seeds,
        depth=benchmark.depth,
        versions=library_versions(),
        host=platform.node(),
        git_commit=git_commit(project.folder),
        command=benchmark.command,
        finished=benchmark.finished,
        primary=benchmark.project.primary,
    )
    kept = (keep_collection(store, project, result, facts) for result in benchmark.collections)
    return tuple(each for each in kept if each is not None)


def with_looks(benchmark: Benchmark, kept: Sequence[KeptCollection]) -> Benchmark:
    """Return a benchmark whose comparisons say which ones on their queries they are."""
    look_of = {each.name: each.comparison.look for each in kept if each.comparison is not None}
    return replace(
        benchmark,
        collections=tuple(
            result
            if result.comparison is None
            else replace(result, comparison=result.comparison.with_look(look_of.get(result.name)))
            for result in benchmark.collections
        ),
    )


def keep_collection(
    store: Store, project: Project, result: CollectionResult, details: RunDetails
) -> KeptCollection | None:
    rankings, scores = result.rankings, result.scores
    if rankings is None or scores is None or result.queries is None or result.judgments is None:
        return None
    qrels = store.qrels.add(result.judgments, name=result.name)
    collection = CollectionFacts(
        name=result.name,
        queries=stored_queries(result.queries, result.split.measured),
        docs_sha256=result.parts["docs"].sha256,
        qrels_sha256=qrels.judgments_sha256,
        counts={name: part.n for name, part in result.parts.items()},
    )
    docs = docs_to_keep(store, result)
    known = {run.number for run in store.runs.list(collection=result.name)}
    stored = []
    for system in result.systems:
        run = rankings.runs.get(system.name)
        if run is None:
            continue
        kept = store.runs.add(run, run_facts(project, result, system, collection, details), docs=docs)
        docs = {}  # they are those of all runs
        stored.append(kept)
        for number, repetition in enumerate(system.repetitions[1:], 2):
            if repetition.run is not None:
                further = Run(project.folder / repetition.run, name=system.name)
                facts = run_facts(project, result, system, collection, details, repetition=number)
                store.runs.add(further, facts)
        if not system.repetitions:  # otherwise the scores are means over all of them
            keep_scores(store, kept, qrels, scores, system.name)
    comparison = None
    if result.comparison is not None and stored:
        comparison = keep_comparison(store, result.comparison, {run.system: run for run in stored}, qrels)
    new = frozenset(run.number for run in stored if run.number not in known)
    return KeptCollection(result.name, tuple(stored), new, qrels, comparison)


def run_facts(
    project: Project,
    result: CollectionResult,
    system: SystemResult,
    collection: CollectionFacts,
    details: RunDetails,
    *,
    repetition: int = 1,
) -> RunFacts:
    times = result.answer_times[system.name][repetition - 1]
    return RunFacts(
        system=system.name,
        type=system.type,
        config=project.systems[system.name].written,
        collection=collection,
        started=details.finished if times is None else times.first,
        latencies_ms=None if times is None else times.latencies_ms,
        details=replace(
            details,
            fingerprint=system.fingerprint,
            latency_ms=to_builtins(system.costs.latency_ms),
            failed=tuple(failure.query for failure in system.failures if failure.repetition == repetition),
            split=result.split.how,
            repetition=repetition,
            n_repetitions=system.n_times,
            policies=stored_policies(result.scores),
        ),
    )


def keep_scores(store: Store, run: StoredRun, qrels: StoredQrels, scores: Scores, name: str) -> None:
    """Keep the scores of measures that can be computed again; others depend on what the store does not have."""
    measures = [each for each in scores.measures if not data_of_docs(parse_measure(each))]
    if measures and scores.weighted_by is None:
        kept = scores.only(name, measures=measures)
        store.scores.add(run, qrels, kept[name], versions=kept.versions, policies=stored_policies(kept))


def stored_policies(scores: Scores | None) -> dict[str, Any]:
    """Return how runs are scored; queries without judgments that count are in the stored qrels."""
    policies = {} if scores is None else scores.policies
    return {name: value for name, value in policies.items() if name != "unjudged_queries"}


def keep_comparison(
    store: Store, comparison: Comparison, runs: dict[str, StoredRun], qrels: StoredQrels
) -> StoredComparison:
    inputs = {
        "runs": {name: run.ranking_sha256 for name, run in runs.items()},
        "qrels": qrels.judgments_sha256,
        "primary": comparison.primary,
        "baseline": comparison.baseline,
        "settings": to_builtins(comparison.settings),
        "policies": comparison.policies,
    }
    queries = next(iter(runs.values())).queries_sha256
    rankings = [run.ranking_sha256 for run in runs.values()]
    return store.comparisons.add(comparison, queries_sha256=queries, rankings=rankings, inputs=inputs)


def stored_queries(queries: QueryTable, measured: Iterable[str]) -> dict[str, StoredQuery]:
    texts = queries.texts or {}
    columns = queries.attributes
    return {
        query: StoredQuery(
            texts.get(query), {name: column[query] for name, column in columns.items() if query in column}
        )
        for query in measured
    }


def docs_to_keep(store: Store, result: CollectionResult) -> dict[str, StoredDoc]:
    """Return the docs that runs and judgments name, of which the store does not know the words yet."""
    rankings = result.rankings
    if rankings is None:
        return {}
    named = {doc for query in rankings.qrels for doc in rankings.qrels[query]}
    for run in rankings.runs.values():
        named |= first_docs(run)
    last = store.runs.list(collection=result.name, last=1)
    if last and last[0].docs_sha256 == result.parts["docs"].sha256:
        named -= store.texts.known_docs(result.name)
    texts = rankings.texts_of(named)
    return {
        doc: StoredDoc(texts.titles.get(doc, ""), texts.bodies.get(doc, ""))
        for doc in named
        if doc in texts.titles or doc in texts.bodies
    }


def first_docs(run: Run) -> set[str]:
    return {doc for query in run for doc in islice(run.rankings.listed(query).docs, KEPT_RANKS)}


def library_versions() -> dict[str, str]:
    found = {name: version for name, version in versions_of(*LIBRARIES).items() if version[0].isdigit()}
    return {"rankscope": __version__, "python": platform.python_version(), **found}


def git_commit(folder: Path) -> str:
    """Return the commit that a folder is at, with a + where files have changed since; empty where nobody knows."""
    try:
        commit, changed = (
            subprocess.run(  # noqa: S603 (fixed arguments)
                ["git", "-C", str(folder), *words],  # noqa: S607 (git is where the user has it)
                capture_output=True,
                text=True,
                timeout=10,
                check=True,
            ).stdout.strip()
            for words in (["rev-parse", "HEAD"], ["status", "--porcelain", "--untracked-files=no"])
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return commit + ("+" if changed else "")


# Files that were evaluated or compared


def keep_files(
    store: Store, rankings: Rankings, scores: Scores, *, comparison: Comparison | None = None
) -> tuple[tuple[StoredRun, ...], StoredComparison | None]:
    """Keep runs that were read from files, with their scores, and how they compare.

    They belong to the collection that has the same judgments in the store, else to one that is called as the file of
    the judgments is. A run was made when its file was written: the same file is never kept twice.
    """
    name, qrels = collection_of(store, rankings)
    texts = rankings.texts_of(frozenset())
    stored = []
    for system, run in rankings.runs.items():
        asked = run.asked.queries if run.asked is not None else rankings.qrels.query_ids
        facts = RunFacts(
            system=system,
            collection=CollectionFacts(
                name=name,
                queries={query: StoredQuery(texts.queries.get(query)) for query in asked},
                qrels_sha256=qrels.judgments_sha256,
                counts={"queries": len(asked), "qrels": qrels.facts["n_judgments"]},
            ),
            started=written_at(run),
            details=RunDetails(
                versions=library_versions(),
                host=platform.node(),
                failed=() if run.asked is None else run.asked.failed,
                split="all" if run.asked is None else run.asked.split,
                primary=scores.measures[0] if comparison is None else comparison.primary,
                policies=stored_policies(scores),
                note="" if run.origin is None else f"read from {run.origin.path}",
            ),
        )
        kept = store.runs.add(run, facts)
        keep_scores(store, kept, qrels, scores, system)
        stored.append(kept)
    looked = None
    if comparison is not None:
        looked = keep_comparison(store, comparison, {run.system: run for run in stored}, qrels)
    return tuple(stored), looked


def collection_of(store: Store, rankings: Rankings) -> tuple[str, StoredQrels]:
    sha256 = hashlib.sha256(qrels_bytes(rankings.qrels.rows)).hexdigest()
    for known in reversed(store.qrels.list()):
        if known.judgments_sha256 == sha256:
            return known.name, known
    origin = rankings.qrels.origin
    name = "judgments" if origin is None else name_of(origin.path)
    return name, store.qrels.add(rankings.qrels, name=name)


def written_at(run: Run) -> str:
    """Return when the file of a run was written; of what came from elsewhere, now."""
    path = None if run.origin is None else Path(run.origin.path)
    time = datetime.now(UTC)
    if path is not None and path.is_file():
        time = datetime.fromtimestamp(path.stat().st_mtime, UTC)
    return time.isoformat(timespec="microseconds")
