"""TREC text as bytes, for the kernel, which reads them itself; and the errors for what it finds malformed.

Most files are plain TREC text, and to see that takes one look at the first line: what other formats need is only
loaded for other formats.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from rankscope.errors import BadLine, BadLinesError
from rankscope.io.limits import cannot_read, check_size, out_of_memory
from rankscope.light import LightRecord
from rankscope.progress import Progress

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankscope.io.remote import RemoteFile
    from rankscope.io.source import PathLike, StoredFile

_HEAD_BYTES = 1 << 14
_OTHER_MAGIC = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd")
"""How compressed files begin. Other files that are not text have a NUL byte near their start."""


class TrecFile(LightRecord):
    """A file of TREC text."""

    name: str
    compression: str | None = None
    content: bytes | None = None
    """What was read from something that can be read only once."""
    remote: RemoteFile | None = None
    """What is known of a file that is not on this machine."""

    @cached_property
    def source(self) -> StoredFile:
        from rankscope.io.source import StoredFile

        return StoredFile(self.name, self.content, self.remote)

    def sha256(self) -> str:
        return self.source.sha256()

    @property
    def is_plain_file(self) -> bool:
        return self.compression is None and self.content is None and self.remote is None

    @property
    def is_stream(self) -> bool:
        """Whether the text arrives in pieces: it has to be decompressed, or fetched."""
        return self.compression is not None or self.remote is not None

    @contextmanager
    def opened(self) -> Iterator[tuple[int, int]]:
        """Open a plain file for the kernel: its number, and how many bytes it has, which must not change meanwhile."""
        try:
            file = open(self.name, "rb")  # noqa: PTH123, SIM115 (pathlib takes longer to load than to read a small file)
        except OSError as error:
            raise cannot_read(self.name, error) from error
        with file:
            n_bytes = os.fstat(file.fileno()).st_size
            try:
                yield file.fileno(), n_bytes
            except RuntimeError as error:  # the kernel could not read on
                check_size(self.name, file, n_bytes)
                raise cannot_read(self.name, OSError(str(error))) from error
            check_size(self.name, file, n_bytes)

    def data(self) -> NDArray[np.uint8]:
        """Return the text as bytes in memory, decompressed; what is there already is not copied."""
        if self.content is not None and self.compression is None:
            return np.frombuffer(self.content, dtype=np.uint8)
        return np.frombuffer(b"".join(self.chunks()), dtype=np.uint8)

    def chunks(self, progress: Progress | None = None) -> Iterator[bytes]:
        with self.source.reading(progress=progress) as reading:
            yield from reading.chunks()

    @contextmanager
    def errors_of_kernel(self) -> Iterator[None]:
        """Say in words of ours what keeps the kernel from reading the text."""
        try:
            yield
        except MemoryError as error:
            raise out_of_memory(self.name, self.n_stored) from error
        except ValueError as error:
            if "line is too long" in str(error):  # the reader of lines says which one
                with self.source.reading() as reading:
                    for _ in reading.blocks():
                        pass
            raise

    @property
    def n_stored(self) -> int:
        if self.remote is not None:
            return self.remote.size
        return os.path.getsize(self.name) if self.content is None else len(self.content)  # noqa: PTH202 (as above)


def trec_text(
    stored: PathLike | StoredFile,
    kind: str,
    *,
    format_name: str | None = None,
    columns: Mapping[str, str] | None = None,
) -> TrecFile | None:
    """Return a file as TREC text of a kind, run or qrels, or None where it is in another format."""
    is_usual = format_name is None and not columns
    if is_usual and isinstance(stored, str | os.PathLike) and is_plain(stored, kind):
        return TrecFile(os.fspath(stored))
    from rankscope.io.detection import layout_of
    from rankscope.io.formats import check_format
    from rankscope.io.source import source_of

    check_format(format_name)
    if columns or format_name not in (None, "trec"):
        return None
    source = source_of(stored)
    layout = layout_of(source, format_name=format_name)
    if layout.format != "trec":
        return None
    return TrecFile(source.name, source.compression, source.content, source.remote)


def is_plain(path: str | os.PathLike[str], kind: str) -> bool:
    """Tell whether a file surely is plain TREC text, by its first line; any doubt is left to closer inspection."""
    if not os.path.isfile(path):  # noqa: PTH113 (as above)
        return False
    try:
        with open(path, "rb") as file:  # noqa: PTH123 (as above)
            if not os.fstat(file.fileno()).st_size:
                return False
            head = file.read(_HEAD_BYTES)
    except OSError:
        return False
    if head.startswith(_OTHER_MAGIC) or b"\0" in head:
        return False
    lines = head.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    whole = lines[:-1] if len(head) == _HEAD_BYTES else lines
    fields = next((line.split() for line in whole if line.strip() and not line.lstrip().startswith(b"#")), [])
    if not (len(fields) >= 6 if kind == "run" else len(fields) == 4):
        return False
    try:
        number = float(fields[4 if kind == "run" else 3])
    except ValueError:
        return False
    return number == number  # noqa: PLR0124 (NaN is not, and no score either)


def bad_run_lines(
    name: str, numbered: Sequence[tuple[int, bytes]], *, n_good: int, lenient: bool
) -> tuple[BadLine, ...]:
    """Let the reader of lines say what is wrong with each; raise it where that is not to be tolerated."""
    if not numbered:
        return ()
    import io

    from rankscope.io import trec
    from rankscope.io.source import FileReading
    from rankscope.io.table import RUN, Collector

    reading = FileReading(name, io.BytesIO(), lenient=lenient)
    is_all = True
    try:
        trec.take_lines(reading, Collector(), RUN, numbered=numbered)
    except BadLinesError as error:
        is_all = error.is_all
    if reading.bad_lines and not (lenient and n_good):
        hint = trec.explain(RUN, reading.bad_lines, n_good)
        raise BadLinesError(reading.bad_lines, is_all=is_all, hint=hint)
    return tuple(reading.bad_lines)
