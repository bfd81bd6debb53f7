"""Sign flips for many comparisons at once: one matrix product serves all of them."""

from __future__ import annotations

import numpy as np

from rankscope.core.arrays import Floats
from rankscope.stats.clusters import cluster_sums
from rankscope.stats.paired import MANY_RESAMPLES, N_RESAMPLES, Test, is_near, sign_flip_test
from rankscope.stats.rng import SignFlips, chunks


def sign_flip_columns(
    differences: Floats, *, n_resamples: int = N_RESAMPLES, seed: int = 0, clusters: np.ndarray | None = None
) -> tuple[Test, ...]:
    """Return the sign-flip test of every column, all with the same flips; NaN is a query that is not part of it.

    A difference of 0 is the same with either sign, so undefined ones count as 0. A column's p-value is that of
    `sign_flip_test` and does not depend on which other columns there are.
    """
    known = np.nan_to_num(differences)
    units = known if clusters is None else cluster_sums(known, clusters)
    n_moved = (units != 0).sum(axis=0).tolist()
    exact = [SignFlips(n, n_resamples, seed).is_exact for n in n_moved]
    drawn = iter(random_p_values(units[:, ~np.array(exact)], SignFlips(len(units), n_resamples, seed)).tolist())
    return tuple(
        sign_flip_test(units[:, i], n_resamples=n_resamples, seed=seed)
        if is_exact
        else Test(next(drawn), "sign-flip permutation", n_resamples)
        for i, is_exact in enumerate(exact)
    )


def random_p_values(units: Floats, flips: SignFlips) -> Floats:
    """Return the p-value of every column under the same random flips."""
    reached = np.zeros(units.shape[1])
    if not len(reached):
        return reached
    threshold = np.abs(units.sum(axis=0)) - 1e-12 * np.abs(units).sum(axis=0)
    for signs in flips.signs():
        for start, stop in chunks(len(signs), len(reached)):
            reached += (np.abs(signs[start:stop] @ units) >= threshold).sum(axis=0)
    return flips.p_value(reached)


def refined(
    tests: tuple[Test, ...], differences: Floats, *, alpha: float, seed: int = 0, clusters: np.ndarray | None = None
) -> tuple[Test, ...]:
    """Return the tests, with more resamples for those whose p-value is too near alpha to tell on which side it lies."""
    close = [i for i, test in enumerate(tests) if is_near(test, alpha)]
    if not close:
        return tests
    again = sign_flip_columns(differences[:, close], n_resamples=MANY_RESAMPLES, seed=seed, clusters=clusters)
    better = dict(zip(close, again, strict=True))
    return tuple(better.get(i, test) for i, test in enumerate(tests))
