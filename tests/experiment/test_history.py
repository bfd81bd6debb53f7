"""What changed between stored runs, with numbers worked out by hand."""

from __future__ import annotations

import pytest

import rankscope as rs
from rankscope.errors import InputError
from rankscope.experiment.history import diff_runs, history_of
from rankscope.store import CollectionFacts, RunDetails, RunFacts, StoredQuery

Q1 = {"q1": {"a": 1, "b": 0}, "q2": {"c": 1}}
Q2 = {"q1": {"a": 0, "b": 1}, "q2": {"c": 1}}
"""Today, b is relevant to q1 instead of a."""


@pytest.fixture
def store(tmp_path):
    with rs.open_store(tmp_path / "store.db", create=True) as store:
        yield store


def keep(store, docs_of, *, qrels, day, system="bm25", texts=None):
    labels = store.qrels.add(rs.Qrels(qrels), name="small")
    queries = {query: StoredQuery((texts or {}).get(query, f"text of {query}")) for query in docs_of}
    facts = RunFacts(
        system=system,
        collection=CollectionFacts(name="small", queries=queries, qrels_sha256=labels.judgments_sha256),
        started=f"2026-11-{day:02d}T10:00:00+00:00",
        details=RunDetails(primary="RR"),
    )
    return store.runs.add(rs.Run(docs_of), facts)


def test_a_change_is_taken_apart(store):
    """By hand: RR of the first run under Q1 is (1 + 1/2)/2 = 0.75, under Q2 (1/2 + 1/2)/2 = 0.5; of the second under
    Q2 (1 + 1/2)/2 = 0.75. So nothing seems to have changed, as the system gained 0.25 and the labels took 0.25."""
    before = keep(store, {"q1": ["a", "b"], "q2": ["d", "c"]}, qrels=Q1, day=1)
    after = keep(store, {"q1": ["b", "a"], "q2": ["d", "c"]}, qrels=Q2, day=2)
    found = diff_runs(store, before, after)
    assert found.measure == "RR"
    assert (found.before.mean_then, found.before.mean, found.after.mean) == (0.75, 0.5, 0.75)
    assert (found.change.total, found.change.system, found.change.labels) == (0.0, 0.25, -0.25)
    assert found.queries.n_common == 2
    pair = next(iter(found.comparison))
    assert pair.delta == 0.25  # the verdict is on the system's part
    history = history_of(store)
    [system] = history.systems
    assert [point.mean for point in system.points] == [0.5, 0.75]
    assert [point.mean_then for point in system.points] == [0.75, 0.75]
    assert system.points[1].change == found.change
    assert type(history).from_json(history.to_json()) == history
    assert type(found).from_json(found.to_json()) == found


def test_added_queries_are_no_gain(store):
    """By hand: on q1 both runs have RR 1/2; q2, which only the second was asked, would raise its mean to 0.75."""
    before = keep(store, {"q1": ["x", "a"]}, qrels=Q1, day=1)
    after = keep(store, {"q1": ["y", "a"], "q2": ["c"]}, qrels=Q1, day=2)
    with pytest.raises(InputError, match="not asked the same queries: 1 query was added"):
        diff_runs(store, before, after)
    found = diff_runs(store, before, after, anyway=True)
    assert (found.before.mean, found.after.mean) == (0.5, 0.75)
    assert found.change.total == found.change.system == found.change.labels == 0.0
    assert (found.queries.n_common, found.queries.n_added) == (1, 1)
    assert next(iter(found.comparison)).delta == 0.0


def test_a_query_with_other_words_is_another_query(store):
    before = keep(store, {"q1": ["a"], "q2": ["d", "c"]}, qrels=Q1, day=1)
    after = keep(store, {"q1": ["b"], "q2": ["c"]}, qrels=Q1, day=2, texts={"q1": "something else"})
    found = diff_runs(store, before, after, anyway=True)
    assert found.queries.n_changed == 1
    assert found.change.system == 0.5  # q2 alone: from 1/2 to 1
    assert found.queries.in_words == "1 query was changed in wording"


def test_judgments_of_new_queries_are_no_gain(store):
    """The second query was asked of both, but is judged only since."""
    before = keep(store, {"q1": ["x", "a"], "q2": ["c"]}, qrels={"q1": {"a": 1}}, day=1)
    after = keep(store, {"q1": ["x", "a"], "q2": ["c"]}, qrels=Q1, day=2)
    found = diff_runs(store, before, after)
    assert (found.queries.n_common, found.queries.n_judged_since) == (1, 1)
    assert found.change.total == 0.0
    assert found.comparison is None  # the rankings are the same


def test_runs_on_two_collections_are_refused(store):
    before = keep(store, {"q1": ["a"]}, qrels=Q1, day=1)
    facts = RunFacts(
        system="bm25",
        collection=CollectionFacts(name="other", queries={"q1": StoredQuery("x")}),
        started="2026-11-03T10:00:00+00:00",
    )
    other = store.runs.add(rs.Run({"q1": ["a"]}), facts)
    with pytest.raises(InputError, match="is on small, and run 2 on other"):
        diff_runs(store, before, other)


def test_judgments_that_are_taken_back_are_those_of_today(store):
    keep(store, {"q1": ["a", "b"], "q2": ["c"]}, qrels=Q1, day=1)
    store.qrels.add(rs.Qrels(Q2), name="small")
    assert history_of(store).systems[0].points[0].mean == 0.75
    again = store.qrels.add(rs.Qrels(Q1), name="small")
    assert store.qrels.add(rs.Qrels(Q1), name="small") == again
    assert history_of(store).systems[0].points[0].mean == 1.0
