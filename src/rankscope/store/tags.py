"""Tags: names for runs, such as baseline or release. A tag is the one thing that moves; where it was is kept."""

from __future__ import annotations

import getpass
from contextlib import suppress
from typing import TYPE_CHECKING

import sqlalchemy as sa

from rankscope.errors import OptionError, UnknownNameError
from rankscope.records import Record
from rankscope.store.schema import tag

if TYPE_CHECKING:
    from rankscope.store.runs import StoredRun
    from rankscope.store.store import Store


class TagMove(Record):
    """A tag that was put on a run, or taken away (no run)."""

    name: str
    run: int | None
    who: str
    at: str


def tagged_run(connection: sa.Connection, name: str) -> int | None:
    """Return the number of the run that a tag is on now."""
    newest = sa.select(tag.c.run_id).where(tag.c.name == name).order_by(tag.c.id.desc()).limit(1)
    found = connection.execute(newest).scalar_one_or_none()
    return None if found is None else int(found)


class TagTable:
    """The tags of a store, as `store.tags`."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def move(self, name: str, run: StoredRun) -> TagMove:
        """Put a tag on a run, and off the one it was on."""
        if not name.strip() or "~" in name or name.isdigit():
            raise OptionError(f"{name!r} cannot be a tag", hint="a tag has a letter and no ~, such as baseline")
        return self._add(name, run.number)

    def remove(self, name: str) -> TagMove:
        if name not in self.current():
            raise UnknownNameError(f"there is no tag {name!r}", hint=f"there are {', '.join(self.current()) or 'none'}")
        return self._add(name, None)

    def _add(self, name: str, run: int | None) -> TagMove:
        who = ""
        with suppress(Exception):  # a container may know no user
            who = getpass.getuser()
        with self.store.writing() as connection:
            move = TagMove(name, run, who, self.store.clock())
            connection.execute(sa.insert(tag), {"name": name, "run_id": run, "who": who, "stored": move.at})
        return move

    def moves(self, name: str | None = None) -> tuple[TagMove, ...]:
        """Return where tags have been, in the order of the moves."""
        wanted = sa.select(tag.c.name, tag.c.run_id, tag.c.who, tag.c.stored).order_by(tag.c.id)
        with self.store.reading() as connection:
            rows = connection.execute(wanted if name is None else wanted.where(tag.c.name == name))
            return tuple(TagMove(*row) for row in rows)

    def current(self) -> dict[str, int]:
        """Return the number of the run that each tag is on."""
        newest = {move.name: move.run for move in self.moves()}
        return {name: run for name, run in newest.items() if run is not None}
