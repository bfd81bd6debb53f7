"""The marks of verdicts: a shape for each, so that they differ without colour, in the tone of the verdict."""

from __future__ import annotations

from rankscope.report.charts.palette import BG, MARK_COLOURS, marker
from rankscope.report.charts.svg import Attributes, element, group, number
from rankscope.report.document import Mark

FORMS: dict[Mark, str] = {
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
HOLLOW = ("probably_better", "probably_worse", "unsure", "unsafe")
"""What is not sure is drawn as an outline, never paler: pale colours are lost in print."""


def look_of(mark: Mark) -> Attributes:
    """Return how the outline of a mark is drawn."""
    colour = MARK_COLOURS[mark]
    if mark in HOLLOW:
        return {"fill": BG, "stroke": colour, "stroke_width": 1.6}
    return {"fill": colour, "stroke": "none"}


def outline_of(mark: Mark, x: float, y: float, radius: float) -> str:
    """Return the outline of a mark as a path; a ring has none."""
    form = FORMS[mark]
    if mark == "same":
        size = f"h{number(2 * radius)}v{number(0.55 * radius)}h{number(-2 * radius)}Z"
        return "".join(f"M{x - radius:.1f} {y + down * radius:.1f}{size}" for down in (-0.8, 0.25))
    if form in ("triangle", "wedge"):
        up, half = -1 if form == "triangle" else 1, 1.1 * radius
        return f"M{x:.1f} {y + up * half:.1f}l{number(half)} {number(-up * 2 * radius)}h{number(-2 * half)}Z"
    if form == "diamond":
        r = number(1.15 * radius)
        return f"M{x:.1f} {y - 1.15 * radius:.1f}l{r} {r}l-{r} {r}l-{r}-{r}Z"
    return ""


def form_of(mark: Mark, x: float, y: float, radius: float, *children: str) -> str:
    """Return the shape of a mark without its colour, which a group of many may share."""
    if outline := outline_of(mark, x, y, radius):
        return element("path", *children, d=outline)
    return marker(FORMS[mark], x, y, radius * (0.9 if mark == "unsure" else 1), *children)


def half_of(x: float, y: float, radius: float) -> str:
    """Return the left half of a diamond as a path, which is filled where a verdict is not safe."""
    r = 1.15 * radius
    return f"M{x:.1f} {y - r:.1f}v{number(2 * r)}l-{number(r)}-{number(r)}Z"


def verdict_marker(mark: Mark, x: float, y: float, radius: float, *children: str) -> str:
    """Return the mark of a verdict at a place: filled where it is sure, hollow where it is probable or open."""
    form = group([form_of(mark, x, y, radius, *children)], **look_of(mark))
    return form + (element("path", d=half_of(x, y, radius), fill=MARK_COLOURS[mark]) if mark == "unsafe" else "")
