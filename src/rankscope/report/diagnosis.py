"""A diagnosis made ready to be read: text with tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TextIO

from rankscope.align.finding import count_and_share
from rankscope.analysis.diagnose.records import (
    SEVERITIES,
    Diagnosis,
    DiagnosisFinding,
    Positions,
    QueryList,
    RankBand,
)
from rankscope.report.findings import FindingLine, print_lines, printable
from rankscope.report.table import Cell, Table, print_table

STYLES = {"serious": "bold red", "moderate": "yellow", "remark": "dim"}
SEVERITIES_IN_WORDS = (
    "serious: one query in five or more; moderate: one in twenty or more; remark: fewer, or good to know"
)
LABEL_WIDTH = max(map(len, SEVERITIES)) + 2
INDENT = 2


def finding_lines(finding: DiagnosisFinding) -> Iterator[FindingLine]:
    """Return one finding as lines: what, for how many queries, examples, and what usually helps."""
    concerned = count_and_share(finding.n_queries, finding.of_queries, "queries")
    yield FindingLine(finding.what, indent=INDENT, style=STYLES[finding.severity], label=finding.severity)
    yield FindingLine(concerned, indent=INDENT + LABEL_WIDTH)
    for example in finding.examples:
        text = f"query {printable(example.query)}: {example.text}"
        yield FindingLine(text, indent=INDENT + LABEL_WIDTH + 2, style="dim")
    yield FindingLine(f"what usually helps: {finding.helps}", indent=INDENT + LABEL_WIDTH)


def losses_table(diagnosis: Diagnosis) -> Table:
    """Return where nDCG is lost; the rows add up to 1."""
    losses, k, depth = diagnosis.losses, diagnosis.k, diagnosis.pool[-1].depth
    parts = [
        ("reached", losses.score),
        (f"lost by the order within the top {k}", losses.order),
        (f"lost by docs that rank below {k}", losses.ranked_low),
        (f"lost by docs that are not among the first {depth}", losses.not_retrieved),
    ]
    rows = [[Cell(name), Cell(f"{value:.4f}", raw=repr(value))] for name, value in parts]
    return Table([f"where {diagnosis.measure} goes", diagnosis.measure], rows)


def pool_table(diagnosis: Diagnosis) -> Table:
    """Return what a perfect re-ranker could make of each depth of the candidate pool."""
    rows = [
        [
            Cell(f"the first {cut.depth}"),
            *(Cell(f"{value:.4f}", raw=repr(value)) for value in (cut.recall, cut.best_recall, cut.best_ndcg)),
        ]
        for cut in diagnosis.pool
    ]
    header = ["candidate pool", "recall", f"R@{diagnosis.k} if ranked perfectly", f"{diagnosis.measure} if so"]
    last = diagnosis.pool[-1]
    ceiling = (
        f"even a perfect re-ranker of the first {last.depth} docs reaches no more than "
        f"R@{diagnosis.k} {last.best_recall:.4f} and {diagnosis.measure} {last.best_ndcg:.4f}"
    )
    return Table(header, rows, notes=(ceiling,))


def relevant_docs_table(diagnosis: Diagnosis) -> Table:
    """Return in which ranks the relevant docs stand."""
    rows = [
        [Cell(band_words(band)), Cell(f"{band.n_docs:,}", raw=str(band.n_docs)), Cell(f"{band.share:.1%}")]
        for band in diagnosis.relevant_docs
    ]
    return Table(["relevant docs at", "docs", "share"], rows)


def band_words(band: RankBand) -> str:
    """Return ranks in words."""
    if band.first is None:
        return "not retrieved"
    return f"ranks {band.first} to {band.last}" if band.last else f"ranks from {band.first}"


def ranks_table(diagnosis: Diagnosis) -> Table:
    """Return what stands at each rank of the top."""
    shown = diagnosis.ranks
    with_empty = any(row.empty for row in shown)
    header = ["rank", "relevant", "judged bad", "unjudged", *(["no doc"] if with_empty else [])]
    rows = []
    for row in shown:
        counts = [row.relevant, row.nonrelevant, row.unjudged, *([row.empty] if with_empty else [])]
        rows.append([Cell(str(row.rank)), *(Cell(str(count)) for count in counts)])
    return Table(header, rows)


def positions_table(diagnosis: Diagnosis, *, per_query: bool = False) -> Table:
    """Return where the relevant docs found stand: over all of them, or query by query."""
    report = diagnosis.positions
    named = report.queries.items() if per_query else [("all queries", report.overall)]
    header = ["positions", "found", "of", "average", "best", "worst", *(f"in top {n}" for n in report.overall.in_top)]
    return Table(header, [[Cell(printable(name)), *position_cells(one)] for name, one in named])


def position_cells(positions: Positions) -> list[Cell]:
    """Return one row of positions."""
    average = "-" if positions.average is None else f"{positions.average:.1f}"
    ends = ("-" if end is None else str(end) for end in (positions.best, positions.worst))
    texts = (str(positions.found), str(positions.total), average, *ends, *map(str, positions.in_top.values()))
    return [Cell(text) for text in texts]


def query_title(query: QueryList, diagnosis: Diagnosis) -> str:
    """Return how one query did."""
    return (
        f"query {printable(query.query)}: {diagnosis.measure} {query.score:.4f}, "
        f"{query.n_found} of {query.n_relevant} relevant docs in the top {diagnosis.k}"
    )


def query_table(query: QueryList) -> Table:
    """Return the docs of one query with their grades, and below them what is missing."""
    rows = [
        [Cell(str(doc.rank)), Cell(printable(doc.doc)), Cell("unjudged" if doc.grade is None else f"{doc.grade:g}")]
        for doc in query.docs
    ]
    return Table(["rank", "doc", "grade"], rows, n_name_columns=2, notes=tuple(missed_words(query)))


def missed_words(query: QueryList) -> Iterator[str]:
    """Name the best relevant docs that are not in the top."""
    if query.missed:
        named = (
            f"{printable(one.doc)} (grade {one.grade:g}, {f'rank {one.rank}' if one.rank else 'not retrieved'})"
            for one in query.missed
        )
        more = query.n_relevant - query.n_found - len(query.missed)
        yield f"missing: {', '.join(named)}{f' and {more} more' if more else ''}"


def print_diagnosis(diagnosis: Diagnosis, *, per_query: bool = False, file: TextIO | None = None) -> None:
    """Draw the diagnosis: summary, findings, then the tables behind them."""

    def draw(*lines: FindingLine) -> None:
        print_lines(lines, label_width=LABEL_WIDTH, file=file)

    empty = FindingLine("")
    draw(FindingLine(f"{printable(diagnosis.run)}: {diagnosis.summary}", style="bold"), empty)
    for finding in diagnosis.findings:
        draw(*finding_lines(finding), empty)
    for table in (
        losses_table(diagnosis),
        pool_table(diagnosis),
        relevant_docs_table(diagnosis),
        ranks_table(diagnosis),
        positions_table(diagnosis),
        *([positions_table(diagnosis, per_query=True)] if per_query else []),
    ):
        print_table(table, file=file)
        draw(empty)
    for query in diagnosis.worst:
        draw(FindingLine(f"one of the worst, {query_title(query, diagnosis)}", style="bold"))
        print_table(query_table(query), file=file)
        draw(empty)
    if diagnosis.best:
        best = ", ".join(f"{printable(one.query)} ({one.score:.4f})" for one in diagnosis.best)
        draw(FindingLine(f"best queries: {best}"))
