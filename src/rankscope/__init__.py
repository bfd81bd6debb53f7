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
    from rankscope.api import diagnose, evaluate, explain, robustness
    from rankscope.comparing import compare, compare_scores
    from rankscope.comparing.records import Comparison
    from rankscope.core.policies import Policies
    from rankscope.core.qrels import Qrels
    from rankscope.core.run import Run
    from rankscope.core.scores import Aggregate, RunScores, Scores
    from rankscope.errors import RankscopeError, RankscopeWarning
    from rankscope.io import convert
    from rankscope.loading import ReadOptions, load_qrels, load_run
    from rankscope.measures.parse import parse_measure, parse_measures
    from rankscope.measures.spec import Measure

_HOME = {
    "Aggregate": "rankscope.core.scores",
    "Comparison": "rankscope.comparing.records",
    "Measure": "rankscope.measures.spec",
    "Policies": "rankscope.core.policies",
    "Qrels": "rankscope.core.qrels",
    "RankscopeError": "rankscope.errors",
    "RankscopeWarning": "rankscope.errors",
    "ReadOptions": "rankscope.loading",
    "Run": "rankscope.core.run",
    "RunScores": "rankscope.core.scores",
    "Scores": "rankscope.core.scores",
    "compare": "rankscope.comparing",
    "compare_scores": "rankscope.comparing",
    "convert": "rankscope.io",
    "diagnose": "rankscope.api",
    "evaluate": "rankscope.api",
    "explain": "rankscope.api",
    "load_qrels": "rankscope.loading",
    "load_run": "rankscope.loading",
    "parse_measure": "rankscope.measures.parse",
    "parse_measures": "rankscope.measures.parse",
    "robustness": "rankscope.api",
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
    import_module("rankscope.loading")  # it teaches Run and Qrels to read files
    value = globals()[name] = getattr(import_module(_HOME[name]), name)
    return value
