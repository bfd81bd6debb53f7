"""Colours, dashes, markers and hatches: told apart without colour too, and right on light and dark pages."""

from __future__ import annotations

from typing import Literal

from rankscope.report.charts.svg import Attribute, element, polyline

Theme = Literal["light", "dark"]

THEMES: dict[Theme, dict[str, str]] = {
    "light": {
        "fg": "#1f2328", "bg": "#ffffff", "muted": "#59626c", "axis": "#9aa2aa", "grid": "#e4e7ea",
        "c1": "#0072b2", "c2": "#c84e00", "c3": "#00805d", "c4": "#a8548f", "c5": "#946900", "c6": "#4a4f55",
        "c7": "#3b9bd1",
    },
    "dark": {
        "fg": "#e6e8ea", "bg": "#14171a", "muted": "#a0a9b2", "axis": "#66707a", "grid": "#2b3137",
        "c1": "#56b4e9", "c2": "#ff8f45", "c3": "#2fc79b", "c4": "#e49bc6", "c5": "#e5b93c", "c6": "#c3c9cf",
        "c7": "#a9dcff",
    },
}  # fmt: skip
"""Series colours after Okabe and Ito, told apart with a colour vision deficiency, darkened to be read on white."""


def paint(name: str) -> str:
    """Return a colour that a page may set as a variable; without a page it is the light one."""
    return f"var(--rs-{name},{THEMES['light'][name]})"


def variables(theme: Theme) -> str:
    """Return the colours of a theme as CSS."""
    return "".join(f"--rs-{name}:{colour};" for name, colour in THEMES[theme].items())


FG, BG, MUTED, AXIS, GRID = map(paint, ("fg", "bg", "muted", "axis", "grid"))
SERIES = tuple(paint(f"c{i}") for i in range(1, 8))
GOOD, BAD = SERIES[0], SERIES[1]
TONES = {"good": GOOD, "caution": SERIES[4], "bad": BAD, "neutral": MUTED}
TONE_MARKERS = {"good": "disc", "caution": "triangle", "bad": "square", "neutral": "diamond"}
DASHES = (None, "7 3", "2 3", "9 3 2 3", "14 4", "5 2 1 2 1 2", "1 2")
MARKERS = ("disc", "square", "triangle", "diamond", "wedge", "plus", "cross")

SHAPES: dict[str, tuple[tuple[float, float], ...]] = {
    "square": ((-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)),
    "triangle": ((0, -1.1), (1.1, 0.9), (-1.1, 0.9)),
    "diamond": ((0, -1.3), (1.3, 0), (0, 1.3), (-1.3, 0)),
    "wedge": ((0, 1.1), (1.1, -0.9), (-1.1, -0.9)),
    "plus": (
        (-0.35, -1.1), (0.35, -1.1), (0.35, -0.35), (1.1, -0.35), (1.1, 0.35), (0.35, 0.35),
        (0.35, 1.1), (-0.35, 1.1), (-0.35, 0.35), (-1.1, 0.35), (-1.1, -0.35), (-0.35, -0.35),
    ),
    "cross": (
        (0, -0.45), (0.7, -1.15), (1.15, -0.7), (0.45, 0), (1.15, 0.7), (0.7, 1.15),
        (0, 0.45), (-0.7, 1.15), (-1.15, 0.7), (-0.45, 0), (-1.15, -0.7), (-0.7, -1.15),
    ),
}  # fmt: skip
"""Corners of markers of radius 1; a disc has none."""


def marker(shape: str, x: float, y: float, radius: float, *children: str, **attributes: Attribute) -> str:
    """Return a marker at a place."""
    if shape == "disc":
        return element("circle", *children, cx=x, cy=y, r=radius, **attributes)
    corners = [(x + radius * across, y + radius * down) for across, down in SHAPES[shape]]
    return element("path", *children, d=f"{polyline(corners)}Z", **attributes)


def hatch(name: str, colour: str) -> str:
    """Return a pattern of slanted lines on a light ground of the same colour."""
    ground = element("rect", width=6, height=6, fill=colour, fill_opacity=0.3)
    lines = element("path", d="M-1.5 1.5L1.5-1.5M0 6L6 0M4.5 7.5L7.5 4.5", stroke=colour, stroke_width=1.6)
    return element("pattern", ground, lines, id=name, width=6, height=6, patternUnits="userSpaceOnUse")
