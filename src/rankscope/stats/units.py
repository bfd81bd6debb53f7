"""Units of evidence: queries, or clusters of queries that are not independent, each counting by its weight.

Everything that is said of a difference counts units: flips, standard errors, intervals, chances, how many there are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

import numpy as np

from rankscope.arrays import Bools, Floats, Ints
from rankscope.errors import OptionError
from rankscope.records import Record
from rankscope.stats.rng import UNIT_BLOCK

SAME = 1e-12
"""Scores that differ by less than this, relative to the larger one or to 1, are equal: the rest is rounding."""
NO_SPREAD = 1e-12
"""Units whose spread is below this share of their size all say the same; what is left is rounding."""


def members_of(clusters: np.ndarray, n: int) -> Ints:
    """Return the number of each query's cluster, from 0 up."""
    if len(clusters) != n:
        raise OptionError(f"there are {len(clusters)} cluster labels for {n} queries", hint="give one label per query")
    return np.asarray(np.unique(clusters, return_inverse=True)[1], dtype=np.int64)


def sums_by_member(values: Floats, member: Ints) -> Floats:
    """Return the sum of every unit, the number of which `member` has: of one column, or of each column of a matrix."""
    sums = np.zeros((int(member.max(initial=-1)) + 1, *values.shape[1:]))
    np.add.at(sums, member, values)
    return sums


def sums_in_blocks(values: Floats) -> Floats:
    """Return the sum of each column (units x columns): sums of blocks of units, added in the order of the blocks.

    So it is the same to the last bit wherever blocks are summed, and whichever columns stand beside it.
    """
    # the units of a column lie side by side: numpy then adds them in the same order however many columns there are
    columns = np.asfortranarray(values)
    total = np.zeros(values.shape[1])
    for start in range(0, len(values), UNIT_BLOCK):
        total += columns[start : start + UNIT_BLOCK].sum(axis=0)
    return total


class Units(Record, eq=False):
    """Which unit each query belongs to, and how much it counts."""

    member: Ints
    """The number of each query's unit, from 0 up, in the order in which units appear."""
    weights: Floats | None = None
    """How much each query counts; None where all count the same."""
    clustered: bool = False

    @classmethod
    def of(cls, n: int, clusters: np.ndarray | None = None, weights: Floats | None = None) -> Units:
        """Return the units of n queries; `clusters` has one label per query."""
        if weights is not None and len(weights) != n:
            raise OptionError(f"there are {len(weights)} weights for {n} queries", hint="give one weight per query")
        if clusters is None:
            return cls(np.arange(n, dtype=np.int64), weights)
        seen: dict[int, int] = {}
        in_order = [seen.setdefault(unit, len(seen)) for unit in members_of(clusters, n).tolist()]
        return cls(np.array(in_order, dtype=np.int64), weights, clustered=True)

    @property
    def are_plain(self) -> bool:
        """Whether every unit is one query and all count the same."""
        return not self.clustered and self.weights is None

    def sums(self, differences: Floats) -> UnitSums:
        """Return each unit's sum of differences (queries x columns) and its size; NaN is a query that takes no part."""
        known = ~np.isnan(differences)
        values = np.where(known, differences, 0.0)
        sizes = known.astype(np.float64)
        if self.weights is not None:
            values, sizes = values * self.weights[:, None], sizes * self.weights[:, None]
        if self.clustered:
            values, sizes = sums_by_member(values, self.member), sums_by_member(sizes, self.member)
        return UnitSums(values, sizes, plain=self.are_plain, weighted=self.weights is not None)

    def effective(self, mask: Bools) -> float:
        """Return how many equally weighted queries the weighted ones are worth."""
        if self.weights is None:
            return float(mask.sum())
        w = self.weights[mask]
        return float(w.sum() ** 2 / (w**2).sum()) if len(w) and w.any() else 0.0

    def names(self, query_ids: tuple[str, ...]) -> list[str]:
        first = np.unique(self.member, return_index=True)[1]
        return [query_ids[i] for i in first.tolist()]


class UnitSums(Record, eq=False):
    """Sums of differences by unit, one column per pair, and how much each unit counts in each column."""

    sums: Floats
    sizes: Floats
    plain: bool
    """Whether every size is 1 or 0."""
    weighted: bool = False
    """Whether sizes are weights, not numbers of queries."""

    @property
    def n_columns(self) -> int:
        return int(self.sums.shape[1])

    def columns(self, chosen: slice | Ints) -> UnitSums:
        return UnitSums(self.sums[:, chosen], self.sizes[:, chosen], self.plain, self.weighted)

    def column(self, i: int) -> UnitSums:
        """Return one column on the units that take part in it."""
        inside = self.sizes[:, i] > 0
        return UnitSums(self.sums[inside, i : i + 1], self.sizes[inside, i : i + 1], self.plain, self.weighted)

    def parts(self, at_once: int) -> Iterator[tuple[slice, UnitSums]]:
        """Yield some columns at a time, and which these are."""
        for columns in slices(self.n_columns, at_once):
            yield columns, self.columns(columns)

    def moments(self) -> Moments:
        return Moments(
            n_units=np.count_nonzero(self.sizes > 0, axis=0).astype(np.float64),
            total=sums_in_blocks(self.sums),
            size=sums_in_blocks(self.sizes),
            squares=sums_in_blocks(self.sums**2),
            cross=sums_in_blocks(self.sums * self.sizes),
            size_squares=sums_in_blocks(self.sizes**2),
        )


class UnitColumns(Record, eq=False):
    """Sums by unit of very many columns, which are made when they are needed and never held all at once."""

    n_columns: int
    make: Callable[[slice | Ints], UnitSums]
    known: Moments | None = None
    """The moments of all columns, where these are known."""

    def columns(self, chosen: slice | Ints) -> UnitSums:
        return self.make(chosen)

    def column(self, i: int) -> UnitSums:
        """Return one column on the units that take part in it."""
        return self.make(slice(i, i + 1)).column(0)

    def parts(self, at_once: int) -> Iterator[tuple[slice, UnitSums]]:
        """Yield some columns at a time, and which these are."""
        for columns in slices(self.n_columns, at_once):
            yield columns, self.make(columns)

    def moments(self) -> Moments:
        return self.known or Moments.joined([part.moments() for _, part in self.parts(COLUMNS_AT_ONCE)])


COLUMNS_AT_ONCE = 256
"""Columns that are made, and multiplied, at once."""
AnyColumns: TypeAlias = UnitSums | UnitColumns


def slices(n: int, at_once: int) -> Iterator[slice]:
    for start in range(0, n, at_once):
        yield slice(start, min(start + at_once, n))


class Moments(Record, eq=False):
    """Sums over units, by column; flipping signs changes `total` and `cross` alone."""

    n_units: Floats
    total: Floats
    size: Floats
    squares: Floats
    cross: Floats
    """Of differences times sizes; where sizes are equal, it is the total."""
    size_squares: Floats

    @classmethod
    def joined(cls, parts: Sequence[Moments]) -> Moments:
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in cls.__struct_fields__))

    def of(self, columns: slice) -> Moments:
        return Moments(*(getattr(self, name)[columns] for name in self.__struct_fields__))

    @property
    def delta(self) -> Floats:
        with np.errstate(invalid="ignore", divide="ignore"):
            return self.total / self.size

    @property
    def moves(self) -> Bools:
        """Whether anything differs at all."""
        return np.asarray(self.squares > 0)

    @property
    def error(self) -> Floats:
        """The standard error of the mean difference, from residuals around it; NaN for fewer than two units."""
        with np.errstate(invalid="ignore", divide="ignore"):
            factor = np.where(self.n_units > 1, self.n_units / (self.n_units - 1), math.nan)
            return np.sqrt(factor * spread_of(self, self.total, self.cross)) / self.size

    @property
    def t_squared(self) -> Floats:
        """The square of difference by standard error; infinite without spread, 0 where nothing differs."""
        return t_squared_of(self, self.total, self.cross)


def spread_of(moments: Moments, total: Floats, cross: Floats) -> Floats:
    """Return the sum of squared residuals of units whose signs were flipped so that they have this total."""
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = total / moments.size
        spread = moments.squares - 2 * mean * cross + mean**2 * moments.size_squares
    return np.where(spread > NO_SPREAD * moments.squares, spread, 0.0)


def t_squared_of(moments: Moments, total: Floats, cross: Floats) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        squared = total**2 * (moments.n_units - 1) / moments.n_units / spread_of(moments, total, cross)
    return np.nan_to_num(squared, nan=0.0, posinf=math.inf)


def paired_differences(scores_a: Floats, scores_b: Floats) -> Floats:
    """Return b minus a, exactly 0 where only rounding tells them apart; NaN where either is undefined."""
    differences = scores_b - scores_a
    scale = np.maximum(1.0, np.maximum(np.abs(scores_a), np.abs(scores_b)))
    return np.where(np.abs(differences) < SAME * scale, 0.0, differences)
