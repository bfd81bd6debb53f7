"""A report as text: with colour where somebody looks at it in a terminal, else plain."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from typing import TextIO

from rankscope.printable import counted
from rankscope.records import Record
from rankscope.report import document as doc
from rankscope.report.render.interval import text_estimate
from rankscope.report.render.texts import CHECK_WORDS, SHAPES, cleaned, encodable, with_texts
from rankscope.report.table import Table, fitted, plain_lines, rich_table, shown_notes, width_of

PIPE_WIDTH = 100
LONGEST_LINE = 120  # prose is not wider than this, however wide the terminal is
MARGIN = "  "
LABEL_WIDTH = 10
NAME_WIDTH = 28  # a name that is longer than this does not push the others aside
NARROWEST_TRACK, WIDEST_TRACK = 16, 40
AXIS_ENDS_WIDTH = 18

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
    return plain_text(report_items(cleaned(report), width, details=details))


def print_report(report: doc.Report, *, file: TextIO | None = None, details: bool = True) -> None:
    """Print the report as the stream can show it: in colour or plain, in Unicode or ASCII."""
    stream = file or sys.stdout
    encoding = stream.encoding or "utf-8"
    spelt = with_texts(cleaned(report), lambda text: encodable(text, encoding))
    if not stream.isatty() and not os.environ.get("FORCE_COLOR"):
        stream.write(encodable(plain_text(report_items(spelt, PIPE_WIDTH, details=details)), encoding))
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


def plain_text(items: Iterator[Item]) -> str:
    """Join lines and tables; a table is not folded, since a file has no width."""
    lines: list[str] = []
    for item in items:
        if isinstance(item, Table):
            lines += (MARGIN + line for line in plain_lines(item))
        else:
            lines.append(item.label + item.text)
    return "".join(f"{line.rstrip()}\n" for line in lines)


def report_items(report: doc.Report, width: int, *, details: bool) -> Iterator[Item]:
    yield TextLine(label=report.title, style="bold")
    for block in report.first_screen:
        yield TextLine()
        yield from block_items(doc.simple(block), width, details=details)
    for section in report.sections:
        yield TextLine()
        yield TextLine(label=section.title, style="bold")
        yield TextLine(label="─" * width_of(section.title), style="dim")
        if section.intro:
            yield from hanging(MARGIN, section.intro, width)
        for i, block in enumerate(section.blocks):
            if i or section.intro:
                yield TextLine()
            yield from block_items(doc.simple(block), width, details=details)
    if report.footer:
        yield TextLine()
        yield from hanging(MARGIN, " · ".join(f"{name} {value}" for name, value in report.footer), width)


def block_items(block: doc.SimpleBlock, width: int, *, details: bool) -> Iterator[Item]:
    """Yield the lines of a block, and its table where it is one; without details a folded one is only named."""
    if isinstance(block, doc.Paragraph):
        yield from hanging(MARGIN, block.text, width)
    elif isinstance(block, doc.VerdictBlock):
        yield from verdict_lines(block, width)
    elif block.title:
        yield TextLine(label=f"{MARGIN}{block.title}", style="bold")
    yield from content_items(block, width, details=details)


def content_items(block: doc.SimpleBlock, width: int, *, details: bool) -> Iterator[Item]:
    """Yield what stands below the title of a block."""
    match block:
        case doc.Estimates():
            yield from estimates_lines(block, width)
        case doc.Signals():
            yield from signals_lines(block, width)
        case doc.Bullets():
            for i, item in enumerate(block.items, 1):
                yield from hanging(f"{MARGIN}{i}. " if block.numbered else f"{MARGIN}- ", item, width)
        case doc.Figure():
            yield from hanging(f"{MARGIN}chart: ", block.alt, width, style="dim")
        case doc.TableBlock(folded=True) if not details:
            yield TextLine(f"{MARGIN}{counted(len(block.table.rows), 'row')}, not shown here")
        case doc.TableBlock():
            yield block.table


def verdict_lines(verdict: doc.VerdictBlock, width: int) -> Iterator[TextLine]:
    if verdict.subject:
        yield TextLine(verdict.subject)
        yield TextLine()
    statements = [("VERDICT", f"{verdict.headline} {verdict.reason}", STYLES[verdict.mark])]
    statements += (("CAUTION", caution, STYLES["look"]) for caution in verdict.cautions)
    for word, text, style in statements:
        yield from hanging(f"{MARGIN}{word:<{LABEL_WIDTH}}", text, width, style=f"bold {style}")


def signals_lines(block: doc.Signals, width: int) -> Iterator[TextLine]:
    name_width = common_width([signal.name for signal in block.signals])
    for signal in block.signals:
        shape = f"{SHAPES[signal.mark]} {CHECK_WORDS[signal.mark]}"
        margin = f"{MARGIN}{shape:<{LABEL_WIDTH}}  {padded(signal.name, name_width)}  "
        yield from hanging(margin, signal.words, width, style=STYLES[signal.mark])


def estimates_lines(block: doc.Estimates, width: int) -> Iterator[TextLine]:
    """Yield one line per estimate, drawn on one axis where there is room for it."""
    name_width = common_width([row.name for row in block.estimates])
    words_width = max((width_of(row.words) for row in block.estimates), default=0)
    room = width - len(MARGIN) - name_width - words_width - AXIS_ENDS_WIDTH - len(MARGIN)
    for row in block.estimates:
        name = row.name
        if width_of(name) > name_width:
            yield TextLine(f"{MARGIN}{name}")
            name = ""
        margin = f"{MARGIN}{padded(name, name_width)}  "
        if room >= NARROWEST_TRACK:
            yield TextLine(f"{margin}{text_estimate(row, block, width=min(room, WIDEST_TRACK))}  {row.words}")
        else:
            yield from hanging(margin, row.words, width)
            yield TextLine(f"{MARGIN}{text_estimate(row, block, width=NARROWEST_TRACK)}")


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


def common_width(names: Sequence[str]) -> int:
    """Return the width of a column of names, which a very long one does not widen."""
    return max((width_of(name) for name in names if width_of(name) <= NAME_WIDTH), default=0)


def padded(text: str, width: int) -> str:
    return text + " " * (width - width_of(text))
