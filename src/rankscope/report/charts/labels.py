"""Names beside points, placed so that they cover neither one another nor a point."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rankscope.records import Record
from rankscope.report.charts.drawing import Box
from rankscope.report.charts.text import ASCENT, DESCENT, text_width

APART = 7


class PlacedLabel(Record):
    """A name with the place of its base line's left end."""

    index: int
    text: str
    x: float
    y: float


def place_labels(
    texts: Sequence[str], points: Sequence[tuple[float, float]], *, size: float, within: Box, soft: Sequence[Box] = ()
) -> list[PlacedLabel]:
    """Return the names that have room, the first ones first; boxes in `soft` are avoided where that is possible."""
    taken = [Box(x - APART, y - APART, x + APART, y + APART) for x, y in points]
    placed = []
    for i, (text, point) in enumerate(zip(texts, points, strict=True)):
        own = list(candidates(text_width(text, size), point, size))
        for avoided in ([*taken, *soft], taken):
            free = next((box for box in own if inside(box, within) and not any(map(box.meets, avoided))), None)
            if free:
                placed.append(PlacedLabel(i, text, free.left, free.top + 1.5 + ASCENT * size))
                taken.append(free)
                break
    return placed


def candidates(width: float, point: tuple[float, float], size: float) -> Iterator[Box]:
    """Yield places around a point: beside it first, then above and below, then at its corners, then farther out."""
    height = (ASCENT + DESCENT) * size + 3  # names have a halo
    for distance in (APART + 1, 2.2 * APART):
        for right, down in ((1, 0), (-1, 0), (0, -1), (0, 1), (1, -1), (1, 1), (-1, -1), (-1, 1)):
            reach = width / 2 + distance if right else 0
            x = point[0] + right * reach
            y = point[1] + down * (height / 2 + distance)
            yield Box(x - width / 2, y - height / 2, x + width / 2, y + height / 2)


def inside(box: Box, outer: Box) -> bool:
    """Tell whether a box lies within another."""
    across = outer.left <= box.left and box.right <= outer.right
    return across and outer.top <= box.top and box.bottom <= outer.bottom
