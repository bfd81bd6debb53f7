"""Where the answers of systems are kept, so that nothing is asked twice: the interface, whatever is behind it.

Answers are found by a fingerprint, which stands for all that they depend on: the system with its options, docs,
queries, and how many docs are asked for. `rankscope.experiment.journal` keeps them in files.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from typing import Protocol

import msgspec
from msgspec import field

from rankscope.records import Record
from rankscope.systems.answers import Answer
from rankscope.systems.base import RankedDocs


class SystemCall(Record):
    """One time that a system was asked."""

    n_queries: int
    seconds: float
    """How long it took; of calls at the same time, since the one before came back."""
    cold: bool = False
    """Whether it was among the first since the system was started, which are slower."""


class IndexCost(Record):
    """What indexing took."""

    seconds: float
    index_bytes: int


class AnswerInfo(Record):
    """What is known of an answer besides its ranking."""

    seconds: float | None
    n_attempts: int
    cold: bool
    at: str = ""
    """When it came, as ISO 8601 in UTC, to the microsecond."""
    shared_with: tuple[str, ...] = ()
    """Other systems that the same request was sent for."""
    beside: int = 0
    """How many other systems were asked at the same time by other workers, so that its time says less."""


class AnswerSummary(msgspec.Struct):
    """What a log holds, without the rankings themselves."""

    answered: dict[str, AnswerInfo] = field(default_factory=dict)
    """The answers, by query."""
    failures: dict[str, Answer] = field(default_factory=dict)
    """Queries that are without an answer so far."""
    calls: list[SystemCall] = field(default_factory=list)
    fit: IndexCost | None = None
    memory_bytes: int | None = None
    """The most that was ever taken up."""
    notes: list[str] = field(default_factory=list)
    """What was found amiss with answers of earlier runs."""

    def note_answer(self, answer: Answer, *, cold: bool, at: str | None = None, beside: int = 0) -> None:
        """Take in one answer that came at some time, or now; one that failed and was answered later is answered."""
        if answer.ranking is not None:
            self.failures.pop(answer.query_id, None)
            when = datetime.now(UTC).isoformat(timespec="microseconds") if at is None else at
            self.answered[answer.query_id] = AnswerInfo(
                answer.seconds, answer.n_attempts, cold, when, answer.shared_with, beside
            )
        elif answer.query_id not in self.answered:
            self.failures[answer.query_id] = answer


class AnswerLog(Protocol):
    """The answers of one system to the queries of one collection."""

    @property
    def summary(self) -> AnswerSummary:
        """What has been answered so far, by this or an earlier run."""

    def ranking(self, query: str) -> RankedDocs:
        """Return the answer to a query that is answered."""

    def add(self, answers: Sequence[Answer], *, seconds: float, cold: bool = False) -> None:
        """Keep what came back from one call, all of it or nothing, before this returns."""

    def add_fit(self, fit: IndexCost) -> None: ...

    def add_memory(self, n_bytes: int) -> None: ...


class TunedWeights(Record):
    """Weights that were tuned, and what all that were tried have scored."""

    weights: tuple[float, ...]
    trials: tuple[tuple[tuple[float, ...], float | None], ...]
    """Weights with their score; None where it is undefined."""


class AnswerStore(Protocol):
    """The answers of all systems to the queries of one collection."""

    def open(self, system: str, fingerprint: str, repetition: int = 1) -> AbstractContextManager[AnswerLog]:
        """Return the log of a system, with what was answered before; nobody else can add to it meanwhile.

        A system that is asked all queries several times has a log for each repetition.
        """

    def get_tuned(self, system: str, fingerprint: str) -> TunedWeights | None:
        """Return weights that were tuned before, for the same systems, queries and judgments."""

    def put_tuned(self, system: str, fingerprint: str, tuned: TunedWeights) -> None: ...

    def forget(self, systems: Iterable[str]) -> None:
        """Throw away all that is kept of some systems."""
