"""Which is better: request, families of pairs, verdict, evidence, results; loaded when they are used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rankscope.comparison.functions import (
        compare,
        compare_runs,
        compare_scores,
        compare_scores_request,
        find_name,
    )

__all__ = ["compare", "compare_runs", "compare_scores", "compare_scores_request", "find_name"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("rankscope.comparison.functions"), name)
