"""Chances: how likely a difference is large enough to matter."""

from __future__ import annotations

import numpy as np

from rankscope.records import Record
from rankscope.stats.rng import streams
from rankscope.stats.units import UnitSums

N_DRAWS = 4_000


class Chances(Record):
    """How likely the mean gain is above the margin, within it, or below it."""

    better: float
    equivalent: float
    worse: float


def bayesian_bootstrap(units: UnitSums, margin: float, *, n_draws: int = N_DRAWS, seed: int = 0) -> Chances:
    """Return the chances, by the Bayesian bootstrap (Rubin 1981) of the mean gain over units of evidence."""
    n = len(units.sums)
    draws = []
    for rng, rows in streams(seed, "Bayesian bootstrap", n_resamples=n_draws, width=n):
        weights = rng.standard_exponential((rows, n))
        draws.append((weights @ units.sums[:, 0]) / (weights @ units.sizes[:, 0]))
    means = np.concatenate(draws)
    better, worse = float((means > margin).mean()), float((means < -margin).mean())
    return Chances(better, 1 - better - worse, worse)
