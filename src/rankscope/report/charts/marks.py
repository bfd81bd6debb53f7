"""The marks of verdicts: a shape for each, so that they differ without colour, in the tone of the verdict."""

from __future__ import annotations

from rankscope.comparison.records import Code
from rankscope.report.charts.palette import BG, MARK_COLOURS, marker
from rankscope.report.charts.svg import Attributes, element, group
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
TURNED: dict[Code, Code] = {
    "better": "worse",
    "probably_better": "probably_worse",
    "worse": "better",
    "probably_worse": "probably_better",
}
"""What a verdict is, seen from the other of two systems; the others stay."""


def look_of(mark: Mark) -> Attributes:
    """Return how the outline of a mark is drawn."""
    colour = MARK_COLOURS[mark]
    if mark in HOLLOW:
        return {"fill": BG, "stroke": colour, "stroke_width": 1.6}
    return {"fill": colour, "stroke": "none"}


def form_of(mark: Mark, x: float, y: float, radius: float, *children: str) -> str:
    """Return the shape of a mark without its colour, which a group of many may share."""
    if mark == "same":
        d = "".join(
            f"M{x - radius:.1f} {y + down * radius:.1f}h{2 * radius:.1f}v{radius * 0.55:.1f}h{-2 * radius:.1f}Z"
            for down in (-0.8, 0.25)
        )
        return element("path", *children, d=d)
    if mark == "unsafe":
        r = radius * 1.15
        left = f"M{x:.1f} {y - r:.1f}V{y + r:.1f}L{x - r:.1f} {y:.1f}Z"
        outline = f"M{x:.1f} {y - r:.1f}L{x + r:.1f} {y:.1f}L{x:.1f} {y + r:.1f}L{x - r:.1f} {y:.1f}Z"
        return element("path", *children, d=outline) + element("path", d=left, fill=MARK_COLOURS[mark], stroke="none")
    return marker(FORMS[mark], x, y, radius * (0.9 if mark == "unsure" else 1), *children)


def verdict_marker(mark: Mark, x: float, y: float, radius: float, *children: str) -> str:
    """Return the mark of a verdict at a place: filled where it is sure, hollow where it is probable or open."""
    return group([form_of(mark, x, y, radius, *children)], **look_of(mark))
