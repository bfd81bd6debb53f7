"""Reads renderings back, as a browser, GitHub or LaTeX would show them."""

import re

import html5lib
import msgspec
from markdown_it import MarkdownIt

from rankscope.report.document import (
    Bullets,
    ChangedQueries,
    ChangedQuery,
    Estimate,
    Estimates,
    Fact,
    Facts,
    Figure,
    Paragraph,
    Report,
    Section,
    Share,
    Shares,
    Signal,
    Signals,
    TableBlock,
    VerdictBlock,
    VerdictCount,
    VerdictCounts,
)
from rankscope.report.render.latex_table import SPECIAL
from rankscope.report.table import Cell, Table

XHTML = "{http://www.w3.org/1999/xhtml}"
SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹\N{MINUS SIGN}", "0123456789-")
FOREIGN = r"\rankscopeforeign{"


def squeezed(text):
    """Return a text with single blanks, and superscripts as plain digits: how they are set differs."""
    return " ".join(text.translate(SUPERSCRIPTS).split())


def texts_of(part):
    """Yield every text of a report that a reader must find."""
    if isinstance(part, str):
        yield part
    elif isinstance(part, tuple | list):
        for item in part:
            yield from texts_of(item)
    elif isinstance(part, Cell):
        yield part.text
    elif isinstance(part, Table):
        yield from texts_of([part.header, part.rows, part.notes])
    elif isinstance(part, msgspec.Struct):
        for name in part.__struct_fields__:
            if name not in {"svg", "mark"}:
                yield from texts_of(getattr(part, name))


def parse_html(text):
    """Parse as a browser does, but refuse what is not valid."""
    parser = html5lib.HTMLParser(strict=True, namespaceHTMLElements=True)
    return parser.parse(text)


def text_of_html(text):
    """Return what a browser shows."""
    tree = parse_html(text)
    body = tree.find(f"{XHTML}body")
    for element in body.iter():
        if element.tag in {f"{XHTML}script", f"{XHTML}style"}:
            element.text = ""
    return "".join(body.itertext())


def html_of_markdown(text):
    """Return Markdown as GitHub would show it: CommonMark with tables and strike-through."""
    return MarkdownIt("commonmark").enable("table").enable("strikethrough").render(text)


def text_of_markdown(text):
    """Return what a reader of the Markdown sees."""
    return "".join(html5lib.parse(html_of_markdown(text)).itertext())


def text_of_latex(text):
    """Return what LaTeX prints, letters that pdfLaTeX's fonts lack included."""
    text = text.replace(r"\allowbreak{}", "")
    text = re.sub(r"\\textsuperscript\{([\d,]*)\}", r"\1", text)
    shown = {command: char for char, command in SPECIAL.items() if char not in "\u2009\u200b"} | {
        r"\hspace{0pt}": "\u200b"
    }
    pieces = re.compile("|".join(map(re.escape, sorted(shown, key=len, reverse=True))) + r"|(?<=[-,])\{\}")
    kept = re.split(r"(\\rankscopeforeign\{[^{}]*\}\{[U+0-9A-F ]*\})", text)
    return "".join(
        foreign(piece) if piece.startswith(FOREIGN) else pieces.sub(lambda found: shown.get(found[0], ""), piece)
        for piece in kept
    )


def foreign(piece):
    """Return the letters, which must be those of the code points beside them."""
    letters, codes = piece.removeprefix(FOREIGN).rstrip("}").split("}{")
    assert [f"U+{ord(letter):04X}" for letter in letters] == codes.split(" ")
    return letters


READERS = {"text": str, "html": text_of_html, "markdown": text_of_markdown, "latex": text_of_latex}


def report_of(texts):
    """Return a report with every kind of block, made of texts that are taken one after the other."""
    text = texts.__next__
    table = Table(
        [text(), text(), text()],
        [[Cell(text()), Cell(text(), best=True), Cell(text())] for _ in range(2)],
        notes=(text(),),
    )
    blocks = (
        VerdictBlock(text(), text(), "unsure", text(), (text(), text())),
        Signals(text(), (Signal(text(), "fine", text()), Signal(text(), "fails", text()))),
        Estimates(
            text(),
            (
                Estimate(text(), 0.1, -0.1, 0.3, text()),
                Estimate(text(), float("nan"), float("nan"), float("nan"), text()),
            ),
            margin=0.05,
        ),
        Paragraph(text()),
        Bullets(text(), (text(), text())),
        TableBlock(text(), table),
        TableBlock(text(), table, folded=True),
        Facts(text(), (Fact(text(), text(), text()), Fact(text(), text()))),
        VerdictCounts(text(), (VerdictCount("better", text(), (text(), text())),)),
        ChangedQueries(text(), (ChangedQuery(text(), text(), 0.5, 0.25, "worse", text()),)),
        Shares(text(), (Share(text(), 0.75, text()), Share(text(), 0.25))),
        Figure(text(), "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 1 1'></svg>", text()),
    )
    return Report(text(), blocks, (Section(text(), blocks[3:5], text()), Section(text(), ())), ((text(), text()),))
