"""The checks: each tells which queries show a symptom, and what usually helps against it.

Another symptom is one more entry of CHECKS.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from rankscope.analysis.diagnose import thresholds as limit
from rankscope.analysis.diagnose.records import SEVERITIES, DiagnosisFinding, FindingExample, Severity
from rankscope.analysis.diagnose.view import RunView
from rankscope.arrays import Bools, Floats, Ints
from rankscope.records import or_none

NUMBERS: Mapping[str, Callable[[RunView], Floats | Ints]] = {
    "relevant": lambda view: view.n_relevant,
    "in_top": lambda view: view.found(view.k),
    "below": lambda view: view.n_below,
    "retrieved": lambda view: view.hits.n_retrieved,
    "first": lambda view: view.first,
    "next": lambda view: view.next,
    "repeated": lambda view: view.repeated_share,
    "score": lambda view: view.score,
    "reordered": lambda view: view.reordered,
    "ceiling": lambda view: view.ceiling,
    "bad_in_top_3": lambda view: view.nonrelevant(view.top),
    "unjudged_in_top": lambda view: view.n_unjudged,
    "shown": lambda view: view.n_shown,
}
"""What can be known of an example: one number per query, by the name that it has in words and in JSON."""
POSITIONS = ("relevant", "in_top", "below", "retrieved", "first", "next")
SCORES = ("score", "reordered", "ceiling", *POSITIONS)
JUDGMENTS = ("bad_in_top_3", "unjudged_in_top", "shown", *POSITIONS)


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One symptom: how to see it, how to word it, and what usually helps."""

    code: str
    what: str
    """In words; {k}, {depth}, {top} and the limits are filled in."""
    shows: Callable[[RunView], Bools]
    """Which queries show it."""
    worst: Callable[[RunView], Floats | Ints] = lambda view: view.n_relevant
    """How badly; the queries with the highest numbers become the examples."""
    example: str = ""
    """The numbers of an example in words; without it there are no examples."""
    helps: str
    numbers: tuple[str, ...] = POSITIONS
    """What is to be known of an example."""
    severity: Severity | None = None
    """Where it does not depend on how many queries are concerned."""


CHECKS: tuple[Check, ...] = (
    Check(
        code="not_answered",
        what="not answered: the run lists no docs for the query",
        shows=lambda view: ~view.hits.answered,
        example="{relevant} relevant docs, no answer",
        helps="look for failed requests, filters that leave nothing, and queries that lose all their words on the way",
    ),
    Check(
        code="zero_hits",
        what="zero hits: no relevant doc is among the first {depth}",
        shows=lambda view: view.hits.answered & (view.found(view.depth) == 0),
        example="{relevant} relevant, none among {retrieved} retrieved",
        helps="no re-ranker can repair this: look for other words for the same thing (synonyms, spelling, language), "
        "filters, docs that are not in the index, or add a retriever of another kind (dense beside BM25, or the reverse)",
    ),
    Check(
        code="pool_ceiling",
        what="candidate pool too poor: even a perfect order of the first {depth} docs stays below nDCG@{k} = {limit.LOW_CEILING}",
        shows=lambda view: (view.ceiling < limit.LOW_CEILING) & (view.found(view.depth) > 0),
        worst=lambda view: -view.ceiling,
        numbers=SCORES,
        example="nDCG@{k} is {score:.3f} and cannot exceed {ceiling:.3f}: {in_pool} of {relevant} relevant docs retrieved",
        helps="widen the pool before tuning the ranking: retrieve deeper, expand the query, add a second retriever",
    ),
    Check(
        code="precise_but_incomplete",
        what="high precision, low recall: most of the first {top} docs are right, but under {limit.LOW_RECALL:.0%} of the relevant docs "
        "were retrieved at all",
        shows=lambda view: (
            (view.found(view.top) >= limit.SURE_SHARE * view.top)
            & (view.found(view.depth) < limit.LOW_RECALL * view.n_relevant)
        ),
        worst=lambda view: view.n_relevant - view.found(view.depth),
        example="{in_pool} of {relevant} relevant docs among {retrieved} retrieved",
        helps="widen the pool: retrieve deeper, expand the query, match less strictly",
    ),
    Check(
        code="ranked_low",
        what="found but ranked low: relevant docs stand below rank {k} while other docs take their places above",
        shows=lambda view: view.n_movable >= limit.LOST_SHARE * np.minimum(view.n_relevant, view.k),
        worst=lambda view: view.n_movable / np.minimum(view.n_relevant, view.k) - 1 / (1 + view.n_movable),
        example="{in_top} of {relevant} relevant docs in the top {k}; {below} further down, from rank {next:.0f} on",
        helps="the docs are there, so work on the ranking: re-rank the pool, tune field weights or the fusion",
    ),
    Check(
        code="first_hit_late",
        what="first hit late: the first relevant doc stands below rank {limit.LATE_RANK}",
        shows=lambda view: view.first > limit.LATE_RANK,
        worst=lambda view: view.first,
        example="first relevant doc at rank {first:.0f}",
        helps="look at what stands above it; boosting exact phrases and titles, or re-ranking the first docs, often helps",
    ),
    Check(
        code="poor_order",
        what="poor order: the top {k} holds several relevant docs, and its best order would gain {limit.ORDER_LOSS} "
        "nDCG@{k} or more",
        # with a single relevant doc in the top, its place is a matter of the first hit
        shows=lambda view: (view.reordered - view.score >= limit.ORDER_LOSS) & (view.found(view.k) > 1),
        worst=lambda view: view.reordered - view.score,
        numbers=SCORES,
        example="nDCG@{k} {score:.2f}, in the best order of the same docs {reordered:.2f}",
        helps="the top has the right docs in the wrong order: re-rank it, or train on grades, not only on relevant or not",
    ),
    Check(
        code="redundant",
        what="redundant results: {limit.REDUNDANT_SHARE:.0%} or more of the top {k} nearly repeats a doc above it",
        shows=lambda view: view.repeated_share >= limit.REDUNDANT_SHARE,
        worst=lambda view: view.repeated_share,
        numbers=(*POSITIONS, "repeated"),
        example="{repeated:.0%} of the top {k} nearly repeats an earlier doc",
        helps="remove near-duplicates before ranking, group docs by source, or diversify the top (MMR or the like)",
    ),
    Check(
        code="bad_at_rank_1",
        what="bad result first: the doc at rank 1 was judged and found non-relevant",
        shows=lambda view: view.nonrelevant(1) > 0,
        worst=lambda view: view.nonrelevant(view.k),
        numbers=JUDGMENTS,
        example="{first_words}; {bad_in_top_3} of the first {top} judged non-relevant",
        helps="see what these docs have in common (long, popular, one frequent word): that is what the ranking overrates",
    ),
    Check(
        code="bad_in_top_3",
        what="bad results at the top: most of the first {top} docs were judged and found non-relevant",
        shows=lambda view: 2 * view.nonrelevant(view.top) > view.top,
        worst=lambda view: view.nonrelevant(view.k),
        numbers=JUDGMENTS,
        example="{bad_in_top_3} of the first {top} judged non-relevant; {first_words}",
        helps="is the query understood (ambiguous words, a name taken for a word)? penalise what these docs share",
    ),
    Check(
        code="unjudged",
        what="too much unjudged to tell: nobody judged over {limit.UNJUDGED_SHARE:.0%} of the top {k}, and such docs count as bad",
        # where the qrels hold relevant docs only, that is another finding
        shows=lambda view: (view.unjudged_shares > limit.UNJUDGED_SHARE) & view.has_nonrelevant,
        worst=lambda view: view.unjudged_shares,
        numbers=JUDGMENTS,
        example="{unjudged_in_top} of the first {shown} docs unjudged",
        helps="judge the top of this run before believing its scores, or compare with --judged-only and Bpref",
    ),
    Check(
        code="relevant_only",
        what="the qrels hold relevant docs only: a bad result looks the same as one that nobody looked at, "
        "so scores are lower bounds",
        shows=lambda view: np.full(len(view), not view.has_nonrelevant),
        helps="judge the first few docs of some queries: it shows how much better the run is than its scores",
        severity="remark",
    ),
    Check(
        code="few_relevant",
        what="few relevant docs: queries with fewer than {limit.FEW_RELEVANT} of them have scores that jump with a single doc",
        shows=lambda view: (
            (view.n_relevant < limit.FEW_RELEVANT)
            & bool((view.n_relevant < limit.FEW_RELEVANT).mean() >= limit.FEW_RELEVANT_SHARE)
        ),
        helps="read means, not single queries, and RR or Success rather than P@{k}",
        severity="remark",
    ),
    Check(
        code="few_queries",
        what="few queries: under {limit.FEW_QUERIES}, small differences between runs are chance",
        shows=lambda view: np.full(len(view), len(view) < limit.FEW_QUERIES),
        helps="add queries before deciding on small differences; {limit.FEW_QUERIES} for development, 200 for publication",
        severity="remark",
    ),
)


def findings_of(view: RunView, without_relevant: Sequence[str]) -> tuple[DiagnosisFinding, ...]:
    """Return all findings, the most serious first, then those that concern most queries."""
    findings = []
    limits = {"k": view.k, "depth": view.depth, "top": view.top, "limit": limit}
    for check in CHECKS:
        shows = check.shows(view)
        if n_queries := int(shows.sum()):
            finding = DiagnosisFinding(
                code=check.code,
                severity=check.severity or severity_of(n_queries / len(view)),
                what=check.what.format(**limits),
                n_queries=n_queries,
                of_queries=len(view),
                examples=tuple(examples_of(check, view, shows, limits)) if check.example else (),
                helps=check.helps.format(**limits),
            )
            findings.append(finding)
    if without_relevant:
        named = without_relevant[: limit.N_EXAMPLES]
        finding = DiagnosisFinding(
            code="no_relevant",
            severity="remark",
            what="no relevant doc is judged for the query: left out of this diagnosis",
            n_queries=len(without_relevant),
            of_queries=len(view) + len(without_relevant),
            examples=tuple(FindingExample(query, {}, "no relevant doc") for query in named),
            helps="judge more docs for them, or leave them out of means with --no-relevant exclude",
        )
        findings.append(finding)
    return most_serious_first(findings)


def most_serious_first(findings: Iterable[DiagnosisFinding]) -> tuple[DiagnosisFinding, ...]:
    return tuple(sorted(findings, key=lambda one: (SEVERITIES.index(one.severity), -one.n_queries / one.of_queries)))


def severity_of(share: float) -> Severity:
    if share >= limit.SERIOUS_SHARE:
        return "serious"
    return "moderate" if share >= limit.MODERATE_SHARE else "remark"


def examples_of(check: Check, view: RunView, shows: Bools, limits: Mapping[str, Any]) -> Iterator[FindingExample]:
    """Yield the queries that show it worst, in numbers and in words."""
    picked = np.flatnonzero(shows)
    order = np.argsort(-check.worst(view)[picked].astype(np.float64), kind="stable")
    columns = {name: NUMBERS[name](view)[picked] for name in check.numbers}
    for i in order[: limit.N_EXAMPLES].tolist():
        numbers = {name: or_none(values[i].item()) for name, values in columns.items()}
        first = numbers["first"]
        words = {
            "first_words": "no relevant doc retrieved" if first is None else f"first relevant doc at rank {first:.0f}",
            "in_pool": int(numbers["in_top"] or 0) + int(numbers["below"] or 0),
        }
        text = check.example.format(**{**limits, **numbers, **words})
        yield FindingExample(view.hits.query_ids[picked[i]], numbers, text)
