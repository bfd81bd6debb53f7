"""Two rankings of one query beside one another, and the queries that changed most, as reports."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

from rankscope.analysis.side_by_side import ScoreChange, ScoreChanges, ShownDoc, SideBySide
from rankscope.data.texts import Snippet, beginning
from rankscope.printable import counted
from rankscope.report.document import Block, Bullets, Paragraph, Report, SideBySideBlock, TableBlock
from rankscope.report.table import Cell, Table
from rankscope.report.words import LONGEST_TEXT

TITLE_WIDTH = 32
QUERY_WIDTH = 60
N_LISTED = 10
"""Losses and gains that are listed."""


def side_by_side_report(found: SideBySide) -> Report:
    asked = f"“{beginning(found.query_text, LONGEST_TEXT)}”" if found.query_text else f"Query {found.query}"
    small_print = f" (query {found.query})" if found.query_text else ""
    blocks: list[Block] = [Paragraph(score_sentence(found)), SideBySideBlock("", found, ranking_table(found))]
    if items := tuple(change_items(found)):
        blocks.append(Bullets("Docs that make the difference", items))
    if found.missed:
        named = ", ".join(beginning(title, TITLE_WIDTH) for title in found.missed[:5])
        more = f" and {len(found.missed) - 5} more" if len(found.missed) > 5 else ""
        blocks.append(Paragraph(f"Relevant, and shown by neither: {named}{more}."))
    return Report(f"{asked}{small_print}", tuple(blocks), (), ())


def score_sentence(found: SideBySide) -> str:
    if found.difference is None:
        lacking = " and ".join(f"{each.run}" for each in (found.a, found.b) if each.score is None)
        return f"{found.measure} is undefined for {lacking}, so there is no difference."
    before, after = f"{found.a.score:.4f}", f"{found.b.score:.4f}"
    if found.difference == 0:
        return f"{found.measure} is {before} in {found.a.run} and in {found.b.run}."
    return f"{found.measure} is {before} in {found.a.run} and {after} in {found.b.run}: {found.difference:+.4f}."


def ranking_table(found: SideBySide) -> Table:
    """Return both lists, one rank a row; the place of a doc in the other list stands at the end of the row."""
    lists = (found.a, found.b)
    rows = []
    for i in range(max(len(each.docs) for each in lists)):
        docs = [each.docs[i] if i < len(each.docs) else None for each in lists]
        rows.append([Cell(str(i + 1)), *(Cell(text) for of in COLUMNS.values() for text in map(of, docs))])
    names = [f"{letter} {each.run}" for letter, each in zip("AB", lists, strict=True)]
    columns = (f"{heading} {letter}" for heading in list(COLUMNS)[1:] for letter in "AB")
    note = "adds: what a doc contributes to the score; there: its rank in the other list; a grade of - : not judged"
    optional = ("there A", "there B", "adds A", "adds B")
    return Table(["rank", *names, *columns], rows, n_name_columns=3, notes=(note,), optional=optional)


def grade_text(doc: ShownDoc | None) -> str:
    if doc is None:
        return ""
    return "-" if doc.grade is None else f"{doc.grade:g}"


def adds_text(doc: ShownDoc | None) -> str:
    if doc is None:
        return ""
    return f"{doc.adds:.4f}" if doc.adds else "0"


def place_text(doc: ShownDoc | None) -> str:
    """Return a doc's rank in the other list, or that it has none."""
    if doc is None:
        return ""
    return "none" if doc.other_rank is None else "same" if doc.other_rank == doc.rank else str(doc.other_rank)


def name_text(doc: ShownDoc | None) -> str:
    if doc is None:
        return ""
    return f"{beginning(doc.title, TITLE_WIDTH)} ({doc.doc})" if doc.title and doc.title != doc.doc else doc.doc


COLUMNS: dict[str, Callable[[ShownDoc | None], str]] = {
    "doc": name_text,
    "grade": grade_text,
    "adds": adds_text,
    "there": place_text,
}


def change_items(found: SideBySide) -> Iterator[str]:
    """Yield the docs that make the difference, the greatest first, with their words."""
    for one in found.changes[:N_LISTED]:
        ranks = " to ".join("none" if rank is None else str(rank) for rank in (one.rank_a, one.rank_b))
        grade = "not judged" if one.grade is None else f"grade {one.grade:g}"
        words = f": {marked_text(one.snippet)}" if one.snippet else ""
        yield f"{one.change:+.4f} {one.title or one.doc} ({grade}, rank {ranks}){words}"
    if rest := found.changes[N_LISTED:]:
        yield f"{math.fsum(one.change for one in rest):+.4f} {counted(len(rest), 'more doc')}"


def marked_text(snippet: Snippet) -> str:
    """Return a snippet with the query's words in brackets."""
    return "".join(f"[{piece}]" if is_word else piece for piece, is_word in snippet)


def changes_report(found: ScoreChanges) -> Report:
    losses, gains = found.losses, found.gains
    n_same = len(found.queries) - len(losses) - len(gains)
    summary = (
        f"From {found.run_a} to {found.run_b}, {found.measure} is worse for {counted(len(losses), 'query')}, "
        f"better for {len(gains):,} and the same for {n_same:,}."
    )
    if found.n_undefined:
        summary += f" For {found.n_undefined:,} more it is undefined."
    blocks: list[Block] = [Paragraph(summary)]
    for name, changes in (("loss", losses), ("gain", gains)):
        if changes:
            blocks.append(
                TableBlock(f"Largest {'losses' if name == 'loss' else 'gains'}", change_table(found, changes, name))
            )
    return Report(f"{found.run_b} against {found.run_a}, query by query", tuple(blocks), (), ())


def change_table(found: ScoreChanges, changes: Sequence[ScoreChange], name: str) -> Table:
    rows = [
        [
            Cell(f"{i}"),
            Cell(f"{beginning(one.text, QUERY_WIDTH)} ({one.query})" if one.text else one.query),
            *(Cell(f"{score:.4f}", raw=repr(score)) for score in (one.score_a, one.score_b)),
            Cell(f"{one.score_b - one.score_a:+.4f}", raw=repr(one.score_b - one.score_a)),
        ]
        for i, one in enumerate(changes[:N_LISTED], 1)
    ]
    more = f"{len(changes) - N_LISTED:,} more; " if len(changes) > N_LISTED else ""
    return Table(
        [name, "query", found.run_a, found.run_b, "change"], rows, 2, notes=(f"{more}--{name} 1 shows the first",)
    )
