"""Any search that answers over HTTP with JSON."""

from __future__ import annotations

import http.client
import json
import random
import threading
import time
import urllib.parse
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from functools import partial
from itertools import islice
from typing import Annotated, Any, ClassVar

from rankscope.errors import shorten
from rankscope.systems.answers import Answer, BadAnswerError, Clock, RemoteSystem, by_position, check_ranking, reason_of
from rankscope.systems.base import Query, RankedDocs
from rankscope.systems.options import NO_EFFECT, AboveZero, AtLeastOne, AtLeastZero
from rankscope.systems.templates import fill, fill_data, parse_path, url_without_secrets, values_of, without_secrets
from rankscope.systems.transport import HttpReply, HttpRequest, Transport, check_address

_TRY_AGAIN = frozenset({408, 425, 429, *range(500, 600)})
_LONGEST_WAIT_S = 120.0
_IN_A_ROW = 50
"""After so many queries in a row that failed, the others are not asked any more."""
_percent_encode = partial(urllib.parse.quote, safe="")


class RefusedError(BadAnswerError):
    """The server said no, and would say so again."""


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
    """How long one answer may take, in seconds."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_address(self.url)
        self.clock: Clock = time.perf_counter

    def request_of(self, query: Query, *, k: int) -> HttpRequest:
        raise NotImplementedError

    def ranking_of(self, content: Any, *, k: int) -> RankedDocs:
        raise NotImplementedError

    def describe(self) -> dict[str, Any]:
        described = super().describe()
        hidden = {name: without_secrets(described[name]) for name in described if name in ("headers", "body", "query")}
        return {**described, **hidden, "url": url_without_secrets(self.url)}

    def answers(self, queries: Sequence[Query], *, k: int) -> Iterator[Answer]:
        yield from HttpBatch(self, k=k).answers(queries)

    def _request(
        self, method: str | None, address: str, values: Mapping[str, Any], body: bytes | None, content_type: str
    ) -> HttpRequest:
        headers = {"Accept": "application/json", **({"Content-Type": content_type} if body is not None else {})}
        for name, text in self.headers.items():  # a line end would begin another header
            headers[name] = fill(text, values, escape=lambda value: " ".join(value.split()))
        url = fill(address, values, escape=_percent_encode)
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

    def __post_init__(self) -> None:
        super().__post_init__()
        self._ids = parse_path(self.ids, what="ids")
        self._scores = None if self.scores is None else parse_path(self.scores, what="scores")

    def request_of(self, query: Query, *, k: int) -> HttpRequest:
        values = values_of(query, k=k)
        body, content_type = None, "application/json"
        if self.body is not None and not isinstance(self.body, str):
            body = json.dumps(fill_data(self.body, values)).encode()
        elif self.body is not None and self.body.lstrip().startswith(("{", "[")):
            body = fill(self.body, values, escape=lambda text: json.dumps(text)[1:-1]).encode()
        elif self.body is not None:
            body = fill(self.body, values, escape=_percent_encode).encode()
            content_type = "application/x-www-form-urlencoded"
        return self._request(self.method, self.url, values, body, content_type)

    def ranking_of(self, content: Any, *, k: int) -> RankedDocs:
        docs = self._ids.values(content)
        if self._scores is None:
            return by_position(docs, k=k)
        scores = self._scores.values(content)
        if len(scores) != len(docs):
            raise BadAnswerError(f"the answer has {len(docs)} ids, but {len(scores)} scores")
        return check_ranking(zip(docs, scores, strict=True), k=k)


class HttpBatch:
    """One batch of queries being asked: the connections, the pace, and the signal to stop."""

    def __init__(self, system: HttpSystem, *, k: int) -> None:
        self._system = system
        self._k = k
        self._transport = Transport(timeout_s=system.timeout_s, concurrency=system.concurrency)
        self._stop = threading.Event()
        self._pace = Pace(system.rate, self._stop)
        self._pool = ThreadPoolExecutor(system.concurrency)
        self._n_failed_in_a_row = 0

    def answers(self, queries: Sequence[Query]) -> Iterator[Answer]:
        """Yield answers as they come; a query is submitted when a thread is free for it."""
        waiting = iter(queries)
        running: set[Future[Answer]] = set()
        try:
            while True:
                free = self._system.concurrency - len(running)
                running |= {self._pool.submit(self.answer, query) for query in islice(waiting, free)}
                if not running:
                    return
                done, running = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    answer = future.result()
                    self._n_failed_in_a_row = self._n_failed_in_a_row + 1 if answer.failed else 0
                    yield answer
        finally:
            self._stop.set()
            self._transport.close()  # wakes up whoever waits for an answer
            self._pool.shutdown(cancel_futures=True)
            self._transport.close()

    def answer(self, query: Query) -> Answer:
        if self._n_failed_in_a_row >= _IN_A_ROW:
            return Answer(query.id, None, f"not asked, as {_IN_A_ROW} queries in a row had failed", n_attempts=0)
        attempt, reason = 0, ""
        for attempt in range(1, self._system.attempts + 1):
            try:
                request = self._system.request_of(query, k=self._k)
                self._pace.wait()
                if self._stop.is_set():
                    raise RefusedError("stopped")
                started = self._system.clock()
                reply = self._transport.send(request)
                seconds = self._system.clock() - started  # until the last byte
                ranking = self._system.ranking_of(content_of(reply), k=self._k)
            except (OSError, http.client.HTTPException, BadAnswerError) as error:
                reason = reason_of(error) if isinstance(error, BadAnswerError) else f"no answer: {reason_of(error)}"
                if isinstance(error, TimeoutError):
                    reason = f"no answer within {self._system.timeout_s:g} s"
                is_last = isinstance(error, RefusedError) or attempt == self._system.attempts
                if is_last or self._stop.wait(wait_s(error, query, attempt, self._system.backoff_s)):
                    break
            else:
                return Answer(query.id, ranking, seconds=seconds, n_attempts=attempt)
        return Answer(query.id, None, reason, n_attempts=attempt)


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
    said = shorten(" ".join(reply.content[:400].decode("utf-8", "replace").split()))
    moved = next((f"see {value}" for name, value in reply.headers.items() if name.lower() == "location"), "")
    words = f"the server answered {reply.status}" + (f": {moved or said}" if moved or said else "")
    if reply.status in _TRY_AGAIN:
        raise BusyError(words, wait_s=reply.retry_after_s)
    if reply.status not in range(200, 300):
        raise RefusedError(words)
    try:
        return json.loads(reply.content)
    except ValueError:
        raise BadAnswerError(f"the answer is not JSON: {said or 'nothing at all'}") from None


def wait_s(error: BaseException, query: Query, attempt: int, backoff_s: float) -> float:
    """Return how long to wait before asking again: what the server asks for, else doubling, and never all at once.

    The part that is left to chance depends on the query and the attempt alone, so that a run can be repeated.
    """
    asked = getattr(error, "wait_s", None)
    if asked is not None:
        return float(min(asked, _LONGEST_WAIT_S))
    share = random.Random(f"{query.id} {attempt}").uniform(0.5, 1.0)  # noqa: S311 (nothing secret hangs on it)
    return float(min(backoff_s * 2 ** (attempt - 1), _LONGEST_WAIT_S) * share)
