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
    shown = [s for s in explanation.steps if every_rank or s.rank <= TOP or s.term or s.grade is not None]
    hidden = len(explanation.steps) - len(shown)
    more = f"{hidden} ranks with unjudged docs that add nothing are not shown" if hidden else ""
    return steps_table(shown, "adds", notes=tuple(filter(None, [more])))


def ideal_table(explanation: Explanation) -> Table:
    """Return the ideal ranking."""
    return steps_table(explanation.ideal, "adds", notes=())


def steps_table(steps: Sequence[Step], term_name: str, *, notes: Sequence[str]) -> Table:
    """Return steps as a table, one column per part of the term."""
    parts = list(dict.fromkeys(name for step in steps for name in step.parts))
    rows = [
        [
            Cell(str(step.rank)),
            Cell(step.doc or ""),
            Cell("unjudged" if step.grade is None else f"{step.grade:g}"),
            *(Cell(number(step.parts[name]) if name in step.parts else "") for name in parts),
            Cell(number(step.term)),
        ]
        for step in steps
    ]
    return Table(["rank", "doc", "grade", *parts, term_name], rows, n_name_columns=2, notes=notes)


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
