"""What a notebook shows of a result: a card of HTML that needs no script, no file and no page around it.

It has its own ground and ink, so that it can be read whatever the notebook's theme is; where styles are taken away, as
some sites do, a plain table with bold best values is left.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from rankscope.printable import counted
from rankscope.report.charts.marks import verdict_marker
from rankscope.report.charts.palette import BG, FG, MUTED, RAMP, marker
from rankscope.report.charts.svg import element, escaped, rectangle, straight
from rankscope.report.document import Mark
from rankscope.report.render.texts import with_minus
from rankscope.report.table import Cell, Table
from rankscope.report.tokens import variables

SHOWN_ROWS = 12
"""Rows of a table; of more it is said how many there are."""
SHOWN_COLUMNS = 4
"""Measures beside one another; more do not fit into the width of a notebook."""
LONGEST_WORDS = 90
"""A longer text is cut; the whole of it appears when a pointer rests on it."""
SHADES = tuple(reversed(RAMP))
"""Of the parts of a whole, as pages have them."""
_DARK = variables("dark") + "color-scheme:dark;"
_LIGHT = variables("light") + "color-scheme:light;"
CSS = (
    f".rs-card{{{_LIGHT}background:var(--rs-paper);color:var(--rs-ink);font:14px/1.45 system-ui,sans-serif;"
    "padding:12px 16px;max-width:62rem;border-radius:6px;overflow-x:auto}"
    f"@media (prefers-color-scheme:dark){{.rs-card{{{_DARK}}}}}"
    f"[data-jp-theme-light=true] .rs-card,.vscode-light .rs-card{{{_LIGHT}}}"
    f"[data-jp-theme-light=false] .rs-card,.vscode-dark .rs-card,html[theme=dark] .rs-card{{{_DARK}}}"
    ".rs-card p{margin:4px 0}.rs-card .rs-say{font-size:16px;font-weight:600;line-height:1.4}"
    ".rs-card .rs-say svg{margin-right:.5em}.rs-card svg{vertical-align:-.05em;overflow:visible}"
    ".rs-card .rs-quiet,.rs-card small{color:var(--rs-ink-3);font-size:12px;font-weight:400}"
    ".rs-card .rs-rows{border-collapse:collapse;border:0;margin:10px 0 6px;font-size:13px}"
    ".rs-card .rs-rows thead th{color:var(--rs-ink-3);font-weight:500;font-size:12px;vertical-align:bottom}"
    ".rs-card .rs-rows tbody tr:nth-child(n){background:none}"
    ".rs-card .rs-rows th,.rs-card .rs-rows td{padding:4px 20px 4px 0;text-align:left;vertical-align:baseline;border:0;"
    "border-bottom:1px solid var(--rs-line);color:inherit;max-width:34rem}"
    ".rs-card .rs-rows tbody th{font-weight:500}"
    ".rs-card .rs-rows .rs-n{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}"
    ".rs-card .rs-rows b{font-weight:700}.rs-card .rs-v{white-space:nowrap}"
)


def card(*parts: str) -> str:
    return f'<div class="rs-card"><style>{CSS}</style>{"".join(parts)}</div>'


def headline(words: str, *, mark: Mark | None = None) -> str:
    return f'<p class="rs-say">{glyph(mark) if mark else ""}{escaped(words)}</p>'


def paragraph(words: str) -> str:
    return f"<p>{escaped(words)}</p>" if words else ""


def quiet(*lines: str) -> str:
    """Return what must be known to read the rest, in small letters."""
    return "".join(f'<p class="rs-quiet">{escaped(line)}</p>' for line in lines if line)


def glyph(mark: Mark) -> str:
    """Return the shape of a verdict; one that is only probable is hollow."""
    return element("svg", shape_of(mark, 6, 6, 4.5), width=12, height=12, viewBox="0 0 12 12", aria_hidden="true")


def verdict(mark: Mark, said: str) -> str:
    """Return a verdict by its shape and its words, on one line."""
    return f'<span class="rs-v">{glyph(mark)} {words(said)}</span>'


def shape_of(mark: Mark, x: float, y: float, radius: float) -> str:
    """Return the shape of a mark at a place; checks, which charts do not have, are a disc or a cross."""
    drawn: dict[Mark, Mark] = {"fine": "note", "look": "fails"}
    return verdict_marker(drawn.get(mark, mark), x, y, radius)


def words(text: str) -> str:
    """Return a text of somebody's file; a long one is cut."""
    shown = text if len(text) <= LONGEST_WORDS else f"{text[: LONGEST_WORDS - 1].rstrip()}…"
    return f'<span title="{escaped(text)}">{escaped(shown)}</span>' if shown != text else escaped(text)


def number(text: str) -> str:
    """Return a number with the sign that mathematics has for minus."""
    return escaped(with_minus(text))


def rows_html(header: Sequence[str], rows: Sequence[Sequence[str]], *, n_names: int = 1, more: str = "") -> str:
    """Return a table of cells that are HTML already; the first columns are names, the others numbers."""

    def cells(row: Sequence[str], tag: str) -> str:
        kinds = ["" if i < n_names else ' class="rs-n"' for i in range(len(row))]
        tags = ["th" if tag == "th" or not i else "td" for i in range(len(row))]
        scope = ' scope="col"' if tag == "th" else ' scope="row"'
        return "".join(
            f"<{name}{scope if name == 'th' else ''}{kind}>{cell}</{name}>"
            for name, kind, cell in zip(tags, kinds, row, strict=True)
        )

    head = f"<tr>{cells([escaped(name) for name in header], 'th')}</tr>"
    body = "".join(f"<tr>{cells(row, 'td')}</tr>" for row in rows)
    return f'<table class="rs-rows"><thead>{head}</thead><tbody>{body}</tbody></table>{quiet(more)}'


def table_html(table: Table, *, most: int = SHOWN_ROWS, what: str = "row") -> str:
    """Return a table of a report with its first rows, and how many more there are."""
    rows = [
        [cell_html(cell, is_name=i < table.n_name_columns) for i, cell in enumerate(row)] for row in table.rows[:most]
    ]
    n_more = len(table.rows) - most
    more = counted(n_more, f"more {what}") if n_more > 0 else ""
    return rows_html(table.header, rows, n_names=table.n_name_columns, more=more)


def cell_html(cell: Cell, *, is_name: bool = False) -> str:
    text = words(cell.text) if is_name else number(cell.text)
    return f"<b>{text}</b>" if cell.best else text


class IntervalAxis:
    """The axis of intervals that are drawn in the rows of a table, each in a picture of its own."""

    WIDTH, HEIGHT = 140.0, 14.0

    def __init__(self, numbers: Iterable[float], *, with_zero: bool = False) -> None:
        known = [number for number in numbers if math.isfinite(number)] + [0.0] * with_zero
        self.low, self.high = (min(known), max(known)) if known else (0.0, 1.0)
        self.with_zero = with_zero

    @property
    def words(self) -> str:
        """What the heading of the column says: where the axis begins and ends."""
        form = f"{'+' if self.with_zero else ''}.{2 if self.high - self.low >= 0.2 else 3}f"
        ends = with_minus(f"{self.low:{form}} to {self.high:{form}}")
        return f"{ends}, the line is 0" if self.with_zero else ends

    def place(self, value: float) -> float:
        return 5 + (self.WIDTH - 10) * ((value - self.low) / (self.high - self.low) if self.high > self.low else 0.5)

    def draw(self, value: float, low: float, high: float, mark: Mark | None = None) -> str:
        """Return a value with its interval; an unknown one leaves the place empty."""
        middle, parts = self.HEIGHT / 2, []
        if self.with_zero:
            zero = self.place(0.0)
            parts.append(straight(zero, -2, zero, self.HEIGHT + 2, stroke=MUTED, stroke_width=1.25))
        if math.isfinite(low) and math.isfinite(high):
            ends = self.place(low), self.place(high)
            parts.append(straight(ends[0], middle, ends[1], middle, stroke=FG, stroke_width=2))
        if math.isfinite(value):
            place = self.place(value)
            dot = marker("disc", place, middle, 4, fill=FG, stroke=BG)
            parts.append(dot if mark is None else shape_of(mark, place, middle, 4))
        box = f"0 0 {self.WIDTH:g} {self.HEIGHT:g}"
        return element("svg", *parts, width=self.WIDTH, height=self.HEIGHT, viewBox=box, aria_hidden="true")


def share_bar(shares: Sequence[tuple[str, float]], *, width: float = 480) -> str:
    """Return the parts of a whole as one bar, with a legend that names and counts them."""
    left, bars, keys = 0.0, [], []
    for i, (name, share) in enumerate(shares):
        right, colour = left + width * share, SHADES[min(i, len(SHADES) - 1)]
        title = f"<title>{escaped(f'{name}: {share:.3f}')}</title>"
        bars.append(rectangle(left, 0, right, 14, title, fill=colour, stroke=BG))
        swatch = element(
            "svg", rectangle(0, 0, 10, 10, fill=colour), width=10, height=10, viewBox="0 0 10 10", aria_hidden="true"
        )
        keys.append(f"{swatch} {escaped(name)} <b>{share:.3f}</b>")
        left = right
    bar = element("svg", *bars, width=width, height=14, viewBox=f"0 0 {width:g} 14", aria_hidden="true")
    return f"<p>{bar}</p><p>{' &nbsp; '.join(keys)}</p>"


def page_frame(page: str, title: str) -> str:
    """Return a whole page within the notebook, as a page of its own."""
    style = "width:100%;height:640px;border:0"
    return f'<iframe title="{escaped(title)}" srcdoc="{page.translate(_QUOTED)}" style="{style}"></iframe>'


_QUOTED = str.maketrans({"&": "&amp;", '"': "&quot;", "<": "&lt;", ">": "&gt;"})
