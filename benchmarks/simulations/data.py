"""Simulated scores of which the truth is known; each function draws the scores of k systems on n queries.

How wide and how skewed `unlike_shapes`, `skewed` and `one_better` are was chosen so that methods which fail do so about
as much as in an earlier simulation. That a failure has the same size is therefore no news; that it is one, and that
other methods hold on the same data, is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Rng = np.random.Generator


@dataclass(frozen=True, eq=False)
class Simulated:
    """Scores of several systems on the same queries, and what is true of them."""

    scores: Floats
    """Queries x systems."""
    truth: Floats
    """The true mean of each system, up to a constant that all share: only differences are ever compared."""
    attributes: dict[str, Sequence[Any]]
    """What is known of each query: its cluster, weight or stratum."""
    other_scores: Floats | None = None
    """By further measures, queries x systems x measures; no system differs from another by any of them."""


def simulated(scores: Floats, truth: Sequence[float] | Floats | None = None, **attributes: Sequence[Any]) -> Simulated:
    """Return scores with their truth; without one all systems have the same true mean."""
    means = np.zeros(scores.shape[1]) if truth is None else np.asarray(truth, dtype=np.float64)
    return Simulated(scores, means, attributes)


def two_systems(differences: Floats, truth: float = 0.0, **attributes: Sequence[Any]) -> Simulated:
    """Return two systems that differ as given, around the middle of [0, 1]."""
    return simulated(np.column_stack([0.5 - differences / 2, 0.5 + differences / 2]), (0.0, truth), **attributes)


def alike(rng: Rng, n: int, k: int) -> Simulated:
    """Draw systems whose scores have the same distribution around what makes a query easy or hard."""
    ease = rng.beta(1.2, 2.5, (n, 1))
    return simulated(np.clip(ease + rng.normal(0, 0.12, (n, k)), 0, 1))


def alike_but_for(rng: Rng, n: int, k: int, *, gains: Sequence[float], spread: float = 0.12) -> Simulated:
    """Draw systems that differ by exactly these gains, and are alike in everything else."""
    ease = rng.beta(1.2, 2.5, (n, 1))
    return simulated(ease + np.array(gains) + rng.normal(0, spread, (n, k)), gains)


def one_better(rng: Rng, n: int, k: int) -> Simulated:
    """Draw systems of which the first is better by 0.05, on queries that differ more than the systems do."""
    gains = np.where(np.arange(k) == 0, 0.05, 0.0)
    return simulated(rng.normal(0.4, 0.25, (n, 1)) + gains + rng.normal(0, 0.098, (n, k)), gains)


SHAPES = (2.0, 0.5, 1.0, 0.3, 6.0)


def unlike_shapes(rng: Rng, n: int, k: int) -> Simulated:
    """Draw systems with a mean of 0.4 each: some are middling throughout, others either good or bad."""
    return simulated(np.column_stack([rng.beta(shape, 1.5 * shape, n) for shape in SHAPES[:k]]))


def skewed_differences(rng: Rng, n: int) -> Floats:
    """Draw differences whose mean is 0, made of many small wins and a few big losses."""
    wins = rng.random(n) < 0.8
    return np.where(wins, 0.05, -0.2) + rng.normal(0, 0.05, n)


def skewed(rng: Rng, n: int, _: int, *, gain: float = 0.0) -> Simulated:
    """Draw two systems whose differences are skewed; `gain` is their true mean."""
    return two_systems(skewed_differences(rng, n) + gain, gain)


def rare_big_wins(rng: Rng, n: int, _: int) -> Simulated:
    """Draw two systems with the same mean: one loses a little on nearly all queries and wins much on one in twenty."""
    wins = rng.random(n) < 0.05
    return two_systems(np.where(wins, 0.38, -0.02) + rng.normal(0, 0.01, n))


def near_copies(rng: Rng, n: int, k: int, *, n_others: int = 1, noise: float = 0.01) -> Simulated:
    """Draw systems that have nothing to do with one another, and nearly the same one for all the rest of them.

    All get noise alike, so all have the same true mean; without noise copies are exact.
    """
    originals = rng.beta(0.6, 0.9, (n, n_others + 1))
    scores = originals[:, np.minimum(np.arange(k), n_others)]
    return simulated(np.clip(scores + rng.normal(0, noise, scores.shape), 0, 1) if noise else scores)


N_JUNK = 3


def with_junk(rng: Rng, n: int, k: int) -> Simulated:
    """Draw systems that are alike, the last three of them junk: they find something for one query in twenty-five."""
    scores = alike(rng, n, k).scores
    found = rng.random((n, N_JUNK)) < 0.04
    scores[:, k - N_JUNK :] = np.where(found, rng.beta(1.2, 2.5, (n, N_JUNK)), 0.0)
    truth = np.where(np.arange(k) < k - N_JUNK, MEAN_ALIKE, 0.04 * 1.2 / 3.7)
    return simulated(scores, truth)


def mean_alike() -> float:
    """Return the true mean of `alike`: that of a clipped normal around every ease, by quadrature."""
    from scipy.special import betaincinv, ndtr

    ease = betaincinv(1.2, 2.5, (np.arange(20_000) + 0.5) / 20_000)
    low, high = -ease / 0.12, (1 - ease) / 0.12
    densities = (np.exp(-(low**2) / 2) - np.exp(-(high**2) / 2)) / np.sqrt(2 * np.pi)
    return float(np.mean(ease * (ndtr(high) - ndtr(low)) + 0.12 * densities + 1 - ndtr(high)))


MEAN_ALIKE = mean_alike()


def clustered(rng: Rng, n: int, k: int, *, sizes: Sequence[int]) -> Simulated:
    """Draw systems that go well or badly on whole clusters of queries; n is the number of clusters."""
    labels = np.repeat(np.arange(n), rng.choice(sizes, n))
    together = rng.normal(0, 0.1, (n, k))[labels]
    return simulated(0.5 + together + rng.normal(0, 0.05, (len(labels), k)), question=labels.tolist())


def first_ranks(rng: Rng, n: int, k: int, *, gain: int = 0) -> Simulated:
    """Draw the rank of the first relevant doc, where less is better; the first system's is higher by `gain`."""
    ease = rng.beta(3.0, 6.0, (n, 1)) + 0.05
    more = np.where(np.arange(k) == 0, float(gain), 0.0)
    return simulated(rng.geometric(np.broadcast_to(ease, (n, k))) + more, more)


def weighted(rng: Rng, n: int, _: int, *, head_gain: float = 0.0) -> Simulated:
    """Draw two systems and how often each query is asked: lognormal, a few queries making up most of the traffic.

    `head_gain` is how much more the second gains on queries above the median of traffic than below; what it loses below
    makes up for it when queries count by their traffic, and more than that when they do not.
    """
    from scipy.special import ndtr

    weights = rng.lognormal(0.0, 1.0, n)
    share_of_head = float(ndtr(1.0))  # of the traffic, by the lognormal's mean above its median
    gains = head_gain * (weights > 1) - head_gain * share_of_head
    return two_systems(gains + rng.normal(0, 0.15, n), traffic=weights.tolist())


def normal_differences(rng: Rng, n: int, k: int, *, gains: Sequence[float], spread: float) -> Simulated:
    """Draw challengers whose differences from the first system are normal, with these gains and this spread."""
    noise = rng.normal(0, spread / np.sqrt(2), (n, k))
    return simulated(0.5 + np.array(gains) + noise, gains)


def nothing_to_find(rng: Rng, n: int, k: int, *, n_measures: int) -> Simulated:
    """Draw systems that are alike by several measures, which mostly say the same, on queries of four strata."""
    ease = rng.beta(1.2, 2.5, (n, 1, 1))
    common = rng.normal(0, 0.1, (n, k, 1))
    values = ease + common + rng.normal(0, 0.06, (n, k, n_measures + 1))
    strata = {"category": [f"part {i % 4}" for i in range(n)]}
    return Simulated(values[:, :, 0], np.zeros(k), strata, values[:, :, 1:])
