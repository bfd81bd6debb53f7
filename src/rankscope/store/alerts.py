"""Alerts: what fell or could not be measured, since when, until when, and who was sent a message about it.

Rows are only added. Each state of an alert (opened, closed) is a row, the newest row of a name holds. Each attempt to
send a message is a row, too, which counts the attempts so far.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol

import sqlalchemy as sa

from rankscope.records import Record, from_builtins, replace, to_builtins
from rankscope.store.schema import alert, canonical_json, notification

if TYPE_CHECKING:
    from rankscope.store.store import Store

AlertKind = Literal["drop", "target", "unmeasured"]
AlertEnd = Literal["recovered", "accepted"]
NotificationKind = Literal["alert", "recovery"]


def alert_name(kind: AlertKind, collection: str, system: str, measure: str) -> str:
    """Return what stands for the thing that an alert is about."""
    return canonical_json([kind, collection, system, measure])


class FallenQuery(Record):
    """A query that scores less than before."""

    query: str
    text: str
    before: float
    now: float


class Alert(Record, kw_only=True):
    """Something that is wrong, or was until it was closed."""

    kind: AlertKind
    collection: str
    system: str
    measure: str
    """The measure that fell; of a target its name."""
    opened: str
    """When it was seen first, in UTC as ISO 8601."""
    reasons: tuple[str, ...]
    """Why it was opened, in sentences."""
    run: int | None = None
    """The number of the stored run that it was seen in; None where nothing could be measured."""
    reference: int | None = None
    """The stored run that it fell from, with which later runs are compared until it has recovered."""
    history: tuple[int, ...] = ()
    """The stored runs whose control band it left, and which decide whether it is back."""
    before: float | None = None
    """The mean that it fell from."""
    value: float | None = None
    """The mean that it fell to."""
    lower_is_better: bool = False
    queries: tuple[FallenQuery, ...] = ()
    """Those that lost most."""
    queries_against: int | None = None
    """The stored run that they lost against."""
    closed: str | None = None
    """When it was closed; None while it is open."""
    end: AlertEnd | None = None
    """How it was closed: it has recovered, or somebody has accepted things as they are."""
    value_at_end: float | None = None
    run_at_end: int | None = None
    history_from: int | None = None
    """Since somebody accepted things as they were, runs before this one are no reference any more."""
    number: int | None = None
    """The number of its newest row; None before it is stored."""
    opening: int | None = None
    """The number of the row that opened it."""

    @property
    def name(self) -> str:
        """Stands for what it is about: there is at most one open alert of a name."""
        return alert_name(self.kind, self.collection, self.system, self.measure)

    @property
    def is_open(self) -> bool:
        return self.closed is None


class NotificationAttempt(Record, kw_only=True):
    """An attempt to send a message about an alert."""

    alert: int
    """The number of the alert's row that it is about."""
    notifier: str
    kind: NotificationKind
    attempts: int
    """How many there were, this one included."""
    at: str
    sent: bool
    failure: str = ""
    """Why it failed; of a message that was sent, what was odd about that."""


class AlertLog(Protocol):
    """Where alerts are kept: in a store, or for tests in memory."""

    def current(self) -> tuple[Alert, ...]:
        """Return every alert as it stands: the newest of each name, open or closed."""

    def put(self, alerts: Iterable[Alert]) -> tuple[Alert, ...]:
        """Keep new states, all or none, and return them with their numbers.

        One that is not new is left out: opened while it is open, or closed while it is not.
        """

    def attempts(self, alerts: Iterable[int]) -> tuple[NotificationAttempt, ...]:
        """Return the newest attempt of each notifier and kind for these rows of alerts."""

    def add_attempt(self, attempt: NotificationAttempt) -> None: ...


class AlertTable:
    """The alerts of a store, as `store.alerts`."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def current(self) -> tuple[Alert, ...]:
        with self.store.reading() as connection:
            return current_alerts(connection)

    def history(self) -> tuple[Alert, ...]:
        """Return all alerts that there were, each in its last state, in the order in which they were opened."""
        with self.store.reading() as connection:
            rows = connection.execute(sa.select(alert).order_by(alert.c.id)).all()
        by_opening = {stored.opening: stored for stored in map(stored_alert, rows)}
        return tuple(by_opening.values())

    def put(self, alerts: Iterable[Alert]) -> tuple[Alert, ...]:
        added = []
        with self.store.writing() as connection:
            if connection.dialect.name == "postgresql":  # of two watches at the same time one opens an alert
                connection.execute(sa.text("LOCK TABLE alert IN SHARE ROW EXCLUSIVE MODE"))
            known = {each.name: each for each in current_alerts(connection)}
            for each in alerts:
                before = known.get(each.name)
                if before is not None and before.is_open:
                    is_new = not each.is_open and before.opening == each.opening
                else:
                    is_new = each.is_open
                if not is_new:
                    continue
                facts = {**to_builtins(each), "number": None, "opening": None if each.is_open else each.opening}
                row = {"name": each.name, "facts": facts, "opened": each.opened, "recovered": each.closed}
                connection.execute(sa.insert(alert), row)
                number = int(connection.execute(sa.select(sa.func.max(alert.c.id))).scalar_one())
                added.append(replace(each, number=number, opening=number if each.is_open else each.opening))
        return tuple(added)

    def attempts(self, alerts: Iterable[int]) -> tuple[NotificationAttempt, ...]:
        numbers: Sequence[int] = list(alerts)
        wanted = sa.select(notification).where(notification.c.alert_id.in_(numbers)).order_by(notification.c.id)
        with self.store.reading() as connection:
            rows = connection.execute(wanted).all()
        newest = {(row.alert_id, row.notifier, row.kind): row for row in rows}
        return tuple(
            NotificationAttempt(
                alert=row.alert_id,
                notifier=row.notifier,
                kind=row.kind,
                attempts=row.attempts,
                at=row.stored,
                sent=row.sent is not None,
                failure=row.failure,
            )
            for row in newest.values()
        )

    def add_attempt(self, attempt: NotificationAttempt) -> None:
        row = {
            "alert_id": attempt.alert,
            "notifier": attempt.notifier,
            "kind": attempt.kind,
            "attempts": attempt.attempts,
            "sent": attempt.at if attempt.sent else None,
            "failure": attempt.failure,
            "stored": attempt.at,
        }
        with self.store.writing() as connection:
            connection.execute(sa.insert(notification), row)


def current_alerts(connection: sa.Connection) -> tuple[Alert, ...]:
    newest = sa.select(sa.func.max(alert.c.id)).group_by(alert.c.name)
    rows = connection.execute(sa.select(alert).where(alert.c.id.in_(newest)).order_by(alert.c.id))
    return tuple(map(stored_alert, rows))


def stored_alert(row: sa.Row[Any]) -> Alert:
    facts = row.facts
    return from_builtins(Alert, {**facts, "number": row.id, "opening": facts["opening"] or row.id})
