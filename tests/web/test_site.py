"""The pages as files: they open without a server, their links lead to files, and nothing is loaded from elsewhere."""

import re

import pytest

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
