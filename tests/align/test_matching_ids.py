"""Ids that match nothing: refused where that is sure, told of where it may be chance, and never seen where one matches."""

from __future__ import annotations

import subprocess
import sys
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankscope as rs
from rankscope.errors import InputError, NoOverlapError, RankscopeWarning

N = 12
QRELS = {f"q{i}": {f"d{i}": 1, f"e{i}": 0} for i in range(N)}
PREFIXED = {f"q{i}": {f"doc-d{i}": 2.5, f"doc-e{i}": 1.5} for i in range(N)}
STRANGE = {f"q{i}": {f"{i * 7919:x}-{i}": 2.5} for i in range(N)}
SPARSE = {f"q{i}": {f"d{i}": 1} for i in range(N)}


def missing_all(n: int = N) -> dict[str, dict[str, float]]:
    """Return a run that finds for each query only the doc that is relevant to the next one."""
    return {f"q{i}": {f"d{(i + 1) % n}": 2.5, f"z{i}": 1.5} for i in range(n)}


def test_a_prefix_is_an_error_that_says_what_validate_would(engine):
    with pytest.raises(InputError) as caught:
        rs.evaluate(QRELS, {"mine": PREFIXED}, "nDCG@10")
    assert caught.value.message.startswith(
        'mine: doc ids differ only by the prefix "doc-" in the run: 0 of 24 judged docs are retrieved, 24 would match\n'
    )
    assert '  run "doc-d0" ~ qrels "d0"' in caught.value.message
    assert "write the ids of both files the same way" in caught.value.hint
    assert "--anyway (in Python anyway=True)" in caught.value.hint


def test_ids_of_another_collection_are_an_error_that_shows_both_sides(engine):
    with pytest.raises(InputError, match="0 of 24 judged docs are retrieved") as caught:
        rs.evaluate(QRELS, STRANGE, "nDCG@10")
    assert '  qrels: "d0", "e0", "d1"\n  run: "0-0", "1eef-1", "3dde-2"' in caught.value.message


def test_the_run_at_fault_is_named_among_several():
    with pytest.raises(InputError, match=r"^theirs: "):
        rs.evaluate(QRELS, {"ours": missing_all(), "theirs": PREFIXED}, "nDCG@10")


@pytest.mark.parametrize("ask", [rs.evaluate, rs.diagnose], ids=["evaluate", "diagnose"])
def test_anyway_makes_it_a_warning(ask):
    with pytest.raises(InputError, match="differ only by"):
        ask(QRELS, PREFIXED)
    with pytest.warns(RankscopeWarning, match='run: doc ids differ only by the prefix "doc-"') as caught:
        ask(QRELS, PREFIXED, anyway=True)
    assert caught[0].filename == __file__


def test_with_anyway_it_is_scored():
    with pytest.warns(RankscopeWarning, match="differ only by"):
        scores = rs.evaluate(QRELS, PREFIXED, "nDCG@10", anyway=True)
    assert scores.mean()["run"]["nDCG@10"].value == 0.0


def test_compare_refuses_it_too_unless_told_otherwise():
    runs = {"ours": {query: dict.fromkeys(docs, 1.5) for query, docs in QRELS.items()}, "theirs": PREFIXED}
    with pytest.raises(InputError, match=r"^theirs: doc ids differ only by"):
        rs.compare(QRELS, runs, "nDCG@10")
    with pytest.warns(RankscopeWarning, match="theirs: doc ids differ only by"):
        assert rs.compare(QRELS, runs, "nDCG@10", anyway=True).baseline == "ours"


def test_explain_only_warns():
    with pytest.warns(RankscopeWarning, match="differ only by"):
        assert rs.explain(QRELS, PREFIXED, "q3", "nDCG@10").score == 0


def test_missing_every_relevant_doc_is_no_mismatch_where_few_are_judged(engine):
    """Each retrieved doc is unjudged for its own query, but the ids are judged for other queries."""
    assert rs.evaluate(SPARSE, missing_all(), "nDCG@10").mean()["run"]["nDCG@10"].value == 0


def test_a_doc_below_the_depth_is_enough(engine):
    run = {query: {f"x{query}": 3.5, f"y{query}": 2.5} for query in QRELS}
    run["q0"]["d5"] = 1.5
    assert rs.evaluate(QRELS, run, "nDCG@10", depth=2).mean()["run"]["nDCG@10"].value == 0


def test_a_doc_of_a_query_without_judgments_is_enough(engine):
    run = {**STRANGE, "not judged": {"d1": 0.5}}
    assert rs.evaluate(QRELS, run, "nDCG@10")["run"].counts.not_in_qrels == 1


def test_with_judged_only_nothing_is_left_to_count_but_it_is_found_all_the_same(engine):
    with pytest.raises(InputError, match="differ only by"):
        rs.evaluate(QRELS, PREFIXED, "nDCG@10", judged_only=True)
    assert rs.evaluate(SPARSE, missing_all(), "nDCG@10", judged_only=True)["run"].counts.retrieved == 0


def test_docs_that_were_pooled_but_not_judged_are_known(engine):
    pooled = {query: dict.fromkeys(docs, -1) for query, docs in QRELS.items()}
    found = {query: dict.fromkeys(docs, 0.5) for query, docs in QRELS.items()}
    assert rs.evaluate(pooled, found, "Judged@10")["run"].counts.unjudged == 2 * N


def test_a_run_that_retrieves_nothing_is_not_a_mismatch(engine):
    empty = {query: {} for query in QRELS}
    assert rs.evaluate(QRELS, empty, "nDCG@10")["run"].counts.retrieved == 0


def test_a_query_s_own_doc_that_is_dropped_is_no_mismatch():
    run = {query: {query: 2.5, "d1": 1.5} for query in QRELS}
    assert rs.evaluate(QRELS, run, "nDCG@10", self_match="drop")["run"].counts.retrieved == N


@pytest.mark.parametrize(
    ("qrels", "run"),
    [
        ({"q": {"apple": 1, "pear": 0}}, {"q": {"plum": 1.5, "fig": 0.5}}),
        ({"q": {"d1": 1, "d2": 0}}, {"q": {"x1": 1.5, "x2": 0.5}}),
        (
            {f"q{i}": {f"{i}a": 1} for i in range(9)},
            {f"q{i}": {f"{j}b{i}": 1.5 + j for j in range(20)} for i in range(9)},
        ),
        ({f"q{i}": {f"{j}a{i}": 1 for j in range(20)} for i in range(9)}, {f"q{i}": {f"{i}b": 1.5} for i in range(9)}),
    ],
    ids=["words", "numbers with letters of their own", "few judged", "few retrieved"],
)
def test_of_few_ids_it_is_only_a_warning(qrels, run, engine):
    with pytest.warns(RankscopeWarning, match="judged docs are retrieved"):
        rs.evaluate(qrels, run, "nDCG@10")


@pytest.mark.parametrize(
    ("judged", "retrieved", "difference"),
    [("7", "007", "leading zeros"), ("PMC7", "pmc7", "upper and lower case"), ("7", "7.0", "a final .0")],
)
def test_of_few_ids_a_difference_of_spelling_is_an_error(judged, retrieved, difference):
    with pytest.raises(InputError, match=f"doc ids differ only by {difference}"):
        rs.evaluate({"q": {judged: 1}}, {"q": {retrieved: 1.5}}, "nDCG@10")


def test_ten_ids_on_either_side_are_enough():
    def disjoint(n: int) -> tuple[dict, dict]:
        return (
            {"q": {f"{2 ** (i + 20)}": 1 for i in range(n)}},
            {"q": {f"{3 ** (i + 20)}x": 1.5 + i for i in range(n)}},
        )

    with pytest.warns(RankscopeWarning, match="0 of 9 judged"):
        rs.evaluate(*disjoint(9), "nDCG@10")
    with pytest.raises(InputError, match="0 of 10 judged"):
        rs.evaluate(*disjoint(10), "nDCG@10")


def test_measures_that_look_at_the_docs_alone_need_no_judged_doc():
    vectors = {doc: [1.0, float(i)] for i, docs in enumerate(STRANGE.values()) for doc in docs}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rs.evaluate(QRELS, STRANGE, "ILD@10", embeddings=vectors, undefined="zero")
    with pytest.raises(InputError, match="judged docs are retrieved"):
        rs.evaluate(QRELS, STRANGE, ["ILD@10", "P@10"], embeddings=vectors)


def test_queries_that_differ_by_a_prefix_are_shown_side_by_side(engine):
    with pytest.raises(NoOverlapError) as caught:
        rs.evaluate({"1": {"a": 1}, "2": {"a": 1}}, {"q1": {"a": 1.5}, "q2": {"a": 1.5}}, "RR")
    assert caught.value.hint == (
        'query ids differ only by the prefix "q" in the run (run "q1" ~ qrels "1"): write them the same way in both'
    )


def test_what_checks_ids_is_not_loaded_where_they_match():
    code = (
        "import sys, rankscope as rs; rs.evaluate({'q': {'a': 1}}, {'q': {'a': 0.5, 'b': 0.25}}, 'nDCG@10');"
        "sys.exit(any(name.startswith('rankscope.analysis.validate') for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


IDS = st.sampled_from([f"d{i}" for i in range(8)] + [f"x{i}" for i in range(8)])
QUERIES = st.sampled_from(["q1", "q2", "q3"])


@given(
    qrels=st.dictionaries(QUERIES, st.dictionaries(IDS, st.sampled_from([-1, 0, 1]), min_size=1), min_size=1),
    run=st.dictionaries(QUERIES, st.dictionaries(IDS, st.floats(0, 1)), min_size=1),
    policies=st.fixed_dictionaries({}, optional={"judged_only": st.booleans(), "depth": st.integers(1, 3)}),
)
def test_something_is_said_exactly_where_no_retrieved_doc_is_judged_for_any_query(qrels, run, policies):
    if qrels.keys().isdisjoint(run):
        return
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            rs.evaluate(qrels, run, "nDCG@10", **policies)
            said = any("judged docs are retrieved" in str(entry.message) for entry in caught)
        except InputError:
            said = True
    judged = {doc for docs in qrels.values() for doc in docs}
    retrieved = {doc for docs in run.values() for doc in docs}
    assert said == (bool(retrieved) and judged.isdisjoint(retrieved))
