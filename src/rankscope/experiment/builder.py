"""Building the systems of a project for one collection; what several of them are made of is built and indexed once."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import msgspec

from rankscope.errors import InputError, RankscopeError
from rankscope.experiment.collection import Collection
from rankscope.experiment.manifest import fingerprint_of
from rankscope.experiment.progress import TaskProgress
from rankscope.experiment.project import Project, SystemEntry
from rankscope.systems.answers import Clock, reason_of
from rankscope.systems.base import System
from rankscope.systems.registry import make_system, system_names_in


class ConfiguredSystem(msgspec.Struct, frozen=True, eq=False):
    """A system with the options that it is searched with."""

    entry: SystemEntry
    options: Mapping[str, Any]
    system: System

    @property
    def name(self) -> str:
        return self.entry.name


class SystemBuilder:
    """Builds and indexes systems, and keeps those that are configured for others to be made of."""

    def __init__(
        self, project: Project, collection: Collection, *, depth: int, clock: Clock, on_progress: TaskProgress
    ) -> None:
        self._project = project
        self._collection = collection
        self._depth = depth
        self._clock = clock
        self._on_progress = on_progress
        self.configured: dict[str, ConfiguredSystem] = {}
        """The systems whose options are settled, by name."""
        self._index_seconds: dict[int, tuple[System, float]] = {}
        """The systems that are indexed, and how long that took without their parts."""

    def build(self, entry: SystemEntry, options: Mapping[str, Any]) -> ConfiguredSystem:
        """Return a system with these options; what it is made of must be configured before."""
        system = make_system(
            entry.type,
            options,
            name=entry.name,
            resolve=lambda name: self.configured[name].system,
            cache=self._project.cache / "embeddings",
        )
        return ConfiguredSystem(entry, options, system)

    def fingerprint(self, configured: ConfiguredSystem) -> str:
        """Return a digest of all that the answers of a system depend on."""
        hashes = self._collection.hashes
        return fingerprint_of(
            {
                "version": 1,
                "system": configured.system.describe(),
                "docs": hashes["docs"],
                "queries": hashes["queries"],
                "k": self._depth,
            }
        )

    def is_indexed(self, configured: ConfiguredSystem) -> bool:
        return id(configured.system) in self._index_seconds

    def index(self, configured: ConfiguredSystem) -> float:
        """Index the docs for a system and all that it is made of; return how many seconds that took or has taken."""
        needed = [*(self.configured[name] for name in self._parts_of(configured)), configured]
        for each in needed:
            if not self.is_indexed(each):
                started = self._clock()
                self._fit(each)
                self._index_seconds[id(each.system)] = each.system, self._clock() - started
        return sum(self._index_seconds[id(each.system)][1] for each in needed)

    def _fit(self, configured: ConfiguredSystem) -> None:
        """Index the docs; an error of anybody's system is reported with its name."""
        try:
            configured.system.fit(
                self._collection.docs, progress=partial(self._on_progress, f"{configured.name}: indexing")
            )
        except (RankscopeError, MemoryError):
            raise
        except Exception as error:
            raise InputError(
                f"{configured.name} could not index the docs: {reason_of(error)}",
                hint="what other systems have answered is kept; fix this one, or leave it out with --only",
            ) from error

    def drop_index(self, configured: ConfiguredSystem) -> None:
        """Let go of a system that is not used any more, as there may not be room for the indexes of all."""
        self._index_seconds.pop(id(configured.system), None)

    def _parts_of(self, configured: ConfiguredSystem) -> list[str]:
        """Return the names of all systems that one is made of, the innermost first, each once."""
        found: dict[str, None] = {}
        for name in system_names_in(configured.entry.type, configured.options):
            found |= dict.fromkeys(self._parts_of(self.configured[name]))
            found[name] = None
        return list(found)
