"""Runs that are started from the page: queued, followed, cancelled, resumed, and by whom."""

import json
import re
import time
from urllib.parse import urlencode

import pytest
import urllib3
from running import TOKEN, Server

from rankscope.experiment.jobs import JobWorker
from rankscope.experiment.project import load_project
from rankscope.store import open_store
from rankscope.web.library import Library
from rankscope.web.pages import ACTIONS
from rankscope.web.security import Identity, TokenAuthenticator, form_secret
from small_project import small_project, systems

HOSTILE = "<img src=x onerror=alert(1)>"
LONG_S = 90


class OneUser(TokenAuthenticator):
    """Lets everybody in, in a role that the test says."""

    role = "owner"

    def identify(self, session, headers, client):
        known = super().identify(session, headers, client)
        return known and Identity("ada" + HOSTILE, self.role, known.session)


@pytest.fixture
def small(tmp_path):
    made = small_project(tmp_path / "project", n_queries=8, module="searching")
    made.write(systems("one", "other") + '[systems.words]\ntype = "bm25"\n')
    return made


@pytest.fixture
def running(small):
    with open_store(small.folder, create=True) as store:
        library = Library(store, load_project(small.folder))
        library.worker = JobWorker(store, library.project.file, poll_s=0.1)
        server = Server(library)
        server.server.config.app.authenticator = server.users = OneUser(TOKEN)
        library.worker.start()
        try:
            yield server
        finally:
            library.worker.stop()
            server.close()


def send(server, path, **fields):
    body = urlencode(
        [(name, each) for name, value in fields.items() for each in (value if isinstance(value, list) else [value])]
    )
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/x-www-form-urlencoded"}
    return urllib3.request("POST", server.url + path, body=body, headers=headers, redirect=False, timeout=60)


def state_of(server, number) -> str:
    return json.loads(server.get(f"/job.json?number={number}").data)["line"]["state"]


def wait_for(server, number, *states) -> str:
    deadline = time.monotonic() + LONG_S
    while (state := state_of(server, number)) not in states:
        assert time.monotonic() < deadline, f"it is {state}"
        time.sleep(0.1)
    return state


def test_a_run_is_started_followed_and_done(running, small):
    answer = send(running, "/jobs/start", system=["one", "words"], collection="small", depth="10")
    assert answer.status == 303
    number = int(re.fullmatch(r"/job\?number=(\d+)", answer.headers["location"])[1])
    stream = urllib3.request(
        "GET", f"{running.url}/job/events?number={number}", headers={"Authorization": f"Bearer {TOKEN}"}, timeout=LONG_S
    )
    assert stream.headers["content-type"].startswith("text/event-stream")
    sent = [
        json.loads(line.removeprefix("data: ")) for line in stream.data.decode().split("\n") if line.startswith("data")
    ]
    assert sent[-1]["state"] == "done"
    assert len(sent) >= 2
    assert "What came out" in sent[-1]["html"]
    page = json.loads(running.get(f"/job.json?number={number}").data)
    assert [run["system"] for run in page["runs"]] == ["one", "words"]
    assert page["line"]["words"] == "2 runs stored."
    assert (page["progress_done"], page["progress_total"]) == (2, 2)
    html = running.get(f"/job?number={number}").data.decode()
    assert 'href="/compare?collection=' in html
    assert "Done: " not in html, "that it is done is said once"
    assert "one, words on small" in html
    assert "http-equiv" not in html  # it has ended
    listed = json.loads(running.get("/jobs.json").data)
    assert [line["number"] for line in listed["jobs"]] == [number]
    assert json.loads(running.get("/jobs.json?state=failed").data)["jobs"] == []


def test_a_saved_test_case_is_seen_at_once_and_checked_by_the_next_run(running):
    first = int(send(running, "/jobs/start", system="words").headers["location"].rpartition("=")[2])
    wait_for(running, first, "done")
    saved = send(running, "/live/save", collection="small", query="no word of any doc", further="d1", top="1")
    assert saved.status == 303
    (line,) = json.loads(running.get("/targets.json?collection=small").data)["lines"]
    assert (line["state"], line["system"], line["query"]) == ("unchecked", "", "live-1")
    html = running.get("/targets").data.decode()
    assert "1 target was not checked yet." in html
    assert "1 target was never checked" in running.get("/").data.decode()
    number = int(send(running, "/jobs/start", system="words").headers["location"].rpartition("=")[2])
    wait_for(running, number, "done")
    page = json.loads(running.get(f"/job.json?number={number}").data)
    assert any(event["text"] == "1 check of targets on these runs: 1 fails." for event in page["events"]), page[
        "events"
    ]
    (line,) = json.loads(running.get("/targets.json").data)["lines"]
    assert (line["state"], line["system"]) == ("failed", "words")
    overview = running.get("/").data.decode()
    assert "never checked" not in overview
    assert "no target fails" not in overview


def test_cancel_and_resume(running, small, monkeypatch):
    monkeypatch.setenv("SLOWLY", "0.5")
    number = int(send(running, "/jobs/start", system="one").headers["location"].rpartition("=")[2])
    second = int(send(running, "/jobs/start", system="words").headers["location"].rpartition("=")[2])
    wait_for(running, number, "running")
    page = json.loads(running.get("/jobs.json").data)
    assert page["answer"] == "One run is under way; 1 run waits."
    html = running.get(f"/job?number={second}").data.decode()
    assert '<noscript><meta http-equiv="refresh" content="5"></noscript>' in html  # for those without scripts
    assert send(running, "/jobs/cancel", number=number).status == 303
    assert wait_for(running, number, "cancelled", "done") == "cancelled"
    assert wait_for(running, second, "done") == "done"
    monkeypatch.setenv("SLOWLY", "0")
    assert send(running, "/jobs/resume", number=number).status == 303
    wait_for(running, number, "done")
    assert set(small.asked.values()) == {1}
    refused = send(running, "/jobs/resume", number=number)
    assert refused.status == 400
    assert b"cannot be resumed, as it is done" in refused.data


def test_who_may_start_what(running):
    running.users.role = "viewer"
    assert send(running, "/jobs/start", system="words").status == 403
    assert b"/jobs/start" not in running.get("/jobs").data
    running.users.role = "editor"
    refused = send(running, "/jobs/start", system=["words", "one"])
    assert refused.status == 400
    assert b"one runs a program, which only owners may start" in refused.data
    assert re.search(rb'value="one" disabled', running.get("/jobs").data)
    assert send(running, "/jobs/start", system="words").status == 303
    running.users.role = "owner"
    number = int(send(running, "/jobs/start", system="one").headers["location"].rpartition("=")[2])
    send(running, "/jobs/cancel", number=number)
    wait_for(running, number, "cancelled", "done")
    running.users.role = "editor"
    assert send(running, "/jobs/resume", number=number).status == 400


@pytest.mark.parametrize("route", ACTIONS, ids=lambda route: route.path)
def test_a_form_without_its_secret_or_from_elsewhere_does_nothing(running, route):
    session = running.users._session()
    cookie = {
        "Cookie": f"rankscope_session_{running.port}={session}",
        "Content-Type": "application/x-www-form-urlencoded",
    }
    body = urlencode({"system": "words", "number": 1})
    for headers, secret in (
        ({**cookie, "Origin": running.url}, ""),
        ({**cookie, "Origin": running.url}, "&secret=wrong"),
        ({**cookie, "Origin": "http://evil.example"}, f"&secret={form_secret(Identity('x', 'owner', session))}"),
        (cookie, f"&secret={form_secret(Identity('x', 'owner', session))}"),
    ):
        answer = urllib3.request("POST", running.url + route.path, body=body + secret, headers=headers, redirect=False)
        assert answer.status == 403
    assert json.loads(running.get("/jobs.json").data)["jobs"] == []


def test_the_right_secret_is_enough(running):
    session = running.users._session()
    body = urlencode({"system": "words", "secret": form_secret(Identity("x", "owner", session))})
    headers = {"Cookie": f"rankscope_session_{running.port}={session}", "Origin": running.url}
    headers["Content-Type"] = "application/x-www-form-urlencoded"
    answer = urllib3.request("POST", running.url + "/jobs/start", body=body, headers=headers, redirect=False)
    assert answer.status == 303
    assert b"ada&lt;img" in running.get("/jobs").data
    assert HOSTILE.encode() not in running.get("/jobs").data


def test_what_cannot_be_started(running):
    assert b"No system is chosen" in send(running, "/jobs/start").data
    assert b"There is no system &#39;wrods&#39; to run" in send(running, "/jobs/start", system="wrods").data
    assert send(running, "/jobs/start", system="words", depth="many").status == 400
    assert send(running, "/jobs/start", system="words", repeat="101").status == 400
    assert send(running, "/jobs/start", system="words", repeat=str(10**30)).status == 400
    assert b"is not among the systems" in send(running, "/jobs/start", system="words", baseline="nope").data
    for number, status in ((77, 404), (10**30, 400)):
        assert send(running, "/jobs/cancel", number=number).status == status
        assert send(running, "/jobs/resume", number=number).status == status
    assert running.get("/job?number=77").status == 404
    assert running.get("/job/events?number=77").status == 404


def test_without_a_project_there_is_nothing_to_start(server):
    html = server.get("/jobs").data.decode()
    assert "There is no project here." in html
    assert "/jobs/start" not in html


def test_in_a_browser(running, chromium, small, monkeypatch, tmp_path):
    monkeypatch.setenv("SLOWLY", "0.4")
    context = chromium.new_context(viewport={"width": 390, "height": 800}, base_url=running.url)
    page = context.new_page()
    problems = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    page.goto(f"/jobs?token={TOKEN}")
    page.get_by_role("checkbox", name="words").uncheck()
    page.get_by_role("checkbox", name="other").uncheck()
    page.get_by_role("button", name="Start").click()
    page.wait_for_url("**/job?number=*")
    page.locator("#job[data-state=running]").wait_for(timeout=30_000)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.get_by_role("button", name="Cancel").click()
    page.locator("#job[data-state=cancelled]").wait_for(timeout=30_000)
    monkeypatch.setenv("SLOWLY", "0")
    page.get_by_role("button", name="Resume").click()
    page.locator("#job[data-state=done]").wait_for(timeout=60_000)
    assert page.get_by_role("heading", name="What came out").is_visible()
    page.goto("/jobs")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.screenshot(path=tmp_path / "jobs.png")
    context.close()
    assert problems == []
    assert set(small.asked.values()) == {1}


def test_why_a_run_failed_is_shown_without_the_paths_of_this_machine(running):
    jobs, other = running.library.store.jobs, "another project"
    number = jobs.add(other, {"only": ["words"]}, who="ada").number
    assert jobs.claim(other, worker="w").number == number
    jobs.fail(number, worker="w", why="/home/ada/secret/rankscope.toml:3: no such system")
    for where in (f"/job?number={number}", f"/job.json?number={number}"):
        shown = running.get(where).data
        assert b"rankscope.toml:3: no such system" in shown, where
        assert b"/home/ada" not in shown
