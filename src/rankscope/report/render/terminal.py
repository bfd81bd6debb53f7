"""A report as text: with colour where somebody looks at it in a terminal, else plain."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TextIO

from rankscope.printable import counted
from rankscope.records import Record
from rankscope.report import document as doc
from rankscope.report.render.interval import text_axis, text_estimate
from rankscope.report.render.texts import CHECK_WORDS, SHAPES, cleaned, encodable, with_texts
from rankscope.report.table import Table, fitted, plain_rows, rich_table, shown_notes, width_of

PIPE_WIDTH = 100
LONGEST_LINE = 120  # prose is not wider than this, however wide the terminal is
MARGIN = "  "
LABEL_WIDTH = 10
NAME_WIDTH = 28  # a name that is longer than this does not push the others aside
NARROWEST_TRACK, WIDEST_TRACK = 16, 40
NARROWEST_TEXT = 20
SHARE_WIDTH = 20
GAP = 2
NAMED = 6
"""Systems of one verdict that are named."""
HOW_TO_SEE = "--details prints them, -o FILE.html writes a page with everything."

STYLES: dict[doc.Mark, str] = {
    "better": "blue",
    "probably_better": "blue",
    "worse": "red",
    "probably_worse": "red",
    "same": "cyan",
    "unsure": "",
    "unsafe": "magenta",
    "fine": "blue",
    "look": "yellow",
    "fails": "red",
    "note": "dim",
}


class TextLine(Record):
    """A line of the report: what stands in the margin in a style, and the text."""

    text: str = ""
    label: str = ""
    style: str = ""


Item = TextLine | Table


def to_text(report: doc.Report, *, width: int = PIPE_WIDTH, details: bool = True) -> str:
    """Return the report as plain text; without details, folded tables are named but left out."""
    return plain_text(report_items(cleaned(report), width, details=details), width)


def print_report(
    report: doc.Report, *, file: TextIO | None = None, details: bool = True, table_width: int | None = None
) -> None:
    """Print the report as the stream can show it: in colour or plain, in Unicode or ASCII.

    In plain text, tables are in one piece, or fold to a width.
    """
    stream = file or sys.stdout
    encoding = stream.encoding or "utf-8"
    spelt = with_texts(cleaned(report), lambda text: encodable(text, encoding))
    if not stream.isatty() and not os.environ.get("FORCE_COLOR"):
        items = report_items(spelt, PIPE_WIDTH, details=details)
        stream.write(encodable(plain_text(items, PIPE_WIDTH, table_width=table_width), encoding))
        return
    from rich.console import Console
    from rich.padding import Padding
    from rich.text import Text

    console, indent = Console(highlight=False, file=stream), (0, 0, 0, len(MARGIN))
    for item in report_items(spelt, min(console.width, LONGEST_LINE), details=details):
        if isinstance(item, Table):
            shown = fitted(item, console.width - len(MARGIN))
            console.print(Padding(rich_table(shown), indent))
            for note in shown_notes(shown):
                console.print(Padding(Text(encodable(note, encoding), style="dim"), indent))
        else:
            label, text = encodable(item.label, encoding), encodable(item.text, encoding)
            console.print(Text.assemble((label, item.style), text), soft_wrap=True)


def plain_text(items: Iterator[Item], width: int, *, table_width: int | None = None) -> str:
    """Join lines and tables; a table folds only where it is given a width, but its notes are prose."""
    inner = None if table_width is None else table_width - len(MARGIN)
    lines: list[str] = []
    for item in items:
        if isinstance(item, Table):
            shown = item if inner is None else fitted(item, inner, folds=True)
            lines += (MARGIN + line for line in plain_rows(shown, width=inner))
            notes = (line for note in shown_notes(shown) for line in hanging(MARGIN, note, width))
            lines += (line.label + line.text for line in notes)
        else:
            lines.append(item.label + item.text)
    return "".join(f"{line.rstrip()}\n" for line in lines)


def report_items(report: doc.Report, width: int, *, details: bool) -> Iterator[Item]:
    """Yield the answer first; what is detail is named at the end, with how to see it, where it is not wanted here."""
    answers_at_once = any(isinstance(block, doc.VerdictBlock) and block.subject for block in report.first_screen[:1])
    if report.title and (details or not answers_at_once):
        yield TextLine(label=report.title, style="bold")
        yield TextLine()
    yield from spaced_items(report.first_screen, width, details=details)
    shown = [section for section in report.sections if details or not is_detail(section)]
    for section in shown:
        yield TextLine()
        yield TextLine(label=section.title, style="bold")
        yield TextLine(label="─" * width_of(section.title), style="dim")
        intro = (doc.Paragraph(section.intro),) if section.intro else ()
        yield from spaced_items((*intro, *section.blocks), width, details=details)
    if not report.footer and len(shown) == len(report.sections):
        return
    yield TextLine()
    if not details:
        left_out = [section.title for section in report.sections if section not in shown]
        named = ", ".join([*left_out, *(["files and command"] if report.footer else [])])
        yield from hanging(MARGIN, f"Not shown: {named}. {HOW_TO_SEE}", width)
        return
    yield TextLine(label=f"{MARGIN}How to reproduce this report", style="bold")
    for name, value in report.footer:
        yield from hanging(f"{MARGIN}- {name}: ", value, width)


def spaced_items(blocks: Iterable[doc.Block], width: int, *, details: bool) -> Iterator[Item]:
    """Yield blocks with a blank line between two."""
    for i, block in enumerate(blocks):
        if i:
            yield TextLine()
        yield from block_items(block, width, details=details)


def is_detail(section: doc.Section) -> bool:
    """Tell whether a section holds nothing that is shown without details."""
    folded = (isinstance(block, doc.TableBlock) and block.folded for block in section.blocks)
    return section.folded or (bool(section.blocks) and all(folded))


def block_items(block: doc.Block, width: int, *, details: bool) -> Iterator[Item]:
    """Yield the lines of a block, and its table where it is one; without details a folded one is only named."""
    if isinstance(block, doc.Paragraph):
        yield from hanging(MARGIN, block.text, width)
    elif isinstance(block, doc.VerdictBlock):
        yield from verdict_lines(block, width)
    elif block.title:
        for line in wrapped(block.title, width - len(MARGIN)):
            yield TextLine(label=f"{MARGIN}{line}", style="bold")
    yield from content_items(block, width, details=details)


def content_items(block: doc.Block, width: int, *, details: bool) -> Iterator[Item]:
    """Yield what stands below the title of a block."""
    match block:
        case doc.TableBlock(folded=True) if not details:
            yield TextLine(f"{MARGIN}{counted(len(block.table.rows), 'row')}, not shown here: --details prints them")
        case doc.ChangedQueries(folded=True) if not details:
            yield TextLine(f"{MARGIN}{counted(len(block.queries), 'query')}, not shown here: --details prints them")
        case doc.TableBlock() | doc.SideBySideBlock():
            yield block.table
        case doc.VerdictCounts():
            yield from counts_lines(block, width, details=details)
        case doc.ChangedQueries():
            yield from changed_lines(block, width, details=details)
        case doc.CheckedTargets():
            yield from target_lines(block, width)
        case doc.Bullets():
            for i, item in enumerate(block.items, 1):
                yield from hanging(f"{MARGIN}{i}. " if block.numbered else f"{MARGIN}- ", item, width)
        case doc.Figure():
            yield from hanging(f"{MARGIN}chart: ", block.alt, width, style="dim")
        case _:
            yield from number_lines(block, width)


def number_lines(block: doc.Block, width: int) -> Iterator[TextLine]:
    """Yield the lines of a block that is a list of numbers or checks."""
    match block:
        case doc.Facts():
            yield from facts_lines(block, width)
        case doc.Estimates():
            yield from estimates_lines(block, width)
        case doc.Signals():
            yield from signals_lines(block, width)
        case doc.Shares():
            yield from shares_lines(block, width)


def facts_lines(block: doc.Facts, width: int) -> Iterator[TextLine]:
    texts = [(fact.label, fact.value) for fact in block.facts]
    names, values = (max(map(width_of, column)) for column in zip(*texts, strict=True)) if texts else (0, 0)
    for fact in block.facts:
        yield from hanging(
            f"{MARGIN}{padded(fact.label, names)}  ", f"{padded(fact.value, values)}  {fact.context}".rstrip(), width
        )


def counts_lines(block: doc.VerdictCounts, width: int, *, details: bool) -> Iterator[TextLine]:
    """Yield all groups in one line, then who is in them; without details a few of each."""
    groups = [group for group in block.groups if group.names]
    yield from hanging(MARGIN, "   ".join(f"{SHAPES[g.mark]} {len(g.names)} {g.words}" for g in groups), width)
    name_width = common_width([group.words for group in groups])
    for group in groups:
        shown = group.names if details else group.names[:NAMED]
        more = f" and {len(group.names) - len(shown)} more" if len(group.names) > len(shown) else ""
        margin = f"{MARGIN}{SHAPES[group.mark]} {padded(group.words, name_width)}  "
        yield from hanging(margin, f"{', '.join(shown)}{more}", width, style=STYLES[group.mark])


def changed_lines(block: doc.ChangedQueries, width: int, *, details: bool) -> Iterator[TextLine]:
    """Yield a numbered line per query: its scores, and what was asked, which is cut to one line without details."""
    scores = [f"{one.before:.3f} → {one.after:.3f}  {one.after - one.before:+.3f}" for one in block.queries]
    scores_width = max(map(width_of, scores), default=0)
    number_width = len(str(block.first + len(block.queries) - 1))
    for i, (one, score) in enumerate(zip(block.queries, scores, strict=True), block.first):
        margin = f"{MARGIN}{i:>{number_width}}. {SHAPES[one.mark]} {padded(score, scores_width)}  "
        small = f" ({one.query})" if one.text else ""
        room = max(width - width_of(margin), NARROWEST_TEXT) - width_of(small)
        shown = (one.text or one.query) if details else cut(one.text or one.query, max(room, NARROWEST_TEXT // 2))
        yield from hanging(margin, f"{shown}{small}", width, style=STYLES[one.mark])
        if one.why:
            yield from hanging(" " * width_of(margin), one.why, width)
    if block.note:
        yield from hanging(MARGIN, block.note, width, style="dim")


def target_lines(block: doc.CheckedTargets, width: int) -> Iterator[TextLine]:
    """Yield each target: its name, what it is about, what is so, and below that what is there instead."""
    inside = MARGIN * 2
    for i, one in enumerate(block.targets):
        if i:
            yield TextLine()
        yield from hanging(f"{MARGIN}{SHAPES[one.mark]} ", one.name, width, style=f"bold {STYLES[one.mark]}".strip())
        if one.about:
            yield from hanging(inside, one.about, width, style="dim")
        yield from hanging(inside, one.words, width)
        for line in one.instead:
            yield from hanging(f"{inside}{MARGIN}", line, width)
        if one.small:
            yield from hanging(inside, one.small, width, style="dim")
    if block.note:
        yield from hanging(MARGIN, block.note, width, style="dim")


def shares_lines(block: doc.Shares, width: int) -> Iterator[TextLine]:
    """Yield a line per part, drawn as long as its share of the whole."""
    total = sum(max(share.value, 0.0) for share in block.shares) or 1.0
    names = common_width([share.name for share in block.shares])
    for share in block.shares:
        part = max(share.value, 0.0) / total
        drawn = ("█" * round(part * SHARE_WIDTH)).ljust(SHARE_WIDTH, "·")
        margin = f"{MARGIN}{padded(share.name, names)}  {drawn} {part:>4.0%}  "
        yield from hanging(margin, f"{share.value:.4f}  {share.words}".rstrip(), width)


def verdict_lines(verdict: doc.VerdictBlock, width: int) -> Iterator[TextLine]:
    """Yield the answer, its reason on a line of its own below it, then what limits it."""
    if verdict.subject:
        yield TextLine(verdict.subject)
        yield TextLine()
    statements = [("VERDICT", verdict.headline, STYLES[verdict.mark]), ("", verdict.reason, "")]
    statements += (("CAUTION", caution, STYLES["look"]) for caution in verdict.cautions)
    for word, text, style in statements:
        if text:
            yield from hanging(f"{MARGIN}{word:<{LABEL_WIDTH}}", text, width, style=f"bold {style}".strip())


def signals_lines(block: doc.Signals, width: int) -> Iterator[TextLine]:
    name_width = common_width([signal.name for signal in block.signals])
    for signal in block.signals:
        shape = f"{SHAPES[signal.mark]} {CHECK_WORDS[signal.mark]}"
        margin = f"{MARGIN}{shape:<{LABEL_WIDTH}}  {padded(signal.name, name_width)}  "
        yield from hanging(margin, signal.words, width, style=STYLES[signal.mark])


def estimates_lines(block: doc.Estimates, width: int) -> Iterator[TextLine]:
    """Yield one line per estimate, drawn on one axis where there is room for it, with the verdict on it at the end."""
    name_width = common_width([row.name for row in block.estimates])
    words = [row.short if len(block.estimates) > 1 and row.short else row.words for row in block.estimates]
    words_width = max(map(width_of, words), default=0)
    verdict_width = max((width_of(row.verdict) + GAP for row in block.estimates if row.verdict), default=0)
    shape_width = GAP if any(row.mark for row in block.estimates) else 0
    room = width - len(MARGIN) - shape_width - name_width - GAP - words_width - GAP - verdict_width
    is_drawn = room >= NARROWEST_TRACK and any(row.numbers for row in block.estimates)
    track_width = min(room, WIDEST_TRACK) if is_drawn else 0
    for row, said in zip(block.estimates, words, strict=True):
        shape = f"{SHAPES[row.mark]} " if row.mark else " " * shape_width
        style = STYLES[row.mark] if row.mark else ""
        name = row.name
        if width_of(name) > name_width:
            yield TextLine(name, label=f"{MARGIN}{shape}", style=style)
            name = shape = ""
        margin = f"{MARGIN}{shape:<{shape_width}}{padded(name, name_width)}  "
        drawn = text_estimate(row, block, width=track_width, ends=False) if track_width else ""
        if track_width and not drawn:
            margin += " " * (track_width + GAP)
        parts = (drawn, padded(said, words_width if row.verdict else 0), row.verdict)
        yield from hanging(margin, "  ".join(filter(None, parts)), width, style=style)
    if track_width:
        yield TextLine(" " * (len(MARGIN) + shape_width + name_width + GAP) + text_axis(block, width=track_width))


def hanging(margin: str, text: str, width: int, *, style: str = "") -> Iterator[TextLine]:
    """Yield a text whose first line follows what stands in the margin; the others are indented as far."""
    place = width_of(margin)
    for i, line in enumerate(wrapped(text, max(width - place, LABEL_WIDTH * 2))):
        yield TextLine(line, label=" " * place if i else margin, style=style)


def wrapped(text: str, width: int) -> list[str]:
    """Break a text into lines at its blanks; a word that is too long stays whole, so that it can be copied."""
    lines = [""]
    for word in text.split(" "):
        longer = f"{lines[-1]} {word}" if lines[-1] else word
        if lines[-1] and width_of(longer) > width:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines


def cut(text: str, width: int) -> str:
    """Return a text that fits into a width, with … where its end is left out."""
    if width_of(text) <= width:
        return text
    while text and width_of(text) > width - 1:
        text = text[:-1]
    return f"{text.rstrip()}…"


def common_width(names: Sequence[str]) -> int:
    """Return the width of a column of names, which a very long one does not widen."""
    return max((width_of(name) for name in names if width_of(name) <= NAME_WIDTH), default=0)


def padded(text: str, width: int) -> str:
    return text + " " * (width - width_of(text))
