"""Values in the predecessors' files, checked with words for a reader."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from rankscope.errors import FormatError


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


def objects_in(value: Any, where: str, *, key: str, what: str) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield each object of a list, with words for its place, such as `cases.json: result 3`."""
    for number, entry in enumerate(a_list(value, f"{where}: {key}"), 1):
        place = f"{where}: {what} {number}"
        yield an_object(entry, place), place


def text_of(record: Mapping[str, Any], key: str, where: str) -> str:
    """Return a text that has to be there."""
    value = record.get(key)
    if isinstance(value, str | int) and not isinstance(value, bool) and str(value).strip():
        return str(value)
    raise FormatError(f"{where} has no {key}", hint=f'add "{key}": "…"')


def query_id(text: str) -> str:
    """Return an id for a query that has none of its own, made from its text."""
    return re.sub(r"[^\w]+", "-", text.strip().lower()).strip("-") or "query"


def time_or_none(value: Any) -> str | None:
    """Return a time as ISO 8601, None where it is none that can be read."""
    try:
        return str(value) if value and datetime.fromisoformat(str(value)) else None
    except ValueError:
        return None


def number_or_none(value: Any) -> float | None:
    """Return a number; what is none, or not finite, is nothing."""
    try:
        number = float(value) if isinstance(value, int | float) and not isinstance(value, bool) else math.nan
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def present(record: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    """Return those of the keys that hold something."""
    return {key: record[key] for key in keys if record.get(key) not in (None, "", [], {})}


def shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 40 else f"{text[:40]}…"
