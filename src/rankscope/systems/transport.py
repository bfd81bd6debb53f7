"""HTTP requests by urllib3: pooled connections, a deadline for the whole exchange, proxies of the environment."""

from __future__ import annotations

import http.client
import io
import ipaddress
import re
import socket
import threading
import time
import urllib.parse
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import partial
from typing import Any
from weakref import WeakSet

import msgspec
import urllib3
from urllib3.connection import HTTPConnection

from rankscope.errors import OptionError
from rankscope.io.connections import is_loopback, new_manager, proxy_for
from rankscope.systems.answers import LARGEST_ANSWER_BYTES
from rankscope.systems.secrets import SECRET_NAMES, FromEnvironment, secrets_in, url_without_secrets, words_about

_CONNECT_S = 5.0
"""Where nobody has opened the door by then, nobody is there."""
_PLACE = re.compile(r"\$?\{[^{}]*\}")
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_STALE = (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError)


class NobodyThereError(TimeoutError):
    """Nobody opened the connection in time."""


class HttpRequest(msgspec.Struct, frozen=True):
    """One request, complete."""

    method: str
    url: str
    headers: Mapping[str, str | bytes] = {}
    body: bytes | None = None


class HttpReply(msgspec.Struct, frozen=True):
    """What came back, whatever its status."""

    status: int
    headers: Mapping[str, str]
    content: bytes

    @property
    def retry_after_s(self) -> float | None:
        """How long the server asks to wait: Retry-After holds seconds or a date."""
        text = next((value.strip() for name, value in self.headers.items() if name.lower() == "retry-after"), "")
        if re.fullmatch(r"[0-9]+(\.[0-9]*)?", text):
            return float(text)
        try:
            return max((parsedate_to_datetime(text).astimezone(UTC) - datetime.now(UTC)).total_seconds(), 0.0)
        except (ValueError, TypeError, OverflowError, OSError):  # no date, or one that no clock can show
            return None


class Transport:
    """Sends requests from any number of threads; connections are pooled and kept open between requests."""

    def __init__(self, *, timeout_s: float, concurrency: int) -> None:
        self.timeout_s = timeout_s
        self._concurrency = concurrency
        self._managers: dict[str | None, urllib3.PoolManager] = {}
        self._open: WeakSet[HTTPConnection] = WeakSet()
        self._lock = threading.Lock()
        self._is_closed = False
        self._now = threading.local()
        """The deadline of the request that a thread is waiting for."""

    def send(self, request: HttpRequest) -> HttpReply:
        """Send a request and return the reply, whatever its status; redirections are not followed.

        A request that meets a connection which the server has closed meanwhile is sent once more. It is a TimeoutError
        where the last byte does not come in time, and an OSError or http.client.HTTPException where no reply does.
        """
        check_address(request.url)
        deadline = self._now.deadline = time.monotonic() + self.timeout_s
        proxy = proxy_for(request.url)
        with self._lock:
            if proxy not in self._managers:
                self._managers[proxy] = new_manager(proxy, n_connections=self._concurrency)
            manager = self._managers[proxy]
            pool = manager.connection_from_url(request.url)
            if "ConnectionCls" not in vars(pool):
                pool.ConnectionCls = self._remembered(pool.ConnectionCls)
        may_be_stale = pool.num_requests > 0
        try:
            return _send(manager, request, deadline)
        except _STALE:
            if not may_be_stale or self._is_closed:
                raise
            return _send(manager, request, deadline)

    def close(self) -> None:
        """Close all connections, also those that somebody is still waiting at."""
        with self._lock:
            self._is_closed = True
            waiting = [connection.sock for connection in self._open]
            managers = list(self._managers.values())
        for sock in waiting:
            if isinstance(sock, socket.socket):
                with suppress(OSError):
                    sock.shutdown(socket.SHUT_RDWR)
        for manager in managers:
            manager.clear()

    def _remembered(self, kind: Any) -> Any:
        """Return a kind of connection that is noted when it is opened, as a pool does not know those in use."""

        def connect(connection: HTTPConnection) -> None:
            timed: Any = partial(TimedResponse, left=lambda: seconds_left(self._now.deadline))
            connection.response_class = timed
            kind.connect(connection)
            with self._lock:
                self._open.add(connection)
                is_closed = self._is_closed
            if is_closed:  # while it was being opened: nobody would wake up who waits at it
                connection.close()
                raise ConnectionAbortedError("stopped")

        return type(kind.__name__, (kind,), {"connect": connect})


class TimedResponse(http.client.HTTPResponse):
    """A response whose every byte, those of the headers too, has to come before the deadline."""

    def __init__(self, sock: Any, *args: Any, left: Callable[[], float], **options: Any) -> None:
        super().__init__(sock, *args, **options)
        self.fp.close()
        sock._io_refs += 1  # noqa: SLF001 (as makefile counts: a socket is closed once all of its files are)
        self.fp = io.BufferedReader(TimedStream(sock, left))


class TimedStream(socket.SocketIO):
    """What comes in through a socket, until time is up."""

    def __init__(self, sock: Any, left: Callable[[], float]) -> None:
        super().__init__(sock, "r")
        self._socket = sock
        self._left = left

    def readinto(self, buffer: Any) -> int | None:
        self._socket.settimeout(self._left())
        return super().readinto(buffer)


def check_address(url: str, *, what: str = "") -> None:
    """Refuse what is no address; places of a template may stand for any part of it."""
    problem = ""
    try:
        parts = urllib.parse.urlsplit(_PLACE.sub("1", url))
        _ = parts.port
        if parts.hostname and ":" in parts.hostname:
            ipaddress.IPv6Address(parts.hostname.partition("%")[0])
        if parts.scheme not in ("http", "https") or not parts.hostname:
            problem = "is no http or https address"
        elif parts.username is not None:
            problem = "has a name or password in it, which is not sent: give a header Authorization instead"
        elif re.search(r"[\x00-\x20\x7f]", _PLACE.sub("", url).strip()):
            problem = "has blanks or control characters in it"
    except ValueError as error:
        problem = f"is no address{words_about(url, f': {error}')}"
    if problem:
        shown = repr(url) if isinstance(url, FromEnvironment) else repr(url_without_secrets(url))
        hint = "e.g. http://localhost:8000/search"
        raise OptionError(f"{f'{what} ' if what else ''}{shown} {problem}", hint=hint)


def check_request_options(method: str | None, headers: Mapping[str, str]) -> None:
    """Refuse a method or the name of a header that no request can have."""
    if method is not None and not _TOKEN.fullmatch(method):
        raise OptionError(f"method {method!r} is no method of HTTP", hint="for example GET or POST")
    for name in headers:
        if not _TOKEN.fullmatch(name):
            hint = "letters, digits and hyphens, such as X-Index"
            raise OptionError(f"headers: {name!r} cannot be the name of a header", hint=hint)


def check_secrets_stay_private(url: str, options: Mapping[str, Any]) -> None:
    """Refuse to send a secret over a connection that others can read: it has to be https, or stay on this machine.

    `options` are those of a system, of which url, headers, body and query are sent. A host that is a place of a
    template is looked at when it is known.
    """
    if options.get("allow_plain_http") or is_private(url) or "{" in urllib.parse.urlsplit(url).netloc:
        return
    secret = next(iter(secret_places(options)), None)
    if secret is not None:
        raise OptionError(
            f"{secret} holds a secret, and {url_without_secrets(url)} is not encrypted: nothing is sent",
            hint="use https; allow_plain_http = true sends it all the same, readable for everybody on the way",
        )


def secret_places(options: Mapping[str, Any]) -> Iterator[str]:
    """Yield what of the options that are sent holds a secret: headers from the environment, and what is named so."""
    for name, text in (options.get("headers") or {}).items():
        if isinstance(text, FromEnvironment) or "${" in text or (SECRET_NAMES.search(name) and text):
            yield f"the header {name}"
    url = options.get("url") or ""
    if url_without_secrets(url) != url:
        yield "the address"
    for name in ("url", "body", "query"):
        if secrets_in({name: options.get(name)}).named:
            yield name


def is_private(url: str) -> bool:
    parts = urllib.parse.urlsplit(url)
    return parts.scheme == "https" or is_loopback(parts.hostname or "")


def _send(manager: urllib3.PoolManager, request: HttpRequest, deadline: float) -> HttpReply:
    """Send a request once; errors are those of the standard library, in whose words users know them."""
    try:
        response = manager.urlopen(
            request.method,
            request.url,
            body=request.body,
            headers=dict(request.headers),
            redirect=False,
            retries=False,
            preload_content=False,
            timeout=urllib3.Timeout(connect=min(_CONNECT_S, seconds_left(deadline)), read=seconds_left(deadline)),
        )
        try:
            content = read_until(deadline, response)
        except BaseException:
            response.close()
            raise
        response.release_conn()
    except urllib3.exceptions.HTTPError as error:
        raise plain_error(error) from error
    content = unpacked(content, response.headers.get("Content-Encoding", ""))
    return HttpReply(response.status, dict(response.headers.items()), content)


def read_until(deadline: float, response: urllib3.BaseHTTPResponse) -> bytes:
    """Read an answer bit by bit, so that one without end is given up while it arrives."""
    content = bytearray()
    while chunk := response.read1(1 << 16, decode_content=False):
        content += chunk
        check_length(len(content))
        seconds_left(deadline)
    return bytes(content)


def check_length(n_bytes: int) -> None:
    if n_bytes > LARGEST_ANSWER_BYTES:
        raise http.client.HTTPException(f"the answer is longer than {LARGEST_ANSWER_BYTES >> 20} MB")


def unpacked(content: bytes, encodings: str) -> bytes:
    """Return content without compression, where all of it has come: urllib3 would take part of it for the whole."""
    for encoding in reversed([name.strip().lower() for name in encodings.split(",")]):
        if encoding in ("gzip", "x-gzip", "deflate"):
            content = inflated(content, is_gzip=encoding != "deflate")
        elif encoding in ("br", "compress", "x-compress", "zstd"):
            raise http.client.HTTPException(f"the answer is compressed as {encoding}, which was not asked for")
    return content


def inflated(content: bytes, *, is_gzip: bool) -> bytes:
    """Return all parts of a compressed answer; each has to be there up to its checksum."""
    is_bare = not is_gzip and content[:1] and content[0] & 0x0F != zlib.DEFLATED  # deflate without a header
    window = zlib.MAX_WBITS + 16 if is_gzip else -zlib.MAX_WBITS if is_bare else zlib.MAX_WBITS
    found = bytearray()
    while content:
        part = zlib.decompressobj(window)
        try:
            found += part.decompress(content, LARGEST_ANSWER_BYTES + 1 - len(found))
        except zlib.error as error:
            raise http.client.HTTPException(f"the compressed answer is damaged: {error}") from error
        check_length(len(found))
        if not part.eof:
            raise http.client.HTTPException("the compressed answer is cut off")
        content = part.unused_data.lstrip(b"\0")
    return bytes(found)


def seconds_left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError("the answer took too long")
    return left


def plain_error(error: urllib3.exceptions.HTTPError) -> Exception:
    """Return the error of the standard library that urllib3 has wrapped, however deep."""
    exceptions = urllib3.exceptions
    if isinstance(error, exceptions.ConnectTimeoutError) and not isinstance(error, exceptions.NewConnectionError):
        return NobodyThereError(f"nobody opened the connection within {_CONNECT_S:g} s")
    inner = error.__cause__ or next((part for part in error.args if isinstance(part, Exception)), None)
    for found in (error, inner):
        if isinstance(found, OSError | http.client.HTTPException):
            return found
    if isinstance(inner, urllib3.exceptions.HTTPError):
        return plain_error(inner)
    if isinstance(error, urllib3.exceptions.TimeoutError):
        return TimeoutError("the answer took too long")
    return http.client.HTTPException(str(error))
