"""What all charts share: numbers that are checked, put into words, listed as rows and drawn for two widths."""

from __future__ import annotations

import math
import re
from typing import Any, ClassVar, Literal, Self

from rankscope.errors import OptionError
from rankscope.records import Record
from rankscope.report.charts.drawing import NARROW, WIDE, Drawing
from rankscope.report.charts.palette import NOTEBOOK_CSS

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
        """Both pictures for a page, which shows the one that can be read there."""
        return f'<div class="rs-chart">{self.svg}{self.narrow}</div>'

    def _repr_svg_(self) -> str:
        return self.svg

    def _repr_html_(self) -> str:
        return f'<style>{NOTEBOOK_CSS}</style><div class="rs-notebook">{self.html}</div>'


class Chart(Record, kw_only=True, dict=True):
    """The base of every kind of chart: a record of its numbers with four methods to fill in, and `render`.

    A kind that can be drawn from results has class methods that collect its numbers, named after what they take:
    `from_comparison`, `from_runs` or `from_score_files`. By these the commands know which charts they can offer.
    """

    kind: ClassVar[str]

    title: str
    subtitle: str = ""
    prefix: str | None = None
    """What the ids within the picture begin with, its kind by default; two charts on one page must not share it."""

    def checked(self) -> Self:
        """Return the chart with numbers that can be drawn, or raise an error that says what is wrong."""
        raise NotImplementedError

    def records(self) -> list[dict[str, Any]]:
        """Return the numbers behind the chart as rows; what is not finite becomes None in the result."""
        raise NotImplementedError

    def alt(self) -> str:
        """Say what is to be seen."""
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
