"""The pages as files: they open without a server, their links lead to files, and nothing is loaded from elsewhere."""

import json
import re

import pytest
from sample import COMPLAINTS

from rankscope.cli.main import main
from rankscope.web.pages import PAGES
from rankscope.web.site import write_site

pytestmark = pytest.mark.filterwarnings("ignore::rankscope.errors.RankscopeWarning")


@pytest.fixture(scope="module")
def site(library, tmp_path_factory):
    folder = tmp_path_factory.mktemp("site") / "public"
    return write_site(library, PAGES, folder, limits={"/query": 3}), folder


def test_every_page_of_the_menu_has_a_file(site):
    _, folder = site
    for route in PAGES:
        if route.in_menu and route.site_limit:
            assert (folder / f"{route.path.strip('/') or 'index'}.html").is_file(), route.path


def test_links_lead_to_files_of_the_site(site):
    made, folder = site
    for page in folder.glob("*.html"):
        for link in re.findall(r'\b(?:href|src)="([^"]*)"', page.read_text()):
            if not link.startswith("#"):
                assert (folder / link.partition("#")[0]).is_file(), (page.name, link)
    assert made.n_pages >= len([route for route in PAGES if route.in_menu and route.site_limit])


def test_nothing_on_a_page_needs_a_server(site):
    _, folder = site
    for page in folder.glob("*.html"):
        html = page.read_text()
        assert "<form" not in html, page.name
        assert "<select" not in html, page.name
        assert not re.search(r"<a\b(?![^>]*\shref=)", html), page.name
        assert not re.search(r'<(?:input|button)[^>]*type="(?:submit|number|text)"', html), page.name
        assert ">Blind<" not in html, page.name


def test_choices_are_links_to_files(site):
    _, folder = site
    html = (folder / "systems.html").read_text()
    choice = re.search(r'<summary class="btn">Measure: <b>nDCG@10</b></summary><ul>(.*?)</ul>', html)[1]
    file = re.search(r'<a href="([^"]+)">AP</a>', choice)[1]
    assert "<b>AP</b>" in (folder / file).read_text()
    compared = (folder / "compare.html").read_text()
    assert '<span class="set">Measure <b>nDCG@10</b></span>' in compared  # there are no files of others
    queries = (folder / "queries.html").read_text()
    worse = re.search(r'<a class="pill" href="([^"]+)">got worse', queries)[1]
    assert "Queries that got worse" in (folder / worse).read_text()


def test_every_page_says_that_it_is_a_copy_and_of_when(site):
    _, folder = site
    for page in folder.glob("*.html"):
        assert re.search(r"A copy of \d+ \w{3}, \d\d:\d\d \(UTC\)", page.read_text()), page.name


def test_the_index_has_every_query_that_has_a_page(site):
    _, folder = site
    found = index_of(folder)
    assert {file for _, file in found} == {page.name for page in folder.glob("query-*.html")} | (
        {"query.html"} if (folder / "query.html").exists() else set()
    )
    assert all(text.startswith(COMPLAINTS) for text, _ in found)


def index_of(folder):
    index = (folder / "queries-index.js").read_text()
    return json.loads(index.removeprefix("window.rankscopeQueries = ").removesuffix(";\n"))


def test_a_query_is_found_by_its_words(site, chromium):
    _, folder = site
    page = chromium.new_context(viewport={"width": 390, "height": 800}).new_page()
    problems = []
    page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    page.goto(f"file://{folder}/targets.html")
    page.keyboard.press("/")
    text, file = index_of(folder)[0]
    page.keyboard.type(" ".join(reversed(text.upper().split())))
    page.locator("#found a").first.wait_for()
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/{file}")
    assert text.startswith(page.locator("h1").inner_text())
    page.get_by_label("Find a query").fill("no such words")
    page.get_by_text("No query has these words.").wait_for()
    assert problems == []
    page.context.close()


def test_a_site_opens_from_disk_without_a_server(site, chromium):
    _, folder = site
    page = chromium.new_context(viewport={"width": 390, "height": 800}).new_page()
    problems, asked = [], []
    page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"file://{folder}/index.html")
    assert page.locator("h1").first.is_visible()
    assert page.evaluate("getComputedStyle(document.querySelector('.top')).position") == "sticky"
    assert all(url.startswith("file://") for url in asked)
    assert problems == []
    page.context.close()


def test_no_more_pages_of_queries_than_asked_for(site):
    _, folder = site
    assert len(list(folder.glob("query-*.html"))) <= 3


def test_the_command_says_where_to_begin(filled, tmp_path, capsys):
    folder = tmp_path / "out"
    assert main(["report", "--site", str(folder), "--store", str(filled.location), "--site-queries", "1"]) == 0
    assert "index.html" in capsys.readouterr().out
    assert (folder / "index.html").is_file()
    assert main(["report", "--site", str(folder), "--store", str(filled.location)]) == 2  # it is there already
    assert main(["report", "--site", str(tmp_path / "b"), "-o", "x.html"]) == 2
