"""What a run of a project found: for every collection the scores, the comparison, the costs, and what failed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rankscope.analysis.validate import Finding
from rankscope.comparison.groups import spread_of
from rankscope.comparison.records import Comparison, LanguageSpread
from rankscope.experiment.collection import Part
from rankscope.experiment.latency import Profile
from rankscope.experiment.project import Project
from rankscope.measures.scores import Scores
from rankscope.systems.answers import Answer


@dataclass(frozen=True, slots=True)
class Sides:
    """Which queries choices are made on, and which ones are measured."""

    train: tuple[str, ...]
    """The queries on which options and weights are chosen; empty where nothing has to be chosen."""
    measured: tuple[str, ...]
    """The queries that all results are about."""
    how: str = "all"
    """all, train (a hold-out stays hidden), holdout (it was revealed), or drawn (divided for this run)."""
    words: str = ""
    """What has to be said about it."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One combination of options or weights that was tried on the train queries."""

    options: Mapping[str, Any]
    score: float
    chosen: bool = False


@dataclass(frozen=True, slots=True)
class Choice:
    """What was chosen for a system, and what all that was tried had scored."""

    system: str
    measure: str
    n_queries: int
    trials: tuple[Trial, ...]

    @property
    def chosen(self) -> Trial:
        """The best trial; of several that score the same, the first."""
        return next(trial for trial in self.trials if trial.chosen)


@dataclass(frozen=True, slots=True, eq=False)
class SystemResult:
    """One system on one collection."""

    name: str
    type: str
    fingerprint: str
    """Stands for the system, its options, the docs and queries, and the number of docs asked for."""
    described: Mapping[str, Any]
    """All parameters and versions, as the system gives them."""
    run: Path | None
    """The run's file, within the folder of the project; None where nothing was retrieved."""
    n_queries: int
    n_retried: int
    """How many answers took more than one attempt."""
    failures: tuple[Answer, ...]
    profile: Profile
    finding: Finding | None = None
    """What is wrong with the ids that it returns: an error where it is left out, a warning where it is kept anyway."""

    @property
    def is_left_out(self) -> bool:
        """Whether it is neither evaluated nor compared, as what it returns are no docs of the collection."""
        return self.finding is not None and self.finding.level == "error"

    @property
    def n_answered(self) -> int:
        """How many queries have an answer."""
        return self.n_queries - len(self.failures)


@dataclass(frozen=True, slots=True, eq=False)
class CollectionResult:
    """All systems on one collection."""

    name: str
    parts: Mapping[str, Part]
    sides: Sides
    systems: tuple[SystemResult, ...]
    scores: Scores | None
    """None where no system has retrieved anything."""
    comparison: Comparison | None
    """None where there are not two systems to compare."""
    choices: tuple[Choice, ...] = ()
    notes: tuple[str, ...] = ()
    answered_only: Mapping[str, float] = field(default_factory=dict)
    """For systems of which queries failed: the primary measure over the queries that were answered."""
    about: Mapping[str, Any] = field(default_factory=dict)
    language: str = ""
    """The language of its queries, where all of them have the same."""

    @property
    def n_failed(self) -> int:
        """How many queries failed, over all systems."""
        return sum(len(system.failures) for system in self.systems)

    @property
    def left_out(self) -> tuple[SystemResult, ...]:
        """The systems that could not be evaluated."""
        return tuple(system for system in self.systems if system.is_left_out)


@dataclass(frozen=True, slots=True, eq=False)
class Benchmark:
    """A whole run of a project."""

    project: Project
    depth: int
    collections: tuple[CollectionResult, ...]
    started: str
    finished: str
    command: str = ""

    @property
    def n_failed(self) -> int:
        """How many queries failed, over all systems and collections."""
        return sum(result.n_failed for result in self.collections)

    @property
    def n_left_out(self) -> int:
        """How many systems could not be evaluated, over all collections."""
        return sum(len(result.left_out) for result in self.collections)

    @property
    def spreads(self) -> tuple[LanguageSpread, ...]:
        """Each system's primary measure over collections that differ in language; none where they do not."""
        results = [result for result in self.collections if result.scores is not None]
        languages = {result.language for result in results}
        if len(languages) < 2 or len(languages) < len(results) or "" in languages:
            return ()
        shared = [name for name in results[0].scores or () if all(name in (r.scores or ()) for r in results)]
        return tuple(language_spread(name, self.project.primary, results) for name in shared)


def language_spread(system: str, primary: str, results: Sequence[CollectionResult]) -> LanguageSpread:
    """Return a system's means by language, each language counting the same."""
    means = {r.language: r.scores[system].mean()[primary].value for r in results if r.scores is not None}
    return spread_of(system, means)
