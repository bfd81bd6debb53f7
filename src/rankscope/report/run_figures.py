"""Charts drawn from qrels and runs: curves over cut-offs, precision and recall, positions, overlap, diversity."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rankscope.align.policies import Policies
from rankscope.analysis import overview
from rankscope.data.loading import load_qrels, load_runs
from rankscope.errors import OptionError
from rankscope.evaluation import chosen_profile, decide_policies, evaluate
from rankscope.light import names_of
from rankscope.measures.parse import parse_measure, parse_measures
from rankscope.measures.spec import Family
from rankscope.report import charts
from rankscope.report.charts import Chart, Counts, Line, MapPoint
from rankscope.report.figures import distribution, systems, weighted_words
from rankscope.report.means import mean_of
from rankscope.stats.interval import LEVEL, percent

DIVERSITY = (Family.DIVERSITY, Family.EMBEDDING, Family.VARIETY)
KINDS = {
    "curves": "the first measure over its cut-off",
    "precision_recall": "interpolated precision over recall",
    "systems": "heat map of runs by measures, with intervals",
    "distribution": "the first measure's scores over the queries",
    "positions": "where the first relevant doc stands",
    "overlap": "how much the runs have in common",
    "relevance_diversity": "a measure of relevance against one of diversity",
}


def run_figures(qrels: Any, runs: Any, measures: Any, **options: Any) -> Mapping[str, Callable[[], Chart]]:
    """Return what draws each kind of chart of the same runs; nothing is computed before it is called."""
    primary = first_measure(measures)
    return {
        "curves": lambda: curves(qrels, runs, primary, **options),
        "precision_recall": lambda: precision_recall(qrels, runs, **options),
        "systems": lambda: systems(evaluate(qrels, runs, measures, **options)),
        "distribution": lambda: distribution(evaluate(qrels, runs, primary, **options), primary),
        "positions": lambda: positions(qrels, runs, **options),
        "overlap": lambda: overlap(qrels, runs, **options),
        "relevance_diversity": lambda: relevance_diversity(qrels, runs, measures, **options),
    }


def first_measure(measures: Any) -> str:
    """Return the name of the first measure, nDCG@10 where none is given."""
    return parse_measures(measures)[0].name if measures else "nDCG@10"


def curves(qrels: Any, runs: Any, measure: str, **options: Any) -> Chart:
    """Draw a measure over its cut-off, with intervals where few lines share the chart."""
    cuts, scores = overview.scores_by_cutoff(qrels, runs, measure, **options)
    base = measure.partition("@")[0]
    lines = []
    for name, run in scores.items():
        means = [mean_of(run, at_cut) for at_cut in scores.measures]
        low, high = zip(*(mean.ends for mean in means), strict=True)
        banded = len(scores) == 1
        lines.append(
            Line(name, cuts, [mean.value for mean in means], low if banded else None, high if banded else None)
        )
    subtitle = f"with {percent(LEVEL)} intervals" if len(scores) == 1 else ""
    return charts.curves(
        lines,
        title=f"{base}@k over k",
        measure=f"{base}@k",
        subtitle=", ".join(filter(None, (weighted_words(scores), subtitle))),
    )


def precision_recall(qrels: Any, runs: Any, **options: Any) -> Chart:
    """Draw interpolated precision over recall."""
    scores = overview.precision_by_recall(qrels, runs, **options)
    lines = [
        Line(name, overview.RECALLS, [aggregate.value for aggregate in run.mean().values()])
        for name, run in scores.items()
    ]
    subtitle = ", ".join(filter(None, ("interpolated, mean over queries", weighted_words(scores))))
    return charts.precision_recall(lines, title="Precision over recall", subtitle=subtitle)


def positions(qrels: Any, runs: Any, **options: Any) -> Chart:
    """Draw where the first relevant doc stands."""
    counts = overview.first_hit_bands(qrels, runs, **options)
    systems_ = [Counts(name, values) for name, values in counts.items()]
    return charts.positions(overview.RANK_BANDS, systems_, title="Where the first relevant doc stands")


def overlap(qrels: Any, runs: Any, **options: Any) -> Chart:
    """Draw how much every two runs have in common among their first ten docs."""
    loaded = load_runs(runs, options=options.get("options"))
    if len(loaded) < 2:
        raise OptionError("overlap needs at least two runs")
    given = {name: options[name] for name in names_of(Policies) if name in options}
    policies = decide_policies(chosen_profile(options.get("profile")), given)
    judged = load_qrels(qrels, duplicates=policies.duplicates, options=options.get("qrels_options"))
    depth = min(overview.SEEN_DOCS, policies.depth or overview.SEEN_DOCS)
    found = overview.run_overlap(judged, loaded, policies, depth=depth)
    return charts.overlap(
        found.names,
        found.shared.tolist(),
        found.rbo.tolist(),
        title="What the systems have in common",
        depth=found.depth,
    )


def relevance_diversity(qrels: Any, runs: Any, measures: Any, **options: Any) -> Chart:
    """Draw every run by a measure of relevance and one of diversity: the first of each kind among those given."""
    parsed = parse_measures(measures) if measures else ()
    diverse = next((m for m in parsed if m.spec.family in DIVERSITY), None)
    relevant = next((m for m in parsed if m.spec.family not in DIVERSITY), parse_measure("nDCG@10"))
    if diverse is None:
        raise OptionError(
            "the map needs a measure of diversity beside one of relevance", hint='for example -m "nDCG@10 ILD@10"'
        )
    scores = evaluate(qrels, runs, [relevant, diverse], **options)
    points = []
    for name, run in scores.items():
        x, y = (mean_of(run, measure) for measure in scores.measures)
        points.append(MapPoint(name, x.value, y.value, *x.ends, *y.ends))
    return charts.relevance_diversity(
        points,
        title="Relevance and diversity",
        x_measure=scores.measures[0],
        y_measure=scores.measures[1],
        subtitle=", ".join(filter(None, (weighted_words(scores), f"with {percent(LEVEL)} intervals"))),
    )
