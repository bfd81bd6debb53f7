"""Pages that need more than a store of runs: signing in, and a run that was started from the page."""

from importlib.resources import files

import pytest
from running import Server
from sample import fill_store
from test_every_page import SERIOUS

from rankscope.store.jobs import JobProgress, JobResult, JobStep
from rankscope.web.accounts import StoreAuthenticator
from rankscope.web.library import Library

pytestmark = pytest.mark.slow
PASSWORD = "correct horse battery"


@pytest.fixture(scope="module")
def team(tmp_path_factory):
    store = fill_store(tmp_path_factory.mktemp("users"), n_queries=6, weeks=("2026-10-05",))
    store.users.add("ada", "owner", password=PASSWORD)
    job = store.jobs.add("rankscope.toml", {}, who="ada")
    store.jobs.claim("rankscope.toml", worker="w")
    steps = (JobStep("small · words: searching", 3, 6),)
    store.jobs.beat(job.number, worker="w", progress=JobProgress(done=1, total=2, steps=steps))
    server = Server(Library(store), authenticator=StoreAuthenticator(store))
    server.job = job.number
    yield server
    server.close()
    store.close()


def serious(page):
    page.evaluate(files(pytest.importorskip("axe_core_python")).joinpath("axe.min.js").read_text("utf-8"))
    return page.evaluate(SERIOUS)


@pytest.mark.parametrize("width", [390, 1440])
def test_axe_finds_nothing_serious_on_signing_in_and_on_a_job(team, chromium, width):
    context = chromium.new_context(viewport={"width": width, "height": 900}, base_url=team.url, bypass_csp=True)
    page = context.new_page()
    page.goto("/login")
    assert serious(page) == []
    page.get_by_label("Name").fill("ada")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url("**/")
    page.goto(f"/job?number={team.job}")
    before = page.evaluate("getComputedStyle(document.querySelector('.job-steps li'), '::before').content")
    assert before == "none"  # no number stands over the words
    assert serious(page) == []
    if width == 1440:  # the last of them: it ends
        runs = tuple(run.number for run in team.library.store.runs.list(last=2))
        team.library.store.jobs.finish(team.job, worker="w", result=JobResult(runs=runs, comparisons=()))
        page.goto(f"/job?number={team.job}")
        page.get_by_text("What came out").wait_for()
        assert serious(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.goto("/history")
    tables = page.locator(".scroll:has(th:has-text('judgments'))")
    assert width == 390 or tables.evaluate_all("all => all.every((one) => one.scrollWidth <= one.clientWidth)")
    context.close()
