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

from rankscope.checks import check_at_least, check_options
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

RRF_K = 60
"""The constant of reciprocal rank fusion where none is given (Cormack et al. 2009)."""
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
    k: float | None = None
    """The constant of rrf, 60 where not given: the larger, the less the first ranks stand out."""
    weights: tuple[float, ...] | None = None
    """How much each list counts, in their order; all alike where not given."""
    norm: str | None = None
    """How scores are made comparable; min-max where not given."""

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            check_choice(self.method, METHODS, what="method")
        if self.k is not None:
            if not self.k >= 0:
                raise OptionError(f"k is {self.k:g}, but it must be 0 or more")
            if not METHODS[self.method].takes_k:
                hint = "leave k out, or use rrf"
                raise OptionError(f"{self.method} has no constant, so k = {self.k:g} would do nothing", hint=hint)
        if self.norm is not None:
            check_choice(self.norm, NORMS, what="norm")
            if METHODS[self.method].by_rank:
                raise OptionError(f"{self.method} looks at ranks alone, so norm = {self.norm!r} would do nothing")
        if self.weights is not None and (not all(map(math.isfinite, self.weights)) or not any(self.weights)):
            raise OptionError(f"weights {list(self.weights)} are not numbers, or all 0")

    def fuse(self, rankings: Sequence[RankedDocs]) -> RankedDocs:
        method, weights = METHODS[self.method], self.weights_for(len(rankings))
        norm = "none" if method.by_rank else self.norm or "minmax"
        lists = [normalise(dict(best_first(ranking)), norm) for ranking in rankings]
        return best_first(method.combine(lists, weights, self))

    def weights_for(self, n_lists: int) -> Sequence[float]:
        if self.weights is None:
            return [1.0] * n_lists
        if len(self.weights) != n_lists:
            raise OptionError(f"{len(self.weights)} weights are given for {n_lists} rankings", hint="give one for each")
        return self.weights


def fuse(
    runs: RunsLike,
    method: str = "rrf",
    *,
    k: float | None = None,
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
        How: rrf, weighted, combsum, combmnz, combanz, combmed, combmax, combmin, isr, log_isr or borda.
    k
        The constant of rrf, 60 where not given: the larger, the less the first ranks stand out.
    weights
        How much each run counts, in their order; all alike where not given.
    norm
        How scores are made comparable: none, minmax, max, sum, zscore or rank; minmax where not given.
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
    given = {"method": method, "k": k, "weights": weights, "norm": norm, "depth": depth, "name": name}
    check_options(fuse.__annotations__, given)
    check_at_least(1, depth=depth)
    fusion = Fusion(method=method, k=k, weights=None if weights is None else tuple(weights), norm=norm)
    loaded = load_runs(runs)
    fusion.weights_for(len(loaded))
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


def normalise(scores: Scores, norm: str) -> Scores:
    if not scores or norm == "none":
        return scores
    if norm == "rank":
        return {doc: 1 - place / len(scores) for place, doc in enumerate(scores)}
    values = list(scores.values())
    n, low, high = len(values), min(values), max(values)
    if norm == "minmax":
        shift, scale, if_alike = low, high - low, 1.0
    elif norm == "max":
        if high <= 0:
            raise OptionError("norm = 'max' needs scores above 0, and a list has none", hint="use minmax instead")
        shift, scale, if_alike = 0.0, high, 1.0
    elif norm == "sum":
        shift, scale, if_alike = low, math.fsum(value - low for value in values), 1 / n
    else:
        shift = math.fsum(values) / n
        scale, if_alike = math.sqrt(math.fsum((value - shift) ** 2 for value in values) / n), 0.0
    if scale == 0:  # nothing tells the docs of the list apart
        return dict.fromkeys(scores, if_alike)
    return {doc: (score - shift) / scale for doc, score in scores.items()}


Combine = Callable[[Sequence[Scores], Sequence[float], Fusion], Scores]
"""Turns the lists of one query and their weights into the scores of all docs."""


class FusionMethod(msgspec.Struct, frozen=True):
    """One method of fusion."""

    combine: Combine
    summary: str
    by_rank: bool = False
    """Whether ranks alone count; otherwise the lists hold scores that have been made comparable."""
    takes_k: bool = True
    """Whether it looks at the constant k."""


def weighted_sum(lists: Sequence[Scores], weights: Sequence[float]) -> Scores:
    """Return the weighted sum of each doc's scores; a list that does not have a doc adds nothing."""
    total: dict[str, float] = {}
    for scores, weight in zip(lists, weights, strict=True):
        for doc, score in scores.items():
            total[doc] = total.get(doc, 0.0) + weight * score
    return total


def reciprocal_ranks(lists: Sequence[Scores], weights: Sequence[float], fusion: Fusion) -> Scores:
    k = RRF_K if fusion.k is None else fusion.k
    points = [{doc: 1 / (k + rank) for rank, doc in enumerate(scores, 1)} for scores in lists]
    return weighted_sum(points, weights)


def borda(lists: Sequence[Scores], weights: Sequence[float], _: Fusion) -> Scores:
    """Return points: n for the first of n candidates, one less for each further one; the unlisted share the rest."""
    docs = {doc for scores in lists for doc in scores}
    points = []
    for scores in lists:
        shared = (len(docs) - len(scores) + 1) / 2
        listed = {doc: float(len(docs) - place) for place, doc in enumerate(scores)}
        points.append(dict.fromkeys(docs, shared) | listed)
    return weighted_sum(points, weights)


def inverse_squares(factor: Callable[[int], float]) -> Combine:
    """Return a method that adds up 1 / rank² of each doc, times a factor of how many lists have it."""

    def combine(lists: Sequence[Scores], weights: Sequence[float], _: Fusion) -> Scores:
        total = weighted_sum([{doc: rank**-2.0 for rank, doc in enumerate(scores, 1)} for scores in lists], weights)
        return {doc: factor(sum(doc in scores for scores in lists)) * score for doc, score in total.items()}

    return combine


def sum_of_scores(lists: Sequence[Scores], weights: Sequence[float], fusion: Fusion) -> Scores:
    """Return the weighted sum; where 0 is the mean and not the lowest score, unlisted docs get a list's lowest."""
    if fusion.norm == "zscore":
        docs = {doc for scores in lists for doc in scores}
        lists = [dict.fromkeys(docs, min(scores.values(), default=0.0)) | dict(scores) for scores in lists]
    return weighted_sum(lists, weights)


def over_lists(combine: Callable[[Sequence[float]], float]) -> Combine:
    """Return a method that combines the weighted scores that a doc has in the lists that have it."""

    def combined(lists: Sequence[Scores], weights: Sequence[float], _: Fusion) -> Scores:
        found: dict[str, list[float]] = {}
        for scores, weight in zip(lists, weights, strict=True):
            for doc, score in scores.items():
                found.setdefault(doc, []).append(weight * score)
        return {doc: combine(values) for doc, values in found.items()}

    return combined


_METHODS: dict[str, tuple[Combine, str]] = {
    "rrf": (reciprocal_ranks, "reciprocal rank fusion: sum of 1 / (k + rank) (Cormack et al. 2009)"),
    "weighted": (sum_of_scores, "weighted sum of normalised scores"),
    "combsum": (sum_of_scores, "sum of normalised scores (Fox & Shaw 1994)"),
    "combmnz": (
        over_lists(lambda values: sum(values) * len(values)),
        "sum, times the number of lists that have the doc (Fox & Shaw 1994)",
    ),
    "combanz": (
        over_lists(lambda values: sum(values) / len(values)),
        "mean over the lists that have the doc (Fox & Shaw 1994)",
    ),
    "combmed": (over_lists(median), "median over the lists that have the doc (Fox & Shaw 1994)"),
    "combmax": (over_lists(max), "highest of the normalised scores (Fox & Shaw 1994)"),
    "combmin": (over_lists(min), "lowest of the normalised scores, over the lists that have the doc (Fox & Shaw 1994)"),
    "isr": (
        inverse_squares(float),
        "number of lists that have the doc, times the sum of 1 / rank² (Mourão et al. 2014)",
    ),
    "log_isr": (inverse_squares(math.log), "logarithm of that number, times the sum of 1 / rank² (Mourão et al. 2014)"),
    "borda": (borda, "points for every doc ranked below; unlisted docs share what is left (Aslam & Montague 2001)"),
}
METHODS: Registry[FusionMethod] = Registry("fusion method", {}, entry_points="rankscope.fusion_methods")
"""The methods of fusion."""
for _name, (_combine, _summary) in _METHODS.items():
    _by_rank = _name in ("rrf", "isr", "log_isr", "borda")
    METHODS.add(_name, FusionMethod(_combine, _summary, by_rank=_by_rank, takes_k=_name == "rrf"), _summary)
