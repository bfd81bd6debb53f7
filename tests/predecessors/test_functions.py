"""Edges of the functions that the predecessors' users know, and of evaluating in their words."""

import json

import numpy as np
import pytest

import rankscope as rs
from rankscope import predecessors as compat
from rankscope.errors import InputError, OptionError, RankscopeWarning
from rankscope.measures.profiles import PROFILES
from rankscope.predecessors import doctor_search, hpo_retrieval
from rankscope.predecessors.profiles import expand_keys

OURS = ("ranking_algo", "parakeet", "phentrieve", "phentrieve-plan", "dartboard", "dartboard-code")


class TestProfiles:
    @pytest.mark.parametrize("name", OURS)
    def test_every_key_is_a_measure(self, name):
        profile = PROFILES[name]
        for keys in (profile.keys, profile.mean_keys):
            for key, measure in expand_keys(keys, profile.cuts).items():
                assert rs.parse_measure(measure).name, key

    def test_keys_are_listed_cut_off_by_cut_off(self):
        patterns = {"M@{max_k}": "RR@{max_k}", "R@{k}": "R@{k}", "P@{k}": "P@{k}", "AP": "AP"}
        assert list(expand_keys(patterns, [1, 5])) == ["M@5", "R@1", "P@1", "R@5", "P@5", "AP"]

    def test_their_own_names(self):
        results, relevant = {"q": ["a", "b"]}, {"q": ["a"]}
        found = {name: compat.evaluate_as(name, results, relevant) for name in OURS}
        assert {"precisionAt3", "recallAt5", "mrr", "ndcg", "inTop10"} <= set(found["ranking_algo"].per_query["q"])
        assert {"averagePrecisionAt3", "averageMRR", "averageNDCG"} <= set(found["ranking_algo"].mean)
        assert {"mrr_dense", "ndcg_dense@10", "hit_rate_dense@1", "map_dense@5"} <= set(found["phentrieve"].mean)
        assert {"MRR@100", "NDCG@10", "AP", "MAP@100"} <= set(found["dartboard"].mean)
        assert "MAP@100" not in found["dartboard"].per_query["q"]

    def test_keys_that_need_embeddings_come_with_them(self):
        found = compat.evaluate_as("dartboard", {"q": ["a"]}, {"q": ["a"]}, embeddings={"a": [1.0], "b": [1.0]})
        assert found.mean["Alpha-NDCG@10"] == 1.0
        assert found.mean["ILD"] == 0.0

    def test_precision_differs_between_text_and_code(self):
        results, relevant = {"q": ["a", "x"]}, {"q": ["a"]}
        for name, key, value in [
            ("dartboard", "Precision@10", 0.1),
            ("dartboard-code", "Precision@10", 0.5),
            ("phentrieve", "precision_dense@10", 0.1),
            ("phentrieve-plan", "precision_dense@10", 0.5),
        ]:
            assert compat.evaluate_as(name, results, relevant).mean[key] == value

    def test_queries_without_relevant_docs(self):
        results, relevant = {"q": ["a"], "r": ["a"]}, {"q": ["a"], "r": []}
        for name, key, alone, mean in [
            ("ranking_algo", "mrr", None, 1.0),
            ("phentrieve", "mrr_dense", None, 1.0),
            ("dartboard", "MRR@100", 0.0, 0.5),
        ]:
            found = compat.evaluate_as(name, results, relevant)
            assert found.per_query["r"][key] == alone
            assert found.mean[key if name != "ranking_algo" else "averageMRR"] == mean

    def test_a_query_without_results_scores_0(self):
        found = compat.evaluate_as("ranking_algo", {}, {"q": ["a"]})
        assert found.per_query["q"]["mrr"] == 0.0
        assert found.per_query["q"]["averagePosition"] is None

    def test_no_ground_truth_at_all_has_no_mean(self):
        assert compat.evaluate_as("ranking_algo", {"q": ["a"]}, {"q": []}).mean["averageMRR"] is None

    def test_threshold_of_the_podcast_search_is_2(self):
        found = compat.evaluate_as("parakeet", {"q": ["a"]}, {"q": {"a": 1, "b": 2}})
        assert found.per_query["q"]["precision"] == 0.0
        assert found.per_query["q"]["ndcg"] > 0

    def test_other_cut_offs(self):
        found = compat.evaluate_as("dartboard", {"q": ["a"]}, {"q": ["a"]}, cuts=[3])
        assert list(found.mean) == ["MRR@3", "Recall@3", "Precision@3", "NDCG@3", "AP", "MAP@3"]

    def test_scores_of_files_in_their_words(self):
        with pytest.warns(RankscopeWarning, match="not measured are ILD@10, NoveltyNDCG@10: pass embeddings"):
            scores = rs.evaluate({"q": {"a": 1}}, {"q": {"x": 2.0, "a": 1.0}}, profile="dartboard")["run"]
        found = compat.in_their_words(scores, "dartboard")
        assert found.mean == compat.evaluate_as("dartboard", {"q": ["x", "a"]}, {"q": ["a"]}).mean
        assert found.per_query["q"]["NDCG@10"] == found.mean["NDCG@10"]

    def test_cut_offs_that_were_asked_for_have_names_too(self):
        scores = rs.evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, ["R@12", "P@3"], profile="ranking_algo")["run"]
        assert compat.in_their_words(scores, "ranking_algo").mean == {
            "averagePrecisionAt3": pytest.approx(1 / 3), "averageRecallAt12": 1.0,
        }  # fmt: skip

    def test_a_profile_without_names_of_its_own_is_refused(self):
        with pytest.raises(OptionError, match="has no names of its own"):
            compat.evaluate_as("beir", {}, {})

    def test_files_with_repeated_docs_are_still_refused(self):
        with pytest.raises(InputError, match="more than once"):
            rs.evaluate({"q": {"a": 1}}, {"q": ["a", "a"]}, profile="dartboard")


class TestDoctorSearch:
    def test_ids_are_found_where_the_original_looks(self):
        for result in (
            {"document": {"practitioner_id": 7, "id": 8}, "id": 9},
            {"document": {"id": 7}, "practitioner_id": 8},
            {"practitioner_id": 7, "id": 8},
            {"id": 7},
            "7",
            7,
        ):
            assert doctor_search.result_id(result) == "7"
        assert doctor_search.result_id({}) is None

    def test_a_doctor_listed_twice_pushes_recall_above_1(self):
        assert doctor_search.recall_at_k(["a", "a"], ["a"], 3) == 2.0
        assert doctor_search.precision_at_k(["a", "a"], ["a"], 3) == pytest.approx(2 / 3)

    def test_batch_summary_leaves_out_cases_without_ground_truth(self):
        case = {"parallel": doctor_search.evaluate_against_ground_truth(["x", "a"], ["a"])}
        found = doctor_search.summarise_batch([case, None])
        assert found["totalTestCases"] == 2
        assert found["averageMRR"] == {"parallel": 0.5}
        assert doctor_search.average([None]) is None

    def test_measurements(self):
        export = {
            "measurements": {
                "precisionAt3": {"parallel": 1.0, "algorithmic": None},
                "relevanceFlags": {"parallel": {"0": {"flagged": True, "reason": "far"}, "2": {"flagged": False}}},
                "bookingProxy": {"algorithmic": 1},
            }
        }
        assert doctor_search.aggregate_measurements([export, export]) == {
            "parallel": {"bookingProxyCount": 0, "relevanceFlagCount": 2, "averagePrecisionAt3": 1.0},
            "algorithmic": {"bookingProxyCount": 2, "relevanceFlagCount": 0, "averagePrecisionAt3": None},
        }

    def test_fit_is_a_share_of_what_there_is_but_all_excellent_needs_a_full_list(self):
        found = doctor_search.fit_shares(["excellent", "Ill-fit"])
        assert found["pct_excellent_at_3"] == found["pct_ill_fit_at_12"] == 0.5
        assert found["pct_good_at_5"] == 0.0
        assert found["top3_all_excellent"] is False
        assert doctor_search.fit_shares(["excellent"] * 2)["top3_all_excellent"] is False
        assert doctor_search.fit_shares(["excellent"] * 3)["top3_all_excellent"] is True

    def test_pool_recall_is_over_picks_not_cases(self):
        assert doctor_search.pool_recall([["a", "x"], ["y"]], [["a"], ["b", "c", "d"]], 50) == 0.25
        assert doctor_search.pool_recall([["x", "a"]], [["a"]], 1) == 0.0
        assert doctor_search.pool_recall([[]], [[]], 50) is None


class TestHpoRetrieval:
    def test_results_are_ordered_by_similarity_within_0_and_1(self):
        results = {
            "metadatas": [[{"hpo_id": name} for name in "abcd"]],
            "distances": [[0.9, 0.1, 1.5, 1.2]],
        }
        assert hpo_retrieval.retrieved_ids(results) == ["b", "a", "c", "d"]
        assert hpo_retrieval.mean_reciprocal_rank(results, ["a"]) == 0.5

    def test_no_results(self):
        for empty in ({}, {"metadatas": [[]]}, {"metadatas": None}):
            assert hpo_retrieval.precision_at_k(empty, ["a"]) == 0.0
        assert hpo_retrieval.hit_rate_at_k(["a"], ["a"], 0) == 0.0

    @pytest.mark.parametrize("results", [None, {}, [], {"metadatas": None}, {"metadatas": []}, {"metadatas": [[]]}])
    def test_nothing_retrieved_scores_0_as_in_the_original(self, results):
        names = ("recall", "precision", "ndcg", "average_precision", "hit_rate")
        functions = [getattr(hpo_retrieval, f"{name}_at_k") for name in names]
        for function in (*functions, hpo_retrieval.mean_reciprocal_rank):
            assert function(results, ["HP:0001250"]) == 0.0
            assert function(["HP:0001250"], None) == function(None, []) == 0.0

    def test_graded_scores(self):
        found = hpo_retrieval.ndcg_at_k(["b", "a"], ["a", "b"], 10, {"a": 2.0})
        assert found == pytest.approx((1 + 2 / np.log2(3)) / (2 + 1 / np.log2(3)))

    def test_languages(self):
        assert hpo_retrieval.cross_lingual_consistency({"de": 0.4, "en": 0.6}) == pytest.approx(
            {"average_mrr": 0.5, "cross_lingual_variance": 0.01}
        )
        assert hpo_retrieval.cross_lingual_consistency({})["average_mrr"] == 0.0

    def test_bootstrap_is_the_same_every_time(self):
        values = np.random.default_rng(1).random(50)
        first = hpo_retrieval.bootstrap_confidence_interval(values)
        assert hpo_retrieval.bootstrap_confidence_interval(values) == first
        assert hpo_retrieval.bootstrap_confidence_interval(values, seed=1) != first
        assert first[0] == pytest.approx(values.mean())
        assert first[1] < first[0] < first[2]

    def test_bootstrap_interval_is_about_two_standard_errors(self):
        values = np.random.default_rng(2).normal(size=400)
        mean, low, high = hpo_retrieval.bootstrap_confidence_interval(values, n_bootstrap=4000)
        error = values.std(ddof=1) / 20
        assert low == pytest.approx(mean - 1.96 * error, abs=0.1 * error)
        assert high == pytest.approx(mean + 1.96 * error, abs=0.1 * error)

    def test_bootstrap_of_another_statistic_and_of_one_value(self):
        estimate, low, high = hpo_retrieval.bootstrap_confidence_interval([1, 2, 9], metric_fn=np.median)
        assert (estimate, low, high) == (2.0, 1.0, 9.0)
        assert hpo_retrieval.bootstrap_confidence_interval([0.3]) == (0.3, 0.3, 0.3)

    def test_paired_bootstrap_agrees_with_the_t_test_on_many_queries(self):
        from scipy.stats import ttest_rel

        rng = np.random.default_rng(3)
        a = rng.random(300)
        b = a + rng.normal(0.012, 0.1, 300)
        p, significant = hpo_retrieval.paired_bootstrap_test(a, b)
        assert p == pytest.approx(ttest_rel(a, b).pvalue, abs=0.01)
        assert significant == (p < 0.05)

    def test_lists_of_different_length_are_refused(self):
        with pytest.raises(ValueError, match="1 values of one system and 2 of the other"):
            compat.paired_bootstrap_test([1.0], [1.0, 2.0])


class TestRagBenchmark:
    def test_gains(self):
        found = compat.evaluate_retrieval(["b", "a"], {"a", "b"}, [2], gains={"a": 3.0})
        assert found["NDCG@2"] == pytest.approx((1 + 3 / np.log2(3)) / (3 + 1 / np.log2(3)))
        assert compat.ndcg_at_k(["a"], {"a"}, 0) == 0.0

    def test_nothing_given(self):
        assert compat.evaluate_batch([], []) == {}
        assert compat.mean_average_precision([], []) == 0.0
        assert compat.intra_list_diversity(["a"], {}) == 0.0
        assert compat.alpha_ndcg([], {"a"}, {}) == 0.0
        assert compat.alpha_ndcg(["a"], {"a"}, {}) == 1.0

    def test_k_of_0_is_no_cut_for_average_precision(self):
        assert compat.average_precision(["x", "a"], {"a"}, 0) == compat.average_precision(["x", "a"], {"a"}) == 0.5

    def test_lengths_must_agree(self):
        with pytest.raises(ValueError, match="2 lists of results and 1 sets"):
            compat.evaluate_batch([["a"], ["b"]], [{"a"}])

    def test_subtopics(self):
        assert compat.subtopic_coverage(["a"], {"a": {"t"}, "b": {"t", "u"}}) == 0.5

    def test_numbers_as_ids(self):
        assert compat.recall_at_k([1, 2], {2}, 10) == 1.0
        assert compat.intra_list_diversity([1, 2], {1: [1, 0], 2: [0, 1]}) == pytest.approx(1.0)


class TestPodcastSearch:
    def test_similarity_matrix(self):
        rows = [{"episode_id": "a"}, {"episode_id": "b"}]
        assert compat.DiversityEvaluator.content_diversity(rows, np.array([[1, 0.25], [0.25, 1]])) == 0.75

    def test_embeddings_decide_the_diversity(self):
        rows = [{"episode_id": "a"}, {"episode_id": "b"}]
        found = compat.EvaluationFramework().evaluate_search_results("q", rows, embeddings=np.eye(2))
        assert found.diversity_score == pytest.approx(1.0)
        assert compat.DiversityEvaluator.semantic_diversity(rows, np.eye(1)) == 0.0

    def test_nothing_given(self):
        assert compat.EvaluationFramework.aggregate_metrics([]) == {}
        assert compat.RelevanceEvaluator.precision_at_k([{"episode_id": "a"}], {"a": 3}, k=0) == 0.0
        assert compat.CoverageEvaluator.topic_coverage([], {"a": {"t"}}) == 0.0
        assert compat.CoverageEvaluator.topic_coverage([{"episode_id": "a"}], {}) == 0.0
        assert compat.CoverageEvaluator.temporal_coverage([{"episode_id": "a"}]) == (0.0, {})


def test_profiles_are_shown(capsys):
    from rankscope.cli.main import main

    assert main(["profiles", "--format", "json"]) == 0
    shown = {record["name"]: record for record in json.loads(capsys.readouterr().out)}
    assert shown["phentrieve"]["keys"]["map_dense@{k}"] == "AP(norm='min')@{k}"
