"""A report as Markdown in GitHub's flavour: for comments on pull requests, job summaries and wikis.

The first screen is open: answer, groups, table. Everything else is folded, and opened by a click.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import escape

from rankscope.printable import counted
from rankscope.records import replace
from rankscope.report import document as doc
from rankscope.report.render.interval import ZERO, text_estimate
from rankscope.report.render.markdown_text import code, inline, paragraph, table_parts
from rankscope.report.render.texts import CHECK_WORDS, SHAPES, cleaned
from rankscope.report.table import Cell, Table

COMMENT_LIMIT = 65_000
"""Characters; GitHub takes 65,536 in a comment."""
NARROW_TRACK = 24


def to_markdown(report: doc.Report, *, limit: int | None = None) -> str:
    """Return the report; within a limit, long tables are left out first, then sections from the end, and named."""
    report = cleaned(report)
    text = report_text(report)
    if limit is None or len(text) <= limit:
        return text
    short = replace(report, sections=tuple(map(without_long_tables, report.sections)))
    kept, named = list(short.sections), list[str]()
    while len(text := report_text(replace(short, sections=tuple(kept)), named)) > limit and kept:
        named.insert(0, kept.pop().title)
    return text


def report_text(report: doc.Report, left_out: Sequence[str] = ()) -> str:
    blocks = list(heading(report.title, 2))
    blocks += (text for block in report.first_screen for text in block_texts(block))
    for section in report.sections:
        intro = [paragraph(section.intro)] if section.intro else []
        inside = [*intro, *(text for block in section.blocks for text in block_texts(block))]
        blocks += folded(section.title, inside)
    if left_out:
        blocks.append(f"*Left out, to fit into a comment: {inline(', '.join(left_out))}; --details keeps them.*")
    if report.footer:
        lines = "\n".join(f"- {paragraph(name)}: {code(value)}" for name, value in report.footer)
        blocks += folded("How to reproduce this report", [lines])
    return "\n\n".join(blocks) + "\n"


def without_long_tables(section: doc.Section) -> doc.Section:
    """Return a section in which a folded table is only named."""
    blocks = [
        doc.Paragraph(f"{block.title}: {counted(len(block.table.rows), 'row')}, left out here; --details keeps them.")
        if isinstance(block, doc.TableBlock) and block.folded
        else block
        for block in section.blocks
    ]
    return replace(section, blocks=tuple(blocks))


def folded(title: str, texts: Sequence[str]) -> Iterator[str]:
    """Yield texts that a click opens."""
    yield f"<details><summary>{escape(title)}</summary>"
    yield from texts
    yield "</details>"


def block_texts(block: doc.Block) -> Iterator[str]:
    match block:
        case doc.VerdictBlock():
            if block.subject:
                yield paragraph(block.subject)
            lines = [f"**{SHAPES[block.mark]} {inline(block.headline)}**", paragraph(block.reason)]
            for caution in block.cautions:
                lines += ["", f"**Caution:** {inline(caution)}"]
            yield "\n".join(f"> {line}".rstrip() for line in lines)
        case doc.Paragraph():
            yield paragraph(block.text)
        case doc.Figure():
            yield from heading(block.title)
            yield f"*Chart:* {inline(block.alt)}"
        case doc.TableBlock() if block.folded:
            yield from folded(
                f"{block.title} ({counted(len(block.table.rows), 'row')})", list(table_parts(block.table))
            )
        case doc.ChangedQueries() if block.folded:
            yield from folded(f"{block.title} ({counted(len(block.queries), 'query')})", list(content_texts(block)))
        case doc.Bullets(items=()):
            yield from heading(block.title)
        case _:
            yield from heading(block.title)
            yield from content_texts(block)


def content_texts(block: doc.Block) -> Iterator[str]:
    """Yield what stands below the title of a block."""
    match block:
        case doc.TableBlock() | doc.SideBySideBlock():
            yield from table_parts(block.table)
        case doc.Estimates():
            yield "\n".join(estimates_table(block))
        case doc.Shares():
            yield from table_parts(shares_table(block))
        case doc.Facts():
            yield " · ".join(map(fact_text, block.facts))
        case doc.VerdictCounts():
            groups = [group for group in block.groups if group.names]
            yield " · ".join(f"{SHAPES[g.mark]} **{len(g.names)}** {inline(g.words)}" for g in groups)
            yield "\n".join(f"- {paragraph(g.words)}: {inline(', '.join(g.names))}" for g in groups)
        case doc.Bullets():
            mark = "1." if block.numbered else "-"
            yield "\n".join(f"{mark} {paragraph(item)}" for item in block.items)
        case doc.Signals():
            yield "\n".join(
                f"- {SHAPES[row.mark]} {CHECK_WORDS[row.mark]} · **{inline(row.name)}** · {inline(row.words)}"
                for row in block.signals
            )
        case doc.ChangedQueries() | doc.CheckedTargets():
            yield from listed_texts(block)


def listed_texts(block: doc.ChangedQueries | doc.CheckedTargets) -> Iterator[str]:
    """Yield queries or targets as a list, then the note on them."""
    if isinstance(block, doc.ChangedQueries):
        yield "\n".join(f"{i}. {changed_text(one)}" for i, one in enumerate(block.queries, block.first))
    else:
        yield "\n".join(line for one in block.targets for line in target_lines(one))
    if block.note:
        yield paragraph(block.note)


def target_lines(one: doc.CheckedTarget) -> Iterator[str]:
    """Yield an item of a list, with what is there instead as a list inside it."""
    yield f"- {SHAPES[one.mark]} **{inline(one.name)}**" + (f" · {inline(one.about)}" if one.about else "")
    yield f"  <br>{inline(one.words)}"
    for line in one.instead:
        numbered = re.sub(r"^([0-9]+)[.]", r"\1\.", inline(line))  # as it is, it would begin another list
        yield f"  - {numbered}"
    if one.small:
        yield f"  - *{inline(one.small)}*"


def fact_text(fact: doc.Fact) -> str:
    context = f" ({inline(fact.context)})" if fact.context else ""
    return f"{paragraph(fact.label)} **{inline(fact.value)}**{context}"


def changed_text(one: doc.ChangedQuery) -> str:
    name = f"{inline(one.text)} ({inline(one.query)})" if one.text else inline(one.query)
    change = f"{one.before:.3f} → {one.after:.3f} ({one.after - one.before:+.3f})"
    return f"{SHAPES[one.mark]} {name}: {change}" + (f", {inline(one.why)}" if one.why else "")


def estimates_table(block: doc.Estimates) -> Iterator[str]:
    """Yield a table of the estimates with their drawings, all on one axis; zero is no bar, which would end the cell."""
    yield "|  | difference | verdict |  |\n| --- | --- | --- | --- |"
    for row in block.estimates:
        words = row.short if len(block.estimates) > 1 and row.short else row.words
        shape = f"{SHAPES[row.mark]} " if row.mark else ""
        drawn = code(text_estimate(row, block, width=NARROW_TRACK).replace(ZERO, "│"))
        yield f"| {inline(row.name)} | {inline(words)} | {shape}{inline(row.verdict)} | {drawn} |"


def shares_table(block: doc.Shares) -> Table:
    rows = [[Cell(share.name), Cell(share.words), Cell(f"{share.value:.4f}")] for share in block.shares]
    return Table(["part", "", "share"], rows, n_name_columns=2)


def heading(title: str, level: int = 3) -> Iterator[str]:
    """Yield a title, where there is one; a # at its end would be taken for the end of the heading."""
    if title:
        text = re.sub(r"#(?=#*$)", r"\\#", inline(title))
        yield f"{'#' * level} {text}"
