"""A run: the docs one system retrieved for each query, with their scores, read when first needed."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping, Sized
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from rankscope.arrays import Floats, Ints, offsets_of
from rankscope.errors import DuplicateError, IdError, InputError, ScoreError
from rankscope.light import LightRecord

if TYPE_CHECKING:
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
        """Return the ranking as if a doc had not been retrieved."""
        if doc not in self.score_of:
            return self
        keep = np.array([other != doc for other in self.score_of])
        return Ranking(
            {other: score for other, score in self.score_of.items() if other != doc},
            self.scores[keep],
            None if self.given_ranks is None else self.given_ranks[keep],
        )


class RunSource(Protocol):
    """Where a run's rows come from."""

    def read(self) -> RunRows:
        """Return all rows."""
        ...


class Origin(LightRecord):
    """The file that data was read from."""

    path: str
    format: str
    digest: Callable[[], str]
    """Computes the SHA-256 of the file, which takes a while and is not always asked for."""

    @cached_property
    def sha256(self) -> str:
        """The digest of the file as stored."""
        return self.digest()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Origin):
            return NotImplemented
        return (self.path, self.format) == (other.path, other.format) and self.sha256 == other.sha256

    def __hash__(self) -> int:
        return hash((self.path, self.format))


class Run:
    """The ranked docs of one system for many queries; it cannot be changed once made.

    Made from a path (then read only when needed), `{query: {doc: score}}`, `{query: [doc, …]}` best first,
    a table with columns query, doc, score, or an iterable of `(query, doc, score)` rows.
    """

    open_path: ClassVar[Callable[[str | os.PathLike[str]], RunSource] | None] = None
    """How a path becomes a source; set by the layer that reads files."""

    def __init__(self, data: Any, *, name: str | None = None) -> None:
        self.name = name
        self._rankings: _Rankings | None = None
        if isinstance(data, str | os.PathLike) and Run.open_path is not None:
            self.source: Any = Run.open_path(data)
        elif isinstance(data, Mapping) and all(isinstance(docs, Mapping) for docs in data.values()):
            self.source = DictSource({query: dict(docs) for query, docs in data.items()})
        elif hasattr(data, "read") and callable(data.read):
            self.source = data
        else:
            self.source = source_of(own_copy(data))

    @classmethod
    def wrap(cls, data: Any, *, name: str | None = None) -> Run:
        """Make a run that reads the caller's own dicts or table without a copy; they must not change meanwhile."""
        run = cls({}, name=name)
        run.source = DictSource(data) if isinstance(data, Mapping) else source_of(data)
        return run

    def renamed(self, name: str) -> Run:
        """Return the same run under another name."""
        run = Run({}, name=name)
        run.source, run._rankings = self.source, self._rankings
        return run

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
        tag: str | None = getattr(self.source, "tag", None)
        return tag

    @property
    def query_ids(self) -> tuple[str, ...]:
        """The queries that the run answers, in the order given."""
        return tuple(self.rankings.query_ids())

    @property
    def rankings(self) -> _Rankings:
        """Access to one query's docs at a time."""
        if self._rankings is None:
            if isinstance(self.source, DictSource):
                self._rankings = DictRankings(self.source.docs_of)
            else:
                self._rankings = RowRankings(self.source.read())
        return self._rankings

    def __len__(self) -> int:
        return len(self.rankings)

    def __repr__(self) -> str:
        name = self.name or getattr(self.source, "path", "")  # its origin would be known only once it is read
        return f"Run({name!r}, {type(self.source).__name__})"


class _Rankings(Protocol):
    """One query's docs at a time."""

    def query_ids(self) -> Iterator[str]: ...

    def __contains__(self, query: object) -> bool: ...

    def __len__(self) -> int: ...

    def ranking(self, query: str, *, duplicates: str) -> Ranking: ...


class RowsSource(LightRecord, eq=False):
    """Rows that are already in memory."""

    rows: RunRows

    def read(self) -> RunRows:
        """Return all rows."""
        return self.rows

    @property
    def integer_ids(self) -> frozenset[str]:
        """Which ids were whole numbers."""
        return self.rows.integer_ids

    @property
    def tag(self) -> str | None:
        """The tag of the last row."""
        return self.rows.tag


class DictSource(LightRecord, eq=False):
    """A dict of dicts, used as it is: nothing is flattened unless the rows are asked for."""

    docs_of: Mapping[Any, Mapping[Any, Any]]

    def read(self) -> RunRows:
        """Return all rows."""
        from rankscope.data.coerce import run_rows

        return run_rows(self.docs_of)

    @property
    def integer_ids(self) -> frozenset[str]:
        """Which ids are whole numbers, to tell from the first ones."""
        return frozenset(integer_kinds(self.docs_of))


class TableSource(LightRecord, eq=False):
    """A table that the kernel reads where its owner keeps it."""

    original: Any
    table: Any
    """The table as the kernel sees it."""
    column_of: Mapping[str, int]
    """Which column holds what."""

    def read(self) -> RunRows:
        """Return all rows."""
        from rankscope.data.coerce import run_rows

        return run_rows(self.original)

    @property
    def integer_ids(self) -> frozenset[str]:
        """Which ids are whole numbers."""
        numbers = set("cCsSiIlL")  # the letters that Arrow has for them
        return frozenset(kind for kind in ("query", "doc") if self.table.format(self.column_of[kind]) in numbers)

    @property
    def tag(self) -> str | None:
        """The tag of the last row."""
        return self.read().tag if "tag" in self.column_of else None


class DictRankings:
    """Rankings of a dict of dicts."""

    def __init__(self, docs_of: Mapping[Any, Mapping[Any, Any]]) -> None:
        self._docs_of: Mapping[str, Mapping[Any, Any]] = docs_of
        if any(type(query) is not str for query in docs_of):
            from rankscope.io.ids import as_id

            self._docs_of = {as_id(query, what="query id"): docs for query, docs in docs_of.items()}
        if len(self._docs_of) < len(docs_of):
            raise IdError(
                "the run has a query id both as a number and as text",
                hint="ids are matched as text (7 is '7'): keep one of the two",
            )

    def query_ids(self) -> Iterator[str]:
        """Return the queries in the order given."""
        return iter(self._docs_of)

    def __contains__(self, query: object) -> bool:
        return query in self._docs_of

    def __len__(self) -> int:
        return len(self._docs_of)

    def ranking(self, query: str, *, duplicates: str) -> Ranking:  # noqa: ARG002 (a dict has no duplicates)
        """Return what was retrieved for one query."""
        docs = self._docs_of[query]
        if "" in docs or not set(map(type, docs)) <= {str}:
            from rankscope.data.coerce import as_doc_scores

            docs = as_doc_scores(query, docs)
        odd = not {str, bytes, bool}.isdisjoint(map(type, docs.values()))  # NumPy would take "7" for 7
        values = [math.nan] if odd else docs.values()
        try:
            scores = np.fromiter(values, dtype=np.float64, count=len(values))
        except (TypeError, ValueError, OverflowError):
            scores = np.array([math.nan])
        ranking = Ranking(docs, scores)
        check_scores(ranking, query)
        return ranking


def integer_kinds(docs_of: Mapping[Any, Mapping[Any, Any]]) -> Iterator[str]:
    """Tell from the first query and its first doc whether ids are whole numbers."""
    for query, docs in docs_of.items():
        if not isinstance(query, str | bytes):
            yield "query"
        if any(not isinstance(doc, str | bytes) for doc in list(docs)[:1]):
            yield "doc"
        return


class RowRankings:
    """Rankings of rows, which may come in any order."""

    def __init__(self, rows: RunRows) -> None:
        self._rows = rows
        code_of: dict[str, int] = {}
        codes = np.fromiter(
            (code_of.setdefault(query, len(code_of)) for query in rows.query), dtype=np.int64, count=len(rows)
        )
        for query in rows.empty_queries:
            code_of.setdefault(query, len(code_of))
        self._code_of = code_of
        self._order = np.argsort(codes, kind="stable")
        self._offsets = offsets_of(np.bincount(codes, minlength=len(code_of)))

    def query_ids(self) -> Iterator[str]:
        """Return the queries in the order given."""
        return iter(self._code_of)

    def __contains__(self, query: object) -> bool:
        return query in self._code_of

    def __len__(self) -> int:
        return len(self._code_of)

    def ranking(self, query: str, *, duplicates: str) -> Ranking:
        """Return what was retrieved for one query."""
        code = self._code_of[query]
        picked = self._order[self._offsets[code] : self._offsets[code + 1]]
        docs = [self._rows.doc[i] for i in picked.tolist()]
        if len(set(docs)) < len(docs):
            if duplicates == "error":
                raise_duplicate(query, first_duplicate(docs))
            picked = picked[first_occurrences(docs)]
            docs = list(dict.fromkeys(docs))
        scores = self._rows.score[picked]
        given = None if self._rows.rank is None else self._rows.rank[picked]
        ranking = Ranking(dict(zip(docs, scores.tolist(), strict=True)), scores, given)
        check_scores(ranking, query)
        return ranking


def first_occurrences(docs: list[str]) -> list[int]:
    """Return the positions at which each doc is listed for the first time."""
    first: dict[str, int] = {}
    for i, doc in enumerate(docs):
        first.setdefault(doc, i)
    return list(first.values())


def first_duplicate(docs: list[str]) -> str:
    """Return the doc that is the first to be listed for a second time."""
    seen: set[str] = set()
    return next(doc for doc in docs if doc in seen or seen.add(doc))  # type: ignore[func-returns-value]


def raise_duplicate(query: str, doc: str) -> None:
    """Raise, naming the doc that is listed twice."""
    raise DuplicateError(
        f"query {query!r} lists doc {doc!r} more than once",
        hint="remove the repeated row, or keep the first of them with duplicates='first' (--duplicates first)",
    )


def check_scores(ranking: Ranking, query: str) -> None:
    """Refuse scores that are not numbers: they have no place in an order."""
    if len(ranking.scores) and np.isnan(ranking.scores).any():
        from rankscope.data.coerce import is_number

        doc, score = next((doc, score) for doc, score in ranking.score_of.items() if not is_number(score))
        raise ScoreError(
            f"query {query!r}, doc {doc!r}: score {score!r} is not a number",
            hint="every retrieved doc needs a score that is a number; remove or repair the row",
        )


def require_rows(run: Run) -> None:
    """Refuse a run in which nothing at all is listed."""
    if not len(run):
        raise InputError("the run is empty", hint="check that the system wrote its results")


def own_copy(data: Any) -> Any:
    """Return a table that stays as it is when the caller's changes; other data is copied when it is read."""
    if hasattr(data, "iloc"):
        return data.copy()  # pandas
    if hasattr(data, "clone"):
        return data.clone()  # polars, where it costs nothing
    return data


def source_of(data: Any) -> Any:
    """Return in-memory data as a source: an Arrow table as it is where the kernel can read it, all else as rows."""
    if hasattr(data, "__arrow_c_stream__"):
        from rankscope.data.tables import table_source

        if not isinstance(data, Sized):  # a stream, which can be read only once
            import polars as pl

            data = pl.DataFrame(data)
        source = table_source(data)
        if source is not None:
            return source
    from rankscope.data.coerce import run_rows

    return RowsSource(run_rows(data))
