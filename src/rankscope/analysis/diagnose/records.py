"""What a diagnosis is made of: plain records, ready for a report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from rankscope.analysis.diagnose.positions import PositionReport

Severity: TypeAlias = Literal["serious", "moderate", "remark"]
SEVERITIES: tuple[Severity, ...] = ("serious", "moderate", "remark")
"""Worst first; a remark helps to read the rest and is no complaint."""


@dataclass(frozen=True, slots=True)
class Example:
    """One query that shows what a finding is about, in numbers and in words."""

    query: str
    numbers: Mapping[str, float | int | None]
    text: str


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that a run does badly: what, for how many queries, which ones, and what usually helps."""

    code: str
    """A name that programs can rely on."""
    severity: Severity
    what: str
    n_queries: int
    of_queries: int
    examples: tuple[Example, ...]
    helps: str


@dataclass(frozen=True, slots=True)
class Losses:
    """Where nDCG@k is lost, as means over queries; score and losses add up to 1."""

    score: float
    order: float
    """What the best order of the docs in the top k would add."""
    ranked_low: float
    """What docs further down in the pool would add besides, if ranked perfectly."""
    not_retrieved: float
    """What only docs could add that are not in the pool."""


@dataclass(frozen=True, slots=True)
class PoolCut:
    """What the first `depth` docs hold, and what a perfect re-ranker of them would reach."""

    depth: int
    recall: float
    best_recall: float
    """Recall at k, of a perfect order of these docs."""
    best_ndcg: float
    """nDCG at k, of a perfect order of these docs."""


@dataclass(frozen=True, slots=True)
class RankBand:
    """How many of the relevant docs stand at these ranks; without ranks, how many were not retrieved."""

    first: int | None
    last: int | None
    n_docs: int
    share: float


@dataclass(frozen=True, slots=True)
class RankRow:
    """What stands at one rank, over all queries."""

    rank: int
    relevant: int
    nonrelevant: int
    """Judged, and below the relevant grades."""
    unjudged: int
    empty: int
    """Queries with fewer docs than that."""


@dataclass(frozen=True, slots=True)
class ListedDoc:
    """A doc at its rank; the grade is None where nobody judged it."""

    rank: int
    doc: str
    grade: float | None


@dataclass(frozen=True, slots=True)
class MissedDoc:
    """A relevant doc that is not in the top k; the rank is None where it was not retrieved."""

    doc: str
    grade: float
    rank: int | None


@dataclass(frozen=True, slots=True)
class QueryList:
    """One query with its score, its top docs, and the best relevant docs that are not among them."""

    query: str
    score: float
    n_found: int
    """Relevant docs in the top k."""
    n_relevant: int
    docs: tuple[ListedDoc, ...]
    missed: tuple[MissedDoc, ...]


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """A run explained: a summary, findings with evidence, and the numbers behind them."""

    run: str
    measure: str
    """The nDCG that scores and losses are about."""
    k: int
    min_rel: float
    n_queries: int
    """Queries with relevant docs: those that can be diagnosed."""
    n_other_queries: int
    """Queries of the qrels without any relevant doc, left out."""
    recall: float
    """Mean recall at k."""
    unjudged_share: float
    """The share of the docs in the top k that nobody judged; NaN where nothing was retrieved."""
    summary: str
    losses: Losses
    findings: tuple[Finding, ...]
    pool: tuple[PoolCut, ...]
    relevant_docs: tuple[RankBand, ...]
    ranks: tuple[RankRow, ...]
    positions: PositionReport
    worst: tuple[QueryList, ...]
    best: tuple[QueryList, ...]

    @property
    def is_fine(self) -> bool:
        """Whether there is nothing but remarks."""
        return all(finding.severity == "remark" for finding in self.findings)
