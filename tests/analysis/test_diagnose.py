"""Diagnosis: every finding on small rankings whose numbers are worked out by hand, with and without the symptom."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import numpy as np
import pytest
import scipy.stats
from statsmodels.stats.multitest import multipletests

import rankscope as rs
from rankscope.analysis.diagnose import Diagnosis
from rankscope.analysis.diagnose.checks import CHECKS, severity_of
from rankscope.analysis.diagnose.records import DiagnosisFinding
from rankscope.errors import GradeError, InputError, OptionError
from rankscope.measures.parse import parse_measure
from rankscope.report.diagnosis import shares_block

LOG3 = math.log2(3)
NOTHING_FOUND = pytest.mark.filterwarnings("ignore:.*judged docs are retrieved:rankscope.errors.RankscopeWarning")
"""For rankings that hold no judged doc at all, of which a warning tells."""


def ranked(*docs: str) -> dict[str, float]:
    """Return docs as a ranking, best first."""
    return {doc: 1000.0 - i for i, doc in enumerate(docs)}


def fill(n: int, prefix: str = "x") -> list[str]:
    """Return docs that nobody judged."""
    return [f"{prefix}{i}" for i in range(n)]


def diagnosed(grades: dict[str, float], docs: list[str], **options: object) -> Diagnosis:
    """Diagnose a run of a single query."""
    return rs.diagnose({"q": grades}, {"q": ranked(*docs)}, **options)


def found(diagnosis: Diagnosis) -> dict[str, DiagnosisFinding]:
    return {finding.code: finding for finding in diagnosis.findings}


def relevant(n: int, grade: int = 1, prefix: str = "r") -> dict[str, int]:
    return {f"{prefix}{i}": grade for i in range(n)}


BAD = {"b0": 0, "b1": 0, "b2": 0}


# ------------------------------------------------------------------------------------ slices by intent and clarity

CLEAR, VAGUE = (1, 1, 1, 2, 1, 1), (4, 3, 5, 4, 3, 4)
"""At which rank the one relevant doc stands, for clear queries and for vague ones."""


@pytest.fixture
def clear_and_vague():
    ranks = {f"q{i:02}": rank for i, rank in enumerate([*CLEAR, *VAGUE])}
    qrels = {query: {"r": 1, "b": 0} for query in ranks}
    run = {query: ranked(*fill(rank - 1), "r", "b") for query, rank in ranks.items()}
    queries = {
        query: {"text": "x", "clarity": "clear" if i < 6 else "vague", "intent": "book" if i % 2 else "ask", "size": i}
        for i, query in enumerate(ranks)
    }
    return qrels, run, queries


def test_slices_by_clarity_and_intent(clear_and_vague):
    qrels, run, queries = clear_and_vague
    diagnosis = rs.diagnose(qrels, run, queries=queries)
    assert [(one.attribute, one.value, one.n_queries) for one in diagnosis.slices] == [
        ("clarity", "clear", 6), ("clarity", "vague", 6), ("intent", "ask", 6), ("intent", "book", 6),
    ]  # fmt: skip
    gains = [[1 / math.log2(rank + 1) for rank in ranks] for ranks in (CLEAR, VAGUE)]
    clear, vague, ask, book = diagnosis.slices
    assert clear.losses.score == pytest.approx(np.mean(gains[0]))
    assert clear.score_of_others == vague.losses.score == pytest.approx(np.mean(gains[1]))
    assert (clear.losses.not_retrieved, vague.recall) == (0, 1)
    assert vague.losses.order == pytest.approx(1 - np.mean(gains[1]))
    every = [*gains[0], *gains[1]]
    welch = [
        scipy.stats.ttest_ind(*pair, equal_var=False).pvalue
        for pair in (gains, gains[::-1], (every[::2], every[1::2]), (every[1::2], every[::2]))
    ]
    assert [one.p for one in (clear, vague, ask, book)] == pytest.approx(welch)
    adjusted = multipletests(welch, method="fdr_bh")[1]
    assert [one.p_adjusted for one in (clear, vague, ask, book)] == pytest.approx(list(adjusted))
    [finding] = [one for one in diagnosis.findings if one.code == "weak_slice"]
    assert finding.what == f"clarity vague: nDCG@10 is {np.mean(gains[1]):.2f}, that of all other queries {np.mean(gains[0]):.2f}"  # fmt: skip
    assert finding.examples[0].query == "q08"  # at rank 5
    assert "clarity" in finding.helps
    assert rs.diagnose(qrels, run).slices == ()


def test_a_slice_is_weak_also_where_no_score_varies_within():
    ranks = {f"q{i:02}": 1 if i < 12 else 5 for i in range(20)}
    qrels = {query: {"r": 1} for query in ranks}
    run = {query: ranked(*fill(rank - 1), "r") for query, rank in ranks.items()}
    queries = {query: {"clarity": "clear" if rank == 1 else "vague"} for query, rank in ranks.items()}
    diagnosis = rs.diagnose(qrels, run, queries=queries)
    exact = scipy.stats.fisher_exact([[12, 0], [0, 8]]).pvalue  # 1 of 125,970 choices of 8 queries
    assert [one.p for one in diagnosis.slices] == pytest.approx([exact, exact])
    [finding] = [one for one in diagnosis.findings if one.code == "weak_slice"]
    assert (finding.n_queries, finding.severity) == (8, "serious")  # one query in five or more


def test_slices_by_other_attributes_only_where_asked_for(clear_and_vague):
    qrels, run, queries = clear_and_vague
    assert {one.attribute for one in rs.diagnose(qrels, run, queries=queries, by="size").slices} == {"size"}
    few = {query: {"clarity": "clear" if i < 4 else "vague"} for i, query in enumerate(queries)}
    assert rs.diagnose(qrels, run, queries=few).slices[0].p is None  # four queries are too few
    with pytest.raises(InputError, match="no attribute 'goal'"):
        rs.diagnose(qrels, run, queries=queries, by="goal")
    with pytest.raises(OptionError, match="by is given, but no queries"):
        rs.diagnose(qrels, run, by="size")


# ---------------------------------------------------------------------------------------- findings, one by one


def test_not_answered():
    qrels = {"a": {"r0": 1, "b0": 0}, "b": {"r0": 1, "r1": 1}}
    finding = found(rs.diagnose(qrels, {"a": ranked("r0", "b0")}))["not_answered"]
    assert (finding.n_queries, finding.of_queries, finding.severity) == (1, 2, "serious")
    assert [(one.query, one.words) for one in finding.examples] == [("b", "2 relevant docs, no answer")]
    assert "not_answered" not in found(rs.diagnose(qrels, {"a": ranked("r0"), "b": ranked("r0", "r1")}))
    assert "not_answered" not in found(rs.diagnose(qrels, {"a": ranked("r0", "b0")}, missing="skip"))


@NOTHING_FOUND
def test_zero_hits():
    finding = found(diagnosed(relevant(4), fill(7)))["zero_hits"]
    assert finding.examples[0].words == "4 relevant, none among 7 retrieved"
    assert finding.examples[0].numbers["first"] is None
    assert "zero_hits" not in found(diagnosed(relevant(4), [*fill(6), "r3"]))


def test_a_query_that_is_not_answered_is_not_a_zero_hit():
    qrels = {"a": {"r0": 1}, "b": {"r0": 1}}
    codes = found(rs.diagnose(qrels, {"a": ranked("r0")}))
    assert "not_answered" in codes
    assert "zero_hits" not in codes


@NOTHING_FOUND
def test_pool_ceiling():
    # 1 of 2 relevant docs retrieved: at best 1 / (1 + 1/log2 3) = 0.6131
    diagnosis = diagnosed(relevant(2), ["x0", "r0", "x1"])
    finding = found(diagnosis)["pool_ceiling"]
    assert finding.examples[0].numbers["ceiling"] == pytest.approx(1 / (1 + 1 / LOG3))
    assert finding.examples[0].numbers["score"] == pytest.approx((1 / LOG3) / (1 + 1 / LOG3))
    assert finding.examples[0].words == "nDCG@10 is 0.387 and cannot exceed 0.613: 1 of 2 relevant docs retrieved"
    # 3 of 4: (1 + 0.6309 + 0.5) / (1 + 0.6309 + 0.5 + 0.4307) = 0.832, above 0.8
    assert "pool_ceiling" not in found(diagnosed(relevant(4), ["r0", "r1", "r2", "x0"]))
    # nothing at all is a finding of its own
    assert "pool_ceiling" not in found(diagnosed(relevant(4), fill(5)))


def test_precise_but_incomplete():
    # 2 of the first 3 are relevant, but only 2 of 4 were retrieved
    finding = found(diagnosed(relevant(4), ["r0", "x0", "r1", *fill(8, "y")]))["precise_but_incomplete"]
    assert finding.examples[0].words == "2 of 4 relevant docs among 11 retrieved"
    # 3 of 5 is a recall of 0.6, which is not below it
    assert "precise_but_incomplete" not in found(diagnosed(relevant(5), ["r0", "x0", "r1", "r2", *fill(8, "y")]))
    # 1 of the first 3 is not a good top
    assert "precise_but_incomplete" not in found(diagnosed(relevant(4), ["r0", "x0", "x1", "r1"]))


def test_many_relevant_docs_below_a_full_top_are_no_fault():
    # R@10 is only 0.1, yet every place of the top 10 is taken by a relevant doc and all 100 are in the list
    diagnosis = diagnosed(relevant(100) | BAD, [*relevant(100), *BAD])
    assert {finding.code for finding in diagnosis.findings} == {"few_queries"}
    assert diagnosis.recall == pytest.approx(0.1)
    assert diagnosis.losses.score == pytest.approx(1)
    assert diagnosis.is_fine


def test_ranked_low():
    finding = found(diagnosed(relevant(3), ["r0", *fill(12), "r1", "r2"]))["ranked_low"]
    assert finding.examples[0].words == "1 of 3 relevant docs in the top 10; 2 further down, from rank 14 on"
    # 1 of 10 relevant docs just missed the cut: a tenth of what the top could hold, below the fifth that counts
    nine = list(relevant(9))
    assert "ranked_low" not in found(diagnosed(relevant(10), [*nine, "x0", "r9"]))
    # not retrieved is another matter
    assert "ranked_low" not in found(diagnosed(relevant(3), ["r0", *fill(12)]))


@NOTHING_FOUND
def test_first_hit_late():
    finding = found(diagnosed(relevant(1), [*fill(3), "r0"]))["first_hit_late"]
    assert finding.examples[0].words == "first relevant doc at rank 4"
    assert "first_hit_late" not in found(diagnosed(relevant(1), [*fill(2), "r0"]))
    assert "first_hit_late" not in found(diagnosed(relevant(1), fill(9)))


def test_poor_order():
    # grades 1, 2, 3 upside down: (1 + 2/log2 3 + 3/2) / (3 + 2/log2 3 + 1/2) = 3.7619 / 4.7619 = 0.79, so 0.21 is lost
    grades = {"a": 3, "b": 2, "c": 1, "b0": 0}
    finding = found(diagnosed(grades, ["c", "b", "a"]))["poor_order"]
    assert finding.examples[0].numbers["score"] == pytest.approx((1 + 2 / LOG3 + 1.5) / (3 + 2 / LOG3 + 0.5))
    assert finding.examples[0].words == "nDCG@10 0.79, in the best order of the same docs 1.00"
    assert "poor_order" not in found(diagnosed(grades, ["b", "a", "c"]))  # (2 + 3/log2 3 + .5) / 4.76 = 0.92
    # a single relevant doc in the top is a matter of the first hit
    assert "poor_order" not in found(diagnosed(relevant(1), ["x0", "x1", "r0"]))


def test_bad_at_rank_1():
    finding = found(diagnosed(relevant(1) | BAD, ["b0", "r0"]))["bad_at_rank_1"]
    assert finding.examples[0].words == "first relevant doc at rank 2; 1 of the first 3 judged non-relevant"
    assert "bad_at_rank_1" not in found(diagnosed(relevant(1) | BAD, ["x0", "b0", "r0"]))  # unjudged is not bad
    assert "bad_at_rank_1" not in found(diagnosed(relevant(1) | BAD, ["r0", "b0"]))


def test_bad_in_top_3():
    finding = found(diagnosed(relevant(1) | BAD, ["r0", "b0", "b1"]))["bad_in_top_3"]
    assert finding.examples[0].words == "2 of the first 3 judged non-relevant; first relevant doc at rank 1"
    assert "bad_in_top_3" not in found(diagnosed(relevant(1) | BAD, ["r0", "b0", "x0", "b1"]))


def test_bad_results_without_any_relevant_one():
    finding = found(diagnosed(relevant(1) | BAD, ["b0", "b1"]))["bad_in_top_3"]
    assert finding.examples[0].words == "2 of the first 3 judged non-relevant; no relevant doc retrieved"


def test_a_grade_below_the_threshold_is_a_bad_result():
    finding = found(diagnosed({"a": 1, "b": 2}, ["a", "b"], min_rel=2))["bad_at_rank_1"]
    assert finding.examples[0].numbers["relevant"] == 1


def test_unjudged():
    judged = relevant(6) | {"b0": 0}
    finding = found(diagnosed(judged, [*relevant(6), *fill(4)]))["unjudged"]
    assert finding.examples[0].words == "4 of the first 10 docs unjudged"
    assert finding.severity == "serious"
    assert "unjudged" not in found(diagnosed(judged, [*relevant(6), "b0", *fill(3)]))  # 3 of 10 is just bearable
    assert "unjudged" not in found(diagnosed(judged, [*relevant(6), *fill(4)], judged_only=True))


def test_unjudged_is_said_in_the_summary():
    diagnosis = diagnosed(relevant(6) | {"b0": 0}, [*relevant(6), *fill(4)])
    assert diagnosis.summary.endswith("But 40% of the docs in the top 10 are unjudged: the scores may be too low.")


def test_qrels_of_relevant_docs_only_say_nothing_of_the_others():
    codes = found(diagnosed(relevant(6), [*relevant(6), *fill(4)]))
    assert "unjudged" not in codes
    assert codes["relevant_only"].severity == "remark"
    assert "relevant_only" not in found(diagnosed(relevant(6) | {"b0": 0}, [*relevant(6)]))


def test_few_relevant():
    assert found(diagnosed(relevant(2), ["r0", "r1"]))["few_relevant"].severity == "remark"
    assert "few_relevant" not in found(diagnosed(relevant(3), list(relevant(3))))


def test_few_queries():
    docs = relevant(3)
    for n, expected in ((49, True), (50, False)):
        qrels = {f"q{i}": docs for i in range(n)}
        codes = found(rs.diagnose(qrels, {query: ranked(*docs) for query in qrels}))
        assert ("few_queries" in codes) == expected


def test_queries_without_relevant_docs_are_left_out_and_said():
    qrels = {"a": {"r0": 1, "b0": 0}, "b": {"b0": 0}}
    diagnosis = rs.diagnose(qrels, {"a": ranked("r0"), "b": ranked("b0")})
    assert (diagnosis.n_queries, diagnosis.n_other_queries, diagnosis.losses.score) == (1, 1, 1.0)
    finding = found(diagnosis)["no_relevant"]
    assert (finding.severity, finding.n_queries, finding.of_queries) == ("remark", 1, 2)
    assert [one.query for one in finding.examples] == ["b"]
    assert "no_relevant" not in found(diagnosed(relevant(1), ["r0"]))


def test_every_check_has_a_test_here():
    source = Path(__file__).read_text("utf-8")
    for check in CHECKS:
        assert f'"{check.code}"' in source, check.code


# ---------------------------------------------------------------------------------------- findings, all together


def test_severity_depends_on_how_many_queries_are_concerned():
    assert [severity_of(share) for share in (0.2, 0.19, 0.05, 0.04)] == ["serious", "moderate", "moderate", "remark"]


def test_the_most_serious_comes_first_and_examples_are_the_worst():
    # ten queries: the first relevant doc at ranks 1, 1, 1, 1, 1, 4, 5, 6, 7 and not at all
    ranks = {"a": 1, "b": 1, "c": 1, "d": 1, "e": 1, "f": 4, "g": 5, "h": 6, "i": 7}
    qrels = {query: {"r": 1} for query in [*ranks, "j"]}
    run = {query: ranked(*fill(rank - 1), "r", *fill(10 - rank, "y")) for query, rank in ranks.items()}
    diagnosis = rs.diagnose(qrels, {**run, "j": ranked(*fill(10))})
    assert [(one.code, one.severity, one.n_queries) for one in diagnosis.findings][:2] == [
        ("first_hit_late", "serious", 4),
        ("zero_hits", "moderate", 1),
    ]
    assert [one.query for one in diagnosis.findings[0].examples] == ["i", "h", "g"]
    assert all(one.severity == "remark" for one in diagnosis.findings[2:])


def test_nothing_to_complain_about():
    qrels = {f"q{i}": relevant(3) | BAD for i in range(50)}
    diagnosis = rs.diagnose(qrels, {query: ranked("r0", "r1", "r2", "b0") for query in qrels})
    assert diagnosis.findings == ()
    assert diagnosis.is_fine
    assert diagnosis.summary == (
        "nDCG@10 is 1.0000 over 50 queries. Nothing to complain about: no check concerns more than a few queries."
    )
    assert diagnosis.worst == ()


# ---------------------------------------------------------------------------------------- where nDCG is lost


def test_losses_add_up():
    # k = 2, grades 2 and 1 and 1; ideal DCG = 2 + 1/log2 3. The list: unjudged, grade 1, grade 2, and one not retrieved
    diagnosis = diagnosed({"a": 2, "b": 1, "c": 1}, ["x0", "b", "a"], k=2)
    ideal = 2 + 1 / LOG3
    losses = diagnosis.losses
    assert losses.score == pytest.approx((1 / LOG3) / ideal)
    assert losses.order == pytest.approx((1 - 1 / LOG3) / ideal)  # b would come first
    assert losses.ranked_low == pytest.approx((ideal - 1) / ideal)  # a, b would be the best top 2
    assert losses.not_retrieved == pytest.approx(0)
    assert losses.score + losses.order + losses.ranked_low + losses.not_retrieved == pytest.approx(1)


@NOTHING_FOUND
@pytest.mark.parametrize(
    ("docs", "words"),
    [
        (["x0", "x1", "x2", "x3", "r0", "r1"], "the best order of the same 10 docs would reach 1.00."),
        ([*fill(12), "r0", "r1"], "a perfect re-ranker of the first 14 docs would reach 1.00."),
        (["x0", *fill(12, "y")], "no re-ranker of these docs gets beyond 0.00."),
    ],
)
def test_the_summary_says_where_to_start(docs, words):
    assert words in diagnosed(relevant(2), docs).summary


def test_the_summary_names_the_shallowest_pool_that_is_worth_re_ranking():
    # of 8 relevant docs 1 is in the top 10, 6 stand at ranks 11 to 16, 1 at rank 200
    docs = ["r0", *fill(9), *[f"r{i}" for i in range(1, 7)], *fill(183, "y"), "r7"]
    assert "re-ranker of the first 50 docs would reach 0.92." in diagnosed(relevant(8), docs).summary
    # 1 + .6309 + .5 + .4307 + .3869 + .3562 + .3333 = 3.6380, of 3.6380 + .3155 = 3.9535


def test_pool():
    # 3 relevant docs at ranks 1, 4 and not retrieved; k = 2
    diagnosis = diagnosed(relevant(3), ["r0", "x0", "x1", "r1", "x2"], k=2, pool_cuts=[2, 4, 100])
    assert [cut.depth for cut in diagnosis.pool] == [2, 4, 5]  # the list ends at 5
    assert [cut.recall for cut in diagnosis.pool] == pytest.approx([1 / 3, 2 / 3, 2 / 3])
    assert [cut.best_recall for cut in diagnosis.pool] == pytest.approx([1 / 3, 2 / 3, 2 / 3])
    assert [cut.best_ndcg for cut in diagnosis.pool] == pytest.approx([1 / (1 + 1 / LOG3), 1, 1])


def test_best_recall_is_capped_by_the_cut_off():
    diagnosis = diagnosed(relevant(4), ["r0", "r1", "r2", "r3"], k=2, pool_cuts=[4])
    assert [(cut.depth, cut.recall, cut.best_recall) for cut in diagnosis.pool] == [(2, 0.5, 0.5), (4, 1.0, 0.5)]


def test_relevant_docs_by_rank():
    docs = ["r0", "r1", *fill(10), "r2", *fill(46, "y"), "r3"]  # ranks 1, 2, 13 and 60
    bands = diagnosed(relevant(6), docs).relevant_docs
    assert [(band.first, band.last, band.n_docs) for band in bands] == [
        (1, 10, 2),
        (11, 50, 1),
        (51, 60, 1),
        (None, None, 2),
    ]
    assert sum(band.share for band in bands) == pytest.approx(1)


def test_relevant_docs_beyond_the_pool_are_told_from_those_not_retrieved():
    bands = diagnosed(relevant(3), ["r0", *fill(30), "r1"], pool_cuts=[20]).relevant_docs
    assert [(band.first, band.last, band.n_docs) for band in bands] == [
        (1, 10, 1),
        (11, 20, 0),
        (21, None, 1),
        (None, None, 1),
    ]


def test_what_stands_at_each_rank():
    qrels = {"a": {"r": 1, "b": 0}, "b": {"r": 1, "b": 0}}
    diagnosis = rs.diagnose(qrels, {"a": ranked("r", "x", "b"), "b": ranked("b")}, k=3)
    rows = [(row.rank, row.relevant, row.nonrelevant, row.unjudged, row.empty) for row in diagnosis.ranks]
    assert rows == [(1, 1, 1, 0, 0), (2, 0, 0, 1, 1), (3, 0, 1, 0, 1)]


def test_the_worst_and_the_best_with_their_docs():
    qrels = {"a": {"r": 2, "s": 1, "b": 0}, "b": {"r": 1}, "c": {"r": 1}}
    run = {"a": ranked("b", "x", "y", "s"), "b": ranked("r"), "c": ranked("x", "r")}
    diagnosis = rs.diagnose(qrels, run, k=2)
    worst = diagnosis.worst[0]
    assert (worst.query, worst.score, worst.n_found, worst.n_relevant) == ("a", 0.0, 0, 2)
    assert [(doc.rank, doc.doc, doc.grade) for doc in worst.docs] == [(1, "b", 0), (2, "x", None)]
    assert [(doc.doc, doc.grade, doc.rank) for doc in worst.missed] == [("r", 2, None), ("s", 1, 4)]
    assert [one.query for one in diagnosis.worst] == ["a", "c"]  # b is perfect
    assert [one.query for one in diagnosis.best] == ["b"]


def test_lists_follow_the_policies():
    diagnosis = diagnosed({"r": 1, "b": 0}, ["x", "b", "r"], judged_only=True)
    assert [doc.doc for doc in diagnosis.worst[0].docs] == ["b", "r"]
    tied = rs.diagnose({"q": {"a": 1}}, {"q": {"a": 1.0, "b": 1.0}}, ties="ascending")
    assert tied.losses.score == 1.0


# ---------------------------------------------------------------------------------------- positions


def test_positions_of_the_doctor_finder():
    # its document: positions 1, 3, 5 give average 3.0, best 1, 2 in the top 3 and 3 in the top 5; here of 4 relevant docs
    positions = diagnosed(relevant(4), ["r0", "x0", "r1", "x1", "r2"]).positions.queries["q"]
    assert (positions.average, positions.best, positions.worst) == (3.0, 1, 5)
    assert (positions.found, positions.total) == (3, 4)
    assert positions.in_top == {3: 2, 5: 3, 10: 3}


def test_positions_over_all_queries_are_over_all_their_docs():
    qrels = {"a": relevant(2), "b": relevant(1), "c": relevant(1)}
    run = {"a": ranked("r0", "r1"), "b": ranked(*fill(8), "r0"), "c": ranked("x0")}
    report = rs.diagnose(qrels, run).positions
    assert report.overall.average == pytest.approx((1 + 2 + 9) / 3)
    assert (report.overall.best, report.overall.worst) == (1, 9)
    assert (report.overall.found, report.overall.total) == (3, 4)
    assert report.overall.in_top == {3: 2, 5: 2, 10: 3}
    nothing = report.queries["c"]
    assert (nothing.found, nothing.total, nothing.average, nothing.best, nothing.worst) == (0, 1, None, None, None)


def test_positions_by_grade():
    strict, lenient = (
        diagnosed({"a": 1, "b": 2}, ["a", *fill(3), "b"], min_rel=min_rel).positions.overall for min_rel in (2, 1)
    )
    assert strict.average == 5.0
    assert lenient.in_top == {3: 1, 5: 2, 10: 2}


# ---------------------------------------------------------------------------------------- agreement with evaluate


def test_scores_are_those_of_evaluate(engine):
    rng = np.random.default_rng(7)
    qrels = {f"q{i}": {f"d{j}": int(rng.integers(0, 4)) for j in range(20)} | {"sure": 1} for i in range(30)}
    run = {query: {f"d{j}": float(rng.normal()) for j in range(40)} for query in qrels}
    diagnosis = rs.diagnose(qrels, run, k=5)
    scores = rs.evaluate(qrels, run, ["nDCG@5", "R@5", "Judged@5", "nDCG@1000"]).mean()["run"]
    assert diagnosis.losses.score == pytest.approx(scores["nDCG@5"].value)
    assert diagnosis.recall == pytest.approx(scores["R@5"].value)
    assert 1 - diagnosis.unjudged_share == pytest.approx(scores["Judged@5"].value)
    assert all(0 <= loss <= 1 for loss in (diagnosis.losses.order, diagnosis.losses.ranked_low))
    bests = [cut.best_ndcg for cut in diagnosis.pool]
    assert bests == sorted(bests)


def test_profiles_decide_the_gain():
    grades = {"a": 3, "b": 1}
    graded, binary = (diagnosed(grades, ["b", "a"], profile=profile) for profile in (None, "sentence-transformers"))
    assert graded.losses.score < 1
    assert binary.losses.score == pytest.approx(1)
    assert parse_measure(binary.measure).options["gain"] == "binary"


# ---------------------------------------------------------------------------------------- what it refuses


@pytest.mark.parametrize("options", [{"k": 0}, {"k": 2.5}, {"pool_cuts": [10, 0]}, {"k": True}])
def test_cut_offs_that_will_not_do(options):
    ((name, value),) = options.items()
    with pytest.raises(OptionError, match=re.escape(f"{name} is {value}, but it must be")):
        diagnosed(relevant(1), ["r0"], **options)


def test_nothing_relevant_at_all():
    with pytest.raises(InputError, match="no query has a doc of grade 3 or better"):
        diagnosed(relevant(1), ["r0"], min_rel=3)


def test_fractional_grades_need_a_threshold():
    with pytest.raises(GradeError, match="whole numbers"):
        diagnosed({"a": 0.5, "b": 1}, ["a"])
    assert diagnosed({"a": 0.5, "b": 1}, ["a"], min_rel=0.5).n_queries == 1


@NOTHING_FOUND
def test_empty_lists_are_no_trouble():
    diagnosis = rs.diagnose({"a": {"r": 1}, "b": {"r": 1}}, {"a": {"x": 1.0}})
    losses = diagnosis.losses
    assert (losses.score, losses.not_retrieved, losses.not_answered) == (0, 0.5, 0.5)
    assert [cut.depth for cut in diagnosis.pool] == [1]


def test_what_unanswered_queries_cost_is_not_blamed_on_retrieval():
    qrels = {query: {"r": 1} for query in ("a", "b", "c")}
    diagnosis = rs.diagnose(qrels, {"a": ["r"]})
    assert (diagnosis.losses.not_retrieved, diagnosis.losses.not_answered) == (0, pytest.approx(2 / 3))
    assert "(0.67 of 0.67) is lost in queries that the run does not answer. Find out first why" in diagnosis.summary
    *_, last = shares_block(diagnosis).shares
    assert (last.name, last.value) == ("lost to no answer", pytest.approx(2 / 3))


def test_redundant_results_are_found_where_there_are_embeddings():
    vectors = {"a": [1.0, 0.0], "b": [1.0, 0.01], "c": [0.0, 1.0], "d": [1.0, 0.0]}  # b and d repeat a: 2 of 4
    told = found(diagnosed({"a": 1}, ["a", "b", "c", "d"], embeddings=vectors))["redundant"]
    assert told.n_queries == 1
    assert told.examples[0].numbers["repeated"] == 0.5
    assert "50%" in told.examples[0].words


def test_different_results_are_not_redundant():
    assert "redundant" not in found(diagnosed({"a": 1}, ["a", "c"], embeddings={"a": [1.0, 0.0], "c": [0.0, 1.0]}))
    assert "redundant" not in found(diagnosed({"a": 1}, ["a", "b"]))


def test_text_in_json_is_never_a_sentence_of_ours_beside_a_query():
    """`text` beside a query is what was asked, as in every other result; what an example shows are its `words`."""
    qrels = {f"q{i}": {"a": 1} for i in range(12)}
    answers = {query: ["a"] for query in list(qrels)[4:]}
    diagnosis = rs.diagnose(qrels, answers, queries=dict.fromkeys(qrels, "asked"))
    examples = [one for finding in json.loads(diagnosis.to_json())["findings"] for one in finding["examples"]]
    assert examples
    assert all("text" not in one and one["query_text"] == "asked" and one["words"] for one in examples)
