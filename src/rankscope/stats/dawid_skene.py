"""Dawid and Skene's model of raters (1979): what each doc's grade probably is, and how each rater errs."""

from __future__ import annotations

import math

import numpy as np

from rankscope.arrays import Floats
from rankscope.errors import OptionError
from rankscope.records import Record

PSEUDO_COUNT = 0.5
"""Added to every cell of a rater's matrix of errors, so that what was never seen is not taken for impossible."""
MAX_STEPS = 500
TOLERANCE = 1e-9
_SMALLEST = 1e-300


class DawidSkene(Record, eq=False):
    """What the model found."""

    posterior: Floats
    """Docs x grades: how probable each grade is."""
    shares: Floats
    """How frequent each grade is among all docs."""
    errors: Floats
    """Raters x true grade x grade given: each row adds up to 1; NaN where nothing is known of a grade."""
    log_likelihood: float
    n_steps: int
    has_converged: bool


def dawid_skene(
    counts: Floats, *, pseudo_count: float = PSEUDO_COUNT, max_steps: int = MAX_STEPS, tolerance: float = TOLERANCE
) -> DawidSkene:
    """Return the model fitted by expectation and maximisation, which begins with the shares of the votes.

    Parameters
    ----------
    counts
        Docs x raters x grades: how often a rater gave a doc a grade. Every doc has one at least.
    pseudo_count
        Added to each cell of the raters' errors; 0 is the model of the paper.
    max_steps, tolerance
        It ends where no probability changes by more than the tolerance, or after so many steps.

    Raises
    ------
    OptionError
        A doc has no grade.
    """
    votes = counts.sum(axis=1)
    given = votes.sum(axis=1)
    if not len(counts) or (given <= 0).any():
        raise OptionError("every doc needs a grade", hint="leave docs without a grade out first")
    posterior = votes / given[:, None]
    change, n_steps = math.inf, 0
    while n_steps < max(1, max_steps) and not change < tolerance:
        n_steps += 1
        shares, errors = posterior.mean(axis=0), _errors(posterior, counts, pseudo_count)
        joint = _log(shares) + np.einsum("irk,rjk->ij", counts, _log(errors))
        largest = joint.max(axis=1, keepdims=True)
        scaled = np.exp(joint - largest)
        total = scaled.sum(axis=1, keepdims=True)
        log_likelihood = float((np.log(total) + largest).sum())
        change = float(np.abs(scaled / total - posterior).max())
        posterior = scaled / total
    unknown = errors.sum(axis=2) == 0
    errors[unknown] = math.nan
    return DawidSkene(posterior, shares, errors, log_likelihood, n_steps, change < tolerance)


def _errors(posterior: Floats, counts: Floats, pseudo_count: float) -> Floats:
    """Return how often each rater gives each grade to docs of each true grade."""
    expected = np.einsum("ij,irk->rjk", posterior, counts) + pseudo_count
    total = expected.sum(axis=2, keepdims=True)
    return np.asarray(np.divide(expected, total, out=np.zeros_like(expected), where=total > 0))


def _log(shares: Floats) -> Floats:
    return np.asarray(np.log(np.maximum(shares, _SMALLEST)))
