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
from rankscope.measures.scores import Scores
from rankscope.records import Record
from rankscope.stats.units import paired_differences

if TYPE_CHECKING:
    from rankscope.comparison.records import Comparison, PairResult
    from rankscope.report.charts.chart import Better


class RunData(Record, dict=True):
    """Qrels and runs that were read once, however many charts are drawn from them, and how they are evaluated."""

    qrels: Qrels
    runs: Sequence[Run]
    measures: Sequence[str] | None
    options: Mapping[str, Any]
    """The other arguments of `rankscope.evaluate`, by name."""

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

    def evaluate(self, measures: Any) -> Scores:
        return evaluate(self.qrels, self.runs, measures, **self.options)


def policies_from(options: Mapping[str, Any]) -> Policies:
    """Return the policies among the options of an evaluation, completed by its profile."""
    given = {name: options[name] for name in names_of(Policies) if name in options}
    return decide_policies(chosen_profile(options.get("profile")), given)


def better_of(scores: Scores, measure: str) -> Better:
    return "lower" if measure in next(iter(scores.values())).lower_is_better else "higher"


def all_queries(scores: Scores) -> tuple[str, ...]:
    """Return the queries in the order in which differences are stored."""
    return tuple(dict.fromkeys(query for run in scores.values() for query in run.query_ids))


def column_of(scores: Scores, name: str, measure: str, ids: Sequence[str]) -> Floats:
    values = dict(zip(scores[name].query_ids, scores[name].column(measure).tolist(), strict=True))
    return np.array([values.get(query, math.nan) for query in ids])


def differences_of(comparison: Comparison, pair: PairResult) -> Floats:
    """Return what every query says of a pair, in the order of `all_queries`; NaN where it takes no part."""
    ids = all_queries(comparison.scores)
    group = next(group for group in comparison.groups if group.name == pair.group)
    counted = set(group.query_ids).difference(group.uncounted)
    a, b = (column_of(comparison.scores, name, pair.measure, ids) for name in (pair.a, pair.b))
    return np.where([query in counted for query in ids], paired_differences(a, b), math.nan)


def weighted_words(scores: Scores) -> str:
    """Say what the means are weighted by, nothing where all queries count the same."""
    return "" if scores.weighted_by is None else f"weighted by {scores.weighted_by}"


def identifier(*parts: str) -> str:
    """Return a prefix for ids that is its own on a page."""
    return re.sub(r"[^A-Za-z0-9_-]+", "-", "-".join(part for part in parts if part))
