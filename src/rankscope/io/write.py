"""Writing runs and qrels: a file is complete or not there at all."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import BinaryIO

import numpy as np

from rankscope.errors import FormatError, GradeError, IdError, InputError, ScoreError
from rankscope.io.addresses import address_in, shown_url
from rankscope.io.compression import compressed
from rankscope.io.formats import FORMATS, check_format, compression_in_name, format_to_write
from rankscope.io.limits import cannot_write
from rankscope.io.rows import EXTRA_QRELS_COLUMNS, AnyRows, RunRows
from rankscope.io.source import PathLike

_TEMPORARY = re.compile(r"\.rankscope-[0-9a-f]{16}\.tmp")


def write_rows(rows: AnyRows, path: PathLike, *, format: str | None = None) -> str:  # noqa: A002
    """Write rows to a file, or to standard output where the path is "-", and return the name of their format.

    It is given or taken from the name (TREC text where that says nothing), and so is the compression. A format that has
    no place for a column of qrels is refused; JSON keeps neither ranks nor the tag of a run.
    """
    check_format(format)
    check_rows(rows)
    name = os.fspath(path)
    chosen = format_to_write(name, format)
    write = FORMATS[chosen].write
    if write is None:
        raise FormatError(f"{chosen} can be read, but not written", hint="write csv, tsv, jsonl, parquet or arrow")
    with open_target(name) as raw, compressed(raw, compression_in_name(name)) as stream:
        write(rows, stream)
    return chosen


write_run = write_qrels = write_rows


def check_is_here(name: str) -> None:
    """Refuse an address in place of a file to write; a folder may have a name that looks like one."""
    address = address_in(name)
    if address is not None and not Path(os.path.realpath(name)).parent.is_dir():
        hint = "write a file on this machine, and copy it there"
        raise InputError(f"{shown_url(address)} is elsewhere, and nothing is written there", hint=hint)


@contextmanager
def open_target(name: str) -> Iterator[BinaryIO]:
    """Open what is to be written: standard output, a device or pipe as it is, a file by way of a temporary one."""
    if name == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    target = Path(os.path.realpath(name))
    check_is_here(name)
    if target.is_dir():
        raise InputError(f"{name} is a folder", hint="give the name of a file")
    if not target.parent.is_dir():
        raise InputError(f"the folder {target.parent} does not exist", hint="make it first")
    is_device = target.exists() and not target.is_file()
    with errors_of_writing(name), target.open("wb") if is_device else replaced(target, name) as stream:
        yield stream


@contextmanager
def replaced(target: Path, name: str | None = None) -> Iterator[BinaryIO]:
    """Open a temporary file beside the target, or what its user calls so, that takes its place once it is complete.

    It stays locked until then: one that nobody has locked was left by a process that was killed, and is removed.
    """
    sweep_half_written(target.parent)
    temporary = target.with_name(f".rankscope-{secrets.token_hex(8)}.tmp")
    held = ExitStack()
    try:
        with errors_of_writing(name or str(target)):
            with temporary.open("wb") as stream:
                held.enter_context(locked(stream.fileno()))
                yield stream
                stream.flush()
                os.fsync(stream.fileno())  # else a crash could leave an empty file under the name of a complete one
            if target.exists():
                shutil.copymode(target, temporary)
            temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
        held.close()


@contextmanager
def locked(descriptor: int) -> Iterator[bool]:
    """Lock an open file, also beyond its closing; tells whether that was possible: on Windows it is not."""
    try:
        import fcntl
    except ImportError:
        yield False
        return
    own = os.dup(descriptor)
    try:
        is_locked = True
        try:
            fcntl.flock(own, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:  # another process has it, or the file system knows no locks
            is_locked = False
        yield is_locked
    finally:
        with suppress(OSError):
            os.close(own)


def sweep_half_written(folder: Path, *, min_age_s: float = 60) -> None:
    """Remove the temporary files of processes that were killed; a new one may be seconds old before it is locked."""
    try:
        entries = [entry for entry in os.scandir(folder) if _TEMPORARY.fullmatch(entry.name)]
    except OSError:
        return
    for entry in entries:
        with suppress(OSError):  # those of other users, and what another process has removed meanwhile
            if not entry.is_file(follow_symlinks=False) or time.time() - entry.stat().st_mtime < min_age_s:
                continue
            with open(entry.path, "rb") as file, locked(file.fileno()) as is_left:  # noqa: PTH123 (an entry has no open)
                if is_left:
                    os.unlink(entry.path)  # noqa: PTH108 (as above)


@contextmanager
def errors_of_writing(name: str) -> Iterator[None]:
    """Name the file that could not be written; a reader of a pipe who leaves early is no error of ours."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise cannot_write(name, error) from error


def check_rows(rows: AnyRows) -> None:
    """Refuse rows that no format could give back: none at all, an empty id, a number that is not one."""
    if not len(rows):
        raise InputError("there are no rows to write", hint="a file without rows cannot be read back")
    for what, ids in (("query", rows.query), ("doc", rows.doc)):
        if "" in ids:
            raise IdError(
                f"row {list(ids).index('') + 1} has an empty {what} id", hint="every query and every doc needs an id"
            )
    is_run = isinstance(rows, RunRows)
    broken = np.flatnonzero(np.isnan(rows.score) if isinstance(rows, RunRows) else ~np.isfinite(rows.grade))
    if len(broken):
        first = int(broken[0])
        where = f"query {rows.query[first]!r}, doc {rows.doc[first]!r}"
        what, error = ("score", ScoreError) if is_run else ("grade", GradeError)
        raise error(f"the {what} of {where} is not a {'' if is_run else 'finite '}number", hint="leave the row out")


def check_encodable(texts: Iterable[str], *, what: str, errors: str = "surrogateescape") -> None:
    """Refuse texts that are not Unicode and cannot be turned back into the bytes they came from."""
    for text in texts:
        try:
            text.encode("utf-8", errors)
        except UnicodeEncodeError:
            raise IdError(
                f"{what} {text!r} is not Unicode text, which this format cannot hold",
                hint="write json or jsonl instead, or rename it",
            ) from None


def refuse_extra_columns(rows: AnyRows, format_name: str, *, but: str | None = None) -> None:
    """Refuse columns of qrels that a format has no place for: all of them, or all but one."""
    lost = [role for role in EXTRA_QRELS_COLUMNS if role != but and getattr(rows, role, None) is not None]
    if lost:
        raise FormatError(
            f"{format_name} cannot hold the {' and '.join(lost)} of judgments",
            hint="write csv, tsv, jsonl, parquet or arrow instead",
        )


def write_lines(lines: Iterator[str], stream: BinaryIO) -> None:
    """Write lines as UTF-8, many at a time; bytes that were not UTF-8 when an id was read are written as they were."""
    while batch := "".join(islice(lines, 10_000)):
        stream.write(batch.encode("utf-8", "surrogateescape"))
