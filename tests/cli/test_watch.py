"""`rankscope watch` with real runs, and messages over loopback HTTP, SMTP and a program."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from rankscope.experiment import alerts

sys.path.insert(0, str(Path(__file__).parents[1]))
from loopback import Loopback, Said
from loopback_smtp import LoopbackMail
from small_project import START, small_project

TOKEN = "T0KENofTheTeam"
SYSTEM = '[systems.search]\ntype = "python"\nrecords = true\nfunction = "MODULE:search"\n'
SEARCH = """
def search(query):
    level = int(Path(__file__).with_name("level").read_text())
    if level < 0:
        raise ValueError("the search is down")
    own = f"d{int(query.id[1:]) % 30}"
    docs = [own, "d29" if own != "d29" else "d28"]
    return [(doc, 2 - rank) for rank, doc in enumerate(docs if int(query.id[1:]) >= level else reversed(docs))]
"""
WEBHOOK = '[notify.slack]\ntype = "webhook"\nurl = "URL/services/${HOOK_TOKEN}"\n'


@pytest.fixture
def project(tmp_path, monkeypatch):
    """Return a project with a system that ranks the relevant doc second for the first so many of 12 queries."""
    monkeypatch.delenv("RANKSCOPE_STORE", raising=False)
    monkeypatch.setenv("HOOK_TOKEN", TOKEN)
    monkeypatch.setattr(alerts, "AT_ONCE", (0.0, 0.0))
    made = small_project(tmp_path / "pro ject", n_queries=12)
    made.add(SEARCH)
    made.write(SYSTEM, primary="RR@10")
    (made.folder / "level").write_text("0")
    monkeypatch.chdir(tmp_path)
    return made


def write(project, notify="", url="", level=None):
    project.write(SYSTEM + notify.replace("URL", url), primary="RR@10")
    if level is not None:
        (project.folder / "level").write_text(str(level))


def test_a_drop_is_sent_once_with_retries_and_recovers(project, rankscope):
    replies = [Said(b"no_team", status=503)] * 2
    with Loopback(lambda _: replies.pop() if replies else Said(b"ok")) as server:
        write(project, WEBHOOK, server.url)
        first = rankscope("watch", project.folder)
        assert (first.code, first.err) == (0, "")
        assert "no control band yet: 0 earlier runs, 5 are needed" in first.out
        write(project, WEBHOOK, server.url, level=12)
        drop = rankscope("watch", project.folder)
        assert drop.code == 1
        assert "DROP  search on small: RR@10 0.500" in drop.out
        assert "sent by slack: search on small: RR@10 fell from 1.000 to 0.500" in drop.out
        assert len(server.requests) == 3
        again = rankscope("watch", project.folder, "--format", "json")
        assert (again.code, len(server.requests)) == (1, 3)
        record = json.loads(again.out)
        assert [alert["measure"] for alert in record["kept"]] == ["RR@10"]
        assert record["watched"][0]["state"] == "drop"
        write(project, WEBHOOK, server.url, level=0)
        back = rankscope("watch", project.folder)
        assert (back.code, len(server.requests)) == (0, 4)
        assert "alert closed: search on small has recovered: RR@10 is 1.000" in back.out
    assert all(asked.path == f"/services/{TOKEN}" for asked in server.requests)
    for found in (first, drop, again, back):
        assert TOKEN not in found.out + found.err
    sent = server.requests[2].json()
    assert "&lt;" not in sent["text"]
    assert 'q0 "text 0": 1.000 -&gt; 0.500' in sent["text"]
    assert sent["rankscope"]["facts"]["value"] == 0.5


def test_a_message_that_cannot_be_sent_is_shown_and_waits(project, rankscope):
    with Loopback(lambda _: Said(f"no such token: {TOKEN}".encode(), status=404)) as server:
        write(project, WEBHOOK, server.url)
        rankscope("watch", project.folder)
        write(project, WEBHOOK, server.url, level=12)
        drop = rankscope("watch", project.folder)
        host = server.url.removeprefix("http://")
        assert drop.code == 1
        assert f"error: slack could not send (tried 3 times): {host} answered HTTP 404: no such token: " in drop.err
        assert TOKEN not in drop.out + drop.err
        waiting = rankscope("watch", project.folder, "--stored")
        assert (waiting.code, len(server.requests)) == (1, 3)
        assert "slack could not send (tried 3 times)" in waiting.err
        write(project, WEBHOOK, server.url, level=0)
        back = rankscope("watch", project.folder)
        assert back.code == 3  # nothing fell, but the recovery could not be sent
        assert "has recovered" in back.err


def test_a_search_that_is_down(project, rankscope):
    notify = f"[notify.keep]\ntype = \"command\"\ncommand = ['{sys.executable}', '-c', 'import sys; open(\"got\", \"a\").write(sys.stdin.read())']\n"
    write(project, notify, level=-1)
    down = rankscope("watch", project.folder)
    assert down.code == 2
    assert "NOT MEASURED  search on small: could not be measured" in down.out
    got = (project.folder / "got").read_text()
    assert got.startswith("search on small could not be measured\n")
    assert "the search is down" in got
    write(project, notify, level=0)
    up = rankscope("watch", project.folder)
    assert up.code == 0
    assert "search on small can be measured again" in (project.folder / "got").read_text()


def test_targets_of_the_project_are_checked_too(project, rankscope):
    target = '[[targets]]\nname = "first of all"\nquery = "q3"\ndoc = "d3"\ntop = 1\nowner = "me"\n'
    write(project, target)
    assert rankscope("watch", project.folder).out.endswith("  1 of 1 target met\n")
    write(project, target, level=4)
    found = rankscope("watch", project.folder)
    assert found.code == 1
    assert (
        "  FAIL  search on small: target 'first of all': text 3 of the docs (d3) is at rank 2, but must be in the top 1\n"
        in found.out
    )
    assert "alert opened: search on small: the target 'first of all' fails" in found.out
    stored = rankscope("watch", project.folder, "--stored")  # targets are not looked at, and so the alert stays open
    assert stored.code == 1
    assert "search on small: the target 'first of all' fails" in stored.out
    write(project, target, level=0)
    back = rankscope("watch", project.folder)
    assert back.code == 0
    assert "alert closed: search on small: the target 'first of all' is met again" in back.out


def test_a_project_that_cannot_be_run_is_sent_too(project, rankscope):
    notify = f"[notify.keep]\ntype = \"command\"\ncommand = ['{sys.executable}', '-c', 'import sys; open(\"got\", \"a\").write(sys.stdin.read())']\n"
    write(project, notify)
    qrels = project.folder / "small/qrels/test.tsv"
    kept = qrels.read_bytes()
    qrels.unlink()
    for _ in range(2):
        failed = rankscope("watch", project.folder)
        assert failed.code == 2
        assert "error: " in failed.err
    got = (project.folder / "got").read_text()
    assert got.count("Rankscope: the project could not be run") == 1
    qrels.write_bytes(kept)
    assert rankscope("watch", project.folder).code == 0
    assert "Rankscope: the project runs again" in (project.folder / "got").read_text()


def test_a_test_message_to_everybody(project, rankscope, monkeypatch):
    monkeypatch.setenv("MAIL_PASSWORD", "s3cr3t-mail")
    mail = """[notify.mail]
type = "email"
host = "127.0.0.1"
port = PORT
security = "none"
from = "rank@example.org"
to = "team@example.org"
user = "rank"
password = "${MAIL_PASSWORD}"
"""
    with (
        LoopbackMail(login=("rank", "s3cr3t-mail")) as server,
        Loopback(lambda _: Said(b"ok")) as web,
    ):
        write(project, WEBHOOK + mail.replace("PORT", str(server.port)), web.url)
        sent = rankscope("watch", project.folder, "--test-notify")
        assert (sent.code, sent.out, sent.err) == (0, "slack (webhook): sent\nmail (email): sent\n", "")
        assert server.mails[0].message["Subject"] == "Rankscope: a test message"
        assert web.requests[0].json()["text"].startswith("Rankscope: a test message")
        monkeypatch.setenv("MAIL_PASSWORD", "wr0ng-secret")
        refused = rankscope("watch", project.folder, "--test-notify")
    assert (refused.code, refused.out) == (3, "slack (webhook): sent\n")
    assert refused.err == "error: mail (email): 127.0.0.1 answered 535: no such user: rank ${MAIL_PASSWORD}\n"


def test_nobody_to_send_to(project, rankscope):
    found = rankscope("watch", project.folder, "--test-notify")
    assert found.code == 2
    assert "has no table [notify.NAME]" in found.err


def test_a_variable_that_is_not_set_stops_a_watch_but_no_run(project, rankscope, monkeypatch):
    monkeypatch.delenv("HOOK_TOKEN")
    write(project, WEBHOOK, "https://example.org")
    watch = rankscope("watch", project.folder)
    assert watch.code == 2
    assert "notify.slack.url needs the environment variable HOOK_TOKEN, which is not set" in watch.err
    assert not (project.folder / "results").exists()
    assert rankscope("run", project.folder, "--no-store").code == 0
    assert rankscope("watch", project.folder, "--dry-run").code == 0


def test_a_dry_run_shows_the_message(project, rankscope):
    write(project, WEBHOOK, "https://example.org")
    rankscope("watch", project.folder, "--dry-run")
    write(project, WEBHOOK, "https://example.org", level=12)
    found = rankscope("watch", project.folder, "--dry-run", "-o", "found.txt")
    assert (found.code, found.out) == (1, "")
    text = Path("found.txt").read_text()
    assert "Would be sent by slack:\n    search on small: RR@10 fell from 1.000 to 0.500\n" in text
    assert "rankscope history diff 1 2" in text


def test_accepting(project, rankscope):
    assert rankscope("watch", project.folder, "--accept").code == 2  # there is no store yet
    rankscope("watch", project.folder)
    (project.folder / "level").write_text("12")
    drop = rankscope("watch", project.folder)
    assert "Nobody was sent a message: rankscope.toml has no table [notify.NAME] (docs/watch.md)." in drop.out
    found = rankscope("watch", project.folder, "--accept")
    assert (found.code, found.out.count("\n")) == (0, 1)
    assert found.out.startswith("accepted: search on small: RR@10 fell from 1.000 to 0.500, open since ")
    assert found.out.endswith("history counts from run 2 on\n")
    assert rankscope("watch", project.folder, "--accept").out == "there is no open alert\n"
    assert rankscope("watch", project.folder).code == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--test-notify", "--dry-run"], "--dry-run has nothing to do with --test-notify"),
        (["--accept", "--every", "1h"], "--every has nothing to do with --accept"),
        (["--every", "1h", "-o", "x.json"], "-o keeps one result"),
        (["--only", "serach"], "did you mean search?"),
        (["--baseline", "nobody"], "the store has no run 'nobody'"),
    ],
)
def test_what_cannot_be_asked_for(project, rankscope, arguments, words):
    found = rankscope("watch", project.folder, *arguments)
    assert found.code == 2
    assert words in found.err


@pytest.mark.parametrize(
    ("text", "wanted"), [("90s", 90), ("30m", 1800), ("1h30m", 5400), ("1d", 86400), ("1w", 604800)]
)
def test_times(text, wanted):
    from rankscope.cli.watch import seconds

    assert seconds(text) == wanted


@pytest.mark.parametrize("text", ["", "1", "h", "-1h", "1 h", "0s", "1y"])
def test_what_is_no_time(text, start):
    import argparse

    from rankscope.cli.watch import seconds

    with pytest.raises(argparse.ArgumentTypeError):
        seconds(text)


@pytest.mark.skipif(sys.platform == "win32", reason="signals are those of POSIX")
def test_every_goes_on_until_ctrl_c(project):
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    command = [sys.executable, "-c", START, "watch", str(project.folder), "--every", "1s", "--format", "json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, text=True)
    try:
        records = [json.loads(process.stdout.readline()) for _ in range(2)]
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=120)
    finally:
        process.kill()
        process.communicate()
    assert [record["watched"][0]["run"] for record in records] == [1, 2]
    assert process.returncode == 130, said


def test_no_target_begins_a_line_of_its_own(project):
    from rankscope.cli.watch import lines_of
    from rankscope.experiment.alerts import WatchedTarget
    from rankscope.experiment.project import load_project
    from rankscope.experiment.watch import WatchResult

    write(project)
    target = WatchedTarget(collection="c", system="s", target="t", outcome="failed", words="a\n::error::b")
    found = WatchResult(rankscope="0", project="p", at="2026-01-01", dry_run=False, watched=(), targets=(target,))
    lines = "\n".join(lines_of(found, load_project(project.folder))).splitlines()
    assert "  FAIL  s on c: target 't': a\\n::error::b" in lines
