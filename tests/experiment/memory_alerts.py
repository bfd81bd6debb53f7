"""Alerts kept in memory, and notifiers that fail as a test says."""

from __future__ import annotations

from collections.abc import Iterable

from rankscope.notify.notice import Notice, NotifyError
from rankscope.records import replace
from rankscope.store.alerts import Alert, NotificationAttempt


class MemoryAlerts:
    """What `store.alerts` is, without a store."""

    def __init__(self) -> None:
        self.rows: list[Alert] = []
        self.tried: list[NotificationAttempt] = []

    def current(self) -> tuple[Alert, ...]:
        return tuple({row.name: row for row in self.rows}.values())

    def put(self, alerts: Iterable[Alert]) -> tuple[Alert, ...]:
        added = []
        for each in alerts:
            number = len(self.rows) + 1
            added.append(replace(each, number=number, opening=number if each.is_open else each.opening))
            self.rows.append(added[-1])
        return tuple(added)

    def attempts(self, alerts: Iterable[int]) -> tuple[NotificationAttempt, ...]:
        wanted = set(alerts)
        newest = {(each.alert, each.notifier, each.kind): each for each in self.tried if each.alert in wanted}
        return tuple(newest.values())

    def add_attempt(self, attempt: NotificationAttempt) -> None:
        self.tried.append(attempt)


class RecordingNotifier:
    """Remembers what it was given, after so many failures."""

    def __init__(self, name: str = "team", failures: int = 0) -> None:
        self.name = name
        self.failures = failures
        self.notices: list[Notice] = []
        self.n_calls = 0

    def send(self, notice: Notice) -> None:
        self.n_calls += 1
        if self.failures:
            self.failures -= 1
            raise NotifyError("chat.example.org answered HTTP 503")
        self.notices.append(notice)
