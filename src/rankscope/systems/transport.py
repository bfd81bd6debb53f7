"""HTTP requests by urllib3: pooled connections, a deadline for the whole answer, proxies of the environment."""

from __future__ import annotations

import http.client
import socket
import threading
import time
import urllib.parse
import urllib.request
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any
from weakref import WeakSet

import msgspec
import urllib3
from urllib3.connection import HTTPConnection

from rankscope.errors import OptionError

LARGEST_ANSWER_BYTES = 1 << 27
_STALE = (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError)


class HttpRequest(msgspec.Struct, frozen=True):
    """One request, complete."""

    method: str
    url: str
    headers: Mapping[str, str] = {}
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
        if text.replace(".", "", 1).isdigit():
            return float(text)
        try:
            date = parsedate_to_datetime(text)
        except ValueError:
            return None
        return max((date.astimezone(UTC) - datetime.now(UTC)).total_seconds(), 0.0)


class Transport:
    """Sends requests from any number of threads; connections are pooled and kept open between requests."""

    def __init__(self, *, timeout_s: float, concurrency: int) -> None:
        self.timeout_s = timeout_s
        self._concurrency = concurrency
        self._managers: dict[str | None, urllib3.PoolManager] = {}
        self._open: WeakSet[HTTPConnection] = WeakSet()
        self._lock = threading.Lock()
        self._is_closed = False

    def send(self, request: HttpRequest) -> HttpReply:
        """Send a request and return the reply, whatever its status; redirections are not followed.

        A request that meets a connection which the server has closed meanwhile is sent once more. It is a TimeoutError
        where the last byte does not come in time, and an OSError or http.client.HTTPException where no reply does.
        """
        check_address(request.url)
        deadline = time.monotonic() + self.timeout_s
        parts = urllib.parse.urlsplit(request.url)
        bypass = urllib.request.proxy_bypass(str(parts.hostname))  # as http_proxy, https_proxy and no_proxy say
        proxy = None if bypass else urllib.request.getproxies().get(parts.scheme) or None
        if proxy and "://" not in proxy:
            proxy = f"http://{proxy}"
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
            kind.connect(connection)
            with self._lock:
                self._open.add(connection)
                is_closed = self._is_closed
            if is_closed:  # while it was being opened: nobody would wake up who waits at it
                connection.close()
                raise ConnectionAbortedError("stopped")

        return type(kind.__name__, (kind,), {"connect": connect})


def check_address(url: str) -> None:
    parts = urllib.parse.urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise OptionError(f"{url!r} is no http or https address", hint="e.g. http://localhost:8000/search")


def new_manager(proxy: str | None, *, n_connections: int) -> urllib3.PoolManager:
    if proxy is None:
        return urllib3.PoolManager(maxsize=n_connections)
    user, _, password = (urllib3.util.parse_url(proxy).auth or "").partition(":")
    login = f"{urllib.parse.unquote(user)}:{urllib.parse.unquote(password)}" if user else None
    headers = urllib3.util.make_headers(proxy_basic_auth=login)
    try:
        return urllib3.ProxyManager(proxy, proxy_headers=headers, maxsize=n_connections)
    except urllib3.exceptions.ProxySchemeUnknown as error:
        raise OptionError(f"the proxy {proxy!r} of the environment is no http or https address") from error


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
            timeout=urllib3.Timeout(total=seconds_left(deadline)),
        )
        try:
            content = read_until(deadline, response)
        except BaseException:
            response.close()
            raise
        response.release_conn()
    except urllib3.exceptions.HTTPError as error:
        raise plain_error(error) from error
    return HttpReply(response.status, dict(response.headers.items()), content)


def read_until(deadline: float, response: urllib3.BaseHTTPResponse) -> bytes:
    """Read an answer bit by bit, so that one which trickles in for ever comes to an end."""
    content = bytearray()
    while chunk := response.read1(1 << 16):
        content += chunk
        if len(content) > LARGEST_ANSWER_BYTES:
            raise http.client.HTTPException(f"the answer is longer than {LARGEST_ANSWER_BYTES >> 20} MB")
        left = seconds_left(deadline)
        sock = getattr(response.connection, "sock", None)
        if isinstance(sock, socket.socket):
            sock.settimeout(left)
    return bytes(content)


def seconds_left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError("the answer took too long")
    return left


def plain_error(error: urllib3.exceptions.HTTPError) -> Exception:
    """Return the error of the standard library that urllib3 has wrapped, however deep."""
    inner = error.__cause__ or next((part for part in error.args if isinstance(part, Exception)), None)
    for found in (error, inner):
        if isinstance(found, OSError | http.client.HTTPException):
            return found
    if isinstance(inner, urllib3.exceptions.HTTPError):
        return plain_error(inner)
    if isinstance(error, urllib3.exceptions.TimeoutError):
        return TimeoutError("the answer took too long")
    return http.client.HTTPException(str(error))
