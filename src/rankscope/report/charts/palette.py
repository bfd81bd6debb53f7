"""Colours, dashes, markers and hatches: distinct without colour too, and right on light and dark pages."""

from __future__ import annotations

from rankscope.report.charts.svg import Attribute, element, polyline
from rankscope.report.tokens import THEMES, theme_css, tone, variables


def paint(name: str) -> str:
    """Return a colour that a page may set as a variable; without a page it is the light one."""
    return f"var(--rs-{name},{THEMES['light'][name]})"


SWITCH = (
    ".rs-chart{container-type:inline-size}"
    ".rs-chart svg{display:block;max-width:100%;height:auto}"
    ".rs-chart .rs-narrow{display:none}"
    "@container (max-width:620px){.rs-chart .rs-wide{display:none}"
    ".rs-chart .rs-narrow{display:block;width:100%;max-width:460px}}"
)
"""In less than 620 px the wide picture would have letters smaller than 11 px."""
PAGE_CSS = (
    f"{theme_css(':root')}"
    f"@media screen{{[data-theme=light]{{{variables('light')}}}[data-theme=dark]{{{variables('dark')}}}}}{SWITCH}"
    ".rs-chart .rs-wide{margin-left:-16px}.rs-chart .rs-narrow{margin-left:-8px}"
)
"""What a page with charts needs once: the colours, light and dark, and which picture is shown where."""
NOTEBOOK_CSS = (
    f"{theme_css('.rs-notebook')}.rs-notebook{{background:var(--rs-paper);color:var(--rs-ink);padding:4px}}{SWITCH}"
)

FG, BG, MUTED, AXIS, GRID = map(paint, ("ink", "paper", "ink-3", "axis", "line"))
SERIES = tuple(paint(f"s{i}") for i in range(1, 5))
"""Of the few lines that are coloured; each has its own dash and marker, too."""
GOOD, BAD = paint("better"), paint("worse")
MARKS = ("better", "probably_better", "worse", "probably_worse", "same", "unsure", "unsafe", "fails", "note")
MARK_COLOURS = {mark: paint(tone(mark)) for mark in MARKS}
MARK_TINTS = {mark: BG if tone(mark) == "unsure" else paint(f"{tone(mark)}-tint") for mark in MARKS}
"""The ground below a mark."""
RAMP = tuple(paint(f"r{i}") for i in range(5))
ON_RAMP = (FG, FG, FG, paint("on-r3"), paint("on-r4"))
"""Shades of one hue from low to high, and what is written on each."""
SUNK = paint("sunk")
DASHES = (None, "7 3", "2 3", "9 3 2 3")
MARKERS = ("disc", "square", "triangle", "diamond")
SHAPES = {
    "square": "-.9 -.9, .9 -.9, .9 .9, -.9 .9",
    "triangle": "0 -1.1, 1.1 .9, -1.1 .9",
    "diamond": "0 -1.3, 1.3 0, 0 1.3, -1.3 0",
    "wedge": "0 1.1, 1.1 -.9, -1.1 -.9",
    "plus": "-.35 -1.1, .35 -1.1, .35 -.35, 1.1 -.35, 1.1 .35, .35 .35, "
    ".35 1.1, -.35 1.1, -.35 .35, -1.1 .35, -1.1 -.35, -.35 -.35",
    "cross": "0 -.45, .7 -1.15, 1.15 -.7, .45 0, 1.15 .7, .7 1.15, "
    "0 .45, -.7 1.15, -1.15 .7, -.45 0, -1.15 -.7, -.7 -1.15",
}
"""Corners of markers of radius 1; a disc has none."""
CORNERS = {shape: [(float(x), float(y)) for x, y in map(str.split, text.split(","))] for shape, text in SHAPES.items()}


def marker(shape: str, x: float, y: float, radius: float, *children: str, **attributes: Attribute) -> str:
    if shape == "disc":
        return element("circle", *children, cx=x, cy=y, r=radius, **attributes)
    corners = [(x + radius * across, y + radius * down) for across, down in CORNERS[shape]]
    return element("path", *children, d=f"{polyline(corners)}Z", **attributes)
