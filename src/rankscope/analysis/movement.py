"""Movement: which docs made the difference between two systems, the second minus the first.

A score is a sum of parts, one for each relevant doc that was found: for nDCG its discounted gain over the ideal, for AP
the precision at its rank over the number of relevant docs, for RR everything to the first relevant doc. So the
difference of two scores is the sum, over all docs, of a doc's part in the one less its part in the other. Nothing is
left over: the parts add up to the difference.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rankscope.align.policies import Policies
from rankscope.analysis.aligned import AlignedRun, JudgedDocs, on_shared_queries
from rankscope.analysis.unjudged.pool import divide, n_unjudged
from rankscope.arrays import Bools, Floats, in_order_sum
from rankscope.errors import MeasureError
from rankscope.measures.rank import first_relevant_ranks
from rankscope.measures.scoring import score_hits
from rankscope.measures.spec import Measure
from rankscope.records import Both, Record, or_none

KINDS = {
    "lost": "relevant docs that the first system shows and the second does not",
    "demoted": "relevant docs that stand lower in the second system's list",
    "promoted": "relevant docs that stand higher in the second system's list",
    "new": "relevant docs that only the second system shows",
    "unmoved": "relevant docs at the same rank, worth more or less because of the docs before them",
}
"""What can have become of a doc that made a difference."""


class MovementPart(Record):
    """What docs of one kind contribute to the difference."""

    n_docs: int
    total: float | None
    """Their changes, added up over all queries."""
    mean: float | None
    """The same per query: the means of all kinds add up to the difference of the mean scores."""


class MovedDoc(Record):
    """A doc that made a difference for one query."""

    doc: str
    kind: str
    # a rank is None where the doc is not among those that the measure looks at
    rank_a: int | None
    rank_b: int | None
    change: float | None
    grade: float
    title: str | None = None
    """What the doc is called, where the docs are given."""


class MovedQuery(Record):
    """A query whose score differs, with the docs that made the difference, the most important first."""

    query: str
    docs: tuple[MovedDoc, ...]
    text: str | None = None
    """What was asked, where the queries are given."""


class PairMovement(Record):
    """Where the difference between two systems comes from."""

    kinds: dict[str, MovementPart]
    """By what became of the docs: lost, demoted, promoted, new, unmoved."""
    unjudged: Both[int]
    """Docs that take up ranks and count nothing."""
    by_rank: Both[tuple[float, ...]]
    """What rank 1, 2, … contributes to the mean score."""
    queries: tuple[MovedQuery, ...]
    """Those that moved most."""
    difference: float | None
    """The mean score of the second system less that of the first."""


def supports(measure: Measure) -> bool:
    """Tell whether a measure is a mean of sums over docs, so that a difference can be taken apart."""
    aggregate = measure.options.get("agg") or measure.spec.aggregate
    return aggregate == "mean" and (measure.spec.workings is not None or measure.base == "Success")


def movement_of(
    docs: JudgedDocs,
    run_a: AlignedRun,
    run_b: AlignedRun,
    measure: Measure,
    policies: Policies,
    *,
    weight_of: Mapping[str, float] | None = None,
    limit: int = 10,
) -> PairMovement:
    """Take the difference between two runs apart, doc by doc; their docs are numbered.

    `weight_of` says how much each query counts; the `limit` queries that moved most are listed.
    """
    if not supports(measure):
        raise MeasureError(
            f"a difference in {measure.name} cannot be taken apart doc by doc",
            hint="it can for nDCG, DCG, AP, RR, P, R, RBP, ERR and Success, averaged over queries",
        )
    runs = on_shared_queries(run_a, run_b)
    scores_a, scores_b = (score_hits(run.hits, [measure], policies)[0][:, 0] for run in runs)
    counted = ~np.isnan(scores_a) & ~np.isnan(scores_b)
    a, b = (SystemParts(docs, run, measure, policies, counted) for run in runs)
    query_ids = runs[0].hits.query_ids
    shares = counted.astype(np.float64)
    if weight_of is not None:
        shares *= np.array([weight_of[query] for query in query_ids])
    shares /= max(float(shares.sum()), 1e-300)
    changes = np.where(counted, scores_b - scores_a, 0.0)
    moves = DocMoves(docs, a, b)
    most_moved = np.argsort(-np.abs(changes), kind="stable")[:limit].tolist()
    return PairMovement(
        kinds={kind: moves.total(kind, shares) for kind in KINDS},
        unjudged=Both(a.n_unjudged, b.n_unjudged),
        by_rank=Both(a.by_rank(shares), b.by_rank(shares)),
        queries=tuple(MovedQuery(query_ids[i], moves.of_query(i)) for i in most_moved if changes[i] != 0),
        difference=or_none(in_order_sum((changes * shares)[counted])) if counted.any() else None,
    )


class SystemParts:
    """Where each judged doc stands in one system's lists and what it contributes; 0 where the measure does not see it."""

    def __init__(self, docs: JudgedDocs, run: AlignedRun, measure: Measure, policies: Policies, counted: Bools) -> None:
        hits, numbers = run.hits, run.numbers
        if numbers is None:
            raise ValueError("the docs of an alignment are not numbered")
        if measure.options.get("judged_only"):
            numbers, hits = numbers[hits.grades >= 0], hits.judged_only()
        given = measure.arguments(rel=policies.relevance_level)
        if measure.spec.workings is None:  # a success is the merit of the first relevant doc
            first = first_relevant_ranks(hits, given["k"], given["rel"])[hits.segments]
            parts = np.asarray(first == hits.ranks, dtype=np.float64)
        else:
            workings = measure.spec.workings(hits, **given)
            parts = workings.terms
            if workings.divisor is not None:
                parts = divide(parts, workings.divisor[hits.segments])
        k = given.get("k")
        self.n_unjudged = int(n_unjudged(hits, k)[counted].sum())
        shown = hits.within(k) & counted[hits.segments]
        self.query, self.ranks = np.zeros((2, len(docs.ids)), dtype=np.int64)
        self.parts = np.zeros(len(docs.ids))
        for column, values in ((self.query, hits.segments), (self.ranks, hits.ranks), (self.parts, parts)):
            column[numbers[shown]] = values[shown]

    def by_rank(self, shares: Floats) -> tuple[float, ...]:
        """Return what each rank contributes to the mean score, in which each query has its share."""
        seen = np.flatnonzero(self.ranks)
        added = np.bincount(self.ranks[seen], self.parts[seen] * shares[self.query[seen]], minlength=1)[1:]
        return tuple(added.astype(np.float64).tolist())


class DocMoves:
    """The docs that made a difference, with their ranks on both sides; a rank is 0 where a doc is not shown."""

    def __init__(self, docs: JudgedDocs, a: SystemParts, b: SystemParts) -> None:
        self.all_docs, self.docs = docs, np.flatnonzero(a.parts != b.parts)
        self.query = np.maximum(a.query, b.query)[self.docs]
        self.ranks_a, self.ranks_b = a.ranks[self.docs], b.ranks[self.docs]
        self.changes = (b.parts - a.parts)[self.docs]
        is_kind = {
            "lost": self.ranks_b == 0,
            "new": self.ranks_a == 0,
            "demoted": self.ranks_b > self.ranks_a,
            "promoted": self.ranks_b < self.ranks_a,
        }
        self.kinds = np.select(list(is_kind.values()), list(is_kind), "unmoved")

    def total(self, kind: str, shares: Floats) -> MovementPart:
        chosen = self.kinds == kind
        changes = self.changes[chosen]
        mean = in_order_sum(changes * shares[self.query[chosen]]) if shares.any() else None
        return MovementPart(int(chosen.sum()), or_none(in_order_sum(changes)), or_none(mean))

    def of_query(self, query: int) -> tuple[MovedDoc, ...]:
        """Return the docs of a query, those that made the greatest difference first."""
        mine = np.flatnonzero(self.query == query)
        return tuple(
            MovedDoc(
                doc=self.all_docs.ids[int(self.docs[i])],
                kind=str(self.kinds[i]),
                rank_a=int(self.ranks_a[i]) or None,
                rank_b=int(self.ranks_b[i]) or None,
                change=or_none(float(self.changes[i])),
                grade=float(self.all_docs.grades[int(self.docs[i])]),
            )
            for i in mine[np.argsort(-np.abs(self.changes[mine]), kind="stable")].tolist()
        )
