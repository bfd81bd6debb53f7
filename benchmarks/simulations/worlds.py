"""Worlds: scores of which the truth is known. Each takes a generator and how many simulations, and returns that many.

Differences are simulations x queries; matrices are simulations x queries x systems.

How wide and how skewed the scores of `unlike_shapes`, `skewed`, `systems` and `many_measures` are was chosen so that
methods which fail do so about as much as in an earlier simulation. That a failure has the same size is therefore no
news; that it is one, and that other methods hold on the same data, is.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

N_PARAPHRASES = 5
N_MEASURES = 25
N_TESTS = 20


def alike(rng: np.random.Generator, sims: int, n: int) -> Floats:
    """Return two systems whose scores have the same distribution around what the query makes easy or hard."""
    ease = rng.beta(1.2, 2.5, (sims, n))
    first, second = (np.clip(ease + rng.normal(0, 0.12, (sims, n)), 0, 1) for _ in range(2))
    return first - second


def unlike_shapes(rng: np.random.Generator, sims: int, n: int) -> Floats:
    """Return two systems with the same mean: one is middling throughout, the other either good or bad."""
    return rng.beta(2.0, 3.0, (sims, n)) - rng.beta(0.5, 0.75, (sims, n))


def skewed(rng: np.random.Generator, sims: int, n: int) -> Floats:
    """Return differences whose mean is 0, made of many small wins and a few big losses."""
    wins = rng.random((sims, n)) < 0.8  # noqa: PLR2004 (0.8 x 0.05 is 0.2 x 0.2)
    return np.where(wins, 0.05, -0.2) + rng.normal(0, 0.05, (sims, n))


def normal(rng: np.random.Generator, sims: int, n: int, *, mean: float = 0.0, spread: float = 0.1) -> Floats:
    """Return normal differences."""
    return rng.normal(mean, spread, (sims, n))


def found_or_not(rng: np.random.Generator, sims: int, n: int) -> Floats:
    """Return two systems alike, on a measure that is 0 or 1 per query."""
    ease = rng.beta(1.2, 1.2, (sims, n))
    return (rng.random((sims, n)) < ease).astype(float) - (rng.random((sims, n)) < ease)


def paraphrases(rng: np.random.Generator, sims: int, n: int) -> Floats:
    """Return differences whose mean is 0, five paraphrases of each question going well or badly together."""
    together = np.repeat(rng.normal(0, 0.1, (sims, n // N_PARAPHRASES)), N_PARAPHRASES, axis=1)
    return together + rng.normal(0, 0.1, (sims, n))


def questions_of(n: int) -> NDArray[np.int64]:
    """Return which question each paraphrase belongs to."""
    return np.repeat(np.arange(n // N_PARAPHRASES), N_PARAPHRASES)


def shares(rng: np.random.Generator, sims: int, n: int) -> Floats:
    """Return true shares, all equally likely, each with the number of successes among n queries."""
    truth = rng.random(sims)
    return np.column_stack([truth, rng.binomial(n, truth)])


def systems(rng: np.random.Generator, sims: int, n: int, *, means: tuple[float, ...], spread: float = 0.098) -> Floats:
    """Return several systems on the same queries, which differ far more in difficulty than the systems do."""
    ease = rng.normal(0.4, 0.25, (sims, n, 1))
    return ease + np.array(means) + rng.normal(0, spread, (sims, n, len(means)))


def many_measures(rng: np.random.Generator, sims: int, n: int) -> Floats:
    """Return differences by 25 measures that mostly say the same; none has a true difference."""
    common = rng.normal(0, 0.9, (sims, n, 1))
    return common + rng.normal(0, 0.43, (sims, n, N_MEASURES))


def half_true(rng: np.random.Generator, sims: int, n: int) -> Floats:
    """Return twenty unrelated comparisons, of which the first ten have no true difference."""
    truth = np.where(np.arange(N_TESTS) < N_TESTS // 2, 0.0, 0.4)
    return truth + rng.normal(0, 1, (sims, n, N_TESTS))
