"""What a comparison found: one record per pair and measure, with verdict, strata and evidence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rankscope.comparison.verdict import Judged, Known, UnjudgedCheck, Verdict
from rankscope.measures.scores import Scores
from rankscope.stats.compare import Pair, Settings
from rankscope.stats.interval import Interval
from rankscope.stats.paired import Test

if TYPE_CHECKING:
    from rankscope.analysis.movement import Movement
    from rankscope.analysis.unjudged import SettleDoc


@dataclass(frozen=True, slots=True)
class QueryChange:
    """How one query changed."""

    query: str
    a: float
    b: float

    @property
    def delta(self) -> float:
        """B minus A."""
        return self.b - self.a


@dataclass(frozen=True, slots=True)
class Bounds:
    """How far the unjudged docs among the results that a measure looks at could move a difference, at the worst."""

    low: float
    high: float
    useless: float
    """The difference if no unjudged doc were relevant."""
    perfect: float
    """The difference if every unjudged doc had the highest grade."""
    exact: bool = True
    """Whether the ends can be reached; else they are safe, but may be too far apart."""
    depth: int | None = None
    """How many results of each query are looked at; None for all."""


@dataclass(frozen=True, slots=True, eq=False)
class Slice:
    """The difference within some of the queries."""

    attribute: str
    value: str
    pair: Pair
    contrast_p: float
    """Whether these queries differ from all others; NaN where that cannot be tested."""
    contrast_adjusted: float = float("nan")
    """The same, with false discoveries controlled among all slices of all pairs."""
    asked_for: bool = False
    stands_out: bool = False
    """Whether the difference sits here: it is another one than among all other queries."""
    too_few: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Compared:
    """One pair of systems by the primary measure, with all that is known about it."""

    pair: Pair
    verdict: Verdict
    known: Known = field(repr=False)
    """What the verdict was made from, beyond the numbers."""
    missing_a: tuple[str, ...] = ()
    """Queries that the first system does not answer; they count as empty."""
    missing_b: tuple[str, ...] = ()
    n_one_sided: int = 0
    """Queries for which only one of the two has a score; they are left out."""
    worst: tuple[QueryChange, ...] = ()
    best: tuple[QueryChange, ...] = ()
    slices: tuple[Slice, ...] = ()
    also_tested: tuple[Test, ...] = ()
    """Other tests of the same differences that were asked for; they decide nothing."""
    exploratory: tuple[Pair, ...] = ()
    """The same pair by the other measures."""
    bounds: Bounds | None = None
    """What unjudged docs could change at the worst; None where they are not in doubt, or it cannot be worked out."""
    settle: tuple[SettleDoc, ...] = ()
    """Docs whose judgment would settle which system is ahead, best first."""
    movement: Movement | None = None
    sensitivity: tuple[tuple[str, float], ...] = ()
    """The difference under other treatments of unjudged docs, by their names."""

    @property
    def unjudged(self) -> UnjudgedCheck | None:
        """Whether the verdict survives relevant docs among the unjudged ones; None where they are not in doubt."""
        return self.known.unjudged

    @property
    def judged(self) -> Judged | None:
        """How much of what each system is scored on is judged."""
        return self.known.judged


@dataclass(frozen=True, slots=True)
class Place:
    """A system's place on the leaderboard."""

    system: str
    mean: float
    ci: Interval | None
    """None where there is none: too few queries, or all of them score the same."""
    n_queries: int
    rank: int | None = None
    """One more than the number of systems that are better by verdict; None where not all pairs are compared."""
    beats: tuple[str, ...] = ()
    """The systems that it is better, or probably better, than."""


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """Queries that are compared as one: all of them, or those of one language."""

    name: str
    """Empty where all queries are one group."""
    query_ids: tuple[str, ...]
    compared: tuple[Compared, ...]
    leaderboard: tuple[Place, ...]
    """The systems, best mean first; with ranks where all pairs are compared."""
    pooled: bool = False
    """Whether it mixes languages, which was asked for."""


@dataclass(frozen=True, slots=True)
class Spread:
    """A system's score over several languages: the mean of their means, and how far they lie apart."""

    system: str
    by_language: tuple[tuple[str, float], ...]
    mean: float
    variance: float
    """Of the languages' means, divided by their number."""


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """The answer to: which is better, how sure is that, and where does the difference sit?"""

    primary: str
    baseline: str | None
    """None where all pairs are compared."""
    correction: str
    settings: Settings
    groups: tuple[Group, ...]
    scores: Scores = field(repr=False)
    cluster: str | None = None
    """The attribute that groups queries which are not independent."""
    cluster_of: Mapping[str, str] | None = field(default=None, repr=False)
    """The cluster of each query, where there are clusters."""
    weights: str | None = None
    """The attribute by which queries are weighted."""
    isolated_by: str = ""
    """The attribute whose values are never pooled, such as language."""
    spreads: tuple[Spread, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def systems(self) -> tuple[str, ...]:
        """The names of the systems."""
        return tuple(self.scores)

    def __iter__(self) -> Iterator[Compared]:
        return (compared for group in self.groups for compared in group.compared)

    def __getitem__(self, systems: tuple[str, str]) -> Compared:
        """Return what was found of two systems, (a, b); the first group's where there are several."""
        for compared in self:
            if (compared.pair.a, compared.pair.b) == systems:
                return compared
        raise KeyError(f"{systems} were not compared")

    # Reports lie above comparisons, so they are loaded by name, and only when one is asked for.

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON record whose schema is published."""
        from importlib import import_module

        record: dict[str, Any] = import_module("rankscope.report.comparison_json").json_record(self)
        return record

    def report(self, *, command: str = "") -> Any:
        """Return the report, ready to be rendered."""
        from importlib import import_module

        return import_module("rankscope.report.comparison").report_of(self, command=command)

    def __repr__(self) -> str:
        return "\n".join(f"{c.pair.b} vs {c.pair.a}: {c.verdict.text} {c.verdict.reason}" for c in self)

    def _repr_html_(self) -> str:
        from importlib import import_module

        render = import_module("rankscope.report.render").render
        html: str = import_module("html").escape(render(self.report(), "html"), quote=True)
        return (
            f'<iframe title="Rankscope comparison" srcdoc="{html}" style="width:100%;height:640px;border:0"></iframe>'
        )
