"""Evidence behind verdicts: what unjudged docs could change, which judgments would settle it, and what moved."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rankscope.align.hits import Hits
from rankscope.align.policies import Policies
from rankscope.analysis.aligned import AlignedRun, JudgedDocs, same_first_docs
from rankscope.analysis.movement import movement_of
from rankscope.analysis.movement import supports as can_decompose
from rankscope.analysis.unjudged import DOCS_AT_ONCE, NEARLY_ZERO, UnjudgedEffect, supports, unjudged_effect_of
from rankscope.analysis.unjudged.pool import n_unjudged
from rankscope.analysis.unjudged.tipping import CAUTIOUS_AT, STANDS_AT, TippingTable, supports_tipping
from rankscope.arrays import Bools, Floats, safe_divide
from rankscope.comparison.pairs import MANY_PAIRS, TestedContest
from rankscope.comparison.records import Bounds, Code, JudgedShares, PairResult, UnjudgedCheck
from rankscope.comparison.request import CompareRequest
from rankscope.comparison.verdict import CLAIMS, VerdictContext, decide
from rankscope.data.qrels import Qrels
from rankscope.data.run import Run
from rankscope.errors import give_warning
from rankscope.io.limits import in_words
from rankscope.io.memory import memory_of, resident_bytes
from rankscope.measures.scores import Scores
from rankscope.measures.spec import Measure
from rankscope.records import or_none, replace

LOOKED_AT = 1_000
"""How deep rankings are looked at where nothing says how deep they are scored."""
FEW_PAIRS = 25
"""With more pairs than this, tipping points are looked for only where nothing is safe to call."""
LOOK_UP_TO = 2_000
MOST_TO_JUDGE = 1 << 18
"""So many docs to judge are listed of a pair at most; how many there are is said."""
MOST_TO_JUDGE_OF_ALL, FEWEST_LISTED = 1 << 20, 1_000
"""The same of all pairs together; of each of very many pairs, so many are still listed."""
LOOKING_BYTES, DOC_BYTES, LISTED_BYTES, ROW_BYTES = 60 << 20, 300, 170, 100
"""What it takes, about: to look at docs at all, for an unjudged doc, for one that is listed, for a row in no order."""
QUERY_BYTES, QUERY_OF_RUN_BYTES = 350, 120
"""What a query takes while two runs are compared, besides its judgments and what was found, and for each further run;
seen with 200,000 of them."""
MORE_BY = 1.1
"""What is less than this much too large is not worth a word: sizes are estimates."""
ONLY_RELEVANT = (
    "The qrels hold relevant docs only, so docs outside them count as not relevant. Whether that is right cannot be "
    "seen from the data; with unjudged = uncertain a verdict must survive relevant docs among them."
)


def most_to_judge(n_pairs: int) -> int:
    """Return how many docs to judge are listed of each of so many pairs."""
    return max(FEWEST_LISTED, min(MOST_TO_JUDGE, MOST_TO_JUDGE_OF_ALL // max(n_pairs, 1)))


def can_turn(code: Code, effect: UnjudgedEffect, margin: float) -> bool:
    """Tell whether unjudged docs can bring a difference to the other side of 0, or of the margin, in the worst case.

    However likely that is: the tipping point says whether a verdict stands, and only the bounds whether it is settled.
    """
    low, high = effect.low, effect.high
    if code in ("identical", "not_comparable") or not high - low > NEARLY_ZERO:
        return False
    if code == "same":
        return max(-low, high) > margin + NEARLY_ZERO
    edge = (margin if code in ("better", "worse") else 0.0) + NEARLY_ZERO
    return low <= edge and high >= -edge


class EvidenceSource:
    """Where evidence comes from: judgments, and runs that are aligned with them, each once.

    Where docs are numbered, it is also known which docs these are.
    """

    def __init__(self, qrels: Qrels, measure: Measure, policies: Policies, request: CompareRequest) -> None:
        self.qrels, self.measure, self.policies, self.seed = qrels, measure, policies, request.seed
        self.docs = JudgedDocs.of(qrels) if can_decompose(measure) else None
        self.runs: dict[str, AlignedRun] = {}
        self.weight_of: Mapping[str, float] | None = None
        judged_not_relevant = bool((qrels.ideal[1] < policies.relevance_level).any())
        self.uncertain = request.unjudged == "uncertain" or (request.unjudged == "auto" and judged_not_relevant)
        self.notes = () if request.unjudged != "auto" or self.uncertain else (ONLY_RELEVANT,)
        self.further: Mapping[str, Sequence[Run]] = {}
        """More runs of the same systems, in which nothing is looked at but whether they are the same."""
        self.means: dict[str, Floats] = {}
        """Scores by the measure of systems with further runs: means over all of them, in the order of the hits."""
        if request.memory is not None:  # what is needed later counts in what is taken when runs are cut into parts
            import polars  # noqa: F401, ICN001
            import scipy.special  # noqa: F401

    def aligned_by(self, qrels: Qrels, policies: Policies) -> tuple[Qrels, Policies]:
        """Return the judgments and policies by which `align` aligns."""
        return (qrels, policies) if self.docs is None else self.docs.aligned_by(policies)

    def align(self, qrels: Qrels, run: Run, policies: Policies, *, threads: int | None = None) -> Hits:
        aligned = AlignedRun.of(qrels, run, policies, docs=self.docs, threads=threads)
        self.runs[run.name or "run"] = aligned
        return aligned.hits

    def add_repetitions(self, further: Mapping[str, Sequence[Run]], scores: Scores) -> None:
        """Take in that systems were asked several times: what is aligned is the first run of each."""
        self.further = further
        self.means = {name: scores[name].column(self.measure.name) for name in scores.repetitions}

    def warn_of_memory(self, request: CompareRequest) -> None:
        """Say, before it is worked out, that what unjudged docs could change takes more memory than was given."""
        n_runs = len(self.runs)
        n_pairs = n_runs * (n_runs - 1) // 2 if request.all_pairs else n_runs - 1
        is_looked_at = self.uncertain and 0 < n_pairs <= MANY_PAIRS and supports(self.measure, self.policies)
        if request.memory is None:
            return
        memory = memory_of(request.memory)
        of_queries = len(self.qrels) * (QUERY_BYTES + QUERY_OF_RUN_BYTES * max(0, n_runs - 2))
        if not is_looked_at:
            warn_of_queries(len(self.qrels), of_queries, memory)
            return
        k = self.measure.arguments(rel=self.policies.relevance_level).get("k")
        sizes = sorted(int(n_unjudged(run.hits, k).sum()) for run in self.runs.values())
        n_docs = sum(sizes[-2:])
        needed = of_queries + LOOKING_BYTES + DOC_BYTES * min(n_docs, DOCS_AT_ONCE)
        needed += LISTED_BYTES * n_pairs * min(n_docs, most_to_judge(n_pairs))
        is_grouped = all(getattr(run.run.source, "is_grouped", True) for run in self.runs.values())
        if k is None and not is_grouped:  # then all rows of a run are put in order at once
            needed += ROW_BYTES * max(int(run.hits.n_retrieved.sum()) for run in self.runs.values())
        taken = resident_bytes()
        if taken + needed > memory * MORE_BY:
            fewer = "a measure with a cut-off looks at fewer of them, and " if k is None else ""
            give_warning(
                f"more memory will be taken than the {in_words(memory)} that are given: about "
                f"{in_words(taken + needed)}, of which {in_words(taken)} are taken already; the rest is for finding "
                f"out what unjudged docs could change: {fewer}with unjudged='irrelevant' (--unjudged irrelevant) "
                "none are looked at"
            )

    def repeats_itself(self, name: str) -> bool:
        """Tell whether all runs of a system have the same first docs."""
        first, depth = self.runs[name], self.policies.depth or LOOKED_AT
        others = (AlignedRun(run, first.hits, self.policies) for run in self.further.get(name, ()))
        return all(same_first_docs(first, other, self.qrels.query_ids, depth) for other in others)


def warn_of_queries(n_queries: int, needed: int, memory: int) -> None:
    """Say, before runs are compared, that their queries take more memory than was given."""
    taken = resident_bytes()
    if taken + needed > memory * MORE_BY:
        give_warning(
            f"more memory will be taken than the {in_words(memory)} that are given: about {in_words(taken + needed)}, "
            f"of which {in_words(taken)} are taken already; the rest is for comparing {n_queries:,} queries"
        )


class GroupEvidence:
    """Works out the evidence for one pair after the other on the same queries; differences are in the order of all."""

    def __init__(
        self, source: EvidenceSource, query_ids: Sequence[str], *, all_ids: Sequence[str], n_pairs: int
    ) -> None:
        qrels, runs = source.qrels, source.runs
        if len(query_ids) != len(qrels):
            inside = set(query_ids)
            qrels = qrels.select(query_ids)
            top = float(qrels.ideal[1].max(initial=0.0))
            runs = {
                name: run.select(np.array([query in inside for query in run.hits.query_ids]), max_grade=top)
                for name, run in runs.items()
            }
        self.source, self.qrels, self.runs, self.n_pairs = source, qrels, runs, n_pairs
        self.measure, self.policies = source.measure, source.policies
        place = {query: i for i, query in enumerate(all_ids)}
        self.places = np.array([place[query] for query in qrels.query_ids], dtype=np.int64)
        self.weights: Floats | None = None
        if source.weight_of is not None:
            self.weights = np.array([source.weight_of[query] for query in qrels.query_ids])
        self.tipping: TippingTable | None = None
        if source.uncertain and supports_tipping(self.measure, self.policies):
            means = {name: self._in_group(source.runs[name], scores) for name, scores in source.means.items()}
            self.tipping = TippingTable(qrels, runs, self.measure, self.policies, seed=source.seed, means=means)
        self.judged_shares: dict[str, float | None] = {}
        """How much of what each run is scored on is judged, on average over the queries that it answers."""
        for name, run in runs.items():
            seen = run.hits.first(self.measure.options.get("k") or LOOKED_AT)
            shares = safe_divide(seen.per_query(seen.grades >= 0), seen.n_retrieved)
            self.judged_shares[name] = None if np.isnan(shares).all() else or_none(float(np.nanmean(shares)))

    def _in_group(self, run: AlignedRun, scores: Floats) -> Floats:
        """Return scores in the order of a run's queries in that of the group's; NaN where there is none."""
        known = dict(zip(run.hits.query_ids, scores.tolist(), strict=True))
        return np.array([known.get(query, math.nan) for query in self.qrels.query_ids])

    def of(self, tested: TestedContest, context: VerdictContext) -> tuple[VerdictContext, dict[str, Any]]:
        """Say whether the rankings are identical, for the verdict, and what else is known, as fields of the record."""
        pair, source = tested.result, self.source
        a, b = self.runs[pair.a], self.runs[pair.b]
        effect = moved = check = None
        if self.n_pairs <= MANY_PAIRS:
            if source.uncertain and supports(self.measure, self.policies):
                most = most_to_judge(self.n_pairs)
                effect = unjudged_effect_of(self.qrels, a, b, self.measure, self.policies, most_docs=most)
            if source.docs is not None:
                moved = movement_of(source.docs, a, b, self.measure, self.policies, weight_of=source.weight_of)
        identical = False
        if not pair.differs and pair.n_queries > 0:
            same = same_first_docs(a, b, self.qrels.query_ids, self.policies.depth or LOOKED_AT)
            identical = same and all(map(source.repeats_itself, (pair.a, pair.b)))
        depth = self.measure.options.get("k") or self.policies.depth
        judged = JudgedShares(self.judged_shares[pair.a], self.judged_shares[pair.b], depth)
        context = replace(context, identical=identical)
        if self.tipping is not None:
            code, counted = decide(pair, context), ~np.isnan(tested.contest.differences)[self.places]
            if code in CLAIMS:
                check = self.claim_check(pair, self.tipping, counted)
            elif code == "same" and pair.differs:
                check = self.same_check(pair, self.tipping, counted)
        more: dict[str, Any] = {"judged": judged, "unjudged": check, "settle": (), "sensitivity": {}, "movement": moved}
        if effect is not None:
            ends = {name: or_none(getattr(effect, name)) for name in ("low", "high", "useless", "perfect")}
            more["bounds"] = Bounds(**ends, exact=effect.exact, depth=effect.k)
            more["sensitivity"] = effect.sensitivity
            if can_turn(decide(pair, context), effect, pair.margin):
                more["settle"], more["n_settle"] = effect.docs(), effect.n_useful
        return context, more

    def claim_check(self, pair: PairResult, tipping: TippingTable, counted: Bools) -> UnjudgedCheck | None:
        check = tipping.check(pair.a, pair.b, counted=counted, weights=self.weights)
        if check is None:
            return None
        look = self.n_pairs <= FEW_PAIRS or (check.strength == "not_safe" and self.n_pairs <= LOOK_UP_TO)
        return UnjudgedCheck(
            strength=check.strength,
            system=check.behind,
            n_unjudged=check.n_unjudged,
            judged_relevant=or_none(check.judged_relevant),
            from_all_systems=check.from_all_systems,
            tested_share=check.r95 * (CAUTIOUS_AT if check.strength == "not_safe" else STANDS_AT),
            tipping_point=tipping.point(check, counted=counted, weights=self.weights) if look else None,
            tipping_point_known=look,
        )

    def same_check(self, pair: PairResult, tipping: TippingTable, counted: Bools) -> UnjudgedCheck:
        """Return whether a difference called small stays so, whichever system's unjudged docs are relevant."""
        check = tipping.same_holds(pair.a, pair.b, pair.margin, counted=counted, weights=self.weights)
        worse_for_same = abs(check.first_gains) > abs(check.second_gains)
        system, then = (pair.a, check.first_gains) if worse_for_same else (pair.b, check.second_gains)
        relevant = tipping.relevant_share(system, counted=counted)
        return UnjudgedCheck(
            strength="stands" if check.holds else "not_safe",
            system=system,
            judged_relevant=or_none(relevant.share),
            from_all_systems=relevant.from_all_systems,
            tested_share=STANDS_AT * relevant.r95,
            difference_then=or_none(pair.sign * then),
        )
