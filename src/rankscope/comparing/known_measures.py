"""What is known of a measure by its name: scores may come from another tool, under any name."""

from __future__ import annotations

import math
from functools import cache

from rankscope.errors import MeasureError
from rankscope.measures.parse import parse_measure
from rankscope.measures.spec import Measure

UNKNOWN_RANGE = (-math.inf, math.inf)


@cache
def known_measure(name: str) -> Measure | None:
    """Return our measure of that name, or None where it is somebody else's."""
    try:
        return parse_measure(name)
    except MeasureError:
        return None


def range_of(name: str) -> tuple[float, float]:
    """Return between which numbers the scores of a measure lie."""
    found = known_measure(name)
    return UNKNOWN_RANGE if found is None else found.spec.range
