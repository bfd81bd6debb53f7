"""A report as Markdown in GitHub's flavour: for pull requests, job summaries and wikis."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape

from rankscope.report import document as doc
from rankscope.report.render.interval import text_estimate
from rankscope.report.render.markdown_text import code, inline, paragraph, table_parts
from rankscope.report.render.texts import CHECK_WORDS, SHAPES, cleaned


def to_markdown(report: doc.Report) -> str:
    report = cleaned(report)
    blocks = list(heading(report.title, 1))
    blocks += (text for block in report.first_screen for text in block_texts(doc.simple(block)))
    for section in report.sections:
        blocks += heading(section.title, 2)
        if section.intro:
            blocks.append(paragraph(section.intro))
        blocks += (text for block in section.blocks for text in block_texts(doc.simple(block)))
    if report.footer:
        blocks += ["---", "\n".join(f"- {paragraph(name)}: {code(value)}" for name, value in report.footer)]
    return "\n\n".join(blocks) + "\n"


def block_texts(block: doc.SimpleBlock) -> Iterator[str]:
    match block:
        case doc.VerdictBlock():
            if block.subject:
                yield paragraph(block.subject)
            lines = [f"**Verdict: {inline(block.headline)}**", paragraph(block.reason)]
            for caution in block.cautions:
                lines += ["", f"**Caution:** {inline(caution)}"]
            yield "\n".join(f"> {line}".rstrip() for line in lines)
        case doc.Paragraph():
            yield paragraph(block.text)
        case doc.Figure():
            yield from heading(block.title)
            yield f"*Chart:* {inline(block.alt)}"
        case doc.TableBlock() if block.folded:  # opened by a click
            yield f"<details><summary>{escape(block.title)} ({len(block.table.rows):,} rows)</summary>"
            yield from table_parts(block.table)
            yield "</details>"
        case doc.TableBlock():
            yield from heading(block.title)
            yield from table_parts(block.table)
        case _:
            yield from heading(block.title)
            numbered = isinstance(block, doc.Bullets) and block.numbered
            yield "\n".join(f"{'1.' if numbered else '-'} {line}" for line in list_lines(block))


def list_lines(block: doc.Bullets | doc.Signals | doc.Estimates) -> Iterator[str]:
    match block:
        case doc.Bullets():
            yield from map(paragraph, block.items)
        case doc.Signals():
            for signal in block.signals:
                shape, word = SHAPES[signal.mark], CHECK_WORDS[signal.mark]
                yield f"{shape} {word} · **{inline(signal.name)}** · {inline(signal.words)}"
        case doc.Estimates():
            for row in block.estimates:
                line = text_estimate(row, block)
                drawn = f"<br>\n  {code(line)}" if line else ""
                yield f"**{inline(row.name)}** {inline(row.words)}{drawn}"


def heading(title: str, level: int = 3) -> Iterator[str]:
    """Yield a title, where there is one; a # at its end would be taken for the end of the heading."""
    if title:
        text = re.sub(r"#(?=#*$)", r"\\#", inline(title))
        yield f"{'#' * level} {text}"
