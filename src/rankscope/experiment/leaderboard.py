"""Systems over many collections: means of different collections are never averaged, but ranks and standardised scores.

A score is standardised query by query: the share of reference runs that score lower, those that score the same counting
half (the empirical distribution of Urbano, Lima and Hanjalic, SIGIR 2019). The reference runs of a collection are the
first ten different rankings that the store has of its queries, so that the numbers stay when others are added.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
from scipy.stats import rankdata

from rankscope._version import __version__
from rankscope.arrays import Floats
from rankscope.comparison.known_measures import range_of
from rankscope.errors import InputError, OptionError
from rankscope.experiment.stored_scoring import HistoryScorer, measure_with_margin, policies_of
from rankscope.records import Record, StoredRecord, or_none
from rankscope.stats.interval import mean_interval
from rankscope.store import Store, StoredRun

N_REFERENCE = 10
"""Fewer reference runs say too little of how hard a query is."""


class LeaderboardCell(Record, kw_only=True):
    """The newest run of one system on one collection."""

    run: int
    mean: float | None
    low: float | None
    high: float | None
    rank: float | None
    """Among the systems that are on all collections; those with the same mean share the mean of their places."""
    standardised: float | None


class LeaderboardSystem(Record, kw_only=True):
    """One system on all collections, in their order; None where it has no run that could be compared."""

    system: str
    cells: tuple[LeaderboardCell | None, ...]
    mean_rank: float | None
    """None where it is not on all collections."""
    standardised: float | None
    """The mean over collections, each counting the same; None where one has no standardised scores."""


class LeaderboardCollection(Record, kw_only=True):
    """What the numbers of one collection are about."""

    name: str
    n_queries: int
    n_reference: int
    """Reference runs for standardised scores; with fewer than ten there are none."""
    left_out: tuple[str, ...] = ()
    """Systems whose newest run was asked other queries than the newest run of all."""


class Leaderboard(StoredRecord, kw_only=True):
    """Systems over many collections, the best mean rank first."""

    rankscope: str
    measure: str
    better: Literal["higher", "lower"]
    tag: str | None
    """The tag that runs were taken by; null for the newest of each system."""
    collections: tuple[LeaderboardCollection, ...]
    rows: tuple[LeaderboardSystem, ...]


def leaderboard_of(
    store: Store,
    *,
    measure: str | None = None,
    collections: Sequence[str] = (),
    systems: Sequence[str] = (),
    tag: str | None = None,
) -> Leaderboard:
    """Return the newest run of every system on every collection, under the judgments of today."""
    known = store.runs.collections()
    for name in collections:
        if name not in known:
            raise OptionError(f"the store has no runs on {name!r}", hint=f"there are {', '.join(known) or 'none'}")
    names = tuple(name for name in known if not collections or name in collections)
    if not names:
        raise InputError("the store has no runs yet", hint="`rankscope run` stores the first")
    runs = {name: store.runs.list(collection=name) for name in names}
    wanted = measure_with_margin(store, [run for listed in runs.values() for run in listed], measure).measure
    newest = {name: newest_of(listed, systems, tagged_numbers(store, tag)) for name, listed in runs.items()}
    everyone = list(dict.fromkeys(system for by_system in newest.values() for system in by_system))
    if not everyone:
        raise InputError("no stored run is like that", hint="see `rankscope history` for what there is")
    lower = wanted.spec.better == "lower"
    columns, facts = [], []
    complete = [system for system in everyone if all(system in by_system for by_system in newest.values())]
    for name in names:
        labels = store.qrels.find(name)
        scorer = HistoryScorer(store, wanted, policies_of(runs[name][-1]))
        chosen = {run.number for run in newest[name].values()}
        asked = next(run for run in reversed(runs[name]) if run.number in chosen).queries_sha256
        same = {system: run for system, run in newest[name].items() if run.queries_sha256 == asked}
        complete = [system for system in complete if system in same]
        reference = reference_runs(runs[name], asked)
        vectors = {system: scorer.scores(run, labels).vector.values for system, run in same.items()}
        known_scores = [scorer.scores(run, labels).vector.values for run in reference]
        columns.append((same, vectors, known_scores))
        facts.append(
            LeaderboardCollection(
                name=name,
                n_queries=len(next(iter(vectors.values()))),
                n_reference=len(reference),
                left_out=tuple(system for system in newest[name] if system not in same),
            )
        )
    cells = [
        cells_of(same, vectors, reference, complete=complete, lower=lower, measure=wanted.name)
        for same, vectors, reference in columns
    ]
    rows = [row_of(system, [column.get(system) for column in cells]) for system in everyone]
    rows.sort(key=lambda row: (row.mean_rank is None, row.mean_rank or 0.0, row.system))
    return Leaderboard(
        rankscope=__version__,
        measure=wanted.name,
        better="lower" if lower else "higher",
        tag=tag,
        collections=tuple(facts),
        rows=tuple(rows),
    )


def tagged_numbers(store: Store, tag: str | None) -> frozenset[int] | None:
    """Return the runs that have ever had a tag, as a tag is on one run only; None where none is asked for."""
    if tag is None:
        return None
    moved = [move.run for move in store.tags.moves(tag)]
    if not moved:
        raise OptionError(f"there is no tag {tag!r}", hint=f"there are {', '.join(store.tags.current()) or 'none'}")
    return frozenset(number for number in moved if number is not None)


def newest_of(
    runs: Sequence[StoredRun], systems: Sequence[str], numbers: frozenset[int] | None
) -> dict[str, StoredRun]:
    """Return the newest run of each system; `runs` are in the order of time."""
    kept = (
        run for run in runs if (not systems or run.system in systems) and (numbers is None or run.number in numbers)
    )
    return {run.system: run for run in kept}


def reference_runs(runs: Sequence[StoredRun], queries_sha256: str) -> list[StoredRun]:
    """Return the first different rankings of some queries, in the order in which they were stored."""
    first: dict[str, StoredRun] = {}
    for run in sorted(runs, key=lambda run: run.number):
        if run.queries_sha256 == queries_sha256:
            first.setdefault(run.ranking_sha256, run)
    return list(first.values())[:N_REFERENCE]


def cells_of(
    runs: Mapping[str, StoredRun],
    vectors: Mapping[str, Floats],
    reference: Sequence[Floats],
    *,
    complete: Sequence[str],
    lower: bool,
    measure: str,
) -> dict[str, LeaderboardCell]:
    means = {system: mean_of(values) for system, values in vectors.items()}
    ranked = [system for system in complete if not np.isnan(means[system])]
    places = rankdata([means[system] if lower else -means[system] for system in ranked]) if ranked else ()
    rank_of = dict(zip(ranked, map(float, places), strict=True))
    cells = {}
    for system, values in vectors.items():
        known = values[~np.isnan(values)]
        interval = mean_interval(known, range=range_of(measure)) if len(known) > 1 else None
        cells[system] = LeaderboardCell(
            run=runs[system].number,
            mean=or_none(means[system]),
            low=None if interval is None else interval.low,
            high=None if interval is None else interval.high,
            rank=rank_of.get(system),
            standardised=standardised(values, reference, lower=lower),
        )
    return cells


def mean_of(values: Floats) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else float("nan")


def standardised(values: Floats, reference: Sequence[Floats], *, lower: bool) -> float | None:
    """Return the mean over queries of the share of reference runs that are worse, equal ones counting half.

    None with fewer than ten reference runs. Queries that are undefined for one of them are left out.
    """
    if len(reference) < N_REFERENCE:
        return None
    others = np.stack(reference)
    known = ~np.isnan(values) & ~np.isnan(others).any(axis=0)
    if not known.any():
        return None
    own, others = values[known], others[:, known]
    worse = (others > own) if lower else (others < own)
    return float((worse + 0.5 * (others == own)).mean())


def row_of(system: str, cells: Sequence[LeaderboardCell | None]) -> LeaderboardSystem:
    ranks = [None if cell is None else cell.rank for cell in cells]
    shares = [None if cell is None else cell.standardised for cell in cells]
    return LeaderboardSystem(
        system=system,
        cells=tuple(cells),
        mean_rank=mean_if_all(ranks),
        standardised=mean_if_all(shares),
    )


def mean_if_all(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known and len(known) == len(values) else None
