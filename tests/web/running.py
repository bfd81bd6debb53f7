"""A server for tests, in a thread of theirs."""

import socket
import threading
import time

import urllib3
import uvicorn

from rankscope.web.app import make_app
from rankscope.web.security import RateLimit, TokenAuthenticator
from rankscope.web.serving import known_hosts, server_config

TOKEN = "the-token-of-the-tests"


class Server:
    """A server on loopback in a thread of the tests; `url` is where it is, `get` asks it as the owner."""

    def __init__(self, library, *, authenticator=None, proxy=None, rate_limit=None, port=0):
        self.library = library
        self.listener = socket.create_server(("127.0.0.1", port))
        self.port = self.listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.app = make_app(
            library,
            authenticator or TokenAuthenticator(TOKEN),
            hosts=known_hosts("127.0.0.1", self.port, ("rankscope.example",)),
            proxy=proxy,
            rate_limit=rate_limit or RateLimit(1e6, 1e6),
        )
        self.server = uvicorn.Server(server_config(self.app, head_s=2))
        self.thread = threading.Thread(target=self.server.run, kwargs={"sockets": [self.listener]}, daemon=True)
        self.thread.start()
        while not self.server.started:
            time.sleep(0.01)

    def get(self, path, **headers):
        headers = {"Authorization": f"Bearer {TOKEN}", **headers}
        return urllib3.request("GET", self.url + path, headers=headers, redirect=False, retries=False, timeout=120)

    def ask(self, method, path, body=None, **headers):
        """Ask as nobody in particular: with these headers alone."""
        return urllib3.request(method, self.url + path, body=body, headers=headers, redirect=False)

    def close(self):
        self.server.should_exit = True
        self.thread.join(10)
        self.listener.close()
