"""Charts of evaluations and comparisons: which numbers go into which kind of chart."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

import numpy as np

from rankscope.arrays import Floats
from rankscope.comparison.records import Compared, Comparison, Group
from rankscope.comparison.verdict import level_words, short_words
from rankscope.measures.scores import Scores
from rankscope.report import charts
from rankscope.report.charts import Chart, ForestRow, HeatCell, Spread
from rankscope.report.document import Tone
from rankscope.report.means import mean_of
from rankscope.stats.interval import LEVEL, percent

__all__ = ["Chart", "differences", "distribution", "forest", "scatter", "strata", "systems", "systems_of"]

_TONES: dict[str, Tone] = {
    "better": "good", "probably_better": "good", "worse": "bad", "probably_worse": "bad", "cannot_tell": "caution",
    "not_safe": "caution", "too_few": "caution", "not_comparable": "bad",
}  # fmt: skip


def identifier(*parts: str) -> str:
    """Return a prefix for ids that is its own on a page."""
    return re.sub(r"[^A-Za-z0-9_-]+", "-", "-".join(part for part in parts if part))


def forest(comparison: Comparison, group: Group) -> Chart:
    """Return every pair's difference with its interval, zero and the margin."""
    rows = [
        ForestRow(
            c.pair.b if comparison.baseline else f"{c.pair.b} - {c.pair.a}",
            c.pair.delta,
            c.pair.ci.low,
            c.pair.ci.high,
            note=short_words(c.verdict.code, c.pair),
            tone=_TONES.get(c.verdict.code, "neutral"),
        )
        for c in group.compared
    ]
    against = f" against {comparison.baseline}" if comparison.baseline else ""
    return charts.forest(
        rows,
        title=f"Difference in {comparison.primary}{against}",
        subtitle=f"{group.name or f'{len(group.query_ids)} queries'}, {interval_label(group)}",
        measure=comparison.primary,
        better=better_of(comparison.scores, comparison.primary),
        margin=comparison.settings.margin or None,
        prefix=identifier("forest", group.name),
    )


def interval_label(group: Group) -> str:
    """Name the intervals of a group's differences."""
    return level_words(group.compared[0].pair).replace("CI", "intervals")


def better_of(scores: Scores, measure: str) -> charts.Better:
    """Return which direction of a measure is good."""
    return "lower" if measure in next(iter(scores.values())).lower_is_better else "higher"


def differences(comparison: Comparison, compared: Compared) -> Chart:
    """Return every query's difference, sorted."""
    pair = compared.pair
    ids = all_queries(comparison.scores)
    known = ~np.isnan(pair.differences)
    return charts.differences(
        [query for query, yes in zip(ids, known.tolist(), strict=True) if yes],
        pair.differences[known].tolist(),
        title=f"{pair.b} minus {pair.a}, query by query",
        measure=pair.measure,
        names=(pair.a, pair.b),
        better=better_of(comparison.scores, pair.measure),
        subtitle=pair.group,
        prefix=identifier("differences", pair.group, pair.a, pair.b),
    )


def scatter(comparison: Comparison, compared: Compared) -> Chart:
    """Return one system against the other, a point per query."""
    pair = compared.pair
    ids = all_queries(comparison.scores)
    a, b = (column_of(comparison.scores, name, pair.measure, ids) for name in (pair.a, pair.b))
    known = ~np.isnan(pair.differences)
    return charts.scatter(
        [query for query, yes in zip(ids, known.tolist(), strict=True) if yes],
        a[known].tolist(),
        b[known].tolist(),
        title=f"{pair.b} against {pair.a}",
        measure=pair.measure,
        names=(pair.a, pair.b),
        better=better_of(comparison.scores, pair.measure),
        subtitle=pair.group,
        prefix=identifier("scatter", pair.group, pair.a, pair.b),
    )


def all_queries(scores: Scores) -> tuple[str, ...]:
    """Return the queries in the order in which differences are stored."""
    return tuple(dict.fromkeys(query for run in scores.values() for query in run.query_ids))


def column_of(scores: Scores, name: str, measure: str, ids: Sequence[str]) -> Floats:
    """Return one system's scores in a given order of queries."""
    values = dict(zip(scores[name].query_ids, scores[name].column(measure).tolist(), strict=True))
    return np.array([values.get(query, math.nan) for query in ids])


def strata(comparison: Comparison, group: Group) -> Chart:
    """Return each stratum's difference for every pair."""
    cells = [
        HeatCell(
            f"{part.attribute} {part.value}",
            c.pair.b,
            part.pair.delta,
            part.pair.ci.low,
            part.pair.ci.high,
            part.pair.n_queries,
        )
        for c in group.compared
        for part in c.slices
        if part.asked_for or not any(other.asked_for for other in c.slices)
    ]
    level = f"{(1 - comparison.settings.alpha) * 100:.4g}% intervals, each one of its own"
    return charts.strata(
        cells,
        title=f"Difference in {comparison.primary} by stratum",
        measure=comparison.primary,
        better=better_of(comparison.scores, comparison.primary),
        difference=True,
        subtitle=", ".join(filter(None, (group.name, level))),
        prefix=identifier("strata", group.name),
    )


def systems(scores: Scores, *, level: float = LEVEL, cluster_of: Mapping[str, str] | None = None) -> Chart:
    """Return every system's mean of every measure with its interval."""
    means = {
        (name, measure): mean_of(run, measure, level=level, cluster_of=cluster_of)
        for name, run in scores.items()
        for measure in run.measures
    }
    cells = [HeatCell(*place, mean.value, *mean.ends) for place, mean in means.items()]
    better: dict[str, charts.Better] = {measure: better_of(scores, measure) for measure in scores.measures}
    lacking = "no interval where every query scores the same" if any(mean.why_none for mean in means.values()) else ""
    return charts.systems(
        cells,
        title=f"Systems by measure, with {percent(level)} intervals",
        subtitle="; ".join(filter(None, (weighted_words(scores), lacking))),
        better=better,
    )


def systems_of(comparison: Comparison) -> Chart:
    """Return the systems of a comparison, with intervals at its level and by its clusters."""
    return systems(comparison.scores, level=1 - comparison.settings.alpha, cluster_of=comparison.cluster_of)


def weighted_words(scores: Scores) -> str:
    """Say what the means are weighted by, nothing where all queries count the same."""
    return "" if scores.weighted_by is None else f"weighted by {scores.weighted_by}"


def distribution(scores: Scores, measure: str) -> Chart:
    """Return how each system's scores are spread over the queries."""
    spreads = [
        spread_of(name, run.column(measure), mean=run.aggregate_of(measure, "mean").value)
        for name, run in scores.items()
    ]
    return charts.distribution(spreads, title=f"{measure} over the queries", measure=measure)


def spread_of(name: str, column: Floats, *, mean: float) -> Spread:
    """Return the numbers of a box: quartiles, and whiskers at the last value within 1.5 boxes, beside the mean."""
    values = column[~np.isnan(column)]
    if not len(values):
        return Spread(name, (), *([math.nan] * 5))
    q1, median, q3 = np.quantile(values, [0.25, 0.5, 0.75]).tolist()
    inside = values[(values >= q1 - 1.5 * (q3 - q1)) & (values <= q3 + 1.5 * (q3 - q1))]
    low, high = min(q1, float(inside.min())), max(q3, float(inside.max()))
    return Spread(name, values.tolist(), low, q1, median, q3, high, mean=mean)
