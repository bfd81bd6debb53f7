"""What is known of a measure by its name: scores may come from another tool, under any name."""

from __future__ import annotations

import math
import re
from functools import cache

import numpy as np

from rankscope.arrays import Floats
from rankscope.errors import MeasureError, OptionError
from rankscope.light import replace
from rankscope.measures.parse import parse_measure
from rankscope.measures.scores import Scores
from rankscope.measures.spec import Measure

POSITION = re.compile(r"((?<![a-zA-Z])p|P)ositions?(?![a-z])|((?<![a-zA-Z])r|R)anks?(?![a-z])")
"""A word of a measure's name, such as minPosition or mean_rank, by which its scores are places in a ranking."""


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


def refuse_lacking(name: str, scores: Scores) -> None:
    """Refuse a measure that is left out of the scores, as some systems do not have it."""
    measure = known_measure(name)
    systems = scores.lacking.get(name) or scores.lacking.get(name if measure is None else measure.name)
    if systems is not None:
        have = "has" if len(systems) == 1 else "have"
        raise OptionError(
            f"{', '.join(systems)} {have} no scores by {name}, so that not all systems can be compared by it",
            hint=f"give the scores of the others alone, or name one of {', '.join(scores.measures[:8])}",
        )


def range_of(name: str, values: Floats | None = None) -> tuple[float, float]:
    """Return the range of a measure; of one that is not known, what its scores make likely.

    Scores that all lie between 0 and 1 are taken to be made so, and scores that are never negative likewise. Ranks and
    positions, by the measure's name, count from 1, unless a score says otherwise.
    """
    found = known_measure(name)
    if found is not None:
        return found.spec.range
    defined = np.array([]) if values is None else values[~np.isnan(values)]
    if not len(defined) or defined.min() < 0:
        return -math.inf, math.inf
    if defined.min() >= 1 and POSITION.search(name):
        return 1.0, math.inf
    return 0.0, 1.0 if defined.max() <= 1 else math.inf


def check_within_range(margin: float, name: str) -> None:
    """Refuse a margin that no difference of a measure can exceed."""
    low, high = range_of(name)
    if margin >= high - low:
        raise OptionError(
            f"margin = {margin:g} is as wide as the range of {name}, so everything would be the same",
            hint="give the smallest difference that matters, such as 0.01",
        )


def furthest_of(name: str) -> float:
    """Return how far apart two scores of a measure can be: 1 where they lie between 0 and 1."""
    low, high = range_of(name)
    return high - low
