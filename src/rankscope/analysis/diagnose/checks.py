"""The checks: each tells which queries show a symptom, and what usually helps against it.

Another symptom is one more entry of CHECKS.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rankscope.analysis.diagnose import thresholds as limit
from rankscope.analysis.diagnose.records import SEVERITIES, Example, Finding, Severity
from rankscope.analysis.diagnose.view import View
from rankscope.arrays import Bools, Floats, Ints

Numbers = Mapping[str, Floats | Ints]


@dataclass(frozen=True, slots=True)
class Check:
    """One symptom: how to see it, how to word it, and what usually helps."""

    code: str
    what: str
    """In words; {k}, {depth} and the limits are filled in."""
    shows: Callable[[View], Bools]
    """Which queries show it."""
    worst: Callable[[View], Floats | Ints]
    """How badly; the queries with the highest numbers become the examples."""
    numbers: Callable[[View], Numbers]
    """What is to be known of an example."""
    example: str
    """The numbers in words; without it there are no examples."""
    helps: str
    severity: Severity | None = None
    """Where it does not depend on how many queries are concerned."""


def shows_late(view: View) -> Bools:
    """Tell where the first relevant doc is late, though in the pool."""
    return view.first > limit.LATE_RANK


def shows_ranked_low(view: View) -> Bools:
    """Tell where a good part of what the top could hold stands below it."""
    return view.n_movable >= limit.LOST_SHARE * np.minimum(view.n_relevant, view.k)


def shows_poor_order(view: View) -> Bools:
    """Tell where sorting the top would help much; with a single relevant doc, that is a matter of the first hit."""
    return (view.reordered - view.score >= limit.ORDER_LOSS) & (view.found(view.k) > 1)


def shows_redundant(view: View) -> Bools:
    """Tell where much of the top nearly repeats what stands above it; NaN, for docs without vectors, is not much."""
    return shares_repeated(view) >= limit.REDUNDANT_SHARE


def shares_repeated(view: View) -> Floats:
    """Return the share of the top that nearly repeats an earlier doc, 0 where that is not known."""
    return np.zeros(len(view)) if view.redundancy is None else np.nan_to_num(view.redundancy)


def shows_incomplete(view: View) -> Bools:
    """Tell where the top is right, yet much was not retrieved at all."""
    top = min(limit.SURE_TOP, view.k)
    is_right = view.found(top) >= limit.SURE_SHARE * top
    return is_right & (view.found(view.depth) < limit.LOW_RECALL * view.n_relevant)


def shows_ceiling(view: View) -> Bools:
    """Tell where the pool has something, but too little for a good ranking."""
    poor: Bools = (view.ceiling < limit.LOW_CEILING) & (view.found(view.depth) > 0)
    return poor


def shows_zero(view: View) -> Bools:
    """Tell where nothing relevant was retrieved."""
    nothing: Bools = view.found(view.depth) == 0
    return view.hits.answered & nothing


def shows_unjudged(view: View) -> Bools:
    """Tell where the top has too many unjudged docs; not where the qrels hold relevant docs only."""
    unjudged: Bools = (view.share_unjudged() > limit.UNJUDGED_SHARE) & view.has_nonrelevant
    return unjudged


def shows_few_relevant(view: View) -> Bools:
    """Tell where relevant docs are few, if that is so for a good part of the queries."""
    few: Bools = view.n_relevant < limit.FEW_RELEVANT
    return few & bool(few.mean() >= limit.FEW_RELEVANT_SHARE)


def all_if(view: View, condition: bool) -> Bools:
    """Return a symptom of the whole collection, which all queries show or none."""
    return np.full(len(view), condition)


def found_and_total(view: View) -> Numbers:
    """Return how many relevant docs there are, and where."""
    return {
        "relevant": view.n_relevant,
        "in_top": view.found(view.k),
        "below": view.n_below,
        "retrieved": view.hits.n_retrieved,
        "first": view.first,
        "next": view.next,
    }


def repeat_numbers(view: View) -> Numbers:
    """Return how much of the top nearly repeats an earlier doc."""
    return {**found_and_total(view), "repeated": shares_repeated(view)}


def order_numbers(view: View) -> Numbers:
    """Return nDCG as it is, in the best order of the top, and in that of the pool."""
    return {"score": view.score, "reordered": view.reordered, "ceiling": view.ceiling, **found_and_total(view)}


def judged_numbers(view: View) -> Numbers:
    """Return what is known of the docs at the top."""
    top = min(limit.SURE_TOP, view.k)
    return {
        "bad_in_top_3": view.nonrelevant(top),
        "unjudged_in_top": view.n_unjudged,
        "shown": view.n_shown,
        **found_and_total(view),
    }


CHECKS: tuple[Check, ...] = (
    Check(
        "not_answered",
        "not answered: the run lists no docs for the query",
        shows=lambda view: ~view.hits.answered,
        worst=lambda view: view.n_relevant,
        numbers=found_and_total,
        example="{relevant} relevant docs, no answer",
        helps="look for failed requests, filters that leave nothing, and queries that lose all their words on the way",
    ),
    Check(
        "zero_hits",
        "zero hits: no relevant doc is among the first {depth}",
        shows=shows_zero,
        worst=lambda view: view.n_relevant,
        numbers=found_and_total,
        example="{relevant} relevant, none among {retrieved} retrieved",
        helps="no re-ranker can repair this: look for other words for the same thing (synonyms, spelling, language), "
        "filters, docs that are not in the index, or add a retriever of another kind (dense beside BM25, or the reverse)",
    ),
    Check(
        "pool_ceiling",
        "candidate pool too poor: even a perfect order of the first {depth} docs stays below nDCG@{k} = {ceiling}",
        shows=shows_ceiling,
        worst=lambda view: -view.ceiling,
        numbers=order_numbers,
        example="nDCG@{k} is {score:.3f} and cannot exceed {ceiling:.3f}: {in_pool} of {relevant} relevant docs retrieved",
        helps="widen the pool before tuning the ranking: retrieve deeper, expand the query, add a second retriever",
    ),
    Check(
        "precise_but_incomplete",
        "high precision, low recall: the first {top} docs are right, but under {recall:.0%} of the relevant docs "
        "were retrieved at all",
        shows=shows_incomplete,
        worst=lambda view: view.n_relevant - view.found(view.depth),
        numbers=found_and_total,
        example="{in_pool} of {relevant} relevant docs among {retrieved} retrieved",
        helps="widen the pool: retrieve deeper, expand the query, match less strictly",
    ),
    Check(
        "ranked_low",
        "found but ranked low: relevant docs stand below rank {k} while other docs take their places above",
        shows=shows_ranked_low,
        worst=lambda view: view.n_movable / np.minimum(view.n_relevant, view.k) - 1 / (1 + view.n_movable),
        numbers=found_and_total,
        example="{in_top} of {relevant} relevant docs in the top {k}; {below} further down, from rank {next:.0f} on",
        helps="the docs are there, so work on the ranking: re-rank the pool, tune field weights or the fusion",
    ),
    Check(
        "first_hit_late",
        "first hit late: the first relevant doc stands below rank {late}",
        shows=shows_late,
        worst=lambda view: view.first,
        numbers=found_and_total,
        example="first relevant doc at rank {first:.0f}",
        helps="look at what stands above it; boosting exact phrases and titles, or re-ranking the first docs, often helps",
    ),
    Check(
        "poor_order",
        "poor order: the same top {k} in their best order would gain {order} nDCG@{k} or more",
        shows=shows_poor_order,
        worst=lambda view: view.reordered - view.score,
        numbers=order_numbers,
        example="nDCG@{k} {score:.2f}, in the best order of the same docs {reordered:.2f}",
        helps="the top has the right docs in the wrong order: re-rank it, or train on grades, not only on relevant or not",
    ),
    Check(
        "redundant",
        "redundant results: {redundant:.0%} or more of the top {k} nearly repeats a doc above it",
        shows=shows_redundant,
        worst=shares_repeated,
        numbers=repeat_numbers,
        example="{repeated:.0%} of the top {k} nearly repeats an earlier doc",
        helps="remove near-duplicates before ranking, group docs by source, or diversify the top (MMR or the like)",
    ),
    Check(
        "bad_at_rank_1",
        "bad result first: the doc at rank 1 was judged and found non-relevant",
        shows=lambda view: view.nonrelevant(1) > 0,
        worst=lambda view: view.nonrelevant(view.k),
        numbers=judged_numbers,
        example="{first_words}; {bad_in_top_3} of the first {top} judged non-relevant",
        helps="see what these docs have in common (long, popular, one frequent word): that is what the ranking overrates",
    ),
    Check(
        "bad_in_top_3",
        "bad results at the top: most of the first {top} docs were judged and found non-relevant",
        shows=lambda view: 2 * view.nonrelevant(min(limit.SURE_TOP, view.k)) > min(limit.SURE_TOP, view.k),
        worst=lambda view: view.nonrelevant(view.k),
        numbers=judged_numbers,
        example="{bad_in_top_3} of the first {top} judged non-relevant; {first_words}",
        helps="is the query understood (ambiguous words, a name taken for a word)? penalise what these docs share",
    ),
    Check(
        "unjudged",
        "too much unjudged to tell: nobody judged over {unjudged:.0%} of the top {k}, and such docs count as bad",
        shows=shows_unjudged,
        worst=lambda view: view.share_unjudged(),
        numbers=judged_numbers,
        example="{unjudged_in_top} of the first {shown} docs unjudged",
        helps="judge the top of this run before believing its scores, or compare with --judged-only and Bpref",
    ),
    Check(
        "relevant_only",
        "the qrels hold relevant docs only: a bad result cannot be told from one that nobody looked at, "
        "so scores are lower bounds",
        shows=lambda view: all_if(view, not view.has_nonrelevant),
        worst=lambda view: view.n_unjudged,
        numbers=judged_numbers,
        example="",
        helps="judge the first few docs of some queries: it shows how much better the run is than its scores",
        severity="remark",
    ),
    Check(
        "few_relevant",
        "few relevant docs: queries with fewer than {few} of them have scores that jump with a single doc",
        shows=shows_few_relevant,
        worst=lambda view: -view.n_relevant,
        numbers=found_and_total,
        example="",
        helps="read means, not single queries, and RR or Success rather than P@{k}",
        severity="remark",
    ),
    Check(
        "few_queries",
        "few queries: under {few_queries}, small differences between runs are chance",
        shows=lambda view: all_if(view, len(view) < limit.FEW_QUERIES),
        worst=lambda view: view.n_relevant,
        numbers=found_and_total,
        example="",
        helps="add queries before deciding on small differences; {few_queries} is a start, 200 is comfortable",
        severity="remark",
    ),
)


def findings_of(view: View, without_relevant: Sequence[str]) -> tuple[Finding, ...]:
    """Return all findings, the most serious first, then those that concern most queries."""
    found = [finding for check in CHECKS for finding in finding_of(check, view)]
    found += no_relevant(without_relevant, len(view) + len(without_relevant))
    return tuple(sorted(found, key=lambda one: (SEVERITIES.index(one.severity), -one.n_queries / one.of_queries)))


def finding_of(check: Check, view: View) -> Iterator[Finding]:
    """Return the finding of one check, if there is any."""
    shows = check.shows(view)
    n_queries = int(shows.sum())
    if n_queries:
        words = limits_in_words(view)
        yield Finding(
            check.code,
            check.severity or severity_of(n_queries / len(view)),
            check.what.format(**words),
            n_queries,
            len(view),
            tuple(examples_of(check, view, shows)) if check.example else (),
            check.helps.format(**words),
        )


def severity_of(share: float) -> Severity:
    """Return how much a finding matters, by the share of queries that it concerns."""
    if share >= limit.SERIOUS_SHARE:
        return "serious"
    return "moderate" if share >= limit.MODERATE_SHARE else "remark"


def limits_in_words(view: View) -> dict[str, float]:
    """Return what can be filled into the words of a check."""
    return {
        "k": view.k,
        "depth": view.depth,
        "top": min(limit.SURE_TOP, view.k),
        "late": limit.LATE_RANK,
        "recall": limit.LOW_RECALL,
        "order": limit.ORDER_LOSS,
        "unjudged": limit.UNJUDGED_SHARE,
        "ceiling": limit.LOW_CEILING,
        "redundant": limit.REDUNDANT_SHARE,
        "few": limit.FEW_RELEVANT,
        "few_queries": limit.FEW_QUERIES,
    }


def examples_of(check: Check, view: View, shows: Bools) -> Iterator[Example]:
    """Yield the queries that show it worst, in numbers and in words."""
    picked = np.flatnonzero(shows)
    order = np.argsort(-check.worst(view)[picked].astype(np.float64), kind="stable")
    columns = {name: values[picked] for name, values in check.numbers(view).items()}
    for i in order[: limit.N_EXAMPLES].tolist():
        numbers = {name: none_if_nan(values[i].item()) for name, values in columns.items()}
        yield Example(view.hits.query_ids[picked[i]], numbers, example_text(check, view, numbers))


def example_text(check: Check, view: View, numbers: Mapping[str, float | int | None]) -> str:
    """Put the numbers of an example into words."""
    first = numbers["first"]
    in_pool = int(numbers["in_top"] or 0) + int(numbers["below"] or 0)
    words = {
        "first_words": "no relevant doc retrieved" if first is None else f"first relevant doc at rank {first:.0f}",
        "in_pool": in_pool,
    }
    return check.example.format(**{**limits_in_words(view), **numbers, **words})


def no_relevant(queries: Sequence[str], n_all: int) -> Iterator[Finding]:
    """Say so where queries have no relevant doc: nothing about them can be told."""
    if queries:
        yield Finding(
            "no_relevant",
            "remark",
            "no relevant doc is judged for the query: left out of this diagnosis",
            len(queries),
            n_all,
            tuple(Example(query, {}, "no relevant doc") for query in queries[: limit.N_EXAMPLES]),
            "judge more docs for them, or leave them out of means with --no-relevant exclude",
        )


def none_if_nan(value: float) -> float | int | None:
    """Return None for what is not a number; a whole number stays one."""
    return None if isinstance(value, float) and math.isnan(value) else value
