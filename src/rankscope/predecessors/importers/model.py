"""What importing a predecessor's file gives, one shape for all of them, and how it is written to a folder."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Container, Iterable, Mapping, Sequence
from itertools import chain, count
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np
from msgspec import field

from rankscope.data.judgments import SingleJudgment, summarise_judgments, with_uuid, write_judgments
from rankscope.errors import InputError
from rankscope.io.files import make_folder, write_jsonl, write_text
from rankscope.io.rows import QrelsRows, RunRows
from rankscope.io.write import write_qrels, write_run
from rankscope.predecessors.importers.content import number_or_none, shown
from rankscope.records import Record, to_builtins

_LONGEST_STEM = 50
"""So many letters of a run's name are the name of its file; four bytes each, and an ending, are less than any limit."""


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
    by: Literal["people", "judge"] = "people"
    """A judge is a model; what it says and what people say are never mixed in one file."""


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


class RecordedScore(Record, omit_defaults=True):
    """A number that the file itself states, to be compared with what Rankscope computes."""

    system: str
    query: str | None
    """None for a number over all queries."""
    measure: str
    value: float | None
    lower_is_better: bool = False
    file: str = ""
    """Where it stands, if several files were imported."""


class ImportedCollection(msgspec.Struct):
    """All that a file holds, in Rankscope's terms; filled on the way through it."""

    title: str
    """What the file is, in words."""
    kind: str = ""
    made: str = ""
    """When the file was made, as far as it says so."""
    is_nameless: bool = False
    """Whether it does not say what was searched for, so that its query is simply called "query"."""
    has_texts_only: bool = False
    """Whether it names queries by their texts, so that their ids are made from these."""
    sources: dict[str, str] = field(default_factory=dict)
    """What was imported: the kind of each file."""
    queries: list[ImportedQuery] = field(default_factory=list)
    judgments: list[ImportedJudgment] = field(default_factory=list)
    runs: list[ImportedRun] = field(default_factory=list)
    docs: list[ImportedDoc] = field(default_factory=list)
    opinions: list[SingleJudgment] = field(default_factory=list)
    """Flags, choices and verdicts of a model, each on one result."""
    scores: list[RecordedScore] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """What a user should know: names that were not resolved, cases that failed, what the file does not hold."""

    def add_query(self, query: str, text: Any = "", attributes: Mapping[str, Any] | None = None) -> None:
        self.queries.append(ImportedQuery(query, str(text or ""), dict(attributes or {})))

    def add_doc(self, doc: str, fields: Mapping[str, Any]) -> None:
        """Add a doc; one that is shown again may add fields."""
        self.docs.append(ImportedDoc(doc, fields))

    def add_judgments(
        self, query: str, docs: Iterable[str], grade: float = 1.0, *, by: Literal["people", "judge"] = "people"
    ) -> None:
        self.judgments.extend(ImportedJudgment(query, doc, grade, by) for doc in docs)

    def add_opinion(self, opinion: SingleJudgment) -> None:
        self.opinions.append(with_uuid(opinion))

    def add_results(self, system: str, query: str, results: Iterable[tuple[str, Any]]) -> None:
        """Add (doc, score) at the end of a system's list; what is no number is no score."""
        run = next((run for run in self.runs if run.name == system), None)
        if run is None:
            run = ImportedRun(system)
            self.runs.append(run)
        run.results.extend(ImportedResult(query, doc, number_or_none(score)) for doc, score in results)

    def add_scores(
        self, system: str, query: str | None, values: Mapping[str, Any], *, lower_is_better: Container[str] = ()
    ) -> None:
        """Add numbers that the file states; what is no number has no value, and is noted."""
        place = "" if query is None else f" for query {query}"
        self.notes += [
            f"{key} of {system}{place} is {shown(value)}, which is no number"
            for key, value in values.items()
            if isinstance(value, str | float) and number_or_none(value) is None
        ]
        self.scores.extend(
            RecordedScore(system, query, key, number_or_none(value), key in lower_is_better)
            for key, value in values.items()
        )

    @property
    def systems(self) -> tuple[str, ...]:
        """The systems that lists or scores are of."""
        named = [run.name for run in self.runs] + [score.system for score in self.scores]
        return tuple(dict.fromkeys(named))

    @property
    def qrels_rows(self) -> QrelsRows:
        """The judgments of people as the rows of qrels; those of a judge where there are no others."""
        return rows_of(self.judged_by("people") or self.judgments)

    def judged_by(self, who: str) -> list[ImportedJudgment]:
        return [judgment for judgment in self.judgments if judgment.by == who]

    @property
    def flags(self) -> list[SingleJudgment]:
        return [opinion for opinion in self.opinions if opinion.flag]

    @property
    def choices(self) -> list[SingleJudgment]:
        return [opinion for opinion in self.opinions if opinion.choice]

    @property
    def verdicts(self) -> list[SingleJudgment]:
        """What a model said."""
        return [opinion for opinion in self.opinions if opinion.source.kind == "judge"]

    def summary(self, files: Mapping[str, int]) -> dict[str, Any]:
        """Return what was imported, and how many rows each file has that was written."""
        return {
            "kind": self.kind,
            "title": self.title,
            "sources": dict(self.sources),
            "queries": len(self.queries),
            "judged_queries": len({judgment.query for judgment in self.judgments}),
            "judgments": len(self.judgments),
            "runs": [run.name for run in self.runs],
            "docs": len(self.docs),
            "flags": to_builtins(summarise_judgments(self.flags)),
            "choices": to_builtins(summarise_judgments(self.choices)),
            "verdicts": len(self.verdicts),
            "scores": sum(score.query is not None for score in self.scores),
            "means": sum(score.query is None for score in self.scores),
            "files": dict(files),
            "notes": list(self.notes),
        }


def write_collection(collection: ImportedCollection, folder: str | Path) -> dict[str, int]:
    """Write what is not empty, and a summary, for `rankscope evaluate` to take; return {file: number of rows}.

    The folder gets all of it or nothing.
    """
    target = Path(folder)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise InputError(
            f"{target} is there already, and nothing is added to it",
            hint="name a new folder, and all files at once: rankscope import FILE FILE … -o FOLDER",
        )
    make_folder(target)
    try:
        return _write_files(collection, target)
    except BaseException:
        for path in target.iterdir():  # it was empty
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        raise


def _write_files(collection: ImportedCollection, target: Path) -> dict[str, int]:
    files: dict[str, int] = {}
    chosen = dict.fromkeys((opinion.query, opinion.doc) for opinion in collection.choices)
    qrels = {
        "qrels": collection.judged_by("people"),
        "qrels-judge": collection.judged_by("judge"),
        "choices": [ImportedJudgment(query, doc, 1.0) for query, doc in chosen],
    }
    for stem, judgments in qrels.items():
        if judgments:
            name = f"{stem}.{'jsonl' if has_blanks(judgments) else 'txt'}"
            write_qrels(rows_of(judgments), target / name)
            files[name] = len(judgments)
    for run in collection.runs:
        (target / "runs").mkdir(exist_ok=True)
        stem = re.sub(r"[^\w.+()-]+", "-", run.name).strip("-.")[:_LONGEST_STEM] or "run"
        taken = {name.rpartition(".")[0] for name in files}
        free = next(own for own in chain([stem], (f"{stem}-{n}" for n in count(2))) if f"runs/{own}" not in taken)
        name = f"runs/{free}.{'jsonl' if has_blanks(run.results) else 'run'}"
        write_run(run.rows, target / name)
        files[name] = len(run.results)
    tables = {
        "queries.jsonl": [{"id": query.id, "text": query.text, **query.attributes} for query in collection.queries],
        "docs.jsonl": [{"id": doc.id, **doc.fields} for doc in collection.docs],
        "scores.jsonl": to_builtins([score for score in collection.scores if score.query is not None]),
        "means.jsonl": [
            {name: value for name, value in to_builtins(score).items() if name != "query"}
            for score in collection.scores
            if score.query is None
        ],
    }
    for name, records in tables.items():
        if records:
            write_jsonl(records, target / name)
            files[name] = len(records)
    if collection.opinions:
        write_judgments(collection.opinions, target / "judgments.jsonl")
        files["judgments.jsonl"] = len(collection.opinions)
    write_text(target / "summary.json", json.dumps(collection.summary(files), indent=1, ensure_ascii=False) + "\n")
    return files


def rows_of(judgments: Sequence[ImportedJudgment]) -> QrelsRows:
    return QrelsRows(
        query=[judgment.query for judgment in judgments],
        doc=[judgment.doc for judgment in judgments],
        grade=np.array([judgment.grade for judgment in judgments], dtype=np.float64),
    )


def has_blanks(rows: Iterable[ImportedJudgment | ImportedResult]) -> bool:
    """Tell whether an id has blanks, for which TREC text has no room."""
    return any(re.search(r"\s", part) for row in rows for part in (row.query, row.doc))
