"""The texts of a report, made safe for every medium: what cannot be shown is written as an escape."""
# ruff: noqa: RUF001 (the tables hold signs that look alike)

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeVar, cast

from rankscope import light
from rankscope.printable import printable
from rankscope.report.table import Cell, Table

Part = TypeVar("Part")

NOT_READ = frozenset({"svg", "mark"})  # fields that hold a text which nobody reads

CHECK_WORDS = {"fine": "fine", "look": "look", "fails": "problem", "note": "note"}
SHAPES = {
    "better": "▲",
    "probably_better": "△",
    "worse": "▼",
    "probably_worse": "▽",
    "same": "=",
    "unsure": "○",
    "unsafe": "◆",
    "fine": "✓",
    "look": "!",
    "fails": "✗",
    "note": "·",
}
"""Of every mark; they differ for those who do not see the colours."""

SUPERSCRIPTS = re.compile("[⁰¹²³⁴-⁹]+(?:,[⁰¹²³⁴-⁹]+)*")  # superscript numbers, as `document.marked` writes them
DIGITS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")


def pairs(text: str) -> dict[str, str]:
    """Return a table that is written as words: one to look up, then what is found."""
    words = text.split()
    return dict(zip(words[::2], words[1::2], strict=True))


# The first line is what renderers draw with: one character for one, so that columns stay in place.
ASCII = pairs("""
    ● o ▲ ^ △ ^ ▼ v ▽ v ○ o ◆ # ✓ + ✗ x ─ - ━ = ┿ + · . • - █ #
    − - – - — -- … ... ‘ ' ’ ' “ " ” " ± +/- × x ≤ <= ≥ >= → -> ← <- ∩ & ∪ |
    Δ delta α alpha κ kappa λ lambda σ sigma τ tau ⁰ ^0 ¹ ^1 ² ^2 ³ ^3 ⁴ ^4 ⁵ ^5 ⁶ ^6 ⁷ ^7 ⁸ ^8 ⁹ ^9
""") | {"\xa0": " ", "\u202f": " "}


BLANKS = re.compile("[\t\n\r\v\f\x85\u2028\u2029]")
MINUS = re.compile(r"(?<![\w.)\]])-(?=\d)")
"""A hyphen that stands for a minus: before a digit, and behind nothing that it could join to it."""


def with_minus(text: str) -> str:
    """Return a text whose negative numbers have a minus sign, as those in charts have."""
    return MINUS.sub("−", text)


def cleaned(part: Part) -> Part:
    return with_texts(part, clean)


def clean(text: str) -> str:
    """Return a text on one line, without what would break a file or command a terminal; that is shown as an escape."""
    return text if text.isascii() and text.isprintable() else printable(BLANKS.sub(" ", text))


def encodable(text: str, encoding: str) -> str:
    """Return a text that an encoding can hold: what it has not is spelt in ASCII, or shown as an escape."""
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        spelt = "".join(char if char.encode(encoding, "ignore") else ASCII.get(char, char) for char in text)
        return spelt.encode(encoding, "backslashreplace").decode(encoding)
    return text


def with_texts(part: Part, change: Callable[[str], str]) -> Part:
    """Return a report, or a part of one, with every text that is read changed in the same way."""
    changed: Any = part
    if isinstance(part, str):
        changed = change(part)
    elif isinstance(part, tuple):
        changed = tuple(with_texts(item, change) for item in part)
    elif isinstance(part, Table):
        rows = [
            [Cell(change(cell.text), change(cell.raw), cell.best, change(cell.full)) for cell in row]
            for row in part.rows
        ]
        header, notes = ([change(text) for text in texts] for texts in (part.header, part.notes))
        changed = light.replace(part, header=header, rows=rows, notes=notes)
    elif part is not None and not isinstance(part, int | float):
        from rankscope.records import replace

        names = [name for name in changed.__struct_fields__ if name not in NOT_READ]
        changed = replace(changed, **{name: with_texts(getattr(part, name), change) for name in names})
    return cast("Part", changed)
