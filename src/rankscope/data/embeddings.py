"""Embeddings: a vector per doc, looked up by id and compared within each query's results."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankscope.arrays import Bools, Floats, Ints
from rankscope.data.mapped_rows import in_memory, take_rows
from rankscope.errors import DuplicateError, InputError
from rankscope.io.ids import as_ids
from rankscope.light import LightRecord
from rankscope.native import n_cores

_BLOCK_BYTES = 1 << 22  # small enough for the cache, large enough to outweigh the cost of a call
_SAFE_SQUARES = {4: (1e-30, 1e30), 8: (1e-280, 1e280)}
"""Squared lengths, by the bytes of a float, that have neither lost digits nor overflowed."""


class VectorBlock(LightRecord, eq=False):
    """The vectors of some queries' results: queries x ranks x dimensions."""

    vectors: NDArray[Any]
    """Not to be kept: the next block may use the same memory."""
    scale: NDArray[Any]
    """1 / length of each vector; 0 for a vector of zeros, and where there is none."""
    has: Bools
    """Whether there is a vector at this rank."""

    def cosines(self) -> Floats:
        """Return the cosine of every two results; 0 with a vector of zeros, or without a vector."""
        units = self.vectors * self.scale[..., None]
        return np.asarray(np.clip(units @ units.transpose(0, 2, 1), -1.0, 1.0))

    def pair_cosines(self) -> tuple[Floats, Bools]:
        """Return the cosine of every pair, queries x pairs, and which pairs have two vectors."""
        one, other = np.triu_indices(self.has.shape[1], 1)
        return self.cosines()[:, one, other], self.has[:, one] & self.has[:, other]


class Embeddings(LightRecord, eq=False):
    """Vectors by doc id; the matrix may be mapped from a file, so that only the rows asked for are read."""

    row_of: Mapping[str, int]
    vectors: NDArray[Any]
    """Docs x dimensions, of 16, 32 or 64-bit floats (or whole numbers)."""

    def rows(self, docs: Iterable[str]) -> Ints:
        """Return the row of each doc, -1 where it has no vector."""
        return np.fromiter(map(self.row_of.get, docs, itertools.repeat(-1)), dtype=np.int64)

    def row_matrix(self, rankings: Sequence[Sequence[str]]) -> Ints:
        """Return the rows of rankings, queries x ranks; -1 where a ranking has ended, or a doc has no vector."""
        lengths = np.fromiter(map(len, rankings), dtype=np.int64, count=len(rankings))
        width = max(1, int(lengths.max(initial=0)))
        matrix = np.full((len(rankings), width), -1, dtype=np.int64)
        matrix[np.arange(width) < lengths[:, None]] = self.rows(itertools.chain.from_iterable(rankings))
        return matrix

    def per_query(
        self, rankings: Sequence[Sequence[str]], function: Callable[[VectorBlock], Floats], *, exact: bool = False
    ) -> Floats:
        """Apply a function to the vectors of every query's results, and join what it returns for each block."""
        return self.over_rows(self.row_matrix(rankings), function, exact=exact)

    def over_rows(self, matrix: Ints, function: Callable[[VectorBlock], Floats], *, exact: bool = False) -> Floats:
        """Do as `per_query` does, where the rows of the results are known already.

        Vectors are read block by block, on several threads where that pays, and computed with in their own precision
        (16-bit ones in 32 bits), or in 64 bits where it is to be `exact`.
        """
        width, n_dimensions = matrix.shape[1], self.vectors.shape[1]
        n_bytes = width * (n_dimensions * self.vectors.dtype.itemsize + 8 * width)  # of a query, and its cosines
        size = max(1, int(_BLOCK_BYTES // n_bytes))
        starts = range(0, max(1, len(matrix)), size)
        n_threads = max(1, min(n_cores(), len(starts) // 8))
        per_thread = -(-len(starts) // n_threads)

        vectors = in_memory(self.vectors, n_rows=matrix.size)

        def work(first: int) -> list[Floats]:
            memory = np.empty((size * width, n_dimensions), dtype=self.vectors.dtype)
            share = starts[first : first + per_thread]
            with np.errstate(over="ignore", under="ignore", invalid="ignore"):
                return [function(self.read_block(vectors, matrix[a : a + size], memory, exact=exact)) for a in share]

        firsts = range(0, len(starts), per_thread)
        if len(firsts) == 1:
            return np.concatenate(work(0))
        from concurrent.futures import ThreadPoolExecutor  # not needed for a few queries

        with ThreadPoolExecutor(len(firsts)) as pool:
            return np.concatenate(list(itertools.chain.from_iterable(pool.map(work, firsts))))

    def read_block(self, source: NDArray[Any], matrix: Ints, memory: NDArray[Any], *, exact: bool) -> VectorBlock:
        has = matrix >= 0
        flat = take_rows(source, matrix.ravel(), memory[: matrix.size])
        kind = np.float32 if flat.dtype.itemsize <= 4 and flat.dtype.kind == "f" and not exact else np.float64
        vectors = flat.astype(kind, copy=False).reshape(*matrix.shape, -1)
        if not has.all():
            vectors[~has] = 0
        return VectorBlock(vectors, self.inverse_lengths(vectors, matrix), has)

    def inverse_lengths(self, vectors: NDArray[Any], matrix: Ints) -> NDArray[Any]:
        """Return 1 / length of each vector, 0 for zeros; vectors of extreme length are shortened or stretched first."""
        squares = squared_lengths(vectors)
        low, high = _SAFE_SQUARES[vectors.dtype.itemsize]
        for place in zip(*np.nonzero(~((squares > low) & (squares < high))), strict=True):
            largest = float(np.abs(vectors[place]).max())
            if not np.isfinite(largest):
                row = int(matrix[place])
                doc = next(doc for doc, other in self.row_of.items() if other == row)
                raise InputError(
                    f"the vector of doc {doc!r} (row {row + 1}) holds NaN or infinity",
                    hint="compute its embedding again",
                )
            if largest > 0:
                vectors[place] /= largest
                squares[place] = vectors[place] @ vectors[place]
        inverse = np.zeros_like(squares)
        np.divide(1, np.sqrt(squares), out=inverse, where=squares > 0)
        return np.asarray(inverse)


def squared_lengths(vectors: NDArray[Any]) -> NDArray[Any]:
    if hasattr(np, "vecdot"):  # NumPy 2
        return np.asarray(np.vecdot(vectors, vectors))
    return np.asarray(np.einsum("...d,...d->...", vectors, vectors))


def make_embeddings(doc_ids: Iterable[Any], vectors: Any, *, where: str = "the embeddings") -> Embeddings:
    ids, _ = as_ids(doc_ids, what="doc id")
    matrix = np.asanyarray(vectors)
    if matrix.dtype.kind not in "fiu":
        raise InputError(f"{where}: vectors hold {matrix.dtype}, not numbers", hint="save them as float16, 32 or 64")
    if matrix.ndim != 2 or 0 in matrix.shape:
        shape = " x ".join(map(str, matrix.shape)) or "a single number"
        raise InputError(
            f"{where}: vectors have the shape {shape}, not docs x dimensions",
            hint="give one row per doc, such as 1000 x 384",
        )
    if len(matrix) != len(ids):
        raise InputError(
            f"{where}: {len(ids)} ids for {len(matrix)} vectors", hint="give one id per row, in the order of the rows"
        )
    row_of = dict(zip(ids, range(len(ids)), strict=True))
    if len(row_of) < len(ids):
        first, doc = next((row, doc) for row, doc in enumerate(ids) if row_of[doc] != row)
        raise DuplicateError(
            f"{where}: doc {doc!r} has two vectors, in rows {first + 1} and {row_of[doc] + 1}",
            hint="keep one vector per doc",
        )
    return Embeddings(row_of, matrix)
