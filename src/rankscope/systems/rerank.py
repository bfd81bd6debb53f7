"""Reranking: the first docs of a system are scored again by any function, such as a cross-encoder."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from rankscope.errors import ScoreError
from rankscope.systems.base import BaseSystem, DocStore, Progress, Query, Ranking, System, best_first
from rankscope.systems.doc_texts import DocTexts
from rankscope.systems.options import SYSTEM, check_fields, check_range, load_function, options_of, source_hash

Scorer = Callable[[str, list[str]], Sequence[float]]


@dataclass(kw_only=True)
class Rerank(BaseSystem):
    """Scores the first docs of another system again.

    The function gets the query's text and a list of docs' texts, and returns one score per doc, the higher the better.
    What the other system has below the pool follows in its order.
    """

    name: str = "rerank"
    of: System = field(metadata=SYSTEM)
    """The system whose results are scored again."""
    function: str | Scorer
    """The function, as module:function."""
    pool: int = 100
    """How many docs of each query are scored again."""
    fields: Sequence[str] = ("title", "text")
    """The fields of a doc that the function gets, as one text."""

    _texts: DocTexts | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        check_range(self.pool, what="pool", low=1)
        self.fields = check_fields(self.fields)
        self._score: Scorer = (
            load_function(self.function, what="the function") if isinstance(self.function, str) else self.function
        )

    def index(self, docs: DocStore, *, progress: Progress | None) -> None:
        """Index the docs for the other system, and keep their texts at hand."""
        self.of.fit(docs, progress=progress)
        self._texts = DocTexts(docs, fields=self.fields, progress=progress)

    def rank(self, queries: Sequence[Query], *, k: int) -> Sequence[Ranking]:
        """Return up to k docs for each query, best first."""
        found = self.of.search(queries, k=max(self.pool, k))
        return [self.reranked(query, ranking)[:k] for query, ranking in zip(queries, found, strict=True)]

    def reranked(self, query: Query, ranking: Ranking) -> Ranking:
        """Return one ranking with its pool scored again."""
        texts = self.fitted(self._texts)
        pool, below = ranking[: self.pool], ranking[self.pool :]
        if not pool:
            return []
        given = self._score(query.text, [texts[doc] for doc, _ in pool])
        scores = checked_scores(given, n_docs=len(pool), query=query)
        scored = best_first(zip((doc for doc, _ in pool), scores, strict=True))
        lowest = scored[-1][1]
        return [*scored, *((doc, lowest - place) for place, (doc, _) in enumerate(below, 1))]

    def describe(self) -> dict[str, Any]:
        """Return all parameters, with those of the other system."""
        return {"type": "rerank", **options_of(self), "source": source_hash(self._score)}

    @property
    def index_bytes(self) -> int:
        """How much the other system's index and the texts take."""
        return self.of.index_bytes + (0 if self._texts is None else self._texts.n_bytes)


def checked_scores(given: Sequence[float], *, n_docs: int, query: Query) -> list[float]:
    """Return scores as numbers, or say what is wrong with them."""
    scores = [float(score) for score in given]
    if len(scores) != n_docs:
        raise ScoreError(
            f"query {query.id!r}: the function returned {len(scores)} scores for {n_docs} docs",
            hint="it must return one score per doc, in their order",
        )
    if not all(map(math.isfinite, scores)):
        raise ScoreError(f"query {query.id!r}: the function returned NaN or infinity as a score")
    return scores
