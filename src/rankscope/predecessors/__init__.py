"""The functions and classes that users of four evaluation frameworks know, with the same arguments and numbers.

`rag_diversity`, `podcast_search`, `hpo_retrieval` and `doctor_search` hold one framework each; where two of them have a
function of the same name, it is found there. All scores come from Rankscope's own measures.
"""

from importlib import import_module
from typing import Any

_NAMES_IN = {
    "hpo_retrieval": ("bootstrap_confidence_interval", "paired_bootstrap_test"),
    "lists": ("TheirScores", "evaluate_as", "in_their_words"),
    "podcast_search": (
        "CoverageEvaluator",
        "DiversityEvaluator",
        "EvaluationFramework",
        "EvaluationMetrics",
        "RelevanceEvaluator",
    ),
    "rag_diversity": (
        "alpha_ndcg",
        "average_precision",
        "evaluate_batch",
        "evaluate_retrieval",
        "intra_list_diversity",
        "mean_average_precision",
        "mean_reciprocal_rank",
        "ndcg_at_k",
        "precision_at_k",
        "recall_at_k",
        "subtopic_coverage",
    ),
}
_MODULE_OF = {name: module for module, names in _NAMES_IN.items() for name in names}

__all__ = sorted(_MODULE_OF)  # noqa: PLE0605 (a list of names all the same)


def __getattr__(name: str) -> Any:
    """Load a framework's functions when they are first used: the profiles are in this package, too."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
