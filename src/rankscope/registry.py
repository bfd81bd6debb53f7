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
from _thread import RLock
from collections.abc import Callable, Iterator, Mapping
from functools import cache, reduce
from importlib import import_module
from typing import Any, Generic, TypeVar

from rankscope.errors import OptionError, RankscopeError, did_you_mean, give_warning
from rankscope.light import LightRecord

Part = TypeVar("Part")


class Entry(LightRecord):
    """Where a part is, as "module:object" or "module", and what it is in a few words."""

    target: str
    summary: str = ""
    endings: tuple[str, ...] | None = None
    """How the names of its files end, where the part is a format of files; None: in its own name."""
    package: str = ""
    """The other package that offers the part; empty for ours."""


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
        self._lock = RLock()
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
                self._loaded[name] = self._load(name, self.entries[name])
        return self._loaded[name]

    def _load(self, name: str, entry: Entry) -> Part:
        try:
            part: Part = load_object(entry.target)
        except Exception as error:
            if not entry.package:
                raise
            raise self._error(
                f"the {self.what} {name!r} of the package {entry.package} cannot be loaded: "
                f"{type(error).__name__}: {error}",
                hint=f"update {entry.package}, or uninstall it",
            ) from error
        return part

    def __contains__(self, name: object) -> bool:
        return name in self.entries or name in self._complete()

    def __iter__(self) -> Iterator[str]:
        return iter(self._complete())

    def __len__(self) -> int:
        return len(self._complete())

    def _complete(self) -> dict[str, Entry]:
        """Add what other packages offer, once; a name of ours cannot be taken."""
        with self._lock:  # another thread waits until all names are there
            if self._load_more is not None:
                self._load_more()
            if self._group is not None and self._group in groups_of_entry_points():
                from importlib.metadata import entry_points

                for point in entry_points(group=self._group):
                    package = point.dist.name if point.dist else "?"
                    if point.name in self.entries:
                        warn_of(package, f"offers a {self.what} {point.name!r}; there is one already, which is used")
                    else:
                        self.entries[point.name] = Entry(point.value, f"from {package}", package=package)
            self._group = None
        return self.entries


def warn_of(package: str, what: str) -> None:
    """Warn that a part of another package cannot be used; everything else goes on."""
    give_warning(f"the package {package} {what}")


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
    """Return what "package.module:object" names, or "package.module"; the object may have dots, extras are ignored."""
    module, _, name = target.partition("[")[0].strip().partition(":")
    return reduce(getattr, name.split(".") if name else (), import_module(module))
