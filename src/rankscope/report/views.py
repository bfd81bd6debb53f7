"""How results show themselves: as a card in a notebook, a table, a text or file by its ending, and charts.

`rankscope.shown` has the methods that users call; each kind of result has one `View` here, which holds only what makes
sense for it.
"""

from __future__ import annotations

import inspect
import io
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rankscope._version import __version__
from rankscope.analysis.diagnose.records import Diagnosis
from rankscope.analysis.explain import Explanation
from rankscope.analysis.overview import RANK_BANDS, count_by_band
from rankscope.analysis.targets import TargetsReport
from rankscope.checks import check_keywords
from rankscope.comparison.records import Comparison, PairQueries
from rankscope.comparison.verdict import short_words
from rankscope.data.qrels import Qrels
from rankscope.data.run import QueryDocs, Run
from rankscope.errors import OptionError, did_you_mean
from rankscope.light import LightRecord, field
from rankscope.measures.scores import RunScores, Scores, Summary, position, show
from rankscope.printable import counted, printable
from rankscope.records import or_nan
from rankscope.report import comparison as comparison_report
from rankscope.report import diagnosis as diagnosis_report
from rankscope.report import document as doc
from rankscope.report import evaluation, evaluation_report, explanation
from rankscope.report import notebook as nb
from rankscope.report import targets as targets_report
from rankscope.report.best_mean import answer_lines, best_runs
from rankscope.report.charts import CHARTS, charts_from
from rankscope.report.charts.chart import Chart, DrawnChart
from rankscope.report.charts.lines import ChartLine, CurvesChart
from rankscope.report.charts.palette import MUTED
from rankscope.report.charts.positions import BandCounts, PositionsChart
from rankscope.report.charts.svg import element, escaped, rectangle
from rankscope.report.comparison_json import COLUMNS, comparison_table, every_pair
from rankscope.report.comparison_pair import VERDICT_MARKS, column_digits, difference_cells
from rankscope.report.evaluation_answer import answer_of
from rankscope.report.means import mean_of
from rankscope.report.paper import paper_of_comparison, paper_of_scores
from rankscope.report.render import render, render_table
from rankscope.report.render.latex_table import latex_paper_table
from rankscope.report.table import Cell, Table, plain_answer, plain_lines, printable_table, to_csv
from rankscope.stats.interval import LEVEL, percent

SHOWN_QUERIES = 5
SHOWN_NOTES = 3
NOT_COMPARED = "Scores alone do not say what unjudged docs could change; rs.compare, with qrels and runs, does."
LARGE_FILE = 50_000_000
"""A larger file is not read just to be shown."""


class TableColumn(LightRecord):
    """A column of a table: str, int or float; None where a value is not known."""

    name: str
    kind: type
    values: Sequence[Any]


class View(LightRecord, eq=False):
    """How one kind of result is shown."""

    what: str
    """What it is called in errors."""
    html: Callable[[Any], str]
    columns: Callable[[Any], list[TableColumn]] | None = None
    files: Mapping[str, Callable[[Any], str]] = field(default_factory=dict)
    """By the ending of a file, what stands in it."""
    charts: Callable[[], Mapping[str, Callable[..., Chart]]] | None = None
    """The kinds of charts, the usual one first, each with what collects its numbers."""
    report: Callable[..., doc.Report] | None = None
    text: Callable[[Any], str] | None = None
    """What an interactive session prints."""

    def columns_of(self, result: Any) -> list[TableColumn]:
        return [] if self.columns is None else self.columns(result)

    def written(self, result: Any, ending: str) -> str:
        if ending not in self.files:
            said = f"a file that ends in {ending}" if ending else "a file whose name has no ending"
            raise OptionError(f"{self.what} cannot be written as {said}", hint=f"endings are {', '.join(self.files)}")
        return self.files[ending](result)

    def plotted(self, result: Any, kind: str | None, options: Mapping[str, Any]) -> DrawnChart:
        kinds = {} if self.charts is None else self.charts()
        kind = next(iter(kinds)) if kind is None else kind
        if kind not in kinds:
            hint = did_you_mean(kind, kinds) or f"there are {', '.join(kinds)}"
            raise OptionError(f"there is no chart {kind!r} of {self.what}", hint=hint)
        collect = kinds[kind]
        check_keywords("plot", options, list(inspect.signature(collect).parameters)[1:])
        return collect(result, **options).render()


# -- scores


def scores_html(scores: Scores) -> str:
    """Return the answer, and the means with their intervals, the best in bold; of many runs the best ones."""
    primary, shown, more = evaluation.primary_of(scores), scores, ""
    if len(scores) > nb.SHOWN_ROWS:
        shown = evaluation.best_first(scores)
        which = f"the best {nb.SHOWN_ROWS} by {primary}" if best_runs(scores) else f"the first {nb.SHOWN_ROWS}"
        more = f"{which}; {len(scores) - nb.SHOWN_ROWS} more runs"
    ordered = [primary, *(measure for measure in scores.measures if measure != primary)]
    names, measures = list(shown)[: nb.SHOWN_ROWS], ordered[: nb.SHOWN_COLUMNS]
    cells = {name: dict(zip(scores.measures, row, strict=True)) for name, row in evaluation.mean_cells(scores).items()}
    means = {(name, measure): mean_of(scores[name], measure) for name in names for measure in measures}
    axis = nb.IntervalAxis(
        number for name in names for number in (means[name, primary].value, *means[name, primary].ends)
    )
    rows = []
    for name in names:
        first, *others = (
            f"{nb.cell_html(cells[name][measure])}{interval_html(*means[name, measure].ends)}" for measure in measures
        )
        drawn = axis.draw(means[name, primary].value, *means[name, primary].ends)
        rows.append([nb.words(name), first, drawn, *others])
    hidden = ", ".join(ordered[nb.SHOWN_COLUMNS :])
    answer = answer_of(scores, None, NOT_COMPARED if len(scores) > 1 else "")
    note = f"{counted(scores.qrels.n_queries, 'query')}; {percent(LEVEL)} intervals of the mean"
    is_marked = any(cell.best for row in cells.values() for cell in row.values())
    bold = "; bold: the best of a measure" if is_marked else ""
    return nb.card(
        nb.headline(answer.headline, mark=answer.mark),
        nb.paragraph(answer.reason),
        nb.quiet(*answer.cautions),
        nb.rows_html(["run", primary, axis.words, *measures[1:]], rows, more=more),
        nb.quiet(f"{note}{bold}", f"not shown here: {hidden}" if hidden else ""),
        nb.quiet(*evaluation.mean_notes(scores), *few(scores.notes)),
    )


def interval_html(low: float, high: float) -> str:
    return "" if math.isnan(low) else f" <small>[{show(low)}, {show(high)}]</small>"


def few(notes: Sequence[str]) -> list[str]:
    n_more = len(notes) - SHOWN_NOTES
    return [*notes[:SHOWN_NOTES], *([f"and {n_more} more notes"] if n_more > 0 else [])]


def summary_html(summary: Summary) -> str:
    header, rows = summary.table
    cells = [[nb.words(cell) for cell in row] for row in rows]
    return nb.card(nb.rows_html(header, cells))


def scores_columns(scores: Scores) -> list[TableColumn]:
    runs = list(scores.values())
    names = [name for name, run in scores.items() for _ in run.query_ids]
    queries = [query for run in runs for query in run.query_ids]
    values = np.concatenate([run.values for run in runs])
    return [
        TableColumn("run", str, names),
        TableColumn("query", str, queries),
        *(number_column(measure, values[:, i].tolist()) for i, measure in enumerate(scores.measures)),
    ]


def number_column(name: str, values: Sequence[float]) -> TableColumn:
    return TableColumn(name, float, [None if math.isnan(value) else value for value in values])


def run_scores_html(run: RunScores) -> str:
    """Return the mean of every measure, and the queries with the lowest score by the first."""
    means = [[nb.words(name), nb.words(mean.shown), str(mean.n)] for name, mean in run.aggregate().items()]
    column = run.column(run.measures[0])
    sign = -1 if run.measures[0] in run.lower_is_better else 1
    order = [i for i in np.argsort(sign * column, kind="stable").tolist() if not math.isnan(column[i])]
    worst = [[nb.words(run.query_ids[i]), show(column[i])] for i in order[:SHOWN_QUERIES]]
    n_more = len(order) - SHOWN_QUERIES
    return nb.card(
        nb.headline(f"{run.name}: {counted(len(run), 'query')}"),
        nb.rows_html(["measure", "mean", "n"], means[: nb.SHOWN_ROWS]),
        nb.rows_html(["lowest queries", run.measures[0]], worst, more=f"{n_more:,} more queries" if n_more > 0 else ""),
    )


def run_scores_columns(run: RunScores) -> list[TableColumn]:
    measures = [number_column(measure, run.values[:, i].tolist()) for i, measure in enumerate(run.measures)]
    return [TableColumn("query", str, run.query_ids), *measures]


def scores_charts() -> Mapping[str, Callable[..., Chart]]:
    def distribution(scores: Scores, measure: Any = None) -> Chart:
        name = scores.measures[0 if measure is None else position(scores.measures, measure, "measure")]
        chart: Chart = CHARTS["distribution"].from_scores(scores, name)  # type: ignore[attr-defined]
        return chart

    def systems(scores: Scores) -> Chart:
        chart: Chart = CHARTS["systems"].from_scores(scores)  # type: ignore[attr-defined]
        return chart

    return {"systems": systems, "distribution": distribution}


def text_of(table: Table, answer: Sequence[str] = ()) -> str:
    return "".join(f"{line}\n" for line in (*plain_lines(printable_table(table)), *plain_answer(answer)))


def report_files(report_of: Callable[[Any], doc.Report], *, to_json: bool = True) -> dict[str, Callable[[Any], str]]:
    """Return the files that are renderings of a report, and JSON of the result itself."""
    forms: dict[str, Any] = {".html": "html", ".md": "markdown", ".tex": "latex", ".txt": "text"}
    files: dict[str, Callable[[Any], str]] = {
        ending: lambda result, form=form: render(report_of(result), form)  # type: ignore[misc]
        for ending, form in forms.items()
    }
    return {**files, **({".json": lambda result: result.to_json()} if to_json else {})}


def table_files(
    table_of: Callable[[Any], Table], report_of: Callable[[Any], doc.Report]
) -> dict[str, Callable[[Any], str]]:
    """Return the files of a result that is one table: a page around it, the table itself, and JSON of the result."""
    return {
        ".html": lambda result: render(report_of(result), "html"),
        ".md": lambda result: render_table(table_of(result), "markdown"),
        ".tex": lambda result: render_table(table_of(result), "latex"),
        ".json": lambda result: result.to_json(),
        ".csv": lambda result: to_csv(table_of(result)),
        ".txt": lambda result: text_of(table_of(result)),
    }


def scores_report(scores: Scores, *, command: str = "") -> doc.Report:
    return evaluation_report.report_of(
        scores, command=command, why_not_compared=NOT_COMPARED if len(scores) > 1 else ""
    )


def scores_latex(scores: Scores) -> str:
    """Return the table for a paper, the best run first; its letters need qrels and runs, and it says who has them."""
    why = f"{NOT_COMPARED} The table with letters: rs.compare(qrels, runs, all_pairs=True).to_latex()."
    ordered = evaluation.best_first(scores)
    return latex_paper_table(paper_of_scores(ordered, why_no_marks=why if len(scores) > 1 else ""))


SUMMARY = View("a summary", summary_html)
RUN_SCORES = View("the scores of a run", run_scores_html, run_scores_columns)
SCORES = View(
    "scores",
    scores_html,
    scores_columns,
    files={
        **table_files(evaluation.summary_table, scores_report),
        ".md": lambda scores: render_table(evaluation.summary_table(scores), "markdown", answer=answer_lines(scores)),
        ".tex": scores_latex,
        ".csv": lambda scores: to_csv(evaluation.with_n_columns(evaluation.summary_table(scores), scores)),
        ".txt": lambda scores: text_of(evaluation.readable_table(scores), answer_lines(scores)),
    },
    charts=scores_charts,
    report=scores_report,
)


# -- comparisons


def comparison_html(comparison: Comparison) -> str:
    """Return the answer of each group of queries, and its pairs with the interval that decides."""
    parts = [nb.headline(block.headline, mark=block.mark) for block in comparison_report.answer_over_groups(comparison)]
    for group in comparison.groups:
        blocks = comparison_report.first_screen(comparison, group, with_figures=False)
        answer = next(block for block in blocks if isinstance(block, doc.VerdictBlock))
        parts += [
            nb.headline(answer.headline, mark=answer.mark),
            nb.paragraph(answer.reason),
            nb.quiet(answer.subject, *few(answer.cautions)),
        ]
        if group.compared:
            parts.append(pairs_html(comparison, comparison.pairs_in_order(group)))
    first = next(iter(comparison), None)
    names = f"{first.a!r}, {first.b!r}" if first else ""
    hint = f"comparison.report() is the whole report; comparison[{names}].queries has every query" if first else ""
    if not comparison.has_scores:
        hint = (
            "This comparison was read back; with_scores(scores) adds the scores per query, and with them the details."
        )
    return nb.card(*parts, nb.quiet(hint))


def pairs_html(comparison: Comparison, pairs: Sequence[Any]) -> str:
    shown = pairs[: nb.SHOWN_ROWS]
    axis = nb.IntervalAxis(
        (or_nan(number) for pair in shown for number in (pair.delta, pair.ci.low, pair.ci.high)), with_zero=True
    )
    digits = column_digits(shown)
    rows = []
    for pair in shown:
        mark = VERDICT_MARKS[pair.final_verdict.code]
        delta, interval, p = difference_cells(pair, digits)
        rows.append(
            [
                nb.words(pair.b),
                *([] if comparison.baseline else [nb.words(pair.a)]),
                nb.verdict(mark, short_words(pair.final_verdict.code, pair)),
                f"{nb.number(delta.text)} <small>{nb.number(interval.text)}</small>",
                axis.draw(or_nan(pair.delta), or_nan(pair.ci.low), or_nan(pair.ci.high), mark),
                nb.words(show(or_nan(pair.mean.a))),
                nb.words(show(or_nan(pair.mean.b))),
                nb.words(p.text),
            ]
        )
    against = [] if comparison.baseline else ["against"]
    means = [comparison.baseline or "mean of the other", "mean"]
    header = ["system", *against, "verdict", "difference, interval", axis.words, *means, "p"]
    n_more = len(pairs) - len(shown)
    more = f"{n_more:,} more pairs; comparison.to_pandas() has all" if n_more > 0 else ""
    return nb.rows_html(header, rows, n_names=2 + len(against), more=more)


def comparison_columns(comparison: Comparison) -> list[TableColumn]:
    pairs = every_pair(comparison)
    return [TableColumn(name, kind, [value(pair) for pair in pairs]) for name, (kind, value) in COLUMNS.items()]


def comparison_charts() -> Mapping[str, Callable[..., Chart]]:
    def collector(kind: str) -> Callable[..., Chart]:
        collect: Any = getattr(CHARTS[kind], "from_comparison")  # noqa: B009 (only some kinds have it)

        def of_all(comparison: Comparison) -> Chart:
            chart: Chart = collect(comparison)
            return chart

        def of_pair(comparison: Comparison, pair: tuple[str, str] | None = None) -> Chart:
            chart: Chart = collect(comparison) if pair is None else collect(comparison, comparison[pair])
            return chart

        return of_pair if "pair" in inspect.signature(collect).parameters else of_all

    return {kind: collector(kind) for kind in charts_from("comparison")}


def whole_report(comparison: Comparison) -> doc.Report:
    """Return the report, or its first screen where the comparison was read back without its scores."""
    if comparison.has_scores:
        return comparison_report.report_of(comparison)
    return comparison_report.report_without_scores(comparison)


def comparison_latex(comparison: Comparison) -> str:
    """Return one table for a paper; of a comparison without scores, what is known of it."""
    if not comparison.has_scores:
        return render(whole_report(comparison), "latex")
    return latex_paper_table(paper_of_comparison(comparison))


COMPARISON = View(
    "a comparison",
    comparison_html,
    comparison_columns,
    files={
        **report_files(whole_report),
        ".tex": comparison_latex,
        ".csv": lambda comparison: to_csv(comparison_table(comparison)),
    },
    charts=comparison_charts,
    report=comparison_report.report_of,
)


# -- the queries of a pair


def pair_names(found: PairQueries) -> tuple[str, str]:
    """Return what the columns of the two systems are called: their names, unless another column has that."""
    taken = ("query", "text", "difference")
    a, b = (f"{name} (run)" if name in taken else name for name in (found.a, found.b))
    return a, b


def pair_queries_columns(found: PairQueries) -> list[TableColumn]:
    a, b = pair_names(found)
    return [
        TableColumn("query", str, [row.query for row in found]),
        TableColumn("text", str, [row.text for row in found]),
        TableColumn(a, float, [row.a for row in found]),
        TableColumn(b, float, [row.b for row in found]),
        TableColumn("difference", float, [row.delta for row in found]),
    ]


def pair_queries_table(found: PairQueries, *, most: int | None = None) -> Table:
    with_text = any(row.text for row in found)
    rows = [
        [
            *([Cell(row.text or "")] if with_text else []),
            Cell(row.query),
            *(Cell(show(value), raw=repr(value)) for value in (row.a, row.b)),
            Cell(f"{row.delta:+.4f}", raw=repr(row.delta)),
        ]
        for row in (found.rows if most is None else found.rows[:most])
    ]
    header = [*(["text"] if with_text else []), "query", *pair_names(found), "difference"]
    less = ", less is better" if found.lower_is_better else ""
    note = f"{found.measure}{less}; {counted(len(found), 'query')}, the largest loss of {found.b} first"
    return Table(header, rows, 1 + with_text, [note])


def pair_queries_html(found: PairQueries) -> str:
    """Return the largest losses, by what was asked where that is known, with ids as small print."""
    rows = [
        [
            f"{nb.words(row.text)} <small>{nb.words(row.query)}</small>" if row.text else nb.words(row.query),
            show(row.a),
            show(row.b),
            nb.number(f"{row.delta:+.4f}"),
        ]
        for row in found.rows[: nb.SHOWN_ROWS]
    ]
    n_more = len(found) - len(rows)
    more = counted(n_more, "more query") if n_more else ""
    header = ["query", *pair_names(found), "difference"]
    return nb.card(nb.rows_html(header, rows, more=more), nb.quiet(*pair_queries_table(found, most=0).notes))


def pair_queries_text(found: PairQueries) -> str:
    lines = text_of(pair_queries_table(found, most=SHOWN_QUERIES)).rstrip("\n")
    n_more = len(found) - SHOWN_QUERIES
    return f"{lines}\n… and {n_more:,} more" if n_more > 0 else lines


def queries_report(found: PairQueries) -> doc.Report:
    title = f"{found.measure} · {found.b} vs {found.a}, query by query"
    block = doc.TableBlock("Every query", pair_queries_table(found))
    return doc.Report(title, (block,), (), (("rankscope", __version__),))


PAIR_QUERIES = View(
    "the queries of a pair",
    pair_queries_html,
    pair_queries_columns,
    files=table_files(pair_queries_table, queries_report),
    text=pair_queries_text,
)


# -- diagnoses


def diagnosis_html(diagnosis: Diagnosis) -> str:
    """Return the answer, where nDCG goes, the most serious findings, and the queries with the lowest score."""
    answer = diagnosis_report.answer_block(diagnosis)
    marks: dict[str, doc.Mark] = {"serious": "worse", "moderate": "probably_worse", "remark": "note"}
    findings = [
        [
            nb.verdict(marks[finding.severity], finding.severity),
            f"{escaped(finding.what)}<br><small>{escaped(finding.helps)}</small>",
            f"{finding.n_queries} of {finding.of_queries}",
        ]
        for finding in diagnosis.findings[:SHOWN_QUERIES]
    ]
    n_more = len(diagnosis.findings) - SHOWN_QUERIES
    more = f"{n_more} more findings" if n_more > 0 else ""
    worst = [
        [nb.words(one.query_text or one.query), show(one.score), f"{one.n_found} of {one.n_relevant}"]
        for one in diagnosis.worst[:SHOWN_QUERIES]
    ]
    found = ["lowest queries", diagnosis.measure, f"relevant docs in the top {diagnosis.k}"]
    shares = [(share.name, share.value) for share in diagnosis_report.shares_of(diagnosis)]
    return nb.card(
        nb.headline(answer.headline, mark=answer.mark),
        nb.paragraph(answer.reason),
        nb.quiet(f"Where {diagnosis.measure} goes, over {counted(diagnosis.n_queries, 'query')}"),
        nb.share_bar(shares),
        nb.rows_html(["finding", "what, and what usually helps", "queries"], findings, n_names=2, more=more)
        if findings
        else "",
        nb.rows_html(found, worst) if worst else "",
    )


def diagnosis_columns(diagnosis: Diagnosis) -> list[TableColumn]:
    rows = diagnosis.positions.queries
    return [
        TableColumn("query", str, list(rows)),
        TableColumn("relevant", int, [one.total for one in rows.values()]),
        TableColumn("found", int, [one.found for one in rows.values()]),
        TableColumn("first_rank", int, [one.best for one in rows.values()]),
        TableColumn("mean_rank", float, [one.average for one in rows.values()]),
        TableColumn("last_rank", int, [one.worst for one in rows.values()]),
        *(
            TableColumn(f"in_top_{n}", int, [one.in_top[n] for one in rows.values()])
            for n in diagnosis.positions.overall.in_top
        ),
    ]


def diagnosis_charts() -> Mapping[str, Callable[..., Chart]]:
    def positions(diagnosis: Diagnosis) -> Chart:
        ranks = np.array([or_nan(one.best) for one in diagnosis.positions.queries.values()])
        counts = BandCounts(diagnosis.run, count_by_band(ranks))
        return PositionsChart(RANK_BANDS, [counts], title="Where the first relevant doc stands")

    def pool(diagnosis: Diagnosis) -> Chart:
        depths = [cut.depth for cut in diagnosis.pool]
        lines = [
            ChartLine("recall of the pool", depths, [cut.recall for cut in diagnosis.pool]),
            ChartLine(f"{diagnosis.measure} if ranked perfectly", depths, [cut.best_ndcg for cut in diagnosis.pool]),
        ]
        title = f"What a perfect re-ranker of the first docs of {diagnosis.run} would reach"
        return CurvesChart(lines, "share", "docs in the pool", title=title)

    return {"positions": positions, "pool": pool}


DIAGNOSIS = View(
    "a diagnosis",
    diagnosis_html,
    diagnosis_columns,
    files=report_files(diagnosis_report.report_of),
    charts=diagnosis_charts,
    report=diagnosis_report.report_of,
)


# -- explanations


def explanation_html(explained: Explanation) -> str:
    table = explanation.ranking_table(explained)
    *lines, last = explanation.conclusion(explained)
    return nb.card(
        nb.headline(f"{explained.text or f'Query {printable(explained.query)}'}: {last}"),
        nb.quiet(f"query {explained.query}" if explained.text else "", *lines),
        nb.table_html(table, what="rank") if explained.steps else "",
        nb.quiet(*table.notes),
        nb.quiet("the ideal ranking, from all judged docs") if explained.ideal else "",
        nb.table_html(explanation.steps_table(explained.ideal, "adds"), what="rank") if explained.ideal else "",
    )


def explanation_columns(explained: Explanation) -> list[TableColumn]:
    steps = explained.steps
    parts = dict.fromkeys(name for step in steps for name in step.parts)
    taken = ("rank", "doc", "grade", explained.term_name)
    return [
        TableColumn("rank", int, [step.rank for step in steps]),
        TableColumn("doc", str, [step.doc for step in steps]),
        TableColumn("grade", float, [step.grade for step in steps]),
        *(
            TableColumn(f"{name} (part)" if name in taken else name, float, [step.parts.get(name) for step in steps])
            for name in parts
        ),
        TableColumn(explained.term_name, float, [step.term for step in steps]),
    ]


def explanation_report(explained: Explanation) -> doc.Report:
    n = explained.n_retrieved
    blocks: list[doc.Block] = [doc.Bullets("The score", tuple(explanation.conclusion(explained)))]
    if explained.steps:
        blocks.append(doc.TableBlock(f"The ranking, {counted(n, 'doc')}", explanation.ranking_table(explained)))
    if explained.ideal:
        ideal = explanation.steps_table(explained.ideal, "adds")
        blocks.append(doc.TableBlock("The ideal ranking, from all judged docs", ideal))
    title = f"{explained.measure} of query {explained.query}"
    return doc.Report(title, tuple(blocks), (), (("rankscope", __version__),))


def explanation_as_text(explained: Explanation) -> str:
    stream = io.StringIO()
    explanation.print_explanation(explained, file=stream)
    return stream.getvalue()


def explanation_line(explained: Explanation) -> str:
    """Return the score and how it comes about, in one line."""
    *_, last = explanation.conclusion(explained)
    return f"query {printable(explained.query)}: {last} ({counted(explained.n_retrieved, 'doc')} retrieved)"


def explanation_charts() -> Mapping[str, Callable[..., Chart]]:
    def gain(explained: Explanation) -> Chart:
        lines, last = [], max((step.rank or 0 for step in (*explained.steps, *explained.ideal)), default=0)
        for name, steps in (("this ranking", explained.steps), ("the ideal ranking", explained.ideal)):
            if steps:
                term_of = {step.rank or 0: step.term for step in steps}  # what an empty list scores comes before rank 1
                reached = np.cumsum([term_of.get(rank, 0.0) for rank in range(last + 1)])[1:]
                lines.append(ChartLine(name, [float(rank) for rank in range(1, last + 1)], reached.tolist()))
        title = f"{explained.measure} of query {explained.query}, rank by rank"
        return CurvesChart(lines, explained.sum_name, "rank", title=title)

    return {"gain": gain}


EXPLANATION = View(
    "an explanation",
    explanation_html,
    explanation_columns,
    files={
        **report_files(explanation_report),
        ".tex": lambda explained: render_table(explanation.ranking_table(explained), "latex"),
        ".csv": lambda explained: to_csv(explanation.ranking_table(explained, every_rank=True)),
        ".txt": explanation_as_text,
    },
    charts=explanation_charts,
    text=explanation_line,
)


# -- targets


def targets_html(checked: TargetsReport) -> str:
    """Return the answer, and what fails with what is there instead."""
    answer = targets_report.answer_block(checked)
    rows = []
    for outcome in ("failed", "quarantined", "passed"):
        for target, one in checked.of_outcome(outcome):
            instead = "".join(f"<br><small>{nb.words(line.line)}</small>" for line in one.instead)
            mark = nb.verdict(targets_report.MARKS[one.outcome], one.outcome)
            where = targets_report.about(target, one, checked)
            rows.append([mark, nb.words(target.name), nb.words(where), f"{nb.words(one.words)}{instead}"])
    n_more = len(rows) - nb.SHOWN_ROWS
    more = f"{n_more:,} more; report.to_pandas() has all" if n_more > 0 else ""
    where = "query" if len(targets_report.places(checked)) == 1 else "query and run"
    header = ["outcome", "target", where, "what is so"]
    return nb.card(
        nb.headline(answer.headline, mark=answer.mark),
        nb.paragraph(answer.reason),
        nb.rows_html(header, rows[: nb.SHOWN_ROWS], n_names=len(header), more=more),
        nb.quiet(*answer.cautions, *few(checked.notes)),
    )


def targets_columns(checked: TargetsReport) -> list[TableColumn]:
    pairs = targets_report.results_with_targets(checked)
    return [
        TableColumn(name, kind, [value(*pair) for pair in pairs])
        for name, (kind, value) in targets_report.COLUMNS.items()
    ]


TARGETS = View(
    "a report of targets",
    targets_html,
    targets_columns,
    files={
        **report_files(targets_report.report_of),
        ".csv": lambda checked: to_csv(targets_report.every_target(checked)),
    },
    report=targets_report.report_of,
)


# -- reports, runs, qrels


def report_html(report: doc.Report) -> str:
    return nb.page_frame(render(report, "html"), report.title)


REPORT = View("a report", report_html, files=report_files(lambda report: report))


def is_too_large(data: QueryDocs) -> bool:
    """Tell whether a file would have to be read that takes long; one that is not there is said so by others."""
    path = getattr(getattr(data, "source", None), "path", None)
    was_read = "rankings" in vars(data)
    return not was_read and path is not None and Path(path).is_file() and Path(path).stat().st_size > LARGE_FILE


def run_html(run: Run) -> str:
    """Return how many queries and docs there are, and the first docs of the first queries."""
    name = run.name or "run"
    if is_too_large(run):
        return nb.card(nb.headline(name), nb.quiet(f"{run!r}: a large file, which is not read to be shown"))
    queries = list(run)
    depths = [len(run.rankings.listed(query).docs) for query in queries]
    rows = []
    for query, depth in zip(queries[:SHOWN_QUERIES], depths, strict=False):
        listed = run.rankings.listed(query)
        best = sorted(zip(listed.scores.tolist(), listed.docs, strict=True), reverse=True)[:3]
        docs = ", ".join(f"{nb.words(doc)} <small>{score:.4g}</small>" for score, doc in best)
        rows.append([nb.words(query), docs, str(depth)])
    n_more = len(queries) - SHOWN_QUERIES
    return nb.card(
        nb.headline(f"{name}: {counted(len(queries), 'query')}, {counted(sum(depths), 'doc')}"),
        nb.rows_html(
            ["query", "first docs", "docs"], rows, n_names=2, more=f"{n_more:,} more queries" if n_more > 0 else ""
        ),
    )


def qrels_html(qrels: Qrels) -> str:
    """Return how many judgments there are of each grade, and the first queries."""
    counts: dict[float, int] = {}
    for query in qrels.query_ids:
        for grade in qrels.judged[query].values():
            counts[grade] = counts.get(grade, 0) + 1
    total, most = sum(counts.values()), max(counts.values(), default=1)
    grades = sorted(counts, reverse=True)
    bars = []
    for grade in grades[: nb.SHOWN_ROWS]:
        width = 160 * counts[grade] / most
        bar = element("svg", rectangle(0, 2, width, 12, fill=MUTED), width=160, height=14, aria_hidden="true")
        unjudged = " (pooled, not judged)" if grade < 0 else ""
        bars.append([f"{grade:g}{unjudged}", bar, f"{counts[grade]:,}", f"{counts[grade] / total:.0%}"])
    rows = [
        [nb.words(query), str(len(judged)), str(sum(grade > 0 for grade in judged.values()))]
        for query in qrels.query_ids[:SHOWN_QUERIES]
        for judged in [qrels.judged[query]]
    ]
    n_more = len(qrels) - SHOWN_QUERIES
    more_grades = f"{len(grades) - nb.SHOWN_ROWS} more grades" if len(grades) > nb.SHOWN_ROWS else ""
    return nb.card(
        nb.headline(f"{counted(len(qrels), 'query')}, {counted(total, 'judgment')}"),
        nb.rows_html(["grade", "", "judgments", "share"], bars, n_names=2, more=more_grades),
        nb.rows_html(["query", "judged", "above 0"], rows, more=f"{n_more:,} more queries" if n_more > 0 else ""),
    )


RUN = View("a run", run_html)
QRELS = View("qrels", qrels_html)
