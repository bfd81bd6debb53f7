"""The registry, filled: importing this module registers every measure that comes with Rankscope."""

from __future__ import annotations

from functools import lru_cache

from rankscope.measures import diversity, embedding, gain, ontology, position, rank, sets, trec, variety
from rankscope.measures.spec import ALIASES, REGISTRY

__all__ = [
    "ALIASES",
    "REGISTRY",
    "diversity",
    "embedding",
    "gain",
    "load_plugins",
    "ontology",
    "position",
    "rank",
    "sets",
    "trec",
    "variety",
]


@lru_cache(maxsize=1)
def load_plugins() -> None:
    """Import the plugins, which then register their measures.

    Looking for them costs time, so it is done when a name is not known, and when all measures are listed.
    """
    from importlib.metadata import entry_points

    for plugin in entry_points(group="rankscope.measures"):
        plugin.load()
