"""The registry, filled: importing this module registers every measure, plugins included."""

from __future__ import annotations

from importlib.metadata import entry_points

from rankscope.measures import gain, position, rank, sets, trec
from rankscope.measures.spec import ALIASES, REGISTRY

__all__ = ["ALIASES", "REGISTRY", "gain", "position", "rank", "sets", "trec"]

for _plugin in entry_points(group="rankscope.measures"):
    _plugin.load()  # a plugin registers its measures when it is imported
