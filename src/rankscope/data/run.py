"""A run: the docs one system retrieved for each query, with their scores, read when first needed."""

from __future__ import annotations

import math
import os
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from rankscope.arrays import Floats, Ints, offsets_of
from rankscope.checks import check_options
from rankscope.data.sources import DictSource, Origin, file_source, own_source, shared_source
from rankscope.errors import DuplicateError, IdError, InputError, ScoreError, UnknownNameError
from rankscope.light import LightRecord
from rankscope.printable import counted
from rankscope.shown import Shown, import_pandas

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

    from rankscope.data.asked_queries import AskedQueries
    from rankscope.data.shapes import RunLike, RunSource
    from rankscope.io.rows import RunRows


class Ranking(LightRecord, eq=False):
    """What was retrieved for one query, as given: scored, without duplicates, not yet put in order."""

    score_of: Mapping[str, float]
    """Doc to score; its order is the order given."""
    scores: Floats
    """The same scores, in the same order."""
    given_ranks: Ints | None = None
    """The rank column, where there is one."""

    def without(self, doc: str) -> Ranking:
        if doc not in self.score_of:
            return self
        keep = np.array([other != doc for other in self.score_of])
        return Ranking(
            {other: score for other, score in self.score_of.items() if other != doc},
            self.scores[keep],
            None if self.given_ranks is None else self.given_ranks[keep],
        )


class ListedDocs(LightRecord, eq=False):
    """What was retrieved for one query, row by row: a doc that is listed twice is there twice."""

    docs: Sequence[str]
    scores: Floats
    given_ranks: Ints | None = None
    """The rank column, where there is one."""


class QueryDocs(Shown, Mapping[str, dict[str, float]]):
    """What runs and qrels have in common: numbers by query and doc, made of rows."""

    @property
    @abstractmethod
    def rows(self) -> Any:
        """All rows in the order given."""

    def __eq__(self, other: object) -> bool:
        """Tell whether the other has the same docs and numbers for the same queries, whatever the order of the rows.

        Runs equal runs, or plain mappings; qrels likewise. One that lists a doc twice equals only itself.
        """
        if self is other:
            return True
        if not isinstance(other, Mapping) or (isinstance(other, QueryDocs) and type(other) is not type(self)):
            return NotImplemented
        try:
            return len(self) == len(other) and all(query in other and self[query] == other[query] for query in self)
        except DuplicateError:
            return False

    def __hash__(self) -> int:
        return hash(frozenset(self))

    def save(self, path: str | os.PathLike[str], *, format: str | None = None) -> None:  # noqa: A002
        """Write the rows to a file.

        Parameters
        ----------
        path
            Where to; "-" is standard output.
        format
            One of `rankscope.io.FORMATS`; by default it is taken from the name, as is the compression.
        """
        from rankscope.io.write import write_rows

        write_rows(self.rows, path, format=format)

    def to_polars(self) -> pl.DataFrame:
        """Return the rows in the order given as a Polars table with columns query, doc, score or grade, and others."""
        import polars as pl

        from rankscope.io.table import table_columns

        return pl.DataFrame(table_columns(self.rows))

    def to_pandas(self) -> pd.DataFrame:
        """Return the rows in the order given as a pandas table with columns query, doc, score or grade, and others."""
        from rankscope.io.table import table_columns

        return import_pandas().DataFrame(table_columns(self.rows))

    def to_dict(self) -> dict[str, dict[str, float]]:
        """Return {query: {doc: number}}, as `self[query]` has it for each query."""
        return {query: self[query] for query in self}


class Run(QueryDocs):
    """The ranked docs of one system for many queries; it cannot be changed once made.

    A run is a mapping: iterating over it gives the query ids, `run[query]` the docs of a query with their scores, best
    first.

    Parameters
    ----------
    data
        A path or an open file (read only when needed), `{query: {doc: score}}`, `{query: [doc, …]}` best first, a
        table with columns query, doc, score, or an iterable of `(query, doc, score)` rows.
    name
        What the system is called in results; a file is called by its name unless this is given.

    Examples
    --------
    >>> from rankscope import Run
    >>> run = Run({"q1": {"d1": 0.5, "d2": 2.0}, "q2": {"d1": 1.0}}, name="bm25")
    >>> run["q1"]
    {'d2': 2.0, 'd1': 0.5}
    >>> list(run), len(run), "q3" in run
    (['q1', 'q2'], 2, False)
    >>> run.to_polars().columns
    ['query', 'doc', 'score']
    """

    def __init__(self, data: RunLike | RunSource, *, name: str | None = None) -> None:
        check_options({"name": "str | None"}, {"name": name})
        self.source: Any
        """Internal: where the rows come from, in the form that alignment reads fastest."""
        if isinstance(data, Run):
            vars(self).update(vars(data))  # its rankings, too, where they have been made
        else:
            is_source = callable(getattr(data, "read", None))
            self.source = file_source(data) or (data if is_source else own_source(data))
        self.name = name or getattr(self.source, "name", None)

    def renamed(self, name: str) -> Run:
        """Return the same run under another name."""
        return self if name == self.name else Run(self, name=name)

    @property
    def rows(self) -> RunRows:
        """All rows in the order given."""
        rows: RunRows = self.source.read()
        return rows

    @property
    def origin(self) -> Origin | None:
        """The file the run comes from, if it comes from one."""
        return getattr(self.source, "origin", None)

    @property
    def integer_ids(self) -> frozenset[str]:
        """Which of "query" and "doc" were whole numbers in the source."""
        kinds: frozenset[str] = self.source.integer_ids
        return kinds

    @property
    def tag(self) -> str | None:
        """The name that the run gives itself, in its last row."""
        return getattr(self.source, "tag", None)

    @property
    def asked(self) -> AskedQueries | None:
        """Internal: the queries that the run was asked, where a file beside it says so; None: nobody knows."""
        return getattr(self.source, "asked", None)

    @property
    def query_ids(self) -> tuple[str, ...]:
        """The queries that the run answers, in the order given."""
        listed = getattr(self.source, "query_ids", None)  # of a run in shards, one shard after the other
        return tuple(self.rankings.query_ids()) if listed is None else tuple(listed())

    @cached_property
    def rankings(self) -> DictRankings | RowRankings:
        """Internal: one query's docs at a time, as given."""
        is_dict = isinstance(self.source, DictSource)
        return DictRankings(self.source.docs_of) if is_dict else RowRankings(self.source.read())

    def __getitem__(self, query: str) -> dict[str, float]:
        """Return the docs of a query with their scores, best first; of equal scores the greater id is first."""
        from rankscope.io.ids import as_key, byte_order

        key = as_key(query)
        if key not in self.rankings:
            raise UnknownNameError(f"the run has no query {query!r}")
        ranking = self.rankings.ranking(key, duplicates="error")
        scored = zip(ranking.score_of, ranking.scores.tolist(), strict=True)
        return dict(sorted(scored, key=lambda doc: (doc[1], byte_order(doc[0])), reverse=True))

    def __iter__(self) -> Iterator[str]:
        return self.rankings.query_ids()

    def __contains__(self, query: object) -> bool:
        from rankscope.io.ids import as_key

        return as_key(query) in self.rankings

    def __len__(self) -> int:
        return len(self.rankings)

    def __repr__(self) -> str:
        path = getattr(self.source, "path", None)
        shown = f"file {path!r}" if path else counted(len(self), "query")  # a file is not read for this
        return f"Run({shown})" if self.name is None else f"Run({self.name!r}, {shown})"


def wrap(data: Any, *, name: str | None = None) -> Run:
    """Return a run that reads the caller's own dicts or table without a copy; they must not change meanwhile."""
    run = Run({}, name=name)
    run.source = DictSource(data) if isinstance(data, Mapping) else shared_source(data)
    return run


class _Rankings:
    """One query's docs at a time."""

    def __init__(self, by_query: Mapping[str, Any]) -> None:
        self._by_query = by_query

    def query_ids(self) -> Iterator[str]:
        return iter(self._by_query)

    def __contains__(self, query: object) -> bool:
        return query in self._by_query

    def __len__(self) -> int:
        return len(self._by_query)


class DictRankings(_Rankings):
    """Rankings of a dict of dicts."""

    def __init__(self, docs_of: Mapping[Any, Mapping[Any, Any]]) -> None:
        is_text = all(type(query) is str for query in docs_of)
        super().__init__(docs_of if is_text else with_text_ids(docs_of, what="query id", where="the run"))

    def ranking(self, query: str, *, duplicates: str) -> Ranking:  # noqa: ARG002 (a dict has no duplicates)
        docs = self._by_query[query]
        if "" in docs or not set(map(type, docs)) <= {str}:
            docs = with_text_ids(docs, what="doc id", where=f"query {query!r}")
        odd = not {str, bytes, bool}.isdisjoint(map(type, docs.values()))  # NumPy would take "7" for 7
        values = [math.nan] if odd else docs.values()
        try:
            scores = np.fromiter(values, dtype=np.float64, count=len(values))
        except (TypeError, ValueError, OverflowError):
            scores = np.array([math.nan])
        return checked(Ranking(docs, scores), query)

    def listed(self, query: str) -> ListedDocs:
        """Return the docs of a query as they are listed: a dict has no doc twice."""
        ranking = self.ranking(query, duplicates="error")
        return ListedDocs(list(ranking.score_of), ranking.scores)


def with_text_ids(mapping: Mapping[Any, Any], *, what: str, where: str) -> dict[str, Any]:
    """Return a mapping with ids as text, refusing two ids that become the same text."""
    from rankscope.io.ids import as_id

    texts = {as_id(key, what=what): value for key, value in mapping.items()}
    if len(texts) < len(mapping):
        raise IdError(
            f"{where} has a {what} both as a number and as text",
            hint="ids are matched as text (7 is '7'): keep one of the two",
        )
    return texts


class RowRankings(_Rankings):
    """Rankings of rows, which may come in any order."""

    def __init__(self, rows: RunRows) -> None:
        self._rows = rows
        code_of = {query: code for code, query in enumerate(dict.fromkeys(rows.query))}
        codes = np.fromiter(map(code_of.__getitem__, rows.query), dtype=np.int64, count=len(rows))
        for query in rows.empty_queries:
            code_of.setdefault(query, len(code_of))
        super().__init__(code_of)
        self._order = np.argsort(codes, kind="stable")
        self._offsets = offsets_of(np.bincount(codes, minlength=len(code_of)))

    def rows_of(self, query: str) -> tuple[Ints, list[str]]:
        """Return the places of a query's rows, in the order given, and the docs in them."""
        code = self._by_query[query]
        picked = self._order[self._offsets[code] : self._offsets[code + 1]]
        return picked, [self._rows.doc[i] for i in picked.tolist()]

    def listed(self, query: str) -> ListedDocs:
        """Return the docs of a query as they are listed, also those that are listed twice."""
        picked, docs = self.rows_of(query)
        return ListedDocs(docs, self._rows.score[picked], None if self._rows.rank is None else self._rows.rank[picked])

    def ranking(self, query: str, *, duplicates: str) -> Ranking:
        picked, docs = self.rows_of(query)
        if len(set(docs)) < len(docs):
            first: dict[str, int] = {}
            for i, doc in enumerate(docs):
                if first.setdefault(doc, i) != i and duplicates == "error":
                    raise_duplicate(query, doc)
            picked, docs = picked[list(first.values())], list(first)
        scores = self._rows.score[picked]
        given = None if self._rows.rank is None else self._rows.rank[picked]
        return checked(Ranking(dict(zip(docs, scores.tolist(), strict=True)), scores, given), query)


def raise_duplicate(query: str, doc: str) -> None:
    raise DuplicateError(
        f"query {query!r} lists doc {doc!r} more than once",
        hint="remove the repeated row, or keep the first of them with duplicates='first' (--duplicates first)",
    )


def checked(ranking: Ranking, query: str) -> Ranking:
    """Return the ranking, unless a score of it is not a number."""
    if len(ranking.scores) and np.isnan(ranking.scores).any():
        from rankscope.data.coerce import is_number

        doc, score = next((doc, score) for doc, score in ranking.score_of.items() if not is_number(score))
        raise ScoreError(
            f"query {query!r}, doc {doc!r}: score {score!r} is not a number",
            hint="every retrieved doc needs a score that is a number; remove or repair the row",
        )
    return ranking


def require_rows(run: Run) -> None:
    if not len(run):
        raise InputError("the run is empty", hint="check that the system wrote its results")
