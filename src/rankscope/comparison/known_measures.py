"""What is known of a measure by its name: scores may come from another tool, under any name."""

from __future__ import annotations

import math
from functools import cache

from rankscope.errors import MeasureError
from rankscope.light import replace
from rankscope.measures.parse import parse_measure
from rankscope.measures.scores import Scores
from rankscope.measures.spec import Measure


@cache
def known_measure(name: str) -> Measure | None:
    """Return our measure of that name, or None where it is somebody else's."""
    try:
        return parse_measure(name)
    except MeasureError:
        return None


def with_directions(scores: Scores) -> Scores:
    """Return scores in which our own measures have their direction, wherever the scores were read from."""
    lower = {name for name in scores.measures if (found := known_measure(name)) and found.spec.better == "lower"}
    if all(lower <= run.lower_is_better for run in scores.values()):
        return scores
    runs = tuple(replace(run, lower_is_better=run.lower_is_better | lower) for run in scores.values())
    return replace(scores, runs=runs)


def range_of(name: str) -> tuple[float, float]:
    found = known_measure(name)
    return (-math.inf, math.inf) if found is None else found.spec.range
