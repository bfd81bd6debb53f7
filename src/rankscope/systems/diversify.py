"""Diversity: results that are relevant and do not repeat one another, chosen one by one from a pool.

Both systems take a pool from another system and the embeddings of its docs, and put the pool into a new order. As the
order is all that is chosen, the score they give is 1 / rank.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, ClassVar, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from rankscope.errors import OptionError
from rankscope.systems.base import OptionSystem, Query, RankedDocs, System, search_once
from rankscope.systems.dense import Dense, unit_length
from rankscope.systems.fusion import normalise
from rankscope.systems.options import SYSTEM, AtLeastOne, ZeroToOne
from rankscope.systems.vector_index import Vectors

Floats = NDArray[np.float64]


class Diversified(OptionSystem, kw_only=True):
    """What mmr and dartboard share: a pool, and the embeddings of its docs.

    The first `pool` docs of another system are put into a new order; what that system has below them follows as it is.
    """

    of: Annotated[System | None, SYSTEM] = None
    """The system that gives the pool; without one, a dense system with the embedded model."""
    vectors: Annotated[System | None, SYSTEM] = None
    """The dense system whose embeddings are compared; by default the one that gives the pool or is part of it."""
    pool: AtLeastOne = 100
    """How many docs are put into a new order."""
    relevance: Literal["embedding", "pool"] = "embedding"
    """What relevance is: the cosine of query and doc (embedding), or the pool's scores from 0 to 1 (pool)."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.of = self.of or self.vectors or Dense()
        dense = self.vectors or next(dense_systems(self.of), None)
        if not isinstance(dense, Dense):
            raise OptionError(
                f"{self.name} compares embeddings, and {getattr(dense or self.of, 'name', '')!r} has none",
                hint='name a dense system, e.g. vectors = "dense"',
            )
        self._base, self._dense = self.of, dense

    def rank(self, queries: Sequence[Query], *, k: int) -> Sequence[RankedDocs]:
        n = max(self.pool, k)
        if self.relevance == "pool":
            return [self._reorder(ranking, None, k=k) for ranking in search_once(self._base, queries, k=n)]
        vectors = self._dense.encode([query.text for query in queries], role="query")
        alone = self._base is self._dense  # then queries need not be encoded twice
        found = self._dense.vectors.search(vectors, k=n) if alone else search_once(self._base, queries, k=n)
        pairs = zip(found, unit_length(vectors), strict=True)
        return [self._reorder(ranking, query, k=k) for ranking, query in pairs]

    def _reorder(self, ranking: RankedDocs, query: Vectors | None, *, k: int) -> RankedDocs:
        """Return one ranking with its pool in a new order, by the query's vector or by the scores of the pool."""
        pool = ranking[: self.pool]
        if not pool:
            return []
        vectors = unit_length(self._dense.vectors.vectors_of([doc for doc, _ in pool])).astype(np.float64)
        if query is None:
            relevance = np.array(list(normalise(dict(pool), "minmax").values()), dtype=np.float64)
        else:
            relevance = vectors @ query.astype(np.float64)
        order = self.order(relevance, vectors @ vectors.T, n=min(k, len(pool)))
        docs = [*(pool[i][0] for i in order), *(doc for doc, _ in ranking[self.pool : k])]
        return [(doc, 1 / rank) for rank, doc in enumerate(docs, 1)]

    def order(self, relevance: Floats, similarity: Floats, *, n: int) -> list[int]:
        """Return n places in the pool, in the order in which they are chosen."""
        raise NotImplementedError

    @property
    def index_bytes(self) -> int:
        apart = self._dense is not self._base and self._dense not in dense_systems(self._base)
        return self._base.index_bytes + (self._dense.index_bytes if apart else 0)


class MMR(Diversified, kw_only=True):
    """Maximal marginal relevance: next comes the doc that is relevant and least like those chosen so far.

    Carbonell & Goldstein, The Use of MMR, Diversity-Based Reranking, SIGIR 1998.
    """

    kind: ClassVar[str] = "mmr"
    lambda_: ZeroToOne = msgspec.field(default=0.5, name="lambda")
    """How much relevance counts against novelty: 1 is relevance alone. Written `lambda` in a project file."""

    def order(self, relevance: Floats, similarity: Floats, *, n: int) -> list[int]:
        share = self.lambda_
        return chosen_by(lambda near: share * relevance - (1 - share) * near, similarity, int(np.argmax(relevance)), n)


class Dartboard(Diversified, kw_only=True):
    """Relevant information gain: next comes the doc that adds most to what the chosen ones say of the query.

    Docs that could answer the query are targets, each as likely as it is near to the query; a target counts as hit as
    well as the nearest chosen doc hits it. Diversity follows without being asked for: a second dart on the same spot
    gains nothing. Pickett et al., Better RAG using Relevant Information Gain, 2024.
    """

    kind: ClassVar[str] = "dartboard"
    sigma: float = 0.2
    """How far a dart may be off, in cosine distance; the larger, the more diverse the docs."""

    def __post_init__(self) -> None:
        if not self.sigma > 0:
            raise OptionError(
                f"sigma is {self.sigma:g}, but it must be above 0", hint="0.2 is a good start for cosines"
            )
        super().__post_init__()

    def order(self, relevance: Floats, similarity: Floats, *, n: int) -> list[int]:
        """Choose the doc that adds most to the chance of hitting the targets.

        The paper maximises the logarithm of the whole sum; its growth is what tells the docs apart, and computed by
        itself it stays exact where the logarithm would have rounded it away.
        """
        to_query, scale = 1 - relevance, 2 * self.sigma**2
        likely = np.exp((to_query.min() ** 2 - to_query**2) / scale)
        near = np.exp(-((1 - similarity) ** 2) / scale)
        return chosen_by(lambda hit: np.maximum(near - hit, 0) @ likely, near, int(np.argmin(to_query)), n)


def chosen_by(value: Callable[[Floats], Floats], similarity: Floats, first: int, n: int) -> list[int]:
    """Choose n docs one by one, by a value that depends on how near each is to the nearest one already chosen."""
    chosen, nearest = [first], similarity[first].copy()
    while len(chosen) < n:
        values = value(nearest)
        values[chosen] = -np.inf
        chosen.append(int(np.argmax(values)))
        np.maximum(nearest, similarity[chosen[-1]], out=nearest)
    return chosen


def dense_systems(system: System) -> Iterator[Dense]:
    if isinstance(system, Dense):
        yield system
    parts = getattr(system, "of", None) or ()
    for part in parts if isinstance(parts, list | tuple) else (parts,):
        yield from dense_systems(part)
