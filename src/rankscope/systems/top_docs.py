"""The best k of many scored docs, in an order that does not depend on how they were computed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rankscope.errors import DuplicateError
from rankscope.io.ids import byte_order
from rankscope.systems.base import RankedDocs


class DocIds:
    """The ids of indexed docs by row, and the order in which ids break ties."""

    def __init__(self, ids: Sequence[str]) -> None:
        self.ids = list(ids)
        self.row_of = dict(zip(self.ids, range(len(self.ids)), strict=True))
        if len(self.row_of) < len(self.ids):
            doc = next(doc for row, doc in enumerate(self.ids) if self.row_of[doc] != row)
            raise DuplicateError(f"doc {doc!r} is there twice", hint="every doc needs an id of its own")
        self._place: NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def place(self) -> NDArray[np.int64]:
        """The place of each row among all ids, in descending order of their bytes, as trec_eval breaks ties."""
        if self._place is None:
            descending = sorted(range(len(self.ids)), key=lambda row: byte_order(self.ids[row]), reverse=True)
            place = np.empty(len(self.ids), dtype=np.int64)
            place[descending] = np.arange(len(self.ids))
            self._place = place  # only now that it is whole: other threads may be searching
        return self._place

    def ranking(self, rows: NDArray[np.int64], scores: NDArray[np.floating], k: int) -> RankedDocs:
        """Return the best k of some rows."""
        order = np.lexsort((self.place[rows], -scores))[:k]
        picked = zip(rows[order].tolist(), scores[order].tolist(), strict=True)
        return [(self.ids[row], score) for row, score in picked]


def best_rows(scores: NDArray[np.floating], found: NDArray[np.int64], k: int) -> NDArray[np.int64]:
    """Return those of the found rows that may be among the best k: all that score at least as much as the k-th."""
    if len(found) <= k:
        return found
    of_found = scores[found]
    lowest = np.partition(of_found, len(found) - k)[len(found) - k]
    return np.asarray(found[of_found >= lowest])
