"""Overviews of runs that a chart shows: a measure over its cut-off, precision over recall, first hits, common docs.

Each needs more than the scores of an evaluation: other cut-offs, other measures, or the docs themselves.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from rankscope.align.policies import Policies
from rankscope.align.top import leading_docs
from rankscope.arrays import Floats
from rankscope.data.qrels import Qrels
from rankscope.data.run import Run
from rankscope.errors import MeasureError, give_warning
from rankscope.evaluation import EvaluateRequest, evaluate, evaluate_request
from rankscope.measures.parse import parse_measure
from rankscope.measures.scores import Scores
from rankscope.stats.agreement import jaccard, rbo

CUTOFFS = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)
RECALLS = tuple(i / 10 for i in range(11))
RANK_BANDS = ("1", "2-3", "4-10", "11-100", "101+", "not found")
SEEN_DOCS = 10
"""How many docs of each run are compared, where nothing else is asked for."""


class RunOverlap(msgspec.Struct, frozen=True, eq=False):
    """How much the first docs of every two runs have in common: means over the queries that at least one answers.

    Where only one of the two does, they have nothing in common; NaN where there is no such query.
    """

    names: tuple[str, ...]
    depth: int
    shared: Floats
    """Docs in both, of all docs in either: |A ∩ B| / |A ∪ B|."""
    rbo: Floats


def scores_by_cutoff(qrels: Any, runs: Any, measure: str, **options: Any) -> tuple[Sequence[int], Scores]:
    """Return a measure at many cut-offs, up to the one asked for or 100, whichever is deeper."""
    parsed = parse_measure(measure)
    deepest = max(parsed.options.get("k") or 0, 100)
    cuts = sorted({k for k in CUTOFFS if k <= deepest} | {deepest})
    base = measure.partition("@")[0]
    try:
        return cuts, evaluate(qrels, runs, [f"{base}@{k}" for k in cuts], **options)
    except MeasureError as error:
        raise MeasureError(f"{base} has no cut-off to draw it over: {error.message}", hint="try nDCG, P or R") from None


def precision_by_recall(qrels: Any, runs: Any, **options: Any) -> Scores:
    return evaluate(qrels, runs, [f"IPrec@{recall:.1f}" for recall in RECALLS], **options)


def first_hit_bands(qrels: Any, runs: Any, **options: Any) -> dict[str, list[int]]:
    """Return for every run how many queries have their first relevant doc in each band of ranks."""
    request = EvaluateRequest.decide("FirstRel", **{**options, "undefined": "skip"})
    scores = evaluate_request(request, qrels, runs)
    # where nothing was found there is no rank, but a band
    give_warning(*(note for note in scores.notes if "FirstRel is undefined" not in note))
    return {name: count_by_band(run.column(scores.measures[0])) for name, run in scores.items()}


def count_by_band(ranks: Floats) -> list[int]:
    """Count ranks by band; a rank that is undefined was not found."""
    found = ranks[~np.isnan(ranks)]
    places = np.searchsorted((2, 4, 11, 101), found, side="right")
    return [*np.bincount(places, minlength=len(RANK_BANDS) - 1).tolist(), int(np.isnan(ranks).sum())]


def run_overlap(qrels: Qrels, runs: Sequence[Run], policies: Policies, *, depth: int = SEEN_DOCS) -> RunOverlap:
    tops = [leading_docs(run, qrels.query_ids, policies, depth=depth).docs for run in runs]
    n = len(runs)
    shared, agreed = np.full((n, n), math.nan), np.full((n, n), math.nan)
    for i in range(n):
        for j in range(n):
            answered = [(a, b) for a, b in zip(tops[i], tops[j], strict=True) if a or b]
            if answered:
                shared[i, j] = float(np.mean([jaccard(a, b) for a, b in answered]))
                agreed[i, j] = float(np.mean([rbo(a, b) for a, b in answered]))
    return RunOverlap(tuple(run.name or "run" for run in runs), depth, shared, agreed)
