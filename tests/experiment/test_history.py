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


def keep(store, docs_of, *, qrels, day, system="bm25", texts=None, config=None):
    labels = store.qrels.add(rs.Qrels(qrels), name="small")
    queries = {query: StoredQuery((texts or {}).get(query, f"text of {query}")) for query in docs_of}
    facts = RunFacts(
        system=system,
        config=config or {},
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


def test_judgments_of_new_queries_are_no_gain_of_the_system(store):
    """By hand: q2 was asked of both, but is judged only since. Printed was 1/2, today it is (1/2 + 1)/2 = 0.75 for
    both rankings, so all of the change is the labels'."""
    before = keep(store, {"q1": ["x", "a"], "q2": ["c"]}, qrels={"q1": {"a": 1}}, day=1)
    after = keep(store, {"q1": ["x", "a"], "q2": ["c"]}, qrels=Q1, day=2)
    found = diff_runs(store, before, after)
    assert (found.queries.n_common, found.queries.n_judged_since) == (2, 1)
    assert (found.change.total, found.change.system, found.change.labels) == (0.25, 0.0, 0.25)
    assert found.comparison is None  # the rankings are the same


def three_runs(store):
    """Runs of three days, each with other judgments: RR by hand, a run in a row, today's judgments in the last column.

    day 1: q1 [a, b], q2 [d, c]   under Q1 (1 + 1/2)/2 = 0.75    under Q3 (1/2 + 1)/2 = 0.75
    day 2: q1 [b, a], q2 [d, c]   under Q2 (1 + 1/2)/2 = 0.75    under Q3 (1 + 1)/2 = 1
    day 3: q1 [x, b], q2 [c, d]   under Q3 (1/2 + 1/2)/2 = 0.5
    """
    labels = (Q1, Q2, {"q1": {"a": 0, "b": 1}, "q2": {"d": 1}})
    rankings = (
        {"q1": ["a", "b"], "q2": ["d", "c"]},
        {"q1": ["b", "a"], "q2": ["d", "c"]},
        {"q1": ["x", "b"], "q2": ["c", "d"]},
    )
    return [
        keep(store, ranking, qrels=qrels, day=i)
        for i, (ranking, qrels) in enumerate(zip(rankings, labels, strict=True), 1)
    ]


def test_labels_that_change_twice(store):
    first, second, third = three_runs(store)
    history = history_of(store)
    [system] = history.systems
    assert [point.mean_then for point in system.points] == [0.75, 0.75, 0.5]
    assert [point.mean for point in system.points] == [0.75, 1.0, 0.5]
    # total, system, labels: of day 1 the labels change nothing in sum, of day 2 they add 0.25
    steps = [(change.total, change.system, change.labels) for point in system.points if (change := point.change)]
    assert steps == [(0.25, 0.25, 0.0), (-0.25, -0.5, 0.25)]
    assert (system.since, system.change.total, system.change.system) == (first.number, -0.25, -0.25)
    for change in [*(point.change for point in system.points[1:]), system.change]:
        assert change.total == pytest.approx(change.labels + change.system, abs=1e-15)
    # what was printed moved by 0 and -0.25, the system by +0.25 and -0.5: the rest was the labels
    assert [(step.printed, step.labels) for step in history.label_steps] == [(0.0, -0.25), (-0.25, 0.25)]
    assert (history.main, history.verdict.before, history.verdict.after) == ("bm25", first.number, third.number)
    assert history.verdict.difference == -0.25
    assert history.verdict.verdict == "too_few"  # two queries
    assert [(one.before, one.after, one.difference) for one in history.changes] == [
        (second.number, third.number, -0.5),
        (first.number, second.number, 0.25),
    ]
    assert type(history).from_json(history.to_json()) == history


def test_a_history_with_hardly_any_memory_is_the_same(store, monkeypatch):
    """Rankings that do not stay in memory are read again; what is said of a change is the same."""
    first, second, third = three_runs(store)
    with rs.open_store(store.location.path, read_only=True) as reader:  # in which nothing is kept
        usual = history_of(reader)
        monkeypatch.setattr("rankscope.experiment.stored_scoring.KEPT_ROWS", 1)
        assert history_of(reader) == usual
    assert [(one.before, one.after, one.difference) for one in usual.changes] == [
        (second.number, third.number, -0.5),
        (first.number, second.number, 0.25),
    ]


def test_a_history_begins_anew_with_other_queries(store):
    """The first run was asked one query, the others two: the change is told from the second on."""
    keep(store, {"q1": ["x", "a"]}, qrels=Q1, day=1)
    second = keep(store, {"q1": ["a"], "q2": ["d", "c"]}, qrels=Q1, day=2)
    keep(store, {"q1": ["a"], "q2": ["c"]}, qrels=Q1, day=3)
    history = history_of(store)
    [system] = history.systems
    assert [point.same_as_newest for point in system.points] == [False, True, True]
    assert (system.since, system.change.system, system.queries.n_added) == (second.number, 0.25, 1)
    assert [point.run for point in system.comparable] == [2, 3]
    assert [one.verdict for one in history.changes] == ["too_few", "not_comparable"]
    assert history.changes[1].words == "Not comparable: 1 query was added."
    assert history.changes[1].difference is None


def test_what_was_changed_is_told(store):
    before = keep(store, {"q1": ["a"]}, qrels=Q1, day=1, config={"k1": 0.9, "b": 0.4})
    after = keep(store, {"q1": ["b"]}, qrels=Q1, day=2, config={"k1": 1.2, "stemmer": "x" * 40})
    assert history_of(store).changes[0].what == f"b 0.4 to none, k1 0.9 to 1.2, stemmer none to {'x' * 23}…"
    assert diff_runs(store, before, after).notes[0].startswith("The options of the system have changed: b 0.4 to")


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
