"""The evaluators of the podcast search (parakeet), computed by Rankscope's measures.

`results` are its result dicts, best first, with `episode_id`, `podcast_id` and `published_at`; judgments are
{episode_id: 0 to 3}, and an episode is relevant from 2 up.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from rankscope.data.docs import DocTable
from rankscope.data.embeddings import make_embeddings
from rankscope.measures.scores import summarise
from rankscope.predecessors.lists import RankedList, Scorer
from rankscope.predecessors.profiles import podcast_mean_key
from rankscope.records import Record, to_builtins

RELEVANT = 2
_SCORER = Scorer("parakeet")

Result = Mapping[str, Any]
Judgments = Mapping[str, float]
Topics = Mapping[str, Collection[Any]]


class EvaluationMetrics(Record):
    """The scores of one query."""

    relevance_score: float
    coverage_score: float
    diversity_score: float
    precision: float
    recall: float
    ndcg: float
    mean_reciprocal_rank: float


class RelevanceEvaluator:
    """How relevant the results are."""

    @staticmethod
    def evaluate_relevance(query: str, results: Sequence[Result], relevance_judgments: Judgments) -> float:  # noqa: ARG004
        """Return the mean grade over 3 of all results; an unjudged one counts 0. The query is not looked at."""
        return _score(results, relevance_judgments, "MeanGain(max_grade=3)")

    @staticmethod
    def precision_at_k(
        results: Sequence[Result], relevance_judgments: Judgments, k: int = 10, threshold: float = RELEVANT
    ) -> float:
        """Return the share of the first k that is relevant."""
        return _score(results, relevance_judgments, f"P(rel={threshold})", k)

    @staticmethod
    def recall_at_k(
        results: Sequence[Result], relevance_judgments: Judgments, k: int = 10, threshold: float = RELEVANT
    ) -> float:
        """Return the share of the relevant episodes that is among the first k; above 1 where one is listed twice."""
        return _score(results, relevance_judgments, f"R(rel={threshold})", k)

    @staticmethod
    def ndcg(results: Sequence[Result], relevance_judgments: Judgments, k: int = 10) -> float:
        """Return nDCG whose gain is the grade itself."""
        return _score(results, relevance_judgments, "nDCG", k)

    @staticmethod
    def mean_reciprocal_rank(
        results: Sequence[Result], relevance_judgments: Judgments, threshold: float = RELEVANT
    ) -> float:
        """Return 1 over the rank of the first relevant result."""
        return _score(results, relevance_judgments, f"RR(rel={threshold})")


class CoverageEvaluator:
    """How much of the content the results cover."""

    @staticmethod
    def topic_coverage(results: Sequence[Result], topic_assignments: Topics) -> float:
        """Return the share of all topics in the table that the results touch."""
        if not results or not any(topic_assignments.values()):
            return 0.0
        topics = {str(episode): sorted(map(str, found)) for episode, found in topic_assignments.items()}
        table = DocTable({"topics": topics}, frozenset(topics))
        return _score(results, {}, "TopicCoverage", docs=table)

    @staticmethod
    def podcast_coverage(results: Sequence[Result]) -> float:
        """Return the number of distinct podcasts over the number of results; results without one add none."""
        return _score_fields(results, "Distinct(field='podcast_id')", empty_is_missing=True)

    @staticmethod
    def temporal_coverage(results: Sequence[Result]) -> tuple[float, dict[str, Any]]:
        """Return the share of neighbouring dates that differ, and the first, last and distinct dates.

        How far apart the dates lie plays no part; `temporal_uniformity` is the same number.
        """
        dates = sorted(date for date in (result.get("published_at") for result in results) if date)
        if not dates:
            return 0.0, {}
        score = _score_fields(results, "DateDistinct(field='published_at')", empty_is_missing=True)
        facts = {"min_date": dates[0], "max_date": dates[-1], "unique_dates": len(set(dates))}
        return score, {**facts, "temporal_uniformity": score}


class DiversityEvaluator:
    """How different the results are from one another."""

    @staticmethod
    def content_diversity(results: Sequence[Result], similarity_matrix: Any | None = None) -> float:
        """Return the mean of distinct podcasts and distinct dates per result, or of 1 - similarity over all pairs."""
        if len(results) < 2:
            return 0.0
        if similarity_matrix is None:
            measure = "ContentDiversity(field='podcast_id', date='published_at')"
            return _score_fields(results, measure, empty_is_missing=False)
        pairs = np.triu_indices(len(results), k=1)
        return float(np.mean(1.0 - np.asarray(similarity_matrix, dtype=np.float64)[pairs]))

    @staticmethod
    def semantic_diversity(results: Sequence[Result], embeddings: Any) -> float:  # noqa: ARG004
        """Return the mean of 1 - cosine over all pairs of vectors, one for each result; its range is 0 to 2."""
        vectors = np.asarray(embeddings, dtype=np.float64)
        if len(vectors) < 2:
            return 0.0
        places = [str(i) for i in range(len(vectors))]
        side = make_embeddings(places, vectors)
        return _SCORER.score_or_zero(RankedList(places, {}), "ILD", embeddings=side)

    @staticmethod
    def result_uniqueness(results: Sequence[Result]) -> float:
        """Return the number of distinct episodes over the number of results."""
        return _score_fields(results, "Distinct(field='episode_id')", empty_is_missing=False)


class EvaluationFramework:
    """All of the above for one query, and the means over queries."""

    def __init__(self) -> None:
        self.relevance_evaluator = RelevanceEvaluator()
        self.coverage_evaluator = CoverageEvaluator()
        self.diversity_evaluator = DiversityEvaluator()

    def evaluate_search_results(
        self,
        query: str,
        results: Sequence[Result],
        relevance_judgments: Judgments | None = None,
        topic_assignments: Topics | None = None,
        embeddings: Any | None = None,
    ) -> EvaluationMetrics:
        """Return the scores of one query; without judgments those of relevance are 0, and they count."""
        judgments, relevance = relevance_judgments or {}, self.relevance_evaluator
        diversity = self.diversity_evaluator
        return EvaluationMetrics(
            relevance_score=relevance.evaluate_relevance(query, results, judgments),
            coverage_score=self.coverage_evaluator.topic_coverage(results, topic_assignments or {}),
            diversity_score=diversity.content_diversity(results)
            if embeddings is None
            else diversity.semantic_diversity(results, embeddings),
            precision=relevance.precision_at_k(results, judgments),
            recall=relevance.recall_at_k(results, judgments),
            ndcg=relevance.ndcg(results, judgments),
            mean_reciprocal_rank=relevance.mean_reciprocal_rank(results, judgments),
        )

    @staticmethod
    def aggregate_metrics(metrics_list: Sequence[EvaluationMetrics]) -> dict[str, float]:
        """Return the mean of every score, {} for no query."""
        if not metrics_list:
            return {}
        rows = [to_builtins(metrics) for metrics in metrics_list]
        return {podcast_mean_key(name): summarise(np.array([row[name] for row in rows]), "mean") for name in rows[0]}


def _score(results: Sequence[Result], judgments: Judgments, measure: str, k: int | None = None, **side: Any) -> float:
    episodes = [result.get("episode_id") for result in results]
    return _SCORER.score_or_zero(RankedList(episodes, judgments), measure, k, **side)


def _score_fields(results: Sequence[Result], measure: str, *, empty_is_missing: bool) -> float:
    """Score fields of the results, each result a doc of its own; an empty value may be none, or one like any other."""
    if not results:
        return 0.0
    fields: dict[str, dict[str, Any]] = {}
    for name in ("episode_id", "podcast_id", "published_at"):
        values = {str(i): result.get(name) for i, result in enumerate(results)}
        if empty_is_missing or name == "published_at":
            fields[name] = {place: str(value) for place, value in values.items() if value}
        else:
            fields[name] = {place: repr(value) for place, value in values.items()}
    places = [str(i) for i in range(len(results))]
    return _SCORER.score_or_zero(RankedList(places, {}), measure, docs=DocTable(fields, frozenset(places)))
