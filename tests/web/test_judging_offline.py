"""The screen of a rater without a connection: it opens again, shows what was judged, and sends it later."""

import pytest
from judging_store import add_task, fill
from running import Server
from test_judging import PAIRS, Rater
from test_judging_lists import lists_task

from rankscope.web.library import Library

CONTROLLED = "() => navigator.serviceWorker && navigator.serviceWorker.controller !== null"
KEPT = """async (rater) => {
  const pages = (await caches.keys()).filter((name) => name.startsWith("rankscope-judge-"));
  const files = pages.length ? (await (await caches.open(pages[0])).keys()).map(({ url }) => new URL(url).pathname) : [];
  const screen = await (await caches.open("rankscope-judged")).match(`/judge/kept/${document.body.dataset.rater}`);
  return files.includes("/static/judge-core.js") && files.some((path) => path.startsWith("/judge/")) && Boolean(screen);
}"""

LEFT = """async () => {
  const caches_ = await Promise.all((await caches.keys()).map((name) => caches.open(name)));
  const found = (await Promise.all(caches_.map((cache) => cache.keys()))).flat();
  return found.map(({ url }) => new URL(url).pathname).filter((path) => !path.startsWith("/static/"));
}"""


@pytest.fixture
def desk(tmp_path):
    """A server that a test may stop: for the browser this is what no connection is."""
    store = fill(tmp_path)
    running = [Server(Library(store))]
    running[0].store, running[0].running = store, running
    yield running[0]
    running[-1].close()
    store.close()


def ready(rater):
    """Wait until the browser has all that it needs without a connection."""
    rater.page.wait_for_function(CONTROLLED)
    rater.page.wait_for_load_state("networkidle")
    rater.page.wait_for_function(KEPT)
    rater.page.wait_for_timeout(500)  # answers are kept a moment after they are given


def test_a_reload_without_a_connection_shows_the_screen_and_loses_nothing(chromium, desk):
    task = add_task(desk.store, "reload", PAIRS)
    ada = Rater(chromium, desk, task)
    ada.page.locator("#title:not(:empty)").wait_for()
    ada.press("3")
    ada.saved()
    ready(ada)
    desk.close()
    ada.page.reload()
    ada.page.locator("#done", has_text="1").wait_for()  # also what the server had is known
    ada.page.locator("#title:not(:empty)").wait_for()
    ada.press("2", "1")
    ada.page.get_by_text("Offline: 2 presses kept in this browser").wait_for()
    ada.page.reload()
    ada.page.locator("#done", has_text="3").wait_for()
    assert len(ada.held[0]) == 1
    desk.running.append(Server(Library(desk.store), port=desk.port))
    ada.saved()
    assert sorted(value[0] for value in ada.held[0].values()) == [1.0, 2.0, 3.0]
    assert ada.page.locator("#warning").is_hidden()
    ada.press("0")
    ada.page.get_by_role("heading", name="All done. Thank you.").wait_for()
    ada.saved()
    assert len(desk.store.judgments.list(task.collection, task=str(task.number))) == 4
    ada.problems.clear()
    ada.close()


def test_lists_without_a_connection(chromium, desk):
    task = lists_task(desk.store, "lists")
    ada = Rater(chromium, desk, task)
    ada.page.locator(".board2").nth(1).wait_for()
    ada.press("1", "Enter")
    ada.saved()
    ready(ada)
    desk.close()
    ada.page.reload()
    ada.page.locator("#counts", has_text="1 of").wait_for()
    ada.page.locator(".board2").nth(1).wait_for()
    ada.press("b", "5", "Enter")
    ada.page.get_by_text("Offline: 2 presses kept in this browser").wait_for()
    desk.running.append(Server(Library(desk.store), port=desk.port))
    ada.saved()
    assert sorted(each.preference.value for each in desk.store.preferences.current(task=str(task.number))) == [-2, 2]
    ada.problems.clear()
    ada.close()


def test_who_comes_next_in_the_same_browser_finds_nothing_of_who_was_there(chromium, desk):
    task, other = add_task(desk.store, "first", PAIRS), add_task(desk.store, "second", [("q2", "d4")])
    ada = Rater(chromium, desk, task)
    ada.page.locator("#title:not(:empty)").wait_for()
    ready(ada)
    _, token = desk.store.raters.invite(other, name="Bo")
    ada.page.goto(f"/judge/start?invite={token}")
    ada.page.get_by_text("د. سارة").first.wait_for()
    ready(ada)
    screens = "async () => (await (await caches.open('rankscope-judged')).keys()).length"
    assert ada.page.evaluate(screens) == 1
    desk.close()
    ada.page.reload()
    ada.page.get_by_text("د. سارة").first.wait_for()
    ada.problems.clear()
    ada.close()


def test_a_revoked_rater_leaves_nothing_in_the_browser(chromium, desk):
    ada = Rater(chromium, desk, add_task(desk.store, "ended", PAIRS))
    ada.page.locator("#title:not(:empty)").wait_for()
    ready(ada)
    desk.store.raters.revoke(ada.rater.number)
    ada.page.reload()
    ada.page.get_by_role("heading", name="Your invitation was revoked.").wait_for()
    assert ada.page.evaluate(LEFT) == []
    ada.problems.clear()
    ada.close()
