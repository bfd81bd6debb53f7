"""Compressed files: recognised by their first bytes, read as a stream, written the same way every time."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, BinaryIO, cast

from rankscope.errors import FormatError
from rankscope.io.limits import MAX_GROWTH, SMALL_BYTES, in_words, max_growth

_CHUNK_BYTES = 1 << 17
_ZSTD_BYTES = 1 << 11  # a frame may grow 30,000 times, and so much at most is unpacked at a time
_GROWTH = 200
_HEADER_BYTES = 1 << 16
_MODULES = {"gz": "gzip", "bz2": "bz2", "xz": "lzma"}


def compression_of(head: bytes) -> str | None:
    if head.startswith(b"\x1f\x8b\x08"):
        return "gz"
    if head.startswith(b"BZh") and head[4:10] in {b"1AY&SY", b"\x17rE8P\x90"}:
        return "bz2"
    if head.startswith(b"\xfd7zXZ\x00"):
        return "xz"
    is_skippable = head[1:4] == b"\x2a\x4d\x18" and head[0] in range(0x50, 0x60)  # a frame of Zstandard without data
    return "zst" if head.startswith(b"\x28\xb5\x2f\xfd") or is_skippable else None


@contextmanager
def decompressed(raw: BinaryIO, compression: str | None, *, name: str, n_bytes: int) -> Iterator[BinaryIO]:
    """Open a stream of what a file of so many bytes holds; damaged data becomes an error that says so.

    A file that grows beyond what honest data does is refused, since a small one could fill the memory.
    """
    if compression is None:
        yield raw
        return
    import lzma
    import zlib

    damage: tuple[type[Exception], ...] = (EOFError, OSError, zlib.error, lzma.LZMAError)
    if compression == "zst":
        import zstandard

        damage += (zstandard.ZstdError,)
    growth = max_growth(_GROWTH)
    try:  # each one reads on where several compressed files were joined
        if compression == "zst":
            stream: Any = ZstdStream(raw)
        elif compression == "gz":
            stream = import_module("gzip").open(GuardedHeaders(raw, name))
        else:
            stream = import_module(_MODULES[compression]).open(raw)
        limited = LimitedStream(stream, name=name, growth=growth, limit=max(SMALL_BYTES, growth * n_bytes))
        yield cast("BinaryIO", io.BufferedReader(limited, _CHUNK_BYTES))
    except damage as error:
        if getattr(error, "errno", None) is not None:
            raise  # the system's own errors have a number, those about the data have none
        raise FormatError(
            f"{name} cannot be decompressed: {error}",
            hint=f"its first bytes say {compression}, but it is cut off or damaged; copy or download it again",
        ) from error


class GuardedHeaders:
    """Reads the raw bytes of gzip, but no name or comment without end in a header, which Python reads byte by byte."""

    def __init__(self, raw: BinaryIO, name: str) -> None:
        self._raw = raw
        self._name = name
        self._n_single = 0

    def read(self, n_bytes: int) -> bytes:
        self._n_single = self._n_single + 1 if n_bytes == 1 else 0
        if self._n_single > _HEADER_BYTES:
            raise FormatError(
                f"{self._name} cannot be decompressed: the name or comment in a header of it is longer than "
                f"{in_words(_HEADER_BYTES)}",
                hint="it is damaged, or made to keep its reader busy; compress the data again",
            )
        return self._raw.read(n_bytes)


class LimitedStream(io.RawIOBase):
    """Reads a stream, but no more than a limit of bytes."""

    def __init__(self, stream: Any, *, name: str, growth: int, limit: int) -> None:
        super().__init__()
        self._stream = stream
        self._name = name
        self._growth = growth
        self._limit = self._left = limit

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        n_bytes: int = self._stream.readinto(buffer)
        self._left -= n_bytes
        if self._left < 0:
            raise FormatError(
                f"{self._name} holds more than {in_words(self._limit)} when it is decompressed, "
                f"which is over {self._growth} times its size",
                hint="such a file may be made to fill the memory; if it is sound, decompress it and give the result, "
                f"or let it grow more by {MAX_GROWTH}=TIMES",
            )
        return n_bytes


def zstd_chunks(raw: BinaryIO) -> Iterator[bytes]:
    """Yield what frame after frame holds.

    No method of the stream, which would then refer to itself: its megabytes would stay where not all of it is read.
    """
    import zstandard

    decompress = zstandard.ZstdDecompressor(max_window_size=1 << 31)
    frame = None
    while data := raw.read(_ZSTD_BYTES):
        while data:
            frame = frame or decompress.decompressobj()
            yield frame.decompress(data)
            data = frame.unused_data if frame.eof else b""
            frame = None if frame.eof else frame
    if frame is not None:
        raise EOFError("the data ends within a frame")


class ZstdStream(io.RawIOBase):
    """Decompresses frame after frame; the reader of zstandard would take a file that is cut off for its end."""

    def __init__(self, raw: BinaryIO) -> None:
        super().__init__()
        self._chunks = zstd_chunks(raw)
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        while not self._rest:
            chunk = next(self._chunks, None)
            if chunk is None:
                return 0
            self._rest = memoryview(chunk)
        n_bytes = min(len(buffer), len(self._rest))
        buffer[:n_bytes] = self._rest[:n_bytes]
        self._rest = self._rest[n_bytes:]
        return n_bytes


@contextmanager
def compressed(raw: BinaryIO, compression: str | None) -> Iterator[BinaryIO]:
    """Open a stream that compresses what is written to it; without a time in it, the same rows give the same file."""
    if compression is None:
        yield raw
        return
    if compression == "gz":
        import gzip

        stream: Any = gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=raw, mtime=0)
    elif compression == "zst":
        import zstandard

        stream = zstandard.ZstdCompressor().stream_writer(raw, closefd=False)
    else:
        stream = import_module(_MODULES[compression]).open(raw, "wb")
    with stream:
        yield stream
