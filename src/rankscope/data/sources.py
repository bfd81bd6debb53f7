"""Where the rows of a run come from: a file, a dict of dicts, a table or rows in memory, each read when first needed.

`Run` is built on a source, and `rankscope.align` asks it for the form that the kernel reads fastest.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence, Sized
from contextlib import contextmanager
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from rankscope.checks import check_options
from rankscope.errors import BadLine, give_warning
from rankscope.io.addresses import is_remote, shown_url
from rankscope.io.file_state import FileStates, check_same, states_of
from rankscope.io.formats import without_endings
from rankscope.io.text import TrecFile, bad_run_lines, trec_text
from rankscope.light import LightRecord, types_of
from rankscope.printable import counted
from rankscope.progress import Progress

if TYPE_CHECKING:
    from rankscope.data.asked_queries import AskedQueries
    from rankscope.io.read import ReadFile, TableFile
    from rankscope.io.rows import RunRows
    from rankscope.io.source import StoredFile

WILD = frozenset("*?[")
"""What makes a path a pattern of several files."""
QUERIES_ENDING = ".queries.json"
"""The file beside a run that says which queries it was asked has the run's name with this."""


class ReadOptions(LightRecord, kw_only=True):
    """How files are read: their format where it is not to be detected, their columns, and what a bad line does."""

    format: str | None = None
    columns: Mapping[str, str] | None = None
    lenient: bool = False
    progress: Progress | None = None

    def __post_init__(self) -> None:
        check_options(types_of(self), {name: getattr(self, name) for name in ("format", "columns", "lenient")})


class Origin(LightRecord):
    """The file that data was read from."""

    path: str
    format: str
    digest: Callable[[], str]
    """Computes the SHA-256 of the file, which takes a while and is not always needed."""

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

    def __getstate__(self) -> dict[str, Any]:
        """Return what is kept of it elsewhere: the digest of the file as it is now, not how to compute it."""
        return {"path": self.path, "format": self.format, "digest": partial(str, self.sha256)}


class RowsSource(LightRecord, eq=False):
    """Rows that are already in memory."""

    rows: RunRows

    def read(self) -> RunRows:
        return self.rows

    @property
    def integer_ids(self) -> frozenset[str]:
        return self.rows.integer_ids

    @property
    def tag(self) -> str | None:
        return self.rows.tag


class DictSource(LightRecord, eq=False):
    """A dict of dicts, used as it is: nothing is flattened unless the rows are needed."""

    docs_of: Mapping[Any, Mapping[Any, Any]]

    def read(self) -> RunRows:
        from rankscope.data.coerce import run_rows

        return run_rows(self.docs_of)

    @property
    def integer_ids(self) -> frozenset[str]:
        """Which ids are whole numbers, judged by the first query and its first doc."""
        query, docs = next(iter(self.docs_of.items()), ("", {}))
        first = {"query": query, "doc": next(iter(docs), "")}
        return frozenset(kind for kind, name in first.items() if not isinstance(name, str | bytes))


class TableSource(LightRecord, eq=False):
    """A table that the kernel reads where its owner keeps it."""

    original: Any
    table: Any
    """The table as the kernel sees it."""
    column_of: Mapping[str, int]
    """Which column holds what."""

    def read(self) -> RunRows:
        from rankscope.data.coerce import run_rows

        return run_rows(self.original)

    @property
    def integer_ids(self) -> frozenset[str]:
        numbers = set("cCsSiIlL")  # the letters that Arrow has for whole numbers
        return frozenset(kind for kind in ("query", "doc") if self.table.format(self.column_of[kind]) in numbers)

    @property
    def tag(self) -> str | None:
        return self.read().tag if "tag" in self.column_of else None

    def __reduce__(self) -> tuple[Any, ...]:
        return RowsSource, (self.read(),)  # the kernel's view of the table belongs to this process


class FileSource:
    """A file of a run or qrels, read when it is first needed: by the kernel, as bytes or by column, or row by row."""

    def __init__(
        self, path: str, options: ReadOptions | None = None, *, content: bytes | None = None, kind: str = "run"
    ) -> None:
        self.path = shown_url(path)
        self._address = path
        self.options = options or ReadOptions()
        self.kind = kind
        self._content = content
        self._tag: str | None = None
        self._has_warned = False
        self._is_sound = False
        self._states: FileStates = {}
        self.once: Any = None
        """The source that took what can be read only once, such as standard input."""

    def __getstate__(self) -> dict[str, Any]:
        """Return all but the kernel's view of the columns and the times of the file, which belong to this machine."""
        return {**{name: value for name, value in vars(self).items() if name != "by_column"}, "_states": {}}

    @property
    def name(self) -> str:
        return name_of(self.path)

    @property
    def address(self) -> str:
        """Where the file is, as it was given."""
        return self._address

    @property
    def is_given(self) -> bool:
        """Whether what the file holds was given with it, so that it is in memory already."""
        return self._content is not None

    @property
    def n_stored(self) -> int:
        """How many bytes a file on this machine has; 0 for what is no such file."""
        try:
            return 0 if self.is_given else os.stat(self.path).st_size  # noqa: PTH116 (pathlib takes long to load)
        except (OSError, ValueError):
            return 0

    @cached_property
    def stored(self) -> str | StoredFile:
        """The path of a plain file, or what anything else holds, such as a pipe, which can be read only once."""
        if self.once is not None:
            found: str | StoredFile = self.once.stored if isinstance(self.once, FileSource) else self.once.copy_path
            return found
        if self._content is None and os.path.isfile(self.path) and os.path.getsize(self.path):  # noqa: PTH113, PTH202 (pathlib takes long to load)
            self._states = states_of([self.path])
            return self.path
        from rankscope.io.source import StoredFile, source_of

        return source_of(self._address) if self._content is None else StoredFile(self.path, self._content)

    @cached_property
    def asked(self) -> AskedQueries | None:
        """The queries that a run was asked, where a file beside it says so."""
        if self._content is not None:
            return None
        if not is_remote(self._address) and not os.path.isfile(self.path + QUERIES_ENDING):  # noqa: PTH113 (as above)
            return None
        from rankscope.data.asked_queries import read_asked

        return read_asked(self._address)

    @cached_property
    def text(self) -> TrecFile | None:
        return trec_text(self.stored, self.kind, format_name=self.options.format, columns=self.options.columns)

    @cached_property
    def table(self) -> TableFile | None:
        """What a run in Parquet or Arrow holds, by column; None where the file is in another format."""
        if self.text is not None or self.kind != "run":
            return None
        from rankscope.io.read import read_columns
        from rankscope.io.table import RUN

        stored = self.stored
        with self.staying_the_same():
            return read_columns(stored, RUN, **vars(self.options))

    @cached_property
    def by_column(self) -> TableSource | None:
        """The columns of a run for the kernel, or None where it has to be read as text or row by row."""
        return None if self.table is None else table_source(self.table.frame)

    def accept_columns(self) -> None:
        """Take from the kernel that it has read all rows, and found none malformed."""
        check_same(self._states)
        self._is_sound = True

    @property
    def sound_columns(self) -> TableSource | None:
        """The columns of a run, where it is known that no row of them is malformed."""
        return self.by_column if self._is_sound else None

    @cached_property
    def file(self) -> ReadFile[Any]:
        from rankscope.io.read import read_file
        from rankscope.io.table import KINDS

        with self.staying_the_same():
            table = self.table
            file = read_file(self.stored, KINDS[self.kind], **vars(self.options)) if table is None else table.checked()
        self.warn_of_skipped(file.bad_lines)
        if file.n_ungraded:
            have = "row has" if file.n_ungraded == 1 else "rows have"
            left = f"{file.n_ungraded:,} {have} no grade and {'is' if file.n_ungraded == 1 else 'are'} left out"
            give_warning(f"{file.path}: {left}")
        return file

    def read(self) -> Any:
        return self.file.rows

    def trec_text(self) -> Any | None:
        """Return TREC text for the kernel, or None where the file is in another format.

        A plain file is returned as it is, what is in memory as bytes, and what has to be decompressed in pieces.
        """
        if self.text is None or self.text.is_plain_file:
            return self.text
        return self.text.chunks(self.options.progress) if self.text.is_stream else self.text.data()

    @contextmanager
    def errors_of_kernel(self) -> Iterator[None]:
        """Say in words of ours what keeps the kernel from reading the file."""
        with self.staying_the_same():
            if self.text is None:
                yield
            else:
                with self.text.errors_of_kernel():
                    yield

    @contextmanager
    def staying_the_same(self) -> Iterator[None]:
        """Read the file, which is refused where it is another one by the end: an error may be due to that, too."""
        try:
            yield
        finally:
            check_same(self._states)

    def accept(self, bad_lines: Sequence[tuple[int, bytes]], *, n_rows: int, tag: str | None) -> None:
        """Take what the kernel says of a run; raise where it has malformed lines or no rows."""
        bad = bad_run_lines(self.path, bad_lines, n_good=n_rows, lenient=self.options.lenient)
        if not n_rows:
            self.read()  # it has the words for a file without rows
        self.warn_of_skipped(bad)
        self._tag = tag

    def warn_of_skipped(self, bad_lines: Sequence[BadLine]) -> None:
        """Warn of lines that were left out, once, however often the file is read."""
        if bad_lines and not self._has_warned:
            self._has_warned = True
            were = "was" if len(bad_lines) == 1 else "were"
            skipped = f"{counted(len(bad_lines), 'bad line')} of {self.path} {were} skipped"
            give_warning(f"{skipped}; the first is {bad_lines[0]}")

    @property
    def tag(self) -> str | None:
        if self._is_sound and self.table is not None:
            return self.table.tag
        return self._tag if self.text is not None and self._tag is not None else self.read().tag

    @property
    def integer_ids(self) -> frozenset[str]:
        """Which ids were whole numbers; in text none are."""
        if self._is_sound and self.table is not None:
            return self.table.integer_ids
        return frozenset() if self.text is not None else self.read().integer_ids

    @property
    def origin(self) -> Origin:
        if self.text is not None:
            return Origin(self.text.name, "trec", self._digest)
        if self._is_sound and self.table is not None:
            return Origin(self.table.path, self.table.format, self._digest)
        return Origin(self.file.path, self.file.format, self._digest)

    def _digest(self) -> str:
        """Return the SHA-256 of the file, where it still is what was read."""
        if self.text is not None:
            found = self.text.sha256()
        else:
            found = self.table.sha256 if self._is_sound and self.table is not None else self.file.sha256
        check_same(self._states)
        return found


def file_source(data: Any, options: ReadOptions | None = None, *, kind: str = "run") -> Any | None:
    """Return a path or open file, of which the rest is read, as a source; None for data in memory."""
    if isinstance(data, str | os.PathLike):
        path = os.fspath(data)
        is_bucket = is_remote(path) and "/" not in path.partition("://")[2]
        is_folder = is_bucket or path.endswith("/") or os.path.isdir(path)  # noqa: PTH112 (pathlib takes long to load)
        if kind == "run" and (is_folder or not WILD.isdisjoint(path)):
            return many_files(path, options)
        return FileSource(path, options, kind=kind)
    if not is_file_object(data):
        return None
    content = data.read()
    as_bytes = content.encode("utf-8", "surrogateescape") if isinstance(content, str) else bytes(content)
    path = getattr(data, "name", None)
    return FileSource(path if isinstance(path, str) else "the file", options, content=as_bytes, kind=kind)


def many_files(path: str, options: ReadOptions | None) -> Any:
    """Return a folder, or a pattern such as part-*.parquet, as a run of many files; a file of such a name as it is."""
    from rankscope.data.sharded import ShardedSource  # few runs are in many files
    from rankscope.io.shards import is_many

    return ShardedSource(path, options) if is_many(path) else FileSource(path, options)


def is_file_object(data: Any) -> bool:
    """Tell whether data is an open file, or anything else that is read like one."""
    return callable(getattr(data, "readline", None)) and callable(getattr(data, "read", None))


def name_of(path: str) -> str:
    """Return what a run is called by its file: the last part of the path, without the endings of data files."""
    name = os.path.basename(shown_url(path).rstrip("/"))  # noqa: PTH119 (pathlib takes longer to load than a small evaluation)
    return "stdin" if path == "-" else without_endings(name)


def own_source(data: Any) -> Any:
    """Return data in memory as a source that stays as it is when the caller's data changes."""
    if isinstance(data, Mapping) and all(isinstance(docs, Mapping) for docs in data.values()):
        return DictSource({query: dict(docs) for query, docs in data.items()})
    if hasattr(data, "iloc"):
        data = data.copy()  # pandas
    elif hasattr(data, "clone"):
        data = data.clone()  # polars, where it costs nothing
    return shared_source(data)


def shared_source(data: Any) -> Any:
    """Return data in memory as a source: an Arrow table as it is where the kernel can read it, all else as rows."""
    if hasattr(data, "__arrow_c_stream__"):
        if not isinstance(data, Sized):  # a stream, which can be read only once
            import polars as pl

            data = pl.DataFrame(data)
        source = table_source(data)
        if source is not None:
            return source
    from rankscope.data.coerce import run_rows

    return RowsSource(run_rows(data))


def has_even_chunks(frame: Any) -> bool:
    """Tell whether all columns of a frame come in the same chunks; those of Parquet need not."""
    return len({tuple(column.chunk_lengths()) for column in frame.get_columns()}) == 1


def table_source(data: Any) -> TableSource | None:
    """Return a table as a source for the kernel, or None where it has to be read row by row."""
    from rankscope.io.columns import RUN_COLUMNS, find_columns
    from rankscope.native import kernel

    module = kernel()
    if module is None:
        return None
    try:
        if hasattr(data, "get_columns") and hasattr(data, "n_chunks") and data.n_chunks() > 1:
            # polars would copy a frame that comes in several chunks into one; its columns it hands out as they are
            data = data if has_even_chunks(data) else data.rechunk()
            table = module.table_of_columns([column.__arrow_c_stream__() for column in data.get_columns()])
        else:
            table = module.table_of(data.__arrow_c_stream__())
    except (ImportError, RuntimeError, TypeError, ValueError):
        return None  # pandas needs pyarrow for this, and not every column has an Arrow type
    names = table.names
    own_names = list(data.columns) if hasattr(data, "iloc") else names  # pandas hands out its index as a column, too
    found = find_columns(own_names, RUN_COLUMNS)
    if any(names.count(name) != 1 for name in found.values()):
        return None
    return TableSource(data, table, {role: names.index(name) for role, name in found.items()})
