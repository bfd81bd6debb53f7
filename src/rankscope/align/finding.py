"""A finding: one thing that is odd about the data, and how it is worded: ids in quotes, shares in percent."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

Level: TypeAlias = Literal["error", "warning", "remark"]
LEVELS: tuple[Level, ...] = ("error", "warning", "remark")
"""How bad a finding is, worst first: an error stops or spoils an evaluation, a remark only helps to read it."""

N_EXAMPLES = 3
SMALLEST_PERCENT = 0.1


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is odd: how bad it is, where it is, what it is, and what to do about it."""

    level: Level
    code: str
    """A name that programs can rely on."""
    where: str
    """The name of the run, or of the qrels."""
    message: str
    examples: tuple[str, ...] = ()
    hint: str = ""

    @property
    def in_one_line(self) -> str:
        """The message with its examples."""
        return f"{self.message} ({'; '.join(self.examples)})" if self.examples else self.message


def shown(text: str) -> str:
    """Return an id in quotes; one with anything unprintable in it as its escapes, so that it can be seen."""
    return f'"{text}"' if text.isprintable() else ascii(text)


def listed(names: Iterable[str]) -> tuple[str, ...]:
    """Return the first few ids as examples."""
    return tuple(shown(name) for name, _ in zip(names, range(N_EXAMPLES), strict=False))


def part(n: int, total: int, nouns: str) -> str:
    """Return how many of how many: 3 of 1,200 rows."""
    return f"{n:,} of {total:,} {nouns}"


def share(n: int, total: int, nouns: str) -> str:
    """Return how many of how many, and in percent: 3 of 1,200 rows (0.2 %)."""
    return f"{part(n, total, nouns)} ({percent(n, total)})"


def percent(n: float, total: float) -> str:
    """Return a share in words; a small one does not become nothing, nor nearly all become all."""
    value = 100 * n / total
    if 0 < value < SMALLEST_PERCENT:
        return f"under {SMALLEST_PERCENT} %"
    return f"over {100 - SMALLEST_PERCENT} %" if 100 - SMALLEST_PERCENT < value < 100 else f"{value:.1f} %"
