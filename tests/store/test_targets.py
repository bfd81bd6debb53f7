"""Results of targets in the store: read back equal, only added to, with the stored run that they are about."""

from __future__ import annotations

from datetime import date

import rankscope as rs
from rankscope.records import replace
from rankscope.store import CollectionFacts, RunDetails, RunFacts, StoredQuery

QRELS = {"q1": {"a": 2, "b\udcff": 0}, "q2": {"c": 1}}
RUN = rs.Run({"q1": {"x": 3.0, "b\udcff": 2.0, "a": 1.0}, "q2": {"c": 1.0}}, name="new")
TARGETS = [
    {"name": "odd \\ ' \0 name", "query": "q1", "doc": "a", "top": 1, "owner": "us", "quarantine_until": "2026-12-31"},
    {"name": "floor", "measure": "RR", "at_least": 0.5, "weight": 2.5},
]


def checked(targets=TARGETS, today=date(2026, 11, 16)):
    report = rs.check(QRELS, {"new": RUN}, targets, today=today)
    return replace(report, results=tuple(replace(one, collection="small") for one in report.results))


def add_run(store):
    collection = CollectionFacts(
        name="small",
        queries={"q1": StoredQuery(), "q2": StoredQuery()},
        docs_sha256="0" * 64,
        qrels_sha256="1" * 64,
        counts={},
    )
    facts = RunFacts(
        system="new", type="python", config={}, collection=collection, started="2026-11-16T10:00:00.000000+00:00",
        details=RunDetails(),
    )  # fmt: skip
    return store.runs.add(RUN, facts)


def test_results_are_read_back_equal_with_their_run(store):
    run = add_run(store)
    report = checked()
    kept = store.targets.add(report, {("small", "new"): RUN})
    assert store.targets.list() == kept
    assert tuple(one.result for one in kept) == report.results
    assert tuple(one.target for one in kept) == report.targets
    assert {one.run for one in kept} == {run.number}
    assert [one.result.outcome for one in kept] == ["quarantined", "passed"]
    assert store.targets.list(name="floor") == kept[1:]
    assert store.targets.list(run=run.number) == kept
    assert store.targets.list(run=run.number + 1) == ()


def test_only_what_changed_is_added(store):
    add_run(store)
    runs = {("small", "new"): RUN}
    first = store.targets.add(checked(), runs)
    assert store.targets.add(checked(), runs) == first
    later = store.targets.add(checked(today=date(2027, 1, 1)), runs)
    assert [one.result.outcome for one in later] == ["failed", "passed"]
    assert store.targets.list() == (*first, later[0])
    assert store.targets.list(last=1) == later[:1]


def test_a_target_that_was_changed_is_another_one_and_the_old_stays(store):
    add_run(store)
    runs = {("small", "new"): RUN}
    store.targets.add(checked(TARGETS[1:]), runs)
    store.targets.add(checked([{**TARGETS[1], "at_least": 0.9}]), runs)
    floors = store.targets.list(name="floor")
    assert [(one.target.at_least, one.result.outcome) for one in floors] == [(0.5, "passed"), (0.9, "failed")]


def test_a_run_that_is_not_stored_has_no_number(store):
    kept = store.targets.add(checked(), {("small", "new"): RUN})
    assert {one.run for one in kept} == {None}
