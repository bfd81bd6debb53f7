"""The live page: all systems side by side, whatever one of them does, and test cases that are kept."""

import json
from types import SimpleNamespace
from urllib.parse import urlencode

import pytest
import urllib3
from running import TOKEN, Server
from test_jobs_pages import OneUser, send

from rankscope.errors import OptionError
from rankscope.experiment.collection import load_collection
from rankscope.experiment.project import load_project
from rankscope.store import open_store
from rankscope.systems.base import Doc
from rankscope.web.library import Library
from rankscope.web.pages.live import known_docs
from small_project import small_project, systems

HOSTILE = "<img src=x onerror=alert(1)>"
CODE = f"""
def nasty(query):
    return ["d3", {HOSTILE!r}]

def failing(query):
    raise ValueError({HOSTILE!r})
"""


@pytest.fixture
def small(tmp_path):
    made = small_project(tmp_path / "project", n_queries=4, module="searching")
    made.add(CODE)
    made.write(
        systems("nasty", "failing")
        + '[systems.words]\ntype = "bm25"\n[systems.wider]\ntype = "expand"\nof = "words"\n'
        + '[systems.wider.dictionary]\ntext = {terms = ["docs"], negatives = ["cake"]}\n'
    )
    return made


@pytest.fixture
def running(small):
    with open_store(small.folder, create=True) as store:
        library = Library(store, load_project(small.folder))
        server = Server(library)
        server.server.config.app.authenticator = server.users = OneUser(TOKEN)
        try:
            yield server
        finally:
            server.close()
            library.close()


def ask(server, **fields):
    answer = send(server, "/live/ask", **fields)
    assert answer.status == 200, answer.data
    return [json.loads(line) for line in answer.data.decode().split("\n") if line]


def test_all_systems_are_asked_side_by_side(running):
    first, *answers, last = ask(running, query="text 2", k="3")
    assert first["systems"] == ["nasty", "failing", "words", "wider"]
    by_system = {line["system"]: line for line in answers}
    assert [doc["doc"] for doc in by_system["nasty"]["answer"]["docs"]] == ["d3", HOSTILE]
    assert by_system["failing"]["answer"]["failure"].startswith("ValueError: <img")
    assert by_system["wider"]["answer"]["added"] == ["docs"]
    assert by_system["wider"]["answer"]["removed"] == ["cake"]
    assert len(by_system["words"]["answer"]["docs"]) == 3
    assert last["headline"] == "3 of 4 systems answered; 1 did not."
    assert "+ docs" in last["html"]
    assert "\N{MINUS SIGN} cake" in last["html"]
    assert "Did not answer." in last["html"]
    everything = "".join(line.get("html", "") for line in (first, *answers, last))
    assert HOSTILE not in everything
    assert "&lt;img src=x onerror=alert(1)&gt;" in everything


def test_grades_are_shown_for_a_query_of_the_collection(running):
    page = json.loads(running.get("/live.json?" + urlencode({"query": "text 3"})).data)
    assert page["known_query"] == "q3"
    assert page["attributes"] == [{"name": "difficulty", "values": ["easy", "hard"], "chosen": "easy"}]
    *_, last = ask(running, query="text 3", system="nasty")
    assert 'title="grade 1.0">1<' in last["html"]  # d3 is relevant for q3
    *_, last = ask(running, query="text of another kind", system="nasty")
    assert "grade" not in last["html"]


def test_only_owners_run_programs(running):
    running.users.role = "viewer"
    first, *_ = ask(running, query="text 2")
    assert first["systems"] == ["words", "wider"]
    refused = send(running, "/live/ask", query="text 2", system="nasty")
    assert refused.status == 400
    assert b"for owners alone" in refused.data
    html = running.get("/live?query=text").data.decode()
    assert html.count("runs a program: owners only") == 2
    running.users.role = "rater"
    assert send(running, "/live/ask", query="text 2").status == 403


def test_what_cannot_be_asked(running):
    assert b"The query is empty" in send(running, "/live/ask", query=" ").data
    assert send(running, "/live/ask").status == 400
    assert b"There is no system" in send(running, "/live/ask", query="x", system="wrods").data
    assert send(running, "/live/ask", query="x", k="100000").status == 400
    assert send(running, "/live/ask", query="x", collection="none").status == 400
    assert send(running, "/live/ask", query="x" * 10_001).status == 400


def test_a_test_case_is_saved_and_found_again(running, small):
    fields = {"collection": "small", "query": "new words", "doc": ["d1", "d2"], "never": "d9", "reason": HOSTILE}
    running.users.role = "viewer"
    assert send(running, "/live/save", **fields).status == 403
    running.users.role = "editor"
    answer = send(running, "/live/save", **fields, attribute="difficulty=hard")
    assert answer.status == 303
    assert "saved=live-1" in answer.headers["location"]
    html = running.get(answer.headers["location"]).data.decode()
    assert "<b>Saved.</b> Query live-1" in html
    assert "query live-1 of the collection" in html
    project = load_project(small.folder)
    assert [target.docs for target in project.targets] == [("d1", "d2"), ("d9",)]
    assert project.targets[0].reason == HOSTILE
    collection = load_collection(project.collection("small"))
    assert collection.qrels["live-1"] == {"d1": 1, "d2": 1, "d9": 0}
    changed = {
        "collection": "small",
        "query": "new words",
        "attribute": "difficulty=easy",
        "name": "goal",
        "value": "x",
    }
    assert send(running, "/live/attributes", **changed).status == 303
    collection = load_collection(project.collection("small"))
    assert collection.queries.attributes_of("live-1") == {"difficulty": "easy", "goal": "x"}


def test_a_doc_that_no_system_found_can_be_expected(running, small):
    fields = {"collection": "small", "query": "never found"}
    assert send(running, "/live/save", **fields, further="d7").status == 303
    assert load_project(small.folder).targets[0].docs == ("d7",)
    refused = send(running, "/live/save", **fields, further="a title that no doc has")
    assert refused.status == 400
    assert b"no doc with the id or title" in refused.data


def test_docs_are_known_by_their_titles():
    docs = [Doc("d1", "x", title="Pea soup"), Doc("d2", "y", title="Plum cake"), Doc("d3", "z", title="Plum  Cake")]
    collection = SimpleNamespace(docs=docs, name="food")
    assert known_docs(collection, ("d2",), "pea  SOUP") == "d1"
    assert known_docs(collection, (), "d3") == "d3"
    with pytest.raises(OptionError, match="2 docs have the title"):
        known_docs(collection, (), "plum cake")
    with pytest.raises(OptionError, match="food has no doc 'd9'"):
        known_docs(collection, ("d9",), "")


def test_what_cannot_be_saved(running, small):
    before = (small.folder / "rankscope.toml").read_text()
    fields = {"collection": "small", "query": "other words", "doc": "d1"}
    assert b"No doc is chosen" in send(running, "/live/save", **{**fields, "doc": ""}).data
    assert send(running, "/live/save", **{**fields, "query": "x" * 10_001}).status == 400
    assert b"has no doc" in send(running, "/live/save", **{**fields, "doc": "n14"}).data
    assert send(running, "/live/save", **fields, attribute=f"{'n' * 101}=x").status == 400
    assert send(running, "/live/save", **fields, attribute="id=x").status == 400
    known = {"collection": "small", "query": "text 2"}
    assert b"a value and no name" in send(running, "/live/attributes", **known, value="x").data
    assert send(running, "/live/attributes", **known, name="_id", value="x").status == 400
    assert send(running, "/live/attributes", **known, name="goal", value="x" * 1_001).status == 400
    assert (small.folder / "rankscope.toml").read_text() == before


def test_questions_are_in_the_history_and_nothing_is_lost_at_an_error(running, chromium):
    context = chromium.new_context(viewport={"width": 390, "height": 900}, base_url=running.url)
    page = context.new_page()
    page.set_default_timeout(60_000)
    page.goto(f"/live?token={TOKEN}")
    for text in ("text 2", "quite another text"):
        page.get_by_label("Query").fill(text)
        page.get_by_label("Query").press("Enter")
        page.get_by_text("3 of 4 systems answered").wait_for()
        page.get_by_text("a new query of the collection" if text != "text 2" else "query q2").first.wait_for()
    page.get_by_label("Why it matters").fill("because")
    page.get_by_role("button", name="Save test case").click()
    page.get_by_text("No doc is chosen").wait_for()
    assert page.get_by_label("Why it matters").input_value() == "because"
    page.go_back()
    page.wait_for_function("document.querySelector('#q').value === 'text 2'")
    page.get_by_text("3 of 4 systems answered").wait_for()
    context.close()


def test_without_a_project_there_is_nobody_to_ask(server):
    assert "There is nobody to ask." in server.get("/live").data.decode()
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/x-www-form-urlencoded"}
    assert urllib3.request("POST", server.url + "/live/ask", body="query=x", headers=headers).status == 400


@pytest.mark.parametrize("width", [390, 1440])
def test_in_a_browser(running, chromium, small, tmp_path, width):
    context = chromium.new_context(viewport={"width": width, "height": 900}, base_url=running.url)
    page = context.new_page()
    problems = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    page.goto(f"/live?query=text+2&token={TOKEN}")
    assert page.locator("#answers").inner_text() == ""  # a link alone asks nobody
    page.get_by_label("Query").press("Enter")
    page.get_by_text("3 of 4 systems answered").wait_for(timeout=60_000)
    assert page.url.endswith(
        "query=text+2&collection=small&k=5&attribute=difficulty%3Dhard&system=nasty&system=failing&system=words&system=wider"
    )
    assert page.locator(".vc").count() == 4
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.screenshot(path=tmp_path / "live.png", full_page=True)
    page.get_by_label("Query").fill("quite another text")
    page.get_by_role("button", name="Ask all").click()
    page.get_by_text("a new query of the collection").wait_for(timeout=60_000)
    page.locator("input[name=doc]").first.check()
    page.get_by_label("Why it matters").fill("because")
    page.get_by_role("button", name="Save test case").click()
    page.get_by_text("is part of the next run").wait_for()
    page.get_by_text("3 of 4 systems answered").wait_for(
        timeout=60_000
    )  # it came from the page itself, so it asks again
    context.close()
    assert problems == []
    assert load_project(small.folder).targets[0].reason == "because"


def test_a_project_that_changes_while_the_server_runs_is_read_again(running, small):
    assert {each["system"] for each in ask(running, query="text 2")[1:-1]} >= {"words"}
    file = small.folder / "rankscope.toml"
    file.write_text(file.read_text() + '\n[systems.later]\ntype = "bm25"\n')
    assert b"later" in running.get("/live").data
    assert b"later" in running.get("/jobs").data
    answers = ask(running, query="text 2", system="later")
    assert answers[1]["system"] == "later"
    assert not answers[1]["answer"]["failure"]
    assert answers[1]["answer"]["docs"]


def test_a_project_that_is_broken_while_the_server_runs_is_said_to_be(running, small):
    file = small.folder / "rankscope.toml"
    text = file.read_text()
    file.write_text("[systems.words\n")
    for page in ("/live", "/jobs"):
        assert b"The project file cannot be read" in running.get(page).data
        assert str(small.folder).encode() not in running.get(page).data
    refused = send(running, "/live/ask", query="text 2")
    assert refused.status == 400
    assert b"cannot be read" in refused.data
    assert send(running, "/jobs/start", system="words").status == 400
    file.write_text(text)
    assert b"cannot be read" not in running.get("/live").data
