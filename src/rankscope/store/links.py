"""Read-only links: whoever has one may read the pages until it expires or is revoked. Tokens are kept as SHA-256."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from rankscope.errors import OptionError, UnknownNameError
from rankscope.records import Record
from rankscope.store.schema import share_link, text_sha256
from rankscope.store.users import later

if TYPE_CHECKING:
    from rankscope.store.store import Store

LONGEST_S = 90 * 24 * 3600
"""How long a link may be good."""
LONGEST_PAGE = 4000


class ShareLink(Record):
    """A link that somebody made, without its token, which nobody can see again."""

    number: int
    page: str
    """What it opens: the address of a page, from the first slash."""
    who: str
    created: str
    expires: str


class LinkTable:
    """The read-only links of a store, as `store.links`."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def add(self, page: str, *, who: str, lasts_s: float) -> str:
        """Make a link to a page; return its token, which is not kept."""
        if not 0 < lasts_s <= LONGEST_S:
            raise OptionError(f"a link lasts at most {LONGEST_S // 86400} days")
        if not page.startswith("/") or len(page) > LONGEST_PAGE:
            raise OptionError("a link opens a page of Rankscope: its address begins with a slash, and is not too long")
        token = secrets.token_urlsafe(32)
        with self.store.writing() as connection:
            now = self.store.clock()
            connection.execute(sa.delete(share_link).where(share_link.c.expires < now))
            values = {"token_sha256": text_sha256(token), "page": page, "who": who}
            connection.execute(sa.insert(share_link), {**values, "created": now, "expires": later(now, lasts_s)})
        return token

    def find(self, token: str) -> ShareLink | None:
        """Return the link of a token; None where it has ended, or there never was one."""
        with self.store.reading() as connection:
            row = connection.execute(self._open().where(share_link.c.token_sha256 == text_sha256(token))).first()
        return None if row is None else link_of(row)

    def list(self) -> tuple[ShareLink, ...]:
        """Return the links that have not ended, the newest first."""
        with self.store.reading() as connection:
            rows = connection.execute(self._open().order_by(share_link.c.id.desc())).all()
        return tuple(map(link_of, rows))

    def revoke(self, number: int) -> None:
        """End a link before its time."""
        with self.store.writing() as connection:
            own = (share_link.c.id == number) & share_link.c.revoked.is_(None)
            changed = connection.execute(sa.update(share_link).where(own).values(revoked=self.store.clock()))
            if not changed.rowcount:
                raise UnknownNameError(f"there is no link {number} that could be revoked")

    def _open(self) -> sa.Select[Any]:
        is_open = share_link.c.revoked.is_(None) & (share_link.c.expires > self.store.clock())
        return sa.select(share_link).where(is_open)


def link_of(row: Any) -> ShareLink:
    return ShareLink(row.id, row.page, row.who, row.created, row.expires)
