"""One stored run: what it was made of, where relevant docs stand, what it loses to what, and which queries failed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from rankscope._version import __version__
from rankscope.analysis.diagnose import diagnose_one
from rankscope.analysis.diagnose.records import Diagnosis, QueryList
from rankscope.analysis.overview import RANK_BANDS, count_by_band
from rankscope.analysis.rankings import Rankings
from rankscope.data.texts import beginning, one_line
from rankscope.errors import OptionError
from rankscope.evaluation import queries_asked
from rankscope.experiment.stored_scoring import DEFAULT_MEASURE, measure_with_margin, policies_of
from rankscope.measures.parse import parse_measure
from rankscope.measures.scores import show
from rankscope.measures.spec import Measure
from rankscope.printable import counted
from rankscope.records import Options, Record, replace
from rankscope.report.charts import figure_of
from rankscope.report.charts.positions import BandCounts, PositionsChart
from rankscope.report.diagnosis import (
    answer_block,
    facts_block,
    finding_blocks,
    missed_words,
    shares_block,
    steps_blocks,
)
from rankscope.report.document import (
    Bullets,
    Facts,
    Figure,
    Paragraph,
    Report,
    Section,
    Shares,
    TableBlock,
    VerdictBlock,
)
from rankscope.report.table import Cell, Table
from rankscope.store import StoredRun
from rankscope.store.qrels import StoredQrels
from rankscope.store.scores import data_of_docs
from rankscope.web.chosen import ensure_scores
from rankscope.web.library import Library
from rankscope.web.lists import LONGEST_QUERY, texts_of
from rankscope.web.pages.query import value_text

MOST_FAILURES = 100
MOST_OPTIONS = 100
LONGEST_OPTION = 500
FIRST_RELEVANT = "FirstRel"

DiagnosisBlock: TypeAlias = VerdictBlock | Facts | Shares | Bullets


class RunPageOptions(Options):
    """Which run is looked at."""

    run: str = ""
    """A number, a system for its newest run, a tag or the beginning of a hash; by default the newest run of all."""
    collection: str = ""
    """The collection, where a system has runs on several."""
    measure: str = ""
    """The measure; by default the one that decided the run."""


class RunFact(Record):
    """Something known of a run."""

    name: str
    value: str
    is_code: bool = False
    """Whether it is a hash, a command or the like."""


class RunFactGroup(Record):
    """Facts that belong together."""

    title: str
    facts: tuple[RunFact, ...]


class NearRun(Record):
    """Another run of the same system."""

    number: int
    started: str


class FailedRunQuery(Record):
    """A query without an answer."""

    query: str
    text: str
    reason: str
    """Empty where nobody knows."""


class FailureReason(Record):
    """How often something was the reason."""

    reason: str
    n_queries: int


class WorstQuery(Record):
    """One of the queries with the lowest scores."""

    query: str
    text: str
    score: float
    n_found: int
    """Relevant docs among the first."""
    n_relevant: int
    what: str
    """What is missing most of all."""


class RunPage(Record, kw_only=True):
    """What stands on the page."""

    number: int | None
    """None where the store has no runs yet."""
    digest: str
    system: str
    collection: str
    started: str
    tags: tuple[str, ...]
    measure: str
    mean: float | None
    n_queries: int
    """Queries that count."""
    n_undefined: int
    n_missing: int
    """Queries that the run does not answer."""
    labels: str
    answer: str
    previous: NearRun | None
    next: NearRun | None
    latency_ms: dict[str, float]
    """Mean, p50, p95, p99, max and n of single queries; empty where nobody measured it."""
    groups: tuple[RunFactGroup, ...]
    positions: Figure | None
    diagnosis: tuple[DiagnosisBlock, ...]
    """What is lost most, and what usually helps; empty where nothing can be said."""
    findings: tuple[Bullets, ...]
    worst: tuple[WorstQuery, ...]
    """The queries with the lowest scores, the worst first."""
    failures: tuple[FailedRunQuery, ...]
    n_failed: int
    reasons: tuple[FailureReason, ...]
    """Of all failed queries, the most frequent first."""


def run_page(library: Library, asked: RunPageOptions) -> RunPage:
    """Show one stored run: manifest, positions of relevant docs, diagnosis, and failures with their reasons."""
    return library.cached(("run page", asked), lambda: make_page(library, asked))


def make_page(library: Library, asked: RunPageOptions) -> RunPage:
    store = library.store
    newest = store.runs.list(last=1, collection=asked.collection or None)
    if not newest and not asked.run:
        return no_run()
    run = store.runs.find(asked.run, collection=asked.collection or None) if asked.run else newest[0]
    labels = store.qrels.find(run.collection)
    measure = measure_with_margin(store, [run], asked.measure or None).measure
    if data_of_docs(measure) and not asked.measure:  # the store cannot compute it again
        measure = parse_measure(DEFAULT_MEASURE)
    ensure_scores(library, [run], labels, [measure, parse_measure(FIRST_RELEVANT)], policies_of(run))
    summary = store.scores.means([run], labels, measure, policies_of(run))[run.number]
    diagnosis = library.large(
        ("diagnosis", run.number, labels.number, measure.name, library.state()["run"]),  # runs bring words of docs
        diagnosis_of_run,
        run,
        labels,
        measure,
        n_scores=labels.facts["n_queries"],
        what=f"the diagnosis of run {run.number}",
    )
    before, after = near_runs(library, run)
    failures = tuple(failed_queries(library, run))
    return RunPage(
        number=run.number,
        digest=run.digest,
        system=run.system,
        collection=run.collection,
        started=run.started,
        tags=tuple(tag for tag, number in store.tags.current().items() if number == run.number),
        measure=measure.name,
        mean=summary.mean,
        n_queries=summary.n,
        n_undefined=summary.undefined,
        n_missing=summary.missing,
        labels=f"{labels.name} of {labels.stored[:10]}",
        answer=answer_of(run, measure, summary.mean, summary.n),
        previous=before,
        next=after,
        latency_ms=run.details.latency_ms or {},
        groups=tuple(fact_groups(run)),
        positions=positions_of(library, run, labels),
        diagnosis=() if diagnosis is None else tuple(first_blocks(diagnosis, measure.name)),
        findings=() if diagnosis is None else tuple(finding_blocks(diagnosis)),
        worst=() if diagnosis is None else tuple(map(worst_query, diagnosis.worst)),
        failures=failures,
        n_failed=len(run.details.failed),
        reasons=reasons_of(run),
    )


def no_run() -> RunPage:
    return RunPage(
        number=None, digest="", system="", collection="", started="", tags=(), measure="", mean=None, n_queries=0,
        n_undefined=0, n_missing=0, labels="", answer="There are no runs yet.", previous=None, next=None, latency_ms={},
        groups=(), positions=None, diagnosis=(), findings=(), worst=(), failures=(), n_failed=0, reasons=(),
    )  # fmt: skip


def answer_of(run: StoredRun, measure: Measure, mean: float | None, n_queries: int) -> str:
    """Say what the run scores, and whether queries are without an answer."""
    score = "has no score" if mean is None else f"reaches {measure.name} {show(mean)}"
    words = f"{run.system} {score} over {counted(n_queries, 'query')}"
    n_failed = len(run.details.failed)
    failed = f"; {n_failed:,} failed" if n_failed else ""
    return f"{words}{failed}."


def near_runs(library: Library, run: StoredRun) -> tuple[NearRun | None, NearRun | None]:
    """Return the runs of the same system before and after this one."""
    runs = library.cached(
        ("runs of system", run.collection, run.system),
        lambda: [
            NearRun(each.number, each.started)
            for each in library.store.runs.list(system=run.system, collection=run.collection)
        ],
    )
    at = next((i for i, each in enumerate(runs) if each.number == run.number), None)
    if at is None:  # a further repetition
        return None, None
    return runs[at - 1] if at else None, runs[at + 1] if at + 1 < len(runs) else None


def fact_groups(run: StoredRun) -> Iterator[RunFactGroup]:
    details = run.details
    made = {
        "Run": f"{run.number}",
        "System": f"{run.system}{f', {run.type}' if run.type else ''}",
        "Answers from": run.started[:19].replace("T", " ") + " UTC",
        "Finished": details.finished[:19].replace("T", " ") + (" UTC" if details.finished else ""),
        "Repetition": f"{details.repetition} of {details.n_repetitions}" if details.n_repetitions > 1 else "",
        "Docs asked for": "" if details.depth is None else f"{details.depth:,}",
        "Queries": "" if details.split == "all" else details.split,
        "Seed": ", ".join(map(str, details.seeds)),
        "Note": details.note,
    }
    yield fact_group("How it was made", made)
    where = {"Host": details.host, "Versions": ", ".join(f"{name} {each}" for name, each in details.versions.items())}
    code = {"Git commit": details.git_commit, "Command": details.command}
    yield fact_group("Where it was made", where, code)
    counts = {"judgments" if name == "qrels" else name: n for name, n in run.counts.items()}
    sizes = {name.capitalize(): f"{n:,}" for name, n in counts.items()}
    hashes = {
        "Hash of the run": run.digest,
        "Hash of the ranking": run.ranking_sha256,
        "Hash of the queries": run.queries_sha256,
        "Hash of the docs": run.docs_sha256,
        "Hash of the judgments": run.qrels_sha256,
        "Fingerprint of the system": details.fingerprint,
    }
    yield fact_group("What it was made of", {"Collection": run.collection, **sizes}, hashes)
    if run.config:
        yield fact_group("Options of the system", dict(list(flat(run.config))[:MOST_OPTIONS]))
    policies = {name: value_text(value) for name, value in details.policies.items()}
    if policies:
        yield fact_group("How it is scored", policies)


def fact_group(title: str, facts: Mapping[str, str], code: Mapping[str, str] | None = None) -> RunFactGroup:
    """Return facts that are known; what is empty is left out."""
    kinds = ((facts, False), (code or {}, True))
    return RunFactGroup(
        title,
        tuple(
            RunFact(beginning(one_line(name), LONGEST_OPTION), beginning(one_line(value), LONGEST_OPTION), is_code)
            for group, is_code in kinds
            for name, value in group.items()
            if value
        ),
    )


def flat(options: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, str]]:
    """Yield options as `name` or `table.name`, with their values as text."""
    for name, value in options.items():
        if isinstance(value, dict) and value:
            yield from flat(value, f"{before}{name}.")
        else:
            yield f"{before}{name}", value_text(value) or '""'


def positions_of(library: Library, run: StoredRun, labels: StoredQrels) -> Figure | None:
    """Draw where the first relevant doc stands, by the ranks that the store has or computes."""

    def draw() -> Figure | None:
        measure = parse_measure(FIRST_RELEVANT)
        scored = library.store.scores.of(run, labels, [measure], policies_of(run))[measure.name]
        counts = BandCounts(run.system, count_by_band(scored.vector.values))
        chart = PositionsChart(RANK_BANDS, [counts], title="Where the first relevant doc stands", prefix="positions")
        try:
            return figure_of(chart)
        except OptionError:  # no query has a relevant doc
            return None

    return library.cached(("positions", run.number, labels.number), draw, lasting=True)


def diagnosis_of_run(library: Library, run: StoredRun, labels: StoredQrels, measure: Measure) -> Diagnosis | None:
    """Return what the run loses to what, with the words behind the ids that are named."""
    store = library.store
    ranking = store.runs.ranking(run)
    qrels, _ = queries_asked(store.qrels.judgments(labels), [ranking])
    rankings = Rankings(qrels, {run.system: ranking}, policies_of(run))
    found = diagnose_one(rankings, run.system, measure.name)
    if found is None:
        return None
    named = {query.query for query in (*found.worst, *found.best)}
    named |= {example.query for finding in found.findings for example in finding.examples}
    place_of = {query: place for place, query in enumerate(store.texts.query_ids(run.queries_sha256))}
    places = [place_of[query] for query in named if query in place_of]
    texts = texts_of(
        store.texts.queries_at(run.queries_sha256, places), store.texts.docs(run.collection, found.shown_docs)
    )
    return found.with_texts(texts)


def first_blocks(diagnosis: Diagnosis, measure: str) -> Iterator[DiagnosisBlock]:
    """Yield the answer, the numbers that the page does not have yet, and what is lost to what."""
    yield answer_block(diagnosis)
    numbers = facts_block(diagnosis)
    yield replace(numbers, facts=tuple(fact for fact in numbers.facts if fact.label != measure))
    yield shares_block(diagnosis)
    yield from steps_blocks(diagnosis)


def worst_query(query: QueryList) -> WorstQuery:
    text = beginning(query.query_text, LONGEST_QUERY)
    what = missed_words(query).lstrip(",; ").removeprefix("as ")
    return WorstQuery(query.query, text, query.score, query.n_found, query.n_relevant, what)


def failed_queries(library: Library, run: StoredRun) -> Iterator[FailedRunQuery]:
    """Yield the first queries without an answer, with what was asked and why there is none."""
    failed = run.details.failed[:MOST_FAILURES]
    if not failed:
        return
    place_of = {query: place for place, query in enumerate(library.store.texts.query_ids(run.queries_sha256))}
    texts = library.store.texts.queries_at(run.queries_sha256, [place_of[each] for each in failed if each in place_of])
    for query in failed:
        text = texts[query].text if query in texts else ""
        reason = one_line(run.details.reasons.get(query, ""))
        yield FailedRunQuery(query, beginning(one_line(text or ""), LONGEST_QUERY), reason)


def reasons_of(run: StoredRun) -> tuple[FailureReason, ...]:
    counts = Counter(one_line(run.details.reasons.get(query, "")) for query in run.details.failed)
    return tuple(FailureReason(reason, n) for reason, n in counts.most_common(10))


def run_report(page: RunPage) -> Report | None:
    """Return what is known of a run as a report, from which files are made."""
    if page.number is None:
        return None
    sections = []
    if page.diagnosis:
        sections.append(Section("What is lost, and what usually helps", (*page.diagnosis, *page.findings)))
    if page.failures:
        rows = [[Cell(each.query), Cell(each.text), Cell(each.reason)] for each in page.failures]
        failed = TableBlock("Failed queries", Table(["query", "text", "why"], rows, n_name_columns=3))
        sections.append(Section("Failures", (failed,)))
    facts = [[Cell(group.title), Cell(fact.name), Cell(fact.value)] for group in page.groups for fact in group.facts]
    manifest = TableBlock("Manifest", Table(["part", "name", "value"], facts, n_name_columns=3))
    sections.append(Section("What it was made of", (manifest,)))
    charts = () if page.positions is None else (page.positions,)
    title = f"Run {page.number} of {page.system} on {page.collection}"
    return Report(title, (Paragraph(page.answer), *charts), tuple(sections), (("rankscope", __version__),))
