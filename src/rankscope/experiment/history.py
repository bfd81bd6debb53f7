"""What became of systems over time: every stored run under today's judgments, and what changed between two of them.

A change is taken apart: **total** = S(r2, Q2) - S(r1, Q1) = **system** [S(r2, Q2) - S(r1, Q2)] + **labels**
[S(r1, Q2) - S(r1, Q1)], for run r1 under the judgments Q1 of its time and run r2 under the judgments Q2 of today. S is
over the queries that both runs were asked, as far as they are judged: queries that were added are counted apart, and
those that were judged since are the labels' part, so neither is ever a gain. The verdict is on the system's part, under
the judgments of today.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
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
from rankscope.measures.scores import ROUNDING, show, summarise
from rankscope.measures.spec import Measure
from rankscope.records import Record, StoredRecord, or_none
from rankscope.stats.interval import mean_interval
from rankscope.store import Store, StoredRun
from rankscope.store.qrels import StoredQrels
from rankscope.store.scores import ScoreSummary, StoredScores

DEFAULT_MEASURE = "nDCG@10"
SHOWN_CHANGES = 8
PRODUCTION = "production"
"""The tag of the run that users see."""
LONGEST_VALUE = 24
"""Of an option's value, so many characters are shown where it was changed."""


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
    """Asked of both with the same words, and judged today."""
    n_added: int = 0
    """Asked only of the later run."""
    n_removed: int = 0
    """Asked only of the earlier run."""
    n_changed: int = 0
    """Asked of both under the same id, but with other words."""
    n_judged_since: int = 0
    """Asked of both, and judged only now: what they change is the labels' part."""
    n_no_longer_judged: int = 0
    """Asked of both, and judged only then; the same holds for them."""

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
    same_as_newest: bool = True
    """Whether it was asked the same queries as the newest run of the system."""
    tags: tuple[str, ...] = ()


class SystemHistory(Record):
    """All stored runs of one system on one collection, the oldest first."""

    system: str
    points: tuple[HistoryPoint, ...]
    since: int | None = None
    """The first run that was asked the same queries as the newest; None where that is the newest itself."""
    change: ChangeParts | None = None
    """From that run, as it was scored then, to the newest, as it is scored today."""
    queries: QueryCounts | None = None
    """How the queries of the first run of all differ from those of the newest."""

    @property
    def comparable(self) -> tuple[HistoryPoint, ...]:
        """The runs from `since` on that were asked the same queries as the newest, and it; often all."""
        if self.since is None:
            return self.points[-1:]
        return tuple(point for point in self.points if point.same_as_newest)


class VerdictOnChange(Record, kw_only=True):
    """What a comparison of a run with the one before says, under the judgments of today."""

    system: str
    before: int
    after: int
    at: str
    """When the later run was made."""
    what: str = ""
    """What was changed, as far as options, docs and depth tell."""
    difference: float | None
    low: float | None
    high: float | None
    verdict: Code
    short: str
    """The verdict in a word or two."""
    words: str
    """The whole verdict."""


class LabelStep(Record, kw_only=True):
    """A step of the printed numbers at which the judgments were others than before."""

    system: str
    before: int
    after: int
    at: str
    """When the first run was made that was scored under them."""
    n_before: int
    """Judgments before."""
    n_after: int
    printed: float
    """By how much the printed number moved."""
    labels: float
    """Of that, what was not the system: the rest, under the judgments of today, was."""


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
    main: str
    """The system that the answer is about: the one with the tag production, else the one whose run is the newest."""
    verdict: VerdictOnChange | None = None
    """On its newest run against its first one that was asked the same queries."""
    n_looks: int = 0
    """Comparisons that were made on the queries of today."""
    changes: tuple[VerdictOnChange, ...] = ()
    """The newest changes, the newest first."""
    label_steps: tuple[LabelStep, ...] = ()
    """Where other judgments moved the printed number of the main system, the oldest first."""

    @property
    def main_system(self) -> SystemHistory:
        return next(each for each in self.systems if each.system == self.main)


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
    runs are compared with the one before; with 0 nothing is compared. What was not scored yet is scored now, and kept.
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
    histories = {system: system_history(scorer, system, group, labels, tags) for system, group in of_system.items()}
    main = main_system_of(of_system, store.tags.current().get(PRODUCTION))
    verdict, since = None, histories[main].since
    if n_changes and since is not None:
        first = next(run for run in of_system[main] if run.number == since)
        verdict = verdict_on_change(store, scorer, first, of_system[main][-1], labels)
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
        systems=tuple(histories.values()),
        main=main,
        verdict=verdict,
        changes=tuple(newest_changes(store, scorer, of_system.values(), labels, n_changes)),
        n_looks=store.comparisons.n_looks(runs[-1].queries_sha256),
        label_steps=tuple(label_steps(scorer, histories[main], of_system[main])),
    )


def main_system_of(runs: Mapping[str, Sequence[StoredRun]], in_production: int | None) -> str:
    """Return the system that a tagged run belongs to; where it is none of them, the one whose run is the newest."""
    for system, group in runs.items():
        if any(run.number == in_production for run in group):
            return system
    return max(runs, key=lambda system: (runs[system][-1].started, runs[system][-1].number))


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
        self._means: dict[tuple[int, int], ScoreSummary] = {}
        self._texts: dict[str, dict[str, str | None]] = {}
        self._labels: dict[str, StoredQrels] | None = None
        self._same: dict[tuple[str, str], frozenset[str]] = {}
        self._scored: dict[str, frozenset[str]] = {}
        self._counts: dict[tuple[str, ...], QueryCounts] = {}
        self._covers: dict[tuple[str, str, str], bool] = {}

    def prepare(
        self, runs: Sequence[StoredRun], labels: StoredQrels, on_progress: Callable[[int, int], object] | None = None
    ) -> None:
        """Score what was not scored yet, under given judgments and those of its time, and read it all at once."""
        self.labels_of_all(labels)
        groups: dict[int, tuple[StoredQrels, list[StoredRun]]] = {labels.number: (labels, list(runs))}
        for run in runs:
            then = self.labels_then(run)
            if then is not None and then != labels:
                groups.setdefault(then.number, (then, []))[1].append(run)
        for number, (qrels, group) in groups.items():
            means = self.store.scores.means(group, qrels, self.measure, self.policies, on_progress=on_progress)
            self._means |= {(run, number): summary for run, summary in means.items()}
        read = self.store.scores.read([self._means[run.number, labels.number] for run in runs])
        self._scores |= {(run.number, labels.number): scores for run, scores in zip(runs, read, strict=True)}

    def summary(self, run: StoredRun, labels: StoredQrels) -> ScoreSummary:
        """Return the mean of a run, and what it stands for."""
        key = (run.number, labels.number)
        if key not in self._means:
            self._means |= {key: self.store.scores.means([run], labels, self.measure, self.policies)[run.number]}
        return self._means[key]

    def scores(self, run: StoredRun, labels: StoredQrels) -> StoredScores:
        key = (run.number, labels.number)
        if key not in self._scores:
            self._scores[key] = self.store.scores.read([self.summary(run, labels)])[0]
        return self._scores[key]

    def labels_of_all(self, labels: StoredQrels | None = None) -> dict[str, StoredQrels]:
        """Return the first stored judgments of each content; of that of `labels`, these."""
        if self._labels is None:
            self._labels = {each.judgments_sha256: each for each in reversed(self.store.qrels.list())}
        if labels is not None:
            self._labels[labels.judgments_sha256] = labels
        return self._labels

    def labels_then(self, run: StoredRun) -> StoredQrels | None:
        """Return the judgments of a run's time; None where nobody knows them."""
        return self.labels_of_all().get(run.qrels_sha256)

    def texts(self, run: StoredRun) -> dict[str, str | None]:
        """Return the queries that a run was asked, with their words."""
        if run.queries_sha256 not in self._texts:
            queries = self.store.texts.queries(run.queries_sha256)
            self._texts[run.queries_sha256] = {query: each.text for query, each in queries.items()}
        return self._texts[run.queries_sha256]

    def same_queries(self, before: StoredRun, after: StoredRun) -> frozenset[str]:
        """Return the queries that two runs were asked with the same words."""
        key = (before.queries_sha256, after.queries_sha256)
        if key not in self._same:
            then, now = self.texts(before), self.texts(after)
            both = then.keys() & now.keys()
            self._same[key] = frozenset(query for query in both if are_same(then[query], now[query]))
        return self._same[key]

    def query_counts(self, before: StoredRun, after: StoredRun, labels: StoredQrels) -> QueryCounts:
        """Return how the queries of two runs differ, those judged then and those judged today."""
        then = self.labels_then(before) or labels
        asked = (before.queries_sha256, after.queries_sha256)
        key = (*asked, self.summary(before, then).queries_sha256, self.summary(after, labels).queries_sha256)
        if key not in self._counts:
            same = self.same_queries(before, after)
            judged_then, judged_now = (
                self.scored_queries(before, then) & same,
                self.scored_queries(after, labels) & same,
            )
            old, new = self.texts(before).keys(), self.texts(after).keys()
            self._counts[key] = QueryCounts(
                n_common=len(judged_now),
                n_added=len(new - old),
                n_removed=len(old - new),
                n_changed=len(old & new) - len(same),
                n_judged_since=len(judged_now - judged_then),
                n_no_longer_judged=len(judged_then - judged_now),
            )
        return self._counts[key]

    def scored_queries(self, run: StoredRun, labels: StoredQrels) -> frozenset[str]:
        sha256 = self.summary(run, labels).queries_sha256
        if sha256 not in self._scored:
            self._scored[sha256] = frozenset(self.store.scores.scored_queries(sha256))
        return self._scored[sha256]

    def mean_over_same(self, run: StoredRun, labels: StoredQrels, before: StoredRun, after: StoredRun) -> float:
        """Return the mean of a run over the queries that two runs were asked; NaN where none of them has a score."""
        summary = self.summary(run, labels)
        key = (summary.queries_sha256, before.queries_sha256, after.queries_sha256)
        if key not in self._covers:
            self._covers[key] = self.scored_queries(run, labels) <= self.same_queries(before, after)
        if self._covers[key]:
            return float("nan") if summary.mean is None else summary.mean
        same = self.same_queries(before, after)
        return mean_over(self.scores(run, labels), same, self.measure.spec.aggregate)


def system_history(
    scorer: HistoryScorer, system: str, runs: Sequence[StoredRun], labels: StoredQrels, tags: dict[int, list[str]]
) -> SystemHistory:
    newest = runs[-1]
    points = tuple(
        point_of(
            scorer,
            run,
            labels,
            before=before,
            tags=tuple(tags.get(run.number, ())),
            same_as_newest=scorer.query_counts(run, newest, labels).are_same,
        )
        for before, run in zip([None, *runs], runs, strict=False)
    )
    queries = scorer.query_counts(runs[0], newest, labels) if len(runs) > 1 else None
    first = next(run for run, point in zip(runs, points, strict=True) if point.same_as_newest)
    if first == newest:
        return SystemHistory(system, points, queries=queries)
    _, change = change_between(scorer, first, newest, labels)
    return SystemHistory(system, points, first.number, change, queries)


def newest_changes(
    store: Store, scorer: HistoryScorer, groups: Iterable[Sequence[StoredRun]], labels: StoredQrels, n: int
) -> Iterator[VerdictOnChange]:
    """Yield what comparisons of the newest runs with the ones before say; where queries differ, there is none."""
    pairs = [pair for runs in groups for pair in pairwise(runs)]
    for before, after in sorted(pairs, key=lambda pair: (pair[1].started, pair[1].number), reverse=True)[:n]:
        yield verdict_on_change(store, scorer, before, after, labels)


def verdict_on_change(
    store: Store, scorer: HistoryScorer, before: StoredRun, after: StoredRun, labels: StoredQrels
) -> VerdictOnChange:
    counts, change = change_between(scorer, before, after, labels)
    facts: dict[str, Any] = {
        "system": after.system,
        "before": before.number,
        "after": after.number,
        "at": after.started,
        "what": ", ".join(changed_options(before, after)),
    }
    if change is None or not counts.are_same:
        why = f"Not comparable: {counts.in_words or 'no judged query in common'}."
        facts |= {"difference": None, "low": None, "high": None}
        return VerdictOnChange(**facts, verdict="not_comparable", short="not comparable", words=why)
    compared = compared_runs(store, scorer, before, after, labels)
    if compared is None:
        facts |= {"difference": 0.0, "low": None, "high": None}
        return VerdictOnChange(**facts, verdict="identical", short="identical", words="The rankings are identical.")
    pair = next(iter(compared))
    verdict = pair.final_verdict
    return VerdictOnChange(
        **facts,
        difference=or_none(pair.delta),
        low=or_none(pair.ci.low),
        high=or_none(pair.ci.high),
        verdict=verdict.code,
        short=short_words(verdict.code, pair),
        words=f"{verdict.text} {verdict.reason}",
    )


def label_steps(scorer: HistoryScorer, history: SystemHistory, runs: Sequence[StoredRun]) -> Iterator[LabelStep]:
    """Yield where the printed numbers moved as the judgments did: by how much, and what of it was not the system."""
    run_of = {run.number: run for run in runs}
    for before, after in pairwise(history.comparable):
        old, new = (scorer.labels_then(run_of[point.run]) for point in (before, after))
        if old is None or new is None or old.judgments_sha256 == new.judgments_sha256:
            continue
        if before.mean_then is None or after.mean_then is None or before.mean is None or after.mean is None:
            continue
        printed = after.mean_then - before.mean_then
        yield LabelStep(
            system=history.system,
            before=before.run,
            after=after.run,
            at=after.started,
            n_before=old.facts["n_judgments"],
            n_after=new.facts["n_judgments"],
            printed=printed,
            labels=printed - (after.mean - before.mean),
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
    same = scorer.same_queries(before, after)
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
    scorer: HistoryScorer,
    run: StoredRun,
    labels: StoredQrels,
    *,
    before: StoredRun | None,
    tags: tuple[str, ...],
    same_as_newest: bool = True,
) -> HistoryPoint:
    scores, then = scorer.scores(run, labels), scorer.labels_then(run)
    values = scores.vector.values[~np.isnan(scores.vector.values)]
    interval = None
    if scorer.measure.spec.aggregate == "mean" and len(values) > 1:
        interval = mean_interval(values, range=range_of(scorer.measure.name, values))
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
        mean_then=None if then is None else scorer.summary(run, then).mean,
        n=scores.summary.n,
        missing=scores.summary.missing,
        change=change,
        queries=queries,
        same_as_newest=same_as_newest,
        tags=tags,
    )


def change_between(
    scorer: HistoryScorer, before: StoredRun, after: StoredRun, labels: StoredQrels
) -> tuple[QueryCounts, ChangeParts | None]:
    """Return how the queries differ, and the change of the mean over the common ones, taken apart."""
    counts = scorer.query_counts(before, after, labels)
    if not counts.n_common:
        return counts, None
    new, old_now = (scorer.mean_over_same(run, labels, before, after) for run in (after, before))
    old_then = scorer.mean_over_same(before, scorer.labels_then(before) or labels, before, after)
    return counts, ChangeParts(or_none(new - old_then), or_none(new - old_now), or_none(old_now - old_then))


def are_same(then: str | None, now: str | None) -> bool:
    """Whether a query of the same id asks for the same, as far as its words are known."""
    return then is None or now is None or then == now


def mean_over(scores: StoredScores, queries: AbstractSet[str], how: str = "mean") -> float:
    """Return the mean over some queries, or what else is usual for a measure; NaN where none of them has a score."""
    values = scores.vector.values[[query in queries for query in scores.query_ids]]
    known = values[~np.isnan(values)]
    return summarise(known, how) if len(known) else float("nan")


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
    scorer.prepare((before, after), labels)
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
    tags = store.tags.current()
    points = [
        point_of(
            scorer,
            run,
            labels,
            before=None,
            tags=tuple(tag for tag, number in tags.items() if number == run.number),
            same_as_newest=counts.are_same,
        )
        for run in (before, after)
    ]
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
        if run.details.n_repetitions > 1:  # the report has the mean over all of them
            here += f" in the first of {run.details.n_repetitions} repetitions"
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
    options = option_changes(before, after)
    if before.system == after.system and options:
        notes.append(f"The options of the system have changed: {', '.join(options)}.")
    return notes


def changed_options(before: StoredRun, after: StoredRun) -> Iterator[str]:
    """Yield what was changed on purpose, as far as the store knows: `k1 0.9 to 1.2`, `docs`."""
    yield from option_changes(before, after)
    if before.docs_sha256 != after.docs_sha256:
        yield "docs"
    if before.details.depth != after.details.depth:
        yield f"depth {before.details.depth} to {after.details.depth}"


def option_changes(before: StoredRun, after: StoredRun) -> list[str]:
    then, now = before.config, after.config
    changed = [name for name in {**then, **now} if then.get(name) != now.get(name)]
    return [f"{name} {brief(then.get(name))} to {brief(now.get(name))}" for name in changed]


def brief(value: Any) -> str:
    """Return the value of an option in few characters."""
    text = "none" if value is None else str(value)
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 1]}…"
