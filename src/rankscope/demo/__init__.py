"""A small example that comes with the package: 15 questions to a cookbook, judged recipes, and three searches."""

from __future__ import annotations

from importlib.resources import files
from importlib.resources.abc import Traversable

QRELS = "qrels.txt"
RUNS = ("bm25.run", "dense.run", "hybrid.run")


def demo_file(name: str) -> Traversable:
    """Return one of the example's files."""
    return files(__name__).joinpath("data", name)
