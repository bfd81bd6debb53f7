"""Movement: which docs made the difference between two systems, the second minus the first.

A score is a sum of parts, one for each relevant doc that was found: for nDCG its discounted gain over the ideal, for AP
the precision at its rank over the number of relevant docs, for RR everything to the first relevant doc. So the
difference of two scores is the sum, over all docs, of a doc's part in the one less its part in the other. Nothing is
left over: the parts add up to the difference.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import numpy as np

from rankscope.align.hits import Hits
from rankscope.align.policies import Policies
from rankscope.analysis.aligned import AlignedRun, JudgedDocs, on_shared_queries
from rankscope.analysis.unjudged.pool import n_unjudged
from rankscope.arrays import Bools, Floats, Ints, in_order_sum
from rankscope.data.qrels import Qrels
from rankscope.data.run import Run
from rankscope.errors import MeasureError
from rankscope.measures.rank import first_relevant_ranks
from rankscope.measures.scoring import score_hits
from rankscope.measures.spec import Measure, Workings
from rankscope.records import Record

KINDS = {
    "lost": "relevant docs that the first system shows and the second does not",
    "demoted": "relevant docs that stand lower in the second system's list",
    "promoted": "relevant docs that stand higher in the second system's list",
    "new": "relevant docs that only the second system shows",
    "unmoved": "relevant docs at the same rank, worth more or less because of the docs before them",
}
"""What can have become of a doc that made a difference."""


class KindTotal(Record):
    """What docs of one kind contribute to the difference."""

    n_docs: int
    """Pairs of query and doc."""
    total: float
    """Their changes, added up over all queries."""
    mean: float | None
    """The same per query: the means of all kinds add up to the difference of the mean scores; None of no query."""


class DocMove(Record):
    """A doc that made a difference for one query."""

    doc_id: str
    grade: float
    kind: str
    rank_a: int | None
    """Its rank in the first system's list; None where it is not among the docs that the measure looks at."""
    rank_b: int | None
    part_a: float
    """Its part of the first system's score."""
    part_b: float

    @property
    def change(self) -> float:
        """What it contributes to the difference of the query."""
        return self.part_b - self.part_a


class QueryMove(Record):
    """A query whose score differs, with the docs that made the difference, the most important first."""

    query_id: str
    score_a: float
    score_b: float
    n_unjudged_a: int
    """Unjudged docs among those that the measure looks at: they count nothing, but take up ranks."""
    n_unjudged_b: int
    docs: tuple[DocMove, ...]

    @property
    def change(self) -> float:
        """The difference of the scores."""
        return self.score_b - self.score_a


class Movement(Record):
    """Where the difference between two systems comes from."""

    measure: str
    n_queries: int
    """Queries that count in the comparison."""
    difference: float | None
    """The mean score of the second system minus that of the first; None where no query counts."""
    by_class: Mapping[str, KindTotal]
    """By what became of the docs: `KINDS`, in this order, also where there are none."""
    n_unjudged_a: int
    """Unjudged docs among those that the measure looks at, over all queries."""
    n_unjudged_b: int
    by_rank_a: tuple[float, ...]
    """What rank 1, 2, … of the first system contributes to its mean score."""
    by_rank_b: tuple[float, ...]
    queries: tuple[QueryMove, ...]
    """The queries that moved most."""


def supports(measure: Measure, policies: Policies) -> bool:  # noqa: ARG001 (as its namesake for unjudged docs)
    """Tell whether a measure is a mean of sums over docs, so that a difference can be taken apart."""
    aggregate = measure.options.get("agg") or measure.spec.aggregate
    return aggregate == "mean" and (measure.spec.workings is not None or measure.base == "Success")


def movement(
    qrels: Qrels,
    run_a: Run,
    run_b: Run,
    measure: Measure,
    policies: Policies,
    *,
    weight_of: Mapping[str, float] | None = None,
    limit: int = 10,
) -> Movement:
    """Take the difference between two systems apart, doc by doc; the `limit` queries that moved most are listed.

    `weight_of` says how much each query counts.
    """
    check_support(measure, policies)
    docs = JudgedDocs.of(qrels)
    a, b = (AlignedRun.of(qrels, run, policies, docs=docs) for run in (run_a, run_b))
    return movement_of(docs, a, b, measure, policies, weight_of=weight_of, limit=limit)


def movement_of(
    docs: JudgedDocs,
    run_a: AlignedRun,
    run_b: AlignedRun,
    measure: Measure,
    policies: Policies,
    *,
    weight_of: Mapping[str, float] | None = None,
    limit: int = 10,
) -> Movement:
    """Take the difference between two runs apart that are aligned already, their docs being numbered."""
    check_support(measure, policies)
    a, b = on_shared_queries(run_a, run_b)
    sides = [SystemParts.of(each, measure, policies) for each in (a, b)]
    counted = ~np.isnan(sides[0].scores) & ~np.isnan(sides[1].scores)
    shares = counted.astype(np.float64)
    if weight_of is not None:
        shares *= np.array([weight_of[query] for query in sides[0].query_ids])
    shares /= max(float(shares.sum()), 1e-300)
    return compare_parts(docs, sides[0], sides[1], measure, counted, shares=shares, limit=limit)


def check_support(measure: Measure, policies: Policies) -> None:
    """Refuse a measure whose difference is no sum over docs."""
    if not supports(measure, policies):
        raise MeasureError(
            f"a difference in {measure.name} cannot be taken apart doc by doc",
            hint="it can for nDCG, DCG, AP, RR, P, R, RBP, ERR and Success, averaged over queries",
        )


class SystemParts(msgspec.Struct, frozen=True, eq=False):
    """One system: its scores, and where each judged doc stands and what it contributes."""

    query_ids: tuple[str, ...]
    scores: Floats
    query: Ints
    """The query of each judged doc that the measure looks at, by position."""
    docs: Ints
    """Its number."""
    ranks: Ints
    parts: Floats
    n_unjudged: Floats
    """By query."""

    @classmethod
    def of(cls, run: AlignedRun, measure: Measure, policies: Policies) -> SystemParts:
        """Look at one system."""
        hits, numbers = run.hits, run.numbers
        if numbers is None:
            raise ValueError("the docs of an alignment are not numbered")
        scores = score_hits(hits, [measure], policies)[0][:, 0]
        if measure.options.get("judged_only"):
            numbers, hits = numbers[hits.grades >= 0], hits.judged_only()
        k = measure.arguments(rel=policies.relevance_level).get("k")
        shown = hits.within(k)
        return cls(
            query_ids=hits.query_ids,
            scores=scores,
            query=hits.segments[shown],
            docs=numbers[shown],
            ranks=hits.ranks[shown],
            parts=parts_of(hits, measure, policies)[shown],
            n_unjudged=n_unjudged(hits, k),
        )

    def only(self, counted: Bools) -> SystemParts:
        """Return the docs of some of the queries; the queries stay as they are."""
        kept = counted[self.query]
        return SystemParts(
            self.query_ids,
            self.scores,
            self.query[kept],
            self.docs[kept],
            self.ranks[kept],
            self.parts[kept],
            np.where(counted, self.n_unjudged, 0.0),
        )

    def by_rank(self, shares: Floats) -> tuple[float, ...]:
        """Return what each rank contributes to the mean score, in which each query has its share."""
        added = np.bincount(self.ranks, weights=self.parts * shares[self.query], minlength=1)[1:]
        return tuple(added.astype(np.float64).tolist())

    def spread(self, n_docs: int) -> tuple[Ints, Floats]:
        """Return the rank (0 where it is not shown) and the part of every judged doc."""
        ranks, parts = np.zeros(n_docs, dtype=np.int64), np.zeros(n_docs)
        ranks[self.docs], parts[self.docs] = self.ranks, self.parts
        return ranks, parts


def parts_of(hits: Hits, measure: Measure, policies: Policies) -> Floats:
    """Return what each hit contributes to the score of its query."""
    given = measure.arguments(rel=policies.relevance_level)
    workings = measure.spec.workings(hits, **given) if measure.spec.workings else success_workings(hits, **given)
    if workings.divisor is None:
        return workings.terms
    divisor = workings.divisor[hits.segments]
    return np.divide(workings.terms, divisor, out=np.zeros(len(divisor)), where=divisor > 0)


def success_workings(hits: Hits, *, k: int | None, rel: float) -> Workings:
    """Return a success as the merit of the first relevant doc."""
    first = first_relevant_ranks(hits, k, rel)[hits.segments] == hits.ranks
    return Workings(terms=first.astype(np.float64))


def compare_parts(
    docs: JudgedDocs, a: SystemParts, b: SystemParts, measure: Measure, counted: Bools, *, shares: Floats, limit: int
) -> Movement:
    """Compare the two systems over the queries that count, each with its share in the mean."""
    n_queries = int(counted.sum())
    side_a, side_b = a.only(counted), b.only(counted)
    moves = DocMoves.of(docs, side_a, side_b)
    return Movement(
        measure=measure.name,
        n_queries=n_queries,
        difference=in_order_sum(((b.scores - a.scores) * shares)[counted]) if n_queries else None,
        by_class={kind: moves.part(kind, shares) for kind in KINDS},
        n_unjudged_a=int(side_a.n_unjudged.sum()),
        n_unjudged_b=int(side_b.n_unjudged.sum()),
        by_rank_a=side_a.by_rank(shares),
        by_rank_b=side_b.by_rank(shares),
        queries=tuple(moves.query_move(i) for i in most_moved(np.where(counted, b.scores - a.scores, 0.0), limit)),
    )


def most_moved(changes: Floats, limit: int) -> list[int]:
    """Return the queries whose scores differ most, the largest difference first."""
    order = np.argsort(-np.abs(changes), kind="stable")[:limit]
    return [i for i in order.tolist() if changes[i] != 0]


class DocMoves(msgspec.Struct, frozen=True, eq=False):
    """The docs that made a difference, with their ranks and parts on both sides."""

    all_docs: JudgedDocs
    a: SystemParts
    b: SystemParts
    query: Ints
    docs: Ints
    ranks_a: Ints
    ranks_b: Ints
    parts_a: Floats
    parts_b: Floats
    kinds: Ints
    """Places in `KINDS`."""

    @classmethod
    def of(cls, docs: JudgedDocs, a: SystemParts, b: SystemParts) -> DocMoves:
        """Put both sides together and keep the docs whose part changed."""
        n = len(docs.ids)
        (ranks_a, parts_a), (ranks_b, parts_b) = a.spread(n), b.spread(n)
        query = np.zeros(n, dtype=np.int64)
        query[a.docs], query[b.docs] = a.query, b.query
        changed = np.flatnonzero(parts_a != parts_b)
        return cls(
            docs,
            a,
            b,
            query[changed],
            changed,
            ranks_a[changed],
            ranks_b[changed],
            parts_a[changed],
            parts_b[changed],
            kinds_of(ranks_a, ranks_b)[changed],
        )

    def part(self, kind: str, shares: Floats) -> KindTotal:
        """Return what the docs of a kind contribute."""
        chosen = self.kinds == list(KINDS).index(kind)
        changes = (self.parts_b - self.parts_a)[chosen]
        mean = in_order_sum(changes * shares[self.query[chosen]]) if shares.any() else None
        return KindTotal(int(chosen.sum()), in_order_sum(changes), mean)

    def query_docs(self, query: int) -> list[int]:
        """Return the docs of a query, those that made the greatest difference first."""
        mine = np.flatnonzero(self.query == query)
        ordered: list[int] = mine[np.argsort(-np.abs(self.parts_b - self.parts_a)[mine], kind="stable")].tolist()
        return ordered

    def query_move(self, query: int) -> QueryMove:
        """Return what moved in one query."""
        return QueryMove(
            query_id=self.a.query_ids[query],
            score_a=float(self.a.scores[query]),
            score_b=float(self.b.scores[query]),
            n_unjudged_a=int(self.a.n_unjudged[query]),
            n_unjudged_b=int(self.b.n_unjudged[query]),
            docs=tuple(map(self.doc_move, self.query_docs(query))),
        )

    def doc_move(self, i: int) -> DocMove:
        """Return one doc as a record."""
        return DocMove(
            doc_id=self.all_docs.ids[int(self.docs[i])],
            grade=float(self.all_docs.grades[int(self.docs[i])]),
            kind=list(KINDS)[int(self.kinds[i])],
            rank_a=int(self.ranks_a[i]) or None,
            rank_b=int(self.ranks_b[i]) or None,
            part_a=float(self.parts_a[i]),
            part_b=float(self.parts_b[i]),
        )


def kinds_of(ranks_a: Ints, ranks_b: Ints) -> Ints:
    """Return what became of each doc, as its place in `KINDS`."""
    is_kind = {
        "lost": ranks_b == 0,
        "new": ranks_a == 0,
        "demoted": ranks_b > ranks_a,
        "promoted": ranks_b < ranks_a,
    }
    names = list(KINDS)
    return np.select(list(is_kind.values()), [names.index(kind) for kind in is_kind], names.index("unmoved"))
