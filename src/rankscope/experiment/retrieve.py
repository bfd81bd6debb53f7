"""Retrieval: a system is asked only what is missing, in the same calls each time, and each answer is kept at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from rankscope.errors import IdError, OptionError
from rankscope.experiment.answer_store import AnswerLog
from rankscope.io.write import check_encodable
from rankscope.systems.answers import Answer, Answering, BadAnswerError, Clock, check_ranking, reason_of
from rankscope.systems.base import Query, RankedDocs, System

TIMED_QUERIES = 200
"""So many queries are asked one by one, which is how latency is measured; the others go in batches."""
BATCH = 64
WARM_UP = 3
"""The first calls after a start are slower, and marked as such."""
ATTEMPTS = 2
"""How often a query is tried with a system in this process."""
ANY_FAULT = (Exception, SystemExit)
"""What fails a query and nothing else: a system may be anybody's code, and code that calls sys.exit is none of ours."""

CallResult = tuple[Sequence[Answer], float]
"""What one call gave, and how many seconds it took."""


def retrieve_missing(
    system: System, queries: Sequence[Query], log: AnswerLog, *, k: int, clock: Clock
) -> Iterator[int]:
    """Ask all queries that have no answer in the log; those that failed before are asked again.

    Yields after each call how many queries have an answer or have failed.
    """
    missing = [query for query in queries if query.id not in log.summary.answered]
    n_done = len(queries) - len(missing)
    yield n_done
    n_cold = max(WARM_UP, int(getattr(system, "concurrency", 1)))
    for n_calls, (answers, seconds) in enumerate(call_system(system, queries, missing, k=k, clock=clock)):
        log.add(answers, seconds=seconds, cold=n_calls < n_cold)
        n_done += len(answers)
        yield n_done


def call_system(
    system: System, queries: Sequence[Query], missing: Sequence[Query], *, k: int, clock: Clock
) -> Iterator[CallResult]:
    """Yield what each call gives: answer by answer where the system can, else by the plan."""
    if isinstance(system, Answering):
        yield from take_answers(system, missing, k=k, clock=clock)
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


def take_answers(system: Answering, queries: Sequence[Query], *, k: int, clock: Clock) -> Iterator[CallResult]:
    """Yield answers as they come; where the system breaks down or says no more, the queries that are left fail."""
    left = dict.fromkeys(query.id for query in queries)
    reason = "no answer came"
    last = clock()
    try:
        for answer in system.answers(queries, k=k):
            if answer.query_id not in left:
                raise BadAnswerError(f"an answer came to {answer.query_id!r}, which was not asked, or not again")
            del left[answer.query_id]
            now = clock()
            yield (checked_answer(answer, k=k),), now - last
            last = now  # others may be on their way while this one is written down, so that counts as well
    except (OptionError, MemoryError):
        raise
    except ANY_FAULT as error:
        reason = reason_of(error)
    for query in left:
        yield (failed_answer(query, reason),), 0.0


def checked_answer(answer: Answer, *, k: int) -> Answer:
    """Return an answer that can be written down; what cannot be is a failure."""
    if answer.ranking is None:
        reason = answer.reason or "nothing came back instead of a ranking"
        return failed_answer(answer.query_id, reason, n_attempts=answer.n_attempts)
    try:
        ranking = check_ranking(answer.ranking, k=k)
        check_encodable((doc for doc, _ in ranking), what="doc")
    except IdError as error:
        reason = error.message.removesuffix(", which this format cannot hold")
        return failed_answer(answer.query_id, reason, n_attempts=answer.n_attempts)
    except MemoryError:
        raise
    except ANY_FAULT as error:
        return failed_answer(answer.query_id, reason_of(error), n_attempts=answer.n_attempts)
    return msgspec.structs.replace(answer, ranking=ranking)


def failed_answer(query: str, reason: str, *, n_attempts: int = 1) -> Answer:
    """Return a failure; its reason is what a system said, so it may hold what is no Unicode."""
    return Answer(query, None, reason.encode("utf-8", "backslashreplace").decode(), n_attempts=n_attempts)


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
    except (OptionError, MemoryError):
        raise
    except ANY_FAULT:
        return None
    seconds = clock() - started
    answers = (Answer(query.id, ranking) for query, ranking in zip(queries, rankings, strict=True))
    return [checked_answer(answer, k=k) for answer in answers], seconds


def call_with_one(system: System, query: Query, *, k: int, clock: Clock) -> CallResult:
    """Ask one query, once more where it fails, and time the attempt that gives an answer."""
    answer, seconds = failed_answer(query.id, ""), 0.0
    for attempt in range(1, ATTEMPTS + 1):
        started = clock()
        try:
            ranking = search(system, [query], k=k)[0]
            seconds = clock() - started
            answer = checked_answer(Answer(query.id, ranking, "", seconds, attempt), k=k)
        except (OptionError, MemoryError):
            raise
        except ANY_FAULT as error:
            seconds = clock() - started
            answer = failed_answer(query.id, reason_of(error), n_attempts=attempt)
        if not answer.failed:
            break
    return (answer,), seconds


def search(system: System, queries: Sequence[Query], *, k: int) -> Sequence[RankedDocs]:
    rankings = system.search(queries, k=k)
    if len(rankings) != len(queries):
        raise BadAnswerError(f"{len(queries)} queries were asked, but {len(rankings)} rankings came back")
    return rankings
