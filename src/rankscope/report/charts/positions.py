"""At which rank the first relevant doc stands, as counts of queries per band of ranks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from rankscope.errors import OptionError
from rankscope.report.charts import numbers as n
from rankscope.report.charts.axes import axis_name, draw_x_axis, draw_y_axis, plot_box, write_below
from rankscope.report.charts.chart import Chart
from rankscope.report.charts.drawing import SWATCH, Box, Drawing, Key, drawn
from rankscope.report.charts.palette import AXIS, BG, FG, MUTED, SERIES
from rankscope.report.charts.scale import Scale, fixed_axis, linear_axis
from rankscope.report.charts.svg import group, rectangle, straight, tip
from rankscope.report.charts.text import shortened, text_width

MOST_SIDE_BY_SIDE = 3
"""More systems are drawn as one bar each, cut into its bands."""
LEAST_BAND = 3
"""A band less wide than so many letters has no room for a name of its own."""
PERCENT = tuple(range(0, 101, 20))


@dataclass(frozen=True, slots=True)
class Counts:
    """A system's number of queries per band."""

    name: str
    counts: Sequence[int]

    @property
    def total(self) -> int:
        """All queries."""
        return sum(self.counts)

    def share(self, i: int) -> float:
        """Return the share of one band."""
        return self.counts[i] / self.total


def positions(
    bands: Sequence[str],
    systems: Sequence[Counts],
    *,
    title: str,
    x_label: str = "rank of the first relevant doc",
    subtitle: str = "",
    prefix: str = "positions",
) -> Chart:
    """Draw how many queries have their first relevant doc in each band of ranks, e.g. 1, 2-3, 4-10, not found."""
    n.require(bands, "bands")
    n.require(systems, "systems")
    for system in systems:
        check_counts(system, bands)
    side_by_side = len(systems) <= MOST_SIDE_BY_SIDE
    draw = partial(draw_columns if side_by_side else draw_stacks, bands=bands, systems=systems, x_label=x_label)
    told = "; ".join(in_words(system, bands) for system in systems[: n.TOLD])
    alt = f"Queries by {x_label}. {told}{n.and_more(n.TOLD, len(systems), 'more system')}."
    data: list[dict[str, Any]] = [
        {"system": system.name, "band": band, "queries": int(count)}
        for system in systems
        for band, count in zip(bands, system.counts, strict=True)
    ]
    return drawn("positions", draw, title=title, subtitle=subtitle, alt=alt, data=data, prefix=prefix)


def check_counts(system: Counts, bands: Sequence[str]) -> None:
    """Refuse counts that are none."""
    n.require_equal_lengths(f"bands and counts of {system.name}", bands, system.counts)
    if not all(count >= 0 and count.is_integer() for count in n.numbers(system.counts, system.name)):
        raise OptionError(f"{system.name} has counts that are none: {list(system.counts)}")
    if not system.total:
        raise OptionError(f"there is nothing to draw: {system.name} has no queries", hint="leave the system out")


def in_words(system: Counts, bands: Sequence[str]) -> str:
    """Say a system's shares."""
    shares = ", ".join(f"{band} {system.share(i):.0%}" for i, band in enumerate(bands[:8]))
    return f"{system.name} ({n.counted_queries(system.total)}): {shares}"


def draw_columns(drawing: Drawing, *, bands: Sequence[str], systems: Sequence[Counts], x_label: str) -> None:
    """Draw the systems' columns side by side in each band."""
    layout = drawing.layout
    fills = [SERIES[0], drawing.hatched("second", SERIES[1]), BG][: len(systems)]
    looks = [{"fill": fill, "stroke": SERIES[i] if i < MOST_SIDE_BY_SIDE - 1 else FG} for i, fill in enumerate(fills)]
    if len(systems) > 1:
        samples = (rectangle(0, -6, SWATCH, 6, **look) for look in looks)
        drawing.legend([Key(sample, system.name) for sample, system in zip(samples, systems, strict=True)])
    axis = linear_axis([0.0, *(count for system in systems for count in system.counts)], whole=True)
    box = plot_box(drawing, axis, "queries", height=240 if layout.is_wide else 200)
    scale = axis.scale(box.bottom, box.top)
    draw_y_axis(drawing, axis, scale, box)
    for i, system in enumerate(systems):
        drawing.add(columns_of(system, bands, box, scale, slot=(i, len(systems)), look=looks[i]))
    drawing.add(straight(box.left, box.bottom, box.right, box.bottom, stroke=AXIS))
    write_counts(drawing, systems, box, scale)
    drawing.y = box.bottom + 4
    write_bands(drawing, bands, box)
    axis_name(drawing, x_label, box)


def write_bands(drawing: Drawing, bands: Sequence[str], box: Box) -> None:
    """Write the names of the bands below their columns, in two lines where that helps; of very many, those that fit."""
    layout, step = drawing.layout, box.width / len(bands)
    centres = [box.left + (i + 0.5) * step for i in range(len(bands))]
    if step < LEAST_BAND * layout.size:
        write_below(drawing, centres, [shortened(band, layout.inner / 4, layout.size) for band in bands])
        return
    heights = [
        drawing.lines(centre, drawing.y + 4, band, width=step - 4, max_lines=2, anchor="middle", fill=MUTED)
        for centre, band in zip(centres, bands, strict=True)
    ]
    drawing.space(max(heights) + 6)


def column_place(box: Box, band: int, n_bands: int, slot: tuple[int, int]) -> tuple[float, float]:
    """Return left and right of a column: bands share the width, systems share four fifths of their band."""
    step = box.width / n_bands
    width = min(step * 0.8 / slot[1], 64)
    left = box.left + (band + 0.5) * step + (slot[0] - slot[1] / 2) * width
    return left + width * 0.05, left + width * 0.95


def columns_of(
    system: Counts, bands: Sequence[str], box: Box, scale: Scale, *, slot: tuple[int, int], look: dict[str, str]
) -> str:
    """Return the columns of one system."""
    columns = []
    for j, (band, count) in enumerate(zip(bands, system.counts, strict=True)):
        if count:
            left, right = column_place(box, j, len(bands), slot)
            words = tip(f"{system.name}, {band}: {n.counted_queries(int(count))} ({system.share(j):.1%})")
            columns.append(rectangle(left, scale(count), right, box.bottom, words))
    return group(columns, **look)


def write_counts(drawing: Drawing, systems: Sequence[Counts], box: Box, scale: Scale) -> None:
    """Write each count above its column, where all of them fit."""
    n_bands, size = len(systems[0].counts), drawing.layout.size
    left, right = column_place(box, 0, n_bands, (0, len(systems)))
    if max(text_width(f"{int(c):,}", size) for s in systems for c in s.counts) > (right - left) / 0.9:
        return
    for i, system in enumerate(systems):
        for j, count in enumerate(system.counts):
            left, right = column_place(box, j, n_bands, (i, len(systems)))
            drawing.text((left + right) / 2, scale(count) - 4, f"{int(count):,}", anchor="middle")


def draw_stacks(drawing: Drawing, *, bands: Sequence[str], systems: Sequence[Counts], x_label: str) -> None:
    """Draw one bar per system, cut into its bands, the first one darkest."""
    layout = drawing.layout
    shades = [0.85 - 0.77 * i / max(len(bands) - 1, 1) for i in range(len(bands))]
    samples = (rectangle(0, -6, SWATCH, 6, fill=SERIES[0], fill_opacity=shade, stroke=SERIES[0]) for shade in shades)
    drawing.paragraph(x_label)
    drawing.legend([Key(sample, band) for sample, band in zip(samples, bands, strict=True)])
    label_width = min(
        max(text_width(s.name, layout.size) for s in systems), layout.inner * (0.3 if layout.is_wide else 1)
    )
    left = layout.margin + (label_width + 16 if layout.is_wide else 4)
    row_height = 26 if layout.is_wide else 28 + layout.line
    box = Box(left, drawing.y, layout.width - layout.margin - 12, drawing.y + row_height * len(systems))
    axis = fixed_axis(PERCENT)
    scale = axis.scale(box.left, box.right)
    for i, system in enumerate(systems):
        bottom = box.top + (i + 1) * row_height - 4
        base = drawing.middle(bottom - 9) if layout.is_wide else bottom - 18 - 5
        drawing.text(layout.margin, base, system.name, width=label_width)
        drawing.add(stack(system, bands, shades, scale, bottom))
        write_shares(drawing, system, shades, scale, bottom)
    draw_x_axis(drawing, axis, scale, box, "% of queries")


def stack(system: Counts, bands: Sequence[str], shades: Sequence[float], scale: Scale, bottom: float) -> str:
    """Return the bar of one system."""
    pieces, done = [], 0.0
    for i, (band, count) in enumerate(zip(bands, system.counts, strict=True)):
        share = 100 * system.share(i)
        words = tip(f"{system.name}, {band}: {n.counted_queries(int(count))} ({system.share(i):.1%})")
        if count:
            left, right = scale(done), scale(done + share)
            pieces.append(rectangle(left, bottom - 18, right, bottom, words, fill_opacity=shades[i]))
        done += share
    return group(pieces, fill=SERIES[0], stroke=SERIES[0], stroke_width=0.75)


def write_shares(drawing: Drawing, system: Counts, shades: Sequence[float], scale: Scale, bottom: float) -> None:
    """Write the share into each piece that has room for it."""
    size, done = drawing.layout.size, 0.0
    for i in range(len(system.counts)):
        share = 100 * system.share(i)
        words, left, right = f"{share:.0f}", scale(done), scale(done + share)
        if text_width(words, size) + 6 <= right - left:
            fill = BG if shades[i] > 0.6 else None
            drawing.text((left + right) / 2, drawing.middle(bottom - 9), words, anchor="middle", fill=fill)
        done += share
