"""A system that is a Python function of one's own, plain or async."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar

from rankscope.errors import InputError
from rankscope.systems.answers import BadAnswerError
from rankscope.systems.base import OptionSystem, Query, RankedDocs
from rankscope.systems.options import load_function, source_hash
from rankscope.systems.rankings import read_ranking, split_batch


class PythonFunction(OptionSystem, kw_only=True):
    """Asks a function `module:function`.

    It gets a query's text, or with `batch` a list of texts, and where it has a parameter `k`, how many docs are wanted.
    It returns, for each query, {doc: score}, (doc, score) pairs, docs best first, or what LangChain, LlamaIndex, Chroma
    and Qdrant return. An async function is asked for all queries at once.
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
        answers = split_batch(found[0], len(queries)) if self.batch else found
        if len(answers) != len(queries):
            raise InputError(
                f"{self.name} returned {len(answers)} rankings for {len(queries)} queries",
                hint="with batch, the function must return one ranking per query, in their order",
            )
        return [self._ranking(answer, query, k=k) for answer, query in zip(answers, queries, strict=True)]

    def _ranking(self, answer: Any, query: Query, *, k: int) -> RankedDocs:
        try:
            return read_ranking(answer, k=k, repeats=self.keeps_repeats)
        except BadAnswerError as error:
            raise BadAnswerError(f"query {query.id!r}: {error.message}", hint=error.hint) from error

    def describe(self) -> dict[str, Any]:
        return {**super().describe(), "source": source_hash(self._call)}
