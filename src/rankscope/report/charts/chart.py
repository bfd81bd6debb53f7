"""A chart as a result: its picture for wide and for narrow places, the same in words, and the data in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from rankscope.report.charts.palette import variables

Better = Literal["higher", "lower"]

SWITCH = (
    ".rs-chart{container-type:inline-size}"
    ".rs-chart svg{display:block;max-width:100%;height:auto}"
    ".rs-chart .rs-narrow{display:none}"
    "@container (max-width:620px){.rs-chart .rs-wide{display:none}"
    ".rs-chart .rs-narrow{display:block;width:100%;max-width:460px}}"
)
"""In less than 620 px the wide picture would have letters smaller than 11 px."""

PAGE_CSS = (
    f":root{{{variables('light')}}}"
    f"@media (prefers-color-scheme:dark){{:root{{{variables('dark')}}}}}"
    f"[data-theme=light]{{{variables('light')}}}[data-theme=dark]{{{variables('dark')}}}{SWITCH}"
)
"""What a page with charts needs once: the colours, light and dark, and which picture is shown where."""

NOTEBOOK_CSS = (
    f".rs-notebook{{{variables('light')}background:var(--rs-bg);color:var(--rs-fg);padding:4px}}"
    f"@media (prefers-color-scheme:dark){{.rs-notebook{{{variables('dark')}}}}}{SWITCH}"
)


@dataclass(frozen=True, slots=True)
class Chart:
    """A drawn chart. Notebooks show it as it is; `write_chart` saves it; pages take `html` and, once, `PAGE_CSS`."""

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
