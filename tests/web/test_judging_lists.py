"""Whole lists side by side in a real browser: flags, the choice, which list is better; all of it blind."""

import re
from importlib.resources import files

import pytest
from judging_store import LISTS, fill
from running import Server
from test_every_page import SERIOUS
from test_judging import Rater

from rankscope.data.tasks import TaskPlan
from rankscope.judging.tasks import create_task
from rankscope.web.library import Library


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    store = fill(tmp_path_factory.mktemp("lists"))
    running = Server(Library(store))
    running.store = store
    yield running
    running.close()
    store.close()


def lists_task(store, name):
    plan = TaskPlan(mode="lists", k=3, overlap=2, repeat_share=0.0)
    return create_task(store, name, plan, runs=list(LISTS))


def test_two_lists_by_keys_to_the_end(chromium, desk):
    task = lists_task(desk.store, "by keys")
    ada = Rater(chromium, desk, task)
    ada.page.wait_for_url("**/judge/lists")
    ada.page.locator(".board2").nth(1).wait_for()
    n = int(re.search(r"of (\d+)", ada.page.locator("#place").inner_text())[1])
    shown = ada.page.locator("main").inner_text() + ada.page.content()
    assert not [system for system in LISTS if system in shown]  # neither system is named
    query = ada.page.locator("#query").inner_text()
    lists = [board.locator(".li b").all_inner_texts() for board in ada.page.locator(".board2").all()]
    ada.press("j", "x")
    ada.page.get_by_label("Note").fill("too far")
    ada.press("Enter")
    ada.page.get_by_text("too far").first.wait_for()
    ada.press("l", "b", "1")
    ada.page.get_by_text("You would choose this one").first.wait_for()
    ada.page.locator("#saved", has_text=re.compile("^Saved$")).wait_for()
    (kept,) = desk.store.preferences.current(task=str(task.number))
    assert (kept.preference.value, kept.preference.rater) == (-2, ada.rater.id)
    assert {kept.preference.left, kept.preference.right} == set(LISTS)
    docs, choices = ada.held
    flagged = [desk.store.texts.docs("doctors", [doc])[doc].title or doc for _, doc in docs]
    assert flagged == [lists[0][1]]
    chosen = [desk.store.texts.docs("doctors", [doc])[doc].title or doc for doc in choices.values()]
    assert chosen == [lists[1][1]]
    ada.press("u")  # the preference
    ada.page.locator("#saved", has_text=re.compile("^Saved$")).wait_for()
    assert desk.store.preferences.current(task=str(task.number)) == ()
    ada.press("2", "Enter")
    for _ in range(n - 1):
        ada.page.locator("#query:not(:empty)").wait_for()
        ada.page.wait_for_function("(before) => document.getElementById('query').textContent !== before", arg=query)
        query = ada.page.locator("#query").inner_text()
        ada.press("?", "Enter")
    ada.page.get_by_role("heading", name="All done. Thank you.").wait_for()
    ada.saved()
    kept = desk.store.preferences.current(task=str(task.number))
    assert sorted(each.preference.status for each in kept) == ["cannot_tell"] * (n - 1) + ["ok"]
    ada.page.reload()
    ada.page.get_by_role("heading", name="All done. Thank you.").wait_for()
    ada.close()


@pytest.mark.parametrize(("width", "scheme"), [(1440, "light"), (390, "dark")])
def test_lists_by_touch_offline_and_for_axe(chromium, desk, width, scheme):
    axe = files(pytest.importorskip("axe_core_python")).joinpath("axe.min.js").read_text("utf-8")
    task = lists_task(desk.store, f"touch {width}")
    ada = Rater(
        chromium,
        desk,
        task,
        viewport={"width": width, "height": 844},
        has_touch=True,
        color_scheme=scheme,
        bypass_csp=True,
    )
    ada.page.locator(".board2").nth(1).wait_for()
    ada.page.evaluate(axe)
    assert ada.page.evaluate(SERIOUS) == []
    assert ada.page.evaluate("document.documentElement.scrollWidth") <= width
    ada.context.set_offline(True)
    ada.page.get_by_text("no difference").tap()
    ada.page.get_by_role("button", name=re.compile("^Would choose")).first.tap()
    ada.page.get_by_text("Offline: 2 answers kept in this browser").wait_for()
    assert desk.store.preferences.current(task=str(task.number)) == ()
    ada.context.set_offline(False)
    ada.saved()
    (kept,) = desk.store.preferences.current(task=str(task.number))
    assert kept.preference.value == 0
    assert len(ada.held[1]) == 1
    ada.problems.clear()
    ada.close()
