"""Sending HTTP requests: connections stay open, the whole answer has a deadline, proxies of the environment count."""

from __future__ import annotations

import http.client
import socket
import ssl
import threading
import time
import urllib.parse
import urllib.request
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from rankscope.errors import OptionError

_CHUNK_BYTES = 1 << 16
LARGEST_ANSWER_BYTES = 1 << 27
_STALE = (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError)


@dataclass(frozen=True, slots=True)
class Request:
    """One request, complete."""

    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back, whatever it says."""

    status: int
    headers: Mapping[str, str]
    content: bytes


@dataclass(frozen=True, slots=True)
class Place:
    """Where a connection goes to: host, port, and whether it is encrypted."""

    scheme: str
    host: str
    port: int | None


class Transport:
    """Sends requests; each thread keeps its own connection open, as a program that searches a lot would."""

    def __init__(self, *, timeout_s: float) -> None:
        self.timeout_s = timeout_s
        self._own = threading.local()
        self._open: list[http.client.HTTPConnection] = []

    def send(self, request: Request) -> Reply:
        """Send a request and return the reply, unless it takes longer than the timeout.

        A connection that the server closed while it was idle is opened again.
        """
        deadline = time.monotonic() + self.timeout_s
        is_reused = getattr(self._own, "connection", None) is not None
        try:
            return self._send(request, deadline)
        except _STALE:
            self._drop()
            if not is_reused:
                raise
            return self._send(request, deadline)
        except BaseException:
            self._drop()
            raise

    def close(self) -> None:
        """Close all connections, also those that somebody is still waiting at."""
        for connection in list(self._open):
            if isinstance(connection.sock, socket.socket):
                with suppress(OSError):
                    connection.sock.shutdown(socket.SHUT_RDWR)
            connection.close()

    def _send(self, request: Request, deadline: float) -> Reply:
        parts = urllib.parse.urlsplit(request.url)
        place = place_of(parts)
        connection = self._connection(place)
        target = urllib.parse.urlunsplit(("", "", parts.path or "/", parts.query, ""))
        if place.scheme == "http" and proxy_for(place):
            target = request.url
        set_timeout(connection, deadline)
        connection.request(request.method, target, body=request.body, headers=dict(request.headers))
        response = connection.getresponse()
        content = content_of(response, connection, deadline)
        if response.will_close:
            self._drop()
        return Reply(response.status, dict(response.headers.items()), content)

    def _connection(self, place: Place) -> http.client.HTTPConnection:
        if getattr(self._own, "place", None) != place:
            self._drop()
        connection: http.client.HTTPConnection | None = getattr(self._own, "connection", None)
        if connection is None:
            connection = new_connection(place, self.timeout_s)
            self._own.connection, self._own.place = connection, place
            self._open.append(connection)
        return connection

    def _drop(self) -> None:
        connection: http.client.HTTPConnection | None = getattr(self._own, "connection", None)
        if connection is not None:
            connection.close()
            self._own.connection = None
            if connection in self._open:
                self._open.remove(connection)


def place_of(parts: urllib.parse.SplitResult) -> Place:
    """Return where an address leads to."""
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise OptionError(f"{parts.geturl()!r} is no http or https address", hint="e.g. http://localhost:8000/search")
    return Place(parts.scheme, parts.hostname, parts.port)


def proxy_for(place: Place) -> str | None:
    """Return the proxy that the environment names for a place, if any."""
    if urllib.request.proxy_bypass(place.host):
        return None
    return urllib.request.getproxies().get(place.scheme)


def new_connection(place: Place, timeout_s: float) -> http.client.HTTPConnection:
    """Return a connection that is not open yet, by way of a proxy where the environment has one."""
    proxy = proxy_for(place)
    host, port = place.host, place.port
    if proxy:
        parts = urllib.parse.urlsplit(proxy if "://" in proxy else f"http://{proxy}")
        host, port = str(parts.hostname), parts.port
    if place.scheme == "http":
        return http.client.HTTPConnection(host, port, timeout=timeout_s)
    connection = http.client.HTTPSConnection(host, port, timeout=timeout_s, context=ssl.create_default_context())
    if proxy:
        connection.set_tunnel(place.host, place.port)
    return connection


def set_timeout(connection: http.client.HTTPConnection, deadline: float) -> None:
    """Let the next step take no longer than what is left."""
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError("the answer took too long")
    connection.timeout = left
    if isinstance(connection.sock, socket.socket):
        connection.sock.settimeout(left)


def content_of(response: http.client.HTTPResponse, connection: http.client.HTTPConnection, deadline: float) -> bytes:
    """Read an answer bit by bit, so that one which trickles in for ever comes to an end."""
    chunks = []
    n_bytes = 0
    while chunk := response.read1(_CHUNK_BYTES):
        chunks.append(chunk)
        n_bytes += len(chunk)
        if n_bytes > LARGEST_ANSWER_BYTES:
            raise http.client.HTTPException(f"the answer is longer than {LARGEST_ANSWER_BYTES >> 20} MB")
        set_timeout(connection, deadline)
    response.close()  # lets the connection take the next request
    return b"".join(chunks)
