"""How wide a text will be, without a font at hand: estimated generously, so that no texts touch."""

from __future__ import annotations

import unicodedata

from rankscope.report.charts.svg import one_line

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
ASCENT, DESCENT = 0.8, 0.24
"""How far letters reach above and below their line, in em."""
LINE = 1.4
"""From one line to the next, in em."""
CENTRE = 0.35
"""From the middle of a line down to its base, in em."""
ELLIPSIS = "…"


def text_width(text: str, size: float, *, bold: bool = False) -> float:
    """Return how wide a text is at most."""
    return sum(map(glyph_width, text)) * size * (BOLD if bold else 1)


def glyph_width(char: str) -> float:
    """Return how wide a character is, in em."""
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
    if text_width(text, size, bold=bold) <= width:
        return text
    n_kept = len(text) - 1
    while n_kept > 0 and text_width(without_middle(text, n_kept), size, bold=bold) > width:
        n_kept -= 1
    return without_middle(text, n_kept)


def without_middle(text: str, n_kept: int) -> str:
    """Return the first two thirds and the last third of so many characters of a text."""
    n_last = n_kept // 3
    return text[: n_kept - n_last].rstrip() + ELLIPSIS + text[len(text) - n_last :].lstrip()


def wrapped(text: str, width: float, size: float, *, max_lines: int = 3, bold: bool = False) -> list[str]:
    """Return a text in lines that fit; what exceeds the last line is left out behind an ellipsis."""
    words = one_line(text).split()
    lines: list[str] = []
    while words and len(lines) < max_lines - 1:
        n_words = words_that_fit(words, width, size, bold=bold)
        lines.append(shortened(" ".join(words[:n_words]), width, size, bold=bold))
        words = words[n_words:]
    return [*lines, cut(" ".join(words), width, size, bold=bold)] if words else lines


def words_that_fit(words: list[str], width: float, size: float, *, bold: bool = False) -> int:
    """Return how many words fit on a line; at least one, which may have to be shortened."""
    n_words = 1
    while n_words < len(words) and text_width(" ".join(words[: n_words + 1]), size, bold=bold) <= width:
        n_words += 1
    return n_words


def cut(text: str, width: float, size: float, *, bold: bool = False) -> str:
    """Return a text, or its beginning with an ellipsis behind it where it does not fit."""
    if text_width(text, size, bold=bold) <= width:
        return text
    while text and text_width(text + ELLIPSIS, size, bold=bold) > width:
        text = text[:-1]
    return text.rstrip() + ELLIPSIS
