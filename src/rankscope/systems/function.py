"""A system that is a Python function of one's own, plain or async."""

from __future__ import annotations

import asyncio
import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar

from rankscope.errors import DuplicateError, InputError, ScoreError
from rankscope.io.ids import as_id
from rankscope.systems.base import OptionSystem, Query, RankedDocs, best_first
from rankscope.systems.options import load_function, source_hash


class PythonFunction(OptionSystem, kw_only=True):
    """Asks a function `module:function`.

    It gets a query's text, or with `batch` a list of texts, and where it has a parameter `k`, how many docs are wanted.
    It returns, for each query, {doc: score}, (doc, score) pairs, or docs best first. An async function is asked for all
    queries at once.
    """

    kind: ClassVar[str] = "python"
    function: str | Callable[..., Any]
    """The function, as module:function."""
    batch: bool = False
    """Whether the function takes all queries of a batch at once."""
    records: bool = False
    """Whether the function gets queries with id and attributes (`Query`), instead of their texts."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._call = load_function(self.function, what="the function")
        self._parameters = inspect.signature(self._call).parameters

    def rank(self, queries: Sequence[Query], *, k: int) -> Sequence[RankedDocs]:
        wanted = {"k": k} if "k" in self._parameters else {}
        given = list(queries) if self.records else [query.text for query in queries]
        found = [self._call(each, **wanted) for each in ([given] if self.batch else given)]
        if any(map(inspect.isawaitable, found)):

            async def all_answers() -> list[Any]:
                return list(await asyncio.gather(*found))

            with ThreadPoolExecutor(1) as pool:  # of its own: the caller, such as a notebook, may have a loop running
                found = pool.submit(lambda: asyncio.run(all_answers())).result()
        answers = list(found[0]) if self.batch else found
        if len(answers) != len(queries):
            raise InputError(
                f"{self.name} returned {len(answers)} rankings for {len(queries)} queries",
                hint="with batch, the function must return one ranking per query, in their order",
            )
        return [as_ranking(answer, query)[:k] for answer, query in zip(answers, queries, strict=True)]

    def describe(self) -> dict[str, Any]:
        return {**super().describe(), "source": source_hash(self._call)}


def as_ranking(answer: Any, query: Query) -> RankedDocs:
    listed = list(answer.items() if isinstance(answer, Mapping) else answer)
    if listed and all(isinstance(entry, str | int) for entry in listed):
        listed = [(doc, 1 / rank) for rank, doc in enumerate(listed, 1)]
    try:
        pairs = [(as_id(doc, what="doc id"), float(score)) for doc, score in listed]
    except (TypeError, ValueError) as error:
        raise InputError(
            f"query {query.id!r}: {error}", hint="return {doc: score}, (doc, score) pairs, or docs best first"
        ) from error
    score_of: dict[str, float] = {}
    for doc, score in pairs:
        if math.isnan(score):
            raise ScoreError(f"query {query.id!r}: the score of doc {doc!r} is not a number")
        if doc in score_of:
            raise DuplicateError(f"query {query.id!r}: doc {doc!r} is there twice")
        score_of[doc] = score
    return best_first(score_of)
