"""Retrieval: a system is asked only what is missing, in the same calls each time, and each answer is kept at once."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing

from msgspec.structs import replace

from rankscope.errors import OptionError, UnfinishedError
from rankscope.experiment.answer_store import AnswerLog
from rankscope.systems.answers import (
    Answer,
    Answering,
    BadAnswerError,
    Clock,
    UnreachableError,
    ask_all,
    must_stop,
    reason_of,
    without_leak,
)
from rankscope.systems.base import Query, RankedDocs, System
from rankscope.systems.rankings import read_ranking
from rankscope.systems.secrets import Secrets

TIMED_QUERIES = 200
"""So many queries are asked one by one, which is how latency is measured; the others go in batches."""
BATCH = 64
WARM_UP = 3
"""The first calls after a start are slower, and marked as such."""
ATTEMPTS = 2
"""How often a query is tried with a system in this process."""

CallResult = tuple[Sequence[Answer], float]
"""What one call gave, and how many seconds it took."""


def retrieve_missing(
    system: System,
    queries: Sequence[Query],
    log: AnswerLog,
    *,
    k: int,
    clock: Clock,
    secrets: Secrets | None = None,
    check: Callable[[Answer], Answer] = lambda answer: answer,
    on_note: Callable[[str], object] = str,
    stops_at_failure: bool = False,
) -> Iterator[int]:
    """Ask all queries that have no answer in the log; those that failed before are asked again.

    `check` returns an answer as it is, or as the failure that it is.

    Yields after each call how many queries have an answer or have failed. The first failure is handed on at once, or
    stops it. Where no query can ever be answered, which the first ones show, it is an UnreachableError.
    """
    missing = [query for query in queries if query.id not in log.summary.answered]
    tried = {query for query, answer in log.summary.failures.items() if answer.n_attempts}
    missing.sort(key=lambda query: query.id in tried)  # the first ones decide whether the others are asked at all
    n_done = len(queries) - len(missing)
    yield n_done
    n_side_by_side = getattr(system, "concurrency", 1)
    n_cold = max(WARM_UP, n_side_by_side) if isinstance(n_side_by_side, int) else WARM_UP
    first: Answer | None = None
    is_lost = False
    with closing(call_system(system, queries, missing, k=k, clock=clock)) as calls:  # a program ends with it
        for n_calls, (answers, seconds) in enumerate(calls):
            kept = [without_leak(check(answer), secrets or Secrets()) for answer in answers]
            log.add(kept, seconds=seconds, cold=n_calls < n_cold)
            is_lost |= any(answer.for_all for answer in kept)
            if first is None and (first := next((answer for answer in kept if answer.failed), None)) is not None:
                on_note(f"{system.name}: query {first.query_id!r} failed: {first.reason}")
            if stops_at_failure and first is not None and not is_lost:
                raise UnfinishedError(
                    f"{system.name}: the run stops, as query {first.query_id!r} failed: {first.reason}",
                    hint="what was answered is kept: run again to go on from there, or without --on-failure stop to "
                    "note failed queries and ask the others",
                )
            n_done += len(answers)
            yield n_done
    if is_lost and first is not None and not any(query.id in log.summary.answered for query in queries):
        raise UnreachableError(first.reason)


def call_system(
    system: System, queries: Sequence[Query], missing: Sequence[Query], *, k: int, clock: Clock
) -> Generator[CallResult, None, None]:
    """Yield what each call gives: answer by answer where the system can, else by the plan."""
    if isinstance(system, Answering):
        last = clock()
        with closing(ask_all(system, missing, k=k)) as answers:
            for answer in answers:
                now = clock()
                yield (checked_answer(answer, k=k),), now - last
                last = now  # others may be on their way while this one is written down, so that counts as well
        return
    left = {query.id for query in missing}
    for group in plan_calls(queries):
        wanted = [query for query in group if query.id in left]
        found = call_with_batch(system, wanted, k=k, clock=clock) if 1 < len(wanted) == len(group) else None
        if found is not None:
            yield found
        else:
            for query in wanted:
                yield call_with_one(system, query, k=k, clock=clock)


def plan_calls(queries: Sequence[Query]) -> Iterator[Sequence[Query]]:
    """Yield the calls to make: single queries first, then batches.

    They depend on the list of queries alone. So a run that was interrupted goes on with the very calls that it would
    have made, and a model whose last digits depend on the batch gives the same results.
    """
    for query in queries[:TIMED_QUERIES]:
        yield [query]
    for start in range(TIMED_QUERIES, len(queries), BATCH):
        yield queries[start : start + BATCH]


def call_with_batch(system: System, queries: Sequence[Query], *, k: int, clock: Clock) -> CallResult | None:
    """Ask several queries at once; None where that fails, as one bad query is not to take others along."""
    started = clock()
    try:
        rankings = search(system, queries, k=k)
    except OptionError:
        raise
    except Exception:  # noqa: BLE001 (a system may be anybody's code; `search` turns its sys.exit into one)
        return None
    seconds = clock() - started
    answers = (Answer(query.id, ranking) for query, ranking in zip(queries, rankings, strict=True))
    return [checked_answer(answer, k=k) for answer in answers], seconds


def checked_answer(answer: Answer, *, k: int) -> Answer:
    """Return an answer whose ranking is one; what is none is a failure, and so is whatever reading it does."""
    if answer.ranking is None and answer.reason:
        return answer
    try:
        return replace(answer, ranking=read_ranking(answer.ranking, k=k))
    except BaseException as error:
        if must_stop(error):
            raise
        return replace(answer, ranking=None, reason=reason_of(error), seconds=None)


def call_with_one(system: System, query: Query, *, k: int, clock: Clock) -> CallResult:
    """Ask one query, once more where it fails, and time the attempt that gives an answer."""
    answer, seconds = Answer(query.id, None), 0.0
    for attempt in range(1, ATTEMPTS + 1):
        started = clock()
        try:
            ranking = search(system, [query], k=k)[0]
            seconds = clock() - started
            answer = checked_answer(Answer(query.id, ranking, "", seconds, attempt), k=k)
        except OptionError:
            raise
        except Exception as error:  # noqa: BLE001 (as above)
            seconds = clock() - started
            answer = Answer(query.id, None, reason_of(error), n_attempts=attempt)
        if not answer.failed:
            break
    return (answer,), seconds


def search(system: System, queries: Sequence[Query], *, k: int) -> Sequence[RankedDocs]:
    try:
        rankings = system.search(queries, k=k)
        n_rankings = len(rankings)
    except BaseException as error:
        if isinstance(error, Exception) or must_stop(error):
            raise
        raise BadAnswerError(f"the system ended itself: {reason_of(error)}") from error  # sys.exit, for example
    if n_rankings != len(queries):
        raise BadAnswerError(f"{len(queries)} queries were asked, but {n_rankings} rankings came back")
    return rankings
