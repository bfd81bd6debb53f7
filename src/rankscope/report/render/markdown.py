"""A report as Markdown in GitHub's flavour: for pull requests, job summaries and wikis."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from html import escape

from rankscope.report import document as doc
from rankscope.report.render.interval import text_estimate
from rankscope.report.render.markdown_text import code, inline, paragraph, table_parts
from rankscope.report.render.texts import TONE_SHAPES, TONE_WORDS, cleaned

NO_FIGURES: Mapping[str, str] = {}


def to_markdown(report: doc.Report, *, figures: Mapping[str, str] = NO_FIGURES) -> str:
    """Return the report as Markdown; `figures` gives the address of a chart's file by the chart's title."""
    report = cleaned(report)
    blocks = list(heading(report.title, 1))
    blocks += (text for block in report.first_screen for text in block_texts(block, figures))
    blocks += (text for section in report.sections for text in section_texts(section, figures))
    if report.footer:
        blocks += ["---", "\n".join(f"- {paragraph(name)}: {code(value)}" for name, value in report.footer)]
    return "\n\n".join(blocks) + "\n"


def section_texts(section: doc.Section, figures: Mapping[str, str]) -> Iterator[str]:
    yield from heading(section.title, 2)
    if section.intro:
        yield paragraph(section.intro)
    for block in section.blocks:
        yield from block_texts(block, figures)


def block_texts(block: doc.Block, figures: Mapping[str, str]) -> Iterator[str]:
    if isinstance(block, doc.VerdictBlock):
        yield from verdict_texts(block)
    elif isinstance(block, doc.Paragraph):
        yield paragraph(block.text)
    elif isinstance(block, doc.Figure):
        yield from figure_texts(block, figures)
    elif isinstance(block, doc.TableBlock):
        yield from table_texts(block)
    else:
        yield from heading(block.title)
        yield "\n".join(f"- {line}" for line in list_lines(block))


def list_lines(block: doc.Bullets | doc.Signals | doc.Estimates) -> Iterator[str]:
    if isinstance(block, doc.Bullets):
        yield from map(paragraph, block.items)
    elif isinstance(block, doc.Signals):
        for signal in block.signals:
            shape, word = TONE_SHAPES[signal.tone], TONE_WORDS[signal.tone]
            yield f"{shape} {word} · **{inline(signal.name)}** · {inline(signal.words)}"
    else:
        for row in block.estimates:
            line = text_estimate(row, block)
            drawn = f"<br>\n  {code(line)}" if line else ""
            yield f"**{inline(row.name)}** {inline(row.words)}{drawn}"


def verdict_texts(verdict: doc.VerdictBlock) -> Iterator[str]:
    """Yield what it is about, and the answer as a quotation."""
    if verdict.subject:
        yield paragraph(verdict.subject)
    lines = [f"**Verdict: {inline(verdict.headline)}**", paragraph(verdict.reason)]
    for caution in verdict.cautions:
        lines += ["", f"**Caution:** {inline(caution)}"]
    yield "\n".join(f"> {line}".rstrip() for line in lines)


def figure_texts(figure: doc.Figure, figures: Mapping[str, str]) -> Iterator[str]:
    """Yield what a chart shows in words, and the chart where its file is known."""
    yield from heading(figure.title)
    if figure.title in figures:
        address = figures[figure.title].replace(" ", "%20").replace("<", "%3C").replace(">", "%3E")
        yield f"![{inline(figure.title)}](<{address}>)"
    yield f"*Chart:* {inline(figure.alt)}"


def table_texts(block: doc.TableBlock) -> Iterator[str]:
    """Yield a table below its title; long detail is opened by a click."""
    if not block.folded:
        yield from heading(block.title)
        yield from table_parts(block.table)
        return
    yield f"<details><summary>{escape(block.title)} ({len(block.table.rows):,} rows)</summary>"
    yield from table_parts(block.table)
    yield "</details>"


def heading(title: str, level: int = 3) -> Iterator[str]:
    """Yield a title, where there is one; a # at its end would be taken for the end of the heading."""
    if title:
        text = re.sub(r"#(?=#*$)", r"\\#", inline(title))
        yield f"{'#' * level} {text}"
