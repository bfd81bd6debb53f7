"""The runs of a collection as files in the output folder."""

from __future__ import annotations

import hashlib
import os
import re
from array import array
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from rankscope.data.run import Run
from rankscope.data.sources import FileSource, Origin
from rankscope.experiment.answer_store import AnswerLog
from rankscope.io.rows import RunRows
from rankscope.io.write import write_run


def file_name(name: str) -> str:
    """Return a name that a file can have on any system, and that no other name of a system or collection has."""
    plain = re.sub(r"[^A-Za-z0-9_+-]+", "-", name).strip("-")
    if plain == name:
        return name
    mark = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:6]
    return f"{plain}-{mark}" if plain else mark


class RunFiles:
    """Writes the runs of a collection, and knows the docs that are in each of them."""

    def __init__(self, folder: Path, *, project_folder: Path) -> None:
        self._folder = folder
        self._project_folder = project_folder
        self.docs: dict[str, dict[str, None]] = {}
        """The docs that each system has retrieved, once each, in the order of their rows."""
        self._ids: dict[str, str] = {}
        """Every id once, so that the systems share one text."""

    def write(self, name: str, rows: RunRows) -> str | None:
        """Write the run of a system in one piece; return where it is, from the project's folder, None without rows.

        TREC text has no room for ids with blanks, so runs with such ids are written as JSON lines.
        """
        self._folder.mkdir(parents=True, exist_ok=True)
        self.docs[name] = {self._ids.setdefault(doc, doc): None for doc in rows.doc}
        has_blanks = any(map(re.compile(r"\s").search, {*rows.query, *rows.doc}))
        ending = None if not len(rows) else "jsonl.gz" if has_blanks else "trec.gz"
        for other in {"trec.gz", "jsonl.gz"} - {ending}:
            (self._folder / f"{file_name(name)}.{other}").unlink(missing_ok=True)
        if ending is None:
            return None
        target = self._folder / f"{file_name(name)}.{ending}"
        write_run(rows, target)
        return Path(os.path.relpath(target, self._project_folder)).as_posix()

    def open(self, name: str, path: str) -> Run:
        return Run(ProjectRunSource(self._project_folder / path, shown=path), name=name)


class ProjectRunSource(FileSource):
    """A run of a project, whose records name it from the project's folder: they are the same on every machine."""

    def __init__(self, path: Path, *, shown: str) -> None:
        super().__init__(os.path.normpath(path))
        self._shown = shown

    @property
    def origin(self) -> Origin:
        found = super().origin
        return Origin(self._shown, found.format, found.digest)


def run_rows(log: AnswerLog, queries: Sequence[str], *, tag: str) -> RunRows:
    """Return all answers of a log as the rows of a run, in the order of the queries."""
    names: list[str] = []
    docs: list[str] = []
    scores, ranks = array("d"), array("q")
    for query in queries:
        if query in log.summary.answered:
            ranking = log.ranking(query)
            names += [query] * len(ranking)
            docs += [doc for doc, _ in ranking]
            scores.extend(score for _, score in ranking)
            ranks.extend(range(1, len(ranking) + 1))
    return RunRows(names, docs, np.array(scores), np.array(ranks, dtype=np.int64), tag)
