"""The registry, filled: the families that nearly every evaluation uses at once, all others when they are asked for."""

from __future__ import annotations

from rankscope.measures import gain, position, rank, sets
from rankscope.measures.spec import ALIASES, REGISTRY, Names

__all__ = ["ALIASES", "REGISTRY", "gain", "position", "rank", "sets"]


def load_rest() -> None:
    """Import the other families, and the plugins, which register their measures."""
    from importlib.metadata import entry_points

    from rankscope.measures import diversity, embedding, ontology, trec, variety  # noqa: F401

    for plugin in entry_points(group="rankscope.measures"):
        plugin.load()


Names.load_rest = staticmethod(load_rest)
