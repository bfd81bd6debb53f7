"""The functions of the doctor search's test bench (ranking_algo), computed by Rankscope's measures.

`results` are its result objects or plain ids, best first; `ground_truth` are the ids of the right doctors. A test case
without ground truth has no score: None, where the original has null.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from rankscope.predecessors.lists import RankedList, Scorer, hits_of, known, mean_of, relevant_list

_SCORER = Scorer("ranking_algo")


def result_id(result: Any) -> str | None:
    """Return a result's id, looked up where the original looks for it."""
    if not isinstance(result, Mapping):
        return None if result is None else str(result)
    document = result.get("document") or {}
    found = document.get("practitioner_id") or document.get("id") or result.get("practitioner_id") or result.get("id")
    return None if found is None else str(found)


def precision_at_k(results: Sequence[Any], ground_truth: Sequence[Any] | None, k: int) -> float | None:
    """Return the share of the first k that is right; a doctor listed twice counts twice."""
    return _score(results, ground_truth, f"P@{k}")


def recall_at_k(results: Sequence[Any], ground_truth: Sequence[Any] | None, k: int) -> float | None:
    """Return the share of the ground truth among the first k; above 1 where a doctor is listed twice."""
    return _score(results, ground_truth, f"R@{k}")


def mean_reciprocal_rank(results: Sequence[Any], ground_truth: Sequence[Any] | None) -> float | None:
    """Return 1 over the rank of the first right doctor, over the whole list given."""
    return _score(results, ground_truth, "RR")


def ndcg(results: Sequence[Any], ground_truth: Sequence[Any] | None, k: int = 5) -> float | None:
    """Return binary nDCG (cut at 5 in the original's server, at 12 on its command line)."""
    return _score(results, ground_truth, f"nDCG(gain='binary')@{k}")


def position_metrics(results: Sequence[Any], ground_truth: Sequence[Any] | None) -> dict[str, Any]:
    """Return where the right doctors stand: over those found, not over all of the ground truth."""
    ranked = _ranked(results, ground_truth or ())
    positions = hits_of([ranked]).ranks.tolist()
    names = {"averagePosition": "MeanRel", "minPosition": "FirstRel", "maxPosition": "LastRel"}
    return {
        **{key: _SCORER.score(ranked, name) for key, name in names.items()},
        **{f"inTop{k}": int(_SCORER.score_or_zero(ranked, "NumRelRet", k)) for k in (3, 5, 10)},
        "totalFound": len(positions),
        "positions": positions,
    }


def evaluate_against_ground_truth(
    results: Sequence[Any], ground_truth: Sequence[Any] | None, k: int = 5
) -> dict[str, Any]:
    """Return the evaluation object of one test case and variant; `k` cuts nDCG."""
    return {
        **{f"precisionAt{cut}": precision_at_k(results, ground_truth, cut) for cut in (3, 5)},
        **{f"recallAt{cut}": recall_at_k(results, ground_truth, cut) for cut in (3, 5)},
        "mrr": mean_reciprocal_rank(results, ground_truth),
        "ndcg": ndcg(results, ground_truth, k),
        "positionMetrics": position_metrics(results, ground_truth),
    }


def average(values: Iterable[float | None]) -> float | None:
    """Return the mean of the values that are there, None for none: test cases without ground truth do not count."""
    return mean_of(np.array(list(values), dtype=np.float64))


def summarise_batch(evaluations: Sequence[Mapping[str, Mapping[str, Any]] | None]) -> dict[str, Any]:
    """Return the summary of a batch: the average of each measure by variant."""
    variants = dict.fromkeys(variant for evaluation in evaluations for variant in evaluation or {})
    keys = {
        "averagePrecisionAt3": "precisionAt3",
        "averagePrecisionAt5": "precisionAt5",
        "averageRecallAt5": "recallAt5",
        "averageMRR": "mrr",
        "averageNDCG": "ndcg",
    }
    return {
        "totalTestCases": len(evaluations),
        **{
            mean: {
                variant: average(found.get(variant, {}).get(key) for found in evaluations if found)
                for variant in variants
            }
            for mean, key in keys.items()
        },
    }


def aggregate_measurements(exports: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return, by variant, how many results were flagged, how often a doctor was chosen, and the average P@3."""
    flags: Counter[str] = Counter()
    choices: Counter[str] = Counter()
    precisions: dict[str, list[float | None]] = {}
    for export in exports:
        measured = export.get("measurements") or {}
        for variant, by_place in (measured.get("relevanceFlags") or {}).items():
            flags[variant] += sum(bool(flag and flag.get("flagged")) for flag in by_place.values())
        for variant, place in (measured.get("bookingProxy") or {}).items():
            choices[variant] += place is not None
        for variant, precision in (measured.get("precisionAt3") or {}).items():
            precisions.setdefault(variant, []).append(precision)
    return {
        variant: {
            "bookingProxyCount": choices[variant],
            "relevanceFlagCount": flags[variant],
            "averagePrecisionAt3": average(precisions.get(variant, ())),
        }
        for variant in {**flags, **choices, **precisions}
    }


def fit_shares(fit_categories: Sequence[str], cuts: Sequence[int] = (3, 5, 12)) -> dict[str, Any]:
    """Return which share of the top results a judge called excellent, good or ill-fit, of those that there are."""
    named = [category.lower().replace("-", "_").replace(" ", "_") for category in fit_categories]
    found: dict[str, Any] = {}
    for tier in ("excellent", "good", "ill_fit"):
        ranked = RankedList(range(len(named)), {i: 1.0 for i, category in enumerate(named) if category == tier})
        for k in cuts:
            found[f"pct_{tier}_at_{k}"] = _SCORER.score_or_zero(ranked, "P_ret", k)
            if tier == "excellent":
                found[f"top{k}_all_excellent"] = _SCORER.score_or_zero(ranked, "P", k) == 1.0
    return found


def pool_recall(pools: Sequence[Sequence[Any]], ground_truths: Sequence[Sequence[Any]], n: int) -> float | None:
    """Return the share of all picks that are in their pool of n candidates; cases with more picks count more."""
    lists = [_ranked(pool, picks) for pool, picks in zip(pools, ground_truths, strict=True)]
    found = np.nan_to_num(_SCORER.table(lists, [known(f"NumRelRet@{n}"), known("NumRel")])).sum(axis=0)
    return float(found[0] / found[1]) if len(found) and found[1] else None


def _ranked(results: Sequence[Any], ground_truth: Sequence[Any]) -> RankedList:
    return relevant_list([result_id(result) for result in results], [str(doc) for doc in ground_truth])


def _score(results: Sequence[Any], ground_truth: Sequence[Any] | None, measure: str) -> float | None:
    return _SCORER.score(_ranked(results, ground_truth or ()), measure)
