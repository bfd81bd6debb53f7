"""Effects: how large a difference is, and whether it is large enough to matter."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rankscope.stats.rng import streams
from rankscope.stats.units import UnitSums

N_DRAWS = 4_000


@dataclass(frozen=True, slots=True)
class Effect:
    """The size of a paired difference, turned so that more is better."""

    d_z: float
    """The mean gain in units of its own standard deviation; NaN where nothing varies."""
    superiority: float
    """The share of queries won, ties counting half."""
    wins: int
    ties: int
    losses: int


@dataclass(frozen=True, slots=True)
class Chances:
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
