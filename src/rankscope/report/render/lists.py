"""Two rankings of one query as HTML: list beside list, lines between the places of a doc; a phone shows one list.

A row is short, as a page has many: what the legend says stands in no row, and a title only once.
"""

from __future__ import annotations

from html import escape

from rankscope.analysis.side_by_side import ShownDoc, ShownList, SideBySide
from rankscope.report.render.page import Page

ROW = 100  # the height of a row, in units of the drawing
ROW_REM = 5.5  # the same on the page, as page.css has it
MOVE_SIGNS = {"up": "↑", "down": "↓"}


def side_by_side_part(sides: SideBySide, page: Page) -> str:
    """Return both lists, and between them the lines; a narrow window shows one list, and a switch for the other."""
    name = page.new_id("sides", sides.query)
    first, second = list_part(sides.a, "A"), list_part(sides.b, "B")
    switch = (
        f'<label><input type="radio" name="{name}">{head_part(sides.a, "A")}</label>'
        f'<label><input type="radio" name="{name}" checked>{head_part(sides.b, "B")}</label>'
    )
    return (
        f'<div class="sides"><fieldset class="switch"><legend class="sr">List</legend>{switch}</fieldset>'
        f"{first}{moves_part(sides)}{second}</div>"
    )


def head_part(shown: ShownList, letter: str) -> str:
    score = "undefined" if shown.score is None else f"{shown.score:.4f}"
    return (
        f'<span class="ab {letter.lower()}">{letter}</span> <b>{escape(shown.run)}</b> <span class="num">{score}</span>'
    )


def list_part(shown: ShownList, letter: str) -> str:
    docs = "".join(doc_part(doc, is_second=letter == "B") for doc in shown.docs)
    inside = f"<ol>{docs}</ol>" if docs else '<p class="cap">Nothing was retrieved.</p>'
    return f'<div class="side {letter.lower()}"><p class="side-head">{head_part(shown, letter)}</p>{inside}</div>'


def doc_part(doc: ShownDoc, *, is_second: bool) -> str:
    grade = "–" if doc.grade is None else f"{doc.grade:g}"  # noqa: RUF001 (a dash)
    level = "gx" if doc.grade is None else f"g{min(int(max(doc.grade, 0)), 3)}"
    said = ' title="not judged"' if doc.grade is None else ""
    words = "".join(f"<mark>{escape(piece)}</mark>" if is_word else escape(piece) for piece, is_word in doc.snippet)
    name = f"<div><b>{escape(doc.doc)}</b></div>"
    if doc.title:
        name = f"<div><b>{escape(doc.title)}</b> <small>{escape(doc.doc)}</small></div>"
    adds = f"{doc.adds:.4f}" if doc.adds else "0"
    return (
        f'<li><span class=rank>{doc.rank}</span><span class="grade {level}"{said}>{grade}</span>'
        f"<div class=words>{name}{f'<p>{words}' if words else ''}</div>"
        f"<div class=adds>{adds}{move_part(doc, is_second=is_second)}</div>"
    )


def move_part(doc: ShownDoc, *, is_second: bool) -> str:
    """Return what became of a doc: lost beside the first list, new or moved beside the second."""
    elsewhere = "" if doc.other_rank is None else f' title="rank {doc.other_rank} in the other list"'
    if doc.move in ("lost", "new"):
        return f"<span class=move{elsewhere}>{doc.move}</span>"
    if doc.move == "same" or not is_second:
        return ""
    by = abs((doc.other_rank or doc.rank) - doc.rank)
    return f"<span class=move{elsewhere}>{MOVE_SIGNS[doc.move]}{by}</span>"


def moves_part(sides: SideBySide) -> str:
    """Return the lines between the places of docs that both lists show."""
    height = max(len(sides.a.docs), len(sides.b.docs), 1) * ROW
    lines = []
    for doc in sides.b.docs:
        if doc.move == "new" or doc.other_rank is None:
            continue
        start, end = ((rank - 0.5) * ROW for rank in (doc.other_rank, doc.rank))
        kind = doc.move if doc.is_relevant and doc.move != "same" else "stays"
        lines.append(f'<path class="{kind}" d="M0 {start:g}C50 {start:g} 50 {end:g} 100 {end:g}"/>')
    size = f'height="{height / ROW * ROW_REM:g}rem" viewBox="0 0 100 {height}" preserveAspectRatio="none"'
    return f'<svg class="moves" {size} aria-hidden="true">{"".join(lines)}</svg>'


LEGEND = (
    '<p class="cap">The number in the box is the grade, a dash where nobody judged the doc; on the right stands what '
    'a doc adds to the score. <span class="lines">Lines join the places of a doc: blue where a relevant one rose, '
    "dashed where one fell.</span> Lost: not among the docs shown of the other list; new: not among those of the "
    "first.</p>"
)
