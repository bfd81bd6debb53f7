"""How a long run says how far it is."""

from __future__ import annotations

from typing import Protocol


class OnProgress(Protocol):
    """Called again and again with what is being done, and how much of how much is done."""

    def __call__(self, what: str, done: int, total: int, /) -> None: ...


def ignore_progress(_what: str, _done: int, _total: int, /) -> None:
    """Show nothing."""
