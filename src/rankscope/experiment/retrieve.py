"""Asking a system: only what is missing, in calls that are the same whenever it is done, each answer written down."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from rankscope.errors import OptionError
from rankscope.experiment.journal import Journal
from rankscope.systems.answers import Answer, Answering, BadAnswerError, Clock, check_ranking, reason_of
from rankscope.systems.base import Query, RankedDocs, System

TIMED_QUERIES = 200
"""So many queries are asked one by one, which is how latency is measured; the others go in batches."""
BATCH = 64
WARM_UP = 3
"""The first calls after a start are slower, and marked as such."""
ATTEMPTS = 2
"""How often a query is tried with a system in this process."""

Told = Callable[[int], None]
"""Told how many queries have an answer or have failed."""


@dataclass(frozen=True, slots=True)
class Returned:
    """What one call gave."""

    answers: tuple[Answer, ...]
    seconds: float


def ask_missing(
    system: System, queries: Sequence[Query], journal: Journal, *, k: int, clock: Clock, told: Told = lambda _: None
) -> None:
    """Ask all queries that have no answer in the journal; those that failed before are asked again."""
    missing = [query for query in queries if query.id not in journal]
    n_before = len(queries) - len(missing)
    told(n_before)
    if not missing:
        return
    n_cold = max(WARM_UP, int(getattr(system, "concurrency", 1)))
    n_done = 0
    for n_calls, returned in enumerate(calls_of(system, queries, missing, k=k, clock=clock)):
        journal.add(returned.answers, seconds=returned.seconds, cold=n_calls < n_cold)
        n_done += len(returned.answers)
        told(n_before + n_done)


def calls_of(
    system: System, queries: Sequence[Query], missing: Sequence[Query], *, k: int, clock: Clock
) -> Iterator[Returned]:
    """Yield what each call gives: answer by answer where the system can, else by the plan."""
    if isinstance(system, Answering):
        yield from one_by_one(system.answers(missing, k=k), clock)
        return
    left = {query.id for query in missing}
    for group in plan(queries):
        wanted = [query for query in group if query.id in left]
        if len(wanted) == len(group):
            yield from group_call(system, wanted, k=k, clock=clock)
        else:
            for query in wanted:
                yield single_call(system, query, k=k, clock=clock)


def plan(queries: Sequence[Query]) -> Iterator[Sequence[Query]]:
    """Yield the calls to make: single queries first, then batches.

    They depend on the list of queries alone. So a run that was interrupted goes on with the very calls that it would
    have made, and a model whose last digits depend on the batch gives the same results.
    """
    for query in queries[:TIMED_QUERIES]:
        yield [query]
    for start in range(TIMED_QUERIES, len(queries), BATCH):
        yield queries[start : start + BATCH]


def one_by_one(answers: Iterator[Answer], clock: Clock) -> Iterator[Returned]:
    """Yield answers as calls of their own, with the time since the one before.

    As others may be on their way while one is written down, that counts as well.
    """
    last = clock()
    for answer in answers:
        now = clock()
        yield Returned((answer,), now - last)
        last = now


def group_call(system: System, group: Sequence[Query], *, k: int, clock: Clock) -> Iterator[Returned]:
    """Ask several queries at once; where that fails, one by one, so that one bad query does not take others along."""
    if len(group) == 1:
        yield single_call(system, group[0], k=k, clock=clock)
        return
    started = clock()
    try:
        rankings = searched(system, group, k=k)
    except (OptionError, MemoryError):
        raise
    except Exception:  # noqa: BLE001 (a system may be anybody's code)
        for query in group:
            yield single_call(system, query, k=k, clock=clock)
    else:
        seconds = clock() - started
        yield Returned(tuple(map(checked, group, rankings, [k] * len(group))), seconds)


def single_call(system: System, query: Query, *, k: int, clock: Clock) -> Returned:
    """Ask one query, once more where it fails, and time the attempt that gives an answer."""
    reason, seconds = "", 0.0
    for attempt in range(1, ATTEMPTS + 1):
        started = clock()
        try:
            ranking = searched(system, [query], k=k)[0]
            seconds = clock() - started
            return Returned((Answer(query.id, check_ranking(ranking, k=k), "", seconds, attempt),), seconds)
        except (OptionError, MemoryError):
            raise
        except Exception as error:  # noqa: BLE001 (as above)
            reason = reason_of(error)
            seconds = clock() - started
    return Returned((Answer(query.id, None, reason, n_attempts=ATTEMPTS),), seconds)


def searched(system: System, queries: Sequence[Query], *, k: int) -> Sequence[RankedDocs]:
    """Return one ranking per query."""
    rankings = system.search(queries, k=k)
    if len(rankings) != len(queries):
        raise BadAnswerError(f"{len(queries)} queries were asked, but {len(rankings)} rankings came back")
    return rankings


def checked(query: Query, ranking: RankedDocs, k: int) -> Answer:
    """Return the answer that a batch has for one query."""
    try:
        return Answer(query.id, check_ranking(ranking, k=k))
    except BadAnswerError as error:
        return Answer(query.id, None, reason_of(error))
