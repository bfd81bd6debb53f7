"""A web server on the loopback address that answers as a test tells it to, and remembers what it was asked."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self


@dataclass
class Asked:
    """One request as it came in."""

    method: str
    path: str
    headers: dict[str, str]
    body: str

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Said:
    """One reply to send; content that is not bytes goes out as JSON."""

    content: Any = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    pause_s: float = 0.0
    """How long to wait before each byte of the content."""

    def encoded(self) -> bytes:
        return self.content if isinstance(self.content, bytes) else json.dumps(self.content).encode()


class Loopback:
    """Serves `answer(request)` at `url` while it is entered."""

    def __init__(self, answer: Callable[[Asked], Said]) -> None:
        self.requests: list[Asked] = []
        self.connections = 0
        self._sockets: list[socket.socket] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"  # connections stay open, as those of real servers do

            def setup(self) -> None:
                outer.connections += 1
                outer._sockets.append(self.request)
                super().setup()

            def handle_one(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                asked = Asked(self.command, self.path, dict(self.headers.items()), self.rfile.read(length).decode())
                outer.requests.append(asked)
                said = answer(asked)
                content = said.encoded()
                self.send_response(said.status)
                for name, value in {"Content-Length": str(len(content)), **said.headers}.items():
                    self.send_header(name, value)
                with suppress(OSError):  # whoever asked may be gone
                    self.end_headers()
                    for part in (content[i : i + 1] for i in range(len(content))) if said.pause_s else [content]:
                        time.sleep(said.pause_s)
                        self.wfile.write(part)

            do_GET = do_POST = do_CONNECT = handle_one  # noqa: N815 (as the library wants it)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
        # a client that kept a connection would be answered by this server even when another one has its port by then
        for each in self._sockets:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
