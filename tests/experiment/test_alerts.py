import sys
from pathlib import Path

import numpy as np
import pytest

from rankscope.experiment.alerts import (
    BaselineCheck,
    WatchedMean,
    WatchedTarget,
    accept_alerts,
    decide_alerts,
    deliver,
    judge,
    mean_lines,
    next_try,
    notice_of,
    waiting_notices,
)
from rankscope.stats.control_band import control_band
from rankscope.store import open_store
from rankscope.store.alerts import FallenQuery

sys.path.insert(0, str(Path(__file__).parent))
from memory_alerts import MemoryAlerts, RecordingNotifier

# By hand: median 0.40, distances .01 .01 0 .02 .01, so MAD .01; 0.40 - 3 * 1.4826 * .01 = 0.355522, + : 0.444478.
HISTORY = (0.39, 0.41, 0.40, 0.42, 0.39)
BAND = control_band(np.array(HISTORY))
TIMES = [f"2026-11-{day:02}T09:00:00.000000+00:00" for day in range(1, 29)]


def mean(value, **more):
    given = {"collection": "small", "system": "hybrid", "measure": "nDCG@10", "margin": 0.01, "band": BAND}
    problem = "" if value is not None else "it cannot be asked: nobody is there"
    return judge(
        WatchedMean(**{**given, "value": value, "problem": problem, "run": 7, "history": (1, 2, 3, 4, 5), **more})
    )


@pytest.fixture(params=["memory", "sqlite"])
def log(request, tmp_path):
    if request.param == "memory":
        yield MemoryAlerts()
    else:
        with open_store(tmp_path / "store.db", create=True) as store:
            yield store.alerts


def watch(log, means, now, *notifiers):
    """One watch, as `experiment/watch.py` does it; return what was changed and sent."""
    changes = decide_alerts(means, log.current(), now=now)
    log.put([*changes.opened, *changes.recovered])
    current = log.current()
    attempts = log.attempts({number for alert in current for number in (alert.number, alert.opening)})
    waiting = waiting_notices(current, attempts, [each.name for each in notifiers])
    due = [each for each in waiting if each.is_due(now)]
    sent = deliver(
        due, {each.name: each for each in notifiers}, log, project="p.toml", clock=lambda: now, sleep=lambda _: None
    )
    return changes, sent


def test_the_band_by_hand():
    assert (BAND.low, BAND.high) == (pytest.approx(0.355522), pytest.approx(0.444478))


@pytest.mark.parametrize(("value", "state"), [(0.40, "fine"), (0.356, "fine"), (0.355, "drop"), (0.6, "fine")])
def test_a_mean_below_the_band_is_a_drop(value, state):
    assert mean(value).state == state


@pytest.mark.parametrize(
    ("outcome", "before", "state"),
    [
        ("passed", 0.5, "fine"),
        ("inconclusive", 0.5, "fine"),
        ("failed", 0.5, "drop"),
        ("error", 0.5, "drop"),  # too many queries without an answer, and lower by more than the margin
        ("error", 0.41, "fine"),
        ("error", 0.3, "fine"),
    ],
)
def test_a_comparison_that_a_gate_would_fail_is_a_drop(outcome, before, state):
    baseline = BaselineCheck(3, "the baseline, run 3", before, outcome, "hybrid is worse.")
    assert mean(0.4, baseline=baseline).state == state


def test_three_watches_send_one_message_and_recovery_another(log):
    team = RecordingNotifier()
    fine, opened = watch(log, [mean(0.40)], TIMES[0], team), watch(log, [mean(0.30)], TIMES[1], team)
    assert not fine[0].opened
    assert len(opened[0].opened) == 1
    for day in (2, 3, 4):
        changes, sent = watch(log, [mean(0.29)], TIMES[day], team)
        assert (len(changes.opened), len(changes.kept), sent) == (0, 1, ())
    changes, sent = watch(log, [mean(0.395, run=12)], TIMES[5], team)
    assert [alert.end for alert in changes.recovered] == ["recovered"]
    assert len(sent) == 1
    assert watch(log, [mean(0.395)], TIMES[6], team)[1] == ()
    assert [notice.subject for notice in team.notices] == [
        "hybrid on small: nDCG@10 fell from 0.400 to 0.300",
        "hybrid on small has recovered: nDCG@10 is 0.395",
    ]


def test_a_second_drop_is_a_new_alert(log):
    team = RecordingNotifier()
    for day, value in enumerate((0.3, 0.4, 0.3, 0.4)):
        watch(log, [mean(value)], TIMES[day], team)
    assert [notice.kind for notice in team.notices] == ["alert", "recovery", "alert", "recovery"]


def test_a_failed_message_is_tried_again_until_it_is_sent(log):
    team, other = RecordingNotifier(failures=4), RecordingNotifier("other")
    _, first = watch(log, [mean(0.3)], "2026-11-01T09:00:00.000000+00:00", team, other)
    assert [(each.notifier, each.sent, each.attempts) for each in first] == [("team", False, 3), ("other", True, 1)]
    assert first[0].failure == "chat.example.org answered HTTP 503"
    assert first[0].next_try == "2026-11-01T09:01:00.000000+00:00"  # three attempts of one watch, then a minute
    _, early = watch(log, [mean(0.3)], "2026-11-01T09:00:59.000000+00:00", team, other)
    assert early == ()
    _, later = watch(log, [mean(0.3)], "2026-11-01T09:01:00.000000+00:00", team, other)
    assert [(each.notifier, each.sent, each.attempts) for each in later] == [("team", True, 5)]
    assert watch(log, [mean(0.3)], TIMES[5], team, other)[1] == ()
    assert (len(team.notices), len(other.notices)) == (1, 1)


def test_the_wait_doubles_and_has_an_end():
    at = "2026-11-01T00:00:00.000000+00:00"
    waits = [next_try(3 * n_watches, at)[11:16] for n_watches in (1, 2, 3, 4, 9, 50)]
    assert waits == ["00:01", "00:02", "00:04", "00:08", "04:16", "06:00"]


def test_what_recovers_before_it_was_sent_is_sent_as_recovery_only(log):
    team = RecordingNotifier(failures=3)
    watch(log, [mean(0.3)], TIMES[0], team)
    watch(log, [mean(0.4)], TIMES[1], team)
    watch(log, [mean(0.4)], TIMES[2], team)
    (notice,) = team.notices
    assert notice.kind == "recovery"
    assert "It had fallen from 0.400 to 0.300 on 2026-11-01 09:00 UTC." in notice.text


def test_a_new_notifier_hears_of_open_alerts_and_not_of_old_ones(log):
    team = RecordingNotifier()
    watch(log, [mean(0.3), mean(0.3, system="dense")], TIMES[0], team)
    watch(log, [mean(0.3), mean(0.4, system="dense")], TIMES[1], team)
    late = RecordingNotifier("late")
    watch(log, [mean(0.3), mean(0.4, system="dense")], TIMES[2], team, late)
    assert [notice.subject for notice in late.notices] == ["hybrid on small: nDCG@10 fell from 0.400 to 0.300"]


def test_what_cannot_be_measured_is_an_alert_of_its_own_and_closes_no_drop(log):
    team = RecordingNotifier()
    watch(log, [mean(0.3)], TIMES[0], team)
    changes, _ = watch(log, [mean(None)], TIMES[1], team)
    assert [alert.kind for alert in changes.kept] == ["drop"]
    assert [alert.kind for alert in changes.opened] == ["unmeasured"]
    changes, _ = watch(log, [mean(0.3)], TIMES[2], team)
    assert [alert.kind for alert in changes.kept] == ["drop"]
    assert [notice.subject for notice in team.notices[1:]] == [
        "hybrid on small could not be measured",
        "hybrid on small can be measured again",
    ]


def test_accepting_closes_without_a_message_and_starts_history_anew(log):
    team = RecordingNotifier()
    watch(log, [mean(0.3)], TIMES[0], team)
    log.put(accept_alerts(log.current(), newest=lambda _: 9, now=TIMES[1]))
    (alert,) = log.current()
    assert (alert.end, alert.history_from) == ("accepted", 9)
    watch(log, [mean(0.3, band=None)], TIMES[2], team)
    assert len(team.notices) == 1
    watch(log, [mean(0.2)], TIMES[3], team)
    (alert,) = log.current()
    assert (alert.is_open, alert.history_from) == (True, 9)


def target(outcome, **more):
    given = {"collection": "small", "system": "hybrid", "target": "opening hours", "run": 7, "owner": "the desk"}
    return WatchedTarget(**{**given, "outcome": outcome, "words": "d7 is at rank 4, but must be in the top 3", **more})


def test_a_target_that_is_not_met_is_an_alert_until_it_is(log):
    team = RecordingNotifier()
    for day, outcome in enumerate(("quarantined", "failed", "failed", "passed")):
        watch(log, [target(outcome)], TIMES[day], team)
    fails, met = team.notices
    assert fails.subject == "hybrid on small: the target 'opening hours' fails"
    assert fails.text.split("\n")[:6] == [
        "d7 is at rank 4, but must be in the top 3",
        "Owner: the desk.",
        "",
        "Since 2026-11-02 09:00 UTC (run 7).",
        "",
        "To look closer: rankscope check --only hybrid",
    ]
    assert met.subject == "hybrid on small: the target 'opening hours' is met again"
    assert "It had failed since 2026-11-02 09:00 UTC:" in met.text


def test_a_notice_says_all_in_plain_words():
    baseline = BaselineCheck(
        3, "the baseline, hybrid of 2026-11-01 09:00 (run 3, abc)", 0.41, "failed", "hybrid is worse."
    )
    queries = (FallenQuery("q7", "heart attack", 1.0, 0.0), FallenQuery("q8", "", 0.5, 0.25))
    (alert,) = decide_alerts(
        [mean(0.3, baseline=baseline, queries=queries, queries_against=3)], [], now=TIMES[4]
    ).opened
    assert notice_of(alert, project="rankscope.toml").text.split("\n") == [
        "Why this is a drop:",
        "- It is below the control band, 0.356 to 0.444 (median 0.400 of the last 5 runs).",
        "- Compared with the baseline, hybrid of 2026-11-01 09:00 (run 3, abc): hybrid is worse.",
        "",
        "Since 2026-11-05 09:00 UTC (run 7).",
        "",
        "Queries that lost most:",
        '  q7 "heart attack": 1.000 -> 0.000',
        "  q8: 0.500 -> 0.250",
        "",
        "To look closer:",
        "  rankscope history diff 3 7",
        "  rankscope history --system hybrid --collection small --measure nDCG@10",
        "",
        "This message comes once; another one follows when it has recovered.",
        "Where this is the new normal: rankscope watch --accept",
        "",
        "Project: rankscope.toml",
    ]


def test_lower_is_better_rises(log):
    slow = mean(
        60.0, measure="Rank", lower_is_better=True, margin=0.0, band=control_band(np.array([30.0, 31, 29, 30, 32]))
    )
    (alert,) = decide_alerts([slow], [], now=TIMES[0]).opened
    assert "rose from 30.000 to 60.000" in notice_of(alert, project="p").subject


def test_hostile_texts_stay_on_their_line():
    queries = (FallenQuery("q\nBcc: x", "a\r\nProject: mine\x1b[2J", 1.0, 0.0),)
    (alert,) = decide_alerts([mean(0.3, system="hy\nbrid", queries=queries)], [], now=TIMES[0]).opened
    notice = notice_of(alert, project="p\nq")
    assert "\x1b" not in notice.text
    assert [line for line in notice.text.split("\n") if line.startswith(("Bcc", "Project"))] == [r"Project: p\nq"]
    assert "\n" not in notice.line


def test_numbers_that_round_alike_are_told_apart():
    band = control_band(np.full(5, 0.40004))
    (alert,) = decide_alerts([mean(0.40001, margin=0.0, band=band)], [], now=TIMES[0]).opened
    assert notice_of(alert, project="p").subject.endswith("fell from 0.40004 to 0.40001")


def test_lines_for_the_terminal():
    baseline = BaselineCheck(3, "the run before, run 3", 0.41, "inconclusive", "Cannot tell.", "You would need more.")
    assert list(mean_lines(mean(0.4, baseline=baseline))) == [
        "hybrid on small: nDCG@10 0.400",
        "in the control band, 0.356 to 0.444 (median 0.400 of the last 5 runs)",
        "against the run before, run 3, 0.410: Cannot tell.",
    ]
    assert list(mean_lines(mean(0.4, band=None, history=(1,)))) == [
        "hybrid on small: nDCG@10 0.400",
        "no control band yet: 1 earlier run, 5 are needed",
    ]
    assert list(mean_lines(mean(None))) == [
        "hybrid on small: could not be measured",
        "it cannot be asked: nobody is there",
    ]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (
            0.4,
            "in the control band, which is 0.400 in most of the last 5 runs, so that anything further off than the margin of 0.01 is outside",
        ),
        (0.395, "outside, but not further than the margin of 0.01 from the middle of the control band, which is"),
        (0.3, "outside the control band, which is"),
        (0.5, "better than the control band, which is"),
    ],
)
def test_words_where_most_runs_are_alike(value, words):
    band = control_band(np.array([0.4, 0.4, 0.3, 0.4, 0.5]))
    assert list(mean_lines(mean(value, band=band)))[1].startswith(words)
