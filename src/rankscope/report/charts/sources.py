"""What charts are drawn from: runs with the options of their evaluation, and scores by query."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from rankscope.align.policies import Policies
from rankscope.arrays import Floats
from rankscope.data.loading import load_qrels, load_runs
from rankscope.data.qrels import Qrels
from rankscope.data.queries import load_queries
from rankscope.data.run import Run
from rankscope.evaluation import chosen_profile, decide_policies, evaluate
from rankscope.light import names_of
from rankscope.measures.parse import parse_measures
from rankscope.measures.scores import Scores, is_over_same_queries
from rankscope.records import Record

if TYPE_CHECKING:
    from rankscope.comparison.records import Comparison, PairResult
    from rankscope.report.charts.chart import Better


MOST_SYSTEMS = 40
"""Of more systems a chart with a row for each shows the first so many: a longer one is nothing to look at."""


class RunData(Record, dict=True):
    """Qrels and runs that were read once, however many charts are drawn from them, and how they are evaluated."""

    qrels: Qrels
    runs: Sequence[Run]
    measures: Sequence[str] | None
    options: Mapping[str, Any]
    """The other arguments of `rankscope.evaluate`, by name."""
    in_given_order: bool = False
    """Whether charts keep the order of the runs; else the best comes first."""

    @classmethod
    def load(cls, qrels: Any, runs: Any, measures: Sequence[str] | None, options: Mapping[str, Any]) -> RunData:
        duplicates = policies_from(options).duplicates
        judged = load_qrels(qrels, duplicates=duplicates, options=options.get("qrels_options"))
        queries = None if options.get("queries") is None else load_queries(options["queries"])
        loaded = load_runs(runs, options=options.get("options"))
        return cls(judged, loaded, measures or None, {**options, "queries": queries})

    @property
    def primary(self) -> str:
        """The first measure, nDCG@10 where none is given."""
        return parse_measures(self.measures)[0].name if self.measures else "nDCG@10"

    @cached_property
    def policies(self) -> Policies:
        return policies_from(self.options)

    @cached_property
    def order(self) -> list[str]:
        """The runs as charts list them: by the primary measure, best first, or as given."""
        scores = self.evaluate(self.primary)
        return list(scores) if self.in_given_order else by_mean(scores, self.primary)

    @cached_property
    def best(self) -> str:
        """The best run by the primary measure."""
        return self.order[0] if not self.in_given_order else by_mean(self.evaluate(self.primary), self.primary)[0]

    def evaluate(self, measures: Any) -> Scores:
        return evaluate(self.qrels, self.runs, measures, **self.options)


def policies_from(options: Mapping[str, Any]) -> Policies:
    """Return the policies among the options of an evaluation, completed by its profile."""
    given = {name: options[name] for name in names_of(Policies) if name in options}
    return decide_policies(chosen_profile(options.get("profile")), given)


def better_of(scores: Scores, measure: str) -> Better:
    return "lower" if measure in next(iter(scores.values())).lower_is_better else "higher"


def by_mean(scores: Scores, measure: str) -> list[str]:
    """Return the systems, the best mean first; those without one stand last, and equal ones as they are given.

    Where the means are not over the same queries there is no such order, and the systems stay as they are given.
    """
    if not is_over_same_queries(scores, measure):
        return list(scores)
    means = {name: run.aggregate_of(measure, "mean").value for name, run in scores.items()}
    sign = 1 if better_of(scores, measure) == "lower" else -1
    return sorted(means, key=lambda name: math.inf if math.isnan(means[name]) else sign * means[name])


def shown_of(order: Sequence[str], keep: str | None = None) -> tuple[list[str], str]:
    """Return the systems that have a row, and words for it where these are not all; one may have to be kept."""
    names = [name for i, name in enumerate(order) if i < MOST_SYSTEMS or name == keep]
    return names, f"the first {MOST_SYSTEMS} of {len(order):,} systems" if len(order) > MOST_SYSTEMS else ""


def pair_scores(comparison: Comparison, pair: PairResult) -> tuple[list[str], Floats, Floats]:
    """Return the queries on which a pair is compared, in the order of their scores, and both scores."""
    group = next(group for group in comparison.groups if group.name == pair.group)
    counted = set(group.query_ids).difference(group.uncounted)
    runs = [comparison.scores[name] for name in (pair.a, pair.b)]
    columns = [dict(zip(run.query_ids, run.column(pair.measure).tolist(), strict=True)) for run in runs]
    stored = dict.fromkeys(query for run in runs for query in run.query_ids)
    rows = [(query, *(column.get(query, math.nan) for column in columns)) for query in stored if query in counted]
    known = [row for row in rows if not any(map(math.isnan, row[1:]))]
    a, b = (np.array([row[i] for row in known]) for i in (1, 2))
    return [row[0] for row in known], a, b


def weighted_words(scores: Scores) -> str:
    """Say what the means are weighted by, nothing where all queries count the same."""
    return "" if scores.weighted_by is None else f"weighted by {scores.weighted_by}"


def identifier(*parts: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]+", "-", "-".join(part for part in parts if part))
