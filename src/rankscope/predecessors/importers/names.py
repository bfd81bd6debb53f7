"""From names of people to ids: exact once titles, case and blanks are put aside, and never a guess."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from rankscope.records import Record

_TITLE = re.compile(r"^(?:dr|prof|mr|mrs|ms|miss)\b\.?\s*")


class Resolved(Record):
    """The ids of some names, in their order, and the names that do not stand for exactly one id."""

    ids: tuple[str, ...]
    """A name that was not resolved has an id of its own, made from it, so that it still counts as not found."""
    unresolved: tuple[str, ...] = ()
    ambiguous: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Names that several people have, with their ids."""

    @property
    def stand_ins(self) -> frozenset[str]:
        """The ids that were made from names."""
        return frozenset(map(stand_in, (*self.unresolved, *(name for name, _ in self.ambiguous))))


def normalised(name: str) -> str:
    """Return a name in lower case, without titles, with single blanks."""
    plain = " ".join(name.lower().split())
    while (shorter := _TITLE.sub("", plain, count=1)) != plain:
        plain = shorter
    return plain


def stand_in(name: str) -> str:
    return "name:" + (re.sub(r"\s+", "-", normalised(name)) or "unknown")


def resolve(names: Iterable[str], name_of: Mapping[str, str]) -> Resolved:
    """Find the one id that each name stands for, among {id: name}."""
    ids_of: dict[str, list[str]] = {}
    for doc, name in name_of.items():
        ids_of.setdefault(normalised(name), []).append(doc)
    ids: dict[str, None] = {}
    unresolved, ambiguous = [], []
    for name in names:
        found = ids_of.get(normalised(name), [])
        ids[found[0] if len(found) == 1 else stand_in(name)] = None
        if not found:
            unresolved.append(name)
        elif len(found) > 1:
            ambiguous.append((name, tuple(found)))
    return Resolved(tuple(ids), tuple(unresolved), tuple(ambiguous))
