"""Reranking: the first docs of a system are scored again by any function, such as a cross-encoder."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Sequence
from typing import Annotated, Any, ClassVar

from rankscope.errors import ScoreError
from rankscope.io.ids import byte_order
from rankscope.progress import Progress
from rankscope.systems.base import (
    DocStore,
    OptionSystem,
    Query,
    RankedDocs,
    System,
    best_first,
    search_once,
    text_of,
    with_progress,
)
from rankscope.systems.options import SYSTEM, AtLeastOne, DocFields, load_function, source_hash

Scorer = Callable[[str, list[str]], Sequence[float]]


class Rerank(OptionSystem, kw_only=True):
    """Scores the first docs of another system again.

    The function gets the query's text and a list of docs' texts, and returns one score per doc, the higher the better.
    What the other system has below the pool follows in its order.
    """

    kind: ClassVar[str] = "rerank"
    of: Annotated[System, SYSTEM]
    """The system whose results are scored again."""
    function: str | Scorer
    """The function, as module:function."""
    pool: AtLeastOne = 100
    """How many docs of each query are scored again."""
    fields: DocFields = ("title", "text")
    """The fields of a doc that the function gets, as one text."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._score: Scorer = load_function(self.function, what="the function")

    def index(self, docs: DocStore, *, progress: Progress | None) -> None:
        super().index(docs, progress=progress)
        self._index = DocTexts(docs, fields=self.fields, progress=progress)

    def rank(self, queries: Sequence[Query], *, k: int) -> Sequence[RankedDocs]:
        found = search_once(self.of, queries, k=max(self.pool, k))
        return [self.rerank(query, ranking)[:k] for query, ranking in zip(queries, found, strict=True)]

    def rerank(self, query: Query, ranking: RankedDocs) -> RankedDocs:
        texts = self.require_index()
        pool, below = ranking[: self.pool], ranking[self.pool :]
        if not pool:
            return []
        scores = [float(score) for score in self._score(query.text, [texts[doc] for doc, _ in pool])]
        if len(scores) != len(pool):
            raise ScoreError(
                f"query {query.id!r}: the function returned {len(scores)} scores for {len(pool)} docs",
                hint="it must return one score per doc, in their order",
            )
        if not all(map(math.isfinite, scores)):
            raise ScoreError(f"query {query.id!r}: the function returned NaN or infinity as a score")
        scored = best_first(zip((doc for doc, _ in pool), scores, strict=True))
        lowest = scored[-1][1]
        return [*scored, *((doc, lowest - place) for place, (doc, _) in enumerate(below, 1))]

    def describe(self) -> dict[str, Any]:
        return {**super().describe(), "source": source_hash(self._score)}


class DocTexts:
    """The texts of all docs in a file that vanishes with this object; only where each begins is in memory."""

    def __init__(self, docs: DocStore, *, fields: Sequence[str], progress: Progress | None = None) -> None:
        self._place_of: dict[str, tuple[int, int]] = {}
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 (it stays open as long as this object is there)
        for doc in with_progress(docs, progress):
            data = byte_order(text_of(doc, fields))
            self._place_of[doc.id] = (self._file.tell(), len(data))
            self._file.write(data)
        self._file.flush()

    def __getitem__(self, doc_id: str) -> str:
        place, length = self._place_of[doc_id]
        self._file.seek(place)
        return self._file.read(length).decode("utf-8", "surrogateescape")

    def __del__(self) -> None:
        self._file.close()

    @property
    def n_bytes(self) -> int:
        return sum(length for _, length in self._place_of.values())
