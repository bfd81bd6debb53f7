"""The numbers at which answers change, each met exactly: one query less or more would be another answer."""

import numpy as np
import pytest
from scipy import stats as scipy_stats

import rankscope as rs
from rankscope.comparison import compare_scores
from rankscope.comparison.groups import SMALLEST_SLICE
from rankscope.comparison.pairs import Contest, compare_contests
from rankscope.comparison.request import Settings
from rankscope.comparison.verdict import MIN_UNITS
from rankscope.align.policies import Policies
from rankscope.stats.units import Units


def scores(columns, *, measure="nDCG@10"):
    """Return scores of queries q000, q001 … by a measure, as another tool may have computed them."""
    return rs.Scores.from_dict(
        {name: {f"q{i:03}": {measure: float(x)} for i, x in enumerate(column)} for name, column in columns.items()}
    )


NOISE = np.random.default_rng(11).normal(0, 0.02, 60)
