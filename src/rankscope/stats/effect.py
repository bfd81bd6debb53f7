"""Effects: how large a difference is, and whether it is large enough to matter."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rankscope.core.arrays import Floats
from rankscope.stats.interval import Interval, t_interval
from rankscope.stats.rng import BLOCK, blocks, stream

N_DRAWS = 4_000


@dataclass(frozen=True, slots=True)
class Effect:
    """The size of a paired difference."""

    d_z: float
    """The mean difference in units of its own standard deviation; NaN where nothing varies."""
    superiority: float
    """The share of queries won, ties counting half."""
    wins: int
    ties: int
    losses: int


@dataclass(frozen=True, slots=True)
class Chances:
    """How likely the mean difference is above the margin, within it, or below it."""

    better: float
    equivalent: float
    worse: float


def effect_of(differences: Floats) -> Effect:
    """Return the effect of paired differences."""
    wins, losses = int((differences > 0).sum()), int((differences < 0).sum())
    ties = len(differences) - wins - losses
    spread = float(differences.std(ddof=1)) if len(differences) > 1 else 0.0
    d_z = float(differences.mean()) / spread if spread > 0 else math.nan
    return Effect(d_z, (wins + ties / 2) / len(differences), wins, ties, losses)


def equivalence_interval(differences: Floats, *, alpha: float = 0.05) -> Interval:
    """Return the interval that two one-sided tests look at: at level 1 - 2 alpha."""
    return t_interval(differences, level=1 - 2 * alpha)


def is_equivalent(differences: Floats, margin: float, *, alpha: float = 0.05) -> bool:
    """Tell whether the difference is shown to be smaller than the margin either way (TOST)."""
    interval = equivalence_interval(differences, alpha=alpha)
    return -margin < interval.low and interval.high < margin


def bayesian_bootstrap(differences: Floats, margin: float, *, n_draws: int = N_DRAWS, seed: int = 0) -> Chances:
    """Return the chances, by the Bayesian bootstrap (Rubin 1981) of the mean difference."""
    draws = []
    for block, size in blocks(n_draws):
        weights = stream(seed, "Bayesian bootstrap", block).standard_exponential((BLOCK, len(differences)))[:size]
        draws.append(weights @ differences / weights.sum(axis=1))
    means = np.concatenate(draws)
    better, worse = float((means > margin).mean()), float((means < -margin).mean())
    return Chances(better, 1 - better - worse, worse)
