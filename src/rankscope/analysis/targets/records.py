"""What is expected of rankings, query by query, and what came of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date
from typing import Any, Literal

from msgspec import field

from rankscope.printable import counted
from rankscope.records import Record, StoredRecord, to_builtins
from rankscope.shown import VIEWS, Rendered, Tabular

TargetKind = Literal["docs", "one_of", "never", "distinct", "measure"]
TargetOutcome = Literal["passed", "failed", "quarantined"]
InsteadKind = Literal["doc", "query", "value"]


class Target(Record, kw_only=True):
    """One thing that is expected of a ranking."""

    name: str
    kind: TargetKind
    query: str | None = None
    """The query that it is about; None where it is about those of a stratum, or about all."""
    stratum: dict[str, str] = field(default_factory=dict)
    """The values of attributes that its queries have, as texts; empty where it is about one query, or about all."""
    docs: tuple[str, ...] = ()
    """Of docs, one_of and never: the docs that are expected, or that must not be there."""
    top: int | None = None
    """How many of the first docs are looked at; None: all that the run lists."""
    field: str = ""
    """Of distinct: the field of the docs."""
    distinct: int = 0
    """Of distinct: how many different values of the field there must be at least."""
    measure: str = ""
    at_least: float | None = None
    at_most: float | None = None
    """Of measures that are better where they are lower."""
    only: tuple[str, ...] = ()
    """The runs, or systems, that it is about; empty: all."""
    collections: tuple[str, ...] = ()
    """In a project, the collections that it is about; empty: all."""
    owner: str = ""
    reason: str = ""
    quarantine_until: date | None = None
    """The last day on which it may fail without failing the check."""
    weight: float = 1.0

    @property
    def expected(self) -> str:
        """What is expected, in a few words: `d42 in the top 3`."""
        listed = " and ".join(self.docs) if self.kind == "docs" else " or ".join(self.docs)
        first = "" if self.top is None else f" in the top {self.top}"
        match self.kind:
            case "docs":
                return f"{listed}{first}"
            case "one_of":
                return f"{'one of ' if len(self.docs) > 1 else ''}{listed}{first}"
            case "never":
                return f"never {listed}{first}"
            case "distinct":
                return f"at least {counted(self.distinct, 'distinct value')} of {self.field}{first}"
            case "measure":
                limit = f"at least {self.at_least:g}" if self.at_least is not None else f"at most {self.at_most:g}"
                return f"{self.measure} {limit}"

    @property
    def where(self) -> str:
        """Which queries it is about: an id, the values of a stratum, or all queries."""
        if self.query is not None:
            return self.query
        return ", ".join(f"{name} = {value}" for name, value in self.stratum.items()) or "all queries"

    def is_quarantined(self, today: date) -> bool:
        """Tell whether it may fail on that day without failing the check."""
        return self.quarantine_until is not None and today <= self.quarantine_until

    def quarantine_ended(self, today: date) -> bool:
        """Tell whether it had a quarantine that is over on that day."""
        return self.quarantine_until is not None and today > self.quarantine_until


class Instead(Record):
    """One line of what is there instead: a doc at its rank, a query with its score, or a value and how often it is."""

    kind: InsteadKind
    name: str
    """The id of the doc or query, or the value of the field."""
    words: str = ""
    """The title of the doc or the text of the query, where they are known."""
    rank: int | None = None
    value: float | None = None
    """A doc's grade (None where nobody judged it), a query's score, or how many docs have the value."""
    says: str = ""
    """Of a query: what is wrong there."""

    @property
    def line(self) -> str:
        """The line as it is printed."""
        called = f"{self.words} ({self.name})" if self.words else self.name
        match self.kind:
            case "doc":
                grade = "not judged" if self.value is None else f"grade {self.value:g}"
                return f"{self.rank}. {called}, {grade}"
            case "query":
                return f"{called}: {self.says}" if self.value is None else f"{called}: {self.value:.4f}"
            case "value":
                return f"{called}: {counted(int(self.value or 0), 'doc')}"


class TargetResult(Record):
    """What came of one target in one run."""

    target: str
    """The name of the target."""
    run: str
    outcome: TargetOutcome
    """`quarantined` fails, which does not count before the quarantine ends."""
    words: str
    """What is so, and where it fails what should be."""
    value: float | None = None
    """The rank of the doc (of several the worst that counts), how many values there are, or the score."""
    query_text: str = ""
    """What the query asks, where that is known."""
    instead: tuple[Instead, ...] = ()
    """Where it fails: up to three lines of what is there."""
    remark: str = ""
    """What has to be known of its quarantine."""
    collection: str = ""


class GradedMean(Record):
    """One number for a run by a measure, as `evaluate` computes it."""

    run: str
    measure: str
    value: float | None
    """None where no query has a score."""
    n_queries: int
    """How many queries it is about."""
    collection: str = ""


class TargetCounts(Record):
    """How many checks, one per target and run, came out in each way."""

    passed: int
    failed: int
    quarantined: int
    share: float | None
    """The weight of what passed over that of what passed or failed; None where all that there is is quarantined."""

    @property
    def total(self) -> int:
        return self.passed + self.failed + self.quarantined


class TargetsReport(Tabular, Rendered, StoredRecord):
    """What came of all targets in all runs, with the graded measures beside it.

    Examples
    --------
    >>> import rankscope as rs
    >>> qrels, run = {"q": {"a": 1}}, {"bm25": {"q": ["x", "a"]}}
    >>> report = rs.check(qrels, run, [{"query": "q", "doc": "a", "top": 1}])
    >>> report
    TargetsReport(0 passed, 1 failed, 0 quarantined)
    >>> report.results[0].words
    'a is at rank 2, but must be in the top 1'
    """

    rankscope: str
    """The version that checked."""
    checked_on: date
    """The day (in UTC) by which quarantines were judged."""
    counts: TargetCounts
    targets: tuple[Target, ...]
    results: tuple[TargetResult, ...]
    """One for each target and run."""
    means: tuple[GradedMean, ...]
    notes: tuple[str, ...] = ()
    """What must be known to read the numbers."""

    @property
    def passed(self) -> bool:
        """Whether no target fails; those in quarantine may."""
        return self.counts.failed == 0

    @property
    def exit_code(self) -> int:
        """What `rankscope check` ends with: 0 where all pass, 1 where a target fails."""
        return 0 if self.passed else 1

    def of_outcome(self, outcome: TargetOutcome) -> Iterator[tuple[Target, TargetResult]]:
        """Yield the results of one outcome with their targets, those that weigh most first."""
        target_of = {target.name: target for target in self.targets}
        found = [(target_of[one.target], one) for one in self.results if one.outcome == outcome]
        yield from sorted(found, key=lambda pair: -pair[0].weight)

    @property
    def runs(self) -> tuple[str, ...]:
        """The names of the runs that were checked."""
        return tuple(dict.fromkeys(one.run for one in self.results))

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON record whose schema is published."""
        record: dict[str, Any] = to_builtins(self)
        return record

    def report(self, *, command: str = "") -> Any:
        """Return the report, which `render` turns into text, HTML, Markdown or LaTeX."""
        return VIEWS["TargetsReport"].report(self, command=command)

    def __repr__(self) -> str:
        counts = self.counts
        return f"TargetsReport({counts.passed} passed, {counts.failed} failed, {counts.quarantined} quarantined)"


def count_results(results: Sequence[TargetResult], targets: Sequence[Target]) -> TargetCounts:
    weight_of = {target.name: target.weight for target in targets}
    weights: dict[TargetOutcome, float] = {"passed": 0.0, "failed": 0.0, "quarantined": 0.0}
    counts = dict.fromkeys(weights, 0)
    for one in results:
        weights[one.outcome] += weight_of[one.target]
        counts[one.outcome] += 1
    counted_weight = weights["passed"] + weights["failed"]
    share = weights["passed"] / counted_weight if counted_weight else None
    return TargetCounts(counts["passed"], counts["failed"], counts["quarantined"], share)
