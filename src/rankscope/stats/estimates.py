"""Estimates of many pairs at once: differences, their errors, and what carries them; nothing here is random."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from rankscope.arrays import Floats
from rankscope.records import Record
from rankscope.stats.units import Moments, Units

PAIRS_AT_ONCE = 256


class HasDifferences(Protocol):
    """Something with one difference per query; NaN where the query takes no part."""

    @property
    def differences(self) -> Floats: ...


class PairEstimates(Record, eq=False):
    """What flips do not change: by contest, the difference, its error, and what it is made of."""

    moments: Moments
    delta: Floats
    error: Floats
    wins: np.ndarray
    losses: np.ndarray
    n_queries: np.ndarray
    skew: Floats
    """How lopsided the units' residuals are, on which tests of symmetry stumble."""
    top_unit: np.ndarray
    """The unit that carries most of the difference."""
    delta_without: Floats
    error_without: Floats


def estimate_pairs(contests: Sequence[HasDifferences], units: Units) -> PairEstimates:
    """Return the estimates of all contests, some at a time, so that memory stays small however many there are."""
    parts = [
        estimate_some(np.column_stack([c.differences for c in contests[start : start + PAIRS_AT_ONCE]]), units)
        for start in range(0, len(contests), PAIRS_AT_ONCE)
    ]
    moments = Moments.joined([part.moments for part in parts])
    rest = [name for name in PairEstimates.__struct_fields__ if name != "moments"]
    return PairEstimates(moments, *(np.concatenate([getattr(part, name) for part in parts]) for name in rest))


def estimate_some(differences: Floats, units: Units) -> PairEstimates:
    """Return the estimates of some contests, whose differences are the columns."""
    sums = units.sums(differences)
    moments = sums.moments()
    delta, error = moments.delta, moments.error
    carried = sums.sums * np.sign(moments.total)
    top = np.argmax(carried, axis=0) if len(carried) else np.zeros(carried.shape[1], dtype=np.int64)
    left = moments
    if len(carried):
        columns = np.arange(carried.shape[1])
        u, n = sums.sums[top, columns], sums.sizes[top, columns]
        left = Moments(
            n_units=moments.n_units - (n > 0),
            total=moments.total - u,
            size=moments.size - n,
            squares=np.maximum(moments.squares - u**2, 0.0),
            cross=moments.cross - u * n,
            size_squares=moments.size_squares - n**2,
        )
    residuals = sums.sums - sums.sizes * np.nan_to_num(delta)
    with np.errstate(invalid="ignore", divide="ignore"):
        wins, losses = (differences > 0).sum(axis=0), (differences < 0).sum(axis=0)
        second = (residuals**2).sum(axis=0) / moments.n_units
        third = (residuals**3).sum(axis=0) / moments.n_units
        skew = np.where(error > 0, third / second**1.5, 0.0)
    return PairEstimates(
        moments=moments,
        delta=delta,
        error=error,
        wins=wins,
        losses=losses,
        n_queries=(~np.isnan(differences)).sum(axis=0),
        skew=skew,
        top_unit=top,
        delta_without=left.delta,
        error_without=left.error,
    )
