"""Files that are not on this machine: those of object stores, `s3://`, `gs://` and `az://`, and of web servers.

    with remote_open("s3://bucket/runs/bm25.run.zst") as file:
        ...                                              # a binary file that can be sought; read by ranges, ahead

An object is known by its ETag from the first request on: where it changes while it is read, that is an error. How the
requests are made is in `remote_store.py` and `remote_http.py`, which are loaded when they are needed.
"""

from __future__ import annotations

import fnmatch
import io
import os
import re
import time
from collections import deque
from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol, TypeVar, cast

from rankscope.errors import InputError, UnfinishedError, did_you_mean
from rankscope.io.addresses import STORES, shown_url
from rankscope.light import LightRecord, field

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

Result = TypeVar("Result")

WEB = ("https", "http")
HEAD_BYTES = 1 << 18
"""What the first request asks for: enough to tell the format of a file."""
N_RETRIES = 3
BACKOFF_S = 0.5
"""The first wait before a request is made again; each further one is twice as long."""
_BLOCK_BYTES = 8 << 20
_N_AHEAD = 3
_NAMED = 3
_LISTED = 2_000
"""So many names at most are looked at for one that was meant."""


class RemoteFile(LightRecord):
    """A file that is not on this machine, as it was when it was first asked for."""

    url: str = field(repr=False)
    """The address as it was given; `name` is the one to show."""
    size: int
    etag: str | None = None
    """What the server calls this version of it."""
    head: bytes | None = field(default=None, repr=False, compare=False)
    """Its first bytes, where they came with the first answer."""
    content: Any = field(default=None, repr=False, compare=False)
    """A temporary file that holds all of it, where its server does not send parts."""
    digests: dict[str, str] = field(default_factory=dict, repr=False, compare=False)
    """Its sha256, once it has been read from start to end."""

    def __reduce__(self) -> tuple[Any, ...]:
        if self.content is not None or self.etag is None:
            return remote_file, (self.url,)  # the copy belongs to this process
        return RemoteFile, (self.url, self.size, self.etag)

    @property
    def name(self) -> str:
        return shown_url(self.url)

    @property
    def version(self) -> str:
        """What tells this version from others: its ETag, else its SHA-256; lists and answers may quote ETags or not."""
        if self.etag is not None:
            return self.etag.removeprefix("W/").strip('"')
        if "sha256" not in self.digests:
            import hashlib

            with remote_open(self) as file:
                self.digests["sha256"] = hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]
        return self.digests["sha256"]

    @property
    def key(self) -> str:
        """The part of the address behind the bucket or host."""
        return parts_of(self.url)[2]


class RemoteBackend(Protocol):
    """A way to ask for remote files; errors are those that users see, or `TransientError`."""

    def first(self, url: str) -> RemoteFile:
        """Return what is known of a file, usually with its first bytes."""

    def read(self, file: RemoteFile, start: int, end: int) -> bytes:
        """Return a part of the version of a file that was asked for first."""

    def files_below(self, url: str) -> Iterator[RemoteFile]:
        """Yield the files whose addresses begin with one that ends in a slash, at any depth."""


class TransientError(Exception):
    """A request that may well succeed when it is made again."""


def parts_of(url: str) -> tuple[str, str, str]:
    """Return the scheme of an address, its bucket or host, and the key or path behind it; refuse what is none."""
    scheme, _, rest = url.partition("://")
    scheme = scheme.lower()
    host, _, key = rest.partition("/")
    name = shown_url(url)
    if scheme in WEB:
        return scheme, host, key
    if scheme not in STORES:
        hint = "give the path itself" if scheme == "file" else did_you_mean(scheme, [*STORES, "https"])
        known = f"addresses begin with {', '.join(f'{each}://' for each in STORES)} or https://"
        raise InputError(f"{name}: {scheme}:// cannot be opened", hint=f"{hint}; {known}" if hint else known)
    if "@" in host:
        raise InputError(
            f"{name} is given with a user or password in it", hint="credentials come from the environment alone"
        )
    if shown_url(url) != f"{scheme}://{rest}":
        raise InputError(
            f"{name} is given with a query behind it",
            hint="an address that is signed begins with https://; other credentials come from the environment alone",
        )
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", host):
        raise InputError(f"{name} names no bucket", hint=f"give {scheme}://BUCKET/KEY")
    return scheme, host, key


def is_pattern(url: str) -> bool:
    """Tell whether an address stands for several files: its key has *, ? or [ in it."""
    return parts_of(url)[0] in STORES and any(sign in parts_of(url)[2] for sign in "*?[")


def is_prefix(url: str) -> bool:
    """Tell whether an address stands for all files below it."""
    return parts_of(url)[0] in STORES and (url.endswith("/") or not parts_of(url)[2])


def remote_list(url: str) -> list[RemoteFile]:
    """Return the files that an address stands for, ordered by name.

    A prefix that ends in a slash stands for all files below it, `*` and `?` for any characters but slashes, `**` for
    slashes, too; anything else is one file. Where there is no such file, that is an error.
    """
    if not (is_pattern(url) or is_prefix(url)):
        return [remote_file(url)]
    scheme, bucket, key = parts_of(url)
    fixed = re.split(r"[*?\[]", key, maxsplit=1)[0]
    below = f"{scheme}://{bucket}/{fixed[: fixed.rfind('/') + 1]}"
    found = tried(lambda: list(backend_of(url).files_below(below)), url)
    matches = pattern_of(key).fullmatch if is_pattern(url) else re.compile("").match
    folders = {file.key[: place.start()] for file in found for place in re.finditer("/", file.key)}
    # a folder that somebody made by hand is an object without content of that name
    files = [file for file in found if matches(file.key) and file.key.rstrip("/") not in folders]
    files.sort(key=lambda file: file.key.encode("utf-8", "surrogateescape"))
    if not files:
        near = did_you_mean(key.rpartition("/")[2], [file.key.rpartition("/")[2] for file in found[:_LISTED]])
        what = "no file matches" if is_pattern(url) else "there is nothing below"
        hint = near or (f"{len(found):,} files lie below {below}" if found else names_beside(below))
        raise InputError(f"{what} {shown_url(url)}", hint=hint)
    return files


def names_beside(folder: str) -> str:
    """Return a hint that names the closest of what lies beside a folder in which nothing lies."""
    scheme, bucket, key = parts_of(folder)
    parent, slash, name = key.rstrip("/").rpartition("/")
    above = f"{scheme}://{bucket}/{parent}{slash}"
    beside = tried(lambda: list(islice(backend_of(folder).files_below(above), _LISTED)), folder)
    names = {file.key.removeprefix(parent + slash).partition("/")[0] for file in beside}
    there = ", ".join(sorted(names)[:_NAMED]) + (", …" if len(names) > _NAMED else "")
    return did_you_mean(name, sorted(names)) or (f"below {above} there are {there}" if names else "check the path")


def pattern_of(key: str) -> re.Pattern[str]:
    """Return a pattern of names as an expression; * and ? do not stand for a slash, ** does."""
    parts = re.split(r"(\*\*/?|\*|\?)", key)
    signs = {"**": ".*", "**/": "(?:.*/)?", "*": "[^/]*", "?": "[^/]"}
    # what is left for fnmatch are sets of characters; it puts an end behind the expression that does not belong there
    texts = (signs.get(part) or re.sub(r"\\[zZ]$", "", fnmatch.translate(part)) for part in parts)
    return re.compile("".join(texts), re.DOTALL)


def remote_file(url: str) -> RemoteFile:
    """Ask for a file: its size, its version and its first bytes."""
    if is_pattern(url) or is_prefix(url):
        raise InputError(f"{shown_url(url)} stands for several files", hint="give one of them")
    return tried(lambda: backend_of(url).first(url), url)


def remote_bytes(file: str | RemoteFile, start: int = 0, end: int | None = None) -> bytes:
    """Return a part of a file, or all of it."""
    known = remote_file(file) if isinstance(file, str) else file
    stop = known.size if end is None else min(end, known.size)
    if start >= stop:
        return b""
    if known.head is not None and stop <= len(known.head):
        return known.head[start:stop]
    if known.content is not None:
        return os.pread(known.content.fileno(), stop - start, start)

    def read() -> bytes:
        data = backend_of(known.url).read(known, start, stop)
        if len(data) != stop - start:
            raise TransientError(f"the answer has {len(data):,} of {stop - start:,} bytes")
        return data

    return tried(read, known.url)


def remote_open(file: str | RemoteFile) -> BinaryIO:
    """Open a file for reading; what is read in a row is asked for ahead."""
    return cast("BinaryIO", RangeFile(remote_file(file) if isinstance(file, str) else file))


def backend_of(url: str) -> RemoteBackend:
    if parts_of(url)[0] in WEB:
        from rankscope.io.remote_http import WebFiles

        return WebFiles()
    from rankscope.io.remote_store import object_store

    return object_store(url)


def tried(ask: Callable[[], Result], url: str) -> Result:
    """Make a request, and make it again after a while where it may well succeed then."""
    for attempt in range(N_RETRIES + 1):
        try:
            return ask()
        except TransientError as error:
            reason = str(error)
        if attempt < N_RETRIES:
            time.sleep(BACKOFF_S * 2**attempt)
    raise not_finished(url, reason)


def not_finished(url: str, reason: str) -> UnfinishedError:
    return UnfinishedError(
        f"{shown_url(url)} could not be read: {reason}",
        hint=f"it was tried {N_RETRIES + 1} times; try again later",
    )


def has_changed(url: str) -> InputError:
    return InputError(
        f"{shown_url(url)} changed while it was read",
        hint="wait until what writes it has come to its end, then try again",
    )


def no_such_file(url: str, near: list[str]) -> InputError:
    """Return the error for a missing file, given the names beside it."""
    own = parts_of(url)[2].rpartition("/")[2]
    if own in near:
        return InputError(f"{shown_url(url)} is listed, but is not there", hint="was it removed just now? Try again")
    return InputError(f"{shown_url(url)} does not exist", hint=did_you_mean(own, near) or "check the address")


class RangeFile(io.RawIOBase):
    """A remote file that is read by ranges. Blocks grow while it is read in a row, and the next ones are on the way."""

    def __init__(self, file: RemoteFile) -> None:
        super().__init__()
        self.file = file
        self.name = file.name
        self.size = self.remote_size = file.size
        self._at = 0
        self._start = 0
        self._block = memoryview(file.head or b"")
        self._next = HEAD_BYTES
        """How many bytes the next block has."""
        self._asked = len(self._block)
        """What is before this place has been asked for."""
        self._hash: Any = None
        self._hashed = 0
        self._ahead: deque[Future[bytes]] = deque()

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = 0) -> int:
        at = offset + (0, self._at, self.size)[whence]
        if at < 0:
            raise ValueError("a file has no place before its start")
        self._at = at
        return at

    def readinto(self, buffer: Any) -> int:
        block = self._block_at(self._at)
        n_bytes = min(len(buffer), len(block))
        buffer[:n_bytes] = block[:n_bytes]
        self._took(block[:n_bytes])
        return n_bytes

    def read(self, size: int | None = -1) -> bytes:
        """Return so many bytes, fewer only at the end of the file."""
        left = self.size - self._at if size is None or size < 0 else min(size, self.size - self._at)
        parts: list[memoryview] = []
        while left > 0:
            part = self._block_at(self._at)[:left]
            parts.append(part)
            self._took(part)
            left -= len(part)
        return b"".join(parts)

    def close(self) -> None:
        if not self.closed:
            self._forget_ahead()
            if "_threads" in self.__dict__:
                self._threads.shutdown(wait=False, cancel_futures=True)
        super().close()

    def _took(self, part: memoryview) -> None:
        """Go on by what was read; what is read from start to end is hashed on the way, as it may be far to fetch."""
        if self._at == self._hashed and part:
            if self._hash is None:
                import hashlib

                self._hash = hashlib.sha256()
            self._hash.update(part)
            self._hashed += len(part)
            if self._hashed == self.size:
                self.file.digests["sha256"] = self._hash.hexdigest()
        self._at += len(part)

    def _block_at(self, at: int) -> memoryview:
        """Return what is at hand from a place on; at least a byte, unless it is the end."""
        if at >= self.size:
            return memoryview(b"")
        if not self._start <= at < self._start + len(self._block):
            self._load(at)
        return self._block[at - self._start :]

    def _load(self, at: int) -> None:
        is_in_a_row = at == self._start + len(self._block)
        if not is_in_a_row:
            self._forget_ahead()
            self._next = HEAD_BYTES
        if self._ahead:
            data = self._ahead.popleft().result()
        else:
            data = remote_bytes(self.file, at, min(at + self._next, self.size))
            self._asked = at + len(data)
        self._start, self._block = at, memoryview(data)
        while is_in_a_row and len(self._ahead) < _N_AHEAD and self._asked < self.size and self.file.content is None:
            self._next = min(self._next * 2, _BLOCK_BYTES)
            start, self._asked = self._asked, min(self._asked + self._next, self.size)
            self._ahead.append(self._threads.submit(remote_bytes, self.file, start, self._asked))

    def _forget_ahead(self) -> None:
        for block in self._ahead:
            block.cancel()
        self._ahead.clear()

    @cached_property
    def _threads(self) -> ThreadPoolExecutor:
        from concurrent.futures import ThreadPoolExecutor

        return ThreadPoolExecutor(_N_AHEAD, thread_name_prefix="rankscope-remote")
