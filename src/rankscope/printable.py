"""Texts from files, servers and systems as people may see them: what would command a terminal is shown, not obeyed."""

from __future__ import annotations

import re
from collections.abc import Sequence

UNSAFE = (
    "[\x00-\x1f\x7f-\x9f"  # controls: escape, bell, carriage return, those of eight bits
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # turn the direction of writing
    "\u2028\u2029"  # end a line
    "\ud800-\udfff\ufdd0-\ufdef"  # no characters: bytes that are not UTF-8, halves, what no file may hold
    f"{''.join(chr(plane << 16 | last) for plane in range(17) for last in (0xFFFE, 0xFFFF))}]"
)
"""A pattern; compiled when the first text needs it, since most programs never meet one."""
PATH = r"(?<![\w.:/<])(?:[A-Za-z]:\\|/)(?:[^\s/\\:'\"`]+[/\\])+([^\s/\\:'\"`]*)|\b\w+://[^\s'\"`]+"
SHOWN_NAMES = 3
"""Names in a sentence; more are counted."""


def printable(text: str) -> str:
    r"""Return a text on one line in which controls are seen as escapes such as \x1b."""
    return text if text.isprintable() else re.sub(UNSAFE, lambda match: ascii(match[0])[1:-1], text)


def without_paths(text: str) -> str:
    """Return a text for readers who need not know this machine: of paths the last part, of addresses nothing."""
    return re.sub(PATH, lambda found: found[1] or "…", text)


def digest_words(digest: str) -> str:
    """Return a digest with what it is: `sha256:…`, or as it says itself: `etag:…` of a store, `files:…` of a list."""
    return digest if ":" in digest else f"sha256:{digest}"


def counted(n: int, noun: str) -> str:
    """Return a number with its noun, e.g. `1 query` or `1,200 queries`."""
    plural = f"{noun[:-1]}ies" if noun.endswith("y") and noun[-2:-1] not in "aeiou" else f"{noun}s"
    return f"{n:,} {noun if n == 1 else plural}"


def listed(names: Sequence[str], *, last: str = "and", most: int = SHOWN_NAMES) -> str:
    """Return names in a sentence; of many only the first, and how many more there are."""
    shown = list(names[:most])
    if not shown:
        return ""
    if len(names) > most:
        return f"{', '.join(shown)} {last} {len(names) - most} more"
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} {last} {shown[-1]}"


def printable_lines(text: str) -> str:
    """Do so for a text of several lines."""
    return "\n".join(map(printable, text.split("\n")))


def amount(value: float) -> str:
    """Return an amount with three digits or so, such as milliseconds: 0.11, 3.20, 41.0, 6,388."""
    decimals = 0 if value >= 100 else 1 if value >= 10 else 2
    return f"{value:,.{decimals}f}"
