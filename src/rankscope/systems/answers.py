"""Answers that come one by one, and may fail: what systems that are asked over a network or a pipe give back."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol, runtime_checkable

import msgspec
import numpy as np

from rankscope.errors import IdError, InputError, shorten
from rankscope.io.ids import as_id
from rankscope.systems.base import OptionSystem, Query, RankedDocs, best_first

Clock = Callable[[], float]
"""Returns seconds, from some point on."""


class BadAnswerError(InputError):
    """An answer that is no ranking: not readable, of another shape, with scores that are no numbers."""


class Answer(msgspec.Struct, frozen=True):
    """What came back for one query: a ranking, or the reason why there is none."""

    query_id: str
    ranking: RankedDocs | None
    reason: str = ""
    """Why there is no ranking; empty where there is one."""
    seconds: float | None = None
    """How long the attempt took that gave the answer; None where that is unknown."""
    n_attempts: int = 1

    @property
    def failed(self) -> bool:
        return self.ranking is None


@runtime_checkable
class Answering(Protocol):
    """A system that hands out each answer as it comes; a query that fails does not stop the others."""

    def answers(self, queries: Sequence[Query], *, k: int) -> Iterator[Answer]:
        """Yield one answer for each query, in whatever order they come."""


class RemoteSystem(OptionSystem, kw_only=True):
    """A system that has its own docs elsewhere: nothing is indexed, and each query may fail by itself."""

    def answers(self, queries: Sequence[Query], *, k: int) -> Iterator[Answer]:
        raise NotImplementedError

    def rank(self, queries: Sequence[Query], *, k: int) -> Sequence[RankedDocs]:
        """Return a ranking for each query; the first query that fails is an error."""
        found: dict[str, RankedDocs] = {}
        for answer in self.answers(queries, k=k):
            if answer.ranking is None:
                raise InputError(
                    f"{self.name} did not answer query {answer.query_id!r}: {answer.reason}",
                    hint="`rankscope run` notes such queries and goes on with the others",
                )
            found[answer.query_id] = answer.ranking
        return [found[query.id] for query in queries]


def check_ranking(pairs: Iterable[Any], *, k: int) -> RankedDocs:
    """Return (doc, score) pairs as a ranking, best first and cut at k; refuse what is none, saying why."""
    ranking: dict[str, float] = {}
    for pair in pairs:
        if isinstance(pair, str | bytes) or not isinstance(pair, Sequence) or len(pair) != 2:
            raise BadAnswerError(f"{shorten(repr(pair))} is no pair of a doc and a score")
        try:
            doc = as_id(pair[0], what="the id of a doc")
        except IdError as error:
            raise BadAnswerError(error.message) from None
        score = pair[1]
        is_number = isinstance(score, int | float | np.integer | np.floating) and not isinstance(score, bool)
        if not is_number or not math.isfinite(score):
            raise BadAnswerError(f"the score of doc {doc!r} is {shorten(repr(score))}, which is no number")
        if doc in ranking:
            raise BadAnswerError(f"doc {doc!r} is there twice")
        ranking[doc] = float(score)
    return best_first(ranking, k)


def by_position(docs: Sequence[Any], *, k: int) -> RankedDocs:
    """Return docs that came without scores as a ranking: the score is 1 / rank."""
    return check_ranking([(doc, 1 / rank) for rank, doc in enumerate(docs, 1)], k=k)


def reason_of(error: BaseException) -> str:
    message = error.message if isinstance(error, InputError) else str(error)
    line = shorten(" ".join(message.split()), limit=300)
    return line if isinstance(error, InputError) else f"{type(error).__name__}: {line}".removesuffix(": ")
