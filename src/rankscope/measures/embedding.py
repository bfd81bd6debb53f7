"""Diversity by embedding: how unlike one another the results of a query are, by the vectors of the docs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np

from rankscope.align.hits import Hits
from rankscope.arrays import Bools, Floats, Ints, log2, safe_divide
from rankscope.data.embeddings import Embeddings, VectorBlock, make_embeddings, squared_lengths
from rankscope.measures.extras import Extras, Need, example_extras
from rankscope.measures.gain import ideal_terms, ndcg
from rankscope.measures.spec import MeasureExample, MeasureFamily, measure

_SAME = 1e-9  # a doc is a repetition of its own copy also where its cosine is 1 less a rounding error
_ZIEGLER = "Ziegler, McNee, Konstan & Lausen, Improving Recommendation Lists Through Topic Diversification, WWW 2005"
_measure = partial(measure, family=MeasureFamily.EMBEDDING, needs=[Need.EMBEDDINGS], monotone=False)
_distance = partial(
    _measure, about_relevance=False, range=(0, 2), undefined="fewer than two of the first k docs have a vector"
)


def _data(vectors: Mapping[str, Sequence[float]]) -> Extras:
    """Return the data of an example whose results are these docs, in this order."""
    embeddings = make_embeddings(vectors, np.array(list(vectors.values()), dtype=np.float64))
    return example_extras({"example": dict.fromkeys(vectors, 0)}, vectors, embeddings=embeddings)


_ONE_REPEATED = _data({"east": [1, 0], "north": [0, 3], "east again": [2, 0]})
_THREE_WAYS = _data({"east": [1, 0], "north": [0, 1], "west": [-1, 0]})
_ONE_CLOSE = _data({"first": [1, 0, 0], "second": [0.2, math.sqrt(1 - 0.2**2), 0], "third": [0, 0, 1]})


def _example(score: float, working: str, data: Extras) -> MeasureExample:
    return MeasureExample([None, None, None], [1], score, {"k": 3}, working, data)


def per_block(extras: Extras, k: int | None, score: Callable[[VectorBlock], Floats]) -> Floats:
    """Return what is computed from the vectors of each query's first k docs, some queries at a time."""
    return np.asarray(extras.embeddings.per_query(extras.top.cut(k), score, exact=True))


def pair_distances(block: VectorBlock, kind: str, missing: float) -> tuple[Floats, Bools]:
    """Return how far apart the vectors of each pair are, and which pairs there are; `missing` stands for the others."""
    cosines, is_pair = block.pair_cosines()
    return np.where(is_pair, 1 - cosines if kind == "cosine" else np.arccos(cosines) / math.pi, missing), is_pair


def mean_cosine_distances(embeddings: Embeddings, rows: Ints) -> Floats:
    """Return the mean of 1 - cosine over all pairs of each query, whose results have these rows.

    The cosines of all ordered pairs are what is left of the squared length of the sum of unit vectors once each
    vector's product with itself is taken away: one sum per query instead of a product per pair.
    """

    def sums_and_counts(block: VectorBlock) -> Floats:
        total = squared_lengths((block.scale[:, None, :] @ block.vectors)[:, 0].astype(np.float64))
        n_vectors = np.count_nonzero(block.has, axis=1)
        return np.column_stack((total - np.count_nonzero(block.scale, axis=1), n_vectors))

    cosines, n_vectors = embeddings.over_rows(rows, sums_and_counts).T
    return np.clip(1 - safe_divide(cosines, n_vectors * (n_vectors - 1)), 0.0, 2.0)


@_distance(
    "ILD",
    "Intra-list diversity",
    formula=r"\frac{2}{n(n-1)} \sum_{i<j \le k} (1 - \cos(v_i, v_j))",
    cite=_ZIEGLER,
    aliases=("intra_list_diversity", "intra_list_distance", "semantic_diversity"),
    example=_example(2 / 3, "vectors (1,0), (0,3), (2,0): the distances are 1, 0 and 1, their mean 2/3", _ONE_REPEATED),
)
def intra_list_diversity(_hits: Hits, extras: Extras, *, k: int | None = None, distance: str = "cosine") -> Floats:
    """Answers: how unlike one another are the first k docs, on average over all pairs?

    0 where all point the same way, 1 where they are at right angles, 2 for two that are opposite: the range is 0 to 2,
    though vectors of texts rarely have negative cosines. `distance='angular'` is the angle as a share of a half turn,
    0 to 1. A doc without a vector is left out of the pairs (and reported); a vector of zeros has cosine 0 with every
    other. Relevance plays no part.
    """
    if distance == "cosine":
        return mean_cosine_distances(extras.embeddings, extras.embeddings.row_matrix(extras.top.cut(k)))

    def mean_distance(block: VectorBlock) -> Floats:
        far, is_pair = pair_distances(block, distance, 0.0)
        return safe_divide(far.sum(axis=1), is_pair.sum(axis=1))

    return per_block(extras, k, mean_distance)


def median_or_min(block: VectorBlock, kind: str, *, median: bool) -> Floats:
    """Return the median or the smallest distance of the pairs of each query, NaN where there is no pair."""
    far, is_pair = pair_distances(block, kind, math.inf)
    n_pairs = is_pair.sum(axis=1)
    padded = np.concatenate((np.sort(far, axis=1), np.full((len(far), 1), math.nan)), axis=1)
    low, high = ((n_pairs - 1) // 2, n_pairs // 2) if median else (np.zeros_like(n_pairs),) * 2
    at_low, at_high = (padded[np.arange(len(padded)), np.where(n_pairs > 0, place, -1)] for place in (low, high))
    return np.asarray((at_low + at_high) / 2)


@_distance(
    "MinDistance",
    "Smallest pairwise distance",
    formula=r"\min_{i<j \le k} (1 - \cos(v_i, v_j))",
    cite="Drosou & Pitoura, Search Result Diversification, SIGMOD Record 2010 (the MaxMin criterion)",
    aliases=("min_pairwise_distance",),
    example=_example(1, "vectors (1,0), (0,1), (-1,0): the distances are 1, 2 and 1", _THREE_WAYS),
)
def min_distance(_hits: Hits, extras: Extras, *, k: int | None = None, distance: str = "cosine") -> Floats:
    """Answers: how unlike are the two most similar of the first k docs?

    0 where a doc has a copy. A doc without a vector is left out of the pairs.
    """
    return per_block(extras, k, lambda block: median_or_min(block, distance, median=False))


@_distance(
    "MedianDistance",
    "Median pairwise distance",
    formula=r"\mathrm{median}_{i<j \le k} (1 - \cos(v_i, v_j))",
    cite=_ZIEGLER,
    aliases=("median_pairwise_distance",),
    example=_example(1, "vectors (1,0), (0,1), (-1,0): the distances are 1, 1 and 2", _THREE_WAYS),
)
def median_distance(_hits: Hits, extras: Extras, *, k: int | None = None, distance: str = "cosine") -> Floats:
    """Answers: how unlike is the typical pair of the first k docs?

    Unlike the mean of ILD, a single outlier does not move it. A doc without a vector is left out of the pairs.
    """
    return per_block(extras, k, lambda block: median_or_min(block, distance, median=True))


@_measure(
    "Redundancy",
    "Share of near-duplicates",
    about_relevance=False,
    better="lower",
    formula=r"|\{i \le k : \max_{j<i} \cos(v_i, v_j) \ge t\}| / n",
    undefined="none of the first k docs has a vector",
    cite="Bernstein & Zobel, Redundant Documents and Search Effectiveness, CIKM 2005",
    aliases=("redundancy_rate",),
    example=_example(1 / 3, "of (1,0), (0,3), (2,0) only the third repeats one above it", _ONE_REPEATED),
)
def redundancy(_hits: Hits, extras: Extras, *, k: int | None = None, threshold: float = 0.95) -> Floats:
    """Answers: what share of the first k docs says again what a doc above it has said?

    A doc counts where its cosine with any doc above it is at least `threshold`. Docs without a vector are left out,
    also of the number that it is a share of.
    """

    def repeated_share(block: VectorBlock) -> Floats:
        above = np.tril(np.ones((block.has.shape[1],) * 2, dtype=np.bool_), -1)
        both = block.has[:, :, None] & block.has[:, None, :] & above
        repeats = (both & (block.cosines() >= threshold - _SAME)).any(axis=2)
        return safe_divide(repeats.sum(axis=1).astype(np.float64), block.has.sum(axis=1))

    return per_block(extras, k, repeated_share)


@_measure(
    "NoveltyNDCG",
    "Novelty-weighted nDCG",
    formula=(
        r"\frac{\sum_{r \le k} rel_r (w + (1-w)\, nov_r) / \log_2(r+1)}{\sum_{r \le \min(R, k)} 1 / "
        r"\log_2(r+1)}, \quad nov_r = 1 - \max(0, \max_{j<r} \cos(v_r, v_j))"
    ),
    cite="the RAG benchmark dartboard, which calls it alpha-NDCG; gains after Carbonell & Goldstein, MMR, SIGIR 1998",
    aliases=("novelty_ndcg",),
    example=MeasureExample(
        [1, 1, 0],
        [1, 1, 0],
        (1 + 0.9 / math.log2(3)) / (1 + 1 / math.log2(3)),
        {"k": 10},
        "the second doc has cosine 0.2 with the first, so its gain is 0.5 + 0.5·0.8 = 0.9: "
        "(1 + 0.9/log2(3)) / (1 + 1/log2(3)) = 1.5678 / 1.6309",
        _ONE_CLOSE,
    ),
)
def novelty_ndcg(
    hits: Hits, extras: Extras, *, k: int | None = None, rel_weight: float = 0.5, rel: float | None = None
) -> Floats:
    """Answers: how close is the ranking to relevant docs only, each of them unlike all docs above it?

    A relevant doc gains `rel_weight`, plus the rest as far as it is novel: 1 less its highest cosine with any doc
    above it, relevant or not. With rel_weight=1 this is binary nDCG. The ideal takes all relevant docs as novel, which
    they may not be, so 1 can be out of reach. A doc without a vector counts as novel. Not to be confused with
    alpha_nDCG, which goes by subtopics and whose alpha means something else.
    """
    novelty = 1 - per_block(extras, k, lambda block: np.tril(block.cosines(), -1).max(axis=2, initial=0.0))
    counts = hits.relevant(rel, k)
    terms = np.zeros(len(hits.ranks))
    terms[counts] = rel_weight + (1 - rel_weight) * novelty[hits.segments[counts], hits.ranks[counts] - 1]
    ideal = ideal_terms(hits, k, "binary", rel)
    return safe_divide(hits.per_query(terms / log2(hits.ranks + 1)), hits.per_ideal(ideal))


@_measure(
    "RelDiv",
    "Relevance and diversity in one",
    formula=r"1 / (w / \mathrm{nDCG}_k + (1-w) / \mathrm{ILD}_k)",
    range=(0, 2),
    undefined="nDCG or ILD is undefined",
    if_undefined="policy",
    cite="van Rijsbergen, Information Retrieval, 1979 (the weighted harmonic mean); " + _ZIEGLER,
    aliases=("relevance_diversity",),
    example=MeasureExample(
        [1, None, None], [1], 0.8, {"k": 3}, "nDCG is 1, ILD is 2/3: 1 / (0.5/1 + 0.5/(2/3)) = 0.8", _ONE_REPEATED
    ),
)
def relevance_and_diversity(
    hits: Hits,
    extras: Extras,
    *,
    k: int | None = None,
    weight: float = 0.5,
    combine: str = "harmonic",
    distance: str = "cosine",
) -> Floats:
    """Answers: are the first k docs relevant and unlike one another at once?

    The harmonic mean of nDCG@k and ILD@k is low where either is; `combine='arithmetic'` lets one make up for the
    other. It can exceed 1 only as ILD can; `distance='angular'` keeps it within 0 to 1. Compare systems by both
    coordinates (nDCG@k ILD@k) before trusting their mixture. Docs without a vector are left out of ILD alone.
    """
    relevance, diversity = ndcg(hits, k=k), intra_list_diversity(hits, extras, k=k, distance=distance)
    if combine == "arithmetic":
        return weight * relevance + (1 - weight) * diversity
    both = relevance * diversity
    return np.where(both == 0, 0.0, safe_divide(both, weight * diversity + (1 - weight) * relevance))
