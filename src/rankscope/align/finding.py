"""A finding: one thing that is odd about the data, and how it is worded: ids in quotes, shares in percent."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Literal, TypeAlias

from rankscope.records import Record

Level: TypeAlias = Literal["error", "warning", "remark"]
LEVELS: tuple[Level, ...] = ("error", "warning", "remark")
"""How bad a finding is, worst first: an error stops or spoils an evaluation, a remark only helps to read it."""

N_EXAMPLES = 3
SMALLEST_PERCENT = 0.1


class Finding(Record):
    """One thing that is odd: how bad it is, where it is, what it is, and what to do about it."""

    level: Level
    """How bad it is: an error stops or spoils an evaluation, a warning may mislead, a remark is good to know."""
    code: str
    """What was found, as a name that programs can rely on."""
    where: str
    """The name of the run, or of the qrels."""
    message: str
    """What was found, in words that may change between versions."""
    examples: tuple[str, ...] = ()
    """A few of the places."""
    hint: str = ""
    """What to do about it; empty if there is nothing to do."""

    @property
    def in_one_line(self) -> str:
        return f"{self.message} ({'; '.join(self.examples)})" if self.examples else self.message


def quote_id(text: str) -> str:
    """Return an id in quotes; one that holds anything unprintable as its escapes, so that it can be seen."""
    return f'"{text}"' if text.isprintable() else ascii(text)


def first_ids(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(map(quote_id, islice(names, N_EXAMPLES)))


def count_of(n: int, total: int, nouns: str) -> str:
    """Return how many of how many: 3 of 1,200 rows."""
    return f"{n:,} of {total:,} {nouns}"


def count_and_share(n: int, total: int, nouns: str) -> str:
    """Return how many of how many, and in percent: 3 of 1,200 rows (0.2%)."""
    return f"{count_of(n, total, nouns)} ({percent(n, total)})"


def percent(n: float, total: float) -> str:
    """Return a share in percent; a small one does not become 0, nor nearly all become 100."""
    value = 100 * n / total
    if 0 < value < SMALLEST_PERCENT:
        return f"under {SMALLEST_PERCENT}%"
    return f"over {100 - SMALLEST_PERCENT}%" if 100 - SMALLEST_PERCENT < value < 100 else f"{value:.1f}%"
