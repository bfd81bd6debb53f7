"""Randomness as an argument: streams that depend on a seed and a purpose, never on chunk size or thread count.

Resamples are drawn in blocks of a fixed size, each block from its own stream; so whoever computes which block, and in
whatever order, the numbers are the same.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

BLOCK = 1024
"""Resamples per block: enough for one matrix product to be worth its while."""


def stream(seed: int, purpose: str, block: int = 0) -> np.random.Generator:
    """Return the generator of one block of one purpose."""
    return np.random.default_rng(np.random.SeedSequence([seed, zlib.crc32(purpose.encode()), block]))


def blocks(n_resamples: int) -> Iterator[tuple[int, int]]:
    """Yield each block's number and how many resamples it holds."""
    for block in range((n_resamples + BLOCK - 1) // BLOCK):
        yield block, min(BLOCK, n_resamples - block * BLOCK)


def random_signs(n: int, *, n_resamples: int, seed: int, purpose: str) -> Iterator[NDArray[np.float64]]:
    """Yield blocks of random signs, resamples x n."""
    for block, size in blocks(n_resamples):
        bits = stream(seed, purpose, block).integers(0, 2, size=(BLOCK, n), dtype=np.int8)
        yield (2.0 * bits[:size] - 1.0).astype(np.float64)


def all_signs(n: int) -> NDArray[np.float64]:
    """Return every pattern of n signs, the one without any change first."""
    patterns = np.arange(1 << n)[:, None] >> np.arange(n) & 1
    return np.asarray(1.0 - 2.0 * patterns, dtype=np.float64)


def random_rows(n: int, *, n_resamples: int, seed: int, purpose: str) -> Iterator[NDArray[np.int64]]:
    """Yield blocks of row numbers drawn with replacement, resamples x n."""
    for block, size in blocks(n_resamples):
        yield stream(seed, purpose, block).integers(0, n, size=(BLOCK, n), dtype=np.int64)[:size]
