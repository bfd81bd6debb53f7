"""What a finding is, and how findings are worded: ids in quotes, shares in percent, a few examples of many rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from rankscope.core.arrays import Ints
from rankscope.core.rows import QrelsRows, RunRows
from rankscope.core.validate.tables import QrelsTable, RunTable
from rankscope.errors import BadLine, shorten

Level: TypeAlias = Literal["error", "warning", "remark"]
LEVELS: tuple[Level, ...] = ("error", "warning", "remark")
"""How bad a finding is, worst first: an error stops or spoils an evaluation, a remark only helps to read it."""

N_EXAMPLES = 3
SMALLEST_PERCENT = 0.1
DUPLICATES_HINT = "remove the repeated rows, or evaluate with --duplicates first"


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


def worst_first(findings: Iterable[Finding], places: Sequence[str]) -> tuple[Finding, ...]:
    """Put findings in the order of their places and, within one place, of their levels."""
    return tuple(sorted(findings, key=lambda found: (places.index(found.where), LEVELS.index(found.level))))


def malformed_lines(where: str, bad_lines: Sequence[BadLine]) -> Iterator[Finding]:
    """Find lines that were left out when the file was read."""
    if bad_lines:
        yield Finding(
            "error", "malformed_lines", where, f"malformed lines, left out here: {len(bad_lines):,}",
            tuple(f"{where}:{bad.line}: {bad.problem}: {shown(shorten(bad.text))}" for bad in bad_lines[:N_EXAMPLES]),
            "repair them; `rankscope evaluate` stops at them unless --lenient is given",
        )  # fmt: skip


def odd_rows(
    level: Level,
    code: str,
    table: QrelsTable | RunTable,
    picked: Ints,
    what: str,
    *,
    hint: str,
    note: Callable[[int], str] = lambda _: "",
) -> Iterator[Finding]:
    """Return the finding that some rows of a table are odd, where there are any; a note says more of a row."""
    if len(picked):
        message = f"{what}: {part(len(picked), len(table.rows), 'rows')}"
        yield Finding(level, code, table.name, message, doc_examples(table.rows, picked, note), hint)


def shown(text: str) -> str:
    """Return an id in quotes; one with anything unprintable in it as its escapes, so that it can be seen."""
    return f'"{text}"' if text.isprintable() else ascii(text)


def listed(names: Iterable[str]) -> tuple[str, ...]:
    """Return the first few ids as examples."""
    return tuple(shown(name) for name, _ in zip(names, range(N_EXAMPLES), strict=False))


def doc_examples(rows: QrelsRows | RunRows, picked: Ints, note: Callable[[int], str] = lambda _: "") -> tuple[str, ...]:
    """Name the query and the doc of the first few rows."""
    first = picked[:N_EXAMPLES].tolist()
    return tuple(f"query {shown(rows.query[i])}, doc {shown(rows.doc[i])}{note(i)}" for i in first)


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
    return f"over {100 - SMALLEST_PERCENT} %" if 100 - SMALLEST_PERCENT < value < 100 else f"{value:.1f} %"  # noqa: PLR2004
