"""Embeddings: a vector per doc, looked up by id."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankscope.core.arrays import Ints


@dataclass(frozen=True, slots=True, eq=False)
class Embeddings:
    """Vectors by doc id; the matrix may be mapped from a file, so that only the rows asked for are read."""

    row_of: Mapping[str, int]
    vectors: NDArray[Any]
    """Docs x dimensions, of 16, 32 or 64-bit floats."""

    def rows(self, docs: Sequence[str]) -> Ints:
        """Return the row of each doc, -1 where it has no vector."""
        return np.fromiter((self.row_of.get(doc, -1) for doc in docs), dtype=np.int64, count=len(docs))
