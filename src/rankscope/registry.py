"""One lazy registry for everything that has a name: measures, systems, formats, charts, corrections, commands.

    SYSTEMS: Registry[type[System]] = Registry(
        "system",
        {"bm25": Entry("rankscope.systems.bm25:BM25", "words, weighted by how rare they are")},
        entry_points="rankscope.systems",
    )
    SYSTEMS["bm25"]         # imported now
    SYSTEMS["bm52"]         # OptionError: there is no system 'bm52'. Hint: did you mean bm25?

To add a part, write its file and one line in its table. Other packages add theirs through entry points, which are only
looked up when a name is not in the table, or when all names are wanted. Where parts register themselves when their
module is imported, as measures do, `load_more` imports these modules, once, although it is called whenever a name is
not in the table. The strings in a table are the one place where a package may name a package above it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import Any, Generic, NamedTuple, TypeVar

from rankscope.errors import OptionError, RankscopeError, did_you_mean

Part = TypeVar("Part")


class Entry(NamedTuple):
    """Where a part is, as "module:object" or "module", and what it is in a few words."""

    target: str
    summary: str = ""
    endings: tuple[str, ...] | None = None
    """How the names of its files end, where the part is a format of files; None: in its own name."""


class Registry(Mapping[str, Part], Generic[Part]):
    """Parts by name; each is imported when it is first asked for."""

    def __init__(
        self,
        what: str,
        entries: Mapping[str, Entry],
        *,
        entry_points: str | None = None,
        load_more: Callable[[], None] | None = None,
        hint: str = "",
        error: type[RankscopeError] = OptionError,
    ) -> None:
        self.what = what
        """What the parts are, in the singular, as errors call them."""
        self.entries = dict(entries)
        self.hint = hint
        """What an error adds to the list of names."""
        self._loaded: dict[str, Part] = {}
        self._group = entry_points
        self._load_more = load_more
        self._error = error

    def add(self, name: str, part: Part | str, summary: str = "", *, endings: tuple[str, ...] | None = None) -> None:
        """Register a part, or where it is as "module:object"; a name that is taken is an error."""
        if name in self.entries:
            raise self._error(f"there is already a {self.what} {name!r}")
        self.entries[name] = Entry(part if isinstance(part, str) else "", summary, endings)
        if not isinstance(part, str):
            self._loaded[name] = part

    def remove(self, name: str) -> None:
        del self.entries[name]
        self._loaded.pop(name, None)

    def summary(self, name: str) -> str:
        return self.entries[name].summary

    def check(self, name: str) -> None:
        """Raise where there is no part of this name; the hint names the closest ones."""
        if name not in self:
            names = f"there are {', '.join(self)}{self.hint and f', and {self.hint}'}"
            raise self._error(f"there is no {self.what} {name!r}", hint=did_you_mean(name, self) or names)

    def __getitem__(self, name: str) -> Part:
        if name not in self._loaded:
            self.check(name)  # it may load more parts, this one among them
            if name not in self._loaded:
                self._loaded[name] = load_object(self.entries[name].target)
        return self._loaded[name]

    def __contains__(self, name: object) -> bool:
        return name in self.entries or name in self._complete()

    def __iter__(self) -> Iterator[str]:
        return iter(self._complete())

    def __len__(self) -> int:
        return len(self._complete())

    def _complete(self) -> dict[str, Entry]:
        """Add what other packages offer, once; a name of ours cannot be taken."""
        if self._load_more is not None:
            self._load_more()
        group, self._group = self._group, None
        if group is not None and group in groups_of_entry_points():
            from importlib.metadata import entry_points

            for point in entry_points(group=group):
                self.entries.setdefault(
                    point.name, Entry(point.value, f"from {point.dist.name if point.dist else '?'}")
                )
        return self.entries


@cache
def groups_of_entry_points() -> frozenset[str]:
    """Return the groups that installed packages have entry points in.

    `importlib.metadata` takes longer to load than all else that help and a small evaluation need, and nearly always
    there is nothing for it to find.
    """
    found: set[str] = set()
    for folder in sys.path:
        try:
            packages = [name for name in os.listdir(folder or ".") if name.endswith((".dist-info", ".egg-info"))]  # noqa: PTH208 (pathlib is slow to load)
        except OSError:
            continue
        for package in packages:
            try:
                with open(f"{folder or '.'}/{package}/entry_points.txt", encoding="utf-8") as stream:  # noqa: PTH123 (as above)
                    found.update(line.strip()[1:-1] for line in stream if line.startswith("["))
            except OSError:
                continue
    return frozenset(found)


def load_object(target: str) -> Any:
    """Return what "package.module:object" names, or "package.module"."""
    module, _, name = target.partition(":")
    loaded = import_module(module)
    return getattr(loaded, name) if name else loaded
