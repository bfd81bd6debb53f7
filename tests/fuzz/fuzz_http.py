"""Answers over HTTP that are nearly right: each query ends with docs or with a reason, in time, and nothing is raised.

`scripts/fuzz --kind http --inputs 1000 --seed 1`. A server on the loopback address sends what it should not: other
status lines and headers, Retry-After of any kind, wrong lengths, chunks and encodings, JSON of other shapes, cut off
anywhere. An endpoint for embeddings gives vectors, or an error of ours that its system is left out for.
"""

import copy
import gzip
import json
import random
import socket
import threading
import time
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from fuzz_project import reason_of

from rankscope.errors import RankscopeError
from rankscope.experiment.retrieve import checked_answer
from rankscope.systems import http as http_system
from rankscope.systems.base import Query
from rankscope.systems.dense import Dense
from rankscope.systems.http import Http
from rankscope.systems.transport import Transport

TIMEOUT_S, WAIT_S, ATTEMPTS = 0.25, 0.02, 2
DEADLINE_S = 5.0
"""Far more than all attempts may take together, on a machine that has other things to do."""
QUERIES = [Query("q1", "soup"), Query("q2", "cake")]
STATUS_LINES = [
    *(b"HTTP/1.1 200 OK",) * 20,
    *(
        b"HTTP/1.1 %d X" % status
        for status in (204, 206, 301, 304, 400, 401, 404, 408, 418, 429, 500, 503, 599, 100, 101, 103, 999, 99, 1000)
    ),
    *(
        b"HTTP/1.0 200",
        b"HTTP/2 200 OK",
        b"HTTP/9.9 200 OK",
        b"ICY 200 OK",
        b"HTTP/1.1",
        b"HTTP/1.1 -1 no",
        b"HTTP/1.1 abc no",
        b"",
    ),
    *(b"HTTP/1.1 200 \xff\xfe", b"HTTP/1.1 200 " + b"x" * 70_000, b"\0\0\0", b"<html>", b"HTTP/1.1  200  OK"),
]
HEADERS = [
    *(
        b"Retry-After: " + text
        for text in (b"0", b"1", b"-1", b"1e9", b"99999999999999999999", b"soon", b"nan", b"", b"0.1")
    ),
    *(
        b"Retry-After: " + text
        for text in (
            b"Fri, 31 Dec 9999 23:59:59 GMT",
            b"Wed, 21 Oct 2015 07:28:00 GMT",
            b"Fri, 99 Foo 2015 99:99:99 +9999",
        )
    ),
    *(
        b"Content-Encoding: " + text
        for text in (b"gzip", b"deflate", b"br", b"zstd", b"identity", b"gzip, gzip", b"x", b"")
    ),
    *(b"Transfer-Encoding: " + text for text in (b"chunked", b"gzip, chunked", b"identity", b"x")),
    *(
        b"Content-Type: " + text
        for text in (b"application/json; charset=utf-16", b"text/html", b"multipart/x; boundary=")
    ),
    *(
        b"Connection: close",
        b"Connection: keep-alive",
        b"Location: http://127.0.0.1:1/",
        b"Location: \xff",
        b"Location: //[",
    ),
    *(
        b"X: " + b"y" * 70_000,
        b"no colon",
        b": no name",
        b"\xff: \xff",
        b" folded",
        b"Set-Cookie: \0",
        b"Upgrade: h2c",
        b"X-A: 1\r\nX-A: 2",
    ),
]
LENGTHS = [b"0", b"1", b"-1", b"5", b"1000000", b"99999999999999999999", b"abc", b"", b"1, 2", b"+3", b"0x10"]
ODD_VALUES: list[Any] = [
    None,
    True,
    [],
    {},
    "",
    "d1",
    "\ud800",
    "a\0b",
    -1,
    1e308,
    10**400,
    float("nan"),
    float("inf"),
    [[1]],
    {"id": 1},
    "1",
    "é" * 50,
    1 << 70,
]


class Replies:
    """Makes what a server sends, byte by byte, from a seed."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)

    def reply(self, body: bytes) -> bytes:
        """Return a whole reply, headers included."""
        rng = self.rng
        headers = rng.choices(HEADERS, k=rng.choice((0, 0, 1, 1, 2)))
        if any(b"gzip" in header for header in headers) and rng.random() < 0.7:
            body = gzip.compress(body)
        elif any(b"deflate" in header for header in headers) and rng.random() < 0.7:
            body = zlib.compress(body)
        if any(b"chunked" in header for header in headers) and rng.random() < 0.8:
            body = self.chunked(body)
        if rng.random() < 0.85:
            headers.append(b"Content-Length: " + (b"%d" % len(body) if rng.random() < 0.8 else rng.choice(LENGTHS)))
        end = rng.choice((b"\r\n",) * 12 + (b"\n", b"\r"))
        whole = bytearray(end.join([rng.choice(STATUS_LINES), *headers, b"", b""]) + body)
        for _ in range(rng.choice((0, 0, 0, 1, 3))):
            at, how = rng.randrange(len(whole) + 1), rng.randrange(3)
            if how == 0 and at < len(whole):
                whole[at] ^= 1 << rng.randrange(8)
            elif how == 1:
                whole[at:at] = rng.choice((b"\r\n", b"\0", b"\xff", b"HTTP/1.1 200 OK\r\n\r\n", b"0\r\n\r\n"))
            else:
                del whole[at:]
        return bytes(whole)

    def chunked(self, body: bytes) -> bytes:
        rng = self.rng
        parts = [body[i : i + 7] for i in range(0, min(len(body), 200), 7)]
        sizes = [
            b"%x" % len(part) if rng.random() < 0.97 else rng.choice((b"-1", b"zz", b"fffffffffffffffff", b"", b"1"))
            for part in parts
        ]
        last = rng.choice((b"0\r\n\r\n",) * 5 + (b"", b"0\r\nX: y\r\n\r\n"))
        return b"".join(size + b"\r\n" + part + b"\r\n" for size, part in zip(sizes, parts, strict=True)) + last

    def hits(self) -> bytes:
        """Return the body of a search: ids and scores, more or less."""
        hits: Any = [{"id": f"d{i}", "score": 9.0 - i} for i in range(self.rng.randrange(5))]
        return self.odd_json({"results": hits}, hits)

    def embeddings(self, n_texts: int) -> bytes:
        rows: Any = [{"index": i, "embedding": [0.5, 1.0, float(i)]} for i in range(n_texts)]
        return self.odd_json({"data": rows}, rows)

    def odd_json(self, content: dict[str, Any], rows: list[Any]) -> bytes:
        """Return it as JSON, with a value changed, or something else altogether."""
        rng, odd_values = self.rng, copy.deepcopy(ODD_VALUES)  # lists among them are changed below
        if rows and rng.random() < 0.5:
            row = rng.choice(rows)
            row[rng.choice([*row, *row, "other"])] = rng.choice(odd_values)
            if rng.random() < 0.3:
                rows.append(rng.choice([*rows, *odd_values]))
            if rng.random() < 0.2 and isinstance(row.get("embedding"), list):
                row["embedding"].append(rng.choice(copy.deepcopy(odd_values)))
            if rng.random() < 0.2:
                del row[rng.choice(list(row))]
        whole: Any = content if rng.random() < 0.92 else rng.choice([*odd_values, rows])
        text = json.dumps(whole).encode()
        if rng.random() < 0.02:
            return rng.choice(
                (b"[" * 100_000, b'{"results":' * 50_000, b"\xef\xbb\xbf" + text, b"\xff\xfe", b"9" * 10_000)
            )
        return text[: rng.randrange(len(text) + 1)] if rng.random() < 0.05 else text


class OddServer:
    """Sends whatever it is told to everybody who asks, then hangs up, or keeps the line."""

    def __init__(self) -> None:
        self.reply = b""
        self.hangs_up = True
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        self._listening.close()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        with suppress(OSError, ValueError), connection:
            connection.settimeout(2 * TIMEOUT_S)
            asked = b""
            while True:
                head, found, rest = asked.partition(b"\r\n\r\n")
                length = next(
                    (int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")), 0
                )
                if found and len(rest) >= length:
                    connection.sendall(self.reply)
                    if self.hangs_up:
                        return
                    asked = b""
                chunk = connection.recv(1 << 16)
                if not chunk:
                    return
                asked += chunk


def problems(inputs: Iterator[int], seed: int, folder: Path) -> Iterator[tuple[str, str]]:
    """Yield the replies with which a query is neither answered nor failed, or not in time."""
    usual = http_system._LONGEST_WAIT_S
    http_system._LONGEST_WAIT_S = WAIT_S
    server, replies = OddServer(), Replies(seed)
    rng = replies.rng
    try:
        for _ in inputs:
            server.hangs_up = rng.random() < 0.97
            is_search = rng.random() < 0.6
            server.reply = replies.reply(replies.hits() if is_search else replies.embeddings(len(QUERIES)))
            started = time.monotonic()
            reason = problem_of_search(server) if is_search else problem_of_endpoint(server)
            seconds = time.monotonic() - started
            if not reason and seconds > DEADLINE_S:
                reason = f"it took {seconds:.1f} s"
            if reason:
                yield repr(server.reply[:3000]), reason
    finally:
        server.close()
        http_system._LONGEST_WAIT_S = usual


def problem_of_search(server: OddServer) -> str:
    scores = "$.results[*].score"
    options: dict[str, Any] = {"attempts": ATTEMPTS, "timeout_s": TIMEOUT_S, "backoff_s": 0.001, "concurrency": 2}
    system = Http(url=f"{server.url}/{{query}}", ids="$.results[*].id", scores=scores, **options)
    try:
        found = [checked_answer(answer, k=10, repeats=False) for answer in system.answers(QUERIES, k=10)]
    except BaseException as error:  # noqa: BLE001 (that is what is looked for)
        return reason_of(error)
    if sorted(answer.query_id for answer in found) != ["q1", "q2"]:
        return f"the answers are to {[answer.query_id for answer in found]}"
    for answer in found:
        if answer.ranking is None and not answer.reason.strip():
            return f"{answer.query_id} failed without a reason"
        if answer.ranking is not None and not all(
            isinstance(doc, str) and np.isfinite(score) for doc, score in answer.ranking
        ):
            return f"{answer.query_id} was answered {answer.ranking}"
    return ""


def problem_of_endpoint(server: OddServer) -> str:
    system = Dense(model="m", base_url=server.url)
    encoder: Any = system._encoder
    encoder.n_attempts, encoder.sleep = ATTEMPTS, lambda seconds: None
    encoder.__dict__["_transport"] = Transport(timeout_s=TIMEOUT_S, concurrency=2)
    try:
        vectors = system.encode([query.text for query in QUERIES], role="query")
    except RankscopeError as error:
        return "" if error.message.strip() else "an error without words"
    except BaseException as error:  # noqa: BLE001 (that is what is looked for)
        return reason_of(error)
    finally:
        encoder._transport.close()
    return "" if vectors.shape[0] == len(QUERIES) and np.isfinite(vectors).all() else f"vectors {vectors}"
