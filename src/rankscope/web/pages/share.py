"""Read-only links: make one for a page, see those that are good, and revoke them."""

from __future__ import annotations

from rankscope.records import Options, Record
from rankscope.store.links import ShareLink
from rankscope.web.library import Library


class ShareOptions(Options):
    """What a link is made for."""

    page: str = "/"
    """The address of the page that the link opens, from the first slash."""


class SharePage(Record):
    """What stands on the page of links."""

    page: str
    can_make: bool
    """False where the store may only be read."""
    links: tuple[ShareLink, ...]


def share_page(library: Library, asked: ShareOptions) -> SharePage:
    """List the read-only links that are good, and offer to make one."""
    return SharePage(page=asked.page, can_make=not library.store.read_only, links=library.store.links.list())
