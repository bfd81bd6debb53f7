"""How work that takes long reports how far it is: one protocol, however it is shown."""

from __future__ import annotations

import time
from typing import Protocol

from rankscope.light import LightRecord, replace


class Progress(Protocol):
    """Is called now and then with how much is done and how much there is to do, None where that is not known."""

    def __call__(self, done: int, total: int | None, /) -> None: ...


class JobState(LightRecord):
    """How far a job is: how many of its inputs are done, and how quickly."""

    done: int
    """How many inputs are done, those of earlier times included."""
    total: int
    kept: int = 0
    """How many of them were done at an earlier time."""
    rows: int = 0
    """How many rows were worked on now."""
    seconds: float = 0.0
    noun: str = "input"
    within: float = 0.0
    """The share that is read of the input at work, where that is a long one and the share is known."""
    doing: str = "scoring"
    """What is done with the inputs."""

    @property
    def rows_per_second(self) -> float | None:
        """How quick it is; None where that cannot be said yet."""
        return self.rows / self.seconds if self.rows and self.seconds > 0 else None

    @property
    def seconds_left(self) -> float | None:
        """How long the rest will take at this speed; None where that cannot be said yet."""
        now = self.done - self.kept + self.within
        return self.seconds / now * (self.total - self.done - self.within) if now > 0 else None

    def __str__(self) -> str:
        """Return it in words: 12 of 20 shards, 5 kept, 31,000,000 rows/s, 2 s left."""
        parts = [f"{self.done:,} of {self.total:,} {self.noun}{'s' * (self.total != 1)}"]
        parts += [f"{self.kept:,} kept"] * (self.kept > 0)
        parts += [f"{self.within:.0%} of the next"] * (self.within > 0)
        if self.rows_per_second is not None:
            parts.append(f"{self.rows_per_second:,.0f} rows/s")
        if self.seconds_left is not None and self.done < self.total:
            parts.append(f"{self.seconds_left:,.0f} s left")
        return ", ".join(parts)


class WatchJob(Protocol):
    """Is called whenever inputs of a job are done."""

    def __call__(self, state: JobState, /) -> object: ...


class WatchWithin:
    """Passes on how far a job is; while an input is read that takes long, how much of it is read, too."""

    def __init__(self, progress: WatchJob) -> None:
        self.progress = progress
        self._state: JobState | None = None
        self._since = 0.0
        self._n_rows = 0

    def __call__(self, state: JobState, /) -> None:
        self._state, self._since, self._n_rows = state, time.monotonic(), 0
        self.progress(state)

    def rows(self, n_rows: int, /) -> None:
        """Note how many rows of an input are done; it is said with the next share that is read."""
        self._n_rows = n_rows

    def reading(self, done: int, total: int | None, /) -> None:
        """Say that so much of an input is read."""
        state = self._state
        if state is not None and total and state.done < state.total:
            seconds = state.seconds + time.monotonic() - self._since
            rows = state.rows + self._n_rows
            self.progress(replace(state, within=min(1.0, done / total), seconds=seconds, rows=rows))


def ignore_job(_state: JobState, /) -> None:
    """Show nothing."""
