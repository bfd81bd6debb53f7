"""The docs themselves: which ones stand at the top of each query's ranking, for measures that look beyond grades."""

from __future__ import annotations

from collections.abc import Sequence

from rankscope.align.policies import Policies
from rankscope.align.ranking import ranked_docs
from rankscope.align.reference import considered
from rankscope.data.run import Run
from rankscope.light import LightRecord


class TopDocs(LightRecord, eq=False):
    """The first docs of every query, best first, in the order of the hits' queries."""

    query_ids: tuple[str, ...]
    docs: tuple[tuple[str, ...], ...]

    def cut(self, k: int | None) -> tuple[tuple[str, ...], ...]:
        """Return at most k docs of every query."""
        return self.docs if k is None else tuple(docs[:k] for docs in self.docs)


def top_docs(run: Run, query_ids: Sequence[str], policies: Policies, *, depth: int | None) -> TopDocs:
    """Return the first docs of every query; a query that the run does not answer has none."""
    rankings = run.rankings
    found = tuple(
        tuple(ranked_docs(considered(run, query, policies), policies)[:depth]) if query in rankings else ()
        for query in query_ids
    )
    return TopDocs(tuple(query_ids), found)
