"""BEIR qrels: a TSV whose header is `query-id corpus-id score`."""

from __future__ import annotations

from typing import Any, BinaryIO

from rankscope.errors import FormatError
from rankscope.io.checks import refuse_extra_columns
from rankscope.io.csv_file import read_delimited, write_delimited
from rankscope.io.kinds import EXTRA_QRELS_COLUMNS, AnyRows, Collector, Kind
from rankscope.io.numbers import grade_text
from rankscope.io.rows import QrelsRows
from rankscope.io.source import Reading

HEADER = ("query-id", "corpus-id", "score")


def read(reading: Reading, kind: Kind[Any]) -> Collector:
    """Read the qrels of BEIR."""
    if kind.name != "qrels":
        raise FormatError(
            f"{reading.name} holds BEIR qrels, not a run",
            hint='this looks like qrels; are the arguments swapped? If it is a run, say format="tsv"',
        )
    return read_delimited(reading, kind, delimiter="\t")


def write(rows: AnyRows, stream: BinaryIO) -> None:
    """Write the qrels of BEIR."""
    if not isinstance(rows, QrelsRows):
        raise FormatError("BEIR has no format for runs", hint="write trec, json, jsonl, csv, tsv, parquet or arrow")
    refuse_extra_columns(rows, EXTRA_QRELS_COLUMNS, format_name="BEIR")
    columns = (list(rows.query), list(rows.doc), list(map(grade_text, rows.grade.tolist())))
    write_delimited(dict(zip(HEADER, columns, strict=True)), stream, delimiter="\t")
