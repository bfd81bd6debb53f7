"""An interval drawn on one axis with zero and the margin of what matters, as a line of text."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rankscope.report.document import Estimate, Estimates

Axis = tuple[float, float]
AXIS, INSIDE, MARGIN, ZERO, ZERO_INSIDE, VALUE = "·━:|┿●"


def text_estimate(row: Estimate, block: Estimates, *, width: int = 40, ends: bool = True) -> str:
    """Draw an estimate in one line, `width` characters wide between the ends of the axis that all of its block share.

    `|` is zero, `:` the margin, `━` the interval, `┿` zero within it, `●` the value, which stands alone where there is
    no interval. Nothing is drawn where the value or one of two ends is undefined or infinite. With `ends` the ends of
    the axis stand on both sides.
    """
    if row.drawn is None:
        return ""
    low, value, high = row.drawn
    start, end = shared_axis(block)
    track = [AXIS] * width

    def place(number: float) -> int:
        return min(width - 1, max(0, round((number - start) / (end - start) * (width - 1))))

    track[place(low) : place(high) + 1] = INSIDE * (place(high) - place(low) + 1)
    zero = ZERO_INSIDE if low < 0 < high else ZERO
    for number, mark in ((-block.margin, MARGIN), (block.margin, MARGIN), (0.0, zero), (value, VALUE)):
        track[place(number)] = mark
    drawn = "".join(track)
    return f"[{signed(start)} {drawn} {signed(end)}]" if ends else drawn


def text_axis(block: Estimates, *, width: int) -> str:
    """Return zero, and the ends of the axis where there is room beside it, to stand below estimates without ends."""
    start, end = shared_axis(block)
    zero = min(width - 1, max(0, round((0 - start) / (end - start) * (width - 1))))
    first, last = signed(start), signed(end)
    left = first.ljust(zero) if len(first) < zero else " " * zero
    room = width - zero - 1
    return f"{left}0{last.rjust(room) if len(last) < room else ''}".rstrip()


def shared_axis(block: Estimates) -> Axis:
    """Return the ends of an axis that reaches over all intervals, zero and the margin on both sides of it."""
    numbers = (number for row in block.estimates for number in (row.low, row.value, row.high) if number is not None)
    reached = [-block.margin, 0.0, block.margin, *numbers]
    start, end = min(reached), max(reached)
    return (start, end) if start < end else (start - 0.01, end + 0.01)


def signed(number: float) -> str:
    """Print an end of the axis with its sign and two digits that count."""
    return f"{number:+.2g}" if number else "0"
