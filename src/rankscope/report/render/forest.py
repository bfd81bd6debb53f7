"""Differences as a forest on a page: name, track, number and verdict, row by row.

Places are percentages of the track, so that a row takes the width that there is while letters keep their size.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from rankscope.report import document as doc
from rankscope.report.charts.axes import linear_axis
from rankscope.report.render.interval import Axis, shared_axis
from rankscope.report.render.page import SHAPES, Page, verdict_words
from rankscope.report.render.texts import with_minus
from rankscope.report.tokens import tone

FIRST, SPAN = 5.0, 90.0  # where the axis begins and how much it takes of the track, in percent
N_TICKS = 6
FEW_TICKS = 4  # with more of them a phone has room for every second label
LONG_FOREST = 12  # with more rows the axis is written below them, too
DOT = '<circle cx="8" cy="8" r="5"/>'


def forest_part(block: doc.Estimates, page: Page) -> str:
    axis = shared_axis(block)
    ticks = ticks_within(axis)
    grid = page.new_id("grid", "")
    labels = axis_part(ticks, axis)
    rows = [estimate_part(row, axis, grid, page) for row in block.estimates]
    ends = [labels] if len(rows) > LONG_FOREST else []
    band = f"; the grey band is the margin of ±{block.margin:g}" if block.margin else ""
    kind = "forest" if any(row.verdict for row in block.estimates) else "forest bare"
    lines = grid_part(ticks, axis, block.margin)
    return (
        f'<svg class="defs" aria-hidden="true"><defs><g id="{grid}">{lines}</g></defs></svg>'
        f'<ol class="{kind}">{"".join([labels, *rows, *ends])}</ol>'
        f'<p class="cap">{page.prose(f"Right of 0 is higher{band}.")}</p>'
    )


def ticks_within(axis: Axis) -> dict[float, str]:
    """Return round numbers between the ends of the axis, zero among them, and how they are written."""
    found = linear_axis(axis, n_ticks=N_TICKS)
    signed = {
        tick: f"+{label}" if tick > 0 else label if tick else "0"
        for tick, label in zip(found.ticks, found.labels, strict=True)
    }
    return {tick: label for tick, label in signed.items() if axis[0] <= tick <= axis[1]}


def place(number: float, axis: Axis) -> float:
    """Return the place of a number, in percent of the track."""
    return round(FIRST + SPAN * (number - axis[0]) / (axis[1] - axis[0]), 2)


def grid_part(ticks: Iterable[float], axis: Axis, margin: float) -> str:
    """Return what stands behind every row: the margin, the ticks, and zero."""
    lines = [
        f'<line class="{"grid" if tick else "zero"}" x1="{x}%" x2="{x}%" y1="0" y2="100%"/>'
        for tick, x in ((tick, place(tick, axis)) for tick in ticks)
    ]
    if margin:
        left, right = place(-margin, axis), place(margin, axis)
        lines.insert(0, f'<rect class="band" x="{left}%" width="{right - left:.2f}%" height="100%"/>')
    return "".join(lines)


def axis_part(ticks: dict[float, str], axis: Axis) -> str:
    zero, texts = list(ticks).index(0), []
    for i, (tick, label) in enumerate(ticks.items()):
        kind = "strong" if not tick else "second" if len(ticks) > FEW_TICKS and (i - zero) % 2 else ""
        texts.append(f'<text{f" class={kind}" if kind else ""} x="{place(tick, axis)}%" y="16">{label}</text>')
    return f'<li class="axis" aria-hidden="true"><svg class="track">{"".join(texts)}</svg>'


def estimate_part(row: doc.Estimate, axis: Axis, grid: str, page: Page) -> str:
    """Return one row; what is drawn stands beside it in words."""
    drawn = f'<use href="#{grid}"/>'
    if row.drawn:
        low, value, high = (place(number, axis) for number in row.drawn)
        mark = SHAPES[row.mark] if row.mark else DOT
        interval = f'<line class="iv" x1="{low}%" x2="{high}%" y1="50%" y2="50%"/>' if row.numbers else ""
        drawn += (
            f'{interval}<svg class="pt" x="{value}%" y="50%"><g transform="translate(-6-6)scale(.75)">{mark}</g></svg>'
        )
    name = escape(row.name)
    number, opening, interval = with_minus(row.short or row.words).partition(" [" if row.short else " (")
    verdict = verdict_words(row.mark or "note", row.verdict) if row.verdict else ""
    return (
        f'<li><b class="name" title="{name}">{page.named(row.name)}</b>'
        f'<svg class="track {tone(row.mark) if row.mark else ""}" aria-hidden="true">{drawn}</svg>'
        f'<span class="val">{escape(number)}<span class="ci">{escape(opening + interval)}</span></span>'
        f'<span class="ver">{verdict}</span>'
    )
