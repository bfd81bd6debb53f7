"""Converting a run or qrels from one format to another."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from rankscope.checks import check_options
from rankscope.errors import BadLine, InputError, OptionError, did_you_mean
from rankscope.io.detection import detect
from rankscope.io.formats import check_format
from rankscope.io.read import read_file
from rankscope.io.shards import is_many
from rankscope.io.source import PathLike, StoredFile, source_of
from rankscope.io.table import KINDS
from rankscope.io.write import write_rows
from rankscope.records import StoredRecord


class Conversion(StoredRecord):
    """What a conversion read and wrote."""

    kind: str
    source_format: str
    target_format: str
    n_rows: int
    n_queries: int
    bad_lines: tuple[BadLine, ...] = ()


def convert(
    source: PathLike,
    target: PathLike,
    *,
    kind: str | None = None,
    source_format: str | None = None,
    target_format: str | None = None,
    columns: Mapping[str, str] | None = None,
    lenient: bool = False,
) -> Conversion:
    """Read a run or qrels and write it in another format.

    Parameters
    ----------
    source, target
        The files. Unless they are given, kind and format of the source follow from its content, and the format of the
        target from its name.
    kind
        ``"run"`` or ``"qrels"``.
    source_format, target_format
        Formats such as ``"trec"`` or ``"csv"``.
    columns
        Which column of a table holds what, such as ``{"query": "question"}``.
    lenient
        Leave malformed lines out instead of stopping at them.

    Returns
    -------
    Conversion
        What was read and written.

    Raises
    ------
    FormatError, OptionError
        A file that cannot be read as what it is said to be, or a name that does not exist.

    Examples
    --------
    >>> import rankscope as rs
    >>> rs.write_run({"q1": {"d1": 0.5}}, "bm25.run")
    >>> rs.convert("bm25.run", "bm25.csv").target_format
    'csv'
    """
    check_options(convert.__annotations__, {"kind": kind, "columns": columns, "lenient": lenient})
    check_format(source_format)
    check_format(target_format)
    found = one_file(source)
    if kind is not None and kind not in KINDS:
        raise OptionError(
            f"{kind!r} is no kind of file; the kinds are {', '.join(KINDS)}", hint=did_you_mean(kind, KINDS)
        )
    mapped = [name for name, each in KINDS.items() if each.value in (columns or {})]
    name = kind or (mapped[0] if len(mapped) == 1 else None)
    name = name or detect(found, format_name=source_format, columns=columns).kind
    if name is None:
        raise OptionError(f"{found.name} could be a run or qrels", hint='say which: kind="run" or kind="qrels"')
    read = read_file(found, KINDS[name], format=source_format, columns=columns, lenient=lenient)
    return Conversion(
        kind=name,
        source_format=read.format,
        target_format=write_rows(read.rows, target, format=target_format),
        n_rows=len(read.rows),
        n_queries=len(set(read.rows.query)),
        bad_lines=read.bad_lines,
    )


def one_file(path: PathLike) -> StoredFile:
    """Return the file to convert, or the qrels of a BEIR folder; the files of a run are converted one by one."""
    try:
        return source_of(path)
    except InputError as error:
        if is_many(os.fspath(path)):
            if not Path(path).is_dir():
                error.message = f"{os.fspath(path)} stands for several files"
            error.hint = "convert the files of a run one by one: a folder of the results is a run again"
        raise
