"""The formats of files by name. To add one, write its file with a `Format` in it, and a line here.

Other packages add theirs with an entry point in the group `rankscope.formats`. A format is loaded when a file of it is
read or written: most files are TREC text, which needs none of the others.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from rankscope.errors import FormatError, OptionError, did_you_mean
from rankscope.registry import Entry, Registry

if TYPE_CHECKING:
    from rankscope.io.table import Format

COMPRESSIONS = ("gz", "bz2", "xz", "zst")

FORMATS: Registry[Format] = Registry(
    "format",
    {
        "trec": Entry(
            "rankscope.io.trec:TREC",
            "TREC text: `query Q0 doc rank score tag` for runs, `query iteration doc grade` for qrels.",
            ("trec", "txt", "run", "res", "qrels"),
        ),
        "beir": Entry(
            "rankscope.io.delimited:BEIR",
            "BEIR qrels: a folder with qrels/test.tsv, or a TSV with the header `query-id corpus-id score`.",
            (),
        ),
        "json": Entry(
            "rankscope.io.json_file:JSON",
            'JSON: {"query": {"doc": number}} as ranx and pytrec_eval have it, lists of docs, or a list of rows.',
            ("json",),
        ),
        "jsonl": Entry(
            "rankscope.io.json_file:JSONL",
            "JSONL: one JSON object a row, its keys the columns.",
            ("jsonl", "ndjson"),
        ),
        "csv": Entry("rankscope.io.delimited:CSV", "CSV with a header, separated by commas or semicolons.", ("csv",)),
        "tsv": Entry("rankscope.io.delimited:TSV", "TSV with a header.", ("tsv",)),
        "parquet": Entry("rankscope.io.polars_file:PARQUET", "Apache Parquet.", ("parquet", "pq")),
        "arrow": Entry(
            "rankscope.io.polars_file:ARROW", "Apache Arrow IPC, also called Feather.", ("arrow", "feather", "ipc")
        ),
    },
    entry_points="rankscope.formats",
)
"""Every format by name, with a sentence that describes it and the endings of its files."""


OPENED_BY_OTHERS = (
    "[sx]?html?|xht|mht|mhtml|hta|svgz?|xml|php[0-9]?|[cm]?js|vbs?|wsf|py[wz]?|sh|bash|zsh|bat|cmd|com|exe|scr|ps1|jar|"
    "lnk|url|desktop|app|pdf|ps|eps|rtf|docx?|docm|odt|xlsx?|xls[mb]|ods|pptx?|odp"
)
"""Endings that say with which program a file is opened or run: data must never be called so."""
OTHER_FILES = (
    "xlsx?|ods|numbers|docx?|odt|pdf|html?|md|tex|rtf|xml|ya?ml|toml|ini|py|ipynb|pkl|pickle|joblib|np[yz]|pt|safetensors|"
    "h5|hdf5|mat|rds|rdata|sav|dta|avro|orc|lance|db|sqlite3?|duckdb|mdb|sql|zip|tar|tgz|7z|rar|lz4|br|svg|png|jpe?g"
)
"""Endings of files that are something else, and are no place for TREC text."""
RUNS_AND_QRELS_ONLY = ("trec", "beir")


def table_endings() -> str:
    """Return how files of queries, docs or scores may end: in all formats that hold any table."""
    entries = [FORMATS.entries[name] for name in FORMATS if name not in RUNS_AND_QRELS_ONLY]
    *most, last = [f".{entry.endings[0]}" for entry in entries if entry.endings]
    return f"{', '.join(most)} or {last}"


def check_format(name: str | None) -> None:
    if name is not None and name not in FORMATS:
        raise OptionError(
            f"there is no format {name!r}; the formats are {', '.join(FORMATS)}",
            hint=did_you_mean(name, FORMATS) or "leave the format out to have it detected from the content",
        )


def compression_in_name(name: str) -> str | None:
    suffix = name.rpartition(".")[2].lower()
    return suffix if suffix in COMPRESSIONS else None


def format_of_ending(ending: str, names: Iterable[str] | None = None) -> str | None:
    """Return the format whose files end like this, among the given ones (by default ours and those that were added)."""
    for name in FORMATS.entries if names is None else names:
        if ending in endings_of(name):
            return name
    return None


def endings_of(name: str) -> tuple[str, ...]:
    endings = FORMATS.entries[name].endings
    return (name,) if endings is None else endings


def format_in_name(name: str) -> str | None:
    """Return the format that a file name ends in, its compression left aside, or None.

    Formats of other packages are looked up only where ours have no such ending, which takes some milliseconds.
    """
    ending = ending_in_name(name)
    return (format_of_ending(ending) or format_of_ending(ending, FORMATS)) if ending else None


def ending_in_name(name: str) -> str:
    """Return what follows the last dot of a file name, its compression left aside; nothing where there is no dot."""
    compression = compression_in_name(name)
    stem, _, ending = (name[: -len(compression) - 1] if compression else name).lower().rpartition(".")
    return ending if stem and ending.isalnum() else ""


def format_to_write(name: str, format_name: str | None = None) -> str:
    """Return the format of a file to be written: TREC text where its name says nothing, such as bm25 or bm25.v2.

    A format that was given counts, but not under a name by which another program would open or run the file.
    """
    ending, found = ending_in_name(name.rstrip(" .")), format_name or format_in_name(name)
    if re.fullmatch(OPENED_BY_OTHERS, ending) or (found is None and re.fullmatch(OTHER_FILES, ending)):
        known = [f".{each}" for format_name in FORMATS for each in endings_of(format_name)]
        raise FormatError(
            f"{name}: runs and qrels are not written as .{ending}", hint=f"the endings are {' '.join(known)}"
        )
    return found or "trec"


def without_endings(name: str) -> str:
    """Return the name of a file without the endings of formats and compressions: bm25.run.gz is bm25."""
    while True:
        stem, _, ending = name.rpartition(".")
        if not stem or not (ending.lower() in COMPRESSIONS or format_of_ending(ending.lower())):
            return name
        name = stem
