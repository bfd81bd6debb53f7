import json
import warnings

import pytest
from sample import fill_store, ranking

import rankscope as rs
from rankscope.store import CollectionFacts, RunDetails, RunFacts, StoredQuery
from rankscope.web.library import Library
from rankscope.web.pages.compare import ComparePageOptions, compare_page


@pytest.fixture
def own(tmp_path):
    """A store of one's own, which may be changed."""
    store = fill_store(tmp_path, n_queries=24, weeks=("2026-10-05", "2026-10-12"))
    yield store
    store.close()


def compared_from_outside(store, names, **options):
    """What the public function says of the newest runs of systems, given as plain dicts and tables."""
    found = {name: store.runs.find(name, collection="doctor-finder") for name in names}
    runs = {name: store.runs.ranking(run) for name, run in found.items()}
    asked = store.texts.queries(next(iter(found.values())).queries_sha256)
    queries = {query: {"text": each.text, **each.attributes} for query, each in asked.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return rs.compare(
            store.qrels.judgments(store.qrels.find("doctor-finder")),
            runs,
            primary="nDCG@10",
            queries=queries,
            **options,
        )


def plain(comparison):
    """A comparison as data, without what only a store knows: which look it is, and what docs are called."""
    data = json.loads(comparison.to_json()) if not isinstance(comparison, dict) else comparison

    def without_titles(part):
        if isinstance(part, dict):
            return {name: without_titles(value) for name, value in part.items() if name not in ("title", "look")}
        return [without_titles(item) for item in part] if isinstance(part, list) else part

    return without_titles(data)


def test_the_page_says_what_the_public_function_says(server):
    store = server.library.store
    shown = json.loads(server.get("/compare.json").data)["comparison"]
    names = ("algorithmic", "multilingual", "hybrid")
    assert plain(shown) == plain(compared_from_outside(store, names, baseline="algorithmic"))


def test_all_pairs_with_a_margin_in_one_stratum_are_the_same_as_from_outside(server):
    store = server.library.store
    address = "/compare.json?pairs=all&margin=0.05&stratum=language%3Den&systems=hybrid&systems=algorithmic"
    shown = json.loads(server.get(address).data)["comparison"]
    queries = store.texts.queries(store.runs.find("hybrid").queries_sha256)
    english = [query for query, each in queries.items() if each.attributes["language"] == "en"]
    found = {name: store.runs.ranking(store.runs.find(name)) for name in ("algorithmic", "hybrid")}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = rs.compare(
            store.qrels.judgments(store.qrels.find("doctor-finder")).select(english),
            found,
            primary="nDCG@10",
            all_pairs=True,
            margin=0.05,
            queries={query: {"text": each.text, **each.attributes} for query, each in queries.items()},
        )
    assert plain(shown) == plain(expected)


def test_where_nothing_says_so_the_page_says_that_no_baseline_is_chosen(own):
    own.tags.remove("production")
    found = compare_page(Library(own), ComparePageOptions())
    assert (found.baseline, found.no_baseline) == ("algorithmic", True)  # the first that was stored
    assert found.baseline_why.startswith("no baseline is chosen")


def test_opening_a_page_again_is_no_further_look(own):
    asked = ComparePageOptions(systems=("hybrid",), baseline="algorithmic")
    first = compare_page(Library(own), asked)
    n_kept, queries = len(own.comparisons.list()), own.runs.find("hybrid").queries_sha256
    assert (n_kept, own.comparisons.n_looks(queries), first.comparison.look) == (1, 1, 1)
    again = compare_page(Library(own), asked)  # another process: nothing is in memory
    assert again.comparison == first.comparison
    assert again.pairs == first.pairs
    assert (len(own.comparisons.list()), own.comparisons.n_looks(queries)) == (1, 1)
    other = compare_page(Library(own), ComparePageOptions(systems=("multilingual",), baseline="algorithmic"))
    assert other.comparison.look == 2


def add_run(store, system, queries, *, collection="doctor-finder"):
    import random

    dice, docs = random.Random(3), [f"d{i:03}" for i in range(50)]
    facts = RunFacts(
        system=system,
        started="2026-11-01T09:00:00.000000+00:00",
        collection=CollectionFacts(name=collection, queries=queries),
        details=RunDetails(depth=20, primary="nDCG@10"),
    )
    return store.runs.add(rs.Run({query: ranking(dice, docs, {}, 0) for query in queries}), facts)


def test_runs_that_were_asked_other_queries_are_refused_with_the_reason(own):
    queries = own.texts.queries(own.runs.find("hybrid").queries_sha256)
    changed = {**queries, "q000": StoredQuery("something else"), "new": StoredQuery("a new query")}
    add_run(own, "other", changed)
    asked = ComparePageOptions(systems=("other",), baseline="algorithmic")
    page = compare_page(Library(own), asked)
    assert page.comparison is None
    assert "other was not asked the same queries as algorithmic" in page.refused.what
    assert "1 query was added, 1 changed in wording" in page.refused.what
    assert page.refused.other_queries
    anyway = compare_page(Library(own), ComparePageOptions(systems=("other",), baseline="algorithmic", anyway=True))
    assert sum(group.n_queries for group in anyway.comparison.groups) == 23  # of 24, without the changed one


def test_runs_on_two_collections_are_refused(own):
    number = add_run(own, "elsewhere", {"p1": StoredQuery("pods")}, collection="podcasts").number
    page = compare_page(
        Library(own), ComparePageOptions(collection="doctor-finder", systems=(str(number),), baseline="hybrid")
    )
    assert page.comparison is None
    assert "podcasts" in page.refused.what
    assert not page.refused.other_queries


def test_what_is_not_there_is_refused_in_the_place_of_the_verdict(server):
    page = server.get("/compare?systems=nobody")
    assert page.status == 200
    assert b"the store has no run &#39;nobody&#39;" in page.data
    assert json.loads(server.get("/compare.json?systems=nobody").data)["comparison"] is None
    assert b"there is no stratum" in server.get("/compare?stratum=colour%3Dred").data
    assert server.get("/compare?margin=-1").status == 400
    assert server.get("/compare?collection=nowhere").status == 404


def test_a_run_in_production_that_is_not_the_newest_is_the_baseline(own):
    own.tags.move("production", own.runs.find("algorithmic~1"))
    page = compare_page(Library(own), ComparePageOptions())
    assert page.baseline == f"algorithmic (run {own.runs.find('algorithmic~1').number})"
    assert len(page.comparison.systems) == 4  # the newest run of algorithmic is a challenger, too


def test_gains_and_losses_lead_to_their_queries(page):
    page.goto("/compare?systems=hybrid&stratum=language%3Den")
    link = page.locator(".ql a").first
    address = link.get_attribute("href")
    assert address.startswith("/query?query=q")
    assert "measure=nDCG@10" in address


def test_what_is_chosen_is_in_the_address_and_comes_back_with_it(page):
    page.goto("/compare")
    page.get_by_label("Measure").select_option("RR@10")
    page.wait_for_url("**/compare?*measure=RR@10*".replace("@", "%40"))
    assert "RR@10" in page.locator(".subject").first.inner_text()
    page.get_by_label("Slice").select_option("specialty=cardiology")
    page.wait_for_url("**stratum=specialty%3Dcardiology*")
    assert page.get_by_label("Measure").input_value() == "RR@10"
    page.go_back()
    assert "stratum=specialty" not in page.url
    page.locator("summary", has_text="3 systems").click()
    page.get_by_role("checkbox", name="multilingual").uncheck()
    page.get_by_role("button", name="Compare these").click()
    page.wait_for_url("**systems=hybrid*")
    assert "systems=multilingual" not in page.url
    assert page.locator("summary", has_text="2 systems").count() == 1


def test_it_works_without_scripts(chromium, server):
    from running import TOKEN

    context = chromium.new_context(java_script_enabled=False, base_url=server.url)
    opened = context.new_page()
    opened.goto(f"/?token={TOKEN}")
    opened.goto("/compare")
    opened.locator("select[name=measure]").select_option("P@10")
    opened.get_by_role("button", name="Show").click()
    assert "measure=P%4010" in opened.url
    assert "P@10" in opened.locator("h1").inner_text() or "P@10" in opened.locator(".subject").first.inner_text()
    context.close()


def test_a_phone_scrolls_only_downwards(page):
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto("/compare?pairs=all&stratum=language%3Den")
    assert page.evaluate("document.documentElement.scrollWidth") == 390


def test_hostile_names_are_only_text(tmp_path, chromium):
    from running import TOKEN, Server

    odd = "<img src=x onerror=alert(1)>\u202e"
    store = fill_store(tmp_path, n_queries=24, weeks=("2026-10-05",), hostile=odd)
    running = Server(Library(store))
    context = chromium.new_context(base_url=running.url)
    opened, seen = context.new_page(), []
    opened.on("dialog", lambda dialog: seen.append(dialog.message))
    opened.goto(f"/?token={TOKEN}")
    opened.goto("/compare?pool=1")
    assert opened.locator("img").count() == 0
    assert "<img src=x" in opened.locator(".tq").first.inner_text()
    assert seen == []
    context.close()
    running.close()
    store.close()


def test_what_was_compared_is_not_made_again_because_something_else_was_stored(own, monkeypatch):
    library, asked = Library(own), ComparePageOptions(systems=("hybrid",), baseline="algorithmic")
    first = compare_page(library, asked)
    own.tags.move("release", own.runs.find("multilingual"))
    calls = []
    monkeypatch.setattr("rankscope.web.pages.compare.compare_stored", lambda *given: calls.append(given))
    again = compare_page(library, asked)
    assert calls == []
    assert again.comparison is first.comparison
    assert ("release",) in [each.tags for each in again.systems]  # but what is new is there
