"""What importing a predecessor's file gives: one shape for all of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np
from msgspec import field

from rankscope.io.rows import QrelsRows, RunRows
from rankscope.records import Record


class ImportedQuery(Record):
    """A query with what is known of it: language, difficulty, specialty and so on."""

    id: str
    text: str = ""
    attributes: Mapping[str, Any] = field(default_factory=dict)


class ImportedDoc(Record):
    """A doc with its fields, such as title, source or date."""

    id: str
    fields: Mapping[str, Any] = field(default_factory=dict)


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
    results: list[ImportedResult]

    @property
    def rows(self) -> RunRows:
        """The run as rows; where scores are missing or do not fall, each list is scored by its order."""
        n_of: dict[str, int] = {}
        ranks = []
        for result in self.results:
            n_of[result.query] = n_of.get(result.query, 0) + 1
            ranks.append(n_of[result.query])
        scores = [result.score for result in self.results]
        if not self.scores_fall:
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

    @property
    def scores_fall(self) -> bool:
        """Whether every result has a score, and none a higher one than the result above it."""
        last: dict[str, float] = {}
        for result in self.results:
            if result.score is None or result.score > last.get(result.query, result.score):
                return False
            last[result.query] = result.score
        return True


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

    kind: str
    title: str
    """What the file is, in words."""
    queries: list[ImportedQuery] = field(default_factory=list)
    judgments: list[ImportedJudgment] = field(default_factory=list)
    runs: list[ImportedRun] = field(default_factory=list)
    docs: list[ImportedDoc] = field(default_factory=list)
    opinions: list[Opinion] = field(default_factory=list)
    scores: list[RecordedScore] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """What a user should know: names that were not resolved, cases that failed, what the file does not hold."""

    def results(self, system: str) -> list[ImportedResult]:
        """Return the results of a system so far, to which others can be added."""
        run = next((run for run in self.runs if run.name == system), None)
        if run is None:
            run = ImportedRun(system, [])
            self.runs.append(run)
        return run.results

    @property
    def qrels_rows(self) -> QrelsRows:
        return QrelsRows(
            query=[judgment.query for judgment in self.judgments],
            doc=[judgment.doc for judgment in self.judgments],
            grade=np.array([judgment.grade for judgment in self.judgments], dtype=np.float64),
        )
