import json
from datetime import date

import pytest
from sample import fill_store

from rankscope.analysis.targets import Target, TargetCounts, TargetResult, TargetsReport
from rankscope.store import CollectionFacts, RunFacts, open_store
from rankscope.web.library import Library
from rankscope.web.pages.compare import ComparePageOptions, compare_page
from rankscope.web.pages.overview import OverviewOptions, overview_page


@pytest.fixture
def own(tmp_path):
    """A store of one's own, which may be changed."""
    store = fill_store(tmp_path, n_queries=36, weeks=("2026-10-05", "2026-10-12"))
    yield store
    store.close()


def test_the_answer_is_that_of_the_comparison(server):
    page = json.loads(server.get("/index.json").data)
    compared = json.loads(server.get("/compare.json").data)["comparison"]
    assert page["answer"]["headline"].startswith(compared["recommendation"]["text"])
    for block, group in zip(page["verdicts"], compared["groups"], strict=True):
        deltas = {pair["systems"]["b"]: pair["delta"] for pair in group["comparisons"] if pair["role"] == "primary"}
        assert {row["name"]: row["value"] for row in block["estimates"] if row["value"] is not None} == deltas


def test_it_says_what_needs_somebody(server):
    needs = json.loads(server.get("/index.json").data)["needs"]
    assert any("multilingual on doctor-finder: nDCG@10 fell from 0.410 to 0.330" in need["what"] for need in needs)
    assert any(need["what"] == "multilingual failed on 1 query" for need in needs)


def test_failing_targets_are_named_and_counted(own):
    targets = [Target(name=f"t{i}", kind="docs", query="q000", docs=("d001",), top=3) for i in range(5)]
    results = [
        TargetResult(each.name, "hybrid", "failed" if i else "passed", "d001 is not there", collection="doctor-finder")
        for i, each in enumerate(targets)
    ]
    run = own.runs.ranking(own.runs.find("hybrid"))
    counts = TargetCounts(passed=1, failed=4, quarantined=0, share=0.2)
    report = TargetsReport("0", date(2026, 10, 12), counts, tuple(targets), tuple(results), ())
    own.targets.add(report, {("doctor-finder", "hybrid"): run})
    page = overview_page(Library(own), OverviewOptions())
    whats = [need.what for need in page.needs]
    assert whats.count("Target fails on hybrid") >= 2
    assert page.n_needs == 4 + sum(not what.startswith("Target") for what in whats), "each target counts once"
    assert page.answer.headline.endswith(f" {page.n_needs} things need you.")
    assert ("Targets of hybrid", "1 of 5", "4 fail") in [(f.label, f.value, f.context) for f in page.facts]


def test_a_target_that_fails_in_several_systems_is_one_target(own):
    target = Target(name="t", kind="docs", query="q000", docs=("d001",), top=3)
    names = ("algorithmic", "hybrid")
    results = [TargetResult("t", name, "failed", "d001 is not there", collection="doctor-finder") for name in names]
    counts = TargetCounts(passed=0, failed=2, quarantined=0, share=0.0)
    runs = {("doctor-finder", name): own.runs.ranking(own.runs.find(name)) for name in names}
    own.targets.add(TargetsReport("0", date(2026, 10, 12), counts, (target,), tuple(results), ()), runs)
    whats = [need.what for need in overview_page(Library(own), OverviewOptions()).needs]
    assert [what for what in whats if "arget" in what] == ["Target fails on algorithmic and hybrid"]


def test_each_slice_has_the_verdict_of_its_interval(library):
    for each in overview_page(library, OverviewOptions()).slices:
        expected = "better" if each.low > 0 else "worse" if each.high < 0 else "cannot tell"
        assert each.verdict == expected


def test_the_trend_has_the_newest_runs_of_two_systems(own):
    page = overview_page(Library(own), OverviewOptions())
    assert {system.system: len(system.points) for system in page.trend.systems} == {"algorithmic": 2, "hybrid": 2}
    assert page.trend.main == "algorithmic"


def test_slices_are_those_of_the_comparison(library):
    page = overview_page(library, OverviewOptions())
    comparison = compare_page(library, ComparePageOptions()).comparison
    english = next(group for group in comparison.groups if group.name == page.slices_in == "en")
    pair = next(pair for pair in english.compared if pair.b == "hybrid")
    known = {(part.attribute, part.value): (part.n_queries, part.delta) for part in pair.strata}
    assert {each.value for each in page.slices} == {"cardiology", "dermatology", "neurology", "orthopaedics"}
    for each in page.slices:
        assert known[each.attribute, each.value] == (each.n_queries, each.difference)


def test_an_empty_store_says_what_will_be_here(tmp_path):
    from running import Server

    store = open_store(tmp_path, create=True)
    server = Server(Library(store))
    for path in ("/", "/compare", "/systems"):
        answer = server.get(path)
        assert answer.status == 200
        assert b"There are no runs yet" in answer.data
        assert b"rankscope run" in answer.data
    server.close()
    store.close()


def test_one_run_alone_has_a_sentence_and_no_verdict(tmp_path):
    store = lonely(tmp_path)
    page = overview_page(Library(store), OverviewOptions())
    assert page.verdicts == ()
    assert page.answer.headline.startswith("alone has nDCG@10 ")
    assert page.not_compared == "With a second system there will be verdicts here."
    compared = compare_page(Library(store), ComparePageOptions())
    assert "at least two systems" in compared.refused.hint
    store.close()


def lonely(folder):
    """A store with one run of one system."""
    full = fill_store(folder / "full", n_queries=12, weeks=("2026-10-05",))
    store, known = open_store(folder / "one", create=True), full.runs.find("hybrid")
    judged = store.qrels.add(full.qrels.judgments(full.qrels.find("doctor-finder")), name="doctor-finder")
    facts = RunFacts(
        system="alone",
        started=known.started,
        collection=CollectionFacts(
            name="doctor-finder",
            queries=full.texts.queries(known.queries_sha256),
            qrels_sha256=judged.judgments_sha256,
        ),
        details=known.details,
    )
    store.runs.add(full.runs.ranking(known), facts)
    full.close()
    return store


def test_a_system_that_was_asked_other_queries_long_ago_does_not_spoil_the_answer(own):
    known = own.runs.find("hybrid")
    queries = dict(list(own.texts.queries(known.queries_sha256).items())[:20])
    collection = CollectionFacts(name="doctor-finder", queries=queries)
    old = RunFacts(
        system="old", started="2025-01-01T00:00:00.000000+00:00", collection=collection, details=known.details
    )
    own.runs.add(own.runs.ranking(known), old)
    page = compare_page(Library(own), ComparePageOptions())
    assert page.comparison is not None
    assert "old" not in page.comparison.systems
    assert page.n_not_shown == 1


def test_other_collections_are_a_choice_in_the_frame(own, chromium):
    from running import TOKEN, Server

    known = own.runs.find("hybrid")
    queries = own.texts.queries(known.queries_sha256)
    for i in range(3):
        facts = RunFacts(
            system="hybrid",
            started=f"2026-10-0{i + 1}T00:00:00.000000+00:00",
            collection=CollectionFacts(name=f"podcasts {i}", queries=queries),
            details=known.details,
        )
        own.runs.add(own.runs.ranking(known), facts)
        own.qrels.add(own.qrels.judgments(own.qrels.find("doctor-finder")), name=f"podcasts {i}")
    server = Server(Library(own))
    context = chromium.new_context(base_url=server.url)
    page = context.new_page()
    page.goto(f"/?collection=doctor-finder&token={TOKEN}")
    assert page.get_by_label("Collection").input_value() == "doctor-finder"
    page.get_by_label("Collection").select_option("podcasts 1")
    page.wait_for_url("**/?collection=podcasts*")
    assert page.locator(".crumb").inner_text().startswith("podcasts 1")
    page.goto("/systems?collection=podcasts%201")
    assert page.get_by_label("Collection").input_value() == "podcasts 1"
    context.close()
    server.close()


def test_a_verdict_leads_to_the_comparison(page):
    page.goto("/")
    page.locator(".forest a", has_text="multilingual").first.click()
    assert page.url.endswith("/compare?collection=doctor-finder&challenger=multilingual")
    assert page.get_by_role("heading", name="multilingual against algorithmic, query by query, de").count() == 1


def test_a_phone_scrolls_only_downwards(page):
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto("/")
    assert page.evaluate("document.documentElement.scrollWidth") == 390
