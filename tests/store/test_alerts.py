"""Alerts in a store: read back as they were, opened once, and each attempt to send kept."""

from __future__ import annotations

import threading

from rankscope.records import from_json, replace, to_json
from rankscope.store import open_store
from rankscope.store.alerts import Alert, FallenQuery, NotificationAttempt

TIMES = [f"2026-11-{day:02}T09:00:00.000000+00:00" for day in range(1, 10)]
OPENED = Alert(
    kind="drop",
    collection="small \udc80",
    system="hy\0brid",
    measure="nDCG@10",
    opened=TIMES[0],
    reasons=("It is below the control band.",),
    run=7,
    reference=3,
    history=(1, 2, 3),
    before=0.1 + 0.2,
    value=1 / 3,
    queries=(FallenQuery("q\udcff7", "heart\0", 1.0, 0.1 + 0.2),),
)


def closed(alert: Alert, now: str) -> Alert:
    return replace(alert, closed=now, end="recovered", value_at_end=0.5)


def test_an_alert_is_read_back_as_it_was(store):
    (stored,) = store.alerts.put([OPENED])
    assert store.alerts.current() == (stored,)
    assert replace(stored, number=None, opening=None) == OPENED
    assert from_json(Alert, to_json(stored)) == stored


def test_what_is_not_new_is_left_out(store):
    (stored,) = store.alerts.put([OPENED])
    assert store.alerts.put([OPENED]) == ()
    end = closed(stored, TIMES[1])
    assert len(store.alerts.put([end])) == 1
    assert store.alerts.put([end]) == ()
    assert store.alerts.current()[0].opening == stored.number
    (again,) = store.alerts.put([replace(OPENED, opened=TIMES[2])])
    assert store.alerts.put([end]) == ()  # it closes the first one, which is not the one that is open
    assert store.alerts.current() == (again,)


def test_watches_at_the_same_time_open_one_alert(store_address):
    ready, added, problems = threading.Barrier(4), [], []

    def open_alert() -> None:
        try:
            with open_store(store_address) as store:
                ready.wait()
                added.extend(store.alerts.put([OPENED]))
        except Exception as error:  # noqa: BLE001 (whatever it is, the test shows it)
            problems.append(error)

    threads = [threading.Thread(target=open_alert) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (problems, len(added)) == ([], 1)


def test_history_has_each_alert_once(store):
    for day in (0, 2):
        (stored,) = store.alerts.put([replace(OPENED, opened=TIMES[day])])
        if day == 0:
            store.alerts.put([closed(stored, TIMES[1])])
    assert [(alert.opened, alert.end) for alert in store.alerts.history()] == [
        (TIMES[0], "recovered"),
        (TIMES[2], None),
    ]


def test_the_newest_attempt_of_each_notifier_counts(store):
    (stored,) = store.alerts.put([OPENED])
    common = {"alert": stored.number, "kind": "alert"}
    first = NotificationAttempt(**common, notifier="te\nam", attempts=3, at=TIMES[0], sent=False, failure="no \udc80")
    second = NotificationAttempt(**common, notifier="te\nam", attempts=4, at=TIMES[1], sent=True)
    other = NotificationAttempt(**common, notifier="mail", attempts=1, at=TIMES[0], sent=True)
    for attempt in (first, other):
        store.alerts.add_attempt(attempt)
    assert set(store.alerts.attempts([stored.number])) == {first, other}
    store.alerts.add_attempt(second)
    assert set(store.alerts.attempts([stored.number])) == {second, other}
    assert store.alerts.attempts([]) == ()
