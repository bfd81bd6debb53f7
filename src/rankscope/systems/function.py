"""A system that is a Python function of one's own, plain or async."""

from __future__ import annotations

import asyncio
import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from rankscope.errors import DuplicateError, InputError, ScoreError
from rankscope.io.ids import as_id
from rankscope.progress import Progress
from rankscope.systems.base import DocStore, OptionSystem, Query, RankedDocs, best_first
from rankscope.systems.options import load_function, options_of, source_hash


class PythonFunction(OptionSystem, kw_only=True):
    """Asks a function `module:function`.

    It gets a query's text, or with `batch` a list of texts, and where it has a parameter `k`, how many docs are wanted.
    It returns, for each query, {doc: score}, (doc, score) pairs, or docs best first. An async function is asked for all
    queries at once.
    """

    name: str = "python"
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

    def index(self, docs: DocStore, *, progress: Progress | None) -> None:
        """Do nothing: the function knows its docs."""

    def rank(self, queries: Sequence[Query], *, k: int) -> Sequence[RankedDocs]:
        """Return up to k docs for each query, best first."""
        answers = self.returned(queries, k=k)
        if len(answers) != len(queries):
            raise InputError(
                f"{self.name} returned {len(answers)} rankings for {len(queries)} queries",
                hint="with batch, the function must return one ranking per query, in their order",
            )
        return [as_ranking(answer, query)[:k] for answer, query in zip(answers, queries, strict=True)]

    def returned(self, queries: Sequence[Query], *, k: int) -> Sequence[Any]:
        """Return what the function returns for each query."""
        wanted = {"k": k} if "k" in self._parameters else {}
        given = list(queries) if self.records else [query.text for query in queries]
        calls = [given] if self.batch else given
        got = [self._call(call, **wanted) for call in calls]
        if any(map(inspect.isawaitable, got)):
            got = in_own_loop(got)
        return list(got[0]) if self.batch else got

    def describe(self) -> dict[str, Any]:
        """Return all parameters, and the hash of the function's file, so that a change of it is noticed."""
        return {"type": "python", **options_of(self), "source": source_hash(self._call)}


def in_own_loop(waiting: Sequence[Any]) -> list[Any]:
    """Wait for all answers in a thread of its own, since the caller, such as a notebook, may have a loop running."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(lambda: asyncio.run(gathered(waiting))).result()


async def gathered(waiting: Sequence[Any]) -> list[Any]:
    """Wait for all answers."""
    return list(await asyncio.gather(*waiting))


def as_ranking(answer: Any, query: Query) -> RankedDocs:
    """Return what a function gave for one query as docs with scores, best first."""
    listed = list(answer.items() if isinstance(answer, Mapping) else answer)
    if listed and all(isinstance(entry, str | int) for entry in listed):
        listed = [(doc, 1 / rank) for rank, doc in enumerate(listed, 1)]
    try:
        pairs = [(as_id(doc, what="doc id"), float(score)) for doc, score in listed]
    except (TypeError, ValueError) as error:
        raise InputError(
            f"query {query.id!r}: {error}", hint="return {doc: score}, (doc, score) pairs, or docs best first"
        ) from error
    check_pairs(pairs, query)
    return best_first(pairs)


def check_pairs(pairs: Sequence[tuple[str, float]], query: Query) -> None:
    """Refuse scores that are no numbers, and docs that are there twice."""
    seen: set[str] = set()
    for doc, score in pairs:
        if math.isnan(score):
            raise ScoreError(f"query {query.id!r}: the score of doc {doc!r} is not a number")
        if doc in seen:
            raise DuplicateError(f"query {query.id!r}: doc {doc!r} is there twice")
        seen.add(doc)
