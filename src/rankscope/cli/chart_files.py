"""Charts from the command line: the kind is chosen by name, the file's extension chooses SVG or PNG."""

from __future__ import annotations

from typing import Any

from rankscope.errors import OptionError, did_you_mean
from rankscope.report.charts import CHARTS, ChartSource, charts_from


def save_chart(kind: str, source: ChartSource, output: str | None, *data: Any, **options: Any) -> None:
    """Draw a kind of chart from its source, e.g. a comparison, and write it."""
    from rankscope.report.charts.files import write_chart

    builder = getattr(CHARTS[kind], f"from_{source}", None) if kind in CHARTS else None
    if builder is None:
        kinds = charts_from(source)
        raise OptionError(f"--chart {kind} is not one of {', '.join(kinds)}", hint=did_you_mean(kind, kinds))
    if output in (None, "-"):
        raise OptionError("a chart needs a file to be written to", hint=f"for example -o {kind}.svg, or .png")
    write_chart(builder(*data, **options).render(), str(output))
