"""The docs that a run retrieved for all of its queries, so packed that millions of them need little memory.

Of each doc there are 64 bits, by which it is found in another run's list, and its id, for the few docs that somebody
will read about. All of that lies in memory, or, where memory is bounded and there is much of it, in a file without a
name, which is gone when nothing refers to it any more. A run is read once, however many pairs it is part of.
"""

from __future__ import annotations

import tempfile
import weakref
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rankscope.align.top import PackedDocs, packed_docs
from rankscope.analysis.aligned import AlignedRun
from rankscope.analysis.unjudged.random_judgments import packed_hashes
from rankscope.arrays import Ints, offsets_of
from rankscope.errors import InputError
from rankscope.io.limits import cannot_read, cannot_write

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankscope.analysis.unjudged.random_judgments import Keys

HASH_BYTES, END_BYTES = 8, 4
ID_BYTES = 12
"""What an id takes, about."""
SHARE_OF_MEMORY = 32
"""The lists of a run are in memory where they take less than the memory given divided by this."""


def lists_of(run: AlignedRun, depth: int | None) -> DocLists:
    """Return the lists of a run down to a depth; it is read when they are first asked for."""
    depth = min((each for each in (depth, run.policies.depth) if each is not None), default=None)
    if depth not in run.lists:
        run.lists[depth] = DocLists(run.whole, depth)
    found: DocLists = run.lists[depth]
    return found


class DocLists:
    """The first docs of all queries of a run, best first."""

    def __init__(self, run: AlignedRun, depth: int | None) -> None:
        hits = run.hits
        self.place_of = {query: place for place, query in enumerate(hits.query_ids)}
        self.offsets = offsets_of(hits.n_shown(depth))
        """Where the docs of each query begin."""
        n_docs = int(self.offsets[-1])
        self._ends_at, self._text_at = HASH_BYTES * n_docs, (HASH_BYTES + END_BYTES) * n_docs
        plan = getattr(run.run.source, "plan", None)
        memory = None if plan is None else plan.memory
        is_large = memory is not None and self._text_at + ID_BYTES * n_docs > memory // SHARE_OF_MEMORY
        self._store: MemoryStore | FileStore = FileStore() if is_large else MemoryStore(self._text_at)
        self._text_starts = np.zeros(len(hits), dtype=np.int64)
        lacking = np.diff(self.offsets) > 0
        query_ids = [hits.query_ids[place] for place in np.flatnonzero(lacking).tolist()]
        for block in packed_docs(run.run, query_ids, run.policies, depth=depth):
            places = np.array([self.place_of[query] for query in block.query_ids], dtype=np.int64)
            if (block.counts != np.diff(self.offsets)[places]).any():
                continue  # rows of a query that comes back later: all queries are given once more then
            self._add(places, block)
            lacking[places] = False
        if lacking.any():
            raise not_of_this_run(run)

    def _add(self, places: Ints, block: PackedDocs) -> None:
        hashes = packed_hashes(block.text, block.lengths)
        ends = np.cumsum(block.lengths)
        starts = offsets_of(block.counts)
        text_starts = np.concatenate(([0], ends))[starts]
        own_ends = (ends - np.repeat(text_starts[:-1], block.counts)).astype(np.uint32)
        for first, stop in in_a_row(places):
            at, rows = int(self.offsets[places[first]]), slice(starts[first], starts[stop])
            self._store.put(HASH_BYTES * at, hashes[rows].tobytes())
            self._store.put(self._ends_at + END_BYTES * at, own_ends[rows].tobytes())
        self._text_starts[places] = self._text_at + text_starts[:-1]
        self._store.put(self._text_at, block.text)
        self._text_at += len(block.text)

    def hashes(self, places: Ints) -> Keys:
        """Return 64 bits of each doc of some queries, one query after the other."""
        found = []
        for first, stop in in_a_row(places):
            start, end = self.offsets[places[first]], self.offsets[places[stop - 1] + 1]
            found.append(self._store.get(HASH_BYTES * int(start), HASH_BYTES * int(end - start)).view(np.uint64))
        return np.concatenate(found) if found else np.empty(0, dtype=np.uint64)

    def ids(self, places: Ints, ranks: Ints) -> list[str]:
        """Return the ids of docs, by the places of their queries and their ranks."""
        found = [""] * len(places)
        order = np.argsort(places, kind="stable")
        for some in np.split(order, np.flatnonzero(np.diff(places[order])) + 1) if len(order) else ():
            place = int(places[some[0]])
            at, n_docs = int(self.offsets[place]), int(self.offsets[place + 1] - self.offsets[place])
            ends = self._store.get(self._ends_at + END_BYTES * at, END_BYTES * n_docs).view(np.uint32).tolist()
            text = self._store.get(int(self._text_starts[place]), ends[-1]).tobytes()
            for i, rank in zip(some.tolist(), ranks[some].tolist(), strict=True):
                start = ends[rank - 2] if rank > 1 else 0
                found[i] = text[start : ends[rank - 1]].decode("utf-8", "surrogatepass")
        return found


def not_of_this_run(run: AlignedRun) -> InputError:
    return InputError(
        f"the hits of {run.run.name or 'a run'} do not belong to it",
        hint="give what align returns for the same run under the same policies",
    )


def in_a_row(places: Ints) -> Iterator[tuple[int, int]]:
    """Yield where places begin that follow one another, and where these stop."""
    breaks = (np.flatnonzero(np.diff(places) != 1) + 1).tolist()
    if len(places):
        yield from zip([0, *breaks], [*breaks, len(places)], strict=True)


class MemoryStore:
    """Bytes in memory: so many at places known before, and what is put behind these."""

    def __init__(self, n_bytes: int) -> None:
        self._bytes = np.empty(n_bytes, dtype=np.uint8)
        self._behind = bytearray()

    def put(self, at: int, data: bytes) -> None:
        if at < len(self._bytes):
            self._bytes[at : at + len(data)] = np.frombuffer(data, dtype=np.uint8)
        else:
            self._behind += data

    def get(self, at: int, n_bytes: int) -> NDArray[np.uint8]:
        if at < len(self._bytes):
            return self._bytes[at : at + n_bytes]
        start = at - len(self._bytes)
        return np.frombuffer(bytes(self._behind[start : start + n_bytes]), dtype=np.uint8)


class FileStore:
    """The same bytes in a file without a name."""

    def __init__(self) -> None:
        try:
            self._file: Any = tempfile.TemporaryFile(prefix="rankscope-docs-", buffering=0)  # noqa: SIM115 (see below)
        except OSError as error:
            raise cannot_write(tempfile.gettempdir(), error, hint="set TMPDIR to a folder with more room") from error
        weakref.finalize(self, self._file.close)

    def put(self, at: int, data: bytes) -> None:
        left = memoryview(data)
        try:
            self._file.seek(at)
            while left:
                left = left[self._file.write(left) :]
        except OSError as error:
            raise cannot_write(tempfile.gettempdir(), error, hint="set TMPDIR to a folder with more room") from error

    def get(self, at: int, n_bytes: int) -> NDArray[np.uint8]:
        found = np.empty(n_bytes, dtype=np.uint8)
        view, n_read = memoryview(found.data), 0
        try:
            self._file.seek(at)
            while n_read < n_bytes and (n := self._file.readinto(view[n_read:])):
                n_read += n
        except OSError as error:
            raise cannot_read(tempfile.gettempdir(), error) from error
        return found


class PooledDocs(Sequence[str]):
    """The ids of the docs of a pool, which lie in the lists of two runs until somebody reads them."""

    def __init__(
        self,
        lists: tuple[DocLists, DocLists] | None,
        places: tuple[Ints, Ints],
        query: Ints,
        ranks: tuple[Ints, Ints],
        more: Mapping[int, str],
    ) -> None:
        """Take the places of all queries in both lists, each doc's query and ranks, and the ids of docs in no list."""
        self._lists, self._places, self._query, self._ranks, self._more = lists, places, query, ranks, more
        self._ids: list[str] | None = None

    def __len__(self) -> int:
        return len(self._query)

    def __getitem__(self, i: Any) -> Any:
        if self._ids is None:
            self._ids = self.chosen(np.arange(len(self)))
        return self._ids[i]

    def chosen(self, which: Ints) -> list[str]:
        """Return the ids of some docs."""
        found = [self._more.get(i, "") for i in which.tolist()] if self._more else [""] * len(which)
        for system in (0, 1):
            own = self._ranks[system][which] > 0
            if system == 1:
                own &= self._ranks[0][which] == 0
            at = np.flatnonzero(own)
            if len(at) and self._lists is not None:
                rows = which[at]
                ids = self._lists[system].ids(self._places[system][self._query[rows]], self._ranks[system][rows])
                for i, doc in zip(at.tolist(), ids, strict=True):
                    found[i] = doc
        return found
