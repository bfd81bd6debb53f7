"""Randomness as an argument: streams that depend on a seed and a purpose, never on chunk size or thread count.

Resamples are drawn in blocks of a fixed size, each block from its own stream; so whoever computes which block, and in
whatever order, the numbers are the same. Within a block rows are drawn one after the other, a few at a time, so that
memory stays small however many queries there are.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rankscope.core.arrays import Floats

BLOCK = 1024
"""Resamples per block: enough for one matrix product to be worth its while."""
CHUNK = 1 << 18
"""Numbers held at once. Results do not depend on it."""
MANY_UNITS = 1 << 17
"""With more units than this, tables of sums would take more memory than they are worth."""
_WORD = 64
_BYTE = 8


def stream(seed: int, purpose: str, block: int = 0) -> np.random.Generator:
    """Return the generator of one block of one purpose."""
    return np.random.default_rng(np.random.SeedSequence([seed, zlib.crc32(purpose.encode()), block]))


def blocks(n_resamples: int) -> Iterator[tuple[int, int]]:
    """Yield each block's number and how many resamples it holds."""
    for block in range((n_resamples + BLOCK - 1) // BLOCK):
        yield block, min(BLOCK, n_resamples - block * BLOCK)


def chunks(n_rows: int, width: int) -> Iterator[tuple[int, int]]:
    """Yield where each chunk of rows starts and stops; a chunk holds about CHUNK numbers, at least one row."""
    rows = max(1, CHUNK // max(1, width))
    for start in range(0, n_rows, rows):
        yield start, min(start + rows, n_rows)


def streams(seed: int, purpose: str, *, n_resamples: int, width: int) -> Iterator[tuple[np.random.Generator, int]]:
    """Yield a generator and how many rows to draw from it next, until there are as many as wanted."""
    for block, size in blocks(n_resamples):
        rng = stream(seed, purpose, block)
        for start, stop in chunks(size, width):
            yield rng, stop - start


def random_rows(n: int, *, n_resamples: int, seed: int, purpose: str) -> Iterator[NDArray[np.int64]]:
    """Yield row numbers drawn with replacement, some resamples x n at a time."""
    for rng, rows in streams(seed, purpose, n_resamples=n_resamples, width=n):
        yield rng.integers(0, n, size=(rows, n), dtype=np.uint32).astype(np.int64)


def random_signs(n: int, *, n_resamples: int, seed: int, purpose: str) -> Iterator[Floats]:
    """Yield random signs, some resamples x n at a time."""
    for bits in random_bits(n, n_resamples=n_resamples, seed=seed, purpose=purpose):
        yield signs_of(bits, n)


def random_bits(n: int, *, n_resamples: int, seed: int, purpose: str) -> Iterator[NDArray[np.uint8]]:
    """Yield random signs packed eight to a byte, some resamples x bytes at a time; each row ends with a whole word."""
    words = -(-n // _WORD)
    for rng, rows in streams(seed, purpose, n_resamples=n_resamples, width=n):
        yield _bytes_of(rng.bit_generator.random_raw(rows * words), rows)


def signs_of(bits: NDArray[np.uint8], n: int) -> Floats:
    """Return packed signs as numbers: a set bit is a minus."""
    return np.asarray(1.0 - 2.0 * np.unpackbits(bits, axis=1, count=n, bitorder="little"))


def _bytes_of(words: NDArray[np.uint64], rows: int) -> NDArray[np.uint8]:
    return words.astype("<u8", copy=False).view(np.uint8).reshape(rows, -1)


@dataclass(frozen=True, slots=True)
class SignFlips:
    """Patterns of signs for n units: all of them where they are no more than the resamples wanted, else random ones."""

    n: int
    n_resamples: int
    seed: int
    purpose: str = "sign flip"

    @property
    def is_exact(self) -> bool:
        """Whether all patterns are tried."""
        return self.n < _WORD and (1 << self.n) <= self.n_resamples + 1

    def bits(self) -> Iterator[NDArray[np.uint8]]:
        """Yield the patterns, packed."""
        if not self.is_exact:
            yield from random_bits(self.n, n_resamples=self.n_resamples, seed=self.seed, purpose=self.purpose)
            return
        for start, stop in chunks(1 << self.n, _WORD):
            yield _bytes_of(np.arange(start, stop, dtype=np.uint64), stop - start)

    def signs(self) -> Iterator[Floats]:
        """Yield the patterns as numbers, some patterns x n at a time."""
        for bits in self.bits():
            yield signs_of(bits, self.n)

    def sums(self, values: Floats) -> Iterator[Floats]:
        """Yield the sums of one column of values under the patterns.

        A byte stands for eight signs, so the sums of each eight values under all 256 patterns are looked up instead of
        multiplied and added one by one.
        """
        if self.n > MANY_UNITS:
            yield from (signs @ values for signs in self.signs())
            return
        table = _sums_of_eights(values)
        starts = 256 * np.arange(len(table) // 256)
        for bits in self.bits():
            yield table.take(bits + starts[: bits.shape[1]]).sum(axis=1)

    def p_value(self, reached: Floats) -> Floats:
        """Return the share of patterns that reached what was observed.

        Of random ones the observed pattern is one more, so that p is never 0 (Phipson & Smyth 2010).
        """
        return reached / (1 << self.n) if self.is_exact else (reached + 1) / (self.n_resamples + 1)


def _sums_of_eights(values: Floats) -> Floats:
    """Return the sums of every eight values under all 256 patterns of signs, one eight after the other."""
    padded = np.zeros(_WORD * max(1, -(-len(values) // _WORD)))
    padded[: len(values)] = values
    patterns = signs_of(np.arange(256, dtype=np.uint8)[:, None], _BYTE)
    return np.asarray(padded.reshape(-1, _BYTE) @ patterns.T).ravel()
