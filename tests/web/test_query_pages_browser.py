"""The pages of queries, of a query and of a run in a real browser: filters, links, keys, phones, hostile texts."""

from __future__ import annotations

import json
import re
from html import unescape

import pytest
from query_store import run_facts
from running import TOKEN, Server
from sample import fill_store

import rankscope as rs
from rankscope.store import StoredQuery
from rankscope.web.library import Library

HOSTILE = '"><script>window.hacked=1</script><img src=x onerror="window.hacked=1">\u202e\x00{{7*7}}'
ADDRESSES = (
    "/queries",
    "/queries?show=worse&sort=text&words=knee",
    "/query?query=q004",
    "/query?query=q004&more=multilingual&doc=d010",
    "/query?query=q004&blind=1",
    "/run?run=multilingual",
)


@pytest.fixture(scope="module")
def hostile_server(tmp_path_factory):
    store = fill_store(tmp_path_factory.mktemp("hostile"), n_queries=12, hostile=HOSTILE)
    running = Server(Library(store))
    yield running
    running.close()
    store.close()


def test_filters_are_links_and_forms_and_the_back_button_undoes_them(page):
    page.goto("/queries")
    everything = page.locator(".queries tbody tr").count()
    page.get_by_role("link", name="got worse").click()
    assert "show=worse" in page.url
    assert page.locator(".queries tbody tr").count() < everything
    page.get_by_label("language").select_option(label="de (20)")
    page.wait_for_url("**stratum=language%3Dde**")
    assert "show=worse" in page.url
    page.go_back()
    assert "stratum" not in page.url
    page.keyboard.press("/")
    page.keyboard.type("knee")
    page.keyboard.press("Enter")
    page.wait_for_url("**words=knee**")
    assert all("knee" in text for text in page.locator(".queries tbody th").all_inner_texts())
    page.get_by_role("link", name="Clear all filters").click()
    assert page.locator(".queries tbody tr").count() == everything


def test_the_list_is_sorted_by_its_heads_and_shown_in_parts(page):
    page.goto("/queries")
    page.get_by_role("link", name="difference").click()
    differences = page.locator(".queries tbody td b").all_inner_texts()
    numbers = [float(text.strip().replace("\N{MINUS SIGN}", "-")) for text in differences]
    assert numbers == sorted(numbers, reverse=True)
    page.get_by_role("link", name="Next 50").click()
    assert "page=2" in page.url
    assert page.locator(".queries tbody tr").count() == 10


def test_a_query_is_opened_and_the_next_one_by_a_key(page):
    page.goto("/queries?show=worse")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url("**/query?**")
    assert "2 of" in page.locator(".crumb").inner_text()
    page.keyboard.press("k")
    page.wait_for_function("document.querySelector('.crumb').innerText.includes('1 of')")
    assert "show=worse" in page.url


def test_a_doc_is_shown_with_its_fields_and_closed_again(page):
    page.goto("/query?query=q004")
    page.locator(".side .words a").first.click()
    drawer = page.locator(".drawer")
    assert "Where it stands" in drawer.inner_text()
    assert "city" in drawer.inner_text()
    page.get_by_label("Close").click()
    assert page.locator(".drawer").count() == 0


def test_blind_shows_no_names(page):
    page.goto("/query?query=q004")
    page.get_by_role("link", name="Blind").click()
    text = page.locator("main").inner_text()
    assert "System A" in text
    assert "hybrid" not in text
    assert "algorithmic" not in text
    page.get_by_role("link", name="Reveal names, scores and grades").click()
    assert "hybrid" in page.locator("main").inner_text()


@pytest.mark.parametrize("address", ADDRESSES)
def test_no_page_scrolls_sideways_on_a_phone(page, address):
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(address)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_one_list_at_a_time_on_a_phone(page):
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto("/query?query=q004")
    assert [page.locator(f".side.l{i}").is_visible() for i in (1, 2)] == [True, False]
    page.locator(".switch label").last.click()
    assert [page.locator(f".side.l{i}").is_visible() for i in (1, 2)] == [False, True]


@pytest.mark.parametrize("address", ADDRESSES)
def test_pages_say_the_same_without_scripts(chromium, server, address):
    texts = []
    for scripts in (True, False):
        context = chromium.new_context(base_url=server.url, java_script_enabled=scripts)
        opened = context.new_page()
        opened.goto(f"/?token={TOKEN}")
        opened.goto(address)
        texts.append(opened.locator("h1").inner_text() + opened.locator(".say2").inner_text())
        context.close()
    assert texts[0] == texts[1]


@pytest.mark.parametrize("address", [*ADDRESSES, "/query?query=q000&doc=d001&b=multilingual"])
@pytest.mark.parametrize("width", [1440, 390])
def test_hostile_texts_are_shown_and_not_obeyed(chromium, hostile_server, address, width):
    context = chromium.new_context(viewport={"width": width, "height": 900}, base_url=hostile_server.url)
    opened = context.new_page()
    problems = []
    opened.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    opened.goto(f"/?token={TOKEN}")
    answer = opened.goto(address)
    assert answer.status == 200
    assert opened.evaluate("window.hacked") is None
    assert opened.locator("main img, main script, main iframe").count() == 0
    assert opened.evaluate("document.documentElement.scrollWidth") <= width
    assert problems == []
    context.close()


def test_twins_hold_the_same_as_json(server):
    html = server.get("/queries?show=worse").data.decode()
    twin = json.loads(server.get("/queries.json?show=worse").data)
    assert [line["query"] in html for line in twin["lines"]] == [True] * twin["n_listed"]
    blind = server.get("/query.json?query=q004&blind=1").data.decode()
    assert "hybrid" not in json.dumps(json.loads(blind)["lists"])


def test_odd_ids_are_asked_for_and_found(tmp_path):
    """Ids with signs that mean something in addresses and HTML, and with bytes that are no text."""
    query, doc = "q<&\"'/?#%+ \\ \udc80\x00", "d<&\"'/?#%+ \\ \udc81\x00"
    with rs.open_store(tmp_path / "odd.db", create=True) as store:
        store.qrels.add(rs.Qrels({query: {doc: 1}}), name="food")
        for day, docs in enumerate(([doc, "x"], ["x", doc]), 1):
            facts = run_facts(f"system {day}", day=day, queries={query: StoredQuery("odd", {"a=b&c": "d=\x00"})})
            store.runs.add(rs.Run({query: docs}), facts)
        running = Server(Library(store))
        try:
            html = running.get("/queries").data.decode()
            links = [unescape(link) for link in re.findall(r'href="(/query[?][^"]*)"', html)]
            assert links
            opened = running.get(links[0])
            assert opened.status == 200
            docs = [
                unescape(link) for link in re.findall(r'href="(/query[?][^"]*doc=[^"]*)#doc"', opened.data.decode())
            ]
            assert len(docs) == 4
            assert all(running.get(link).status == 200 for link in docs)
            found = running.get(docs[0].replace("/query?", "/query.json?")).json()
            assert found["query"] == query
            assert found["doc"]["places"][0]["rank"] == 1
        finally:
            running.close()
