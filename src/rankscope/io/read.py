"""Reading runs and qrels from files of any known format."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Generic

from rankscope.errors import BadLine, BadLinesError, GradeError, OptionError, did_you_mean
from rankscope.io.detection import empty, layout_of
from rankscope.io.formats import FORMATS, check_format
from rankscope.io.limits import out_of_memory
from rankscope.io.rows import QrelsRows, RunRows
from rankscope.io.source import FileReading, PathLike, StoredFile, source_of
from rankscope.io.table import QRELS, RUN, Collector, Format, RowKind, Rows
from rankscope.light import LightRecord
from rankscope.printable import counted
from rankscope.progress import Progress

if TYPE_CHECKING:
    import polars as pl


class ReadFile(LightRecord, Generic[Rows], eq=False):
    """The rows of a file, and what is needed to say exactly which file that was."""

    rows: Rows
    path: str
    """The file that was read: "-" is standard input; of a BEIR folder it is the qrels file."""
    format: str
    compression: str | None
    sha256: str
    """The digest of the file as stored, before decompression; `etag:…` where its store's own stands for it."""
    bad_lines: tuple[BadLine, ...] = ()
    """The malformed lines that were left out, as `lenient` allows."""
    n_ungraded: int = 0
    """Rows of qrels without a grade, which are left out."""


def read_run(path: PathLike | StoredFile, **options: Any) -> ReadFile[RunRows]:
    return read_file(path, RUN, **options)


def read_qrels(path: PathLike | StoredFile, **options: Any) -> ReadFile[QrelsRows]:
    return read_file(path, QRELS, **options)


def read_file(
    path: PathLike | StoredFile,
    kind: RowKind[Rows],
    *,
    format: str | None = None,  # noqa: A002
    columns: Mapping[str, str] | None = None,
    lenient: bool = False,
    progress: Progress | None = None,
) -> ReadFile[Rows]:
    """Read a file, the qrels of a BEIR folder, or standard input where the path is "-".

    The format is detected from the content unless it is given. `columns` maps roles to the columns of a table, e.g.
    `{"score": "similarity"}`. Malformed lines are an error that lists them all; with `lenient` they are left out
    and returned as `bad_lines`. `progress` is called with the bytes read so far and the size of the file.
    """
    check_format(format)
    source = source_of(path)
    try:
        return read_source(source, kind, format=format, columns=columns, lenient=lenient, progress=progress)
    except MemoryError as error:
        raise out_of_memory(source.name, 0) from error


def read_source(
    source: StoredFile,
    kind: RowKind[Rows],
    *,
    format: str | None,  # noqa: A002
    columns: Mapping[str, str] | None,
    lenient: bool,
    progress: Progress | None,
) -> ReadFile[Rows]:
    """Read as `read_file` does what has been found and checked."""
    check_roles(columns, kind)
    found = layout_of(source, format_name=format, columns=columns)
    handler = FORMATS[found.format]
    with source.reading(progress=progress, columns=columns, strict=True, lenient=lenient) as reading:
        collected = explaining(reading, kind, handler, handler.collect)
    check_collected(reading, len(collected), kind, handler=handler, lenient=lenient)
    return ReadFile(
        rows=kind.build(collected),
        path=source.name,
        format=found.format,
        compression=source.compression,
        sha256=source.digest(found.format),
        bad_lines=tuple(reading.bad_lines),
        n_ungraded=reading.n_ungraded,
    )


class TableFile(LightRecord, eq=False):
    """A file of a run or qrels that is a table, as it was read: by column, before any row was looked at."""

    frame: pl.DataFrame
    """Its columns by role, with the types that they have in runs and qrels."""
    kind: RowKind[Any]
    path: str
    format: str
    compression: str | None
    sha256: str
    lenient: bool = False

    @property
    def integer_ids(self) -> frozenset[str]:
        from rankscope.io.polars_file import integer_ids_in

        return integer_ids_in(self.frame)

    @property
    def tag(self) -> str | None:
        from rankscope.io.polars_file import tag_in

        return tag_in(self.frame)

    def checked(self) -> ReadFile[Any]:
        """Return what `read_file` returns: every row is looked at, and what is malformed is an error or left out."""
        handler = FORMATS[self.format]
        reading = FileReading(self.path, io.BytesIO(), strict=True, lenient=self.lenient)
        try:
            collected = explaining(reading, self.kind, handler, partial(handler.collect_table, table=self.frame))
        except MemoryError as error:
            raise out_of_memory(self.path, 0) from error
        check_collected(reading, len(collected), self.kind, handler=handler, lenient=self.lenient)
        rows = self.kind.build(collected)
        return ReadFile(rows, self.path, self.format, self.compression, self.sha256, tuple(reading.bad_lines))


def read_columns(
    path: PathLike | StoredFile,
    kind: RowKind[Any],
    *,
    format: str | None = None,  # noqa: A002
    columns: Mapping[str, str] | None = None,
    lenient: bool = False,
    progress: Progress | None = None,
) -> TableFile | None:
    """Read a file as `read_file` does, but by column; None where it is in a format that has none."""
    check_format(format)
    source = source_of(path)
    try:
        check_roles(columns, kind)
        found = layout_of(source, format_name=format, columns=columns)
        handler = FORMATS[found.format]
        if handler.read_columns is None:
            return None
        with source.reading(progress=progress, columns=columns, strict=True, lenient=lenient) as reading:
            frame = handler.read_columns(reading, kind)
    except MemoryError as error:
        raise out_of_memory(source.name, 0) from error
    digest = source.digest(found.format)
    return TableFile(frame, kind, source.name, found.format, source.compression, digest, lenient)


def check_roles(columns: Mapping[str, str] | None, kind: RowKind[Any]) -> None:
    """Refuse columns of which no run, or no qrels, has any."""
    for role in columns or {}:
        if role not in kind.aliases:
            raise OptionError(
                f"{role!r} is no column of {kind.noun}; the columns are {', '.join(kind.aliases)}",
                hint=did_you_mean(role, kind.aliases),
            )


def explaining(
    reading: FileReading, kind: RowKind[Any], handler: Format, collect: Callable[..., Collector]
) -> Collector:
    """Collect rows; where there are too many malformed ones to go on, say so with a hint for the format."""
    try:
        return collect(reading, kind)
    except BadLinesError as error:
        raise explained(error, error.bad_lines[-1].line - len(error.bad_lines), kind, handler=handler) from None


def check_collected(reading: FileReading, n_good: int, kind: RowKind[Any], *, handler: Format, lenient: bool) -> None:
    """Raise what keeps rows from being used: malformed lines, unless they may be left out, or no rows at all."""
    if reading.bad_lines and not (lenient and n_good):
        raise explained(BadLinesError(reading.bad_lines), n_good, kind, handler=handler)
    if not n_good and reading.n_ungraded:
        raise GradeError(
            f"not one of the {counted(reading.n_ungraded, 'row')} of {reading.name} has a grade",
            hint="fill in the column of grades; rows without one are left out",
        )
    if not n_good:
        raise empty(reading.name)


def explained(error: BadLinesError, n_good: int, kind: RowKind[Any], *, handler: Format) -> BadLinesError:
    """Return the error with a hint for the format and kind of file."""
    own = handler.explain(kind, error.bad_lines, n_good) if handler.explain else None
    return BadLinesError(error.bad_lines, is_all=error.is_all, hint=own or hint_for_rows(kind))


def hint_for_rows(kind: RowKind[Any]) -> str:
    return f"every row needs query, doc, {kind.value}; correct these, or skip them with lenient=True (--lenient)"
