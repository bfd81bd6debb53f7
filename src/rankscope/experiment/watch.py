"""A watch: run a project, compare every system with its own history, and send messages where it fell.

What was measured today is compared with the control band of the last runs, and with an earlier run: the one that the
tag `baseline` is on, or with too few runs for a band and without a tag, the run before. All of it is under the
judgments of today, over the queries that all of these runs were asked with the same words. Targets of the
project are checked, too.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from functools import partial

from rankscope._version import __version__
from rankscope.errors import OptionError, RankscopeError
from rankscope.experiment.alerts import (
    AlertChanges,
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
from rankscope.experiment.project import Project, build_notifiers, load_project
from rankscope.experiment.runner import RunOptions, select_names
from rankscope.experiment.session import TaskProgress, ignore_progress
from rankscope.experiment.watched_means import measured_means, stored_means, watched_targets
from rankscope.notify.notice import SendsNotices
from rankscope.records import Options, Record, StoredRecord, replace
from rankscope.store import Store, StoredRun
from rankscope.store.alerts import Alert

BASELINE = "baseline"
"""The tag of the run that others are compared with."""


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
            asked = RunOptions(only=options.only, collections=options.collections, command=options.command)
            watched = list(measured_means(project, store, references, asked, on_progress=on_progress, on_note=on_note))
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
