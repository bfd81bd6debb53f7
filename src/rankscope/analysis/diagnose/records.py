"""What a diagnosis is made of: the records that a report reads and `rankscope diagnose --format json` prints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from msgspec import Meta

from rankscope.records import Record, StoredRecord, replace, to_builtins
from rankscope.shown import VIEWS, Plotted, Rendered, Tabular

if TYPE_CHECKING:
    from rankscope.data.texts import Texts

SHOWN_FINDINGS = 5
"""Of more findings, the others are counted where a diagnosis is printed in an interactive session."""
Severity: TypeAlias = Literal["serious", "moderate", "remark"]
SEVERITIES: tuple[Severity, ...] = ("serious", "moderate", "remark")
"""Worst first; a remark helps to read the rest and is no complaint."""

LostTo: TypeAlias = Literal["order", "ranked_low", "not_answered", "not_retrieved"]
LOST_TO: tuple[LostTo, ...] = ("order", "ranked_low", "not_answered", "not_retrieved")
"""What nDCG can be lost to, the easiest to regain first."""
SEEN_LOSS = 0.00005
"""A smaller loss is shown as 0."""

Rank: TypeAlias = Annotated[int, Meta(ge=1)]
Count: TypeAlias = Annotated[int, Meta(ge=0)]


class FindingExample(Record):
    """One query that shows what a finding is about, in numbers and in words."""

    query: str
    numbers: Mapping[str, float | int | None]
    """What is known of the query, by name."""
    words: str
    """The same in words that may change between versions."""
    query_text: str = ""
    """What was asked; empty where it is not known."""


class DiagnosisFinding(Record):
    """Something that a run does badly: what, for how many queries, which ones, and what usually helps."""

    code: str
    """What was found, as a name that programs can rely on."""
    severity: Severity
    """serious: one query in five or more; moderate: one in twenty or more; remark: fewer, or good to know."""
    what: str
    """What was found, in words that may change between versions."""
    n_queries: Count
    """How many queries it concerns."""
    of_queries: Count
    """Out of how many queries."""
    examples: tuple[FindingExample, ...]
    """The queries that show it worst, at most three."""
    helps: str
    """What usually helps."""


class Losses(Record):
    """Where nDCG@k is lost, as means over queries; score and losses add up to 1."""

    score: float
    order: float
    """What the best order of the docs in the top k would add."""
    ranked_low: float
    """What docs further down in the pool would add besides, if ranked perfectly."""
    not_retrieved: float
    """What only docs could add that are not in the pool."""
    not_answered: float = 0.0
    """What queries that the run does not answer would add."""

    @property
    def largest(self) -> LostTo | None:
        """What most is lost to; of equals, what is easiest to regain. None where nothing is lost that could be seen."""
        largest = max(LOST_TO, key=lambda name: round(float(getattr(self, name)), 9))
        return largest if getattr(self, largest) >= SEEN_LOSS else None


class PoolCut(Record):
    """What the first `depth` docs hold, and what a perfect re-ranker of them would reach."""

    depth: Rank
    recall: float
    best_recall: float
    """Recall at k, of a perfect order of these docs."""
    best_ndcg: float
    """nDCG at k, of a perfect order of these docs."""


class RankBand(Record):
    """How many of the relevant docs stand at these ranks; without ranks, how many were not retrieved."""

    first: Rank | None
    last: Rank | None
    n_docs: Count
    share: float


class RankRow(Record):
    """What stands at one rank, over all queries."""

    rank: Rank
    relevant: Count
    nonrelevant: Count
    """Judged, and below the relevant grades."""
    unjudged: Count
    empty: Count
    """Queries with fewer docs than that."""


class Positions(Record):
    """The positions of relevant docs: average, best and worst of those found, None where none was."""

    found: Count
    total: Count
    """How many relevant docs there are, found or not."""
    average: float | None
    best: Rank | None
    worst: Rank | None
    in_top: Mapping[int, int]
    """How many stand in the top 3, 5 and 10."""


class PositionReport(Record):
    """Positions over all relevant docs of all queries together, and by query."""

    overall: Positions
    queries: Mapping[str, Positions]


class ListedDoc(Record):
    """A doc at its rank; the grade is None where nobody judged it."""

    rank: Rank
    doc: str
    grade: float | None
    title: str = ""
    """What the doc is called; empty where that is not known."""


class MissedDoc(Record):
    """A relevant doc that is not in the top k; the rank is None where it was not retrieved."""

    doc: str
    grade: float
    rank: Rank | None
    title: str = ""


class QueryList(Record):
    """One query with its score, its top docs, and the best relevant docs that are not among them."""

    query: str
    score: float
    n_found: Count
    """Relevant docs in the top k."""
    n_relevant: Count
    docs: tuple[ListedDoc, ...]
    missed: tuple[MissedDoc, ...]
    """The best relevant docs that are not in the top k."""
    query_text: str = ""
    """What was asked; empty where it is not known."""


class QuerySlice(Record):
    """The queries of one value of an attribute, beside all others."""

    attribute: str
    value: str
    n_queries: Count
    recall: float
    losses: Losses
    score_of_others: float | None
    """The mean of all other queries; None where there are no others."""
    p: float | None
    """How likely a difference to the others as large as this is by chance (Welch's test; exact where nothing varies); None for few queries."""
    p_adjusted: float | None = None
    """The same, with false alarms among all slices controlled (Benjamini and Hochberg)."""


class Diagnosis(Tabular, Rendered, Plotted, StoredRecord):
    """What a run does badly: a summary, findings with evidence, and the numbers behind them."""

    rankscope: str
    """The version that made the record."""
    is_fine: bool
    """Whether there is nothing but remarks."""
    run: str
    """The name of the run."""
    measure: str
    """The nDCG that scores and losses are about."""
    k: Rank
    min_rel: float
    """The lowest relevant grade."""
    n_queries: Count
    """Queries with relevant docs: those that can be diagnosed, and that all means are over."""
    n_other_queries: Count
    """Queries of the qrels without any relevant doc, left out."""
    recall: float
    """Mean recall at k."""
    unjudged_share: float | None
    """The share of the docs in the top k that nobody judged; None where nothing was retrieved."""
    summary: str
    """What to know first, in words that may change between versions."""
    losses: Losses
    findings: tuple[DiagnosisFinding, ...]
    """The most serious first."""
    pool: Annotated[tuple[PoolCut, ...], Meta(min_length=1)]
    """What a perfect re-ranker of the first docs would reach, by how many docs it gets."""
    relevant_docs: tuple[RankBand, ...]
    """In which ranks the relevant docs stand."""
    ranks: tuple[RankRow, ...]
    positions: PositionReport
    worst: tuple[QueryList, ...]
    """The queries with the lowest score, worst first."""
    best: tuple[QueryList, ...]
    """The queries with the highest score, best first."""
    bands: str | None = None
    """Whose words `in_words` is in; None where nobody asked for words."""
    in_words: str = ""
    """How good precision, recall, reciprocal rank and nDCG are, such as: good precision@10, moderate recall@10."""
    slices: tuple[QuerySlice, ...] = ()
    """The queries by intent and clarity, or by the attributes asked for, where queries are given."""

    @property
    def shown_docs(self) -> frozenset[str]:
        """The docs that it names."""
        lists = (*self.worst, *self.best)
        shown = {one.doc for query in lists for one in query.docs}
        return frozenset(shown.union(one.doc for query in lists for one in query.missed))

    def with_texts(self, texts: Texts) -> Diagnosis:
        """Return the diagnosis with what queries ask and docs are called, as far as that is known."""

        def listed(query: QueryList) -> QueryList:
            return replace(
                query,
                query_text=texts.query(query.query),
                docs=tuple(replace(one, title=texts.title(one.doc)) for one in query.docs),
                missed=tuple(replace(one, title=texts.title(one.doc)) for one in query.missed),
            )

        def found(finding: DiagnosisFinding) -> DiagnosisFinding:
            examples = (replace(one, query_text=texts.query(one.query)) for one in finding.examples)
            return replace(finding, examples=tuple(examples))

        return replace(
            self,
            findings=tuple(map(found, self.findings)),
            worst=tuple(map(listed, self.worst)),
            best=tuple(map(listed, self.best)),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON record whose schema is published."""
        record: dict[str, Any] = to_builtins(self)
        return record

    def report(self, *, command: str = "", per_query: bool = False) -> Any:
        """Return the report of this diagnosis, which `render` turns into text, HTML, Markdown or LaTeX."""
        return VIEWS["Diagnosis"].report(self, command=command, per_query=per_query)

    def __repr__(self) -> str:
        found = (
            f"{one.severity}: {one.what} ({one.n_queries} of {one.of_queries} queries)"
            for one in self.findings[:SHOWN_FINDINGS]
        )
        n_more = len(self.findings) - SHOWN_FINDINGS
        more = [f"… and {n_more} more findings"] if n_more > 0 else []
        return "\n  ".join([f"{self.run}: {self.summary}", *found, *more])
