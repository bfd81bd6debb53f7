"""A diagnosis made ready to be read: text with tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TextIO

from rankscope.align.finding import count_and_share
from rankscope.analysis.diagnose.records import SEVERITIES, Diagnosis, Positions, QueryList
from rankscope.report.findings import FindingLine, print_lines
from rankscope.report.table import Cell, Table, print_table

STYLES = {"serious": "bold red", "moderate": "yellow", "remark": "dim"}
SEVERITIES_IN_WORDS = (
    "serious: one query in five or more; moderate: one in twenty or more; remark: fewer, or good to know"
)
LABEL_WIDTH = max(map(len, SEVERITIES)) + 2
INDENT = 2


def tables_of(diagnosis: Diagnosis, *, per_query: bool) -> Iterator[Table]:
    """Yield what the findings rest on: where nDCG goes, what re-ranking could reach, and where relevant docs stand."""
    k, measure, last = diagnosis.k, diagnosis.measure, diagnosis.pool[-1]
    losses = {  # they add up to 1
        "reached": diagnosis.losses.score,
        f"lost by the order within the top {k}": diagnosis.losses.order,
        f"lost by docs that rank below {k}": diagnosis.losses.ranked_low,
        f"lost by docs that are not among the first {last.depth}": diagnosis.losses.not_retrieved,
    }
    if diagnosis.losses.not_answered:
        losses["lost by queries without an answer"] = diagnosis.losses.not_answered
    yield Table([f"where {measure} goes", measure], [[Cell(name), *score_cells(loss)] for name, loss in losses.items()])
    ceiling = (
        f"even a perfect re-ranker of the first {last.depth} docs reaches no more than "
        f"R@{k} {last.best_recall:.4f} and {measure} {last.best_ndcg:.4f}"
    )
    yield Table(
        ["candidate pool", "recall", f"R@{k} if ranked perfectly", f"{measure} if so"],
        [
            [Cell(f"the first {cut.depth}"), *score_cells(cut.recall, cut.best_recall, cut.best_ndcg)]
            for cut in diagnosis.pool
        ],
        notes=(ceiling,),
    )
    rows = []
    for band in diagnosis.relevant_docs:
        ranks = f"ranks {band.first} to {band.last}" if band.last else f"ranks from {band.first}"
        name = "not retrieved" if band.first is None else ranks
        rows.append([Cell(name), Cell(f"{band.n_docs:,}", raw=str(band.n_docs)), Cell(f"{band.share:.1%}")])
    yield Table(["relevant docs at", "docs", "share"], rows)
    header = {"rank": "rank", "relevant": "relevant", "nonrelevant": "judged bad", "unjudged": "unjudged"}
    if any(row.empty for row in diagnosis.ranks):
        header["empty"] = "no doc"
    yield Table(list(header.values()), [[Cell(str(getattr(row, name))) for name in header] for row in diagnosis.ranks])
    positions = diagnosis.positions
    yield positions_table({"all queries": positions.overall}, positions.overall.in_top)
    if per_query:
        yield positions_table(positions.queries, positions.overall.in_top)
    for attribute in dict.fromkeys(one.attribute for one in diagnosis.slices):
        yield slice_table(attribute, diagnosis)


def score_cells(*values: float) -> list[Cell]:
    return [Cell(f"{value:.4f}", raw=repr(value)) for value in values]


def positions_table(positions_of: Mapping[str, Positions], tops: Iterable[int]) -> Table:
    rows = []
    for name, one in positions_of.items():
        average = "-" if one.average is None else f"{one.average:.1f}"
        ends = ("-" if end is None else str(end) for end in (one.best, one.worst))
        texts = (name, str(one.found), str(one.total), average, *ends, *map(str, one.in_top.values()))
        rows.append([Cell(text) for text in texts])
    header = ["positions", "found", "of", "average", "best", "worst", *(f"in top {n}" for n in tops)]
    return Table(header, rows)


def slice_table(attribute: str, diagnosis: Diagnosis) -> Table:
    """Return how the queries of each value do, and where they lose."""
    rows = [
        [
            Cell(one.value),
            Cell(f"{one.n_queries:,}", raw=str(one.n_queries)),
            *score_cells(one.losses.score, one.recall),
            *score_cells(one.losses.order, one.losses.ranked_low, one.losses.not_retrieved),
            Cell(
                "-" if one.p_adjusted is None else "<0.001" if one.p_adjusted < 0.001 else f"{one.p_adjusted:.3f}",
                raw=repr(one.p_adjusted),
            ),
        ]
        for one in diagnosis.slices
        if one.attribute == attribute
    ]
    lost = ("lost by order", f"below {diagnosis.k}", "not retrieved")
    header = [f"by {attribute}", "queries", diagnosis.measure, f"R@{diagnosis.k}", *lost, "p, others"]
    note = "p: how likely so large a difference to all other queries is by chance, with false alarms controlled"
    return Table(header, rows, notes=(note,))


def query_table(query: QueryList) -> Table:
    """Return the docs of one query with their grades, and below them the best relevant docs that are not in the top."""
    rows = [
        [Cell(str(doc.rank)), Cell(doc.doc), Cell("unjudged" if doc.grade is None else f"{doc.grade:g}")]
        for doc in query.docs
    ]
    notes = []
    if query.missed:
        named = (
            f"{one.doc} (grade {one.grade:g}, {f'rank {one.rank}' if one.rank else 'not retrieved'})"
            for one in query.missed
        )
        more = query.n_relevant - query.n_found - len(query.missed)
        notes = [f"missing: {', '.join(named)}{f' and {more} more' if more else ''}"]
    return Table(["rank", "doc", "grade"], rows, n_name_columns=2, notes=notes)


def print_diagnosis(diagnosis: Diagnosis, *, per_query: bool = False, file: TextIO | None = None) -> None:
    def draw(*lines: FindingLine) -> None:
        print_lines(lines, label_width=LABEL_WIDTH, file=file)

    empty = FindingLine("")
    draw(FindingLine(f"{diagnosis.run}: {diagnosis.summary}", style="bold"))
    if diagnosis.bands is not None:
        draw(
            FindingLine(
                f"in words (bands {diagnosis.bands}): {diagnosis.in_words or 'they have none for these measures'}"
            )
        )
    draw(empty)
    inner = INDENT + LABEL_WIDTH
    for finding in diagnosis.findings:
        draw(FindingLine(finding.what, indent=INDENT, style=STYLES[finding.severity], label=finding.severity))
        draw(FindingLine(count_and_share(finding.n_queries, finding.of_queries, "queries"), indent=inner))
        for example in finding.examples:
            draw(FindingLine(f"query {example.query}: {example.text}", indent=inner + 2, style="dim"))
        draw(FindingLine(f"what usually helps: {finding.helps}", indent=inner), empty)
    for table in tables_of(diagnosis, per_query=per_query):
        print_table(table, file=file)
        draw(empty)
    for query in diagnosis.worst:
        title = (
            f"one of the worst, query {query.query}: {diagnosis.measure} {query.score:.4f}, "
            f"{query.n_found} of {query.n_relevant} relevant docs in the top {diagnosis.k}"
        )
        draw(FindingLine(title, style="bold"))
        print_table(query_table(query), file=file)
        draw(empty)
    if diagnosis.best:
        best = ", ".join(f"{one.query} ({one.score:.4f})" for one in diagnosis.best)
        draw(FindingLine(f"best queries: {best}"))
