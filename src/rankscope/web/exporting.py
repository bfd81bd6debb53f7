"""What is on screen as a file: tables as CSV, the whole as Markdown, LaTeX or one HTML page, charts as SVG and PNG."""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import nan
from typing import Literal, TypeVar, get_args

from rankscope.errors import InputError
from rankscope.records import Record
from rankscope.report.charts import figure_of
from rankscope.report.charts.chart import to_png
from rankscope.report.charts.drawing import FONTS
from rankscope.report.charts.rows import ForestChart, ForestRow
from rankscope.report.document import Block, Estimates, Figure, Report, TableBlock, simple
from rankscope.report.render import render
from rankscope.report.table import to_csv
from rankscope.report.tokens import THEMES

Chosen = TypeVar("Chosen")
ExportForm = Literal["csv", "md", "tex", "html", "svg", "png"]
FORMS: tuple[ExportForm, ...] = get_args(ExportForm)
MEDIA_TYPES: dict[ExportForm, str] = {
    "csv": "text/csv",
    "md": "text/markdown",
    "tex": "application/x-tex; charset=utf-8",
    "html": "text/html",
    "svg": "image/svg+xml",
    "png": "image/png",
}


class ExportPart(Record):
    """One table or chart of a page that can be had as a file."""

    number: int
    title: str
    kind: Literal["table", "figure"]


def parts_of(report: Report) -> tuple[ExportPart, ...]:
    """Return the tables and charts of a report, each kind counted from 0."""
    tables = (ExportPart(i, title or "table", "table") for i, (title, _) in enumerate(tables_in(report)))
    figures = (ExportPart(i, one.title or "chart", "figure") for i, one in enumerate(figures_in(report)))
    return (*tables, *figures)


def export(report: Report, form: ExportForm, part: int) -> bytes:
    """Return a report, or one of its tables or charts, as a file.

    Raises
    ------
    InputError
        There is no such table or chart on the page.
    """
    match form:
        case "csv":
            table = chosen([block.table for _, block in tables_in(report)], part, "table")
            return to_csv(table).encode("utf-8", "surrogatepass")
        case "svg" | "png":
            svg = standalone(chosen(list(figures_in(report)), part, "chart"))
            return to_png(svg) if form == "png" else svg.encode()
        case "md":
            text = render(report, "markdown")
        case "tex":
            text = render(report, "latex")
        case "html":
            text = render(report, "html")
    return text.encode("utf-8", "replace")


def chosen(found: list[Chosen], part: int, what: str) -> Chosen:
    if not 0 <= part < len(found):
        raise InputError(f"the page has no {what} {part}", hint=f"it has {len(found)}, counted from 0")
    return found[part]


def file_name(path: str, form: ExportForm, part: int = 0) -> str:
    """Return the name of a file; the parts of a page have names of their own."""
    number = f"-{part + 1}" if part else ""
    return f"rankscope-{path.strip('/').replace('/', '-') or 'overview'}{number}.{form}"


def blocks_in(report: Report) -> Iterator[tuple[str, Block]]:
    for block in report.first_screen:
        yield "", block
    for section in report.sections:
        for block in section.blocks:
            yield section.title, block


def tables_in(report: Report) -> Iterator[tuple[str, TableBlock]]:
    """Yield tables with their titles; lists that have a table behind them are such a table."""
    for section, block in blocks_in(report):
        plain = simple(block)
        if isinstance(plain, TableBlock):
            yield plain.title or section, plain


def figures_in(report: Report) -> Iterator[Figure]:
    """Yield charts; differences below one another, which pages draw themselves, are such a chart."""
    for i, (section, block) in enumerate(blocks_in(report)):
        if isinstance(block, Figure):
            yield block
        elif isinstance(block, Estimates) and any(each.numbers for each in block.estimates):
            yield forest_of(block, block.title or section or report.title, prefix=f"forest{i}")


def forest_of(block: Estimates, title: str, *, prefix: str) -> Figure:
    rows = [
        ForestRow(each.name, each.value, each.low, each.high, note=each.verdict, mark=each.mark or "unsure")
        if each.value is not None and each.low is not None and each.high is not None
        else ForestRow(
            each.name,
            each.drawn[1] if each.drawn else nan,
            note=each.verdict,
            mark=each.mark or "note",
            own=each.short or each.words,
        )
        for each in block.estimates
    ]
    return figure_of(ForestChart(rows, measure="", title=title, margin=block.margin or None, prefix=prefix))


def standalone(figure: Figure) -> str:
    """Return the wide drawing of a chart as a file of its own, in light colours; pages have a narrow one as well."""
    found = re.search(r"<svg\b.*?</svg>", figure.svg, re.DOTALL)
    svg = found[0] if found else figure.svg
    light = re.sub(r"var\(--rs-([\w-]+)(?:,[^)]*)?\)", lambda colour: THEMES["light"][colour[1]], svg)
    return light.replace("<svg", f'<svg xmlns="http://www.w3.org/2000/svg" font-family="{FONTS}"', 1)
