"""Readers of tables: the same columns as polars, pyarrow or pandas has them, ids as text."""

from __future__ import annotations

from typing import Any

QRELS_COLUMNS = ["query_id", "iteration", "doc_id", "relevance"]
RUN_COLUMNS = ["query_id", "q0", "doc_id", "rank", "score", "tag"]
TEXT_COLUMNS = ["query_id", "doc_id"]
KEPT = {*TEXT_COLUMNS, "relevance", "score"}


def read_polars(path: str, names: list[str]) -> Any:
    """Return a polars DataFrame."""
    import polars as pl

    text = dict.fromkeys(TEXT_COLUMNS, pl.String)
    frame = pl.read_csv(path, separator=" ", has_header=False, new_columns=names, schema_overrides=text)
    return frame.select([name for name in names if name in KEPT])


def read_pyarrow(path: str, names: list[str]) -> Any:
    """Return a pyarrow Table."""
    import pyarrow as pa
    from pyarrow import csv

    return csv.read_csv(
        path,
        read_options=csv.ReadOptions(column_names=names),
        parse_options=csv.ParseOptions(delimiter=" "),
        convert_options=csv.ConvertOptions(
            column_types=dict.fromkeys(TEXT_COLUMNS, pa.string()),
            include_columns=[name for name in names if name in KEPT],
        ),
    )


def read_pandas(path: str, names: list[str]) -> Any:
    """Return a pandas DataFrame."""
    import pandas as pd

    kept = [name for name in names if name in KEPT]
    return pd.read_csv(path, sep=" ", names=names, usecols=kept, dtype=dict.fromkeys(TEXT_COLUMNS, str))


READERS = {"polars": read_polars, "pyarrow": read_pyarrow, "pandas": read_pandas}
