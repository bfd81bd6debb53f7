"""Vectors from an endpoint that speaks OpenAI's embeddings API: OpenAI itself, or vLLM, Ollama, TEI and others."""

from __future__ import annotations

import json
import os
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from email.message import Message
from typing import Any

from rankscope.errors import InputError, OptionError, shorten
from rankscope.systems.encoders.base import Role

_BUSY = 429
_SERVER_ERROR = 500
_LONGEST_WAIT_S = 60.0


@dataclass
class Endpoint:
    """Asks an endpoint for vectors, in batches, and again where it is busy or fails."""

    model: str
    base_url: str
    api_key_env: str = "OPENAI_API_KEY"
    """The environment variable that holds the key; none is sent where it is not set."""
    dimensions: int | None = None
    batch_size: int = 64
    concurrency: int = 4
    n_attempts: int = 5
    timeout_s: float = 60.0
    sleep: Callable[[float], None] = time.sleep

    def __post_init__(self) -> None:
        if not self.base_url.startswith(("http://", "https://")):
            raise OptionError(f"base_url {self.base_url!r} is no http or https address", hint="e.g. https://…/v1")

    def describe(self) -> dict[str, Any]:
        """Return what the vectors depend on."""
        return {"model": self.model, "endpoint": self.base_url, "dimensions": self.dimensions}

    def encode(self, texts: Sequence[str], *, role: Role) -> list[list[float]]:  # noqa: ARG002 (one API for both)
        """Return one vector per text."""
        starts = range(0, len(texts), self.batch_size)
        with ThreadPoolExecutor(max(1, min(self.concurrency, len(starts)))) as pool:
            parts = pool.map(lambda start: self.batch(texts[start : start + self.batch_size]), starts)
            return [vector for part in parts for vector in part]

    def batch(self, texts: Sequence[str]) -> list[list[float]]:
        """Return the vectors of one request, in the order of the texts."""
        content: dict[str, Any] = {"model": self.model, "input": list(texts), "encoding_format": "float"}
        if self.dimensions is not None:
            content["dimensions"] = self.dimensions
        answer = self.ask(json.dumps(content).encode())
        try:
            rows = sorted(answer["data"], key=lambda row: row["index"])
            return [row["embedding"] for row in rows]
        except (TypeError, KeyError, IndexError) as error:
            raise InputError(
                f"{self.base_url} answered without embeddings: {shorten(json.dumps(answer))}",
                hint="is this an endpoint for embeddings, and the model one of its models?",
            ) from error

    def ask(self, body: bytes) -> Any:
        """Send one request, again and again up to the number of attempts, and return the answer."""
        for attempt in range(1, self.n_attempts + 1):
            try:
                return self.send(body)
            except urllib.error.HTTPError as error:
                if attempt == self.n_attempts or (error.code != _BUSY and error.code < _SERVER_ERROR):
                    raise refused(self.base_url, error) from error
                self.sleep(wait_s(attempt, error.headers))
            except (urllib.error.URLError, TimeoutError, ConnectionError, json.JSONDecodeError) as error:
                if attempt == self.n_attempts:
                    raise InputError(
                        f"{self.base_url} did not answer in {attempt} attempts: {error}",
                        hint="is it running, and is base_url right?",
                    ) from error
                self.sleep(wait_s(attempt, {}))
        raise OptionError(f"n_attempts is {self.n_attempts}, but it must be 1 or more")

    def send(self, body: bytes) -> Any:
        """Send one request and return the answer."""
        headers = {"Content-Type": "application/json"}
        key = os.environ.get(self.api_key_env)
        if key:
            headers["Authorization"] = f"Bearer {key}"
        url = f"{self.base_url.rstrip('/')}/embeddings"
        request = urllib.request.Request(url, data=body, headers=headers)  # noqa: S310 (http and https alone, checked)
        with urllib.request.urlopen(request, timeout=self.timeout_s) as reply:  # noqa: S310 (as above)
            return json.loads(reply.read())


def wait_s(attempt: int, headers: Mapping[str, str] | Message) -> float:
    """Return how long to wait: what the server asks for, else 1, 2, 4 … seconds."""
    asked = headers.get("Retry-After", "") if headers else ""
    wait = float(asked) if asked.replace(".", "", 1).isdigit() else float(2 ** (attempt - 1))
    return min(wait, _LONGEST_WAIT_S)


def refused(url: str, error: urllib.error.HTTPError) -> InputError:
    """Return the error for an answer that is no success."""
    said = shorten(error.read().decode("utf-8", "replace"))
    unauthorised = error.code in (401, 403)
    hint = "set the key in the environment variable that api_key_env names" if unauthorised else "see what it says"
    return InputError(f"{url} answered {error.code}: {said}", hint=hint)
