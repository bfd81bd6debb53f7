"""Array types, and the operations on segments (one per query) that measures are made of.

Sums run strictly from left to right, as trec_eval's do: NumPy's own sum adds pairwise, which can differ in the
last bit, and the last bit decides how 0.03125 prints with four decimals.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]
    Ints: TypeAlias = NDArray[np.int64]
    Bools: TypeAlias = NDArray[np.bool_]
else:
    Floats = Ints = Bools = np.ndarray  # what the types say in detail takes a while to load
AnyNumber = TypeVar("AnyNumber", np.float64, np.int64)

LOG2_TABLE_SIZES = (256, 2048, 1 << 16)
"""Most runs end at rank 100 or 1000."""


def read_only(array: NDArray[AnyNumber]) -> NDArray[AnyNumber]:
    """Return a view of an array through which it cannot be written to."""
    view = array.view()
    view.flags.writeable = False
    return view


def offsets_of(lengths: Ints | Sequence[int]) -> Ints:
    """Return where each segment starts, and at the end where the last one stops."""
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def segment_sum(values: Floats | Ints | Bools, segments: Ints, n_segments: int) -> Floats:
    """Sum the values of each segment, from left to right."""
    return np.bincount(segments, weights=values, minlength=n_segments).astype(np.float64, copy=False)


def segment_max(values: Floats, segments: Ints, n_segments: int) -> Floats:
    """Return the largest value of each segment, or 0 where it has none above 0."""
    largest = np.zeros(n_segments)
    np.maximum.at(largest, segments, values)
    return largest


def positions_in_segment(segments: Ints, n_segments: int) -> Ints:
    """Return the 0-based position of each value within its own segment (segments must be contiguous)."""
    starts = offsets_of(np.bincount(segments, minlength=n_segments))[:-1]
    return np.arange(len(segments), dtype=np.int64) - starts[segments]


def running_sum(values: Floats | Ints | Bools, segments: Ints, n_segments: int) -> Floats:
    """Return the sum so far, this value included, within each segment (segments must be contiguous).

    A running total over all segments minus the total before the segment is exact only for whole numbers;
    use it to count, or where an error in the last bits does not matter.
    """
    total = np.cumsum(values, dtype=np.float64)
    before = np.concatenate(([0.0], total))
    starts = offsets_of(np.bincount(segments, minlength=n_segments))[:-1]
    return total - before[starts[segments]]


def safe_divide(numerator: Floats, denominator: Floats | Ints) -> Floats:
    """Divide, giving NaN (undefined) where the denominator is 0."""
    quotient = np.full(len(numerator), math.nan)
    np.divide(numerator, denominator, out=quotient, where=np.asarray(denominator) != 0)
    return quotient


@cache
def log2_table(size: int) -> Floats:
    """Return log2(0), log2(1), log2(2), … from the C library, whose last bit NumPy's own log2 need not share."""
    table = np.zeros(size)
    table[1:] = np.fromiter(map(math.log2, range(1, size)), dtype=np.float64)
    table.flags.writeable = False
    return table


def log2(numbers: Ints) -> Floats:
    """Return the base-2 logarithm of whole numbers from 1 up, as the C library gives it."""
    largest = int(numbers.max()) if len(numbers) else 0
    for size in LOG2_TABLE_SIZES:
        if largest < size:
            return log2_table(size)[numbers]
    return np.fromiter(map(math.log2, numbers.tolist()), dtype=np.float64, count=len(numbers))


def in_order_sum(values: Floats) -> float:
    """Sum from left to right (Python's own sum compensates since 3.12, NumPy's adds pairwise)."""
    return float(np.cumsum(values)[-1]) if len(values) else 0.0
