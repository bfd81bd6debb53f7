"""Groups of queries: all of them, or each language on its own; within each every pair, stratum and slice."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from rankscope.arrays import Bools, Floats
from rankscope.comparison.known_measures import known_measure, range_of
from rankscope.comparison.records import Compared, Comparison, Group, Place, QueryChange, Slice, Spread
from rankscope.comparison.verdict import MIN_UNITS, Known, verdict_of
from rankscope.data.queries import QueryTable, query_weights
from rankscope.errors import OptionError
from rankscope.measures.scores import Scores
from rankscope.stats.compare import MANY_PAIRS, Contest, Pair, Settings, compare_contests, weighted_mean
from rankscope.stats.interval import mean_interval
from rankscope.stats.multiple import benjamini_hochberg
from rankscope.stats.paired import ON_REQUEST, Test
from rankscope.stats.slices import contrast_p, counted_bins
from rankscope.stats.units import Units

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
    weights: str | None
    settings: Settings
    also: tuple[str, ...]
    n_relevant: Mapping[str, int] | None
    problems: Mapping[str, str]
    """Why a system cannot be compared, by its name."""

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
    units = units_of(asked, ids)
    contests = list(contests_of(asked, columns, masks, slices, units))
    records = compare_contests(
        contests, asked.settings, correction=asked.correction, units=units,
        systems=shared_matrix(asked, columns, masks),
    )  # fmt: skip
    by_group: dict[str, list[Pair]] = {name: [] for name in masks}
    for record in records:
        by_group[record.group].append(record)
    groups = tuple(
        Group(
            name=name,
            query_ids=tuple(query for query, inside in zip(ids, mask.tolist(), strict=True) if inside),
            compared=tuple(compared_of(asked, ids, columns, by_group[name], slices[name], units=units)),
            leaderboard=tuple(places(asked, columns, mask, units)),
            pooled=bool(isolated_by) and name == POOLED,
        )
        for name, mask in masks.items()
    )
    return Comparison(
        primary=asked.primary,
        baseline=None if asked.all_pairs else asked.baseline,
        correction=asked.correction,
        settings=asked.settings,
        groups=tuple(ranked(group) if asked.all_pairs else group for group in mark_slices(groups, asked.settings)),
        scores=asked.scores,
        cluster=asked.cluster,
        cluster_of=dict(zip(ids, map(str, units.member.tolist()), strict=True)) if units.clustered else None,
        weights=asked.weights,
        isolated_by=isolated_by,
        spreads=tuple(spreads(asked, columns, masks, units)) if isolated_by else (),
    )


def shared_matrix(
    asked: Groups, columns: Mapping[tuple[str, str], Floats], masks: Mapping[str, Bools]
) -> Floats | None:
    """Return the primary scores of all systems (queries x systems), where all pairs share their queries."""
    if not asked.all_pairs or len(masks) > 1:
        return None
    matrix = np.column_stack([columns[name, asked.primary] for name in asked.scores])
    matrix = np.where(next(iter(masks.values()))[:, None], matrix, math.nan)
    undefined = np.isnan(matrix)
    return matrix if bool((undefined.all(axis=1) == undefined.any(axis=1)).all()) else None


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
    if len(values) < 2:
        return "", {"": whole}
    masks = {value: members(ids, language, value) for value in values}
    others = ~np.any(list(masks.values()), axis=0)
    if others.any():  # no query may drop out of the answer
        masks[f"without {found}"] = others
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
        if 2 <= len(found) <= MANY_VALUES:
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
        skipped = {*asked.by, asked.cluster, asked.weights}
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
    units: Units,
) -> Iterator[Contest]:
    """Yield every contest: each pair in each group by each measure, then by the primary one in each slice."""
    counts = np.ones(len(units.member), dtype=np.bool_) if units.weights is None else units.weights > 0
    lower = next(iter(asked.scores.values())).lower_is_better
    measures = [asked.primary, *(m for m in asked.scores.measures if m != asked.primary)]
    if len(asked.pairs) > MANY_PAIRS:
        measures = measures[:1]
    for group, mask in masks.items():
        mask = mask & counts  # noqa: PLW2901 (a query of weight 0 is no part of anything)
        for a, b in asked.pairs:
            parts = [(measure, mask, "") for measure in measures]
            parts += [(asked.primary, part.mask & counts, part.label) for part in slices[group]]
            for measure, inside, label in parts:
                is_primary = measure == asked.primary and not label
                yield Contest(
                    a=a,
                    b=b,
                    measure=measure,
                    role="primary" if is_primary else "exploratory",
                    scores_a=columns[a, measure],
                    scores_b=columns[b, measure],
                    mask=inside,
                    lower_is_better=measure in lower,
                    group=group,
                    label=label,
                    in_full=is_primary or (not label and int(inside.sum()) < FULL_BELOW),
                    can_test=not is_of_whole_set(measure),
                )


def is_of_whole_set(measure: str) -> bool:
    """Tell whether a measure of ours gives one number for all queries together."""
    found = known_measure(measure)
    return found is not None and found.spec.over_all_queries


def units_of(asked: Groups, ids: tuple[str, ...]) -> Units:
    """Return the units of evidence: clusters where these are named; a query without a cluster is one of its own."""
    clusters = weights = None
    if asked.queries is not None and asked.cluster is not None:
        values = asked.queries.attribute(asked.cluster)
        clusters = np.array([f"c {values[query]}" if query in values else f"q {query}" for query in ids])
    if asked.queries is not None and asked.weights is not None:
        weights = query_weights(asked.queries, asked.weights, ids)
        weights = weights / weights.max()  # only their ratios count, and very large or small ones would overflow
    return Units.of(len(ids), clusters, weights)


def compared_of(
    asked: Groups,
    ids: tuple[str, ...],
    columns: Mapping[tuple[str, str], Floats],
    records: Sequence[Pair],
    masks: Sequence[SliceMask],
    *,
    units: Units,
) -> Iterator[Compared]:
    """Yield what was found of every pair within a group, whose records and slices these are."""
    of_pair: dict[tuple[str, str], list[Pair]] = {}
    for record in records:
        of_pair.setdefault((record.a, record.b), []).append(record)
    unit_names = tuple(units.names(ids))
    for (a, b), found in of_pair.items():
        main = next(record for record in found if record.role == "primary")
        worst, best = extremes(ids, main, columns[a, main.measure], columns[b, main.measure])
        missing_a, missing_b = (not_answered(asked.scores, name, main, ids, columns) for name in (a, b))
        left_out = {query for query, d in zip(ids, main.differences.tolist(), strict=True) if math.isnan(d)}
        known = Known(
            margin_given=asked.settings.margin_given,
            problem="; ".join(f"{name}: {asked.problems[name]}" for name in (a, b) if name in asked.problems),
            unit_names=unit_names,
            n_unanswered=len(left_out & {*missing_a, *missing_b}),
        )
        yield Compared(
            pair=main,
            verdict=verdict_of(main, known),
            known=known,
            n_one_sided=int(
                (np.isnan(columns[a, main.measure]) != np.isnan(columns[b, main.measure]))[main.members].sum()
            ),
            missing_a=missing_a,
            missing_b=missing_b,
            worst=worst,
            best=best,
            also_tested=also_tested(main, asked, units),
            slices=slices_of(main, masks, [record for record in found if record.label], units),
            exploratory=tuple(record for record in found if record.role == "exploratory" and not record.label),
        )


def also_tested(pair: Pair, asked: Groups, units: Units) -> tuple[Test, ...]:
    """Return further tests of the same units."""
    if not asked.also or not pair.n_queries:
        return ()
    column = units.sums(pair.differences[:, None]).column(0)
    options = {"n_resamples": asked.settings.n_resamples, "seed": asked.settings.seed}
    return tuple(ON_REQUEST[name](column, **options) for name in asked.also)


def not_answered(
    scores: Scores, name: str, pair: Pair, ids: Sequence[str], columns: Mapping[tuple[str, str], Floats]
) -> tuple[str, ...]:
    """Return the queries of a comparison that a system does not answer, though the other one has a score for them."""
    run = scores[name]
    answered = {query for query, yes in zip(run.query_ids, run.answered.tolist(), strict=True) if yes}
    other = pair.b if name == pair.a else pair.a
    counted = ~np.isnan(columns[other, pair.measure]) & pair.members
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


def slices_of(main: Pair, masks: Sequence[SliceMask], records: Sequence[Pair], units: Units) -> tuple[Slice, ...]:
    """Return the slices of a pair."""
    by_label = {record.label: record for record in records}
    return tuple(
        Slice(
            part.attribute,
            part.value,
            by_label[part.label],
            contrast_p(main.differences, part.mask, units),
            asked_for=part.asked_for,
            too_few=by_label[part.label].n_units < MIN_UNITS,
        )
        for part in masks
    )


def mark_slices(groups: Sequence[Group], settings: Settings) -> Iterator[Group]:
    """Yield the groups with slices marked in which a difference sits; false discoveries are counted over all pairs."""
    every = [part for group in groups for item in group.compared for part in item.slices]
    tested = [part for part in every if not math.isnan(part.contrast_p)]
    adjusted = benjamini_hochberg(np.array([part.contrast_p for part in tested]))
    p_of = {id(part): p for part, p in zip(tested, adjusted.tolist(), strict=True)}

    def marked(part: Slice) -> Slice:
        p = p_of.get(id(part), math.nan)
        return replace(part, contrast_adjusted=p, stands_out=p <= settings.false_discoveries and not part.too_few)

    for group in groups:
        items = (replace(item, slices=tuple(map(marked, item.slices))) for item in group.compared)
        yield replace(group, compared=tuple(items)) if every else group


def places(asked: Groups, columns: Mapping[tuple[str, str], Floats], mask: Bools, units: Units) -> Iterator[Place]:
    """Yield the systems with their means and intervals, best first."""
    lower = asked.primary in next(iter(asked.scores.values())).lower_is_better
    limits = range_of(asked.primary)
    found = []
    for name in asked.scores:
        column = np.where(mask, columns[name, asked.primary], math.nan)
        known = ~np.isnan(column)
        mean = weighted_mean(column, known, units)
        if not math.isnan(mean):
            clusters = units.member[known] if units.clustered else None
            weights = None if units.weights is None else units.weights[known]
            ci = mean_interval(
                column[known], level=1 - asked.settings.alpha, range=limits, clusters=clusters, weights=weights
            )
            found.append(Place(name, mean, ci, int(known.sum())))
    yield from sorted(found, key=lambda place: place.mean if lower else -place.mean)


def ranked(group: Group) -> Group:
    """Return a group of which all pairs were compared, with ranks on its leaderboard, from the verdicts alone."""
    beats: dict[str, list[str]] = {place.system: [] for place in group.leaderboard}
    for item in group.compared:
        if item.verdict.code in ("better", "probably_better"):
            beats[item.pair.b].append(item.pair.a)
        elif item.verdict.code in ("worse", "probably_worse"):
            beats[item.pair.a].append(item.pair.b)
    losses = Counter(name for beaten in beats.values() for name in beaten)
    return replace(
        group,
        leaderboard=tuple(
            replace(place, rank=1 + losses[place.system], beats=tuple(beats[place.system]))
            for place in group.leaderboard
        ),
    )


def spreads(
    asked: Groups, columns: Mapping[tuple[str, str], Floats], masks: Mapping[str, Bools], units: Units
) -> Iterator[Spread]:
    """Yield each system's mean over languages, each language counting the same, and the variance between them."""
    for system in asked.scores:
        column = columns[system, asked.primary]
        means = [
            (language, weighted_mean(column, mask & ~np.isnan(column), units))
            for language, mask in masks.items()
            if language != POOLED
        ]
        values = np.array([value for _, value in means])
        yield Spread(system, tuple(means), float(values.mean()), float(values.var()))
