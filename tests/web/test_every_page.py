"""Every page in a real browser: nothing serious for axe-core, no sideways scrolling, keys, no script needed, few bytes."""

from importlib.resources import files

import pytest
from running import TOKEN

from rankscope.web.pages import PAGES

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::rankscope.errors.RankscopeWarning")]
LARGEST_FIRST_PAGE = 100_000
NEEDS_SCRIPT = ("/live", "/jobs", "/job")
SERIOUS = """
axe.run(document, { resultTypes: ["violations"] }).then((found) => found.violations
  .filter((one) => ["serious", "critical"].includes(one.impact))
  .map((one) => `${one.id}: ${one.nodes.map((node) => node.html.slice(0, 120)).slice(0, 3).join(" | ")}`))
"""
SHOWN = [route for route in PAGES if route.path != "/job"]
SCREENS = {"wide": (1440, "light"), "dark": (1440, "dark"), "phone": (390, "light")}


@pytest.fixture(scope="module", params=SCREENS)
def screen(request, chromium, server):
    width, scheme = SCREENS[request.param]
    context = chromium.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, base_url=server.url, bypass_csp=True
    )
    page = context.new_page()
    page.set_default_timeout(120_000)
    page.goto(f"/?token={TOKEN}")
    yield page
    context.close()


@pytest.mark.parametrize("route", SHOWN, ids=lambda route: route.path)
def test_axe_finds_nothing_serious_and_nothing_scrolls_sideways(screen, route):
    axe = files(pytest.importorskip("axe_core_python")).joinpath("axe.min.js").read_text("utf-8")
    screen.goto(route.path)
    screen.evaluate("document.querySelectorAll('details:not([name])').forEach((one) => { one.open = true; })")
    screen.evaluate(axe)
    assert screen.evaluate(SERIOUS) == []
    screen.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = false; })")
    assert screen.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_pages_can_be_read_without_scripts(chromium, server):
    context = chromium.new_context(java_script_enabled=False, base_url=server.url)
    page = context.new_page()
    page.set_default_timeout(120_000)
    page.goto(f"/?token={TOKEN}")
    for route in SHOWN:
        if route.path not in NEEDS_SCRIPT:
            page.goto(route.path)
            assert page.locator("h1").first.is_visible(), route.path
            for button in page.locator("form.toolbar [type=submit]").all():
                assert button.is_visible(), route.path
    context.close()


def test_the_first_page_is_small(chromium, server):
    context = chromium.new_context(base_url=server.url)
    page = context.new_page()
    page.set_default_timeout(120_000)
    sizes = []
    page.on("requestfinished", lambda request: sizes.append(sum(request.sizes().values())))
    page.goto(f"/?token={TOKEN}", wait_until="networkidle")
    assert 1_000 < sum(sizes) < LARGEST_FIRST_PAGE
    context.close()


def test_every_page_of_the_menu_can_be_reached_by_keys(page):
    page.set_default_timeout(120_000)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    names = [route.title for route in PAGES if route.in_menu]
    reached = []
    for _ in range(len(names) + 3):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.innerText"))
    assert set(names) <= set(reached)
    page.keyboard.press("Shift+Tab")
    page.locator("nav.pages a", has_text="History").focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/history")
    assert page.locator("[aria-current=page]").inner_text() == "History"


def test_the_back_button_returns_to_what_was_shown(page):
    page.set_default_timeout(120_000)
    page.goto("/history?measure=RR@10")
    page.locator("select[name=measure]").select_option("nDCG@10")
    page.wait_for_url("**measure=nDCG%4010**")
    page.go_back()
    assert page.locator("select[name=measure]").input_value() == "RR@10"
