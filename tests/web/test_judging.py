"""Judging in a real browser: by keys, by touch, offline, in two tabs, after a restart, with hostile texts."""

import re
from importlib.resources import files

import pytest
from judging_store import COLLECTION, DOCS, QUERIES, add_task, fill, held
from running import TOKEN, Server
from test_every_page import SERIOUS

from rankscope.data.tasks import TaskPlan
from rankscope.judging.guidelines import DEFAULT_GUIDELINE
from rankscope.judging.tasks import change_guideline, create_task
from rankscope.store import StoredDoc, StoredQuery
from rankscope.web.library import Library

PAIRS = [("q1", "d1"), ("q1", "d2"), ("q1", "d3"), ("q3", "d6")]
ATTACK = '"><img src=x onerror=window.attacked=1><script>window.attacked=1</script>\u202e{{7*7}}'


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    """A server on a small store, shared by the tests; each makes a task of its own."""
    store = fill(tmp_path_factory.mktemp("judging"))
    running = Server(Library(store))
    running.store = store
    yield running
    running.close()
    store.close()


class Rater:
    """Somebody in a browser of their own, who came by an invitation."""

    def __init__(self, chromium, server, task, *, name="Ada", token=None, route=None, **context):
        self.store, self.task = server.library.store, task
        self.rater, self.token = (None, token) if token else self.store.raters.invite(task, name=name)
        self.context = chromium.new_context(
            base_url=server.url, **{"viewport": {"width": 1440, "height": 900}, **context}
        )
        if route:
            self.context.route(*route)
        self.problems = []
        self.page = self.open()

    def open(self):
        page = self.context.new_page()
        page.set_default_timeout(20_000)
        page.on("pageerror", lambda error: self.problems.append(str(error)))
        page.goto(f"/judge/start?invite={self.token}")
        return page

    def press(self, *keys):
        for key in keys:
            if key.isdigit():  # a doc is graded when it is there
                self.page.locator("#doc[aria-busy], #doc #text:empty").first.wait_for(state="detached")
            self.page.keyboard.press(key)
            if key == "Escape":
                self.page.locator("dialog[open]").wait_for(state="detached")

    def title(self, words):
        self.page.locator("#title", has_text=words).wait_for()

    def saved(self, words="Saved"):
        self.page.locator("#saved", has_text=re.compile(f"^{words}$")).wait_for()

    @property
    def held(self):
        return held(self.store, self.task, self.rater)

    def close(self):
        self.context.close()
        assert self.problems == []


@pytest.fixture
def invite(chromium, desk):
    """Returns a function that lets somebody judge; what goes wrong on their page fails the test."""
    raters = []

    def coming(task, **options):
        raters.append(Rater(chromium, desk, task, **options))
        return raters[-1]

    yield coming
    for rater in raters:
        rater.close()


def test_by_keys_to_the_end(desk, invite):
    task = add_task(desk.store, "keys", PAIRS)
    ada = invite(task, name="")
    ada.page.get_by_label("Your name, or initials").fill("Ada")
    ada.page.get_by_role("button", name="Start").click()
    seen = {}
    for key, grade in (("3", 3.0), ("1", 1.0), ("0", 0.0)):
        ada.page.locator("#doc:not([aria-busy]) #title:not(:empty)").wait_for()
        title = ada.page.locator("#title").inner_text()
        query = ada.page.locator("#query").inner_text()
        ids = [(q, d) for q, d in PAIRS if DOCS[d].title == title and QUERIES[q].text == query]
        seen[ids[0]] = grade
        if len(seen) == 1:
            assert ada.page.locator("#text mark").count() + ada.page.locator("#title mark").count() >= 1
            ada.press("b", "x")
            ada.page.get_by_role("button", name="only shares a word").click()
            ada.page.keyboard.press("Enter")
            ada.page.get_by_text("Flagged: only shares a word").wait_for()
            first = ids[0]
        ada.press(key)
    ada.press("?")
    ada.page.get_by_role("button", name="The doc is unclear").wait_for()
    ada.press("d")
    ada.page.get_by_role("heading", name="All done. Thank you.").wait_for()
    ada.saved()
    docs, choices = ada.held
    assert len(docs) == 4
    assert {pair: docs[pair][0] for pair in seen} == seen
    assert docs[first][1:] == (True, "only shares a word", "ok")
    assert choices == {first[0]: first[1]}
    assert [value[3] for value in docs.values()].count("cannot_tell") == 1
    ada.press("u")  # takes the last answer back
    ada.page.locator("#done", has_text="3").wait_for()
    ada.saved()
    assert len(ada.held[0]) == 3
    ada.press("u", "u", "u")  # three grades
    ada.page.locator("#done", has_text="0").wait_for()
    ada.press("u", "u")  # the flag and the choice
    ada.saved()
    assert ada.held == ({}, {})
    ada.press("m")
    ada.page.get_by_role("heading", name="Keys").wait_for()
    ada.press("Escape", "/")
    ada.page.keyboard.type("knee")
    ada.press("Enter")
    ada.title("Dr. B., knees")
    raters = desk.store.raters.list(task)
    assert [rater.name for rater in raters] == ["Ada"]


def test_docs_that_were_passed_over_come_a_second_time_only_after_the_first(desk, invite):
    """With a half of ten docs twice there are fifteen answers; nothing can come again while nothing is judged."""
    pairs = [(query, f"d{i}") for query in ("q1", "q3") for i in range(1, 6)]
    ada = invite(add_task(desk.store, "passed over", pairs, repeat_share=0.5))
    ada.page.locator("#n", has_text="15").wait_for()
    seen = []
    for _ in range(12):
        ada.page.locator("#doc:not([aria-busy]) #title:not(:empty)").wait_for()
        seen.append((ada.page.locator("#query").inner_text(), ada.page.locator("#title").inner_text()))
        ada.press("j")
    assert len(set(seen)) == 10
    ada.page.get_by_text("This is the last doc").wait_for()
    for n_done in range(1, 16):
        ada.press("2")
        ada.page.locator("#done", has_text=re.compile(f"^{n_done}$")).wait_for()
    ada.page.get_by_role("heading", name="All done. Thank you.").wait_for()
    ada.saved()
    assert ada.page.locator("#warning").is_hidden()
    assert len(ada.held[0]) == 10


def test_offline_and_back_and_reloaded_in_the_middle(desk, invite):
    task = add_task(desk.store, "offline", PAIRS)
    ada = invite(task)
    ada.page.locator("#title:not(:empty)").wait_for()
    ada.press("2")
    ada.saved()
    ada.page.wait_for_load_state("networkidle")  # what comes next is loaded before it is needed
    ada.context.set_offline(True)
    ada.press("1", "1")
    ada.page.get_by_text("Offline: 2 presses kept in this browser").wait_for()
    assert len(ada.held[0]) == 1
    # the connection is back, but saving does not work yet: a reload keeps what was not sent
    ada.context.route("**/judge/save.json", lambda route: route.abort())
    ada.context.set_offline(False)
    ada.page.reload()
    ada.page.locator("#done", has_text="3").wait_for()
    ada.page.get_by_text("2 presses kept in this browser").wait_for()
    ada.page.locator("#title:not(:empty)").wait_for()
    ada.press("u")  # takes back what waits in the browser, too
    ada.page.locator("#done", has_text="2").wait_for()
    ada.page.locator("#title:not(:empty)").wait_for()
    ada.press("1")
    ada.page.get_by_text("4 presses kept in this browser").wait_for()
    ada.context.unroute("**/judge/save.json")
    ada.press("0")
    ada.page.get_by_role("heading", name="All done. Thank you.").wait_for()
    ada.saved()
    assert sorted(value[0] for value in ada.held[0].values()) == [0.0, 1.0, 1.0, 2.0]
    ada.problems.clear()  # the browser says that it was offline


def test_a_restart_of_the_server_loses_nothing(chromium, tmp_path):
    store = fill(tmp_path)
    task = add_task(store, "restart", PAIRS)
    server = Server(Library(store))
    ada = Rater(chromium, server, task)
    try:
        ada.page.locator("#title:not(:empty)").wait_for()
        ada.press("3")
        ada.saved()
        ada.page.wait_for_load_state("networkidle")
        server.close()
        ada.press("2", "1")
        ada.page.get_by_text("Offline: 2 presses kept in this browser").wait_for()
        server = Server(Library(store), port=server.port)
        ada.press("0")
        ada.page.get_by_role("heading", name="All done. Thank you.").wait_for()
        ada.saved()
        assert sorted(value[0] for value in ada.held[0].values()) == [0.0, 1.0, 2.0, 3.0]
        judgments = store.judgments.list(COLLECTION, task=str(task.number))
        assert len(judgments) == 4  # nothing came twice
        ada.problems.clear()  # the browser says that the server was gone
        ada.close()
    finally:
        server.close()
        store.close()


def test_two_raters_at_once_do_not_overwrite_one_another(desk, invite):
    task = add_task(desk.store, "two", PAIRS)
    ada, bo = invite(task), invite(task, name="Bo")
    for rater in (ada, bo):
        rater.page.locator("#title:not(:empty)").wait_for()
    for _ in PAIRS:
        ada.press("3")
        bo.press("1")
    for rater, grade in ((ada, 3.0), (bo, 1.0)):
        rater.page.get_by_role("heading", name="All done. Thank you.").wait_for()
        rater.saved()
        docs, _ = rater.held
        assert {pair: value[0] for pair, value in docs.items()} == dict.fromkeys(PAIRS, grade)


def test_two_tabs_and_two_browsers_of_one_rater(desk, invite):
    task = add_task(desk.store, "tabs", PAIRS[:2])
    ada = invite(task)
    ada.page.locator("#title:not(:empty)").wait_for()
    first = ada.page.locator("#title").inner_text()
    other = ada.open()
    other.locator("#title", has_text=first).wait_for()
    elsewhere = invite(task, token=ada.token)
    elsewhere.title(first)
    ada.press("3")
    ada.saved()
    # the other tab of this browser hears of it
    other.locator("#done", has_text="1").wait_for()
    # the other browser does not, and what it sends is not taken for what is stored
    elsewhere.press("0")
    elsewhere.page.get_by_text("judged in another window meanwhile").wait_for()
    elsewhere.page.get_by_text("that is what is kept: Exactly").wait_for()
    assert sorted(value[0] for value in ada.held[0].values()) == [3.0]
    elsewhere.press("k", "0")  # now knowing what holds
    elsewhere.saved()
    assert sorted(value[0] for value in ada.held[0].values()) == [0.0]


def test_undo_takes_back_what_was_said_in_this_tab_only(desk, invite):
    task = add_task(desk.store, "undo in two tabs", PAIRS[:2])
    ada = invite(task)
    ada.page.locator("#title:not(:empty)").wait_for()
    first = ada.page.locator("#title").inner_text()
    other = ada.open()
    other.locator("#title", has_text=first).wait_for()
    ada.press("b", "2", "k", "3")  # the same doc twice
    ada.saved()
    other.locator("#done", has_text="1").wait_for()
    other.keyboard.press("0")  # the other tab, which knows of it, says otherwise
    other.locator("#saved", has_text=re.compile("^Saved$")).wait_for()
    ada.press("k")
    ada.page.locator(".gb[data-grade='0'][aria-pressed=true]").wait_for()  # heard of it
    ada.press("u")
    ada.page.locator("#warning", has_text="judged again in another window").wait_for()
    assert ada.page.locator("#toast").inner_text() == "Not undone"
    ada.press("u")
    ada.saved()
    assert [value[0] for value in ada.held[0].values()] == [0.0]
    ada.press("u")  # the choice is this tab's own
    ada.saved()
    assert ada.page.locator("#toast").inner_text() == "Undone"
    assert not ada.page.locator("#warning").is_visible()  # which was about the press before
    assert ada.held[1] == {}
    other.keyboard.press("u")  # what holds is what the other tab said: it brings the grade before back
    other.locator("#saved", has_text=re.compile("^Saved$")).wait_for()
    other.locator("#toast", has_text="Undone").wait_for()
    ada.page.locator(".gb[data-grade='3'][aria-pressed=true]").wait_for()
    assert [value[0] for value in ada.held[0].values()] == [3.0]


def test_undo_goes_back_step_by_step_on_one_doc(desk, invite):
    task = add_task(desk.store, "undo one doc", PAIRS[:2])
    ada = invite(task)
    ada.page.locator("#title:not(:empty)").wait_for()
    ada.press("1", "k", "2", "k", "3", "u")
    ada.saved()
    assert [value[0] for value in ada.held[0].values()] == [2.0]
    ada.press("u")
    ada.saved()
    assert [value[0] for value in ada.held[0].values()] == [1.0]
    ada.press("u")
    ada.saved()
    assert ada.held[0] == {}


def test_undo_after_a_reload_of_the_same_tab(desk, invite):
    task = add_task(desk.store, "undo after a reload", PAIRS)
    ada = invite(task)
    ada.page.locator("#title:not(:empty)").wait_for()
    ada.press("b", "2", "1", "0")
    ada.saved()
    ada.page.reload()
    ada.page.locator("#done", has_text="3").wait_for()
    ada.page.locator("#title:not(:empty)").wait_for()
    ada.press("u", "u", "u")
    ada.page.locator("#done", has_text="0").wait_for()
    ada.press("u")
    ada.saved()
    ada.page.locator("#to-choose[aria-pressed=false]").wait_for()
    assert ada.held == ({}, {})
    ada.press("u")
    ada.page.locator("#toast", has_text="There is nothing to undo").wait_for()


@pytest.mark.parametrize("missing", ["**/judge/query.json*", "**/judge/query.json?query=q3"])
def test_a_doc_that_has_not_come_cannot_be_judged(desk, invite, missing):
    """Neither where no doc has come, nor where one stood on the screen before."""
    task = add_task(desk.store, f"not come {missing[-1]}", PAIRS)
    rater, token = desk.store.raters.invite(task, name="Ada")
    ada = invite(task, token=token, route=(missing, lambda route: route.abort()))
    n_before = 3 if "q3" in missing else 0  # so many docs of q1 come first
    ada.page.locator("#title:not(:empty)").wait_for()
    ada.press(*"222"[:n_before])
    ada.title("Offline: this doc comes with the connection.")
    for key in ("1", "2", "3", "b", "x", "?"):
        ada.page.keyboard.press(key)
        ada.page.locator("#toast", has_text="not here yet").wait_for()
    if n_before:
        for name in ("flag", "choose", "unclear"):
            ada.page.locator(f"#to-{name}").click()
        ada.page.locator(".gb").first.click()
    assert ada.page.locator("dialog[open]").count() == 0
    assert ada.page.locator("#done").inner_text() == str(n_before)
    ada.saved()
    assert len(held(desk.store, task)[0]) == n_before
    assert held(desk.store, task)[1] == {}
    ada.context.unroute(missing)
    ada.page.locator("#text:not(:empty)").wait_for()  # it comes by itself
    ada.press("1")
    ada.saved()
    assert [value[0] for value in held(desk.store, task, rater)[0].values()] == [2.0] * n_before + [1.0]


def test_a_revoked_invitation_and_a_stopped_task(desk, invite):
    task = add_task(desk.store, "revoked", PAIRS)
    ada = invite(task)
    ada.page.locator("#title:not(:empty)").wait_for()
    ada.press("2")
    ada.saved()
    desk.store.tasks.stop(task)
    ada.press("3")
    ada.page.locator("#warning", has_text="stopped").wait_for()
    ada.page.locator("#saved", has_text="Not saved: 1 press kept in this browser").wait_for()
    assert len(ada.held[0]) == 1
    ada.page.reload()
    ada.page.locator("#saved", has_text="Not saved: 1 press kept in this browser").wait_for()
    desk.store.tasks.reopen(task)
    ada.saved()  # the page tries again by itself
    ada.page.locator("#warning").wait_for(state="hidden")
    assert sorted(value[0] for value in ada.held[0].values()) == [2.0, 3.0]  # what was pressed meanwhile is not lost
    desk.store.raters.revoke(ada.rater.number)
    ada.press("3")
    ada.page.locator("#warning", has_text="revoked").wait_for()
    ada.page.reload()
    ada.page.get_by_text(re.compile("revoked")).first.wait_for()
    assert ada.page.locator("#doc").count() == 0
    assert len(ada.held[0]) == 2
    ada.problems.clear()  # refused requests are named in the console


def test_a_grade_follows_the_guideline_that_the_page_showed(desk, invite):
    task = add_task(desk.store, "words change", PAIRS)
    ada = invite(task)
    ada.page.locator("#title:not(:empty)").wait_for()
    change_guideline(desk.store, task, f"Look twice.\n\n{desk.store.tasks.guideline_text(task)}")
    assert ada.page.locator("#changed").is_hidden()
    ada.press("2")
    ada.saved()
    ada.page.locator("#changed", has_text="The guideline has changed").wait_for()
    ada.press("1")
    ada.saved()
    ada.page.get_by_role("button", name="Show the new one").click()
    ada.page.locator("#help[open]", has_text="Look twice.").wait_for()
    ada.press("Escape")
    ada.page.locator("#done", has_text="2").wait_for()
    ada.page.locator("#title:not(:empty)").wait_for()
    ada.press("1")
    ada.saved()
    assert ada.page.locator("#changed").is_hidden()
    now = desk.store.tasks.get(task.number).guideline
    said = desk.store.judgments.list(COLLECTION, task=str(task.number))
    assert [each.judgment.guideline for each in said] == [task.guideline, task.guideline, now]


def test_a_long_label_leaves_room_for_its_example(desk, invite):
    text = DEFAULT_GUIDELINE.replace("2 Relevant: helps, in part", "2 Relevant, in part, to most people: a page on it")
    assert text != DEFAULT_GUIDELINE
    task = add_task(desk.store, "long label", PAIRS)
    change_guideline(desk.store, task, text)
    ada = invite(task)
    ada.page.locator("#title:not(:empty)").wait_for()
    button = ada.page.locator(".gb[data-grade='2']")
    box = button.bounding_box()
    for part in ("b", "small"):
        words = button.locator(part)
        inner = words.bounding_box()
        assert inner["y"] + inner["height"] <= box["y"] + box["height"]
        assert words.evaluate("(each) => each.scrollHeight <= each.clientHeight + 1"), part
    assert button.locator("small").inner_text() == "a page on it"
    assert button.get_attribute("title") == "Relevant, in part, to most people: a page on it"


def test_large_counts_have_separators(desk, invite):
    task = add_task(desk.store, "large", [("q1", f"x{i}") for i in range(1200)])
    ada = invite(task)
    ada.page.locator("#n", has_text="1,200").wait_for()


def test_by_touch_on_a_phone(desk, invite):
    task = add_task(desk.store, "touch", PAIRS)
    ada = invite(task, viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True, color_scheme="dark")
    ada.page.locator("#title:not(:empty)").wait_for()
    sizes = ada.page.evaluate(
        """[...document.querySelectorAll('.bar2 button, .dots button, .top button')].filter((one) => one.offsetParent)
        .map((one) => one.getBoundingClientRect()).map(({ width, height }) => [width, height])"""
    )
    assert len(sizes) >= 10
    assert all(width >= 44 and height >= 44 for width, height in sizes), sizes
    assert ada.page.evaluate("document.documentElement.scrollWidth") <= 390
    ada.page.locator(".gb").nth(2).tap()
    ada.page.locator("#done", has_text="1").wait_for()
    ada.page.get_by_role("button", name="Flag").tap()
    ada.page.get_by_label("Note").fill("too far")
    ada.page.locator("#flag").get_by_role("button", name="Flag").tap()
    ada.page.get_by_text("Flagged: too far").wait_for()
    ada.page.get_by_role("button", name="Would choose").tap()
    ada.page.get_by_role("button", name="Cannot tell").tap()
    ada.page.get_by_role("button", name="The query is unclear").tap()
    ada.page.locator("#done", has_text="2").wait_for()
    ada.page.get_by_role("button", name="Undo").tap()
    ada.page.locator("#done", has_text="1").wait_for()
    ada.saved()
    docs, choices = ada.held
    assert sorted((value[0] or -1, value[2]) for value in docs.values()) == [(-1, "too far"), (2.0, "")]
    assert len(choices) == 1


def test_a_phone_says_how_far_it_is_and_presses_no_button_by_itself(desk, invite):
    task = create_task(
        desk.store, "phone", TaskPlan(k=2, measure="P@2", repeat_share=0.0), runs=["lexical-7", "dense-9"]
    )
    ada = invite(task, viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    ada.page.locator("#title:not(:empty)").wait_for()
    borders = "[...document.querySelectorAll('.gb')].map((one) => getComputedStyle(one).borderTopColor)"
    ada.page.locator(".gb").nth(2).tap()
    ada.page.locator("#done", has_text="1").wait_for()
    ada.page.locator("#toast.gone").wait_for(state="attached")  # whatever moves has moved
    assert ada.page.locator(".gb[aria-pressed=true]").count() == 0
    assert len(set(ada.page.evaluate(borders))) == 1
    ada.page.locator("#settle-line:visible", has_text=re.compile("settled")).wait_for()
    assert ada.page.evaluate("document.documentElement.scrollWidth") <= 390


def test_an_older_answer_says_that_it_is_and_is_asked_for_again(desk, invite):
    task = create_task(
        desk.store, "older", TaskPlan(k=1, measure="P@1", repeat_share=0.0), runs=["lexical-7", "dense-9"]
    )
    ada = invite(task)
    answers = iter([("At most 1 more.", True), ("At most 1 more.", True), ("It is settled.", False)])
    said = []

    def settling(route):
        line, newer = next(answers, ("It is settled.", False))
        said.append(line)
        route.fulfill(json={"line": line, "newer": newer})

    ada.page.locator("#title:not(:empty)").wait_for()
    n = int(ada.page.locator("#n").inner_text())
    ada.page.route("**/judge/settling.json", settling)
    ada.press(*"2" * n)
    ada.page.get_by_role("heading", name="All done. Thank you.").wait_for()
    left = re.compile("^Nothing is left for you. What is left for others is being worked out.$")
    ada.page.locator("#settle-line", has_text=left).wait_for()  # and no number that is not about them
    ada.page.locator("#settle-line", has_text=re.compile("^It is settled.$")).wait_for()
    assert said[-3:] == ["At most 1 more.", "At most 1 more.", "It is settled."]


@pytest.mark.parametrize(("left", "more"), [(True, " Nothing of that is left for you."), (False, "")])
def test_who_is_done_reads_that_what_is_left_is_for_others(desk, invite, left, more):
    task = create_task(
        desk.store, f"left {left}", TaskPlan(k=1, measure="P@1", repeat_share=0.0), runs=["lexical-7", "dense-9"]
    )
    ada = invite(task)
    ada.page.locator("#title:not(:empty)").wait_for()
    n = int(ada.page.locator("#n").inner_text())
    answer = {"line": "It is not settled.", "newer": False, "left": left}
    ada.page.route("**/judge/settling.json", lambda route: route.fulfill(json=answer))
    ada.press(*"2" * n)
    ada.page.locator("#settle-line", has_text=re.compile(f"^It is not settled.{more}$")).wait_for()


def test_hostile_texts_are_shown_and_not_obeyed(chromium, tmp_path):
    long = "<b>long</b> words " * 60_000
    queries = {f"q{ATTACK}\udc80": StoredQuery(f"query {ATTACK}", {ATTACK: ATTACK, "conversation": [ATTACK]})}
    docs = {
        f"d{ATTACK}\udc81": StoredDoc(
            f"title {ATTACK}",
            f"text {ATTACK} {long}",
            {ATTACK: ATTACK, "url": "https://x.invalid/a", "bad": "javascript:window.attacked=1"},
        )
    }
    (query,), (doc,) = queries, docs
    store = fill(tmp_path, queries=queries, docs=docs, lists={"one": {query: [doc]}})
    guideline = f"# {ATTACK}\n\n- {ATTACK}\n\n## Scale\n\n- 0 No {ATTACK}: {ATTACK}\n- 1 Yes \u202edone\n\n## Flag reasons\n\n- {ATTACK}\n"
    task = add_task(store, "hostile", [(query, doc)], guideline=guideline)
    server = Server(Library(store))
    printable = ATTACK.replace("\u202e", "")
    ada = Rater(chromium, server, task, name=f"Ada {printable}"[:100])
    try:
        ada.title(f"title {printable[:20]}")
        ada.press("x")
        ada.page.get_by_label("Note").fill(ATTACK)
        ada.page.keyboard.press("Enter")
        ada.page.get_by_text("Flagged: ").wait_for()
        ada.press("m", "Escape", "b", "/", "Escape", "1")
        assert ada.page.locator("#toast").text_content() == "Yes \\u202edone · u to undo"
        ada.saved()
        docs_held, choices = ada.held
        assert docs_held == {(query, doc): (1.0, True, ATTACK, "ok")}
        assert choices == {query: doc}
        ada.press("k")
        ada.title("title")
        owner = ada.context.new_page()
        owner.goto(f"/?token={TOKEN}")
        for address in ("/judge", f"/judge/show?task={task.number}", f"/agreement?task={task.number}"):
            assert owner.goto(address).status == 200
            assert owner.evaluate("window.attacked") is None
            assert owner.locator("main img, main script").count() == 0
        for page in (ada.page, owner):
            assert page.evaluate("window.attacked") is None
            assert page.locator("main img, main script, main iframe").count() == 0
        links = ada.page.locator("#links a").evaluate_all("all => all.map((one) => one.protocol)")
        assert links == ["https:"]
        ada.close()
    finally:
        server.close()
        store.close()


@pytest.mark.parametrize(("width", "scheme"), [(1440, "light"), (1440, "dark"), (390, "light"), (390, "dark")])
def test_axe_finds_nothing_serious(desk, invite, width, scheme):
    axe = files(pytest.importorskip("axe_core_python")).joinpath("axe.min.js").read_text("utf-8")
    task = add_task(desk.store, f"axe {width} {scheme}", [("q1", "d1"), ("q1", "d2"), ("q2", "d4"), ("q2", "d5")])
    ada = invite(task, name="", viewport={"width": width, "height": 900}, color_scheme=scheme, bypass_csp=True)
    ada.page.get_by_label("Your name, or initials").wait_for()
    ada.page.evaluate(axe)
    assert ada.page.evaluate(SERIOUS) == []
    ada.page.get_by_label("Your name, or initials").fill("Ada")
    ada.page.keyboard.press("Enter")
    ada.page.locator("#title:not(:empty)").wait_for()
    ada.press("2", "b")
    ada.saved()
    ada.page.evaluate(axe)
    assert ada.page.evaluate(SERIOUS) == []
    assert ada.page.evaluate("document.documentElement.scrollWidth") <= width
    ada.press("x")
    assert ada.page.evaluate(SERIOUS) == []
    ada.press("Escape", "m")
    assert ada.page.evaluate(SERIOUS) == []


def test_a_doc_that_comes_again_starts_without_its_choice_which_stays(desk, invite):
    pairs = [("q1", doc) for doc in ("d1", "d2", "d3", "d4", "d5", "d6")]
    task = add_task(desk.store, "again", pairs, overlap=1, repeat_share=0.5)
    ada = invite(task)
    ada.page.locator("#title:not(:empty)").wait_for()
    chosen, n = None, int(ada.page.locator("#n").inner_text())
    assert n == len(pairs) + 3, "half of six docs come again"
    seen = []
    for _ in range(n):
        ada.page.locator("#doc:not([aria-busy]) #title:not(:empty)").wait_for()
        title = ada.page.locator("#title").inner_text()
        choose = ada.page.locator("#to-choose")
        assert choose.get_attribute("aria-pressed") == "false"
        again, seen = title in seen, [*seen, title]
        if not again:
            ada.press("x", "Enter", "b")
            ada.page.locator("#to-choose[aria-pressed=true]").wait_for()
            ada.saved()
            chosen = ada.held[1]
        else:  # the same answer once more, taken back, and given again
            for key, pressed in (("b", "true"), ("b", "false"), ("b", "true"), ("u", "false")):
                ada.press(key)
                ada.page.locator(f"#to-choose[aria-pressed={pressed}]").wait_for()
            ada.saved()
            assert ada.held[1] == chosen
        ada.press("1")
    ada.page.get_by_role("heading", name="All done. Thank you.").wait_for()
    ada.saved()
    assert ada.held[1] == chosen
    assert ada.page.locator("#flags").inner_text() == str(len(pairs)), "a doc that comes again is no other doc"
    ada.page.reload()
    ada.page.get_by_role("heading", name="All done. Thank you.").wait_for()


def test_who_judges_without_a_pause_hears_how_far_it_is(desk, invite):
    task = create_task(
        desk.store, "pace", TaskPlan(k=3, measure="P@3", repeat_share=0.0), runs=["lexical-7", "dense-9"]
    )
    ada = invite(task)
    asked = []

    def settling(route):
        asked.append(1)
        route.fulfill(json={"line": f"line {len(asked)}"})

    ada.page.route("**/judge/settling.json", settling)
    ada.page.locator("#settle-line", has_text="line 1").wait_for()
    ada.page.clock.install()
    before = len(asked)
    for key in ("1", "u") * 6:  # one press a second, and never a pause of one and a half
        ada.press(key)
        ada.saved()
        ada.page.clock.run_for(1000)
    assert len(asked) - before >= 3


@pytest.mark.parametrize("long", ["https://www.example.org/" + "patients-and-records" * 5, "a b " * 60])
def test_a_long_attribute_leaves_the_buttons_on_a_phone(chromium, tmp_path, long):
    queries = {**QUERIES, "q1": StoredQuery("back pain", {"page": long, "city": "Leeds"})}
    with fill(tmp_path / "long.db", queries=queries) as store:
        server, phone = Server(Library(store)), {"width": 390, "height": 844}
        ada = Rater(
            chromium, server, add_task(store, "long", PAIRS[:1]), viewport=phone, has_touch=True, is_mobile=True
        )
        ada.page.locator("#doc:not([aria-busy]) #title:not(:empty)").wait_for()
        assert ada.page.evaluate("[innerWidth, document.documentElement.scrollWidth]") == [390, 390]
        for button in (".gb >> nth=0", "#to-flag", "#to-undo"):
            box = ada.page.locator(button).bounding_box()
            assert min(box["x"], 390 - box["x"] - box["width"], 844 - box["y"] - box["height"]) >= 0
        ada.close()
        server.close()


def test_a_long_doc_is_read_by_keys(chromium, tmp_path):
    docs = {"d1": StoredDoc("Back pain", "\n\n".join(f"Paragraph {i} of a long doc." for i in range(120)))}
    with fill(tmp_path / "long.db", docs={**DOCS, **docs}) as store:
        server = Server(Library(store))
        ada = Rater(chromium, server, add_task(store, "long", PAIRS[:1]))
        ada.page.locator("#doc:not([aria-busy]) #text", has_text="Paragraph 119").wait_for()
        top = lambda: ada.page.locator("#doc").evaluate("(doc) => doc.scrollTop")  # noqa: E731
        place = 0
        for key in ("ArrowDown", "PageDown", "Space", "End"):
            ada.page.keyboard.press(key)
            assert top() > place, key
            place = top()
        for key in ("Shift+Space", "PageUp", "ArrowUp", "Home"):
            ada.page.keyboard.press(key)
            assert top() < place, key
            place = top()
        assert (place, ada.page.evaluate("scrollY")) == (0, 0)
        for _ in range(30):  # by Tab as well
            ada.page.keyboard.press("Tab")
            if ada.page.evaluate("document.activeElement.id") == "doc":
                break
        ada.page.keyboard.press("PageDown")
        assert top() > 0
        ada.page.locator("#to-flag").focus()  # Space presses what has the focus
        place = top()
        ada.page.keyboard.press("Space")
        ada.page.locator("dialog#flag[open]").wait_for()
        assert top() == place
        ada.page.keyboard.press("Escape")
        ada.page.evaluate("document.activeElement.blur()")
        ada.page.keyboard.press("Home")
        ada.page.locator("#to-choose").click()  # what a mouse has pressed is not pressed again by Space
        ada.page.keyboard.press("Space")
        assert top() > 0
        ada.page.locator("#to-choose[aria-pressed=true]").wait_for()
        ada.close()
        server.close()


@pytest.mark.parametrize("height", [400, 500, 620, 900])
def test_the_end_of_a_long_doc_is_above_the_bar_in_a_low_window(chromium, tmp_path, height):
    paragraphs = [f"Paragraph {i} of a long doc." for i in range(40)]
    docs = {f"d{i}": StoredDoc(f"Long {i}", "\n\n".join(paragraphs)) for i in range(1, 41)}
    with fill(tmp_path, docs={**DOCS, **docs}) as store:
        server = Server(Library(store))
        low = {"width": 1440, "height": height}
        few = Rater(chromium, server, add_task(store, "few", PAIRS[:2], overlap=1), viewport=low)
        # dots of forty docs are in two rows, and push the doc down
        many = Rater(chromium, server, add_task(store, "many", [("q1", doc) for doc in docs], overlap=1), viewport=low)
        for ada in (few, many):
            ada.page.locator("#doc:not([aria-busy]) #text", has_text="Paragraph 39").wait_for()
            first = ada.page.locator("#title").inner_text()
            for _ in range(60):
                ada.page.keyboard.press("PageDown")
            ada.page.wait_for_timeout(300)  # a browser scrolls a page bit by bit
            ends = """() => {
              const line = document.createRange();
              line.selectNodeContents(document.getElementById("text").lastChild);
              return [[...line.getClientRects()].at(-1).bottom, document.getElementById("bar").getBoundingClientRect().top];
            }"""
            end, bar = ada.page.evaluate(ends)
            assert end <= bar
            ada.press("j")
            ada.page.wait_for_function("(first) => document.getElementById('title').textContent !== first", arg=first)
            assert ada.page.locator("#title").bounding_box()["y"] > 52  # below the header, which is 52 px
            ada.close()
        server.close()
