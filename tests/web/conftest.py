"""Lets the tests of this folder use a filled store, a server on it, and a real browser."""

import shutil
import sys
from pathlib import Path

import pytest

pytest.importorskip("litestar", reason="pip install 'rankscope[web]'")
sys.path += [str(Path(__file__).parent), str(Path(__file__).parents[1])]

from running import TOKEN, Server
from sample import fill_store

from rankscope.web.library import Library


@pytest.fixture(scope="session")
def filled(tmp_path_factory):
    """A store with four weeks of three systems."""
    store = fill_store(tmp_path_factory.mktemp("store"))
    yield store
    store.close()


@pytest.fixture(scope="session")
def library(filled):
    return Library(filled)


@pytest.fixture(scope="session")
def server(library):
    running = Server(library)
    yield running
    running.close()


@pytest.fixture(scope="session")
def chromium():
    """The browser of the machine, driven by Playwright."""
    playwright = pytest.importorskip("playwright.sync_api")
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if path is None:
        pytest.skip("there is no Chromium here: apt-get install chromium")
    flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=flags)
        yield browser
        browser.close()


@pytest.fixture
def page(chromium, server):
    """A new page in a context of its own, signed in; what goes wrong on it fails the test."""
    context = chromium.new_context(viewport={"width": 1440, "height": 1000}, base_url=server.url)
    opened = context.new_page()
    problems = []
    opened.on("pageerror", lambda error: problems.append(str(error)))
    opened.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    opened.goto(f"/?token={TOKEN}")
    yield opened
    context.close()
    assert problems == []
