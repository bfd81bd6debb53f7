"""What one part of a run has of the judged docs, found, put together with that of others, and written as bytes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from rankscope.align.hits import KernelHits
from rankscope.align.kernel import find_with_kernel
from rankscope.align.policies import Policies
from rankscope.arrays import Bools, Floats, Ints, offsets_of
from rankscope.data.qrels import Qrels
from rankscope.data.run import Run
from rankscope.data.sharded import CheckedRows, TablePart, source_parts
from rankscope.data.sources import ReadOptions, RowsSource
from rankscope.errors import BadLine, BadLinesError, DuplicateError
from rankscope.io.shards import ROW_BYTES, USUAL_ROWS, Shard, TableParts, no_rows, place_of
from rankscope.light import LightRecord, asdict, replace
from rankscope.printable import counted

N_OTHERS_SHOWN = 1000


class Clash(LightRecord):
    """A query that has rows in two shards."""

    query: str
    first: Any
    second: Any


class ShardHits(LightRecord, eq=False):
    """What one shard has of the judged queries: all that is needed to score them; it can be pickled."""

    positions: Ints
    """The queries of the shard among those of the qrels, rising."""
    n_retrieved: Ints
    n_hits: Ints
    ranks: Ints
    grades: Floats
    n_rows: int = 0
    other_queries: tuple[str, ...] = ()
    """The first of the queries that the qrels do not have."""
    other_hashes: bytes = b""
    """64 bits of each of them."""
    duplicate: tuple[int, str, str] | None = None
    """The first query that lists a doc twice: its position, the query and the doc."""
    uses_ranks: bool = True
    """Whether all ranks were numbers, where they count."""
    tag: str | None = None
    bad_lines: tuple[BadLine, ...] = ()
    """Malformed lines that were left out."""
    integer_ids: frozenset[str] = frozenset()
    """Which ids were whole numbers."""
    clash: Clash | None = None
    """A query that comes back later in the same shard, where this was read in pieces."""


ARRAYS = {"positions": np.int64, "n_retrieved": np.int64, "n_hits": np.int64, "ranks": np.int64, "grades": np.float64}
"""The arrays of hits, as they are kept."""
FACTS = ShardHits.__record_fields__.keys() - ARRAYS.keys() - {"other_hashes", "clash"}
"""What is kept of hits besides; a part with a clash has none, as it is not kept."""


def nothing() -> ShardHits:
    """Return what a shard without rows has."""
    whole = np.empty(0, dtype=np.int64)
    return ShardHits(whole, whole, whole, whole, np.empty(0))


def align_part(
    qrels: Qrels, source: Any, policies: Policies, threads: int | None, *, ignores_ranks: bool = False
) -> ShardHits:
    """Align rows that are in memory."""
    if isinstance(source, CheckedRows) and not len(source.rows):  # other parts may have rows
        return replace_bad(nothing(), source.bad_lines)
    run = Run(source, name=getattr(source, "path", None))
    found = find_with_kernel(qrels, run, policies, threads=threads, ignores_ranks=ignores_ranks)
    if found is None and isinstance(source, TablePart):
        return align_part(qrels, source.checked(), policies, threads, ignores_ranks=ignores_ranks)
    duplicate = None if found is None else found.duplicate
    if found is None:
        try:
            found, duplicate = found_in_python(qrels, run, policies, ignores_ranks=ignores_ranks)
        except BadLinesError as error:
            if not source.options.lenient:
                raise
            return replace_bad(nothing(), error.bad_lines)
    at = np.flatnonzero(found.answered)
    place = None
    if duplicate is not None:
        query, doc = duplicate
        place = (qrels.query_ids.index(query), query, doc)
    return ShardHits(
        positions=at,
        n_retrieved=found.n_retrieved[at],
        n_hits=found.n_hits[at],
        ranks=found.ranks,
        grades=found.grades,
        n_rows=found.n_rows,
        other_queries=tuple(found.other_queries),
        other_hashes=found.other_hashes,
        duplicate=place,
        uses_ranks=found.uses_ranks,
        tag=getattr(source, "tag", None),
        bad_lines=tuple(getattr(source, "bad_lines", ())),
        integer_ids=source.integer_ids,
    )


def replace_bad(hits: ShardHits, bad_lines: Sequence[BadLine]) -> ShardHits:
    return replace(hits, bad_lines=tuple(bad_lines))


def found_in_python(
    qrels: Qrels, run: Run, policies: Policies, *, ignores_ranks: bool
) -> tuple[KernelHits, tuple[str, str] | None]:
    """Align by the reference, query by query, so that a doc that is listed twice is found as the kernel finds it."""
    from rankscope.align.reference import answered_queries, find_in_python
    from rankscope.io.ids import shared_hashes

    if ignores_ranks:
        run = Run(RowsSource(replace(run.rows, rank=None)), name=run.name)
    answered = answered_queries(qrels, run)
    duplicate = None
    try:
        found = find_in_python(qrels, run, policies, answered)
    except DuplicateError:
        first = replace(policies, duplicates="first")
        duplicate = first_duplicate(qrels, run, answered)
        found = find_in_python(qrels, run, first, answered)
    others = [query for query in run.rankings.query_ids() if query not in qrels.judged]
    uses_ranks = run.rows.rank is not None
    return replace(found, n_rows=len(run.rows), other_hashes=shared_hashes(others), uses_ranks=uses_ranks), duplicate


def first_duplicate(qrels: Qrels, run: Run, answered: Bools) -> tuple[str, str] | None:
    for place in np.flatnonzero(answered).tolist():
        query = qrels.query_ids[place]
        seen: set[str] = set()
        for doc in run.rankings.listed(query).docs:
            if doc in seen:
                return query, doc
            seen.add(doc)
    return None


def align_shard(
    qrels: Qrels,
    shard: Shard | TableParts,
    policies: Policies,
    options: ReadOptions | None = None,
    *,
    threads: int | None = 1,
    piece_bytes: int = USUAL_ROWS * ROW_BYTES,
    ignores_ranks: bool = False,
    on_rows: Callable[[int], object] | None = None,
) -> ShardHits:
    """Align one shard; what is decompressed is aligned in pieces as it comes, and `on_rows` hears how many rows are."""
    with_rank = policies.ties == "given" and not ignores_ranks
    sources = source_parts(shard, options or ReadOptions(), piece_bytes=piece_bytes, with_rank=with_rank)
    joined = JoinedShards(len(qrels), qrels.query_ids)
    for i, source in enumerate(sources):
        joined.add(i, shard, align_part(qrels, source, policies, threads, ignores_ranks=ignores_ranks))
        if on_rows is not None:
            on_rows(sum(part.n_rows for part in joined.parts.values()))
        if joined.clash:  # what else there is will be read when the rows are regrouped
            return replace(nothing(), clash=joined.clash)
    if with_rank and joined.disagrees_on_ranks:
        return align_shard(
            qrels, shard, policies, options, threads=threads, piece_bytes=piece_bytes, ignores_ranks=True
        )
    parts = joined.in_order
    return parts[0] if len(parts) == 1 else joined.as_shard() if parts else nothing()


class JoinedShards:
    """Takes the hits of shards in any order, and refuses a query that two of them have."""

    def __init__(self, n_queries: int, query_ids: Sequence[str]) -> None:
        self.query_ids = query_ids
        self.owner = np.full(n_queries, -1, dtype=np.int32)
        """Which shard has the query; -1: none so far."""
        self.parts: dict[int, ShardHits] = {}
        self.shards: dict[int, Any] = {}
        self.clash: Clash | None = None
        """The first query that two shards have."""

    def add(self, place: int, shard: Any, part: ShardHits) -> None:
        before = self.owner[part.positions]
        if (before >= 0).any():
            at = int(np.flatnonzero(before >= 0)[0])
            query = self.query_ids[int(part.positions[at])]
            both = sorted((self.shards[int(before[at])], shard), key=place_of)  # either may have come first
            self.clash = self.clash or Clash(query, *both)
        self.clash = self.clash or part.clash
        self.owner[part.positions] = place
        self.parts[place], self.shards[place] = part, shard

    @property
    def in_order(self) -> list[ShardHits]:
        return [self.parts[place] for place in sorted(self.parts)]

    @property
    def disagrees_on_ranks(self) -> bool:
        """Whether ranks are numbers in some shards only, so that none of them may use its ranks."""
        return len({part.uses_ranks for part in self.parts.values() if part.n_rows}) > 1

    def as_shard(self) -> ShardHits:
        """Return the hits of all shards as if they were one shard."""
        parts = self.in_order
        n_queries = len(self.owner)
        n_retrieved, n_hits = np.zeros(n_queries, dtype=np.int64), np.zeros(n_queries, dtype=np.int64)
        for part in parts:
            n_retrieved[part.positions], n_hits[part.positions] = part.n_retrieved, part.n_hits
        starts = offsets_of(n_hits)
        ranks, grades = np.empty(int(starts[-1]), dtype=np.int64), np.empty(int(starts[-1]))
        for part in parts:  # each hit goes where its query's hits begin, plus its place among these
            own = offsets_of(part.n_hits)
            places = np.repeat(starts[part.positions] - own[:-1], part.n_hits) + np.arange(int(own[-1]))
            ranks[places], grades[places] = part.ranks, part.grades
        positions = np.flatnonzero(self.owner >= 0)
        hashes = np.unique(np.concatenate([np.frombuffer(part.other_hashes, dtype=np.uint64) for part in parts]))
        others = dict.fromkeys(query for part in parts for query in part.other_queries)
        duplicates = [part.duplicate for part in parts if part.duplicate]
        return ShardHits(
            positions=positions,
            n_retrieved=n_retrieved[positions],
            n_hits=n_hits[positions],
            ranks=ranks,
            grades=grades,
            n_rows=sum(part.n_rows for part in parts),
            other_queries=tuple(others)[:N_OTHERS_SHOWN],
            other_hashes=hashes.tobytes(),
            duplicate=min(duplicates) if duplicates else None,
            uses_ranks=all(part.uses_ranks for part in parts if part.n_rows),
            tag=next((part.tag for part in reversed(parts) if part.tag), None),
            bad_lines=tuple(line for part in parts for line in part.bad_lines),
            integer_ids=frozenset().union(*(part.integer_ids for part in parts)),
        )


def kernel_hits(hits: ShardHits, n_queries: int) -> KernelHits:
    """Return hits as one alignment of the whole run returns them."""
    answered = np.zeros(n_queries, dtype=np.bool_)
    n_retrieved, n_hits = np.zeros(n_queries, dtype=np.int64), np.zeros(n_queries, dtype=np.int64)
    answered[hits.positions] = True
    n_retrieved[hits.positions], n_hits[hits.positions] = hits.n_retrieved, hits.n_hits
    return KernelHits(
        answered=answered,
        n_retrieved=n_retrieved,
        n_hits=n_hits,
        ranks=hits.ranks,
        grades=hits.grades,
        n_other_queries=len(hits.other_hashes) // 8,
        other_queries=hits.other_queries,
        duplicate=hits.duplicate[1:] if hits.duplicate else None,
        n_rows=hits.n_rows,
        other_hashes=hits.other_hashes,
        uses_ranks=hits.uses_ranks,
    )


def lines_notes(hits: ShardHits, where: str, *, shown: Callable[[str], str] = str) -> Iterator[str]:
    """Say which malformed lines of a run were left out; raise where it has no others."""
    bad_lines = hits.bad_lines
    if not hits.n_rows:
        if bad_lines:
            raise BadLinesError(bad_lines, hint="not one line is a row of a run: query Q0 doc rank score tag")
        raise no_rows(where)
    if bad_lines:
        were = "was" if len(bad_lines) == 1 else "were"
        first = shown(str(bad_lines[0]))
        yield f"{counted(len(bad_lines), 'bad line')} of {where} {were} skipped; the first is {first}"


def encoded(hits: ShardHits) -> bytes | None:
    """Return hits as bytes: a line of JSON, then the arrays; None where rows have to be regrouped first."""
    if hits.clash is not None:
        return None
    arrays = [np.ascontiguousarray(getattr(hits, name), dtype=dtype) for name, dtype in ARRAYS.items()]
    head = {
        **{name: value for name, value in asdict(hits).items() if name in FACTS},
        "sizes": [len(array) for array in arrays],
        "integer_ids": sorted(hits.integer_ids),
        "bad_lines": [[*asdict(line).values()] for line in hits.bad_lines],
    }
    return b"".join([json.dumps(head).encode(), b"\n", *(array.tobytes() for array in arrays), hits.other_hashes])


def decoded(content: bytes) -> ShardHits | None:
    """Return hits from what `encoded` made of them; None where it has more, less or other values than hits have."""
    line, _, rest = content.partition(b"\n")
    head = json.loads(line)
    sizes = head.pop("sizes", ())
    if head.keys() != FACTS or len(sizes) != len(ARRAYS) or len(rest) < 8 * sum(sizes):
        return None
    values: dict[str, Any] = {}
    for (name, dtype), size in zip(ARRAYS.items(), sizes, strict=True):
        values[name], rest = np.frombuffer(rest[: size * 8], dtype=dtype), rest[size * 8 :]
    return ShardHits(
        **head
        | values
        | {
            "other_queries": tuple(head["other_queries"]),
            "other_hashes": rest,
            "duplicate": None if head["duplicate"] is None else tuple(head["duplicate"]),
            "integer_ids": frozenset(head["integer_ids"]),
            "bad_lines": tuple(BadLine(*line) for line in head["bad_lines"]),
        }
    )
