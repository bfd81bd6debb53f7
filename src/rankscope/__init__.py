"""Rankscope tells whether a ranking is good, which variant is better, and whether that answer can be trusted.

import rankscope as rs
scores = rs.evaluate("qrels.txt", {"bm25": "bm25.run.gz", "dense": "dense.run"}, ["nDCG@10", "AP"])
scores.mean()
rs.compare("qrels.txt", {"bm25": "bm25.run.gz", "dense": "dense.run"}, "nDCG@10")
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from rankscope._version import __version__

if TYPE_CHECKING:
    from rankscope.align.policies import Policies
    from rankscope.comparison import compare, compare_scores
    from rankscope.comparison.records import Comparison
    from rankscope.data.loading import ReadOptions, load_qrels, load_run
    from rankscope.data.qrels import Qrels
    from rankscope.data.run import Run
    from rankscope.errors import RankscopeError, RankscopeWarning
    from rankscope.evaluation import diagnose, evaluate, explain, robustness
    from rankscope.io import convert
    from rankscope.measures.parse import parse_measure, parse_measures
    from rankscope.measures.scores import Aggregate, RunScores, Scores
    from rankscope.measures.spec import Measure

_HOME = {
    "Aggregate": "rankscope.measures.scores",
    "Comparison": "rankscope.comparison.records",
    "Measure": "rankscope.measures.spec",
    "Policies": "rankscope.align.policies",
    "Qrels": "rankscope.data.qrels",
    "RankscopeError": "rankscope.errors",
    "RankscopeWarning": "rankscope.errors",
    "ReadOptions": "rankscope.data.loading",
    "Run": "rankscope.data.run",
    "RunScores": "rankscope.measures.scores",
    "Scores": "rankscope.measures.scores",
    "compare": "rankscope.comparison",
    "compare_scores": "rankscope.comparison",
    "convert": "rankscope.io",
    "diagnose": "rankscope.evaluation",
    "evaluate": "rankscope.evaluation",
    "explain": "rankscope.evaluation",
    "load_qrels": "rankscope.data.loading",
    "load_run": "rankscope.data.loading",
    "parse_measure": "rankscope.measures.parse",
    "parse_measures": "rankscope.measures.parse",
    "robustness": "rankscope.evaluation",
}

__all__ = [
    "Aggregate",
    "Comparison",
    "Measure",
    "Policies",
    "Qrels",
    "RankscopeError",
    "RankscopeWarning",
    "ReadOptions",
    "Run",
    "RunScores",
    "Scores",
    "__version__",
    "compare",
    "compare_scores",
    "convert",
    "diagnose",
    "evaluate",
    "explain",
    "load_qrels",
    "load_run",
    "parse_measure",
    "parse_measures",
    "robustness",
]


def __getattr__(name: str) -> Any:
    """Load a part of the library when it is first used, so that importing it costs almost nothing."""
    if name not in _HOME:
        raise AttributeError(f"module 'rankscope' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOME[name]), name)
    return value
