"""Reading the predecessors' files: JSON, JSONL or CSV, plain or compressed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rankscope.errors import FormatError
from rankscope.io.source import PathLike, source_of
from rankscope.io.table import read_rows, rows_in


def read_jsonl(path: Path) -> list[dict[str, Any]]:
    """Return the objects of a JSONL file."""
    return [dict(row) for _, row in read_rows(path, format="jsonl")]


def read_csv(path: PathLike) -> list[dict[str, str]]:
    """Return the rows of a CSV file by the names in its header."""
    with source_of(path).reading(ragged=True) as reading:
        return [dict(row) for _, row in rows_in(reading, "csv")]


def an_object(value: Any, where: str) -> dict[str, Any]:
    """Return a JSON object, or say what is there instead."""
    if isinstance(value, dict):
        return value
    raise FormatError(f"{where} is {shown(value)}, not an object", hint="write it as {…}")


def a_list(value: Any, where: str) -> list[Any]:
    """Return a JSON list, or say what is there instead; nothing at all is an empty one."""
    if value is None:
        return []
    if isinstance(value, list):
        return value
    raise FormatError(f"{where} is {shown(value)}, not a list", hint="write it as […]")


def text_of(record: Mapping[str, Any], key: str, where: str) -> str:
    """Return a text that has to be there."""
    value = record.get(key)
    if isinstance(value, str | int) and not isinstance(value, bool) and str(value).strip():
        return str(value)
    raise FormatError(f"{where} has no {key}", hint=f'add "{key}": "…"')


def number_or_none(value: Any) -> float | None:
    """Return a number, or None where there is none."""
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def present(record: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    """Return those of the keys that hold something."""
    return {key: record[key] for key in keys if record.get(key) not in (None, "", [], {})}


def shown(value: Any) -> str:
    """Return a value as an error shows it."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 40 else f"{text[:40]}…"
