"""Keeping what a project's run has found in its store: every run with all that it depended on, scores, comparisons."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any

from rankscope import light
from rankscope._version import __version__
from rankscope.analysis.rankings import Rankings
from rankscope.comparison.records import Comparison
from rankscope.data.queries import QueryTable
from rankscope.data.run import Run
from rankscope.data.sharded import LARGE_TABLE
from rankscope.data.sources import name_of
from rankscope.errors import give_warning
from rankscope.experiment.fingerprint import fingerprint_of
from rankscope.experiment.project import Project
from rankscope.experiment.results import Benchmark, CollectionResult, SystemResult
from rankscope.experiment.run_files import LIBRARIES, baseline_to_keep
from rankscope.io.regroup import looks_by_kind
from rankscope.io.shards import size_at
from rankscope.light import replace as light_replace
from rankscope.measures.parse import parse_measure
from rankscope.measures.scores import RunScores, Scores
from rankscope.printable import counted
from rankscope.records import Record, replace, to_builtins
from rankscope.store import CollectionFacts, RunDetails, RunFacts, Store, StoredDoc, StoredQuery, StoredRun
from rankscope.store.columns import qrels_bytes
from rankscope.store.comparisons import StoredComparison
from rankscope.store.engine import StoreLocation, location_of
from rankscope.store.qrels import StoredQrels
from rankscope.store.runs import ranking_sha256, run_digest
from rankscope.store.scores import data_of_docs
from rankscope.store.texts import queries_sha256
from rankscope.store_file import VARIABLE
from rankscope.systems.options import versions_of

COSTS = ("queries_per_second", "index_s", "index_bytes", "memory_bytes")
MOST_FIELDS, LONGEST_FIELD = 100, 2_000
"""Of the further fields of a doc, so many are kept, and of each text so many characters."""
KEPT_RANKS = 100
"""Of docs down to this rank, title and text are kept."""

LONGEST_REASON = 500
"""Of why a query failed, so many characters are kept."""


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

    A run whose answers are all those of the newest run of its system is the one that the store has; answers of an
    earlier one make a new run, as the system is back where it was. `rankscope run` does this; in Python it is a step of
    its own.

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
        project=str(project.file),
        finished=benchmark.finished,
        primary=benchmark.project.primary,
        margin=benchmark.project.margin,
    )
    kept = (keep_collection(store, project, result, facts) for result in benchmark.collections)
    return tuple(each for each in kept if each is not None)


def with_looks(benchmark: Benchmark, kept: Sequence[KeptCollection]) -> Benchmark:
    """Return a benchmark whose comparisons say which ones on their queries they are."""
    look_of = {each.name: each.comparison.look or None for each in kept if each.comparison is not None}
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
    warn_of_strangers(store, collection, details)
    docs = docs_to_keep(store, result)
    known = {run.number for run in store.runs.list(collection=result.name)}
    stored, rankings_by_system = [], {}
    if result.comparison is not None:
        compared = result.comparison
        details = replace(details, baseline=baseline_to_keep(compared.baseline, compared.systems, project))
    for system in result.systems:
        run = rankings.runs.get(system.name)
        if run is None:
            continue
        facts = [
            run_facts(project, result, system, collection, details, repetition=i) for i in range(1, system.n_times + 1)
        ]
        group = keep_system(store, runs_of(project, system, run), facts, docs)
        docs = {}  # they are those of all runs
        stored.append(group[0])
        rankings_by_system[system.name] = [each.ranking_sha256 for each in group]
        scored = scores.repetitions.get(system.name, (scores[system.name],))
        for kept, of_run in zip(group, scored, strict=True):
            keep_scores(store, kept, qrels, scores, of_run, data=result.data_digests)
    comparison = None
    if result.comparison is not None and stored:
        comparison = keep_comparison(
            store,
            result.comparison,
            rankings_by_system,
            qrels_sha256=qrels.judgments_sha256,
            queries_sha256=stored[0].queries_sha256,
        )
    new = frozenset(run.number for run in stored if run.number not in known)
    return KeptCollection(result.name, tuple(stored), new, qrels, comparison)


def warn_of_strangers(store: Store, collection: CollectionFacts, details: RunDetails) -> None:
    """Warn where a collection of the same name is another one: of another project, or with all other content."""
    for newest in store.runs.list(collection=collection.name, last=1):
        other = newest.details
        queries = store.texts.queries(newest.queries_sha256)
        is_other = other.host == details.host and other.project not in ("", details.project)
        if is_other and Path(other.project).exists():
            what = f"runs on {collection.name} of another project, {other.project}"
        elif newest.docs_sha256 not in ("", collection.docs_sha256) and not any(
            queries[query].text == each.text for query, each in collection.queries.items() if query in queries
        ):
            what = f"runs on a collection {collection.name} that has other docs, and no query in common with this one"
        else:
            continue
        give_warning(
            f"the store {store.location} has {what}: both are now one history. Where they do not belong together, "
            "rename the collection, or keep each in a store of its own (--store)"
        )


def runs_of(project: Project, system: SystemResult, first: Run) -> list[Run]:
    """Return the runs of all repetitions of a system."""
    paths = (each.run for each in system.repetitions[1:])
    return [first, *(Run(project.folder / path, name=system.name) for path in paths if path is not None)]


def keep_system(
    store: Store, runs: Sequence[Run], facts: Sequence[RunFacts], docs: Mapping[str, StoredDoc]
) -> tuple[StoredRun, ...]:
    """Keep all repetitions of a system, of which the first stands for all and is named by the others.

    Where they are the answers of its newest run, that is returned. Where they are those of an earlier one, as its
    options are what they were, that is the newest state of the system: a run of its own, made now.
    """
    about = facts[0]
    rankings = [ranking_sha256(run) for run in runs]
    digests = [run_digest(each, ranking) for each, ranking in zip(facts, rankings, strict=True)]
    for newest in store.runs.list(system=about.system, collection=about.collection.name, last=1):
        group = store.runs.repetitions([newest])[newest.number]
        if [each.details.answers_of or each.digest for each in group] == digests:
            return group
    known, now = store.runs.known_digests(digests), store.clock()
    made = [
        replace(each, started=now, details=replace(each.details, answers_of=digest)) if digest in known else each
        for each, digest in zip(facts, digests, strict=True)
    ]
    first = run_digest(made[0], rankings[0])
    made[1:] = (replace(each, details=replace(each.details, repetition_of=first)) for each in made[1:])
    return store.runs.add_repetitions(list(zip(runs, made, strict=True)), docs=docs)


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
    failures = [failure for failure in system.failures if failure.repetition == repetition]
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
            costs={name: cost for name in COSTS if (cost := getattr(system.costs, name)) is not None},
            failed=tuple(failure.query for failure in failures),
            reasons={failure.query: failure.reason[:LONGEST_REASON] for failure in failures},
            split=result.split.how,
            repetition=repetition,
            n_repetitions=system.n_times,
            policies=stored_policies(result.scores),
        ),
    )


def keep_scores(
    store: Store, run: StoredRun, qrels: StoredQrels, scores: Scores, of_run: RunScores, *, data: Mapping[str, str]
) -> None:
    """Keep the scores of a run by all measures, each query counting the same.

    Those of measures that look at embeddings, docs or an ontology are kept with what stands for these (`data`), as
    they cannot be computed again.
    """
    places: dict[str, list[int]] = {}
    for i, measure in enumerate(of_run.measures):
        needed = data_of_docs(parse_measure(measure))
        if all(need in data for need in needed):
            sha256 = fingerprint_of({need: data[need] for need in needed}) if needed else ""
            places.setdefault(sha256, []).append(i)
    plain = light.replace(of_run, weights=None)
    for sha256, measures in places.items():
        versions, policies = scores.versions, stored_policies(scores)
        kept = plain.of_measures(measures)
        store.scores.add(run, qrels, kept, versions=versions, policies=policies, data_sha256=sha256)


def stored_policies(scores: Scores | None) -> dict[str, Any]:
    """Return how runs are scored; queries without judgments that count are in the stored qrels."""
    policies = {} if scores is None else scores.policies
    return {name: value for name, value in policies.items() if name != "unjudged_queries"}


def keep_comparison(
    store: Store,
    comparison: Comparison,
    rankings: Mapping[str, Sequence[str]],
    *,
    qrels_sha256: str,
    queries_sha256: str,
) -> StoredComparison:
    """Keep a comparison, a look unless all rankings are the same; `rankings` are the hashes of each repetition."""
    inputs = {
        "runs": {name: one_or_all(hashes) for name, hashes in rankings.items()},
        "qrels": qrels_sha256,
        "primary": comparison.primary,
        "baseline": comparison.baseline,
        "settings": to_builtins(comparison.settings),
        "policies": comparison.policies,
    }
    compared = [ranking for hashes in rankings.values() for ranking in hashes]
    return store.comparisons.add(
        comparison,
        queries_sha256=queries_sha256,
        rankings=compared,
        inputs=inputs,
        is_look=any(pair.differs for pair in comparison),
    )


def one_or_all(rankings: Sequence[str]) -> str | list[str]:
    """Return what stands for the rankings of a system: a single hash where it was asked once."""
    return rankings[0] if len(rankings) == 1 else list(rankings)


def stored_queries(queries: QueryTable, measured: Iterable[str]) -> dict[str, StoredQuery]:
    texts = queries.texts or {}
    return {query: StoredQuery(texts.get(query), as_json(queries.attributes_of(query))) for query in measured}


def as_json(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return attributes as JSON has them: dates and what else it does not know are texts."""
    found: dict[str, Any] = json.loads(json.dumps(attributes, default=str), parse_constant=str)
    return found


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
    return stored_docs(rankings, named)


def given_queries(rankings: Rankings) -> dict[str, StoredQuery]:
    """Return the judged and answered queries whose words were given beside files, with all that is known of them."""
    texts = rankings.texts_of(frozenset())
    wanted = {*rankings.qrels.query_ids, *(query for run in rankings.runs.values() for query in run.query_ids)}
    return {
        query: StoredQuery(texts.queries[query], as_json(texts.attributes_of(query)))
        for query in sorted(wanted & texts.queries.keys())
    }


def docs_of_files(rankings: Rankings) -> dict[str, StoredDoc]:
    """Return the first docs of runs in files, as far as their words were given."""
    return stored_docs(rankings, frozenset().union(*map(first_docs, rankings.runs.values())))


def stored_docs(rankings: Rankings, named: AbstractSet[str]) -> dict[str, StoredDoc]:
    """Return what is known of docs, as it is kept."""
    texts = rankings.texts_of(named)
    return {
        doc: StoredDoc(texts.titles.get(doc, ""), texts.bodies.get(doc, ""), stored_fields(texts.fields.get(doc, {})))
        for doc in named
        if doc in texts.titles or doc in texts.bodies
    }


def stored_fields(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return what else is known of a doc, as it is kept: texts and numbers, of very many or long ones the first."""

    def kept(value: Any) -> Any:
        if isinstance(value, list | tuple):
            return [kept(each) for each in value[:MOST_FIELDS]]
        known = value if isinstance(value, bool | int | float | str) else str(value)
        return known[:LONGEST_FIELD] if isinstance(known, str) else known

    return {str(name): kept(value) for name, value in islice(fields.items(), MOST_FIELDS)}


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


def bytes_to_keep(runs: Iterable[Run]) -> int:
    """Return what the rows of large files take while they are kept, about: a store takes whole runs."""
    n_bytes = 0
    for source in (run.source for run in runs):
        paths = getattr(source, "files", None) or (getattr(source, "address", ""),)
        sizes = {path: size_at(path) for path in paths if path not in ("", "-")}
        if max(sizes.values(), default=0) >= LARGE_TABLE:
            how = source.options
            looks = looks_by_kind(sizes, format_name=how.format, columns=how.columns)
            n_bytes += sum(round((look.bytes_taken() + look.bytes_to_store) * times) for look, times in looks)
    return n_bytes


def keep_files(
    store: Store,
    rankings: Rankings,
    scores: Scores,
    *,
    comparison: Comparison | None = None,
    data: Mapping[str, str] | None = None,
    with_docs: bool = False,
) -> tuple[tuple[StoredRun, ...], frozenset[int], StoredComparison | None]:
    """Keep runs that were read from files, with their scores, and how they compare; return which of them are new, too.

    They belong to the collection that has the same judgments in the store, else to one that is called as the file of
    the judgments is. What the store has of a system there is not kept again, as the runs in the results of a project.
    `data` stands for the embeddings, docs and ontology that measures have looked at. `with_docs`: the words of docs are
    given, so that those of the first docs are kept. Words of queries are kept of all that are answered.
    """
    name, qrels = collection_of(store, rankings)
    are_all = qrels.facts["n_queries"] == len(rankings.qrels)
    known = known_queries(store, name)
    given = given_queries(rankings)
    docs = docs_of_files(rankings) if with_docs else {}
    stored, new, other = [], set[int](), set[str]()
    for system, run in rankings.runs.items():
        asked = asked_of_file(run, rankings.qrels.query_ids, known)
        queries = {query: given.get(query) or known.get(query, StoredQuery()) for query in asked}
        kept = stored_before(store.runs.list(system=system, collection=name, repetitions=True), run)
        if kept is None:
            about = CollectionFacts(
                name=name,
                queries=queries,
                qrels_sha256=qrels.judgments_sha256,
                counts={"queries": len(queries), "qrels": qrels.facts["n_judgments"]},
            )
            kept = store.runs.add(run, facts_of_file(system, run, about, scores, comparison))
            new.add(kept.number)
        else:
            store.texts.add_attributes(kept.queries_sha256, given)
        more = {query: given[query] for query in {*asked, *run.query_ids} & given.keys()}
        held = queries if kept.number in new else store.texts.queries(kept.queries_sha256)
        if any(held.get(query) != each for query, each in more.items()):
            store.tasks.add_queries(name, more)
            other |= {query for query, each in more.items() if query in held and says_other(held[query], each)}
        if are_all and kept.queries_sha256 == queries_sha256(queries):
            keep_scores(store, kept, qrels, scores, scores[system], data=data or {})
        stored.append(kept)
    if other:
        give_warning(
            f"the store keeps these runs with other words or attributes of {counted(len(other), 'query')}, such as "
            f"{min(other)}: raters and pages go on showing those"
        )
    if docs:
        store.texts.add_docs(name, docs)
    looked = None
    if comparison is not None:
        looked = keep_comparison(
            store,
            comparison,
            {run.system: [run.ranking_sha256] for run in stored},
            qrels_sha256=qrels.judgments_sha256,
            queries_sha256=stored[0].queries_sha256,
        )
    return tuple(stored), frozenset(new), looked


def says_other(held: StoredQuery, given: StoredQuery) -> bool:
    """Tell whether what is held of a query is something else than what was given; where nothing is held, it is not."""
    is_other_text = held.text is not None and held.text != given.text
    return is_other_text or (bool(held.attributes) and held.attributes != given.attributes)


def facts_of_file(
    system: str, run: Run, collection: CollectionFacts, scores: Scores, comparison: Comparison | None
) -> RunFacts:
    return RunFacts(
        system=system,
        collection=collection,
        started=written_at(run),
        details=RunDetails(
            versions=library_versions(),
            host=platform.node(),
            backdated=is_file(run),
            failed=() if run.asked is None else run.asked.failed,
            split="all" if run.asked is None else run.asked.split,
            primary=scores.measures[0] if comparison is None else comparison.primary,
            margin=given_margin(comparison),
            baseline="" if comparison is None else comparison.baseline or "",
            policies=stored_policies(scores),
            note="" if run.origin is None else f"read from {run.origin.path}",
        ),
    )


def given_margin(comparison: Comparison | None) -> float | None:
    if comparison is None or not comparison.settings.margin_given:
        return None
    return comparison.settings.margin


def stored_before(runs: Sequence[StoredRun], run: Run) -> StoredRun | None:
    """Return the newest of a system's runs that is this ranking, whatever it was read from; None where it is new.

    A ranking of earlier that was written after all of them is new: the system is back where it was.
    """
    ranking = ranking_sha256(run)
    same = [each for each in runs if each.ranking_sha256 == ranking]
    if not same:
        return None
    newest = next(each for each in reversed(runs) if each.details.repetition == 1)
    return same[-1] if same[-1].ranking_sha256 == newest.ranking_sha256 or written_at(run) <= newest.stored else None


def known_queries(store: Store, collection: str) -> dict[str, StoredQuery]:
    """Return the queries that the newest run on a collection was asked; none where there is no run."""
    newest = store.runs.list(collection=collection, last=1)
    return store.texts.queries(newest[0].queries_sha256) if newest else {}


def asked_of_file(run: Run, judged: Sequence[str], known: Mapping[str, StoredQuery]) -> Sequence[str]:
    """Return the queries that a run in a file was asked.

    Where it does not say, those of the judgments, with those that others on the same collection were asked beside them.
    """
    if run.asked is not None:
        return run.asked.queries
    return list(known) if known.keys() >= set(judged) else judged


def collection_of(store: Store, rankings: Rankings) -> tuple[str, StoredQrels]:
    """Return the collection that has the judgments, and these as the store has them.

    There, queries without judgments may be listed, as those that count in a project.
    """
    rows = rankings.qrels.rows
    sha256 = hashlib.sha256(qrels_bytes(rows)).hexdigest()
    listed = store.qrels.list()
    for known in reversed(listed):
        if known.judgments_sha256 == sha256:
            return known.name, known
    for known in reversed(listed):
        if known.facts["n_judgments"] == len(rows):
            judged = light_replace(store.qrels.judgments(known).rows, empty_queries=())
            if hashlib.sha256(qrels_bytes(judged)).hexdigest() == sha256:
                return known.name, known
    origin = rankings.qrels.origin
    name = "judgments" if origin is None else name_of(origin.path)
    return name, store.qrels.add(rankings.qrels, name=name)


CLOCKS_APART = timedelta(minutes=2)
"""A file from another machine may be ahead by so much; by more, a clock is wrong."""


def written_at(run: Run) -> str:
    """Return when the file of a run was written; of what came from elsewhere, now."""
    time = datetime.now(UTC)
    if run.origin is not None and is_file(run):
        written = datetime.fromtimestamp(Path(run.origin.path).stat().st_mtime, UTC)
        if written > time + CLOCKS_APART:
            give_warning(f"{run.origin.path} is dated in the future ({written:%Y-%m-%d %H:%M} UTC): kept as of now")
        time = min(time, written)
    return time.isoformat(timespec="microseconds")


def is_file(run: Run) -> bool:
    return run.origin is not None and Path(run.origin.path).is_file()
