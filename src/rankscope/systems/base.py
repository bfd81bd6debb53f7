"""What every system has in common: queries and docs go in, ranked (doc, score) pairs come out.

A system is fitted on docs once and then searched with batches of queries. Docs are streamed: a `DocStore` can be read
as often as needed and is never held in memory as a whole.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Protocol, runtime_checkable

import msgspec
import numpy as np
from numpy.typing import NDArray

from rankscope.align.reference import best_first_order
from rankscope.errors import DuplicateError, OptionError
from rankscope.io.ids import byte_order
from rankscope.native import kernel
from rankscope.progress import Progress
from rankscope.systems.options import check_value, options_in, plain

RankedDocs = Sequence[tuple[str, float]]
"""Docs with their scores, best first; equal scores are in descending order of the ids, as trec_eval has them."""


class Query(msgspec.Struct, frozen=True):
    """What somebody searches for, with what else is known of it: language, difficulty, category …"""

    id: str
    text: str
    attributes: Mapping[str, Any] = {}


class Doc(msgspec.Struct, frozen=True):
    """What can be found: a text, perhaps with a title, and any further fields."""

    id: str
    text: str
    title: str = ""
    fields: Mapping[str, Any] = {}


@runtime_checkable
class DocStore(Protocol):
    """Docs that can be read again and again, one at a time, always in the same order, each id once."""

    def __iter__(self) -> Iterator[Doc]: ...

    def __len__(self) -> int: ...


@runtime_checkable
class System(Protocol):
    """Anything that ranks docs for queries."""

    name: str

    def fit(self, docs: DocStore, *, progress: Progress | None = None) -> None:
        """Index the docs; a system that needs no index does nothing."""

    def search(self, queries: Sequence[Query], *, k: int) -> Sequence[RankedDocs]:
        """Return up to k docs for each query, best first."""

    def describe(self) -> dict[str, Any]:
        """Return all parameters and the versions of the libraries used: what must be the same for the same result."""

    @property
    def index_bytes(self) -> int:
        """How much the index takes, in memory or on disk; 0 where there is none."""


class BaseSystem:
    """A system that indexes a doc store once, so that systems which share a part do not index it twice.

    A class of your own may derive from it and define `rank`, `describe` and, where it has an index, `index`.
    """

    name: str = ""
    keeps_repeats: bool = False
    """Whether an answer may list a doc twice: it is then handed on as it is, otherwise the query fails."""
    _docs: DocStore | None = None
    _index: Any = None
    """What a system of ours searches in, where it has something; its size is `n_bytes`."""

    def fit(self, docs: DocStore, *, progress: Progress | None = None) -> None:
        if self._docs is not docs:
            self._docs = None
            self.index(docs, progress=progress)
            self._docs = docs

    def search(self, queries: Sequence[Query], *, k: int) -> Sequence[RankedDocs]:
        if k < 1:
            raise OptionError(f"k is {k}, but at least one doc has to be asked for", hint="give k = 1 or more")
        return self.rank(queries, k=k) if queries else []

    def require_index(self) -> Any:
        if self._index is None:
            raise OptionError(f"{self.name or 'the system'} has no docs yet", hint="call fit(docs) before search")
        return self._index

    def index(self, docs: DocStore, *, progress: Progress | None) -> None:
        """Prepare for searching these docs; a system that needs no index has nothing to do."""

    def rank(self, queries: Sequence[Query], *, k: int) -> Sequence[RankedDocs]:
        """Return up to k docs for each query, best first; there is at least one query."""
        raise NotImplementedError

    def describe(self) -> dict[str, Any]:
        raise NotImplementedError

    @property
    def index_bytes(self) -> int:
        return getattr(self._index, "n_bytes", 0)


class OptionSystem(BaseSystem, msgspec.Struct, eq=False, kw_only=True):
    """A system whose fields are its options, checked when it is made; options that are systems are indexed with it.

    A pickled system has its options alone: it is fitted again where it arrives.
    """

    kind: ClassVar[str] = ""
    """The type of the system, and its name where none is given; without one, its class stands for it."""
    name: str = ""

    def __post_init__(self) -> None:
        self.name = self.name or self.kind
        for option in options_in(type(self)).values():
            value = getattr(self, option.field)
            check_value(option, value)
            if option.marks.get("doc_fields"):
                fields = (value,) if isinstance(value, str) else tuple(value)
                if not fields:
                    hint = 'for example fields = ["title", "text"]'
                    raise OptionError("no field of the docs is to be searched", hint=hint)
                setattr(self, option.field, fields)
        self.check_given({option.name: getattr(self, option.field) for option in options_in(type(self)).values()})

    @classmethod
    def check_given(cls, given: Mapping[str, Any]) -> None:
        """Refuse values of the right type that cannot work, such as an address without a host.

        It is called when a project file is read, with the options that stand there, and again when a system is made.
        """

    @property
    def _parts(self) -> list[System]:
        """The systems among the options."""
        held = [getattr(self, option.field) for option in options_in(type(self)).values() if option.is_system]
        listed = (value if isinstance(value, list | tuple) else [value] for value in held)
        return [system for systems in listed for system in systems if system is not None]

    def index(self, docs: DocStore, *, progress: Progress | None) -> None:
        for part in self._parts:
            part.fit(docs, progress=progress)

    @property
    def index_bytes(self) -> int:
        return super().index_bytes + sum(part.index_bytes for part in self._parts)

    def describe(self) -> dict[str, Any]:
        described: dict[str, Any] = {"type": self.kind or f"{type(self).__module__}:{type(self).__qualname__}"}
        for option in options_in(type(self)).values():
            if not option.marks.get("no_effect"):
                described[option.field] = plain(getattr(self, option.field))
        return described


class ListDocs(list[Doc]):
    """Docs that are all in memory: for tests, and for collections that are small."""

    def __init__(self, docs: Iterable[Doc | tuple[str, str]]) -> None:
        super().__init__(doc if isinstance(doc, Doc) else Doc(*doc) for doc in docs)


def text_of(doc: Doc, fields: Sequence[str]) -> str:
    """Return the fields of a doc that are to be searched, joined by a blank; empty ones are left out."""
    texts = []
    for name in fields:
        value = getattr(doc, name) if name in ("title", "text") else doc.fields.get(name)
        if value is not None:
            texts.append(" ".join(map(str, value)) if isinstance(value, list | tuple) else str(value))
    return " ".join(filter(None, texts))


def search_once(system: System, queries: Sequence[Query], *, k: int) -> list[RankedDocs]:
    """Return what a system finds, for systems that make something else of it: of a doc listed twice the first row."""
    found = []
    for ranking in system.search(queries, k=k):
        first: dict[str, float] = {}
        for doc, score in ranking:
            first.setdefault(doc, score)
        found.append(ranking if len(first) == len(ranking) else list(first.items()))
    return found


def best_first(scores: Mapping[str, float] | Iterable[tuple[str, float]], k: int | None = None) -> RankedDocs:
    """Return (doc, score) pairs best first, ties by descending id as trec_eval has them, cut at k."""
    pairs = list(scores.items() if isinstance(scores, Mapping) else scores)
    values = np.array([score for _, score in pairs], dtype=np.float64)
    order = best_first_order([doc for doc, _ in pairs], values)
    return [pairs[i] for i in order[:k].tolist()]


class DocIds:
    """The ids of indexed docs by row, and the order in which ids break ties."""

    def __init__(self, ids: Sequence[str]) -> None:
        self.ids = list(ids)
        self.row_of = dict(zip(self.ids, range(len(self.ids)), strict=True))
        if len(self.row_of) < len(self.ids):
            doc = next(doc for row, doc in enumerate(self.ids) if self.row_of[doc] != row)
            raise DuplicateError(f"doc {doc!r} is there twice", hint="every doc needs an id of its own")
        self._place: NDArray[np.int64] | None = None

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
        order = np.lexsort((self.place[rows], -scores))[:k]
        picked = zip(rows[order].tolist(), scores[order].tolist(), strict=True)
        return [(self.ids[row], score) for row, score in picked]

    def rankings(
        self,
        query: NDArray[np.int64],
        rows: NDArray[np.int64],
        scores: NDArray[np.float32],
        *,
        n_queries: int,
        k: int,
    ) -> list[RankedDocs]:
        """Return the rankings of many queries, which are sorted together; `query` numbers them, in ascending order."""
        bits = scores.view(np.int32).astype(np.int64)
        ascending = np.where(bits < 0, -(bits & 0x7FFF_FFFF), bits)  # whole numbers in the order of the scores
        key = (query << 33) - ascending
        order = np.argsort(key)
        placed = key[order]
        same = placed[1:] == placed[:-1]
        if same.any():  # only there ids decide
            tied = np.flatnonzero(np.append(same, [False]) | np.append([False], same))
            own = order[tied]
            order[tied] = own[np.lexsort((self.place[rows[own]], key[own]))]
        starts = np.searchsorted(query, np.arange(n_queries + 1))
        within = np.arange(len(order)) - starts[query]
        picked = order[within < k]
        ends = np.cumsum(np.minimum(np.diff(starts), k))
        module = kernel()
        if module is not None:
            found: list[RankedDocs] = module.ranked_docs(self.ids, rows[picked], scores[picked], ends)
            return found
        ids, values = list(map(self.ids.__getitem__, rows[picked].tolist())), scores[picked].tolist()
        return [list(zip(ids[a:b], values[a:b], strict=True)) for a, b in itertools.pairwise([0, *ends.tolist()])]


def with_progress(docs: DocStore, progress: Progress | None) -> Iterator[Doc]:
    total = len(docs)
    for n_done, doc in enumerate(docs):
        if progress is not None and n_done % 1000 == 0:
            progress(n_done, total)
        yield doc
    if progress is not None:
        progress(total, total)


def content_hash(texts: Iterable[str]) -> str:
    """Return a hash of texts that tells where one ends and the next begins."""
    digest = hashlib.sha256()
    for text in texts:
        data = byte_order(text)
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()
