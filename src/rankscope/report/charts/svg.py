"""SVG elements as text, with rounded numbers, so that the same data always give the same bytes; and widths of texts.

No font is at hand, so widths are estimated, generously, so that no texts touch.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence

from rankscope.printable import printable

Attribute = str | float | None
Attributes = dict[str, Attribute]
Point = tuple[float, float]

NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What no XML file may hold, not even escaped: control characters, and bytes of an id that were no text."""
ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"})

WIDTHS = {
    0.33: "ijl'.,\N{MIDDLE DOT} ",
    0.42: "IJft-:;/\\|()[]!r",
    0.52: '*_`"sz?\N{EN DASH}',
    0.65: "cLFkvxyPTYaoeESbdghnpqu$0123456789{}",
    0.74: "AVBRXZCUK",
    0.83: "HNDGOQ&w",
    0.86: "#+<=>^~\N{MINUS SIGN}×→←↑↓≥≤",
    1.0: "MmW%@…",
}
"""Advance widths in em of the widest of the usual sans-serif fonts; system fonts of today are narrower."""
WIDTH_OF = {char: width for width, chars in WIDTHS.items() for char in chars}
OTHER_LETTER = 0.85
IDEOGRAPH = 1.05
PICTOGRAPH = 1.45
BOLD = 1.16
ASCENT, DESCENT = 0.8, 0.24  # how far letters reach above and below their line, in em
LINE = 1.4  # from one line to the next, in em
CENTRE = 0.35  # from the middle of a line down to its base, in em
ELLIPSIS = "…"


def number(value: float) -> str:
    """Return a coordinate with at most two decimals."""
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def one_line(text: str) -> str:
    """Return a text as it can be shown: on one line, and without characters that XML does not know."""
    return printable(" ".join(NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text).split()))


def escaped(text: str) -> str:
    """Return a text so that it is never taken for markup, in an element or in an attribute."""
    return one_line(text).translate(ENTITIES)


def element(name: str, *children: str, **attributes: Attribute) -> str:
    """Return an element; `_` in an attribute's name stands for `-`, and what is None is left out."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{value if isinstance(value, str) else number(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    inside = "".join(children)
    return f"<{name}{written}>{inside}</{name}>" if inside else f"<{name}{written}/>"


def tip(text: str) -> str:
    """Return what is shown when a pointer rests on the element around it."""
    return f"<title>{escaped(text)}</title>" if text else ""


def group(parts: Iterable[str], **attributes: Attribute) -> str:
    """Return elements that share attributes, or nothing where there are none."""
    inside = "".join(parts)
    return element("g", inside, **attributes) if inside else ""


def polyline(points: Sequence[Point]) -> str:
    return "".join(f"{'L' if i else 'M'}{number(x)} {number(y)}" for i, (x, y) in enumerate(points))


def rectangle(left: float, top: float, right: float, bottom: float, *children: str, **attributes: Attribute) -> str:
    return element("rect", *children, x=left, y=top, width=right - left, height=bottom - top, **attributes)


def straight(x1: float, y1: float, x2: float, y2: float, **attributes: Attribute) -> str:
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, **attributes)


def text_width(text: str, size: float, *, bold: bool = False) -> float:
    return sum(map(glyph_width, text)) * size * (BOLD if bold else 1)


def glyph_width(char: str) -> float:
    if known := WIDTH_OF.get(char):
        return known
    if unicodedata.category(char) in {"Mn", "Me", "Cf"}:
        return 0
    if unicodedata.category(char) == "So":
        return PICTOGRAPH
    return IDEOGRAPH if unicodedata.east_asian_width(char) in "WF" else OTHER_LETTER


def shortened(text: str, width: float, size: float, *, bold: bool = False) -> str:
    """Return a text that fits, with an ellipsis for its middle: names often differ only at their end."""
    text = one_line(text)

    def with_kept(n_kept: int) -> str:
        n_last = n_kept // 3
        return text[: n_kept - n_last].rstrip() + ELLIPSIS + text[len(text) - n_last :].lstrip()

    if text_width(text, size, bold=bold) <= width:
        return text
    return with_kept(most_that_fit(len(text) - 1, lambda n: text_width(with_kept(n), size, bold=bold) <= width))


def most_that_fit(most: int, fits: Callable[[int], bool]) -> int:
    """Return the largest number up to `most` that fits, where all smaller ones do; 0 where none does."""
    low, high = 0, max(most, 0)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low


def wrapped(text: str, width: float, size: float, *, max_lines: int = 3, bold: bool = False) -> list[str]:
    """Return a text in lines that fit; what exceeds the last line is left out behind an ellipsis."""
    words = one_line(text).split()
    lines: list[str] = []
    while words and len(lines) < max_lines - 1:
        n_words = 1  # which may have to be shortened
        while n_words < len(words) and text_width(" ".join(words[: n_words + 1]), size, bold=bold) <= width:
            n_words += 1
        lines.append(shortened(" ".join(words[:n_words]), width, size, bold=bold))
        words = words[n_words:]
    last = rest = " ".join(words)
    if text_width(last, size, bold=bold) > width:

        def is_short(n: int) -> bool:
            return text_width(rest[:n].rstrip() + ELLIPSIS, size, bold=bold) <= width

        last = rest[: most_that_fit(len(rest) - 1, is_short)].rstrip() + ELLIPSIS
    return [*lines, last] if words else lines
