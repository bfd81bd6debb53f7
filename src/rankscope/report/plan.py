"""A plan of queries in words and as a table."""

from __future__ import annotations

from collections.abc import Iterator

from rankscope.comparison.planning import QueryPlan
from rankscope.comparison.verdict import MIN_UNITS
from rankscope.printable import counted
from rankscope.report.table import Cell, Table
from rankscope.stats.set_sizes import size_in_words

FEW_QUERIES = 25
"""A spread that comes from fewer queries is little more than a guess."""


def plan_lines(plan: QueryPlan) -> Iterator[str]:
    """Yield the answer in words: what is needed, what there is, and how sure that is."""
    pair, n_of_files = plan.decisive, plan.n_queries_of_files
    if pair.queries_needed is not None:
        measure = f" in {plan.measure}" if plan.measure else ""
        yield (
            f"About {pair.queries_needed:,} queries find a true difference of {plan.detect:g}{measure} with "
            f"{_percent(plan.power)} chance."
        )
    if plan.n_queries is not None:
        queries = f"The {plan.n_queries:,} you have" if plan.n_queries == n_of_files else f"{plan.n_queries:,} queries"
        possible = f" that {plan.measure} can have" if plan.measure else ""
        found = f"no true difference{possible} with {_percent(plan.power)} chance."
        if pair.mde is not None:
            with_chance = f"with {_percent(plan.power)} chance; smaller ones are missed more often."
            found = f"a true difference of {pair.mde:.2g} {with_chance}"
        yield f"{queries} find {found}"
        yield f"As a test set, {counted(plan.n_queries, 'query')}: {size_in_words(plan.n_queries)}."
    if plan.systems == 2:
        yield f"This is for one paired two-sided test at {_percent(plan.alpha)}."
    else:
        yield (
            f"This is for {plan.systems - 1} paired two-sided tests against one baseline, which share "
            f"{_percent(plan.alpha)}: {_percent(plan.alpha_per_comparison)} each."
        )
    if len(plan.pairs) > 1:
        yield f"The pair whose differences vary most decides: {pair.b} against {pair.a}."
    yield from limit_lines(plan)


def limit_lines(plan: QueryPlan) -> Iterator[str]:
    """Yield how far the plan can be trusted, and what is left out of it."""
    pair, n_of_files = plan.decisive, plan.n_queries_of_files
    low, high = pair.queries_needed_low, pair.queries_needed_high
    if low is not None and high is not None:
        yield f"The spread itself is known from {n_of_files} queries: {low:,} to {high:,} would be no surprise."
    if n_of_files is not None and n_of_files < FEW_QUERIES:
        yield f"With fewer than {FEW_QUERIES} queries a spread is little more than a guess; plan again with more."
    if min(n for n in (pair.queries_needed, plan.n_queries, MIN_UNITS) if n is not None) < MIN_UNITS:
        yield f"Whatever a test could find, a comparison says which system is better from {MIN_UNITS} queries up."
    for system in plan.left_out_systems:
        yield f"{system.name} is left out: it {system.how(plan.measure or 'score', pair.a or 'the first')}."
    if plan.n_left_out:
        are = "query is" if plan.n_left_out == 1 else "queries are"
        yield f"{plan.n_left_out} {are} left out: not every system has a score there."


def plan_table(plan: QueryPlan) -> Table:
    rows = []

    def add(name: str, spread: float, found: str, needed: int | None) -> None:
        cells = [name, f"{spread:.3f}"]
        cells += [found] if plan.n_queries else []
        cells += [f"{needed:,}"] if plan.detect else []
        rows.append([Cell(cell) for cell in cells])

    for pair in plan.pairs:
        name = "a difference" if pair.a is None else f"a difference, {pair.b} against {pair.a}"
        add(name, pair.sd, f"{pair.mde:.2g}" if pair.mde else "none", pair.queries_needed)
    if plan.interval:
        name = f"a {_percent(1 - plan.alpha)} interval of ± {plan.detect:g}"
        add(name, plan.decisive.sd, "-", plan.interval.queries_needed)
    if plan.anova:
        name = f"the best and the worst of {plan.systems} systems, {plan.detect:g} apart (ANOVA)"
        add(name, plan.anova.residual_sd, "-", plan.anova.queries_needed)
    header = ["plan for", "spread"]
    header += [f"found with {plan.n_queries:,}"] if plan.n_queries else []
    header += [f"queries for {plan.detect:g}"] if plan.detect else []
    return Table(header, rows)


def _percent(value: float) -> str:
    return f"{100 * value:.3g}%"
