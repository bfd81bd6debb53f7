"""Fields of docs, such as topic, source or date: from dicts, or from JSONL, CSV, TSV or Parquet files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rankscope.core.doc_table import DocTable
from rankscope.core.ids import as_id
from rankscope.errors import InputError


def load_docs(data: Any) -> DocTable:
    """Return fields of docs from {doc: {field: value}}."""
    if isinstance(data, DocTable):
        return data
    if not isinstance(data, Mapping):
        raise InputError("docs are {doc: {field: value}}")
    by_field: dict[str, dict[str, Any]] = {}
    for doc, fields in data.items():
        for name, value in fields.items():
            if value is not None:
                by_field.setdefault(name, {})[as_id(doc, what="doc id")] = value
    return DocTable(by_field, frozenset(as_id(doc, what="doc id") for doc in data))
