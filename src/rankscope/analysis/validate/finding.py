"""Findings about rows: their order, and a few examples of many."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from rankscope.align.finding import LEVELS, N_EXAMPLES, Finding, Level, count_of, quote_id
from rankscope.analysis.validate.tables import QrelsTable, RunTable
from rankscope.arrays import Ints
from rankscope.errors import BadLine, shorten
from rankscope.io.rows import QrelsRows, RunRows

DUPLICATES_HINT = "remove the repeated rows, or evaluate with --duplicates first"


def worst_first(findings: Iterable[Finding], places: Sequence[str]) -> tuple[Finding, ...]:
    """Put findings in the order of their places and, within one place, of their levels."""
    return tuple(sorted(findings, key=lambda found: (places.index(found.where), LEVELS.index(found.level))))


def malformed_lines(where: str, bad_lines: Sequence[BadLine]) -> Iterator[Finding]:
    if bad_lines:
        yield Finding(
            "error",
            "malformed_lines",
            where,
            f"malformed lines, left out here: {len(bad_lines):,}",
            tuple(
                f"{where}:{bad.line}: {bad.problem}: {quote_id(shorten(bad.text))}" for bad in bad_lines[:N_EXAMPLES]
            ),
            "repair them; `rankscope evaluate` stops at them unless --lenient is given",
        )


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
        message = f"{what}: {count_of(len(picked), len(table.rows), 'rows')}"
        yield Finding(level, code, table.name, message, doc_examples(table.rows, picked, note), hint)


def doc_examples(rows: QrelsRows | RunRows, picked: Ints, note: Callable[[int], str] = lambda _: "") -> tuple[str, ...]:
    """Name the query and the doc of the first few rows."""
    first = picked[:N_EXAMPLES].tolist()
    return tuple(f"query {quote_id(rows.query[i])}, doc {quote_id(rows.doc[i])}{note(i)}" for i in first)
