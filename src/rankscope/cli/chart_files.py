"""Charts from the command line: the kind is chosen by name, the file's extension chooses SVG or PNG."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from rankscope.errors import OptionError, did_you_mean

if TYPE_CHECKING:
    from rankscope.report.charts import Chart


def save_chart(kinds: Mapping[str, Callable[[], Chart]], kind: str, output: str | None) -> None:
    """Draw a chart and write it."""
    from rankscope.report.charts.files import write_chart

    if kind not in kinds:
        raise OptionError(f"--chart {kind} is not one of {', '.join(kinds)}", hint=did_you_mean(kind, kinds))
    if output in (None, "-"):
        raise OptionError("a chart needs a file to be written to", hint=f"for example -o {kind}.svg, or .png")
    write_chart(kinds[kind](), str(output))
