"""Rows that are not grouped by query: seen by a look at some places, and dealt out to files on disk by query.

All rows of a query are in one of these files. Text stays the text that it was, line by line; tables become Parquet. In
each file rows keep the order that they had, so that what depends on it (ties="given", the first of two equal docs)
comes out the same.
"""

from __future__ import annotations

import io
import os
import shutil
import tempfile
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from itertools import groupby, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from rankscope.errors import InputError, OptionError, UnfinishedError
from rankscope.io.addresses import is_remote
from rankscope.io.ids import shared_hash
from rankscope.io.limits import cannot_write, in_words, max_line_bytes
from rankscope.io.memory import (
    ASIDE_BYTES,
    DECOMPRESSING_BYTES,
    GROWTH,
    HEAD_BYTES,
    PART_BYTES,
    ROW_BYTES,
    SHORT_ID,
    TABLE_ROW_BYTES,
    TABLES_BYTES,
    TEXT_COLUMNS_BYTES,
    TEXT_ROW_BYTES,
    RowsLook,
)
from rankscope.io.shards import (
    ByteRange,
    RowGroups,
    Shard,
    TableParts,
    WholeFile,
    is_blank,
    is_parquet,
    open_file,
    query_column,
    query_column_of,
    query_in,
    remote_roles,
    roles_of,
)
from rankscope.io.source import BYTE_ORDER_MARK
from rankscope.io.text import is_plain
from rankscope.light import replace
from rankscope.native import kernel

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from rankscope.io.source import StoredFile

N_PLACES = 32
"""At so many places of a file rows are looked at for queries that come back."""
N_PLACES_ELSEWHERE = 4
"""The same of a file that is not on this machine."""
PLACE_BYTES = 1 << 16
PLACE_ROWS = 2_000
TABLE_GROWTH = 12
"""How much larger the rows of Parquet become in memory, where they cannot be counted."""
BESIDE_BYTES = {"rank": 8, "tag": 16}
"""What a row takes of the columns that are read only where all of it is read at once."""
AT_ONCE = 2
"""How many pieces of text are dealt out at a time."""


def look_at(
    source: StoredFile, *, format_name: str | None = None, columns: Mapping[str, str] | None = None
) -> RowsLook:
    """Look at some places of a file: how many rows it has, what they take in memory, and whether queries come back."""
    from rankscope.io.detection import layout_of

    form = layout_of(source, format_name=format_name, columns=columns).format
    with source.open() as file:
        size = file.seek(0, 2)
    if form == "parquet" and source.compression is None:
        return look_at_table(source, size, columns)
    if form != "trec":
        return RowsLook(format=form, n_bytes=size * (1 if source.compression is None else GROWTH))
    is_here = source.compression is None and source.content is None and source.remote is None
    return look_at_text(source.name, size) if is_here else look_at_head(source, size)


def look_at_text(path: str, size: int) -> RowsLook:
    """Look at places of plain TREC text that lie evenly apart."""
    found = []
    with open_file(path) as file:
        for place in range(0, size, max(PLACE_BYTES, size // N_PLACES)):
            file.seek(place)
            found.append(file.read(PLACE_BYTES).split(b"\n")[place > 0 : None if size <= PLACE_BYTES else -1])
    return look_at_lines(found, size)


def look_at_lines(places: Iterable[Iterable[bytes]], n_bytes: int) -> RowsLook:
    """Return what whole lines from some places tell of a text of so many bytes."""
    queries: list[list[str]] = []
    names: dict[bytes, str] = {}
    n_seen = 0
    for lines in places:
        queries.append([])
        for line in lines:
            n_seen += len(line) + 1
            if query := query_in(line):
                if query not in names:  # most lines repeat the query of the one before
                    names[query] = query.decode("utf-8", "surrogateescape")
                queries[-1].append(names[query])
    n_rows = round(n_bytes * sum(map(len, queries)) / n_seen) if n_seen else 0
    rows_per_query, scattered = order_of(queries, n_rows)
    return RowsLook(
        format="trec", n_bytes=n_bytes, n_rows=n_rows, rows_per_query=rows_per_query, scattered_query=scattered
    )


def order_of(places: Sequence[Sequence[str]], n_rows: int) -> tuple[int, str | None]:
    """Return how many of so many rows a query has, and one that comes back, by what lies at places evenly apart.

    A long one has several places in turn for itself, and what lies between them; where none has, all are about alike.
    """
    in_turn = [queries_in_turn(queries) for queries in places]
    n_changes = sum(max(0, len(queries) - 1) for queries in in_turn)
    n_queries = 1 + n_changes * n_rows // max(1, sum(map(len, places)))
    longest = n_rows * max(0, most_places_alone(in_turn) - 1) // max(1, len(in_turn))
    return max(n_rows // n_queries, longest), first_that_returns(in_turn)[1]


def most_places_alone(places: Iterable[Sequence[str]]) -> int:
    """Return how many places in turn have one and the same query alone."""
    return max((len(list(same)) for queries, same in groupby(places) if len(queries) == 1), default=0)


def look_at_head(source: StoredFile, size: int) -> RowsLook:
    """Look at the first lines of TREC text that is compressed, in memory or elsewhere."""
    n_read = 0

    def note(done: int, _total: int | None, /) -> None:
        nonlocal n_read
        n_read = done

    pieces = []
    try:
        with source.reading(progress=note) as reading:
            for piece in reading.chunks():
                pieces.append(piece)
                if sum(map(len, pieces)) >= HEAD_BYTES:
                    break
            reading.tick()
    except InputError:  # cut off, as the beginning of a stream is, or damaged: whoever reads all of it says so
        pass
    text = b"".join(pieces)
    pieces.clear()
    growth = 1.0 if source.compression is None else len(text) / n_read if n_read else GROWTH
    if not text:
        return RowsLook(format="trec", n_bytes=round(size * growth), n_rows=round(size * growth) // ROW_BYTES)
    whole = io.BytesIO(text[: text.rfind(b"\n") + 1])
    return look_at_lines([(line.removesuffix(b"\n") for line in whole)], max(len(text), round(size * growth)))


def look_at_table(source: StoredFile, size: int, columns: Mapping[str, str] | None = None) -> RowsLook:
    """Look at places of a Parquet file; of one that is not on this machine at few, as each has to be fetched."""
    from rankscope.io.remote_parquet import RemoteTable
    from rankscope.io.table_check import row_group_sizes

    remote = None if source.remote is None else RemoteTable(source.remote)
    if remote is None:
        with source.open() as file:
            n_rows = sum(row_group_sizes(file, name=source.name))
    else:
        n_rows = remote.n_rows
    if source.content is not None or not n_rows:
        return RowsLook(format="parquet", n_bytes=size, n_rows=n_rows)
    if remote is None:
        read, roles = query_column(source.name, columns), roles_of(source.name, columns)
        docs = ids_in(source.name, roles["doc"])
    else:
        read, roles = query_column_of(remote, columns), remote_roles(remote, columns)
        docs = list(map(str, remote.read([roles["doc"]], 0, PLACE_ROWS).to_series()))
    step = max(PLACE_ROWS, n_rows // (N_PLACES if remote is None else N_PLACES_ELSEWHERE))
    places = [list(map(str, read(place, PLACE_ROWS))) for place in range(0, n_rows, step)]
    rows_per_query, scattered = order_of(places, n_rows)
    return RowsLook(
        format="parquet",
        n_bytes=size,
        n_rows=n_rows,
        row_bytes=TABLE_ROW_BYTES + long_id_bytes(places[0]) + long_id_bytes(docs),
        beside_bytes=sum(BESIDE_BYTES.get(role, 0) for role in roles),
        rows_per_query=rows_per_query,
        scattered_query=scattered,
    )


def ids_in(path: str, column: str) -> list[str]:
    """Return what the first rows of a Parquet file have in a column."""
    import polars as pl

    from rankscope.io.table_check import errors_of_polars

    with errors_of_polars(path, "parquet"):
        table = pl.scan_parquet(path, glob=False)
        return list(map(str, table.select(column).slice(0, PLACE_ROWS).collect().to_series()))


def long_id_bytes(ids: Sequence[str]) -> int:
    """Return what ids take on average beyond the room that each has anyway."""
    lengths = [len(each.encode("utf-8", "surrogatepass")) for each in ids]
    return round(sum(length for length in lengths if length > SHORT_ID) / max(1, len(lengths)))


def bytes_of_shards(
    shards: Sequence[Any], room: int, *, format_name: str | None = None, columns: Mapping[str, str] | None = None
) -> int:
    """Return what shards take that are read one after the other, besides what the process has.

    It is as much as the largest takes, of whichever kind. `room` is how many bytes of text are in memory at a time of
    what is decompressed.
    """
    from rankscope.io.source import source_of

    largest = largest_of_each_kind(shards)
    if not largest:
        return ASIDE_BYTES
    if not isinstance(largest[0], ByteRange | RowGroups | WholeFile):  # rows of a store, which lie in no file
        n_rows: int = largest[0].size // ROW_BYTES
        return ASIDE_BYTES + n_rows * TEXT_ROW_BYTES
    looks = [look_at(source_of(shard.path), format_name=format_name, columns=columns) for shard in largest]
    scattered = next((look.scattered_query for look in looks if look.scattered_query is not None), None)
    if scattered is None:
        scattered = query_across([shard.path for shard in shards], columns)
    looks = [replace(look, scattered_query=scattered) for look in looks]
    is_dealt_as_table = scattered is not None and any(look.format != "trec" for look in looks)
    # what one kind takes for a library is there while others are read
    library = TABLES_BYTES if is_dealt_as_table else max(look.library_bytes for look in looks)
    kinds = list(map(kind_of_shard, shards))
    taken = [
        bytes_of_part(shard, look, room, is_alone=kinds.count(kind_of_shard(shard)) == 1) - look.library_bytes
        for shard, look in zip(largest, looks, strict=True)
    ]
    if is_dealt_as_table:
        tables = (look.as_table for look in looks if look.format == "trec")
        shares = ((look, min(1.0, PART_BYTES / look.n_bytes)) for look in tables)
        taken += (look.bytes_in_turn(share) - look.library_bytes + TEXT_COLUMNS_BYTES for look, share in shares)
    return library + max(taken)


def bytes_of_part(shard: Shard, look: RowsLook, room: int, *, is_alone: bool) -> int:
    """Return what it takes to read a shard, and others like it, given what a look at its file tells."""
    share = 1.0
    if isinstance(shard, ByteRange):
        share = shard.size / look.n_bytes
    elif isinstance(shard, RowGroups):
        share = (shard.end - shard.start) / max(1, look.n_rows)
    elif look.format == "trec":  # while a piece is aligned, the next one is there in part
        share = min(1.0, room / 2 / look.n_bytes)
        return look.bytes_in_turn(share) + min(look.n_bytes, room * 3 // 4 + DECOMPRESSING_BYTES)
    return look.bytes_in_turn(share, is_alone=is_alone and share >= 1)


def largest_of_each_kind(shards: Sequence[Any]) -> list[Any]:
    """Return the largest shard of each kind that has rows; files that are shards as they are differ by their names."""
    found: dict[tuple[type, str], Any] = {}
    for shard in sorted(shards, key=lambda each: each.size, reverse=True):
        kind = kind_of_shard(shard)
        if kind not in found and has_rows(shard):
            found[kind] = shard
    return list(found.values())


def looks_by_kind(
    files: Mapping[str, int], *, format_name: str | None = None, columns: Mapping[str, str] | None = None
) -> Iterator[tuple[RowsLook, float]]:
    """Look at the largest file of each kind, given sizes; yield what that tells, and how many times it they all are.

    Files whose names end alike are of one kind.
    """
    from rankscope.io.source import source_of

    by_kind: dict[str, dict[str, int]] = {}
    for path, size in files.items():
        by_kind.setdefault(os.path.splitext(path)[1], {})[path] = size  # noqa: PTH122 (pathlib takes long to load)
    for sizes in by_kind.values():
        in_turn = sorted(sizes, key=lambda path: sizes[path], reverse=True)
        largest = next((path for path in in_turn if has_rows(WholeFile(path, sizes[path]))), None)
        if largest is not None:
            look = look_at(source_of(largest), format_name=format_name, columns=columns)
            yield look, sum(sizes.values()) / max(1, sizes[largest])


def kind_of_shard(shard: Any) -> tuple[type, str]:
    ending = os.path.splitext(shard.path)[1] if isinstance(shard, WholeFile) else ""  # noqa: PTH122 (pathlib takes long to load)
    return type(shard), ending


def has_rows(shard: Any) -> bool:
    is_filled = bool(shard.size) or is_remote(shard.path)
    return is_filled and not (isinstance(shard, WholeFile) and is_blank(shard))


def query_across(paths: Iterable[str], columns: Mapping[str, str] | None = None) -> str | None:
    """Return a query that goes on from one file to the next, so that its rows do not lie together.

    Of many files some are looked at, and only plain ones on this machine, whose ends can be seen.
    """
    files = [path for path in dict.fromkeys(paths) if not is_remote(path)]
    pairs = list(pairwise(files))
    for before, after in pairs[:: -(-len(pairs) // N_PLACES) or 1]:
        query = edge_query(before, columns, is_last=True)
        if query is not None and query == edge_query(after, columns, is_last=False):
            return query
    return None


def edge_query(path: str, columns: Mapping[str, str] | None, *, is_last: bool) -> str | None:
    """Return the query of the first or the last row of a file; None where that cannot be seen."""
    from rankscope.io.table_check import row_group_sizes

    if is_plain(path, "run"):
        with open_file(path) as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - PLACE_BYTES) if is_last else 0)
            lines = file.read(PLACE_BYTES).removeprefix(BYTE_ORDER_MARK).split(b"\n")
        found = filter(None, map(query_in, reversed(lines) if is_last else lines))
        return next((query.decode("utf-8", "surrogateescape") for query in found), None)
    if not is_parquet(path):
        return None
    with open_file(path) as file:
        n_rows = sum(row_group_sizes(file, name=path))
    column = query_column(path, columns)(max(0, n_rows - 1) if is_last else 0, 1)
    return None if column.null_count() == len(column) else str(column[0])


def most_held(head: bytes, free: int, *, format_name: str | None = None) -> int | None:
    """Return how many bytes of a stream that begins so may be in memory, so that it takes half of what is free at most.

    None where it cannot be read in any other way: only TREC text and Parquet can be read in parts.
    """
    from rankscope.io.source import StoredFile

    if format_name not in (None, "trec", "parquet"):
        return None
    if head.startswith(b"PAR1"):
        return free // 2 // TABLE_GROWTH
    beginning = StoredFile("-", head)
    try:
        look = look_at(beginning, format_name=format_name)
    except InputError:  # whoever reads all of it says what is wrong
        return None
    if look.format != "trec":
        return None
    stored = 0 if beginning.compression is None else len(head)
    return free // 2 * len(head) // (look.bytes_taken() + stored)


def queries_in_turn(queries: Iterable[str]) -> tuple[str, ...]:
    """Return each query once for all rows of it that follow one another."""
    return tuple(query for query, _ in groupby(queries))


def first_that_returns(places: Iterable[Sequence[str]]) -> tuple[int, str | None]:
    """Return how many queries were met, and the first that comes back after another one.

    The first and the last query of a place may go on beyond it, up to the next place: they count within a place only.
    """
    ended: set[str] = set()
    seen: set[str] = set()
    for queries in places:
        here: set[str] = set()
        for query in queries:
            seen.add(query)
            if query in here or (query in ended and query not in (queries[0], queries[-1])):
                return len(seen), query
            here.add(query)
        ended.update(queries[1:-1])
    return len(seen), None


@contextmanager
def scratch_folder(n_bytes: int, what: str) -> Iterator[Path]:
    """Give a folder for so many bytes, which is removed in any case; refuse where the disk has no room for them."""
    wanted = os.environ.get("TMPDIR")
    if wanted and os.path.abspath(wanted) != os.path.abspath(tempfile.gettempdir()):  # noqa: PTH100 (links stay as named)
        raise OptionError(
            f"TMPDIR is {wanted}, where nothing can be written", hint="name a folder that is there and has room"
        )
    with tempfile.TemporaryDirectory(prefix="rankscope-regroup-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        free = shutil.disk_usage(folder).free
        if free < n_bytes:
            raise UnfinishedError(
                f"{what} has to be regrouped by query, which takes about {in_words(n_bytes)} of {folder.parent}, "
                f"but only {in_words(free)} are free there",
                hint="set TMPDIR to a folder with more room, or sort the run by query",
            )
        yield folder


def deal_out_text(pieces: Iterable[NDArray[np.uint8]], folder: Path, n_parts: int) -> list[ByteRange]:
    """Write pieces of whole lines to so many files, by their queries."""
    paths = [folder / f"part-{i:05d}.trec" for i in range(n_parts)]
    sizes = [0] * n_parts
    try:
        with ExitStack() as stack:
            files: list[BinaryIO] = [stack.enter_context(path.open("wb", buffering=0)) for path in paths]
            pool = stack.enter_context(ThreadPoolExecutor(AT_ONCE))
            for texts in in_order(pool, pieces, n_parts):
                for i, text in enumerate(texts):
                    # at the beginning of a file, bytes of an id that are a byte order mark would be taken for one
                    own = b"\n" + text if not sizes[i] and text.startswith(BYTE_ORDER_MARK) else text
                    write_all(files[i], own)
                    sizes[i] += len(own)
    except OSError as error:
        raise cannot_write(str(folder), error, hint="set TMPDIR to a folder with more room") from error
    return [ByteRange(str(path), 0, size, size) for path, size in zip(paths, sizes, strict=True) if size]


def write_all(file: BinaryIO, text: bytes) -> None:
    view = memoryview(text)
    while view:
        view = view[file.write(view) :]


def in_order(pool: ThreadPoolExecutor, pieces: Iterable[NDArray[np.uint8]], n_parts: int) -> Iterator[list[bytes]]:
    """Yield what becomes of each piece, a few of them being dealt out at a time."""
    waiting: deque[Future[list[bytes]]] = deque()
    for piece in pieces:
        waiting.append(pool.submit(deal_out, piece, n_parts))
        if len(waiting) == AT_ONCE:
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()


def deal_out(text: NDArray[np.uint8], n_parts: int) -> list[bytes]:
    """Return the lines of a text by their queries, as so many texts."""
    module = kernel()
    if module is not None:
        parts: list[bytes] = module.scatter(text, n_parts, max_line_bytes())
        return parts
    lines: list[list[bytes]] = [[] for _ in range(n_parts)]
    for line in text.tobytes().split(b"\n"):
        if query := query_in(line):
            lines[shared_hash(query.decode("utf-8", "surrogateescape")) % n_parts].append(line + b"\n")
    return [b"".join(part) for part in lines]


def deal_out_tables(
    frames: Iterable[pl.DataFrame], folder: Path, n_parts: int, path: str, *, n_rows: int = 1
) -> list[TableParts]:
    """Write frames with a column `query` to so many groups of Parquet files, by their queries; `n_rows` at a time."""
    import polars as pl

    files: list[list[str]] = [[] for _ in range(n_parts)]
    for number, frame in enumerate(gathered(frames, n_rows)):
        part = frame["query"].cast(pl.String).hash(seed=0) % n_parts
        dealt: dict[Any, pl.DataFrame] = frame.with_columns(part.alias("part")).partition_by(
            "part", maintain_order=True, include_key=False, as_dict=True
        )
        for (i,), rows in dealt.items():
            file = folder / f"part-{i:05d}-{number:06d}.parquet"
            try:
                rows.write_parquet(file, compression="zstd", compression_level=1, statistics=False)
            except OSError as error:
                raise cannot_write(str(folder), error, hint="set TMPDIR to a folder with more room") from error
            files[i].append(str(file))
    return [TableParts(path, tuple(part)) for part in files if part]


def gathered(frames: Iterable[pl.DataFrame], n_rows: int) -> Iterator[pl.DataFrame]:
    """Yield frames of so many rows or more, made of smaller ones that follow one another; the last may have fewer."""
    held: list[pl.DataFrame] = []
    for frame in frames:
        held.append(frame)
        if sum(map(len, held)) >= n_rows:
            yield joined(held)
            held = []
    if held:
        yield joined(held)


def joined(frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Return rows of files that may differ in their types of numbers, and in whether they have ranks."""
    import polars as pl

    return frames[0] if len(frames) == 1 else pl.concat(frames, how="diagonal_relaxed")


def frame_of(source: Any) -> pl.DataFrame:
    """Return the rows of a source as a frame of query, doc, score and rank."""
    import polars as pl

    from rankscope.io.polars_file import id_column
    from rankscope.io.text_frame import frame_of_plain

    lines = getattr(source, "lines", None)
    plain = None if lines is None else frame_of_plain(lines.tobytes())
    if plain is not None:
        return plain
    original = getattr(source, "original", None)
    if isinstance(original, pl.DataFrame):
        kept = [name for name in ("query", "doc", "score", "rank") if name in original.columns]
        return original.select(kept).with_columns(id_column(original[role], source.path) for role in ("query", "doc"))
    rows = source.read()
    columns: dict[str, Any] = {"query": list(rows.query), "doc": list(rows.doc), "score": rows.score}
    if rows.rank is not None:
        columns["rank"] = rows.rank
    try:
        return pl.DataFrame(columns)
    except UnicodeEncodeError as error:
        raise InputError(
            f"{getattr(source, 'path', 'the run')}: the id {error.object!r} holds bytes that are not UTF-8, and "
            "such rows cannot be regrouped together with tables",
            hint="sort the run by query",
        ) from error
