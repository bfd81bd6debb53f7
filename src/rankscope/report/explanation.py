"""The arithmetic of a score, printed so that a person can follow it with a pencil."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import TextIO

from rankscope.analysis.explain import Explanation, Step
from rankscope.data.texts import beginning
from rankscope.printable import printable
from rankscope.report.table import Cell, Table, print_table
from rankscope.report.words import QUERY_WIDTH, doc_cells, without_empty

TOP = 10
"""Ranks that are shown even where nothing of interest stands there."""
ROUNDING = 1e-12
"""A term below this is a 0 of which the last bits were lost."""


def print_explanation(explanation: Explanation, *, every_rank: bool = False, file: TextIO | None = None) -> None:
    n, judged = explanation.n_retrieved, "judged " if explanation.judged_only else ""
    docs = f"1 {judged}doc was" if n == 1 else f"{n} {judged}docs were"
    rest = "; docs without a judgment are left out" if judged else ""
    asked = f" “{beginning(printable(explanation.text), QUERY_WIDTH)}”" if explanation.text else ""
    print(f"{explanation.measure} of query {printable(explanation.query)}{asked}; {docs} retrieved{rest}\n", file=file)
    if explanation.steps:
        print_table(ranking_table(explanation, every_rank=every_rank), file=file)
        print(file=file)
    if explanation.ideal:
        print("the ideal ranking, from all judged docs\n", file=file)
        print_table(steps_table(explanation.ideal, "adds"), file=file)
        print(file=file)
    for line in conclusion(explanation):
        print(line, file=file)


def ranking_table(explanation: Explanation, *, every_rank: bool = False) -> Table:
    """Return the ranks that matter: the first ten, and all that add something."""
    steps = list(explanation.steps)
    if every_rank:
        return steps_table(steps, explanation.term_name)
    of_interest = [step for step in steps if step.rank is None or step.rank <= TOP or abs(step.term) >= ROUNDING]
    n_hidden = len(steps) - len(of_interest)
    verb = "change" if explanation.term_name == "change" else "add"
    one, several = f"1 more rank {verb}s nothing and is", f"{n_hidden} more ranks {verb} nothing and are"
    note = f"{one if n_hidden == 1 else several} not shown"
    return steps_table(join_unjudged(of_interest), explanation.term_name, notes=[note] if n_hidden else [])


def join_unjudged(steps: Sequence[Step]) -> list[Step]:
    """Put unjudged docs that follow one another below the first ten ranks into one row: there may be hundreds."""

    def is_joined(step: Step) -> bool:
        return step.rank is not None and step.rank > TOP and (step.grade is None or step.grade < 0)

    rows: list[Step] = []
    for together, group in itertools.groupby(steps, key=is_joined):
        stretch = list(group)
        if together and len(stretch) > 1:
            label = f"{len(stretch)} unjudged docs, ranks {stretch[0].rank} to {stretch[-1].rank}"
            term = math.fsum(step.term for step in stretch)
            stretch = [Step(None, None, None, stretch[-1].parts, term, label)]
        rows += stretch
    return rows


def steps_table(steps: Sequence[Step], term_name: str, *, notes: Sequence[str] = ()) -> Table:
    parts = list(dict.fromkeys(name for step in steps for name in step.parts))
    columns = {name: format_column([step.parts.get(name, "") for step in steps]) for name in parts}
    columns[term_name] = format_column([step.term for step in steps], signed=term_name == "change")
    rows = []
    for i, step in enumerate(steps):
        grade = "unjudged" if step.grade is None else f"{step.grade:g}"
        if step.grade is not None and step.grade < 0:  # it was pooled, but not judged
            grade = f"unjudged ({grade})"
        rank, grade = ("", "") if step.rank is None else (str(step.rank), grade)
        named = doc_cells(step.doc or f"({step.label})", step.title)
        rows.append(
            [Cell(rank), *named, *(Cell(text) for text in (grade, *(column[i] for column in columns.values())))]
        )
    return without_empty(Table(["rank", "doc", "id", "grade", *columns], rows, n_name_columns=3, notes=notes), "id")


def format_column(values: Sequence[float | str | None], *, signed: bool = False) -> list[str]:
    """Print the numbers of a column, all of them with decimals where one needs them; None is undefined."""
    numbers = [value for value in values if isinstance(value, float)]
    decimals = 0 if all(value.is_integer() for value in numbers) else 6

    def printed(value: float | str | None) -> str:
        if not isinstance(value, float):
            return "undefined" if value is None else value
        exact = value if abs(value) >= ROUNDING else 0.0  # a 0 has no sign
        return f"{exact:+.{decimals}f}" if signed and exact else f"{exact:.{decimals}f}"

    return [printed(value) for value in values]


def conclusion(explanation: Explanation) -> Iterator[str]:
    name, score, total, divisor = explanation.measure, explanation.score, explanation.total, explanation.divisor
    if total is None:
        yield f"{name} is one number for all queries together, not a sum over the ranks of one of them"
    elif explanation.sum_name != name and not (explanation.why_undefined and explanation.term_name == "change"):
        yield f"{explanation.sum_name} = {number(total)}"
    if divisor is not None:
        yield f"{explanation.divisor_name} = {number(divisor)}"
    if score is None:
        yield f"{name} is undefined here: {explanation.why_undefined}"
    elif explanation.why_undefined:
        yield f"{name} = {number(score)} (undefined: {explanation.why_undefined}; counts as 0)"
    elif total is not None and divisor:
        yield f"{name} = {number(total)} / {number(divisor)} = {number(score)}"
    else:
        yield f"{name} = {number(score)}"


def number(value: float) -> str:
    """Print a number with up to six decimals, whole numbers as they are."""
    printed = f"{value:.6f}".rstrip("0").rstrip(".")
    return "0" if printed == "-0" else printed
