"""How work that takes long reports how far it is: one protocol, however it is shown."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Is called now and then with how much is done and how much there is to do, None where that is not known."""

    def __call__(self, done: int, total: int | None, /) -> None: ...
