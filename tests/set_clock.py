"""A clock that tests set: what stands in a store says when it was written, and sessions and jobs end by the time."""

from __future__ import annotations

from datetime import datetime, timedelta

START = datetime.fromisoformat("2026-11-17T09:00:00.000000+00:00")


class SetClock:
    """Says what it is told to."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> str:
        return (START + timedelta(seconds=self.seconds)).isoformat(timespec="microseconds")
