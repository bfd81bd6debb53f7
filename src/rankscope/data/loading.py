"""Loading: whatever the caller gives, a path or data in any shape, becomes a Run or Qrels."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sized
from typing import TYPE_CHECKING, Any

from rankscope.checks import check_at_least, check_options
from rankscope.data.qrels import Qrels, index_dict, read_qrels_file
from rankscope.data.run import Run, wrap
from rankscope.data.sources import ReadOptions, file_source, is_file_object, name_of
from rankscope.errors import InputError

if TYPE_CHECKING:
    from rankscope.data.shapes import QrelsLike, RunLike, RunsLike

__all__ = ["ReadOptions", "load_qrels", "load_run", "load_runs", "name_of", "write_run"]


def load_run(data: RunLike, *, name: str | None = None, options: ReadOptions | None = None) -> Run:
    """Return a run; a file is read when it is first needed.

    Parameters
    ----------
    data
        A path or open file, ``{query: {doc: score}}``, ``{query: [doc, …]}`` best first, a table, columns by name, or
        rows.
    name
        What the run is called; a file is called by its name unless this is given.
    options
        How a file is read.

    Returns
    -------
    Run
        The run, which cannot be changed.

    Examples
    --------
    >>> import rankscope as rs
    >>> rs.load_run({"q1": {"d1": 0.7, "d2": 0.3}}, name="bm25").query_ids
    ('q1',)
    """
    check_options(load_run.__annotations__, {"name": name, "options": options})
    if isinstance(data, Run):
        return data
    if is_shards(data):
        return run_of_shards(data, name, options)
    source = file_source(data, options)
    if source is not None:
        return Run(source, name=name)
    is_nested = isinstance(data, Mapping) and data and all(isinstance(docs, Mapping) for docs in data.values())
    make = wrap if is_nested or hasattr(data, "__arrow_c_stream__") else Run
    return make(data, name=name)


def load_qrels(
    data: QrelsLike, *, duplicates: str = "error", options: ReadOptions | None = None, threads: int | None = None
) -> Qrels:
    """Return qrels; a large file is read by several threads.

    Parameters
    ----------
    data
        A path or open file, ``{query: {doc: grade}}``, ``{query: [relevant docs]}``, a table, columns by name, or rows.
    duplicates
        What a doc that is judged twice for a query does: ``"error"``, or ``"first"`` where the first row counts.
    options
        How a file is read.
    threads
        The number of threads, by default one per core.

    Returns
    -------
    Qrels
        The judgments, which cannot be changed.

    Raises
    ------
    InputError
        The data cannot be read.

    Examples
    --------
    >>> import rankscope as rs
    >>> rs.load_qrels({"q1": {"d1": 2, "d2": 0}}).query_ids
    ('q1',)
    """
    check_options(load_qrels.__annotations__, {"options": options, "threads": threads})
    check_at_least(1, threads=threads)
    if isinstance(data, Qrels):
        return data
    source = file_source(data, options, kind="qrels")
    if source is None:
        return Qrels(index_dict(data), duplicates=duplicates)
    return Qrels(read_qrels_file(source, threads=threads), duplicates=duplicates, origin=source.origin)


def write_run(run: RunLike, path: str | os.PathLike[str], *, format: str | None = None) -> None:  # noqa: A002
    r"""Write a run to a file, whole or not at all.

    Parameters
    ----------
    run
        The run, as `evaluate` takes it.
    path
        The file. Its format follows from its name (.run and .trec are TREC text, and so is a name that says nothing;
        .json, .jsonl, .csv, .tsv, .parquet, .arrow), and so is its compression (.gz .bz2 .xz .zst).
    format
        The format, instead of telling it from the name.

    Raises
    ------
    OptionError
        There is no such format.
    InputError
        The file cannot be written, or its format has no place for what the run holds.

    Examples
    --------
    >>> import rankscope as rs, pathlib
    >>> rs.write_run({"q": {"d": 0.5}}, "bm25.run")
    >>> pathlib.Path("bm25.run").read_text()
    'q Q0 d 1 0.5 rankscope\n'
    """
    from rankscope.io.write import write_rows

    write_rows(load_run(run).rows, path, format=format)


def load_runs(runs: RunsLike, *, options: ReadOptions | None = None) -> list[Run]:
    """Return runs with distinct names from one run, several, or several by name."""
    if isinstance(runs, Run):
        return [runs]
    if isinstance(runs, Mapping) and holds_runs(runs):
        return [load_run(run, name=str(name), options=options).renamed(str(name)) for name, run in runs.items()]
    if isinstance(runs, list | tuple) and runs and not is_shards(runs) and all(map(is_whole_run, runs)):
        return with_distinct_names([load_run(run, options=options) for run in runs])
    return [load_run(runs, options=options)]


def run_of_shards(shards: Any, name: str | None, options: ReadOptions | None) -> Run:
    from rankscope.data.sharded import ShardedSource  # few runs are given in shards

    return Run(ShardedSource(shards[0].path, options, shards=shards), name=name)


def is_shards(data: Any) -> bool:
    """Tell whether data is one run, given as a list of its shards."""
    return isinstance(data, list | tuple) and bool(data) and getattr(data[0], "is_shard", False)


def is_whole_run(data: Any) -> bool:
    if is_shards(data):
        return True
    if isinstance(data, Mapping) and not isinstance(data, Run):
        return bool(data) and all(isinstance(docs, Mapping | list) for docs in data.values())
    return isinstance(data, str | os.PathLike | Run) or hasattr(data, "__arrow_c_stream__") or is_file_object(data)


def holds_runs(data: Mapping[Any, Any]) -> bool:
    """Tell {name: run} from a single run that is given as {query: docs}."""
    if not data:
        raise InputError("no run is given", hint="give a path, {query: {doc: score}}, or {name: run}")
    sample = next(iter(data.values()))
    if isinstance(sample, Run) or is_shards(sample):
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
        names = [getattr(run.source, "path", name) for run, name in zip(runs, names, strict=True)]
    counts = [names[: i + 1].count(name) for i, name in enumerate(names)]
    named = zip(runs, names, counts, strict=True)
    return [run.renamed(name if count == 1 else f"{name} ({count})") for run, name, count in named]
