"""What importing a predecessor's file gives, one shape for all of them, and how it is written to a folder."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from msgspec import field

from rankscope.io.files import make_folder, write_jsonl, write_text
from rankscope.io.rows import QrelsRows, RunRows
from rankscope.io.write import write_qrels, write_run
from rankscope.predecessors.importers.content import number_or_none
from rankscope.records import Record, to_builtins


class ImportedQuery(Record):
    """A query with what is known of it: language, difficulty, specialty and so on."""

    id: str
    text: str = ""
    attributes: Mapping[str, Any] = field(default_factory=dict)


class ImportedDoc(Record):
    """A doc with its fields, such as title, source or date."""

    id: str
    fields: Mapping[str, Any]


class ImportedJudgment(Record):
    """How relevant a doc is to a query."""

    query: str
    doc: str
    grade: float


class ImportedResult(Record):
    """A doc at its place in a list; lists are kept in order."""

    query: str
    doc: str
    score: float | None = None


class ImportedRun(msgspec.Struct):
    """The lists of one system."""

    name: str
    results: list[ImportedResult] = field(default_factory=list)

    @property
    def rows(self) -> RunRows:
        """The run as rows; where scores are missing or rise within a list, each list is scored by its order."""
        n_of: dict[str, int] = {}
        last: dict[str, float] = {}
        ranks = []
        falls = True
        for result in self.results:
            n_of[result.query] = n_of.get(result.query, 0) + 1
            ranks.append(n_of[result.query])
            if result.score is None or result.score > last.setdefault(result.query, result.score):
                falls = False
            else:
                last[result.query] = result.score
        scores = [result.score for result in self.results]
        if not falls:
            scores = [float(n_of[result.query] - rank + 1) for result, rank in zip(self.results, ranks, strict=True)]
        return RunRows(
            query=[result.query for result in self.results],
            doc=[result.doc for result in self.results],
            score=np.array(scores, dtype=np.float64),
            rank=np.array(ranks, dtype=np.int64),
            tag="_".join(self.name.split()) or "run",
        )

    @property
    def n_repeats(self) -> int:
        """How many results show a doc that their list has shown already."""
        return len(self.results) - len({(result.query, result.doc) for result in self.results})


class Opinion(Record):
    """What a tester said of one result: a flag with its reason, or that they would choose it."""

    query: str
    system: str
    doc: str
    kind: str
    """Either "flag" or "choice", or the words of a judge."""
    note: str = ""


class RecordedScore(Record):
    """A number that the file itself states, to be compared with what Rankscope computes."""

    system: str
    query: str | None
    """None for a number over all queries."""
    key: str
    value: float | None


class ImportedCollection(msgspec.Struct):
    """All that a file holds, in Rankscope's terms; filled on the way through it."""

    title: str
    """What the file is, in words."""
    kind: str = ""
    queries: list[ImportedQuery] = field(default_factory=list)
    judgments: list[ImportedJudgment] = field(default_factory=list)
    runs: list[ImportedRun] = field(default_factory=list)
    docs: list[ImportedDoc] = field(default_factory=list)
    opinions: list[Opinion] = field(default_factory=list)
    scores: list[RecordedScore] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """What a user should know: names that were not resolved, cases that failed, what the file does not hold."""

    def add_query(self, query: str, text: Any = "", attributes: Mapping[str, Any] | None = None) -> None:
        self.queries.append(ImportedQuery(query, str(text or ""), attributes or {}))

    def add_judgments(self, query: str, docs: Iterable[str], grade: float = 1.0) -> None:
        self.judgments.extend(ImportedJudgment(query, doc, grade) for doc in docs)

    def add_results(self, system: str, query: str, results: Iterable[tuple[str, Any]]) -> None:
        """Add (doc, score) at the end of a system's list; what is no number is no score."""
        run = next((run for run in self.runs if run.name == system), None)
        if run is None:
            run = ImportedRun(system)
            self.runs.append(run)
        run.results.extend(ImportedResult(query, doc, number_or_none(score)) for doc, score in results)

    def add_scores(self, system: str, query: str | None, values: Mapping[str, Any]) -> None:
        """Add numbers that the file states; what is no number has no value."""
        self.scores.extend(RecordedScore(system, query, key, number_or_none(value)) for key, value in values.items())

    @property
    def qrels_rows(self) -> QrelsRows:
        return QrelsRows(
            query=[judgment.query for judgment in self.judgments],
            doc=[judgment.doc for judgment in self.judgments],
            grade=np.array([judgment.grade for judgment in self.judgments], dtype=np.float64),
        )

    def summary(self, files: Mapping[str, int]) -> dict[str, Any]:
        """Return what was imported, and how many rows each file has that was written."""
        return {
            "kind": self.kind,
            "title": self.title,
            "queries": len(self.queries),
            "judged_queries": len({judgment.query for judgment in self.judgments}),
            "judgments": len(self.judgments),
            "runs": [run.name for run in self.runs],
            "docs": len(self.docs),
            "opinions": len(self.opinions),
            "scores": len(self.scores),
            "files": dict(files),
            "notes": list(self.notes),
        }


def write_collection(collection: ImportedCollection, folder: str | Path) -> dict[str, int]:
    """Write what is not empty, and a summary, for `rankscope evaluate` to take; return {file: number of rows}."""
    target = Path(folder)
    make_folder(target)
    files: dict[str, int] = {}
    if collection.judgments:
        name = f"qrels.{'jsonl' if has_blanks(collection.judgments) else 'txt'}"
        write_qrels(collection.qrels_rows, target / name)
        files[name] = len(collection.judgments)
    for run in collection.runs:
        (target / "runs").mkdir(exist_ok=True)
        stem = re.sub(r"[^\w.+()-]+", "-", run.name).strip("-.") or "run"
        taken = sum(name.rpartition(".")[0] == f"runs/{stem}" for name in files)
        ending = "jsonl" if has_blanks(run.results) else "run"
        name = f"runs/{stem}{f'-{taken + 1}' if taken else ''}.{ending}"
        write_run(run.rows, target / name)
        files[name] = len(run.results)
    tables = {
        "queries.jsonl": [{"id": query.id, "text": query.text, **query.attributes} for query in collection.queries],
        "docs.jsonl": [{"id": doc.id, **doc.fields} for doc in collection.docs],
        "opinions.jsonl": to_builtins(collection.opinions),
        "scores.jsonl": to_builtins(collection.scores),
    }
    for name, records in tables.items():
        if records:
            write_jsonl(records, target / name)
            files[name] = len(records)
    write_text(target / "summary.json", json.dumps(collection.summary(files), indent=1, ensure_ascii=False) + "\n")
    return files


def has_blanks(rows: Iterable[ImportedJudgment | ImportedResult]) -> bool:
    """Tell whether an id has blanks, for which TREC text has no room."""
    return any(re.search(r"\s", part) for row in rows for part in (row.query, row.doc))
