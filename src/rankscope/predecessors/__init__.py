"""The functions and classes that users of four evaluation frameworks know, with the same arguments and numbers.

`rag_diversity`, `podcast_search`, `hpo_retrieval` and `doctor_search` hold one framework each; where two of them have a
function of the same name, it is found there. All scores come from Rankscope's own measures.
"""

from rankscope.predecessors.hpo_retrieval import bootstrap_confidence_interval, paired_bootstrap_test
from rankscope.predecessors.podcast_search import (
    CoverageEvaluator,
    DiversityEvaluator,
    EvaluationFramework,
    EvaluationMetrics,
    RelevanceEvaluator,
)
from rankscope.predecessors.rag_diversity import (
    alpha_ndcg,
    average_precision,
    evaluate_batch,
    evaluate_retrieval,
    intra_list_diversity,
    mean_average_precision,
    mean_reciprocal_rank,
    ndcg_at_k,
    precision_at_k,
    recall_at_k,
    subtopic_coverage,
)
from rankscope.predecessors.shape import TheirScores, evaluate_as, in_their_words

__all__ = [
    "CoverageEvaluator",
    "DiversityEvaluator",
    "EvaluationFramework",
    "EvaluationMetrics",
    "RelevanceEvaluator",
    "TheirScores",
    "alpha_ndcg",
    "average_precision",
    "bootstrap_confidence_interval",
    "evaluate_as",
    "evaluate_batch",
    "evaluate_retrieval",
    "in_their_words",
    "intra_list_diversity",
    "mean_average_precision",
    "mean_reciprocal_rank",
    "ndcg_at_k",
    "paired_bootstrap_test",
    "precision_at_k",
    "recall_at_k",
    "subtopic_coverage",
]
