"""What a history of runs says: its records, as they are stored, sent and drawn."""

from typing import Literal

from rankscope.comparison.records import Code, Comparison, QueryChange
from rankscope.records import Record, StoredRecord

FEW_OTHERS = 0.1
"""Where fewer queries than this share of the common ones are others, two runs are compared on the common ones."""


class ChangeParts(Record):
    """A change of a mean, and where it comes from; None where a mean is undefined."""

    total: float | None
    system: float | None
    """What the system has changed, under the judgments of today."""
    labels: float | None
    """What other judgments have changed of the earlier run."""


class QueryCounts(Record):
    """How the queries of two runs differ."""

    n_common: int
    """Asked of both with the same words, and judged today."""
    n_added: int = 0
    """Asked only of the later run."""
    n_removed: int = 0
    """Asked only of the earlier run."""
    n_changed: int = 0
    """Asked of both under the same id, but with other words."""
    n_judged_since: int = 0
    """Asked of both, and judged only now: what they change is the labels' part."""
    n_no_longer_judged: int = 0
    """Asked of both, and judged only then; the same holds for them."""

    @property
    def are_same(self) -> bool:
        return not (self.n_added or self.n_removed or self.n_changed)

    @property
    def are_nearly_same(self) -> bool:
        """Whether so few queries were added, removed or changed that those in common tell how a system changed."""
        return self.n_added + self.n_removed + self.n_changed <= FEW_OTHERS * self.n_common

    @property
    def in_words(self) -> str:
        """For example `10 queries were added, 2 removed`; empty where both were asked the same."""
        counts = {"added": self.n_added, "removed": self.n_removed, "changed in wording": self.n_changed}
        said = [f"{n} {what}" for what, n in counts.items() if n]
        if not said:
            return ""
        n_first = next(n for n in counts.values() if n)
        first, *others = said
        number, _, what = first.partition(" ")
        subject = "query was" if n_first == 1 else "queries were"
        return ", ".join([f"{number} {subject} {what}", *others])


class HistoryPoint(Record, kw_only=True):
    """One stored run of a system."""

    run: int
    digest: str
    started: str
    mean: float | None
    """Under the judgments of today; None where it is undefined."""
    low: float | None = None
    high: float | None = None
    mean_then: float | None = None
    """Under the judgments of its time."""
    n: int
    """Queries that count."""
    missing: int
    """Queries that it does not answer."""
    n_repetitions: int = 1
    """How often the system was asked: every query has the mean of its scores over all of them."""
    spread: float | None = None
    """The standard deviation of the mean from repetition to repetition; None where it was asked once."""
    change: ChangeParts | None = None
    """Since the run before; None for the first, and where the two have no query in common."""
    queries: QueryCounts | None = None
    """How its queries differ from those of the run before."""
    refused: str = ""
    """Why it cannot be compared with the run before although the queries are the same; empty where it can."""
    same_as_newest: bool = True
    """Whether it was asked the same queries as the newest run of the system, and can be compared with it."""
    tags: tuple[str, ...] = ()


class SystemHistory(Record):
    """All stored runs of one system on one collection, the oldest first."""

    system: str
    points: tuple[HistoryPoint, ...]
    since: int | None = None
    """The first run that was asked the same queries as the newest; None where that is the newest itself."""
    change: ChangeParts | None = None
    """From that run, as it was scored then, to the newest, as it is scored today."""
    queries: QueryCounts | None = None
    """How the queries of the first run of all differ from those of the newest."""
    n_earlier: int = 0
    """Runs before those above, which were not asked for."""

    @property
    def comparable(self) -> tuple[HistoryPoint, ...]:
        """The runs from `since` on that were asked the same queries as the newest, and it; often all."""
        if self.since is None:
            return self.points[-1:]
        return tuple(point for point in self.points if point.same_as_newest)


class VerdictOnChange(Record, kw_only=True):
    """What a comparison of a run with the one before says, under the judgments of today."""

    system: str
    before: int
    after: int
    at: str
    """When the later run was made."""
    what: str = ""
    """What was changed, as far as options, docs and depth tell."""
    difference: float | None
    low: float | None
    high: float | None
    verdict: Code
    short: str
    """The verdict in a word or two."""
    words: str
    """The whole verdict."""


class LabelStep(Record, kw_only=True):
    """A step of the printed numbers at which the judgments were others than before."""

    system: str
    before: int
    after: int
    at: str
    """When the first run was made that was scored under them."""
    n_before: int
    """Judgments before."""
    n_after: int
    printed: float
    """By how much the printed number moved."""
    labels: float
    """Of that, what was not the system: the rest, under the judgments of today, was."""


class LabelsOfToday(Record):
    """The judgments that all runs are scored under."""

    number: int
    name: str
    digest: str
    n_queries: int
    n_judgments: int
    stored: str
    is_newest: bool = True
    """False where earlier ones were asked for."""


class History(StoredRecord, kw_only=True):
    """What became of systems on one collection, by one measure, under the judgments of today."""

    rankscope: str
    collection: str
    measure: str
    better: Literal["higher", "lower"]
    labels: LabelsOfToday
    systems: tuple[SystemHistory, ...]
    main: str
    """The system that the answer is about: the one that others are compared with, else that of the newest run."""
    verdict: VerdictOnChange | None = None
    """On its newest run against its first one that was asked the same queries."""
    n_looks: int = 0
    """Comparisons that were made on the queries of today; what a history compares to show it is not counted."""
    changes: tuple[VerdictOnChange, ...] = ()
    """The newest changes, the newest first."""
    label_steps: tuple[LabelStep, ...] = ()
    """Where other judgments moved the printed number of the main system, the oldest first."""
    notes: tuple[str, ...] = ()
    dated_ahead: tuple[int, ...] = ()
    """Runs that are dated in the future, as a clock was wrong; their order is that in which they were stored."""
    """What must be known to read it, as of measures that cannot be computed again."""

    @property
    def main_system(self) -> SystemHistory:
        return next(each for each in self.systems if each.system == self.main)


class RunChange(StoredRecord, kw_only=True):
    """What changed between two stored runs."""

    rankscope: str
    measure: str
    before: HistoryPoint
    after: HistoryPoint
    systems: tuple[str, str]
    collection: str
    queries: QueryCounts
    change: ChangeParts
    comparison: Comparison | None
    """Of the two rankings under the judgments of today; None where they are the same."""
    notes: tuple[str, ...] = ()
    losses: tuple[QueryChange, ...] = ()
    """The queries that lost most, both runs under the judgments of today, the largest loss first."""
    gains: tuple[QueryChange, ...] = ()
