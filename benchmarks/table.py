"""Turns figures into rows, and rows into text or Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from measure import Figures, Job
from plan import Comparison, Floor, Growth, Target

Measured = Mapping[Job, Figures]
COMPARISON_HEADER = (
    "workload", "what", "ours s", "other", "other s", "ratio", "ours MB", "other MB", "target", "holds",
)  # fmt: skip
GROWTH_HEADER = ("rows", "seconds", "us per row", "us per added row", "peak MB", "KB per added row", "target", "holds")
TIMES = (1, 4, 16)


def comparison_row(row: Comparison, measured: Measured) -> tuple[str, ...]:
    """Return the cells of one comparison."""
    ours = measured[row.ours]
    other = measured[row.other] if row.other else None
    return (
        row.section, row.what, f"{ours.seconds:.3f}", row.other_name, f"{other.seconds:.3f}" if other else "",
        f"{other.seconds / ours.seconds:.2f}x" if other else "", f"{ours.peak_mb:.0f}",
        f"{other.peak_mb:.0f}" if other else "", row.target.words if row.target else "",
        yes_or_no(holds(row.target, ours, other)) if row.target else "",
    )  # fmt: skip


def holds(target: Target, ours: Figures, other: Figures | None) -> bool:
    """Say whether everything that is asked of a row is so."""
    if target.seconds is not None and ours.seconds > target.seconds:
        return False
    if other is None:
        return True
    fast_enough = target.faster is None or other.seconds / ours.seconds >= target.faster
    small_enough = target.memory is None or ours.peak_mb / other.peak_mb <= target.memory
    return fast_enough and small_enough


def yes_or_no(answer: bool) -> str:
    """Return the word."""
    return "yes" if answer else "NO"


def floor_row(row: Floor, measured: Measured) -> tuple[str, ...]:
    """Return the cells of one floor, under the header of comparisons."""
    figures = measured[row.job]
    return (row.section, "floor of reading", "", row.what, f"{figures.seconds:.3f}", "", "", "", "", "")


def growth_rows(growth: Growth, measured: Measured, *, n_rows: Sequence[int]) -> list[tuple[str, ...]]:
    """Return a row for each size; what an added row costs leaves out the cost of starting up."""
    figures = [measured[job] for job in growth.jobs]
    seconds = added_cost([each.seconds for each in figures], n_rows)
    memory = added_cost([each.peak_mb for each in figures], n_rows)
    linear = yes_or_no(all(0 < late <= growth.at_most * early for early, late in (seconds, memory)))
    rows = []
    for i, (times, rows_here, each) in enumerate(zip(TIMES, n_rows, figures, strict=True)):
        added = (f"{seconds[i - 1] * 1e6:.4f}", f"{memory[i - 1] * 1024:.4f}") if i else ("", "")
        last = (f"at most {growth.at_most}x per added row", linear) if i == len(figures) - 1 else ("", "")
        per_row = f"{each.seconds / rows_here * 1e6:.4f}"
        rows.append((f"{times}x ({rows_here:,})", f"{each.seconds:.3f}", per_row, added[0], f"{each.peak_mb:.0f}",
                     added[1], *last))  # fmt: skip
    return rows


def added_cost(totals: Sequence[float], n_rows: Sequence[int]) -> tuple[float, float]:
    """Return what each added row costs from the first size to the second, and from there to the third."""
    first, second, third = totals
    return (second - first) / (n_rows[1] - n_rows[0]), (third - second) / (n_rows[2] - n_rows[1])


def as_text(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table for a terminal."""
    widths = [max(len(row[i]) for row in (header, *rows)) for i in range(len(header))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in (header, *rows)]
    return "\n".join([lines[0], "  ".join("-" * width for width in widths), *lines[1:]])


def as_markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table for a README."""
    lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in (header, *rows)]
    return "\n".join([lines[0], "|" + "---|" * len(header), *lines[1:]])
