"""Fusion of whole runs, such as files of other systems."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from rankscope.data.loading import load_runs
from rankscope.data.run import Run
from rankscope.data.sources import RowsSource
from rankscope.errors import OptionError
from rankscope.io.rows import RunRows
from rankscope.systems.base import Ranking, best_first
from rankscope.systems.fusion import Fusion

if TYPE_CHECKING:
    from rankscope.data.shapes import RunsLike


def fuse_runs(runs: Sequence[Run], fusion: Fusion, *, depth: int | None = None, name: str = "fused") -> Run:
    """Return the fusion of runs, query by query; a run that does not answer a query has an empty list there.

    `depth` is how many docs of each run, and of the result, are looked at.
    """
    return Run(rows_of(fused_rankings(runs, fusion, depth=depth), name=name), name=name)


def fused_rankings(runs: Sequence[Run], fusion: Fusion, *, depth: int | None) -> dict[str, Ranking]:
    """Return the fused ranking of every query that any run answers."""
    if depth is not None and depth < 1:
        raise OptionError(f"depth is {depth}, but it must be 1 or more")
    queries = dict.fromkeys(query for run in runs for query in run.query_ids)
    fused = {}
    for query in queries:
        lists = [ranking_in(run, query)[:depth] for run in runs]
        fused[query] = fusion.fuse(lists)[:depth]
    return fused


def ranking_in(run: Run, query: str) -> Ranking:
    """Return what a run has for a query, best first; nothing where it does not answer it."""
    if query not in run.rankings:
        return []
    return best_first(run.rankings.ranking(query, duplicates="error").score_of)


def rows_of(rankings: dict[str, Ranking], *, name: str) -> RowsSource:
    """Return rankings as the rows of a run, with ranks."""
    queries = [query for query, ranking in rankings.items() for _ in ranking]
    pairs = [pair for ranking in rankings.values() for pair in ranking]
    ranks = [rank for ranking in rankings.values() for rank in range(1, len(ranking) + 1)]
    return RowsSource(
        RunRows(
            query=queries,
            doc=[doc for doc, _ in pairs],
            score=np.array([score for _, score in pairs], dtype=np.float64),
            rank=np.array(ranks, dtype=np.int64),
            tag=name,
            empty_queries=tuple(query for query, ranking in rankings.items() if not ranking),
        )
    )


def fuse(
    runs: RunsLike,
    *,
    method: str = "rrf",
    k: float = 60,
    weights: Sequence[float] | None = None,
    norm: str | None = None,
    depth: int | None = None,
    name: str = "fused",
) -> Run:
    """Fuse runs into one, query by query; a query that a run does not answer is fused from the others.

    Parameters
    ----------
    runs
        Two or more runs, as `evaluate` takes them.
    method
        rrf, weighted, combsum, combmnz, combanz, combmed, combmax, combmin, isr, log_isr or borda.
    k
        The constant of rrf: the larger, the less the first ranks stand out.
    weights
        How much each run counts, in their order; by default all alike.
    norm
        How scores are made comparable, for methods that look at them; minmax unless given.
    depth
        How many docs of each run, and of the result, are looked at; by default all.
    name
        The name of the fused run.

    Returns
    -------
    Run
        The fused run.

    Raises
    ------
    OptionError
        There is only one run, or an option has a value that it cannot have.

    Examples
    --------
    >>> import rankscope as rs
    >>> fused = rs.fuse([{"q": ["a", "b"]}, {"q": ["b", "c"]}])
    >>> rs.evaluate({"q": {"b": 1}}, fused, "RR")["fused"]["q", "RR"]
    1.0
    """
    loaded = load_runs(runs)
    if len(loaded) == 1:
        raise OptionError("one run cannot be fused", hint="give two or more")
    fusion = Fusion(method=method, k=k, weights=None if weights is None else tuple(weights), norm=norm)
    fusion.weights_for(len(loaded))
    return fuse_runs(loaded, fusion, depth=depth, name=name)
