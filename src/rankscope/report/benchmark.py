"""The report of a benchmark: per collection who is better, at what cost, what was chosen, and what failed."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence

from rankscope._version import __version__
from rankscope.comparison.recommendation import recommend
from rankscope.comparison.verdict import short_words
from rankscope.comparison.words import with_fewer_sides
from rankscope.experiment.results import Benchmark, Choice, CollectionResult, Costs, SystemResult
from rankscope.measures.scores import show
from rankscope.printable import amount, counted, listed
from rankscope.records import or_nan, replace
from rankscope.report import comparison, evaluation_report
from rankscope.report.charts import figure_of, figures
from rankscope.report.charts.sources import identifier
from rankscope.report.comparison import range_cell
from rankscope.report.comparison_pair import advice_mark
from rankscope.report.diagnosis_section import diagnosis_sections
from rankscope.report.document import (
    Block,
    Bullets,
    Estimates,
    Figure,
    Paragraph,
    Report,
    Section,
    TableBlock,
    VerdictBlock,
)
from rankscope.report.evaluation import best_first, decided_by, mean_cells, mean_notes, number_cell, primary_of, queries
from rankscope.report.repetitions import (
    RUN_TO_RUN,
    first_runs_of,
    repetition_sections,
    spread_cell,
    varying_systems,
)
from rankscope.report.table import Cell, Table
from rankscope.report.words import query_cells, without_empty

SHOWN_FAILURES = 20
"""A longer list of failed queries is folded."""
SHOWN_REASONS = 5
"""So many reasons why queries failed are listed for a system, unless details are wanted."""
LEFT_OUT = "left out of the comparison"
WARNING = "Warning: "
"""Notes with these words belong to the answer."""
LATENCY_NOTE = (
    "latency: of single queries, without the first ones after a start; queries/s: in batches where the system takes "
    "them, else as many at a time as it is asked"
)


def report_of(benchmark: Benchmark, *, with_figures: bool = True, every_pair: bool = True) -> Report:
    """Return the report; without figures where the medium shows none, and without a section per pair where asked."""
    project = benchmark.project
    n_groups = sum(len(result.comparison.groups) for result in benchmark.collections if result.comparison)
    results = [
        replace(result, comparison=result.comparison and with_fewer_sides(result.comparison, n_groups))
        for result in benchmark.collections
    ]
    reports = [collection_report(each, benchmark, with_figures=with_figures, every_pair=every_pair) for each in results]
    if len(results) == 1:
        first, sections, footer = reports[0].first_screen, list(reports[0].sections), list(reports[0].footer)
    else:
        first, sections, footer = tuple(first_of_several(benchmark)), [], []
        for result, report in zip(results, reports, strict=True):
            part = named_after(report, result.name)
            sections.append(Section(result.name, part.first_screen, intro=f"{size_words(result)}."))
            sections += part.sections
            footer += part.footer
    parts = [
        [Cell(result.name), Cell(name), Cell(f"{part.n:,}", raw=str(part.n)), Cell(part.sha256)]
        for result in results
        for name, part in result.parts.items()
    ]
    cited = [f"{result.name}: {result.about['citation']}" for result in results if result.about.get("citation")]
    searched = Table(["collection", "part", "n", "sha256"], parts, n_name_columns=2, notes=cited)
    sections.append(Section("What was searched", (TableBlock("Docs, queries and judgments", searched),), folded=True))
    footer += [("project", f"{project.file} sha256:{project.sha256}"), ("rankscope", __version__)]
    if benchmark.command:
        footer.append(("command", benchmark.command))
    return Report(title_of(benchmark), tuple(first), tuple(sections), tuple(dict.fromkeys(footer)))


def title_of(benchmark: Benchmark) -> str:
    """Return what was done, in a sentence: `bm25 and dense were compared on scifact.`"""
    results = benchmark.collections
    systems = list(dict.fromkeys(system.name for result in results for system in result.systems))
    scored = [name for name in systems if any(name in (result.scores or ()) for result in results)] or systems
    what = listed(scored) if len(scored) < 3 else f"{len(scored)} systems"
    done = "was measured" if len(scored) == 1 else "were compared"
    return f"{what} {done} on {listed([result.name for result in results])}"


def first_of_several(benchmark: Benchmark) -> Iterator[Block]:
    """Yield the answer over all collections, and a table of them, of systems, and of verdicts."""
    results, primary = benchmark.collections, benchmark.project.primary
    cautions = [f"{result.name}: {words}" for result in results for words in result_cautions(result, primary)]
    yield answer_over_all(benchmark, tuple(cautions))
    if any(result.scores is not None for result in results):
        title = f"{primary} {'across languages' if benchmark.spreads else 'by collection'}"
        yield TableBlock(title, across_table(benchmark))
    if benchmark.why_no_spreads:
        yield Paragraph(benchmark.why_no_spreads)


def answer_over_all(benchmark: Benchmark, cautions: tuple[str, ...]) -> VerdictBlock:
    """Return what to do on which collection; each is a family of its own, so that there is no verdict over all."""
    results, primary = benchmark.collections, benchmark.project.primary
    groups = [
        replace(group, name=result.name if group.name is None else f"{result.name} {group.name}")
        for result in results
        if result.comparison is not None
        for group in result.comparison.groups
    ]
    subject = f"{primary} · {counted(len(results), 'collection')}"
    if not groups:
        measured = [result.name for result in results if result.scores is not None]
        headline = (
            f"Measured on {listed(measured)}; there is nothing to compare." if measured else "Nothing was retrieved."
        )
        reason = "A comparison takes two systems on the same collection."
        return VerdictBlock(headline, reason, "note" if measured else "fails", subject, cautions)
    advice = recommend(groups, None, at="on")
    reason = (
        "Each collection is compared on its own, as a family of its own. There is no verdict over all of them: "
        f"{counted(len(results), 'collection')} are no random sample of all collections."
    )
    return VerdictBlock(advice.text, reason, advice_mark(advice), subject, cautions)


def across_table(benchmark: Benchmark) -> Table:
    """Return the primary measure by system and collection with the verdicts against the baseline, the best marked."""
    primary, spreads = benchmark.project.primary, {spread.system: spread for spread in benchmark.spreads}
    results = [result for result in benchmark.collections if result.scores is not None]
    names = dict.fromkeys(system.name for result in results for system in result.systems)
    ordered = sorted(names, key=lambda name: place_across(name, results, primary))
    header, columns = ["system"], [[Cell(name) for name in ordered]]
    for result in results:
        cells = {} if result.scores is None else mean_cells(result.scores)
        place = 0 if result.scores is None else result.scores.measures.index(primary)
        header.append(result.name)
        columns.append([cells[name][place] if name in cells else Cell("-") for name in ordered])
        if words := verdicts_on(result):
            header.append(f"verdict on {result.name}")
            columns.append([Cell(words.get(name, "-")) for name in ordered])
    if spreads:
        header += ["mean", "lowest to highest"]
        columns += [
            [number_cell(or_nan(spreads[name].mean), None) if name in spreads else Cell("-") for name in ordered],
            [range_cell(spreads[name]) if name in spreads else Cell("-") for name in ordered],
        ]
    notes = ["systems in the order of their mean over collections, each counting the same"]
    baselines = dict.fromkeys(result.comparison.baseline for result in results if result.comparison is not None)
    if len(baselines) == 1:
        notes.insert(0, f"verdicts are against {next(iter(baselines))}, the baseline, on each collection alone")
    if any(cell.text == "-" for column in columns for cell in column):
        notes.append("-: not measured there")
    kept = ("mean", "lowest to highest") if spreads else header[1:3]
    return Table(header, list(zip(*columns, strict=True)), notes=notes, keep=kept)


def verdicts_on(result: CollectionResult) -> dict[str, str]:
    """Return the verdict on each system of a collection in a word or two; none where its queries are in groups."""
    if result.comparison is None or len(result.comparison.groups) > 1:
        return {}
    words = {pair.b: short_words(pair.final_verdict.code, pair) for pair in result.comparison}
    return {**words, str(result.comparison.baseline): "baseline"}


def place_across(name: str, results: Sequence[CollectionResult], primary: str) -> tuple[int, float]:
    """Return where a system stands in the table: those measured on more collections first, then by their mean."""
    measured = [result.scores[name] for result in results if result.scores is not None and name in result.scores]
    means = [scores.aggregate_of(primary).value for scores in measured]
    sign = 1 if measured and primary in measured[0].lower_is_better else -1
    return -len(measured), sign * sum(means) / max(len(means), 1)


def left_out_words(n: int) -> str:
    return f", {n} left out" if n else ""


def size_words(result: CollectionResult) -> str:
    return f"{counted(result.parts['docs'].n, 'doc')}, {queries(len(result.split.measured))}"


def collection_report(
    result: CollectionResult, benchmark: Benchmark, *, with_figures: bool, every_pair: bool
) -> Report:
    nothing = VerdictBlock("Nothing was retrieved.", "No query has an answer.", "fails", result.name)
    if result.left_out:
        reason = "No system has retrieved docs of the collection."
        nothing = VerdictBlock("Nothing can be measured.", reason, "fails", result.name)
    base = Report(result.name, (nothing,), (), ())
    if result.comparison is not None:
        base = comparison.report_of(result.comparison, with_figures=with_figures, every_pair=every_pair)
    elif result.scores is not None:
        scores = decided_by(result.scores, benchmark.project.primary)
        base = evaluation_report.report_of(scores, with_figures=with_figures)
    first = first_blocks(result, benchmark, with_cautions(base, result, benchmark.project.primary), with_figures)
    costs = Section("Latency, throughput and size", (TableBlock("Costs in full", costs_table(result)),), folded=True)
    choices = (choice_section(choice, result, with_figures=with_figures) for choice in result.choices)
    failures = failure_sections(result, every_reason=every_pair)
    repetitions = repetition_sections(result, benchmark.project.primary)
    alike: Sequence[Block] = ()
    if with_figures and result.overlap is not None:
        order = None if result.scores is None else list(best_first(result.scores))
        alike = figures("overlap", "overlap", result.overlap, order)
    about = first_runs_of(result.scores, result.scores, benchmark.project.primary) if result.scores else ""
    shared = [Section("Overlap of the systems", tuple(alike), about, folded=True)] if alike else []
    lost: Iterable[Section] = ()
    if every_pair and result.comparison is None and result.scores is not None and result.rankings is not None:
        lost = diagnosis_sections(result.scores, result.rankings, primary=benchmark.project.primary)
    sections = (*failures, *choices, *lost, *base.sections, *repetitions, costs, *shared)
    return replace(base, first_screen=tuple(first), sections=sections)


def with_cautions(base: Report, result: CollectionResult, primary: str) -> list[Block]:
    """Return the first screen of a collection; the answer, which is its first block, says what limits it."""
    answer, *others = base.first_screen
    if not isinstance(answer, VerdictBlock):
        return [answer, *others]
    n_left_out = 0 if result.comparison is None else len(result.systems) - len(result.comparison.systems)
    systems, dot, asked = answer.subject.rpartition(" · ")
    subject = f"{systems}{left_out_words(n_left_out)}{dot}{asked}"
    return [replace(answer, subject=subject, cautions=(*result_cautions(result, primary), *answer.cautions)), *others]


def result_cautions(result: CollectionResult, primary: str) -> Iterator[str]:
    """Yield which systems are left out and why, and which queries failed."""
    for system in result.left_out:
        if system.finding is not None:
            yield f"{system.name} is left out: {system.finding.in_one_line}. To fix it, {system.finding.hint}."
    for note in filter(is_caution, result.notes):
        yield note.replace(f"{WARNING}the", "The", 1)
    yield from (failure_words(system, result, primary) for system in result.systems if system.failures)


def is_caution(note: str) -> bool:
    """Tell whether a note limits the answer, so that it stands beside it."""
    return LEFT_OUT in note or note.startswith(WARNING)


def first_blocks(
    result: CollectionResult, benchmark: Benchmark, answer: Sequence[Block], with_figures: bool
) -> Iterator[Block]:
    """Yield what stands on the first screen: the answer and its picture, quality beside cost, and what is to know."""
    project = benchmark.project
    n_before = next((i for i, block in enumerate(answer, 1) if isinstance(block, Estimates)), len(answer))
    yield from answer[:n_before]
    yield TableBlock("Quality and cost", quality_table(result, project.primary))
    if with_figures:
        yield from figures("quality_latency", "collection", result, project.primary)
    yield from answer[n_before:]
    if result.scores is not None and project.bands is not None:
        yield from evaluation_report.words_block(result.scores, project.bands)
    if with_figures and result.scores is not None:
        yield from figures("relevance_diversity", "scores", result.scores, project.primary)
    notes = [*(note for note in result.notes if not is_caution(note)), *reuse_notes(result)]
    if notes:
        yield Bullets("To know", tuple(notes))


def failure_words(system: SystemResult, result: CollectionResult, primary: str) -> str:
    """Say how many queries failed, how many of the others have no docs, and how good those are that did not fail."""
    n_failed, n_answered, n_empty = system.n_queries - system.n_answered, system.n_answered, 0
    words = f"{system.name}: {n_failed} of {queries(system.n_queries)} failed"
    if system.repetitions:
        times = f"{len(system.failures)} of {system.n_queries * system.n_times} times"
        words += f" in some of {system.n_times} repetitions, {times} in all,"
    if result.scores is not None and system.name in result.scores:
        words += " and counts 0" if n_failed == 1 else " and count 0"
        n_empty = result.scores[system.name].counts.missing - n_failed
    elif system.run is None:
        n_empty = n_answered
    if n_empty:
        words += f"; {n_empty} {'was' if n_empty == 1 else 'were'} answered with no docs"
        if result.comparison is not None and system.name in result.comparison.systems:
            words += f", and the comparison counts these {n_failed + n_empty} as not answered"
    if system.primary_over_answered is not None:
        rest = "one" if n_answered == 1 else n_answered
        words += f". Over the {rest} that did not fail, {primary} is {show(system.primary_over_answered)}"
    kept = [each.kept for each in system.repetitions or (system,) if each.kept is not None]
    if kept:
        words += f". An earlier run without failures was kept: {', '.join(kept)}"
    return f"{words}. Running again asks only for {'this one' if n_failed == 1 else 'those that failed'}."


def reuse_notes(result: CollectionResult) -> Iterator[str]:
    for system in result.systems:
        if system.reused is not None:
            n = system.reused.n
            answers = f"{n} of {system.n_queries} queries' answers {'is' if n == 1 else 'are'}"
            if system.repetitions:
                n_all = system.n_queries * system.n_times
                answers = f"{n} of {n_all} answers, in {system.n_times} repetitions, {'is' if n == 1 else 'are'}"
            elif system.n_queries == 1:
                answers = "its only query's answer is"
            yield f"{system.name}: {answers} from {system.reused.in_words}; --fresh asks again."


def named_after(report: Report, name: str) -> Report:
    """Return a part of the report in which all headings and charts differ by the collection's name."""
    prefix = f"c-{identifier(name)}-"

    def named(block: Block) -> Block:
        if isinstance(block, VerdictBlock):
            return replace(block, subject=f"{name} · {block.subject}" if block.subject else name)
        if isinstance(block, Figure):  # the page may hold the same chart of another collection
            svg = re.sub(r'(\bid="|url\(#|href="#)', rf"\1{prefix}", block.svg)
            labels = r'(?<=aria-labelledby=")[^"]*'
            return replace(block, svg=re.sub(labels, lambda found: " ".join(prefix + i for i in found[0].split()), svg))
        return block

    shared = ("seed", "rankscope", "policies")
    return replace(
        report,
        first_screen=tuple(map(named, report.first_screen)),
        sections=tuple(
            replace(
                section,
                title=f"{name} · {section.title}",
                blocks=tuple(map(named, section.blocks)),
                folded=True,
                within=name,
            )
            for section in report.sections
        ),
        footer=tuple((key if key in shared else f"{name} · {key}", value) for key, value in report.footer),
    )


def quality_table(result: CollectionResult, primary: str) -> Table:
    """Return means beside costs, the best system first; beside the primary measure how it changes from run to run."""
    scores = None if result.scores is None else best_first(result.scores)
    measures = () if scores is None else scores.measures
    found = {} if scores is None else mean_cells(scores)
    rows = []
    apart = [RUN_TO_RUN] if scores is not None and varying_systems(result) else []
    n_before = measures.index(primary) + 1 if apart else 0
    places = {name: i for i, name in enumerate(found)}
    for system in sorted(result.systems, key=lambda system: places.get(system.name, len(places))):
        cells = found.get(system.name) or [Cell("-") for _ in measures]
        costs = [*latency_cells(system.costs, ("p50", "p95")), amount_cell(system.costs.queries_per_second)]
        failed = "left out" if system.is_left_out else str(len(system.failures))
        spread = [spread_cell(system.spread)] if apart else []
        rows.append([Cell(system.name), *cells[:n_before], *spread, *cells[n_before:], *costs, Cell(failed)])
    weighted = "" if scores is None or scores.weighted_by is None else f", weighted by {scores.weighted_by}"
    notes = (
        f"{size_words(result)}; means over queries{weighted}, one that failed or has no docs counts 0",
        LATENCY_NOTE,
        *(() if scores is None else mean_notes(scores)),
        *([f"{RUN_TO_RUN}: the standard deviation of {primary} between repetitions"] if apart else []),
        *shared_request_notes(result),
    )
    kept = ("p50 ms",) if scores is None else (primary_of(scores), "p50 ms")
    means = [*measures[:n_before], *apart, *measures[n_before:]]
    return Table(["system", *means, "p50 ms", "p95 ms", "queries/s", "failed"], rows, notes=notes, keep=kept)


def latency_cells(costs: Costs, names: Sequence[str]) -> list[Cell]:
    return [amount_cell(getattr(costs.latency_ms, name, None)) for name in names]


def amount_cell(value: float | None, unit: float = 1) -> Cell:
    """Return an amount in some unit with three digits or so; a dash where it is not known."""
    if value is None or math.isnan(value):
        return Cell("-")
    return Cell(amount(value / unit), raw=repr(value))


def costs_table(result: CollectionResult) -> Table:
    names = ("mean", "p50", "p95", "p99", "max")
    rows = []
    for system in result.systems:
        costs = system.costs
        timed = Cell("-" if costs.latency_ms is None else str(costs.latency_ms.n))
        speed = (amount_cell(costs.queries_per_second), amount_cell(costs.index_s))
        sizes = (amount_cell(costs.index_bytes, 1e6), amount_cell(costs.memory_bytes, 1e6))
        rows.append([Cell(system.name), *latency_cells(costs, names), timed, *speed, *sizes])
    header = ["system", *(f"{name} ms" for name in names), "timed", "queries/s", "index s", "index MB", "memory MB"]
    memory = (
        "memory: how far the process grew at most while this system was indexed and asked; parts that were in memory "
        "before are not counted again"
    )
    index = "index s: with all that the system is made of; embeddings that were cached before are only read"
    return Table(header, rows, notes=(LATENCY_NOTE, *shared_request_notes(result), index, memory))


def shared_request_notes(result: CollectionResult) -> list[str]:
    """Say which systems were answered by the same requests, so that latency is that of all of them."""
    groups = [sorted({system.name, *system.costs.shared_with}) for system in result.systems if system.costs.shared_with]
    return [
        f"{', '.join(names)}: one request per query is answered for all of them; latency and queries/s are those of "
        "the request"
        for names in dict.fromkeys(map(tuple, groups))
    ]


def choice_section(choice: Choice, result: CollectionResult, *, with_figures: bool) -> Section:
    """Say what was chosen, by what, on what, and what each combination scored on the train queries."""
    chosen = ", ".join(f"{name} = {value_words(value)}" for name, value in choice.chosen.items())
    words = (
        f"{chosen} had the best {choice.measure} of {len(choice.trials)} tried, {show(or_nan(choice.best.score))} over "
        f"{queries(choice.n_queries)} to choose on. On other queries the best of several usually does worse."
    )
    names, rows = list(choice.trials[0].options), []
    for trial in choice.trials:
        raw = "" if trial.score is None else repr(trial.score)
        score = Cell(show(or_nan(trial.score)), raw=raw, best=trial is choice.best)
        rows.append([*(Cell(value_words(trial.options[name])) for name in names), score])
    same = "the same that all results are about" if result.split.how == "train" else "no result elsewhere is about them"
    note = f"mean {choice.measure} over {counted(choice.n_queries, 'train query')}; {same}"
    table = Table([*names, choice.measure], rows, n_name_columns=len(names), notes=(note,))
    blocks: list[Block] = [Paragraph(words), TableBlock("What was tried", table)]
    if with_figures:
        blocks += choice_figure(choice)
    return Section(f"Chosen: {choice.system}", tuple(blocks))


def value_words(value: object) -> str:
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(value_words, value)) + "]"
    return f"{value:g}" if isinstance(value, float) else str(value)


def choice_figure(choice: Choice) -> Iterator[Figure]:
    """Yield the curve over the values of an option, where one or two options were tried and one is a number.

    There is a line for each value of the other option. Of the weights of two systems the first is shown.
    """
    from rankscope.report.charts.lines import ChartLine, CurvesChart

    trials, names = choice.trials, list(choice.trials[0].options)
    axes = {name: [trial.options[name] for trial in trials] for name in names}
    numeric = [name for name, values in axes.items() if {*map(type, values)} <= {int, float} and len({*values}) > 1]
    x_name = numeric[0] if numeric and len(names) <= 2 else ""
    if names == ["weights"] and all(len(weights) == 2 for weights in axes["weights"]):
        x_name = "weight of the first system"
        axes = {x_name: [weights[0] for weights in axes["weights"]]}
    if not x_name:
        return
    points_of: dict[str, list[tuple[float, float]]] = {}
    for i, trial in enumerate(trials):
        others = (f"{name} = {value_words(values[i])}" for name, values in axes.items() if name != x_name)
        point = (float(axes[x_name][i]), or_nan(trial.score))
        points_of.setdefault(", ".join(others) or choice.system, []).append(point)
    chart = CurvesChart(
        [
            ChartLine(label, [x for x, _ in sorted(points)], [y for _, y in sorted(points)])
            for label, points in points_of.items()
        ],
        measure=choice.measure,
        x_label=x_name,
        title=f"{choice.measure} over {x_name}",
        subtitle=f"{choice.system}, {counted(choice.n_queries, 'train query')}",
        prefix=identifier("choice", choice.system),
    )
    yield figure_of(chart)


def failure_sections(result: CollectionResult, *, every_reason: bool) -> Iterator[Section]:
    rows: list[list[Cell]] = []
    reasons: list[str] = []
    for system in result.systems:
        rows += [
            [
                Cell(system.name),
                *query_cells(one.query, one.text),
                Cell(str(one.repetition) if system.repetitions else ""),
                Cell(one.reason),
                Cell(str(one.attempts)),
            ]
            for one in system.failures
        ]
        alike: dict[str, list[str]] = {}  # reasons that differ in numbers and quoted texts alone; the first is shown
        for answer in system.failures:
            alike.setdefault(re.sub(r"'[^']*'|\d{2,}", "…", answer.reason), []).append(answer.reason)
        by_count = sorted(alike.values(), key=len, reverse=True)
        shown = by_count if every_reason else by_count[:SHOWN_REASONS]
        for same in shown:
            alike_words = "such as " if len(set(same)) > 1 else ""
            reasons.append(f"{system.name}: {len(same)} × {alike_words}{same[0]}")
        if n_more := len(system.failures) - sum(map(len, shown)):
            n_other = len(by_count) - len(shown)
            others = "another reason" if n_other == 1 else f"{n_other} other reasons"
            reasons.append(f"{system.name}: and {n_more} more, for {others}; --details lists all.")
    if rows:
        header = ["system", "query", "id", "repetition", "reason", "attempts"]
        table = Table(header, rows, n_name_columns=5, keep=("query", "reason"))
        table = without_empty(table, "id", "repetition")
        failed = TableBlock("Queries that failed", table, folded=len(rows) > SHOWN_FAILURES)
        yield Section("Failures", (Bullets("Why", tuple(reasons)), failed))
