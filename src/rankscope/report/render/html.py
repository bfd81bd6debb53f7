"""A report as one HTML file: it needs no network, no other file, and no script to be read.

Rows of long tables stand in the file as plain table rows, folded in `<details>`, written without the end tags that
HTML lets one leave out: about ten bytes a score, so that 50 systems on 1,000 queries stay below one megabyte. All of
the data can thus be opened, searched and copied without a script, which only adds sorting and filtering.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator
from html import escape
from importlib.resources import files
from itertools import chain, count

from rankscope.report import document as doc
from rankscope.report.charts.palette import PAGE_CSS
from rankscope.report.render.interval import Axis, shared_axis, signed
from rankscope.report.render.texts import CHECK_WORDS, DIGITS, SUPERSCRIPTS, cleaned, with_minus
from rankscope.report.table import Cell, Table

PAPER_ROWS, PAPER_COLUMNS = 200, 12  # a folded table with more rows or columns than this stays folded on paper
LONG_HEADING = 20
LONG_CELL = 32  # a cell of a number column that is longer than this is prose, and is broken into lines
TRACK = 400  # the width of an estimate's drawing, in its own units

POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"

SHAPES: dict[doc.Mark, str] = {
    "better": '<path d="M8 1.5 15 14H1Z"/>',
    "probably_better": '<path class="ring" d="M8 3 13.5 13H2.5Z"/>',
    "worse": '<path d="M1 2H15L8 14.5Z"/>',
    "probably_worse": '<path class="ring" d="M2.5 3H13.5L8 13Z"/>',
    "same": '<path d="M2 4H14V7H2ZM2 9.5H14V12.5H2Z"/>',
    "unsure": '<circle class="ring" cx="8" cy="8" r="5.5"/>',
    "unsafe": '<path class="ring" d="M8 1.5 14.5 8 8 14.5 1.5 8Z"/><path d="M8 1.5V14.5L1.5 8Z"/>',
    "fine": '<path class="ring" d="M2 8.5 6.5 13 14 3.5"/>',
    "look": '<path d="M6.5 1.5H9.5L9 10H7ZM6.8 12H9.2V14.5H6.8Z"/>',
    "fails": '<path class="ring" d="M3 3 13 13M13 3 3 13"/>',
    "note": '<circle class="ring" cx="8" cy="8" r="5.5"/>',
}
TONES: dict[doc.Mark, str] = {
    "probably_better": "better",
    "probably_worse": "worse",
    "fine": "better",
    "look": "caution",
    "fails": "worse",
    "note": "unsure",
}
"""The colour of a mark, where it has not its own."""


def to_html(report: doc.Report) -> str:
    """Return the report as a page; nothing may be loaded, and no other script may run."""
    report, ids = cleaned(report), set[str]()
    style, script = (
        files("rankscope.report.render").joinpath(f"page.{end}").read_text("utf-8") for end in ("css", "js")
    )
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    anchors = [new_id(ids, "section", section.title) for section in report.sections]
    sections = list(zip(anchors, report.sections, strict=True))
    linked = [("report", "In short"), *((name, section.title) for name, section in sections)]
    linked.append(("again", "How to obtain it again"))
    links = (f'<li><a href="#{name}">{escape(title)}</a>' for name, title in linked)
    footer = (f"<div><dt>{escape(name)}<dd><code>{escape(value)}</code></div>" for name, value in report.footer)
    parts = [
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}; script-src \'sha256-{digest}\'">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="color-scheme" content="light dark">',
        f"<title>{escape(report.title)}</title>",
        f"<style>{PAGE_CSS}\n{style}</style>",
        "</head>\n<body>",
        '<a class="skip" href="#report">Skip to the report</a>',
        f"<header><h1>{escape(report.title)}</h1></header>",
        '<div class="columns">',
        f'<nav aria-label="Contents"><ol>{"".join(links)}</ol></nav>',
        '<main id="report" tabindex="-1">',
        '<section class="first" aria-label="In short">',
        *(block_part(block, ids, level=2) for block in report.first_screen),
        "</section>",
        *(part for name, section in sections for part in section_parts(name, section, ids)),
        "</main>",
        "</div>",
        f'<footer id="again"><h2>How to obtain it again</h2><dl>{"".join(footer)}</dl></footer>',
        f"<script>{script}</script>",
        "</body>\n</html>",
    ]
    return "\n".join(parts) + "\n"


def new_id(used: set[str], kind: str, title: str) -> str:
    """Return an id that is used once on the page, and stays the same as long as the title does."""
    slug = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:60]
    base = f"{kind}-{slug}" if slug else kind
    name = next(name for name in chain([base], (f"{base}-{n}" for n in count(2))) if name not in used)
    used.add(name)
    return name


def section_parts(name: str, section: doc.Section, ids: set[str]) -> Iterator[str]:
    yield f'<section id="{name}" aria-labelledby="{name}-title"><h2 id="{name}-title">{escape(section.title)}</h2>'
    if section.intro:
        yield f'<p class="intro">{escape(section.intro)}</p>'
    for block in section.blocks:
        yield block_part(block, ids, level=3)
    yield "</section>"


def block_part(block: doc.Block, ids: set[str], *, level: int) -> str:
    match block:
        case doc.VerdictBlock():
            return verdict_part(block, level)
        case doc.Paragraph():
            return f"<p>{escape(block.text)}</p>"
        case doc.TableBlock():
            return table_block(block, ids, level)
        case doc.SideBySideBlock():
            from rankscope.report.render.lists import side_by_side_part

            inside = side_by_side_part(block.sides)
        case doc.Figure():
            name = new_id(ids, "figure", block.title)  # a chart draws its title itself, so the heading is only heard
            title = f'<h{level} class="label" id="{name}">{escape(block.title)}</h{level}>' if block.title else ""
            svg = re.sub(r"^\s*(<\?xml[^>]*\?>|<!DOCTYPE[^>]*>|\s)*", "", block.svg)
            caption = f"<figcaption>{escape(block.alt)}</figcaption>"
            return f'<figure {labelled(block.title, name)}>{title}<div class="chart">{svg}</div>{caption}</figure>'
        case doc.Facts() | doc.VerdictCounts() | doc.ChangedQueries() | doc.Shares():
            return block_part(doc.simple(block), ids, level=level)
        case doc.Estimates():
            axis = shared_axis(block)
            rows = [
                f"<li><b>{escape(row.name)}</b>{drawn_estimate(row, block, axis)}"
                f"<span>{escape(with_minus(row.words))}</span>"
                for row in block.estimates
            ]
            key = "The line is zero" + (f", the band the margin of ±{block.margin:g}" if block.margin else "")
            ends = f"<span>{signed(axis[0])}</span><span>{signed(axis[1])}</span>"
            rows.append(f'<li class="ends" aria-hidden="true"><div>{ends}</div>')
            inside = f'<ul class="estimates">{"".join(rows)}</ul><p class="note">{key}.</p>'
        case doc.Bullets():
            kind, items = "ol" if block.numbered else "ul", (f"<li>{escape(with_minus(item))}" for item in block.items)
            inside = f'<{kind} class="bullets">{"".join(items)}</{kind}>'
        case doc.Signals():
            items = (
                f'<li class="{tone(signal.mark)}">{shape(signal.mark)}'
                f'<span class="word">{CHECK_WORDS[signal.mark]}</span>'
                f"<b>{escape(signal.name)}</b><span>{escape(signal.words)}</span>"
                for signal in block.signals
            )
            inside = f'<ul class="signals">{"".join(items)}</ul>'
    return f'<div class="block">{heading(block.title, level)}{inside}</div>'


def heading(title: str, level: int, *, name: str = "") -> str:
    """Return the title of a block, where it has one; by its name it is referred to."""
    anchor = f' id="{name}"' if name else ""
    return f'<h{level} class="title"{anchor}>{escape(title)}</h{level}>' if title else ""


def labelled(title: str, name: str) -> str:
    """Return the attribute that says what something is: its title, where it has one."""
    return f'aria-labelledby="{name}"' if title else 'aria-label="Untitled"'


def tone(mark: doc.Mark) -> str:
    return TONES.get(mark, mark)


def shape(mark: doc.Mark) -> str:
    return f'<svg class="shape" viewBox="0 0 16 16" aria-hidden="true">{SHAPES[mark]}</svg>'


def verdict_part(verdict: doc.VerdictBlock, level: int) -> str:
    subject = f'<p class="subject">{escape(verdict.subject)}</p>' if verdict.subject else ""
    cautions = "".join(
        f'<p class="caution">{shape("look")}<span><b>Caution</b> {escape(with_minus(text))}</span></p>'
        for text in verdict.cautions
    )
    headline = f'{shape(verdict.mark)}<span><span class="label">Verdict</span> {escape(verdict.headline)}</span>'
    return (
        f'<div class="verdict {tone(verdict.mark)}">{subject}<h{level} class="headline">{headline}</h{level}>'
        f"<p>{escape(with_minus(verdict.reason))}</p>{cautions}</div>"
    )


def drawn_estimate(row: doc.Estimate, block: doc.Estimates, axis: Axis) -> str:
    """Draw an estimate; its numbers stand beside it in words."""

    def place(number: float) -> float:
        return round((number - axis[0]) / (axis[1] - axis[0]) * TRACK, 1)

    left, right, zero = map(place, (-block.margin, block.margin, 0.0))
    parts = [f'<path class="axis" d="M0 14H{TRACK}"/>', f'<path class="zero" d="M{zero} 1V27"/>']
    if block.margin:
        parts.insert(0, f'<rect class="margin" x="{left}" y="1" width="{right - left:g}" height="26"/>')
    if row.numbers:
        low, value, high = map(place, row.numbers)
        parts += [
            f'<path class="interval" d="M{low} 14H{high}"/>',
            f'<circle class="value" cx="{value}" cy="14" r="6"/>',
        ]
    return f'<svg class="track" viewBox="-8 0 {TRACK + 16} 28" aria-hidden="true">{"".join(parts)}</svg>'


def table_block(block: doc.TableBlock, ids: set[str], level: int) -> str:
    name = new_id(ids, "table", block.title)
    notes = "".join(f'<p class="note">{escape(note)}</p>' for note in block.table.notes)
    shown = table_part(block.table, labelled(block.title, name)) + notes
    if not block.folded:
        return f'<div class="block">{heading(block.title, level, name=name)}{shown}</div>'
    n_rows = len(block.table.rows)
    size = ' class="large"' if n_rows > PAPER_ROWS or len(block.table.header) > PAPER_COLUMNS else ""
    title = f'<span id="{name}">{escape(block.title)}</span> ' if block.title else ""
    return f"<details{size}><summary>{title}<small>{n_rows:,} rows</small></summary>{shown}</details>"


def table_part(table: Table, label: str) -> str:
    """Return a table in a box of its own, which scrolls where the table is wider than the page."""
    header = "".join(
        f'<th scope="col"{" class=n" if i < table.n_name_columns else ""}>{breakable(text)}'
        for i, text in enumerate(table.header)
    )
    rows = "\n".join(
        "<tr>" + "".join(cell_part(cell, i, table.n_name_columns) for i, cell in enumerate(row)) for row in table.rows
    )
    return (
        f'<div class="scroll" role="region" tabindex="0" {label}><table {label}>'
        f"<thead><tr>{header}<tbody>\n{rows}</table></div>"
    )


def breakable(text: str) -> str:
    """Return a heading; one that is long may be broken behind its signs, or anywhere."""
    if len(text) <= LONG_HEADING:
        return escape(text)
    return "<wbr>".join(escape(piece) for piece in re.findall(r"[^-_./:+]{1,10}[-_./:+]*|[-_./:+]{1,10}", text))


def cell_part(cell: Cell, i: int, n_names: int) -> str:
    """Return one cell, without its end tag, as HTML allows; the first is the name of its row."""
    whole = f' title="{escape(cell.full)}"' if cell.full and cell.full != cell.text else ""
    if i == 0 and n_names:
        return f"<th scope=row{whole}>{escape(cell.text)}"
    kind = " class=n" if i < n_names else " class=w" if len(cell.text) > LONG_CELL else ""
    text = escape(cell.text if i < n_names else with_minus(cell.text))
    if not text.isascii():
        text = SUPERSCRIPTS.sub(lambda marks: f"<sup>{marks[0].translate(DIGITS)}</sup>", text)
    return f"<td{kind}{whole}><b>{text}</b>" if cell.best else f"<td{kind}{whole}>{text}"
