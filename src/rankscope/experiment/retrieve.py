"""Retrieval: a system is asked only what is missing, in the same calls each time, and each answer is kept at once."""

from __future__ import annotations

from collections.abc import Callable, Container, Generator, Iterator, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, cast

from msgspec.structs import replace

from rankscope.errors import OptionError, UnfinishedError
from rankscope.experiment.answer_store import AnswerLog
from rankscope.records import Record
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

if TYPE_CHECKING:
    from rankscope.systems.http import Http

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
    asked: Container[str] = (),
    sharers: Sequence[Sharer] = (),
    repeats: bool = False,
) -> Iterator[int]:
    """Ask all queries that have no answer in the log; those that failed before are asked again.

    `check` returns an answer as it is, or as the failure that it is. An answer that lists a doc twice is a failure
    unless `repeats` says otherwise.

    Yields after each call how many queries have an answer or have failed. The first failure is handed on at once, or
    stops it. Where no query can ever be answered, which the first ones show, it is an UnreachableError. Queries that
    have been `asked` are not asked again; `sharers` take their answers from the same requests.
    """
    missing = [query for query in queries if query.id not in log.summary.answered and query.id not in asked]
    tried = {query for query, answer in log.summary.failures.items() if answer.n_attempts}
    missing.sort(key=lambda query: query.id in tried)  # the first ones decide whether the others are asked at all
    n_done = len(queries) - len(missing)
    yield n_done
    n_side_by_side = getattr(system, "concurrency", 1)
    n_cold = max(WARM_UP, n_side_by_side) if isinstance(n_side_by_side, int) else WARM_UP
    first: dict[str, Answer] = {}
    is_lost = False
    others = [sharer.system for sharer in sharers]
    with closing(call_system(system, queries, missing, k=k, clock=clock, others=others, repeats=repeats)) as calls:
        for n_calls, (answers, seconds) in enumerate(calls):  # closing it ends a program
            kept = [without_leak(check(answer), secrets or Secrets()) for answer in answers]
            log.add(kept, seconds=seconds, cold=n_calls < n_cold)
            is_lost |= any(answer.for_all for answer in kept)
            by_system = {system.name: kept}
            by_system |= {sharer.name: [check(answer) for answer in sharer.answers_in(kept)] for sharer in sharers}
            for sharer in sharers:
                if by_system[sharer.name]:
                    sharer.log.add(by_system[sharer.name], seconds=seconds, cold=n_calls < n_cold)
            for name, own in by_system.items():
                failed = next((answer for answer in own if answer.failed), None)
                if failed is None or name in first:
                    continue
                first[name] = failed
                on_note(f"{name}: query {failed.query_id!r} failed: {failed.reason}")
                if stops_at_failure and not is_lost:
                    raise UnfinishedError(
                        f"{name}: the run stops, as query {failed.query_id!r} failed: {failed.reason}",
                        hint="what was answered is kept: run again to go on from there, or without --on-failure stop "
                        "to note failed queries and ask the others",
                    )
            n_done += len(answers)
            yield n_done
    if is_lost and system.name in first and not any(query.id in log.summary.answered for query in queries):
        raise UnreachableError(first[system.name].reason)


class Sharer(Record, eq=False):
    """A system that takes its answers from the requests of another one, and its log."""

    system: Http
    log: AnswerLog
    asked: set[str]
    """The queries that were asked for it."""

    @property
    def name(self) -> str:
        return self.system.name

    def answers_in(self, answers: Sequence[Answer]) -> list[Answer]:
        """Return its own answers, but for queries that it has one for already."""
        own = [answer.others[self.name] for answer in answers if self.name in answer.others]
        self.asked.update(answer.query_id for answer in own)
        return [answer for answer in own if answer.query_id not in self.log.summary.answered]


def call_system(
    system: System,
    queries: Sequence[Query],
    missing: Sequence[Query],
    *,
    k: int,
    clock: Clock,
    others: Sequence[Http] = (),
    repeats: bool = False,
) -> Generator[CallResult, None, None]:
    """Yield what each call gives: answer by answer where the system can, else by the plan."""
    if isinstance(system, Answering):
        asked: Answering = system
        if others:
            from rankscope.systems.http import SharedRequests

            asked = SharedRequests([cast("Http", system), *others])
        last = clock()
        with closing(ask_all(asked, missing, k=k)) as answers:
            for answer in answers:
                now = clock()
                yield (checked_answer(answer, k=k, repeats=repeats),), now - last
                last = now  # others may be on their way while this one is written down, so that counts as well
        return
    left = {query.id for query in missing}
    for group in plan_calls(queries):
        wanted = [query for query in group if query.id in left]
        found = (
            call_with_batch(system, wanted, k=k, clock=clock, repeats=repeats)
            if 1 < len(wanted) == len(group)
            else None
        )
        if found is not None:
            yield found
        else:
            for query in wanted:
                yield call_with_one(system, query, k=k, clock=clock, repeats=repeats)


def plan_calls(queries: Sequence[Query]) -> Iterator[Sequence[Query]]:
    """Yield the calls to make: single queries first, then batches.

    They depend on the list of queries alone. So a run that was interrupted goes on with the very calls that it would
    have made, and a model whose last digits depend on the batch gives the same results.
    """
    for query in queries[:TIMED_QUERIES]:
        yield [query]
    for start in range(TIMED_QUERIES, len(queries), BATCH):
        yield queries[start : start + BATCH]


def call_with_batch(
    system: System, queries: Sequence[Query], *, k: int, clock: Clock, repeats: bool
) -> CallResult | None:
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
    return [checked_answer(answer, k=k, repeats=repeats) for answer in answers], seconds


def checked_answer(answer: Answer, *, k: int, repeats: bool) -> Answer:
    """Return an answer whose ranking is one; what is none is a failure, and so is whatever reading it does."""
    if answer.others:
        others = {name: checked_answer(other, k=k, repeats=repeats) for name, other in answer.others.items()}
        return replace(checked_answer(replace(answer, others={}), k=k, repeats=repeats), others=others)
    if answer.ranking is None and answer.reason:
        return answer
    try:
        return replace(answer, ranking=read_ranking(answer.ranking, k=k, repeats=repeats))
    except BaseException as error:
        if must_stop(error):
            raise
        return replace(answer, ranking=None, reason=reason_of(error), seconds=None)


def call_with_one(system: System, query: Query, *, k: int, clock: Clock, repeats: bool) -> CallResult:
    """Ask one query, once more where it fails, and time the attempt that gives an answer."""
    answer, seconds = Answer(query.id, None), 0.0
    for attempt in range(1, ATTEMPTS + 1):
        started = clock()
        try:
            ranking = search(system, [query], k=k)[0]
            seconds = clock() - started
            answer = checked_answer(Answer(query.id, ranking, "", seconds, attempt), k=k, repeats=repeats)
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
