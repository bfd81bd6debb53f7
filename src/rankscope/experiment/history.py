"""What became of systems over time: every stored run under today's judgments, and what changed between two of them.

A change is taken apart: **total** = S(r2, Q2) - S(r1, Q1) = **system** [S(r2, Q2) - S(r1, Q2)] + **labels**
[S(r1, Q2) - S(r1, Q1)], for run r1 under the judgments Q1 of its time and run r2 under the judgments Q2 of today. S is
over the queries that both runs were asked and both judgments judge; others are counted apart, and are never a gain. The
verdict is on the system's part, under the judgments of today.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from rankscope._version import __version__
from rankscope.align.policies import Policies
from rankscope.comparison.compare import compare_runs
from rankscope.comparison.known_measures import range_of
from rankscope.comparison.records import Code, Comparison, PairResult
from rankscope.comparison.request import CompareOptions, request_of
from rankscope.comparison.verdict import short_words
from rankscope.data.qrels import Qrels
from rankscope.errors import InputError, OptionError, give_warning
from rankscope.experiment.keep import KeptCollection
from rankscope.measures.parse import parse_measure
from rankscope.measures.scores import ROUNDING, show
from rankscope.measures.spec import Measure
from rankscope.records import Record, StoredRecord, or_none
from rankscope.stats.interval import mean_interval
from rankscope.store import Store, StoredRun
from rankscope.store.qrels import StoredQrels
from rankscope.store.scores import ScoreSummary, StoredScores

DEFAULT_MEASURE = "nDCG@10"
SHOWN_CHANGES = 8


class ChangeParts(Record):
    """A change of a mean, and where it comes from; None where a mean is undefined."""

    total: float | None
    system: float | None
    """What the system has changed, under the judgments of today."""
    labels: float | None
    """What other judgments have changed of the earlier run."""


class QueryCounts(Record):
    """How the queries of two runs differ."""

    n_common: int
    """Asked of both with the same words, and judged then and now."""
    n_added: int = 0
    """Asked only of the later run."""
    n_removed: int = 0
    """Asked only of the earlier run."""
    n_changed: int = 0
    """Asked of both under the same id, but with other words."""
    n_judged_since: int = 0
    """Asked of both, and judged only now."""

    @property
    def are_same(self) -> bool:
        return not (self.n_added or self.n_removed or self.n_changed)

    @property
    def in_words(self) -> str:
        """For example `10 queries were added, 2 removed`; empty where both were asked the same."""
        counts = {"added": self.n_added, "removed": self.n_removed, "changed in wording": self.n_changed}
        said = [f"{n} {what}" for what, n in counts.items() if n]
        if not said:
            return ""
        n_first = next(n for n in counts.values() if n)
        first, *others = said
        number, _, what = first.partition(" ")
        subject = "query was" if n_first == 1 else "queries were"
        return ", ".join([f"{number} {subject} {what}", *others])


class HistoryPoint(Record, kw_only=True):
    """One stored run of a system."""

    run: int
    digest: str
    started: str
    mean: float | None
    """Under the judgments of today; None where it is undefined."""
    low: float | None = None
    high: float | None = None
    mean_then: float | None = None
    """Under the judgments of its time."""
    n: int
    """Queries that count."""
    missing: int
    """Queries that it does not answer."""
    change: ChangeParts | None = None
    """Since the run before; None for the first, and where the two have no query in common."""
    queries: QueryCounts | None = None
    """How its queries differ from those of the run before."""
    tags: tuple[str, ...] = ()


class SystemHistory(Record):
    """All stored runs of one system on one collection, the oldest first."""

    system: str
    points: tuple[HistoryPoint, ...]
    change: ChangeParts | None = None
    """From the first of them to the last; None for one run, and where the two have no query in common."""
    queries: QueryCounts | None = None


class VerdictOnChange(Record, kw_only=True):
    """What a comparison of a run with the one before says, under the judgments of today."""

    system: str
    before: int
    after: int
    at: str
    """When the later run was made."""
    difference: float | None
    low: float | None
    high: float | None
    verdict: Code
    short: str
    """The verdict in a word or two."""
    words: str
    """The whole verdict."""


class LabelsOfToday(Record):
    """The judgments that all runs are scored under."""

    number: int
    name: str
    digest: str
    n_queries: int
    n_judgments: int
    stored: str


class History(StoredRecord, kw_only=True):
    """What became of systems on one collection, by one measure, under the judgments of today."""

    rankscope: str
    collection: str
    measure: str
    better: Literal["higher", "lower"]
    labels: LabelsOfToday
    systems: tuple[SystemHistory, ...]
    n_looks: int = 0
    """Comparisons that were made on the queries of today."""
    changes: tuple[VerdictOnChange, ...] = ()
    """The newest changes, the newest first."""


class RunChange(StoredRecord, kw_only=True):
    """What changed between two stored runs."""

    rankscope: str
    measure: str
    before: HistoryPoint
    after: HistoryPoint
    systems: tuple[str, str]
    collection: str
    queries: QueryCounts
    change: ChangeParts
    comparison: Comparison | None
    """Of the two rankings under the judgments of today; None where they are the same."""
    notes: tuple[str, ...] = ()


def history_of(
    store: Store,
    *,
    collection: str | None = None,
    measure: str | None = None,
    systems: Sequence[str] = (),
    last: int | None = None,
    qrels: str | None = None,
    n_changes: int = SHOWN_CHANGES,
    on_progress: Callable[[int, int], object] | None = None,
) -> History:
    """Return the stored runs of systems on a collection, each scored under the judgments of today.

    `last` keeps the newest runs of each system; `qrels` names other judgments than the newest; `n_changes` is how many
    runs are compared with the one before. What was not scored yet is scored now, and kept.
    """
    name = chosen_collection(store, collection)
    runs = store.runs.list(collection=name)
    known = {run.system for run in runs}
    for system in systems:
        if system not in known:
            raise OptionError(
                f"the store has no run of {system!r} on {name}", hint=f"there are {', '.join(sorted(known))}"
            )
    of_system = {
        system: [run for run in runs if run.system == system][-last if last else None :]
        for system in dict.fromkeys(run.system for run in runs)
        if not systems or system in systems
    }
    wanted, policies = chosen_measure(runs, measure), policies_of(runs[-1])
    labels = store.qrels.find(qrels or name)
    scorer = HistoryScorer(store, wanted, policies)
    scorer.prepare([run for group in of_system.values() for run in group], labels, on_progress)
    tags: dict[int, list[str]] = {}
    for tag, number in store.tags.current().items():
        tags.setdefault(number, []).append(tag)
    return History(
        rankscope=__version__,
        collection=name,
        measure=wanted.name,
        better="lower" if wanted.spec.better == "lower" else "higher",
        labels=LabelsOfToday(
            labels.number,
            labels.name,
            labels.digest,
            labels.facts["n_queries"],
            labels.facts["n_judgments"],
            labels.stored,
        ),
        systems=tuple(system_history(scorer, system, group, labels, tags) for system, group in of_system.items()),
        changes=tuple(newest_changes(store, scorer, of_system.values(), labels, n_changes)),
        n_looks=store.comparisons.n_looks(runs[-1].queries_sha256),
    )


def chosen_collection(store: Store, name: str | None) -> str:
    known = store.runs.collections()
    if not known:
        raise InputError("the store has no runs yet", hint="`rankscope run` stores the first")
    if name is not None:
        if name not in known:
            raise OptionError(f"the store has no runs on {name!r}", hint=f"there are {', '.join(known)}")
        return name
    if len(known) > 1:
        raise OptionError(
            f"the store has runs on {len(known)} collections: {', '.join(known)}", hint="--collection NAME says which"
        )
    return known[0]


def chosen_measure(runs: Sequence[StoredRun], name: str | None) -> Measure:
    """Return the measure asked for, else the one that decided last."""
    decided = next((run.details.primary for run in reversed(runs) if run.details.primary), DEFAULT_MEASURE)
    return parse_measure(name or decided)


def policies_of(run: StoredRun) -> Policies:
    return Policies(**run.details.policies)


class HistoryScorer:
    """Scores of stored runs by one measure; each is asked of the store once."""

    def __init__(self, store: Store, measure: Measure, policies: Policies) -> None:
        self.store, self.measure, self.policies = store, measure, policies
        self._scores: dict[tuple[int, int], StoredScores] = {}
        self._means: dict[int, dict[int, ScoreSummary]] = {}
        self._texts: dict[str, dict[str, str | None]] = {}
        self._labels: dict[str, StoredQrels] | None = None

    def prepare(
        self, runs: Sequence[StoredRun], labels: StoredQrels, on_progress: Callable[[int, int], object] | None = None
    ) -> None:
        """Score what was not scored yet, one run at a time."""
        lacking = self.store.scores.lacking(runs, labels, [self.measure], self.policies)
        for done, run in enumerate(run for run in runs if run.number in lacking):
            if on_progress is not None:
                on_progress(done, len(lacking))
            self.store.scores.compute([run], labels, [self.measure], self.policies)

    def scores(self, run: StoredRun, labels: StoredQrels) -> StoredScores:
        key = (run.number, labels.number)
        if key not in self._scores:
            self._scores[key] = self.store.scores.of(run, labels, [self.measure], self.policies)[self.measure.name]
        return self._scores[key]

    def labels_then(self, run: StoredRun) -> StoredQrels | None:
        """Return the judgments of a run's time; None where nobody knows them."""
        if self._labels is None:
            self._labels = {each.judgments_sha256: each for each in reversed(self.store.qrels.list())}
        return self._labels.get(run.qrels_sha256)

    def texts(self, run: StoredRun) -> dict[str, str | None]:
        """Return the queries that a run was asked, with their words."""
        if run.queries_sha256 not in self._texts:
            queries = self.store.texts.queries(run.queries_sha256)
            self._texts[run.queries_sha256] = {query: each.text for query, each in queries.items()}
        return self._texts[run.queries_sha256]


def system_history(
    scorer: HistoryScorer, system: str, runs: Sequence[StoredRun], labels: StoredQrels, tags: dict[int, list[str]]
) -> SystemHistory:
    points = tuple(
        point_of(scorer, run, labels, before=before, tags=tuple(tags.get(run.number, ())))
        for before, run in zip([None, *runs], runs, strict=False)
    )
    if len(runs) < 2:
        return SystemHistory(system, points)
    queries, change = change_between(scorer, runs[0], runs[-1], labels)
    return SystemHistory(system, points, change, queries)


def newest_changes(
    store: Store, scorer: HistoryScorer, groups: Iterable[Sequence[StoredRun]], labels: StoredQrels, n: int
) -> Iterator[VerdictOnChange]:
    """Yield what comparisons of the newest runs with the ones before say; where queries differ, there is none."""
    pairs = [pair for runs in groups for pair in pairwise(runs)]
    for before, after in sorted(pairs, key=lambda pair: (pair[1].started, pair[1].number), reverse=True)[:n]:
        counts, change = change_between(scorer, before, after, labels)
        facts: dict[str, Any] = {
            "system": after.system,
            "before": before.number,
            "after": after.number,
            "at": after.started,
        }
        if change is None or not counts.are_same:
            why = f"Not comparable: {counts.in_words or 'no judged query in common'}."
            yield VerdictOnChange(
                **facts,
                difference=None,
                low=None,
                high=None,
                verdict="not_comparable",
                short="not comparable",
                words=why,
            )
            continue
        compared = compared_runs(store, scorer, before, after, labels)
        if compared is None:
            same = "The rankings are identical."
            yield VerdictOnChange(
                **facts, difference=0.0, low=None, high=None, verdict="identical", short="identical", words=same
            )
            continue
        pair = next(iter(compared))
        verdict = pair.final_verdict
        numbers: dict[str, Any] = {"difference": pair.delta, "low": pair.ci.low, "high": pair.ci.high}
        yield VerdictOnChange(
            **facts,
            **numbers,
            verdict=verdict.code,
            short=short_words(verdict.code, pair),
            words=f"{verdict.text} {verdict.reason}",
        )


def compared_runs(
    store: Store,
    scorer: HistoryScorer,
    before: StoredRun,
    after: StoredRun,
    labels: StoredQrels,
    *,
    margin: float | None = None,
    on_notes: Callable[..., object] = give_warning,
) -> Comparison | None:
    """Return the comparison of two runs under some judgments, as it was kept or made now; None for the same ranking.

    They are compared on the queries that both were asked with the same words. `on_notes` takes what must be known of
    the data.
    """
    if before.ranking_sha256 == after.ranking_sha256:
        return None
    asked = {"then": scorer.texts(before), "now": scorer.texts(after)}
    same = [
        query for query, text in asked["then"].items() if query in asked["now"] and are_same(text, asked["now"][query])
    ]
    names = {f"run {run.number}": run for run in (before, after)}
    if before.system != after.system:
        names = {f"{run.system} (run {run.number})": run for run in (before, after)}
    inputs = {
        "runs": {name: run.ranking_sha256 for name, run in names.items()},
        "queries": sorted(same),
        "qrels": labels.judgments_sha256,
        "measure": [scorer.measure.name, scorer.measure.spec.version],
        "margin": margin,
        "policies": scorer.policies.as_dict(),
        "rankscope": __version__,
    }
    kept = store.comparisons.find(inputs)
    if kept is not None:
        return store.comparisons.result(kept)
    judgments = store.qrels.judgments(labels).select(same)
    runs = {name: store.runs.ranking(run) for name, run in names.items()}
    given = {"margin": margin, **scorer.policies.as_dict()}
    request = request_of(given, function="compare", known=CompareOptions, measures=scorer.measure)
    notes: list[str] = []
    made = compare_runs(judgments, runs, request, on_note=notes.append)
    on_notes(*notes)
    if not store.read_only:
        rankings = (before.ranking_sha256, after.ranking_sha256)
        store.comparisons.add(made, queries_sha256=after.queries_sha256, rankings=rankings, inputs=inputs)
    return made


def point_of(
    scorer: HistoryScorer, run: StoredRun, labels: StoredQrels, *, before: StoredRun | None, tags: tuple[str, ...]
) -> HistoryPoint:
    scores, then = scorer.scores(run, labels), scorer.labels_then(run)
    values = scores.vector.values[~np.isnan(scores.vector.values)]
    interval = mean_interval(values, range=range_of(scorer.measure.name)) if len(values) > 1 else None
    queries = change = None
    if before is not None:
        queries, change = change_between(scorer, before, run, labels)
    return HistoryPoint(
        run=run.number,
        digest=run.digest,
        started=run.started,
        mean=scores.summary.mean,
        low=None if interval is None else interval.low,
        high=None if interval is None else interval.high,
        mean_then=None if then is None else scorer.scores(run, then).summary.mean,
        n=scores.summary.n,
        missing=scores.summary.missing,
        change=change,
        queries=queries,
        tags=tags,
    )


def change_between(
    scorer: HistoryScorer, before: StoredRun, after: StoredRun, labels: StoredQrels
) -> tuple[QueryCounts, ChangeParts | None]:
    """Return how the queries differ, and the change of the mean over the common ones, taken apart."""
    asked_then, asked_now = scorer.texts(before), scorer.texts(after)
    both = asked_then.keys() & asked_now.keys()
    same = {query for query in both if are_same(asked_then[query], asked_now[query])}
    then = scorer.labels_then(before) or labels
    judged_then, judged_now = scorer.scores(before, then), scorer.scores(after, labels)
    common = same & set(judged_then.query_ids) & set(judged_now.query_ids)
    counts = QueryCounts(
        n_common=len(common),
        n_added=len(asked_now.keys() - both),
        n_removed=len(asked_then.keys() - both),
        n_changed=len(both) - len(same),
        n_judged_since=len((same & set(judged_now.query_ids)) - common),
    )
    if not common:
        return counts, None
    new, old_now, old_then = (
        mean_over(scores, common) for scores in (judged_now, scorer.scores(before, labels), judged_then)
    )
    parts = ChangeParts(or_none(new - old_then), or_none(new - old_now), or_none(old_now - old_then))
    return counts, parts


def are_same(then: str | None, now: str | None) -> bool:
    """Whether a query of the same id asks for the same, as far as its words are known."""
    return then is None or now is None or then == now


def mean_over(scores: StoredScores, queries: set[str]) -> float:
    """Return the mean over some queries; NaN where none of them has a score."""
    if len(queries) == len(scores.query_ids):
        values = scores.vector.values
    else:
        values = scores.vector.values[[query in queries for query in scores.query_ids]]
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else float("nan")


def diff_runs(
    store: Store,
    before: StoredRun,
    after: StoredRun,
    *,
    measure: str | None = None,
    qrels: str | None = None,
    margin: float | None = None,
    anyway: bool = False,
) -> RunChange:
    """Return what changed between two stored runs of a collection.

    Runs that were asked other queries are refused unless `anyway` is given: then the common ones are compared.
    """
    if before.collection != after.collection:
        raise InputError(
            f"run {before.number} is on {before.collection}, and run {after.number} on {after.collection}",
            hint="runs on two collections cannot be compared: they were asked other queries",
        )
    wanted = chosen_measure((before, after), measure)
    labels = store.qrels.find(qrels or after.collection)
    scorer = HistoryScorer(store, wanted, policies_of(after))
    counts, change = change_between(scorer, before, after, labels)
    if change is None:
        raise InputError(
            f"run {before.number} and run {after.number} have no judged query in common"
            + (f": {counts.in_words}" if counts.in_words else ""),
            hint="nothing can be said of what changed",
        )
    if not counts.are_same and not anyway:
        raise InputError(
            f"run {before.number} and run {after.number} were not asked the same queries: {counts.in_words}",
            hint=f"--anyway compares them on the {counts.n_common} queries that both were asked",
        )
    comparison = compared_runs(store, scorer, before, after, labels, margin=margin)
    tags = {number: (tag,) for tag, number in store.tags.current().items()}
    points = [point_of(scorer, run, labels, before=None, tags=tags.get(run.number, ())) for run in (before, after)]
    return RunChange(
        rankscope=__version__,
        measure=wanted.name,
        before=points[0],
        after=points[1],
        systems=(before.system, after.system),
        collection=after.collection,
        queries=counts,
        change=change,
        comparison=comparison,
        notes=tuple(notes_on(before, after)),
    )


def rescored(
    store: Store,
    collection: str,
    labels: Qrels | None = None,
    *,
    measure: str | None = None,
    on_progress: Callable[[int, int], object] | None = None,
) -> History:
    """Score all stored runs on a collection under the judgments of today, or the newest of the store; both are kept."""
    name = chosen_collection(store, collection)
    if labels is not None:
        newest = store.runs.list(collection=name, last=1)[0]
        if newest.qrels_sha256 and counts_unjudged(store, name):
            labels = labels.with_queries(store.texts.queries(newest.queries_sha256))
        store.qrels.add(labels, name=name)
    return history_of(store, collection=name, measure=measure, n_changes=0, on_progress=on_progress)


def counts_unjudged(store: Store, name: str) -> bool:
    """Whether queries without judgments count on a collection: then its judgments list them."""
    return bool(store.qrels.judgments(store.qrels.find(name)).rows.empty_queries)


def change_lines(store: Store, kept: KeptCollection) -> Iterator[str]:
    """Say in one line for each system what has changed since its run before."""
    for run in kept.runs:
        runs = store.runs.list(system=run.system, collection=kept.name)
        wanted = chosen_measure([run], None)
        scorer = HistoryScorer(store, wanted, policies_of(run))
        now = scorer.scores(run, kept.qrels).summary.mean
        here = f"{run.system}: {wanted.name} {'undefined' if now is None else show(now)}"
        place = [each.number for each in runs].index(run.number)
        if run.number not in kept.new:
            then = scorer.labels_then(run)
            before = None if then is None else scorer.scores(run, then).summary.mean
            moved = before is not None and now is not None and abs(now - before) > ROUNDING
            labels = f"; other judgments move it by {now - before:+.4f}" if moved and now and before is not None else ""
            yield f"{here}, the same answers as in run {run.number}{labels}"
        elif place == 0:
            yield f"{here}, the first stored run"
        else:
            yield f"{here}{since_words(store, scorer, runs[place - 1], run, kept.qrels)}"


def since_words(store: Store, scorer: HistoryScorer, before: StoredRun, after: StoredRun, labels: StoredQrels) -> str:
    counts, change = change_between(scorer, before, after, labels)
    when = f"run {before.number} of {before.started[:16].replace('T', ' ')}"
    if change is None or not counts.are_same:
        return f"; not comparable with {when}: {counts.in_words or 'no judged query in common'}"
    compared = compared_runs(store, scorer, before, after, labels)
    verdict = "identical" if compared is None else short_words(*verdict_and_pair(compared))
    moved = "" if not change.labels else f"; other judgments moved that run by {change.labels:+.4f}"
    difference = "" if change.system is None else f"{change.system:+.4f} "
    return f", {difference}since {when}: {verdict}{moved}"


def verdict_and_pair(comparison: Comparison) -> tuple[Code, PairResult]:
    pair = next(iter(comparison))
    return pair.final_verdict.code, pair


def notes_on(before: StoredRun, after: StoredRun) -> list[str]:
    """Return what else differs between two runs, which may be why they differ."""
    notes = []
    if before.docs_sha256 != after.docs_sha256:
        notes.append("The docs of the collection have changed: part of the difference may come from them.")
    if before.details.depth != after.details.depth:
        notes.append(f"{before.details.depth} docs were asked for then, and {after.details.depth} now.")
    if before.config != after.config:
        notes.append("The options of the system have changed.")
    return notes
