"""A watch: run a project, compare every system with its own history, and send messages where it fell.

What was measured today is compared with the control band of the last runs, and with an earlier run: the one that the
tag `baseline` is on, or with too few runs for a band and without a tag, the run before. All of it is under the
judgments of today, over the queries that all of these runs were asked with the same words. Targets of the
project are checked, too.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice

import numpy as np

from rankscope._version import __version__
from rankscope.comparison.compare import USUAL_MARGIN
from rankscope.comparison.gate import GatePolicy, outcome_of
from rankscope.comparison.known_measures import range_of
from rankscope.errors import OptionError, RankscopeError
from rankscope.experiment.alerts import (
    AlertChanges,
    BaselineCheck,
    DueNotice,
    NoticeDelivery,
    WatchedMean,
    WatchedTarget,
    accept_alerts,
    decide_alerts,
    deliver,
    judge,
    subject_of,
    waiting_notices,
)
from rankscope.experiment.history import HistoryScorer, are_same, compared_runs, mean_over, policies_of
from rankscope.experiment.keep import KeptCollection, keep_benchmark
from rankscope.experiment.project import Project, build_notifiers, load_project
from rankscope.experiment.results import CollectionResult, SystemResult
from rankscope.experiment.runner import RunOptions, run_project, select_names
from rankscope.experiment.session import TaskProgress, ignore_progress
from rankscope.experiment.targets import check_project, targets_of
from rankscope.measures.parse import parse_measure
from rankscope.notify.notice import SendsNotices
from rankscope.printable import counted
from rankscope.records import Options, Record, StoredRecord, or_none, replace
from rankscope.stats.control_band import FEWEST_RUNS, LAST_RUNS, control_band
from rankscope.store import Store, StoredRun
from rankscope.store.alerts import Alert, FallenQuery, alert_name
from rankscope.store.qrels import StoredQrels

BASELINE = "baseline"
"""The tag of the run that others are compared with."""
FEWEST_COMMON = 0.5
"""An earlier run that was not asked at least this share of today's queries is left out of the history."""
_TIE = 1e-12


class WatchOptions(Options):
    """What a watch looks at."""

    only: tuple[str, ...] = ()
    """Systems to watch; all where none is named."""
    collections: tuple[str, ...] = ()
    """Collections to watch; all where none is named."""
    baseline: tuple[str, ...] = ()
    """Stored runs to compare with, each for the system and collection that it is of; by default that of a tag."""
    stored: bool = False
    """Whether the newest stored runs are looked at, and nothing is run."""
    dry_run: bool = False
    """Whether alerts stay as they are, and nothing is sent."""
    command: str = ""


class PlannedNotice(Record):
    """A message that would be sent, and by whom."""

    notifier: str
    alert: Alert


class WatchResult(StoredRecord, kw_only=True):
    """What a watch has found, as printed by rankscope watch --format json."""

    rankscope: str
    """The version that made the record."""
    project: str
    at: str
    dry_run: bool
    watched: tuple[WatchedMean, ...]
    targets: tuple[WatchedTarget, ...] = ()
    """The targets of the project in today's runs; none where stored runs are looked at."""
    opened: tuple[Alert, ...] = ()
    """Alerts that this watch has opened."""
    kept: tuple[Alert, ...] = ()
    """Alerts of earlier watches that are still open."""
    recovered: tuple[Alert, ...] = ()
    sent: tuple[NoticeDelivery, ...] = ()
    """Messages that were sent, or that could not be sent."""
    waiting: tuple[NoticeDelivery, ...] = ()
    """Messages of earlier watches that could not be sent, and are not tried again yet."""
    planned: tuple[PlannedNotice, ...] = ()
    """What a dry run would have sent."""
    notes: tuple[str, ...] = ()

    @property
    def has_drop(self) -> bool:
        """Whether a system is below what it was, a target fails, or an alert about either is still open."""
        is_open = any(alert.kind in ("drop", "target") for alert in self.kept)
        fails = any(target.outcome == "failed" for target in self.targets)
        return is_open or fails or any(mean.state == "drop" for mean in self.watched)

    @property
    def is_incomplete(self) -> bool:
        """Whether something could not be measured."""
        return any(mean.state == "unmeasured" for mean in self.watched)

    @property
    def is_unsent(self) -> bool:
        """Whether a message could not be sent yet."""
        return bool(self.waiting) or not all(each.sent for each in self.sent)


class WatchFailedError(RankscopeError):
    """The project could not be run; what was decided and sent because of that is in `result`."""

    def __init__(self, error: RankscopeError, result: WatchResult) -> None:
        super().__init__(error.message, hint=error.hint)
        self.error = error
        self.result = result


def watch_project(
    project: Project | str | os.PathLike[str],
    store: Store,
    options: WatchOptions | None = None,
    *,
    notifiers: Sequence[SendsNotices] | None = None,
    on_progress: TaskProgress = ignore_progress,
    on_note: Callable[[str], object] = str,
    sleep: Callable[[float], object] = time.sleep,
) -> WatchResult:
    r"""Run a project, compare it with its history in a store, and send messages about what fell or has recovered.

    A project that cannot be run at all is an alert, too: it is sent, then raised.

    Parameters
    ----------
    project
        The project file, its folder, or what `load_project` returns.
    store
        Where runs and alerts are kept: what `open_store` returns.
    options
        What to look at, as `WatchOptions`; by default all systems on all collections, which are asked anew.
    notifiers
        Who sends messages; by default those of the project file. Each has a `name` and a method `send(notice)`.
    on_progress, on_note
        As for `run_project`.
    sleep
        Called with seconds between attempts to send a message.

    Returns
    -------
    WatchResult
        What was measured and compared, which alerts were opened and closed, and what was sent; `to_json` keeps it.

    Raises
    ------
    OptionError
        Where the options or the project ask for what cannot be done.
    RankscopeError
        Where the project could not be run.

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
    >>> with rs.open_store("kept.db", create=True) as store:
    ...     result = rs.watch_project("rankscope.toml", store)
    >>> result.watched[0].value, result.has_drop
    (1.0, False)
    """
    options = options or WatchOptions()
    project = project if isinstance(project, Project) else load_project(project)
    if notifiers is None:
        notifiers = () if options.dry_run else build_notifiers(project)
    collections = select_names(options.collections, project.collections, "collection", project)
    systems = select_names(options.only, project.systems, "system", project)
    references = baselines(store, options, systems, collections)
    whole = WatchedMean(collection="", system="", measure="")
    failed: RankscopeError | None = None
    watched: list[WatchedMean] = []
    targets: list[WatchedTarget] = []
    try:
        if options.stored:
            watched = list(stored_means(project, store, references, systems, collections))
        else:
            watched = list(
                measured_means(project, store, references, options, on_progress=on_progress, on_note=on_note)
            )
            targets = list(watched_targets(project, watched))
    except RankscopeError as error:
        failed, whole = error, judge(replace(whole, problem=f"{error.message}\n{error.hint}".rstrip()))
    is_in_scope = partial(is_about, systems=systems, collections=collections)
    seen = WatchFindings((whole, *watched), tuple(targets), is_in_scope)
    result = settle(project, store, seen, options, notifiers=notifiers, sleep=sleep)
    if failed is not None:
        raise WatchFailedError(failed, result)
    return result


class WatchFindings(Record):
    """What a watch has seen."""

    means: tuple[WatchedMean, ...]
    targets: tuple[WatchedTarget, ...]
    is_in_scope: Callable[[Alert], bool]
    """Tells whether an alert is about what is watched."""


def is_about(alert: Alert, *, systems: Sequence[str], collections: Sequence[str]) -> bool:
    return not alert.system or (alert.system in systems and alert.collection in collections)


def settle(
    project: Project,
    store: Store,
    seen: WatchFindings,
    options: WatchOptions,
    *,
    notifiers: Sequence[SendsNotices],
    sleep: Callable[[float], object],
) -> WatchResult:
    """Open and close alerts, and send what has to be sent."""
    now, log = store.clock(), store.alerts
    current = log.current()
    changes = decide_alerts((*seen.means, *seen.targets), current, now=now)
    looked_at = {alert.name for alert in (*changes.opened, *changes.kept, *changes.recovered)}
    others = [alert for alert in current if alert.is_open and alert.name not in looked_at and seen.is_in_scope(alert)]
    found = WatchResult(
        rankscope=__version__,
        project=project_label(project),
        at=now,
        dry_run=options.dry_run,
        watched=tuple(mean for mean in seen.means if mean.system or mean.problem),
        targets=seen.targets,
        opened=changes.opened,
        kept=(*changes.kept, *others),
        recovered=changes.recovered,
    )
    names = {each.name: each for each in notifiers}
    if options.dry_run:
        due = notices_after(changes, current, store, list(project.notify), now)
        return replace(found, planned=tuple(PlannedNotice(each.notifier, each.alert) for each in due))
    stored = {each.name: each for each in log.put([*changes.opened, *changes.recovered])}
    waiting = notices_of(log.current(), store, list(names))
    sent = deliver(
        (each for each in waiting if each.is_due(now)),
        names,
        log,
        project=project_label(project),
        clock=store.clock,
        sleep=sleep,
    )
    later = tuple(waiting_delivery(each, store) for each in waiting if not each.is_due(now))
    return replace(
        found,
        opened=tuple(stored[each.name] for each in changes.opened if each.name in stored),
        recovered=tuple(stored[each.name] for each in changes.recovered if each.name in stored),
        sent=sent,
        waiting=later,
    )


def notices_of(current: Sequence[Alert], store: Store, notifiers: Sequence[str]) -> tuple[DueNotice, ...]:
    numbers = {number for alert in current for number in (alert.number, alert.opening) if number is not None}
    return waiting_notices(current, store.alerts.attempts(numbers), notifiers)


def notices_after(
    changes: AlertChanges, current: Sequence[Alert], store: Store, notifiers: Sequence[str], now: str
) -> list[DueNotice]:
    """Return what would be sent now if these changes were kept."""
    changed = {alert.name: alert for alert in (*changes.opened, *changes.recovered)}
    new = [replace(alert, number=None) for alert in changed.values()]
    others = [alert for alert in current if alert.name not in changed]
    return [each for each in notices_of([*others, *new], store, notifiers) if each.is_due(now)]


def waiting_delivery(due: DueNotice, store: Store) -> NoticeDelivery:
    attempts = store.alerts.attempts([due.alert.number or 0])
    failure = next((each.failure for each in attempts if (each.notifier, each.kind) == (due.notifier, due.kind)), "")
    return NoticeDelivery(
        due.notifier, subject_of(due.alert), due.kind, sent=False, attempts=due.n_tried, failure=failure,
        next_try=due.not_before,
    )  # fmt: skip


def project_label(project: Project) -> str:
    """Return how messages name a project: by its folder and file."""
    return f"{project.folder.name}/{project.file.name}"


def accept(store: Store) -> tuple[Alert, ...]:
    """Close all open alerts: what is now is the new normal, and history counts from the newest runs on."""

    def newest(alert: Alert) -> int | None:
        runs = store.runs.list(system=alert.system, collection=alert.collection, last=1)
        return runs[0].number if runs else None

    return store.alerts.put(accept_alerts(store.alerts.current(), newest=newest, now=store.clock()))


def baselines(
    store: Store, options: WatchOptions, systems: Sequence[str], collections: Sequence[str]
) -> dict[tuple[str, str], StoredRun]:
    """Return the runs to compare with, by collection and system; one of what is not watched is an error."""
    wanted = options.baseline or tuple(name for name in (BASELINE,) if name in store.tags.current())
    found = {}
    for reference in wanted:
        run = store.runs.find(reference)
        if run.system in systems and run.collection in collections:
            found[run.collection, run.system] = run
        elif options.baseline:
            raise OptionError(
                f"the baseline {reference} is {run.in_words} on {run.collection}, which is not watched",
                hint=f"watched are {', '.join(systems)} on {', '.join(collections)}",
            )
    return found


# What is known of today


def measured_means(
    project: Project,
    store: Store,
    references: Mapping[tuple[str, str], StoredRun],
    options: WatchOptions,
    *,
    on_progress: TaskProgress,
    on_note: Callable[[str], object],
) -> Iterator[WatchedMean]:
    """Run the project, keep what it found, and yield every system with its history.

    All answers are asked for anew: those of earlier runs say nothing of today.
    """
    asked = RunOptions(only=options.only, collections=options.collections, fresh=True, command=options.command)
    benchmark = run_project(project, asked, on_progress=on_progress, on_note=on_note)
    kept = {each.name: each for each in keep_benchmark(store, project, benchmark)}
    for result in benchmark.collections:
        for system in result.systems:
            problem = problem_of(system)
            run = None if problem else stored_run(kept.get(result.name), system.name)
            mean = unmeasured(project, result.name, system.name, problem or "its run was not stored")
            if run is not None:
                labels = kept[result.name].qrels
                mean = watched_mean(project, store, run, labels, references.get((result.name, system.name)))
                mean = replace(mean, notes=(*mean.notes, *notes_on(result, system)))
            yield mean


def stored_means(
    project: Project,
    store: Store,
    references: Mapping[tuple[str, str], StoredRun],
    systems: Iterable[str],
    collections: Iterable[str],
) -> Iterator[WatchedMean]:
    """Yield every system with its newest stored run as that of today."""
    for name in collections:
        for system in systems:
            runs = store.runs.list(system=system, collection=name, last=1)
            if not runs:
                yield unmeasured(project, name, system, "there is no stored run of it; `rankscope run` makes one")
                continue
            run, labels = runs[0], store.qrels.find(name)
            share = len(run.details.failed) / max(len(store.texts.queries(run.queries_sha256)), 1)
            if share > GatePolicy().allow_missing:
                yield unmeasured(project, name, system, f"{counted(len(run.details.failed), 'query')} failed")
                continue
            yield watched_mean(project, store, run, labels, references.get((name, system)))


def watched_targets(project: Project, watched: Sequence[WatchedMean]) -> Iterator[WatchedTarget]:
    """Check the targets of the project, where it has any, on the systems that were measured."""
    if not project.targets and project.target_file is None:
        return
    listed = {target.name: target for target in targets_of(project)}
    for name in dict.fromkeys(mean.collection for mean in watched):
        runs = {mean.system: mean.run for mean in watched if mean.collection == name and not mean.problem}
        here = [target for target in listed.values() if not target.collections or name in target.collections]
        if not any(not target.only or runs.keys() & set(target.only) for target in here) or not runs:
            continue
        for result in check_project(project, only=tuple(runs), collections=(name,)).results:
            yield WatchedTarget(
                collection=name,
                system=result.run,
                target=result.target,
                outcome=result.outcome,
                words=result.words,
                owner=listed[result.target].owner,
                run=runs[result.run],
            )


def problem_of(system: SystemResult) -> str:
    """Say why a system was not measured, or not well enough to say anything; nothing where it was."""
    if system.finding is not None and system.is_left_out:
        return system.finding.in_one_line
    if system.run is None and not system.failures:
        return "it has answered every query with no docs"
    if len(system.failures) / max(system.n_queries, 1) > GatePolicy().allow_missing:
        first = system.failures[0]
        return (
            f"{len(system.failures)} of {counted(system.n_queries, 'query')} failed; "
            f"the first is {first.query}: {first.reason}"
        )
    return ""


def notes_on(result: CollectionResult, system: SystemResult) -> Iterator[str]:
    if system.failures:
        n = len(system.failures)
        yield f"{system.name} on {result.name}: {counted(n, 'query')} failed, and {'counts' if n == 1 else 'count'} 0."


def stored_run(kept: KeptCollection | None, system: str) -> StoredRun | None:
    return None if kept is None else next((run for run in kept.runs if run.system == system), None)


def unmeasured(project: Project, collection: str, system: str, problem: str) -> WatchedMean:
    return judge(WatchedMean(collection=collection, system=system, measure=project.primary, problem=problem))


def watched_mean(
    project: Project, store: Store, run: StoredRun, labels: StoredQrels, tagged: StoredRun | None
) -> WatchedMean:
    """Return what is known of a run of today: its mean, the band of the runs before it, and a comparison with one."""
    measure = parse_measure(project.primary)
    usual_margin = USUAL_MARGIN if range_of(measure.name) == (0, 1) else 0.0
    mean = WatchedMean(
        collection=run.collection,
        system=run.system,
        measure=measure.name,
        lower_is_better=measure.spec.better == "lower",
        margin=usual_margin if project.margin is None else project.margin,
        run=run.number,
    )
    name = alert_name("drop", mean.collection, mean.system, mean.measure)
    alert = next((each for each in store.alerts.current() if each.name == name), None)
    past = PastRuns(store, HistoryScorer(store, measure, policies_of(run)), run, labels, alert)
    history = past.history()
    label, reference, notes = past.reference(tagged, has_band=len(history) >= FEWEST_RUNS)
    common = past.common_queries([*history, *([] if reference is None else [reference])])
    n_asked = len(past.asked(run))
    if len(common) < n_asked:
        those = f"the {len(common)} of {counted(n_asked, 'query')} that the compared runs have in common"
        notes.append(f"{mean.subject}: means are over {those}.")
    value = past.mean(run, common)
    if value is None:
        return judge(replace(mean, problem=f"{measure.name} is undefined for all of its queries"))
    means = {each.number: past.mean(each, common) for each in history}
    known = {number: each for number, each in means.items() if each is not None}
    band = control_band(np.array(list(known.values())))
    baseline = None
    if reference is not None:
        before = past.mean(reference, common)
        baseline = past.compared(reference, f"{label}, {reference.in_words}", before, project.margin)
    shown = reference
    compared = judge(replace(mean, value=value, band=band, baseline=baseline))
    if band is not None and not compared.fails_baseline:
        typical = min(reversed(known), key=lambda number: abs(known[number] - band.median))
        shown = next(each for each in history if each.number == typical)
    fallen = () if shown is None else past.fallen(shown, common, lower_is_better=mean.lower_is_better)
    return replace(
        compared,
        n_queries=len(common),
        history=tuple(known),
        queries=tuple(fallen),
        queries_against=None if shown is None else shown.number,
        notes=(*notes, *past.notes),
    )


class PastRuns:
    """The runs of a system before one, under the judgments of today; `alert` is the newest alert about it.

    While an alert is open, runs are compared with those that it fell from: a drop that stays does not become normal.
    """

    def __init__(
        self, store: Store, scorer: HistoryScorer, run: StoredRun, labels: StoredQrels, alert: Alert | None
    ) -> None:
        self.store, self.scorer, self.run, self.labels = store, scorer, run, labels
        self._asked: dict[str, set[str]] = {}
        self.notes: list[str] = []
        self.alert = alert if alert is not None and alert.is_open else None
        first = 0 if alert is None or alert.history_from is None else alert.history_from
        everything = store.runs.list(system=run.system, collection=run.collection)
        at = (run.started, run.number)
        self.runs = {
            each.number: each for each in everything if (each.started, each.number) < at and each.number >= first
        }

    def asked(self, run: StoredRun) -> set[str]:
        """Return the queries that a run was asked with the words of today, and that are judged today."""
        if run.queries_sha256 not in self._asked:
            today, then = self.scorer.texts(self.run), self.scorer.texts(run)
            judged = set(self.scorer.scores(self.run, self.labels).query_ids)
            same = {query for query, text in then.items() if query in today and are_same(text, today[query])}
            self._asked[run.queries_sha256] = same & judged
        return self._asked[run.queries_sha256]

    def is_comparable(self, run: StoredRun) -> bool:
        return len(self.asked(run)) >= FEWEST_COMMON * len(self.asked(self.run))

    def common_queries(self, runs: Iterable[StoredRun]) -> set[str]:
        return set.intersection(self.asked(self.run), *map(self.asked, runs))

    def mean(self, run: StoredRun, queries: set[str]) -> float | None:
        return or_none(mean_over(self.scorer.scores(run, self.labels), queries))

    def history(self) -> list[StoredRun]:
        """Return the runs that the band is made of, the oldest first."""
        runs = list(self.runs.values())
        if self.alert is not None and self.alert.history:
            runs = [run for run in runs if run.number in self.alert.history]
        elif self.alert is not None and self.alert.run is not None:
            runs = [run for run in runs if run.number < self.alert.run]
        comparable = (run for run in reversed(runs) if self.is_comparable(run))
        return list(islice(comparable, LAST_RUNS))[::-1]

    def reference(self, tagged: StoredRun | None, *, has_band: bool) -> tuple[str, StoredRun | None, list[str]]:
        """Return the run to compare with, and notes: the tagged one, that of an open alert, or the one before.

        The one before is taken only where there are too few runs for a band.
        """
        label, run = "the baseline", None if tagged is None else self.runs.get(tagged.number)
        if run is None and self.alert is not None:
            label, run = "the run that it fell from", self.runs.get(self.alert.reference or 0)
        elif run is None and not has_band and self.runs:
            label, run = "the run before", list(self.runs.values())[-1]
        if run is None or self.is_comparable(run):
            return label, run, []
        note = f"{self.run.system} is not compared with {label}, run {run.number}, which was asked other queries."
        return label, None, [note]

    def compared(self, reference: StoredRun, label: str, before: float | None, margin: float | None) -> BaselineCheck:
        """Return what a gate makes of today's run against another one, and the verdict in words."""
        compared = compared_runs(
            self.store, self.scorer, reference, self.run, self.labels, margin=margin, on_notes=self.take_notes
        )
        if compared is None:
            return BaselineCheck(reference.number, label, before, "passed", "The rankings are identical.")
        pair = next(iter(compared))
        outcome, words = outcome_of(pair, GatePolicy())
        verdict = pair.final_verdict.text if words.startswith(pair.final_verdict.text) else words
        reason = words.removeprefix(verdict).strip()
        return BaselineCheck(reference.number, label, before, outcome, verdict, reason)

    def take_notes(self, *notes: str) -> None:
        self.notes += (f"{self.run.system} on {self.run.collection}: {note}." for note in notes)

    def fallen(self, reference: StoredRun, queries: set[str], *, lower_is_better: bool) -> Iterator[FallenQuery]:
        """Yield the queries that lost most against a run, the worst first."""
        texts = self.scorer.texts(self.run)
        then, now = (
            dict(zip(scores.query_ids, scores.vector.values.tolist(), strict=True))
            for scores in (self.scorer.scores(reference, self.labels), self.scorer.scores(self.run, self.labels))
        )
        sign = -1.0 if lower_is_better else 1.0
        losses = {query: sign * (now[query] - then[query]) for query in queries}
        for query in sorted(losses, key=lambda query: (losses[query], query)):
            if losses[query] < -_TIE:
                yield FallenQuery(query, texts[query] or "", then[query], now[query])
