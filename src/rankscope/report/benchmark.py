"""The report of a benchmark: per collection who is better, at what cost, what was chosen, and what failed."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence

from rankscope._version import __version__
from rankscope.experiment.results import Benchmark, Choice, CollectionResult, Costs, SystemResult
from rankscope.measures.scores import Scores, show
from rankscope.records import or_nan, replace
from rankscope.report import comparison, evaluation_report
from rankscope.report.charts.sources import identifier
from rankscope.report.document import Block, Bullets, Figure, Paragraph, Report, Section, TableBlock, VerdictBlock
from rankscope.report.evaluation import best_values, number_cell, queries
from rankscope.report.figures import figure_of, figures
from rankscope.report.table import Cell, Table

SHOWN_FAILURES = 20
"""A longer list of failed queries is folded."""
_MEGA = 1e6
LATENCY_NOTE = (
    "latency: of single queries, without the first ones after a start; queries/s: in batches where the system takes "
    "them, else as many at a time as it is asked"
)


def report_of(benchmark: Benchmark, *, with_figures: bool = True, every_pair: bool = True) -> Report:
    """Return the report; without figures where the medium shows none, and without a section per pair where asked."""
    several = len(benchmark.collections) > 1
    first: list[Block] = []
    sections: list[Section] = []
    footer: list[tuple[str, str]] = []
    if benchmark.spreads:
        first.append(comparison.spread_block(benchmark.spreads, benchmark.project.primary))
    for result in benchmark.collections:
        part = collection_report(result, benchmark, with_figures=with_figures, every_pair=every_pair)
        if several:
            part = named_after(part, result.name)
            first.append(Paragraph(f"Collection {result.name}: {size_words(result)}."))
        first += part.first_screen
        sections += part.sections
        footer += part.footer
    return Report(
        title=title_of(benchmark),
        first_screen=tuple(first),
        sections=(*sections, Section("Collections", (TableBlock("What was searched", collections_table(benchmark)),))),
        footer=tuple(dict.fromkeys((*footer, *own_footer(benchmark)))),
    )


def title_of(benchmark: Benchmark) -> str:
    """Return what was run on what."""
    names = [result.name for result in benchmark.collections]
    systems = {system.name: None for result in benchmark.collections for system in result.systems}
    what = ", ".join(systems) if len(systems) <= 4 else f"{len(systems)} systems"
    return f"{benchmark.project.primary} · {what} · {', '.join(names)}"


def size_words(result: CollectionResult) -> str:
    return f"{result.parts['docs'].n:,} docs, {queries(len(result.split.measured))}"


def collection_report(
    result: CollectionResult, benchmark: Benchmark, *, with_figures: bool, every_pair: bool
) -> Report:
    base = base_report(result, with_figures=with_figures, every_pair=every_pair)
    costs: list[Block] = [TableBlock("Quality and cost", quality_table(result))]
    if with_figures:
        costs += figures("quality_latency", "collection", result, benchmark.project.primary)
    details = Section("Latency, throughput and size", (TableBlock("Costs in full", costs_table(result)),))
    return Report(
        title=base.title,
        first_screen=(
            *left_out_blocks(result),
            *base.first_screen,
            *failure_blocks(result, benchmark),
            *costs,
            *note_blocks(result, several=len(benchmark.collections) > 1),
        ),
        sections=(
            details,
            *choice_sections(result, with_figures=with_figures),
            *failure_sections(result),
            *base.sections,
        ),
        footer=base.footer,
    )


def base_report(result: CollectionResult, *, with_figures: bool, every_pair: bool) -> Report:
    """Return the report of the comparison, or of the evaluation where there is one system."""
    if result.comparison is not None:
        return comparison.report_of(result.comparison, with_figures=with_figures, every_pair=every_pair)
    if result.scores is None:
        nothing = VerdictBlock("Nothing was retrieved.", "No query has an answer.", "bad", result.name)
        return Report(result.name, () if result.left_out else (nothing,), (), ())
    return evaluation_report.report_of(result.scores, with_figures=with_figures)


def own_footer(benchmark: Benchmark) -> Iterator[tuple[str, str]]:
    """Yield what is needed to obtain the report again, beyond what the parts say."""
    project = benchmark.project
    yield "project", f"{project.file} sha256:{project.sha256}"
    yield "rankscope", __version__
    if benchmark.command:
        yield "command", benchmark.command


# Several collections in one report


def named_after(report: Report, name: str) -> Report:
    """Return a part of the report in which all headings and charts differ by the collection's name."""
    sections = (
        replace(
            section,
            title=f"{name} · {section.title}",
            blocks=tuple(named_block(block, name) for block in section.blocks),
        )
        for section in report.sections
    )
    shared = ("seed", "rankscope", "policies")
    return replace(
        report,
        first_screen=tuple(named_block(block, name) for block in report.first_screen),
        sections=tuple(sections),
        footer=tuple((key if key in shared else f"{name} · {key}", value) for key, value in report.footer),
    )


def named_block(block: Block, name: str) -> Block:
    """Return a block that names its collection where it could be taken for that of another."""
    if isinstance(block, VerdictBlock):
        return replace(block, subject=f"{name} · {block.subject}" if block.subject else name)
    if isinstance(block, Figure):
        return replace(block, svg=with_own_ids(block.svg, identifier(name)))
    return block


def with_own_ids(svg: str, prefix: str) -> str:
    """Return a chart whose ids are its own on a page that holds the same chart of another collection."""
    svg = re.sub(r'(\bid="|url\(#|href="#)', rf"\1c-{prefix}-", svg)
    return re.sub(
        r'aria-labelledby="([^"]*)"',
        lambda match: 'aria-labelledby="' + " ".join(f"c-{prefix}-{name}" for name in match[1].split()) + '"',
        svg,
    )


# Quality and cost


def quality_table(result: CollectionResult) -> Table:
    """Return every system's measures with what a query costs."""
    scores = result.scores
    measures = () if scores is None else scores.measures
    best = {} if scores is None else best_values(scores)
    rows = [
        [
            Cell(system.name),
            *(mean_cell(scores, system.name, measure, best.get(measure)) for measure in measures),
            *latency_cells(system.costs, ("p50", "p95")),
            amount_cell(system.costs.queries_per_second),
            Cell("left out" if system.is_left_out else str(len(system.failures))),
        ]
        for system in result.systems
    ]
    weighted = "" if scores is None or scores.weighted_by is None else f", weighted by {scores.weighted_by}"
    notes = (f"{size_words(result)}; means over queries{weighted}, a query without an answer counts 0", LATENCY_NOTE)
    return Table(["system", *measures, "p50 ms", "p95 ms", "queries/s", "failed"], rows, notes=notes)


def mean_cell(scores: Scores | None, system: str, measure: str, best: float | None) -> Cell:
    """Return a system's mean; nothing where it has no run."""
    if scores is None or system not in scores:
        return Cell("-")
    return number_cell(scores[system].mean()[measure].value, best)


def latency_cells(costs: Costs, names: Sequence[str]) -> list[Cell]:
    """Return some of the numbers on latency, in milliseconds."""
    return [amount_cell(getattr(costs.latency_ms, name, None)) for name in names]


def amount_cell(value: float | None, unit: float = 1) -> Cell:
    """Return an amount in some unit with three digits or so; a dash where it is not known."""
    if value is None or math.isnan(value):
        return Cell("-")
    amount = value / unit
    decimals = 0 if amount >= 100 else 1 if amount >= 10 else 2
    return Cell(f"{amount:,.{decimals}f}", raw=repr(value))


def costs_table(result: CollectionResult) -> Table:
    """Return all that was measured of the costs."""
    names = ("mean", "p50", "p95", "p99", "max")
    rows = [
        [
            Cell(system.name),
            *latency_cells(system.costs, names),
            Cell("-" if system.costs.latency_ms is None else str(system.costs.latency_ms.n)),
            amount_cell(system.costs.queries_per_second),
            amount_cell(system.costs.index_s),
            amount_cell(system.costs.index_bytes, _MEGA),
            amount_cell(system.costs.memory_bytes, _MEGA),
        ]
        for system in result.systems
    ]
    header = ["system", *(f"{name} ms" for name in names), "timed", "queries/s", "index s", "index MB", "memory MB"]
    memory = (
        "memory: how far the process grew at most while this system was indexed and asked; parts that were in memory "
        "before are not counted again"
    )
    index = "index s: with all that the system is made of; embeddings that were cached before are only read"
    notes = (LATENCY_NOTE, index, memory)
    return Table(header, rows, notes=notes)


# What was chosen


def choice_sections(result: CollectionResult, *, with_figures: bool) -> Iterator[Section]:
    """Yield a section for each system of which something was chosen."""
    for choice in result.choices:
        blocks: list[Block] = [
            Paragraph(choice_words(choice)),
            TableBlock("What was tried", choice_table(choice, result)),
        ]
        if with_figures:
            blocks += choice_figure(choice)
        yield Section(f"Chosen: {choice.system}", tuple(blocks))


def choice_words(choice: Choice) -> str:
    """Say what was chosen, by what, on what."""
    chosen = ", ".join(f"{name} = {value_words(value)}" for name, value in choice.chosen.items())
    return (
        f"{chosen} had the best {choice.measure} of {len(choice.trials)} tried, {show(or_nan(choice.best.score))} over "
        f"{queries(choice.n_queries)} to choose on. On other queries the best of several usually does worse."
    )


def value_words(value: object) -> str:
    """Return the value of an option as one writes it."""
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(value_words, value)) + "]"
    return f"{value:g}" if isinstance(value, float) else str(value)


def choice_table(choice: Choice, result: CollectionResult) -> Table:
    """Return what each combination scored on the train queries."""
    names, best = list(choice.trials[0].options), choice.best
    rows = [
        [
            *(Cell(value_words(trial.options[name])) for name in names),
            Cell(show(or_nan(trial.score)), raw="" if trial.score is None else repr(trial.score), best=trial is best),
        ]
        for trial in choice.trials
    ]
    same = "the same that all results are about" if result.split.how == "train" else "no result elsewhere is about them"
    note = f"mean {choice.measure} over the {choice.n_queries} train queries; {same}"
    return Table([*names, choice.measure], rows, n_name_columns=len(names), notes=(note,))


def choice_figure(choice: Choice) -> Iterator[Figure]:
    """Yield the curve over the values of an option, where one or two options were tried and one is a number."""
    from rankscope.report.charts.lines import ChartLine, CurvesChart

    tried = scores_over_option(choice)
    if tried is None:
        return
    x_name, points_of = tried
    lines = [
        ChartLine(label, [x for x, _ in sorted(points)], [y for _, y in sorted(points)])
        for label, points in points_of.items()
    ]
    yield figure_of(
        CurvesChart(
            lines,
            measure=choice.measure,
            x_label=x_name,
            title=f"{choice.measure} over {x_name}",
            subtitle=f"{choice.system}, {choice.n_queries} train queries",
            prefix=identifier("choice", choice.system),
        )
    )


def scores_over_option(choice: Choice) -> tuple[str, dict[str, list[tuple[float, float]]]] | None:
    """Return the first option that is a number, and for each value of the other option the points of a line."""
    names, trials = list(choice.trials[0].options), choice.trials
    if names == ["weights"]:
        if any(len(trial.options["weights"]) != 2 for trial in trials):
            return None
        points = [(float(trial.options["weights"][0]), or_nan(trial.score)) for trial in trials]
        return "weight of the first system", {choice.system: points}
    numeric = [name for name in names if can_be_axis([trial.options[name] for trial in trials])]
    if not numeric or len(names) > 2:
        return None
    points_of: dict[str, list[tuple[float, float]]] = {}
    for trial in trials:
        others = (f"{name} = {value_words(trial.options[name])}" for name in names if name != numeric[0])
        points_of.setdefault(", ".join(others) or choice.system, []).append(
            (float(trial.options[numeric[0]]), or_nan(trial.score))
        )
    return numeric[0], points_of


def can_be_axis(values: Sequence[object]) -> bool:
    """Tell whether values are numbers, and not all the same."""
    are_numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
    return are_numbers and len(set(values)) > 1


# What failed, and what has to be known


def left_out_blocks(result: CollectionResult) -> Iterator[Block]:
    """Say first of all which systems could not be evaluated, and why."""
    for system in result.left_out:
        if system.finding is not None:
            words = f"{system.finding.in_one_line}. To fix it, {system.finding.hint}."
            yield VerdictBlock(f"{system.name} is left out.", words, "bad", system.name)


def failure_blocks(result: CollectionResult, benchmark: Benchmark) -> Iterator[Block]:
    """Say on the first screen how many queries failed, and what that does to the numbers."""
    failed = [system for system in result.systems if system.failures]
    if failed:
        yield Bullets("Failed queries", tuple(failure_words(system, benchmark) for system in failed))


def failure_words(system: SystemResult, benchmark: Benchmark) -> str:
    """Say how many queries of a system failed."""
    words = f"{system.name}: {len(system.failures)} of {queries(system.n_queries)} failed and count 0."
    rest = system.primary_over_answered
    if rest is not None:
        words += f" Over the {system.n_answered} that were answered, {benchmark.project.primary} is {show(rest)}."
    return f"{words} Running again asks only for these."


def failure_sections(result: CollectionResult) -> Iterator[Section]:
    """List the queries that failed, with reasons."""
    failed = [system for system in result.systems if system.failures]
    if not failed:
        return
    rows = [
        [Cell(system.name), Cell(answer.query), Cell(answer.reason), Cell(str(answer.attempts))]
        for system in failed
        for answer in system.failures
    ]
    table = Table(["system", "query", "reason", "attempts"], rows, n_name_columns=3)
    reasons = tuple(f"{system.name}: {n} × {reason}" for system in failed for reason, n in common_reasons(system))
    yield Section(
        "Failures",
        (Bullets("Why", reasons), TableBlock("Queries that failed", table, folded=len(rows) > SHOWN_FAILURES)),
    )


def common_reasons(system: SystemResult) -> list[tuple[str, int]]:
    """Return the most common reasons, with numbers in them left out, so that the same ones are counted together."""
    plain = Counter(re.sub(r"'[^']*'|\d{2,}", "…", answer.reason) for answer in system.failures)
    return plain.most_common(5)


def note_blocks(result: CollectionResult, *, several: bool) -> Iterator[Block]:
    """Yield what has to be known to read the results."""
    own = ("Each collection is a family of comparisons of its own.",) if several and result.comparison else ()
    if result.notes or own:
        yield Bullets("To know", (*result.notes, *own))


def collections_table(benchmark: Benchmark) -> Table:
    """Return the collections with the content hashes of their parts."""
    rows = [
        [Cell(result.name), Cell(name), Cell(f"{part.n:,}", raw=str(part.n)), Cell(part.sha256)]
        for result in benchmark.collections
        for name, part in result.parts.items()
    ]
    cited = tuple(
        f"{result.name}: {result.about['citation']}" for result in benchmark.collections if result.about.get("citation")
    )
    return Table(["collection", "part", "n", "sha256"], rows, n_name_columns=2, notes=cited)
