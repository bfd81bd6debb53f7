"""Evidence behind verdicts: what unjudged docs could change, which judgments would settle it, and what moved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from rankscope.comparing.records import Compared, Comparison, Group
from rankscope.core.align import align
from rankscope.core.arrays import safe_divide
from rankscope.core.leading import leading_docs
from rankscope.core.policies import Policies
from rankscope.core.qrels import Qrels
from rankscope.core.run import Run
from rankscope.measures.movement import movement
from rankscope.measures.movement import supports as can_decompose
from rankscope.measures.spec import Measure
from rankscope.measures.unjudged import Unjudged, supports, unjudged_effect
from rankscope.stats.compare import MANY_PAIRS
from rankscope.stats.verdict import Bounds, verdict_of

LOOKED_AT = 1_000
"""How deep rankings are looked at where nothing says how deep they are scored."""
TOO_MANY = "What unjudged docs could change is not worked out for so many pairs: compare fewer systems."
ONLY_RELEVANT = (
    "The qrels hold relevant docs only, so docs outside them count as not relevant. Whether that is right cannot be "
    "seen from the data; with unjudged = uncertain their possible effect is bounded instead."
)


def gather(
    comparison: Comparison,
    qrels: Qrels,
    runs: Mapping[str, Run],
    measure: Measure,
    policies: Policies,
    *,
    unjudged: str,
) -> Comparison:
    """Return the comparison with bounds, settling judgments and movement; verdicts take the bounds into account."""
    if any(len(group.compared) > MANY_PAIRS for group in comparison.groups):
        return replace(comparison, notes=(*comparison.notes, TOO_MANY))
    uncertain = unjudged == "uncertain" or (unjudged == "auto" and holds_other_grades(qrels, policies))
    groups = []
    for group in comparison.groups:
        evidence = Evidence(qrels_of(group, qrels), runs, measure, policies, uncertain=uncertain)
        groups.append(replace(group, compared=tuple(evidence.of(item) for item in group.compared)))
    notes = comparison.notes if unjudged != "auto" or uncertain else (*comparison.notes, ONLY_RELEVANT)
    return replace(comparison, groups=tuple(groups), notes=notes)


def qrels_of(group: Group, qrels: Qrels) -> Qrels:
    """Return the judgments of a group's queries."""
    if len(group.query_ids) == len(qrels):
        return qrels
    return Qrels({query: dict(qrels.judged[query]) for query in group.query_ids if query in qrels.judged})


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
    ) -> None:
        self.qrels, self.runs = qrels, runs
        self.hits = {name: align(qrels, run, policies) for name, run in runs.items()}
        self.measure, self.policies, self.uncertain = measure, policies, uncertain

    def of(self, compared: Compared) -> Compared:
        """Return a pair's findings with the evidence."""
        a, b = compared.pair.a, compared.pair.b
        both = (self.qrels, self.runs[a], self.runs[b], self.measure, self.policies)
        effect = moved = None
        if self.uncertain and supports(self.measure, self.policies):
            effect = unjudged_effect(*both, hits_a=self.hits[a], hits_b=self.hits[b])
        if can_decompose(self.measure, self.policies):
            moved = movement(*both, hits_a=self.hits[a], hits_b=self.hits[b])
        bounds = None if effect is None else bounds_of(effect)
        verdict = verdict_of(compared.pair, bounds, identical=self.same_rankings(compared, a, b))
        return replace(
            compared,
            bounds=bounds,
            judged=(self.judged_share(a), self.judged_share(b)),
            verdict=verdict,
            movement=moved,
            settle=effect.docs(effect.n_certain) if effect is not None and verdict.code == "not_safe" else (),
            sensitivity=() if effect is None else sensitivity(effect),
        )

    def same_rankings(self, compared: Compared, a: str, b: str) -> bool:
        """Tell whether two runs that never differ in score also return the same docs in the same order."""
        if compared.pair.effect.wins or compared.pair.effect.losses:
            return False
        depth = self.policies.depth or LOOKED_AT
        first, second = (
            leading_docs(self.runs[name], self.qrels.query_ids, self.policies, depth=depth) for name in (a, b)
        )
        return first.docs == second.docs

    def judged_share(self, name: str) -> float:
        """Return how much of what a run is scored on is judged, on average over the queries that it answers."""
        hits = self.hits[name].first(self.measure.options.get("k") or LOOKED_AT)
        return float(np.nanmean(safe_divide(hits.per_query(hits.grades >= 0), hits.n_retrieved)))


def bounds_of(effect: Unjudged) -> Bounds:
    """Return what the verdict looks at."""
    return Bounds(
        judged_a=effect.judged_a,
        judged_b=effect.judged_b,
        low=effect.low,
        high=effect.high,
        useless=effect.useless,
        perfect=effect.perfect,
        exact=effect.exact,
    )


def sensitivity(effect: Unjudged) -> tuple[tuple[str, float], ...]:
    """Return the difference under other treatments of unjudged docs."""
    return (
        ("unjudged docs are removed (condensed lists)", effect.sensitivity.judged_only),
        ("bpref instead", effect.sensitivity.bpref),
    )
