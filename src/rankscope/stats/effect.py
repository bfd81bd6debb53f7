"""Effects: how large a difference is, and whether it is large enough to matter."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rankscope.core.arrays import Floats
from rankscope.errors import OptionError
from rankscope.stats.interval import Interval, t_interval
from rankscope.stats.multiple import residual_variance
from rankscope.stats.rng import streams

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


@dataclass(frozen=True, slots=True)
class Equivalence:
    """What two one-sided tests say: whether the difference is shown to be smaller than the margin, either way."""

    p: float
    """The larger of the two one-sided p-values."""
    margin: float
    interval: Interval
    """At level 1 - 2 alpha; inside the margin exactly where p is below alpha."""
    is_equivalent: bool


def effect_of(differences: Floats) -> Effect:
    """Return the effect of paired differences."""
    if not len(differences):
        raise OptionError("an effect needs at least one query that both systems have a score for")
    wins, losses = int((differences > 0).sum()), int((differences < 0).sum())
    ties = len(differences) - wins - losses
    spread = float(differences.std(ddof=1)) if len(differences) > 1 else 0.0
    d_z = float(differences.mean()) / spread if spread > 0 else math.nan
    return Effect(d_z, (wins + ties / 2) / len(differences), wins, ties, losses)


def pair_effects(scores: Floats) -> Floats:
    """Return every pair's difference of means in units of what queries and systems leave unexplained.

    `scores` is queries x systems; entry i, j is how far system i is above system j. NaN where nothing is unexplained.
    """
    means, error = scores.mean(axis=0), residual_variance(scores)
    gaps = means[:, None] - means[None, :]
    return np.asarray(gaps / math.sqrt(error)) if error > 0 else np.full_like(gaps, math.nan)


def tost(differences: Floats, margin: float, *, alpha: float = 0.05) -> Equivalence:
    """Return two one-sided t tests of whether the mean difference is smaller than the margin (Schuirmann 1987)."""
    from scipy.special import stdtr

    if not margin > 0:
        raise OptionError(f"margin = {margin} is not above 0", hint="give the smallest difference that matters")
    interval = equivalence_interval(differences, alpha=alpha)
    error = float(differences.std(ddof=1)) / math.sqrt(len(differences))
    room = margin - abs(float(differences.mean()))
    p = float(stdtr(len(differences) - 1, -room / error)) if error > 0 else float(room <= 0)
    return Equivalence(p, margin, interval, p < alpha)


def equivalence_interval(differences: Floats, *, alpha: float = 0.05) -> Interval:
    """Return the interval that two one-sided tests look at: at level 1 - 2 alpha."""
    return t_interval(differences, level=1 - 2 * alpha)


def is_equivalent(differences: Floats, margin: float, *, alpha: float = 0.05) -> bool:
    """Tell whether the difference is shown to be smaller than the margin either way (TOST)."""
    return tost(differences, margin, alpha=alpha).is_equivalent


def bayesian_bootstrap(differences: Floats, margin: float, *, n_draws: int = N_DRAWS, seed: int = 0) -> Chances:
    """Return the chances, by the Bayesian bootstrap (Rubin 1981) of the mean difference."""
    n = len(differences)
    draws = []
    for rng, rows in streams(seed, "Bayesian bootstrap", n_resamples=n_draws, width=n):
        weights = rng.standard_exponential((rows, n))
        draws.append(weights @ differences / weights.sum(axis=1))
    means = np.concatenate(draws)
    better, worse = float((means > margin).mean()), float((means < -margin).mean())
    return Chances(better, 1 - better - worse, worse)
