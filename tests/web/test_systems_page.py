import json

import numpy as np
import pytest
import pytrec_eval
from sample import fill_store

from rankscope.records import replace
from rankscope.store import CollectionFacts, RunDetails, RunFacts
from rankscope.web.library import Library
from rankscope.web.pages.systems import SystemsOptions, ordered, systems_page


def by_pytrec_eval(store, system, measure="ndcg_cut_10"):
    """The scores of the newest run of a system by another tool, query by query; what is not answered scores 0."""
    stored = store.runs.find(system, collection="doctor-finder")
    run, qrels = store.runs.ranking(stored), store.qrels.judgments(store.qrels.find("doctor-finder"))
    grades = {query: {doc: int(grade) for doc, grade in qrels[query].items()} for query in qrels}
    answers = {query: dict(run[query].items()) for query in run}
    found = pytrec_eval.RelevanceEvaluator(grades, {measure}).evaluate(answers)
    return {query: found.get(query, {}).get(measure, 0.0) for query in grades}


def test_means_are_those_of_another_tool(library):
    page = systems_page(library, SystemsOptions())
    assert [line.system for line in page.systems] == ["hybrid", "multilingual", "algorithmic"]
    for line in page.systems:
        scores = by_pytrec_eval(library.store, line.system)
        assert line.mean == pytest.approx(np.mean(list(scores.values())), abs=1e-9)
        assert line.low < line.mean < line.high
        queries = library.store.texts.queries(library.store.runs.find(line.system).queries_sha256)
        for choice, mean in zip(page.values, line.by_value, strict=True):
            inside = [scores[query] for query in queries if queries[query].attributes["language"] == choice.value]
            assert mean == pytest.approx(np.mean(inside), abs=1e-9)
            assert choice.n_queries == len(inside)
    assert {line.system: line.n_unanswered for line in page.systems} == {
        "hybrid": 0, "multilingual": 1, "algorithmic": 0,
    }  # fmt: skip


def test_a_stratum_has_means_of_its_queries(server):
    page = json.loads(server.get("/systems.json?stratum=specialty%3Dcardiology&stratum=specialty%3Dneurology").data)
    store = server.library.store
    queries = store.texts.queries(store.runs.find("hybrid").queries_sha256)
    scores = by_pytrec_eval(store, "hybrid")
    wanted = [scores[q] for q, each in queries.items() if each.attributes["specialty"] in ("cardiology", "neurology")]
    assert page["systems"][0]["mean"] == pytest.approx(np.mean(wanted), abs=1e-9)
    assert page["n_queries"] == len(wanted) == 30


def test_columns_sort_both_ways_and_say_so(page):
    page.goto("/systems")
    names = page.locator(".board tbody th a")
    assert names.first.inner_text() == "hybrid"
    assert page.locator("th[aria-sort]").inner_text().startswith("nDCG@10")
    assert page.locator("th[aria-sort]").get_attribute("aria-sort") == "descending"
    page.locator("th[aria-sort] a").click()
    assert page.locator("th[aria-sort]").get_attribute("aria-sort") == "ascending"
    assert names.first.inner_text() == "algorithmic"
    page.get_by_role("link", name="system", exact=True).click()
    assert names.all_inner_texts() == ["algorithmic", "hybrid", "multilingual"]
    page.go_back()
    assert "reverse=1" in page.url


def test_what_is_not_known_comes_last_in_either_direction(library):
    page = systems_page(library, SystemsOptions())
    lines = [replace(line, p95_ms=ms) for line, ms in zip(page.systems, (30.0, None, 20.0), strict=True)]
    page = replace(page, systems=tuple(lines))
    assert [line.p95_ms for line in ordered(page, SystemsOptions(sort="p95"))] == [20.0, 30.0, None]
    assert [line.p95_ms for line in ordered(page, SystemsOptions(sort="p95", reverse=True))] == [30.0, 20.0, None]


def test_cost_and_other_queries_are_shown(tmp_path):
    store = fill_store(tmp_path, n_queries=12, weeks=("2026-10-05",))
    known = store.runs.find("hybrid")
    queries = store.texts.queries(known.queries_sha256)
    facts = RunFacts(
        system="newer",
        started="2026-11-01T09:00:00.000000+00:00",
        collection=CollectionFacts(name="doctor-finder", queries=dict(list(queries.items())[:8])),
        details=RunDetails(
            primary="nDCG@10", costs={"index_bytes": 1_250_000, "queries_per_second": 12.5}, latency_ms={"p50": 3.0}
        ),
    )
    store.runs.add(store.runs.ranking(known), facts)
    page = systems_page(Library(store), SystemsOptions())
    assert [(line.system, line.index_bytes, line.queries_per_second) for line in page.systems] == [
        ("newer", 1_250_000, 12.5)
    ]
    assert set(page.asked_others) == {"algorithmic", "hybrid", "multilingual"}
    store.close()


def test_over_several_collections_systems_are_ranked(tmp_path):
    from running import Server

    store = fill_store(tmp_path, n_queries=12, weeks=("2026-10-05",))
    for system in ("hybrid", "algorithmic"):
        known = store.runs.find(system, collection="doctor-finder")
        facts = RunFacts(
            system=system,
            started=known.started,
            collection=CollectionFacts(name="podcasts", queries=store.texts.queries(known.queries_sha256)),
            details=known.details,
        )
        store.runs.add(store.runs.ranking(known), facts)
    store.qrels.add(store.qrels.judgments(store.qrels.find("doctor-finder")), name="podcasts")
    server = Server(Library(store))
    page = json.loads(server.get("/systems.json?over=all").data)
    ranks = {row["system"]: row["mean_rank"] for row in page["leaderboard"]["rows"]}
    assert ranks == {"hybrid": 1.0, "algorithmic": 2.0, "multilingual": None}
    html = server.get("/systems?over=all").data.decode()
    assert "hybrid has the best mean rank" in html
    assert 'name="collection"' in html
    assert server.get("/systems?collection=podcasts&by=nothing").status == 400
    server.close()
    store.close()


def test_a_phone_scrolls_only_downwards(page):
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto("/systems")
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    page.get_by_label("Show all columns").check()
    assert page.evaluate("document.documentElement.scrollWidth") == 390
