"""Content hashes: what a collection says, whatever format it is kept in, and a cache of what was hashed before."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from rankscope.data.qrels import Qrels
from rankscope.data.queries import QueryTable
from rankscope.io.files import write_text

VERSION = 1
"""Changes when the same content would hash or scan to something else than before."""


class ContentDigest:
    """A SHA-256 over records, each written in one way only."""

    def __init__(self) -> None:
        self._sha256 = hashlib.sha256()

    def add(self, record: Any) -> None:
        text = json.dumps(record, ensure_ascii=False, sort_keys=True, separators=(",", ":"), default=str)
        self._sha256.update(text.encode("utf-8", "backslashreplace") + b"\n")

    def hexdigest(self) -> str:
        return self._sha256.hexdigest()


def digest_of(records: Iterable[Any]) -> str:
    digest = ContentDigest()
    for record in records:
        digest.add(record)
    return digest.hexdigest()


def queries_digest(queries: QueryTable) -> str:
    """Return the digest of queries, their texts and attributes; their order does not matter."""
    texts = queries.texts or {}
    return digest_of([query, texts.get(query), queries.attributes_of(query)] for query in sorted(queries.ids))


def qrels_digest(qrels: Qrels) -> str:
    """Return the digest of judgments; their order does not matter."""
    rows = qrels.rows
    subtopics = rows.subtopic if rows.subtopic is not None else [""] * len(rows)
    return digest_of(map(list, sorted(zip(rows.query, rows.doc, subtopics, rows.grade.tolist(), strict=True))))


class ScanCache:
    """Keeps in a folder what was found out about files, as long as the file stays the same."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder

    def get(self, what: str, path: Path, compute: Callable[[], Mapping[str, Any]]) -> Mapping[str, Any]:
        """Return what is known of a file by its path, size and time of change, or compute it and keep it."""
        if self._folder is None or not path.is_file():
            return compute()
        status = path.stat()
        identity = [VERSION, status.st_size, status.st_mtime_ns, status.st_ino]
        note = self._folder / f"{digest_of([what, os.path.abspath(path)])[:32]}.json"  # noqa: PTH100 (links stay as named)
        try:
            known = json.loads(note.read_text("utf-8"))
        except (OSError, ValueError):  # there is no note, or it was damaged
            known = None
        found: Mapping[str, Any]
        if isinstance(known, dict) and known.get("identity") == identity:
            found = known["found"]
            return found
        found = compute()
        self._folder.mkdir(parents=True, exist_ok=True)
        write_text(note, json.dumps({"path": str(path), "identity": identity, "found": dict(found)}) + "\n")
        return found
