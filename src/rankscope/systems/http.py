"""Any search that answers over HTTP with JSON."""

from __future__ import annotations

import http.client
import json
import random
import socket
import ssl
import threading
import time
import urllib.parse
from collections.abc import Generator, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from functools import partial
from itertools import islice
from typing import Annotated, Any, ClassVar

from msgspec.structs import replace

from rankscope.errors import OptionError, shorten
from rankscope.systems.answers import (
    Answer,
    BadAnswerError,
    Clock,
    RemoteSystem,
    by_position,
    check_ranking,
    reason_of,
    without_leak,
)
from rankscope.systems.base import Query, RankedDocs
from rankscope.systems.options import NO_EFFECT, AboveZero, AtLeastOne, AtLeastZero, options_in
from rankscope.systems.secrets import FromEnvironment, secrets_in, url_without_secrets, without_secrets
from rankscope.systems.templates import fill, fill_data, parse_path, values_of
from rankscope.systems.transport import (
    HttpReply,
    HttpRequest,
    NobodyThereError,
    Transport,
    check_address,
    check_request_options,
    check_secrets_stay_private,
)

_TRY_AGAIN = frozenset({408, 425, 429, *range(500, 600)})
_LONGEST_WAIT_S = 120.0
"""A server that asks to wait longer is taken at its word: the query fails at once."""
_IN_A_ROW = 50
"""After so many queries in a row that failed, the others are not asked any more."""
_FIRST_QUERIES = 3
"""Where so many are refused in the same way before any is answered, all would be."""
_FIRST_ATTEMPTS = 2
"""How often somebody is looked for who has not been there yet."""
_SILENT_S = 5.0
"""Where the first query has no answer by then, the second one is asked beside it, to see whether anybody answers."""
_NOBODY_THERE = (ConnectionRefusedError, NobodyThereError, socket.gaierror, ssl.SSLError)
_WRONG_ADDRESS = frozenset({*range(300, 400), 401, 403, 404, 405, 407, 410})
_SENT = ("url", "headers", "body", "query", "allow_plain_http")
_TAKEN = frozenset({"ids", "scores", "shows"})
"""The options that say what is taken from a reply, and nothing of what is sent."""
_percent_encode = partial(urllib.parse.quote, safe="")


class RefusedError(BadAnswerError):
    """The server said no, and would say so again."""

    def __init__(self, message: str, *, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


class BusyError(BadAnswerError):
    """The server said no for now; it may say how long to wait."""

    def __init__(self, message: str, *, wait_s: float | None) -> None:
        super().__init__(message)
        self.wait_s = wait_s


class HttpSystem(RemoteSystem, kw_only=True):
    """What systems that are asked over HTTP share: queries go out side by side, and again where they fail."""

    url: str
    """The address."""
    headers: Mapping[str, str] = {}
    """Further headers; ${NAME} takes a secret from the environment."""
    concurrency: Annotated[AtLeastOne, NO_EFFECT] = 4
    """How many queries are asked at the same time; latency is measured under this load."""
    rate: Annotated[AboveZero | None, NO_EFFECT] = None
    """The most requests per second."""
    attempts: Annotated[AtLeastOne, NO_EFFECT] = 4
    """How often a query is asked before it counts as failed."""
    backoff_s: Annotated[AtLeastZero, NO_EFFECT] = 0.5
    """How long to wait after the first failure, in seconds; it doubles each time."""
    timeout_s: Annotated[AboveZero, NO_EFFECT] = 30.0
    """How long one answer may take, in seconds, from opening the connection to the last byte."""
    allow_plain_http: Annotated[bool, NO_EFFECT] = False
    """Whether secrets may be sent without encryption to another machine."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.clock: Clock = time.perf_counter
        self.n_silent = 0
        """How many batches began in silence."""
        self.is_heard = False
        """Whether the server has ever replied."""

    @classmethod
    def check_given(cls, given: Mapping[str, Any]) -> None:
        url = given.get("url")
        if url is not None:
            check_address(url, what="url")
            check_secrets_stay_private(url, given)
        check_request_options(given.get("method"), given.get("headers") or {})

    def request_of(self, query: Query, *, k: int) -> HttpRequest:
        raise NotImplementedError

    def ranking_of(self, content: Any, *, k: int) -> RankedDocs:
        raise NotImplementedError

    def facts_of(self, content: Any) -> Mapping[str, Any]:  # noqa: ARG002 (for those that know more)
        """Return what else a reply says, for people: what the query was taken for, terms that were added to it."""
        return {}

    @property
    def address(self) -> str:
        """The address as it may be shown: what comes from the environment stands there by its name."""
        return self.url.written if isinstance(self.url, FromEnvironment) else url_without_secrets(self.url)

    def describe(self) -> dict[str, Any]:
        described = super().describe()
        hidden = {name: without_secrets(described[name]) for name in described if name in ("headers", "body", "query")}
        return {**described, **hidden, "url": url_without_secrets(self.url)}

    def answers(self, queries: Sequence[Query], *, k: int) -> Iterator[Answer]:
        return SharedRequests([self]).answers(queries, k=k)

    @property
    def option_values(self) -> dict[str, Any]:
        return {option.name: getattr(self, option.field) for option in options_in(type(self)).values()}

    def _request(
        self, method: str | None, address: str, values: Mapping[str, Any], body: bytes | None, content_type: str
    ) -> HttpRequest:
        headers: dict[str, str | bytes] = {"Accept": "application/json"}
        if body is not None:
            headers["Content-Type"] = content_type
        for name, text in self.headers.items():  # a line end would begin another header
            line = " ".join(fill(text, values).split())
            try:
                headers[name] = line if line.isascii() else line.encode()
            except UnicodeEncodeError:
                raise RefusedError(f"the header {name} would hold half a character, a lone surrogate") from None
        url = fill(address, values, escape=_percent_encode)
        if url != address:
            try:
                check_secrets_stay_private(url, {name: getattr(self, name, None) for name in _SENT})
            except OptionError as error:
                raise RefusedError(error.message) from None
        return HttpRequest(method or ("GET" if body is None else "POST"), url, headers, body)


class Http(HttpSystem, kw_only=True):
    """Asks a JSON API: address, headers and body are templates, and paths lead to ids and scores in the answer.

    `{query}`, `{query_id}`, `{k}` and attributes of the query are filled in: percent-encoded in the address, as JSON in
    a body of JSON. A query that fails is asked again after a while that doubles each time, or that the server asks for.
    """

    kind: ClassVar[str] = "http"
    url: str
    """The address, e.g. http://localhost:8000/search?q={query}&n={k}."""
    ids: str = "$[*].id"
    """The path to the ids of the docs, best first, such as $.results[*].id."""
    scores: str | None = None
    """The path to their scores, higher being better; without it the order counts."""
    method: str | None = None
    """GET, or POST where there is a body; or any other."""
    body: str | Mapping[str, Any] | None = None
    """What is sent: a table becomes JSON; a text is JSON where it begins like it, else a form such as q={query}."""
    shows: Annotated[Mapping[str, str], NO_EFFECT] = {}
    """What else of the answer the live page shows, by name, as paths, such as { intent = "$.intent.label" }."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._shows = {name: parse_path(path, what=f"shows.{name}") for name, path in self.shows.items()}
        self._ids = parse_path(self.ids, what="ids")
        self._scores = None if self.scores is None else parse_path(self.scores, what="scores")

    def sends_requests_of(self, other: Http) -> bool:
        """Tell whether two systems send the same requests at the same pace, so that one can be sent for both."""
        sent = [
            {**system.option_values, "method": system.method or ("GET" if system.body is None else "POST")}
            for system in (self, other)
        ]
        return all(sent[0][name] == sent[1][name] for name in sent[0] if name not in _TAKEN)

    def request_of(self, query: Query, *, k: int) -> HttpRequest:
        values = values_of(query, k=k)
        body, content_type = None, "application/json"
        if self.body is not None and not isinstance(self.body, str):
            body = json.dumps(fill_data(self.body, values)).encode()
        elif self.body is not None and self.body.lstrip().startswith(("{", "[")):
            body = fill(self.body, values, escape=lambda text: json.dumps(text)[1:-1], is_json=True).encode()
        elif self.body is not None:
            body = fill(self.body, values, escape=_percent_encode).encode()
            content_type = "application/x-www-form-urlencoded"
        return self._request(self.method, self.url, values, body, content_type)

    def ranking_of(self, content: Any, *, k: int) -> RankedDocs:
        docs = self._ids.values(content)
        if self._scores is None:
            return by_position(docs, k=k, repeats=self.keeps_repeats)
        scores = self._scores.values(content)
        if len(scores) != len(docs):
            raise BadAnswerError(f"the answer has {len(docs)} ids, but {len(scores)} scores")
        return check_ranking(zip(docs, scores, strict=True), k=k, repeats=self.keeps_repeats)

    def facts_of(self, content: Any) -> Mapping[str, Any]:
        found = {}
        for name, path in self._shows.items():
            with suppress(BadAnswerError):  # not every answer has everything
                found[name] = path.values(content)
        return found


class SharedRequests:
    """Systems that send the same requests: each is sent once, and every system takes its own part of the reply.

    Answers are those of the first system, with those of the others in them. A query is asked again while one of them
    has no answer to it.
    """

    def __init__(self, systems: Sequence[HttpSystem]) -> None:
        self._systems = systems

    def answers(self, queries: Sequence[Query], *, k: int) -> Iterator[Answer]:
        secrets = secrets_in(*(system.option_values for system in self._systems))
        with secrets.kept_out_of_errors():
            for answer in HttpBatch(self._systems, k=k).answers(queries):
                yield without_leak(answer, secrets)


class HttpBatch:
    """One batch of queries being asked: the connections, the pace, and the signal to stop.

    The systems send the same requests; all but the first take what they need from the replies to it.
    """

    def __init__(self, systems: Sequence[HttpSystem], *, k: int) -> None:
        self._systems = systems
        self._system = system = systems[0]
        self._k = k
        self._transport = Transport(timeout_s=system.timeout_s, concurrency=system.concurrency)
        self._stop = threading.Event()
        self._pace = Pace(system.rate, self._stop)
        self._pool = ThreadPoolExecutor(system.concurrency)
        self._n_failed_in_a_row = 0
        self._n_refused = 0
        """How many of the first queries were refused in a way that has nothing to do with the query."""
        self._silent: dict[str, Query] = {}
        """The first queries that nothing came back for, and that have attempts left."""

    def answers(self, queries: Sequence[Query]) -> Iterator[Answer]:
        """Yield answers as they come; a query is submitted when a thread is free for it.

        The first query goes out alone: where nobody is there or answers, or all are refused, the others are not asked.
        """
        waiting = iter(queries)
        running: set[Future[Answer]] = set()
        try:
            lost = yield from self._first_answers(waiting, running)
            if lost is not None:
                words = f"not asked, as it would fail like query {lost.query_id!r}: {lost.reason}"
                others = (Answer(query.id, None, words, n_attempts=0, for_all=True) for query in waiting)
                yield from map(self._for_each_system, others)
            while True:
                free = self._system.concurrency - len(running)
                running |= {self._pool.submit(self.answer, query) for query in islice(waiting, max(free, 0))}
                if not running:
                    return
                done, running = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    answer = future.result()
                    again = self._silent.pop(answer.query_id, None)
                    if again is not None:
                        running.add(self._pool.submit(self.answer, again, before=answer))
                        continue
                    self._n_failed_in_a_row = self._n_failed_in_a_row + 1 if answer.failed else 0
                    yield answer
        finally:
            self._stop.set()
            self._transport.close()  # wakes up all who wait for an answer
            self._pool.shutdown(cancel_futures=True)
            self._transport.close()

    def _first_answers(
        self, waiting: Iterator[Query], running: set[Future[Answer]]
    ) -> Generator[Answer, None, Answer | None]:
        """Yield the first answers, one by one, until one shows that others can succeed; return what all would get.

        Where nothing comes back for a while, another query is asked, so that one slow query is not taken for silence.
        What is still under way afterwards is in `running`.
        """
        for n_refused, query in enumerate(islice(waiting, _FIRST_QUERIES)):
            first = self._pool.submit(self.answer, query, is_first=True)
            wait([first], timeout=_SILENT_S)
            if not first.done() or query.id in self._silent:
                running |= {self._pool.submit(self.answer, other, is_first=True) for other in islice(waiting, 1)}
            answer = first.result()
            if query.id in self._silent:
                wait(running)
                lost = self._lost_in_silence(answer)
                if lost is None:
                    running.add(first)
                else:
                    yield lost
                return lost
            self._n_failed_in_a_row += answer.failed
            yield answer
            if answer.for_all:
                return answer
            if self._n_refused == n_refused:
                return None
        return None

    def _lost_in_silence(self, answer: Answer) -> Answer | None:
        """Return what all queries would get where two in a row met silence; None where one may just have been slow."""
        self._system.n_silent += 1
        if len(self._silent) < 2 and (self._system.is_heard or self._system.n_silent < 2):
            return None
        self._silent.clear()
        reason = f"{answer.reason}, twice ({self._system.address})"
        if answer.reason == self._reason(TimeoutError()):
            reason += "; where it needs longer, raise timeout_s"
        return self._for_each_system(replace(answer, reason=reason, for_all=True))

    def answer(self, query: Query, *, is_first: bool = False, before: Answer | None = None) -> Answer:
        """Return the answer to a query after as many attempts as it takes, or is allowed; `before` are those so far."""
        if before is None and self._n_failed_in_a_row >= _IN_A_ROW:
            return Answer(query.id, None, f"not asked, as {_IN_A_ROW} queries in a row had failed", n_attempts=0)
        attempt = n_before = 0 if before is None else before.n_attempts
        reason = "" if before is None else before.reason
        taken: dict[str, Answer] = {}
        reasons = {system.name: reason for system in self._systems}
        for attempt in range(n_before + 1, self._system.attempts + 1):
            reasons = {}
            try:
                request = self._system.request_of(query, k=self._k)
                self._pace.wait()
                if self._stop.is_set():
                    raise RefusedError("stopped")  # noqa: TRY301 (a failure like others)
                started = self._system.clock()
                reply = self._transport.send(request)
                seconds = self._system.clock() - started  # until the last byte
                self._system.is_heard = True
                came = Answer(query.id, None, seconds=seconds, n_attempts=attempt)
                self._take(content_of(reply), came, taken, reasons)
            except OptionError:
                raise
            except Exception as error:  # noqa: BLE001 (whatever an answer holds, it fails its own query alone)
                reason = self._reason(error)
                reasons = {system.name: reasons.get(system.name, reason) for system in self._systems}
                if is_first and self._is_lost(error, attempt):
                    where = f" ({self._system.address})" if isinstance(error, _NOBODY_THERE) else ""
                    lost = Answer(query.id, None, f"{reason}{where}", n_attempts=attempt, for_all=True)
                    return self._for_each_system(lost)
                if is_first and self._is_silent(error, attempt):
                    self._silent[query.id] = query
                    break
                may_pass = isinstance(error, OSError | http.client.HTTPException | BadAnswerError)
                is_last = not may_pass or isinstance(error, RefusedError) or attempt == self._system.attempts
                if is_last or self._stop.wait(wait_s(error, query, attempt, self._system.backoff_s)):
                    break
            else:
                break
        names = tuple(system.name for system in self._systems)
        failed = Answer(query.id, None, n_attempts=attempt)
        parts = {
            name: replace(
                taken.get(name) or replace(failed, reason=reasons[name]),
                shared_with=tuple(other for other in names if other != name),
            )
            for name in names
        }
        return replace(parts.pop(names[0]), others=parts)

    def _for_each_system(self, lost: Answer) -> Answer:
        """Return an answer that every system gets, as its own."""
        names = [system.name for system in self._systems]
        own = {
            name: replace(lost, others={}, shared_with=tuple(other for other in names if other != name))
            for name in names
        }
        return replace(own.pop(names[0]), others=own)

    def _take(self, content: Any, came: Answer, taken: dict[str, Answer], reasons: dict[str, str]) -> None:
        """Let each system that has no answer yet take its own out of a reply; fail where one of them finds none."""
        first: Exception | None = None
        for system in self._systems:
            if system.name in taken:
                continue
            try:
                ranking = system.ranking_of(content, k=self._k)
                taken[system.name] = replace(came, ranking=ranking, facts=system.facts_of(content))
            except OptionError:
                raise
            except Exception as error:  # noqa: BLE001 (as above)
                reasons[system.name] = self._reason(error)
                first = first or error
        if first is not None:
            raise first

    def _is_silent(self, error: Exception, attempt: int) -> bool:
        """Tell whether nothing came back in time, or connections are closed without a word at every attempt."""
        if isinstance(error, _NOBODY_THERE):
            return False
        is_closed = isinstance(error, ConnectionError) and attempt == self._system.attempts
        return isinstance(error, TimeoutError) or is_closed

    def _is_lost(self, error: Exception, attempt: int) -> bool:
        """Tell whether all queries would fail as this one of the first has."""
        if isinstance(error, _NOBODY_THERE):
            return attempt >= min(_FIRST_ATTEMPTS, self._system.attempts)
        self._n_refused += isinstance(error, RefusedError) and error.status in _WRONG_ADDRESS
        return self._n_refused >= _FIRST_QUERIES

    def _reason(self, error: Exception) -> str:
        if isinstance(error, NobodyThereError):
            return f"no answer: {error}"
        if isinstance(error, TimeoutError):
            return f"no answer within {self._system.timeout_s:g} s"
        is_silent = isinstance(error, OSError | http.client.HTTPException)
        return f"no answer: {reason_of(error)}" if is_silent else reason_of(error)


class Pace:
    """Lets no more than so many requests go out per second, whichever thread they come from."""

    def __init__(self, rate: float | None, stop: threading.Event) -> None:
        self._gap_s = 0.0 if rate is None else 1 / rate
        self._stop = stop
        self._lock = threading.Lock()
        self._next = 0.0

    def wait(self) -> None:
        if not self._gap_s:
            return
        with self._lock:
            turn = max(self._next, time.monotonic())
            self._next = turn + self._gap_s
        self._stop.wait(max(turn - time.monotonic(), 0))


def content_of(reply: HttpReply) -> Any:
    """Return what a reply says as JSON, or why it cannot be used."""
    said = shorten(" ".join(reply.content[:1000].decode("utf-8", "replace").split()), limit=300)
    moved = next((f"see {value}" for name, value in reply.headers.items() if name.lower() == "location"), "")
    words = f"the server answered {reply.status}" + (f": {moved or said}" if moved or said else "")
    if reply.status in _TRY_AGAIN and (reply.retry_after_s or 0) > _LONGEST_WAIT_S:
        raise RefusedError(f"{words}; it asks to wait longer than {_LONGEST_WAIT_S:g} s", status=reply.status)
    if reply.status in _TRY_AGAIN:
        raise BusyError(words, wait_s=reply.retry_after_s)
    if reply.status not in range(200, 300):
        raise RefusedError(words, status=reply.status)
    try:
        return json.loads(reply.content)
    except ValueError:
        raise BadAnswerError(f"the answer is not JSON: {said or 'nothing at all'}") from None
    except RecursionError:
        raise BadAnswerError(f"the answer is nested too deeply to be read: {said}") from None


def wait_s(error: BaseException, query: Query, attempt: int, backoff_s: float) -> float:
    """Return how long to wait before asking again: what the server asks for, else doubling, and never all at once.

    The part that is left to chance depends on the query and the attempt alone, so that a run can be repeated.
    """
    asked = getattr(error, "wait_s", None)
    if asked is not None:
        return float(asked)
    share = random.Random(f"{query.id} {attempt}").uniform(0.5, 1.0)  # noqa: S311 (nothing secret hangs on it)
    return float(min(backoff_s * 2 ** (attempt - 1), _LONGEST_WAIT_S) * share)
