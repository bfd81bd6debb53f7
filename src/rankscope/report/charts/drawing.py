"""A drawing grows from top to bottom: heading, legend, plot, notes; nothing is placed above what already stands."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import Any

from rankscope.records import Record
from rankscope.report.charts import svg
from rankscope.report.charts.palette import BG, FG, MUTED
from rankscope.report.tokens import THEMES

FONTS = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'Liberation Sans', 'DejaVu Sans', Arial, sans-serif"
FITTING = "max-width:100%;height:auto"
SWATCH = 28
MOST_BELOW = 3
"""More entries of a legend stand in two columns, even if some of them need two lines."""


class ChartLayout(Record):
    """The place a picture is made for; the height follows from the content."""

    name: str
    width: float
    margin: float
    size: float
    """Of letters; those of the title are larger."""
    title_size: float

    @property
    def is_wide(self) -> bool:
        return self.name == "wide"

    @property
    def inner(self) -> float:
        return self.width - 2 * self.margin

    @property
    def line(self) -> float:
        """From one line of text to the next."""
        return self.size * svg.LINE


WIDE = ChartLayout("wide", 720, 16, 13, 16.5)
NARROW = ChartLayout("narrow", 360, 8, 12, 14.5)  # on a phone 390 px wide it is shown in about its own size


class Box(Record):
    """A rectangle by its sides."""

    left: float
    top: float
    right: float
    bottom: float

    @property
    def width(self) -> float:
        return self.right - self.left

    def meets(self, other: Box) -> bool:
        across = self.left < other.right and other.left < self.right
        return across and self.top < other.bottom and other.top < self.bottom


LegendKey = tuple[str, str]  # an entry of the legend: a sample, drawn from (0, 0) to the right, and its meaning


def swatch(**look: svg.Attribute) -> str:
    return svg.rectangle(0, -6, SWATCH, 6, **look)


class Drawing:
    """A picture in the making: `y` is how far down it reaches."""

    def __init__(self, layout: ChartLayout, prefix: str) -> None:
        self.layout = layout
        self.prefix = prefix
        self.y = layout.margin
        self.parts: list[str] = []
        self.patterns: dict[str, str] = {}

    def add(self, *parts: str) -> None:
        self.parts.extend(parts)

    def text(
        self, x: float, y: float, words: str, *, width: float = math.inf, size: float = 0, full: str = "", **look: Any
    ) -> None:
        """Write one line of text with its base at y; a given width shortens it, and a tooltip has it in full."""
        size = size or self.layout.size
        whole = svg.one_line(words)
        short = svg.shortened(whole, width, size, bold="font_weight" in look)
        in_full = svg.tip(whole if short != whole else full)
        own_size = None if size == self.layout.size else size
        self.add(svg.element("text", in_full, svg.escaped(short), x=x, y=y, font_size=own_size, **look))

    def middle(self, y: float) -> float:
        """Return the base of a line of text whose middle is at y."""
        return y + svg.CENTRE * self.layout.size

    def lines(
        self, x: float, y: float, words: str, *, width: float, max_lines: int, size: float = 0, **look: Any
    ) -> float:
        """Write text in lines below y and return their height; a tooltip has in full what did not fit."""
        size = size or self.layout.size
        lines = svg.wrapped(words, width, size, max_lines=max_lines, bold="font_weight" in look)
        full = "" if " ".join(lines) == svg.one_line(words) else words
        for i, line in enumerate(lines):
            self.text(x, y + i * size * svg.LINE + svg.ASCENT * size, line, size=size, full=full, **look)
        return len(lines) * size * svg.LINE

    def paragraph(self, words: str) -> None:
        layout = self.layout
        self.y += self.lines(layout.margin, self.y, words, width=layout.inner, max_lines=4, fill=MUTED)

    def heading(self, title: str, subtitle: str) -> None:
        layout = self.layout
        look: dict[str, Any] = {"size": layout.title_size, "font_weight": "600"}
        self.y += self.lines(layout.margin, self.y, title, width=layout.inner, max_lines=3, **look)
        self.paragraph(subtitle)
        self.space(8)

    def notes(self, notes: Iterable[str]) -> None:
        """Write what must be known to read the chart, one paragraph each; empty ones are left out."""
        written = [note for note in notes if note]
        self.space(6 if written else 0)
        for note in written:
            self.paragraph(note)

    def space(self, height: float) -> None:
        self.y += height

    def legend(self, keys: Sequence[LegendKey]) -> None:
        """Write the legend in columns of equal width, outside the plot, so that it covers no data."""
        if not keys:
            return
        layout = self.layout
        widest = max(svg.text_width(svg.one_line(label), layout.size) for _, label in keys)
        wanted = SWATCH + 8 + widest + 24
        if layout.is_wide and len(keys) > MOST_BELOW:
            wanted = min(wanted, layout.inner / 2)
        n_columns = max(1, min(len(keys), int(layout.inner // wanted)))
        column = min(layout.inner / n_columns, wanted) if n_columns > 1 else layout.inner
        for first in range(0, len(keys), n_columns):
            heights = [layout.line]
            for i, (sample, label) in enumerate(keys[first : first + n_columns]):
                x = layout.margin + i * column
                self.add(
                    svg.element(
                        "g", sample, transform=f"translate({svg.number(x)} {svg.number(self.y + layout.line / 2)})"
                    )
                )
                room = column - SWATCH - 8
                heights.append(self.lines(x + SWATCH + 8, self.y + 1, label, width=room, max_lines=2))
            self.y += max(heights) + 3
        self.space(6)

    def hatched(self, name: str, colour: str) -> str:
        """Return a fill of slanted lines on a light ground of the same colour."""
        reference = f"{self.prefix}-{name}"
        ground = svg.element("rect", width=6, height=6, fill=colour, fill_opacity=0.3)
        lines = svg.element("path", d="M-1.5 1.5L1.5-1.5M0 6L6 0M4.5 7.5L7.5 4.5", stroke=colour, stroke_width=1.6)
        self.patterns[reference] = svg.element(
            "pattern", ground, lines, id=reference, width=6, height=6, patternUnits="userSpaceOnUse"
        )
        return f"url(#{reference})"

    def svg(self, title: str, alt: str) -> str:
        layout = self.layout
        height = math.ceil(self.y + layout.margin)
        names = f"{self.prefix}-title", f"{self.prefix}-desc"
        drawn = "".join((*self.patterns.values(), *self.parts))
        return svg.element(
            "svg",
            f'<title id="{names[0]}">{svg.escaped(title)}</title><desc id="{names[1]}">{svg.escaped(alt)}</desc>',
            svg.element("style", own_colours(drawn)),
            svg.element("defs", *self.patterns.values()) if self.patterns else "",
            *self.parts,
            xmlns="http://www.w3.org/2000/svg",
            viewBox=f"0 0 {svg.number(layout.width)} {height}",
            width=layout.width,
            height=height,
            class_=f"rs-{layout.name}",
            role="img",
            aria_labelledby=" ".join(names),
            style=FITTING,
            font_family=FONTS,
            font_size=layout.size,
            fill=FG,
        )


def own_colours(drawn: str) -> str:
    """Return the colours of a picture as a document of its own: in a page, `:root` is the page, which sets them."""
    used = {*re.findall(r"var\(--rs-([\w-]+)", drawn), "ink", "paper"}
    light, dark = (
        "".join(f"--rs-{name}:{colour};" for name, colour in colours.items() if name in used)
        for colours in THEMES.values()
    )
    night = f"@media screen and (prefers-color-scheme:dark){{svg:root{{{dark}}}}}"
    return f"svg:root{{{light}background:{BG}}}{night}"
