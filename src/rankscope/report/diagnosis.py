"""A diagnosis made ready to be read: text with tables, and JSON."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Sequence
from typing import Any, TextIO

from rankscope._version import __version__
from rankscope.align.finding import share as share_in_words
from rankscope.analysis.diagnose import SEVERITIES, Diagnosis, Finding, Positions
from rankscope.analysis.diagnose.records import QueryList, RankBand
from rankscope.measures.scores import none_if_nan
from rankscope.report.evaluation import closed_object
from rankscope.report.findings import Line, printable
from rankscope.report.table import Cell, Table, print_table

STYLES = {"serious": "bold red", "moderate": "yellow", "remark": "dim"}
SEVERITIES_IN_WORDS = (
    "serious: one query in five or more; moderate: one in twenty or more; remark: fewer, or good to know"
)
LABEL_WIDTH = max(map(len, SEVERITIES)) + 2
INDENT = 2
TERMINAL_WIDTH = 100_000
"""Piped output is not wrapped."""


def finding_lines(finding: Finding) -> Iterator[Line]:
    """Return one finding as lines: what, for how many queries, examples, and what usually helps."""
    concerned = share_in_words(finding.n_queries, finding.of_queries, "queries")
    yield Line(finding.what, indent=INDENT, style=STYLES[finding.severity], label=finding.severity)
    yield Line(concerned, indent=INDENT + LABEL_WIDTH)
    for example in finding.examples:
        text = f"query {printable(example.query)}: {example.text}"
        yield Line(text, indent=INDENT + LABEL_WIDTH + 2, style="dim")
    yield Line(f"what usually helps: {finding.helps}", indent=INDENT + LABEL_WIDTH)


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


def best_words(diagnosis: Diagnosis) -> str:
    """Name the best queries."""
    return "best queries: " + ", ".join(f"{printable(one.query)} ({one.score:.4f})" for one in diagnosis.best)


def print_diagnosis(diagnosis: Diagnosis, *, per_query: bool = False, file: TextIO | None = None) -> None:
    """Draw the diagnosis: summary, findings, then the tables behind them."""
    title = Line(f"{printable(diagnosis.run)}: {diagnosis.summary}", style="bold")
    findings = [line for finding in diagnosis.findings for line in [*finding_lines(finding), Line("")]]
    print_lines([title, Line(""), *findings], file=file)
    for table in (
        losses_table(diagnosis),
        pool_table(diagnosis),
        relevant_docs_table(diagnosis),
        ranks_table(diagnosis),
        positions_table(diagnosis),
        *([positions_table(diagnosis, per_query=True)] if per_query else []),
    ):
        print_table(table, file=file)
        print_lines([Line("")], file=file)
    for query in diagnosis.worst:
        print_lines([Line(f"one of the worst, {query_title(query, diagnosis)}", style="bold")], file=file)
        print_table(query_table(query), file=file)
        print_lines([Line("")], file=file)
    if diagnosis.best:
        print_lines([Line(best_words(diagnosis))], file=file)


def print_lines(lines: Sequence[Line], *, file: TextIO | None = None) -> None:
    """Draw lines in the terminal, wrapped and indented; piped output has neither colour nor line breaks in lines."""
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False, file=file)
    if not console.is_terminal:
        console = Console(highlight=False, file=file, width=TERMINAL_WIDTH, legacy_windows=False)
    for line in lines:
        first = " " * line.indent + (f"{line.label:<{LABEL_WIDTH}}" if line.label else "")
        body = Text(line.text, style="" if line.label else line.style)
        for i, part in enumerate(body.wrap(console, max(20, console.width - len(first)))):
            margin = Text(first if i == 0 else " " * len(first), style=line.style)
            part.rstrip()
            console.print(Text.assemble(margin, part), soft_wrap=True)


def json_record(diagnosis: Diagnosis) -> dict[str, Any]:
    """Return the diagnosis as the JSON record whose schema is published."""
    record = {"rankscope": __version__, "is_fine": diagnosis.is_fine, **dataclasses.asdict(diagnosis)}
    positions = diagnosis.positions
    return {
        **record,
        "unjudged_share": none_if_nan(diagnosis.unjudged_share),
        "positions": {
            "overall": position_record(positions.overall),
            "queries": {query: position_record(one) for query, one in positions.queries.items()},
        },
    }


def position_record(positions: Positions) -> dict[str, Any]:
    """Return positions as JSON has them: its keys are text."""
    return {**dataclasses.asdict(positions), "in_top": {str(top): n for top, n in positions.in_top.items()}}


def json_text(diagnosis: Diagnosis) -> str:
    """Return the record as text; in ASCII, since an id may hold bytes that are not text."""
    return json.dumps(json_record(diagnosis), indent=1, ensure_ascii=True, allow_nan=False) + "\n"


TEXT = {"type": "string"}
COUNT = {"type": "integer", "minimum": 0}
RANK = {"type": "integer", "minimum": 1}
SHARE = {"type": "number", "minimum": 0, "maximum": 1}
NUMBER = {"type": "number"}


def listing(item: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return the schema of an array of objects."""
    return {"type": "array", "items": closed_object(item), **more}


def or_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema that null also meets."""
    return {**schema, "type": [schema["type"], "null"]}


def finding_schema() -> dict[str, Any]:
    """Return the properties of a finding."""
    number_or_null = {"type": ["number", "null"]}
    example = {
        "query": TEXT,
        "numbers": {"type": "object", "additionalProperties": number_or_null, "description": "what is known of it"},
        "text": {**TEXT, "description": "the same in words that may change between versions"},
    }
    return {
        "code": {**TEXT, "pattern": "^[a-z0-9_]+$", "description": "what was found, as a name to rely on"},
        "severity": {"enum": list(SEVERITIES), "description": SEVERITIES_IN_WORDS},
        "what": {**TEXT, "description": "what was found, in words that may change between versions"},
        "n_queries": {**COUNT, "description": "queries that it concerns"},
        "of_queries": {**COUNT, "description": "of so many"},
        "examples": listing(example, maxItems=3, description="the queries that show it worst"),
        "helps": {**TEXT, "description": "what usually helps"},
    }


def query_schema() -> dict[str, Any]:
    """Return the properties of a query with its docs."""
    return {
        "query": TEXT,
        "score": SHARE,
        "n_found": {**COUNT, "description": "relevant docs in the top k"},
        "n_relevant": COUNT,
        "docs": listing({"rank": RANK, "doc": TEXT, "grade": {"type": ["number", "null"]}}),
        "missed": listing(
            {"doc": TEXT, "grade": NUMBER, "rank": or_null(RANK)},
            description="the best relevant docs that are not in the top k; rank null: not retrieved",
        ),
    }


def positions_schema() -> dict[str, Any]:
    """Return the schema of positions."""
    return closed_object(
        {
            "found": COUNT,
            "total": {**COUNT, "description": "relevant docs there are, found or not"},
            "average": {"type": ["number", "null"]},
            "best": or_null(RANK),
            "worst": or_null(RANK),
            "in_top": {"type": "object", "additionalProperties": COUNT, "description": "found in the top 3, 5, 10"},
        }
    )


def json_schema() -> dict[str, Any]:
    """Return the JSON schema of the record."""
    parts = {"score": SHARE, "order": NUMBER, "ranked_low": NUMBER, "not_retrieved": NUMBER}
    band = {"first": or_null(RANK), "last": or_null(RANK), "n_docs": COUNT, "share": SHARE}
    cut = {"depth": RANK, "recall": SHARE, "best_recall": SHARE, "best_ndcg": SHARE}
    record = {
        "rankscope": {**TEXT, "description": "the version that made the record"},
        "is_fine": {"type": "boolean", "description": "whether there is nothing but remarks"},
        "run": {**TEXT, "description": "the run's name"},
        "measure": {**TEXT, "description": "the nDCG that scores and losses are about"},
        "k": RANK,
        "min_rel": {**NUMBER, "description": "the lowest relevant grade"},
        "n_queries": {**COUNT, "description": "queries with relevant docs, which all means are over"},
        "n_other_queries": {**COUNT, "description": "queries without any, left out"},
        "recall": {**SHARE, "description": "mean recall at k"},
        "unjudged_share": {**or_null(SHARE), "description": "of the docs in the top k"},
        "summary": {**TEXT, "description": "what is to be known first, in words that may change between versions"},
        "losses": {**closed_object(parts), "description": "where nDCG goes; the four add up to 1"},
        "findings": listing(finding_schema(), description="the most serious first"),
        "pool": listing(cut, minItems=1, description="what a perfect re-ranker of the first docs would reach"),
        "relevant_docs": listing(band, description="by rank; without ranks: not retrieved"),
        "ranks": listing({"rank": RANK, **dict.fromkeys(("relevant", "nonrelevant", "unjudged", "empty"), COUNT)}),
        "positions": closed_object(
            {
                "overall": positions_schema(),
                "queries": {"type": "object", "additionalProperties": positions_schema()},
            }
        ),
        "worst": listing(query_schema(), description="the queries with the lowest score, worst first"),
        "best": listing(query_schema(), description="the queries with the highest score, best first"),
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "What a run does badly, as printed by rankscope diagnose --format json",
        **closed_object(record),
    }
