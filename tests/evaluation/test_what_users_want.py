"""One test for every wish or complaint of users of other evaluation libraries that concerns scoring.

The numbers in the names of sections are those of PEERS.md, section 2.
"""

import gc
import itertools
import math
import subprocess
import sys
import threading

import numpy as np
import pandas as pd
import pytest

import rankscope as rs
from rankscope.errors import DuplicateError, GradeError, NoOverlapError, RankscopeWarning, ScoreError

pytestmark = pytest.mark.usefixtures("engine")

QRELS = {"q1": {"a": 2, "b": 1, "c": 0}, "q2": {"a": 1}}
RUN = {"q1": {"c": 3.0, "a": 2.0, "x": 1.0}, "q2": {"a": 1.0}}


def one(measure, ranking, judged, **policies):
    """Return the score of one query: docs best first, and {doc: grade}."""
    name = rs.parse_measure(measure).name
    return rs.evaluate({"q": judged}, {"q": ranking}, measure, **policies)["run"]["q", name]


# ---- Speed, memory, import: 1 to 8


def test_importing_loads_neither_scipy_nor_polars_nor_pandas():
    code = "import sys, rankscope; print({'scipy', 'polars', 'pandas', 'pyarrow'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_evaluating_dicts_loads_neither_scipy_nor_polars():
    code = (
        "import sys, rankscope; rankscope.evaluate({'q': {'a': 1}}, {'q': {'a': 1.0}});"
        "print({'scipy', 'polars', 'pandas', 'pyarrow'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_repeated_evaluation_does_not_leak_memory():
    doc, score = f"a long {1}", 1.5
    docs, qrels = {doc: score}, {"q": {doc: 1}}

    def held():
        gc.collect()
        kept = sum(type(thing) in (rs.Qrels, rs.Run, rs.RunScores) for thing in gc.get_objects())
        return kept, sys.getrefcount(doc), sys.getrefcount(docs)

    rs.evaluate(qrels, {"q": docs})
    before = held()
    for _ in range(50):
        rs.evaluate(qrels, {"q": docs})
        rs.evaluate(qrels, [("q", doc, score)])
    assert held() == before


# ---- Correctness and determinism: 19 to 32


def test_empty_qrels_of_one_query_do_not_corrupt_others():
    alone = rs.evaluate(QRELS, RUN, "all_trec", profile="trec_eval-9")["run"].to_dict()
    for position in range(3):
        queries = list(QRELS.items())
        queries.insert(position, (f"q{position}x", {}))
        run = {**RUN, f"q{position}x": {"a": 1.0}}
        among = rs.evaluate(dict(queries), run, "all_trec", profile="trec_eval-9")["run"].to_dict()
        assert {query: among[query] for query in QRELS} == alone


def test_a_query_without_judgments_keeps_its_place_in_the_results():
    scores = rs.evaluate({**QRELS, "q3": {}}, {**RUN, "q3": {"a": 1.0}}, "nDCG@10")["run"]
    assert scores.query_ids == ("q1", "q2", "q3")
    assert scores["q3", "nDCG@10"] == 0
    assert scores.mean()["nDCG@10"].undefined == 1


def test_no_score_is_nan_or_above_one_on_a_query_with_nothing_relevant():
    scores = rs.evaluate({"q": {"a": 0}}, {"q": {"a": 1.0}}, ["nDCG@10", "AP", "RR", "Bpref", "Rprec"])["run"]
    assert set(scores["q"].values()) == {0.0}


def test_second_call_gives_the_same_numbers():
    measures = ["P@5,10", "nDCG@5,10", "Success@1,5", "AP"]
    first, second = (rs.evaluate(QRELS, RUN, measures)["run"] for _ in range(2))
    assert first.measures == second.measures
    assert first.to_dict() == second.to_dict()


def test_a_second_call_with_other_cut_offs_has_those_cut_offs():
    rs.evaluate(QRELS, RUN, "P@5,10")
    assert rs.evaluate(QRELS, RUN, "P@1,3")["run"].measures == ("P@1", "P@3")
    assert rs.evaluate(QRELS, RUN, "P@1,3")["run"]["q1", "P@3"] == 1 / 3


def test_the_same_cut_off_twice_does_not_abort_the_process():
    assert rs.evaluate(QRELS, RUN, ["P@5", "P_5", "P@5,5"])["run"].measures == ("P@5",)


def test_bpref_is_a_number_where_no_doc_was_judged_non_relevant():
    assert one("Bpref", ["x", "a"], {"a": 1, "b": 1}) == 0.5  # the doc that was found counts whole


def test_bpref_does_not_count_pooled_docs_as_non_relevant():
    assert one("Bpref", ["x", "a"], {"a": 1, "x": -1, "y": 0}) == 1.0


def test_f1_is_the_same_for_every_number_of_queries_and_threads():
    for n in (1, 3, 30):
        qrels = {f"q{i}": {"a": 1, "b": 1} for i in range(n)}
        run = {f"q{i}": ["a", "x"] for i in range(n)}
        for threads in (1, 4):
            scores = rs.evaluate(qrels, run, "F1@2", threads=threads)["run"]
            assert scores.column("F@2").tolist() == [0.5] * n


def test_r_precision_looks_at_as_many_docs_as_are_relevant():
    assert one("Rprec", ["a", "x", "b", "c"], {"a": 1, "b": 1, "c": 1}) == pytest.approx(2 / 3)


def test_nothing_relevant_found_is_zero_not_nan():
    for measure in ("AP", "RR", "nDCG@10", "Rprec", "Bpref", "infAP", "R@10", "ERR", "Q", "F@5"):
        assert one(measure, ["x", "y"], {"a": 1, "y": 0}) == 0


def test_ndcg_never_exceeds_one():
    rng = np.random.default_rng(7)
    docs = [f"d{i}" for i in range(30)]
    for _ in range(50):
        judged = dict(zip(docs, rng.integers(-2, 5, len(docs)).tolist(), strict=True))
        ranking = rng.permutation(docs)[: rng.integers(1, 30)].tolist()
        for gain in ("linear", "exp2", "binary"):
            assert 0 <= one(f"nDCG(gain='{gain}')@10", ranking, judged) <= 1 + 1e-12


def test_duplicate_rows_cannot_push_recall_or_ndcg_above_one():
    with pytest.raises(DuplicateError, match="lists doc 'a' more than once"):
        one("R@10", ["a", "a"], {"a": 1})
    assert one("R@10", ["a", "a"], {"a": 1}, duplicates="first") == 1
    assert one("nDCG@10", ["a", "a"], {"a": 1}, duplicates="first") == 1


def test_a_short_list_does_not_shrink_the_ideal():
    ideal = sum(1 / math.log2(rank + 1) for rank in range(1, 6))
    assert one("nDCG@5", ["a"], dict.fromkeys("abcde", 1)) == pytest.approx(1 / ideal)


def test_the_ideal_is_made_from_all_judged_docs_not_from_the_retrieved_ones():
    assert one("nDCG@2", ["b"], {"a": 3, "b": 1}) == pytest.approx(1 / (3 + 1 / math.log2(3)))


def test_rank_two_is_worth_less_than_rank_one():
    assert one("DCG@2", ["x", "a"], {"a": 1}) == pytest.approx(1 / math.log2(3))
    assert one("DCG@2", ["a", "x"], {"a": 1}) == 1


def test_negative_grades_do_not_make_strange_ndcg():
    assert one("nDCG@10", ["a", "b"], {"a": -5, "b": 2}) == pytest.approx(1 / math.log2(3))


def test_runs_with_queries_in_another_order_are_compared_query_by_query():
    forward = {"q1": ["a"], "q2": ["x", "b"]}
    backward = {"q2": ["b"], "q1": ["x", "a"]}
    scores = rs.evaluate({"q2": ["b"], "q1": ["a"]}, {"f": forward, "b": backward}, "RR")
    assert scores["f"].query_ids == scores["b"].query_ids == ("q1", "q2")
    assert scores["f"].column("RR").tolist() == [1, 0.5]
    assert scores["b"].column("RR").tolist() == [0.5, 1]


def test_the_last_digit_of_a_mean_does_not_depend_on_the_order_of_queries():
    rng = np.random.default_rng(3)
    ranks = {f"q{i}": int(rank) for i, rank in enumerate(rng.integers(1, 30, 200))}
    means = set()
    for _ in range(5):
        order = rng.permutation(list(ranks)).tolist()
        run = {query: [*(f"x{i}" for i in range(ranks[query] - 1)), "a"] for query in order}
        means.add(rs.evaluate({query: ["a"] for query in order}, run, "RR")["run"].mean()["RR"].value)
    assert len(means) == 1


def test_evaluating_does_not_change_the_callers_data():
    qrels, run = {"q": {"b": 1, "a": 0}}, {"q": {"q": 9.0, "a": 1.0, "b": 2.0}}
    frame = pd.DataFrame({"query": ["q", "q"], "doc": ["b", "a"], "score": [1.0, 2.0]})
    copies = {"q": dict(qrels["q"])}, {"q": dict(run["q"])}, frame.copy()
    rs.evaluate(qrels, {"dict": run, "table": frame}, profile="beir")
    assert (qrels, run) == copies[:2]
    assert list(run["q"]) == ["q", "a", "b"]  # not even sorted
    pd.testing.assert_frame_equal(frame, copies[2])


def test_several_threads_may_evaluate_at_once():
    expected = rs.evaluate(QRELS, RUN).to_dict()
    found = []
    threads = [threading.Thread(target=lambda: found.append(rs.evaluate(QRELS, RUN).to_dict())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 8


# ---- Ties: 33 to 40


def test_a_constant_scorer_gets_no_free_mrr():
    docs = [f"d{i:03}" for i in range(100)]
    orders = [rs.evaluate({"q": ["d000"]}, {"q": dict.fromkeys(order, 1.0)}, "MRR@10")["run"]["q", "RR@10"] for order in (docs, docs[::-1])]  # fmt: skip
    assert orders == [0, 0]  # the relevant doc comes first in the list, and would get 1.0 from a stable sort


def test_ties_do_not_depend_on_the_order_in_which_docs_are_given():
    docs = {"a": 1.0, "B": 1.0, "10": 1.0, "9": 1.0}
    found = {
        rs.evaluate({"q": ["B"]}, {"q": dict(order)}, "RR")["run"]["q", "RR"]
        for order in itertools.permutations(docs.items())
    }
    assert found == {1 / 2}  # a, B, 9, 10: descending by bytes


def test_all_measures_of_a_call_see_the_same_order():
    scores = rs.evaluate({"q": {"a": 1}}, {"q": {"a": 1.0, "b": 1.0}}, ["RR", "P@1", "FirstRel", "nDCG@1", "ERR@1"])
    assert scores["run"]["q"] == {"RR": 0.5, "P@1": 0, "FirstRel": 2, "nDCG@1": 0, "ERR@1": 0}


def test_my_own_order_can_be_kept():
    run = {"q": {"a": 1.0, "b": 1.0}}
    assert rs.evaluate({"q": ["a"]}, run, "RR", ties="given")["run"]["q", "RR"] == 1
    assert rs.evaluate({"q": ["a"]}, {"q": ["a", "b"]}, "RR")["run"]["q", "RR"] == 1  # a ranked list has no ties


def test_a_doc_with_the_id_of_the_query_is_kept_unless_i_say_so():
    run = {"q": {"q": 2.0, "a": 1.0}}
    assert rs.evaluate({"q": ["a"]}, run, "RR")["run"]["q", "RR"] == 0.5
    assert rs.evaluate({"q": ["a"]}, run, "RR", self_match="drop")["run"]["q", "RR"] == 1


# ---- Missing queries: 41 to 45


def test_missing_queries_give_numbers_and_a_warning_not_an_assertion():
    with pytest.warns(RankscopeWarning, match="does not answer 49 of 50 queries"):
        scores = rs.evaluate({f"q{i}": ["a"] for i in range(50)}, {"q7": ["a"]}, "RR")["run"]
    assert scores.mean()["RR"].value == 1 / 50
    assert scores.mean()["RR"].missing == 49


def test_missing_queries_are_listed_with_their_zero():
    with pytest.warns(RankscopeWarning):
        scores = rs.evaluate({"q1": ["a"], "q2": ["a"]}, {"q1": ["a"]}, "RR")["run"]
    assert scores.to_dict() == {"q1": {"RR": 1}, "q2": {"RR": 0}}


def test_no_overlap_is_a_report_of_both_sides_not_a_crash():
    with pytest.raises(NoOverlapError, match=r"queries of the qrels: '301'.*\n.*queries of the run: *'MB301'"):
        rs.evaluate({"301": ["a"]}, {"MB301": ["a"]}, "RR")


def test_queries_of_the_run_without_judgments_are_counted():
    counts = rs.evaluate({"q1": ["a"]}, {"q1": ["a"], "q2": ["a"], "q3": ["b"]}, "RR")["run"].counts
    assert (counts.queries, counts.not_in_qrels) == (1, 2)


def test_judged_docs_that_no_run_retrieves_still_count_as_relevant():
    assert one("R@10", ["a"], {"a": 1, "dangling": 1}) == 0.5


# ---- Types and input: 46 to 52


def test_numpy_float32_scores_are_accepted():
    assert one("RR", {"a": np.float32(0.5), "b": np.float32(0.25)}, {"a": 1}) == 1


def test_numpy_int64_grades_are_accepted():
    assert one("nDCG@10", ["a"], {"a": np.int64(2)}) == 1


def test_integer_scores_are_accepted():
    assert one("RR", {"a": 3, "b": 5}, {"a": 1}) == 0.5


def test_float_relevance_is_used_as_it_is():
    assert one("DCG", ["a"], {"a": 0.25}) == 0.25


def test_float_relevance_is_a_loud_error_where_it_would_be_cut_off():
    with pytest.raises(GradeError, match=r"AP needs .* has grade 0\.5"):
        one("AP", ["a"], {"a": 0.5})


def test_an_error_names_the_right_column():
    with pytest.raises(ScoreError, match="score 'high' is not a number"):
        rs.Run([("q", "a", "high")])
    with pytest.raises(GradeError, match="grade 'high' is not a number"):
        rs.Qrels([("q", "a", "high")])


def test_any_range_of_scores_and_grades_is_legal():
    assert one("RR", {"a": -1e9, "b": -2e9}, {"a": 1}) == 1
    assert one("nDCG@10", ["a", "b"], {"a": 100, "b": 10}) == 1
    assert one("ERR@10", ["a"], {"a": 100}) == pytest.approx(1)


def test_generator_is_consumed_once_and_gives_numbers():
    run = rs.Run((query, doc, score) for query, docs in RUN.items() for doc, score in docs.items())
    qrels = rs.Qrels((query, doc, grade) for query, docs in QRELS.items() for doc, grade in docs.items())
    expected = rs.evaluate(QRELS, RUN).to_dict()
    assert rs.evaluate(qrels, run).to_dict() == expected
    assert rs.evaluate(qrels, run).to_dict() == expected


def test_pandas_string_columns_of_any_version_are_accepted():
    for dtype in (object, "string", "category"):
        frame = pd.DataFrame({"qid": ["q", "q"], "docno": ["a", "b"], "score": [1.0, 2.0]})
        frame = frame.astype({"qid": dtype, "docno": dtype})
        assert rs.evaluate({"q": ["a"]}, frame, "RR")["run"]["q", "RR"] == 0.5


def test_rows_need_not_be_grouped_by_query():
    rows = [("q1", "x", 2.0), ("q2", "b", 1.0), ("q1", "a", 1.0), ("q2", "y", 0.5)]
    scores = rs.evaluate({"q1": ["a"], "q2": ["b"]}, rows, "RR")["run"]
    assert scores.column("RR").tolist() == [0.5, 1]


# ---- Measures: 53 to 60


def test_err_needs_no_perl_and_takes_any_id_and_any_grade():
    assert one("ERR@20", ["höhe-7"], {"höhe-7": 9}) == pytest.approx((2**9 - 1) / 2**9)


def test_every_measure_of_trec_eval_is_there():
    names = [
        "num_ret", "num_rel", "num_rel_ret", "map", "gm_map", "Rprec", "bpref", "recip_rank", "iprec_at_recall", "P.5",
        "recall.5", "infAP", "gm_bpref", "Rprec_mult.0.2", "utility", "11pt_avg", "binG", "G", "ndcg", "ndcg_rel", "Rndcg",
        "ndcg_cut", "map_cut", "relative_P", "success", "set_P", "set_relative_P", "set_recall", "set_map", "set_F",
        "num_nonrel_judged_ret", "rbp", "RBP_resid", "unj",
    ]  # fmt: skip
    assert len(rs.parse_measures(names)) >= len(names)


def test_ncg_and_dcg_are_there():
    assert one("NCG@1", ["b"], {"a": 2, "b": 1}) == 0.5
    assert one("DCG@10", ["b", "a"], {"a": 2, "b": 1}) == pytest.approx(1 + 2 / math.log2(3))


def test_hit_rate_says_whether_and_hits_says_how_many():
    assert one("hit_rate@3", ["a", "b", "x"], {"a": 1, "b": 1}) == 1
    assert one("hits@3", ["a", "b", "x"], {"a": 1, "b": 1}) == 2


def test_recall_can_be_divided_by_what_fits_into_k():
    assert one("R_cap@2", ["a", "b"], dict.fromkeys("abcd", 1)) == 1
    assert one("R@2", ["a", "b"], dict.fromkeys("abcd", 1)) == 0.5


def test_the_relevance_level_can_be_set_for_each_measure():
    assert one("P(rel=2)@2", ["a", "b"], {"a": 2, "b": 1}) == 0.5
    assert one("precision@2-l2", ["a", "b"], {"a": 2, "b": 1}) == 0.5


def test_both_forms_of_ndcg_are_there_and_named():
    linear, exponential = (one(f"nDCG(gain='{gain}')@2", ["b", "a"], {"a": 2, "b": 1}) for gain in ("linear", "exp2"))
    assert linear == pytest.approx((1 + 2 / math.log2(3)) / (2 + 1 / math.log2(3)))
    assert exponential == pytest.approx((1 + 3 / math.log2(3)) / (3 + 1 / math.log2(3)))
    assert rs.parse_measure("nDCG(gain='linear')@2").name == "nDCG@2"
    assert rs.parse_measure("nDCG(gain='exp2')@2").name == "nDCG(gain='exp2')@2"


def test_graded_judgments_count_in_ndcg_without_asking():
    assert one("nDCG@1", ["b"], {"a": 4, "b": 1}) == 0.25


def test_judged_at_k_tells_how_much_was_judged():
    assert one("Judged@4", ["a", "x", "y", "b"], {"a": 1, "b": 0}) == 0.5


def test_scores_over_judged_docs_only_are_there():
    assert one("RR", ["x", "a"], {"a": 1}, judged_only=True) == 1
    assert one("RR(judged_only=True)", ["x", "a"], {"a": 1}) == 1


def test_diversity_qrels_are_read_and_a_doc_counts_with_its_best_grade():
    rows = [{"query": "q", "subtopic": s, "doc": "a", "grade": grade} for s, grade in ((1, 0), (2, 2))]
    qrels = rs.Qrels(rows)
    assert qrels.rows.subtopic == ["1", "2"]
    assert rs.evaluate(qrels, {"q": ["a"]}, "DCG")["run"]["q", "DCG"] == 2


def test_the_rank_of_the_first_relevant_doc_is_there():
    assert one("FirstRel", ["x", "y", "a"], {"a": 1}) == 3


def test_the_name_says_the_depth_and_short_lists_are_not_favoured():
    assert rs.evaluate(QRELS, RUN, "precision@10")["run"].measures == ("P@10",)
    assert one("P@10", ["a"], {"a": 1}) == 0.1


def test_k_given_as_a_float_is_understood():
    assert rs.parse_measure("nDCG@10.0").name == "nDCG@10"
