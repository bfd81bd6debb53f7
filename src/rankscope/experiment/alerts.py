"""Alerts: from what a watch has measured to what is opened, stays open or has recovered, and to messages about it.

Nothing is run or read here: what is known comes in as records, alerts are kept by an `AlertLog`, messages go out by
notifiers. An alert is sent once. While it is open, later runs are compared with what it fell from, not with runs since
then; once nothing of that speaks of a drop any more it has recovered, which is sent once, too.
"""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Literal, TypeAlias

from rankscope.analysis.targets import TargetOutcome
from rankscope.comparison.gate import Outcome
from rankscope.errors import shorten
from rankscope.measures.scores import reaches
from rankscope.notify.notice import Notice, NotifyError, PartlySentError, SendsNotices
from rankscope.printable import counted, printable
from rankscope.records import Record, replace, to_builtins
from rankscope.stats.control_band import FEWEST_RUNS, ControlBand, Side
from rankscope.store.alerts import Alert, AlertLog, FallenQuery, NotificationAttempt, NotificationKind

FIRST_WAIT_S = 60
LONGEST_WAIT_S = 6 * 3600
"""A message that could not be sent is tried again after a minute, then after twice as long each time, up to this."""
AT_ONCE = (1.0, 5.0)
"""Within one watch a message is tried again after so many seconds."""
SHOWN_QUERIES = 5
LONGEST_TEXT = 80
LONGEST_PROBLEM = 1000

MeanState: TypeAlias = Literal["fine", "drop", "unmeasured"]


class BaselineCheck(Record):
    """What a comparison with an earlier run says."""

    run: int
    """The number of the stored run."""
    label: str
    """What the run is, for example `the baseline, hybrid of 2026-11-02 14:02 (run 12, 1f2e3d4c)`."""
    before: float | None
    """Its mean under today's judgments."""
    outcome: Outcome
    """What a gate makes of it."""
    verdict: str
    """The verdict in a sentence."""
    reason: str = ""
    """What the verdict rests on."""


class WatchedMean(Record, kw_only=True):
    """What is known of one system on one collection today; all means are under today's judgments."""

    collection: str
    system: str
    measure: str
    lower_is_better: bool = False
    margin: float = 0.0
    """The smallest difference that matters; 0 where there is none."""
    value: float | None = None
    """Today's mean."""
    run: int | None = None
    """Today's stored run; None where it was not stored."""
    n_queries: int = 0
    problem: str = ""
    """Why nothing is known of today; empty where it was measured."""
    band: ControlBand | None = None
    history: tuple[int, ...] = ()
    """The stored runs that the band is made of, or would be if they were enough."""
    baseline: BaselineCheck | None = None
    queries: tuple[FallenQuery, ...] = ()
    """Those that lost most against one of these runs."""
    queries_against: int | None = None
    """That run."""
    notes: tuple[str, ...] = ()
    state: MeanState = "fine"
    """What all of that means; `judge` says so."""
    side: Side | None = None
    """Where today's mean lies; None where there is no band."""

    @property
    def subject(self) -> str:
        """For example `hybrid on scifact`."""
        return f"{printable(self.system)} on {printable(self.collection)}"

    def reasons(self) -> Iterator[str]:
        """Yield why this is a drop, in sentences; nothing where it is none."""
        if self.band is not None and self.value is not None and self.side == "worse":
            where = "above" if self.lower_is_better else "below"
            yield f"It is {where} the control band, {band_words(self.band, self.margin)}."
        if self.baseline is not None and self.fails_baseline:
            yield f"Compared with {self.baseline.label}: {self.baseline.verdict} {self.baseline.reason}".rstrip()

    @property
    def fails_baseline(self) -> bool:
        """Whether a gate would fail today's run, or could not decide while its mean is worse by more than the margin.

        A gate cannot decide where too many queries have no answer, which may be what has happened.
        """
        if self.baseline is None or self.baseline.outcome != "error":
            return self.baseline is not None and self.baseline.outcome == "failed"
        if self.value is None or self.baseline.before is None:
            return False
        gain = (self.value - self.baseline.before) * (-1 if self.lower_is_better else 1)
        return not reaches(gain, -self.margin)

    @property
    def before(self) -> float | None:
        """The mean that a drop started from: that of the run it is compared with, else the middle of the band."""
        if self.baseline is not None and (self.band is None or self.fails_baseline):
            return self.baseline.before
        return None if self.band is None else self.band.median

    def conditions(self, now: str) -> Iterator[AlertCondition]:
        """Yield what would be an alert: a drop, and that it was not measured, in which case nobody knows of a drop."""
        is_drop = None if self.state == "unmeasured" else self.state == "drop"
        yield AlertCondition(drop_alert(self, now), is_drop, self.value, self.run)
        yield AlertCondition(unmeasured_alert(self, now), self.state == "unmeasured", self.value, self.run)


class WatchedTarget(Record, kw_only=True):
    """What came of a target of the project in today's run of a system."""

    collection: str
    system: str
    target: str
    """The name of the target."""
    outcome: TargetOutcome
    words: str
    """What is so, and where it fails what should be."""
    owner: str = ""
    run: int | None = None
    """Today's stored run."""

    def conditions(self, now: str) -> Iterator[AlertCondition]:
        owner = (f"Owner: {self.owner}.",) if self.owner else ()
        alert = Alert(
            kind="target",
            collection=self.collection,
            system=self.system,
            measure=self.target,
            opened=now,
            reasons=(self.words, *owner),
            run=self.run,
        )
        yield AlertCondition(alert, self.outcome == "failed", run=self.run)


class AlertCondition(Record):
    """Something that is an alert where it holds."""

    alert: Alert
    holds: bool | None
    """None where nobody knows: an open alert stays open."""
    value: float | None = None
    """Today's mean."""
    run: int | None = None


def judge(mean: WatchedMean) -> WatchedMean:
    """Return what is known with what it means: fine, a drop, or not measured."""
    side = None
    if mean.band is not None and mean.value is not None:
        side = mean.band.side(mean.value, margin=mean.margin, lower_is_better=mean.lower_is_better)
    judged = replace(mean, side=side)
    return replace(judged, state="unmeasured" if mean.problem else "drop" if any(judged.reasons()) else "fine")


class AlertChanges(Record):
    """What a watch makes of the alerts that there are."""

    opened: tuple[Alert, ...] = ()
    kept: tuple[Alert, ...] = ()
    """Those that stay open; nothing is sent about them."""
    recovered: tuple[Alert, ...] = ()


def decide_alerts(
    watched: Iterable[WatchedMean | WatchedTarget], current: Iterable[Alert], *, now: str
) -> AlertChanges:
    """Return which alerts open, stay open and have recovered."""
    known = {alert.name: alert for alert in current}
    opened: list[Alert] = []
    kept: list[Alert] = []
    recovered: list[Alert] = []
    for condition in (condition for each in watched for condition in each.conditions(now)):
        before = known.get(condition.alert.name)
        if before is None or not before.is_open:
            if condition.holds:
                history_from = None if before is None else before.history_from
                opened.append(replace(condition.alert, history_from=history_from))
        elif condition.holds is False:
            end = {"closed": now, "end": "recovered", "value_at_end": condition.value, "run_at_end": condition.run}
            recovered.append(replace(before, **end))
        else:
            kept.append(before)
    return AlertChanges(tuple(opened), tuple(kept), tuple(recovered))


def drop_alert(mean: WatchedMean, now: str) -> Alert:
    return Alert(
        kind="drop",
        collection=mean.collection,
        system=mean.system,
        measure=mean.measure,
        opened=now,
        reasons=tuple(mean.reasons()),
        run=mean.run,
        reference=None if mean.baseline is None else mean.baseline.run,
        history=mean.history if mean.band is not None else (),
        before=mean.before,
        value=mean.value,
        lower_is_better=mean.lower_is_better,
        queries=mean.queries[:SHOWN_QUERIES],
        queries_against=mean.queries_against,
    )


def unmeasured_alert(mean: WatchedMean, now: str) -> Alert:
    problem = shorten(mean.problem, limit=LONGEST_PROBLEM)
    return Alert(
        kind="unmeasured",
        collection=mean.collection,
        system=mean.system,
        measure=mean.measure,
        opened=now,
        reasons=(problem,),
    )


def accept_alerts(current: Iterable[Alert], *, newest: Callable[[Alert], int | None], now: str) -> tuple[Alert, ...]:
    """Close all open alerts as accepted; from the newest run of each on, history counts anew."""
    closed = []
    for alert in current:
        if alert.is_open:
            run = newest(alert)
            given = {"closed": now, "end": "accepted", "run_at_end": run}
            closed.append(replace(alert, **given, history_from=run if run is not None else alert.history_from))
    return tuple(closed)


# What is sent


class DueNotice(Record):
    """A message that has to be sent by one notifier."""

    alert: Alert
    notifier: str
    kind: NotificationKind
    n_tried: int
    """How often it was tried before."""
    not_before: str
    """When it may be tried again; empty where it was never tried."""

    def is_due(self, now: str) -> bool:
        return self.not_before <= now


class NoticeDelivery(Record):
    """What became of a message."""

    notifier: str
    subject: str
    kind: NotificationKind
    sent: bool
    attempts: int
    failure: str = ""
    next_try: str = ""
    """When it is tried again, at the earliest; empty where it was sent."""


def waiting_notices(
    current: Iterable[Alert], attempts: Iterable[NotificationAttempt], notifiers: Sequence[str]
) -> tuple[DueNotice, ...]:
    """Return the messages that have not been sent.

    Every notifier sends every open alert, and the recovery of each that it has sent or tried to send. An alert that has
    recovered before its message went out is not sent any more: the recovery says what had fallen.
    """
    tried = {(attempt.alert, attempt.notifier, attempt.kind): attempt for attempt in attempts}
    waiting = []
    for alert in current:
        kind: NotificationKind = "alert" if alert.is_open else "recovery"
        for notifier in notifiers:
            opening = tried.get((alert.opening or 0, notifier, "alert"))
            if not alert.is_open and (alert.end != "recovered" or opening is None):
                continue
            last = tried.get((alert.number or 0, notifier, kind))
            if last is None:
                waiting.append(DueNotice(alert, notifier, kind, 0, ""))
            elif not last.sent:
                waiting.append(DueNotice(alert, notifier, kind, last.attempts, next_try(last.attempts, last.at)))
    return tuple(waiting)


def next_try(n_tried: int, last: str) -> str:
    """Return when to try again after so many attempts: the wait doubles with each watch, which makes several."""
    n_watches = max(1, n_tried // (len(AT_ONCE) + 1))
    wait = min(FIRST_WAIT_S * 2 ** min(n_watches - 1, 20), LONGEST_WAIT_S)
    return (datetime.fromisoformat(last) + timedelta(seconds=wait)).astimezone(UTC).isoformat(timespec="microseconds")


def deliver(
    due: Iterable[DueNotice],
    notifiers: Mapping[str, SendsNotices],
    log: AlertLog,
    *,
    project: str,
    clock: Callable[[], str],
    sleep: Callable[[float], object] = time.sleep,
) -> tuple[NoticeDelivery, ...]:
    """Send messages, each tried a few times, and keep what became of them; one that fails stops no other."""
    deliveries = []
    for each in due:
        notice = notice_of(each.alert, project=project)
        sent, n_now, failure = send_with_retries(notifiers[each.notifier], notice, sleep=sleep)
        at, n_tried = clock(), each.n_tried + n_now
        log.add_attempt(
            NotificationAttempt(
                alert=each.alert.number or 0,
                notifier=each.notifier,
                kind=each.kind,
                attempts=n_tried,
                at=at,
                sent=sent,
                failure=failure,
            )
        )
        again = "" if sent else next_try(n_tried, at)
        deliveries.append(NoticeDelivery(each.notifier, notice.line, each.kind, sent, n_tried, failure, again))
    return tuple(deliveries)


def send_with_retries(
    notifier: SendsNotices, notice: Notice, *, sleep: Callable[[float], object] = time.sleep
) -> tuple[bool, int, str]:
    """Send a message; return whether it went out, how often that was tried, and what was wrong."""
    failure = ""
    for n_tried, wait in enumerate((*AT_ONCE, None), start=1):
        try:
            notifier.send(notice)
        except PartlySentError as error:
            return True, n_tried, error.message
        except NotifyError as error:
            failure = printable(error.message)
        else:
            return True, n_tried, ""
        if wait is not None:
            sleep(wait)
    return False, len(AT_ONCE) + 1, failure


# Messages in words


def notice_of(alert: Alert, *, project: str) -> Notice:
    """Return the message about an alert as it stands: that it was opened, or that it has recovered."""
    subject = subject_of(alert)
    lines = opened_lines(alert) if alert.is_open else recovered_lines(alert)
    text = "\n".join([*lines, "", f"Project: {printable(project)}"])
    facts = {name: value for name, value in to_builtins(alert).items() if name not in ("history_from", "opening")}
    kind: Literal["alert", "recovery"] = "alert" if alert.is_open else "recovery"
    return Notice(kind, subject, text, {**facts, "project": project})


def trial_notice(project: str) -> Notice:
    text = (
        f"This is a test of `rankscope watch --test-notify` in {printable(project)}.\n"
        "Messages about drops of search quality will arrive like this one."
    )
    return Notice("test", "Rankscope: a test message", text, {"project": project})


def subject_of(alert: Alert) -> str:
    if not alert.system:
        state = "could not be run" if alert.is_open else "runs again"
        return f"Rankscope: the project {state}"
    about = f"{printable(alert.system)} on {printable(alert.collection)}"
    if alert.kind == "target":
        return f"{about}: the target {printable(alert.measure)!r} {'fails' if alert.is_open else 'is met again'}"
    if alert.kind == "unmeasured":
        return f"{about} {'could not be measured' if alert.is_open else 'can be measured again'}"
    if not alert.is_open:
        return f"{about} has recovered: {alert.measure} is {rounded(alert.value_at_end)}"
    verb = "rose" if alert.lower_is_better else "fell"
    before, after = apart(alert.before, alert.value)
    return f"{about}: {alert.measure} {verb} from {before} to {after}"


def opened_lines(alert: Alert) -> Iterator[str]:
    """Yield what fell, from what to what, why that is no chance, since when, which queries, and how to look."""
    if alert.kind == "unmeasured":
        yield "What went wrong:"
        yield from (f"  {line}" for reason in alert.reasons for line in map(printable, reason.split("\n")))
        yield ""
        yield f"Since {moment(alert.opened)}. Whether its quality has changed is not known."
        yield ""
        yield "To look closer: rankscope run"
    elif alert.kind == "target":
        yield from map(printable, alert.reasons)
        yield ""
        yield f"Since {moment(alert.opened)}" + ("." if alert.run is None else f" (run {alert.run}).")
        yield ""
        yield f"To look closer: rankscope check --only {printable(shlex.quote(alert.system))}"
    else:
        yield "Why this is a drop:"
        yield from (f"- {printable(reason)}" for reason in alert.reasons)
        yield ""
        yield f"Since {moment(alert.opened)}" + ("." if alert.run is None else f" (run {alert.run}).")
        if alert.queries:
            yield ""
            yield "Queries that lost most:"
            yield from (f"  {query_words(each)}" for each in alert.queries)
        yield ""
        yield "To look closer:"
        if alert.queries_against is not None and alert.run is not None:
            yield f"  rankscope history diff {alert.queries_against} {alert.run}"
        yield f"  rankscope history {history_words(alert)}"
    yield ""
    yield "This message comes once; another one follows when it has recovered."
    if alert.kind == "drop":
        yield "Where this is the new normal: rankscope watch --accept"


def recovered_lines(alert: Alert) -> Iterator[str]:
    run = "" if alert.run_at_end is None else f" (run {alert.run_at_end})"
    yield f"Since {moment(alert.closed or '')}{run}."
    if alert.kind == "drop":
        verb = "risen" if alert.lower_is_better else "fallen"
        before, after = apart(alert.before, alert.value)
        yield f"It had {verb} from {before} to {after} on {moment(alert.opened)}."
    elif alert.kind == "target":
        yield f"It had failed since {moment(alert.opened)}:"
        yield from (f"  {printable(reason)}" for reason in alert.reasons)
    else:
        yield f"It could not be measured since {moment(alert.opened)}:"
        yield from (f"  {line}" for reason in alert.reasons for line in map(printable, reason.split("\n")))


def query_words(fallen: FallenQuery) -> str:
    before, now = apart(fallen.before, fallen.now)
    text = f' "{printable(shorten(" ".join(fallen.text.split()), limit=LONGEST_TEXT))}"' if fallen.text else ""
    return f"{printable(shorten(fallen.query, limit=LONGEST_TEXT))}{text}: {before} -> {now}"


def band_words(band: ControlBand, margin: float) -> str:
    """Return where a band lies; where most runs have the same mean, what counts as a change."""
    if band.mad == 0:
        beyond = f"further off than the margin of {margin:g}" if margin else "else"
        same = f"{rounded(band.median)} in most of the last {band.n} runs"
        return f"which is {same}, so that anything {beyond} is outside"
    low, high = apart(band.low, band.high)
    return f"{low} to {high} (median {rounded(band.median)} of the last {band.n} runs)"


def mean_lines(mean: WatchedMean) -> Iterator[str]:
    """Yield what is known of a system today: its mean, then what it was compared with."""
    if mean.problem:
        yield f"{mean.subject}: could not be measured" if mean.system else "the project could not be run"
        yield from map(printable, shorten(mean.problem, limit=LONGEST_PROBLEM).split("\n"))
        return
    yield f"{mean.subject}: {printable(mean.measure)} {rounded(mean.value)}"
    if mean.band is None:
        yield f"no control band yet: {counted(len(mean.history), 'earlier run')}, {FEWEST_RUNS} are needed"
    else:
        where = {
            "worse": "outside",
            "negligible": f"outside, but not further than the margin of {mean.margin:g} from the middle of",
            "inside": "in",
            "better": "better than",
        }[mean.side or "inside"]
        yield f"{where} the control band, {band_words(mean.band, mean.margin)}"
    if mean.baseline is not None:
        before = "" if mean.baseline.before is None else f", {rounded(mean.baseline.before)}"
        verdict = mean.baseline.verdict
        if mean.fails_baseline:
            verdict = f"{verdict} {mean.baseline.reason}".rstrip()
        yield f"against {mean.baseline.label}{before}: {verdict}"


def rounded(value: float | None) -> str:
    return "?" if value is None else f"{value:.3f}" if abs(value) < 1000 else f"{value:,.0f}"


def apart(one: float | None, other: float | None) -> tuple[str, str]:
    """Return two numbers with as many digits as it takes to tell them apart."""
    if one is None or other is None or rounded(one) != rounded(other) or one == other:
        return rounded(one), rounded(other)
    return f"{one:.6g}", f"{other:.6g}"


def moment(at: str) -> str:
    return f"{at[:16].replace('T', ' ')} UTC"


def history_words(alert: Alert) -> str:
    """Return the options that show the history of what an alert is about, as they are typed."""
    given = {"--system": alert.system, "--collection": alert.collection, "--measure": alert.measure}
    return " ".join(f"{option} {printable(shlex.quote(value))}" for option, value in given.items())
