"""Converting a run or qrels from one format to another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rankscope.errors import OptionError, did_you_mean
from rankscope.io.detection import detect_source
from rankscope.io.formats import check_format
from rankscope.io.kinds import KINDS, Kind
from rankscope.io.read import read_source
from rankscope.io.records import Conversion
from rankscope.io.source import PathLike, Source, source_of
from rankscope.io.write import write_rows


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

    The kind and the format of the source are told from its content, and the format of the target from its name,
    unless they are given.
    """
    check_format(source_format)
    check_format(target_format)
    found = source_of(source)
    wanted = kind_named(kind) if kind else kind_of(found, source_format, columns)
    read = read_source(found, wanted, format_name=source_format, columns=columns, lenient=lenient)
    return Conversion(
        kind=wanted.name,
        source_format=read.format,
        target_format=write_rows(read.rows, target, format_name=target_format),
        n_rows=len(read.rows),
        n_queries=len(set(read.rows.query)),
        bad_lines=read.bad_lines,
    )


def kind_named(name: str) -> Kind[Any]:
    """Return a kind by its name."""
    if name not in KINDS:
        raise OptionError(
            f"{name!r} is no kind of file; the kinds are {', '.join(KINDS)}", hint=did_you_mean(name, KINDS)
        )
    return KINDS[name]


def kind_of(source: Source, format_name: str | None, columns: Mapping[str, str] | None) -> Kind[Any]:
    """Tell the kind from the columns that were mapped, then from the content."""
    mapped = [name for name, kind in KINDS.items() if kind.value in (columns or {})]
    name = mapped[0] if len(mapped) == 1 else detect_source(source, format_name=format_name, columns=columns).kind
    if name is None:
        raise OptionError(f"{source.name} could be a run or qrels", hint='say which: kind="run" or kind="qrels"')
    return KINDS[name]
