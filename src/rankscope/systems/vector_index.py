"""Exact search: the docs with the largest products, found block by block, whatever the size of the blocks.

Products are computed in single precision by BLAS or on a GPU, and so depend in their last digits on how the work was
cut. Whatever may belong to the best k by more than these digits is kept and scored again in double precision; so
the result is the same for every block size, number of threads, and device.
"""

from __future__ import annotations

import contextlib
import importlib
import itertools
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankscope.arrays import offsets_of
from rankscope.native import kernel, n_cores
from rankscope.systems.base import DocIds, RankedDocs

Vectors = NDArray[np.float32]
Rows = NDArray[np.int64]
Candidates = tuple[Rows, Rows, Vectors]
"""What may belong to the best k of a query: query, row, and score in single precision."""

BLOCK_DOCS = 1024
"""How many docs are encoded, stored and compared at a time."""
_MOST_QUERIES = 512
_ROUNDING = 1e-5
"""How far a product in single precision may be off, as a share of the lengths of the two vectors."""
_RESCORED_AT_ONCE = 8192
_CPU_DOCS = 1024
"""How many docs the CPU compares at a time."""
_CPU_BLOCKS = 4
"""How many blocks it compares at a time without the compiled kernel, at least."""
_GPU_DOCS = 65_536
"""How many docs a GPU compares at a time."""


class OnCpu:
    """Computes products with NumPy, block by block, and compares them by the compiled kernel where there is one."""

    def __init__(self, blocks: Sequence[Vectors]) -> None:
        self._blocks = blocks
        self._starts = offsets_of(list(map(len, blocks)))

    def candidates(self, queries: Vectors, *, k: int, margin: Vectors) -> tuple[Rows, Rows]:
        """Return query and row, by query, of all that may belong to a query's best k, whatever was rounded."""
        module = kernel()
        if module is None:
            return self._candidates_by_numpy(queries, k=k, margin=margin)
        nearest = module.nearest(k=k, margins=margin)
        room = np.empty(len(queries) * _CPU_DOCS, dtype=np.float32)  # small enough to stay near the processor
        for block, first in zip(self._blocks, self._starts.tolist(), strict=False):
            for start in range(0, len(block), _CPU_DOCS):
                docs = block[start : start + _CPU_DOCS]
                scores = room[: len(queries) * len(docs)].reshape(len(queries), len(docs))
                np.matmul(queries, docs.T, out=scores)
                nearest.add(scores, first + start)
        counts, rows = (np.frombuffer(part, dtype=np.int64) for part in nearest.finish())
        return np.repeat(np.arange(len(queries)), counts), rows

    def _candidates_by_numpy(self, queries: Vectors, *, k: int, margin: Vectors) -> tuple[Rows, Rows]:
        bar = np.full(len(queries), -np.inf, dtype=np.float32)  # what has to be reached, less the margin
        none = np.empty(0, dtype=np.int64)
        parts: list[Candidates] = [(none, none, np.empty(0, dtype=np.float32))]
        n_new = 0
        # many more docs than k, for a first bar that is not too low
        at_once = max(_CPU_BLOCKS, -(-8 * k // BLOCK_DOCS))
        for first in range(0, len(self._blocks), at_once):
            blocks = self._blocks[first : first + at_once]
            starts = offsets_of(list(map(len, blocks))).tolist()
            scores = np.empty((len(queries), starts[-1]), dtype=np.float32)
            for block, (start, end) in zip(blocks, itertools.pairwise(starts), strict=True):
                np.matmul(queries, block.T, out=scores[:, start:end])
            if np.isneginf(bar).all() and scores.shape[1] >= k:
                place = scores.shape[1] - k
                bar = np.partition(scores, place, axis=1)[:, place] - margin
            reached = np.flatnonzero(scores >= bar[:, None])
            query, column = np.divmod(reached, scores.shape[1])
            parts.append((query, column + self._starts[first], scores.ravel()[reached]))
            n_new += len(reached)
            if n_new > k * len(queries):  # now and then, those that have been overtaken are dropped
                parts, n_new = [best_candidates(parts, bar, k=k, margin=margin)], 0
        return best_candidates(parts, bar, k=k, margin=margin)[:2]

    def exact_scores(self, queries: Vectors, query: Rows, rows: Rows) -> Vectors:
        """Return the products of pairs of a query and a doc, summed in double precision."""
        exact = np.empty(len(rows), dtype=np.float32)
        number = np.searchsorted(self._starts, rows, side="right") - 1
        # short numbers are sorted without comparing them
        order = np.argsort(number.astype(np.uint16) if len(self._blocks) < 1 << 16 else number, kind="stable")
        own, query = (rows - self._starts[number])[order], query[order]
        ends = np.searchsorted(number[order], np.arange(len(self._blocks) + 1)).tolist()
        products = np.empty(len(rows), dtype=np.float32)
        module = kernel()
        for block, (first, end) in zip(self._blocks, itertools.pairwise(ends), strict=True):
            for start in range(first, end, _RESCORED_AT_ONCE):
                pairs = slice(start, min(start + _RESCORED_AT_ONCE, end))
                if module is None:
                    rescored = np.einsum("nd,nd->n", block[own[pairs]], queries[query[pairs]], dtype=np.float64)
                    products[pairs] = rescored
                else:
                    vectors = np.ascontiguousarray(block)
                    module.exact_products(vectors, queries, own[pairs], query[pairs], products[pairs])
        exact[order] = products
        return exact


class OnGpu:
    """Does the same with torch; all docs are on the device."""

    def __init__(self, blocks: Sequence[Vectors], torch: Any) -> None:
        self._torch = torch
        self._docs = torch.cat([torch.from_numpy(np.array(block)).cuda() for block in blocks])

    def candidates(self, queries: Vectors, *, k: int, margin: Vectors) -> tuple[Rows, Rows]:
        """Return query and row, by query: once to know the k-th best scores, and again for all that reach them."""
        torch = self._torch
        asked = torch.from_numpy(queries).cuda()
        best = asked.new_empty((len(asked), 0))
        for start in range(0, len(self._docs), _GPU_DOCS):
            scores = asked @ self._docs[start : start + _GPU_DOCS].T
            own = scores.topk(min(k, scores.shape[1])).values
            best = torch.cat([best, own], dim=1)
            best = best.topk(min(k, best.shape[1])).values
        bar = best[:, -1] - torch.from_numpy(margin).cuda()
        found = []
        for start in range(0, len(self._docs), _GPU_DOCS):
            scores = asked @ self._docs[start : start + _GPU_DOCS].T
            found.append(torch.nonzero(scores >= bar[:, None]) + torch.tensor([0, start], device=asked.device))
        pairs = torch.cat(found)
        pairs = pairs[torch.sort(pairs[:, 0], stable=True).indices].cpu().numpy()
        return pairs[:, 0], pairs[:, 1]

    def exact_scores(self, queries: Vectors, query: Rows, rows: Rows) -> Vectors:
        asked = self._torch.from_numpy(queries).cuda()
        exact = np.empty(len(rows), dtype=np.float32)
        for start in range(0, len(rows), _GPU_DOCS):
            pair = slice(start, start + _GPU_DOCS)
            docs, own = self._docs[rows[pair]].double(), asked[query[pair]].double()
            exact[pair] = (docs * own).sum(dim=1).float().cpu().numpy()
        return exact


class VectorIndex:
    """Vectors of docs in blocks, in memory or in files, and exact search in them."""

    def __init__(self, ids: Sequence[str], blocks: Sequence[Vectors], *, device: str = "auto") -> None:
        self.docs = DocIds(ids)
        self.blocks = list(blocks)
        squares = (np.einsum("nd,nd->n", block, block).max(initial=0) for block in self.blocks)
        self._longest = float(np.sqrt(max(squares, default=0)))
        self._arithmetic: OnCpu | OnGpu = OnCpu(self.blocks)
        torch = None if device == "cpu" or not self.blocks else visible_gpu()
        if torch is not None:
            with contextlib.suppress(torch.cuda.OutOfMemoryError):  # the CPU has room for them
                self._arithmetic = OnGpu(self.blocks, torch)

    @property
    def n_bytes(self) -> int:
        return sum(int(block.nbytes) for block in self.blocks)

    def search(self, queries: Vectors, *, k: int) -> list[RankedDocs]:
        """Return the k docs with the largest product for each query; a query that is all zeros finds nothing."""
        size = min(_MOST_QUERIES, -(-len(queries) // n_threads()))
        parts = [queries[start : start + size] for start in range(0, len(queries), size)]
        if len(parts) == 1 or isinstance(self._arithmetic, OnGpu):
            return [ranking for part in parts for ranking in self._search_part(part, k)]
        blas = blas_controller()
        one_thread = blas.limit(limits=1, user_api="blas") if blas else contextlib.nullcontext()
        with one_thread, ThreadPoolExecutor(n_threads()) as pool:
            found = pool.map(lambda part: self._search_part(part, k), parts)
            return [ranking for rankings in found for ranking in rankings]

    def _search_part(self, queries: Vectors, k: int) -> list[RankedDocs]:
        queries = np.ascontiguousarray(queries, dtype=np.float32)
        lengths = np.linalg.norm(queries, axis=1)
        margin = (_ROUNDING * self._longest * lengths).astype(np.float32)
        query, rows = self._arithmetic.candidates(queries, k=k, margin=margin)
        exact = self._arithmetic.exact_scores(queries, query, rows)
        found = self.docs.rankings(query, rows, exact, n_queries=len(queries), k=k)
        return [ranking if length > 0 else [] for ranking, length in zip(found, lengths.tolist(), strict=True)]

    def vectors_of(self, doc_ids: Sequence[str]) -> Vectors:
        found = list(self.parts_of(doc_ids))
        return np.concatenate(found) if found else np.empty((0, 0), dtype=np.float32)

    def parts_of(self, doc_ids: Sequence[str]) -> Iterator[Vectors]:
        """Yield the vectors of docs in the order of their ids, no more than a block at a time."""
        rows = np.fromiter((self.docs.row_of[doc] for doc in doc_ids), dtype=np.int64, count=len(doc_ids))
        for number, places in rows_of_blocks(rows, offsets_of(list(map(len, self.blocks)))):
            yield self.blocks[number][places]


def rows_of_blocks(rows: Rows, starts: Rows) -> Iterator[tuple[int, Rows]]:
    """Yield which block has the next rows, and their places in it; rows that follow one another stay together."""
    numbers = np.searchsorted(starts, rows, side="right") - 1
    changes = np.flatnonzero(np.diff(numbers)) + 1
    for part in np.split(np.arange(len(rows)), changes):
        if len(part):
            yield int(numbers[part[0]]), rows[part] - starts[numbers[part[0]]]


def best_candidates(parts: Sequence[Candidates], bar: Vectors, *, k: int, margin: Vectors) -> Candidates:
    """Return candidates by query, without what is below the k-th best of its query, and raise the bar to that."""
    query, rows, scores = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.argsort(query.astype(np.uint16), kind="stable")  # short numbers are sorted without comparing them
    query, rows, scores = query[order], rows[order], scores[order]
    ends = np.searchsorted(query, np.arange(len(bar) + 1)).tolist()
    for number, (start, end) in enumerate(itertools.pairwise(ends)):
        if end - start >= k:
            place = end - start - k
            bar[number] = np.partition(scores[start:end], place)[place] - margin[number]
    keep = scores >= bar[query]
    return query[keep], rows[keep], scores[keep]


def visible_gpu() -> Any | None:
    """Return torch where it is installed and sees a GPU; it is not even imported where there is no driver."""
    if not os.path.exists("/dev/nvidiactl"):  # noqa: PTH110 (torch takes seconds to load)
        return None
    try:
        torch: Any = importlib.import_module("torch")
    except ImportError:
        return None
    return torch if torch.cuda.is_available() else None


@lru_cache(maxsize=1)
def blas_controller() -> Any | None:
    """Return what can hold BLAS to one thread, where that is installed; finding the libraries takes a while."""
    try:
        threadpoolctl = importlib.import_module("threadpoolctl")
    except ImportError:
        return None
    return threadpoolctl.ThreadpoolController()


def n_threads() -> int:
    """Return on how many threads queries are searched: where BLAS has threads of its own, it is left to those."""
    if os.environ.get("OPENBLAS_NUM_THREADS") != "1" and blas_controller() is None:
        return 1
    return n_cores()
