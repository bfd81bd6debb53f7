"""Fusion: one ranking from several, by ranks or by scores; of one query, or of whole runs.

A method either looks at ranks alone (rrf, isr, log_isr, borda) or at scores, which are made comparable first (`norm`).
To add a method, write its function and one line of `METHODS`; other packages add a `FusionMethod` through the entry
point `rankscope.fusion_methods`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from rankscope.data.loading import load_runs
from rankscope.data.run import Run
from rankscope.data.sources import RowsSource
from rankscope.errors import OptionError
from rankscope.io.rows import RunRows
from rankscope.registry import Registry
from rankscope.systems.base import RankedDocs, best_first
from rankscope.systems.options import check_choice

if TYPE_CHECKING:
    from rankscope.data.shapes import RunsLike

Scores = Mapping[str, float]
"""Doc to score, best first."""

NORMS = {
    "none": "scores as they are",
    "minmax": "from 0 (the lowest of the list) to 1 (the highest)",
    "max": "divided by the highest, which must be above 0",
    "sum": "above the lowest, divided so that they add up to 1",
    "zscore": "how many standard deviations above the list's mean; a doc that is not listed counts as the lowest",
    "rank": "1 for the first, falling evenly to 1/n for the last of n",
}
"""What can be done to the scores of a list to make them comparable with those of another."""


class Fusion(msgspec.Struct, frozen=True, kw_only=True):
    """How rankings are fused: the method with its parameters, checked."""

    method: str = "rrf"
    k: float = 60
    """The constant of rrf: the larger, the less the first ranks stand out."""
    weights: tuple[float, ...] | None = None
    """How much each list counts, in their order; all alike where not given."""
    norm: str | None = None
    """How scores are made comparable; min-max where not given."""

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            check_choice(self.method, METHODS, what="method")
        if not self.k >= 0:
            raise OptionError(f"k is {self.k:g}, but it must be 0 or more")
        if self.norm is not None:
            check_choice(self.norm, NORMS, what="norm")
            if METHODS[self.method].by_rank:
                raise OptionError(f"{self.method} looks at ranks alone, so norm = {self.norm!r} would do nothing")
        if self.weights is not None and (not all(map(math.isfinite, self.weights)) or not any(self.weights)):
            raise OptionError(f"weights {list(self.weights)} are not numbers, or all 0")

    def fuse(self, rankings: Sequence[RankedDocs]) -> RankedDocs:
        """Return one ranking from those of several systems for one query, best first."""
        method, weights = METHODS[self.method], self.weights_for(len(rankings))
        lists: Sequence[Scores] = [dict(best_first(ranking)) for ranking in rankings]
        if not method.by_rank:
            lists = [normalise(scores, self.norm or "minmax") for scores in lists]
        return best_first(method.combine(lists, weights, self))

    def weights_for(self, n_lists: int) -> Sequence[float]:
        """Return the weights, as many as there are lists."""
        if self.weights is None:
            return [1.0] * n_lists
        if len(self.weights) != n_lists:
            raise OptionError(f"{len(self.weights)} weights are given for {n_lists} rankings", hint="give one for each")
        return self.weights


def fuse(
    runs: RunsLike,
    method: str = "rrf",
    *,
    k: float = 60,
    weights: Sequence[float] | None = None,
    norm: str | None = None,
    depth: int | None = None,
    name: str = "fused",
) -> Run:
    """Fuse runs into one, query by query; a run that does not answer a query has an empty list there.

    Parameters
    ----------
    runs
        Two or more runs, as `evaluate` takes them.
    method
        How: a name of `METHODS`, such as rrf, combsum or borda.
    k
        The constant of rrf: the larger, the less the first ranks stand out.
    weights
        How much each run counts, in their order; all alike where not given.
    norm
        How scores are made comparable: a name of `NORMS`, min-max where not given.
    depth
        How many docs of each run, and of the result, are looked at; all where not given.
    name
        The name of the fused run.

    Returns
    -------
    Run
        Every query that any of the runs answers, with docs best first.

    Raises
    ------
    OptionError
        There is only one run, or an option has a value that it cannot have.

    Examples
    --------
    >>> import rankscope as rs
    >>> fused = rs.fuse([{"q": ["a", "b"]}, {"q": ["b", "c"]}])
    >>> rs.evaluate({"q": {"b": 1}}, fused, "RR")["fused"]["q", "RR"]
    1.0
    """
    fusion = Fusion(method=method, k=k, weights=None if weights is None else tuple(weights), norm=norm)
    loaded = load_runs(runs)
    fusion.weights_for(len(loaded))
    if depth is not None and depth < 1:
        raise OptionError(f"depth is {depth}, but it must be 1 or more")
    if len(loaded) == 1:
        raise OptionError("one run cannot be fused", hint="give two or more")
    queries = dict.fromkeys(query for run in loaded for query in run.query_ids)
    fused = {query: fusion.fuse([docs_in(run, query)[:depth] for run in loaded])[:depth] for query in queries}
    pairs = [pair for ranking in fused.values() for pair in ranking]
    rows = RunRows(
        query=[query for query, ranking in fused.items() for _ in ranking],
        doc=[doc for doc, _ in pairs],
        score=np.array([score for _, score in pairs], dtype=np.float64),
        rank=np.array([rank for ranking in fused.values() for rank in range(1, len(ranking) + 1)], dtype=np.int64),
        tag=name,
        empty_queries=tuple(query for query, ranking in fused.items() if not ranking),
    )
    return Run(RowsSource(rows), name=name)


def docs_in(run: Run, query: str) -> RankedDocs:
    """Return what a run has for a query, best first; nothing where it does not answer it."""
    if query not in run.rankings:
        return []
    return best_first(run.rankings.ranking(query, duplicates="error").score_of)


def reciprocal_ranks(lists: Sequence[Scores], weights: Sequence[float], fusion: Fusion) -> Scores:
    """Return the sum of 1 / (k + rank) of each doc."""
    points = [{doc: 1 / (fusion.k + rank) for rank, doc in enumerate(scores, 1)} for scores in lists]
    return weighted_sum(points, weights)


def borda(lists: Sequence[Scores], weights: Sequence[float], _: Fusion) -> Scores:
    """Return points: n for the first of n candidates, one less for each further one; the unlisted share the rest."""
    docs = {doc for scores in lists for doc in scores}
    points: list[Scores] = []
    for scores in lists:
        listed = {doc: float(len(docs) - place) for place, doc in enumerate(scores)}
        shared = (len(docs) - len(scores) + 1) / 2
        points.append(listed | dict.fromkeys(docs - listed.keys(), shared))
    return weighted_sum(points, weights)


def inverse_squares(factor: Callable[[int], float]) -> Callable[[Sequence[Scores], Sequence[float], Fusion], Scores]:
    """Return a method that adds up 1 / rank² of each doc, times a factor of how many lists have it."""

    def combine(lists: Sequence[Scores], weights: Sequence[float], _: Fusion) -> Scores:
        total = weighted_sum([{doc: rank**-2.0 for rank, doc in enumerate(scores, 1)} for scores in lists], weights)
        return {doc: factor(sum(doc in scores for scores in lists)) * score for doc, score in total.items()}

    return combine


def sum_of_scores(lists: Sequence[Scores], weights: Sequence[float], fusion: Fusion) -> Scores:
    """Return the weighted sum of each doc's scores.

    A doc that a list does not have gets nothing from it; where 0 is not the lowest score but the mean, its lowest.
    """
    if fusion.norm == "zscore":
        docs = {doc for scores in lists for doc in scores}
        lists = [dict.fromkeys(docs, min(scores.values(), default=0.0)) | dict(scores) for scores in lists]
    return weighted_sum(lists, weights)


def weighted_sum(lists: Sequence[Scores], weights: Sequence[float]) -> dict[str, float]:
    """Return the weighted sum of each doc's scores; a list that does not have a doc adds nothing."""
    total: dict[str, float] = {}
    for scores, weight in zip(lists, weights, strict=True):
        for doc, score in scores.items():
            total[doc] = total.get(doc, 0.0) + weight * score
    return total


def over_lists(
    combine: Callable[[Sequence[float]], float],
) -> Callable[[Sequence[Scores], Sequence[float], Fusion], Scores]:
    """Return a method that combines the weighted scores that a doc has in the lists that have it."""

    def combined(lists: Sequence[Scores], weights: Sequence[float], _: Fusion) -> Scores:
        found: dict[str, list[float]] = {}
        for scores, weight in zip(lists, weights, strict=True):
            for doc, score in scores.items():
                found.setdefault(doc, []).append(weight * score)
        return {doc: combine(values) for doc, values in found.items()}

    return combined


class FusionMethod(msgspec.Struct, frozen=True):
    """One method of fusion."""

    combine: Callable[[Sequence[Scores], Sequence[float], Fusion], Scores]
    """Turns the lists of one query and their weights into the scores of all docs."""
    summary: str
    by_rank: bool = False
    """Whether ranks alone count; otherwise the lists hold scores that have been made comparable."""


_FOX_SHAW = "(Fox & Shaw 1994)"
_METHODS = {
    "rrf": FusionMethod(
        reciprocal_ranks, "reciprocal rank fusion: sum of 1 / (k + rank) (Cormack et al. 2009)", by_rank=True
    ),
    "weighted": FusionMethod(sum_of_scores, "weighted sum of normalised scores"),
    "combsum": FusionMethod(sum_of_scores, f"sum of normalised scores {_FOX_SHAW}"),
    "combmnz": FusionMethod(
        over_lists(lambda values: sum(values) * len(values)),
        f"sum, times the number of lists that have the doc {_FOX_SHAW}",
    ),
    "combanz": FusionMethod(
        over_lists(lambda values: sum(values) / len(values)), f"mean over the lists that have the doc {_FOX_SHAW}"
    ),
    "combmed": FusionMethod(over_lists(median), f"median over the lists that have the doc {_FOX_SHAW}"),
    "combmax": FusionMethod(over_lists(max), f"highest of the normalised scores {_FOX_SHAW}"),
    "combmin": FusionMethod(
        over_lists(min), f"lowest of the normalised scores, over the lists that have the doc {_FOX_SHAW}"
    ),
    "isr": FusionMethod(
        inverse_squares(float),
        "number of lists that have the doc, times the sum of 1 / rank² (Mourão et al. 2014)",
        by_rank=True,
    ),
    "log_isr": FusionMethod(
        inverse_squares(math.log),
        "logarithm of that number, times the sum of 1 / rank² (Mourão et al. 2014)",
        by_rank=True,
    ),
    "borda": FusionMethod(
        borda,
        "points for every doc ranked below; unlisted docs share what is left (Aslam & Montague 2001)",
        by_rank=True,
    ),
}
METHODS: Registry[FusionMethod] = Registry("fusion method", {}, entry_points="rankscope.fusion_methods")
"""The methods of fusion."""
for _name, _method in _METHODS.items():
    METHODS.add(_name, _method, _method.summary)


def normalise(scores: Scores, norm: str) -> Scores:
    """Return the scores of one list, made comparable; see NORMS."""
    if not scores or norm == "none":
        return scores
    if norm == "rank":
        return {doc: 1 - place / len(scores) for place, doc in enumerate(scores)}
    values = list(scores.values())
    shift, scale = shift_and_scale(values, norm)
    if scale == 0:  # all scores alike: nothing tells the docs of the list apart
        return dict.fromkeys(scores, 0.0 if norm == "zscore" else 1.0 if norm != "sum" else 1 / len(values))
    return {doc: (score - shift) / scale for doc, score in scores.items()}


def shift_and_scale(values: Sequence[float], norm: str) -> tuple[float, float]:
    """Return what is taken from every score, and what it is then divided by."""
    low, high = min(values), max(values)
    if norm == "minmax":
        return low, high - low
    if norm == "max":
        if high <= 0:
            raise OptionError("norm = 'max' needs scores above 0, and a list has none", hint="use minmax instead")
        return 0.0, high
    if norm == "sum":
        return low, math.fsum(value - low for value in values)
    mean = math.fsum(values) / len(values)
    return mean, math.sqrt(math.fsum((value - mean) ** 2 for value in values) / len(values))
