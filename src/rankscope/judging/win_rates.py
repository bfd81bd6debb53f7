"""Win rates: of two systems, whose doc was chosen, whose list was found better, or whose docs were flagged less.

Interval and verdict come from `compare_scores`, as everywhere: the score of a system is the share of a query's opinions
that it won, so that half of 1 plus their difference is the win rate, and the interval of the one is that of the other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

from rankscope.comparison.compare import compare_scores_request
from rankscope.comparison.records import Code, PairResult
from rankscope.comparison.request import CompareRequest
from rankscope.comparison.verdict import MIN_UNITS, WORDS, few_differ_words
from rankscope.judging.opinion_records import ALPHA, LEVEL, OpinionKind, OpinionPair
from rankscope.judging.records import Task
from rankscope.measures.score_files import ScoreFile, as_scores

PairOf = tuple[str, str]


def compared_pairs(task: Task) -> list[PairOf]:
    """Return every two systems, in the order in which the task names them."""
    return list(combinations(task.plan.systems, 2))


def win_pair(
    task: Task, kind: OpinionKind, pair: PairOf, outcomes: Sequence[tuple[str, float]], n_pairs: int
) -> OpinionPair:
    """Return who wins between two systems; outcomes are 1 where B won, 0 where A did, a half for a tie."""
    by_query: dict[str, list[float]] = {}
    for query, outcome in outcomes:
        by_query.setdefault(query, []).append(outcome)
    won = {query: sum(some) / len(some) for query, some in by_query.items()}
    scores = {pair[0]: {query: 1 - share for query, share in won.items()}, pair[1]: won}
    found = compared(task, pair, scores, f"share of {kind} won", n_pairs)
    return OpinionPair(
        kind=kind,
        a=pair[0],
        b=pair[1],
        n_queries=len(won),
        n_opinions=len(outcomes),
        won=sum(outcome == 1 for _, outcome in outcomes),
        tied=sum(outcome == 0.5 for _, outcome in outcomes),
        lost=sum(outcome == 0 for _, outcome in outcomes),
        rate=rate_of(None if found is None else found.delta),
        low=rate_of(None if found is None else found.ci.low),
        high=rate_of(None if found is None else found.ci.high),
        level=LEVEL,
        n_pairs=n_pairs,
        **code_and_words(found),
    )


def rate_of(difference: float | None) -> float | None:
    """Return the win rate that goes with a difference of shares, which a rate cannot be beyond."""
    return None if difference is None else min(1.0, max(0.0, (1 + difference) / 2))


def compared(
    task: Task,
    pair: PairOf,
    scores: Mapping[str, Mapping[str, float]],
    measure: str,
    n_pairs: int,
    *,
    lower: bool = False,
) -> PairResult | None:
    """Compare two systems by scores of queries, as one of several pairs; None where there is no query."""
    if not scores[pair[0]]:
        return None
    cells = {name: {measure: dict(of)} for name, of in scores.items()}
    file = ScoreFile(cells, lower_is_better=frozenset({measure}) if lower else frozenset())
    alpha = round(ALPHA / n_pairs, 12)
    request = CompareRequest(margin=0.0, alpha=alpha, seed=task.plan.seed, order="given", baseline=pair[0])
    comparison = compare_scores_request(as_scores(file, where=measure), request, on_note=lambda _: None)
    return comparison.groups[0].compared[0]


def code_and_words(pair: PairResult | None) -> dict[str, Any]:
    """Return the verdict; that a few queries are all ties says nothing of others."""
    code: Code = "not_comparable" if pair is None else pair.final_verdict.code
    if code == "same" and pair is not None and pair.n_units < MIN_UNITS:
        code = "too_few"
    few = "" if pair is None else few_differ_words(pair)
    if pair is not None and code == "too_few" and pair.wins + pair.losses == pair.n_queries:
        few = ""  # the verdict says it
    return {"code": code, "words": "even" if code == "same" else WORDS[code], "caution": f"{few}." if few else ""}
