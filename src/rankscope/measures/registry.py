"""All measures by name; the less usual families, and plugins, are loaded when a name is not among the usual ones."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from rankscope.errors import MeasureError
from rankscope.registry import Registry, warn_of

if TYPE_CHECKING:
    from rankscope.measures.spec import MeasureSpec


@cache
def load_families() -> None:
    """Import every family, and every plugin of the entry point `rankscope.measures`, which registers their measures."""
    from importlib.metadata import entry_points

    for family in ("gain", "rank", "sets", "diversity", "embedding", "ontology", "trec", "variety"):
        import_module(f"rankscope.measures.{family}")
    for plugin in entry_points(group="rankscope.measures"):
        try:
            plugin.load()
        except Exception as error:  # noqa: BLE001 (it is somebody else's code, and other measures do not need it)
            package = plugin.dist.name if plugin.dist else "?"
            warn_of(package, f"has measures that cannot be used: {type(error).__name__}: {error}")


REGISTRY: Registry[MeasureSpec] = Registry("measure", {}, load_more=load_families, error=MeasureError)
ALIASES: Registry[tuple[str, dict[str, Any]]] = Registry("measure", {}, load_more=load_families, error=MeasureError)
"""Every name that a measure has, in lower case: its canonical name, and the parameters that the name implies."""
