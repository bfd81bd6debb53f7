"""Comparisons from runs to verdicts."""

import json
from pathlib import Path

import jsonschema
import numpy as np
import pytest

import rankscope as rs
from rankscope.comparison.compare import compare_scores
from rankscope.errors import InputError, MeasureError, OptionError, RankscopeWarning
from rankscope.measures.score_files import read_scores
from rankscope.report.comparison import report_of
from rankscope.report.comparison_json import comparison_table, json_schema
from rankscope.report.render import render
from rankscope.report.table import to_csv

SHARED = Path(__file__).parents[2].parent / "shared" / "data"
needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason="the folder of real test data is not here")


def perfect_at(rank, query):
    """Return a ranking of ten docs whose only relevant one, `good`, stands at a rank."""
    docs = [f"other{i}" for i in range(9)]
    docs.insert(rank - 1, "good")
    return {f"{doc}": 10.0 - i for i, doc in enumerate(docs)}


def qrels_for(queries, *, complete=True):
    others = {f"other{i}": 0 for i in range(9)} if complete else {}
    return {query: {"good": 1, **others} for query in queries}


QUERIES = [f"q{i:02}" for i in range(40)]
EVEN = {query: perfect_at(2 + i % 3, query) for i, query in enumerate(QUERIES)}
BETTER = {query: perfect_at(1 if i % 4 else 5, query) for i, query in enumerate(QUERIES)}


def test_a_clear_win_is_called_with_all_its_numbers():
    found = rs.compare(qrels_for(QUERIES), {"even": EVEN, "better": BETTER}, "RR@10 P@1")
    item = found["even", "better"]
    a = np.array([1 / (2 + i % 3) for i in range(40)])
    b = np.array([1.0 if i % 4 else 0.2 for i in range(40)])
    assert item.pair.delta == pytest.approx((b - a).mean())
    assert item.verdict.code == "better"
    assert (item.wins, item.losses) == (30, 10)
    assert (item.judged.a, item.judged.b) == (1, 1)
    assert (item.bounds.low, item.bounds.high) == (pytest.approx(item.pair.delta),) * 2
    assert item.movement.difference == pytest.approx(item.pair.delta)
    assert found.groups[0].exploratory(item)[0].measure == "P@1"
    assert found.groups[0].exploratory(item)[0].role == "exploratory"
    assert item.best[0].delta == pytest.approx(0.75)
    board = found.groups[0].leaderboard
    assert [(place.rank, place.system) for place in board] == [(None, "better"), (None, "even")]
    every = rs.compare(qrels_for(QUERIES), {"even": EVEN, "better": BETTER}, "RR@10", all_pairs=True)
    board = every.groups[0].leaderboard
    assert [(place.rank, place.system) for place in board] == [(1, "better"), (2, "even")]
    assert board[0].beats == ("even",)


@pytest.mark.parametrize(
    ("correction", "method"),
    [("maxt", "max t by sign flips"), ("bonferroni", "t, Bonferroni"), ("none", "sign flips")],
)
def test_only_intervals_of_the_family_are_named_after_its_correction(correction, method):
    kinds = {query: {"kind": "ab"[i % 2]} for i, query in enumerate(QUERIES)}
    runs = {"even": EVEN, "better": BETTER}
    found = rs.compare(qrels_for(QUERIES), runs, "RR@10 P@1", queries=kinds, by="kind", correction=correction)
    main, explored = found.groups[0].comparisons
    assert (main.ci.method, main.ci_equivalence.method) == (method, method)
    assert (explored.ci.method, explored.ci_equivalence.method) == ("sign flips", "sign flips")
    assert {part.ci.method for part in main.strata} == {"sign flips"}
    assert (main.p.correction, explored.p.correction) == (correction, "benjamini-hochberg")


def test_identical_runs_say_so():
    found = rs.compare(qrels_for(QUERIES), {"a": EVEN, "b": dict(EVEN)}, "nDCG@10")
    assert next(iter(found)).verdict.text == "The rankings are identical."
    other_names = {
        query: {doc: score for doc, score in docs.items() if doc != "other8"} for query, docs in EVEN.items()
    }
    found = rs.compare(qrels_for(QUERIES), {"a": EVEN, "b": other_names}, "nDCG@10")
    assert next(iter(found)).verdict.text == "No query's score differs."


def test_queries_that_a_run_does_not_answer_count_as_empty_and_are_named():
    partial = {query: docs for query, docs in BETTER.items() if query not in ("q03", "q07")}
    with pytest.warns(RankscopeWarning, match="does not answer 2"):
        found = rs.compare(qrels_for(QUERIES), {"even": EVEN, "partial": partial}, "RR@10")
    item = next(iter(found))
    assert item.missing.b == ("q03", "q07")
    assert item.pair.n_queries == 40
    assert "does not answer 2 queries (counted as empty): q03, q07." in render(report_of(found), "text")


def unjudged_setting():
    """Return qrels that do not know a second run's favourites, which it puts first."""
    rng = np.random.default_rng(1)
    qrels, first, second = {}, {}, {}
    for query in QUERIES:
        known = [f"d{i}" for i in range(10)]
        qrels[query] = {doc: int(rng.random() < (0.6 if i < 6 else 0.1)) for i, doc in enumerate(known)}
        first[query] = {doc: 10.0 - i for i, doc in enumerate(known)}
        second[query] = {doc: 10.0 - i for i, doc in enumerate([*(f"new{i}" for i in range(4)), *known[:6]])}
    return qrels, {"first": first, "second": second}


def test_missing_judgments_forbid_a_verdict_and_the_docs_to_judge_settle_it():
    qrels, runs = unjudged_setting()
    before = rs.compare(qrels, runs, "P@10")["first", "second"]
    assert before.judged.b == pytest.approx(0.6)
    assert before.unjudged.system == "second"
    assert before.verdict.code == "not_safe"
    assert before.settle
    for grade in (0, 1):  # whatever the judge says, there is a verdict afterwards
        judged = {query: dict(docs) for query, docs in qrels.items()}
        for doc in before.settle:
            judged[doc.query][doc.doc] = grade
        after = rs.compare(judged, runs, "P@10")["first", "second"]
        assert after.verdict.code in ("better", "worse", "probably_better", "probably_worse", "same", "cannot_tell")
        assert not after.settle


def test_qrels_of_relevant_docs_only_leave_nothing_uncertain_unless_asked():
    runs = {"even": EVEN, "better": BETTER}
    usual = rs.compare(qrels_for(QUERIES, complete=False), runs, "RR@10")
    assert next(iter(usual)).verdict.code == "better"
    assert "hold relevant docs only" in usual.notes[0]
    strict = rs.compare(qrels_for(QUERIES, complete=False), runs, "RR@10", unjudged="uncertain")
    item = next(iter(strict))
    # the relevant doc is unjudged for nobody, and no other doc that even alone retrieved could be relevant
    assert item.judged.a == pytest.approx(0.1)
    assert item.unjudged is not None


ATTRIBUTES = {query: {"kind": "keyword" if i % 4 == 0 else "question"} for i, query in enumerate(QUERIES)}


def test_strata_are_reported_separately_and_marked_where_they_differ():
    found = rs.compare(qrels_for(QUERIES), {"even": EVEN, "better": BETTER}, "RR@10", by="kind", queries=ATTRIBUTES)
    parts = {part.value: part for part in next(iter(found)).strata if part.requested}
    assert parts["keyword"].n_queries == 10
    assert parts["keyword"].delta < 0 < parts["question"].delta
    assert parts["keyword"].stands_out
    assert parts["question"].wins == 30


@pytest.mark.parametrize("names", [("de", "en"), ("DE", "EN")])
def test_languages_are_never_pooled_unless_asked(names):
    languages = {query: {"language": names[i >= 20]} for i, query in enumerate(QUERIES)}
    runs = {"even": EVEN, "better": BETTER}
    apart = rs.compare(qrels_for(QUERIES), runs, "RR@10", queries=languages)
    assert [group.name for group in apart.groups] == list(names)
    assert next(iter(apart)).pair.p.family_size == 2
    pooled = rs.compare(qrels_for(QUERIES), runs, "RR@10", queries=languages, pool=True)
    assert [(group.name, group.pooled) for group in pooled.groups][-1] == ("all languages pooled", True)
    assert [set(spread.by_language) for spread in pooled.languages] == [set(names)] * 2
    assert [(item.judged.a, item.judged.b) for item in apart] == [(1, 1), (1, 1)]
    assert [item.movement.difference for item in apart] == [pytest.approx(item.pair.delta) for item in apart]
    spread = {s.system: s for s in apart.languages}["even"]
    means = np.array([np.mean([1 / (2 + i % 3) for i in range(20)]), np.mean([1 / (2 + i % 3) for i in range(20, 40)])])
    assert spread.mean == pytest.approx(means.mean())
    assert spread.variance == pytest.approx(np.var(means))


def test_all_pairs_and_corrections():
    runs = {"even": EVEN, "better": BETTER, "same": dict(EVEN)}
    found = rs.compare(qrels_for(QUERIES), runs, "RR@10", all_pairs=True)
    assert found.baseline is None
    assert found.correction == "maxt"
    assert len(list(found)) == 3
    for wrong in ("tukey", "holm", "magic"):
        with pytest.raises(OptionError, match=wrong):
            rs.compare(qrels_for(QUERIES), runs, "RR@10", correction=wrong)
    for word in ("maxt", "bonferroni", "none"):
        item = rs.compare(qrels_for(QUERIES), runs, "RR@10", correction=word)["even", "better"]
        assert item.pair.p.adjusted <= 0.05
        assert item.verdict.code == "better"


def test_what_cannot_be_compared_is_said():
    qrels = qrels_for(QUERIES)
    with pytest.raises(InputError, match="at least two systems"):
        rs.compare(qrels, {"a": EVEN})
    with pytest.raises(OptionError, match="no run 'c'"):
        rs.compare(qrels, {"a": EVEN, "b": BETTER}, baseline="c")
    with pytest.raises(MeasureError, match="no measure 'APP'"):
        rs.compare(qrels, {"a": EVEN, "b": BETTER}, "RR@10", primary="APP")
    with pytest.raises(OptionError, match="attributes of queries are not given"):
        rs.compare(qrels, {"a": EVEN, "b": BETTER}, by="language")
    with pytest.raises(OptionError, match="unjudged"):
        rs.compare(qrels, {"a": EVEN, "b": BETTER}, unjudged="maybe")


def test_the_measure_that_decides_is_always_measured():
    qrels, runs = qrels_for(QUERIES), {"a": EVEN, "b": BETTER}
    found = rs.compare(qrels, runs, "RR@10", primary="AP")
    assert found.scores.measures == ("AP", "RR@10")
    assert next(iter(found)).pair.measure == "AP"
    assert found == rs.compare(qrels, runs, ["AP", "RR@10"])
    kept = rs.compare(qrels, runs, "RR@10 AP", primary=rs.AP)
    assert kept.scores.measures == ("RR@10", "AP")
    followed = rs.compare(qrels, runs, primary="nDCG@20", profile="gdeval")
    assert followed.scores.measures == ("nDCG(gain='exp2')@20", "ERR(max_grade=4)@20")


def test_the_record_follows_its_schema_and_holds_no_nan():
    found = rs.compare(qrels_for(QUERIES), {"even": EVEN, "better": BETTER}, "RR@10 P@1", by="kind", queries=ATTRIBUTES)
    record = json.loads(found.to_json())
    jsonschema.Draft202012Validator(json_schema()).validate(record)
    assert record == json.loads(json.dumps(found.to_dict()))
    primary = record["groups"][0]["comparisons"][0]
    assert primary["verdict"]["code"] == "better"
    assert primary["p"]["family_size"] == 1
    rows = to_csv(comparison_table(found)).splitlines()
    assert len(rows) == 3
    assert rows[1].startswith(",even,better,RR@10,primary,40,")


def test_every_rendering_says_the_same():
    found = rs.compare(qrels_for(QUERIES), {"even": EVEN, "better": BETTER}, "RR@10 P@1", by="kind", queries=ATTRIBUTES)
    for form in ("text", "markdown", "html", "latex"):
        text = render(report_of(found), form)
        for words in (
            "Use better: it is better than even",
            "By stratum",
            "Why it moved",
            "sign flips of the mean difference",
        ):
            assert words in text, (form, words)


def test_other_tests_are_added_on_request_and_decide_nothing():
    runs = {"even": EVEN, "better": BETTER}
    found = rs.compare(qrels_for(QUERIES), runs, "P@1", also="wilcoxon,sign,mcnemar")
    tests = {test.method: test for test in next(iter(found)).also_tested}
    assert tests["exact McNemar"].p == pytest.approx(2 * 0.5**30)  # 30 wins, no loss
    assert "not the mean" in tests["Wilcoxon signed-rank"].caveat
    text = render(report_of(found), "text")
    assert "Other tests, not adjusted, which decide nothing" in text
    with pytest.raises(OptionError, match="test 'wilcox' is not one of"):
        rs.compare(qrels_for(QUERIES), runs, "P@1", also="wilcox")


def test_reciprocal_ranks_are_also_shown_as_ranks():
    found = rs.compare(qrels_for(QUERIES), {"even": EVEN, "better": BETTER}, "RR@10")
    lines = [line.split() for line in render(report_of(found), "text").splitlines()]
    # even has its doc at ranks 2, 3 and 4 in turn; better at 1, and at 5 for every fourth query
    assert ["1", "0", "30"] in lines
    assert ["2-3", "27", "0"] in lines
    assert ["4-10", "13", "10"] in lines
    assert ["not", "found", "0", "0"] in lines


def test_an_answer_depends_on_the_seed_alone():
    runs = {"even": EVEN, "better": BETTER}
    first, second = (rs.compare(qrels_for(QUERIES), runs, "RR@10", seed=7).to_dict() for _ in range(2))
    assert first == second
    assert first["settings"]["seed"] == 7


def test_a_page_of_many_systems_and_queries_stays_light(tmp_path):
    rng = np.random.default_rng(0)
    names, hard = [f"system-{i:02}" for i in range(50)], rng.random(1_000)
    rows = [",".join(f"{x:.4f}" for x in np.clip(h + rng.normal(0, 0.2, 50), 0, 1)) for h in hard]
    table = "".join(f"q{i:04},{row}\n" for i, row in enumerate(rows))
    (tmp_path / "scores.csv").write_text(f"query,{','.join(names)}\n{table}")
    scores = read_scores([tmp_path / "scores.csv"], measure="nDCG@10")
    page = render(report_of(compare_scores(scores, all_pairs=True, n_resamples=999)), "html")
    assert len(page.encode()) < 1_000_000
    assert "q0999" in page


@needs_shared
def test_143_systems_each_with_each():
    path = SHARED / "runs" / "trec-covid-round1" / "per_topic_nDCG@10_all143.csv"
    scores = read_scores([path], measure="nDCG@10")
    found = compare_scores(scores, all_pairs=True)
    assert len(list(found)) == 143 * 142 // 2
    board = found.groups[0].leaderboard
    assert board[0].system == "run1"  # the official leaderboard's first, nDCG@10 0.6844
    assert board[0].mean == pytest.approx(0.6844, abs=5e-5)
    assert board[0].rank == 1
    assert all(item.p.adjusted is not None for item in found)


@needs_shared
def test_scifact_runs_rank_as_published():
    qrels = SHARED / "collections" / "scifact" / "qrels.trec"
    runs = sorted((SHARED / "runs" / "scifact-local" / "runs").glob("*.gz"))
    found = rs.compare(qrels, list(runs), "nDCG@10 AP", baseline="bm25-k1.2-b.75")
    means = {place.system: place.mean for place in found.groups[0].leaderboard}
    assert means["bm25-k1.2-b.75"] == pytest.approx(0.6791, abs=5e-5)
    assert found["bm25-k1.2-b.75", "rrf-bm25-minilm"].verdict.code in ("better", "probably_better")
    assert found["bm25-k1.2-b.75", "use-multilingual-v3"].verdict.code == "worse"
