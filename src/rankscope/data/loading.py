"""Loading: whatever the caller gives, a path or data in any shape, becomes a Run or Qrels."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sized
from typing import Any

from rankscope.data.qrels import Qrels, index_dict, read_qrels_file
from rankscope.data.run import Run
from rankscope.data.sources import FileSource, Progress, ReadOptions, content_of, is_file_object
from rankscope.errors import InputError
from rankscope.io.formats import without_endings

__all__ = ["Progress", "ReadOptions", "load_qrels", "load_run", "load_runs", "name_of"]


def load_run(data: Any, *, name: str | None = None, options: ReadOptions | None = None) -> Run:
    """Return a run from a path or from any of the shapes `Run` takes; a file is read when first needed."""
    if isinstance(data, Run):
        return data
    if isinstance(data, str | os.PathLike):
        path = os.fspath(data)
        return Run(FileSource(path, options), name=name or name_of(path))
    if is_file_object(data):
        path, content = content_of(data)
        return Run(FileSource(path, options, content=content), name=name or name_of(path))
    if isinstance(data, Mapping) and data and all(isinstance(docs, Mapping) for docs in data.values()):
        return Run.wrap(data, name=name)
    return Run.wrap(data, name=name) if hasattr(data, "__arrow_c_stream__") else Run(data, name=name)


def load_qrels(
    data: Any, *, duplicates: str = "error", options: ReadOptions | None = None, threads: int | None = None
) -> Qrels:
    """Return qrels from a path or from any of the shapes `Qrels` takes; a large file is read by several threads."""
    if isinstance(data, Qrels):
        return data
    if isinstance(data, str | os.PathLike) or is_file_object(data):
        rows, origin = read_qrels_file(data, options or ReadOptions(), threads=threads)
        return Qrels(rows, duplicates=duplicates, origin=origin)
    return Qrels(index_dict(data), duplicates=duplicates)


def load_runs(runs: Any, *, options: ReadOptions | None = None) -> list[Run]:
    """Return runs with distinct names from one run, several, or several by name."""
    if isinstance(runs, Run):
        return [runs]
    if isinstance(runs, Mapping) and holds_runs(runs):
        return [load_run(run, name=str(name), options=options).renamed(str(name)) for name, run in runs.items()]
    if isinstance(runs, list | tuple) and runs and all(map(is_whole_run, runs)):
        return with_distinct_names([load_run(run, options=options) for run in runs])
    return [load_run(runs, options=options)]


def is_whole_run(data: Any) -> bool:
    """Tell a run that is an entry of a list from a row."""
    if isinstance(data, Mapping) and not isinstance(data, Run):
        return bool(data) and all(isinstance(docs, Mapping | list) for docs in data.values())
    return isinstance(data, str | os.PathLike | Run) or hasattr(data, "__arrow_c_stream__") or is_file_object(data)


def holds_runs(data: Mapping[Any, Any]) -> bool:
    """Tell {name: run} from a single run that is given as {query: docs}."""
    if not data:
        raise InputError("no run is given", hint="give a path, {query: {doc: score}}, or {name: run}")
    sample = next(iter(data.values()))
    if isinstance(sample, Run):
        return True
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
        distinct.append(run.renamed(name if taken[name] == 1 else f"{name} ({taken[name]})"))
    return distinct


def name_of(path: str) -> str:
    """Return a run's name from its file's: the last part, without the endings of data files."""
    name = os.path.basename(path.rstrip("/"))  # noqa: PTH119 (pathlib takes longer to load than a small evaluation)
    return "stdin" if path == "-" else without_endings(name)
