"""How a run says how far it is: `rankscope.progress.Progress`, with what is being done."""

from __future__ import annotations

from typing import Protocol


class TaskProgress(Protocol):
    """Is called now and then with what is being done, how much is done, and how much there is to do."""

    def __call__(self, what: str, done: int, total: int | None, /) -> None: ...


def ignore_progress(_what: str, _done: int, _total: int | None, /) -> None:
    """Show nothing."""
