"""Reading runs and qrels from files of any known format."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Generic

from rankscope.errors import BadLine, BadLinesError, GradeError, OptionError, did_you_mean
from rankscope.io.detection import empty, layout_of
from rankscope.io.formats import FORMATS, check_format
from rankscope.io.limits import out_of_memory
from rankscope.io.rows import QrelsRows, RunRows
from rankscope.io.source import FileReading, PathLike, StoredFile, source_of
from rankscope.io.table import QRELS, RUN, Format, RowKind, Rows
from rankscope.light import LightRecord
from rankscope.printable import counted
from rankscope.progress import Progress


class ReadFile(LightRecord, Generic[Rows], eq=False):
    """The rows of a file, and what is needed to say exactly which file that was."""

    rows: Rows
    path: str
    """The file that was read: "-" is standard input; of a BEIR folder it is the qrels file."""
    format: str
    compression: str | None
    sha256: str
    """The digest of the file as stored, before decompression."""
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
    for role in columns or {}:
        if role not in kind.aliases:
            raise OptionError(
                f"{role!r} is no column of {kind.noun}; the columns are {', '.join(kind.aliases)}",
                hint=did_you_mean(role, kind.aliases),
            )
    found = layout_of(source, format_name=format, columns=columns)
    handler = FORMATS[found.format]
    with source.reading(progress=progress, columns=columns, strict=True, lenient=lenient) as reading:
        try:
            collected = handler.collect(reading, kind)
        except BadLinesError as error:
            raise explained(error, error.bad_lines[-1].line - len(error.bad_lines), kind, handler=handler) from None
    check_collected(reading, len(collected), kind, handler=handler, lenient=lenient)
    return ReadFile(
        rows=kind.build(collected),
        path=source.name,
        format=found.format,
        compression=source.compression,
        sha256=source.sha256(),
        bad_lines=tuple(reading.bad_lines),
        n_ungraded=reading.n_ungraded,
    )


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
    hint = f"every row needs query, doc, {kind.value}; correct these, or skip them with lenient=True (--lenient)"
    own = handler.explain(kind, error.bad_lines, n_good) if handler.explain else None
    return BadLinesError(error.bad_lines, is_all=error.is_all, hint=own or hint)
