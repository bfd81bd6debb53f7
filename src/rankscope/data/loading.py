"""Loading: whatever the caller gives, a path or data in any shape, becomes a Run or Qrels.

The core reads no files; this is where it learns how.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping, Sequence, Sized
from functools import cached_property
from typing import TYPE_CHECKING, Any

from rankscope.data.qrels import IndexedQrels, Qrels
from rankscope.data.run import Origin, Run
from rankscope.errors import BadLine, InputError, RankscopeWarning
from rankscope.io.formats import without_endings
from rankscope.io.text import TrecFile, bad_run_lines, trec_text
from rankscope.light import LightRecord
from rankscope.native import index_qrels_dict, index_qrels_text

if TYPE_CHECKING:
    from rankscope.io import ReadFile
    from rankscope.io.rows import QrelsRows, RunRows
    from rankscope.io.source import StoredFile

Progress = Callable[[int, int], None]


class ReadOptions(LightRecord, kw_only=True):
    """How files are read: their format where it is not to be detected, their columns, and what a bad line does."""

    format: str | None = None
    columns: Mapping[str, str] | None = None
    lenient: bool = False
    progress: Progress | None = None


class FileSource:
    """A run file that is read when it is first needed: as bytes by the kernel, or row by row."""

    def __init__(self, path: str, options: ReadOptions | None = None) -> None:
        self.path = path
        self.options = options or ReadOptions()
        self._tag: str | None = None

    @cached_property
    def stored(self) -> str | StoredFile:
        """The file, or what a pipe held, as that can be read only once."""
        return read_once(self.path)

    @cached_property
    def text(self) -> TrecFile | None:
        """The file as TREC text, where that is its format."""
        return trec_text(self.stored, "run", format_name=self.options.format, columns=self.options.columns)

    @cached_property
    def file(self) -> ReadFile[RunRows]:
        """What reading the file row by row gave."""
        from rankscope.io import read_run

        options = self.options
        file = read_run(
            self.stored,
            format=options.format,
            columns=options.columns,
            lenient=options.lenient,
            progress=options.progress,
        )
        warn_of_skipped(file.path, file.bad_lines)
        return file

    def read(self) -> RunRows:
        """Return all rows."""
        return self.file.rows

    def trec_text(self) -> Any | None:
        """Return TREC text for the kernel, as bytes or bit by bit, or None where the file is in another format."""
        if self.text is None:
            return None
        return self.text.data() if self.text.compression is None else self.text.chunks(self.options.progress)

    def accept(self, bad_lines: Sequence[tuple[int, bytes]], *, n_rows: int, tag: str | None) -> None:
        """Take what the kernel says of the file; raise where it has malformed lines or no rows."""
        bad = bad_run_lines(self.path, bad_lines, n_good=n_rows, lenient=self.options.lenient)
        if not n_rows:
            self.read()  # it has the words for a file without rows
        warn_of_skipped(self.path, bad)
        self._tag = tag

    @property
    def tag(self) -> str | None:
        """The tag of the last row."""
        return self._tag if self.text is not None and self._tag is not None else self.read().tag

    @property
    def integer_ids(self) -> frozenset[str]:
        """Which ids were whole numbers; in text none are."""
        return frozenset() if self.text is not None else self.read().integer_ids

    @property
    def origin(self) -> Origin:
        """The file, its format and its content hash."""
        if self.text is not None:
            return Origin(self.text.name, "trec", self.text.sha256)
        return Origin(self.file.path, self.file.format, lambda: self.file.sha256)


def load_run(data: Any, *, name: str | None = None, options: ReadOptions | None = None) -> Run:
    """Return a run from a path or from any of the shapes `Run` takes; a file is read when first needed."""
    if isinstance(data, Run):
        return data
    if isinstance(data, str | os.PathLike):
        path = os.fspath(data)
        return Run(FileSource(path, options), name=name or name_of(path))
    if isinstance(data, Mapping) and data and all(isinstance(docs, Mapping) for docs in data.values()):
        return Run.wrap(data, name=name)
    return Run.wrap(data, name=name) if hasattr(data, "__arrow_c_stream__") else Run(data, name=name)


def load_qrels(
    data: Any, *, duplicates: str = "error", options: ReadOptions | None = None, threads: int | None = None
) -> Qrels:
    """Return qrels from a path or from any of the shapes `Qrels` takes; a large file is read by several threads."""
    if isinstance(data, Qrels):
        return data
    if isinstance(data, str | os.PathLike):
        rows, origin = read_qrels_file(data, options or ReadOptions(), threads=threads)
        return Qrels(rows, duplicates=duplicates, origin=origin)
    return Qrels(indexed(data), duplicates=duplicates)


def indexed(data: Any) -> Any:
    """Let the kernel read a dict of dicts, where it can."""
    if type(data) is not dict or not all(type(docs) is dict and docs for docs in data.values()):
        return data
    own = {query: dict(docs) for query, docs in data.items()}
    index = index_qrels_dict(own) if own else None
    if index is None:
        return data
    from rankscope.data.coerce import qrels_rows

    return IndexedQrels(index, lambda: qrels_rows(own))


def read_qrels_file(
    path: str | os.PathLike[str], options: ReadOptions, *, threads: int | None = None
) -> tuple[Any, Origin]:
    """Return qrels from a file, read by the kernel where that can be, and where they come from."""
    stored = read_once(os.fspath(path))
    text = trec_text(stored, "qrels", format_name=options.format, columns=options.columns)
    if text is not None:
        index = index_qrels_text(text.data(), threads=threads)
        if index is not None:
            origin = Origin(text.name, "trec", text.sha256)
            return IndexedQrels(index, lambda: read_rows(stored, ReadOptions(format="trec")).rows), origin
    file = read_rows(stored, options)
    warn_of_skipped(file.path, file.bad_lines)
    return file.rows, Origin(file.path, file.format, lambda: file.sha256)


def read_once(path: str) -> str | StoredFile:
    """Return the path of a plain file, and of anything else, such as a pipe, what it holds."""
    if os.path.isfile(path):  # noqa: PTH113 (pathlib takes longer to load than a small evaluation)
        return path
    from rankscope.io.source import source_of

    return source_of(path)


def read_rows(stored: str | StoredFile, options: ReadOptions) -> ReadFile[QrelsRows]:
    """Return the rows of a qrels file, whatever its format."""
    from rankscope.io import read_qrels

    return read_qrels(
        stored, format=options.format, columns=options.columns, lenient=options.lenient, progress=options.progress
    )


def load_runs(runs: Any, *, options: ReadOptions | None = None) -> list[Run]:
    """Return runs with distinct names from one run, several, or several by name."""
    if isinstance(runs, Mapping) and holds_runs(runs):
        return [named(load_run(run, name=str(name), options=options), str(name)) for name, run in runs.items()]
    if isinstance(runs, list | tuple) and runs and all(map(is_whole_run, runs)):
        return with_distinct_names([load_run(run, options=options) for run in runs])
    return [load_run(runs, options=options)]


def is_whole_run(data: Any) -> bool:
    """Tell a run that is an entry of a list from a row."""
    if isinstance(data, Mapping):
        return bool(data) and all(isinstance(docs, Mapping | list) for docs in data.values())
    return isinstance(data, str | os.PathLike | Run) or hasattr(data, "__arrow_c_stream__")


def named(run: Run, name: str) -> Run:
    """Return the run under a name of the caller's choice."""
    if run.name != name:
        run = run.renamed(name)
    return run


def holds_runs(data: Mapping[Any, Any]) -> bool:
    """Tell {name: run} from a single run that is given as {query: docs}."""
    if not data:
        raise InputError("no run is given", hint="give a path, {query: {doc: score}}, or {name: run}")
    sample = next(iter(data.values()))
    if isinstance(sample, Mapping):
        inner = next(iter(sample.values()), 0.0)
        return isinstance(inner, Sized) and not isinstance(inner, str | bytes)
    if isinstance(sample, list | tuple):
        entry = next(iter(sample), "")
        return isinstance(entry, Mapping) or (isinstance(entry, tuple | list) and len(entry) > 2)
    return not hasattr(sample, "dtype")  # arrays are the columns of one run


def with_distinct_names(runs: list[Run]) -> list[Run]:
    """Give runs whose file names are the same their whole path as name, then a number."""
    names = [run.name or "run" for run in runs]
    if len(set(names)) < len(names):
        names = [
            run.source.path if isinstance(run.source, FileSource) else name
            for run, name in zip(runs, names, strict=True)
        ]
    taken: dict[str, int] = {}
    distinct = []
    for run, name in zip(runs, names, strict=True):
        taken[name] = taken.get(name, 0) + 1
        distinct.append(named(run, name if taken[name] == 1 else f"{name} ({taken[name]})"))
    return distinct


def name_of(path: str) -> str:
    """Return a run's name from its file's: the last part, without the suffixes of data files."""
    name = os.path.basename(path.rstrip("/"))  # noqa: PTH119 (pathlib takes longer to load than a small evaluation)
    return "stdin" if path == "-" else without_endings(name)


def warn_of_skipped(path: str, bad_lines: Sequence[BadLine]) -> None:
    """Say how many lines were skipped, and show the first."""
    if bad_lines:
        message = f"{len(bad_lines)} bad lines of {path} were skipped; the first is {bad_lines[0]}"
        warnings.warn(message, RankscopeWarning, stacklevel=3)


def _open_path(path: str | os.PathLike[str]) -> FileSource:
    return FileSource(os.fspath(path))


def _read_qrels_path(path: str | os.PathLike[str]) -> tuple[Any, Origin]:
    return read_qrels_file(path, ReadOptions())


# The core reads no files itself: this is where it learns how.
Run.open_path = staticmethod(_open_path)
Qrels.read_path = staticmethod(_read_qrels_path)
