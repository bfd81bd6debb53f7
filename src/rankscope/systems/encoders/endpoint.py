"""Vectors from an endpoint that speaks OpenAI's embeddings API: OpenAI itself, or vLLM, Ollama, TEI and others."""

from __future__ import annotations

import http.client
import json
import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import Any

import msgspec

from rankscope.errors import InputError, OptionError, shorten
from rankscope.systems.dense import Role
from rankscope.systems.transport import HttpReply, HttpRequest, Transport

_LONGEST_WAIT_S = 60.0


class Endpoint(msgspec.Struct, dict=True):
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
    """How long one answer may take, in seconds."""
    sleep: Callable[[float], None] = time.sleep

    def __post_init__(self) -> None:
        if not self.base_url.startswith(("http://", "https://")):
            raise OptionError(f"base_url {self.base_url!r} is no http or https address", hint="e.g. https://…/v1")

    def describe(self) -> dict[str, Any]:
        return {"model": self.model, "endpoint": self.base_url, "dimensions": self.dimensions}

    def encode(self, texts: Sequence[str], *, role: Role) -> list[list[float]]:  # noqa: ARG002 (one API for both)
        starts = range(0, len(texts), self.batch_size)
        with ThreadPoolExecutor(max(1, min(self.concurrency, len(starts)))) as pool:
            parts = pool.map(lambda start: self._encode_batch(texts[start : start + self.batch_size]), starts)
            return [vector for part in parts for vector in part]

    @cached_property
    def _transport(self) -> Transport:
        return Transport(timeout_s=self.timeout_s, concurrency=self.concurrency)

    def _encode_batch(self, texts: Sequence[str]) -> list[list[float]]:
        content: dict[str, Any] = {"model": self.model, "input": list(texts), "encoding_format": "float"}
        if self.dimensions is not None:
            content["dimensions"] = self.dimensions
        answer = self._ask(json.dumps(content).encode())
        try:
            return [row["embedding"] for row in sorted(answer["data"], key=lambda row: row["index"])]
        except (TypeError, KeyError, IndexError) as error:
            raise InputError(
                f"{self.base_url} answered without embeddings: {shorten(json.dumps(answer))}",
                hint="is this an endpoint for embeddings, and the model one of its models?",
            ) from error

    def _ask(self, body: bytes) -> Any:
        """Send one request, again up to the number of attempts, and return the answer."""
        headers = {"Content-Type": "application/json"}
        if key := os.environ.get(self.api_key_env):
            headers["Authorization"] = f"Bearer {key}"
        request = HttpRequest("POST", f"{self.base_url.rstrip('/')}/embeddings", headers, body)
        for attempt in range(1, self.n_attempts + 1):
            reply: HttpReply | None = None
            try:
                reply = self._transport.send(request)
                if reply.status in range(200, 300):
                    return json.loads(reply.content)
                if attempt == self.n_attempts or (reply.status != 429 and reply.status < 500):
                    raise InputError(
                        f"{self.base_url} answered {reply.status}: {shorten(reply.content.decode('utf-8', 'replace'))}",
                        hint="set the key in the environment variable that api_key_env names"
                        if reply.status in (401, 403)
                        else "see what it says",
                    )
            except (OSError, http.client.HTTPException, json.JSONDecodeError) as error:
                if attempt == self.n_attempts:
                    raise InputError(
                        f"{self.base_url} did not answer in {attempt} attempts: {error}",
                        hint="is it running, and is base_url right?",
                    ) from error
            asked = reply.retry_after_s if reply else None
            self.sleep(min(asked or float(2 ** (attempt - 1)), _LONGEST_WAIT_S))  # without its word 1, 2, 4 … seconds
        raise OptionError(f"n_attempts is {self.n_attempts}, but it must be 1 or more")
