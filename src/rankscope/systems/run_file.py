"""A system that is an existing run: what it retrieved is read from its file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, ClassVar

from rankscope.data.loading import load_run
from rankscope.systems.answers import check_ranking
from rankscope.systems.base import OptionSystem, Query, RankedDocs
from rankscope.systems.fusion import docs_in


class RunFileSystem(OptionSystem, kw_only=True):
    """Answers from a run file in any format that Rankscope reads; a query that is not in it finds nothing."""

    kind: ClassVar[str] = "run"
    path: str | os.PathLike[str]
    """The run's file."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._run = load_run(self.path, name=self.name)

    def rank(self, queries: Sequence[Query], *, k: int) -> Sequence[RankedDocs]:
        return [
            self._listed(query.id, k=k) if self.keeps_repeats else docs_in(self._run, query.id)[:k] for query in queries
        ]

    def _listed(self, query: str, *, k: int) -> RankedDocs:
        """Return the rows of a query, also those that list a doc again."""
        if query not in self._run.rankings:
            return []
        listed = self._run.rankings.listed(query)
        return check_ranking(zip(listed.docs, listed.scores.tolist(), strict=True), k=k, repeats=True)

    def describe(self) -> dict[str, Any]:
        """Return the file's content hash, which stands for all else."""
        origin = self._run.origin
        return {"type": self.kind, "sha256": origin.sha256 if origin else ""}
