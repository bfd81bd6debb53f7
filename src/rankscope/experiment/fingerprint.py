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


def qrels_digest(qrels: Qrels) -> str:
    """Hash judgments; their order does not matter."""
    rows = qrels.rows
    subtopics = rows.subtopic if rows.subtopic is not None else [""] * len(rows)
    return digest_of(map(list, sorted(zip(rows.query, rows.doc, subtopics, rows.grade.tolist(), strict=True))))


def cached_scan(what: str, path: Path, compute: Callable[[], dict[str, Any]], *, folder: Path | None) -> dict[str, Any]:
    """Return what is known of a file by its path, size and time of change, or compute it and keep it in a folder."""
    if folder is None or not path.is_file():
        return compute()
    status = path.stat()
    identity = [VERSION, status.st_size, status.st_mtime_ns, status.st_ino]
    note = folder / f"{digest_of([what, os.path.abspath(path)])[:32]}.json"  # noqa: PTH100 (links stay as named)
    try:
        known = json.loads(note.read_text("utf-8"))
    except (OSError, ValueError):  # there is no note, or it was damaged
        known = None
    if isinstance(known, dict) and known.get("identity") == identity:
        return dict(known["found"])
    found = compute()
    folder.mkdir(parents=True, exist_ok=True)
    write_text(note, json.dumps({"path": str(path), "identity": identity, "found": found}) + "\n")
    return found
