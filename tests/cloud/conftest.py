"""A server on loopback that speaks as S3 does (moto's), once for all tests; no test here reaches another machine."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import urllib3

pytest.importorskip("moto", reason="moto is not installed: scripts/install dev brings it")
pytest.importorskip("obstore", reason="obstore is not installed: pip install 'rankscope[cloud]'")

import obstore
from obstore.store import S3Store

SECRET = "canary-of-the-secret-key"
BUCKET = "rankings"


class Bucket:
    """A bucket of the server, filled with the credentials of the environment."""

    def __init__(self, endpoint: str) -> None:
        self.endpoint = endpoint
        self._http = urllib3.PoolManager()

    def put(self, key: str, content: bytes | str) -> str:
        """Store an object and return its address."""
        data = content.encode() if isinstance(content, str) else content
        obstore.put(S3Store(BUCKET, client_options={"allow_http": True}), key, data)
        return f"s3://{BUCKET}/{key}"

    def put_file(self, path: Path, key: str | None = None) -> str:
        return self.put(key or path.name, path.read_bytes())

    def make(self) -> None:
        self._http.request("PUT", f"{self.endpoint}/{BUCKET}")

    def empty(self) -> None:
        self._http.request("POST", f"{self.endpoint}/moto-api/reset")


@pytest.fixture(scope="session")
def s3_server() -> Iterator[str]:
    import logging

    from moto.server import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import make_server

    logging.getLogger("werkzeug").setLevel(logging.ERROR)  # it would print every request
    server = make_server("127.0.0.1", 0, DomainDispatcherApplication(create_backend_app), threaded=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join(timeout=5)
    server.server_close()


@pytest.fixture
def bucket(s3_server: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Bucket:
    """An empty bucket, and the variables by which it is reached."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", s3_server)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "canary-of-the-key-id")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL_S3"):
        monkeypatch.delenv(name, raising=False)
    made = Bucket(s3_server)
    made.empty()
    made.make()
    return made
