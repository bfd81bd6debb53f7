"""The arithmetic of a score, printed so that a person can follow it with a pencil."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from rankscope.measures.explain import Explanation, Step
from rankscope.report.table import Cell, Table

TOP = 10
"""Ranks that are shown even where nothing of interest stands there."""


def ranking_table(explanation: Explanation, *, every_rank: bool = False) -> Table:
    """Return the ranks that matter: the first ten, and all that add something."""
    shown = [step for step in explanation.steps if every_rank or step.rank <= TOP or step.term]
    hidden = len(explanation.steps) - len(shown)
    more = f"{hidden} more ranks add nothing and are not shown" if hidden else ""
    return steps_table(shown, "adds", notes=tuple(filter(None, [more])))


def ideal_table(explanation: Explanation) -> Table:
    """Return the ideal ranking."""
    return steps_table(explanation.ideal, "adds", notes=())


def steps_table(steps: Sequence[Step], term_name: str, *, notes: Sequence[str]) -> Table:
    """Return steps as a table, one column per part of the term."""
    parts = list(dict.fromkeys(name for step in steps for name in step.parts))
    columns = {name: aligned([step.parts.get(name) for step in steps]) for name in parts}
    columns[term_name] = aligned([step.term for step in steps])
    rows = [
        [
            Cell(str(step.rank)),
            Cell(step.doc or ""),
            Cell("unjudged" if step.grade is None else f"{step.grade:g}"),
            *(Cell(column[i]) for column in columns.values()),
        ]
        for i, step in enumerate(steps)
    ]
    return Table(["rank", "doc", "grade", *columns], rows, n_name_columns=2, notes=notes)


def aligned(values: Sequence[float | None]) -> list[str]:
    """Print the numbers of a column, all of them with decimals where one needs them."""
    known = [value for value in values if value is not None and not math.isnan(value)]
    decimals = 0 if all(float(value).is_integer() for value in known) else 6
    return ["" if value is None else "-" if math.isnan(value) else f"{value:.{decimals}f}" for value in values]


def conclusion(explanation: Explanation) -> Iterator[str]:
    """Say how the terms become the score."""
    yield f"{explanation.sum_name} = {number(explanation.total)}"
    if explanation.divisor is not None:
        yield f"{explanation.divisor_name} = {number(explanation.divisor)}"
    if math.isnan(explanation.score):
        yield f"{explanation.measure} is undefined here: {explanation.undefined}"
    elif explanation.divisor:
        quotient = f"{number(explanation.total)} / {number(explanation.divisor)}"
        yield f"{explanation.measure} = {quotient} = {number(explanation.score)}"
    else:
        reason = f" (undefined: {explanation.undefined}; counts as 0)" if explanation.divisor == 0 else ""
        yield f"{explanation.measure} = {number(explanation.score)}{reason}"


def number(value: float) -> str:
    """Print a number with up to six decimals, whole numbers as they are."""
    return f"{value:.6f}".rstrip("0").rstrip(".") if value else "0"
