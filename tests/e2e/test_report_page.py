"""The report's page in a real browser: nothing overflows, overlaps or is clipped, and the keyboard reaches everything."""

from importlib.resources import files
from itertools import pairwise

import pytest
from report_samples import LONG, every_block, many_systems, nasty, two_systems

from rankscope.report.charts import figure_of
from rankscope.report.charts.rows import ForestChart, ForestRow
from rankscope.report.document import Report, Section
from rankscope.report.render import render

WIDTHS = (1280, 390)


def with_charts():
    """Return a report with charts as they are drawn."""
    rows = [
        ForestRow(name, 0.04 - i / 50, 0.01 - i / 50, 0.07 - i / 50, "better")
        for i, name in enumerate(["dense-v3", LONG])
    ]
    forest = ForestChart(rows, "nDCG@10", title="Differences", margin=0.01, prefix="forest1")
    again = ForestChart(rows, "nDCG@10", title="Differences again", prefix="forest2")
    figures = tuple(figure_of(chart) for chart in (forest, again))
    return Report("With charts", figures[:1], (Section("More", figures[1:]),), (("seed", "0"),))


SAMPLES = {
    "two": two_systems,
    "fifty": lambda: many_systems([f"system-{i:02}" for i in range(49)] + [LONG], 1000, charts=12, chart_bytes=20_000),
    "nasty": nasty,
    "charts": with_charts,
    "every": every_block,
}

# Text that stands where nobody sees it: outside of the window, or cut off by a box that does not scroll.
CLIPPED = """
(() => {
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode, element = node.parentElement;
    if (!node.data.trim() || !element.checkVisibility() || element.closest("script, .scroll, .sr, .skip, nav, .forest .name, .words, .side-head, .switch, svg")) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const box of range.getClientRects()) {
      if (box.left < -1 || box.right > innerWidth + 1) found.push(node.data);
      for (let up = element; up && up !== document.body; up = up.parentElement) {
        const style = getComputedStyle(up), outer = up.getBoundingClientRect();
        if (style.overflowX !== "visible" && (box.left < outer.left - 1 || box.right > outer.right + 1)) found.push(node.data);
      }
    }
  }
  return found;
})()"""

CLIPPED_IN_TABLES = """
Array.from(document.querySelectorAll("th, td"))
  .filter((cell) => cell.checkVisibility() && cell.scrollWidth > cell.clientWidth + 1)
  .map((cell) => cell.textContent)"""

OVERLAPPING = """
(() => {
  const boxes = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode, element = node.parentElement;
    if (!node.data.trim() || !element.checkVisibility() || element.closest("script, .scroll, .sr, .skip, nav, .forest .name, .words, .side-head, .switch, svg, sup")) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const box of range.getClientRects()) boxes.push([node.data, box]);
  }
  const found = [];
  boxes.forEach(([text, a], i) => boxes.slice(i + 1).forEach(([other, b]) => {
    const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
    const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
    if (wide > 2 && high > 6 && text !== other) found.push([text, other]);
  }));
  return found.slice(0, 5);
})()"""

FAINT = """
(() => {
  const rgb = (text) => text.match(/[\\d.]+/g).map(Number);
  const luminance = (parts) => {
    const [r, g, b] = parts.slice(0, 3).map((part) => (part /= 255) <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (element) => {
    for (; element; element = element.parentElement) {
      const parts = rgb(getComputedStyle(element).backgroundColor);
      if (parts.length === 3 || parts[3] === 1) return parts;
    }
    return [255, 255, 255];
  };
  const found = [];
  for (const element of document.querySelectorAll("body *")) {
    const own = Array.from(element.childNodes).some((node) => node.nodeType === 3 && node.data.trim());
    if (!own || !element.checkVisibility() || element.closest("svg, script, style")) continue;
    const pair = [luminance(rgb(getComputedStyle(element).color)), luminance(ground(element))].sort((a, b) => b - a);
    const contrast = (pair[0] + 0.05) / (pair[1] + 0.05);
    if (contrast < 4.5) found.push([element.textContent.slice(0, 40), contrast]);
  }
  return found.slice(0, 5);
})()"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    for name, make in SAMPLES.items():
        (folder / f"{name}.html").write_text(render(make(), "html"), "utf-8")
    return {name: folder / f"{name}.html" for name in SAMPLES}


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", SAMPLES)
def test_the_page_fits_and_can_be_read(browser, pages, name, width, dark):
    browser.open(pages[name], width=width, dark=dark)
    assert browser.ask("document.documentElement.scrollWidth <= innerWidth")
    assert browser.ask(CLIPPED) == []
    assert browser.ask(CLIPPED_IN_TABLES) == []
    assert browser.ask(OVERLAPPING) == []
    assert browser.ask(FAINT) == []
    assert browser.problems == []
    assert browser.requests == [pages[name].as_uri()]


@pytest.mark.parametrize("width", WIDTHS)
def test_the_page_fits_with_its_details_open(browser, pages, width):
    browser.open(pages["fifty"], width=width)
    browser.ask("document.querySelector('details').open = true")
    assert browser.ask("document.documentElement.scrollWidth <= innerWidth")
    assert browser.ask("document.querySelector('details .scroll').scrollWidth > innerWidth")
    assert browser.ask(CLIPPED_IN_TABLES) == []


@pytest.mark.parametrize("width", WIDTHS)
def test_the_names_of_rows_stay_while_the_table_is_scrolled(browser, pages, width):
    browser.open(pages["fifty"], width=width)
    browser.ask(
        "document.querySelector('details').open = true; document.querySelector('details .scroll').scrollLeft = 500"
    )
    place = "Math.round({}.getBoundingClientRect().left)"
    name, box = "document.querySelector('details tbody th')", "document.querySelector('details .scroll')"
    assert browser.ask(place.format(name)) == browser.ask(place.format(box))


def test_details_are_opened_by_keyboard(browser, pages):
    browser.open(pages["two"], width=1280)
    browser.ask("document.querySelector('summary').focus()")
    browser.press("Enter", 13, "\r")
    assert browser.ask("document.querySelector('details').open")
    assert "q1053" in browser.ask("document.querySelector('details').innerText")


def test_the_first_tab_leads_to_the_report(browser, pages):
    browser.open(pages["two"], width=1280)
    browser.press("Tab", 9)
    assert browser.ask("document.activeElement.className") == "skip"
    assert browser.ask("document.activeElement.getBoundingClientRect().left >= 0")
    browser.press("Enter", 13, "\r")
    browser.press("Tab", 9)
    assert browser.ask("document.activeElement.closest('main') !== null")


def test_rows_are_sorted_by_keyboard(browser, pages):
    browser.open(pages["two"], width=1280)
    browser.ask("document.querySelector('details').open = true")
    button = "document.querySelector('details th:nth-child(2) button')"
    column = (
        "Array.from(document.querySelectorAll('details tbody td:nth-child(2)'), (cell) => parseFloat(cell.textContent))"
    )
    for direction, is_reversed in (("descending", True), ("ascending", False)):
        browser.ask(f"{button}.focus()")
        browser.press("Enter", 13, "\r")
        scores = browser.ask(column)
        assert len(scores) == 54
        assert scores == sorted(scores, reverse=is_reversed)
        assert browser.ask(f"{button}.closest('th').getAttribute('aria-sort')") == direction


def test_numbers_are_sorted_as_numbers(browser, pages):
    browser.open(pages["two"], width=1280)
    browser.ask("document.querySelector('main th:nth-child(4) button').click()")
    measures = "Array.from(document.querySelector('main table').tBodies[0].rows, (row) => row.cells[0].textContent)"
    assert browser.ask(measures) == ["nDCG@10, primary", "R@100", "RR@10"]


def test_rows_are_filtered(browser, pages):
    browser.open(pages["fifty"], width=1280)
    browser.ask("document.querySelector('details').open = true; document.querySelector('details input').focus()")
    browser.call("Input.insertText", text="q1007")
    visible = "Array.from(document.querySelectorAll('details tbody tr')).filter((row) => row.checkVisibility()).length"
    assert browser.ask(visible) == 1
    assert browser.ask("document.querySelector('details [role=status]').textContent") == "1 shown"


def test_without_script_everything_can_be_read_and_no_control_is_dead(browser, pages):
    browser.open(pages["two"], width=390, script=False)
    assert browser.ask("document.querySelectorAll('button, input:not([type=checkbox])').length") == 0
    browser.ask("document.querySelector('details').open = true")
    assert browser.ask("document.querySelectorAll('details tbody tr').length") == 54
    assert "q1053" in browser.ask("document.querySelector('details').innerText")


def columns_seen(browser):
    """Return the headings of the first table that are within the window."""
    return browser.ask("""
      Array.from(document.querySelector("main .fold table").tHead.rows[0].cells)
        .filter((cell) => cell.checkVisibility() && cell.getBoundingClientRect().right <= innerWidth)
        .map((cell) => cell.textContent)""")


def test_a_phone_shows_name_verdict_and_the_primary_measure_and_a_box_brings_the_rest(browser, pages):
    browser.open(pages["every"], width=390, script=False)
    assert columns_seen(browser) == ["system", "verdict", "nDCG@10"]
    visible = (
        "Array.from(document.querySelectorAll('main .fold thead th')).filter((cell) => cell.checkVisibility()).length"
    )
    assert browser.ask(visible) == 3
    browser.ask("document.querySelector('.all-columns input').click()")
    assert browser.ask(visible) == 11
    assert browser.ask("document.documentElement.scrollWidth <= innerWidth")


def test_the_right_edge_is_shaded_until_the_end_is_reached(browser, pages):
    browser.open(pages["every"], width=800, script=False)
    box = "document.querySelector('main .fold .scroll')"
    shade = "Number(getComputedStyle(document.querySelector('main .fold'), '::after').opacity)"
    assert browser.ask(f"{box}.scrollWidth > {box}.clientWidth")
    assert browser.ask(shade) == 1
    browser.ask(f"{box}.scrollLeft = 9999")
    browser.screenshot(whole=False)
    assert browser.ask(shade) < 0.1


def test_things_to_touch_are_large_enough_on_a_phone(browser, pages):
    browser.open(pages["every"], width=390)
    browser.ask("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    small = browser.ask("""
      Array.from(document.querySelectorAll("summary, nav a, button, label, input[type=search]"))
        .filter((one) => one.checkVisibility() && one.getBoundingClientRect().height < 40)
        .map((one) => one.outerHTML.slice(0, 80))""")
    assert small == []


TERM = "document.querySelector('main .term')"


def test_a_term_is_explained_on_hover_and_focus_and_in_the_list(browser, pages):
    browser.open(pages["every"], width=1280, script=False)
    tip = f"(() => {{ const style = getComputedStyle({TERM}, '::after'); return [style.display, style.content]; }})()"
    assert browser.ask(tip)[0] == "none"
    listed = browser.ask(f"document.querySelector({TERM}.hash).textContent")
    assert len(listed) > 40
    place = browser.ask(f"(() => {{ const box = {TERM}.getBoundingClientRect(); return [box.x + 2, box.y + 2]; }})()")
    browser.call("Input.dispatchMouseEvent", type="mouseMoved", x=place[0], y=place[1])
    shown = browser.ask(tip)
    assert shown[0] == "block"
    assert shown[1].strip('"') == listed
    browser.call("Input.dispatchMouseEvent", type="mouseMoved", x=1, y=1)
    assert browser.ask(tip)[0] == "none"
    while not browser.ask("document.activeElement.matches('.term')"):
        browser.press("Tab", 9)
    assert browser.ask("getComputedStyle(document.activeElement, '::after').display") == "block"


def test_groups_name_their_systems_on_focus(browser, pages):
    browser.open(pages["every"], width=1280, script=False)
    names = "document.querySelector('.groups details p')"
    assert not browser.ask(f"{names}.checkVisibility()")
    browser.ask("document.querySelector('.groups summary').focus()")
    assert browser.ask(f"{names}.checkVisibility()")
    assert browser.ask(f"{names}.textContent") == "hybrid-rerank"


def test_a_link_in_the_contents_opens_what_is_folded(browser, pages):
    browser.open(pages["every"], width=1280, script=False)
    folded = "document.querySelector('details.more')"
    assert not browser.ask(f"{folded}.open")
    browser.ask("document.querySelector('nav a[href=\"#section-hybrid-against-algorithmic\"]').click()")
    assert browser.ask(f"{folded}.open")


def test_a_phone_shows_one_list_and_a_switch_for_the_other(browser, pages):
    browser.open(pages["every"], width=390, script=False)
    browser.ask("document.querySelector('.ql details').open = true")
    seen = "Array.from(document.querySelectorAll('.ql details[open] .side')).map((one) => one.checkVisibility())"
    assert browser.ask(seen) == [False, True]
    browser.ask("document.querySelector('.ql details[open] .switch input').click()")
    assert browser.ask(seen) == [True, False]
    browser.open(pages["every"], width=1280, script=False)
    browser.ask("document.querySelector('.ql details').open = true")
    assert browser.ask(seen) == [True, True]


def test_letters_of_the_forest_keep_their_size_and_zero_is_labelled(browser, pages):
    for width in WIDTHS:
        browser.open(pages["every"], width=width, script=False)
        texts = browser.ask("""
          Array.from(document.querySelectorAll(".forest .axis text")).filter((one) => one.checkVisibility())
            .map((one) => [one.textContent, one.getBoundingClientRect().height, one.getBoundingClientRect().x])""")
        assert "0" in [text for text, _, _ in texts]
        assert all(12 <= height <= 18 for _, height, _ in texts)
        assert all(after[2] - before[2] > 20 for before, after in pairwise(texts))


@pytest.mark.parametrize("width", [1440, 1024, 390])
def test_verdicts_of_the_forest_end_before_its_edge(browser, pages, width):
    browser.open(pages["every"], width=width, script=False)
    room = browser.ask("""
      Array.from(document.querySelectorAll(".forest .ver"), (one) => {
        const words = document.createRange();
        words.selectNodeContents(one);
        return one.closest(".forest").getBoundingClientRect().right - words.getBoundingClientRect().right;
      })""")
    assert room
    assert min(room) >= 4


def test_descriptions_of_charts_are_heard_and_not_seen(browser, pages):
    browser.open(pages["charts"], width=1280)
    captions = (
        "Array.from(document.querySelectorAll('figcaption'), (one) => [one.textContent.length > 20, one.offsetWidth])"
    )
    assert browser.ask(captions) == [[True, 1], [True, 1]]


SERIOUS = """
axe.run(document, { resultTypes: ["violations"] }).then((found) =>
  found.violations.filter((one) => ["serious", "critical"].includes(one.impact))
    .map((one) => [one.id, one.nodes.slice(0, 3).map((node) => node.html.slice(0, 160) + node.failureSummary)]))"""


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", ["two", "charts", "every"])
def test_axe_finds_nothing_serious(browser, pages, name, width, dark):
    axe = files(pytest.importorskip("axe_core_python")).joinpath("axe.min.js").read_text("utf-8")
    browser.open(pages[name], width=width, dark=dark)
    browser.ask("document.querySelectorAll('details:not([name])').forEach((one) => { one.open = true; })")
    browser.ask(f"{axe};0")
    assert browser.ask("axe.run(document, { runOnly: ['document-title'] }).then((found) => found.passes.length)") == 1
    assert browser.ask(SERIOUS) == []


@pytest.mark.slow
def test_paper_is_light_whatever_the_screen_and_shows_no_controls(browser, pages):
    browser.open(pages["every"], width=1280, dark=True)
    dark = browser.ask("getComputedStyle(document.body).color")
    browser.call(
        "Emulation.setEmulatedMedia", media="print", features=[{"name": "prefers-color-scheme", "value": "dark"}]
    )
    assert dark == "rgb(233, 235, 236)"
    assert browser.ask("getComputedStyle(document.body).color") == "rgb(26, 30, 33)"
    assert browser.ask("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    controls = (
        "Array.from(document.querySelectorAll('nav, input, .switch')).filter((one) => one.checkVisibility()).length"
    )
    assert browser.ask(controls) == 0
    assert browser.ask("document.querySelector('.groups details p').checkVisibility()")
    browser.call("Emulation.setEmulatedMedia", media="")


@pytest.mark.slow
def test_paper_shows_what_is_folded_unless_it_is_very_long(browser, pages):
    for name, is_shown in (("two", True), ("fifty", False)):
        browser.open(pages[name], width=1280, script=False)
        browser.call("Emulation.setEmulatedMedia", media="print")
        assert browser.ask("document.querySelector('details table').checkVisibility()") is is_shown
        assert not browser.ask("document.querySelector('nav').checkVisibility()")
        titles = "Array.from(document.querySelectorAll('main h2')).filter((one) => one.checkVisibility())"
        bare = f"{titles}.filter((one) => !one.closest('section').innerText.replace(one.innerText, '').trim()).length"
        assert browser.ask(bare) == 0, "no title stands alone"
        assert browser.ask("document.querySelector('.paper').checkVisibility()"), "it says what is not printed"
        browser.call("Emulation.setEmulatedMedia", media="")
        assert not browser.ask("document.querySelector('.paper').checkVisibility()")
        assert browser.pdf().startswith(b"%PDF")
