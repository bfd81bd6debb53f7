"""SVG elements as text: escaped, and with rounded numbers, so that the same data always give the same bytes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

Attribute = str | float | None
Attributes = dict[str, Attribute]

NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What no XML file may hold, not even escaped: control characters, and bytes of an id that were no text."""
ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"})


def number(value: float) -> str:
    """Return a coordinate with at most two decimals."""
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def one_line(text: str) -> str:
    """Return a text as it can be shown: on one line, and without characters that XML does not know."""
    return " ".join(NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text).split())


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


def polyline(points: Sequence[tuple[float, float]]) -> str:
    """Return the path through points."""
    return "".join(f"{'L' if i else 'M'}{number(x)} {number(y)}" for i, (x, y) in enumerate(points))


def rectangle(left: float, top: float, right: float, bottom: float, *children: str, **attributes: Attribute) -> str:
    return element("rect", *children, x=left, y=top, width=right - left, height=bottom - top, **attributes)


def straight(x1: float, y1: float, x2: float, y2: float, **attributes: Attribute) -> str:
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, **attributes)
