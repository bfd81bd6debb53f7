"""An interval drawn on one axis with zero and the margin of what matters, as a line of text."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rankscope.report.document import Estimate, Estimates

Axis = tuple[float, float]
AXIS, INSIDE, MARGIN, ZERO, ZERO_INSIDE, VALUE = "·━:|┿●"


def text_interval(
    low: float, value: float, high: float, *, margin: float = 0.0, width: int = 40, axis: Axis | None = None
) -> str:
    """Draw an interval in one line, `width` characters wide between the ends of its axis.

    The axis reaches over the interval, zero and the margin on both sides of it, unless it is given: `|` is zero, `:`
    the margin, `━` the interval, `┿` zero within it, `●` the value. Nothing is drawn where the value or an end is
    undefined or infinite.
    """
    if not all(map(math.isfinite, (low, value, high))):
        return ""
    start, end = axis or axis_of((low, value, high), margin=margin)
    track = [AXIS] * width

    def place(number: float) -> int:
        return min(width - 1, max(0, round((number - start) / (end - start) * (width - 1))))

    track[place(low) : place(high) + 1] = INSIDE * (place(high) - place(low) + 1)
    zero = ZERO_INSIDE if low < 0 < high else ZERO
    for number, mark in ((-margin, MARGIN), (margin, MARGIN), (0.0, zero), (value, VALUE)):
        if start <= number <= end:
            track[place(number)] = mark
    return f"[{signed(start)} {''.join(track)} {signed(end)}]"


def axis_of(numbers: Iterable[float], *, margin: float) -> Axis:
    reached = [-margin, 0.0, margin, *numbers]
    start, end = min(reached), max(reached)
    return (start, end) if start < end else (start - 0.01, end + 0.01)


def shared_axis(block: Estimates) -> Axis:
    numbers = (number for row in block.estimates for number in (row.low, row.value, row.high) if number is not None)
    return axis_of(numbers, margin=block.margin)


def text_estimate(row: Estimate, block: Estimates, *, width: int = 40) -> str:
    """Draw an estimate in one line on the axis that all of its block share; nothing where it is undefined."""
    if row.numbers is None:
        return ""
    return text_interval(*row.numbers, margin=block.margin, width=width, axis=shared_axis(block))


def signed(number: float) -> str:
    """Print an end of the axis with its sign and two digits that count."""
    return f"{number:+.2g}" if number else "0"
