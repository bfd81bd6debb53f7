"""Colours, dashes, markers and hatches: distinct without colour too, and right on light and dark pages."""

from __future__ import annotations

from typing import Literal

from rankscope.report.charts.svg import Attribute, element, polyline

Theme = Literal["light", "dark"]

NAMES = "fg bg muted axis grid c1 c2 c3 c4 c5 c6 c7"
COLOURS: dict[Theme, str] = {
    "light": "#1f2328 #ffffff #59626c #9aa2aa #e4e7ea #0072b2 #c84e00 #00805d #a8548f #946900 #4a4f55 #3b9bd1",
    "dark": "#e6e8ea #14171a #a0a9b2 #66707a #2b3137 #56b4e9 #ff8f45 #2fc79b #e49bc6 #e5b93c #c3c9cf #a9dcff",
}
"""Series colours after Okabe and Ito, distinct with a colour vision deficiency, darkened to be read on white."""
THEMES: dict[Theme, dict[str, str]] = {
    theme: dict(zip(NAMES.split(), colours.split(), strict=True)) for theme, colours in COLOURS.items()
}


def paint(name: str) -> str:
    """Return a colour that a page may set as a variable; without a page it is the light one."""
    return f"var(--rs-{name},{THEMES['light'][name]})"


def variables(theme: Theme) -> str:
    return "".join(f"--rs-{name}:{colour};" for name, colour in THEMES[theme].items())


SWITCH = (
    ".rs-chart{container-type:inline-size}"
    ".rs-chart svg{display:block;max-width:100%;height:auto}"
    ".rs-chart .rs-narrow{display:none}"
    "@container (max-width:620px){.rs-chart .rs-wide{display:none}"
    ".rs-chart .rs-narrow{display:block;width:100%;max-width:460px}}"
)
"""In less than 620 px the wide picture would have letters smaller than 11 px."""
PAGE_CSS = (
    f":root{{{variables('light')}}}"
    f"@media (prefers-color-scheme:dark){{:root{{{variables('dark')}}}}}"
    f"[data-theme=light]{{{variables('light')}}}[data-theme=dark]{{{variables('dark')}}}{SWITCH}"
)
"""What a page with charts needs once: the colours, light and dark, and which picture is shown where."""
NOTEBOOK_CSS = (
    f".rs-notebook{{{variables('light')}background:var(--rs-bg);color:var(--rs-fg);padding:4px}}"
    f"@media (prefers-color-scheme:dark){{.rs-notebook{{{variables('dark')}}}}}{SWITCH}"
)

FG, BG, MUTED, AXIS, GRID = map(paint, ("fg", "bg", "muted", "axis", "grid"))
SERIES = tuple(paint(f"c{i}") for i in range(1, 8))
GOOD, BAD = SERIES[0], SERIES[1]
MARK_COLOURS = {
    "better": GOOD,
    "probably_better": GOOD,
    "worse": BAD,
    "probably_worse": BAD,
    "same": SERIES[2],
    "unsure": MUTED,
    "unsafe": SERIES[3],
    "fails": BAD,
    "note": MUTED,
}
MARK_SHAPES = {
    "better": "triangle",
    "probably_better": "triangle",
    "worse": "wedge",
    "probably_worse": "wedge",
    "same": "square",
    "unsure": "disc",
    "unsafe": "diamond",
    "fails": "cross",
    "note": "disc",
}
DASHES = (None, "7 3", "2 3", "9 3 2 3", "14 4", "5 2 1 2 1 2", "1 2")
MARKERS = ("disc", "square", "triangle", "diamond", "wedge", "plus", "cross")
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
