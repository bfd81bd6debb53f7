"""What evaluations and comparisons warn of, as notes; the one place that knows that they still use `warnings`."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from rankscope.errors import RankscopeWarning

_LOCK = threading.RLock()
"""The list of filters belongs to the process, so only one thread at a time may change it."""


@contextmanager
def collect_notes(notes: list[str]) -> Iterator[None]:
    """Add what is warned of inside the block to a list, each text once; warnings of others are given afterwards."""
    with _LOCK, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", RankscopeWarning)
        yield
    notes += dict.fromkeys(str(entry.message) for entry in caught if issubclass(entry.category, RankscopeWarning))
    for entry in caught:
        if not issubclass(entry.category, RankscopeWarning):
            warnings.warn_explicit(entry.message, entry.category, entry.filename, entry.lineno)
