"""Runs in shards: where the rows of each shard come from, and a run of many shards that are read one after another."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from rankscope.data.run import Run
from rankscope.data.sources import FileSource, Origin, ReadOptions, RowsSource, TableSource, name_of, table_source
from rankscope.errors import BadLine, BadLinesError, InputError, OptionError
from rankscope.io.addresses import is_remote, shown_url
from rankscope.io.file_state import FileStates, check_same
from rankscope.io.limits import (
    cannot_read,
    check_size,
    in_words,
    line_too_long,
    max_line_bytes,
    out_of_memory,
)
from rankscope.io.memory import free_memory
from rankscope.io.remote import RemoteFile, has_changed, remote_file
from rankscope.io.shards import (
    ROW_BYTES,
    ByteRange,
    RowGroups,
    Shard,
    TableParts,
    WholeFile,
    check_listed_once,
    cut_file,
    cut_remote,
    digest_of_files,
    files_of,
    is_blank,
    is_many,
    is_parquet,
    no_rows,
    open_file,
    query_in,
    remote_files,
    remote_roles,
    remote_tables,
    roles_of,
    size_at,
)
from rankscope.io.source import BYTE_ORDER_MARK
from rankscope.io.text import bad_run_lines
from rankscope.light import LightRecord, replace

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from rankscope.data.asked_queries import AskedQueries
    from rankscope.io.rows import RunRows
    from rankscope.progress import WatchJob

_BLOCK_BYTES = 1 << 20
READ_WHOLE = 20 << 20
"""Files in formats that cannot be cut may take so much, however little memory there is; the smallest parts do, too."""


class ShardPlan(LightRecord, kw_only=True):
    """How a run in shards is worked on."""

    memory: int | None = None
    """How many bytes this process may take."""
    on: Any = None
    """Where shards are scored: an executor, a client or an address; None: in this process."""
    workers: int | None = None
    """How many processes of this machine score shards."""
    keep: str | None = None
    """The folder in which the results of shards are kept."""
    progress: WatchJob | None = None

    @property
    def key(self) -> tuple[Any, ...]:
        """What tells it from other plans; clients and functions need not be comparable."""
        return self.memory, id(self.on), self.workers, self.keep, id(self.progress)

    @property
    def is_here(self) -> bool:
        return self.on is None and self.workers is None


LARGE_TABLE = 1 << 20
"""Smaller files are read as they are, whatever they hold."""
LARGE = 64 << 20
"""Smaller files are read as they are, whatever the memory."""
LOOKED_AT_ONCE = 8 << 20
"""How many bytes of text are in memory while docs themselves are looked at, which then are texts of their own."""
SURELY_FITS = 64
"""A file that is so many times smaller than the free memory is not even looked at."""


def planned_run(run: Run, plan: ShardPlan | None, *, progress: WatchJob | None = None) -> Run:
    """Return a run that is read in parts, as the plan says, where it comes from a file; without a plan, a large one."""
    source = run.source
    if getattr(source, "is_sharded", False):
        same = plan is None or source.plan.key == plan.key
        return run if same else Run(source.planned(plan), name=run.name)
    if not isinstance(source, FileSource) or source.is_given:
        return run
    if is_stream(source.address):
        if plan is not None and plan.keep is not None:
            what = "standard input" if source.address == "-" else source.address
            raise OptionError(
                f"{what} is read only once: what is kept of it would never be found again",
                hint="leave keep (--keep) out, or write it to a file and give that",
            )
        if "stored" in vars(source):  # somebody has read it already
            return run
        source.once = source.once or stream_source(source, plan, progress)
        is_other = plan is not None and getattr(source.once, "is_sharded", False) and source.once.plan.key != plan.key
        return Run(source.once.planned(plan) if is_other else source.once, name=run.name)
    note = ""
    if plan is None:
        free, why = parts_needed(source)
        if not why:
            return run
        plan, note = ShardPlan(memory=memory_for_parts(free), progress=progress), f"{run.name or source.name}: {why}"
    sharded = ShardedSource(source.address, source.options, plan=plan)
    if note:
        sharded.notes.append(note)
    return Run(sharded, name=run.name)


def memory_for_parts(free: int) -> int:
    """Return how much memory a run may take that is read in parts since it does not fit into half of what is free."""
    return max(free // 4, 4 * LARGE)


class Spool(LightRecord, eq=False):
    """A folder with a copy of what can be read only once, removed when nothing refers to it any more."""

    folder: str


def is_stream(path: str) -> bool:
    """Tell whether a path is standard input or a pipe, which can be read only once."""
    return path == "-" or (os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path))  # noqa: PTH110, PTH112, PTH113 (pathlib takes long to load)


HELD: list[tuple[Any, bytes]] = []
"""Standard input and what it held, where that is in memory: it may be asked for again."""


def stream_source(source: FileSource, plan: ShardPlan | None, progress: WatchJob | None) -> FileSource | ShardedSource:
    """Return standard input, or a pipe, as a source: in memory where it fits and nobody bounds that, else as a file.

    The file is a copy of all of it, as rows may have to be read again.
    """
    import shutil
    import sys
    import tempfile
    import weakref

    from rankscope.io.memory import take_stream
    from rankscope.io.regroup import most_held

    path, options, free = source.address, source.options, free_memory()
    spools: list[Spool] = []
    stdin = getattr(sys.stdin, "buffer", None)
    if path == "-" and HELD and HELD[0][0] is stdin:
        return FileSource(path, options, content=HELD[0][1])

    def copy() -> str:
        spools.append(Spool(tempfile.mkdtemp(prefix="rankscope-stdin-")))
        weakref.finalize(spools[0], shutil.rmtree, spools[0].folder, ignore_errors=True)
        return os.path.join(spools[0].folder, name_of(path) or "stdin")  # noqa: PTH118 (as above)

    form = "other" if options.columns else options.format
    bound = None if plan is not None else partial(most_held, free=free, format_name=form)
    with open_file(path) if path != "-" else nullcontext(sys.stdin.buffer) as stream:
        content = take_stream(stream, source.path, most_held=bound, copy=copy, progress=options.progress)
    if content is not None:
        HELD[:] = [(stdin, content)] if path == "-" else HELD
        return FileSource(path, options, content=content)
    address = os.path.join(spools[0].folder, os.listdir(spools[0].folder)[0])  # noqa: PTH118, PTH208 (as above)
    found = ShardedSource(address, options, plan=plan or ShardPlan(memory=memory_for_parts(free), progress=progress))
    found.path, found.spool = path, spools[0]
    if plan is None:
        has = f"{source.name} has {in_words(found.n_bytes)}"
        found.notes.append(f"{has}; {in_words(free)} were free, so it was copied to a file and read in parts")
    return found


def parts_needed(source: FileSource) -> tuple[int, str]:
    """Return how much memory is free, and why a file does not fit into half of it; nothing where it does."""
    from rankscope.io.regroup import look_at
    from rankscope.io.source import source_of

    size = source.n_stored
    is_table = size >= LARGE_TABLE and is_parquet(source.path)
    if size < LARGE and not is_table:
        return 0, ""
    free = free_memory()
    if not is_table and (size < free // SURELY_FITS or source.text is None):
        return free, ""
    form, columns = (None, source.options.columns) if is_table else ("trec", None)
    look = look_at(source_of(source.address), format_name=form, columns=columns)
    taken = look.bytes_taken()
    if taken <= free // 2:
        return free, ""
    order = ", as rows of a query do not lie together" if look.scattered_query is not None else ""
    what = f"{source.path} has {in_words(size)} and takes about {in_words(taken)} in memory{order}"
    return free, f"{what}; {in_words(free)} are free, so it is read in parts"


class TextPart:
    """Whole lines of TREC text that are in memory, and where they come from."""

    def __init__(
        self,
        data: NDArray[np.uint8],
        path: str,
        options: ReadOptions,
        *,
        n_lines_before: Callable[[], int] = lambda: 0,
        begins_file: bool = False,
    ) -> None:
        self.data, self.path, self.options = data, path, options
        self._begins_file = begins_file
        self.bad_lines: tuple[BadLine, ...] = ()
        self.tag: str | None = None
        self._n_lines_before = n_lines_before

    integer_ids: frozenset[str] = frozenset()

    def trec_text(self) -> NDArray[np.uint8]:
        return self.data

    @property
    def lines(self) -> NDArray[np.uint8]:
        """The text without the byte order mark that a file may begin with."""
        has_mark = self._begins_file and self.data[:3].tobytes() == BYTE_ORDER_MARK
        return self.data[3:] if has_mark else self.data

    @property
    def is_blank(self) -> bool:
        """Whether there is neither a row nor a malformed line."""
        return not any(map(query_in, self.lines.tobytes().split(b"\n")))

    @contextmanager
    def errors_of_kernel(self) -> Iterator[None]:
        """Say in words of ours what keeps the kernel from reading the text."""
        try:
            yield
        except MemoryError as error:
            raise out_of_memory(self.path, len(self.data)) from error
        except ValueError as error:
            if "line is too long" not in str(error):
                raise
            lengths = map(len, self.data.tobytes().split(b"\n"))
            number = next(i for i, length in enumerate(lengths, 1) if length + 1 > max_line_bytes())
            raise line_too_long(self.path, self._n_lines_before() + number) from error

    def accept(self, bad_lines: Sequence[tuple[int, bytes]], *, n_rows: int, tag: str | None) -> None:
        """Take what the kernel says; malformed lines get the numbers that they have in the whole file."""
        self.tag = tag
        if bad_lines:
            before = self._n_lines_before()
            numbered = [(before + number, line) for number, line in bad_lines]
            # whether a run has any good rows at all, only all of its shards tell
            n_good = max(n_rows, 1) if self.options.lenient else n_rows
            self.bad_lines = bad_run_lines(self.path, numbered, n_good=n_good, lenient=self.options.lenient)

    def read(self) -> RunRows:
        from rankscope.io.read import read_run
        from rankscope.io.source import StoredFile

        file = StoredFile(self.path, self.data.tobytes())
        try:
            found = read_run(file, format="trec", lenient=self.options.lenient)
        except BadLinesError as error:
            lines = self._in_file(error.bad_lines)
            raise BadLinesError(lines, is_all=error.is_all, hint=error.hint) from None
        self.bad_lines, self.tag = self._in_file(found.bad_lines), found.rows.tag
        return found.rows

    def _in_file(self, bad_lines: Sequence[BadLine]) -> tuple[BadLine, ...]:
        """Return malformed lines with the numbers that they have in the whole file."""
        before = self._n_lines_before() if bad_lines else 0
        return tuple(replace(line, line=line.line + before) for line in bad_lines)


class TablePart(TableSource, eq=False):
    """Rows of a table file that are in memory, as the kernel sees them."""

    path: str = ""
    options: ReadOptions = ReadOptions()
    first_row: int = 0
    """How many rows the file has before these."""

    def read(self) -> RunRows:
        return self.checked().rows

    def checked(self) -> RowsSource:
        """Return the same rows looked at one by one, where the kernel cannot read them: one may be malformed."""
        return checked_rows(self.original, self.path, self.options, self.first_row)


class QueryBlock(LightRecord, eq=False):
    """Some queries of a run that somebody else can read in parts; only for the process that made it."""

    path: str
    """What they are called in errors."""
    size: int
    rows: Callable[[], RunRows]


class CheckedRows(RowsSource, eq=False):
    """Rows of which some were malformed, and are left out."""

    bad_lines: tuple[BadLine, ...] = ()


def text_part(shard: ByteRange, options: ReadOptions) -> TextPart:
    """Read the lines of a range."""
    with open_file(shard.path) as file:
        if shard.n_bytes is not None:
            check_size(shard.path, file, shard.n_bytes)
        data = read_range(file, shard)
        if shard.n_bytes is not None:
            check_size(shard.path, file, shard.n_bytes)
    return TextPart(
        data,
        shard.path,
        options,
        n_lines_before=lambda: n_lines(shard.path, shard.start),
        begins_file=shard.start == 0,
    )


def read_range(file: Any, shard: ByteRange) -> NDArray[np.uint8]:
    try:
        data = np.empty(shard.size, dtype=np.uint8)
    except MemoryError as error:
        raise out_of_memory(str(shard), shard.size) from error
    view, n_read = memoryview(data.data), 0
    try:
        file.seek(shard.start)
        while n_read < len(view) and (n := file.readinto(view[n_read:])):
            n_read += n
    except OSError as error:
        raise cannot_read(shard.path, error) from error
    if n_read < shard.size:
        raise InputError(
            f"{shard.path} became shorter while it was read: bytes {shard.start} to {shard.end} are no longer there",
            hint="wait until what writes it has come to its end, then try again",
        )
    return marked(data) if shard.start else data


def marked(data: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return text from the middle of a file, in which the bytes of a byte order mark are part of an id."""
    if data[:3].tobytes() != BYTE_ORDER_MARK:
        return data
    return np.concatenate((np.frombuffer(b"\r", dtype=np.uint8), data))  # a blank, which adds no line


def n_lines(path: str, end: int) -> int:
    """Return how many lines a file has before a place."""
    count = done = 0
    with open_file(path) as file:
        while done < end and (block := file.read(min(_BLOCK_BYTES, end - done))):
            count += block.count(b"\n")
            done += len(block)
    return count


def pieces_of(chunks: Iterable[bytes], n_bytes: int) -> Iterator[bytearray]:
    """Yield text that arrives in chunks in pieces of whole queries, each of about so many bytes."""
    held, enough = bytearray(), n_bytes
    for chunk in chunks:
        held += chunk
        if len(held) < enough:
            continue
        end = last_query_start(held)
        rest = held[end:]
        if end:
            del held[end:]
            yield held
        held = rest
        enough = max(n_bytes, 2 * len(held))  # a query that is longer than a piece is not looked through at every chunk
    if held:
        yield held


def last_query_start(text: bytearray) -> int:
    """Return where the last query begins of which there is a whole line; 0 where there is no other before it."""
    end = text.rfind(b"\n") + 1
    last, start = b"", end
    while end > 0:
        begin = text.rfind(b"\n", 0, end - 1) + 1
        query = query_in(bytes(text[begin:end]))
        if query and last and query != last:
            return start
        if query:
            last, start = query, begin
        end = begin
    return 0


def table_part(frame: pl.DataFrame, path: str, options: ReadOptions, *, first_row: int = 0) -> TablePart | RowsSource:
    """Return rows of a table as a source: as they are where the kernel can read them, else checked one by one."""
    named = named_columns(frame, path, options)
    source = table_source(named)
    if source is None:
        return checked_rows(named, path, options, first_row)
    return TablePart(source.original, source.table, source.column_of, path, options, first_row)


def named_columns(frame: pl.DataFrame, path: str, options: ReadOptions) -> pl.DataFrame:
    from rankscope.io.table import RUN, find_roles

    roles = find_roles(frame.columns, RUN, chosen=options.columns, where=path)
    return frame.select(frame[name].alias(role) for role, name in roles.items())


def checked_rows(frame: pl.DataFrame, path: str, options: ReadOptions, first_row: int) -> RowsSource:
    """Return rows in which something is malformed, or of types that the kernel does not read."""
    import io

    from rankscope.io.polars_file import collect_table
    from rankscope.io.read import hint_for_rows
    from rankscope.io.source import FileReading
    from rankscope.io.table import RUN

    reading = FileReading(path, io.BytesIO(), lenient=options.lenient, first_row=first_row)
    collected = collect_table(reading, RUN, frame)
    bad = tuple(reading.bad_lines)
    if bad and not options.lenient:
        raise BadLinesError(bad, hint=hint_for_rows(RUN))
    return CheckedRows(RUN.build(collected), bad)


def read_row_groups(shard: RowGroups, options: ReadOptions, *, with_rank: bool = True) -> pl.DataFrame:
    """Read rows of a Parquet file; of its columns those that a run is scored by."""
    import polars as pl

    from rankscope.io.table_check import errors_of_polars

    if is_remote(shard.path):
        from rankscope.io.remote_parquet import RemoteTable

        file = remote_file(shard.path)
        check_version(shard, file)
        remote = RemoteTable(file)
        needed = columns_needed(remote_roles(remote, options.columns), with_rank=with_rank)
        found = remote.read(needed, shard.start, shard.end)
    else:
        check_unchanged(shard)
        needed = columns_needed(roles_of(shard.path, options.columns), with_rank=with_rank)
        with errors_of_polars(shard.path, "parquet"):
            table = pl.scan_parquet(shard.path, glob=False)
            found = table.select(needed).slice(shard.start, shard.end - shard.start).collect()
    if len(found) < shard.end - shard.start:
        raise InputError(
            f"{shard} is not all there: the file ends after row {shard.start + len(found)}",
            hint="shards_of cuts a run into shards",
        )
    return found


def check_unchanged(shard: RowGroups | WholeFile) -> None:
    """Refuse a file that has another size than when it was cut: it is another one by now, or on this machine."""
    if shard.n_bytes is None or is_remote(shard.path) or size_at(shard.path) == shard.n_bytes:
        return
    with open_file(shard.path) as file:
        check_size(shard.path, file, shard.n_bytes)


def check_version(shard: RowGroups | WholeFile, file: RemoteFile | None) -> None:
    """Refuse a file elsewhere of which another version was listed; what is read after this is all of one version."""
    if shard.version is not None and (file is None or file.version != shard.version):
        raise has_changed(shard.path)


def columns_needed(roles: Mapping[str, str], *, with_rank: bool) -> list[str]:
    """Return the columns of a Parquet file that a run is scored by, given which are what."""
    return [name for role, name in roles.items() if role in ("query", "doc", "score") or (role == "rank" and with_rank)]


def source_parts(
    shard: Shard | TableParts | QueryBlock,
    options: ReadOptions,
    *,
    piece_bytes: int,
    with_rank: bool = True,
) -> Iterator[Any]:
    """Yield the rows of a shard as sources: as one, or, of what is decompressed, in pieces of whole queries."""
    if isinstance(shard, ByteRange):
        yield text_part(shard, options)
    elif isinstance(shard, RowGroups):
        if shard.end > shard.start:
            frame = read_row_groups(shard, options, with_rank=with_rank)
            yield table_part(frame, shown_url(shard.path), options, first_row=shard.start)
    elif isinstance(shard, QueryBlock):
        yield RowsSource(shard.rows())
    elif isinstance(shard, TableParts):
        import polars as pl

        from rankscope.io.regroup import joined

        frames = [pl.read_parquet(path, glob=False) for path in shard.paths]
        yield table_part(joined(frames), shard.path, replace(options, columns=None))
    else:
        yield from file_parts(shard, options, piece_bytes=piece_bytes)


def file_parts(shard: WholeFile, options: ReadOptions, *, piece_bytes: int) -> Iterator[Any]:
    check_unchanged(shard)
    if is_blank(shard):
        return
    source = FileSource(shard.path, options)
    check_version(shard, getattr(source.stored, "remote", None))
    if shard.n_bytes == 0:
        return
    text = source.text
    if text is None:
        yield source
        check_unchanged(shard)
        return
    n_before = 0
    for piece in pieces_of(text.chunks(options.progress), max(1, piece_bytes // 2)):  # two of them are held at a time
        data = np.frombuffer(piece, dtype=np.uint8)
        here = n_before
        yield TextPart(
            marked(data) if here else data,
            source.path,
            options,
            n_lines_before=lambda here=here: here,  # type: ignore[misc]
            begins_file=not here,
        )
        n_before += piece.count(b"\n")
    check_unchanged(shard)


class ShardedSource:
    """A run in many shards, of which a few at a time are read."""

    is_sharded = True

    def __init__(
        self,
        path: str,
        options: ReadOptions | None = None,
        *,
        shards: Sequence[Shard] | None = None,
        plan: ShardPlan | None = None,
    ) -> None:
        self.path = shown_url(path)
        self._address = path
        self.options = options or ReadOptions()
        self.plan = plan or ShardPlan()
        self.spool: Spool | None = None
        self.is_grouped = True
        """Whether the rows of each query lie in one part, as far as is known."""
        self.notes: list[str] = []
        """What must be said of how the run was read."""
        self.states: FileStates = {}
        """What its files were when its hits were found."""
        self.tag: str | None = None
        self.found_integer_ids: frozenset[str] = frozenset()
        self.has_left_lines_out = False
        """Whether, while rows were regrouped into tables, malformed lines of text were left out."""
        self.ahead: dict[Any, Any] = {}
        """Hits that were found together with those of other runs, until they are asked for."""
        self.looked_at: tuple[Any, Run] | None = None
        """Which queries were looked at last, and the run with these alone."""
        self.given = None if shards is None else tuple(shards)
        if self.given is not None:
            check_listed_once(self.given)

    def planned(self, plan: ShardPlan) -> ShardedSource:
        """Return the same run, worked on in another way."""
        other = ShardedSource(self._address, self.options, shards=self.given, plan=plan)
        other.path, other.spool = self.path, self.spool
        if "remote" in vars(self):
            other.remote = self.remote
        return other

    @property
    def copy_path(self) -> str:
        """The file that holds a copy of standard input or of a pipe."""
        return self._address

    def shown(self, text: str) -> str:
        """Return a text without the name of the copy that standard input, or a pipe, was read from."""
        own = "standard input" if self.path == "-" else self.path
        return text if self.spool is None else text.replace(self._address, own)

    @property
    def name(self) -> str:
        path = self.path
        if not is_many_name(path):
            return name_of(path)
        folder, _, last = path.replace(os.sep, "/").rpartition("/")
        for wild in "*?[]":
            last = last.replace(wild, "")
        plain = name_of(last).strip("-_. ")
        return plain or name_of(folder) or "run"

    @cached_property
    def files(self) -> tuple[str, ...]:
        """The files that the run is made of."""
        if self.given is not None:
            return tuple(dict.fromkeys(shard.path for shard in self.given))
        if is_remote(self._address):
            return tuple(self.remote)
        return tuple(files_of(self._address)) if is_many(self._address) else (self._address,)

    @cached_property
    def remote(self) -> dict[str, RemoteFile]:
        """Its files that are not here, as they were when they were first asked for; no other version is read."""
        if self.given is None:
            return remote_files(self._address) if is_remote(self._address) else {}
        found = {path: remote_file(path) for path in self.files if is_remote(path)}
        for shard in self.given:
            if isinstance(shard, WholeFile | RowGroups) and shard.path in found:
                check_version(shard, found[shard.path])
        return found

    @cached_property
    def n_bytes(self) -> int:
        """How many bytes its files have."""
        return sum(self._size_of(file) or 0 for file in self.files)

    def cut(self, target_bytes: int, *, table_share: float = 1.0) -> list[Shard]:
        """Return shards of about so many bytes of text; of tables, fewer rows, as each takes more memory."""
        if self.given is not None:
            return [shard if isinstance(shard, ByteRange | RowGroups) else self.pinned(shard) for shard in self.given]
        shards: list[Shard] = []
        is_usual = self.options.format in (None, "trec", "parquet")
        columns, rows = self.options.columns, max(1, int(target_bytes * table_share) // ROW_BYTES)
        tables = remote_tables(self.remote.values(), target_rows=rows) if is_usual and self.remote else {}
        for file in self.files:
            if is_remote(file):
                shards.extend(cut_remote(self.remote[file], tables.get(file), rows, columns=columns))
            elif file == "-" or not is_usual:
                shards.append(WholeFile(file, None if file == "-" else size_at(file)))
            else:
                size = size_at(file)
                shards.extend(cut_file(file, size, target_bytes, table_share=table_share, columns=columns))
        return shards

    def pinned(self, shard: WholeFile) -> WholeFile:
        """Return a file with its size and version, where it is not here and none is known."""
        if shard.version is not None or not is_remote(shard.path):
            return shard
        file = self.remote[shard.path]
        return replace(shard, n_bytes=file.size, version=file.version)

    def check_fits(self, shards: Sequence[Shard], room: int) -> None:
        """Refuse files that must be read as a whole and take more than the memory that is left."""
        from rankscope.io.detection import layout_of
        from rankscope.io.memory import GROWTH, WHOLE_TIMES
        from rankscope.io.regroup import look_at
        from rankscope.io.source import source_of

        most = max(READ_WHOLE, room)
        for shard in shards:
            is_small = shard.size * GROWTH * max(WHOLE_TIMES.values()) <= most
            if not isinstance(shard, WholeFile) or is_small or is_remote(shard.path):
                continue
            how: dict[str, Any] = {"format_name": self.options.format, "columns": self.options.columns}
            stored = source_of(shard.path)
            if layout_of(stored, **how).format == "trec":  # cut as it is decompressed; there may be many such files
                continue
            look = look_at(stored, **how)
            if look.bytes_taken() > most:
                where = shard.path if shard.path == self._address else f"{self.path}: {shard.path}"
                raise InputError(
                    f"{self.shown(where)} has {in_words(shard.size)} and can only be read as a whole, which takes "
                    f"about {in_words(look.bytes_taken())}; {in_words(max(0, room))} are left of the memory given",
                    hint="only TREC text and Parquet can be read in parts: rankscope convert makes such files",
                )

    def is_text(self, shard: Shard) -> bool:
        """Tell whether a shard is TREC text, plain or compressed; one without a byte is whatever others are."""
        if isinstance(shard, WholeFile):
            return is_blank(shard) or FileSource(shard.path, self.options).text is not None
        return isinstance(shard, ByteRange)

    def parts(self, *, piece_bytes: int = LOOKED_AT_ONCE) -> Iterator[Any]:
        """Yield the run as sources, one after the other."""
        for shard in self.cut(piece_bytes, table_share=0.25):
            yield from source_parts(shard, self.options, piece_bytes=piece_bytes)

    def read(self) -> RunRows:
        """Return all rows of all shards, in memory."""
        from rankscope.io.rows import joined_rows

        rows = [part.read() for part in self.parts()]
        if not rows:
            raise no_rows(self.path)
        return joined_rows(rows)

    def query_ids(self) -> tuple[str, ...]:
        """Return the queries that the run answers, in the order given."""
        found: dict[str, None] = {}
        for part in self.parts():
            found.update(dict.fromkeys(part.read().query))
        return tuple(found)

    @property
    def integer_ids(self) -> frozenset[str]:
        """Which ids were whole numbers in the parts that have been read."""
        return self.found_integer_ids

    @cached_property
    def asked(self) -> AskedQueries | None:
        """The queries that a run was asked, where a file beside it says so."""
        return FileSource(self._address.rstrip("/"), self.options).asked if self.given is None else None

    @property
    def origin(self) -> Origin:
        return Origin(self.path, self.format, self.digest)

    @cached_property
    def format(self) -> str:
        """The format of the files; where names end differently, of the first of each kind that is not empty."""
        firsts: dict[str, str] = {}
        for file in self.files:
            ending = os.path.splitext(file)[1]  # noqa: PTH122 (pathlib takes long to load)
            if ending not in firsts and not is_blank(WholeFile(file, self._size_of(file))):
                firsts[ending] = file
        return " and ".join(sorted({self.format_of(file) for file in firsts.values() or self.files[:1]}))

    def _size_of(self, file: str) -> int | None:
        if is_remote(file):
            return self.remote[file].size
        return None if file == "-" else size_at(file)

    def format_of(self, file: str) -> str:
        source = FileSource(file, self.options)
        if source.text is not None:
            return "trec"
        from rankscope.io.detection import layout_of
        from rankscope.io.source import source_of

        return layout_of(source_of(file), format_name=self.options.format, columns=self.options.columns).format

    def digest(self) -> str:
        """Return what stands for the content of the files, where they still are what was read."""
        found = self._digest()
        check_same(self.states)
        return found

    def _digest(self) -> str:
        """Return the SHA-256 of a single file; of several `files:` and that over their names, sizes and digests.

        `files-etag:` says that the digests of an object store are among them, so that nothing had to be fetched.
        """
        if len(self.files) == 1 and not is_many(self._address):
            return self.digest_of(self.files[0])
        if self.given is None and is_remote(self._address):
            return f"files-etag:{digest_of_files(map(remote_facts, self.remote.values()))}"
        facts = ((os.path.basename(file), size_at(file), self.digest_of(file)) for file in self.files)  # noqa: PTH119 (pathlib takes long to load)
        return f"files:{digest_of_files(facts)}"

    def digest_of(self, file: str) -> str:
        """Return the SHA-256 of one of its files, of the version that is read; of Parquet elsewhere its ETag."""
        from rankscope.io.source import StoredFile, source_of

        known = self.remote.get(file)
        if known is None:
            return source_of(file).sha256()
        return StoredFile(file, remote=known).digest(self.format_of(file))


def remote_facts(file: RemoteFile) -> tuple[str, int, str]:
    """Return the name, the size and the digest of a file of a store: its ETag, where it has one."""
    return file.key.rpartition("/")[2], file.size, f"etag:{file.etag}" if file.etag else file.version


def is_many_name(path: str) -> bool:
    return not {"*", "?", "["}.isdisjoint(path)
