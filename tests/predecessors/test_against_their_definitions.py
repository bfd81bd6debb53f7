"""Random lists, repeated docs and empty ones included, against the predecessors' definitions written out plainly."""

import math
from itertools import pairwise

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from rankscope import predecessors as compat
from rankscope.predecessors import doctor_search, hpo_retrieval

LISTS = st.lists(st.sampled_from("abcdefgh"), max_size=12)
RELEVANT = st.sets(st.sampled_from("abcdefxyz"))
CUT = st.integers(1, 14)


def same(value):
    return pytest.approx(value, rel=1e-12, abs=1e-15)


def discounted(gains):
    return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, 1))


def precisions(shown, relevant):
    found, total = 0, 0.0
    for rank, doc in enumerate(shown, 1):
        if doc in relevant:
            found += 1
            total += found / rank
    return total


def first_rank(shown, relevant):
    return next((1 / rank for rank, doc in enumerate(shown, 1) if doc in relevant), 0.0)


@given(LISTS, RELEVANT, CUT)
def test_rag_benchmark(shown, relevant, k):
    top = shown[:k]
    hits = sum(doc in relevant for doc in top)
    ideal = discounted([1.0] * min(len(relevant), k))
    expected = {
        f"MRR@{k}": first_rank(top, relevant),
        f"Recall@{k}": len(set(top) & relevant) / len(relevant) if relevant else 0.0,
        f"Precision@{k}": hits / len(top) if top else 0.0,
        f"NDCG@{k}": discounted([doc in relevant for doc in top]) / ideal if relevant else 0.0,
        "AP": precisions(shown, relevant) / len(relevant) if relevant else 0.0,
    }
    assert compat.evaluate_retrieval(shown, relevant, [k]) == same(expected)
    by_text = compat.evaluate_retrieval(shown, relevant, [k], profile="dartboard")
    assert by_text == same({**expected, f"Precision@{k}": hits / k})


@given(st.lists(st.tuples(LISTS, RELEVANT), min_size=1, max_size=6))
def test_rag_batch_is_the_mean_over_all_queries(pairs):
    lists, relevant = [shown for shown, _ in pairs], [judged for _, judged in pairs]
    each = [compat.evaluate_retrieval(shown, judged, [1, 5]) for shown, judged in pairs]
    expected = {key: sum(found[key] for found in each) / len(each) for key in each[0]}
    expected["MAP@5"] = sum(compat.average_precision(s, r, 5) for s, r in pairs) / len(pairs)
    assert compat.evaluate_batch(lists, relevant, [1, 5]) == same(expected)


@given(LISTS, st.lists(st.sampled_from("abcxyz"), max_size=6), CUT)
def test_hpo_retrieval(shown, expected, k):
    top = shown[:k]
    hits = sum(doc in expected for doc in top)
    if not expected:
        assert hpo_retrieval.recall_at_k(shown, expected, k) == 0.0
        assert hpo_retrieval.ndcg_at_k(shown, expected, k) == 0.0
        return
    ideal = discounted([1.0] * min(len(expected), k))
    assert hpo_retrieval.mean_reciprocal_rank(shown, expected) == same(first_rank(shown, expected))
    assert hpo_retrieval.hit_rate_at_k(shown, expected, k) == float(hits > 0)
    assert hpo_retrieval.recall_at_k(shown, expected, k) == same(len(set(top) & set(expected)) / len(expected))
    assert hpo_retrieval.precision_at_k(shown, expected, k) == same(hits / k)
    in_plan = hpo_retrieval.precision_at_k(shown, expected, k, profile="phentrieve-plan")
    assert in_plan == same(hits / len(top) if top else 0.0)
    assert hpo_retrieval.ndcg_at_k(shown, expected, k) == same(discounted([doc in expected for doc in top]) / ideal)
    in_their_map = hpo_retrieval.average_precision_at_k(shown, expected, k)
    assert in_their_map == same(precisions(top, expected) / min(len(expected), k))


@given(LISTS, RELEVANT, CUT)
def test_doctor_search(shown, truth, k):
    top = shown[:k]
    if not truth:
        found = doctor_search.evaluate_against_ground_truth(shown, [], k)
        assert {value for key, value in found.items() if key != "positionMetrics"} == {None}
        return
    hits = sum(doc in truth for doc in top)
    assert doctor_search.precision_at_k(shown, sorted(truth), k) == same(hits / k)
    assert doctor_search.recall_at_k(shown, sorted(truth), k) == same(hits / len(truth))
    assert doctor_search.mean_reciprocal_rank(shown, sorted(truth)) == same(first_rank(shown, truth))
    ideal = discounted([1.0] * min(len(truth), k))
    assert doctor_search.ndcg(shown, sorted(truth), k) == same(discounted([doc in truth for doc in top]) / ideal)


@given(
    LISTS, st.lists(st.sampled_from("abcd"), min_size=1), st.dictionaries(st.sampled_from("abcd"), st.floats(0, 3)), CUT
)
@example(list("ab"), list("ab"), {"a": 0.9, "b": 0.5}, 5)
@example(list("xyza"), ["a"], {"a": 0.5}, 5)
def test_ndcg_of_hpo_ids_with_scores_of_their_own(shown, expected, scores, k):
    ideal = discounted(sorted((scores.get(term, 1.0) for term in expected), reverse=True)[:k])
    gained = discounted([scores.get(term, 1.0) if term in expected else 0.0 for term in shown[:k]])
    assume(ideal > 1e-290 or ideal == 0)
    found = hpo_retrieval.ndcg_at_k(shown, expected, k, relevance_scores=scores)
    assert found == same(gained / ideal if ideal else 0.0)


@given(LISTS, st.dictionaries(st.sampled_from("abcdxyz"), st.integers(0, 3)), CUT, st.integers(1, 3))
def test_podcast_search(shown, judged, k, threshold):
    results = [{"episode_id": doc} for doc in shown]
    relevant = {doc for doc, grade in judged.items() if grade >= threshold}
    hits = sum(doc in relevant for doc in shown[:k])
    evaluator = compat.RelevanceEvaluator
    relevance = sum(judged.get(doc, 0) / 3 for doc in shown) / len(shown) if shown else 0.0
    assert evaluator.evaluate_relevance("any", results, judged) == same(relevance)
    assert evaluator.precision_at_k(results, judged, k, threshold) == same(hits / k if shown else 0.0)
    assert evaluator.recall_at_k(results, judged, k, threshold) == same(hits / len(relevant) if relevant else 0.0)
    assert evaluator.mean_reciprocal_rank(results, judged, threshold) == same(first_rank(shown, relevant))
    ideal = discounted(sorted(judged.values(), reverse=True)[:k])
    gained = discounted([judged.get(doc, 0) for doc in shown[:k]])
    assert evaluator.ndcg(results, judged, k) == same(gained / ideal if ideal else 0.0)


@given(st.lists(st.tuples(st.sampled_from(["p", "q", None]), st.sampled_from(["2024-01-01", "2024-02-01", None]))))
def test_variety_of_podcasts(rows):
    results = [
        {"episode_id": str(i // 2), "podcast_id": podcast, "published_at": date}
        for i, (podcast, date) in enumerate(rows)
    ]
    n = len(rows)
    podcasts, dates = [podcast for podcast, _ in rows], sorted(date for _, date in rows if date)
    covered = len({podcast for podcast in podcasts if podcast}) / n if n else 0.0
    assert compat.CoverageEvaluator.podcast_coverage(results) == same(covered)
    adjacent = [a != b for a, b in pairwise(dates)]
    score, facts = compat.CoverageEvaluator.temporal_coverage(results)
    assert score == same(sum(adjacent) / len(adjacent) if adjacent else 0.0)
    assert facts == ({} if not dates else {
        "min_date": dates[0], "max_date": dates[-1], "unique_dates": len(set(dates)), "temporal_uniformity": score,
    })  # fmt: skip
    mixed = (len(set(podcasts)) + len(set(dates))) / n / 2 if n > 1 else 0.0
    assert compat.DiversityEvaluator.content_diversity(results) == same(mixed)
    unique = len({row["episode_id"] for row in results}) / n if n else 0.0
    assert compat.DiversityEvaluator.result_uniqueness(results) == same(unique)


@given(
    LISTS, RELEVANT, st.lists(st.tuples(st.floats(-1, 1), st.floats(-1, 1)), min_size=8, max_size=8), st.floats(0, 1)
)
def test_novelty(shown, relevant, vectors, alpha):
    embeddings = {doc: (x + 2, y) for doc, (x, y) in zip("abcdefg", vectors, strict=False)}  # h has none

    def cosine(a, b):
        return (a[0] * b[0] + a[1] * b[1]) / math.hypot(*a) / math.hypot(*b)

    gains = []
    for place, doc in enumerate(shown[:10]):
        above = [embeddings[other] for other in shown[:place] if other in embeddings]
        alike = max((cosine(embeddings[doc], other) for other in above), default=0.0) if doc in embeddings else 0.0
        gains.append((doc in relevant) * (alpha + (1 - alpha) * (1 - max(0.0, alike))))
    ideal = discounted([1.0] * min(len(relevant), 10))
    found = compat.alpha_ndcg(shown, relevant, embeddings, k=10, alpha=alpha)
    assert found == pytest.approx(discounted(gains) / ideal if relevant else 0.0, abs=1e-6)
    pairs = [
        1 - cosine(embeddings[a], embeddings[b])
        for i, a in enumerate(shown) for b in shown[:i] if a in embeddings and b in embeddings
    ]  # fmt: skip
    ild = compat.intra_list_diversity(shown, embeddings)
    assert ild == pytest.approx(sum(pairs) / len(pairs) if pairs else 0.0, abs=1e-6)
