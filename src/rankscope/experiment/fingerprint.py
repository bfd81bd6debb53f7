"""Content hashes: what a collection says, whatever format it is kept in, and a cache of what was hashed before."""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

import rankscope.systems
from rankscope._version import __version__
from rankscope.data.embedding_files import load_embeddings
from rankscope.data.embeddings import Embeddings
from rankscope.data.ontology import Ontology
from rankscope.data.ontology_files import load_ontology
from rankscope.data.qrels import Qrels
from rankscope.data.queries import QueryTable
from rankscope.errors import InputError, RankscopeError
from rankscope.io.addresses import is_remote, shown_url
from rankscope.io.files import write_text
from rankscope.io.remote import remote_file
from rankscope.io.source import source_of
from rankscope.light import LightRecord

VERSION = 3
"""Changes when the same content would hash or scan to something else than before."""
SETTLED_NS = 2_000_000_000
"""File systems tell times apart to 2 s at worst."""
HASHED_VECTORS = 4096
ATTEMPTS = 3
"""How often a file is read that changes meanwhile."""

Content = TypeVar("Content")


def canonical_bytes(record: Any) -> bytes:
    """Write a record in the one way that it is hashed in."""
    text = json.dumps(record, ensure_ascii=False, sort_keys=True, separators=(",", ":"), default=str)
    return text.encode("utf-8", "backslashreplace")


def fingerprint_of(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(canonical_bytes(content)).hexdigest()


def digest_of(records: Iterable[Any]) -> str:
    digest = hashlib.sha256()
    for record in records:
        digest.update(canonical_bytes(record) + b"\n")
    return digest.hexdigest()


def queries_digest(queries: QueryTable) -> str:
    """Hash the ids, texts and attributes of queries; their order does not matter."""
    texts = queries.texts or {}
    return digest_of([query, texts.get(query), queries.attributes_of(query)] for query in sorted(queries.ids))


def embeddings_digest(embeddings: Embeddings) -> str:
    """Hash ids and vectors; of very many docs some, spread over all of them, as another model changes every vector."""
    ids = sorted(embeddings.row_of)
    some = ids[:: max(1, len(ids) // HASHED_VECTORS)]
    digest = hashlib.sha256(
        canonical_bytes([len(ids), embeddings.vectors.shape[1], str(embeddings.vectors.dtype), some])
    )
    digest.update(np.ascontiguousarray(embeddings.vectors[embeddings.rows(some)]).tobytes())
    return digest.hexdigest()


def ontology_digest(ontology: Ontology) -> str:
    """Hash what an ontology says of itself; one that was made in memory is hashed term by term."""
    if ontology.sha256:
        return fingerprint_of(ontology.as_dict())
    return digest_of(zip(ontology.term_ids, ontology.parents, strict=True))


def data_digests(*, embeddings: Any = None, docs: Any = None, ontology: Any = None) -> dict[str, str]:
    """Return what stands for the data that measures of the docs look at, as it was given to `evaluate`."""
    digests = {}
    if embeddings is not None:
        digests["embeddings"] = embeddings_digest(load_embeddings(embeddings))
    if docs is not None:
        is_file = is_remote(docs) or Path(docs).is_file()
        digests["docs"] = source_of(docs).sha256() if is_file else str(docs)
    if ontology is not None:
        digests["ontology"] = ontology_digest(load_ontology(ontology))
    return digests


def qrels_digest(qrels: Qrels) -> str:
    """Hash judgments; their order does not matter."""
    rows = qrels.rows
    subtopics = rows.subtopic if rows.subtopic is not None else [""] * len(rows)
    return digest_of(map(list, sorted(zip(rows.query, rows.doc, subtopics, rows.grade.tolist(), strict=True))))


def code_of(systems: Iterable[object]) -> dict[str, str]:
    """Return what the answers of systems depend on besides their options: our version, and a hash of sources.

    These are all sources of `rankscope.systems`, and the files of classes from elsewhere.
    """
    ours = Path(rankscope.systems.__file__).parent
    files = set(ours.glob("*.py"))
    for kind in {kind for system in systems for kind in type(system).__mro__}:
        package, file = kind.__module__.partition(".")[0], getattr(sys.modules.get(kind.__module__), "__file__", None)
        if file is not None and package not in {*sys.stdlib_module_names, "msgspec"}:
            files.add(Path(file))
    sources = sorted((path.name, hashlib.sha256(path.read_bytes()).hexdigest()) for path in files)
    return {"rankscope": __version__, "sources": digest_of(sources)}


class FileState(LightRecord):
    """What tells a file from what it was before: whatever writes to it changes its ctime, which nobody can set."""

    identity: tuple[int, int, int, int]
    """Size, mtime and ctime in nanoseconds, inode; of a file elsewhere its size, and what its server calls it."""
    settled: bool
    """Whether the last change was so long ago that another one would have got another time."""

    @classmethod
    def of(cls, path: str | Path) -> FileState | None:
        """Return the state of a plain file, None of anything else."""
        if is_remote(path):
            return cls.of_remote(str(path))
        if not Path(path).is_file():
            return None
        status = Path(path).stat()
        identity = (status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)
        return cls(identity, time.time_ns() - max(identity[1:3]) > SETTLED_NS)

    @classmethod
    def of_remote(cls, url: str) -> FileState | None:
        """Return the state of a file whose server tells its versions apart."""
        file = remote_file(url)
        if file.etag is None:
            return None
        digest = hashlib.sha256(file.etag.encode()).digest()
        numbers = (int.from_bytes(digest[start : start + 7]) for start in (0, 7, 14))
        return cls((file.size, *numbers), settled=True)  # type: ignore[arg-type]

    def is_that_of(self, path: str | Path) -> bool:
        now = FileState.of(path)
        return now is not None and now.identity == self.identity


def read_unchanged(path: str | Path, read: Callable[[], Content]) -> tuple[Content, FileState | None]:
    """Return what a file holds and the state that it was in; one that changes meanwhile is read again."""
    for _ in range(ATTEMPTS):
        state = FileState.of(path)
        try:
            content = read()
        except InputError:
            if state is None or state.is_that_of(path):
                raise
            continue  # what is wrong may be that it has changed
        if state is None or state.is_that_of(path):
            return content, state
    raise changed(path)


def changed(path: str | Path) -> InputError:
    return InputError(
        f"{shown_url(os.fspath(path))} has changed while it was read, so what was found in it cannot be trusted",
        hint="run again when nothing writes to it any more; answers of systems are kept",
    )


def cached_scan(
    what: str, path: str | Path, compute: Callable[[], dict[str, Any]], *, folder: Path | None, state: FileState | None
) -> dict[str, Any]:
    """Return what is known of a file in a state, or compute it and keep it in a folder."""
    if folder is None or state is None:
        return compute()
    identity = [VERSION, *state.identity]
    name = shown_url(str(path)) if is_remote(path) else os.path.abspath(path)  # noqa: PTH100 (links stay as named)
    note = folder / f"{digest_of([what, name])[:32]}.json"
    try:
        known = json.loads(note.read_text("utf-8"))
        if known["identity"] == identity and known["check"] == digest_of([identity, known["found"]]):
            return dict(known["found"])
    except (OSError, ValueError, TypeError, KeyError, RecursionError):  # there is no note, or it was damaged
        pass
    found = compute()
    if state.settled and state.is_that_of(path):
        record = {
            "path": shown_url(str(path)),
            "identity": identity,
            "found": found,
            "check": digest_of([identity, found]),
        }
        with suppress(OSError, RankscopeError):  # it can be computed again
            folder.mkdir(parents=True, exist_ok=True)
            write_text(note, json.dumps(record) + "\n")
    return found
