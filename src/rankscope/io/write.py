"""Writing runs and qrels: a file is complete or not there at all."""

from __future__ import annotations

import os
import secrets
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from rankscope.errors import InputError
from rankscope.io.checks import check_rows
from rankscope.io.compression import compressed, compression_in_name
from rankscope.io.formats import HANDLERS, check_format, format_in_name
from rankscope.io.kinds import AnyRows
from rankscope.io.rows import QrelsRows, RunRows
from rankscope.io.source import PathLike

STDOUT = "-"


def write_run(rows: RunRows, path: PathLike, *, format: str | None = None) -> None:  # noqa: A002
    """Write a run to a file, or to standard output where the path is "-".

    The format is given or taken from the name (TREC text where that says nothing), and so is the compression. JSON
    keeps neither ranks nor the tag.
    """
    write_rows(rows, path, format_name=format)


def write_qrels(rows: QrelsRows, path: PathLike, *, format: str | None = None) -> None:  # noqa: A002
    """Write qrels to a file, or to standard output where the path is "-".

    The format is given or taken from the name (TREC text where that says nothing), and so is the compression. A
    format that has no place for a column that the qrels have is refused.
    """
    write_rows(rows, path, format_name=format)


def write_rows(rows: AnyRows, path: PathLike, *, format_name: str | None) -> str:
    """Write rows, and return the name of the format they were written in."""
    check_format(format_name)
    check_rows(rows)
    name = os.fspath(path)
    chosen = format_name or format_in_name(name) or "trec"
    with open_target(name) as raw, compressed(raw, compression_in_name(name)) as stream:
        HANDLERS[chosen].write(rows, stream)
    return chosen


@contextmanager
def open_target(name: str) -> Iterator[BinaryIO]:
    """Open what is to be written: standard output, a device or pipe as it is, a file by way of a temporary one."""
    if name == STDOUT:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    target = Path(os.path.realpath(name))
    check_target(target, name)
    if target.exists() and not target.is_file():
        with target.open("wb") as stream:
            yield stream
        return
    with replaced(target) as stream:
        yield stream


def check_target(target: Path, name: str) -> None:
    """Refuse a place where no file can be."""
    if target.is_dir():
        raise InputError(f"{name} is a folder", hint="give the name of a file")
    if not target.parent.is_dir():
        raise InputError(f"the folder {target.parent} does not exist", hint="make it first")


@contextmanager
def replaced(target: Path) -> Iterator[BinaryIO]:
    """Open a temporary file beside the target that takes its place once it is complete."""
    temporary = target.with_name(f".rankscope-{secrets.token_hex(8)}.tmp")
    try:
        with open_temporary(temporary) as stream:
            yield stream
        if target.exists():
            shutil.copymode(target, temporary)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def open_temporary(temporary: Path) -> BinaryIO:
    """Open the temporary file, or say why the folder does not take one."""
    try:
        return temporary.open("wb")
    except OSError as error:
        raise InputError(
            f"no file can be written to {temporary.parent}: {error.strerror}", hint="check its permissions"
        ) from error
