"""A report as Markdown in GitHub's flavour: for pull requests, job summaries and wikis."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from html import escape

from rankscope.report.document import (
    Block,
    Bullets,
    Estimate,
    Estimates,
    Figure,
    Paragraph,
    Report,
    Section,
    Signals,
    TableBlock,
    Verdict,
)
from rankscope.report.render.interval import shared_axis, text_interval
from rankscope.report.render.texts import TONE_SHAPES, TONE_WORDS, cleaned
from rankscope.report.table import Cell, Table

NO_FIGURES: Mapping[str, str] = {}
BLOCK_START = re.compile(r"(?=[#>+=~-])|(?<=\d)(?=[.)])")
MARKUP = re.compile(r"[\\`*\[\]<>&|~$]|(?<![^\W_])_|_(?![^\W_])")


def to_markdown(report: Report, *, figures: Mapping[str, str] = NO_FIGURES) -> str:
    """Return the report as Markdown; `figures` gives the address of a chart's file by the chart's title."""
    report = cleaned(report)
    blocks = list(heading(report.title, 1))
    blocks += (text for block in report.first_screen for text in block_texts(block, figures))
    blocks += (text for section in report.sections for text in section_texts(section, figures))
    if report.footer:
        blocks += ["---", "\n".join(f"- {paragraph(name)}: {code(value)}" for name, value in report.footer)]
    return "\n\n".join(blocks) + "\n"


def section_texts(section: Section, figures: Mapping[str, str]) -> Iterator[str]:
    """Yield a section, paragraph by paragraph."""
    yield from heading(section.title, 2)
    if section.intro:
        yield paragraph(section.intro)
    for block in section.blocks:
        yield from block_texts(block, figures)


def block_texts(block: Block, figures: Mapping[str, str]) -> Iterator[str]:
    """Yield a block, paragraph by paragraph."""
    if isinstance(block, Verdict):
        yield from verdict_texts(block)
    elif isinstance(block, Paragraph):
        yield paragraph(block.text)
    elif isinstance(block, Figure):
        yield from figure_texts(block, figures)
    elif isinstance(block, TableBlock):
        yield from table_texts(block)
    else:
        yield from heading(block.title)
        yield "\n".join(f"- {line}" for line in list_lines(block))


def list_lines(block: Bullets | Signals | Estimates) -> Iterator[str]:
    """Yield the items of a list."""
    if isinstance(block, Bullets):
        yield from map(paragraph, block.items)
    elif isinstance(block, Signals):
        for signal in block.signals:
            shape, word = TONE_SHAPES[signal.tone], TONE_WORDS[signal.tone]
            yield f"{shape} {word} · **{inline(signal.name)}** · {inline(signal.words)}"
    else:
        for row in block.estimates:
            yield f"**{inline(row.name)}** {inline(row.words)}{drawn(row, block)}"


def drawn(row: Estimate, block: Estimates) -> str:
    """Draw an estimate below its words."""
    line = text_interval(row.low, row.value, row.high, margin=block.margin, axis=shared_axis(block))
    return f"<br>\n  {code(line)}" if line else ""


def verdict_texts(verdict: Verdict) -> Iterator[str]:
    """Yield what it is about, and the answer as a quotation."""
    if verdict.subject:
        yield paragraph(verdict.subject)
    lines = [f"**Verdict: {inline(verdict.headline)}**", paragraph(verdict.reason)]
    for caution in verdict.cautions:
        lines += ["", f"**Caution:** {inline(caution)}"]
    yield "\n".join(f"> {line}".rstrip() for line in lines)


def figure_texts(figure: Figure, figures: Mapping[str, str]) -> Iterator[str]:
    """Yield what a chart shows in words, and the chart where its file is known."""
    yield from heading(figure.title)
    if figure.title in figures:
        address = figures[figure.title].replace(" ", "%20").replace("<", "%3C").replace(">", "%3E")
        yield f"![{inline(figure.title)}](<{address}>)"
    yield f"*Chart:* {inline(figure.alt)}"


def table_texts(block: TableBlock) -> Iterator[str]:
    """Yield a table below its title; long detail is opened by a click."""
    if not block.folded:
        yield from heading(block.title)
        yield from table_parts(block.table)
        return
    yield f"<details><summary>{escape(block.title)} ({len(block.table.rows):,} rows)</summary>"
    yield from table_parts(block.table)
    yield "</details>"


def table_parts(table: Table) -> Iterator[str]:
    """Yield a table and its notes; the best values are bold."""
    rules = [" --- " if i < table.n_name_columns else " ---: " for i in range(len(table.header))]
    lines = [table_row(map(inline, table.header)), f"|{'|'.join(rules)}|"]
    yield "\n".join([*lines, *(table_row(map(cell_text, row)) for row in table.rows)])
    if table.notes:
        yield "\n".join(f"- {paragraph(note)}" for note in table.notes)


def table_row(cells: Iterator[str]) -> str:
    """Return one row."""
    return f"| {' | '.join(cells)} |"


def cell_text(cell: Cell) -> str:
    """Return a cell, bold where it is the best of its column."""
    return f"**{inline(cell.text)}**" if cell.best and cell.text.strip() else inline(cell.text)


def heading(title: str, level: int = 3) -> Iterator[str]:
    """Yield a title, where there is one; a # at its end would be taken for the end of the heading."""
    if title:
        text = re.sub(r"#(?=#*$)", r"\\#", inline(title))
        yield f"{'#' * level} {text}"


def paragraph(text: str) -> str:
    """Return a text that is not taken for markup, not even for a heading or a list by how it begins."""
    escaped = inline(text)
    if re.match(r"#{1,6}(\s|$)|[-+](\s|$)|[=-]+\s*$|\d{1,9}[.)](\s|$)", escaped):
        return BLOCK_START.sub(r"\\", escaped, count=1)
    return escaped


def inline(text: str) -> str:
    """Return a text that is not taken for markup; an underscore inside a word is none."""
    return MARKUP.sub(r"\\\g<0>", text.strip())


def code(text: str) -> str:
    """Return a text as code, fenced by more backticks than stand in it."""
    fence = "`" * (max((len(run) for run in re.findall("`+", text)), default=0) + 1)
    blank = " " if "`" in text or text[:1] == text[-1:] == " " else ""
    return f"{fence}{blank}{text}{blank}{fence}" if text.strip() else inline(text)
