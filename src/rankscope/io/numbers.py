"""Numbers in files: what counts as one, and how one is written so that it reads back as the same bits."""

from __future__ import annotations

import json
import math
import re
from typing import Any

# What C's strtod takes in decimal, and nothing else of what float() takes: no underscores, no digits beyond ASCII.
_DECIMAL = re.compile(r"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?|inf(?:inity)?)", re.ASCII | re.IGNORECASE)
_INTEGER = re.compile(r"[+-]?[0-9]{1,19}", re.ASCII)


def number_in(cell: Any) -> float | None:
    """Return the number a cell holds, or None where it holds none (NaN is none)."""
    if isinstance(cell, str):
        text = cell.strip(" \t\r\n")
        return float(text) if _DECIMAL.fullmatch(text) else None
    if isinstance(cell, bool) or not isinstance(cell, int | float):
        return None
    try:
        number = float(cell)
    except OverflowError:
        return None
    return None if math.isnan(number) else number


def integer_in(cell: Any) -> int | None:
    """Return the whole number a cell holds, or None where it holds none or one that 64 bits cannot hold."""
    if isinstance(cell, str):
        text = cell.strip(" \t\r\n")
        cell = int(text) if _INTEGER.fullmatch(text) else None
    if isinstance(cell, bool) or not isinstance(cell, int):
        return None
    return cell if -(1 << 63) <= cell < 1 << 63 else None


def grade_text(grade: float) -> str:
    """Write a grade: whole ones without a point, as every tool expects them."""
    return repr(grade).removesuffix(".0")


def json_number(text: str) -> str:
    """Turn the text of a number into JSON, which has no word for infinity but reads a number too large as one."""
    return text.replace("inf", "1e999")


def json_text(text: str) -> str:
    """Write a text as JSON: readable where it is sound Unicode, escaped where bytes of it are not."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(text, ensure_ascii=True)
    return json.dumps(text, ensure_ascii=False)
