"""What all charts share: numbers that are checked, put into words, listed as rows, drawn for two widths and written.

PNG is made by resvg, which needs no browser and no libraries of the system.
"""

from __future__ import annotations

import math
import os
import re
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

from rankscope.errors import OptionError
from rankscope.io.write import open_target
from rankscope.records import Record
from rankscope.report.charts.drawing import FITTING, FONTS, NARROW, WIDE, Drawing
from rankscope.report.charts.palette import NOTEBOOK_CSS
from rankscope.report.tokens import THEMES

Better = Literal["higher", "lower"]


class DrawnChart(Record):
    """A chart as a result: notebooks show it, `write_chart` saves it, pages take `html` and, once, `PAGE_CSS`."""

    kind: str
    title: str
    svg: str
    """The picture, 720 wide; also right as a file of its own."""
    alt: str
    """What is to be seen, in words, with the main numbers."""
    data: tuple[dict[str, Any], ...]
    """What was drawn, as rows that JSON can hold; None is undefined."""
    narrow: str
    """The same picture for a column 360 wide."""

    @property
    def html(self) -> str:
        """Both pictures for a page, which shows the one that can be read there.

        What only a file of its own needs is left out: the page has the colours and the font once. A large narrow
        picture, which is mostly seen where there is no pointer, has tooltips for shortened names alone.
        """
        narrow = without_own(self.narrow)
        if len(narrow) > MOST_WITH_TOOLTIPS:
            narrow = re.sub(r"(<text[^>]*>)?<title>[^<]*</title>", lambda found: found[0] if found[1] else "", narrow)
        return f'<div class="rs-chart">{without_own(self.svg)}{narrow}</div>'

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the chart to a file, as SVG or PNG by its ending."""
        write_chart(self, os.fspath(path))

    def __repr__(self) -> str:
        return f"DrawnChart({self.kind!r}, {self.title!r})"

    def _repr_svg_(self) -> str:
        return self.svg

    def _repr_html_(self) -> str:
        return f'<style>{NOTEBOOK_CSS}</style><div class="rs-notebook">{self.html}</div>'


MOST_WITH_TOOLTIPS = 8_000  # characters of a narrow picture on a page
ONLY_ALONE = re.compile(r"<style>.*?</style>|(?<=<svg) xmlns=\S+|(?<=var\(--rs-)([\w-]+),#\w{6}", re.DOTALL)


def without_own(svg: str) -> str:
    """Return a picture for a page, which knows what an SVG is and has the colours."""
    plain = re.sub(ONLY_ALONE, lambda found: found[1] or "", svg)
    return plain.replace(f' font-family="{FONTS}"', "", 1).replace(f' style="{FITTING}"', "", 1)


class Chart(Record, kw_only=True, dict=True):
    """The base of every kind of chart: a record of its numbers with four methods to fill in, and `render`.

    A kind that can be drawn from results has class methods that collect its numbers, named after what they take:
    `from_comparison`, `from_runs` or `from_score_files`. By these the commands know which charts they can offer.
    """

    kind: ClassVar[str]
    """Its name: `quality_latency` of a `QualityLatencyChart`."""

    title: str
    subtitle: str = ""
    prefix: str | None = None
    """What the ids within the picture begin with, its kind by default; two charts on one page must not share it."""

    def __init_subclass__(cls) -> None:
        if "kind" not in cls.__dict__:
            cls.kind = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", cls.__name__.removesuffix("Chart")).lower()

    def checked(self) -> Self:
        """Return the chart with numbers that can be drawn, or raise an error that says what is wrong."""
        raise NotImplementedError

    def records(self) -> list[dict[str, Any]]:
        """Return the numbers behind the chart as rows; what is not finite becomes None in the result."""
        raise NotImplementedError

    def alt(self) -> str:
        raise NotImplementedError

    def draw(self, drawing: Drawing) -> None:
        """Draw everything below the heading."""
        raise NotImplementedError

    def render(self) -> DrawnChart:
        chart = self.checked()
        prefix = self.kind if self.prefix is None else self.prefix
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_-]*", prefix):
            hint = "use a letter, then letters, digits, - and _"
            raise OptionError(f"prefix = {prefix!r} cannot begin an id", hint=hint)
        alt = chart.alt()
        wide, narrow = Drawing(WIDE, prefix), Drawing(NARROW, f"{prefix}-narrow")
        for drawing in (wide, narrow):
            drawing.heading(self.title, self.subtitle)
            chart.draw(drawing)
        data = tuple(
            {
                name: None if isinstance(value, float) and not math.isfinite(value) else value
                for name, value in row.items()
            }
            for row in chart.records()
        )
        return DrawnChart(self.kind, self.title, wide.svg(self.title, alt), alt, data, narrow.svg(self.title, alt))


def check_picture(path: str | Path) -> str:
    """Return how a file of a chart ends, where it is one that can be written."""
    kind = Path(path).suffix.lower()
    if kind not in {".svg", ".png"}:
        raise OptionError(
            f"a chart cannot be written as {Path(path).name}", hint="use a name that ends in .svg or .png"
        )
    return kind


def write_chart(chart: DrawnChart, path: str | Path) -> Path:
    """Write a chart to a file, as SVG or PNG by its extension, and return its path."""
    target = Path(path)
    kind = check_picture(path)
    content = to_png(chart.svg) if kind == ".png" else f"{chart.svg}\n".encode()
    with open_target(str(target)) as stream:
        stream.write(content)
    return target


def to_png(svg: str) -> bytes:
    """Return a chart as PNG in light colours, twice as wide as the SVG, with a font of the system."""
    if not can_write():
        hint = "install one, e.g. the package fonts-dejavu-core; SVG needs none"
        raise OptionError("no font was found to write a chart's text with", hint=hint)
    plain = re.sub(r"<style>.*?</style>", "", svg, flags=re.DOTALL)
    light = THEMES["light"]
    return rendered(re.sub(r"var\(--rs-([\w-]+),[^)]*\)", lambda match: light[match[1]], plain))  # for browsers only


@cache
def can_write() -> bool:
    """Tell whether letters leave a trace: without any font they would be missing in silence."""
    frame = f'<svg xmlns="http://www.w3.org/2000/svg" width="20" height="20" font-family="{FONTS}">'
    blank, letter = (rendered(f'{frame}<text y="15">{text}</text></svg>') for text in ("", "A"))
    return blank != letter


def rendered(svg: str) -> bytes:
    try:
        from resvg_py import svg_to_bytes
    except ImportError:
        hint = "pip install resvg-py (or pip install 'rankscope[png]'); or write .svg"
        raise OptionError("PNG needs resvg-py", hint=hint) from None
    try:
        return bytes(svg_to_bytes(svg_string=svg, zoom=2, background=THEMES["light"]["paper"]))
    except ValueError as error:
        raise OptionError(f"the chart cannot be drawn as PNG: {error}") from None
