"""The control band: between which values the mean of a system usually lies, by its own last runs.

The band is the median of the last runs plus and minus 3 · 1.4826 · MAD, where MAD is the median of their distances from
that median; 1.4826 · MAD estimates the standard deviation of normal values and hardly notices a few that are far off
(Hampel, The Influence Curve and Its Role in Robust Estimation, 1974). A system that answers the same each time has
MAD 0 and a band of one value, so any change would lie outside: a change counts only where it is also larger than the
margin, the smallest difference that matters, or larger than rounding where there is no margin.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np

from rankscope.arrays import Floats
from rankscope.errors import OptionError
from rankscope.records import Record

LAST_RUNS = 10
"""How many of the last runs make the band."""
FEWEST_RUNS = 5
"""With fewer there is no band: the spread of four values says next to nothing."""
WIDTH = 3.0
"""How many robust standard deviations the band reaches to either side."""
NORMAL = 1.4826
"""What makes the MAD of normal values an estimate of their standard deviation."""
_ROUNDING = 1e-12

Side: TypeAlias = Literal["worse", "negligible", "inside", "better"]
"""Where a value lies; negligible: outside the band, but not further from the median than the margin."""


class ControlBand(Record):
    """Where the mean of a system usually lies."""

    n: int
    """How many runs it is made of, the newest of those that were given."""
    median: float
    mad: float
    """The median distance from the median."""
    low: float
    high: float

    def side(self, value: float, *, margin: float = 0.0, lower_is_better: bool = False) -> Side:
        """Say where a value lies; what is worse or better is so by more than the margin."""
        distance = abs(value - self.median) - _ROUNDING * max(1.0, abs(self.median), abs(value))
        if distance <= self.high - self.median:
            return "inside"
        if distance <= margin:
            return "negligible"
        return "better" if (value > self.median) != lower_is_better else "worse"


def control_band(values: Floats, *, last: int = LAST_RUNS) -> ControlBand | None:
    """Return the band of the last of some values, oldest first; None where there are fewer than `FEWEST_RUNS`."""
    kept = np.asarray(values, dtype=np.float64)[-last:]
    if not np.isfinite(kept).all():
        raise OptionError("a control band is made of finite numbers", hint="leave out runs whose mean is undefined")
    if len(kept) < FEWEST_RUNS:
        return None
    median = float(np.median(kept))
    mad = float(np.median(np.abs(kept - median)))
    half = WIDTH * NORMAL * mad
    return ControlBand(len(kept), median, mad, median - half, median + half)
