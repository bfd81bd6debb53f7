"""Small examples that come with the package: a cookbook with three searches, and the data of four stories."""

from __future__ import annotations

from importlib.resources import files
from importlib.resources.abc import Traversable

QRELS = "qrels.txt"
RUNS = ("bm25.run", "dense.run", "hybrid.run")


def demo_file(name: str) -> Traversable:
    """Return one of the example's files."""
    return files(__name__).joinpath("data", name)


def story_files(name: str) -> dict[str, Traversable]:
    """Return the files of a story, such as podcast, by name."""
    return {entry.name: entry for entry in demo_file(name).iterdir() if entry.is_file()}
