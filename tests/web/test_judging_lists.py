"""Whole lists side by side in a real browser: flags, the choice, which list is better; all of it blind."""

import re
from importlib.resources import files

import pytest
from judging_store import DOCS, LISTS, fill
from running import Server
from test_every_page import SERIOUS
from test_judging import Rater

from rankscope.data.tasks import TaskPlan, again_name
from rankscope.judging.tasks import create_task
from rankscope.store import StoredDoc, StoredQuery
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
    ada.page.get_by_text("Offline: 2 presses kept in this browser").wait_for()
    assert desk.store.preferences.current(task=str(task.number)) == ()
    ada.context.set_offline(False)
    ada.saved()
    (kept,) = desk.store.preferences.current(task=str(task.number))
    assert kept.preference.value == 0
    assert len(ada.held[1]) == 1
    ada.problems.clear()
    ada.close()


THREE = {**LISTS, "hybrid-3": {"q1": ["d6", "d3", "d1"], "q2": ["d4", "d1"], "q3": ["d2", "d6"]}}


@pytest.fixture(scope="module")
def three(tmp_path_factory):
    store = fill(tmp_path_factory.mktemp("three"), lists=THREE)
    running = Server(Library(store))
    running.store = store
    yield running
    running.close()
    store.close()


def three_task(store, name, *, repeat_share=0.0):
    plan = TaskPlan(mode="lists", k=3, repeat_share=repeat_share)
    return create_task(store, name, plan, runs=list(THREE))


@pytest.mark.parametrize("width", [1440, 390])
def test_three_lists_side_by_side_to_the_end(chromium, three, width):
    axe = files(pytest.importorskip("axe_core_python")).joinpath("axe.min.js").read_text("utf-8")
    task = three_task(three.store, f"three {width}")
    phone = {"has_touch": True, "is_mobile": True} if width == 390 else {}
    ada = Rater(chromium, three, task, viewport={"width": width, "height": 900}, bypass_csp=True, **phone)
    boards = ada.page.locator(".board2")
    boards.nth(2).wait_for()
    boxes = [box.bounding_box() for box in boards.all()]
    if width == 1440:
        assert len({box["y"] for box in boxes}) == 1
        assert all(box["x"] + box["width"] <= width for box in boxes)
    else:
        assert len({box["x"] for box in boxes}) == 1
    assert ada.page.evaluate("document.documentElement.scrollWidth") <= width
    ada.page.evaluate(axe)
    assert ada.page.evaluate(SERIOUS) == []
    for place in range(1, 4):
        ada.page.locator("#place", has_text=f"Query {place} of 3").wait_for()
        for pair in ("list 1 or list 2", "list 1 or list 3", "list 2 or list 3"):
            ada.page.locator(".which [aria-pressed=true]", has_text=pair).wait_for()
            ada.page.locator(".pref label", has_text="slightly").first.click()
        ada.page.get_by_role("button", name="Next query").click()
    ada.page.get_by_role("heading", name="All done. Thank you.").wait_for()
    ada.saved()
    kept = three.store.preferences.current(task=str(task.number))
    assert len(kept) == 9
    assert {each.preference.value for each in kept} == {-1}
    counts = ada.page.locator("#counts").inner_text()
    assert counts == "3 of 3 done · 0 flags"
    place = ada.page.locator("#place").inner_text()
    assert ("with k" in place) == (width == 1440)
    ada.page.get_by_role("button", name="Look again").click()
    boards.nth(2).wait_for()
    ada.page.reload()
    ada.page.get_by_role("heading", name="All done. Thank you.").wait_for()
    assert ada.page.locator("#counts").inner_text() == counts
    ada.close()


@pytest.fixture
def many(tmp_path):
    """Eight queries: only what has a few others behind it comes again."""
    queries = {f"q{i}": StoredQuery(f"need number {i}") for i in range(8)}
    lists = {system: dict.fromkeys(queries, found["q1"]) for system, found in THREE.items()}
    store = fill(tmp_path, queries=queries, lists=lists)
    running = Server(Library(store))
    running.store = store
    yield running
    running.close()
    store.close()


def test_a_query_that_comes_again_starts_blank_and_what_is_chosen_there_holds(chromium, many):
    task = three_task(many.store, "again", repeat_share=0.5)
    ada = Rater(chromium, many, task)
    ada.page.locator(".board2").nth(2).wait_for()
    first = ada.page.locator("#query").inner_text()
    chosen = {}
    for _ in range(10):
        query = ada.page.locator("#query").inner_text()
        if query in chosen:
            break
        ada.press("b", "x", "Enter")
        ada.page.get_by_text("You would choose this one").first.wait_for()
        chosen[query] = ada.page.locator(".cur b").first.inner_text()
        ada.press("1", "1", "1", "Enter")
        ada.page.wait_for_function("(before) => document.getElementById('query').textContent !== before", arg=query)
    assert first in chosen
    place = ada.page.locator("#place").inner_text()
    assert "again" not in place, "who knows that it is a check repeats the answer"
    query = ada.page.locator("#query").inner_text()
    assert query in chosen
    ada.page.locator(".board2").nth(2).wait_for()
    assert ada.page.get_by_text("You would choose this one").count() == 0
    assert ada.page.locator(".li.fl").count() == 0
    ada.saved()
    counts = ada.page.locator("#counts").inner_text()
    before = dict(ada.held[1])
    ada.page.reload()
    ada.page.locator(".board2").nth(2).wait_for()
    assert (ada.page.locator("#place").inner_text(), ada.page.locator("#counts").inner_text()) == (place, counts)
    row = ada.page.locator(".board2 .li", has_text=chosen[query]).first
    row.get_by_role("button", name=re.compile("^Would choose")).click()  # the doc that was chosen the first time
    ada.page.get_by_text("Chosen for this query").wait_for()
    ada.saved()
    assert ada.held[1] == before
    ada.press("u")
    ada.page.get_by_text("You would choose this one").first.wait_for(state="detached")
    ada.saved()
    assert ada.held[1] == before, "what was chosen the first time still holds"
    ada.press("x", "Enter")
    ada.page.locator(".li.fl").first.wait_for()
    ada.saved()
    assert ada.page.locator("#warning").is_hidden()
    assert ada.page.locator("#counts").inner_text() == counts
    ada.close()


def test_a_query_that_was_passed_over_comes_again_only_after_it_was_judged(chromium, many):
    task = three_task(many.store, "passed over", repeat_share=0.5)
    ada = Rater(chromium, many, task)
    seen = []
    for _ in range(8):  # all are passed over: nothing can come a second time
        ada.page.locator(".board2").nth(2).wait_for()
        seen.append(ada.page.locator("#query").inner_text())
        ada.press("Enter")
        ada.page.wait_for_function("(before) => document.getElementById('query').textContent !== before", arg=seen[-1])
    assert len(set(seen)) == 8
    assert ada.page.locator("#query").inner_text() == seen[0]
    for _ in range(12):
        query = ada.page.locator("#query").inner_text()
        if "All done" in query:
            break
        ada.page.locator(".board2").nth(2).wait_for()
        ada.press("1", "1", "1", "Enter")
        ada.page.wait_for_function("(before) => document.getElementById('query').textContent !== before", arg=query)
    ada.saved()
    assert "All done" in ada.page.locator("#query").inner_text()
    assert ada.page.locator("#warning").is_hidden()
    ada.close()


def test_of_three_lists_a_key_leads_to_the_next_two(chromium, three):
    ada = Rater(chromium, three, three_task(three.store, "pairs", repeat_share=0.5))
    ada.page.locator(".board2").nth(2).wait_for()
    assert ada.page.locator("#place").inner_text().endswith("blind, order drawn at random")
    for pair in ("list 1 or list 3", "list 2 or list 3", "list 1 or list 2"):
        ada.press("p")
        ada.page.locator(".which [aria-pressed=true]", has_text=pair).wait_for()
    ada.press("m")
    said = ada.page.locator("#help").inner_text()
    assert "the next two lists" in said
    assert "the lists in another order" in said
    assert "left clearly" not in said
    assert "sides" not in said
    assert "Where either list would do, they are even" in ada.page.locator("#help").text_content()
    assert "Related: on the topic" not in ada.page.content()
    ada.close()


def test_where_a_list_is_empty_the_first_doc_there_is_has_the_focus(chromium, tmp_path):
    """Both orders of the lists are drawn for some query: in half of them the empty list is on the left."""
    store = fill(tmp_path, lists={"lexical-7": {"q1": ["d3", "d1"], "q2": ["d4"], "q3": ["d6"]}, "dense-9": {}})
    running = Server(Library(store))
    running.store = store
    dense, lexical = store.runs.find("dense-9"), store.runs.find("lexical-7")
    task = create_task(store, "empty", TaskPlan(mode="lists", k=3, repeat_share=0.0), runs=[lexical, dense])
    ada = Rater(chromium, running, task)
    for place in range(1, 4):
        ada.page.locator("#place", has_text=f"Query {place} of 3").wait_for()
        assert ada.page.get_by_text("Nothing was found.").count() == 1
        assert ada.page.locator(".li.cur").count() == 1
        ada.press("h", "l", "x")
        ada.page.get_by_label("Note").fill("xb12")
        ada.press("Enter", "b")
        ada.page.get_by_text("You would choose this one").wait_for()
        ada.press("3", "Enter")
    ada.saved()
    docs, choices = ada.held
    assert ({note for _, _, note, _ in docs.values()}, len(docs), len(choices)) == ({"xb12"}, 3, 3)
    assert {each.preference.value for each in store.preferences.current(task=str(task.number))} == {0}
    ada.close()
    running.close()
    store.close()


def test_no_keys_are_named_where_there_are_none(chromium, three):
    ada = Rater(
        chromium, three, three_task(three.store, "fingers"), viewport={"width": 390, "height": 844}, has_touch=True,
        is_mobile=True,
    )  # fmt: skip
    ada.page.locator(".board2").nth(2).wait_for()
    assert ada.page.locator("kbd:visible").count() == 0
    ada.page.get_by_role("button", name=re.compile("^Flag ")).first.tap()
    ada.page.get_by_label("Note").wait_for()
    assert ada.page.locator("kbd:visible").count() == 0
    ada.page.get_by_role("button", name="Cancel").tap()
    ada.page.get_by_role("button", name="Help").tap()
    ada.page.get_by_role("heading", name="Help").wait_for()
    assert ada.page.locator("kbd:visible").count() == 0
    ada.close()


def test_lists_that_have_not_come_cannot_be_judged(chromium, desk):
    task = lists_task(desk.store, "not come")
    ada = Rater(chromium, desk, task, route=("**/judge/query.json*", lambda route: route.abort()))
    ada.page.get_by_text("Offline: this query comes with the connection.").wait_for()
    for key in ("1", "5", "?", "x", "b"):
        ada.page.keyboard.press(key)
        ada.page.locator("#toast", has_text="not here yet").wait_for()
    assert ada.page.locator("dialog[open]").count() == 0
    assert not ada.page.locator("#bar").is_visible()
    ada.saved()
    assert desk.store.preferences.list(task=str(task.number)) == ()
    assert ada.held == ({}, {})
    ada.close()


def test_undo_of_lists_takes_back_what_was_said_in_this_tab_only(chromium, desk):
    task = lists_task(desk.store, "undo in two tabs")
    ada = Rater(chromium, desk, task)
    ada.page.locator(".board2").nth(1).wait_for()
    other = ada.open()
    other.locator(".board2").nth(1).wait_for()
    ada.page.keyboard.press("1")
    ada.saved()
    other.locator("input[value='-2']:checked").wait_for(state="attached")
    other.keyboard.press("5")
    ada.page.locator("input[value='2']:checked").wait_for(state="attached")
    ada.page.keyboard.press("u")
    ada.page.locator("#warning", has_text="judged again in another window").wait_for()
    ada.saved()
    (kept,) = desk.store.preferences.current(task=str(task.number))
    assert kept.preference.value == 2
    assert ada.page.locator("#toast").inner_text() == "Not undone"
    ada.page.keyboard.press("3")
    ada.saved()
    assert not ada.page.locator("#warning").is_visible()  # which was about the press before
    ada.close()


def test_of_a_flagged_doc_that_is_chosen_only_the_title_is_struck_through(chromium, desk):
    ada = Rater(chromium, desk, lists_task(desk.store, "flagged and chosen"))
    ada.page.locator(".board2").nth(1).wait_for()
    ada.press("x", "Enter", "b")
    ada.page.get_by_text("You would choose this one").first.wait_for()
    ada.saved()  # nothing is drawn again after this
    lines = (
        ada.page.locator(".li.fl")
        .first.locator("b")
        .evaluate_all("all => all.map(each => getComputedStyle(each).textDecorationLine)")
    )
    assert lines == ["line-through", "none"]
    ada.close()


def test_undo_of_lists_after_a_reload_of_the_same_tab(chromium, desk):
    task = lists_task(desk.store, "undo after a reload")
    ada = Rater(chromium, desk, task)
    ada.page.locator(".board2").nth(1).wait_for()
    ada.page.keyboard.press("b")
    ada.page.keyboard.press("1")
    ada.page.keyboard.press("2")
    ada.saved()
    ada.page.reload()
    ada.page.locator(".board2").nth(1).wait_for()
    for value in ("-2", None):
        ada.page.keyboard.press("u")
        ada.page.locator(f"input[value='{value}']:checked" if value else ".pref:not(:has(:checked))").wait_for(
            state="attached"
        )
    ada.page.get_by_text("You would choose this one").first.wait_for()
    ada.page.keyboard.press("u")
    ada.page.get_by_text("You would choose this one").first.wait_for(state="detached")
    ada.saved()
    assert not ada.held[1]
    ada.close()


def test_a_query_comes_back_with_its_sides_swapped(chromium, tmp_path):
    """Five queries and a share of 5%: one of them comes again, at the end, and is compared with what was said first."""
    names = [f"n{i}" for i in range(5)]
    queries = {name: StoredQuery(f"query {name}") for name in names}
    lists = {"old-1": {name: ["d1", "d2"] for name in names}, "new-2": {name: ["d3", "d6"] for name in names}}
    with fill(tmp_path, queries=queries, lists=lists) as store:
        task = create_task(store, "swapped", TaskPlan(mode="lists", k=2, repeat_share=0.05), runs=list(lists))
        server = Server(Library(store))
        ada = Rater(chromium, server, task)
        first = {}
        try:
            for place in range(1, 7):
                ada.page.locator("#place", has_text=f"Query {place} of 6").wait_for()
                left = ada.page.locator(".board2").first.locator(".li b").all_inner_texts()
                query = ada.page.locator("#query").inner_text()
                assert (query in first) == (place == 6)
                assert place < 6 or first[query] != left
                assert "swapped" not in ada.page.locator("#place").inner_text()
                first.setdefault(query, left)
                ada.page.keyboard.press("1")
                ada.page.keyboard.press("Enter")
            ada.page.get_by_role("heading", name="All done. Thank you.").wait_for()
            ada.saved()
            (again,) = store.preferences.current(task=again_name(str(task.number)))
            assert (again.preference.value, len(store.preferences.current(task=str(task.number)))) == (-2, 5)
            ada.press("m")
            ada.page.get_by_text("at least one comes back later with the sides swapped").wait_for()
            said = server.get(f"/flags?task={task.number}").data.decode()
            assert "No lists were judged again" not in said
            ada.close()
        finally:
            server.close()


@pytest.mark.parametrize("width", [1440, 390])
def test_a_doc_of_a_list_can_be_read_to_its_end(chromium, tmp_path, width):
    """d1 is in both lists, and longer than what they show; d3 is not."""
    text = "".join(f"Sentence {i} of a long doc. " for i in range(80)) + "The last one."
    fields = {f"field {i}": f"value {i}" for i in range(6)}
    long = {"d1": StoredDoc("Long", text, fields), "d2": StoredDoc("Longer", text), "d3": StoredDoc("Short", "A line.")}
    phone = {"has_touch": True, "is_mobile": True} if width == 390 else {}
    lists = {system: {"q1": found["q1"]} for system, found in LISTS.items()}
    with fill(tmp_path, docs={**DOCS, **long}, lists=lists) as store:
        server = Server(Library(store))
        ada = Rater(
            chromium, server, lists_task(store, "read"), viewport={"width": width, "height": 844}, bypass_csp=True,
            **phone,
        )  # fmt: skip
        try:
            ada.page.locator(".board2").nth(1).wait_for()
            row = ada.page.locator(".li", has=ada.page.get_by_text("Long", exact=True)).first
            assert ada.page.get_by_role("button", name="More of Long", exact=True).count() == 2
            assert ada.page.get_by_role("button", name="More of Short").count() == 0
            assert "The last one." not in row.inner_text()
            more, less = (row.get_by_role("button", name=f"{what} of Long", exact=True) for what in ("More", "Less"))
            more.tap() if phone else more.click()
            less.wait_for()
            assert text in row.inner_text()
            assert "field 5: value 5" in row.inner_text()
            assert ada.page.locator(".whole").count() == 1
            row.get_by_role("button", name=re.compile("^Would choose")).click()  # what is open stays open
            row.get_by_text("You would choose this one").wait_for()
            assert text in row.inner_text()
            ada.page.evaluate(files(pytest.importorskip("axe_core_python")).joinpath("axe.min.js").read_text("utf-8"))
            assert ada.page.evaluate(SERIOUS) == []
            assert ada.page.evaluate("document.documentElement.scrollWidth") <= width
            less.tap() if phone else less.click()
            more.wait_for()
            assert ada.page.locator(".whole").count() == 0
            assert row.evaluate("(row) => row.getBoundingClientRect().top") > 0
            if not phone:
                ada.press("e")
                less.wait_for()
                assert text in row.inner_text()
                less.focus()
                ada.press("e")
                more.wait_for()
                assert "More of Long" in ada.page.evaluate("document.activeElement.ariaLabel")
                ada.press("Enter")  # presses what has the focus, and is not the next query
                less.wait_for()
                ada.press("j", "j")  # to the last doc of the list, below the one that is open
                box, bar = (ada.page.locator(one).bounding_box() for one in (".li.cur", "#bar"))
                assert box["y"] + box["height"] <= bar["y"]
                ada.press("m")
                ada.page.get_by_text("more of a doc, or less").wait_for()
            ada.close()
        finally:
            server.close()
