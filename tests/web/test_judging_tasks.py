"""The pages on which tasks are made and followed, and who may see what: a rater sees the own task, and nothing else."""

import json
import re
from importlib.resources import files
from urllib.parse import urlencode

import pytest
import urllib3
from judging_store import DOCS, LISTS, add_task, fill
from running import TOKEN, Server
from test_every_page import SERIOUS

from rankscope.data.judgments import JudgmentSource, SingleJudgment, with_uuid
from rankscope.web.library import Library
from rankscope.web.markdown import MarkdownSpan, markdown_blocks
from rankscope.web.pages import PAGES
from rankscope.web.security import RateLimit
from rankscope.web.shield import RATER_COOKIE

PAIRS = [("q1", "d1"), ("q1", "d2"), ("q3", "d6")]


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    store = fill(tmp_path_factory.mktemp("tasks"))
    running = Server(Library(store))
    running.store = store
    yield running
    running.close()
    store.close()


def send(server, path, **fields):
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/x-www-form-urlencoded"}
    body = urlencode(fields, doseq=True)
    return urllib3.request("POST", server.url + path, body=body, headers=headers, redirect=False)


def save(server, token, **body):
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    return urllib3.request("POST", server.url + "/judge/save.json", body=json.dumps(body), headers=headers)


def test_a_task_is_made_extended_stopped_and_reopened(desk):
    runs = [run.number for run in desk.store.runs.list()]
    made = send(desk, "/judge/create", name="from the page", collection="doctors", run=runs, k=1, overlap=2, ranks=1)
    assert made.status == 303, made.data
    page = made.headers["location"]
    task = desk.store.tasks.get("from the page")
    assert (task.plan.k, task.plan.overlap, task.plan.blind, task.plan.systems) == (
        1,
        2,
        False,
        ("lexical-7", "dense-9"),
    )
    before = len(desk.store.tasks.items(task))
    assert before == 5  # q1: d3 and d1, q2: d5 and d4, q3: d6
    assert send(desk, "/judge/extend", task=task.number, k=2, overlap=3).status == 303
    task = desk.store.tasks.get(task.number)
    assert (task.plan.overlap, len(desk.store.tasks.items(task))) == (3, 9 - 1)
    for path, state in (("/judge/stop", "stopped"), ("/judge/reopen", "open")):
        assert send(desk, path, task=task.number).headers["location"] == page
        assert desk.store.tasks.get(task.number).state == state
    assert "from the page" in desk.get("/judge").data.decode()
    assert "nobody is invited yet" in desk.get(page).data.decode()


def test_what_cannot_be_is_said(desk):
    for wrong in (
        {"name": "none", "collection": "doctors"},
        {"name": "", "collection": "doctors", "run": 1},
        {"name": "k", "collection": "doctors", "run": 1, "k": 0},
        {"name": "one list", "collection": "doctors", "run": 1, "mode": "lists"},
        {"name": "no scale", "collection": "doctors", "run": 1, "guideline": "grade them"},
        {"name": "unknown", "collection": "doctors", "run": 999},
    ):
        answer = send(desk, "/judge/create", **wrong)
        assert answer.status == (404 if wrong["name"] == "unknown" else 400), wrong
    assert send(desk, "/judge/stop", task=999).status == 404
    assert desk.get("/judge/show?task=999").status == 404


def test_the_link_of_an_invitation_is_shown_once_and_can_be_revoked(desk):
    task = add_task(desk.store, "links", PAIRS)
    answer = send(desk, "/judge/invite", task=task.number, name="Bo")
    (link,) = re.findall(r'value="(http://[^"]*invite=[^"]*)"', answer.data.decode())
    assert answer.headers["cache-control"] == "no-store"
    token = link.partition("invite=")[2]
    (rater,) = desk.store.raters.list(task)
    assert token not in desk.get(f"/judge/show?task={task.number}").data.decode()
    came = urllib3.request("GET", link, redirect=False)
    assert (came.status, came.headers["location"]) == (303, "/judge/task")
    assert came.headers["set-cookie"].startswith(f"{RATER_COOKIE}_{desk.port}={token};")
    assert "HttpOnly; SameSite=Lax" in came.headers["set-cookie"]
    other = add_task(desk.store, "another", PAIRS)
    assert send(desk, "/judge/revoke", task=other.number, rater=rater.number).status == 400
    assert send(desk, "/judge/revoke", task=task.number, rater=rater.number).status == 303
    refused = desk.ask("GET", "/judge/state.json", Authorization=f"Bearer {token}")
    assert (refused.status, b"revoked" in refused.data) == (400, True)
    renewed = send(desk, "/judge/renew", task=task.number, rater=rater.number).data.decode()
    (new,) = re.findall(r"invite=([^\"&]*)", renewed)
    assert new != token
    assert desk.ask("GET", "/judge/state.json", Authorization=f"Bearer {new}").status == 200
    assert urllib3.request("GET", desk.url + "/judge/start?invite=wrong", redirect=False).status == 403


def test_a_second_rater_of_the_same_name_is_refused(desk):
    task = add_task(desk.store, "same twice", PAIRS)
    assert send(desk, "/judge/invite", task=task.number, name="Ann").status == 200
    refused = send(desk, "/judge/invite", task=task.number, name="ann")
    assert (refused.status, b"is called Ann already" in refused.data) == (400, True)
    assert len(desk.store.raters.list(task)) == 1


def test_the_page_of_a_task_counts_and_remarks_as_that_of_agreement(desk):
    """Two raters of 12 docs: 23 grades and one doc of which Bo cannot tell; Ann takes a second for each."""
    pairs = [(query, doc) for query in ("q1", "q3") for doc in DOCS]
    task = add_task(desk.store, "remarks", pairs)
    scale = (0.0, 1.0, 2.0, 3.0)
    for name, seconds in (("Ann", 1.0), ("Bo", 20.0)):
        rater, _ = desk.store.raters.invite(task, name=name)
        for i, (query, doc) in enumerate(pairs):
            said = {"status": "cannot_tell", "note": "doc unclear"} if name == "Bo" and not i else {"grade": i % 4.0}
            source = JudgmentSource("person", id=rater.id)
            place = {"query": query, "doc": doc, "collection": "doctors", "task": str(task.number)}
            flag = {"flag": i == 1, "note": "wrong city"} if i == 1 else {}
            judgment = SingleJudgment(source=source, seconds=seconds, scale=scale, **place, **said, **flag)
            desk.store.judgments.add([with_uuid(judgment)])
    page = json.loads(desk.get(f"/judge/show.json?task={task.number}").data)
    assert page["standing"]["words"] == "24 of 24 answers are given (23 grades, 1 cannot tell), by 2 raters."
    assert [rater["remark"] for rater in page["standing"]["raters"]] == ["done, very fast", "done"]
    agreement = json.loads(desk.get(f"/agreement.json?task={task.number}").data)["agreement"]
    assert agreement["n_grades"] == 23
    assert [rater["remarks"] for rater in agreement["raters"]] == [["very fast"], []]
    shown = desk.get(f"/judge/show?task={task.number}").data.decode()
    assert f"rankscope judge export judgments.csv --task {task.number}" in shown
    assert f'href="/flags?task={task.number}"' in shown
    flags = desk.get(f"/flags?task={task.number}").data.decode()
    assert "wrong city" in flags
    found = json.loads(desk.get(f"/flags.json?task={task.number}").data)["opinions"]
    assert found["flags"]["share"]["n"] == 2
    assert page["flags"] in flags.replace("&#39;", "'")


def test_a_guideline_is_changed_and_a_rater_forgotten_on_the_page(desk):
    task = add_task(desk.store, "changes", PAIRS)
    rater, token = desk.store.raters.invite(task, name="Zebedee")
    text = desk.store.tasks.guideline_text(task)
    changed = send(desk, "/judge/guideline", task=task.number, guideline=f"Look twice.\r\n{text}")
    assert changed.status == 303
    assert desk.store.tasks.guideline_text(desk.store.tasks.get(task.number)) == f"Look twice.\n{text}"
    refused = send(desk, "/judge/guideline", task=task.number, guideline="## Scale\n\n- 0 No\n- 9 Yes\n")
    assert (refused.status, b"the grades may not" in refused.data) == (400, True)
    other = add_task(desk.store, "not this", PAIRS)
    assert send(desk, "/judge/forget", task=other.number, rater=rater.number).status == 400
    assert send(desk, "/judge/forget", task=task.number, rater=rater.number).status == 303
    assert "Zebedee" not in desk.get(f"/judge/show?task={task.number}").data.decode()
    assert desk.ask("GET", "/judge/state.json", Authorization=f"Bearer {token}").status >= 400
    for path in ("/judge/forget", "/judge/guideline"):
        stranger = {"Authorization": f"Bearer {token}", "Content-Type": "application/x-www-form-urlencoded"}
        body = urlencode({"task": task.number, "rater": rater.number, "guideline": text})
        assert urllib3.request("POST", desk.url + path, body=body, headers=stranger, redirect=False).status in (
            401,
            403,
        )


def test_a_rater_sees_the_own_task_and_nothing_else(desk):
    task = add_task(desk.store, "alone", PAIRS)
    other = add_task(desk.store, "of others", [("q2", "d4")])
    _, token = desk.store.raters.invite(task, name="Ada")
    desk.store.raters.invite(other, name="Bo")
    cookie = {"Cookie": f"{RATER_COOKIE}_{desk.port}={token}; rankscope_session_{desk.port}={token}"}
    for route in PAGES:
        for path in (route.path, f"{route.path}.json" if route.path != "/" else "/index.json"):
            assert desk.ask("GET", path, **cookie).status in (401, 403), path
    assert desk.ask("GET", "/schema/openapi.json", **cookie).status in (401, 403)
    shown = desk.ask("GET", "/judge/task", **cookie).data.decode()
    assert "<nav" not in shown
    assert 'href="/' not in re.sub(r'href="/static/[^"]*"', "", shown)
    state = json.loads(desk.ask("GET", "/judge/state.json", **cookie).data)
    assert {(item["query"], item["doc"]) for item in state["items"]} == set(PAIRS)
    assert not [system for system in LISTS if system in json.dumps(state)]
    assert desk.ask("GET", "/judge/query.json?query=q2", **cookie).status == 400
    view = json.loads(desk.ask("GET", "/judge/query.json?query=q1", **cookie).data)
    assert [doc["ranks"] for doc in view["docs"]] == [{}, {}]
    answer = json.loads(
        save(desk, token, uuid="0b5f7b3e-6f2e-4d6b-9d6c-2f4be5c3a001", query="q2", doc="d4", grade=1).data
    )
    assert (answer["status"], answer["reason"]) == ("refused", "This doc is not part of the task.")
    # what a browser sends needs the secret of this session's forms, and our own origin
    headers = {**cookie, "Content-Type": "application/json", "Origin": desk.url}
    assert desk.ask("POST", "/judge/save.json", "{}", **headers).status == 403
    (secret,) = re.findall(r'data-secret="([0-9a-f]+)"', shown)
    body = json.dumps({"uuid": "0b5f7b3e-6f2e-4d6b-9d6c-2f4be5c3a002", "query": "q1", "doc": "d1", "grade": 2})
    assert desk.ask("POST", "/judge/save.json", body, **headers, **{"X-Form-Secret": secret}).status == 200
    wrong = {**headers, "Origin": "http://evil.example", "X-Form-Secret": secret}
    assert desk.ask("POST", "/judge/save.json", body, **wrong).status == 403
    # the owner's token opens the pages, but no task of a rater
    assert desk.get("/judge/task").status == 400


def test_a_save_that_is_sent_again_counts_once_and_odd_ones_are_refused(desk):
    task = add_task(desk.store, "again", PAIRS)
    _, token = desk.store.raters.invite(task, name="Ada")
    body = {"uuid": "0b5f7b3e-6f2e-4d6b-9d6c-2f4be5c3a003", "query": "q1", "doc": "d1", "grade": 2.0, "replaces": None}
    for _ in range(2):
        assert json.loads(save(desk, token, **body).data)["status"] == "ok"
    assert len(desk.store.judgments.list("doctors", task=str(task.number))) == 1
    for wrong in ({}, {**body, "grade": "two"}, {**body, "surprise": 1}):
        assert save(desk, token, **wrong).status == 400, wrong
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    assert desk.ask("POST", "/judge/save.json", "no json", **headers).status == 400
    assert desk.ask("POST", "/judge/save.json", "[" * 100_000, **headers).status == 400


def ask_once(server, token):
    headers = {"Authorization": f"Bearer {token}"}
    return urllib3.request("GET", server.url + "/judge/settling.json", headers=headers, retries=False).status


def test_raters_behind_one_address_are_counted_one_by_one(tmp_path):
    store = fill(tmp_path)
    task = add_task(store, "team", PAIRS)
    tokens = [store.raters.invite(task)[1] for _ in range(4)]
    server = Server(Library(store), rate_limit=RateLimit(per_second=0.001, at_once=6))
    try:
        statuses = [ask_once(server, token) for _ in range(4) for token in tokens]
        assert statuses == [200] * 16
        assert [ask_once(server, f"x{i}") for i in range(8)][-1] == 429
    finally:
        server.close()
        store.close()


@pytest.mark.parametrize(("width", "scheme"), [(1440, "light"), (390, "dark")])
def test_an_owner_makes_a_task_and_invites_in_a_browser(chromium, desk, width, scheme):
    axe = files(pytest.importorskip("axe_core_python")).joinpath("axe.min.js").read_text("utf-8")
    context = chromium.new_context(
        base_url=desk.url, viewport={"width": width, "height": 900}, color_scheme=scheme, bypass_csp=True
    )
    page = context.new_page()
    page.set_default_timeout(60_000)
    page.goto(f"/judge?token={TOKEN}")
    page.get_by_label("Name").fill(f"in a browser {width}")
    page.get_by_label("To settle").select_option("nDCG@10")
    page.get_by_text("Raters and options").click()
    page.get_by_label("Raters per doc").fill("2")
    page.get_by_role("button", name="Make the task").click()
    page.get_by_text("Nobody is invited yet.", exact=True).wait_for()
    page.get_by_label("Invite").fill("Bo")
    page.get_by_role("button", name="Make a link").click()
    link = page.get_by_label("The link").input_value()
    page.evaluate(axe)
    assert page.evaluate(SERIOUS) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.goto("/judge")
    page.locator(".task-list a", has_text=f"in a browser {width}").click()
    page.get_by_role("rowheader", name="Bo").wait_for()
    assert page.get_by_label("The link").count() == 0
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    page.evaluate(axe)
    assert page.evaluate(SERIOUS) == []
    page.goto(link)  # who is signed in can look at it as the rater
    page.locator("#title:not(:empty)").wait_for()
    page.goto("/judge")
    page.get_by_role("heading", name="Make a task").wait_for()  # and is still signed in
    context.close()


def test_little_markdown():
    text = "# Head\n\nOne **bold** and `code`\nline <b>.\n\n- first\n  goes on\n- second\n1. third\nafter\n"
    heading, paragraph, items, after = markdown_blocks(text)
    assert (heading.kind, heading.lines[0][0].text) == ("heading", "Head")
    assert paragraph.lines[0] == (
        MarkdownSpan("One "),
        MarkdownSpan("bold", "bold"),
        MarkdownSpan(" and "),
        MarkdownSpan("code", "code"),
        MarkdownSpan(" line <b>."),
    )
    assert [line[0].text for line in items.lines] == ["first goes on", "second", "third"]
    assert after.lines[0][0].text == "after"
