"""Fusion: one ranking from several, by ranks or by scores.

Everything here is pure: rankings of one query in, one ranking out. A method either looks at ranks alone (rrf, isr,
log_isr, borda) or at scores, which are made comparable first (`norm`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from rankscope.errors import OptionError
from rankscope.systems.base import Ranking, best_first
from rankscope.systems.options import check_choice, check_range

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

METHODS = {
    "rrf": "reciprocal rank fusion: sum of 1 / (k + rank) (Cormack et al. 2009)",
    "weighted": "weighted sum of normalised scores",
    "combsum": "sum of normalised scores (Fox & Shaw 1994)",
    "combmnz": "sum, times the number of lists that have the doc (Fox & Shaw 1994)",
    "combanz": "mean over the lists that have the doc (Fox & Shaw 1994)",
    "combmed": "median over the lists that have the doc (Fox & Shaw 1994)",
    "combmax": "highest of the normalised scores (Fox & Shaw 1994)",
    "combmin": "lowest of the normalised scores, over the lists that have the doc (Fox & Shaw 1994)",
    "isr": "number of lists that have the doc, times the sum of 1 / rank² (Mourão et al. 2014)",
    "log_isr": "logarithm of that number, times the sum of 1 / rank² (Mourão et al. 2014)",
    "borda": "points for every doc ranked below; unlisted docs share what is left (Aslam & Montague 2001)",
}
"""The methods of fusion."""

_BY_RANK = ("rrf", "isr", "log_isr", "borda")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fusion:
    """How rankings are fused: the method with its parameters, checked."""

    method: str = "rrf"
    k: float = 60
    """The constant of rrf: the larger, the less the first ranks stand out."""
    weights: tuple[float, ...] | None = None
    """How much each list counts, in their order; all alike where not given."""
    norm: str | None = None
    """How scores are made comparable; min-max where not given."""

    def __post_init__(self) -> None:
        check_choice(self.method, METHODS, what="method")
        check_range(self.k, what="k", low=0)
        if self.norm is not None:
            check_choice(self.norm, NORMS, what="norm")
            if self.method in _BY_RANK:
                raise OptionError(f"{self.method} looks at ranks alone, so norm = {self.norm!r} would do nothing")
        if self.weights is not None and (not all(map(math.isfinite, self.weights)) or not any(self.weights)):
            raise OptionError(f"weights {list(self.weights)} are not numbers, or all 0")

    def fuse(self, rankings: Sequence[Ranking]) -> Ranking:
        """Return one ranking from those of several systems for one query, best first."""
        weights = self.weights_for(len(rankings))
        lists = [dict(best_first(ranking)) for ranking in rankings]
        if self.method == "rrf":
            return best_first(weighted_sum([reciprocal_ranks(scores, k=self.k) for scores in lists], weights))
        if self.method == "borda":
            return best_first(weighted_sum(borda_points(lists), weights))
        if self.method in ("isr", "log_isr"):
            return best_first(squared_ranks(lists, weights, logarithm=self.method == "log_isr"))
        norm = self.norm or "minmax"
        normalised = [normalise(scores, norm) for scores in lists]
        if self.method in ("weighted", "combsum"):
            return best_first(weighted_sum(with_unlisted(normalised, norm), weights))
        return best_first(combined(normalised, weights, _COMBINATIONS[self.method]))

    def weights_for(self, n_lists: int) -> Sequence[float]:
        """Return the weights, as many as there are lists."""
        if self.weights is None:
            return [1.0] * n_lists
        if len(self.weights) != n_lists:
            raise OptionError(f"{len(self.weights)} weights are given for {n_lists} rankings", hint="give one for each")
        return self.weights


def weighted_sum(lists: Sequence[Scores], weights: Sequence[float]) -> dict[str, float]:
    """Return the weighted sum of each doc's scores; a list that does not have a doc adds nothing."""
    total: dict[str, float] = {}
    for scores, weight in zip(lists, weights, strict=True):
        for doc, score in scores.items():
            total[doc] = total.get(doc, 0.0) + weight * score
    return total


def reciprocal_ranks(scores: Scores, *, k: float) -> Scores:
    """Return 1 / (k + rank) of each doc."""
    return {doc: 1 / (k + rank) for rank, doc in enumerate(scores, 1)}


def borda_points(lists: Sequence[Scores]) -> list[Scores]:
    """Return points: n for the first of n candidates, one less for each further one; the unlisted share the rest."""
    docs = {doc for scores in lists for doc in scores}
    points: list[Scores] = []
    for scores in lists:
        listed = {doc: float(len(docs) - place) for place, doc in enumerate(scores)}
        shared = (len(docs) - len(scores) + 1) / 2
        points.append(listed | dict.fromkeys(docs - listed.keys(), shared))
    return points


def squared_ranks(lists: Sequence[Scores], weights: Sequence[float], *, logarithm: bool) -> dict[str, float]:
    """Return the sum of 1 / rank² of each doc, times how many lists have it, or the logarithm of that."""
    total = weighted_sum([{doc: rank**-2.0 for rank, doc in enumerate(scores, 1)} for scores in lists], weights)
    n_lists = {doc: sum(doc in scores for scores in lists) for doc in total}
    return {doc: (math.log(n_lists[doc]) if logarithm else n_lists[doc]) * score for doc, score in total.items()}


def combined(
    lists: Sequence[Scores], weights: Sequence[float], combine: Callable[[Sequence[float]], float]
) -> dict[str, float]:
    """Combine the weighted scores that each doc has in the lists that have it."""
    found: dict[str, list[float]] = {}
    for scores, weight in zip(lists, weights, strict=True):
        for doc, score in scores.items():
            found.setdefault(doc, []).append(weight * score)
    return {doc: combine(values) for doc, values in found.items()}


_COMBINATIONS: dict[str, Callable[[Sequence[float]], float]] = {
    "combmnz": lambda values: sum(values) * len(values),
    "combanz": lambda values: sum(values) / len(values),
    "combmed": median,
    "combmax": max,
    "combmin": min,
}


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


def with_unlisted(lists: Sequence[Scores], norm: str) -> Sequence[Scores]:
    """Give docs that a list does not have its lowest score, where 0 is not the lowest but the mean."""
    if norm != "zscore":
        return lists
    docs = {doc for scores in lists for doc in scores}
    return [dict.fromkeys(docs, min(scores.values(), default=0.0)) | dict(scores) for scores in lists]
