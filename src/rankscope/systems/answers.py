"""Answers that come one by one, and may fail: what systems that are asked over a network or a pipe give back."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Protocol, runtime_checkable

import msgspec
import numpy as np
from msgspec.structs import replace

from rankscope.align.reference import best_first_order
from rankscope.errors import IdError, InputError, OptionError, shorten
from rankscope.io.ids import as_id
from rankscope.printable import printable
from rankscope.systems.base import OptionSystem, Query, RankedDocs
from rankscope.systems.secrets import Secrets

LARGEST_ANSWER_BYTES = 1 << 27
"""An answer that is longer, over HTTP or in what a program prints for a query, is refused while it arrives."""

_END = object()
Clock = Callable[[], float]
"""Returns seconds, from some point on."""


class BadAnswerError(InputError):
    """An answer that is no ranking or no vectors: not readable, of another shape, with scores that are no numbers."""


class UnreachableError(OptionError, InputError):
    """No query can be answered: nobody is there, the address is wrong, or the program cannot be started."""


class Answer(msgspec.Struct, frozen=True):
    """What came back for one query: a ranking, or the reason why there is none."""

    query_id: str
    ranking: RankedDocs | None
    reason: str = ""
    """Why there is no ranking; empty where there is one."""
    seconds: float | None = None
    """How long the attempt took that gave the answer; None where that is unknown."""
    n_attempts: int = 1
    for_all: bool = False
    """Whether it failed in a way that every other query would."""
    shared_with: tuple[str, ...] = ()
    """Other systems that the same request was sent for."""
    others: Mapping[str, Answer] = {}
    """What those took out of the same reply, by system."""
    facts: Mapping[str, Any] = {}
    """What else was said, for people; it is shown and not kept."""

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
            if answer.for_all:
                raise UnreachableError(f"{self.name} cannot be asked: {answer.reason}")
            if answer.ranking is None:
                raise InputError(
                    f"{self.name} did not answer query {answer.query_id!r}: {answer.reason}",
                    hint="`rankscope run` notes such queries and goes on with the others",
                )
            found[answer.query_id] = answer.ranking
        return [found[query.id] for query in queries]


def ask_all(system: Answering, queries: Sequence[Query], *, k: int) -> Generator[Answer, None, None]:
    """Yield one answer for each query, whatever the system does: what it raises or leaves out fails those left."""
    left = {query.id: None for query in queries}
    reason = "the system gave no answer for it"
    answers: Any = None
    try:
        while True:
            try:  # what the system does, apart from what is done with its answers: closing this is no fault of it
                answers = iter(system.answers(queries, k=k)) if answers is None else answers
                answer = next(answers, _END)
            except OptionError:
                raise
            except BaseException as error:
                if must_stop(error):
                    raise
                reason = reason_of(error)
                break
            if answer is _END:
                break
            if not isinstance(answer, Answer) or answer.query_id not in left:
                reason = f"the system answered with {shown(answer)}, which is no answer to a query that it was asked"
                break
            del left[answer.query_id]
            yield answer
    finally:
        with suppress(Exception, SystemExit, GeneratorExit):  # there is nothing left to fail
            getattr(answers, "close", lambda: None)()
    yield from (Answer(query, None, reason) for query in left)


def must_stop(error: BaseException) -> bool:
    """Tell whether an error ends the whole run: Ctrl-C does, but nothing else that a system raises."""
    return type(error) is KeyboardInterrupt


def without_leak(answer: Answer, secrets: Secrets) -> Answer:
    """Return an answer as it may be written down: without what came from the environment."""
    if answer.others:
        others = {name: without_leak(other, secrets) for name, other in answer.others.items()}
        return replace(without_leak(replace(answer, others={}), secrets), others=others)
    if answer.ranking is None:
        return replace(answer, reason=printable(secrets.hide(answer.reason))) if answer.reason else answer
    name = secrets.found_in([doc for doc, _ in answer.ranking])
    if name is None:
        return answer
    reason = f"the answer holds the environment variable {name} among the ids of docs, and is not written down"
    return replace(answer, ranking=None, reason=reason)


def check_ranking(pairs: Iterable[Any], *, k: int, repeats: bool = False) -> RankedDocs:
    """Return (doc, score) pairs as a ranking, best first and cut at k; refuse what is none, saying why.

    With `repeats` a doc may be listed twice: its later rows stay, and never stand above its first one.
    """
    first: dict[str, float] = {}
    rows: list[tuple[str, float]] = []
    for pair in pairs:
        if isinstance(pair, str | bytes) or not isinstance(pair, Sequence) or len(pair) != 2:
            raise BadAnswerError(f"{shown(pair)} is no pair of a doc and a score")
        doc = doc_id(pair[0])
        score = pair[1]
        is_number = isinstance(score, int | float | np.integer | np.floating) and not isinstance(score, bool)
        try:
            if not is_number or not math.isfinite(score):
                raise BadAnswerError(f"the score of doc {doc!r} is {shown(score)}, which is no number")
        except OverflowError:
            raise BadAnswerError(f"the score of doc {doc!r} is larger than any score can be") from None
        if doc in first and not repeats:
            raise BadAnswerError(f"doc {doc!r} is there twice")
        rows.append((doc, float(score)))
        first.setdefault(doc, rows[-1][1])
    places = np.array([min(score, first[doc]) for doc, score in rows], dtype=np.float64)
    return [rows[i] for i in best_first_order([doc for doc, _ in rows], places)[:k].tolist()]


def doc_id(value: Any) -> str:
    """Return an id as text; one that cannot be written to a file is refused."""
    try:
        doc = as_id(value, what="the id of a doc")
        doc.encode("utf-8", "surrogateescape")
    except IdError as error:
        raise BadAnswerError(shorten(error.message)) from None
    except UnicodeEncodeError:
        raise BadAnswerError(f"the id {shown(value)} of a doc holds half a character, a lone surrogate") from None
    except ValueError:  # a whole number of thousands of digits
        raise BadAnswerError("the id of a doc is a number too long to be written") from None
    return doc


def shown(value: Any, *, limit: int = 120) -> str:
    """Return a value as an error shows it, whatever it is."""
    try:
        return shorten(repr(value), limit=limit)
    except BaseException as error:  # anybody's object, and nested lists without end
        if must_stop(error):
            raise
        return f"a {type(value).__name__} that cannot be shown ({type(error).__name__})"


def by_position(docs: Sequence[Any], *, k: int, repeats: bool = False) -> RankedDocs:
    """Return docs that came without scores as a ranking: the score is 1 / rank."""
    return check_ranking([(doc, 1 / rank) for rank, doc in enumerate(docs, 1)], k=k, repeats=repeats)


def reason_of(error: BaseException) -> str:
    """Return in one line what went wrong, as it can be written to any file."""
    try:
        message = error.message if isinstance(error, InputError) else str(error)
    except BaseException as fault:  # an error of somebody's own may fail to say what it is, or end the process
        if must_stop(fault):
            raise
        message = ""
    if isinstance(error, MemoryError):
        message = message or "there was not enough memory"
    plain = message.encode("utf-8", "backslashreplace").decode()
    line = shorten(" ".join(plain.split()), limit=300)
    return line if isinstance(error, InputError) else f"{type(error).__name__}: {line}".removesuffix(": ")
