"""The functions of the diversity-aware RAG benchmark (dartboard), computed by Rankscope's measures.

They follow its code, so precision is divided by the number of docs retrieved; `profile="dartboard"` divides by k, as
its documents say.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from rankscope.errors import InputError
from rankscope.measures.profiles import find_profile
from rankscope.predecessors.lists import RankedList, Scorer, known, mean_of, relevant_list, side_data
from rankscope.predecessors.profiles import expand_keys

CODE = "dartboard-code"
CUTS = find_profile(CODE).cuts
_SCORER = Scorer(CODE)


def mean_reciprocal_rank(results: Sequence[Any], relevant_docs: Collection[Any], k: int = 10) -> float:
    """Return 1 over the rank of the first relevant doc within k, 0 where there is none."""
    return _score(results, relevant_docs, "RR", k)


def recall_at_k(results: Sequence[Any], relevant_docs: Collection[Any], k: int = 10) -> float:
    """Return the share of the relevant docs that is among the first k; a repeated doc counts once."""
    return _score(results, relevant_docs, "R", k)


def precision_at_k(
    results: Sequence[Any], relevant_docs: Collection[Any], k: int = 10, *, profile: str = CODE
) -> float:
    """Return the share of relevant docs among those retrieved, at most k (`profile="dartboard"`: of k)."""
    return _score(results, relevant_docs, "P_ret" if profile == CODE else "P", k)


def ndcg_at_k(
    results: Sequence[Any], relevant_docs: Collection[Any], k: int = 10, gains: Mapping[Any, float] | None = None
) -> float:
    """Return nDCG with gain 1, or the gains given, for each relevant doc."""
    ranked = RankedList(results, {doc: (gains or {}).get(doc, 1.0) for doc in relevant_docs})
    return _SCORER.score_or_zero(ranked, "nDCG", k)


def average_precision(results: Sequence[Any], relevant_docs: Collection[Any], k: int | None = None) -> float:
    """Return average precision over all relevant docs, down to rank k where it is given and not 0."""
    return _score(results, relevant_docs, f"AP@{k}" if k else "AP")


def mean_average_precision(
    all_results: Sequence[Sequence[Any]], all_relevant_docs: Sequence[Collection[Any]], k: int | None = None
) -> float:
    """Return the mean of average precision over queries; those without relevant docs count as 0."""
    return _means(all_results, all_relevant_docs, {"MAP": f"AP@{k}" if k else "AP"}).get("MAP", 0.0)


def evaluate_retrieval(
    results: Sequence[Any],
    relevant_docs: Collection[Any],
    k_values: Sequence[int] = CUTS,
    gains: Mapping[Any, float] | None = None,
    *,
    profile: str = CODE,
) -> dict[str, float]:
    """Return all measures of one query: MRR at the deepest k, recall, precision and nDCG at every k, and AP."""
    scores = _means([results], [relevant_docs], find_profile(profile).keys, k_values)
    if gains:
        scores |= {f"NDCG@{k}": ndcg_at_k(results, relevant_docs, k, gains) for k in k_values}
    return scores


def evaluate_batch(
    all_results: Sequence[Sequence[Any]],
    all_relevant_docs: Sequence[Collection[Any]],
    k_values: Sequence[int] = CUTS,
    *,
    profile: str = CODE,
) -> dict[str, float]:
    """Return the means over queries of what `evaluate_retrieval` gives, and MAP at the deepest k; {} for no query."""
    return _means(all_results, all_relevant_docs, find_profile(profile).mean_keys, k_values)


def intra_list_diversity(results: Sequence[Any], embeddings_dict: Mapping[Any, Any]) -> float:
    """Return the mean of 1 - cosine over all pairs of results that have an embedding, 0 for fewer than two.

    Its range is 0 to 2, not 0 to 1: opposite vectors are at distance 2.
    """
    if not embeddings_dict:
        return 0.0
    embedded = [doc for doc in results if doc in embeddings_dict]
    return _SCORER.score_or_zero(RankedList(embedded, {}), "ILD", **_side(embeddings_dict))


def alpha_ndcg(
    results: Sequence[Any],
    relevant_docs: Collection[Any],
    embeddings_dict: Mapping[Any, Any],
    k: int = 10,
    alpha: float = 0.5,
) -> float:
    """Return NoveltyNDCG: nDCG whose gains shrink with the similarity to docs further up.

    `alpha` is the weight of relevance: 1 is plain nDCG. In the literature's alpha-nDCG it is the other way round.
    """
    if not relevant_docs or not results or k < 1:
        return 0.0
    if not embeddings_dict:
        return _score(results, relevant_docs, "nDCG(gain='binary')", k)  # every doc is new
    return _score(results, relevant_docs, f"NoveltyNDCG(rel_weight={alpha!r})", k, **_side(embeddings_dict))


def subtopic_coverage(results: Sequence[Any], topic_assignments: Mapping[Any, Collection[Any]]) -> float:
    """Return the share of all topics in the table that the results cover."""
    from rankscope.predecessors.podcast_search import CoverageEvaluator

    return CoverageEvaluator.topic_coverage([{"episode_id": doc} for doc in results], topic_assignments)


def _score(results: Sequence[Any], relevant: Collection[Any], measure: str, k: int | None = None, **side: Any) -> float:
    return _SCORER.score_or_zero(relevant_list(results, set(relevant)), measure, k, **side)


def _means(
    all_results: Sequence[Sequence[Any]],
    all_relevant: Sequence[Collection[Any]],
    patterns: Mapping[str, str],
    cuts: Sequence[int] = (),
) -> dict[str, float]:
    """Return the means over the lists of all measures that need no embeddings, {} where there are no lists."""
    if not all_results or not all_relevant:
        return {}
    if len(all_results) != len(all_relevant):
        raise InputError(
            f"there are {len(all_results)} lists of results and {len(all_relevant)} sets of relevant docs",
            hint="give one set for each list",
        )
    keys = expand_keys({key: name for key, name in patterns.items() if key not in {"ILD", "Alpha-NDCG@10"}}, cuts)
    lists = [relevant_list(docs, set(found)) for docs, found in zip(all_results, all_relevant, strict=True)]
    values = _SCORER.table(lists, [known(name) for name in keys.values()])
    return {key: mean_of(column) or 0.0 for key, column in zip(keys, values.T, strict=True)}


def _side(embeddings: Mapping[Any, Any]) -> dict[str, Any]:
    return side_data(embeddings={str(doc): vector for doc, vector in embeddings.items()})
