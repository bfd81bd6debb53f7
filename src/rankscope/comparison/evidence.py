"""Evidence behind verdicts: what unjudged docs could change, which judgments would settle it, and what moved."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from rankscope.align.alignment import align
from rankscope.align.policies import Policies
from rankscope.align.top import leading_docs
from rankscope.analysis.movement import movement
from rankscope.analysis.movement import supports as can_decompose
from rankscope.analysis.unjudged import Unjudged, supports, unjudged_effect
from rankscope.analysis.unjudged.tipping import CAUTIOUS_AT, STANDS_AT, TippingTable, supports_tipping
from rankscope.arrays import Bools, Floats, safe_divide
from rankscope.comparison.group import ranked
from rankscope.comparison.records import Bounds, Compared, Comparison, Group
from rankscope.comparison.verdict import Code, Judged, UnjudgedCheck, decide, differs, is_claim, verdict_of
from rankscope.data.qrels import Qrels
from rankscope.data.run import Run
from rankscope.measures.spec import Measure
from rankscope.stats.compare import MANY_PAIRS, Pair

LOOKED_AT = 1_000
"""How deep rankings are looked at where nothing says how deep they are scored."""
FEW_PAIRS = 25
"""With more pairs than this, tipping points are looked for only where nothing is safe to call."""
LOOK_UP_TO = 2_000
ONLY_RELEVANT = (
    "The qrels hold relevant docs only, so docs outside them count as not relevant. Whether that is right cannot be "
    "seen from the data; with unjudged = uncertain a verdict must survive relevant docs among them."
)


def gather(
    comparison: Comparison,
    qrels: Qrels,
    runs: Mapping[str, Run],
    measure: Measure,
    policies: Policies,
    *,
    unjudged: str,
    weights: Mapping[str, float] | None = None,
) -> Comparison:
    """Return the comparison with evidence; verdicts and leaderboards take unjudged docs into account."""
    uncertain = unjudged == "uncertain" or (unjudged == "auto" and holds_other_grades(qrels, policies))
    groups = []
    for group in comparison.groups:
        evidence = Evidence(
            qrels.select(group.query_ids),
            runs,
            measure,
            policies,
            uncertain=uncertain,
            comparison=comparison,
            group=group,
            weights=weights,
        )
        checked = replace(group, compared=tuple(evidence.of(item) for item in group.compared))
        groups.append(ranked(checked) if comparison.baseline is None else checked)
    notes = comparison.notes if unjudged != "auto" or uncertain else (*comparison.notes, ONLY_RELEVANT)
    return replace(comparison, groups=tuple(groups), notes=notes)


def holds_other_grades(qrels: Qrels, policies: Policies) -> bool:
    """Tell whether docs were also judged not relevant, so that being unjudged means something."""
    _, grades = qrels.ideal
    return bool((grades < policies.relevance_level).any())


class Evidence:
    """Works out the evidence for one pair after the other on the same qrels."""

    def __init__(
        self,
        qrels: Qrels,
        runs: Mapping[str, Run],
        measure: Measure,
        policies: Policies,
        *,
        uncertain: bool,
        comparison: Comparison,
        group: Group,
        weights: Mapping[str, float] | None,
    ) -> None:
        self.qrels, self.runs = qrels, runs
        self.hits = {name: align(qrels, run, policies) for name, run in runs.items()}
        self.measure, self.policies, self.uncertain = measure, policies, uncertain
        self.depth: int | None = measure.options.get("k") or policies.depth
        self.n_pairs = len(group.compared)
        place = {query: i for i, query in enumerate(all_queries(comparison))}
        self.places = np.array([place[query] for query in qrels.query_ids], dtype=np.int64)
        self.weight_of = weights
        self.weights: Floats | None = None
        if weights is not None:
            self.weights = np.array([weights[query] for query in qrels.query_ids])
        self.tipping: TippingTable | None = None
        if uncertain and supports_tipping(measure, policies):
            seed = comparison.settings.seed
            self.tipping = TippingTable(qrels, runs, self.hits, measure, policies, seed=seed)
        self.judged_shares = {name: self.judged_share(name) for name in runs}

    def of(self, compared: Compared) -> Compared:
        """Return a pair's findings with the evidence."""
        pair = compared.pair
        a, b = pair.a, pair.b
        both = (self.qrels, self.runs[a], self.runs[b], self.measure, self.policies)
        effect = moved = None
        in_full = self.n_pairs <= MANY_PAIRS
        if in_full and self.uncertain and supports(self.measure, self.policies):
            effect = unjudged_effect(*both, hits_a=self.hits[a], hits_b=self.hits[b])
        if in_full and can_decompose(self.measure, self.policies):
            moved = movement(*both, hits_a=self.hits[a], hits_b=self.hits[b], weight_of=self.weight_of)
        known = replace(
            compared.known,
            identical=self.same_rankings(compared, a, b),
            judged=Judged(self.judged_shares[a], self.judged_shares[b], self.depth),
        )
        known = replace(known, unjudged=self.unjudged(pair, decide(pair, known)))
        verdict = verdict_of(pair, known)
        in_doubt = known.unjudged is not None and known.unjudged.strength != "stands"
        return replace(
            compared,
            known=known,
            bounds=None if effect is None else bounds_of(effect),
            verdict=verdict,
            movement=moved,
            settle=effect.docs(effect.n_certain) if effect is not None and in_doubt else (),
            sensitivity=() if effect is None else sensitivity(effect),
        )

    def counted(self, pair: Pair) -> Bools:
        """Tell which queries of the qrels count in a comparison."""
        counted: Bools = ~np.isnan(pair.differences)[self.places]
        return counted

    def unjudged(self, pair: Pair, code: Code) -> UnjudgedCheck | None:
        """Return whether a verdict survives relevant docs among the unjudged ones; None where nothing is tried."""
        if self.tipping is None:
            return None
        if is_claim(code):
            return self.claim_check(pair, self.tipping)
        return self.same_check(pair, self.tipping) if code == "same" and differs(pair) else None

    def claim_check(self, pair: Pair, tipping: TippingTable) -> UnjudgedCheck | None:
        """Return whether a claim survives."""
        check = tipping.check(pair.a, pair.b, counted=self.counted(pair), weights=self.weights)
        if check is None:
            return None
        look = self.n_pairs <= FEW_PAIRS or (check.strength == "not_safe" and self.n_pairs <= LOOK_UP_TO)
        return UnjudgedCheck(
            strength=check.strength,
            behind=check.behind,
            n_unjudged=check.n_unjudged,
            judged_relevant=check.judged_relevant,
            from_all_systems=check.from_all_systems,
            tested_share=check.r95 * (CAUTIOUS_AT if check.strength == "not_safe" else STANDS_AT),
            tipping_point=tipping.point(check) if look else None,
            tipping_point_known=look,
        )

    def same_check(self, pair: Pair, tipping: TippingTable) -> UnjudgedCheck:
        """Return whether a difference called small stays so, whichever system's unjudged docs are relevant."""
        counted = self.counted(pair)
        check = tipping.same_holds(pair.a, pair.b, pair.margin, counted=counted, weights=self.weights)
        worse_for_same = abs(check.first_gains) > abs(check.second_gains)
        system, then = (pair.a, check.first_gains) if worse_for_same else (pair.b, check.second_gains)
        relevant = tipping.relevant_share(system, counted=counted)
        return UnjudgedCheck(
            strength="stands" if check.holds else "not_safe",
            behind=system,
            judged_relevant=relevant.share,
            from_all_systems=relevant.from_all_systems,
            tested_share=STANDS_AT * relevant.r95,
            difference_then=pair.sign * then,
        )

    def same_rankings(self, compared: Compared, a: str, b: str) -> bool:
        """Tell whether two runs that never differ in score also return the same docs in the same order."""
        if differs(compared.pair) or not compared.pair.n_queries:
            return False
        depth = self.policies.depth or LOOKED_AT
        first, second = (
            leading_docs(self.runs[name], self.qrels.query_ids, self.policies, depth=depth) for name in (a, b)
        )
        return first.docs == second.docs

    def judged_share(self, name: str) -> float:
        """Return how much of what a run is scored on is judged, on average over the queries that it answers."""
        hits = self.hits[name].first(self.measure.options.get("k") or LOOKED_AT)
        shares = safe_divide(hits.per_query(hits.grades >= 0), hits.n_retrieved)
        return float(np.nanmean(shares)) if not np.isnan(shares).all() else math.nan


def all_queries(comparison: Comparison) -> tuple[str, ...]:
    """Return the queries in the order in which differences are stored."""
    return tuple(dict.fromkeys(query for run in comparison.scores.values() for query in run.query_ids))


def bounds_of(effect: Unjudged) -> Bounds:
    """Return the worst case, for the details."""
    return Bounds(
        low=effect.low,
        high=effect.high,
        useless=effect.useless,
        perfect=effect.perfect,
        exact=effect.exact,
        depth=effect.k,
    )


def sensitivity(effect: Unjudged) -> tuple[tuple[str, float], ...]:
    """Return the difference under other treatments of unjudged docs."""
    return (
        ("unjudged docs are removed (condensed lists)", effect.sensitivity.judged_only),
        ("bpref instead", effect.sensitivity.bpref),
    )
