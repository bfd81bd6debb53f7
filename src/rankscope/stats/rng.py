"""Randomness as an argument: streams that depend on a seed and a purpose, never on chunk size or thread count.

Resamples are drawn in blocks of a fixed size, each block from its own stream; so the numbers are the same in whatever
order, and by however many threads, blocks are computed. Within a block rows are drawn one after the other, a few at a
time, so that memory stays small however many queries there are.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from rankscope.arrays import Floats
from rankscope.records import Record

BLOCK = 1024
"""Resamples per block: enough for one matrix product to be worth its while."""
CHUNK = 1 << 18
"""Numbers held at once. Results do not depend on it."""
_WORD = 64
_BYTE = 8


def stream(seed: int, purpose: str, block: int = 0) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence([seed, zlib.crc32(purpose.encode()), block]))


def chunks(n_rows: int, width: int) -> Iterator[tuple[int, int]]:
    """Yield where each chunk of rows starts and stops; a chunk holds about CHUNK numbers, at least one row."""
    rows = max(1, CHUNK // max(1, width))
    for start in range(0, n_rows, rows):
        yield start, min(start + rows, n_rows)


def streams(seed: int, purpose: str, *, n_resamples: int, width: int) -> Iterator[tuple[np.random.Generator, int]]:
    """Yield a generator and how many rows to draw from it next, until there are as many as wanted."""
    for block, first in enumerate(range(0, n_resamples, BLOCK)):
        rng = stream(seed, purpose, block)
        for start, stop in chunks(min(BLOCK, n_resamples - first), width):
            yield rng, stop - start


def random_rows(n: int, *, n_resamples: int, seed: int, purpose: str) -> Iterator[NDArray[np.int64]]:
    """Yield row numbers drawn with replacement, some resamples x n at a time."""
    for rng, rows in streams(seed, purpose, n_resamples=n_resamples, width=n):
        yield rng.integers(0, n, size=(rows, n), dtype=np.uint32).astype(np.int64)


UNIT_BLOCK = 1024
"""Units whose signs are drawn from one stream: blocks of units can be flipped where they are held."""
FLIPS_AT_ONCE = 256
"""Flips multiplied at once; always as many, since products of another shape may differ in the last bit."""
FEW_COLUMNS = 4
"""Up to so many columns, sums of eight units at a time are looked up instead of multiplied out."""


class SignFlips(Record):
    """Patterns of signs for n units: all but the unflipped one where these are few enough, else random ones."""

    n: int
    n_resamples: int
    seed: int

    @property
    def is_exact(self) -> bool:
        return self.n < _WORD and (1 << self.n) - 1 <= self.n_resamples

    @property
    def n_flips(self) -> int:
        """How many patterns there are, the unflipped one not counted."""
        return (1 << self.n) - 1 if self.is_exact else self.n_resamples

    def chunks(self, n_columns: int) -> list[slice]:
        """Return which patterns to try together, so that no more than CHUNK sums are held; products keep their shape.

        They stay the same for any number of threads, and what is found does not depend on them.
        """
        at_once = FLIPS_AT_ONCE * max(1, CHUNK // max(1, n_columns) // FLIPS_AT_ONCE)
        return [slice(start, min(start + at_once, self.n_flips)) for start in range(0, self.n_flips, at_once)]

    def bits(self, block: int, patterns: slice | None = None) -> NDArray[np.uint8]:
        """Return the signs of one block of units, packed eight to a byte: patterns x bytes."""
        first, stop, _ = (patterns or slice(None)).indices(self.n_flips)
        if self.is_exact:
            return np.arange(1 + first, 1 + stop, dtype="<u8").view(np.uint8).reshape(-1, _BYTE)
        words = -(-min(UNIT_BLOCK, self.n - block * UNIT_BLOCK) // _WORD)
        generator = stream(self.seed, "sign flip", block).bit_generator
        generator.advance(first * words)  # type: ignore[attr-defined]  # every pattern takes as many words
        drawn = generator.random_raw((stop - first) * words)
        return drawn.astype("<u8", copy=False).view(np.uint8).reshape(stop - first, -1)

    def sums(self, columns: Floats, patterns: slice | None = None) -> Floats:
        """Return the sums of each column (units x columns) under every pattern, or some: patterns x columns."""
        first, stop, _ = (patterns or slice(None)).indices(self.n_flips)
        total = np.zeros((stop - first, columns.shape[1]))
        for block, start in enumerate(range(0, self.n, UNIT_BLOCK)):
            self.add_block(total, block, columns[start : start + UNIT_BLOCK], patterns)
        return total

    def add_block(self, total: Floats, block: int, values: Floats, patterns: slice | None = None) -> None:
        """Add the sums of one block of units; whoever adds them in the order of the blocks has the same sums."""
        bits = self.bits(block, patterns)
        if values.shape[1] <= FEW_COLUMNS:
            for j in range(values.shape[1]):
                total[:, j] += _looked_up(bits, values[:, j])
            return
        for first in range(0, len(bits), FLIPS_AT_ONCE):
            rows = slice(first, first + FLIPS_AT_ONCE)
            total[rows] += _signs_of(bits[rows], len(values)) @ values


def _signs_of(bits: NDArray[np.uint8], n: int) -> Floats:
    """Return packed signs as numbers: a set bit is a minus."""
    return np.asarray(1.0 - 2.0 * np.unpackbits(bits, axis=1, count=n, bitorder="little"))


def _looked_up(bits: NDArray[np.uint8], values: Floats) -> Floats:
    """Return the sums of one column: each byte stands for the signs of eight units, whose sums are looked up."""
    padded = np.zeros(_BYTE * bits.shape[1])
    padded[: len(values)] = values
    patterns = _signs_of(np.arange(256, dtype=np.uint8)[:, None], _BYTE)
    table = np.asarray(padded.reshape(-1, _BYTE) @ patterns.T)
    total = np.zeros(len(bits))
    for place in range(-(-len(values) // _BYTE)):
        total += table[place].take(bits[:, place])
    return total
