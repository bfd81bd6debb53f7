"""Writing an imported collection to a folder, so that `rankscope evaluate` can take it from there."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from rankscope.io.files import make_folder, write_jsonl, write_text
from rankscope.io.write import write_qrels, write_run
from rankscope.predecessors.importers.model import ImportedCollection
from rankscope.records import Record, to_builtins


class WrittenCollection(Record):
    """The files that were written, with how many rows each holds."""

    folder: Path
    files: Mapping[str, int]


def write_collection(collection: ImportedCollection, folder: str | Path) -> WrittenCollection:
    """Write qrels, runs, queries, docs, opinions, recorded scores and a summary; what is empty is not written."""
    target = Path(folder)
    make_folder(target)
    files: dict[str, int] = {}
    if collection.judgments:
        name = f"qrels.{suffix((row.query, row.doc) for row in collection.judgments)}"
        write_qrels(collection.qrels_rows, target / name)
        files[name] = len(collection.judgments)
    for run in collection.runs:
        (target / "runs").mkdir(exist_ok=True)
        ending = "jsonl" if suffix((row.query, row.doc) for row in run.results) == "jsonl" else "run"
        stem = re.sub(r"[^\w.+()-]+", "-", run.name).strip("-.") or "run"
        taken = sum(name.rpartition(".")[0] == f"runs/{stem}" for name in files)
        name = f"runs/{stem}{f'-{taken + 1}' if taken else ''}.{ending}"
        write_run(run.rows, target / name)
        files[name] = len(run.results)
    tables = {
        "queries.jsonl": [{"id": query.id, "text": query.text, **query.attributes} for query in collection.queries],
        "docs.jsonl": [{"id": doc.id, **doc.fields} for doc in collection.docs],
        "opinions.jsonl": [to_builtins(opinion) for opinion in collection.opinions],
        "scores.jsonl": [to_builtins(score) for score in collection.scores],
    }
    for name, records in tables.items():
        if records:
            write_jsonl(records, target / name)
            files[name] = len(records)
    write_text(target / "summary.json", json.dumps(summary_of(collection, files), indent=1, ensure_ascii=False) + "\n")
    return WrittenCollection(target, files)


def suffix(ids: Iterable[tuple[str, str]]) -> str:
    """Return the format that can hold the ids: TREC text has no room for blanks."""
    return "jsonl" if any(re.search(r"\s", part) for pair in ids for part in pair) else "txt"


def summary_of(collection: ImportedCollection, files: Mapping[str, int]) -> dict[str, Any]:
    """Return what was imported, in one record."""
    return {
        "kind": collection.kind,
        "title": collection.title,
        "queries": len(collection.queries),
        "judged_queries": len({judgment.query for judgment in collection.judgments}),
        "judgments": len(collection.judgments),
        "runs": [run.name for run in collection.runs],
        "docs": len(collection.docs),
        "opinions": len(collection.opinions),
        "scores": len(collection.scores),
        "files": dict(files),
        "notes": list(collection.notes),
    }
