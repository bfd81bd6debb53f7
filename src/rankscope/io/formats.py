"""The formats, each with its reader and writer, in the one place that knows them all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, BinaryIO, Protocol

from rankscope.errors import BadLine, OptionError, did_you_mean
from rankscope.io import beir, csv_file, json_file, jsonl, polars_file, trec
from rankscope.io.compression import compression_in_name
from rankscope.io.kinds import AnyRows, Collector, Kind
from rankscope.io.source import Reading


class Explain(Protocol):
    """Returns the hint for malformed lines."""

    def __call__(self, kind: Kind[Any], bad_lines: Sequence[BadLine], /, *, n_good: int) -> str:
        """Return the hint, given that so many lines were good."""


def explain_row(kind: Kind[Any], bad_lines: Sequence[BadLine], /, *, n_good: int) -> str:  # noqa: ARG001
    """Return the hint for malformed rows of a table."""
    return f"every row needs {', '.join(kind.required)}; correct these, or skip them with lenient=True (--lenient)"


@dataclass(frozen=True, slots=True)
class Format:
    """How one format is recognised by name, read and written."""

    suffixes: tuple[str, ...]
    read: Callable[[Reading, Kind[Any]], Collector]
    write: Callable[[AnyRows, BinaryIO], None]
    explain: Explain = explain_row
    is_text: bool = True


HANDLERS: Mapping[str, Format] = MappingProxyType(
    {
        "trec": Format(
            ("trec", "txt", "run", "qrels"),
            trec.read,
            trec.write,
            trec.explain,
        ),
        "beir": Format(
            (),
            beir.read,
            beir.write,
        ),
        "json": Format(
            ("json",),
            json_file.read,
            json_file.write,
        ),
        "jsonl": Format(
            ("jsonl", "ndjson"),
            jsonl.read,
            jsonl.write,
        ),
        "csv": Format(
            ("csv",),
            csv_file.read_csv,
            csv_file.write_csv,
        ),
        "tsv": Format(
            ("tsv",),
            csv_file.read_tsv,
            csv_file.write_tsv,
        ),
        "parquet": Format(
            ("parquet", "pq"),
            polars_file.read_parquet,
            polars_file.write_parquet,
            is_text=False,
        ),
        "arrow": Format(
            ("arrow", "feather", "ipc"),
            polars_file.read_arrow,
            polars_file.write_arrow,
            is_text=False,
        ),
    }
)

_FORMAT_OF_SUFFIX = {suffix: name for name, handler in HANDLERS.items() for suffix in handler.suffixes}


def check_format(name: str | None) -> None:
    """Refuse the name of a format that there is none of."""
    if name is not None and name not in HANDLERS:
        raise OptionError(
            f"there is no format {name!r}; the formats are {', '.join(HANDLERS)}",
            hint=did_you_mean(name, HANDLERS) or "leave the format out to have it told from the content",
        )


def format_in_name(name: str) -> str | None:
    """Return the format that a file name speaks of, its compression left aside, or None."""
    compression = compression_in_name(name)
    stem = name[: -len(compression) - 1] if compression else name
    return _FORMAT_OF_SUFFIX.get(stem.rpartition(".")[2].lower())
