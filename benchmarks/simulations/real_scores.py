"""Scores with the shapes of real ones: queries of TREC systems drawn so that the true means are known.

Drawing queries with unequal chances, those that favour one system less often, makes means equal and leaves every score
as it is: P@10 stays a tenth, RR a reciprocal rank. The folder of real data lies beside the checkout, not in it.
"""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path

import numpy as np

from simulations.data import Floats, Rng, Simulated, simulated, two_systems

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
COVID = SHARED / "runs" / "trec-covid-round1" / "per_topic_nDCG@10_all143.csv"
TREC = SHARED / "stats" / "urbano-sigir2019"
IS_HERE = COVID.is_file() and TREC.is_dir()

MIN_TOPICS = 25
"""Chances so unequal that fewer topics than this do most of the work would be no real shape any more."""
MIN_DIFFERENT = 10
"""Systems that differ on fewer topics than this are not drawn."""


@cache
def score_sets(measure: str) -> tuple[Floats, ...]:
    """Return topics x systems for every collection that has the measure."""
    if measure == "nDCG@10":
        return (read(COVID)[:, 1:],)
    if measure == "Success@1":
        return tuple((scores == 1).astype(np.float64) for scores in score_sets("RR"))
    ending = {"P@10": "p10", "RR": "rr", "AP": "ap"}[measure]
    return tuple(read(path) for path in sorted(TREC.glob(f"*_{ending}.csv")))


def read(path: Path) -> Floats:
    """Return the numbers of a table; an empty cell is 0."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))[1:]
    return np.array([[float(cell or 0) for cell in row] for row in rows])


def tilted(rng: Rng, n: int, k: int, *, measure: str, gain: float = 0.0) -> Simulated:
    """Draw n queries on which k real systems have equal true means, all but the first being better by `gain`."""
    while True:
        systems = draw_systems(rng, measure, k)
        differences = systems[:, 1:] - systems[:, :1]
        if (np.count_nonzero(differences, axis=0) < MIN_DIFFERENT).any():
            continue
        chances = tilted_chances(differences - gain)
        if chances is not None and 1 / np.sum(chances**2) >= MIN_TOPICS:
            return simulated(systems[rng.choice(len(systems), n, p=chances)], [0.0] + [gain] * (k - 1))


def draw_systems(rng: Rng, measure: str, k: int) -> Floats:
    """Draw k systems of one collection that are about equally good, so that little tilting makes them equal."""
    sets = score_sets(measure)
    scores = sets[rng.integers(len(sets))]
    first = rng.integers(scores.shape[1])
    by_closeness = np.argsort(np.abs(scores.mean(axis=0) - scores[:, first].mean()), kind="stable")
    others = by_closeness[by_closeness != first][: max(20, 2 * k)]
    chosen = rng.permutation([first, *rng.choice(others, k - 1, replace=False)])
    return scores[:, chosen]


def tilted_chances(differences: Floats, *, n_steps: int = 50) -> Floats | None:
    """Return the chances closest to equal ones under which every column has mean 0, or None where none have.

    They are proportional to exp(differences @ slope); the slope minimises the logarithm of their sum (Newton's method).
    """
    slope = np.zeros(differences.shape[1])
    for _ in range(n_steps):
        exponents = differences @ slope
        chances = np.exp(exponents - exponents.max())
        chances /= chances.sum()
        mean = chances @ differences
        if np.abs(mean).max() < 1e-12:
            return chances
        spread = (differences * chances[:, None]).T @ differences - np.outer(mean, mean)
        step = np.linalg.lstsq(spread, mean, rcond=None)[0]
        slope -= step * min(1.0, 3.0 / max(1e-300, float(np.abs(differences @ step).max())))
        if np.abs(slope).max() > 1e3:
            return None
    return None


def centred(rng: Rng, n: int, _: int) -> Simulated:
    """Draw n differences of two real systems by nDCG@10, less their mean, with a little noise so that none are tied."""
    scores = score_sets("nDCG@10")[0]
    a, b = rng.choice(scores.shape[1], 2, replace=False)
    differences = scores[:, b] - scores[:, a]
    drawn = rng.choice(differences - differences.mean(), n)
    return two_systems(drawn + rng.normal(0, 0.02, n))
