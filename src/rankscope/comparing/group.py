"""Groups of queries: all of them, or each language on its own; within each every pair, stratum and slice."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from rankscope.comparing.records import Compared, Comparison, Group, Place, QueryChange, Slice, Spread
from rankscope.core.arrays import Bools, Floats
from rankscope.core.scores import Scores
from rankscope.errors import OptionError
from rankscope.io.queries import QueryTable
from rankscope.stats.compare import MANY_PAIRS, Contest, Pair, Settings, compare_contests, interval_of, tukey
from rankscope.stats.multiple import benjamini_hochberg
from rankscope.stats.paired import ON_REQUEST, Test
from rankscope.stats.slices import contrast_p, counted_bins
from rankscope.stats.verdict import MIN_QUERIES, verdict_of

LANGUAGE = ("language", "lang")
"""Attributes whose values are never pooled unless asked for."""
MANY_VALUES = 20
"""An attribute with more values than this makes no slices of its own accord."""
SMALLEST_SLICE = 5
"""A slice that was not asked for has at least this many queries."""
SHOWN_QUERIES = 5
FULL_BELOW = 1_000
"""Exploratory comparisons over fewer queries than this get everything that the primary one gets."""
WORDS = (4, 8, 15)
RELEVANT = (2, 5, 20)
"""Where the ranges of query length in words, and of the number of relevant docs, begin anew."""


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """All that was asked for."""

    scores: Scores
    baseline: str
    primary: str
    by: tuple[str, ...]
    queries: QueryTable | None
    all_pairs: bool
    correction: str
    pool: bool
    cluster: str | None
    settings: Settings
    also: tuple[str, ...]
    n_relevant: Mapping[str, int] | None

    @property
    def query_ids(self) -> tuple[str, ...]:
        """All queries that any of the systems was scored on."""
        return tuple(dict.fromkeys(query for run in self.scores.values() for query in run.query_ids))

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """The pairs to compare, the reference first."""
        if self.all_pairs:
            return list(combinations(self.scores, 2))
        return [(self.baseline, name) for name in self.scores if name != self.baseline]


def compare_groups(asked: Groups) -> Comparison:
    """Return everything that was asked for."""
    ids = asked.query_ids
    columns = score_columns(asked.scores, ids)
    isolated_by, masks = language_masks(asked, ids)
    if asked.pool and not isolated_by:
        raise OptionError(
            "there is nothing to pool: the queries are not in several languages",
            hint="their attributes, given with queries, name the language of each",
        )
    slices = {name: list(slice_masks(asked, ids, mask)) for name, mask in masks.items()}
    contests = list(contests_of(asked, columns, masks, slices))
    clusters = cluster_labels(asked, ids)
    records = compare_contests(contests, asked.settings, correction=asked.correction, clusters=clusters)
    groups = tuple(
        Group(
            name=name,
            query_ids=tuple(query for query, inside in zip(ids, mask.tolist(), strict=True) if inside),
            compared=tuple(compared_of(asked, ids, columns, [r for r in records if r.group == name], slices[name])),
            leaderboard=leaderboard(asked, columns, mask),
            pooled=bool(isolated_by) and name == POOLED,
        )
        for name, mask in masks.items()
    )
    return Comparison(
        primary=asked.primary,
        baseline=None if asked.all_pairs else asked.baseline,
        correction=asked.correction,
        settings=asked.settings,
        groups=groups,
        scores=asked.scores,
        isolated_by=isolated_by,
        spreads=tuple(spreads(asked, columns, masks)) if isolated_by else (),
    )


POOLED = "all languages pooled"


def score_columns(scores: Scores, ids: Sequence[str]) -> dict[tuple[str, str], Floats]:
    """Return every system's scores by every measure, in the same order of queries; NaN where there is none."""
    place = {query: i for i, query in enumerate(ids)}
    columns = {}
    for name, run in scores.items():
        rows = [place[query] for query in run.query_ids]
        for j, measure in enumerate(run.measures):
            column = np.full(len(ids), math.nan)
            column[rows] = run.values[:, j]
            columns[name, measure] = column
    return columns


def language_masks(asked: Groups, ids: Sequence[str]) -> tuple[str, dict[str, Bools]]:
    """Return the queries of each language, where they are in several; else all queries as one nameless group."""
    whole = np.ones(len(ids), dtype=np.bool_)
    attributes = {} if asked.queries is None else asked.queries.attributes
    found = next((name for name in attributes if name.lower() in LANGUAGE), "")
    if not found:
        return "", {"": whole}
    language = attributes[found]
    values = sorted({str(language[query]) for query in ids if query in language})
    if len(values) < 2:  # noqa: PLR2004 (one language needs no isolation)
        return "", {"": whole}
    masks = {value: members(ids, language, value) for value in values}
    return found, {**masks, **({POOLED: whole} if asked.pool else {})}


def members(ids: Sequence[str], values: Mapping[str, Any], value: str) -> Bools:
    """Tell which queries have a value."""
    return np.array([query in values and str(values[query]) == value for query in ids], dtype=np.bool_)


@dataclass(frozen=True, slots=True, eq=False)
class SliceMask:
    """Queries that share something."""

    attribute: str
    value: str
    mask: Bools
    asked_for: bool

    @property
    def label(self) -> str:
        """A name for it within the group."""
        return f"{self.attribute}={self.value}"


def slice_masks(asked: Groups, ids: Sequence[str], group: Bools) -> Iterator[SliceMask]:
    """Yield the strata asked for, then other slices in which a difference might sit."""
    if asked.queries is not None:
        for name in asked.by:
            yield from value_masks(name, asked.queries.attribute(name), ids, group, asked_for=True)
    if len(asked.pairs) > MANY_PAIRS:
        return
    for name, values in other_attributes(asked, ids).items():
        found = list(value_masks(name, values, ids, group, asked_for=False))
        if 2 <= len(found) <= MANY_VALUES:  # noqa: PLR2004 (a single value is no part of anything)
            yield from (part for part in found if part.mask.sum() >= SMALLEST_SLICE)


def value_masks(
    name: str, values: Mapping[str, Any], ids: Sequence[str], group: Bools, *, asked_for: bool
) -> Iterator[SliceMask]:
    """Yield the queries of each value of an attribute within a group."""
    present = [
        str(values[query]) for query, inside in zip(ids, group.tolist(), strict=True) if inside and query in values
    ]
    for value in sorted(set(present), key=natural):
        yield SliceMask(name, value, members(ids, values, value) & group, asked_for)


def natural(text: str) -> tuple[float, str]:
    """Order numbers by their size, before text."""
    head = text.split("-", 1)[0].rstrip("+")
    return (float(head), "") if head.replace(".", "", 1).isdigit() else (math.inf, text)


def other_attributes(asked: Groups, ids: Sequence[str]) -> dict[str, Mapping[str, Any]]:
    """Return what else is known of queries: their other attributes, length, and number of relevant docs."""
    found: dict[str, Mapping[str, Any]] = {}
    if asked.queries is not None:
        skipped = {*asked.by, asked.cluster}
        found |= {
            name: values
            for name, values in asked.queries.attributes.items()
            if name not in skipped
            and name.lower() not in LANGUAGE
            and len(set(map(str, values.values()))) <= MANY_VALUES
        }
        texts = asked.queries.texts or {}
        lengths = {query: len(texts[query].split()) for query in ids if query in texts}
        if lengths:
            found["query length in words"] = binned(lengths, WORDS)
    if asked.n_relevant is not None:
        found["relevant docs"] = binned({query: asked.n_relevant.get(query, 0) for query in ids}, RELEVANT)
    return found


def binned(counts: Mapping[str, int], edges: tuple[int, ...]) -> dict[str, str]:
    """Return each query's range."""
    return dict(zip(counts, counted_bins(np.array(list(counts.values()), dtype=np.float64), edges), strict=True))


def contests_of(
    asked: Groups,
    columns: Mapping[tuple[str, str], Floats],
    masks: Mapping[str, Bools],
    slices: Mapping[str, Sequence[SliceMask]],
) -> Iterator[Contest]:
    """Yield every contest: each pair in each group by each measure, then by the primary one in each slice."""
    lower = next(iter(asked.scores.values())).lower_is_better
    measures = [asked.primary, *(m for m in asked.scores.measures if m != asked.primary)]
    if len(asked.pairs) > MANY_PAIRS:
        measures = measures[:1]
    for group, mask in masks.items():
        for a, b in asked.pairs:
            for measure in measures:
                yield contest(columns, a, b, measure, mask, lower=measure in lower, group=group, primary=asked.primary)
            for part in slices[group]:
                yield contest(
                    columns, a, b, asked.primary, part.mask, lower=asked.primary in lower, group=group, primary="",
                    label=part.label,
                )  # fmt: skip


def contest(
    columns: Mapping[tuple[str, str], Floats],
    a: str,
    b: str,
    measure: str,
    mask: Bools,
    *,
    lower: bool,
    group: str,
    primary: str,
    label: str = "",
) -> Contest:
    """Return one contest over the queries of a mask."""
    is_primary = measure == primary
    return Contest(
        a=a,
        b=b,
        measure=measure,
        role="primary" if is_primary else "exploratory",
        scores_a=np.where(mask, columns[a, measure], math.nan),
        scores_b=np.where(mask, columns[b, measure], math.nan),
        n_members=int(mask.sum()),
        lower_is_better=lower,
        group=group,
        label=label,
        in_full=is_primary or (not label and int(mask.sum()) < FULL_BELOW),
    )


def cluster_labels(asked: Groups, ids: Sequence[str]) -> np.ndarray | None:
    """Return each query's cluster; one without a cluster is a cluster of its own."""
    if asked.cluster is None or asked.queries is None:
        return None
    values = asked.queries.attribute(asked.cluster)
    return np.array([f"c {values[query]}" if query in values else f"q {query}" for query in ids])


def compared_of(
    asked: Groups,
    ids: Sequence[str],
    columns: Mapping[tuple[str, str], Floats],
    records: Sequence[Pair],
    masks: Sequence[SliceMask],
) -> Iterator[Compared]:
    """Yield what was found of every pair within a group, whose records and slices these are."""
    of_pair: dict[tuple[str, str], list[Pair]] = {}
    for record in records:
        of_pair.setdefault((record.a, record.b), []).append(record)
    for (a, b), found in of_pair.items():
        main = next(record for record in found if record.role == "primary")
        worst, best = extremes(ids, main, columns[a, main.measure], columns[b, main.measure])
        yield Compared(
            pair=main,
            verdict=verdict_of(main),
            missing_a=not_answered(asked.scores, a, main, ids),
            missing_b=not_answered(asked.scores, b, main, ids),
            worst=worst,
            best=best,
            also_tested=also_tested(main, asked.also),
            slices=slices_of(asked, main, masks, [record for record in found if record.label]),
            exploratory=tuple(record for record in found if record.role == "exploratory" and not record.label),
        )


def also_tested(pair: Pair, names: Sequence[str]) -> tuple[Test, ...]:
    """Return further tests of the same differences."""
    differences = pair.differences[~np.isnan(pair.differences)]
    return tuple(ON_REQUEST[name](differences) for name in names) if len(differences) else ()


def not_answered(scores: Scores, name: str, pair: Pair, ids: Sequence[str]) -> tuple[str, ...]:
    """Return the queries of a comparison that a system does not answer."""
    run = scores[name]
    answered = {query for query, yes in zip(run.query_ids, run.answered.tolist(), strict=True) if yes}
    counted = ~np.isnan(pair.differences)
    return tuple(query for query, yes in zip(ids, counted.tolist(), strict=True) if yes and query not in answered)


def extremes(
    ids: Sequence[str], pair: Pair, a: Floats, b: Floats
) -> tuple[tuple[QueryChange, ...], tuple[QueryChange, ...]]:
    """Return the queries that lost most and gained most."""
    gains = -pair.differences if pair.lower_is_better else pair.differences
    order = [i for i in np.argsort(gains, kind="stable").tolist() if not math.isnan(gains[i])]
    change = {
        i: QueryChange(ids[i], float(a[i]), float(b[i])) for i in (*order[:SHOWN_QUERIES], *order[-SHOWN_QUERIES:])
    }
    worst = tuple(change[i] for i in order[:SHOWN_QUERIES] if gains[i] < 0)
    return worst, tuple(change[i] for i in order[::-1][:SHOWN_QUERIES] if gains[i] > 0)


def slices_of(asked: Groups, main: Pair, masks: Sequence[SliceMask], records: Sequence[Pair]) -> tuple[Slice, ...]:
    """Return the slices of a pair, those in which the difference sits being marked."""
    by_label = {record.label: record for record in records}
    found = [
        Slice(
            part.attribute,
            part.value,
            by_label[part.label],
            contrast_p(main.differences, part.mask),
            asked_for=part.asked_for,
            too_few=by_label[part.label].n_queries < MIN_QUERIES,
        )
        for part in masks
    ]
    tested = [i for i, part in enumerate(found) if not math.isnan(part.contrast_p)]
    adjusted = benjamini_hochberg(np.array([found[i].contrast_p for i in tested]))
    for i, p in zip(tested, adjusted.tolist(), strict=True):
        stands_out = p <= asked.settings.false_discoveries and not found[i].too_few
        found[i] = replace(found[i], contrast_adjusted=p, stands_out=stands_out)
    return tuple(found)


def leaderboard(asked: Groups, columns: Mapping[tuple[str, str], Floats], mask: Bools) -> tuple[Place, ...]:
    """Return the systems, best first; those that cannot be told apart share a rank."""
    names = list(asked.scores)
    matrix = np.column_stack([columns[name, asked.primary] for name in names])[mask]
    matrix = matrix[~np.isnan(matrix).any(axis=1)]
    if not len(matrix):
        return ()
    lower = asked.primary in next(iter(asked.scores.values())).lower_is_better
    quality = -matrix.mean(axis=0) if lower else matrix.mean(axis=0)
    p, _ = tukey(matrix, asked.settings)
    beats = (p <= asked.settings.alpha) & (quality[:, None] > quality[None, :])
    return tuple(
        Place(
            rank=1 + int(beats[:, i].sum()),
            system=names[i],
            mean=float(matrix[:, i].mean()),
            ci=interval_of(matrix[:, i], None, 1 - asked.settings.alpha),
            n_queries=len(matrix),
            beats=tuple(names[j] for j in np.flatnonzero(beats[i])),
        )
        for i in np.argsort(-quality, kind="stable").tolist()
    )


def spreads(asked: Groups, columns: Mapping[tuple[str, str], Floats], masks: Mapping[str, Bools]) -> Iterator[Spread]:
    """Yield each system's mean over languages, each language counting the same, and the variance between them."""
    for system in asked.scores:
        means = [
            (language, float(np.nanmean(columns[system, asked.primary][mask])))
            for language, mask in masks.items()
            if language != POOLED
        ]
        values = np.array([value for _, value in means])
        yield Spread(system, tuple(means), float(values.mean()), float(values.var()))
