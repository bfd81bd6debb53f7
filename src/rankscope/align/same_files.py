"""Do workers, and parts that were kept, see the files and judgments that the job was begun with?"""

from __future__ import annotations

import hashlib
import pickle
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from platform import node
from typing import Any

import numpy as np

from rankscope.data.loading import load_qrels
from rankscope.data.qrels import Qrels
from rankscope.data.sharded import ShardPlan, check_unchanged
from rankscope.data.sources import ReadOptions
from rankscope.errors import InputError
from rankscope.io.addresses import is_remote, shown_url
from rankscope.io.file_state import changed_meanwhile, check_same, states_of
from rankscope.io.shards import FileSeen, RowGroups, open_file
from rankscope.light import LightRecord, asdict, field, replace

MARK_BYTES = 1 << 16
N_SEEN_ALIKE = 2
"""Of what `states_of` says of a file, its size and its time are the same on all machines that see it."""
MOST_MARKS = 8
"""Of so many files of a run, about, workers are asked whether they see the same ones."""
SAME_FILES = "let all workers see the same files under the same paths, or put them on an object store"


@contextmanager
def qrels_elsewhere(qrels: Qrels, plan: ShardPlan) -> Iterator[QrelsPlace]:
    """Give what other processes load the qrels from: their file, a copy of them, or the judgments themselves."""
    digest = digest_of_qrels(qrels)
    if qrels.is_file and qrels.origin is not None:
        yield QrelsPlace(digest, str(Path(qrels.origin.path).absolute()), duplicates=qrels.duplicates)
        return
    content = pickle.dumps(qrels)
    if plan.on is not None:
        yield QrelsPlace(digest, content=content)
        return
    with tempfile.TemporaryDirectory(prefix="rankscope-qrels-", ignore_cleanup_errors=True) as folder:
        copy = Path(folder) / "qrels"
        copy.write_bytes(content)
        yield QrelsPlace(digest, str(copy), is_copy=True)


class QrelsPlace(LightRecord):
    """Where another process finds qrels."""

    digest: str
    path: str = ""
    content: bytes = field(default=b"", repr=False, compare=False)
    is_copy: bool = False
    duplicates: str = "error"


@lru_cache(maxsize=2)
def loaded_qrels(place: QrelsPlace) -> Qrels:
    """Load qrels once per process."""
    if place.content or place.is_copy:
        content = place.content or Path(place.path).read_bytes()
        qrels: Qrels = pickle.loads(content)  # noqa: S301 (written by the process that sent this task)
        return qrels
    qrels = load_qrels(place.path, duplicates=place.duplicates, threads=1)
    if digest_of_qrels(qrels) != place.digest:
        raise InputError(f"{place.path} has other judgments on {node()} than where the job was begun", hint=SAME_FILES)
    return qrels


def check_seen(shard: Any) -> None:
    """Refuse a shard of a file that is another one by now, or on this machine, than when it was cut."""
    seen: FileSeen | None = getattr(shard, "seen", None)
    now = {} if seen is None else states_of([shard.path])
    if seen is None or not now:  # whoever reads it says what is wrong
        return
    check_unchanged(shard)
    if seen.host == node():
        check_same({shard.path: seen.state})
    elif now[shard.path][:N_SEEN_ALIKE] != seen.state[:N_SEEN_ALIKE]:
        raise InputError(
            f"{shard.path} has another size or time on {node()} than on {seen.host}, where it was cut",
            hint=SAME_FILES,
        )


class FileMark(LightRecord):
    """What tells a file from another one of the same name, without reading all of it."""

    path: str
    n_bytes: int = 0
    digest: str = ""
    """Of its first and its last bytes."""
    host: str = field(default="", compare=False)
    """Where it was looked at."""


def marks_of(shards: Iterable[Any]) -> tuple[FileMark, ...]:
    """Return the marks of some files of a run: the first, the last, and a few between."""
    paths = sorted({shard.path for shard in shards})
    step = max(1, len(paths) // MOST_MARKS)
    return tuple(mark_of(path) for path in dict.fromkeys([*paths[::step], *paths[-1:]]))


def mark_of(path: str) -> FileMark:
    """Return the mark of a file; of one in an object store, which all see alike, that it can be opened."""
    if is_remote(path):
        from rankscope.io.source import source_of

        with source_of(path).open() as remote:
            remote.read(1)
        return FileMark(path, host=node())
    with open_file(path) as file:
        digest = hashlib.sha256(file.read(MARK_BYTES))
        n_bytes = file.seek(0, 2)
        file.seek(max(0, n_bytes - MARK_BYTES))
        digest.update(file.read(MARK_BYTES))
    return FileMark(path, n_bytes, digest.hexdigest(), node())


@lru_cache(maxsize=8)
def check_once(marks: tuple[FileMark, ...]) -> None:
    """Check the files once in each worker: one that came later was not asked before the work began."""
    try:
        check_files(marks)
    except InputError as error:
        if all(mark.host == node() for mark in marks):
            raise
        raise InputError(f"a worker on {node()} cannot read what it has to: {error.message}", hint=SAME_FILES) from None


def check_files(marks: Sequence[FileMark]) -> None:
    """Raise where a file cannot be opened, or is another one than where the job was begun."""
    for mark in marks:
        if mark_of(mark.path) != mark:
            if mark.host == node():
                raise changed_meanwhile(mark.path)
            raise InputError(f"{mark.path} is another file on {node()} than where the job was begun", hint=SAME_FILES)


def digest_of_qrels(qrels: Qrels) -> str:
    """Return the digest of judgments: of their file, and of the queries that were taken from it; else of the rows."""
    digest = hashlib.sha256()
    for query in qrels.query_ids:
        digest.update(query.encode("utf-8", "surrogatepass") + b"\n")
    if qrels.origin is not None:
        digest.update(f"{qrels.origin.sha256} {qrels.duplicates}".encode())
    else:
        rows = qrels.rows
        for query, doc in zip(rows.query, rows.doc, strict=True):
            digest.update(f"{query}\0{doc}\n".encode("utf-8", "surrogatepass"))
        digest.update(np.ascontiguousarray(rows.grade).tobytes())
    return digest.hexdigest()


def kept_name(options: ReadOptions, shard: Any) -> str:
    """Return what tells a shard from all others, and from what was in its place before."""
    how = asdict(options)
    if is_remote(shard.path):
        rows = f" {shard.start} to {shard.end}" if isinstance(shard, RowGroups) else ""
        return f"{type(shard).__name__} {shown_url(shard.path)}{rows} {shard.version} {how}"
    path = Path(shard.path).absolute()
    state = path.stat()  # programs can set the mtime, but not the ctime
    version = f"{state.st_size} {state.st_mtime_ns} {state.st_ctime_ns} {state.st_ino}"
    return f"{replace(shard, path=str(path))!r} {version} {how}"
