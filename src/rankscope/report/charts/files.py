"""Charts as files: SVG as it is, PNG through resvg, which needs no browser and no libraries of the system."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from rankscope.errors import OptionError
from rankscope.report.charts.chart import DrawnChart
from rankscope.report.charts.drawing import FONTS
from rankscope.report.charts.palette import THEMES, Theme

VARIABLE = re.compile(r"var\(--rs-(\w+),[^)]*\)")
STYLE = re.compile(r"<style>.*?</style>", re.DOTALL)
PROBE = '<svg xmlns="http://www.w3.org/2000/svg" width="20" height="20" font-family="{}"><text y="15">{}</text></svg>'


def write_chart(chart: DrawnChart, path: str | Path) -> Path:
    """Write a chart to a file, as SVG or PNG by its extension, and return its path."""
    target = Path(path)
    kind = target.suffix.lower()
    if kind not in {".svg", ".png"}:
        raise OptionError(f"a chart cannot be written as {target.name}", hint="use a name that ends in .svg or .png")
    content = to_png(chart.svg) if kind == ".png" else f"{chart.svg}\n".encode()
    try:
        target.write_bytes(content)
    except OSError as error:
        raise OptionError(f"cannot write {target}: {error.strerror}") from None
    return target


def to_png(
    svg: str, *, scale: float = 2, theme: Theme = "light", font_files: Sequence[str | Path] = (), font_family: str = ""
) -> bytes:
    """Return a chart as PNG, `scale` times as wide as the SVG, with a font of the system or the one given."""
    if not 0 < scale <= 20:
        raise OptionError(f"scale = {scale} is not between 0 and 20")
    if theme not in THEMES:
        raise OptionError(f"theme = {theme!r} is none of {', '.join(THEMES)}")
    fonts, family = tuple(map(str, font_files)), f"'{font_family}', {FONTS}" if font_family else FONTS
    if not can_write(fonts, family):
        raise OptionError(
            "no font was found to write a chart's text with",
            hint="install one, e.g. the package fonts-dejavu-core, or give font_files and font_family; SVG needs none",
        )
    coloured = VARIABLE.sub(lambda match: THEMES[theme][match[1]], STYLE.sub("", svg))  # only browsers know variables
    return rendered(coloured.replace(FONTS, family), fonts, scale=scale, ground=THEMES[theme]["bg"])


@cache
def can_write(fonts: tuple[str, ...], family: str) -> bool:
    """Tell whether letters leave a trace: without any font they would be missing in silence."""
    blank, letter = (rendered(PROBE.format(family, text), fonts, scale=1, ground="#ffffff") for text in ("", "A"))
    return blank != letter


def rendered(svg: str, fonts: tuple[str, ...], *, scale: float, ground: str) -> bytes:
    try:
        from resvg_py import svg_to_bytes
    except ImportError:
        hint = "pip install resvg-py (or pip install 'rankscope[png]'); or write .svg"
        raise OptionError("PNG needs resvg-py", hint=hint) from None
    try:
        return bytes(svg_to_bytes(svg_string=svg, zoom=scale, background=ground, font_files=list(fonts)))
    except ValueError as error:
        raise OptionError(f"the chart cannot be drawn as PNG: {error}") from None
