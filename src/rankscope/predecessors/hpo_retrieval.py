"""The functions of the HPO retrieval benchmark (Phentrieve), computed by Rankscope's measures.

`results` are what its retriever returns (`{"metadatas": [[{"hpo_id": …}]], "distances": [[…]]}`) or simply a list of
ids, best first. Precision is divided by k, as in its code; `profile="phentrieve-plan"` divides by what was retrieved.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from rankscope.arrays import Floats
from rankscope.errors import InputError
from rankscope.predecessors.lists import RankedList, Scorer, relevant_list, side_data
from rankscope.stats.interval import bootstrap, percentile_interval, row_means

CODE = "phentrieve"
SEED = 0
_SCORER = Scorer(CODE)

Results = Mapping[str, Any] | Sequence[str] | None
"""What was retrieved; None, as an empty answer, is nothing at all and scores 0."""


def retrieved_ids(results: Results) -> list[str]:
    """Return the ids in the order in which they are scored: by similarity, 1 - distance within 0 and 1."""
    if not isinstance(results, Mapping):
        return list(() if results is None else results)
    ids = [row.get("hpo_id", "") for row in (results.get("metadatas") or [[]])[0]]
    distances = (results.get("distances") or [[]])[0]
    if len(distances) != len(ids):
        return ids
    similar = np.clip(1.0 - np.asarray(distances, dtype=np.float64), 0.0, 1.0)
    return [ids[i] for i in np.argsort(-similar, kind="stable").tolist()]


def mean_reciprocal_rank(results: Results, expected_ids: Sequence[str] | None) -> float:
    """Return 1 over the rank of the first expected id, over everything retrieved."""
    return _score(results, expected_ids, "RR")


def hit_rate_at_k(results: Results, expected_ids: Sequence[str] | None, k: int = 5) -> float:
    """Return 1 where any expected id is among the first k."""
    return _score(results, expected_ids, "Success", k)


def recall_at_k(results: Results, expected_ids: Sequence[str] | None, k: int = 10) -> float:
    """Return the share of the expected ids that is among the first k; a repeated id counts once."""
    return _score(results, expected_ids, "R", k)


def precision_at_k(results: Results, expected_ids: Sequence[str] | None, k: int = 10, *, profile: str = CODE) -> float:
    """Return the share of the first k that is expected (`profile="phentrieve-plan"`: of those retrieved)."""
    return _score(results, expected_ids, "P" if profile == CODE else "P_ret", k)


def average_precision_at_k(results: Results, expected_ids: Sequence[str] | None, k: int = 10) -> float:
    """Return average precision over at most k expected ids."""
    return _score(results, expected_ids, "AP(norm='min')", k)


def ndcg_at_k(
    results: Results,
    expected_ids: Sequence[str] | None,
    k: int = 10,
    relevance_scores: Mapping[str, float] | None = None,
) -> float:
    """Return nDCG with gain 1, or the scores given, for each expected id; any score above 0 is relevant."""
    expected = expected_ids or ()
    gains = {doc: (relevance_scores or {}).get(doc, 1.0) for doc in expected}
    ranked = RankedList(retrieved_ids(results), gains, [gains[doc] for doc in expected])
    return _SCORER.score_or_zero(ranked, "nDCG(rel=1e-300)", k)


def calculate_test_case_max_ont_sim(
    expected_ids: Sequence[str] | None, retrieved_ids: Sequence[str] | None, formula: str = "hybrid", *, ontology: Any
) -> float:
    """Return the highest similarity of any expected id to any retrieved one, 1 for an exact match.

    `formula` is "hybrid" or "simple_resnik_like", or any similarity that MaxOntSim has; `ontology` is an .obo file.
    """
    if not expected_ids or not retrieved_ids:
        return 0.0
    similarity = {"hybrid": "phentrieve_hybrid", "simple_resnik_like": "phentrieve_simple"}.get(formula, formula)
    ranked = relevant_list(retrieved_ids, list(dict.fromkeys(expected_ids)))
    measure = f"MaxOntSim(sim={similarity!r})"
    return _SCORER.score_or_zero(ranked, measure, len(retrieved_ids), **side_data(ontology=ontology))


def cross_lingual_consistency(mrr_by_language: Mapping[str, float]) -> dict[str, float]:
    """Return the mean over languages and its population variance, as the benchmark's plan proposes."""
    values = np.array(list(mrr_by_language.values()), dtype=np.float64)
    if not len(values):
        return {"average_mrr": 0.0, "cross_lingual_variance": 0.0}
    return {"average_mrr": float(values.mean()), "cross_lingual_variance": float(values.var())}


def bootstrap_confidence_interval(
    values: Sequence[float],
    n_bootstrap: int = 1000,
    confidence_level: float = 0.95,
    metric_fn: Callable[[Floats], Any] = np.mean,
    *,
    seed: int = SEED,
) -> tuple[float, float, float]:
    """Return the estimate and the ends of its percentile bootstrap interval; (0, 0, 0) for no values.

    The original draws without a seed, so its interval differs from call to call.
    """
    sample = np.asarray(values, dtype=np.float64)
    if not len(sample):
        return 0.0, 0.0, 0.0
    estimate = float(metric_fn(sample))
    if len(sample) == 1:
        return estimate, estimate, estimate
    by_row = None if metric_fn is np.mean else partial(np.apply_along_axis, metric_fn, 1)
    found = percentile_interval(sample, by_row, level=confidence_level, n_resamples=n_bootstrap, seed=seed)
    return estimate, found.low, found.high


def paired_bootstrap_test(
    values_a: Sequence[float], values_b: Sequence[float], n_bootstrap: int = 10000, *, seed: int = SEED
) -> tuple[float, bool]:
    """Return the two-sided p-value of the mean difference, and whether it is below 0.05.

    The differences are centred and resampled; p is the share of resamples at least as extreme, as in the original,
    so it can be 0. Nothing can be said from one query: it has p = 1 here, where the original has 0.
    """
    if len(values_a) != len(values_b):
        raise InputError(
            f"there are {len(values_a)} values of one system and {len(values_b)} of the other",
            hint="give the scores of the same queries, in the same order",
        )
    differences = np.asarray(values_a, dtype=np.float64) - np.asarray(values_b, dtype=np.float64)
    if len(differences) < 2 or not differences.any():
        return 1.0, False
    observed = float(differences.mean())
    means = bootstrap(differences - observed, row_means, n_resamples=n_bootstrap, seed=seed)
    p = float((np.abs(means) >= abs(observed)).mean())
    return p, p < 0.05


def _score(results: Results, expected: Sequence[str] | None, measure: str, k: int | None = None) -> float:
    return _SCORER.score_or_zero(relevant_list(retrieved_ids(results), expected or ()), measure, k)
